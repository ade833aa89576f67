# A server loses its worker, its postmaster, its lease or a claim. It continues by itself with
# another lease or another generator ID. A worker without a postmaster gives back what it holds.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use Server;
use Test::More;

my $etcd = Etcd->new('losses');
my $ledger = Ledger->new('losses');
my $node = $etcd->start_server('node', etcd_lease_ttl => '10s');
my $no_lease = qr/55000: (?:the lease|no generator IDs|all generator IDs)/;
wait_for_lease($node, 2);

# Tests that the server has generator IDs, and that etcd has claims of its lease for them.
sub leases_again {
	my @ids = split / /, wait_for_lease($node, 2);
	my $lease = lease_of($node)->{lease_id};
	my %claims = $etcd->claims;
	wait_for_ids($node);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply([ map { $claims{$_}{lease} } @ids ], [ $lease, $lease ], 'etcd has the new claims');
	generates($ledger, $node, 'the server generates IDs again', "@ids");
	is($ledger->twice, '', 'no ID repeats');
	return;
}

subtest 'the worker is killed' => sub {
	begin_crowd($ledger, $node);
	my $pid = lease_of($node)->{worker_pid};
	kill 'KILL', $pid;
	$ledger->dispersed;
	wait_for_server($node);
	leases_again();
	isnt(lease_of($node)->{worker_pid}, $pid, 'there is another worker');
};

subtest 'the worker is terminated' => sub {
	my $session = session($node);
	my $pid = lease_of($node)->{worker_pid};
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	lease_becomes($node, "worker_pid <> $pid");
	wait_for_ids($session);
	generates($ledger, $session, 'a session continues under the next worker');
	leases_again();
	$session->quit;
};

subtest 'the lease is revoked' => sub {
	begin_crowd($ledger, $node);
	my $end_of_log = -s $node->logfile;
	my ($lease, $losses) = @{ lease_of($node) }{qw(lease_id losses)};
	$etcd->ctl('lease', 'revoke', $lease);
	lease_becomes($node, "losses > $losses AND state = 'held'");
	leases_again();
	my $loss = qr/WARNING:  flakeid lost its lease .*\n(?:.*\n)*.*LOG:  flakeid leased/;
	ok($node->wait_for_log($loss, $end_of_log), 'the log has the loss and the next lease');
	is(join('', grep { !/$no_lease/ } end_crowd($ledger, $node)),
		'', 'sessions had no other error than the loss');
};

subtest 'a claim is deleted, and another server takes it' => sub {
	my ($gone) = split / /, wait_for_lease($node, 2);
	my $heir = $etcd->start_server('heir', generator_ids => 'etcd:1', etcd_pool => "$gone-$gone");
	lease_becomes($heir, "state = 'waiting'");
	begin_crowd($ledger, $node);
	my $lease = lease_of($node)->{lease_id};
	# A renewal finds that the claim is gone. Then the server could claim it again before the other.
	my $renewed = lease_of($node)->{renewed_at};
	lease_becomes($node, "renewed_at > '$renewed'");
	$etcd->del("pool/0:$gone");
	is(wait_for_lease($heir, 1), $gone, 'the other server has the generator ID at once');
	wait_for_ids($heir);
	generates($ledger, $heir, 'it generates IDs with it');
	ok( lease_becomes($node, "cardinality(generator_ids) = 2 AND NOT $gone = ANY (generator_ids)"),
		'the first server gives it up and takes another');
	is(lease_of($node)->{lease_id}, $lease, 'the lease stays');
	leases_again();
	is(join('', end_crowd($ledger, $node)), '', 'no session had an error');
	$heir->stop;
};

subtest 'the postmaster is killed' => sub {
	my $end_of_log = -s $node->logfile;
	my $ids = wait_for_lease($node, 2);
	# The worker that was killed has left claims, up to the end of its lease.
	wait_until('no other claims', sub { $etcd->claimed eq $ids });
	pass('the server has claims');
	$node->kill9;
	$node->wait_for_log(qr/LOG:  flakeid released generator IDs/, $end_of_log);
	is($etcd->claimed, '', 'the worker gives the generator IDs back and ends');
};

done_testing();
