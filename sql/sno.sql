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
