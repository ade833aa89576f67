# 1.0.0 replaces casts: those to and from text are PostgreSQL's own, and others become assignment
# casts. What users have built on the casts of 0.7.0 outlives the update and a dump: views, indexes,
# generated columns, constraints and functions.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('casts',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nenable_seqscan = off\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

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
$node->command_ok([ 'pg_dump', '-f', "@{[ $node->basedir ]}/dump.sql", $node->connstr('postgres') ],
	'the database is dumped');
sql('CREATE DATABASE restored');
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
