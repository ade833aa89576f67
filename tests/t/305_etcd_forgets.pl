# An etcd that has forgotten what servers leased: its data are gone, or older than they were, or it is a copy or another
# etcd. Servers that are alive go on with the generator IDs that they have, nobody else leases these before the leases
# that were forgotten are over, and no ID repeats. Each server here learns of it when the test lets its worker go on.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use File::Path qw(remove_tree);
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

# No lease and no grace period ends by itself, but where a test waits for that. A server that wants more generator IDs
# than it has lists what is there: so each learns of a loss when the test has it want more.
my $ttl = 600;

my $ledger = Ledger->new('forgets');
my $forgotten = qr/etcd has forgotten leases, so none is granted before they are over/;

# Has a server list what is there.
sub look
{
	my ($node) = @_;
	my ($wanted) = $node->safe_psql('postgres', 'SHOW flakeid.generator_ids') =~ /(\d+)/;
	$node->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:" . ($wanted + 1) . "'\n");
	$node->reload;
	return;
}

sub begin
{
	my ($etcd, $name, %settings) = @_;
	my $node = $etcd->server($name, generator_ids => 'etcd:2', etcd_pool => '0-4', etcd_lease_ttl => "${ttl}s", max_clock_wait => '100ms', %settings);
	$node->start;
	create_tables($node);
	return $node;
}

# Has sessions of these servers make IDs until the test ends them.
sub crowd
{
	my @nodes = @_;
	$ledger->crowd($_, id_types => \@LEASED, ways => ['single']) for @nodes;
	$ledger->wait_until_given(0.3);
	return;
}

# Ends them, and returns what errors they had that are not those of a lease that was lost.
sub other_errors
{
	my @nodes = @_;
	$_->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'") for @nodes;
	return join '', grep { !/ERROR:  55000: / } map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed;
}

# Waits until a server holds these, of another lease than before.
sub wait_for_another_lease
{
	my ($node, $before, @ids) = @_;
	lease_becomes($node, "state = 'held' AND lease_id <> '$before'") or die 'there is no other lease';
	return is(generator_ids($node), "@ids", $node->name . ' goes on with the generator IDs that it had');
}

# nothing is there ---------------------------------------------------------------------------------------------------

my $first = Etcd->new('first', unfounded => 1);
my $a     = begin($first, 'first');
wait_for_error($a, $forgotten);
is(join(' ', $first->keys), 'address cluster-id epoch grace registry-id', 'a server that finds no registry founds it, with a grace period');
is($first->get('address'), $first->cluster_id . '/flakeid/', '... and says where it is');
my $id = $first->get('registry-id');
like($id, qr/\A[0-9a-f]{16}\z/, '... and which it is');
like(slurp_file($a->logfile), qr{LOG:  flakeid founded the registry of generator IDs \w+/flakeid/#$id in etcd}, '... and the log tells');
is(generator_ids($a), '', '... and nothing is leased');
# As if it were over.
$first->del('grace');
wait_for_lease($a, 2);
is($first->get('grace'), undef, '... until it is over');
my $memory = memory_of($a);
ok(delete $memory->{address_revision} > 0, 'a server remembers when the address was written');
is_deeply($memory, { flakeid_etcd => 4, address => $first->cluster_id . '/flakeid/', registry_id => $id, followed => [], endpoints => [ $first->endpoints ], left => [] },
	'... and where it leased');
$a->stop;
$first->stop;

# the data are gone --------------------------------------------------------------------------------------------------

my $etcd = Etcd->new('forgets');
$a = begin($etcd, 'a');
is(join(' ', wait_for_lease($a, 2)), '0 1', 'two servers lease');
my $b = begin($etcd, 'b');
is(join(' ', wait_for_lease($b, 2)), '2 3', '... what there is');
crowd($a, $b);
my $lease_of_a = lease_of($a)->{lease_id};
my $lease_of_b = lease_of($b)->{lease_id};
$etcd->lose_data;
my $c = begin($etcd, 'c');
wait_for_error($c, $forgotten);
my $told = qr/ERROR:  55000: .*\nDETAIL:  .*$forgotten/;
like(error_becomes($c, 'SELECT flake_next()', $told), $told, 'when the data are gone there are no IDs on a server that held none');
# The one that is not the first to know has what the other would lease if it knew nothing.
look($b);
wait_for_another_lease($b, $lease_of_b, 2, 3);
like(slurp_file($b->logfile), qr/WARNING:  flakeid lost its lease of generator IDs 2-3\n.*DETAIL:  etcd has forgotten the lease\./, '... and its log tells');
is(generator_ids($c), '', '... and a server that has none leases none of those that etcd does not know of');
look($a);
wait_for_another_lease($a, $lease_of_a, 0, 1);
is(other_errors($a, $b), '', '... and sessions saw nothing but the loss');
is($ledger->twice, '', 'no ID repeats');
$c->stop;

# the data are older --------------------------------------------------------------------------------------------------

# What etcd had when one of the two held nothing.
$etcd->del('grace');
$b->stop;
$etcd->stop;
my $copy = PostgreSQL::Test::Utils::tempdir('etcd_copy') . '/data';
PostgreSQL::Test::RecursiveCopy::copypath($etcd->data_dir, $copy);
$etcd->start;
$b->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:2'\n");
$b->start;
is(join(' ', wait_for_lease($b, 2)), '2 3', 'a server leases after the copy was made');
# Of what etcd has forgotten, the other one knows what it has seen and written since.
look($a);
is(join(' ', wait_for_lease($a, 3)), '0 1 4', '... and another one, after that');
my $end_of_log = -s $a->logfile;
crowd($a, $b);
$lease_of_a = lease_of($a)->{lease_id};
$lease_of_b = lease_of($b)->{lease_id};
$etcd->lose_data($copy);
look($a);
$a->wait_for_log(qr/WARNING:  flakeid found that etcd has forgotten leases of generator IDs\n/, $end_of_log);
$c->start;
wait_for_error($c, $forgotten);
is(generator_ids($c), '', 'when etcd is restored to an older state, no server leases what it has forgotten');
is(lease_of($a)->{lease_id}, $lease_of_a, '... a server keeps a lease that etcd has not forgotten');
look($b);
wait_for_another_lease($b, $lease_of_b, 2, 3);
is(generator_ids($c), '', '... as does a server with a lease that etcd has forgotten');
is(other_errors($a, $b), '', '... and sessions saw nothing but the loss');
is($ledger->twice, '', 'no ID repeats');
$c->stop;

# From here on tests wait for leases to end.
$etcd->del('grace');
for my $node ($a, $b)
{
	$node->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:2'\nflakeid.etcd_lease_ttl = '10s'\n");
	$node->stop;
}
for my $node ($a, $b)
{
	$node->start;
	wait_for_lease($node, 2);
}

# a snapshot that is restored with a new token ------------------------------------------------------------------------

# With the lease, the claims and the high-water marks, all as they are.
my $restored = Etcd->new('restored', idle => 1);
$restored->restore($etcd);
$restored->start;
my ($here, $there) = map { $_->cluster_id . '/flakeid/' } $etcd, $restored;
isnt($there, $here, 'an etcd that was restored from a snapshot has another cluster ID');
$a->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '" . $restored->endpoints . "'\n");
$a->reload;
wait_for_error($a, qr{etcd's key "flakeid/address" is "\Q$here\E", where this registry is \Q$there\E});
my $at = lease_of($a)->{renewed_at};
lease_becomes($a, "state = 'lost'") or die 'the lease is not lost';
is(lease_of($a)->{renewed_at}, $at, '... and a lease that it has from the first one is not renewed by it');
$a->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '" . $etcd->endpoints . "'\n");
$a->reload;
is(scalar(my @ids = wait_for_lease($a, 2)), 2, '... and the server leases again when it is led back');
$restored->stop;

# another etcd --------------------------------------------------------------------------------------------------------

my $other = Etcd->new('other', unfounded => 1);
$other->put('address', $other->cluster_id . '/flakeid/');
my ($old, $new) = map { $_->cluster_id . '/flakeid/' } $etcd, $other;
isnt($new, $old, 'two etcds have two addresses');
my $elsewhere = qr{the last lease was of the registry \Q$old\E#\w{16}, and this one is \Q$new\E};

sub move
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '" . $other->endpoints . "'\n");
	$node->reload;
	wait_for_error($node, $elsewhere);
	return;
}

crowd($a, $b);
move($a);
my $before = lease_of($a)->{renewed_at};
lease_becomes($a, "state = 'lost'") or die 'the lease is not lost';
is(lease_of($a)->{renewed_at}, $before, 'a server that is led to another etcd does not renew its lease there');
$told = qr/ERROR:  55000: .*\nDETAIL:  .*$elsewhere/;
like(error_becomes($a, 'SELECT flake_next()', $told), $told, '... has no IDs when that is over');
is(join(' ', grep { m{^pool/} } $other->keys), '', '... and leases nothing there');
wait_for_flow($b);
pass('... while the other goes on by the first');
$a->restart;
wait_for_error($a, $elsewhere);
pass('... nor when it is started again');
other_errors($a, $b);
move($b);
lease_becomes($b, "state = 'lost'") or die 'the lease is not lost';
# One of them cannot remember where it leases. It begins one grace period, and not one after the other.
my $new_file = $a->data_dir . '/flakeid/etcd.new';
mkdir $new_file or die "could not make a directory: $!";
$other->found($old);
wait_for_error($a, qr{could not write file "flakeid/etcd": Is a directory});
wait_for_lease($b, 2);
is(generator_ids($a), '', 'a server that cannot remember where it leases has no lease, and does not keep others from theirs');
rmdir $new_file or die "could not remove a directory: $!";
wait_for_lease($a, 2);
like(slurp_file($a->logfile) . slurp_file($b->logfile), qr/DETAIL:  It replaces the one of the last lease\. /, 'when an administrator says that it replaces the first, there is a grace period');
my %held = map { $_ => 1 } map { wait_for_lease($_, 2) } $a, $b;
is(scalar(keys %held), 4, '... and then they lease from it');
for my $node ($a, $b)
{
	is(($ledger->ask($node, $_, 1000))[0], '', "... and make $_->{name} IDs") for @LEASED;
}
is($ledger->twice, '', 'no ID repeats');

# another namespace ---------------------------------------------------------------------------------------------------

$b->append_conf('postgresql.conf', "flakeid.etcd_namespace = 'orders/'\n");
$b->reload;
wait_for_error($b, qr{the last lease was of the registry \Q$new\E#\w{16}, and this one is \w+/orders/});
is(generator_ids($b), '', 'a server that is led to another namespace gives its generator IDs back, and leases none there');
$b->append_conf('postgresql.conf', "flakeid.etcd_namespace = 'flakeid/'\n");
$b->reload;
wait_for_lease($b, 2);
pass('... and leases again where it was');
$b->stop;

# a copy, and what cannot be read ---------------------------------------------------------------------------------------

$a->stop;
my $file = $a->data_dir . '/flakeid/etcd';
my $content = slurp_file($file);
my $case = sub {
	my ($what, $error, $break) = @_;
	$break->();
	$a->start;
	wait_for_error($a, $error);
	is(generator_ids($a), '', "$what: nothing is leased");
	$a->stop;
	remove_tree($file);
	append_to_file($file, $content);
	$other->found($old);
	return;
};
$case->('a copy of a registry', qr{etcd's key "flakeid/address" is "\Q$old\E", where this registry is \Q$new\E},
	sub { $other->put('address', $old) });
$case->('a damaged memory', qr{file "flakeid/etcd" is damaged}, sub { unlink $file; append_to_file($file, "\n" x 256) });
$case->('a memory with another byte', qr{file "flakeid/etcd" is damaged}, sub { unlink $file; append_to_file($file, $content =~ s/"registry_id": "./"registry_id": "?/r) });
$case->('a memory of a later version', qr{file "flakeid/etcd" has version 5, which this flakeid cannot read}, sub {
	unlink $file;
	append_to_file($file, checksummed($content =~ s/"flakeid_etcd": 4/"flakeid_etcd": 5/r =~ s/crc32 \w{8}\n\z//r));
});
$case->('a memory that is too long', qr{could not read file "flakeid/etcd": it is larger than 4096 bytes}, sub { append_to_file($file, 'x') });
$case->('a directory in its place', qr{could not read file "flakeid/etcd": Is a directory}, sub { unlink $file; mkdir $file });
$case->('a link in its place', qr{could not read file "flakeid/etcd": it is a symbolic link}, sub { unlink $file; symlink '/dev/null', $file });
$a->start;
wait_for_lease($a, 2);
pass('... and when it is as it was, there is a lease');
$a->stop;

done_testing();
