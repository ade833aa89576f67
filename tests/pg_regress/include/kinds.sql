-- The names that stand for a type, what generates its IDs, its tick, and three IDs, an hour apart.
CREATE TEMP TABLE kind AS
SELECT nr, name, type, next, tick, ids[1] AS a, ids[2] AS b, ids[3] AS c
FROM generate_series(1, 7) AS nr, LATERAL (
    SELECT (ARRAY['flake', 'sno', 'flake128', 'guid', 'guid_local', 'uniqueid', 'uuidv7'])[nr]
        AS name,
        (ARRAY['bigint', 'sno', 'flake128', 'guid', 'guid_local', 'uniqueid', 'uuid'])[nr] AS type,
        (ARRAY['flake_next()', 'sno_next(7)', 'flake128_next()', 'guid_next()', 'guid_local_next()',
        'uniqueid_next()', 'uuidv7_next()'])[nr] AS next,
        (ARRAY['1 ms', '4 ms', '1 ms', '133 us', '133 us', '1 ms', '1 ms'])[nr] AS tick,
        array_agg(CASE nr
            WHEN 1 THEN flake_encode(made, 0, 0, 0, '2010-01-01 00:00+00')::text
            WHEN 2 THEN sno_encode(made, 0, 7, 0, 0)::text
            WHEN 3 THEN flake128_encode(made, '08:00:2b:01:02:03', 0)::text
            WHEN 4 THEN guid_encode(made, 1, 0)::text
            WHEN 5 THEN guid_local_encode(made, 0)::text
            WHEN 6 THEN uniqueid_encode(made, 0, 0, 0, 'time_sequential')::text
            WHEN 7 THEN uuidv7_encode(made, 0, 0, 0, 0)::text
        END ORDER BY made) AS ids
    FROM generate_series('2026-07-01 00:00'::timestamptz, '2026-07-01 02:00', '1 hour') AS made
) AS kinds;

-- A statement for one kind. "[sno: 7, ]" is "7, " for the kind sno, and nothing for others.
CREATE FUNCTION pg_temp.filled(statement text, kind kind) RETURNS text LANGUAGE sql AS $$
    SELECT replace(replace(replace(replace(replace(replace(replace(
        regexp_replace(regexp_replace(statement, '\[' || kind.name || ': ([^]]*)\]', '\1', 'g'),
            '\[[a-z0-9_]+: [^]]*\]', '', 'g'),
        '<name>', kind.name), '<type>', kind.type), '<next>', kind.next), '<tick>', kind.tick),
        '<a>', format('%L::%s', kind.a, kind.type)), '<b>', format('%L::%s', kind.b, kind.type)),
        '<c>', format('%L::%s', kind.c, kind.type))
$$;
-- What a statement, or the last of several, gives: a row, or an error.
CREATE FUNCTION pg_temp.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer record;
BEGIN
    EXECUTE statement INTO answer;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE FUNCTION pg_temp.each(statement text, of text DEFAULT '.')
RETURNS TABLE (outcome text, kinds text) LANGUAGE sql AS $$
    WITH done AS MATERIALIZED (
        SELECT nr, name,
            replace(pg_temp.outcome(pg_temp.filled(statement, kind)), name, '<name>') AS outcome
        FROM kind WHERE name ~ of ORDER BY nr
    )
    SELECT outcome, string_agg(name, ' ' ORDER BY nr) FROM done GROUP BY outcome ORDER BY min(nr)
$$;
-- All rows of a statement, or of the last of several, with the names of their columns. In the
-- names of objects, <name> is for the kind.
CREATE FUNCTION pg_temp.rows_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    parts text[] := regexp_match(statement, '^(.*;)?([^;]*)$');
    answer record;
BEGIN
    EXECUTE coalesce(parts[1], '');
    FOR answer IN EXECUTE parts[2] LOOP
        RETURN QUERY SELECT string_agg(format('%s: %s', key, value), ', ')
            FROM json_each_text(to_json(answer));
    END LOOP;
END
$$;
CREATE FUNCTION pg_temp.rows(statement text, of text DEFAULT '.')
RETURNS TABLE ("row" text, kinds text) LANGUAGE sql AS $$
    WITH done AS MATERIALIZED (
        SELECT nr, name, line, regexp_replace(text, '\m' || name || '_', '<name>_', 'g') AS text
        FROM (SELECT * FROM kind WHERE name ~ of ORDER BY nr) AS kind,
            pg_temp.rows_of(pg_temp.filled(statement, kind)) WITH ORDINALITY AS answer (text, line)
    )
    SELECT text, string_agg(name, ' ' ORDER BY nr) FROM done GROUP BY line, text
    ORDER BY line, min(nr)
$$;
