# Another etcd with the same cluster ID, as it was set up with the same peer URLs and token. A server that is led there
# does not take it for its own that has lost its data: it leases nothing, and changes nothing, until an administrator
# says that it replaces the other. A loss of data is known by the endpoint, and needs no administrator.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use JSON::PP;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(sleep);

my $ledger    = Ledger->new('alike');
my $forgotten = qr/etcd has forgotten leases, so none is granted before they are over/;
my $refused   = qr{the last lease was of the registry (\S+), and this one is (\S+)};

# Leases are short, as most of what is tested here comes when one is over.
sub begin
{
	my ($etcd, $name, %settings) = @_;
	my $node = $etcd->server($name, generator_ids => 'etcd:2', etcd_pool => '0-1', etcd_lease_ttl => '10s', max_clock_wait => '100ms', %settings);
	$node->start;
	create_tables($node);
	return $node;
}

sub lead
{
	my ($node, $endpoints, %settings) = @_;
	$node->append_conf('postgresql.conf', join '', "flakeid.etcd_endpoints = '$endpoints'\n", map { "flakeid.$_ = '$settings{$_}'\n" } sort keys %settings);
	$node->reload;
	return;
}

sub lead_at_start
{
	my ($node, $endpoints) = @_;
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '$endpoints'\n");
	$node->start;
	return;
}

sub generator_ids { my ($node) = @_; return join ' ', @{ (lease_of($node) || {})->{generator_ids} || [] } }

sub wait_until_lost
{
	my ($node) = @_;
	lease_becomes($node, "state = 'lost'") or die $node->name . ' has not lost its lease';
	return;
}

# Waits until no grace period is there.
sub wait_out_grace
{
	my ($etcd) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (defined $etcd->get('grace'))
	{
		die 'the grace period does not end' if time() > $until;
		sleep 1;
	}
	return;
}

# two etcds with one cluster ID -----------------------------------------------------------------------------------------

my $etcd  = Etcd->new('alike');
my $other = Etcd->new('other', alike => $etcd, unfounded => 1);
is($other->cluster_id, $etcd->cluster_id, 'two etcds that were set up alike have one cluster ID');
my $address = $etcd->cluster_id . '/flakeid/';

my $a = begin($etcd, 'a');
is(join(' ', wait_for_lease($a, 2)), '0 1', 'a server leases from the one');
$ledger->crowd($a, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given;
my $b = begin($etcd, 'b');
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
my $stranger = begin($other, 'stranger', etcd_pool => '0-3', generator_ids => 'etcd:1');
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
$other->ctl('put', 'flakeid/address', "$this,$last");
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
my $fresh = begin($other, 'fresh', etcd_pool => '0-7', generator_ids => 'etcd:1', etcd_lease_ttl => '600s');
wait_for_error($fresh, $forgotten);
my $founded = $other->get('registry-id');
like($founded, qr/\A\w{16}\z/, 'a registry that is founded by a server without a memory follows none');
$a->start;
wait_for_error($a, $forgotten);
is($other->get('registry-id'), "$founded,$new,$id_there", '... until one comes in the grace period that remembers the last');
# As if it were over.
$other->ctl('del', 'flakeid/grace');
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
$other->ctl('put', 'flakeid/address', "$this,$last");
wait_for_lease($a, 2);
pass('... until an administrator says that it replaces that one');

# two etcds in one list of endpoints -------------------------------------------------------------------------------------

my $list = join ',', $other->endpoints, $etcd->endpoints;
$a->stop;
$etcd->ctl('del', '--prefix', 'flakeid/');
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
$losses = lease_of($a)->{losses};
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
($last, $this) = wait_for_error($a, $refused) =~ $refused;
is($last, '1234/flakeid/', '... and nowhere else');
$other->ctl('put', 'flakeid/address', "$this,$last");
wait_for_lease($a, 2);
pass('... until an administrator says so');

# the ID in etcd ---------------------------------------------------------------------------------------------------------

$a->stop;
my $good = $other->get('registry-id');
$other->ctl('put', 'flakeid/registry-id', '--', "none\e[1m");
$a->start;
wait_for_error($a, qr{etcd's key "flakeid/registry-id" is "none\\x1b\[1m", not the ID of a registry});
is(generator_ids($a), '', 'nothing is leased where the ID of the registry cannot be read');
$other->ctl('del', 'flakeid/registry-id');
wait_for_error($a, $forgotten);
like($other->get('registry-id'), qr/\A\w{16},\Q$good\E\z/, 'where the ID is not there any more, there is a grace period, and another ID');
wait_for_lease($a, 2);
pass('... and then a lease');
$a->stop;

# a registry of 0.6.0
$fresh->stop;
$other->ctl('del', '--prefix', 'flakeid/');
$other->ctl('put', 'flakeid/epoch', '2010-01-01T00:00:00Z');
$other->ctl('put', 'flakeid/cluster-id', '0');
unlink $fresh->data_dir . '/flakeid/etcd';
$fresh->append_conf('postgresql.conf', "flakeid.etcd_lease_ttl = '600s'\n");
$fresh->start;
wait_for_lease($fresh, 1);
is($other->get('grace'), undef, 'a registry of 0.6.0 goes on without a grace period');
like($other->get('registry-id'), qr/\A\w{16}\z/, '... and gets an ID');
$fresh->stop;

# etcd is restored to what it was before a loss ---------------------------------------------------------------------------

sub wait_for_loss
{
	my ($node, $losses) = @_;
	lease_becomes($node, "losses > $losses AND state = 'held'") or die $node->name . ' does not notice the loss';
	return;
}

my $volume = Etcd->new('volume');
my @fleet  = begin($volume, 'fleet_0', etcd_pool => '0-7');
wait_for_lease($fleet[0], 2);
my $r1      = $volume->get('registry-id');
my $earlier = $volume->copy_data;
my $before  = lease_of($fleet[0])->{losses};
$volume->lose_data;
wait_for_loss($fleet[0], $before);
my ($r2) = $volume->get('registry-id') =~ /\A(\w{16}),$r1\z/;
ok(defined $r2, 'etcd starts without its volume, and a server founds the registry again');
wait_out_grace($volume);
push @fleet, begin($volume, 'fleet_1', etcd_pool => '0-7');
wait_for_lease($_, 2) for @fleet;
is_deeply(memory_of($_)->{followed}, [$r1], '... and all servers that lease from it remember what it followed: ' . $_->name) for @fleet;
my $later = $volume->copy_data;
for my $case ([ $earlier, $r1, $r1, $r2 ], [ $later, "$r2,$r1", $r2, $r1 ])
{
	my ($data, $value, $now, $then) = @$case;
	my @running = @fleet;
	$ledger->crowd($_, id_types => \@LEASED, ways => ['single']) for @fleet;
	$ledger->wait_until_given;
	my @ends          = map { -s $_->logfile } @running;
	my @losses_before = map { lease_of($_)->{losses} } @running;
	$volume->lose_data($data);
	wait_for_loss($running[$_], $losses_before[$_]) for 0 .. $#running;
	# One that remembers no set-back begins it for another reason, if it is the first to notice.
	like(join('', map { slurp_file($running[$_]->logfile, $ends[$_]) } 0 .. $#running),
		$now eq $r1 ? qr/DETAIL:  Its ID is an earlier one\. / : qr/found that etcd has forgotten leases/,
		'where etcd has the data of an earlier registry again, or of a later one, there is a grace period');
	push @fleet, begin($volume, 'fleet_' . @fleet, etcd_pool => '0-7') if @fleet < 3;
	my %of = map { $_ => 1 } map { wait_for_lease($_, 2) } @fleet;
	is(scalar(keys %of), 6, '... and then all lease from it, each its own generator IDs');
	is($volume->get('registry-id'), $value, '... with the ID that it has');
	is_deeply([ @{ memory_of($_) }{qw(registry_id followed)} ], [ $now, [$then] ], '... and the others remember what it was before the restore: ' . $_->name) for @fleet[ 0, 1 ];
	$ledger->wait_until_given(1);
	$_->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'") for @fleet;
	$ledger->dispersed;
	is($ledger->twice, '', '... and no ID repeats');
}

# A memory of the format that has not what the registry followed.
$_->stop for @fleet;
my $memory = memory_of($fleet[0]);
delete @$memory{qw(followed left address_revision)};
$memory->{flakeid_etcd} = 2;
my $document = JSON::PP->new->encode($memory);
unlink $fleet[0]->data_dir . '/flakeid/etcd';
append_to_file($fleet[0]->data_dir . '/flakeid/etcd', checksummed($document . "\n" x (4096 - 15 - length $document)));
$fleet[0]->start;
wait_for_lease($fleet[0], 2);
is_deeply([ @{ memory_of($fleet[0]) }{qw(flakeid_etcd followed)} ], [ 4, [$r1] ], 'a server reads a memory of the format before, and adds what its registry followed');
$fleet[0]->stop;

# a standby is promoted after several losses -----------------------------------------------------------------------------

my $base    = Etcd->new('base');
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', $base->configuration(generator_ids => 'etcd:2', etcd_pool => '0-7', etcd_lease_ttl => '10s', max_clock_wait => '100ms'));
$primary->start;
create_tables($primary);
wait_for_lease($primary, 2);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $chain = $base->get('registry-id');
is(memory_of($standby)->{registry_id}, $chain, 'a standby remembers the registry that its primary leased from then');
for (1 .. 2)
{
	my $losses_before = lease_of($primary)->{losses};
	$base->lose_data;
	wait_for_loss($primary, $losses_before);
	like($base->get('registry-id'), qr/\A\w{16},$chain\z/, '... when etcd has lost its data, the primary names all that were lost');
	$chain = $base->get('registry-id');
}
wait_out_grace($base);
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;
wait_for_lease($standby, 2);
is($base->get('registry-id'), $chain, '... so the promoted standby leases there');
is(join(',', @{ memory_of($standby) }{registry_id}, @{ memory_of($standby)->{followed} }), $chain, '... and remembers all that its primary did');
$standby->stop;

# what is given back -----------------------------------------------------------------------------------------------------

# Two etcds that are alike and are used alike have the same revisions.
sub revision_of
{
	my ($of, $key) = @_;
	my $answer = JSON::PP->new->decode($of->ctl('get', $key, '-w', 'json'));
	return $key eq 'ready' ? $answer->{header}{revision} : $answer->{kvs}[0]{mod_revision};
}
my $one  = Etcd->new('one');
my $two  = Etcd->new('two', alike => $one);
my %long = (etcd_lease_ttl => '600s');
my ($c, $d) = map { begin($_->[0], $_->[1], %long) } [ $one, 'c' ], [ $two, 'd' ];
wait_for_lease($_, 2) for $c, $d;
# A server whose call was late may have made another one.
for (1 .. 10)
{
	last if revision_of($one, 'flakeid/pool/0:0') == revision_of($two, 'flakeid/pool/0:0');
	$_->stop for $c, $d;
	for my $pair ([ $one, $two ], [ $two, $one ])
	{
		my ($behind, $ahead) = @$pair;
		$behind->ctl('put', 'ready', 'yes') while revision_of($behind, 'ready') < revision_of($ahead, 'ready');
	}
	$_->start for $c, $d;
	wait_for_lease($_, 2) for $c, $d;
}
is(revision_of($one, 'flakeid/pool/0:0'), revision_of($two, 'flakeid/pool/0:0'), 'two servers claim in the same revision of two etcds');
my %claims = $two->all('');
my $end_of_log = -s $c->logfile;
lead($c, $two->endpoints, etcd_lease_ttl => '300s');
$c->wait_for_log(qr/LOG:  flakeid released generator IDs 0-1\n/, $end_of_log);
is_deeply({ $two->all('') }, \%claims, 'a server that is led to the other one, and gives its claims back, does not take away those that are there');
wait_for_error($c, $refused);
$_->stop for $c, $d;

done_testing();
