# A column of type flake answers every query as a column of bigint does, by the same plan with the same costs. Only a
# comparison with a time, JSON and arithmetic differ, and the operators for them do not change how PostgreSQL reads the others.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('flake_type');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
max_parallel_workers_per_gather = 0
END
$node->start;
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;
my $session = session($node);
$session->query_safe('CREATE EXTENSION flakeid');

# twins ----------------------------------------------------------------------------------------------

# Two schemas with the same tables, whose IDs are of type flake in one and bigint in the other. IDs are of all signs and sizes.
# TYPE is the type.
my %type = (of_flake => 'flake', of_bigint => 'bigint');
my $tables = <<'SQL';
CREATE TABLE things (id TYPE PRIMARY KEY, nr integer, part integer);
INSERT INTO things SELECT (nr - 2000) * 1000000000000000, nr, nr % 10 FROM generate_series(0, 9999) AS nr;
INSERT INTO things SELECT nr, nr, -1 FROM generate_series(-7, 7) AS nr WHERE nr <> 0;
CREATE INDEX things_part ON things (part, id);
CREATE TABLE hashed (id TYPE, nr integer);
INSERT INTO hashed SELECT id, nr FROM things;
CREATE INDEX hashed_id ON hashed USING hash (id);
CREATE TABLE log (id TYPE, nr integer);
INSERT INTO log SELECT id, nr FROM things ORDER BY id;
CREATE INDEX log_minmax ON log USING brin (id) WITH (pages_per_range = 1);
CREATE TABLE multi (id TYPE, nr integer);
INSERT INTO multi SELECT id, nr FROM things ORDER BY nr % 7, id;
CREATE INDEX multi_minmax ON multi USING brin (id int8_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE TABLE notes (thing bigint REFERENCES things, nr integer);
INSERT INTO notes SELECT id, nr FROM things WHERE nr % 3 = 0;
CREATE INDEX notes_thing ON notes (thing);
CREATE TABLE labels (thing TYPE, nr integer);
INSERT INTO labels SELECT id, nr FROM things WHERE nr % 5 = 0;
CREATE INDEX labels_thing ON labels (thing);
CREATE TABLE numbers (id bigint PRIMARY KEY);
INSERT INTO numbers SELECT id FROM things;
ALTER TABLE labels ADD FOREIGN KEY (thing) REFERENCES numbers, ADD FOREIGN KEY (thing) REFERENCES things;
CREATE TABLE ranges (id TYPE PRIMARY KEY, nr integer) PARTITION BY RANGE (id);
CREATE TABLE ranges_1 PARTITION OF ranges FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE ranges_2 PARTITION OF ranges FOR VALUES FROM ('0') TO (2000000000000000000);
CREATE TABLE ranges_3 PARTITION OF ranges FOR VALUES FROM (2000000000000000000) TO (MAXVALUE);
INSERT INTO ranges SELECT id, nr FROM things;
CREATE TABLE shards (id TYPE PRIMARY KEY, nr integer) PARTITION BY HASH (id);
CREATE TABLE shards_0 PARTITION OF shards FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE shards_1 PARTITION OF shards FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE shards_2 PARTITION OF shards FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO shards SELECT id, nr FROM things;
CREATE TABLE lists (id TYPE, nr integer) PARTITION BY LIST (id);
CREATE TABLE lists_1 PARTITION OF lists FOR VALUES IN (1, 2000000000000000000);
CREATE TABLE lists_2 PARTITION OF lists FOR VALUES IN ('2', NULL);
INSERT INTO lists VALUES (1, 1), (2000000000000000000, 2), (2, 3), (NULL, 4);
SQL
for my $schema (sort keys %type) {
	my $sql = $tables =~ s/\bTYPE\b/$type{$schema}/gr;
	$session->query_safe("CREATE SCHEMA $schema; SET search_path = $schema, public; $sql");
	$session->query_safe('VACUUM (ANALYZE)');
}

# Returns what a statement gives in one of the schemas: its rows or its error, and its plan if that is wanted.
sub outcome {
	my ($schema, $with_plan, $sql, $prepared) = @_;
	my $statement = $sql =~ s/\bTYPE\b/$type{$schema}/gr;
	my $prepare = $prepared ? "PREPARE asked ($prepared->[0]) AS $statement;" : '';
	my $run = $prepared ? "EXECUTE asked ($prepared->[1])" : $statement;
	$session->query_safe(
		"SET search_path = $schema, public; SET plan_cache_mode = force_generic_plan");
	my $error = error_in($session, $prepare);
	return $error if $error;
	my $rows = $session->query($run) . ($session->{stderr} =~ /(ERROR: +\w+)/ ? $1 : '');
	$session->{stderr} = '';
	my $plan = $with_plan ? $session->query("EXPLAIN $run") : '';
	$session->{stderr} = '';
	$session->query_safe('DEALLOCATE ALL');
	# How PostgreSQL shows that it takes a flake for a bigint.
	$plan =~ s/\((\S+)\)::bigint\b/$1/g;
	$plan =~ s/of_flake|of_bigint/schema/g;
	# From 19 on the rows of a subquery that are made unique hold the expression that is compared, beside the column.
	$plan =~ s/ width=\d+//g if $version >= 19;
	return "$rows\n$plan";
}

# Checks that statements give the same in both schemas, by the same plans.
sub is_alike { return are_alike(1, @_); }

# Checks that statements give the same in both schemas, by any plans.
sub gives_alike { return are_alike(0, @_); }

sub are_alike {
	my ($with_plans, $claim, @queries) = @_;
	my @different;
	for my $query (@queries) {
		my ($sql, $prepared) = ref $query ? @$query : $query;
		my ($flake, $bigint) =
		  map { outcome($_, $with_plans, $sql, $prepared) } qw(of_flake of_bigint);
		my $asked = $prepared ? "$sql ($prepared->[0])" : $sql;
		push @different, "$asked\n$flake\nwith bigint:\n$bigint"
		  if $flake ne $bigint || $with_plans && $bigint !~ /\n./;
	}
	is(join("\n", @different), '', $claim);
}

my $answer = 'count(*), sum(nr)';
my @operators = qw(= <> < <= > >=);
my @tables = qw(things hashed log multi ranges shards);

# The kinds of operands that people send. An ID of 19 digits is a bigint for PostgreSQL, a short one an integer.
my @literals = (
	q('2000000000000000000'), '2000000000000000000',
	q('5'), '5',
	'-3', '5::smallint',
	q(bigint '3000000000000000000'), q(TYPE '3000000000000000000'),
	'NULL', 'NULL::bigint',
	q(' 7 '), '0',
	'9223372036854775807', q('-9223372036854775808'),
	'(SELECT max(thing) FROM notes)', '(SELECT nr FROM notes ORDER BY nr DESC LIMIT 1)');
my @parameters = (
	[ bigint => '2000000000000000000' ],
	[ integer => '5' ],
	[ smallint => '5' ],
	[ unknown => q('3000000000000000000') ],
	[ TYPE => q('3000000000000000000') ]);

for my $table (@tables) {
	my @queries;
	for my $operator (@operators) {
		my $turned = $operator eq '<>' ? $operator : $operator =~ tr/<>/></r;
		push @queries, map {
			(   "SELECT $answer FROM $table WHERE id $operator $_",
				"SELECT $answer FROM $table WHERE $_ $turned id")
		} @literals;
	}
	is_alike("$table: a flake is compared with every kind of literal as a bigint is", @queries);
	@queries = ();
	for my $operator (@operators) {
		for my $parameter (@parameters) {
			# The name of the type differs in the two schemas.
			my ($type, $value) = @$parameter;
			my $where = $type eq 'TYPE' ? "id $operator \$1::TYPE" : "id $operator \$1";
			push @queries,
			  [
				"SELECT $answer FROM $table WHERE $where",
				[ $type eq 'TYPE' ? 'unknown' : $type, $value ]
			  ];
		}
	}
	is_alike("$table: a flake is compared with every kind of parameter as a bigint is", @queries);
	is_alike(
		"$table: a flake is found in every kind of list and range as a bigint is",
		map { "SELECT $answer FROM $table WHERE id $_" } q(IN ('5', '6')),
		'IN (2000000000000000000, 5)',
		'IN (2000000000000000000, 2001000000000000000)',
		'NOT IN (5, 2000000000000000000)',
		q(= ANY ('{5,2000000000000000000}')),
		q(= ANY ('{5,2000000000000000000}'::bigint[])),
		q(= ANY ('{5,6}'::integer[])),
		q(= ANY ('{5,6}'::TYPE[])),
		q(= ANY (ARRAY[5, 2000000000000000000])),
		'IN (SELECT thing FROM notes WHERE nr < 50)',
		'IN (SELECT thing FROM labels WHERE nr < 50)',
		q(<> ALL ('{5,6}'::bigint[])),
		q(< ANY ('{5,2000000000000000000}'::bigint[])),
		q(BETWEEN '5' AND '2000000000000000000'),
		'BETWEEN 5 AND 2000000000000000000',
		q(BETWEEN SYMMETRIC 2000000000000000000 AND '5'),
		'IS NULL',
		'IS NOT NULL',
		'IS DISTINCT FROM 5',
		q(IS NOT DISTINCT FROM '5'),
		q(> '1000000000000000000' AND id < 2000000000000000000));
	is_alike(
		"$table: a list in a parameter finds flakes as it finds bigints",
		map { [ "SELECT $answer FROM $table WHERE id = ANY (\$1)", $_ ] }
		  [ 'bigint[]', q('{5,2000000000000000000}') ],
		[ 'integer[]', q('{5,6}') ],
		[ unknown => q('{5,2000000000000000000}') ]);
}
# A list of short numbers is a list of integers, which has no type in common with a flake. So it is an OR.
is( $session->query_safe(
		"SET search_path = of_$_, public; SELECT sum(nr) FROM things WHERE id IN (5, 6)"),
	'11',
	"a list of short numbers finds a $_") for qw(flake bigint);
is_alike(
	'a partition of a list of flakes is found as one of bigints',
	map { "SELECT $answer FROM lists WHERE id $_" } '= 1',
	q(= '2'),
	'IN (1, 2000000000000000000)',
	'IS NULL',
	'= 2000000000000000000');
gives_alike(
	'rows are compared, sorted, grouped and joined by flakes as by bigints',
	q(SELECT id, nr FROM things WHERE (part, id) > (3, '2003000000000000000') ORDER BY part, id LIMIT 5),
	q(SELECT id, nr FROM things WHERE (id, nr) > ('2003000000000000000', 3) ORDER BY id, nr LIMIT 5),
	'SELECT id, nr FROM things ORDER BY id DESC LIMIT 5',
	'SELECT nr FROM hashed ORDER BY id, nr',
	'SELECT id, count(*) FROM labels JOIN things ON id = thing GROUP BY id ORDER BY id',
	'SELECT DISTINCT id FROM log WHERE nr < 9 ORDER BY id',
	'SELECT min(id), max(id) FROM things',
	'SELECT min(id), max(id) FROM ranges',
	'SELECT part, min(id), max(id) FROM things GROUP BY part ORDER BY part',
	'SELECT count(DISTINCT id) FROM things',
	'SELECT row_number() OVER (ORDER BY id), lag(id) OVER (ORDER BY id) FROM things WHERE nr < 9 ORDER BY 1',
	'SELECT DISTINCT ON (part) part, id FROM things ORDER BY part, id DESC',
	"SELECT $answer FROM things JOIN (SELECT thing FROM notes) AS notes ON id = thing",
	"SELECT $answer FROM things JOIN (SELECT thing FROM labels) AS labels ON id = thing",
	'SELECT count(*) FROM notes JOIN labels USING (thing)',
	'SELECT count(*) FROM notes JOIN labels USING (thing) JOIN things ON id = thing WHERE things.nr < 100',
	'SELECT count(*) FROM things JOIN notes ON id = thing WHERE notes.nr = 6',
	'SELECT count(*) FROM notes LEFT JOIN things ON thing = id WHERE notes.nr < 20',
	'SELECT count(*) FROM things JOIN numbers USING (id)',
	'SELECT count(*) FROM things JOIN shards USING (id)',
	'SELECT count(*) FROM things WHERE EXISTS (SELECT FROM notes WHERE thing = id)',
	'SELECT count(*) FROM things WHERE NOT EXISTS (SELECT FROM labels WHERE thing = id)',
	'SELECT id FROM things INTERSECT SELECT id FROM numbers ORDER BY 1 LIMIT 3',
	'SELECT id FROM things UNION SELECT 5::bigint ORDER BY 1 LIMIT 3',
	'SELECT id FROM things EXCEPT SELECT thing FROM labels ORDER BY 1 LIMIT 3',
	'SELECT coalesce(id, 5::bigint), greatest(id, 2000000000000000000), nullif(id, 5), CASE WHEN nr > 5 THEN id ELSE 3000000000000000000 END FROM things WHERE nr BETWEEN 3 AND 8 ORDER BY id',
	q(SELECT nr FROM things WHERE id > '2000000000000000000' ORDER BY part, id LIMIT 3),
	'SELECT id::text, to_hex(id), abs(id), id::bigint + 1 FROM things WHERE nr BETWEEN 1 AND 7 ORDER BY things.id',
	'SELECT array_agg(id ORDER BY id), string_agg(id::text, $$ $$ ORDER BY id) FROM things WHERE nr < 5',
	'SELECT width_bucket(5::bigint, array_agg(id::bigint ORDER BY id)) FROM things');
for my $join (qw(hashjoin mergejoin nestloop)) {
	my @off = map { "enable_$_" } grep { $_ ne $join } qw(hashjoin mergejoin nestloop);
	$session->query_safe(join '; ', map { "SET $_ = off" } @off);
	is_alike(
		"a $join meets the same rows by flakes as by bigints",
		map { "SELECT count(*), sum(things.nr) FROM things JOIN $_" } 'notes ON id = thing',
		'labels ON id = thing',
		'numbers USING (id)',
		'shards USING (id)',
		'ranges USING (id)',
		'hashed USING (id)');
	$session->query_safe(join '; ', map { "RESET $_" } @off);
}

# statements that write ------------------------------------------------------------------------------

gives_alike(
	'rows are written by flakes as by bigints',
	q(INSERT INTO things VALUES ('8000000000000000000', 1), (8000000000000000001, 2), (100, 3), (101::smallint, 4), (102::bigint, 5) RETURNING id),
	q(INSERT INTO things VALUES (8000000000000000000, 7) ON CONFLICT (id) DO UPDATE SET nr = excluded.nr RETURNING id, nr),
	'INSERT INTO things VALUES (8000000000000000000, 7)',
	q(UPDATE things SET id = 103 WHERE id = 102 RETURNING id),
	q(UPDATE things SET id = '104' WHERE id = '103' RETURNING id),
	'INSERT INTO things SELECT nr + 8100000000000000000, nr FROM generate_series(1, 3) AS nr RETURNING id',
	'DELETE FROM things WHERE id > 8000000000000000000 RETURNING id',
	'INSERT INTO notes VALUES (8000000000000000009)',
	'DELETE FROM things WHERE id = 3000000000000000000',
	'UPDATE things SET id = 1 WHERE id = 100',
	'INSERT INTO labels VALUES (100), (8000000000000000009)',
	q(MERGE INTO things USING (VALUES (100::bigint, 9), (8200000000000000000, 8)) AS new (id, nr) ON things.id = new.id WHEN MATCHED THEN UPDATE SET nr = new.nr WHEN NOT MATCHED THEN INSERT VALUES (new.id, new.nr)),
	'SELECT count(*), sum(nr), max(id) FROM things',
	q(INSERT INTO things VALUES ('abc')),
	q(INSERT INTO things VALUES ('9223372036854775808')),
	'INSERT INTO things VALUES (9223372036854775808)',
	'INSERT INTO things VALUES (105.0), (106.5) RETURNING id');
is($session->query_safe(<<'SQL'), 't', 'each row is in the shard in which its bigint is');
SELECT count(*) > 0 AND bool_and(shard_of_f.relname = shard_of_b.relname)
FROM of_flake.shards AS f JOIN of_bigint.shards AS b ON f.id = b.id
	JOIN pg_class AS shard_of_f ON shard_of_f.oid = f.tableoid JOIN pg_class AS shard_of_b ON shard_of_b.oid = b.tableoid
SQL
is($session->query_safe(<<'SQL'), 't|0', 'a flake has the hash and the binary form of its bigint');
SELECT count(*) > 0, count(*) FILTER (WHERE flake_send(id) <> int8send(id) OR hashint8(id) <> hashint8(id::bigint)) FROM of_flake.things
SQL

# operators ------------------------------------------------------------------------------------------

# Every operator that could take a flake is tried with one on each side, and NULL of every type on the other, or an untyped
# literal. It could if an operator of this name takes a bigint, a flake, or any type.
$session->query_safe(<<'SQL');
SET search_path = public;
CREATE FUNCTION outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT pg_typeof(%s)', expression);
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || CASE WHEN SQLERRM = 'cannot compute with a flake' THEN ' arithmetic' ELSE '' END;
END $$;
CREATE TABLE tried AS
SELECT op, operand, is_left, flake_is, outcome(format(form, op, operand, 'bigint')) AS bigint_is
FROM (SELECT DISTINCT oprname AS op FROM pg_operator JOIN pg_type AS t ON t.oid IN (oprleft, oprright)
		WHERE oprkind = 'b' AND (t.typtype = 'p' OR t.oid IN ('bigint'::regtype, 'flake'::regtype, 'timed_flake'::regtype))) AS operators,
	(SELECT format('NULL::%s', oid::regtype) AS operand FROM pg_type
		WHERE typtype <> 'p' AND typrelid = 0 AND (typelem = 0 OR oid IN ('bigint[]'::regtype, 'flake[]'::regtype)) AND typnamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace)
		UNION ALL VALUES ('''1'''), ('NULL')) AS operands,
	(VALUES (true, 'NULL::%3$s %1$s %2$s'), (false, '%2$s %1$s NULL::%3$s')) AS sides (is_left, form),
	LATERAL outcome(format(form, op, operand, 'flake')) AS flake_is;
SQL
is( $session->query_safe(
		q(SELECT count(*) > 3000, count(*) FILTER (WHERE flake_is = '42725') FROM tried)),
	't|0',
	'no operator is ambiguous for a flake');
is( $session->query_safe(
		<<'SQL'), <<'ROWS' =~ s/\n\z//r, 'an operator takes for a flake what it takes for a bigint, but for those of times, of arithmetic, and of fractions');
SELECT op, string_agg(DISTINCT replace(operand, 'NULL::', ''), ', ' ORDER BY replace(operand, 'NULL::', ''))
FROM tried WHERE flake_is = 'ok' AND bigint_is <> 'ok' GROUP BY op ORDER BY op COLLATE "C"
SQL
<|date, timestamp with time zone, timestamp without time zone
<=|date, timestamp with time zone, timestamp without time zone
<>|date, timestamp with time zone, timestamp without time zone
<@|NULL, flakeid_times, tstzrange
=|date, timestamp with time zone, timestamp without time zone
>|date, timestamp with time zone, timestamp without time zone
>=|date, timestamp with time zone, timestamp without time zone
@>|NULL, flakeid_times, tstzrange
ROWS
is( $session->query_safe(
		<<'SQL'), <<'ROWS' =~ s/\n\z//r, 'arithmetic with a flake is an error for every integer and every literal');
SELECT op, string_agg(DISTINCT replace(operand, 'NULL::', ''), ', ' ORDER BY replace(operand, 'NULL::', ''))
FROM tried WHERE flake_is = '42883 arithmetic' GROUP BY op ORDER BY op COLLATE "C"
SQL
#|'1', NULL, bigint, flake, integer, smallint, timed_flake
%|'1', NULL, bigint, flake, integer, smallint, timed_flake
&|'1', NULL, bigint, flake, integer, smallint, timed_flake
*|'1', NULL, bigint, flake, integer, smallint, timed_flake
+|'1', NULL, bigint, flake, integer, smallint, timed_flake
-|'1', NULL, bigint, flake, integer, smallint, timed_flake
/|'1', NULL, bigint, flake, integer, smallint, timed_flake
<<|'1', NULL, flake, integer, smallint, timed_flake
>>|'1', NULL, flake, integer, smallint, timed_flake
||'1', NULL, bigint, flake, integer, smallint, timed_flake
ROWS
is( $session->query_safe(
		<<'SQL'), "date|ok\ntimestamp|ok\ntimestamptz|ok", 'a literal beside a flake is read as an ID, and one of a typed time as that time');
SELECT kind, outcome(format('(SELECT flake ''5'' >= ''3'' AND ''3'' < flake ''5'' AND flake ''5'' BETWEEN ''3'' AND ''6'' AND %s ''2026-01-01'' IS NOT NULL)', kind))
FROM unnest('{date,timestamp,timestamptz}'::text[]) AS kind ORDER BY 1
SQL
like(
	error_in($session, "SELECT flake '5' >= '2026-01-01'"),
	qr/ERROR:  22P02: invalid input syntax for type bigint: "2026-01-01"/,
	'an untyped time beside a flake is an error');
like(
	error_in($session, 'SELECT id + 1 FROM of_flake.things WHERE false'),
	qr/ERROR:  42883: cannot compute with a flake\nDETAIL:  A flake is an ID, not a number\.\nHINT:  .* cast it to bigint\./,
	'arithmetic is an error without rows, too, with a hint');
is( $session->query_safe(
		q(SELECT string_agg(op || ' ' || outcome(op || ' NULL::flake'), ', ' ORDER BY op COLLATE "C") FROM unnest('{+,-,~,@}'::text[]) AS op)
	),
	'+ 42883 arithmetic, - 42883 arithmetic, @ 42883 arithmetic, ~ 42883 arithmetic',
	'an operator with a flake alone is an error');

# An operator of other types means what it means without the extension: each that the extension has, with typed and untyped
# operands and parameters.
my $plain = <<'SQL';
CREATE FUNCTION outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format('SELECT pg_typeof(%s)', expression) INTO found;
	RETURN found;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION prepared(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	types text;
BEGIN
	EXECUTE format('PREPARE one AS SELECT %s', expression);
	SELECT parameter_types::text INTO types FROM pg_prepared_statements WHERE name = 'one';
	DEALLOCATE one;
	RETURN types;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE DOMAIN big AS bigint;
CREATE TABLE operands AS SELECT * FROM unnest(ARRAY['5::smallint', '5::integer', '5::bigint', '5::big', '5::numeric', '5::real', '5::double precision', '''5''::text',
	'''5''::varchar', 'now()', 'localtimestamp', 'current_date', 'interval ''5 s''', 'tstzrange(now(), NULL)', '''empty''::daterange', 'int8range(1, 5)',
	'gen_random_uuid()', '''\x05''::bytea', '''{5}''::bigint[]', '''[5]''::jsonb', '5::money', '5::oid', '''f''::boolean', '''5''', '''2026-01-01''', '''[2026-01-01,)''', 'NULL']) AS operand;
SQL
my $ask = <<'SQL';
SELECT op, l.operand, r.operand, outcome(format('%s %s %s', l.operand, op, r.operand)),
	CASE WHEN r.operand = 'NULL' THEN prepared(format('%s %s $1', l.operand, op)) WHEN l.operand = 'NULL' THEN prepared(format('$1 %s %s', op, r.operand)) END
FROM unnest('{<,<=,=,>=,>,<>,<@,@>,+,-,*,/,%,&,|,#,<<,>>}'::text[]) AS op, operands AS l, operands AS r ORDER BY 1, 2, 3
SQL
$node->safe_psql('postgres', 'CREATE DATABASE without; CREATE DATABASE with_extension');
$node->safe_psql('with_extension', 'CREATE EXTENSION flakeid');
my ($without, $with) =
  map { $node->safe_psql($_, $plain); [ split /\n/, $node->safe_psql($_, $ask) ] } 'without',
  'with_extension';
cmp_ok(scalar @$without, '>', 10_000, 'expressions without a flake: ' . @$without);
is_deeply([ grep { $without->[$_] ne ($with->[$_] // '') } 0 .. $#$without ],
	[], 'an expression without a flake means what it means without the extension')
  or diag(
	join "\n",
	(   map  { "$without->[$_] with the extension: $with->[$_]" }
		grep { $without->[$_] ne $with->[$_] } 0 .. $#$without)[ 0 .. 20 ]);

# Extended statistics compute with an ID. The column still becomes a flake, and queries are planned.
$session->query_safe(<<'SQL');
SET search_path = public;
CREATE TABLE computed (id bigint, nr integer);
INSERT INTO computed SELECT nr, nr % 7 FROM generate_series(1, 1000) AS nr;
CREATE STATISTICS of_computed ON (id % 7), nr FROM computed;
ANALYZE computed;
ALTER TABLE computed ALTER id TYPE flake;
SQL
is($session->query_safe('SELECT count(*) FROM computed WHERE nr = 3'),
	'143', 'a table with statistics that compute with a flake is read');
like(error_in($session, $_), qr/ERROR:  42883: cannot compute with a flake/, "$_ has the hint")
  for 'SELECT to_timestamp(((id >> 22) + 1288834974657) / 1000.0) FROM computed',
  'SELECT (id % 16)::integer FROM computed', 'SELECT coalesce(id % 4, 0) FROM computed',
  q(SELECT (ARRAY['a', 'b'])[id % 2] FROM computed);
like(
	error_in($session, 'DO $$DECLARE f flake := 5; n numeric; BEGIN n := f; END$$'),
	qr/ERROR:  42846: cannot cast type flake to numeric\nDETAIL:  There is no assignment cast\.\nHINT:  Cast to bigint first/,
	'PL/pgSQL says how to assign a flake to a number');

# ALTER TABLE ----------------------------------------------------------------------------------------

# Neither the table nor an index is written, whichever way.
$session->query_safe(<<'SQL');
SET search_path = of_bigint, public;
CREATE VIEW files AS
SELECT coalesce(string_agg(relname || ' ' || pg_relation_filenode(oid), ', ' ORDER BY relname), '') AS of_all FROM pg_class
WHERE relnamespace = 'of_bigint'::regnamespace AND relkind IN ('r', 'i');
SQL
my $files = $session->query_safe('SELECT * FROM files');
my $contents =
  'SELECT sum(hashint8extended(id, 0)) FROM things UNION ALL SELECT sum(hashint8extended(thing, 0)) FROM notes UNION ALL SELECT sum(hashint8extended(id, 0)) FROM shards';
my $before = $session->query_safe($contents);
for my $to (qw(flake bigint flake)) {
	$session->query(<<"SQL");
SET client_min_messages = debug1;
ALTER TABLE notes ALTER thing TYPE $to;
ALTER TABLE labels ALTER thing TYPE $to;
ALTER TABLE things ALTER id TYPE $to;
ALTER TABLE hashed ALTER id TYPE $to;
ALTER TABLE log ALTER id TYPE $to;
ALTER TABLE multi ALTER id TYPE $to;
RESET client_min_messages;
SQL
	my $notices = $session->{stderr};
	$session->{stderr} = '';
	unlike(
		$notices,
		qr/ERROR|rewriting|building index/,
		"ALTER TABLE to $to writes no row and no index");
	is($session->query_safe('SELECT * FROM files'),
		$files, "ALTER TABLE to $to keeps the files of tables and indexes");
	is($session->query_safe($contents), $before, "ALTER TABLE to $to keeps the IDs");
	is( $session->query_safe("SELECT to_json(id) FROM things WHERE id = 5"),
		$to eq 'flake' ? '"5"' : '5',
		"after ALTER TABLE the IDs are of type $to");
}
$session->quit;
$node->stop;
done_testing();
