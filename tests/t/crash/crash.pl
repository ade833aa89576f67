# A server that is killed, its postmaster or one backend, while many sessions ask for IDs: none comes
# twice, in any ID type, over all its lives, and what happens to the first who asks afterwards is what
# the documentation says.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds

my ($node, $ledger);

# Kills a process of this kind; of those that serve clients, one of the crowd's. It may have ended by itself before,
# and then another has to be found: only of one that has been stopped it is known that the signal ends it.
sub kill_one {
	my ($kind) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (time() < $until) {
		my $pid = $node->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE backend_type = '$kind' AND application_name IN ('crowd', '') LIMIT 1"
		);
		next unless $pid ne '' && kill('STOP', $pid);
		sleep 0.001 until stat_of($pid) =~ /^[TZX]?$/;
		next unless stat_of($pid) eq 'T' && kill('KILL', $pid);
		return $ledger->has_gone || die 'the sessions stay';
	}
	die "there is no $kind";
}

# The letter for what a process does; empty for a process that has gone.
sub stat_of {
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/stat" or return '';
	return (<$file> // '') =~ /\) (\w)/ ? $1 : '';
}

# What sessions complain of, other than that the server has gone.
sub complaints {
	my (@sessions) = @_;
	my @errors = map { /(ERROR: .*)/g } map { $_->{error} } @sessions;
	return join "\n", grep { !/parallel (?:transaction|worker)/ } @errors;
}

# one backend ------------------------------------------------------------------------------------------

my $clock = FakedClock->new('backend', <<'END');
restart_after_crash = on
log_statement = none
flakeid.horizon_lead = '10min'
flakeid.max_clock_wait = '100ms'
END
$node = $clock->node;
$ledger = Ledger->new('backend');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

my ($offset, $crashes) = (0, 0);
for my $victim ('client backend', 'background writer', 'client backend') {
	$ledger->crowd($node, ways => [ 'single', 'batch', 'stream' ]);
	$ledger->wait_until_given(0.2);
	kill_one($victim);
	is(complaints($ledger->dispersed),
		'', "when a $victim is killed it is the connection that ends");
	my $state = state_of($node);
	ok($state->{server} eq 'running', '... and the horizon is that of a server that goes on');

	wait_for_server($node);
	$ledger->crowd($node);
	my $sessions = 2 * @ID_TYPES;
	$node->poll_query_until('postgres', <<"SQL")
SELECT count(*) = $sessions FROM pg_stat_activity
WHERE application_name = 'crowd' AND wait_event_type = 'Extension' AND state = 'active'
SQL
	  or die 'the sessions do not wait';
	is($ledger->given, 0, '... then sessions wait, as the clock is behind the horizon') or next;
	my @waits = slurp_file($node->logfile) =~
	  /LOG:  flakeid generates its first IDs in ([\d.]+ (?:min|s))\n/g;
	is(scalar(@waits), ++$crashes, "... of which the log has one line: @waits");
	$offset += 600;
	$clock->step($offset);
	$ledger->wait_until_given(0.2);
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");

	for my $session ($ledger->dispersed) {
		my ($id_type, $error) = @$session{ 'id_type', 'error' };
		unlike($error, qr/ERROR: /, "... longer than max_clock_wait: $id_type->{name}");
		cmp_ok(
			(times_of($node, $id_type, @{ $session->{first} }))[0],
			'>=',
			horizon_of($state, $id_type, $state->{tick_tock}),
			'... and get IDs that begin at the horizon');
		is(timelines_of($node, $id_type, @{ $session->{first} }), '0', '... in the same timeline')
		  if $id_type->{turns};
	}
}
is($ledger->twice, '', 'no ID repeats when backends were killed');
unlike(
	slurp_file($node->logfile),
	qr/ERROR: |flakeid cannot generate IDs|clock stepped back/,
	'... and nothing of it looked like a fault of the clock');
$node->stop;

# The clock is as far behind the last ID as after a crash, but it has stepped back.
$clock->step($offset - 300);
$clock->start;
like(error_of($node, 'SELECT flake_next()'),
	qr/58000/, 'a clock that stepped back before a start is an error');
my $told = () = slurp_file($node->logfile) =~ /LOG:  flakeid generates its first IDs in/g;
is($told, $crashes, '... and the log does not take that for a crash');
$node->stop;

# the postmaster, and the clock is stepped back ----------------------------------------------------------------

# No machine takes as long as this lead from a crash until all that wait for it do.
my ($lead, $patience) = (300, 0.2);
$clock = FakedClock->new('postmaster', <<"END");
log_statement = none
flakeid.horizon_lead = '${lead}s'
flakeid.max_clock_wait = '${patience}s'
END
$node = $clock->node;
$ledger = Ledger->new('postmaster');
my $postmaster = Postmaster->start($node, $clock->environment);
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $ahead = 0;    # of the real clock

# The clock goes on from a moment.
sub go_to {
	my ($moment) = @_;
	$ahead = $moment - time();
	$clock->step($ahead);
	return;
}

# What is promised to who asks at a moment and finds this state: whether it 'goes on', 'turns', 'waits'
# or is 'refused'; from when on IDs are then; and in which timeline.
sub promised {
	my ($state, $id_type, $now) = @_;
	my $bit = $state->{tick_tock};
	my ($own, $other) = map { horizon_of($state, $id_type, $_) } $bit, 1 - $bit;
	return ('goes on', $own, $bit) if $now > $own;
	return ('waits', $own, $bit)
	  if $now >= moment($state->{since}) && $own - $now <= $lead * $second;
	return ('turns', $now - $id_type->{tick}, 1 - $bit) if $id_type->{turns} && $now > $other;
	($own, $bit) = ($other, 1 - $bit) if $id_type->{turns} && $other < $own;
	return ($own - $now <= $patience * $second ? 'waits' : 'refused', $own, $bit);
}

# Tests that IDs are from a moment on, and in a timeline.
sub is_promised {
	my ($id_type, $from, $bit, @ids) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok((times_of($node, $id_type, @ids))[0], '>=', $from, '... with times from then on');
	is(timelines_of($node, $id_type, @ids), $bit, '... in the timeline that is free')
	  if $id_type->{turns};
	return;
}

my %seen;
my @working = @ID_TYPES;
my $life = 0;
for my $back (0, 600, 60, 3600, 600, 0, 3600, 60, 60, 600, 3600, 0, 600, 3600, 0, 60, 3600, 600, 60,
	0)
{
	$life++;
	$ledger->crowd($node, id_types => \@working, ways => [ $life % 2 ? 'single' : 'batch' ]);
	$ledger->wait_until_given;
	# Then a step back by a minute comes into the midst of it.
	go_to(time() + $ahead + 61) if $back == 60;
	$ledger->wait_until_given(0.1);
	$postmaster->kill9;
	my $moment = time() + $ahead - $back;
	is(complaints($ledger->dispersed), '', "life $life: the sessions end with the server");
	my $state = state_of($node);

	# The clock stands still at this moment until someone has to wait for it.
	$clock->stand_still($moment);
	$postmaster = Postmaster->start($node, $clock->environment);
	my $now = int($moment * 1_000_000) * 1000;
	my %promise = map { $_->{name} => [ promised($state, $_, $now) ] } @ID_TYPES;
	@working = ();
	my @waits;
	for my $id_type (@ID_TYPES) {
		my ($kind, $from, $bit) = @{ $promise{ $id_type->{name} } };
		my $test = "life $life, $back s back: $id_type->{name} $kind";
		$seen{"$id_type->{name} $kind"}++;
		if ($kind eq 'waits') {
			push @waits, [ $id_type, $test ];
			next;
		}
		my ($error, @ids) = $ledger->ask($node, $id_type, 10);
		if ($kind eq 'refused') {
			is_behind($error, $id_type, ($from - $now) / $second, $test);
			next;
		}
		push @working, $id_type;
		is($error, '', $test) or next;
		is_promised($id_type, $from, $bit, @ids);
	}
	push @$_, $clock->waits(sprintf "COPY (SELECT '$_->[0]{name}', $_->[0]{batch}) TO STDOUT", 10)
	  for @waits;
	if (@waits) {
		my ($last) = sort { $b <=> $a } map { $promise{ $_->[0]{name} }[1] } @waits;
		go_to($last / $second + 0.1);
	}
	for (@waits) {
		my ($id_type, $test, $session) = @$_;
		my (undef, $from, $bit) = @{ $promise{ $id_type->{name} } };
		my ($given, $error) = $clock->ended($session);
		push @working, $id_type;
		is($error, '', $test) or next;
		is_promised($id_type, $from, $bit, $ledger->enter($given));
	}
	if ($life % 2 || !@working) {
		# The clock is set right, and far enough ahead for a step back not to come to what was before.
		go_to(7200 + until_of(state_of($node)) / $second);
		@working = @ID_TYPES;
	}
	elsif (!@waits) {
		go_to($moment);
	}
	is($ledger->twice, '', '... and no ID repeats up to now');
}
note join ', ', map { "$_: $seen{$_}" } sort keys %seen;
for my $id_type (@ID_TYPES) {
	my @kinds = ('waits', 'refused', $id_type->{turns} ? 'turns' : ());
	is((grep { !$seen{"$id_type->{name} $_"} } @kinds),
		0, "$id_type->{name}: @kinds: it was all there");
}
$postmaster->stop;

# stopped under load, two databases, prepared transactions -----------------------------------------------

$node = PostgreSQL::Test::Cluster->new('restarted');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
restart_after_crash = on
log_statement = none
max_prepared_transactions = 10
max_parallel_workers_per_gather = 2
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
END
$ledger = Ledger->new('restarted');
my @databases = ('postgres', 'other');
$postmaster = Postmaster->start($node);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, <<'SQL') for @databases;
CREATE EXTENSION flakeid;
CREATE TABLE source AS SELECT generate_series(1, 5000);
SQL

# Of every ID type, in both databases.
sub crowd {
	$ledger->crowd($node, databases => ['postgres'], ways => [ 'single', 'parallel' ]);
	$ledger->crowd($node, databases => ['other'], ways => [ 'batch', 'parallel' ]);
	$ledger->wait_until_given(0.3);
	return;
}

for my $mode ('fast', 'immediate', 'fast') {
	crowd();
	$postmaster->stop($mode);
	is(complaints($ledger->dispersed), '', "a stop in mode $mode ends the sessions");
	my $state = state_of($node);
	ok($state->{server} eq 'stopped', '... and the horizon is exact');
	$postmaster = Postmaster->start($node);
	is(($ledger->ask($node, $_, 10))[0], '', "... so that $_->{name} goes on") for @ID_TYPES;
}
is($ledger->twice, '', 'no ID repeats in two databases over three stops');

for my $i (0 .. $#ID_TYPES) {
	my $id_type = $ID_TYPES[$i];
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE prepared_$id_type->{name} (id $id_type->{type} DEFAULT $id_type->{next} PRIMARY KEY, nr integer);
BEGIN;
INSERT INTO prepared_$id_type->{name} (nr) SELECT generate_series(1, 5000);
PREPARE TRANSACTION '$id_type->{name}';
SQL
}
for my $victim ('postmaster', 'parallel worker') {
	crowd();
	# So that there is a worker that stays until it is killed.
	$ledger->crowd($node, id_types => [ $ID_TYPES[0] ], ways => ['workers'])
	  if $victim eq 'parallel worker';
	if ($victim eq 'postmaster') {
		$postmaster->kill9;
		is(complaints($ledger->dispersed), '', 'when the postmaster is killed the sessions end');
		$postmaster = Postmaster->start($node);
	}
	else {
		kill_one($victim);
		is(complaints($ledger->dispersed), '', "when a $victim is killed the sessions end");
		wait_for_server($node);
	}
}
crowd();
for my $id_type (@ID_TYPES) {
	$node->safe_psql('postgres', "COMMIT PREPARED '$id_type->{name}'");
	is( $ledger->enter(
			$node->safe_psql(
				'postgres',
				"COPY (SELECT '$id_type->{name}', id FROM prepared_$id_type->{name}) TO STDOUT")),
		5000,
		"$id_type->{name}: a prepared transaction keeps its IDs over two crashes");
}
$postmaster->stop;
$ledger->dispersed;
is($ledger->twice, '', '... and no others are the same, in either database');

# without shared_preload_libraries ---------------------------------------------------------------------------

if ($node->pg_version < 17) {
	note 'without shared_preload_libraries this server makes no IDs';
	done_testing();
	exit;
}

$node = PostgreSQL::Test::Cluster->new('segment');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
restart_after_crash = on
log_statement = none
END
$ledger = Ledger->new('segment');
$postmaster = Postmaster->start($node);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION flakeid') for @databases;
for my $event ('kill a backend', 'stop immediate', 'kill the postmaster', 'stop fast',
	'kill a backend')
{
	$ledger->crowd($node, databases => ['postgres'], ways => [ 'single', 'batch' ]);
	$ledger->crowd($node, databases => ['other'], ways => [ 'single', 'stream' ]);
	$ledger->wait_until_given(0.3);
	if ($event eq 'kill a backend') {
		kill_one('client backend');
		is(complaints($ledger->dispersed), '', "without preload: $event");
		wait_for_server($node);
	}
	else {
		$event =~ /stop (\w+)/ ? $postmaster->stop($1) : $postmaster->kill9;
		is(complaints($ledger->dispersed), '', "without preload: $event");
		$postmaster = Postmaster->start($node);
	}
	is(($ledger->ask($node, $_, 10))[0], '', "... and $_->{name} goes on") for @ID_TYPES;
	is($ledger->twice, '', '... with no ID that was there before');
}

# The last session that leaves makes the horizon exact, as nothing tells the postmaster to.
$ledger->ask($node, $_, 10) for @ID_TYPES;
my $now = time();
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
  or die 'sessions stay';
cmp_ok(
	until_of(state_of($node)),
	'<',
	$now * $second,
	'the last session that leaves makes the horizon exact');
$postmaster->kill9;
$postmaster = Postmaster->start($node);
$ledger->ask($node, $_, 10) for @ID_TYPES;
is($ledger->twice, '', '... also for a server that is killed then');
$postmaster->stop;

done_testing();
