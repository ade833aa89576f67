-- The identity of the server.

CREATE FUNCTION flakeid_identity() RETURNS jsonb
    AS 'MODULE_PATHNAME', 'flakeid_identity_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_identity()
    IS 'the identity of this server: its generator IDs, worker, node and cluster ID, and where they come from';

-- Lines of the configuration files that are not in effect. PostgreSQL's own view of the files belongs to superusers,
-- since it shows all settings. This one shows the errors of flakeid's settings, and of the files themselves, to
-- pg_monitor. PostgreSQL reads the files again for each call.

CREATE FUNCTION flakeid_get_settings_errors(
    OUT name text,
    OUT setting text,
    OUT sourcefile text,
    OUT sourceline integer,
    OUT error text
) RETURNS SETOF record
    LANGUAGE sql VOLATILE STRICT PARALLEL SAFE SECURITY DEFINER ROWS 10
    SET search_path TO pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT line.name, line.setting, line.sourcefile, line.sourceline, line.error
    FROM pg_catalog.pg_file_settings AS line
    WHERE line.error IS NOT NULL AND (
        line.name IS NULL OR pg_catalog.lower(line.name) OPERATOR(pg_catalog.~~) 'flakeid.%'::pg_catalog.text);
END;
COMMENT ON FUNCTION flakeid_get_settings_errors()
    IS 'settings: source of the view flakeid_settings_errors';

CREATE VIEW flakeid_settings_errors AS
    SELECT name, setting, sourcefile, sourceline, error FROM flakeid_get_settings_errors();
COMMENT ON VIEW flakeid_settings_errors
    IS 'settings: lines of the configuration files that name no setting of flakeid, or a value that it refuses';

REVOKE ALL ON FUNCTION flakeid_get_settings_errors() FROM PUBLIC;
REVOKE ALL ON flakeid_settings_errors FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flakeid_get_settings_errors() TO pg_monitor;
GRANT SELECT ON flakeid_settings_errors TO pg_monitor;
