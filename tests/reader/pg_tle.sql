-- What stands for pg_tle: it keeps the script of an extension, and runs it in a schema as CREATE EXTENSION does.

CREATE SCHEMA pgtle;
CREATE TABLE pgtle.scripts (script text);

CREATE FUNCTION pgtle.install_extension(name text, version text, description text, ext text) RETURNS boolean
    LANGUAGE sql AS 'INSERT INTO pgtle.scripts VALUES (ext); SELECT true';

CREATE FUNCTION pgtle.create_extension(schema text) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('search_path', schema || ', pg_temp', true);
    EXECUTE replace((SELECT script FROM pgtle.scripts), '@extschema@', schema);
END
$$;
