-- Bounds for tables that are partitioned by range of their IDs: by day, week, month.

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval)
    IS 'when partitions of this step begin and end, and a suffix for their names: UTC and a z for a step below a day';

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval, system text)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_system_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval, text)
    IS 'times of partitions for IDs of a system, each of which can hold some';

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval, epoch timestamptz)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_epoch_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval, timestamptz)
    IS 'times of partitions for flake IDs that count from an epoch, each of which can hold some';

CREATE FUNCTION flake_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower bigint, upper bigint)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake_min(times.starts), flake_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'flake'::pg_catalog.text) AS times;
    END;
COMMENT ON FUNCTION flake_partition_bounds(timestamptz, timestamptz, interval)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';

CREATE FUNCTION flake_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval, epoch timestamptz
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower bigint, upper bigint)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake_min(times.starts, epoch), flake_min(times.ends, epoch)
        FROM flakeid_partition_times("from", "to", step, epoch) AS times;
    END;
COMMENT ON FUNCTION flake_partition_bounds(timestamptz, timestamptz, interval, timestamptz)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names, counted from an epoch';

CREATE FUNCTION sno_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower sno, upper sno)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, sno_min(times.starts), sno_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'sno'::pg_catalog.text) AS times;
    END;
COMMENT ON FUNCTION sno_partition_bounds(timestamptz, timestamptz, interval)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';

CREATE FUNCTION flake128_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower flake128, upper flake128)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake128_min(times.starts), flake128_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'flake128'::pg_catalog.text) AS times;
    END;
COMMENT ON FUNCTION flake128_partition_bounds(timestamptz, timestamptz, interval)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';

CREATE FUNCTION uniqueid_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower uniqueid, upper uniqueid)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, uniqueid_min(times.starts), uniqueid_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'uniqueid'::pg_catalog.text) AS times;
    END;
COMMENT ON FUNCTION uniqueid_partition_bounds(timestamptz, timestamptz, interval)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names; time_sequential IDs only';

CREATE FUNCTION guid_local_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval,
    drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower guid_local, upper guid_local)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends,
            CASE WHEN inverse THEN guid_local_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.ends), drift, true)
            ELSE guid_local_min(times.starts, drift) END,
            CASE WHEN inverse THEN guid_local_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.starts), drift, true)
            ELSE guid_local_min(times.ends, drift) END
        FROM flakeid_partition_times("from", "to", step, 'guid_local'::pg_catalog.text) AS times;
    END;
COMMENT ON FUNCTION guid_local_partition_bounds(timestamptz, timestamptz, interval, interval, boolean)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';

CREATE FUNCTION guid_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval,
    drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower guid, upper guid)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends,
            CASE WHEN inverse THEN guid_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.ends), drift, true)
            ELSE guid_min(times.starts, drift) END,
            CASE WHEN inverse THEN guid_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.starts), drift, true)
            ELSE guid_min(times.ends, drift) END
        FROM flakeid_partition_times("from", "to", step, 'guid'::pg_catalog.text) AS times;
    END;
COMMENT ON FUNCTION guid_partition_bounds(timestamptz, timestamptz, interval, interval, boolean)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';
