-- Rules for every script in this folder. The extension is trusted: a script runs as superuser. Its search path is
-- pg_catalog, the schema that the user chose, pg_temp. That schema can contain any objects. So no name may resolve to
-- an object in it that the extension did not create:
-- * Write pg_catalog before each function, operator or cast of PostgreSQL. Without it a function of the schema wins as
--   soon as its argument types match better. A literal has type unknown until it is cast.
-- * Call a function or operator of ours with exactly its argument types, and with every argument. An exact match wins,
--   and CREATE fails if the signature exists. Cast a lone literal: a call with it is a cast to a type of that name, if
--   there is one.
-- * A type, and the operators and functions that a CREATE statement names, need no schema. PostgreSQL finds them by
--   their exact signature, in pg_catalog first. Roles and access methods are in no schema.
-- * Write no dynamic SQL, and no body that is a string (LANGUAGE sql AS '...'), since its names resolve in each call.
-- * In an update script replace members of the extension, but CREATE (never replace) new objects.
-- tests/t/sql/hostile_schema.pl installs every script into a schema full of traps.
--
-- A function is LEAKPROOF if it reveals nothing about its arguments but by its result: no value of them raises an
-- error, and none is in a message. Then PostgreSQL may compute it before it hides rows (row-level security, security
-- barriers), and so may use an index. Bounds of a time clamp; times beyond the calendar are infinity; an epoch that a
-- reader names can be any time. A wrong setting raises the same error for all arguments, which reveals nothing.
-- tests/t/sql/leakproof.pl calls each such function with extreme values, and has the reason for each other function.

-- The check of the library. Every script begins with it, as the rest names functions that an older library lacks.

CREATE FUNCTION flakeid_require_library(version text) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_require_library_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_require_library(text)
    IS 'an error if the loaded library is older than this version; called first by install and update scripts';

SELECT flakeid_require_library('1.0.0'::pg_catalog.text);
