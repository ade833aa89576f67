# A condition on the time of IDs prunes the partitions of other times: in the plan, when a prepared
# statement begins, and in joins of two tables with the same partitions.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PostgreSQL::Test::Utils;
use Test::More;
use TimePredicates;

my ($node, $session, $today, @id_types) = tables_of_ids('time_partitions');
my $which = which_of('id');

# Creates a table with a partition for each day. The first and the last have all before and after.
sub partition {
	my ($id_type, $table) = @_;
	my $day = sub { sprintf $id_type->{min}, "timestamptz (date '$today' + ($_[0] - 30))" };
	my $sql = "CREATE TABLE $table (id $id_type->{type} PRIMARY KEY, created_at timestamptz)"
	  . ' PARTITION BY RANGE (id);';
	for my $nr (0 .. $DAYS - 1) {
		my $first = $nr ? $day->($nr) : 'MINVALUE';
		my $next = $nr < $DAYS - 1 ? $day->($nr + 1) : 'MAXVALUE';
		my $name = sprintf "${table}_%02d", $nr;
		$sql .= "CREATE TABLE $name PARTITION OF $table FOR VALUES FROM ($first) TO ($next);";
	}
	$session->query_safe("$sql INSERT INTO $table SELECT id, created_at FROM $id_type->{table}");
	$session->query_safe("VACUUM (ANALYZE) $table");
	return;
}

# Returns what is wrong if a plan reads other partitions than these, or if another number of them
# was removed only when the query began.
sub reads {
	my ($plan, $table, $wanted, $removed) = @_;
	my %read = map { $_ => 1 } map { (table_of($_) =~ /^${table}_(\d\d)/) } nodes_of($plan);
	my $read = join ' ', sort keys %read;
	my ($late) = ((map { $_->{'Subplans Removed'} || () } nodes_of($plan)), 0);
	my @wrong;
	push @wrong, "partitions $read are read, not $wanted" if $read ne $wanted;
	push @wrong, "$late partitions are removed when the query begins, not $removed"
	  if $late != $removed;
	return @wrong;
}

# Returns what is wrong if a join is not one of two partitions of the same day.
sub joins {
	my ($plan) = @_;
	my @joins = grep { $_->{'Node Type'} =~ /Join|Nested Loop/ } nodes_of($plan);
	return 'no joins' unless @joins;
	for my $join (@joins) {
		my %day =
		  map { table_of($_) =~ /_((?:by_day|beside)_(\d\d))/ ? ($1 => $2) : () } nodes_of($join);
		my %days = map { $_ => 1 } values %day;
		return 'a join of ' . join(', ', sort keys %day) unless keys %day == 2 && keys %days == 1;
	}
	return;
}

# A day and two halves.
my ($from, $to) =
  map { $session->query_safe("SELECT timestamptz (date '$today' - $_) + interval '12 h'") } 20, 18;
my $range = [ tstzrange => "[$from,$to)" ];
my @ends = map { [ timestamptz => $_ ] } $from, $to;
my $three_days = '10 11 12';
# A guid of another drift would be before or after all.
my $and_outer = "00 $three_days 31";

for my $id_type (@id_types) {
	my ($by_day, $beside) = map { "$id_type->{table}_$_" } 'by_day', 'beside';
	partition($id_type, $_) for $by_day, $beside;
	my $oracle = "SELECT $which FROM $by_day WHERE created_at >= '$from' AND created_at < '$to'";
	# The epoch is that of a setting, which is known only when the query begins.
	my $of_setting = $id_type->{name} =~ /^flake(?:_type)?\z/;
	my @kinds = [ 'a range', $id_type->{one_range}, [$range], $three_days ];
	push @kinds,
	  $id_type->{coarse}
	  ? [
		'a range of any drift', $id_type->{within},
		[$range], $and_outer,
		qw(indexscan indexonlyscan)
	  ]
	  : [ 'two ends', "$id_type->{from} AND $id_type->{before}", \@ends, $three_days ];
	for (@kinds) {
		my ($words, $by_id, $values, $read, @off) = @$_;
		my @literals = literals(@$values);
		my $others = $DAYS - split ' ', $read;
		my @set = map { "enable_$_ = off" } 'seqscan', @off;
		my $condition = sprintf $by_id, @literals;
		my $removed = $of_setting ? $others : 0;
		same_by_index(
			$id_type,
			"$words: the plan has no other partitions",
			"SELECT $which FROM $by_day WHERE $condition",
			$oracle,
			set => \@set,
			also => sub { reads(@_, $by_day, $read, $removed) });

		my $types = join ', ', map { $_->[0] } @$values;
		my $asked = sprintf $by_id, map { "\$$_" } 1 .. @$values;
		$session->query_safe("PREPARE asked ($types) AS SELECT $which FROM $by_day WHERE $asked");
		same_by_index(
			$id_type,
			"$words, prepared: the other partitions are removed when the query begins",
			'EXECUTE asked (' . join(', ', @literals) . ')', $oracle,
			set => [ 'plan_cache_mode = force_generic_plan', @set ],
			also => sub { reads(@_, $by_day, $read, $others) });
		$session->query_safe('DEALLOCATE asked');

		# One of two tables has the condition, and no other partition of either is read.
		next if $of_setting;
		my $join =
			"SELECT ${\which_of('a.id')} FROM $by_day AS a JOIN $beside AS b USING (id)"
		  . ' WHERE '
		  . $condition =~ s/\bid\b/a.id/gr;
		my ($plan, $got, $wanted) = answers($join, $oracle, 'enable_partitionwise_join = on', @set);
		my @wrong = (map({ reads($plan, $_, $read, 0) } $by_day, $beside), joins($plan));
		push @wrong, "the answer is $got, not $wanted" unless $got eq $wanted;
		my $claim = "$words: a join meets each partition with its own";
		is(join("\n", @wrong), '', "$id_type->{name}: $claim")
		  || diag(join "\n", $join, summary_of($plan));
	}
	# The clock gives a time within two days.
	my @noon = map { "now() - (now() - timestamptz '$_')" } $from, $to;
	my $by_clock = sprintf $id_type->{one_range}, "tstzrange($noon[0], $noon[1])";
	same_by_index(
		$id_type,
		'times of the clock: the other partitions are removed when the query begins',
		"SELECT $which FROM $by_day WHERE $by_clock",
		$oracle,
		set => ['enable_seqscan = off'],
		also => sub { reads(@_, $by_day, $three_days, $DAYS - 3) });
	my $page = "SELECT $which FROM (SELECT id FROM $by_day ORDER BY %s DESC LIMIT 10) AS page";
	same_by_index(
		$id_type, 'the indexes of partitions give the newest IDs first',
		sprintf($page, 'id'), sprintf($page, 'created_at'),
		bounds => 'none',
		sorted => 1);
}

# docs/time.md detaches old months and drops them. It does not drop one that it could not detach.
my ($page) = slurp_file('docs/time.md') =~ /^### Drop old months\n(.*?)^### /ms;
my ($drop) = $page =~ /^```sql\n(.*?\\gexec)\n/ms;
for my $default (0, 1) {
	$node->safe_psql('postgres', <<~"SQL");
		DROP TABLE IF EXISTS visits;
		CREATE TABLE visits (id flake) PARTITION BY RANGE (id);
		CREATE TABLE visits_2015_03 PARTITION OF visits
			FOR VALUES FROM (flake_min('2015-03-01')) TO (flake_min('2015-04-01'));
		@{[ $default ? 'CREATE TABLE visits_default PARTITION OF visits DEFAULT' : '' ]}
		SQL
	my $code = $node->psql('postgres', $drop, on_error_stop => 0);
	is($code, $default ? 3 : 0, 'the page drops old months ' . ($default ? 'or fails' : ''));
	is( $node->safe_psql('postgres', "SELECT to_regclass('visits_2015_03')"),
		$default ? 'visits_2015_03'                           : '',
		$default ? 'a month stays that could not be detached' : 'the old month is gone');
}

$session->quit;
$node->stop;
done_testing();
