# etcd loses its data, or is restored to older ones. Servers that hold leases continue with the
# generator IDs that they have. No other server leases these in the grace period, until all leases
# that etcd forgot are over.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# No lease and no grace period ends by itself here.
my %long = (etcd_pool => '0-4', etcd_lease_ttl => '600s');
my $etcd = Etcd->new('data_loss', empty => 1);
my $ledger = Ledger->new('data_loss');
my $a = $etcd->start_server('a', %long);
my $id;

subtest 'the first server finds an empty etcd' => sub {
	wait_for_error($a, $FORGOTTEN);
	is($etcd->keys, 'address cluster-id epoch grace registry-id', 'it begins a grace period');
	is($etcd->get('address'), $etcd->address, 'it writes the address of the registry');
	$id = $etcd->get('registry-id');
	like($id, qr/\A[0-9a-f]{16}\z/, 'it writes an ID of the registry');
	like(
		slurp_file($a->logfile),
		qr{LOG:  flakeid founded the registry of generator IDs \w+/flakeid/#$id in etcd},
		'the log has its name');
	is(generator_ids($a), '', 'the server leases nothing in the grace period');
	$etcd->end_grace;
	is(wait_for_lease($a, 2), '0 1', 'it leases after the grace period');
	my $memory = memory_of($a);
	cmp_ok(delete $memory->{address_revision},
		'>', 0, 'it remembers the revision in which the address was written');
	my %expected = (
		flakeid_etcd => 4,
		address => $etcd->address,
		registry_id => $id,
		followed => [],
		endpoints => [ $etcd->endpoints ],
		left => []);
	is_deeply($memory, \%expected, 'it remembers where it leases');
};

subtest 'etcd loses its data' => sub {
	my $b = $etcd->start_server('b', %long);
	is(wait_for_lease($b, 2), '2 3', 'another server leases others');
	begin_crowd($ledger, $a, $b);
	my %lease_of = map { $_->name => lease_of($_)->{lease_id} } $a, $b;
	$etcd->lose_data;
	my $c = $etcd->start_server('c', %long);
	wait_for_error($c, $FORGOTTEN);
	my $error = qr/ERROR:  55000: .*\nDETAIL:  .*$FORGOTTEN/;
	like(error_becomes($c, 'SELECT flake_next()', $error),
		$error, 'a server that held nothing leases nothing, and its sessions get the reason');
	# The server that notices first would lease what the other holds, if it knew nothing.
	for my $case ([ $b, '2 3' ], [ $a, '0 1' ]) {
		my ($node, $held) = @$case;
		want_more($node);
		my $other_lease = "state = 'held' AND lease_id <> '$lease_of{ $node->name }'";
		ok(lease_becomes($node, $other_lease), $node->name . ' has another lease');
		is(generator_ids($node), $held, $node->name . ' continues with the generator IDs it had');
		my $loss =
		  qr/WARNING:  flakeid lost its lease of .*\n.*DETAIL:  etcd has forgotten the lease\./;
		like(slurp_file($node->logfile), $loss, 'the log of ' . $node->name . ' has the loss');
		is(generator_ids($c), '', 'the server that held nothing still leases nothing');
	}
	is(join('', grep { !/ERROR:  55000: / } end_crowd($ledger, $a, $b)),
		'', 'sessions had no other error than the loss');
	like($etcd->get('registry-id'), qr/\A\w{16}(?:,$id)?\z/, 'the registry has another ID');
	is(memory_of($a)->{followed}[0], $id,
		'a server remembers that it follows the one that is lost');
	$etcd->end_grace;
	is(wait_for_lease($c, 1), '4', 'after the grace period it leases what is free');
	generates($ledger, $_, $_->name . ' generates IDs') for $a, $b;
	is($ledger->twice, '', 'no ID repeats');
	$_->stop for $a, $b, $c;
};

subtest 'etcd is restored to a state from before some claims' => sub {
	my $etcd = Etcd->new('older');
	my $a = $etcd->start_server('of_older', %long);
	is(wait_for_lease($a, 2), '0 1', 'a server leases');
	my $older = $etcd->copy_data;
	want_more($a);
	is(wait_for_lease($a, 3), '0 1 2', 'it claims more, and so knows a later revision');
	my $lease = lease_of($a)->{lease_id};
	my $end_of_log = -s $a->logfile;
	$etcd->lose_data($older);
	want_more($a);
	$a->wait_for_log(qr/WARNING:  flakeid found that etcd has forgotten leases/, $end_of_log);
	my $c = $etcd->start_server('c_of_older', %long);
	wait_for_error($c, $FORGOTTEN);
	is(generator_ids($c), '', 'a server that held nothing leases nothing in the grace period');
	is(lease_of($a)->{lease_id}, $lease, 'a lease that etcd has not forgotten stays');
	$_->stop for $a, $c, $etcd;
};

subtest 'a snapshot is restored in an etcd with another cluster ID' => sub {
	my $etcd = Etcd->new('original');
	my $a = $etcd->start_server('of_original', etcd_lease_ttl => '10s');
	wait_for_lease($a, 2);
	# The snapshot has the lease, the claims and the high-water marks.
	my $copy = Etcd->new('snapshot', idle => 1);
	$copy->restore($etcd);
	my ($here, $there) = map { $_->address } $etcd, $copy;
	isnt($there, $here, 'it has another address');
	my $is_copy =
	  qr{etcd's key "flakeid/address" is "\Q$here\E", where this registry is \Q$there\E};
	use_endpoints($a, $copy->endpoints);
	ok(wait_for_error($a, $is_copy), 'a server that is led there has an error');
	my $renewed = lease_of($a)->{renewed_at};
	lease_becomes($a, "state = 'lost'");
	is(lease_of($a)->{renewed_at}, $renewed, 'its lease is not renewed there');
	use_endpoints($a, $etcd->endpoints);
	is((split / /, wait_for_lease($a, 2)), 2, 'it leases again when it is led back');

	$a->stop;
};

done_testing();
