# pg_stat_flakeid counts the ticks that are exhausted, the waits for the next one, and the sessions
# that go on to another generator ID. A session that waits has a wait event. The clock stands still.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Statistics;
use Test::More;
use Time::HiRes qw(time);

my ($clock, $node) = start_counting('counted_ticks', <<'END');
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
flakeid.sno_sequence = '0-4095'
END
my $counts = 'ids, ticks_exhausted, spills, waits';

for my $id_type (@OF_ONE_CELL) {
	my ($name, $next) = @$id_type{ 'name', 'next' };
	my $numbers = $name eq 'sno' ? 4096 : $id_type->{numbers};
	subtest "ticks of $name are exhausted" => sub {
		my $moment = next_moment();
		$clock->stand_still($moment);
		reset_counts($node);
		my $session = session($node);
		$session->query_safe("SELECT count($next) FROM generate_series(1, $numbers)");
		my $all = "ids BETWEEN $numbers - 15 AND $numbers";
		is(cell_of($node, $id_type, "$all, ticks_exhausted, spills, waits"),
			't|1|0|0', 'an exhausted tick is counted, and no wait');
		like(error_in($session, "SELECT $next"),
			qr/58000/, 'no session receives more IDs before the clock goes on');
		is(cell_of($node, $id_type, "$counts, wait_time >= '100 ms'"),
			"$numbers|1|0|1|t", 'the wait is counted, and its time');
		$session->quit;

		reload_with($node, max_clock_wait => '1h');
		my $length = $id_type->{tick} / 1_000_000_000;
		$clock->stand_still($moment + 1.5 * $length);
		my $batch = sprintf "SELECT count(*) FROM $id_type->{batch}", $numbers + 1;
		my $spins = $length < 0.0005;
		my $waits = $clock->waits($batch, $spins);
		my $is_exhausted = "($counts) = (2 * $numbers, 2, 0, 1)";
		ok( $node->poll_query_until(
				'postgres', "SELECT $is_exhausted FROM pg_stat_flakeid WHERE id_type = '$name'"),
			'a batch larger than a tick exhausts it');
		# It may not wait for the next tick yet. A wait of a session that spins shows when the clock
		# steps back.
		$clock->stand_still($moment + 1.5 * $length - 0.001) if $spins;
		$clock->shows_wait($waits);
		$clock->stand_still($moment + 3.5 * $length);
		is(join('', $clock->ended($waits)), $numbers + 1, 'the batch continues in the next tick');
		is( cell_of($node, $id_type, $counts),
			2 * $numbers + 1 . '|2|0|2',
			'the wait of the batch is counted once');
		reload_with($node, max_clock_wait => '100ms');
	};
}

my ($flake, $sno) = @ID_TYPES;
my $moment = next_moment() + 0.0005;
$clock->stand_still($moment);
reset_counts($node);
$node->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(4095)');
is(cell_of($node, $flake, 'ids, ticks_exhausted, last_sequence'),
	'4095|0|4094', 'a tick with one number left is not exhausted');
$node->safe_psql('postgres', 'SELECT flake_next()');
is(cell_of($node, $flake, 'ids, ticks_exhausted, last_sequence, waits'),
	'4096|1|4095|0', 'the last number exhausts the tick, without a wait');
is( cell_of($node, $flake, 'extract(epoch FROM last_tick_at)::numeric(20,3)'),
	sprintf('%.3f', $moment - 0.0005),
	'last_tick_at is the beginning of the exhausted tick');
is(cell_of($node, $flake, "gate > last_tick_at, gate_lead > '0', gate_lead <= '10 s'"),
	't|t|t', 'the gate is after this tick, by no more than the lead');

subtest 'a session waits for two ticks' => sub {
	reload_with($node, max_clock_wait => '1h');
	$clock->stand_still(++$moment);
	$node->safe_psql('postgres', 'SELECT flake_next()');
	reset_counts($node);
	my $begin = time();
	my $waits = $clock->waits('SELECT count(*) FROM flake_next_batch(10000)');
	is(cell_of($node, $flake, 'ids, ticks_exhausted'),
		'4095|1', '10,000 IDs of one generator ID exhaust a tick');
	for my $tick (1, 2) {
		$clock->stand_still($moment + $tick / 1000);
		my $ids = $tick == 1 ? 4095 + 4096 : 10_000;
		ok( $node->poll_query_until(
				'postgres', "SELECT ids = $ids FROM pg_stat_flakeid WHERE id_type = 'flake'"),
			"they continue in tick $tick after it");
		$clock->shows_wait($waits) if $tick == 1;
	}
	is(join('', $clock->ended($waits)), '10000', 'the session receives all of them');
	my $took = time() - $begin;
	is(cell_of($node, $flake, 'ticks_exhausted, waits'),
		'2|2', 'two exhausted ticks and two waits are counted');
	my $waited = cell_of($node, $flake, 'extract(epoch FROM wait_time)');
	ok($waited > 0 && $waited < $took, 'the time of the waits is less than the statement took')
	  or diag("$waited $took");
};

subtest 'a session that waits has a wait event' => sub {
	$clock->stand_still(++$moment);
	my $waits = $clock->waits('SELECT count(flake_next()) FROM generate_series(1, 5000)');
	my $version =
	  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
	my $event = $version >= 17 ? 'FlakeidClock' : 'Extension';
	my $waiting = 'SELECT wait_event_type, wait_event FROM pg_stat_activity'
	  . " WHERE wait_event ~ '^(Flakeid|Extension\$)' AND backend_type = 'client backend'";
	# Between two looks at the clock it has none for some microseconds.
	ok( $node->poll_query_until('postgres', $waiting, "Extension|$event"),
		"a session that waits for the clock has the wait event $event");
  SKIP: {
		skip 'PostgreSQL lists no wait events before version 17', 1 if $version < 17;
		is( $node->safe_psql('postgres',
				<<'SQL'), <<'END' =~ s/\n\z//r, 'the server lists the events');
SELECT type, name FROM pg_wait_events WHERE name ~ '^Flakeid' ORDER BY name
SQL
Extension|FlakeidClock
Extension|FlakeidHorizonWrite
Extension|FlakeidLease
Extension|FlakeidWatermark
END
	}
	$clock->stand_still(++$moment);
	is(join('', $clock->ended($waits)),
		'5000', 'the session receives its IDs when the clock goes on');
	is($node->safe_psql('postgres', $waiting), '', 'no session waits after that');
};

subtest 'a session waits for a clock that was stepped back' => sub {
	$clock->stand_still(++$moment);
	$node->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(4096)');
	$clock->stand_still($moment - 1800);
	reset_counts($node);
	my $waits = $clock->waits('SELECT flake_next() > 0');
	$clock->stand_still($moment + 0.001);
	is(join('', $clock->ended($waits)), 't', 'the session receives its ID when the clock is back');
	is(cell_of($node, $flake, "waits, wait_time > '0'"),
		'1|t', 'the wait for the clock is counted, with its time');
};

# A session begins at the lower or at the higher of two generator IDs.
reload_with($node, generator_ids => '3-4', max_clock_wait => '100ms');
my @sessions;
do {
	die 'no session begins at the lower one' if @sessions > 64;
	push @sessions, session($node);
} until $sessions[-1]->query_safe("SELECT flakeid_identity() ->> 'home_generator_id'") eq '3';
for my $id_type ($flake, $sno) {
	my $next = $id_type->{next};
	$clock->stand_still(next_moment());
	$sessions[-1]->query_safe("SELECT $next");
	reset_counts($node);
	for ([ 5000, '890 AND 905', 0 ], [ 3191, '4080 AND 4096', 1 ]) {
		my ($number, $others, $exhausted) = @$_;
		$sessions[-1]->query_safe("SELECT count($next) FROM generate_series(1, $number)");
		my $expected = 'CASE generator_id WHEN 3 THEN ids BETWEEN 4080 AND 4096'
		  . " ELSE ids BETWEEN $others END";
		is( cell_of($node, $id_type, "generator_id, $expected, ticks_exhausted, spills, waits"),
			"3|t|1|1|0\n4|t|$exhausted|0|0",
			"a session goes on to the next generator ID after $number calls for $id_type->{name}");
	}
}
reset_counts($node);
is($node->safe_psql('postgres', 'SELECT sum(spills) FROM pg_stat_flakeid'),
	'0', 'a reset sets the spills to zero');
$_->quit for @sessions;

$node->stop;
done_testing();
