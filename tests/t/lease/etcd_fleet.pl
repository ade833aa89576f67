# Servers share a pool of generator IDs in an etcd of three members. They continue while its leader
# changes, a member is killed and a server restarts. A server for which none is left waits.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $etcd = Etcd->new('fleet', members => 3);
my $ledger = Ledger->new('fleet');

# All servers wait for etcd, and so claim at the same moment.
$etcd->pause;
my @nodes = map { $etcd->start_server("server$_", etcd_pool => '600-605') } 1 .. 3;
$etcd->continue;

# Returns the generator IDs of all servers.
sub held {
	return join ' ', sort map { split / /, wait_for_lease($_, 2) } @nodes;
}

# Tests that every server renews its lease from now on, and generates IDs.
sub all_continue {
	my ($test) = @_;
	my $renews = 'renewed_at > to_timestamp(' . time() . ')';
	lease_becomes($_, $renews) for @nodes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join('', map { generate($ledger, $_)->{error} } @nodes), '', "all continue $test");
	return;
}

is(held(), '600 601 602 603 604 605', 'servers that claim at once have generator IDs of their own');
begin_crowd($ledger, @nodes);
my $old = $etcd->leader;
$etcd->pause($old);
my $leader = $etcd->leader;
isnt($leader, $old, 'another member leads while the leader does not answer');
all_continue('under the new leader');
$etcd->continue($old);
all_continue('when the old leader answers again');
$etcd->kill($leader);
isnt($etcd->leader, $leader, 'another member leads when the leader is killed');
all_continue('by the two members that remain');
is(join('', end_crowd($ledger, @nodes)), '', 'no session had an error');
$nodes[0]->restart;
is(held(), '600 601 602 603 604 605', 'a server that restarts has generator IDs of its own again');
$etcd->start($leader);
all_continue('when the member is back');
is(join(' ', map { lease_of($_)->{losses} } @nodes[ 1, 2 ]), '0 0', 'no server has lost its lease');
my %claims = $etcd->claims;
my %port_of = map {
	my $port = $_->port;
	map { $_ => $port } split / /, generator_ids($_)
} @nodes;
is_deeply({ map { $_ => $claims{$_}{port} } keys %claims },
	\%port_of, 'the claims in etcd name the servers that hold them');
is($ledger->twice, '', 'no ID repeats');

subtest 'no generator ID is left' => sub {
	my $waiting = $etcd->start_server('waiting', etcd_pool => '600-605');
	$waiting->wait_for_log(qr/LOG:  flakeid waits for generator IDs: all in the pool are leased/);
	ok( lease_becomes($waiting, "state = 'waiting'"),
		'the log and the view have that a server waits');
	my $session = session($waiting);
	refuses(
		$session,
		qr/ERROR:  55000: all generator IDs of the pool in etcd are leased by other servers\n/,
		'its sessions get an error');
	like(
		error_in($session, 'SELECT flake_next()'),
		qr/HINT:  .*"flakeid\.etcd_pool"/,
		'the hint names the setting');
	others_generate($session, 'the other ID types need no lease');
	my $ids = generator_ids($nodes[0]);
	my $last = generate($ledger, $nodes[0]);
	$nodes[0]->stop;
	is(wait_for_lease($waiting, 2), $ids, 'it leases those of a server that stops');
	my $next = generates($ledger, $session, 'the session that waited has IDs', $ids);
	cmp_ok(
		(span_of($waiting, $next))[0],
		'>',
		(span_of($waiting, $last))[1],
		'these begin after the last ones of the other server');

	$session->quit;
	is($ledger->twice, '', 'no ID repeats');
	$waiting->stop;
};

subtest 'two members of three do not answer for longer than the lease' => sub {
	my $node = $nodes[1];
	my $old = lease_of($node)->{lease_id};
	reload_with($node, etcd_lease_ttl => '10s');
	lease_becomes($node,
		"state = 'held' AND lease_id <> '$old' AND cardinality(generator_ids) = 2");
	wait_for_ids($node);
	begin_crowd($ledger, $node);
	$etcd->pause(0, 1);
	my $lost = qr/ERROR:  55000: the lease of this server's generator IDs was lost .* ago/;
	is((grep { $_->{error} !~ $lost } $ledger->dispersed), 0, 'its sessions end with the lease');
	reload_with($node, etcd_lease_ttl => '30s');
	$etcd->continue(0, 1);
	wait_for_ids($node);
	generates($ledger, $node, 'it generates IDs again when they answer');
	is($ledger->twice, '', 'no ID repeats');
};
$_->stop for @nodes;

done_testing();
