-- flake: 64 bits kept as bigint. 42 bits of time in ms since an epoch, 5 of datacenter, 5 of worker, 12 of counter. A
-- function that reads the setting flakeid.epoch is STABLE; its variant with an argument for the epoch is IMMUTABLE.

-- generate -----------------------------------------------------------------------------------------

CREATE FUNCTION flake_next() RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_next() IS 'a new flake ID';

CREATE FUNCTION flake_next_in(stream text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_next_in_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_next_in(text) IS 'a new flake ID of a named stream';

CREATE FUNCTION flake_next_batch(n integer) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME', 'flake_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_next_batch(integer) IS 'n new flake IDs';

-- decode -------------------------------------------------------------------------------------------

CREATE FUNCTION flake_decode(
    id bigint,
    OUT created_at timestamptz, OUT datacenter integer, OUT worker integer, OUT counter integer,
    OUT generator_id integer
)
    AS 'MODULE_PATHNAME', 'flake_decode_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_decode(bigint) IS 'the fields of a flake ID, its time counted from flakeid.epoch';

CREATE FUNCTION flake_decode(
    id bigint, epoch timestamptz,
    OUT created_at timestamptz, OUT datacenter integer, OUT worker integer, OUT counter integer,
    OUT generator_id integer
)
    AS 'MODULE_PATHNAME', 'flake_decode_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_decode(bigint, timestamptz) IS 'the fields of a flake ID, its time counted from an epoch';

CREATE FUNCTION flake_timestamp(id bigint) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flake_timestamp_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(bigint) IS 'when a flake ID was generated, counted from flakeid.epoch';

CREATE FUNCTION flake_timestamp(id bigint, epoch timestamptz) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flake_timestamp_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(bigint, timestamptz) IS 'when a flake ID was generated, counted from an epoch';

-- encode -------------------------------------------------------------------------------------------

CREATE FUNCTION flake_encode(created_at timestamptz, datacenter integer, worker integer, counter integer)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_encode_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encode(timestamptz, integer, integer, integer)
    IS 'the flake ID of these fields, its time counted from flakeid.epoch';

CREATE FUNCTION flake_encode(
    created_at timestamptz, datacenter integer, worker integer, counter integer, epoch timestamptz
)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_encode_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encode(timestamptz, integer, integer, integer, timestamptz)
    IS 'the flake ID of these fields, its time counted from an epoch';

CREATE FUNCTION flake_at(created_at timestamptz, number bigint DEFAULT 0) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_at_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_at(timestamptz, bigint)
    IS 'the flake ID of this server for a given time, with this number (from 0, modulo the server''s IDs in a tick)';

CREATE FUNCTION flake_at(created_at timestamptz, number bigint, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_at_epoch_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_at(timestamptz, bigint, timestamptz)
    IS 'the flake ID for a given time, counted from an epoch';

-- bounds of a time ---------------------------------------------------------------------------------

CREATE FUNCTION flake_min("time" timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_min_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_min(timestamptz) IS 'the smallest flake ID whose time is not before this';

CREATE FUNCTION flake_min("time" timestamptz, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_min_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_min(timestamptz, timestamptz)
    IS 'the smallest flake ID whose time, counted from an epoch, is not before this';

CREATE FUNCTION flake_max("time" timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_max_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_max(timestamptz) IS 'the largest flake ID whose time is not after this';

CREATE FUNCTION flake_max("time" timestamptz, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_max_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_max(timestamptz, timestamptz)
    IS 'the largest flake ID whose time, counted from an epoch, is not after this';

CREATE FUNCTION flake_range_min(times tstzrange) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_min_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_min(tstzrange)
    IS 'the smallest flake ID of these times; above flake_range_max where there is none';

CREATE FUNCTION flake_range_min(times tstzrange, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_min_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_min(tstzrange, timestamptz)
    IS 'the smallest flake ID of these times, counted from an epoch; above flake_range_max where there is none';

CREATE FUNCTION flake_range_max(times tstzrange) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_max_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_max(tstzrange)
    IS 'the largest flake ID of these times; below flake_range_min where there is none';

CREATE FUNCTION flake_range_max(times tstzrange, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_max_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_max(tstzrange, timestamptz)
    IS 'the largest flake ID of these times, counted from an epoch; below flake_range_min where there is none';

-- time as a predicate ------------------------------------------------------------------------------

-- The support function replaces a call by comparisons of the bigint, which can use an index. All of these functions find
-- only IDs from 0 on. A negative number is an ID of the second half of flake's times: it is later than every positive one,
-- and sorts before all of them.

CREATE FUNCTION flake_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_between_wrapper'
    LANGUAGE c STABLE LEAKPROOF PARALLEL SAFE SUPPORT flakeid_between_support;
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated from one time to another, both included';

CREATE FUNCTION flake_between(id bigint, "from" timestamptz, "to" timestamptz, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_between_epoch_wrapper'
    LANGUAGE c IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT flakeid_between_support;
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz, timestamptz)
    IS 'whether a flake ID was generated from one time to another, both included, counted from an epoch';

CREATE FUNCTION flake_within(id bigint, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_within_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION flake_within(bigint, tstzrange)
    IS 'whether a flake ID was generated within a range of times';

CREATE FUNCTION flake_within(id bigint, times tstzrange, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_within_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_within_support;
COMMENT ON FUNCTION flake_within(bigint, tstzrange, timestamptz)
    IS 'whether a flake ID was generated within a range of times, counted from an epoch';

CREATE FUNCTION flake_before(id bigint, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_before_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_before_support;
COMMENT ON FUNCTION flake_before(bigint, timestamptz)
    IS 'whether a flake ID was generated before a time';

CREATE FUNCTION flake_before(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
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

CREATE FUNCTION flake_after(id bigint, "time" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_after_wrapper'
    LANGUAGE c STABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;
COMMENT ON FUNCTION flake_after(bigint, timestamptz)
    IS 'whether a flake ID was generated after a time';

CREATE FUNCTION flake_after(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake_after_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_after_support;
COMMENT ON FUNCTION flake_after(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was generated after a time, counted from an epoch';

-- text ---------------------------------------------------------------------------------------------

CREATE FUNCTION flake_to_text(id bigint, format text) RETURNS text
    AS 'MODULE_PATHNAME', 'flake_to_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_to_text(bigint, text)
    IS 'a flake ID without sign in the format decimal, hex, binary, base62 or base64';

CREATE FUNCTION flake_from_text(id text, format text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_from_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_from_text(text, text)
    IS 'the flake ID that a text in the format decimal, hex, binary, base62 or base64 spells';

-- partitions --------------------------------------------------------------------------------------

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
