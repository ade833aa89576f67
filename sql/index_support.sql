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
