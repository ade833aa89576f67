# pg_stat_flakeid counts the IDs that sessions receive: no more and no fewer. A session prefetches
# up to 15 IDs of a tick. These are counted when they are used or given back.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Statistics;
use Test::More;
use Time::HiRes qw(sleep);

my ($clock, $node) = start_counting('counted_ids', <<'END');
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
flakeid.sno_sequence = '0-4095'
END
my @counts = ('ids', 'ticks_exhausted', 'spills', 'waits', 'clock_steps_back', 'tick_tocks');

for my $id_type (@OF_ONE_CELL) {
	is(cell_of($node, $id_type, 'ids'), '0', "the count of $id_type->{name} begins at 0");
	$node->safe_psql('postgres', "SELECT $id_type->{next}");
	is(cell_of($node, $id_type, join ', ', @counts),
		'1|0|0|0|0|0', "one $id_type->{name} ID is counted, and nothing else");
}

# One tick of one cell has enough IDs of these types.
for my $id_type (grep { $_->{numbers} > 4000 } @OF_ONE_CELL) {
	my ($name, $next) = @$id_type{ 'name', 'next' };
	my $ids = sub { cell_of($node, $id_type, 'ids') };
	my $is_counted = sub {
		my ($number, $prefetched, $test) = @_;
		my $count = $ids->();
		ok($count <= $number && $count >= $number - $prefetched, $test) or diag($count);
	};
	subtest "the IDs of $name are counted exactly" => sub {
		my $moment = next_moment();
		$clock->stand_still($moment);
		reset_counts($node);
		my @sessions = map { session($node) } 1 .. 3;
		$sessions[0]->query_safe("SELECT count($next) FROM generate_series(1, 1000)");
		$is_counted->(1000, 15, '1,000 calls are counted, except at most 15 prefetched IDs');
		$sessions[0]->query_safe("SELECT $next") for 1 .. 15;
		$is_counted->(1015, 15, 'calls in statements of their own are counted, too');
		$_->query_safe("SELECT count($next) FROM generate_series(1, 700)") for @sessions[ 1, 2 ];
		$is_counted->(2415, 45, 'the count for three sessions is their sum');

		$clock->stand_still($moment + 1);
		$_->query_safe("SELECT $next") for @sessions;
		is($ids->(), 2418, 'the count is exact when each session has asked in a later tick');

		$clock->stand_still($moment + 2);
		my $batch = sub { sprintf "SELECT count(*) FROM $id_type->{batch}", $_[0] };
		is($sessions[0]->query_safe($batch->(1234)), 1234, 'a session receives a batch');
		is($ids->(), 3652, 'a batch is counted exactly');
		$sessions[0]->query_safe($batch->(0));
		is($ids->(), 3652, 'an empty batch is not counted');
		error_in($sessions[0], "BEGIN; SELECT $next; SELECT 1 / 0; ROLLBACK");
		$clock->stand_still($moment + 3);
		$sessions[0]->query_safe("SELECT $next");
		is($ids->(), 3654, 'the ID of a transaction that is rolled back is counted');

		$clock->stand_still($moment + 4);
		my @counts = $ids->();
		for my $session (@sessions) {
			$session->query_safe("SELECT count($next) FROM generate_series(1, 5)");
			push @counts, $ids->();
		}
		for my $session (@sessions) {
			my $pid = $session->query_safe('SELECT pg_backend_pid()');
			$session->quit;
			$node->poll_query_until('postgres',
				"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)")
			  or die 'the session does not end';
			push @counts, $ids->();
		}
		is( "@counts",
			join(' ', sort { $a <=> $b } @counts),
			'the count never falls, while sessions ask and when they end');
		is($counts[-1], 3669, 'the count is exact when all sessions have ended');
	};
}

subtest 'sessions prefetch no uniqueid' => sub {
	$clock->stand_still(next_moment());
	reset_counts($node);
	my ($uniqueid) = grep { $_->{name} eq 'uniqueid' } @ID_TYPES;
	my @sessions = map { session($node) } 1 .. 3;
	$_->query_safe('SELECT count(uniqueid_next()) FROM generate_series(1, 10)') for @sessions;
	is(cell_of($node, $uniqueid, 'ids'), 30, '30 calls of three sessions are counted exactly');
	is($sessions[0]->query_safe('SELECT count(*) FROM uniqueid_next_batch(20)'),
		20, 'a session receives a batch of uniqueids');
	$sessions[1]->query_safe("SELECT uniqueid_next('spread')");
	is(cell_of($node, $uniqueid, 'ids, last_sequence, generator_id'),
		'51|50|3', 'a batch, and an ID of the other mode, are counted exactly within the tick');
	$_->quit for @sessions;
};

# The clock goes on here. A session gives back what it prefetched when it next asks in a later tick.
# If nothing was left, it can prefetch once more.
$clock->set(next_moment() + 100);
reload_with($node, generator_ids => '0-7');
my @sessions = map { session($node) } 1 .. 3;
for my $id_type (@OF_ONE_CELL) {
	my ($name, $next) = @$id_type{ 'name', 'next' };
	reset_counts($node);
	$sessions[$_]->query_safe("SELECT count($next) FROM generate_series(1, 1000 + $_)") for 0 .. 2;
	for (1 .. 2) {
		sleep 0.02;
		$_->query_safe("SELECT $next") for @sessions;
	}
	is( cell_of($node, $id_type, 'sum(ids), count(*)'),
		'3009|' . ($id_type->{cells} || 8),
		"the counts of $name for three sessions add up over "
		  . ($id_type->{cells} ? 'its one cell' : 'eight generator IDs'));
	$sessions[0]->query_safe(sprintf "SELECT count(*) FROM $id_type->{batch}", 5000);
	is(cell_of($node, $id_type, 'sum(ids)'), 8009,
		"a batch of $name over several ticks is counted");
}
$_->quit for @sessions;

$node->stop;
done_testing();
