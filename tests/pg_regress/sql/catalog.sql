-- What the extension declares, asked of the catalogs: every object complete, and the checks of
-- PostgreSQL's own opr_sanity and type_sanity that can apply.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
CREATE TEMP VIEW member AS
SELECT classid, objid FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid');
CREATE TEMP VIEW function AS
SELECT pg_proc.*, pg_proc.oid::regprocedure AS signature
FROM pg_proc JOIN member ON classid = 'pg_proc'::regclass AND objid = pg_proc.oid;
CREATE TEMP VIEW operator AS
SELECT pg_operator.*, pg_operator.oid::regoperator AS signature
FROM pg_operator JOIN member ON classid = 'pg_operator'::regclass AND objid = pg_operator.oid
WHERE oprcode NOT IN (SELECT oid FROM pg_proc WHERE proname = 'flakeid_no_arithmetic');

SELECT classid::regclass::text AS catalog, count(*) FROM member
WHERE classid <> 'pg_type'::regclass GROUP BY catalog ORDER BY catalog;

-- The ID type of a function, and what the function is with X for the name of this type.
CREATE FUNCTION pg_temp.of_x(function text, OUT named text, OUT type text) LANGUAGE sql AS $$
    SELECT CASE WHEN type IS NULL THEN function ELSE
        regexp_replace(function, format('(?<![a-z0-9])%s(?![a-z0-9])', type), 'X', 'g') END,
        coalesce(type, '')
    FROM (SELECT (regexp_match(function,
        '(?<![a-z0-9])(flake128|flake|sno|guid_local|guid|uniqueid|uuidv7)(?![a-z0-9])'))[1]
        AS type) AS types
$$;
-- Functions that have something in common, by their names, with how many they are, and of which ID
-- types.
CREATE FUNCTION pg_temp.by_name(functions regprocedure[])
RETURNS TABLE (function text, number bigint, types text) LANGUAGE sql AS $$
    SELECT named COLLATE "C", count(*), string_agg(DISTINCT type, ' ')
    FROM pg_proc, pg_temp.of_x(proname::text) WHERE oid = ANY (functions)
    GROUP BY 1 ORDER BY 1
$$;

\echo -- comments -------------------------------------------------------------------------------
SELECT signature AS function_without_comment FROM function
    WHERE obj_description(oid, 'pg_proc') IS NULL;
SELECT signature AS operator_without_comment FROM operator
    WHERE obj_description(oid, 'pg_operator') IS NULL;
SELECT pg_describe_object(classid, objid, 0) AS other_without_comment
FROM member
WHERE classid IN ('pg_cast'::regclass, 'pg_class'::regclass, 'pg_opclass'::regclass)
    AND obj_description(objid, classid::regclass::name) IS NULL
   OR classid = 'pg_type'::regclass AND obj_description(objid, 'pg_type') IS NULL
      AND NOT EXISTS (SELECT FROM pg_type AS element WHERE element.typarray = objid)
      -- From version 17 on a view's row type is a member of its own.
      AND NOT EXISTS (SELECT FROM pg_type WHERE oid = objid AND typtype = 'c');
SELECT obj_description(oid, 'pg_extension') IS NOT NULL AS extension_has_comment FROM pg_extension
WHERE extname = 'flakeid';

\echo -- volatility, strictness, parallel safety ------------------------------------------------
\echo -- Makers of IDs, and what tells of the session or the server, are volatile; what reads a
\echo -- setting is stable.
SELECT provolatile, by_name.*
FROM (SELECT provolatile, array_agg(signature) FROM function WHERE provolatile <> 'i' GROUP BY 1)
    AS functions (provolatile, signatures), pg_temp.by_name(signatures)
ORDER BY provolatile, function;
\echo '-- Not strict: X_between, which is two comparisons, errors that NULL must not hide, and'
\echo -- the aggregates.
SELECT prokind, by_name.*
FROM (SELECT prokind, array_agg(signature) FROM function WHERE NOT proisstrict GROUP BY 1)
    AS functions (prokind, signatures), pg_temp.by_name(signatures) ORDER BY prokind, function;
SELECT count(*) AS not_strict_in_sql FROM function
WHERE NOT proisstrict AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql');
\echo -- What is not for parallel workers.
SELECT proparallel, by_name.*
FROM (SELECT proparallel, array_agg(signature) FROM function WHERE proparallel <> 's' GROUP BY 1)
    AS functions (proparallel, signatures), pg_temp.by_name(signatures)
ORDER BY proparallel, function;
\echo '-- Which functions are leakproof, and why the others are not: tests/t/sql/leakproof.pl.'
SELECT signature AS defined_by_owner_rights FROM function WHERE prosecdef;
\echo -- What is not for everyone, and for whom it is. An empty grantee is everyone.
SELECT object::text COLLATE "C" AS object,
    string_agg(format('%s=%s', grantee, privilege_type), ' ' ORDER BY grantee) AS granted
FROM (SELECT signature::text AS object, proacl AS acl, proowner AS owner FROM function
    WHERE proacl IS NOT NULL
      UNION ALL
      SELECT relname, relacl, relowner FROM pg_class
      JOIN member ON classid = 'pg_class'::regclass AND objid = oid)
    AS objects,
LATERAL (SELECT privilege_type, CASE grantee WHEN 0 THEN '' ELSE grantee::regrole::text END
    AS grantee
         FROM aclexplode(acl) WHERE grantee <> owner) AS granted
GROUP BY object ORDER BY object;

\echo -- types ----------------------------------------------------------------------------------
SELECT typname, typinput, typoutput, typreceive, typsend, typisdefined, typarray <> 0 AS has_array
FROM pg_type JOIN member ON classid = 'pg_type'::regclass AND objid = pg_type.oid
    WHERE typelem = 0 AND typtype = 'b'
ORDER BY typname COLLATE "C";
SELECT count(*) AS io_functions, count(*) FILTER (WHERE NOT (provolatile = 'i' AND proisstrict))
    AS not_immutable_or_strict
FROM function WHERE proname ~ '_(in|out|recv|send)$' AND proname !~ '_next_in$';
\echo -- By value or by address, and aligned as it is asked for.
SELECT typname, typlen, typbyval, typalign, typstorage, typcategory, typdelim
FROM pg_type JOIN member ON classid = 'pg_type'::regclass AND objid = pg_type.oid
    WHERE typelem = 0 AND typtype = 'b'
ORDER BY typname COLLATE "C";
SELECT typname, array_agg(enumlabel ORDER BY enumsortorder) AS labels, typarray <> 0 AS has_array
FROM pg_type JOIN member ON classid = 'pg_type'::regclass AND objid = pg_type.oid
    JOIN pg_enum ON enumtypid = pg_type.oid
GROUP BY pg_type.oid ORDER BY typname COLLATE "C";

\echo -- casts ----------------------------------------------------------------------------------
\echo '-- "e" must be written, "a" is for an assignment, too, and "i" for each expression. One'
\echo -- without a function is of the same bytes.
SELECT castsource::regtype::text COLLATE "C" AS source,
    string_agg(concat_ws(' ', castcontext, casttarget::regtype,
        CASE castmethod WHEN 'b' THEN 'without a function' END), ', '
        ORDER BY casttarget::regtype::text COLLATE "C") AS targets
FROM pg_cast JOIN member ON classid = 'pg_cast'::regclass AND objid = pg_cast.oid
GROUP BY source ORDER BY source;

\echo -- operators ------------------------------------------------------------------------------
SELECT oprname, count(*), string_agg(types, ', ' ORDER BY types COLLATE "C")
FROM operator, format('%s %s', oprleft::regtype, oprright::regtype) AS types
GROUP BY oprname ORDER BY oprname COLLATE "C";
\echo '-- Every operator has a commutator and estimators, every comparison a negator: but none'
\echo -- where a spread uniqueid or a negative flake is neither before a time nor at or after
\echo -- it.
SELECT signature AS incomplete FROM operator
WHERE oprcom = 0 OR oprrest = 0 OR oprjoin = 0
   OR (oprnegate = 0) <> (oprname IN ('<@', '@>') OR 'uniqueid'::regtype IN (oprleft, oprright)
       AND oprleft <> oprright
                          OR 'timed_flake'::regtype IN (oprleft, oprright));
\echo -- Those that raise an error about arithmetic, and their arguments.
SELECT string_agg(oprname, ' ' ORDER BY oprname COLLATE "C") AS symbols,
    oprcode::regprocedure::text COLLATE "C" AS function
FROM pg_operator WHERE oprcode IN (SELECT oid FROM pg_proc WHERE proname = 'flakeid_no_arithmetic')
    GROUP BY function ORDER BY function;
\echo -- No shells are left over.
SELECT signature AS shell FROM operator WHERE oprcode = 0 OR oprresult = 0;
\echo -- A commutator takes the arguments the other way round, gives the same, and names this
\echo -- one in turn.
SELECT a.signature, b.oid::regoperator AS commutator
FROM operator AS a JOIN pg_operator AS b ON a.oprcom = b.oid
WHERE a.oprleft <> b.oprright OR a.oprright <> b.oprleft OR a.oprresult <> b.oprresult
    OR b.oprcom <> a.oid;
\echo -- A negator takes the same arguments, and names this one in turn.
SELECT a.signature, b.oid::regoperator AS negator
FROM operator AS a JOIN pg_operator AS b ON a.oprnegate = b.oid
WHERE a.oprleft <> b.oprleft OR a.oprright <> b.oprright OR a.oprresult <> 'bool'::regtype
    OR b.oprresult <> 'bool'::regtype
   OR b.oprnegate <> a.oid OR a.oid = b.oid;
\echo -- An operator and its function agree on types.
SELECT o.signature, p.oid::regprocedure AS function FROM operator AS o
    JOIN pg_proc AS p ON p.oid = o.oprcode
WHERE (o.oprleft, o.oprright, o.oprresult)
    IS DISTINCT FROM (p.proargtypes[0], p.proargtypes[1], p.prorettype);
\echo '-- An operator''s function is as strict and as immutable as its negator''s and its'
\echo '-- commutator''s.'
SELECT a.signature, b.oid::regoperator AS other
FROM operator AS a JOIN pg_operator AS b ON b.oid IN (a.oprcom, a.oprnegate)
JOIN pg_proc AS pa ON pa.oid = a.oprcode JOIN pg_proc AS pb ON pb.oid = b.oprcode
WHERE pa.provolatile <> pb.provolatile;
\echo -- What may be hashed or merged is = of an operator family of that kind, and its function
\echo -- is immutable.
SELECT signature AS hashes_or_merges_without_family FROM operator AS o
WHERE oprcanhash AND NOT EXISTS (SELECT FROM pg_amop JOIN pg_am ON pg_am.oid = amopmethod
        WHERE amname = 'hash' AND amopopr = o.oid AND amopstrategy = 1)
   OR oprcanmerge AND NOT EXISTS (SELECT FROM pg_amop JOIN pg_am ON pg_am.oid = amopmethod
        WHERE amname = 'btree' AND amopopr = o.oid AND amopstrategy = 3);
SELECT signature::text COLLATE "C" AS hashes_or_merges, oprcanhash, oprcanmerge
FROM operator WHERE oprcanhash OR oprcanmerge ORDER BY hashes_or_merges;
\echo '-- Estimators are those of the operator''s kind.'
SELECT oprname, oprrest, oprjoin, count(*)
FROM operator GROUP BY oprname, oprrest, oprjoin ORDER BY oprname COLLATE "C",
    oprrest::text COLLATE "C";

\echo -- operator classes -----------------------------------------------------------------------
SELECT amname, opcname, opcintype::regtype, opcdefault, amvalidate(c.oid)
FROM pg_opclass AS c JOIN member ON classid = 'pg_opclass'::regclass AND objid = c.oid
JOIN pg_am ON pg_am.oid = opcmethod
ORDER BY amname, opcname COLLATE "C";
SELECT amname, opfname, amopstrategy, amopopr::regoperator, amoppurpose
FROM pg_amop JOIN pg_opfamily AS f ON f.oid = amopfamily JOIN pg_am ON pg_am.oid = opfmethod
WHERE amoplefttype = 'sno'::regtype ORDER BY amname, opfname COLLATE "C", amopstrategy;
\echo -- Without skip support, which is there from 18 on.
SELECT amname, amprocnum, amproc::regprocedure
FROM pg_amproc JOIN pg_opfamily AS f ON f.oid = amprocfamily JOIN pg_am ON pg_am.oid = opfmethod
WHERE amproclefttype = 'sno'::regtype AND amproc::regprocedure::text !~ 'skipsupport'
ORDER BY amname, opfname COLLATE "C", amprocnum;
\echo -- The other types have the same, under their names.
CREATE TEMP VIEW support AS
SELECT amoplefttype AS type, format('%s %s %s', amname, amopstrategy, oprname) AS what
FROM pg_amop JOIN pg_opfamily AS f ON f.oid = amopfamily JOIN pg_am ON pg_am.oid = opfmethod
JOIN operator ON operator.oid = amopopr WHERE (amoplefttype, amoprighttype) = (oprleft, oprright)
    AND oprleft = oprright
UNION ALL
SELECT amproclefttype, format('%s %s %s', amname, amprocnum,
    replace(proname, format('%s_', amproclefttype::regtype), '*_'))
FROM pg_amproc JOIN pg_opfamily AS f ON f.oid = amprocfamily JOIN pg_am ON pg_am.oid = opfmethod
JOIN pg_proc ON pg_proc.oid = amproc JOIN member ON classid = 'pg_opfamily'::regclass
    AND objid = f.oid
WHERE proname !~ '_skipsupport$';
SELECT type::regtype, count(*), count(*)
    FILTER (WHERE what NOT IN (SELECT what FROM support WHERE type = 'sno'::regtype)) AS otherwise
FROM support GROUP BY type ORDER BY type::regtype::text COLLATE "C";

\echo -- The planner may call functions of operator classes early, in a worker, before a security
\echo -- barrier, and not for NULL. Those with an internal argument serve PostgreSQL itself.
SELECT signature AS neither_safe_nor_internal FROM function
WHERE oid IN (SELECT oprcode FROM pg_amop JOIN member ON classid = 'pg_opfamily'::regclass
        AND objid = amopfamily JOIN pg_operator AS o ON o.oid = amopopr
    UNION SELECT amproc FROM pg_amproc JOIN member ON classid = 'pg_opfamily'::regclass
        AND objid = amprocfamily)
    AND NOT (provolatile = 'i' AND proisstrict AND proparallel = 's'
        AND (proleakproof OR 'internal'::regtype = ANY (proargtypes)));

\echo -- arguments ------------------------------------------------------------------------------
\echo -- The names and defaults by which a caller can leave arguments out.
SELECT named COLLATE "C" AS function, string_agg(type, ' ' ORDER BY type COLLATE "C") AS types
FROM function, pg_temp.of_x(format('%s(%s)', proname, pg_get_function_arguments(oid)))
WHERE pronargdefaults > 0 GROUP BY function ORDER BY function;
\echo -- What gives many rows says so, and what the planner asks is named.
SELECT count(*) AS batches, bool_and(proretset) AS sets, min(prorows), max(prorows) FROM function
    WHERE proname LIKE '%\_next\_batch';
SELECT prosupport AS planned_by, by_name.*
FROM (SELECT prosupport, array_agg(signature) FROM function WHERE prosupport <> 0 GROUP BY 1)
    AS functions (prosupport, signatures), pg_temp.by_name(signatures)
ORDER BY prosupport::text COLLATE "C", function;

\echo -- aggregates -----------------------------------------------------------------------------
SELECT named AS "aggregate, transition, combination, order, type, parallel",
    string_agg(type, ' ' ORDER BY type COLLATE "C") AS types
FROM pg_aggregate JOIN function ON function.oid = aggfnoid, pg_temp.of_x(concat_ws(', ',
    aggfnoid::regprocedure, aggtransfn, aggcombinefn, aggsortop::regoperator,
    aggtranstype::regtype, proparallel))
GROUP BY named ORDER BY named;

\echo -- settings -------------------------------------------------------------------------------
SELECT name, setting, unit, context, vartype FROM pg_settings
WHERE name LIKE 'flakeid.%' ORDER BY name COLLATE "C";
SELECT name AS without_description FROM pg_settings
WHERE name LIKE 'flakeid.%' AND (short_desc = '' OR extra_desc IS NULL);

\echo -- leaving --------------------------------------------------------------------------------
\echo -- The extension goes as a whole and comes back, and can be put into any schema.
BEGIN;
DROP EXTENSION flakeid;
SELECT count(*) AS left_over FROM pg_proc WHERE probin LIKE '%flakeid%';
CREATE SCHEMA ids;
CREATE EXTENSION flakeid SCHEMA ids;
SELECT ids.sno_min('2010-01-01 00:00:00+00')
    OPERATOR(ids.<) timestamptz '2010-01-01 00:00:00.004+00' AS elsewhere;
SELECT ids.flake_between(1, '2010-01-01 00:00+00', '2010-01-01 00:00+00') AS elsewhere;
SELECT ids.uuidv7_between(ids.uuidv7_min('2026-07-01'), '2026-07-01', '2026-07-02') AS between,
       ids.uuidv7_before((SELECT ids.uuidv7_min('2026-07-01')), '2026-07-01') AS before;
SELECT ids.flake128_min('2026-07-01') OPERATOR(ids.>=) timestamptz '2026-07-01' AS flake128,
       ids.guid_min('2026-07-01') OPERATOR(ids.>=) timestamptz '2026-07-01' AS guid,
       timestamptz '2026-07-01' OPERATOR(ids.<) ids.guid_local_min('2026-07-01 00:00:00.000001+00')
           AS guid_local,
       ids.uniqueid_min('2026-07-01') OPERATOR(ids.<@) tstzrange('2026-07-01', '2026-07-02')
           AS uniqueid;
SELECT (SELECT count(DISTINCT id) FROM ids.flake128_next_batch(3) AS id) AS flake128,
       (SELECT count(DISTINCT id) FROM ids.guid_next_batch(3) AS id) AS guid,
       (SELECT count(DISTINCT id) FROM ids.guid_local_next_batch(3) AS id) AS guid_local,
       (SELECT count(DISTINCT id) FROM ids.uniqueid_next_batch(3, 'spread') AS id) AS uniqueid,
       (SELECT count(DISTINCT id) FROM ids.uuidv7_next_batch(3) AS id) AS uuidv7,
       (SELECT min(mode) FROM ids.uniqueid_decode(ids.uniqueid_next())) AS mode;
ROLLBACK;
