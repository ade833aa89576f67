-- Tables partitioned by ID: by hash, and by the time within it.
SET timezone TO 'UTC';
SET datestyle TO ISO;

-- by hash ------------------------------------------------------------------------------------------

CREATE TABLE part_hash (id sno PRIMARY KEY, nr integer) PARTITION BY HASH (id);
CREATE TABLE part_hash_0 PARTITION OF part_hash FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE part_hash_1 PARTITION OF part_hash FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE part_hash_2 PARTITION OF part_hash FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE part_hash_3 PARTITION OF part_hash FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO part_hash SELECT sno_next(nr % 256), nr FROM generate_series(1, 10000) AS nr;
-- Each gets about a fourth.
SELECT tableoid::regclass, count(*) BETWEEN 2200 AND 2800 AS about_a_fourth
FROM part_hash GROUP BY tableoid ORDER BY tableoid::regclass::text;
INSERT INTO part_hash VALUES ('9q74gok3262so257', 0), ('2222222222222222', 0), ('xxxxxxxxxxxxxxxx', 0);
SELECT id, tableoid::regclass FROM part_hash WHERE nr = 0 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT nr FROM part_hash WHERE id = '9q74gok3262so257';
INSERT INTO part_hash VALUES ('9q74gok3262so257', 1);

CREATE TABLE part_flake_hash (id bigint DEFAULT flake_next() PRIMARY KEY, nr integer) PARTITION BY HASH (id);
CREATE TABLE part_flake_hash_0 PARTITION OF part_flake_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_flake_hash_1 PARTITION OF part_flake_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO part_flake_hash (nr) SELECT generate_series(1, 10000);
SELECT tableoid::regclass, count(*) BETWEEN 4700 AND 5300 AS about_a_half
FROM part_flake_hash GROUP BY tableoid ORDER BY tableoid::regclass::text;
DROP TABLE part_hash, part_flake_hash;

-- by month, sno ------------------------------------------------------------------------------------

CREATE TABLE part_sno (id sno PRIMARY KEY, nr integer) PARTITION BY RANGE (id);
CREATE TABLE part_sno_05 PARTITION OF part_sno
    FOR VALUES FROM (sno_min('2026-05-01')) TO (sno_min('2026-06-01'));
CREATE TABLE part_sno_06 PARTITION OF part_sno
    FOR VALUES FROM (sno_min('2026-06-01')) TO (sno_min('2026-07-01'));
CREATE TABLE part_sno_07 PARTITION OF part_sno
    FOR VALUES FROM (sno_min('2026-07-01')) TO (sno_min('2026-08-01'));
CREATE TABLE part_sno_08 PARTITION OF part_sno
    FOR VALUES FROM (sno_min('2026-08-01')) TO (MAXVALUE);
INSERT INTO part_sno
SELECT sno_at(t), row_number() OVER (ORDER BY t)
FROM generate_series('2026-05-01'::timestamptz, '2026-08-15', interval '1 hour') AS t;
SELECT tableoid::regclass, count(*), min(sno_timestamp(id)), max(sno_timestamp(id))
FROM part_sno GROUP BY tableoid ORDER BY tableoid::regclass::text;
INSERT INTO part_sno VALUES (sno_max('2026-04-30 23:59:59.996'));

SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT nr FROM part_sno WHERE id <@ tstzrange('2026-06-01', '2026-07-01');
EXPLAIN (COSTS OFF) SELECT nr FROM part_sno WHERE id >= timestamptz '2026-06-30 23:59:59.997';
EXPLAIN (COSTS OFF) SELECT nr FROM part_sno WHERE id < timestamptz '2026-05-20';
EXPLAIN (COSTS OFF) SELECT nr FROM part_sno WHERE id = timestamptz '2026-05-20';
EXPLAIN (COSTS OFF) SELECT nr FROM part_sno WHERE id <@ 'empty'::tstzrange;
SELECT count(*) FROM part_sno WHERE id <@ tstzrange('2026-06-01', '2026-07-01');
SELECT count(*) FROM part_sno WHERE id >= timestamptz '2026-06-30 23:59:59.997';
SELECT count(*) FROM part_sno WHERE id <@ 'empty'::tstzrange;

-- A plan made once prunes when it runs.
SET plan_cache_mode = force_generic_plan;
PREPARE within (tstzrange) AS SELECT nr FROM part_sno WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE within (tstzrange('2026-06-05', '2026-06-06'));
EXPLAIN (COSTS OFF) EXECUTE within (tstzrange('2026-06-05', '2026-07-06'));
RESET plan_cache_mode;
DROP TABLE part_sno;

-- by month, flake ----------------------------------------------------------------------------------

-- The bounds are computed once; with an epoch they can be read off the statement.
CREATE TABLE part_flake (id bigint PRIMARY KEY, nr integer) PARTITION BY RANGE (id);
CREATE TABLE part_flake_05 PARTITION OF part_flake
    FOR VALUES FROM (flake_min('2026-05-01', 'epoch')) TO (flake_min('2026-06-01', 'epoch'));
CREATE TABLE part_flake_06 PARTITION OF part_flake
    FOR VALUES FROM (flake_min('2026-06-01', 'epoch')) TO (flake_min('2026-07-01', 'epoch'));
CREATE TABLE part_flake_07 PARTITION OF part_flake
    FOR VALUES FROM (flake_min('2026-07-01', 'epoch')) TO (flake_min('2026-08-01', 'epoch'));
CREATE TABLE part_flake_08 PARTITION OF part_flake
    FOR VALUES FROM (flake_min('2026-08-01', 'epoch')) TO (MAXVALUE);
INSERT INTO part_flake
SELECT flake_at(t), row_number() OVER (ORDER BY t)
FROM generate_series('2026-05-01'::timestamptz, '2026-08-15', interval '1 hour') AS t;
SELECT tableoid::regclass, count(*), min(flake_timestamp(id)), max(flake_timestamp(id))
FROM part_flake GROUP BY tableoid ORDER BY tableoid::regclass::text;

EXPLAIN (COSTS OFF) SELECT nr FROM part_flake WHERE flake_within(id, '[2026-06-01,2026-07-01)', 'epoch');
EXPLAIN (COSTS OFF) SELECT nr FROM part_flake WHERE flake_after(id, '2026-07-01', 'epoch');
EXPLAIN (COSTS OFF) SELECT nr FROM part_flake WHERE flake_before(id, '2026-05-20', 'epoch');
-- With the setting's epoch the partitions are left out when the query begins.
EXPLAIN (COSTS OFF) SELECT nr FROM part_flake WHERE flake_within(id, '[2026-06-01,2026-07-01)');
SELECT count(*) FROM part_flake WHERE flake_within(id, '[2026-06-01,2026-07-01)');
DROP TABLE part_flake;
