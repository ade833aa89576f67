-- The type flake: text, JSON, casts, times, and what is refused. ids/flake_conditions.pl compares
-- its columns with those of bigint.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
SET timezone = 'UTC';

\echo -- text -----------------------------------------------------------------------------------
\echo -- A flake is written and read as a bigint is.
SELECT * FROM pg_temp.results(
    $$flake '2237357943253106688', flake '-1', flake ' 42 ', flake '-9223372036854775808',
    flake '9223372036854775807'$$);
SELECT * FROM pg_temp.refused(
    $$flake 'abc'$$,
    $$flake ''$$,
    $$flake '9223372036854775808'$$,
    $$flake '1.5'$$,
    $$flake '2026-01-01'$$);
SELECT flake_send('2237357943253106688') = int8send(2237357943253106688)
    AS binary_is_that_of_bigint;

\echo -- tables ---------------------------------------------------------------------------------
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), note text);
INSERT INTO orders (note) VALUES ('first'), ('second');
SELECT note, id > 0 AS is_positive, id::timestamptz BETWEEN now() - interval '1 minute'
    AND now() + interval '1 minute' AS is_of_now
FROM orders ORDER BY id;
DELETE FROM orders;
INSERT INTO orders VALUES ('2237357943253106688', 'a text'), (2237357943253106689, 'a bigint'),
    (7, 'an integer'),
    (smallint '8', 'a smallint'), (2237357943253106690::bigint, 'a bigint, too');
SELECT * FROM orders ORDER BY id;
\echo -- Functions of a bigint take a flake.
SELECT * FROM pg_temp.results(
    $$datacenter, worker, counter FROM orders, flake_decode(id) WHERE id = 2237357943253106689$$,
    $$flake_to_text(id, 'hex'), flake_timestamp(id, '1970-01-01 00:00+00') FROM orders
        WHERE id = '2237357943253106688'$$,
    $$pg_typeof(min(id)), pg_typeof(max(id)) FROM orders$$);

\echo -- JSON -----------------------------------------------------------------------------------
SELECT to_json(id), to_jsonb(id), json_build_object('id', id), jsonb_build_object('id', id),
    json_build_array(id),
    json_agg(id), jsonb_agg(id), row_to_json(row(id)), json_object_agg('id', id)
FROM orders WHERE note = 'a bigint' GROUP BY id;
SELECT * FROM pg_temp.results(
    $$row_to_json(orders), to_jsonb(orders), json_agg(orders) FROM orders WHERE note = 'a bigint'
        GROUP BY orders.*$$,
    $$to_json(ARRAY[id]), to_json(max(id)::flake), to_json(max(id)) FROM orders
        WHERE note = 'a bigint' GROUP BY id$$);
\echo -- Both a string and a number are read, to the last digit.
SELECT * FROM pg_temp.results(
    $$id FROM json_populate_record(NULL::orders, '{"id": "2237357943253106689"}')$$,
    $$id FROM json_populate_record(NULL::orders, '{"id": 2237357943253106689}')$$,
    $$id FROM jsonb_populate_record(NULL::orders, '{"id": "2237357943253106689"}')$$,
    $$id FROM jsonb_populate_record(NULL::orders, '{"id": 2237357943253106689}')$$,
    $$array_agg(id) FROM json_to_recordset('[{"id": "2237357943253106689"},
        {"id": 2237357943253106690}, {"id": null}, {}]') AS sent (id flake)$$,
    $$array_agg(id) FROM jsonb_to_recordset('[{"id": "2237357943253106689"},
        {"id": 2237357943253106690}]') AS sent (id flake)$$,
    $$('{"id": "2237357943253106689"}'::jsonb ->> 'id')::flake$$);

\echo '-- As PostgREST inserts a row, filters by `?id=eq.`, `?id=in.()` and `?id=gt.`, and answers.'
WITH sent AS (SELECT '[{"id": "2237357943253106700", "note": "sent"},
    {"id": 2237357943253106701, "note": "sent"}]'::json AS body)
INSERT INTO orders (id, note)
SELECT id, note FROM sent, LATERAL (SELECT id, note FROM json_to_recordset(sent.body)
    AS _ (id flake, note text)) AS body
RETURNING id, note;
SELECT * FROM pg_temp.results(
    $$coalesce(json_agg(answer), '[]') FROM (SELECT orders.id, orders.note FROM orders
        WHERE orders.id = '2237357943253106700') AS answer$$);
SELECT coalesce(json_agg(answer), '[]')
FROM (SELECT orders.* FROM orders
    WHERE orders.id = ANY ('{"2237357943253106700","2237357943253106701"}') ORDER BY orders.id)
        AS answer;
SELECT coalesce(json_agg(answer), '[]')
FROM (SELECT orders.* FROM orders WHERE orders.id > '2237357943253106700'
    ORDER BY orders.id LIMIT 1) AS answer;
PREPARE postgrest AS SELECT json_agg(answer)
    FROM (SELECT orders.id FROM orders WHERE orders.id = $1) AS answer;
SELECT * FROM pg_temp.results(
    $$parameter_types FROM pg_prepared_statements WHERE name = 'postgrest'$$);
EXECUTE postgrest ('2237357943253106701');

\echo -- casts ----------------------------------------------------------------------------------
\echo -- Every ID type has a cast to a time.
SELECT flake_encode('2026-11-01 12:00:00.123+00', 1, 2, 3)::flake::timestamptz AS flake,
    sno_encode('2026-11-01 12:00:00.124+00', 0, 1, 2, 3)::timestamptz AS sno,
    flake128_encode('2026-11-01 12:00:00.123+00', '01:02:03:04:05:06', 7)::timestamptz AS flake128;
SELECT guid_encode('1970-01-01 00:00+00'::timestamptz + 100000 * interval '16.384 s', 1, 2,
    '274 s')::timestamptz AS guid,
    guid_local_encode('1970-01-01 00:00+00'::timestamptz + 100000 * interval '16.384 s', 2,
        '274 s')::timestamptz AS guid_local;
SELECT uniqueid_encode('2026-11-01 12:00:00.123+00', 1, 2, 3, 'spread')::timestamptz AS spread,
    uniqueid_encode('2026-11-01 12:00:00.123+00', 1, 2, 3, 'time_sequential')::timestamptz
        AS time_sequential,
    uuidv7_encode('2026-11-01 12:00:00.123+00', 1, 2, 3, 4)::timestamptz AS uuidv7,
    uuid '0191a2b4-0000-4000-8000-000000000000'::timestamptz AS uuid_of_version_4;
\echo -- So a column can have the time of the ID. For a flake it must not depend on a setting.
CREATE TABLE stored (
    sno sno, sno_at timestamptz GENERATED ALWAYS AS (sno::timestamptz) STORED,
    flake128 flake128, flake128_at timestamptz GENERATED ALWAYS AS (flake128::timestamptz) STORED,
    guid guid, guid_at timestamptz GENERATED ALWAYS AS (guid::timestamptz) STORED,
    guid_local guid_local, guid_local_at timestamptz GENERATED ALWAYS
    AS (guid_local::timestamptz) STORED,
    uniqueid uniqueid, uniqueid_at timestamptz GENERATED ALWAYS AS (uniqueid::timestamptz) STORED,
    uuid uuid, uuid_at timestamptz GENERATED ALWAYS AS (uuid::timestamptz) STORED,
    flake flake, flake_at timestamptz GENERATED ALWAYS
    AS (flake_timestamp(flake, '2010-01-01 00:00:00+00')) STORED
);
INSERT INTO stored (sno, flake128, guid, guid_local, uniqueid, uuid, flake)
VALUES (sno_next(), flake128_next(), guid_next(), guid_local_next(), uniqueid_next(), uuidv7_next(),
    flake_next());
SELECT bool_and(t BETWEEN now() - interval '1 minute' AND now() + interval '1 minute')
    AS all_are_of_now, count(*)
FROM stored, unnest(ARRAY[sno_at, flake128_at, guid_at, guid_local_at, uniqueid_at, uuid_at,
    flake_at]) AS t;
CREATE TABLE refused (id flake, created_at timestamptz GENERATED ALWAYS
    AS (id::timestamptz) STORED);

\echo -- Flakes of all signs and fields become flake128s and uuidv7s in their order, and come back.
CREATE TABLE flakes AS
SELECT flake_encode('2026-11-01 12:00:00+00'::timestamptz + t * interval '1 ms', d, w, c)::flake
    AS id
FROM generate_series(0, 2) AS t, unnest('{0, 1, 31}'::integer[]) AS d,
    unnest('{0, 30, 31}'::integer[]) AS w, unnest('{0, 1, 4095}'::integer[]) AS c;
INSERT INTO flakes VALUES (0), (1), ('9223372036854775807');
SELECT count(*), bool_and(id::flake128::flake = id) AS flake128_is_lossless,
    bool_and(id::uuid::flake = id) AS uuidv7_is_lossless,
    bool_and(id::timestamptz = id::flake128::timestamptz
        AND id::timestamptz = id::uuid::timestamptz) AS time_is_the_same,
    bool_and(uuidv7_valid(id::uuid)) AS is_of_version_7
FROM flakes;
SELECT count(*) FILTER (WHERE by_flake <> by_flake128 OR by_flake <> by_uuid) AS of_another_order
FROM (SELECT row_number() OVER (ORDER BY id) AS by_flake,
    row_number() OVER (ORDER BY id::flake128) AS by_flake128,
        row_number() OVER (ORDER BY id::uuid) AS by_uuid FROM flakes) AS orders;
SELECT flake128_decode(id::flake128), uuidv7_decode(id::uuid), flake_decode(id)
FROM (SELECT flake_encode('2026-11-01 12:00:00.123+00', 3, 5, 7)::flake AS id) AS one;
SELECT * FROM pg_temp.refused(
    $$flake128_encode('2026-11-01', '00:00:00:00:04:00', 7)::flake$$,
    $$flake128_encode('2026-11-01', '00:00:00:00:03:ff', 4096)::flake$$,
    $$flake128_encode('2009-12-31', '00:00:00:00:03:ff', 7)::flake$$,
    $$uuidv7_encode('2026-11-01', 1, 0, 0, 7)::flake$$,
    $$uuidv7_encode('2026-11-01', 0, 0, 0, 4194304)::flake$$,
    $$uuid '0191a2b4-0000-4000-8000-000000000000'::flake$$,
    $$sno_next()::flake$$,
    $$flake_next()::flake::sno$$);

\echo -- times ----------------------------------------------------------------------------------
CREATE TABLE events (id flake PRIMARY KEY, nr integer);
INSERT INTO events
SELECT flake_encode('2026-11-01 12:00:00+00'::timestamptz + nr * interval '1 hour',
    nr % 32, 31, nr), nr
FROM generate_series(0, 99) AS nr;
\echo '-- Negative ones are of no time: they are later than all others, and sort before them.'
INSERT INTO events VALUES ('-5', -5), ('-9223372036854775808', -6);
\echo -- The planner replaces a comparison with a literal. One with a volatile expression is
\echo -- computed for each row.
CREATE FUNCTION at(t timestamptz) RETURNS timestamptz LANGUAGE plpgsql VOLATILE
    AS 'BEGIN RETURN t; END';
CREATE FUNCTION pg_temp.found(condition text, t text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    EXECUTE 'SELECT count(*) FROM events WHERE ' || replace(condition, '<t>', t) INTO found;
    RETURN found;
END
$$;
SELECT condition, pg_temp.found(condition, $$timestamptz '2026-11-02 12:00+00'$$) AS by_literal,
    pg_temp.found(condition, $$at('2026-11-02 12:00+00')$$) AS by_row
FROM unnest(ARRAY['id < <t>', 'id <= <t>', 'id = <t>', 'id >= <t>', 'id > <t>', 'id <> <t>',
    'NOT id < <t>', '<t> > id', '<t> >= id', '<t> = id', '<t> <= id', '<t> < id', '<t> <> id',
    'id BETWEEN <t> AND <t> + interval ''1 day''',
    'id <@ tstzrange(<t>, <t> + interval ''1 day'')',
    'tstzrange(<t>, <t> + interval ''1 day'', ''(]'') @> id']) AS condition;
SELECT * FROM pg_temp.results(
    $$count(*) FROM events WHERE id >= date '2026-11-02' AND id < date '2026-11-03'$$,
    $$count(*) FROM events WHERE id <@ '[2026-11-02 12:00:00+00,2026-11-03 12:00:00+00)'$$);
SELECT (id < NULL::timestamptz) IS NULL AND (id <@ NULL::tstzrange) IS NULL AS a_time_that_is_null
    FROM events LIMIT 1;
VACUUM ANALYZE events;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT FROM events WHERE id >= timestamptz '2026-11-02 12:00:00+00'
    AND id < timestamptz '2026-11-03 12:00:00+00';
EXPLAIN (COSTS OFF) SELECT FROM events WHERE id <@ tstzrange('2026-11-02 12:00:00+00',
    '2026-11-03 12:00:00+00');
EXPLAIN (COSTS OFF) SELECT FROM events WHERE id >= now();
RESET enable_seqscan;
RESET enable_bitmapscan;
\echo -- A view and a domain keep what they mean.
CREATE VIEW recent AS SELECT * FROM events WHERE id >= timestamptz '2026-11-02 12:00:00+00'
    AND id <> '5';
SELECT pg_get_viewdef('recent') LIKE '%::timed_flake >= ''Mon Nov 02 %' AS is_shown_with_the_domain;
DO $$ BEGIN EXECUTE 'CREATE VIEW again AS ' || pg_get_viewdef('recent'); END $$;
SELECT * FROM pg_temp.results(
    $$count(*) FROM again$$,
    $$count(*) FROM recent$$);
CREATE DOMAIN order_id AS flake CHECK (VALUE > 0);
SELECT * FROM pg_temp.results(
    $$order_id '5' < now(), order_id '5' = 5, order_id '5' = '5'$$);
SELECT * FROM pg_temp.refused(
    $$order_id '-5'$$);

\echo -- arithmetic -----------------------------------------------------------------------------
SELECT * FROM pg_temp.refused(
    $$id + 1 FROM events$$,
    $$1 + id, id - id FROM events WHERE false$$,
    $$-id FROM events$$,
    $$id >> 22 FROM events$$,
    $$count(*) FROM events WHERE id % 4 = 1$$);
UPDATE events SET id = id + '1';
\set VERBOSITY default
SELECT id::bigint >> 22 AS ms FROM events WHERE nr = 0;

SET client_min_messages = warning;
DROP TABLE orders, stored, flakes, events CASCADE;
DROP DOMAIN order_id;
DROP FUNCTION at;
