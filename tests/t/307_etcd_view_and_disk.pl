# While a session is stuck in writing the horizon, pg_stat_flakeid_lease and flakeid_identity() answer all the same.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FaultyDisk;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd = Etcd->new('view_and_disk');
my $disk = FaultyDisk->new;
my $node = $etcd->server('view_and_disk', generator_ids => 'etcd:2', etcd_pool => '4-5', etcd_lease_ttl => '1h');
{
	local %ENV = (%ENV, $disk->environment);
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_lease($node, 2);
$node->safe_psql('postgres', 'SELECT flake_next()');
my $views = <<'SQL';
SET statement_timeout = '60s';
SELECT state, generator_ids, remaining > '0', worker_pid > 0 FROM pg_stat_flakeid_lease;
SELECT flakeid_identity() -> 'generator_ids';
SELECT failures FROM pg_stat_flakeid_horizon;
SQL
my $expected = "held|{4,5}|t|t\n[4, 5]\n0";
is($node->safe_psql('postgres', $views), $expected, 'the views show the lease');

$disk->becomes('slow');
$node->poll_query_until('postgres', q(SELECT max(gate_lead) < '0' FROM pg_stat_flakeid WHERE id_type = 'flake'))
  or die 'the clock does not pass the gate';
my $writer = $node->background_psql('postgres');
$writer->query_until(qr/begun/, "\\echo begun\nSELECT flake_next() > 0;\n");
$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event IN ('FlakeidHorizonWrite', 'Extension') AND query LIKE 'SELECT flake_next() > 0%'))
  or die 'no session writes';
is($node->safe_psql('postgres', $views), $expected, '... also while a session is stuck in a write');
$disk->ends('slow');
$writer->query_safe('SELECT');
$writer->quit;
is($node->safe_psql('postgres', $views), $expected, '... and after it');
$node->stop;
done_testing();
