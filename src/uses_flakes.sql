-- Whether objects of users need a function of flakes, by PostgreSQL's dependencies or by the text of a function. It runs as
-- superuser with the search path of a script, so every name is qualified, as in the folder sql.
WITH members AS (
    SELECT member.classid, member.objid
    FROM pg_catalog.pg_depend AS member
    JOIN pg_catalog.pg_extension AS extension ON extension.oid OPERATOR(pg_catalog.=) member.refobjid
    WHERE member.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
        AND member.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog.char
        AND extension.extname OPERATOR(pg_catalog.=) 'flakeid'::pg_catalog.name
), functions AS (
    SELECT function.oid, function.prosrc, members.objid IS NOT NULL AS is_member,
        function.proname OPERATOR(pg_catalog.~) '^flake_'::pg_catalog.text AS is_of_flakes
    FROM pg_catalog.pg_proc AS function
    LEFT JOIN members ON members.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
        AND members.objid OPERATOR(pg_catalog.=) function.oid
)
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_depend AS use
    JOIN functions ON functions.oid OPERATOR(pg_catalog.=) use.refobjid
    WHERE use.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
        AND functions.is_member AND functions.is_of_flakes
        AND NOT EXISTS (
            SELECT FROM members
            WHERE members.classid OPERATOR(pg_catalog.=) use.classid AND members.objid OPERATOR(pg_catalog.=) use.objid))
    OR EXISTS (
        SELECT FROM functions
        WHERE NOT functions.is_member AND functions.prosrc OPERATOR(pg_catalog.~) '\mflake_[a-z]'::pg_catalog.text)
