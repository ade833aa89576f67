# From PostgreSQL 18 on a btree skips from one ID to the next. Such a scan finds what a scan of all
# finds, in fewer searches than without skip support.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PlannerServer;
use Test::More;

chomp(my $version = `pg_config --version`);
plan skip_all => "a btree does not skip in $version"
  if ($version =~ /(\d+)/)[0] < 18;

my ($node, $session) = planner_server('index_skips', 'enable_seqscan = off');
my %bytes = (sno => 10, flake128 => 16, guid => 12, guid_local => 8, uniqueid => 8);

for my $id_type (sort keys %bytes) {
	my $table = "${id_type}_first";
	my $length = $bytes{$id_type};
	# IDs that follow each other, with gaps, at both ends, and NULL.
	$session->query_safe(<<~"SQL");
		CREATE TABLE $table (id $id_type, nr integer);
		INSERT INTO $table SELECT (decode(repeat(fill, $length - 1), 'hex')
				|| decode(lpad(to_hex(byte), 2, '0'), 'hex'))::$id_type, nr
			FROM (VALUES ('00', 0, 9), ('7f', 250, 255), ('80', 0, 3), ('ff', 248, 255))
				AS spans (fill, first, last),
				generate_series(first, last) AS byte, generate_series(1, 2000) AS nr;
		INSERT INTO $table SELECT NULL, nr FROM generate_series(1, 2000) AS nr;
		CREATE INDEX ON $table (id, nr);
		CREATE INDEX ON $table (id DESC, nr);
		VACUUM ANALYZE $table;
		SQL
	for my $where (
		'nr = 77',
		'nr BETWEEN 1990 AND 1995',
		"nr = 3 AND id > decode(repeat('00', $length), 'hex')::$id_type",
		"nr = 3 AND id < decode(repeat('ff', $length), 'hex')::$id_type",
		'nr IN (1, 2000) AND id IS NOT NULL')
	{
		for my $order ('id, nr', 'id DESC, nr DESC') {
			my ($found, $wanted) = map {
				my $rows = "SELECT id, nr FROM $table WHERE $_ ORDER BY $order";
				$session->query_safe("SELECT md5(string_agg(s::text, ' ')) FROM ($rows) AS s")
			} $where, $where =~ s/^nr/nr + 0/r;
			is($found, $wanted,
					"a scan of ${id_type}s that skips finds the rows of a scan that"
				  . " does not: $where ORDER BY $order");
		}
	}
	my $scan = sub {
		return scans_of(plan_of($session, "SELECT id, nr FROM $table WHERE nr = 77"));
	};
	my ($with) = $scan->();
	my $family = "ALTER OPERATOR FAMILY ${id_type}_ops USING btree";
	$session->query_safe("BEGIN; $family DROP FUNCTION 6 ($id_type, $id_type)");
	my ($without) = $scan->();
	$session->query_safe('ROLLBACK');
	like($_->{'Index Cond'}, qr/nr = 77/, "the index of ${id_type}s is asked for its second column")
	  for $with, $without;
	cmp_ok(
		$with->{'Index Searches'},
		'<',
		$without->{'Index Searches'},
		"skip support saves searches of the index of ${id_type}s");
}
my $id_types = join '|', keys %bytes;
is($session->query_safe(<<~"SQL"), '5', 'every ID type has skip support');
	SELECT count(*) FROM pg_amproc WHERE amproc::text ~ '^($id_types)_skipsupport'
	SQL

$session->quit;
$node->stop;
done_testing();
