# Without shared_preload_libraries: from PostgreSQL 17 on all that is promised holds, where the last
# session to leave does what the postmaster does elsewhere; up to 16 there are no IDs.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $nanos = 1_000_000_000;    # in a second
my ($flake, $sno) = @ID_TYPES;

my $node = PostgreSQL::Test::Cluster->new('no_preload');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
restart_after_crash = on
log_statement = none
flakeid.generator_ids = '3'
flakeid.max_clock_wait = 0
flakeid.horizon_lead = '20s'
END
my $clock = FakedNode->new($node);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
my $dir = $node->data_dir . '/flakeid';
$node->safe_psql('postgres', 'SELECT flake_decode(1), flakeid_identity(), flake_at(now())');
ok(!-e $dir, 'a session that only reads IDs creates no state');

if ($version < 17) {
	for my $ask ((map { ($_->{next}, sprintf $_->{batch}, 10) } @ID_TYPES),
		'guid_local_next()', "uniqueid_next('spread')")
	{
		my $error = error_of($node, "SELECT $ask");
		like(
			$error,
			qr/ERROR:  55000: flakeid must be loaded via "shared_preload_libraries" to generate IDs/,
			"$ask is an error");
		like(
			$error,
			qr/HINT:  Add flakeid to "shared_preload_libraries" in postgresql\.conf and restart the server\. Reading IDs works without it\./,
			'... that says what to do');
	}
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		qr/ERROR:  55000: /,
		'there is no clock to accept either');
	is( $node->safe_psql(
			'postgres',
			'SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot())'
		),
		'0|0',
		'... and nothing to see');
	ok(!-e $dir, 'a server that makes no IDs has no state');
	$node->stop;
	ok(!-e $dir, '... nor has it when it has stopped');
	$clock->start;
	like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: /, '... or started again');
	ok(!-e $dir, '... and been asked');
	$node->stop;
	done_testing();
	exit;
}

my $ledger = Ledger->new('no_preload');

# What a session that stays is given.
sub ask_in {
	my ($session, $id_type, $n) = @_;
	my $list = $session->query_safe(
		"SELECT '$id_type->{name}', id FROM " . sprintf($id_type->{batch}, $n) . ' AS id');
	$list =~ s/\|/\t/g;
	return $ledger->enter($list);
}

# Asks in a session of its own, and dies where there is no ID.
sub give {
	my ($id_type, $n) = @_;
	my ($error, @ids) = $ledger->ask($node, $id_type, $n || 10);
	die "no $id_type->{name} IDs: $error" if $error ne '';
	return @ids;
}

# The latest of a session's IDs, which rise.
sub latest {
	my ($id_type, @ids) = @_;
	my (undef, $latest) = times_of($node, $id_type, @ids);
	return $latest;
}

# That the file has the nanosecond after the beginning of the last ID's tick: of each ID type that
# turns, and of the others the latest. To read an ID makes nobody one of those who have to leave.
sub is_exact {
	my ($test, %last) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $state = state_of($node);
	my $until = 0;
	for my $id_type (grep { $last{ $_->{name} } } @ID_TYPES) {
		my $id = $last{ $id_type->{name} };
		my $latest = latest($id_type, $id);
		if ($id_type->{turns}) {
			is( horizon_of($state, $id_type, timelines_of($node, $id_type, $id)),
				$latest + 1,
				"$test ($id_type->{name})");
		}
		elsif ($latest > $until) {
			$until = $latest;
		}
	}
	is(moment($state->{until}), $until + 1, "$test (the others)") if $until;
	return;
}

# Waits until a session has gone; without a number, until all have: a client goes before its
# backend.
sub gone {
	my ($pid) = @_;
	my $who = $pid ? "pid = $pid" : "backend_type = 'client backend' AND pid <> pg_backend_pid()";
	$node->poll_query_until('postgres',
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE $who)")
	  or die 'the session has not gone';
	return;
}

# the last to leave ----------------------------------------------------------------------------

# Where the server's first IDs are made neither timeline is free before; so first the clock goes
# ahead.
my %last = map { $_->{name} => (give($_))[-1] } @ID_TYPES;
$clock->step(7200);

for my $how ('quits', 'is terminated') {
	my ($first, $second) = (session($node), session($node));
	$last{flake} = (ask_in($first, $flake, 20))[-1];
	my @pids = map { $_->query_safe('SELECT pg_backend_pid()') } $first, $second;
	$last{flake} = (ask_in($second, $flake, 20))[-1];
	$last{sno} = (ask_in($second, $sno, 20))[-1];
	my $text = state_text($node);
	my $ahead = horizon_of(state_of($node), $flake) - latest($flake, $last{flake});
	ok($ahead > $nanos, 'while there are sessions that made IDs the horizon is ahead')
	  or diag($ahead);
	$second->quit;
	gone($pids[1]);
	is(state_text($node), $text, '... also when one of them has left');
	my $third = session($node);
	$third->query_safe('SELECT flake_decode(1), flakeid_identity()');

	if ($how eq 'quits') {
		$first->quit;
	}
	else {
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($pids[0])");
	}
	gone($pids[0]);
	is_exact("when the last $how it is exact, with any other sessions", %last);
	$third->quit;
	my $exact = state_text($node);
	$node->safe_psql('postgres', 'SELECT flake_decode(1), flakeid_identity()');
	$node->safe_psql('postgres', 'TABLE pg_stat_flakeid');
	is(state_text($node), $exact, '... and stays so while no session asks');

	for my $id_type (@ID_TYPES) {
		my @ids = give($id_type);
		is( $node->safe_psql(
				'postgres', "SELECT '$ids[0]'::$id_type->{type} > '$last{ $id_type->{name} }'"),
			't',
			"... then there are $id_type->{name} IDs again, above those before");
		$last{ $id_type->{name} } = $ids[-1];
	}
	gone();
	is_exact('... and it is exact again', %last);
}
is($ledger->twice, '', 'none repeats');

# an orderly stop while sessions are there -----------------------------------------------------

my @sessions = map { session($node) } 1 .. 3;
for my $session (@sessions) {
	$last{ $_->{name} } = (ask_in($session, $_, 20))[-1] for @ID_TYPES;
}
$node->stop('fast');
$clock->start;
is_exact('when the server is stopped while sessions are there it is exact', %last);

# a restart ------------------------------------------------------------------------------------

# The clock has whole microseconds, and so no two moments that are a tick of uuidv7 apart.
for my $id_type (grep { $_->{tick} > 1000 } @ID_TYPES) {
	# In the middle of a tick.
	my $middle = int($clock->time_of_server + 100) * $nanos + 500_000_000;
	$middle += $id_type->{tick} - $middle % $id_type->{tick} + int($id_type->{tick} / 2);
	my $moment = $middle / $nanos;
	$clock->stand_still($moment);
	my @ids = give($id_type);
	my $was = $ids[-1];
	$node->stop;
	$clock->stand_still(($middle + $id_type->{tick}) / $nanos);
	$clock->start;
	my ($error, @next) = $ledger->ask($node, $id_type, 10);
	is($error, '',
		"$id_type->{name}: one tick later a server that was restarted has IDs, without a wait");
	is(latest($id_type, @next) - latest($id_type, $was), $id_type->{tick}, '... of that tick');
	is($node->safe_psql('postgres', "SELECT '$next[0]'::$id_type->{type} > '$was'"),
		't', '... above those before');
	$clock->set($moment + 1);
}
is($ledger->twice, '', 'none repeats');

# a crash --------------------------------------------------------------------------------------

my $offset = 10_000;
for my $round (1 .. 2) {
	$offset += 100;
	$clock->step($offset);
	$ledger->crowd($node, ways => [ 'single', 'batch' ]);
	$ledger->wait_until_given(0.1);
	my $pid = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'crowd' LIMIT 1");
	kill 'KILL', $pid;
	$ledger->has_gone or die 'the sessions have not gone';
	$ledger->dispersed;
	wait_for_server($node);
	my $state = state_of($node);
	$offset += 21;
	$clock->step($offset);

	for my $id_type (@ID_TYPES) {
		my ($error, @ids) = $ledger->ask($node, $id_type, 1000);
		is($error, '',
			"$id_type->{name}: after a crash there are IDs, when the clock has passed the horizon")
		  or next;
		my ($earliest) = times_of($node, $id_type, @ids);
		my $bit = $id_type->{turns} ? timelines_of($node, $id_type, @ids) : 0;
		cmp_ok(
			$earliest, '>=',
			horizon_of($state, $id_type, $bit),
			'... above the horizon that is stored');
	}
	is($ledger->twice, '', '... and none repeats');
}

# At once, which waits as long as the lead.
reload_with($node, horizon_lead => '1s');
$offset += 100;
$clock->step($offset);
$ledger->crowd($node);
$ledger->wait_until_given(0.1);
$node->stop('immediate');
$ledger->dispersed;
$clock->start;

for my $id_type (@ID_TYPES) {
	my ($error, @ids) = $ledger->ask($node, $id_type, 1000);
	is($error, '',
		"$id_type->{name}: after an immediate stop there are IDs, after a wait for the lead at most"
	);
}
is($ledger->twice, '', '... and none repeats');

# a clock that is stepped back -----------------------------------------------------------------

$offset += 20_000;
$clock->step($offset);
%last = map { $_->{name} => (give($_))[-1] } @ID_TYPES;
gone();
is_exact('before the clock is stepped back the file is exact', %last);
$node->stop;
$clock->step($offset - 3600);
$clock->start;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  58000: the clock is (?:5\d|60) min behind the last flake ID/,
	'flake: an hour back over a restart there are no IDs');
my $before = $clock->time_of_server;
my ($error, @ids) = $ledger->ask($node, $sno, 1000);
my $after = $clock->time_of_server;
is($error, '', 'sno: there are');
is( timelines_of($node, $sno, @ids),
	1 - timelines_of($node, $sno, $last{sno}),
	'... in the other timeline');
my $latest = latest($sno, @ids) / $nanos;
ok($latest > $before - 0.005 && $latest <= $after, '... of now') or diag("$before $latest $after");
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  58000: the clock is (?:5\d|60) min behind the last flake ID/,
	'flake: still none');
$clock->step($offset + 10);

for my $id_type (@ID_TYPES) {
	($error, @ids) = $ledger->ask($node, $id_type, 1000);
	is($error, '', "$id_type->{name}: when the clock has caught up there are IDs");
}
is($ledger->twice, '', 'none repeats through it all');
$node->stop;

done_testing();
