# flakeid_reader, functions in SQL for servers without flakeid: the same queries on a server with
# flakeid and on one without it have the same results, for IDs, times and ranges of each kind.
use strict;
use warnings;
use lib 'tests/perl';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReaderFiles;
use Server;
use Test::More;

my ($file) = build_reader();
my $origin = flakeid_server('origin', "timezone = 'UTC'\n");
my $node = PostgreSQL::Test::Cluster->new('reader');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN');
$node->safe_psql('postgres',
	"CREATE DATABASE reads OWNER owner TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'");
sub sql { my ($sql) = @_; return $node->safe_psql('reads', $sql) }

# Runs the file as a user without privileges beyond its database.
sub install {
	local $ENV{PGOPTIONS} = '-c role=owner';
	return $node->safe_psql('reads', $file);
}
install();
is(sql("SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'flakeid_reader'"),
	'owner', 'the owner of a database installs it');
is(sql(<<'SQL'), 'sql|t|t', 'all its functions are in SQL, PARALLEL SAFE, and have a comment');
SELECT DISTINCT lanname, proparallel = 's', obj_description(p.oid, 'pg_proc') IS NOT NULL
FROM pg_proc p JOIN pg_language l ON l.oid = prolang
WHERE pronamespace = 'flakeid_reader'::regnamespace
SQL
sql('ALTER DATABASE reads SET search_path = public, flakeid_reader');

# What the page says to other roles.
sql('CREATE ROLE analyst LOGIN');
my $as_analyst = 'SET ROLE analyst; SELECT flake_timestamp(0)';
like(
	error_of($node, $as_analyst, 'reads'),
	qr/ERROR:  42883: /,
	'another role finds no function at first');
my ($grant) = slurp_file('docs/reader.md') =~ /^    (GRANT .*;)$/m or die 'the page has no GRANT';
sql("SET ROLE owner; $grant");
is(sql($as_analyst), '2010-01-01 00:00:00+00', 'another role uses the functions after the GRANT');

# signatures -------------------------------------------------------------------------------------

my $signatures = <<'SQL';
SELECT format('%s %s %s', proname, proargnames, provolatile) FROM pg_proc
WHERE proname ~ '^(flake|flake128|guid|guid_local|sno|uniqueid|uuidv7)_'
	AND proname NOT IN ('flake_epoch', 'sno_from_bytea')
SQL
my %of_flakeid = map { $_ => 1 } split /\n/, $origin->safe_psql('postgres', $signatures);
my @of_reader = split /\n/, sql($signatures);
is(join("\n", @of_reader < 60 ? 'too few' : (), grep { !$of_flakeid{$_} } @of_reader),
	'', 'they have the names of functions and arguments, and the volatility, that flakeid has');

# results ----------------------------------------------------------------------------------------

$origin->safe_psql('postgres', slurp_file('tests/reader/inputs.sql'));
my %columns = (
	times => 't timestamptz',
	ranges => 'r tstzrange',
	epochs => 'e timestamptz',
	drifts => 's integer',
	flakes => 'id bigint',
	uuidv7s => 'id uuid',
	flake128s => 'id uuid',
	map { $_ => 'id text COLLATE "C"' } 'snos', 'uniqueids', 'guids', 'guid_locals');
for my $table (sort keys %columns) {
	my ($column) = $columns{$table} =~ /^(\w+)/;
	my $cast = $table eq 'flake128s' ? '::uuid' : '';
	my $rows = $origin->safe_psql('postgres', "COPY (SELECT $column$cast FROM $table) TO STDOUT");
	sql("CREATE TABLE $table ($columns{$table});\nCOPY $table FROM STDIN;\n$rows\n\\.\n");
}
my @queries = slurp_file('tests/reader/queries.sql') =~ /^(SELECT .*?;)$/msg;
die 'there are queries for each function' if @queries < 28;
for my $query (@queries) {
	my ($expected, $found) =
	  map { [ split /\n/, $_->[0]->safe_psql($_->[1], $query) ] }[ $origin, 'postgres' ],
	  [ $node, 'reads' ];
	my ($other) = grep { ($found->[$_] // '') ne $expected->[$_] } 0 .. $#$expected;
	ok( @$expected && @$found == @$expected && !defined $other,
		scalar(@$expected) . ' rows are equal: ' . $query =~ s/\s+/ /gr)
	  or diag(
		defined $other ? "$expected->[$other]\n" . ($found->[$other] // 'no row') : 'other number');
}

# errors -----------------------------------------------------------------------------------------

my %errors = (
	'22P02' => [
		"sno_timestamp('brpk4q72xwf2m63')",
		"sno_timestamp('BRPK4Q72XWF2M63L')",
		"uniqueid_timestamp('0000000000000g00')",
		"guid_timestamp('................=')",
		"guid_local_decode('z...............')",
		"flake_timestamp('x')",
		"flake128_from_text('8QkfEMmNRrFJ3f000-')",
		"flake128_from_text('7n42DGM5Tflk9n8mt7Fhc8')",
		"flake128_from_text(repeat('z', 100000))",
		"flake128_from_text('', 36)",
		# A dotless i, whose upper case is I in some locales.
		"flake128_from_text('\xc4\xb1', 36)"
	],
	'22003' => [
		"flake128_from_numeric(-1)",
		"flake128_from_numeric(0.5)",
		"flake128_from_numeric(340282366920938463463374607431768211456)",
		"flake128_from_numeric('NaN')",
		"flake128_from_numeric('Infinity')",
		"flake128_from_text('x', 1)",
		"flake128_from_text('', 63)",
		"count(flake128_from_text('x', base)) FROM unnest(ARRAY[62, 63]) AS of (base)"
	]);
for my $code (sort keys %errors) {
	for my $call (@{ $errors{$code} }) {
		for my $server ([ $origin, 'postgres' ], [ $node, 'reads' ]) {
			like(
				error_of($server->[0], "SELECT $call", $server->[1]),
				qr/ERROR:  $code: /,
				$server->[0]->name . ": an error with SQLSTATE $code: $call");
		}
	}
}

# Rows of the table of docs/reader.md.
for my $call (
	'flake_before(-1, NULL)',
	map { "uuidv7_$_('00000000-0000-4000-8000-000000000000', NULL)" } 'since',
	'before', 'after', 'within')
{
	is($origin->safe_psql('postgres', "SELECT $call IS NULL"), 't', "flakeid: NULL: $call");
	is(sql("SELECT $call"), 'f', "flakeid_reader: false: $call");
}
like(error_of($origin, q{SELECT sno_from_bytea('\x01')}), qr/22P03: /, 'flakeid: too few bytes');
like(error_of($node, q{SELECT sno_from_bytea('\x01')}, 'reads'),
	qr/22P02: /, 'flakeid_reader: too few bytes');

# the epoch --------------------------------------------------------------------------------------

sql(<<'SQL');
CREATE OR REPLACE FUNCTION flakeid_reader.flake_epoch() RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE RETURN timestamptz '2015-01-01 00:00:00+00'
SQL
install();
is( sql('SELECT flake_timestamp(0), flake_min(flake_epoch())'),
	'2015-01-01 00:00:00+00|0',
	'a later version of the file keeps the epoch');

$_->stop for $origin, $node;
done_testing();
