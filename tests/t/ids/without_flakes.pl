# The operators of type flake do not change how PostgreSQL reads an expression without a flake. Two
# databases, one of them with the extension, read each expression the same.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('without_flakes');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE without; CREATE DATABASE with_extension');
$node->safe_psql('with_extension', 'CREATE EXTENSION flakeid');

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

my ($without, $with) =
  map { [ split /\n/, $node->safe_psql($_, $reads) ] } qw(without with_extension);
cmp_ok(scalar @$without, '>', 10_000, 'more than 10,000 expressions without a flake are compared');
my @different = map { "$without->[$_] with the extension: $with->[$_]" }
  grep { $without->[$_] ne ($with->[$_] // '') } 0 .. $#$without;
is(join("\n", @different),
	'', 'an expression without a flake means what it means without the extension');

$node->stop;
done_testing();
