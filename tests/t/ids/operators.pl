# Every ID type compares, sorts, hashes and aggregates its IDs, and the planner estimates rows.
use strict;
use warnings;
use lib 'tests/perl';

use OrderedIds;
use Test::More;

my $node = server_of_ordered_ids('operators');

is( $node->safe_psql('postgres', <<~'SQL'), join("\n", sort keys %ORDERED_IDS),
	SELECT t.typname FROM pg_type t
	JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'flakeid' AND t.typtype = 'b' AND t.typelem = 0 AND t.typname <> 'flake'
	ORDER BY 1
	SQL
	'this test knows every ID type of the extension');

for my $type (sort keys %ORDERED_IDS) {
	my ($ends, $smallest, $between, $hash) =
	  @{ $ORDERED_IDS{$type} }{qw(ends smallest between hash)};
	my ($first, $last) = @$ends;
	my ($low, $second, $third) = @$smallest;
	my $above = $between->[1];
	my ($hashed, @hashes) = @$hash;
	my $gives = sub {
		my ($claim, $expected, $sql) = @_;
		is(ask_of($type, $sql), $expected, "$type: $claim");
	};

	$gives->(
		'operators and comparison functions agree with the numbers',
		'1048576' . '|t' x 9, <<~"SQL");
		SELECT count(*),
			bool_and((a.id < b.id) = (a.nr < b.nr)), bool_and((a.id <= b.id) = (a.nr <= b.nr)),
			bool_and((a.id = b.id) = (a.nr = b.nr)), bool_and((a.id <> b.id) = (a.nr <> b.nr)),
			bool_and((a.id >= b.id) = (a.nr >= b.nr)), bool_and((a.id > b.id) = (a.nr > b.nr)),
			bool_and(sign(${type}_cmp(a.id, b.id)) = sign(a.nr - b.nr)),
			bool_and(${type}_smaller(a.id, b.id) = least(a.id, b.id)),
			bool_and(${type}_larger(a.id, b.id) = greatest(a.id, b.id))
		FROM things AS a, things AS b
		SQL
	$gives->('a comparison with NULL is unknown', 't|t', <<~"SQL");
		SELECT bool_and((a = b) IS NULL AND (a < b) IS NULL AND (a <> b) IS NULL),
			bool_and(a IS DISTINCT FROM b)
		FROM (VALUES ($type '$low', NULL::$type), (NULL, '$low')) AS nulls (a, b)
		SQL
	$gives->('IDs sort as the numbers do, both ways', '0|0', <<~'SQL');
		SELECT count(*) FILTER (WHERE up <> nr + 1), count(*) FILTER (WHERE down <> 1024 - nr)
		FROM (SELECT nr, row_number() OVER (ORDER BY id) AS up,
				row_number() OVER (ORDER BY id DESC) AS down
			FROM things) AS sorted
		SQL
	$gives->('NULL sorts where the query says', "$above\n$second\n$low\n", <<~"SQL");
		SELECT id FROM (VALUES ($type '$above'), (NULL), ('$second'), ('$low')) AS few (id)
		ORDER BY id DESC NULLS LAST
		SQL
	$gives->(
		'count(DISTINCT), min and max find all, the first and the last ID',
		"1024|$first|$last",
		'SELECT count(DISTINCT id), min(id), max(id) FROM things');
	$gives->(
		'min and max of nothing are NULL',
		'|', 'SELECT min(id), max(id) FROM things WHERE false');
	$gives->('min and max leave out NULL', "$low|$second", <<~"SQL");
		SELECT min(id), max(id) FROM (VALUES (NULL::$type), ('$second'), ('$low')) AS few (id)
		SQL
	$gives->('a window has a min and a max', "$third|$third\n$low|$third\n$low|$third", <<~"SQL");
		SELECT min(id) OVER w, max(id) OVER w
		FROM (VALUES (1, $type '$third'), (2, '$low'), (3, '$second')) AS few (nr, id)
		WINDOW w AS (ORDER BY nr)
		SQL
	$gives->('with seed 0 the lower half of the extended hash is the hash', '0|0|t|0', <<~"SQL");
		SELECT
			count(*) FILTER
				(WHERE ${type}_hash(id)::bit(32) <> ${type}_hash_extended(id, 0)::bit(32)),
			count(*) FILTER
				(WHERE ${type}_hash(id)::bit(32) = ${type}_hash_extended(id, 1)::bit(32)),
			count(DISTINCT ${type}_hash(id)) > 1000,
			count(*) FILTER (WHERE ${type}_hash(id) <> ${type}_hash(id::text::$type))
		FROM things
		SQL
	$gives->('a hash is what it has always been', join('|', @hashes), <<~"SQL");
		SELECT ${type}_hash('$hashed'), ${type}_hash_extended('$hashed', 0),
			${type}_hash_extended('$hashed', 42)
		SQL
	$gives->('the statistics give the estimate: a quarter is about a quarter', 't|t|1', <<~'SQL');
		CREATE FUNCTION estimate(condition text) RETURNS integer LANGUAGE plpgsql AS $$
		DECLARE
			plan json;
		BEGIN
			EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM things WHERE ' || condition INTO plan;
			RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
		END
		$$;
		SELECT estimate(format('id < %L', id)) BETWEEN 200 AND 312,
			estimate(format('id >= %L', id)) BETWEEN 712 AND 824,
			estimate(format('id = %L', id))
		FROM things WHERE nr = 256
		SQL
}

$node->stop;
done_testing();
