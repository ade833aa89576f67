# COPY inserts many rows at once although a column has the default X_next(), and each row gets an ID of its own. So it
# is, too, for everything else that PostgreSQL plans without a query: see src/copy_from/mod.rs.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('copy_defaults',
	install_path => Installation->new('released')->put_released->{path});
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
autovacuum = off
wal_keep_size = 1GB
END
$node->start;
my $dir = $node->basedir;
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;

my @types = (
	{ name => 'flake', type => 'bigint', next => 'flake_next()', function => 'flake_next()' },
	{ name => 'typed', type => 'flake', next => 'flake_next()', function => 'flake_next()' },
	{ name => 'sno', type => 'sno', next => 'sno_next(7)', function => 'sno_next(integer)' },
	{
		name => 'flake128',
		type => 'flake128',
		next => 'flake128_next()',
		function => 'flake128_next()'
	},
	{
		name => 'guid',
		type => 'guid',
		next => 'guid_next()',
		function => 'guid_next(interval, boolean)'
	},
	{
		name => 'guid_local',
		type => 'guid_local',
		next => q{guid_local_next('10 seconds', true)},
		function => 'guid_local_next(interval, boolean)'
	},
	{
		name => 'uniqueid',
		type => 'uniqueid',
		next => q{uniqueid_next('spread')},
		function => 'uniqueid_next(uniqueid_mode)'
	},
	{ name => 'uuidv7', type => 'uuid', next => 'uuidv7_next()', function => 'uuidv7_next()' },);
my $columns = join ', ', map { "$_->{name} $_->{type} DEFAULT $_->{next}" } @types;

sub sql { return $node->safe_psql('postgres', $_[0]); }

# How many WAL records that insert rows into these tables, several at once or one, the statements wrote.
sub records {
	my ($database, $tables, $sql) = @_;
	my ($begin) =
	  $node->safe_psql($database, "SELECT 'begin ' || pg_current_wal_insert_lsn(); $sql") =~
	  /^begin (.*)$/m;
	return records_since($begin, $database, $tables);
}

sub records_since {
	my ($begin, $database, $tables) = @_;
	# The commit of this message brings all that is before it to the disk.
	my $names = join ', ', map { "'$_'::regclass" } split / /, $tables;
	my (undef, $end, @files) = split /\n/,
	  $node->safe_psql($database,
			"SELECT pg_logical_emit_message(true, 'end', ''); SELECT pg_current_wal_flush_lsn();"
		  . "SELECT '1663/' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || pg_relation_filenode(t) FROM unnest(ARRAY[$names]) AS t"
	  );
	my %ours = map { $_ => 1 } @files;
	my ($printed, $errors) = ('', '');
	IPC::Run::run([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $begin, '-e', $end ],
		'>', \$printed, '2>', \$errors)
	  or die "pg_waldump failed: $errors";
	my %count = (MULTI_INSERT => 0, INSERT => 0);
	for (split /\n/, $printed) {
		$count{$1}++
		  if m{^rmgr: Heap.*desc: (MULTI_INSERT|INSERT)\b.*blkref #0: rel (\S+) } && $ours{$2};
	}
	return
		$count{MULTI_INSERT} && $count{INSERT} ? 'both'
	  : $count{MULTI_INSERT}                   ? 'many at once'
	  :                                          "one by one: $count{INSERT}";
}

sql('CREATE EXTENSION flakeid');
sql("COPY (SELECT generate_series(1, 5000)) TO '$dir/numbers'");
sql("COPY (SELECT generate_series(1, 5000)) TO '$dir/numbers.binary' (FORMAT binary)");
my $load = "(nr) FROM '$dir/numbers'";

# each ID type ---------------------------------------------------------------------------------------------------------

for my $type (@types) {
	my ($name, $function) = @{$type}{ 'name', 'function' };
	sql("CREATE TABLE ${name}s (id $type->{type} PRIMARY KEY DEFAULT $type->{next}, nr integer)");
	is(records('postgres', "${name}s", "COPY ${name}s $load"),
		'many at once', "$name: COPY inserts many rows at once");
	is(sql("SELECT count(*), count(DISTINCT id) FROM ${name}s"),
		'5000|5000', '... with an ID for each row');
	is( records(
			'postgres',
			"${name}s",
			"BEGIN; UPDATE pg_proc SET prosupport = 0 WHERE oid = '$function'::regprocedure; COPY ${name}s $load; ROLLBACK"
		),
		'one by one: 5000',
		'... but not without the support function of the planner');
	my $for_copy = $function =~ s/_next\(/_next_for_copy(/r =~ s/(?<=[a-z])\)/, internal)/r =~
	  s/\(\)/(internal)/r;
	is( sql("SELECT provolatile, proisstrict, proparallel FROM pg_proc WHERE oid = '$for_copy'::regprocedure"
		),
		's|t|r',
		"$for_copy is declared STABLE, and PARALLEL RESTRICTED as $function is");
	my $arguments = join ', ', ('NULL') x ($for_copy =~ tr/,// + 1);
	my $refused =
	  qr/42883: function .* does not exist|42846: cannot cast type unknown to internal|0A000: cannot accept a value of type internal/;
	like(error_of($node, "SELECT ${name}_next_for_copy($arguments)"),
		$refused, '... and SQL cannot call it');
	like(error_of($node, "SELECT ${name}_next_for_copy($arguments\::internal)"),
		$refused, '... as it has no value of type internal');
}
is(sql('SELECT DISTINCT meta FROM snos, sno_decode(id)'),
	'7', "COPY passes a default's arguments on: the meta of a sno");
is( sql('SELECT DISTINCT drift FROM guid_locals, guid_local_decode(id, true)'),
	sql(q{SELECT drift FROM guid_local_decode(guid_local_next('10 seconds', true), true)}),
	'... the drift of a guid_local');
is(sql('SELECT DISTINCT mode FROM uniqueids, uniqueid_decode(id)'),
	'spread', '... the mode of a uniqueid');

# Every ID type in one row.
sql("CREATE TABLE alls (nr integer, $columns)");
my $distinct =
  'SELECT ' . join(' + ', map { "count(DISTINCT $_->{name})" } @types) . ', count(*) FROM';
is(records('postgres', 'alls', "COPY alls $load"), 'many at once', 'a table with all of them');
is(records('postgres', 'alls', "COPY alls (nr) FROM '$dir/numbers.binary' (FORMAT binary)"),
	'many at once', '... in binary');
is(sql("$distinct alls"), '80000|10000', 'each row that COPY inserts has IDs of its own');

# defaults of other forms ----------------------------------------------------------------------------------------------

sql(<<'SQL');
CREATE FUNCTION own_next() RETURNS bigint LANGUAGE sql AS 'SELECT flake_next()';
CREATE FUNCTION slow_next() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN flake_next(); END';
CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
CREATE DOMAIN made AS bigint DEFAULT flake_next();
CREATE FUNCTION meta() RETURNS integer STABLE LANGUAGE plpgsql AS 'BEGIN RETURN 3; END';
SQL
for (
	[ 'text', q{'order-' || flake_next()}, 'many at once', 'part of an expression' ],
	[ 'positive', 'flake_next()', 'many at once', 'a column of a domain' ],
	[ 'made', undef, 'many at once', 'the default of a domain' ],
	[ 'bigint', 'own_next()', 'many at once', 'in an SQL function, which is inlined' ],
	[ 'bigint', 'slow_next()', 'one by one: 5000', 'in a function that is not' ],
	[
		'bigint',
		'flake_next() + (0 * random())::integer',
		'one by one: 5000',
		'beside a volatile function'
	],
	[ 'sno', 'sno_next(meta())', 'one by one: 5000', 'with an argument that is no constant' ],
	[ 'sno', 'sno_next(2 + 1)', 'many at once', 'with an argument that becomes a constant' ])
{
	my ($type, $default, $expected, $what) = @$_;
	sql("DROP TABLE IF EXISTS forms; CREATE TABLE forms (id $type @{[ defined $default ? qq{DEFAULT $default} : '' ]}, nr integer)"
	);
	is(records('postgres', 'forms', "COPY forms $load"), $expected, "$what: $expected");
	is(sql('SELECT count(DISTINCT id) FROM forms'), '5000', '... with an ID for each row');
}
sql('DROP TABLE forms; CREATE TABLE forms (id sno DEFAULT sno_next(NULL), nr integer)');
is(records('postgres', 'forms', "COPY forms $load"),
	'many at once', 'an argument that is NULL makes the default NULL');
is(sql('SELECT count(id), count(*) FROM forms'), '0|5000', '... which it stays');

# options of COPY ------------------------------------------------------------------------------------------------------

sql("CREATE TABLE options (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer, event sno DEFAULT sno_next())"
);
is(records('postgres', 'options', "COPY options $load WHERE nr % 2 = 0"),
	'many at once', 'COPY ... WHERE');
is( records('postgres', 'options', "COPY options $load WHERE flake_next() > 0"),
	'one by one: 5000',
	'... with a condition that is volatile');
is(sql('SELECT count(*), count(DISTINCT event) FROM options'),
	'7500|7500', '... an ID for each row');
is( records(
		'postgres',
		'options',
		"BEGIN; TRUNCATE options; COPY options $load (FREEZE); SAVEPOINT s; COPY options $load (FREEZE false); COMMIT"
	),
	'many at once',
	'FREEZE');
is(sql('SELECT count(*), count(DISTINCT event) FROM options'),
	'10000|10000', '... an ID for each row');
sql("COPY (SELECT n, NULL FROM generate_series(1, 5000) AS n) TO '$dir/nulls.csv' (FORMAT csv, FORCE_QUOTE *)"
);
is( records(
		'postgres',
		'options',
		"TRUNCATE options; COPY options (nr, event) FROM '$dir/nulls.csv' (FORMAT csv, FORCE_NULL (event))"
	),
	'many at once',
	'FORCE_NULL');
is(sql('SELECT count(DISTINCT id), count(event) FROM options'),
	'5000|0', '... an ID where the file has no column, and NULL where it has one');
SKIP:
{
	skip "COPY of PostgreSQL $version has no DEFAULT", 2 if $version < 16;
	sql("COPY (SELECT n, CASE WHEN n % 2 = 0 THEN 'new' ELSE sno_next(9)::text END FROM generate_series(1, 5000) AS n) TO '$dir/marked'"
	);
	is( records(
			'postgres', 'options',
			"TRUNCATE options; COPY options (nr, event) FROM '$dir/marked' (DEFAULT 'new')"),
		'many at once',
		'DEFAULT');
	is( sql('SELECT count(DISTINCT id), count(DISTINCT event), count(DISTINCT event) FILTER (WHERE meta = 9) FROM options, sno_decode(event)'
		),
		'5000|5000|2500',
		'... an ID for each row');
}
sql("COPY (SELECT CASE n WHEN 3000 THEN 'wrong' ELSE n::text END FROM generate_series(1, 5000) AS n) TO '$dir/spoilt'"
);
sql('TRUNCATE options');
SKIP:
{
	skip "COPY of PostgreSQL $version has no ON_ERROR", 2 if $version < 17;
	is(records('postgres', 'options', "COPY options (nr) FROM '$dir/spoilt' (ON_ERROR ignore)"),
		'many at once', 'ON_ERROR ignore');
	is(sql('SELECT count(*), count(DISTINCT event) FROM options'),
		'4999|4999', '... an ID for each row');
}
my $rows = sql('SELECT count(*) FROM options');
like(
	error_of($node, "COPY options (nr) FROM '$dir/spoilt'"),
	qr/22P02: .*^CONTEXT:  COPY options, line 3000, column nr: "wrong"/ms,
	'an error in the middle names its line');
sql('ALTER TABLE options ADD CHECK (nr <> 4000) NOT VALID');
like(
	error_of($node, "COPY options $load"),
	qr/23514: .*^CONTEXT:  COPY options, line 4000: "4000"/ms,
	'... so does a row that a CHECK refuses');
sql('CREATE TABLE once (id bigint DEFAULT flake_next(), nr integer UNIQUE)');
sql("COPY (SELECT CASE n WHEN 4500 THEN 4000 ELSE n END FROM generate_series(1, 5000) AS n) TO '$dir/twice'"
);
like(
	error_of($node, "COPY once (nr) FROM '$dir/twice'"),
	qr/23505: .*^CONTEXT:  COPY once, line 4500\n/ms,
	'... and one that is there already');
is(sql('SELECT (SELECT count(*) FROM options), (SELECT count(*) FROM once)'),
	"$rows|0", '... and nothing comes in');
sql("COPY once $load");
is(sql('SELECT count(DISTINCT id) FROM once'), '5000', '... until all rows are right');

# triggers and partitions ----------------------------------------------------------------------------------------------

sql(<<'SQL');
CREATE TABLE log (what text, id bigint);
CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (TG_ARGV[0], NEW.id); RETURN NEW; END $$;
CREATE FUNCTION log_rows() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log SELECT 'statement', id FROM added; RETURN NULL; END $$;
CREATE TABLE watched (id bigint DEFAULT flake_next(), nr integer);
CREATE TRIGGER late AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION log_row('after');
CREATE TRIGGER whole AFTER INSERT ON watched REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION log_rows();
SQL
is(records('postgres', 'watched', "COPY watched $load"), 'many at once',
	'triggers that come after');
sql('CREATE TRIGGER early BEFORE INSERT ON watched FOR EACH ROW WHEN (flake_next() > 0) EXECUTE FUNCTION log_row(before)'
);
is( records('postgres', 'watched', "COPY watched $load"),
	'one by one: 5000',
	'... and one that comes before');
is( sql('SELECT what, count(DISTINCT id), count(*), bool_and(id IN (SELECT id FROM watched)) FROM log GROUP BY what ORDER BY what'
	),
	"after|10000|10000|t\nbefore|5000|5000|t\nstatement|10000|10000|t",
	'... see the IDs of the rows');

sql(<<'SQL');
CREATE TABLE parts (id bigint DEFAULT flake_next(), nr integer) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE part_2 (nr integer, id bigint DEFAULT slow_next());
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
SQL
is(records('postgres', 'part_0 part_1 part_2', "COPY parts $load"),
	'many at once', 'partitions by the ID itself');
sql('CREATE TRIGGER early BEFORE INSERT ON part_1 FOR EACH ROW EXECUTE FUNCTION log_row(part)');
is(records('postgres', 'part_0 part_1 part_2', "COPY parts $load"),
	'both', '... one of which has a trigger that comes before');
is(sql('SELECT count(*), count(DISTINCT id) FROM parts'), '10000|10000', '... an ID for each row');
sql(<<'SQL');
SELECT format('CREATE TABLE times (id sno DEFAULT sno_next(), nr integer) PARTITION BY RANGE (id);
	CREATE TABLE earlier PARTITION OF times FOR VALUES FROM (MINVALUE) TO (%1$L);
	CREATE TABLE later PARTITION OF times FOR VALUES FROM (%1$L) TO (MAXVALUE)', sno_min(now() - interval '1 day')) \gexec
SQL
is(records('postgres', 'earlier later', "COPY times $load"),
	'many at once', 'partitions by the time in the ID');
is(sql('SELECT count(*), count(DISTINCT id) FROM later'), '5000|5000', '... an ID for each row');

# foreign tables -------------------------------------------------------------------------------------------------------

my $installed = sql(
	"SELECT string_agg(name, ' ') FROM pg_available_extensions WHERE name IN ('file_fdw', 'postgres_fdw')"
);
SKIP:
{
	skip "this $version has no postgres_fdw", 6 unless $installed =~ /postgres_fdw/;
	my ($host, $port) = ($node->host, $node->port);
	sql(<<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER self;
CREATE TABLE there (id sno PRIMARY KEY, nr integer);
CREATE FOREIGN TABLE alone (id sno DEFAULT sno_next(), nr integer) SERVER self OPTIONS (table_name 'there');
CREATE FOREIGN TABLE batches (id sno DEFAULT sno_next(), nr integer) SERVER self OPTIONS (table_name 'there', batch_size '100');
CREATE TABLE mixed (id sno DEFAULT sno_next(), nr integer) PARTITION BY RANGE (nr);
CREATE FOREIGN TABLE mixed_there PARTITION OF mixed FOR VALUES FROM (1) TO (1001) SERVER self OPTIONS (table_name 'there', batch_size '100');
CREATE TABLE mixed_here PARTITION OF mixed FOR VALUES FROM (1001) TO (5001);
CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO public.log VALUES ('there'); RETURN NULL; END \$\$;
CREATE TRIGGER statements AFTER INSERT ON there FOR EACH STATEMENT EXECUTE FUNCTION count_statement();
SQL
	for (
		[ 'alone', 5000, 5000 ],
		[ 'batches', $version < 16 ? 5000 : 50, 10000 ],
		[ 'mixed', $version < 16   ? 1000 : 10, 11000 ])
	{
		my ($table, $statements, $total) = @$_;
		sql("DELETE FROM log; COPY $table $load");
		is(sql(q{SELECT count(*) FROM log WHERE what = 'there'}),
			$statements, "foreign table $table: $statements statements");
		is(sql('SELECT count(*), count(DISTINCT id) FROM there'),
			"$total|$total", '... an ID for each row');
	}
}
SKIP:
{
	skip "this $version has no file_fdw", 1 unless $installed =~ /file_fdw/;
	skip "file_fdw of PostgreSQL $version has no DEFAULT", 1 if $version < 16;
	sql(<<"SQL");
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE lines (nr integer, id sno DEFAULT sno_next()) SERVER files OPTIONS (filename '$dir/marked', "default" 'new');
SQL
	is(sql('SELECT count(*), count(DISTINCT id) FROM lines'),
		'5000|5000', 'file_fdw, which reads as COPY does: an ID for each row');
}

# everything else that is planned without a query ------------------------------------------------------------------------

# Says yes, and keeps the ID that it is given.
sql("CREATE FUNCTION noted(id bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (\$\$noted\$\$, id); RETURN true; END'"
);
my $noted = q{SELECT count(*), count(DISTINCT id) FROM log WHERE what = 'noted'};
for (
	[
		'a CHECK',
		'CREATE TABLE checked (nr integer CHECK (noted(flake_next())))',
		"COPY checked $load; INSERT INTO checked SELECT generate_series(1, 100)", 5100
	],
	[ '... that is added', '', 'ALTER TABLE checked ADD CHECK (noted(-flake_next()))', 5100 ],
	[
		'a domain',
		'CREATE DOMAIN noting AS integer CHECK (noted(flake_next())); CREATE TABLE domains (nr noting)',
		"COPY domains $load; INSERT INTO domains SELECT generate_series(1, 100); PREPARE p AS SELECT nr::noting FROM checked; EXECUTE p",
		10200
	],
	[
		'... whose CHECK is added',
		'CREATE DOMAIN later_noting AS integer; CREATE TABLE laters (nr later_noting); INSERT INTO laters SELECT generate_series(1, 1000)',
		'ALTER DOMAIN later_noting ADD CHECK (noted(flake_next()))',
		1000
	],
	[
		'the condition of a trigger',
		'CREATE TABLE triggered (id bigint, nr integer); CREATE TRIGGER t AFTER INSERT ON triggered FOR EACH ROW WHEN (noted(flake_next())) EXECUTE FUNCTION log_row(fired)',
		"COPY triggered $load; INSERT INTO triggered SELECT generate_series(1, 100)",
		5100
	],
	[
		'an argument of EXECUTE',
		'CREATE TABLE arguments (id bigint)',
		'PREPARE n(bigint, bigint) AS SELECT noted($1), noted($1 + 0 * $2), noted($2) FROM generate_series(1, 1); EXECUTE n(flake_next(), flake_next()); EXECUTE n(flake_next(), flake_next())',
		6,
		4
	],
	[
		'an argument of CALL',
		'CREATE PROCEDURE note(a bigint, b bigint) LANGUAGE plpgsql AS $$ BEGIN PERFORM noted(a), noted(b); END $$',
		'CALL note(flake_next(), flake_next()); CALL note(flake_next(), flake_next())',
		4
	])
{
	my ($what, $before, $then, $calls, $ids) = @$_;
	sql("$before; DELETE FROM log");
	sql($then);
	is(sql($noted), "$calls|@{[ $ids // $calls ]}", "$what: an ID for each evaluation");
}
for (
	[ 'a new column', 'ALTER TABLE numbered ADD COLUMN id_1 bigint DEFAULT flake_next()', 'id_1' ],
	[
		'several',
		'ALTER TABLE numbered ADD COLUMN id_2 sno DEFAULT sno_next(), ADD COLUMN id_3 guid NOT NULL DEFAULT guid_next()',
		'id_2, id_3'
	],
	[
		'one of a domain',
		'ALTER TABLE numbered ADD COLUMN id_4 positive DEFAULT flake_next()', 'id_4'
	],
	[
		'one by an SQL function',
		'ALTER TABLE numbered ADD COLUMN id_5 bigint DEFAULT own_next()', 'id_5'
	],
	[
		'a column that changes its type',
		'ALTER TABLE numbered ALTER COLUMN nr TYPE bigint USING flake_next()', 'nr'
	])
{
	my ($what, $alter, $ids) = @$_;
	sql('CREATE TABLE IF NOT EXISTS numbered AS SELECT generate_series(1, 1000) AS nr');
	sql($alter);
	is( sql(    "SELECT count(*), "
			  . join(', ', map { "count(DISTINCT $_)" } split /, /, $ids)
			  . ' FROM numbered'),
		'1000' . '|1000' x (1 + ($ids =~ tr/,//)),
		"ALTER TABLE, $what: an ID for each row");
}
sql('CREATE TABLE bounds (id bigint) PARTITION BY RANGE (id); CREATE TABLE bounds_1 PARTITION OF bounds FOR VALUES FROM (MINVALUE) TO (flake_next());'
	  . ' CREATE TABLE bounds_2 PARTITION OF bounds FOR VALUES FROM (flake_next()) TO (MAXVALUE)');
like(
	sql(q{SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = 'bounds_2'}),
	qr/^FOR VALUES FROM \('\d+'\) TO \(MAXVALUE\)$/,
	'the bound of a partition is an ID');
for (
	[
		'an index',
		'CREATE INDEX ON options ((flake_next()))',
		qr/42P17: functions in index expression must be marked IMMUTABLE/
	],
	[
		'the condition of an index',
		'CREATE INDEX ON options (nr) WHERE flake_next() > 0',
		qr/42P17: functions in index predicate must be marked IMMUTABLE/
	],
	[
		'a generated column',
		'CREATE TABLE generated (nr integer, id bigint GENERATED ALWAYS AS (flake_next()) STORED)',
		qr/42P17: generation expression is not immutable/
	],
	[
		'the key of a partitioned table',
		'CREATE TABLE keyed (nr integer) PARTITION BY RANGE ((nr + flake_next()))',
		qr/42P17: functions in partition key expression must be marked IMMUTABLE/
	])
{
	my ($what, $statement, $error) = @$_;
	like(error_of($node, $statement), $error, "$what cannot have a volatile function");
}
is(sql("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'flakes'::regclass"),
	'flake_next()', 'a default is stored as it was written');
is( sql(q{SELECT refobjid::regprocedure FROM pg_depend WHERE classid = 'pg_attrdef'::regclass AND objid = (SELECT oid FROM pg_attrdef WHERE adrelid = 'flakes'::regclass) AND refclassid = 'pg_proc'::regclass}
	),
	'flake_next()',
	'... and depends on the function that it names');
is( sql(q{SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_proc'::regclass AND refobjid IN (SELECT oid FROM pg_proc WHERE proname LIKE '%\_next\_for\_copy') AND deptype <> 'e'}
	),
	'0',
	'no default depends on flake_next_for_copy');

# Rows that go through a query, and a policy.
is( sql(
		<<'SQL'), "100|100\n100|100\n100|100\n100|100", 'INSERT, CREATE TABLE AS, generic plans and UPDATE: an ID for each row');
SET plan_cache_mode = force_generic_plan;
CREATE TABLE plain (id bigint DEFAULT flake_next(), nr integer);
PREPARE insert_rows(integer) AS INSERT INTO plain (nr) SELECT generate_series(1, $1);
EXECUTE insert_rows(50); EXECUTE insert_rows(50);
SELECT count(*), count(DISTINCT id) FROM plain;
CREATE TABLE made_as AS SELECT nr, flake_next() AS id FROM plain;
SELECT count(*), count(DISTINCT id) FROM made_as;
PREPARE many AS SELECT count(*), count(DISTINCT id) FROM (SELECT flake_next() AS id FROM plain OFFSET 0) AS made;
EXECUTE many;
UPDATE plain SET id = DEFAULT;
SELECT count(*), count(DISTINCT id) FROM plain;
SQL
sql(<<"SQL");
CREATE ROLE loader LOGIN;
GRANT INSERT, SELECT ON plain, flakes, log TO loader;
GRANT INSERT ON log TO loader;
GRANT pg_read_server_files TO loader;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY noting ON plain FOR INSERT TO loader WITH CHECK (noted(flake_next()));
DELETE FROM log;
SET ROLE loader;
INSERT INTO plain (nr) SELECT generate_series(1, 100);
SQL
is(sql($noted), '100|100', 'a policy: an ID for each row');

# Compiled expressions.
SKIP:
{
	skip "this $version cannot compile", 1
	  unless sql('SET jit = on; SELECT pg_jit_available()') eq 't';
	sql('DELETE FROM log; TRUNCATE checked; ALTER FUNCTION noted SET jit = off; SET jit = on; SET jit_above_cost = 0; SET jit_optimize_above_cost = 0; SET jit_inline_above_cost = 0;'
		  . ' INSERT INTO checked SELECT generate_series(1, 100); INSERT INTO domains SELECT generate_series(1, 100)'
	);
	is(sql($noted), '300|300', 'compiled: an ID for each evaluation');
}

# What 0.7.0 changed: before, a CHECK saw the rows of its own COPY.
sql(<<'SQL');
CREATE TABLE self (id bigint DEFAULT flake_next(), nr integer);
CREATE FUNCTION is_next(nr integer) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN nr = 1 OR EXISTS (SELECT FROM self WHERE self.nr = is_next.nr - 1); END';
ALTER TABLE self ADD CHECK (is_next(nr));
INSERT INTO self (nr) SELECT generate_series(1, 10);
SQL
like(
	error_of($node, "TRUNCATE self; COPY self $load"),
	qr/23514: .*COPY self, line 2: "2"/s,
	'a CHECK that queries its own table does not see the rows of the same COPY');

# privileges -----------------------------------------------------------------------------------------------------------

my $denied = qr/42501: permission denied for function flake_next$/m;
my $as_loader = "SET ROLE loader; COPY flakes $load";
is(records('postgres', 'flakes', $as_loader), 'many at once',
	'a user who may execute the function');
sql('REVOKE EXECUTE ON FUNCTION flake_next_for_copy(internal) FROM PUBLIC');
is( records('postgres', 'flakes', $as_loader),
	'one by one: 5000',
	'a user who may not execute flake_next_for_copy gets the rows one by one');
sql('GRANT EXECUTE ON FUNCTION flake_next_for_copy(internal) TO PUBLIC; REVOKE EXECUTE ON FUNCTION flake_next() FROM PUBLIC'
);
like(error_of($node, $as_loader), $denied, '... and one who may not');
like(error_of($node, 'SET ROLE loader; INSERT INTO flakes (nr) VALUES (1)'),
	$denied, '... neither by INSERT');
is(records('postgres', 'flakes', "COPY flakes $load"), 'many at once', 'the owner may');
# A session plans the CHECK of a domain once.
my $session = session($node);
$session->query_safe('SELECT 1::noting');
like(error_in($session, 'SET ROLE loader; SELECT 1::noting'),
	$denied, "the CHECK of a domain, planned as another user: also refused");
$session->quit;
sql('GRANT EXECUTE ON FUNCTION flake_next() TO loader');
is(records('postgres', 'flakes', $as_loader), 'many at once', '... until the user may');

for my $change ('SECURITY DEFINER', 'SET work_mem = 4096') {
	is( records(
			'postgres', 'flakes',
			"BEGIN; ALTER FUNCTION flake_next() $change; COPY flakes $load; ROLLBACK"),
		'one by one: 5000',
		"a function with $change stays as it is");
}
is( records(
		'postgres',
		'flakes',
		"BEGIN; ALTER FUNCTION flake_next_for_copy(internal) SECURITY DEFINER; COPY flakes $load; ROLLBACK"
	),
	'one by one: 5000',
	'a function stays as it is if its X_next_for_copy is another function');

# schemas and versions -------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', "CREATE DATABASE $_") for 'elsewhere', 'older', 'copied';
$node->safe_psql('elsewhere',
	'CREATE SCHEMA ids; CREATE EXTENSION flakeid SCHEMA ids; CREATE TABLE t (id bigint DEFAULT ids.flake_next(), nr integer)'
);
is(records('elsewhere', 't', "COPY t $load"), 'many at once', 'the extension in another schema');
is(records('elsewhere', 't', "ALTER EXTENSION flakeid SET SCHEMA public; COPY t $load"),
	'many at once', '... and moved');
$node->safe_psql('older',
	q{CREATE EXTENSION flakeid VERSION '0.6.1'; CREATE TABLE t (id bigint DEFAULT flake_next(), nr integer)}
);
is(records('older', 't', "COPY t $load"), 'one by one: 5000', 'SQL of an older version');
is(records('older', 't', "ALTER EXTENSION flakeid UPDATE; COPY t $load"),
	'many at once', '... and updated');
is($node->safe_psql('older', 'SELECT count(*), count(DISTINCT id) FROM t'),
	'10000|10000', '... an ID for each row');

# logical replication --------------------------------------------------------------------------------------------------

# The publisher lacks the columns.
$node->safe_psql('copied',
	"CREATE EXTENSION flakeid; CREATE TABLE published (nr integer PRIMARY KEY, $columns)");
sql('CREATE TABLE published (nr integer PRIMARY KEY); INSERT INTO published SELECT generate_series(1, 5000); CREATE PUBLICATION numbers FOR TABLE published'
);
sql(q{SELECT pg_create_logical_replication_slot('copied', 'pgoutput')});
my $begin = sql('SELECT pg_current_wal_insert_lsn()');
$node->safe_psql('copied',
	"CREATE SUBSCRIPTION copied CONNECTION '@{[ $node->connstr ]} dbname=postgres' PUBLICATION numbers WITH (create_slot = false, slot_name = 'copied')"
);
$node->wait_for_subscription_sync($node, 'copied', 'copied');
is(records_since($begin, 'copied', 'published'),
	'many at once', 'the initial copy of logical replication');
sql('INSERT INTO published SELECT generate_series(5001, 5100)');
$node->wait_for_catchup('copied');
is($node->safe_psql('copied', "$distinct published"),
	'40800|5100', 'each row that follows the initial copy has an ID of its own');
$node->safe_psql('copied', 'DROP SUBSCRIPTION copied');

$node->stop;
done_testing();
