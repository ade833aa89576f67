# Servers that run on hosts of other names, as in pods: a small library that a server is started
# with answers gethostname() with the name that a test gives.
package HostName;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = <<'C';
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gethostname(char *name, size_t size)
{
	const char *given = getenv("HOST_NAME_OF_TEST");
	if (!given || strlen(given) >= size)
	{
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(name, given);
	return 0;
}
C

sub new {
	my ($class) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('host_name');
	append_to_file("$dir/host.c", $source);
	my $said;
	IPC::Run::run([ 'cc', '-shared', '-fPIC', '-o', "$dir/host.so", "$dir/host.c" ],
		'<', '/dev/null', '>&', \$said)
	  or BAIL_OUT("cc is missing, or does not compile: $said");
	return bless { library => "$dir/host.so" }, $class;
}

# Starts a server on a host of this name. `clock` is its FakedClock, if it has one.
sub start {
	my ($self, $node, $name, %how) = @_;
	my %environment = $how{clock} ? $how{clock}->environment : ();
	my @libraries = grep { $_ } $environment{LD_PRELOAD} // $ENV{LD_PRELOAD}, $self->{library};
	local %ENV = (
		%ENV, %environment,
		LD_PRELOAD => join(':', @libraries),
		HOST_NAME_OF_TEST => $name);
	$node->start;
	return;
}

1;
