# A server whose wall clock a test can step, by libfaketime: every reading of the clock looks into a
# file. What measures spans of time (the monotonic clock) stays real, as it does when an administrator
# sets a machine's clock.
package FakedClock;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my ($library) = grep { -e $_ } glob '/usr/lib/*/faketime/libfaketime.so.1';

# A server that is set up, with flakeid preloaded and these lines in its configuration, not yet started.
sub new
{
	my ($class, $name, $configuration) = @_;
	BAIL_OUT('libfaketime is missing; scripts/setup 15 installs it') unless $library;

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n$configuration");
	my $self = bless { node => $node, file => PostgreSQL::Test::Utils::tempdir($name) . '/clock' }, $class;
	$self->step(0);
	return $self;
}

sub node
{
	my ($self) = @_;
	return $self->{node};
}

# What a server needs in its environment to look into the file.
sub environment
{
	my ($self) = @_;
	return (
		LD_PRELOAD                    => $library,
		FAKETIME_TIMESTAMP_FILE       => $self->{file},
		FAKETIME_NO_CACHE             => 1,
		FAKETIME_DONT_FAKE_MONOTONIC  => 1,
		FAKETIME_DONT_RESET           => 1,
		FAKETIME_FMT                  => '%s');
}

# Starts the server. Only it and its children look into the file.
sub start
{
	my ($self) = @_;
	local %ENV = (%ENV, $self->environment);
	$self->{node}->start;
	return;
}

# From now on the server's clock is this many seconds from the real one. The file is replaced, so that
# nobody reads half of it.
sub step
{
	my ($self, $seconds) = @_;
	return $self->_write(sprintf '%+.3f', $seconds);
}

sub _write
{
	my ($self, $text) = @_;
	my $new = "$self->{file}.new";
	open my $handle, '>', $new or die "could not write $new: $!";
	print $handle "$text\n";
	close $handle or die "could not write $new: $!";
	rename $new, $self->{file} or die "could not replace $self->{file}: $!";
	return;
}

# Steps the clock to this moment, in seconds since 1970.
sub set
{
	my ($self, $moment) = @_;
	$self->step($moment - time());
	return;
}

# From now on the server's clock stands still at this moment.
sub stand_still
{
	my ($self, $moment) = @_;
	return $self->_write(sprintf '%.6f', $moment);
}

# Begins a statement in a session of its own that has to wait for the clock. Returns the session when it waits, and
# dies where it does not. Up to version 16 a wait for the state file looks the same but for the file. A wait for a tick
# that is very short doesn't show: of a session that `spins` it is known only that it is at its statement.
my $waiting = 0;

sub waits
{
	my ($self, $sql, $spins) = @_;
	my %session = (name => 'waits_' . ++$waiting, out => '', err => '');
	{
		local $ENV{PGAPPNAME} = $session{name};
		$session{run} = IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose',
				'-d', $self->{node}->connstr('postgres'), '-c', $sql
			],
			'<', \undef, '>', \$session{out}, '2>', \$session{err},
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	}
	my $waits = $spins
	  ? "state = 'active'"
	  : "wait_event_type = 'Extension' AND wait_event IN ('Extension', 'FlakeidClock') AND pg_stat_file('flakeid/state.new', true) IS NULL";
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until ($self->{node}->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = '$session{name}' AND $waits"))
	{
		die "$sql does not wait: $session{out}$session{err}" if time() > $until || !$session{run}->pumpable;
		$session{run}->pump_nb;
		sleep 0.02;
	}
	return \%session;
}

# Waits until such a session has ended. Returns what it has printed, and its error.
sub ended
{
	my ($self, $session) = @_;
	$session->{run}->finish;
	chomp $session->{out};
	return @$session{ 'out', 'err' };
}

# What the server says the time is, in seconds since 1970.
sub time_of_server
{
	my ($self) = @_;
	return $self->{node}->safe_psql('postgres', 'SELECT extract(epoch FROM clock_timestamp())');
}

1;
