-- The types guid and guid_local, which is a guid without its node: text, drift, the inverse clock,
-- distance, bounds of a time. What other types have too is in every_type.sql. Statements are run
-- for both types, and where they agree their rows are one.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\set kinds :folder '/include/kinds.sql'
\i :kinds
\echo '-- What the guid library gives: an ID of a time that it was given, and the time that is'
\echo -- in it. A drift is given in whole seconds.
CREATE TEMP TABLE vector (
    text text, bytes bytea, base62 text, given timestamptz, made timestamptz, node bigint,
    sequence integer, drift interval
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
        '4398 s'),
    ('5...........3...', '\x6000000000004000', '8F0M5kuYvLM', NULL, '1970-01-01 00:00:00.000131+00',
        NULL, 0, '274 s'),
    ('5206B440CEB4B..0', '\x6317c551dfc5c001', '8VT4bVGfrjl', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', NULL, 1, '274 s'),
    ('5206B440CEB4CEEE', '\x6317c551dfc5dfff', '8VT4bVGftrr', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', NULL, 8191, '274 s'),
    ('3206B440CEB4B..0', '\x4317c551dfc5c001', '5l8HuFd9a2j', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', NULL, 1, '137 s'),
    ('9206B440CEB4B..0', '\xa317c551dfc5c001', 'E08e00XiR7p', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', NULL, 1, '1099 s'),
    ('B206B440CEB4B..0', '\xc317c551dfc5c001', 'GkTQhGBEior', '2026-07-01 12:34:56.123456+00',
        '2026-07-01 12:34:56.123445+00', NULL, 1, '2199 s'),
    ('D19C120783D0E38D', '\xe2ad231894e1f49e', 'JSakOdFEKVi', '2018-11-21 09:13:00.246566+00',
        '2018-11-21 09:13:00.246474+00', NULL, 13470, '4398 s'),
    ('D...............', '\xe000000000000000', 'JELUslSdzrE', '1970-01-01 00:00:00+00',
        '1970-01-01 00:00:00+00', NULL, 0, '4398 s'),
    ('6...............', '\x7000000000000000', '9cAkRNjJzvc', NULL, '2262-04-11 23:47:16.854775+00',
        NULL, 0, '274 s'),
    ('2EEEEEEEEEEEEEEE', '\x3fffffffffffffff', '5UfZOVH2ZO3', '2554-07-21 23:34:33.709551+00',
        '2554-07-21 23:34:33.70942+00', NULL, 16383, '68 s'),
    ('EEEEEEEEEEEEEEEE', '\xffffffffffffffff', 'LygHa16AHYF', '2554-07-21 23:34:33.709551+00',
        '2554-07-21 23:34:33.70942+00', NULL, 16383, '4398 s');
CREATE TEMP TABLE ids AS SELECT text::guid AS id, text FROM vector WHERE node IS NOT NULL;
SELECT * FROM pg_temp.rows($$
    SELECT count(*) AS vectors,
        count(*) FILTER (WHERE (id::text, id::bytea, <name>_to_text(id),
            <name>_to_text(id, 'base64'), <name>_to_text(id, 'base62'))
            IS DISTINCT FROM (text, bytes, text, text, base62)) AS written_otherwise,
        count(*) FILTER (WHERE (bytes::<type>, <name>_from_text(text),
            <name>_from_text(base62, 'base62')) IS DISTINCT FROM (id, id, id)) AS read_otherwise,
        count(*) FILTER (WHERE (<name>_timestamp(id), decoded.created_at, [guid: decoded.node,]
            decoded.sequence, decoded.drift) IS DISTINCT FROM (made, made, [guid: vector.node,]
            vector.sequence, vector.drift)) AS decoded_otherwise,
        count(*) FILTER (WHERE <name>_encode(given, [guid: vector.node,] vector.sequence,
            vector.drift) <> id) AS encoded_otherwise
    FROM vector, LATERAL (SELECT text::<type>) AS ids (id), <name>_decode(id) AS decoded
    WHERE (vector.node IS NULL) = ('<name>' = 'guid_local')
$$, 'guid');
\echo -- In a guid upper case is another value.
SELECT guid 'NIITRFL2BAVI1B.0' = 'NiiTRfl2BaVI1B.0' AS same;
SELECT guid_from_text('doY2jz40AlDrdIMj', 'base64') = guid 'doY2jz40AlDrdIMj' AS as_it_is;
SELECT * FROM pg_temp.results(
    $$guid_from_text('00doY2jz40AlDrdIMj', 'base62'), guid_from_text('0', 'base62')$$,
    $$guid_local_from_text('008VT4bVGfrjl', 'base62'), guid_local_from_text('0', 'base62')$$);

\echo -- the node -------------------------------------------------------------------------------
SELECT node, guid_global('5206B440CEB4B..0', node),
    guid_local(guid_global('5206B440CEB4B..0', node)) AS back,
       (guid_decode(guid_global('5206B440CEB4B..0', node))).node = node AS as_given
FROM unnest('{0,1,65535,65536,2147483647,2147483648,4294967295}'::bigint[]) AS node;
\echo -- Without its node a guid is a guid_local, and with it a guid again.
CREATE TEMP TABLE drift (code integer, drift interval);
INSERT INTO drift VALUES
    (1, '68 s'), (2, '137 s'), (3, '274 s'), (4, '549 s'), (5, '1099 s'), (6, '2199 s'),
    (7, '1 day');
SELECT count(*) AS ids,
    count(*) FILTER (WHERE (guid_local(id), guid_global(local_id, decoded.node))
        IS DISTINCT FROM (local_id, id)) AS otherwise,
    count(*) FILTER (WHERE (decoded.created_at, decoded.sequence, decoded.drift)
        IS DISTINCT FROM (local.created_at, local.sequence, local.drift)) AS decoded_otherwise
FROM ids, LATERAL (SELECT id::guid_local) AS locals (local_id), guid_decode(id) AS decoded,
    guid_local_decode(local_id) AS local;
SELECT count(*) AS ids,
    count(*) FILTER (WHERE guid_local_encode(t, s, drift, inverse)
        <> guid_encode(t, n, s, drift, inverse)::guid_local) AS encoded_otherwise,
    count(*) FILTER (WHERE guid_local_at(t, s, drift, inverse)
        <> guid_at(t, s, drift, inverse)::guid_local) AS at_otherwise
FROM unnest(ARRAY['1970-01-01', '2026-07-01 12:34:56.123456', '2554-07-21 23:34:33.70942'])
        AS times (time), LATERAL (SELECT time::timestamptz) AS t (t),
    unnest('{0,8191,8192,16383}'::int[]) AS s, unnest('{0,2147483648,4294967295}'::bigint[]) AS n,
    drift, unnest('{false,true}'::boolean[]) AS inverse;

\echo -- making ---------------------------------------------------------------------------------
\echo '-- One session''s rise in time and sequence; drift stands above them.'
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_made AS SELECT nr, code, <name>_next(drifts[code]) AS id
    FROM generate_series(1, 100000) AS nr, LATERAL (SELECT nr % 7 + 1) AS codes (code),
        (SELECT array_agg(drift ORDER BY code) FROM drift) AS drift (drifts);
    SELECT count(*), count(DISTINCT id) AS distinct_ids,
        [guid: count(DISTINCT node) AS nodes,]
        bool_and(get_byte(id::bytea, 0) >> 5 = code) AS drift_as_asked,
        bool_and(sequence BETWEEN 0 AND 16383) AS within,
        count(*) FILTER (WHERE this <= previous) AS not_rising
    FROM (SELECT *, lag(this) OVER (PARTITION BY code ORDER BY nr) AS previous
          FROM <name>_made, <name>_decode(id),
            LATERAL (SELECT id[guid: ::guid_local]) AS local (this)) AS made
$$, 'guid');
SELECT * FROM pg_temp.rows($$
    SELECT count(*) FILTER (WHERE (<name>_decode(<next>)).drift <> interval '274 s')
        AS of_other_drift FROM generate_series(1, 1000)
$$, 'guid');
\echo '-- The inverse clock counts down: the newest sorts first.'
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_down AS
    SELECT nr, <name>_next('1 day', true) AS id FROM generate_series(1, 20000) AS nr;
    SELECT pg_temp.not_of_now('<name>_timestamp(<name>_next(inverse => true), true)', '133 us')
            AS not_of_now,
        count(DISTINCT id) AS distinct_ids,
        bool_and(<name>_timestamp(id, inverse => true) BETWEEN now() - interval '1 minute'
            AND clock_timestamp()) AS of_now,
        bool_and(<name>_timestamp(id) > now() + interval '400 years') AS otherwise_far_off,
        count(*) FILTER (WHERE this >= previous) AS not_falling,
        (SELECT count(*) FROM <name>_down JOIN <name>_made USING (id)) AS both
    FROM (SELECT id, this, lag(this) OVER (ORDER BY nr) AS previous
          FROM <name>_down, LATERAL (SELECT id[guid: ::guid_local]) AS local (this)) AS made
$$, 'guid');
SELECT * FROM pg_temp.rows($$
    SELECT drift, inverse, count(*), count(DISTINCT batch.id) AS distinct_ids,
        bool_and((<name>_decode(batch.id)).drift = interval '1 s' * seconds) AS drift_as_asked,
        count(*) FILTER (WHERE CASE WHEN inverse THEN this >= previous ELSE this <= previous END)
            AS out_of_order, count(made.nr) AS both
    FROM (SELECT drift, seconds, inverse, id, this,
            lag(this) OVER (PARTITION BY inverse ORDER BY nr) AS previous
          FROM (VALUES (interval '1 day', 4398, false), ('274 s', 274, true))
                AS batches (drift, seconds, inverse),
            <name>_next_batch(10000, drift, inverse) WITH ORDINALITY AS batch (id, nr),
            LATERAL (SELECT id[guid: ::guid_local]) AS local (this)) AS batch
        LEFT JOIN (SELECT id[guid: ::guid_local], nr FROM <name>_made) AS made ON made.id = this
    GROUP BY drift, inverse ORDER BY inverse
$$, 'guid');
\echo '-- Both types'' come from one source: none is another''s without the node.'
SELECT count(*) AS both FROM guid_made JOIN guid_local_made
    ON guid_made.id::guid_local = guid_local_made.id;
SELECT * FROM pg_temp.rows($$
    SELECT min((<name>_decode(id)).drift) AS default_drift FROM <name>_next_batch(1) AS id
$$, 'guid');

\echo -- The drift is the least that covers what was asked for, and the largest for more. A
\echo -- month has 30 days.
SELECT * FROM pg_temp.rows($$
    SELECT code, array_agg(asked ORDER BY nr) AS asked
    FROM unnest(ARRAY[
        '-1 s', '-178956970 years -8 mons', '0', '30 s', '68 s', '68.000001 s', '137 s',
        '137.000001 s', '274 s', '274.000001 s', '549 s', '549.000001 s', '18 min 19 s',
        '1099.000001 s', '36 min 39 s', '2199.000001 s', '4398 s', '4399 s', '1 day',
        '-1 day 25 hours', '1 mon', '1 mon -29 days -23:59:00', '-1 mon 31 days',
        '178956970 years 7 mons 2147483647 days'
    ]) WITH ORDINALITY AS asked (asked, nr),
        LATERAL (SELECT get_byte(<name>_next(asked::interval)::bytea, 0) >> 5) AS codes (code)
    GROUP BY code ORDER BY code
$$, 'guid');

\echo '-- Each ID''s drift can be asked for, that of code 0 too, which nothing makes unless it is'
\echo -- asked for by exactly 34 seconds.
SELECT * FROM pg_temp.rows($$
    SELECT code, extract(epoch FROM d.drift)::integer AS seconds,
        <name>_encode(d.created_at, [guid: d.node,] d.sequence, d.drift) = id AS same,
        <name>_within(id, tstzrange(d.created_at, d.created_at, '[]'), d.drift) AS within,
        id BETWEEN <name>_min(d.created_at, d.drift) AND <name>_max(d.created_at, d.drift)
            AS between,
        <name>_within(id, '(,)', '274 seconds') AS of_274_seconds
    FROM generate_series(0, 7) AS code,
        (SELECT <name>_encode('2024-06-15 12:34:56.788+00', [guid: 42,] 1)::bytea) AS one (bytes),
        LATERAL (SELECT set_byte(bytes, 0, (get_byte(bytes, 0) & 31) | (code << 5))::<type>)
            AS ids (id), <name>_decode(id) AS d ORDER BY code
$$, 'guid');
SELECT * FROM pg_temp.rows($$
    SELECT asked, get_byte(<name>_min('2024-06-15', asked)::bytea, 0) >> 5 AS code
    FROM unnest('{33.999999 s,34 s,34.000001 s}'::interval[]) AS asked
$$, 'guid');

\echo -- putting together -----------------------------------------------------------------------
\echo -- A time is cut to its tick of 131.072 us.
SELECT * FROM pg_temp.rows($$
    SELECT <name>_encode('2024-06-15 12:34:56.788+00', [guid: 42,] 1) AS at,
        <name>_encode('2024-06-15 12:34:56.788001+00', [guid: 42,] 1) AS cut,
        <name>_encode('2024-06-15 12:34:56.788131+00', [guid: 42,] 1) AS next
$$, 'guid');
\echo -- What an ID says is what it is made of.
SELECT * FROM pg_temp.rows($$
    SELECT inverse, count(*) AS ids, count(*) FILTER (WHERE
        <name>_encode(created_at, [guid: node,] sequence, drift, inverse) IS DISTINCT FROM id)
        AS otherwise
    FROM unnest('{false,true}'::boolean[]) AS inverse,
        <name>_next_batch(5000, inverse => inverse) AS id, <name>_decode(id, inverse)
    GROUP BY inverse ORDER BY inverse
$$, 'guid');
SELECT * FROM pg_temp.rows($$
    SELECT count(*) AS ids, count(*) FILTER (WHERE id >= <name>_timestamp(id)
        AND id <= <name>_timestamp(id) AND id = <name>_timestamp(id)) AS same
    FROM <name>_next_batch(5000) AS id
$$, 'guid');
\echo -- 2^14 us are a whole number of ticks.
SELECT count(*) AS ids, count(*) FILTER (
    WHERE (d.created_at, d.node, d.sequence) IS DISTINCT FROM (t, n, s)
        OR get_byte(id::bytea, 0) >> 5 <> code
        OR guid_encode(d.created_at, d.node, d.sequence, d.drift, inverse) <> id
) AS different
FROM unnest('{0,1,100000000000,109951162777,562949953421,1125899906842}'::bigint[]) AS k,
    LATERAL (SELECT timestamptz '1970-01-01 00:00:00+00' + k * interval '16.384 ms') AS times (t),
    unnest('{0,1,65535,65536,2147483648,4294967295}'::bigint[]) AS n,
    unnest('{0,1,255,256,8191,8192,16383}'::int[]) AS s, drift,
    unnest('{false,true}'::boolean[]) AS inverse,
    LATERAL (SELECT guid_encode(t, n, s, drift, inverse)) AS encoded (id),
    guid_decode(id, inverse) AS d;
\echo '-- What the library''s inverse clock gives.'
CREATE TEMP TABLE inverse (text text, given timestamptz, made timestamptz, node bigint,
    sequence integer, drift interval);
INSERT INTO inverse VALUES
    ('EDVufWFL50cVDYzy', '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00',
        168496141, 16382, '68 s'),
    ('UDVue40NN5sVDYzy', '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00',
        168496141, 16382, '274 s'),
    ('b6XwT8YT0NBx4w0B', '2034-06-15 07:30:06.513552+00', '2034-06-15 07:30:06.513512+00',
        2307776600, 76, '549 s'),
    ('Szzzy40NN5zzzzzy', '2116-02-20 23:53:38.4274+00', '2116-02-20 23:53:38.427387+00',
        168496141, 16382, '274 s'),
    ('B....0FL50c..2zy', '2262-04-11 23:47:16.854774+00', '2262-04-11 23:47:16.854644+00',
        168496141, 16382, '68 s'),
    ('2BD7299D1.292EED', '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00',
        NULL, 16382, '68 s'),
    ('6BD7299D1.292EED', '2026-07-01 12:34:56.123456+00', '2026-07-01 12:34:56.123445+00',
        NULL, 16382, '274 s'),
    ('6B67AB622C06C80E', '2034-06-15 07:30:06.513552+00', '2034-06-15 07:30:06.513512+00',
        NULL, 6431, '274 s'),
    ('66EEEEEEEEEEEEED', '2116-02-20 23:53:38.4274+00', '2116-02-20 23:53:38.427387+00',
        NULL, 16382, '274 s'),
    ('2...........2EED', '2262-04-11 23:47:16.854774+00', '2262-04-11 23:47:16.854644+00',
        NULL, 16382, '68 s');
SELECT * FROM pg_temp.rows($$
    SELECT count(*) AS vectors,
        count(*) FILTER (WHERE <name>_encode(given, [guid: vector.node,] vector.sequence,
            vector.drift, true)::text IS DISTINCT FROM text) AS encoded_otherwise,
        count(*) FILTER (WHERE (decoded.created_at, [guid: decoded.node,] decoded.sequence,
            decoded.drift) IS DISTINCT FROM (made, [guid: vector.node,] vector.sequence,
            vector.drift)) AS decoded_otherwise
    FROM inverse AS vector, <name>_decode(text::<type>, true) AS decoded
    WHERE (vector.node IS NULL) = ('<name>' = 'guid_local')
$$, 'guid');

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
\echo -- A guid_local of a given time is that of a guid without its node, for each number.
SELECT count(*) AS numbers, count(*) FILTER (WHERE
    (guid_local_at('2020-02-02', number), guid_local_at('2020-02-02', number, inverse => true))
    IS DISTINCT FROM (guid_at('2020-02-02', number)::guid_local,
        guid_at('2020-02-02', number, inverse => true)::guid_local)) AS different
FROM (SELECT generate_series(0::bigint, 16385)
      UNION ALL SELECT 9223372036854775807) AS numbers (number);
\echo -- distance -------------------------------------------------------------------------------
\echo '-- What the library gives, where it borrows nothing: time and sequence of the difference,'
\echo -- drift and node of the first.
SELECT count(*) AS pairs, count(*) FILTER (WHERE diff::bytea IS DISTINCT FROM CASE length(a)
        WHEN 26 THEN guid_diff(a::bytea::guid, b::bytea::guid)::bytea
        ELSE guid_diff(a::bytea::guid_local, b::bytea::guid_local)::bytea END) AS different
FROM (VALUES
    ('\x2317c551557799bbdfc5c002', '\x2317c551557799bbba850001', '\x20000001557799ba2540c001'),
    ('\xc317c56aaef33751dfc5c002', '\xc317c56aaef33751ba850001', '\xc000002aaef337402540c001'),
    ('\x6317c55555de66e9dfc5c002', '\x6317c55555de66e9dfc5c002', '\x6000000555de66e800000000'),
    ('\x6317c55555de66e9dfc5c002', '\x600000000000000000000000', '\x6317c55555de66e9dfc5c002'),
    ('\x6317c55089119a21d8524009', '\x6317c55555de66e9dfc5c002', '\x7ffffff889119a27f88c8007'),
    ('\xe317c500000000d1dfc5c005', '\x2317c55000000005d8524003', '\xe00000000000008007738002'),
    ('\xe47846c0c0b4ca090fb7658d', '\xe477eb40c0b4ca179c474133', '\xe0005b40c0b4ca717370245a'),
    ('\x62655525e1e40f5d2f7c7843', '\x6264eed5e1e40f5d393a8e90', '\x6000664de1e40f5ff641e9b3'),
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
           AS of_another_drift_or_node,
       count(*) FILTER (WHERE guid_diff(a.id::guid_local, b.id::guid_local)
           <> guid_diff(a.id, b.id)::guid_local) AS otherwise_without_the_node
FROM ids AS a, ids AS b;

\echo -- bounds of a time -----------------------------------------------------------------------
CREATE TEMP TABLE moment AS
SELECT time FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '1969-12-31 23:59:59.999999+00',
    '1970-01-01 00:00:00+00', '1970-01-01 00:00:00.000001+00', '1970-01-01 00:00:00.00013+00',
    '1970-01-01 00:00:00.000131+00', '1970-01-01 00:00:00.000132+00',
    '2026-07-01 12:34:56.123445+00', '2026-07-01 12:34:56.123446+00',
    '2026-07-01 12:34:56.123576+00',
    '2554-07-21 23:34:33.709419+00', '2554-07-21 23:34:33.70942+00',
    '2554-07-21 23:34:33.709421+00',
    '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;
SELECT time, guid_min(time), guid_max(time), guid_min(time, '1 day') AS min_7,
    guid_max(time, '1 day') AS max_7 FROM moment;

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
\echo '-- Those of a guid_local are a guid''s without the node.'
SELECT count(*) AS times, count(*) FILTER (WHERE
    (guid_local_min(time, drift), guid_local_max(time, drift))
    IS DISTINCT FROM (guid_min(time, drift)::guid_local, guid_max(time, drift)::guid_local))
    AS otherwise
FROM moment, drift;
SELECT count(*) AS ranges,
    count(*) FILTER (WHERE (guid_local_range_min(times, drift, inverse),
            guid_local_range_max(times, drift, inverse))
        IS DISTINCT FROM (guid_range_min(times, drift, inverse)::guid_local,
            guid_range_max(times, drift, inverse)::guid_local)) AS otherwise
FROM range, drift, unnest('{false,true}'::boolean[]) AS inverse;
SELECT count(*) AS ranges,
    count(*) FILTER (WHERE (guid_local_code_min(times, code), guid_local_code_max(times, code))
        IS DISTINCT FROM (guid_code_min(times, code)::guid_local,
            guid_code_max(times, code)::guid_local)) AS otherwise
FROM range, unnest('{-2147483648,0,1,2,3,4,5,6,7,2147483647}'::int[]) AS code;
DROP TABLE guid_made, guid_local_made, guid_down, guid_local_down;
