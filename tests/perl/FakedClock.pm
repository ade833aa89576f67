# A server whose wall clock a test can step. The server and all processes that it starts load
# tests/bin/faked_clock.c, whose every reading of the clock looks into a file that they all share,
# so a step reaches all of them at once. The clocks that measure spans of time (the monotonic clock)
# stay real, as they do when an administrator sets a machine's clock.
package FakedClock;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $ENTRIES = 256;

# A server that is set up, with flakeid preloaded and these lines in its configuration, not yet
# started.
sub new {
	my ($class, $name, $configuration) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n$configuration");
	return $class->of_node($node);
}

# The clock of a server that a test has set up, not yet started: a standby, a restored backup, the
# new server of an upgrade.
sub of_node {
	my ($class, $node) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir($node->name) . '/clock';
	open my $handle, '+>:raw:unix', $file or die "could not create $file: $!";
	my $self = bless { node => $node, file => $file, handle => $handle, current => 0 }, $class;
	$self->_write_at(0, "\0" x ($ENTRIES * 8 + 1));
	return $self;
}

sub node {
	my ($self) = @_;
	return $self->{node};
}

# The environment of a server that has this clock.
sub environment {
	my ($self) = @_;
	return (LD_PRELOAD => $ENV{FAKED_CLOCK}, FAKED_CLOCK_FILE => $self->{file});
}

# Starts the server. Only it and its children have the clock.
sub start {
	my ($self) = @_;
	local %ENV = (%ENV, $self->environment);
	$self->{node}->start;
	return;
}

# From now on the server's clock is this many seconds from the real one.
sub step {
	my ($self, $seconds) = @_;
	return $self->_write($seconds, 0);
}

# Writes an entry of the file, as tests/bin/faked_clock.c reads it: the next one first, and then its
# number.
sub _write {
	my ($self, $seconds, $stands) = @_;
	my $microseconds = sprintf '%.0f', $seconds * 1e6;
	$self->{current} = ($self->{current} + 1) % $ENTRIES;
	$self->_write_at($self->{current} * 8, pack 'q', $microseconds * 2 + $stands);
	$self->_write_at($ENTRIES * 8, pack 'C', $self->{current});
	return;
}

sub _write_at {
	my ($self, $offset, $bytes) = @_;
	sysseek($self->{handle}, $offset, 0)
	  && (syswrite($self->{handle}, $bytes) // -1) == length $bytes
	  or die "could not write $self->{file}: $!";
	return;
}

# Steps the clock to this moment, in seconds since 1970.
sub set {
	my ($self, $moment) = @_;
	$self->step($moment - time());
	return;
}

# From now on the server's clock stands still at this moment.
sub stand_still {
	my ($self, $moment) = @_;
	return $self->_write($moment, 1);
}

# Begins a statement in a session of its own that has to wait for the clock. Returns the session
# when it waits, and dies where it does not. A wait for a tick that is very short doesn't show: of a
# session that `spins` it is known only that it is at its statement.
my $waiting = 0;

sub waits {
	my ($self, $sql, $spins) = @_;
	my %session = (name => 'waits_' . ++$waiting, sql => $sql, out => '', err => '');
	{
		local $ENV{PGAPPNAME} = $session{name};
		$session{run} = IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose',
				'-d', $self->{node}->connstr('postgres'),
				'-c', $sql
			],
			'<',
			\undef,
			'>',
			\$session{out},
			'2>',
			\$session{err},
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	}
	return $self->shows_wait(\%session, $spins);
}

# Returns such a session when it waits, and dies where it does not. Up to version 16 a wait for the
# state file looks the same but for the file.
sub shows_wait {
	my ($self, $session, $spins) = @_;
	my $waits =
	  $spins
	  ? "state = 'active'"
	  : "wait_event_type = 'Extension' AND wait_event IN ('Extension', 'FlakeidClock')"
	  . " AND pg_stat_file('flakeid/state.new', true) IS NULL";
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until ($self->{node}->safe_psql('postgres', <<"SQL"))
SELECT count(*) FROM pg_stat_activity WHERE application_name = '$session->{name}' AND $waits
SQL

	{
		die "$session->{sql} does not wait: $session->{out}$session->{err}"
		  if time() > $until || !$session->{run}->pumpable;
		$session->{run}->pump_nb;
		sleep 0.02;
	}
	return $session;
}

# Waits until such a session has ended. Returns what it has printed, and its error.
sub ended {
	my ($self, $session) = @_;
	$session->{run}->finish;
	chomp $session->{out};
	return @$session{ 'out', 'err' };
}

# What the server says the time is, in seconds since 1970.
sub time_of_server {
	my ($self) = @_;
	return $self->{node}->safe_psql('postgres', 'SELECT extract(epoch FROM clock_timestamp())');
}

1;
