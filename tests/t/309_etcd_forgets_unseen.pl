# An etcd that has forgotten what servers leased, where a server could miss it: an answer is lost while it begins the
# grace period, a copy answers in the middle of a claim, it has only renewed and never listed since, another program
# has written a part of the registry again. In each case nobody leases what another server still holds.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(sleep);

# No lease and no grace period of this test ends by itself.
my $ttl = 600;

my $forgotten = qr/etcd has forgotten leases, so none is granted before they are over/;

sub begin
{
	my ($etcd, $name, %settings) = @_;
	my $node = $etcd->server($name, generator_ids => 'etcd:2', etcd_pool => '0-3', etcd_lease_ttl => "${ttl}s", max_clock_wait => '100ms', %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# Waits until a server has been told this three times, each after another try; or holds something.
sub wait_for_tries
{
	my ($node, $error) = @_;
	wait_for_error($node, $error);
	for (1 .. 3)
	{
		my $at = lease_of($node)->{last_error_at};
		lease_becomes($node, "state = 'held' OR last_error_at > '$at'") or die 'it does not try again';
	}
	return;
}

# Forwards what comes for so many endpoints to an etcd, in a process of its own. `filter` sees each piece, whether it
# goes to etcd, and the connection's state, which is `mute` when nothing is to be forwarded any more.
sub proxies
{
	my ($etcd, $number, $filter) = @_;
	my @holes = map { Etcd->hole } 1 .. $number;
	my $port  = $etcd->{members}[0]{port};
	Etcd::in_process(sub {
		local $SIG{PIPE} = 'IGNORE';
		my %is_listening = map { $_->{socket} => 1 } @holes;
		my $all = IO::Select->new(map { $_->{socket} } @holes);
		my (%other, %state, %is_near);
		while (my @ready = $all->can_read)
		{
			for my $socket (@ready)
			{
				if ($is_listening{$socket})
				{
					my $near = $socket->accept or next;
					my $far = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or next;
					@other{ $near, $far } = ($far, $near);
					$state{$near} = $state{$far} = {};
					$is_near{$near} = 1;
					$all->add($near, $far);
					next;
				}
				my $other = $other{$socket} or next;
				if (!sysread $socket, my $data, 65_536)
				{
					$all->remove($socket, $other);
					delete @other{ $socket, $other };
					$_->close for $socket, $other;
				}
				else
				{
					my $was_mute = $state{$socket}{mute};
					$filter->($data, $is_near{$socket}, $state{$socket});
					# What makes it mute goes through if it is for etcd, and its answer does not.
					syswrite $other, $data if !$was_mute;
				}
			}
		}
	});
	return join ',', map { "http://$_->{endpoint}" } @holes;
}

# the answer to the beginning of a grace period is lost -------------------------------------------------------------------

my $etcd = Etcd->new('forgets_unseen');
my $a    = begin($etcd, 'a');
is(join(' ', wait_for_lease($a, 2)), '0 1', 'a server leases');
my $done;
my $proxies = proxies($etcd, 2, sub {
	my ($data, $to_etcd, $state) = @_;
	# The transaction that writes the key, with the moment that it is there until.
	$done = $state->{mute} = 1 if $to_etcd && !$done && $data =~ /grace.{0,10}\d{4}-\d\d-\d\dT/s;
	return;
});
$etcd->lose_data;
my $b = begin($etcd, 'b', etcd_endpoints => $proxies);
wait_for_tries($b, $forgotten);
is(generator_ids($b), '', 'a grace period goes on after the answer to its beginning was lost, and it was asked for again');
ok(defined $etcd->get('grace'), '... and its key is there');
$_->stop for $a, $b;
# It did not learn of the registry that is there now.
unlink $a->data_dir . '/flakeid/etcd';

# a copy answers in the middle of a claim ------------------------------------------------------------------------------------

$etcd->forget;
$a->start;
wait_for_lease($a, 2);
$a->stop;
my $copy = Etcd->new('copy', idle => 1);
$copy->restore($etcd);
$copy->start;
# The first endpoint answers until it has told what is there.
my $is_listed;
my $first = proxies($etcd, 1, sub {
	my ($data, $to_etcd, $state) = @_;
	$is_listed = 1 if !$to_etcd && $data =~ m{flakeid/address};
	$state->{mute} = 1 if $to_etcd && $is_listed;
	return;
});
$b->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '$first," . $copy->endpoints . "'\n");
my $end_of_log = -s $b->logfile;
$b->start;
$b->wait_for_log(qr/a different etcd cluster answered than before|etcd's key "flakeid\/address" is/, $end_of_log);
is(generator_ids($b), '', 'what is listed in one etcd is not leased from a copy of it');
$b->stop;
$copy->stop;

# who has only renewed knows revisions, too --------------------------------------------------------------------------------------

# A lease that is renewed while the test waits.
my %short = (etcd_lease_ttl => '60s');
$etcd->forget;
my $c = begin($etcd, 'c', %short);
is(join(' ', wait_for_lease($c, 2)), '0 1', 'a server leases');
my $older = $etcd->copy_data;
my $d = begin($etcd, 'd', %short);
is(join(' ', wait_for_lease($d, 2)), '2 3', '... and another one, after a copy was made');
my $renewed = lease_of($c)->{renewed_at};
lease_becomes($c, "renewed_at > '$renewed'") or die 'the lease is not renewed';
$etcd->lose_data($older);
# It wants more before its next renewal: so it lists first.
$c->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:4'\n");
$c->reload;
# Or the other one is first, whose renewal is due.
my $longest = time() + $PostgreSQL::Test::Utils::timeout_default;
sleep 0.1 until defined(eval { $etcd->get('grace') }) || time() > $longest;
lease_becomes($c, 'generator_ids_wanted = 4') or die 'it does not want more';
is(generator_ids($c), '0 1', 'a server that wants more, and has renewed in a revision that etcd has lost, leases nothing that was forgotten');
# After the grace period it would take what the other one has not claimed again by then.
$c->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:2'\n");
$c->reload;
lease_becomes($d, "losses = 1 AND state = 'held'") or die 'nothing is leased again';
is(generator_ids($d), '2 3', '... and its holder keeps it');
$_->stop for $c, $d;

# claims come back that were given up ----------------------------------------------------------------------------------------------------

$etcd->forget;
my $e = begin($etcd, 'e', %short, generator_ids => 'etcd:3');
is(join(' ', wait_for_lease($e, 3)), '0 1 2', 'a server leases three');
my $with_three = $etcd->copy_data;
$e->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:2'\n");
$e->reload;
is(join(' ', wait_for_lease($e, 2)), '0 1', '... and gives one back');
$etcd->lose_data($with_three);
lease_becomes($e, "renewed_at > '" . lease_of($e)->{renewed_at} . "'") or die 'the lease is not renewed';
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
sleep 1 while defined $etcd->get('pool/0:2') && time() < $until;
is($etcd->get('pool/0:2'), undef, '... and again when etcd is restored to when it had it');
is(generator_ids($e), '0 1', '... and keeps the others');
$e->stop;

# the grace period cannot be begun at once ------------------------------------------------------------------------------------------

$etcd->forget;
my $empty = $etcd->copy_data;
my $f = begin($etcd, 'f', generator_ids => 'etcd:4');
is(join(' ', wait_for_lease($f, 4)), '0 1 2 3', 'a server leases all that there is');
# From then on the first answer to what follows a listing is lost.
my $armed = PostgreSQL::Test::Utils::tempdir('armed') . '/armed';
my $is_lost;
my $g = begin($etcd, 'g', etcd_endpoints => proxies($etcd, 1, sub {
	my ($data, $to_etcd, $state) = @_;
	return if $is_lost || !-e $armed;
	$state->{is_listed} = 1 if !$to_etcd && $data =~ m{flakeid/address};
	return unless $to_etcd && $state->{is_listed};
	$is_lost = $state->{mute} = 1;
	append_to_file("$armed.lost", '');
	return;
}));
lease_becomes($g, "state = 'waiting'") or die 'it does not wait';
$etcd->kill;
append_to_file($armed, '');
$etcd->lose_data($empty);
lease_becomes($g, "state = 'held' OR last_error ~ 'etcd has forgotten leases'") or die 'it does not notice the loss';
is(generator_ids($g), '', 'a server that has seen a later revision, and cannot begin the grace period at once, leases nothing before it');
# The server may say so before its next request has reached the proxy.
$until = time() + $PostgreSQL::Test::Utils::timeout_default;
select undef, undef, undef, 0.1 until -e "$armed.lost" || time() > $until;
ok(-e "$armed.lost", '... as it could not');
$_->stop for $f, $g;

# the epoch is there and the address is not ------------------------------------------------------------------------------------------

$etcd->del;
$etcd->put('epoch', '2010-01-01T00:00:00Z');
$etcd->put('cluster-id', '0');
$a->start;
wait_for_tries($a, $forgotten);
is(generator_ids($a), '', 'a registry without an address is one of an earlier version, but not to a server that knew its address');
$a->stop;
my $new = begin($etcd, 'new');
wait_for_error($new, $forgotten);
is(generator_ids($new), '', '... nor to others then');
$new->stop;

done_testing();
