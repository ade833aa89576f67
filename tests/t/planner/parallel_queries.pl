# A parallel query generates its IDs in the leader, in the order of its rows, as nextval's numbers
# come. The scan and the sort below stay parallel.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use ParallelQueries;
use Test::More;

my ($node, $version, $forced) = parallel_server('parallel_queries');
sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# Tests that a table has all rows with IDs in the order of their times. Drops the table.
sub is_in_order {
	my ($claim, $kind) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rows = sql(<<~'SQL');
		SELECT count(*) FILTER (WHERE is_back), count(*) FROM (
			SELECT id <= lag(id) OVER (ORDER BY created_at) AS is_back FROM made
		) AS rows
		SQL
	sql('DROP ' . ($kind // 'TABLE') . ' made');
	return is($rows, "0|$ROWS", $claim);
}

# Without the leader workers scan all rows.
for my $settings ((map { "parallel_leader_participation = $_" } 'on', 'off'), $forced) {
	for (@GENERATORS) {
		my ($function, $call) = @{$_}{ 'function', 'call' };
		my $plan = sql(<<~"SQL");
			SET $settings;
			EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF)
			CREATE TABLE made AS SELECT $call AS id, created_at FROM source ORDER BY created_at
			SQL
		my ($leader, $workers) = $plan =~ /\A(.*?Gather Merge.*?)(->.*)/s;
		my $output = qr/Output: \Q$function\E\(/;
		like(
			$leader,
			qr/$output.*Gather Merge|Gather Merge.*$output/s,
			"$settings: the leader calls $function");
		like($leader, qr/Workers Launched: [12]\n/, "$settings: there are workers below $function");
		like(
			$workers,
			qr/Parallel Seq Scan on public\.source/,
			"$settings: the scan below $function is parallel");
		unlike($workers, qr/\b\Q$function\E\(/, "$settings: no worker calls $function");
		is_in_order("$settings: the IDs of $function have the order of the rows");
	}
	sql(<<~"SQL");
		SET $settings;
		CREATE TABLE made AS
			SELECT nextval('numbers') AS id, created_at FROM source ORDER BY created_at
		SQL
	is_in_order("$settings: the numbers of nextval have the order of the rows");
}

# Other statements that fill a table.
my $select = 'SELECT flake_next() AS id, created_at FROM source ORDER BY created_at';
my $default = 'CREATE TABLE made (id bigint DEFAULT flake_next(), created_at timestamptz';
my $insert = 'INSERT INTO made (created_at) SELECT created_at FROM source ORDER BY created_at';
my %statement = (
	'INSERT ... SELECT' =>
	  "CREATE TABLE made (id bigint, created_at timestamptz); INSERT INTO made $select",
	'INSERT ... SELECT, a default' => "$default); $insert",
	'SELECT ... INTO' => $select =~ s/ FROM/ INTO made FROM/r,
	'a materialized view' => "CREATE MATERIALIZED VIEW made AS $select",
	'a view' => "CREATE VIEW generates AS $select; CREATE TABLE made AS TABLE generates",
	'a prepared statement' =>
	  "PREPARE generates AS $select; CREATE TABLE made AS EXECUTE generates",
	'a generated column' => "$default, twice bigint GENERATED ALWAYS AS (id * 2) STORED); $insert");
for my $what (sort keys %statement) {
	sql("SET parallel_leader_participation = off; $statement{$what}");
	is_in_order("$what: the IDs have the order of the rows",
		$what eq 'a materialized view' ? 'MATERIALIZED VIEW' : 'TABLE');
}

$node->stop;
done_testing();
