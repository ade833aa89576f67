# A server that is stopped and started: IDs go on where they were, on any clock that the server finds, and
# nothing is waited for that need not be.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds
my ($node, $ledger, $clock);

# A server with these settings whose clock is right at first.
sub begin {
	my ($name, $configuration) = @_;
	$clock = FakedClock->new($name, "restart_after_crash = on\n$configuration");
	$node = $clock->node;
	$ledger = Ledger->new($name);
	$clock->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return;
}

# Ten IDs of an ID type; dies where it gives no IDs.
sub give {
	my ($id_type) = @_;
	my ($error, @ids) = $ledger->ask($node, $id_type, 10);
	die "no $id_type->{name} IDs: $error" if $error ne '';
	return @ids;
}

# Kills one of the server's processes: then the server initializes shared memory again.
sub crash {
	my $end_of_log = -s $node->logfile;
	kill 'KILL',
	  $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'");
	$node->wait_for_log(qr/database system is ready to accept connections/, $end_of_log);
	wait_for_server($node);
	return;
}

# within one tick --------------------------------------------------------------------------------------------

begin('instant', "flakeid.max_clock_wait = '1h'\n");
# The state begins while the clock is right.
give($_) for @ID_TYPES;
# Within a tick of any ID type: in the middle of guid's, and 0.3 ms or nearly so after the beginning of the
# others'.
my $nanos = int(time() + 1) * $second + 500_300_000;
$nanos += 65_536 - $nanos % 131_072;
my $moment = $nanos / $second;
$clock->stand_still($moment);
give($_) for @ID_TYPES;
$node->stop;
my $state = state_of($node);
ok($state->{server} eq 'stopped', 'a server that was stopped says so in its state file');
# The clock reads whole microseconds. Those with one timeline share a horizon: it is that of the latest tick, which is that of uuidv7, the shortest.
my $read = sprintf('%.0f', $nanos / 1000) * 1000;
for my $id_type (@ID_TYPES) {
	my ($latest) = sort { $b <=> $a }
	  map { tick_at($_, $read) } $id_type->{turns} ? $id_type : grep { !$_->{turns} } @ID_TYPES;
	is( horizon_of($state, $id_type, 0),
		$latest + 1,
		"... and the last tick of $id_type->{name} or its like, to the nanosecond");
}

$clock->start;
my $active = "state = 'active' AND application_name = 'asks' AND query LIKE 'COPY%'";
# A tick of uuidv7 is hardly longer than the least step between moments.
my %ticks = map { $_->{tick} => 1 } grep { $_->{name} ne 'uuidv7' } @ID_TYPES;
for my $tick (sort { $a <=> $b } keys %ticks) {
	my @id_types = grep { $_->{tick} == $tick } @ID_TYPES;
	my @waiting = map { session($node) } @id_types;
	for my $i (0 .. $#id_types) {
		my ($name, $next) = @{ $id_types[$i] }{ 'name', 'next' };
		$waiting[$i]->query_safe("SET application_name = 'asks'");
		$waiting[$i]
		  ->query_until(qr/asks/, "\\echo asks\nCOPY (SELECT '$name', $next) TO STDOUT;\n");
	}
	my $names = join ', ', map { $_->{name} } @id_types;
	my $test = "when it is started in the same tick the first of $names waits for the next";
	# So short a wait is spent looking at the clock.
	my $how = $tick < 200_000 ? $active : "$active AND wait_event_type = 'Extension'";
	ok( $node->poll_query_until(
			'postgres',
			"SELECT count(*) = @{[ scalar @id_types ]} FROM pg_stat_activity WHERE $how"),
		$test);
	is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE $active"),
		scalar @id_types,
		'... which does not come by itself');
	$nanos += $tick;
	$moment = $nanos / $second;
	$clock->stand_still($moment);
	for my $i (0 .. $#id_types) {
		my ($next) = $ledger->enter($waiting[$i]->query_safe(''));
		cmp_ok(
			(times_of($node, $id_types[$i], $next))[0],
			'>=',
			horizon_of($state, $id_types[$i], 0),
			"... and then the $id_types[$i]{name} comes after the last");
		$waiting[$i]->quit;
	}
}
$node->stop;
$moment += 0.004;
$clock->stand_still($moment);
$clock->start;
is(($ledger->ask($node, $_, 10))[0],
	'', "when the clock is a tick further there is no wait: $_->{name}")
  for @ID_TYPES;
is($ledger->twice, '', 'no ID repeats');
$clock->step(0);
$node->stop;

# the clock stepped back while the server was down ------------------------------------------------------------------------------------

begin('set_back', '');
give($_) for @ID_TYPES;
$node->stop;
for my $back (0.05, 10, 3600) {
	# As if the server had been at rest for some hours.
	my $rest = int(time() - 3 * 3600) * $second;
	rewrite_state(
		$node,
		sub {
			my ($state) = @_;
			$state->{$_} = instant($rest) for 'until', 'since', 'written';
			$state->{tick_tock_until} = [ instant($rest), instant($rest) ];
			$state->{tick_tock} = 0;
		});
	# A small step back is waited for, also where one ID type after the other is asked by a slow machine.
	$node->append_conf('postgresql.conf',
		"flakeid.max_clock_wait = '" . ($back < 1 ? '10min' : '1s') . "'");
	$clock->step(0);
	$clock->start;
	give($_) for @ID_TYPES;
	$node->stop;

	# Behind the last ID of each ID type: on a busy machine they are further apart than the least of these steps.
	my $last = state_of($node);
	my ($earliest) = sort { $a <=> $b } map { horizon_of($last, $_, $last->{tick_tock}) } @ID_TYPES;
	my $moment = $earliest / $second;
	for my $time ('once', 'twice') {
		$moment -= $back;
		my $now = int($moment * 1_000_000) * 1000;
		my $state = state_of($node);
		my $bit = $state->{tick_tock};
		$clock->stand_still($moment);
		$clock->start;
		for my $id_type (sort { !!$b->{turns} <=> !!$a->{turns} } @ID_TYPES) {
			my $test = "$id_type->{name}, the clock stepped back by $back s $time: ";
			if ($id_type->{turns} && $time eq 'once') {
				my ($error, @ids) = $ledger->ask($node, $id_type, 10);
				is($error, '', "${test}IDs go on at once") or next;
				is(timelines_of($node, $id_type, @ids), 1 - $bit, '... in the other timeline');
				cmp_ok(
					(times_of($node, $id_type, @ids))[0],
					'>=',
					$now - $id_type->{tick},
					'... with times of now');
				next;
			}
			my $from = horizon_of($state, $id_type, $bit);
			$clock->set($moment) if $back < 1;
			my ($error, @ids) = $ledger->ask($node, $id_type, 10);
			if ($back < 1) {
				is($error, '', "${test}IDs wait") or next;
				cmp_ok((times_of($node, $id_type, @ids))[0], '>=', $from, '... for the clock');
			}
			else {
				is_behind($error, $id_type, ($from - $now) / $second, "${test}there are no IDs");
			}
		}
		$node->stop;
	}
}
is($ledger->twice, '', 'no ID repeats');

# A server that was up while the clock was behind its last ID, and was asked nothing.
my $up = int(time());
my $ahead = ($up + 3570) * $second;
rewrite_state(
	$node,
	sub {
		my ($state) = @_;
		$state->{$_} = instant($ahead) for 'until', 'since', 'written';
		$state->{tick_tock_until} = [ instant($ahead), instant($ahead - 7200 * $second) ];
		$state->{tick_tock} = 0;
	});
$clock->stand_still($up);
$clock->start;
$node->stop;
$clock->start;
for my $id_type (@ID_TYPES) {
	my ($error, @ids) = $ledger->ask($node, $id_type, 10);
	if ($id_type->{turns}) {
		is($error, '', "stopped again while the clock is behind: $id_type->{name} goes on") or next;
		is(timelines_of($node, $id_type, @ids), 1, '... in the other timeline');
	}
	else {
		like(
			$error,
			qr/ERROR:  58000: the clock is 59 min behind/,
			"stopped again while the clock is behind: there are no $id_type->{name} IDs");
	}
}
$node->stop('immediate');

# a year forward and back ------------------------------------------------------------------------------------------

my $year = 365 * 86_400;
begin('year', '');
give($_) for @ID_TYPES;
$clock->step($year + 600);
give($_) for @ID_TYPES;
$clock->step(0);
$node->stop;
$clock->start;

for my $id_type (@ID_TYPES) {
	my ($error, @ids) = $ledger->ask($node, $id_type, 10);
	if ($id_type->{turns}) {
		is($error, '', "after a year forward and back $id_type->{name} goes on") or next;
		is(timelines_of($node, $id_type, @ids), 1, '... in the other timeline');
	}
	else {
		like(
			$error,
			qr/ERROR:  58000: the clock is 365 days behind the last $id_type->{name} ID/,
			"after a year forward and back there are no $id_type->{name} IDs");
	}
}
$node->stop;
$clock->step($year + 1200);
$clock->start;
is(($ledger->ask($node, $_, 10))[0], '', "... a year later there are: $_->{name}") for @ID_TYPES;
is($ledger->twice, '', '... and no ID repeats');
$clock->step(0);
$node->stop('immediate');

# nobody asks ------------------------------------------------------------------------------------------------------

# What can be seen of the file from outside, and what it says.
sub seen {
	my @stat = stat state_path($node);
	return join ' ', @stat[ 1, 9 ], state_text($node);
}

begin('idle', "flakeid.horizon_lead = '100ms'\n");
is(error_of($node, "SELECT flake_min('2026-01-01'), sno_min('2026-01-01'), flake_next_batch(0)"),
	'', 'to read IDs');
$node->stop;
ok( !-e $node->data_dir . '/flakeid',
	'... and a server that never generated an ID leaves nothing in its data directory when it stops'
);
$clock->start;
$node->stop;
ok(!-e $node->data_dir . '/flakeid', '... nor does a second time');
$clock->start;
give($_) for @ID_TYPES;
my $seen = seen();
sleep 1;
is(seen(), $seen, 'while no session asks nothing is written');
$node->stop;
$clock->start;
$node->safe_psql('postgres', 'SELECT 1');
$seen = seen();
sleep 0.5;
$node->stop;
is(seen(), $seen, '... nor when a server stops that was asked nothing');
$seen = seen();
$clock->start;
$node->safe_psql('postgres', 'SELECT 1');
is(seen(), $seen, '... nor when it starts');
is(($ledger->ask($node, $_, 10))[0], '', "... and $_->{name} goes on") for @ID_TYPES;
isnt(seen(), $seen, '... with the horizon, then');
is($ledger->twice, '', '... and no ID repeats');
$node->stop;

# A server for a single user is one, too.
my $out = '';
my $script = join '',
  map { "SELECT '$_->{name}' AS id_type, $_->{next}::text AS id FROM generate_series(1, 10)\n" }
  @ID_TYPES;
IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ],
	'<', \$script, '>', \$out, '2>', '/dev/null');
my @given = $out =~ /id_type = "(\w+)".*?id = "([^"]+)"/gs;
is( $ledger->enter(join "\n", map { "$given[2 * $_]\t$given[2 * $_ + 1]" } 0 .. @given / 2 - 1),
	10 * @ID_TYPES,
	'in single-user mode there are IDs');
ok(state_of($node)->{server} eq 'stopped', '... and an end in good order');
$node->start;
give($_) for @ID_TYPES;
is($ledger->twice, '', '... and none repeats');
$node->stop;

# other settings than before a crash -----------------------------------------------------------------------------------

for my $leads ([ '20s', '20s' ], [ '100ms', '20s' ], [ '20s', '100ms' ]) {
	my ($before, $after) = @$leads;
	begin("lead_${before}_$after",
		"flakeid.max_clock_wait = '0'\nflakeid.horizon_lead = '$before'\n");
	$node->stop;
	my $postmaster = Postmaster->start($node, $clock->environment);
	give($_) for @ID_TYPES;
	$postmaster->kill9;
	my $state = state_of($node);
	$node->append_conf('postgresql.conf',
		"flakeid.horizon_lead = '$after'\nflakeid.generator_ids = '16-17'");

	# What is left to wait of the lead is little by the faked clock, which has not stepped back. Where there is one cell
	# for all generators, the clock goes on after the cell's last ID, however long that took.
	my $until = until_of($state) / $second;
	my ($moment) = sort { $b <=> $a } $until - 0.3, moment($state->{since}) / $second + 0.001;
	$clock->stand_still($moment);
	$postmaster = Postmaster->start($node, $clock->environment);
	# The moment at which the tick after an ID type's last ID begins.
	my %next;
	for my $generators ('16-17', '40') {
		reload_with($node, generator_ids => $generators) if $generators eq '40';
		for my $id_type (@ID_TYPES) {
			my $test =
			  "horizon_lead was $before before a crash and is $after: $id_type->{name} of generators $generators";
			$clock->set($id_type->{cells} && $next{ $id_type->{name} } || $moment);
			my ($error, @ids) = $ledger->ask($node, $id_type, 10);
			is($error, '', "$test waits for what it was") or next;
			my ($first, $last) = times_of($node, $id_type, @ids);
			$next{ $id_type->{name} } = ($last + $id_type->{tick}) / $second;
			cmp_ok(
				$first, '>=',
				horizon_of($state, $id_type, 0),
				'... and begins above the horizon');
		}
	}
	$clock->set($until + 30);
	reload_with($node, generator_ids => '0-7');
	give($_) for @ID_TYPES;
	is($ledger->twice, '', '... and no ID repeats when the old ones are back');
	$postmaster->stop('immediate');
}

# down for too long ----------------------------------------------------------------------------------------------------

begin('downtime', "flakeid.allowable_downtime = '1min'\n");
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
give($_) for @ID_TYPES;
$node->stop;
$clock->stand_still(moment(state_of($node)->{written}) / $second + 50);
$clock->start;
is(($ledger->ask($node, $_, 10))[0], '', "after a downtime that is allowed $_->{name} goes on")
  for @ID_TYPES;
$node->stop;

my $written = moment(state_of($node)->{written}) / $second;
$clock->stand_still($written + 205.05);
my $end_of_log = -s $node->logfile;
$clock->start;
my @sessions = map { session($node) } 1 .. 3;
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	for my $number (0 .. $#sessions) {
		for my $ask ($id_type->{next}, sprintf $id_type->{batch}, 10) {
			my $error = error_in($sessions[$number], "SELECT $ask");
			like(
				$error,
				qr/ERROR:  55000: the server was down for 205\.[01] s, longer than "flakeid\.allowable_downtime"/,
				"after a longer downtime $ask is refused in session $number");
			like($error, qr/DETAIL:  The limit is 60\.0 s/, '... with the setting');
			like($error, qr/HINT:  .*flakeid_accept_clock\(\)/, '... and what to do');
		}
	}
	is( $sessions[0]->query_safe(
				"SELECT ${name}_timestamp(${name}_max('2026-01-01')) < '2026-01-02',"
			  . " ${name}_decode(${name}_min('2026-01-01')) IS NOT NULL"),
		't|t',
		"... while those of $name are decoded");
}
$node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: the server was down for/, $end_of_log);
pass('... and the log says so at start');

my $ordinary = "SET SESSION AUTHORIZATION ordinary; ";
like(
	error_of($node, "${ordinary}SELECT flakeid_accept_clock()"),
	qr/ERROR:  42501: /,
	'an ordinary user cannot accept the clock');
like(error_of($node, "SELECT $_->{next}"),
	qr/55000/, "... so that there are still no $_->{name} IDs")
  for @ID_TYPES;
$node->stop;
$clock->start;
like(error_of($node, "SELECT $_->{next}"), qr/55000/, "... nor after another restart: $_->{name}")
  for @ID_TYPES;
$_->quit for @sessions;
@sessions = map { session($node) } 1 .. 3;
like(error_in($_, 'SELECT flake_next()'), qr/55000/, '... in any session') for @sessions;

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$clock->set($written + 206);
$end_of_log = -s $node->logfile;
is(error_of($node, 'SELECT flakeid_accept_clock()'), '', 'a superuser can');
like(
	slurp_file($node->logfile, $end_of_log),
	qr/LOG:  the clock was accepted by "\Q$superuser\E"/,
	'... which is in the log with the name');

for my $id_type (@ID_TYPES) {
	is(error_in($_, "SELECT $id_type->{next}"),
		'', "... and $id_type->{name} IDs are made in sessions that were refused")
	  for @sessions;
	is(($ledger->ask($node, $id_type, 10))[0], '', '... and in others');
}
like(
	error_of($node, 'SELECT flakeid_accept_clock()'),
	qr/NOTICE:  .*there is nothing to accept/,
	'a second time there is nothing to accept');
$_->quit for @sessions;
is($ledger->twice, '', '... and no ID repeats');

# The server has been up for that day.
$clock->step(1000 + 86_400);
crash();
is(($ledger->ask($node, $_, 10))[0],
	'', "a crash of a backend after a quiet day is no downtime: $_->{name}")
  for @ID_TYPES;
$clock->step(1000 + 2 * 86_400);
$node->stop;
$clock->start;
is(($ledger->ask($node, $_, 10))[0], '', "... nor is a quiet day before a stop: $_->{name}")
  for @ID_TYPES;
$node->stop;

$node->append_conf('postgresql.conf', 'flakeid.allowable_downtime = 0');
$clock->step(1000 + 30 * 86_400);
$clock->start;
is(($ledger->ask($node, $_, 10))[0], '', "without the setting any downtime is allowed: $_->{name}")
  for @ID_TYPES;
is($ledger->twice, '', '... and no ID repeats');
$clock->step(0);
$node->stop('immediate');

# the epoch moves ----------------------------------------------------------------------------------------------------------

# The ID types whose epoch is a setting, and the others.
my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my @others = grep { $_->{name} ne 'flake' } @ID_TYPES;

# Starts the server again with a line of the file that it would refuse in a reload. No ID comes by it.
sub refused_for_epoch {
	my ($epoch, $recorded, $test) = @_;
	$node->adjust_conf('postgresql.conf', 'flakeid.epoch', "'" . substr($epoch, 0, 10) . "'");
	$node->restart;
	my ($error) = $ledger->ask($node, $flake, 10);
	like($error, qr/ERROR:  55000: "flakeid\.epoch" is later than the epoch of existing flakes/,
		$test);
	like(
		$error,
		qr/DETAIL:  Flakes were generated with the epoch \Q$recorded\E, and "flakeid\.epoch" is \Q$epoch\E\./,
		'... and the error says from when they did');
	is(($ledger->ask($node, $_, 10))[0], '', "... while $_->{name} goes on") for @others;
	return;
}

# Reloads with an epoch in the file, and waits until it is taken.
sub set_epoch {
	my ($epoch) = @_;
	$node->adjust_conf('postgresql.conf', 'flakeid.epoch', "'$epoch'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('flakeid.epoch') = '$epoch'")
	  or die "flakeid.epoch did not become $epoch";
	return;
}

# One generator ID, so that sessions meet in it.
begin('epoch', "flakeid.epoch = '2020-01-01'\nflakeid.generator_ids = '3'\n");
my ($unix, $e2020, $e2023) = map { "$_-01-01 00:00:00+00" } 1970, 2020, 2023;
my $session = session($node);
my $make = "COPY (SELECT 'flake', flake_next_batch(10)) TO STDOUT";
$ledger->enter($session->query_safe($make));
give($_) for @ID_TYPES;
like(
	error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2023-01-01'"),
	qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch"/,
	'an epoch that moves later is refused at once');
$ledger->enter($session->query_safe($make));
$session->quit;
refused_for_epoch($e2023, $e2020, '... and where the file has it at a start');
set_epoch('2020-01-01');
is(($ledger->ask($node, $flake, 10))[0], '', 'moved back, flake goes on');
is($ledger->twice, '', '... and no ID repeats');

# A statement that is under way keeps its settings to the end.
$ledger->crowd($node, ways => ['stream'], id_types => [$flake]);
$ledger->wait_until_given;
set_epoch('unix');
is(($ledger->ask($node, $flake, 10))[0], '', 'an epoch that moves earlier lets flake go on');
$ledger->wait_until_given(0.1);
cmp_ok(
	until_of(state_of($node)),
	'<',
	(time() + 10) * $second,
	'... and the horizon where it was, though a statement goes on by the other epoch');
$node->safe_psql('postgres',
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
$ledger->dispersed;
is(($ledger->ask($node, $flake, 10))[0], '', '... and flake goes on after that');
crash();
is(($ledger->ask($node, $_, 10))[0], '', "... and so does $_->{name} after a crash") for @ID_TYPES;
refused_for_epoch($e2020, $unix, '... but back again is refused');
set_epoch('unix');
is(($ledger->ask($node, $flake, 10))[0], '', '... until it is as it was last');
is($ledger->twice, '', '... and no ID repeats');
$node->stop;

done_testing();
