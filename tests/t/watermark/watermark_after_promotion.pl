# A watermark that a standby has replayed is below all IDs of the server that it becomes, also if
# the primary crashed before it had flushed its last horizon. The primary then begins at that
# horizon, which is in its file alone, and its watermark, too.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Postmaster;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
# The lead makes the moment long in which the horizon is ahead of the clock. Nothing but the test
# flushes the WAL.
$primary->append_conf('postgresql.conf', <<~'END');
	shared_preload_libraries = 'flakeid'
	wal_writer_delay = 10s
	checkpoint_timeout = 1h
	flakeid.horizon_lead = 10s
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
$standby->start;
$primary->safe_psql('postgres', 'INSERT INTO outbox DEFAULT VALUES; SELECT pg_switch_wal()');

# The horizon moves since the worker computes watermarks. Its message is not flushed, as no
# transaction commits.
my $before = state_of($primary)->{until};
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
sleep 0.01 while state_of($primary)->{until} eq $before && time() < $until;
isnt(state_of($primary)->{until}, $before, 'the horizon has moved');
$postmaster->kill9;
$primary->append_conf('postgresql.conf', "wal_writer_delay = 200ms\n");
$postmaster = Postmaster->start($primary);

my $ahead = 'flakeid_watermark() > clock_timestamp()';
ok( $primary->poll_query_until('postgres', "SELECT $ahead"),
	'the watermark of the primary begins at the horizon');
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $held = '';
until ($held || time() > $until) {
	sleep 0.05;
	next if error_of($standby, 'SELECT flakeid_watermark()');
	$held = $standby->safe_psql('postgres', "SELECT flakeid_watermark() WHERE $ahead");
}
isnt($held, '', 'the standby has replayed the watermark that begins at the horizon');
$postmaster->stop('immediate');
$standby->promote;
my $insert = 'INSERT INTO outbox DEFAULT VALUES RETURNING id';
is( $standby->safe_psql(
		'postgres', "WITH row AS ($insert) SELECT flake_before(id, '$held') FROM row"),
	'f',
	'no ID of the new primary is below a watermark that it has replayed');
$standby->stop;

done_testing();
