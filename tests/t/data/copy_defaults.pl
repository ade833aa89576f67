# COPY inserts many rows at once although a column has the default X_next(), and each row has an ID
# of its own. The planner's support function puts X_next_for_copy() into such a default.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Server;
use Test::More;

my $node = copy_server('copy_defaults');
my $dir = $node->basedir;
my $load = "(nr) FROM '$dir/numbers'";
my $many = 'many at once';
my $single = 'one by one: 5000';
# Versions differ in how they refuse an argument of the type internal.
my $has_no_internal =
  qr/42883: .*not exist|42846: cannot cast type unknown|0A000: cannot accept a value of type /;
sub sql { return $node->safe_psql('postgres', @_) }

for my $column (@ID_COLUMNS) {
	my ($name, $type, $next) = @$column{qw(name type next)};
	my ($called) = $next =~ /^(\w+)/;
	sql("CREATE TABLE ${name}s (id $type PRIMARY KEY DEFAULT $next, nr integer)");
	is(inserts($node, "${name}s", "COPY ${name}s $load"),
		$many, "$name: COPY inserts many rows at once");
	is(distinct_ids($node, "${name}s"), '5000|5000', "$name: each row has an ID of its own");
	my $without = "UPDATE pg_proc SET prosupport = 0 WHERE oid = '$called'::regproc";
	is(inserts($node, "${name}s", "BEGIN; $without; COPY ${name}s $load; ROLLBACK"),
		$single, "$name: without the support function rows come one by one");
	next if $name eq 'typed';
	my ($attributes, $arguments) = split /\|/, sql(<<~"SQL");
		SELECT concat(provolatile, proisstrict, proparallel), pronargs
		FROM pg_proc WHERE oid = '${called}_for_copy'::regproc
		SQL
	is($attributes, 'str', "${called}_for_copy is STABLE, STRICT and PARALLEL RESTRICTED");
	my $nulls = join ', ', ('NULL') x $arguments;

	for my $call ("${called}_for_copy($nulls)", "${called}_for_copy($nulls\::internal)") {
		like(error_of($node, "SELECT $call"),
			$has_no_internal, "SQL has no value for the last argument of $call");
	}
}
for (
	[ 'the meta of a sno', 'snos', '7', 'SELECT DISTINCT meta FROM snos, sno_decode(id)' ],
	[
		'the drift of a guid_local',
		'drifts',
		sql("SELECT drift FROM guid_local_decode(guid_local_next('10 seconds', true), true)"),
		'SELECT DISTINCT drift FROM drifts, guid_local_decode(id, true)',
		"guid_local DEFAULT guid_local_next('10 seconds', true)"
	],
	[
		'the mode of a uniqueid',
		'modes', 'spread',
		'SELECT DISTINCT mode FROM modes, uniqueid_decode(id)',
		"uniqueid DEFAULT uniqueid_next('spread')"
	])
{
	my ($what, $table, $expected, $query, $column) = @$_;
	if ($column) {
		sql("CREATE TABLE $table (id $column, nr integer)");
		is(inserts($node, $table, "COPY $table $load"),
			$many, "$what: COPY inserts many rows at once by a default with arguments");
	}
	is(sql($query), $expected, "COPY passes a default's arguments on: $what");
}

sql("CREATE TABLE alls (nr integer, $ID_COLUMNS)");
is(inserts($node, 'alls', "COPY alls $load"),
	$many, 'COPY inserts many rows at once into a table with all ID types');
is(inserts($node, 'alls', "COPY alls (nr) FROM '$dir/numbers.binary' (FORMAT binary)"),
	$many, 'COPY inserts many rows at once in its binary format');
is( distinct_ids($node, 'alls', map { $_->{name} } @ID_COLUMNS),
	join('|', (10_000) x 9),
	'each row that COPY inserts has IDs of its own');

# other forms of defaults --------------------------------------------------------------------------

sql(<<~'SQL');
	CREATE FUNCTION own_next() RETURNS bigint LANGUAGE sql AS 'SELECT flake_next()';
	CREATE FUNCTION slow_next() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN flake_next(); END';
	CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
	CREATE DOMAIN generated AS bigint DEFAULT flake_next();
	CREATE FUNCTION meta() RETURNS integer STABLE LANGUAGE plpgsql AS 'BEGIN RETURN 3; END';
	SQL
for (
	[ 'within an expression', q{text DEFAULT 'order-' || flake_next()}, $many ],
	[ 'for a column of a domain', 'positive DEFAULT flake_next()', $many ],
	[ 'in the default of a domain', 'generated', $many ],
	[ 'in an SQL function, which is inlined', 'bigint DEFAULT own_next()', $many ],
	[ 'in a function that is not inlined', 'bigint DEFAULT slow_next()', $single ],
	[
		'beside a volatile function',
		'bigint DEFAULT flake_next() + (0 * random())::integer', $single
	],
	[ 'with an argument that is no constant', 'sno DEFAULT sno_next(meta())', $single ],
	[ 'with an argument that becomes a constant', 'sno DEFAULT sno_next(2 + 1)', $many ])
{
	my ($what, $column, $expected) = @$_;
	sql("DROP TABLE IF EXISTS forms; CREATE TABLE forms (id $column, nr integer)");
	is(inserts($node, 'forms', "COPY forms $load"),
		$expected, "a call $what: COPY inserts rows " . $expected =~ s/:.*//r);
	is(distinct_ids($node, 'forms'), '5000|5000', "a call $what: each row has an ID of its own");
}
sql('DROP TABLE forms; CREATE TABLE forms (id sno DEFAULT sno_next(NULL), nr integer)');
is(inserts($node, 'forms', "COPY forms $load"),
	$many, 'COPY inserts many rows at once if an argument of the default is NULL');
is(sql('SELECT count(id), count(*) FROM forms'), '0|5000', 'such a default is NULL for each row');

is(sql("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'flakes'::regclass"),
	'flake_next()', 'a default is stored as it was written');
is(sql(<<~'SQL'), 'flake_next()', 'a default depends on the function that it names');
	SELECT refobjid::regprocedure FROM pg_depend
	JOIN pg_attrdef ON classid = 'pg_attrdef'::regclass AND objid = pg_attrdef.oid
	WHERE adrelid = 'flakes'::regclass AND refclassid = 'pg_proc'::regclass
	SQL
is(sql(<<~'SQL'), '0', 'nothing but the extension depends on a function X_next_for_copy');
	SELECT count(*) FROM pg_depend JOIN pg_proc ON refobjid = pg_proc.oid
	WHERE refclassid = 'pg_proc'::regclass AND proname LIKE '%\_next\_for\_copy' AND deptype <> 'e'
	SQL

$node->stop;
done_testing();
