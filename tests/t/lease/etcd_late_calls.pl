# Calls reach etcd late, and their answers are lost. Then etcd has made the change, and the server
# continues. A call that arrives after others have changed what it depends on changes nothing.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use Server;
use Test::More;

my $ledger = Ledger->new('late');

# In each case a call of the server is held while keys are changed, and is then delivered. `undef`
# stands for a key that is deleted.
my $etcd = Etcd->new('late');
my $wire = $etcd->wire;
my %own = (etcd_pool => '0-3', etcd_lease_ttl => '20s', etcd_endpoints => $wire->{endpoint});
my $node = $etcd->start_server('late', %own);
wait_for_lease($node, 2);

# Makes these changes, delivers the call that is held, tests that it changes nothing, and takes the
# changes back.
sub changes_nothing {
	my ($changes, $test) = @_;
	my %before = $etcd->all('');
	my $change = sub {
		my (%to) = @_;
		defined $to{$_} ? $etcd->put($_, $to{$_}) : $etcd->del($_) for sort keys %to;
	};
	$change->(%$changes);
	my %changed = $etcd->all('');
	$wire->deliver;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply({ $etcd->all('') }, \%changed, $test);
	$change->(map { $_ => m{^pool/} ? undef : $before{$_} } keys %$changes);
	$wire->heal;
	return;
}

subtest 'a first claim arrives late' => sub {
	my $hold = sub {
		$node->stop;
		$wire->hold('flakeid/pool/0:0');
		$node->start;
		$wire->wait_until_held;
	};
	$hold->();
	is($etcd->claimed, '', 'while it is held, nothing is claimed');
	$wire->deliver;
	is($etcd->claimed, '0 1', 'it counts if nothing has changed');
	my $lease = { $etcd->claims }->{0}{lease};
	$wire->heal;
	my $ids = wait_for_lease($node, 2);
	# With another lease the high-water marks of the call may be ahead.
	wait_for_ids($node) if lease_of($node)->{lease_id} ne $lease;
	generates($ledger, $node, 'it generates IDs at once, although the answer was lost', $ids);

	# The three kinds of conditions; the core's tests have all conditions of a claim.
	for my $case (
		[ 'another server has claimed one of its generator IDs', 'pool/0:1' => 'another' ],
		[ 'a high-water mark has changed', 'until/1' => '2026-01-01T00:00:00Z' ],
		[ 'the registry has another ID', 'registry-id' => '0123456789abcdef' ])
	{
		my ($what, %changes) = @$case;
		$hold->();
		changes_nothing(\%changes, "it does not count if $what");
		wait_for_lease($node, 2);
	}
	$hold->();
	my @leases = $etcd->ctl('lease', 'list') =~ /^([0-9a-f]{8,})$/mg;
	$etcd->ctl('lease', 'revoke', $_) for @leases;
	changes_nothing({}, 'it does not count if its lease does not exist any more');
	wait_for_lease($node, 2);
};

subtest 'calls for a lease that is held arrive late' => sub {
	$node->restart;
	wait_for_lease($node, 2);
	$wire->hold('flakeid/pool/0:2');
	want_more($node);
	$wire->wait_until_held;
	changes_nothing({ 'pool/0:0' => undef },
		'a claim of more does not count if a claim of its lease was deleted');
	wait_until('three are held', sub { (my @ids = split / /, generator_ids($node)) == 3 });

	$wire->hold('flakeid/pool/0:1');
	my $end_of_log = -s $node->logfile;
	$wire->wait_until_held;
	changes_nothing({ 'pool/0:1' => 'another' },
		'a renewal does not count if a claim is of another');
	# Until the server notices, it holds three.
	$node->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs 1\b/, $end_of_log);
	wait_until('three are held', sub { (my @ids = split / /, generator_ids($node)) == 3 });

	my ($gone) = reverse split / /, generator_ids($node);
	$wire->hold("flakeid/pool/0:$gone");
	reload_with($node, generator_ids => 'etcd:2');
	$wire->wait_until_held;
	changes_nothing({ "pool/0:$gone" => 'another' },
		'a claim that is given back is not deleted if it is of another');
	wait_until('two are held', sub { (my @ids = split / /, generator_ids($node)) == 2 });
	generates($ledger, $node, 'the server generates IDs', generator_ids($node));
	$node->stop;
};
is($ledger->twice, '', 'no ID repeats');

done_testing();
