# A watermark that a standby has replayed is below all IDs of the server that it becomes, also if the primary crashed before
# it had flushed its last horizon. It then begins at that horizon, which is in its file alone, and its watermark, too.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
# The lead makes the moment long in which the horizon is ahead of the clock. Nothing but the test flushes the WAL.
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
wal_writer_delay = 10s
checkpoint_timeout = 1h
flakeid.horizon_lead = 10s
flakeid.standby_watermark_interval = '50ms'
END
$primary->start;
$primary->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next()); INSERT INTO outbox DEFAULT VALUES'
);
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 0, has_restoring => 1);
$standby->start;
$primary->safe_psql('postgres', 'INSERT INTO outbox DEFAULT VALUES; SELECT pg_switch_wal()');

sub horizon {
	return (slurp_file($primary->data_dir . '/flakeid/state') =~ /"until": "([^"]+)"/)[0];
}

# The horizon moves since the worker computes watermarks. Its message is not flushed, as no transaction commits.
my $before = horizon();
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
sleep 0.01 while horizon() eq $before && time() < $until;
isnt(horizon(), $before, 'the horizon has moved');
my ($postmaster) = slurp_file($primary->data_dir . '/postmaster.pid') =~ /^(\d+)/;
kill 'KILL', $postmaster;
# The next server starts when the children of that one have ended.
until (
	system('pg_ctl', '-D', $primary->data_dir, '-l', $primary->logfile, '-o',
		'-c wal_writer_delay=200ms --cluster-name=primary',
		'-w', 'start') == 0)
{
	sleep 0.2;
	die if time() > $until;
}
$primary->_update_pid(1);

my $ahead = 'flakeid_watermark() > clock_timestamp()';
ok( $primary->poll_query_until('postgres', "SELECT $ahead"),
	'the watermark of the primary begins at the horizon');
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $held;
do {
	sleep 0.05;
	$held =
	  error_of($standby, 'SELECT flakeid_watermark()')
	  ? ''
	  : $standby->safe_psql('postgres', "SELECT flakeid_watermark() WHERE $ahead");
} until $held || time() > $until;
isnt($held, '', 'the standby has replayed it');
$primary->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'the standby is not promoted';
is( $standby->safe_psql(
		'postgres',
		"WITH row AS (INSERT INTO outbox DEFAULT VALUES RETURNING id) SELECT flake_before(id, '$held') FROM row"
	),
	'f',
	'no ID of the new primary is below a watermark that it has replayed');
$standby->stop;

done_testing;
