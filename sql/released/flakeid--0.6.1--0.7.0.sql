\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.7.0'" to load this file. \quit

SELECT flakeid_require_library('0.7.0'::pg_catalog.text);

-- COPY inserts many rows at once although a column has the default X_next().

CREATE FUNCTION flakeid_next_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_next_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_next_support(internal) IS 'planner support for the functions X_next';

CREATE FUNCTION flake_next_for_copy(internal) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_next_for_copy_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next_for_copy(internal) IS 'what COPY calls for flake_next() in a default; SQL cannot call it';

ALTER FUNCTION flake_next() SUPPORT flakeid_next_support;

CREATE FUNCTION sno_next_for_copy(meta integer, internal) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_next_for_copy_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_next_for_copy(integer, internal) IS 'what COPY calls for sno_next() in a default; SQL cannot call it';

ALTER FUNCTION sno_next(integer) SUPPORT flakeid_next_support;

CREATE FUNCTION flake128_next_for_copy(internal) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_next_for_copy_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_next_for_copy(internal) IS 'what COPY calls for flake128_next() in a default; SQL cannot call it';

ALTER FUNCTION flake128_next() SUPPORT flakeid_next_support;

CREATE FUNCTION guid_next_for_copy(drift interval, inverse boolean, internal) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_next_for_copy_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_next_for_copy(interval, boolean, internal) IS 'what COPY calls for guid_next() in a default; SQL cannot call it';

ALTER FUNCTION guid_next(interval, boolean) SUPPORT flakeid_next_support;

CREATE FUNCTION guid_local_next_for_copy(drift interval, inverse boolean, internal) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_next_for_copy_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_next_for_copy(interval, boolean, internal) IS 'what COPY calls for guid_local_next() in a default; SQL cannot call it';

ALTER FUNCTION guid_local_next(interval, boolean) SUPPORT flakeid_next_support;

CREATE FUNCTION uniqueid_next_for_copy(mode uniqueid_mode, internal) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_next_for_copy_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_next_for_copy(uniqueid_mode, internal) IS 'what COPY calls for uniqueid_next() in a default; SQL cannot call it';

ALTER FUNCTION uniqueid_next(uniqueid_mode) SUPPORT flakeid_next_support;

-- flake_decode gets a column. DROP FUNCTION would fail if a view or an index of a user depends on it, and CREATE OR
-- REPLACE refuses another row. So this adds the column in the catalog, at the end: what depends on the function names
-- its columns by their number.

UPDATE pg_catalog.pg_proc SET
        proallargtypes = pg_catalog.array_append(proallargtypes, 'pg_catalog.int4'::pg_catalog.regtype::pg_catalog.oid),
        proargmodes = pg_catalog.array_append(proargmodes, 'o'::pg_catalog."char"),
        proargnames = pg_catalog.array_append(proargnames, 'generator_id'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'flake_decode(bigint)'::pg_catalog.regprocedure::pg_catalog.oid
        OR oid OPERATOR(pg_catalog.=) 'flake_decode(bigint, timestamptz)'::pg_catalog.regprocedure::pg_catalog.oid;

-- What users of the sno library look for.

CREATE FUNCTION sno_meta(id sno) RETURNS integer
    AS 'MODULE_PATHNAME', 'sno_meta_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_meta(sno) IS 'the byte of meta in a sno';

CREATE FUNCTION sno_with_meta(id sno, meta integer) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_with_meta_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_meta(sno, integer) IS 'the sno with another byte of meta';

-- Lines of the configuration files that are not in effect.

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

-- The watermark: the time before which every ID is settled, for readers in ID order.

CREATE FUNCTION flakeid_watermark() RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_watermark_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_watermark()
    IS 'time before which this server''s IDs are settled: no row that this statement does not see appears later with an earlier ID';

CREATE FUNCTION pg_stat_get_flakeid_watermark(
    OUT pid integer,
    OUT xid xid,
    OUT database_oid oid,
    OUT first_id_at timestamptz,
    OUT watermark timestamptz
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'pg_stat_get_flakeid_watermark_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION pg_stat_get_flakeid_watermark()
    IS 'statistics: source of the view pg_stat_flakeid_watermark';

CREATE VIEW pg_stat_flakeid_watermark AS
    SELECT
        holder.pid,
        prepared.gid,
        holder.xid,
        coalesce(prepared.database, database.datname) AS database,
        holder.first_id_at,
        holder.watermark
    FROM pg_stat_get_flakeid_watermark() AS holder
        LEFT JOIN pg_catalog.pg_prepared_xacts AS prepared
            ON holder.pid IS NULL AND prepared.transaction OPERATOR(pg_catalog.=) holder.xid
        LEFT JOIN pg_catalog.pg_database AS database
            ON database.oid OPERATOR(pg_catalog.=) holder.database_oid;
COMMENT ON VIEW pg_stat_flakeid_watermark
    IS 'statistics: one row for each transaction that has generated IDs and holds the watermark back';

REVOKE ALL ON FUNCTION pg_stat_get_flakeid_watermark() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid_watermark FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid_watermark() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid_watermark TO pg_monitor;
