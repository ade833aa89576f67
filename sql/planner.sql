-- Estimates for the planner: for how many rows a comparison of IDs, or of an ID and a time, is true.

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

-- A condition that is evaluated for each row of a range of an index, if the index cannot decide it.

CREATE FUNCTION flakeid_recheck_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_recheck_support_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_recheck_support(internal) IS 'planner support for flakeid_recheck';

CREATE FUNCTION flakeid_recheck(condition boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'flakeid_recheck_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT flakeid_recheck_support;
COMMENT ON FUNCTION flakeid_recheck(boolean)
    IS 'the condition itself, with a high estimated selectivity';

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

-- The range in `id <@ times`. With a tstzrange there `times @> '...'` would be ambiguous in a database with several ID types:
-- PostgreSQL prefers operators that have the exact type of the other argument.

CREATE DOMAIN flakeid_times AS tstzrange;
COMMENT ON DOMAIN flakeid_times IS 'a range of times in a comparison with an ID; not for columns';
