# Rows of an hour and of a day out of a month, found by their IDs and by a column of times; and what
# the index of that column costs, which the IDs make needless.
package Scans;
use strict;
use warnings;
use Exporter 'import';
use List::Util qw(sum);
use Inserts    qw(insert_million);
use Plot;
use Report;
use Rounds;
use Server;

our @EXPORT =
  qw(scan_of_a_time cost_of_the_index_of_times make_month windows scan_windows window_query
  plan_of);

# Midnight, so that a window begins with a tick of every format.
my $month_begins = "timestamptz '2026-06-01 00:00+00'";
my %window = (hour => 720, day => 30);
my @month = (
	# Table, type, the ID for a time and a number, whether it is of a range of times.
	[ 'flake', 'bigint', 'flake_at(%s, %s)', 'flake_within(id, %s)' ],
	[ 'sno', 'sno', 'sno_at(%s, 0, %s)', 'id <@ %s' ],);
# Where the flakes' epoch is an argument, the planner knows the IDs that it comes to; else they are
# found while the query runs.
my $with_epoch = "flake_within(id, %s, '2010-01-01 00:00+00')";

# The table `month_SYSTEM` of 5 million rows over a month, in the order of time as they would have
# come, with the time a second time in a column of its own; and, if late rows are asked for,
# `late_SYSTEM`, where one row in a thousand is of any time of the month. Each is made once for all
# sections.
my %made;

sub make_month {
	my ($id_type, $late) = @_;
	my $table = ($late ? 'late' : 'month') . "_$id_type";
	return $table if $made{$table}++;
	my ($type, $at) = map { @$_[ 1, 2 ] } grep { $_->[0] eq $id_type } @month;
	my $rows = 5 * million();
	progress("$table: $rows rows of a month");
	my $id = sprintf $at, 'created_at', 'i';
	# A prime, so that it spreads them.
	my $place = $late ? "CASE WHEN i % 1000 = 7 THEN i * 7919 % $rows ELSE i END" : 'i';
	psql('bench', <<"END");
CREATE TABLE $table (id $type NOT NULL, created_at timestamptz NOT NULL, payload integer);
INSERT INTO $table SELECT $id, created_at, i FROM (
    SELECT i, $month_begins + ($place) * (interval '30 days' / $rows) AS created_at
    FROM generate_series(0::bigint, $rows - 1) AS i
) AS s;
END
	psql('bench', <<"END") unless $late;
CREATE UNIQUE INDEX ${table}_id ON $table (id);
CREATE INDEX ${table}_created_at ON $table (created_at);
END
	psql('bench', "VACUUM (FREEZE, ANALYZE) $table;");
	return $table;
}

# The rows of the number-th hour or day, by `id`, `created_at` or, of flakes, `epoch`.
sub window_query {
	my ($table, $by, $unit, $number) = @_;
	my $id_type = $table =~ s/.*_//r;
	my ($within) =
	  $by eq 'epoch' ? $with_epoch : map { $_->[3] } grep { $_->[0] eq $id_type } @month;
	my ($from, $to) = map { literal($unit, $number + $_) } 0, 1;
	my $condition =
	  $by eq 'created_at'
	  ? "created_at >= $from AND created_at < $to"
	  : sprintf($within, "tstzrange($from, $to)");
	return "SELECT sum(payload) FROM $table WHERE $condition";
}

# Literals, as an application has them.
sub literal {
	my ($unit, $number) = @_;
	my $hour = $unit eq 'day' ? 24 * $number : $number;
	# July begins where June's 30 days are over.
	my ($month, $day) = $hour < 720 ? (6, 1 + int($hour / 24)) : (7, 1);
	return sprintf "timestamptz '2026-%02d-%02d %02d:00+00'", $month, $day, $hour % 24;
}

# So many hours and days, the same for all contenders and others in every round.
sub windows {
	my ($round, $hours, $days) = @_;
	return (
		(map { [ 'hour', ($round * 97 + $_ * 131) % $window{hour} ] } 1 .. $hours),
		map { [ 'day', ($round * 7 + $_ * 11) % $window{day} ] } 1 .. $days);
}

# Milliseconds for an hour and for a day. Each query runs twice in a row and the second time counts,
# so that the rows are in the buffers for the first contender, too. Statements before and after are
# for indexes that are to be out of the planner's sight.
sub scan_windows {
	my ($query, $before, $after, @windows) = @_;
	my @timed = map { timed($query->(@$_)) } @windows;
	my @ms = psql('bench', @$before, (map { (unprinted($_), $_) } @timed), @$after);
	my %ms;
	push @{ $ms{ $windows[$_][0] } }, $ms[$_] for 0 .. $#windows;
	return map { $_ => sum(@{ $ms{$_} }) / @{ $ms{$_} } } keys %ms;
}

# What the planner chose, and what came out.
sub plan_of {
	my ($query, $before, $after) = @_;
	my ($plan) = map { /^\s*(?:->\s+)?(\w[\w ]* Scan)(?: using \S+)? on / ? $1 : () }
	  psql('bench', @$before, "EXPLAIN (COSTS OFF) $query;", @$after);
	my ($sum) = psql('bench', @$before, "$query;", @$after);
	return ($plan // 'unknown', $sum);
}

sub scan_of_a_time {
	my ($rounds) = @_;
	my @contenders = map {
		my ($id_type) = @$_;
		map { [ "$id_type by $_", $id_type, $_ ] } 'id', 'created_at'
	} @month;
	my (%table, %plan);
	for my $id_type (map { $_->[0] } @month) {
		$table{$id_type} = make_month($id_type);
		for my $unit (keys %window) {
			my %sum;
			for ('id', 'created_at') {
				my $query = window_query($table{$id_type}, $_, $unit, 7);
				($plan{"$id_type by $_"}{$unit}, $sum{$_}) = plan_of($query, [], []);
			}
			$sum{id} eq $sum{created_at}
			  or die "tests/bench/run: another $unit by $id_type than by created_at\n";
		}
	}
	my (%ms, %ratio);
	rounds(
		'scan', $rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			my %now;
			for (@contenders[@order]) {
				my ($name, $id_type, $by) = @$_;
				my $query = sub { window_query($table{$id_type}, $by, @_) };
				$now{$id_type}{$by} =
				  { scan_windows($query, [], [], windows($counts, quick() ? (2, 1) : (10, 3))) };
				next unless $counts;
				push @{ $ms{$_}{$name} }, $now{$id_type}{$by}{$_} for keys %window;
			}
			return unless $counts;
			for my $id_type (keys %now) {
				push @{ $ratio{$_}{$id_type} },
				  $now{$id_type}{id}{$_} / $now{$id_type}{created_at}{$_}
				  for keys %window;
			}
		});
	heading('Rows of a time');
	text(<<"END");
An hour and a day out of 5 million rows of a month, by the ID's own index and by that of a column
`created_at`: `SELECT sum(payload) FROM month WHERE flake_within(id, tstzrange(...))`, for sno `id
<\@ tstzrange(...)`, and `created_at >= ... AND created_at < ...`, planning and all.
END
	table(
		[
			'rows',
			'an hour, ms',
			'times created_at',
			'a day, ms',
			'times created_at',
			'plan of the hour',
			'of the day',
			'index, MB'
		],
		map {
			my ($name, $id_type, $by) = @$_;
			my $size =
			  psql('bench', "SELECT round(pg_relation_size('$table{$id_type}_$by') / 1e6)");
			my @cells = map {
				(   spread($ms{$_}{$name}, '%.2f'),
					$by eq 'id' ? spread($ratio{$_}{$id_type}, '%.2f') : '1')
			} 'hour', 'day';
			[ $name, @cells, $plan{$name}{hour}, $plan{$name}{day}, $size ]
		} @contenders);
	bars(
		'scan',
		'Rows of a time, out of 5 million of a month',
		{ title => 'an hour, milliseconds', format => '%.2f', values => $ms{hour} },
		{ title => 'a day, milliseconds', format => '%.2f', values => $ms{day} });
	for my $id_type ('flake', 'sno') {
		goal("scan of one $_ by $id_type, times by created_at", '<=', '1.10', $ratio{$_}{$id_type})
		  for 'hour', 'day';
	}
}

# clock_timestamp() and not now(), whose single value in a million rows would make the index a small
# one.
sub cost_of_the_index_of_times {
	my ($rounds) = @_;
	my $column = ', created_at timestamptz NOT NULL DEFAULT clock_timestamp()';
	my @variants = (
		[ 'id alone', '', '' ],
		[ 'id and created_at', $column, '' ],
		[ 'id and created_at with its index', $column, 'CREATE INDEX ON filled (created_at);' ],);
	my @contenders = map {
		my ($name, $type) = @$_;
		map { [ $name, $type, @$_ ] } @variants
	}[ 'flake_next()', 'bigint' ], [ 'sno_next(0)', 'sno' ];
	my (%of, %faster);
	rounds(
		'created_at',
		$rounds,
		scalar @contenders,
		sub {
			my ($counts, @order) = @_;
			my %now;
			for (@contenders[@order]) {
				my ($id, $type, $variant, $columns, $index) = @$_;
				my $key = "id $type DEFAULT $id PRIMARY KEY";
				psql('bench', "CREATE TABLE filled ($key, payload integer$columns); $index");
				$now{$id}{$variant} = insert_million('bench');
				psql('bench', 'DROP TABLE filled;');
			}
			return unless $counts;
			for my $id (keys %now) {
				my %variant = %{ $now{$id} };
				for my $name (keys %variant) {
					push @{ $of{"$id: $name"}{$_} }, $variant{$name}{$_}
					  for keys %{ $variant{$name} };
				}
				push @{ $faster{$id} },
				  $variant{ $variants[2][0] }{seconds} / $variant{ $variants[0][0] }{seconds};
			}
		});
	heading('What an index of times costs');
	text('A million rows into an empty table whose key is the ID, with its commit.');
	text('');
	my @names = map { "$_->[0]: $_->[2]" } @contenders;
	table(
		[ 'table', 'seconds', 'indexes, MB', 'WAL, MB' ],
		map {
			[
				$_,
				spread($of{$_}{seconds}, '%.2f'),
				spread($of{$_}{indexes}, '%.1f'),
				spread($of{$_}{wal}, '%.0f')
			]
		} @names);
	my $values = sub {
		my ($key) = @_;
		return { map { $_ => $of{$_}{$key} } @names };
	};
	bars(
		'created_at',
		'What an index of times costs: a million rows',
		{ title => 'seconds', format => '%.2f', values => $values->('seconds') },
		{ title => 'WAL, MB', format => '%.0f', values => $values->('wal') },
		{ title => 'indexes, MB', format => '%.0f', values => $values->('indexes') });
	goal("a million rows, $_: times faster than with created_at and its index",
		'>=', '1.30', $faster{$_})
	  for 'flake_next()', 'sno_next(0)';
}

1;
