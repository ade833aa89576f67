# The expressions of docs/analytics.md return the times of IDs, and what it says on sorting is true.
# Python and Node.js run always. FLAKEID_ENGINES names an interpreter that has
# tests/analytics/requirements.txt, and FLAKEID_SPARK the folder of tests/analytics/spark.txt; then
# the other engines run, too.
use strict;
use warnings;
use lib 'tests/perl';
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('analytics', "timezone = 'UTC'\n");

# All combinations of the ends of a guid's fields, in each drift.
my $guids = <<'SQL';
SELECT guid_next_batch(50) UNION SELECT guid_next_batch(5, drift) FROM drifts UNION
SELECT guid_encode(created_at, node, sequence, drift)
FROM drifts, unnest(ARRAY[0, 4294967295]) AS of_node (node),
	unnest(ARRAY[0, 16383]) AS of_sequence (sequence),
	unnest(ARRAY['1970-01-01', '2026-01-01 12:34:56.654321', '2262-04-11']::timestamptz[]) AS
		of_time (created_at)
SQL
my $drifts = <<'SQL';
WITH drifts AS (
	SELECT make_interval(secs => seconds) AS drift
	FROM unnest(ARRAY[34, 68, 137, 274, 549, 1099, 2199, 4398]) AS of (seconds)
)
SQL

# For each ID type: new IDs, those at both ends of its times, and the first and last ID of a time
# between.
my %queries = (
	flake => <<'SQL',
SELECT id, flake_timestamp(id) FROM (SELECT flake_next_batch(50) UNION SELECT unnest(
	ARRAY[0, 4194303, 4194304, 9223372036854775807, flake_min('2026-01-01'),
	flake_max('2026-01-01')]
)) AS of (id)
SQL
	uuidv7 => <<'SQL',
SELECT id, id::timestamptz FROM (SELECT uuidv7_next_batch(50) UNION SELECT unnest(
	ARRAY[uuidv7_min('1970-01-01'), uuidv7_max('1970-01-01'), uuidv7_max('2262-01-01')])) AS of (id)
SQL
	sno => <<'SQL',
SELECT id, id::timestamptz FROM (SELECT sno_next_batch(50, 255) UNION SELECT unnest(
	ARRAY[sno_min('-infinity'), sno_max('infinity'), sno_max('2010-01-01'), sno_max('2026-01-01')]
)) AS of (id)
SQL
	flake128 => <<'SQL',
SELECT id::uuid, id::timestamptz FROM (SELECT flake128_next_batch(50) UNION SELECT unnest(
	ARRAY[flake128_min('1970-01-01'), flake128_max('1970-01-01'), flake128_max('2262-01-01')]
)) AS of (id)
SQL
	guid => "$drifts SELECT id, id::timestamptz FROM ($guids) AS of (id)",
	guid_local => "$drifts SELECT id, id::timestamptz FROM
		(SELECT DISTINCT id::guid_local FROM ($guids) AS of (id)) AS of (id)",
	uniqueid => <<'SQL');
SELECT id, id::timestamptz FROM (SELECT uniqueid_next_batch(50) UNION SELECT unnest(
	ARRAY[uniqueid_min('-infinity'), uniqueid_max('infinity'), uniqueid_max('2026-01-01')]
)) AS of (id)
SQL
my $all = join ",\n", map { <<"SQL" } sort keys %queries;
'$_', (SELECT json_agg(
	json_build_array(id::text, (extract(epoch FROM at) * 1000000)::bigint) ORDER BY id)
	FROM ($queries{$_}) AS of (id, at))
SQL
my $file = $node->basedir . '/ids.json';
my $ids = $node->safe_psql('postgres', "SELECT json_build_object($all)");
append_to_file($file, $ids);
my %count = map { $_->[0] => scalar @{ $_->[1] } } do {
	my $of_type = decode_json($ids);
	map { [ $_, $of_type->{$_} ] } keys %$of_type;
};
cmp_ok($count{$_}, '>=', 50, "there are ${_}s") for sort keys %queries;

my $python = $ENV{FLAKEID_ENGINES};
my @engines = ('Python', 'JavaScript');
push @engines, 'DuckDB', 'ClickHouse', 'Spark', 'pandas', 'polars', 'Go', 'dbt' if $python;
local $ENV{HOME} = $node->basedir;
my ($output, $complaints) =
  run_command([ $python // 'python3', 'tests/analytics/engines.py', $file, @engines ]);
is($complaints, '', 'the program runs without a complaint');
my %found = $output =~ /^(\w+ \w+(?: \w+)?): (.*)$/mg;

for my $engine (@engines) {
	for my $type ($engine eq 'dbt' ? 'flake' : sort keys %queries) {
		is( $found{"$engine $type"} // 'no expression',
			"$count{$type} equal",
			"the expression of $engine returns the times of ${type}s");
	}
	next if $engine eq 'dbt';
	my %forms = map { $_ => [ $_ eq 'flake' ? 'integer' : 'text' ] } keys %queries;
	push @{ $forms{$_} }, 'UUID' for 'uuidv7', 'flake128';
	for my $type (sort keys %forms) {
		is($found{"$engine $type $_"} // 'nothing',
			'in ID order', "$engine sorts ${type}s as the page says, as $_")
		  for @{ $forms{$type} };
	}
}

$node->stop;
done_testing();
