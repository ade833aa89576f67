# Every ID type compares, sorts, hashes and aggregates its IDs, and has btree, hash and BRIN
# indexes. Joins sort and hash it, groups hash it, and the planner estimates its rows.
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

my $without_scans = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
my $index_only = "$without_scans SET enable_sort = off;";
my $join = 'SELECT count(*) FROM things AS a JOIN others AS b USING (id)';
my $groups = 'SELECT id, count(*) FROM things GROUP BY id';

for my $type (sort keys %ORDERED_IDS) {
	my ($first, $last) = @{ $ORDERED_IDS{$type}{ends} };
	my ($low, $second, $third) = @{ $ORDERED_IDS{$type}{smallest} };
	my ($hashed, @hashes) = @{ $ORDERED_IDS{$type}{hash} };
	my $gives = sub {
		my ($claim, $expected, $sql) = @_;
		is(ask_of($type, $sql), $expected =~ s/\n\z//r, "$type: $claim");
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
	$gives->('IDs sort as the numbers do, both ways', '0|0', <<~'SQL');
		SELECT count(*) FILTER (WHERE up <> nr + 1), count(*) FILTER (WHERE down <> 1024 - nr)
		FROM (SELECT nr, row_number() OVER (ORDER BY id) AS up,
				row_number() OVER (ORDER BY id DESC) AS down
			FROM things) AS sorted
		SQL
	$gives->(
		'count(DISTINCT), min and max find all, the first and the last ID',
		"1024|$first|$last",
		'SELECT count(DISTINCT id), min(id), max(id) FROM things');
	$gives->(
		'min, max and the order know NULL, also in a window',
		"$third|$third|$third\n$low|$third|$third\n$low|$third|$third\n$low|$third|$third",
		<<~"SQL");
		SELECT min(id) OVER w, max(id) OVER w, first_value(id) OVER (ORDER BY id DESC NULLS LAST)
		FROM (VALUES (1, $type '$third'), (2, '$low'), (3, NULL), (4, '$second')) AS few (nr, id)
		WINDOW w AS (ORDER BY nr)
		ORDER BY nr
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

	# indexes --------------------------------------------------------------------------------------

	ask_of($type, 'CREATE INDEX btree ON things (id)');
	my $ends = 'SELECT min(id), max(id) FROM things';
	my @scans =
	  ask_of($type, "$index_only EXPLAIN (COSTS OFF) $ends") =~ /(Index Only Scan.*? using \w+)/g;
	is_deeply(
		\@scans,
		[ 'Index Only Scan using btree', 'Index Only Scan Backward using btree' ],
		"$type: min and max are the ends of a btree");
	$gives->(
		'min and max find the first and the last ID in a btree',
		"$first|$last", "$index_only $ends");
	$gives->('a btree gives the order', <<~'PLAN', <<~"SQL");
		Limit
		  ->  Index Only Scan Backward using btree on things
		PLAN
		$index_only
		EXPLAIN (COSTS OFF) SELECT id FROM things ORDER BY id DESC LIMIT 3
		SQL
	$gives->('each operator finds by a btree what it finds without', <<~'ROWS', <<~"SQL");
		<|22|11011|0
		<=|22|11033|0
		=|22|22|0
		>|22|11495|0
		>=|22|11517|0
		ROWS
		CREATE FUNCTION found(operator text, bound $type) RETURNS bigint LANGUAGE plpgsql AS \$\$
		DECLARE
			n bigint;
		BEGIN
			EXECUTE format('SELECT count(*) FROM things WHERE id %s \$1', operator)
			INTO n USING bound;
			RETURN n;
		END
		\$\$;
		$index_only
		CREATE TEMP TABLE by_index AS
		SELECT operator, nr, found(operator, id) AS n
		FROM unnest('{<,<=,=,>=,>}'::text[]) AS operator, things WHERE nr % 100 IN (0, 1);
		SET enable_indexscan = off;
		SET enable_indexonlyscan = off;
		SET enable_seqscan = on;
		SELECT operator, count(*), sum(n), count(*) FILTER (WHERE n <> found(operator, id))
		FROM by_index JOIN things USING (nr) GROUP BY operator ORDER BY operator COLLATE "C";
		DROP TABLE by_index;
		SQL
	$gives->('a btree keeps a run of equal IDs once', 't', <<~"SQL");
		CREATE TABLE same AS SELECT $type '$third' AS id FROM generate_series(1, 20000);
		CREATE INDEX once ON same (id);
		CREATE INDEX each ON same (id) WITH (deduplicate_items = off);
		SELECT pg_relation_size('once') * 2 < pg_relation_size('each');
		SQL

	ask_of($type, 'DROP INDEX btree; CREATE INDEX hash ON things USING hash (id)');
	$gives->('a hash index finds each ID', '1024', <<~"SQL");
		$without_scans
		SELECT count(*)
		FROM generate_series(0, 1023) AS wanted,
			LATERAL (SELECT id FROM things WHERE nr = wanted) AS this,
			LATERAL (SELECT nr FROM things WHERE id = this.id) AS that
		WHERE that.nr = wanted
		SQL
	ask_of($type, 'DROP INDEX hash');
	for (
		[
			'a merge join is planned', 'hashjoin',
			$join, qr/Merge Join\n +Merge Cond: \(a\.id = b\.id\)/
		],
		[
			'a hash join is planned', 'mergejoin',
			$join, qr/Hash Join\n +Hash Cond: \(a\.id = b\.id\)/
		],
		[ 'groups are hashed', 'sort', $groups, qr/HashAggregate\n +Group Key: id/ ])
	{
		my ($claim, $off, $query, $plan) = @$_;
		like(
			ask_of(
				$type,
				"SET enable_nestloop = off; SET enable_$off = off; EXPLAIN (COSTS OFF) $query"),
			$plan,
			"$type: $claim");
	}
	for my $class ("${type}_minmax_ops", "${type}_minmax_multi_ops") {
		ask_of($type, <<~"SQL");
			CREATE TABLE log AS SELECT id, nr FROM things ORDER BY nr;
			CREATE INDEX brin ON log USING brin (id $class) WITH (pages_per_range = 1);
			SQL
		$gives->("a BRIN of $class finds by each operator the right IDs", '1024|0', <<~'SQL');
			SET enable_seqscan = off;
			SELECT count(*), count(*) FILTER
				(WHERE (below, up_to, at, "from", above) <> (nr, nr + 1, 1, 1024 - nr, 1023 - nr))
			FROM things AS bound, LATERAL (
				SELECT (SELECT count(*) FROM log WHERE log.id < bound.id),
					(SELECT count(*) FROM log WHERE log.id <= bound.id),
					(SELECT count(*) FROM log WHERE log.id = bound.id),
					(SELECT count(*) FROM log WHERE log.id >= bound.id),
					(SELECT count(*) FROM log WHERE log.id > bound.id)
			) AS counts (below, up_to, at, "from", above)
			SQL
		ask_of($type, 'DROP TABLE log');
	}
}

$node->stop;
done_testing();
