# From every released version ALTER EXTENSION UPDATE leads to what a fresh install of this one has,
# object by object.
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

# Everything that belongs to the extension, with what is said of it in its own catalog.
my $objects = <<'SQL';
SELECT pg_describe_object(d.classid, d.objid, d.objsubid), comments.comment,
	pg_get_functiondef(f.oid), f.proacl, f.procost, f.prorows, f.prosupport::regproc,
	pg_get_viewdef(c.oid), c.relacl,
	to_jsonb(t) - '{oid,typrelid,typarray,typelem,typbasetype,typnamespace,typowner}'::text[], t.typbasetype::regtype,
	to_jsonb(o) - '{oid,oprnamespace,oprowner,oprleft,oprright,oprresult,oprcom,oprnegate,oprcode}'::text[], o.oprresult::regtype,
	o.oprcom::regoperator, o.oprnegate::regoperator, o.oprcode::regprocedure,
	s.castfunc::regprocedure, s.castcontext, s.castmethod,
	k.opcdefault, k.opcintype::regtype, k.opckeytype::regtype
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid AND f.prokind <> 'a'
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
LEFT JOIN pg_operator o ON d.classid = 'pg_operator'::regclass AND o.oid = d.objid
LEFT JOIN pg_cast s ON d.classid = 'pg_cast'::regclass AND s.oid = d.objid
LEFT JOIN pg_opclass k ON d.classid = 'pg_opclass'::regclass AND k.oid = d.objid,
LATERAL (SELECT obj_description(d.objid, d.classid::regclass::text) AS comment) AS comments
WHERE e.extname = 'flakeid' AND d.deptype = 'e'
ORDER BY 1
SQL

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION flakeid');
my $version =
  $node->safe_psql('fresh', "SELECT extversion FROM pg_extension WHERE extname = 'flakeid'");
my $expected = $node->safe_psql('fresh', $objects);
like(
	$expected,
	qr/^operator class sno_ops for access method btree\|/m,
	'the list holds the objects');
like($expected, qr/^view pg_stat_flakeid\|.*pg_monitor=r/ms, '... and their privileges');

my @released = split /\n/, $node->safe_psql('fresh', <<"SQL");
SELECT source FROM pg_extension_update_paths('flakeid')
WHERE target = '$version' AND path IS NOT NULL ORDER BY source
SQL
is("@released", '0.6.0 0.6.1 0.7.0', 'from the oldest version on there is a way');

# What users made with the names of 0.6.0.
my $views = <<'SQL';
CREATE VIEW of_stat AS SELECT system, first_of_sequence, last_of_sequence FROM pg_stat_flakeid ORDER BY system, generator_id;
CREATE VIEW of_stat_function AS SELECT system, sum(ids) AS ids FROM pg_stat_get_flakeid() GROUP BY system;
CREATE VIEW of_lease AS SELECT wanted, lease, since, ceiling FROM pg_stat_flakeid_lease;
CREATE MATERIALIZED VIEW of_lease_function AS SELECT wanted, lease, since, ceiling FROM pg_stat_get_flakeid_lease();
CREATE VIEW of_snapshot AS SELECT tick FROM flakeid_snapshot();
CREATE TABLE hits (id uniqueid);
INSERT INTO hits SELECT uniqueid_encode('2026-11-01', 7, 5, 3, 'spread');
CREATE VIEW of_hits AS SELECT generator, cluster FROM hits, uniqueid_decode(id);
CREATE VIEW of_hits_too AS SELECT (uniqueid_decode(id)).generator, decoded.cluster FROM hits, uniqueid_decode(id) AS decoded;
CREATE VIEW of_made AS SELECT (sno_decode(event)).tick FROM made;
CREATE FUNCTION generator_of(id uniqueid) RETURNS integer LANGUAGE sql IMMUTABLE RETURN (uniqueid_decode(id)).generator;
CREATE INDEX by_generator ON hits (((uniqueid_decode(id)).generator), generator_of(id));
CREATE INDEX by_cluster ON hits (uniqueid_encode('2026-11-01', 7, generator => 5, cluster => 3, mode => 'spread')) WHERE (uniqueid_decode(id)).cluster = 3;
CREATE VIEW named AS SELECT uniqueid_encode('2026-11-01', 7, cluster => 3, generator => 5, mode => 'spread') AS id,
	sno_encode('2026-11-01', meta => 1, tick => 0, partition => 2, sequence => 3) AS event;
SQL

# What users made with the four columns that flake_decode had before 0.7.0.
my $decoding = <<'SQL';
CREATE TABLE orders (id bigint PRIMARY KEY, generator_id text);
INSERT INTO orders SELECT flake_encode('2026-11-01 00:00+00', 5, 26, nr, 'epoch'), 'of the user' FROM generate_series(1, 3) AS nr;
CREATE VIEW decoded_all AS SELECT * FROM orders, flake_decode(id, 'epoch');
CREATE VIEW decoded_star AS SELECT orders.id, (flake_decode(id, 'epoch')).* FROM orders;
CREATE VIEW decoded_fields AS SELECT (flake_decode(id)).worker, orders.generator_id FROM orders;
CREATE VIEW decoded_named AS SELECT d, c, w FROM orders, flake_decode(id, 'epoch') AS decoded (at, d, w, c);
CREATE VIEW decoded_row AS SELECT to_jsonb(decoded) -> 'worker' AS worker FROM orders, flake_decode(id, 'epoch') AS decoded;
CREATE VIEW decoded_from AS SELECT worker, nr FROM ROWS FROM (flake_decode(1), generate_series(1, 2)) WITH ORDINALITY AS decoded (at, d, worker, c, nr, n);
CREATE VIEW decoded_left AS SELECT orders.id, decoded.worker FROM orders LEFT JOIN flake_decode(orders.id, 'epoch') AS decoded ON decoded.counter > 1;
CREATE MATERIALIZED VIEW decoded_kept AS SELECT datacenter, worker, counter FROM orders, flake_decode(id, 'epoch');
CREATE FUNCTION worker_of(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE RETURN (flake_decode(id, 'epoch')).worker;
CREATE FUNCTION fields_of(id bigint) RETURNS TABLE (worker integer, counter integer) LANGUAGE sql IMMUTABLE
	BEGIN ATOMIC SELECT decoded.worker, decoded.counter FROM flake_decode(id, 'epoch') AS decoded; END;
CREATE INDEX by_worker ON orders (((flake_decode(id, 'epoch')).worker), worker_of(id));
SQL
my $decoded = <<'SQL';
SET timezone = 'UTC';
SELECT row_to_json(v) FROM decoded_all AS v;
SELECT row_to_json(v) FROM decoded_star AS v;
SELECT row_to_json(v) FROM decoded_fields AS v;
SELECT row_to_json(v) FROM decoded_named AS v;
SELECT row_to_json(v) FROM decoded_row AS v;
SELECT row_to_json(v) FROM decoded_from AS v;
SELECT row_to_json(v) FROM decoded_left AS v;
SELECT row_to_json(v) FROM decoded_kept AS v;
SELECT worker_of(id), fields_of(id) FROM orders;
SQL

for my $from (@released) {
	my $database = "from_$from" =~ tr/./_/r;
	# The views name columns of 0.6.0, which 0.6.1 renamed.
	my $has_old_names = $from eq '0.6.0';
	# 0.7.0 gave flake_decode its fifth column.
	my $has_four_columns = $from =~ /^0\.6/;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, <<"SQL");
CREATE EXTENSION flakeid VERSION '$from';
CREATE TABLE made (id bigint DEFAULT flake_next() PRIMARY KEY, event sno DEFAULT sno_next(1) UNIQUE);
INSERT INTO made SELECT FROM generate_series(1, 1000);
@{[ $has_old_names ? $views : '' ]}
@{[ $has_four_columns ? $decoding : '' ]}
SQL
	if (!$has_four_columns) {
		$node->safe_psql($database,
			'ALTER EXTENSION flakeid UPDATE; INSERT INTO made SELECT FROM generate_series(1, 1000)'
		);
		is($node->safe_psql($database, $objects),
			$expected, "$from becomes what a fresh $version is");
		is($node->safe_psql($database, 'SELECT count(*) FROM made'),
			'2000', "$from: the defaults of tables continue");
		next;
	}
	my $before = $node->safe_psql($database, $decoded);
	my $first = $node->safe_psql($database, 'SELECT min(id) FROM orders');
	is(scalar(() = $before =~ /"worker":26\b/g),
		17, "$from: views of a user have the fields of a flake");
	is( $node->safe_psql($database,
			<<"SQL"), join("\n", ("$first|26|1") x 2), '... and so has a statement that was prepared');
SET timezone = 'UTC';
PREPARE prepared AS SELECT id, worker, counter FROM orders, flake_decode(id, 'epoch') ORDER BY id LIMIT 1;
EXECUTE prepared;
ALTER EXTENSION flakeid UPDATE;
EXECUTE prepared;
INSERT INTO made SELECT FROM generate_series(1, 1000);
SQL
	is($node->safe_psql($database, $objects), $expected, "$from becomes what a fresh $version is");
	is($node->safe_psql($database, 'SELECT count(*) FROM made'),
		'2000', '... with the tables it serves');
	is( $node->safe_psql(
			$database, "REFRESH MATERIALIZED VIEW decoded_kept; REINDEX TABLE orders; $decoded"),
		$before,
		'... the views on flake_decode show what they showed');
	is( $node->safe_psql(
			$database,
			'SELECT DISTINCT decoded.generator_id, (flake_decode(id)).generator_id FROM orders, flake_decode(id, \'epoch\') AS decoded'
		),
		'186|186',
		'... and it has its new column');
	like(
		$node->safe_psql(
			$database,
			"SET enable_seqscan = off; EXPLAIN SELECT FROM orders WHERE (flake_decode(id, 'epoch')).worker = 26"
		),
		qr/Scan (?:using|on) by_worker/,
		'... and the index is used');
	# As pg_dump makes them. PostgreSQL counts the columns of ROWS FROM and WITH ORDINALITY by their
	# position, and would name other ones.
	$node->safe_psql($database, <<'SQL');
CREATE SCHEMA again;
SELECT format('CREATE VIEW again.%I AS %s', relname, pg_get_viewdef(oid)) FROM pg_class
WHERE relname ~ '^decoded_' AND relname <> 'decoded_from' ORDER BY relname
\gexec
SQL
	is($node->safe_psql($database, "SET search_path = again, public; $decoded"),
		$before, '... and each view can be dumped and restored');

	next unless $has_old_names;
	is( $node->safe_psql(
			$database, 'SELECT DISTINCT system, first_of_sequence, last_of_sequence FROM of_stat'),
		"flake|0|4095\nsno|0|65535",
		'... a view of a user still has the columns that it names');
	# A session counts what it prefetched when it has ended.
	$node->poll_query_until($database, 'SELECT bool_and(ids >= 2000) FROM of_stat_function')
	  or die 'not all IDs are counted';
	is($node->safe_psql($database, 'SELECT ids >= 2000 FROM of_stat_function ORDER BY 1'),
		"t\nt", '... and so has one of a function');
	is( $node->safe_psql(
			$database,
			'REFRESH MATERIALIZED VIEW of_lease_function; SELECT wanted, lease, since, ceiling FROM of_lease UNION ALL SELECT wanted, lease, since, ceiling FROM of_lease_function'
		),
		'',
		'... and that of the lease');
	is( $node->safe_psql(
			$database,
			'SELECT generator, cluster FROM of_hits UNION ALL SELECT generator, cluster FROM of_hits_too; SELECT count(*) FROM of_made WHERE tick IN (0, 1); SELECT count(tick) > 0 FROM of_snapshot'
		),
		"5|3\n5|3\n2000\nt",
		'... and those of the fields of an ID');
	is( $node->safe_psql(
			$database,
			'SELECT generator_of(id) FROM hits; SELECT named.id = hits.id, event::text FROM named, hits'
		),
		$node->safe_psql(
			$database, "SELECT 5; SELECT 't', sno_encode('2026-11-01', 0, 1, 2, 3)::text"),
		'... a function of a user, and arguments that a view names, mean what they meant');
	is( $node->safe_psql(
			$database,
			'SET enable_seqscan = off; REINDEX TABLE hits; SELECT count(*) FROM hits WHERE (uniqueid_decode(id)).generator_id = 5'
		),
		'1',
		'... and an index is built');
	like(
		$node->safe_psql(
			$database,
			'SET enable_seqscan = off; EXPLAIN SELECT FROM hits WHERE (uniqueid_decode(id)).generator_id = 5'
		),
		qr/Scan (?:using|on) by_generator/,
		'... and found by the new name');

	# As pg_dump and pg_upgrade make them: from their definition, by the new names.
	$node->safe_psql($database, <<'SQL');
SELECT format('CREATE VIEW %I AS %s', 'again_' || relname, pg_get_viewdef(oid)) FROM pg_class
WHERE relname ~ '^of_' AND relkind IN ('v', 'm') ORDER BY relname
\gexec
SQL
	is( $node->safe_psql($database, "SELECT count(*) FROM pg_class WHERE relname ~ '^again_of_'"),
		$node->safe_psql(
			$database,
			"SELECT count(*) FROM pg_class WHERE relname ~ '^of_' AND relkind IN ('v', 'm')"),
		'... and each can be dumped and restored');
}

# An object of a user depends on an operator that the update replaces: the operator stays, until the
# user replaces it as docs/troubleshooting.md says.
$node->safe_psql('postgres', 'CREATE DATABASE depending');
$node->safe_psql('depending', <<'SQL');
CREATE EXTENSION flakeid VERSION '0.7.0';
CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_next(), during tstzrange);
INSERT INTO events SELECT sno_at('2026-01-05 12:00+00'), '[2026-01-01 00:00+00,2026-02-01 00:00+00)';
CREATE VIEW of_january AS SELECT * FROM events WHERE id <@ tstzrange '[2026-01-01 00:00+00,2026-02-01 00:00+00)';
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
CREATE TEMP TABLE texts AS SELECT relname, pg_get_viewdef(oid) AS definition FROM pg_class WHERE relname IN ('of_january', 'during_it');
DROP VIEW of_january, during_it;
ALTER EXTENSION flakeid DROP OPERATOR <@ (sno, tstzrange);
ALTER EXTENSION flakeid DROP OPERATOR @> (tstzrange, sno);
DROP OPERATOR <@ (sno, tstzrange), @> (tstzrange, sno);
SELECT format('CREATE VIEW %I AS %s', relname, definition) FROM texts \gexec
SQL
is($node->safe_psql('depending', "$rows; $ambiguous"),
	"1\n1\n1", 'with the new operators the views have their rows, and the literal is a range');

# A dump of 0.6.0 with views on columns that were renamed since, restored as docs/installing.md
# says.
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'dumped', 'restored';
$node->safe_psql('dumped',
	"CREATE EXTENSION flakeid VERSION '0.6.0'; CREATE VIEW of_stat AS SELECT system, first_of_sequence FROM pg_stat_flakeid"
);
my $dump = $node->basedir . '/dump.sql';
$node->command_ok(
	[ 'pg_dump', '-f', $dump, $node->connstr('dumped') ],
	'a database with the SQL of 0.6.0 is dumped');
$node->safe_psql('restored', "CREATE EXTENSION flakeid VERSION '0.6.0'");
$node->command_ok(
	[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ],
	'a dump of 0.6.0 is restored into a database with the SQL of 0.6.0');
is( $node->safe_psql(
		'restored', "ALTER EXTENSION flakeid UPDATE; SELECT min(first_of_sequence) FROM of_stat"),
	'0',
	'a restored view of 0.6.0 has its columns after the update');

$node->stop;
done_testing();
