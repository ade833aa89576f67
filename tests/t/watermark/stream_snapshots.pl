# A statement has one watermark of each stream, and a cursor keeps its own. No watermark of a stream
# is past a row that the snapshot does not see. Parallel workers have none.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Streams;
use Test::More;
use Watermark;

my $clock = start_streams();
my $node = $clock->node;
my ($writer, $holder, $reader, $observer) = map { session($node) } 1 .. 4;
my ($outbox, $audit, $all) = map { watermark_of($_) } 'outbox', 'audit', undef;

# An open transaction holds the watermark of all IDs. So that is the same in all statements.
$holder->query_safe('BEGIN');
clock_passes($observer, insert_row($holder, 'bulk'));

is($reader->query_safe(<<~"SQL"), '1', 'a statement has one watermark of each stream');
	SELECT count(DISTINCT (a, b, c)) FROM (
		SELECT $outbox AS a, $audit AS b, $all AS c, pg_sleep(0.01) FROM generate_series(1, 5)) AS s
	SQL
is($reader->query_safe(<<~"SQL"), '1', 'a join has one watermark of a stream');
	SELECT count(DISTINCT w) FROM (
		SELECT $outbox AS w FROM generate_series(1, 5), pg_sleep(0.01)) AS s
	SQL
is($reader->query_safe("SELECT $outbox > $all"),
	't', 'a statement can ask for the watermark of a stream, and for that of all IDs');
like(
	$reader->query_safe(<<~'SQL'),
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
		SELECT FROM outbox WHERE id < flakeid_watermark('outbox')
	SQL
	qr/Index Cond|Recheck Cond|Filter/,
	'EXPLAIN ANALYZE can ask for the watermark of a stream');
$reader->query_safe(<<~"SQL");
	CREATE FUNCTION inner_watermark() RETURNS bigint LANGUAGE plpgsql STABLE
		AS \$\$ BEGIN RETURN $outbox; END \$\$
	SQL
is($reader->query_safe("SELECT $outbox = inner_watermark() FROM pg_sleep(0.01)"),
	't', 'a STABLE function has the watermark of the statement that calls it');

# A cursor, beside statements of the same transaction that get later watermarks.
for my $stream ('outbox', 'audit') {
	my $watermark = watermark_of($stream);
	$reader->query_safe(<<~"SQL");
		BEGIN; DECLARE c CURSOR FOR SELECT $watermark FROM generate_series(1, 10)
		SQL
	my $first = $reader->query_safe('FETCH 1 FROM c');
	for my $turn (1 .. 3) {
		clock_passes($observer, clock_in($observer));
		cmp_ok(watermark_in($reader, $stream),
			'>', $first,
			"a later statement of the transaction gets a later watermark of $stream (turn $turn)");
		is($reader->query_safe('FETCH 1 FROM c'),
			$first, "the cursor keeps its watermark of $stream (turn $turn)");
	}
	is(watermark_in($reader), watermark_in($reader), 'the watermark of all IDs is still held');
	$reader->query_safe('COMMIT');
}

$reader->query_safe(<<~"SQL");
	BEGIN; DECLARE c CURSOR FOR
		SELECT CASE WHEN nr = 1 THEN $outbox ELSE $audit END FROM generate_series(1, 3) AS nr
	SQL
$reader->query_safe('FETCH 1 FROM c');
my $written = insert_row($writer, 'audit');
clock_passes($observer, $written);
cmp_ok($reader->query_safe('FETCH 1 FROM c'), '<=', $written,
	'a stream that a cursor asks for late has no watermark past a row that the cursor does not see'
);
$reader->query_safe('COMMIT');
passes($reader, $written, 'a new statement has a watermark past that row', 'audit');

# Transactions of another stream, after which the session's slot has forgotten those before.
my $go_on = <<~'SQL';
	DO 'BEGIN FOR nr IN 1 .. 300 LOOP INSERT INTO audit (nr) VALUES (nr); COMMIT; END LOOP; END'
	SQL
for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM outbox");
	my $time = insert_row($writer, 'outbox');
	clock_passes($observer, $time);
	cmp_ok(watermark_in($reader, 'outbox'),
		'<=', $time,
		"$level: the watermark of a stream is not past a row that the snapshot does not see");
	cmp_ok(watermark_in($reader, 'audit'),
		'>', $time, "$level: the watermark of another stream is past that row");
	$writer->query_safe($go_on);
	cmp_ok(watermark_in($reader, 'outbox'),
		'<=', $time,
		"$level: the watermark is not past the row after 300 transactions of another stream");
	$reader->query_safe('COMMIT');

	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM outbox");
	$time = insert_row($writer, 'outbox');
	$writer->query_safe($go_on);
	clock_passes($observer, $time);
	cmp_ok(watermark_in($reader, 'outbox'),
		'<=', $time,
		"$level: the watermark is not past the row if the 300 came before the first question");
	$reader->query_safe('COMMIT');
	passes($reader, $time, "$level: in the next transaction the watermark goes on", 'outbox');
}

$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM audit');
$writer->query_safe('ALTER TABLE outbox ALTER COLUMN nr TYPE bigint');
is( $reader->query_safe(
		"SELECT count(*), max($outbox) FROM outbox WHERE id < flakeid_watermark('outbox')"),
	'0|',
	'a snapshot from before a rewrite reads nothing');
is(watermark_in($reader, 'outbox'),
	'0', 'the watermark of a stream for that snapshot is that of 1970');
$reader->query_safe('COMMIT');
$holder->query_safe('COMMIT');

sub memory_of_reader {
	my $pid = $reader->query_safe('SELECT pg_backend_pid()');
	my ($kilobytes) = slurp_file("/proc/$pid/status") =~ /^VmData:\s+(\d+)/m
	  or die 'there is no size';
	return $kilobytes;
}

sub ask_often {
	my ($times) = @_;
	return $reader->query_safe(<<~"SQL");
		DO \$\$ BEGIN
			FOR nr IN 1 .. $times LOOP
				PERFORM flakeid_watermark('outbox'), flakeid_watermark('audit'),
					flakeid_watermark();
			END LOOP;
		END \$\$
		SQL
}
ask_often(10_000);
my $before = memory_of_reader();
ask_often(100_000);
cmp_ok(memory_of_reader() - $before,
	'<', 4096, 'a transaction with 100,000 statements keeps no watermark of those that have ended');

# Functions that are wrongly marked as PARALLEL SAFE.
$reader->query_safe(<<~'SQL');
	CREATE FUNCTION wrongly_safe() RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE
		AS $$ BEGIN RETURN flakeid_watermark('outbox'); END $$;
	CREATE FUNCTION wrongly_safe_next() RETURNS flake LANGUAGE plpgsql VOLATILE PARALLEL SAFE
		AS $$ BEGIN RETURN flake_next_in('outbox'); END $$;
	CREATE TABLE many AS SELECT nr FROM generate_series(1, 100000) AS nr;
	ANALYZE many;
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off
	SQL
like(
	error_in($reader, 'SELECT count(wrongly_safe()) FROM many'),
	qr/ERROR:  25000: cannot execute flakeid_watermark\(\) during a parallel operation/,
	'a parallel worker gets no watermark of a stream');
like(
	error_in($reader, 'SELECT count(wrongly_safe_next()) FROM many'),
	qr/ERROR:  25000: cannot execute flake_next\(\) during a parallel operation/,
	'a parallel worker generates no ID of a stream');
is( $reader->query_safe(
		<<~'SQL'), '100000', 'the leader of a parallel query generates IDs of a stream');
	SELECT count(DISTINCT id) FROM (SELECT flake_next_in('outbox') AS id FROM many) AS s
	SQL

$_->quit for $writer, $holder, $reader, $observer;
$node->stop;
done_testing();
