# Generator IDs on lease where the library is not preloaded, from PostgreSQL 17 on: the first session that wants
# an ID has the server start the worker.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd = Etcd->new('no_preload');
my $node = $etcd->server('leases_late', max_clock_wait => '10min');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', q{''});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
if ($node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000") < 17)
{
	$node->stop;
	plan(skip_all => 'up to PostgreSQL 16 there are no IDs then');
}

my $workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'";
my $ledger  = Ledger->new('no_preload');

is($node->safe_psql('postgres', "$workers; SELECT count(*) FROM pg_stat_flakeid_lease"), "0\n0",
	'as long as no session wants an ID there is no worker');
is_deeply([ $etcd->keys ], ['address'], '... and nothing in etcd but the address that the test has put there');

# All at once: one of them has it started.
$ledger->crowd($node, id_types => \@LEASED, ways => [ 'single', 'batch' ]);
$ledger->wait_until_given(0);
is($node->safe_psql('postgres', $workers), '1', 'the first session that wants a lease has it started, once');
is(scalar(my @held = wait_for_lease($node, 8)), 8, '... and it leases what is wanted');
my @first = map { ($ledger->ask($node, $_, 100))[1] } @LEASED;

# A worker that ends by an error finds what it held.
my $lease = lease_of($node)->{lease_id};
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(worker_pid) FROM pg_stat_flakeid_lease');
my $renewed = lease_of($node)->{renewed_at};
lease_becomes($node, "renewed_at > '$renewed'") or die 'it is not renewed';
is(lease_of($node)->{lease_id}, $lease, 'a worker that an error has ended goes on with the lease');
is(lease_of($node)->{losses}, 0, '... of which nothing was lost');

reload_with($node, generator_ids => '40-47');
wait_for_flow($node);
$node->poll_query_until('postgres', $workers, '0') or die 'the worker is still there';
is_deeply({ $etcd->claims }, {}, 'with generator IDs in its settings the server gives the lease back');
reload_with($node, generator_ids => 'etcd:4');
wait_for_flow($node);
is(scalar(wait_for_lease($node, 4)), 4, '... and leases again when it is to');

$node->stop;
$_->{error} !~ /ERROR/ or fail("a session: $_->{error}") for $ledger->dispersed;
is_deeply({ $etcd->claims }, {}, 'a stop gives it back');
$node->start;
$ledger->ask($node, $_, 1000) for @LEASED;
is($ledger->twice, '', 'no ID repeats');

$node->stop;
done_testing();
