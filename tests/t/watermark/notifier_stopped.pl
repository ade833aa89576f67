# A notifier that is slow to notice that its database has left the setting is the only one when the
# database comes back.
use strict;
use warnings;
use lib 'tests/perl';

use Notifications;
use Server;
use Test::More;

my $node = start_notifier();
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'first', 'second';

# Returns the process IDs of a database's notifiers.
sub notifiers {
	my ($database) = @_;
	return split /\n/, $node->safe_psql('postgres', <<~"SQL");
		SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'flakeid notifier' AND datname = '$database'
		SQL
}

# Changes the setting. A notifier of the last database shows that the publisher has taken it.
sub notify {
	my (@databases) = @_;
	reload_with($node, notify_databases => join ', ', @databases);
	wait_until("a notifier for $databases[-1]", sub { my @pids = notifiers($databases[-1]) });
	return;
}

# A notifier that has just started may hold a lock.
my ($listener, $writer) = (listener_in($node, 'postgres'), session($node));
is_announced($node, $listener, insert_id($writer), 'the notifier runs');
becomes_quiet($listener);
my ($stopped) = wait_until('a notifier', sub { [ notifiers('postgres') ]->[0] });
kill 'STOP', $stopped;
notify('first');
notify('postgres', 'second');
is(join(' ', notifiers('postgres')),
	$stopped, 'while it does not end, a database that comes back gets no second notifier');
kill 'CONT', $stopped;
is_announced($node, $listener, insert_id($writer), 'the notifier goes on');
is(join(' ', notifiers('postgres')), $stopped, 'it is still the only one');
$_->quit for $listener, $writer;
$node->stop;
done_testing();
