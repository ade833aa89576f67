-- The type guid: text and bytes, casts, making, taking apart, putting together, bounds of a time,
-- distance.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- text and bytes -------------------------------------------------------------------------
\echo '-- What the guid library gives: an ID of a time that it was given, and the time that is'
\echo -- in it.
CREATE TEMP TABLE vector (
    text text, bytes bytea, base62 text, given timestamptz, made timestamptz, node bigint,
    sequence integer,
    drift interval
);
INSERT INTO vector VALUES
    ('N...............', '\x600000000000000000000000', 'cdfbo3cHKTLfirUO', '1970-01-01 00:00:00+00',
        '1970-01-01 00:00:00+00', 0, 0, '274 s'),
    ('F....zzzzzk.....', '\x40000003fffffffc00000000', 'Pl74Ymza1IfQU3l2', '1970-01-01 00:00:00+00',
        '1970-01-01 00:00:00+00', 4294967295, 0, '137 s'),
    ('N...0.....V..3..', '\x600000040000000800004000', 'cdfbpTX0So1Zi1WC', NULL,
        '1970-01-01 00:00:00.000131+00', 2147483649, 0, '274 s'),
    ('7lU4JUzzzzzUlR.0', '\x2317c551ffffffffdfc5c001', 'E7joUoWCy3Wi3LPt',
        '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00', 4294967295, 1, '68 s'),
    ('NlU4KzzzzzbUlR.0', '\x6317c557fffffff9dfc5c001', 'dsqt4JT9YW4xXTtJ',
        '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00', 4294967295, 1, '274 s'),
    ('NlU4KjKhxrbUlT..', '\x6317c556f56df779dfc5e000', 'dsqt3waClbNqW4Bc',
        '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00', 3735928559, 8192,
        '274 s'),
    ('VlU4JHC4Os6UlTee', '\x8317c55123456781dfc5eaaa', 'qlPQIZBYLY22Y5qk',
        '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00', 305419896, 10922,
        '549 s'),
    ('clU4Mzzzzz6UlR.0', '\xa317c55ffffffff1dfc5c001', '13dxxeWNSi8W21h57',
        '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00', 4294967295, 1, '1099 s'),
    ('klU4G7oKbW6UlTee', '\xc317c5448d159e11dfc5eaaa', '1GWWUlTcmXmygL8u2',
        '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00', 305419896, 10922,
        '2199 s'),
    ('saeTyJWk4HlCF47e', '\xe26a9ef94870152c4d40522a', '1T8CYXa6ZNPZP7V3y',
        '2014-02-21 18:39:47.798444+00', '2014-02-21 18:39:47.798441+00', 4069580842, 4650,
        '4398 s'),
    ('NiiTRfl2BaVI1B.0', '\x62eb9e72bc4332681308c001', 'doY2jz40AlDrdIMj', NULL,
        '2023-05-07 19:34:54.36581+00', 1468556877, 1, '274 s'),
    ('P...0.....V.....', '\x680000040000000800000000', 'frJF99AMZg8Y1C2y', NULL,
        '2116-02-20 23:53:38.427387+00', 2147483649, 0, '274 s'),
    ('Uzzzzzzzzzzzzzzz', '\x7fffffffffffffffffffffff', 'pWE94k9hlxnYxoeV',
        '2554-07-21 23:34:33.709551+00', '2554-07-21 23:34:33.70942+00', 4294967295, 16383,
        '274 s'),
    ('zzzzzzzzzzzzzzzz', '\xffffffffffffffffffffffff', '1f2SI9UJPXvb7vdJ1',
        '2554-07-21 23:34:33.709551+00', '2554-07-21 23:34:33.70942+00', 4294967295, 16383,
        '4398 s');

CREATE TEMP TABLE ids AS SELECT text::guid AS id, text, bytes FROM vector;

SELECT id, id::bytea, id::guid_local, decoded.* FROM ids, guid_decode(id) AS decoded
    ORDER BY ids.id;

SELECT text AS otherwise_than_in_go
FROM ids
WHERE id::text <> text OR guid_out(id)::text <> text OR id::bytea <> bytes OR guid_send(id) <> bytes
   OR bytes::guid <> id OR guid_in(text::cstring) <> id;
SELECT text AS decoded_otherwise FROM vector, guid_decode(text::guid) AS decoded
WHERE (decoded.created_at, decoded.node, decoded.sequence)
    IS DISTINCT FROM (made, vector.node, vector.sequence);
\echo -- A drift is given in whole seconds.
SELECT DISTINCT vector.drift, decoded.drift FROM vector, guid_decode(text::guid) AS decoded
    ORDER BY vector.drift;
SELECT text AS of_another_time FROM vector WHERE guid_timestamp(text::guid) <> made;
SELECT text AS encoded_otherwise FROM vector
WHERE guid_encode(given, node, sequence, drift)::text <> text;
SELECT text AS written_otherwise FROM vector
WHERE guid_to_text(text::guid, 'base62') <> base62 OR guid_from_text(base62, 'base62') <> text::guid
   OR guid_to_text(text::guid) <> text OR guid_to_text(text::guid, 'base64') <> text
       OR guid_from_text(text) <> text::guid;

SELECT guid 'NiiTRfl2BaVI1B.0' AS literal, 'NiiTRfl2BaVI1B.0'::guid AS cast,
       pg_typeof(guid 'NiiTRfl2BaVI1B.0') AS type, pg_column_size(guid 'NiiTRfl2BaVI1B.0') AS bytes;
SELECT * FROM pg_temp.results(
    $$typlen, typbyval, typalign, typstorage, typcategory FROM pg_type
    WHERE oid = 'guid'::regtype$$);

\echo -- Spaces and other characters are not in its alphabet, and upper case is another value.
SELECT guid 'NIITRFL2BAVI1B.0' = 'NiiTRfl2BaVI1B.0' AS same;
SELECT * FROM pg_temp.refused(
    $$' NiiTRfl2BaVI1B.0'::guid$$,
    $$'NiiTRfl2BaVI1B. '::guid$$,
    $$'NiiTRfl2BaVI1B.'::guid$$,
    $$'NiiTRfl2BaVI1B.00'::guid$$,
    $$''::guid$$,
    $$'NiiTRfl2BaVI1B-0'::guid$$,
    $$'-iiTRfl2BaVI1B.0'::guid$$,
    $$'*iiTRfl2BaVI1B.0'::guid$$);
-- Every character of ASCII, at the first, a middle and the last place: 64 are good, at each.
CREATE FUNCTION pg_temp.is_guid(text text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN guid_out(text::guid)::text = text;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT place, count(*), string_agg(chr(code), '' ORDER BY code) AS characters
FROM unnest('{1,9,16}'::int[]) AS place, generate_series(1, 127) AS code
WHERE pg_temp.is_guid(overlay('2222222222222222' PLACING chr(code) FROM place FOR 1))
GROUP BY place ORDER BY place;

\echo -- casts ----------------------------------------------------------------------------------
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast WHERE 'guid'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
\echo -- An ID is assigned to a type that holds all of it. A cast to an ID must be written, and
\echo -- so must each within an expression.
SELECT * FROM pg_temp.refused(
    $$length(guid '................')$$);
CREATE TEMP TABLE loose (a text, b bytea, c guid_local, d guid);
INSERT INTO loose (a) VALUES (guid '................');
INSERT INTO loose (b) VALUES (guid '................');
SELECT * FROM pg_temp.refused(
    $$INSERT INTO loose (c) VALUES (guid '................')$$,
    $$INSERT INTO loose (d) VALUES ('................'::text)$$,
    $$INSERT INTO loose (d) VALUES ('\x000000000000000000000000'::bytea)$$,
    $$INSERT INTO loose (d) VALUES ('................'::guid_local)$$);
SELECT * FROM loose;
SELECT * FROM pg_temp.refused(
    $$guid '................' = text '................'$$,
    $$guid '................' = guid_local '................'$$,
    $$guid_local '................'::guid$$,
    $$'\x00'::bytea::guid$$,
    $$'\x00000000000000000000000000'::bytea::guid$$,
    $$''::bytea::guid$$,
    $$'2222'::text::guid$$,
    $$'2222'::varchar::guid$$);
SELECT * FROM pg_temp.results(
    $$NULL::text::guid, NULL::bytea::guid, NULL::guid::text, NULL::guid::bytea,
    NULL::guid::guid_local$$);
\echo -- text (by bytes) and bytea sort as the guid does.
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.id::text COLLATE "C" < b.id::text COLLATE "C")) AS text,
       bool_and((a.id < b.id) = (a.id::bytea < b.id::bytea)) AS bytea
FROM ids AS a, ids AS b;

\echo -- Without its node it is a guid_local, and with it a guid again.
SELECT text AS otherwise
FROM ids, guid_decode(id) AS decoded, guid_local_decode(id::guid_local) AS local
WHERE (decoded.created_at, decoded.sequence, decoded.drift)
    IS DISTINCT FROM (local.created_at, local.sequence, local.drift)
   OR guid_local(id) <> id::guid_local OR guid_global(id::guid_local, decoded.node) <> id;
SELECT node, guid_global('5206B440CEB4B..0', node),
    guid_local(guid_global('5206B440CEB4B..0', node)) AS back,
       (guid_decode(guid_global('5206B440CEB4B..0', node))).node = node AS as_given
FROM unnest('{0,1,65535,65536,2147483647,2147483648,4294967295}'::bigint[]) AS node;
SELECT * FROM pg_temp.refused(
    $$guid_global('5206B440CEB4B..0', -1)$$,
    $$guid_global('5206B440CEB4B..0', 4294967296)$$,
    $$guid_global('5206B440CEB4B..0', -9223372036854775808)$$,
    $$guid_global('5206B440CEB4B..0', 9223372036854775807)$$);
SELECT * FROM pg_temp.results(
    $$guid_global(NULL, 0), guid_global('5206B440CEB4B..0', NULL), guid_local(NULL)$$);

\echo -- text in another format -----------------------------------------------------------------
SELECT * FROM pg_temp.refused(
    $$guid_to_text('NiiTRfl2BaVI1B.0', 'hex')$$,
    $$guid_to_text('NiiTRfl2BaVI1B.0', '')$$,
    $$guid_to_text('NiiTRfl2BaVI1B.0', 'BASE62')$$,
    $$guid_from_text('NiiTRfl2BaVI1B.0', 'base63')$$);
SELECT guid_from_text('doY2jz40AlDrdIMj', 'base64') = guid 'doY2jz40AlDrdIMj' AS as_it_is;
SELECT * FROM pg_temp.results(
    $$guid_from_text('00doY2jz40AlDrdIMj', 'base62'), guid_from_text('0', 'base62')$$);
SELECT * FROM pg_temp.refused(
    $$guid_from_text('1f2SI9UJPXvb7vdJ2', 'base62')$$,
    $$guid_from_text('', 'base62')$$,
    $$guid_from_text('.', 'base62')$$,
    $$guid_from_text('NiiTRfl2BaVI1B.', 'base64')$$);
SELECT * FROM pg_temp.results(
    $$guid_to_text(NULL), guid_to_text('NiiTRfl2BaVI1B.0', NULL), guid_from_text(NULL),
        guid_from_text('0', NULL)$$);

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE drift (code integer, drift interval);
INSERT INTO drift VALUES
    (1, '68 s'), (2, '137 s'), (3, '274 s'), (4, '549 s'), (5, '1099 s'), (6, '2199 s'),
        (7, '1 day');

CREATE TEMP TABLE made AS
SELECT nr, code, guid_next(drifts[code]) AS id
FROM generate_series(1, 100000) AS nr, LATERAL (SELECT nr % 7 + 1) AS codes (code),
     (SELECT array_agg(drift ORDER BY code) FROM drift) AS drift (drifts);

SELECT count(*), count(DISTINCT id) AS distinct_ids, count(DISTINCT node) AS nodes,
       bool_and(get_byte(id::bytea, 0) >> 5 = code) AS drift_as_asked,
       bool_and(sequence BETWEEN 0 AND 16383) AS within
FROM made, guid_decode(id);

\echo '-- One session''s rise in time and sequence; drift stands above them.'
SELECT count(*) AS not_rising
FROM (SELECT id::guid_local AS this, lag(id::guid_local) OVER (PARTITION BY code ORDER BY nr)
    AS previous FROM made) AS made
WHERE this <= previous;

SELECT pg_temp.not_of_now('guid_timestamp(guid_next())', '133 us') AS not_of_now,
    pg_temp.not_of_now('guid_timestamp(guid_next(inverse => true), true)', '133 us')
        AS inverse_not_of_now,
    (SELECT count(*) FROM generate_series(1, 1000) AS nr
     WHERE (guid_decode(guid_next())).drift <> interval '274 s') AS of_other_drift;

\echo '-- The inverse clock counts down: the newest sorts first.'
CREATE TEMP TABLE downwards AS
SELECT nr, guid_next('1 day', true) AS id FROM generate_series(1, 20000) AS nr;
SELECT count(DISTINCT id) AS distinct_ids,
       bool_and(guid_timestamp(id, inverse => true) BETWEEN now() - interval '1 minute'
           AND clock_timestamp()) AS of_now,
       bool_and(guid_timestamp(id) > now() + interval '400 years') AS otherwise_far_off
FROM downwards;
SELECT count(*) AS not_falling
FROM (SELECT id::guid_local AS this, lag(id::guid_local) OVER (ORDER BY nr) AS previous
    FROM downwards) AS downwards
WHERE this >= previous;
SELECT count(*) AS both FROM downwards JOIN made USING (id);

CREATE TEMP TABLE batched AS
SELECT nr, id FROM guid_next_batch(10000, '1 day') WITH ORDINALITY AS batch (id, nr);
SELECT count(*), count(DISTINCT id) AS distinct_ids,
    bool_and(drift = interval '4398 s') AS drift_as_asked
FROM batched, guid_decode(id);
SELECT count(*) AS not_rising
FROM (SELECT id::guid_local AS this, lag(id::guid_local) OVER (ORDER BY nr) AS previous
    FROM batched) AS batched
WHERE this <= previous;
SELECT count(*) AS both FROM batched JOIN made ON batched.id::guid_local = made.id::guid_local;
SELECT count(*), count(*) FILTER (WHERE id >= previous) AS not_falling
FROM (SELECT id::guid_local AS id, lag(id::guid_local) OVER (ORDER BY nr) AS previous
      FROM guid_next_batch(10000, inverse => true) WITH ORDINALITY AS batch (id, nr)) AS batch;
\echo '-- Both types'' come from one source: none is another''s without the node.'
SELECT count(*) AS both FROM made JOIN guid_local_next_batch(10000)
    AS local ON made.id::guid_local = local;

SELECT * FROM pg_temp.results(
    $$count(*) FROM guid_next_batch(0)$$);
SELECT count(*), min((guid_decode(id)).drift) AS drift FROM guid_next_batch(1) AS id;
SELECT * FROM pg_temp.results(
    $$count(*) FROM guid_next_batch(NULL)$$,
    $$count(*) FROM guid_next_batch(1, NULL)$$,
    $$count(*) FROM guid_next_batch(1, '1 day', NULL)$$,
    $$guid_next(NULL), guid_next('1 day', NULL)$$,
    $$count(*) FROM (SELECT guid_next_batch(2147483647) LIMIT 3) AS cut_short$$);
SELECT * FROM pg_temp.refused(
    $$guid_next_batch(-1)$$);

\echo -- The drift is the least that covers what was asked for, and the largest for more. A
\echo -- month has 30 days.
SELECT asked, get_byte(id::bytea, 0) >> 5 AS code, decoded.drift
FROM unnest(ARRAY[
    '-1 s', '-178956970 years -8 mons', '0', '30 s', '68 s', '68.000001 s', '137 s', '137.000001 s',
    '274 s', '274.000001 s',
    '549 s', '549.000001 s', '18 min 19 s', '1099.000001 s', '36 min 39 s', '2199.000001 s',
    '4398 s', '4399 s', '1 day',
    '-1 day 25 hours', '1 mon', '1 mon -29 days -23:59:00', '-1 mon 31 days',
    '178956970 years 7 mons 2147483647 days'
]::interval[]) WITH ORDINALITY AS asked (asked, nr), guid_next(asked) AS id,
    guid_decode(id) AS decoded ORDER BY nr;

\echo '-- Each ID''s drift can be asked for, that of code 0 too, which nothing makes unless it is'
\echo -- asked for by exactly 34 seconds.
SELECT code, d.drift, guid_encode(d.created_at, d.node, d.sequence, d.drift) = id AS same,
    guid_within(id, tstzrange(d.created_at, d.created_at, '[]'), d.drift) AS within,
       id BETWEEN guid_min(d.created_at, d.drift) AND guid_max(d.created_at, d.drift) AS between,
       guid_within(id, '(,)', '274 seconds') AS of_274_seconds
FROM generate_series(0, 7) AS code, (SELECT (guid_encode('2024-06-15 12:34:56.788+00', 42,
    1))::bytea) AS one (bytes),
     LATERAL (SELECT set_byte(bytes, 0, (get_byte(bytes, 0) & 31) | (code << 5))::guid) AS ids (id),
         guid_decode(id) AS d ORDER BY code;
SELECT asked, get_byte(guid_min('2024-06-15', asked)::bytea, 0) >> 5 AS code
FROM unnest('{33.999999 s,34 s,34.000001 s}'::interval[]) AS asked;

\echo -- putting together -----------------------------------------------------------------------
\echo -- A time is cut to its tick of 131.072 us.
SELECT guid_encode('2024-06-15 12:34:56.788+00', 42, 1) AS at,
       guid_encode('2024-06-15 12:34:56.788001+00', 42, 1) AS cut,
       guid_encode('2024-06-15 12:34:56.788131+00', 42, 1) AS next;
\echo -- What an ID says is what it is made of.
SELECT count(*) AS ids, count(*) FILTER (WHERE guid_encode(created_at, node, sequence, drift) = id)
    AS same
FROM guid_next_batch(5000) AS id, guid_decode(id);
SELECT count(*) AS ids, count(*) FILTER (WHERE guid_encode(created_at, node, sequence, drift,
    true) = id) AS same
FROM guid_next_batch(5000, inverse => true) AS id, guid_decode(id, true);
SELECT count(*) AS ids, count(*) FILTER (WHERE id >= guid_timestamp(id) AND id <= guid_timestamp(id)
    AND id = guid_timestamp(id)) AS same
FROM guid_next_batch(5000) AS id;
\echo -- 2^14 us are a whole number of ticks.
SELECT count(*) AS ids, count(*) FILTER (
    WHERE (d.created_at, d.node, d.sequence) IS DISTINCT FROM (t, n, s)
        OR get_byte(id::bytea, 0) >> 5 <> code
       OR guid_encode(d.created_at, d.node, d.sequence, d.drift) <> id
) AS different
FROM unnest('{0,1,100000000000,109951162777,562949953421,1125899906842}'::bigint[]) AS k,
     LATERAL (SELECT timestamptz '1970-01-01 00:00:00+00' + k * interval '16.384 ms') AS times (t),
     unnest('{0,1,65535,65536,2147483648,4294967295}'::bigint[]) AS n,
         unnest('{0,1,255,256,8191,8192,16383}'::int[]) AS s,
     drift, LATERAL (SELECT guid_encode(t, n, s, drift)) AS encoded (id), guid_decode(id) AS d;
SELECT count(*) AS ids, count(*) FILTER (
    WHERE (d.created_at, d.node, d.sequence) IS DISTINCT FROM (t, n, s)
        OR get_byte(id::bytea, 0) >> 5 <> code
       OR guid_encode(d.created_at, d.node, d.sequence, d.drift, true) <> id
) AS different
FROM unnest('{0,1,100000000000,109951162777,562949953421,1125899906842}'::bigint[]) AS k,
     LATERAL (SELECT timestamptz '1970-01-01 00:00:00+00' + k * interval '16.384 ms') AS times (t),
     unnest('{0,1,65535,65536,2147483648,4294967295}'::bigint[]) AS n,
         unnest('{0,1,255,256,8191,8192,16383}'::int[]) AS s,
     drift, LATERAL (SELECT guid_encode(t, n, s, drift, true)) AS encoded (id),
         guid_decode(id, true) AS d;
\echo '-- What the library''s inverse clock gives.'
SELECT text, guid_encode(made, inverse.node, inverse.sequence, inverse.drift, true)::text = text
    AS same, decoded.*
FROM (VALUES
    ('EDVufWFL50cVDYzy', timestamptz '2026-07-01 12:34:56.123456+00', 168496141::bigint, 16382,
        interval '68 s'),
    ('UDVue40NN5sVDYzy', '2026-07-01 12:34:56.123456+00', 168496141, 16382, '274 s'),
    ('b6XwT8YT0NBx4w0B', '2034-06-15 07:30:06.513552+00', 2307776600, 76, '549 s'),
    ('Szzzy40NN5zzzzzy', '2116-02-20 23:53:38.4274+00', 168496141, 16382, '274 s'),
    ('B....0FL50c..2zy', '2262-04-11 23:47:16.854774+00', 168496141, 16382, '68 s')
) AS inverse (text, made, node, sequence, drift), guid_decode(text::guid, true) AS decoded;

SELECT * FROM pg_temp.refused(
    $$guid_encode('2026-07-01', -1, 0)$$,
    $$guid_encode('2026-07-01', 4294967296, 0)$$,
    $$guid_encode('2026-07-01', 0, -1)$$,
    $$guid_encode('2026-07-01', 0, 16384)$$,
    $$guid_encode('1969-12-31 23:59:59.999999+00', 0, 0)$$,
    $$guid_encode('2554-07-21 23:34:33.709552+00', 0, 0)$$,
    $$guid_encode('infinity', 0, 0)$$,
    $$guid_encode('-infinity', 0, 0)$$,
    $$guid_encode('-infinity', 0, 0, inverse => true)$$);

\echo '-- For a given time: the sequence runs, and begins again.'
SELECT number, guid_timestamp(id), decoded.sequence,
    decoded.node = (guid_decode(guid_next())).node AS of_this_server,
       (guid_decode(guid_at('2020-02-02 02:02:02.016+00', number, inverse => true), true)).sequence
           AS inverse
FROM unnest('{0,1,16383,16384,16385,9223372036854775807}'::bigint[]) AS number,
     guid_at('2020-02-02 02:02:02.016+00', number) AS id, guid_decode(id) AS decoded;
SELECT guid_at('2020-02-02', 5) = guid_at('2020-02-02', 5, '274 s', false) AS defaults,
       guid_at('2020-02-02', 5, '1 day') > guid_at('2020-02-02', 5, '549 s') AS drifts,
       guid_at('2020-02-02', 5, inverse => true) > guid_at('2020-02-02', 6, inverse => true)
           AS falling;
SELECT count(*), count(DISTINCT guid_at('2020-02-02', number)) AS distinct_ids
    FROM generate_series(0, 16383) AS number;
SELECT * FROM pg_temp.refused(
    $$guid_at('2020-02-02', -1)$$,
    $$guid_at('1969-12-31 23:59:59.999+00', 0)$$,
    $$guid_at('infinity', 0)$$);

\echo -- distance -------------------------------------------------------------------------------
\echo '-- What the library gives, where it borrows nothing: time and sequence of the difference,'
\echo -- drift and node of the first.
SELECT count(*) AS pairs, count(*) FILTER (WHERE guid_diff(a::bytea::guid,
    b::bytea::guid)::bytea <> diff::bytea) AS different
FROM (VALUES
    ('\x2317c551557799bbdfc5c002', '\x2317c551557799bbba850001', '\x20000001557799ba2540c001'),
    ('\xc317c56aaef33751dfc5c002', '\xc317c56aaef33751ba850001', '\xc000002aaef337402540c001'),
    ('\x6317c55555de66e9dfc5c002', '\x6317c55555de66e9dfc5c002', '\x6000000555de66e800000000'),
    ('\x6317c55555de66e9dfc5c002', '\x600000000000000000000000', '\x6317c55555de66e9dfc5c002'),
    ('\x6317c55089119a21d8524009', '\x6317c55555de66e9dfc5c002', '\x7ffffff889119a27f88c8007'),
    ('\xe317c500000000d1dfc5c005', '\x2317c55000000005d8524003', '\xe00000000000008007738002'),
    ('\xe47846c0c0b4ca090fb7658d', '\xe477eb40c0b4ca179c474133', '\xe0005b40c0b4ca717370245a'),
    ('\x62655525e1e40f5d2f7c7843', '\x6264eed5e1e40f5d393a8e90', '\x6000664de1e40f5ff641e9b3')
) AS library (a, b, diff);
\echo -- A smaller sequence borrows a tick, and a smaller moment goes round.
SELECT label, decoded.*
FROM (VALUES
    (1, 'next tick, same sequence', guid_encode('1970-01-01 00:00:00.032768+00', 7, 5),
        guid_encode('1970-01-01 00:00:00.016384+00', 9, 5, '1 day')),
    (2, 'same tick, next sequence', guid_encode('1970-01-01 00:00:00.016384+00', 7, 6),
        guid_encode('1970-01-01 00:00:00.016384+00', 9, 5, '1 day')),
    (3, '125 ticks less one number', guid_encode('1970-01-01 00:00:00.032768+00', 7, 4),
        guid_encode('1970-01-01 00:00:00.016384+00', 9, 5)),
    (4, 'one number below zero', guid_encode('2026-07-01', 7, 4), guid_encode('2026-07-01', 9, 5)),
    (5, 'less the largest', guid_encode('1970-01-01', 7, 0), 'zzzzzzzzzzzzzzzz'),
    (6, 'the largest less nothing', 'zzzzzzzzzzzzzzzz', '................')
) AS pairs (nr, label, a, b), guid_decode(guid_diff(a, b)) AS decoded ORDER BY nr;
CREATE FUNCTION pg_temp.moment(id guid) RETURNS numeric LANGUAGE sql AS $$
    SELECT (('x' || encode(id::guid_local::bytea,
        'hex'))::bit(64) & x'1fffffffffffffff')::bigint::numeric
$$;
\echo '-- As numbers of 61 bits: a - b, and a - b and b - a are opposites.'
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE pg_temp.moment(guid_diff(a.id,
           b.id)) <> mod(pg_temp.moment(a.id) - pg_temp.moment(b.id) + 2::numeric ^ 61,
           2::numeric ^ 61)) AS different,
       count(*) FILTER (WHERE mod(pg_temp.moment(guid_diff(a.id,
           b.id)) + pg_temp.moment(guid_diff(b.id, a.id)), 2::numeric ^ 61) <> 0) AS no_opposites,
       count(*) FILTER (WHERE get_byte(guid_diff(a.id, b.id)::bytea,
           0) >> 5 <> get_byte(a.id::bytea, 0) >> 5
           OR (guid_decode(guid_diff(a.id, b.id))).node <> (guid_decode(a.id)).node)
           AS of_another_drift_or_node
FROM ids AS a, ids AS b;
SELECT * FROM pg_temp.results(
    $$guid_diff(NULL::guid, '................'), guid_diff('................'::guid, NULL)$$);

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, guid_min(time), guid_max(time), guid_min(time, '1 day') AS min_7,
    guid_max(time, '1 day') AS max_7
FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '1969-12-31 23:59:59.999999+00',
    '1970-01-01 00:00:00+00', '1970-01-01 00:00:00.000001+00', '1970-01-01 00:00:00.00013+00',
    '1970-01-01 00:00:00.000131+00', '1970-01-01 00:00:00.000132+00',
    '2026-07-01 12:34:56.123445+00', '2026-07-01 12:34:56.123446+00',
    '2026-07-01 12:34:56.123576+00',
    '2554-07-21 23:34:33.709419+00', '2554-07-21 23:34:33.70942+00',
    '2554-07-21 23:34:33.709421+00',
    '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;

CREATE TEMP TABLE range AS
SELECT times, nr FROM unnest(ARRAY[
    '[2026-07-01 12:34:56.123445+00,2026-07-01 12:34:56.123445+00]',
    '[2026-07-01 12:34:56.123445+00,2026-07-01 12:34:56.123576+00)',
    '(2026-07-01 12:34:56.123445+00,2026-07-01 12:34:56.123576+00)',
        '(,2026-07-01 12:34:56.123445+00]',
    '(,2026-07-01 12:34:56.123445+00)',
    '[2026-07-01 12:34:56.123445+00,)', '(2026-07-01 12:34:56.123445+00,)', '(,)',
        '[-infinity,infinity]', 'empty',
    '(,1970-01-01 00:00:00+00)', '(,1970-01-01 00:00:00+00]', '[2554-07-21 23:34:33.70942+00,)',
    '(2554-07-21 23:34:33.70942+00,)', '[1900-01-01,1960-01-01]', '[2600-01-01,infinity]'
]::tstzrange[]) WITH ORDINALITY AS ranges (times, nr);
SELECT times, guid_range_min(times), guid_range_max(times) FROM range ORDER BY nr;
SELECT times, guid_range_min(times, '68 s', true), guid_range_max(times, '68 s', true) FROM range
    ORDER BY nr;
\echo '-- By the drift''s code, as by the drift.'
SELECT count(*) AS ranges, bool_and(guid_code_min(times, code) = guid_range_min(times, drift))
    AS min,
       bool_and(guid_code_max(times, code) = guid_range_max(times, drift)) AS max
FROM range, drift;
SELECT code, guid_code_min('(,)', code), guid_code_max('(,)', code),
       guid_code_min('[2026-07-01 12:34:56.123445+00,)', code) AS from_2026
FROM generate_series(0, 7) AS code;
\echo -- Another number is the nearest code.
SELECT guid_code_min('(,)', 2147483647) = guid_code_min('(,)', 7) AS above,
       guid_code_max('(,)', -2147483648) = guid_code_max('(,)', 0) AS below;

SELECT guid_timestamp(NULL), guid_timestamp('................', NULL), guid_decode(NULL),
    guid_decode('................', NULL),
       guid_encode(NULL, 0, 0), guid_encode('2020-01-01', NULL, 0),
           guid_encode('2020-01-01', 0, NULL),
       guid_encode('2020-01-01', 0, 0, NULL), guid_encode('2020-01-01', 0, 0, '1 s', NULL);
SELECT guid_at(NULL, 0), guid_at('2020-01-01', NULL), guid_at('2020-01-01', 0, NULL),
    guid_min(NULL), guid_max(NULL),
       guid_min('2020-01-01', NULL), guid_max('2020-01-01', NULL);
SELECT guid_range_min(NULL), guid_range_max(NULL), guid_range_min('(,)', NULL),
    guid_range_max('(,)', NULL),
       guid_range_min('(,)', '1 s', NULL), guid_code_min(NULL, 1), guid_code_max('(,)', NULL);
