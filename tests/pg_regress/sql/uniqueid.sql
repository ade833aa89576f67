-- The type uniqueid: text and bytes, casts, making, taking apart, putting together, bounds of a
-- time.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- text and bytes -------------------------------------------------------------------------
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

CREATE TEMP TABLE ids AS SELECT text::uniqueid AS id, text FROM vector;

SELECT id, id::bytea, uniqueid_sequential(id), decoded.* FROM ids, uniqueid_decode(id) AS decoded
    ORDER BY ids.id;

SELECT text AS otherwise_than_in_java
FROM ids, decode(text, 'hex') AS bytes
WHERE id::text <> text OR uniqueid_out(id)::text <> text OR id::bytea <> bytes
    OR uniqueid_send(id) <> bytes
   OR bytes::uniqueid <> id OR uniqueid_in(text::cstring) <> id OR upper(text)::uniqueid <> id;
SELECT text AS decoded_otherwise FROM vector, uniqueid_decode(text::uniqueid) AS decoded
WHERE (decoded.*) IS DISTINCT FROM (made, vector.sequence, vector.generator, vector.cluster,
    vector.mode);
SELECT text AS of_another_time FROM vector WHERE uniqueid_timestamp(text::uniqueid) <> made;
SELECT text AS of_another_mode FROM vector
    WHERE uniqueid_sequential(text::uniqueid) <> (mode = 'time_sequential');
SELECT text AS encoded_otherwise FROM vector
WHERE uniqueid_encode(made, sequence, generator, cluster, mode)::text <> text;

SELECT uniqueid '67c76b38257fdfff' AS literal, '67c76b38257fdfff'::uniqueid AS cast,
       pg_typeof(uniqueid '67c76b38257fdfff') AS type,
           pg_column_size(uniqueid '67c76b38257fdfff') AS bytes;
SELECT * FROM pg_temp.results(
    $$typlen, typbyval, typalign, typstorage, typcategory FROM pg_type
    WHERE oid = 'uniqueid'::regtype$$);
SELECT enumlabel FROM pg_enum WHERE enumtypid = 'uniqueid_mode'::regtype ORDER BY enumsortorder;

\echo -- Digits are read in either case. Spaces, prefixes and other letters are no digits.
SELECT * FROM pg_temp.results(
    $$'67C76B38257FDFFF'::uniqueid, '67c76B38257FdFfF'::uniqueid$$);
SELECT * FROM pg_temp.refused(
    $$' 67c76b38257fdfff'::uniqueid$$,
    $$'67c76b38257fdff '::uniqueid$$,
    $$'67c76b38257fdff'::uniqueid$$,
    $$'67c76b38257fdffff'::uniqueid$$,
    $$''::uniqueid$$,
    $$'0x67c76b38257fdf'::uniqueid$$,
    $$'67c76b38257fdffg'::uniqueid$$,
    $$'-7c76b38257fdfff'::uniqueid$$,
    $$'\x67c76b38257fdf'::uniqueid$$);
-- Every character of ASCII, at the first, a middle and the last place: 22 are good, at each.
CREATE FUNCTION pg_temp.is_uniqueid(text text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN uniqueid_out(text::uniqueid)::text = lower(text);
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT place, count(*), string_agg(chr(code), '' ORDER BY code) AS characters
FROM unnest('{1,9,16}'::int[]) AS place, generate_series(1, 127) AS code
WHERE pg_temp.is_uniqueid(overlay('2222222222222222' PLACING chr(code) FROM place FOR 1))
GROUP BY place ORDER BY place;

\echo -- casts ----------------------------------------------------------------------------------
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast WHERE 'uniqueid'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
\echo -- An ID is assigned to a type that holds all of it. A cast to an ID must be written, and
\echo -- so must each within an expression.
SELECT * FROM pg_temp.refused(
    $$length(uniqueid '0000000000000000')$$);
CREATE TEMP TABLE loose (a text, b bytea, c bigint, d uniqueid);
INSERT INTO loose (a) VALUES (uniqueid '0000000000000000');
INSERT INTO loose (b) VALUES (uniqueid '0000000000000000');
SELECT * FROM pg_temp.refused(
    $$INSERT INTO loose (c) VALUES (uniqueid '0000000000000000')$$,
    $$INSERT INTO loose (d) VALUES ('0000000000000000'::text)$$,
    $$INSERT INTO loose (d) VALUES ('\x0000000000000000'::bytea)$$,
    $$INSERT INTO loose (d) VALUES (0::bigint)$$);
SELECT * FROM loose;
SELECT * FROM pg_temp.refused(
    $$uniqueid '0000000000000000' = text '0000000000000000'$$,
    $$uniqueid '0000000000000000' = bigint '0'$$,
    $$'\x00'::bytea::uniqueid$$,
    $$'\x000000000000000000'::bytea::uniqueid$$,
    $$''::bytea::uniqueid$$,
    $$'2222'::text::uniqueid$$,
    $$'2222'::varchar::uniqueid$$);
SELECT * FROM pg_temp.results(
    $$NULL::text::uniqueid, NULL::bytea::uniqueid, NULL::uniqueid::text, NULL::uniqueid::bytea$$);
\echo '-- text (by bytes) and bytea sort as the uniqueid does: also those whose highest bit is set.'
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.id::text COLLATE "C" < b.id::text COLLATE "C")) AS text,
       bool_and((a.id < b.id) = (a.id::bytea < b.id::bytea)) AS bytea
FROM ids AS a, ids AS b;

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS
SELECT nr, uniqueid_next() AS id FROM generate_series(1, 20000) AS nr;

SELECT count(*), count(DISTINCT id) AS distinct_ids,
    bool_and(uniqueid_sequential(id)) AS sequential,
       bool_and(mode = 'time_sequential' AND generator_id BETWEEN 0 AND 7 AND sequence BETWEEN 0
           AND 63 AND cluster_id = 0) AS within
FROM made, uniqueid_decode(id);

\echo '-- One session''s rise.'
SELECT count(*) AS not_rising
FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS previous FROM made) AS made
WHERE id <= previous;

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
SELECT count(*), count(*) FILTER (WHERE id <= previous) AS not_rising
FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS previous
      FROM uniqueid_next_batch(10000) WITH ORDINALITY AS batch (id, nr)) AS batch;
SELECT count(*) AS both FROM batched JOIN spread USING (id);

SELECT * FROM pg_temp.results(
    $$count(*) FROM uniqueid_next_batch(0)$$);
SELECT count(*), bool_and(uniqueid_sequential(id)) AS sequential FROM uniqueid_next_batch(1) AS id;
SELECT * FROM pg_temp.results(
    $$count(*) FROM uniqueid_next_batch(NULL)$$,
    $$count(*) FROM uniqueid_next_batch(1, NULL)$$,
    $$uniqueid_next(NULL)$$,
    $$count(*) FROM (SELECT uniqueid_next_batch(2147483647) LIMIT 3) AS cut_short$$);
SELECT * FROM pg_temp.refused(
    $$uniqueid_next_batch(-1)$$,
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

SELECT * FROM pg_temp.refused(
    $$uniqueid_encode('2026-07-01', -1, 0, 0, 'spread')$$,
    $$uniqueid_encode('2026-07-01', 64, 0, 0, 'spread')$$,
    $$uniqueid_encode('2026-07-01', 0, -1, 0, 'time_sequential')$$,
    $$uniqueid_encode('2026-07-01', 0, 2048, 0, 'time_sequential')$$,
    $$uniqueid_encode('2026-07-01', 0, 0, -1, 'spread')$$,
    $$uniqueid_encode('2026-07-01', 0, 0, 16, 'spread')$$,
    $$uniqueid_encode('2026-07-01', 0, 0, 0, 'sequential')$$,
    $$uniqueid_encode('1969-12-31 23:59:59.999999+00', 0, 0, 0, 'spread')$$,
    $$uniqueid_encode('2109-05-15 07:35:11.104+00', 0, 0, 0, 'time_sequential')$$,
    $$uniqueid_encode('infinity', 0, 0, 0, 'spread')$$,
    $$uniqueid_encode('-infinity', 0, 0, 0, 'spread')$$);

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
SELECT * FROM pg_temp.refused(
    $$uniqueid_at('2020-02-02', -1)$$,
    $$uniqueid_at('1969-12-31 23:59:59.999+00', 0)$$,
    $$uniqueid_at('infinity', 0, 'spread')$$);

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

SELECT uniqueid_timestamp(NULL), uniqueid_sequential(NULL), uniqueid_decode(NULL),
       uniqueid_encode(NULL, 0, 0, 0, 'spread'),
           uniqueid_encode('2020-01-01', NULL, 0, 0, 'spread'),
       uniqueid_encode('2020-01-01', 0, 0, 0, NULL), uniqueid_at(NULL, 0),
           uniqueid_at('2020-01-01', NULL),
       uniqueid_at('2020-01-01', 0, NULL), uniqueid_min(NULL), uniqueid_max(NULL),
           uniqueid_range_min(NULL),
       uniqueid_range_max(NULL);
