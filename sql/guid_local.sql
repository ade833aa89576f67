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
