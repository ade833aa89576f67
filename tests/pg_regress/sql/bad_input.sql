-- Bad input ends in an error with its SQLSTATE, and the session goes on. (What needs another
-- server, or another version than 15, is tested in tests/t: settings, the clock, binary input.)
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
CREATE FUNCTION pg_temp.refused(expression text, OUT state text, OUT message text, OUT detail text,
    OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT ' || expression;
    message := 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state := RETURNED_SQLSTATE, message := MESSAGE_TEXT,
        detail := PG_EXCEPTION_DETAIL, hint := PG_EXCEPTION_HINT;
END
$$;

\echo '-- text that a type does not take: of 0, 15 and 17 characters, outside of its alphabet,'
\echo -- of many bytes
SELECT string_agg(type, ' ' ORDER BY nr) AS types, input, length(input), state,
    replace(detail, type, '<type>') AS detail
FROM unnest('{sno,flake128,guid,guid_local,uniqueid}'::text[]) WITH ORDINALITY AS types (type, nr),
     unnest(ARRAY[
         '', ' ', '?', '222222222222222', '22222222222222222', ' 222222222222222',
         '222222222222222 ', '222222222222222O',
         '222222222222222-', E'222222222222222\n', E'222222222222222\u00a0', E'2222222222222\u00e9',
         E'22222222222222\t', 'infinity', 'NULL', '9Q74GOK3262SO257', '0000000000000000',
         '7n42DGM5Tflk9n8mt7Fhc8', repeat('2', 10000), repeat('0', 10000)
     ]) WITH ORDINALITY AS inputs (long, input_nr), left(long, 22) AS input,
     pg_temp.refused(format('%L::%s', long, type)) AS refused
GROUP BY input_nr, input, state, 5 ORDER BY input_nr, min(nr);
\echo -- The hint says how the type is written, for a wrong length and for a wrong character.
SELECT type, count(*) AS texts, hint
FROM unnest('{sno,flake128,guid,guid_local,uniqueid}'::text[]) WITH ORDINALITY AS types (type, nr),
     unnest('{"",222222222222222-}'::text[]) AS input,
     pg_temp.refused(format('%L::%s', input, type)) GROUP BY nr, type, hint ORDER BY nr;
\echo '-- The text is quoted: a short one whole, and the first 1,000 bytes of a long one.'
SELECT message FROM pg_temp.refused($$'9Q74GOK3262SO257'::sno$$);
SELECT type, length(message) FROM unnest('{sno,flake128,guid,guid_local,uniqueid}'::text[]) AS type,
       pg_temp.refused(format($$repeat('2', 10000)::%s$$, type));
\echo -- The last character that is quoted is a whole one.
SELECT length(message), right(message, 5)
FROM pg_temp.refused($$('2' || repeat(E'\u00e9', 5000))::sno$$);

SELECT uuid, state, message LIKE 'invalid input syntax for type sno: "_%"' AS message_is_whole
FROM unnest(ARRAY[
    '00000000-0000-0000-0000-000000000000', '32323232-3232-3232-3232-323232323200',
    '01020304-0506-0708-090a-0b0c0d0e0f10', 'c3a4c3a4-c3a4-c3a4-c3a4-c3a4c3a4c3a4',
    'ffffffff-ffff-ffff-ffff-ffffffffffff', '32323232-3232-3232-3232-323232323279'
]) AS uuid, pg_temp.refused(format('%L::uuid::sno', uuid));

\echo -- bytes of another length
SELECT refused.* FROM pg_temp.refused($$'\x00'::bytea::sno$$) AS refused;
SELECT type, bytes, refused.state, detail
FROM unnest('{10,16,12,8,8}'::int[], '{sno,flake128,guid,guid_local,uniqueid}'::text[])
    WITH ORDINALITY AS types (length, type, nr),
     unnest('{0,1,-1,1,100}'::int[], '{0,0,1,1,1}'::int[]) AS lengths (more, times),
     LATERAL (SELECT length * times + more) AS number (bytes),
     pg_temp.refused(format($$decode(repeat('ff', %s), 'hex')::%s$$, bytes, type)) AS refused
         ORDER BY nr, bytes;

\echo -- fields out of range
SELECT expression, refused.* FROM unnest(ARRAY[
    'sno_next(-1)', 'sno_next(256)', 'sno_next(2147483647)', 'sno_next(-2147483648)',
    'sno_next_batch(1, -1)', 'sno_next_batch(1, 256)', 'sno_next_batch(0, -1)',
    $$sno_with_meta('2222222222222222', -1)$$, $$sno_with_meta('2222222222222222', 256)$$,
    $$sno_with_meta('2222222222222222', 2147483647)$$,
        $$sno_with_meta('2222222222222222', -2147483648)$$,
    'sno_encode(now(), -1, 0, 0, 0)', 'sno_encode(now(), 2, 0, 0, 0)',
        'sno_encode(now(), 0, -1, 0, 0)',
    'sno_encode(now(), 0, 256, 0, 0)',
    'sno_encode(now(), 0, 0, -1, 0)', 'sno_encode(now(), 0, 0, 65536, 0)',
        'sno_encode(now(), 0, 0, 0, -1)',
    'sno_encode(now(), 0, 0, 0, 65536)',
    'sno_at(now(), -1)', 'sno_at(now(), 256)', 'sno_at(now(), 0, -1)',
    'flake_encode(now(), -1, 0, 0)', 'flake_encode(now(), 32, 0, 0)',
        'flake_encode(now(), 0, -1, 0)',
    'flake_encode(now(), 0, 32, 0)',
    'flake_encode(now(), 0, 0, -1)', 'flake_encode(now(), 0, 0, 4096)', 'flake_at(now(), -1)',
    'flake_at(now(), -9223372036854775808)',
    'flake_next_batch(-1)', 'flake_next_batch(-2147483648)', 'sno_next_batch(-1)',
    $$flake128_encode(now(), '08:00:2b:01:02:03', -1)$$,
        $$flake128_encode(now(), '08:00:2b:01:02:03', 65536)$$,
    'flake128_at(now(), -1)', 'flake128_at(now(), -9223372036854775808)', 'flake128_next_batch(-1)',
    'guid_encode(now(), -1, 0)', 'guid_encode(now(), 4294967296, 0)',
        'guid_encode(now(), -9223372036854775808, 0)',
    'guid_encode(now(), 0, -1)', 'guid_encode(now(), 0, 16384)',
        'guid_encode(now(), 0, 16384, inverse => true)',
    $$guid_global('................', -1)$$, $$guid_global('................', 4294967296)$$,
    'guid_at(now(), -1)', 'guid_next_batch(-1)', $$guid_next_batch(-1, '1 day', true)$$,
    'guid_local_encode(now(), -1)', 'guid_local_encode(now(), 16384)',
    'guid_local_at(now(), -1)', 'guid_local_next_batch(-1)',
    $$uniqueid_encode(now(), -1, 0, 0, 'spread')$$, $$uniqueid_encode(now(), 64, 0, 0, 'spread')$$,
    $$uniqueid_encode(now(), 0, -1, 0, 'spread')$$,
        $$uniqueid_encode(now(), 0, 2048, 0, 'time_sequential')$$,
    $$uniqueid_encode(now(), 0, 0, -1, 'spread')$$,
        $$uniqueid_encode(now(), 0, 0, 16, 'time_sequential')$$,
    $$uniqueid_encode(now(), 0, 0, 0, 'TIME_SEQUENTIAL')$$, $$uniqueid_next('sequential')$$,
        'uniqueid_at(now(), -1)',
    'uniqueid_next_batch(-1)', $$uniqueid_next_batch(-2147483648, 'spread')$$,
    'uuidv7_encode(now(), -1, 0, 0, 0)', 'uuidv7_encode(now(), 4096, 0, 0, 0)',
        'uuidv7_encode(now(), 0, -2147483648, 0, 0)',
    'uuidv7_encode(now(), 0, 4, 0, 0)', 'uuidv7_encode(now(), 0, 0, -1, 0)',
        'uuidv7_encode(now(), 0, 0, 2147483647, 0)',
    'uuidv7_encode(now(), 0, 0, 0, -9223372036854775808)',
        'uuidv7_encode(now(), 0, 0, 0, 4503599627370496)',
    'uuidv7_encode(now(), 4096, 16, 16, -1)', 'uuidv7_at(now(), -1)',
        'uuidv7_at(now(), -9223372036854775808)',
    'uuidv7_next_batch(-1)', 'uuidv7_next_batch(-2147483648)'
]) AS expression, pg_temp.refused(expression) AS refused;

\echo -- times before the first and after the last
SELECT expression, refused.state, detail FROM unnest(ARRAY[
    $$flake_encode('2009-12-31 23:59:59.999999+00', 0, 0, 0)$$,
    $$flake_encode('2079-09-07 15:47:35.552+00', 0, 0, 0)$$,
        $$flake_at('2079-09-07 15:47:35.552+00')$$,
    $$flake_encode('2109-05-15 07:35:11.104+00', 0, 0, 0)$$,
    $$flake_encode('infinity', 0, 0, 0)$$, $$flake_encode('-infinity', 0, 0, 0)$$,
    $$flake_encode('4714-11-24 00:00:00+00 BC', 0, 0, 0)$$,
    $$flake_encode('294276-12-31 23:59:59.999999+00', 0, 0, 0)$$,
    $$flake_encode('2019-12-31', 0, 0, 0, '2020-01-01')$$,
    $$flake_encode('now', 0, 0, 0, '2110-01-01')$$, $$flake_encode('now', 0, 0, 0, '1969-12-31')$$,
    $$flake_encode('now', 0, 0, 0, 'infinity')$$, $$flake_encode('now', 0, 0, 0, '294276-12-31')$$,
    $$flake_at('1969-12-31')$$, $$flake_at('infinity')$$, $$flake_at(now(), 0, '2110-01-01')$$,
    $$sno_encode('2009-12-31 23:59:59.999999+00', 0, 0, 0, 0)$$,
    $$sno_encode('2079-09-07 15:47:35.552+00', 0, 0, 0, 0)$$,
    $$sno_encode('infinity', 0, 0, 0, 0)$$, $$sno_encode('-infinity', 0, 0, 0, 0)$$,
    $$sno_encode('4714-11-24 00:00:00+00 BC', 0, 0, 0, 0)$$,
    $$sno_encode('294276-12-31 23:59:59.999999+00', 0, 0, 0, 0)$$, $$sno_at('2009-12-31')$$,
    $$sno_at('2080-01-01')$$, $$sno_at('-infinity')$$,
    $$flake128_encode('1969-12-31 23:59:59.999999+00', '08:00:2b:01:02:03', 0)$$,
    $$flake128_encode('294247-01-10 04:00:54.775806+00', '08:00:2b:01:02:03', 0)$$,
    $$flake128_encode('294276-12-31 23:59:59.999999+00', '08:00:2b:01:02:03', 0)$$,
        $$flake128_at('294276-12-31')$$,
    $$flake128_encode('infinity', '08:00:2b:01:02:03', 0)$$, $$flake128_at('-infinity')$$,
    $$guid_encode('1969-12-31 23:59:59.999999+00', 0, 0)$$,
        $$guid_encode('2554-07-21 23:34:33.709552+00', 0, 0)$$,
    $$guid_encode('infinity', 0, 0)$$, $$guid_encode('-infinity', 0, 0, inverse => true)$$,
    $$guid_encode('294276-12-31 23:59:59.999999+00', 0, 0)$$, $$guid_at('1969-12-31', 0)$$,
        $$guid_at('infinity', 0)$$,
    $$guid_local_encode('4714-11-24 00:00:00+00 BC', 0)$$,
        $$guid_local_encode('2600-01-01', 0, inverse => true)$$,
    $$guid_local_at('-infinity', 0)$$,
    $$uniqueid_encode('1969-12-31 23:59:59.999999+00', 0, 0, 0, 'spread')$$,
    $$uniqueid_encode('2109-05-15 07:35:11.104+00', 0, 0, 0, 'spread')$$,
    $$uniqueid_encode('infinity', 0, 0, 0, 'time_sequential')$$,
        $$uniqueid_encode('4714-11-24 00:00:00+00 BC', 0, 0, 0, 'spread')$$,
    $$uniqueid_encode('294276-12-31 23:59:59.999999+00', 0, 0, 0, 'spread')$$,
        $$uniqueid_at('2110-01-01', 0)$$,
    $$uniqueid_at('-infinity', 0, 'spread')$$,
    $$uuidv7_encode('1969-12-31 23:59:59.999999+00', 0, 0, 0, 0)$$,
        $$uuidv7_encode('10889-08-02 05:31:50.656+00', 0, 0, 0, 0)$$,
    $$uuidv7_encode('4714-11-24 00:00:00+00 BC', 0, 0, 0, 0)$$,
        $$uuidv7_encode('294276-12-31 23:59:59.999999+00', 0, 0, 0, 0)$$,
    $$uuidv7_encode('infinity', 0, 0, 0, 0)$$, $$uuidv7_at('-infinity')$$,
        $$uuidv7_at('10890-01-01')$$
]) AS expression, pg_temp.refused(expression) AS refused;
\echo -- The message has the time, also before the year 1, and beyond the microseconds that 64
\echo -- bits count from 1970.
SELECT time, refused.*
    FROM unnest('{4714-11-24 00:00+00 BC,0044-03-15 12:00:00.5+00 BC,0001-12-31 23:59:59+00 BC,
0001-01-01 00:00+00,9999-12-31 23:59:59.999999+00,10000-01-01 00:00+00,
294247-01-10 04:00:54.775805+00,
294247-01-10 04:00:54.775806+00,294276-12-31 23:59:59.999999+00,
-infinity,infinity}'::timestamptz[]) AS time,
    pg_temp.refused(format('sno_at(%L)', time)) AS refused;
\echo -- Bounds take them all.
SELECT flake_min(t) = flake_min(t, '2010-01-01 00:00+00')
    AND flake_max(t) = flake_max(t, '2010-01-01 00:00+00') AS flake, sno_min(t),
       sno_max(t)
FROM unnest('{-infinity,4714-11-24 00:00:00+00 BC,infinity,
    294276-12-31 23:59:59.999999+00}'::timestamptz[]) AS t;

\echo -- flakes as text
SELECT expression, refused.* FROM unnest(ARRAY[
    $$flake_to_text(1, '')$$, $$flake_to_text(1, 'HEX')$$, $$flake_from_text('1', 'octal')$$,
    $$flake_from_text('', 'decimal')$$, $$flake_from_text('', 'base64')$$,
    $$flake_from_text('+1', 'decimal')$$, $$flake_from_text(' 1', 'decimal')$$,
    $$flake_from_text('-1', 'decimal')$$, $$flake_from_text('1.0', 'decimal')$$,
    $$flake_from_text('g', 'hex')$$, $$flake_from_text('0x1', 'hex')$$,
    $$flake_from_text('2', 'binary')$$, $$flake_from_text('-', 'base62')$$,
    $$flake_from_text('18446744073709551616', 'decimal')$$,
    $$flake_from_text('1ffffffffffffffff', 'hex')$$, $$flake_from_text(repeat('1', 65), 'binary')$$,
    $$flake_from_text('LygHa16AHYG', 'base62')$$,
    $$flake_from_text(repeat('z', 100), 'base62')$$, $$flake_from_text('BXDOxnfZflk', 'base64')$$,
    $$flake_from_text('BXDOxnfZflk==', 'base64')$$,
    $$flake_from_text('BXDO-nfZflk=', 'base64')$$, $$flake_from_text('BXDOxnfZfll=', 'base64')$$,
    $$flake_from_text('============', 'base64')$$
]) AS expression, pg_temp.refused(expression) AS refused;

\echo -- the other types in a base or a format, and as a number
SELECT expression, refused.* FROM unnest(ARRAY[
    $$flake128_to_text('1', 1)$$, $$flake128_to_text('1', 63)$$, $$flake128_from_text('1', -1)$$,
    $$flake128_from_text('', 62)$$, $$flake128_from_text('-1', 10)$$,
        $$flake128_from_text('1.0', 10)$$,
    $$flake128_from_text('g', 16)$$, $$flake128_from_text('0x1', 16)$$,
        $$flake128_from_text('2', 2)$$,
    $$flake128_from_text('1e1', 10)$$, $$flake128_from_text('100000000000000000000000000000000',
        16)$$,
    $$flake128_from_text('7n42DGM5Tflk9n8mt7Fhc8', 62)$$,
    $$flake128_from_text('z', 61)$$, '0.5::flake128',
    '340282366920938463463374607431768211455.1::flake128',
    '1.00000000000000000000000000000000000000000000000000000001::flake128',
    '(-1)::numeric::flake128', '1.5::flake128', '340282366920938463463374607431768211456::flake128',
        '1e40::flake128',
    $$'NaN'::numeric::flake128$$, $$'Infinity'::numeric::flake128$$,
    $$'-Infinity'::numeric::flake128$$,
    $$guid_to_text('................', 'hex')$$, $$guid_to_text('................', 'Base64')$$,
    $$guid_from_text('................', '')$$, $$guid_from_text('', 'base64')$$,
        $$guid_from_text('', 'base62')$$,
    $$guid_from_text('...............', 'base64')$$,
        $$guid_from_text('................', 'base62')$$,
    $$guid_from_text('1f2SI9UJPXvb7vdJ2', 'base62')$$,
        $$guid_from_text(repeat('z', 40), 'base62')$$,
    $$guid_local_to_text('................', 'base16')$$,
        $$guid_local_from_text('F...............', 'base64')$$,
    $$guid_local_from_text('LygHa16AHYG', 'base62')$$
]) AS expression, pg_temp.refused(expression) AS refused;

\echo '-- settings are the server''s: no session may change them'
SELECT DISTINCT refused.state, regexp_replace(message, 'flakeid\.\w+', '<name>') AS message,
    detail, hint
FROM unnest(ARRAY[
    $$set_config('flakeid.generator_ids', '9', false)$$,
        $$set_config('flakeid.epoch', '2020-01-01', true)$$,
    $$set_config('flakeid.sno_sequence', '0-3', false)$$,
    $$set_config('flakeid.max_clock_wait', '0', false)$$,
        $$set_config('flakeid.guid_node', '1', false)$$,
    $$set_config('flakeid.interface', 'lo', false)$$,
        $$set_config('flakeid.cluster_id', '1', false)$$,
    $$set_config('flakeid.no_such', '1', false)$$
]) AS expression, pg_temp.refused(expression) AS refused ORDER BY 1, 2;

\echo -- Errors outside of any function, in a transaction with a way back, and in one without.
\set VERBOSITY sqlstate
SELECT 'nonsense'::sno;
SELECT sno_next(256);
SELECT flake_encode('infinity', 0, 0, 0);
SELECT flake_next_batch(-1);
SELECT 'nonsense'::flake128, ''::flake128;
SELECT 'nonsense'::guid;
SELECT 'nonsense'::guid_local;
SELECT 'nonsense'::uniqueid;
SELECT guid_encode(now(), -1, 0);
SELECT uniqueid_encode('infinity', 0, 0, 0, 'spread');
SELECT guid_local_next_batch(-1);
SELECT uuidv7_encode(now(), 0, 4, 0, 0);
SELECT uuidv7_at('infinity');
BEGIN;
SAVEPOINT before;
SELECT sno_next(-1);
SELECT sno_next();
ROLLBACK TO before;
SELECT count(sno_next());
SELECT flake_from_text('?', 'hex');
COMMIT;
BEGIN;
SAVEPOINT before;
SELECT uniqueid_next('nonsense');
SELECT uniqueid_next();
ROLLBACK TO before;
SELECT count(uniqueid_next()), count(guid_next()), count(guid_local_next()), count(flake128_next()),
    count(uuidv7_next());
SELECT flake128_from_text('?', 10);
COMMIT;
\set VERBOSITY default

\echo '-- A row''s error in the middle of many leaves what was made before distinct from what is'
\echo -- made after.
CREATE TEMP TABLE made (id bigint PRIMARY KEY, other sno UNIQUE);
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            INSERT INTO made SELECT flake_next(), sno_next(CASE WHEN n = i THEN 256 ELSE 0 END)
            FROM generate_series(1, 50) AS n;
        EXCEPTION WHEN numeric_value_out_of_range THEN
            INSERT INTO made VALUES (flake_next(), sno_next());
        END;
    END LOOP;
END
$$;
SELECT * FROM pg_temp.results(
    $$count(*) FROM made$$);
CREATE TEMP TABLE also_made (a flake128 PRIMARY KEY, b guid UNIQUE, c guid_local UNIQUE,
    d uniqueid UNIQUE, e uuid UNIQUE);
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        BEGIN
            INSERT INTO also_made SELECT flake128_next(), guid_next(), guid_local_next(),
                CASE WHEN n = i THEN uniqueid_encode(now(), 64, 0, 0, 'spread')
                ELSE uniqueid_next() END, uuidv7_next()
            FROM generate_series(1, 50) AS n;
        EXCEPTION WHEN numeric_value_out_of_range THEN
            INSERT INTO also_made VALUES (flake128_next(), guid_next(), guid_local_next(),
            uniqueid_next(), uuidv7_next());
        END;
    END LOOP;
END
$$;
SELECT * FROM pg_temp.results(
    $$count(*) FROM also_made$$);
