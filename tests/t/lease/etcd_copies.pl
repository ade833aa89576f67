# A server that leases its generator IDs has a standby, a subscriber of pg_createsubscriber, or a
# backup. A lease is in memory alone: each copy claims generator IDs of its own, and a standby none
# until it is promoted.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use Postmaster;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $etcd = Etcd->new('copies');
my $ledger = Ledger->new('copies', of_several_servers => 1);

my $original = PostgreSQL::Test::Cluster->new('original');
$original->init(allows_streaming => 'logical');
my %own = (guid_node => 1, interface => '02:00:00:00:00:01');
$original->append_conf('postgresql.conf',
	$etcd->configuration(generator_ids => 'etcd:4', max_clock_wait => '100ms', %own)
	  . "\nmax_connections = 40\n");
$original->start;
create_tables($original);
my $own = wait_for_lease($original, 4);

# Tests that the original and its copy hold different generator IDs, and generate IDs with them.
sub are_apart {
	my ($copy) = @_;
	my %port_of;
	for my $node ($original, $copy) {
		$port_of{$_} = $node->port for split / /, wait_for_lease($node, 4);
	}
	my %claims = $etcd->claims;
	is_deeply({ map { $_ => $claims{$_}{port} } keys %claims },
		\%port_of, 'each has four claims, which have its port');
	is(scalar(keys %{ { map { $_->{server} => 1 } values %claims } }),
		1, 'all claims have one system identifier');
	generates($ledger, $_, $_->name . ' generates IDs') for $original, $copy, $original;
	is($ledger->twice, '', 'no ID repeats');
	return;
}

subtest 'a standby' => sub {
	$original->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($original, 'base', has_streaming => 1);
	$standby->start;
	generates($ledger, $original, 'the primary generates IDs');
	$original->wait_for_catchup($standby);
	my $session = session($standby);
	refuses($session, qr/ERROR:  25006: /, 'a standby refuses IDs');
	my $worker = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'";
	is($standby->safe_psql('postgres', $worker), '0', 'it has no worker');
	is($etcd->claimed, $own, 'it claims nothing');
	is( memory_of($standby)->{registry_id},
		$etcd->get('registry-id'),
		'it has the memory of the registry that its primary leases from');
	$standby->promote;
	wait_for_ids($session);
	pass('when it is promoted, the session has IDs');
	are_apart($standby);
	$session->quit;
	$standby->stop;
};

subtest 'a subscriber that pg_createsubscriber makes of a standby' => sub {
	plan(skip_all => 'this version has no pg_createsubscriber') if $original->pg_version < 17;
	# If etcd is slow, the claims of the standby stay until its lease ends.
	wait_until('the standby has no claims', sub { $etcd->claimed eq $own });
	$ledger->use_all($original);
	my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
	$subscriber->init_from_backup($original, 'base', has_streaming => 1);
	$subscriber->start;
	$original->wait_for_catchup($subscriber);
	$subscriber->stop;
	set($subscriber, guid_node => 2, interface => '02:00:00:00:00:02');
	my @to = ('-p', $subscriber->port, '-s', $subscriber->host);
	my @from = ('-d', 'postgres', '-P', $original->connstr('postgres'));
	$subscriber->command_ok([ 'pg_createsubscriber', '-D', $subscriber->data_dir, @from, @to ],
		'pg_createsubscriber succeeds');
	is($etcd->claimed, $own, 'while it ran, it claimed no generator IDs');
	$subscriber->start;
	my $others = wait_for_lease($subscriber, 4);
	my %is_own = map { $_ => 1 } split / /, $own;
	is((grep { $is_own{$_} } split / /, $others),
		0, 'the subscriber leases other generator IDs than the publisher');
	my %servers = map { $_->{server} => 1 } values %{ { $etcd->claims } };
	is(scalar keys %servers, 2, 'the claims have two system identifiers');
	like(
		error_of($subscriber, 'SELECT flake_next()'),
		qr/ERROR:  55000: state file "flakeid\/state" is from a different cluster\n/,
		'before the clock is accepted, it generates no IDs');
	$subscriber->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
	$ledger->crowd($_) for $original, $subscriber;
	$subscriber->poll_query_until('postgres', 'SELECT sum(ids) > 10000 FROM pg_stat_flakeid')
	  or die 'the subscriber generates no IDs';
	$_->stop('immediate') for $original, $subscriber;
	$ledger->crowd_ends('publisher and subscriber generate IDs at the same time');
	is($ledger->twice, '', 'no ID repeats');
	$original->start;
};

subtest 'a backup that is restored after the original is lost' => sub {
	# There is no other generator ID.
	$original->stop;
	set($original, generator_ids => 'etcd:1', etcd_pool => '100-100', etcd_lease_ttl => '10s');
	my $postmaster = Postmaster->start($original);
	wait_for_lease($original, 1);
	wait_for_ids($original);
	$original->backup('late');
	begin_crowd($ledger, $original);
	$postmaster->kill9;
	$ledger->dispersed;
	my $high_water_mark = { $etcd->high_water_marks }->{100};
	my $restored = PostgreSQL::Test::Cluster->new('restored');
	$restored->init_from_backup($original, 'late');
	$restored->start;
	is(wait_for_lease($restored, 1), '100', 'it leases the generator ID of the original');
	wait_for_ids($restored);
	my $given = generates($ledger, $restored, 'it generates IDs with it');
	cmp_ok((span_of($restored, $given))[0],
		'>', $high_water_mark, 'these begin after the high-water mark');
	is($ledger->twice, '', 'no ID repeats that the original generated after the backup');
	$restored->stop;
};

done_testing();
