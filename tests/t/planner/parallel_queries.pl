# A parallel query generates its IDs in the leader, in the order of its rows, as nextval's numbers come. The scan and the
# sort below stay parallel. A worker that is asked for an ID nevertheless raises the error of nextval.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('parallel_queries');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
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
sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# The rows are stored in another order than that of their times.
my $ROWS = 20_000;
sql(<<"SQL");
CREATE EXTENSION flakeid;
CREATE SEQUENCE numbers;
CREATE TABLE source AS SELECT nr, timestamptz '2026-01-01' + nr * 7919 % $ROWS * interval '1 s' AS created_at FROM generate_series(1, $ROWS) AS nr;
ALTER TABLE source SET (parallel_workers = 2);
ANALYZE source;
SQL
my $version = sql('SHOW server_version_num') / 10000;
my $forced = ($version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode') . ' = on';

my @generators = (
	(   map {
			{
				type => $_->{type},
				next => $_->{next},
				batch => sprintf($_->{batch}, 1),
				error => "$_->{name}_next"
			}
		} @ID_TYPES),
	{
		type => 'guid_local',
		next => 'guid_local_next()',
		batch => 'guid_local_next_batch(1)',
		error => 'guid_next'
	},);

# the order of the rows --------------------------------------------------------------------------------------------------

# Tests that the rows of a table have IDs in their order, and that all are there. Drops the table.
sub is_in_order {
	my ($test, $kind) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rows =
	  sql(  'SELECT count(*) FILTER (WHERE is_back), count(*)'
		  . ' FROM (SELECT id <= lag(id) OVER (ORDER BY created_at) AS is_back FROM made) AS rows; DROP '
		  . ($kind // 'TABLE')
		  . ' made');
	is($rows, "0|$ROWS", $test);
	return;
}

# Without the leader workers scan all rows.
for my $settings ('parallel_leader_participation = on', 'parallel_leader_participation = off',
	$forced)
{
	for my $generator (@generators) {
		for my $call (@{$generator}{ 'next', 'batch' }) {
			my $plan = sql(
				"SET $settings; EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) CREATE TABLE made AS SELECT $call AS id, created_at FROM source ORDER BY created_at"
			);
			my ($function) = $call =~ /^(\w+)/;
			my ($leader, $workers) = $plan =~ /\A(.*?Gather Merge.*?)(->.*)/s;
			like(
				$leader,
				qr/Output: \Q$function\E\(.*Gather Merge|Gather Merge.*Output: \Q$function\E\(/s,
				"$settings: the leader calls $function");
			like(
				$leader,
				qr/Workers Launched: [12]\n/,
				"$settings: there are workers below $function");
			like(
				$workers,
				qr/Parallel Seq Scan on public\.source/,
				"$settings: the scan below $function is parallel");
			unlike($workers, qr/\b\Q$function\E\(/, "$settings: no worker calls $function");
			is_in_order("$settings: the IDs of $function have the order of the rows");
		}
	}
	sql("SET $settings; CREATE TABLE made AS SELECT nextval('numbers') AS id, created_at FROM source ORDER BY created_at"
	);
	is_in_order("$settings: the numbers of nextval have the order of the rows");
}

# Other statements that fill a table.
my $select = 'SELECT flake_next() AS id, created_at FROM source ORDER BY created_at';
my %statement = (
	'INSERT ... SELECT' =>
	  "CREATE TABLE made (id bigint, created_at timestamptz); INSERT INTO made $select",
	'INSERT ... SELECT, a default' =>
	  'CREATE TABLE made (id bigint DEFAULT flake_next(), created_at timestamptz); INSERT INTO made (created_at) SELECT created_at FROM source ORDER BY created_at',
	'SELECT ... INTO' => $select =~ s/ FROM/ INTO made FROM/r,
	'a materialized view' => "CREATE MATERIALIZED VIEW made AS $select",
	'a view' => "CREATE VIEW generates AS $select; CREATE TABLE made AS TABLE generates",
	'a prepared statement' =>
	  "PREPARE generates AS $select; CREATE TABLE made AS EXECUTE generates",
	'a generated column' =>
	  'CREATE TABLE made (id bigint DEFAULT flake_next(), created_at timestamptz, twice bigint GENERATED ALWAYS AS (id * 2) STORED); '
	  . 'INSERT INTO made (created_at) SELECT created_at FROM source ORDER BY created_at',);
for my $what (sort keys %statement) {
	sql("SET parallel_leader_participation = off; $statement{$what}");
	is_in_order("$what: the IDs have the order of the rows",
		$what eq 'a materialized view' ? 'MATERIALIZED VIEW' : 'TABLE');
}

# a worker that is asked --------------------------------------------------------------------------------------------------

# Tests the error of a function that is PARALLEL SAFE, and calls another one.
sub is_refused {
	my ($query, $name, $hint, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin =
		"ERROR:  25000: cannot execute $name() during a parallel operation\n"
	  . ($hint ? "HINT:  $hint\n" : '')
	  . 'CONTEXT:';
	like(error_of($node, "SET parallel_leader_participation = off; $query"),
		qr/\Q$begin\E.*\nparallel worker\n/s, $test);
	return;
}

my $restrict = 'Declare the function that calls it PARALLEL RESTRICTED';
my $update = 'or run ALTER EXTENSION flakeid UPDATE if the extension is older than the library.';
my @calls = (
	(   map {
			my ($type, $name, @both) = @{$_}{ 'type', 'error', 'next', 'batch' };
			map { [ $_, $type, $name, "$restrict, $update" ] } @both
		} @generators),
	[ 'flakeid_watermark()', 'timestamptz', 'flakeid_watermark', "$restrict." ],
	[ "nextval('numbers')", 'bigint', 'nextval', '' ],);
for my $preload ($version >= 17 ? ('flakeid', '') : 'flakeid') {
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$preload'");
	$node->restart;
	my $how = $preload ? 'with preloading' : 'without preloading';
	for (@calls) {
		my ($call, $type, $name, $hint) = @$_;
		my ($function) = $call =~ /^(\w+)/;
		sql("CREATE OR REPLACE FUNCTION of_$function() RETURNS $type LANGUAGE plpgsql PARALLEL SAFE AS \$\$BEGIN RETURN (SELECT $call); END\$\$"
		);
		is_refused("CREATE TABLE made AS SELECT of_$function() FROM source",
			$name, $hint, "$how: a worker that calls $function gets the error of nextval");
		is_refused("SET $forced; SELECT of_$function()",
			$name, $hint, "$how, $forced: a worker that calls $function gets the error of nextval");
	}
	my $session = session($node);
	$session->query_safe('SET parallel_leader_participation = off');
	like(error_in($session, 'SELECT count(of_flake_next()) FROM source'),
		qr/25000/, "$how: a session gets the error of a worker");
	is( $session->query_safe(
			'SELECT count(DISTINCT id) FROM (SELECT flake_next() AS id FROM source) AS rows'),
		$ROWS,
		"$how: the session generates IDs after the error");
	$session->quit;

	# IDs that follow from a time and a number come from no shared state, and workers compute them.
	for my $at (map { "${_}_at('2026-01-01', 5)" } 'flake', 'sno', 'flake128', 'guid', 'uniqueid') {
		my $in_worker = "SET $forced; SELECT $at";
		like(sql($in_worker =~ s/SELECT/EXPLAIN SELECT/r),
			qr/\A *Gather/, "$how: a worker computes $at");
		is(sql($in_worker), sql("SELECT $at"), "$how: $at in a worker is $at in the session");
	}
	# A uuidv7 also has random bits, and each worker has a generator of them.
	is( sql("SET $forced; SELECT id FROM uuidv7_decode(uuidv7_at('2026-01-01', 5)) AS id") =~
		  s/,\d+\)$//r,
		'("2026-01-01 00:00:00+00",0,0,5',
		"$how: a worker computes uuidv7_at");
	is( sql("SET max_parallel_workers_per_gather = 2; SELECT count(*), count(DISTINCT uuidv7_at('2026-01-01', 5)) FROM source"
		),
		"$ROWS|$ROWS",
		"$how: workers compute different uuidv7s of one time and number");
}

$node->stop;
done_testing();
