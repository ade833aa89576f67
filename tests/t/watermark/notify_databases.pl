# The setting flakeid.notify_databases: each database that it names has a notifier, which a reload
# adds and removes. The workers are replaced when they are terminated, and start again after a crash
# and a restart. They do not wait for a synchronous standby.
use strict;
use warnings;
use lib 'tests/perl';

use Notifications;
use Server;
use Test::More;

my $node = start_notifier();
my $listener = listener_in($node);
my $writer = session($node);
my $both = 'flakeid notifier postgres, flakeid watermark';

$node->safe_psql('postgres', 'CREATE DATABASE "Other, one"');
my $elsewhere = listener_in($node, 'Other, one');
becomes_quiet($listener);
insert_id($writer);
is_announced($node, $listener, undef, 'the named database is notified');
is(join(' ', payloads($elsewhere)), '', 'another database is not notified');
reload_with($node, notify_databases => 'postgres, "Other, one"');
workers_are(
	$node,
	"flakeid notifier Other, one, $both",
	'a database that a reload adds gets a notifier');
insert_id($writer);
is_announced($node, $elsewhere, undef, 'a database without the extension can be notified');
my $end_of_log = -s $node->logfile;
reload_with($node, notify_databases => 'postgres, nowhere');
ok($node->wait_for_log(qr/FATAL:  database "nowhere" does not exist/, $end_of_log),
	'the log says that a database does not exist');
workers_are($node, $both,
	'a database that a reload removes loses its notifier, and one that does not exist ends no other'
);
$elsewhere->quit;
# The server's process for a session ends after psql, and DROP DATABASE waits for it for 5 s alone.
$node->poll_query_until('postgres', <<~'SQL') or die 'a session stays';
	SELECT count(*) = 0 FROM pg_stat_activity
	WHERE datname = 'Other, one' AND backend_type = 'client backend'
	SQL
is(error_of($node, 'DROP DATABASE "Other, one"'),
	'', 'a database can be dropped when the setting does not name it');

for my $invalid ('a b', 'a,', '"a', 'a b, c', 'x' x 64, '""', 'a,,b') {
	like(
		error_of($node, "ALTER SYSTEM SET flakeid.notify_databases = '$invalid'"),
		qr/invalid value for parameter "flakeid\.notify_databases"/,
		"the setting refuses '$invalid'");
}

reload_with($node, notify_databases => '');
workers_are($node, 'none', 'without databases there is no worker');
reload_with($node, notify_databases => 'postgres');
is(workers_of($node), 'none', 'a reload alone starts no worker');
my $fresh = session($node);
is_announced($node, $listener, insert_id($fresh),
	'the first ID after the reload starts the workers, and is announced');
is(workers_of($node), $both, 'both workers run after the first ID');

for my $worker ('flakeid notifier', 'flakeid watermark') {
	my $pids = "FROM pg_stat_activity WHERE backend_type = '$worker'";
	my $pid = $node->safe_psql('postgres', "SELECT pid $pids");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $pids AND pid <> $pid"),
		"a $worker that was terminated is replaced");
	is_announced($node, $listener, insert_id($fresh),
		"rows are announced after a $worker was terminated");
	workers_are($node, $both, "there is one worker of each kind after a $worker was terminated");
}

my $killed = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid watermark'");
$node->safe_psql('postgres', 'ALTER SYSTEM SET restart_after_crash = on; SELECT pg_reload_conf()');
crash_server($node, $killed);
$_->{run}->kill_kill for $writer, $listener, $fresh;
$listener = listener_in($node);
my $id = $node->safe_psql('postgres', 'INSERT INTO outbox DEFAULT VALUES RETURNING id');
is_announced($node, $listener, $id, 'rows are announced after a crash');
$listener->quit;

$node->append_conf('postgresql.conf', "synchronous_standby_names = 'away'");
$node->restart;
workers_are($node, $both, 'both workers run after a restart');
$listener = listener_in($node);
$writer = session($node);
$writer->query_safe('SET synchronous_commit = local');
# A notification comes when the notifier's commit has waited for all that it waits for.
is_announced($node, $listener, insert_id($writer),
	'the notifier does not wait for a synchronous standby');
my $pid = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid notifier'");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok( $node->poll_query_until(
		'postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
	'the notifier ends when it is terminated, also beside a synchronous standby');
workers_are($node, $both, 'the notifier beside a synchronous standby is replaced');
$_->quit for $listener, $writer;
# This fails if the server does not stop within the timeout.
ok($node->stop('fast', fail_ok => 1), 'the server stops beside a notifier');
$node->stop('immediate') if $node->{_pid};

done_testing;
