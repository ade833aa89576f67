\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.4.0'" to load this file. \quit

-- What the planner is told: how many rows a comparison or a time is true of.

CREATE FUNCTION flakeid_ltsel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_ltsel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_ltsel(internal, oid, internal, integer) IS 'restriction selectivity of < and the other end of its range';

CREATE FUNCTION flakeid_lesel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_lesel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_lesel(internal, oid, internal, integer) IS 'restriction selectivity of <= and the other end of its range';

CREATE FUNCTION flakeid_gesel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_gesel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_gesel(internal, oid, internal, integer) IS 'restriction selectivity of >= and the other end of its range';

CREATE FUNCTION flakeid_gtsel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_gtsel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_gtsel(internal, oid, internal, integer) IS 'restriction selectivity of > and the other end of its range';

CREATE FUNCTION flakeid_ltjoinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_ltjoinsel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_ltjoinsel(internal, oid, internal, smallint, internal)
    IS 'join selectivity of < and the other end of its range';

CREATE FUNCTION flakeid_lejoinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_lejoinsel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_lejoinsel(internal, oid, internal, smallint, internal)
    IS 'join selectivity of <= and the other end of its range';

CREATE FUNCTION flakeid_gejoinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_gejoinsel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_gejoinsel(internal, oid, internal, smallint, internal)
    IS 'join selectivity of >= and the other end of its range';

CREATE FUNCTION flakeid_gtjoinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flakeid_gtjoinsel_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_gtjoinsel(internal, oid, internal, smallint, internal)
    IS 'join selectivity of > and the other end of its range';

ALTER OPERATOR < (sno, sno) SET (RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);
ALTER OPERATOR <= (sno, sno) SET (RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel);
ALTER OPERATOR >= (sno, sno) SET (RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);
ALTER OPERATOR > (sno, sno) SET (RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel);
ALTER OPERATOR < (flake128, flake128) SET (RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);
ALTER OPERATOR <= (flake128, flake128) SET (RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel);
ALTER OPERATOR >= (flake128, flake128) SET (RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);
ALTER OPERATOR > (flake128, flake128) SET (RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel);
ALTER OPERATOR < (guid_local, guid_local) SET (RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);
ALTER OPERATOR <= (guid_local, guid_local) SET (RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel);
ALTER OPERATOR >= (guid_local, guid_local) SET (RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);
ALTER OPERATOR > (guid_local, guid_local) SET (RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel);
ALTER OPERATOR < (guid, guid) SET (RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);
ALTER OPERATOR <= (guid, guid) SET (RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel);
ALTER OPERATOR >= (guid, guid) SET (RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);
ALTER OPERATOR > (guid, guid) SET (RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel);
ALTER OPERATOR < (uniqueid, uniqueid) SET (RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);
ALTER OPERATOR <= (uniqueid, uniqueid) SET (RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel);
ALTER OPERATOR >= (uniqueid, uniqueid) SET (RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);
ALTER OPERATOR > (uniqueid, uniqueid) SET (RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel);

-- A time that is NULL is asked of no row.

CREATE OR REPLACE FUNCTION guid_local_lt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange(NULL, "time") END)
        AND flakeid_recheck(guid_local_timestamp(id) < "time");

CREATE OR REPLACE FUNCTION guid_local_le_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange(NULL, "time", '(]') END)
        AND flakeid_recheck(guid_local_timestamp(id) <= "time");

CREATE OR REPLACE FUNCTION guid_local_eq_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange("time", "time", '[]') END)
        AND flakeid_recheck(guid_local_timestamp(id) = "time");

CREATE OR REPLACE FUNCTION guid_local_ge_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange("time", NULL) END)
        AND flakeid_recheck(guid_local_timestamp(id) >= "time");

CREATE OR REPLACE FUNCTION guid_local_gt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange("time", NULL) END)
        AND flakeid_recheck(guid_local_timestamp(id) > "time");

CREATE OR REPLACE FUNCTION guid_lt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange(NULL, "time") END)
        AND flakeid_recheck(guid_timestamp(id) < "time");

CREATE OR REPLACE FUNCTION guid_le_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange(NULL, "time", '(]') END)
        AND flakeid_recheck(guid_timestamp(id) <= "time");

CREATE OR REPLACE FUNCTION guid_eq_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange("time", "time", '[]') END)
        AND flakeid_recheck(guid_timestamp(id) = "time");

CREATE OR REPLACE FUNCTION guid_ge_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange("time", NULL) END)
        AND flakeid_recheck(guid_timestamp(id) >= "time");

CREATE OR REPLACE FUNCTION guid_gt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange("time", NULL) END)
        AND flakeid_recheck(guid_timestamp(id) > "time");

-- What indexes ask of every type beside its comparison.

-- btree: sorting by keys of a machine word, and the neighbours of a value ---------------------------

CREATE FUNCTION sno_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'sno_sortsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_sortsupport(internal) IS 'sort support';

CREATE FUNCTION sno_skipsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'sno_skipsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_skipsupport(internal) IS 'skip support';

ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 2 (sno, sno) sno_sortsupport(internal);

CREATE FUNCTION flake128_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'flake128_sortsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_sortsupport(internal) IS 'sort support';

CREATE FUNCTION flake128_skipsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'flake128_skipsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_skipsupport(internal) IS 'skip support';

ALTER OPERATOR FAMILY flake128_ops USING btree ADD FUNCTION 2 (flake128, flake128) flake128_sortsupport(internal);

CREATE FUNCTION guid_local_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'guid_local_sortsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_sortsupport(internal) IS 'sort support';

CREATE FUNCTION guid_local_skipsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'guid_local_skipsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_skipsupport(internal) IS 'skip support';

ALTER OPERATOR FAMILY guid_local_ops USING btree ADD FUNCTION 2 (guid_local, guid_local) guid_local_sortsupport(internal);

CREATE FUNCTION guid_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'guid_sortsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_sortsupport(internal) IS 'sort support';

CREATE FUNCTION guid_skipsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'guid_skipsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_skipsupport(internal) IS 'skip support';

ALTER OPERATOR FAMILY guid_ops USING btree ADD FUNCTION 2 (guid, guid) guid_sortsupport(internal);

CREATE FUNCTION uniqueid_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'uniqueid_sortsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_sortsupport(internal) IS 'sort support';

CREATE FUNCTION uniqueid_skipsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME', 'uniqueid_skipsupport_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_skipsupport(internal) IS 'skip support';

ALTER OPERATOR FAMILY uniqueid_ops USING btree ADD FUNCTION 2 (uniqueid, uniqueid) uniqueid_sortsupport(internal);

-- Before 18 a btree asks no such question, and its operator classes refuse the answer.
DO $$
DECLARE
    id text;
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        FOREACH id IN ARRAY ARRAY['sno', 'flake128', 'guid_local', 'guid', 'uniqueid'] LOOP
            EXECUTE format(
                'ALTER OPERATOR FAMILY %1$s_ops USING btree
                    ADD FUNCTION 6 (%1$s, %1$s) %1$s_skipsupport(internal)',
                id);
        END LOOP;
    END IF;
END $$;

-- BRIN: several ranges for a range of blocks, for a table that is not quite in the order of its IDs ---

CREATE FUNCTION sno_minmax_multi_distance(internal, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'sno_minmax_multi_distance_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_minmax_multi_distance(internal, internal) IS 'BRIN multi minmax sno distance';

CREATE OPERATOR CLASS sno_minmax_multi_ops FOR TYPE sno USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 sno_minmax_multi_distance(internal, internal);
COMMENT ON OPERATOR CLASS sno_minmax_multi_ops USING brin
    IS 'several pairs of smallest and largest sno of a range of blocks';

CREATE FUNCTION flake128_minmax_multi_distance(internal, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'flake128_minmax_multi_distance_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_minmax_multi_distance(internal, internal) IS 'BRIN multi minmax flake128 distance';

CREATE OPERATOR CLASS flake128_minmax_multi_ops FOR TYPE flake128 USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 flake128_minmax_multi_distance(internal, internal);
COMMENT ON OPERATOR CLASS flake128_minmax_multi_ops USING brin
    IS 'several pairs of smallest and largest flake128 of a range of blocks';

CREATE FUNCTION guid_local_minmax_multi_distance(internal, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'guid_local_minmax_multi_distance_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_minmax_multi_distance(internal, internal) IS 'BRIN multi minmax guid_local distance';

CREATE OPERATOR CLASS guid_local_minmax_multi_ops FOR TYPE guid_local USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 guid_local_minmax_multi_distance(internal, internal);
COMMENT ON OPERATOR CLASS guid_local_minmax_multi_ops USING brin
    IS 'several pairs of smallest and largest guid_local of a range of blocks';

CREATE FUNCTION guid_minmax_multi_distance(internal, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'guid_minmax_multi_distance_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_minmax_multi_distance(internal, internal) IS 'BRIN multi minmax guid distance';

CREATE OPERATOR CLASS guid_minmax_multi_ops FOR TYPE guid USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 guid_minmax_multi_distance(internal, internal);
COMMENT ON OPERATOR CLASS guid_minmax_multi_ops USING brin
    IS 'several pairs of smallest and largest guid of a range of blocks';

CREATE FUNCTION uniqueid_minmax_multi_distance(internal, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'uniqueid_minmax_multi_distance_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_minmax_multi_distance(internal, internal) IS 'BRIN multi minmax uniqueid distance';

CREATE OPERATOR CLASS uniqueid_minmax_multi_ops FOR TYPE uniqueid USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 uniqueid_minmax_multi_distance(internal, internal);
COMMENT ON OPERATOR CLASS uniqueid_minmax_multi_ops USING brin
    IS 'several pairs of smallest and largest uniqueid of a range of blocks';

-- Bounds for tables that are partitioned by range of their IDs: by day, week, month.

CREATE FUNCTION flakeid_partition_times("from" timestamptz, "to" timestamptz, step interval)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_partition_times_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION flakeid_partition_times(timestamptz, timestamptz, interval)
    IS 'when partitions of this step begin and end, and a suffix for their names';

CREATE FUNCTION flake_partition_bounds(
    "from" timestamptz, "to" timestamptz, step interval
)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower bigint, upper bigint)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
    BEGIN ATOMIC
        SELECT times.name, times.starts, times.ends, flake_min(times.starts), flake_min(times.ends)
        FROM flakeid_partition_times("from", "to", step) AS times;
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
        FROM flakeid_partition_times("from", "to", step) AS times;
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
        FROM flakeid_partition_times("from", "to", step) AS times;
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
        FROM flakeid_partition_times("from", "to", step) AS times;
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
        FROM flakeid_partition_times("from", "to", step) AS times;
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
            CASE WHEN inverse THEN guid_local_range_min(tstzrange(NULL, times.ends), drift, true)
            ELSE guid_local_min(times.starts, drift) END, 
            CASE WHEN inverse THEN guid_local_range_min(tstzrange(NULL, times.starts), drift, true)
            ELSE guid_local_min(times.ends, drift) END
        FROM flakeid_partition_times("from", "to", step) AS times;
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
            CASE WHEN inverse THEN guid_range_min(tstzrange(NULL, times.ends), drift, true)
            ELSE guid_min(times.starts, drift) END, 
            CASE WHEN inverse THEN guid_range_min(tstzrange(NULL, times.starts), drift, true)
            ELSE guid_min(times.ends, drift) END
        FROM flakeid_partition_times("from", "to", step) AS times;
    END;
COMMENT ON FUNCTION guid_partition_bounds(timestamptz, timestamptz, interval, interval, boolean)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';
