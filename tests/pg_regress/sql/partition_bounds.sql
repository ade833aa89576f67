-- X_partition_bounds: by day, week, month, and what they refuse.
SET timezone TO 'UTC';
SELECT * FROM sno_partition_bounds('2026-11-01', '2027-02-01', '1 month');
SELECT * FROM flake_partition_bounds('2026-12-28', '2027-01-11', '1 week', 'epoch');
SELECT * FROM flake128_partition_bounds('2026-12-30', '2027-01-02', '1 day');
SELECT * FROM uniqueid_partition_bounds('2026-12-30', '2027-01-01', '12 hours');
SELECT * FROM guid_partition_bounds('2026-12-01', '2027-02-01', '1 month');
SELECT * FROM guid_partition_bounds('2026-12-01', '2027-02-01', '1 month', drift => '1 min', inverse => true);
SELECT * FROM guid_local_partition_bounds('2026-12-01', '2026-12-03', '1 day', inverse => true);

-- the epoch of the server
SELECT flake_partition_bounds('2026-12-01', '2026-12-03', '1 day') = flake_partition_bounds('2026-12-01', '2026-12-03', '1 day', 'epoch') AS unix;

-- the n-th begins n steps after the first; the last one holds the end
SELECT name, starts, ends FROM sno_partition_bounds('2026-12-31', '2027-04-15', '1 month');
SELECT count(*), count(DISTINCT name), bool_and(ends = next) AS without_gaps FROM
    (SELECT *, lead(starts, 1, ends) OVER (ORDER BY starts) AS next FROM sno_partition_bounds('2026-01-01', '2028-01-01', '1 day')) AS days;
SELECT name FROM sno_partition_bounds('2026-12-01', '2026-12-01 00:00:01', '250 ms');

-- days are those of the session: 23, 24 and 25 hours
SET timezone TO 'Europe/Berlin';
SELECT name, starts, ends - starts AS length FROM sno_partition_bounds('2026-10-24', '2026-10-27', '1 day');
SELECT ends - starts AS length FROM sno_partition_bounds('2026-03-29', '2026-03-30', '1 day');
SET timezone TO 'UTC';

-- nothing to do, nothing known
SELECT * FROM sno_partition_bounds('2026-12-01', '2026-12-01', '1 day');
SELECT * FROM sno_partition_bounds('2026-12-02', '2026-12-01', '1 day');
SELECT * FROM sno_partition_bounds('2026-12-02', NULL, '1 day');

-- refused
SELECT * FROM sno_partition_bounds('2026-12-01', '2026-12-03', '0 days');
SELECT * FROM sno_partition_bounds('2026-12-01', '2026-12-03', '-1 day');
SELECT * FROM sno_partition_bounds('2026-12-01', '2027-12-03', '1 month -31 days');
SELECT * FROM sno_partition_bounds('2026-12-01', 'infinity', '1 day');
SELECT * FROM flake_partition_bounds('-infinity', '2026-12-01', '1 day', 'epoch');
SELECT count(*) FROM sno_partition_bounds('2026-12-01', '294276-12-31', '100000 years');

-- next month's partition is one statement; many are one more
CREATE TABLE events (id sno DEFAULT sno_next() PRIMARY KEY, what text) PARTITION BY RANGE (id);
CREATE TABLE events_2026_12 PARTITION OF events FOR VALUES FROM (sno_min('2026-12-01')) TO (sno_min('2027-01-01'));
SELECT format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%L) TO (%L)', name, lower, upper)
FROM sno_partition_bounds('2027-01-01', '2027-04-01', '1 month') \gexec
INSERT INTO events SELECT sno_at(t) FROM generate_series(timestamptz '2026-12-01', '2027-03-31 23:59:59.996', '8 h') AS t;
INSERT INTO events VALUES (sno_max('2026-12-31 23:59:59.999'), 'last'), (sno_encode('2027-01-01', 0, 0, 0, 1), 'first but one');
SELECT tableoid::regclass, count(*), min(sno_timestamp(id)), max(sno_timestamp(id)) FROM events GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id >= timestamptz '2027-02-10' AND id < timestamptz '2027-03-01';
EXPLAIN (COSTS OFF) SELECT * FROM events WHERE id <@ tstzrange('2027-01-31', '2027-02-01', '[]');
INSERT INTO events VALUES (sno_at('2027-04-01'));

-- the newest first, in partitions that hold their IDs in that order
CREATE TABLE feed (id guid DEFAULT guid_next(inverse => true) PRIMARY KEY) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE feed_%s PARTITION OF feed FOR VALUES FROM (%L) TO (%L)', name, lower, upper)
FROM guid_partition_bounds('2026-12-01', '2026-12-04', '1 day', inverse => true) \gexec
INSERT INTO feed SELECT guid_at(t, 0, inverse => true) FROM generate_series(timestamptz '2026-12-01 00:10', '2026-12-03 23:50', '1 h') AS t;
SELECT tableoid::regclass, count(*), min(guid_timestamp(id, true)), max(guid_timestamp(id, true)) FROM feed GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM feed WHERE id BETWEEN guid_range_min(tstzrange('2026-12-02 01:00', '2026-12-02 02:00'), inverse => true)
    AND guid_range_max(tstzrange('2026-12-02 01:00', '2026-12-02 02:00'), inverse => true);
DROP TABLE events, feed;
