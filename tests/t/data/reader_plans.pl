# An index finds the rows of a condition or bound of flakeid_reader, and the time can be each of: a
# constant, now(), a parameter or a subselect.
use strict;
use warnings;
use lib 'tests/perl';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReaderFiles;
use Test::More;

my ($file) = build_reader();
my $node = PostgreSQL::Test::Cluster->new('reader_plans');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
enable_seqscan = off
plan_cache_mode = force_generic_plan
CONF
$node->start;
$node->safe_psql('postgres', $file);
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, flakeid_reader');

my %types = (
	flake => 'bigint',
	uuidv7 => 'uuid',
	flake128 => 'uuid',
	map { $_ => 'text COLLATE "C"' } 'sno', 'uniqueid', 'guid', 'guid_local');
$node->safe_psql('postgres', "CREATE TABLE ${_}s (id $types{$_} PRIMARY KEY)") for keys %types;

my %times = (
	'a constant' => "timestamptz '2026-11-01'",
	'now()' => 'now()',
	'an interval before now()' => "now() - interval '5 min'",
	'a parameter' => '$1',
	'a subselect' => '(SELECT now())',
	'a subselect of a table' => '(SELECT max(flake_timestamp(id)) FROM flakes)');

sub plan_of {
	my ($type, $condition) = @_;
	return $node->safe_psql('postgres', <<"SQL");
PREPARE rows(timestamptz) AS SELECT * FROM ${type}s WHERE $condition;
EXPLAIN (COSTS OFF) EXECUTE rows(now());
SQL
}

# Each has these sides in the condition of the index.
for my $kind (sort keys %times) {
	my $time = $times{$kind};
	my %sides = (
		"X_since(id, $time)" => ['>='],
		"X_after(id, $time)" => ['>'],
		"X_before(id, $time)" => ['<'],
		"X_between(id, $time, $time)" => [ '>=', '<=' ],
		"X_since(id, $time) AND X_before(id, $time)" => [ '>=', '<' ],
		# docs/reader.md says that no index finds the rows of a range with a subselect.
		$time =~ /SELECT/ ? () : ("X_within(id, tstzrange($time, NULL))" => [ '>=', '<=' ]));
	my %bounds = (
		"id >= X_min($time) AND id <= X_max($time)" => [ '>=', '<=' ],
		"id BETWEEN X_range_min(tstzrange($time, NULL)) AND X_range_max(tstzrange($time, NULL))" =>
		  [ '>=', '<=' ]);
	for my $type (sort keys %types) {
		my %expected = (%bounds, $type =~ /^(flake|uuidv7)$/ ? %sides : ());
		for my $condition (sort keys %expected) {
			my $call = $condition =~ s/X_/${type}_/gr;
			my $plan = plan_of($type, $call);
			my ($found) = $plan =~ /^ *Index Cond: (.*)$/m;
			my @missing = grep { ($found // '') !~ /\bid $_ / } @{ $expected{$condition} };
			is("@missing", '', "$kind: an index finds the rows: $call") or diag($plan);
		}
	}
}

unlike(plan_of('flake', 'flake_timestamp(id) IS NULL'),
	qr/flake_timestamp/, 'the planner inlines flake_timestamp');

$node->stop;
done_testing();
