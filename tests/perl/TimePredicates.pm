# Tables of IDs, each beside its time. A condition on the time of IDs has to give what the condition
# on the column of times gives, and has to ask the index for the IDs of these times and no others.
package TimePredicates;

use strict;
use warnings;

use Exporter qw(import);
use Plan;
use PlannerServer;
use Test::More;

our @EXPORT = qw(tables_of_ids answers same_by_index predicate ways literals which_of $DAYS $ROWS);

our ($DAYS, $ROWS) = (32, 20_000);
my ($session, %known);

my %operator = (from => '>=', after => '>', before => '<', until => '<=', on => '=');

# How an ID type is asked by operators, which can be turned round.
sub typed {
	my ($name, %more) = @_;
	return {
		name => $name,
		type => $name,
		function => $name,
		at => "${name}_at(t, nr % 7)",
		min => "${name}_min(%s)",
		between => 'id BETWEEN %s AND %s',
		within => 'id <@ %s',
		one_range => 'id <@ %s',
		(map { $_ => "id $operator{$_} %s" } keys %operator),
		turned => {
			within => '%s @> id',
			map { $_ => '%s ' . ($operator{$_} =~ tr/<>/></r) . ' id' } keys %operator
		},
		%more
	};
}

# How an ID type is asked by functions.
sub by_functions {
	my ($name, $function, $epoch, %more) = @_;
	return typed(
		$name,
		function => $function,
		(map { $_ => "${function}_$_(id, %s$epoch)" } qw(within after before)),
		one_range => "${function}_within(id, %s$epoch)",
		between => "${function}_between(id, %s, %s$epoch)",
		from => "${function}_since(id, %s$epoch)",
		until => undef,
		on => undef,
		turned => {},
		%more);
}

# The range of flakes begins with 0. A time that is no constant is compared with each row for that.
my %of_flake = (
	function => 'flake',
	at => 'flake_at(t, nr % 7)',
	min => "flake_min(%s, '2010-01-01 00:00+00')",
	rechecks => qr/^flakeid_recheck\(\(\(\w*\.?id >= '0'::bigint\) OR /);

sub flake {
	my ($name, $epoch) = @_;
	my %until = (until => "NOT flake_after(id, %s$epoch)");
	return by_functions($name, 'flake', $epoch, type => 'bigint', %of_flake, %until);
}

# A guid is asked by operators for any drift, and by a function for one drift, in one range.
sub guid {
	my ($name) = @_;
	return typed(
		$name,
		rechecks => qr/flakeid_recheck/,
		coarse => 1,
		one_range => "${name}_within(id, %s)");
}

# Starts a server with a table for each ID type: a month of IDs, at odd times, until after tomorrow.
# Returns the server, a session, today's date, and the ID types.
sub tables_of_ids {
	my ($name) = @_;
	my @id_types = (
		flake('flake', ''),
		flake('flake_epoch', ", '2010-01-01 00:00+00'"),
		typed('flake_type', type => 'flake', %of_flake),
		typed('sno', at => 'sno_at(t, nr % 256, nr % 7)'),
		typed('flake128'),
		guid('guid'),
		guid('guid_local'),
		# Each uuid shows whether it is of version 7.
		by_functions(
			'uuidv7', 'uuidv7', '',
			type => 'uuid',
			rechecks => qr/^flakeid_recheck\(\(?uuidv7_valid\((?:\w+\.)?id\)/),
		# Each ID shows whether it is spread.
		typed('uniqueid', rechecks => qr/^flakeid_recheck\(\(?uniqueid_sequential\((?:\w+\.)?id\)/)
	);
	(my $node, $session) = planner_server($name, 'max_parallel_workers_per_gather = 0');
	my $today = $session->query_safe('SELECT current_date');
	$session->query_safe(<<~"SQL");
	CREATE TABLE moments AS
	SELECT nr, date '$today' - 30 + (nr + random()) * interval '$DAYS days' / $ROWS AS t
	FROM (SELECT setseed(0.5)) AS seed, generate_series(0, $ROWS - 1) AS nr;
	SQL
	for my $id_type (@id_types) {
		my $table = $id_type->{table} = "$id_type->{name}s";
		$session->query_safe(<<~"SQL");
		CREATE TABLE $table (id $id_type->{type}, nr integer, created_at timestamptz);
		INSERT INTO $table (id, nr) SELECT $id_type->{at}, nr FROM moments;
		UPDATE $table SET created_at = $id_type->{function}_timestamp(id);
		ALTER TABLE $table ADD PRIMARY KEY (id);
		SQL
		# An index knows which rows all may see only for pages without old rows.
		$session->query_safe("VACUUM (FULL) $table");
		$session->query_safe("VACUUM (ANALYZE) $table");
		my $counts = $session->query_safe(
			"SELECT count(*), count(DISTINCT id), count(DISTINCT created_at) FROM $table");
		die "$table has not a month of IDs: $counts" if $counts ne join '|', ($ROWS) x 3;
		@{$id_type}{ 't1', 't2' } =
		  map { $session->query_safe("SELECT created_at FROM $table WHERE nr = $_") } 16_000,
		  16_080;
	}
	return ($node, $session, $today, @id_types);
}

# Returns a select list of one row: how many IDs, and which.
sub which_of {
	my ($id) = @_;
	return "count(*), coalesce(sum(hashtextextended($id\::text, 0)), 0)";
}

# Returns the operators of an ID type and the same ones turned round, each with words for a claim.
sub ways {
	my ($id_type) = @_;
	return ([ '', $id_type ], [ ', turned round', $id_type->{turned} ]);
}

# Returns values, [type, text] each, as SQL has them.
sub literals {
	return map { defined $_->[1] ? "$_->[0] '$_->[1]'" : "NULL::$_->[0]" } @_;
}

# Returns what is wrong with a plan for the table of this ID type.
sub wrong {
	my ($id_type, $plan, $count, %how) = @_;
	my @wrong;
	my @scans = grep { table_of($_) =~ /^$id_type->{table}/ } scans_of($plan);
	# The planner may know without a scan that nothing is within NULL.
	push @wrong, 'nothing is looked at' if !@scans && $count > 0;
	my $bounds = $how{bounds} || 'both';
	# The other ranges of a guid have the IDs of other drifts, of which the table has no row.
	for my $scan (grep { !($id_type->{coarse} && is_of_other_drifts($_)) } @scans) {
		push @wrong, "a $scan->{'Node Type'}" unless $scan->{'Node Type'} =~ /Index/;
		push @wrong, 'bounds: ' . bounds_of($scan) unless $bounds eq bounds_of($scan);
	}
	for my $filter (map { conjuncts($_) } filters_of($plan)) {
		next if $id_type->{rechecks} && $filter =~ $id_type->{rechecks};
		push @wrong, "filter: $filter" unless $how{filter} && $filter eq $how{filter};
	}
	push @wrong, 'it is sorted'
	  if $how{sorted} && grep { $_->{'Node Type'} =~ /Sort/ } nodes_of($plan);
	# The coarse time is 275 s, so at either end the range of a guid has up to eleven more rows.
	# The plan has the mean of many scans, up to version 17 in whole rows.
	my $entries = entries_of(@scans);
	my $ranges = $how{ranges} || 1;
	my $less = $ranges > 1 ? $ranges / 2 : 0;
	my $more = $less + ($id_type->{coarse} ? 22 * $ranges : 0);
	push @wrong, "$entries rows are looked at for $count"
	  if $entries < $count - $less || $entries > $count + $more;
	return @wrong;
}

# Returns whether a scan is one for the IDs of drifts that are lower or higher than the usual one.
sub is_of_other_drifts {
	my ($scan) = @_;
	return ($scan->{'Index Cond'} // '') =~ /^\((?:\w+\.)?id [<>] '[^']*'::guid(?:_local)?\)$/;
}

# Returns the parts of a condition that AND joins at its top.
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

# Returns the plan and the answer of a query and the answer of another one, the oracle, in one
# transaction with these settings. It asks an oracle that does not look at the clock only once.
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

# Tests that a query has the answer of the oracle, by the index. Both have the number of IDs first.
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

# Tests a predicate of IDs beside that of times: with these values, and with parameters in a
# prepared statement. The values are [type, text].
sub predicate {
	my ($id_type, $claim, $by_id, $by_time, $values, %how) = @_;
	my $select = "SELECT ${\which_of('id')} FROM $id_type->{table} WHERE";
	my @literals = literals(@$values);
	my $oracle = sprintf "$select $by_time", @literals;
	my $finds = "an index range finds the IDs $claim";

	# A query for nearly all rows does best without a range of the index, if it may.
	my @set = $how{wide} ? 'enable_seqscan = off' : ();
	push @set, 'enable_indexonlyscan = off', 'enable_indexscan = off'
	  if $how{wide} && $id_type->{coarse};
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %literal = (%how, set => \@set, bounds => $how{of_literals});
	same_by_index($id_type, $finds, sprintf("$select $by_id", @literals), $oracle, %literal);
	return if $how{once};

	my $types = join ', ', map { $_->[0] } @$values;
	my $asked = sprintf "$select $by_id", map { "\$$_" } 1 .. @$values;
	$session->query_safe("PREPARE asked ($types) AS $asked");
	my $execute = 'EXECUTE asked (' . join(', ', @literals) . ')';
	my @generic = (set => ['plan_cache_mode = force_generic_plan']);
	same_by_index($id_type, "$finds, prepared", $execute, $oracle, %how, @generic);
	$session->query_safe('DEALLOCATE asked');
	return;
}

1;
