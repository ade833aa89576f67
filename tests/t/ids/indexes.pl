# Every ID type has btree, hash and BRIN indexes. It is joined by sorting and by hashing, and
# grouped by hashing.
use strict;
use warnings;
use lib 'tests/perl';

use OrderedIds;
use Server;
use Test::More;

my $node = server_of_ordered_ids('indexes');
my $without_scans = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
my $index_only = "$without_scans SET enable_sort = off;";
my $join = 'SELECT count(*) FROM things AS a JOIN others AS b USING (id)';

for my $type (sort keys %ORDERED_IDS) {
	my ($first, $last) = @{ $ORDERED_IDS{$type}{ends} };
	my ($between, $above) = @{ $ORDERED_IDS{$type}{between} };
	my $low = $ORDERED_IDS{$type}{smallest}[0];
	my $gives = sub {
		my ($claim, $expected, $sql) = @_;
		is(ask_of($type, $sql), $expected =~ s/\n\z//r, "$type: $claim");
	};
	my $plans = sub {
		my ($claim, $settings, $query, $plan) = @_;
		$gives->($claim, $plan, "$settings EXPLAIN (COSTS OFF) $query");
	};

	ask_of($type, 'CREATE INDEX btree ON things (id)');
	$gives->('min and max are the ends of a btree', <<~'PLAN', <<~"SQL");
		Index Only Scan using btree on things
		Index Cond: (id IS NOT NULL)
		Index Only Scan Backward using btree on things things_1
		Index Cond: (id IS NOT NULL)
		PLAN
		CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
		BEGIN
			RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
		END
		\$\$;
		$index_only
		SELECT substring(line FROM 'Index.*')
		FROM plan('SELECT min(id), max(id) FROM things') AS line WHERE line LIKE '%Index%'
		SQL
	$gives->(
		'min and max find the first and the last ID in a btree',
		"$first|$last",
		"$index_only SELECT min(id), max(id) FROM things");
	$plans->('a btree gives the order', $index_only, <<~'SQL', <<~'PLAN');
		SELECT id FROM things ORDER BY id DESC LIMIT 3
		SQL
		Limit
		  ->  Index Only Scan Backward using btree on things
		PLAN
	for my $condition (
		[ 'one ID', "id = '$between'", "id = '$between'::$type" ],
		[
			'a range',
			"id > '$between' AND id <= '$above'",
			"(id > '$between'::$type) AND (id <= '$above'::$type)"
		],
		[ 'a list', "id = ANY ('{$between,$low}')", "id = ANY ('{$between,$low}'::$type\[])" ])
	{
		my ($what, $sql, $shown) = @$condition;
		$plans->("a btree finds $what", $index_only, "SELECT id FROM things WHERE $sql", <<~"PLAN");
			Index Only Scan using btree on things
			  Index Cond: ($shown)
			PLAN
	}
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
		CREATE TABLE same AS SELECT $type '$between' AS id FROM generate_series(1, 20000);
		CREATE INDEX once ON same (id);
		CREATE INDEX each ON same (id) WITH (deduplicate_items = off);
		SELECT pg_relation_size('once') * 2 < pg_relation_size('each');
		SQL

	ask_of($type, 'DROP INDEX btree; CREATE UNIQUE INDEX is_unique ON things (id)');
	like(
		error_of($node, "INSERT INTO of_$type.things VALUES ('$first')"),
		qr/unique constraint "is_unique"\nDETAIL:  Key \(id\)=\(\Q$first\E\) already exists/,
		"$type: a unique index refuses an ID that is there");
	my $merge = 'SET enable_hashjoin = off; SET enable_nestloop = off;';
	$plans->('a merge join is planned', $merge, $join, <<~'PLAN');
		Aggregate
		  ->  Merge Join
		        Merge Cond: (a.id = b.id)
		        ->  Index Only Scan using is_unique on things a
		        ->  Sort
		              Sort Key: b.id
		              ->  Seq Scan on others b
		PLAN
	$gives->('a merge join meets every row', '300', "$merge $join WHERE a.nr = b.nr");

	ask_of($type, 'DROP INDEX is_unique; CREATE INDEX hash ON things USING hash (id)');
	$plans->(
		'a hash index finds one ID',
		$without_scans, "SELECT nr FROM things WHERE id = '$between'", <<~"PLAN");
		Index Scan using hash on things
		  Index Cond: (id = '$between'::$type)
		PLAN
	$gives->('a hash index finds each ID', '1024', <<~"SQL");
		$without_scans
		SELECT count(*)
		FROM generate_series(0, 1023) AS wanted,
			LATERAL (SELECT id FROM things WHERE nr = wanted) AS this,
			LATERAL (SELECT nr FROM things WHERE id = this.id) AS that
		WHERE that.nr = wanted
		SQL
	ask_of($type, 'DROP INDEX hash');
	my $hash = 'SET enable_mergejoin = off; SET enable_nestloop = off;';
	$plans->('a hash join is planned', $hash, $join, <<~'PLAN');
		Aggregate
		  ->  Hash Join
		        Hash Cond: (a.id = b.id)
		        ->  Seq Scan on things a
		        ->  Hash
		              ->  Seq Scan on others b
		PLAN
	$gives->('a hash join meets every row', '300', "$hash $join WHERE a.nr = b.nr");
	my $groups = 'SELECT id, count(*) AS n FROM things GROUP BY id';
	$plans->('groups are hashed', 'SET enable_sort = off;', $groups, <<~'PLAN');
		HashAggregate
		  Group Key: id
		  ->  Seq Scan on things
		PLAN
	$gives->('hashed groups have every row', '1024|1024', <<~"SQL");
		SET enable_sort = off;
		SELECT count(*), sum(n) FROM ($groups) AS groups
		SQL

	for my $class ("${type}_minmax_ops", "${type}_minmax_multi_ops") {
		ask_of($type, <<~"SQL");
			CREATE TABLE log AS SELECT id, nr FROM things ORDER BY nr;
			CREATE INDEX brin ON log USING brin (id $class) WITH (pages_per_range = 1);
			SQL
		my $range = "(id > '$between'::$type) AND (id < '$above'::$type)";
		$plans->(
			"a BRIN of $class finds a range",
			'SET enable_seqscan = off;',
			"SELECT nr FROM log WHERE $range", <<~"PLAN");
			Bitmap Heap Scan on log
			  Recheck Cond: ($range)
			  ->  Bitmap Index Scan on brin
			        Index Cond: ($range)
			PLAN
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
