# The lines in the server's log for what someone should look at: when they come, how often, what they
# say; and that there are none otherwise.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FakedNode;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

# The first line of everything that flakeid says to the log by itself.
my $any = qr/LOG:  (?:\w+ IDs of this tick|the clock |writing flakeid|flakeid |\w+ is (?:behind|ahead))/;

my ($node, %seen);

# What the log has of flakeid's since this was asked last of this server: each line with its detail.
sub lines
{
	my $log = slurp_file($node->logfile, $seen{ $node->name } // 0);
	$seen{ $node->name } += length $log;
	my @lines;
	my $mine = 0;
	for my $line (split /\n/, $log)
	{
		$lines[-1] .= "\n$1" if $mine && $line =~ /(DETAIL:  .*)/;
		$mine = $line =~ /($any.*)/;
		push @lines, $1 if $mine;
	}
	return @lines;
}

# Waits for a line that has not been asked for; `lines` still has it.
sub comes
{
	my ($line) = @_;
	return $node->wait_for_log($line, $seen{ $node->name } // 0);
}

# As `lines`, those of one kind.
sub lines_of
{
	my ($kind) = @_;
	return grep { /$kind/ } lines();
}

# quiet use ----------------------------------------------------------------------------------------------

# A lead that no disk of a test takes a quarter of.
$node = PostgreSQL::Test::Cluster->new('quiet');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
restart_after_crash = on
flakeid.horizon_lead = '3s'
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
# No more than what a tick has of all generator IDs.
my $few = join '; ', map { "SELECT count($_->{next}) FROM generate_series(1, " . ($_->{numbers} < 1000 ? $_->{numbers} : 1000) . ')' } @SYSTEMS;
$node->safe_psql('postgres', $few);
sleep 3.2;
$node->safe_psql('postgres', $few);
is(join("\n", lines()), '', 'a new server\'s first IDs, and those after a pause, say nothing');
$node->restart;
$node->safe_psql('postgres', $few);
is(join("\n", lines()), '', '... nor does a restart');
my $session = session($node);
$session->query_safe($few);
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
$node->poll_query_until('postgres', 'SELECT true') or die 'the server did not recover';
$node->safe_psql('postgres', $few);
my $log = slurp_file($node->logfile);
like($log, qr/all server processes terminated; reinitializing/, 'a backend is killed');
is(join("\n", lines()), '', '... and the IDs that wait for the horizon say nothing');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', $few);
is(join("\n", lines()), '', '... nor do those after a crash of the server');
$node->stop;
$session->{run}->kill_kill if $session->{run};

# the clock ------------------------------------------------------------------------------------------------

my $clock = FakedClock->new('clock', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = 0\nflakeid.horizon_lead = '10s'\n");
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next(), sno_next()');
is(join("\n", lines()), '', 'a clock that is right is no news');

# Three times forward, and each time back, within the pause.
my $begin = time();
for my $place (1 .. 3)
{
	$clock->step(1000 * $place);
	$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
	$clock->step(1000 * $place - 60);
	error_of($node, 'SELECT flake_next()');
	error_of($node, 'SELECT flake_next()');
}
my @lines = lines();
my @back  = grep { /stepped back/ } @lines;
my @ahead = grep { /stepped forward/ } @lines;
my $took  = time() - $begin;
ok($took < 10, 'three steps forward and three back come within the pause') or diag($took);
is(scalar(@back), 1, '... of those back one is told') or diag(join "\n", @lines);
like($back[0], qr/\ALOG:  the clock stepped back: it is (?:59\.\d|60\.0) s behind the last flake ID\n/, '... the first, by how much it is');
like($back[0], qr/\nDETAIL:  IDs go on with what their last tick has left, and then wait for the clock\.\z/, '... and what follows for a flake');
is(scalar(@ahead), 1, '... of those forward one is told') or diag(join "\n", @lines);
like($ahead[0], qr/\ALOG:  the clock stepped forward by (?:1000|999|16) ?(?:\.\d s|s|min)\n/, '... the first, by how much it was');
like($ahead[0], qr/\nDETAIL:  IDs go with it\. If it is wrong and is set back, those made since then lie ahead of it\.\z/, '... and what follows');
is(scalar(@lines), 2, '... and nothing else');

# a tick that overflows ------------------------------------------------------------------------------------

my $overflow = $node = PostgreSQL::Test::Cluster->new('overflow');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.sno_sequence = '0-99'
flakeid.horizon_lead = '60s'
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$node->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(40960)');
@lines = lines();
is(scalar(@lines), 1, 'ticks that overflow are told once') or diag(join "\n", @lines);
like(
	$lines[0], qr/\ALOG:  flake IDs of this tick are used up, generator IDs in use: 1\nDETAIL:  A session waits for the next tick\. More generator IDs in "flakeid\.generator_ids" hold more\.\z/,
	'... with what follows and what helps');
$node->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(40960), sno_next_batch(10)');
is(join("\n", lines()), '', '... and not again within the pause');
$node->safe_psql('postgres', 'SELECT count(*) FROM uniqueid_next_batch(640)');
@lines = lines();
is(scalar(@lines), 1, '... but of another system') or diag(join "\n", @lines);
like(
	$lines[0], qr/\ALOG:  uniqueid IDs of this tick are used up, generator IDs in use: 1\nDETAIL:  A session waits for the next tick\. More generator IDs in "flakeid\.generator_ids" hold more\.\z/,
	'... which says the same');

# a slow disk ------------------------------------------------------------------------------------------------

# No disk writes and syncs two files in a quarter of a millisecond, again and again.
my $slow = $node = PostgreSQL::Test::Cluster->new('slow');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nflakeid.horizon_lead = '1ms'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$begin = time();
$node->safe_psql('postgres', 'SELECT flake_next()') for 1 .. 20;
@lines = lines_of(qr/writing/);
is(scalar(@lines), 1 + int((time() - $begin) / 10), 'slow writes of the horizon are told once') or diag(join "\n", @lines);
like($lines[0], qr/\ALOG:  writing flakeid's horizon took [\d.]+ ms\nDETAIL:  Sessions that ask for IDs wait for it, once in "flakeid\.horizon_lead"\.\z/, '... with how long it took, and what follows');

# after the pause ------------------------------------------------------------------------------------------

# The pause is real time: the clock's stepping on did not end it, nor does its standing still keep it from
# ending.
my $moment = int(time()) + 5000.5;
$clock->stand_still($moment);
sleep 10.5;
$node = $clock->node;
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
$clock->stand_still($moment - 30);
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
@lines = lines();
@back  = sort grep { /stepped back/ } @lines;
@ahead = grep { /stepped forward/ } @lines;
is(scalar(@back), 2, 'after the pause a step back is told again, of each system');
like($back[0], qr/stepped back: it is 30\.0 s behind the last flake ID\n.* There is one such line in 10 s at most; left out since the last: 2\.\z/, '... and how many were left out');
like($back[1], qr/stepped back: it is 30\.0 s behind the last sno ID\nDETAIL:  IDs go on in the other of its two timelines where that is free, else they wait\.\z/, '... and what follows for a sno');
is(scalar(@ahead), 1, '... and a step forward');
like($ahead[0], qr/ There is one such line in 10 s at most; left out since the last: 2\.\z/, '... with how many were left out');
$node->stop;

$node = $overflow;
my $waits = $node->safe_psql('postgres', "SELECT sum(waits) FROM pg_stat_flakeid WHERE system = 'flake'");
$node->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(40960)');
@lines = lines();
is(scalar(@lines), 1, 'after the pause they are told again') or diag(join "\n", @lines);
my ($left_out) = ($lines[0] // '') =~ /\ALOG:  flake IDs of this tick are used up, generator IDs in use: 1\nDETAIL: .* There is one such line in 10 s at most; left out since the last: (\d+)\.\z/;
ok(defined $left_out, '... with how many were left out') or diag($lines[0]);
# Of the waits counted one is told; one was for the clock to pass where the cell begins.
ok(defined $left_out && $left_out >= $waits - 3 && $left_out < $waits, '... as many as there were waits') or diag("$left_out of $waits");
$node->stop;

$node = $slow;
$begin = time();
$node->safe_psql('postgres', 'SELECT flake_next()') for 1 .. 20;
@lines = lines_of(qr/writing/);
is(scalar(@lines), 1 + int((time() - $begin) / 10), 'after the pause once more') or diag(join "\n", @lines);
like($lines[0], qr/ There is one such line in 10 s at most; left out since the last: \d+\.\z/, '... with how many were left out');
$node->stop;

# at start -----------------------------------------------------------------------------------------------

# Up to version 15 a worker may see the real clock, so it is that which is behind.
$node = PostgreSQL::Test::Cluster->new('start');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nflakeid.max_clock_wait = 0\n");
$clock = FakedNode->new($node);
$clock->step(3600);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE "the boss" SUPERUSER; SELECT flake_next(), sno_next()');
$node->stop;
$clock->step(0);
lines();
$clock->start;
ok(comes(qr/behind the horizon/), 'a start with the clock an hour behind the horizon is told');
like(error_of($node, 'SELECT flake_next()'), qr/58000/, '... and flakes are refused');
@lines = lines();
like($lines[0], qr/\ALOG:  the clock is (?:59|60) min behind the horizon in flakeid's state\nDETAIL:  sno IDs go on in the other of their two timelines where that is free; all others wait\.\z/, '... by how much, and what follows');
is(scalar(@lines), 1, '... in one line') or diag(join "\n", @lines);
$node->stop;

my $text = state_text($node);
put_state($node, "$text damaged\n");
lines();
$clock->start;
ok(comes(qr/flakeid makes no IDs/), 'a start with a damaged state file is told, before anyone asks');
sleep 2;
@lines = lines();
is(scalar(@lines), 1, '... once') or diag(join "\n", @lines);
like($lines[0], qr/\ALOG:  flakeid makes no IDs: state file ".*flakeid\/state" is damaged\nDETAIL:  .*flakeid_accept_clock\(\)/, '... with what to do');
like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  XX001: state file/, '... and who asks is told, too');
is(error_of($node, 'SET ROLE "the boss"; SELECT flakeid_accept_clock()'), '', 'the clock is accepted');
@lines = lines();
is(join("\n", @lines), "LOG:  the clock was accepted by \"the boss\"\nDETAIL:  flakeid makes IDs again, after what its state and the clock say.", '... which is told, with who did it');
is(error_of($node, 'SELECT flake_next()'), '', '... and there are IDs');
like(error_of($node, 'SELECT flakeid_accept_clock()'), qr/NOTICE:  00000: there is nothing to accept: IDs are not held back/, 'once more is nothing');
is(join("\n", lines()), '', '... and says nothing');
$node->stop;

unlink state_path($node);
lines();
$clock->start;
ok(comes(qr/LOG:  flakeid makes no IDs: state file ".*flakeid\/state" is missing/), 'so is one without the file');
$node->stop;

# What cannot be written.
put_state($node, $text);
$clock->step(3700);
$clock->start;
my $dir = $node->data_dir . '/flakeid';
SKIP:
{
	skip 'a superuser may write anywhere', 3 if $> == 0;
	$node->safe_psql('postgres', 'SELECT flake_next()');
	$clock->step(3800);
	chmod 0500, $dir;
	lines();
	like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  42501: could not \w+ state file ".*flakeid\/state": /, 'a state file that cannot be written is an error of who asks');
	$node->stop;
	@lines = grep { !/stepped forward/ } lines();
	is(scalar(@lines), 1, '... and is told when the server stops') or diag(join "\n", @lines);
	like($lines[0], qr/\ALOG:  flakeid could not write its last horizon: could not \w+ state file ".*flakeid\/state": .*\nDETAIL:  The server may have to wait for its first ID when it starts again\./, '... with what follows');
	chmod 0700, $dir;
}
$node->stop;

done_testing();
