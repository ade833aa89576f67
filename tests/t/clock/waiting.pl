# A session that waits for the clock or for the next tick can be canceled, timed out and terminated.
# It holds no lock while it waits, and continues afterwards. The clock is so far behind that no wait
# of this test ends by itself.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $behind = 100 * 3600;

# One generator ID, so that little is left of the last tick when the clock has stepped back.
my $clock = FakedClock->new('waiting', <<'END');
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '200h'
# No worker is needed.
max_worker_processes = 0
END
my $node = $clock->node;
$clock->step(-2 * $behind);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

# The first IDs of a server leave no timeline of sno free before them. So the clock goes ahead then.
my $all = 'SELECT ' . join ', ', map { $_->{next} } @ID_TYPES;
$node->safe_psql('postgres', $all);
$clock->step(0);
$node->safe_psql('postgres', $all);
my $make = 'SELECT count(flake_next()) FROM generate_series(1, 5000)';
my $session = session($node);
$session->query_safe($make);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
use_all_lanes($node);

# Waits until the session waits for the clock.
sub wait_for_wait {
	$node->poll_query_until('postgres', <<~"SQL") or die 'the session does not wait';
		SELECT wait_event_type = 'Extension' AND state = 'active'
		FROM pg_stat_activity WHERE pid = $pid
		SQL
	return;
}

# the clock --------------------------------------------------------------------------------------

$clock->step(-$behind);
my $begin = time();
my $error = error_in($session, "SET statement_timeout TO '500ms'; $make; RESET statement_timeout");
like(
	$error,
	qr/ERROR:  57014: canceling statement due to statement timeout/,
	'statement_timeout ends a wait for the clock');
cmp_ok(time() - $begin, '>', 0.4, 'statement_timeout does not end the wait before it is due');
error_in($session, 'RESET statement_timeout');

for my $id_type (grep { !$_->{turns} && $_->{name} ne 'flake' } @ID_TYPES) {
	# More than what the last ticks of all cells can have left.
	my $more = ($id_type->{cells} // 1) * $id_type->{numbers} + 1;
	for my $ask ("count($id_type->{next}) FROM generate_series(1, $more)",
		sprintf "count(*) FROM $id_type->{batch}", $more)
	{
		like(
			error_of($node, "SET statement_timeout TO '300ms'; SELECT $ask"),
			qr/ERROR:  57014: canceling statement due to statement timeout/,
			"statement_timeout ends a wait of $ask");
	}
}

$session->query_until(qr/waiting/, "\\echo waiting\n$make;\n");
wait_for_wait();
my $event = $node->pg_version >= 17 ? 'FlakeidClock' : 'Extension';
# For an instant every tenth of a second it shows nothing.
ok( $node->poll_query_until(
		'postgres', "SELECT wait_event = '$event' FROM pg_stat_activity WHERE pid = $pid"),
	'pg_stat_activity shows that a session waits for the clock');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype NOT IN ('virtualxid')"),
	'0',
	'a session that waits for the clock holds no lock');
is($node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'generator_ids_setting'"),
	'3', 'a session that waits leaves flakeid_identity() to others');
is(error_of($node, 'SELECT sno_next()'),
	'', 'while a session waits for flakes others generate snos');
reload_with($node, generator_ids => '4');
is($node->safe_psql('postgres', 'SELECT (flake_decode(flake_next())).worker'),
	'4', 'while a session waits a reload brings in another generator ID');
reload_with($node, generator_ids => '3');

is($node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"),
	't', 'pg_cancel_backend finds the session that waits');
$error = error_in($session, 'SELECT 1');
like(
	$error,
	qr/ERROR:  57014: canceling statement due to user request/,
	'pg_cancel_backend ends the wait');
is($session->query_safe('SELECT 1'), '1', 'a session whose wait was canceled continues');

# Two wait, one is canceled, the other gets its IDs when the clock has caught up.
my $other = session($node);
$_->query_until(qr/waiting/, "\\echo waiting\n$make;\n") for $session, $other;
wait_for_wait();
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like(error_in($session, 'SELECT 1'), qr/57014/, 'of two sessions that wait one is canceled');
$clock->step(0.1);
like($other->query_until(qr/^5000$/m, ''),
	qr/^5000$/m, 'the other session has its IDs when the clock has caught up');
$other->quit;
is(error_in($session, $make), '', 'when the clock has caught up the canceled session has IDs too');

# A session that is terminated, and a server that is stopped, don't wait for the clock.
$clock->step(-$behind);
$session->query_until(qr/waiting/, "\\echo waiting\n$make;\n");
wait_for_wait();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok( $node->poll_query_until(
		'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
	'pg_terminate_backend ends a waiting session');
$session->{run}->finish;

# the next tick ----------------------------------------------------------------------------------

$clock->step(0.2);
reload_with($node, sno_sequence => '0-3');
# At most a thousand in a second.
my $many = 'SELECT count(sno_next()) FROM (SELECT generate_series(1, 1000000)) AS many';
like(
	error_of($node, "SET statement_timeout TO '300ms'; $many"),
	qr/ERROR:  57014: /,
	'statement_timeout ends a statement that waits tick by tick');

$session = session($node);
$pid = $session->query_safe('SELECT pg_backend_pid()');

# Begins it in the session; returns when it waits.
sub begin_many {
	$session->query_until(qr/waiting/, "\\echo waiting\n$many;\n");
	$node->poll_query_until('postgres', <<~"SQL") or die 'the session does not wait for snos';
		SELECT wait_event_type = 'Extension' AND state = 'active' AND query LIKE '%sno_next%'
		FROM pg_stat_activity WHERE pid = $pid
		SQL
	return;
}

begin_many();
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like(
	error_in($session, 'SELECT 1'),
	qr/ERROR:  57014: /,
	'pg_cancel_backend ends a statement that waits tick by tick');
is($session->query_safe('SELECT count(DISTINCT id) FROM sno_next_batch(100) AS id'),
	'100', 'after that the session generates IDs');

begin_many();
$node->stop('fast');
pass('a server is stopped while a session waits tick by tick');
$session->{run}->finish;

done_testing();
