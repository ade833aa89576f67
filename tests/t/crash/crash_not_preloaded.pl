# Without shared_preload_libraries backends and the postmaster are killed and stopped while sessions
# in two databases ask for IDs: no ID repeats. The last session that leaves makes the horizon exact.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('segment');
plan skip_all => 'this version needs preloading' if $node->pg_version < 17;
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on\nlog_statement = none\n");
my $ledger = Ledger->new('segment');
my $postmaster = Postmaster->start($node);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION flakeid') for 'postgres', 'other';

my $number = 0;
my @events =
  ('kill a backend', 'stop immediate', 'kill the postmaster', 'stop fast', 'kill a backend');
for my $event (@events) {
	$number++;
	my $after = "after event $number, \"$event\",";
	$ledger->crowd($node, databases => ['postgres'], ways => [ 'single', 'batch' ]);
	$ledger->crowd($node, databases => ['other'], ways => [ 'single', 'stream' ]);
	$ledger->wait_until_given(0.3);
		$event eq 'kill a backend' ? $ledger->kill_one($node, 'client backend')
	  : $event =~ /stop (\w+)/     ? $postmaster->stop($1)
	  :                              $postmaster->kill9;
	$ledger->crowd_ends("$after the sessions have ended with the server");
	$event eq 'kill a backend'
	  ? wait_for_server($node)
	  : ($postmaster = Postmaster->start($node));
	$ledger->all_generate($node, "$after all ID types generate IDs");
	is($ledger->twice, '', "$after no ID repeats");
}

# Nothing tells the postmaster to make the horizon exact.
$ledger->use_all($node);
my $now = time();
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
  or die 'sessions stay';
cmp_ok(
	until_of(state_of($node)),
	'<',
	$now * 1_000_000_000,
	'the last session that leaves makes the horizon exact');
$postmaster->kill9;
$postmaster = Postmaster->start($node);
$ledger->use_all($node);
is($ledger->twice, '', 'no ID repeats when the server is killed after the last session');
$postmaster->stop;
done_testing();
