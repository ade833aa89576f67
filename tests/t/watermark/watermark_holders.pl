# An open transaction that has generated an ID, of any ID type and in any way, holds the watermark
# back until it ends. The view pg_stat_flakeid_watermark has this transaction. A reader by a column
# of the type xid8 is held back by any open transaction of the cluster with a transaction ID.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('holders', <<~'END', allows_streaming => 1);
	max_prepared_transactions = 5
	autovacuum = off
	END
my ($writer, $observer) = map { session($node) } 1 .. 2;

is( $observer->query_safe(<<~'SQL'),
	SELECT provolatile, proparallel, pronargs, proretset, prorettype::regtype,
		has_function_privilege('public', oid, 'EXECUTE')
	FROM pg_proc WHERE proname = 'flakeid_watermark' ORDER BY pronargs
	SQL
	"s|r|0|f|timestamp with time zone|t\ns|r|1|f|timestamp with time zone|t",
	'flakeid_watermark is a stable function that anyone may call');
is($observer->query_safe(<<~'SQL'), '0', 'the watermark is never null, and never past the clock');
	SELECT count(*) FROM generate_series(1, 1000)
	WHERE flakeid_watermark() IS NULL OR flakeid_watermark() > clock_timestamp()
	SQL
is($observer->query_safe("SELECT $WATERMARK % 1000"),
	'0', 'the watermark is a whole number of milliseconds');
passes($observer, clock_in($observer), 'the watermark of an idle server follows the clock');

my ($first_id_at, $watermark) = map { in_micros($_) } 'first_id_at', 'watermark';
my $holders =
  "SELECT pid, gid, xid, database, $first_id_at, $watermark FROM pg_stat_flakeid_watermark";
is($observer->query_safe($holders), '', 'the view has no row while no transaction is open');

# How a transaction generates IDs.
my %sql_of = (
	'a batch' => 'SELECT id FROM {batch} AS id ORDER BY id DESC LIMIT 1',
	'an ID without a row' => 'SELECT {next}',
	'COPY' => "COPY {table} (nr) FROM PROGRAM 'seq 3'",
	'INSERT of the rows of a query' => 'INSERT INTO {table} (nr) SELECT generate_series(1, 3)',
	'an ID in a subtransaction' => 'SAVEPOINT s; SELECT {next}; RELEASE s',
	'an ID before a rollback to a savepoint' =>
	  'SAVEPOINT s; INSERT INTO {table} DEFAULT VALUES; ROLLBACK TO s',
	'an ID in PL/pgSQL that fails' => <<~'SQL');
		DO $$
		BEGIN
			PERFORM {next};
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
		END $$
		SQL

# Tests that a transaction holds the watermark, and is in the view.
sub open_transaction_holds {
	my ($id_type, $level) = @_;
	$writer->query_safe("BEGIN ISOLATION LEVEL $level");
	my $before = clock_in($writer);
	my $time = insert_into($writer, $id_type);
	is_held($observer, $time, 'the watermark is at the ID or before it');
	my ($pid, $gid, $xid, $database, $first, $held) = split /\|/, $observer->query_safe($holders),
	  -1;
	is( "$pid $gid $xid $database",
		$writer->query_safe(
			"SELECT pg_backend_pid() || '  ' || pg_current_xact_id()::text || ' postgres'"),
		'the view has the session, the transaction ID and the database');
	cmp_ok($first, '<=', clock_in($observer), 'the time of the first ID in the view is past');
	# At most the longest tick, and what is rounded.
	cmp_ok(
		$first, '>=',
		$before - 10_000,
		'the time of the first ID in the view is about when the ID was generated');
	is($held, watermark_in($observer), 'the view has where the transaction holds the watermark');
	is_held($writer, $time, 'the transaction holds the watermark in its own session, too');
	$writer->query_safe($level eq 'SERIALIZABLE' ? 'ROLLBACK' : 'COMMIT');
	passes($observer, $time, 'the watermark passes the ID when the transaction has ended');
	is($observer->query_safe($holders), '', 'the view has no transaction that has ended');
	return;
}

for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') {
		subtest "$name, $level: an open transaction holds the watermark" =>
		  sub { open_transaction_holds($id_type, $level) };
	}
	my %part =
	  (table => "${name}s", next => $id_type->{next}, batch => sprintf($id_type->{batch}, 3));
	for my $way (sort keys %sql_of) {
		my $before = clock_in($writer);
		$writer->query_safe('BEGIN; ' . $sql_of{$way} =~ s/\{(\w+)\}/$part{$1}/gr);
		my $after = clock_in($writer);
		is_held($observer, $after, "$name: $way holds the watermark back");
		cmp_ok(
			watermark_in($observer), '>=',
			$before - 10_000,
			"$name: $way holds the watermark at about the time of the ID");
		$writer->query_safe('ROLLBACK');
		passes($observer, $after, "$name: $way holds the watermark until the transaction ends");
	}
}

# What reading-in-order.md says of xid8, beside the watermark: such a reader misses no row, too.
$node->safe_psql('postgres', <<~'SQL');
	CREATE DATABASE other;
	CREATE TABLE by_xid (xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
		id bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (xid, id));
	CREATE TABLE by_flake (id flake PRIMARY KEY DEFAULT flake_next());
	SQL
$node->safe_psql('other', 'CREATE TABLE rows AS SELECT 1 AS nr');
my $standby = standby_of($node, 'standby');

my $there = session($node, 'other');
my $unread_by_xid =
  'SELECT count(*) FROM by_xid WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())';

# Inserts rows for both readers. Returns how many rows each of them does not get, when the watermark
# would pass the new one.
sub unread {
	$observer->query_safe('INSERT INTO by_xid DEFAULT VALUES');
	my $time = in_micros('flake_timestamp(id)');
	clock_passes($observer,
		$observer->query_safe("INSERT INTO by_flake DEFAULT VALUES RETURNING $time"));
	return join ' ', map { $observer->query_safe($_) } $unread_by_xid,
	  'SELECT count(*) FROM by_flake WHERE id >= flakeid_watermark()';
}

is(unread(), '0 0', 'both readers get all rows while nothing is open');
for my $sql (
	'UPDATE rows SET nr = nr',
	'SELECT FROM rows FOR UPDATE',
	'CREATE TEMP TABLE temporary (nr integer)')
{
	$there->query_safe("BEGIN; $sql");
	is(unread(), '1 0', "$sql in another database holds back the reader by xid8 alone");
	$there->query_safe('ROLLBACK');
}
$there->query_safe("BEGIN; UPDATE rows SET nr = nr; PREPARE TRANSACTION 'other'");
is(unread(), '1 0',
	'a prepared transaction in another database holds back the reader by xid8 alone');
$there->query_safe("COMMIT PREPARED 'other'");
$there->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM rows');
is(unread(), '0 0', 'a transaction that only reads holds back neither reader');
$there->query_safe('COMMIT');
$writer->query_safe('BEGIN; SELECT flake_next()');
is(unread(), '0 1',
	'a transaction that has generated an ID and written nothing holds back the watermark alone');
$writer->query_safe('COMMIT');

$writer->query_safe('BEGIN; INSERT INTO by_xid DEFAULT VALUES');
$observer->query_safe('INSERT INTO by_xid DEFAULT VALUES');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', $unread_by_xid),
	'1', 'on a standby the reader by xid8 does not get what an open transaction can precede');
$writer->query_safe('COMMIT');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', $unread_by_xid),
	'0', 'on a standby the reader by xid8 gets all rows when that transaction has ended');

$_->quit for $writer, $there, $observer;
$_->stop for $standby, $node;
done_testing();
