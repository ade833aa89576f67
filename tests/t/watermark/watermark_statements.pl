# One statement has one watermark, that of its snapshot, however long the statement goes on. A
# cursor keeps its watermark, and a prepared statement of a reader gets a new one each time.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('statements', "autovacuum = off\n");
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE plain (nr integer);
	CREATE TABLE keyed (nr integer PRIMARY KEY);
	INSERT INTO keyed VALUES (1), (3);
	CREATE FUNCTION stable_sql() RETURNS timestamptz LANGUAGE sql STABLE AS
		'SELECT flakeid_watermark()';
	CREATE FUNCTION stable_plpgsql() RETURNS timestamptz LANGUAGE plpgsql STABLE AS
		'BEGIN RETURN flakeid_watermark(); END';
	CREATE FUNCTION volatile_plpgsql() RETURNS timestamptz LANGUAGE plpgsql AS
		'BEGIN RETURN flakeid_watermark(); END';
	CREATE FUNCTION insert_and_call() RETURNS timestamptz LANGUAGE plpgsql AS
		'BEGIN INSERT INTO plain VALUES (1); RETURN flakeid_watermark(); END';
	-- Waits while the test holds the lock.
	CREATE FUNCTION wait() RETURNS boolean LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1);
		RETURN true; END';
	SQL
my ($writer, $reader, $observer, $gate) = map { session($node) } 1 .. 4;

# Begins a statement that waits. Ends it when the watermark of other sessions has passed this time,
# or a new row. Returns the statement's result.
my $waits_at;

sub in_the_middle {
	my ($sql, $time) = @_;
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	begin_in($reader, $sql);
	is_blocked($observer);
	$waits_at = clock_in($observer);
	$time //= insert_into($writer, $FLAKE);
	passes($observer, $time, 'the watermark goes on for other sessions while a statement waits');
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	return ended_in($reader);
}

# What a statement returns that waits at the second of three rows.
my $waits = 'CASE WHEN nr = 2 THEN wait() END';
my $rows = 'generate_series(1, 3) AS nr';
my $counts = 'SELECT count(DISTINCT at), count(*) FROM';
for my $case (
	[ '1|3', 'one statement has one watermark', <<~"SQL" ],
		$counts (SELECT flakeid_watermark() AS at, $waits FROM $rows OFFSET 0) AS calls
		SQL
	[ '1|9', 'a stable function has the watermark of its caller', <<~"SQL" ],
		$counts (SELECT unnest(ARRAY[flakeid_watermark(), stable_sql(), stable_plpgsql()]) AS at,
			$waits FROM $rows OFFSET 0) AS calls
		SQL
	[ 't|t|t', 'a volatile function has later watermarks, and its caller does not', <<~"SQL" ],
		SELECT bool_and(first = second), bool_and(within >= first), bool_or(within > first)
		FROM (SELECT flakeid_watermark() AS first, $waits, volatile_plpgsql() AS within,
			flakeid_watermark() AS second FROM $rows OFFSET 0) AS calls
		SQL
	[
		't|t', 'a volatile function that writes does not change the watermark of its caller',
		<<~"SQL" ],
		SELECT bool_and(first = second), bool_and(within >= first)
		FROM (SELECT flakeid_watermark() AS first, $waits, insert_and_call() AS within,
			flakeid_watermark() AS second FROM $rows OFFSET 0) AS calls
		SQL
	[ '1|3', 'a statement that writes has one watermark', <<~"SQL" ],
		WITH written AS (INSERT INTO plain SELECT nr FROM $rows WHERE nr <> 2 OR wait()
			RETURNING flakeid_watermark() AS at)
		$counts written
		SQL
	# The snapshots of ON CONFLICT have speculative tokens.
	[ '1|3', 'a statement with ON CONFLICT has one watermark', <<~"SQL" ])
		WITH written AS (INSERT INTO keyed SELECT nr FROM $rows WHERE nr <> 2 OR wait()
			ON CONFLICT (nr) DO UPDATE SET nr = excluded.nr RETURNING flakeid_watermark() AS at)
		$counts written
		SQL
{
	my ($expected, $test, $sql) = @$case;
	is(in_the_middle($sql), $expected, $test);
}
chomp(my $headers = `pg_config --includedir-server`);
like(
	slurp_file("$headers/utils/snapshot.h"),
	qr/not used in MVCC\s+\* snapshots\.\s+\*\/\s+uint32\s+speculativeToken;/,
	'PostgreSQL does not use the field of MVCC snapshots that keeps the number of a snapshot');

# The third row's ID is between the watermark of the statement's begin and that of its end. It was
# not generated, so only the watermark keeps the statement from reading the row.
my $soon = clock_in($observer) + 3_000_000;
$node->safe_psql('postgres', <<~"SQL");
	CREATE TABLE probes (nr integer, id bigint);
	INSERT INTO probes
	VALUES (1, 0), (2, 1), (3, flake_at(to_timestamp($soon / 1000000.0))), (4, 2);
	SQL
$reader->query_safe('SET max_parallel_workers_per_gather = 0');
my $seen = in_the_middle(<<~'SQL', $soon);
	SELECT string_agg(nr::text, ' ' ORDER BY nr) FROM probes
	WHERE CASE WHEN nr = 2 THEN wait() ELSE true END AND flake_before(id, flakeid_watermark())
	SQL
$reader->query_safe('RESET max_parallel_workers_per_gather');
SKIP: {
	skip 'the scan began too late', 1 if $waits_at >= $soon;
	is($seen, '1 2 4', 'a scan does not return a row that its watermark has not passed');
}

for my $hold ('WITHOUT', 'WITH') {
	subtest "a cursor $hold HOLD keeps its watermark" => sub {
		$reader->query_safe('BEGIN');
		my $calls = "SELECT $WATERMARK FROM generate_series(1, 10)";
		$reader->query_safe("DECLARE calls CURSOR $hold HOLD FOR $calls");
		# This is committed after the cursor has its snapshot, and before it is first asked.
		my $unseen = insert_into($writer, $FLAKE);
		passes($observer, $unseen, 'other sessions are past a row');
		# A cursor that is held gets its rows when its transaction ends, with its old snapshot.
		$reader->query_safe('COMMIT; BEGIN') if $hold eq 'WITH';
		my $first = $reader->query_safe('FETCH 1 FROM calls');
		cmp_ok($first, '<=', $unseen, 'a cursor whose snapshot is older is not past the row');
		is($reader->query_safe('FETCH 1 FROM calls'), $first, 'a cursor has one watermark');
		passes($reader, $unseen, 'another statement of the transaction has a later watermark');
		insert_into($reader, $FLAKE) if $hold eq 'WITHOUT';
		$reader->query_safe(
			'SAVEPOINT s; SELECT volatile_plpgsql(); INSERT INTO plain VALUES (1); RELEASE s');
		is($reader->query_safe('FETCH 1 FROM calls'),
			$first, 'a cursor has its watermark after other statements, too');
		$reader->query_safe("DECLARE more CURSOR FOR $calls");
		my $of_more = $reader->query_safe('FETCH 1 FROM more');
		cmp_ok($of_more, '>', $unseen, 'a later cursor has a later watermark') if $hold eq 'WITH';
		my @cursors = ('calls', 'more', 'more', 'calls', 'more', 'calls');
		is( join(' ', map { $reader->query_safe("FETCH 1 FROM $_") } @cursors),
			"$first $of_more $of_more $first $of_more $first",
			'each of two cursors has its own watermark, in turns');
		$reader->query_safe('CLOSE calls; CLOSE more; COMMIT');
	};
}

in_the_middle(<<~'SQL');
	DO $$
	DECLARE
		before timestamptz := flakeid_watermark();
		after timestamptz;
	BEGIN
		PERFORM wait();
		after := flakeid_watermark();
		INSERT INTO plain SELECT CASE WHEN after > before THEN 42 ELSE 43 END;
	END $$
	SQL
is($node->safe_psql('postgres', 'SELECT nr FROM plain WHERE nr IN (42, 43)'),
	'42', 'the next statement of a DO block has a later watermark');

$node->safe_psql('postgres', 'ANALYZE');
$reader->query_safe(<<~'SQL');
	SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off
	SQL
for my $id_type (@ID_TYPES) {
	my ($name, $type) = @$id_type{ 'name', 'type' };
	subtest "$name: a prepared statement of a reader has a new watermark each time" => sub {
		my $condition = before_watermark($id_type);
		$reader->query_safe(<<~"SQL");
			PREPARE newer_$name ($type) AS
				SELECT id FROM ${name}s WHERE id > \$1 AND $condition ORDER BY id
			SQL
		my $insert = "INSERT INTO ${name}s DEFAULT VALUES RETURNING id";
		# All IDs are of one session, so that each is greater than the one before.
		my $last = $writer->query_safe($insert);
		my $plan = $reader->query_safe("EXPLAIN (COSTS off) EXECUTE newer_$name ('$last')");
		like(
			$plan,
			qr/Index Cond: .*\$1.*flakeid_watermark\(\)/,
			'the generic plan is a range of the index');
		unlike($plan, qr/Sort|Filter: (?!flakeid_recheck)/, 'the generic plan is a range alone');
		for my $time (1 .. 3) {
			$writer->query_safe('BEGIN');
			my ($id, $at) = split /\|/,
			  $writer->query_safe("$insert, " . in_micros("${name}_timestamp(id)"));
			clock_passes($observer, $at);
			is($reader->query_safe("EXECUTE newer_$name ('$last')"),
				'', 'a reader does not read a row that is not committed');
			$writer->query_safe('COMMIT');
			passes($observer, $at, 'the watermark passes a row that is committed');
			is($reader->query_safe("EXECUTE newer_$name ('$last')"),
				$id, 'a reader reads a row that the watermark has passed');
			$last = $id;
		}
	};
}

$_->quit for $writer, $reader, $observer, $gate;
$node->stop;
done_testing();
