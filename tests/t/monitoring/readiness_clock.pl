# flakeid_readiness while the clock is behind: first there is the rest of the last tick, then only
# sno is ready, and no ID type is once a reader has the watermark.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Readiness;
use Server;
use Test::More;

# Another generator ID would have no ID from before the step.
my $clock = FakedClock->new('readiness', <<'END');
flakeid.max_clock_wait = '0'
flakeid.generator_ids = '8'
END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE ROLE watcher LOGIN IN ROLE pg_monitor');
my $one_of_each = 'SELECT ' . join ', ', map { $_->{next} } @ID_TYPES;
$node->safe_psql('postgres', $one_of_each);

$clock->step(7200);
$node->safe_psql('postgres', $one_of_each);
use_all_lanes($node);
$clock->step(3600);
my $before = traces($node);
my $end_of_log = -s $node->logfile;
is(readiness($node), all_are('ready used'),
	'all are ready for the rest of the last tick when the clock has stepped back');
is(traces($node), $before, 'the view leaves it to a session to notice the step');
is_as_sessions_see($node, $ALL_TYPES, 'all six ID types are ready');
ok( $node->wait_for_log(
		qr/the clock stepped back: it is [\d.]+ min behind the last flake ID/, $end_of_log),
	'one of these sessions reports the step');

for my $id_type (grep { !$_->{turns} } @ID_TYPES) {
	# The clock is an hour behind, so nothing but the number of IDs ends the tick. The cells have
	# different last ticks.
	my $cells = $id_type->{cells} // 1;
	my $more = $cells * $id_type->{numbers} + 1;
	my @sessions = map { session($node) } 1 .. $cells;
	like(error_in($_, "SELECT count($id_type->{next}) FROM generate_series(1, $more)"),
		qr/58000/, "the rest of the tick of $id_type->{name} ends")
	  for @sessions;
	$_->quit for @sessions;
}
is(without_use($node), all_are('58000', sno => 'ready'), 'sno alone is ready after the last tick');
is_as_sessions_see($node, 'sno', 'sno goes on in its other timeline');

$clock->step(7201);
becomes_ready($node);
$node->safe_psql('postgres', 'SELECT flakeid_watermark()');
$clock->step(3600);
is_as_sessions_see($node, '', 'nothing is ready when a reader has the watermark');
like(
	$node->safe_psql('postgres', "SELECT string_agg(error, ' ') FROM flakeid_readiness"),
	qr/\A(?:the clock is [\d.]+ min behind the watermark ?){6}\z/,
	'the watermark is the reason for all six ID types');
$node->stop;
$clock->start;
is(without_use($node), all_are('58000'),
	'no ID type is ready after a restart, before a session has opened the state');
is_as_sessions_see($node, '', 'nothing is ready after a restart');
$node->stop;

done_testing();
