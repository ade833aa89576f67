-- Indexes on the time within an ID, and what else must be immutable. Statements are run for each
-- type, and where they agree their rows are one.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\set kinds :folder '/include/kinds.sql'
\i :kinds
\echo -- An index on the time. Other UUIDs have none.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_thing AS SELECT <name>_at(t) AS id, row_number() OVER (ORDER BY t) AS nr
    FROM generate_series('2026-01-01'::timestamptz, '2026-12-31', interval '1 hour') AS t;
    CREATE INDEX <name>_made
        ON <name>_thing (<name>_timestamp(id[flake: , '2010-01-01 00:00+00']));
    ANALYZE <name>_thing;
    SELECT 'ready' AS tables
$$);
INSERT INTO uuidv7_thing SELECT md5(nr::text)::uuid, -nr FROM generate_series(1, 1000) AS nr
    WHERE NOT uuidv7_valid(md5(nr::text)::uuid);
SELECT * FROM pg_temp.rows($$
    EXPLAIN (COSTS OFF) SELECT nr FROM <name>_thing
    WHERE <name>_timestamp(id[flake: , '2010-01-01 00:00+00']) BETWEEN '2026-07-01' AND '2026-07-02'
$$);
\echo -- The time of a guid is up to 131 us before the one that it was made for.
SELECT * FROM pg_temp.rows($$
    SELECT count(*), min(nr), max(nr) FROM <name>_thing
    WHERE <name>_timestamp(id[flake: , '2010-01-01 00:00+00'])
        BETWEEN '2026-06-30 23:59:59.9' AND '2026-07-02'
$$);
EXPLAIN (COSTS OFF) SELECT nr FROM uuidv7_thing WHERE uuidv7_timestamp(id) IS NULL;
SELECT count(*) = (SELECT count(*) FROM uuidv7_thing WHERE nr < 0) AS others FROM uuidv7_thing
    WHERE uuidv7_timestamp(id) IS NULL;

\echo -- What reads flakeid.epoch may change with it, and what is new for each call depends on the
\echo -- server. No index, generated column or constraint may hold it; the rest may.
CREATE FUNCTION pg_temp.accepted(of text, VARIADIC statements text[])
RETURNS TABLE (statement text, outcome text, kinds text) LANGUAGE sql AS $$
    SELECT regexp_replace(statement, '\n\s+', ' ', 'g'), each.*
    FROM unnest(statements) WITH ORDINALITY AS statements (statement, nr),
        pg_temp.each(statement || '; SELECT ''accepted''', of) AS each ORDER BY nr
$$;
SELECT * FROM pg_temp.accepted('.',
    $$CREATE INDEX ON <name>_thing (<next>)$$,
    $$CREATE INDEX ON <name>_thing (<name>_at(<name>_timestamp(id)))$$,
    $$CREATE INDEX ON <name>_thing (<name>_timestamp(id))$$,
    $$CREATE INDEX ON <name>_thing (((<name>_decode(id)).created_at))$$,
    $$CREATE INDEX ON <name>_thing (nr)
    WHERE id > <name>_min(timestamptz '2026-07-01 00:00+00')$$,
    $$ALTER TABLE <name>_thing ADD made timestamptz
    GENERATED ALWAYS AS (<name>_timestamp(id)) STORED$$);
SELECT * FROM pg_temp.rows($$
    SELECT count(made) AS generated,
        count(*) FILTER (WHERE made <> <name>_timestamp(id)) AS otherwise FROM <name>_thing
$$, '^(?!flake$)');
SELECT * FROM pg_temp.accepted('flake$',
    $$CREATE INDEX ON <name>_thing (nr)
    WHERE id > flake_min(timestamptz '2026-07-01 00:00+00', 'epoch')$$,
    $$CREATE INDEX ON <name>_thing (((flake_decode(id, timestamptz 'epoch')).worker))$$);
SELECT * FROM pg_temp.accepted('sno|flake128|guid|uniqueid',
    $$CREATE INDEX ON <name>_thing (nr) WHERE id >= timestamptz '2026-07-01 00:00+00'$$,
    $$CREATE INDEX <name>_late ON <name>_thing (id)
    WHERE id >= timestamptz '2026-10-01 00:00+00'$$,
    $$ALTER TABLE <name>_thing ADD CHECK (id < timestamptz '2027-01-01 00:00+00')$$,
    $$ALTER TABLE <name>_thing
    ADD CHECK (id <@ '[2025-01-01 00:00+00,2027-01-01 00:00+00)'::tstzrange)$$,
    $$INSERT INTO <name>_thing VALUES (<name>_at('2027-01-01 00:00:01+00'))$$);
SELECT * FROM pg_temp.accepted('guid',
    $$CREATE INDEX ON <name>_thing (<name>_to_text(id, 'base62'))$$,
    $$CREATE INDEX ON <name>_thing (nr) WHERE <name>_within(id, '[2026-07-01 00:00+00,)')$$);
SELECT * FROM pg_temp.accepted('guid$',
    $$CREATE INDEX ON <name>_thing (((guid_decode(id)).node))$$,
    $$CREATE INDEX ON <name>_thing ((id::guid_local))$$,
    $$ALTER TABLE <name>_thing ADD local guid_local GENERATED ALWAYS AS (id::guid_local) STORED$$);
SELECT count(*) FILTER (WHERE local = guid_local(id)) = count(*) AS generated FROM guid_thing;
SELECT * FROM pg_temp.accepted('flake128',
    $$CREATE INDEX ON <name>_thing ((id::numeric))$$,
    $$CREATE INDEX ON <name>_thing (flake128_to_text(id, 16))$$);
SELECT * FROM pg_temp.accepted('uniqueid',
    $$CREATE INDEX ON <name>_thing (((uniqueid_decode(id)).generator_id))$$,
    $$CREATE INDEX <name>_sequential ON <name>_thing (id) WHERE uniqueid_sequential(id)$$,
    $$CREATE INDEX ON <name>_thing (uniqueid_sequential(id), id)$$,
    $$ALTER TABLE <name>_thing ADD CHECK (uniqueid_sequential(id))$$,
    $$INSERT INTO <name>_thing VALUES (uniqueid_at('2026-01-01', 0, 'spread'))$$);
SELECT * FROM pg_temp.accepted('uuidv7',
    $$CREATE INDEX ON <name>_thing (((uuidv7_decode(id)).fraction))$$,
    $$CREATE INDEX ON <name>_thing (uuidv7_valid(id), id)$$,
    $$CREATE INDEX ON <name>_thing (nr) WHERE uuidv7_since(id, timestamptz '2026-07-01 00:00+00')$$,
    $$CREATE INDEX ON <name>_thing (nr) WHERE uuidv7_within(id, '[2026-07-01 00:00+00,)')$$,
    $$ALTER TABLE <name>_thing
    ADD CHECK (NOT uuidv7_after(id, timestamptz '2027-01-01 00:00+00'))$$,
    $$ALTER TABLE <name>_thing ADD CHECK (uuidv7_before(id, timestamptz '2027-01-01 00:00+00'))$$);

\echo -- A partial index whose condition is a time of the ID is used for later times; whether
\echo -- an ID is sequential is a condition, too.
SELECT * FROM pg_temp.rows($$
    EXPLAIN (COSTS OFF) SELECT id FROM <name>_thing WHERE id >= timestamptz '2026-11-01 00:00+00'
$$, 'sno|flake128');
DROP INDEX uniqueid_late;
EXPLAIN (COSTS OFF) SELECT id FROM uniqueid_thing WHERE uniqueid_sequential(id)
    AND id >= timestamptz '2026-11-01 00:00+00';

SELECT * FROM pg_temp.each($$DROP TABLE <name>_thing; SELECT 'gone'$$);
