# A standby that is promoted, with its clock behind the primary's or in step with it, makes no ID that the
# primary has made as far as it has heard of it: also when it is restarted or crashes before anyone asks,
# and when the primary's clock was stepped back.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my @id_types = map { $_->{name} } @ID_TYPES;

# The standbys' clock is the real one; the primary's is ahead by this many seconds.
my $ahead = 7200;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.max_clock_wait = '100ms'
flakeid.generator_ids = '3'
shared_buffers = '16MB'
autovacuum = off
# Its own worker is not needed.
max_worker_processes = 0
END
my $clock = FakedNode->new($primary);
$clock->step(-7200);
$clock->start;
create_tables($primary);
$primary->backup('young');
ok( !-e $primary->backup_dir . '/young/flakeid',
	'where no ID was made yet a backup has no state file');

# Four hours before the rest, so that sno's other timeline is free for a step back.
$primary->safe_psql('postgres', "INSERT INTO ${_}s DEFAULT VALUES") for @id_types;
$clock->step($ahead);

# What is asked of the primary.
sub make {
	my (@of) = @_;
	$primary->safe_psql('postgres', join "\n",
		map { "INSERT INTO ${_}s (nr) SELECT generate_series(1, 2000);" } @of ? @of : @id_types);
	return;
}

# A standby of the primary that has caught up, and its clock.
my %postmaster;

sub standby {
	my ($name, $configuration) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'young', has_streaming => 1);
	$node->append_conf(
		'postgresql.conf', join "\n",
		'max_worker_processes = 8',
		$configuration // '');
	my $clock = FakedNode->new($node);
	start($clock);
	$primary->wait_for_catchup($node);
	return ($node, $clock);
}

# Starts a server so that it can be killed.
sub start {
	my ($clock) = @_;
	$postmaster{ $clock->node->name } = Postmaster->start($clock->node, $clock->environment);
	return;
}

# It is killed as a whole, and started again.
sub crash {
	my ($clock) = @_;
	$postmaster{ $clock->node->name }->kill9;
	start($clock);
	return;
}

# Returns when the state file of a standby covers what its primary has made until now.
sub has_seen {
	my ($node) = @_;
	my $now = $primary->safe_psql('postgres',
		'SELECT trunc(extract(epoch FROM clock_timestamp()) * 1000000000)');
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (-e state_path($node) && until_of(state_of($node)) >= $now) {
		die 'the worker has not written what it sees' if time() > $until;
		$primary->safe_psql('postgres', 'SELECT pg_current_xact_id()');
		sleep 0.05;
	}
	return;
}

# Promotes it; returns when its worker has seen the end of recovery, and written that by its own clock.
sub promote {
	my ($node) = @_;
	worker_runs($node);
	$node->promote;
	# The worker ends when it has opened the state. A session that comes first waits for the lead.
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (defined worker_of($node)) {
		die 'the worker has written nothing' if time() > $until;
		sleep 0.05;
	}
	return;
}

# A session that requests IDs. It doesn't wait for a clock that is far behind: that would not end before the test does.
sub asking_session {
	my ($node) = @_;
	my $session = session($node);
	$session->query_safe("SET statement_timeout TO '${PostgreSQL::Test::Utils::timeout_default}s'");
	return $session;
}

# What a request for IDs ends in.
sub asked {
	my ($session, $id_type) = @_;
	return error_in($session, "INSERT INTO ${id_type}s SELECT FROM generate_series(1, 100)");
}

# Waits until there is the worker of a standby, which has no title before it begins. Returns its process ID.
sub worker_runs {
	my ($node) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (1) {
		my $pid = worker_of($node);
		return $pid if defined $pid;
		die 'there is no worker' if time() > $until;
		sleep 0.05;
	}
}

# Returns when the worker of a standby has looked at what there is now. It sleeps between two looks. A sleep that waits for
# the disk (state D) is in the middle of a look, and another one (state S) may be, for a lock. So it has woken up and looked
# when it is seen asleep, and again after it has gone to sleep three times more.
sub has_looked {
	my ($node) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $pid = worker_runs($node);
	my $first;
	for (;;) {
		my ($state, $sleeps) =
		  slurp_file("/proc/$pid/status") =~ /^State:\s+(\w).*^voluntary_ctxt_switches:\s+(\d+)/ms;
		if ($state eq 'S') {
			$first //= $sleeps;
			return if $sleeps >= $first + 3;
		}
		die 'the worker does not look' if time() > $until;
		sleep 0.05;
	}
}

# A promoted server whose clock is behind makes no IDs until it has caught up. Its tables have those of the
# primary, and are keyed by them.
sub makes_none_again {
	my ($node, $clock, $what) = @_;
	my $behind = qr/ERROR:  58000: the clock is [\d.]+ (?:s|ms|min) behind the last/;
	my $session = asking_session($node);
	for my $id_type (@id_types) {
		like(
			asked($session, $id_type),
			qr/$behind $id_type ID/,
			"$what, with its clock behind: no $id_type IDs");
	}
	for my $id_type (@id_types) {
		my ($count, @moments) = split /\|/, $session->query_safe(<<"SQL");
SELECT count(*), extract(epoch FROM min(at)), extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY at)),
	extract(epoch FROM max(at))
FROM (SELECT ${id_type}_timestamp(id) AS at FROM ${id_type}s) AS made WHERE at > (SELECT min(${id_type}_timestamp(id)) FROM ${id_type}s) + interval '10 min'
SQL
		cmp_ok($count, '>', 1000, "... it has $id_type IDs of the primary");
		for my $moment (@moments) {
			$clock->stand_still($moment);
			like(asked($session, $id_type),
				$behind, '... and at the very moment when they were made it makes none');
		}
	}
	$clock->step($ahead + 2);
	for my $id_type (@id_types) {
		is(asked($session, $id_type), '', "... when its clock has caught up $id_type IDs go on");
		is( $session->query_safe(
				"SELECT at BETWEEN now() - interval '4 ms' AND clock_timestamp() FROM (SELECT ${id_type}_timestamp(${id_type}_next()) AS at OFFSET 0) AS made"
			),
			't',
			'... with the present time');
	}
	$session->quit;
	$postmaster{ $node->name }->stop('fast');
	return;
}

# behind -------------------------------------------------------------------------------------------------

make();
my ($standby, $standby_clock) = standby('behind');
my %made_by = (
	'flakeid_accept_clock()' => 'flakeid_accept_clock',
	map { ($_->{next} => "$_->{name}_next", sprintf($_->{batch}, 3) => "$_->{name}_next") }
	  @ID_TYPES);
like(
	error_of($standby, "SELECT $_"),
	qr/ERROR:  25006: cannot execute $made_by{$_}\(\) during recovery/,
	"on a standby $_ is an error") for sort keys %made_by;
is( $standby->safe_psql(
		'postgres',
		'SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot()),'
		  . ' pg_stat_reset_flakeid()'),
	'0|0|',
	'... and it has no statistics, and no error for a session that asks for them');

make();
$primary->wait_for_catchup($standby);
has_seen($standby);
is(state_of($standby)->{server}, 'running',
	'... but it keeps its primary\'s time in a state file, though its primary had none when it was copied'
);
my $last = $standby->safe_psql('postgres',
	'SELECT extract(epoch FROM flake_timestamp(max(id))) FROM flakes');
promote($standby);
my $state = state_of($standby);
cmp_ok(until_of($state), '>', $last * 1_000_000_000, 'promoted it writes down what it has seen');
makes_none_again($standby, $standby_clock, 'a standby that is promoted');

# restarted before anyone asked ----------------------------------------------------------------------------

($standby, $standby_clock) = standby('restarted');
make();
$primary->wait_for_catchup($standby);
promote($standby);
$postmaster{restarted}->stop('fast');
start($standby_clock);
crash($standby_clock);
makes_none_again($standby, $standby_clock,
	'a standby that is promoted, restarted, and crashes before a session asked');

# Its worker may not have seen yet that recovery is over.
($standby, $standby_clock) = standby('crashed');
make();
$primary->wait_for_catchup($standby);
has_seen($standby);
$standby->promote;
crash($standby_clock);
makes_none_again($standby, $standby_clock, 'a standby that crashes right after it was promoted');

# in step ----------------------------------------------------------------------------------------------

# While it is a standby its state on disk is ahead by the lead: if it waited for that, it would have other times.
($standby, $standby_clock) = standby('in_step', "flakeid.horizon_lead = '1h'");
$standby_clock->step($ahead);
make();
$primary->wait_for_catchup($standby);
has_seen($standby);
has_looked($standby);
my $ahead_on_disk = until_of(state_of($standby));
promote($standby);
my $session = asking_session($standby);

for my $id_type (@id_types) {
	is(asked($session, $id_type),
		'', "a standby whose clock is in step makes $id_type IDs when it is promoted");
	cmp_ok(
		$session->query_safe(
			"SELECT trunc(extract(epoch FROM max(${id_type}_timestamp(id))) * 1000000000) FROM ${id_type}s"
		),
		'<',
		$ahead_on_disk,
		'... without a wait');
}
is( $standby->safe_psql(
		'postgres', 'SELECT sum(clock_steps_back), sum(tick_tocks) FROM pg_stat_flakeid'),
	'0|0',
	'... and sees no step of the clock');
$session->quit;
$postmaster{in_step}->stop('fast');

# the primary's clock is stepped back --------------------------------------------------------------------------

# A standby sees the time from before, and the one from after. This one of them is promoted, one is
# started as a server of its own after it was stopped, and one crashes while it is a standby.
my @standbys = map { [ standby($_) ] } 'seen', 'stopped', 'crashed_standby';
make();
$primary->wait_for_catchup($_->[0])          for @standbys;
has_seen($_->[0])                            for @standbys;
$_->[0]->safe_psql('postgres', 'CHECKPOINT') for $standbys[2];
$clock->step($ahead - 3600);
make('sno');
like(
	error_of($primary, 'SELECT count(flake_next()) FROM generate_series(1, 50000)'),
	qr/58000: the clock is (?:5\d|60) min behind/,
	'the primary\'s clock is stepped back by an hour');
$primary->safe_psql('postgres', 'CHECKPOINT');
# The restart point begins at the last checkpoint that the standby has replayed.
$primary->wait_for_catchup($standbys[2][0]);
$standbys[2][0]->safe_psql('postgres', 'CHECKPOINT');
crash($standbys[2][1]);
make('sno');
$primary->wait_for_catchup($_->[0]) for @standbys;
has_looked($_->[0]) for @standbys;

$postmaster{stopped}->stop('fast');
unlink $standbys[1][0]->data_dir . '/standby.signal' or die 'no standby.signal';
start($standbys[1][1]);
makes_none_again(@{ $standbys[1] },
	'a standby that was stopped and is started as a server of its own');

promote($standbys[0][0]);
makes_none_again(@{ $standbys[0] },
	'a standby whose primary\'s clock was stepped back before it is promoted');

promote($standbys[2][0]);
makes_none_again(@{ $standbys[2] },
	'a standby that has crashed since its primary\'s clock was stepped back');

$primary->stop;
done_testing();
