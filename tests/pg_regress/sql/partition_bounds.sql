-- X_partition_bounds: by day, week, month, and what they refuse.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
SELECT * FROM sno_partition_bounds('2026-11-01', '2027-02-01', '1 month');
SELECT * FROM flake_partition_bounds('2026-12-28', '2027-01-11', '1 week', 'epoch');
SELECT * FROM flake128_partition_bounds('2026-12-30', '2027-01-02', '1 day');
SELECT * FROM uniqueid_partition_bounds('2026-12-30', '2027-01-01', '12 hours');
SELECT * FROM uuidv7_partition_bounds('2026-12-30', '2027-01-01', '12 hours');
SELECT * FROM guid_partition_bounds('2026-12-01', '2027-02-01', '1 month');
SELECT * FROM guid_partition_bounds('2026-12-01', '2027-02-01', '1 month', drift => '1 min',
    inverse => true);
SELECT * FROM guid_local_partition_bounds('2026-12-01', '2026-12-03', '1 day', inverse => true);

\echo -- the epoch of the server
SELECT flake_partition_bounds('2026-12-01', '2026-12-03',
    '1 day') = flake_partition_bounds('2026-12-01', '2026-12-03', '1 day', '2010-01-01 00:00+00')
        AS of_2010;

\echo -- the n-th begins n steps after the first; the last one holds the end
SELECT name, starts, ends FROM sno_partition_bounds('2026-12-31', '2027-04-15', '1 month');
SELECT count(*), count(DISTINCT name), bool_and(ends = next) AS without_gaps FROM
    (SELECT *, lead(starts, 1, ends) OVER (ORDER BY starts) AS next
        FROM sno_partition_bounds('2026-01-01', '2028-01-01', '1 day')) AS days;
SELECT name FROM sno_partition_bounds('2026-12-01', '2026-12-01 00:00:01', '250 ms');

\echo '-- days are those of the session: 23, 24 and 25 hours'
SET timezone TO 'Europe/Berlin';
SELECT name, starts, ends - starts AS length
    FROM sno_partition_bounds('2026-10-24', '2026-10-27', '1 day');
SELECT ends - starts AS length FROM sno_partition_bounds('2026-03-29', '2026-03-30', '1 day');

-- Steps below a day are named by UTC: each has a name of its own where clocks are stepped back and
-- forth, by an hour in Berlin, New York and St. John's (3:30 behind UTC), by half an hour on Lord
-- Howe Island; the names sort as the times do, are good without quotes, and are the same in every
-- zone.
CREATE FUNCTION pg_temp.bounds(zone text, "from" timestamptz, step interval)
    RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower sno,
        upper sno) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('timezone', zone, true);
    RETURN QUERY SELECT * FROM sno_partition_bounds("from", "from" + interval '48 hours', step);
    PERFORM set_config('timezone', 'UTC', true);
END $$;
SELECT step, count(*) / count(DISTINCT zone) AS of_a_zone, count(DISTINCT name) AS names,
    count(DISTINCT (name, starts, ends)) AS partitions,
       bool_and(('p' || name) = quote_ident('p' || name)) AS unquoted, min(name), max(name)
FROM unnest('{UTC,Europe/Berlin,America/New_York,America/St_Johns,
         Australia/Lord_Howe,Asia/Kathmandu,Pacific/Chatham,
         Africa/Casablanca}'::text[]) AS zone,
     unnest('{6 hours,1 hour,45 min,30 min}'::interval[]) AS step,
     unnest('{2026-03-07 12:00+00,2026-03-28 12:00+00,2026-04-04 00:00+00,
         2026-10-03 00:00+00,2026-10-24 12:00+00,2026-10-31 12:00+00}'::timestamptz[]) AS day,
     pg_temp.bounds(zone, day, step) GROUP BY step ORDER BY step;
SELECT count(*) AS out_of_order FROM (SELECT name <= lag(name) OVER (ORDER BY starts) AS wrong
    FROM pg_temp.bounds('Australia/Lord_Howe', '2026-04-04 00:00+00', '15 min')) AS names
        WHERE wrong;
SELECT name, starts, ends FROM pg_temp.bounds('Europe/Berlin', '2026-10-25 00:00+02',
    '1 hour') LIMIT 5;
\echo '-- Others keep the names that they had: of a day or more, in any unit.'
SET timezone TO 'Europe/Berlin';
SELECT step, (array_agg(name ORDER BY starts))[1:3] AS names,
    count(*) = count(DISTINCT name) AS each
FROM unnest('{24 hours,36 hours,1 day 12 hours,1 day,1 mon -1 day,
    1 day -1 min,23 hours 59 min}'::text[]) AS step,
     sno_partition_bounds('2026-10-20', '2026-11-20', step::interval) GROUP BY step
         ORDER BY step COLLATE "C";
\echo -- Each row of the hour that repeats finds its partition.
CREATE TABLE twice (id sno PRIMARY KEY) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE twice_%s PARTITION OF twice FOR VALUES FROM (%L) TO (%L)', name, lower,
    upper)
FROM sno_partition_bounds('2026-10-25', '2026-10-26', '1 hour') \gexec
INSERT INTO twice SELECT sno_at(t, 0, nr)
    FROM generate_series(timestamptz '2026-10-25', '2026-10-25 23:59:59', '10 min')
        WITH ORDINALITY AS ts (t, nr);
SELECT * FROM pg_temp.results(
    $$count(DISTINCT tableoid), count(*) FROM twice$$);
DROP TABLE twice;
SET timezone TO 'UTC';

\echo -- nothing to do, nothing known
SELECT * FROM sno_partition_bounds('2026-12-01', '2026-12-01', '1 day');
SELECT * FROM sno_partition_bounds('2026-12-02', '2026-12-01', '1 day');
SELECT * FROM sno_partition_bounds('2026-12-02', NULL, '1 day');

\echo -- refused
SELECT * FROM pg_temp.refused(
    $$* FROM sno_partition_bounds('2026-12-01', '2026-12-03', '0 days')$$,
    $$* FROM sno_partition_bounds('2026-12-01', '2026-12-03', '-1 day')$$,
    $$* FROM sno_partition_bounds('2026-12-01', '2027-12-03', '1 month -31 days')$$,
    $$* FROM sno_partition_bounds('2026-12-01', 'infinity', '1 day')$$,
    $$* FROM flake_partition_bounds('-infinity', '2026-12-01', '1 day', 'epoch')$$,
    $$count(*) FROM flake128_partition_bounds('2026-12-01', '294276-12-31', '100000 years')$$);
\echo '-- no ID can be in it: before the first, after the last, within a tick'
SELECT * FROM pg_temp.refused(
    $$name FROM flake_partition_bounds('2009-11-01', '2010-02-01', '1 month')$$,
    $$name FROM flake_partition_bounds('2079-01-01', '2080-01-01', '1 month')$$,
    $$name FROM flake_partition_bounds('2009-12-01', '2010-02-01', '1 month', '2010-01-01')$$,
    $$name FROM flake_partition_bounds('2050-01-01', '2050-02-01', '1 month', 'epoch')$$,
    $$name FROM flake_partition_bounds('2026-12-01', '2026-12-02', '1 day', '1969-12-31')$$,
    $$name FROM sno_partition_bounds('2009-01-01', '2009-02-01', '1 month')$$,
    $$name FROM sno_partition_bounds('2080-01-01', '2081-01-01', '1 year')$$,
    $$name FROM sno_partition_bounds('2026-12-01', '2026-12-02', '3 ms')$$,
    $$name FROM flake128_partition_bounds('1960-01-01', '1961-01-01', '1 year')$$,
    $$name FROM guid_partition_bounds('2600-01-01', '2601-01-01', '1 year')$$,
    $$name FROM guid_partition_bounds('1960-01-01', '1961-01-01', '1 year', inverse => true)$$,
    $$name FROM guid_local_partition_bounds('2026-12-01', '2026-12-02', '100 us')$$,
    $$name FROM uniqueid_partition_bounds('2110-01-01', '2111-01-01', '1 year')$$,
    $$name FROM uuidv7_partition_bounds('1960-01-01', '1961-01-01', '1 year')$$,
    $$name FROM uuidv7_partition_bounds('2026-12-01', '2026-12-02', '100 us')$$,
    $$name FROM uuidv7_partition_bounds('10890-01-01', '10891-01-01', '1 year')$$);
\echo '-- One that begins before the format does, or ends after it, can hold IDs: its bound is'
\echo '-- the format''s first or last.'
SELECT * FROM pg_temp.results(
    $$name, lower, upper FROM flake_partition_bounds('2009-07-01', '2010-07-01', '1 year')$$,
    $$name, lower, upper FROM flake_partition_bounds('2039-01-01', '2040-01-01', '1 year',
        'epoch')$$,
    $$name, lower, upper FROM uuidv7_partition_bounds('1969-07-01', '1970-07-01', '1 year')$$,
    $$name, lower, upper FROM uuidv7_partition_bounds('10889-01-01', '10890-01-01', '1 year')$$);
SELECT name, lower < upper AS holds FROM guid_partition_bounds('1969-07-01', '1970-07-01', '1 year',
    inverse => true);

\echo -- the newest first, in partitions that hold their IDs in that order
CREATE TABLE feed (id guid DEFAULT guid_next(inverse => true) PRIMARY KEY) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE feed_%s PARTITION OF feed FOR VALUES FROM (%L) TO (%L)', name, lower,
    upper)
FROM guid_partition_bounds('2026-12-01', '2026-12-04', '1 day', inverse => true) \gexec
INSERT INTO feed SELECT guid_at(t, 0, inverse => true)
    FROM generate_series(timestamptz '2026-12-01 00:10', '2026-12-03 23:50', '1 h') AS t;
SELECT tableoid::regclass, count(*), min(guid_timestamp(id, true)), max(guid_timestamp(id, true))
    FROM feed GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM feed WHERE id BETWEEN guid_range_min(tstzrange('2026-12-02 01:00',
    '2026-12-02 02:00'), inverse => true)
    AND guid_range_max(tstzrange('2026-12-02 01:00', '2026-12-02 02:00'), inverse => true);
DROP TABLE feed;
