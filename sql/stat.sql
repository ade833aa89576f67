-- What an operator can ask.

CREATE FUNCTION flakeid_identity() RETURNS jsonb
    AS 'MODULE_PATHNAME', 'flakeid_identity_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_identity()
    IS 'the generator IDs this server owns and where this session begins, with what they come from';
