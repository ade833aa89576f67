# ALTER TABLE rewrites the table of a reader in ID order. A reader whose snapshot is older than that sees none of the rows.
# It gets none, and an early watermark, so that it asks again. No reader goes on behind rows that it has not seen.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $node = PostgreSQL::Test::Cluster->new('rewritten');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nlog_statement = none\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE outbox (id bigint PRIMARY KEY DEFAULT flake_next(), payload text);
CREATE TABLE parts (id bigint DEFAULT flake_next(), region integer, payload text) PARTITION BY LIST (region);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
CREATE TABLE other (nr integer);
INSERT INTO outbox SELECT FROM generate_series(1, 10);
INSERT INTO parts (region) SELECT 1 + nr % 2 FROM generate_series(1, 10) AS nr;
SQL
my ($reader, $migration, $observer) = map { session($node) } 1 .. 3;
passes($observer, clock_in($observer), 'all rows are below the watermark');

# A statement whose rows are in ID order, and end at the watermark.
sub poll {
	my ($table) = @_;
	return
	  "SELECT id FROM $table WHERE id > -1 AND flake_before(id, flakeid_watermark()) ORDER BY id";
}

# Begins a rewrite, begins to read, and ends the rewrite when the reader waits for it. Returns what was read.
sub read_beside {
	my ($rewrite, $sql) = @_;
	$migration->query_safe("BEGIN; $rewrite");
	begin_in($reader, $sql);
	$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted')
	  or die 'the reader does not wait';
	$migration->query_safe('COMMIT');
	return ended_in($reader);
}

my %rewrite = (
	outbox => "ALTER TABLE outbox ALTER COLUMN payload TYPE varchar(100) USING '!'",
	parts => 'ALTER TABLE parts_2 SET UNLOGGED',);
my %back = (
	outbox => 'ALTER TABLE outbox ALTER COLUMN payload TYPE text USING payload',
	parts => 'ALTER TABLE parts_2 SET LOGGED',);
for my $table ('outbox', 'parts') {
	my $poll = poll($table);
	my %how = (
		'COPY' => "COPY ($poll) TO STDOUT",
		'EXECUTE' => "PREPARE poll AS $poll; EXECUTE poll; DEALLOCATE poll",
		'a cursor' => "BEGIN; DECLARE c CURSOR FOR $poll; FETCH ALL FROM c; COMMIT",
		'CREATE TABLE' =>
		  "CREATE TEMPORARY TABLE copied AS $poll; SELECT id FROM copied; DROP TABLE copied",
		'a plain SELECT' => $poll,);
	my $all = $observer->query_safe("SELECT id FROM $table ORDER BY id");
	for my $how (sort keys %how) {
		my @read = split /\n/, read_beside($rewrite{$table}, $how{$how});
		my $last = @read ? $read[-1] : -1;
		my $rest = $reader->query_safe(
			"SELECT id FROM $table WHERE id > $last AND flake_before(id, flakeid_watermark()) ORDER BY id"
		);
		is(join("\n", @read, split /\n/, $rest),
			$all, "$table, $how: a reader that goes on after the last row has read each row");
		is( scalar @read,
			10,
			"$table, $how: the snapshot is newer than the lock, and the reader gets all rows at once"
		) if $how eq 'a plain SELECT';
		$migration->query_safe($back{$table});
	}
}

# One snapshot for a transaction: the table is rewritten before the reader comes to it.
for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM other");
	$migration->query_safe('GRANT SELECT ON other TO pg_monitor');
	cmp_ok(watermark_in($reader), '>', 0,
		"$level: a table that was changed, and not rewritten, does not lower the watermark");
	$migration->query_safe('CREATE TABLE later (); DROP TABLE later');
	$migration->query_safe($rewrite{outbox});
	is($reader->query_safe(poll('outbox')),
		'', "$level: the reader gets no row of a table that was rewritten after its snapshot");
	is(watermark_in($reader), 0, "$level: the watermark of that snapshot is 1970 from then on");
	$reader->query_safe('COMMIT');
	is(scalar split(/\n/, $reader->query_safe(poll('outbox'))),
		10, "$level: the next transaction gets all rows");
	$migration->query_safe($back{outbox});
}

# A snapshot that was taken by another session, before the rewrite.
$observer->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $snapshot = $observer->query_safe('SELECT pg_export_snapshot()');
$migration->query_safe($rewrite{outbox});
$reader->query_safe(
	"SELECT 1; BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
is($reader->query_safe(poll('outbox')),
	'', 'a reader with an imported snapshot from before the rewrite gets no row');
$reader->query_safe('COMMIT');
my $new = session($node);
$new->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
is($new->query_safe(poll('outbox')),
	'', 'a reader that connected after the rewrite, with such a snapshot, gets no row');
$new->quit;
$observer->query_safe('COMMIT');

# A transaction that rewrites the table itself sees the rows.
$reader->query_safe(
	"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM other; $back{outbox}");
is(scalar split(/\n/, $reader->query_safe(poll('outbox'))),
	10, 'a transaction that has rewritten the table itself gets all rows');
$reader->query_safe('COMMIT');

# A watermark of an earlier statement is a value. The reader locks the table before it takes the snapshot.
$migration->query_safe("BEGIN; $rewrite{outbox}");
begin_in($reader,
	"BEGIN; LOCK TABLE outbox IN ACCESS SHARE MODE; CREATE TEMPORARY TABLE upto AS SELECT flakeid_watermark() AS upto; "
	  . 'COPY (SELECT id FROM outbox, upto WHERE flake_before(id, upto)) TO STDOUT; COMMIT');
$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted')
  or die 'the reader does not wait';
$migration->query_safe('COMMIT');
is(scalar split(/\n/, ended_in($reader)),
	10,
	'a reader that locks the table first gets all rows below a watermark that it has as a value');

$_->quit for $reader, $migration, $observer;
$node->stop;

done_testing();
