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
