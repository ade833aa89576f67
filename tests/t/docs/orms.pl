# What docs/orm.md says of ORMs and drivers, tried with those of tests/clients: how many INSERTs
# many objects take, whether their keys are right, what a migration tool sees, and what COPY needs.
use strict;
use warnings;
use lib 'tests/perl';
use Clients;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($python, $modules) = (python(), node_modules());
if (!$python || !$modules || !in_path('node')) {
	fail("ORMs can't be tried: what they need is missing; run scripts/setup 15 tests");
	done_testing();
	exit;
}

my $node = PostgreSQL::Test::Cluster->new('orms');
# Without an encoding text is bytes to Python.
$node->init(extra => ['--encoding=UTF8']);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;

# The lines that a program prints, by the words before the colon.
sub lines_of {
	my ($database, %run) = @_;
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGUSER => scalar getpwuid($<),
		PGDATABASE => $database,
		%{ $run{env} // {} });
	my ($output, $complaints) = run_command($run{command});
	is("$?$complaints", '0', "$run{name} runs");
	return { $output =~ /^([^:\n]+): (.*)$/mg };
}

sub database {
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION flakeid');
	return $name;
}

sub claims {
	my ($found, $claims) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	while ($claims =~ /^(.+) => (.*)\n\t(.*)$/mg) {
		is($found->{$1}, $2, $3);
	}
	return;
}

claims(
	lines_of(
		database('sqlalchemy'),
		name => 'SQLAlchemy',
		command => [ $python, 'tests/clients/sqlalchemy_claims.py' ]),
	<<'END');
with_identity => 1 INSERT, keys right
	SQLAlchemy inserts 1,000 objects with an identity column by one INSERT
with_default => 1000 INSERT, keys right
	SQLAlchemy inserts those with flake_next() as a default one by one
with_monotonic => 1 INSERT, keys right
	SQLAlchemy inserts those with flake_next(monotonic=True) by one INSERT
with_bigint => 1 INSERT, keys right
	SQLAlchemy does so with a bigint column, too
with_uuid => 1 INSERT, keys right
	SQLAlchemy does so with uuidv7_next(monotonic=True)
with_batch => 1 INSERT, keys right
	SQLAlchemy does so with IDs that were fetched before the flush
with_sno => 1 INSERT, keys right
	SQLAlchemy does so with snos that were fetched before the flush
differences before => 3
	Alembic sees that columns are of type bigint and not flake
differences after => 0
	Alembic sees no difference after they have become flakes
reflected => Flake Sno
	SQLAlchemy reflects both types once they are registered
reflected without => NullType NullType 2
	SQLAlchemy reflects a NullType before, and warns
END

my $shop = database('django');
my %django = (
	env => {
		PYTHONPATH => 'tests/clients',
		PYTHONDONTWRITEBYTECODE => 1,
		DJANGO_SETTINGS_MODULE => 'shop.settings'
	});
my @manage = ($python, '-m', 'django');
lines_of(
	$shop, %django,
	name => 'the first migration',
	command => [ @manage, 'migrate', '--verbosity=0', 'shop', '0001' ]);
$node->safe_psql($shop,
		"INSERT INTO shop_order (item) VALUES ('old');"
	  . ' INSERT INTO shop_line (order_id) SELECT id FROM shop_order');
my $files = <<'SQL';
SELECT string_agg(relname || relfilenode, ' ' ORDER BY relname) FROM pg_class
WHERE relname ~ '^shop_(order|line)' AND relkind <> 'S'
SQL
my $before = $node->safe_psql($shop, $files);
lines_of(
	$shop, %django,
	name => 'the migration of the page',
	command => [ @manage, 'migrate', '--verbosity=0' ]);
is($node->safe_psql($shop, $files),
	$before, 'the migration of keys and foreign keys to flake rewrites no table and no index');
is($node->safe_psql($shop, 'SELECT item FROM shop_line JOIN shop_order o ON o.id = order_id'),
	'old', 'the migration keeps rows and references');
lines_of(
	$shop, %django,
	name => 'makemigrations, which finds nothing to change,',
	command => [ @manage, 'makemigrations', '--check', '--verbosity=0' ]);
claims(
	lines_of(
		$shop, %django,
		name => 'Django',
		command => [ $python, 'tests/clients/shop/claims.py' ]),
	<<'END');
Order => 1 INSERT, keys right
	bulk_create inserts 1,000 objects with a FlakeField by one INSERT, and they have their keys
Number => 1 INSERT, keys right
	bulk_create does so with a BigFlakeField
Cart => 1 INSERT, keys right
	bulk_create does so with UUIDs that were fetched before
Default => 1 INSERT, keys placeholders
	bulk_create of Django 5.2 leaves placeholders as the keys of a db_default
json => True
	Django's serializer writes a flake as a string
found => 1 1 True True
	Django finds a flake by string and number, as a foreign key, and in bulk
no number => ValueError
	a key that is no number does not reach the server
AlterField => identity column type must be smallint, integer, or bigint
	Django's AlterField does not make a flake of an identity column
END

claims(
	lines_of(
		database('drivers'),
		name => 'psycopg and asyncpg',
		command => [ $python, 'tests/clients/drivers_claims.py' ]),
	<<'END');
psycopg, text and binary => str bytes
	psycopg returns a flake as str, in binary results as bytes
psycopg, parameters => 1 1 1 1
	psycopg finds a flake by str and int, alone and in a list
psycopg, COPY of a small ID => ProtocolViolation NoneType
	psycopg copies a small ID in binary only as int8
psycopg, COPY as flake => ProgrammingError
	psycopg has no binary form for the name flake
asyncpg, without a codec => str str DataError DataError InternalClientError
	asyncpg without a codec returns str, compares int, and inserts and copies no int
asyncpg, with a codec => int int DataError int str
	asyncpg with the codec of int8 has int everywhere
END

claims(
	lines_of(
		database('node'),
		name => 'node-postgres',
		env => { NODE_PATH => $modules },
		command => [ 'node', 'tests/clients/node_claims.js' ]),
	<<'END');
columns => string string
	node-postgres returns a flake as a string, as a bigint
json => string number
	a flake is a string in JSON, a bigint is a number
parameters => 1 1 1
	node-postgres finds a flake by string and BigInt, alone and in a list
time => invalid input syntax for type bigint 1
	a Date needs a cast beside a flake
array => string true
	an array of flakes is one string, and an array once it is cast to text
END

$node->stop;
done_testing();
