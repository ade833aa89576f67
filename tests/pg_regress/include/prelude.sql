\set ECHO errors
-- What each file of ../sql begins with. The expected output has the comments, which a file prints
-- by \echo, and the results, but not the statements, except one that fails.
\pset format unaligned
\pset fieldsep ' | '
\pset footer off
SET timezone TO 'UTC';
SET datestyle TO ISO;

-- What the server says to expressions, or statements, that it refuses: a row for each.
CREATE FUNCTION pg_temp.refused(VARIADIC expressions text[])
RETURNS TABLE (expression text, state text, message text, detail text, hint text)
LANGUAGE plpgsql AS $$
BEGIN
    FOREACH expression IN ARRAY expressions LOOP
        BEGIN
            EXECUTE CASE WHEN expression ~ '^(INSERT|SELECT) ' THEN '' ELSE 'SELECT ' END
                || expression;
            message := 'accepted';
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS state := RETURNED_SQLSTATE, message := MESSAGE_TEXT,
                detail := PG_EXCEPTION_DETAIL, hint := PG_EXCEPTION_HINT;
            -- Of a function or operator that does not exist, PostgreSQL's versions differ in these.
            IF message ~ '^(function .*|operator) does not exist' THEN
                detail := '';
                hint := '';
            END IF;
        END;
        expression := regexp_replace(expression, '\n\s+', ' ', 'g');
        RETURN NEXT;
    END LOOP;
END
$$;

-- The row that each expression, or query of one row, gives.
CREATE FUNCTION pg_temp.results(VARIADIC expressions text[])
RETURNS TABLE (expression text, result text)
LANGUAGE plpgsql AS $$
DECLARE
    answer record;
BEGIN
    FOREACH expression IN ARRAY expressions LOOP
        EXECUTE 'SELECT ' || expression INTO STRICT answer;
        result := CASE WHEN (SELECT count(*) FROM json_object_keys(to_json(answer))) = 1
            THEN replace(regexp_replace(answer::text, '^\(("?)(.*)\1\)$', '\2'), '""', '"')
            ELSE answer::text END;
        expression := regexp_replace(expression, '\n\s+', ' ', 'g');
        RETURN NEXT;
    END LOOP;
END
$$;

-- How many of 1000 new IDs have a time that is not the time at which they are generated. "call" is
-- the time of a new ID, and "tick" is the unit to which it is cut.
CREATE FUNCTION pg_temp.not_of_now(call text, tick interval) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    before timestamptz;
    made timestamptz;
    wrong integer := 0;
BEGIN
    FOR i IN 1..1000 LOOP
        before := clock_timestamp() - tick;
        EXECUTE 'SELECT ' || call INTO made;
        IF (made > before AND made <= clock_timestamp()) IS NOT TRUE THEN
            wrong := wrong + 1;
        END IF;
    END LOOP;
    RETURN wrong;
END
$$;
