-- The type sno: its fields, meta, bounds of a time. What other types have too is in every_type.sql.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
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

SELECT count(*) AS vectors,
    count(*) FILTER (WHERE (id::text, id::bytea, convert_from(uuid_send(id::uuid), 'UTF8'))
        IS DISTINCT FROM (text, bytes, text)) AS written_otherwise,
    count(*) FILTER (WHERE (bytes::sno, id::uuid::sno) IS DISTINCT FROM (id, id)) AS read_otherwise,
    count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (made, vector.tick, vector.meta,
        vector.partition, vector.sequence)) AS decoded_otherwise,
    count(*) FILTER (WHERE sno_timestamp(id) IS DISTINCT FROM made) AS of_another_time,
    count(*) FILTER (WHERE sno_meta(id) IS DISTINCT FROM vector.meta) AS of_another_meta,
    count(*) FILTER (WHERE sno_encode(made, tick, vector.meta, vector.partition, vector.sequence)
        IS DISTINCT FROM id) AS encoded_otherwise
FROM vector, LATERAL (SELECT text::sno) AS ids (id), sno_decode(id) AS decoded;
\echo -- A uuid sorts as its sno.
SELECT count(*) AS pairs,
    count(*) FILTER (WHERE (a.text::sno < b.text::sno) <> (a.text::sno::uuid < b.text::sno::uuid))
        AS otherwise
FROM vector AS a, vector AS b;

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS
SELECT nr, sno_next(nr % 256) AS id FROM generate_series(1, 100000) AS nr;
\echo '-- One session''s rise in time, partition and sequence; meta stands above the partition.'
SELECT count(*), count(DISTINCT id) AS distinct_ids, bool_and(meta = nr % 256) AS meta_as_asked,
    bool_and(tick_tock = 0 AND partition BETWEEN 0 AND 7 AND sequence BETWEEN 0 AND 65535)
        AS within,
    count(*) FILTER (WHERE this <= previous) AS not_rising
FROM (SELECT *, lag(this) OVER (ORDER BY nr) AS previous FROM made, sno_decode(id),
      LATERAL (SELECT (created_at, tick_tock, partition, sequence)) AS parts (this)) AS made;
SELECT count(*), bool_and((sno_decode(id)).meta = 200) AS meta_as_asked,
    count(made.id) AS both
FROM sno_next_batch(10000, 200) AS id LEFT JOIN made USING (id);
SELECT * FROM pg_temp.results(
    $$(sno_decode(sno_next())).meta, (SELECT (sno_decode(id)).meta FROM sno_next_batch(1) AS id)$$,
    $$(sno_decode(sno_next(255))).meta$$);

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

\echo '-- The byte of meta, and the ID with another one: all else stays.'
SELECT count(*) AS different
FROM vector, generate_series(0, 255) AS m, sno_with_meta(text::sno, m) AS id
WHERE sno_encode(made, tick, m, partition, sequence) <> id OR sno_meta(id) <> m
    OR sno_with_meta(id, meta) <> text::sno;
SELECT sno_with_meta('xxxxxxxxxxxxxxxx', 0) AS cleared,
    sno_with_meta('2222222222222222', 255) AS set;
\echo '-- For a given time: the sequence runs first, then the partitions of this server (0 to 7).'
SELECT number, decoded.*
FROM unnest('{0,1,65535,65536,524287,524288,9223372036854775807}'::bigint[]) AS number,
     sno_decode(sno_at('2020-02-02 02:02:02.002+00', 9, number)) AS decoded;
SELECT sno_at('2020-02-02') = sno_at('2020-02-02', 0, 0) AS defaults,
       sno_at('2020-02-02', 3) = sno_at('2020-02-02', 3, 0) AS default_number;
SELECT count(*), count(DISTINCT sno_at('2020-02-02', 1, number)) AS distinct_ids
FROM generate_series(0, 99999) AS number;

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
