# What indexes ask of a type beside its comparison: sorting by keys gives the order of the comparison, for all
# values; a scan that skips finds what a scan of all finds; BRIN of several ranges loses no row.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('index_support');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
autovacuum = off
jit = off
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $session = session($node);
my $version = $session->query_safe("SELECT current_setting('server_version_num')");

my %bytes = (sno => 10, flake128 => 16, guid => 12, guid_local => 8, uniqueid => 8);

# Values of every kind: the ends; IDs of a month, of one tick and of several nodes; neighbors, one bit apart from
# each other anywhere; and anything. A sort decides about its keys after 10,240 rows.
$session->query_safe(<<'END');
CREATE FUNCTION anything(seed integer, length integer) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$ SELECT substr(sha256(seed::text::bytea), 1, length) $$;
CREATE FUNCTION neighbor(bytes bytea, place integer) RETURNS bytea LANGUAGE sql IMMUTABLE AS
	$$ SELECT set_bit(bytes, place, 1 - get_bit(bytes, place)) $$;
END
for my $type (sort keys %bytes) {
	my $length = $bytes{$type};
	my $bits = 8 * $length;
	$session->query_safe(<<"END");
CREATE TABLE ${type}_kinds AS
	SELECT 'ends' AS kind, bytes::$type AS id FROM (VALUES (decode(repeat('00', $length), 'hex')),
		(decode(repeat('ff', $length), 'hex')), (decode(repeat('7f', $length), 'hex')), (decode(repeat('80', $length), 'hex'))) AS v (bytes)
	UNION ALL SELECT 'month', ${type}_at(timestamptz '2026-11-01' + nr * interval '130 s') FROM generate_series(1, 20000) AS nr
	UNION ALL SELECT 'tick', ${type}_at(timestamptz '2026-11-01') FROM generate_series(1, 10000)
	UNION ALL SELECT 'neighbors', neighbor((${type}_at(timestamptz '2026-11-01' + nr % 7 * interval '1 h'))::bytea, nr % $bits)::$type FROM generate_series(1, 11000) AS nr
	UNION ALL SELECT 'anything', anything(nr, $length)::$type FROM generate_series(1, 11000) AS nr;
END
}

# A sort is in order if no value is less than the one before; and it is by bytes, which PostgreSQL compares itself.
sub in_order {
	my ($type, $where, $order, $settings) = @_;
	$session->query_safe('BEGIN');
	$session->query_safe("SET LOCAL $_")
	  for 'enable_indexscan = off', 'enable_indexonlyscan = off', 'enable_bitmapscan = off',
	  @$settings;
	my $wrong = $order eq 'DESC' ? '>' : '<';
	my $found = $session->query_safe(<<"END");
SELECT count(*) FILTER (WHERE id $wrong before OR id::bytea $wrong before::bytea), count(*) > 1
FROM (SELECT id, lag(id) OVER () AS before FROM (SELECT id FROM ${type}_kinds WHERE $where ORDER BY id $order NULLS FIRST) AS s) AS s
END
	$session->query_safe('COMMIT');
	return $found;
}

for my $type (sort keys %bytes) {
	for my $kind ('ends', 'month', 'tick', 'neighbors', 'anything') {
		is(in_order($type, "kind = '$kind'", 'ASC', []), '0|t', "$type sorts by bytes: $kind");
	}
	is(in_order($type, 'true', 'ASC', []), '0|t', "$type sorts by bytes: all kinds");
	is(in_order($type, 'true', 'DESC', []), '0|t', "$type sorts by bytes: the other way round");
	is(in_order($type, 'true', 'ASC', ["work_mem = '64kB'"]),
		'0|t', "$type sorts by bytes: on disk");
	is( in_order(
			$type, 'true', 'ASC',
			[
				'parallel_setup_cost = 0',
				'parallel_tuple_cost = 0',
				'min_parallel_table_scan_size = 0',
				'max_parallel_workers_per_gather = 2'
			]),
		'0|t',
		"$type sorts by bytes: in several processes");
	is( $session->query_safe(
			"SELECT array_agg(id ORDER BY id) = (SELECT array_agg(id ORDER BY id::bytea) FROM ${type}_kinds) FROM ${type}_kinds"
		),
		't',
		"$type: nothing is lost in a sort");
	is( $session->query_safe(
			"SELECT array_agg(id) = (SELECT array_agg(id ORDER BY id::bytea) FROM (SELECT id FROM ${type}_kinds ORDER BY id::bytea LIMIT 50) AS s) FROM (SELECT id FROM ${type}_kinds ORDER BY id LIMIT 50) AS s"
		),
		't',
		"$type: the first of them, sorted in a heap");
}

# An index that is made by a sort, and by several processes, and an index that grows, with duplicates.
my $amcheck =
  $session->query_safe("SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'");
$session->query_safe('CREATE EXTENSION amcheck') if $amcheck;
for my $type (sort keys %bytes) {
	$session->query_safe(<<"END");
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
CREATE INDEX ${type}_sorted ON ${type}_kinds (id);
RESET min_parallel_table_scan_size;
CREATE TABLE ${type}_grown (id $type);
CREATE INDEX ${type}_grown_id ON ${type}_grown (id);
INSERT INTO ${type}_grown SELECT id FROM ${type}_kinds ORDER BY hashtext(id::text);
VACUUM ANALYZE ${type}_kinds, ${type}_grown;
SET enable_seqscan = off;
SET enable_sort = off;
END
	for my $table ("${type}_kinds", "${type}_grown") {
		is( $session->query_safe(
				"SELECT array_agg(id) = (SELECT array_agg(id ORDER BY id::bytea) FROM $table) FROM (SELECT id FROM $table ORDER BY id) AS s"
			),
			't',
			"the index of $table is in the order of the bytes");
		is( $session->query_safe(
				"SELECT (min(id), max(id))::text = (SELECT (id, last)::text FROM (SELECT first_value(id) OVER w AS id, last_value(id) OVER w AS last FROM $table WINDOW w AS (ORDER BY id::bytea ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS s LIMIT 1) FROM $table"
			),
			't',
			"the index of $table gives min and max in the order of the bytes");
		my $plan = plan_of($session, "SELECT min(id), max(id) FROM $table");
		is( scalar(
				grep { $_->{'Node Type'} eq 'Index Only Scan' && $_->{'Actual Rows'} == 1 }
				  nodes_of($plan)),
			2,
			"min and max of $table read one entry of the index each");
	}
	$session->query_safe('RESET enable_seqscan; RESET enable_sort');
	if ($amcheck) {
		is( $session->query_safe(
				"SELECT bt_index_check('${type}_sorted', true), bt_index_check('${type}_grown_id', true)"
			),
			'|',
			"amcheck finds nothing in $type\'s");
	}
}

# A sort of few different values gives its keys up, and of none but NULLs never makes one.
is($session->query_safe(<<'END'), '0', '200,000 rows of three values are in order');
SELECT count(*) FROM (SELECT id < lag(id) OVER () AS falls FROM
	(SELECT sno_at(timestamptz '2026-11-01', 0, nr % 3) AS id FROM generate_series(1, 200000) AS nr ORDER BY 1) AS s) AS s WHERE falls
END
is( $session->query_safe(
		'SELECT count(*) FROM (SELECT NULL::sno AS id FROM generate_series(1, 20000) ORDER BY 1) AS s'
	),
	'20000',
	'NULLs are sorted');

# Skipping, from 18 on: values that follow each other, with gaps, at both ends, and NULL.
SKIP:
{
	skip 'a btree skips from PostgreSQL 18 on', 1 if $version < 180000;
	for my $type (sort keys %bytes) {
		my $length = $bytes{$type};
		$session->query_safe("CREATE TABLE ${type}_first (id $type, nr integer)");
		for ([ '00', 0, 9 ], [ '7f', 250, 255 ], [ '80', 0, 3 ], [ 'ff', 248, 255 ]) {
			my ($fill, $from, $to) = @$_;
			$session->query_safe(<<"END");
INSERT INTO ${type}_first
	SELECT id, nr FROM
		(SELECT (decode(repeat('$fill', $length - 1), 'hex') || decode(lpad(to_hex(byte), 2, '0'), 'hex'))::$type AS id
			FROM generate_series($from, $to) AS byte) AS ids, generate_series(1, 2000) AS nr
END
		}
		$session->query_safe(<<"END");
INSERT INTO ${type}_first SELECT NULL, nr FROM generate_series(1, 2000) AS nr;
CREATE INDEX ON ${type}_first (id, nr);
CREATE INDEX ON ${type}_first (id DESC, nr);
VACUUM ANALYZE ${type}_first;
SET enable_seqscan = off;
END
		for my $where (
			'nr = 77',
			"nr BETWEEN 1990 AND 1995",
			"nr = 3 AND id > decode(repeat('00', $length), 'hex')::$type",
			"nr = 3 AND id < decode(repeat('ff', $length), 'hex')::$type",
			'nr IN (1, 2000) AND id IS NOT NULL')
		{
			for my $order ('id, nr', 'id DESC, nr DESC') {
				my $query = "SELECT id, nr FROM ${type}_first WHERE $where ORDER BY $order";
				my $found =
				  $session->query_safe("SELECT md5(string_agg(s::text, ' ')) FROM ($query) AS s");
				my $plain = $query =~ s/nr (=|BETWEEN|IN)/nr + 0 $1/r;
				is( $found,
					$session->query_safe("SELECT md5(string_agg(s::text, ' ')) FROM ($plain) AS s"),
					"$type, by skipping: $where ORDER BY $order");
			}
		}
		my $searches = sub {
			my ($scan) =
			  scans_of(plan_of($session, "SELECT id, nr FROM ${type}_first WHERE nr = 77"));
			like($scan->{'Index Cond'}, qr/nr = 77/,
				"$type: the index is asked for its second column");
			return $scan->{'Index Searches'};
		};
		my $with = $searches->();
		$session->query_safe(
			"BEGIN; ALTER OPERATOR FAMILY ${type}_ops USING btree DROP FUNCTION 6 ($type, $type)");
		cmp_ok($with, '<', $searches->(), "$type: skip support saves searches of the index");
		$session->query_safe('ROLLBACK');
		$session->query_safe('RESET enable_seqscan');
	}
	is( $session->query_safe(
			"SELECT count(*) FROM pg_amproc WHERE amproc::text ~ '^(sno|flake128|guid|guid_local|uniqueid)_skipsupport'"
		),
		'5',
		'every type skips');
}

# BRIN: one row in a hundred came late. A range of blocks has about 200 rows.
for my $type (sort keys %bytes) {
	$session->query_safe(<<"END");
CREATE TABLE ${type}_late AS
	SELECT ${type}_at(timestamptz '2026-11-01' + CASE WHEN nr % 100 = 0 THEN nr - 20000 ELSE nr END * interval '52 s') AS id,
		timestamptz '2026-11-01' + CASE WHEN nr % 100 = 0 THEN nr - 20000 ELSE nr END * interval '52 s' AS t, repeat('x', 100) AS payload
	FROM generate_series(1, 50000) AS nr;
CREATE INDEX ${type}_multi ON ${type}_late USING brin (id ${type}_minmax_multi_ops) WITH (pages_per_range = 4);
VACUUM ANALYZE ${type}_late;
SET enable_seqscan = off;
END
	for my $range (
		"'2026-11-10', '2026-11-10 06:00'",
		"NULL, '2026-11-02'",
		"'2026-11-29', NULL",
		"'2026-10-20', '2026-10-23'")
	{
		my $within =
		  $type =~ /^guid/ ? "${type}_within(id, tstzrange($range))" : "id <@ tstzrange($range)";
		# As the ID has the time, cut to its tick.
		is( $session->query_safe("SELECT count(*) FROM ${type}_late WHERE $within"),
			$session->query_safe(
				"SELECT count(*) FROM ${type}_late WHERE ${type}_timestamp(id) <@ tstzrange($range)"
			),
			"$type, BRIN of several ranges: $range");
	}
	my $within =
	  $type =~ /^guid/
	  ? "${type}_within(id, tstzrange('2026-11-10', '2026-11-10 06:00'))"
	  : "id <@ tstzrange('2026-11-10', '2026-11-10 06:00')";
	my ($scan) = grep { $_->{'Node Type'} eq 'Bitmap Heap Scan' }
	  nodes_of(plan_of($session, "SELECT count(*) FROM ${type}_late WHERE $within"));
	cmp_ok($scan->{'Rows Removed by Index Recheck'}, '<', 2500,
		"$type, BRIN of several ranges: a scan reads few rows, though each range of blocks has a late row"
	);
	$session->query_safe(
		"INSERT INTO ${type}_late SELECT id, t, payload FROM ${type}_late WHERE t < '2026-11-03'");
	is( $session->query_safe("SELECT count(*) FROM ${type}_late WHERE $within"),
		$session->query_safe(
			"SELECT count(*) FROM ${type}_late WHERE ${type}_timestamp(id) <@ tstzrange('2026-11-10', '2026-11-10 06:00')"
		),
		"$type, BRIN of several ranges: a scan finds rows that came later");
	$session->query_safe('RESET enable_seqscan');
}

# As a part of a record, and in an array, an ID is hashed and compared as by itself.
for my $type (sort keys %bytes) {
	is($session->query_safe(<<"END"), 't', "$type in records and arrays");
SELECT count(DISTINCT hash_record_extended(ROW(id), 7)) BETWEEN 1 AND count(DISTINCT id) AND count(DISTINCT ROW(id)) = count(DISTINCT id)
	AND count(DISTINCT hash_array_extended(ARRAY[id], 7)) = count(DISTINCT ${type}_hash_extended(id, 7)) FROM ${type}_kinds
END
}

$session->quit;
$node->stop;
done_testing();
