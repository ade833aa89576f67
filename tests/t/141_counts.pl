# What pg_stat_flakeid and flakeid_snapshot() say is what was done, and who may ask them. Where numbers
# have to be exact the clock stands still.
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

my ($clock, $node);
my $one_of_each = 'SELECT ' . join ', ', map { $_->{next} } @SYSTEMS;
my %numbers     = map { $_->{name} => $_->{numbers} } @SYSTEMS;
my %one_cell    = map { $_->{name} => $_->{one_cell} } @SYSTEMS;

# A server with these settings whose first IDs have been made, so that the next are not held back by the
# clock's having to pass its start, and which has counted nothing yet.
sub begin
{
	my ($name, $configuration) = @_;
	$clock = FakedClock->new($name, "flakeid.horizon_lead = '10s'\n$configuration");
	$node  = $clock->node;
	$clock->start;
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid; $one_of_each");
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	return;
}

# From the view, of one system, summed up or the like over its generator IDs.
sub stat_of
{
	my ($system, $what) = @_;
	return $node->safe_psql('postgres', "SELECT $what FROM pg_stat_flakeid WHERE id_type = '$system'");
}

# Moments that a binary fraction holds exactly, each later than all before.
my $later = 20;
sub next_moment
{
	$later += 20;
	return int(time()) + $later + 0.5;
}

# IDs --------------------------------------------------------------------------------------------------

begin('counts', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = '100ms'\nflakeid.sno_sequence = '0-4095'\n");
is($node->safe_psql('postgres', 'SELECT sum(ids) FROM pg_stat_flakeid'), '0', 'what is counted begins at 0');

# Those of which one tick of one generator ID, or of the one cell, has enough.
for my $system (grep { $numbers{$_} > 4000 } map { $_->{name} } @SYSTEMS)
{
	my $moment = next_moment();
	$clock->stand_still($moment);
	my @sessions = map { session($node) } 1 .. 3;
	$sessions[0]->query_safe("SELECT count(${system}_next()) FROM generate_series(1, 1000)");
	my $ids = stat_of($system, 'ids');
	ok($ids >= 985 && $ids <= 1000, "$system: 1,000 calls are counted, but for at most 15 that the session had taken ahead")
	  or diag($ids);
	$sessions[0]->query_safe("SELECT ${system}_next()") for 1 .. 15;
	$ids = stat_of($system, 'ids');
	ok($ids >= 1000 && $ids <= 1015, '... one at a time too') or diag($ids);

	$_->query_safe("SELECT count(${system}_next()) FROM generate_series(1, 700)") for @sessions[ 1, 2 ];
	$ids = stat_of($system, 'ids');
	ok($ids >= 2415 - 3 * 15 && $ids <= 2415, '... for three sessions their sum') or diag($ids);

	$clock->stand_still($moment + 1);
	$_->query_safe("SELECT ${system}_next()") for @sessions;
	is(stat_of($system, 'ids'), 2418, '... exactly, when the tick is over and each has asked once more');

	$clock->stand_still($moment + 2);
	is($sessions[0]->query_safe("SELECT count(*) FROM ${system}_next_batch(1234)"), 1234, "$system: a batch");
	is(stat_of($system, 'ids'), 3652, '... is counted as it is');
	$sessions[0]->query_safe("SELECT count(*) FROM ${system}_next_batch(0)");
	is(stat_of($system, 'ids'), 3652, '... and an empty one is none');
	error_in($sessions[0], "BEGIN; SELECT ${system}_next(); SELECT 1 / 0; ROLLBACK");
	$clock->stand_still($moment + 3);
	$sessions[0]->query_safe("SELECT ${system}_next()");
	$ids = stat_of($system, 'ids');
	is($ids, 3654, "$system: that of a transaction which is rolled back is counted");

	# Two that are not counted yet, of sessions that end.
	$clock->stand_still($moment + 4);
	my @counts = stat_of($system, 'ids');
	for my $session (@sessions)
	{
		$session->query_safe("SELECT count(${system}_next()) FROM generate_series(1, 5)");
		push @counts, stat_of($system, 'ids');
	}
	for my $session (@sessions)
	{
		my $pid = $session->query_safe('SELECT pg_backend_pid()');
		$session->quit;
		$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)") or die 'it has not gone';
		push @counts, stat_of($system, 'ids');
	}
	is("@counts", join(' ', sort { $a <=> $b } @counts), '... the count never falls, while sessions ask and when they end');
	is($counts[-1], 3669, '... and when they have ended it is exact');
}

# Of a uniqueid nothing is taken ahead.
{
	my $moment   = next_moment();
	my @sessions = map { session($node) } 1 .. 3;
	$clock->stand_still($moment);
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	$_->query_safe('SELECT count(uniqueid_next()) FROM generate_series(1, 10)') for @sessions;
	is(stat_of('uniqueid', 'ids'), 30, 'uniqueid: 30 calls of three sessions are counted exactly, within the tick');
	is($sessions[0]->query_safe('SELECT count(*) FROM uniqueid_next_batch(20)'), 20, '... a batch');
	$sessions[1]->query_safe("SELECT uniqueid_next('spread')");
	is(stat_of('uniqueid', 'ids, last_sequence, generator_id'), '51|50|3', '... too, and those of the other mode');
	$_->quit for @sessions;
}

# where it stands --------------------------------------------------------------------------------------

for my $system (map { $_->{name} } @SYSTEMS)
{
	my $moment = next_moment();
	$clock->stand_still($moment);
	my $id = $node->safe_psql('postgres', "SELECT ${system}_next()");
	my $number = $system eq 'flake' ? 'counter' : 'sequence';
	is(
		stat_of($system, "last_tick_at = ${system}_timestamp('$id'), last_tick_at BETWEEN now() - interval '4 ms' AND now(),"
			  . " last_sequence = (${system}_decode('$id')).$number, generator_id"),
		't|t|t|' . ($one_cell{$system} ? '' : 3), "$system: the last tick and number are those of the last ID");
	is(
		stat_of($system, "gate = now() + interval '10 s', gate_lead = '10 s', horizon_written_at = now(), horizon_write_time > '0'"),
		't|t|t|t', '... the gate is ahead by the lead, and was written just now');
	$clock->stand_still($moment + 19);
	is(stat_of($system, "gate_lead = '-9 s'"), 't', '... and behind when nobody asks');
}
is(stat_of('flake', 'sequence_min, sequence_max'), '0|4095', 'a flake tick has 4,096 numbers');
is(stat_of($_, 'sequence_min, sequence_max'), '0|' . ($numbers{$_} - 1), "... that of $_ $numbers{$_}")
  for 'flake128', 'guid', 'uniqueid';
is(stat_of('sno', 'sequence_min, sequence_max'), '0|4095', 'a sno tick has those of flakeid.sno_sequence');
reload_with($node, sno_sequence => '500-999');
is(stat_of('sno', 'sequence_min, sequence_max'), '500|999', '... after a reload too');
is(stat_of('flake', 'sequence_min, sequence_max'), '0|4095', '... which is sno\'s alone');

# ticks used up ------------------------------------------------------------------------------------------

reload_with($node, sno_sequence => '0-4095');
for my $system (map { $_->{name} } @SYSTEMS)
{
	my $numbers = $system eq 'sno' ? 4096 : $numbers{$system};
	my $moment = next_moment();
	$clock->stand_still($moment);
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	my $counts = 'ids, ticks_exhausted, spills, waits';
	my $session = session($node);
	$session->query_safe("SELECT count(${system}_next()) FROM generate_series(1, $numbers)");
	is(
		stat_of($system, "ids BETWEEN $numbers - 15 AND $numbers, ticks_exhausted, spills, waits"),
		't|1|0|0', "$system: a tick that is used up is one, and nothing has been waited for");
	like(error_in($session, "SELECT ${system}_next()"), qr/58000/, '... then the clock has to go on');
	is(
		stat_of($system, "$counts, wait_time >= '100 ms'"), "$numbers|1|0|1|t",
		'... which is a wait, as long as it took');

	# In the next tick.
	reload_with($node, max_clock_wait => '1h');
	my $length = (grep { $_->{name} eq $system } @SYSTEMS)[0]{tick} / 1_000_000_000;
	$clock->stand_still($moment + 1.5 * $length);
	my $more  = $numbers + 1;
	my $waits = $clock->waits("SELECT count(*) FROM ${system}_next_batch($more)", $length < 0.0005);
	ok(
		$node->poll_query_until('postgres', "SELECT ($counts) = (2 * $numbers, 2, 0, 1) FROM pg_stat_flakeid WHERE id_type = '$system'"),
		'... and more IDs than a tick holds use it up');
	$clock->stand_still($moment + 3.5 * $length);
	is(join('', $clock->ended($waits)), $more, '... and wait for the next');
	is(stat_of($system, $counts), 2 * $numbers + 1 . '|2|0|2', '... once');
	reload_with($node, max_clock_wait => '100ms');
	$session->quit;
}

# With two generator IDs a session that begins at the lower goes on to the higher.
reload_with($node, generator_ids => '3-4');
my @sessions;
do
{
	push @sessions, session($node);
  } until $sessions[-1]->query_safe("SELECT flake_next(); SELECT (flake_decode(flake_next())).worker") =~ /3$/ || @sessions == 20;
for my $system ('flake', 'sno')
{
	my $session = $sessions[-1];
	$clock->stand_still(next_moment());
	$session->query_safe("SELECT ${system}_next()");
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	$session->query_safe("SELECT count(${system}_next()) FROM generate_series(1, 8191)");
	is(
		$node->safe_psql('postgres', "SELECT generator_id, ids BETWEEN 4080 AND 4096, ticks_exhausted, spills, waits"
			  . " FROM pg_stat_flakeid WHERE id_type = '$system'"),
		"3|t|1|1|0\n4|t|1|0|0", "$system: a session that goes on to the next generator ID has spilled from the first");
}
$_->quit for @sessions;

# reset --------------------------------------------------------------------------------------------------

$clock->stand_still(next_moment());
my $before = $node->safe_psql('postgres',
	$one_of_each . '; SELECT string_agg((id_type, generator_id, last_tick, last_sequence, gate)::text, $$ $$) FROM pg_stat_flakeid');
($before) = $before =~ /(.*)\z/;
$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
is(
	$node->safe_psql('postgres', <<'SQL'), '0|00:00:00|t',
SELECT sum(ids + ticks_exhausted + spills + waits + clock_steps_back + tick_tocks),
	max(wait_time + largest_step_back), bool_and(stats_reset = now()) FROM pg_stat_flakeid
SQL
	'a reset is counted from, in all systems');
is(
	$node->safe_psql('postgres',
		'SELECT string_agg((id_type, generator_id, last_tick, last_sequence, gate)::text, $$ $$) FROM pg_stat_flakeid'),
	$before, '... and changes nothing of where they stand');
$node->stop;

# steps back -----------------------------------------------------------------------------------------------

begin('steps', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = 0\n");
my $steps = "clock_steps_back, tick_tocks, date_trunc('second', largest_step_back + interval '0.5 s')";

my $place = 0;
for (@SYSTEMS)
{
	my ($system, $length) = @$_{ 'name', 'tick' };
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	my $turns = $system eq 'sno';
	my $moment = next_moment() + 1000 * ++$place;
	my $ask = "SELECT count(${system}_next()) FROM generate_series(1, 5000)";

	$clock->stand_still($moment);
	$node->safe_psql('postgres', "SELECT ${system}_next()");
	$clock->stand_still($moment - 10);
	error_of($node, $ask);
	is(stat_of($system, $steps), $turns ? '1|1|00:00:10' : '1|0|00:00:10', "$system: a step back by 10 s");
	error_of($node, $ask) for 1 .. 3;
	is(stat_of($system, $steps), $turns ? '1|1|00:00:10' : '1|0|00:00:10', '... is one, however often it is met');

	$clock->stand_still($moment + 30);
	$node->safe_psql('postgres', "SELECT ${system}_next()");
	$clock->stand_still($moment + 25);
	error_of($node, $ask);
	is(stat_of($system, $steps), $turns ? '2|2|00:00:10' : '2|0|00:00:10', '... a second one by 5 s is another, and the largest stays');

	$clock->stand_still($moment + 100);
	$node->safe_psql('postgres', "SELECT ${system}_next()");
	$clock->stand_still($moment + 55);
	error_of($node, $ask);
	is(stat_of($system, $steps), $turns ? '3|3|00:00:45' : '3|0|00:00:45', '... until a larger one');
	# In the middle of a tick, and of the one before.
	my $middle = int($moment + 200) * 1_000_000_000;
	$middle += $length - $middle % $length + int($length / 2);
	$clock->stand_still($middle / 1_000_000_000);
	$node->safe_psql('postgres', "SELECT ${system}_next()");
	$clock->stand_still(($middle - $length) / 1_000_000_000);
	error_of($node, $ask);
	is(stat_of($system, 'clock_steps_back'), 3, '... a tick less is none');
}

# sno's bookkeeping ------------------------------------------------------------------------------------------

# The tick of a sno, by its time.
sub tick_of
{
	my ($sno) = @_;
	return $node->safe_psql('postgres',
		"SELECT (extract(epoch FROM sno_timestamp('$sno') - timestamptz '2010-01-01 00:00+00') * 250)::bigint");
}

$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
my $moment = next_moment() + 1000 * ++$place;
$clock->stand_still($moment);
my $first  = $node->safe_psql('postgres', 'SELECT sno_next(7)');
my $was    = $node->safe_psql('postgres', 'SELECT tick_tock FROM flakeid_snapshot()');
is(
	$node->safe_psql('postgres', 'SELECT wall_hi, now, sequence_min, sequence_max, partition, drifts FROM flakeid_snapshot()'),
	join('|', (tick_of($first)) x 2, 0, 65535, 3, 0), 'the snapshot\'s wall_hi is the last sno\'s tick, and now the clock\'s');
is(
	$node->safe_psql('postgres', "SELECT last.tick_tock = $was, mine.sequence = last.sequence FROM flakeid_snapshot() AS mine, sno_decode('$first') AS last"),
	't|t', '... tick and sequence are that sno\'s');
$clock->stand_still($moment - 100);
my $second = $node->safe_psql('postgres', 'SELECT sno_next(7)');
is(
	$node->safe_psql('postgres', 'SELECT tick_tock, drifts, wall_hi, wall_safe, now, sequence FROM flakeid_snapshot()'),
	join('|', 1 - $was, 1, tick_of($second), tick_of($first), tick_of($second),
		$node->safe_psql('postgres', "SELECT (sno_decode('$second')).sequence")),
	'after a turn tick is the other, drifts is one more, and wall_safe what the first timeline had last');
is($node->safe_psql('postgres', "SELECT (sno_decode('$second')).tick_tock"), 1 - $was, '... as in the sno');
$clock->stand_still($moment + 50);
my $third = $node->safe_psql('postgres', 'SELECT sno_next(7)');
is(
	$node->safe_psql('postgres', 'SELECT tick_tock, drifts, wall_hi, wall_safe FROM flakeid_snapshot()'),
	join('|', 1 - $was, 1, tick_of($third), tick_of($first)), '... and stays when the clock has caught up');

# A turn is for a step back, also into a timeline whose horizon is ahead of the clock already.
$clock->stand_still($moment + 1000);
$node->safe_psql('postgres', 'SELECT sno_next()');
$clock->stand_still($moment + 1000.25);
$node->safe_psql('postgres', 'SELECT sno_next()');
$clock->stand_still($moment + 990);
$node->safe_psql('postgres', 'SELECT sno_next()');
$clock->stand_still($moment + 1000.625);
$node->safe_psql('postgres', 'SELECT sno_next()');
$clock->stand_still($moment + 1000.375);
$node->safe_psql('postgres', 'SELECT sno_next()');
is(stat_of('sno', 'clock_steps_back, tick_tocks'), '3|3', 'a step back to where the other timeline\'s horizon is ahead is a turn');
$clock->stand_still($moment + 1000.75);
$node->safe_psql('postgres', 'SELECT sno_next()');
is(stat_of('sno', 'clock_steps_back, tick_tocks'), '3|3', '... and when the clock goes on there is no other');
$node->stop;

# waiting ------------------------------------------------------------------------------------------------

begin('waiting', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = '10h'\n");
my $version = $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
$clock->step(7200);
$node->safe_psql('postgres', 'SELECT flake_next()');
$clock->step(3600);
my $out = '';
my $err = '';
my $waiter = do
{
	local $ENV{PGAPPNAME} = 'waiter';
	IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT count(flake_next()) FROM generate_series(1, 5000)' ],
		'>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
};
my $event = $version >= 17 ? 'FlakeidClock' : 'Extension';
ok($node->poll_query_until('postgres',
		"SELECT (wait_event_type, wait_event) = ('Extension', '$event') FROM pg_stat_activity WHERE application_name = 'waiter'"),
	"a session that waits for the clock shows as $event");
SKIP:
{
	skip 'wait events have no list before PostgreSQL 17', 1 if $version < 17;
	is(
		$node->safe_psql('postgres', "SELECT string_agg(type || ' ' || name, ', ' ORDER BY name) FROM pg_wait_events WHERE name ~ '^Flakeid'"),
		'Extension FlakeidClock, Extension FlakeidHorizonWrite, Extension FlakeidLease', '... which the server lists');
}
$clock->step(7201);
$waiter->finish;
is("$out$err", "5000\n", '... and has its IDs when the clock has come there');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_activity WHERE wait_event ~ \'^Flakeid\''), '0', '... then nobody waits');
is(stat_of('flake', "wait_time > '0'"), 't', '... which is counted');
$node->stop;

# who may ask --------------------------------------------------------------------------------------------

$node = PostgreSQL::Test::Cluster->new('privileges');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nrestart_after_crash = on\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner LOGIN;
CREATE ROLE other LOGIN;
CREATE DATABASE owned OWNER owner;
SQL
my @reading = ('TABLE pg_stat_flakeid', 'SELECT * FROM pg_stat_get_flakeid()', 'SELECT * FROM flakeid_snapshot()');
my @doing = ('SELECT pg_stat_reset_flakeid()', 'SELECT flakeid_accept_clock()');

sub error_as
{
	my ($role, $sql) = @_;
	return error_of($node, "\\c - $role\n\\set VERBOSITY verbose\n$sql", 'owned');
}

is(error_as('owner', "CREATE EXTENSION flakeid; $one_of_each"), '', 'who owns a database can make the extension there');
for my $role ('owner', 'other')
{
	like(error_as($role, $_), qr/ERROR:  42501: permission denied for (?:function|view) /, "$role may not: $_")
	  for @reading, @doing;
	is(error_as($role, "$one_of_each, flakeid_identity()"), '', '... but make IDs');
}
like(error_as('owner', 'GRANT SELECT ON pg_stat_flakeid TO other'), qr/WARNING:|ERROR:  42501/, 'the owner cannot give to others what he has not');
like(error_as('other', 'TABLE pg_stat_flakeid'), qr/ERROR:  42501/, '... and they have not got it');
$node->safe_psql('owned', 'GRANT pg_monitor TO owner');
is(error_as('owner', $_), '', "as a member of pg_monitor he may: $_") for @reading;
like(error_as('owner', $_), qr/ERROR:  42501: permission denied for function/, "... but not: $_") for @doing;
is(error_of($node, $_, 'owned'), '', "a superuser may: $_") for 'SELECT pg_stat_reset_flakeid()';
$node->safe_psql('owned', 'GRANT EXECUTE ON FUNCTION pg_stat_reset_flakeid() TO other');
is(error_as('other', 'SELECT pg_stat_reset_flakeid()'), '', '... and let others');
is($node->safe_psql('owned', 'SELECT count(*) FROM pg_stat_flakeid'), 
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT count(*) FROM pg_stat_flakeid'),
	'the numbers are the server\'s: another database shows them too');
is(error_as('owner', 'DROP EXTENSION flakeid'), '', 'who made the extension can drop it');

# nothing asked --------------------------------------------------------------------------------------------

my $nothing = 'SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot())';
$node->restart;
is($node->safe_psql('postgres', $nothing), '0|0', 'a server that was asked nothing has no rows');
is(error_of($node, 'SELECT pg_stat_reset_flakeid()'), '', '... and nothing to reset');
$node->safe_psql('postgres', 'SELECT flake_next()');
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT id_type, ' ') FROM pg_stat_flakeid"), 'flake', '... then it has those of the system that was asked');

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', "$one_of_each; CREATE TABLE made AS SELECT flake_next()");
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $nothing), '0|0', 'a standby has no rows');
is(error_of($standby, 'SELECT pg_stat_reset_flakeid()'), '', '... and nothing to reset');
like(error_of($standby, 'SELECT flakeid_accept_clock()'), qr/ERROR:  25006: cannot execute flakeid_accept_clock\(\) during recovery/, '... nor to accept');
$standby->stop;

# a crash --------------------------------------------------------------------------------------------------

my $session = session($node);
$session->query_safe('SELECT count(flake_next()) FROM generate_series(1, 1000)');
my $since = $node->safe_psql('postgres', 'SELECT max(stats_reset) FROM pg_stat_flakeid');
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
$node->poll_query_until('postgres', 'SELECT NOT EXISTS (TABLE pg_stat_flakeid)');
is($node->safe_psql('postgres', $nothing), '0|0', 'after a crash there are no rows');
$node->safe_psql('postgres', 'SELECT flake_next()');
is(
	$node->safe_psql('postgres', "SELECT sum(ids), bool_and(stats_reset > '$since') FROM pg_stat_flakeid"),
	'1|t', '... and counting begins anew');
$session->{run}->kill_kill if $session->{run};
$node->stop;

# no preload -----------------------------------------------------------------------------------------------

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->start;
is($node->safe_psql('postgres', $nothing), '0|0', 'a server that has not preloaded it has no rows');
is(error_of($node, 'SELECT pg_stat_reset_flakeid()'), '', '... and nothing to reset');
$node->stop;

done_testing();
