-- sno compared, sorted, hashed, indexed and aggregated.

CREATE TABLE sno_things (id sno, nr integer);
-- Rows whose order is known: two of each time, tick-tock, meta, partition and sequence, high and low.
INSERT INTO sno_things
SELECT sno_encode(timestamptz '2026-01-01 00:00:00+00' + t * interval '4 ms', k, m * 255, p * 65535,
       s * 65535),
       (((t * 2 + k) * 2 + m) * 2 + p) * 2 + s
FROM generate_series(0, 63) AS t, generate_series(0, 1) AS k, generate_series(0, 1) AS m,
     generate_series(0, 1) AS p, generate_series(0, 1) AS s
ORDER BY md5(((((t * 2 + k) * 2 + m) * 2 + p) * 2 + s)::text);
ANALYZE sno_things;

-- The operators say what the numbers say.
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.nr < b.nr)) AS lt, bool_and((a.id <= b.id) = (a.nr <= b.nr)) AS le,
       bool_and((a.id = b.id) = (a.nr = b.nr)) AS eq, bool_and((a.id <> b.id) = (a.nr <> b.nr)) AS ne,
       bool_and((a.id >= b.id) = (a.nr >= b.nr)) AS ge, bool_and((a.id > b.id) = (a.nr > b.nr)) AS gt,
       bool_and(sign(sno_cmp(a.id, b.id)) = sign(a.nr - b.nr)) AS cmp,
       bool_and(sno_smaller(a.id, b.id) = least(a.id, b.id)) AS smaller,
       bool_and(sno_larger(a.id, b.id) = greatest(a.id, b.id)) AS larger
FROM sno_things AS a, sno_things AS b;
SELECT bool_and((a = b) IS NULL AND (a < b) IS NULL AND (a <> b) IS NULL) AS unknown,
       bool_and(a IS DISTINCT FROM b) AS distinct
FROM (VALUES (sno '2222222222222222', NULL::sno), (NULL, '2222222222222222')) AS nulls (a, b);

-- sorting ------------------------------------------------------------------------------------------

SELECT count(*) FILTER (WHERE place <> nr + 1) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id) AS place FROM sno_things) AS sorted;
SELECT count(*) FILTER (WHERE place <> 1024 - nr) AS misplaced
FROM (SELECT nr, row_number() OVER (ORDER BY id DESC) AS place FROM sno_things) AS sorted;
SELECT id FROM (VALUES (sno 'x222222222222222'), (NULL), ('2222222222222223'),
       ('2222222222222222')) AS few (id)
ORDER BY id DESC NULLS LAST;
SELECT count(DISTINCT id), min(id), max(id) FROM sno_things;
SELECT min(id), max(id) FROM sno_things WHERE false;
SELECT min(id), max(id) FROM (VALUES (NULL::sno), ('2222222222222223'), ('2222222222222222')) AS few (id);
SELECT min(id) OVER w, max(id) OVER w
FROM (VALUES (1, sno '2222222222222224'), (2, '2222222222222222'), (3, '2222222222222223')) AS few (nr, id)
WINDOW w AS (ORDER BY nr);

-- btree --------------------------------------------------------------------------------------------

CREATE INDEX sno_btree ON sno_things (id);
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
FROM pg_temp.plan('SELECT min(id), max(id) FROM sno_things') AS line WHERE line LIKE '%Index%';
SELECT min(id) = (SELECT id FROM sno_things WHERE nr = 0) AS min,
       max(id) = (SELECT id FROM sno_things WHERE nr = 1023) AS max
FROM sno_things;
EXPLAIN (COSTS OFF) SELECT id FROM sno_things ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM sno_things WHERE id = '9e9q2k2222222222';
EXPLAIN (COSTS OFF) SELECT id FROM sno_things WHERE id > '9e9q2k2222222222' AND id <= 'x222222222222222';
EXPLAIN (COSTS OFF) SELECT id FROM sno_things WHERE id = ANY ('{9e9q2k2222222222,2222222222222222}');
-- Each operator through the index finds what it finds without.
CREATE FUNCTION pg_temp.found(operator text, bound sno) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM sno_things WHERE id %s $1', operator) INTO n USING bound;
    RETURN n;
END
$$;
CREATE TEMP TABLE by_index AS
SELECT operator, nr, pg_temp.found(operator, id) AS n
FROM unnest('{<,<=,=,>=,>}'::text[]) AS operator, sno_things WHERE nr % 100 IN (0, 1);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
SELECT operator, count(*) AS bounds, sum(n) AS found,
       count(*) FILTER (WHERE n <> pg_temp.found(operator, id)) AS different
FROM by_index JOIN sno_things USING (nr) GROUP BY operator ORDER BY operator;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
RESET enable_sort;

-- Equal images are equal values: an index keeps a run of them once.
CREATE TABLE sno_same AS SELECT sno '9e9q2k2222222222' AS id FROM generate_series(1, 20000);
CREATE INDEX sno_same_once ON sno_same (id);
CREATE INDEX sno_same_each ON sno_same (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('sno_same_once') * 2 < pg_relation_size('sno_same_each') AS smaller;
DROP TABLE sno_same;

CREATE UNIQUE INDEX sno_unique ON sno_things (id);
INSERT INTO sno_things SELECT id, nr FROM sno_things WHERE nr = 0;

-- A merge join meets every row.
CREATE TABLE sno_others AS SELECT * FROM sno_things WHERE nr < 300;
ANALYZE sno_others;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM sno_things AS a JOIN sno_others AS b USING (id);
SELECT count(*) FROM sno_things AS a JOIN sno_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_hashjoin;
RESET enable_nestloop;
DROP INDEX sno_btree, sno_unique;

-- hash ---------------------------------------------------------------------------------------------

-- With seed 0 the extended hash's lower half is the hash.
SELECT count(*) FILTER (WHERE sno_hash(id)::bit(32) <> sno_hash_extended(id, 0)::bit(32)) AS unlike_seed_0,
       count(*) FILTER (WHERE sno_hash(id)::bit(32) = sno_hash_extended(id, 1)::bit(32)) AS like_seed_1,
       count(DISTINCT sno_hash(id)) > 1000 AS spread,
       count(*) FILTER (WHERE sno_hash(id) <> sno_hash(id::text::sno)) AS inconstant
FROM sno_things;
-- Hash indexes and partitions live as long as the data: these stay as they are.
SELECT sno_hash('9q74gok3262so257'), sno_hash_extended('9q74gok3262so257', 0),
       sno_hash_extended('9q74gok3262so257', 42);

SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM sno_things AS a JOIN sno_others AS b USING (id);
SELECT count(*) FROM sno_things AS a JOIN sno_others AS b USING (id) WHERE a.nr = b.nr;
RESET enable_mergejoin;
RESET enable_nestloop;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM sno_things GROUP BY id;
SELECT count(*), sum(n) FROM (SELECT id, count(*) AS n FROM sno_things GROUP BY id) AS groups;
RESET enable_sort;

CREATE INDEX sno_hash_index ON sno_things USING hash (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM sno_things WHERE id = '9e9q2k2222222222';
SELECT count(*) AS found
FROM generate_series(0, 1023) AS wanted, LATERAL (SELECT id FROM sno_things WHERE nr = wanted) AS this,
     LATERAL (SELECT nr FROM sno_things WHERE id = this.id) AS that
WHERE that.nr = wanted;
RESET enable_bitmapscan;
DROP INDEX sno_hash_index;

-- BRIN ---------------------------------------------------------------------------------------------

CREATE TABLE sno_log AS SELECT id, nr FROM sno_things ORDER BY nr;
CREATE INDEX sno_brin ON sno_log USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT nr FROM sno_log WHERE id > '9e9q2k2222222222' AND id < 'x222222222222222';
CREATE TEMP TABLE by_brin AS
SELECT nr, (SELECT count(*) FROM sno_log AS log WHERE log.id < bound.id) AS below,
       (SELECT count(*) FROM sno_log AS log WHERE log.id <= bound.id) AS up_to,
       (SELECT count(*) FROM sno_log AS log WHERE log.id = bound.id) AS at,
       (SELECT count(*) FROM sno_log AS log WHERE log.id >= bound.id) AS from,
       (SELECT count(*) FROM sno_log AS log WHERE log.id > bound.id) AS above
FROM sno_things AS bound;
SELECT count(*) AS wrong FROM by_brin
WHERE (below, up_to, at, "from", above) <> (nr, nr + 1, 1, 1024 - nr, 1023 - nr);
RESET enable_seqscan;
DROP TABLE sno_log;

-- Row estimates come from the statistics of the column: a quarter is about a quarter.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT pg_temp.estimate(format('SELECT FROM sno_things WHERE id < %L', id)) BETWEEN 200 AND 312 AS quarter,
       pg_temp.estimate(format('SELECT FROM sno_things WHERE id >= %L', id)) BETWEEN 712 AND 824 AS rest,
       pg_temp.estimate(format('SELECT FROM sno_things WHERE id = %L', id)) AS one
FROM sno_things WHERE nr = 256;

DROP TABLE sno_things, sno_others;
