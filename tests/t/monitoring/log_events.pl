# The log has a line when the clock steps, when a tick overflows, and when the disk is slow: at most
# one of each kind in 10 s, with the number of those that were suppressed.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FaultyDisk;
use LogLines;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $settings = <<'END';
flakeid.generator_ids = '3'
flakeid.max_clock_wait = 0
flakeid.horizon_lead = '60s'
END

# the clock ------------------------------------------------------------------------------------

my $clock = FakedClock->new('clock', $settings);
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next(), sno_next()');
is(join("\n", lines($node)), '', 'a clock that is right logs nothing');

# Three times forward, and each time back. Within 10 s only the first of each is logged.
my $begin = time();
for my $place (1 .. 3) {
	$clock->step(10_000 * $place);
	$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
	$clock->step(10_000 * $place - 3000);
	error_of($node, 'SELECT flake_next()') for 1, 2;
}
my @lines = lines($node);
my @back = grep { /stepped back/ } @lines;
my @ahead = grep { /stepped forward/ } @lines;
is_rare($begin, \@back, 'of three steps back one is logged in 10 s');
like(
	$back[0],
	qr/\ALOG:  the clock stepped back: it is (?:4[5-9]|50) min behind the last flake ID\n/,
	'the line has how far the clock is behind the last flake');
like(
	$back[0],
	qr/\nDETAIL:  Sessions use the rest of the last tick, and then wait for the clock\.\z/,
	'its detail has what follows for flakes');
is_rare($begin, \@ahead, 'of three steps forward one is logged in 10 s');
like(
	$ahead[0],
	qr/\ALOG:  the clock stepped forward by 16[67] min\n/,
	'the line has how far the clock stepped forward');
my $wrong = 'If it is wrong and steps back later, IDs generated until then are ahead of it';
like($ahead[0], qr/\nDETAIL:  IDs follow the clock\. $wrong\.\z/, 'its detail has what follows');
is(scalar(@lines), @back + @ahead, 'the steps log nothing else');
my ($back, $ahead) = (told(@back), told(@ahead));
my $pause = time();

# a tick that overflows ------------------------------------------------------------------------

# While the clock stands still a tick is exhausted for certain.
my $standing = FakedClock->new('overflow', $settings);
my $overflow = $standing->node;
$standing->start;
$overflow->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next(), uniqueid_next()');
$standing->stand_still(time() + 0.1);

sub overflows {
	my ($sql, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like(error_of($overflow, $sql), qr/58000/, $test);
}

sub exhausted {
	my ($type) = @_;
	my $more = 'More generator IDs in "flakeid\.generator_ids" allow more IDs per tick\.';
	return qr/\ALOG:  $type IDs of this tick are exhausted, generator IDs in use: 1
DETAIL:  A session waits for the next tick\. $more\z/;
}

my $overflows = time();
overflows('SELECT count(*) FROM flake_next_batch(5000)', 'a tick of flake overflows');
my @used_up = lines($overflow);
is_line(\@used_up, exhausted('flake'), 'the overflow is logged once, with what helps');
overflows('SELECT flake_next(), sno_next()', 'the tick of flake overflows again');
push @used_up, lines($overflow);
is_rare($overflows, \@used_up, 'overflows are logged once in 10 s');
overflows('SELECT count(*) FROM uniqueid_next_batch(65)', 'a tick of uniqueid overflows');
is_line([ lines($overflow) ], exhausted('uniqueid'), 'the overflow of uniqueid is logged, too');
my $paused = time();

# a slow disk ----------------------------------------------------------------------------------

# The disk is slow again and again for a session that generates IDs until there is a second line.
my $disk = FaultyDisk->new;
my $slow = PostgreSQL::Test::Cluster->new('slow');
$slow->init;
$slow->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.horizon_lead = '1ms'\n");
{
	local %ENV = (%ENV, $disk->environment);
	$slow->start;
}
$slow->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$begin = time();
my $session = session($slow);
$session->query_until(qr/writes/, <<'SQL');
\echo writes
SELECT count(flake_next()) FROM (SELECT generate_series(1, 1000000000000)) AS many
WHERE pg_sleep(0.001) IS NOT NULL;
SQL
my @slow;
my $until = $begin + $PostgreSQL::Test::Utils::timeout_default;
while (@slow < 2) {
	die 'slow writes are not logged' if time() > $until;
	for (1 .. 20) {
		$disk->becomes('slow');
		sleep 0.02;
		$disk->ends('slow');
		sleep 0.02;
	}
	push @slow, grep { /writing/ } lines($slow);
}
is_rare($begin, \@slow, 'slow writes of the horizon are logged once in 10 s');
my $may_wait =
  'Sessions that generate IDs may wait for this write, once per "flakeid\.horizon_lead"';
like(
	$slow[0],
	qr/\ALOG:  writing flakeid's horizon took [\d.]+ m?s\nDETAIL:  $may_wait\.\z/,
	'the line has how long the write took, and what follows');
cmp_ok(told(@slow), '>', 2, 'the lines have how many were suppressed') or diag(join "\n", @slow);
$slow->stop('immediate');
$session->{run}->kill_kill;

# after the pause ------------------------------------------------------------------------------

# The pause is in real time: steps of the clock do not end it, and a clock that stands still does
# not prolong it.
my $moment = int(time()) + 50_000.5;
$clock->stand_still($moment);
for my $end ($pause + 10.1, $paused + 10.1) {
	sleep($end - time()) if $end > time();
}
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
$clock->stand_still($moment - 30);
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
@lines = lines($node);
@back = sort grep { /stepped back/ } @lines;
@ahead = grep { /stepped forward/ } @lines;
is(scalar(@back), 2, 'after 10 s a step back is logged again, for each ID type');
like(
	$back[0],
	qr/stepped back: it is 30\.0 s behind the last flake ID\n/,
	'one line is that of flake');
is($back + told($back[0]), 4, 'it has how many steps back were suppressed');
my $timelines = 'IDs continue in the other timeline if it is free; otherwise sessions wait';
like(
	$back[1],
	qr/stepped back: it is 30\.0 s behind the last sno ID\nDETAIL:  $timelines\.\z/,
	'one line is that of sno, with what follows');
is(scalar(@ahead), 1, 'after 10 s a step forward is logged again');
is($ahead + told(@ahead), 4, 'it has how many steps forward were suppressed');
$node->stop;

overflows('SELECT flake_next()', 'after 10 s the tick overflows');
@lines = lines($overflow);
is(scalar(@lines), 1, 'after 10 s an overflow is logged again') or diag(join "\n", @lines);
is(told(@used_up, @lines), 3, 'it has how many overflows were suppressed')
  or diag(join "\n", @used_up, @lines);
$overflow->stop;

done_testing();
