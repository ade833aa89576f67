-- Statistics of the IDs that the server has generated, and the function that accepts the clock.

CREATE FUNCTION pg_stat_get_flakeid(
    OUT id_type text,
    OUT generator_id integer,
    OUT ids bigint,
    OUT ticks_exhausted bigint,
    OUT spills bigint,
    OUT waits bigint,
    OUT wait_seconds double precision,
    OUT clock_steps_back bigint,
    OUT largest_step_back_seconds double precision,
    OUT tick_tocks bigint,
    OUT last_tick bigint,
    OUT last_tick_at timestamptz,
    OUT last_sequence integer,
    OUT sequence_min integer,
    OUT sequence_max integer,
    OUT gate timestamptz,
    OUT gate_lead_seconds double precision,
    OUT horizon_written_at timestamptz,
    OUT horizon_write_seconds double precision,
    OUT stats_reset timestamptz
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'pg_stat_get_flakeid_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 16;
COMMENT ON FUNCTION pg_stat_get_flakeid()
    IS 'statistics: source of the view pg_stat_flakeid';

CREATE VIEW pg_stat_flakeid AS
    SELECT
        id_type,
        generator_id,
        ids,
        ticks_exhausted,
        spills,
        waits,
        pg_catalog.make_interval(secs => wait_seconds) AS wait_time,
        clock_steps_back,
        pg_catalog.make_interval(secs => largest_step_back_seconds) AS largest_step_back,
        tick_tocks,
        last_tick,
        last_tick_at,
        last_sequence,
        sequence_min,
        sequence_max,
        gate,
        pg_catalog.make_interval(secs => gate_lead_seconds) AS gate_lead,
        horizon_written_at,
        pg_catalog.make_interval(secs => horizon_write_seconds) AS horizon_write_time,
        stats_reset
    FROM pg_stat_get_flakeid();
COMMENT ON VIEW pg_stat_flakeid
    IS 'statistics: one row for each ID type and generator ID with which this server has generated IDs since it started';

CREATE FUNCTION pg_stat_get_flakeid_horizon(
    OUT writes bigint,
    OUT written_at timestamptz,
    OUT write_seconds double precision,
    OUT failures bigint,
    OUT failed_at timestamptz,
    OUT last_failure text,
    OUT stats_reset timestamptz
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'pg_stat_get_flakeid_horizon_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION pg_stat_get_flakeid_horizon()
    IS 'statistics: source of the view pg_stat_flakeid_horizon';

CREATE VIEW pg_stat_flakeid_horizon AS
    SELECT
        writes,
        written_at,
        pg_catalog.make_interval(secs => write_seconds) AS write_time,
        failures,
        failed_at,
        last_failure,
        stats_reset
    FROM pg_stat_get_flakeid_horizon();
COMMENT ON VIEW pg_stat_flakeid_horizon
    IS 'statistics: writes of the state file, and those that failed; one row, also if no IDs were generated';

CREATE FUNCTION flakeid_snapshot(
    OUT partition integer,
    OUT sequence_min integer,
    OUT sequence_max integer,
    OUT sequence integer,
    OUT now bigint,
    OUT wall_hi bigint,
    OUT wall_safe bigint,
    OUT drifts bigint,
    OUT tick_tock smallint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_snapshot_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 8;
COMMENT ON FUNCTION flakeid_snapshot()
    IS 'state of each sno generator ID, as the snapshot of the sno library: times in units of 4 ms since 2010';

CREATE FUNCTION pg_stat_reset_flakeid() RETURNS void
    AS 'MODULE_PATHNAME', 'pg_stat_reset_flakeid_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_reset_flakeid()
    IS 'statistics: reset what pg_stat_flakeid counts';

CREATE FUNCTION flakeid_accept_clock() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_accept_clock_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid_accept_clock()
    IS 'allow new IDs after you have checked that the server''s clock is right and past all IDs generated here';

REVOKE ALL ON FUNCTION pg_stat_get_flakeid(), flakeid_snapshot(), pg_stat_reset_flakeid(), flakeid_accept_clock() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid(), flakeid_snapshot() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid TO pg_monitor;

REVOKE ALL ON FUNCTION pg_stat_get_flakeid_horizon() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid_horizon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid_horizon() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid_horizon TO pg_monitor;
