-- Time as a predicate of uuidv7: the functions say of a uuid of version 7 what they say of its timestamp, and false of each
-- other UUID. An index of PostgreSQL's own uuid serves them.
SET timezone TO 'UTC';
SET datestyle TO ISO;

-- IDs before, at and after every millisecond around three moments, and at both ends of the rest; years of them in between.
-- Among them, at the same times, are UUIDs of versions 1, 4 and 8 and of another variant; then Nil and Max.
CREATE TABLE event (id uuid PRIMARY KEY, at timestamptz, valid boolean);
INSERT INTO event (id)
SELECT DISTINCT overlay(overlay(id::text PLACING version FROM 15 FOR 1) PLACING variant FROM 20 FOR 1)::uuid
FROM generate_series(0, 1) AS rest, unnest('{1,4,7,8}'::text[]) AS version, unnest('{8,b,c}'::text[]) AS variant,
     (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms', interval '1 ms')
      FROM unnest('{1970-01-01 00:00:00.005+00,2026-07-01 12:34:56.789+00,10889-08-02 05:31:50.65+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('1970-01-02 00:00:00+00', '2200-01-01 00:00:00+00', interval '1000 days')) AS times (t),
     uuidv7_encode(t, rest * 4095, rest * 3, rest * 255, rest * 4503599627370495) AS id;
INSERT INTO event VALUES ('00000000-0000-0000-0000-000000000000'), ('ffffffff-ffff-ffff-ffff-ffffffffffff');
-- The oracle is the timestamp, where the version and the variant say that there is one.
UPDATE event SET at = uuidv7_timestamp(id), valid = id::text ~ '^.{14}7.{4}[89ab]';
ANALYZE event;
SELECT count(*), count(*) FILTER (WHERE valid) AS valid, count(*) FILTER (WHERE valid IS DISTINCT FROM (at IS NOT NULL)) AS different,
       min(at), max(at) FROM event;

-- Times on the edges and a microsecond to either side, within a millisecond, and far off.
CREATE TABLE moment (t timestamptz);
INSERT INTO moment
SELECT t + us * interval '1 us'
FROM unnest('{-1,0,1,500}'::int[]) AS us,
     (SELECT at FROM event WHERE id IN (SELECT id FROM event WHERE valid ORDER BY md5(id::text) LIMIT 8)
      UNION SELECT at FROM event
      WHERE at BETWEEN '2026-07-01 12:34:56.784+00' AND '2026-07-01 12:34:56.793+00') AS edges (t);
INSERT INTO moment VALUES ('-infinity'), ('1969-12-31 23:59:59.999999+00'), ('1970-01-01 00:00:00+00'), ('10889-08-02 05:31:50.655+00'),
    ('10889-08-02 05:31:50.655001+00'), ('10890-01-01 00:00:00+00'), ('294276-12-31 23:59:59.999999+00'), ('infinity'), (NULL);

SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_before(id, t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN valid AND at < t END)) AS before,
       count(*) FILTER (WHERE uuidv7_since(id, t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN valid AND at >= t END)) AS since,
       count(*) FILTER (WHERE uuidv7_after(id, t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN valid AND at > t END)) AS after,
       count(*) FILTER (WHERE (NOT uuidv7_before(id, t)) IS DISTINCT FROM (NOT (CASE WHEN t IS NOT NULL THEN valid AND at < t END))) AS not_before,
       count(*) FILTER (WHERE (NOT uuidv7_since(id, t)) IS DISTINCT FROM (NOT (CASE WHEN t IS NOT NULL THEN valid AND at >= t END))) AS not_since,
       count(*) FILTER (WHERE (NOT uuidv7_after(id, t)) IS DISTINCT FROM (NOT (CASE WHEN t IS NOT NULL THEN valid AND at > t END))) AS not_after
FROM event, moment;
-- How many of them are true, so that none of the above was empty.
SELECT count(*) FILTER (WHERE uuidv7_before(id, t)) AS before, count(*) FILTER (WHERE uuidv7_since(id, t)) AS since,
       count(*) FILTER (WHERE uuidv7_after(id, t)) AS after, count(*) FILTER (WHERE uuidv7_before(id, t) IS NULL) AS unknown,
       count(*) FILTER (WHERE NOT uuidv7_before(id, t) AND NOT uuidv7_since(id, t)) AS neither
FROM event, moment;

CREATE TEMP TABLE few AS
SELECT id, at, valid FROM event WHERE id IN (SELECT id FROM event ORDER BY md5(id::text) LIMIT 60)
    OR id BETWEEN '019f1d9b-fed0-0000-0000-000000000000' AND '019f1d9b-fee0-0000-0000-000000000000' UNION ALL SELECT NULL, NULL, NULL;
CREATE TEMP TABLE few_moments AS
SELECT t FROM moment WHERE isfinite(t) IS NOT TRUE OR t BETWEEN '2026-07-01 12:34:56.788+00' AND '2026-07-01 12:34:56.790001+00' OR t < '1971-01-01' OR t > '3000-01-01';
-- From one time to another, either of which can be NULL: in SQL's logic false, where one comparison is false.
SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t)) AS between, count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS NULL) AS unknown,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS NOT TRUE AND valid AND at BETWEEN a.t AND b.t) AS lost,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) AND (valid AND at BETWEEN a.t AND b.t) IS NOT TRUE) AS wrong,
       count(*) FILTER (WHERE valid AND uuidv7_between(id, a.t, b.t) IS DISTINCT FROM (at BETWEEN a.t AND b.t)) AS valid_different,
       count(*) FILTER (WHERE NOT valid AND uuidv7_between(id, a.t, b.t) IS DISTINCT FROM false) AS others_different
FROM few, few_moments AS a, few_moments AS b;
-- The planner replaces a call by comparisons, but not one with a volatile argument: both give the same, for all values.
CREATE FUNCTION pg_temp.asis(t timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN t; END';
CREATE FUNCTION pg_temp.asis(times tstzrange) RETURNS tstzrange LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN times; END';
EXPLAIN (COSTS OFF, VERBOSE) SELECT uuidv7_between(id, a.t, b.t), uuidv7_between(id, pg_temp.asis(a.t), b.t) FROM event, moment AS a, moment AS b;
SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS DISTINCT FROM uuidv7_between(id, pg_temp.asis(a.t), b.t)) AS different,
       count(*) FILTER (WHERE (NOT uuidv7_between(id, a.t, b.t)) IS DISTINCT FROM (NOT uuidv7_between(id, pg_temp.asis(a.t), b.t))) AS not_different,
       count(*) FILTER (WHERE uuidv7_between(id, a.t, b.t) IS NULL) AS unknown
FROM few, few_moments AS a, few_moments AS b;
SELECT count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_before(id, t) IS DISTINCT FROM uuidv7_before(id, pg_temp.asis(t))) AS before,
       count(*) FILTER (WHERE uuidv7_since(id, t) IS DISTINCT FROM uuidv7_since(id, pg_temp.asis(t))) AS since,
       count(*) FILTER (WHERE uuidv7_after(id, t) IS DISTINCT FROM uuidv7_after(id, pg_temp.asis(t))) AS after,
       count(*) FILTER (WHERE uuidv7_within(id, tstzrange(t, NULL)) IS DISTINCT FROM uuidv7_within(id, pg_temp.asis(tstzrange(t, NULL)))) AS within
FROM few, few_moments;

-- The same for a NULL in each place, written as a constant, a parameter, a subselect, and in a call that is not replaced.
CREATE TEMP TABLE asked (nr integer, a timestamptz, b timestamptz);
INSERT INTO asked VALUES (1, '2026-01-01', '2027-01-01'), (2, NULL, '2027-01-01'), (3, '2026-01-01', NULL), (4, NULL, NULL),
    (5, '2027-01-01', '2026-01-01'), (6, NULL, '1960-01-01'), (7, 'infinity', NULL), (8, NULL, 'infinity'), (9, '-infinity', NULL);
CREATE FUNCTION pg_temp.answers(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answers text;
BEGIN
    EXECUTE 'SELECT string_agg(coalesce((' || condition || ')::text, ''-''), '' '' ORDER BY nr) FROM (VALUES (1, uuid ''019f1d9b-fed5-7000-8000-000000000000''),'
        ' (2, ''019f1d9b-fed5-4000-8000-000000000000''), (3, ''00000000-0000-0000-0000-000000000000''), (4, ''ffffffff-ffff-ffff-ffff-ffffffffffff''),'
        ' (5, ''ffffffff-ffff-7fff-bfff-ffffffffffff''), (6, NULL)) AS ids (nr, id)' INTO answers;
    RETURN answers;
END
$$;
CREATE FUNCTION pg_temp.by_parameter(a timestamptz, b timestamptz) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT string_agg(coalesce(uuidv7_between(id, a, b)::text, '-'), ' ' ORDER BY nr)
        FROM (VALUES (1, uuid '019f1d9b-fed5-7000-8000-000000000000'), (2, '019f1d9b-fed5-4000-8000-000000000000'),
            (3, '00000000-0000-0000-0000-000000000000'), (4, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
            (5, 'ffffffff-ffff-7fff-bfff-ffffffffffff'), (6, NULL)) AS ids (nr, id));
END
$$;
SET plan_cache_mode = force_generic_plan;
SELECT nr, a, b, constant, parameter = constant AS parameter, subselect = constant AS subselect, plain = constant AS plain
FROM asked, LATERAL (SELECT
    pg_temp.answers(format('uuidv7_between(id, %L::timestamptz, %L::timestamptz)', a, b)) AS constant,
    pg_temp.by_parameter(a, b) AS parameter,
    pg_temp.answers(format('uuidv7_between(id, (SELECT a FROM asked WHERE nr = %s), (SELECT b FROM asked WHERE nr = %1$s))', nr)) AS subselect,
    pg_temp.answers(format('uuidv7_between(id, pg_temp.asis(%L::timestamptz), %L::timestamptz)', a, b)) AS plain) AS answers
ORDER BY nr;
RESET plan_cache_mode;
-- The others are STRICT.
SELECT pg_temp.answers('uuidv7_before(id, NULL)') AS before, pg_temp.answers('uuidv7_since(id, (SELECT a FROM asked WHERE nr = 2))') AS since,
       pg_temp.answers('uuidv7_after(id, NULL::timestamptz)') AS after, pg_temp.answers('uuidv7_within(id, (SELECT NULL::tstzrange))') AS within;

-- Ranges, with their ends in and out, without ends, infinite and empty.
CREATE TABLE span (times tstzrange);
INSERT INTO span
SELECT tstzrange(least(a.t, b.t), greatest(a.t, b.t), ends)
FROM unnest('{[],[),(],()}'::text[]) AS ends,
     (SELECT t FROM moment WHERE t > '2026-07-01 12:34:56.786+00' AND t < '2026-07-01 12:34:56.79+00'
         OR isfinite(t) AND extract(year FROM t) % 5 = 0) AS a,
     (SELECT t FROM moment WHERE t BETWEEN '2026-07-01 12:34:56.787999+00'
         AND '2026-07-01 12:34:56.79+00') AS b;
INSERT INTO span VALUES
    ('empty'), ('(,)'), ('[,2026-07-01 12:34:56.788+00]'), ('(,2026-07-01 12:34:56.788+00)'),
    ('[2026-07-01 12:34:56.788+00,]'), ('(2026-07-01 12:34:56.788+00,)'), ('[-infinity,infinity]'),
    ('(-infinity,infinity)'), ('[-infinity,2026-07-01 12:34:56.788+00)'),
    ('(2026-07-01 12:34:56.788+00,infinity]'), ('[infinity,infinity]'), ('(,-infinity]'),
    ('[1900-01-01,1969-12-31]'), ('[11000-01-01,12000-01-01]'), ('(10889-08-02 05:31:50.654+00,)'),
    ('[10889-08-02 05:31:50.655+00,infinity)'), ('(10889-08-02 05:31:50.655+00,infinity]'), (NULL);
SELECT (SELECT count(DISTINCT times) FROM span) AS spans, count(*) AS cases,
       count(*) FILTER (WHERE uuidv7_within(id, times) IS DISTINCT FROM (CASE WHEN times IS NOT NULL THEN valid AND at <@ times END)) AS within,
       count(*) FILTER (WHERE uuidv7_within(id, times)) AS in, count(*) FILTER (WHERE uuidv7_within(id, times) IS NULL) AS unknown
FROM event, span;

-- plans --------------------------------------------------------------------------------------------

SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_before(id, '2026-07-01 12:34:56.789+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_since(id, '2026-07-01 12:34:56.789+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_after(id, '2026-07-01 12:34:56.789+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_between(id, '2026-07-01', '2026-08-01');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_between(id, '2026-07-01', 'infinity');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_within(id, tstzrange('2026-07-01 12:34:56.789+00', '2026-07-02 00:00:00+00'));
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_within(id, tstzrange('2026-07-01 12:34:56.789+00', NULL, '()'));
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_within(id, tstzrange(now() - interval '5 s', now()));
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_after(id, now() - interval '5 s');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_since(id, '2026-07-01') ORDER BY id DESC LIMIT 1;
-- Beside comparisons by the user, as a cursor has them.
EXPLAIN (COSTS OFF) SELECT id FROM event
WHERE id > '019f1d9b-fed5-7000-8000-000000000000' AND uuidv7_before(id, '2026-08-01') ORDER BY id LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id > '019f1d9b-fed5-7000-8000-000000000000' AND uuidv7_between(id, '2026-07-01', '2026-08-01');
SELECT (SELECT count(*) FROM event WHERE id > '019f1d9b-fed5-7000-8000-000000000000' AND uuidv7_between(id, '2026-07-01', '2026-08-01')) AS found,
       (SELECT count(*) FROM event WHERE id > '019f1d9b-fed5-7000-8000-000000000000' AND valid AND at BETWEEN '2026-07-01' AND '2026-08-01') AS wanted;
-- What is not before a time includes every other UUID, and is no range.
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE NOT uuidv7_before(id, '2026-07-01');
SELECT (SELECT count(*) FROM event WHERE NOT uuidv7_before(id, '2026-07-01')) AS found,
       (SELECT count(*) FROM event WHERE NOT valid OR at >= '2026-07-01') AS wanted;
-- One of two ranges; a domain; one of several values.
CREATE DOMAIN event_id AS uuid;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_before(id::event_id, '1971-01-01');
RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE uuidv7_between(id, '2026-07-01', '2026-07-02') OR uuidv7_between(id, '2030-07-01', '2030-07-02');
SELECT (SELECT count(*) FROM event WHERE uuidv7_between(id, '2026-07-01', '2026-07-02') OR uuidv7_before(id, '1975-01-01')) AS found,
       (SELECT count(*) FROM event WHERE at BETWEEN '2026-07-01' AND '2026-07-02' OR at < '1975-01-01') AS wanted;
SET enable_bitmapscan = off;
-- One join's side gives the times, the other's index the IDs.
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT count(*) FROM span, event WHERE uuidv7_within(id, times);
SELECT (SELECT count(*) FROM span, event WHERE uuidv7_within(id, times)) AS found,
       (SELECT count(*) FROM span, event WHERE at <@ times) AS wanted;
SET enable_seqscan = off;

-- A plan made once for any time.
SET plan_cache_mode = force_generic_plan;
PREPARE before (timestamptz) AS SELECT count(*) FROM event WHERE uuidv7_before(id, $1);
PREPARE between_two (timestamptz, timestamptz) AS SELECT count(*) FROM event WHERE uuidv7_between(id, $1, $2);
PREPARE within (tstzrange) AS SELECT count(*) FROM event WHERE uuidv7_within(id, $1);
PREPARE since (interval) AS SELECT count(*) FROM event
WHERE uuidv7_since(id, timestamptz '2026-07-01 12:34:56.788+00' - $1);
EXPLAIN (COSTS OFF) EXECUTE before ('2026-07-01');
EXPLAIN (COSTS OFF) EXECUTE between_two ('2026-07-01', '2026-08-01');
EXPLAIN (COSTS OFF) EXECUTE within ('(,)');
EXPLAIN (COSTS OFF) EXECUTE since ('1 day');
EXECUTE between_two ('2026-07-01 12:34:56.788+00', '2026-07-01 12:34:56.788+00');
EXECUTE between_two ('2026-07-01 12:34:56.788001+00', '2026-07-01 12:34:56.788999+00');
EXECUTE between_two ('2026-07-01', NULL);
EXECUTE within ('empty');
EXECUTE within ('[2026-07-01 12:34:56.787+00,2026-07-01 12:34:56.788+00)');
EXECUTE within (NULL);
EXECUTE before (NULL);

-- Through the index the same are found as without, by plans for one time and for any.
CREATE FUNCTION pg_temp.found(predicate text, t timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    EXECUTE format('SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE ' || predicate, t) INTO found;
    RETURN found;
END
$$;
CREATE FUNCTION pg_temp.generic(t timestamptz) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY[
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE uuidv7_before(id, t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE uuidv7_since(id, t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE uuidv7_after(id, t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE uuidv7_between(id, t, t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE uuidv7_between(id, t - interval '5000 days', t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE uuidv7_within(id, tstzrange(t, t + interval '1 minute', '[]')))];
END
$$;
CREATE TEMP TABLE by_index AS
SELECT t, pg_temp.generic(t) AS generic, ARRAY[
    pg_temp.found('uuidv7_before(id, %L)', t), pg_temp.found('uuidv7_since(id, %L)', t), pg_temp.found('uuidv7_after(id, %L)', t),
    pg_temp.found('uuidv7_between(id, %1$L, %1$L)', t),
    pg_temp.found('uuidv7_between(id, %1$L::timestamptz - interval ''5000 days'', %1$L)', t),
    pg_temp.found('uuidv7_within(id, tstzrange(%1$L, %1$L::timestamptz + interval ''1 minute'', ''[]''))', t)] AS custom
FROM (SELECT t FROM moment WHERE t < '290000-01-01' AND t > '-infinity'
      UNION SELECT DISTINCT timestamptz '1970-01-01 00:00:00+00' + interval '80000 days' * (('x' || left(md5(nr::text), 6))::bit(24)::integer / 16777216.0)
      FROM generate_series(1, 200) AS nr) AS times (t);
RESET plan_cache_mode;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
CREATE TEMP TABLE by_row AS
SELECT t, ARRAY[
    pg_temp.found('valid AND at < %L::timestamptz', t), pg_temp.found('valid AND at >= %L::timestamptz', t),
    pg_temp.found('valid AND at > %L::timestamptz', t), pg_temp.found('valid AND at = %L::timestamptz', t),
    pg_temp.found('valid AND at BETWEEN %1$L::timestamptz - interval ''5000 days'' AND %1$L', t),
    pg_temp.found('valid AND at <@ tstzrange(%1$L, %1$L::timestamptz + interval ''1 minute'', ''[]'')', t)] AS plain
FROM by_index;
SELECT count(*) > 240 AS times, count(*) FILTER (WHERE generic IS DISTINCT FROM plain) AS generic_different,
       count(*) FILTER (WHERE custom IS DISTINCT FROM plain) AS custom_different,
       count(DISTINCT plain) > 50 AS answers
FROM by_index JOIN by_row USING (t);
SET enable_seqscan = off;
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- Through a view, and one that keeps its rows from prying functions.
CREATE VIEW event_made AS SELECT id, uuidv7_timestamp(id) AS made_at FROM event;
CREATE VIEW event_guarded WITH (security_barrier) AS SELECT id FROM event WHERE valid IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT id, made_at FROM event_made WHERE uuidv7_since(id, '2026-07-01 12:34:56.789+00');
EXPLAIN (COSTS OFF) SELECT id FROM event_guarded WHERE uuidv7_since(id, '2026-07-01 12:34:56.789+00');

-- A partial index serves a query with its condition, and with a narrower one where PostgreSQL can tell.
CREATE TABLE noted (id uuid, nr integer);
INSERT INTO noted SELECT id, row_number() OVER (ORDER BY id) FROM event;
CREATE INDEX noted_late ON noted (nr) WHERE uuidv7_since(id, '2026-07-01 00:00+00');
CREATE UNIQUE INDEX noted_span ON noted (nr) WHERE uuidv7_within(id, '[2026-07-01 00:00+00,2026-08-01 00:00+00)');
ANALYZE noted;
EXPLAIN (COSTS OFF) SELECT id FROM noted WHERE nr = 7 AND uuidv7_since(id, '2026-07-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM noted WHERE nr = 7 AND uuidv7_since(id, '2026-07-02 00:00+00');
INSERT INTO noted SELECT id, nr FROM noted ON CONFLICT (nr) WHERE uuidv7_within(id, '[2026-07-01 00:00+00,2026-08-01 00:00+00)') DO NOTHING;
SELECT count(*) AS twice FROM (SELECT FROM noted GROUP BY nr HAVING count(*) > 1) AS rows;
SELECT count(*) = (SELECT count(*) FROM event WHERE at < '2026-07-01 00:00+00' OR at >= '2026-08-01 00:00+00' OR NOT valid) AS all_others
FROM (SELECT FROM noted GROUP BY nr HAVING count(*) > 1) AS rows;

-- Row estimates follow from the IDs' own statistics.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT query, round(pg_temp.estimate('SELECT FROM event WHERE ' || query)::numeric
           / (SELECT count(*) FROM event), 1) AS share
FROM unnest(ARRAY[
    $$uuidv7_before(id, '2024-01-01')$$, $$uuidv7_since(id, '2024-01-01')$$,
    $$uuidv7_between(id, '2024-01-01', '2078-01-01')$$, $$uuidv7_within(id, tstzrange('2024-01-01', '2078-01-01'))$$
]) AS query;
RESET enable_bitmapscan;

-- BRIN serves them too, in both operator classes of uuid.
CREATE TABLE event_log AS SELECT id, at, valid FROM event ORDER BY id;
CREATE TABLE event_heap AS SELECT id, at, valid FROM event ORDER BY md5(left(id::text, 9)), id;
CREATE INDEX event_log_id ON event_log USING brin (id) WITH (pages_per_range = 1);
CREATE INDEX event_heap_id ON event_heap USING brin (id uuid_minmax_multi_ops) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM event_log WHERE uuidv7_within(id, tstzrange('2026-07-01', '2026-08-01'));
EXPLAIN (COSTS OFF) SELECT count(*) FROM event_heap WHERE uuidv7_between(id, '2026-07-01', '2026-08-01');
SELECT (SELECT count(*) FROM event_log WHERE uuidv7_within(id, tstzrange('2026-07-01', '2026-08-01'))) AS minmax,
       (SELECT count(*) FROM event_heap WHERE uuidv7_between(id, '2026-07-01', '2026-08-01')) AS minmax_multi,
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

-- partitions ---------------------------------------------------------------------------------------

-- By year; the first and the last also take the UUIDs without a time that sort there.
CREATE TABLE part (id uuid PRIMARY KEY, at timestamptz) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES FROM (%L) TO (%L)', name, lower, upper)
FROM uuidv7_partition_bounds('2025-01-01', '2028-01-01', '1 year') \gexec
CREATE TABLE part_rest PARTITION OF part DEFAULT;
INSERT INTO part SELECT id, at FROM event;
ANALYZE part;
EXPLAIN (COSTS OFF) SELECT at FROM part WHERE uuidv7_within(id, '[2026-01-01,2026-12-31]');
EXPLAIN (COSTS OFF) SELECT at FROM part WHERE uuidv7_before(id, '2026-01-01');
SELECT pg_temp.plan_of_result($$SELECT at FROM part WHERE uuidv7_between(id, '2026-01-01', '2025-01-01')$$);
SELECT pg_temp.plan_of_result($$SELECT at FROM part WHERE uuidv7_within(id, 'empty')$$);
SET plan_cache_mode = force_generic_plan;
PREPARE of_part (timestamptz, timestamptz) AS SELECT count(*) FROM part WHERE uuidv7_between(id, $1, $2);
EXPLAIN (COSTS OFF) EXECUTE of_part ('2027-02-01', '2027-03-01');
EXECUTE of_part ('2026-02-01', '2026-12-01');
SELECT count(*) FROM part WHERE at BETWEEN '2026-02-01' AND '2026-12-01';
RESET plan_cache_mode;
SELECT (SELECT count(*) FROM part WHERE uuidv7_since(id, (SELECT timestamptz '2027-01-01'))) AS found,
       (SELECT count(*) FROM part WHERE at >= '2027-01-01') AS wanted;

DEALLOCATE ALL;
DROP VIEW event_made, event_guarded;
DROP TABLE event, event_log, event_heap, noted, moment, span, part;
DROP DOMAIN event_id;
