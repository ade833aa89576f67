# The four lanes of uuidv7. Sessions have different lanes, so that they do not change one cell. A
# server has 1,024 IDs of one fraction of a millisecond, which differ without their random bits.
# After the clock has stepped back, a lane continues in its last tick. No ID repeats or is below
# another one of its session.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Server;
use Test::More;

my $clock = FakedClock->new('lanes', <<~'END');
	flakeid.max_clock_wait = '0'
	flakeid.horizon_lead = '10min'
	END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT uuidv7_next()');

# The IDs of each session, and how often each ID was given if its random bits do not count.
my (%given, %times);

# Asks a session for this number of IDs, or until an error. Returns how many it got, and the error.
sub take {
	my ($session, $number) = @_;
	my ($count, $error) = (0, '');
	while ($count < $number) {
		my $id = $session->query('SELECT uuidv7_next()');
		($error, $session->{stderr}) = ($session->{stderr}, '');
		last if $error ne '';
		$count++;
		push @{ $given{$session} }, $id;
		$times{ join ' ', fields_of($id) }++;
	}
	return ($count, $error);
}

# Returns the milliseconds, fraction, lane and sequence of an ID, from its text.
sub fields_of {
	my ($id) = @_;
	my ($time, $fraction, $place) = $id =~ /^(\w{8}-\w{4})-7(\w{3})-(\w{4})-\w{12}$/
	  or die "no uuidv7: $id";
	return (hex $time =~ s/-//r, hex $fraction, hex($place) >> 12 & 3, hex($place) >> 4 & 255);
}

# The clock stands still at moments that it has exactly.
my $moment = int(time()) + 20.25;
$clock->stand_still($moment);
my @sessions = map { session($node) } 1 .. 16;
take($_, 1) for @sessions;
my %lanes = map { (fields_of($given{$_}[0]))[2] => 1 } @sessions;
is(join(' ', sort { $a <=> $b } keys %lanes), '0 1 2 3', 'sixteen sessions have four lanes');
is( $node->safe_psql('postgres', <<~'SQL'), '4|0|1',
	SELECT count(*), count(generator_id), count(DISTINCT last_tick)
	FROM pg_stat_flakeid WHERE id_type = 'uuidv7'
	SQL
	'pg_stat_flakeid has a row for each lane, without a generator ID');
my $behind = qr/ERROR:  58000: the clock is [\d.]+ \w+ behind the last uuidv7 ID/;
my @exhausted = grep { (take($_, 2000))[1] =~ $behind } @sessions;
is(scalar @exhausted,
	16, 'the tick of each session is exhausted at some time, and the error says so');
is(scalar(keys %times), 1024, 'while the clock stands still a server has 1,024 IDs');
my %ticks = map { (join ' ', (split ' ')[ 0, 1 ]) => 1 } keys %times;
is(scalar(keys %ticks), 1, 'the 1,024 IDs are of one millisecond and fraction');

$clock->stand_still($moment - 3600);
my $hour = qr/ERROR:  58000: the clock is 60 min behind the last uuidv7 ID/;
my @refused = grep {
	my ($count, $error) = take($_, 1);
	$count == 0 && $error =~ $hour
} @sessions;
is(scalar @refused,
	16, 'after a step back by an hour each session whose tick is exhausted gets an error');
my $late = session($node);
is((take($late, 1))[0], 0, 'a new session gets no ID either, as all lanes have IDs of that tick');
$late->quit;

# One lane has an ID of a later time, all others are free before it.
$clock->stand_still($moment + 100);
my $ahead = splice @sessions, 5, 1;
take($ahead, 1);
my @otherwise;
for my $i (0 .. $#sessions) {
	$clock->stand_still($moment + 50 + $i / 1000);
	my ($count, $error) = take($sessions[$i], 20);
	push @otherwise, "session $i: $count IDs, $error"
	  if $count == 0 || $count < 20 && $error !~ $behind;
}
is(join("\n", @otherwise),
	'', 'each session gets IDs after a step back by 50 s when one lane was ahead');
my ($rest) = take($ahead, 1000);
cmp_ok($rest, '<', 256, 'the session of the lane that was ahead has the rest of its last tick');
$clock->stand_still($moment + 101);
is((take($ahead, 10))[0],
	10, 'the session of the lane that was ahead gets IDs when the clock is there');
push @sessions, $ahead;

for my $step (200.5, 199.75, 300.125, 299.5, 299.625, 400) {
	$clock->stand_still($moment + $step);
	take($_, 30) for @sessions;
}
my $falls = 0;
for my $ids (values %given) {
	$falls += grep { $ids->[$_] le $ids->[ $_ - 1 ] } 1 .. $#$ids;
}
is($falls, 0, 'when the clock steps forward and back, the IDs of each session rise');
is(scalar(grep { $_ > 1 } values %times),
	0, 'no two IDs have the same time, fraction, lane and sequence');
$clock->stand_still($moment + 500);
take($_, 1) for @sessions;
is( $node->safe_psql('postgres', "SELECT sum(ids) FROM pg_stat_flakeid WHERE id_type = 'uuidv7'"),
	1 + keys %times,
	'pg_stat_flakeid counts each ID');

$_->quit for @sessions;
$node->stop;
done_testing();
