\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.8.0'" to load this file. \quit

SELECT flakeid_require_library('0.8.0'::pg_catalog.text);

-- What replaces a comparison of an ID with a time by conditions about the ID: src/planner/predicate.rs.

CREATE FUNCTION flakeid_before_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_before_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_before_support(internal) IS 'planner support for id < time';

CREATE FUNCTION flakeid_until_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_until_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_until_support(internal) IS 'planner support for id <= time';

CREATE FUNCTION flakeid_at_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_at_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_at_support(internal) IS 'planner support for id = time';

CREATE FUNCTION flakeid_since_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_since_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_since_support(internal) IS 'planner support for id >= time';

CREATE FUNCTION flakeid_after_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_after_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_after_support(internal) IS 'planner support for id > time';

CREATE FUNCTION flakeid_not_at_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_not_at_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_not_at_support(internal) IS 'planner support for id <> time';

CREATE FUNCTION flakeid_within_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_within_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_within_support(internal) IS 'planner support for id <@ times';

CREATE FUNCTION flakeid_between_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_between_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_between_support(internal) IS 'planner support for X_between';


-- The comparisons of an ID with a time were SQL functions, which PostgreSQL did not inline if the time was an expensive
-- expression.

CREATE OR REPLACE FUNCTION flake_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_between_wrapper'
    LANGUAGE c STABLE LEAKPROOF PARALLEL SAFE SUPPORT flakeid_between_support;
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated from one time to another, both included';

CREATE OR REPLACE FUNCTION flake_between(id bigint, "from" timestamptz, "to" timestamptz, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_between_epoch_wrapper'
    LANGUAGE c IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT flakeid_between_support;
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz, timestamptz)
    IS 'whether a flake ID was generated from one time to another, both included, counted from an epoch';

CREATE OR REPLACE FUNCTION flake_within(id bigint, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_within_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION flake_within(bigint, tstzrange)
    IS 'whether a flake ID was generated within a range of times';

CREATE OR REPLACE FUNCTION flake_within(id bigint, times tstzrange, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_within_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION flake_within(bigint, tstzrange, timestamptz)
    IS 'whether a flake ID was generated within a range of times, counted from an epoch';

CREATE OR REPLACE FUNCTION flake_before(id bigint, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_before_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;
COMMENT ON FUNCTION flake_before(bigint, timestamptz)
    IS 'whether a flake ID was generated before a time';

CREATE OR REPLACE FUNCTION flake_before(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_before_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;
COMMENT ON FUNCTION flake_before(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated before a time, counted from an epoch';

CREATE FUNCTION flake_since(id bigint, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_since_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;
COMMENT ON FUNCTION flake_since(bigint, timestamptz)
    IS 'whether a flake ID was generated at or after a time';

CREATE FUNCTION flake_since(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_since_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;
COMMENT ON FUNCTION flake_since(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated at or after a time, counted from an epoch';

CREATE OR REPLACE FUNCTION flake_after(id bigint, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_after_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;
COMMENT ON FUNCTION flake_after(bigint, timestamptz)
    IS 'whether a flake ID was generated after a time';

CREATE OR REPLACE FUNCTION flake_after(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_after_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;
COMMENT ON FUNCTION flake_after(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated after a time, counted from an epoch';

CREATE OR REPLACE FUNCTION sno_lt_time(id sno, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_lt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION sno_le_time(id sno, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_le_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION sno_eq_time(id sno, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_eq_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION sno_ge_time(id sno, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_ge_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION sno_gt_time(id sno, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_gt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION sno_ne_time(id sno, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_ne_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION time_lt_sno("time" timestamptz, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_lt_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION time_le_sno("time" timestamptz, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_le_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION time_eq_sno("time" timestamptz, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_eq_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION time_ge_sno("time" timestamptz, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ge_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION time_gt_sno("time" timestamptz, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_gt_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION time_ne_sno("time" timestamptz, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ne_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION sno_in_times(id sno, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION sno_in_times(sno, tstzrange) IS 'implementation of <@ operator';

CREATE OR REPLACE FUNCTION times_of_sno(times tstzrange, id sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'times_of_sno_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION times_of_sno(tstzrange, sno) IS 'implementation of @> operator';

CREATE OR REPLACE FUNCTION flake128_lt_time(id flake128, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_lt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION flake128_le_time(id flake128, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_le_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION flake128_eq_time(id flake128, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_eq_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION flake128_ge_time(id flake128, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_ge_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION flake128_gt_time(id flake128, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_gt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION flake128_ne_time(id flake128, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_ne_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION time_lt_flake128("time" timestamptz, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_lt_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION time_le_flake128("time" timestamptz, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_le_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION time_eq_flake128("time" timestamptz, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_eq_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION time_ge_flake128("time" timestamptz, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ge_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION time_gt_flake128("time" timestamptz, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_gt_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION time_ne_flake128("time" timestamptz, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ne_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION flake128_in_times(id flake128, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION flake128_in_times(flake128, tstzrange) IS 'implementation of <@ operator';

CREATE OR REPLACE FUNCTION times_of_flake128(times tstzrange, id flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'times_of_flake128_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION times_of_flake128(tstzrange, flake128) IS 'implementation of @> operator';

CREATE FUNCTION guid_local_recheck(id guid_local, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_recheck(guid_local, tstzrange)
    IS 'whether a guid_local was generated within a range of times; the planner calls it for <@';

CREATE FUNCTION guid_local_recheck(id guid_local, times tstzrange, drift interval, inverse boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_within_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_recheck(guid_local, tstzrange, interval, boolean)
    IS 'whether a guid_local of this drift was generated within a range of times; the planner calls it for guid_local_within';

CREATE OR REPLACE FUNCTION guid_local_within(
    id guid_local, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_within_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION guid_local_within(guid_local, tstzrange, interval, boolean)
    IS 'whether a guid_local of this drift was generated within a range of times';

CREATE OR REPLACE FUNCTION guid_local_lt_time(id guid_local, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_lt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION guid_local_le_time(id guid_local, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_le_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION guid_local_eq_time(id guid_local, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_eq_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION guid_local_ge_time(id guid_local, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_ge_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION guid_local_gt_time(id guid_local, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_gt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION guid_local_ne_time(id guid_local, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_ne_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION time_lt_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_lt_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION time_le_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_le_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION time_eq_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_eq_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION time_ge_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ge_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION time_gt_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_gt_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION time_ne_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ne_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION guid_local_in_times(id guid_local, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION guid_local_in_times(guid_local, tstzrange) IS 'implementation of <@ operator';

CREATE OR REPLACE FUNCTION times_of_guid_local(times tstzrange, id guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'times_of_guid_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION times_of_guid_local(tstzrange, guid_local) IS 'implementation of @> operator';

CREATE FUNCTION guid_recheck(id guid, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_recheck(guid, tstzrange)
    IS 'whether a guid was generated within a range of times; the planner calls it for <@';

CREATE FUNCTION guid_recheck(id guid, times tstzrange, drift interval, inverse boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_within_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_recheck(guid, tstzrange, interval, boolean)
    IS 'whether a guid of this drift was generated within a range of times; the planner calls it for guid_within';

CREATE OR REPLACE FUNCTION guid_within(
    id guid, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_within_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION guid_within(guid, tstzrange, interval, boolean)
    IS 'whether a guid of this drift was generated within a range of times';

CREATE OR REPLACE FUNCTION guid_lt_time(id guid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_lt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION guid_le_time(id guid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_le_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION guid_eq_time(id guid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_eq_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION guid_ge_time(id guid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_ge_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION guid_gt_time(id guid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_gt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION guid_ne_time(id guid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_ne_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION time_lt_guid("time" timestamptz, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_lt_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION time_le_guid("time" timestamptz, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_le_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION time_eq_guid("time" timestamptz, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_eq_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION time_ge_guid("time" timestamptz, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ge_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION time_gt_guid("time" timestamptz, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_gt_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION time_ne_guid("time" timestamptz, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ne_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION guid_in_times(id guid, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION guid_in_times(guid, tstzrange) IS 'implementation of <@ operator';

CREATE OR REPLACE FUNCTION times_of_guid(times tstzrange, id guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'times_of_guid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION times_of_guid(tstzrange, guid) IS 'implementation of @> operator';

CREATE OR REPLACE FUNCTION uniqueid_lt_time(id uniqueid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_lt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION uniqueid_le_time(id uniqueid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_le_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION uniqueid_eq_time(id uniqueid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_eq_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION uniqueid_ge_time(id uniqueid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_ge_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION uniqueid_gt_time(id uniqueid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_gt_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION uniqueid_ne_time(id uniqueid, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_ne_time_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION time_lt_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_lt_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;

CREATE OR REPLACE FUNCTION time_le_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_le_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_since_support;

CREATE OR REPLACE FUNCTION time_eq_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_eq_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_at_support;

CREATE OR REPLACE FUNCTION time_ge_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ge_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_until_support;

CREATE OR REPLACE FUNCTION time_gt_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_gt_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;

CREATE OR REPLACE FUNCTION time_ne_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'time_ne_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_not_at_support;

CREATE OR REPLACE FUNCTION uniqueid_in_times(id uniqueid, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_in_times_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION uniqueid_in_times(uniqueid, tstzrange) IS 'implementation of <@ operator';

CREATE OR REPLACE FUNCTION times_of_uniqueid(times tstzrange, id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'times_of_uniqueid_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION times_of_uniqueid(tstzrange, uniqueid) IS 'implementation of @> operator';

DROP FUNCTION guid_near(guid, tstzrange), guid_local_near(guid_local, tstzrange);
-- A parallel query generates its IDs in the leader, in the order of its rows.

ALTER FUNCTION flake_next() PARALLEL RESTRICTED;
ALTER FUNCTION flake_next_batch(integer) PARALLEL RESTRICTED;
ALTER FUNCTION flake_next_for_copy(internal) PARALLEL RESTRICTED;
ALTER FUNCTION sno_next(integer) PARALLEL RESTRICTED;
ALTER FUNCTION sno_next_batch(integer, integer) PARALLEL RESTRICTED;
ALTER FUNCTION sno_next_for_copy(integer, internal) PARALLEL RESTRICTED;
ALTER FUNCTION flake128_next() PARALLEL RESTRICTED;
ALTER FUNCTION flake128_next_batch(integer) PARALLEL RESTRICTED;
ALTER FUNCTION flake128_next_for_copy(internal) PARALLEL RESTRICTED;
ALTER FUNCTION guid_next(interval, boolean) PARALLEL RESTRICTED;
ALTER FUNCTION guid_next_batch(integer, interval, boolean) PARALLEL RESTRICTED;
ALTER FUNCTION guid_next_for_copy(interval, boolean, internal) PARALLEL RESTRICTED;
ALTER FUNCTION guid_local_next(interval, boolean) PARALLEL RESTRICTED;
ALTER FUNCTION guid_local_next_batch(integer, interval, boolean) PARALLEL RESTRICTED;
ALTER FUNCTION guid_local_next_for_copy(interval, boolean, internal) PARALLEL RESTRICTED;
ALTER FUNCTION uniqueid_next(uniqueid_mode) PARALLEL RESTRICTED;
ALTER FUNCTION uniqueid_next_batch(integer, uniqueid_mode) PARALLEL RESTRICTED;
ALTER FUNCTION uniqueid_next_for_copy(uniqueid_mode, internal) PARALLEL RESTRICTED;
-- A function is LEAKPROOF if it reveals nothing about its arguments but by its result. Then PostgreSQL uses an index
-- also in a table with row-level security.

ALTER FUNCTION sno_out(sno) LEAKPROOF;
ALTER FUNCTION sno_send(sno) LEAKPROOF;
ALTER FUNCTION sno_to_bytea(sno) LEAKPROOF;
ALTER FUNCTION sno_smaller(sno, sno) LEAKPROOF;
ALTER FUNCTION sno_larger(sno, sno) LEAKPROOF;
ALTER FUNCTION sno_decode(sno) LEAKPROOF;
ALTER FUNCTION sno_timestamp(sno) LEAKPROOF;
ALTER FUNCTION sno_min(timestamptz) LEAKPROOF;
ALTER FUNCTION sno_max(timestamptz) LEAKPROOF;
ALTER FUNCTION sno_range_min(tstzrange) LEAKPROOF;
ALTER FUNCTION sno_range_max(tstzrange) LEAKPROOF;
ALTER FUNCTION flake128_out(flake128) LEAKPROOF;
ALTER FUNCTION flake128_send(flake128) LEAKPROOF;
ALTER FUNCTION flake128_to_bytea(flake128) LEAKPROOF;
ALTER FUNCTION flake128_smaller(flake128, flake128) LEAKPROOF;
ALTER FUNCTION flake128_larger(flake128, flake128) LEAKPROOF;
ALTER FUNCTION flake128_decode(flake128) LEAKPROOF;
ALTER FUNCTION flake128_timestamp(flake128) LEAKPROOF;
ALTER FUNCTION flake128_min(timestamptz) LEAKPROOF;
ALTER FUNCTION flake128_max(timestamptz) LEAKPROOF;
ALTER FUNCTION flake128_range_min(tstzrange) LEAKPROOF;
ALTER FUNCTION flake128_range_max(tstzrange) LEAKPROOF;
ALTER FUNCTION guid_local_out(guid_local) LEAKPROOF;
ALTER FUNCTION guid_local_send(guid_local) LEAKPROOF;
ALTER FUNCTION guid_local_to_bytea(guid_local) LEAKPROOF;
ALTER FUNCTION guid_local_smaller(guid_local, guid_local) LEAKPROOF;
ALTER FUNCTION guid_local_larger(guid_local, guid_local) LEAKPROOF;
ALTER FUNCTION guid_local_decode(guid_local, boolean) LEAKPROOF;
ALTER FUNCTION guid_local_min(timestamptz, interval) LEAKPROOF;
ALTER FUNCTION guid_local_max(timestamptz, interval) LEAKPROOF;
ALTER FUNCTION guid_local_range_min(tstzrange, interval, boolean) LEAKPROOF;
ALTER FUNCTION guid_local_range_max(tstzrange, interval, boolean) LEAKPROOF;
ALTER FUNCTION guid_local_code_min(tstzrange, integer) LEAKPROOF;
ALTER FUNCTION guid_local_code_max(tstzrange, integer) LEAKPROOF;
ALTER FUNCTION guid_diff(guid_local, guid_local) LEAKPROOF;
ALTER FUNCTION guid_out(guid) LEAKPROOF;
ALTER FUNCTION guid_send(guid) LEAKPROOF;
ALTER FUNCTION guid_to_bytea(guid) LEAKPROOF;
ALTER FUNCTION guid_smaller(guid, guid) LEAKPROOF;
ALTER FUNCTION guid_larger(guid, guid) LEAKPROOF;
ALTER FUNCTION guid_decode(guid, boolean) LEAKPROOF;
ALTER FUNCTION guid_min(timestamptz, interval) LEAKPROOF;
ALTER FUNCTION guid_max(timestamptz, interval) LEAKPROOF;
ALTER FUNCTION guid_range_min(tstzrange, interval, boolean) LEAKPROOF;
ALTER FUNCTION guid_range_max(tstzrange, interval, boolean) LEAKPROOF;
ALTER FUNCTION guid_code_min(tstzrange, integer) LEAKPROOF;
ALTER FUNCTION guid_code_max(tstzrange, integer) LEAKPROOF;
ALTER FUNCTION guid_diff(guid, guid) LEAKPROOF;
ALTER FUNCTION uniqueid_out(uniqueid) LEAKPROOF;
ALTER FUNCTION uniqueid_send(uniqueid) LEAKPROOF;
ALTER FUNCTION uniqueid_to_bytea(uniqueid) LEAKPROOF;
ALTER FUNCTION uniqueid_smaller(uniqueid, uniqueid) LEAKPROOF;
ALTER FUNCTION uniqueid_larger(uniqueid, uniqueid) LEAKPROOF;
ALTER FUNCTION uniqueid_decode(uniqueid) LEAKPROOF;
ALTER FUNCTION uniqueid_min(timestamptz) LEAKPROOF;
ALTER FUNCTION uniqueid_max(timestamptz) LEAKPROOF;
ALTER FUNCTION uniqueid_range_min(tstzrange) LEAKPROOF;
ALTER FUNCTION uniqueid_range_max(tstzrange) LEAKPROOF;
ALTER FUNCTION sno_meta(sno) LEAKPROOF;
ALTER FUNCTION sno_to_uuid(sno) LEAKPROOF;
ALTER FUNCTION flake128_to_uuid(flake128) LEAKPROOF;
ALTER FUNCTION flake128_from_uuid(uuid) LEAKPROOF;
ALTER FUNCTION flake128_to_numeric(flake128) LEAKPROOF;
ALTER FUNCTION guid_local(guid) LEAKPROOF;
ALTER FUNCTION flake_decode(bigint) LEAKPROOF;
ALTER FUNCTION flake_decode(bigint, timestamptz) LEAKPROOF;
ALTER FUNCTION flake_timestamp(bigint) LEAKPROOF;
ALTER FUNCTION flake_timestamp(bigint, timestamptz) LEAKPROOF;
ALTER FUNCTION flake_min(timestamptz) LEAKPROOF;
ALTER FUNCTION flake_min(timestamptz, timestamptz) LEAKPROOF;
ALTER FUNCTION flake_max(timestamptz) LEAKPROOF;
ALTER FUNCTION flake_max(timestamptz, timestamptz) LEAKPROOF;
ALTER FUNCTION flake_range_min(tstzrange) LEAKPROOF;
ALTER FUNCTION flake_range_min(tstzrange, timestamptz) LEAKPROOF;
ALTER FUNCTION flake_range_max(tstzrange) LEAKPROOF;
ALTER FUNCTION flake_range_max(tstzrange, timestamptz) LEAKPROOF;

-- Casts. PostgreSQL's own ones to and from text take the place of these: they also assign an ID to a string. No view or
-- index depends on a cast: its expression names the function, or the types alone.

DROP CAST (sno AS text);
DROP CAST (text AS sno);
DROP CAST (sno AS bytea);
CREATE CAST (sno AS bytea) WITH FUNCTION sno_to_bytea(sno) AS ASSIGNMENT;
COMMENT ON CAST (sno AS bytea) IS 'the ten bytes of a sno';
DROP CAST (flake128 AS text);
DROP CAST (text AS flake128);
DROP CAST (flake128 AS bytea);
CREATE CAST (flake128 AS bytea) WITH FUNCTION flake128_to_bytea(flake128) AS ASSIGNMENT;
COMMENT ON CAST (flake128 AS bytea) IS 'the 16 bytes of a flake128';
DROP CAST (guid_local AS text);
DROP CAST (text AS guid_local);
DROP CAST (guid_local AS bytea);
CREATE CAST (guid_local AS bytea) WITH FUNCTION guid_local_to_bytea(guid_local) AS ASSIGNMENT;
COMMENT ON CAST (guid_local AS bytea) IS 'the 8 bytes of a guid_local';
DROP CAST (guid AS text);
DROP CAST (text AS guid);
DROP CAST (guid AS bytea);
CREATE CAST (guid AS bytea) WITH FUNCTION guid_to_bytea(guid) AS ASSIGNMENT;
COMMENT ON CAST (guid AS bytea) IS 'the 12 bytes of a guid';
DROP CAST (uniqueid AS text);
DROP CAST (text AS uniqueid);
DROP CAST (uniqueid AS bytea);
CREATE CAST (uniqueid AS bytea) WITH FUNCTION uniqueid_to_bytea(uniqueid) AS ASSIGNMENT;
COMMENT ON CAST (uniqueid AS bytea) IS 'the 8 bytes of a uniqueid';

DROP CAST (sno AS uuid);
CREATE CAST (sno AS uuid) WITH FUNCTION sno_to_uuid(sno) AS ASSIGNMENT;
COMMENT ON CAST (sno AS uuid) IS 'the sixteen characters of a sno as sixteen bytes';
DROP CAST (flake128 AS uuid);
CREATE CAST (flake128 AS uuid) WITH FUNCTION flake128_to_uuid(flake128) AS ASSIGNMENT;
COMMENT ON CAST (flake128 AS uuid) IS 'the 16 bytes of a flake128 as they are';
DROP CAST (flake128 AS numeric);
CREATE CAST (flake128 AS numeric) WITH FUNCTION flake128_to_numeric(flake128) AS ASSIGNMENT;
COMMENT ON CAST (flake128 AS numeric) IS 'a flake128 as a number';
DROP CAST (numeric AS flake128);
CREATE CAST (numeric AS flake128) WITH FUNCTION flake128_from_numeric(numeric) AS ASSIGNMENT;
COMMENT ON CAST (numeric AS flake128) IS 'the flake128 that is this number';

CREATE FUNCTION flake128_from_integer(integer) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_from_integer_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_from_integer(integer) IS 'an error: an integer is no flake128';

CREATE FUNCTION flake128_from_integer(bigint) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_from_integer_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_from_integer(bigint) IS 'an error: a bigint is no flake128';

CREATE CAST (integer AS flake128) WITH FUNCTION flake128_from_integer(integer) AS ASSIGNMENT;
COMMENT ON CAST (integer AS flake128) IS 'an error: an integer is no flake128';
CREATE CAST (bigint AS flake128) WITH FUNCTION flake128_from_integer(bigint) AS ASSIGNMENT;
COMMENT ON CAST (bigint AS flake128) IS 'an error: a bigint is no flake128';

-- Comments.

COMMENT ON FUNCTION flake_timestamp(bigint) IS 'when a flake ID was generated, counted from flakeid.epoch';
COMMENT ON FUNCTION flake_timestamp(bigint, timestamptz) IS 'when a flake ID was generated, counted from an epoch';
COMMENT ON FUNCTION flake_at(timestamptz, bigint)
    IS 'the flake ID of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick)';
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated from one time to another, both included';
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz, timestamptz)
    IS 'whether a flake ID was generated from one time to another, both included, counted from an epoch';
COMMENT ON FUNCTION flake_within(bigint, tstzrange)
    IS 'whether a flake ID was generated within a range of times';
COMMENT ON FUNCTION flake_within(bigint, tstzrange, timestamptz)
    IS 'whether a flake ID was generated within a range of times, counted from an epoch';
COMMENT ON FUNCTION flake_before(bigint, timestamptz) IS 'whether a flake ID was generated before a time';
COMMENT ON FUNCTION flake_before(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated before a time, counted from an epoch';
COMMENT ON FUNCTION flake_after(bigint, timestamptz) IS 'whether a flake ID was generated after a time';
COMMENT ON FUNCTION flake_after(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated after a time, counted from an epoch';
COMMENT ON FUNCTION sno_at(timestamptz, integer, bigint)
    IS 'the sno of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick of 4 ms)';
COMMENT ON FUNCTION sno_timestamp(sno) IS 'when a sno was generated';
COMMENT ON OPERATOR < (sno, timestamptz) IS 'was generated before';
COMMENT ON OPERATOR <= (sno, timestamptz) IS 'was generated at or before';
COMMENT ON OPERATOR = (sno, timestamptz) IS 'was generated exactly at';
COMMENT ON OPERATOR >= (sno, timestamptz) IS 'was generated at or after';
COMMENT ON OPERATOR > (sno, timestamptz) IS 'was generated after';
COMMENT ON OPERATOR <> (sno, timestamptz) IS 'was generated at another time than';
COMMENT ON OPERATOR <@ (sno, tstzrange) IS 'was generated within';
COMMENT ON FUNCTION flake128_at(timestamptz, bigint)
    IS 'an ID of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick)';
COMMENT ON FUNCTION flake128_timestamp(flake128) IS 'when a flake128 was generated';
COMMENT ON OPERATOR < (flake128, timestamptz) IS 'was generated before';
COMMENT ON OPERATOR <= (flake128, timestamptz) IS 'was generated at or before';
COMMENT ON OPERATOR = (flake128, timestamptz) IS 'was generated exactly at';
COMMENT ON OPERATOR >= (flake128, timestamptz) IS 'was generated at or after';
COMMENT ON OPERATOR > (flake128, timestamptz) IS 'was generated after';
COMMENT ON OPERATOR <> (flake128, timestamptz) IS 'was generated at another time than';
COMMENT ON OPERATOR <@ (flake128, tstzrange) IS 'was generated within';
COMMENT ON FUNCTION guid_local_decode(guid_local, boolean)
    IS 'the fields of a guid_local, generated by the named clock';
COMMENT ON FUNCTION guid_local_timestamp(guid_local, boolean) IS 'when a guid_local was generated';
COMMENT ON FUNCTION guid_local_at(timestamptz, bigint, interval, boolean)
    IS 'an ID of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick of 131 us)';
COMMENT ON FUNCTION guid_local_code_min(tstzrange, integer)
    IS 'guid_local_range_min for the drift of the nearest code from 0 to 7';
COMMENT ON FUNCTION guid_local_code_max(tstzrange, integer)
    IS 'guid_local_range_max for the drift of the nearest code from 0 to 7';
COMMENT ON FUNCTION guid_local_within(guid_local, tstzrange, interval, boolean)
    IS 'whether a guid_local of this drift was generated within a range of times';
COMMENT ON OPERATOR < (guid_local, timestamptz) IS 'was generated before';
COMMENT ON OPERATOR <= (guid_local, timestamptz) IS 'was generated at or before';
COMMENT ON OPERATOR = (guid_local, timestamptz) IS 'was generated exactly at';
COMMENT ON OPERATOR >= (guid_local, timestamptz) IS 'was generated at or after';
COMMENT ON OPERATOR > (guid_local, timestamptz) IS 'was generated after';
COMMENT ON OPERATOR <> (guid_local, timestamptz) IS 'was generated at another time than';
COMMENT ON OPERATOR <@ (guid_local, tstzrange) IS 'was generated within';
COMMENT ON FUNCTION guid_decode(guid, boolean)
    IS 'the fields of a guid, generated by the named clock';
COMMENT ON FUNCTION guid_timestamp(guid, boolean) IS 'when a guid was generated';
COMMENT ON FUNCTION guid_at(timestamptz, bigint, interval, boolean)
    IS 'an ID of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick of 131 us)';
COMMENT ON FUNCTION guid_code_min(tstzrange, integer)
    IS 'guid_range_min for the drift of the nearest code from 0 to 7';
COMMENT ON FUNCTION guid_code_max(tstzrange, integer)
    IS 'guid_range_max for the drift of the nearest code from 0 to 7';
COMMENT ON FUNCTION guid_within(guid, tstzrange, interval, boolean)
    IS 'whether a guid of this drift was generated within a range of times';
COMMENT ON OPERATOR < (guid, timestamptz) IS 'was generated before';
COMMENT ON OPERATOR <= (guid, timestamptz) IS 'was generated at or before';
COMMENT ON OPERATOR = (guid, timestamptz) IS 'was generated exactly at';
COMMENT ON OPERATOR >= (guid, timestamptz) IS 'was generated at or after';
COMMENT ON OPERATOR > (guid, timestamptz) IS 'was generated after';
COMMENT ON OPERATOR <> (guid, timestamptz) IS 'was generated at another time than';
COMMENT ON OPERATOR <@ (guid, tstzrange) IS 'was generated within';
COMMENT ON FUNCTION uniqueid_at(timestamptz, bigint, uniqueid_mode)
    IS 'an ID of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick)';
COMMENT ON FUNCTION uniqueid_timestamp(uniqueid) IS 'when a uniqueid was generated, in either mode';
COMMENT ON OPERATOR < (uniqueid, timestamptz) IS 'is time_sequential and was generated before';
COMMENT ON OPERATOR <= (uniqueid, timestamptz) IS 'is time_sequential and was generated at or before';
COMMENT ON OPERATOR = (uniqueid, timestamptz) IS 'is time_sequential and was generated exactly at';
COMMENT ON OPERATOR >= (uniqueid, timestamptz) IS 'is time_sequential and was generated at or after';
COMMENT ON OPERATOR > (uniqueid, timestamptz) IS 'is time_sequential and was generated after';
COMMENT ON OPERATOR <> (uniqueid, timestamptz) IS 'is time_sequential and was generated at another time than';
COMMENT ON OPERATOR <@ (uniqueid, tstzrange) IS 'is time_sequential and was generated within';
