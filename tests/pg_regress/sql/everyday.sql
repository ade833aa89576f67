-- What applications do with tables of IDs, of every type alike: each statement is run for each of
-- them, and where they agree their outcomes are one row.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\set kinds :folder '/include/kinds.sql'
\i :kinds

\echo -- keys that refer to keys ----------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_parent (id <type> DEFAULT <next> PRIMARY KEY, nr integer UNIQUE);
    CREATE TABLE <name>_child (id <type> DEFAULT <next> PRIMARY KEY, nr integer,
        parent <type> NOT NULL REFERENCES <name>_parent ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO <name>_parent (nr) SELECT generate_series(1, 10);
    INSERT INTO <name>_child (nr, parent) SELECT nr, id FROM <name>_parent, generate_series(1, 3);
    SELECT count(*), count(DISTINCT child.id) AS distinct_ids,
        count(DISTINCT parent.id) AS distinct_parents
    FROM <name>_child AS child JOIN <name>_parent AS parent ON child.parent = parent.id
    AND child.nr = parent.nr
$$);
\echo '-- A parent''s new ID is its children''s, and those of one that is deleted go.'
SELECT * FROM pg_temp.each($$
    UPDATE <name>_parent SET id = <next> WHERE nr <= 5;
    DELETE FROM <name>_parent WHERE nr IN (1, 10);
    SELECT count(*), count(*) FILTER (WHERE child.nr = parent.nr),
        bool_and((parent.nr <= 5) = (child.parent > child.id)) AS later
    FROM <name>_child AS child JOIN <name>_parent AS parent ON child.parent = parent.id
$$);
SELECT * FROM pg_temp.each('INSERT INTO <name>_child (parent) VALUES (<a>) RETURNING id');
SELECT * FROM pg_temp.each($$
    ALTER TABLE <name>_child DROP CONSTRAINT <name>_child_parent_fkey,
    ADD CONSTRAINT kept FOREIGN KEY (parent) REFERENCES <name>_parent;
    SELECT 'no cascade'
$$);
SELECT * FROM pg_temp.each('DELETE FROM <name>_parent RETURNING id');
SELECT * FROM pg_temp.each('UPDATE <name>_parent SET id = <next> RETURNING id');
\echo '-- A deferred one is looked at in the end: a child may come before its parent.'
SELECT * FROM pg_temp.each($$
    ALTER TABLE <name>_child ALTER CONSTRAINT kept DEFERRABLE;
    SET CONSTRAINTS ALL DEFERRED;
    INSERT INTO <name>_child (parent) VALUES (<a>);
    INSERT INTO <name>_parent VALUES (<a>, 11);
    SET CONSTRAINTS ALL IMMEDIATE;
    SELECT count(*) FROM <name>_child WHERE parent = <a>
$$);
SELECT * FROM pg_temp.each($$
    SET CONSTRAINTS ALL DEFERRED;
    INSERT INTO <name>_child (parent) VALUES (<b>);
    SET CONSTRAINTS ALL IMMEDIATE;
    SELECT count(*) FROM <name>_child WHERE parent = <b>
$$);
\echo -- Two keys can change places where the key is deferrable.
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_place (id <type> UNIQUE DEFERRABLE, name text);
    INSERT INTO <name>_place VALUES (<a>, 'a'), (<b>, 'b');
    UPDATE <name>_place SET id = CASE id WHEN <a> THEN <b> ELSE <a> END;
    SELECT string_agg(name, '' ORDER BY id) FROM <name>_place
$$);

\echo -- a row that is there, and one that is not -----------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_stock (id <type> DEFAULT <next> PRIMARY KEY, amount integer NOT NULL);
    INSERT INTO <name>_stock VALUES (<a>, 1), (<b>, 2);
    INSERT INTO <name>_stock AS stock VALUES (<a>, 10), (<c>, 30)
        ON CONFLICT (id) DO UPDATE SET amount = stock.amount + excluded.amount;
    INSERT INTO <name>_stock VALUES (<b>, 100) ON CONFLICT DO NOTHING;
    INSERT INTO <name>_stock VALUES (<b>, 100) ON CONFLICT (id) DO NOTHING;
    INSERT INTO <name>_stock VALUES (<a>, 0)
        ON CONFLICT ON CONSTRAINT <name>_stock_pkey DO UPDATE SET amount = 50
        WHERE excluded.id = <b>;
    SELECT array_agg(amount ORDER BY id) FROM <name>_stock
$$);
SELECT * FROM pg_temp.each('INSERT INTO <name>_stock VALUES (<a>, 1), (<a>, 2)
    ON CONFLICT (id) DO UPDATE SET amount = 0 RETURNING id');
SELECT * FROM pg_temp.each('INSERT INTO <name>_stock VALUES (<a>, 1) RETURNING id');
\echo -- The new rows get their IDs from the default.
SELECT * FROM pg_temp.each($$
    MERGE INTO <name>_stock AS stock
    USING (VALUES (<a>, 5), (<b>, 0), (NULL, 7), (NULL, 8))
        AS arrived (id, amount) ON stock.id = arrived.id
    WHEN MATCHED AND arrived.amount = 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET amount = stock.amount + arrived.amount
    WHEN NOT MATCHED AND arrived.amount > 7 THEN INSERT (amount) VALUES (arrived.amount)
    WHEN NOT MATCHED THEN INSERT VALUES (<next>, arrived.amount);
    SELECT array_agg(amount ORDER BY id), count(DISTINCT id) FROM <name>_stock
$$);

\echo -- what was made comes back ---------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_line (part_of <type>, nr integer, id <type> DEFAULT <next>,
        PRIMARY KEY (part_of, nr), UNIQUE (id, part_of));
    WITH head AS (INSERT INTO <name>_stock (amount) VALUES (1000), (2000) RETURNING id, amount),
        lines AS (INSERT INTO <name>_line (part_of, nr) SELECT head.id, nr FROM head,
        generate_series(1, 3) AS nr RETURNING *)
    SELECT count(*), count(DISTINCT id), count(DISTINCT part_of),
        bool_and(lines.id > lines.part_of) AS later FROM lines
$$);
SELECT * FROM pg_temp.each($$
    WITH gone AS (DELETE FROM <name>_line AS line USING <name>_stock AS stock
            WHERE part_of = stock.id AND amount = 2000 AND nr = 1 RETURNING line.*),
        kept AS (INSERT INTO <name>_line SELECT part_of, nr + 10, id FROM gone RETURNING *)
    SELECT (SELECT count(*) FROM kept), (kept.part_of, kept.nr - 10, kept.id) = (gone.part_of,
        gone.nr, gone.id) FROM gone, kept
$$);
SELECT * FROM pg_temp.each($$
    WITH changed AS (UPDATE <name>_line AS line SET id = <next> FROM <name>_stock AS stock
            WHERE part_of = stock.id AND amount = 1000 RETURNING line.id, part_of)
    SELECT count(*), count(DISTINCT changed.id), bool_and(changed.id > line.id) AS later
    FROM changed JOIN <name>_line AS line USING (part_of)
$$);
\echo -- A composite key, as a whole and by its first part.
SELECT * FROM pg_temp.each($$
    INSERT INTO <name>_line VALUES (<a>, 1, <a>), (<a>, 2, <b>), (<b>, 1, <c>);
    SELECT array_agg(id ORDER BY part_of, nr) = ARRAY[<a>, <b>],
        array_agg(nr ORDER BY (part_of, id) DESC)
    FROM <name>_line WHERE (part_of, nr) >= (<a>, 1) AND (part_of, nr) < (<b>, 1)
$$);
SELECT * FROM pg_temp.each('INSERT INTO <name>_line VALUES (<a>, 1) RETURNING nr');
SELECT * FROM pg_temp.each('INSERT INTO <name>_line VALUES (<a>, 3, <a>) RETURNING nr');

\echo -- groups, sets, windows ------------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_seen (id <type>, day integer);
    INSERT INTO <name>_seen VALUES (<a>, 1), (<b>, 1), (<a>, 2), (<c>, 2), (NULL, 2), (<a>, 3);
    SELECT count(DISTINCT id), (SELECT array_agg(count ORDER BY id)
        FROM (SELECT id, count(*) FROM <name>_seen GROUP BY id) AS groups),
        (SELECT array_agg(id) FROM (SELECT DISTINCT ON (id) id, day FROM <name>_seen ORDER BY id,
        day DESC) AS latest)
            = ARRAY[<a>, <b>, <c>, NULL],
        (SELECT count(*) FROM (SELECT id, day FROM <name>_seen GROUP BY ROLLUP (id, day)) AS rolled)
    FROM <name>_seen
$$);
SELECT * FROM pg_temp.each($$
    WITH first AS (SELECT id FROM <name>_seen WHERE day = 1),
        second AS (SELECT id FROM <name>_seen WHERE day = 2)
    SELECT (SELECT array_agg(id ORDER BY id) = ARRAY[<a>, <b>, <c>, NULL]
        FROM (TABLE first UNION TABLE second) AS of_both),
        (SELECT array_agg(id) = ARRAY[<a>] FROM (TABLE first INTERSECT TABLE second) AS of_both),
        (SELECT array_agg(id ORDER BY id) = ARRAY[<c>, NULL]
        FROM (TABLE second EXCEPT TABLE first) AS second_alone),
        (SELECT count(*) FROM (SELECT id FROM <name>_seen EXCEPT ALL SELECT <a>) AS e) AS except_all
$$);
\echo -- The same by sorting and by hashing, alone and joined.
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_way (way text, answer text);
    SET LOCAL enable_hashagg = off; SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_nestloop = off;
    INSERT INTO <name>_way SELECT 'sorted', array_agg((id, count) ORDER BY id)::text
    FROM (SELECT x.id, count(*) FROM <name>_seen AS x JOIN <name>_seen AS y USING (id)
        GROUP BY x.id) AS counted;
    SET LOCAL enable_hashagg = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_sort = off;
    SET LOCAL enable_mergejoin = off;
    INSERT INTO <name>_way SELECT 'hashed', array_agg((id, count) ORDER BY id)::text
    FROM (SELECT x.id, count(*) FROM <name>_seen AS x JOIN <name>_seen AS y USING (id)
        GROUP BY x.id) AS counted;
    RESET enable_nestloop; RESET enable_sort; RESET enable_mergejoin;
    SELECT count(*), count(DISTINCT answer), array_length(min(answer)::text[], 1) FROM <name>_way
$$);
SELECT * FROM pg_temp.each($$
    SELECT array_agg(rank ORDER BY day, id), array_agg(first = <a> ORDER BY day, id),
        array_agg(before = <a> ORDER BY day, id),
        array_agg(so_far ORDER BY day, id)
    FROM (SELECT id, day, rank() OVER (ORDER BY id), first_value(id) OVER day AS first,
        lag(id) OVER day AS before,
            count(*) OVER (ORDER BY id RANGE UNBOUNDED PRECEDING) AS so_far
        FROM <name>_seen WINDOW day AS (PARTITION BY day ORDER BY id)) AS windows
$$);

\echo -- columns beside it ----------------------------------------------------------------------
CREATE TYPE state AS ENUM ('new', 'paid', 'sent');
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_bill (nr integer GENERATED ALWAYS AS IDENTITY, id <type> DEFAULT <next>,
        state state DEFAULT 'new',
        text text GENERATED ALWAYS AS (id::text) STORED,
        latest <type> GENERATED ALWAYS AS (greatest(id, <b>)) STORED,
            PRIMARY KEY (id, state));
    INSERT INTO <name>_bill (id) VALUES (<c>), (<a>), (DEFAULT);
    UPDATE <name>_bill SET state = 'sent', id = CASE id WHEN <a> THEN <b> ELSE id END WHERE nr < 3;
    SELECT array_agg(nr ORDER BY id, state),
        bool_and(text = id::text AND latest = greatest(id, <b>)),
        array_agg(state ORDER BY nr) FROM <name>_bill
$$);
SELECT * FROM pg_temp.each('INSERT INTO <name>_bill (latest) VALUES (<a>) RETURNING nr');

\echo -- functions and triggers -----------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_note (id <type> PRIMARY KEY, line text);
    CREATE TABLE <name>_audit (what text, ids <type>[]);
    CREATE FUNCTION <name>_give() RETURNS trigger LANGUAGE plpgsql AS $trigger$
    BEGIN
        new.id := coalesce(new.id, <next>);
        RETURN new;
    END
    $trigger$;
    CREATE FUNCTION <name>_remember() RETURNS trigger LANGUAGE plpgsql AS $trigger$
    DECLARE
        -- Filled by the statement that the trigger is of.
        made <type>[] := (SELECT array_agg(id ORDER BY id) FROM changed);
    BEGIN
        INSERT INTO <name>_audit VALUES (tg_op, made);
        RETURN NULL;
    END
    $trigger$;
    CREATE TRIGGER give BEFORE INSERT ON <name>_note FOR EACH ROW EXECUTE FUNCTION <name>_give();
    CREATE TRIGGER remember AFTER INSERT ON <name>_note REFERENCING NEW TABLE
    AS changed FOR EACH STATEMENT
        EXECUTE FUNCTION <name>_remember();
    CREATE TRIGGER forget AFTER DELETE ON <name>_note REFERENCING OLD TABLE
    AS changed FOR EACH STATEMENT
        EXECUTE FUNCTION <name>_remember();
    INSERT INTO <name>_note (line) SELECT generate_series(1, 4);
    INSERT INTO <name>_note VALUES (<a>, 'a'), (<b>, 'b');
    DELETE FROM <name>_note WHERE id <= <b>;
    SELECT (SELECT string_agg(line, ' ' ORDER BY id) FROM <name>_note),
        array_agg(what || cardinality(ids) ORDER BY what, ids),
        bool_or(ids = ARRAY[<a>, <b>] AND what = 'DELETE') FROM <name>_audit
$$);
SELECT * FROM pg_temp.each($$
    CREATE FUNCTION <name>_work(wanted integer) RETURNS text LANGUAGE plpgsql AS $work$
    DECLARE
        id <type>;
        last <name>_note.id%TYPE := <a>;
        note <name>_note;
        ids <type>[];
        risen integer := 0;
        lines CURSOR FOR SELECT * FROM <name>_note WHERE line LIKE 'work%' ORDER BY <name>_note.id;
    BEGIN
        FOR i IN 1 .. wanted LOOP
            INSERT INTO <name>_note (line) VALUES ('work ' || i)
            RETURNING <name>_note.id INTO STRICT id;
            risen := risen + (id > last)::integer;
            last := id;
            ids := ids || id;
        END LOOP;
        FOREACH id IN ARRAY ids LOOP
            -- A row that is there already is an error that leaves no trace but its handler's.
            BEGIN
                INSERT INTO <name>_note VALUES (id, 'twice');
            EXCEPTION WHEN unique_violation THEN
                risen := risen + 100;
            END;
        END LOOP;
        FOR note IN lines LOOP
            UPDATE <name>_note SET line = upper(line) WHERE CURRENT OF lines;
            last := note.id;
        END LOOP;
        RETURN format('%s %s %s', risen, last = ids[wanted],
        (SELECT count(*) FROM <name>_note WHERE line LIKE 'WORK%'
            AND <name>_note.id = ANY (ids)));
    END
    $work$;
    SELECT <name>_work(7)
$$);
SELECT * FROM pg_temp.each($$
    CREATE FUNCTION <name>_newer(id <type>,
        n integer DEFAULT 1) RETURNS SETOF <type> LANGUAGE sql STABLE
        BEGIN ATOMIC SELECT stock.id FROM <name>_stock AS stock WHERE stock.id > <name>_newer.id
        ORDER BY 1 LIMIT n; END;
    SELECT array_agg(id = <c>) FROM <name>_newer(<a>) AS id
$$);

\echo -- prepared statements --------------------------------------------------------------------
SET plan_cache_mode = force_generic_plan;
SELECT * FROM pg_temp.each($$
    PREPARE <name>_add (integer) AS INSERT INTO <name>_stock (amount) SELECT $1
        FROM generate_series(1, $1) RETURNING id;
    PREPARE <name>_from (<type>, <type>, <type>[]) AS SELECT array_agg(amount ORDER BY id)
        FROM <name>_stock WHERE id >= $1
        AND id <= $2 OR id = ANY ($3);
    EXECUTE <name>_add(2); EXECUTE <name>_add(3);
    EXECUTE <name>_from(<a>, <b>, ARRAY[<c>])
$$);
SELECT * FROM pg_temp.each('EXECUTE <name>_from(<c>, <c>, NULL)');
SELECT * FROM pg_temp.each('SELECT generic_plans, custom_plans,
    parameter_types[1] = $$<type>$$::regtype FROM pg_prepared_statements
    WHERE name = $$<name>_from$$');
SELECT * FROM pg_temp.each('SELECT count(*) FILTER (WHERE amount = 2),
    count(*) FILTER (WHERE amount = 3), count(*) = count(DISTINCT id) FROM <name>_stock');
DEALLOCATE ALL;
RESET plan_cache_mode;

SELECT * FROM pg_temp.each($$
    DROP FUNCTION <name>_newer;
    DROP TABLE <name>_parent, <name>_child, <name>_place, <name>_stock, <name>_line, <name>_seen,
    <name>_way, <name>_bill, <name>_note,
        <name>_audit;
    DROP FUNCTION <name>_give, <name>_remember, <name>_work;
    SELECT 'gone'
$$);
DROP TYPE state;
