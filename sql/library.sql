-- Rules for every script in this folder. The extension is trusted: a script runs as superuser, and its search
-- path is pg_catalog, the schema that the user chose, pg_temp. That schema can hold anything, so no name may
-- resolve to an object in it that the extension did not make:
-- * A function, an operator or a cast of PostgreSQL is written with pg_catalog. Without it a function of the
--   schema wins as soon as its argument types match better; a literal has type unknown until it is cast.
-- * A function or operator of ours is called with exactly its argument types, and with every argument. An
--   exact match wins, and CREATE fails where the signature is taken. A call with a lone literal is a cast to a
--   type of that name, if there is one: the literal is cast.
-- * A type, and the operators and functions that a CREATE statement names, are found by their exact signature,
--   in pg_catalog first. Roles and access methods are in no schema.
-- * No dynamic SQL; no body that is a string (LANGUAGE sql AS '...'), since its names resolve in each call.
-- * An update script replaces members of the extension, and CREATEs (never replaces) what is new.
-- tests/t/191_hostile_schema.pl installs every script into a schema full of traps.

-- Which library is loaded. The first thing that a script does: what follows names functions that an
-- older library does not have.

CREATE FUNCTION flakeid_require_library(version text) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_require_library_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_require_library(text)
    IS 'an error if the loaded library is older than this version; called first by install and update scripts';

SELECT flakeid_require_library('0.6.1'::pg_catalog.text);
