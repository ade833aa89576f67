-- uniqueid compared, sorted, hashed, indexed and aggregated.

CREATE TABLE uniqueid_things (id uniqueid, nr integer);
-- Rows whose order is known: by time, by sequence, by the upper bits of the generator, by mode, by the
-- lower bits, by cluster. The times are those whose bits read the same both ways round.
INSERT INTO uniqueid_things
SELECT uniqueid_encode(timestamptz '1970-01-01 00:00:00+00' + (
           (t >> 3) * (1 + (1::bigint << 41)) + (t >> 2 & 1) * (2 + (1::bigint << 40))
           + (t >> 1 & 1) * (4 + (1::bigint << 39)) + (t & 1) * (8 + (1::bigint << 38))
       ) * interval '1 ms', s * 63, h * 256 + l * 255, c * 15, mode),
       ((((t * 2 + s) * 4 + hn) * 2 + m) * 2 + l) * 2 + c
FROM generate_series(0, 15) AS t, generate_series(0, 1) AS s, (VALUES (0, 0), (1, 1), (2, 4), (3, 7)) AS high (hn, h),
     (VALUES (0, uniqueid_mode 'spread'), (1, 'time_sequential')) AS modes (m, mode),
     generate_series(0, 1) AS l, generate_series(0, 1) AS c
ORDER BY md5((((((t * 2 + s) * 4 + hn) * 2 + m) * 2 + l) * 2 + c)::text);
ANALYZE uniqueid_things;

-- The operators say what the numbers say.
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.nr < b.nr)) AS lt, bool_and((a.id <= b.id) = (a.nr <= b.nr)) AS le,
       bool_and((a.id = b.id) = (a.nr = b.nr)) AS eq, bool_and((a.id <> b.id) = (a.nr <> b.nr)) AS ne,
       bool_and((a.id >= b.id) = (a.nr >= b.nr)) AS ge, bool_and((a.id > b.id) = (a.nr > b.nr)) AS gt,
       bool_and(sign(uniqueid_cmp(a.id, b.id)) = sign(a.nr - b.nr)) AS cmp,
       bool_and(uniqueid_smaller(a.id, b.id) = least(a.id, b.id)) AS smaller,
       bool_and(uniqueid_larger(a.id, b.id) = greatest(a.id, b.id)) AS larger
FROM uniqueid_things AS a, uniqueid_things AS b;
SELECT bool_and((a = b) IS NULL AND (a < b) IS NULL AND (a <> b) IS NULL) AS unknown,
       bool_and(a IS DISTINCT FROM b) AS distinct
FROM (VALUES (uniqueid '0000000000000000', NULL::uniqueid), (NULL, '0000000000000000')) AS nulls (a, b);

-- sorting ------------------------------------------------------------------------------------------

SELECT count(*) FILTER (WHERE place <> nr + 1) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id) AS place FROM uniqueid_things) AS sorted;
SELECT count(*) FILTER (WHERE place <> 1024 - nr) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id DESC) AS place FROM uniqueid_things) AS sorted;
SELECT id FROM (VALUES (uniqueid 'f800000000000000'), (NULL), ('0000000000000001'),
       ('0000000000000000')) AS few (id)
ORDER BY id DESC NULLS LAST;
SELECT count(DISTINCT id), min(id), max(id) FROM uniqueid_things;
SELECT min(id), max(id) FROM uniqueid_things WHERE false;
SELECT min(id), max(id) FROM (VALUES (NULL::uniqueid), ('0000000000000001'), ('0000000000000000')) AS few (id);
SELECT min(id) OVER w, max(id) OVER w
FROM (VALUES (1, uniqueid '0000000000000002'), (2, '0000000000000000'), (3, '0000000000000001')) AS few (nr, id)
WINDOW w AS (ORDER BY nr);

-- btree --------------------------------------------------------------------------------------------

CREATE INDEX uniqueid_btree ON uniqueid_things (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
-- The smallest and the largest are the ends of the index.
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END
$$;
SELECT substring(line FROM 'Index.*') AS line
FROM pg_temp.plan('SELECT min(id), max(id) FROM uniqueid_things') AS line WHERE line LIKE '%Index%';
SELECT min(id) = (SELECT id FROM uniqueid_things WHERE nr = 0) AS min,
       max(id) = (SELECT id FROM uniqueid_things WHERE nr = 1023) AS max
FROM uniqueid_things;
EXPLAIN (COSTS OFF) SELECT id FROM uniqueid_things ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM uniqueid_things WHERE id = '4000000000bf3000';
EXPLAIN (COSTS OFF) SELECT id FROM uniqueid_things WHERE id > '4000000000bf3000' AND id <= 'f800000000000000';
EXPLAIN (COSTS OFF) SELECT id FROM uniqueid_things WHERE id = ANY ('{4000000000bf3000,0000000000000000}');
-- Each operator through the index finds what it finds without.
CREATE FUNCTION pg_temp.found(operator text, bound uniqueid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM uniqueid_things WHERE id %s $1', operator) INTO n USING bound;
    RETURN n;
END
$$;
CREATE TEMP TABLE by_index AS
SELECT operator, nr, pg_temp.found(operator, id) AS n
FROM unnest('{<,<=,=,>=,>}'::text[]) AS operator, uniqueid_things WHERE nr % 100 IN (0, 1);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
SELECT operator, count(*) AS bounds, sum(n) AS found,
       count(*) FILTER (WHERE n <> pg_temp.found(operator, id)) AS different
FROM by_index JOIN uniqueid_things USING (nr) GROUP BY operator ORDER BY operator;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
RESET enable_sort;

-- Equal images are equal values: an index keeps a run of them once.
CREATE TABLE uniqueid_same AS SELECT uniqueid '4000000000bf3000' AS id FROM generate_series(1, 20000);
CREATE INDEX uniqueid_same_once ON uniqueid_same (id);
CREATE INDEX uniqueid_same_each ON uniqueid_same (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('uniqueid_same_once') * 2 < pg_relation_size('uniqueid_same_each') AS smaller;
DROP TABLE uniqueid_same;

CREATE UNIQUE INDEX uniqueid_unique ON uniqueid_things (id);
INSERT INTO uniqueid_things SELECT id, nr FROM uniqueid_things WHERE nr = 0;

-- A merge join meets every row.
CREATE TABLE uniqueid_others AS SELECT * FROM uniqueid_things WHERE nr < 300;
ANALYZE uniqueid_others;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM uniqueid_things AS a JOIN uniqueid_others AS b USING (id);
SELECT count(*) FROM uniqueid_things AS a JOIN uniqueid_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_hashjoin;
RESET enable_nestloop;
DROP INDEX uniqueid_btree, uniqueid_unique;

-- hash ---------------------------------------------------------------------------------------------

-- With seed 0 the extended hash's lower half is the hash.
SELECT count(*) FILTER (WHERE uniqueid_hash(id)::bit(32) <> uniqueid_hash_extended(id, 0)::bit(32)) AS unlike_seed_0,
       count(*) FILTER (WHERE uniqueid_hash(id)::bit(32) = uniqueid_hash_extended(id, 1)::bit(32)) AS like_seed_1,
       count(DISTINCT uniqueid_hash(id)) > 1000 AS spread,
       count(*) FILTER (WHERE uniqueid_hash(id) <> uniqueid_hash(id::text::uniqueid)) AS inconstant
FROM uniqueid_things;
-- Hash indexes and partitions live as long as the data: these stay as they are.
SELECT uniqueid_hash('67c76b38257fdfff'), uniqueid_hash_extended('67c76b38257fdfff', 0),
       uniqueid_hash_extended('67c76b38257fdfff', 42);

SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM uniqueid_things AS a JOIN uniqueid_others AS b USING (id);
SELECT count(*) FROM uniqueid_things AS a JOIN uniqueid_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_mergejoin;
RESET enable_nestloop;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM uniqueid_things GROUP BY id;
SELECT count(*), sum(n) FROM (SELECT id, count(*) AS n FROM uniqueid_things GROUP BY id) AS groups;
RESET enable_sort;

CREATE INDEX uniqueid_hash_index ON uniqueid_things USING hash (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM uniqueid_things WHERE id = '4000000000bf3000';
SELECT count(*) AS found
FROM generate_series(0, 1023) AS wanted, LATERAL (SELECT id FROM uniqueid_things WHERE nr = wanted) AS this,
     LATERAL (SELECT nr FROM uniqueid_things WHERE id = this.id) AS that
WHERE that.nr = wanted;
RESET enable_bitmapscan;
DROP INDEX uniqueid_hash_index;

-- BRIN ---------------------------------------------------------------------------------------------

CREATE TABLE uniqueid_log AS SELECT id, nr FROM uniqueid_things ORDER BY nr;
CREATE INDEX uniqueid_brin ON uniqueid_log USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT nr FROM uniqueid_log WHERE id > '4000000000bf3000' AND id < 'f800000000000000';
CREATE TEMP TABLE by_brin AS
SELECT nr, (SELECT count(*) FROM uniqueid_log AS log WHERE log.id < bound.id) AS below,
       (SELECT count(*) FROM uniqueid_log AS log WHERE log.id <= bound.id) AS up_to,
       (SELECT count(*) FROM uniqueid_log AS log WHERE log.id = bound.id) AS at,
       (SELECT count(*) FROM uniqueid_log AS log WHERE log.id >= bound.id) AS from,
       (SELECT count(*) FROM uniqueid_log AS log WHERE log.id > bound.id) AS above
FROM uniqueid_things AS bound;
SELECT count(*) AS wrong FROM by_brin
WHERE (below, up_to, at, "from", above) <> (nr, nr + 1, 1, 1024 - nr, 1023 - nr);
RESET enable_seqscan;
DROP TABLE uniqueid_log;

-- Row estimates come from the statistics of the column: a quarter is about a quarter.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT pg_temp.estimate(format('SELECT FROM uniqueid_things WHERE id < %L', id)) BETWEEN 200 AND 312 AS quarter,
       pg_temp.estimate(format('SELECT FROM uniqueid_things WHERE id >= %L', id)) BETWEEN 712 AND 824 AS rest,
       pg_temp.estimate(format('SELECT FROM uniqueid_things WHERE id = %L', id)) AS one
FROM uniqueid_things WHERE nr = 256;

DROP TABLE uniqueid_things, uniqueid_others;
