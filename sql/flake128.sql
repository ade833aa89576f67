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
    RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel
);
COMMENT ON OPERATOR < (flake128, flake128) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel
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
    RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel
);
COMMENT ON OPERATOR >= (flake128, flake128) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = flake128, RIGHTARG = flake128, FUNCTION = flake128_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel
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
