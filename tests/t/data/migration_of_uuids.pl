# The sections of docs/migrating.md on UUIDs, as they stand: random keys, and keys of version 7 from
# other generators, get a new default. uuidv7 keys become flakes in one transaction or by steps.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use Migration qw(until_it_waits_no_more);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($steps, $sections) = split /^(?=## Migrate from random UUIDs$)/m,
  slurp_file('docs/migrating.md');
my ($random, $times, $partitions, $others, $letters, @rest) = $sections =~ /^```sql\n(.*?)^```$/msg;
ok(defined $letters && !@rest, 'the sections on UUIDs have five blocks');

my $node = PostgreSQL::Test::Cluster->new('migration_of_uuids');
$node->init;
# The blocks give up after 300 ms, and an autovacuum of a table would hold them up.
$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'flakeid'\nclient_min_messages = warning\nautovacuum = off\n"
	  . "flakeid.epoch = '2020-01-01'\n");
$node->start;
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");

sub sql {
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql);
}

sub runs {
	my ($block, $claim, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(error_of($node, $block, $database), '', $claim);
}

# Random UUIDs -------------------------------------------------------------------------------------

runs($random, 'a table with random UUIDs gets the default of uuidv7');
is(sql(<<~'SQL'), "/new|1000|1000\n/old|1000|0", 'exactly the new rows are of version 7');
	SELECT page, count(*), count(*) FILTER (WHERE uuidv7_valid(id))
	FROM visits GROUP BY page ORDER BY page
	SQL
is(sql(<<~'SQL'), 't', 'the new rows rise in the order in which they were inserted');
	SELECT bool_and(id > previous) FROM (
		SELECT id, lag(id) OVER (ORDER BY ctid) AS previous FROM visits WHERE page = '/new'
	) AS rows WHERE previous IS NOT NULL
	SQL
is(sql(<<~'SQL'), '0', 'no condition on the time is true of an old row');
	SELECT count(*) FROM visits
	WHERE page = '/old' AND (uuidv7_before(id, 'infinity') OR uuidv7_since(id, '-infinity'))
	SQL
cmp_ok(sql(<<~'SQL'), '>', 900, 'nearly all random UUIDs sort after the new ones');
	SELECT count(*) FROM visits WHERE page = '/old'
	AND id > (SELECT id FROM visits WHERE page = '/new' ORDER BY id DESC LIMIT 1)
	SQL
runs($times, 'the statements about their times run');
$times =~ /(SELECT.*?;).*?(SELECT.*?;)/s or die 'the page has two questions';
is(sql("$1 $2"), "1000\n1000", 'the two questions find the new rows and the old ones');

# Two sessions insert rows before, during and after the move, until they are told to stop.
sql('CREATE TABLE stop (); CREATE TABLE inserted (rows integer)');
my $insert = <<~'SQL';
	DO $$
	DECLARE
		nr integer := 0;
	BEGIN
		LOOP
			INSERT INTO visits (page) VALUES ('/during');
			COMMIT;
			nr := nr + 1;
			EXIT WHEN EXISTS (SELECT FROM stop);
		END LOOP;
		INSERT INTO inserted VALUES (nr);
	END $$
	SQL
my @writers = map {
	IPC::Run::start(
		[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $insert ])
} 1 .. 2;

sub wait_for_rows {
	my ($more_than) = @_;
	my $during = "SELECT count(*) > $more_than FROM visits WHERE page = '/during'";
	return $node->poll_query_until('postgres', $during) || die 'no row is inserted';
}
wait_for_rows(10);
is(until_it_waits_no_more($node, 'postgres', $partitions),
	'', 'a partitioned table takes the rows over and gets the name of the old one');
wait_for_rows(sql("SELECT count(*) + 10 FROM visits WHERE page = '/during'"));
sql('INSERT INTO stop DEFAULT VALUES');
ok($_->finish, 'an application that inserts rows has no error') for @writers;
my $inserted = sql('SELECT sum(rows) FROM inserted');
is(sql(<<~'SQL'), "/during|$inserted|t\n/new|1000|t\n/old|1000|t", 'no row is lost');
	SELECT page, count(*), bool_and(uuidv7_valid(id)) FROM visits GROUP BY page ORDER BY page
	SQL
is(sql(<<~'SQL'), 't|1000|t', 'old rows got IDs of their own times, and new rows kept theirs');
	SELECT bool_and(uuidv7_timestamp(new_id) = date_trunc('milliseconds', b.created_at))
			FILTER (WHERE old_id <> new_id),
		count(*) FILTER (WHERE old_id <> new_id), bool_and(b.created_at = v.created_at)
	FROM visits_new_ids JOIN visits_before AS b ON b.id = old_id JOIN visits AS v ON v.id = new_id
	SQL

# Other UUIDs of version 7 -------------------------------------------------------------------------

# Those that the pages of pg_uuidv7 and of RFC 9562 show, and some of PostgreSQL itself.
sql(<<~'SQL');
	CREATE TABLE carts (id uuid PRIMARY KEY, note text);
	INSERT INTO carts VALUES ('018570bb-4a7d-7630-a5c4-89b795024c5d', 'pg_uuidv7'),
		('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 'RFC 9562');
	SQL
sql("INSERT INTO carts SELECT uuidv7(), 'PostgreSQL' FROM generate_series(1, 1000)")
  if $version >= 18;
runs($others, 'a table with other UUIDs of version 7 gets the default of uuidv7');
is( sql(<<~'SQL'),
		SET timezone = 'UTC';
		SELECT note, uuidv7_timestamp(id) FROM carts
		WHERE uuidv7_before(id, '2024-01-01') ORDER BY id
		SQL
	"RFC 9562|2022-02-22 19:22:22+00\npg_uuidv7|2023-01-02 04:26:40.637+00",
	'the old rows have the times that their pages say');
is(sql("SELECT note FROM carts ORDER BY id DESC LIMIT 1"),
	'new', 'the new row sorts after all others');
is( sql("SELECT uuidv7_min('2023-01-02 04:26:40.637+00')"),
	'018570bb-4a7d-7000-8000-000000000000',
	'uuidv7_min returns what uuid_timestamptz_to_v7 of pg_uuidv7 returns with zero bits');

# To flake, in one transaction ---------------------------------------------------------------------

runs($letters, 'uuidv7 keys become flakes in one transaction');
is(sql('SELECT count(*), bool_and(flake_timestamp(id) = uuidv7_timestamp(old_id)) FROM letters'),
	'1000|t', 'the flakes have the times of the UUIDs');
my $sorts_alike = <<'SQL';
SELECT bool_and(by_flake = by_uuid) FROM (
	SELECT rank() OVER (ORDER BY id) AS by_flake, rank() OVER (ORDER BY old_id) AS by_uuid
	FROM %s) AS ranks
SQL
is(sql(sprintf $sorts_alike, 'letters'), 't', 'the flakes sort as the UUIDs did');
is(sql(<<~'SQL'), 't', 'a new row has a flake alone');
	INSERT INTO letters (body) VALUES ('new')
	RETURNING old_id IS NULL AND flake_since(id, now() - interval '1 min')
	SQL

# To flake, by the steps of the page ---------------------------------------------------------------

my ($tables, $columns, $trigger, $default, $procedure, $call, undef,
	$indexes, $sweep, $constraints, $switch, $afterwards, $clean
) = $steps =~ /^```sql\n(.*?)^```$/msg;
my ($innermost) = $sections =~ /becomes this:\n\n((?: {8}.*\n)+)/
  or die 'the page shows the SELECT';
my ($nil) = $sections =~ /`('0{8}-[-0]+')`/ or die 'the page shows the default';
my $changes = 0;
for ($tables, $columns, $default, $procedure, $clean) {
	my $key = '    id uuid PRIMARY KEY DEFAULT uuidv7_next()';
	$changes += s/^ +id +bigserial PRIMARY KEY,\n +created_at .*\n/$key,\n/m;
	$changes += s/^CREATE INDEX .* orders_created_at_id .*\n//m;
	$changes += s/order_id bigint NOT NULL REFERENCES/order_id uuid NOT NULL REFERENCES/;
	$changes += s/\bid +bigint NOT NULL DEFAULT 0,/id uuid NOT NULL DEFAULT $nil,/;
	$changes += s/moving \(nr bigint, id bigint,/moving (nr bigint, id uuid,/;
	$changes += s/\bids +bigint\[\]/ids uuid[]/;
	$changes += s/^    IF \(zone IS NULL\).*?^    END IF;\n//ms;
	$changes += s/SELECT o\.created_at, o\.id FROM orders o.*?LIMIT batch/$innermost/s;
	$changes += s/, DROP COLUMN created_at//;
}
is($changes, 9, 'the steps of the page change where the section says so');
sql('CREATE DATABASE steps');
runs($tables, 'the tables of the steps', 'steps');
sql(<<~'SQL', 'steps');
	INSERT INTO orders (id, note)
	SELECT uuidv7_at(timestamptz '2025-01-01 00:00+00' + nr / 10 * step), 'old'
	FROM generate_series(1, 12000) AS nr, (SELECT interval '42 min 3.217 ms') AS steps (step);
	INSERT INTO items (order_id, what) SELECT id, 'old' FROM orders;
	INSERT INTO orders (id, note) SELECT uuidv7_at('2015-01-01 00:00+00', nr), 'early'
	FROM generate_series(1, 20) AS nr;
	SQL
runs($_, 'a step runs', 'steps')
  for $columns, $trigger, $default, $procedure, $call, $indexes, $sweep, $constraints, $switch,
  $afterwards;
my $times_of_orders = sql(<<~'SQL', 'steps');
	SELECT note, count(*), bool_and(flake_timestamp(id) = uuidv7_timestamp(old_id)),
		min(flake_timestamp(id) AT TIME ZONE 'UTC')::date
	FROM orders GROUP BY note ORDER BY note
	SQL
is( $times_of_orders,
	"early|20|f|2020-01-01\nold|12000|t|2025-01-01",
	'the orders have their times, and those from before the epoch that of its first keys');
is(sql(sprintf($sorts_alike, 'orders'), 'steps'), 't', 'the orders sort as before');
is( sql('SELECT count(*) FROM items JOIN orders ON orders.id = order_id AND old_id = old_order_id',
		'steps'),
	'12000',
	'each item has its order');
runs($clean, 'the old columns are dropped', 'steps');

$node->stop;
done_testing();
