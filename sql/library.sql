-- Which library is loaded. The first thing that a script does: what follows names functions that an
-- older library does not have.

CREATE FUNCTION flakeid_require_library(version text) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_require_library_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid_require_library(text)
    IS 'an error where the library that is loaded is older than this version: what an update script asks first';

SELECT flakeid_require_library('0.6.1');
