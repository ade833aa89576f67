# docs/migrating.md as it stands: a table with bigserial and created_at, and one that refers to it, get keys
# with their time in them while writers go on, with an interruption in the middle; once with flakes, once
# with snos.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $page = slurp_file('docs/migrating.md');
my @page = $page =~ /^```sql\n(.*?)^```$/msg;
is(scalar @page, 13, 'the page has its blocks');

my $node = PostgreSQL::Test::Cluster->new('migration');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;

# As the page has it: what differs for sno.
sub for_sno
{
	my ($block) = @_;
	$block =~ s/\b(new_id|new_order_id) bigint\b/$1 sno/g;
	$block =~ s/flake_next\(\)/sno_next()/g;
	$block =~ s/flake_at\((.*), slot % room\)/sno_at($1, 0, slot % room)/;
	$block =~ s/tick CONSTANT bigint := 1000;/tick CONSTANT bigint := 4000;/;
	$block =~ s/room CONSTANT bigint := 4096;/room CONSTANT bigint := 65536;/;
	$block =~ s/first CONSTANT timestamptz := '1970-/first CONSTANT timestamptz := '2010-/;
	$block =~ s/flake_between\(id, (.*), (.*)\);/id <@ tstzrange($1, $2);/;
	return $block;
}

# Orders as they are found: of a year, many of one millisecond, a bulk load of one moment, one just before
# the move; and times that are no good.
my $old = <<'SQL';
INSERT INTO orders (created_at, note) SELECT '2025-01-01 00:00+00'::timestamptz + nr * interval '17 min 3.217 ms', 'old' FROM generate_series(1, 20000) AS nr;
INSERT INTO orders (created_at, note) SELECT '2025-03-01 00:00+00'::timestamptz + nr * interval '0.1 ms', 'old' FROM generate_series(1, 2000) AS nr;
INSERT INTO orders (created_at, note) SELECT '2025-06-01 12:00+00', 'old' FROM generate_series(1, 10000);
INSERT INTO orders (note) SELECT 'old' FROM generate_series(1, 5000);
INSERT INTO orders (created_at, note)
SELECT created_at, 'odd' FROM (VALUES (NULL::timestamptz), ('infinity'), ('2199-01-01 00:00+00'), ('-infinity'), ('1999-12-31 00:00+00')) AS odd (created_at), generate_series(1, 20);
INSERT INTO items (order_id, what) SELECT id, 'old' FROM orders, generate_series(1, 2);
CREATE TABLE deleted (note text);
CREATE FUNCTION is_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO deleted VALUES (OLD.note); RETURN NULL; END $$;
CREATE TRIGGER is_deleted AFTER DELETE ON orders FOR EACH ROW EXECUTE FUNCTION is_deleted();
SQL
my $orders = 37_100;

# What the application does all the time: orders with their items, items for old orders (in a transaction that
# stays for a while, so that batches do not see them), changes, and now and then an order that goes.
my $writers = $node->basedir . '/writers.sql';
append_to_file($writers, <<'SQL');
\set any random(1, 74200)
\set one random(1, 50)
BEGIN;
INSERT INTO orders (note) VALUES ('new') RETURNING id AS an_order \gset
INSERT INTO items (order_id, what) VALUES (':an_order', 'new'), (':an_order', 'new');
UPDATE orders SET note = 'changed' WHERE id = ':an_order';
COMMIT;
BEGIN;
INSERT INTO items (order_id, what) SELECT order_id, 'late' FROM items WHERE id = :any;
\sleep 10 ms
COMMIT;
UPDATE orders SET note = note || '' WHERE id = (SELECT order_id FROM items WHERE id = :any);
UPDATE items SET what = what || '', order_id = order_id WHERE id = :any;
\if :one = 1
DELETE FROM orders WHERE id = (SELECT order_id FROM items WHERE id = :any);
\endif
SQL

for my $system ('flake', 'sno')
{
	my @blocks = $system eq 'sno' ? map { for_sno($_) } @page : @page;
	my ($tables, $columns, $trigger, $default, $procedure, $call, $look, $indexes, $sweep, $constraints, $switch, $afterwards, $clean) = @blocks;
	if ($system eq 'sno')
	{
		isnt($columns, $page[1], "... which differ for sno");
		like($procedure, qr/sno_at\(.*, 0, slot % room\)/, '... in the procedure, too');
	}
	$node->safe_psql('postgres', "CREATE DATABASE $system");
	my $run = sub {
		my ($block, $claim) = @_;
		my $error = error_of($node, $block, $system);
		$error =~ s/^psql:.*NOTICE: .*\n(?:LOCATION: .*\n?)?//mg;
		is($error, '', "$system: $claim");
	};

	# What gives up where it has to wait is said again, as the page has it: a transaction as a whole, else
	# each statement.
	my $again = sub {
		my ($block, $claim) = @_;
		my $timeout = $block =~ s/^(SET lock_timeout.*;\n)// ? $1 : '';
		my $error;
		for my $statement ($block =~ /^BEGIN;/m || $block =~ /\$\$/ ? $block : split /(?<=;)\n/, $block)
		{
			my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
			do
			{
				$error = error_of($node, $timeout . $statement, $system);
			} while ($error =~ /ERROR:  55P03/ && time() < $until);
			$error =~ s/^psql:.*NOTICE: .*\n(?:LOCATION: .*\n?)?//mg;
			last if $error ne '';
		}
		is($error, '', "$system: $claim");
	};
	my $ask = sub { return $node->safe_psql($system, $_[0]) };

	$run->($tables, 'the tables');
	$run->($old, '... and what is in them');

	# Files, as nobody reads pipes while the test looks elsewhere.
	my ($out, $err) = map { $node->basedir . "/$system.$_" } 'out', 'err';
	my $pgbench = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '4', '-T', '86400', '-M', 'simple', '-f', $writers, $node->connstr($system) . ' application_name=writers' ],
		'>', $out, '2>', $err);
	my $at_work = sub {
		my ($claim) = @_;
		my $newest = $ask->("SELECT count(*) FROM orders WHERE note = 'changed'");
		ok($node->poll_query_until($system, "SELECT count(*) > $newest + 20 FROM orders WHERE note = 'changed'")
			  && $ask->("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'writers'") == 4,
			"$system: writers are at work $claim");
	};
	$at_work->('before');

	$again->($columns, 'columns beside the old ones');
	$again->($trigger, 'the items\' trigger');
	$again->($default, 'the orders\' default');
	$run->($procedure, 'the procedure');
	$at_work->('with both keys');

	# Interrupted, and begun again. A row that a transaction holds keeps it from coming to its end before that.
	my $holder = session($node, $system);
	$holder->query_safe('BEGIN; SELECT id FROM orders WHERE id = (SELECT id FROM orders ORDER BY created_at, id OFFSET 5000 LIMIT 1) FOR UPDATE');
	my $mover = IPC::Run::start(
		[ 'psql', '-X', '-d', $node->connstr($system), '-c', "CALL move_orders(batch => 500, pause => '1 ms')" ],
		'>', \my $notices, '2>&1', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	ok($node->poll_query_until($system, 'SELECT rows_done > 3000 FROM orders_move'), "$system: progress is to be seen");
	$ask->("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL move_orders%'");
	$mover->finish;
	$holder->quit;
	like($notices, qr/NOTICE:  1000 of \d+ rows/, '... where it runs, too');
	my ($done, $null) = split /\|/, $ask->('SELECT rows_done, (SELECT count(*) FROM orders WHERE new_id IS NULL) FROM orders_move');
	ok($done >= 3000 && $null > 0, "$system: interrupted after $done rows");
	$at_work->('meanwhile');
	$run->($call, 'it goes on');
	is($ask->('SELECT count(*) FROM orders WHERE new_id IS NULL'), '0', '... to the end');
	like($ask->($look), qr/^(\d+)\|\d+\|\d+\.\d\|.*\|20\d\d-/, '... and says so');
	cmp_ok($1, '<=', $orders, '... and took no row twice');
	$run->($call, 'once more it does nothing');

	$run->($indexes, 'the indexes');
	$run->($sweep, 'items that their batch did not see are taken along');
	$again->($constraints, 'the constraints');
	is($ask->('SELECT count(*) FROM items WHERE new_order_id IS NULL'), '0', '... hold, with no item left over');
	$again->($switch, 'the switch');
	$at_work->('with the new keys');
	$run->($afterwards, 'a question of time');

	# What came out -----------------------------------------------------------------------------------------
	my $is_old = "note = 'old' AND created_at < (SELECT started FROM orders_move)";
	is($ask->("SELECT (SELECT count(*) FROM orders WHERE note IN ('old', 'odd')) + (SELECT count(*) FROM deleted WHERE note IN ('old', 'odd'))"),
		$orders, "$system: no row is lost");
	is(
		$ask->("SELECT bool_and(by_id = by_time) FROM (SELECT row_number() OVER (ORDER BY id) AS by_id,"
			  . " row_number() OVER (ORDER BY created_at, old_id) AS by_time FROM orders WHERE $is_old) AS o"),
		't', '... the new keys sort as the old rows did');
	is(
		$ask->("SELECT bool_and(${system}_timestamp(id) > created_at - interval '4 ms' AND ${system}_timestamp(id) < created_at + interval '5 ms')"
			  . " FROM orders WHERE $is_old"),
		't', '... and have their times, also those of one moment');
	is(
		$ask->("SELECT DISTINCT created_at < '2010-01-01', ${system}_timestamp(id) < '2010-01-01 00:00:01+00', ${system}_timestamp(id) >= (SELECT started FROM orders_move)"
			  . " FROM orders WHERE note = 'odd' ORDER BY 1"),
		"f|f|t\nt|t|f\n|f|t", '... of today where theirs are no good, of the beginning where they are before it');
	is($ask->('SELECT count(*) FROM items JOIN orders ON orders.id = items.order_id WHERE items.old_order_id <> orders.old_id'),
		'0', '... and items are of their orders');
	like(
		$ask->("EXPLAIN (COSTS OFF) " . ($afterwards =~ /(SELECT count.*?;)/s)[0]),
		qr/orders_pkey/, '... the primary key answers questions of time');

	$again->($clean, 'the rest is tidied up');
	is($ask->("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0 AND NOT attisdropped"),
		'note,id', '... and the old columns are gone');
	$at_work->('after it all');
	$pgbench->signal('TERM');
	$pgbench->finish;
	unlike(slurp_file($err), qr/error|aborted/i, "$system: and not one of them had an error");
}

my @errors = grep { /ERROR:|FATAL:/ && !/terminating connection due to administrator command|connection to client lost|canceling statement due to lock timeout/ }
  split /\n/, slurp_file($node->logfile);
is("@errors", '', 'nor has the server\'s log, but for statements that gave way');
$node->stop;
done_testing();
