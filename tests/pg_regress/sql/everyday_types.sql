-- What is made of a type of IDs: arrays, ranges, multiranges, JSON, rows and domains, of every type
-- alike: each statement is run for each of them, and where they agree their outcomes are one row.
\getenv folder PG_ABS_SRCDIR
\set prelude :folder '/include/prelude.sql'
\i :prelude
\set kinds :folder '/include/kinds.sql'
\i :kinds

\echo -- arrays ---------------------------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    SELECT ARRAY[<a>, NULL, <b>]::text::<type>[] = ARRAY[<a>, NULL, <b>],
        ARRAY[[<a>, <b>], [<b>, <c>]]::text::<type>[] = ARRAY[[<a>, <b>], [<b>, <c>]],
        string_to_array(array_to_string(ARRAY[<a>, <b>], ' '), ' ')::<type>[] = ARRAY[<a>, <b>],
        array_position(ARRAY[<a>, <b>], <b>),
        array_replace(ARRAY[<a>, <a>], <a>, <c>) || <a> = ARRAY[<c>, <c>, <a>],
        array_remove(ARRAY[<a>, <b>, <a>], <a>) = ARRAY[<b>],
        (ARRAY[<a>, <b>, <c>])[2:3] = ARRAY[<b>, <c>],
        (greatest(<a>, <c>, <b>), least(<b>, NULL, <a>)) = (<c>, <a>), nullif(<a>, <a>) IS NULL,
        coalesce(NULL, <b>) = <b>
$$);
SELECT * FROM pg_temp.each($$
    SELECT <a> = ANY (ARRAY[<b>, <a>]), <a> <> ALL (ARRAY[<b>, <a>]), <b> > ALL (ARRAY[<a>, <a>]),
        <c> < ANY (ARRAY[<a>, <b>]),
        (SELECT array_agg(nr ORDER BY id DESC) FROM unnest(ARRAY[<b>, <c>, <a>])
        WITH ORDINALITY AS ids (id, nr)),
        (SELECT array_agg(id ORDER BY id) FROM (VALUES (<c>), (<a>), (<b>))
        AS ids (id)) = ARRAY[<a>, <b>, <c>],
        (SELECT max(ids) = ARRAY[<b>] FROM (VALUES (ARRAY[<a>, <c>]), (ARRAY[<b>])) AS arrays (ids))
$$);
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_bag (nr integer, ids <type>[]);
    CREATE INDEX ON <name>_bag USING gin (ids);
    CREATE INDEX ON <name>_bag (ids);
    INSERT INTO <name>_bag VALUES (1, ARRAY[<a>, <b>]), (2, ARRAY[<b>, NULL]), (3, '{}'), (4, NULL),
        (5, ARRAY[[<c>, <a>], [<b>, <a>]]), (6, ARRAY[<a>]);
    UPDATE <name>_bag SET ids[2] = <c> WHERE nr = 6;
    INSERT INTO <name>_bag SELECT nr, ARRAY[<next>, <next>] FROM generate_series(7, 1000) AS nr;
    SELECT (SELECT array_agg(nr ORDER BY ids, nr) FROM <name>_bag WHERE nr < 7),
        (SELECT count(*) FROM (SELECT DISTINCT ids FROM <name>_bag) AS bags),
        (SELECT count(*) FROM <name>_bag JOIN <name>_bag AS same USING (ids)),
        (SELECT count(*) FROM <name>_bag WHERE ids[1] < ids[2] AND nr > 6)
$$);
\echo -- GIN and btree know arrays of every type.
SET enable_seqscan = off;
SELECT * FROM pg_temp.each($$
    EXPLAIN (COSTS OFF) SELECT nr FROM <name>_bag WHERE ids @> ARRAY[<a>]
$$);
SELECT * FROM pg_temp.each($$
    SELECT (SELECT array_agg(nr ORDER BY nr) FROM <name>_bag WHERE ids @> ARRAY[<a>]) AS contains,
        (SELECT array_agg(nr ORDER BY nr) FROM <name>_bag WHERE ids && ARRAY[<c>, <b>]) AS overlaps,
        (SELECT array_agg(nr ORDER BY nr) FROM <name>_bag WHERE ids <@ ARRAY[<c>, <b>, <a>])
        AS contained,
        (SELECT array_agg(nr ORDER BY nr) FROM <name>_bag WHERE ids = ARRAY[<a>, <c>]) AS equal,
        (SELECT array_agg(nr ORDER BY nr) FROM <name>_bag WHERE ids < ARRAY[<b>]) AS less
$$);
RESET enable_seqscan;

\echo -- ranges and multiranges -----------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TYPE <name>_span AS RANGE (SUBTYPE = <type>, MULTIRANGE_TYPE_NAME = <name>_spans);
    SELECT <name>_span(<a>, <c>) @> <b>, <name>_span(<a>, <c>) @> <c>,
        <name>_span(<a>, <c>, '[]') @> <c>, <b> <@ <name>_span(<b>, NULL),
        <name>_span(<a>, <b>) && <name>_span(<b>, <c>),
        <name>_span(<a>, <b>) -|- <name>_span(<b>, <c>),
        <name>_span(<a>, <b>) << <name>_span(<c>, NULL),
        <name>_span(<a>, <b>) + <name>_span(<b>, <c>) = <name>_span(<a>, <c>),
        <name>_span(<a>, <c>) * <name>_span(<b>, NULL) = <name>_span(<b>, <c>),
        isempty(<name>_span(<a>, <a>)), upper(<name>_span(<a>, <b>)) = <b>,
        <name>_span(<a>, <b>, '(]')::text::<name>_span = <name>_span(<a>, <b>, '(]')
$$);
SELECT * FROM pg_temp.each('SELECT <name>_span(<b>, <a>)');
SELECT * FROM pg_temp.each($$
    SELECT <name>_spans(<name>_span(<b>, <c>),
        <name>_span(<a>, <b>)) = <name>_spans(<name>_span(<a>, <c>)),
        <name>_spans(<name>_span(<a>, <b>)) @> <b>,
        range_agg(span)::text::<name>_spans = range_agg(span),
        (SELECT count(*) FROM unnest(range_agg(span))),
        range_agg(span) @> <name>_span(<b>, <c>, '()'),
        lower(range_agg(span)) = <a>, <name>_spans(<name>_span(NULL, NULL)) - range_agg(span) @> <b>
    FROM (VALUES (<name>_span(<a>, <b>)), (<name>_span(<b>, <c>, '(]'))) AS spans (span)
$$);
\echo -- GiST keeps ranges that overlap apart, and finds the one that holds an ID.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_shift (nr integer, span <name>_span, EXCLUDE USING gist (span WITH &&));
    INSERT INTO <name>_shift VALUES (1, <name>_span(<a>, <b>)), (2, <name>_span(<b>, <c>));
    INSERT INTO <name>_shift SELECT nr, <name>_span(first, second)
        FROM (SELECT nr, <next> AS first, <next> AS second FROM generate_series(3, 1000) AS nr)
        AS made;
    EXPLAIN (COSTS OFF) SELECT nr FROM <name>_shift WHERE span @> <b>
$$);
SELECT * FROM pg_temp.each($$
    SELECT (SELECT nr FROM <name>_shift WHERE span @> <b>),
        (SELECT array_agg(nr ORDER BY span) FROM <name>_shift WHERE span && <name>_span(<a>, <c>)),
        (SELECT count(*) FROM <name>_shift WHERE span >> <name>_span(<a>, <c>)),
        (SELECT count(*) FROM <name>_shift JOIN <name>_shift AS same USING (span))
$$);
SELECT * FROM pg_temp.each('INSERT INTO <name>_shift
    VALUES (0, <name>_span(<a>, <a>, $$[]$$)) RETURNING nr');
RESET enable_seqscan;
RESET enable_bitmapscan;

\echo -- JSON -----------------------------------------------------------------------------------
\echo -- A flake is a number in it, the others are texts.
SELECT * FROM pg_temp.each($$
    SELECT jsonb_typeof(to_jsonb(<a>)), json_typeof(to_json(<a>)),
        to_jsonb(<a>) #>> '{}' = <a>::text,
        jsonb_typeof(jsonb_object_agg(<a>, 1))
$$);
SELECT * FROM pg_temp.each($$
    CREATE TABLE <name>_doc (id <type> PRIMARY KEY, ids <type>[], span <name>_span, body jsonb);
    CREATE INDEX <name>_doc_id ON <name>_doc (((body ->> 'id')::<type>));
    INSERT INTO <name>_doc VALUES (<a>, ARRAY[<b>, NULL], <name>_span(<a>, <b>), NULL),
        (<b>, '{}', NULL, NULL), (<c>, NULL, 'empty', NULL);
    UPDATE <name>_doc AS doc SET body = to_jsonb(doc) || jsonb_build_object('parts',
        jsonb_build_array(jsonb_build_object('id', <c>), jsonb_build_object('id', doc.id)));
    SELECT count(*), bool_and((filled.id, filled.ids, filled.span)
        IS NOT DISTINCT FROM (doc.id, doc.ids, doc.span)),
        bool_and(taken.id = doc.id AND taken.ids IS NOT DISTINCT FROM doc.ids),
        bool_and((doc.body ->> 'id')::<type> = doc.id),
        bool_and(jsonb_populate_record(doc, '{"ids": [null]}') = (doc.id, ARRAY[NULL]::<type>[],
        doc.span, doc.body)::<name>_doc)
    FROM <name>_doc AS doc, jsonb_populate_record(NULL::<name>_doc, doc.body) AS filled,
        jsonb_to_record(doc.body) AS taken (id <type>, ids <type>[])
$$);
SELECT * FROM pg_temp.each($$
    SELECT jsonb_populate_record(NULL::<name>_doc, '{"id": "?"}')
$$);
SELECT * FROM pg_temp.each($$
    SELECT (SELECT array_agg(id ORDER BY id) = ARRAY[<a>, <b>, <c>]
        FROM (SELECT json_agg(doc) AS all FROM <name>_doc AS doc) AS docs,
        json_populate_recordset(NULL::<name>_doc, docs.all)),
        (SELECT count(*) FROM <name>_doc
        WHERE body @? format('$.parts[*] ? (@.id == %s)', to_jsonb(<b>))::jsonpath),
        (SELECT count(*) FROM <name>_doc
        WHERE jsonb_path_exists(body, '$.parts[*] ? (@.id == $id)', jsonb_build_object('id', <c>))),
        (SELECT count(*) FROM <name>_doc
        WHERE body @> jsonb_build_object('parts',
        jsonb_build_array(jsonb_build_object('id', <a>)))),
        (SELECT array_agg(key::<type> ORDER BY value) = ARRAY[<a>, <b>, <c>]
         FROM (SELECT jsonb_object_agg(id, nr) AS object
         FROM (SELECT id, row_number() OVER (ORDER BY id) AS nr
             FROM <name>_doc) AS numbered) AS objects, jsonb_each(object))
$$);
\echo -- An index on the ID within.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.each($$
    EXPLAIN (COSTS OFF) SELECT FROM <name>_doc WHERE (body ->> 'id')::<type> > <a>
$$);
RESET enable_seqscan;
RESET enable_bitmapscan;

\echo -- rows and domains -----------------------------------------------------------------------
SELECT * FROM pg_temp.each($$
    CREATE TYPE <name>_pair AS (first <type>, second <type>);
    CREATE TABLE <name>_edge (edge <name>_pair PRIMARY KEY, edges <name>_pair[]);
    INSERT INTO <name>_edge VALUES ((<b>, <a>), ARRAY[(<a>, <b>), (<a>, NULL)]::<name>_pair[]),
        ((<a>, <c>), NULL);
    UPDATE <name>_edge SET edge.second = <b> WHERE (edge).first = <a>;
    SELECT array_agg((edge).second ORDER BY edge) = ARRAY[<b>, <a>],
        bool_and(edge::text::<name>_pair = edge),
        bool_or(edges::text::<name>_pair[] = edges),
        bool_or((edges[1]).second = <b>), row(<a>, 2) < row(<b>, 1),
        (<a>, NULL) IS DISTINCT FROM (<a>, <b>),
        hash_record(row(<a>)) = hash_record(row(<a>)),
        record_image_eq(row(<a>), row(<a>::text::<type>)) FROM <name>_edge
$$);
\echo -- The default of a domain makes IDs, too, and its condition holds for arrays of it.
SELECT * FROM pg_temp.each($$
    CREATE DOMAIN <name>_key AS <type> DEFAULT <next> NOT NULL;
    CREATE DOMAIN <name>_early AS <type> CHECK (VALUE < <c>);
    CREATE TABLE <name>_keyed (id <name>_key PRIMARY KEY, early <name>_early,
        all_early <name>_early[],
        part_of <name>_key REFERENCES <name>_keyed);
    INSERT INTO <name>_keyed VALUES (<a>, <a>, ARRAY[<a>, <b>], <a>);
    INSERT INTO <name>_keyed (early, part_of) SELECT <b>, id FROM <name>_keyed,
        generate_series(1, 3);
    SELECT count(*), count(DISTINCT id), bool_and(id >= <a>) FROM <name>_keyed
$$);
\echo -- PostgreSQL 18 and earlier have no min of uuids.
SELECT outcome, replace(kinds, ' uuidv7', '') AS kinds
FROM pg_temp.each($$
    SELECT min(early) = <a>, pg_typeof(min(id)) = '<type>'::regtype,
        (min(id) FILTER (WHERE false), max(id) FILTER (WHERE false)) IS NULL
    FROM <name>_keyed
$$) WHERE kinds <> 'uuidv7';
SELECT * FROM pg_temp.each('INSERT INTO <name>_keyed (early) VALUES (<c>) RETURNING id');
SELECT * FROM pg_temp.each('INSERT INTO <name>_keyed (all_early)
    VALUES (ARRAY[<a>, <c>]) RETURNING id');

\echo -- a cursor -------------------------------------------------------------------------------
\echo '-- Over seven tables at once, forth and back, beyond the transaction''s end.'
BEGIN;
DECLARE page SCROLL CURSOR WITH HOLD FOR
SELECT flake.id AS flake, sno.id AS sno, flake128.id AS flake128, guid.id AS guid,
    guid_local.id AS guid_local, uniqueid.id AS uniqueid, uuidv7.id AS uuidv7
FROM flake_doc AS flake JOIN sno_doc AS sno ON flake.id = flake_encode(sno_timestamp(sno.id), 0, 0,
    0, '2010-01-01 00:00+00')
    JOIN flake128_doc AS flake128 ON flake128_timestamp(flake128.id) = sno_timestamp(sno.id)
    JOIN guid_doc AS guid ON guid.id >= sno_timestamp(sno.id) - interval '1 ms'
        AND guid.id <= sno_timestamp(sno.id)
    JOIN guid_local_doc AS guid_local ON guid_local.id = guid_local(guid.id)
    JOIN uniqueid_doc AS uniqueid ON uniqueid.id = sno_timestamp(sno.id)
    JOIN uuidv7_doc AS uuidv7 ON uuidv7_between(uuidv7.id, sno_timestamp(sno.id),
        sno_timestamp(sno.id))
ORDER BY sno.id;
COMMIT;
FETCH LAST FROM page;
FETCH BACKWARD ALL FROM page;
FETCH ABSOLUTE 2 FROM page;
CLOSE page;

SELECT * FROM pg_temp.each($$
    DROP TABLE <name>_bag, <name>_shift, <name>_doc, <name>_edge, <name>_keyed;
    DROP TYPE <name>_span, <name>_pair, <name>_key, <name>_early;
    SELECT 'gone'
$$);
