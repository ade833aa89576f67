# What pg_stat_flakeid and flakeid_snapshot() say is what happened: so many IDs, waits and steps of the clock, no more and
# no less; and who may ask them. Where numbers have to be exact the clock stands still.
#
# This file takes long.
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
my $one_of_each = 'SELECT ' . join ', ', map { $_->{next} } @ID_TYPES;
my %numbers = map { $_->{name} => $_->{numbers} } @ID_TYPES;
# The lanes of uuidv7 are in ids/uuidv7_lanes.pl.
my %cells = map { $_->{name} => $_->{cells} } @ID_TYPES;

# A server with these settings whose first IDs have been made, so that the next are not held back by the
# clock's having to pass its start, and which has counted nothing yet.
sub begin {
	my ($name, $configuration) = @_;
	$clock = FakedClock->new($name, "flakeid.horizon_lead = '10s'\n$configuration");
	$node = $clock->node;
	$clock->start;
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid; $one_of_each");
	reset_stat();
	return;
}

# From the view, of one ID type, summed up or the like over its generator IDs.
sub stat_of {
	my ($id_type, $what) = @_;
	return $node->safe_psql('postgres',
		"SELECT $what FROM pg_stat_flakeid WHERE id_type = '$id_type'");
}

# Moments that a binary fraction holds exactly, each later than all before.
my $later = 20;

sub next_moment {
	$later += 20;
	return int(time()) + $later + 0.5;
}

# From the view, of one generator ID, by default 3, or of the one cell of an ID type that has no generator IDs.
sub cell_of {
	my ($id_type, $what, $generator) = @_;
	return $node->safe_psql('postgres',
			"SELECT $what FROM pg_stat_flakeid WHERE id_type = '$id_type'"
		  . ' AND generator_id '
		  . ($cells{$id_type} ? 'IS NULL' : '= ' . ($generator // 3)));
}

sub reset_stat {
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	return;
}

# the view and the snapshot, in the order of a server's life ------------------------------------------------

$clock = FakedClock->new('statistics', <<'END');
flakeid.generator_ids = '3'
# No disk takes half as long to write the horizon, which would make the lead longer.
flakeid.horizon_lead = '1min'
autovacuum = off
END
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");

# nothing, and the first IDs -------------------------------------------------------------------------------

is( $node->safe_psql(
		'postgres',
		'SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot()), pg_stat_reset_flakeid()'
	),
	'0|0|',
	'before a session has asked for an ID there is nothing to see, and nothing to reset');

my $began = $node->safe_psql('postgres', "SELECT clock_timestamp() - interval '4 ms'");
my $session = session($node);
for my $id_type (@ID_TYPES) {
	is($node->safe_psql('postgres', 'SELECT count(*) FROM flakeid_snapshot()'),
		'0', 'sno has issued no ID')
	  if $id_type->{name} eq 'sno';
	$session->query_safe("SELECT $id_type->{next}");
	is( $node->safe_psql(
			'postgres',
			"SELECT DISTINCT id_type, generator_id FROM pg_stat_flakeid WHERE id_type = '$id_type->{name}'"
		),
		"$id_type->{name}|" . ($id_type->{cells} ? '' : 3),
		"$id_type->{name} comes with its first ID");
}
is( $node->safe_psql(
		'postgres',
		"SELECT string_agg(id_type, ' ' ORDER BY nr) FROM (SELECT id_type, min(nr) AS nr FROM (SELECT id_type, row_number() OVER () AS nr FROM pg_stat_flakeid) AS rows GROUP BY 1) AS id_types"
	),
	join(' ', map { $_->{name} } @ID_TYPES),
	'... then all are there');
for my $id_type (map { $_->{name} } @OF_ONE_CELL) {
	is(cell_of($id_type, 'ids, ticks_exhausted, spills, waits, clock_steps_back, tick_tocks'),
		'1|0|0|0|0|0', "one $id_type ID is counted, and nothing else");
	is(cell_of($id_type, "last_tick_at BETWEEN '$began' AND clock_timestamp()"),
		't', '... in a tick since then');
	is( cell_of(
			$id_type,
			"horizon_written_at BETWEEN '$began' AND clock_timestamp(), horizon_write_time > '0', gate > last_tick_at"
		),
		't|t|t',
		'... for which the horizon was written');
}

# how many -------------------------------------------------------------------------------------------------

# A session takes up to 16 at once, for the tick. It gives back what it did not need when it next asks, later
# than in that tick; where nothing was left it may once more take as many.
sub asks_twice {
	my ($id_type, @sessions) = @_;
	for (1 .. 2) {
		sleep 0.02;
		$_->query_safe("SELECT ${id_type}_next()") for @sessions;
	}
	return;
}
for my $id_type (map { $_->{name} } @OF_ONE_CELL) {
	reset_stat();
	$session->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, 1000)");
	my $ids = cell_of($id_type, 'ids');
	ok($ids >= 985 && $ids <= 1000,
		"1,000 $id_type IDs are counted, but for at most 15 that were prefetched")
	  or diag($ids);
	asks_twice($id_type, $session);
	is(cell_of($id_type, 'ids'), '1002', '... and exactly when the session goes on in other ticks');
	$session->query_safe("SELECT count(*) FROM ${id_type}_next_batch(5000)");
	asks_twice($id_type, $session);
	is(cell_of($id_type, 'ids'), '6004', '... and those of a batch');
}

my @sessions = map { session($node) } 1 .. 3;
reload_with($node, generator_ids => '0-7');
reset_stat();
for my $id_type (map { $_->{name} } @OF_ONE_CELL) {
	my $count = 1000;
	$_->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, " . $count++ . ')')
	  for @sessions;
	asks_twice($id_type, @sessions);
	is( $node->safe_psql(
			'postgres', "SELECT sum(ids), count(*) FROM pg_stat_flakeid WHERE id_type = '$id_type'"
		),
		'3009|' . ($cells{$id_type} || 8),
		"$id_type IDs of three sessions add up, over "
		  . ($cells{$id_type} ? "$cells{$id_type} of its own" : 'eight generator IDs'));
}
$_->quit for @sessions;
reload_with($node, generator_ids => '3');

# ticks that are exhausted -----------------------------------------------------------------------------------

# In the middle of a tick. The clock goes ahead, and then stands still.
my $moment = int(time()) + 10.0005;
$clock->stand_still($moment);
reset_stat();
$session->query_safe('SELECT count(*) FROM flake_next_batch(4095)');
is(cell_of('flake', 'ids, ticks_exhausted, last_sequence'),
	'4095|0|4094', 'a tick with one number left');
$session->query_safe('SELECT flake_next()');
is(cell_of('flake', 'ids, ticks_exhausted, last_sequence, waits'),
	'4096|1|4095|0', '... and one that is exhausted');
is( cell_of('flake', "extract(epoch FROM last_tick_at)::numeric(20,3)"),
	sprintf('%.3f', $moment - 0.0005),
	'... at the time that it says');
is(cell_of('flake', "gate > last_tick_at, gate_lead > '0', gate_lead <= '1 min'"),
	't|t|t', '... and the gate is beyond it, by no more than the lead');
# It takes what the ticks have one after the other, and waits for each but the first.
reload_with($node, max_clock_wait => '1h');
$moment += 1;
$clock->stand_still($moment);
$session->query_safe('SELECT flake_next()');
reset_stat();
my $begin = time();
my $waits = $clock->waits('SELECT count(*) FROM flake_next_batch(10000)');
is(cell_of('flake', 'ids, ticks_exhausted'), '4095|1', '10,000 IDs of one generator use a tick up');

for my $tick (1, 2) {
	$clock->stand_still($moment + $tick / 1000);
	my $ids = $tick == 1 ? 4095 + 4096 : 10_000;
	ok( $node->poll_query_until(
			'postgres',
			"SELECT ids = $ids FROM pg_stat_flakeid WHERE id_type = 'flake' AND generator_id = 3"),
		'... and go on in the next');
}
is(join('', $clock->ended($waits)), '10000', '... until they are all there');
my $took = time() - $begin;
my ($exhausted, $waited_for, $waited) = split /\|/,
  cell_of('flake', 'ticks_exhausted, waits, extract(epoch FROM wait_time)');
is("$exhausted $waited_for", '2 2', '... of which two are exhausted, and as many are waited for');
ok($waited > 0 && $waited < $took, '... not for longer than it took') or diag("$waited $took");
reload_with($node, max_clock_wait => '1s');
$clock->set($moment + 1);

# Home is the lower of two for one of these sessions.
reload_with($node, generator_ids => '3,4');
@sessions = ();
do {
	push @sessions, session($node);
  } until $sessions[-1]->query_safe("SELECT flakeid_identity() ->> 'home_generator_id'") eq '3'
  || @sessions == 20;
my $low = $sessions[-1];
$moment = int(time()) + 20.0005;
$clock->stand_still($moment);
$low->query_safe('SELECT flake_next()');
reset_stat();
$low->query_safe('SELECT count(flake_next()) FROM generate_series(1, 5000)');
is(cell_of('flake', 'ids, ticks_exhausted, spills', 3),
	'4095|1|1', 'a session that needs more goes on to the next generator ID');
like(cell_of('flake', 'ids, ticks_exhausted, spills', 4),
	qr/^(?:89\d|90[0-5])\|0\|0$/, '... for the rest');
is($node->safe_psql('postgres', 'SELECT sum(waits) FROM pg_stat_flakeid'),
	'0', '... and waits for nothing');
$_->quit for @sessions;
reload_with($node, generator_ids => '3');

# steps of the clock -----------------------------------------------------------------------------------------

$moment = int(time()) + 30.0005;
$clock->stand_still($moment);
$session->query_safe('SELECT flake_next()');
reset_stat();
$clock->stand_still($moment - 0.001);
$session->query_safe('SELECT flake_next()');
is(cell_of('flake', 'clock_steps_back, largest_step_back'),
	'0|00:00:00', 'less than a tick is no step back');
$clock->stand_still($moment - 0.05);

for (1 .. 3) {
	$session->query_safe('SELECT flake_next()');
	$node->safe_psql('postgres', 'SELECT flake_next()');
}
is(cell_of('flake', 'clock_steps_back, largest_step_back, tick_tocks'),
	'1|00:00:00.05|0',
	'a step back is counted once, with its length, though several sessions meet it');
$clock->stand_still($moment - 3600);
$node->safe_psql('postgres', 'SELECT flake_next()');
is(cell_of('flake', 'largest_step_back'), '01:00:00', '... also when it becomes larger');
$clock->stand_still($moment + 1);
$session->query_safe('SELECT flake_next()');
$clock->stand_still($moment + 0.98);
$session->query_safe('SELECT flake_next()');
is(cell_of('flake', 'clock_steps_back, largest_step_back'),
	'2|01:00:00', '... and the next is another');
is( $node->safe_psql(
		'postgres', "SELECT sum(clock_steps_back) FROM pg_stat_flakeid WHERE id_type = 'sno'"),
	'0',
	'... sno has met no step');

# sno's own ------------------------------------------------------------------------------------------------

# In the middle of a tick of 4 ms.
$moment = int(time()) + 40.002;
my $tick = ($moment - 0.002 - 1_262_304_000) * 250;
$clock->stand_still($moment);
$session->query_safe('SELECT sno_next()');
reset_stat();
is( $node->safe_psql(
		'postgres',
		'SELECT partition, now, wall_hi, wall_safe < wall_hi, drifts, tick_tock FROM flakeid_snapshot() WHERE partition = 3'
	),
	"3|$tick|$tick|t|0|0",
	'the snapshot before a step back');
$clock->stand_still($moment - 4);
$session->query_safe('SELECT count(*) FROM sno_next_batch(10)');
is( $node->safe_psql(
		'postgres',
		'SELECT now, wall_hi, wall_safe, sequence, drifts, tick_tock FROM flakeid_snapshot() WHERE partition = 3'
	),
	join('|', $tick - 1000, $tick - 1000, $tick, 9, 1, 1),
	'... and after it: wall_safe is what the timeline had that was left');
is( cell_of('sno', 'clock_steps_back, largest_step_back, tick_tocks, last_tick'),
	'1|00:00:04|1|' . ($tick - 1000),
	'... of which the view says the same');
reload_with($node, sno_sequence => '100-199');
is(cell_of('sno', 'sequence_min, sequence_max'),
	'100|199', 'the bounds of the sequence follow flakeid.sno_sequence');
is( $node->safe_psql(
		'postgres', 'SELECT sequence_min, sequence_max FROM flakeid_snapshot() WHERE partition = 3'
	),
	'100|199',
	'... in the snapshot, too');
is(cell_of('flake', 'sequence_min, sequence_max'), '0|4095', '... and flake\'s are its own');
reload_with($node, sno_sequence => '0-65535');
$clock->step(50);

# a reset ------------------------------------------------------------------------------------------------

$began = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
reset_stat();
is( $node->safe_psql(
		'postgres',
		'SELECT sum(ids + ticks_exhausted + spills + waits + clock_steps_back + tick_tocks), max(wait_time),'
		  . ' max(largest_step_back), bool_and(last_tick > 0), bool_and(stats_reset'
		  . " BETWEEN '$began' AND now()) FROM pg_stat_flakeid"),
	'0|00:00:00|00:00:00|t|t',
	'a reset sets all counts to zero, and leaves where the generators are');
is($node->safe_psql('postgres', 'SELECT max(drifts) FROM flakeid_snapshot()'),
	'0', '... in the snapshot, too');

$session->quit;
$node->stop;

# IDs --------------------------------------------------------------------------------------------------

begin('counts',
	"flakeid.generator_ids = '3'\nflakeid.max_clock_wait = '100ms'\nflakeid.sno_sequence = '0-4095'\n"
);
is($node->safe_psql('postgres', 'SELECT sum(ids) FROM pg_stat_flakeid'),
	'0', 'what is counted begins at 0');

# Those of which one tick of one generator ID, or of the one cell, has enough.
for my $id_type (grep { $numbers{$_} > 4000 } map { $_->{name} } @OF_ONE_CELL) {
	my $moment = next_moment();
	$clock->stand_still($moment);
	my @sessions = map { session($node) } 1 .. 3;
	$sessions[0]->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, 1000)");
	my $ids = stat_of($id_type, 'ids');
	ok($ids >= 985 && $ids <= 1000,
		"$id_type: 1,000 calls are counted, but for at most 15 that the session had prefetched")
	  or diag($ids);
	$sessions[0]->query_safe("SELECT ${id_type}_next()") for 1 .. 15;
	$ids = stat_of($id_type, 'ids');
	ok($ids >= 1000 && $ids <= 1015, '... one at a time too') or diag($ids);

	$_->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, 700)")
	  for @sessions[ 1, 2 ];
	$ids = stat_of($id_type, 'ids');
	ok($ids >= 2415 - 3 * 15 && $ids <= 2415, '... for three sessions their sum') or diag($ids);

	$clock->stand_still($moment + 1);
	$_->query_safe("SELECT ${id_type}_next()") for @sessions;
	is(stat_of($id_type, 'ids'),
		2418, '... exactly, when the tick is over and each has asked once more');

	$clock->stand_still($moment + 2);
	is($sessions[0]->query_safe("SELECT count(*) FROM ${id_type}_next_batch(1234)"),
		1234, "$id_type: a batch");
	is(stat_of($id_type, 'ids'), 3652, '... is counted as it is');
	$sessions[0]->query_safe("SELECT count(*) FROM ${id_type}_next_batch(0)");
	is(stat_of($id_type, 'ids'), 3652, '... and an empty one is not');
	error_in($sessions[0], "BEGIN; SELECT ${id_type}_next(); SELECT 1 / 0; ROLLBACK");
	$clock->stand_still($moment + 3);
	$sessions[0]->query_safe("SELECT ${id_type}_next()");
	$ids = stat_of($id_type, 'ids');
	is($ids, 3654, "$id_type: that of a transaction which is rolled back is counted");

	# Two that are not counted yet, of sessions that end.
	$clock->stand_still($moment + 4);
	my @counts = stat_of($id_type, 'ids');
	for my $session (@sessions) {
		$session->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, 5)");
		push @counts, stat_of($id_type, 'ids');
	}
	for my $session (@sessions) {
		my $pid = $session->query_safe('SELECT pg_backend_pid()');
		$session->quit;
		$node->poll_query_until('postgres',
			"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)")
		  or die 'it has not gone';
		push @counts, stat_of($id_type, 'ids');
	}
	is( "@counts",
		join(' ', sort { $a <=> $b } @counts),
		'... the count never falls, while sessions ask and when they end');
	is($counts[-1], 3669, '... and when they have ended it is exact');
}

# No uniqueid is prefetched.
{
	my $moment = next_moment();
	my @sessions = map { session($node) } 1 .. 3;
	$clock->stand_still($moment);
	reset_stat();
	$_->query_safe('SELECT count(uniqueid_next()) FROM generate_series(1, 10)') for @sessions;
	is(stat_of('uniqueid', 'ids'),
		30, 'uniqueid: 30 calls of three sessions are counted exactly, within the tick');
	is($sessions[0]->query_safe('SELECT count(*) FROM uniqueid_next_batch(20)'), 20, '... a batch');
	$sessions[1]->query_safe("SELECT uniqueid_next('spread')");
	is(stat_of('uniqueid', 'ids, last_sequence, generator_id'),
		'51|50|3', '... too, and those of the other mode');
	$_->quit for @sessions;
}

# where it stands --------------------------------------------------------------------------------------

for my $id_type (map { $_->{name} } @OF_ONE_CELL) {
	my $moment = next_moment();
	$clock->stand_still($moment);
	my $id = $node->safe_psql('postgres', "SELECT ${id_type}_next()");
	my $number = $id_type eq 'flake' ? 'counter' : 'sequence';
	is( stat_of(
			$id_type,
			"last_tick_at = ${id_type}_timestamp('$id'), last_tick_at BETWEEN now() - interval '4 ms' AND now(),"
			  . " last_sequence = (${id_type}_decode('$id')).$number, generator_id"),
		't|t|t|' . ($cells{$id_type} ? '' : 3),
		"$id_type: the last tick and number are those of the last ID");
	is( stat_of(
			$id_type,
			"gate = now() + interval '10 s', gate_lead = '10 s', horizon_written_at = now(), horizon_write_time > '0'"
		),
		't|t|t|t',
		'... the gate is ahead by the lead, and was written just now');
	$clock->stand_still($moment + 19);
	is(stat_of($id_type, "gate_lead = '-9 s'"), 't', '... and behind when no session asks');
}
is(stat_of('flake', 'sequence_min, sequence_max'), '0|4095', 'a flake tick has 4,096 numbers');
is( stat_of($_, 'sequence_min, sequence_max'),
	'0|' . ($numbers{$_} - 1),
	"... that of $_ $numbers{$_}") for 'flake128', 'guid', 'uniqueid';
is(stat_of('sno', 'sequence_min, sequence_max'),
	'0|4095', 'a sno tick has those of flakeid.sno_sequence');
reload_with($node, sno_sequence => '500-999');
is(stat_of('sno', 'sequence_min, sequence_max'), '500|999', '... after a reload too');
is(stat_of('flake', 'sequence_min, sequence_max'), '0|4095', '... which is sno\'s alone');

# ticks exhausted ------------------------------------------------------------------------------------------

reload_with($node, sno_sequence => '0-4095');
for my $id_type (map { $_->{name} } @OF_ONE_CELL) {
	my $numbers = $id_type eq 'sno' ? 4096 : $numbers{$id_type};
	my $moment = next_moment();
	$clock->stand_still($moment);
	reset_stat();
	my $counts = 'ids, ticks_exhausted, spills, waits';
	my $session = session($node);
	$session->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, $numbers)");
	is( stat_of($id_type, "ids BETWEEN $numbers - 15 AND $numbers, ticks_exhausted, spills, waits"),
		't|1|0|0',
		"$id_type: a tick that is exhausted is one, and nothing has been waited for");
	like(error_in($session, "SELECT ${id_type}_next()"),
		qr/58000/, '... then the clock has to go on');
	is(stat_of($id_type, "$counts, wait_time >= '100 ms'"),
		"$numbers|1|0|1|t", '... which is a wait, as long as it took');

	# In the next tick.
	reload_with($node, max_clock_wait => '1h');
	my $length = (grep { $_->{name} eq $id_type } @ID_TYPES)[0]{tick} / 1_000_000_000;
	$clock->stand_still($moment + 1.5 * $length);
	my $more = $numbers + 1;
	my $waits =
	  $clock->waits("SELECT count(*) FROM ${id_type}_next_batch($more)", $length < 0.0005);
	ok( $node->poll_query_until(
			'postgres',
			"SELECT ($counts) = (2 * $numbers, 2, 0, 1) FROM pg_stat_flakeid WHERE id_type = '$id_type'"
		),
		'... and more IDs than a tick holds use it up');
	$clock->stand_still($moment + 3.5 * $length);
	is(join('', $clock->ended($waits)), $more, '... and wait for the next');
	is(stat_of($id_type, $counts), 2 * $numbers + 1 . '|2|0|2', '... once');
	reload_with($node, max_clock_wait => '100ms');
	$session->quit;
}

# With two generator IDs a session that begins at the lower goes on to the higher.
reload_with($node, generator_ids => '3-4');
@sessions = ();
do {
	push @sessions, session($node);
} until $sessions[-1]
  ->query_safe("SELECT flake_next(); SELECT (flake_decode(flake_next())).worker") =~ /3$/
  || @sessions == 20;
for my $id_type ('flake', 'sno') {
	my $session = $sessions[-1];
	$clock->stand_still(next_moment());
	$session->query_safe("SELECT ${id_type}_next()");
	reset_stat();
	$session->query_safe("SELECT count(${id_type}_next()) FROM generate_series(1, 8191)");
	is( $node->safe_psql(
			'postgres',
			"SELECT generator_id, ids BETWEEN 4080 AND 4096, ticks_exhausted, spills, waits"
			  . " FROM pg_stat_flakeid WHERE id_type = '$id_type'"),
		"3|t|1|1|0\n4|t|1|0|0",
		"$id_type: a session that goes on to the next generator ID has spilled from the first");
}
$_->quit for @sessions;

# reset --------------------------------------------------------------------------------------------------

$clock->stand_still(next_moment());
my $before = $node->safe_psql('postgres',
	$one_of_each
	  . '; SELECT string_agg((id_type, generator_id, last_tick, last_sequence, gate)::text, $$ $$) FROM pg_stat_flakeid'
);
($before) = $before =~ /(.*)\z/;
reset_stat();
is( $node->safe_psql('postgres', <<'SQL'), '0|00:00:00|t',
SELECT sum(ids + ticks_exhausted + spills + waits + clock_steps_back + tick_tocks),
	max(wait_time + largest_step_back), bool_and(stats_reset = now()) FROM pg_stat_flakeid
SQL
	'a reset is counted from, in all ID types');
is( $node->safe_psql(
		'postgres',
		'SELECT string_agg((id_type, generator_id, last_tick, last_sequence, gate)::text, $$ $$) FROM pg_stat_flakeid'
	),
	$before,
	'... and changes nothing of where they stand');
$node->stop;

# steps back -----------------------------------------------------------------------------------------------

begin('steps', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = 0\n");
my $steps =
  "clock_steps_back, tick_tocks, date_trunc('second', largest_step_back + interval '0.5 s')";

my $place = 0;
for (@OF_ONE_CELL) {
	my ($id_type, $length) = @$_{ 'name', 'tick' };
	reset_stat();
	my $turns = $id_type eq 'sno';
	my $moment = next_moment() + 1000 * ++$place;
	my $ask = "SELECT count(${id_type}_next()) FROM generate_series(1, 5000)";

	$clock->stand_still($moment);
	$node->safe_psql('postgres', "SELECT ${id_type}_next()");
	$clock->stand_still($moment - 10);
	error_of($node, $ask);
	is( stat_of($id_type, $steps),
		$turns ? '1|1|00:00:10' : '1|0|00:00:10',
		"$id_type: a step back by 10 s");
	error_of($node, $ask) for 1 .. 3;
	is( stat_of($id_type, $steps),
		$turns ? '1|1|00:00:10' : '1|0|00:00:10',
		'... is one, however often it is met');

	$clock->stand_still($moment + 30);
	$node->safe_psql('postgres', "SELECT ${id_type}_next()");
	$clock->stand_still($moment + 25);
	error_of($node, $ask);
	is( stat_of($id_type, $steps),
		$turns ? '2|2|00:00:10' : '2|0|00:00:10',
		'... a second one by 5 s is another, and the largest stays');

	$clock->stand_still($moment + 100);
	$node->safe_psql('postgres', "SELECT ${id_type}_next()");
	$clock->stand_still($moment + 55);
	error_of($node, $ask);
	is( stat_of($id_type, $steps),
		$turns ? '3|3|00:00:45' : '3|0|00:00:45',
		'... until a larger one');
	# In the middle of a tick, and of the one before.
	my $middle = int($moment + 200) * 1_000_000_000;
	$middle += $length - $middle % $length + int($length / 2);
	$clock->stand_still($middle / 1_000_000_000);
	$node->safe_psql('postgres', "SELECT ${id_type}_next()");
	$clock->stand_still(($middle - $length) / 1_000_000_000);
	error_of($node, $ask);
	is(stat_of($id_type, 'clock_steps_back'), 3, '... a tick less is no step');
}

# sno's bookkeeping ------------------------------------------------------------------------------------------

# The tick of a sno, by its time.
sub tick_of {
	my ($sno) = @_;
	return $node->safe_psql('postgres',
		"SELECT (extract(epoch FROM sno_timestamp('$sno') - timestamptz '2010-01-01 00:00+00') * 250)::bigint"
	);
}

reset_stat();
$moment = next_moment() + 1000 * ++$place;
$clock->stand_still($moment);
my $first = $node->safe_psql('postgres', 'SELECT sno_next(7)');
my $was = $node->safe_psql('postgres', 'SELECT tick_tock FROM flakeid_snapshot()');
is( $node->safe_psql(
		'postgres',
		'SELECT wall_hi, now, sequence_min, sequence_max, partition, drifts FROM flakeid_snapshot()'
	),
	join('|', (tick_of($first)) x 2, 0, 65535, 3, 0),
	'the snapshot\'s wall_hi is the last sno\'s tick, and now the clock\'s');
is( $node->safe_psql(
		'postgres',
		"SELECT last.tick_tock = $was, mine.sequence = last.sequence FROM flakeid_snapshot() AS mine, sno_decode('$first') AS last"
	),
	't|t',
	'... tick and sequence are that sno\'s');
$clock->stand_still($moment - 100);
my $second = $node->safe_psql('postgres', 'SELECT sno_next(7)');
is( $node->safe_psql(
		'postgres',
		'SELECT tick_tock, drifts, wall_hi, wall_safe, now, sequence FROM flakeid_snapshot()'),
	join('|',
		1 - $was, 1, tick_of($second), tick_of($first), tick_of($second),
		$node->safe_psql('postgres', "SELECT (sno_decode('$second')).sequence")),
	'after a turn tick is the other, drifts is one more, and wall_safe what the first timeline had last'
);
is($node->safe_psql('postgres', "SELECT (sno_decode('$second')).tick_tock"),
	1 - $was, '... as in the sno');
$clock->stand_still($moment + 50);
my $third = $node->safe_psql('postgres', 'SELECT sno_next(7)');
is( $node->safe_psql(
		'postgres', 'SELECT tick_tock, drifts, wall_hi, wall_safe FROM flakeid_snapshot()'),
	join('|', 1 - $was, 1, tick_of($third), tick_of($first)),
	'... and stays when the clock has caught up');

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
is(stat_of('sno', 'clock_steps_back, tick_tocks'),
	'3|3', 'a step back to where the other timeline\'s horizon is ahead is a turn');
$clock->stand_still($moment + 1000.75);
$node->safe_psql('postgres', 'SELECT sno_next()');
is(stat_of('sno', 'clock_steps_back, tick_tocks'),
	'3|3', '... and when the clock goes on there is no other');
$node->stop;

# waiting ------------------------------------------------------------------------------------------------

begin('waiting', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = '10h'\n");
$clock->step(7200);
$node->safe_psql('postgres', 'SELECT flake_next()');
$clock->step(3600);
my ($out, $error) = ('', '');
my $waiter = do {
	local $ENV{PGAPPNAME} = 'waiter';
	IPC::Run::start(
		[
			'psql', '-XAtq', '-d', $node->connstr('postgres'),
			'-c', 'SELECT count(flake_next()) FROM generate_series(1, 5000)'
		],
		'>',
		\$out,
		'2>',
		\$error,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
};
my $event = $version >= 17 ? 'FlakeidClock' : 'Extension';
ok( $node->poll_query_until(
		'postgres',
		"SELECT (wait_event_type, wait_event) = ('Extension', '$event') FROM pg_stat_activity WHERE application_name = 'waiter'"
	),
	"a session that waits for the clock shows as $event");
SKIP:
{
	skip 'wait events have no list before PostgreSQL 17', 1 if $version < 17;
	is( $node->safe_psql(
			'postgres',
			"SELECT string_agg(type || ' ' || name, ', ' ORDER BY name) FROM pg_wait_events WHERE name ~ '^Flakeid'"
		),
		'Extension FlakeidClock, Extension FlakeidHorizonWrite, Extension FlakeidLease, Extension FlakeidWatermark',
		'the server lists the wait events of flakeid');
}
$clock->step(7201);
$waiter->finish;
is("$out$error", "5000\n", '... and has its IDs when the clock has come there');
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM pg_stat_activity WHERE wait_event ~ \'^Flakeid\''),
	'0',
	'... then no session waits');
is(stat_of('flake', "wait_time > '0'"), 't', '... which is counted');
$node->stop;

# who may ask --------------------------------------------------------------------------------------------

$node = PostgreSQL::Test::Cluster->new('privileges');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nrestart_after_crash = on\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner LOGIN;
CREATE ROLE other LOGIN;
CREATE DATABASE owned OWNER owner;
SQL
my @reading = (
	'TABLE pg_stat_flakeid',
	'SELECT * FROM pg_stat_get_flakeid()',
	'SELECT * FROM flakeid_snapshot()');
my @doing = ('SELECT pg_stat_reset_flakeid()', 'SELECT flakeid_accept_clock()');

sub error_as {
	my ($role, $sql) = @_;
	return error_of($node, "\\c - $role\n\\set VERBOSITY verbose\n$sql", 'owned');
}

is(error_as('owner', "CREATE EXTENSION flakeid; $one_of_each"),
	'', 'the owner of a database can create the extension there');
for my $role ('owner', 'other') {
	like(
		error_as($role, $_),
		qr/ERROR:  42501: permission denied for (?:function|view) /,
		"$role may not: $_") for @reading, @doing;
	is(error_as($role, "$one_of_each, flakeid_identity()"), '', '... but make IDs');
}
like(
	error_as('owner', 'GRANT SELECT ON pg_stat_flakeid TO other'),
	qr/WARNING:|ERROR:  42501/,
	'the owner cannot give to others what he has not');
like(error_as('other', 'TABLE pg_stat_flakeid'), qr/ERROR:  42501/, '... and they have not got it');
$node->safe_psql('owned', 'GRANT pg_monitor TO owner');
is(error_as('owner', $_), '', "as a member of pg_monitor he may: $_") for @reading;
like(error_as('owner', $_), qr/ERROR:  42501: permission denied for function/, "... but not: $_")
  for @doing;
is(error_of($node, $_, 'owned'), '', "a superuser may: $_") for 'SELECT pg_stat_reset_flakeid()';
$node->safe_psql('owned', 'GRANT EXECUTE ON FUNCTION pg_stat_reset_flakeid() TO other');
is(error_as('other', 'SELECT pg_stat_reset_flakeid()'), '', '... and let others');
is( $node->safe_psql('owned', 'SELECT count(*) FROM pg_stat_flakeid'),
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT count(*) FROM pg_stat_flakeid'),
	'the numbers are the server\'s: another database shows them too');
is(error_as('owner', 'DROP EXTENSION flakeid'), '', 'the owner of the extension can drop it');

# nothing asked --------------------------------------------------------------------------------------------

my $nothing =
  'SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot())';
$node->restart;
is($node->safe_psql('postgres', $nothing), '0|0', 'a server that was asked nothing has no rows');
is(error_of($node, 'SELECT pg_stat_reset_flakeid()'), '', '... and nothing to reset');
$node->safe_psql('postgres', 'SELECT flake_next()');
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT id_type, ' ') FROM pg_stat_flakeid"),
	'flake', '... then it has those of the ID type that was asked');

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', "$one_of_each; CREATE TABLE made AS SELECT flake_next()");
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $nothing), '0|0', 'a standby has no rows');
is(error_of($standby, 'SELECT pg_stat_reset_flakeid()'), '', '... and nothing to reset');
like(
	error_of($standby, 'SELECT flakeid_accept_clock()'),
	qr/ERROR:  25006: cannot execute flakeid_accept_clock\(\) during recovery/,
	'... nor to accept');
$standby->stop;

# a crash --------------------------------------------------------------------------------------------------

$session = session($node);
$session->query_safe('SELECT count(flake_next()) FROM generate_series(1, 1000)');
my $since = $node->safe_psql('postgres', 'SELECT max(stats_reset) FROM pg_stat_flakeid');
my $end_of_log = -s $node->logfile;
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $end_of_log);
wait_for_server($node);
is($node->safe_psql('postgres', $nothing), '0|0', 'after a crash there are no rows');
$node->safe_psql('postgres', 'SELECT flake_next()');
is( $node->safe_psql(
		'postgres',
		"SELECT sum(ids), bool_and(stats_reset > '$since'), max(waits) <= 1 FROM pg_stat_flakeid"),
	'1|t|t',
	'... and counting begins again');
$session->{run}->kill_kill if $session->{run};
$node->stop;

# no preload -----------------------------------------------------------------------------------------------

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->start;
is($node->safe_psql('postgres', $nothing), '0|0', 'a server that has not preloaded it has no rows');
is(error_of($node, 'SELECT pg_stat_reset_flakeid()'), '', '... and nothing to reset');
$node->stop;

done_testing();
