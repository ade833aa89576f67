# The extension is dropped under sessions that use it. DROP waits for their transactions, their next
# statements end with an error, and with the extension back they continue.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dropped_in_use');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;

# The table keeps its flakes. Columns of the other types would go with their types.
$node->safe_psql('postgres', <<'SQL');
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
my $cannot = 'cannot drop extension flakeid because other objects depend on it';
my $depends = 'default value for column id of table orders depends on function flake_next\(\)';
like(
	error_of($node, 'DROP EXTENSION flakeid'),
	qr/ERROR:  2BP01: $cannot\n.*$depends/s,
	'an extension that a default depends on is not dropped');

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

$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; ALTER TABLE orders ALTER id SET DEFAULT flake_next()');
is(error_in($session, 'EXECUTE an_order(10)'),
	'', 'the prepared statement continues with extension and default back');
is(error_in($session, 'SELECT order_of(11)'), '', 'the function continues, too');
is($session->query_safe(<<'SQL'), '11|t', 'the IDs are above those from before');
SELECT count(DISTINCT id), bool_and(in_order)
FROM (SELECT id, nr = row_number() OVER (ORDER BY id) AS in_order FROM orders) AS o
SQL
$session->quit;
$node->stop;

done_testing();
