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

my ($file, $for_tle) = build_reader();
my $origin = flakeid_server('origin', "timezone = 'UTC'\n");
my $node = PostgreSQL::Test::Cluster->new('reader');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'\nenable_seqscan = off\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE reads OWNER owner');
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

for my $query (
	"SELECT sno_timestamp('brpk4q72xwf2m63')",
	"SELECT sno_timestamp('BRPK4Q72XWF2M63L')",
	"SELECT uniqueid_timestamp('0000000000000g00')",
	"SELECT guid_timestamp('................=')",
	"SELECT guid_local_decode('z...............')",
	"SELECT flake_timestamp('x')",
	"SELECT flake128_from_text('8QkfEMmNRrFJ3f000-')")
{
	for my $server ([ $origin, 'postgres' ], [ $node, 'reads' ]) {
		like(error_of($server->[0], $query, $server->[1]),
			qr/ 22P02: /, $server->[0]->name . ": an invalid text is an error: $query");
	}
}

# plans ------------------------------------------------------------------------------------------

sql(<<'SQL');
ALTER TABLE flakes ADD PRIMARY KEY (id);
ALTER TABLE uuidv7s ADD PRIMARY KEY (id);
ALTER TABLE snos ADD PRIMARY KEY (id);
SQL
for (
	"flakes WHERE flake_since(id, now())",
	"flakes WHERE flake_within(id, tstzrange(now(), NULL))",
	"flakes WHERE flake_before(id, now() - interval '5 min')",
	"flakes WHERE id >= flake_min(now())",
	"flakes WHERE flake_between(id, now() - interval '5 min', now())",
	"uuidv7s WHERE uuidv7_since(id, now())",
	"uuidv7s WHERE uuidv7_within(id, tstzrange(now(), NULL))",
	"snos WHERE id BETWEEN sno_min(now()) AND sno_max(now())")
{
	like(
		sql("EXPLAIN (COSTS OFF) SELECT * FROM $_"),
		qr/ Cond: .*\bid >/,
		"an index finds these rows: $_");
}
unlike(sql('EXPLAIN (VERBOSE, COSTS OFF) SELECT flake_timestamp(id) FROM flakes'),
	qr/flake_timestamp/, 'the planner inlines flake_timestamp');

# the epoch --------------------------------------------------------------------------------------

sql(<<'SQL');
CREATE OR REPLACE FUNCTION flakeid_reader.flake_epoch() RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE RETURN timestamptz '2015-01-01 00:00:00+00'
SQL
install();
is( sql('SELECT flake_timestamp(0), flake_min(flake_epoch())'),
	'2015-01-01 00:00:00+00|0',
	'a later version of the file keeps the epoch');

$node->safe_psql('postgres', slurp_file('tests/reader/pg_tle.sql') . 'CREATE SCHEMA ids');
is($node->safe_psql('postgres', $for_tle), 't', 'pg_tle takes the other file');
$node->safe_psql('postgres', "SELECT pgtle.create_extension('ids')");
is( $node->safe_psql('postgres', 'SELECT ids.flake_timestamp(0)'),
	'2010-01-01 00:00:00+00',
	'the functions are there');

$_->stop for $origin, $node;
done_testing();
