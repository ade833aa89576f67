# pg_createsubscriber makes a subscriber of a standby whose primary leases its generator IDs. The
# subscriber leases others from the same registry, although it has a new system identifier.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
if ($publisher->pg_version < 17) {
	plan skip_all => 'PostgreSQL ' . $publisher->pg_version . ' has no pg_createsubscriber';
}
my $etcd = Etcd->new('createsubscriber');
my $ledger = Ledger->new('createsubscriber', of_several_servers => 1);
$publisher->append_conf(
	'postgresql.conf',
	$etcd->configuration(
		generator_ids => 'etcd:4',
		guid_node => 1,
		interface => '02:00:00:00:00:01'));
$publisher->append_conf('postgresql.conf', "max_connections = 40\n");
$publisher->start;
create_tables($publisher);
my $own = wait_for_lease($publisher, 4);
$ledger->use_all($publisher);
$publisher->backup('base');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init_from_backup($publisher, 'base', has_streaming => 1);
$subscriber->start;
$publisher->wait_for_catchup($subscriber);
$subscriber->stop;
$subscriber->append_conf('postgresql.conf',
	"flakeid.guid_node = '2'\nflakeid.interface = '02:00:00:00:00:02'\n");
$subscriber->command_ok(
	[
		'pg_createsubscriber', '-D', $subscriber->data_dir, '-d',
		'postgres', '-P', $publisher->connstr('postgres'), '-p',
		$subscriber->port, '-s', $subscriber->host
	],
	'pg_createsubscriber makes a subscriber of a standby');
is($etcd->claimed, $own, 'while it ran, it claimed no generator IDs');
$subscriber->start;
my $others = wait_for_lease($subscriber, 4);
my %own = map { $_ => 1 } split / /, $own;
is(join(' ', grep { $own{$_} } split / /, $others),
	'', 'the subscriber leases other generator IDs than the publisher');
my %servers = map { $_->{server} => 1 } values %{ { $etcd->claims } };
is(scalar keys %servers, 2, 'the claims have two system identifiers');
like(
	error_of($subscriber, 'SELECT flake_next()'),
	qr/ERROR:  55000: state file "flakeid\/state" is from a different cluster\n/,
	'before the clock is accepted, it generates no IDs');
$subscriber->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
$ledger->crowd($_) for $publisher, $subscriber;
$subscriber->poll_query_until('postgres', 'SELECT sum(ids) > 10000 FROM pg_stat_flakeid')
  or die 'the subscriber generates no IDs';
$_->stop('immediate') for $publisher, $subscriber;
$ledger->crowd_ends('publisher and subscriber generate IDs at the same time');
is($ledger->twice, '', 'no ID repeats');

done_testing();
