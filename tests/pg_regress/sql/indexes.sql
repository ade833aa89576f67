-- Indexes on the time within an ID, and what else must be immutable.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
CREATE TABLE thing (id sno, flake bigint, nr integer);
INSERT INTO thing
SELECT sno_encode(t, 0, 0, 0, 0), flake_encode(t, 0, 0, 0), row_number() OVER (ORDER BY t)
FROM generate_series('2026-01-01'::timestamptz, '2026-12-31', interval '1 hour') AS t;

CREATE INDEX thing_made ON thing (sno_timestamp(id));
CREATE INDEX thing_flake_made ON thing (flake_timestamp(flake, '2010-01-01 00:00+00'));
ANALYZE thing;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM thing WHERE sno_timestamp(id) = '2026-07-01';
EXPLAIN (COSTS OFF) SELECT nr FROM thing
WHERE flake_timestamp(flake, '2010-01-01 00:00+00') BETWEEN '2026-07-01' AND '2026-07-02';
SELECT * FROM pg_temp.results(
    $$count(*), min(nr), max(nr) FROM thing WHERE sno_timestamp(id) BETWEEN '2026-07-01'
        AND '2026-07-02'$$);
SELECT count(*), min(nr), max(nr) FROM thing
WHERE flake_timestamp(flake, '2010-01-01 00:00+00') BETWEEN '2026-07-01' AND '2026-07-02';
RESET enable_seqscan;
RESET enable_bitmapscan;

-- What reads flakeid.epoch may change with it: no index, generated column or constraint of a
-- partition may hold it.
CREATE FUNCTION pg_temp.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
SELECT statement, pg_temp.outcome(statement)
FROM unnest(ARRAY[
    'CREATE INDEX ON thing (flake_timestamp(flake))',
    'CREATE INDEX ON thing (nr) WHERE flake > flake_min(timestamptz ''2026-07-01 00:00:00+00'')',
    'CREATE INDEX ON thing (sno_at(sno_timestamp(id)))',
    'CREATE INDEX ON thing (sno_next())',
    'CREATE INDEX ON thing (nr) '
        'WHERE flake > flake_min(timestamptz ''2026-07-01 00:00+00'', ''epoch'')',
    'CREATE INDEX ON thing (nr) WHERE id > sno_min(timestamptz ''2026-07-01 00:00:00+00'')',
    'CREATE INDEX ON thing (((flake_decode(flake, timestamptz ''1970-01-01 00:00+00'')).worker))',
    'ALTER TABLE thing ADD made timestamptz GENERATED ALWAYS AS (flake_timestamp(flake)) STORED',
    'ALTER TABLE thing ADD sno_made timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED',
    'ALTER TABLE thing ADD CHECK (id < timestamptz ''2027-01-01 00:00:00+00'')'
]) AS statement;
SELECT count(*) FILTER (WHERE sno_made = sno_timestamp(id)) AS generated FROM thing;

\echo -- A partial index whose condition is a time of the ID is used for later times.
CREATE INDEX thing_late ON thing (id) WHERE id >= timestamptz '2026-10-01 00:00:00+00';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM thing WHERE id >= timestamptz '2026-11-01 00:00:00+00';
RESET enable_seqscan;
RESET enable_bitmapscan;

\echo -- The same of the other types.
CREATE TABLE other (a flake128, b guid, c guid_local, d uniqueid, nr integer);
INSERT INTO other
SELECT flake128_encode(t, '08:00:2b:01:02:03', 0), guid_encode(t, 7, 0), guid_local_encode(t, 0),
       uniqueid_encode(t, 0, 0, 0, 'time_sequential'), row_number() OVER (ORDER BY t)
FROM generate_series('2026-01-01'::timestamptz, '2026-12-31', interval '1 hour') AS t;
CREATE INDEX other_flake128_made ON other (flake128_timestamp(a));
CREATE INDEX other_guid_made ON other (guid_timestamp(b));
CREATE INDEX other_guid_local_made ON other (guid_local_timestamp(c));
CREATE INDEX other_uniqueid_made ON other (uniqueid_timestamp(d));
ANALYZE other;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM other WHERE flake128_timestamp(a) = '2026-07-01';
EXPLAIN (COSTS OFF) SELECT nr FROM other WHERE guid_timestamp(b) BETWEEN '2026-07-01'
    AND '2026-07-02';
EXPLAIN (COSTS OFF) SELECT nr FROM other WHERE guid_local_timestamp(c) BETWEEN '2026-07-01'
    AND '2026-07-02';
EXPLAIN (COSTS OFF) SELECT nr FROM other WHERE uniqueid_timestamp(d) BETWEEN '2026-07-01'
    AND '2026-07-02';
SELECT * FROM pg_temp.results(
    $$count(*), min(nr), max(nr) FROM other WHERE flake128_timestamp(a) BETWEEN '2026-07-01'
        AND '2026-07-02'$$);
SELECT count(*), min(nr), max(nr) FROM other
WHERE guid_timestamp(b) BETWEEN '2026-06-30 23:59:59.9' AND '2026-07-02';
SELECT count(*), min(nr), max(nr) FROM other
WHERE guid_local_timestamp(c) BETWEEN '2026-06-30 23:59:59.9' AND '2026-07-02';
SELECT * FROM pg_temp.results(
    $$count(*), min(nr), max(nr) FROM other WHERE uniqueid_timestamp(d) BETWEEN '2026-07-01'
        AND '2026-07-02'$$);
RESET enable_seqscan;
RESET enable_bitmapscan;

\echo -- What depends on this server is for no index; the rest is.
SELECT statement, pg_temp.outcome(statement)
FROM unnest(ARRAY[
    'CREATE INDEX ON other (flake128_at(flake128_timestamp(a), 0))',
        'CREATE INDEX ON other (flake128_next())',
    'CREATE INDEX ON other (guid_at(guid_timestamp(b), 0))', 'CREATE INDEX ON other (guid_next())',
    'CREATE INDEX ON other (guid_local_at(guid_local_timestamp(c), 0))',
        'CREATE INDEX ON other (guid_local_next())',
    'CREATE INDEX ON other (uniqueid_at(uniqueid_timestamp(d), 0))',
        'CREATE INDEX ON other (uniqueid_next())',
    'CREATE INDEX ON other ((a::numeric))', 'CREATE INDEX ON other ((b::guid_local))',
    'CREATE INDEX ON other (flake128_to_text(a, 16))',
        'CREATE INDEX ON other (guid_to_text(b, ''base62''))',
    'CREATE INDEX ON other (((guid_decode(b)).node))',
        'CREATE INDEX ON other (((uniqueid_decode(d)).generator_id))',
    'CREATE INDEX ON other (uniqueid_sequential(d), d)',
    'CREATE INDEX ON other (nr) WHERE a > flake128_min(timestamptz ''2026-07-01 00:00:00+00'')',
    'CREATE INDEX ON other (nr) WHERE b >= timestamptz ''2026-07-01 00:00:00+00''',
    'CREATE INDEX ON other (nr) WHERE guid_local_within(c, ''[2026-07-01 00:00:00+00,)'')',
    'CREATE INDEX ON other (nr) WHERE d < timestamptz ''2026-07-01 00:00:00+00''',
    'ALTER TABLE other ADD a_made timestamptz GENERATED ALWAYS AS (flake128_timestamp(a)) STORED',
    'ALTER TABLE other ADD b_made timestamptz GENERATED ALWAYS AS (guid_timestamp(b)) STORED',
    'ALTER TABLE other ADD d_made timestamptz GENERATED ALWAYS AS (uniqueid_timestamp(d)) STORED',
    'ALTER TABLE other ADD local guid_local GENERATED ALWAYS AS (b::guid_local) STORED',
    'ALTER TABLE other ADD CHECK (a < timestamptz ''2027-01-01 00:00:00+00'')',
    'ALTER TABLE other ADD CHECK (b < timestamptz ''2027-01-01 00:00:00+00'')',
    'ALTER TABLE other ADD CHECK (c <@ ''[2025-01-01 00:00+00,2027-01-01 00:00+00)''::tstzrange)',
    'ALTER TABLE other ADD CHECK (d < timestamptz ''2027-01-01 00:00:00+00'')',
    'ALTER TABLE other ADD CHECK (NOT uniqueid_sequential(d))'
]) AS statement;
SELECT count(*) FILTER (WHERE a_made = flake128_timestamp(a) AND b_made = guid_timestamp(b)
    AND d_made = uniqueid_timestamp(d)
                        AND local = guid_local(b)) AS generated FROM other;
\set VERBOSITY terse
INSERT INTO other (b) VALUES (guid_encode('2027-01-01 00:00:01+00', 0, 0));
INSERT INTO other (d) VALUES (uniqueid_encode('2026-01-01', 0, 0, 0, 'spread'));
\set VERBOSITY default

\echo -- A partial index whose condition is a time of the ID is used for later times; whether
\echo -- an ID is sequential is a condition, too.
CREATE INDEX other_flake128_late ON other (a) WHERE a >= timestamptz '2026-10-01 00:00:00+00';
CREATE INDEX other_uniqueid_sequential ON other (d) WHERE uniqueid_sequential(d);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT a FROM other WHERE a >= timestamptz '2026-11-01 00:00:00+00';
EXPLAIN (COSTS OFF) SELECT d FROM other WHERE uniqueid_sequential(d)
    AND d >= timestamptz '2026-11-01 00:00:00+00';
RESET enable_seqscan;
RESET enable_bitmapscan;

\echo '-- A uuidv7 in a column of PostgreSQL''s type, which also has other UUIDs: those have no'
\echo -- time.
CREATE TABLE keyed (id uuid, nr integer);
INSERT INTO keyed
SELECT uuidv7_encode(t, 0, 0, 0, 0), row_number() OVER (ORDER BY t)
    FROM generate_series('2026-01-01'::timestamptz, '2026-12-31', interval '1 hour') AS t;
INSERT INTO keyed SELECT md5(nr::text)::uuid, -nr FROM generate_series(1, 1000) AS nr
    WHERE NOT uuidv7_valid(md5(nr::text)::uuid);
CREATE INDEX keyed_made ON keyed (uuidv7_timestamp(id));
ANALYZE keyed;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM keyed WHERE uuidv7_timestamp(id) BETWEEN '2026-07-01'
    AND '2026-07-02';
SELECT * FROM pg_temp.results(
    $$count(*), min(nr), max(nr) FROM keyed WHERE uuidv7_timestamp(id) BETWEEN '2026-07-01'
        AND '2026-07-02'$$);
EXPLAIN (COSTS OFF) SELECT nr FROM keyed WHERE uuidv7_timestamp(id) IS NULL;
SELECT * FROM pg_temp.results(
    $$count(*) = (SELECT count(*) FROM keyed WHERE nr < 0) AS others FROM keyed
        WHERE uuidv7_timestamp(id) IS NULL$$);
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT statement, pg_temp.outcome(statement)
FROM unnest(ARRAY[
    'CREATE INDEX ON keyed (uuidv7_at(uuidv7_timestamp(id), 0))',
        'CREATE INDEX ON keyed (uuidv7_next())',
    'CREATE INDEX ON keyed (((uuidv7_decode(id)).fraction))',
        'CREATE INDEX ON keyed (uuidv7_valid(id), id)',
    'CREATE INDEX ON keyed (nr) WHERE uuidv7_since(id, timestamptz ''2026-07-01 00:00:00+00'')',
    'CREATE INDEX ON keyed (nr) WHERE uuidv7_within(id, ''[2026-07-01 00:00:00+00,)'')',
    'CREATE INDEX ON keyed (nr) WHERE id >= uuidv7_min(''2026-07-01 00:00:00+00'')',
    'ALTER TABLE keyed ADD made timestamptz GENERATED ALWAYS AS (uuidv7_timestamp(id)) STORED',
    'ALTER TABLE keyed ADD CHECK (NOT uuidv7_after(id, timestamptz ''2027-01-01 00:00:00+00''))',
    'ALTER TABLE keyed ADD CHECK (uuidv7_before(id, timestamptz ''2027-01-01 00:00:00+00''))'
]) AS statement;

DROP TABLE thing, other, keyed;
