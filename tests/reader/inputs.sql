-- What tests/t/data/reader.pl compares: times at the ends of each ID type, ranges of them, and IDs. The server that has
-- flakeid makes them.

SELECT setseed(0.25);
CREATE TABLE times AS
SELECT t FROM unnest(ARRAY['-infinity', 'infinity', '0001-01-01 00:00+00 BC',
    '1969-12-31 23:59:59.999999+00', '1970-01-01 00:00+00', '1970-01-01 00:00:00.000001+00',
    '1970-01-01 00:00:00.001+00',
 '2009-12-31 23:59:59.999+00','2009-12-31 23:59:59.999999+00','2010-01-01 00:00+00',
    '2010-01-01 00:00:00.000001+00','2010-01-01 00:00:00.001+00', '2010-01-01 00:00:00.004+00',
 '2079-09-07 15:47:35.551+00', '2079-09-07 15:47:35.551001+00',
    '2079-09-07 15:47:35.552+00','2079-09-07 15:47:35.548+00',
 '2109-05-15 07:35:11.103+00','2109-05-15 07:35:11.103001+00','2109-05-15 07:35:11.104+00',
    '2262-04-11 23:47:16.854775+00','2554-07-21 23:34:33.709551+00',
    '2554-07-21 23:34:33.70942+00','2554-07-21 23:34:33.709421+00',
 '10889-08-02 05:31:50.655+00','10889-08-02 05:31:50.655001+00','10889-08-02 05:31:50.656+00',
    '294246-12-31 23:59:59.999999+00','294260-01-01 00:00+00',
    '294276-12-31 23:59:59.999999+00','4713-01-01 00:00+00 BC']::timestamptz[]) AS of (t)
UNION SELECT timestamptz '1970-01-01 00:00+00' + random() * interval '140 years' FROM
    generate_series(1, 300)
UNION SELECT timestamptz '1800-01-01 00:00+00' + random() * interval '1000 years' FROM
    generate_series(1, 100);
CREATE TABLE ranges AS
SELECT tstzrange(least(a.t, b.t), greatest(a.t, b.t),
    (ARRAY['[]','[)','(]','()'])[1 + (row_number() OVER ()) % 4]) AS r
FROM (SELECT t, row_number() OVER (ORDER BY hashtext(t::text)) AS nr FROM times) AS a JOIN
    (SELECT t, row_number() OVER (ORDER BY hashtext(t::text || 'b')) AS nr FROM times) AS b
    USING (nr)
UNION SELECT tstzrange(t, t + interval '1 us' * (nr * 37 % 3000), kind) FROM (SELECT t,
    row_number() OVER () AS nr FROM times) AS near,
    unnest(ARRAY['[]','()']) AS kind WHERE t < '290000-01-01'
UNION SELECT unnest(ARRAY['empty','(,)','[-infinity,infinity]','(infinity,)','[infinity,]',
    '[infinity,infinity]','(,-infinity)','(,-infinity]','[-infinity,-infinity]',
    '(-infinity,infinity)','[2026-01-01,)','(,2026-01-01 00:00:00.0005+00)']::tstzrange[]);
CREATE TABLE epochs AS SELECT unnest(ARRAY['1970-01-01 00:00+00','2010-01-01 00:00+00',
    '2015-01-01 00:00:00.000999+00','1900-06-01 12:00:00.0001+00',
    '2109-05-15 07:35:11.103+00']::timestamptz[]) AS e;
CREATE TABLE flakes AS SELECT flake_next() AS id FROM generate_series(1,500)
UNION SELECT (('x' || substr(md5(nr::text), 1, 16))::bit(64))::bigint FROM generate_series(1,
    500) AS nr
UNION SELECT
    unnest(ARRAY[0,1,-1,4194303,4194304,9223372036854775807,-9223372036854775808,-4194304]);
CREATE TABLE uuidv7s AS SELECT uuidv7_next() AS id FROM generate_series(1,500)
UNION SELECT gen_random_uuid() FROM generate_series(1, 100)
UNION SELECT md5(nr::text)::uuid FROM generate_series(1, 2000) AS nr
UNION SELECT overlay(overlay(md5(nr::text) PLACING '7' FROM 13) PLACING 'a' FROM 17)::uuid FROM
    generate_series(1, 500) AS nr
UNION SELECT unnest(ARRAY['00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff','ffffffff-ffff-7fff-bfff-ffffffffffff',
    '00000000-0000-7000-8000-000000000000']::uuid[]);
CREATE TABLE snos AS SELECT sno_next(nr % 256) AS id FROM generate_series(1,500) AS nr
UNION SELECT substr(decode(md5(nr::text), 'hex'), 1, 10)::sno FROM generate_series(1, 500) AS nr
UNION SELECT unnest(ARRAY['2222222222222222','xxxxxxxxxxxxxxxx']::sno[]);
CREATE TABLE uniqueids AS SELECT uniqueid_next((ARRAY['spread',
    'time_sequential'])[1+nr%2]::uniqueid_mode) AS id FROM generate_series(1,500) AS nr
UNION SELECT substr(md5(nr::text), 1, 16)::uniqueid FROM generate_series(1, 500) AS nr
UNION SELECT unnest(ARRAY['0000000000000000','ffffffffffffffff']::uniqueid[]);
CREATE TABLE guids AS SELECT guid_next(interval '1 s' * (nr*6),
    nr % 3 = 0) AS id FROM generate_series(1,500) AS nr
UNION SELECT substr(decode(md5(nr::text), 'hex'), 1, 12)::guid FROM generate_series(1, 500) AS nr
UNION SELECT unnest(ARRAY['................','zzzzzzzzzzzzzzzz']::guid[]);
CREATE TABLE guid_locals AS SELECT guid_local_next(interval '1 s' * (nr*6),
    nr % 3 = 0) AS id FROM generate_series(1,500) AS nr
UNION SELECT substr(decode(md5(nr::text), 'hex'), 1, 8)::guid_local FROM generate_series(1,
    500) AS nr
UNION SELECT unnest(ARRAY['................','EEEEEEEEEEEEEEEE']::guid_local[]);
CREATE TABLE flake128s AS SELECT flake128_next() AS id FROM generate_series(1,500) AS nr
UNION SELECT md5(nr::text)::uuid::flake128 FROM generate_series(1, 500) AS nr
UNION SELECT unnest(ARRAY['00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff','0020c49ba5e353f7-0000-000000000000',
    '0020c49ba5e353f8-0000-000000000000']::uuid[])::flake128;
CREATE TABLE drifts AS
SELECT s FROM unnest(ARRAY[0, 34, 35, 68, 69, 137, 138, 274, 275, 549, 550, 1099, 2199, 86400]) AS of (s);
