# The two timelines of sno: when the clock steps back, a generator ID continues in the other
# timeline if that is free, after the state file has it. Otherwise sessions wait, or get an error.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $year = 365 * 86_400;
# One generator ID with few numbers, so that what is left of a tick is soon exhausted.
my $clock = FakedClock->new('sno', <<~'CONF');
	flakeid.generator_ids = '3'
	flakeid.sno_sequence = '0-999'
	flakeid.horizon_lead = '10s'
	CONF
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE made (nr serial, id sno)');

# Whether an ID is of the time between the beginning of the transaction and now, to a tick of 4 ms.
my $now = q{created_at BETWEEN now() - interval '4 ms' AND clock_timestamp() + interval '4 ms'};

# Generates IDs. Returns their tick-tock bit, and whether they are of now.
sub generated {
	my ($count) = @_;
	return $node->safe_psql('postgres', <<~"SQL");
		WITH made AS (
			INSERT INTO made (id) SELECT sno_next() FROM generate_series(1, $count) RETURNING id)
		SELECT string_agg(DISTINCT tick_tock::text, ''), bool_and($now) FROM made, sno_decode(id)
		SQL
}

# The first IDs of a server leave no timeline free before them. So the clock goes ahead first.
generated(1);
reload_with($node, generator_ids => '4');
generated(1);
reload_with($node, generator_ids => '3');

# In the middle of a tick of 4 ms.
my $moment = int(time()) + 30.002;
$clock->stand_still($moment);
generated(1);
$clock->stand_still($moment - 0.003);
is(generated(1), '0|t', 'a step back by less than a tick leaves the timeline');
is($node->safe_psql('postgres', <<~'SQL'), '1', 'after such a step back IDs have the same tick');
	SELECT count(DISTINCT sno_timestamp(id)) FROM
		(SELECT id FROM made ORDER BY nr DESC LIMIT 2) AS latest
	SQL
is( $node->safe_psql(
		'postgres', 'SELECT sum(clock_steps_back), sum(tick_tocks) FROM pg_stat_flakeid'),
	'0|0',
	'such a step back is not counted');

$clock->step(6000);
is(generated(10), '0|t', 'IDs begin in the first timeline');

# The statement that gets the first ID of the other timeline finds the state file that covers it.
my $file = <<~'SQL';
	SELECT regexp_replace(pg_read_file('flakeid/state'), 'crc32 \w+\n$', '')::jsonb AS state
	SQL
my $was =
  $node->safe_psql('postgres', "SELECT state -> 'tick_tock_until' ->> 0 FROM ($file) AS file");
$clock->step(5000);
is( $node->safe_psql('postgres', <<~"SQL"),
	WITH made AS MATERIALIZED (INSERT INTO made (id) VALUES (sno_next()) RETURNING id),
		found AS MATERIALIZED (
			SELECT id, state FROM made AS new, LATERAL ($file OFFSET 0) AS file
			WHERE new.id IS NOT NULL)
	SELECT tick_tock, state ->> 'tick_tock', state -> 'tick_tock_until' ->> 0,
		(state -> 'tick_tock_until' ->> 0)::timestamptz > (SELECT max(sno_timestamp(id)) FROM made),
		(state -> 'tick_tock_until' ->> 1)::timestamptz > created_at,
		(state -> 'tick_tock_until' ->> 1)::timestamptz < created_at + interval '1 min'
	FROM found, sno_decode(id)
	SQL
	"1|1|$was|t|t|t",
	'after a step back by 1,000 s the state file has the turn before the first ID');
is(generated(5000), '1|t', 'after a step back by 1,000 s IDs continue in the other timeline');
is($node->safe_psql('postgres', <<~'SQL'), 't', 'the other timeline does not wait for the first');
	SELECT max(sno_timestamp(id)) FILTER (WHERE tick_tock = 1)
		< max(sno_timestamp(id)) FILTER (WHERE tick_tock = 0)
	FROM made, sno_decode(id)
	SQL

# Neither timeline is free.
my $latest = $node->safe_psql('postgres',
	'SELECT extract(epoch FROM sno_timestamp(id)) FROM made ORDER BY nr DESC LIMIT 1');
$clock->stand_still($latest - 5);
like(
	error_of($node, 'SELECT count(sno_next()) FROM generate_series(1, 5000)'),
	qr/ERROR:  58000: the clock is (?:4\.9|5\.0) s behind the last sno ID/,
	'after a second step back into that period there are no IDs');
reload_with($node, max_clock_wait => '10min');
my $waits = $clock->waits('INSERT INTO made (id) SELECT sno_next() FROM generate_series(1, 5000)');
$clock->set($latest + 0.1);
is(($clock->ended($waits))[1], '', 'a session waits for the clock where max_clock_wait allows it');
is($node->safe_psql('postgres', <<~"SQL"), '1|t', 'after the wait IDs are in the same timeline');
	SELECT string_agg(DISTINCT (sno_decode(id)).tick_tock::text, ''),
		min(sno_timestamp(id)) >= to_timestamp($latest)
	FROM (SELECT id FROM made ORDER BY nr DESC LIMIT 5000) AS latest
	SQL
reload_with($node, max_clock_wait => '1s');

for my $step (
	[ 7000, 1, 'the other timeline continues when the clock has passed the first' ],
	[ 6500, 0, 'the next step back leads into the first timeline' ],
	[ 6500 + $year, 0, 'a clock that goes ahead by a year leaves the timeline' ],
	[ 7100, 1, 'the other timeline continues when that clock is set right' ])
{
	my ($offset, $timeline, $test) = @$step;
	$clock->step($offset);
	is(generated(10), "$timeline|t", $test);
}

$moment = int(time()) + 8000;
$clock->stand_still($moment);
is(generated(900), '1|t', 'while the clock stands still there are the IDs of a tick');
my $begin = time();
like(
	error_of($node, 'SELECT count(sno_next()) FROM generate_series(1, 1000)'),
	qr/ERROR:  58000: the clock is [\d.]+ ms behind the last sno ID/,
	'while the clock stands still there are no more IDs than those of a tick');
cmp_ok(time() - $begin, '>', 0.9, 'a session waits max_clock_wait for the clock to move');
$clock->set($moment + 0.1);
is(generated(5000), '1|t', 'when the clock moves IDs continue in the same timeline');

# The timeline is the server's: generator IDs that met no step back are in it, too.
for my $generator ([ 4, 'a generator ID of before the turns' ], [ 5, 'a new generator ID' ]) {
	my ($id, $what) = @$generator;
	reload_with($node, generator_ids => $id);
	is(generated(10), '1|t', "$what is in the timeline that the server uses");
}
is($node->safe_psql('postgres', <<~'SQL'), '0 1, 0 1', 'both turn once, without a step back');
	SELECT string_agg(clock_steps_back || ' ' || tick_tocks, ', ' ORDER BY generator_id)
	FROM pg_stat_flakeid WHERE id_type = 'sno' AND generator_id IN (4, 5)
	SQL
is($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT id) FROM made'),
	'0', 'no sno repeats');
$node->stop;
done_testing();
