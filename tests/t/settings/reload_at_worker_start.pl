# A reload reaches a worker that is just starting, and that ignores SIGHUP at this moment.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use HeldChildren;
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# Ends this worker, and reloads these settings while the server starts it again.
sub reload_at_start {
	my ($children, $session, $type, %settings) = @_;
	my $node = $children->{node};
	my $pid = $session->query_safe("SELECT pid FROM pg_stat_activity WHERE backend_type = '$type'");
	append_to_file($node->data_dir . '/postgresql.conf',
		join '', map { "flakeid.$_ = '$settings{$_}'\n" } sort keys %settings);
	$children->hold;
	$session->query_safe("SELECT pg_terminate_backend($pid)");
	my $held = $children->wait_until_held;
	$children->reload($held);
	$children->release;
	return;
}

my $notifiers = "FROM pg_stat_activity WHERE backend_type = 'flakeid notifier'";

# Starts a server with a notifier, and reloads other databases while this worker starts. Tests the
# databases that have a notifier then.
sub tests_notifiers {
	my ($name, $worker, $databases, $wanted, $test) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = 'flakeid'
		flakeid.notify_databases = 'postgres'
		autovacuum = off
		END
	my $children = HeldChildren->start($node);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 $notifiers") or die 'no notifier';
	reload_at_start($children, session($node), $worker, notify_databases => $databases);
	my $have = "SELECT string_agg(datname, ' ' ORDER BY datname) = '$wanted' $notifiers";
	ok($node->poll_query_until('postgres', $have), $test);
	$node->stop;
	return;
}

tests_notifiers(
	'publisher',
	'flakeid watermark',
	'postgres, template1',
	'postgres template1',
	'the publisher starts the notifier that a reload at its start added');
tests_notifiers('notifier', 'flakeid notifier',
	'template1', 'template1', 'a notifier ends if a reload at its start removed its database');

subtest 'the worker of leases has the settings of a reload at its start' => sub {
	my $etcd = Etcd->new('leases');
	my $node = $etcd->server('leases', generator_ids => 'etcd:2', etcd_pool => '0-7');
	$node->append_conf('postgresql.conf', 'autovacuum = off');
	my $children = HeldChildren->start($node);
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	wait_for_lease($node, 2);
	my $session = session($node);
	reload_at_start($children, $session, 'flakeid etcd', generator_ids => 'etcd:3');
	is(wait_for_lease($node, 3), '0 1 2', 'it claims as many generator IDs as the reload says');
	$node->stop;
};

done_testing();
