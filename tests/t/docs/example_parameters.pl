# What examples/README.md says of the types of parameters: beside a sno or a flake a time needs a
# cast.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('example_parameters');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE orders (id bigint, event sno, key flake)');
for (
	[ 'event >= $1', 'sno', 'beside a sno a parameter without a type is a sno' ],
	[
		'event >= $1::timestamptz',
		'"timestamp with time zone"',
		'beside a sno a parameter with a cast is a time'
	],
	[ 'event >= sno_min($1)', '"timestamp with time zone"', 'that of sno_min is a time' ],
	[ 'id >= flake_min($1)', '"timestamp with time zone"', 'that of flake_min is a time' ],
	[ 'key >= $1', 'bigint', 'beside a flake a parameter without a type is a bigint' ],
	[
		'key >= $1::timestamptz',
		'"timestamp with time zone"',
		'beside a flake a parameter with a cast is a time'
	])
{
	my ($condition, $type, $claim) = @$_;
	is($node->safe_psql('postgres', <<"SQL"), "{$type}", $claim);
PREPARE query AS SELECT FROM orders WHERE $condition;
SELECT parameter_types FROM pg_prepared_statements;
SQL
}
like(
	($node->psql('postgres', q{SELECT FROM orders WHERE event >= '2026-11-01'}))[2],
	qr/invalid input syntax for type sno: "2026-11-01"/,
	'a time without a type beside a sno is an error that names it');

$node->stop;
done_testing();
