# The extension in a schema of its own: all is found by qualified names and by the search path. A
# user needs a privilege on the schema, but not for the defaults of tables. A template passes it on.
use strict;
use warnings;
use lib 'tests/perl';

use InSchema;
use Server;
use Test::More;

my $node = flakeid_server('extension_schema', <<'END');
autovacuum = off
enable_seqscan = off
enable_bitmapscan = off
END

sub sql { my ($sql) = @_; return $node->safe_psql('apart', $sql) }

$node->safe_psql('postgres', 'CREATE DATABASE apart');
sql('CREATE SCHEMA ids; CREATE EXTENSION flakeid SCHEMA ids');
is(sql( <<'SQL'), 'ids|t|t', 'the extension is in this schema and can be moved');
SELECT extnamespace::regnamespace, extrelocatable, extconfig IS NULL FROM pg_extension
WHERE extname = 'flakeid'
SQL
like(
	error_of($node, 'SELECT flake_next()', 'apart'),
	qr/42883: function flake_next\(\) does not exist/,
	'a function is not found without the schema on the path');

for my $type (@TYPES) {
	my ($name, $id_type, $next) = ($type->{name}, type_in($type, 'ids'), next_in($type, 'ids'));
	sql(<<"SQL");
CREATE TABLE ${name}s (id $id_type DEFAULT $next PRIMARY KEY, ids $id_type\[]);
INSERT INTO ${name}s (ids) SELECT ARRAY[$next, $next] FROM generate_series(1, 1000);
ANALYZE ${name}s;
SQL
	my $count = "SELECT count(*) FROM ${name}s WHERE";
	is_deeply([ looks_up(\&sql, "$count " . lately($type, 'ids'), 1000) ],
		[], "$name: a time is a range of the index by qualified names");
	my $by_path = sub { sql("SET search_path = ids, public; $_[0]") };
	is_deeply([ looks_up($by_path, "$count " . lately($type), 1000) ],
		[], "$name: a time is a range of the index by the search path");
	my $equal = ($type->{type} =~ /^(?:bigint|uuid)$/ ? 'pg_catalog' : 'ids') . '.=';
	is(sql( <<"SQL"), '1000|t|t', "$name: casts and functions are found by qualified names");
SELECT count(*), bool_and(id::text::$id_type OPERATOR($equal) id),
	bool_and(ids.${name}_timestamp(id) = (ids.${name}_decode(id)).created_at)
FROM ${name}s
SQL
}
is(sql(<<'SQL'), 'spread|12', 'the enum and the functions that return tables are found, too');
SELECT (ids.uniqueid_decode(ids.uniqueid_next('spread'))).mode, count(*)
FROM ids.sno_partition_bounds('2026-01-01', '2027-01-01', '1 month')
SQL

# The predicates are bound to the functions that they use, not to the names of these.
sql(<<'SQL');
CREATE FUNCTION public.sno_range_min(tstzrange) RETURNS ids.sno LANGUAGE plpgsql IMMUTABLE
	AS 'BEGIN RAISE ''the wrong one''; END';
CREATE FUNCTION public.flake_range_min(tstzrange) RETURNS bigint LANGUAGE plpgsql STABLE
	AS 'BEGIN RAISE ''the wrong one''; END';
SQL
like(
	error_of($node, q{SELECT flake_range_min('empty')}, 'apart'),
	qr/the wrong one/,
	'functions of a user with the same names are first on the path');
for my $type (@TYPES[ 0, 1 ]) {
	my $name = $type->{name};
	is( sql("SET search_path = public, ids; SELECT count(*) FROM ${name}s WHERE " . lately($type)),
		'1000',
		"a condition on the time of a $name does not call them");
}

# who may use it -------------------------------------------------------------------------------

sql('CREATE ROLE guest; GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO guest');
my $guest = 'SET SESSION AUTHORIZATION guest';
for ([ 'ids.flake_next()', 'calls no function' ], [ 'NULL::ids.sno', 'names no type' ]) {
	my ($expression, $what) = @$_;
	like(
		error_of($node, "$guest; SELECT $expression", 'apart'),
		qr/ERROR:  42501: permission denied for schema ids/,
		"a user without privileges on the schema $what");
}
for my $name (@NAMES) {
	is(sql( <<"SQL"), '1001|1001', "such a user gets ${name}s from a default");
$guest;
INSERT INTO ${name}s DEFAULT VALUES;
SELECT count(*), count(DISTINCT id::text) FROM ${name}s;
SQL
}
sql('GRANT USAGE ON SCHEMA ids TO guest');
my $all = join ', ', map { "$_->{next} IS NOT NULL" } @TYPES;
is( sql("$guest; SET search_path = ids, public; SELECT $all"),
	join('|', ('t') x @TYPES),
	'a user of the schema generates IDs of every type');

# a template -----------------------------------------------------------------------------------

$node->safe_psql('template1', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE made (id bigint DEFAULT flake_next() PRIMARY KEY, event sno DEFAULT sno_next());
SQL
# A database with a session cannot be a template.
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'template1'")
  or die 'the session does not end';
my @databases = map { "new$_" } 1 .. 3;
$node->safe_psql('postgres', "CREATE DATABASE $_") for @databases;
for my $round (1 .. 3) {
	$node->safe_psql($_, 'INSERT INTO made SELECT FROM generate_series(1, 100)') for @databases;
}
my $all_ids = 'SELECT id::text FROM made UNION ALL SELECT event::text FROM made';
my @ids = map { split /\n/, $node->safe_psql($_, $all_ids) } @databases;
my %seen = map { $_ => 1 } @ids;
is(@ids, 1800, 'databases made from a template with the extension have it');
is(keys %seen, 1800, 'no ID repeats among these databases');

$node->stop;
done_testing();
