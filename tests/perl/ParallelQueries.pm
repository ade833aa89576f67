# A server that scans a table by parallel workers, and the functions that generate IDs of each type.
package ParallelQueries;

use strict;
use warnings;

use Exporter qw(import);
use Ledger;
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(@GENERATORS $ROWS parallel_server);

# Each function that generates IDs: its name, a call of it, the ID type, and the function that an
# error names.
our @GENERATORS = map {
	my ($name, $type, $error, @calls) = @$_;
	map { { function => /^(\w+)/, call => $_, type => $type, error => $error } } @calls
} (map { [ $_->{name}, $_->{type}, "$_->{name}_next", $_->{next}, sprintf $_->{batch}, 1 ] }
	  @ID_TYPES),
  [ 'guid_local', 'guid_local', 'guid_next', 'guid_local_next()', 'guid_local_next_batch(1)' ];

# How many rows the table `source` has.
our $ROWS = 20_000;

# Starts a server with the table `source`, whose rows are stored in another order than that of their
# times. Returns the server, its version, and the setting that makes all queries parallel.
sub parallel_server {
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = 'flakeid'
		flakeid.generator_ids = '3-6'
		max_worker_processes = 32
		max_parallel_workers = 32
		max_parallel_workers_per_gather = 2
		min_parallel_table_scan_size = 0
		parallel_setup_cost = 0
		parallel_tuple_cost = 0
		END
	$node->start;
	$node->safe_psql('postgres', <<~"SQL");
		CREATE EXTENSION flakeid;
		CREATE SEQUENCE numbers;
		CREATE TABLE source AS SELECT timestamptz '2026-01-01' + nr * 7919 % $ROWS * interval '1 s'
			AS created_at FROM generate_series(1, $ROWS) AS nr;
		ALTER TABLE source SET (parallel_workers = 2);
		ANALYZE source;
		SQL
	my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10_000;
	my $forced = ($version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode') . ' = on';
	return ($node, $version, $forced);
}

1;
