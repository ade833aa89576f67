# A server that sends the watermark by NOTIFY flakeid, and sessions that listen.
package Notifications;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw(start_notifier listener_in insert_id payloads is_announced becomes_quiet workers_of
  workers_are);

# Starts a server that notifies the database postgres, with a table of flakes there. Without
# autovacuum nobody but the test and the notifier uses transaction IDs.
sub start_notifier {
	my $node = flakeid_server('notify', <<~'END', allows_streaming => 1);
		max_connections = 40
		max_prepared_transactions = 10
		log_statement = none
		autovacuum = off
		flakeid.notify_databases = 'postgres'
		flakeid.notify_interval = '20ms'
		END
	$node->safe_psql('postgres', 'CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next())');
	return $node;
}

sub listener_in {
	my ($node, $database) = @_;
	my $session = session($node, $database);
	$session->query_safe('LISTEN flakeid');
	return $session;
}

# Inserts a row in a session, and returns its ID.
sub insert_id {
	my ($session) = @_;
	return $session->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
}

# The payloads that a session has got since the last call. The session is asked nothing else: psql
# prints what it has got after each query.
sub payloads {
	my ($session) = @_;
	return $session->query('SELECT') =~
	  /Asynchronous notification "flakeid" with payload "([^"]+)"/g;
}

# Tests that a session gets a watermark that is past an ID, or any watermark without an ID.
sub is_announced {
	my ($node, $session, $id, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my @all;
	while (time() < $until) {
		for my $payload (payloads($session)) {
			push @all, $payload;
			return pass($test)
			  if !defined $id
			  || $node->safe_psql('postgres', "SELECT flake_before($id, '$payload')") eq 't';
		}
		sleep 0.01;
	}
	diag "payloads: @all";
	return fail($test);
}

# Waits until a session gets no notification any more: the last one has told of all rows.
sub becomes_quiet {
	my ($session) = @_;
	my ($last, $until) = (time(), time() + $PostgreSQL::Test::Utils::timeout_default);
	while (time() < $last + 0.3 && time() < $until) {
		$last = time() if payloads($session);
		sleep 0.02;
	}
	return;
}

# The workers that run, and the databases of notifiers.
my $workers = <<~'SQL';
	SELECT coalesce(string_agg(concat_ws(' ', backend_type, datname), ', '
		ORDER BY backend_type, datname), 'none')
	FROM pg_stat_activity WHERE backend_type ~ '^flakeid (watermark|notifier)'
	SQL

sub workers_of { my ($node) = @_; return $node->safe_psql('postgres', $workers) }

# Tests that these workers run, at some moment.
sub workers_are {
	my ($node, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok($node->poll_query_until('postgres', $workers, $expected), $test)
	  || diag(workers_of($node));
}

1;
