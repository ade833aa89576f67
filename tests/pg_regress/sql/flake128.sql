-- The type flake128: its fields, numbers, bases, bounds of a time. What other types have too is in
-- every_type.sql.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
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

SELECT count(*) AS vectors,
    count(*) FILTER (WHERE (id::text, id::bytea, uuid_send(id::uuid))
        IS DISTINCT FROM (text, bytes, bytes)) AS written_otherwise,
    count(*) FILTER (WHERE (bytes::flake128, id::uuid::flake128, id::numeric::flake128)
        IS DISTINCT FROM (id, id, id)) AS read_otherwise,
    count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (made, vector.worker, vector.sequence))
        AS decoded_otherwise,
    count(*) FILTER (WHERE flake128_timestamp(id) IS DISTINCT FROM made) AS of_another_time,
    count(*) FILTER (WHERE isfinite(made) AND flake128_encode(made, vector.worker, vector.sequence)
        IS DISTINCT FROM id) AS encoded_otherwise
FROM ids JOIN vector USING (text, bytes), flake128_decode(id) AS decoded;

\echo -- Zeros in front change nothing.
SELECT '00000000000000000000000000000000000000000000'::flake128,
       '000000000000B7tNvGF8Zh73eTSQUY'::flake128 = 'B7tNvGF8Zh73eTSQUY' AS same;
SELECT * FROM pg_temp.results(
    $$'7n42DGM5Tflk9n8mt7Fhc7'::flake128::bytea$$);
INSERT INTO ids (id) VALUES (1::numeric);
SELECT * FROM pg_temp.refused(
    $$INSERT INTO ids (id) VALUES (1)$$,
    $$INSERT INTO ids (id) VALUES (1::bigint)$$,
    $$flake128 '1' = numeric '1'$$,
    $$1::flake128$$);
DELETE FROM ids WHERE text IS NULL;
\echo -- A number is one of 128 bits, however its scale is written.
SELECT number, number::flake128, number::flake128::numeric = number AS back,
    number::flake128::bytea AS bytes
FROM unnest('{0,1,1.0,1.000000000000000000000000000000000000000000,61,62,
18446744073709551615,18446744073709551616,
170141183460469231731687303715884105728,340282366920938463463374607431768211455,
340282366920938463463374607431768211455.00,1e38,-0}'::numeric[])
    WITH ORDINALITY AS numbers (number, nr) ORDER BY nr;
\echo -- A uuid and a number sort as their flake128.
SELECT count(*) AS pairs, bool_and((a.id < b.id) = (a.id::uuid < b.id::uuid)) AS uuid,
    bool_and((a.id < b.id) = (a.id::numeric < b.id::numeric)) AS numeric
FROM ids AS a, ids AS b;

\echo -- text in other bases --------------------------------------------------------------------
SELECT base, flake128_to_text('B7tNvGFT7zMI6BRWj3', base)
FROM unnest('{2,3,8,10,16,35,36,37,61,62}'::int[]) AS base;
\echo -- Letters are digits of their own in either case above base 36, and the same digit up to it.
SELECT count(DISTINCT base) AS bases,
    bool_and(flake128_from_text(flake128_to_text(id, base), base) = id) AS same,
    bool_and(flake128_from_text(lower(flake128_to_text(id, base)), base) = id)
        FILTER (WHERE base <= 36) AS lower_too
FROM generate_series(2, 62) AS base, ids;
SELECT bool_and(flake128_to_text(id, 10) = id::numeric::text) AS decimal,
       bool_and(flake128_to_text(id, 16) = coalesce(nullif(ltrim(upper(encode(bytes, 'hex')), '0'),
           ''), '0')) AS hex,
       bool_and(flake128_to_text(id) = id::text AND flake128_from_text(text) = id)
           AS base_62_is_the_default
FROM ids;
SELECT flake128_from_text(repeat('1', 128), 2), flake128_from_text(repeat('f', 32), 16),
       flake128_from_text(repeat('0', 1000) || '11', 2);

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE made AS SELECT id FROM flake128_next_batch(100000) AS id;
SELECT count(*), count(DISTINCT worker) AS workers,
    bool_and(sequence BETWEEN 0 AND 65535) AS within,
    bool_and(length(id::text) = 18) AS of_18_digits
FROM made, flake128_decode(id);

\echo -- putting together -----------------------------------------------------------------------
\echo -- What was made is put together again of its parts.
SELECT count(*) AS ids, count(*) FILTER (WHERE flake128_encode(created_at, worker, sequence) <> id)
    AS different
FROM made, flake128_decode(id);
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
