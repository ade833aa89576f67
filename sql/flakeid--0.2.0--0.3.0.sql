\echo Use "ALTER EXTENSION flakeid UPDATE TO '0.3.0'" to load this file. \quit

-- What an index cannot tell by itself is looked at again, row by row.

CREATE FUNCTION flakeid_recheck_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_recheck_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_recheck_support(internal) IS 'planner support for flakeid_recheck';

CREATE FUNCTION flakeid_recheck(condition boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flakeid_recheck_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_recheck_support;
COMMENT ON FUNCTION flakeid_recheck(boolean)
    IS 'the condition itself, of which the planner is told that it is nearly always true where it is asked';

-- flake128: 16 bytes. 64 bits of ms since 1970, 48 of worker (a MAC address), 16 of sequence.

CREATE TYPE flake128;

CREATE FUNCTION flake128_in(cstring) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_in_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_in(cstring) IS 'I/O';

CREATE FUNCTION flake128_out(flake128) RETURNS cstring
    AS 'MODULE_PATHNAME', 'flake128_out_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_out(flake128) IS 'I/O';

CREATE FUNCTION flake128_recv(internal) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_recv_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_recv(internal) IS 'I/O';

CREATE FUNCTION flake128_send(flake128) RETURNS bytea
    AS 'MODULE_PATHNAME', 'flake128_send_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_send(flake128) IS 'I/O';

CREATE TYPE flake128 (
    INPUT = flake128_in,
    OUTPUT = flake128_out,
    RECEIVE = flake128_recv,
    SEND = flake128_send,
    INTERNALLENGTH = 16,
    ALIGNMENT = char,
    STORAGE = plain
);
COMMENT ON TYPE flake128 IS 'a k-ordered ID of 16 bytes, written in base 62';

-- making --------------------------------------------------------------------------------------------

CREATE FUNCTION flake128_next() RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_next() IS 'a new flake128';

CREATE FUNCTION flake128_next_batch(n integer) RETURNS SETOF flake128
    AS 'MODULE_PATHNAME', 'flake128_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_next_batch(integer) IS 'n new flake128s';

-- taking apart --------------------------------------------------------------------------------------

CREATE FUNCTION flake128_decode(
    id flake128,
    OUT created_at timestamptz, OUT worker macaddr, OUT sequence integer
)
    AS 'MODULE_PATHNAME', 'flake128_decode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_decode(flake128)
    IS 'the fields of a flake128; times after the calendar are infinity';

CREATE FUNCTION flake128_timestamp(id flake128) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flake128_timestamp_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_timestamp(flake128) IS 'when a flake128 was made';

-- putting together ----------------------------------------------------------------------------------

CREATE FUNCTION flake128_encode(
    created_at timestamptz, worker macaddr, sequence integer
) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_encode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_encode(timestamptz, macaddr, integer)
    IS 'the flake128 of these fields';

CREATE FUNCTION flake128_at(created_at timestamptz, number bigint DEFAULT 0) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_at_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_at(timestamptz, bigint)
    IS 'an ID of this server for a given time: its number-th of that millisecond';

-- bounds of a time ----------------------------------------------------------------------------------

CREATE FUNCTION flake128_min("time" timestamptz) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_min(timestamptz)
    IS 'the smallest flake128 whose time is not before this one: that of an empty worker';

CREATE FUNCTION flake128_max("time" timestamptz) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_max(timestamptz)
    IS 'the largest flake128 whose time is not after this one';

CREATE FUNCTION flake128_range_min(times tstzrange) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_range_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_range_min(tstzrange)
    IS 'the smallest flake128 of these times; above flake128_range_max where there is none';

CREATE FUNCTION flake128_range_max(times tstzrange) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_range_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_range_max(tstzrange)
    IS 'the largest flake128 of these times; below flake128_range_min where there is none';

-- text ----------------------------------------------------------------------------------------------

CREATE FUNCTION flake128_to_text(id flake128, base integer DEFAULT 62) RETURNS text
    AS 'MODULE_PATHNAME', 'flake128_to_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_to_text(flake128, integer)
    IS 'a flake128 as a number in a base from 2 to 62, without padding';

CREATE FUNCTION flake128_from_text(id text, base integer DEFAULT 62) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_from_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_from_text(text, integer)
    IS 'the flake128 that is this number in a base from 2 to 62';

-- casts ---------------------------------------------------------------------------------------------

CREATE FUNCTION flake128_to_bytea(id flake128) RETURNS bytea
    AS 'MODULE_PATHNAME', 'flake128_to_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_to_bytea(flake128) IS 'the 16 bytes of a flake128';

CREATE FUNCTION flake128_from_bytea(bytes bytea) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_from_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_from_bytea(bytea) IS 'the flake128 of 16 bytes';

CREATE FUNCTION flake128_to_uuid(id flake128) RETURNS uuid
    AS 'MODULE_PATHNAME', 'flake128_to_uuid_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_to_uuid(flake128)
    IS 'the 16 bytes of a flake128 as they are, which sort as it does';

CREATE FUNCTION flake128_from_uuid(id uuid) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_from_uuid_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_from_uuid(uuid) IS 'the flake128 of the 16 bytes of a uuid';

CREATE FUNCTION flake128_to_numeric(id flake128) RETURNS numeric
    AS 'MODULE_PATHNAME', 'flake128_to_numeric_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_to_numeric(flake128) IS 'a flake128 as a number';

CREATE FUNCTION flake128_from_numeric(id numeric) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_from_numeric_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_from_numeric(numeric) IS 'the flake128 that is this number';

CREATE CAST (flake128 AS text) WITH INOUT;
COMMENT ON CAST (flake128 AS text) IS 'the text of a flake128';
CREATE CAST (text AS flake128) WITH INOUT;
COMMENT ON CAST (text AS flake128) IS 'the flake128 of a text';
CREATE CAST (flake128 AS bytea) WITH FUNCTION flake128_to_bytea(flake128);
COMMENT ON CAST (flake128 AS bytea) IS 'the 16 bytes of a flake128';
CREATE CAST (bytea AS flake128) WITH FUNCTION flake128_from_bytea(bytea);
COMMENT ON CAST (bytea AS flake128) IS 'the flake128 of 16 bytes';
CREATE CAST (flake128 AS uuid) WITH FUNCTION flake128_to_uuid(flake128);
COMMENT ON CAST (flake128 AS uuid) IS 'the 16 bytes of a flake128 as they are';
CREATE CAST (uuid AS flake128) WITH FUNCTION flake128_from_uuid(uuid);
COMMENT ON CAST (uuid AS flake128) IS 'the flake128 of the 16 bytes of a uuid';
CREATE CAST (flake128 AS numeric) WITH FUNCTION flake128_to_numeric(flake128);
COMMENT ON CAST (flake128 AS numeric) IS 'a flake128 as a number';
CREATE CAST (numeric AS flake128) WITH FUNCTION flake128_from_numeric(numeric);
COMMENT ON CAST (numeric AS flake128) IS 'the flake128 that is this number';

-- comparison ----------------------------------------------------------------------------------------

CREATE FUNCTION flake128_lt(flake128, flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_lt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_lt(flake128, flake128) IS 'implementation of < operator';

CREATE FUNCTION flake128_le(flake128, flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_le_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_le(flake128, flake128) IS 'implementation of <= operator';

CREATE FUNCTION flake128_eq(flake128, flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_eq_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_eq(flake128, flake128) IS 'implementation of = operator';

CREATE FUNCTION flake128_ge(flake128, flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_ge_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_ge(flake128, flake128) IS 'implementation of >= operator';

CREATE FUNCTION flake128_gt(flake128, flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_gt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_gt(flake128, flake128) IS 'implementation of > operator';

CREATE FUNCTION flake128_ne(flake128, flake128) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flake128_ne_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_ne(flake128, flake128) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (flake128, flake128) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (flake128, flake128) IS 'less than or equal';

CREATE OPERATOR = (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel,
    HASHES, MERGES
);
COMMENT ON OPERATOR = (flake128, flake128) IS 'equal';

CREATE OPERATOR >= (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (flake128, flake128) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (flake128, flake128) IS 'greater than';

CREATE OPERATOR <> (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (flake128, flake128) IS 'not equal';

-- btree: equal images are equal values, so that an index may keep a run of them once.
CREATE FUNCTION flake128_cmp(flake128, flake128) RETURNS integer
    AS 'MODULE_PATHNAME', 'flake128_cmp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_cmp(flake128, flake128) IS 'less-equal-greater';

CREATE OPERATOR CLASS flake128_ops DEFAULT FOR TYPE flake128 USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 flake128_cmp(flake128, flake128),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS flake128_ops USING btree
    IS 'the order of a flake128''s bytes, which is that of its time';

CREATE FUNCTION flake128_hash(flake128) RETURNS integer
    AS 'MODULE_PATHNAME', 'flake128_hash_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_hash(flake128) IS 'hash';

CREATE FUNCTION flake128_hash_extended(flake128, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake128_hash_extended_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION flake128_hash_extended(flake128, bigint) IS 'hash';

CREATE OPERATOR CLASS flake128_ops DEFAULT FOR TYPE flake128 USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 flake128_hash(flake128),
    FUNCTION 2 flake128_hash_extended(flake128, bigint);
COMMENT ON OPERATOR CLASS flake128_ops USING hash IS 'hash of a flake128''s bytes';

CREATE OPERATOR CLASS flake128_minmax_ops DEFAULT FOR TYPE flake128 USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS flake128_minmax_ops USING brin
    IS 'smallest and largest flake128 of a range of blocks';

CREATE FUNCTION flake128_smaller(flake128, flake128) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_smaller_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_smaller(flake128, flake128) IS 'smaller of two';

CREATE FUNCTION flake128_larger(flake128, flake128) RETURNS flake128
    AS 'MODULE_PATHNAME', 'flake128_larger_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake128_larger(flake128, flake128) IS 'larger of two';

CREATE AGGREGATE min(flake128) (
    SFUNC = flake128_smaller, STYPE = flake128, COMBINEFUNC = flake128_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(flake128) IS 'minimum value of all flake128 input values';

CREATE AGGREGATE max(flake128) (
    SFUNC = flake128_larger, STYPE = flake128, COMBINEFUNC = flake128_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(flake128) IS 'maximum value of all flake128 input values';

-- time ----------------------------------------------------------------------------------------------

-- Time as a predicate. Each operator is a function with a SQL body, which the planner writes
-- out as a comparison of the ID with a bound of the time: an index of the ID serves it.

CREATE FUNCTION flake128_lt_time(id flake128, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id < flake128_min("time");
COMMENT ON FUNCTION flake128_lt_time(flake128, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION flake128_le_time(id flake128, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id <= flake128_max("time");
COMMENT ON FUNCTION flake128_le_time(flake128, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION flake128_eq_time(id flake128, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= flake128_min("time") AND id <= flake128_max("time");
COMMENT ON FUNCTION flake128_eq_time(flake128, timestamptz) IS 'implementation of = operator';

CREATE FUNCTION flake128_ge_time(id flake128, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id >= flake128_min("time");
COMMENT ON FUNCTION flake128_ge_time(flake128, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION flake128_gt_time(id flake128, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id > flake128_max("time");
COMMENT ON FUNCTION flake128_gt_time(flake128, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION flake128_ne_time(id flake128, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < flake128_min("time") OR id > flake128_max("time");
COMMENT ON FUNCTION flake128_ne_time(flake128, timestamptz) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = flake128, RIGHTARG = timestamptz, FUNCTION = flake128_lt_time,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (flake128, timestamptz) IS 'was made before';

CREATE OPERATOR <= (
    LEFTARG = flake128, RIGHTARG = timestamptz, FUNCTION = flake128_le_time,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (flake128, timestamptz) IS 'was made at or before';

CREATE OPERATOR = (
    LEFTARG = flake128, RIGHTARG = timestamptz, FUNCTION = flake128_eq_time,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (flake128, timestamptz) IS 'was made exactly at';

CREATE OPERATOR >= (
    LEFTARG = flake128, RIGHTARG = timestamptz, FUNCTION = flake128_ge_time,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (flake128, timestamptz) IS 'was made at or after';

CREATE OPERATOR > (
    LEFTARG = flake128, RIGHTARG = timestamptz, FUNCTION = flake128_gt_time,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (flake128, timestamptz) IS 'was made after';

CREATE OPERATOR <> (
    LEFTARG = flake128, RIGHTARG = timestamptz, FUNCTION = flake128_ne_time,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (flake128, timestamptz) IS 'was made at another time than';

CREATE FUNCTION time_lt_flake128("time" timestamptz, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id > flake128_max("time");
COMMENT ON FUNCTION time_lt_flake128(timestamptz, flake128) IS 'implementation of < operator';

CREATE FUNCTION time_le_flake128("time" timestamptz, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id >= flake128_min("time");
COMMENT ON FUNCTION time_le_flake128(timestamptz, flake128) IS 'implementation of <= operator';

CREATE FUNCTION time_eq_flake128("time" timestamptz, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= flake128_min("time") AND id <= flake128_max("time");
COMMENT ON FUNCTION time_eq_flake128(timestamptz, flake128) IS 'implementation of = operator';

CREATE FUNCTION time_ge_flake128("time" timestamptz, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id <= flake128_max("time");
COMMENT ON FUNCTION time_ge_flake128(timestamptz, flake128) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_flake128("time" timestamptz, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id < flake128_min("time");
COMMENT ON FUNCTION time_gt_flake128(timestamptz, flake128) IS 'implementation of > operator';

CREATE FUNCTION time_ne_flake128("time" timestamptz, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < flake128_min("time") OR id > flake128_max("time");
COMMENT ON FUNCTION time_ne_flake128(timestamptz, flake128) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = flake128, FUNCTION = time_lt_flake128,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, flake128) IS 'time less than that of a flake128';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = flake128, FUNCTION = time_le_flake128,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, flake128) IS 'time less than or equal that of a flake128';

CREATE OPERATOR = (
    LEFTARG = timestamptz, RIGHTARG = flake128, FUNCTION = time_eq_flake128,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, flake128) IS 'time equal that of a flake128';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = flake128, FUNCTION = time_ge_flake128,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, flake128) IS 'time greater than or equal that of a flake128';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = flake128, FUNCTION = time_gt_flake128,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, flake128) IS 'time greater than that of a flake128';

CREATE OPERATOR <> (
    LEFTARG = timestamptz, RIGHTARG = flake128, FUNCTION = time_ne_flake128,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, flake128) IS 'time not equal that of a flake128';

CREATE FUNCTION flake128_in_times(id flake128, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= flake128_range_min(times) AND id <= flake128_range_max(times);
COMMENT ON FUNCTION flake128_in_times(flake128, tstzrange) IS 'implementation of <@ operator';

CREATE OPERATOR <@ (
    LEFTARG = flake128, RIGHTARG = tstzrange, FUNCTION = flake128_in_times,
    COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (flake128, tstzrange) IS 'was made within';

CREATE FUNCTION times_of_flake128(times tstzrange, id flake128) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= flake128_range_min(times) AND id <= flake128_range_max(times);
COMMENT ON FUNCTION times_of_flake128(tstzrange, flake128) IS 'implementation of @> operator';

CREATE OPERATOR @> (
    LEFTARG = tstzrange, RIGHTARG = flake128, FUNCTION = times_of_flake128,
    COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, flake128) IS 'holds the time of';

-- guid_local: 8 bytes. 3 bits of drift, 47 of time in units of 131.072 us since 1970, 14 of sequence.

CREATE TYPE guid_local;

CREATE FUNCTION guid_local_in(cstring) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_in_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_in(cstring) IS 'I/O';

CREATE FUNCTION guid_local_out(guid_local) RETURNS cstring
    AS 'MODULE_PATHNAME', 'guid_local_out_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_out(guid_local) IS 'I/O';

CREATE FUNCTION guid_local_recv(internal) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_recv_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_recv(internal) IS 'I/O';

CREATE FUNCTION guid_local_send(guid_local) RETURNS bytea
    AS 'MODULE_PATHNAME', 'guid_local_send_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_send(guid_local) IS 'I/O';

CREATE TYPE guid_local (
    INPUT = guid_local_in,
    OUTPUT = guid_local_out,
    RECEIVE = guid_local_recv,
    SEND = guid_local_send,
    INTERNALLENGTH = 8,
    PASSEDBYVALUE,
    ALIGNMENT = double,
    STORAGE = plain
);
COMMENT ON TYPE guid_local IS 'a guid without its node, 8 bytes, written as 16 characters';

-- making --------------------------------------------------------------------------------------------

CREATE FUNCTION guid_local_next(
    drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_next(interval, boolean)
    IS 'a new guid_local for clocks apart by at most this drift';

CREATE FUNCTION guid_local_next_batch(
    n integer, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS SETOF guid_local
    AS 'MODULE_PATHNAME', 'guid_local_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_next_batch(integer, interval, boolean) IS 'n new guid_locals';

-- taking apart --------------------------------------------------------------------------------------

CREATE FUNCTION guid_local_decode(
    id guid_local, inverse boolean DEFAULT false,
    OUT created_at timestamptz, OUT sequence integer, OUT drift interval
)
    AS 'MODULE_PATHNAME', 'guid_local_decode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_decode(guid_local, boolean)
    IS 'the fields of a guid_local, made by the clock that is named';

CREATE FUNCTION guid_local_timestamp(
    id guid_local, inverse boolean DEFAULT false
) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'guid_local_timestamp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_timestamp(guid_local, boolean) IS 'when a guid_local was made';

-- putting together ----------------------------------------------------------------------------------

CREATE FUNCTION guid_local_encode(
    created_at timestamptz, sequence integer,
    drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_encode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_encode(timestamptz, integer, interval, boolean)
    IS 'the guid_local of these fields';

CREATE FUNCTION guid_local_at(
    created_at timestamptz, number bigint DEFAULT 0, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_at_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_at(timestamptz, bigint, interval, boolean)
    IS 'an ID of this server for a given time: its number-th of that tick of 131 us';

-- bounds of a time ----------------------------------------------------------------------------------

CREATE FUNCTION guid_local_min(
    "time" timestamptz, drift interval DEFAULT '274 seconds'
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_min(timestamptz, interval)
    IS 'smallest guid_local of this drift not before a time';

CREATE FUNCTION guid_local_max(
    "time" timestamptz, drift interval DEFAULT '274 seconds'
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_max(timestamptz, interval)
    IS 'largest guid_local of this drift not after a time';

CREATE FUNCTION guid_local_range_min(
    times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_range_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_range_min(tstzrange, interval, boolean)
    IS 'smallest guid_local of this drift and these times';

CREATE FUNCTION guid_local_range_max(
    times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_range_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_range_max(tstzrange, interval, boolean)
    IS 'largest guid_local of this drift and these times';

CREATE FUNCTION guid_local_code_min(times tstzrange, code integer) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_code_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_code_min(tstzrange, integer)
    IS 'guid_local_range_min for the drift of a code from 0 to 7';

CREATE FUNCTION guid_local_code_max(times tstzrange, code integer) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_code_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_code_max(tstzrange, integer)
    IS 'guid_local_range_max for the drift of a code from 0 to 7';

-- text ----------------------------------------------------------------------------------------------

CREATE FUNCTION guid_local_to_text(id guid_local, format text DEFAULT 'base64') RETURNS text
    AS 'MODULE_PATHNAME', 'guid_local_to_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_to_text(guid_local, text)
    IS 'a guid_local in a format: base64, which is its text and sorts as it does, or base62';

CREATE FUNCTION guid_local_from_text(id text, format text DEFAULT 'base64') RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_from_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_from_text(text, text)
    IS 'the guid_local of a text in a format: base64 or base62';

CREATE FUNCTION guid_diff(a guid_local, b guid_local) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_diff_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_diff(guid_local, guid_local)
    IS 'what is between two guid_locals in time and sequence, with the drift of the first';

-- casts ---------------------------------------------------------------------------------------------

CREATE FUNCTION guid_local_to_bytea(id guid_local) RETURNS bytea
    AS 'MODULE_PATHNAME', 'guid_local_to_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_to_bytea(guid_local) IS 'the 8 bytes of a guid_local';

CREATE FUNCTION guid_local_from_bytea(bytes bytea) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_from_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_from_bytea(bytea) IS 'the guid_local of 8 bytes';

CREATE CAST (guid_local AS text) WITH INOUT;
COMMENT ON CAST (guid_local AS text) IS 'the text of a guid_local';
CREATE CAST (text AS guid_local) WITH INOUT;
COMMENT ON CAST (text AS guid_local) IS 'the guid_local of a text';
CREATE CAST (guid_local AS bytea) WITH FUNCTION guid_local_to_bytea(guid_local);
COMMENT ON CAST (guid_local AS bytea) IS 'the 8 bytes of a guid_local';
CREATE CAST (bytea AS guid_local) WITH FUNCTION guid_local_from_bytea(bytea);
COMMENT ON CAST (bytea AS guid_local) IS 'the guid_local of 8 bytes';

-- comparison ----------------------------------------------------------------------------------------

CREATE FUNCTION guid_local_lt(guid_local, guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_lt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_lt(guid_local, guid_local) IS 'implementation of < operator';

CREATE FUNCTION guid_local_le(guid_local, guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_le_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_le(guid_local, guid_local) IS 'implementation of <= operator';

CREATE FUNCTION guid_local_eq(guid_local, guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_eq_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_eq(guid_local, guid_local) IS 'implementation of = operator';

CREATE FUNCTION guid_local_ge(guid_local, guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_ge_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_ge(guid_local, guid_local) IS 'implementation of >= operator';

CREATE FUNCTION guid_local_gt(guid_local, guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_gt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_gt(guid_local, guid_local) IS 'implementation of > operator';

CREATE FUNCTION guid_local_ne(guid_local, guid_local) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_local_ne_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_ne(guid_local, guid_local) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (guid_local, guid_local) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (guid_local, guid_local) IS 'less than or equal';

CREATE OPERATOR = (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel,
    HASHES, MERGES
);
COMMENT ON OPERATOR = (guid_local, guid_local) IS 'equal';

CREATE OPERATOR >= (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (guid_local, guid_local) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (guid_local, guid_local) IS 'greater than';

CREATE OPERATOR <> (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (guid_local, guid_local) IS 'not equal';

-- btree: equal images are equal values, so that an index may keep a run of them once.
CREATE FUNCTION guid_local_cmp(guid_local, guid_local) RETURNS integer
    AS 'MODULE_PATHNAME', 'guid_local_cmp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_cmp(guid_local, guid_local) IS 'less-equal-greater';

CREATE OPERATOR CLASS guid_local_ops DEFAULT FOR TYPE guid_local USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 guid_local_cmp(guid_local, guid_local),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS guid_local_ops USING btree
    IS 'the order of a guid_local''s bytes: by drift, then time';

CREATE FUNCTION guid_local_hash(guid_local) RETURNS integer
    AS 'MODULE_PATHNAME', 'guid_local_hash_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_hash(guid_local) IS 'hash';

CREATE FUNCTION guid_local_hash_extended(guid_local, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'guid_local_hash_extended_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_hash_extended(guid_local, bigint) IS 'hash';

CREATE OPERATOR CLASS guid_local_ops DEFAULT FOR TYPE guid_local USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 guid_local_hash(guid_local),
    FUNCTION 2 guid_local_hash_extended(guid_local, bigint);
COMMENT ON OPERATOR CLASS guid_local_ops USING hash IS 'hash of a guid_local''s bytes';

CREATE OPERATOR CLASS guid_local_minmax_ops DEFAULT FOR TYPE guid_local USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS guid_local_minmax_ops USING brin
    IS 'smallest and largest guid_local of a range of blocks';

CREATE FUNCTION guid_local_smaller(guid_local, guid_local) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_smaller_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_smaller(guid_local, guid_local) IS 'smaller of two';

CREATE FUNCTION guid_local_larger(guid_local, guid_local) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_local_larger_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local_larger(guid_local, guid_local) IS 'larger of two';

CREATE AGGREGATE min(guid_local) (
    SFUNC = guid_local_smaller, STYPE = guid_local, COMBINEFUNC = guid_local_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(guid_local) IS 'minimum value of all guid_local input values';

CREATE AGGREGATE max(guid_local) (
    SFUNC = guid_local_larger, STYPE = guid_local, COMBINEFUNC = guid_local_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(guid_local) IS 'maximum value of all guid_local input values';

-- time ----------------------------------------------------------------------------------------------

-- Time as a predicate, for IDs of the clock that counts up. IDs sort by drift first, so a time is a range
-- of the index for each of the drift's eight codes.

CREATE FUNCTION guid_local_near(id guid_local, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (id >= guid_local_code_min(times, 0) AND id <= guid_local_code_max(times, 0))
        OR (id >= guid_local_code_min(times, 1) AND id <= guid_local_code_max(times, 1))
        OR (id >= guid_local_code_min(times, 2) AND id <= guid_local_code_max(times, 2))
        OR (id >= guid_local_code_min(times, 3) AND id <= guid_local_code_max(times, 3))
        OR (id >= guid_local_code_min(times, 4) AND id <= guid_local_code_max(times, 4))
        OR (id >= guid_local_code_min(times, 5) AND id <= guid_local_code_max(times, 5))
        OR (id >= guid_local_code_min(times, 6) AND id <= guid_local_code_max(times, 6))
        OR (id >= guid_local_code_min(times, 7) AND id <= guid_local_code_max(times, 7));
COMMENT ON FUNCTION guid_local_near(guid_local, tstzrange) IS 'whether a guid_local lies where those of these times do';

CREATE FUNCTION guid_local_within(
    id guid_local, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= guid_local_range_min(times, drift, inverse) AND id <= guid_local_range_max(times, drift, inverse)
        AND flakeid_recheck(guid_local_timestamp(id, inverse) <@ times);
COMMENT ON FUNCTION guid_local_within(guid_local, tstzrange, interval, boolean)
    IS 'whether a guid_local of this drift was made within a range of times';

CREATE FUNCTION guid_local_lt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, tstzrange(NULL, "time")) AND flakeid_recheck(guid_local_timestamp(id) < "time");
COMMENT ON FUNCTION guid_local_lt_time(guid_local, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION guid_local_le_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, tstzrange(NULL, "time", '(]')) AND flakeid_recheck(guid_local_timestamp(id) <= "time");
COMMENT ON FUNCTION guid_local_le_time(guid_local, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION guid_local_eq_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, tstzrange("time", "time", '[]')) AND flakeid_recheck(guid_local_timestamp(id) = "time");
COMMENT ON FUNCTION guid_local_eq_time(guid_local, timestamptz) IS 'implementation of = operator';

CREATE FUNCTION guid_local_ge_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, tstzrange("time", NULL)) AND flakeid_recheck(guid_local_timestamp(id) >= "time");
COMMENT ON FUNCTION guid_local_ge_time(guid_local, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION guid_local_gt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, tstzrange("time", NULL)) AND flakeid_recheck(guid_local_timestamp(id) > "time");
COMMENT ON FUNCTION guid_local_gt_time(guid_local, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION guid_local_ne_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_timestamp(id) <> "time";
COMMENT ON FUNCTION guid_local_ne_time(guid_local, timestamptz) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = guid_local, RIGHTARG = timestamptz, FUNCTION = guid_local_lt_time,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (guid_local, timestamptz) IS 'was made before';

CREATE OPERATOR <= (
    LEFTARG = guid_local, RIGHTARG = timestamptz, FUNCTION = guid_local_le_time,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (guid_local, timestamptz) IS 'was made at or before';

CREATE OPERATOR = (
    LEFTARG = guid_local, RIGHTARG = timestamptz, FUNCTION = guid_local_eq_time,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (guid_local, timestamptz) IS 'was made exactly at';

CREATE OPERATOR >= (
    LEFTARG = guid_local, RIGHTARG = timestamptz, FUNCTION = guid_local_ge_time,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (guid_local, timestamptz) IS 'was made at or after';

CREATE OPERATOR > (
    LEFTARG = guid_local, RIGHTARG = timestamptz, FUNCTION = guid_local_gt_time,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (guid_local, timestamptz) IS 'was made after';

CREATE OPERATOR <> (
    LEFTARG = guid_local, RIGHTARG = timestamptz, FUNCTION = guid_local_ne_time,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (guid_local, timestamptz) IS 'was made at another time than';

CREATE FUNCTION time_lt_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id > "time";
COMMENT ON FUNCTION time_lt_guid_local(timestamptz, guid_local) IS 'implementation of < operator';

CREATE FUNCTION time_le_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= "time";
COMMENT ON FUNCTION time_le_guid_local(timestamptz, guid_local) IS 'implementation of <= operator';

CREATE FUNCTION time_eq_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id = "time";
COMMENT ON FUNCTION time_eq_guid_local(timestamptz, guid_local) IS 'implementation of = operator';

CREATE FUNCTION time_ge_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <= "time";
COMMENT ON FUNCTION time_ge_guid_local(timestamptz, guid_local) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < "time";
COMMENT ON FUNCTION time_gt_guid_local(timestamptz, guid_local) IS 'implementation of > operator';

CREATE FUNCTION time_ne_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <> "time";
COMMENT ON FUNCTION time_ne_guid_local(timestamptz, guid_local) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = guid_local, FUNCTION = time_lt_guid_local,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, guid_local) IS 'time less than that of a guid_local';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = guid_local, FUNCTION = time_le_guid_local,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, guid_local) IS 'time less than or equal that of a guid_local';

CREATE OPERATOR = (
    LEFTARG = timestamptz, RIGHTARG = guid_local, FUNCTION = time_eq_guid_local,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, guid_local) IS 'time equal that of a guid_local';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = guid_local, FUNCTION = time_ge_guid_local,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, guid_local) IS 'time greater than or equal that of a guid_local';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = guid_local, FUNCTION = time_gt_guid_local,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, guid_local) IS 'time greater than that of a guid_local';

CREATE OPERATOR <> (
    LEFTARG = timestamptz, RIGHTARG = guid_local, FUNCTION = time_ne_guid_local,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, guid_local) IS 'time not equal that of a guid_local';

CREATE FUNCTION guid_local_in_times(id guid_local, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, times) AND flakeid_recheck(guid_local_timestamp(id) <@ times);
COMMENT ON FUNCTION guid_local_in_times(guid_local, tstzrange) IS 'implementation of <@ operator';

CREATE OPERATOR <@ (
    LEFTARG = guid_local, RIGHTARG = tstzrange, FUNCTION = guid_local_in_times,
    COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (guid_local, tstzrange) IS 'was made within';

CREATE FUNCTION times_of_guid_local(times tstzrange, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <@ times;
COMMENT ON FUNCTION times_of_guid_local(tstzrange, guid_local) IS 'implementation of @> operator';

CREATE OPERATOR @> (
    LEFTARG = tstzrange, RIGHTARG = guid_local, FUNCTION = times_of_guid_local,
    COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, guid_local) IS 'holds the time of';

-- guid: 12 bytes. 3 bits of drift, 47 of 131.072 us since 1970, around 32 of node, 14 of sequence.

CREATE TYPE guid;

CREATE FUNCTION guid_in(cstring) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_in_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_in(cstring) IS 'I/O';

CREATE FUNCTION guid_out(guid) RETURNS cstring
    AS 'MODULE_PATHNAME', 'guid_out_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_out(guid) IS 'I/O';

CREATE FUNCTION guid_recv(internal) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_recv_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_recv(internal) IS 'I/O';

CREATE FUNCTION guid_send(guid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'guid_send_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_send(guid) IS 'I/O';

CREATE TYPE guid (
    INPUT = guid_in,
    OUTPUT = guid_out,
    RECEIVE = guid_recv,
    SEND = guid_send,
    INTERNALLENGTH = 12,
    ALIGNMENT = char,
    STORAGE = plain
);
COMMENT ON TYPE guid IS 'a k-ordered ID of 12 bytes, written as 16 characters';

-- making --------------------------------------------------------------------------------------------

CREATE FUNCTION guid_next(
    drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_next(interval, boolean)
    IS 'a new guid for clocks apart by at most this drift';

CREATE FUNCTION guid_next_batch(
    n integer, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS SETOF guid
    AS 'MODULE_PATHNAME', 'guid_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_next_batch(integer, interval, boolean) IS 'n new guids';

-- taking apart --------------------------------------------------------------------------------------

CREATE FUNCTION guid_decode(
    id guid, inverse boolean DEFAULT false,
    OUT created_at timestamptz, OUT node bigint, OUT sequence integer, OUT drift interval
)
    AS 'MODULE_PATHNAME', 'guid_decode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_decode(guid, boolean)
    IS 'the fields of a guid, made by the clock that is named';

CREATE FUNCTION guid_timestamp(id guid, inverse boolean DEFAULT false) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'guid_timestamp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_timestamp(guid, boolean) IS 'when a guid was made';

-- putting together ----------------------------------------------------------------------------------

CREATE FUNCTION guid_encode(
    created_at timestamptz, node bigint, sequence integer,
    drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_encode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_encode(timestamptz, bigint, integer, interval, boolean)
    IS 'the guid of these fields';

CREATE FUNCTION guid_at(
    created_at timestamptz, number bigint DEFAULT 0, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_at_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_at(timestamptz, bigint, interval, boolean)
    IS 'an ID of this server for a given time: its number-th of that tick of 131 us';

-- bounds of a time ----------------------------------------------------------------------------------

CREATE FUNCTION guid_min("time" timestamptz, drift interval DEFAULT '274 seconds') RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_min(timestamptz, interval)
    IS 'smallest guid of this drift not before a time';

CREATE FUNCTION guid_max("time" timestamptz, drift interval DEFAULT '274 seconds') RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_max(timestamptz, interval)
    IS 'largest guid of this drift not after a time';

CREATE FUNCTION guid_range_min(
    times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_range_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_range_min(tstzrange, interval, boolean)
    IS 'smallest guid of this drift and these times';

CREATE FUNCTION guid_range_max(
    times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_range_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_range_max(tstzrange, interval, boolean)
    IS 'largest guid of this drift and these times';

CREATE FUNCTION guid_code_min(times tstzrange, code integer) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_code_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_code_min(tstzrange, integer)
    IS 'guid_range_min for the drift of a code from 0 to 7';

CREATE FUNCTION guid_code_max(times tstzrange, code integer) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_code_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_code_max(tstzrange, integer)
    IS 'guid_range_max for the drift of a code from 0 to 7';

CREATE FUNCTION guid_to_text(id guid, format text DEFAULT 'base64') RETURNS text
    AS 'MODULE_PATHNAME', 'guid_to_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_to_text(guid, text)
    IS 'a guid in a format: base64, which is its text and sorts as it does, or base62';

CREATE FUNCTION guid_from_text(id text, format text DEFAULT 'base64') RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_from_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_from_text(text, text)
    IS 'the guid of a text in a format: base64 or base62';

CREATE FUNCTION guid_diff(a guid, b guid) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_diff_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_diff(guid, guid)
    IS 'what is between two guids in time and sequence, with the drift and node of the first';

-- casts ---------------------------------------------------------------------------------------------

CREATE FUNCTION guid_to_bytea(id guid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'guid_to_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_to_bytea(guid) IS 'the 12 bytes of a guid';

CREATE FUNCTION guid_from_bytea(bytes bytea) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_from_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_from_bytea(bytea) IS 'the guid of 12 bytes';

CREATE FUNCTION guid_local(id guid) RETURNS guid_local
    AS 'MODULE_PATHNAME', 'guid_to_local_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_local(guid) IS 'a guid without its node';

CREATE FUNCTION guid_global(id guid_local, node bigint) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_global_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_global(guid_local, bigint) IS 'a guid_local with a node';

CREATE CAST (guid AS text) WITH INOUT;
COMMENT ON CAST (guid AS text) IS 'the text of a guid';
CREATE CAST (text AS guid) WITH INOUT;
COMMENT ON CAST (text AS guid) IS 'the guid of a text';
CREATE CAST (guid AS bytea) WITH FUNCTION guid_to_bytea(guid);
COMMENT ON CAST (guid AS bytea) IS 'the 12 bytes of a guid';
CREATE CAST (bytea AS guid) WITH FUNCTION guid_from_bytea(bytea);
COMMENT ON CAST (bytea AS guid) IS 'the guid of 12 bytes';
CREATE CAST (guid AS guid_local) WITH FUNCTION guid_local(guid);
COMMENT ON CAST (guid AS guid_local) IS 'a guid without its node';

-- comparison ----------------------------------------------------------------------------------------

CREATE FUNCTION guid_lt(guid, guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_lt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_lt(guid, guid) IS 'implementation of < operator';

CREATE FUNCTION guid_le(guid, guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_le_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_le(guid, guid) IS 'implementation of <= operator';

CREATE FUNCTION guid_eq(guid, guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_eq_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_eq(guid, guid) IS 'implementation of = operator';

CREATE FUNCTION guid_ge(guid, guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_ge_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_ge(guid, guid) IS 'implementation of >= operator';

CREATE FUNCTION guid_gt(guid, guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_gt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_gt(guid, guid) IS 'implementation of > operator';

CREATE FUNCTION guid_ne(guid, guid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'guid_ne_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_ne(guid, guid) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (guid, guid) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (guid, guid) IS 'less than or equal';

CREATE OPERATOR = (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel,
    HASHES, MERGES
);
COMMENT ON OPERATOR = (guid, guid) IS 'equal';

CREATE OPERATOR >= (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (guid, guid) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (guid, guid) IS 'greater than';

CREATE OPERATOR <> (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (guid, guid) IS 'not equal';

-- btree: equal images are equal values, so that an index may keep a run of them once.
CREATE FUNCTION guid_cmp(guid, guid) RETURNS integer
    AS 'MODULE_PATHNAME', 'guid_cmp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_cmp(guid, guid) IS 'less-equal-greater';

CREATE OPERATOR CLASS guid_ops DEFAULT FOR TYPE guid USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 guid_cmp(guid, guid),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS guid_ops USING btree
    IS 'the order of a guid''s bytes: by drift, coarse time, node and fine time';

CREATE FUNCTION guid_hash(guid) RETURNS integer
    AS 'MODULE_PATHNAME', 'guid_hash_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_hash(guid) IS 'hash';

CREATE FUNCTION guid_hash_extended(guid, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'guid_hash_extended_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION guid_hash_extended(guid, bigint) IS 'hash';

CREATE OPERATOR CLASS guid_ops DEFAULT FOR TYPE guid USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 guid_hash(guid),
    FUNCTION 2 guid_hash_extended(guid, bigint);
COMMENT ON OPERATOR CLASS guid_ops USING hash IS 'hash of a guid''s bytes';

CREATE OPERATOR CLASS guid_minmax_ops DEFAULT FOR TYPE guid USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS guid_minmax_ops USING brin IS 'smallest and largest guid of a range of blocks';

CREATE FUNCTION guid_smaller(guid, guid) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_smaller_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_smaller(guid, guid) IS 'smaller of two';

CREATE FUNCTION guid_larger(guid, guid) RETURNS guid
    AS 'MODULE_PATHNAME', 'guid_larger_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION guid_larger(guid, guid) IS 'larger of two';

CREATE AGGREGATE min(guid) (
    SFUNC = guid_smaller, STYPE = guid, COMBINEFUNC = guid_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(guid) IS 'minimum value of all guid input values';

CREATE AGGREGATE max(guid) (
    SFUNC = guid_larger, STYPE = guid, COMBINEFUNC = guid_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(guid) IS 'maximum value of all guid input values';

-- time ----------------------------------------------------------------------------------------------

-- Time as a predicate, for IDs of the clock that counts up: a range of the index for each code of drift,
-- and a second look at each row, as the node stands between the parts of the time.

CREATE FUNCTION guid_near(id guid, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (id >= guid_code_min(times, 0) AND id <= guid_code_max(times, 0))
        OR (id >= guid_code_min(times, 1) AND id <= guid_code_max(times, 1))
        OR (id >= guid_code_min(times, 2) AND id <= guid_code_max(times, 2))
        OR (id >= guid_code_min(times, 3) AND id <= guid_code_max(times, 3))
        OR (id >= guid_code_min(times, 4) AND id <= guid_code_max(times, 4))
        OR (id >= guid_code_min(times, 5) AND id <= guid_code_max(times, 5))
        OR (id >= guid_code_min(times, 6) AND id <= guid_code_max(times, 6))
        OR (id >= guid_code_min(times, 7) AND id <= guid_code_max(times, 7));
COMMENT ON FUNCTION guid_near(guid, tstzrange) IS 'whether a guid lies where those of these times do';

CREATE FUNCTION guid_within(
    id guid, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= guid_range_min(times, drift, inverse) AND id <= guid_range_max(times, drift, inverse)
        AND flakeid_recheck(guid_timestamp(id, inverse) <@ times);
COMMENT ON FUNCTION guid_within(guid, tstzrange, interval, boolean)
    IS 'whether a guid of this drift was made within a range of times';

CREATE FUNCTION guid_lt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, tstzrange(NULL, "time")) AND flakeid_recheck(guid_timestamp(id) < "time");
COMMENT ON FUNCTION guid_lt_time(guid, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION guid_le_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, tstzrange(NULL, "time", '(]')) AND flakeid_recheck(guid_timestamp(id) <= "time");
COMMENT ON FUNCTION guid_le_time(guid, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION guid_eq_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, tstzrange("time", "time", '[]')) AND flakeid_recheck(guid_timestamp(id) = "time");
COMMENT ON FUNCTION guid_eq_time(guid, timestamptz) IS 'implementation of = operator';

CREATE FUNCTION guid_ge_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, tstzrange("time", NULL)) AND flakeid_recheck(guid_timestamp(id) >= "time");
COMMENT ON FUNCTION guid_ge_time(guid, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION guid_gt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, tstzrange("time", NULL)) AND flakeid_recheck(guid_timestamp(id) > "time");
COMMENT ON FUNCTION guid_gt_time(guid, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION guid_ne_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_timestamp(id) <> "time";
COMMENT ON FUNCTION guid_ne_time(guid, timestamptz) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = guid, RIGHTARG = timestamptz, FUNCTION = guid_lt_time,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (guid, timestamptz) IS 'was made before';

CREATE OPERATOR <= (
    LEFTARG = guid, RIGHTARG = timestamptz, FUNCTION = guid_le_time,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (guid, timestamptz) IS 'was made at or before';

CREATE OPERATOR = (
    LEFTARG = guid, RIGHTARG = timestamptz, FUNCTION = guid_eq_time,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (guid, timestamptz) IS 'was made exactly at';

CREATE OPERATOR >= (
    LEFTARG = guid, RIGHTARG = timestamptz, FUNCTION = guid_ge_time,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (guid, timestamptz) IS 'was made at or after';

CREATE OPERATOR > (
    LEFTARG = guid, RIGHTARG = timestamptz, FUNCTION = guid_gt_time,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (guid, timestamptz) IS 'was made after';

CREATE OPERATOR <> (
    LEFTARG = guid, RIGHTARG = timestamptz, FUNCTION = guid_ne_time,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (guid, timestamptz) IS 'was made at another time than';

CREATE FUNCTION time_lt_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id > "time";
COMMENT ON FUNCTION time_lt_guid(timestamptz, guid) IS 'implementation of < operator';

CREATE FUNCTION time_le_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= "time";
COMMENT ON FUNCTION time_le_guid(timestamptz, guid) IS 'implementation of <= operator';

CREATE FUNCTION time_eq_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id = "time";
COMMENT ON FUNCTION time_eq_guid(timestamptz, guid) IS 'implementation of = operator';

CREATE FUNCTION time_ge_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <= "time";
COMMENT ON FUNCTION time_ge_guid(timestamptz, guid) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < "time";
COMMENT ON FUNCTION time_gt_guid(timestamptz, guid) IS 'implementation of > operator';

CREATE FUNCTION time_ne_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <> "time";
COMMENT ON FUNCTION time_ne_guid(timestamptz, guid) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = guid, FUNCTION = time_lt_guid,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, guid) IS 'time less than that of a guid';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = guid, FUNCTION = time_le_guid,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, guid) IS 'time less than or equal that of a guid';

CREATE OPERATOR = (
    LEFTARG = timestamptz, RIGHTARG = guid, FUNCTION = time_eq_guid,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, guid) IS 'time equal that of a guid';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = guid, FUNCTION = time_ge_guid,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, guid) IS 'time greater than or equal that of a guid';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = guid, FUNCTION = time_gt_guid,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, guid) IS 'time greater than that of a guid';

CREATE OPERATOR <> (
    LEFTARG = timestamptz, RIGHTARG = guid, FUNCTION = time_ne_guid,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, guid) IS 'time not equal that of a guid';

CREATE FUNCTION guid_in_times(id guid, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, times) AND flakeid_recheck(guid_timestamp(id) <@ times);
COMMENT ON FUNCTION guid_in_times(guid, tstzrange) IS 'implementation of <@ operator';

CREATE OPERATOR <@ (
    LEFTARG = guid, RIGHTARG = tstzrange, FUNCTION = guid_in_times,
    COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (guid, tstzrange) IS 'was made within';

CREATE FUNCTION times_of_guid(times tstzrange, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <@ times;
COMMENT ON FUNCTION times_of_guid(tstzrange, guid) IS 'implementation of @> operator';

CREATE OPERATOR @> (
    LEFTARG = tstzrange, RIGHTARG = guid, FUNCTION = times_of_guid,
    COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, guid) IS 'holds the time of';

-- uniqueid: 8 bytes. 42 bits of ms since 1970, 6 of sequence, 11 of generator around 1 of mode, 4 of cluster.

CREATE TYPE uniqueid_mode AS ENUM ('spread', 'time_sequential');
COMMENT ON TYPE uniqueid_mode IS 'whether uniqueids sort by their time, or far apart';

CREATE TYPE uniqueid;

CREATE FUNCTION uniqueid_in(cstring) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_in_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_in(cstring) IS 'I/O';

CREATE FUNCTION uniqueid_out(uniqueid) RETURNS cstring
    AS 'MODULE_PATHNAME', 'uniqueid_out_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_out(uniqueid) IS 'I/O';

CREATE FUNCTION uniqueid_recv(internal) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_recv_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_recv(internal) IS 'I/O';

CREATE FUNCTION uniqueid_send(uniqueid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'uniqueid_send_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_send(uniqueid) IS 'I/O';

CREATE TYPE uniqueid (
    INPUT = uniqueid_in,
    OUTPUT = uniqueid_out,
    RECEIVE = uniqueid_recv,
    SEND = uniqueid_send,
    INTERNALLENGTH = 8,
    PASSEDBYVALUE,
    ALIGNMENT = double,
    STORAGE = plain
);
COMMENT ON TYPE uniqueid IS 'a k-ordered or spread ID of 8 bytes, written as 16 hexadecimal digits';

-- making --------------------------------------------------------------------------------------------

CREATE FUNCTION uniqueid_next(mode uniqueid_mode DEFAULT 'time_sequential') RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_next(uniqueid_mode) IS 'a new uniqueid of this mode';

CREATE FUNCTION uniqueid_next_batch(
    n integer, mode uniqueid_mode DEFAULT 'time_sequential'
) RETURNS SETOF uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_next_batch(integer, uniqueid_mode) IS 'n new uniqueids of this mode';

-- taking apart --------------------------------------------------------------------------------------

CREATE FUNCTION uniqueid_decode(
    id uniqueid,
    OUT created_at timestamptz, OUT sequence integer, OUT generator integer, OUT cluster integer,
    OUT mode uniqueid_mode
)
    AS 'MODULE_PATHNAME', 'uniqueid_decode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_decode(uniqueid) IS 'the fields of a uniqueid';

CREATE FUNCTION uniqueid_timestamp(id uniqueid) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'uniqueid_timestamp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_timestamp(uniqueid) IS 'when a uniqueid was made, in either mode';

CREATE FUNCTION uniqueid_sequential(id uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_sequential_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_sequential(uniqueid)
    IS 'whether a uniqueid is one that sorts by its time';

-- putting together ----------------------------------------------------------------------------------

CREATE FUNCTION uniqueid_encode(
    created_at timestamptz, sequence integer, generator integer, cluster integer, mode uniqueid_mode
) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_encode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_encode(timestamptz, integer, integer, integer, uniqueid_mode)
    IS 'the uniqueid of these fields';

CREATE FUNCTION uniqueid_at(
    created_at timestamptz, number bigint DEFAULT 0, mode uniqueid_mode DEFAULT 'time_sequential'
) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_at_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_at(timestamptz, bigint, uniqueid_mode)
    IS 'an ID of this server for a given time: its number-th of that millisecond';

-- bounds of a time ----------------------------------------------------------------------------------

CREATE FUNCTION uniqueid_min("time" timestamptz) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_min(timestamptz)
    IS 'the smallest time_sequential uniqueid whose time is not before this one';

CREATE FUNCTION uniqueid_max("time" timestamptz) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_max(timestamptz)
    IS 'the largest time_sequential uniqueid whose time is not after this one';

CREATE FUNCTION uniqueid_range_min(times tstzrange) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_range_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_range_min(tstzrange)
    IS 'the smallest time_sequential uniqueid of these times; above uniqueid_range_max where there is none';

CREATE FUNCTION uniqueid_range_max(times tstzrange) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_range_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_range_max(tstzrange)
    IS 'the largest time_sequential uniqueid of these times; below uniqueid_range_min where there is none';

-- casts ---------------------------------------------------------------------------------------------

CREATE FUNCTION uniqueid_to_bytea(id uniqueid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'uniqueid_to_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_to_bytea(uniqueid) IS 'the 8 bytes of a uniqueid';

CREATE FUNCTION uniqueid_from_bytea(bytes bytea) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_from_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_from_bytea(bytea) IS 'the uniqueid of 8 bytes';

CREATE CAST (uniqueid AS text) WITH INOUT;
COMMENT ON CAST (uniqueid AS text) IS 'the text of a uniqueid';
CREATE CAST (text AS uniqueid) WITH INOUT;
COMMENT ON CAST (text AS uniqueid) IS 'the uniqueid of a text';
CREATE CAST (uniqueid AS bytea) WITH FUNCTION uniqueid_to_bytea(uniqueid);
COMMENT ON CAST (uniqueid AS bytea) IS 'the 8 bytes of a uniqueid';
CREATE CAST (bytea AS uniqueid) WITH FUNCTION uniqueid_from_bytea(bytea);
COMMENT ON CAST (bytea AS uniqueid) IS 'the uniqueid of 8 bytes';

-- comparison ----------------------------------------------------------------------------------------

CREATE FUNCTION uniqueid_lt(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_lt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_lt(uniqueid, uniqueid) IS 'implementation of < operator';

CREATE FUNCTION uniqueid_le(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_le_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_le(uniqueid, uniqueid) IS 'implementation of <= operator';

CREATE FUNCTION uniqueid_eq(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_eq_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_eq(uniqueid, uniqueid) IS 'implementation of = operator';

CREATE FUNCTION uniqueid_ge(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_ge_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_ge(uniqueid, uniqueid) IS 'implementation of >= operator';

CREATE FUNCTION uniqueid_gt(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_gt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_gt(uniqueid, uniqueid) IS 'implementation of > operator';

CREATE FUNCTION uniqueid_ne(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'uniqueid_ne_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_ne(uniqueid, uniqueid) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (uniqueid, uniqueid) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (uniqueid, uniqueid) IS 'less than or equal';

CREATE OPERATOR = (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel,
    HASHES, MERGES
);
COMMENT ON OPERATOR = (uniqueid, uniqueid) IS 'equal';

CREATE OPERATOR >= (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (uniqueid, uniqueid) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (uniqueid, uniqueid) IS 'greater than';

CREATE OPERATOR <> (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (uniqueid, uniqueid) IS 'not equal';

-- btree: equal images are equal values, so that an index may keep a run of them once.
CREATE FUNCTION uniqueid_cmp(uniqueid, uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME', 'uniqueid_cmp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_cmp(uniqueid, uniqueid) IS 'less-equal-greater';

CREATE OPERATOR CLASS uniqueid_ops DEFAULT FOR TYPE uniqueid USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 uniqueid_cmp(uniqueid, uniqueid),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS uniqueid_ops USING btree IS 'the order of a uniqueid''s bytes';

CREATE FUNCTION uniqueid_hash(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME', 'uniqueid_hash_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_hash(uniqueid) IS 'hash';

CREATE FUNCTION uniqueid_hash_extended(uniqueid, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'uniqueid_hash_extended_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_hash_extended(uniqueid, bigint) IS 'hash';

CREATE OPERATOR CLASS uniqueid_ops DEFAULT FOR TYPE uniqueid USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 uniqueid_hash(uniqueid),
    FUNCTION 2 uniqueid_hash_extended(uniqueid, bigint);
COMMENT ON OPERATOR CLASS uniqueid_ops USING hash IS 'hash of a uniqueid''s bytes';

CREATE OPERATOR CLASS uniqueid_minmax_ops DEFAULT FOR TYPE uniqueid USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS uniqueid_minmax_ops USING brin
    IS 'smallest and largest uniqueid of a range of blocks';

CREATE FUNCTION uniqueid_smaller(uniqueid, uniqueid) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_smaller_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_smaller(uniqueid, uniqueid) IS 'smaller of two';

CREATE FUNCTION uniqueid_larger(uniqueid, uniqueid) RETURNS uniqueid
    AS 'MODULE_PATHNAME', 'uniqueid_larger_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_larger(uniqueid, uniqueid) IS 'larger of two';

CREATE AGGREGATE min(uniqueid) (
    SFUNC = uniqueid_smaller, STYPE = uniqueid, COMBINEFUNC = uniqueid_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(uniqueid) IS 'minimum value of all uniqueid input values';

CREATE AGGREGATE max(uniqueid) (
    SFUNC = uniqueid_larger, STYPE = uniqueid, COMBINEFUNC = uniqueid_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(uniqueid) IS 'maximum value of all uniqueid input values';

-- time ----------------------------------------------------------------------------------------------

-- Time as a predicate of the uniqueids that sort by it. A spread one is never made before, at or after a
-- time here, as its place in an index says nothing about that: so these operators have no negators.

CREATE FUNCTION uniqueid_lt_time(id uniqueid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < uniqueid_min("time") AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_lt_time(uniqueid, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION uniqueid_le_time(id uniqueid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <= uniqueid_max("time") AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_le_time(uniqueid, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION uniqueid_eq_time(id uniqueid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= uniqueid_min("time") AND id <= uniqueid_max("time") AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_eq_time(uniqueid, timestamptz) IS 'implementation of = operator';

CREATE FUNCTION uniqueid_ge_time(id uniqueid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= uniqueid_min("time") AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_ge_time(uniqueid, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION uniqueid_gt_time(id uniqueid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id > uniqueid_max("time") AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_gt_time(uniqueid, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION uniqueid_ne_time(id uniqueid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (id < uniqueid_min("time") OR id > uniqueid_max("time")) AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_ne_time(uniqueid, timestamptz) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = uniqueid, RIGHTARG = timestamptz, FUNCTION = uniqueid_lt_time,
    COMMUTATOR = >, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (uniqueid, timestamptz) IS 'is time_sequential and was made before';

CREATE OPERATOR <= (
    LEFTARG = uniqueid, RIGHTARG = timestamptz, FUNCTION = uniqueid_le_time,
    COMMUTATOR = >=, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (uniqueid, timestamptz) IS 'is time_sequential and was made at or before';

CREATE OPERATOR = (
    LEFTARG = uniqueid, RIGHTARG = timestamptz, FUNCTION = uniqueid_eq_time,
    COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (uniqueid, timestamptz) IS 'is time_sequential and was made exactly at';

CREATE OPERATOR >= (
    LEFTARG = uniqueid, RIGHTARG = timestamptz, FUNCTION = uniqueid_ge_time,
    COMMUTATOR = <=, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (uniqueid, timestamptz) IS 'is time_sequential and was made at or after';

CREATE OPERATOR > (
    LEFTARG = uniqueid, RIGHTARG = timestamptz, FUNCTION = uniqueid_gt_time,
    COMMUTATOR = <, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (uniqueid, timestamptz) IS 'is time_sequential and was made after';

CREATE OPERATOR <> (
    LEFTARG = uniqueid, RIGHTARG = timestamptz, FUNCTION = uniqueid_ne_time,
    COMMUTATOR = <>, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (uniqueid, timestamptz) IS 'is time_sequential and was made at another time than';

CREATE FUNCTION time_lt_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id > "time";
COMMENT ON FUNCTION time_lt_uniqueid(timestamptz, uniqueid) IS 'implementation of < operator';

CREATE FUNCTION time_le_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= "time";
COMMENT ON FUNCTION time_le_uniqueid(timestamptz, uniqueid) IS 'implementation of <= operator';

CREATE FUNCTION time_eq_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id = "time";
COMMENT ON FUNCTION time_eq_uniqueid(timestamptz, uniqueid) IS 'implementation of = operator';

CREATE FUNCTION time_ge_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <= "time";
COMMENT ON FUNCTION time_ge_uniqueid(timestamptz, uniqueid) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < "time";
COMMENT ON FUNCTION time_gt_uniqueid(timestamptz, uniqueid) IS 'implementation of > operator';

CREATE FUNCTION time_ne_uniqueid("time" timestamptz, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <> "time";
COMMENT ON FUNCTION time_ne_uniqueid(timestamptz, uniqueid) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = uniqueid, FUNCTION = time_lt_uniqueid,
    COMMUTATOR = >, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, uniqueid) IS 'time less than that of a uniqueid';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = uniqueid, FUNCTION = time_le_uniqueid,
    COMMUTATOR = >=, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, uniqueid) IS 'time less than or equal that of a uniqueid';

CREATE OPERATOR = (
    LEFTARG = timestamptz, RIGHTARG = uniqueid, FUNCTION = time_eq_uniqueid,
    COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, uniqueid) IS 'time equal that of a uniqueid';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = uniqueid, FUNCTION = time_ge_uniqueid,
    COMMUTATOR = <=, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, uniqueid) IS 'time greater than or equal that of a uniqueid';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = uniqueid, FUNCTION = time_gt_uniqueid,
    COMMUTATOR = <, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, uniqueid) IS 'time greater than that of a uniqueid';

CREATE OPERATOR <> (
    LEFTARG = timestamptz, RIGHTARG = uniqueid, FUNCTION = time_ne_uniqueid,
    COMMUTATOR = <>, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, uniqueid) IS 'time not equal that of a uniqueid';

CREATE FUNCTION uniqueid_in_times(id uniqueid, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= uniqueid_range_min(times)
        AND id <= uniqueid_range_max(times) AND flakeid_recheck(uniqueid_sequential(id));
COMMENT ON FUNCTION uniqueid_in_times(uniqueid, tstzrange) IS 'implementation of <@ operator';

CREATE OPERATOR <@ (
    LEFTARG = uniqueid, RIGHTARG = tstzrange, FUNCTION = uniqueid_in_times,
    COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (uniqueid, tstzrange) IS 'is time_sequential and was made within';

CREATE FUNCTION times_of_uniqueid(times tstzrange, id uniqueid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id <@ times;
COMMENT ON FUNCTION times_of_uniqueid(tstzrange, uniqueid) IS 'implementation of @> operator';

CREATE OPERATOR @> (
    LEFTARG = tstzrange, RIGHTARG = uniqueid, FUNCTION = times_of_uniqueid,
    COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, uniqueid) IS 'holds the time of';
