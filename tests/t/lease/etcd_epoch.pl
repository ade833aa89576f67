# All servers of a registry have one flake epoch, and take the cluster of uniqueids from etcd. A
# server with another epoch leases nothing, and does not write its own epoch down.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FlakeEpoch qw($UNSET remove_epoch);
use Leases;
use Server;
use StateFile;
use Test::More;

my $etcd = Etcd->new('epoch');

# Returns the epoch in the state of a server; empty without an epoch.
sub recorded {
	my ($node) = @_;
	return -e state_path($node) ? state_of($node)->{epochs}{flake} // '' : '';
}

my $lost = $etcd->server('lost', generator_ids => '0', epoch => '2020-01-01');
$lost->start;
$lost->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next()');
$lost->stop;
remove_epoch($lost);
set($lost, generator_ids => 'etcd:2');
$lost->start;
ok(wait_for_error($lost, $UNSET),
	'a server that has lost the line with the epoch of its flakes leases nothing');
is($etcd->keys, 'address', 'it founds no registry with the default epoch');
like(
	error_of($lost, 'SELECT flake_next()'),
	qr/ERROR:  55000: $UNSET/,
	'its sessions get the reason');
$lost->stop;

my $first = $etcd->start_server('first', etcd_pool => '64-1023', epoch => '2020-01-01');
wait_for_lease($first, 2);
is($etcd->get('epoch'), '2020-01-01T00:00:00Z', 'the registry has the epoch of its first server');
my $second = $etcd->start_server('second', etcd_pool => '64-1023', max_clock_wait => '10ms');
ok(wait_for_error($second, qr/etcd's key "flakeid\/epoch" is "2020-01-01T00:00:00Z", where/),
	'a server with the default epoch leases nothing');
refuses($second, qr/ERROR:  55000: no generator IDs are leased/, 'its sessions get an error');
is(recorded($second), '', 'its state does not get the default');
reload_with($second, epoch => '2020-01-01', max_clock_wait => '1min');
wait_for_lease($second, 2);
wait_for_ids($second);
is(recorded($second), '2020-01-01T00:00:00.000000000Z', 'with the right epoch it leases');
$_->stop for $first, $second;

subtest 'the cluster of uniqueids' => sub {
	my $clusters = <<'SQL';
SELECT string_agg(DISTINCT cluster_id::text, ' ')
FROM uniqueid_next_batch(100) AS id, uniqueid_decode(id)
SQL
	my $other = Etcd->new('cluster');
	$other->put('cluster-id', '7');
	my $one = $other->start_server('one', etcd_lease_ttl => '10s');
	is(wait_for_lease($one, 2), '0 1', 'a server leases');
	like($other->keys, qr{pool/7:0 pool/7:1}, 'the keys of its claims have the cluster in etcd');
	my $session = session($one);
	is($session->query_safe($clusters), '7', 'its uniqueids have it, too');

	$other->put('cluster-id', '6');
	my $renewed = lease_of($one)->{renewed_at};
	lease_becomes($one, "renewed_at > '$renewed'");
	is($one->safe_psql('postgres', $clusters), '7', 'a lease keeps its cluster');
	my $two = $other->start_server('two');
	is(wait_for_lease($two, 2),
		'2 3', 'no server of the other cluster takes its generator IDs, as flakes have no cluster');
	is($two->safe_psql('postgres', $clusters), '6', 'the other server has the other cluster');
	$other->ctl('lease', 'revoke', lease_of($one)->{lease_id});
	lease_becomes($one, "losses > 0 AND state = 'held'");
	is($session->query_safe($clusters), '6', 'a session that was idle has that of the next lease');
	$session->quit;
	$_->stop for $one, $two;
};

done_testing();
