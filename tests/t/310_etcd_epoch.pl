# flake's epoch and leased generator IDs: all servers of a registry have one. A server whose epoch is another does not
# write it down before it knows the registry's, and founds no registry with an epoch that its own state refuses.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $etcd = Etcd->new('epoch');
my $unset = qr/"flakeid\.epoch" is not set, and existing flakes have a later epoch/;

sub begin
{
	my ($name, %settings) = @_;
	my $node = $etcd->server($name, etcd_lease_ttl => '30s', etcd_pool => '64-1023', %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# The epoch that a server's state has; empty for none.
sub recorded
{
	my ($node) = @_;
	return -e state_path($node) ? state_of($node)->{epochs}{flake} // '' : '';
}

# founding -------------------------------------------------------------------------------------------------------------

# A server that has flakes, and has lost the line.
my $fixed = PostgreSQL::Test::Cluster->new('fixed');
$fixed->init;
$fixed->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2020-01-01'\n");
$fixed->start;
$fixed->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next()');
$fixed->stop;
$fixed->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
$fixed->append_conf('postgresql.conf', $etcd->configuration(etcd_lease_ttl => '30s'));
$fixed->start;
wait_for_error($fixed, $unset);
pass('a server that refuses its own epoch leases nothing');
is(join(' ', $etcd->keys), 'address', '... and founds no registry with it');
like(error_of($fixed, 'SELECT flake_next()'), qr/ERROR:  55000: $unset/, '... and its sessions say why');
$fixed->stop;

# joining ----------------------------------------------------------------------------------------------------------------

my $founder = begin('founder', epoch => '2020-01-01');
wait_for_lease($founder, 8);
is($etcd->get('epoch'), '2020-01-01T00:00:00Z', 'a registry has the epoch of the server that founded it');
my $joiner = begin('joiner', max_clock_wait => '10ms');
wait_for_error($joiner, qr/flakeid\.epoch/);
like(error_of($joiner, 'SELECT flake_next()'), qr/ERROR:  55000: no generator IDs are leased/, 'a server with the default leases nothing there');
is(recorded($joiner), '', '... and its state does not get the default');
reload_with($joiner, epoch => '2020-01-01', max_clock_wait => '1min');
wait_for_lease($joiner, 8);
is($joiner->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'), 't', '... until it has the registry\'s epoch, which is a later one');
is(recorded($joiner), '2020-01-01T00:00:00.000000000Z', '... and then the state has that');
$founder->stop;

# an emergency ---------------------------------------------------------------------------------------------------------------

# As docs/fleet.md has it, when etcd is away for longer than the lease: numbers that the default pool leaves out.
$joiner->stop;
$etcd->stop;
$joiner->start;
wait_for_error($joiner, qr/./);
reload_with($joiner, generator_ids => '0-7');
like($joiner->safe_psql('postgres', 'SELECT datacenter * 32 + worker FROM flake_decode(flake_next())'), qr/\A[0-7]\z/, 'without etcd a server goes on with numbers outside the pool');
$etcd->start;
reload_with($joiner, generator_ids => 'etcd:8');
# The worker has ended, and begins again with the first session that asks for an ID.
$joiner->safe_psql('postgres', 'SELECT flake_next()');
my @leased = wait_for_lease($joiner, 8);
is(scalar(grep { $_ < 64 } @leased), 0, '... and leases again from the pool when etcd is back');
cmp_ok($joiner->safe_psql('postgres', 'SELECT datacenter * 32 + worker FROM flake_decode(flake_next())'), '>=', 64, '... and uses what it leases');
$joiner->stop;

done_testing();
