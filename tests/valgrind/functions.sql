-- Prints the names by which tests/valgrind/used_functions.c notes the functions of flakeid. An
-- aggregate is not among them, but the functions for its steps are.
CREATE EXTENSION flakeid;
SELECT CASE lanname WHEN 'sql' THEN format('%s/%s', proname, pronargs) ELSE prosrc END
FROM pg_depend
JOIN pg_proc ON classid = 'pg_proc'::regclass AND objid = pg_proc.oid
JOIN pg_language ON pg_language.oid = prolang
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
  AND prokind <> 'a';
