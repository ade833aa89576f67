-- sno: 10 bytes. 39 bits of 4 ms since 2010, 1 of tick-tock, 8 of meta, 16 of partition, 16 of
-- sequence.

CREATE TYPE sno;

CREATE FUNCTION sno_in(cstring) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_in_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_in(cstring) IS 'I/O';

CREATE FUNCTION sno_out(sno) RETURNS cstring
    AS 'MODULE_PATHNAME', 'sno_out_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_out(sno) IS 'I/O';

CREATE FUNCTION sno_recv(internal) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_recv_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_recv(internal) IS 'I/O';

CREATE FUNCTION sno_send(sno) RETURNS bytea
    AS 'MODULE_PATHNAME', 'sno_send_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_send(sno) IS 'I/O';

CREATE TYPE sno (
    INPUT = sno_in,
    OUTPUT = sno_out,
    RECEIVE = sno_recv,
    SEND = sno_send,
    INTERNALLENGTH = 10,
    ALIGNMENT = char,
    STORAGE = plain
);
COMMENT ON TYPE sno IS 'a k-ordered ID of 10 bytes, written as 16 characters';

-- making -------------------------------------------------------------------------------------------

CREATE FUNCTION sno_next(meta integer DEFAULT 0) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_next(integer) IS 'a new sno with this byte of meta';

CREATE FUNCTION sno_next_batch(n integer, meta integer DEFAULT 0) RETURNS SETOF sno
    AS 'MODULE_PATHNAME', 'sno_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_next_batch(integer, integer) IS 'n new snos with this byte of meta';

-- taking apart -------------------------------------------------------------------------------------

CREATE FUNCTION sno_decode(
    id sno,
    OUT created_at timestamptz, OUT tick integer, OUT meta integer, OUT "partition" integer,
    OUT sequence integer
)
    AS 'MODULE_PATHNAME', 'sno_decode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_decode(sno) IS 'the fields of a sno; tick is its tick-tock bit';

CREATE FUNCTION sno_timestamp(id sno) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'sno_timestamp_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_timestamp(sno) IS 'when a sno was made';

-- putting together ---------------------------------------------------------------------------------

CREATE FUNCTION sno_encode(
    created_at timestamptz, tick integer, meta integer, "partition" integer, sequence integer
)
    RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_encode_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_encode(timestamptz, integer, integer, integer, integer) IS 'the sno of these fields';

CREATE FUNCTION sno_at(created_at timestamptz, meta integer DEFAULT 0, number bigint DEFAULT 0)
    RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_at_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_at(timestamptz, integer, bigint)
    IS 'the sno for a given time: this server''s number-th of those 4 ms, counted from 0 and around';

-- bounds of a time ---------------------------------------------------------------------------------

CREATE FUNCTION sno_min("time" timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_min(timestamptz) IS 'the smallest sno whose time is not before this';

CREATE FUNCTION sno_max("time" timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_max(timestamptz) IS 'the largest sno whose time is not after this';

CREATE FUNCTION sno_range_min(times tstzrange) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_range_min_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_range_min(tstzrange)
    IS 'the smallest sno of these times; above sno_range_max where there is none';

CREATE FUNCTION sno_range_max(times tstzrange) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_range_max_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_range_max(tstzrange)
    IS 'the largest sno of these times; below sno_range_min where there is none';

-- casts --------------------------------------------------------------------------------------------

CREATE FUNCTION sno_to_bytea(id sno) RETURNS bytea
    AS 'MODULE_PATHNAME', 'sno_to_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_bytea(sno) IS 'the ten bytes of a sno';

CREATE FUNCTION sno_from_bytea(bytes bytea) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_from_bytea_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_bytea(bytea) IS 'the sno of ten bytes';

CREATE FUNCTION sno_to_uuid(id sno) RETURNS uuid
    AS 'MODULE_PATHNAME', 'sno_to_uuid_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuid(sno) IS 'the sixteen characters of a sno as sixteen bytes, which sort as it does';

CREATE FUNCTION sno_from_uuid(id uuid) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_from_uuid_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_uuid(uuid) IS 'the sno whose sixteen characters these sixteen bytes are';

CREATE CAST (sno AS text) WITH INOUT;
COMMENT ON CAST (sno AS text) IS 'the sixteen characters of a sno';
CREATE CAST (text AS sno) WITH INOUT;
COMMENT ON CAST (text AS sno) IS 'the sno of sixteen characters';
CREATE CAST (sno AS bytea) WITH FUNCTION sno_to_bytea(sno);
COMMENT ON CAST (sno AS bytea) IS 'the ten bytes of a sno';
CREATE CAST (bytea AS sno) WITH FUNCTION sno_from_bytea(bytea);
COMMENT ON CAST (bytea AS sno) IS 'the sno of ten bytes';
CREATE CAST (sno AS uuid) WITH FUNCTION sno_to_uuid(sno);
COMMENT ON CAST (sno AS uuid) IS 'the sixteen characters of a sno as sixteen bytes';
CREATE CAST (uuid AS sno) WITH FUNCTION sno_from_uuid(uuid);
COMMENT ON CAST (uuid AS sno) IS 'the sno whose sixteen characters these sixteen bytes are';

-- comparison ----------------------------------------------------------------------------------------

CREATE FUNCTION sno_lt(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_lt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_lt(sno, sno) IS 'implementation of < operator';

CREATE FUNCTION sno_le(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_le_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_le(sno, sno) IS 'implementation of <= operator';

CREATE FUNCTION sno_eq(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_eq_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_eq(sno, sno) IS 'implementation of = operator';

CREATE FUNCTION sno_ge(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_ge_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_ge(sno, sno) IS 'implementation of >= operator';

CREATE FUNCTION sno_gt(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_gt_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_gt(sno, sno) IS 'implementation of > operator';

CREATE FUNCTION sno_ne(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_ne_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_ne(sno, sno) IS 'implementation of <> operator';

CREATE OPERATOR < (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel
);
COMMENT ON OPERATOR < (sno, sno) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel
);
COMMENT ON OPERATOR <= (sno, sno) IS 'less than or equal';

CREATE OPERATOR = (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel,
    HASHES, MERGES
);
COMMENT ON OPERATOR = (sno, sno) IS 'equal';

CREATE OPERATOR >= (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel
);
COMMENT ON OPERATOR >= (sno, sno) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel
);
COMMENT ON OPERATOR > (sno, sno) IS 'greater than';

CREATE OPERATOR <> (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sno, sno) IS 'not equal';

-- btree: equal images are equal values, so that an index may keep a run of them once.
CREATE FUNCTION sno_cmp(sno, sno) RETURNS integer
    AS 'MODULE_PATHNAME', 'sno_cmp_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_cmp(sno, sno) IS 'less-equal-greater';

CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 sno_cmp(sno, sno),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS sno_ops USING btree IS 'the order of a sno''s bytes, which is that of its time';

CREATE FUNCTION sno_hash(sno) RETURNS integer
    AS 'MODULE_PATHNAME', 'sno_hash_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_hash(sno) IS 'hash';

CREATE FUNCTION sno_hash_extended(sno, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'sno_hash_extended_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_hash_extended(sno, bigint) IS 'hash';

CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 sno_hash(sno),
    FUNCTION 2 sno_hash_extended(sno, bigint);
COMMENT ON OPERATOR CLASS sno_ops USING hash IS 'hash of a sno''s bytes';

CREATE OPERATOR CLASS sno_minmax_ops DEFAULT FOR TYPE sno USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS sno_minmax_ops USING brin IS 'smallest and largest sno of a range of blocks';

CREATE FUNCTION sno_smaller(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_smaller_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_smaller(sno, sno) IS 'smaller of two';

CREATE FUNCTION sno_larger(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_larger_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_larger(sno, sno) IS 'larger of two';

CREATE AGGREGATE min(sno) (
    SFUNC = sno_smaller, STYPE = sno, COMBINEFUNC = sno_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(sno) IS 'minimum value of all sno input values';

CREATE AGGREGATE max(sno) (
    SFUNC = sno_larger, STYPE = sno, COMBINEFUNC = sno_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(sno) IS 'maximum value of all sno input values';

-- time ----------------------------------------------------------------------------------------------

-- Time as a predicate. Each operator is a function with a SQL body, which the planner writes
-- out as a comparison of the ID with a bound of the time: an index of the ID serves it.

CREATE FUNCTION sno_lt_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id < sno_min("time");
COMMENT ON FUNCTION sno_lt_time(sno, timestamptz) IS 'whether a sno was made before a time';

CREATE FUNCTION sno_le_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id <= sno_max("time");
COMMENT ON FUNCTION sno_le_time(sno, timestamptz) IS 'whether a sno was made at or before a time';

CREATE FUNCTION sno_eq_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_min("time") AND id <= sno_max("time");
COMMENT ON FUNCTION sno_eq_time(sno, timestamptz) IS 'whether a sno was made exactly at a time';

CREATE FUNCTION sno_ge_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id >= sno_min("time");
COMMENT ON FUNCTION sno_ge_time(sno, timestamptz) IS 'whether a sno was made at or after a time';

CREATE FUNCTION sno_gt_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id > sno_max("time");
COMMENT ON FUNCTION sno_gt_time(sno, timestamptz) IS 'whether a sno was made after a time';

CREATE FUNCTION sno_ne_time(id sno, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < sno_min("time") OR id > sno_max("time");
COMMENT ON FUNCTION sno_ne_time(sno, timestamptz) IS 'whether a sno was made at another time than a time';

CREATE FUNCTION time_lt_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id > sno_max("time");
COMMENT ON FUNCTION time_lt_sno(timestamptz, sno) IS 'whether a sno was made after a time';

CREATE FUNCTION time_le_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id >= sno_min("time");
COMMENT ON FUNCTION time_le_sno(timestamptz, sno) IS 'whether a sno was made at or after a time';

CREATE FUNCTION time_eq_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_min("time") AND id <= sno_max("time");
COMMENT ON FUNCTION time_eq_sno(timestamptz, sno) IS 'whether a sno was made exactly at a time';

CREATE FUNCTION time_ge_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id <= sno_max("time");
COMMENT ON FUNCTION time_ge_sno(timestamptz, sno) IS 'whether a sno was made at or before a time';

CREATE FUNCTION time_gt_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id < sno_min("time");
COMMENT ON FUNCTION time_gt_sno(timestamptz, sno) IS 'whether a sno was made before a time';

CREATE FUNCTION time_ne_sno("time" timestamptz, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id < sno_min("time") OR id > sno_max("time");
COMMENT ON FUNCTION time_ne_sno(timestamptz, sno) IS 'whether a sno was made at another time than a time';

CREATE OPERATOR < (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_lt_time,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (sno, timestamptz) IS 'was made before';

CREATE OPERATOR <= (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_le_time,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (sno, timestamptz) IS 'was made at or before';

CREATE OPERATOR = (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_eq_time,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (sno, timestamptz) IS 'was made exactly at';

CREATE OPERATOR >= (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_ge_time,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (sno, timestamptz) IS 'was made at or after';

CREATE OPERATOR > (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_gt_time,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (sno, timestamptz) IS 'was made after';

CREATE OPERATOR <> (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_ne_time,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sno, timestamptz) IS 'was made at another time than';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_lt_sno,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, sno) IS 'time less than that of a sno';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_le_sno,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, sno) IS 'time less than or equal that of a sno';

CREATE OPERATOR = (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_eq_sno,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, sno) IS 'time equal that of a sno';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_ge_sno,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, sno) IS 'time greater than or equal that of a sno';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_gt_sno,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, sno) IS 'time greater than that of a sno';

CREATE OPERATOR <> (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_ne_sno,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, sno) IS 'time not equal that of a sno';

CREATE FUNCTION sno_in_times(id sno, times tstzrange) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_range_min(times) AND id <= sno_range_max(times);
COMMENT ON FUNCTION sno_in_times(sno, tstzrange) IS 'whether a sno was made within a range of times';

CREATE FUNCTION times_of_sno(times tstzrange, id sno) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_range_min(times) AND id <= sno_range_max(times);
COMMENT ON FUNCTION times_of_sno(tstzrange, sno) IS 'whether a range of times holds that of a sno';

CREATE OPERATOR <@ (
    LEFTARG = sno, RIGHTARG = tstzrange, FUNCTION = sno_in_times,
    COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (sno, tstzrange) IS 'was made within';

CREATE OPERATOR @> (
    LEFTARG = tstzrange, RIGHTARG = sno, FUNCTION = times_of_sno,
    COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, sno) IS 'holds the time of';
