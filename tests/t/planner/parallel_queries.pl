# A parallel query generates its IDs in the leader, in the order of its rows, as nextval's numbers
# come. The scan and the sort below stay parallel. A worker that is asked for an ID raises the error
# of nextval. IDs of a given time come from no shared state, and workers compute them.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Test::More;

my $ROWS = 20_000;
my $node = flakeid_server('parallel_queries', <<'END');
flakeid.generator_ids = '3-6'
max_worker_processes = 32
max_parallel_workers = 32
max_parallel_workers_per_gather = 2
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
END
sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# The rows are stored in another order than that of their times.
sql(<<~"SQL");
	CREATE SEQUENCE numbers;
	CREATE TABLE source AS SELECT timestamptz '2026-01-01' + nr * 7919 % $ROWS * interval '1 s'
		AS created_at FROM generate_series(1, $ROWS) AS nr;
	ALTER TABLE source SET (parallel_workers = 2);
	ANALYZE source;
	SQL
my $forced = ($node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode') . ' = on';
my $without_leader = 'parallel_leader_participation = off';

# Each function that generates IDs: a call of it, the ID type, and the function that an error names.
my @generators = map {
	my ($type, $error, @calls) = @$_;
	map { { function => /^(\w+)/, call => $_, type => $type, error => $error } } @calls
  } (map { [ $_->{type}, "$_->{name}_next", $_->{next}, sprintf $_->{batch}, 1 ] } @ID_TYPES),
  [ 'guid_local', 'guid_next', 'guid_local_next()', 'guid_local_next_batch(1)' ];

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
for my $settings ('parallel_leader_participation = on', $without_leader, $forced) {
	for (@generators) {
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
	sql("SET $without_leader; $statement{$what}");
	is_in_order("$what: the IDs have the order of the rows",
		$what eq 'a materialized view' ? 'MATERIALIZED VIEW' : 'TABLE');
}

# Tests the error of a function that is PARALLEL SAFE, and calls another one.
sub is_refused {
	my ($query, $name, $hint, $claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin = "ERROR:  25000: cannot execute $name() during a parallel operation\n"
	  . ($hint ? "HINT:  $hint\n" : '');
	return like(error_of($node, "SET $without_leader; $query"),
		qr/\Q$begin\ECONTEXT:.*\nparallel worker\n/s, $claim);
}

my $restrict = 'Declare the function that calls it PARALLEL RESTRICTED';
my $update = 'or run ALTER EXTENSION flakeid UPDATE if the extension is older than the library.';
my @calls = (
	(   map {
			{ %$_, hint => "$restrict, $update" }
		} @generators),
	{
		function => 'flakeid_watermark',
		call => 'flakeid_watermark()',
		type => 'timestamptz',
		error => 'flakeid_watermark',
		hint => "$restrict."
	},
	{ function => 'nextval', call => "nextval('numbers')", type => 'bigint', error => 'nextval' });
sql(<<~"SQL") for @calls;
	CREATE FUNCTION of_$_->{function}() RETURNS $_->{type} LANGUAGE plpgsql PARALLEL SAFE
		AS \$\$BEGIN RETURN (SELECT $_->{call}); END\$\$
	SQL

for my $preload ($node->pg_version >= 17 ? ('flakeid', '') : 'flakeid') {
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$preload'");
	$node->restart;
	my $how = $preload ? 'with preloading' : 'without preloading';
	for (@calls) {
		my ($function, $name, $hint) = @{$_}{ 'function', 'error', 'hint' };
		my $claim = "a worker that calls $function gets the error of nextval";
		is_refused("CREATE TABLE made AS SELECT of_$function() FROM source",
			$name, $hint, "$how: $claim");
		is_refused("SET $forced; SELECT of_$function()", $name, $hint, "$how, $forced: $claim");
	}

	my $session = session($node);
	$session->query_safe("SET $without_leader");
	like(error_in($session, 'SELECT count(of_flake_next()) FROM source'),
		qr/25000/, "$how: a session gets the error of a worker");
	my $generated = $session->query_safe(
		'SELECT count(DISTINCT id) FROM (SELECT flake_next() AS id FROM source) AS rows');
	is($generated, $ROWS, "$how: the session generates IDs after the error");
	$session->quit;

	for my $at (map { "${_}_at('2026-01-01', 5)" } qw(flake sno flake128 guid uniqueid)) {
		like(sql("SET $forced; EXPLAIN SELECT $at"), qr/\A *Gather/, "$how: a worker computes $at");
		is(sql("SET $forced; SELECT $at"),
			sql("SELECT $at"), "$how: $at in a worker is $at in the session");
	}
	# A uuidv7 also has random bits, and each worker has a generator of them.
	my $uuidv7 = "uuidv7_at('2026-01-01', 5)";
	like(
		sql("SET $forced; SELECT uuidv7_decode($uuidv7)"),
		qr/\A\("2026-01-01 00:00:00\+00",0,0,5,\d+\)\z/,
		"$how: a worker computes uuidv7_at");
	is(sql("SELECT count(*), count(DISTINCT $uuidv7) FROM source"),
		"$ROWS|$ROWS", "$how: workers compute different uuidv7s of one time and number");
}

$node->stop;
done_testing();
