# The postmaster is killed twenty times while many sessions ask for IDs, and the clock is behind by
# up to an hour at the next start: each ID type continues, turns, waits or refuses, as the docs
# promise.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Postmaster;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $second = 1_000_000_000;    # nanoseconds

# No machine takes as long as this lead from a crash until all that wait for it do.
my ($lead, $patience) = (300, 0.2);
my $clock = FakedClock->new('postmaster', <<~"CONF");
	log_statement = none
	flakeid.horizon_lead = '${lead}s'
	flakeid.max_clock_wait = '${patience}s'
	CONF
my $node = $clock->node;
my $ledger = Ledger->new('postmaster');
my $postmaster = Postmaster->start($node, $clock->environment);
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $ahead = 0;    # of the real clock

# Sets the clock to a moment, from which it continues.
sub go_to {
	my ($moment) = @_;
	$ahead = $moment - time();
	$clock->step($ahead);
	return;
}

# Returns what the docs promise for an ID type at a moment and with this state: whether it
# 'continues', 'turns', 'waits' or 'refuses'; from when on IDs are then; and in which timeline.
sub promised {
	my ($state, $id_type, $now) = @_;
	my $bit = $state->{tick_tock};
	my ($own, $other) = map { horizon_of($state, $id_type, $_) } $bit, 1 - $bit;
	return ('continues', $own, $bit) if $now > $own;
	return ('waits', $own, $bit)
	  if $now >= moment($state->{since}) && $own - $now <= $lead * $second;
	return ('turns', $now - $id_type->{tick}, 1 - $bit) if $id_type->{turns} && $now > $other;
	($own, $bit) = ($other, 1 - $bit) if $id_type->{turns} && $other < $own;
	return ($own - $now <= $patience * $second ? 'waits' : 'refuses', $own, $bit);
}

# Tests that an ID type has no error, and that its IDs are as promised.
sub is_promised {
	my ($test, $id_type, $promise, $error, @ids) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (undef, $from, $bit) = @$promise;
	is($error, '', $test) or return;
	cmp_ok((times_of($node, $id_type, @ids))[0], '>=', $from, "$test, with the times promised");
	is(timelines_of($node, $id_type, @ids), $bit, "$test, in the timeline that is free")
	  if $id_type->{turns};
	return;
}

my %seen;
my @working = @ID_TYPES;
my $life = 0;
my @steps =
  (0, 600, 60, 3600, 600, 0, 3600, 60, 60, 600, 3600, 0, 600, 3600, 0, 60, 3600, 600, 60, 0);
for my $back (@steps) {
	$life++;
	$ledger->crowd($node, id_types => \@working, ways => [ $life % 2 ? 'single' : 'batch' ]);
	$ledger->wait_until_given;
	# Then a step back by a minute comes into the midst of it.
	go_to(time() + $ahead + 61) if $back == 60;
	$ledger->wait_until_given(0.1);
	$postmaster->kill9;
	my $moment = time() + $ahead - $back;
	$ledger->crowd_ends("life $life: the sessions end with the server");
	my $state = state_of($node);

	# The clock stands still at this moment until an ID type has to wait for it.
	$clock->stand_still($moment);
	$postmaster = Postmaster->start($node, $clock->environment);
	my $now = int($moment * 1_000_000) * 1000;
	my %promise = map { $_->{name} => [ promised($state, $_, $now) ] } @ID_TYPES;
	@working = ();
	my @waits;
	for my $id_type (@ID_TYPES) {
		my $promise = $promise{ $id_type->{name} };
		my ($kind, $from) = @$promise;
		my $test = "life $life, $back s back: $id_type->{name} $kind";
		$seen{"$id_type->{name} $kind"}++;
		push @working, $id_type unless $kind eq 'refuses';
		if ($kind eq 'waits') {
			push @waits, [ $id_type, $test ];
			next;
		}
		my ($error, @ids) = $ledger->ask($node, $id_type, 10);
		$kind eq 'refuses'
		  ? is_behind($error, $id_type, ($from - $now) / $second, $test)
		  : is_promised($test, $id_type, $promise, $error, @ids);
	}
	push @$_, $clock->waits(sprintf "COPY (SELECT '$_->[0]{name}', $_->[0]{batch}) TO STDOUT", 10)
	  for @waits;
	if (@waits) {
		my ($last) = sort { $b <=> $a } map { $promise{ $_->[0]{name} }[1] } @waits;
		go_to($last / $second + 0.1);
	}
	for (@waits) {
		my ($id_type, $test, $session) = @$_;
		my ($given, $error) = $clock->ended($session);
		my @ids = $ledger->enter($given);
		is_promised($test, $id_type, $promise{ $id_type->{name} }, $error, @ids);
	}
	if ($life % 2 || !@working) {
		# The clock is set right, and far enough ahead for a step back not to come to what was
		# before.
		go_to(7200 + until_of(state_of($node)) / $second);
		@working = @ID_TYPES;
	}
	elsif (!@waits) {
		go_to($moment);
	}
	is($ledger->twice, '', "life $life: no ID repeats");
}
note join ', ', map { "$_: $seen{$_}" } sort keys %seen;
for my $id_type (@ID_TYPES) {
	my @kinds = ('waits', 'refuses', $id_type->{turns} ? 'turns' : ());
	is((grep { !$seen{"$id_type->{name} $_"} } @kinds),
		0, "$id_type->{name} had lives of all kinds: @kinds");
}
$postmaster->stop;

# As after a turn and a crash: sno's timeline in use has a nearer horizon than all others. The wait
# of the others is not measured by it.
my $since = until_of(state_of($node)) + 7200 * $second;
my ($nearer, $farther) = map { $since + $_ * $second } 250, 290;
rewrite_state(
	$node,
	sub {
		my ($state) = @_;
		$state->{$_} = instant($since) for 'since', 'written';
		$state->{until} = instant($farther);
		$state->{tick_tock_until} = [ map { instant($_) } $farther, $nearer ];
		$state->{tick_tock} = 1;
	});
# A session waits for as long as the horizon was away, in time that the clock does not show.
$clock->stand_still($since / $second + 10);
$postmaster = Postmaster->start($node, $clock->environment);
my ($sno, @others) = sort { !!$b->{turns} <=> !!$a->{turns} } @ID_TYPES;
# It dies where a session does not wait.
my ($first, @sessions) =
  map { $clock->waits(sprintf "COPY (SELECT '$_->{name}', $_->{batch}) TO STDOUT", 10) } $sno,
  @others;
$clock->stand_still($nearer / $second + 1);
my ($given, $error) = $clock->ended($first);
my @ids = $ledger->enter($given);
is_promised('at its nearer horizon sno has IDs', $sno, [ 'waits', $nearer, 1 ], $error, @ids);
is($node->safe_psql('postgres', <<~'SQL'), scalar @others, 'all others wait for the farther one');
	SELECT count(*) FROM pg_stat_activity
	WHERE application_name ~ '^waits_' AND state = 'active'
	SQL
$clock->stand_still($farther / $second + 1);

for my $i (0 .. $#others) {
	($given, $error) = $clock->ended($sessions[$i]);
	@ids = $ledger->enter($given);
	my $test = "at the farther horizon $others[$i]{name} has IDs";
	is_promised($test, $others[$i], [ 'waits', $farther ], $error, @ids);
}
is($ledger->twice, '', 'no ID repeats when horizons differ');
$postmaster->stop;
done_testing();
