# CALL flakeid_wait returns when the watermark has passed a time, also where the watermark is ahead
# of the clock, and where the leader of the sessions that wait is stopped. An error says where it
# cannot wait.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('waits', "log_statement = none\n");
$clock->start;
my $node = $clock->node;
create_tables($node);
sub sql { return $node->safe_psql('postgres', @_) }
my $waiter = session($node);

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
is(error_in($waiter, "CALL flakeid_wait('2000-01-01', '0')"),
	'', 'a time that has passed needs no timeout');

# Procedures and functions that wait.
for my $routine (
	'FUNCTION in_function() RETURNS void LANGUAGE plpgsql AS $$ BEGIN %s; END $$',
	'PROCEDURE in_sql() LANGUAGE sql AS $$ %s $$',
	'PROCEDURE in_procedure() LANGUAGE plpgsql AS $$ BEGIN %s; END $$',
	"PROCEDURE set_setting() LANGUAGE plpgsql SET work_mem = '1MB' AS \$\$ BEGIN %s; END \$\$",
	'PROCEDURE with_id() LANGUAGE plpgsql AS $$ BEGIN PERFORM flake_next(); %s; END $$',
	<<~'SQL', <<~'SQL', <<~'SQL')
	PROCEDURE with_exception() LANGUAGE plpgsql AS
		$$ BEGIN BEGIN %s; EXCEPTION WHEN lock_not_available THEN END; END $$
	SQL
	PROCEDURE in_loop() LANGUAGE plpgsql AS $$
		DECLARE r record;
		BEGIN FOR r IN SELECT generate_series(1, 100) LOOP %s; END LOOP; END $$
	SQL
	PROCEDURE in_cursor() LANGUAGE plpgsql AS
		$$ DECLARE c CURSOR FOR SELECT generate_series(1, 100); BEGIN OPEN c; %s; END $$
	SQL
{
	$waiter->query_safe('CREATE ' . sprintf $routine, 'CALL flakeid_wait(now())');
}

my $block = 'a transaction block, a function, or a block with EXCEPTION';
my $atomic =
  qr/ERROR:  25001: flakeid_wait cannot run inside $block\nHINT:  CALL it in a statement/;
my $while = 'while a query or a cursor is open';
my $is_open = qr/ERROR:  55000: flakeid_wait cannot run $while\nHINT:  Close cursors/;
my $after = 'after the transaction has generated IDs';
my $has_id = qr/ERROR:  55000: flakeid_wait cannot run $after\n.*HINT:  COMMIT first/s;
my $has_level = qr/ERROR:  55000: flakeid_wait needs the isolation level READ COMMITTED/;
my $at = qr/[-\d]+ [\d:.]+\+00/;
my $detail = qr/DETAIL:  The watermark is $at\.\nHINT:  On the primary pg_stat_flakeid_watermark /;
my $timed_out = qr/ERROR:  55P03: the watermark has not passed $at within the timeout\n$detail/;

my $wait = 'CALL flakeid_wait(now())';

sub fails {
	my ($sql, $error, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(error_in($waiter, $sql), $error, $test // "$sql is an error");
	error_in($waiter, 'ROLLBACK; RESET ALL');
	return;
}

fails("CALL flakeid_wait(clock_timestamp() + '1 hour', '30 ms')",
	$timed_out, 'a timeout is an error of its own, which says where the watermark is');
fails(
	"CALL flakeid_wait('infinity', '0')",
	qr/55P03: the watermark has not passed infinity/,
	'no time is passed with a timeout of 0');
fails('CALL flakeid_wait(NULL)', qr/ERROR:  22004: the time to wait for must not be NULL/);
fails("CALL flakeid_wait(now(), '-1 s')", qr/ERROR:  22023: the timeout must not be negative/);
fails(
	"SET statement_timeout = '50 ms'; CALL flakeid_wait('infinity', '100000 years')",
	qr/57014: .*statement timeout/,
	'statement_timeout ends a wait');
fails("SELECT flakeid_wait(now(), '1 s')", qr/42809/, 'flakeid_wait is no function');
fails($_, $atomic)
  for "BEGIN; $wait", 'SELECT in_function()', 'CALL in_sql()',
  'CALL with_exception()', 'CALL set_setting()', 'BEGIN; CALL in_procedure()';
fails($_, $is_open) for 'CALL in_loop()', 'CALL in_cursor()';
fails('CALL with_id()', $has_id, 'a transaction does not wait for itself');
fails("SET default_transaction_isolation = '$_'; $wait", $has_level, "a wait in $_ is an error")
  for 'REPEATABLE READ', 'SERIALIZABLE';
is(error_in($waiter, 'CALL in_procedure()'), '', 'a procedure can wait');
is(error_in($waiter, <<~'SQL'), '', 'a DO block can wait between its transactions');
	DO $$
	BEGIN
		FOR i IN 1 .. 3 LOOP
			INSERT INTO flakes DEFAULT VALUES;
			COMMIT;
			CALL flakeid_wait(clock_timestamp());
			IF EXISTS (SELECT FROM flakes WHERE NOT flake_before(id, flakeid_watermark())) THEN
				RAISE 'a row is not below the watermark';
			END IF;
		END LOOP;
	END $$
	SQL
$waiter->query_safe('CREATE ROLE somebody');
is(error_in($waiter, 'SET ROLE somebody; CALL flakeid_wait(now())'), '', 'every user may wait');

if ($node->pg_version >= 16) {
	my $bind = "CALL flakeid_wait(clock_timestamp() + '5 ms') \\bind \\g\nSELECT 1";
	is($node->safe_psql('postgres', $bind), '1', 'the extended protocol can wait');
}

# A clock that steps back does not take the watermark back.
sql('SELECT flake_next()');
my $until = sql("SELECT flakeid_watermark() - interval '20 s'");
$clock->step(-3600);
is(sql("SELECT flakeid_watermark() > '$until', clock_timestamp() < '$until'"),
	't|t', 'the watermark has passed a time that the clock has not reached again');
is(error_of($node, "CALL flakeid_wait('$until', '0')"), '', 'a wait for this time ends at once');
$clock->step(0);

my $leader = session($node);
my $pid = $leader->query_safe('SELECT pg_backend_pid()');
begin_in($leader, "CALL flakeid_wait('infinity')");
$node->poll_query_until('postgres', <<~"SQL") or die 'the session does not wait';
	SELECT wait_event IN ('FlakeidWatermark', 'Extension') FROM pg_stat_activity WHERE pid = $pid
	SQL
kill 'STOP', $pid;
my $timeout = "$PostgreSQL::Test::Utils::timeout_default s";
is(error_of($node, "CALL flakeid_wait(clock_timestamp(), '$timeout')"),
	'', 'a wait ends beside a leader that is stopped');
kill 'CONT', $pid;
sql("SELECT pg_terminate_backend($pid)");
eval { $leader->quit };
$waiter->quit;
$node->stop;
done_testing();
