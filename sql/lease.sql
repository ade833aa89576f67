-- Statistics of the lease of generator IDs from etcd.

CREATE FUNCTION pg_stat_get_flakeid_lease(
    OUT state text,
    OUT generator_ids_wanted integer,
    OUT generator_ids integer[],
    OUT cluster_id integer,
    OUT lease_id text,
    OUT leased_at timestamptz,
    OUT renewed_at timestamptz,
    OUT high_water_mark timestamptz,
    OUT remaining_seconds double precision,
    OUT losses bigint,
    OUT lost_at timestamptz,
    OUT endpoint text,
    OUT last_error text,
    OUT last_error_at timestamptz,
    OUT worker_pid integer
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'pg_stat_get_flakeid_lease_wrapper'
    LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION pg_stat_get_flakeid_lease()
    IS 'statistics: source of the view pg_stat_flakeid_lease';

CREATE VIEW pg_stat_flakeid_lease AS
    SELECT
        state,
        generator_ids_wanted,
        generator_ids,
        cluster_id,
        lease_id,
        leased_at,
        renewed_at,
        high_water_mark,
        pg_catalog.make_interval(secs => remaining_seconds) AS remaining,
        losses,
        lost_at,
        endpoint,
        last_error,
        last_error_at,
        worker_pid
    FROM pg_stat_get_flakeid_lease();
COMMENT ON VIEW pg_stat_flakeid_lease
    IS 'statistics: this server''s lease of generator IDs from etcd; no row if it leases none';

REVOKE ALL ON FUNCTION pg_stat_get_flakeid_lease() FROM PUBLIC;
REVOKE ALL ON pg_stat_flakeid_lease FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_flakeid_lease() TO pg_monitor;
GRANT SELECT ON pg_stat_flakeid_lease TO pg_monitor;
