-- flake kept as bigint: its fields, epochs, bounds of a time, text. What other types have too is in
-- every_type.sql.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
SELECT count(*), min(id) > 0 AS positive,
    bool_and(datacenter = 0 AND worker BETWEEN 0 AND 7 AND counter BETWEEN 0 AND 4095) AS of_server
FROM flake_next_batch(100000) AS id, flake_decode(id);

\echo -- taking apart, putting together ---------------------------------------------------------
\echo -- What go-flakeid gives, and the examples of its README. IDs from 2^63 on are negative
\echo -- as bigint; all 64 bits are read without sign.
CREATE TEMP TABLE vector (
    id bigint, hex text, base64 text, made timestamptz, epoch timestamptz,
    datacenter integer, worker integer, counter integer
);
INSERT INTO vector VALUES
    (157768171514757120, '02308150ec000000', 'AAAA7FCBMAI=', '1971-03-12 08:34:23.280+00',
        '1970-01-01 00:00:00+00', 0, 0, 0),
    (157768171518951426, '02308150ec400002', 'AgBA7FCBMAI=', '1971-03-12 08:34:23.281+00',
        '1970-01-01 00:00:00+00', 0, 0, 2),
    (157770026425126912, '02308300cd461000', 'ABBGzQCDMAI=', '1971-03-12 08:41:45.525+00',
        '1970-01-01 00:00:00+00', 3, 1, 0),
    (5828128208445124609, '50e1abba11ce3001', 'ATDOEbqr4VA=', '2014-01-12 13:40:46.279+00',
        '1970-01-01 00:00:00+00', 7, 3, 1),
    (6448833377654013952, '597edbca22c00000', 'AADAIsrbflk=', '2018-09-21 09:21:30.763+00',
        '1970-01-01 00:00:00+00', 0, 0, 0),
    (95449317954813952, '01531aa622c00000', 'AADAIqYaUwE=', '2018-09-21 09:21:30.763+00',
        '2018-01-01 00:00:00+00', 0, 0, 0),
    (6448830824900882437, '597ed977c6ce7005', 'BXDOxnfZflk=', '2018-09-21 09:11:22.139+00',
        '1970-01-01 00:00:00+00', 7, 7, 5),
    (2478141286326992896, '2264205ec2c00000', 'AADAwl4gZCI=', '2018-09-21 08:48:44.299+00',
        '2000-01-01 00:00:00+00', 0, 0, 0),
    (3507379751780851717, '30acb74d254ba005', 'BaBLJU23rDA=', '2026-07-01 12:34:56.789+00',
        '2000-01-01 00:00:00+00', 5, 26, 5),
    (4190209, '00000000003ff001', 'AfA/AAAAAAA=', '2026-07-01 12:34:56.789+00',
        '2026-07-01 12:34:56.789+00', 31, 31, 1),
    (1, '0000000000000001', 'AQAAAAAAAAA=', '2026-07-01 12:34:56.789+00',
        '2026-07-01 12:34:56.789+00', 0, 0, 1),
    (9223372036850581504, '7fffffffffc00000', 'AADA/////38=', '2039-09-07 15:47:35.551+00',
        '1970-01-01 00:00:00+00', 0, 0, 0),
    (-9223372036854775808, '8000000000000000', 'AAAAAAAAAIA=', '2039-09-07 15:47:35.552+00',
        '1970-01-01 00:00:00+00', 0, 0, 0),
    (-9223372036853377707, '8000000000155555', 'VVUVAAAAAIA=', '2069-09-06 15:47:35.552+00',
        '2000-01-01 00:00:00+00', 10, 21, 1365),
    (-8012613489726149831, '90cd7a7bd65eab39', 'Oate1nt6zZA=', '2048-10-30 17:09:47.993+00',
        '1970-01-01 00:00:00+00', 15, 10, 2873),
    (-1, 'ffffffffffffffff', '//////////8=', '2109-05-15 07:35:11.103+00', '1970-01-01 00:00:00+00',
        31, 31, 4095);

SELECT count(*) AS vectors,
    count(*) FILTER (WHERE (decoded.*) IS DISTINCT FROM (made, vector.datacenter, vector.worker,
        vector.counter, vector.datacenter * 32 + vector.worker)) AS decoded_otherwise,
    count(*) FILTER (WHERE flake_timestamp(id, epoch) IS DISTINCT FROM made) AS of_another_time,
    count(*) FILTER (WHERE id >= 0 AND id IS DISTINCT FROM flake_encode(made, vector.datacenter,
        vector.worker, vector.counter, epoch)) AS encoded_otherwise
FROM vector, flake_decode(id, epoch) AS decoded;
\echo '-- The time of a negative one is refused: it would sort before all others.'
SELECT flake_encode('2039-09-07 15:47:35.551999+00', 31, 31, 4095, 'epoch') AS last;
SELECT * FROM pg_temp.refused(
    $$flake_encode('2039-09-07 15:47:35.552+00', 0, 0, 0, 'epoch')$$,
    $$flake_encode('2050-01-01', 0, 0, 0, 'epoch')$$,
    $$flake_encode('2069-09-06 15:47:35.552+00', 10, 21, 1365, '2000-01-01 00:00:00+00')$$,
    $$flake_at('2080-01-01')$$,
    $$flake_at('2050-01-01', 0, 'epoch')$$);
SELECT flake_timestamp(flake_at('2050-01-01 00:00:00+00', 0, '2000-01-01'), '2000-01-01')
    AS of_a_later_epoch;
\echo -- None of the comparisons with a time is true of one.
SELECT id, flake_timestamp(id) AS made, flake_before(id, '2030-01-01') AS before,
    flake_before(id, '2030-01-01', 'epoch') AS before_epoch,
       flake_before(id, 'infinity') AS ever, flake_within(id, '(,2030-01-01)') AS within,
           flake_within(id, '(,)', 'epoch') AS within_all,
       flake_between(id, '-infinity', '2030-01-01') AS between,
           flake_after(id, '2030-01-01') AS after
FROM vector WHERE id < 0 AND epoch = 'epoch' ORDER BY id;

\echo '-- Without an epoch it is flakeid.epoch, here 2010: the IDs of 1970 are 40 years later.'
SHOW flakeid.epoch;
SELECT count(*) AS of_1970,
       bool_and(flake_timestamp(id) = later
           AND CASE WHEN id >= 0 THEN flake_encode(later, datacenter, worker, counter) = id
           ELSE true END
           AND (flake_decode(id)).created_at = later
           AND ROW(flake_decode(id)) = ROW(flake_decode(id, '2010-01-01 00:00+00'))) AS same
FROM vector, LATERAL (SELECT made + (timestamptz '2010-01-01 00:00+00' - timestamptz 'epoch')
    AS later) AS of_2010
WHERE epoch = 'epoch';

\echo -- A time is cut to its millisecond.
SELECT flake_encode('2058-09-21 09:11:22.139999+00', 7, 7, 5) = 6448830824900882437 AS cut,
       flake_encode('2058-09-21 09:11:22.14+00', 7, 7, 5) - 6448830824900882437 AS next_millisecond;
SELECT flake_timestamp(flake_encode('2010-01-01 00:00+00', 0, 0, 0)) AS first,
       flake_timestamp(flake_encode('2079-09-07 15:47:35.551999+00', 31, 31, 4095)) AS last;

\echo -- Every field back and forth.
SELECT count(*) AS different
FROM generate_series(0, 31) AS d, generate_series(0, 31) AS w,
    unnest('{0,1,2047,2048,4095}'::int[]) AS c,
     flake_decode(flake_encode('2026-07-01 12:34:56.789+00', d, w, c)) AS decoded
WHERE (decoded.*) IS DISTINCT FROM ('2026-07-01 12:34:56.789+00'::timestamptz, d, w, c, d * 32 + w);

SELECT flake_timestamp(-1, '2109-05-15 07:35:11.103+00') AS last_of_the_latest_epoch;
\echo -- To read an ID, and for the bounds of a time, the epoch can be any time.
SELECT epoch, flake_timestamp(4194304, epoch),
    (flake_decode(4194304, epoch)).created_at = flake_timestamp(4194304, epoch) AS decoded,
       flake_min('2018-01-01', epoch), flake_max('2018-01-01', epoch),
           flake_range_min('(,2018-01-01]', epoch),
       flake_range_max('(,2018-01-01]', epoch)
FROM unnest('{-infinity,4714-11-24 00:00+00 BC,1900-01-01 00:00:00.0019+00,
1969-12-31 23:59:59.999+00,2109-05-15 07:35:11.104+00,
294247-01-10 04:00:54.774+00,294247-01-10 04:00:54.775+00,294247-01-10 04:00:54.775806+00,
294276-12-31 23:59:59.999999+00,
infinity}'::timestamptz[]) AS epoch;

\echo -- for a given time -----------------------------------------------------------------------
\echo -- The counter runs first, then the generator IDs of this server (0 to 7), then it begins
\echo -- again.
SELECT number, decoded.*
FROM unnest('{0,1,4095,4096,8191,32767,32768,9223372036854775807}'::bigint[]) AS number,
     flake_decode(flake_at('2020-02-02 02:02:02.002+00', number)) AS decoded;
SELECT count(*), count(DISTINCT flake_at('2020-02-02', number)) AS distinct_ids
FROM generate_series(0, 32767) AS number;
SELECT count(*) AS not_rising
FROM generate_series(1, 32767) AS number
WHERE flake_at('2020-02-02', number) <= flake_at('2020-02-02', number - 1);
SELECT flake_at('2020-02-02') = flake_at('2020-02-02', 0) AS from_zero,
       flake_at('2020-02-02', 5, '2010-01-01 00:00+00') = flake_at('2020-02-02', 5) AS same_epoch,
       flake_timestamp(flake_at('2020-02-02', 5, '2020-01-01'), '2020-01-01') AS other_epoch;

\echo -- bounds of a time -----------------------------------------------------------------------
SELECT time, flake_min(time), flake_max(time)
FROM unnest(ARRAY[
    '-infinity', '4714-11-24 00:00:00+00 BC', '2009-12-31 23:59:59.999999+00',
    '2010-01-01 00:00:00+00', '2010-01-01 00:00:00.000001+00', '2010-01-01 00:00:00.001+00',
    '2058-09-21 09:11:22.139+00', '2058-09-21 09:11:22.139001+00', '2058-09-21 09:11:22.139999+00',
    '2079-09-07 15:47:35.550001+00', '2079-09-07 15:47:35.551+00', '2079-09-07 15:47:35.551001+00',
    '2149-05-15 07:35:11.103+00', '294276-12-31 23:59:59.999999+00', 'infinity'
]::timestamptz[]) AS time;

SELECT flake_min('2018-01-01', '2018-01-01') AS first,
    flake_max('2018-01-01', '2018-01-01') AS its_last,
       flake_max('2017-12-31', '2018-01-01') AS before,
           flake_min('infinity', '2018-01-01') AS after,
       flake_timestamp(flake_min('infinity', '2018-01-01'), '2018-01-01') AS last;
\echo '-- Beyond the format''s ends the bound is the first or last ID itself, so it is of these'
\echo -- two that a bound says too much; a range says what is so.
SELECT 0 <= flake_max('2009-12-31') AS first_before,
    flake_within(0, '(,2009-12-31]') AS first_within,
       9223372036854775807 >= flake_min('infinity') AS last_after,
       flake_within(9223372036854775807, '[infinity,)') AS last_within;

\echo '-- Exact at every microsecond around a millisecond''s edge: a bound says of each ID around'
\echo -- it what its timestamp says.
SELECT count(*) AS cases,
       count(*) FILTER (WHERE (id >= flake_min(t)) <> (flake_timestamp(id) >= t)) AS min_wrong,
       count(*) FILTER (WHERE (id <= flake_max(t)) <> (flake_timestamp(id) <= t)) AS max_wrong,
       count(*) FILTER (WHERE flake_before(id, t) <> (flake_timestamp(id) < t)) AS before_wrong,
       count(*) FILTER (WHERE flake_after(id, t) <> (flake_timestamp(id) > t)) AS after_wrong,
       count(*) FILTER (WHERE flake_between(id, t, t + interval '1 ms')
           <> (flake_timestamp(id) BETWEEN t AND t + interval '1 ms')) AS between_wrong
FROM unnest('{2010-01-01 00:00:00.002+00, 2039-12-31 23:59:59.999+00, 2026-07-01 12:34:56.789+00,
              2079-09-07 15:47:35.550+00}'::timestamptz[]) AS edge,
     generate_series(edge - interval '1002 us', edge + interval '1002 us', interval '1 us') AS t,
     unnest(ARRAY[flake_min(edge) - 4194304, flake_min(edge) - 1, flake_min(edge), flake_max(edge),
                  flake_max(edge) + 1]) AS id;
\echo -- The same with an epoch that is no whole second, and the epoch cut to its millisecond.
SELECT count(*) AS cases,
       count(*) FILTER (WHERE (id >= flake_min(t, e)) <> (flake_timestamp(id, e) >= t))
           AS min_wrong,
       count(*) FILTER (WHERE (id <= flake_max(t, e)) <> (flake_timestamp(id, e) <= t))
           AS max_wrong,
       count(*) FILTER (WHERE flake_before(id, t, e) <> (flake_timestamp(id, e) < t))
           AS before_wrong,
       count(*) FILTER (WHERE flake_after(id, t, e) <> (flake_timestamp(id, e) > t)) AS after_wrong,
       count(*) FILTER (WHERE flake_between(id, t, t + interval '1 ms', e)
           <> (flake_timestamp(id, e) BETWEEN t AND t + interval '1 ms')) AS between_wrong
FROM unnest('{2010-11-04 01:42:54.657+00, 2010-11-04 01:42:54.657999+00}'::timestamptz[]) AS e,
     generate_series('2026-07-01 12:34:56.788+00', '2026-07-01 12:34:56.790+00', interval '1 us')
         AS t,
     unnest(ARRAY[flake_min('2026-07-01 12:34:56.789+00', e) - 1,
         flake_min('2026-07-01 12:34:56.789+00', e),
                  flake_max('2026-07-01 12:34:56.789+00', e),
                      flake_max('2026-07-01 12:34:56.789+00', e) + 1]) AS id;

\echo -- A range of times, with its ends in or out, and the bounds of one that holds no ID.
SELECT times, flake_range_min(times), flake_range_max(times)
FROM unnest(ARRAY[
    '[2058-09-21 09:11:22.139+00,2058-09-21 09:11:22.139+00]',
    '[2058-09-21 09:11:22.139+00,2058-09-21 09:11:22.14+00)',
    '(2058-09-21 09:11:22.138+00,2058-09-21 09:11:22.14+00)', '(,2058-09-21 09:11:22.139+00]',
    '(,2058-09-21 09:11:22.139+00)', '[2058-09-21 09:11:22.139+00,)',
        '(2058-09-21 09:11:22.139+00,)', '(,)',
    '[-infinity,infinity]', '(-infinity,infinity)', 'empty',
    '(2058-09-21 09:11:22.139+00,2058-09-21 09:11:22.14+00)',
    '(,2010-01-01 00:00:00+00)', '(,2010-01-01 00:00:00+00]', '[2079-09-07 15:47:35.551+00,)',
    '(2079-09-07 15:47:35.551+00,)', '[infinity,infinity]', '[-infinity,-infinity]'
]::tstzrange[]) AS times;

SELECT id, flake_within(id, '(,)') AS ever, flake_within(id, 'empty') AS never,
       flake_within(id, '[2079-09-07 15:47:35.552+00,)') AS past_the_end,
           flake_within(id, '(,2010-01-01 00:00:00+00)') AS before_2010
FROM unnest('{0,9223372036854775807}'::bigint[]) AS id;

\echo -- NULL gives what AND makes of it.
SELECT flake_between(NULL, 'epoch', 'epoch') AS id, flake_between(1, NULL, 'infinity') AS lower,
       flake_between(1, 'epoch', NULL) AS upper,
       flake_between(1, '2010-01-01 00:00:00.001+00', NULL) AS before_lower;

\echo -- text -----------------------------------------------------------------------------------
SELECT id, flake_to_text(id, 'decimal') AS decimal, flake_to_text(id, 'base62') AS base62
FROM vector WHERE id IN (3507379751780851717, -1) ORDER BY id;
SELECT id AS otherwise_than_in_go FROM vector
WHERE flake_to_text(id, 'hex') <> ltrim(hex, '0') OR flake_to_text(id, 'base64') <> base64
   OR flake_from_text(hex, 'hex') <> id OR flake_from_text(upper(hex), 'hex') <> id
       OR flake_from_text(base64, 'base64') <> id;
SELECT flake_to_text(0, 'binary'), flake_to_text(5, 'binary'), flake_to_text(-1, 'binary'),
       flake_to_text(0, 'base62'), flake_to_text(61, 'base62'),
       flake_to_text(62, 'base62');
SELECT format, count(*) AS there_and_back
FROM unnest('{decimal,hex,binary,base62,base64}'::text[]) AS format, vector
WHERE flake_from_text(flake_to_text(id, format), format) = id
GROUP BY format ORDER BY format;
SELECT flake_from_text('000000000000000000000007', 'decimal') AS leading_zeros;
