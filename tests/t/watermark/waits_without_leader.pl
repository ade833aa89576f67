# CALL flakeid_wait ends when the watermark has passed the time, also where the watermark is ahead
# of the clock, and where the leader of the sessions that wait is stopped.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('waits', '');
$clock->start;
my $node = $clock->node;
sub sql { return $node->safe_psql('postgres', @_) }
sql('CREATE EXTENSION flakeid; SELECT flake_next()');

# A clock that steps back does not take the watermark back.
my $until = sql("SELECT flakeid_watermark() - interval '20 s'");
$clock->step(-60);
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
$node->stop;

done_testing();
