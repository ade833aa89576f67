# A millisecond has 64 uniqueids of a generator ID, and a session that needs more waits for the next: so many come in
# each of them, no more and no fewer, in both modes.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use FakedClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# a clock that stands still ----------------------------------------------------------------------------------

my $clock = FakedClock->new('tick',
	"flakeid.max_clock_wait = 0\nflakeid.horizon_lead = '10min'\nautovacuum = off\n");
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE made (id uniqueid); SELECT uniqueid_next()');
my $moment = int(time()) + 20.0005;
for my $mode ('time_sequential', 'spread') {
	for my $ids ('5', '0-7') {
		reload_with($node, generator_ids => $ids);
		my $numbers = $ids eq '5' ? 64 : 512;
		for my $count (1, 2) {
			my $test = "$mode, generator IDs $ids, sessions: $count:";
			my @sessions = map { session($node) } 1 .. $count;
			$node->safe_psql('postgres', 'TRUNCATE made');
			$moment += 1;
			for my $tick (0, 1) {
				$clock->stand_still($moment + $tick / 1000);
				$_->query_safe(
					"INSERT INTO made SELECT uniqueid_next_batch($numbers / $count, '$mode')")
				  for @sessions;
				like(
					error_in($_, "SELECT uniqueid_next('$mode')"),
					qr/ERROR:  58000: the clock is [\d.]+ ms behind/,
					"$test a millisecond has no more than $numbers") for @sessions;
			}
			is( $node->safe_psql(
					'postgres',
					'SELECT count(DISTINCT id), min(n), max(n), count(DISTINCT at) FROM (SELECT id, uniqueid_timestamp(id) AS at,'
					  . ' count(*) OVER (PARTITION BY uniqueid_timestamp(id)) AS n FROM made) AS made'
				),
				2 * $numbers . "|$numbers|$numbers|2",
				"$test ... and no fewer, and so does the next");
			is( $node->safe_psql(
					'postgres',
					'SELECT bool_and(n = 64 AND first = 0 AND last = 63), count(*) FROM (SELECT count(DISTINCT sequence) AS n,'
					  . ' min(sequence) AS first, max(sequence) AS last FROM made, uniqueid_decode(id) GROUP BY created_at, generator_id) AS of_one'
				),
				't|' . $numbers / 32,
				"$test ... of each generator ID every number");
			$_->quit for @sessions;
		}
	}
}
$node->stop;

# a clock that goes on -----------------------------------------------------------------------------------------

$node = PostgreSQL::Test::Cluster->new('rate');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '5'
autovacuum = off
# Writing the state file is no part of this.
flakeid.horizon_lead = '1min'
END
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE made (session integer, id uniqueid, nr bigint)');

sub stat_of {
	my ($what) = @_;
	return $node->safe_psql('postgres',
		"SELECT $what FROM pg_stat_flakeid WHERE id_type = 'uniqueid'");
}

# What is in the table, by its milliseconds: the IDs, how many are distinct, the span from the first to the
# last millisecond, and the most in one.
my $by_millisecond = <<'SQL';
WITH by_time AS (SELECT uniqueid_timestamp(id) AS at, count(*) AS n FROM made GROUP BY at)
SELECT (SELECT count(*) FROM made), (SELECT count(DISTINCT id) FROM made),
	(SELECT extract(epoch FROM max(at) - min(at)) * 1000 FROM by_time)::integer, (SELECT max(n) FROM by_time)
SQL

# The processor is not ours alone: a session that is kept from it for a millisecond or more leaves some unused. So
# these are the claims that hold for any machine.
for my $mode ('time_sequential', 'spread') {
	# one generator ID ---------------------------------------------------------------------------------

	reload_with($node, generator_ids => '5');
	$node->safe_psql('postgres', "SELECT uniqueid_next('$mode')");
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	$node->safe_psql('postgres', 'TRUNCATE made');
	is( error_of(
			$node, "INSERT INTO made (id) SELECT id FROM uniqueid_next_batch(6400, '$mode') AS id"),
		'',
		"$mode: a batch of 6,400 is made of one generator ID");
	my ($made, $distinct, $span, $most) = split /\|/, $node->safe_psql('postgres', $by_millisecond);
	is($made, 6400, '... of as many');
	is($distinct, 6400, '... distinct ones');
	cmp_ok($span, '>=', 99, '... in no less than 99 ms');
	cmp_ok($most, '<=', 64, '... and never more than 64 in one');
	is( $node->safe_psql(
			'postgres',
			'SELECT bool_and(n = last - first + 1)'
			  . ' FROM (SELECT count(DISTINCT sequence) AS n, min(sequence) AS first, max(sequence) AS last'
			  . ' FROM made, uniqueid_decode(id) GROUP BY created_at) AS by_time'),
		't',
		'... with every number in its turn');
	is( $node->safe_psql(
			'postgres',
			'SELECT min(generator_id), max(generator_id), min(mode), max(mode) FROM made, uniqueid_decode(id)'
		),
		"5|5|$mode|$mode",
		'... all of that generator ID and mode');
	is( stat_of(
			"sum(ids), sum(spills), sum(waits) <= sum(ticks_exhausted) + 1, sum(waits) = 0 OR sum(wait_time) > '0'"
		),
		'6400|0|t|t',
		'... and the waits are counted');

	# eight of them --------------------------------------------------------------------------------------

	reload_with($node, generator_ids => '0-7');
	$node->safe_psql('postgres', "SELECT uniqueid_next_batch(1000, '$mode')");
	for my $sessions (1, 2) {
		$node->safe_psql('postgres', 'TRUNCATE made; SELECT pg_stat_reset_flakeid()');
		# A round is for 20 ms of one session.
		my $each = 10_240;
		my $printed = join '', at_once(
			$node,
			map {
				{
					round =>
					  "INSERT INTO made SELECT $_, id, round * $each + nr FROM uniqueid_next_batch($each, '$mode') WITH ORDINALITY AS batch (id, nr)",
					rounds => 5
				}
			} 1 .. $sessions);
		is($printed, '', "$mode: $sessions sessions at once have theirs of eight generator IDs");
		my ($made, $distinct, $span, $most) = split /\|/,
		  $node->safe_psql('postgres', $by_millisecond);
		cmp_ok($made, '>=', $sessions * 5 * $each, '... as many as were asked for');
		is($distinct, $made, '... distinct ones');
		cmp_ok($span, '>=', $made / 512 - 1, '... in no less than it takes');
		cmp_ok($most, '<=', 512, '... and never more than 512 in a millisecond');

		# Where all were at it: from the last one's beginning to the first one's end.
		my $busy = $node->safe_psql('postgres', <<"SQL");
WITH sessions AS (SELECT min(uniqueid_timestamp(id)) AS first, max(uniqueid_timestamp(id)) AS last FROM made GROUP BY session),
busy AS (SELECT max(first) AS first, min(last) AS last FROM sessions)
SELECT count(*)
FROM (SELECT DISTINCT uniqueid_timestamp(id) AS at FROM made) AS by_time, busy
WHERE at > first AND at < last
SQL
		# Of the last session's first and the first one's last IDs there are more than a millisecond or two have.
		cmp_ok($busy, '>=', 10, '... in some of which all were at it');
		is( $node->safe_psql(
				'postgres',
				'SELECT count(DISTINCT generator_id), max(n) <= 64 FROM (SELECT generator_id, count(*) AS n'
				  . ' FROM made, uniqueid_decode(id) GROUP BY created_at, generator_id) AS of_one'),
			'8|t',
			'... of eight generator IDs, of each of which there are at most 64');
		is(stat_of('sum(spills)'), 0,
			'... as sessions take all generator IDs in turn, none of them spills from an exhausted one'
		);
		is(stat_of('sum(ids)'), $made, '... and as many are counted');
		next if $mode eq 'spread';
		is( $node->safe_psql(
				'postgres',
				'SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before'
				  . ' FROM made) AS made WHERE id <= before'),
			0,
			'... and each session\'s rise strictly');
	}
}

# one by one -----------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'TRUNCATE made; SELECT pg_stat_reset_flakeid()');
is( error_of(
		$node,
		"INSERT INTO made (id) SELECT uniqueid_next(CASE WHEN n % 2 = 0 THEN uniqueid_mode 'spread' ELSE 'time_sequential' END)"
		  . ' FROM generate_series(1, 25600) AS n'),
	'',
	'one by one, of both modes in turn');
is( $node->safe_psql(
		'postgres',
		'SELECT count(DISTINCT id), max(n) <= 512 FROM (SELECT id, count(*) OVER (PARTITION BY uniqueid_timestamp(id)) AS n'
		  . ' FROM made) AS made'),
	'25600|t',
	'... there are as many, together no more than a millisecond has');

# open to cancellation -------------------------------------------------------------------------------------

# Here, as a faked clock that is looked at without a pause would not bear a signal.
reload_with($node, generator_ids => '5');
my $session = session($node);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
for my $ask ('count(uniqueid_next()) FROM (SELECT generate_series(1, 100000000)) AS many',
	'count(*) FROM uniqueid_next_batch(100000000)')
{
	# It would take half an hour.
	like(
		error_of($node, "SET statement_timeout TO '300ms'; SELECT $ask"),
		qr/ERROR:  57014: /,
		'statement_timeout ends a statement that waits millisecond by millisecond');
	$session->query_until(qr/waiting/, "\\echo waiting\nSELECT $ask;\n");
	$node->poll_query_until('postgres',
		"SELECT state = 'active' AND wait_event_type = 'Extension' AND query LIKE '%uniqueid_next%' FROM pg_stat_activity WHERE pid = $pid"
	) or die 'the session does not wait for uniqueids';
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	like(error_in($session, 'SELECT 1'), qr/ERROR:  57014: /, '... and so does pg_cancel_backend');
	is($session->query_safe('SELECT count(DISTINCT id) FROM uniqueid_next_batch(100) AS id'),
		'100', '... after which the session makes IDs');
}
$session->quit;

$node->stop;
done_testing();
