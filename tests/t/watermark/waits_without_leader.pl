# CALL flakeid_wait ends when the watermark has passed the time, also where the watermark is ahead of the clock, and where the
# leader of those that wait does not run: it is stopped, or it reports an error to a client that does not read.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use FakedClock;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('waits', '');
$clock->start;
my $node = $clock->node;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE rows (id flake DEFAULT flake_next()); INSERT INTO rows DEFAULT VALUES'
);

# A clock that steps back does not take the watermark back.
my $until = $node->safe_psql('postgres', "SELECT flakeid_watermark() - interval '20 s'");
$clock->step(-60);
is( $node->safe_psql(
		'postgres', "SELECT flakeid_watermark() > '$until', clock_timestamp() < '$until'"),
	't|t',
	'the watermark has passed a time that the clock has not reached again');
is(error_of($node, "CALL flakeid_wait('$until', '0')"), '', 'a wait for this time ends at once');
$clock->step(0);

my $leader = session($node);
my $pid = $leader->query_safe('SELECT pg_backend_pid()');
begin_in($leader, "CALL flakeid_wait('infinity')");
$node->poll_query_until('postgres',
	"SELECT wait_event IN ('FlakeidWatermark', 'Extension') FROM pg_stat_activity WHERE pid = $pid")
  or die 'the session does not wait';
kill 'STOP', $pid;
is( error_of(
		$node,
		"CALL flakeid_wait(clock_timestamp(), '$PostgreSQL::Test::Utils::timeout_default s')"),
	'',
	'a wait ends beside a leader that is stopped');
kill 'CONT', $pid;
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
eval { $leader->quit };
$node->stop;

done_testing;
