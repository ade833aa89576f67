# A BRIN index that keeps several ranges for each range of blocks finds all IDs of a time, and reads
# few others, where one row in a hundred came late.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PlannerServer;
use Test::More;

my ($node, $session) = planner_server('brin_ranges', 'enable_seqscan = off');

for my $id_type (qw(sno flake128 guid guid_local uniqueid)) {
	my $table = "${id_type}_late";
	# A range of blocks has about 200 rows.
	$session->query_safe(<<~"SQL");
		CREATE TABLE $table AS SELECT ${id_type}_at(t) AS id, t, repeat('x', 100) AS payload
			FROM generate_series(1, 50000) AS nr,
				LATERAL (SELECT timestamptz '2026-11-01' + interval '52 s'
					* CASE WHEN nr % 100 = 0 THEN nr - 20000 ELSE nr END AS t) AS times;
		CREATE INDEX ON $table USING brin (id ${id_type}_minmax_multi_ops)
			WITH (pages_per_range = 4);
		VACUUM ANALYZE $table;
		SQL
	# Each query counts the IDs of a range of times; the oracle reads the time of each ID.
	my $query = sub {
		my ($range) = @_;
		my $within = $id_type =~ /^guid/ ? "${id_type}_within(id, RANGE)" : 'id <@ RANGE';
		return "SELECT count(*) FROM $table WHERE $within" =~ s/RANGE/tstzrange($range)/r;
	};
	my $oracle = "SELECT count(*) FROM $table WHERE ${id_type}_timestamp(id) <\@ tstzrange(%s)";
	my $six_hours = "'2026-11-10', '2026-11-10 06:00'";
	for ($six_hours, "NULL, '2026-11-02'", "'2026-11-29', NULL", "'2026-10-20', '2026-10-23'") {
		is( $session->query_safe($query->($_)),
			$session->query_safe(sprintf $oracle, $_),
			"BRIN of several ranges finds the ${id_type}s of a range of times: $_");
	}
	my ($scan) = grep { $_->{'Node Type'} eq 'Bitmap Heap Scan' }
	  nodes_of(plan_of($session, $query->($six_hours)));
	cmp_ok($scan->{'Rows Removed by Index Recheck'}, '<', 2500,
		"BRIN of several ranges reads few ${id_type}s, though each range of blocks has a late row");
	$session->query_safe("INSERT INTO $table SELECT * FROM $table WHERE t < '2026-11-03'");
	is( $session->query_safe($query->($six_hours)),
		$session->query_safe(sprintf $oracle, $six_hours),
		"BRIN of several ranges finds ${id_type}s that came later");
}

$session->quit;
$node->stop;
done_testing();
