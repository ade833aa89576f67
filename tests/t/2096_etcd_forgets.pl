# An etcd that has forgotten what servers leased: its data are gone, or older than they were, or it is a copy or another
# etcd. Servers that are alive go on with the generator IDs that they have, nobody else leases these before the leases
# that were forgotten are over, and no ID comes twice. Each server here learns of it when the test lets its worker go on.
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
use Test::More;

# Long enough that nothing is lost because the machine is slow: a third of it is waited for, and the whole of it after
# each loss.
my $ttl = 20;

my $ledger = Ledger->new('forgets');
my $forgotten = qr/etcd has forgotten leases, so none is granted before they are over/;

# What is stopped has to go on, or nothing could end it.
my @stopped;
END { kill 'CONT', @stopped }

# Stops a server's worker, while its sessions go on.
sub pause
{
	my ($node) = @_;
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'");
	push @stopped, $pid;
	kill 'STOP', $pid;
	return $pid;
}

sub go_on
{
	my ($pid) = @_;
	kill 'CONT', $pid;
	@stopped = grep { $_ != $pid } @stopped;
	return;
}

sub begin
{
	my ($etcd, $name, %settings) = @_;
	my $node = $etcd->server($name, generator_ids => 'etcd:2', etcd_pool => '0-3', etcd_lease_ttl => "${ttl}s", max_clock_wait => '100ms', %settings);
	$node->start;
	create_tables($node);
	return $node;
}

# Has sessions of these servers make IDs until the test ends them.
sub crowd
{
	my @nodes = @_;
	$ledger->crowd($_, systems => \@LEASED, ways => ['single']) for @nodes;
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

sub generator_ids { my ($node) = @_; return join ' ', @{ lease_of($node)->{generator_ids} || [] } }

# Waits until a server holds these, of another lease than before.
sub wait_for_another_lease
{
	my ($node, $before, @ids) = @_;
	$node->poll_query_until('postgres', "SELECT state = 'held' AND lease <> '$before' FROM pg_stat_flakeid_lease") or die 'there is no other lease';
	return is(generator_ids($node), "@ids", $node->name . ' goes on with the generator IDs that it had');
}

# nothing is there ---------------------------------------------------------------------------------------------------

my $etcd = Etcd->new('forgets', unfounded => 1);
my $a    = begin($etcd, 'a');
wait_for_error($a, $forgotten);
is(join(' ', $etcd->keys), 'address cluster-id epoch grace', 'who finds no registry founds it, with a grace period');
is($etcd->get('address'), $etcd->cluster_id . '/flakeid/', '... and says where it is');
like(slurp_file($a->logfile), qr{LOG:  flakeid founded the registry of generator IDs \w+/flakeid/ in etcd}, '... and the log tells');
like(error_of($a, 'SELECT flake_next()'), qr/ERROR:  55000: .*\nDETAIL:  .*$forgotten/, '... while there are no IDs');
wait_for_lease($a, 2);
is($etcd->get('grace'), undef, '... until it is over');
my $b = begin($etcd, 'b');
is(generator_ids($a) . ' ' . join(' ', wait_for_lease($b, 2)), '0 1 2 3', 'then servers lease');
is(slurp_file($_->data_dir . '/flakeid/etcd') =~ s/\n+\z//r, $etcd->cluster_id . '/flakeid/', '... and remember where') for $a, $b;

# the data are gone --------------------------------------------------------------------------------------------------

# The one that is not the first to know has what the other would lease if it knew nothing.
sub lose_data
{
	my ($etcd, $from) = @_;
	$etcd->kill;
	remove_tree($etcd->data_dir);
	PostgreSQL::Test::RecursiveCopy::copypath($from, $etcd->data_dir) if $from;
	$etcd->start;
	return;
}

crowd($a, $b);
my $lease_of_a = lease_of($a)->{lease};
my $lease_of_b = lease_of($b)->{lease};
my $paused     = pause($a);
lose_data($etcd);
my $c = begin($etcd, 'c');
wait_for_another_lease($b, $lease_of_b, 2, 3);
like(slurp_file($b->logfile), qr/WARNING:  flakeid lost its lease of generator IDs 2-3\n.*DETAIL:  etcd has forgotten it\./, '... and its log tells');
wait_for_error($c, $forgotten);
is(generator_ids($c), '', '... and a server that has none leases none of those that etcd does not know of');
go_on($paused);
wait_for_another_lease($a, $lease_of_a, 0, 1);
$c->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);
is(generator_ids($c), '', 'when the grace period is over, those that go on have what they had');
is(other_errors($a, $b), '', '... and sessions saw nothing but the loss');
is($ledger->twice, '', 'no ID came twice');
$c->stop;

# the data are older --------------------------------------------------------------------------------------------------

# What etcd had when one of the two held nothing.
$b->stop;
$etcd->stop;
my $copy = PostgreSQL::Test::Utils::tempdir('etcd_copy') . '/data';
PostgreSQL::Test::RecursiveCopy::copypath($etcd->data_dir, $copy);
$etcd->start;
$b->start;
is(join(' ', wait_for_lease($b, 2)), '2 3', 'a server leases after the copy was made');
# Of what etcd has forgotten, the other can only know what it wrote itself.
my $renewed = lease_of($a)->{renewed_at};
$a->poll_query_until('postgres', "SELECT renewed_at > '$renewed' FROM pg_stat_flakeid_lease") or die 'the lease is not renewed';
crowd($a, $b);
$lease_of_a = lease_of($a)->{lease};
$lease_of_b = lease_of($b)->{lease};
$paused     = pause($b);
my $end_of_log = -s $a->logfile;
lose_data($etcd, $copy);
$a->wait_for_log(qr/WARNING:  flakeid found that etcd has forgotten leases of generator IDs\n/, $end_of_log);
$c->start;
wait_for_error($c, $forgotten);
is(generator_ids($c), '', 'when etcd is set back, nobody leases what it has forgotten');
is(lease_of($a)->{lease}, $lease_of_a, '... whose lease it has not forgotten keeps it');
go_on($paused);
wait_for_another_lease($b, $lease_of_b, 2, 3);
$c->wait_for_log(qr/LOG:  flakeid waits for generator IDs/, -s $c->logfile);
is(generator_ids($c), '', '... and keeps them when the grace period is over');
is(other_errors($a, $b), '', '... and sessions saw nothing but the loss');
is($ledger->twice, '', 'no ID came twice');
$c->stop;

# a snapshot that is restored with a new token ------------------------------------------------------------------------

# With the lease, the claims and the marks, all as they are.
my $restored = Etcd->new('restored', idle => 1);
$restored->restore($etcd);
$restored->start;
my ($here, $there) = map { $_->cluster_id . '/flakeid/' } $etcd, $restored;
isnt($there, $here, 'an etcd that was restored from a snapshot has another cluster ID');
$a->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '" . $restored->endpoints . "'\n");
$a->reload;
wait_for_error($a, qr{etcd's key "flakeid/address" is "\Q$here\E", where this registry is \Q$there\E});
my $at = lease_of($a)->{renewed_at};
$a->poll_query_until('postgres', "SELECT state = 'lost' FROM pg_stat_flakeid_lease") or die 'the lease is not lost';
is(lease_of($a)->{renewed_at}, $at, '... and a lease that it has from the first one is not renewed by it');
$a->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '" . $etcd->endpoints . "'\n");
$a->reload;
is(join(' ', wait_for_lease($a, 2)), '0 1', '... where the server leases again when it is led back');
$restored->stop;

# another etcd --------------------------------------------------------------------------------------------------------

my $other = Etcd->new('other', unfounded => 1);
$other->ctl('put', 'flakeid/address', $other->cluster_id . '/flakeid/');
my ($old, $new) = map { $_->cluster_id . '/flakeid/' } $etcd, $other;
isnt($new, $old, 'two etcds have two addresses');
my $elsewhere = qr{the last lease was of the registry \Q$old\E, and this one is \Q$new\E};

sub move
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '" . $other->endpoints . "'\n");
	$node->reload;
	wait_for_error($node, $elsewhere);
	return;
}

crowd($a, $b);
my $before = lease_of($a)->{renewed_at};
move($a);
is(lease_of($a)->{renewed_at} ge $before && generator_ids($a), '0 1', 'a server that is led to another etcd keeps what it has');
$a->poll_query_until('postgres', "SELECT state = 'lost' FROM pg_stat_flakeid_lease") or die 'the lease is not lost';
like(error_of($a, 'SELECT flake_next()'), qr/ERROR:  55000: .*\nDETAIL:  .*$elsewhere/, '... until its lease is over');
is(join(' ', grep { m{^pool/} } $other->keys), '', '... and leases nothing there');
is(generator_ids($b), '2 3', '... while the other goes on by the first');
$a->restart;
wait_for_error($a, $elsewhere);
pass('... nor when it is started again');
other_errors($a, $b);
move($b);
$b->poll_query_until('postgres', "SELECT state = 'lost' FROM pg_stat_flakeid_lease") or die 'the lease is not lost';
$other->found($old);
wait_for_lease($_, 2) for $a, $b;
like(slurp_file($a->logfile) . slurp_file($b->logfile), qr/DETAIL:  It replaces the one of the last lease\. /, 'when an administrator says that it replaces the first, there is a grace period');
is(join(' ', sort map { generator_ids($_) } $a, $b), '0 1 2 3', '... and then they lease from it');
for my $node ($a, $b)
{
	is(($ledger->ask($node, $_, 1000))[0], '', "... and make $_->{name} IDs") for @LEASED;
}
is($ledger->twice, '', 'no ID came twice');

# another namespace ---------------------------------------------------------------------------------------------------

$b->append_conf('postgresql.conf', "flakeid.etcd_namespace = 'orders/'\n");
$b->reload;
wait_for_error($b, qr{the last lease was of the registry \Q$new\E, and this one is \w+/orders/});
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
	sub { $other->ctl('put', 'flakeid/address', $old) });
$case->('a damaged memory', qr{file "flakeid/etcd" is damaged}, sub { unlink $file; append_to_file($file, "\n" x 256) });
$case->('a memory that is too long', qr{could not read file "flakeid/etcd": it is larger than 256 bytes}, sub { append_to_file($file, 'x') });
$case->('a directory in its place', qr{could not read file "flakeid/etcd": Is a directory}, sub { unlink $file; mkdir $file });
$case->('a link in its place', qr{could not read file "flakeid/etcd": it is a symbolic link}, sub { unlink $file; symlink '/dev/null', $file });
$a->start;
wait_for_lease($a, 2);
pass('... and when it is as it was, there is a lease');
$a->stop;

done_testing();
