# The expressions of docs/analytics.md return the times of IDs. Python and Node.js run always.
# FLAKEID_ENGINES names an interpreter that has tests/analytics/requirements.txt; then the other
# engines run, too.
use strict;
use warnings;
use lib 'tests/perl';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('analytics', "timezone = 'UTC'\n");

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
	uniqueid => <<'SQL');
SELECT id, id::timestamptz FROM (SELECT uniqueid_next_batch(50) UNION SELECT unnest(
	ARRAY[uniqueid_min('-infinity'), uniqueid_max('infinity'), uniqueid_max('2026-01-01')]
)) AS of (id)
SQL
my $all = join ",\n", map { <<"SQL" } sort keys %queries;
'$_', (SELECT json_agg(json_build_array(id::text, (extract(epoch FROM at) * 1000)::bigint))
	FROM ($queries{$_}) AS of (id, at))
SQL
my $file = $node->basedir . '/ids.json';
append_to_file($file, $node->safe_psql('postgres', "SELECT json_build_object($all)"));

my $python = $ENV{FLAKEID_ENGINES};
my @engines = ('Python', 'JavaScript');
push @engines, 'DuckDB', 'ClickHouse', 'pandas', 'polars', 'Go' if $python;
local $ENV{HOME} = $node->basedir;
my ($output, $complaints) =
  run_command([ $python // 'python3', 'tests/analytics/engines.py', $file, @engines ]);
is($complaints, '', 'the program runs without a complaint');
my %found = $output =~ /^(\w+ \w+): (.*)$/mg;

for my $engine (@engines) {
	for my $type (sort keys %queries) {
		like(
			$found{"$engine $type"} // 'no expression',
			qr/\A5\d equal\z/,
			"the expression of $engine returns the times of ${type}s");
	}
}

$node->stop;
done_testing();
