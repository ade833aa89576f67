# pg_stat_flakeid has where each ID type stands: the last ID, the gate, and the numbers of a tick. A
# reset sets the counts to zero, and changes no position. The clock stands still.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Statistics;
use Test::More;

my ($clock, $node) =
  start_counting('positions', "flakeid.generator_ids = '3'\nflakeid.sno_sequence = '0-4095'\n");

for my $id_type (@OF_ONE_CELL) {
	my $name = $id_type->{name};
	my $moment = next_moment();
	$clock->stand_still($moment);
	my $id = $node->safe_psql('postgres', "SELECT $id_type->{next}");
	my $number = $name eq 'flake' ? 'counter' : 'sequence';
	is( cell_of($node, $id_type, <<"SQL"), 't|t|t|' . ($id_type->{cells} ? '' : 3),
last_tick_at = ${name}_timestamp('$id'), last_tick_at BETWEEN now() - interval '4 ms' AND now(),
	last_sequence = (${name}_decode('$id')).$number, generator_id
SQL
		"$name: the last tick and number are those of the last ID");
	is(cell_of($node, $id_type, <<'SQL'), 't|t|t|t', "$name: the gate is ahead by the lead");
gate = now() + interval '10 s', gate_lead = '10 s',
	horizon_written_at = now(), horizon_write_time > '0'
SQL
	$clock->stand_still($moment + 19);
	is(cell_of($node, $id_type, 'gate_lead'),
		'-00:00:09', "$name: the gate is behind the clock when no session asks");
	is( cell_of($node, $id_type, 'sequence_min, sequence_max'),
		'0|' . ($name eq 'sno' ? 4095 : $id_type->{numbers} - 1),
		"$name: the view has the numbers of a tick");
}

reload_with($node, sno_sequence => '500-999');
is( $node->safe_psql('postgres', <<'SQL'), <<'END' =~ s/\n\z//r,
SELECT id_type, sequence_min, sequence_max FROM pg_stat_flakeid WHERE id_type IN ('flake', 'sno')
UNION ALL SELECT 'snapshot', sequence_min, sequence_max FROM flakeid_snapshot()
SQL
flake|0|4095
sno|500|999
snapshot|500|999
END
	'after a reload the view and the snapshot have the new numbers of sno');

my $positions = <<'SQL';
SELECT id_type, generator_id, last_tick, last_sequence, gate FROM pg_stat_flakeid
SQL
$clock->stand_still(next_moment());
$node->safe_psql('postgres', "$ONE_OF_EACH; SELECT count(*) FROM flake_next_batch(4095)");
my $before = $node->safe_psql('postgres', $positions);
reset_counts($node);
is($node->safe_psql('postgres', <<'SQL'), '0|00:00:00|t|0', 'a reset sets all counts to zero');
SELECT sum(ids + ticks_exhausted + spills + waits + clock_steps_back + tick_tocks),
	max(wait_time + largest_step_back), bool_and(stats_reset = now()),
	(SELECT max(drifts) FROM flakeid_snapshot())
FROM pg_stat_flakeid
SQL
is($node->safe_psql('postgres', $positions), $before, 'a reset changes no position');

$node->stop;
done_testing();
