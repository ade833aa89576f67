-- Time as a predicate of sno: the operators say of an ID what they say of its timestamp, and an index
-- of the ID serves them.
SET timezone TO 'UTC';
SET datestyle TO ISO;

-- IDs before, at and after every edge of 4 ms around three moments, in both timelines, and at both
-- ends of the rest; years of them in between.
CREATE TABLE event (id sno PRIMARY KEY, at timestamptz);
INSERT INTO event (id)
SELECT DISTINCT sno_encode(t, k, rest * 255, rest * 65535, rest * 65535)
FROM generate_series(0, 1) AS k, generate_series(0, 1) AS rest,
     (SELECT generate_series(moment - interval '20 ms', moment + interval '20 ms', interval '4 ms')
      FROM unnest('{2010-01-01 00:00:00.024+00,2026-07-01 12:34:56.788+00,2079-09-07 15:47:35.52+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('2010-01-02 00:00:00+00', '2079-09-01 00:00:00+00',
          interval '50 days')) AS times (t);
UPDATE event SET at = sno_timestamp(id);
ANALYZE event;
SELECT count(*), min(at), max(at) FROM event;

-- Times on the edges and a microsecond to either side, within a tick, and far off.
CREATE TABLE moment (t timestamptz);
INSERT INTO moment
SELECT t + us * interval '1 us'
FROM unnest('{-1,0,1,2000}'::int[]) AS us,
     (SELECT at FROM event WHERE id IN (SELECT id FROM event ORDER BY md5(id::text) LIMIT 8)
      UNION SELECT at FROM event
      WHERE at BETWEEN '2026-07-01 12:34:56.77+00' AND '2026-07-01 12:34:56.8+00') AS edges (t);
INSERT INTO moment VALUES ('-infinity'), ('1970-01-01 00:00:00+00'), ('2100-01-01 00:00:00+00'),
    ('infinity'), (NULL);

SELECT count(*) AS cases,
       count(*) FILTER (WHERE (id < t) IS DISTINCT FROM (at < t)) AS lt,
       count(*) FILTER (WHERE (id <= t) IS DISTINCT FROM (at <= t)) AS le,
       count(*) FILTER (WHERE (id = t) IS DISTINCT FROM (at = t)) AS eq,
       count(*) FILTER (WHERE (id <> t) IS DISTINCT FROM (at <> t)) AS ne,
       count(*) FILTER (WHERE (id >= t) IS DISTINCT FROM (at >= t)) AS ge,
       count(*) FILTER (WHERE (id > t) IS DISTINCT FROM (at > t)) AS gt
FROM event, moment;
SELECT count(*) AS cases,
       count(*) FILTER (WHERE (t < id) IS DISTINCT FROM (t < at)) AS lt,
       count(*) FILTER (WHERE (t <= id) IS DISTINCT FROM (t <= at)) AS le,
       count(*) FILTER (WHERE (t = id) IS DISTINCT FROM (t = at)) AS eq,
       count(*) FILTER (WHERE (t <> id) IS DISTINCT FROM (t <> at)) AS ne,
       count(*) FILTER (WHERE (t >= id) IS DISTINCT FROM (t >= at)) AS ge,
       count(*) FILTER (WHERE (t > id) IS DISTINCT FROM (t > at)) AS gt
FROM event, moment;
-- How many of them are true, so that none of the above was empty.
SELECT count(*) FILTER (WHERE id < t) AS lt, count(*) FILTER (WHERE id = t) AS eq,
       count(*) FILTER (WHERE id > t) AS gt,
       count(*) FILTER (WHERE (id = t) IS NULL) AS unknown
FROM event, moment;

-- Ranges, with their ends in and out, without ends, infinite and empty.
CREATE TABLE span (times tstzrange);
INSERT INTO span
SELECT tstzrange(least(a.t, b.t), greatest(a.t, b.t), ends)
FROM unnest('{[],[),(],()}'::text[]) AS ends,
     (SELECT t FROM moment WHERE t > '2026-07-01 12:34:56.78+00' AND t < '2026-07-01 12:34:56.79+00'
         OR isfinite(t) AND extract(year FROM t) % 5 = 0) AS a,
     (SELECT t FROM moment WHERE t BETWEEN '2026-07-01 12:34:56.787999+00'
         AND '2026-07-01 12:34:56.79+00') AS b;
INSERT INTO span VALUES
    ('empty'), ('(,)'), ('[,2026-07-01 12:34:56.788+00]'), ('(,2026-07-01 12:34:56.788+00)'),
    ('[2026-07-01 12:34:56.788+00,]'), ('(2026-07-01 12:34:56.788+00,)'), ('[-infinity,infinity]'),
    ('(-infinity,infinity)'), ('[-infinity,2026-07-01 12:34:56.788+00)'),
    ('(2026-07-01 12:34:56.788+00,infinity]'), ('[infinity,infinity]'), ('(,-infinity]'),
    ('[1970-01-01,2009-12-31]'), ('[2100-01-01,2200-01-01]'), (NULL);
SELECT (SELECT count(DISTINCT times) FROM span) AS spans, count(*) AS cases,
       count(*) FILTER (WHERE (id <@ times) IS DISTINCT FROM (at <@ times)) AS within,
       count(*) FILTER (WHERE (times @> id) IS DISTINCT FROM (times @> at)) AS holds,
       count(*) FILTER (WHERE id <@ times) AS in, count(*) FILTER (WHERE (id <@ times) IS NULL) AS unknown
FROM event, span;
SELECT NULL::sno <@ '(,)'::tstzrange AS id, NULL::sno < timestamptz '2026-01-01' AS lt,
       NULL::sno = timestamptz '2026-01-01' AS eq;

-- Only of the very first and very last ID an operator may say too much, for times outside the format,
-- whose bound these IDs are. A range knows better.
SELECT id, id <= timestamptz '2009-12-31' AS before, id >= timestamptz '2079-12-31' AS after,
       id <@ '(,2009-12-31]'::tstzrange AS in_before, id <@ '[2079-12-31,)'::tstzrange AS in_after
FROM unnest('{2222222222222222,xxxxxxxxxxxxxxxx}'::sno[]) AS id;

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
RESET plan_cache_mode;

-- Through a view, and one that keeps its rows from prying functions.
CREATE VIEW event_made AS SELECT id, sno_timestamp(id) AS made_at FROM event;
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
CREATE TABLE event_log AS SELECT id, at FROM event ORDER BY id;
CREATE INDEX event_log_id ON event_log USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM event_log WHERE id <@ tstzrange('2026-07-01', '2026-08-01');
SELECT (SELECT count(*) FROM event_log WHERE id <@ tstzrange('2026-07-01', '2026-08-01'))
     = (SELECT count(*) FROM event_log WHERE at <@ tstzrange('2026-07-01', '2026-08-01')) AS same;
RESET enable_seqscan;

DROP VIEW event_made, event_guarded;
DROP TABLE event, event_log, moment, span;
