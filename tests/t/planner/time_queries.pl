# Pages, joins with a table of times, and views of IDs. The order of IDs is that of their times, so
# that pages, the newest and the oldest IDs, min and max come from the index, without a sort. For
# each row of a join the index is asked for the IDs of its times and no others, also for a user who
# may read only a view.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use Test::More;
use TimePredicates;

my ($node, $session, $today, @id_types) = tables_of_ids('time_queries');
my $which = which_of('id');

for my $id_type (@id_types) {
	my $table = $id_type->{table};
	my ($from, $to) = map { "timestamptz '$id_type->{$_}'" } 't1', 't2';
	my $within = sprintf $id_type->{one_range}, "tstzrange($from, $to)";
	my $id = $session->query_safe("SELECT id FROM $table WHERE nr = 16000");
	my $last = "'$id'::$id_type->{type}";
	my $in_time = "created_at >= $from AND created_at < $to";
	# Each page by ID, and the same page by time.
	for (
		[ 'a page after the last ID', "id > $last", "created_at > $from", '', 50, 'lower' ],
		[ 'a page before the last ID', "id < $last", "created_at < $from", 'DESC', 50, 'upper' ],
		[
			'a page after the last ID within a time',
			"id > $last AND $within",
			"created_at > $from AND $in_time",
			'', 50, 'both'
		],
		[ 'the newest IDs first', 'true', 'true', 'DESC', 10, 'none' ],
		[ 'the newest IDs within a time first', $within, $in_time, 'DESC', 10, 'both' ],
		[ 'the oldest IDs within a time first', $within, $in_time, '', 10, 'both' ])
	{
		my ($words, $by_id, $by_time, $direction, $limit, $bounds) = @$_;
		my $page = "SELECT $which FROM (SELECT id FROM $table WHERE %s ORDER BY %s $direction"
		  . " LIMIT $limit) AS page";
		same_by_index(
			$id_type, "the index gives $words",
			sprintf($page, $by_id, 'id'), sprintf($page, $by_time, 'created_at'),
			bounds => $bounds,
			sorted => 1);
	}
	# PostgreSQL 18 and earlier have no min and max of uuids.
	next if $id_type->{type} eq 'uuid';
	for my $end ('min', 'max') {
		my $direction = $end eq 'min' ? '' : 'DESC';
		for ([ 'of all', 'true', 'true', 'none' ], [ 'within a time', $within, $in_time, 'both' ]) {
			my ($words, $by_id, $by_time, $bounds) = @$_;
			my $first =
			  "SELECT id FROM $table WHERE $by_time ORDER BY created_at $direction LIMIT 1";
			same_by_index(
				$id_type, "the index gives $end(id) $words",
				"SELECT $which FROM (SELECT $end(id) AS id FROM $table WHERE $by_id) AS one",
				"SELECT $which FROM ($first) AS one",
				bounds => $bounds,
				sorted => 1);
		}
	}
}

# Spans of time, some without any ID, one without end.
my $spans = 20;
$session->query_safe(<<~"SQL");
CREATE TABLE spans AS
SELECT nr, t1, t2, tstzrange(t1, t2) AS times
FROM generate_series(0, $spans - 1) AS nr,
	timestamptz (date '$today' - 29 + nr * interval '29 h') AS t1,
	timestamptz (date '$today' - 29 + nr * interval '30 h') AS t2;
ANALYZE spans;
CREATE ROLE reader;
SQL

# Returns what is wrong if a plan does not ask the index again for each span.
sub nested {
	my ($plan) = @_;
	for my $loop (grep { $_->{'Node Type'} eq 'Nested Loop' } nodes_of($plan)) {
		my @inner = grep { $_->{'Actual Loops'} == $spans } nodes_of($loop);
		return if grep { ($_->{'Index Cond'} || '') =~ /\.(?:t1|times)\b/ } @inner;
	}
	return 'no nested loop with an index below it';
}

for my $id_type (@id_types) {
	my $table = $id_type->{table};
	my $oracle = "SELECT $which FROM spans AS s"
	  . " JOIN $table AS e ON e.created_at >= s.t1 AND e.created_at < s.t2";
	my ($within, $turned) = ($id_type->{within}, $id_type->{turned}{within});
	my %join = (
		'within a column' => sprintf($within, 's.times'),
		'within a range of two columns' => sprintf($within, 'tstzrange(s.t1, s.t2)'),
		'within a column, in one range' => sprintf($id_type->{one_range}, 's.times'));
	$join{'within a column, turned round'} = sprintf $turned, 's.times' if $turned;
	$join{'from one column, before another'} = sprintf "$id_type->{from} AND $id_type->{before}",
	  's.t1', 's.t2'
	  unless $id_type->{coarse};
	for my $words (sort keys %join) {
		# The planner expects so many rows of three ranges that it would rather read all.
		my @avoid =
		  $id_type->{coarse} && $words !~ /in one range/ ? qw(seqscan indexscan indexonlyscan) : ();
		my %how = (also => \&nested, ranges => $spans, set => [ map { "enable_$_ = off" } @avoid ]);
		my $condition = $join{$words} =~ s/\bid\b/e.id/gr;
		my $join = "SELECT $which FROM spans AS s JOIN $table AS e ON $condition";
		my $lateral = 'SELECT sum(n), sum(ids) FROM spans AS s,'
		  . " LATERAL (SELECT $which FROM $table AS e WHERE $condition) AS found (n, ids)";
		same_by_index($id_type, "a join finds the IDs $words by the index", $join, $oracle, %how);
		same_by_index($id_type, "LATERAL finds the IDs $words by the index",
			$lateral, $oracle, %how);
	}
}

# An ordinary user may read the views and not the tables.
for my $id_type (@id_types) {
	my ($table, $one_range) = @{$id_type}{ 'table', 'one_range' };
	my ($from, $to) = map { "timestamptz '$id_type->{$_}'" } 't1', 't2';
	$session->query_safe(<<~"SQL");
	CREATE VIEW ${table}_made AS
	SELECT id, $id_type->{function}_timestamp(id) AS made_at, created_at FROM $table;
	CREATE VIEW ${table}_guarded WITH (security_barrier) AS
	SELECT id, created_at FROM $table WHERE nr >= 0;
	GRANT SELECT ON ${table}_made, ${table}_guarded TO reader;
	SQL
	my $five_minutes = "now() - interval '5 min'";
	my $within = "created_at >= $from AND created_at < $to";
	my @asked = (
		[ 'from a time', $id_type->{from}, [$five_minutes], "created_at >= $five_minutes" ],
		[ 'within a range', $id_type->{within}, ["tstzrange($from, $to)"], $within ],
		[ 'within one range', $one_range, ["tstzrange($from, $to)"], $within ]);
	push @asked,
	  [ 'between two', $id_type->{between}, [ $from, $to ], "created_at BETWEEN $from AND $to" ]
	  unless $id_type->{coarse};
	for (@asked) {
		my ($words, $by_id, $times, $by_time) = @$_;
		my $condition = sprintf $by_id, @$times;
		my $oracle = "SELECT $which FROM ${table}_made WHERE $by_time";
		my %how = (bounds => $words eq 'from a time' ? 'lower' : 'both', set => ['ROLE reader']);
		my $finds = "an index range finds the IDs $words through a view";
		my $view = "SELECT $which FROM ${table}_made WHERE $condition";
		my $barrier = "SELECT $which FROM ${table}_guarded WHERE $condition";
		same_by_index($id_type, $finds, $view, $oracle, %how);
		$how{filter} = 'nr >= 0';
		same_by_index($id_type, "$finds that is a barrier", $barrier, $oracle, %how);
	}
}

$session->quit;
$node->stop;
done_testing();
