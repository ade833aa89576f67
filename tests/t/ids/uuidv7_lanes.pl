# The four lanes of uuidv7. Sessions have different lanes, so that they do not change one cell. A server has 1,024 IDs of
# one fraction of a millisecond, which differ without their random bits. After the clock has stepped back a lane goes on in its last
# tick, and no ID repeats or falls below one of its session.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $clock =
  FakedClock->new('lanes', "flakeid.max_clock_wait = '0'\nflakeid.horizon_lead = '10min'\n");
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT uuidv7_next()');

# Every ID that a session was given, by its session, and the number of times that its part without random bits was given.
my (%given, %times);

# Asks a session for IDs until it gets an error or has so many. Returns the number of IDs, and the error.
sub take {
	my ($session, $n) = @_;
	my ($count, $error) = (0, '');
	while ($count < $n) {
		my $id = $session->query('SELECT uuidv7_next()');
		($error, $session->{stderr}) = ($session->{stderr}, '');
		last if $error ne '';
		$count++;
		push @{ $given{$session} }, $id;
		$times{ join ' ', fields_of($id) }++;
	}
	return ($count, $error);
}

# The milliseconds, fraction, lane and sequence of an ID, from its text.
sub fields_of {
	my ($id) = @_;
	my ($time, $fraction, $place) = $id =~ /^(\w{8}-\w{4})-7(\w{3})-(\w{4})-\w{12}$/
	  or die "no uuidv7: $id";
	return (hex $time =~ s/-//r, hex $fraction, hex($place) >> 12 & 3, hex($place) >> 4 & 255);
}

# a tick -----------------------------------------------------------------------------------------------------

# Moments that the clock has exactly.
my $moment = int(time()) + 20.25;
$clock->stand_still($moment);
my @sessions = map { session($node) } 1 .. 16;
take($_, 1) for @sessions;
my %lanes = map { (fields_of($given{$_}[0]))[2] => 1 } @sessions;
is(join(' ', sort { $a <=> $b } keys %lanes), '0 1 2 3', 'sixteen sessions have four lanes');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*), count(generator_id), count(DISTINCT last_tick) FROM pg_stat_flakeid WHERE id_type = 'uuidv7'"
	),
	'4|0|1',
	'pg_stat_flakeid has a row for each lane, without a generator ID');
my @ends = map { [ take($_, 2000) ] } @sessions;
is(scalar(grep { $_->[1] =~ /ERROR:  58000: .*last uuidv7 ID|ERROR:  58000/ } @ends),
	16, 'while the clock stands still each session has no more IDs at some time');
is(scalar(keys %times), 1024, 'while the clock stands still a server has 1,024 IDs');
my %ticks = map { (join ' ', (split ' ')[ 0, 1 ]) => 1 } keys %times;
is(scalar(keys %ticks), 1, 'all of them are of one millisecond and fraction');

# the clock steps back ------------------------------------------------------------------------------------------

$clock->stand_still($moment - 3600);
for my $session (@sessions) {
	my ($count, $error) = take($session, 1);
	is($count, 0, 'after a step back by an hour a session whose tick is exhausted gets no ID');
	like(
		$error,
		qr/ERROR:  58000: the clock is 60 min behind the last uuidv7 ID/,
		'the error says by how much the clock is behind the last uuidv7');
}
my $late = session($node);
is((take($late, 1))[0], 0, 'a new session gets no ID either, as all lanes have IDs of that tick');
$late->quit;

# One lane has an ID of later, all others are free before it.
$clock->stand_still($moment + 100);
take($sessions[5], 1);
for my $i (0 .. $#sessions) {
	$clock->stand_still($moment + 50 + $i / 1000);
	my ($count, $error) = take($sessions[$i], 20);
	cmp_ok($count, '>', 0,
		"session $i: IDs go on after a step back by 50 s when one lane was ahead")
	  if $i != 5;
	like(
		$error,
		qr/ERROR:  58000: the clock is [\d.]+ m?s behind the last uuidv7 ID/,
		"session $i: an error ends the tick") if $count < 20;
}
my ($count) = take($sessions[5], 1000);
cmp_ok($count, '<', 256, 'the session of that lane has the rest of its last tick');
$clock->stand_still($moment + 101);
is((take($sessions[5], 10))[0],
	10, 'the session of that lane gets more IDs when the clock has come there');

# a crowd that clocks move ----------------------------------------------------------------------------------------

for my $step (200.5, 199.75, 300.125, 299.5, 299.625, 400) {
	$clock->stand_still($moment + $step);
	take($_, 30) for @sessions;
}
my $falls = 0;
for my $ids (values %given) {
	$falls += grep { $ids->[$_] le $ids->[ $_ - 1 ] } 1 .. $#$ids;
}
is($falls, 0, 'when the clock steps forth and back, the IDs of each session rise');
is((grep { $_ > 1 } values %times),
	0, 'no two IDs have the same time, fraction, lane and sequence: ' . keys(%times) . ' IDs');

# the number of IDs ------------------------------------------------------------------------------------------------

$clock->stand_still($moment + 500);
take($_, 1) for @sessions;
is( $node->safe_psql('postgres', "SELECT sum(ids) FROM pg_stat_flakeid WHERE id_type = 'uuidv7'"),
	1 + keys %times,
	'pg_stat_flakeid counts each ID');
$_->quit for @sessions;
$node->stop;
done_testing();
