# The server under measurement: statements, and how fast it gets through them.
package Server;
use strict;
use warnings;
use Exporter 'import';
use File::Temp;
use POSIX qw(WNOHANG);

our @EXPORT =
  qw(psql psql_without_disk psql_fails pgbench pgbench_times background_pgbench stop setting timed
  unprinted call_query set_query);

# A parallel plan, compiling, or the disk at the commit of a statement that took a number from a
# sequence: all that would be measured in the place of the function.
my $plain = '-c jit=off -c max_parallel_workers_per_gather=0 -c client_min_messages=warning';
my $without_disk = "$plain -c synchronous_commit=off";

# The series is in a subquery because in FROM it would be stored before it is counted: memory to
# write, and a time in which no ID is asked for.
sub call_query {
	my ($call, $rows) = @_;
	return "SELECT count($call) FROM (SELECT generate_series(1, $rows)) AS s";
}

sub set_query {
	my ($set) = @_;
	return "SELECT count(*) FROM (SELECT $set) AS s";
}

# Runs statements in a new session and returns the lines that they print.
sub psql { return run_psql($plain, @_) }

# As psql; and no commit waits for the disk.
sub psql_without_disk { return run_psql($without_disk, @_) }

# Tries statements: undef if they succeed, else why not.
sub psql_fails {
	my ($database, @statements) = @_;
	local $ENV{PGOPTIONS} = $plain;
	my $script = script(@statements);
	my $path = $script->filename;
	open my $pipe, '-|', "psql -X -q -A -t -v ON_ERROR_STOP=1 -d '$database' -f '$path' 2>&1"
	  or die "tests/bench: could not run psql: $!\n";
	my $printed = do { local $/; <$pipe> }
	  // '';
	return close $pipe ? undef : $printed =~ /ERROR: +(.*)/ ? $1 : 'psql failed';
}

# A statement that prints how many milliseconds this query takes, by a function that `run` makes.
sub timed {
	my ($query) = @_;
	return "SELECT milliseconds('" . $query =~ s/'/''/gr . "');";
}

# The same query for psql to run and not to print.
sub unprinted {
	my ($query) = @_;
	return $query =~ s/;?\z/ \\g \/dev\/null/r;
}

sub run_psql {
	my ($options, $database, @statements) = @_;
	local $ENV{PGOPTIONS} = $options;
	my $script = script(@statements);
	my $printed = output(
		'psql', '-X', '-q', '-A', '-t', '-v',
		'ON_ERROR_STOP=1', '-d', $database, '-f', $script->filename);
	return wantarray ? split /\n/, $printed : $printed =~ s/\n\z//r;
}

# How often a second this many sessions together get the statement done in some seconds (1 by
# default), without waiting for the disk.
sub pgbench {
	my ($database, $statement, $sessions, $seconds) = @_;
	# A rehearsal has no time for that.
	my @length = $ENV{BENCH_QUICK} ? ('-t', 20) : ('-T', $seconds // 1);
	return run_pgbench($database, $statement, @length, '-c', $sessions, '-j',
		$sessions < 2 ? 1 : 2);
}

# As pgbench, this many times in each session (one by default).
sub pgbench_times {
	my ($database, $statement, $times, $sessions) = @_;
	return run_pgbench($database, $statement, '-t', $times, '-c', $sessions // 1);
}

# Starts pgbench in one session, and returns its process ID and its script, for `stop`.
sub background_pgbench {
	my ($database, $statement, @options) = @_;
	my $script = script($statement);
	my $pid = fork // die "tests/bench: could not start a process: $!\n";
	unless ($pid) {
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		local $ENV{PGOPTIONS} = $without_disk;
		exec 'pgbench', '-n', @options, '-f', $script->filename, $database or POSIX::_exit(1);
	}
	return { pid => $pid, script => $script };
}

# Stops a pgbench in the background. It is an error if it has ended before.
sub stop {
	my ($pgbench) = @_;
	waitpid($pgbench->{pid}, WNOHANG) == 0 or die "tests/bench: pgbench in the background failed\n";
	kill TERM => $pgbench->{pid};
	waitpid $pgbench->{pid}, 0;
	return;
}

sub run_pgbench {
	my ($database, $statement, @options) = @_;
	local $ENV{PGOPTIONS} = $without_disk;
	my $script = script($statement);
	my $printed =
	  output('pgbench', '-n', '-M', 'prepared', @options, '-f', $script->filename, $database);
	return $printed =~ /^tps = ([\d.]+)/m ? $1 : die "tests/bench: pgbench told no tps:\n$printed";
}

# Sets a setting for new sessions; undef is the default.
sub setting {
	my ($name, $value) = @_;
	psql('postgres',
		defined $value ? "ALTER SYSTEM SET $name = '$value'" : "ALTER SYSTEM RESET $name");
	my $setting = "coalesce(unit, '') FROM pg_settings WHERE name = '$name'";
	my $expected = $value // psql('postgres', "SELECT boot_val || $setting");
	psql('postgres', 'SELECT pg_reload_conf()');
	# The postmaster reads the file when it comes to it, and only then do the sessions that it
	# starts.
	for (1 .. 100) {
		my $is = psql('postgres', "SELECT setting || $setting");
		return if $is eq $expected || psql('postgres', "SHOW $name") eq $expected;
		select undef, undef, undef, 0.1;
	}
	die "tests/bench: the server does not take $name\n";
}

sub script {
	my $file = File::Temp->new;
	print $file map { "$_\n" } @_;
	$file->flush;
	return $file;
}

sub output {
	my (@command) = @_;
	open my $pipe, '-|', @command or die "tests/bench: could not run $command[0]: $!\n";
	my $output = do { local $/; <$pipe> };
	close $pipe or die "tests/bench: $command[0] failed\n";
	return $output // '';
}

1;
