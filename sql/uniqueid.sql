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
    RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel
);
COMMENT ON OPERATOR < (uniqueid, uniqueid) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel
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
    RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel
);
COMMENT ON OPERATOR >= (uniqueid, uniqueid) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel
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
