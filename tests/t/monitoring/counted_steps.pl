# pg_stat_flakeid counts the steps back of the clock, and how large the largest one was. For sno it
# also counts the turns to the other timeline. flakeid_snapshot() has both timelines of sno.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Statistics;
use Test::More;

my ($clock, $node) =
  start_counting('counted_steps', "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = 0\n");

my $place = 0;
for my $id_type (@OF_ONE_CELL) {
	my ($name, $length) = @$id_type{ 'name', 'tick' };
	my $turns = $name eq 'sno';
	my $ask = "SELECT count($id_type->{next}) FROM generate_series(1, 5000)";
	my $largest = "date_trunc('second', largest_step_back + interval '0.5 s')";
	# Tests that there were this many steps, and how large the largest one was.
	my $has_steps = sub {
		my ($steps, $time, $test) = @_;
		local $Test::Builder::Level = $Test::Builder::Level + 1;
		is(cell_of($node, $id_type, "clock_steps_back, tick_tocks, $largest"),
			join('|', $steps, $turns ? $steps : 0, $time), $test);
	};
	# Generates an ID at a moment, and asks for more at an earlier one.
	my $step_back = sub {
		my ($from, $to) = @_;
		$clock->stand_still($from);
		$node->safe_psql('postgres', "SELECT $id_type->{next}");
		$clock->stand_still($to);
		error_of($node, $ask);
	};
	subtest "steps back of $name" => sub {
		reset_counts($node);
		my $moment = next_moment() + 1000 * ++$place;
		$step_back->($moment, $moment - 10);
		$has_steps->(1, '00:00:10', 'a step back by 10 s is counted, with its length');
		error_of($node, $ask) for 1 .. 3;
		$has_steps->(1, '00:00:10', 'a step back is counted once, though several sessions meet it');
		if (!$turns) {
			$clock->stand_still($moment - 20);
			error_of($node, $ask);
			is(cell_of($node, $id_type, $largest), '00:00:20', 'its length grows with it');
			$clock->stand_still($moment - 10);
		}
		my $first = $turns ? '00:00:10' : '00:00:20';
		$step_back->($moment + 30, $moment + 25);
		$has_steps->(2, $first, 'a step back by 5 s is the second one, and the largest stays');
		$step_back->($moment + 100, $moment + 55);
		$has_steps->(3, '00:00:45', 'a third one by 45 s is the largest');
		# In the middle of a tick, and of the one before.
		my $middle = int($moment + 200) * 1_000_000_000;
		$middle += $length - $middle % $length + int($length / 2);
		$step_back->($middle / 1_000_000_000, ($middle - $length) / 1_000_000_000);
		is(cell_of($node, $id_type, 'clock_steps_back'), 3, 'less than a tick is no step back');
		is( $node->safe_psql('postgres',
				<<'SQL'), $name, "the other ID types have no step of $name");
SELECT string_agg(id_type, ' ') FROM pg_stat_flakeid WHERE clock_steps_back > 0
SQL
	};
}

subtest 'the snapshot has the timelines of sno' => sub {
	my ($sno) = grep { $_->{name} eq 'sno' } @ID_TYPES;
	my $snapshot = sub {
		my ($columns) = @_;
		return $node->safe_psql('postgres', "SELECT $columns FROM flakeid_snapshot()");
	};
	# Generates a sno at a moment. Returns its tick, its tick-tock bit and its sequence.
	my $generate = sub {
		$clock->stand_still($_[0]);
		return split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT (extract(epoch FROM created_at - timestamptz '2010-01-01 00:00+00') * 250)::bigint,
	tick_tock, sequence
FROM sno_decode(sno_next(7))
SQL
	};
	reset_counts($node);
	my $moment = next_moment() + 1000 * ++$place;
	my ($first, $bit, $sequence) = $generate->($moment);
	is($snapshot->('wall_hi, now, sequence_min, sequence_max, partition, drifts'),
		"$first|$first|0|65535|3|0",
		'wall_hi is the tick of the last sno, and now that of the clock');
	is($snapshot->('tick_tock, sequence, wall_safe < wall_hi'),
		"$bit|$sequence|t", 'tick-tock bit and sequence are those of the last sno');
	my ($second, $other, $next) = $generate->($moment - 100);
	is($other, 1 - $bit, 'after a step back a sno has the other tick-tock bit');
	is( $snapshot->('tick_tock, drifts, wall_hi, wall_safe, now, sequence'),
		join('|', $other, 1, $second, $first, $second, $next),
		'the snapshot has the other bit and a drift, and wall_safe is the last tick before the step'
	);
	is(cell_of($node, $sno, 'clock_steps_back, largest_step_back, tick_tocks, last_tick'),
		"1|00:01:40|1|$second", 'the view has the same step');
	my ($third) = $generate->($moment + 50);
	is($snapshot->('tick_tock, drifts, wall_hi, wall_safe'),
		"$other|1|$third|$first", 'there is no turn when the clock has caught up');

	# The horizon of a timeline can be ahead of the clock when sno turns to it.
	my $turns = 'clock_steps_back, tick_tocks';
	$generate->($moment + $_) for 1000, 1000.25, 990, 1000.625, 1000.375;
	is(cell_of($node, $sno, $turns),
		'3|3', 'sno also turns to a timeline whose horizon is ahead of the clock');
	$generate->($moment + 1000.75);
	is(cell_of($node, $sno, $turns), '3|3', 'sno does not turn when the clock goes on');
};

$node->stop;
done_testing();
