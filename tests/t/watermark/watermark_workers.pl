# A worker of logical replication that generates IDs holds the watermark as a session does, until
# its transaction or the worker has ended.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my ($publisher, $subscriber) =
  map { server_with_tables($_, '', allows_streaming => 'logical') } 'publisher', 'subscriber';

# The subscriber gives each row IDs of its own. A trigger waits for the gate after that.
$publisher->safe_psql('postgres',
	'CREATE TABLE rows (nr integer PRIMARY KEY); CREATE PUBLICATION rows FOR TABLE rows');
$subscriber->safe_psql('postgres', <<~'SQL');
	CREATE TABLE rows (nr integer PRIMARY KEY, id bigint DEFAULT flake_next(),
		object sno DEFAULT sno_next());
	CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
		RETURN new;
	END $$;
	CREATE TRIGGER wait AFTER INSERT ON rows FOR EACH ROW EXECUTE FUNCTION wait();
	ALTER TABLE rows ENABLE ALWAYS TRIGGER wait;
	SQL
my ($observer, $gate) = map { session($subscriber) } 1 .. 2;
sub close_gate { return $gate->query_safe('SELECT pg_advisory_lock(1)') }
sub open_gate  { return $gate->query_safe('SELECT pg_advisory_unlock(1)') }

# Tests that a worker at the gate holds the watermark, until this function has waited for its end.
sub is_held_by_worker {
	my ($what, $wait) = @_;
	is_blocked($observer);
	my $time = clock_in($observer);
	is_held($observer, $time, "$what holds the watermark");
	like(
		$observer->query_safe(<<~'SQL'),
			SELECT backend_type, h.gid, h.xid IS NOT NULL, h.database
			FROM pg_stat_flakeid_watermark AS h JOIN pg_stat_activity USING (pid)
			SQL
		qr/\Alogical replication[\w ]* worker\|\|t\|postgres\z/,
		"the view has $what, and no other transaction");
	open_gate();
	$wait->();
	passes($observer, $time, "$what holds the watermark until it has committed");
	return;
}

close_gate();
$publisher->safe_psql('postgres', 'INSERT INTO rows VALUES (1)');
my $connection = $publisher->connstr('postgres') =~ s/'/''/gr;
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION rows CONNECTION '$connection' PUBLICATION rows");
is_held_by_worker('the worker that copies a table',
	sub { $subscriber->wait_for_subscription_sync($publisher, 'rows') });

for my $round (1 .. 3) {
	close_gate();
	$publisher->safe_psql('postgres',
		"INSERT INTO rows SELECT nr FROM generate_series($round * 100, $round * 100 + 4) AS nr");
	is_held_by_worker(
		"round $round: the worker that applies changes",
		sub { $publisher->wait_for_catchup('rows') });
	passes($observer, clock_in($observer), "round $round: nothing holds the watermark then");
	my $rows = 1 + 5 * $round;
	is( $observer->query_safe(<<~'SQL'),
		SELECT count(*), count(*) FILTER (
			WHERE flake_before(id, flakeid_watermark()) AND object < flakeid_watermark())
		FROM rows
		SQL
		"$rows|$rows",
		"round $round: all rows are there, below the watermark");
}

close_gate();
$publisher->safe_psql('postgres', 'INSERT INTO rows VALUES (1000)');
is_blocked($observer);
my $ended = clock_in($observer);
is_held($observer, $ended, 'a worker that is going to be terminated holds the watermark');
$observer->query_safe('ALTER SUBSCRIPTION rows DISABLE');
$observer->query_safe('SELECT pg_terminate_backend(pid) FROM pg_stat_flakeid_watermark');
passes($observer, $ended, 'a worker that is terminated holds the watermark until it has ended');
open_gate();
$observer->query_safe('ALTER SUBSCRIPTION rows ENABLE');
$publisher->wait_for_catchup('rows');
is( $observer->query_safe('SELECT count(*), count(DISTINCT id), count(DISTINCT object) FROM rows'),
	'17|17|17', 'the row of a worker that was terminated comes with other IDs');
passes($observer, clock_in($observer), 'nothing holds the watermark when the row has come');

$_->quit for $observer, $gate;
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION rows');
$_->stop for $subscriber, $publisher;
done_testing();
