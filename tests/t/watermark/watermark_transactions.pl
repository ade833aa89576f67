# Which transactions hold the watermark: those with an ID, from their first ID on, in any database,
# in procedures and with parallel queries. Transactions without an ID do not.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('transactions', <<'END');
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
END
my ($writer, $other, $observer, $gate) = map { session($node) } 1 .. 4;
my $view = 'pg_stat_flakeid_watermark';
my $holders = "SELECT count(*) FROM $view";

# The first ID of a transaction counts, and not its begin, its snapshot, or its transaction ID.
$writer->query_safe(<<~'SQL');
	CREATE TABLE plain (nr integer);
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	INSERT INTO plain VALUES (1);
	SELECT count(*) FROM flakes
	SQL
$other->query_safe(<<~'SQL');
	BEGIN ISOLATION LEVEL SERIALIZABLE;
	SELECT count(*) FROM flakes;
	SELECT pg_current_xact_id();
	SELECT flake_at(now()), flake_decode(1)
	SQL
passes($observer, clock_in($observer),
	'transactions that generate no ID do not hold the watermark');
is($observer->query_safe($holders), '0', 'the view has no transaction that generates no ID');
my $from = watermark_in($observer);
my $time = insert_into($writer, $FLAKE);
cmp_ok($time, '>=', $from, 'an ID that comes late in a transaction is not below the watermark');
is_held($observer, $time, 'a transaction holds the watermark from its first ID on');
my $later = insert_into($other, $FLAKE);
is($observer->query_safe("SELECT count(*), count(DISTINCT pid) FROM $view"),
	'2|2', 'two transactions with IDs are two rows in the view');
$writer->query_safe('COMMIT');
passes($observer, $time, 'the watermark passes the ID of the first of two transactions that ends');
is_held($observer, $later, 'the second of two transactions holds the watermark then');
$other->query_safe('COMMIT');
passes($observer, $later, 'the watermark passes the ID of the second transaction at its end');

# This transaction has no transaction ID yet.
$node->safe_psql('postgres', <<~'SQL');
	CREATE DATABASE other;
	CREATE ROLE reader;
	CREATE ROLE monitor IN ROLE pg_monitor
	SQL
$node->safe_psql('other', 'CREATE EXTENSION flakeid');
my $elsewhere = session($node, 'other');
$elsewhere->query_safe('BEGIN');
$time = generate_from($elsewhere, $FLAKE);
is_held($observer, $time, 'a transaction in another database holds the watermark');
is($observer->query_safe("SELECT xid IS NULL, database FROM $view"),
	't|other', 'the view has the database, and no transaction ID before there is one');
is($node->safe_psql('postgres', "SET ROLE monitor; $holders"),
	'1', 'a member of pg_monitor may read the view');
like(error_of($node, "SET ROLE reader; $holders"), qr/42501/, 'another role may not read the view');
my $pid = $elsewhere->query_safe('SELECT pg_backend_pid()');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 60000)");
passes($observer, $time, 'a session that is terminated holds the watermark no longer');
$elsewhere->{run}->finish;

# The procedure waits for a lock before each COMMIT.
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE steps (nr integer, at timestamptz, watermark timestamptz);
	CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
	DECLARE
		made flakes;
	BEGIN
		FOR step IN 1 .. 3 LOOP
			INSERT INTO flakes DEFAULT VALUES RETURNING * INTO made;
			PERFORM pg_advisory_xact_lock_shared(100 + step);
			INSERT INTO steps VALUES (step, flake_timestamp(made.id), flakeid_watermark());
			COMMIT;
		END LOOP;
	END
	$$;
	SQL
$gate->query_safe("SELECT pg_advisory_lock(100 + $_)") for 1 .. 3;
begin_in($other, 'CALL work()');
my $held = 0;
for my $step (1 .. 3) {
	$node->poll_query_until('postgres', <<~"SQL") or die "step $step does not wait for its lock";
		SELECT count(*) = 1 FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted AND objid = 100 + $step
		SQL
	passes($observer, $held, "step $step: the watermark passes what a procedure has committed");
	my $first = $observer->query_safe('SELECT ' . in_micros('first_id_at') . " FROM $view");
	is_held($observer, $first,
		"step $step: what a procedure has not committed holds the watermark");
	$held = watermark_in($observer);
	$gate->query_safe("SELECT pg_advisory_unlock(100 + $step)");
}
ended_in($other);
is($observer->query_safe('SELECT count(*), bool_and(watermark <= at) FROM steps'),
	'3|t', 'a procedure sees no watermark past the ID of its own transaction');
passes($observer, clock_in($observer), 'nothing holds the watermark at the end of a procedure');

# The leader of a parallel query generates the IDs.
$writer->query_safe(<<~'SQL');
	CREATE TABLE source AS SELECT nr FROM generate_series(1, 2000) AS nr;
	ALTER TABLE source SET (parallel_workers = 2);
	BEGIN
	SQL
like($writer->query_safe(<<~'SQL'), qr/Workers Launched: [1-9]/, 'a parallel query generates IDs');
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)
	CREATE TABLE made AS SELECT flake_next() AS id FROM source
	SQL
$time = $writer->query_safe('SELECT ' . in_micros('flake_timestamp(min(id))') . ' FROM made');
is_held($observer, $time, 'the IDs of a parallel query hold the watermark');
is( $observer->query_safe("SELECT pid FROM $view"),
	$writer->query_safe('SELECT pg_backend_pid()'),
	'the view names the leader of the parallel query');
$writer->query_safe('COMMIT');
passes($observer, $time,
	'the end of its transaction lets the watermark pass the IDs of a parallel query');
my $forced = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
$observer->query_safe("SET $forced = on");
is($observer->query_safe(<<~'SQL'), 't', 'a query that could have workers calls flakeid_watermark');
	SELECT count(*) > 0 FROM flakes WHERE flake_before(id, flakeid_watermark())
	SQL
$observer->query_safe('RESET ALL');

is($observer->query_safe($holders), '0', 'nothing holds the watermark back at the end');
$_->quit for $writer, $other, $observer, $gate;
$node->stop;
done_testing();
