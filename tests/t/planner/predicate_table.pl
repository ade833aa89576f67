# Each predicate of each ID type uses the index, uses BRIN and prunes partitions, in whichever way
# the query has its time. And it finds the rows that a column of times has.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PlannerServer;
use Test::More;

my ($node, $session) = planner_server('predicate_table', <<'END');
max_parallel_workers_per_gather = 0
enable_seqscan = off
END

# 4,000 times of a month, and the time and the range of times that queries ask for.
$session->query_safe(<<~'SQL');
	CREATE TABLE moments AS SELECT timestamptz '2026-10-01 00:00:07' + nr * interval '11 min' AS t
		FROM generate_series(0, 3999) AS nr;
	CREATE TABLE asked AS SELECT timestamptz '2026-10-10 09:00' AS t,
		tstzrange '[2026-10-10 09:00,2026-10-11 09:00)' AS times;
	ANALYZE asked;
	CREATE FUNCTION expensive_time() RETURNS timestamptz LANGUAGE plpgsql STABLE AS
		'BEGIN RETURN (SELECT t FROM asked); END';
	CREATE FUNCTION expensive_range() RETURNS tstzrange LANGUAGE plpgsql STABLE AS
		'BEGIN RETURN (SELECT times FROM asked); END';
	SQL

# The ways in which a query has a time and a range of times.
my ($nothing, $nine, $day) = ('(now() - now())', "interval '9 h'", "interval '1 day'");
my $nine_utc = "timestamptz '2026-10-10 09:00+00' + $nothing";
my $night = "timestamptz '2026-10-10 03:00+00' + $nothing";
my $berlin = "AT TIME ZONE 'Europe/Berlin'";
my $midnight = "date_trunc('day', ($night) $berlin)";
my $eleven = "interval '11 h') $berlin";
my %ways = (
	'literal' => {
		t => "timestamptz '2026-10-10 09:00:00+00'",
		times => "tstzrange '[2026-10-10 09:00:00+00,2026-10-11 09:00:00+00)'"
	},
	'expression' => {
		t => "(date_trunc('day', $night, 'UTC') + $nine)",
		times => "tstzrange($nine_utc, $nine_utc + $day)"
	},
	'expensive expression' => {
		t => "(($midnight + $day - $day + $eleven)",
		times => "tstzrange(($midnight + $eleven, ($midnight + $day + $eleven)"
	},
	'expensive function' => { t => 'expensive_time()', times => 'expensive_range()' },
	'subselect' => { t => '(SELECT t FROM asked)', times => '(SELECT times FROM asked)' },
	'column' => { t => 'asked.t', times => 'asked.times' },
	'lateral column' => { t => 'asked.t', times => 'asked.times' },
	'parameter' => { t => '$1', times => '$1' });

# The predicates of an ID type: by the ID, by a column of times, and whether T is a range of times.
sub operators {
	my ($name) = @_;
	my @predicates = ([ 'id <@ T', 'created_at <@ T', 1 ], [ 'T @> id', 'created_at <@ T', 1 ]);
	for my $operator (qw(< <= >= > =)) {
		my $turned = $operator =~ tr/<>/></r;
		push @predicates, map { [ $_, "created_at $operator T" ] } "id $operator T", "T $turned id";
	}
	push @predicates, [ "${name}_within(id, T)", 'created_at <@ T', 1 ] if $name =~ /^guid/;
	return @predicates;
}

sub functions {
	my ($name, $epoch) = @_;
	return (
		[ "${name}_between(id, T, T + $day$epoch)", "created_at BETWEEN T AND T + $day" ],
		[ "${name}_between(id, T, 'infinity'$epoch)", 'created_at >= T' ],
		[ "${name}_since(id, T$epoch)", 'created_at >= T' ],
		[ "${name}_after(id, T$epoch)", 'created_at > T' ],
		[ "${name}_before(id, T$epoch)", 'created_at < T' ],
		[ "${name}_within(id, T$epoch)", 'created_at <@ T', 1 ]);
}

# Creates three tables of the same IDs: with a btree index, with a BRIN index, and with partitions.
# The ID type's functions begin with this name.
sub create_tables {
	my ($name, $type, $function) = @_;
	my $bound =
	  $function eq 'flake' ? "flake_min('%s', '2010-01-01 00:00+00')" : "${name}_min('%s')";
	my @bounds = map { sprintf $bound, "2026-$_ 00:00+00" } qw(10-01 10-08 10-15 10-22 12-01);
	my $partitions = join '', map {
			"CREATE TABLE ${name}_parts_$_ PARTITION OF ${name}_parts"
		  . " FOR VALUES FROM ($bounds[$_ - 1]) TO ($bounds[$_]);\n"
	} 1 .. 4;
	$session->query_safe(<<~"SQL");
		CREATE TABLE ${name}_btree (id $type PRIMARY KEY, created_at timestamptz);
		INSERT INTO ${name}_btree SELECT ${function}_at(t), t FROM moments;
		UPDATE ${name}_btree SET created_at = ${function}_timestamp(id);
		CREATE TABLE ${name}_brin AS SELECT * FROM ${name}_btree ORDER BY id;
		CREATE INDEX ON ${name}_brin USING brin (id) WITH (pages_per_range = 1);
		CREATE TABLE ${name}_parts (LIKE ${name}_btree, PRIMARY KEY (id)) PARTITION BY RANGE (id);
		$partitions
		INSERT INTO ${name}_parts SELECT * FROM ${name}_btree;
		SQL
	$session->query_safe("VACUUM (FULL) ${name}_btree");
	$session->query_safe("VACUUM (ANALYZE) ${name}_$_") for qw(btree brin parts);
	return;
}

# Returns what is wrong with the plan or the answer of a predicate.
my %answer_of;

sub fault {
	my ($table, $access, $way, $by_id, $by_time, $of_range) = @_;
	my ($time, $literal) = map { $ways{$_}{ $of_range ? 'times' : 't' } } $way, 'literal';
	my $answer = 'count(*), coalesce(sum(hashtextextended(id::text, 0)), 0)';
	my $from = $way eq 'column' ? "asked, $table" : $table;
	my $query = "SELECT $answer FROM $from WHERE " . $by_id =~ s/\bT\b/$time/gr;
	$query = "SELECT found.* FROM asked, LATERAL ($query) AS found" if $way eq 'lateral column';
	if ($way eq 'parameter') {
		my $type = $of_range ? 'tstzrange' : 'timestamptz';
		$session->query_safe("PREPARE asks ($type) AS $query");
		$query = "EXECUTE asks ($literal)";
	}
	my $plan = plan_of($session, $query);
	my $got = $session->query_safe($query);
	my $oracle = "SELECT $answer FROM $table WHERE " . $by_time =~ s/\bT\b/$literal/gr;
	my $wanted = $answer_of{$oracle} //= $session->query_safe($oracle);
	$session->query_safe('DEALLOCATE asks') if $way eq 'parameter';

	my @scans = grep { table_of($_) =~ /^$table/ } scans_of($plan);
	my $fault =
		$got ne $wanted                                   ? "the answer is $got, not $wanted"
	  : $got =~ /^0\|/ && $by_id !~ / = /                 ? 'no rows are found'
	  : (grep { $_->{'Node Type'} eq 'Seq Scan' } @scans) ? 'a sequential scan'
	  :                                                     '';
	if ($access eq 'parts') {
		my %read =
		  map { table_of($_) =~ /^(${table}_\d)/ => 1 } grep { $_->{'Actual Loops'} } @scans;
		$fault ||= 'all partitions are read' if keys %read >= 4;
	}
	else {
		$fault ||= 'no condition of an index' unless grep { bounds_of($_) ne 'none' } @scans;
	}
	return $fault && "$by_id: $fault\n" . summary_of($plan);
}

my @flake = map { functions('flake', $_) } '', ", '2010-01-01 00:00+00'";
my %used = (btree => 'the index', brin => 'BRIN', parts => 'few partitions');
for (
	[ 'typed', 'flake', 'flake', operators('typed') ],
	[ 'flake', 'bigint', 'flake', @flake ],
	[ 'uuidv7', 'uuid', 'uuidv7', functions('uuidv7', '') ],
	map { [ $_, $_, $_, operators($_) ] } qw(sno flake128 guid guid_local uniqueid))
{
	my ($name, $type, $function, @predicates) = @$_;
	create_tables($name, $type, $function);
	for my $access (sort keys %used) {
		# A bitmap is the only way to use BRIN, but the planner prefers none for half of the rows.
		$session->query_safe(
			$access eq 'brin' ? 'SET enable_indexscan = off' : 'RESET enable_indexscan');
		for my $way (sort keys %ways) {
			$session->query_safe(
				'SET plan_cache_mode = ' . ($way eq 'parameter' ? 'force_generic_plan' : 'auto'));
			my @faults = map { fault("${name}_$access", $access, $way, @$_) || () } @predicates;
			is(join("\n", @faults), '', "$name, time by $way: each predicate uses $used{$access}");
		}
	}
}

$session->quit;
$node->stop;
done_testing();
