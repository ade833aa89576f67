# Another etcd with the same cluster ID, as it was set up with the same peer URLs and token. A server that is led there
# does not take it for its own that has lost its data: it leases nothing, and changes nothing, until an administrator
# says that it replaces the other. A loss of data is known by the endpoint, and needs no administrator.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $ledger    = Ledger->new('alike');
my $forgotten = qr/etcd has forgotten leases, so none is granted before they are over/;
my $refused   = qr{the last lease was of the registry (\S+), and this one is (\S+)};

# two etcds with one cluster ID -----------------------------------------------------------------------------------------

my $etcd  = Etcd->new('alike');
my $other = Etcd->new('other', alike => $etcd, unfounded => 1);
is($other->cluster_id, $etcd->cluster_id, 'two etcds that were set up alike have one cluster ID');
my $address = $etcd->cluster_id . '/flakeid/';

my $a = $etcd->brief_server('a');
is(join(' ', wait_for_lease($a, 2)), '0 1', 'a server leases from the one');
$ledger->crowd($a, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given;
my $b = $etcd->brief_server('b');
lead($a, $other->endpoints);
is(join(' ', wait_for_lease($b, 2)), '0 1', '... and when it is led to the other, another server has its generator IDs in time');
# Sessions of the first have ended, if they were told; else both make IDs now.
$ledger->crowd($b, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given(1);
$_->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'") for $a, $b;
$ledger->dispersed;
is($ledger->twice, '', '... and no ID repeats');
my $id = $etcd->get('registry-id');
my ($last, $this) = wait_for_error($a, $refused) =~ $refused;
is("$last $this", "$address#$id $address", '... as the first knows that this is not where it leased from');
is(join(' ', $other->keys), '', '... and founds nothing there');
my $told = qr/ERROR:  55000: .*\nDETAIL:  .*\Q$last\E/;
like(error_becomes($a, 'SELECT flake_next()', $told), $told, '... and tells sessions');
$a->restart;
wait_for_error($a, $refused);
pass('... also after a restart');

# An address that an administrator has written as for a first registry, and a registry that others use.
$other->found;
lead($b, $other->endpoints);
wait_until_lost($b);
wait_for_error($b, $refused);
is(join(' ', $other->keys), 'address', 'a server leases nothing in another etcd where the address was written before its first use');
my $stranger = $other->brief_server('stranger', etcd_pool => '0-3', generator_ids => 'etcd:1');
is(join(' ', wait_for_lease($stranger, 1)), '0', 'a server that has leased from neither leases there at once');
my $id_there = $other->get('registry-id');
for my $node ($a, $b)
{
	my ($from, $to) = wait_for_error($node, qr{and this one is \S+#}) =~ $refused;
	is("$from $to", "$address#$id $address#$id_there", '... and the others do not, and say which registry is which: ' . $node->name);
	($last, $this) = ($from, $to);
}

# What the documentation tells the administrator, with both as the message has them.
$_->append_conf('postgresql.conf', "flakeid.etcd_pool = '0-7'\n"), $_->reload for $a, $b;
$other->put('address', "$this,$last");
my @of_both = map { wait_for_lease($_, 2) } $a, $b;
like(join('', map { slurp_file($_->logfile) } $a, $b), qr/DETAIL:  It replaces the one of the last lease\. /,
	'when an administrator says that it replaces the other, there is a grace period');
my %held = map { $_ => 1 } @of_both, wait_for_lease($stranger, 1);
is(scalar(keys %held), 5, '... and after that all lease from it');
is(memory_of($_)->{registry_id}, $id_there, '... and remember it: ' . $_->name) for $a, $b;
for my $node ($a, $b, $stranger)
{
	is(($ledger->ask($node, $_, 1000))[0], '', "... and make $_->{name} IDs") for @LEASED;
}
is($ledger->twice, '', 'no ID repeats');

# the data are lost ------------------------------------------------------------------------------------------------------

# A server that has leased there is the first to come, or comes in the grace period, or after it.
$stranger->stop;
$b->stop;
my $losses = lease_of($a)->{losses};
$other->lose_data;
lease_becomes($a, "losses > $losses AND state = 'held'") or die 'the server does not notice the loss';
my ($new) = $other->get('registry-id') =~ /\A(\w{16}),$id_there\z/;
ok(defined $new, 'where data are lost at the same endpoint, a new registry follows the one that a server remembers');
is(memory_of($a)->{registry_id}, $new, '... which goes on with that, and needs no administrator');
wait_out_grace($other);
$b->start;
is(scalar(my @of_b = wait_for_lease($b, 2)), 2, '... as does one that comes after the grace period');

$_->stop for $a, $b;
$other->lose_data;
my $fresh = $other->brief_server('fresh', etcd_pool => '0-7', generator_ids => 'etcd:1', etcd_lease_ttl => '600s');
wait_for_error($fresh, $forgotten);
my $founded = $other->get('registry-id');
like($founded, qr/\A\w{16}\z/, 'a registry that is founded by a server without a memory follows none');
$a->start;
wait_for_error($a, $forgotten);
is($other->get('registry-id'), "$founded,$new,$id_there", '... until one comes in the grace period that remembers the last');
# As if it were over.
$other->del('grace');
$b->start;
wait_for_lease($_, 2) for $a, $b;
pass('... and then all lease from it');

$_->stop for $a, $b, $fresh;
$other->lose_data;
unlink $fresh->data_dir . '/flakeid/etcd';
$fresh->append_conf('postgresql.conf', "flakeid.etcd_lease_ttl = '10s'\n");
$fresh->start;
wait_for_lease($fresh, 1);
$a->start;
($last, $this) = wait_for_error($a, $refused) =~ $refused;
is("$last $this", "$address#$founded $address#" . $other->get('registry-id'), 'where no server that remembers the last registry comes in the grace period, it may be another etcd');
$other->put('address', "$this,$last");
wait_for_lease($a, 2);
pass('... until an administrator says that it replaces that one');

# what is given back -----------------------------------------------------------------------------------------------------

# Two etcds that are alike and are used alike have the same revisions.
my $one  = Etcd->new('one');
my $two  = Etcd->new('two', alike => $one);
my %long = (etcd_lease_ttl => '600s');
my ($c, $d) = map { $_->[0]->brief_server($_->[1], %long) } [ $one, 'c' ], [ $two, 'd' ];
wait_for_lease($_, 2) for $c, $d;
# A server whose call was late may have made another one.
for (1 .. 10)
{
	last if $one->revision('pool/0:0') == $two->revision('pool/0:0');
	$_->stop for $c, $d;
	for my $pair ([ $one, $two ], [ $two, $one ])
	{
		my ($behind, $ahead) = @$pair;
		$behind->advance while $behind->revision < $ahead->revision;
	}
	$_->start for $c, $d;
	wait_for_lease($_, 2) for $c, $d;
}
is($one->revision('pool/0:0'), $two->revision('pool/0:0'), 'two servers claim in the same revision of two etcds');
my %claims = $two->all('');
my $end_of_log = -s $c->logfile;
lead($c, $two->endpoints, etcd_lease_ttl => '300s');
$c->wait_for_log(qr/LOG:  flakeid released generator IDs 0-1\n/, $end_of_log);
is_deeply({ $two->all('') }, \%claims, 'a server that is led to the other one, and gives its claims back, does not take away those that are there');
wait_for_error($c, $refused);
$_->stop for $c, $d;

done_testing();
