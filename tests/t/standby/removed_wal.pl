# A standby is killed again and again while its primary's clock jumps, and has removed the WAL of
# the time when that clock was ahead. Promoted, it repeats no ID of its primary.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
system_or_bail('pg_resetwal', '--wal-segsize=1', '-D', $primary->data_dir);
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
shared_buffers = '16MB'
autovacuum = off
max_worker_processes = 0
min_wal_size = '2MB'
max_wal_size = '2MB'
wal_keep_size = '64MB'
END
my $primary_clock = FakedClock->of_node($primary);
$primary_clock->start;
create_tables($primary);
$primary->safe_psql('postgres',
	'INSERT INTO flakes (nr) VALUES (0); CREATE TABLE bulk (text text)');
$primary->backup('base');
my $first = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
my ($standby, $clock) =
  successor('standby', $primary, 'base', "wal_keep_size = 0\n", has_streaming => 1);

for my $round (1 .. 5) {
	# Each time the clock is ahead by less than before.
	$primary_clock->step(6000 - 1000 * $round);
	if ($round == 1) {
		insert_rows($primary, 1000, 'flake');
		$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
	}
	insert_rows($primary, 1000, 'sno') if $round <= 2;
	$primary->safe_psql('postgres',
		"INSERT INTO bulk SELECT repeat('x', 500) FROM generate_series(1, 5000)");
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($standby) if $round != 3;
	$standby->safe_psql('postgres', 'CHECKPOINT') if $round % 2;
	crash($clock);
}
$primary_clock->step(0);
# A commit flushes all WAL; the walwriter of a server whose clock was stepped back flushes none.
$primary->safe_psql('postgres', 'CREATE TABLE flushed ()');
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
ok(!-e $standby->data_dir . "/pg_wal/$first",
	'the standby has removed the WAL of the time when the clock of its primary was ahead');
$primary->stop;
$standby->promote;
$clock->stand_still(
	$standby->safe_psql(
		'postgres', 'SELECT extract(epoch FROM max(flake_timestamp(id))) FROM flakes'));
like(error_of($standby, 'INSERT INTO flakes SELECT FROM generate_series(1, 1000)'),
	is_behind_last('flake'), 'promoted, it generates no flake at the moment of the last one');
$clock->step(5060);
is(error_of($standby, "INSERT INTO ${_}s SELECT FROM generate_series(1, 1000)"),
	'', "$_ IDs continue when the clock is past them")
  for @TYPE_NAMES;
halt($standby);

done_testing();
