-- IDs in tables as they are used: defaults, keys, arrays, composites, JSON, COPY.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\echo -- defaults and keys ----------------------------------------------------------------------
CREATE TABLE customer (id bigint DEFAULT flake_next() PRIMARY KEY, name text UNIQUE);
CREATE TABLE purchase (
    id sno DEFAULT sno_next(7) PRIMARY KEY,
    customer bigint NOT NULL REFERENCES customer ON DELETE CASCADE,
    part_of sno REFERENCES purchase,
    amount integer
);
INSERT INTO customer (name) VALUES ('a'), ('b'), ('c');
INSERT INTO customer (name) VALUES ('d') RETURNING id > (SELECT max(id) FROM customer) AS later,
    name;
WITH made AS (
    INSERT INTO purchase (customer, amount) SELECT id, amount
    FROM customer, generate_series(1, 3) AS amount RETURNING id
)
SELECT meta, count(*) FROM made, sno_decode(made.id) GROUP BY meta;
INSERT INTO purchase (customer, part_of, amount) SELECT customer, id, 0 FROM purchase
    WHERE amount = 3;

SELECT count(*), count(DISTINCT id) AS distinct_ids, count(part_of) FROM purchase;
SELECT name, count(*), sum(amount)
FROM customer JOIN purchase ON customer = customer.id GROUP BY customer.id ORDER BY customer.id;
\echo -- By ID is by time of making.
SELECT * FROM pg_temp.results(
    $$string_agg(name, '' ORDER BY id) FROM customer$$);

\echo -- A key that is not there, one that is, and one that is referred to.
\set VERBOSITY terse
INSERT INTO purchase (customer) VALUES (1);
INSERT INTO purchase (customer, part_of) SELECT id, '2222222222222222' FROM customer LIMIT 1;
INSERT INTO purchase VALUES ('2222222222222222', (SELECT min(id) FROM customer), NULL, 1);
INSERT INTO purchase VALUES ('2222222222222222', (SELECT min(id) FROM customer), NULL, 2);
INSERT INTO purchase VALUES ('2222222222222222', (SELECT min(id) FROM customer), NULL, 2)
    ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO purchase VALUES ('2222222222222222', (SELECT min(id) FROM customer), NULL, 2)
    ON CONFLICT (id) DO UPDATE SET amount = purchase.amount + excluded.amount RETURNING id, amount;
INSERT INTO purchase VALUES (NULL, (SELECT min(id) FROM customer), NULL, 2);
DELETE FROM customer WHERE name = 'b';
SELECT * FROM pg_temp.results(
    $$count(*) FROM purchase$$);
\echo '-- An ID taken for a row that was then refused is gone, as a sequence''s number is.'
INSERT INTO customer (name) VALUES ('a');
UPDATE customer SET id = flake_next() WHERE name = 'd';
\set VERBOSITY default
MERGE INTO customer USING (VALUES ('a'), ('e')) AS new (name) ON customer.name = new.name
    WHEN MATCHED THEN UPDATE SET name = upper(customer.name) WHEN NOT MATCHED THEN INSERT (name)
        VALUES (new.name);
SELECT * FROM pg_temp.results(
    $$string_agg(name, '' ORDER BY id) FROM customer WHERE name <> 'd'$$);
DROP TABLE purchase, customer;

\echo -- values of type sno wherever values go --------------------------------------------------
CREATE TABLE holder (nr integer, id sno, ids sno[]);
INSERT INTO holder VALUES
    (1, '9q74gok3262so257', '{2222222222222222,NULL,xxxxxxxxxxxxxxxx}'), (2, NULL, NULL),
        (3, '9q74gok3262so257', '{}'),
    (4, '2222222222222222',
        '{{2222222222222223,2222222222222224},{2222222222222225,2222222222222226}}');
SELECT * FROM holder ORDER BY nr;
SELECT nr, ids[1], ids[2:3], array_length(ids, 1), ids || id AS more FROM holder WHERE nr <> 4
    ORDER BY nr;
SELECT nr, element FROM holder, unnest(ids) AS element ORDER BY nr, element NULLS LAST;
SELECT * FROM pg_temp.results(
    $$nr FROM holder WHERE '2222222222222222' = ANY (ids)$$);
SELECT nr FROM holder WHERE id = ANY ('{9q74gok3262so257,xxxxxxxxxxxxxxxx}') ORDER BY nr;
SELECT * FROM pg_temp.results(
    $$nr FROM holder WHERE ids @> '{xxxxxxxxxxxxxxxx}' ORDER BY nr$$);
SELECT '{2222222222222222,2222222222222223}'::sno[] < '{2222222222222222,2222222222222224}'::sno[]
    AS less,
       '{2222222222222222}'::sno[] = '{2222222222222222}'::sno[] AS equal;
SELECT '{2222222222222222,nonsense}'::sno[];
SELECT * FROM pg_temp.results(
    $$array_agg(id ORDER BY id) FROM holder$$);

SELECT DISTINCT id FROM holder ORDER BY id;
SELECT id, count(*) FROM holder GROUP BY id ORDER BY id NULLS FIRST;
SELECT id FROM holder UNION SELECT 'xxxxxxxxxxxxxxxx' ORDER BY id;
SELECT id FROM holder EXCEPT SELECT sno '2222222222222222' ORDER BY id;
SELECT nr, lag(id) OVER (ORDER BY nr), coalesce(id, 'xxxxxxxxxxxxxxxx'),
    nullif(id, '2222222222222222')
FROM holder ORDER BY nr;
SELECT * FROM pg_temp.results(
    $$nr FROM holder WHERE id IS NULL$$);
SELECT greatest(sno '2222222222222222', '2222222222222223'),
       least(sno '2222222222222222', NULL, '2222222222222223');

CREATE TYPE pair AS (first sno, second sno);
SELECT row('2222222222222222', NULL)::pair, ('(2222222222222222,xxxxxxxxxxxxxxxx)'::pair).second,
       row(sno '2222222222222222', 1) < row(sno '2222222222222222', 2) AS less;
SELECT record_image_eq(row(sno '2222222222222222'), row(sno '2222222222222222')) AS same_image;
CREATE DOMAIN early AS sno CHECK (VALUE < timestamptz '2020-01-01 00:00:00+00');
SELECT * FROM pg_temp.results(
    $$early '2222222222222222'$$);
SELECT early 'xxxxxxxxxxxxxxxx';
CREATE TYPE sno_range AS RANGE (SUBTYPE = sno);
SELECT '[2222222222222222,2222222222222229)'::sno_range @> sno '2222222222222228' AS holds,
       '[2222222222222222,2222222222222222)'::sno_range AS empty;
DROP DOMAIN early;
DROP TYPE sno_range, pair;

SELECT to_jsonb(id) AS jsonb, to_json(ids) AS json, jsonb_build_object('id', id) AS object,
       jsonb_agg(id) OVER () AS array FROM holder WHERE nr = 1;
SELECT to_jsonb(holder) FROM holder WHERE nr = 4;
SELECT * FROM jsonb_populate_record(NULL::holder,
       '{"nr": 5, "id": "9q74gok3262so257", "ids": ["2222222222222222"]}');
SELECT * FROM jsonb_to_recordset('[{"id": "9q74gok3262so257"}, {"id": null}]') AS rows (id sno);
SELECT * FROM jsonb_populate_record(NULL::holder, '{"id": "nonsense"}');
SELECT * FROM pg_temp.results(
    $$quote_literal(id), format('%s %L', id, id), concat(id, '!') FROM holder WHERE nr = 1$$);

\echo -- ten bytes between columns of other alignments, in a row that is toasted or compressed
\echo -- elsewhere
CREATE TABLE mixed (a boolean, id sno, b bigint, other sno, c text);
INSERT INTO mixed SELECT true, sno_encode('2026-07-01', 0, n, 0, 0), n,
    sno_encode('2026-07-01', 1, n, 0, 0),
    repeat(md5(n::text), 500)
FROM generate_series(0, 255) AS n;
SELECT count(*) FILTER (WHERE (sno_decode(id)).meta = b AND (sno_decode(other)).meta = b
       AND (sno_decode(other)).tick_tock = 1) AS whole FROM mixed;
ALTER TABLE mixed ADD made sno DEFAULT '9q74gok3262so257';
SELECT * FROM pg_temp.results(
    $$DISTINCT made FROM mixed$$);
ALTER TABLE mixed ALTER made TYPE text;
SELECT * FROM pg_temp.results(
    $$DISTINCT made FROM mixed$$);
ALTER TABLE mixed ALTER made TYPE sno;
ALTER TABLE mixed ALTER made DROP DEFAULT, ALTER made TYPE sno USING made::sno;
ALTER TABLE mixed ALTER made TYPE uuid;
SELECT * FROM pg_temp.results(
    $$DISTINCT made FROM mixed$$);
ALTER TABLE mixed ALTER made TYPE sno USING made::sno;
SELECT * FROM pg_temp.results(
    $$DISTINCT made FROM mixed$$);
DROP TABLE mixed;

\echo -- values of the other types --------------------------------------------------------------
CREATE TABLE node (
    id uniqueid DEFAULT uniqueid_next() PRIMARY KEY,
    global guid DEFAULT guid_next('1 day') UNIQUE,
    local guid_local DEFAULT guid_local_next() UNIQUE,
    wide flake128 DEFAULT flake128_next() UNIQUE,
    part_of uniqueid REFERENCES node ON DELETE CASCADE, name text
);
INSERT INTO node (name) VALUES ('a'), ('b'), ('c');
INSERT INTO node (part_of, name) SELECT id, name || name FROM node;
INSERT INTO node (name) VALUES ('d') RETURNING id > (SELECT max(id) FROM node) AS later,
    wide > (SELECT max(wide) FROM node) AS later_too,
    local > (SELECT max(local) FROM node) AS and_later, name;
\echo -- By ID is by time of making.
SELECT string_agg(name, ' ' ORDER BY id) AS by_uniqueid,
    string_agg(name, ' ' ORDER BY local) AS by_guid_local,
       string_agg(name, ' ' ORDER BY wide) AS by_flake128 FROM node;
\set VERBOSITY terse
INSERT INTO node (part_of) VALUES ('0000000000000000');
INSERT INTO node (id, wide) VALUES ('0000000000000001', '1');
INSERT INTO node (id) VALUES ('0000000000000001');
INSERT INTO node (wide) VALUES ('1');
INSERT INTO node (global, local) VALUES ('NiiTRfl2BaVI1B.0', '5206B440CEB4B..0');
INSERT INTO node (global) VALUES ('NiiTRfl2BaVI1B.0');
INSERT INTO node (local) VALUES ('5206B440CEB4B..0');
INSERT INTO node (id) VALUES ('0000000000000001')
    ON CONFLICT (id) DO UPDATE SET name = excluded.id::text RETURNING id, name;
INSERT INTO node (id) VALUES (NULL);
\set VERBOSITY default
DELETE FROM node WHERE name = 'b';
SELECT * FROM pg_temp.results(
    $$count(*), count(DISTINCT id), count(DISTINCT global), count(DISTINCT local),
        count(DISTINCT wide) FROM node$$);
DROP TABLE node;

CREATE TABLE all_types (nr integer, f flake128, g guid, l guid_local, u uniqueid, m uniqueid_mode,
    fs flake128[], gs guid[], ls guid_local[], us uniqueid[]);
INSERT INTO all_types VALUES
    (1, 'B7tNvGF8Zh73eTSQUY', 'NiiTRfl2BaVI1B.0', '5206B440CEB4B..0', '67c76b38257fdfff',
        'time_sequential',
     '{0,NULL,7n42DGM5Tflk9n8mt7Fhc7}', '{................,NULL,zzzzzzzzzzzzzzzz}',
     '{................,NULL,EEEEEEEEEEEEEEEE}',
     '{0000000000000000,NULL,ffffffffffffffff}'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, '0', '................', '................', '0000000000000000', 'spread', '{}', '{}', '{}',
        '{{8000000000000000,7FFFFFFFFFFFFFFF}}');
SELECT * FROM all_types ORDER BY nr;
SELECT nr, fs[1], gs[3], ls[2:3], us || u AS more, array_length(fs, 1) FROM all_types WHERE nr < 3
    ORDER BY nr;
SELECT 'NULL'::flake128 AS a_number, '{NULL}'::flake128[] AS no_number,
    '{"NULL"}'::flake128[] AS a_number_again;
SELECT * FROM pg_temp.results(
    $$nr FROM all_types WHERE '0' = ANY (fs) AND 'zzzzzzzzzzzzzzzz' = ANY (gs)
        AND l = ANY ('{5206B440CEB4B..0}') AND us @> '{ffffffffffffffff}'$$,
    $$array_agg(f ORDER BY f), array_agg(g ORDER BY g DESC), array_agg(l ORDER BY l),
        array_agg(u ORDER BY u DESC NULLS LAST) FROM all_types$$);
SELECT '{0,1}'::flake128[] < '{0,2}'::flake128[] AS f,
    '{................}'::guid[] = '{................}'::guid[] AS g,
       '{EEEEEEEEEEEEEEEE}'::guid_local[] > '{6EEEEEEEEEEEEEEE}'::guid_local[] AS l,
       '{8000000000000000}'::uniqueid[] > '{7fffffffffffffff}'::uniqueid[] AS u;
SELECT f, g, l, u, count(*) FROM all_types GROUP BY f, g, l, u ORDER BY f NULLS FIRST;
SELECT g FROM all_types UNION SELECT 'zzzzzzzzzzzzzzzz' ORDER BY g;
SELECT u FROM all_types EXCEPT SELECT uniqueid '0000000000000000' ORDER BY u;
SELECT greatest(l, '6...............'), least(u, '8000000000000000'), coalesce(f, '1'),
    nullif(g, '................') FROM all_types ORDER BY nr;
SELECT record_image_eq(row(f, g, l, u), row(f::text::flake128, g::text::guid, l::text::guid_local,
    u::text::uniqueid)) AS same_image
FROM all_types ORDER BY nr;
CREATE DOMAIN early AS guid CHECK (VALUE < timestamptz '2020-01-01 00:00:00+00');
SELECT * FROM pg_temp.results(
    $$early '................'$$);
SELECT early 'NiiTRfl2BaVI1B.0';
CREATE TYPE uniqueid_range AS RANGE (SUBTYPE = uniqueid);
SELECT '[7fffffffffffffff,8000000000000001)'::uniqueid_range @> uniqueid '8000000000000000'
    AS holds;
DROP DOMAIN early;
DROP TYPE uniqueid_range;

SELECT to_jsonb(all_types) FROM all_types WHERE nr = 1;
SELECT f, g, l, u, m FROM all_types AS a,
    LATERAL jsonb_populate_record(NULL::all_types, to_jsonb(a)) AS b (nr2, f2, g2, l2, u2, m2)
WHERE (f2, g2, l2, u2, m2) = (f, g, l, u, m) ORDER BY nr;
SELECT * FROM pg_temp.results(
    $$quote_literal(f), format('%s %L', g, l), concat(u, '!') FROM all_types WHERE nr = 1$$);

\echo -- sixteen, twelve and eight bytes between columns of other alignments
CREATE TABLE mixed (a boolean, f flake128, b boolean, g guid, c smallint, l guid_local, d boolean,
    u uniqueid, e text);
INSERT INTO mixed SELECT true, flake128_encode('2026-07-01', '08:00:2b:01:02:03', n), false,
    guid_encode('2026-07-01', n, n), n,
    guid_local_encode('2026-07-01', n), true,
        uniqueid_encode('2026-07-01', n % 64, n, 15, 'spread'), repeat(md5(n::text), 500)
FROM generate_series(0, 255) AS n;
SELECT count(*) FILTER (WHERE (flake128_decode(f)).sequence = c AND (guid_decode(g)).node = c
    AND (guid_decode(g)).sequence = c
       AND (guid_local_decode(l)).sequence = c AND (uniqueid_decode(u)).generator_id = c) AS whole
           FROM mixed;
ALTER TABLE mixed ADD made flake128 DEFAULT '7n42DGM5Tflk9n8mt7Fhc7',
    ADD made_too uniqueid DEFAULT 'ffffffffffffffff';
SELECT * FROM pg_temp.results(
    $$DISTINCT made, made_too FROM mixed$$);
ALTER TABLE mixed ALTER made DROP DEFAULT, ALTER made TYPE uuid USING made::uuid;
ALTER TABLE mixed ALTER made TYPE flake128 USING made::flake128,
    ALTER g TYPE guid_local USING g::guid_local;
SELECT * FROM pg_temp.results(
    $$DISTINCT made, pg_typeof(g), (guid_local_decode(g)).created_at FROM mixed$$);
DROP TABLE mixed;

\echo -- Out and in again.
COPY all_types TO STDOUT;
COPY (SELECT nr, f, g, l, u, m FROM all_types ORDER BY nr) TO STDOUT (FORMAT csv, NULL 'nothing');
CREATE TABLE copied (f flake128, g guid, l guid_local, u uniqueid);
COPY copied FROM STDIN;
1	...............0	...............1	0000000000000002
\N	\N	\N	FFFFFFFFFFFFFFFF
\.
COPY copied FROM STDIN (FORMAT csv);
2,,...............2,
\.
SELECT * FROM copied ORDER BY f;
COPY copied (g) FROM STDIN;
...............0
..............-0
\.
COPY copied (f) FROM STDIN;
-1
\.
COPY copied (l) FROM STDIN;
...............F
\.
COPY copied (u) FROM STDIN;
000000000000000g
\.
SELECT * FROM pg_temp.results(
    $$count(*) FROM copied$$);
\echo '-- Each value''s bytes are its number, high byte first.'
SELECT flake128_send(f) = f::bytea AND guid_send(g) = g::bytea AND guid_local_send(l) = l::bytea
    AND uniqueid_send(u) = u::bytea AS bytes
FROM all_types ORDER BY nr;
DROP TABLE copied, all_types;

\echo -- COPY -----------------------------------------------------------------------------------
COPY holder TO STDOUT;
COPY (SELECT nr, id FROM holder ORDER BY nr) TO STDOUT (FORMAT csv, NULL 'nothing');
CREATE TABLE copied (id sno, nr integer DEFAULT 0);
COPY copied (id) FROM STDIN;
9q74gok3262so257
\N
2222222222222222
\.
COPY copied FROM STDIN (FORMAT csv);
xxxxxxxxxxxxxxxx,1
,2
\.
SELECT * FROM copied ORDER BY id, nr;
COPY copied (id) FROM STDIN;
9q74gok3262so257
9Q74GOK3262SO257
\.
SELECT * FROM pg_temp.results(
    $$count(*) FROM copied$$);
DROP TABLE copied, holder;

\echo -- functions and cursors ------------------------------------------------------------------
CREATE FUNCTION pg_temp.next_of(meta integer) RETURNS sno LANGUAGE plpgsql AS $$
DECLARE
    id sno;
BEGIN
    id := sno_next(meta);
    RETURN id;
END
$$;
SELECT * FROM pg_temp.results(
    $$(sno_decode(pg_temp.next_of(9))).meta$$);
BEGIN;
DECLARE ten CURSOR FOR SELECT (sno_decode(id)).meta, n
FROM (SELECT sno_next_batch(10, 5) AS id, generate_series(1, 10) AS n) AS made;
FETCH 2 FROM ten;
MOVE 3 IN ten;
FETCH 1 FROM ten;
CLOSE ten;
\echo '-- Cut short by an error and by the transaction''s end, a batch leaves nothing behind.'
DECLARE cut CURSOR FOR SELECT flake_next_batch(2000000000);
MOVE 2 IN cut;
DECLARE cut_too CURSOR FOR SELECT guid_next_batch(2000000000), uniqueid_next_batch(2000000000),
    flake128_next_batch(2000000000);
MOVE 2 IN cut_too;
SAVEPOINT here;
SELECT flake_next_batch(5) / 0;
ROLLBACK TO here;
SELECT count(*) FROM flake_next_batch(3);
SELECT count(*) FROM guid_next_batch(3), uniqueid_next_batch(3), flake128_next_batch(3);
COMMIT;
