# ALTER TABLE rewrites the table of a reader in ID order. A reader whose snapshot is older than that
# sees none of the rows. It gets none, and an early watermark, so that it asks again. No reader goes
# on behind rows that it has not seen.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('rewritten');
$node->safe_psql('postgres', <<~'SQL');
	CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT flake_next(), payload text);
	CREATE TABLE parts (id bigint DEFAULT flake_next(), region integer, payload text)
		PARTITION BY LIST (region);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
	CREATE TABLE other (nr integer);
	INSERT INTO outbox SELECT FROM generate_series(1, 10);
	INSERT INTO parts (region) SELECT 1 + nr % 2 FROM generate_series(1, 10) AS nr;
	SQL
my ($reader, $migration, $observer) = map { session($node) } 1 .. 3;
passes($observer, clock_in($observer), 'all rows are below the watermark');

my $alter = 'ALTER TABLE outbox ALTER COLUMN payload TYPE';
my %rewrite = (
	outbox => "$alter varchar(100) USING '!'",
	parts => 'ALTER TABLE parts_2 SET UNLOGGED');
my %back = (outbox => "$alter text USING payload", parts => 'ALTER TABLE parts_2 SET LOGGED');

# A query for the rows after an ID, in ID order, that end at the watermark.
sub rows_of {
	my ($table, $last) = @_;
	$last //= -1;
	return "SELECT id FROM $table WHERE id > $last AND flake_before(id, flakeid_watermark())"
	  . ' ORDER BY id';
}

sub count_in {
	my ($session, $sql) = @_;
	return scalar split /\n/, $session->query_safe($sql);
}

# Begins a rewrite, begins to read, and ends the rewrite when the reader waits for it. Returns what
# was read.
sub read_beside {
	my ($rewrite, $sql) = @_;
	$migration->query_safe("BEGIN; $rewrite");
	begin_in($reader, $sql);
	$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted')
	  or die 'the reader does not wait';
	$migration->query_safe('COMMIT');
	return split /\n/, ended_in($reader);
}

my %how = (
	'COPY' => 'COPY (%s) TO STDOUT',
	'EXECUTE' => 'PREPARE poll AS %s; EXECUTE poll; DEALLOCATE poll',
	'a cursor' => 'BEGIN; DECLARE c CURSOR FOR %s; FETCH ALL FROM c; COMMIT',
	'CREATE TABLE' =>
	  'CREATE TEMPORARY TABLE copied AS %s; SELECT id FROM copied; DROP TABLE copied',
	'a plain SELECT' => '%s');
for my $table ('outbox', 'parts') {
	my $all = $observer->query_safe("SELECT id FROM $table ORDER BY id");
	for my $how (sort keys %how) {
		my @read = read_beside($rewrite{$table}, sprintf $how{$how}, rows_of($table));
		my @rest = split /\n/, $reader->query_safe(rows_of($table, $read[-1]));
		is(join("\n", @read, @rest),
			$all, "$table, $how: a reader that goes on after the last row has read each row");
		next if $how ne 'a plain SELECT';
		is(scalar @read, 10, "$table, $how: a snapshot that is newer than the lock sees all rows");
	}
	continue {
		$migration->query_safe($back{$table});
	}
}

# One snapshot for a transaction: the table is rewritten before the reader comes to it.
my $poll = rows_of('outbox');
for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM other");
	$migration->query_safe('GRANT SELECT ON other TO pg_monitor');
	cmp_ok(watermark_in($reader), '>', 0,
		"$level: a table that was changed, and not rewritten, does not lower the watermark");
	$migration->query_safe('CREATE TABLE later (); DROP TABLE later');
	$migration->query_safe($rewrite{outbox});
	is($reader->query_safe($poll),
		'', "$level: the reader gets no row of a table that was rewritten after its snapshot");
	is(watermark_in($reader), 0, "$level: the watermark of that snapshot is 1970 from then on");
	$reader->query_safe('COMMIT');
	is(count_in($reader, $poll), 10, "$level: the next transaction gets all rows");
	$migration->query_safe($back{outbox});
}

# The reader's own transaction then changes the table's row in pg_class, which names the file.
my %own = (
	'grants a privilege' => 'GRANT SELECT ON outbox TO pg_monitor',
	'sets a parameter' => 'ALTER TABLE outbox SET (fillfactor = 90)',
	'adds a check in a savepoint' =>
	  'SAVEPOINT s; ALTER TABLE outbox ADD CHECK (id <> 0); RELEASE s',
	'rewrites it again' => 'ALTER TABLE outbox SET UNLOGGED',
	'clusters it' => 'CLUSTER outbox USING outbox_pkey');
for my $what (sort keys %own) {
	my $begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM other';
	$reader->query_safe("$begin; $own{$what}");
	cmp_ok(watermark_in($reader), '>', 0,
		"the watermark stays if the reader itself $what and nobody has rewritten the table");
	$reader->query_safe("ROLLBACK; $begin");
	$migration->query_safe($rewrite{outbox});
	$reader->query_safe($own{$what});
	is($reader->query_safe($poll), '', "the reader gets no row if it $what after a rewrite");
	is(watermark_in($reader), 0, "the watermark is 1970 if the reader $what after a rewrite");
	$reader->query_safe('ROLLBACK');
	$migration->query_safe($back{outbox});
}

# A snapshot that was taken by another session, before the rewrite.
$observer->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $snapshot = $observer->query_safe('SELECT pg_export_snapshot()');
my $import = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'";
$migration->query_safe($rewrite{outbox});
$reader->query_safe("SELECT 1; $import");
is($reader->query_safe($poll),
	'', 'a reader with an imported snapshot from before the rewrite gets no row');
$reader->query_safe('COMMIT');
my $new = session($node);
$new->query_safe($import);
is($new->query_safe($poll),
	'', 'a reader that connected after the rewrite, with such a snapshot, gets no row');
$new->quit;
$observer->query_safe('COMMIT');

$reader->query_safe(
	"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM other; $back{outbox}");
is(count_in($reader, $poll), 10, 'a transaction that has rewritten the table itself gets all rows');
$reader->query_safe('COMMIT');

# A watermark of an earlier statement is a value. The reader locks the table before it takes the
# snapshot.
my @read = read_beside($rewrite{outbox}, <<~'SQL');
	BEGIN;
	LOCK TABLE outbox IN ACCESS SHARE MODE;
	CREATE TEMPORARY TABLE upto AS SELECT flakeid_watermark() AS upto;
	COPY (SELECT id FROM outbox, upto WHERE flake_before(id, upto)) TO STDOUT;
	COMMIT
	SQL
is(scalar @read, 10,
	'a reader that locks the table first gets all rows below a watermark that it has as a value');

$_->quit for $reader, $migration, $observer;
$node->stop;
done_testing();
