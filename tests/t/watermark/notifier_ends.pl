# The notifier ends when it is terminated. It does not wait for a synchronous standby.
use strict;
use warnings;
use lib 'tests/perl';

use Notifications qw(is_announced);
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('synchronous');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<~'END');
	shared_preload_libraries = 'flakeid'
	flakeid.notify_databases = 'postgres'
	synchronous_standby_names = 'away'
	END
$node->start;
my $session = session($node);
$session->query_safe(<<~'SQL');
	SET synchronous_commit = local;
	CREATE EXTENSION flakeid;
	CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next());
	INSERT INTO outbox DEFAULT VALUES;
	LISTEN flakeid;
	INSERT INTO outbox DEFAULT VALUES
	SQL
# A notification comes when the notifier's commit has waited for all that it waits for.
is_announced($node, $session, undef, 'the notifier does not wait for a synchronous standby');
my $pid = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid notifier'");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok( $node->poll_query_until(
		'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
	'the notifier ends when it is terminated');
$session->quit;
# This fails if the server does not stop within the timeout.
ok($node->stop('fast', fail_ok => 1), 'the server stops beside a notifier');
$node->stop('immediate') if $node->{_pid};

done_testing;
