-- The identity of the server.

CREATE FUNCTION flakeid_identity() RETURNS jsonb
    AS 'MODULE_PATHNAME', 'flakeid_identity_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid_identity()
    IS 'the identity of this server: its generator IDs, worker, node and cluster ID, and where they come from';
