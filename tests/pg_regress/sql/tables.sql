-- IDs in rows: columns of other alignments, changes of a column's type, and batches that are cut
-- short. What applications do with tables is in everyday.sql, COPY in tests/t/data.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- Between columns of other alignments, in a row that is toasted or compressed elsewhere.
CREATE TABLE mixed (a boolean, sno sno, b bigint, other sno, c boolean, flake128 flake128,
    d boolean, guid guid, e smallint, guid_local guid_local, f boolean, uniqueid uniqueid, g text);
INSERT INTO mixed SELECT true, sno_encode('2026-07-01', 0, n, 0, 0), n,
    sno_encode('2026-07-01', 1, n, 0, 0), true,
    flake128_encode('2026-07-01', '08:00:2b:01:02:03', n), false, guid_encode('2026-07-01', n, n),
    n, guid_local_encode('2026-07-01', n), true,
    uniqueid_encode('2026-07-01', n % 64, n, 15, 'spread'), repeat(md5(n::text), 500)
FROM generate_series(0, 255) AS n;
SELECT count(*) FILTER (WHERE (sno_decode(sno)).meta = b AND (sno_decode(other)).meta = b
    AND (sno_decode(other)).tick_tock = 1 AND (flake128_decode(flake128)).sequence = b
    AND (guid_decode(guid)).node = b AND (guid_decode(guid)).sequence = e
    AND (guid_local_decode(guid_local)).sequence = b
    AND (uniqueid_decode(uniqueid)).generator_id = b) AS whole FROM mixed;
\echo -- A column that rows do not have yet, and one that becomes another type, and comes back.
ALTER TABLE mixed ADD as_sno sno DEFAULT '9q74gok3262so257',
    ADD as_flake128 flake128 DEFAULT '7n42DGM5Tflk9n8mt7Fhc7',
    ADD as_uniqueid uniqueid DEFAULT 'ffffffffffffffff';
SELECT DISTINCT as_sno, as_flake128, as_uniqueid FROM mixed;
ALTER TABLE mixed ALTER as_sno TYPE text, ALTER guid TYPE guid_local USING guid::guid_local;
SELECT DISTINCT as_sno, pg_typeof(guid), (guid_local_decode(guid)).created_at FROM mixed;
ALTER TABLE mixed ALTER as_sno TYPE sno;
ALTER TABLE mixed ALTER as_sno DROP DEFAULT, ALTER as_sno TYPE sno USING as_sno::sno,
    ALTER as_flake128 DROP DEFAULT;
ALTER TABLE mixed ALTER as_sno TYPE uuid, ALTER as_flake128 TYPE uuid;
SELECT DISTINCT as_sno, as_flake128 FROM mixed;
ALTER TABLE mixed ALTER as_sno TYPE sno USING as_sno::sno,
    ALTER as_flake128 TYPE flake128 USING as_flake128::flake128;
SELECT DISTINCT as_sno, as_flake128 FROM mixed;
DROP TABLE mixed;

\echo '-- A flake128''s text can be NULL, which an array has quoted.'
SELECT 'NULL'::flake128 AS a_number, '{NULL}'::flake128[] AS no_number,
    '{"NULL"}'::flake128[] AS a_number_again;

\echo -- batches --------------------------------------------------------------------------------
BEGIN;
DECLARE ten CURSOR FOR SELECT (sno_decode(id)).meta, n
FROM (SELECT sno_next_batch(10, 5) AS id, generate_series(1, 10) AS n) AS made;
FETCH 2 FROM ten;
MOVE 3 IN ten;
FETCH 1 FROM ten;
CLOSE ten;
\echo '-- Cut short by an error and by the transaction''s end, a batch leaves nothing behind.'
DECLARE cut CURSOR FOR SELECT flake_next_batch(2000000000);
MOVE 2 IN cut;
DECLARE cut_too CURSOR FOR SELECT guid_next_batch(2000000000), uniqueid_next_batch(2000000000),
    flake128_next_batch(2000000000);
MOVE 2 IN cut_too;
SAVEPOINT here;
SELECT flake_next_batch(5) / 0;
ROLLBACK TO here;
SELECT count(*) FROM flake_next_batch(3);
SELECT count(*) FROM guid_next_batch(3), uniqueid_next_batch(3), flake128_next_batch(3);
COMMIT;
