# What pg_stat_flakeid and flakeid_snapshot() say is what happened: so many IDs, waits and steps of the
# clock, no more and no less; and who may see it.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $clock = FakedClock->new('statistics', <<'END');
flakeid.generator_ids = '3'
# No disk takes half as long to write the horizon, which would make the lead longer.
flakeid.horizon_lead = '1min'
restart_after_crash = on
autovacuum = off
END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $version = $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");

# What the view says of one system and generator ID; of its one cell, where it has no generator IDs.
my %one_cell = map { $_->{name} => $_->{one_cell} } @SYSTEMS;
sub stat_of
{
	my ($columns, $system, $generator) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM pg_stat_flakeid WHERE id_type = '$system'"
		  . ' AND generator_id ' . ($one_cell{$system} ? 'IS NULL' : '= ' . ($generator // 3)));
}

sub reset_stat
{
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	return;
}

# nothing, and the first IDs -------------------------------------------------------------------------------

is(
	$node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot()), pg_stat_reset_flakeid()'),
	'0|0|', 'where nobody has asked for an ID there is nothing to see, nor to reset');

my $began = $node->safe_psql('postgres', "SELECT clock_timestamp() - interval '4 ms'");
my $session = session($node);
for my $system (@SYSTEMS)
{
	is($node->safe_psql('postgres', 'SELECT count(*) FROM flakeid_snapshot()'), '0', 'sno has had none')
	  if $system->{name} eq 'sno';
	$session->query_safe("SELECT $system->{next}");
	is(
		$node->safe_psql('postgres', "SELECT id_type, generator_id FROM pg_stat_flakeid WHERE id_type = '$system->{name}'"),
		"$system->{name}|" . ($system->{one_cell} ? '' : 3), "$system->{name} comes with its first ID");
}
is(
	$node->safe_psql('postgres', "SELECT string_agg(id_type, ' ') FROM pg_stat_flakeid"),
	join(' ', map { $_->{name} } @SYSTEMS), '... then all are there');
for my $system (map { $_->{name} } @SYSTEMS)
{
	is(stat_of('ids, ticks_exhausted, spills, waits, clock_steps_back, tick_tocks', $system), '1|0|0|0|0|0',
		"one $system ID is counted, and nothing else");
	is(stat_of("last_tick_at BETWEEN '$began' AND clock_timestamp()", $system), 't', '... in a tick since then');
	is(
		stat_of("horizon_written_at BETWEEN '$began' AND clock_timestamp(), horizon_write_time > '0', gate > last_tick_at", $system),
		't|t|t', '... for which the horizon was written');
}

# how many -------------------------------------------------------------------------------------------------

# A session takes up to 16 at once, for the tick. It gives back what it did not need when it next asks, later
# than in that tick; where nothing was left it may once more take as many.
sub asks_twice
{
	my ($system, @sessions) = @_;
	for (1 .. 2)
	{
		sleep 0.02;
		$_->query_safe("SELECT ${system}_next()") for @sessions;
	}
	return;
}
for my $system (map { $_->{name} } @SYSTEMS)
{
	reset_stat();
	$session->query_safe("SELECT count(${system}_next()) FROM generate_series(1, 1000)");
	my $ids = stat_of('ids', $system);
	ok($ids >= 985 && $ids <= 1000, "1,000 $system IDs are counted, but for at most 15 that were taken ahead") or diag($ids);
	asks_twice($system, $session);
	is(stat_of('ids', $system), '1002', '... and exactly when the session goes on in other ticks');
	$session->query_safe("SELECT count(*) FROM ${system}_next_batch(5000)");
	asks_twice($system, $session);
	is(stat_of('ids', $system), '6004', '... and those of a batch');
	is($node->safe_psql('postgres', "SELECT count(*) FROM ${system}_next_batch(0)"), '0', '... of none');
	is(stat_of('ids', $system), '6004', '... are none');
}

my @sessions = map { session($node) } 1 .. 3;
reload_with($node, generator_ids => '0-7');
reset_stat();
for my $system (map { $_->{name} } @SYSTEMS)
{
	my $count = 1000;
	$_->query_safe("SELECT count(${system}_next()) FROM generate_series(1, " . $count++ . ')') for @sessions;
	asks_twice($system, @sessions);
	is(
		$node->safe_psql('postgres', "SELECT sum(ids), count(*) FROM pg_stat_flakeid WHERE id_type = '$system'"),
		'3009|' . ($one_cell{$system} ? 1 : 8),
		"$system IDs of three sessions add up, over " . ($one_cell{$system} ? 'one cell' : 'eight generator IDs'));
}
$_->quit for @sessions;
reload_with($node, generator_ids => '3');

# ticks that are used up -----------------------------------------------------------------------------------

# In the middle of a tick. The clock goes ahead, and then stands still.
my $moment = int(time()) + 10.0005;
$clock->stand_still($moment);
reset_stat();
$session->query_safe('SELECT count(*) FROM flake_next_batch(4095)');
is(stat_of('ids, ticks_exhausted, last_sequence', 'flake'), '4095|0|4094', 'a tick with one number left');
$session->query_safe('SELECT flake_next()');
is(stat_of('ids, ticks_exhausted, last_sequence, waits', 'flake'), '4096|1|4095|0', '... and one that is used up');
is(
	stat_of("extract(epoch FROM last_tick_at)::numeric(20,3)", 'flake'), sprintf('%.3f', $moment - 0.0005),
	'... at the time that it says');
is(
	stat_of("gate > last_tick_at, gate_lead > '0', gate_lead <= '1 min'", 'flake'), 't|t|t',
	'... and the gate is beyond it, by no more than the lead');
# It takes what the ticks have one after the other, and waits for each but the first.
reload_with($node, max_clock_wait => '1h');
$moment += 1;
$clock->stand_still($moment);
$session->query_safe('SELECT flake_next()');
reset_stat();
my $begin = time();
my $waits = $clock->waits('SELECT count(*) FROM flake_next_batch(10000)');
is(stat_of('ids, ticks_exhausted', 'flake'), '4095|1', '10,000 IDs of one generator use a tick up');
for my $tick (1, 2)
{
	$clock->stand_still($moment + $tick / 1000);
	my $ids = $tick == 1 ? 4095 + 4096 : 10_000;
	ok($node->poll_query_until('postgres', "SELECT ids = $ids FROM pg_stat_flakeid WHERE id_type = 'flake' AND generator_id = 3"), '... and go on in the next');
}
is(join('', $clock->ended($waits)), '10000', '... until they are all there');
my $took = time() - $begin;
my ($exhausted, $waited_for, $waited) = split /\|/, stat_of('ticks_exhausted, waits, extract(epoch FROM wait_time)', 'flake');
is("$exhausted $waited_for", '2 2', '... of which two are used up, and as many are waited for');
ok($waited > 0 && $waited < $took, '... not for longer than it took') or diag("$waited $took");
reload_with($node, max_clock_wait => '1s');
$clock->set($moment + 1);

# Home is the lower of two for one of these sessions.
reload_with($node, generator_ids => '3,4');
@sessions = ();
do
{
	push @sessions, session($node);
  } until $sessions[-1]->query_safe("SELECT flakeid_identity() ->> 'home_generator_id'") eq '3' || @sessions == 20;
my $low = $sessions[-1];
$moment = int(time()) + 20.0005;
$clock->stand_still($moment);
$low->query_safe('SELECT flake_next()');
reset_stat();
$low->query_safe('SELECT count(flake_next()) FROM generate_series(1, 5000)');
is(stat_of('ids, ticks_exhausted, spills', 'flake', 3), '4095|1|1', 'a session that needs more goes on to the next generator ID');
like(stat_of('ids, ticks_exhausted, spills', 'flake', 4), qr/^(?:89\d|90[0-5])\|0\|0$/, '... for the rest');
is($node->safe_psql('postgres', 'SELECT sum(waits) FROM pg_stat_flakeid'), '0', '... and waits for nothing');
$_->quit for @sessions;
reload_with($node, generator_ids => '3');

# steps of the clock -----------------------------------------------------------------------------------------

$moment = int(time()) + 30.0005;
$clock->stand_still($moment);
$session->query_safe('SELECT flake_next()');
reset_stat();
$clock->stand_still($moment - 0.001);
$session->query_safe('SELECT flake_next()');
is(stat_of('clock_steps_back, largest_step_back', 'flake'), '0|00:00:00', 'less than a tick is no step back');
$clock->stand_still($moment - 0.05);
for (1 .. 3)
{
	$session->query_safe('SELECT flake_next()');
	$node->safe_psql('postgres', 'SELECT flake_next()');
}
is(stat_of('clock_steps_back, largest_step_back, tick_tocks', 'flake'), '1|00:00:00.05|0',
	'a step back is counted once, with what it is, whoever meets it');
$clock->stand_still($moment - 3600);
$node->safe_psql('postgres', 'SELECT flake_next()');
is(stat_of('largest_step_back', 'flake'), '01:00:00', '... also when it becomes larger');
$clock->stand_still($moment + 1);
$session->query_safe('SELECT flake_next()');
$clock->stand_still($moment + 0.98);
$session->query_safe('SELECT flake_next()');
is(stat_of('clock_steps_back, largest_step_back', 'flake'), '2|01:00:00', '... and the next is another');
is($node->safe_psql('postgres', "SELECT sum(clock_steps_back) FROM pg_stat_flakeid WHERE id_type = 'sno'"), '0',
	'... sno has met none');

# sno's own ------------------------------------------------------------------------------------------------

# In the middle of a tick of 4 ms.
$moment = int(time()) + 40.002;
my $tick = ($moment - 0.002 - 1_262_304_000) * 250;
$clock->stand_still($moment);
$session->query_safe('SELECT sno_next()');
reset_stat();
is(
	$node->safe_psql('postgres', 'SELECT partition, now, wall_hi, wall_safe < wall_hi, drifts, tick_tock FROM flakeid_snapshot() WHERE partition = 3'),
	"3|$tick|$tick|t|0|0", 'the snapshot before a step back');
$clock->stand_still($moment - 4);
$session->query_safe('SELECT count(*) FROM sno_next_batch(10)');
is(
	$node->safe_psql('postgres', 'SELECT now, wall_hi, wall_safe, sequence, drifts, tick_tock FROM flakeid_snapshot() WHERE partition = 3'),
	join('|', $tick - 1000, $tick - 1000, $tick, 9, 1, 1), '... and after it: wall_safe is what the timeline had that was left');
is(stat_of('clock_steps_back, largest_step_back, tick_tocks, last_tick', 'sno'), '1|00:00:04|1|' . ($tick - 1000),
	'... of which the view says the same');
reload_with($node, sno_sequence => '100-199');
is(stat_of('sequence_min, sequence_max', 'sno'), '100|199', 'the bounds of the sequence follow flakeid.sno_sequence');
is(
	$node->safe_psql('postgres', 'SELECT sequence_min, sequence_max FROM flakeid_snapshot() WHERE partition = 3'),
	'100|199', '... in the snapshot, too');
is(stat_of('sequence_min, sequence_max', 'flake'), '0|4095', '... and flake\'s are its own');
reload_with($node, sno_sequence => '0-65535');
$clock->step(50);

# counting anew --------------------------------------------------------------------------------------------

$began = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
reset_stat();
is(
	$node->safe_psql('postgres', 'SELECT sum(ids + ticks_exhausted + spills + waits + clock_steps_back + tick_tocks), max(wait_time),'
		  . ' max(largest_step_back), bool_and(last_tick > 0), bool_and(stats_reset' . " BETWEEN '$began' AND now()) FROM pg_stat_flakeid"),
	'0|00:00:00|00:00:00|t|t', 'a reset sets all counts to zero, and leaves where the generators are');
is(
	$node->safe_psql('postgres', 'SELECT max(drifts) FROM flakeid_snapshot()'), '0', '... in the snapshot, too');

my $before = stat_of('stats_reset', 'flake');
my $victim = session($node);
$victim->query_safe('SELECT flake_next()');
kill 'KILL', $victim->query_safe('SELECT pg_backend_pid()');
$_->{run}->finish for $victim, $session;
wait_for_server($node);
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_flakeid'), '0', 'a crash begins anew');
# Past the horizon.
$clock->step(300);
$node->safe_psql('postgres', 'SELECT flake_next()');
is(stat_of("ids, stats_reset <> '$before', waits <= 1", 'flake'), '1|t|t', '... to count');

# what a session waits for -----------------------------------------------------------------------------------

# The horizon is written without a pause, and a tick is short.
reload_with($node, horizon_lead => '1ms');
my $script = PostgreSQL::Test::Utils::tempdir('script') . '/script';
append_to_file($script, "SELECT count(*) FROM flake_next_batch(10000);\n");
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 4, '-T', 3600, '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $error,
	IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
for my $event ($version >= 17 ? ('FlakeidClock', 'FlakeidHorizonWrite') : 'Extension')
{
	ok(
		$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND wait_event = '$event'"),
		"a session that waits shows it as $event");
}
$load->signal('TERM');
$load->finish;
is(
	$node->safe_psql('postgres', "SELECT string_agg(type || name, ' ' ORDER BY name) FROM pg_wait_events WHERE name LIKE 'Flakeid%'"),
	'ExtensionFlakeidClock ExtensionFlakeidHorizonWrite ExtensionFlakeidLease', '... and the server knows all names')
  if $version >= 17;
$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');

# an extension of one's own ----------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE owned OWNER owner');
my $owner = 'SET SESSION AUTHORIZATION owner; ';
is(error_of($node, "${owner}CREATE EXTENSION flakeid", 'owned'), '', 'the owner of a database, no superuser, creates the extension');
is($node->safe_psql('owned', "${owner}SELECT flake_next() > 0, sno_next() IS NOT NULL"), 't|t', '... and makes IDs');
for my $asked ('TABLE pg_stat_flakeid', 'SELECT flakeid_snapshot()', 'SELECT pg_stat_reset_flakeid()', 'SELECT flakeid_accept_clock()')
{
	like(error_of($node, $owner . $asked, 'owned'), qr/ERROR:  42501: permission denied/, "... but is not one for $asked");
}
$node->safe_psql('postgres', 'GRANT pg_monitor TO owner');
is($node->safe_psql('owned', "${owner}SELECT count(*) > 0 FROM pg_stat_flakeid"), 't', '... and sees the statistics as a member of pg_monitor');
is(error_of($node, "${owner}DROP EXTENSION flakeid", 'owned'), '', '... and drops it');

$node->stop;
done_testing();
