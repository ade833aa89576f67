-- What the server has done: the columns of the view, and what they have of each ID type. More of
-- this, resets and privileges are in tests/t/monitoring.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
SELECT attname, format_type(atttypid, atttypmod) AS type
FROM pg_attribute WHERE attrelid = 'pg_stat_flakeid'::regclass AND attnum > 0 ORDER BY attnum;

SELECT count(flake_next()) AS flakes, count(sno_next()) AS snos,
    count(flake128_next()) AS flake128s,
       count(guid_next()) AS guids, count(guid_local_next()) AS guid_locals,
           count(uniqueid_next()) AS uniqueids,
       count(uuidv7_next()) AS uuidv7s
FROM generate_series(1, 1000);

-- The session has up to 31 IDs that are counted with the next one.
SELECT id_type,
       bool_and(generator_id BETWEEN 0 AND 65535) AS generator_ids,
           count(*) FILTER (WHERE generator_id IS NULL) AS of_the_node,
       sum(ids) >= 1000 - 31 AS ids,
       bool_and(least(ticks_exhausted, spills, waits, clock_steps_back, tick_tocks) >= 0) AS counts,
       bool_and(least(wait_time, largest_step_back) >= '0') AS times,
       max(last_tick_at) BETWEEN now() - interval '1 min' AND clock_timestamp() AS last_tick_at,
       bool_and(last_sequence BETWEEN 0 AND sequence_max AND sequence_min <= sequence_max)
           AS sequence,
       bool_and(gate > last_tick_at) AS gate,
       bool_and(horizon_written_at <= clock_timestamp() AND horizon_write_time > '0') AS horizon,
       bool_and(stats_reset <= now()) AS stats_reset
FROM pg_stat_flakeid GROUP BY id_type ORDER BY id_type;

\echo -- One row for an ID type and generator ID, in that order. A uuidv7 has none, and a row
\echo -- for each lane.
SELECT count(*) = count(DISTINCT (id_type, generator_id)) AS once FROM pg_stat_flakeid
    WHERE id_type <> 'uuidv7';
SELECT count(*) AS lanes FROM pg_stat_flakeid WHERE id_type = 'uuidv7';
SELECT count(*) FILTER (WHERE id_type = previous_id_type AND id_type <> 'uuidv7'
    AND (generator_id > previous_id) IS NOT TRUE) AS not_rising,
       count(*) FILTER (WHERE id_type IS DISTINCT FROM previous_id_type) AS id_types
FROM (SELECT id_type, generator_id, lag(id_type) OVER w AS previous_id_type,
    lag(generator_id) OVER w AS previous_id
      FROM (SELECT *, row_number() OVER () AS nr FROM pg_stat_flakeid) AS stat WINDOW w
          AS (ORDER BY nr)) AS stat;
\echo -- A tick is what its time says.
SELECT id_type, bool_and(CASE id_type
           WHEN 'sno' THEN last_tick = (extract(epoch
           FROM last_tick_at - timestamptz '2010-01-01 00:00+00')) * 250
           WHEN 'guid' THEN floor(last_tick * 131.072) = extract(epoch FROM last_tick_at) * 1000000
           WHEN 'flake' THEN last_tick = extract(epoch
           FROM last_tick_at - timestamptz '2010-01-01 00:00+00') * 1000
           ELSE last_tick = extract(epoch FROM last_tick_at) * 1000
       END) AS ticks
FROM pg_stat_flakeid GROUP BY id_type ORDER BY id_type;
\echo '-- sno''s own bookkeeping has the same, of an ID of this moment, too.'
SELECT sno_next() IS NOT NULL AS made;
SELECT bool_and(wall_hi = last_tick AND sequence = last_sequence AND drifts = tick_tocks
           AND (snapshot.sequence_min, snapshot.sequence_max) = (stat.sequence_min,
           stat.sequence_max)) AS same,
       bool_and(tick_tock IN (0, 1) AND wall_safe > 0) AS timelines,
       bool_and(now >= wall_hi) AND max(now) <= max(wall_hi) + 250 * 60 AS now,
       count(*) = (SELECT count(*) FROM pg_stat_flakeid WHERE id_type = 'sno') AS all_of_them
FROM flakeid_snapshot() AS snapshot JOIN pg_stat_flakeid AS stat ON id_type = 'sno'
    AND generator_id = partition;
