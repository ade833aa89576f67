# Every ID type compares, sorts, hashes and aggregates its IDs, has btree, hash and BRIN indexes, and estimates rows.
# The checks are written once and run for each ID type that the extension has. What an ID type adds is in %types:
#
# rows:     a query for 1,024 IDs, "id", whose order is known: "nr" counts them from 0; its fields, high and low, are
#           in the order in which IDs sort by them
# ends:     the texts of the first and the last of these
# smallest: the texts of the type's first three IDs
# between:  the text of an ID between the ends, and of one that may be above them
# hash:     the text of an ID, with its hash, and its extended hash for the seeds 0 and 42. Hash indexes and partitions
#           live as long as the data: these stay as they are.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my %types = (
	sno => {
		# Two of each time, tick-tock, meta, partition and sequence.
		rows => <<'SQL',
SELECT sno_encode(timestamptz '2026-01-01 00:00:00+00' + t * interval '4 ms', k, m * 255, p * 65535, s * 65535) AS id,
	(((t * 2 + k) * 2 + m) * 2 + p) * 2 + s AS nr
FROM generate_series(0, 63) AS t, generate_series(0, 1) AS k, generate_series(0, 1) AS m,
	generate_series(0, 1) AS p, generate_series(0, 1) AS s
SQL
		ends => [ '9d5ve82222222222', '9d5ve85xxxxxxxxx' ],
		smallest => [ '2222222222222222', '2222222222222223', '2222222222222224' ],
		between => [ '9e9q2k2222222222', 'x222222222222222' ],
		hash => [ '9q74gok3262so257', -1769167099, -4268770767517473019, 2571747002898907205 ],
	},
	flake128 => {
		# Two of each time, worker and sequence.
		rows => <<'SQL',
SELECT flake128_encode(timestamptz '2026-01-01 00:00:00+00' + t * interval '1 ms', w, s * 65535) AS id,
	(t * 2 + wn) * 2 + s AS nr
FROM generate_series(0, 255) AS t, generate_series(0, 1) AS s,
	(VALUES (0, macaddr '00:00:00:00:00:00'), (1, 'ff:ff:ff:ff:ff:ff')) AS workers (wn, w)
SQL
		ends => [ 'B1p7XwmsfFKKNY0KYq', 'B1p7XyFdDpv2v0So0t' ],
		smallest => [ '0', '1', '2' ],
		between => [ 'B1p7XxDT4Oati0RZ0C', 'C00000000000000000' ],
		hash => [ 'B7tNvGF8Zh73eTSQUY', 1755786993, -9199393980009730319, -2826460109071103007 ],
	},
	guid => {
		# By drift, by the time's part above it, by node, by the part below, by sequence. 2^42 ns are the whole part
		# below of the largest drift; 125 times that, and 2^14 us, are whole ticks and whole microseconds.
		rows => <<'SQL',
SELECT guid_encode(timestamptz '1970-01-01 00:00:00+00' + (2800 + c) * interval '549755.813888 s'
		+ f * interval '16.384 ms', n, s * 16383, drift) AS id,
	(((d * 8 + c) * 4 + nn) * 4 + f) * 2 + s AS nr
FROM (VALUES (0, interval '68 s'), (1, '137 s'), (2, '1099 s'), (3, '1 day')) AS drifts (d, drift),
	generate_series(0, 7) AS c, generate_series(0, 3) AS f, generate_series(0, 1) AS s,
	(VALUES (0, 0), (1, 1), (2, 2147483648), (3, 4294967295)) AS nodes (nn, n)
SQL
		ends => [ '7eiN............', 'sepCzzzzzs..MUzz' ],
		smallest => [ '................', '...............0', '...............1' ],
		between => [ 'FejLV.....F.Ec..', 'u...............' ],
		hash => [ 'NIITRFL2BAVI1B.0', -627788599, -4319640221590965047, 5582318067189270062 ],
	},
	guid_local => {
		# By drift, by time, by sequence. 2^14 us are whole ticks.
		rows => <<'SQL',
SELECT guid_local_encode(timestamptz '1970-01-01 00:00:00+00' + 2800 * interval '549755.813888 s'
		+ t * interval '16.384 ms', s * 16383, drift) AS id,
	(d * 128 + t) * 2 + s AS nr
FROM (VALUES (0, interval '68 s'), (1, '137 s'), (2, '1099 s'), (3, '1 day')) AS drifts (d, drift),
	generate_series(0, 127) AS t, generate_series(0, 1) AS s
SQL
		ends => [ '119A87..........', 'D19A87...E7.EEEE' ],
		smallest => [ '................', '...............0', '...............1' ],
		between => [ '319A87...19E7...', 'E...............' ],
		hash => [ '1206B440CEB4B..0', 1400440159, 5528292316365260127, -2926284340834671726 ],
	},
	uniqueid => {
		# By time, by sequence, by the upper bits of the generator, by mode, by the lower bits, by cluster. The times
		# are those whose bits read the same both ways round.
		rows => <<'SQL',
SELECT uniqueid_encode(timestamptz '1970-01-01 00:00:00+00' + (
			(t >> 3) * (1 + (1::bigint << 41)) + (t >> 2 & 1) * (2 + (1::bigint << 40))
			+ (t >> 1 & 1) * (4 + (1::bigint << 39)) + (t & 1) * (8 + (1::bigint << 38))
		) * interval '1 ms', s * 63, h * 256 + l * 255, c * 15, mode) AS id,
	((((t * 2 + s) * 4 + hn) * 2 + m) * 2 + l) * 2 + c AS nr
FROM generate_series(0, 15) AS t, generate_series(0, 1) AS s, (VALUES (0, 0), (1, 1), (2, 4), (3, 7)) AS high (hn, h),
	(VALUES (0, uniqueid_mode 'spread'), (1, 'time_sequential')) AS modes (m, mode),
	generate_series(0, 1) AS l, generate_series(0, 1) AS c
SQL
		ends => [ '0000000000000000', 'f000000003ffffff' ],
		smallest => [ '0000000000000000', '0000000000000001', '0000000000000002' ],
		between => [ '4000000000bf3000', 'f800000000000000' ],
		hash => [ '67c76b38257fdfff', -886714045, 3663532056637722947, 1132644151276673133 ],
	},);

my $node = PostgreSQL::Test::Cluster->new('operators');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

# For a flake PostgreSQL uses what it has for a bigint: ids/flake_type.pl.
my @types = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT t.typname FROM pg_type t
JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'flakeid' AND t.typtype = 'b' AND t.typelem = 0 AND t.typname <> 'flake' ORDER BY 1
SQL
is_deeply([ sort keys %types ], \@types, 'this test knows every ID type of the extension');

for my $type (@types) {
	my $known = $types{$type} or next;
	my ($first, $last) = @{ $known->{ends} };
	my ($low, $second, $third) = @{ $known->{smallest} };
	my ($between, $above) = @{ $known->{between} };
	my $index_only =
	  "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;";

	my $session = session($node);

	# Whether a query has this result, with one line a row.
	my $gives = sub {
		my ($sql, $expected, $claim) = @_;
		is($session->query_safe("RESET ALL; SET search_path = of_$type, public; $sql"),
			$expected, "$type: $claim");
	};
	# Whether a query has this plan.
	my $plans = sub {
		my ($settings, $query, $expected, $claim) = @_;
		chomp $expected;
		$gives->("$settings EXPLAIN (COSTS OFF) $query", $expected, $claim);
	};

	$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA of_$type;
SET search_path = of_$type, public;
CREATE TABLE things (id $type, nr integer);
INSERT INTO things SELECT id, nr FROM ($known->{rows}) AS rows ORDER BY md5(nr::text);
ANALYZE things;
CREATE TABLE others AS SELECT * FROM things WHERE nr < 300;
ANALYZE others;
CREATE FUNCTION found(operator text, bound $type) RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM things WHERE id %s \$1', operator) INTO n USING bound;
	RETURN n;
END
\$\$;
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS \$\$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END
\$\$;
CREATE FUNCTION estimate(query text) RETURNS integer LANGUAGE plpgsql AS \$\$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
\$\$;
SQL

	# comparison -----------------------------------------------------------------------------------------

	$gives->(
		<<"SQL", '1048576|t|t|t|t|t|t|t|t|t', 'operators and comparison functions say what the numbers say');
SELECT count(*),
	bool_and((a.id < b.id) = (a.nr < b.nr)), bool_and((a.id <= b.id) = (a.nr <= b.nr)),
	bool_and((a.id = b.id) = (a.nr = b.nr)), bool_and((a.id <> b.id) = (a.nr <> b.nr)),
	bool_and((a.id >= b.id) = (a.nr >= b.nr)), bool_and((a.id > b.id) = (a.nr > b.nr)),
	bool_and(sign(${type}_cmp(a.id, b.id)) = sign(a.nr - b.nr)),
	bool_and(${type}_smaller(a.id, b.id) = least(a.id, b.id)),
	bool_and(${type}_larger(a.id, b.id) = greatest(a.id, b.id))
FROM things AS a, things AS b
SQL
	$gives->(<<"SQL", 't|t', 'a comparison with NULL is unknown');
SELECT bool_and((a = b) IS NULL AND (a < b) IS NULL AND (a <> b) IS NULL), bool_and(a IS DISTINCT FROM b)
FROM (VALUES ($type '$low', NULL::$type), (NULL, '$low')) AS nulls (a, b)
SQL

	# sorting --------------------------------------------------------------------------------------------

	$gives->(<<'SQL', '0|0', 'IDs sort as the numbers do, both ways');
SELECT count(*) FILTER (WHERE up <> nr + 1), count(*) FILTER (WHERE down <> 1024 - nr)
FROM (SELECT nr, row_number() OVER (ORDER BY id) AS up, row_number() OVER (ORDER BY id DESC) AS down FROM things) AS s
SQL
	$gives->(<<"SQL", "$above\n$second\n$low\n", 'NULL sorts where the query says');
SELECT id FROM (VALUES ($type '$above'), (NULL), ('$second'), ('$low')) AS few (id) ORDER BY id DESC NULLS LAST
SQL
	$gives->(
		'SELECT count(DISTINCT id), min(id), max(id) FROM things',
		"1024|$first|$last",
		'distinct IDs, min and max');
	$gives->(
		'SELECT min(id), max(id) FROM things WHERE false',
		'|', 'min and max of nothing are NULL');
	$gives->(<<"SQL", "$low|$second", 'min and max leave out NULL');
SELECT min(id), max(id) FROM (VALUES (NULL::$type), ('$second'), ('$low')) AS few (id)
SQL
	$gives->(<<"SQL", "$third|$third\n$low|$third\n$low|$third", 'min and max in a window');
SELECT min(id) OVER w, max(id) OVER w
FROM (VALUES (1, $type '$third'), (2, '$low'), (3, '$second')) AS few (nr, id) WINDOW w AS (ORDER BY nr)
SQL

	# btree ----------------------------------------------------------------------------------------------

	$node->safe_psql('postgres', "CREATE INDEX btree ON of_$type.things (id)");
	$gives->(<<"SQL", <<'PLAN' =~ s/\n\z//r, 'min and max are the ends of the index');
$index_only
SELECT substring(line FROM 'Index.*') FROM plan('SELECT min(id), max(id) FROM things') AS line WHERE line LIKE '%Index%'
SQL
Index Only Scan using btree on things
Index Cond: (id IS NOT NULL)
Index Only Scan Backward using btree on things things_1
Index Cond: (id IS NOT NULL)
PLAN
	$gives->(
		"$index_only SELECT min(id), max(id) FROM things",
		"$first|$last",
		'... and they are found there');
	$plans->(
		$index_only, 'SELECT id FROM things ORDER BY id DESC LIMIT 3',
		<<'PLAN', 'a btree gives the order');
Limit
  ->  Index Only Scan Backward using btree on things
PLAN
	$plans->(
		$index_only, "SELECT id FROM things WHERE id = '$between'",
		<<"PLAN", 'a btree finds one ID');
Index Only Scan using btree on things
  Index Cond: (id = '$between'::$type)
PLAN
	$plans->(
		$index_only, "SELECT id FROM things WHERE id > '$between' AND id <= '$above'",
		<<"PLAN", 'a btree finds a range');
Index Only Scan using btree on things
  Index Cond: ((id > '$between'::$type) AND (id <= '$above'::$type))
PLAN
	$plans->(
		$index_only, "SELECT id FROM things WHERE id = ANY ('{$between,$low}')",
		<<"PLAN", 'a btree finds a list');
Index Only Scan using btree on things
  Index Cond: (id = ANY ('{$between,$low}'::$type\[]))
PLAN
	$gives->(
		<<"SQL", <<'ROWS' =~ s/\n\z//r, 'each operator finds by the index what it finds without');
$index_only
CREATE TEMP TABLE by_index AS
SELECT operator, nr, found(operator, id) AS n
FROM unnest('{<,<=,=,>=,>}'::text[]) AS operator, things WHERE nr % 100 IN (0, 1);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
SELECT operator, count(*), sum(n), count(*) FILTER (WHERE n <> found(operator, id))
FROM by_index JOIN things USING (nr) GROUP BY operator ORDER BY operator COLLATE "C";
SQL
<|22|11011|0
<=|22|11033|0
=|22|22|0
>|22|11495|0
>=|22|11517|0
ROWS
	$gives->(<<"SQL", 't', 'equal images are equal values: an index keeps a run of them once');
CREATE TABLE same AS SELECT $type '$between' AS id FROM generate_series(1, 20000);
CREATE INDEX once ON same (id);
CREATE INDEX each ON same (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('once') * 2 < pg_relation_size('each');
DROP TABLE same
SQL
	$node->safe_psql('postgres', "CREATE UNIQUE INDEX is_unique ON of_$type.things (id)");
	my ($result, $out, $error) =
	  $node->psql('postgres',
		"INSERT INTO of_$type.things SELECT id, nr FROM of_$type.things WHERE nr = 0");
	like(
		$error,
		qr/violates unique constraint "is_unique"\nDETAIL:  Key \(id\)=\(\Q$first\E\) already exists/,
		"$type: a unique index refuses an ID that is there");
	my $join = 'SELECT count(*) FROM things AS a JOIN others AS b USING (id)';
	my $merge = 'SET enable_hashjoin = off; SET enable_nestloop = off;';
	$plans->($merge, $join, <<'PLAN', 'a merge join is planned');
Aggregate
  ->  Merge Join
        Merge Cond: (a.id = b.id)
        ->  Index Only Scan using is_unique on things a
        ->  Sort
              Sort Key: b.id
              ->  Seq Scan on others b
PLAN
	$gives->("$merge $join WHERE a.nr = b.nr", '300', '... and meets every row');
	$node->safe_psql('postgres', "DROP INDEX of_$type.btree, of_$type.is_unique");

	# hash -----------------------------------------------------------------------------------------------

	$gives->(<<"SQL", '0|0|t|0', 'with seed 0 the lower half of the extended hash is the hash');
SELECT count(*) FILTER (WHERE ${type}_hash(id)::bit(32) <> ${type}_hash_extended(id, 0)::bit(32)),
	count(*) FILTER (WHERE ${type}_hash(id)::bit(32) = ${type}_hash_extended(id, 1)::bit(32)),
	count(DISTINCT ${type}_hash(id)) > 1000,
	count(*) FILTER (WHERE ${type}_hash(id) <> ${type}_hash(id::text::$type))
FROM things
SQL
	my ($hashed, @hashes) = @{ $known->{hash} };
	$gives->(
		"SELECT ${type}_hash('$hashed'), ${type}_hash_extended('$hashed', 0), ${type}_hash_extended('$hashed', 42)",
		join('|', @hashes),
		'a hash is what it has always been');
	my $hash = 'SET enable_mergejoin = off; SET enable_nestloop = off;';
	$plans->($hash, $join, <<'PLAN', 'a hash join is planned');
Aggregate
  ->  Hash Join
        Hash Cond: (a.id = b.id)
        ->  Seq Scan on things a
        ->  Hash
              ->  Seq Scan on others b
PLAN
	$gives->("$hash $join WHERE a.nr = b.nr", '300', '... and meets every row');
	$plans->(
		'SET enable_sort = off;',
		'SELECT id, count(*) FROM things GROUP BY id',
		<<'PLAN', 'groups are hashed');
HashAggregate
  Group Key: id
  ->  Seq Scan on things
PLAN
	$gives->(
		'SET enable_sort = off; SELECT count(*), sum(n) FROM (SELECT id, count(*) AS n FROM things GROUP BY id) AS groups',
		'1024|1024',
		'... and hold every row');

	$node->safe_psql('postgres', "CREATE INDEX hash ON of_$type.things USING hash (id)");
	my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
	$plans->(
		$by_index, "SELECT nr FROM things WHERE id = '$between'",
		<<"PLAN", 'a hash index finds one ID');
Index Scan using hash on things
  Index Cond: (id = '$between'::$type)
PLAN
	$gives->(<<"SQL", '1024', '... and every other');
$by_index
SELECT count(*)
FROM generate_series(0, 1023) AS wanted, LATERAL (SELECT id FROM things WHERE nr = wanted) AS this,
	LATERAL (SELECT nr FROM things WHERE id = this.id) AS that
WHERE that.nr = wanted
SQL
	$node->safe_psql('postgres', "DROP INDEX of_$type.hash");

	# BRIN -----------------------------------------------------------------------------------------------

	for my $class ("${type}_minmax_ops", "${type}_minmax_multi_ops") {
		$node->safe_psql('postgres', <<"SQL");
SET search_path = of_$type, public;
CREATE TABLE log AS SELECT id, nr FROM things ORDER BY nr;
CREATE INDEX brin ON log USING brin (id $class) WITH (pages_per_range = 1);
SQL
		$plans->(
			'SET enable_seqscan = off;',
			"SELECT nr FROM log WHERE id > '$between' AND id < '$above'",
			<<"PLAN", "a BRIN of $class finds a range");
Bitmap Heap Scan on log
  Recheck Cond: ((id > '$between'::$type) AND (id < '$above'::$type))
  ->  Bitmap Index Scan on brin
        Index Cond: ((id > '$between'::$type) AND (id < '$above'::$type))
PLAN
		$gives->(<<"SQL", '1024|0', '... and by each operator the right one');
SET enable_seqscan = off;
SELECT count(*), count(*) FILTER (WHERE (below, up_to, at, "from", above) <> (nr, nr + 1, 1, 1024 - nr, 1023 - nr))
FROM (SELECT nr, (SELECT count(*) FROM log WHERE log.id < bound.id) AS below,
		(SELECT count(*) FROM log WHERE log.id <= bound.id) AS up_to,
		(SELECT count(*) FROM log WHERE log.id = bound.id) AS at,
		(SELECT count(*) FROM log WHERE log.id >= bound.id) AS from,
		(SELECT count(*) FROM log WHERE log.id > bound.id) AS above
	FROM things AS bound) AS counts
SQL
		$node->safe_psql('postgres', "DROP TABLE of_$type.log");
	}

	# estimates ------------------------------------------------------------------------------------------

	$gives->(
		<<'SQL', 't|t|1', 'the statistics of the column give the estimate: a quarter is about a quarter');
SELECT estimate(format('SELECT FROM things WHERE id < %L', id)) BETWEEN 200 AND 312,
	estimate(format('SELECT FROM things WHERE id >= %L', id)) BETWEEN 712 AND 824,
	estimate(format('SELECT FROM things WHERE id = %L', id))
FROM things WHERE nr = 256
SQL
	$session->quit;
}

$node->stop;
done_testing();
