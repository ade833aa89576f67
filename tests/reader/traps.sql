-- Fills the schema flakeid_reader, in which the functions are already, with traps: an operator for each name that their
-- bodies have, and functions with the names of all that they call. Where a body has other types than PostgreSQL's
-- operator or function takes, or than ours takes, a trap with just those types would be the better match. No trap has a
-- comment, and each function of the file has one.

SET search_path = pg_catalog;
CREATE SCHEMA traps;

DO $do$
DECLARE
    types text[] := ARRAY['bigint', 'integer', 'numeric', 'double precision', 'text', 'bytea', 'bit', 'boolean', 'uuid',
        'interval', 'timestamptz', 'timestamp', 'tstzrange'];
    bodies text;
    trap record;
    count integer := 0;
BEGIN
    SELECT string_agg(pg_get_functiondef(oid), ' ') INTO bodies
    FROM pg_proc WHERE pronamespace = 'flakeid_reader'::regnamespace;
    FOR trap IN
        SELECT left_type, right_type FROM unnest(types) AS l (left_type), unnest(types) AS r (right_type)
    LOOP
        EXECUTE format('CREATE FUNCTION traps.trap(%s, %s) RETURNS boolean LANGUAGE sql RETURN true', trap.left_type,
            trap.right_type);
    END LOOP;
    FOR trap IN
        SELECT oprname, left_type, right_type
        FROM (SELECT DISTINCT oprname FROM pg_operator WHERE strpos(bodies, ' ' || oprname || ' ') > 0) AS operators,
            unnest(types) AS l (left_type), unnest(types) AS r (right_type)
    LOOP
        EXECUTE format('CREATE OPERATOR flakeid_reader.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = traps.trap)',
            trap.oprname, trap.left_type, trap.right_type);
        count := count + 1;
    END LOOP;
    FOR trap IN
        -- PostgreSQL's names.
        SELECT name, arguments
        FROM (SELECT DISTINCT (regexp_matches(bodies, '\m([a-z_0-9]+)\(', 'g'))[1]) AS called (name),
            (SELECT a FROM unnest(types) AS a UNION ALL SELECT a || ', ' || b FROM unnest(types) AS a, unnest(types) AS b)
                AS of (arguments)
        WHERE name IN (SELECT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace)
        UNION
        -- Our names, with other types of numbers in some places.
        SELECT proname, concat_ws(', ', a, b, c, d)
        FROM (
            SELECT proname, pronargs,
                ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) AS of (type)) AS own
            FROM pg_proc WHERE pronamespace = 'flakeid_reader'::regnamespace AND pronargs > 0
        ) AS ours,
            unnest(ARRAY['bigint', 'integer', 'numeric', own[1]]) AS of_a (a),
            unnest(CASE WHEN pronargs >= 2 THEN ARRAY['bigint', 'integer', 'numeric', own[2]] ELSE '{NULL}' END) AS of_b (b),
            unnest(CASE WHEN pronargs >= 3 THEN ARRAY['bigint', 'integer', 'numeric', own[3]] ELSE '{NULL}' END) AS of_c (c),
            unnest(CASE WHEN pronargs >= 4 THEN ARRAY['bigint', 'integer', 'numeric', own[4]] ELSE '{NULL}' END) AS of_d (d)
    LOOP
        CONTINUE WHEN to_regprocedure(format('flakeid_reader.%I(%s)', trap.name, trap.arguments)) IS NOT NULL;
        EXECUTE format('CREATE FUNCTION flakeid_reader.%I(%s) RETURNS boolean LANGUAGE sql RETURN true', trap.name,
            trap.arguments);
        count := count + 1;
    END LOOP;
    IF count < 5000 THEN
        RAISE 'only % traps', count;
    END IF;
END
$do$;
