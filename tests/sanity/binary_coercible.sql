-- binary_coercible(), which opr_sanity.sql calls and PostgreSQL only has in the library of its own tests:
-- whether a value of one type is one of the other as it stands, without a function and without being asked for.
CREATE FUNCTION binary_coercible(source oid, target oid) RETURNS boolean
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    base pg_type;
    element pg_type;
BEGIN
    IF source = target OR target IN ('"any"'::regtype, 'anyelement'::regtype, 'anycompatible'::regtype) THEN
        RETURN true;
    END IF;

    -- A domain stands for what it is made of, be that a domain, too.
    LOOP
        SELECT * INTO base FROM pg_type WHERE oid = source;
        EXIT WHEN base.typtype IS DISTINCT FROM 'd';
        source := base.typbasetype;
    END LOOP;
    -- An array is what is subscripted as one: oidvector and int2vector are, name and point are not.
    SELECT * INTO element FROM pg_type
    WHERE oid = base.typelem AND base.typsubscript = 'array_subscript_handler'::regproc;
    WHILE element.typtype = 'd' LOOP
        SELECT * INTO element FROM pg_type WHERE oid = element.typbasetype;
    END LOOP;

    RETURN source = target
        OR coalesce(CASE target
            WHEN 'anyarray'::regtype THEN element.oid IS NOT NULL
            WHEN 'anycompatiblearray'::regtype THEN element.oid IS NOT NULL
            WHEN 'anynonarray'::regtype THEN element.oid IS NULL
            WHEN 'anycompatiblenonarray'::regtype THEN element.oid IS NULL
            WHEN 'anyenum'::regtype THEN base.typtype = 'e'
            WHEN 'anyrange'::regtype THEN base.typtype = 'r'
            WHEN 'anycompatiblerange'::regtype THEN base.typtype = 'r'
            WHEN 'anymultirange'::regtype THEN base.typtype = 'm'
            WHEN 'anycompatiblemultirange'::regtype THEN base.typtype = 'm'
            WHEN 'record'::regtype THEN base.typrelid <> 0
            WHEN 'record[]'::regtype THEN element.typrelid <> 0
        END, false)
        OR EXISTS (SELECT FROM pg_cast
            WHERE castsource = source AND casttarget = target AND castmethod = 'b' AND castcontext = 'i');
END
$$;
