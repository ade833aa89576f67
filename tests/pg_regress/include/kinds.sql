-- The names that stand for a type, what generates its IDs, and three of them, an hour apart.
CREATE TEMP TABLE kind AS
SELECT nr, name, type, next, ids[1] AS a, ids[2] AS b, ids[3] AS c
FROM generate_series(1, 7) AS nr, LATERAL (
    SELECT (ARRAY['flake', 'sno', 'flake128', 'guid', 'guid_local', 'uniqueid', 'uuidv7'])[nr]
        AS name,
        (ARRAY['bigint', 'sno', 'flake128', 'guid', 'guid_local', 'uniqueid', 'uuid'])[nr] AS type,
        (ARRAY['flake_next()', 'sno_next(7)', 'flake128_next()', 'guid_next()', 'guid_local_next()',
        'uniqueid_next()', 'uuidv7_next()'])[nr] AS next,
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
TABLE kind;

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
CREATE FUNCTION pg_temp.each(statement text) RETURNS TABLE (outcome text, kinds text) LANGUAGE sql
    AS $$
    WITH done AS MATERIALIZED (
        SELECT nr, name, replace(pg_temp.outcome(replace(replace(replace(replace(replace(replace(
            statement, '<name>', name), '<type>', type), '<next>', next),
            '<a>', format('%L::%s', a, type)), '<b>', format('%L::%s', b, type)), '<c>',
            format('%L::%s', c, type))),
            name, '<name>') AS outcome
        FROM kind ORDER BY nr
    )
    SELECT outcome, string_agg(name, ' ' ORDER BY nr) FROM done GROUP BY outcome ORDER BY min(nr)
$$;
