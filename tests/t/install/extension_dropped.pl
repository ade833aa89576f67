# DROP EXTENSION is refused while something depends on it. With CASCADE it takes what depends on it
# along, and no more. It waits for transactions of sessions that use the extension. Their next
# statements end with an error, and with the extension back they continue. DROP leaves nothing in
# the catalogs, and IDs go on above the last ones.
use strict;
use warnings;
use lib 'tests/perl';

use InSchema;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('extension_dropped', "autovacuum = off\n");

sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

sql(<<'SQL');
CREATE TABLE made (
	nr integer, flake bigint DEFAULT flake_next() PRIMARY KEY, sno sno DEFAULT sno_next() UNIQUE,
	guid guid_local, ids uniqueid[], at timestamptz GENERATED ALWAYS AS (sno_timestamp(sno)) STORED,
	line text, as_uuid uuid DEFAULT flake128_next()::uuid);
INSERT INTO made (nr, line) VALUES (1, 'kept');
CREATE INDEX made_at ON made (flake_timestamp(flake, '2010-01-01 00:00+00'));
CREATE VIEW lately AS SELECT line FROM made WHERE flake_after(flake, now() - interval '1 hour');
CREATE TABLE flake_parts (id bigint DEFAULT flake_next(), line text) PARTITION BY RANGE (id);
CREATE TABLE flake_part PARTITION OF flake_parts
	FOR VALUES FROM (flake_min('2020-01-01')) TO (MAXVALUE);
INSERT INTO flake_parts (line) VALUES ('kept');
CREATE TABLE sno_parts (id sno DEFAULT sno_next(), line text) PARTITION BY RANGE (id);
CREATE TABLE sno_part PARTITION OF sno_parts DEFAULT;
CREATE FUNCTION bound() RETURNS bigint BEGIN ATOMIC SELECT flake_next(); END;
SQL
my @dependent = (
	'default value for column flake of table made',
	'default value for column as_uuid of table made',
	'index made_at',
	'view lately',
	'column sno of table made',
	'column guid of table made',
	'column ids of table made',
	'column at of table made',
	'default value for column id of table flake_parts',
	'default value for column id of table flake_part',
	'table sno_parts',
	'function bound()',);

# docs/installing.md finds what DROP EXTENSION does not know.
sql(<<'SQL');
CREATE FUNCTION lower_case() RETURNS boolean LANGUAGE sql AS 'SELECT flake_since(1, now())';
CREATE FUNCTION upper_case() RETURNS text LANGUAGE sql AS 'SELECT FLAKE_TO_PUBLIC(1)';
CREATE FUNCTION of_uuids(uuid) RETURNS boolean LANGUAGE sql AS 'SELECT uuidv7_before($1, now())';
CREATE FUNCTION of_a_type() RETURNS text LANGUAGE plpgsql AS 'DECLARE id sno; BEGIN RETURN 1; END';
CREATE FUNCTION of_a_view() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM pg_stat_flakeid';
CREATE FUNCTION of_a_procedure() RETURNS void LANGUAGE plpgsql AS 'BEGIN CALL flakeid_wait(); END';
CREATE FUNCTION of_others() RETURNS text LANGUAGE sql AS $$SELECT 'snowflake, guidance, max'$$;
SQL
my ($search) = slurp_file('docs/installing.md') =~ /^```sql\n(WITH names AS .*?)^```$/ms;
is_deeply(
	[ sort split /\n/, sql($search) ],
	[
		'lower_case()', 'of_a_procedure()', 'of_a_type()', 'of_a_view()',
		'of_uuids(uuid)', 'upper_case()'
	],
	'the page finds each function whose text names something of the extension, and no other');

my $error = error_of($node, 'DROP EXTENSION flakeid');
like(
	$error,
	qr/ERROR:  2BP01: cannot drop extension flakeid because other objects depend on it/,
	'DROP EXTENSION is refused while something depends on it');
is_deeply(
	[ sort $error =~ /^(?:DETAIL:  )?(.*) depends on /mg ],
	[ sort @dependent ],
	'the error names each default, column, index, view, function and partitioned table');

sql('DROP EXTENSION flakeid CASCADE');
is(sql( <<'SQL'), 'nr, flake, line, as_uuid', 'CASCADE drops columns and defaults');
SELECT string_agg(attname || coalesce(' ' || pg_get_expr(adbin, adrelid), ''), ', ' ORDER BY attnum)
FROM pg_attribute LEFT JOIN pg_attrdef ON attrelid = adrelid AND attnum = adnum
WHERE attrelid = 'made'::regclass AND attnum > 0 AND NOT attisdropped
SQL
is(sql('SELECT nr, flake > 0, line, as_uuid IS NOT NULL FROM made'),
	'1|t|kept|t', 'the values of the other columns stay');
is(sql( <<'SQL'), 'flake_part flake_parts made made_pkey', 'partitions by snos are gone');
SELECT string_agg(relname, ' ' ORDER BY relname COLLATE "C") FROM pg_class
WHERE relnamespace = 'public'::regnamespace
SQL
is(sql('SELECT line FROM flake_parts WHERE id > 0'), 'kept', 'rows in partitions by flakes stay');

# sessions that use it ---------------------------------------------------------------------------

# The table keeps its flakes. Columns of the other types would go with their types.
sql(<<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer);
CREATE FUNCTION order_of(nr integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint := flake_next();
BEGIN
	INSERT INTO orders VALUES (made, nr);
	RETURN made;
END $$;
SQL
my $session = session($node);
$session->query_safe(<<'SQL');
PREPARE an_order (integer) AS INSERT INTO orders (nr) VALUES ($1);
SET plan_cache_mode TO force_generic_plan;
SQL
is(error_in($session, "EXECUTE an_order($_)"), '', "a prepared statement uses the default, $_")
  for 1 .. 6;
is(error_in($session, 'SELECT order_of(7)'), '', 'a function calls flake_next()');
$session->query_safe('BEGIN; EXECUTE an_order(8)');
my $dropper = session($node);
$dropper->query_until(qr/^begun$/m,
	"\\echo begun\nDROP EXTENSION flakeid CASCADE;\n\\echo dropped\n");
ok( $node->poll_query_until('postgres',
		<<'SQL'), 'CASCADE waits for a transaction with the default');
SELECT count(*) = 1 FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE 'DROP EXTENSION%'
SQL
is(error_in($session, 'EXECUTE an_order(9)'), '', 'the transaction continues to use the default');
$session->query_safe('COMMIT');
$dropper->query_until(qr/^dropped$/m, '');
like(
	error_in($session, 'EXECUTE an_order(10)'),
	qr/ERROR:  23502: null value in column "id" of relation "orders" violates not-null constraint/,
	'an insert without the default is an error');
like(
	error_in($session, 'SELECT order_of(10)'),
	qr/ERROR:  42883: function flake_next\(\) does not exist/,
	'a function that calls flake_next() is an error');
my $counts = 'SELECT count(*), count(DISTINCT id), count(DISTINCT nr) FROM orders';
is($session->query_safe($counts), '9|9|9', 'no row is lost with the extension');
$dropper->quit;

sql('CREATE EXTENSION flakeid; ALTER TABLE orders ALTER id SET DEFAULT flake_next()');
is(error_in($session, 'EXECUTE an_order(10)'),
	'', 'the prepared statement continues with extension and default back');
is(error_in($session, 'SELECT order_of(11)'), '', 'the function continues, too');
is($session->query_safe(<<'SQL'), '11|t', 'the IDs are above those from before');
SELECT count(DISTINCT id), bool_and(in_order)
FROM (SELECT id, nr = row_number() OVER (ORDER BY id) AS in_order FROM orders) AS o
SQL
$session->quit;

# nothing is left ------------------------------------------------------------------------------

# Counts the rows of each catalog of a database, and of those that all databases share.
sub catalogs {
	my @catalogs = split /\n/, $node->safe_psql('clean', <<'SQL');
SELECT oid::regclass FROM pg_class
WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' ORDER BY 1
SQL
	return $node->safe_psql(
		'clean',
		join ' UNION ALL ',
		map { "SELECT '$_', count(*) FROM $_" } @catalogs);
}

sql('CREATE DATABASE clean');
my $clean = catalogs();
my %last;
for my $round (1 .. 2) {
	$node->safe_psql('clean', 'CREATE EXTENSION flakeid');
	for my $type (@TYPES) {
		my ($name, $id_type, $next) = @$type{ 'name', 'type', 'next' };
		is($node->safe_psql('clean', "SELECT $next > '$last{$name}'::$id_type"),
			't', "the extension that is created again generates ${name}s above those from before")
		  if $last{$name};
		$last{$name} = $node->safe_psql('clean', <<"SQL");
SELECT id FROM (SELECT $next AS id FROM generate_series(1, 10000)) AS made ORDER BY id DESC LIMIT 1
SQL
	}
	isnt(catalogs(), $clean, 'the extension has rows in the catalogs');
	$node->safe_psql('clean', 'DROP EXTENSION flakeid');
	is(catalogs(), $clean, 'DROP EXTENSION leaves no row in any catalog');
	is($node->safe_psql('clean', "SELECT count(*) FROM pg_proc WHERE probin LIKE '%flakeid%'"),
		'0', 'DROP EXTENSION leaves no function of its library');
}

$node->stop;
done_testing();
