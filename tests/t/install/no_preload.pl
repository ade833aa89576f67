# Without preloading, from PostgreSQL 17 on, the last session to leave writes the exact horizon, as
# the postmaster does elsewhere. After an orderly stop no session waits.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'up to PostgreSQL 16 there are no IDs without preloading'
  if `pg_config --version` =~ /^PostgreSQL 1[0-6]\b/;

my $nanos = 1_000_000_000;    # in a second
my ($flake, $sno) = @ID_TYPES;

my $node = PostgreSQL::Test::Cluster->new('no_preload');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
flakeid.generator_ids = '3'
flakeid.max_clock_wait = 0
flakeid.horizon_lead = '20s'
END
my $clock = FakedClock->of_node($node);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $ledger = Ledger->new('no_preload');

# Generates IDs in a session that stays, and returns the last one.
sub last_in {
	my ($session, $id_type) = @_;
	my $batch = sprintf $id_type->{batch}, 20;
	my $list = $session->query_safe("SELECT '$id_type->{name}', id FROM $batch AS id");
	return ($ledger->enter($list =~ s/\|/\t/gr))[-1];
}

# Generates IDs in a session of its own, and returns them.
sub give {
	my ($id_type) = @_;
	my ($error, @ids) = $ledger->ask($node, $id_type, 10);
	die "no $id_type->{name} IDs: $error" if $error ne '';
	return @ids;
}

# Returns the time of an ID's tick.
sub time_of { my ($id_type, $id) = @_; return (times_of($node, $id_type, $id))[1] }

# Tests that the file has the nanosecond after the beginning of the last ID's tick: of each ID type
# that turns, and of the others the latest. A session that reads IDs is not one of those that leave.
sub is_exact {
	my ($test, %last) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $state = state_of($node);
	my $until = 0;
	for my $id_type (@ID_TYPES) {
		my $id = $last{ $id_type->{name} };
		my $latest = time_of($id_type, $id);
		if ($id_type->{turns}) {
			is( horizon_of($state, $id_type, timelines_of($node, $id_type, $id)),
				$latest + 1,
				"$test ($id_type->{name})");
		}
		elsif ($latest > $until) {
			$until = $latest;
		}
	}
	is(moment($state->{until}), $until + 1, "$test (the others)");
	return;
}

# Waits until a session has gone; without a number, until all have. A client goes before its
# backend.
sub gone {
	my ($pid) = @_;
	my $which = $pid ? "pid = $pid" : "backend_type = 'client backend' AND pid <> pg_backend_pid()";
	$node->poll_query_until('postgres',
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE $which)")
	  or die 'the session has not gone';
	return;
}

# the last to leave ----------------------------------------------------------------------------

# Where a server generates its first IDs no timeline is free before. So the clock goes ahead first.
my %last = map { $_->{name} => (give($_))[-1] } @ID_TYPES;
$clock->step(7200);
my $reading = 'SELECT flake_decode(1), flakeid_identity()';

for my $how ('quits', 'is terminated') {
	my ($first, $second) = (session($node), session($node));
	last_in($first, $flake);
	my @pids = map { $_->query_safe('SELECT pg_backend_pid()') } $first, $second;
	$last{flake} = last_in($second, $flake);
	$last{sno} = last_in($second, $sno);
	my $text = state_text($node);
	my $ahead = horizon_of(state_of($node), $flake) - time_of($flake, $last{flake});
	ok($ahead > $nanos, 'the horizon is ahead while there are sessions that generated IDs')
	  or diag($ahead);
	$second->quit;
	gone($pids[1]);
	is(state_text($node), $text, 'the horizon stays ahead when one of two sessions has left');
	my $third = session($node);
	$third->query_safe($reading);
	$how eq 'quits'
	  ? $first->quit
	  : $node->safe_psql('postgres', "SELECT pg_terminate_backend($pids[0])");
	gone($pids[0]);
	is_exact("the horizon is exact when the last such session $how", %last);
	$third->quit;
	my $exact = state_text($node);
	$node->safe_psql('postgres', "$reading; TABLE pg_stat_flakeid");
	is(state_text($node), $exact, 'the horizon stays exact while no session asks for IDs');

	for my $id_type (@ID_TYPES) {
		my ($name, @ids) = ($id_type->{name}, give($id_type));
		is($node->safe_psql('postgres', "SELECT '$ids[0]'::$id_type->{type} > '$last{$name}'"),
			't', "later $name IDs are above those from before");
		$last{$name} = $ids[-1];
	}
	gone();
	is_exact('the horizon is exact again after these IDs', %last);
}
is($ledger->twice, '', 'no ID repeats when sessions leave');

# stops ----------------------------------------------------------------------------------------

my @sessions = map { session($node) } 1 .. 3;
for my $session (@sessions) {
	$last{ $_->{name} } = last_in($session, $_) for @ID_TYPES;
}
$node->stop('fast');
$clock->start;
is_exact('the horizon is exact when the server is stopped while sessions are there', %last);

# The clock has whole microseconds, and so no two moments that are a tick of uuidv7 apart.
for my $id_type (grep { $_->{tick} > 1000 } @ID_TYPES) {
	my ($name, $tick) = @$id_type{ 'name', 'tick' };
	# In the middle of a tick.
	my $middle = int($clock->time_of_server + 100) * $nanos + 500_000_000;
	$middle += $tick - $middle % $tick + int($tick / 2);
	$clock->stand_still($middle / $nanos);
	my $before = (give($id_type))[-1];
	$node->stop;
	$clock->stand_still(($middle + $tick) / $nanos);
	$clock->start;
	my ($error, @next) = $ledger->ask($node, $id_type, 10);
	is($error, '', "$name: one tick later a restarted server generates IDs without a wait");
	is(time_of($id_type, $next[-1]) - time_of($id_type, $before),
		$tick, "$name: they are of that tick");
	is($node->safe_psql('postgres', "SELECT '$next[0]'::$id_type->{type} > '$before'"),
		't', "$name: they are above those from before");
	$clock->set($middle / $nanos + 1);
}
is($ledger->twice, '', 'no ID repeats over the restarts');
$node->stop;

done_testing();
