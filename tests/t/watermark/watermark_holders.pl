# An open transaction that has generated an ID, of any ID type and in any way, holds the watermark
# back until it ends. The view pg_stat_flakeid_watermark has this transaction.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('holders');
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

$_->quit for $writer, $observer;
$node->stop;
done_testing();
