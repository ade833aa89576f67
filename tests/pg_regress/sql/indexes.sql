-- Indexes on the time within an ID, and what else must be immutable.
SET timezone TO 'UTC';
SET datestyle TO ISO;

CREATE TABLE thing (id sno, flake bigint, nr integer);
INSERT INTO thing
SELECT sno_encode(t, 0, 0, 0, 0), flake_encode(t, 0, 0, 0), row_number() OVER (ORDER BY t)
FROM generate_series('2026-01-01'::timestamptz, '2026-12-31', interval '1 hour') AS t;

CREATE INDEX thing_made ON thing (sno_timestamp(id));
CREATE INDEX thing_flake_made ON thing (flake_timestamp(flake, 'epoch'));
ANALYZE thing;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM thing WHERE sno_timestamp(id) = '2026-07-01';
EXPLAIN (COSTS OFF) SELECT nr FROM thing
WHERE flake_timestamp(flake, 'epoch') BETWEEN '2026-07-01' AND '2026-07-02';
SELECT count(*), min(nr), max(nr) FROM thing WHERE sno_timestamp(id) BETWEEN '2026-07-01' AND '2026-07-02';
SELECT count(*), min(nr), max(nr) FROM thing
WHERE flake_timestamp(flake, 'epoch') BETWEEN '2026-07-01' AND '2026-07-02';
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
    'CREATE INDEX ON thing (nr) WHERE flake > flake_min(timestamptz ''2026-07-01 00:00:00+00'', ''epoch'')',
    'CREATE INDEX ON thing (nr) WHERE id > sno_min(timestamptz ''2026-07-01 00:00:00+00'')',
    'CREATE INDEX ON thing (((flake_decode(flake, timestamptz ''1970-01-01 00:00:00+00'')).worker))',
    'ALTER TABLE thing ADD made timestamptz GENERATED ALWAYS AS (flake_timestamp(flake)) STORED',
    'ALTER TABLE thing ADD sno_made timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED',
    'ALTER TABLE thing ADD CHECK (id < timestamptz ''2027-01-01 00:00:00+00'')'
]) AS statement;
SELECT count(*) FILTER (WHERE sno_made = sno_timestamp(id)) AS generated FROM thing;

-- A partial index whose condition is a time of the ID is used for later times.
CREATE INDEX thing_late ON thing (id) WHERE id >= timestamptz '2026-10-01 00:00:00+00';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM thing WHERE id >= timestamptz '2026-11-01 00:00:00+00';
RESET enable_seqscan;
RESET enable_bitmapscan;

DROP TABLE thing;
