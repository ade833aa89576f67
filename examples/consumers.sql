-- Consumers that read a table in ID order: cursors, batches, acknowledgement, lag. docs/consumers.md explains them.
--
--     psql -v ON_ERROR_STOP=1 -v table=outbox -f consumers.sql
--
-- All objects are in one new schema, and are yours to change. For a second table, choose a second schema. `psql -qe`
-- prints the SQL with all variables replaced, for a tool that runs migrations.
\if :{?table}   \else \set table outbox \endif
\if :{?schema}  \else \set schema consumers \endif
\if :{?id}      \else \set id id \endif
-- These depend on the ID type. `zero` is the cursor before the first row. The others are the condition that an ID is below
-- the watermark, the time of an ID, and what divides the rows among parts: rows with one hash stay in order.
\if :{?id_type} \else \set id_type flake \endif
\if :{?zero}    \else \set zero '''-1''' \endif
\if :{?settled} \else \set settled 'flake_before(' :id ', flakeid_watermark())' \endif
\if :{?time}    \else \set time 'flake_timestamp(' :id ')' \endif
\if :{?hash}    \else \set hash 'hashint8extended(' :id ', 0)' \endif

BEGIN;
CREATE SCHEMA :schema;
\o /dev/null
SELECT set_config('search_path', format('%s, %s', :'schema', current_setting('search_path')), true);
\o

-- The rows that may be read. A statement that reads this view also asks for the watermark.
CREATE VIEW settled AS
SELECT :id AS id, :time AS generated_at, coalesce(:hash, 0) & 9223372036854775807 AS hash, CAST(the_row.* AS :table) AS message
FROM :table AS the_row WHERE :settled;

CREATE TABLE cursors (
    consumer     text        CHECK (consumer <> ''),
    part         integer     CHECK (part >= 0 AND part < parts),
    parts        integer     NOT NULL,
    last         :id_type    NOT NULL,                              -- all rows of the part up to this ID are processed
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),    -- when `last` changed
    turn         uuid,                                              -- the batch that is being processed,
    upto         :id_type,                                          -- its last ID,
    leased_until timestamptz,                                       -- and the time until which no other worker gets it
    PRIMARY KEY (consumer, part)
);

-- Creates a consumer that begins after the ID `last`, resets it to that ID, or changes the number of its parts. Without
-- `last` it begins with the first row, or continues: each part at the least cursor of those that had its rows. If there is
-- nothing to change, it changes nothing.
CREATE FUNCTION set_consumer(consumer text, parts integer, last :id_type DEFAULT NULL) RETURNS void
BEGIN ATOMIC
    SELECT FROM cursors AS c WHERE c.consumer = set_consumer.consumer AND c.part = 0 FOR UPDATE;      -- one change at a time
    SELECT FROM cursors AS c WHERE c.consumer = set_consumer.consumer ORDER BY c.part FOR UPDATE;
    INSERT INTO cursors (consumer, part, parts, last)
    SELECT consumer, new.part, parts, coalesce(last, (
        SELECT c.last FROM cursors AS c
        WHERE c.consumer = set_consumer.consumer AND (c.part - new.part) % gcd(c.parts, set_consumer.parts) = 0
        ORDER BY c.last LIMIT 1), :zero)
    FROM generate_series(0, greatest(parts, 1) - 1) AS new (part)
    ON CONFLICT ON CONSTRAINT cursors_pkey DO UPDATE SET parts = excluded.parts, last = excluded.last,
        updated_at = excluded.updated_at, turn = NULL, upto = NULL, leased_until = NULL
        WHERE cursors.parts <> excluded.parts OR set_consumer.last IS NOT NULL;
    DELETE FROM cursors AS c WHERE c.consumer = set_consumer.consumer AND c.part >= set_consumer.parts;
END;

-- Returns the next rows of a part, in the order of their IDs, and the turn to acknowledge. No other worker gets the part
-- until this transaction has ended, and then until the lease is over. Returns no row if nothing is new, or if another
-- worker has the part.
CREATE FUNCTION next_batch(consumer text, part integer DEFAULT 0, max_rows integer DEFAULT 100, lease interval DEFAULT '1 min')
RETURNS TABLE (turn uuid, message :table) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    mine cursors;
BEGIN
    SELECT * INTO mine FROM cursors AS c WHERE c.consumer = next_batch.consumer AND c.part = next_batch.part;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('consumer %L has no part %s', consumer, part);
    END IF;
    -- A worker that has nothing to do takes no lock, and so writes nothing.
    PERFORM FROM settled AS s WHERE s.id > mine.last LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO mine FROM cursors AS c
    WHERE c.consumer = next_batch.consumer AND c.part = next_batch.part
        AND coalesce(c.leased_until, '-infinity') <= clock_timestamp()
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- The row that is locked is the latest, so nobody has acknowledged more. One statement reads the rows and asks for the
    -- watermark. If it finds no row of this part, it moves the cursor over those of other parts, which it also finds.
    mine.turn := gen_random_uuid();
    RETURN QUERY
    WITH batch AS (
        SELECT s.id, s.message FROM settled AS s
        WHERE s.id > mine.last AND s.hash % mine.parts = mine.part ORDER BY s.id LIMIT greatest(max_rows, 1)
    ), taken AS (
        UPDATE cursors AS c
        SET turn = mine.turn, upto = (SELECT b.id FROM batch AS b ORDER BY b.id DESC LIMIT 1),
            leased_until = clock_timestamp() + lease
        WHERE c.consumer = mine.consumer AND c.part = mine.part AND EXISTS (SELECT FROM batch)
    ), skipped AS (
        UPDATE cursors AS c
        SET last = newest.id, updated_at = clock_timestamp(), turn = NULL, upto = NULL, leased_until = NULL
        FROM (SELECT s.id FROM settled AS s WHERE s.id > mine.last ORDER BY s.id DESC LIMIT 1) AS newest
        WHERE c.consumer = mine.consumer AND c.part = mine.part AND NOT EXISTS (SELECT FROM batch)
    )
    SELECT mine.turn, b.message FROM batch AS b ORDER BY b.id;
END
$$;

-- Moves the cursor to the end of the batch, or to the ID `upto` in it, and gives the part back. Raises an error if
-- another worker has the part by now, or has had it.
CREATE FUNCTION acknowledge(turn uuid, upto :id_type DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE cursors AS c SET last = coalesce(acknowledge.upto, c.upto), updated_at = clock_timestamp(),
        turn = NULL, upto = NULL, leased_until = NULL
    WHERE c.turn = acknowledge.turn AND coalesce(acknowledge.upto, c.upto) >= c.last
        AND coalesce(acknowledge.upto, c.upto) <= c.upto;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'this turn is over, or does not have the ID',
            HINT = 'Roll back, and get the next batch.';
    END IF;
END
$$;

-- What each part has not processed. It counts up to 100,000 rows.
CREATE VIEW lag AS
SELECT c.consumer, c.part, c.last, c.updated_at, c.leased_until, unread.rows,
    coalesce(clock_timestamp() - unread.since, '0') AS behind
FROM cursors AS c, LATERAL (
    SELECT count(*) AS rows, min(f.generated_at) AS since FROM (
        SELECT s.generated_at FROM settled AS s
        WHERE s.id > c.last AND s.hash % c.parts = c.part ORDER BY s.id LIMIT 100000) AS f) AS unread;
COMMIT;
