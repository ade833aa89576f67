# A process of the server is killed while many sessions ask for IDs, and the clock is behind the
# horizon then: sessions wait for it, longer than max_clock_wait, and no ID repeats. So they do if
# the server is killed and starts with another horizon_lead and with other generator IDs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Postmaster;
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

# another lead and other generator IDs -----------------------------------------------------------

my $second = 1_000_000_000;    # nanoseconds
for my $leads ([ '100ms', '20s' ], [ '20s', '100ms' ]) {
	my ($before, $after) = @$leads;
	my $clock = FakedClock->new("lead_${before}_$after",
		"flakeid.max_clock_wait = '0'\nflakeid.horizon_lead = '$before'\n");
	my $node = $clock->node;
	my $ledger = Ledger->new("lead_${before}_$after");
	my $postmaster = Postmaster->start($node, $clock->environment);
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$ledger->use_all($node);
	$postmaster->kill9;
	my $state = state_of($node);
	$node->append_conf('postgresql.conf',
		"flakeid.horizon_lead = '$after'\nflakeid.generator_ids = '16-17'");

	# Little of the lead is left by the faked clock, which has not stepped back.
	my $until = until_of($state) / $second;
	my ($moment) = sort { $b <=> $a } $until - 0.3, moment($state->{since}) / $second + 0.001;
	$clock->stand_still($moment);
	$postmaster = Postmaster->start($node, $clock->environment);
	# The moment at which the tick after an ID type's last ID begins. If one cell serves all
	# generators, the clock continues after the cell's last ID.
	my %next;
	for my $generators ('16-17', '40') {
		reload_with($node, generator_ids => $generators) if $generators eq '40';
		for my $id_type (@ID_TYPES) {
			my $name = $id_type->{name};
			my $test = "$name of generators $generators, lead $before and then $after:";
			$clock->set($id_type->{cells} && $next{$name} || $moment);
			my ($error, @ids) = $ledger->ask($node, $id_type, 10);
			is($error, '', "$test sessions wait for the former lead") or next;
			my ($first, $last) = times_of($node, $id_type, @ids);
			$next{$name} = ($last + $id_type->{tick}) / $second;
			cmp_ok(
				$first, '>=',
				horizon_of($state, $id_type, 0),
				"$test IDs begin above the horizon");
		}
	}
	$clock->set($until + 30);
	reload_with($node, generator_ids => '0-7');
	$ledger->use_all($node);
	is($ledger->twice, '',
		"no ID repeats with the former generator IDs, lead $before and then $after");
	$postmaster->stop('immediate');
}
done_testing();
