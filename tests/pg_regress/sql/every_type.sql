-- What all ID types have: making IDs, one by one and in batches, and of a given time; text, bytes
-- and casts. Each statement is run for each type, and where they agree their rows are one. In
-- catalog.sql is which functions are strict, and in bad_input.sql what is refused.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\set kinds :folder '/include/kinds.sql'
\i :kinds
TABLE kind;

\echo -- making ---------------------------------------------------------------------------------
\echo '-- One session''s IDs rise. In a guid, which the node is part of, its guid_local does.'
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_made AS SELECT nr, <next> AS id FROM generate_series(1, 100000) AS nr;
    SELECT count(*), count(DISTINCT id) AS distinct_ids,
        count(*) FILTER (WHERE id <= previous) AS not_rising
    FROM (SELECT id[guid: ::guid_local] AS id,
            lag(id[guid: ::guid_local]) OVER (ORDER BY nr) AS previous FROM <name>_made) AS made
$$);
SELECT * FROM pg_temp.each($$
    SELECT pg_temp.not_of_now('<name>_timestamp(<next>)', '<tick>') AS not_of_now
$$);
\echo -- A batch is as many as asked for, of the same source.
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_batched AS
    SELECT nr, id FROM <name>_next_batch(10000[sno: , 7]) WITH ORDINALITY AS batch (id, nr);
    SELECT count(*), count(DISTINCT id) AS distinct_ids,
        count(*) FILTER (WHERE id <= previous) AS not_rising,
        bool_and(id > (SELECT id[guid: ::guid_local] FROM <name>_made ORDER BY nr DESC LIMIT 1))
            AS after_those_before,
        bool_and(id < <next>[guid: ::guid_local]) AS before_those_after
    FROM (SELECT id[guid: ::guid_local] AS id,
            lag(id[guid: ::guid_local]) OVER (ORDER BY nr) AS previous FROM <name>_batched) AS made
$$);
SELECT * FROM pg_temp.rows($$
    SELECT (SELECT count(*) FROM <name>_next_batch(0)) AS none,
        (SELECT count(id) FROM <name>_next_batch(1) AS id) AS one,
        (SELECT count(*) FROM <name>_next_batch(NULL)) AS of_null,
        (SELECT count(*) FROM (SELECT <name>_next_batch(n) FROM generate_series(0, 100) AS n) AS of)
            AS of_0_to_100,
        (SELECT count(*) FROM (SELECT <name>_next_batch(2147483647) LIMIT 3) AS cut) AS cut_short
$$);
\echo '-- Those of guid and guid_local come from one source: none is another''s without the node.'
SELECT count(*) AS both FROM guid_made JOIN guid_local_made
    ON guid_made.id::guid_local = guid_local_made.id;

\echo -- text, bytes, casts ---------------------------------------------------------------------
\echo -- PostgreSQL has the text of a bigint and a uuid.
\set own_types '^(sno|flake128|guid|guid_local|uniqueid)$'
SELECT * FROM pg_temp.rows($$
    SELECT <type> <a> = <a> AS literal, pg_typeof(<a>) = '<type>'::regtype AS type,
        pg_column_size(<a>) AS bytes,
        (SELECT bool_and(id::text::<type> = id AND id::bytea::<type> = id
            AND <name>_out(id)::text = id::text AND <name>_in(id::text::cstring) = id
            AND <name>_send(id) = id::bytea) FROM <name>_made) AS back_and_forth
$$, :'own_types');
\echo -- IDs, their bytes and their texts of one length have one order. Texts compare by bytes.
SELECT * FROM pg_temp.rows($$
    WITH ids AS (
        SELECT id, id::bytea AS bytes, id::text COLLATE "C" AS text
        FROM generate_series(0, 100) AS nr,
            left(CASE nr WHEN 0 THEN repeat('f', 32) ELSE md5(nr::text) END,
                2 * pg_column_size(<a>)) AS hex,
            LATERAL (SELECT decode(hex, 'hex')::<type>) AS random (id)
    )
    SELECT count(*) AS pairs, bool_and((a.id < b.id) = (a.bytes < b.bytes)) AS by_bytes,
        bool_and((a.id < b.id) = (a.text < b.text))
            FILTER (WHERE length(a.text) = length(b.text)) AS by_text
    FROM ids AS a, ids AS b
$$, :'own_types');
\echo -- An ID is assigned to text and bytes. A cast to an ID must be written, and so must each
\echo -- within an expression. All casts are in catalog.sql.
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_loose (text text, bytes bytea);
    INSERT INTO <name>_loose VALUES (<a>, <a>);
    SELECT text = <a>::text AS text, bytes = <a>::bytea AS bytes FROM <name>_loose
$$, :'own_types');
SELECT statement, each.* FROM unnest(ARRAY[
    $$INSERT INTO <name>_made (id) SELECT text FROM <name>_loose RETURNING nr$$,
    $$INSERT INTO <name>_made (id) SELECT bytes FROM <name>_loose RETURNING nr$$,
    $$SELECT length(<a>)$$,
    $$SELECT <a> = <a>::text$$
]) AS statement, pg_temp.each(statement, :'own_types') AS each;
\echo -- The characters that are good at the first, a middle and the last place of a text.
CREATE FUNCTION pg_temp.is_good(text text, kind text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    written text;
BEGIN
    EXECUTE format('SELECT %L::%s::text', text, kind) INTO written;
    RETURN written = CASE kind WHEN 'uniqueid' THEN lower(text)
        WHEN 'flake128' THEN ltrim(text, '0') ELSE text END;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END
$$;
SELECT * FROM pg_temp.rows($$
    SELECT array_agg(place) AS places, length(characters), characters
    FROM (SELECT place, string_agg(chr(code), '' ORDER BY code) AS characters
        FROM unnest('{1,9,16}'::int[]) AS place, generate_series(1, 127) AS code
        WHERE pg_temp.is_good(overlay('2222222222222222' PLACING chr(code) FROM place FOR 1),
            '<type>')
        GROUP BY place) AS good GROUP BY characters
$$, :'own_types');

SELECT * FROM pg_temp.each($$
    DROP TABLE <name>_made, <name>_batched;
    DROP TABLE IF EXISTS <name>_loose;
    SELECT 'gone'
$$);
