-- These queries have the same results with flakeid and with flakeid_reader: tests/t/data/reader.pl.

SELECT id, d.*, flake_timestamp(id) FROM flakes, flake_decode(id) AS d ORDER BY id;

SELECT id, e, d.*, flake_timestamp(id, e)
    FROM flakes, epochs, flake_decode(id, e) AS d WHERE id % 5 = 0 ORDER BY id, e;

SELECT t, flake_min(t), flake_max(t) FROM times ORDER BY t;

SELECT t, e, flake_min(t, e), flake_max(t, e) FROM times, epochs ORDER BY t, e;

SELECT r, flake_range_min(r), flake_range_max(r) FROM ranges ORDER BY r;

SELECT r, e, flake_range_min(r, e), flake_range_max(r, e) FROM ranges, epochs ORDER BY r, e;

SELECT t, count(*) FILTER (WHERE flake_since(id, t)), count(*) FILTER (WHERE flake_before(id,
    t)), count(*) FILTER (WHERE flake_after(id, t))
    FROM times, flakes WHERE hashtext(t::text) % 10 = 0 GROUP BY t ORDER BY t;

SELECT id, uuidv7_valid(id), uuidv7_timestamp(id), (uuidv7_decode(id)).* FROM uuidv7s ORDER BY id;

SELECT t, uuidv7_min(t), uuidv7_max(t) FROM times ORDER BY t;

SELECT r, uuidv7_range_min(r), uuidv7_range_max(r) FROM ranges ORDER BY r;

SELECT id, sno_timestamp(id), d.*, sno_meta(id) FROM snos, sno_decode(id) AS d ORDER BY id;

SELECT t, sno_min(t), sno_max(t) FROM times ORDER BY t;

SELECT r, sno_range_min(r), sno_range_max(r) FROM ranges ORDER BY r;

SELECT id, uniqueid_timestamp(id), d.*, uniqueid_sequential(id)
    FROM uniqueids, uniqueid_decode(id) AS d ORDER BY id;

SELECT t, uniqueid_min(t), uniqueid_max(t) FROM times ORDER BY t;

SELECT r, uniqueid_range_min(r), uniqueid_range_max(r) FROM ranges ORDER BY r;

SELECT id::uuid, flake128_timestamp(id), d.* FROM flake128s, flake128_decode(id) AS d ORDER BY id;

SELECT t, flake128_min(t)::uuid, flake128_max(t)::uuid FROM times ORDER BY t;

SELECT r, flake128_range_min(r)::uuid, flake128_range_max(r)::uuid FROM ranges ORDER BY r;

SELECT id, i, guid_timestamp(id, i), d.*
    FROM guids, unnest(ARRAY[true,false]) AS i, guid_decode(id, i) AS d ORDER BY id, i;

SELECT t, s, guid_min(t, s * interval '1 s'), guid_max(t, s * interval '1 s')
    FROM times, drifts ORDER BY t, s;

SELECT r, s, i, guid_range_min(r, s * interval '1 s', i), guid_range_max(r,
    s * interval '1 s', i) FROM ranges, drifts, unnest(ARRAY[true,false]) AS i
    WHERE hashtext(r::text) % 3 = 0 ORDER BY r, s, i;

SELECT id, i, guid_local_timestamp(id, i), d.*
    FROM guid_locals, unnest(ARRAY[true,false]) AS i, guid_local_decode(id, i) AS d
    ORDER BY id, i;

SELECT t, s, guid_local_min(t, s * interval '1 s'), guid_local_max(t, s * interval '1 s')
    FROM times, drifts ORDER BY t, s;

SELECT r, i, guid_local_range_min(r, inverse => i), guid_local_range_max(r, inverse => i)
    FROM ranges, unnest(ARRAY[true,false]) AS i ORDER BY r, i;

SELECT flake_timestamp(NULL), flake_min(NULL), flake_range_min(NULL), flake_since(1, NULL),
    flake_before(1, NULL), flake_between(NULL, NULL, '2009-01-01'), flake_between(5,
    '2026-01-01', NULL), flake_within(1, NULL), sno_timestamp(NULL), sno_min(NULL),
    uuidv7_min(NULL), uuidv7_timestamp(NULL), uniqueid_timestamp(NULL), guid_min(NULL),
    guid_timestamp(NULL), flake128_timestamp(NULL), uuidv7_decode(NULL), sno_decode(NULL);

SELECT id, t, flake_since(id, t), flake_before(id, t), flake_after(id, t), flake_between(id,
    t, t + '1 y'), flake_within(id, tstzrange(t, t + '1 y'))
    FROM flakes, times WHERE t BETWEEN '2009-12-01' AND '2079-12-01' AND (hashtext(t::text ||
    id::text) % 400 = 0 OR id IN (0,-1, 9223372036854775807)) ORDER BY 1, 2;

SELECT id, t, uuidv7_since(id, t), uuidv7_before(id, t), uuidv7_after(id, t),
    uuidv7_between(id, t, t + '1 y'), uuidv7_within(id, tstzrange(t, t + '1 y'))
    FROM uuidv7s, times WHERE t < '10900-12-01' AND (hashtext(t::text || id::text) % 400 = 0)
    ORDER BY 1, 2;

SELECT flake128_from_text(id)::uuid FROM unnest(ARRAY['0', '8QkfEMmNRrFJ3f0001', 'a', 'Z',
    '7n42DGM5Tflk9n8mt7Fhc7']) AS id;

SELECT flake128_from_text(id, base)::uuid
FROM (VALUES ('ff', 16), ('FfFfFfFfFfFfFfFfFfFfFfFfFfFfFfFf', 16), ('1011', 2), ('zZ', 36),
    ('aA', 37)) AS of (id, base);

SELECT flake128_from_numeric(id)::uuid
FROM unnest(ARRAY[0, 340282366920938463463374607431768211455, 18446744073709551616]) AS id;
