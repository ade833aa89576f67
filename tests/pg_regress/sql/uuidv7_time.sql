-- Conditions on the time of a uuidv7: what differs from other types, see times.sql. PostgreSQL's
-- type uuid has other UUIDs, too, and a function of two times can have NULL for one.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- IDs before, at and after every millisecond around three moments, and at both ends of
\echo -- the rest; years of them in between. Among them, at the same times, are UUIDs of
\echo -- versions 1, 4 and 8 and of another variant; then Nil and Max.
CREATE TABLE event (id uuid PRIMARY KEY, at timestamptz, valid boolean);
INSERT INTO event (id)
SELECT DISTINCT overlay(overlay(id::text PLACING version FROM 15 FOR 1)
    PLACING variant FROM 20 FOR 1)::uuid
FROM generate_series(0, 1) AS rest, unnest('{1,4,7,8}'::text[]) AS version,
    unnest('{8,b,c}'::text[]) AS variant,
     (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms', interval '1 ms')
      FROM unnest('{1970-01-01 00:00:00.005+00,2026-07-01 12:34:56.789+00,
                    10889-08-02 05:31:50.65+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('1970-01-02 00:00:00+00', '2200-01-01 00:00:00+00',
          interval '1000 days')) AS times (t),
     uuidv7_encode(t, rest * 4095, rest * 3, rest * 255, rest * 4503599627370495) AS id;
INSERT INTO event VALUES ('00000000-0000-0000-0000-000000000000'),
    ('ffffffff-ffff-ffff-ffff-ffffffffffff');
\echo -- The oracle is the timestamp, where the version and the variant say that there is one.
UPDATE event SET at = uuidv7_timestamp(id), valid = id::text ~ '^.{14}7.{4}[89ab]';
ANALYZE event;
SELECT count(*), count(*) FILTER (WHERE valid) AS valid,
    count(*) FILTER (WHERE valid IS DISTINCT FROM (at IS NOT NULL)) AS different,
       min(at), max(at) FROM event;

\echo -- Times on the edges and a microsecond to either side, within a millisecond, and far off.
CREATE TABLE moment (t timestamptz);
INSERT INTO moment
SELECT t + us * interval '1 us'
FROM unnest('{-1,0,1,500}'::int[]) AS us,
     (SELECT at FROM event WHERE id IN (SELECT id FROM event WHERE valid
         ORDER BY md5(id::text) LIMIT 8)
      UNION SELECT at FROM event
      WHERE at BETWEEN '2026-07-01 12:34:56.784+00' AND '2026-07-01 12:34:56.793+00') AS edges (t);
INSERT INTO moment VALUES ('-infinity'), ('1969-12-31 23:59:59.999999+00'),
    ('1970-01-01 00:00:00+00'), ('10889-08-02 05:31:50.655+00'),
    ('10889-08-02 05:31:50.655001+00'), ('10890-01-01 00:00:00+00'),
        ('294276-12-31 23:59:59.999999+00'), ('infinity'), (NULL);

CREATE TEMP TABLE few AS
SELECT id, at, valid FROM event WHERE id IN (SELECT id FROM event ORDER BY md5(id::text) LIMIT 60)
    OR id BETWEEN '019f1d9b-fed0-0000-0000-000000000000' AND '019f1d9b-fee0-0000-0000-000000000000'
    UNION ALL SELECT NULL, NULL, NULL;
CREATE TEMP TABLE few_moments AS
SELECT t FROM moment WHERE isfinite(t) IS NOT TRUE OR t BETWEEN '2026-07-01 12:34:56.788+00'
    AND '2026-07-01 12:34:56.790001+00' OR t < '1971-01-01' OR t > '3000-01-01';
\echo '-- From one time to another, either of which can be NULL: in SQL''s logic false, where one'
\echo -- comparison is false.
SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t)) AS between,
           count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS NULL) AS unknown,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS NOT TRUE AND valid AND at BETWEEN a.t
           AND b.t) AS lost,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) AND (valid AND at BETWEEN a.t AND b.t)
           IS NOT TRUE) AS wrong,
       count(*) FILTER (WHERE valid AND uuidv7_between(id, a.t, b.t)
           IS DISTINCT FROM (at BETWEEN a.t AND b.t)) AS valid_different,
       count(*) FILTER (WHERE NOT valid AND uuidv7_between(id, a.t, b.t) IS DISTINCT FROM false)
           AS others_different
FROM few, few_moments AS a, few_moments AS b;
-- The planner replaces a call by comparisons, but not one with a volatile argument: both give the
-- same, for all values.
CREATE FUNCTION pg_temp.asis(t timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE
    AS 'BEGIN RETURN t; END';
CREATE FUNCTION pg_temp.asis(times tstzrange) RETURNS tstzrange LANGUAGE plpgsql VOLATILE
    AS 'BEGIN RETURN times; END';
EXPLAIN (COSTS OFF, VERBOSE) SELECT uuidv7_between(id, a.t, b.t),
    uuidv7_between(id, pg_temp.asis(a.t), b.t) FROM event, moment AS a, moment AS b;
SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t)
           IS DISTINCT FROM uuidv7_between(id, pg_temp.asis(a.t), b.t)) AS different,
       count(*) FILTER (WHERE (NOT uuidv7_between(id, a.t, b.t))
           IS DISTINCT FROM (NOT uuidv7_between(id, pg_temp.asis(a.t), b.t))) AS not_different,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS NULL) AS unknown
FROM few, few_moments AS a, few_moments AS b;
SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_before(id, t)
           IS DISTINCT FROM uuidv7_before(id, pg_temp.asis(t))) AS before,
       count(*) FILTER (WHERE uuidv7_since(id, t)
           IS DISTINCT FROM uuidv7_since(id, pg_temp.asis(t))) AS since,
       count(*) FILTER (WHERE uuidv7_after(id, t)
           IS DISTINCT FROM uuidv7_after(id, pg_temp.asis(t))) AS after,
       count(*) FILTER (WHERE uuidv7_within(id, tstzrange(t, NULL))
           IS DISTINCT FROM uuidv7_within(id, pg_temp.asis(tstzrange(t, NULL)))) AS within
FROM few, few_moments;

\echo -- The same for a NULL in each place, written as a constant, a parameter, a subselect,
\echo -- and in a call that is not replaced.
CREATE TEMP TABLE asked (nr integer, a timestamptz, b timestamptz);
INSERT INTO asked VALUES (1, '2026-01-01', '2027-01-01'), (2, NULL, '2027-01-01'),
    (3, '2026-01-01', NULL), (4, NULL, NULL),
    (5, '2027-01-01', '2026-01-01'), (6, NULL, '1960-01-01'), (7, 'infinity', NULL),
        (8, NULL, 'infinity'), (9, '-infinity', NULL);
CREATE TEMP TABLE six AS
SELECT nr, id::uuid FROM unnest('{019f1d9b-fed5-7000-8000-000000000000,
    019f1d9b-fed5-4000-8000-000000000000,00000000-0000-0000-0000-000000000000,
    ffffffff-ffff-ffff-ffff-ffffffffffff,ffffffff-ffff-7fff-bfff-ffffffffffff,NULL}'::text[])
    WITH ORDINALITY AS ids (id, nr);
CREATE FUNCTION pg_temp.answers(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answers text;
BEGIN
    EXECUTE format('SELECT string_agg(coalesce((%s)::text, ''-''), '' '' ORDER BY nr) FROM six',
        condition) INTO answers;
    RETURN answers;
END
$$;
CREATE FUNCTION pg_temp.by_parameter(a timestamptz, b timestamptz) RETURNS text LANGUAGE plpgsql
AS $$
BEGIN
    RETURN (SELECT string_agg(coalesce(uuidv7_between(id, a, b)::text, '-'), ' ' ORDER BY nr)
        FROM six);
END
$$;
SET plan_cache_mode = force_generic_plan;
SELECT nr, a, b, constant, parameter = constant AS parameter, subselect = constant AS subselect,
    plain = constant AS plain
FROM asked, LATERAL (SELECT
    pg_temp.answers(format('uuidv7_between(id, %L::timestamptz, %L::timestamptz)', a, b))
        AS constant,
    pg_temp.by_parameter(a, b) AS parameter,
    pg_temp.answers(format('uuidv7_between(id, (SELECT a FROM asked WHERE nr = %s), '
        '(SELECT b FROM asked WHERE nr = %1$s))', nr)) AS subselect,
    pg_temp.answers(format('uuidv7_between(id, pg_temp.asis(%L::timestamptz), %L::timestamptz)', a,
        b)) AS plain) AS answers
ORDER BY nr;
RESET plan_cache_mode;
\echo -- The others are STRICT.
SELECT pg_temp.answers('uuidv7_before(id, NULL)') AS before,
    pg_temp.answers('uuidv7_since(id, (SELECT a FROM asked WHERE nr = 2))') AS since,
       pg_temp.answers('uuidv7_after(id, NULL::timestamptz)') AS after,
           pg_temp.answers('uuidv7_within(id, (SELECT NULL::tstzrange))') AS within;

\echo -- plans ----------------------------------------------------------------------------------
SET enable_seqscan = off;
SET enable_bitmapscan = off;
\echo -- Beside comparisons by the user, as a cursor has them.
EXPLAIN (COSTS OFF) SELECT id FROM event
WHERE id > '019f1d9b-fed5-7000-8000-000000000000' AND uuidv7_before(id, '2026-08-01')
    ORDER BY id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id > '019f1d9b-fed5-7000-8000-000000000000'
    AND uuidv7_between(id, '2026-07-01', '2026-08-01');
SELECT (SELECT count(*) FROM event WHERE id > '019f1d9b-fed5-7000-8000-000000000000'
    AND uuidv7_between(id, '2026-07-01', '2026-08-01')) AS found,
       (SELECT count(*) FROM event WHERE id > '019f1d9b-fed5-7000-8000-000000000000' AND valid
           AND at BETWEEN '2026-07-01' AND '2026-08-01') AS wanted;
\echo -- What is not before a time includes every other UUID, and is no range.
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE NOT uuidv7_before(id, '2026-07-01');
SELECT (SELECT count(*) FROM event WHERE NOT uuidv7_before(id, '2026-07-01')) AS found,
       (SELECT count(*) FROM event WHERE NOT valid OR at >= '2026-07-01') AS wanted;
\echo -- One of two ranges; a domain; one of several values.
CREATE DOMAIN event_id AS uuid;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_before(id::event_id, '1971-01-01');
RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_between(id, '2026-07-01', '2026-07-02')
    OR uuidv7_between(id, '2030-07-01', '2030-07-02');
SELECT (SELECT count(*) FROM event WHERE uuidv7_between(id, '2026-07-01', '2026-07-02')
    OR uuidv7_before(id, '1975-01-01')) AS found,
       (SELECT count(*) FROM event WHERE at BETWEEN '2026-07-01' AND '2026-07-02'
           OR at < '1975-01-01') AS wanted;
SET enable_bitmapscan = off;

\echo -- A partial index serves a query with its condition, and with a narrower one where
\echo -- PostgreSQL can tell.
CREATE TABLE noted (id uuid, nr integer);
INSERT INTO noted SELECT id, row_number() OVER (ORDER BY id) FROM event;
CREATE INDEX noted_late ON noted (nr) WHERE uuidv7_since(id, '2026-07-01 00:00+00');
CREATE UNIQUE INDEX noted_span ON noted (nr)
    WHERE uuidv7_within(id, '[2026-07-01 00:00+00,2026-08-01 00:00+00)');
ANALYZE noted;
EXPLAIN (COSTS OFF) SELECT id FROM noted WHERE nr = 7 AND uuidv7_since(id, '2026-07-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM noted WHERE nr = 7 AND uuidv7_since(id, '2026-07-02 00:00+00');
INSERT INTO noted SELECT id, nr FROM noted ON CONFLICT (nr)
    WHERE uuidv7_within(id, '[2026-07-01 00:00+00,2026-08-01 00:00+00)') DO NOTHING;
SELECT count(*) AS twice FROM (SELECT FROM noted GROUP BY nr HAVING count(*) > 1) AS rows;
SELECT count(*) = (SELECT count(*) FROM event WHERE at < '2026-07-01 00:00+00'
    OR at >= '2026-08-01 00:00+00' OR NOT valid) AS all_others
FROM (SELECT FROM noted GROUP BY nr HAVING count(*) > 1) AS rows;

RESET enable_bitmapscan;

\echo -- BRIN serves them in the other operator class of uuid, too.
CREATE TABLE event_heap AS SELECT id, at, valid FROM event ORDER BY md5(left(id::text, 9)), id;
CREATE INDEX event_heap_id ON event_heap USING brin (id uuid_minmax_multi_ops)
    WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM event_heap
    WHERE uuidv7_between(id, '2026-07-01', '2026-08-01');
SELECT (SELECT count(*) FROM event_heap WHERE uuidv7_between(id, '2026-07-01', '2026-08-01'))
        AS found,
    (SELECT count(*) FROM event WHERE at BETWEEN '2026-07-01' AND '2026-08-01') AS wanted;
RESET enable_seqscan;

-- A plan as all versions print it: 19 says what a Result stands for.
CREATE FUNCTION pg_temp.plan_of_result(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ '^ *Replaces: ' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;

\echo -- partitions -----------------------------------------------------------------------------
\echo -- By year; the first and the last also take the UUIDs without a time that sort there.
CREATE TABLE part (id uuid PRIMARY KEY, at timestamptz) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES FROM (%L) TO (%L)', name, lower,
    upper)
FROM uuidv7_partition_bounds('2025-01-01', '2028-01-01', '1 year') \gexec
CREATE TABLE part_rest PARTITION OF part DEFAULT;
INSERT INTO part SELECT id, at FROM event;
ANALYZE part;
EXPLAIN (COSTS OFF) SELECT at FROM part WHERE uuidv7_within(id, '[2026-01-01,2026-12-31]');
EXPLAIN (COSTS OFF) SELECT at FROM part WHERE uuidv7_before(id, '2026-01-01');
SELECT pg_temp.plan_of_result(
    $$SELECT at FROM part WHERE uuidv7_between(id, '2026-01-01', '2025-01-01')$$);
SELECT pg_temp.plan_of_result($$SELECT at FROM part WHERE uuidv7_within(id, 'empty')$$);
SET plan_cache_mode = force_generic_plan;
PREPARE of_part (timestamptz, timestamptz) AS SELECT count(*) FROM part
    WHERE uuidv7_between(id, $1, $2);
EXECUTE of_part ('2026-02-01', '2026-12-01');
SELECT count(*) FROM part WHERE at BETWEEN '2026-02-01' AND '2026-12-01';
RESET plan_cache_mode;
SELECT (SELECT count(*) FROM part WHERE uuidv7_since(id, (SELECT timestamptz '2027-01-01')))
    AS found,
       (SELECT count(*) FROM part WHERE at >= '2027-01-01') AS wanted;

DEALLOCATE ALL;
DROP TABLE event, event_heap, noted, moment, part;
DROP DOMAIN event_id;
