# Generator IDs on lease where a server has a copy: a standby leases none until it is promoted, a copy of the data
# directory leases others than the original, and what is restored from a backup begins above all that was made.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd   = Etcd->new('copies');
my $ledger = Ledger->new('copies');

my $original = PostgreSQL::Test::Cluster->new('original');
$original->init(allows_streaming => 1);
$original->append_conf('postgresql.conf', $etcd->configuration(generator_ids => 'etcd:4', max_clock_wait => '100ms'));
$original->start;
create_tables($original);
my @own = wait_for_lease($original, 4);

sub make
{
	my ($node) = @_;
	for my $id_type (@LEASED)
	{
		my ($error) = $ledger->ask($node, $id_type, 1000);
		die $node->name . ": no $id_type->{name} IDs: $error" if $error ne '';
	}
	return;
}

# Tests that these servers hold generator IDs of their own, and makes IDs on all of them.
sub are_apart
{
	my ($test, @nodes) = @_;
	my (%of, %claims);
	for my $node (@nodes)
	{
		push @{ $of{$_} }, $node->name for wait_for_lease($node, 4);
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(scalar(keys %of), 4 * @nodes, $test) or diag(join "\n", map { "$_: @{ $of{$_} }" } sort keys %of);
	%claims = $etcd->claims;
	my ($identifier) = $original->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()');
	is((grep { $claims{$_}{server} ne $identifier } keys %of), 0, '... though they have one system identifier');
	my %ports = map { $claims{$_}{port} => 1 } keys %of;
	is(scalar(keys %ports), scalar @nodes, '... and the claims tell them apart');
	for (1 .. 3)
	{
		make($_) for @nodes;
	}
	is($ledger->twice, '', '... no ID repeats');
	return;
}

# a standby ----------------------------------------------------------------------------------------------------

$original->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($original, 'base', has_streaming => 1);
$standby->start;
make($original);
$original->wait_for_catchup($standby);
my $session = session($standby);
like(error_in($session, "SELECT $_->{next}"), qr/ERROR:  25006: /, "a standby makes no $_->{name} IDs") for @ID_TYPES;
is(
	$standby->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'"), '0',
	'... it has no worker');
my %claims = $etcd->claims;
is(join(' ', sort { $a <=> $b } keys %claims), "@own", '... and claims nothing');

$standby->promote;
wait_for_flow($session);
pass('when it is promoted it leases some, and makes IDs in the session that stays');
are_apart('... others than the server that it was promoted beside', $original, $standby);
$session->quit;
$standby->stop;

# a copy ---------------------------------------------------------------------------------------------------------

# Each is a primary with a port of its own.
my @copies;
$original->stop;
$original->backup_fs_cold('cold');
$original->start;
for my $backup ('cold', 'base')
{
	my $copy = PostgreSQL::Test::Cluster->new("copy_$backup");
	$copy->init_from_backup($original, $backup);
	$copy->start;
	push @copies, $copy;
}
are_apart('copies of a data directory lease generator IDs of their own', $original, @copies);
$_->stop for @copies;

# A copy of a server that is running, with all that it knew.
$session = session($original);
wait_for_flow($session);
$original->backup('running');
my $twin = PostgreSQL::Test::Cluster->new('twin');
$twin->init_from_backup($original, 'running');
$twin->start;
are_apart('... so does one of a server that runs', $original, $twin);
wait_for_flow($session);
is(join(' ', wait_for_lease($original, 4)), join(' ', @{ lease_of($original)->{generator_ids} }), '... which keeps its own');
$session->quit;
$twin->stop;
$original->stop;

# a backup, restored when the original is gone -----------------------------------------------------------------------

# There are no other generator IDs than those it had.
$original->append_conf('postgresql.conf', "flakeid.etcd_pool = '100-103'");
my $postmaster = Postmaster->start($original);
wait_for_lease($original, 4);
make($original);
$original->backup('late');
$ledger->crowd($original, id_types => \@LEASED, ways => ['batch']);
$ledger->wait_until_given(1);
$postmaster->kill9;
my @sessions = $ledger->dispersed;
my %high_water_marks = $etcd->high_water_marks;
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($original, 'late');
$restored->start;
is(join(' ', wait_for_lease($restored, 4)), '100 101 102 103', 'a restored backup leases the generator IDs of the original, when that is gone');
wait_for_flow($restored);
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($restored, $id_type, 1000);
	is($error, '', "... makes $id_type->{name} IDs");
	my ($least) = sort { $a <=> $b } @high_water_marks{ generators_of($restored, $id_type, @ids) };
	cmp_ok((times_of($restored, $id_type, @ids))[0] + $id_type->{tick}, '>', $least, '... above the high-water marks');
}
is($ledger->twice, '', '... and none that the original made after the backup');
$restored->stop;

done_testing();
