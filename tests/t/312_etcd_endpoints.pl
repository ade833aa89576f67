# What a server remembers of its registry: the endpoints that have answered as the registry, and its ID. Only an endpoint
# that has answered can show that the registry is lost.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(sleep);

my $forgotten = qr/etcd has forgotten leases, so none is granted before they are over/;
my $refused   = qr{the last lease was of the registry (\S+), and this one is (\S+)};

# two etcds in one list of endpoints -------------------------------------------------------------------------------------

my $etcd    = Etcd->new('alike', unfounded => 1);
my $other   = Etcd->new('other', alike => $etcd);
my $address = $etcd->cluster_id . '/flakeid/';
my $list    = join ',', $other->endpoints, $etcd->endpoints;
my $a       = $other->brief_server('a');
wait_for_lease($a, 2);
$a->stop;
lead_at_start($a, $list);
wait_for_lease($a, 2);
is_deeply(memory_of($a)->{endpoints}, [ $other->endpoints ], 'a server remembers which endpoints have answered as its registry');
$other->pause;
wait_for_error($a, $refused);
is(join(' ', $etcd->keys), '', 'an endpoint that has not is not believed that the registry is lost');
$other->continue;
wait_for_lease($a, 2);
pass('... and the server goes on when the other one answers');
$a->stop;

# two endpoints of one etcd ----------------------------------------------------------------------------------------------

my ($wire, $second) = map { $other->wire } 1 .. 2;
lead_at_start($a, join ',', $wire->{endpoint}, $second->{endpoint});
wait_for_lease($a, 2);
is_deeply(memory_of($a)->{endpoints}, [ $wire->{endpoint} ], 'a server that is led to another endpoint of its registry remembers that one alone');
$wire->cut;
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
until (@{ memory_of($a)->{endpoints} } == 2)
{
	die 'the second endpoint is not remembered' if time() > $until;
	sleep 0.1;
}
pass('... and one that it renews by');
my $lost = $other->get('registry-id') =~ s/,.*//r;
my $losses = lease_of($a)->{losses};
$other->lose_data;
wait_for_error($a, qr/an endpoint that does not answer may still have the registry: /);
pass('... which is not enough to know that the data are lost, while the first one is cut off');
lead($a, $second->{endpoint});
lease_becomes($a, "losses > $losses AND state = 'held'") or die 'the server does not notice the loss';
like($other->get('registry-id'), qr/\A\w{16},$lost\b/, '... until it is taken out of the settings');
$a->stop;

# what is remembered by an earlier build ---------------------------------------------------------------------------------

my $file = $a->data_dir . '/flakeid/etcd';
sub remember
{
	my ($what) = @_;
	unlink $file;
	append_to_file($file, $what . "\n" x (256 - length $what));
	return;
}
remember($address);
lead_at_start($a, $other->endpoints);
wait_for_lease($a, 2);
is(memory_of($a)->{registry_id}, $other->get('registry-id') =~ s{,.*}{}r, 'a server that remembers an address alone leases there, and remembers the ID from then on');
$a->stop;
remember('1234/flakeid/');
$a->start;
my ($last, $this) = wait_for_error($a, $refused) =~ $refused;
is($last, '1234/flakeid/', '... and nowhere else');
$other->put('address', "$this,$last");
wait_for_lease($a, 2);
pass('... until an administrator says so');

# the ID in etcd ---------------------------------------------------------------------------------------------------------

$a->stop;
my $good = $other->get('registry-id');
$other->put('registry-id', "none\e[1m");
$a->start;
wait_for_error($a, qr{etcd's key "flakeid/registry-id" is "none\\x1b\[1m", not the ID of a registry});
is(generator_ids($a), '', 'nothing is leased where the ID of the registry cannot be read');
$other->del('registry-id');
wait_for_error($a, $forgotten);
like($other->get('registry-id'), qr/\A\w{16},\Q$good\E\z/, 'where the ID is not there any more, there is a grace period, and another ID');
wait_for_lease($a, 2);
pass('... and then a lease');
$a->stop;

# a registry of 0.6.0
$other->del;
$other->put('epoch', '2010-01-01T00:00:00Z');
$other->put('cluster-id', '0');
my $fresh = $other->brief_server('fresh', generator_ids => 'etcd:1', etcd_lease_ttl => '600s');
wait_for_lease($fresh, 1);
is($other->get('grace'), undef, 'a registry of 0.6.0 goes on without a grace period');
like($other->get('registry-id'), qr/\A\w{16}\z/, '... and gets an ID');
$fresh->stop;

done_testing();
