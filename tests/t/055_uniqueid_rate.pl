# A millisecond has 64 uniqueids of a generator ID, and who needs more waits for the next: so many come in
# each of them, no more and no fewer, in both modes, and nobody gets an error.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('rate');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '5'
autovacuum = off
# Writing the state file is no part of this.
flakeid.horizon_lead = '1min'
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE made (session integer, id uniqueid, nr bigint)');

sub stat_of
{
	my ($what) = @_;
	return $node->safe_psql('postgres', "SELECT $what FROM pg_stat_flakeid WHERE system = 'uniqueid'");
}

# What is in the table, by its milliseconds: the IDs, how many are distinct, the span from the first to the
# last millisecond, and the fewest and most in one, but for the two at the ends.
my $by_millisecond = <<'SQL';
WITH by_time AS (SELECT uniqueid_timestamp(id) AS at, count(*) AS n FROM made GROUP BY at),
inner_ones AS (SELECT * FROM by_time
	WHERE at > (SELECT min(at) FROM by_time) AND at < (SELECT max(at) FROM by_time))
SELECT (SELECT count(*) FROM made), (SELECT count(DISTINCT id) FROM made),
	(SELECT extract(epoch FROM max(at) - min(at)) * 1000 FROM by_time)::integer,
	(SELECT min(n) FROM inner_ones), (SELECT max(n) FROM inner_ones), (SELECT max(n) FROM by_time)
SQL

# The processor is not ours alone: a session that is kept from it for a millisecond or more leaves some
# unused. So what is full is most of them, and what must not be is tested of all.
my $full = <<'SQL';
SELECT count(*) FILTER (WHERE n = %1$d), count(*) FILTER (WHERE n > %1$d), count(*)
FROM (SELECT count(*) AS n FROM made GROUP BY uniqueid_timestamp(id)) AS by_time
SQL

for my $mode ('time_sequential', 'spread')
{
	# one generator ID ---------------------------------------------------------------------------------

	reload_with($node, generator_ids => '5');
	$node->safe_psql('postgres', "SELECT uniqueid_next('$mode')");
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	$node->safe_psql('postgres', 'TRUNCATE made');
	is(
		error_of($node, "INSERT INTO made (id) SELECT id FROM uniqueid_next_batch(6400, '$mode') AS id"), '',
		"$mode: a batch of 6,400 is made of one generator ID");
	my ($made, $distinct, $span, $fewest, $most) = split /\|/, $node->safe_psql('postgres', $by_millisecond);
	is($made, 6400, '... of as many');
	is($distinct, 6400, '... distinct ones');
	cmp_ok($span, '>=', 99, '... in no less than 99 ms');
	cmp_ok($most, '<=', 64, '... and never more than 64 in one');
	my ($used_up, $beyond, $all) = split /\|/, $node->safe_psql('postgres', sprintf $full, 64);
	cmp_ok($used_up, '>=', 0.9 * 6400 / 64, '... of which most are used up') or diag("$used_up of $all, $fewest to $most");
	is($beyond, 0, '... and none twice');
	is(
		$node->safe_psql('postgres', 'SELECT max(n) = max(last) + 1 AND min(first) = 0 AND bool_and(n = last - first + 1)'
			  . ' FROM (SELECT count(DISTINCT sequence) AS n, min(sequence) AS first, max(sequence) AS last'
			  . ' FROM made, uniqueid_decode(id) GROUP BY created_at) AS by_time'),
		't', '... with every number in its turn');
	is(
		$node->safe_psql('postgres', 'SELECT min(generator), max(generator), min(mode), max(mode) FROM made, uniqueid_decode(id)'),
		"5|5|$mode|$mode", '... all of that generator ID and mode');
	is(stat_of('sum(ids), sum(spills), sum(waits) >= 50, sum(waits) <= sum(ticks_exhausted) + 1'), '6400|0|t|t', '... and the waits are counted');
	is(stat_of("sum(wait_time) > '20 ms'"), 't', '... with their time');

	# eight of them --------------------------------------------------------------------------------------

	reload_with($node, generator_ids => '0-7');
	$node->safe_psql('postgres', "SELECT uniqueid_next_batch(1000, '$mode')");
	for my $sessions (1, 2)
	{
		$node->safe_psql('postgres', 'TRUNCATE made; SELECT pg_stat_reset_flakeid()');
		my $each = 51_200;
		# They begin together.
		my $begin = time() + 0.3;
		my @errors = ('') x $sessions;
		my @runs = map {
			IPC::Run::start(
				[
					'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
					'-c', "SELECT pg_sleep_until(to_timestamp($begin))",
					'-c', "INSERT INTO made SELECT $_, id, nr FROM uniqueid_next_batch($each, '$mode') WITH ORDINALITY AS batch (id, nr)"
				],
				'>', '/dev/null', '2>', \$errors[ $_ - 1 ],
				IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
		} 1 .. $sessions;
		$_->finish for @runs;
		is("@errors", ' ' x ($sessions - 1), "$mode: $sessions sessions at once have theirs of eight generator IDs");
		my ($made, $distinct, $span, $fewest, $most) = split /\|/, $node->safe_psql('postgres', $by_millisecond);
		is($made, $sessions * $each, '... as many as were asked for');
		is($distinct, $made, '... distinct ones');
		cmp_ok($span, '>=', $made / 512 - 1, '... in no less than it takes');
		cmp_ok($most, '<=', 512, '... and never more than 512 in a millisecond');

		# Where all were at it: from the last one's beginning to the first one's end.
		my ($busy, $whole) = split /\|/, $node->safe_psql('postgres', <<"SQL");
WITH sessions AS (SELECT min(uniqueid_timestamp(id)) AS first, max(uniqueid_timestamp(id)) AS last FROM made GROUP BY session),
busy AS (SELECT max(first) AS first, min(last) AS last FROM sessions)
SELECT count(*), count(*) FILTER (WHERE n = 512)
FROM (SELECT uniqueid_timestamp(id) AS at, count(*) AS n FROM made GROUP BY at) AS by_time, busy
WHERE at > first AND at < last
SQL
		cmp_ok($busy, '>=', 10, '... in some of which all were at it');
		cmp_ok($whole, '>=', 0.8 * $busy, '... and of these most have 512') or diag("$whole of $busy, $fewest to $most");
		is(
			$node->safe_psql('postgres', 'SELECT count(DISTINCT generator), max(n) FROM (SELECT generator, count(*) AS n'
				  . ' FROM made, uniqueid_decode(id) GROUP BY created_at, generator) AS of_one'),
			'8|64', '... of eight generator IDs, of each of which there are 64');
		cmp_ok(stat_of('sum(waits)'), '>=', 10, '... for which they wait');
		is(stat_of('sum(spills)'), 0, '... as all generator IDs are taken in turn, nobody goes on from one that is used up');
		is(stat_of('sum(ids)'), $made, '... and as many are counted');
		next if $mode eq 'spread';
		is(
			$node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before'
				  . ' FROM made) AS made WHERE id <= before'),
			0, '... and each session\'s rise strictly');
	}
}

# one by one -----------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'TRUNCATE made; SELECT pg_stat_reset_flakeid()');
is(
	error_of($node, "INSERT INTO made (id) SELECT uniqueid_next(CASE WHEN n % 2 = 0 THEN uniqueid_mode 'spread' ELSE 'time_sequential' END)"
		  . ' FROM generate_series(1, 25600) AS n'),
	'', 'one by one, of both modes in turn');
is(
	$node->safe_psql('postgres', 'SELECT count(DISTINCT id), max(n) <= 512 FROM (SELECT id, count(*) OVER (PARTITION BY uniqueid_timestamp(id)) AS n'
		  . ' FROM made) AS made'),
	'25600|t', '... there are as many, together no more than a millisecond has');

# open to cancellation -------------------------------------------------------------------------------------

# Here, as a faked clock that is looked at without a pause would not bear a signal.
reload_with($node, generator_ids => '5');
my $session = session($node);
my $pid     = $session->query_safe('SELECT pg_backend_pid()');
for my $ask ('count(uniqueid_next()) FROM (SELECT generate_series(1, 100000000)) AS many', 'count(*) FROM uniqueid_next_batch(100000000)')
{
	my $begin = time();
	like(
		error_of($node, "SET statement_timeout TO '300ms'; SELECT $ask"), qr/ERROR:  57014: /,
		'statement_timeout ends a statement that waits millisecond by millisecond');
	cmp_ok(time() - $begin, '<', 3, '... when it is due');
	$session->query_until(qr/waiting/, "\\echo waiting\nSELECT $ask;\n");
	$node->poll_query_until('postgres',
		"SELECT state = 'active' AND query LIKE '%uniqueid_next%' FROM pg_stat_activity WHERE pid = $pid")
	  or die 'the session does not make uniqueids';
	$begin = time();
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	like(error_in($session, 'SELECT 1'), qr/ERROR:  57014: /, '... and so does pg_cancel_backend');
	cmp_ok(time() - $begin, '<', 3, '... at once');
	is(
		$session->query_safe('SELECT count(DISTINCT id) FROM uniqueid_next_batch(100) AS id'), '100',
		'... after which the session makes IDs');
}
$session->quit;

$node->stop;
done_testing();
