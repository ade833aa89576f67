-- The type flake128: text and bytes, casts, making, taking apart, putting together, bounds of a
-- time.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- text and bytes -------------------------------------------------------------------------
\echo '-- What the flake library gives. A time after PostgreSQL''s calendar is infinity.'
CREATE TEMP TABLE vector (text text, bytes bytea, made timestamptz, worker macaddr,
    sequence integer);
INSERT INTO vector VALUES
    ('0', '\x00000000000000000000000000000000', '1970-01-01 00:00:00+00', '00:00:00:00:00:00', 0),
    ('1', '\x00000000000000000000000000000001', '1970-01-01 00:00:00+00', '00:00:00:00:00:00', 1),
    ('H32', '\x00000000000000000000000000010000', '1970-01-01 00:00:00+00', '00:00:00:00:00:01', 0),
    ('LygHa16ApeJ', '\x0000000000000001000000000001ffff', '1970-01-01 00:00:00.001+00',
        '00:00:00:00:00:01', 65535),
    ('9zRJfe4W', '\x00000000000000000000200000000000', '1970-01-01 00:00:00+00',
        '00:00:20:00:00:00', 0),
    ('zzzzzzzzzzzzzzzzz', '\x000000254e588f443bb38923c43dffff', '1975-01-29 11:50:16.644+00',
        '3b:b3:89:23:c4:3d', 65535),
    ('100000000000000000', '\x000000254e588f443bb38923c43e0000', '1975-01-29 11:50:16.644+00',
        '3b:b3:89:23:c4:3e', 0),
    ('B7tNvGF8Zh73eTSQUY', '\x0000019f1dace095109add5e0e8ffffe', '2026-07-01 12:34:56.789+00',
        '10:9a:dd:5e:0e:8f', 65534),
    ('B7tNvGFT7zMI6BRWj3', '\x0000019f1dace095ffffffffffff0001', '2026-07-01 12:34:56.789+00',
        'ff:ff:ff:ff:ff:ff', 1),
    ('B7tNvGFT7zMI6BRWnA', '\x0000019f1dace095ffffffffffff0100', '2026-07-01 12:34:56.789+00',
        'ff:ff:ff:ff:ff:ff', 256),
    ('EP1f56gmWt3tqNuyyT', '\x0000021957eb778e7884be29353c0005', '2043-02-18 11:41:27.31+00',
        '78:84:be:29:35:3c', 5),
    ('G6IxSCuz2bvoM4trzu', '\x00000258b0dd7b42b9087af19527189a', '2051-10-03 12:08:02.626+00',
        'b9:08:7a:f1:95:27', 6298),
    ('5iybton4JjpzGIH40oBnnE', '\xbc1ec09412872c067537bb624ce345f8', 'infinity',
        '75:37:bb:62:4c:e3', 17912),
    ('7n42DGM5TflOB6rCs15h6t', '\xffffffffffffffff000000000000ffff', 'infinity',
        '00:00:00:00:00:00', 65535);

CREATE TEMP TABLE ids AS SELECT text::flake128 AS id, text, bytes FROM vector;

SELECT id, id::bytea, id::uuid, decoded.* FROM ids, flake128_decode(id) AS decoded ORDER BY ids.id;

SELECT text AS otherwise_than_in_erlang
FROM ids
WHERE id::text <> text OR flake128_out(id)::text <> text OR id::bytea <> bytes
    OR flake128_send(id) <> bytes
   OR bytes::flake128 <> id OR flake128_in(text::cstring) <> id OR uuid_send(id::uuid) <> bytes
   OR id::uuid::flake128 <> id OR id::numeric::flake128 <> id;
SELECT text AS decoded_otherwise FROM vector, flake128_decode(text::flake128) AS decoded
WHERE (decoded.*) IS DISTINCT FROM (made, vector.worker, vector.sequence);
SELECT text AS of_another_time FROM vector WHERE flake128_timestamp(text::flake128) <> made;
SELECT text AS encoded_otherwise FROM vector
WHERE isfinite(made) AND flake128_encode(made, worker, sequence)::text <> text;

SELECT flake128 'B7tNvGF8Zh73eTSQUY' AS literal, 'B7tNvGF8Zh73eTSQUY'::flake128 AS cast,
       pg_typeof(flake128 'B7tNvGF8Zh73eTSQUY') AS type,
       pg_column_size(flake128 'B7tNvGF8Zh73eTSQUY') AS bytes;
SELECT * FROM pg_temp.results(
    $$typlen, typbyval, typalign, typstorage, typcategory FROM pg_type
    WHERE oid = 'flake128'::regtype$$);

\echo -- Zeros in front change nothing; a number of more than 128 bits, a space or a sign is an
\echo -- error.
SELECT '00000000000000000000000000000000000000000000'::flake128,
       '000000000000B7tNvGF8Zh73eTSQUY'::flake128 = 'B7tNvGF8Zh73eTSQUY' AS same;
SELECT * FROM pg_temp.results(
    $$'7n42DGM5Tflk9n8mt7Fhc7'::flake128::bytea$$);
SELECT * FROM pg_temp.refused(
    $$'7n42DGM5Tflk9n8mt7Fhc8'::flake128$$,
    $$'zzzzzzzzzzzzzzzzzzzzzz'::flake128$$,
    $$'100000000000000000000000'::flake128$$,
    $$''::flake128$$,
    $$' B7tNvGF8Zh73eTSQUY'::flake128$$,
    $$'B7tNvGF8Zh73eTSQUY '::flake128$$,
    $$'+1'::flake128$$,
    $$'-1'::flake128$$,
    $$'1_0'::flake128$$);
-- Every character of ASCII, at the first, a middle and the last place: 62 are good, at each.
CREATE FUNCTION pg_temp.is_flake128(text text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN flake128_out(text::flake128)::text = ltrim(text, '0');
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT place, count(*), string_agg(chr(code), '' ORDER BY code) AS characters
FROM unnest('{1,9,18}'::int[]) AS place, generate_series(1, 127) AS code
WHERE pg_temp.is_flake128(overlay('222222222222222222' PLACING chr(code) FROM place FOR 1))
GROUP BY place ORDER BY place;

\echo -- casts ----------------------------------------------------------------------------------
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast WHERE 'flake128'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
\echo -- An ID is assigned to a type that holds all of it. A cast to an ID must be written, and
\echo -- so must each within an expression.
SELECT * FROM pg_temp.refused(
    $$length(flake128 '1')$$);
CREATE TEMP TABLE loose (a text, b bytea, c uuid, d flake128, e numeric);
INSERT INTO loose (a) VALUES (flake128 '1');
INSERT INTO loose (b) VALUES (flake128 '1');
INSERT INTO loose (c) VALUES (flake128 '1');
INSERT INTO loose (e) VALUES (flake128 '1');
SELECT * FROM pg_temp.refused(
    $$INSERT INTO loose (d) VALUES ('1'::text)$$,
    $$INSERT INTO loose (d) VALUES ('\x00000000000000000000000000000001'::bytea)$$,
    $$INSERT INTO loose (d) VALUES ('00000000-0000-0000-0000-000000000001'::uuid)$$);
INSERT INTO loose (d) VALUES (1::numeric);
SELECT * FROM pg_temp.refused(
    $$INSERT INTO loose (d) VALUES (1)$$,
    $$INSERT INTO loose (d) VALUES (1::bigint)$$);
SELECT * FROM loose;
SELECT * FROM pg_temp.refused(
    $$flake128 '1' = text '1'$$,
    $$flake128 '1' = numeric '1'$$,
    $$'\x00'::bytea::flake128$$,
    $$'\x0000000000000000000000000000000000'::bytea::flake128$$,
    $$''::bytea::flake128$$,
    $$'?'::text::flake128$$,
    $$'?'::varchar::flake128$$);
SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid::flake128,
    '00000000-0000-0000-0000-000000000000'::uuid::flake128,
       '0000019f-1dac-e095-109a-dd5e0e8ffffe'::uuid::flake128;
SELECT NULL::text::flake128, NULL::bytea::flake128, NULL::uuid::flake128, NULL::numeric::flake128,
       NULL::flake128::text, NULL::flake128::bytea, NULL::flake128::uuid, NULL::flake128::numeric;
\echo -- A number is one of 128 bits, however its scale is written.
SELECT number, number::flake128, number::flake128::numeric = number AS back,
    number::flake128::bytea AS bytes
FROM unnest('{0,1,1.0,1.000000000000000000000000000000000000000000,61,62,
18446744073709551615,18446744073709551616,
170141183460469231731687303715884105728,340282366920938463463374607431768211455,
340282366920938463463374607431768211455.00,1e38,-0}'::numeric[])
    WITH ORDINALITY AS numbers (number, nr) ORDER BY nr;
SELECT * FROM pg_temp.refused(
    $$1::flake128$$);
SELECT * FROM pg_temp.results(
    $$(1::bigint)::numeric::flake128$$);
SELECT * FROM pg_temp.refused(
    $$(-1)::numeric::flake128$$,
    $$(-1.0)::numeric::flake128$$,
    $$0.5::flake128$$,
    $$1.5::flake128$$,
    $$1.00000000000000000000000000000000000000000000000000000001::flake128$$,
    $$340282366920938463463374607431768211456::flake128$$,
    $$340282366920938463463374607431768211455.1::flake128$$,
    $$'NaN'::numeric::flake128$$,
    $$'Infinity'::numeric::flake128$$,
    $$'-Infinity'::numeric::flake128$$,
    $$1e39::flake128$$);
\echo -- A uuid sorts as its flake128, and so do bytea and numeric, and text (by bytes) of one
\echo -- length.
SELECT count(*) AS pairs, bool_and((a.id < b.id) = (a.id::uuid < b.id::uuid)) AS uuid,
       bool_and((a.id < b.id) = (a.id::text COLLATE "C" < b.id::text COLLATE "C"))
           FILTER (WHERE length(a.id::text) = length(b.id::text)) AS text,
       bool_and((a.id < b.id) = (a.id::numeric < b.id::numeric)) AS numeric,
       bool_and((a.id < b.id) = (a.id::bytea < b.id::bytea)) AS bytea
FROM ids AS a, ids AS b;

\echo -- text in other bases --------------------------------------------------------------------
SELECT base, flake128_to_text('B7tNvGFT7zMI6BRWj3', base)
FROM unnest('{2,3,8,10,16,35,36,37,61,62}'::int[]) AS base;
\echo -- Letters are digits of their own in either case above base 36, and the same digit up to it.
SELECT base, count(*) AS ids, bool_and(flake128_from_text(flake128_to_text(id, base), base) = id)
    AS same,
       bool_and(flake128_from_text(lower(flake128_to_text(id, base)), base) = id) AS lower_too
FROM generate_series(2, 36) AS base, ids GROUP BY base
HAVING NOT bool_and(flake128_from_text(flake128_to_text(id, base), base) = id)
    OR NOT bool_and(flake128_from_text(lower(flake128_to_text(id, base)), base) = id);
SELECT count(DISTINCT base) AS bases, bool_and(flake128_from_text(flake128_to_text(id, base),
    base) = id) AS same
FROM generate_series(2, 62) AS base, ids;
SELECT bool_and(flake128_to_text(id, 10) = id::numeric::text) AS decimal,
       bool_and(flake128_to_text(id, 16) = coalesce(nullif(ltrim(upper(encode(bytes, 'hex')), '0'),
           ''), '0')) AS hex,
       bool_and(flake128_to_text(id) = id::text AND flake128_from_text(text) = id)
           AS base_62_is_the_default
FROM ids;
SELECT * FROM pg_temp.refused(
    $$flake128_to_text('1', 1)$$,
    $$flake128_to_text('1', 63)$$,
    $$flake128_to_text('1', 0)$$,
    $$flake128_to_text('1', -2147483648)$$,
    $$flake128_from_text('1', 1)$$,
    $$flake128_from_text('1', 63)$$,
    $$flake128_from_text('2', 2)$$,
    $$flake128_from_text('a', 10)$$,
    $$flake128_from_text('z', 61)$$,
    $$flake128_from_text('', 10)$$);
SELECT flake128_from_text(repeat('1', 128), 2), flake128_from_text(repeat('f', 32), 16),
       flake128_from_text(repeat('0', 1000) || '11', 2);
SELECT * FROM pg_temp.refused(
    $$flake128_from_text('1' || repeat('0', 128), 2)$$,
    $$flake128_from_text('340282366920938463463374607431768211456', 10)$$);
SELECT * FROM pg_temp.results(
    $$flake128_to_text(NULL), flake128_to_text('1', NULL), flake128_from_text(NULL),
        flake128_from_text('1', NULL)$$);

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS
SELECT nr, flake128_next() AS id FROM generate_series(1, 100000) AS nr;

SELECT count(*), count(DISTINCT id) AS distinct_ids, count(DISTINCT worker) AS workers,
       bool_and(sequence BETWEEN 0 AND 65535) AS within,
           bool_and(length(id::text) = 18) AS of_18_digits
FROM made, flake128_decode(id);

\echo '-- One session''s rise.'
SELECT count(*) AS not_rising
FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS previous FROM made) AS made
WHERE id <= previous;

SELECT pg_temp.not_of_now('flake128_timestamp(flake128_next())', '1 ms') AS not_of_now;

CREATE TEMP TABLE batched AS
SELECT nr, id FROM flake128_next_batch(10000) WITH ORDINALITY AS batch (id, nr);
SELECT count(*), count(DISTINCT id) AS distinct_ids FROM batched;
SELECT count(*) AS not_rising
FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS previous FROM batched) AS batched
WHERE id <= previous;
SELECT count(*) AS both FROM batched JOIN made USING (id);

SELECT * FROM pg_temp.results(
    $$count(*) FROM flake128_next_batch(0)$$,
    $$count(*) FROM flake128_next_batch(1) AS id$$,
    $$count(*) FROM flake128_next_batch(NULL)$$,
    $$count(*) FROM (SELECT flake128_next_batch(2147483647) LIMIT 3) AS cut_short$$);
SELECT * FROM pg_temp.refused(
    $$flake128_next_batch(-1)$$,
    $$flake128_next_batch(-2147483648)$$);

\echo -- putting together -----------------------------------------------------------------------
\echo -- What was made is put together again of its parts.
SELECT count(*) AS ids, count(*) FILTER (WHERE flake128_encode(created_at, worker, sequence) <> id)
    AS different
FROM made, flake128_decode(id) WHERE nr <= 5000;
\echo -- A time is cut to its millisecond.
SELECT flake128_encode('2024-06-15 12:34:56.788+00', '08:00:2b:01:02:03', 7) AS at,
       flake128_encode('2024-06-15 12:34:56.788999+00', '08:00:2b:01:02:03', 7) AS cut,
       flake128_encode('2024-06-15 12:34:56.789+00', '08:00:2b:01:02:03', 7) AS next;
SELECT count(*) AS different
FROM unnest('{1970-01-01 00:00:00+00,1970-01-01 00:00:00.001+00,2026-07-01 12:34:56.788+00,
2554-07-21 23:34:33.709+00,
9999-12-31 23:59:59.999+00,294246-12-31 23:59:59.999+00}'::timestamptz[]) AS t,
     unnest('{00:00:00:00:00:00,00:00:00:00:00:01,7f:ff:ff:ff:ff:ff,
         80:00:00:00:00:00,ff:ff:ff:ff:ff:ff}'::macaddr[]) AS w,
     unnest('{0,1,255,256,32767,32768,65535}'::int[]) AS s,
         flake128_decode(flake128_encode(t, w, s)) AS decoded
WHERE (decoded.*) IS DISTINCT FROM (t, w, s);

SELECT * FROM pg_temp.refused(
    $$flake128_encode('2026-07-01', '08:00:2b:01:02:03', -1)$$,
    $$flake128_encode('2026-07-01', '08:00:2b:01:02:03', 65536)$$,
    $$flake128_encode('2026-07-01', '08:00:2b:01:02:03', -2147483648)$$,
    $$flake128_encode('1969-12-31 23:59:59.999999+00', '08:00:2b:01:02:03', 0)$$,
    $$flake128_encode('infinity', '08:00:2b:01:02:03', 0)$$,
    $$flake128_encode('-infinity', '08:00:2b:01:02:03', 0)$$);
\echo -- 64 bits of milliseconds from the first to the last.
SELECT id, flake128_timestamp(id)
FROM unnest(ARRAY[
    '\x00000000000000000000000000000000', '\x00000000000000010000000000000000',
    '\x0020c49ba5e353f7ffffffffffffffff', '\x0020c49ba5e353f80000000000000000',
    '\x7fffffffffffffffffffffffffffffff', '\x80000000000000000000000000000000',
    '\xffffffffffffffffffffffffffffffff'
]::bytea[]) AS bytes, flake128_from_bytea(bytes) AS id;

\echo '-- For a given time: the sequence runs, and begins again.'
SELECT number, created_at, sequence, worker = (flake128_decode(flake128_next())).worker
    AS of_this_server
FROM unnest('{0,1,65535,65536,65537,131071,9223372036854775807}'::bigint[]) AS number,
     flake128_decode(flake128_at('2020-02-02 02:02:02.002+00', number));
SELECT count(*), count(DISTINCT flake128_at('2020-02-02', number)) AS distinct_ids
FROM generate_series(0, 65535) AS number;
SELECT * FROM pg_temp.refused(
    $$flake128_at('2020-02-02', -1)$$,
    $$flake128_at('1969-12-31 23:59:59.999999+00', 0)$$,
    $$flake128_at('infinity', 0)$$);

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, flake128_min(time)::bytea AS min, flake128_max(time)::bytea AS max
FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '1969-12-31 23:59:59.999999+00',
    '1970-01-01 00:00:00+00', '1970-01-01 00:00:00.000001+00', '1970-01-01 00:00:00.001+00',
    '2024-06-15 12:34:56.788+00', '2024-06-15 12:34:56.788001+00', '2024-06-15 12:34:56.788999+00',
    '294247-01-10 04:00:54.774999+00', '294247-01-10 04:00:54.775+00',
    '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;

SELECT times, flake128_range_min(times)::bytea AS min, flake128_range_max(times)::bytea AS max
FROM unnest(ARRAY[
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.788+00]',
    '[2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.789+00)',
    '(2024-06-15 12:34:56.788+00,2024-06-15 12:34:56.789+00)', '(,2024-06-15 12:34:56.788+00]',
    '(,2024-06-15 12:34:56.788+00)',
    '[2024-06-15 12:34:56.788+00,)', '(2024-06-15 12:34:56.788+00,)', '(,)', '[-infinity,infinity]',
    '[2024-06-15 12:34:56.788+00,infinity)', '[infinity,infinity]', '[-infinity,-infinity]',
    'empty',
    '(,1970-01-01 00:00:00+00)', '(,1970-01-01 00:00:00+00]', '[1900-01-01,1960-01-01]',
    '[294247-01-10 04:00:54.775+00,)', '(294247-01-10 04:00:54.775+00,)',
    '[294276-12-31,294276-12-31 12:00+00]', '[294276-12-31,)', '(294276-12-31,)', '(,294276-12-31)',
        '(,294276-12-31]'
]::tstzrange[]) AS times;

SELECT flake128_timestamp(NULL), flake128_decode(NULL),
    flake128_encode(NULL, '08:00:2b:01:02:03', 0),
       flake128_encode('2020-01-01', NULL, 0),
           flake128_encode('2020-01-01', '08:00:2b:01:02:03', NULL),
       flake128_at(NULL, 0), flake128_at('2020-01-01', NULL), flake128_min(NULL),
           flake128_max(NULL),
       flake128_range_min(NULL), flake128_range_max(NULL);
