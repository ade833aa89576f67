# The reasons why a server leases nothing, or not all that it wants: the log has each once, for as long as it applies, and
# the view has the last one.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd = Etcd->new('once');

# Waits until a server has renewed its lease twice.
sub wait_for_two_renewals
{
	my ($node) = @_;
	for (1 .. 2)
	{
		my $renewed = lease_of($node)->{renewed_at};
		lease_becomes($node, "renewed_at > '$renewed'") or die 'the lease is not renewed';
	}
	return;
}

# Returns how many lines of a server's log say this.
sub lines_of
{
	my ($node, $what) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /$what/g);
}

# a claim beside a lease ------------------------------------------------------------------------------------------------

my $node = $etcd->brief_server('beside', etcd_pool => '0-7');
wait_for_lease($node, 2);
$etcd->put('cluster-id', 'x');
reload_with($node, generator_ids => 'etcd:4');
my $reason = qr/etcd key "flakeid\/cluster-id" has "x", which is not a number from 0 to 15/;
wait_for_error($node, $reason);
wait_for_two_renewals($node);
is(lines_of($node, qr/LOG:  flakeid cannot lease generator IDs: $reason/), 1,
	'a reason why a server claims no more generator IDs is logged once, though it renews its lease');
$etcd->put('cluster-id', '0');
wait_for_lease($node, 4);
$etcd->put('cluster-id', 'x');
reload_with($node, generator_ids => 'etcd:6');
$node->wait_for_log(qr/flakeid cannot lease generator IDs: $reason(?s:.*)flakeid cannot lease generator IDs: $reason/);
pass('a reason that ended and is back is logged again');
$etcd->put('cluster-id', '0');
wait_for_lease($node, 6);
$node->stop;

# a broken high-water mark ----------------------------------------------------------------------------------------------

$etcd->put('until/0', 'x');
$node->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:2'\n");
$node->start;
$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.generator_ids; SELECT pg_reload_conf()');
my @ids = wait_for_lease($node, 2);
is("@ids", '1 2', 'a server does not lease a generator ID with a broken high-water mark');
my $broken = qr/etcd key "flakeid\/until\/0" has "x", which is not a time/;
my $at = lease_of($node)->{last_error_at};
like(lease_of($node)->{last_error}, $broken, 'the view names the key');
wait_for_two_renewals($node);
is(lease_of($node)->{last_error_at}, $at, 'a renewal does not find the broken high-water mark again');
$etcd->put('until/0', '2020-01-01T00:00:00Z');
my $repaired = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
reload_with($node, generator_ids => 'etcd:3');
is(join(' ', wait_for_lease($node, 3)), '0 1 2', 'a server leases the generator ID when its high-water mark is a time');
is($node->safe_psql('postgres', "SELECT last_error_at < '$repaired' FROM pg_stat_flakeid_lease"), 't',
	'a high-water mark that was corrected is no error any more');
is(lines_of($node, qr/LOG:  flakeid does not lease generator ID 0: $broken/), 1, 'the log has the broken high-water mark once');
$node->stop;

# a grace period of another program ---------------------------------------------------------------------------------------

$etcd->put('grace', "\e[2J\n" . 'x' x 900);
$node->start;
my $error = wait_for_error($node, qr/etcd has forgotten leases, so none is granted before they are over, about /);
like($error, qr/about \\x1b\[2J\\nx+\.\.\.\z/, 'the value of a grace period is cut, and has no control characters, where people read it');
$etcd->del('grace');
wait_for_lease($node, 3);
$node->stop;

done_testing();
