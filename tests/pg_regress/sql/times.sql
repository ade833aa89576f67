-- Conditions on the time of an ID: what they say, and which index scan the planner makes of them.
-- The checks are written once, and run for each ID type. What differs is in the table "kind".
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude

-- form:   the conditions that the type has, see the table "condition"
-- scans:  whether a condition is one range of an index, or a bitmap of several, one for each drift
-- inside: microseconds from the begin of a tick of the type to a moment within it
-- edge:   the time of some IDs, for plans
-- close:  the times around it; each begin of a tick in "near" is a moment
-- middle: a time with many IDs on both sides, for estimates
-- far:    times at and beyond the ends of the type's times
-- spans:  ranges there
CREATE TEMP TABLE kind (
    nr integer, name text, type text, form text, scans text, inside integer, edge text,
    close text, near text, middle text, far text, spans text
);
INSERT INTO kind VALUES
    (1, 'flake', 'bigint', 'flake', 'one', 500, '2026-07-01 12:34:56.788+00',
        '(2026-07-01 12:34:56.786+00,2026-07-01 12:34:56.79+00)',
        '[2026-07-01 12:34:56.784+00,2026-07-01 12:34:56.793+00]', '[2024-01-01,2038-01-01)',
        '{-infinity,2009-12-31 23:59:59.999999+00,2100-01-01 00:00:00+00,infinity}',
        '{"[1970-01-01,2009-12-31]","[2100-01-01,2200-01-01]"}'),
    (2, 'sno', 'sno', 'operator', 'one', 2000, '2026-07-01 12:34:56.788+00',
        '(2026-07-01 12:34:56.78+00,2026-07-01 12:34:56.79+00)',
        '[2026-07-01 12:34:56.77+00,2026-07-01 12:34:56.8+00]', '[2024-01-01,2038-01-01)',
        '{-infinity,1970-01-01 00:00:00+00,2100-01-01 00:00:00+00,infinity}',
        '{"[1970-01-01,2009-12-31]","[2100-01-01,2200-01-01]"}'),
    (3, 'flake128', 'flake128', 'operator', 'one', 500, '2026-07-01 12:34:56.788+00',
        '(2026-07-01 12:34:56.786+00,2026-07-01 12:34:56.79+00)',
        '[2026-07-01 12:34:56.784+00,2026-07-01 12:34:56.793+00]', '[2024-01-01,2038-01-01)',
        '{-infinity,1969-12-31 23:59:59.999999+00,2600-01-01 00:00:00+00,
          294247-01-10 04:00:54.774999+00,294247-01-10 04:00:54.775+00,
          294247-01-10 04:00:54.775001+00,294247-01-10 04:00:54.775806+00,
          294247-01-10 04:00:54.775807+00,294276-12-31 23:59:59.999999+00,infinity}',
        '{"[1900-01-01,1969-12-31]","[2600-01-01,2700-01-01]","(294247-01-10 04:00:54.775+00,)",
          "[294247-01-10 04:00:54.775+00,infinity)","(294247-01-10 04:00:54.774999+00,infinity]",
          "[2026-07-01,294276-12-31 23:59:59.999999+00]",
          "[294276-12-31 23:59:59.999999+00,infinity]"}'),
    (4, 'guid', 'guid', 'operator', 'several', 60, '2026-05-23 18:06:09.555456+00',
        '[2026-05-23,2026-05-24)', 'empty', '[2026-05-20,2026-05-30)',
        '{-infinity,1969-12-31 23:59:59.999999+00,1970-01-01 00:00:00+00,
          2554-07-21 23:34:33.70942+00,2554-07-21 23:34:33.709421+00,2600-01-01 00:00:00+00,
          294276-12-31 23:59:59.999999+00,infinity}',
        '{"[1900-01-01,1969-12-31]","[2600-01-01,2700-01-01]","[1970-01-01,1970-01-01]",
          "[2554-07-21 23:34:33.70942+00,)"}'),
    (6, 'uniqueid', 'uniqueid', 'operator', 'one', 500, '2026-07-01 12:34:56.788+00',
        '(2026-07-01 12:34:56.786+00,2026-07-01 12:34:56.79+00)',
        '[2026-07-01 12:34:56.784+00,2026-07-01 12:34:56.793+00]', '[2024-01-01,2038-01-01)',
        '{-infinity,1969-12-31 23:59:59.999999+00,2109-05-15 07:35:11.103+00,
          2109-05-15 07:35:11.103001+00,2600-01-01 00:00:00+00,294276-12-31 23:59:59.999999+00,
          infinity}',
        '{"[1900-01-01,1969-12-31]","[2600-01-01,2700-01-01]","(2109-05-15 07:35:11.102+00,)",
          "[2109-05-15 07:35:11.102+00,infinity)","(2109-05-15 07:35:11.103+00,infinity]"}'),
    (7, 'uuidv7', 'uuid', 'uuidv7', 'one', 500, '2026-07-01 12:34:56.788+00',
        '(2026-07-01 12:34:56.786+00,2026-07-01 12:34:56.79+00)',
        '[2026-07-01 12:34:56.784+00,2026-07-01 12:34:56.793+00]', '[2024-01-01,2078-01-01)',
        '{-infinity,1969-12-31 23:59:59.999999+00,1970-01-01 00:00:00+00,
          10889-08-02 05:31:50.655+00,10889-08-02 05:31:50.655001+00,10890-01-01 00:00:00+00,
          294276-12-31 23:59:59.999999+00,infinity}',
        '{"[1900-01-01,1969-12-31]","[11000-01-01,12000-01-01]","(10889-08-02 05:31:50.654+00,)",
          "[10889-08-02 05:31:50.655+00,infinity)","(10889-08-02 05:31:50.655+00,infinity]"}');
INSERT INTO kind
SELECT 5, 'guid_local', 'guid_local', form, scans, inside, edge, close, near, middle, far, spans
FROM kind WHERE name = 'guid';

\echo '-- What a condition says of an ID, and what it should say: that the ID has a time, of'
\echo -- which the other condition is true. A strict one is NULL if its time is NULL, also of
\echo '-- an ID without a time. An index serves "NOT ..." in no other way than a whole scan.'
CREATE TEMP TABLE condition (
    nr integer GENERATED ALWAYS AS IDENTITY, form text, of_id text, of_at text,
    swapped boolean DEFAULT false, is_strict boolean DEFAULT true
);
INSERT INTO condition (form, of_id, of_at, swapped)
SELECT 'operator', 'id ' || sign || ' <t>', 'at ' || sign || ' <t>', false
FROM unnest('{<,<=,=,<>,>=,>}'::text[]) AS sign
UNION ALL SELECT 'operator', '<t> ' || sign || ' id', '<t> ' || sign || ' at', true
FROM unnest('{<,<=,=,<>,>=,>}'::text[]) AS sign;
INSERT INTO condition (form, of_id, of_at, is_strict) VALUES
    ('operator', 'id <@ <times>', 'at <@ <times>', true),
    ('operator', '<times> @> id', '<times> @> at', true),
    ('flake', 'flake_before(id, <t>)', 'at < <t>', true),
    ('flake', 'flake_after(id, <t>)', 'at > <t>', true),
    ('flake', 'flake_between(id, <t>, <t>)', 'at = <t>', true),
    ('flake', 'flake_within(id, <times>)', 'at <@ <times>', true),
    ('flake', 'flake_before(id, <t>, <epoch>)', 'at < <t>', true),
    ('flake', 'flake_after(id, <t>, <epoch>)', 'at > <t>', true),
    ('flake', 'flake_between(id, <t>, <t>, <epoch>)', 'at = <t>', true),
    ('flake', 'flake_within(id, <times>, <epoch>)', 'at <@ <times>', true),
    ('uuidv7', 'uuidv7_before(id, <t>)', 'at < <t>', true),
    ('uuidv7', 'uuidv7_since(id, <t>)', 'at >= <t>', true),
    ('uuidv7', 'uuidv7_after(id, <t>)', 'at > <t>', true),
    ('uuidv7', 'uuidv7_between(id, <t>, <t>)', 'at = <t>', false),
    ('uuidv7', 'uuidv7_within(id, <times>)', 'at <@ <times>', true);

-- Each type has a schema with its tables. <name>, <edge> and the others in a statement stand for
-- the columns of "kind".
CREATE FUNCTION pg_temp.run(statement text, kind kind) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    field record;
    answer text;
BEGIN
    FOR field IN SELECT * FROM jsonb_each_text(to_jsonb(kind)) LOOP
        statement := replace(statement, '<' || field.key || '>', coalesce(field.value, ''));
    END LOOP;
    PERFORM set_config('search_path', 'times_' || kind.name || ', public, pg_temp', true);
    EXECUTE statement INTO answer;
    RETURN answer;
END
$$;
-- The kinds for which a statement has the same answer are one row.
CREATE FUNCTION pg_temp.each(statement text, of text DEFAULT '.')
RETURNS TABLE (answer text, kinds text) LANGUAGE sql AS $$
    WITH answers AS MATERIALIZED (
        SELECT nr, name, replace(pg_temp.run(statement, kind), name || '_', '<name>_') AS answer
        FROM kind WHERE name ~ of ORDER BY nr
    )
    SELECT answer, string_agg(name, ' ' ORDER BY nr) FROM answers GROUP BY answer ORDER BY min(nr)
$$;

\echo -- the IDs --------------------------------------------------------------------------------
CREATE SCHEMA times_flake;
CREATE SCHEMA times_sno;
CREATE SCHEMA times_flake128;
CREATE SCHEMA times_guid;
CREATE SCHEMA times_guid_local;
CREATE SCHEMA times_uniqueid;
CREATE SCHEMA times_uuidv7;

\echo -- IDs before, at and after every tick around three moments, at both ends of the other
\echo -- fields; years of them in between. Negative numbers are no flakes of a time.
CREATE TABLE times_flake.event AS
SELECT DISTINCT flake_encode(t, rest * 31, rest * 31, rest * 4095) AS id
FROM generate_series(0, 1) AS rest,
     (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms', interval '1 ms')
      FROM unnest('{2010-01-01 00:00:00.006+00,2026-07-01 12:34:56.788+00,
                    2079-09-07 15:47:35.545+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('2010-01-02 00:00:00+00', '2079-09-01 00:00:00+00',
          interval '50 days')) AS times (t)
UNION ALL SELECT unnest('{-9223372036854775808,-1}'::bigint[]);

CREATE TABLE times_sno.event AS
SELECT DISTINCT sno_encode(t, k, rest * 255, rest * 65535, rest * 65535) AS id
FROM generate_series(0, 1) AS k, generate_series(0, 1) AS rest,
     (SELECT generate_series(moment - interval '20 ms', moment + interval '20 ms', interval '4 ms')
      FROM unnest('{2010-01-01 00:00:00.024+00,2026-07-01 12:34:56.788+00,
                    2079-09-07 15:47:35.52+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('2010-01-02 00:00:00+00', '2079-09-01 00:00:00+00',
          interval '50 days')) AS times (t);

\echo -- The last moment is at the end of the times that microseconds can count. All that come
\echo -- later are of infinity.
CREATE TABLE times_flake128.event AS
SELECT DISTINCT flake128_encode(t, w, s * 65535) AS id
FROM generate_series(0, 1) AS s,
     unnest('{00:00:00:00:00:00,08:00:2b:01:02:03,ff:ff:ff:ff:ff:ff}'::macaddr[]) AS w,
     (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms', interval '1 ms')
      FROM unnest('{1970-01-01 00:00:00.006+00,2026-07-01 12:34:56.788+00,
                    294247-01-10 04:00:54.77+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('1970-01-02 00:00:00+00', '2554-07-01 00:00:00+00',
          interval '2500 days')) AS times (t)
UNION SELECT decode(ms || rest, 'hex')::flake128
FROM unnest('{0020c49ba5e353f8,0020c49ba5e353f9,7fffffffffffffff,8000000000000000,
              ffffffffffffffff}'::text[]) AS ms,
     unnest('{0000000000000000,00000000ffff0001,ffffffffffffffff}'::text[]) AS rest;

\echo -- IDs of all drifts and any node around a moment at which the upper part of the time
\echo -- goes up for each drift, to the tick and to the hour; at both ends of the times; years
\echo -- of them in between. The code 0 of a drift is set by hand. 125 times 2^42 ns is a whole
\echo -- number of ticks of 131.072 us for which the part below is 0, and of microseconds.
CREATE TABLE times_guid_local.event AS
SELECT DISTINCT CASE code WHEN 0
        THEN set_byte(made::bytea, 0, get_byte(made::bytea, 0) & 31)::guid_local
        ELSE made END AS id,
    code, node
FROM (SELECT (3237 * 549755813888000::numeric + tick * 131072 + 65536) / 1000, count
      FROM (SELECT generate_series(-8, 8), 16
            UNION ALL SELECT sign * seconds * 1000000 / 131, 8
            FROM unnest('{-1,1}'::bigint[]) AS sign,
                unnest('{5,40,100,200,400,800,1600,3200,4000,5000}'::bigint[]) AS seconds)
            AS ticks (tick, count)
      UNION ALL SELECT (tick * 131072 + 65536) / 1000, 6
      FROM unnest('{0,1,2,3,140737488355324,140737488355325,140737488355326,
                    140737488355327}'::numeric[]) AS tick
      UNION ALL SELECT (days * 659179687 * 131072 + 65536) / 1000, 2
      FROM generate_series(1::numeric, 213000, 3000) AS days) AS times (us, count),
     generate_series(0, count - 1) AS nr,
     LATERAL (SELECT md5(us || ' ' || nr)) AS digits (md5),
     LATERAL (SELECT ('x' || left(md5, 8))::bit(32)::bigint,
         ('x' || substr(md5, 9, 4))::bit(16)::integer & 16383,
         nr % 8 + CASE count WHEN 2 THEN ('x' || right(md5, 2))::bit(8)::integer % 7 ELSE 0 END)
         AS random (node, sequence, code),
     guid_local_encode(timestamptz '1970-01-01 00:00:00+00' + us * interval '1 us', sequence,
         interval '60 s' * (1 << greatest(code - 1, 0))) AS made;
CREATE TABLE times_guid.event AS
SELECT guid_global(id, node) AS id, code FROM times_guid_local.event;

\echo -- Beside each uniqueid that sorts by its time there is a spread one, which differs from
\echo -- it only in the bit that says so.
CREATE TABLE times_uniqueid.event AS
WITH made AS (
    SELECT DISTINCT uniqueid_encode(t, rest * 63, rest * 2047, rest * 15, mode) AS id
    FROM generate_series(0, 1) AS rest, unnest(enum_range(NULL::uniqueid_mode)) AS mode,
         (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms',
              interval '1 ms')
          FROM unnest('{1970-01-01 00:00:00.006+00,2026-07-01 12:34:56.788+00,
                        2109-05-15 07:35:11.097+00}'::timestamptz[]) AS moment
          UNION ALL SELECT generate_series('1970-01-02 00:00:00+00', '2109-05-01 00:00:00+00',
              interval '500 days')) AS times (t)
)
SELECT id FROM made
UNION ALL SELECT set_byte(id::bytea, 6, get_byte(id::bytea, 6) & 239)::uniqueid
FROM made WHERE uniqueid_sequential(id);

\echo -- Among the IDs, at the same times, are UUIDs of versions 1, 4 and 8 and of another
\echo -- variant; then Nil and Max.
CREATE TABLE times_uuidv7.event AS
SELECT DISTINCT overlay(overlay(id::text PLACING version FROM 15 FOR 1)
    PLACING variant FROM 20 FOR 1)::uuid AS id
FROM generate_series(0, 1) AS rest, unnest('{1,4,7,8}'::text[]) AS version,
     unnest('{8,b,c}'::text[]) AS variant,
     (SELECT generate_series(moment - interval '5 ms', moment + interval '5 ms', interval '1 ms')
      FROM unnest('{1970-01-01 00:00:00.005+00,2026-07-01 12:34:56.789+00,
                    10889-08-02 05:31:50.65+00}'::timestamptz[]) AS moment
      UNION ALL SELECT generate_series('1970-01-02 00:00:00+00', '2200-01-01 00:00:00+00',
          interval '1000 days')) AS times (t),
     uuidv7_encode(t, rest * 4095, rest * 3, rest * 255, rest * 4503599627370495) AS id
UNION ALL SELECT '00000000-0000-0000-0000-000000000000'
UNION ALL SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff';

\echo '-- "has_time": a condition on the time can be true of the ID.'
SELECT * FROM pg_temp.each($$
    ALTER TABLE event ADD at timestamptz, ADD has_time boolean DEFAULT true, ADD PRIMARY KEY (id);
    UPDATE event SET at = <name>_timestamp(id);
    SELECT 'event'
$$);
UPDATE times_flake.event SET has_time = id >= 0;
UPDATE times_uniqueid.event SET has_time = uniqueid_sequential(id);
UPDATE times_uuidv7.event SET has_time = id::text ~ '^.{14}7.{4}[89ab]';
\echo -- Times at the begin of ticks, a microsecond to either side and within one, and far off;
\echo -- and ranges of them, with their ends in and out, without ends, infinite and empty.
SELECT * FROM pg_temp.each($$
    ANALYZE event;
    CREATE TABLE moment AS
    SELECT t + us * interval '1 us' AS t
    FROM unnest('{-1,0,1,<inside>}'::int[]) AS us,
         (SELECT at FROM event
          WHERE id IN (SELECT id FROM event WHERE has_time ORDER BY md5(id::text) LIMIT 8)
          UNION SELECT at FROM event WHERE at <@ '<near>'::tstzrange
          UNION SELECT min(at) FROM event WHERE at <@ '<close>'::tstzrange
          GROUP BY date_trunc('hour', at)
          UNION SELECT '<edge>') AS edges (t)
    UNION ALL SELECT unnest('<far>'::timestamptz[]) UNION ALL SELECT NULL;
    CREATE TABLE span AS
    SELECT tstzrange(least(a.t, b.t), greatest(a.t, b.t), ends) AS times
    FROM unnest('{[],[),(],()}'::text[]) AS ends,
         (SELECT t FROM moment WHERE isfinite(t)
          ORDER BY t <@ '<close>'::tstzrange DESC, md5(t::text) LIMIT 16) AS a,
         (SELECT t FROM moment WHERE t <@ '<close>'::tstzrange ORDER BY md5(t::text) LIMIT 12) AS b
    UNION ALL SELECT tstzrange(first::timestamptz, last::timestamptz, ends)
    FROM (VALUES (NULL, NULL, '()'), (NULL, '<edge>', '(]'), (NULL, '<edge>', '()'),
        ('<edge>', NULL, '[)'), ('<edge>', NULL, '()'), ('-infinity', 'infinity', '[]'),
        ('-infinity', 'infinity', '()'), ('-infinity', '<edge>', '[)'),
        ('<edge>', 'infinity', '(]'), ('infinity', 'infinity', '[]'), (NULL, '-infinity', '(]'))
        AS ranges (first, last, ends)
    UNION ALL SELECT 'empty' UNION ALL SELECT unnest('<spans>'::tstzrange[]) UNION ALL SELECT NULL;
    ANALYZE span;
    SELECT 'moment, span'
$$);
\echo -- The IDs, and the times and ranges with which they are compared.
SELECT name, ids.* FROM kind, LATERAL (
    SELECT string_to_array(pg_temp.run($$
        SELECT concat_ws(',', count(*), count(*) FILTER (WHERE has_time), min(at), max(at),
            (SELECT count(t) FROM moment), (SELECT count(DISTINCT times) FROM span)) FROM event
    $$, kind), ',')) AS answer (of),
    LATERAL (SELECT of[1] AS ids, of[2] AS with_time, of[3] AS first, of[4] AS last,
        of[5] AS moments, of[6] AS spans) AS ids ORDER BY nr;
SELECT count(*) AS uuids_with_time_otherwise FROM times_uuidv7.event
WHERE has_time IS DISTINCT FROM (at IS NOT NULL);
SELECT code, count(*), count(DISTINCT (guid_decode(id)).node) > 40 AS many_nodes,
       count(*) FILTER (WHERE get_byte(id::bytea, 0) >> 5 <> code) AS otherwise
FROM times_guid.event GROUP BY code ORDER BY code;

\echo -- what the conditions say ----------------------------------------------------------------
CREATE FUNCTION pg_temp.tally(kind kind, condition condition,
    OUT cases bigint, OUT wrong bigint, OUT "not wrong" bigint, OUT "true" bigint,
    OUT unknown bigint)
LANGUAGE plpgsql AS $$
DECLARE
    operand text := CASE WHEN condition.of_id LIKE '%<times>%' THEN 'times' ELSE 't' END;
    says text := replace(condition.of_id, '<' || operand || '>', operand);
    should_say text := 'has_time AND ' || replace(condition.of_at, '<' || operand || '>', operand);
BEGIN
    IF condition.is_strict THEN
        should_say := format('CASE WHEN %s IS NOT NULL THEN %s END', operand, should_say);
    END IF;
    PERFORM set_config('search_path', 'times_' || kind.name || ', public, pg_temp', true);
    EXECUTE format($query$
        SELECT count(*), count(*) FILTER (WHERE says IS DISTINCT FROM should_say),
            count(*) FILTER (WHERE not_says IS DISTINCT FROM NOT should_say),
            count(*) FILTER (WHERE says), count(*) FILTER (WHERE says IS NULL)
        FROM (SELECT %1$s AS says, NOT %1$s AS not_says, %2$s AS should_say
            FROM event, %3$s OFFSET 0) AS answers
        $query$, replace(says, '<epoch>', 'timestamptz ''2010-01-01 00:00+00'''), should_say,
        CASE operand WHEN 't' THEN 'moment' ELSE 'span' END)
    INTO cases, wrong, "not wrong", "true", unknown;
END
$$;
\echo '-- A condition, and its negation, say of each ID and time what they say of the ID''s'
\echo '-- timestamp: none is wrong. "true" and "unknown" show that this is not empty.'
SELECT name, count(*) AS conditions, sum(cases) AS cases,
    string_agg(of_id, ', ') FILTER (WHERE wrong > 0) AS wrong,
    string_agg(of_id, ', ') FILTER (WHERE "not wrong" > 0) AS "not wrong",
    sum("true") AS "true", min("true") > 0 AS "each is true of some", sum(unknown) AS unknown
FROM kind JOIN condition USING (form), pg_temp.tally(kind, condition) AS tally
GROUP BY kind.nr, name ORDER BY kind.nr;
\echo -- Of an ID without a time it is neither true that it is before a time, nor that it is not.
SELECT * FROM pg_temp.each($$
    SELECT (count(*) FILTER (WHERE id < t), count(*) FILTER (WHERE id >= t),
        count(*) FILTER (WHERE NOT id < t AND NOT id >= t)) FROM event, moment WHERE NOT has_time
$$, 'uniqueid');
SELECT * FROM pg_temp.each($$
    SELECT (count(*) FILTER (WHERE uuidv7_before(id, t)),
        count(*) FILTER (WHERE uuidv7_since(id, t)),
        count(*) FILTER (WHERE NOT uuidv7_before(id, t) AND NOT uuidv7_since(id, t)))
    FROM event, moment WHERE NOT has_time
$$, 'uuidv7');
\echo -- A condition on the ID NULL is NULL.
SELECT * FROM pg_temp.each($$
    SELECT (NULL::<type> <@ tstzrange '(,)', NULL::<type> < timestamptz '2026-01-01',
        NULL::<type> = timestamptz '2026-01-01')
$$, '^[^u].*[^e7]$|uniq') WHERE kinds <> 'flake';

\echo '-- Beyond the ends of sno''s times the bound of an operator is the first or last ID'
\echo -- itself, so of these two an operator says too much. A range is exact.
SELECT id, id <= timestamptz '2009-12-31' AS before, id >= timestamptz '2079-12-31' AS after,
       id <@ '(,2009-12-31]'::tstzrange AS in_before, id <@ '[2079-12-31,)'::tstzrange AS in_after
FROM unnest('{2222222222222222,xxxxxxxxxxxxxxxx}'::sno[]) AS id;
\echo -- The first and last ID of a drift, and times outside of the format.
SELECT * FROM pg_temp.each($$
    SELECT (count(*), count(*) FILTER (WHERE
        (id < t) <> (<name>_timestamp(id) < t) OR (id <= t) <> (<name>_timestamp(id) <= t)
        OR (id = t) <> (<name>_timestamp(id) = t) OR (id <> t) <> (<name>_timestamp(id) <> t)
        OR (id >= t) <> (<name>_timestamp(id) >= t) OR (id > t) <> (<name>_timestamp(id) > t)))
    FROM generate_series(0, 7) AS code,
        unnest(ARRAY[<name>_code_min('(,)', code), <name>_code_max('(,)', code)]) AS id,
        unnest('{-infinity,1900-01-01,1970-01-01,2554-07-21 23:34:33.70942,
            2554-07-21 23:34:33.709421,2600-01-01,infinity}'::timestamptz[]) AS t
$$, 'guid') AS "first and last" ("cases, different", kinds);

\echo '-- guid_within is of one drift, and of the clock that is named: IDs of the inverse clock'
\echo -- have their times by it.
SELECT * FROM pg_temp.each($$
    SELECT (count(*), count(*) FILTER (WHERE <name>_within(id, times, drift)
            IS DISTINCT FROM (at <@ times AND event.code = named.code)),
        count(*) FILTER (WHERE <name>_within(id, times, drift, true)
            IS DISTINCT FROM (<name>_timestamp(id, true) <@ times AND event.code = named.code)),
        count(*) FILTER (WHERE <name>_within(id, times, drift)) > 5000)
    FROM event, unnest('{68 s,137 s,274 s,549 s,1099 s,2199 s,1 day}'::interval[])
        WITH ORDINALITY AS named (drift, code),
        (SELECT times FROM span WHERE times IS NOT NULL ORDER BY md5(times::text) LIMIT 50) AS span
$$, 'guid') AS "one drift" ("cases, different, different by inverse clock, many true", kinds);
SELECT * FROM pg_temp.each($$
    SELECT (count(*) FILTER (WHERE <name>_within(id, '(,)') IS DISTINCT FROM (code = 3)),
        count(*) FILTER (WHERE <name>_within(id, '[2026-05-23,2026-05-24)')
            IS DISTINCT FROM (code = 3 AND at <@ tstzrange '[2026-05-23,2026-05-24)')),
        count(<name>_within(NULL, '(,)')), count(<name>_within(id, NULL)),
        count(<name>_within(id, '(,)', NULL)), count(<name>_within(id, '(,)', '274 s', NULL)))
    FROM event
$$, 'guid') AS "default drift" ("different, different in a day, not NULL", kinds);

\echo -- plans ----------------------------------------------------------------------------------
-- A plan in one line. A constant that is the bound of a time is written as this bound. The bounds
-- of a guid, which has a range for each drift, are counted.
CREATE FUNCTION pg_temp.plan(query text, kind kind) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    bound text;
    time timestamptz;
    named text;
    lines text[];
BEGIN
    PERFORM set_config('enable_seqscan', 'off', true);
    PERFORM set_config('enable_bitmapscan', (kind.scans <> 'one')::text, true),
        set_config('enable_indexscan', (kind.scans = 'one')::text, true),
        set_config('enable_indexonlyscan', (kind.scans = 'one')::text, true);
    PERFORM set_config('search_path', 'times_' || kind.name || ', public, pg_temp', true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        CONTINUE WHEN line ~ 'Disabled: ';
        IF kind.name ~ 'guid' THEN
            line := regexp_replace(line, 'Cond: .*', 'Cond');
            line := regexp_replace(line, 'Filter: .*flakeid_recheck.*', 'Filter: flakeid_recheck');
        END IF;
        FOR bound IN SELECT (regexp_matches(line, '''[^'']+''::' || kind.type || '\M', 'g'))[1] LOOP
            EXECUTE format('SELECT %1$s_timestamp(%2$s)', kind.name, bound) INTO time;
            EXECUTE format('SELECT CASE %1$s WHEN %2$s_min(%3$L) THEN ''min'' '
                'WHEN %2$s_max(%3$L) THEN ''max'' END', bound, kind.name, time) INTO named;
            line := replace(line, bound, named || '(' || time || ')');
        END LOOP;
        line := replace(line, quote_literal(kind.edge) || '::timestamp with time zone', '<edge>');
        line := replace(line, 'timestamp with time zone', 'timestamptz');
        lines := lines || regexp_replace(line, ' (using event_pkey )?on event(?!_)', '');
    END LOOP;
    RETURN (
        SELECT string_agg(CASE times WHEN 1 THEN '' ELSE times || ' x ' END || text, '; '
            ORDER BY nr)
        FROM (SELECT regexp_replace(ltrim(plan.line), '^-> +', '') AS text, count(*) AS times,
                min(nr) AS nr
            FROM unnest(lines) WITH ORDINALITY AS plan (line, nr) GROUP BY 1) AS texts);
END
$$;
-- The plans of a query for each condition with these operands. Kinds and conditions with the same
-- plan are one row. No index serves "<>".
CREATE FUNCTION pg_temp.plans(query text, t text, times text, only_at text DEFAULT '^(?!.*<> )')
RETURNS TABLE (kinds text, conditions text, plan text) LANGUAGE sql AS $$
    WITH plans AS MATERIALIZED (
        SELECT kind.nr, name, condition.nr AS condition_nr, of_id,
            replace(pg_temp.plan(replace(replace(replace(replace(replace(replace(query,
                '<condition>', of_id), '<name>', name), '<t>', t), '<times>', times),
                '<edge>', edge), '<epoch>', 'timestamptz ''2010-01-01 00:00+00'''), kind),
                name || '_', 'X_') AS plan
        FROM kind JOIN condition USING (form) WHERE of_at ~ only_at ORDER BY kind.nr, condition.nr
    ), of_kind AS (
        SELECT nr, name, plans.plan, min(condition_nr) AS condition_nr,
            string_agg(replace(of_id, name || '_', 'X_'), ', ' ORDER BY condition_nr) AS conditions
        FROM plans GROUP BY nr, name, plans.plan
    )
    SELECT string_agg(name, ' ' ORDER BY nr), of_kind.conditions, of_kind.plan
    FROM of_kind GROUP BY of_kind.conditions, of_kind.plan ORDER BY min(nr), min(condition_nr)
$$;
\echo -- A time that is known is a bound in the plan; but flakeid.epoch may have changed before
\echo -- it runs.
SELECT * FROM pg_temp.plans('SELECT id FROM event WHERE <condition>', 'timestamptz ''<edge>''',
    'tstzrange(''<edge>'', ''2026-07-02 00:00+00'')');
\echo -- A time within a tick, and a range without an end.
SELECT * FROM pg_temp.plans('SELECT id FROM event WHERE <condition>',
    'timestamptz ''2026-07-01 12:34:56.789001+00''',
    'tstzrange(''2026-07-01 12:34:56.789+00'', NULL, ''()'')', '^at (<|<=|>=|>|<@) <');
\echo -- A time of now is a bound when the query runs.
SELECT * FROM pg_temp.plans('SELECT id FROM event WHERE <condition>', '(now() - interval ''5 s'')',
    'tstzrange(now() - interval ''5 s'', now())', '^at (<|=|>|<@) <');
\echo -- In order of the IDs; from a time to infinity; between two times.
SELECT * FROM pg_temp.plans('SELECT id FROM event WHERE <condition> ORDER BY id DESC LIMIT 1',
    'timestamptz ''<edge>''', '', '^at > <t>') WHERE kinds <> 'guid guid_local';
SELECT kind.name, pg_temp.plan(format('SELECT id FROM event WHERE %s', condition), kind)
FROM kind, unnest(ARRAY[
    $$id BETWEEN timestamptz '2026-07-01' AND timestamptz '2026-08-01'$$,
    $$uuidv7_between(id, '2026-07-01', '2026-08-01')$$,
    $$uuidv7_between(id, '2026-07-01', 'infinity')$$,
    $$flake_between(id, '2026-07-01', '2026-08-01', '2010-01-01 00:00+00')$$,
    $$flake_between(id, '2026-07-01', '2026-08-01')$$,
    $$flake_between(id, now() - interval '5 s', now())$$,
    $$id >= flake_min(now() - interval '5 s') AND id <= flake_max(now())$$
]) WITH ORDINALITY AS conditions (condition, nr)
WHERE CASE WHEN condition ~ '^id BETWEEN' THEN form = 'operator' ELSE condition ~ name END
ORDER BY kind.nr, conditions.nr;
\echo -- Through a view, and one that keeps its rows from functions that are not leakproof.
SELECT * FROM pg_temp.each($$
    CREATE VIEW event_made AS SELECT id, <name>_timestamp(id) AS made_at FROM event;
    CREATE VIEW event_guarded WITH (security_barrier) AS
    SELECT id FROM event WHERE has_time IS NOT NULL;
    SELECT 'views'
$$);
SELECT * FROM pg_temp.plans('SELECT id, made_at FROM event_made WHERE <condition>',
    'timestamptz ''<edge>''', 'tstzrange(''<edge>'', ''2026-07-02 00:00+00'')', '^at (>=|<@) <');
SELECT * FROM pg_temp.plans('SELECT id FROM event_guarded WHERE <condition>',
    'timestamptz ''<edge>''', 'tstzrange(''<edge>'', ''2026-07-02 00:00+00'')', '^at (>=|<@) <');
\echo '-- One join''s side gives the times, the other''s index the IDs.'
SELECT * FROM pg_temp.plans('SELECT count(*) FROM (SELECT times FROM span OFFSET 0) AS span, event '
    'WHERE <condition>', '', 'times', '^at <@') WHERE kinds <> 'guid guid_local';
\echo -- Of one drift a time is one range of the index.
UPDATE kind SET scans = 'one' WHERE scans = 'several';
SELECT condition, string_agg(name, ' ' ORDER BY kind.nr) AS kinds,
    replace(plan, name || '_', 'X_') AS plan
FROM kind, unnest(ARRAY[
    $$X_within(id, '[2026-05-23,2026-05-24)')$$,
    $$X_within(id, '[2026-05-23,2026-05-24)', '1 day', true)$$,
    $$X_within(id, tstzrange(now() - interval '5 s', now()))$$,
    $$id >= X_min('2026-05-23', '1 day') ORDER BY id LIMIT 1$$
]) WITH ORDINALITY AS conditions (condition, nr), pg_temp.plan(
    'SELECT id FROM event WHERE ' || replace(condition, 'X_', name || '_'), kind) AS plan
WHERE name ~ 'guid' GROUP BY conditions.nr, condition, 3 ORDER BY conditions.nr;
SET enable_seqscan = off;
SELECT * FROM pg_temp.each($$
    SELECT ((SELECT count(*) FROM event WHERE <name>_within(id, '(,)', '1 day', false)),
        (SELECT count(*) FROM event WHERE <name>_within(id, '(,)', '1 day', true)),
        (SELECT count(*) FROM event
         WHERE <name>_within(id, '[2026-05-23,2026-05-24)', '68 s', false)),
        (SELECT count(*) FROM event
         WHERE <name>_within(id, '[2026-05-23,2026-05-24)', '68 s', true)),
        (SELECT count(*) FROM event WHERE <name>_within(id, NULL, '68 s', true)))
$$, 'guid') AS found ("1 day, inverse, 68 s, inverse, NULL", kinds);
RESET enable_seqscan;
UPDATE kind SET scans = 'several' WHERE name ~ 'guid';

\echo -- A plan made once for any time.
CREATE FUNCTION pg_temp.generic_plan(kind kind, condition text, operand text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan text;
BEGIN
    PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
    PERFORM set_config('search_path', 'times_' || kind.name || ', public, pg_temp', true);
    EXECUTE format('PREPARE generic (%s) AS SELECT id FROM event WHERE %s', operand, condition);
    plan := replace(pg_temp.plan('EXECUTE generic (NULL)', kind), kind.name || '_', 'X_');
    DEALLOCATE generic;
    RETURN plan;
END
$$;
WITH plans AS MATERIALIZED (
    SELECT kind.nr, name, condition.nr AS condition_nr, replace(of_id, name || '_', 'X_') AS of_id,
        pg_temp.generic_plan(kind, replace(replace(replace(of_id, '<times>', '$1'), '<t>', '$1'),
            '<epoch>', 'timestamptz ''2010-01-01 00:00+00'''),
            CASE WHEN of_id ~ '<times>' THEN 'tstzrange' ELSE 'timestamptz' END) AS plan
    FROM kind JOIN condition USING (form) WHERE of_at ~ '^at (?!<>)'
)
SELECT string_agg(name, ' ' ORDER BY nr) AS kinds, of_id AS condition, plan FROM plans
GROUP BY condition_nr, of_id, plan ORDER BY min(nr), condition_nr;
SELECT name, pg_temp.generic_plan(kind, condition, operand) FROM kind, (VALUES
    ('flake_within(id, ''(,)'', $1)', 'timestamptz'),
    ('guid_within(id, $1)', 'tstzrange'), ('guid_local_within(id, ''(,)'', $1, true)', 'interval'),
    ('uuidv7_between(id, $1, ''2026-08-01'')', 'timestamptz'),
    ('uuidv7_since(id, timestamptz ''2026-07-01 12:34:56.788+00'' - $1)', 'interval'),
    ('id >= timestamptz ''2026-07-01 12:34:56.788+00'' - $1', 'interval'))
    AS conditions (condition, operand)
WHERE CASE WHEN condition ~ '^id' THEN form = 'operator' AND scans = 'one'
    ELSE condition ~ ('^' || name || '_[^l]') END ORDER BY nr;

\echo '-- By the index the same IDs are found as without it: by plans for one time, and for any.'
CREATE FUNCTION pg_temp.found(kind kind, condition condition,
    OUT times bigint, OUT "constant wrong" bigint, OUT "generic wrong" bigint, OUT answers bigint)
LANGUAGE plpgsql AS $$
DECLARE
    -- A range that an ID is within ends at the time; one that holds an ID begins there.
    operand text := CASE WHEN condition.of_at LIKE 'at <@%' THEN format(
            'tstzrange(<t> - interval %L, <t>, ''[]'')',
            CASE kind.scans WHEN 'one' THEN '5000 days' ELSE '1 hour' END)
        ELSE 'tstzrange(<t>, <t> + interval ''1 minute'', ''[]'')' END;
    says text := replace(replace(condition.of_id, '<times>', operand),
        '<epoch>', 'timestamptz ''2010-01-01 00:00+00''');
    should_say text := replace(condition.of_at, '<times>', operand);
    query text := 'SELECT sum(hashtextextended(id::text, 0))::text FROM event WHERE ';
    asked timestamptz[];
    plain text[];
    by_constant text[];
    by_parameter text[];
    answer text;
BEGIN
    PERFORM set_config('search_path', 'times_' || kind.name || ', public, pg_temp', true);
    SELECT array_agg(DISTINCT t) INTO asked
    FROM (SELECT t FROM moment WHERE t > '-infinity' AND t < '290000-01-01'
          UNION SELECT NULL
          UNION SELECT kind.edge::timestamptz + CASE kind.scans
              WHEN 'one' THEN interval '25000 days'
              ELSE interval '90 minutes' END * (('x' || left(md5(nr::text), 6))::bit(24)::integer
                  / 8388608.0 - 1)
          FROM generate_series(1, CASE WHEN kind.name ~ '^u' THEN 200
              WHEN kind.name ~ 'guid' THEN 100 ELSE 20 END) AS nr) AS times (t);
    PERFORM set_config('enable_seqscan', 'on', true);
    EXECUTE format('SELECT array_agg((%s has_time AND %s) ORDER BY nr) '
        'FROM unnest($1) WITH ORDINALITY AS times (t, nr)',
        query, replace(should_say, '<t>', 't')) INTO plain USING asked;
    PERFORM set_config('enable_seqscan', 'off', true);
    PERFORM set_config('enable_bitmapscan', (kind.scans <> 'one')::text, true),
        set_config('enable_indexscan', (kind.scans = 'one')::text, true),
        set_config('enable_indexonlyscan', (kind.scans = 'one')::text, true);
    PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
    EXECUTE format('PREPARE generic (timestamptz) AS %s %s', query, replace(says, '<t>', '$1'));
    FOR nr IN 1..cardinality(asked) LOOP
        EXECUTE query || replace(says, '<t>', quote_nullable(asked[nr]) || '::timestamptz')
            INTO answer;
        by_constant := array_append(by_constant, answer);
        EXECUTE format('EXECUTE generic (%L)', asked[nr]) INTO answer;
        by_parameter := array_append(by_parameter, answer);
    END LOOP;
    DEALLOCATE generic;
    SELECT count(*), count(*) FILTER (WHERE a IS DISTINCT FROM c),
        count(*) FILTER (WHERE b IS DISTINCT FROM c), count(DISTINCT c)
    INTO times, "constant wrong", "generic wrong", answers
    FROM unnest(by_constant, by_parameter, plain) AS found (a, b, c);
END
$$;
SELECT name, min(times) AS times, sum(times) AS cases, sum("constant wrong") AS "constant wrong",
    sum("generic wrong") AS "generic wrong", sum(answers) AS answers
FROM kind JOIN condition USING (form), pg_temp.found(kind, condition)
WHERE NOT swapped GROUP BY kind.nr, name ORDER BY kind.nr;
SET plan_cache_mode = force_generic_plan;
SELECT name, pg_temp.run(format('PREPARE %1$s_within (tstzrange) AS
    SELECT count(*) FROM event WHERE %2$s; EXECUTE %1$s_within (''empty'')',
    name, replace(of_id, '<times>', '$1')), kind) AS "within empty"
FROM kind JOIN condition USING (form) WHERE of_at ~ '^at <@' AND of_id !~ '<epoch>'
ORDER BY kind.nr;
RESET plan_cache_mode;
DEALLOCATE ALL;

\echo -- estimates, BRIN ------------------------------------------------------------------------
\echo '-- Row estimates follow from the IDs'' own statistics, which a recheck of each row does'
\echo -- not lower.
CREATE FUNCTION pg_temp.shares(kind kind, condition text,
    OUT estimated numeric, OUT "in truth" numeric)
LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    PERFORM set_config('search_path', 'times_' || kind.name || ', public, pg_temp', true);
    EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM event WHERE ' || condition INTO plan;
    EXECUTE 'SELECT round((plan -> 0 -> ''Plan'' ->> ''Plan Rows'')::numeric / count(*), 1), '
        'round(count(*) FILTER (WHERE ' || condition || ')::numeric / count(*), 1) '
        'FROM event, (SELECT $1 AS plan) AS plans GROUP BY plan::text, plan'
        INTO estimated, "in truth" USING plan::jsonb;
END
$$;
SELECT name, of_id, shares.*
FROM kind JOIN condition USING (form), pg_temp.shares(kind, replace(replace(replace(of_id, '<t>',
    format('timestamptz %L', lower(middle::tstzrange))), '<times>', format('tstzrange %L', middle)),
    '<epoch>', 'timestamptz ''2010-01-01 00:00+00''')) AS shares
WHERE of_at ~ '^at (<|>|>=|<@) ' ORDER BY kind.nr, condition.nr;
SELECT name, shares.*
FROM kind, pg_temp.shares(kind, name || '_within(id, ''(,)'', ''274 s'')') AS shares
WHERE name ~ 'guid' ORDER BY nr;
SELECT shares.* FROM kind,
    pg_temp.shares(kind, 'uuidv7_between(id, ''2024-01-01'', ''2078-01-01'')') AS shares
WHERE name = 'uuidv7';

\echo -- BRIN serves them too.
SELECT * FROM pg_temp.each($$
    CREATE TABLE event_log AS SELECT id, at, has_time FROM event ORDER BY id;
    CREATE INDEX event_log_id ON event_log USING brin (id) WITH (pages_per_range = 1);
    SELECT 'event_log'
$$);
UPDATE kind SET scans = 'brin' WHERE scans = 'one';
SELECT * FROM pg_temp.plans('SELECT count(*) FROM event_log WHERE <condition>', '',
    'tstzrange(''2026-05-20'', ''2026-08-01'')', '^at <@');
SET enable_seqscan = off;
SELECT name, pg_temp.run(format('SELECT (count(*), (SELECT count(*) FROM event_log
    WHERE has_time AND at <@ tstzrange(''2026-05-20'', ''2026-08-01''))) FROM event_log WHERE %s',
    replace(of_id, '<times>', 'tstzrange(''2026-05-20'', ''2026-08-01'')')), kind)
    AS "found, wanted"
FROM kind JOIN condition USING (form) WHERE of_at ~ '^at <@' AND of_id !~ '<epoch>'
ORDER BY kind.nr;
RESET enable_seqscan;

SET client_min_messages = warning;
DROP SCHEMA times_flake, times_sno, times_flake128, times_guid, times_guid_local, times_uniqueid,
    times_uuidv7 CASCADE;
