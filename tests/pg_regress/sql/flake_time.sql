-- Time as a predicate of flake: the functions are comparisons of the ID to the planner, and an index of
-- the ID serves them. What they answer is tested in flake.sql.
SET timezone TO 'UTC';
SET datestyle TO ISO;

CREATE TABLE event (id bigint PRIMARY KEY, at timestamptz);
INSERT INTO event
SELECT flake_encode(t, 0, 0, 0), t
FROM generate_series('2020-01-01 00:00:00+00'::timestamptz, '2030-01-01 00:00:00+00',
    interval '3 hours') AS t;
ANALYZE event;
SELECT count(*) FROM event;

SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- With an epoch the bound is a number when the query is planned; without one it is computed when the
-- query runs, as flakeid.epoch may have changed since.
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_between(id, '2026-07-01', '2026-08-01', '2010-01-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_between(id, '2026-07-01', '2026-08-01');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_within(id, '[2026-07-01,2026-08-01)', '2010-01-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_within(id, '[2026-07-01,2026-08-01)');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_before(id, '2026-07-01', '2010-01-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_before(id, '2026-07-01');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_after(id, '2026-07-01', '2010-01-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_after(id, '2026-07-01');
EXPLAIN (COSTS OFF) SELECT id FROM event
WHERE id >= flake_min(now() - interval '5 s') AND id <= flake_max(now());
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_after(id, now() - interval '5 s');
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE flake_between(id, now() - interval '5 s', now());

CREATE FUNCTION pg_temp.found(condition text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE 'SELECT count(*) FROM event WHERE ' || condition INTO n;
    RETURN n;
END
$$;
SELECT query, pg_temp.found(query) AS found, pg_temp.found(wanted) AS wanted
FROM (VALUES
    ($$flake_between(id, '2026-07-01', '2026-08-01')$$, $$at BETWEEN '2026-07-01' AND '2026-08-01'$$),
    ($$flake_within(id, '[2026-07-01,2026-08-01)')$$, $$at <@ tstzrange '[2026-07-01,2026-08-01)'$$),
    ($$flake_within(id, '(2026-07-01,2026-08-01]', '2010-01-01 00:00+00')$$, $$at <@ tstzrange '(2026-07-01,2026-08-01]'$$),
    ($$flake_within(id, 'empty')$$, $$at <@ tstzrange 'empty'$$),
    ($$flake_within(id, NULL)$$, $$at <@ NULL::tstzrange$$),
    ($$flake_before(id, '2026-07-01')$$, $$at < '2026-07-01'$$),
    ($$flake_before(id, '2026-07-01 00:00:00.000001')$$, $$at < '2026-07-01 00:00:00.000001'$$),
    ($$flake_after(id, '2026-07-01')$$, $$at > '2026-07-01'$$),
    ($$flake_after(id, '2026-06-30 23:59:59.999999')$$, $$at > '2026-06-30 23:59:59.999999'$$),
    ($$flake_after(id, 'infinity')$$, $$at > 'infinity'$$),
    ($$NOT flake_after(id, '-infinity')$$, $$NOT at > '-infinity'$$)
) AS queries (query, wanted);

SET plan_cache_mode = force_generic_plan;
PREPARE before (timestamptz) AS SELECT count(*) FROM event WHERE flake_before(id, $1);
PREPARE within (tstzrange, timestamptz) AS SELECT count(*) FROM event WHERE flake_within(id, $1, $2);
EXPLAIN (COSTS OFF) EXECUTE before ('2026-07-01');
EXPLAIN (COSTS OFF) EXECUTE within ('(,)', '2010-01-01 00:00+00');
EXECUTE before ('2026-07-01');
EXECUTE within ('[2026-07-01,2026-08-01)', '2010-01-01 00:00+00');
RESET plan_cache_mode;

CREATE VIEW event_made AS SELECT id, flake_timestamp(id) AS made_at FROM event;
EXPLAIN (COSTS OFF) SELECT id, made_at FROM event_made
WHERE flake_between(id, '2026-07-01', '2026-08-01', '2010-01-01 00:00+00');
DROP VIEW event_made;

-- Row estimates follow from the IDs' own statistics, with the setting's epoch too.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' -> 'Plan Rows';
END
$$;
SELECT query, round(pg_temp.estimate('SELECT FROM event WHERE ' || query)::numeric
           / (SELECT count(*) FROM event), 1) AS share
FROM unnest(ARRAY[
    $$flake_before(id, '2024-01-01', '2010-01-01 00:00+00')$$, $$flake_before(id, '2024-01-01')$$,
    $$flake_after(id, '2024-01-01')$$,
    $$flake_between(id, '2024-01-01', '2026-01-01')$$, $$flake_within(id, '[2024-01-01,2026-01-01)')$$
]) AS query;

DROP TABLE event;
