# A disk that is full, slow or broken for the new state file alone, or that cannot sync directories,
# when a test says so: a small library that a server is started with stands before write() and
# fsync(), and looks for files in a folder of the test.
package FaultyDisk;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = <<'C';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_new_state(int file)
{
	char link[64], name[PATH_MAX];
	const char *ending = "/state.new";
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	ssize_t length = readlink(link, name, sizeof name);
	size_t of_ending = strlen(ending);
	return length >= (ssize_t) of_ending
		&& memcmp(name + length - of_ending, ending, of_ending) == 0;
}

static int is(const char *what)
{
	char name[PATH_MAX];
	const char *folder = getenv("FAULTY_DISK");
	snprintf(name, sizeof name, "%s/%s", folder ? folder : "", what);
	return folder && access(name, F_OK) == 0;
}

ssize_t write(int file, const void *bytes, size_t number)
{
	static ssize_t (*next)(int, const void *, size_t);
	if (!next)
		next = dlsym(RTLD_NEXT, "write");
	int before = errno;
	if (is("full") && is_new_state(file))
	{
		errno = ENOSPC;
		return -1;
	}
	errno = before;
	return next(file, bytes, number);
}

/* The error with which directories are synced, or only that of flakeid; 0 for none. */
static int directory_error(int file)
{
	struct stat status;
	if (fstat(file, &status) != 0 || !S_ISDIR(status.st_mode))
		return 0;
	char link[64], name[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	ssize_t length = readlink(link, name, sizeof name);
	int ours = length >= 8 && memcmp(name + length - 8, "/flakeid", 8) == 0;
	if (is("directories_einval"))
		return EINVAL;
	if (is("directories_ebadf"))
		return EBADF;
	return ours && is("directory_eio") ? EIO : 0;
}

int fsync(int file)
{
	int error = directory_error(file);
	if (error)
	{
		errno = error;
		return -1;
	}
	static int (*next)(int);
	const char *folder = getenv("FAULTY_DISK");
	char name[PATH_MAX];
	if (!next)
		next = dlsym(RTLD_NEXT, "fsync");
	if (is_new_state(file))
	{
		while (is("slow"))
			usleep(10000);
		/* Once. */
		if (folder && (snprintf(name, sizeof name, "%s/broken", folder), unlink(name) == 0))
		{
			errno = EIO;
			return -1;
		}
	}
	return next(file);
}
C

sub new {
	my ($class) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('disk');
	append_to_file("$dir/disk.c", $source);
	my $said;
	IPC::Run::run([ 'cc', '-shared', '-fPIC', '-o', "$dir/disk.so", "$dir/disk.c", '-ldl' ],
		'<', '/dev/null', '>&', \$said)
	  or BAIL_OUT("cc is missing, or does not compile: $said");
	return bless { dir => $dir }, $class;
}

# What a server needs in its environment, given what else is loaded before it.
sub environment {
	my ($self, $preload) = @_;
	return (
		LD_PRELOAD => join(':', $preload // (), "$self->{dir}/disk.so"),
		FAULTY_DISK => $self->{dir});
}

# From now on the disk is `full` or `slow`, or it is `broken` once, or syncs directories with an
# error; or that ends.
sub becomes { my ($self, $what) = @_; return append_to_file("$self->{dir}/$what", '') }
sub ends    { my ($self, $what) = @_; return unlink "$self->{dir}/$what" }

1;
