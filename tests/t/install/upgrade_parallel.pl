# An update from 0.7.0 takes the generators of IDs out of parallel workers: for new plans, and for
# those that sessions have kept. Until then the SQL of 0.7.0 calls them in workers, which is an
# error that says what to do.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade_parallel',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
max_worker_processes = 32
max_parallel_workers = 32
max_parallel_workers_per_gather = 2
parallel_leader_participation = off
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
END
$node->start;
sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# Those that 0.7.0 has.
my @old = grep { $_->{name} ne 'uuidv7' } @ID_TYPES;

my $ROWS = 20_000;
sql(<<"SQL");
CREATE EXTENSION flakeid VERSION '0.7.0';
CREATE TABLE source AS
	SELECT nr, timestamptz '2026-01-01' + nr * 7919 % $ROWS * interval '1 s' AS created_at
	FROM generate_series(1, $ROWS) AS nr;
ALTER TABLE source SET (parallel_workers = 2);
ANALYZE source;
CREATE TABLE orders (nr integer, id bigint DEFAULT flake_next() PRIMARY KEY,
	created_at timestamptz GENERATED ALWAYS AS (flake_timestamp(id, '2010-01-01')) STORED);
SQL

# A session that keeps its plans, and a view, which PostgreSQL keeps in its catalog.
my $kept = session($node);
$kept->query_safe('SET plan_cache_mode = force_generic_plan');

# The part of such a plan that is for workers.
sub below_gather {
	my ($name) = @_;
	my ($workers) = $kept->query_safe("EXPLAIN (VERBOSE, COSTS OFF) EXECUTE ${name}_kept") =~
	  /Gather Merge.*?->(.*)/s;
	return $workers // '';
}

for my $id_type (@old) {
	my ($name, $next) = @{$id_type}{ 'name', 'next' };
	my $select = "SELECT $next AS id, created_at FROM source ORDER BY created_at";
	sql("CREATE VIEW ${name}_view AS $select");
	$kept->query_safe("PREPARE ${name}_kept AS $select");
	my $workers = below_gather($name);
	like($workers, qr/\b${name}_next\(/, "0.7.0: the plan calls ${name}_next in workers");
	my $parallel = "cannot execute ${name}_next\\(\\) during a parallel operation";
	my $error = qr/ERROR:  25000: $parallel\nHINT: .* run ALTER EXTENSION flakeid UPDATE/;
	like(error_in($kept, "CREATE TABLE made AS EXECUTE ${name}_kept"),
		$error, "0.7.0: a kept plan with ${name}_next ends with an error that names the update");
	like(error_of($node, "CREATE TABLE made AS TABLE ${name}_view"),
		$error, "0.7.0: a view with ${name}_next ends with an error that names the update");
}
is(sql("INSERT INTO orders SELECT nr FROM source; SELECT count(DISTINCT id) FROM orders"),
	$ROWS, '0.7.0: INSERT, which is not parallel, generates IDs');

sql('ALTER EXTENSION flakeid UPDATE');
is(sql(<<'SQL'), 'r', 'after the update all generators are PARALLEL RESTRICTED');
SELECT string_agg(DISTINCT proparallel::text, '') FROM pg_proc
WHERE proname ~ '^(flake|sno|flake128|guid|guid_local|uniqueid|uuidv7)_next'
SQL
for my $name (map { $_->{name} } @old) {
	my $workers = below_gather($name);
	like($workers, qr/Parallel Seq Scan/, "after the update the plan of ${name}_kept is parallel");
	unlike($workers, qr/\b${name}_next\(/,
		"after the update the plan of ${name}_kept calls ${name}_next in the leader");
	for my $made ("EXECUTE ${name}_kept", "TABLE ${name}_view") {
		$kept->query_safe("CREATE TABLE made AS $made");
		is(sql(<<'SQL'), "0|$ROWS", "after the update $made has IDs in the order of its rows");
SELECT count(*) FILTER (WHERE is_back), count(*)
FROM (SELECT id <= lag(id) OVER (ORDER BY created_at) AS is_back FROM made) AS rows
SQL
		sql('DROP TABLE made');
	}
}
$kept->quit;
sql('INSERT INTO orders SELECT nr FROM source');
is( sql(<<'SQL'), join('|', (2 * $ROWS) x 2),
SELECT count(DISTINCT id), count(*) FILTER (WHERE created_at = flake_timestamp(id)) FROM orders
SQL
	'after the update a default and a generated column work as before');

$node->stop;
done_testing();
