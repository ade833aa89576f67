-- Time as a predicate of uniqueid: the operators say of an ID that it sorts by its time, and what they say of
-- its timestamp; and an index of the ID serves them.
SET timezone TO 'UTC';
SET datestyle TO ISO;

-- IDs before, at and after every edge of a millisecond around three moments, in both modes; years of them in
-- between; and beside each that sorts by its time a spread one, which differs from it in nothing but the bit
-- that says so.
CREATE TABLE event (id uniqueid PRIMARY KEY, at timestamptz, sequential boolean);
INSERT INTO event (id)
SELECT DISTINCT uniqueid_encode(t, rest * 63, rest * 2047, rest * 15, mode)
FROM generate_series(0, 1) AS rest, unnest(enum_range(NULL::uniqueid_mode)) AS mode,
     (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms', interval '1 ms')
      FROM unnest('{1970-01-01 00:00:00.006+00,2026-07-01 12:34:56.788+00,2109-05-15 07:35:11.097+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('1970-01-02 00:00:00+00', '2109-05-01 00:00:00+00',
          interval '500 days')) AS times (t);
INSERT INTO event (id)
SELECT set_byte(id::bytea, 6, get_byte(id::bytea, 6) & 239)::uniqueid FROM event WHERE uniqueid_sequential(id);
UPDATE event SET at = uniqueid_timestamp(id), sequential = uniqueid_sequential(id);
ANALYZE event;
SELECT sequential, count(*), min(at), max(at) FROM event GROUP BY sequential ORDER BY sequential;

-- Times on the edges and a microsecond to either side, within a millisecond, and far off.
CREATE TABLE moment (t timestamptz);
INSERT INTO moment
SELECT t + us * interval '1 us'
FROM unnest('{-1,0,1,500}'::int[]) AS us,
     (SELECT at FROM event WHERE id IN (SELECT id FROM event ORDER BY md5(id::text) LIMIT 8)
      UNION SELECT at FROM event
      WHERE at BETWEEN '2026-07-01 12:34:56.784+00' AND '2026-07-01 12:34:56.793+00') AS edges (t);
INSERT INTO moment VALUES ('-infinity'), ('1969-12-31 23:59:59.999999+00'), ('2109-05-15 07:35:11.103+00'),
    ('2109-05-15 07:35:11.103001+00'), ('2600-01-01 00:00:00+00'), ('294276-12-31 23:59:59.999999+00'), ('infinity'), (NULL);

SELECT count(*) AS cases,
       count(*) FILTER (WHERE (id < t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND at < t END)) AS lt,
       count(*) FILTER (WHERE (id <= t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND at <= t END)) AS le,
       count(*) FILTER (WHERE (id = t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND at = t END)) AS eq,
       count(*) FILTER (WHERE (id <> t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND at <> t END)) AS ne,
       count(*) FILTER (WHERE (id >= t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND at >= t END)) AS ge,
       count(*) FILTER (WHERE (id > t) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND at > t END)) AS gt
FROM event, moment;
SELECT count(*) AS cases,
       count(*) FILTER (WHERE (t < id) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND t < at END)) AS lt,
       count(*) FILTER (WHERE (t <= id) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND t <= at END)) AS le,
       count(*) FILTER (WHERE (t = id) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND t = at END)) AS eq,
       count(*) FILTER (WHERE (t <> id) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND t <> at END)) AS ne,
       count(*) FILTER (WHERE (t >= id) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND t >= at END)) AS ge,
       count(*) FILTER (WHERE (t > id) IS DISTINCT FROM (CASE WHEN t IS NOT NULL THEN sequential AND t > at END)) AS gt
FROM event, moment;
-- How many of them are true, so that none of the above was empty.
SELECT count(*) FILTER (WHERE id < t) AS lt, count(*) FILTER (WHERE id = t) AS eq,
       count(*) FILTER (WHERE id > t) AS gt,
       count(*) FILTER (WHERE (id = t) IS NULL) AS unknown
FROM event, moment;
-- A spread one is neither before a time nor at or after it: not before is not at or after.
SELECT count(*) AS cases,
       count(*) FILTER (WHERE (NOT id < t) IS DISTINCT FROM (NOT (CASE WHEN t IS NOT NULL THEN sequential AND at < t END))) AS not_lt,
       count(*) FILTER (WHERE (NOT id = t) IS DISTINCT FROM (NOT (CASE WHEN t IS NOT NULL THEN sequential AND at = t END))) AS not_eq,
       count(*) FILTER (WHERE (NOT t >= id) IS DISTINCT FROM (NOT (CASE WHEN t IS NOT NULL THEN sequential AND t >= at END))) AS not_ge,
       count(*) FILTER (WHERE NOT id < t AND NOT id >= t) AS neither
FROM event, moment;
SELECT (SELECT count(*) FROM event WHERE NOT id < timestamptz '2026-07-01 12:34:56.788+00') AS not_before,
       (SELECT count(*) FROM event WHERE id >= timestamptz '2026-07-01 12:34:56.788+00') AS at_or_after,
       (SELECT count(*) FROM event WHERE NOT sequential OR at >= '2026-07-01 12:34:56.788+00') AS in_truth;

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
    ('[1900-01-01,1969-12-31]'), ('[2600-01-01,2700-01-01]'), ('(2109-05-15 07:35:11.102+00,)'),
    ('[2109-05-15 07:35:11.102+00,infinity)'), ('(2109-05-15 07:35:11.103+00,infinity]'), (NULL);
SELECT (SELECT count(DISTINCT times) FROM span) AS spans, count(*) AS cases,
       count(*) FILTER (WHERE (id <@ times) IS DISTINCT FROM (CASE WHEN times IS NOT NULL THEN sequential AND at <@ times END)) AS within,
       count(*) FILTER (WHERE (times @> id) IS DISTINCT FROM (CASE WHEN times IS NOT NULL THEN sequential AND times @> at END)) AS holds,
       count(*) FILTER (WHERE id <@ times) AS in, count(*) FILTER (WHERE (id <@ times) IS NULL) AS unknown
FROM event, span;
SELECT NULL::uniqueid <@ '(,)'::tstzrange AS id, NULL::uniqueid < timestamptz '2026-01-01' AS lt,
       NULL::uniqueid = timestamptz '2026-01-01' AS eq;

-- plans --------------------------------------------------------------------------------------------

SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id < timestamptz '2026-07-01 12:34:56.789+00';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id <= timestamptz '2026-07-01 12:34:56.789+00';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id = timestamptz '2026-07-01 12:34:56.788+00';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id >= timestamptz '2026-07-01 12:34:56.789+00';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id > timestamptz '2026-07-01 12:34:56.789+00';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE timestamptz '2026-07-01 12:34:56.789+00' < id;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE timestamptz '2026-07-01 12:34:56.789+00' <= id;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE timestamptz '2026-07-01 12:34:56.788+00' = id;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE timestamptz '2026-07-01 12:34:56.789+00' >= id;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE timestamptz '2026-07-01 12:34:56.789+00' > id;
EXPLAIN (COSTS OFF) SELECT id FROM event
WHERE id BETWEEN timestamptz '2026-07-01' AND timestamptz '2026-08-01';
EXPLAIN (COSTS OFF) SELECT id FROM event
WHERE id <@ tstzrange('2026-07-01 12:34:56.789+00', '2026-07-02 00:00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE tstzrange('2026-07-01 12:34:56.789+00', NULL, '()') @> id;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id <@ tstzrange(now() - interval '5 s', now());
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id > now() - interval '5 s';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE id > timestamptz '2026-07-01' ORDER BY id DESC LIMIT 1;
-- One join's side gives the times, the other's index the IDs.
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT count(*) FROM span, event WHERE id <@ times;
SELECT count(*) FROM span, event WHERE id <@ times;

SET enable_seqscan = off;

-- A plan made once for any time.
SET plan_cache_mode = force_generic_plan;
PREPARE before (timestamptz) AS SELECT count(*) FROM event WHERE id < $1;
PREPARE at (timestamptz) AS SELECT count(*) FROM event WHERE id = $1;
PREPARE within (tstzrange) AS SELECT count(*) FROM event WHERE id <@ $1;
PREPARE since (interval) AS SELECT count(*) FROM event
WHERE id >= timestamptz '2026-07-01 12:34:56.788+00' - $1;
EXPLAIN (COSTS OFF) EXECUTE before ('2026-07-01');
EXPLAIN (COSTS OFF) EXECUTE at ('2026-07-01');
EXPLAIN (COSTS OFF) EXECUTE within ('(,)');
EXPLAIN (COSTS OFF) EXECUTE since ('1 day');
EXECUTE at ('2026-07-01 12:34:56.788+00');
EXECUTE at ('2026-07-01 12:34:56.789+00');
EXECUTE within ('empty');
EXECUTE within ('[2026-07-01 12:34:56.78+00,2026-07-01 12:34:56.788+00)');
EXECUTE within (NULL);

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
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id < t),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id <= t),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id = t),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id >= t),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id > t),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id <@ tstzrange(t - interval '5000 days', t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE tstzrange(t, t + interval '1 minute', '[]') @> id)];
END
$$;
CREATE TEMP TABLE by_index AS
SELECT t, pg_temp.generic(t) AS generic, ARRAY[
    pg_temp.found('id < %L::timestamptz', t), pg_temp.found('id <= %L::timestamptz', t),
    pg_temp.found('id = %L::timestamptz', t), pg_temp.found('id >= %L::timestamptz', t),
    pg_temp.found('id > %L::timestamptz', t),
    pg_temp.found('id <@ tstzrange(%1$L::timestamptz - interval ''5000 days'', %1$L)', t),
    pg_temp.found('tstzrange(%1$L, %1$L::timestamptz + interval ''1 minute'', ''[]'') @> id', t)] AS custom
FROM (SELECT t FROM moment WHERE t < '290000-01-01' AND t > '-infinity'
      UNION SELECT DISTINCT timestamptz '1970-01-01 00:00:00+00' + interval '50000 days' * (('x' || left(md5(nr::text), 6))::bit(24)::integer / 16777216.0)
      FROM generate_series(1, 200) AS nr) AS times (t);
RESET plan_cache_mode;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
CREATE TEMP TABLE by_row AS
SELECT t, ARRAY[
    pg_temp.found('sequential AND at < %L::timestamptz', t), pg_temp.found('sequential AND at <= %L::timestamptz', t),
    pg_temp.found('sequential AND at = %L::timestamptz', t), pg_temp.found('sequential AND at >= %L::timestamptz', t),
    pg_temp.found('sequential AND at > %L::timestamptz', t),
    pg_temp.found('sequential AND at <@ tstzrange(%1$L::timestamptz - interval ''5000 days'', %1$L)', t),
    pg_temp.found('sequential AND tstzrange(%1$L, %1$L::timestamptz + interval ''1 minute'', ''[]'') @> at', t)] AS plain
FROM by_index;
SELECT count(*) > 240 AS times, count(*) FILTER (WHERE generic IS DISTINCT FROM plain) AS generic_different,
       count(*) FILTER (WHERE custom IS DISTINCT FROM plain) AS custom_different,
       count(DISTINCT plain) > 50 AS answers
FROM by_index JOIN by_row USING (t);
SET enable_seqscan = off;
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- Through a view, and one that keeps its rows from prying functions: whether an ID is sequential tells no more.
CREATE VIEW event_made AS SELECT id, uniqueid_timestamp(id) AS made_at FROM event;
CREATE VIEW event_guarded WITH (security_barrier) AS SELECT id FROM event WHERE at IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT id, made_at FROM event_made WHERE id >= timestamptz '2026-07-01 12:34:56.789+00';
EXPLAIN (COSTS OFF) SELECT id FROM event_guarded WHERE id >= timestamptz '2026-07-01 12:34:56.789+00';

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
    $$id < timestamptz '2024-01-01'$$, $$id >= timestamptz '2024-01-01'$$,
    $$id <@ tstzrange('2024-01-01', '2038-01-01')$$
]) AS query;
RESET enable_bitmapscan;

-- BRIN serves them too.
CREATE TABLE event_log AS SELECT id, at, sequential FROM event ORDER BY id;
CREATE INDEX event_log_id ON event_log USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM event_log WHERE id <@ tstzrange('2026-07-01', '2026-08-01');
SELECT (SELECT count(*) FROM event_log WHERE id <@ tstzrange('2026-07-01', '2026-08-01'))
     = (SELECT count(*) FROM event_log WHERE sequential AND at <@ tstzrange('2026-07-01', '2026-08-01')) AS same;
RESET enable_seqscan;

DROP VIEW event_made, event_guarded;
DROP TABLE event, event_log, moment, span;
