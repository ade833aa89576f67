# Answers equal those of a column of times, on more than a million random ranges: 200,000 of every
# ID type. `make test` asks a fifth of them on all versions of PostgreSQL but one.
#
# FLAKEID_SEED is what random() begins with, from -1 to 1; the tests' names say it. The same seed
# gives the same ranges. FLAKEID_TIMES multiplies the number of ranges: with 5 it is a million of
# every ID type.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use Plan;
use PlannerServer;
use PostgreSQL::Test::Utils;
use RandomRanges;
use Test::More;

my $seed = $ENV{FLAKEID_SEED} // 0.2026;
my $times = $ENV{FLAKEID_TIMES} // 1;
my ($node, $session) = planner_server('random_ranges', <<'END');
max_parallel_workers_per_gather = 0
enable_seqscan = off
END

for my $id_type (@RANDOM_TYPES) {
	my ($ids, $ticks) = create_random_ids($session, $id_type, $seed);
	ok($ids > 2500 && $ticks < 0.7 * $ids, "$id_type->{name}: $ids random IDs are of $ticks ticks");
}

for my $id_type (@RANDOM_TYPES) {
	for (@{ $id_type->{asked} }) {
		my ($thousands, $by_id, @by_time) = @$_;
		my $plan = plan_of($session, answers($id_type, 100, $by_id, @by_time));
		my @scans = grep { ($_->{'Index Name'} // '') =~ /_pkey$/ } scans_of($plan);
		my @other =
		  grep { ($_->{'Index Name'} // '') !~ /_(?:pkey|created_at_idx)$/ } scans_of($plan);
		# The ranges of other drifts have one end, and so has a comparison of a guid.
		my $end = $id_type->{drift} ? qr/both|lower|upper/ : qr/both/;
		ok( @scans && !@other && !(grep { bounds_of($_) !~ $end } @scans),
			"$id_type->{name}: $by_id is a range of the index") || diag(summary_of($plan));
	}
}

# Two sessions ask, each every second ID type.
my $dir = PostgreSQL::Test::Utils::tempdir('random_ranges');
my @sessions = ({}, {});
for my $nr (0 .. $#RANDOM_TYPES) {
	my $id_type = $RANDOM_TYPES[$nr];
	for (@{ $id_type->{asked} }) {
		my ($thousands, $by_id, @by_time) = @$_;
		my $answers = answers($id_type, 1000 * $thousands * $times, $by_id, @by_time);
		$sessions[ $nr % 2 ]{sql} .= <<~"SQL";
			\\o /dev/null
			SELECT setseed($seed);
			\\o
			SELECT '$id_type->{name}', count(*),
				count(*) FILTER (WHERE got IS DISTINCT FROM wanted),
				count(*) FILTER (WHERE wanted > 0),
				(array_agg(format('%s to %s, %s: %s by ID, %s by time', l, u, times, got, wanted)
					ORDER BY nr) FILTER (WHERE got IS DISTINCT FROM wanted))[1]
			FROM ($answers) AS answers;
			SQL
	}
}
for my $nr (0 .. $#sessions) {
	my $session = $sessions[$nr];
	append_to_file("$dir/$nr.sql", $session->{sql});
	my @psql = ('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'));
	$session->{run} = IPC::Run::start([ @psql, '-f', "$dir/$nr.sql" ],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
}
my %answers;
for (@sessions) {
	$_->{run}->finish;
	is($_->{err}, '', 'a session asks its random ranges without an error');
	/^(\w+)\|(.*)/ && push @{ $answers{$1} }, $2 for split /\n/, $_->{out};
}

for my $id_type (@RANDOM_TYPES) {
	my $name = $id_type->{name};
	my $all = 0;
	for (@{ $id_type->{asked} }) {
		my $by_id = $_->[1];
		my ($ranges, $different, $some, $first) = split /\|/, shift @{ $answers{$name} } // '', 4;
		$all += $ranges || 0;
		my $claim = "$by_id has the IDs of the times, of $ranges random ranges with seed $seed";
		is($different, '0', "$name: $claim") || diag($first);
		cmp_ok($some, '>', 0.2 * $ranges, "$name: a fifth of the random ranges of $by_id has IDs");
	}
	is($all, 200_000 * $times, "$name: the session asks $all random ranges");
}

$session->quit;
$node->stop;
done_testing();
