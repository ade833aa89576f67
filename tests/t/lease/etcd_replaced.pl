# Servers are led to another etcd, which has the same cluster ID as it was set up alike. They lease
# nothing there until an administrator writes into its key `address` that it replaces the first one.
# Later they go back in the same way, and the first entry does not count any more.
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

my $refused = qr{^the last lease was of the registry (\S+), and this one is (\S+)$};
my $ledger = Ledger->new('replaced');
my $first = Etcd->new('first');
my $second = Etcd->new('second', alike => $first, empty => 1);
is($second->address, $first->address, 'two etcds that were set up alike have one cluster ID');
my $address = $first->address;

my %brief = (etcd_pool => '0-1', etcd_lease_ttl => '10s');
my $a = $first->start_server('a', %brief);
my $b;

my $first_name;

subtest 'the second etcd is empty' => sub {
	is(wait_for_lease($a, 2), '0 1', 'a server leases from the first');
	$first_name = "$address#" . $first->get('registry-id');
	$b = $first->start_server('b', %brief);
	$b->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);
	begin_crowd($ledger, $a);
	use_endpoints($a, $second->endpoints);
	is( join(' ', wait_for_error($a, $refused) =~ $refused),
		"$first_name $address",
		'a server that is led there names both registries');
	my $renewed = lease_of($a)->{renewed_at};
	is(wait_for_lease($b, 2), '0 1', 'another server leases its generator IDs from the first');
	begin_crowd($ledger, $b);
	is(lease_of($a)->{renewed_at}, $renewed, 'the server does not renew its lease');
	end_crowd($ledger, $a, $b);
	is($ledger->twice, '', 'no ID repeats');
	my $error = qr/ERROR:  55000: .*\nDETAIL:  .*\Q$first_name\E/;
	like(error_becomes($a, 'SELECT flake_next()', $error), $error, 'its sessions get the reason');
	$a->restart;
	ok(wait_for_error($a, $refused), 'a restart does not change that');
	is($second->keys, '', 'nothing is written to the second');
};

subtest 'an administrator says that the second replaces the first' => sub {
	my %long = (etcd_pool => '0-7', etcd_lease_ttl => '600s');
	for my $node ($a, $b) {
		set($node, %long, etcd_endpoints => $second->endpoints);
		$node->restart;
	}
	# As the documentation has it: both names of the message.
	$second->put('address', "$address,$first_name");
	wait_for_error($_, $FORGOTTEN) for $a, $b;
	like(
		join('', map { slurp_file($_->logfile) } $a, $b),
		qr/DETAIL:  It replaces the one of the last lease\. /,
		'a grace period begins');
	$second->end_grace;
	my %held = map { $_ => 1 } map { split / /, wait_for_lease($_, 2) } $a, $b;
	is(scalar(keys %held), 4, 'after it the servers lease from the second');
	is(memory_of($a)->{registry_id}, $second->get('registry-id'), 'a server remembers it');
	my $left = qr/\A\Q$first_name\E\@\d+\z/;
	like($second->get('left'), $left, 'the registry has which one was replaced');
	like("@{ memory_of($a)->{left} }", $left, 'the server remembers that, too');
	generates($ledger, $_, $_->name . ' generates IDs') for $a, $b;
	is($ledger->twice, '', 'no ID repeats');
	$b->stop;
};

subtest 'the servers go back to the first' => sub {
	my $second_name = "$address#" . memory_of($a)->{registry_id};
	$first->put('address', "$first_name,$second_name");
	set($a, etcd_endpoints => $first->endpoints);
	$a->restart;
	wait_for_error($a, $FORGOTTEN);
	$first->end_grace;
	wait_for_lease($a, 2);
	my $late = $first->start_server('late', etcd_lease_ttl => '600s');
	wait_for_lease($late, 2);

	for my $node ($a, $late) {
		set($node, etcd_endpoints => $second->endpoints);
		$node->restart;
		is( join(' ', wait_for_error($node, $refused) =~ $refused),
			"$first_name $second_name",
			'the old entry in the second does not count for ' . $node->name);
	}
	is($second->get('grace'), undef, 'nothing is changed there');
	$_->stop for $a, $late;
};

done_testing();
