# A watermark that a standby has replayed is below all IDs of the server that it becomes, also if
# the primary crashed before it had flushed its last horizon. The primary then begins at that
# horizon, which is in its file alone, and its watermark, too.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use Postmaster;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
# Nothing but the test flushes the WAL.
$primary->append_conf('postgresql.conf', <<~'END');
	shared_preload_libraries = 'flakeid'
	wal_writer_delay = 10s
	checkpoint_timeout = 1h
	flakeid.standby_watermark_interval = '50ms'
	END
my $postmaster = Postmaster->start($primary);
$primary->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION flakeid;
	CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next());
	INSERT INTO outbox DEFAULT VALUES
	SQL
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 0, has_restoring => 1);
my $clock = FakedClock->of_node($standby);
$clock->start;
$primary->safe_psql('postgres', 'INSERT INTO outbox DEFAULT VALUES; SELECT pg_switch_wal()');

# The horizon moves since the worker computes watermarks. Its message is not flushed, as no
# transaction commits. It moves so far ahead that the clock is behind it in all of this test.
$primary->append_conf('postgresql.conf', "flakeid.horizon_lead = 20min\n");
$primary->reload;
my $is_ahead = sub { until_of(state_of($primary)) > (time() + 15 * 60) * 1_000_000_000 };
wait_until('the horizon moves', $is_ahead, 0.01);
$postmaster->kill9;
$primary->append_conf('postgresql.conf', <<~'END');
	flakeid.horizon_lead = 1s
	wal_writer_delay = 200ms
	END
$postmaster = Postmaster->start($primary);

my $ahead = 'flakeid_watermark() > clock_timestamp()';
ok( $primary->poll_query_until('postgres', "SELECT $ahead"),
	'the watermark of the primary begins at the horizon');
my $read = sub {
	# The worker can write its watermark after the last switch, into a segment that stays open.
	$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
	return if error_of($standby, 'SELECT flakeid_watermark()');
	return $standby->safe_psql('postgres', "SELECT flakeid_watermark() WHERE $ahead");
};
my $held = wait_until('the standby replays the watermark that begins at the horizon', $read, 0.3);
$postmaster->stop('immediate');
$standby->promote;
# An ID by this clock would be below the watermark.
$clock->set($standby->safe_psql('postgres', "SELECT extract(epoch FROM timestamptz '$held')") - 2);
my $insert = 'INSERT INTO outbox DEFAULT VALUES RETURNING id';
is( $standby->safe_psql(
		'postgres', "WITH row AS ($insert) SELECT flake_before(id, '$held') FROM row"),
	'f',
	'no ID of the new primary is below a watermark that it has replayed');
$standby->stop;

done_testing();
