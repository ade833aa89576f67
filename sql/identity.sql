-- The identity of the server.

CREATE FUNCTION flakeid_identity() RETURNS jsonb
    AS 'MODULE_PATHNAME', 'flakeid_identity_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_identity()
    IS 'the identity of this server: its generator IDs, worker, node and cluster ID, and where they come from';

-- Lines of the configuration files that are not in effect. PostgreSQL's own view of the files belongs to superusers,
-- since it shows all settings. This one shows the errors of flakeid's settings, and of the files themselves, to
-- pg_monitor. PostgreSQL reads the files again for each call.

CREATE FUNCTION flakeid_get_refused_settings(
    OUT name text,
    OUT setting text,
    OUT error text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_get_refused_settings_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION flakeid_get_refused_settings()
    IS 'settings: source of the view flakeid_settings_errors';

CREATE FUNCTION flakeid_get_settings_errors(
    OUT name text,
    OUT setting text,
    OUT sourcefile text,
    OUT sourceline integer,
    OUT error text
) RETURNS SETOF record
    LANGUAGE sql VOLATILE STRICT PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
    SET search_path TO pg_catalog, pg_temp
BEGIN ATOMIC
    WITH line AS MATERIALIZED (
        SELECT file.name, file.setting, file.sourcefile, file.sourceline, file.error
        FROM pg_catalog.pg_file_settings AS file
        WHERE file.error IS NOT NULL AND (
            file.name IS NULL OR pg_catalog.lower(file.name) OPERATOR(pg_catalog.~~) 'flakeid.%'::pg_catalog.text)
    )
    SELECT line.name, line.setting, line.sourcefile, line.sourceline, line.error
    FROM line
    UNION ALL
    SELECT refused.name, refused.setting, present.sourcefile, present.sourceline, refused.error
    FROM flakeid_get_refused_settings() AS refused
        LEFT JOIN pg_catalog.pg_settings AS present ON present.name OPERATOR(pg_catalog.=) refused.name
    WHERE NOT EXISTS (
        SELECT FROM line WHERE pg_catalog.lower(line.name) OPERATOR(pg_catalog.=) refused.name);
END;
COMMENT ON FUNCTION flakeid_get_settings_errors()
    IS 'settings: source of the view flakeid_settings_errors';

CREATE VIEW flakeid_settings_errors AS
    SELECT name, setting, sourcefile, sourceline, error FROM flakeid_get_settings_errors();
COMMENT ON VIEW flakeid_settings_errors
    IS 'settings: lines of the configuration files that are not in effect, values that flakeid refuses, and an epoch that is missing or not final';

REVOKE ALL ON FUNCTION flakeid_get_refused_settings(), flakeid_get_settings_errors() FROM PUBLIC;
REVOKE ALL ON flakeid_settings_errors FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flakeid_get_settings_errors() TO pg_monitor;
GRANT SELECT ON flakeid_settings_errors TO pg_monitor;

-- Whether the server can generate IDs now. Details of an error can name files and hosts, so this is for pg_monitor.

CREATE FUNCTION flakeid_get_readiness(
    OUT id_type text,
    OUT used boolean,
    OUT ready boolean,
    OUT sqlstate text,
    OUT error text,
    OUT detail text,
    OUT hint text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_get_readiness_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 5;
COMMENT ON FUNCTION flakeid_get_readiness()
    IS 'readiness: source of the view flakeid_readiness';

CREATE VIEW flakeid_readiness AS
    SELECT id_type, used, ready, sqlstate, error, detail, hint FROM flakeid_get_readiness();
COMMENT ON VIEW flakeid_readiness
    IS 'readiness: one row for each ID type, with the error that a session would get now; no row on a standby';

REVOKE ALL ON FUNCTION flakeid_get_readiness() FROM PUBLIC;
REVOKE ALL ON flakeid_readiness FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flakeid_get_readiness() TO pg_monitor;
GRANT SELECT ON flakeid_readiness TO pg_monitor;
