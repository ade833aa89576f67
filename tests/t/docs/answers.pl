# What the pages of docs say of the answers of statements: texts of numbers, sizes, and the examples
# of IDs. Library and SQL are of one version.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('answers');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is( $node->safe_psql('postgres', "SELECT flake_to_text(5828128208445124609, 'hex')"),
	sprintf('%x', 5828128208445124609),
	'hex has no leading zeros and no capitals');
is( $node->safe_psql(
		'postgres', "SELECT flake_to_text(flake_from_text('BXDOxnfZflk=', 'base64'), 'hex')"),
	'597ed977c6ce7005',
	'base64 is read from the lowest byte up');
is( $node->safe_psql('postgres',
		<<'SQL'), '8|10|16|16|12|8|8', 'values have the sizes of choosing.md');
SELECT pg_column_size(flake_next()), pg_column_size(sno_next()), pg_column_size(uuidv7_next()),
	pg_column_size(flake128_next()), pg_column_size(guid_next()), pg_column_size(guid_local_next()),
	pg_column_size(uniqueid_next())
SQL
my ($texts) = slurp_file('docs/choosing.md') =~ /^\| text \| (.*) \|$/m
  or die 'choosing.md shows no texts';
my @texts = map { /^`(.*)`$/ } split / \| /, $texts;

for my $type ('bigint', 'sno', 'uuid', 'flake128', 'guid', 'uniqueid') {
	my $text = shift @texts;
	is($node->safe_psql('postgres', "SELECT '$text'::$type"),
		$text, "the text of a $type in docs/choosing.md is a $type");
}
my ($uuid) = slurp_file('docs/choosing.md') =~ /`([0-9a-f]{8}-[-0-9a-f]+)`/
  or die 'choosing.md shows no uuidv7';
is($node->safe_psql('postgres', "SELECT uuidv7_valid('$uuid')"),
	't', 'the uuidv7 that choosing.md shows is one');
is($node->safe_psql('postgres', <<'SQL'), 't', "the example of RFC 9562 has the RFC's time");
SELECT uuidv7_decode('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')
	= ROW(timestamptz '2022-02-22 19:22:22+00', 3267, 1, 140, 1367844206360975::bigint)
SQL
is( $node->safe_psql(
		'postgres', "SELECT uuidv7_timestamp(uuidv7_max('infinity')) AT TIME ZONE 'UTC'"),
	'10889-08-02 05:31:50.655',
	'the layout of uuidv7 ends as id-types.md says');
is( $node->safe_psql('postgres',
		<<'SQL'), '4|0', 'pg_stat_flakeid has a row for each lane of uuidv7');
SELECT count(*), count(generator_id) FROM pg_stat_flakeid WHERE id_type = 'uuidv7'
SQL
is( $node->safe_psql('postgres',
		<<'SQL'), 't', 'the library is of the version that the control file names');
SELECT extversion = flakeid_identity() ->> 'version' FROM pg_extension WHERE extname = 'flakeid'
SQL

$node->stop;
done_testing();
