# CALL flakeid_wait: it returns when the watermark has passed a time, holds nothing while it waits, can be canceled, and
# says clearly where it cannot wait. Sessions that wait share the work, so they also wait beside others that give up.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $node = PostgreSQL::Test::Cluster->new('waits');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
max_prepared_transactions = 5
max_connections = 80
END
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE rows (id flake DEFAULT flake_next()); CREATE TABLE other (x int)'
);
my ($writer, $waiter) = map { session($node) } 1 .. 2;

# times ----------------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE TABLE waits (until timestamptz)');
for my $until (
	'(clock_timestamp())', "(clock_timestamp() + '20 ms')",
	"(date_trunc('milliseconds', clock_timestamp()))", "'-infinity'",
	"'2000-01-01'", "'0044-03-15 BC'")
{
	$waiter->query_safe("SELECT ($until)::timestamptz AS until \\gset");
	is(error_in($waiter, "CALL flakeid_wait(:'until')"), '', "a wait for $until ends");
	is($waiter->query_safe("SELECT flakeid_watermark() > :'until'"),
		't', "the watermark is later than $until then");
}
like(
	error_in($waiter, "CALL flakeid_wait(clock_timestamp() + '1 hour', '30 ms')"),
	qr/ERROR:  55P03: the watermark has not passed [-\d]+ [\d:.]+\+00 within the timeout\nDETAIL:  The watermark is [-\d]+ [\d:.]+\+00\.\nHINT:  On the primary pg_stat_flakeid_watermark /,
	'a timeout is an error of its own, which says where the watermark is');
like(
	error_in($waiter, "CALL flakeid_wait('infinity', '0')"),
	qr/55P03: the watermark has not passed infinity/,
	'no time is passed with a timeout of 0');
is(error_in($waiter, "CALL flakeid_wait('2000-01-01', '0')"),
	'', 'a time that has passed needs no timeout');
like(
	error_in($waiter, 'CALL flakeid_wait(NULL)'),
	qr/ERROR:  22004: the time to wait for must not be NULL/,
	'NULL is no time');
like(
	error_in($waiter, "CALL flakeid_wait(now(), '-1 s')"),
	qr/ERROR:  22023: the timeout must not be negative/,
	'a timeout is not negative');
like(
	error_in(
		$waiter, "SET statement_timeout = '50 ms'; CALL flakeid_wait('infinity', '100000 years'); "
	),
	qr/57014: .*statement timeout/,
	'statement_timeout ends a wait');
error_in($waiter, 'RESET statement_timeout');

# where it cannot wait -------------------------------------------------------------------------------------------------

my $atomic =
  qr/ERROR:  25001: flakeid_wait cannot run inside a transaction block, a function, or a block with EXCEPTION\nHINT:  CALL it in a statement/;
like(error_in($waiter, 'BEGIN; CALL flakeid_wait(now()); ROLLBACK'),
	$atomic, 'in a transaction block it is an error');
error_in($waiter, 'ROLLBACK');
$waiter->query_safe(<<'END');
CREATE FUNCTION in_function() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL flakeid_wait(now()); END $$;
CREATE PROCEDURE in_sql() LANGUAGE sql AS $$ CALL flakeid_wait(now()) $$;
CREATE PROCEDURE in_procedure() LANGUAGE plpgsql AS $$ BEGIN CALL flakeid_wait(now()); END $$;
CREATE PROCEDURE with_exception() LANGUAGE plpgsql AS $$ BEGIN BEGIN CALL flakeid_wait(now()); EXCEPTION WHEN lock_not_available THEN END; END $$;
CREATE PROCEDURE in_loop() LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN SELECT generate_series(1, 100) LOOP CALL flakeid_wait(now()); END LOOP; END $$;
CREATE PROCEDURE in_cursor() LANGUAGE plpgsql AS $$ DECLARE c CURSOR FOR SELECT generate_series(1, 100); BEGIN OPEN c; CALL flakeid_wait(now()); END $$;
CREATE PROCEDURE with_id() LANGUAGE plpgsql AS $$ BEGIN PERFORM flake_next(); CALL flakeid_wait(now()); END $$;
CREATE PROCEDURE set_setting() LANGUAGE plpgsql SET work_mem = '1MB' AS $$ BEGIN CALL flakeid_wait(now()); END $$;
END
like(error_in($waiter, $_), $atomic, "$_ is an error")
  for 'SELECT in_function()', 'CALL in_sql()', 'CALL with_exception()', 'CALL set_setting()',
  'BEGIN; CALL in_procedure()';
error_in($waiter, 'ROLLBACK');
is(error_in($waiter, 'CALL in_procedure()'), '', 'a procedure can wait');
like(
	error_in($waiter, "CALL $_()"),
	qr/ERROR:  55000: flakeid_wait cannot run while a query or a cursor is open\nHINT:  Close cursors/,
	"CALL $_() is an error") for 'in_loop', 'in_cursor';
like(
	error_in($waiter, 'CALL with_id()'),
	qr/ERROR:  55000: flakeid_wait cannot run after the transaction has generated IDs\n.*HINT:  COMMIT first/s,
	'a transaction does not wait for itself');

for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	like(
		error_in($waiter, "SET default_transaction_isolation = '$level'; CALL flakeid_wait(now())"),
		qr/ERROR:  55000: flakeid_wait needs the isolation level READ COMMITTED/,
		"$level is an error");
}
$waiter->query_safe('RESET default_transaction_isolation');
is(error_in($waiter, <<'END'), '', 'a DO block can wait between its transactions');
DO $$ BEGIN
	FOR i IN 1 .. 3 LOOP
		INSERT INTO rows DEFAULT VALUES;
		COMMIT;
		CALL flakeid_wait(clock_timestamp());
		IF EXISTS (SELECT FROM rows WHERE NOT id < flakeid_watermark()) THEN RAISE 'a row is not below the watermark'; END IF;
	END LOOP;
END $$
END
$waiter->query_safe('CREATE ROLE somebody');
is(error_in($waiter, 'SET ROLE somebody; CALL flakeid_wait(now())'), '', 'every user may wait');
$waiter->query_safe('RESET ROLE');
like(error_in($waiter, "SELECT flakeid_wait(now(), '1 s')"), qr/42809/, 'it is a procedure');
is( $node->safe_psql(
		'postgres', "CALL flakeid_wait(clock_timestamp() + '5 ms') \\bind \\g\nSELECT 1"),
	'1',
	'the extended protocol can wait') if $node->pg_version >= 16;

# what holds the watermark back ----------------------------------------------------------------------------------------

# Begins a wait in a session for the present time, and waits until it waits.
sub begin_wait {
	my ($session, $until) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	begin_in($session, 'CALL flakeid_wait(' . ($until // 'clock_timestamp()') . ')');
	$node->poll_query_until('postgres',
		"SELECT wait_event IN ('FlakeidWatermark', 'Extension') AND query LIKE 'CALL flakeid_wait%' FROM pg_stat_activity WHERE pid = $pid"
	) or die 'the session does not wait';
	return $pid;
}

# Tests that a wait has not ended.
sub waits {
	my ($pid, $test) = @_;
	return is($node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $pid"),
		'active', $test);
}

$writer->query_safe('BEGIN; INSERT INTO rows DEFAULT VALUES');
my $pid = begin_wait($waiter);
is( $node->safe_psql(
		'postgres', "SELECT backend_xmin, backend_xid FROM pg_stat_activity WHERE pid = $pid"),
	'|',
	'a session that waits has no snapshot and no transaction ID');
is( $node->safe_psql('postgres', "SELECT string_agg(locktype, ' ') FROM pg_locks WHERE pid = $pid"),
	'virtualxid',
	'a session that waits has no lock');
is( error_of(
		$node,
		'CREATE INDEX CONCURRENTLY ON other (x); DROP INDEX other_x_idx; VACUUM other; DROP TABLE waits'
	),
	'',
	'an index is built, and a table dropped, beside a session that waits');
waits($pid, 'an open transaction with an ID holds a wait');
$writer->query_safe('COMMIT');
is(ended_in($waiter), '', 'the wait ends when the transaction has ended');
is( error_in($waiter, 'SELECT 1 / (count(*) - 4) FROM rows WHERE id < flakeid_watermark()') =~
	  /division/ ? 1 : 0,
	1,
	'the row is below the watermark when the wait has ended');

$writer->query_safe("BEGIN; INSERT INTO rows DEFAULT VALUES; PREPARE TRANSACTION 'prepared'");
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
$waiter->query('');
like(
	$waiter->{stderr},
	qr/57014: canceling statement due to user request/,
	'a wait can be canceled');
$waiter->{stderr} = '';

# sessions that give up ------------------------------------------------------------------------------------------------

# Of sessions that wait, each is canceled or terminated in turn, the leader first: the others wait on, and the last one
# ends in time. Then the same from the last one on.
for my $order ('first', 'last') {
	my @waiters = map { session($node) } 1 .. 6;
	$writer->query_safe('BEGIN; INSERT INTO rows DEFAULT VALUES');
	my @pids = map { begin_wait($_) } @waiters;
	my @gone = $order eq 'first' ? @pids[ 0 .. 4 ] : reverse @pids[ 1 .. 5 ];
	my ($rest) = grep {
		my $pid = $_;
		!grep { $_ == $pid } @gone
	} @pids;
	for my $number (0 .. $#gone) {
		my $end = $number % 2 ? 'cancel' : 'terminate';
		$node->safe_psql('postgres', "SELECT pg_${end}_backend($gone[$number])");
		$node->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $gone[$number] AND state = 'active'"
		) or die 'the session goes on';
	}
	waits($rest, "one session waits on after the others have given up, from the $order on");
	$writer->query_safe('COMMIT');
	ok( $node->poll_query_until(
			'postgres', "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $rest"),
		"its wait ends with the transaction, after the others have given up from the $order on");
	eval { $_->quit } for @waiters;
}

# Many sessions wait for different times.
my @many = map { session($node) } 1 .. 40;
$writer->query_safe('BEGIN; INSERT INTO rows DEFAULT VALUES');
begin_wait($many[$_], "clock_timestamp() + '$_ ms'") for 0 .. $#many;
$writer->query_safe('COMMIT');
is(join('', map { ended_in($_) } @many), '', 'all of 40 sessions are woken');
begin_in($_, "CALL flakeid_wait(clock_timestamp() + random() * interval '50 ms')")
  for @many, @many, @many;
is(join('', map { ended_in($_) } @many),
	'', 'all of 40 sessions are woken that begin at random times');
$_->quit for @many;

# what outlives what ---------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'ALTER SYSTEM SET restart_after_crash = on; SELECT pg_reload_conf()');
my $leader = session($node);
$writer->query_safe('BEGIN; INSERT INTO rows DEFAULT VALUES');
$pid = begin_wait($leader);
kill 'KILL', $pid;
wait_for_server($node);
is(error_of($node, 'CALL flakeid_wait(clock_timestamp())'),
	'', 'after a crash of the leader the next session leads');
$_->{run}->kill_kill for $leader, $writer, $waiter;
$node->restart;
is(error_of($node, 'CALL flakeid_wait(clock_timestamp())'), '', 'a session waits after a restart');
$node->stop;

if ($node->pg_version >= 17) {
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
	$node->start;
	is(error_of($node, 'SELECT flake_next(); CALL flakeid_wait(clock_timestamp())'),
		'', 'a session waits on a server that does not preload the library');
	$node->stop;
}

done_testing;
