# Time as a predicate, proven by plans: in every spelling, the index of the IDs is asked for the IDs of
# these times and no others, and the answer is that of a column of times.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('time_predicates');
$node->init;
# No other plans than those of the queries' own worth.
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

# How an ID type is asked: by operators, which can be turned round; flake by functions, and from a time on is "not
# before" it. A guid is asked by its operators for any drift, and by a function for one drift, in one range.
sub typed {
	my ($name, %more) = @_;
	return {
		name => $name,
		type => $name,
		at => "${name}_at(t, nr % 7)",
		min => "${name}_min(%s)",
		within => 'id <@ %s',
		between => 'id BETWEEN %s AND %s',
		from => 'id >= %s',
		after => 'id > %s',
		before => 'id < %s',
		until => 'id <= %s',
		on => 'id = %s',
		turned => {
			within => '%s @> id',
			from => '%s <= id',
			after => '%s < id',
			before => '%s > id',
			until => '%s >= id',
			on => '%s = id'
		},
		one_range => 'id <@ %s',
		%more
	};
}

sub flake {
	my ($name, $epoch) = @_;
	return {
		name => $name,
		type => 'bigint',
		function => 'flake',
		at => 'flake_at(t, nr % 7)',
		min => "flake_min(%s, '2010-01-01 00:00+00')",
		within => "flake_within(id, %s$epoch)",
		one_range => "flake_within(id, %s$epoch)",
		between => "flake_between(id, %s, %s$epoch)",
		from => "flake_since(id, %s$epoch)",
		after => "flake_after(id, %s$epoch)",
		before => "flake_before(id, %s$epoch)",
		until => "NOT flake_after(id, %s$epoch)",
		# The positive half of flake's times begins. A time that is no constant is compared with each row for that.
		rechecks => qr/^flakeid_recheck\(\(\(\w*\.?id >= '0'::bigint\) OR /,
		turned => {}
	};
}

my @id_types = (
	flake('flake', ''),
	flake('flake_epoch', ", '2010-01-01 00:00+00'"),
	# As for a bigint, the range begins with the first flake, 0.
	typed(
		'flake_type',
		type => 'flake',
		function => 'flake',
		at => 'flake_at(t, nr % 7)',
		min => "flake_min(%s, '2010-01-01 00:00+00')",
		rechecks => qr/^flakeid_recheck\(\(\(\w*\.?id >= '0'::bigint\) OR /),
	typed('sno', at => 'sno_at(t, nr % 256, nr % 7)'),
	typed('flake128'),
	typed('guid', rechecks => qr/flakeid_recheck/, coarse => 1, one_range => 'guid_within(id, %s)'),
	typed(
		'guid_local',
		rechecks => qr/flakeid_recheck/,
		coarse => 1,
		one_range => 'guid_local_within(id, %s)'),
	typed(
		'uuidv7',
		type => 'uuid',
		within => 'uuidv7_within(id, %s)',
		one_range => 'uuidv7_within(id, %s)',
		between => 'uuidv7_between(id, %s, %s)',
		from => 'uuidv7_since(id, %s)',
		after => 'uuidv7_after(id, %s)',
		before => 'uuidv7_before(id, %s)',
		# Another UUID is not after a time either.
		until => undef,
		on => undef,
		# Each uuid shows whether it is of version 7.
		rechecks => qr/^flakeid_recheck\(\(?uuidv7_valid\((?:\w+\.)?id\)/,
		turned => {}),
	# Each ID shows whether it is spread.
	typed('uniqueid', rechecks => qr/^flakeid_recheck\(\(?uniqueid_sequential\((?:\w+\.)?id\)/),);

# A month of IDs, at odd times, until after tomorrow, and beside each its time.
my $rows = 20_000;
my $days = 32;
my $session = session($node);
my $today = $session->query_safe('SELECT current_date');
$session->query_safe(<<"SQL");
CREATE TABLE moments AS
SELECT nr, date '$today' - 30 + (nr + random()) * interval '$days days' / $rows AS t
FROM (SELECT setseed(0.5)) AS seed, generate_series(0, $rows - 1) AS nr;
SQL
for my $id_type (@id_types) {
	my $table = $id_type->{table} = "$id_type->{name}s";
	my $function = $id_type->{function} || $id_type->{name};
	$session->query_safe(<<"SQL");
CREATE TABLE $table (id $id_type->{type}, nr integer, created_at timestamptz);
INSERT INTO $table (id, nr) SELECT $id_type->{at}, nr FROM moments;
UPDATE $table SET created_at = ${function}_timestamp(id);
ALTER TABLE $table ADD PRIMARY KEY (id);
SQL
	# An index tells what all may see only of pages without old rows.
	$session->query_safe("VACUUM (FULL) $table");
	$session->query_safe("VACUUM (ANALYZE) $table");
	my $counts = $session->query_safe(
		"SELECT count(*), count(DISTINCT id), count(DISTINCT created_at) FROM $table");
	is($counts, join('|', ($rows) x 3), "$id_type->{name}: a month of IDs");
}

# One row: how many IDs, and which.
my $which = 'count(*), coalesce(sum(hashtextextended(id::text, 0)), 0)';

# What is wrong with a plan of this ID type's table.
sub wrong {
	my ($id_type, $plan, $count, %how) = @_;
	my @wrong;
	my @scans = grep { table_of($_) =~ /^$id_type->{table}/ } scans_of($plan);
	# That nothing is within NULL is known without looking, if it is known early.
	push @wrong, 'nothing is looked at' if !@scans && $count > 0;
	my $bounds = $how{bounds} || 'both';
	# The other ranges of a guid have the IDs of other drifts, of which the table has no row.
	for my $scan (grep { !($id_type->{coarse} && is_of_other_drifts($_)) } @scans) {
		push @wrong, "a $scan->{'Node Type'}" unless $scan->{'Node Type'} =~ /Index/;
		push @wrong, "bounds: " . bounds_of($scan) unless $bounds eq bounds_of($scan);
	}
	for my $filter (map { conjuncts($_) } filters_of($plan)) {
		next if $id_type->{rechecks} && $filter =~ $id_type->{rechecks};
		push @wrong, "filter: $filter" unless $how{filter} && $filter eq $how{filter};
	}
	push @wrong, 'it is sorted'
	  if $how{sorted} && grep { $_->{'Node Type'} =~ /Sort/ } nodes_of($plan);
	# The coarse time is 275 s, so at either end a guid's range has up to eleven more.
	# Of many scans the mean is known, up to version 17 in whole rows.
	my $entries = entries_of(@scans);
	my $ranges = $how{ranges} || 1;
	my $less = $ranges > 1 ? $ranges / 2 : 0;
	my $more = $less + ($id_type->{coarse} ? 22 * $ranges : 0);
	push @wrong, "$entries rows are looked at for $count"
	  if $entries < $count - $less || $entries > $count + $more;
	return @wrong;
}

# Whether a scan is one for the IDs of drifts that are lower or higher than the usual one.
sub is_of_other_drifts {
	my ($scan) = @_;
	return ($scan->{'Index Cond'} // '') =~ /^\((?:\w+\.)?id [<>] '[^']*'::guid(?:_local)?\)$/;
}

# The parts of a condition that are joined by AND at its top.
sub conjuncts {
	my ($condition) = @_;
	my ($depth, @parts) = (0, '');
	$condition =~ s/^\((.*)\)$/$1/ if $condition =~ /^(\((?:[^()]++|(?1))*\))$/;
	for my $token (split /( AND |[()])/, $condition) {
		if ($token eq ' AND ' && $depth == 0) {
			push @parts, '';
			next;
		}
		$depth += $token eq '(' ? 1 : $token eq ')' ? -1 : 0;
		$parts[-1] .= $token;
	}
	return @parts > 1 ? map { conjuncts($_) } @parts : @parts;
}

# A query's plan and answer, and that of another, in one transaction with these settings. What doesn't look at the
# clock need not be asked twice.
my %known;

sub answers {
	my ($query, $oracle, @settings) = @_;
	$session->query_safe(join ' ', 'BEGIN;', map { "SET LOCAL $_;" } @settings);
	my $plan = plan_of($session, $query);
	my $got = $session->query_safe($query);
	my $wanted = $known{$oracle} // $session->query_safe($oracle);
	$session->query_safe('COMMIT');
	$known{$oracle} = $wanted unless $oracle =~ /now\(\)|current_|local/;
	return ($plan, $got, $wanted);
}

# Tests that a query gives what the other gives, in the same transaction, and how it comes to that. A query's
# first column is the number of IDs.
sub same_by_index {
	my ($id_type, $claim, $query, $oracle, %how) = @_;
	my ($plan, $got, $wanted) = answers($query, $oracle, @{ $how{set} || [] });
	my ($count) = $wanted =~ /^(\d+)/;
	my @wrong = wrong($id_type, $plan, $count, %how);
	push @wrong, "the answer is $got, not $wanted" unless $got eq $wanted;
	push @wrong, "there are $count" if ($count == 0) != !!$how{none};
	push @wrong, $how{also}->($plan) if $how{also};
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", @wrong), '', "$id_type->{name}: $claim")
	  || diag(join "\n", $query, summary_of($plan));
}

# Of a predicate of IDs and the one of times, the plan for the values that are given, and the plan that is made
# once for any: as a prepared statement has it. The values are [type, text].
sub predicate {
	my ($id_type, $claim, $by_id, $by_time, $values, %how) = @_;
	my @literals = map { defined $_->[1] ? "$_->[0] '$_->[1]'" : "NULL::$_->[0]" } @$values;
	my @parameters = map { "\$$_" } 1 .. @$values;
	my $oracle = sprintf "SELECT $which FROM $id_type->{table} WHERE $by_time", @literals;

	# A query for nearly all rows does best without a range of the index, if it may.
	my @set = $how{wide} ? 'enable_seqscan = off' : ();
	push @set, 'enable_indexonlyscan = off', 'enable_indexscan = off'
	  if $how{wide} && $id_type->{coarse};
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_by_index(
		$id_type, $claim, sprintf("SELECT $which FROM $id_type->{table} WHERE $by_id", @literals),
		$oracle, %how,
		set => \@set,
		bounds => $how{of_literals});
	return if $how{once};

	$session->query_safe(
		sprintf "PREPARE asked (%s) AS SELECT $which FROM $id_type->{table} WHERE $by_id",
		join(', ', map { $_->[0] } @$values), @parameters);
	same_by_index(
		$id_type,
		"$claim, prepared",
		'EXECUTE asked (' . join(', ', @literals) . ')',
		$oracle, %how, set => ['plan_cache_mode = force_generic_plan']);
	$session->query_safe('DEALLOCATE asked');
	return;
}

# values ----------------------------------------------------------------------------------------------------

for my $id_type (@id_types) {
	my ($from, $to) =
	  map { $session->query_safe("SELECT created_at FROM $id_type->{table} WHERE nr = $_") } 16_000,
	  16_080;
	@{ $id_type->{times} }{ 'from', 'to' } = ($from, $to);
	my @both = ([ timestamptz => $from ], [ timestamptz => $to ]);

	# The last five minutes.
	my $since = "now() - interval '5 min'";
	for my $way ($id_type, $id_type->{turned}) {
		my $turned = $way == $id_type ? '' : ', turned round';
		next unless $way->{from};
		for my $case (
			[ 'from', '>=', $since, 'lower' ],
			[ 'after', '>', $since, 'lower' ],
			[ 'from', '>=', 'current_date', 'lower' ],
			[ 'from', '>=', "localtimestamp - interval '5 min'", 'lower' ],
			[ 'before', '<', "current_date - 27", 'upper' ],
			[ 'until', '<=', "current_date - 27", 'upper' ])
		{
			my ($word, $operator, $time, $bounds) = @$case;
			next unless $way->{$word};
			same_by_index(
				$id_type,
				"$word $time$turned",
				sprintf("SELECT $which FROM $id_type->{table} WHERE $way->{$word}", $time),
				"SELECT $which FROM $id_type->{table} WHERE created_at $operator $time",
				bounds => $bounds);
		}
		same_by_index(
			$id_type,
			"within the last five minutes$turned",
			sprintf("SELECT $which FROM $id_type->{table} WHERE $way->{within}",
				"tstzrange($since, now(), '[]')"),
			"SELECT $which FROM $id_type->{table} WHERE created_at BETWEEN $since AND now()");
	}

	# From one time to another. Of a guid either is half the index.
	unless ($id_type->{coarse}) {
		my $by_time = 'created_at BETWEEN %s AND %s';
		same_by_index(
			$id_type,
			'between two times that the clock gives',
			sprintf(
				"SELECT $which FROM $id_type->{table} WHERE $id_type->{between}",
				$since, 'now()'),
			"SELECT $which FROM $id_type->{table} WHERE created_at BETWEEN $since AND now()");
		my @dates = map { $session->query_safe("SELECT date '$today' - $_") } 20, 19;
		for my $case (
			[ 'two times', \@both ],
			[ 'two times, swapped', [ reverse @both ], none => 1 ],
			[ 'two dates', [ map { [ date => $_ ] } @dates ] ],
			[ 'two times without a zone', [ map { [ timestamp => "$_ 12:34:56.789" ] } @dates ] ],
			[ 'NULL and a time', [ [ timestamptz => undef ], $both[1] ], none => 1 ],
			[
				'the infinities',
				[ map { [ timestamptz => $_ ] } '-infinity', 'infinity' ],
				wide => 1
			])
		{
			my ($words, $values, %how) = @$case;
			# Until infinity is no end.
			$how{of_literals} = 'lower'
			  if $words eq 'the infinities' && $id_type->{type} =~ /^(?:bigint|uuid)$/;
			predicate($id_type, "between $words", $id_type->{between}, $by_time, $values, %how);
		}
		for my $way ($id_type, $id_type->{turned}) {
			my $turned = $way == $id_type ? '' : ', turned round';
			next unless $way->{from};
			predicate(
				$id_type,
				"from one, before another$turned",
				"$way->{from} AND $way->{before}",
				'created_at >= %s AND created_at < %s', \@both);
			next unless $way->{until};
			predicate(
				$id_type,
				"after one, until another$turned",
				"$way->{after} AND $way->{until}",
				'created_at > %s AND created_at <= %s', \@both);
		}
	}
	# Of a guid, a time that is NULL is known to be so only before the plan is made.
	for my $way ($id_type, $id_type->{turned}) {
		next unless $way->{on};
		my $turned = $way == $id_type ? '' : ', turned round';
		predicate(
			$id_type, "on the microsecond$turned",
			$way->{on},
			'created_at = %s',
			[ $both[0] ]);
		predicate(
			$id_type, "on NULL$turned", $way->{on}, 'created_at = %s', [ [ timestamptz => undef ] ],
			none => 1,
			once => $id_type->{coarse});
	}

	# Within ranges of every kind.
	my ($before_all, $after_all) = ('2001-01-01 00:00:00+00', '2038-01-01 00:00:00+00');
	my %ranges = (
		some => [ "[$from,$to)", "($from,$to]", "[$from,$to]", "($from,$to)", "[$from,$from]" ],
		none => [
			'empty', undef,
			"[$from,$from)", '[infinity,infinity]',
			'[infinity,)', '(,-infinity]',
			"[$before_all,$before_all]", "(,$before_all)",
			"[$after_all,)"
		],
		wide => [
			"[$from,]", "($from,)",
			"[,$to]", "(,$to)",
			'(,)', '[-infinity,infinity]',
			'(-infinity,infinity)', "[-infinity,$to)",
			"($from,infinity]", "[$before_all,$after_all]"
		]);
	for my $kind (sort keys %ranges) {
		for my $range (@{ $ranges{$kind} }) {
			my ($times, @value) = ($range // 'NULL', [ tstzrange => $range ]);
			my %way = ('' => $id_type->{within}, ', turned round' => $id_type->{turned}{within});
			$way{', in one range of the index'} = $id_type->{one_range} if $id_type->{coarse};
			for my $way (grep { $way{$_} } sort keys %way) {
				predicate(
					$id_type, "within $times$way",
					$way{$way}, 'created_at <@ %s',
					\@value, $kind => 1);
			}
		}
	}
	# A range of two parameters, either of which may be NULL: without an end.
	for my $ends ([ $from, $to ], [ $from, undef ], [ undef, $to ], [ undef, undef ]) {
		my $what = join ' to ', map { $_ // 'NULL' } @$ends;
		predicate(
			$id_type,
			"within a range from $what",
			sprintf($id_type->{within}, 'tstzrange(%s, %s)'),
			'created_at <@ tstzrange(%s, %s)',
			[ map { [ timestamptz => $_ ] } @$ends ],
			wide => scalar grep { !defined } @$ends);
	}
}

# joins -----------------------------------------------------------------------------------------------------

# Spans of time, some without any ID, one without end.
my $spans = 20;
$session->query_safe(<<"SQL");
CREATE TABLE spans AS
SELECT nr, t1, t2, tstzrange(t1, t2) AS times
FROM generate_series(0, $spans - 1) AS nr, timestamptz (date '$today' - 29 + nr * interval '29 h') AS t1,
     timestamptz (date '$today' - 29 + nr * interval '30 h') AS t2;
ANALYZE spans;
SQL

# That for each row of one side the index is asked again.
sub nested {
	my ($plan) = @_;
	return 'no nested loop with an index below it' unless grep {
		$_->{'Node Type'} eq 'Nested Loop'
		  && grep {
			$_->{'Actual Loops'} == $spans
			  && ($_->{'Index Cond'} || '') =~ /\.(?:t1|times)\b/
		  } nodes_of($_)
	} nodes_of($plan);
	return;
}

for my $id_type (@id_types) {
	my $table = $id_type->{table};
	my $oracle =
	  "SELECT $which FROM spans AS s JOIN $table AS e ON e.created_at >= s.t1 AND e.created_at < s.t2";
	my %how = (also => \&nested, ranges => $spans);
	my %join = (
		'from one column, before another' =>
		  sprintf("$id_type->{from} AND $id_type->{before}", 's.t1', 's.t2'),
		'within a column' => sprintf($id_type->{within}, 's.times'),
		'within a range of two columns' => sprintf($id_type->{within}, 'tstzrange(s.t1, s.t2)'),
		'within a column, in one range' => sprintf($id_type->{one_range}, 's.times'));
	$join{'within a column, turned round'} = sprintf $id_type->{turned}{within}, 's.times'
	  if $id_type->{turned}{within};
	delete $join{'from one column, before another'} if $id_type->{coarse};
	for my $claim (sort keys %join) {
		# Of three ranges the planner expects so much that it would rather read all.
		my @avoid =
		  $id_type->{coarse} && $claim !~ /in one range/ ? qw(seqscan indexscan indexonlyscan) : ();
		my @set = map { "enable_$_ = off" } @avoid;
		my $condition = $join{$claim} =~ s/\bid\b/e.id/gr;
		same_by_index(
			$id_type,
			"a join $claim",
			"SELECT $which FROM spans AS s JOIN $table AS e ON $condition",
			$oracle, %how, set => \@set);
		same_by_index(
			$id_type,
			"LATERAL, $claim",
			"SELECT sum(n), sum(ids)"
			  . " FROM spans AS s, LATERAL (SELECT $which FROM $table AS e WHERE $condition) AS found (n, ids)",
			$oracle,
			%how,
			set => \@set);
	}
}

# views -----------------------------------------------------------------------------------------------------

# An ordinary user may look into the views and not into the tables.
$session->query_safe('CREATE ROLE reader');
for my $id_type (@id_types) {
	my ($table, $function) = ($id_type->{table}, $id_type->{function} || $id_type->{name});
	my ($from, $to) = map { "timestamptz '$_'" } @{ $id_type->{times} }{ 'from', 'to' };
	$session->query_safe(<<"SQL");
CREATE VIEW ${table}_made AS SELECT id, ${function}_timestamp(id) AS made_at, created_at FROM $table;
CREATE VIEW ${table}_guarded WITH (security_barrier) AS SELECT id, created_at FROM $table WHERE nr >= 0;
GRANT SELECT ON ${table}_made, ${table}_guarded TO reader;
SQL
	my %asked = (
		from => sprintf($id_type->{from}, "now() - interval '5 min'"),
		within => sprintf($id_type->{within}, "tstzrange($from, $to)"),
		'within one range' => sprintf($id_type->{one_range}, "tstzrange($from, $to)"));
	$asked{between} = sprintf $id_type->{between}, $from, $to unless $id_type->{coarse};
	my %wanted = (
		from => "created_at >= now() - interval '5 min'",
		within => "created_at >= $from AND created_at < $to",
		'within one range' => "created_at >= $from AND created_at < $to",
		between => "created_at BETWEEN $from AND $to");
	for my $words (sort keys %asked) {
		my $oracle = "SELECT $which FROM ${table}_made WHERE $wanted{$words}";
		my %how = (bounds => $words eq 'from' ? 'lower' : 'both', set => ['ROLE reader']);
		same_by_index(
			$id_type,
			"$words, through a view",
			"SELECT $which FROM ${table}_made WHERE $asked{$words}",
			$oracle, %how);
		same_by_index(
			$id_type,
			"$words, through a view that is a barrier",
			"SELECT $which FROM ${table}_guarded WHERE $asked{$words}",
			$oracle, %how, filter => 'nr >= 0');
	}
}

# partitions ------------------------------------------------------------------------------------------------

# A table of a partition a day; the first and the last have all before and after.
sub partition {
	my ($id_type, $table) = @_;
	my $day = sub { sprintf $id_type->{min}, "timestamptz (date '$today' + ($_[0] - 30))" };
	my $sql =
	  "CREATE TABLE $table (id $id_type->{type} PRIMARY KEY, created_at timestamptz) PARTITION BY RANGE (id);\n";
	for my $nr (0 .. $days - 1) {
		my ($first, $next) =
		  ($nr ? $day->($nr) : 'MINVALUE', $nr < $days - 1 ? $day->($nr + 1) : 'MAXVALUE');
		$sql .=
		  sprintf
		  "CREATE TABLE ${table}_%02d PARTITION OF $table FOR VALUES FROM ($first) TO ($next);\n",
		  $nr;
	}
	$session->query_safe("$sql INSERT INTO $table SELECT id, created_at FROM $id_type->{table}");
	$session->query_safe("VACUUM (ANALYZE) $table");
	return;
}

# That these partitions are read and no others, and how many others were left out only when the query began.
sub reads {
	my ($plan, $table, $wanted, $removed) = @_;
	my %read = map { $_ => 1 } map { (table_of($_) =~ /^${table}_(\d\d)/) } nodes_of($plan);
	my $read = join ' ', sort keys %read;
	my ($late) = ((map { $_->{'Subplans Removed'} || () } nodes_of($plan)), 0);
	return (
		$read eq $wanted ? () : "partitions $read are read, not $wanted",
		$late == $removed
		? ()
		: "$late partitions are left out when the query begins, not $removed");
}

# That every join is one of two partitions, of the same day.
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

for my $id_type (@id_types) {
	my ($by_day, $beside) = map { "$id_type->{table}_$_" } 'by_day', 'beside';
	partition($id_type, $_) for $by_day, $beside;

	# A day and two halves.
	my ($from, $to) =
	  map { $session->query_safe("SELECT timestamptz (date '$today' - $_) + interval '12 h'") } 20,
	  18;
	my $oracle = "SELECT $which FROM $by_day WHERE created_at >= '$from' AND created_at < '$to'";
	my @kinds = (
		{
			words => 'within',
			condition => $id_type->{one_range},
			values => [ [ tstzrange => "[$from,$to)" ] ],
			read => '10 11 12'
		});
	push @kinds,
	  {
		words => 'from one, before another',
		condition => "$id_type->{from} AND $id_type->{before}",
		values => [ [ timestamptz => $from ], [ timestamptz => $to ] ],
		read => '10 11 12'
	  }
	  unless $id_type->{coarse};
	# Those of other drifts would be before or after all.
	push @kinds,
	  {
		words => 'of any drift, within',
		condition => $id_type->{within},
		values => $kinds[0]{values},
		read => '00 10 11 12 31',
		set => [ 'enable_indexscan = off', 'enable_indexonlyscan = off' ]
	  }
	  if $id_type->{coarse};
	for my $kind (@kinds) {
		my ($words, $read) = @{$kind}{ 'words', 'read' };
		my @types = map { $_->[0] } @{ $kind->{values} };
		my @literals = map { "$_->[0] '$_->[1]'" } @{ $kind->{values} };
		my $others = $days - split ' ', $read;
		my @set = ('enable_seqscan = off', @{ $kind->{set} || [] });

		# Which epoch a setting says is known only when the query begins.
		same_by_index(
			$id_type,
			"$words, of partitions: the others are not in the plan",
			sprintf("SELECT $which FROM $by_day WHERE $kind->{condition}", @literals),
			$oracle,
			set => \@set,
			also => sub {
				reads(@_, $by_day, $read, $id_type->{name} =~ /^flake(?:_type)?\z/ ? $others : 0);
			});
		$session->query_safe(
			sprintf 'PREPARE asked (%s) AS SELECT %s FROM %s WHERE %s',
			join(', ', @types),
			$which, $by_day, sprintf($kind->{condition}, map { "\$$_" } 1 .. @types));
		same_by_index(
			$id_type, "$words, of partitions, prepared: the others are left out when it begins",
			'EXECUTE asked (' . join(', ', @literals) . ')', $oracle,
			set => [ 'plan_cache_mode = force_generic_plan', @set ],
			also => sub { reads(@_, $by_day, $read, $others) });
		$session->query_safe('DEALLOCATE asked');

		# One of two tables of the same partitions has the condition, and of the other none is read in vain.
		next if $id_type->{name} =~ /^flake(?:_type)?\z/;
		my $condition = sprintf($kind->{condition}, @literals) =~ s/\bid\b/a.id/gr;
		my $whose = $which =~ s/\bid\b/a.id/gr;
		my $join = "SELECT $whose FROM $by_day AS a JOIN $beside AS b USING (id) WHERE $condition";
		my ($plan, $got, $wanted) = answers($join, $oracle, 'enable_partitionwise_join = on', @set);
		my @wrong = (map({ reads($plan, $_, $read, 0) } $by_day, $beside), joins($plan));
		push @wrong, "the answer is $got, not $wanted" unless $got eq $wanted;
		is(join("\n", @wrong),
			'', "$id_type->{name}: $words, a join of partitions, each with its own")
		  || diag(join "\n", $join, summary_of($plan));
	}
	# The clock gives a time within two days.
	my @noon = map { "now() - (now() - timestamptz '$_')" } $from, $to;
	same_by_index(
		$id_type,
		'within times that are known when the query begins, of partitions: the others are left out then',
		"SELECT $which FROM $by_day WHERE "
		  . sprintf($id_type->{one_range}, "tstzrange($noon[0], $noon[1])"),
		$oracle,
		set => ['enable_seqscan = off'],
		also => sub { reads(@_, $by_day, '10 11 12', $days - 3) });
	same_by_index(
		$id_type, 'newest first, of partitions',
		"SELECT $which FROM (SELECT id FROM $by_day ORDER BY id DESC LIMIT 10) AS page",
		"SELECT $which FROM (SELECT id FROM $by_day ORDER BY created_at DESC LIMIT 10) AS page",
		bounds => 'none',
		sorted => 1);
}

# orders ----------------------------------------------------------------------------------------------------

for my $id_type (@id_types) {
	my $table = $id_type->{table};
	my ($from, $to) = map { "timestamptz '$_'" } @{ $id_type->{times} }{ 'from', 'to' };
	my $within = sprintf $id_type->{one_range}, "tstzrange($from, $to)";
	my $last = sprintf "'%s'::$id_type->{type}",
	  $session->query_safe("SELECT id FROM $table WHERE nr = 16000");
	my $in_time = "created_at >= $from AND created_at < $to";
	my %order = (
		'a page after the last ID' => [
			"id > $last ORDER BY id LIMIT 50",
			"created_at > $from ORDER BY created_at LIMIT 50",
			'lower'
		],
		'a page before it' => [
			"id < $last ORDER BY id DESC LIMIT 50",
			"created_at < $from ORDER BY created_at DESC LIMIT 50",
			'upper'
		],
		'a page after it, within a time' => [
			"id > $last AND $within ORDER BY id LIMIT 50",
			"created_at > $from AND $in_time ORDER BY created_at LIMIT 50",
			'both'
		],
		'newest first' =>
		  [ 'true ORDER BY id DESC LIMIT 10', 'true ORDER BY created_at DESC LIMIT 10', 'none' ],
		'newest first within a time' => [
			"$within ORDER BY id DESC LIMIT 10",
			"$in_time ORDER BY created_at DESC LIMIT 10",
			'both'
		],
		'oldest first within a time' =>
		  [ "$within ORDER BY id LIMIT 10", "$in_time ORDER BY created_at LIMIT 10", 'both' ]);
	for my $words (sort keys %order) {
		my ($by_id, $by_time, $bounds) = @{ $order{$words} };
		same_by_index(
			$id_type, $words, "SELECT $which FROM (SELECT id FROM $table WHERE $by_id) AS page",
			"SELECT $which FROM (SELECT id FROM $table WHERE $by_time) AS page",
			bounds => $bounds,
			sorted => 1);
	}
	for my $case ([ min => '' ], [ max => 'DESC' ]) {
		# PostgreSQL 18 and earlier have no min and max of uuids.
		last if $id_type->{type} eq 'uuid';
		my ($end, $direction) = @$case;
		for my $where ([ 'of all', 'true', 'true', 'none' ],
			[ 'within a time', $within, $in_time, 'both' ])
		{
			same_by_index(
				$id_type, "$end(id) $where->[0]",
				"SELECT $which FROM (SELECT $end(id) AS id FROM $table WHERE $where->[1]) AS one",
				"SELECT $which FROM (SELECT id FROM $table WHERE $where->[2] ORDER BY created_at $direction LIMIT 1) AS one",
				bounds => $where->[3],
				sorted => 1);
		}
	}
}

$session->quit;
$node->stop;
done_testing();
