# The sections of docs/migrating.md on the type flake, as they stand: bigint columns become flake
# columns and back. No row and no index is rewritten, and no foreign key is checked again.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($section) =
  slurp_file('docs/migrating.md') =~ /^(## Change bigint flakes to the type flake\n.*?)(?=^## )/ms
  or die 'the page has no section on the type flake';
my ($tables, $change, $back, $partitions, $change_key, @rest) =
  $section =~ /^```sql\n(.*?)^```$/msg;
ok(defined $change_key && !@rest, 'the section has five blocks');

my $node = PostgreSQL::Test::Cluster->new('change_to_flake');
$node->init;
# The blocks give up after 300 ms, and an autovacuum of a table would hold them up. It would also
# bring statistics back.
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
wal_level = logical
client_min_messages = warning
autovacuum = off
END
$node->start;

sub sql {
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub runs {
	my ($block, $claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(error_of($node, $block), '', $claim);
}

# The files of the tables and indexes with these names.
sub files_of {
	my ($names) = @_;
	return sql(<<~"SQL");
		SELECT relname, pg_relation_filenode(oid) FROM pg_class
		WHERE relname ~ '$names' AND relkind IN ('r', 'i') ORDER BY 1
		SQL
}

# From bigint to flake and back --------------------------------------------------------------------

runs($tables, 'the tables of the example are there');

# A sale without its shop: PostgreSQL would find it if it checked the foreign key again.
sql("SET session_replication_role = replica; INSERT INTO sales (shop_id) VALUES (1)");
my $files = files_of('^(shops|sales)');
my $types = <<'SQL';
SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attrelid::regclass::text, attname)
FROM pg_attribute
WHERE attrelid IN ('shops'::regclass, 'sales'::regclass) AND attname IN ('id', 'shop_id')
SQL
runs($change, 'three bigint columns become flake columns');
is(sql($types), 'flake flake flake', 'the three columns have the type flake');
is(files_of('^(shops|sales)'), $files, 'neither tables nor indexes are rewritten');
is(sql('SELECT count(*) FROM sales WHERE shop_id = 1'), '1',
	'the foreign key is not checked again');
is(sql("SELECT convalidated FROM pg_constraint WHERE conname = 'sales_shop_id_fkey'"),
	't', 'the foreign key is valid');
like(error_of($node, 'INSERT INTO sales (shop_id) VALUES (2)'),
	qr/23503/, 'the foreign key is enforced');

runs($back, 'a column becomes a bigint again, with its view');
is(sql($types), 'flake bigint flake', 'only that column is a bigint');
is(files_of('^(shops|sales)'), $files, 'neither tables nor indexes are rewritten on the way back');
is(sql('SELECT count(*) FROM sales_by_shop'), '101', 'the view is there again');

# What is slower -----------------------------------------------------------------------------------

sql(<<'SQL');
CREATE INDEX sales_partial ON sales (shop_id) WHERE total > 5;
CREATE INDEX sales_time ON sales (flake_timestamp(shop_id, '2010-01-01 00:00:00+00'));
CREATE STATISTICS sales_statistics (ndistinct) ON shop_id, total FROM sales;
DROP VIEW sales_by_shop;
ANALYZE sales;
SQL
my ($kept, $rebuilt) = (files_of('^sales(|_pkey|_shop_id)$'), files_of('^sales_(partial|time)$'));
sql('ALTER TABLE sales ALTER COLUMN shop_id TYPE flake');
is(files_of('^sales(|_pkey|_shop_id)$'), $kept, 'indexes of columns alone stay');
unlike(files_of('^sales_(partial|time)$'),
	qr/^\Q$_\E$/m, 'an index with an expression or a condition is rebuilt')
  for split /\n/, $rebuilt;
is(sql("SELECT count(*) FROM pg_stats WHERE tablename = 'sales' AND attname = 'shop_id'"),
	'0', 'the statistics of the column are discarded');
is(sql(<<~'SQL'), '0', 'extended statistics are empty');
	SELECT count(*) FROM pg_stats_ext
	WHERE statistics_name = 'sales_statistics' AND n_distinct IS NOT NULL
	SQL
# Valid although a row breaks it, so that a check of the rows is seen.
sql('ALTER TABLE sales ADD CHECK (shop_id > 1) NOT VALID');
sql("UPDATE pg_constraint SET convalidated = true WHERE conname = 'sales_shop_id_check'");
like(error_of($node, 'ALTER TABLE sales ALTER COLUMN shop_id TYPE bigint'),
	qr/23514/, 'a CHECK is checked again');

# What PostgreSQL refuses --------------------------------------------------------------------------

my %refused = (
	'view, materialized view, rule' => 'CREATE VIEW named AS SELECT id FROM t',
	'function with `BEGIN ATOMIC`' =>
	  'CREATE FUNCTION named() RETURNS bigint BEGIN ATOMIC SELECT id FROM t; END',
	'trigger with `UPDATE OF` or `WHEN`' => 'CREATE TRIGGER named BEFORE UPDATE OF id ON t'
	  . ' FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
	'policy' => 'CREATE POLICY named ON t USING (id > 5)',
	'generated column' => 'ALTER TABLE t ADD named timestamptz'
	  . " GENERATED ALWAYS AS (flake_timestamp(id, 'epoch')) STORED",
	'`WHERE` of a publication' => 'CREATE PUBLICATION named FOR TABLE t WHERE (id > 5)',
	'identity' => 'ALTER TABLE t ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY',
	'partition key' => 'DROP TABLE t; CREATE TABLE t (id bigint) PARTITION BY RANGE (id)');
my ($table) = $section =~ /^\| object \| error \|\n\|---\|---\|\n((?:\|.*\n)+)/m
  or die 'the section has no table of errors';
my %error_of = $table =~ /^\| (.*?) \| `([^`]+)`/mg;
is_deeply([ sort keys %error_of ], [ sort keys %refused ], 'each object of the table is tried');
for my $object (sort keys %refused) {
	my $error = join '.*', map { quotemeta } split /…/, $error_of{$object}, -1;
	like(
		error_of($node, <<~"SQL"),
			BEGIN; CREATE TABLE t (id bigint NOT NULL);
			$refused{$object};
			ALTER TABLE t ALTER COLUMN id TYPE flake;
			SQL
		qr/ERROR: .*: $error/,
		"PostgreSQL refuses the change with the error of the table: $object");
}
sql('CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY)');
runs('ALTER TABLE t ALTER COLUMN id DROP IDENTITY; ALTER TABLE t ALTER COLUMN id TYPE flake',
	'without its identity a column can change');
like(
	error_of($node, <<~'SQL'),
		CREATE FUNCTION ids() RETURNS TABLE (id bigint) LANGUAGE plpgsql AS $$
		BEGIN RETURN QUERY SELECT t.id FROM t; END $$;
		SELECT * FROM ids();
		SQL
	qr/structure of query does not match function result type/,
	'a PL/pgSQL function that returns a bigint does not return a flake');

# A partition key ----------------------------------------------------------------------------------

runs($partitions, 'the partitioned table of the example is there');
$files = files_of('^log_20');
cmp_ok(scalar(split /\n/, $files), '>=', 15, 'five months have a table and two indexes each');
runs($change_key, 'the partitions move to a table with a flake as its key');
is(files_of('^log_20'), $files, 'neither partitions nor their indexes are rewritten');
is(sql(<<~'SQL'), 'RANGE (id)|1000|1', 'the table has its rows');
	SELECT pg_get_partkeydef('log'::regclass), count(*), count(DISTINCT tableoid) FROM log
	SQL
is(sql(<<~'SQL'), 'flake', 'its key has the type flake');
	SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'log'::regclass AND attname = 'id'
	SQL
is(sql("SELECT count(*) FROM pg_index WHERE indrelid = 'log'::regclass AND indisvalid"),
	'2', 'both indexes of the table are valid');
runs($change_key =~ s/\bflake(?= PRIMARY KEY|')/bigint/gr, 'the partitions move back');
is(files_of('^log_20'), $files,
	'neither partitions nor their indexes are rewritten on the way back');

$node->stop;
done_testing();
