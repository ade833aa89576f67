# A standby whose flakeid library is missing starts without preloading it. It serves all that needs
# no library, and everything once the library is in place.
use strict;
use warnings;
use lib 'tests/perl';

use HeldIds;
use Installation;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $place = Installation->new('missing');
my $node = PostgreSQL::Test::Cluster->new('node', install_path => $place->{path});
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
create_tables($node);
is(insert_rows($node, 100), '', 'a server of this installation generates IDs');
is($node->safe_psql('postgres', <<"SQL"), '0', 'it has the library of this installation');
SELECT count(*) FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') AS line
WHERE line LIKE '%flakeid.so%' AND line NOT LIKE '%$place->{library}%'
SQL

$node->safe_psql('postgres', 'CREATE TABLE plain AS SELECT generate_series(1, 10) AS nr');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby', install_path => $place->{path});
$standby->init_from_backup($node, 'backup', has_streaming => 1);
my $missing =
  qr/could not (?:access file|load library) "(?:\$libdir\/)?flakeid": .*No such file or directory/;
$place->remove_library;
ok(!$standby->start(fail_ok => 1), 'a standby that preloads the library does not start without it');
like(slurp_file($standby->logfile), qr/FATAL:  $missing/, 'its log has what is missing');
$standby->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
ok($standby->start(fail_ok => 1), 'a standby without preloading starts');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT count(*) FROM plain'), '10', 'it serves other tables');
is($standby->safe_psql('postgres', 'SELECT count(*), max(id) > 0 FROM flakes'),
	'100|t', 'it serves flakes, which are numbers');
my $counts = join ';', map { "SELECT count(nr IS NULL OR true) FROM $_->{name}s" } @ID_TYPES;
is( $standby->safe_psql('postgres', $counts),
	join("\n", (100) x @ID_TYPES),
	'it counts rows with the types');

for my $ask ('SELECT id FROM snos', 'SELECT flake_timestamp(id) FROM flakes') {
	like(error_of($standby, $ask), qr/ERROR:  58P01: $missing/, "$ask says what is missing");
}

$place->put_library;
is(held($standby), of_each(100), 'with the library in place all is read, without a restart');
is($standby->safe_psql('postgres', 'SELECT count(sno_timestamp(id)) FROM snos'),
	'100', 'with the library in place snos are decoded');
$standby->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'flakeid'");
$standby->restart;
$standby->promote;
is(insert_rows($standby, 100), '', 'the standby generates IDs after its promotion');
is(held($standby), of_each(200), 'these IDs are new');
$standby->stop;
$node->stop;

done_testing();
