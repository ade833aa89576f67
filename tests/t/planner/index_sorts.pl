# Sorts of IDs by keys, and the indexes that such sorts make, have the order of the IDs' bytes. This
# is so for all values, and for sorts in memory, on disk and in several processes.
use strict;
use warnings;
use lib 'tests/perl';

use PlannerServer;
use Test::More;

my ($node, $session) = planner_server('index_sorts');
my %bytes = (sno => 10, flake128 => 16, guid => 12, guid_local => 8, uniqueid => 8);
my @id_types = sort keys %bytes;

# Values of every kind: the ends; IDs of a month, of one tick and of several nodes; neighbors, of
# which any bit differs; and anything. A sort decides about its keys after 10,240 rows.
for my $id_type (@id_types) {
	my $length = $bytes{$id_type};
	my $bits = 8 * $length;
	my $at = "${id_type}_at(timestamptz '2026-11-01'";
	$session->query_safe(<<~"SQL");
		CREATE TABLE ${id_type}_kinds (kind text, id $id_type);
		INSERT INTO ${id_type}_kinds
			SELECT 'ends', decode(repeat(byte, $length), 'hex')::$id_type
			FROM unnest(ARRAY['00', 'ff', '7f', '80']) AS byte;
		INSERT INTO ${id_type}_kinds
			SELECT 'month', $at + nr * interval '130 s') FROM generate_series(1, 20000) AS nr;
		INSERT INTO ${id_type}_kinds SELECT 'tick', $at) FROM generate_series(1, 10000);
		INSERT INTO ${id_type}_kinds
			SELECT 'neighbors', set_bit(id, nr % $bits, 1 - get_bit(id, nr % $bits))::$id_type
			FROM generate_series(1, 11000) AS nr,
				CAST($at + nr % 7 * interval '1 h') AS bytea) AS id;
		INSERT INTO ${id_type}_kinds
			SELECT 'anything', substr(sha256(nr::text::bytea), 1, $length)::$id_type
			FROM generate_series(1, 11000) AS nr;
		SQL
}

# Returns how many rows of a sort are out of order, by the comparison or by bytes, which PostgreSQL
# compares itself; and whether there are several rows.
sub out_of_order {
	my ($id_type, $where, $order, @settings) = @_;
	my $before = $order eq 'DESC' ? '>' : '<';
	my @set = map { "SET LOCAL $_" } 'enable_indexscan = off', 'enable_indexonlyscan = off',
	  'enable_bitmapscan = off', @settings;
	$session->query_safe(join '; ', 'BEGIN', @set);
	my $found = $session->query_safe(<<~"SQL");
		SELECT count(*) FILTER (WHERE id $before last OR id::bytea $before last::bytea),
			count(*) > 1
		FROM (SELECT id, lag(id) OVER () AS last FROM (
			SELECT id FROM ${id_type}_kinds WHERE $where ORDER BY id $order NULLS FIRST
		) AS sorted) AS neighbors
		SQL
	$session->query_safe('COMMIT');
	return $found;
}

my @in_processes = (
	'parallel_setup_cost = 0',
	'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0',
	'max_parallel_workers_per_gather = 2');
for my $id_type (@id_types) {
	for (
		(map { [ $_, "kind = '$_'", 'ASC' ] } qw(ends month tick neighbors anything)),
		[ 'all kinds', 'true', 'ASC' ],
		[ 'the other way round', 'true', 'DESC' ],
		[ 'on disk', 'true', 'ASC', "work_mem = '64kB'" ],
		[ 'in several processes', 'true', 'ASC', @in_processes ])
	{
		my ($words, @sort) = @$_;
		is(out_of_order($id_type, @sort),
			'0|t', "a sort of ${id_type}s is in the order of the bytes: $words");
	}
	is($session->query_safe(<<~"SQL"), 't', "a sort of ${id_type}s loses no ID");
		SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY id::bytea) FROM ${id_type}_kinds
		SQL
	my $first = "ARRAY(SELECT id FROM ${id_type}_kinds ORDER BY %s LIMIT 50)";
	is($session->query_safe(sprintf "SELECT $first = $first", 'id', 'id::bytea'),
		't', "a sort of the first ${id_type}s in a heap has the first by bytes");
}

# A sort of few different values gives its keys up, and a sort of NULLs alone never makes one.
is($session->query_safe(<<~'SQL'), '0', 'a sort of 200,000 rows with three values is in order');
	SELECT count(*) FROM (SELECT id < lag(id) OVER () AS falls FROM (
		SELECT sno_at(timestamptz '2026-11-01', 0, nr % 3) AS id
		FROM generate_series(1, 200000) AS nr ORDER BY 1
	) AS sorted) AS neighbors WHERE falls
	SQL
is($session->query_safe(<<~'SQL'), '20000', 'a sort of NULLs alone loses no row');
	SELECT count(*) FROM (SELECT NULL::sno AS id FROM generate_series(1, 20000) ORDER BY 1) AS s
	SQL

# An index that several processes make by a sort, and an index that grows, with duplicates.
my $amcheck =
  $session->query_safe("SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'");
$session->query_safe('CREATE EXTENSION amcheck') if $amcheck;
for my $id_type (@id_types) {
	$session->query_safe(<<~"SQL");
		SET min_parallel_table_scan_size = 0;
		SET max_parallel_maintenance_workers = 2;
		CREATE INDEX ${id_type}_sorted ON ${id_type}_kinds (id);
		RESET min_parallel_table_scan_size;
		CREATE TABLE ${id_type}_grown (id $id_type);
		CREATE INDEX ${id_type}_grown_id ON ${id_type}_grown (id);
		INSERT INTO ${id_type}_grown SELECT id FROM ${id_type}_kinds ORDER BY hashtext(id::text);
		VACUUM ANALYZE ${id_type}_kinds, ${id_type}_grown;
		SET enable_seqscan = off;
		SET enable_sort = off;
		SQL
	for my $table ("${id_type}_kinds", "${id_type}_grown") {
		my $by_index = "ARRAY(SELECT id FROM $table ORDER BY id)";
		my $by_bytes = "(SELECT array_agg(id ORDER BY id::bytea) FROM $table)";
		is($session->query_safe("SELECT $by_index = $by_bytes"),
			't', "the index of $table is in the order of the bytes");
	}
	$session->query_safe('RESET enable_seqscan; RESET enable_sort');
	next unless $amcheck;
	is($session->query_safe("SELECT bt_index_check('${id_type}_sorted', true)"),
		'', "amcheck finds nothing in the index that a sort of ${id_type}s makes");
}

for my $id_type (@id_types) {
	my $claim = "${id_type}s in records and arrays are hashed and compared as by themselves";
	is($session->query_safe(<<~"SQL"), 't', $claim);
		SELECT count(DISTINCT hash_record_extended(ROW(id), 7)) BETWEEN 1 AND count(DISTINCT id)
			AND count(DISTINCT ROW(id)) = count(DISTINCT id)
			AND count(DISTINCT hash_array_extended(ARRAY[id], 7))
				= count(DISTINCT ${id_type}_hash_extended(id, 7))
		FROM ${id_type}_kinds
		SQL
}

$session->quit;
$node->stop;
done_testing();
