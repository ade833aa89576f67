# The lines in the server's log for what someone should look at: when they come, how often, what
# they say; and that there are no other lines.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FakedNode;
use FaultyDisk;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

# The first line of everything that flakeid says to the log by itself.
my $any =
  qr/LOG:  (?:\w+ IDs of this tick|the clock |writing flakeid|flakeid |\w+ is (?:behind|ahead))/;

my ($node, %seen);

# What the log has of flakeid's since this was asked last of this server: each line with its detail.
# That a state begins is looked at once, below.
sub lines {
	my $log = slurp_file($node->logfile, $seen{ $node->name } // 0);
	$seen{ $node->name } += length $log;
	my @lines;
	my $mine = 0;
	for my $line (split /\n/, $log) {
		$lines[-1] .= "\n$1" if $mine && $line =~ /(DETAIL:  .*)/;
		$mine = $line =~ /($any.*)/;
		push @lines, $1 if $mine;
	}
	return grep { !/no state file: IDs start at the current time/ } @lines;
}

# Waits for a line that has not been asked for; `lines` still has it.
sub comes {
	my ($line) = @_;
	return $node->wait_for_log($line, $seen{ $node->name } // 0);
}

# How many of what one kind of line is for these lines tell: themselves, and what was left out
# before.
sub told {
	my (@lines) = @_;
	my $told = 0;
	$told += 1 + (/ Logged at most once per 10 s; (\d+) suppressed\.\z/ ? $1 : 0) for @lines;
	return $told;
}

# As many lines of one kind as there may have been since a moment: one in 10 s.
sub as_rare {
	my ($since, @lines) = @_;
	return @lines >= 1 && @lines <= 1 + int((time() - $since) / 10);
}

# As `lines`, those of one kind.
sub lines_of {
	my ($kind) = @_;
	return grep { /$kind/ } lines();
}

# quiet use ------------------------------------------------------------------------------------

# Nothing is said but what is true: that a write took long, of a disk that took more than a quarter
# of the lead.
sub untrue {
	return join "\n", grep {
		!(/writing flakeid's horizon took ([\d.]+) (m?s)/ && $1 / ($2 eq 'ms' ? 1000 : 1) >= 0.25)
	} lines();
}

$node = PostgreSQL::Test::Cluster->new('quiet');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
restart_after_crash = on
flakeid.horizon_lead = '1s'
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
# No more than what a tick has of all generator IDs.
my $few = join '; ', map {
	"SELECT count($_->{next}) FROM generate_series(1, "
	  . ($_->{numbers} < 1000 ? $_->{numbers} : 1000) . ')'
} @ID_TYPES;
$node->safe_psql('postgres', $few);
$node->poll_query_until('postgres', "SELECT max(gate_lead) < '0' FROM pg_stat_flakeid")
  or die 'the gate stays ahead';
$node->safe_psql('postgres', $few);
is(untrue(), '', 'a new server\'s first IDs, and those after a pause, say nothing');
$node->restart;
$node->safe_psql('postgres', $few);
is(untrue(), '', '... nor does a restart');
my $session = session($node);
$session->query_safe($few);
my $end_of_log = -s $node->logfile;
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
ok($node->wait_for_log(qr/all server processes terminated; reinitializing/, $end_of_log),
	'a backend is killed');
wait_for_server($node);
$node->safe_psql('postgres', $few);
is(untrue(), '', '... and the IDs that wait for the horizon say nothing');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', $few);
is(untrue(), '', '... nor do those after a crash of the server');
my $states = () =
  slurp_file($node->logfile) =~ /LOG:  no state file: IDs start at the current time/g;
is($states, 1, '... but that a state began, once');
$node->stop;
$session->{run}->kill_kill if $session->{run};

# the clock ------------------------------------------------------------------------------------

my $clock = FakedClock->new('clock',
	"flakeid.generator_ids = '3'\nflakeid.max_clock_wait = 0\nflakeid.horizon_lead = '60s'\n");
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next(), sno_next()');
is(join("\n", lines()), '', 'a clock that is right is no news');

# Three times forward, and each time back.
my $begin = time();
for my $place (1 .. 3) {
	$clock->step(10_000 * $place);
	$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
	$clock->step(10_000 * $place - 3000);
	error_of($node, 'SELECT flake_next()');
	error_of($node, 'SELECT flake_next()');
}
my @lines = lines();
my @back = grep { /stepped back/ } @lines;
my @ahead = grep { /stepped forward/ } @lines;
# Where it took no longer than the pause it is one line of each.
ok(as_rare($begin, @back), '... of three steps back one is told in 10 s')
  or diag(join "\n", @lines);
like(
	$back[0],
	qr/\ALOG:  the clock stepped back: it is (?:4[5-9]|50) min behind the last flake ID\n/,
	'... the first, by how much it is');
like(
	$back[0],
	qr/\nDETAIL:  Sessions use the rest of the last tick, and then wait for the clock\.\z/,
	'... and what follows for a flake');
ok(as_rare($begin, @ahead), '... of three forward one is told in 10 s') or diag(join "\n", @lines);
like(
	$ahead[0],
	qr/\ALOG:  the clock stepped forward by 16[67] min\n/,
	'... the first, by how much it was');
like(
	$ahead[0],
	qr/\nDETAIL:  IDs follow the clock\. If it is wrong and steps back later, IDs generated until then are ahead of it\.\z/,
	'... and what follows');
is(scalar(@lines), @back + @ahead, '... and nothing else');
my ($back, $ahead) = (told(@back), told(@ahead));
my $pause = time();

# a tick that overflows ------------------------------------------------------------------------

# While the clock stands still a tick is exhausted for certain.
my $standing = FakedClock->new('overflow', <<'END');
flakeid.generator_ids = '3'
flakeid.max_clock_wait = 0
flakeid.horizon_lead = '60s'
END
my $overflow = $node = $standing->node;
$standing->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next(), uniqueid_next()');
$standing->stand_still(time() + 0.1);
my $overflows = time();
like(error_of($node, 'SELECT count(*) FROM flake_next_batch(5000)'), qr/58000/, 'a tick overflows');
my @used_up = lines();
is(scalar(@used_up), 1, '... which is told once') or diag(join "\n", @used_up);
like(
	$used_up[0],
	qr/\ALOG:  flake IDs of this tick are exhausted, generator IDs in use: 1\nDETAIL:  A session waits for the next tick\. More generator IDs in "flakeid\.generator_ids" allow more IDs per tick\.\z/,
	'... with what follows and what helps');
like(error_of($node, 'SELECT flake_next(), sno_next()'), qr/58000/, 'it overflows again');
push @used_up, lines();
ok(as_rare($overflows, @used_up), '... which is told once in 10 s') or diag(join "\n", @used_up);
like(error_of($node, 'SELECT count(*) FROM uniqueid_next_batch(65)'),
	qr/58000/, 'one of another ID type overflows');
@lines = lines();
is(scalar(@lines), 1, '... which is told, too') or diag(join "\n", @lines);
like(
	$lines[0],
	qr/\ALOG:  uniqueid IDs of this tick are exhausted, generator IDs in use: 1\nDETAIL:  A session waits for the next tick\. More generator IDs in "flakeid\.generator_ids" allow more IDs per tick\.\z/,
	'... and says the same');
my $paused = time();

# a slow disk ----------------------------------------------------------------------------------

# The disk is slow again and again for a session that generates IDs until there is a second line.
my $disk = FaultyDisk->new;
$node = PostgreSQL::Test::Cluster->new('slow');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.horizon_lead = '1ms'\n");
{
	local %ENV = (%ENV, $disk->environment);
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$begin = time();
$session = session($node);
$session->query_until(qr/writes/,
	"\\echo writes\nSELECT count(flake_next()) FROM (SELECT generate_series(1, 1000000000000)) AS many WHERE pg_sleep(0.001) IS NOT NULL;\n"
);
my @slow;
my $until = $begin + $PostgreSQL::Test::Utils::timeout_default;
while (@slow < 2) {
	die 'slow writes are not told' if time() > $until;
	for (1 .. 20) {
		$disk->becomes('slow');
		sleep 0.02;
		$disk->ends('slow');
		sleep 0.02;
	}
	push @slow, lines_of(qr/writing/);
}
ok(as_rare($begin, @slow), 'slow writes of the horizon are told once in 10 s')
  or diag(join "\n", @slow);
like(
	$slow[0],
	qr/\ALOG:  writing flakeid's horizon took [\d.]+ m?s\nDETAIL:  Sessions that generate IDs may wait for this write, once per "flakeid\.horizon_lead"\.\z/,
	'... with how long it took, and what follows');
cmp_ok(told(@slow), '>', 2, '... and how many were left out') or diag(join "\n", @slow);
$node->stop('immediate');
$session->{run}->kill_kill;

# after the pause ------------------------------------------------------------------------------

# The pause is real time: the clock's stepping on did not end it, nor does its standing still keep
# it from ending.
my $moment = int(time()) + 50_000.5;
$clock->stand_still($moment);
for my $end ($pause + 10.1, $paused + 10.1) {
	sleep($end - time()) if $end > time();
}
$node = $clock->node;
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
$clock->stand_still($moment - 30);
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
@lines = lines();
@back = sort grep { /stepped back/ } @lines;
@ahead = grep { /stepped forward/ } @lines;
is(scalar(@back), 2, 'after the pause a step back is told again, of each ID type');
like($back[0], qr/stepped back: it is 30\.0 s behind the last flake ID\n/, '... of flake');
is($back + told($back[0]), 4, '... and how many were left out');
like(
	$back[1],
	qr/stepped back: it is 30\.0 s behind the last sno ID\nDETAIL:  IDs continue in the other timeline if it is free; otherwise sessions wait\.\z/,
	'... and what follows for a sno');
is(scalar(@ahead), 1, '... and a step forward');
is($ahead + told(@ahead), 4, '... with how many were left out');
$node->stop;

$node = $overflow;
like(error_of($node, 'SELECT flake_next()'), qr/58000/, 'after the pause the tick overflows');
@lines = lines();
is(scalar(@lines), 1, '... which is told again') or diag(join "\n", @lines);
is(told(@used_up, @lines), 3, '... with how many were left out')
  or diag(join "\n", @used_up, @lines);
$node->stop;

# at start -------------------------------------------------------------------------------------

$node = PostgreSQL::Test::Cluster->new('start');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2010-01-01'\nflakeid.max_clock_wait = 0\nflakeid.horizon_lead = '60s'\n"
);
$clock = FakedNode->new($node);
$clock->step(10_800);
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE ROLE "the boss" SUPERUSER; SELECT flake_next(), sno_next()');
$node->stop;
$clock->step(0);
lines();
$clock->start;
ok(comes(qr/behind the horizon/), 'a start with the clock three hours behind the horizon is told');
like(error_of($node, 'SELECT flake_next()'), qr/58000/, '... and flakes are refused');
@lines = lines();
like(
	$lines[0],
	qr/\ALOG:  the clock is 1(?:7\d|80) min behind the horizon in flakeid's state\nDETAIL:  sno continues in its other timeline if it is free; all other ID types wait\.\z/,
	'... by how much, and what follows');
is(scalar(grep { /behind the horizon/ } @lines), 1, '... in one line') or diag(join "\n", @lines);
$node->stop;

my $text = state_text($node);
put_state($node, "$text damaged\n");
lines();
$clock->start;
ok(comes(qr/flakeid cannot generate IDs/),
	'a start with a damaged state file is logged, before a session asks');
$until = time() + $PostgreSQL::Test::Utils::timeout_default;
while (worker_of($node)) {
	die 'the worker stays' if time() > $until;
	sleep 0.05;
}
@lines = lines();
is(scalar(@lines), 1, '... once') or diag(join "\n", @lines);
like(
	$lines[0],
	qr/\ALOG:  flakeid cannot generate IDs: state file ".*flakeid\/state" is damaged\nDETAIL:  .*flakeid_accept_clock\(\)/,
	'... with what to do');
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  XX001: state file/,
	'... and a session that asks gets the error, too');
is(error_of($node, 'SET ROLE "the boss"; SELECT flakeid_accept_clock()'),
	'', 'the clock is accepted');
@lines = lines();
is( join("\n", @lines),
	"LOG:  the clock was accepted by \"the boss\"\nDETAIL:  flakeid generates IDs again, above its state and the current time.",
	'... which is logged, with the user');
is(error_of($node, 'SELECT flake_next()'), '', '... and there are IDs');
like(
	error_of($node, 'SELECT flakeid_accept_clock()'),
	qr/NOTICE:  00000: there is nothing to accept: the server can generate IDs/,
	'once more is nothing');
is(join("\n", lines()), '', '... and says nothing');
$node->stop;

unlink state_path($node);
lines();
$clock->start;
ok(comes(qr/LOG:  flakeid cannot generate IDs: state file ".*flakeid\/state" is missing/),
	'so is one without the file');
$node->stop;

# What cannot be written.
put_state($node, $text);
$clock->step(20_000);
$clock->start;
my $dir = $node->data_dir . '/flakeid';
SKIP:
{
	skip 'a superuser may write anywhere', 3 if $> == 0;
	$node->safe_psql('postgres', 'SELECT flake_next()');
	$clock->step(30_000);
	chmod 0500, $dir;
	lines();
	like(
		error_of($node, 'SELECT flake_next()'),
		qr/ERROR:  42501: could not \w+ state file ".*flakeid\/state": /,
		'a state file that cannot be written is an error of the session that asks');
	$node->stop;
	@lines = grep { !/stepped forward/ } lines();
	is(scalar(@lines), 1, '... and is told when the server stops') or diag(join "\n", @lines);
	like(
		$lines[0],
		qr/\ALOG:  flakeid could not write its last horizon: could not \w+ state file ".*flakeid\/state": .*\nDETAIL:  The server may have to wait for its first ID when it starts again\./,
		'... with what follows');
	chmod 0700, $dir;
}
$node->stop;

done_testing();
