# docs/migrating.md as it stands, on orders and their items, while an application writes to them.
package Migration;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

our @EXPORT = qw(migration_page migration_server fill_tables runs repeats until_it_waits_no_more
  start_writers is_writing stop_writers has_no_other_errors);

# Returns the SQL blocks of the page up to its section on the type flake.
sub migration_page {
	my $page =
	  slurp_file('docs/migrating.md') =~ s/^## Change bigint flakes to the type flake\n.*//msr;
	my @blocks = $page =~ /^```sql\n(.*?)^```$/msg;
	die 'the page has ' . @blocks . ' blocks' if @blocks != 17;
	return @blocks;
}

# The lock_timeout of the page ends a statement that waits. It cancels no other process, neither
# autovacuum nor a writer, as the end of a deadlock would.
sub migration_server {
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'flakeid'\ndeadlock_timeout = '10min'\n");
	$node->start;
	return $node;
}

# Fills the tables with the orders that these statements insert, 100 of an invalid time, and
# two items for each. The table `deleted` gets the note of each order that is deleted.
sub fill_tables {
	my ($node, $database, $orders) = @_;
	return $node->safe_psql($database, <<~"SQL");
		$orders;
		INSERT INTO orders (created_at, note)
		SELECT created_at::timestamptz, 'odd'
		FROM unnest('{NULL, infinity, 2199-01-01 00:00+00, -infinity, 1999-12-31 00:00+00}'::text[])
			AS created_at, generate_series(1, 20);
		INSERT INTO items (order_id, what) SELECT id, 'old' FROM orders, generate_series(1, 2);
		CREATE TABLE deleted (note text);
		CREATE FUNCTION is_deleted() RETURNS trigger LANGUAGE plpgsql AS \$\$
		BEGIN INSERT INTO deleted VALUES (OLD.note); RETURN NULL; END \$\$;
		CREATE TRIGGER is_deleted AFTER DELETE ON orders
			FOR EACH ROW EXECUTE FUNCTION is_deleted();
		SQL
}

# blocks of the page -------------------------------------------------------------------------------

# Tests that a block has no error.
sub runs {
	my ($node, $database, $block, $claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(_without_notices(error_of($node, $block, $database)), '', $claim);
}

# Tests that a block has no error when it is repeated as a whole, as the page says, while one of its
# statements gives up since it would wait.
sub repeats {
	my ($node, $database, $block, $claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(_without_notices(until_it_waits_no_more($node, $database, $block)), '', $claim);
}

# Repeats a block in this way, and returns its error.
sub until_it_waits_no_more {
	my ($node, $database, $block) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (1) {
		my $error = error_of($node, $block, $database);
		return $error if $error !~ /ERROR:  55P03/ || time() > $until;
	}
}

sub _without_notices {
	my ($error) = @_;
	return $error =~ s/^psql:.*NOTICE: .*\n(?:LOCATION: .*\n?)?//mgr;
}

# the application ----------------------------------------------------------------------------------

# A writer inserts orders with their items, inserts items for old orders in a transaction that stays
# for a while, so that batches do not see them, changes rows, and now and then deletes an order. It
# pauses outside of a transaction. Otherwise a statement of the page that lets all writers continue
# would have them begin a transaction together, and collide with the page's next statement.
my $writer = <<'SQL';
\set any random(1, :items)
\set one random(1, 50)
BEGIN;
INSERT INTO orders (note) VALUES ('new') RETURNING id AS an_order \gset
INSERT INTO items (order_id, what) VALUES (':an_order', 'new'), (':an_order', 'new');
UPDATE orders SET note = 'changed' WHERE id = ':an_order';
COMMIT;
BEGIN;
INSERT INTO items (order_id, what)
	SELECT id, 'late' FROM orders
	WHERE id = (SELECT order_id FROM items WHERE id = :any) FOR KEY SHARE;
\sleep 30 ms
COMMIT;
UPDATE orders SET note = note || '' WHERE id = (SELECT order_id FROM items WHERE id = :any);
UPDATE items SET what = what || '', order_id = order_id WHERE id = :any;
\if :one = 1
DELETE FROM orders WHERE id = (SELECT order_id FROM items WHERE id = :any);
\endif
\sleep 10 ms
SQL

# Starts four writers. They write their output into files, as the test does not read pipes while it
# does other work.
sub start_writers {
	my ($node, $database) = @_;
	my $items = $node->safe_psql($database, 'SELECT count(*) FROM items');
	my ($script, $out, $err) = map { $node->basedir . "/$database.$_" } 'sql', 'out', 'err';
	append_to_file($script, $writer);
	my $pgbench = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '4', '-T', '86400', '-M', 'simple', '-D', "items=$items", '-f',
			$script, $node->connstr($database) . ' application_name=writers'
		],
		'>', $out, '2>', $err);
	return { node => $node, database => $database, pgbench => $pgbench, err => $err };
}

# Tests that the writers continue.
sub is_writing {
	my ($writers, $when) = @_;
	my ($node, $database) = @$writers{ 'node', 'database' };
	my $changed = "SELECT count(*) FROM orders WHERE note = 'changed'";
	my $before = $node->safe_psql($database, $changed);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(
		$node->poll_query_until($database, "SELECT ($changed) > $before + 20")
		  && $node->safe_psql($database,
			"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'writers'") == 4,
		"the writers continue $when");
}

# Ends the writers, and tests that they had no error.
sub stop_writers {
	my ($writers) = @_;
	$writers->{pgbench}->signal('TERM');
	$writers->{pgbench}->finish;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return unlike(slurp_file($writers->{err}), qr/error|aborted/i, 'no writer had an error');
}

# Tests that the server's log has no errors but of statements that gave up, and those that the test
# expects.
sub has_no_other_errors {
	my ($node, @expected) = @_;
	my $expected = join '|', @expected, 'terminating connection due to administrator command',
	  'connection to client lost', 'canceling statement due to lock timeout';
	my @errors = grep { /ERROR:|FATAL:/ && !/$expected/ } split /\n/, slurp_file($node->logfile);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is("@errors", '', "the server's log has no errors but of statements that gave up");
}

1;
