-- Time as a predicate of guid_local: the operators say of an ID what they say of its timestamp, of any
-- drift, and an index of the ID serves them.
SET timezone TO 'UTC';
SET datestyle TO ISO;

-- IDs of all drifts around a moment, to the tick and to the hour; at both ends of the times; years of them in
-- between. A code of 0 is never made, but one that an ID can have. 125 times 2^42 ns is a whole number
-- of ticks of 131.072 us, and of microseconds.
CREATE TABLE event (id guid_local PRIMARY KEY, at timestamptz, code integer);
INSERT INTO event (id, code)
SELECT DISTINCT CASE code WHEN 0 THEN set_byte(made::bytea, 0, get_byte(made::bytea, 0) & 31)::guid_local
                          ELSE made END, code
FROM (SELECT (3237 * 549755813888000::numeric + tick * 131072 + 65536) / 1000, count
      FROM (SELECT generate_series(-8, 8), 16
            UNION ALL SELECT sign * seconds * 1000000 / 131, 8
            FROM unnest('{-1,1}'::bigint[]) AS sign, unnest('{5,40,100,200,400,800,1600,3200,4000,5000}'::bigint[]) AS seconds)
            AS ticks (tick, count)
      UNION ALL SELECT (tick * 131072 + 65536) / 1000, 6
      FROM unnest('{0,1,2,3,140737488355324,140737488355325,140737488355326,140737488355327}'::numeric[]) AS tick
      UNION ALL SELECT (days * 659179687 * 131072 + 65536) / 1000, 2 FROM generate_series(1::numeric, 213000, 3000) AS days
     ) AS times (us, count),
     generate_series(0, count - 1) AS nr, LATERAL (SELECT md5(us || ' ' || nr)) AS digits (md5),
     LATERAL (SELECT ('x' || substr(md5, 9, 4))::bit(16)::integer & 16383,
              nr % 8 + CASE count WHEN 2 THEN ('x' || right(md5, 2))::bit(8)::integer % 7 ELSE 0 END) AS random (sequence, code),
     LATERAL (SELECT guid_local_encode(timestamptz '1970-01-01 00:00:00+00' + us * interval '1 us', sequence,
                     interval '60 s' * (1 << greatest(code - 1, 0)))) AS made (made);
UPDATE event SET at = guid_local_timestamp(id);
ANALYZE event;
SELECT count(*), min(at), max(at) FROM event;
SELECT code, count(*), count(*) FILTER (WHERE get_byte(id::bytea, 0) >> 5 <> code) AS otherwise
FROM event GROUP BY code ORDER BY code;

-- Times on the edges of a tick and a microsecond to either side, within one, at the hour, and far off.
CREATE TABLE moment (t timestamptz);
INSERT INTO moment
SELECT t + us * interval '1 us'
FROM unnest('{-1,0,1,60}'::int[]) AS us,
     (SELECT at FROM event WHERE id IN (SELECT id FROM event ORDER BY md5(id::text) LIMIT 6)
      UNION SELECT min(at) FROM event WHERE extract(year FROM at) = 2026 GROUP BY date_trunc('hour', at)
      UNION (SELECT DISTINCT at FROM event WHERE at > '2026-05-01' ORDER BY at LIMIT 1 OFFSET 20)) AS edges (t);
INSERT INTO moment VALUES ('-infinity'), ('1969-12-31 23:59:59.999999+00'), ('1970-01-01 00:00:00+00'),
    ('2554-07-21 23:34:33.70942+00'), ('2554-07-21 23:34:33.709421+00'), ('2600-01-01 00:00:00+00'),
    ('294276-12-31 23:59:59.999999+00'), ('infinity'), (NULL);

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
     (SELECT t FROM moment WHERE isfinite(t) ORDER BY md5(t::text) LIMIT 7) AS a,
     (SELECT t FROM moment WHERE extract(year FROM t) = 2026 ORDER BY md5(t::text) DESC LIMIT 7) AS b;
INSERT INTO span VALUES
    ('empty'), ('(,)'), ('[,2026-05-23 18:06:09.555456+00]'), ('(,2026-05-23 18:06:09.555456+00)'),
    ('[2026-05-23 18:06:09.555456+00,]'), ('(2026-05-23 18:06:09.555456+00,)'), ('[-infinity,infinity]'),
    ('(-infinity,infinity)'), ('[-infinity,2026-05-23 18:06:09.555456+00)'),
    ('(2026-05-23 18:06:09.555456+00,infinity]'), ('[infinity,infinity]'), ('(,-infinity]'),
    ('[1900-01-01,1969-12-31]'), ('[2600-01-01,2700-01-01]'), ('[1970-01-01,1970-01-01]'),
    ('[2554-07-21 23:34:33.70942+00,)'), (NULL);
SELECT (SELECT count(DISTINCT times) FROM span) AS spans, count(*) AS cases,
       count(*) FILTER (WHERE (id <@ times) IS DISTINCT FROM (at <@ times)) AS within,
       count(*) FILTER (WHERE (times @> id) IS DISTINCT FROM (times @> at)) AS holds,
       count(*) FILTER (WHERE id <@ times) AS in, count(*) FILTER (WHERE (id <@ times) IS NULL) AS unknown
FROM event, span;
SELECT NULL::guid_local <@ '(,)'::tstzrange AS id, NULL::guid_local < timestamptz '2026-01-01' AS lt,
       NULL::guid_local = timestamptz '2026-01-01' AS eq;

-- The very first and very last ID of a drift, and times outside the format.
SELECT count(*) AS ids,
       count(*) FILTER (WHERE (id < t) <> (guid_local_timestamp(id) < t) OR (id <= t) <> (guid_local_timestamp(id) <= t)
                           OR (id = t) <> (guid_local_timestamp(id) = t) OR (id <> t) <> (guid_local_timestamp(id) <> t)
                           OR (id >= t) <> (guid_local_timestamp(id) >= t) OR (id > t) <> (guid_local_timestamp(id) > t)) AS different
FROM generate_series(0, 7) AS code, unnest(ARRAY[guid_local_code_min('(,)', code), guid_local_code_max('(,)', code)]) AS id,
     unnest('{-infinity,1900-01-01,1970-01-01,2554-07-21 23:34:33.70942,2554-07-21 23:34:33.709421,2600-01-01,infinity}'::timestamptz[]) AS t;

-- One drift, and the clock that is named: IDs of the inverse clock have their times by it.
CREATE TABLE named AS SELECT code, drift
FROM unnest('{68 s,137 s,274 s,549 s,1099 s,2199 s,1 day}'::interval[]) WITH ORDINALITY AS drifts (drift, code);
SELECT count(*) AS cases,
       count(*) FILTER (WHERE guid_local_within(id, times, drift) IS DISTINCT FROM (at <@ times AND event.code = named.code)) AS different,
       count(*) FILTER (WHERE guid_local_within(id, times, drift, true) IS DISTINCT FROM
           (guid_local_timestamp(id, true) <@ times AND event.code = named.code)) AS inverse_different,
       count(*) FILTER (WHERE guid_local_within(id, times, drift)) AS in
FROM event, named, (SELECT times FROM span WHERE times IS NOT NULL ORDER BY md5(times::text) LIMIT 50) AS span;
SELECT count(*) FILTER (WHERE guid_local_within(id, '(,)') IS DISTINCT FROM (code = 3)) AS default_drift,
       count(*) FILTER (WHERE guid_local_within(id, '[2026-05-23,2026-05-24)') IS DISTINCT FROM
           (code = 3 AND at <@ '[2026-05-23,2026-05-24)'::tstzrange)) AS default_clock FROM event;
SELECT guid_local_within(NULL, '(,)'), guid_local_within('5...............', NULL), guid_local_within('5...............', '(,)', NULL),
       guid_local_within('5...............', '(,)', '274 s', NULL);

-- plans --------------------------------------------------------------------------------------------

-- The kinds of nodes in a plan, and what it asks of an index and of a row.
CREATE FUNCTION pg_temp.shape(query text) RETURNS TABLE (node text, times bigint) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    lines text[];
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        line := regexp_replace(line, 'Cond: .*', 'Cond');
        line := regexp_replace(line, 'Filter: .*flakeid_recheck.*', 'Filter with flakeid_recheck');
        lines := lines || regexp_replace(line, 'Filter: .*', 'Filter');
    END LOOP;
    RETURN QUERY SELECT plan.line, count(*) FROM unnest(lines) WITH ORDINALITY AS plan (line, nr)
    GROUP BY plan.line ORDER BY min(nr);
END
$$;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id < timestamptz '2026-05-23 18:06:09.555456+00'$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id <= timestamptz '2026-05-23 18:06:09.555456+00'$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id = timestamptz '2026-05-23 18:06:09.555456+00'$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id >= timestamptz '2026-05-23 18:06:09.555456+00'$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id > timestamptz '2026-05-23 18:06:09.555456+00'$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE timestamptz '2026-05-23 18:06:09.555456+00' < id$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE timestamptz '2026-05-23 18:06:09.555456+00' <= id$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE timestamptz '2026-05-23 18:06:09.555456+00' = id$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE timestamptz '2026-05-23 18:06:09.555456+00' >= id$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE timestamptz '2026-05-23 18:06:09.555456+00' > id$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id <@ tstzrange('2026-05-23 18:06:09.555456+00', '2026-05-24 00:00:00+00')$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE tstzrange('2026-05-23 18:06:09.555456+00', NULL, '()') @> id$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id <@ tstzrange(now() - interval '5 s', now())$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id > now() - interval '5 s'$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id BETWEEN timestamptz '2026-05-23' AND timestamptz '2026-05-24'$$);
-- A time of one drift is one range of the index.
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE guid_local_within(id, '[2026-05-23,2026-05-24)')$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE guid_local_within(id, '[2026-05-23,2026-05-24)', '1 day', true)$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE guid_local_within(id, tstzrange(now() - interval '5 s', now()))$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event WHERE id >= guid_local_min('2026-05-23', '1 day') ORDER BY id LIMIT 1$$);
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;

-- A plan made once for any time.
SET plan_cache_mode = force_generic_plan;
PREPARE before (timestamptz) AS SELECT count(*) FROM event WHERE id < $1;
PREPARE at (timestamptz) AS SELECT count(*) FROM event WHERE id = $1;
PREPARE within (tstzrange) AS SELECT count(*) FROM event WHERE id <@ $1;
PREPARE one_drift (tstzrange, interval, boolean) AS SELECT count(*) FROM event WHERE guid_local_within(id, $1, $2, $3);
SELECT * FROM pg_temp.shape($$EXECUTE before ('2026-07-01')$$);
SELECT * FROM pg_temp.shape($$EXECUTE at ('2026-07-01')$$);
SELECT * FROM pg_temp.shape($$EXECUTE within ('(,)')$$);
SELECT * FROM pg_temp.shape($$EXECUTE one_drift ('(,)', '1 day', false)$$);
EXECUTE before ('2026-05-23');
EXECUTE at ('1970-01-01 00:00:00.000131+00');
EXECUTE at ('1970-01-01 00:00:00.000132+00');
EXECUTE within ('empty');
EXECUTE within ('[1970-01-01,1970-01-01 00:00:00.000262+00)');
EXECUTE within (NULL);
EXECUTE one_drift ('(,)', '1 day', false);
EXECUTE one_drift ('(,)', '1 day', true);
EXECUTE one_drift ('[2026-05-23,2026-05-24)', '68 s', false);
EXECUTE one_drift ('[2026-05-23,2026-05-24)', '68 s', true);
EXECUTE one_drift (NULL, '68 s', true);

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
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE id <@ tstzrange(t - interval '1 hour', t)),
        (SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE tstzrange(t, t + interval '1 minute', '[]') @> id)];
END
$$;
CREATE TEMP TABLE by_index AS
SELECT t, pg_temp.generic(t) AS generic, ARRAY[
    pg_temp.found('id < %L::timestamptz', t), pg_temp.found('id <= %L::timestamptz', t),
    pg_temp.found('id = %L::timestamptz', t), pg_temp.found('id >= %L::timestamptz', t),
    pg_temp.found('id > %L::timestamptz', t),
    pg_temp.found('id <@ tstzrange(%1$L::timestamptz - interval ''1 hour'', %1$L)', t),
    pg_temp.found('tstzrange(%1$L, %1$L::timestamptz + interval ''1 minute'', ''[]'') @> id', t)] AS custom
FROM (SELECT t FROM moment WHERE t < '290000-01-01' OR t = 'infinity'
      UNION SELECT DISTINCT timestamptz '2026-05-23 16:40:00+00' + interval '3 hours' * ('x' || left(md5(nr::text), 6))::bit(24)::integer / 16777216
      FROM generate_series(1, 100) AS nr) AS times (t);
RESET plan_cache_mode;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_seqscan;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
CREATE TEMP TABLE by_row AS
SELECT t, ARRAY[
    pg_temp.found('at < %L::timestamptz', t), pg_temp.found('at <= %L::timestamptz', t),
    pg_temp.found('at = %L::timestamptz', t), pg_temp.found('at >= %L::timestamptz', t),
    pg_temp.found('at > %L::timestamptz', t),
    pg_temp.found('at <@ tstzrange(%1$L::timestamptz - interval ''1 hour'', %1$L)', t),
    pg_temp.found('tstzrange(%1$L, %1$L::timestamptz + interval ''1 minute'', ''[]'') @> at', t)] AS plain
FROM by_index;
SELECT count(*) > 140 AS times, count(*) FILTER (WHERE generic IS DISTINCT FROM plain) AS generic_different,
       count(*) FILTER (WHERE custom IS DISTINCT FROM plain) AS custom_different,
       count(DISTINCT plain) > 50 AS answers
FROM by_index JOIN by_row USING (t);
RESET enable_bitmapscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- Through a view, and one that keeps its rows from prying functions: a comparison with a time is no such function.
CREATE VIEW event_made AS SELECT id, guid_local_timestamp(id) AS made_at FROM event;
CREATE VIEW event_guarded WITH (security_barrier) AS SELECT id FROM event WHERE at IS NOT NULL;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT * FROM pg_temp.shape($$SELECT id, made_at FROM event_made WHERE id <@ tstzrange('2026-05-23', '2026-05-24')$$);
SELECT * FROM pg_temp.shape($$SELECT id FROM event_guarded WHERE id >= timestamptz '2026-05-23 18:06:09.555456+00'$$);
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- Row estimates follow from the IDs' own statistics, and asking each row again takes nothing from them.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
CREATE FUNCTION pg_temp.count(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE 'SELECT count(*) FROM (' || query || ') AS found' INTO n;
    RETURN n;
END
$$;
SELECT query, round(pg_temp.estimate('SELECT FROM event WHERE ' || query)::numeric / (SELECT count(*) FROM event), 1) AS share,
       round(pg_temp.count('SELECT FROM event WHERE ' || query)::numeric / (SELECT count(*) FROM event), 1) AS in_truth
FROM unnest(ARRAY[
    $$id < timestamptz '2026-05-01'$$, $$id >= timestamptz '2026-05-01'$$,
    $$id <@ tstzrange('2026-05-20', '2026-05-30')$$, $$guid_local_within(id, '(,)', '274 s')$$
]) AS query;
RESET enable_seqscan;

-- BRIN serves them too.
CREATE TABLE event_log AS SELECT id, at FROM event ORDER BY id;
CREATE INDEX event_log_id ON event_log USING brin (id) WITH (pages_per_range = 1);
SET enable_seqscan = off;
SELECT * FROM pg_temp.shape($$SELECT count(*) FROM event_log WHERE id <@ tstzrange('2026-05-20', '2026-05-30')$$);
SELECT (SELECT count(*) FROM event_log WHERE id <@ tstzrange('2026-05-20', '2026-05-30'))
     = (SELECT count(*) FROM event_log WHERE at <@ tstzrange('2026-05-20', '2026-05-30')) AS same;
RESET enable_seqscan;

DROP VIEW event_made, event_guarded;
DROP TABLE event, event_log, named, moment, span;
