-- The type sno: text and bytes, casts, making, taking apart, putting together, bounds of a time.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- text and bytes -------------------------------------------------------------------------
\echo -- What the sno library gives.
CREATE TEMP TABLE vector (
    text text, bytes bytea, made timestamptz, tick integer, meta integer, "partition" integer,
        sequence integer
);
INSERT INTO vector VALUES
    ('2222222222222222', '\x00000000000000000000', '2010-01-01 00:00:00+00', 0, 0, 0, 0),
    ('xxxxxxxxxxxxxxxx', '\xffffffffffffffffffff', '2079-09-07 15:47:35.548+00', 1, 255, 65535,
        65535),
    ('i222222222222222', '\x80000000000000000000', '2044-11-03 19:53:47.776+00', 0, 0, 0, 0),
    ('2222222262222222', '\x00000000002000000000', '2010-01-01 00:00:00+00', 0, 32, 0, 0),
    ('xxxxxxxuxxxxxxxx', '\xfffffffffcffffffffff', '2079-09-07 15:47:35.544+00', 0, 255, 65535,
        65535),
    ('8mf7oc4c32b5anlq', '\x351a5b284a0812345678', '2024-06-15 12:34:56.788+00', 0, 8, 4660, 22136),
    ('8mf7oc4c7a22g223', '\x351a5b284a2a00070001', '2024-06-15 12:34:56.788+00', 0, 42, 7, 1),
    ('9q74gok3262so257', '\x3e0a275a410101ab0065', '2026-11-21 00:24:07.040+00', 1, 1, 427, 101),
    ('9q74gok22a3co256', '\x3e0a275a400202ab0064', '2026-11-21 00:24:07.040+00', 0, 2, 683, 100),
    ('fep5tic6t56vse94', '\x6b2e3dc144d8c9dd30e2', '2039-03-05 22:56:39.560+00', 0, 216, 51677,
        12514),
    ('alw4ao8mdeiqlvwr', '\x44fc2458d45b2189f7d9', '2028-10-11 12:27:13.192+00', 0, 91, 8585,
        63449),
    ('gfc26vfjtukbma24', '\x73540275b1df249a2002', '2041-05-23 23:42:52.768+00', 1, 223, 9370,
        8194),
    ('xm4j7d4m2hnmc4h3', '\xfd0512ac5403eb4509e1', '2078-11-15 08:47:51.464+00', 0, 3, 60229, 2529);

CREATE TEMP TABLE ids AS SELECT text::sno AS id, text, bytes FROM vector;

SELECT id, id::bytea, id::uuid, decoded.* FROM ids, sno_decode(id) AS decoded ORDER BY ids.id;

SELECT text AS otherwise_than_in_go
FROM ids
WHERE id::text <> text OR sno_out(id)::text <> text OR id::bytea <> bytes OR sno_send(id) <> bytes
   OR bytes::sno <> id OR sno_in(text::cstring) <> id
       OR convert_from(uuid_send(id::uuid), 'UTF8') <> text
   OR id::uuid::sno <> id;
SELECT text AS decoded_otherwise FROM vector, sno_decode(text::sno) AS decoded
WHERE (decoded.*) IS DISTINCT FROM (made, vector.tick, vector.meta, vector.partition,
    vector.sequence);
SELECT text AS of_another_time FROM vector WHERE sno_timestamp(text::sno) <> made;
SELECT text AS encoded_otherwise FROM vector
WHERE sno_encode(made, tick, meta, partition, sequence)::text <> text;

SELECT sno '9q74gok3262so257' AS literal, '9q74gok3262so257'::sno AS cast,
       pg_typeof(sno '9q74gok3262so257') AS type,
       pg_column_size(sno '9q74gok3262so257') AS bytes;
SELECT * FROM pg_temp.results(
    $$typlen, typbyval, typalign, typstorage, typcategory FROM pg_type
    WHERE oid = 'sno'::regtype$$);

\echo -- Upper case, spaces and the letters beyond x are not in its alphabet.
SELECT * FROM pg_temp.refused(
    $$'9Q74GOK3262SO257'::sno$$,
    $$' 9q74gok3262so257'::sno$$,
    $$'9q74gok3262so25 '::sno$$,
    $$'9q74gok3262so25'::sno$$,
    $$'9q74gok3262so2577'::sno$$,
    $$''::sno$$,
    $$'9q74gok3262so25y'::sno$$,
    $$'1q74gok3262so257'::sno$$);
-- Every character of ASCII, at the first, a middle and the last place: 32 are good, at each.
CREATE FUNCTION pg_temp.is_sno(text text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN sno_out(text::sno)::text = text;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT place, count(*), string_agg(chr(code), '' ORDER BY code) AS characters
FROM unnest('{1,9,16}'::int[]) AS place, generate_series(1, 127) AS code
WHERE pg_temp.is_sno(overlay('2222222222222222' PLACING chr(code) FROM place FOR 1))
GROUP BY place ORDER BY place;

\echo -- casts ----------------------------------------------------------------------------------
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast WHERE 'sno'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
\echo -- An ID is assigned to a type that holds all of it. A cast to an ID must be written, and
\echo -- so must each within an expression.
SELECT * FROM pg_temp.refused(
    $$length(sno '2222222222222222')$$);
CREATE TEMP TABLE loose (a text, b bytea, c uuid, d sno);
INSERT INTO loose (a) VALUES (sno '2222222222222222');
INSERT INTO loose (b) VALUES (sno '2222222222222222');
INSERT INTO loose (c) VALUES (sno '2222222222222222');
SELECT * FROM pg_temp.refused(
    $$INSERT INTO loose (d) VALUES ('2222222222222222'::text)$$,
    $$INSERT INTO loose (d) VALUES ('\x00000000000000000000'::bytea)$$,
    $$INSERT INTO loose (d) VALUES ('32323232-3232-3232-3232-323232323232'::uuid)$$);
SELECT * FROM loose;
SELECT * FROM pg_temp.refused(
    $$sno '2222222222222222' = text '2222222222222222'$$,
    $$'\x00'::bytea::sno$$,
    $$'\x0000000000000000000000'::bytea::sno$$,
    $$''::bytea::sno$$,
    $$'32323232-3232-3232-3232-323232323279'::uuid::sno$$,
    $$'2222'::text::sno$$,
    $$'2222'::varchar::sno$$);
SELECT * FROM pg_temp.results(
    $$NULL::text::sno, NULL::bytea::sno, NULL::uuid::sno, NULL::sno::text, NULL::sno::bytea,
    NULL::sno::uuid$$);
\echo -- A uuid sorts as its sno, and so do text (by bytes) and bytea.
SELECT count(*) AS pairs, bool_and((a.id < b.id) = (a.id::uuid < b.id::uuid)) AS uuid,
       bool_and((a.id < b.id) = (a.id::text COLLATE "C" < b.id::text COLLATE "C")) AS text,
       bool_and((a.id < b.id) = (a.id::bytea < b.id::bytea)) AS bytea
FROM ids AS a, ids AS b;

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS
SELECT nr, sno_next(nr % 256) AS id FROM generate_series(1, 100000) AS nr;

SELECT count(*), count(DISTINCT id) AS distinct_ids, bool_and(meta = nr % 256) AS meta_as_asked,
       bool_and(tick_tock = 0 AND partition BETWEEN 0 AND 7 AND sequence BETWEEN 0 AND 65535)
           AS within
FROM made, sno_decode(id);

\echo '-- One session''s rise in time, partition and sequence; meta stands above the partition.'
SELECT count(*) AS not_rising
FROM (SELECT this, lag(this) OVER (ORDER BY nr) AS previous
      FROM (SELECT nr, (created_at, tick_tock, partition, sequence) AS this FROM made,
          sno_decode(id)) AS made) AS made
WHERE this <= previous;

SELECT pg_temp.not_of_now('sno_timestamp(sno_next())', '4 ms') AS not_of_now,
    (SELECT count(*) FROM generate_series(1, 1000) AS nr
     WHERE (sno_decode(sno_next())).meta <> 0) AS of_a_meta;

CREATE TEMP TABLE batched AS
SELECT nr, id FROM sno_next_batch(10000, 200) WITH ORDINALITY AS batch (id, nr);
SELECT count(*), count(DISTINCT id) AS distinct_ids,
    bool_and((sno_decode(id)).meta = 200) AS meta_as_asked
FROM batched;
SELECT count(*) AS not_rising
FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS previous FROM batched) AS batched
WHERE id <= previous;
SELECT count(*) AS both FROM batched JOIN made USING (id);

SELECT * FROM pg_temp.results(
    $$count(*) FROM sno_next_batch(0)$$);
SELECT count(*), min((sno_decode(id)).meta) AS meta FROM sno_next_batch(1) AS id;
SELECT * FROM pg_temp.results(
    $$count(*) FROM sno_next_batch(NULL)$$,
    $$count(*) FROM sno_next_batch(1, NULL)$$,
    $$sno_next(NULL)$$,
    $$count(*) FROM (SELECT sno_next_batch(2147483647) LIMIT 3) AS cut_short$$);
SELECT * FROM pg_temp.refused(
    $$sno_next_batch(-1)$$);
SELECT * FROM pg_temp.results(
    $$(sno_decode(sno_next(255))).meta$$);
SELECT * FROM pg_temp.refused(
    $$sno_next(256)$$,
    $$sno_next(-1)$$,
    $$sno_next_batch(1, 256)$$,
    $$sno_next_batch(0, -1)$$);

\echo -- putting together -----------------------------------------------------------------------
\echo -- A time is cut to its 4 ms.
SELECT sno_encode('2024-06-15 12:34:56.788+00', 0, 42, 7, 1) AS at,
       sno_encode('2024-06-15 12:34:56.791999+00', 0, 42, 7, 1) AS cut,
       sno_encode('2024-06-15 12:34:56.792+00', 0, 42, 7, 1) AS next;
SELECT count(*) AS different
FROM unnest('{2010-01-01 00:00:00+00,2026-07-01 12:34:56.788+00,
    2079-09-07 15:47:35.548+00}'::timestamptz[]) AS t,
     generate_series(0, 1) AS k, unnest('{0,1,127,128,255}'::int[]) AS m,
         unnest('{0,1,255,256,65535}'::int[]) AS p,
     unnest('{0,1,32768,65535}'::int[]) AS s, sno_decode(sno_encode(t, k, m, p, s)) AS decoded
WHERE (decoded.*) IS DISTINCT FROM (t, k, m, p, s);

SELECT * FROM pg_temp.refused(
    $$sno_encode('2026-07-01', 2, 0, 0, 0)$$,
    $$sno_encode('2026-07-01', -1, 0, 0, 0)$$,
    $$sno_encode('2026-07-01', 0, 256, 0, 0)$$,
    $$sno_encode('2026-07-01', 0, 0, 65536, 0)$$,
    $$sno_encode('2026-07-01', 0, 0, 0, 65536)$$,
    $$sno_encode('2009-12-31 23:59:59.999999+00', 0, 0, 0, 0)$$,
    $$sno_encode('2079-09-07 15:47:35.552+00', 0, 0, 0, 0)$$,
    $$sno_encode('infinity', 0, 0, 0, 0)$$,
    $$sno_encode('-infinity', 0, 0, 0, 0)$$);

\echo '-- The byte of meta, and the ID with another one: all else stays.'
SELECT text AS of_another_meta FROM vector WHERE sno_meta(text::sno) <> meta;
SELECT count(*) AS different
FROM vector, generate_series(0, 255) AS m, sno_with_meta(text::sno, m) AS id
WHERE sno_encode(made, tick, m, partition, sequence) <> id OR sno_meta(id) <> m
    OR sno_with_meta(id, meta) <> text::sno;
SELECT sno_with_meta('xxxxxxxxxxxxxxxx', 0) AS cleared,
    sno_with_meta('2222222222222222', 255) AS set;
SELECT * FROM pg_temp.refused(
    $$sno_with_meta('2222222222222222', 256)$$,
    $$sno_with_meta('2222222222222222', -1)$$);
SELECT * FROM pg_temp.results(
    $$sno_meta(NULL), sno_with_meta(NULL, 0), sno_with_meta('2222222222222222', NULL)$$);

\echo '-- For a given time: the sequence runs first, then the partitions of this server (0 to 7).'
SELECT number, decoded.*
FROM unnest('{0,1,65535,65536,524287,524288,9223372036854775807}'::bigint[]) AS number,
     sno_decode(sno_at('2020-02-02 02:02:02.002+00', 9, number)) AS decoded;
SELECT sno_at('2020-02-02') = sno_at('2020-02-02', 0, 0) AS defaults,
       sno_at('2020-02-02', 3) = sno_at('2020-02-02', 3, 0) AS default_number;
SELECT count(*), count(DISTINCT sno_at('2020-02-02', 1, number)) AS distinct_ids
FROM generate_series(0, 99999) AS number;
SELECT * FROM pg_temp.refused(
    $$sno_at('2020-02-02', 0, -1)$$,
    $$sno_at('2020-02-02', 256)$$,
    $$sno_at('2009-12-31 23:59:59.999+00')$$);

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, sno_min(time), sno_max(time)
FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '2009-12-31 23:59:59.999999+00',
    '2010-01-01 00:00:00+00', '2010-01-01 00:00:00.000001+00', '2010-01-01 00:00:00.004+00',
    '2024-06-15 12:34:56.788+00', '2024-06-15 12:34:56.788001+00', '2024-06-15 12:34:56.791999+00',
    '2079-09-07 15:47:35.544001+00', '2079-09-07 15:47:35.548+00', '2079-09-07 15:47:35.548001+00',
    '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;

SELECT times, sno_range_min(times), sno_range_max(times)
FROM unnest(ARRAY[
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.788+00]',
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.792+00)',
    '(2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.792+00)', '(,2024-06-15 12:34:56.788+00]',
    '(,2024-06-15 12:34:56.788+00)',
    '[2024-06-15 12:34:56.788+00,)', '(2024-06-15 12:34:56.788+00,)', '(,)', '[-infinity,infinity]',
        'empty',
    '(,2010-01-01 00:00:00+00)', '(,2010-01-01 00:00:00+00]', '[2079-09-07 15:47:35.548+00,)',
    '(2079-09-07 15:47:35.548+00,)'
]::tstzrange[]) AS times;

SELECT sno_timestamp(NULL), sno_decode(NULL), sno_encode(NULL, 0, 0, 0, 0),
       sno_encode('2020-01-01', 0, 0, 0, NULL),
       sno_at(NULL), sno_at('2020-01-01', NULL), sno_min(NULL), sno_max(NULL), sno_range_min(NULL),
           sno_range_max(NULL);
