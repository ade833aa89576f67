\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.6.1'" to load this file. \quit

SELECT flakeid_require_library('0.6.1'::pg_catalog.text);

-- 0.6.0 named no schema where it called PostgreSQL's functions and operators, so that these definitions could
-- have taken functions and operators of the extension's schema for them. Replaced, they depend on PostgreSQL's
-- and on the extension's alone.

CREATE OR REPLACE FUNCTION guid_local_within(
    id guid_local, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= guid_local_range_min(times, drift, inverse) AND id <= guid_local_range_max(times, drift, inverse)
        AND flakeid_recheck(guid_local_timestamp(id, inverse) OPERATOR(pg_catalog.<@) times);

CREATE OR REPLACE FUNCTION guid_local_lt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time") END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.<) "time");

CREATE OR REPLACE FUNCTION guid_local_le_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time", '(]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.<=) "time");

CREATE OR REPLACE FUNCTION guid_local_eq_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", "time", '[]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.=) "time");

CREATE OR REPLACE FUNCTION guid_local_ge_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.>=) "time");

CREATE OR REPLACE FUNCTION guid_local_gt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.>) "time");

CREATE OR REPLACE FUNCTION guid_local_ne_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_timestamp(id, false) OPERATOR(pg_catalog.<>) "time";

CREATE OR REPLACE FUNCTION guid_local_in_times(id guid_local, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, times) AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.<@) times);

CREATE OR REPLACE FUNCTION guid_within(
    id guid, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= guid_range_min(times, drift, inverse) AND id <= guid_range_max(times, drift, inverse)
        AND flakeid_recheck(guid_timestamp(id, inverse) OPERATOR(pg_catalog.<@) times);

CREATE OR REPLACE FUNCTION guid_lt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time") END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.<) "time");

CREATE OR REPLACE FUNCTION guid_le_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time", '(]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.<=) "time");

CREATE OR REPLACE FUNCTION guid_eq_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", "time", '[]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.=) "time");

CREATE OR REPLACE FUNCTION guid_ge_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.>=) "time");

CREATE OR REPLACE FUNCTION guid_gt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.>) "time");

CREATE OR REPLACE FUNCTION guid_ne_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_timestamp(id, false) OPERATOR(pg_catalog.<>) "time";

CREATE OR REPLACE FUNCTION guid_in_times(id guid, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, times) AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.<@) times);

-- Before a time is no negative ID: it is of the second half of the format's time.

CREATE OR REPLACE FUNCTION flake_before(id bigint, "time" timestamptz) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>=) bigint '0' AND id OPERATOR(pg_catalog.<) flake_min("time");

CREATE OR REPLACE FUNCTION flake_before(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>=) bigint '0' AND id OPERATOR(pg_catalog.<) flake_min("time", epoch);

-- Partitions that no ID of an ID type can be in are an error; the guids' could have taken foreign functions, too.

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

CREATE OR REPLACE FUNCTION flake_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower bigint, upper bigint)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake_min(times.starts), flake_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'flake'::pg_catalog.text) AS times;
    END;

CREATE OR REPLACE FUNCTION flake_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval, epoch timestamptz
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower bigint, upper bigint)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake_min(times.starts, epoch), flake_min(times.ends, epoch)
        FROM flakeid_partition_times("from", "to", step, epoch) AS times;
    END;

CREATE OR REPLACE FUNCTION sno_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower sno, upper sno)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, sno_min(times.starts), sno_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'sno'::pg_catalog.text) AS times;
    END;

CREATE OR REPLACE FUNCTION flake128_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower flake128, upper flake128)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake128_min(times.starts), flake128_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'flake128'::pg_catalog.text) AS times;
    END;

CREATE OR REPLACE FUNCTION uniqueid_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower uniqueid, upper uniqueid)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, uniqueid_min(times.starts), uniqueid_min(times.ends)
        FROM flakeid_partition_times("from", "to", step, 'uniqueid'::pg_catalog.text) AS times;
    END;

CREATE OR REPLACE FUNCTION guid_local_partition_bounds(
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

CREATE OR REPLACE FUNCTION guid_partition_bounds(
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

-- Writes of the state file are counted, and those that fail.

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

REVOKE ALL ON FUNCTION pg_stat_get_flakeid_horizon() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid_horizon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid_horizon() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid_horizon TO pg_monitor;

-- The functions behind sno's time operators have the comment that those of the other ID types have.
COMMENT ON FUNCTION sno_lt_time(sno, timestamptz) IS 'implementation of < operator';
COMMENT ON FUNCTION sno_le_time(sno, timestamptz) IS 'implementation of <= operator';
COMMENT ON FUNCTION sno_eq_time(sno, timestamptz) IS 'implementation of = operator';
COMMENT ON FUNCTION sno_ge_time(sno, timestamptz) IS 'implementation of >= operator';
COMMENT ON FUNCTION sno_gt_time(sno, timestamptz) IS 'implementation of > operator';
COMMENT ON FUNCTION sno_ne_time(sno, timestamptz) IS 'implementation of <> operator';
COMMENT ON FUNCTION time_lt_sno(timestamptz, sno) IS 'implementation of < operator';
COMMENT ON FUNCTION time_le_sno(timestamptz, sno) IS 'implementation of <= operator';
COMMENT ON FUNCTION time_eq_sno(timestamptz, sno) IS 'implementation of = operator';
COMMENT ON FUNCTION time_ge_sno(timestamptz, sno) IS 'implementation of >= operator';
COMMENT ON FUNCTION time_gt_sno(timestamptz, sno) IS 'implementation of > operator';
COMMENT ON FUNCTION time_ne_sno(timestamptz, sno) IS 'implementation of <> operator';
COMMENT ON FUNCTION sno_in_times(sno, tstzrange) IS 'implementation of <@ operator';
COMMENT ON FUNCTION times_of_sno(tstzrange, sno) IS 'implementation of @> operator';

-- Comments in the words of the glossary.

COMMENT ON FUNCTION flakeid_require_library(text)
    IS 'an error if the loaded library is older than this version; called first by install and update scripts';
COMMENT ON FUNCTION flakeid_recheck(boolean)
    IS 'the condition itself, with a high estimated selectivity';
COMMENT ON FUNCTION flakeid_identity()
    IS 'the identity of this server: its generator IDs, worker, node and cluster ID, and where they come from';
COMMENT ON FUNCTION pg_stat_get_flakeid()
    IS 'statistics: source of the view pg_stat_flakeid';
COMMENT ON VIEW pg_stat_flakeid
    IS 'statistics: one row for each ID type and generator ID with which this server has generated IDs since it started';
COMMENT ON FUNCTION pg_stat_get_flakeid_lease()
    IS 'statistics: source of the view pg_stat_flakeid_lease';
COMMENT ON VIEW pg_stat_flakeid_lease
    IS 'statistics: this server''s lease of generator IDs from etcd; no row if it leases none';
COMMENT ON FUNCTION flakeid_snapshot()
    IS 'state of each sno generator ID, as the snapshot of the sno library: times in units of 4 ms since 2010';
COMMENT ON FUNCTION flakeid_accept_clock()
    IS 'allow new IDs after you have checked that the server''s clock is right and past all IDs generated here';

-- Columns of the views in the words of the glossary. A view of a user knows a column, and an argument that a
-- function returns, by its number: renamed in place they stay what they are to it. Nothing is dropped. There is no
-- command that renames arguments; CREATE OR REPLACE refuses to.

ALTER VIEW pg_stat_flakeid RENAME COLUMN system TO id_type;
ALTER VIEW pg_stat_flakeid RENAME COLUMN first_of_sequence TO sequence_min;
ALTER VIEW pg_stat_flakeid RENAME COLUMN last_of_sequence TO sequence_max;
UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(pg_catalog.array_replace(pg_catalog.array_replace(proargnames,
        'system'::pg_catalog.text, 'id_type'::pg_catalog.text),
        'first_of_sequence'::pg_catalog.text, 'sequence_min'::pg_catalog.text),
        'last_of_sequence'::pg_catalog.text, 'sequence_max'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'pg_stat_get_flakeid()'::pg_catalog.regprocedure::pg_catalog.oid;
CREATE OR REPLACE VIEW pg_stat_flakeid AS
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

ALTER VIEW pg_stat_flakeid_lease RENAME COLUMN wanted TO generator_ids_wanted;
ALTER VIEW pg_stat_flakeid_lease RENAME COLUMN lease TO lease_id;
ALTER VIEW pg_stat_flakeid_lease RENAME COLUMN since TO leased_at;
ALTER VIEW pg_stat_flakeid_lease RENAME COLUMN ceiling TO high_water_mark;
UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(pg_catalog.array_replace(pg_catalog.array_replace(pg_catalog.array_replace(proargnames,
        'wanted'::pg_catalog.text, 'generator_ids_wanted'::pg_catalog.text),
        'lease'::pg_catalog.text, 'lease_id'::pg_catalog.text),
        'since'::pg_catalog.text, 'leased_at'::pg_catalog.text),
        'ceiling'::pg_catalog.text, 'high_water_mark'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'pg_stat_get_flakeid_lease()'::pg_catalog.regprocedure::pg_catalog.oid;
CREATE OR REPLACE VIEW pg_stat_flakeid_lease AS
    SELECT
        state,
        generator_ids_wanted,
        generator_ids,
        cluster_id,
        lease_id,
        leased_at,
        renewed_at,
        high_water_mark,
        pg_catalog.make_interval(secs => remaining_seconds) AS remaining,
        losses,
        lost_at,
        endpoint,
        last_error,
        last_error_at,
        worker_pid
    FROM pg_stat_get_flakeid_lease();

-- So are the arguments of functions for the fields of an ID. A view or an index of a user that uses such a function
-- keeps working.

UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(pg_catalog.array_replace(proargnames,
        'generator'::pg_catalog.text, 'generator_id'::pg_catalog.text),
        'cluster'::pg_catalog.text, 'cluster_id'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'uniqueid_decode(uniqueid)'::pg_catalog.regprocedure::pg_catalog.oid;
UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(pg_catalog.array_replace(proargnames,
        'generator'::pg_catalog.text, 'generator_id'::pg_catalog.text),
        'cluster'::pg_catalog.text, 'cluster_id'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'uniqueid_encode(timestamptz, integer, integer, integer, uniqueid_mode)'::pg_catalog.regprocedure::pg_catalog.oid;
UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(proargnames,
        'tick'::pg_catalog.text, 'tick_tock'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'sno_decode(sno)'::pg_catalog.regprocedure::pg_catalog.oid;
UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(proargnames,
        'tick'::pg_catalog.text, 'tick_tock'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'sno_encode(timestamptz, integer, integer, integer, integer)'::pg_catalog.regprocedure::pg_catalog.oid;
UPDATE pg_catalog.pg_proc SET proargnames = pg_catalog.array_replace(proargnames,
        'tick'::pg_catalog.text, 'tick_tock'::pg_catalog.text)
    WHERE oid OPERATOR(pg_catalog.=) 'flakeid_snapshot()'::pg_catalog.regprocedure::pg_catalog.oid;
COMMENT ON FUNCTION sno_decode(sno) IS 'the fields of a sno; tick_tock is the bit of its timeline';
