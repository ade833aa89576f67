# A process of the server is killed while many sessions ask for IDs, and the clock is behind the
# horizon then: sessions wait for it, longer than max_clock_wait, and no ID repeats.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $clock = FakedClock->new('backend', <<~'CONF');
	restart_after_crash = on
	log_statement = none
	flakeid.horizon_lead = '10min'
	flakeid.max_clock_wait = '100ms'
	CONF
my $node = $clock->node;
my $ledger = Ledger->new('backend');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

my ($offset, $crashes) = (0, 0);
my $in_crowd = "FROM pg_stat_activity WHERE application_name = 'crowd'";
my @victims = ('client backend', 'background writer', 'client backend');
for my $victim (@victims) {
	$crashes++;
	my $after = "after crash $crashes, of a $victim,";
	$ledger->crowd($node, ways => [ 'single', 'batch', 'stream' ]);
	$ledger->wait_until_given(0.2);
	$ledger->kill_one($node, $victim);
	$ledger->crowd_ends("$after sessions end because the server has gone");
	my $state = state_of($node);
	is($state->{server}, 'running', "$after the horizon is that of a server that runs");

	# The clock stands still, so that it does not reach the horizon before all sessions wait.
	$clock->stand_still(time() + $offset + 1);
	wait_for_server($node);
	$ledger->crowd($node);
	my $sessions = 2 * @ID_TYPES;
	$node->poll_query_until('postgres', <<~"SQL") or die 'the sessions do not wait';
		SELECT count(*) = $sessions $in_crowd AND wait_event_type = 'Extension' AND state = 'active'
		SQL
	is($ledger->given, 0, "$after all sessions wait, as the clock is behind the horizon") or next;
	my @waits = slurp_file($node->logfile) =~
	  /LOG:  flakeid generates its first IDs in ([\d.]+ (?:min|s))\n/g;
	is(scalar(@waits), $crashes, "$after the log has one line about the wait") or diag("@waits");
	$offset += 600;
	$clock->step($offset);
	$ledger->wait_until_given(0.2);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $in_crowd");

	my (@errors, @early, @turned);
	for my $session ($ledger->dispersed) {
		my ($id_type, $error, $ids) = @$session{ 'id_type', 'error', 'first' };
		my $horizon = horizon_of($state, $id_type, $state->{tick_tock});
		push @errors, $error if $error =~ /ERROR: /;
		push @early, $id_type->{name} if (times_of($node, $id_type, @$ids))[0] < $horizon;
		push @turned, $id_type->{name}
		  if $id_type->{turns} && timelines_of($node, $id_type, @$ids) ne '0';
	}
	is("@errors", '', "$after sessions of each ID type wait longer than max_clock_wait");
	is("@early", '', "$after IDs of each ID type begin at the horizon");
	is("@turned", '', "$after snos are in the same timeline");
}
unlike(
	slurp_file($node->logfile),
	qr/ERROR: |flakeid cannot generate IDs|clock stepped back/,
	'the log of these crashes has no fault of the clock');
$node->stop;

# The clock is as far behind the last ID as after a crash, but it has stepped back. It stands still
# there, so that it does not catch up before the server has started.
$clock->stand_still(time() + $offset - 300);
$clock->start;
like(error_of($node, 'SELECT flake_next()'),
	qr/58000/, 'a clock that stepped back before a start is an error');
my @waits = slurp_file($node->logfile) =~ /LOG:  flakeid generates its first IDs in/g;
is(scalar(@waits), $crashes, 'the log does not take a clock that stepped back for a crash');
$node->stop;

is($ledger->twice, '', 'no ID repeats when processes are killed');
done_testing();
