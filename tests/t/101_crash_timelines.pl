# After a crash an ID type waits for its own horizon. sno has two timelines, whose horizons differ after a step back
# of the clock. The wait of the others is not measured by them.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $clock = FakedClock->new('timelines', <<'END');
flakeid.horizon_lead = '1h'
flakeid.max_clock_wait = '200ms'
END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $all = 'SELECT ' . join ', ', map { $_->{next} } @SYSTEMS;
my %made;
my $note = sub { $made{$_}++ for map { split /\|/ } @_ };
$note->($node->safe_psql('postgres', $all));

# Ten minutes back sno turns. Its other timeline gets a horizon of its own, ten minutes before the one that all have.
my $begin = time();
$clock->set($begin - 600);
$note->($node->safe_psql('postgres', 'SELECT sno_next(7)'));
my $state = state_of($node);
my ($nearer, $farther) = sort { $a <=> $b } map { moment($_) / 1_000_000_000 } @{ $state->{tick_tock_until} };
cmp_ok($farther - $nearer, '>=', 300, 'the horizons of the two timelines are minutes apart');

# The clock is right again when the server crashes, and begins to count within the lead of both.
$node->stop('immediate');
$clock->set($nearer - 600);
$clock->start;
for my $system (grep { !$_->{turns} } @SYSTEMS)
{
	# It dies where the session does not wait.
	$system->{session} = $clock->waits("SELECT $system->{next}");
	pass("after a crash $system->{name} waits for its horizon, farther than sno's nearer timeline");
}
my $sno = $clock->waits('SELECT sno_next(7)');
pass('... and sno for the nearer one');
$clock->set($nearer + 1);
my ($id, $error) = $clock->ended($sno);
is($error, '', '... which it goes by');
$note->($id);
ok((grep { $_->{session}{run}->pumpable } grep { !$_->{turns} } @SYSTEMS), '... while the others wait on');
$clock->set($farther + 1);
for my $system (grep { !$_->{turns} } @SYSTEMS)
{
	($id, $error) = $clock->ended($system->{session});
	is($error, '', "at its horizon $system->{name} has an ID");
	$note->($id);
}
is(join(' ', grep { $made{$_} > 1 } keys %made), '', 'no ID came twice');

$node->stop;
done_testing();
