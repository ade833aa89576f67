# A millisecond has 64 uniqueids of a generator ID. A session that needs more waits for the next
# millisecond, and the wait can be canceled. The processor is shared, so that some milliseconds
# have fewer IDs: these claims hold on any machine. concurrency.pl has more sessions, and
# uniqueid_tick.pl a clock that stands still.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use Server;
use Test::More;

# Writes of the state file are no part of this.
my $node = flakeid_server('rate', <<~'END');
	flakeid.generator_ids = '5'
	autovacuum = off
	flakeid.horizon_lead = '1min'
	END
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql('CREATE TABLE ids (session integer, id uniqueid)');

sub statistics {
	my ($what) = @_;
	return sql("SELECT $what FROM pg_stat_flakeid WHERE id_type = 'uniqueid'");
}

# Returns how many IDs the table has, how many distinct ones, the milliseconds between the first and
# the last one, and the most in a millisecond.
sub counts {
	return split /\|/, sql(<<~'SQL');
		WITH ticks AS (SELECT uniqueid_timestamp(id) AS at, count(*) AS n FROM ids GROUP BY at)
		SELECT (SELECT count(*) FROM ids), (SELECT count(DISTINCT id) FROM ids),
			(SELECT extract(epoch FROM max(at) - min(at)) * 1000 FROM ticks)::integer,
			(SELECT max(n) FROM ticks)
		SQL
}

for my $mode ('time_sequential', 'spread') {
	reload_with($node, generator_ids => '5');
	sql("SELECT uniqueid_next('$mode')");
	sql('TRUNCATE ids; SELECT pg_stat_reset_flakeid()');
	sql("INSERT INTO ids (id) SELECT id FROM uniqueid_next_batch(6400, '$mode') AS id");
	my ($count, $distinct, $span, $most) = counts();
	is("$count $distinct", '6400 6400', "$mode: a batch has 6,400 distinct IDs of a generator ID");
	cmp_ok($span, '>=', 99, "$mode: a batch of 6,400 spans at least 99 ms");
	cmp_ok($most, '<=', 64, "$mode: a generator ID has at most 64 IDs in a millisecond");
	is( statistics(
				"sum(ids), sum(spills), sum(waits) <= sum(ticks_exhausted) + 1, "
			  . "sum(waits) = 0 OR sum(wait_time) > '0'"),
		'6400|0|t|t',
		"$mode: pg_stat_flakeid counts the IDs and the waits");

	reload_with($node, generator_ids => '0-7');
	sql("SELECT uniqueid_next_batch(1000, '$mode')");
	sql('TRUNCATE ids; SELECT pg_stat_reset_flakeid()');
	# A round takes a session 20 ms.
	at_once($node, map { { round => <<~"SQL", rounds => 5 } } 1, 2);
		INSERT INTO ids SELECT $_, id FROM uniqueid_next_batch(10240, '$mode') AS id
		SQL
	# From the last session's first ID to the first one's last ID.
	cmp_ok(sql(<<~'SQL'), '>=', 10, "$mode: two sessions generate IDs in 10 ms or more");
		WITH sessions AS (
			SELECT min(uniqueid_timestamp(id)) AS first, max(uniqueid_timestamp(id)) AS last
			FROM ids GROUP BY session
		), busy AS (SELECT max(first) AS first, min(last) AS last FROM sessions)
		SELECT count(DISTINCT uniqueid_timestamp(id)) FROM ids, busy
		WHERE uniqueid_timestamp(id) > first AND uniqueid_timestamp(id) < last
		SQL
	is(sql(<<~'SQL'), '8|t', "$mode: each of their eight generator IDs has at most 64");
		SELECT count(DISTINCT generator_id), max(n) <= 64
		FROM (SELECT generator_id, count(*) AS n
			FROM ids, uniqueid_decode(id) GROUP BY created_at, generator_id) AS of_one
		SQL
	($count) = counts();
	is(statistics('sum(spills), sum(ids)'),
		"0|$count", "$mode: a session takes all generator IDs in turn, so that none spills");
}

sql(<<~'SQL');
	TRUNCATE ids;
	INSERT INTO ids (id)
	SELECT uniqueid_next(CASE WHEN n % 2 = 0 THEN uniqueid_mode 'spread' ELSE 'time_sequential' END)
	FROM generate_series(1, 25600) AS n
	SQL
my ($count, $distinct, undef, $most) = counts();
is("$count $distinct", '25600 25600', 'a session generates IDs of both modes in turn');
cmp_ok($most, '<=', 512, 'IDs of both modes are at most 512 in a millisecond together');

# Here, as a faked clock that is read without a pause would not bear a signal.
reload_with($node, generator_ids => '5');
my $session = session($node);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
for my $case (
	[
		'uniqueid_next',
		'count(uniqueid_next()) FROM (SELECT generate_series(1, 100000000)) AS many'
	],
	[ 'uniqueid_next_batch', 'count(*) FROM uniqueid_next_batch(100000000)' ])
{
	# It would take half an hour.
	my ($function, $select) = @$case;
	like(
		error_of($node, "SET statement_timeout TO '300ms'; SELECT $select"),
		qr/ERROR:  57014: /,
		"statement_timeout ends $function, which waits millisecond by millisecond");
	$session->query_until(qr/waiting/, "\\echo waiting\nSELECT $select;\n");
	$node->poll_query_until('postgres', <<~"SQL") or die 'the session does not wait for uniqueids';
		SELECT state = 'active' AND wait_event_type = 'Extension' AND query LIKE '%uniqueid_next%'
		FROM pg_stat_activity WHERE pid = $pid
		SQL
	sql("SELECT pg_cancel_backend($pid)");
	like(error_in($session, 'SELECT 1'), qr/ERROR:  57014: /, "pg_cancel_backend ends $function");
	is($session->query_safe('SELECT count(DISTINCT id) FROM uniqueid_next_batch(100) AS id'),
		'100', "the session generates IDs after $function was canceled");
}
$session->quit;

$node->stop;
done_testing();
