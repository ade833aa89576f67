# No operator is ambiguous for a flake. It compares with what a bigint compares with and with times,
# and arithmetic with it is an error with a hint. The operators of type flake do not change how
# PostgreSQL reads an expression without a flake.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;

my $node = flakeid_server('flake_operators', "timezone = 'UTC'\nautovacuum = off\n");
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }

# Each operator is tried with a flake on one side. On the other side is NULL of each type, or an
# untyped literal. Those operators are tried that have a bigint, a flake, or a type for any other.
sql(<<~'SQL');
	CREATE FUNCTION outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('SELECT pg_typeof(%s)', expression);
		RETURN 'ok';
	EXCEPTION WHEN OTHERS THEN
		RETURN CASE WHEN SQLERRM = 'cannot compute with a flake' THEN SQLSTATE || ' arithmetic'
			ELSE SQLSTATE END;
	END $$;
	CREATE TABLE tried AS
	WITH operators AS (
		SELECT DISTINCT oprname AS op
		FROM pg_operator JOIN pg_type AS t ON t.oid IN (oprleft, oprright)
		WHERE oprkind = 'b' AND (t.typtype = 'p'
			OR t.oid IN ('bigint'::regtype, 'flake'::regtype, 'timed_flake'::regtype))
	), operands AS (
		SELECT format('NULL::%s', oid::regtype) AS operand FROM pg_type
		WHERE typtype <> 'p' AND typrelid = 0
			AND (typelem = 0 OR oid IN ('bigint[]'::regtype, 'flake[]'::regtype))
			AND typnamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace)
		UNION ALL VALUES ('''1'''), ('NULL')
	), sides (form) AS (
		VALUES ('NULL::%3$s %1$s %2$s'), ('%2$s %1$s NULL::%3$s')
	)
	SELECT op, replace(operand, 'NULL::', '') AS operand,
		outcome(format(form, op, operand, 'flake')) AS flake_is,
		outcome(format(form, op, operand, 'bigint')) AS bigint_is
	FROM operators, operands, sides;
	SQL

# Returns for each operator the operands for which a condition is true, as lines.
sub operands_where {
	my ($condition) = @_;
	return sql(<<~"SQL");
		SELECT op, string_agg(DISTINCT operand, ', ' ORDER BY operand)
		FROM tried WHERE $condition GROUP BY op ORDER BY op COLLATE "C"
		SQL
}

is(sql(q(SELECT count(*) > 3000, count(*) FILTER (WHERE flake_is = '42725') FROM tried)),
	't|0', 'no operator is ambiguous for a flake');
my $times = 'date, timestamp with time zone, timestamp without time zone';
my %more = (
	'<@' => 'NULL, flakeid_times, tstzrange',
	'@>' => 'NULL, flakeid_times, tstzrange',
	map { $_ => $times } qw(< <= <> = > >=));
is( operands_where("flake_is = 'ok' AND bigint_is <> 'ok'"),
	join("\n", map { "$_|$more{$_}" } sort keys %more),
	'operators take for a flake what they take for a bigint, and times and ranges of times besides'
);
my $integers = 'flake, integer, smallint, timed_flake';
my %arithmetic = (
	'<<' => "'1', NULL, $integers",
	'>>' => "'1', NULL, $integers",
	map { $_ => "'1', NULL, bigint, $integers" } split / /, '# % & * + - / |');
is( operands_where("flake_is = '42883 arithmetic'"),
	join("\n", map { "$_|$arithmetic{$_}" } sort keys %arithmetic),
	'arithmetic with a flake is an error for every integer and every literal');
is(sql(<<~'SQL'), '42883 arithmetic|4', 'an operator with a flake alone is an error');
	SELECT outcome(op || ' NULL::flake') AS of_flake, count(*)
	FROM unnest('{+,-,~,@}'::text[]) AS op GROUP BY of_flake
	SQL

for my $type (qw(date timestamp timestamptz)) {
	is(sql(<<~"SQL"), 't', "a literal beside a flake is an ID, and a literal of type $type a time");
		SELECT flake '5' >= '3' AND '3' < flake '5' AND flake '5' BETWEEN '3' AND '6'
			AND (flake '5' < $type '2026-01-01') IS NOT NULL
		SQL
}
my $no_cast = 'cannot cast type flake to numeric\nDETAIL:  There is no assignment cast\.';
like(
	error_in($session, 'DO $$DECLARE f flake := 5; n numeric; BEGIN n := f; END$$'),
	qr/ERROR:  42846: $no_cast\nHINT:  Cast to bigint first/,
	'PL/pgSQL says how to assign a flake to a number');

# Extended statistics compute with an ID when its column becomes a flake.
sql(<<~'SQL');
	CREATE TABLE computed (id bigint, nr integer);
	INSERT INTO computed SELECT nr, nr % 7 FROM generate_series(1, 1000) AS nr;
	CREATE STATISTICS of_computed ON (id % 7), nr FROM computed;
	ANALYZE computed;
	ALTER TABLE computed ALTER id TYPE flake;
	SQL
is(sql('SELECT count(*) FROM computed WHERE nr = 3'),
	'143', 'a table with statistics that compute with a flake is read');
like(
	error_in($session, "SELECT $_ FROM computed"),
	qr/ERROR:  42883: cannot compute with a flake/,
	"$_ is the error of arithmetic")
  for 'to_timestamp(((id >> 22) + 1288834974657) / 1000.0)', '(id % 16)::integer',
  'coalesce(id % 4, 0)', q((ARRAY['a', 'b'])[id % 2]);

# without a flake ----------------------------------------------------------------------------------

# Each operator that the extension has, with each pair of operands. One operand may be NULL: then a
# parameter is in its place, too. What is compared is the type of the result or of the parameter.
my $reads = <<'SQL';
CREATE FUNCTION type_of(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format('SELECT pg_typeof(%s)', expression) INTO found;
	RETURN found;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION parameter_of(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	types text;
BEGIN
	EXECUTE format('PREPARE one AS SELECT %s', expression);
	SELECT parameter_types::text INTO types FROM pg_prepared_statements WHERE name = 'one';
	DEALLOCATE one;
	RETURN types;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE DOMAIN big AS bigint;
CREATE TABLE operands AS SELECT regexp_split_to_table($$5::smallint, 5::integer, 5::bigint,
	5::big, 5::numeric, 5::real, 5::double precision, '5'::text, '5'::varchar,
	now(), localtimestamp, current_date, interval '5 s',
	'[2026-01-01,)'::tstzrange, 'empty'::daterange, '[1,5)'::int8range, gen_random_uuid(),
	'\x05'::bytea, '{5}'::bigint[], '[5]'::jsonb, 5::money, 5::oid, 'f'::boolean, '5',
	'2026-01-01', '[2026-01-01,)', NULL$$, ',\s+') AS operand;
SELECT op, l.operand, r.operand, type_of(concat_ws(' ', l.operand, op, r.operand)),
	CASE WHEN r.operand = 'NULL' THEN parameter_of(concat_ws(' ', l.operand, op, '$1'))
		WHEN l.operand = 'NULL' THEN parameter_of(concat_ws(' ', '$1', op, r.operand)) END
FROM unnest('{<,<=,=,>=,>,<>,<@,@>,+,-,*,/,%,&,|,#,<<,>>}'::text[]) AS op,
	operands AS l, operands AS r
ORDER BY 1, 2, 3
SQL

sql("CREATE DATABASE $_") for 'without', 'with_extension';
$node->safe_psql('with_extension', 'CREATE EXTENSION flakeid');
my ($without, $with) =
  map { [ split /\n/, $node->safe_psql($_, $reads) ] } qw(without with_extension);
cmp_ok(scalar @$without, '>', 10_000, 'more than 10,000 expressions without a flake are compared');
my @different = map { "$without->[$_] with the extension: $with->[$_]" }
  grep { $without->[$_] ne ($with->[$_] // '') } 0 .. $#$without;
is(join("\n", @different),
	'', 'an expression without a flake means what it means without the extension');

$session->quit;
$node->stop;
done_testing();
