# After a crash an ID type waits for its own horizon. sno has two timelines, whose horizons differ
# after a step back of the clock. The others do not wait for these horizons.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Postmaster;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

# One generator ID, so that every session meets the cell that has been used.
my $clock = FakedClock->new('timelines', <<'END');
flakeid.generator_ids = '3'
flakeid.horizon_lead = '1h'
flakeid.max_clock_wait = '200ms'
# No worker is needed.
max_worker_processes = 0
END
my $node = $clock->node;
my $postmaster = Postmaster->start($node, $clock->environment);
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $all = 'SELECT ' . join ', ', map { $_->{next} } @ID_TYPES;
my %made;
my $note = sub {
	$made{$_}++ for map { split /\|/ } @_;
};
$note->($node->safe_psql('postgres', $all));
# A server's first IDs leave no timeline of sno's free before them; two hours later one is.
my $begin = time() + 7200;
$clock->set($begin);
$note->($node->safe_psql('postgres', $all));

# Ten minutes back sno turns. Its other timeline gets a horizon of its own, ten minutes before the
# one that all have.
$clock->set($begin - 600);
$note->($node->safe_psql('postgres', 'SELECT sno_next(7)'));
my $state = state_of($node);
my ($nearer, $farther) =
  sort { $a <=> $b } map { moment($_) / 1_000_000_000 } @{ $state->{tick_tock_until} };
cmp_ok($farther - $nearer, '>=', 300, 'the horizons of the two timelines are minutes apart');

# After the crash the clock is within the lead of both.
$postmaster->kill9;
$clock->set($nearer - 600);
$postmaster = Postmaster->start($node, $clock->environment);
for my $id_type (grep { !$_->{turns} } @ID_TYPES) {
	# It dies where the session does not wait.
	$id_type->{session} = $clock->waits("SELECT $id_type->{next}");
	pass("after a crash $id_type->{name} waits for its horizon, which is after sno's nearer one");
}
my $sno = $clock->waits('SELECT sno_next(7)');
pass('after a crash sno waits for the nearer horizon of its timelines');
$clock->set($nearer + 1);
my ($id, $error) = $clock->ended($sno);
is($error, '', 'at the nearer horizon sno has an ID');
$note->($id);
ok((grep { $_->{session}{run}->pumpable } grep { !$_->{turns} } @ID_TYPES),
	'at the nearer horizon the others still wait');
$clock->set($farther + 1);

for my $id_type (grep { !$_->{turns} } @ID_TYPES) {
	($id, $error) = $clock->ended($id_type->{session});
	is($error, '', "at its horizon $id_type->{name} has an ID");
	$note->($id);
}
is(join(' ', grep { $made{$_} > 1 } keys %made), '', 'no ID repeats');

$postmaster->stop;
done_testing();
