# The order of IDs is that of their times: pages, the newest and the oldest IDs, min and max come
# from the index, without a sort.
use strict;
use warnings;
use lib 'tests/perl';

use Test::More;
use TimePredicates;

my ($node, $session, $today, @id_types) = tables_of_ids('time_orders');
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

$session->quit;
$node->stop;
done_testing();
