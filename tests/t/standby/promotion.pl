# A standby whose clock is behind its primary's is promoted. It repeats no ID of the primary, also
# if it is restarted or crashes before a session requests one, and if the clock of the primary was
# stepped back. If its clock is in step, it generates IDs without a wait.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use StateFile;
use Successors;
use Test::More;

# The standbys' clock is the real one. The primary's is ahead by this many seconds.
my $ahead = 7200;
my ($primary, $clock) = primary('primary', $ahead);
$primary->backup('young');
ok( !-e $primary->backup_dir . '/young/flakeid',
	'a backup from before the first ID has no state file');
insert_rows($primary, 2000);

# Launches a standby that catches up. Returns the node and its clock.
sub standby {
	my ($name, $configuration) = @_;
	my ($node, $clock) =
	  successor($name, $primary, 'young', $configuration // '', has_streaming => 1);
	$primary->wait_for_catchup($node);
	return ($node, $clock);
}

subtest 'a standby keeps the time of its primary, and repeats no ID when it is promoted' => sub {
	my ($standby, $standby_clock) = standby('behind');
	is($standby->safe_psql('postgres', <<~'SQL'), '0|0|', 'a standby has no statistics to reset');
		SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot()),
			pg_stat_reset_flakeid()
		SQL
	insert_rows($primary, 2000);
	$primary->wait_for_catchup($standby);
	wait_until_seen($primary, $standby);
	is(state_of($standby)->{server},
		'running', 'a standby has a state file, although its primary had none when it was copied');
	my $last = $standby->safe_psql('postgres',
		'SELECT extract(epoch FROM flake_timestamp(max(id))) FROM flakes');
	my $worker = wait_for_worker($standby);
	kill 'TERM', $worker;
	ok(wait_for_worker($standby, $worker),
		'a standby starts its recovery worker again when the worker was told to end');
	promote($standby);
	cmp_ok(
		until_of(state_of($standby)),
		'>',
		$last * 1_000_000_000,
		'when it is promoted, the standby writes what it has seen');
	repeats_none_behind($standby, $standby_clock, $ahead, 'a standby that is promoted');
};

subtest 'a standby is promoted, and restarts and crashes before a session requests an ID' => sub {
	my ($standby, $standby_clock) = standby('restarted');
	insert_rows($primary, 2000);
	$primary->wait_for_catchup($standby);
	promote($standby);
	halt($standby);
	launch($standby_clock);
	crash($standby_clock);
	repeats_none_behind($standby, $standby_clock, $ahead,
		'a standby that is promoted, restarted, and crashes');
};

# Its worker may not have seen yet that recovery is over.
subtest 'a standby crashes right after its promotion' => sub {
	my ($standby, $standby_clock) = standby('crashed');
	insert_rows($primary, 2000);
	$primary->wait_for_catchup($standby);
	wait_until_seen($primary, $standby);
	$standby->promote;
	crash($standby_clock);
	repeats_none_behind($standby, $standby_clock, $ahead,
		'a standby that crashes right after it was promoted');
};

# On disk the state of a standby is ahead by the lead. If the server waited for that, its IDs would
# have other times.
subtest 'a standby whose clock is in step is promoted' => sub {
	my ($standby, $standby_clock) = standby('in_step', "flakeid.horizon_lead = '1h'\n");
	$standby_clock->step($ahead);
	insert_rows($primary, 2000);
	$primary->wait_for_catchup($standby);
	wait_until_seen($primary, $standby);
	wait_until_looked($standby);
	my $ahead_on_disk = until_of(state_of($standby));
	promote($standby);

	for my $name (@TYPE_NAMES) {
		is(error_of($standby, "INSERT INTO ${name}s SELECT FROM generate_series(1, 100)"),
			'', "it generates $name IDs");
		my $last = $standby->safe_psql('postgres', <<~"SQL");
			SELECT trunc(extract(epoch FROM max(${name}_timestamp(id))) * 1000000000) FROM ${name}s
			SQL
		cmp_ok($last, '<', $ahead_on_disk, "it generates $name IDs without a wait");
	}
	is( $standby->safe_psql(
			'postgres', 'SELECT sum(clock_steps_back), sum(tick_tocks) FROM pg_stat_flakeid'),
		'0|0',
		'it sees no step of the clock');
	halt($standby);
};
$primary->stop;

# The standbys have seen the times from before the step and from after it.
subtest 'the clock of the primary is stepped back by an hour' => sub {
	my ($primary, $clock) = primary('stepped', -7200);
	$primary->backup('young');
	# Four hours before the rest: so sno's other timeline is free for a step back.
	$primary->safe_psql('postgres', "INSERT INTO ${_}s DEFAULT VALUES") for @TYPE_NAMES;
	$clock->step($ahead);

	my %node;
	my %clock;
	for my $name ('promoted', 'stopped', 'crashed') {
		($node{$name}, $clock{$name}) =
		  successor("step_$name", $primary, 'young', '', has_streaming => 1);
	}
	my @standbys = values %node;
	insert_rows($primary, 2000);
	$primary->wait_for_catchup($_) for @standbys;
	wait_until_seen($primary, $_)  for @standbys;
	$node{crashed}->safe_psql('postgres', 'CHECKPOINT');

	$clock->step($ahead - 3600);
	insert_rows($primary, 2000, 'sno');
	like(
		error_of($primary, 'SELECT count(flake_next()) FROM generate_series(1, 50000)'),
		qr/58000: the clock is (?:5\d|60) min behind/,
		'the clock of the primary is stepped back by an hour');
	$primary->safe_psql('postgres', 'CHECKPOINT');
	# The restart point begins at the last checkpoint that the standby has replayed.
	$primary->wait_for_catchup($node{crashed});
	$node{crashed}->safe_psql('postgres', 'CHECKPOINT');
	crash($clock{crashed});
	insert_rows($primary, 2000, 'sno');
	$primary->wait_for_catchup($_) for @standbys;
	wait_until_looked($_) for @standbys;

	halt($node{stopped});
	unlink $node{stopped}->data_dir . '/standby.signal' or die 'no standby.signal';
	launch($clock{stopped});
	promote($node{$_}) for 'promoted', 'crashed';
	my %what = (
		stopped => 'a standby that was stopped and is started as a server of its own',
		promoted => 'a standby that is promoted after the step',
		crashed => 'a standby that is promoted, and had crashed after the step');
	repeats_none_behind($node{$_}, $clock{$_}, $ahead, $what{$_}) for sort keys %what;
	$primary->stop;
};

done_testing();
