# Views, functions and indexes of users on columns that were renamed since 0.6.0, or on
# flake_decode, which has a new column since 0.7.0, outlive the update, a dump and a restoration.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade_views',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2010-01-01'\n");
$node->start;

# With the four columns that flake_decode had before 0.7.0.
my $decoding = <<'SQL';
CREATE TABLE made (
	id bigint DEFAULT flake_next() PRIMARY KEY, event sno DEFAULT sno_next(1) UNIQUE);
INSERT INTO made SELECT FROM generate_series(1, 1000);
CREATE TABLE orders (id bigint PRIMARY KEY, generator_id text);
INSERT INTO orders SELECT flake_encode('2026-11-01 00:00+00', 5, 26, nr, 'epoch'), 'of the user'
FROM generate_series(1, 3) AS nr;
CREATE VIEW decoded_all AS SELECT * FROM orders, flake_decode(id, 'epoch');
CREATE VIEW decoded_star AS SELECT orders.id, (flake_decode(id, 'epoch')).* FROM orders;
CREATE VIEW decoded_fields AS SELECT (flake_decode(id)).worker, orders.generator_id FROM orders;
CREATE VIEW decoded_named AS
	SELECT d, c, w FROM orders, flake_decode(id, 'epoch') AS decoded (at, d, w, c);
CREATE VIEW decoded_row AS SELECT to_jsonb(decoded) -> 'worker' AS worker
	FROM orders, flake_decode(id, 'epoch') AS decoded;
CREATE VIEW decoded_from AS SELECT worker, nr
	FROM ROWS FROM (flake_decode(1), generate_series(1, 2)) WITH ORDINALITY
		AS decoded (at, d, worker, c, nr, n);
CREATE VIEW decoded_left AS SELECT orders.id, decoded.worker
	FROM orders LEFT JOIN flake_decode(orders.id, 'epoch') AS decoded ON decoded.counter > 1;
CREATE MATERIALIZED VIEW decoded_kept AS
	SELECT datacenter, worker, counter FROM orders, flake_decode(id, 'epoch');
CREATE FUNCTION worker_of(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE
	RETURN (flake_decode(id, 'epoch')).worker;
CREATE FUNCTION fields_of(id bigint) RETURNS TABLE (worker integer, counter integer)
	LANGUAGE sql IMMUTABLE BEGIN ATOMIC
	SELECT decoded.worker, decoded.counter FROM flake_decode(id, 'epoch') AS decoded;
END;
CREATE INDEX by_worker ON orders (((flake_decode(id, 'epoch')).worker), worker_of(id));
SQL
my $decoded = join '', "SET timezone = 'UTC';\n",
  (map { "SELECT row_to_json(v) FROM decoded_$_ AS v;\n" }
	  qw(all star fields named row from left kept)),
  'SELECT worker_of(id), fields_of(id) FROM orders';

# With the names of 0.6.0.
my $renamed = <<'SQL';
CREATE VIEW of_stat AS SELECT system, first_of_sequence, last_of_sequence
	FROM pg_stat_flakeid ORDER BY system, generator_id;
CREATE VIEW of_stat_function AS SELECT system, sum(ids) AS ids
	FROM pg_stat_get_flakeid() GROUP BY system;
CREATE VIEW of_lease AS SELECT wanted, lease, since, ceiling FROM pg_stat_flakeid_lease;
CREATE MATERIALIZED VIEW of_lease_function AS
	SELECT wanted, lease, since, ceiling FROM pg_stat_get_flakeid_lease();
CREATE VIEW of_snapshot AS SELECT tick FROM flakeid_snapshot();
CREATE TABLE hits (id uniqueid);
INSERT INTO hits SELECT uniqueid_encode('2026-11-01', 7, 5, 3, 'spread');
CREATE VIEW of_hits AS SELECT generator, cluster FROM hits, uniqueid_decode(id);
CREATE VIEW of_hits_too AS SELECT (uniqueid_decode(id)).generator, decoded.cluster
	FROM hits, uniqueid_decode(id) AS decoded;
CREATE VIEW of_made AS SELECT (sno_decode(event)).tick FROM made;
CREATE FUNCTION generator_of(id uniqueid) RETURNS integer LANGUAGE sql IMMUTABLE
	RETURN (uniqueid_decode(id)).generator;
CREATE INDEX by_generator ON hits (((uniqueid_decode(id)).generator), generator_of(id));
CREATE INDEX by_cluster ON hits
	(uniqueid_encode('2026-11-01', 7, generator => 5, cluster => 3, mode => 'spread'))
	WHERE (uniqueid_decode(id)).cluster = 3;
CREATE VIEW named AS
	SELECT uniqueid_encode('2026-11-01', 7, cluster => 3, generator => 5, mode => 'spread') AS id,
	sno_encode('2026-11-01', meta => 1, tick => 0, partition => 2, sequence => 3) AS event;
SQL

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION flakeid');
my $fresh = Installation::objects_in($node, 'fresh');
for my $from ('0.6.0', '0.6.1') {
	my $database = "from_$from" =~ tr/./_/r;
	my $sql = sub { $node->safe_psql($database, $_[0]) };
	subtest "views on flake_decode of $from" => sub {
		$node->safe_psql('postgres', "CREATE DATABASE $database");
		$sql->("CREATE EXTENSION flakeid VERSION '$from'; $decoding");
		$sql->($renamed) if $from eq '0.6.0';
		my $before = $sql->($decoded);
		my $first = $sql->('SELECT min(id) FROM orders');
		is(scalar(() = $before =~ /"worker":26\b/g),
			17, "views of a user have the fields of a flake of $from");
		is($sql->( <<'SQL'), join("\n", ("$first|26|1") x 2), 'a prepared statement has them, too');
SET timezone = 'UTC';
PREPARE prepared AS
	SELECT id, worker, counter FROM orders, flake_decode(id, 'epoch') ORDER BY id LIMIT 1;
EXECUTE prepared;
ALTER EXTENSION flakeid UPDATE;
EXECUTE prepared;
INSERT INTO made SELECT FROM generate_series(1, 1000);
SQL
		is(Installation::objects_in($node, $database),
			$fresh, 'the update with views leads to what a fresh install has');
		is($sql->('SELECT count(*) FROM made'), '2000', 'the defaults of tables continue');
		$sql->('REFRESH MATERIALIZED VIEW decoded_kept; REINDEX TABLE orders');
		is($sql->($decoded), $before, 'the views show what they showed');
		is($sql->(<<'SQL'), '186|186', 'flake_decode has its new column');
SELECT DISTINCT decoded.generator_id, (flake_decode(id)).generator_id
FROM orders, flake_decode(id, 'epoch') AS decoded
SQL
		like($sql->(<<'SQL'), qr/Scan (?:using|on) by_worker/, 'the index on a field is used');
SET enable_seqscan = off;
EXPLAIN SELECT FROM orders WHERE (flake_decode(id, 'epoch')).worker = 26;
SQL
		# As pg_dump makes them. PostgreSQL counts the columns of ROWS FROM and WITH ORDINALITY by
		# their position, and would name other ones.
		$sql->(<<'SQL');
CREATE SCHEMA again;
SELECT format('CREATE VIEW again.%I AS %s', relname, pg_get_viewdef(oid)) FROM pg_class
WHERE relname ~ '^decoded_' AND relname <> 'decoded_from' ORDER BY relname
\gexec
SQL
		is($sql->("SET search_path = again, public; $decoded"),
			$before, 'each view can be dumped and restored');
	};
}

subtest 'views on the names of 0.6.0' => sub {
	my $sql = sub { $node->safe_psql('from_0_6_0', $_[0]) };
	is($sql->('SELECT DISTINCT system, first_of_sequence, last_of_sequence FROM of_stat'),
		"flake|0|4095\nsno|0|65535", 'a view on pg_stat_flakeid has its columns');
	# A session counts what it prefetched when it has ended.
	ok( $node->poll_query_until(
			'from_0_6_0', 'SELECT count(*) = 2 AND bool_and(ids >= 2000) FROM of_stat_function'),
		'a view on pg_stat_get_flakeid() has its columns');
	is($sql->(<<'SQL'), '', 'views on the lease have their columns');
REFRESH MATERIALIZED VIEW of_lease_function;
SELECT wanted, lease, since, ceiling FROM of_lease
UNION ALL SELECT wanted, lease, since, ceiling FROM of_lease_function;
SQL
	is($sql->(<<'SQL'), "5|3\n5|3\n2000\nt", 'views on the fields of IDs have their columns');
SELECT generator, cluster FROM of_hits UNION ALL SELECT generator, cluster FROM of_hits_too;
SELECT count(*) FROM of_made WHERE tick IN (0, 1);
SELECT count(tick) > 0 FROM of_snapshot;
SQL
	my $event = $sql->("SELECT sno_encode('2026-11-01', 0, 1, 2, 3)");
	is( $sql->(
			<<'SQL'), "5\nt|$event", 'a function, and names of arguments in a view, mean the same');
SELECT generator_of(id) FROM hits;
SELECT named.id = hits.id, event FROM named, hits;
SQL
	my $new_name = 'FROM hits WHERE (uniqueid_decode(id)).generator_id = 5';
	is($sql->("SET enable_seqscan = off; REINDEX TABLE hits; SELECT count(*) $new_name"),
		'1', 'an index on a renamed field can be built again');
	like(
		$sql->("SET enable_seqscan = off; EXPLAIN SELECT $new_name"),
		qr/Scan (?:using|on) by_generator/,
		'the index is found by the new name');
	# As pg_dump and pg_upgrade make them: from their definition, by the new names.
	$sql->(<<'SQL');
SELECT format('CREATE VIEW %I AS %s', 'again_' || relname, pg_get_viewdef(oid)) FROM pg_class
WHERE relname ~ '^of_' AND relkind IN ('v', 'm') ORDER BY relname
\gexec
SQL
	is($sql->(<<'SQL'), 't', 'each view on a renamed column can be dumped and restored');
SELECT count(*) FILTER (WHERE relname ~ '^again_of_') = count(*) FILTER (WHERE relname ~ '^of_')
FROM pg_class WHERE relkind IN ('v', 'm')
SQL
};

# docs/installing.md says how.
subtest 'a dump of 0.6.0' => sub {
	$node->safe_psql('postgres', "CREATE DATABASE $_") for 'dumped', 'restored';
	$node->safe_psql('dumped', <<'SQL');
CREATE EXTENSION flakeid VERSION '0.6.0';
CREATE VIEW of_stat AS SELECT system, first_of_sequence FROM pg_stat_flakeid;
SQL
	my $dump = $node->basedir . '/dump.sql';
	$node->command_ok(
		[ 'pg_dump', '-f', $dump, $node->connstr('dumped') ],
		'a database with the SQL of 0.6.0 is dumped');
	$node->safe_psql('restored', "CREATE EXTENSION flakeid VERSION '0.6.0'");
	$node->command_ok(
		[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ],
		'a dump of 0.6.0 is restored into a database with the SQL of 0.6.0');
	is( $node->safe_psql('restored',
			<<'SQL'), '0', 'a restored view has its columns after the update');
ALTER EXTENSION flakeid UPDATE;
SELECT min(first_of_sequence) FROM of_stat;
SQL
};

$node->stop;
done_testing();
