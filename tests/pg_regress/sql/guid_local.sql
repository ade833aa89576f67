-- The type guid_local: text and bytes, casts, making, taking apart, putting together, bounds of a
-- time, distance.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- text and bytes -------------------------------------------------------------------------
\echo '-- What the guid library gives: an ID of a time that it was given, and the time that is'
\echo -- in it.
CREATE TEMP TABLE vector (
    text text, bytes bytea, base62 text, given timestamptz, made timestamptz, sequence integer,
    drift interval
);
INSERT INTO vector VALUES
    ('5...........3...', '\x6000000000004000', '8F0M5kuYvLM', NULL, '1970-01-01 00:00:00.000131+00',
        0, '274 s'),
    ('5206B440CEB4B..0', '\x6317c551dfc5c001', '8VT4bVGfrjl', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', 1, '274 s'),
    ('5206B440CEB4CEEE', '\x6317c551dfc5dfff', '8VT4bVGftrr', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', 8191, '274 s'),
    ('3206B440CEB4B..0', '\x4317c551dfc5c001', '5l8HuFd9a2j', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', 1, '137 s'),
    ('9206B440CEB4B..0', '\xa317c551dfc5c001', 'E08e00XiR7p', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', 1, '1099 s'),
    ('B206B440CEB4B..0', '\xc317c551dfc5c001', 'GkTQhGBEior', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', 1, '2199 s'),
    ('D19C120783D0E38D', '\xe2ad231894e1f49e', 'JSakOdFEKVi', '2018-11-21 09:13:00.246566+00',
        '2018-11-21 09:13:00.246474+00', 13470, '4398 s'),
    ('D...............', '\xe000000000000000', 'JELUslSdzrE', '1970-01-01 00:00:00+00',
        '1970-01-01 00:00:00+00', 0, '4398 s'),
    ('6...............', '\x7000000000000000', '9cAkRNjJzvc', NULL, '2262-04-11 23:47:16.854774+00',
        0, '274 s'),
    ('2EEEEEEEEEEEEEEE', '\x3fffffffffffffff', '5UfZOVH2ZO3', '2554-07-21 23:34:33.709551+00',
        '2554-07-21 23:34:33.70942+00', 16383, '68 s'),
    ('EEEEEEEEEEEEEEEE', '\xffffffffffffffff', 'LygHa16AHYF', '2554-07-21 23:34:33.709551+00',
        '2554-07-21 23:34:33.70942+00', 16383, '4398 s');

CREATE TEMP TABLE ids AS SELECT text::guid_local AS id, text, bytes FROM vector;

SELECT id, id::bytea, decoded.* FROM ids, guid_local_decode(id) AS decoded ORDER BY ids.id;

SELECT text AS otherwise_than_in_go
FROM ids
WHERE id::text <> text OR guid_local_out(id)::text <> text OR id::bytea <> bytes
    OR guid_local_send(id) <> bytes
   OR bytes::guid_local <> id OR guid_local_in(text::cstring) <> id;
SELECT text AS decoded_otherwise FROM vector, guid_local_decode(text::guid_local) AS decoded
WHERE (decoded.created_at, decoded.sequence) IS DISTINCT FROM (made, vector.sequence);
\echo -- A drift is given in whole seconds.
SELECT DISTINCT vector.drift, decoded.drift FROM vector,
    guid_local_decode(text::guid_local) AS decoded ORDER BY vector.drift;
SELECT text AS of_another_time FROM vector WHERE guid_local_timestamp(text::guid_local) <> made;
SELECT text AS encoded_otherwise FROM vector
WHERE guid_local_encode(given, sequence, drift)::text <> text;
SELECT text AS written_otherwise FROM vector
WHERE guid_local_to_text(text::guid_local, 'base62') <> base62
    OR guid_local_from_text(base62, 'base62') <> text::guid_local
   OR guid_local_to_text(text::guid_local) <> text
       OR guid_local_to_text(text::guid_local, 'base64') <> text
   OR guid_local_from_text(text) <> text::guid_local;

SELECT guid_local '5206B440CEB4B..0' AS literal, '5206B440CEB4B..0'::guid_local AS cast,
       pg_typeof(guid_local '5206B440CEB4B..0') AS type,
           pg_column_size(guid_local '5206B440CEB4B..0') AS bytes;
SELECT * FROM pg_temp.results(
    $$typlen, typbyval, typalign, typstorage, typcategory FROM pg_type
    WHERE oid = 'guid_local'::regtype$$);

\echo -- Spaces and other characters are not in its alphabet, and neither are letters in lower
\echo -- case or beyond E.
SELECT * FROM pg_temp.refused(
    $$'5206b440ceb4b..0'::guid_local$$,
    $$' 5206B440CEB4B..0'::guid_local$$,
    $$'5206B440CEB4B.. '::guid_local$$,
    $$'5206B440CEB4B..'::guid_local$$,
    $$'5206B440CEB4B..00'::guid_local$$,
    $$''::guid_local$$,
    $$'5206B440CEB4B.-0'::guid_local$$,
    $$'F206B440CEB4B..0'::guid_local$$,
    $$'5206B440CEB4B..F'::guid_local$$);
-- Every character of ASCII, at the first, a middle and the last place: 16 are good, at each.
CREATE FUNCTION pg_temp.is_guid_local(text text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN guid_local_out(text::guid_local)::text = text;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT place, count(*), string_agg(chr(code), '' ORDER BY code) AS characters
FROM unnest('{1,9,16}'::int[]) AS place, generate_series(1, 127) AS code
WHERE pg_temp.is_guid_local(overlay('2222222222222222' PLACING chr(code) FROM place FOR 1))
GROUP BY place ORDER BY place;

\echo -- casts ----------------------------------------------------------------------------------
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod
FROM pg_cast WHERE 'guid_local'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text, casttarget::regtype::text;
\echo -- An ID is assigned to a type that holds all of it. A cast to an ID must be written, and
\echo -- so must each within an expression.
SELECT * FROM pg_temp.refused(
    $$length(guid_local '................')$$);
CREATE TEMP TABLE loose (a text, b bytea, c bigint, d guid_local);
INSERT INTO loose (a) VALUES (guid_local '................');
INSERT INTO loose (b) VALUES (guid_local '................');
SELECT * FROM pg_temp.refused(
    $$INSERT INTO loose (c) VALUES (guid_local '................')$$,
    $$INSERT INTO loose (d) VALUES ('................'::text)$$,
    $$INSERT INTO loose (d) VALUES ('\x0000000000000000'::bytea)$$,
    $$INSERT INTO loose (d) VALUES (0::bigint)$$);
SELECT * FROM loose;
SELECT * FROM pg_temp.refused(
    $$guid_local '................' = text '................'$$,
    $$guid_local '................' = bigint '0'$$,
    $$'\x00'::bytea::guid_local$$,
    $$'\x000000000000000000'::bytea::guid_local$$,
    $$''::bytea::guid_local$$,
    $$'2222'::text::guid_local$$,
    $$'2222'::varchar::guid_local$$);
SELECT * FROM pg_temp.results(
    $$NULL::text::guid_local, NULL::bytea::guid_local, NULL::guid_local::text,
    NULL::guid_local::bytea$$);
\echo '-- text (by bytes) and bytea sort as the guid_local does: also those whose highest bit is'
\echo -- set.
SELECT count(*) AS pairs,
       bool_and((a.id < b.id) = (a.id::text COLLATE "C" < b.id::text COLLATE "C")) AS text,
       bool_and((a.id < b.id) = (a.id::bytea < b.id::bytea)) AS bytea
FROM ids AS a, ids AS b;

\echo -- text in another format -----------------------------------------------------------------
SELECT * FROM pg_temp.refused(
    $$guid_local_to_text('5206B440CEB4B..0', 'hex')$$,
    $$guid_local_to_text('5206B440CEB4B..0', '')$$,
    $$guid_local_from_text('5206B440CEB4B..0', 'Base64')$$);
SELECT * FROM pg_temp.results(
    $$guid_local_from_text('008VT4bVGfrjl', 'base62'), guid_local_from_text('0', 'base62')$$);
SELECT * FROM pg_temp.refused(
    $$guid_local_from_text('LygHa16AHYG', 'base62')$$,
    $$guid_local_from_text('', 'base62')$$,
    $$guid_local_from_text('.', 'base62')$$,
    $$guid_local_from_text('5206B440CEB4B..', 'base64')$$,
    $$guid_local_from_text('5206B440CEB4B..z', 'base64')$$);
SELECT guid_local_to_text(NULL), guid_local_to_text('5206B440CEB4B..0', NULL),
    guid_local_from_text(NULL),
       guid_local_from_text('0', NULL);

\echo -- making ---------------------------------------------------------------------------------
CREATE TEMP TABLE drift (code integer, drift interval);
INSERT INTO drift VALUES
    (1, '68 s'), (2, '137 s'), (3, '274 s'), (4, '549 s'), (5, '1099 s'), (6, '2199 s'),
        (7, '1 day');

CREATE TEMP TABLE made AS
SELECT nr, code, guid_local_next(drifts[code]) AS id
FROM generate_series(1, 100000) AS nr, LATERAL (SELECT nr % 7 + 1) AS codes (code),
     (SELECT array_agg(drift ORDER BY code) FROM drift) AS drift (drifts);

SELECT count(*), count(DISTINCT id) AS distinct_ids,
    bool_and(get_byte(id::bytea, 0) >> 5 = code) AS drift_as_asked,
       bool_and(sequence BETWEEN 0 AND 16383) AS within
FROM made, guid_local_decode(id);

\echo '-- One session''s rise in time and sequence; drift stands above them.'
SELECT count(*) AS not_rising
FROM (SELECT id AS this, lag(id) OVER (PARTITION BY code ORDER BY nr) AS previous FROM made) AS made
WHERE this <= previous;

SELECT pg_temp.not_of_now('guid_local_timestamp(guid_local_next())', '133 us') AS not_of_now,
    pg_temp.not_of_now('guid_local_timestamp(guid_local_next(inverse => true), true)', '133 us')
        AS inverse_not_of_now,
    (SELECT count(*) FROM generate_series(1, 1000) AS nr
     WHERE (guid_local_decode(guid_local_next())).drift <> interval '274 s') AS of_other_drift;

\echo '-- The inverse clock counts down: the newest sorts first.'
CREATE TEMP TABLE downwards AS
SELECT nr, guid_local_next('1 day', true) AS id FROM generate_series(1, 20000) AS nr;
SELECT count(DISTINCT id) AS distinct_ids,
       bool_and(guid_local_timestamp(id, inverse => true) BETWEEN now() - interval '1 minute'
           AND clock_timestamp()) AS of_now,
       bool_and(guid_local_timestamp(id) > now() + interval '400 years') AS otherwise_far_off
FROM downwards;
SELECT count(*) AS not_falling
FROM (SELECT id AS this, lag(id) OVER (ORDER BY nr) AS previous FROM downwards) AS downwards
WHERE this >= previous;
SELECT count(*) AS both FROM downwards JOIN made USING (id);

CREATE TEMP TABLE batched AS
SELECT nr, id FROM guid_local_next_batch(10000, '1 day') WITH ORDINALITY AS batch (id, nr);
SELECT count(*), count(DISTINCT id) AS distinct_ids,
    bool_and(drift = interval '4398 s') AS drift_as_asked
FROM batched, guid_local_decode(id);
SELECT count(*) AS not_rising
FROM (SELECT id AS this, lag(id) OVER (ORDER BY nr) AS previous FROM batched) AS batched
WHERE this <= previous;
SELECT count(*) AS both FROM batched JOIN made ON batched.id = made.id;
SELECT count(*), count(*) FILTER (WHERE id >= previous) AS not_falling
FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS previous
      FROM guid_local_next_batch(10000, inverse => true) WITH ORDINALITY AS batch (id, nr))
          AS batch;
\echo '-- Both types'' come from one source: none is another''s without the node.'
SELECT count(*) AS both FROM made JOIN guid_next_batch(10000)
    AS global ON made.id = global::guid_local;

SELECT * FROM pg_temp.results(
    $$count(*) FROM guid_local_next_batch(0)$$);
SELECT count(*), min((guid_local_decode(id)).drift) AS drift FROM guid_local_next_batch(1) AS id;
SELECT * FROM pg_temp.results(
    $$count(*) FROM guid_local_next_batch(NULL)$$,
    $$count(*) FROM guid_local_next_batch(1, NULL)$$,
    $$count(*) FROM guid_local_next_batch(1, '1 day', NULL)$$,
    $$guid_local_next(NULL), guid_local_next('1 day', NULL)$$,
    $$count(*) FROM (SELECT guid_local_next_batch(2147483647) LIMIT 3) AS cut_short$$);
SELECT * FROM pg_temp.refused(
    $$guid_local_next_batch(-1)$$);

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
]::interval[]) WITH ORDINALITY AS asked (asked, nr), guid_local_next(asked) AS id,
    guid_local_decode(id) AS decoded ORDER BY nr;

\echo '-- Each ID''s drift can be asked for, that of code 0 too, which nothing makes unless it is'
\echo -- asked for by exactly 34 seconds.
SELECT code, d.drift, guid_local_encode(d.created_at, d.sequence, d.drift) = id AS same,
    guid_local_within(id, tstzrange(d.created_at, d.created_at, '[]'), d.drift) AS within,
       id BETWEEN guid_local_min(d.created_at, d.drift) AND guid_local_max(d.created_at, d.drift)
           AS between,
       guid_local_within(id, '(,)', '274 seconds') AS of_274_seconds
FROM generate_series(0, 7) AS code, (SELECT (guid_local_encode('2024-06-15 12:34:56.788+00',
    1))::bytea) AS one (bytes),
     LATERAL (SELECT set_byte(bytes, 0, (get_byte(bytes, 0) & 31) | (code << 5))::guid_local)
         AS ids (id), guid_local_decode(id) AS d ORDER BY code;
SELECT asked, get_byte(guid_local_min('2024-06-15', asked)::bytea, 0) >> 5 AS code
FROM unnest('{33.999999 s,34 s,34.000001 s}'::interval[]) AS asked;

\echo -- putting together -----------------------------------------------------------------------
\echo -- A time is cut to its tick of 131.072 us.
SELECT guid_local_encode('2024-06-15 12:34:56.788+00', 1) AS at,
       guid_local_encode('2024-06-15 12:34:56.788001+00', 1) AS cut,
       guid_local_encode('2024-06-15 12:34:56.788131+00', 1) AS next;
\echo -- What an ID says is what it is made of.
SELECT count(*) AS ids, count(*) FILTER (WHERE guid_local_encode(created_at, sequence, drift) = id)
    AS same
FROM guid_local_next_batch(5000) AS id, guid_local_decode(id);
SELECT count(*) AS ids, count(*) FILTER (WHERE guid_local_encode(created_at, sequence, drift,
    true) = id) AS same
FROM guid_local_next_batch(5000, inverse => true) AS id, guid_local_decode(id, true);
SELECT count(*) AS ids, count(*) FILTER (WHERE id >= guid_local_timestamp(id)
    AND id <= guid_local_timestamp(id) AND id = guid_local_timestamp(id)) AS same
FROM guid_local_next_batch(5000) AS id;
\echo -- 2^14 us are a whole number of ticks.
SELECT count(*) AS ids, count(*) FILTER (
    WHERE (d.created_at, d.sequence) IS DISTINCT FROM (t, s) OR get_byte(id::bytea, 0) >> 5 <> code
       OR guid_local_encode(d.created_at, d.sequence, d.drift) <> id
) AS different
FROM unnest('{0,1,100000000000,109951162777,562949953421,1125899906842}'::bigint[]) AS k,
     LATERAL (SELECT timestamptz '1970-01-01 00:00:00+00' + k * interval '16.384 ms') AS times (t),
     unnest('{0,1,255,256,8191,8192,16383}'::int[]) AS s,
     drift, LATERAL (SELECT guid_local_encode(t, s, drift)) AS encoded (id),
         guid_local_decode(id) AS d;
SELECT count(*) AS ids, count(*) FILTER (
    WHERE (d.created_at, d.sequence) IS DISTINCT FROM (t, s) OR get_byte(id::bytea, 0) >> 5 <> code
       OR guid_local_encode(d.created_at, d.sequence, d.drift, true) <> id
) AS different
FROM unnest('{0,1,100000000000,109951162777,562949953421,1125899906842}'::bigint[]) AS k,
     LATERAL (SELECT timestamptz '1970-01-01 00:00:00+00' + k * interval '16.384 ms') AS times (t),
     unnest('{0,1,255,256,8191,8192,16383}'::int[]) AS s,
     drift, LATERAL (SELECT guid_local_encode(t, s, drift, true)) AS encoded (id),
         guid_local_decode(id, true) AS d;
\echo '-- What the library''s inverse clock gives.'
SELECT text, guid_local_encode(made, inverse.sequence, inverse.drift, true)::text = text AS same,
    decoded.*
FROM (VALUES
    ('2BD7299D1.292EED', timestamptz '2026-07-01 12:34:56.123456+00', 16382, interval '68 s'),
    ('6BD7299D1.292EED', '2026-07-01 12:34:56.123456+00', 16382, '274 s'),
    ('6B67AB622C06C80E', '2034-06-15 07:30:06.513552+00', 6431, '274 s'),
    ('66EEEEEEEEEEEEED', '2116-02-20 23:53:38.4274+00', 16382, '274 s'),
    ('2...........2EED', '2262-04-11 23:47:16.854774+00', 16382, '68 s')
) AS inverse (text, made, sequence, drift), guid_local_decode(text::guid_local, true) AS decoded;

SELECT * FROM pg_temp.refused(
    $$guid_local_encode('2026-07-01', -1)$$,
    $$guid_local_encode('2026-07-01', 16384)$$,
    $$guid_local_encode('2026-07-01', 2147483647, inverse => true)$$,
    $$guid_local_encode('1969-12-31 23:59:59.999999+00', 0)$$,
    $$guid_local_encode('2554-07-21 23:34:33.709552+00', 0)$$,
    $$guid_local_encode('infinity', 0)$$,
    $$guid_local_encode('-infinity', 0)$$,
    $$guid_local_encode('-infinity', 0, inverse => true)$$);

\echo '-- For a given time: the sequence runs, and begins again.'
SELECT number, guid_local_timestamp(id), decoded.sequence,
       (guid_local_decode(guid_local_at('2020-02-02 02:02:02.016+00', number, inverse => true),
           true)).sequence AS inverse
FROM unnest('{0,1,16383,16384,16385,9223372036854775807}'::bigint[]) AS number,
     guid_local_at('2020-02-02 02:02:02.016+00', number) AS id, guid_local_decode(id) AS decoded;
SELECT guid_local_at('2020-02-02', 5) = guid_local_at('2020-02-02', 5, '274 s', false) AS defaults,
       guid_local_at('2020-02-02', 5, '1 day') > guid_local_at('2020-02-02', 5, '549 s') AS drifts,
       guid_local_at('2020-02-02', 5, inverse => true) > guid_local_at('2020-02-02', 6,
           inverse => true) AS falling;
SELECT count(*), count(DISTINCT guid_local_at('2020-02-02', number)) AS distinct_ids
    FROM generate_series(0, 16383) AS number;
SELECT * FROM pg_temp.refused(
    $$guid_local_at('2020-02-02', -1)$$,
    $$guid_local_at('1969-12-31 23:59:59.999+00', 0)$$,
    $$guid_local_at('infinity', 0)$$);

\echo -- distance -------------------------------------------------------------------------------
\echo '-- What the library gives, where it borrows nothing: time and sequence of the difference,'
\echo -- drift of the first.
SELECT count(*) AS pairs, count(*) FILTER (WHERE guid_diff(a::bytea::guid_local,
    b::bytea::guid_local)::bytea <> diff::bytea) AS different
FROM (VALUES
    ('\x2317c551dfc5c002', '\x2317c551ba850001', '\x200000002540c001'),
    ('\x4317c551dfc5c002', '\x4317c551ba850001', '\x400000002540c001'),
    ('\xe317c551dfc5c002', '\xe317c551ba850001', '\xe00000002540c001'),
    ('\x6317c551d8524009', '\x6317c551dfc5c002', '\x7ffffffff88c8007'),
    ('\x6317c551dfc5c002', '\x6317c551dfc5c002', '\x6000000000000000'),
    ('\x6317c551dfc5c002', '\x6000000000000000', '\x6317c551dfc5c002'),
    ('\x940cfaee569d7d01', '\x940c928b39789428', '\x800068631d24e8d9'),
    ('\x2de0370ad6b1ef0e', '\x2ddfc82907cb9e5e', '\x20006ee1cee650b0')
) AS library (a, b, diff);
\echo -- A smaller sequence borrows a tick, and a smaller moment goes round.
SELECT label, decoded.*
FROM (VALUES
    (1, 'next tick, same sequence', guid_local_encode('1970-01-01 00:00:00.032768+00', 5),
        guid_local_encode('1970-01-01 00:00:00.016384+00', 5, '1 day')),
    (2, 'same tick, next sequence', guid_local_encode('1970-01-01 00:00:00.016384+00', 6),
        guid_local_encode('1970-01-01 00:00:00.016384+00', 5, '1 day')),
    (3, '125 ticks less one number', guid_local_encode('1970-01-01 00:00:00.032768+00', 4),
        guid_local_encode('1970-01-01 00:00:00.016384+00', 5)),
    (4, 'one number below zero', guid_local_encode('2026-07-01', 4),
        guid_local_encode('2026-07-01', 5)),
    (5, 'less the largest', guid_local_encode('1970-01-01', 0), 'EEEEEEEEEEEEEEEE'),
    (6, 'the largest less nothing', 'EEEEEEEEEEEEEEEE', '................')
) AS pairs (nr, label, a, b), guid_local_decode(guid_diff(a, b)) AS decoded ORDER BY nr;
CREATE FUNCTION pg_temp.moment(id guid_local) RETURNS numeric LANGUAGE sql AS $$
    SELECT (('x' || encode(id::bytea, 'hex'))::bit(64) & x'1fffffffffffffff')::bigint::numeric
$$;
\echo '-- As numbers of 61 bits: a - b, and a - b and b - a are opposites.'
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE pg_temp.moment(guid_diff(a.id,
           b.id)) <> mod(pg_temp.moment(a.id) - pg_temp.moment(b.id) + 2::numeric ^ 61,
           2::numeric ^ 61)) AS different,
       count(*) FILTER (WHERE mod(pg_temp.moment(guid_diff(a.id,
           b.id)) + pg_temp.moment(guid_diff(b.id, a.id)), 2::numeric ^ 61) <> 0) AS no_opposites,
       count(*) FILTER (WHERE get_byte(guid_diff(a.id, b.id)::bytea,
           0) >> 5 <> get_byte(a.id::bytea, 0) >> 5) AS of_another_drift
FROM ids AS a, ids AS b;
SELECT * FROM pg_temp.results(
    $$guid_diff(NULL::guid_local, '................'),
        guid_diff('................'::guid_local, NULL)$$);

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, guid_local_min(time), guid_local_max(time), guid_local_min(time, '1 day') AS min_7,
    guid_local_max(time, '1 day') AS max_7
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
SELECT times, guid_local_range_min(times), guid_local_range_max(times) FROM range ORDER BY nr;
SELECT times, guid_local_range_min(times, '68 s', true), guid_local_range_max(times, '68 s', true)
    FROM range ORDER BY nr;
\echo '-- By the drift''s code, as by the drift.'
SELECT count(*) AS ranges, bool_and(guid_local_code_min(times, code) = guid_local_range_min(times,
    drift)) AS min,
       bool_and(guid_local_code_max(times, code) = guid_local_range_max(times, drift)) AS max
FROM range, drift;
SELECT code, guid_local_code_min('(,)', code), guid_local_code_max('(,)', code),
       guid_local_code_min('[2026-07-01 12:34:56.123445+00,)', code) AS from_2026
FROM generate_series(0, 7) AS code;
\echo -- Another number is the nearest code.
SELECT guid_local_code_min('(,)', 2147483647) = guid_local_code_min('(,)', 7) AS above,
       guid_local_code_max('(,)', -2147483648) = guid_local_code_max('(,)', 0) AS below;

SELECT guid_local_timestamp(NULL), guid_local_timestamp('................', NULL),
    guid_local_decode(NULL),
       guid_local_decode('................', NULL), guid_local_encode(NULL, 0),
           guid_local_encode('2020-01-01', NULL),
       guid_local_encode('2020-01-01', 0, NULL), guid_local_encode('2020-01-01', 0, '1 s', NULL);
SELECT guid_local_at(NULL, 0), guid_local_at('2020-01-01', NULL),
    guid_local_at('2020-01-01', 0, NULL), guid_local_min(NULL), guid_local_max(NULL),
       guid_local_min('2020-01-01', NULL), guid_local_max('2020-01-01', NULL);
SELECT guid_local_range_min(NULL), guid_local_range_max(NULL), guid_local_range_min('(,)', NULL),
    guid_local_range_max('(,)', NULL),
       guid_local_range_min('(,)', '1 s', NULL), guid_local_code_min(NULL, 1),
           guid_local_code_max('(,)', NULL);
