\echo Use "CREATE EXTENSION flakeid" to load this file. \quit
-- Which library is loaded. The first thing that a script does: what follows names functions that an
-- older library does not have.

CREATE FUNCTION flakeid_require_library(version text) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_require_library_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_require_library(text)
    IS 'an error where the library that is loaded is older than this version: what an update script asks first';

SELECT flakeid_require_library('0.6.0'::pg_catalog.text);
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
-- flake: 64 bits kept as bigint. 42 of milliseconds since an epoch, 5 of datacenter, 5 of worker,
-- 12 of counter. What reads the setting flakeid.epoch is STABLE; the same with an epoch is IMMUTABLE.

-- making -------------------------------------------------------------------------------------------

CREATE FUNCTION flake_next() RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_next_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next() IS 'a new flake ID';

CREATE FUNCTION flake_next_batch(n integer) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME', 'flake_next_batch_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next_batch(integer) IS 'n new flake IDs';

-- taking apart -------------------------------------------------------------------------------------

CREATE FUNCTION flake_decode(
    id bigint,
    OUT created_at timestamptz, OUT datacenter integer, OUT worker integer, OUT counter integer
)
    AS 'MODULE_PATHNAME', 'flake_decode_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_decode(bigint) IS 'the fields of a flake ID, its time counted from flakeid.epoch';

CREATE FUNCTION flake_decode(
    id bigint, epoch timestamptz,
    OUT created_at timestamptz, OUT datacenter integer, OUT worker integer, OUT counter integer
)
    AS 'MODULE_PATHNAME', 'flake_decode_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_decode(bigint, timestamptz) IS 'the fields of a flake ID, its time counted from an epoch';

CREATE FUNCTION flake_timestamp(id bigint) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flake_timestamp_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(bigint) IS 'when a flake ID was made, counted from flakeid.epoch';

CREATE FUNCTION flake_timestamp(id bigint, epoch timestamptz) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flake_timestamp_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(bigint, timestamptz) IS 'when a flake ID was made, counted from an epoch';

-- putting together ---------------------------------------------------------------------------------

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
    IS 'the flake ID for a given time: this server''s number-th of that millisecond, counted from 0 and around';

CREATE FUNCTION flake_at(created_at timestamptz, number bigint, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_at_epoch_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_at(timestamptz, bigint, timestamptz)
    IS 'the flake ID for a given time, counted from an epoch';

-- bounds of a time ---------------------------------------------------------------------------------

CREATE FUNCTION flake_min("time" timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_min_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_min(timestamptz) IS 'the smallest flake ID whose time is not before this';

CREATE FUNCTION flake_min("time" timestamptz, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_min_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_min(timestamptz, timestamptz)
    IS 'the smallest flake ID whose time, counted from an epoch, is not before this';

CREATE FUNCTION flake_max("time" timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_max_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_max(timestamptz) IS 'the largest flake ID whose time is not after this';

CREATE FUNCTION flake_max("time" timestamptz, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_max_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_max(timestamptz, timestamptz)
    IS 'the largest flake ID whose time, counted from an epoch, is not after this';

CREATE FUNCTION flake_range_min(times tstzrange) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_min_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_min(tstzrange)
    IS 'the smallest flake ID of these times; above flake_range_max where there is none';

CREATE FUNCTION flake_range_min(times tstzrange, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_min_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_min(tstzrange, timestamptz)
    IS 'the smallest flake ID of these times, counted from an epoch; above flake_range_max where there is none';

CREATE FUNCTION flake_range_max(times tstzrange) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_max_wrapper'
    LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_max(tstzrange)
    IS 'the largest flake ID of these times; below flake_range_min where there is none';

CREATE FUNCTION flake_range_max(times tstzrange, epoch timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'flake_range_max_epoch_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_max(tstzrange, timestamptz)
    IS 'the largest flake ID of these times, counted from an epoch; below flake_range_min where there is none';

-- time as a predicate ------------------------------------------------------------------------------
-- Not STRICT: a strict function is not inlined when its body holds an AND, and being inlined into
-- comparisons of the ID itself is what makes an index of it usable.

CREATE FUNCTION flake_between(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>=) flake_min("from") AND id OPERATOR(pg_catalog.<=) flake_max("to");
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was made from one time to another, both included';

CREATE FUNCTION flake_between(id bigint, "from" timestamptz, "to" timestamptz, epoch timestamptz)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>=) flake_min("from", epoch) AND id OPERATOR(pg_catalog.<=) flake_max("to", epoch);
COMMENT ON FUNCTION flake_between(bigint, timestamptz, timestamptz, timestamptz)
    IS 'whether a flake ID was made from one time to another, both included, counted from an epoch';

CREATE FUNCTION flake_within(id bigint, times tstzrange) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>=) flake_range_min(times) AND id OPERATOR(pg_catalog.<=) flake_range_max(times);
COMMENT ON FUNCTION flake_within(bigint, tstzrange)
    IS 'whether a flake ID was made within a range of times';

CREATE FUNCTION flake_within(id bigint, times tstzrange, epoch timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>=) flake_range_min(times, epoch) AND id OPERATOR(pg_catalog.<=) flake_range_max(times, epoch);
COMMENT ON FUNCTION flake_within(bigint, tstzrange, timestamptz)
    IS 'whether a flake ID was made within a range of times, counted from an epoch';

CREATE FUNCTION flake_before(id bigint, "time" timestamptz) RETURNS boolean
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.<) flake_min("time");
COMMENT ON FUNCTION flake_before(bigint, timestamptz) IS 'whether a flake ID was made before a time';

CREATE FUNCTION flake_before(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.<) flake_min("time", epoch);
COMMENT ON FUNCTION flake_before(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was made before a time, counted from an epoch';

CREATE FUNCTION flake_after(id bigint, "time" timestamptz) RETURNS boolean
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>) flake_max("time");
COMMENT ON FUNCTION flake_after(bigint, timestamptz) IS 'whether a flake ID was made after a time';

CREATE FUNCTION flake_after(id bigint, "time" timestamptz, epoch timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN id OPERATOR(pg_catalog.>) flake_max("time", epoch);
COMMENT ON FUNCTION flake_after(bigint, timestamptz, timestamptz)
    IS 'whether a flake ID was made after a time, counted from an epoch';

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
    RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel
);
COMMENT ON OPERATOR < (guid_local, guid_local) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel
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
    RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel
);
COMMENT ON OPERATOR >= (guid_local, guid_local) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = guid_local, RIGHTARG = guid_local, FUNCTION = guid_local_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel
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
        AND flakeid_recheck(guid_local_timestamp(id, inverse) OPERATOR(pg_catalog.<@) times);
COMMENT ON FUNCTION guid_local_within(guid_local, tstzrange, interval, boolean)
    IS 'whether a guid_local of this drift was made within a range of times';

CREATE FUNCTION guid_local_lt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time") END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.<) "time");
COMMENT ON FUNCTION guid_local_lt_time(guid_local, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION guid_local_le_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time", '(]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.<=) "time");
COMMENT ON FUNCTION guid_local_le_time(guid_local, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION guid_local_eq_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", "time", '[]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.=) "time");
COMMENT ON FUNCTION guid_local_eq_time(guid_local, timestamptz) IS 'implementation of = operator';

CREATE FUNCTION guid_local_ge_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.>=) "time");
COMMENT ON FUNCTION guid_local_ge_time(guid_local, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION guid_local_gt_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.>) "time");
COMMENT ON FUNCTION guid_local_gt_time(guid_local, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION guid_local_ne_time(id guid_local, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_local_timestamp(id, false) OPERATOR(pg_catalog.<>) "time";
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
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id > "time";
COMMENT ON FUNCTION time_lt_guid_local(timestamptz, guid_local) IS 'implementation of < operator';

CREATE FUNCTION time_le_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id >= "time";
COMMENT ON FUNCTION time_le_guid_local(timestamptz, guid_local) IS 'implementation of <= operator';

CREATE FUNCTION time_eq_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id = "time";
COMMENT ON FUNCTION time_eq_guid_local(timestamptz, guid_local) IS 'implementation of = operator';

CREATE FUNCTION time_ge_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id <= "time";
COMMENT ON FUNCTION time_ge_guid_local(timestamptz, guid_local) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id < "time";
COMMENT ON FUNCTION time_gt_guid_local(timestamptz, guid_local) IS 'implementation of > operator';

CREATE FUNCTION time_ne_guid_local("time" timestamptz, id guid_local) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id <> "time";
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
    RETURN guid_local_near(id, times) AND flakeid_recheck(guid_local_timestamp(id, false) OPERATOR(pg_catalog.<@) times);
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
    RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel
);
COMMENT ON OPERATOR < (guid, guid) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = flakeid_lesel, JOIN = flakeid_lejoinsel
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
    RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel
);
COMMENT ON OPERATOR >= (guid, guid) IS 'greater than or equal';

CREATE OPERATOR > (
    LEFTARG = guid, RIGHTARG = guid, FUNCTION = guid_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = flakeid_gtsel, JOIN = flakeid_gtjoinsel
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
        AND flakeid_recheck(guid_timestamp(id, inverse) OPERATOR(pg_catalog.<@) times);
COMMENT ON FUNCTION guid_within(guid, tstzrange, interval, boolean)
    IS 'whether a guid of this drift was made within a range of times';

CREATE FUNCTION guid_lt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time") END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.<) "time");
COMMENT ON FUNCTION guid_lt_time(guid, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION guid_le_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, "time", '(]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.<=) "time");
COMMENT ON FUNCTION guid_le_time(guid, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION guid_eq_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", "time", '[]'::pg_catalog.text) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.=) "time");
COMMENT ON FUNCTION guid_eq_time(guid, timestamptz) IS 'implementation of = operator';

CREATE FUNCTION guid_ge_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.>=) "time");
COMMENT ON FUNCTION guid_ge_time(guid, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION guid_gt_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_near(id, CASE WHEN "time" IS NOT NULL THEN pg_catalog.tstzrange("time", NULL::pg_catalog.timestamptz) END)
        AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.>) "time");
COMMENT ON FUNCTION guid_gt_time(guid, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION guid_ne_time(id guid, "time" timestamptz) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN guid_timestamp(id, false) OPERATOR(pg_catalog.<>) "time";
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
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id > "time";
COMMENT ON FUNCTION time_lt_guid(timestamptz, guid) IS 'implementation of < operator';

CREATE FUNCTION time_le_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id >= "time";
COMMENT ON FUNCTION time_le_guid(timestamptz, guid) IS 'implementation of <= operator';

CREATE FUNCTION time_eq_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id = "time";
COMMENT ON FUNCTION time_eq_guid(timestamptz, guid) IS 'implementation of = operator';

CREATE FUNCTION time_ge_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id <= "time";
COMMENT ON FUNCTION time_ge_guid(timestamptz, guid) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id < "time";
COMMENT ON FUNCTION time_gt_guid(timestamptz, guid) IS 'implementation of > operator';

CREATE FUNCTION time_ne_guid("time" timestamptz, id guid) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN id <> "time";
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
    RETURN guid_near(id, times) AND flakeid_recheck(guid_timestamp(id, false) OPERATOR(pg_catalog.<@) times);
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
DO LANGUAGE plpgsql $$
BEGIN
    IF pg_catalog.current_setting('server_version_num'::pg_catalog.text)::pg_catalog.int4 OPERATOR(pg_catalog.>=) 180000 THEN
        ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 6 (sno, sno) sno_skipsupport(internal);
        ALTER OPERATOR FAMILY flake128_ops USING btree ADD FUNCTION 6 (flake128, flake128) flake128_skipsupport(internal);
        ALTER OPERATOR FAMILY guid_local_ops USING btree ADD FUNCTION 6 (guid_local, guid_local) guid_local_skipsupport(internal);
        ALTER OPERATOR FAMILY guid_ops USING btree ADD FUNCTION 6 (guid, guid) guid_skipsupport(internal);
        ALTER OPERATOR FAMILY uniqueid_ops USING btree ADD FUNCTION 6 (uniqueid, uniqueid) uniqueid_skipsupport(internal);
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
            CASE WHEN inverse THEN guid_local_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.ends), drift, true)
            ELSE guid_local_min(times.starts, drift) END, 
            CASE WHEN inverse THEN guid_local_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.starts), drift, true)
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
            CASE WHEN inverse THEN guid_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.ends), drift, true)
            ELSE guid_min(times.starts, drift) END, 
            CASE WHEN inverse THEN guid_range_min(pg_catalog.tstzrange(NULL::pg_catalog.timestamptz, times.starts), drift, true)
            ELSE guid_min(times.ends, drift) END
        FROM flakeid_partition_times("from", "to", step) AS times;
    END;
COMMENT ON FUNCTION guid_partition_bounds(timestamptz, timestamptz, interval, interval, boolean)
    IS 'the IDs at which partitions of this step begin and end, and a suffix for their names';
-- What an operator can ask.

CREATE FUNCTION flakeid_identity() RETURNS jsonb
    AS 'MODULE_PATHNAME', 'flakeid_identity_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_identity()
    IS 'the generator IDs this server owns and where this session begins, with what they come from';
-- What the server has done, for those who watch it, and the clock's acceptance.

CREATE FUNCTION pg_stat_get_flakeid(
    OUT system text,
    OUT generator_id integer,
    OUT ids bigint,
    OUT ticks_exhausted bigint,
    OUT spills bigint,
    OUT waits bigint,
    OUT wait_seconds double precision,
    OUT clock_steps_back bigint,
    OUT largest_step_back_seconds double precision,
    OUT tick_tocks bigint,
    OUT last_tick bigint,
    OUT last_tick_at timestamptz,
    OUT last_sequence integer,
    OUT first_of_sequence integer,
    OUT last_of_sequence integer,
    OUT gate timestamptz,
    OUT gate_lead_seconds double precision,
    OUT horizon_written_at timestamptz,
    OUT horizon_write_seconds double precision,
    OUT stats_reset timestamptz
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'pg_stat_get_flakeid_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 16;
COMMENT ON FUNCTION pg_stat_get_flakeid()
    IS 'statistics: what the view pg_stat_flakeid is made of';

CREATE VIEW pg_stat_flakeid AS
    SELECT
        system,
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
        first_of_sequence,
        last_of_sequence,
        gate,
        pg_catalog.make_interval(secs => gate_lead_seconds) AS gate_lead,
        horizon_written_at,
        pg_catalog.make_interval(secs => horizon_write_seconds) AS horizon_write_time,
        stats_reset
    FROM pg_stat_get_flakeid();
COMMENT ON VIEW pg_stat_flakeid
    IS 'statistics: one row for each system and generator ID that this server has made IDs of since it started';

CREATE FUNCTION flakeid_snapshot(
    OUT partition integer,
    OUT sequence_min integer,
    OUT sequence_max integer,
    OUT sequence integer,
    OUT now bigint,
    OUT wall_hi bigint,
    OUT wall_safe bigint,
    OUT drifts bigint,
    OUT tick smallint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_snapshot_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 8;
COMMENT ON FUNCTION flakeid_snapshot()
    IS 'sno''s bookkeeping for each partition, as the sno library''s snapshot has it: times in units of 4 ms since 2010';

CREATE FUNCTION pg_stat_reset_flakeid() RETURNS void
    AS 'MODULE_PATHNAME', 'pg_stat_reset_flakeid_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pg_stat_reset_flakeid()
    IS 'statistics: reset what pg_stat_flakeid counts';

CREATE FUNCTION flakeid_accept_clock() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_accept_clock_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid_accept_clock()
    IS 'lets IDs be made again on your word that the server''s clock is right and past all IDs made here';

REVOKE ALL ON FUNCTION pg_stat_get_flakeid(), flakeid_snapshot(), pg_stat_reset_flakeid(), flakeid_accept_clock() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid(), flakeid_snapshot() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid TO pg_monitor;
-- Generator IDs that are leased from etcd.

CREATE FUNCTION pg_stat_get_flakeid_lease(
    OUT state text,
    OUT wanted integer,
    OUT generator_ids integer[],
    OUT cluster_id integer,
    OUT lease text,
    OUT since timestamptz,
    OUT renewed_at timestamptz,
    OUT ceiling timestamptz,
    OUT remaining_seconds double precision,
    OUT losses bigint,
    OUT lost_at timestamptz,
    OUT endpoint text,
    OUT last_error text,
    OUT last_error_at timestamptz,
    OUT worker_pid integer
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'pg_stat_get_flakeid_lease_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION pg_stat_get_flakeid_lease()
    IS 'statistics: what the view pg_stat_flakeid_lease is made of';

CREATE VIEW pg_stat_flakeid_lease AS
    SELECT
        state,
        wanted,
        generator_ids,
        cluster_id,
        lease,
        since,
        renewed_at,
        ceiling,
        pg_catalog.make_interval(secs => remaining_seconds) AS remaining,
        losses,
        lost_at,
        endpoint,
        last_error,
        last_error_at,
        worker_pid
    FROM pg_stat_get_flakeid_lease();
COMMENT ON VIEW pg_stat_flakeid_lease
    IS 'statistics: this server''s lease of generator IDs from etcd; no row where it leases none';

REVOKE ALL ON FUNCTION pg_stat_get_flakeid_lease() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid_lease FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid_lease() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid_lease TO pg_monitor;
