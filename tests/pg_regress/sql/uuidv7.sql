-- uuidv7: the fields of a uuid of version 7, bounds of a time. Other UUIDs have no time. What other
-- ID types have too is in every_type.sql.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- taking apart ---------------------------------------------------------------------------
\echo '-- The example of RFC 9562, section A.6: 2022-02-22 14:22:22 in New York.'
SELECT id, decoded.*, uuidv7_timestamp(id), uuidv7_valid(id)
FROM (VALUES (uuid '017F22E2-79B0-7CC3-98C4-DC0C0C07398F')) AS example (id),
    uuidv7_decode(id) AS decoded;

\echo -- Each field alone, at its ends.
CREATE TEMP TABLE vector (id uuid, made timestamptz, fraction integer, lane integer,
    sequence integer, random bigint);
INSERT INTO vector VALUES
    ('00000000-0000-7000-8000-000000000000', '1970-01-01 00:00:00+00', 0, 0, 0, 0),
    ('ffffffff-ffff-7fff-bfff-ffffffffffff', '10889-08-02 05:31:50.655+00', 4095, 3, 255,
        4503599627370495),
    ('00000000-0001-7000-8000-000000000000', '1970-01-01 00:00:00.001+00', 0, 0, 0, 0),
    ('80000000-0000-7000-8000-000000000000', '6429-10-17 02:45:55.328+00', 0, 0, 0, 0),
    ('00000000-0000-7001-8000-000000000000', '1970-01-01 00:00:00+00', 1, 0, 0, 0),
    ('00000000-0000-7800-8000-000000000000', '1970-01-01 00:00:00+00', 2048, 0, 0, 0),
    ('00000000-0000-7000-9000-000000000000', '1970-01-01 00:00:00+00', 0, 1, 0, 0),
    ('00000000-0000-7000-a000-000000000000', '1970-01-01 00:00:00+00', 0, 2, 0, 0),
    ('00000000-0000-7000-8010-000000000000', '1970-01-01 00:00:00+00', 0, 0, 1, 0),
    ('00000000-0000-7000-8800-000000000000', '1970-01-01 00:00:00+00', 0, 0, 128, 0),
    ('00000000-0000-7000-8000-000000000001', '1970-01-01 00:00:00+00', 0, 0, 0, 1),
    ('00000000-0000-7000-8008-000000000000', '1970-01-01 00:00:00+00', 0, 0, 0, 2251799813685248),
    ('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', '2022-02-22 19:22:22+00', 3267, 1, 140,
        1367844206360975);
SELECT count(*) AS vectors,
    count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (made, vector.fraction, vector.lane,
        vector.sequence, vector.random)) AS decoded_otherwise,
    count(*) FILTER (WHERE (uuidv7_timestamp(id), uuidv7_valid(id)) IS DISTINCT FROM (made, true))
        AS of_another_time,
    count(*) FILTER (WHERE uuidv7_encode(made, vector.fraction, vector.lane, vector.sequence,
        vector.random) IS DISTINCT FROM id) AS encoded_otherwise
FROM vector, uuidv7_decode(id) AS decoded;

\echo '-- UUIDs without a time: of each other version and variant, Nil and Max of RFC 9562, and'
\echo -- its other examples.
SELECT id, uuidv7_valid(id), uuidv7_timestamp(id), decoded.*, uuidv7_decode(id) IS NULL AS is_null
FROM unnest('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,
    c232ab00-9414-11ec-b3c8-9f6bdeced846,5df41881-3aed-3515-88a7-2f4a814cf09e,
    919108f7-52d1-4320-9bac-f847db4148a8,
    2ed6657d-e927-568b-95e1-2665a8aea6a2,1ec9414c-232a-6b00-b3c8-9f6bdeced846,
    2489e9ad-2ee2-8e00-8ec9-32d5f69181c0}'::uuid[]) AS id
    LEFT JOIN uuidv7_decode(id) AS decoded ON true;
SELECT count(*) AS versions_and_variants, count(*) FILTER (WHERE uuidv7_valid(id)) AS valid,
       string_agg(to_hex(version) || to_hex(variant), ' ' ORDER BY version, variant)
           FILTER (WHERE uuidv7_valid(id)) AS which,
       count(*) FILTER (WHERE uuidv7_valid(id) <> (uuidv7_timestamp(id) IS NOT NULL)
           OR uuidv7_valid(id) <> (uuidv7_decode(id) IS NOT NULL)) AS different
FROM generate_series(0, 15) AS version, generate_series(0, 15) AS variant,
     LATERAL (SELECT format('017f22e2-79b0-%scc3-%s8c4-dc0c0c07398f', to_hex(version),
         to_hex(variant))::uuid AS id) AS ids;

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS SELECT nr, uuidv7_next() AS id FROM generate_series(1, 100000) AS nr;
SELECT count(*), bool_and(uuidv7_valid(id)) AS valid,
       bool_and(fraction BETWEEN 0 AND 4095 AND lane BETWEEN 0 AND 3 AND sequence BETWEEN 0 AND 255)
           AS within,
       bool_and(random BETWEEN 0 AND 4503599627370495) AS random
FROM made, uuidv7_decode(id);
\echo -- On a server time, fraction, lane and sequence are unique without the random bits.
SELECT count(*), bool_and(uuidv7_valid(id)) AS valid,
    count(*) - count(DISTINCT (created_at, fraction, lane, sequence)) AS repeated
FROM (SELECT id FROM made UNION ALL SELECT uuidv7_next_batch(10000)) AS ids, uuidv7_decode(id);
\echo '-- Of 52 random bits each is set in about half of the IDs: by chance one in 10^15 such'
\echo -- tables would fail.
SELECT count(*) AS bits, count(*) FILTER (WHERE abs(times - 50000) > 1300) AS skewed
FROM (SELECT bit, count(*) FILTER (WHERE (random >> bit) & 1 = 1) AS times
      FROM made, uuidv7_decode(id), generate_series(0, 51) AS bit GROUP BY bit) AS bits;
SELECT count(*) - count(DISTINCT random) AS repeated FROM made, uuidv7_decode(id);

\echo -- putting together -----------------------------------------------------------------------
\echo -- A time is cut to its millisecond.
SELECT uuidv7_encode('2024-06-15 12:34:56.788+00', 1, 2, 3, 4) AS at,
       uuidv7_encode('2024-06-15 12:34:56.788999+00', 1, 2, 3, 4) AS cut,
       uuidv7_encode('2024-06-15 12:34:56.789+00', 1, 2, 3, 4) AS next;
SELECT count(*) AS cases, count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (t, f, l, s, r))
    AS different
FROM unnest('{1970-01-01 00:00:00+00,2026-07-01 12:34:56.789+00,
    10889-08-02 05:31:50.655+00}'::timestamptz[]) AS t,
     unnest('{0,1,2047,2048,4095}'::int[]) AS f, unnest('{0,1,2,3}'::int[]) AS l,
         unnest('{0,1,127,128,255}'::int[]) AS s,
     unnest('{0,1,2251799813685248,4503599627370495}'::bigint[]) AS r,
         uuidv7_decode(uuidv7_encode(t, f, l, s, r)) AS decoded;
SELECT * FROM pg_temp.results(
    $$uuidv7_encode('10889-08-02 05:31:50.655999+00', 0, 0, 0, 0)$$);

\echo '-- For a given time, with its microsecond in the fraction, as PostgreSQL 18 has it: the'
\echo -- sequence runs first, then the lane.
SELECT number, created_at, fraction, lane, sequence
FROM unnest('{0,1,255,256,1022,1023,1024,9223372036854775807}'::bigint[]) AS number,
     uuidv7_decode(uuidv7_at('2020-02-02 02:02:02.002+00', number));
SELECT us, created_at, fraction, floor(fraction * 1000 / 4096.0) AS same_us,
    ceil(us * 4096 / 1000.0) = fraction AS first
FROM unnest('{0,1,2,499,500,501,998,999}'::int[]) AS us,
     LATERAL (SELECT timestamptz '2020-02-02 02:02:02.002+00' + us * interval '1 us' AS t) AS times,
     uuidv7_decode(uuidv7_at(t));
SELECT count(*) FILTER (WHERE floor(fraction * 1000 / 4096.0)::integer <> us)
    AS of_another_microsecond
FROM generate_series(0, 999) AS us,
    uuidv7_decode(uuidv7_at(timestamptz '2020-02-02 02:02:02.002+00' + us * interval '1 us'));
SELECT * FROM pg_temp.results(
    $$(uuidv7_decode(uuidv7_at('2020-02-02'))).lane,
        (uuidv7_decode(uuidv7_at('2020-02-02'))).sequence$$);
\echo -- Old rows get IDs that sort by their time and number, and are unique by their random bits.
SELECT count(*), count(DISTINCT uuidv7_at('2020-02-02', number)) AS distinct_ids,
       count(DISTINCT (uuidv7_decode(uuidv7_at('2020-02-02', number))).random) AS distinct_random
FROM generate_series(0, 99999) AS number;
SELECT count(*) AS not_rising
FROM (SELECT id, lag(id) OVER (ORDER BY t, number) AS previous
      FROM (SELECT t, number, uuidv7_at(t, number) AS id
            FROM generate_series(timestamptz '2020-02-02', '2020-02-02 00:00:00.01', '10 us') AS t,
            generate_series(0, 1023) AS number OFFSET 0) AS ids) AS ids
WHERE id <= previous;
SELECT * FROM pg_temp.results(
    $$(uuidv7_decode(uuidv7_at('1970-01-01 00:00+00'))).created_at,
        (uuidv7_decode(uuidv7_at('10889-08-02 05:31:50.655999+00'))).fraction$$);

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, uuidv7_min(time), uuidv7_max(time)
FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '1969-12-31 23:59:59.999999+00',
    '1970-01-01 00:00:00+00', '1970-01-01 00:00:00.000001+00', '1970-01-01 00:00:00.001+00',
    '2024-06-15 12:34:56.788+00', '2024-06-15 12:34:56.788001+00', '2024-06-15 12:34:56.788999+00',
    '10889-08-02 05:31:50.654001+00', '10889-08-02 05:31:50.655+00',
    '10889-08-02 05:31:50.655001+00',
    '10890-01-01 00:00:00+00', '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;

SELECT times, uuidv7_range_min(times), uuidv7_range_max(times)
FROM unnest(ARRAY[
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.788+00]',
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.789+00)',
    '(2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.789+00)',
        '(2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.788999+00]',
    '(,2024-06-15 12:34:56.788+00]', '(,2024-06-15 12:34:56.788+00)',
    '[2024-06-15 12:34:56.788+00,)', '(2024-06-15 12:34:56.788+00,)', '(,)', '[-infinity,infinity]',
        'empty',
    '(,1970-01-01 00:00:00+00)', '(,1970-01-01 00:00:00+00]', '[10889-08-02 05:31:50.655+00,)',
    '(10889-08-02 05:31:50.655+00,)', '[infinity,infinity]', '(,-infinity]'
]::tstzrange[]) AS times;
\echo -- An ID of each bound is on its side of it.
SELECT count(*) AS times,
       count(*) FILTER (WHERE uuidv7_timestamp(uuidv7_min(t)) < t
           OR uuidv7_timestamp(uuidv7_max(t)) > t) AS beyond,
       count(*) FILTER (WHERE uuidv7_encode(uuidv7_timestamp(uuidv7_min(t)), 0, 0, 0,
           0) <> uuidv7_min(t)
           OR uuidv7_encode(uuidv7_timestamp(uuidv7_max(t)), 4095, 3, 255,
           4503599627370495) <> uuidv7_max(t)) AS not_the_last
FROM generate_series(timestamptz '2026-07-01 00:00:00.000993+00', '2026-07-01 00:00:00.003007+00',
    '1 us') AS t;
