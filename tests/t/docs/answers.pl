# What the pages of docs and examples/README.md say of the answers of statements: texts of numbers,
# sizes, the examples of IDs, and the types of parameters. Library and SQL are of one version.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('answers');
sub sql { return $node->safe_psql('postgres', $_[0]) }

# docs/choosing.md shows a text of each of these types, and a uuidv7.
my $page = slurp_file('docs/choosing.md');
my ($texts) = $page =~ /^\| text \| (.*) \|$/m or die 'choosing.md shows no texts';
my @texts = map { /^`(.*)`$/ } split / \| /, $texts;
for my $type ('bigint', 'sno', 'uuid', 'flake128', 'guid', 'uniqueid') {
	my $text = shift @texts;
	is(sql("SELECT '$text'::$type"), $text, "the text of a $type in docs/choosing.md is a $type");
}
my ($uuid) = $page =~ /`([0-9a-f]{8}-[-0-9a-f]+)`/ or die 'choosing.md shows no uuidv7';
for (
	[
		"flake_to_text(5828128208445124609, 'hex')",
		sprintf('%x', 5828128208445124609),
		'hex has no leading zeros and no capitals'
	],
	[
		"flake_to_text(flake_from_text('BXDOxnfZflk=', 'base64'), 'hex')",
		'597ed977c6ce7005',
		'base64 is read from the lowest byte up'
	],
	[
		join(', ',
			map { "pg_column_size(${_}_next())" }
			  qw(flake sno uuidv7 flake128 guid guid_local uniqueid)),
		'8|10|16|16|12|8|8',
		'values have the sizes of choosing.md'
	],
	[ "uuidv7_valid('$uuid')", 't', 'the uuidv7 that choosing.md shows is one' ],
	[
		"uuidv7_timestamp(uuidv7_max('infinity')) AT TIME ZONE 'UTC'",
		'10889-08-02 05:31:50.655',
		'the layout of uuidv7 ends as id-types.md says'
	],
	[
		"count(*), count(generator_id) FROM pg_stat_flakeid WHERE id_type = 'uuidv7'",
		'4|0', 'pg_stat_flakeid has a row for each lane of uuidv7'
	],
	[
		q{extversion = flakeid_identity() ->> 'version' FROM pg_extension}
		  . q{ WHERE extname = 'flakeid'},
		't',
		'the library is of the version that the control file names'
	])
{
	my ($expression, $answer, $claim) = @$_;
	is(sql("SELECT $expression"), $answer, $claim);
}

# Beside a sno or a flake a time needs a cast.
sql('CREATE TABLE orders (id bigint, event sno, key flake)');
my $time = '"timestamp with time zone"';
for (
	[ 'event >= $1', 'sno', 'beside a sno a parameter without a type is a sno' ],
	[ 'event >= $1::timestamptz', $time, 'beside a sno a parameter with a cast is a time' ],
	[ 'event >= sno_min($1)', $time, 'that of sno_min is a time' ],
	[ 'id >= flake_min($1)', $time, 'that of flake_min is a time' ],
	[ 'key >= $1', 'bigint', 'beside a flake a parameter without a type is a bigint' ],
	[ 'key >= $1::timestamptz', $time, 'beside a flake a parameter with a cast is a time' ])
{
	my ($condition, $type, $claim) = @$_;
	is(sql(<<~"SQL"), "{$type}", $claim);
		PREPARE query AS SELECT FROM orders WHERE $condition;
		SELECT parameter_types FROM pg_prepared_statements;
		SQL
}
like(
	error_of($node, q{SELECT FROM orders WHERE event >= '2026-11-01'}),
	qr/invalid input syntax for type sno: "2026-11-01"/,
	'a time without a type beside a sno is an error that names it');

$node->stop;
done_testing();
