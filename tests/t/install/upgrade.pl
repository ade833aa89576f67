# From every released version ALTER EXTENSION UPDATE leads to what a fresh install of this one has,
# object by object. Tables continue. Views on operators that the update replaces stay, and so does
# what users have built on the casts of 0.7.0, which 1.0.0 replaces: those to and from text are
# PostgreSQL's own, and others become assignment casts.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
# Without the line, a database with the SQL of 0.6 has no flakes.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2010-01-01'\n");
$node->start;

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION flakeid');
my $version =
  $node->safe_psql('fresh', "SELECT extversion FROM pg_extension WHERE extname = 'flakeid'");
my $expected = Installation::objects_in($node, 'fresh');
like(
	$expected,
	qr/^operator class sno_ops for access method btree\|/m,
	'the list holds the objects');
like($expected, qr/^view pg_stat_flakeid\|.*pg_monitor=r/ms, 'the list holds their privileges');

my @released = split /\n/, $node->safe_psql('fresh', <<"SQL");
SELECT source FROM pg_extension_update_paths('flakeid')
WHERE target = '$version' AND path IS NOT NULL ORDER BY source
SQL
is("@released", '0.6.0 0.6.1 0.7.0', 'an update leads here from the oldest version on');

for my $from (@released) {
	my $database = "from_$from" =~ tr/./_/r;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, <<"SQL");
CREATE EXTENSION flakeid VERSION '$from';
CREATE TABLE made (
	id bigint DEFAULT flake_next() PRIMARY KEY, event sno DEFAULT sno_next(1) UNIQUE);
INSERT INTO made SELECT FROM generate_series(1, 1000);
ALTER EXTENSION flakeid UPDATE;
INSERT INTO made SELECT FROM generate_series(1, 1000);
SQL
	is(Installation::objects_in($node, $database),
		$expected, "$from becomes what a fresh $version is");
	is($node->safe_psql($database, 'SELECT count(*) FROM made'),
		'2000', "$from: the defaults of tables continue");
}

# An object of a user depends on an operator that the update replaces: the operator stays, until the
# user replaces it as docs/troubleshooting.md says.
$node->safe_psql('postgres', 'CREATE DATABASE depending');
my $january = '[2026-01-01 00:00+00,2026-02-01 00:00+00)';
$node->safe_psql('depending', <<"SQL");
CREATE EXTENSION flakeid VERSION '0.7.0';
CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_next(), during tstzrange);
INSERT INTO events SELECT sno_at('2026-01-05 12:00+00'), '$january';
CREATE VIEW of_january AS SELECT * FROM events WHERE id <@ tstzrange '$january';
CREATE VIEW during_it AS SELECT * FROM events WHERE during @> id;
SQL
my ($code, $out, $warnings) = $node->psql('depending', 'ALTER EXTENSION flakeid UPDATE');
is($code, 0, 'a database with views on the former operators is updated');
like(
	$warnings,
	qr/WARNING:  the operators of sno and tstzrange stay, since an object depends on one\n/,
	'the update warns of the operators that stay');
is(() = $warnings =~ /WARNING/g, 1, 'the update drops the operators of the other ID types');
my $rows = 'SELECT count(*) FROM of_january; SELECT count(*) FROM during_it';
is($node->safe_psql('depending', $rows), "1\n1", 'the views have their rows');
my $ambiguous =
  q{SELECT count(*) FROM events WHERE during @> '[2026-01-05 00:00+00,2026-01-06 00:00+00)'};
like(
	($node->psql('depending', $ambiguous))[2],
	qr/invalid input syntax for type sno: "\[2026-01-05/,
	'a literal beside a range is read as a sno up to then');
$node->safe_psql('depending', <<'SQL');
CREATE TEMP TABLE texts AS SELECT relname, pg_get_viewdef(oid) AS definition FROM pg_class
WHERE relname IN ('of_january', 'during_it');
DROP VIEW of_january, during_it;
ALTER EXTENSION flakeid DROP OPERATOR <@ (sno, tstzrange);
ALTER EXTENSION flakeid DROP OPERATOR @> (tstzrange, sno);
DROP OPERATOR <@ (sno, tstzrange), @> (tstzrange, sno);
SELECT format('CREATE VIEW %I AS %s', relname, definition) FROM texts \gexec
SQL
is($node->safe_psql('depending', "$rows; $ambiguous"),
	"1\n1\n1", 'with the new operators the views have their rows, and the literal is a range');

# casts ------------------------------------------------------------------------------------------

# Views, indexes, generated columns, constraints and functions outlive the update and a dump.
$node->safe_psql('postgres', 'CREATE DATABASE casts');
$node->safe_psql('postgres', 'ALTER DATABASE casts SET enable_seqscan = off');
sub sql { return $node->safe_psql('casts', $_[0]); }

sql(<<"SQL");
CREATE EXTENSION flakeid VERSION '0.7.0';
CREATE TABLE kept (
	id sno PRIMARY KEY, key flake128, place guid,
	words text GENERATED ALWAYS AS (id::text) STORED,
	bytes bytea GENERATED ALWAYS AS (id::bytea) STORED,
	CHECK (words::sno = id AND bytes::sno = id)
);
INSERT INTO kept SELECT sno_encode('2026-11-01', 0, 0, 0, nr), nr::numeric::flake128,
	guid_encode('2026-11-01', 0, nr)
FROM generate_series(1, 100) AS nr;
CREATE INDEX by_number ON kept ((key::numeric));
CREATE INDEX by_uuid ON kept ((key::uuid), (place::guid_local));
CREATE VIEW shown AS
	SELECT id::text AS word, id::varchar(4) AS start, words::sno AS id, id::uuid AS uuid,
		key::bytea AS bytes, key::numeric AS number, id::uuid::sno = id AS same,
		(key::numeric)::flake128 AS again, place::guid_local::text AS place
	FROM kept WHERE words::sno IS NOT NULL;
CREATE FUNCTION word_of(id sno) RETURNS text LANGUAGE sql IMMUTABLE RETURN id::text;
CREATE FUNCTION id_of(word text) RETURNS sno LANGUAGE plpgsql IMMUTABLE
	AS \$\$BEGIN RETURN word::sno; END\$\$;
SQL
my $shown = 'SELECT row_to_json(v) FROM shown AS v ORDER BY word;'
  . ' SELECT word_of(id), id_of(words) FROM kept ORDER BY id';
my $before = sql($shown);
is(scalar(() = $before =~ /\n/g), 199, 'with 0.7.0 views and functions show a hundred rows each');

sql('ALTER EXTENSION flakeid UPDATE');
is(sql($shown), $before, 'after the update they show the same');
sql(<<'SQL');
INSERT INTO kept SELECT sno_encode('2026-11-02', 0, 0, 0, nr), (nr + 100)::numeric::flake128
FROM generate_series(1, 100) AS nr;
REINDEX TABLE kept;
SQL
is(sql('SELECT count(*) FROM shown WHERE number = 150'), '1', 'a view finds a new row');
like(sql('EXPLAIN SELECT FROM kept WHERE key::numeric = 150'),
	qr/ by_number/, 'an index on a cast is used');
like(sql(q(EXPLAIN SELECT FROM kept WHERE key::uuid = '00000000-0000-0000-0000-000000000096')),
	qr/ by_uuid/, 'so is one on another cast');
is(sql(<<'SQL'), '200', 'an ID is assigned to a text and to a uuid now');
CREATE TABLE audit (word text, uuid uuid);
INSERT INTO audit SELECT id, key FROM kept;
SELECT count(*) FROM audit, kept WHERE word = id::text;
SQL

# pg_dump writes views as they are read back here.
my $definitions = q(SELECT pg_get_viewdef('shown'), pg_get_indexdef('by_number'::regclass),)
  . q( pg_get_indexdef('by_uuid'::regclass));
my $dumped = sql($definitions);
$node->command_ok([ 'pg_dump', '-f', "@{[ $node->basedir ]}/dump.sql", $node->connstr('casts') ],
	'the database is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-d', $node->connstr('restored'), '-f', "@{[ $node->basedir ]}/dump.sql"
	],
	'the dump is restored');
is($node->safe_psql('restored', $shown),
	sql($shown), 'the restored views and functions show the same rows');
is($node->safe_psql('restored', $definitions),
	$dumped, 'the restored views and indexes have the same definitions');

$node->stop;
done_testing();
