# COPY with a default X_next() inserts many rows at once into tables with triggers, partitions and
# foreign tables, by the initial copy of logical replication, and in every schema of the extension.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Installation;
use Test::More;

my $node =
  copy_server('copy_targets', install_path => Installation->new('released')->put_released->{path});
my $dir = $node->basedir;
my $load = "(nr) FROM '$dir/numbers'";
my $many = 'many at once';
my $single = 'one by one: 5000';
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;
sub sql { return $node->safe_psql('postgres', @_) }

# triggers -----------------------------------------------------------------------------------------

sql(<<~'SQL');
	CREATE TABLE log (what text, id bigint);
	CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO log VALUES (TG_ARGV[0], NEW.id); RETURN NEW; END $$;
	CREATE FUNCTION log_rows() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO log SELECT 'statement', id FROM added; RETURN NULL; END $$;
	CREATE TABLE watched (id bigint DEFAULT flake_next(), nr integer);
	CREATE TRIGGER late AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION log_row('after');
	CREATE TRIGGER whole AFTER INSERT ON watched REFERENCING NEW TABLE AS added
		FOR EACH STATEMENT EXECUTE FUNCTION log_rows();
	SQL
is(inserts($node, 'watched', "COPY watched $load"),
	$many, 'COPY inserts many rows at once with triggers AFTER INSERT');
sql(<<~'SQL');
	CREATE TRIGGER early BEFORE INSERT ON watched
		FOR EACH ROW WHEN (flake_next() > 0) EXECUTE FUNCTION log_row(before)
	SQL
is(inserts($node, 'watched', "COPY watched $load"),
	$single, 'COPY inserts rows one by one with a trigger BEFORE INSERT');
is(sql(<<~'SQL'), <<~'ROWS' =~ s/\n\z//r, 'triggers see the IDs of the rows');
	SELECT what, count(DISTINCT id), count(*), bool_and(id IN (SELECT id FROM watched))
	FROM log GROUP BY what ORDER BY what
	SQL
	after|10000|10000|t
	before|5000|5000|t
	statement|10000|10000|t
	ROWS

# partitions ---------------------------------------------------------------------------------------

sql(<<~'SQL');
	CREATE FUNCTION slow_next() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN flake_next(); END';
	CREATE TABLE parts (id bigint DEFAULT flake_next(), nr integer) PARTITION BY HASH (id);
	CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
	CREATE TABLE part_2 (nr integer, id bigint DEFAULT slow_next());
	ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
	SELECT format('
		CREATE TABLE times (id sno DEFAULT sno_next(), nr integer) PARTITION BY RANGE (id);
		CREATE TABLE earlier PARTITION OF times FOR VALUES FROM (MINVALUE) TO (%1$L);
		CREATE TABLE later PARTITION OF times FOR VALUES FROM (%1$L) TO (MAXVALUE)',
		sno_min(now() - interval '1 day')) \gexec
	SQL
my $parts = 'part_0 part_1 part_2';
is(inserts($node, $parts, "COPY parts $load"),
	$many, 'COPY inserts many rows at once into partitions by the ID itself');
sql('CREATE TRIGGER early BEFORE INSERT ON part_1 FOR EACH ROW EXECUTE FUNCTION log_row(part)');
is(inserts($node, $parts, "COPY parts $load"),
	'both', 'COPY inserts rows one by one into the partition with a trigger BEFORE INSERT alone');
is(distinct_ids($node, 'parts'), '10000|10000', 'each row of the partitions has an ID of its own');
is(inserts($node, 'earlier later', "COPY times $load"),
	$many, 'COPY inserts many rows at once into partitions by the time in the ID');
is(distinct_ids($node, 'later'), '5000|5000', 'each row is in the partition of the time in its ID');

# foreign tables -----------------------------------------------------------------------------------

my %is_installed = map { $_ => 1 } split /\n/, sql('SELECT name FROM pg_available_extensions');
SKIP:
{
	skip "this $version has no postgres_fdw", 6 unless $is_installed{postgres_fdw};
	my ($host, $port) = ($node->host, $node->port);
	sql(<<~"SQL");
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER self;
		CREATE TABLE there (id sno PRIMARY KEY, nr integer);
		CREATE FOREIGN TABLE alone (id sno DEFAULT sno_next(), nr integer)
			SERVER self OPTIONS (table_name 'there');
		CREATE FOREIGN TABLE batches (id sno DEFAULT sno_next(), nr integer)
			SERVER self OPTIONS (table_name 'there', batch_size '100');
		CREATE TABLE mixed (id sno DEFAULT sno_next(), nr integer) PARTITION BY RANGE (nr);
		CREATE FOREIGN TABLE mixed_there PARTITION OF mixed FOR VALUES FROM (1) TO (1001)
			SERVER self OPTIONS (table_name 'there', batch_size '100');
		CREATE TABLE mixed_here PARTITION OF mixed FOR VALUES FROM (1001) TO (5001);
		CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS \$\$
		BEGIN INSERT INTO public.log VALUES ('there'); RETURN NULL; END \$\$;
		CREATE TRIGGER statements AFTER INSERT ON there
			FOR EACH STATEMENT EXECUTE FUNCTION count_statement();
		SQL
	# COPY sends batches since version 16.
	for (
		[ 'alone', 5000, 5000 ],
		[ 'batches', $version < 16 ? 5000 : 50, 10_000 ],
		[ 'mixed', $version < 16   ? 1000 : 10, 11_000 ])
	{
		my ($table, $statements, $total) = @$_;
		sql("DELETE FROM log; COPY $table $load");
		is(sql("SELECT count(*) FROM log WHERE what = 'there'"),
			$statements,
			"COPY sends the rows of the foreign table $table in $statements statements");
		is(distinct_ids($node, 'there'),
			"$total|$total", "each row of the foreign table $table has an ID of its own");
	}
}
SKIP:
{
	skip "this $version has no file_fdw", 1 unless $is_installed{file_fdw};
	skip "file_fdw of PostgreSQL $version has no default", 1 if $version < 16;
	sql(<<~"SQL");
		COPY (SELECT n, CASE WHEN n % 2 = 0 THEN 'new' ELSE sno_next(9)::text END
			FROM generate_series(1, 5000) AS n) TO '$dir/marked';
		CREATE EXTENSION file_fdw;
		CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
		CREATE FOREIGN TABLE lines (nr integer, id sno DEFAULT sno_next())
			SERVER files OPTIONS (filename '$dir/marked', "default" 'new');
		SQL
	is(distinct_ids($node, 'lines'),
		'5000|5000', 'each row that file_fdw reads has an ID of its own');
}

# schemas and versions -----------------------------------------------------------------------------

sql("CREATE DATABASE $_") for 'elsewhere', 'older', 'copied';
$node->safe_psql('elsewhere', <<~'SQL');
	CREATE SCHEMA ids;
	CREATE EXTENSION flakeid SCHEMA ids;
	CREATE TABLE t (id bigint DEFAULT ids.flake_next(), nr integer);
	SQL
$node->safe_psql('older', <<~'SQL');
	CREATE EXTENSION flakeid VERSION '0.6.1';
	CREATE TABLE t (id bigint DEFAULT flake_next(), nr integer);
	SQL
for (
	[ 'elsewhere', 'in another schema', '', $many ],
	[ 'elsewhere', 'that moved to public', 'ALTER EXTENSION flakeid SET SCHEMA public', $many ],
	[ 'older', 'with the SQL of 0.6.1', '', $single ],
	[ 'older', 'updated from 0.6.1', 'ALTER EXTENSION flakeid UPDATE', $many ])
{
	my ($database, $what, $before, $expected) = @$_;
	is(inserts($node, 't', "$before; COPY t $load", $database),
		$expected, "an extension $what: COPY inserts rows " . $expected =~ s/:.*//r);
}
is($node->safe_psql('older', 'SELECT count(*), count(DISTINCT id) FROM t'),
	'10000|10000', 'each row before and after an update has an ID of its own');

# logical replication ------------------------------------------------------------------------------

# The publisher lacks the columns.
$node->safe_psql('copied',
	"CREATE EXTENSION flakeid; CREATE TABLE published (nr integer PRIMARY KEY, $ID_COLUMNS)");
sql(<<~'SQL');
	CREATE TABLE published (nr integer PRIMARY KEY);
	INSERT INTO published SELECT generate_series(1, 5000);
	CREATE PUBLICATION numbers FOR TABLE published;
	SQL
sql("SELECT pg_create_logical_replication_slot('copied', 'pgoutput')");
my $begin = sql('SELECT pg_current_wal_insert_lsn()');
my $connection = $node->connstr('postgres') =~ s/'/''/gr;
$node->safe_psql('copied', <<~"SQL");
	CREATE SUBSCRIPTION copied CONNECTION '$connection' PUBLICATION numbers
		WITH (create_slot = false, slot_name = 'copied')
	SQL
$node->wait_for_subscription_sync($node, 'copied', 'copied');
is(inserts_since($begin, $node, 'published', 'copied'),
	$many, 'the initial copy of logical replication inserts many rows at once');
sql('INSERT INTO published SELECT generate_series(5001, 5100)');
$node->wait_for_catchup('copied');
my $distinct = join ' + ', map { "count(DISTINCT $_->{name})" } @ID_COLUMNS;
is($node->safe_psql('copied', "SELECT $distinct, count(*) FROM published"),
	'40800|5100', 'each row that follows the initial copy has an ID of its own');
$node->safe_psql('copied', 'DROP SUBSCRIPTION copied');

$node->stop;
done_testing();
