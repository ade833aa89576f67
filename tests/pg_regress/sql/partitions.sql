-- Tables partitioned by ID: by hash, and by the time within it. Statements are run for each type,
-- and where they agree their rows are one. uuidv7_time.sql has what differs for a uuidv7.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\set kinds :folder '/include/kinds.sql'
\i :kinds
-- A plan as all versions print it: 19 says what a Result stands for, and what is asked of a row of
-- guids again is written otherwise from 17 on.
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ '^ *Replaces: ' THEN
            RETURN NEXT regexp_replace(line, 'flakeid_recheck\(.*guid.*', 'flakeid_recheck');
        END IF;
    END LOOP;
END
$$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

\echo -- by hash --------------------------------------------------------------------------------
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_hash (id <type> DEFAULT <next> PRIMARY KEY, nr integer)
        PARTITION BY HASH (id);
    CREATE TABLE <name>_hash_0 PARTITION OF <name>_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE <name>_hash_1 PARTITION OF <name>_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    INSERT INTO <name>_hash (nr) SELECT generate_series(1, 10000);
    SELECT tableoid::regclass AS part, count(*) BETWEEN 4700 AND 5300 AS about_a_half
    FROM <name>_hash GROUP BY tableoid ORDER BY tableoid::regclass::text
$$);
\echo -- Where these go, they stay.
SELECT * FROM pg_temp.rows($$
    DELETE FROM <name>_hash;
    INSERT INTO <name>_hash SELECT <name>_max(t), 0
    FROM unnest('{-infinity,infinity}'::timestamptz[]) AS t
    UNION ALL SELECT <name>_min(t), 0
    FROM generate_series('2026-07-01'::timestamptz, '2026-07-31', '1 day') AS t;
    SELECT string_agg(right(tableoid::regclass::text, 1), '' ORDER BY id) AS parts FROM <name>_hash
$$);
SELECT * FROM pg_temp.rows('EXPLAIN (COSTS OFF) SELECT nr FROM <name>_hash WHERE id = <a>',
    '^(sno|flake128|guid|guid_local|uniqueid)$');
SELECT * FROM pg_temp.each($$
    INSERT INTO <name>_hash SELECT id, 1 FROM <name>_hash ORDER BY id DESC LIMIT 1 RETURNING nr
$$, 'sno');

\echo -- by month -------------------------------------------------------------------------------
\echo '-- One drift''s guids are one after another, and so its months can be partitions. Spread'
\echo -- uniqueids are where chance has it, but never taken for one of the month.
SELECT * FROM pg_temp.rows($$
    CREATE TABLE <name>_part (id <type> PRIMARY KEY, nr integer) PARTITION BY RANGE (id);
    CREATE TABLE <name>_part_05 PARTITION OF <name>_part FOR VALUES
        FROM (<name>_min('2026-05-01'[flake: , '2010-01-01 00:00+00']))
        TO (<name>_min('2026-06-01'[flake: , '2010-01-01 00:00+00']));
    CREATE TABLE <name>_part_06 PARTITION OF <name>_part FOR VALUES
        FROM (<name>_min('2026-06-01'[flake: , '2010-01-01 00:00+00']))
        TO (<name>_min('2026-07-01'[flake: , '2010-01-01 00:00+00']));
    CREATE TABLE <name>_part_07 PARTITION OF <name>_part FOR VALUES
        FROM (<name>_min('2026-07-01'[flake: , '2010-01-01 00:00+00'])) TO (MAXVALUE);
    [uniqueid: CREATE TABLE <name>_part_rest PARTITION OF <name>_part DEFAULT;]
    INSERT INTO <name>_part SELECT <name>_at(t), row_number() OVER (ORDER BY t)
    FROM generate_series('2026-05-01 00:30'::timestamptz, '2026-08-15', interval '1 hour') AS t;
    [uniqueid: INSERT INTO <name>_part SELECT uniqueid_at(uniqueid_timestamp(id), 0, 'spread')
    FROM <name>_part;]
    SELECT tableoid::regclass AS part, count(*), min(<name>_timestamp(id)),
        max(<name>_timestamp(id))
    FROM <name>_part [uniqueid: WHERE uniqueid_sequential(id)]
    GROUP BY tableoid ORDER BY tableoid::regclass::text
$$);
SELECT * FROM pg_temp.each($$
    INSERT INTO <name>_part VALUES (<name>_max('2026-04-30 23:59:59.9')) RETURNING nr
$$, '^(?!uniqueid|guid$)');

\echo '-- A month; from a time, which is within a tick; before and at a time; never.'
\set operators '^(sno|flake128|uniqueid)$'
SELECT condition, rows.* FROM unnest(ARRAY[
    $$id <@ tstzrange('2026-06-01', '2026-07-01')$$,
    $$id >= timestamptz '2026-06-30 23:59:59.9995'$$,
    $$id < timestamptz '2026-05-20'$$,
    $$id = timestamptz '2026-05-20'$$,
    $$id <@ 'empty'::tstzrange$$
]) AS condition, pg_temp.rows(format(
    'SELECT plan FROM pg_temp.plan(%L) AS plan', 'SELECT nr FROM <name>_part WHERE ' || condition),
    :'operators') AS rows;
SELECT * FROM pg_temp.rows($$
    SELECT (SELECT count(*) FROM <name>_part WHERE id <@ tstzrange('2026-06-01', '2026-07-01'))
            AS june,
        (SELECT count(*) FROM <name>_part WHERE id >= timestamptz '2026-06-30 23:59:59.9995')
            AS later,
        (SELECT count(*) FROM <name>_part WHERE id <@ 'empty'::tstzrange) AS never
$$, :'operators');
\set functions '^(flake|guid|guid_local|uuidv7)$'
SELECT * FROM pg_temp.rows($$
    SELECT plan FROM pg_temp.plan($plan$SELECT nr FROM <name>_part WHERE
        <name>_within(id, '[2026-06-01,2026-07-01)'[flake: , '2010-01-01 00:00+00'])$plan$) AS plan
$$, :'functions');
SELECT * FROM pg_temp.rows($$
    SELECT count(*) FROM <name>_part WHERE <name>_within(id, '[2026-06-01,2026-07-01)')
$$, :'functions');
EXPLAIN (COSTS OFF) SELECT nr FROM flake_part
    WHERE flake_after(id, '2026-07-01', '2010-01-01 00:00+00');
EXPLAIN (COSTS OFF) SELECT nr FROM flake_part
    WHERE flake_before(id, '2026-05-20', '2010-01-01 00:00+00');
\echo '-- With the setting''s epoch the partitions are left out when the query begins.'
EXPLAIN (COSTS OFF) SELECT nr FROM flake_part WHERE flake_within(id, '[2026-06-01,2026-07-01)');
\echo -- A plan made once prunes when it runs.
SET plan_cache_mode = force_generic_plan;
SELECT * FROM pg_temp.rows($$
    PREPARE <name>_within (tstzrange) AS SELECT nr FROM <name>_part WHERE id <@ $1;
    SELECT plan FROM pg_temp.plan($plan$EXECUTE <name>_within(
        tstzrange('2026-06-05', '2026-06-06'))$plan$) AS plan
$$, :'operators');
EXPLAIN (COSTS OFF) EXECUTE sno_within (tstzrange('2026-06-05', '2026-07-06'));
SELECT * FROM pg_temp.rows($$
    PREPARE <name>_within (tstzrange) AS SELECT nr FROM <name>_part WHERE <name>_within(id, $1);
    SELECT plan FROM pg_temp.plan($plan$EXECUTE <name>_within(
        tstzrange('2026-06-05', '2026-06-06'))$plan$) AS plan
$$, :'functions');
RESET plan_cache_mode;

\echo -- drifts ---------------------------------------------------------------------------------
\echo '-- A month of one drift is a partition. Other drifts'' IDs of this time lie elsewhere.'
SELECT * FROM pg_temp.rows($$
    INSERT INTO <name>_part SELECT <name>_at('2026-06-15', 0, '1 day');
    SELECT (SELECT tableoid::regclass FROM <name>_part WHERE nr IS NULL) AS part,
        (SELECT count(*) FROM <name>_part
            WHERE <name>_within(id, tstzrange('2026-06-01', '2026-07-01'))) AS of_one_drift,
        (SELECT count(*) FROM <name>_part WHERE id <@ tstzrange('2026-06-01', '2026-07-01'))
            AS of_any_drift
$$, 'guid');
\echo '-- At the seam a guid of some node can lie beside its month''s partition. Whichever they are'
\echo -- in, those of the time are found.
INSERT INTO guid_part
SELECT guid_encode(timestamptz '2026-06-01' + s * interval '1 s', n, 0), -1
FROM generate_series(-600, 600, 20) AS s, unnest('{0,7,2147483648,4294967295}'::bigint[]) AS n;
SELECT count(*) AS rows,
    count(*) FILTER (WHERE (tableoid = 'guid_part_05'::regclass)
        <> (guid_timestamp(id) < '2026-06-01')) > 0 AS beside_their_month
FROM guid_part WHERE nr = -1;
SELECT (SELECT count(*) FROM guid_part WHERE nr = -1 AND id < timestamptz '2026-06-01')
    = (SELECT count(*) FROM guid_part WHERE nr = -1 AND guid_timestamp(id) < '2026-06-01')
        AS before,
    (SELECT count(*) FROM guid_part WHERE guid_within(id, tstzrange('2026-06-01', '2026-07-01')))
    = (SELECT count(*) FROM guid_part WHERE nr IS NOT NULL
        AND guid_timestamp(id) <@ tstzrange('2026-06-01', '2026-07-01')) AS within;

SELECT * FROM pg_temp.each($$DROP TABLE <name>_hash, <name>_part; SELECT 'gone'$$);
