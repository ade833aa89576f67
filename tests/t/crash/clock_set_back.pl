# The clock is behind the last IDs when a server starts, by less than a tick to a year: an ID type
# waits, or generates no IDs; sno continues in its other timeline.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $second = 1_000_000_000;    # nanoseconds
my $year = 365 * 86_400;
my $clock = FakedClock->new('set_back', '');
my $node = $clock->node;
my $ledger = Ledger->new('set_back');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$ledger->use_all($node);
$node->stop;

# Sets the moments in the state file, in nanoseconds, with the first timeline of sno in force.
sub set_state {
	my ($moment, $other_timeline) = @_;
	return rewrite_state(
		$node,
		sub {
			my ($state) = @_;
			$state->{$_} = instant($moment) for 'until', 'since', 'written';
			$state->{tick_tock_until} = [ map { instant($_) } $moment, $other_timeline ];
			$state->{tick_tock} = 0;
		});
}

# the clock steps back once and twice --------------------------------------------------------------

for my $back (0.05, 10, 3600) {
	# As if the server had been at rest for some hours.
	my $rest = int(time() - 3 * 3600) * $second;
	set_state($rest, $rest);
	# A small step back is waited for, also where a slow machine asks one ID type after the other.
	$node->append_conf('postgresql.conf',
		"flakeid.max_clock_wait = '" . ($back < 1 ? '10min' : '1s') . "'");
	$clock->step(0);
	$clock->start;
	$ledger->use_all($node);
	$node->stop;

	# The clock is behind the last ID of each ID type. On a busy machine they are further apart than
	# the least of these steps.
	my $last = state_of($node);
	my ($earliest) = sort { $a <=> $b } map { horizon_of($last, $_, $last->{tick_tock}) } @ID_TYPES;
	my $moment = $earliest / $second;
	for my $time ('once', 'twice') {
		$moment -= $back;
		my $now = int($moment * 1_000_000) * 1000;
		my $state = state_of($node);
		my $bit = $state->{tick_tock};
		$clock->stand_still($moment);
		$clock->start;
		for my $id_type (sort { !!$b->{turns} <=> !!$a->{turns} } @ID_TYPES) {
			my $when = "when the clock steps back by $back s $time";
			my $name = $id_type->{name};
			my $turns = $id_type->{turns} && $time eq 'once';
			$clock->set($moment) if $back < 1 && !$turns;
			my $from = $turns ? $now - $id_type->{tick} : horizon_of($state, $id_type, $bit);
			my ($error, @ids) = $ledger->ask($node, $id_type, 10);
			if (!$turns && $back > 1) {
				is_behind(
					$error, $id_type,
					($from - $now) / $second,
					"$when there are no $name IDs");
				next;
			}
			is($error, '',
				$turns ? "$when $name continues at once" : "$when $name waits for the clock")
			  or next;
			cmp_ok((times_of($node, $id_type, @ids))[0],
				'>=', $from, "$when $name IDs begin " . ($turns ? 'now' : 'after the last'));
			is(timelines_of($node, $id_type, @ids), 1 - $bit, "$when $name uses the other timeline")
			  if $turns;
		}
		$node->stop;
	}
}
is($ledger->twice, '', 'no ID repeats when the clock steps back');

# sno continues, the others do not ---------------------------------------------------------------

# Tests that the others say how far the clock is behind.
sub only_sno_continues {
	my ($behind, $when) = @_;
	my %given = $ledger->ask_each($node);
	for my $id_type (@ID_TYPES) {
		my ($name, $turns) = @$id_type{ 'name', 'turns' };
		my ($error, @ids) = @{ $given{$name} };
		like($error, qr/ERROR:  58000: the clock is $behind behind/, "$when there are no $name IDs")
		  unless $turns;
		is($error, '', "$when $name continues") or next if $turns;
		is(timelines_of($node, $id_type, @ids), 1, "$when $name uses the other timeline") if $turns;
	}
	return;
}

# The server is up while the clock is behind its last ID, and is not asked.
my $up = int(time());
my $ahead = ($up + 3570) * $second;
set_state($ahead, $ahead - 7200 * $second);
$clock->stand_still($up);
$clock->start;
$node->stop;
$clock->start;
only_sno_continues('59 min', 'after a second start behind the last ID');
$node->stop('immediate');

# The clock goes ahead by a year and some hours, and back.
$clock = FakedClock->new('year', '');
$node = $clock->node;
$ledger = Ledger->new('year');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$ledger->use_all($node);
$clock->step($year + 20_000);
$ledger->use_all($node);
$clock->step(0);
$node->stop;
$clock->start;
only_sno_continues('365 days', 'after a year forward and back');
$node->stop;
$clock->step($year + 30_000);
$clock->start;
$ledger->all_generate($node, 'a year later all ID types generate IDs');
is($ledger->twice, '', 'no ID repeats after a year forward and back');
$node->stop('immediate');
done_testing();
