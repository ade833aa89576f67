-- Times at which partitions begin and end, for tables that are partitioned by ranges of IDs: by day, week or month.

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval)
    IS 'when partitions of this step begin and end, and a suffix for their names: UTC and a z for a step below a day';

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval, id_type text)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_system_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval, text)
    IS 'times of partitions for an ID type; an error for a partition that can hold no ID';

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval, epoch timestamptz)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_epoch_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval, timestamptz)
    IS 'times of partitions for flake IDs with an epoch; an error for a partition that can hold no ID';
