-- guid compared, sorted, hashed, indexed and aggregated.

CREATE TABLE guid_things (id guid, nr integer);
-- Rows whose order is known: by drift, by the time's part above it, by node, by the part below, by sequence.
-- 2^42 ns are the whole part below of the largest drift; 125 times that, and 2^14 us, are whole ticks and
-- whole microseconds.
INSERT INTO guid_things
SELECT guid_encode(timestamptz '1970-01-01 00:00:00+00' + (2800 + c) * interval '549755.813888 s' + f * interval '16.384 ms',
           n, s * 16383, drift),
       (((d * 8 + c) * 4 + nn) * 4 + f) * 2 + s
FROM (VALUES (0, interval '68 s'), (1, '137 s'), (2, '1099 s'), (3, '1 day')) AS drifts (d, drift),
     generate_series(0, 7) AS c, generate_series(0, 3) AS f, generate_series(0, 1) AS s,
     (VALUES (0, 0), (1, 1), (2, 2147483648), (3, 4294967295)) AS nodes (nn, n)
ORDER BY md5(((((d * 8 + c) * 4 + nn) * 4 + f) * 2 + s)::text);
ANALYZE guid_things;

-- The operators say what the numbers say.
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.nr < b.nr)) AS lt, bool_and((a.id <= b.id) = (a.nr <= b.nr)) AS le,
       bool_and((a.id = b.id) = (a.nr = b.nr)) AS eq, bool_and((a.id <> b.id) = (a.nr <> b.nr)) AS ne,
       bool_and((a.id >= b.id) = (a.nr >= b.nr)) AS ge, bool_and((a.id > b.id) = (a.nr > b.nr)) AS gt,
       bool_and(sign(guid_cmp(a.id, b.id)) = sign(a.nr - b.nr)) AS cmp,
       bool_and(guid_smaller(a.id, b.id) = least(a.id, b.id)) AS smaller,
       bool_and(guid_larger(a.id, b.id) = greatest(a.id, b.id)) AS larger
FROM guid_things AS a, guid_things AS b;
SELECT bool_and((a = b) IS NULL AND (a < b) IS NULL AND (a <> b) IS NULL) AS unknown,
       bool_and(a IS DISTINCT FROM b) AS distinct
FROM (VALUES (guid '................', NULL::guid), (NULL, '................')) AS nulls (a, b);

-- sorting ------------------------------------------------------------------------------------------

SELECT count(*) FILTER (WHERE place <> nr + 1) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id) AS place FROM guid_things) AS sorted;
SELECT count(*) FILTER (WHERE place <> 1024 - nr) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id DESC) AS place FROM guid_things) AS sorted;
SELECT id FROM (VALUES (guid 'u...............'), (NULL), ('...............0'),
       ('................')) AS few (id)
ORDER BY id DESC NULLS LAST;
SELECT count(DISTINCT id), min(id), max(id) FROM guid_things;
SELECT min(id), max(id) FROM guid_things WHERE false;
SELECT min(id), max(id) FROM (VALUES (NULL::guid), ('...............0'), ('................')) AS few (id);
SELECT min(id) OVER w, max(id) OVER w
FROM (VALUES (1, guid '...............1'), (2, '................'), (3, '...............0')) AS few (nr, id)
WINDOW w AS (ORDER BY nr);

-- btree --------------------------------------------------------------------------------------------

CREATE INDEX guid_btree ON guid_things (id);
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
FROM pg_temp.plan('SELECT min(id), max(id) FROM guid_things') AS line WHERE line LIKE '%Index%';
SELECT min(id) = (SELECT id FROM guid_things WHERE nr = 0) AS min,
       max(id) = (SELECT id FROM guid_things WHERE nr = 1023) AS max
FROM guid_things;
EXPLAIN (COSTS OFF) SELECT id FROM guid_things ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM guid_things WHERE id = 'FejLV.....F.Ec..';
EXPLAIN (COSTS OFF) SELECT id FROM guid_things WHERE id > 'FejLV.....F.Ec..' AND id <= 'u...............';
EXPLAIN (COSTS OFF) SELECT id FROM guid_things WHERE id = ANY ('{FejLV.....F.Ec..,................}');
-- Each operator through the index finds what it finds without.
CREATE FUNCTION pg_temp.found(operator text, bound guid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM guid_things WHERE id %s $1', operator) INTO n USING bound;
    RETURN n;
END
$$;
CREATE TEMP TABLE by_index AS
SELECT operator, nr, pg_temp.found(operator, id) AS n
FROM unnest('{<,<=,=,>=,>}'::text[]) AS operator, guid_things WHERE nr % 100 IN (0, 1);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
SELECT operator, count(*) AS bounds, sum(n) AS found,
       count(*) FILTER (WHERE n <> pg_temp.found(operator, id)) AS different
FROM by_index JOIN guid_things USING (nr) GROUP BY operator ORDER BY operator;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
RESET enable_sort;

-- Equal images are equal values: an index keeps a run of them once.
CREATE TABLE guid_same AS SELECT guid 'FejLV.....F.Ec..' AS id FROM generate_series(1, 20000);
CREATE INDEX guid_same_once ON guid_same (id);
CREATE INDEX guid_same_each ON guid_same (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('guid_same_once') * 2 < pg_relation_size('guid_same_each') AS smaller;
DROP TABLE guid_same;

CREATE UNIQUE INDEX guid_unique ON guid_things (id);
INSERT INTO guid_things SELECT id, nr FROM guid_things WHERE nr = 0;

-- A merge join meets every row.
CREATE TABLE guid_others AS SELECT * FROM guid_things WHERE nr < 300;
ANALYZE guid_others;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM guid_things AS a JOIN guid_others AS b USING (id);
SELECT count(*) FROM guid_things AS a JOIN guid_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_hashjoin;
RESET enable_nestloop;
DROP INDEX guid_btree, guid_unique;

-- hash ---------------------------------------------------------------------------------------------

-- With seed 0 the extended hash's lower half is the hash.
SELECT count(*) FILTER (WHERE guid_hash(id)::bit(32) <> guid_hash_extended(id, 0)::bit(32)) AS unlike_seed_0,
       count(*) FILTER (WHERE guid_hash(id)::bit(32) = guid_hash_extended(id, 1)::bit(32)) AS like_seed_1,
       count(DISTINCT guid_hash(id)) > 1000 AS spread,
       count(*) FILTER (WHERE guid_hash(id) <> guid_hash(id::text::guid)) AS inconstant
FROM guid_things;
-- Hash indexes and partitions live as long as the data: these stay as they are.
SELECT guid_hash('NIITRFL2BAVI1B.0'), guid_hash_extended('NIITRFL2BAVI1B.0', 0),
       guid_hash_extended('NIITRFL2BAVI1B.0', 42);

SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM guid_things AS a JOIN guid_others AS b USING (id);
SELECT count(*) FROM guid_things AS a JOIN guid_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_mergejoin;
RESET enable_nestloop;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM guid_things GROUP BY id;
SELECT count(*), sum(n) FROM (SELECT id, count(*) AS n FROM guid_things GROUP BY id) AS groups;
RESET enable_sort;

CREATE INDEX guid_hash_index ON guid_things USING hash (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM guid_things WHERE id = 'FejLV.....F.Ec..';
SELECT count(*) AS found
FROM generate_series(0, 1023) AS wanted, LATERAL (SELECT id FROM guid_things WHERE nr = wanted) AS this,
     LATERAL (SELECT nr FROM guid_things WHERE id = this.id) AS that
WHERE that.nr = wanted;
RESET enable_bitmapscan;
DROP INDEX guid_hash_index;

-- BRIN ---------------------------------------------------------------------------------------------

CREATE TABLE guid_log AS SELECT id, nr FROM guid_things ORDER BY nr;
CREATE INDEX guid_brin ON guid_log USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT nr FROM guid_log WHERE id > 'FejLV.....F.Ec..' AND id < 'u...............';
CREATE TEMP TABLE by_brin AS
SELECT nr, (SELECT count(*) FROM guid_log AS log WHERE log.id < bound.id) AS below,
       (SELECT count(*) FROM guid_log AS log WHERE log.id <= bound.id) AS up_to,
       (SELECT count(*) FROM guid_log AS log WHERE log.id = bound.id) AS at,
       (SELECT count(*) FROM guid_log AS log WHERE log.id >= bound.id) AS from,
       (SELECT count(*) FROM guid_log AS log WHERE log.id > bound.id) AS above
FROM guid_things AS bound;
SELECT count(*) AS wrong FROM by_brin
WHERE (below, up_to, at, "from", above) <> (nr, nr + 1, 1, 1024 - nr, 1023 - nr);
RESET enable_seqscan;
DROP TABLE guid_log;

-- Row estimates come from the statistics of the column: a quarter is about a quarter.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT pg_temp.estimate(format('SELECT FROM guid_things WHERE id < %L', id)) BETWEEN 200 AND 312 AS quarter,
       pg_temp.estimate(format('SELECT FROM guid_things WHERE id >= %L', id)) BETWEEN 712 AND 824 AS rest,
       pg_temp.estimate(format('SELECT FROM guid_things WHERE id = %L', id)) AS one
FROM guid_things WHERE nr = 256;

DROP TABLE guid_things, guid_others;
