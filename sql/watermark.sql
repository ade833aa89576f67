-- The watermark: the time before which every ID is settled, for readers in ID order.

CREATE FUNCTION flakeid_watermark() RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_watermark_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_watermark()
    IS 'time before which this server''s IDs are settled: no row that this statement does not see appears later with an earlier ID';

CREATE FUNCTION flakeid_watermark(stream text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_watermark_of_stream_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_watermark(text)
    IS 'flakeid_watermark() for the IDs of one stream: those of an ID type, or of a name in flakeid.streams';

CREATE PROCEDURE flakeid_wait(until timestamptz, timeout interval DEFAULT NULL)
    AS 'MODULE_PATHNAME', 'flakeid_wait_wrapper'
    LANGUAGE c;
COMMENT ON PROCEDURE flakeid_wait(timestamptz, interval)
    IS 'returns when flakeid_watermark() is later than a time; an error (55P03) if it is not after the timeout';

CREATE FUNCTION pg_stat_get_flakeid_watermark(
    OUT pid integer,
    OUT xid xid,
    OUT database_oid oid,
    OUT first_id_at timestamptz,
    OUT watermark timestamptz,
    OUT streams text[]
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
        holder.watermark,
        holder.streams
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
