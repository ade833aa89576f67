# The log has a line when a server starts with a clock that is behind, with a damaged state file or
# without it, when a superuser accepts the clock, and when the last horizon cannot be written.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use LogLines;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $clock = FakedClock->new('start', <<'END');
flakeid.epoch = '2010-01-01'
flakeid.max_clock_wait = 0
flakeid.horizon_lead = '60s'
END
my $node = $clock->node;
$clock->step(10_800);
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE ROLE "the boss" SUPERUSER; SELECT flake_next(), sno_next()');
$node->stop;

$clock->step(0);
lines($node);
$clock->start;
ok(comes($node, qr/behind the horizon/),
	'a start with the clock three hours behind the horizon is logged');
like(error_of($node, 'SELECT flake_next()'), qr/58000/, 'such a server refuses flakes');
my @lines = lines($node);
my $behind = qr/LOG:  the clock is 1(?:7\d|80) min behind the horizon in flakeid's state/;
my $follows = 'sno continues in its other timeline if it is free; all other ID types wait';
like($lines[0], qr/\A$behind\nDETAIL:  $follows\.\z/, 'the line has by how much, and what follows');
is(scalar(grep { /behind the horizon/ } @lines), 1, 'it is one line') or diag(join "\n", @lines);
$node->stop;

my $text = state_text($node);
put_state($node, "$text damaged\n");
lines($node);
$clock->start;
ok(comes($node, qr/flakeid cannot generate IDs/),
	'a start with a damaged state file is logged, before a session asks');
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
while (worker_of($node)) {
	die 'the worker stays' if time() > $until;
	sleep 0.05;
}
my $damaged = qr/LOG:  flakeid cannot generate IDs: state file ".*flakeid\/state" is damaged/;
is_line(
	[ lines($node) ],
	qr/\A$damaged\nDETAIL:  .*flakeid_accept_clock\(\)/,
	'the damaged file is one line, with what to do');
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  XX001: state file/,
	'a session that asks gets the error, too');

is(error_of($node, 'SET ROLE "the boss"; SELECT flakeid_accept_clock()'),
	'', 'a superuser accepts the clock');
is(join("\n", lines($node)), <<'END' =~ s/\n\z//r, 'this is logged, with the user');
LOG:  the clock was accepted by "the boss"
DETAIL:  flakeid generates IDs again, above its state and the current time.
END
is(error_of($node, 'SELECT flake_next()'), '', 'the server generates IDs again');
like(
	error_of($node, 'SELECT flakeid_accept_clock()'),
	qr/NOTICE:  00000: there is nothing to accept: the server can generate IDs/,
	'there is nothing to accept twice');
is(join("\n", lines($node)), '', 'the second call logs nothing');
$node->stop;

unlink state_path($node);
lines($node);
$clock->start;
ok(comes($node, qr/LOG:  flakeid cannot generate IDs: state file ".*flakeid\/state" is missing/),
	'a start without the state file is logged');
$node->stop;

put_state($node, $text);
$clock->step(20_000);
$clock->start;
my $dir = $node->data_dir . '/flakeid';
SKIP: {
	skip 'a superuser may write anywhere', 2 if $> == 0;
	$node->safe_psql('postgres', 'SELECT flake_next()');
	$clock->step(30_000);
	chmod 0500, $dir;
	lines($node);
	like(
		error_of($node, 'SELECT flake_next()'),
		qr/ERROR:  42501: could not \w+ state file ".*flakeid\/state": /,
		'a state file that cannot be written is an error of the session that asks');
	$node->stop;
	my $not_written = qr/flakeid could not write its last horizon: could not \w+ state file/;
	my $wait = 'The server may have to wait for its first ID when it starts again';
	is_line(
		[ grep { !/stepped forward/ } lines($node) ],
		qr/\ALOG:  $not_written ".*flakeid\/state": .*\nDETAIL:  $wait\./,
		'the stop is logged once, with what follows');
	chmod 0700, $dir;
}
$node->stop;

done_testing();
