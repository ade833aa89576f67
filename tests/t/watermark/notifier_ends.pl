# The notifier ends when it is told to, also while its transaction waits for a synchronous standby.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('synchronous');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.notify_databases = 'postgres'
synchronous_standby_names = 'nobody'
END
$node->start;
$node->safe_psql('postgres',
	'SET synchronous_commit = local; CREATE EXTENSION flakeid; CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next()); INSERT INTO outbox DEFAULT VALUES'
);
my $listener = session($node);
$listener->query_safe("SET synchronous_commit = local");
$listener->query_safe('LISTEN flakeid');
$node->safe_psql('postgres', 'SET synchronous_commit = local; INSERT INTO outbox DEFAULT VALUES');
ok( $node->poll_query_until(
		'postgres',
		q(SELECT wait_event IS DISTINCT FROM 'SyncRep' FROM pg_stat_activity WHERE backend_type = 'flakeid notifier')
	),
	'the notifier does not wait for a synchronous standby');
my $pid = $node->safe_psql('postgres',
	q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid notifier'));
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok( $node->poll_query_until(
		'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
	'it ends when it is terminated');
$listener->quit;
# This fails if the server does not stop within the timeout.
ok($node->stop('fast', fail_ok => 1), 'the server stops');
$node->stop('immediate') if $node->{_pid};

done_testing;
