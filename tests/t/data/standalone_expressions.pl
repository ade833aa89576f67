# PostgreSQL plans CHECKs, conditions of triggers, new columns and more expressions without a query
# (src/copy_from/mod.rs lists them). Each evaluation of X_next() in them gives an ID of its own.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Server;
use Test::More;

my $node = copy_server('standalone_expressions');
my $load = "(nr) FROM '" . $node->basedir . "/numbers'";
sub sql { return $node->safe_psql('postgres', @_) }

sql(<<~'SQL');
	CREATE TABLE log (what text, id bigint);
	-- Returns true, and keeps the ID.
	CREATE FUNCTION noted(id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO log VALUES ('noted', id); RETURN true; END $$;
	CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO log VALUES (TG_ARGV[0], NEW.id); RETURN NEW; END $$;
	CREATE FUNCTION own_next() RETURNS bigint LANGUAGE sql AS 'SELECT flake_next()';
	CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
	CREATE TABLE flakes (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer);
	SQL
my $noted = "SELECT count(*), count(DISTINCT id) FROM log WHERE what = 'noted'";
my $series = 'SELECT generate_series(1, 100)';
for (
	[
		'a CHECK',
		'CREATE TABLE checked (nr integer CHECK (noted(flake_next())))',
		"COPY checked $load; INSERT INTO checked $series", '5100|5100'
	],
	[
		'a CHECK that is added', '',
		'ALTER TABLE checked ADD CHECK (noted(-flake_next()))', '5100|5100'
	],
	[
		'the CHECK of a domain',
		'CREATE DOMAIN noting AS integer CHECK (noted(flake_next()));'
		  . 'CREATE TABLE domains (nr noting)',
		"COPY domains $load; INSERT INTO domains $series;"
		  . 'PREPARE p AS SELECT nr::noting FROM checked; EXECUTE p',
		'10200|10200'
	],
	[
		'a CHECK that is added to a domain',
		'CREATE DOMAIN later AS integer; CREATE TABLE laters (nr later);'
		  . 'INSERT INTO laters SELECT generate_series(1, 1000)',
		'ALTER DOMAIN later ADD CHECK (noted(flake_next()))',
		'1000|1000'
	],
	[
		'the condition of a trigger',
		'CREATE TABLE triggered (id bigint, nr integer);'
		  . 'CREATE TRIGGER t AFTER INSERT ON triggered FOR EACH ROW'
		  . ' WHEN (noted(flake_next())) EXECUTE FUNCTION log_row(fired)',
		"COPY triggered $load; INSERT INTO triggered $series",
		'5100|5100'
	],
	[
		'an argument of EXECUTE',
		'',
		'PREPARE n(bigint, bigint) AS SELECT noted($1), noted($1 + 0 * $2), noted($2)'
		  . ' FROM generate_series(1, 1);'
		  . ('EXECUTE n(flake_next(), flake_next());' x 2),
		'6|4'
	],
	[
		'an argument of CALL',
		'CREATE PROCEDURE note(a bigint, b bigint) LANGUAGE plpgsql AS'
		  . ' $$ BEGIN PERFORM noted(a), noted(b); END $$',
		'CALL note(flake_next(), flake_next());' x 2,
		'4|4'
	])
{
	my ($what, $before, $then, $expected) = @$_;
	sql("$before; DELETE FROM log");
	sql($then);
	is(sql($noted), $expected, "$what: each evaluation gives an ID of its own");
}
SKIP:
{
	skip 'this server cannot compile', 1
	  unless sql('SET jit = on; SELECT pg_jit_available()') eq 't';
	sql(<<~"SQL");
		DELETE FROM log;
		TRUNCATE checked;
		ALTER FUNCTION noted SET jit = off;
		SET jit = on;
		SET jit_above_cost = 0;
		SET jit_optimize_above_cost = 0;
		SET jit_inline_above_cost = 0;
		INSERT INTO checked $series;
		INSERT INTO domains $series;
		SQL
	is(sql($noted), '300|300', 'a compiled expression: each evaluation gives an ID of its own');
}

sql('CREATE TABLE numbered AS SELECT generate_series(1, 1000) AS nr');
for (
	[ 'a new column', 'ADD COLUMN id_1 bigint DEFAULT flake_next()', 'id_1' ],
	[
		'new columns',
		'ADD COLUMN id_2 sno DEFAULT sno_next(), ADD COLUMN id_3 guid NOT NULL DEFAULT guid_next()',
		'id_2',
		'id_3'
	],
	[ 'a new column of a domain', 'ADD COLUMN id_4 positive DEFAULT flake_next()', 'id_4' ],
	[ 'a new column with an SQL function', 'ADD COLUMN id_5 bigint DEFAULT own_next()', 'id_5' ],
	[ 'a column that changes its type', 'ALTER COLUMN nr TYPE bigint USING flake_next()', 'nr' ])
{
	my ($what, $alter, @columns) = @$_;
	sql("ALTER TABLE numbered $alter");
	is( distinct_ids($node, 'numbered', @columns),
		'1000' . '|1000' x @columns,
		"ALTER TABLE gives each row an ID in $what");
}
sql(<<~'SQL');
	CREATE TABLE bounds (id bigint) PARTITION BY RANGE (id);
	CREATE TABLE bounds_1 PARTITION OF bounds FOR VALUES FROM (MINVALUE) TO (flake_next());
	CREATE TABLE bounds_2 PARTITION OF bounds FOR VALUES FROM (flake_next()) TO (MAXVALUE);
	SQL
like(
	sql("SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = 'bounds_2'"),
	qr/^FOR VALUES FROM \('\d+'\) TO \(MAXVALUE\)$/,
	'the bound of a partition is stored as an ID');

sql(<<~"SQL");
	CREATE ROLE loader;
	CREATE TABLE plain (id bigint DEFAULT flake_next(), nr integer);
	GRANT INSERT, SELECT ON plain, log TO loader;
	ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
	CREATE POLICY noting ON plain FOR INSERT TO loader WITH CHECK (noted(flake_next()));
	DELETE FROM log;
	SET ROLE loader;
	INSERT INTO plain (nr) $series;
	SQL
is(sql($noted), '100|100', 'a policy: each row gets an ID of its own');

for (
	[ 'an index', 'CREATE INDEX ON flakes ((flake_next()))', 'index expression' ],
	[
		'the condition of an index',
		'CREATE INDEX ON flakes (nr) WHERE flake_next() > 0',
		'index predicate'
	],
	[
		'a generated column',
		'CREATE TABLE g (nr integer, id bigint GENERATED ALWAYS AS (flake_next()) STORED)'
	],
	[
		'the key of a partitioned table',
		'CREATE TABLE keyed (nr integer) PARTITION BY RANGE ((nr + flake_next()))',
		'partition key expression'
	])
{
	my ($what, $statement, $expression) = @$_;
	my $error =
	  $expression
	  ? "functions in $expression must be marked IMMUTABLE"
	  : 'generation expression is not immutable';
	like(error_of($node, $statement), qr/42P17: $error/, "$what cannot have a volatile function");
}

$node->stop;
done_testing();
