-- flake128 compared, sorted, hashed, indexed and aggregated.

CREATE TABLE flake128_things (id flake128, nr integer);
-- Rows whose order is known: two of each time, worker and sequence, high and low.
INSERT INTO flake128_things
SELECT flake128_encode(timestamptz '2026-01-01 00:00:00+00' + t * interval '1 ms', w, s * 65535),
       (t * 2 + wn) * 2 + s
FROM generate_series(0, 255) AS t, generate_series(0, 1) AS s,
     (VALUES (0, macaddr '00:00:00:00:00:00'), (1, 'ff:ff:ff:ff:ff:ff')) AS workers (wn, w)
ORDER BY md5(((t * 2 + wn) * 2 + s)::text);
ANALYZE flake128_things;

-- The operators say what the numbers say.
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.nr < b.nr)) AS lt, bool_and((a.id <= b.id) = (a.nr <= b.nr)) AS le,
       bool_and((a.id = b.id) = (a.nr = b.nr)) AS eq, bool_and((a.id <> b.id) = (a.nr <> b.nr)) AS ne,
       bool_and((a.id >= b.id) = (a.nr >= b.nr)) AS ge, bool_and((a.id > b.id) = (a.nr > b.nr)) AS gt,
       bool_and(sign(flake128_cmp(a.id, b.id)) = sign(a.nr - b.nr)) AS cmp,
       bool_and(flake128_smaller(a.id, b.id) = least(a.id, b.id)) AS smaller,
       bool_and(flake128_larger(a.id, b.id) = greatest(a.id, b.id)) AS larger
FROM flake128_things AS a, flake128_things AS b;
SELECT bool_and((a = b) IS NULL AND (a < b) IS NULL AND (a <> b) IS NULL) AS unknown,
       bool_and(a IS DISTINCT FROM b) AS distinct
FROM (VALUES (flake128 '0', NULL::flake128), (NULL, '0')) AS nulls (a, b);

-- sorting ------------------------------------------------------------------------------------------

SELECT count(*) FILTER (WHERE place <> nr + 1) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id) AS place FROM flake128_things) AS sorted;
SELECT count(*) FILTER (WHERE place <> 1024 - nr) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id DESC) AS place FROM flake128_things) AS sorted;
SELECT id FROM (VALUES (flake128 'C00000000000000000'), (NULL), ('1'),
       ('0')) AS few (id)
ORDER BY id DESC NULLS LAST;
SELECT count(DISTINCT id), min(id), max(id) FROM flake128_things;
SELECT min(id), max(id) FROM flake128_things WHERE false;
SELECT min(id), max(id) FROM (VALUES (NULL::flake128), ('1'), ('0')) AS few (id);
SELECT min(id) OVER w, max(id) OVER w
FROM (VALUES (1, flake128 '2'), (2, '0'), (3, '1')) AS few (nr, id)
WINDOW w AS (ORDER BY nr);

-- btree --------------------------------------------------------------------------------------------

CREATE INDEX flake128_btree ON flake128_things (id);
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
FROM pg_temp.plan('SELECT min(id), max(id) FROM flake128_things') AS line WHERE line LIKE '%Index%';
SELECT min(id) = (SELECT id FROM flake128_things WHERE nr = 0) AS min,
       max(id) = (SELECT id FROM flake128_things WHERE nr = 1023) AS max
FROM flake128_things;
EXPLAIN (COSTS OFF) SELECT id FROM flake128_things ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM flake128_things WHERE id = 'B1p7XxDT4Oati0RZ0C';
EXPLAIN (COSTS OFF) SELECT id FROM flake128_things WHERE id > 'B1p7XxDT4Oati0RZ0C' AND id <= 'C00000000000000000';
EXPLAIN (COSTS OFF) SELECT id FROM flake128_things WHERE id = ANY ('{B1p7XxDT4Oati0RZ0C,0}');
-- Each operator through the index finds what it finds without.
CREATE FUNCTION pg_temp.found(operator text, bound flake128) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM flake128_things WHERE id %s $1', operator) INTO n USING bound;
    RETURN n;
END
$$;
CREATE TEMP TABLE by_index AS
SELECT operator, nr, pg_temp.found(operator, id) AS n
FROM unnest('{<,<=,=,>=,>}'::text[]) AS operator, flake128_things WHERE nr % 100 IN (0, 1);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
SELECT operator, count(*) AS bounds, sum(n) AS found,
       count(*) FILTER (WHERE n <> pg_temp.found(operator, id)) AS different
FROM by_index JOIN flake128_things USING (nr) GROUP BY operator ORDER BY operator;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
RESET enable_sort;

-- Equal images are equal values: an index keeps a run of them once.
CREATE TABLE flake128_same AS SELECT flake128 'B1p7XxDT4Oati0RZ0C' AS id FROM generate_series(1, 20000);
CREATE INDEX flake128_same_once ON flake128_same (id);
CREATE INDEX flake128_same_each ON flake128_same (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('flake128_same_once') * 2 < pg_relation_size('flake128_same_each') AS smaller;
DROP TABLE flake128_same;

CREATE UNIQUE INDEX flake128_unique ON flake128_things (id);
INSERT INTO flake128_things SELECT id, nr FROM flake128_things WHERE nr = 0;

-- A merge join meets every row.
CREATE TABLE flake128_others AS SELECT * FROM flake128_things WHERE nr < 300;
ANALYZE flake128_others;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM flake128_things AS a JOIN flake128_others AS b USING (id);
SELECT count(*) FROM flake128_things AS a JOIN flake128_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_hashjoin;
RESET enable_nestloop;
DROP INDEX flake128_btree, flake128_unique;

-- hash ---------------------------------------------------------------------------------------------

-- With seed 0 the extended hash's lower half is the hash.
SELECT count(*) FILTER (WHERE flake128_hash(id)::bit(32) <> flake128_hash_extended(id, 0)::bit(32)) AS unlike_seed_0,
       count(*) FILTER (WHERE flake128_hash(id)::bit(32) = flake128_hash_extended(id, 1)::bit(32)) AS like_seed_1,
       count(DISTINCT flake128_hash(id)) > 1000 AS spread,
       count(*) FILTER (WHERE flake128_hash(id) <> flake128_hash(id::text::flake128)) AS inconstant
FROM flake128_things;
-- Hash indexes and partitions live as long as the data: these stay as they are.
SELECT flake128_hash('B7tNvGF8Zh73eTSQUY'), flake128_hash_extended('B7tNvGF8Zh73eTSQUY', 0),
       flake128_hash_extended('B7tNvGF8Zh73eTSQUY', 42);

SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM flake128_things AS a JOIN flake128_others AS b USING (id);
SELECT count(*) FROM flake128_things AS a JOIN flake128_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_mergejoin;
RESET enable_nestloop;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM flake128_things GROUP BY id;
SELECT count(*), sum(n) FROM (SELECT id, count(*) AS n FROM flake128_things GROUP BY id) AS groups;
RESET enable_sort;

CREATE INDEX flake128_hash_index ON flake128_things USING hash (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM flake128_things WHERE id = 'B1p7XxDT4Oati0RZ0C';
SELECT count(*) AS found
FROM generate_series(0, 1023) AS wanted, LATERAL (SELECT id FROM flake128_things WHERE nr = wanted) AS this,
     LATERAL (SELECT nr FROM flake128_things WHERE id = this.id) AS that
WHERE that.nr = wanted;
RESET enable_bitmapscan;
DROP INDEX flake128_hash_index;

-- BRIN ---------------------------------------------------------------------------------------------

CREATE TABLE flake128_log AS SELECT id, nr FROM flake128_things ORDER BY nr;
CREATE INDEX flake128_brin ON flake128_log USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT nr FROM flake128_log WHERE id > 'B1p7XxDT4Oati0RZ0C' AND id < 'C00000000000000000';
CREATE TEMP TABLE by_brin AS
SELECT nr, (SELECT count(*) FROM flake128_log AS log WHERE log.id < bound.id) AS below,
       (SELECT count(*) FROM flake128_log AS log WHERE log.id <= bound.id) AS up_to,
       (SELECT count(*) FROM flake128_log AS log WHERE log.id = bound.id) AS at,
       (SELECT count(*) FROM flake128_log AS log WHERE log.id >= bound.id) AS from,
       (SELECT count(*) FROM flake128_log AS log WHERE log.id > bound.id) AS above
FROM flake128_things AS bound;
SELECT count(*) AS wrong FROM by_brin
WHERE (below, up_to, at, "from", above) <> (nr, nr + 1, 1, 1024 - nr, 1023 - nr);
RESET enable_seqscan;
DROP TABLE flake128_log;

-- Row estimates come from the statistics of the column: a quarter is about a quarter.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT pg_temp.estimate(format('SELECT FROM flake128_things WHERE id < %L', id)) BETWEEN 200 AND 312 AS quarter,
       pg_temp.estimate(format('SELECT FROM flake128_things WHERE id >= %L', id)) BETWEEN 712 AND 824 AS rest,
       pg_temp.estimate(format('SELECT FROM flake128_things WHERE id = %L', id)) AS one
FROM flake128_things WHERE nr = 256;

DROP TABLE flake128_things, flake128_others;
