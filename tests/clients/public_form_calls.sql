-- For tests/t/docs/public_form_clients.pl: calls of the functions of the public form, their results
-- on the server, and random IDs.

-- The types of values, and how a value is written: a flake as a number, a uuidv7 as a UUID, another
-- ID as hexadecimal digits.
CREATE TABLE types (
	id_type text PRIMARY KEY, value_type text NOT NULL, reads text NOT NULL, writes text NOT NULL);
INSERT INTO types VALUES
	('flake', 'bigint', '$1::bigint', '%s::text'), ('uuidv7', 'uuid', '$1::uuid', '%s::text');
INSERT INTO types
	SELECT id_type, id_type, format('decode($1, ''hex'')::%I', id_type),
		'encode(%s::bytea, ''hex'')'
	FROM unnest('{sno,flake128,guid,guid_local,uniqueid}'::text[]) AS id_type;

CREATE FUNCTION try(method text, id_type text, prefix text, value text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	this types;
	expression text;
	result text;
BEGIN
	SELECT * INTO STRICT this FROM types WHERE types.id_type = try.id_type;
	expression := format('%I(%s, $2)', id_type || '_' || method,
		CASE method WHEN 'from_public' THEN '$1' WHEN 'from_public_uuid' THEN '$1::uuid'
			ELSE this.reads END);
	EXECUTE 'SELECT '
		|| format(CASE WHEN method LIKE 'from%' THEN this.writes ELSE '%s::text' END, expression)
	INTO result USING value, prefix;
	RETURN result;
EXCEPTION WHEN invalid_text_representation OR invalid_parameter_value OR feature_not_supported THEN
	RETURN 'refused';
END
$$;

-- IDs of random fields, of a time.
CREATE FUNCTION number_below(bound bigint) RETURNS bigint LANGUAGE sql VOLATILE
	RETURN floor(random() * bound)::bigint;
CREATE FUNCTION number_to(last integer) RETURNS integer LANGUAGE sql VOLATILE
	RETURN number_below(last + 1)::integer;
CREATE FUNCTION random_id(id_type text, t timestamptz) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	behind interval := number_to(4000) * interval '1 s';
	bytes bytea := CASE id_type
		WHEN 'sno' THEN
			sno_encode(t, number_to(1), number_to(255), number_to(65535), number_to(65535))::bytea
		WHEN 'flake128' THEN
			flake128_encode(t, right(gen_random_uuid()::text, 12)::macaddr, number_to(65535))::bytea
		WHEN 'guid' THEN
			guid_encode(t, number_below(4294967296), number_to(16383), behind,
				random() < 0.5)::bytea
		WHEN 'guid_local' THEN
			guid_local_encode(t, number_to(16383), behind, random() < 0.5)::bytea
		WHEN 'uniqueid' THEN
			uniqueid_encode(t, number_to(63), number_to(2047), number_to(15),
				(ARRAY['spread', 'time_sequential'])[1 + number_to(1)]::uniqueid_mode)::bytea
	END;
BEGIN
	RETURN CASE id_type
		WHEN 'flake' THEN flake_encode(t, number_to(31), number_to(31), number_to(4095))::text
		WHEN 'uuidv7' THEN uuidv7_encode(t, number_to(4095), number_to(3), number_to(255),
			number_below(4503599627370496))::text
		ELSE encode(bytes, 'hex')
	END;
END
$$;
CREATE FUNCTION random_digits(length integer) RETURNS text LANGUAGE sql VOLATILE
	RETURN (
		SELECT string_agg(substr(
			'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
			1 + number_to(61), 1), '')
		FROM generate_series(1, length));

CREATE TABLE calls (
	nr integer GENERATED ALWAYS AS IDENTITY,
	method text, id_type text, prefix text, value text, result text);
CREATE TABLE written (method text, id_type text, prefix text, value text, result text);

-- Adds calls for changed public forms, and for UUIDs of all kinds.
CREATE PROCEDURE add_changed_forms() LANGUAGE sql AS $$
INSERT INTO calls (method, id_type, prefix, value)
	SELECT 'from_public', id_type, prefix, CASE number_to(6)
		WHEN 0 THEN
			overlay(result PLACING substr('0aZ-_ ?', 1 + number_to(6), 1)
				FROM 1 + number_to(size - 1) FOR 1)
		WHEN 1 THEN left(result, -1)
		WHEN 2 THEN result || '0'
		WHEN 3 THEN 'x' || result
		WHEN 4 THEN substr(result, 2)
		WHEN 5 THEN left(result, start) || repeat('z', size)
		ELSE left(result, start + 1) || random_digits(size - start - 1)
	END
	FROM written, length(result) AS size,
		LATERAL (SELECT length(prefix) + (prefix <> '')::integer AS start) AS starts
	WHERE method = 'to_public';
INSERT INTO calls (method, id_type, prefix, value)
	SELECT 'from_public_uuid', id_type, prefix, CASE number_to(2)
		WHEN 0 THEN gen_random_uuid()::text
		WHEN 1 THEN overlay(gen_random_uuid()::text PLACING '8' FROM 15)
		ELSE overlay(result PLACING to_hex(number_to(15)) FROM 1 + number_to(35) FOR 1)
	END
	FROM written WHERE method = 'to_public_uuid';
DELETE FROM calls WHERE method = 'from_public_uuid'
	AND value !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
$$;
