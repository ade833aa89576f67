# Sessions that wait for the watermark hold nothing, and share the work: one of them leads. They
# wait on beside others that are canceled, terminated or killed, and end when the watermark passes.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my $node =
  server_with_tables('waiters', "max_prepared_transactions = 5\nrestart_after_crash = on\n");
my ($writer, $waiter) = map { session($node) } 1 .. 2;
my $insert = 'INSERT INTO flakes DEFAULT VALUES';

# Begins a wait in a session for the present time, and waits until it waits. Returns the process ID.
sub begin_wait {
	my ($session, $until) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	begin_in($session, 'CALL flakeid_wait(' . ($until // 'clock_timestamp()') . ')');
	$node->poll_query_until('postgres', <<~"SQL") or die 'the session does not wait';
		SELECT wait_event IN ('FlakeidWatermark', 'Extension') AND query LIKE 'CALL flakeid_wait%'
		FROM pg_stat_activity WHERE pid = $pid
		SQL
	return $pid;
}

sub of_session {
	my ($pid, $columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM pg_stat_activity WHERE pid = $pid");
}

sub waits { my ($pid, $test) = @_; return is(of_session($pid, 'state'), 'active', $test) }

$writer->query_safe("BEGIN; $insert");
my $pid = begin_wait($waiter);
is(of_session($pid, 'backend_xmin, backend_xid'),
	'|', 'a session that waits has no snapshot and no transaction ID');
is( $node->safe_psql('postgres', "SELECT string_agg(locktype, ' ') FROM pg_locks WHERE pid = $pid"),
	'virtualxid',
	'a session that waits has no lock');
is(error_of($node, <<~'SQL'), '', 'an index is built and a table dropped while a session waits');
	CREATE TABLE other (x integer);
	CREATE INDEX CONCURRENTLY ON other (x);
	DROP INDEX other_x_idx;
	VACUUM other;
	DROP TABLE other
	SQL
waits($pid, 'an open transaction with an ID holds a wait');
$writer->query_safe('COMMIT');
is(ended_in($waiter), '', 'the wait ends when the transaction has ended');
is( $waiter->query_safe('SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark())'),
	'1', 'the row is below the watermark when the wait has ended');

$writer->query_safe("BEGIN; $insert; PREPARE TRANSACTION 'prepared'");
$pid = begin_wait($waiter);
waits($pid, 'a prepared transaction holds a wait');
$writer->query_safe("COMMIT PREPARED 'prepared'");
is(ended_in($waiter), '', 'the wait ends when the prepared transaction has ended');

# A session that waits for a late time leads. One that comes later, for an earlier time, wakes it.
$pid = begin_wait($waiter, "clock_timestamp() + '1 hour'");
is(error_in($writer, 'CALL flakeid_wait(clock_timestamp())'),
	'', 'a wait for an earlier time ends beside one for a later time');
waits($pid, 'the wait for the later time goes on');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like(
	error_in($waiter, ''),
	qr/57014: canceling statement due to user request/,
	'a wait can be canceled');

# Each session but one is canceled or terminated in turn, the leader first or last.
for my $order ('first', 'last') {
	my @waiters = map { session($node) } 1 .. 6;
	$writer->query_safe("BEGIN; $insert");
	my @pids = map { begin_wait($_) } @waiters;
	@pids = reverse @pids if $order eq 'last';
	my $rest = pop @pids;
	for my $number (0 .. $#pids) {
		my $end = $number % 2 ? 'cancel' : 'terminate';
		$node->safe_psql('postgres', "SELECT pg_${end}_backend($pids[$number])");
		$node->poll_query_until('postgres', <<~"SQL") or die 'the session goes on';
			SELECT count(*) = 0 FROM pg_stat_activity
			WHERE pid = $pids[$number] AND state = 'active'
			SQL
	}
	waits($rest, "one session waits on after the others have given up, from the $order on");
	$writer->query_safe('COMMIT');
	my $is_idle = "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $rest";
	ok($node->poll_query_until('postgres', $is_idle),
		"its wait ends with the transaction, after the others have given up from the $order on");
	eval { $_->quit } for @waiters;
}

# Many sessions wait for different times.
my @many = map { session($node) } 1 .. 40;
$writer->query_safe("BEGIN; $insert");
begin_wait($many[$_], "clock_timestamp() + '$_ ms'") for 0 .. $#many;
$writer->query_safe('COMMIT');
is(join('', map { ended_in($_) } @many), '', 'all of 40 sessions are woken');
begin_in($_, "CALL flakeid_wait(clock_timestamp() + random() * interval '50 ms')")
  for @many, @many, @many;
is(join('', map { ended_in($_) } @many),
	'', 'all of 40 sessions are woken that begin at random times');
$_->quit for @many;

my $leader = session($node);
$writer->query_safe("BEGIN; $insert");
crash_server($node, begin_wait($leader));
my $wait = 'CALL flakeid_wait(clock_timestamp())';
is(error_of($node, $wait), '', 'after a crash of the leader the next session leads');
$_->{run}->kill_kill for $leader, $writer, $waiter;
$node->restart;
is(error_of($node, $wait), '', 'a session waits after a restart');
$node->stop;

if ($node->pg_version >= 17) {
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
	$node->start;
	is(error_of($node, "SELECT flake_next(); $wait"),
		'', 'a session waits on a server that does not preload the library');
	$node->stop;
}
done_testing();
