-- The type uniqueid: its fields and modes, bounds of a time. What other types have too is in
-- every_type.sql.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- What the UniqueID library gives.
CREATE TEMP TABLE vector (
    text text, made timestamptz, sequence integer, generator integer, "cluster" integer,
    mode uniqueid_mode
);
INSERT INTO vector VALUES
    ('0000000000000000', '1970-01-01 00:00:00+00', 0, 0, 0, 'spread'),
    ('ffffffffffffefff', '2109-05-15 07:35:11.103+00', 63, 2047, 15, 'spread'),
    ('4000000000000000', '1970-01-01 00:00:00.002+00', 0, 0, 0, 'spread'),
    ('1000000000000000', '1970-01-01 00:00:00.008+00', 0, 0, 0, 'spread'),
    ('a90735b8f9820000', '2026-07-01 12:34:56.789+00', 2, 0, 0, 'spread'),
    ('a90735b8f9880000', '2026-07-01 12:34:56.789+00', 8, 0, 0, 'spread'),
    ('4e76bb4f99a1c1ea', '2025-10-17 15:50:22.066+00', 33, 1566, 10, 'spread'),
    ('e28fadfc60a15e8a', '2093-05-04 16:23:32.482+00', 33, 744, 10, 'time_sequential'),
    ('0000000008001000', '1970-01-01 00:00:00.032+00', 0, 0, 0, 'time_sequential'),
    ('67c76b3825401200', '2026-07-01 12:34:56.789+00', 0, 32, 0, 'time_sequential'),
    ('67c76b38257f900f', '2026-07-01 12:34:56.789+00', 63, 1024, 15, 'time_sequential'),
    ('67c76b38257fdfff', '2026-07-01 12:34:56.789+00', 63, 1791, 15, 'time_sequential'),
    ('a6318eb4f78fb19e', '2060-06-23 02:40:28.638+00', 15, 1305, 14, 'time_sequential'),
    ('2942cc4166b93f2e', '1992-06-18 08:49:25.914+00', 57, 498, 14, 'time_sequential'),
    ('73d997db992630ed', '2033-01-25 17:36:28.26+00', 38, 270, 13, 'time_sequential');

SELECT count(*) AS vectors,
    count(*) FILTER (WHERE (id::text, id::bytea, upper(text)::uniqueid)
        IS DISTINCT FROM (text, decode(text, 'hex'), id)) AS written_otherwise,
    count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (made, vector.sequence, vector.generator,
        vector.cluster, vector.mode)) AS decoded_otherwise,
    count(*) FILTER (WHERE (uniqueid_timestamp(id), uniqueid_sequential(id))
        IS DISTINCT FROM (made, vector.mode = 'time_sequential')) AS of_another_time_or_mode,
    count(*) FILTER (WHERE uniqueid_encode(made, vector.sequence, generator, "cluster", vector.mode)
        IS DISTINCT FROM id) AS encoded_otherwise
FROM vector, LATERAL (SELECT text::uniqueid) AS ids (id), uniqueid_decode(id) AS decoded;

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS
SELECT nr, uniqueid_next() AS id FROM generate_series(1, 20000) AS nr;

SELECT count(*), count(DISTINCT id) AS distinct_ids,
    bool_and(uniqueid_sequential(id)) AS sequential,
       bool_and(mode = 'time_sequential' AND generator_id BETWEEN 0 AND 7 AND sequence BETWEEN 0
           AND 63 AND cluster_id = 0) AS within
FROM made, uniqueid_decode(id);

SELECT mode, pg_temp.not_of_now(format('uniqueid_timestamp(uniqueid_next(%L))', mode), '1 ms')
    AS not_of_now, (SELECT count(*) FROM generate_series(1, 1000) AS nr
     WHERE uniqueid_sequential(uniqueid_next(mode)) <> (mode = 'time_sequential')) AS of_other_mode
FROM unnest(enum_range(NULL::uniqueid_mode)) AS mode;

\echo -- Spread ones are as new, and lie all over.
CREATE TEMP TABLE spread AS
SELECT nr, uniqueid_next('spread') AS id FROM generate_series(1, 20000) AS nr;
SELECT count(*), count(DISTINCT id) AS distinct_ids, bool_or(uniqueid_sequential(id)) AS sequential,
       bool_and(mode = 'spread' AND generator_id BETWEEN 0 AND 7 AND sequence BETWEEN 0 AND 63
           AND cluster_id = 0) AS within,
       count(DISTINCT get_byte(id::bytea, 0) >> 5) > 1 AS eighths
FROM spread, uniqueid_decode(id);
SELECT count(*) AS not_rising
FROM (SELECT this, lag(this) OVER (ORDER BY nr) AS previous
      FROM (SELECT nr, (created_at, sequence, generator_id) AS this FROM spread,
          uniqueid_decode(id)) AS spread) AS spread
WHERE this <= previous;
\echo -- Neither mode has a time, sequence and generator that the other had.
SELECT count(*) AS both
FROM (SELECT created_at, sequence, generator_id FROM spread, uniqueid_decode(id)
      INTERSECT SELECT created_at, sequence, generator_id FROM made, uniqueid_decode(id)) AS shared;

CREATE TEMP TABLE batched AS
SELECT nr, id FROM uniqueid_next_batch(10000, 'spread') WITH ORDINALITY AS batch (id, nr);
SELECT count(*), count(DISTINCT id) AS distinct_ids, bool_or(uniqueid_sequential(id)) AS sequential
    FROM batched;
SELECT count(*) AS both FROM batched JOIN spread USING (id);

SELECT count(*), bool_and(uniqueid_sequential(id)) AS sequential FROM uniqueid_next_batch(1) AS id;
SELECT * FROM pg_temp.refused(
    $$uniqueid_next('SPREAD')$$,
    $$uniqueid_next('')$$,
    $$uniqueid_next(0)$$);

\echo -- putting together -----------------------------------------------------------------------
\echo -- What was made is put together again of its parts.
SELECT count(*) AS ids,
       count(*) FILTER (WHERE uniqueid_encode(created_at, sequence, generator_id, cluster_id,
           mode) <> id) AS different
FROM (SELECT id FROM made UNION ALL SELECT id FROM spread) AS made, uniqueid_decode(id);
\echo -- And so is any number, in the mode that it names.
SELECT count(*) AS ids,
       count(*) FILTER (WHERE uniqueid_encode(created_at, sequence, generator_id, cluster_id,
           mode) <> id) AS different,
       count(DISTINCT mode) AS modes
FROM (SELECT left(md5(nr::text), 16)::uniqueid FROM generate_series(1, 5000) AS nr) AS made (id),
    uniqueid_decode(id);
\echo -- A time is cut to its millisecond.
SELECT mode, uniqueid_encode('2024-06-15 12:34:56.788+00', 7, 1000, 9, mode) AS at,
       uniqueid_encode('2024-06-15 12:34:56.788999+00', 7, 1000, 9, mode) AS cut,
       uniqueid_encode('2024-06-15 12:34:56.789+00', 7, 1000, 9, mode) AS next
FROM unnest(enum_range(NULL::uniqueid_mode)) AS mode;
SELECT count(*) AS ids, count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (t, s, g, c, m))
    AS different
FROM unnest('{1970-01-01 00:00:00+00,1970-01-01 00:00:00.001+00,2026-07-01 12:34:56.789+00,
    2109-05-15 07:35:11.102+00,
2109-05-15 07:35:11.103+00}'::timestamptz[]) AS t, unnest('{0,1,31,32,63}'::int[]) AS s,
     unnest('{0,1,255,256,257,1023,1024,2047}'::int[]) AS g, unnest('{0,1,7,8,15}'::int[]) AS c,
     unnest(enum_range(NULL::uniqueid_mode)) AS m, uniqueid_decode(uniqueid_encode(t, s, g, c, m))
         AS decoded;

\echo '-- For a given time: the generator IDs of this server (0 to 7) run first, then the sequence.'
SELECT number, decoded.*
FROM unnest('{0,1,7,8,9,15,16,503,504,511,512,513,9223372036854775807}'::bigint[]) AS number,
     uniqueid_decode(uniqueid_at('2020-02-02 02:02:02.002+00', number)) AS decoded;
SELECT number, decoded.* FROM unnest('{0,8,511,512}'::bigint[]) AS number,
     uniqueid_decode(uniqueid_at('2020-02-02 02:02:02.002+00', number, 'spread')) AS decoded;
SELECT uniqueid_at('2020-02-02', 5) = uniqueid_at('2020-02-02', 5, 'time_sequential')
    AS default_mode;
\echo -- In this order they sort, and by the ends of the time they are within.
SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids,
    count(*) FILTER (WHERE id <= previous) AS not_rising,
       bool_and(id BETWEEN uniqueid_min('2020-02-02') AND uniqueid_max('2020-02-02')) AS within
FROM (SELECT id, lag(id) OVER (ORDER BY number) AS previous
      FROM generate_series(0, 511) AS number, uniqueid_at('2020-02-02', number) AS id) AS at;

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, uniqueid_min(time), uniqueid_max(time)
FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '1969-12-31 23:59:59.999999+00',
    '1970-01-01 00:00:00+00', '1970-01-01 00:00:00.000001+00', '1970-01-01 00:00:00.001+00',
    '2024-06-15 12:34:56.788+00', '2024-06-15 12:34:56.788001+00', '2024-06-15 12:34:56.788999+00',
    '2109-05-15 07:35:11.102001+00', '2109-05-15 07:35:11.103+00', '2109-05-15 07:35:11.103001+00',
    '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;

SELECT times, uniqueid_range_min(times), uniqueid_range_max(times)
FROM unnest(ARRAY[
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.788+00]',
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.789+00)',
    '(2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.789+00)', '(,2024-06-15 12:34:56.788+00]',
    '(,2024-06-15 12:34:56.788+00)',
    '[2024-06-15 12:34:56.788+00,)', '(2024-06-15 12:34:56.788+00,)', '(,)', '[-infinity,infinity]',
        'empty',
    '(,1970-01-01 00:00:00+00)', '(,1970-01-01 00:00:00+00]', '[2109-05-15 07:35:11.103+00,)',
    '(2109-05-15 07:35:11.103+00,)', '[1900-01-01,1960-01-01]', '[2600-01-01,infinity]'
]::tstzrange[]) AS times;
