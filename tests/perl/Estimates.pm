# A table of a million IDs, each beside its time, and how many of its rows the planner expects.
package Estimates;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use PlannerServer;
use Test::More;

our @EXPORT = qw(month_of_ids estimated counted is_near);

my $session;
my %id = (
	flake => 'flake_at(t)',
	typed => 'flake_at(t)::flake',
	sno => 'sno_at(t, nr % 8)',
	map { $_ => "${_}_at(t)" } qw(flake128 guid guid_local uniqueid uuidv7));

# Starts a server with a table `ids`: each column has the IDs of a month, one in 2.7 s. The view
# `made` has them and the 5,000 after them. Returns the server and a session.
sub month_of_ids {
	my ($name, @columns) = @_;
	my $ids = join ', ', map { "$id{$_} AS $_" } @columns;
	(my $node, $session) = planner_server($name, "fsync = off\nmax_wal_size = '4GB'");
	$session->query_safe(<<~"SQL");
		CREATE VIEW made AS SELECT nr, t, $ids FROM (
			SELECT nr, timestamptz '2026-10-21' + nr * interval '2678.4 ms' AS exact
			FROM generate_series(0, 1005000) AS nr
		) AS times, date_trunc('milliseconds', exact) AS t;
		SQL
	# The timer of a session begins again with each query. On a slow machine it would end before all
	# of these together.
	$session->query_safe($_)
	  for 'CREATE TABLE ids AS SELECT * FROM made WHERE nr < 1000000',
	  (map { "CREATE INDEX ON ids ($_)" } @columns, 't'), 'VACUUM ANALYZE ids';
	return ($node, $session);
}

# Returns how many rows the planner expects of a query, or of the rows of `ids` with a condition.
sub estimated {
	my ($query) = @_;
	$query = "SELECT * FROM ids WHERE $query" unless $query =~ /^(?:SELECT|EXECUTE) /;
	my $json = $session->query_safe("EXPLAIN (FORMAT json) $query");
	return JSON::PP->new->decode($json)->[0]{Plan}{'Plan Rows'};
}

sub counted {
	my ($where) = @_;
	return $session->query_safe("SELECT count(*) FROM ids WHERE $where");
}

# Tests that an estimate is at most this factor above or below another number.
sub is_near {
	my ($estimate, $real, $factor, $claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($less, $more) = sort { $a <=> $b } $estimate, $real;
	return cmp_ok($more / ($less || 1), '<=', $factor, $claim)
	  || diag("the estimate is $estimate, the number is $real");
}

1;
