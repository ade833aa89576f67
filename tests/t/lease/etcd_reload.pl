# Settings change at a reload: the number of leased generator IDs, the pool, and fixed generator IDs
# instead. Sessions continue, and etcd has what the server holds.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd = Etcd->new('reload');
my $ledger = Ledger->new('reload');
my $node = $etcd->start_server('node', max_clock_wait => '30s');
my $worker = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'";
wait_for_lease($node, 2);
my $session = session($node);
generates($ledger, $session, 'a session generates IDs');

# Waits until the server holds this number and etcd has the claims; tests that the session uses
# them.
sub leases {
	my ($number, $test) = @_;
	my $ids = wait_for_lease($node, $number);
	# Claims are deleted some time after a reload.
	wait_until("claims of $ids", sub { $etcd->claimed eq $ids });
	wait_for_ids($session);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	generates($ledger, $session, $test, $ids);
	return $ids;
}

# Returns the number of connections of the server to etcd, as /proc shows them.
sub connections {
	my ($port) = $etcd->endpoints =~ /(\d+)\z/;
	my %to_etcd = map { (split)[9] => 1 }
	  grep { (split)[2] =~ /:(\w+)\z/ && hex $1 == $port } split /\n/, slurp_file('/proc/net/tcp');
	my @links = map { readlink($_) // '' } map { glob "/proc/$_/fd/*" } processes_of($node);
	return scalar grep { /\Asocket:\[(\d+)\]\z/ && $to_etcd{$1} } @links;
}

reload_with($node, generator_ids => 'etcd:4');
my $four = leases(4, 'with a greater number the session uses all of them');
reload_with($node, generator_ids => 'etcd:2');
like(
	$four,
	qr/@{[ leases(2, 'with a smaller one it uses those that stay') =~ s! !.*!r ]}/,
	'these were held before');
reload_with($node, etcd_pool => '100-199');
lease_becomes($node, "state = 'held' AND 100 <= ALL (generator_ids)");
leases(2, 'with another pool the session uses what is leased from it');

subtest 'fixed generator IDs, which overlap with those that were leased' => sub {
	cmp_ok(connections(), '>', 0, 'before, the worker is connected to etcd');
	reload_with($node, generator_ids => '99-101');
	wait_for_ids($session);
	generates($ledger, $session, 'the session uses the fixed ones', '99 100 101');
	wait_until('no claims', sub { $etcd->claimed eq '' });
	$node->poll_query_until('postgres', $worker, '0') or die 'the worker is still there';
	is_deeply(lease_of($node), {}, 'the view has no row');
	is(connections(), 0, 'the server has no connection to etcd');
	reload_with($node, generator_ids => 'etcd:2');
	wait_for_ids($session);
	leases(2, 'the session uses leased ones again');
};

$session->quit;

subtest 'the server has no place for the worker' => sub {
	reload_with($node, generator_ids => '0-7');
	$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
	$node->restart;
	reload_with($node, generator_ids => 'etcd:2');
	my $error = qr/55000: could not start the worker that leases generator IDs from etcd\n/;
	refuses(
		$node,
		qr/$error(?s:.*)HINT:  .*"max_worker_processes"/,
		'sessions get an error that names the setting');
	$node->append_conf('postgresql.conf', "max_worker_processes = 8\n");
	$node->restart;
	ok(wait_for_lease($node, 2), 'with a place the server leases before a session asks');
	$node->stop;
};

subtest 'the library is not preloaded' => sub {
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', q{''});
	$node->start;
	plan(skip_all => 'up to PostgreSQL 16 there are no IDs then')
	  if $node->safe_psql('postgres', 'SHOW server_version_num') < 170_000;
	is($node->safe_psql('postgres', $worker),
		'0', 'while no session wants an ID there is no worker');
	is($etcd->claimed, '', 'nothing is claimed');
	begin_crowd($ledger, $node);
	is($node->safe_psql('postgres', $worker), '1', 'sessions that begin at once start one worker');
	wait_for_lease($node, 2);
	my $lease = lease_of($node);
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($lease->{worker_pid})");
	lease_becomes($node, "renewed_at > '$lease->{renewed_at}'");
	is( join(' ', @{ lease_of($node) }{qw(lease_id losses)}),
		"$lease->{lease_id} 0",
		'a worker that ends by an error continues with its lease');
	reload_with($node, generator_ids => '40-47');
	wait_for_ids($node);
	$node->poll_query_until('postgres', $worker, '0') or die 'the worker is still there';
	reload_with($node, generator_ids => 'etcd:2');
	wait_for_ids($node);
	is(join('', end_crowd($ledger, $node)), '', 'no session had an error at a reload');
	$node->stop;
	is($etcd->claimed, '', 'a stop gives the lease back');

	$node->start;
	wait_for_ids($node);
	generates($ledger, $node, 'after a start the server leases again');
	$node->stop;
};
is($ledger->twice, '', 'no ID repeats');

done_testing();
