# The random bits of uuidv7s. No two processes have the same stream: not two sessions, nor a session
# and one that took its place after a crash, nor a session before and after a pooler resets it. So a
# random part repeats by chance alone.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use Server;
use Test::More;

# Of a million IDs two have the same 52 random bits with a probability of 1 in 9,000, and of five
# million 1 in 360. So a random part may be there twice, but not in three pairs: that would come
# once in a hundred million runs.
my $each = $ENV{FLAKEID_RANDOM_IDS} || 1_000_000;
my $by_chance = 2 + int(10 * (5 * $each)**2 / 2**53);

my $node = flakeid_server('random', <<~'END');
	autovacuum = off
	fsync = off
	work_mem = '256MB'
	max_wal_size = '4GB'
	restart_after_crash = on
	END
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(<<~'SQL');
	CREATE UNLOGGED TABLE parts (random bigint);
	CREATE TABLE kept (random bigint);
	SQL

my $work = { round => <<~"SQL" };
	IF round = 0 THEN
		INSERT INTO parts
		SELECT (uuidv7_decode(uuidv7_next())).random FROM generate_series(1, $each);
		INSERT INTO parts
		SELECT (uuidv7_decode(id)).random FROM uuidv7_next_batch($each) AS id;
	END IF
	SQL
is(join('', at_once($node, $work, $work)),
	'', 'two sessions generate IDs one by one and in a batch');
my $repeated = sql('SELECT count(*) - count(DISTINCT random) FROM parts');
cmp_ok($repeated, '<=', $by_chance, 'no random part repeats but by chance');

is( sql(<<~'SQL'), '',
	SELECT bit, ones, changes
	FROM (SELECT bit, sum((random >> bit) & 1) AS ones,
			sum(((random >> bit) # (random >> (bit + 1))) & 1) AS changes
		FROM (SELECT random FROM parts LIMIT 200000) AS parts, generate_series(0, 50) AS bit
		GROUP BY bit) AS bits
	WHERE abs(ones - 100000) > 2000 OR abs(changes - 100000) > 2000
	SQL
	'each bit is set in half of the IDs, and differs from its neighbor in half of them');

# Each session has the place and often the number of the session before.
sql(join '', (<<~'SQL') x 200);
	\c
	INSERT INTO kept
	SELECT (uuidv7_decode(uuidv7_next())).random FROM generate_series(1, 20);
	SQL
is(sql('SELECT count(*) - count(DISTINCT random) FROM kept'),
	'0', '200 sessions one after the other have different streams');

# Returns how many of 1,000 random parts a session has that one was here before.
my (%seen, $session);

sub seen_before {
	my $parts = 'SELECT (uuidv7_decode(uuidv7_next())).random FROM generate_series(1, 1000)';
	return scalar grep { $seen{$_}++ } split /\n/, $session->query_safe($parts);
}

$session = session($node);
my $again = seen_before();
for (1, 2) {
	$session->query_safe('DISCARD ALL');
	$again += seen_before();
}
is($again, 0, 'a session that DISCARD ALL resets does not begin its stream again');

# A session is killed: the server starts again, and its next session has the same place.
for my $time ('first', 'second') {
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	is(seen_before(), 0, "before the $time crash a session continues its stream");
	my $offset = -s $node->logfile;
	kill 'KILL', $pid;
	$session->{run}->finish;
	# Before the server notices that the session is dead it still takes others, which it ends then.
	$node->wait_for_log(qr/database system is ready to accept connections/, $offset);
	$session = session($node);
	is(seen_before(), 0, "after the $time crash a session has another stream");
}
$session->quit;

my @workers = split /\n/, sql(<<~'SQL');
	CREATE TABLE source AS SELECT generate_series(1, 20000) AS nr;
	ALTER TABLE source SET (parallel_workers = 2);
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;
	SELECT (uuidv7_decode(uuidv7_at('2026-01-01', nr))).random FROM source;
	SQL
is(scalar @workers, 20000, 'parallel workers generate IDs of a given time');
is(scalar(grep { $seen{$_}++ } @workers), 0, 'each parallel worker has a stream of its own');

$node->stop;
done_testing();
