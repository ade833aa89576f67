# docs/migrating.md as it stands: a table with bigserial and created_at, and one that refers to it, get keys
# with their time in them while writers go on, with an interruption in the middle; once with flakes, once
# with snos. A third time, with columns of the type flake, it goes back, before the switch and after it, and each step is interrupted and repeated.
# data/migration_of_uuids.pl has the sections on UUIDs, data/change_to_flake.pl those on the type flake.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $page = slurp_file('docs/migrating.md') =~ s/^## Change bigint flakes to the type flake\n.*//msr;
my @page = $page =~ /^```sql\n(.*?)^```$/msg;
is(scalar @page, 17, 'the page has its blocks');

my $node = PostgreSQL::Test::Cluster->new('migration');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
# The lock_timeout of the page ends what waits. It cancels no other process, neither autovacuum nor a writer.
deadlock_timeout = '10min'
END
$node->start;

# As the page has it: what differs for sno.
sub for_sno {
	my ($block) = @_;
	$block =~ s/\b(new_id|new_order_id) bigint\b/$1 sno/g;
	$block =~ s/flake_next\(\)/sno_next()/g;
	$block =~ s/flake_at\((.*), slot % room\)/sno_at($1, 0, slot % room)/;
	$block =~ s/tick CONSTANT bigint := 1000;/tick CONSTANT bigint := 4000;/;
	$block =~ s/room CONSTANT bigint := 4096;/room CONSTANT bigint := 65536;/;
	$block =~ s/flake_since\(id, (.*)\);/id >= $1;/;
	return $block;
}

# Orders as they are found: of a year, many of one millisecond, a bulk load of one moment, one just before
# the move; and times that are invalid. Who goes back asks nothing of times, so that 3,000 orders are enough.
my $found = <<'SQL';
INSERT INTO orders (created_at, note) SELECT '2025-01-01 00:00+00'::timestamptz + nr * interval '42 min 3.217 ms', 'old' FROM generate_series(1, 8000) AS nr;
INSERT INTO orders (created_at, note) SELECT '2025-03-01 00:00+00'::timestamptz + nr * interval '0.1 ms', 'old' FROM generate_series(1, 2000) AS nr;
INSERT INTO orders (created_at, note) SELECT '2025-06-01 12:00+00', 'old' FROM generate_series(1, 9000);
INSERT INTO orders (note) SELECT 'old' FROM generate_series(1, 1000);
SQL
my $found_back = <<'SQL';
INSERT INTO orders (created_at, note) SELECT '2025-01-01 00:00+00'::timestamptz + nr * interval '42 min 3.217 ms', 'old' FROM generate_series(1, 2900) AS nr;
SQL
my $odd = <<'SQL';
INSERT INTO orders (created_at, note)
SELECT created_at, 'odd' FROM (VALUES (NULL::timestamptz), ('infinity'), ('2199-01-01 00:00+00'), ('-infinity'), ('1999-12-31 00:00+00')) AS odd (created_at), generate_series(1, 20);
INSERT INTO items (order_id, what) SELECT id, 'old' FROM orders, generate_series(1, 2);
CREATE TABLE deleted (note text);
CREATE FUNCTION is_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO deleted VALUES (OLD.note); RETURN NULL; END $$;
CREATE TRIGGER is_deleted AFTER DELETE ON orders FOR EACH ROW EXECUTE FUNCTION is_deleted();
SQL
my ($orders, $orders_back) = (20_100, 3_000);

# What the application does all the time: orders with their items, items for old orders (in a transaction that
# stays for a while, so that batches do not see them), changes, and now and then an order that goes.
# A writer pauses outside of a transaction. Without that a statement of the page that lets all writers go has them begin a
# transaction together, and the next statement of the page collides with it nearly every time.
my $writers = $node->basedir . '/writers.sql';
append_to_file($writers, <<'SQL');
\set any random(1, :items)
\set one random(1, 50)
BEGIN;
INSERT INTO orders (note) VALUES ('new') RETURNING id AS an_order \gset
INSERT INTO items (order_id, what) VALUES (':an_order', 'new'), (':an_order', 'new');
UPDATE orders SET note = 'changed' WHERE id = ':an_order';
COMMIT;
BEGIN;
INSERT INTO items (order_id, what) SELECT id, 'late' FROM orders WHERE id = (SELECT order_id FROM items WHERE id = :any) FOR KEY SHARE;
\sleep 30 ms
COMMIT;
UPDATE orders SET note = note || '' WHERE id = (SELECT order_id FROM items WHERE id = :any);
UPDATE items SET what = what || '', order_id = order_id WHERE id = :any;
\if :one = 1
DELETE FROM orders WHERE id = (SELECT order_id FROM items WHERE id = :any);
\endif
\sleep 10 ms
SQL

# Runs a block, which ends at its first error.
sub run_block {
	my ($database, $block, $claim) = @_;
	my $error = error_of($node, $block, $database);
	$error =~ s/^psql:.*NOTICE: .*\n(?:LOCATION: .*\n?)?//mg;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($error, '', "$database: $claim");
}

# Repeats a block as a whole, as the page has it, while one of its statements gives up where it has to wait.
sub repeat_block {
	my ($database, $block, $claim) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $error;
	do {
		$error = error_of($node, $block, $database);
	} while ($error =~ /ERROR:  55P03/ && time() < $until);
	$error =~ s/^psql:.*NOTICE: .*\n(?:LOCATION: .*\n?)?//mg;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($error, '', "$database: $claim");
}

# Starts the application, which begins with so many orders. It writes into files, as nobody reads pipes while the test
# looks elsewhere.
sub start_writers {
	my ($database, $begins_with) = @_;
	my $items = 2 * $begins_with;
	my ($out, $err) = map { $node->basedir . "/$database.$_" } 'out', 'err';
	my $pgbench = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '4', '-T', '86400', '-M', 'simple', '-D', "items=$items", '-f',
			$writers, $node->connstr($database) . ' application_name=writers'
		],
		'>', $out, '2>', $err);
	return { database => $database, pgbench => $pgbench, err => $err };
}

# Tests that the application continues.
sub is_writing {
	my ($running, $claim) = @_;
	my $database = $running->{database};
	my $newest = $node->safe_psql($database, "SELECT count(*) FROM orders WHERE note = 'changed'");
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(
		$node->poll_query_until($database,
			"SELECT count(*) > $newest + 20 FROM orders WHERE note = 'changed'")
		  && $node->safe_psql($database,
			"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'writers'") == 4,
		"$database: writers are at work $claim");
}

# Ends the application, which had no error.
sub stop_writers {
	my ($running) = @_;
	$running->{pgbench}->signal('TERM');
	$running->{pgbench}->finish;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return unlike(slurp_file($running->{err}),
		qr/error|aborted/i, "$running->{database}: and not one of them had an error");
}

for my $id_type ('flake', 'sno') {
	my @blocks = $id_type eq 'sno' ? map { for_sno($_) } @page : @page;
	my ($tables, $columns, $trigger, $default, $procedure,
		$call, $look, $indexes, $sweep, $constraints,
		$switch, $afterwards, $clean) = @blocks;
	if ($id_type eq 'sno') {
		isnt($columns, $page[1], "... which differ for sno");
		like($procedure, qr/sno_at\(.*, 0, slot % room\)/, '... in the procedure, too');
	}
	$node->safe_psql('postgres', "CREATE DATABASE $id_type");
	my $run = sub { return run_block($id_type, @_) };
	my $again = sub { return repeat_block($id_type, @_) };
	my $ask = sub { return $node->safe_psql($id_type, $_[0]) };

	$run->($tables, 'the tables');
	$run->($found . $odd, '... and what is in them');

	my $writers = start_writers($id_type, $orders);
	my $at_work = sub { return is_writing($writers, @_) };
	$at_work->('before');

	$again->($columns, 'columns beside the old ones');
	$again->($trigger, 'the items\' trigger');
	$again->($default, 'the orders\' default');
	$run->($procedure, 'the procedure');
	$at_work->('with both keys');

	# Interrupted, and begun again. A row that a transaction holds keeps it from coming to its end before that.
	my $holder = session($node, $id_type);
	$holder->query_safe(
		'BEGIN; SELECT id FROM orders WHERE id = (SELECT id FROM orders ORDER BY created_at, id OFFSET 5000 LIMIT 1) FOR UPDATE'
	);
	my $mover = IPC::Run::start(
		[
			'psql', '-X', '-d', $node->connstr($id_type),
			'-c', "CALL move_orders(batch => 500, pause => '1 ms')"
		],
		'>',
		\my $notices,
		'2>&1',
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	ok($node->poll_query_until($id_type, 'SELECT rows_done > 3000 FROM orders_move'),
		"$id_type: progress is to be seen");
	$ask->(
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL move_orders%'"
	);
	$mover->finish;
	$holder->quit;
	like($notices, qr/NOTICE:  1000 of \d+ rows/, '... where it runs, too');
	my ($done, $null) = split /\|/,
	  $ask->(
		'SELECT rows_done, (SELECT count(*) FROM orders WHERE new_id IS NULL) FROM orders_move');
	ok($done >= 3000 && $null > 0, "$id_type: interrupted after $done rows");
	$at_work->('during the move');
	$run->($call, 'it goes on');
	is($ask->('SELECT count(*) FROM orders WHERE new_id IS NULL'), '0', '... to the end');
	my $said = $ask->($look);
	like($said, qr/^\d+\|\d+\|\d+\.\d\|.*\|20\d\d-/, '... and says so');
	my ($moved, $total) = split /\|/, $said;
	cmp_ok($moved, '<=', $total, '... and took no row twice');
	$run->($call, 'once more it does nothing');

	$run->($indexes, 'the indexes');
	$run->($sweep, 'items that their batch did not see are taken along');
	$again->($constraints, 'the constraints');
	is($ask->('SELECT count(*) FROM items WHERE new_order_id IS NULL'),
		'0', '... hold, with no item left over');
	$again->($switch, 'the switch');
	$at_work->('with the new keys');
	$run->($afterwards, 'a question of time');

	# What came out -----------------------------------------------------------------------------------------
	my $is_old = "note = 'old' AND created_at < (SELECT started FROM orders_move)";
	is( $ask->(
			"SELECT (SELECT count(*) FROM orders WHERE note IN ('old', 'odd')) + (SELECT count(*) FROM deleted WHERE note IN ('old', 'odd'))"
		),
		$orders,
		"$id_type: no row is lost");
	is( $ask->(
			"SELECT bool_and(by_id = by_time) FROM (SELECT row_number() OVER (ORDER BY id) AS by_id,"
			  . " row_number() OVER (ORDER BY created_at, old_id) AS by_time FROM orders WHERE $is_old) AS o"
		),
		't',
		'... the new keys sort as the old rows did');
	is( $ask->(
			"SELECT bool_and(${id_type}_timestamp(id) > created_at - interval '4 ms' AND ${id_type}_timestamp(id) < created_at + interval '5 ms')"
			  . " FROM orders WHERE $is_old"),
		't',
		'... and have their times, also those of one moment');
	is( $ask->(
			"SELECT DISTINCT created_at < '2010-01-01', ${id_type}_timestamp(id) < '2010-01-01 00:00:01+00', ${id_type}_timestamp(id) >= (SELECT started FROM orders_move)"
			  . " FROM orders WHERE note = 'odd' ORDER BY 1"),
		"f|f|t\nt|t|f\n|f|t",
		'... of today where theirs are invalid, of the beginning where they are before it');
	is( $ask->(
			'SELECT count(*) FROM items JOIN orders ON orders.id = items.order_id WHERE items.old_order_id <> orders.old_id'
		),
		'0',
		'... and items are of their orders');
	like($ask->("EXPLAIN (COSTS OFF) " . ($afterwards =~ /(SELECT count.*?;)/s)[0]),
		qr/orders_pkey/, '... the primary key answers questions of time');

	$again->($clean, 'the rest is tidied up');
	is( $ask->(
			"SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0 AND NOT attisdropped"
		),
		'note,id',
		'... and the old columns are gone');
	$at_work->('after it all');
	stop_writers($writers);
}

# Back ---------------------------------------------------------------------------------------------------------

# What the two tables are: columns, constraints, indexes and triggers. From version 18 on NOT NULL has a constraint,
# whose name stays when its column gets another.
my $schema = <<'SQL';
SELECT attrelid::regclass, attname, atttypid::regtype, attnotnull, pg_get_expr(adbin, adrelid)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid IN ('orders'::regclass, 'items'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
SELECT conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint
WHERE conrelid IN ('orders'::regclass, 'items'::regclass) AND contype <> 'n' ORDER BY 1, 2;
SELECT indexdef FROM pg_indexes WHERE tablename IN ('orders', 'items') ORDER BY 1;
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgrelid IN ('orders'::regclass, 'items'::regclass) AND NOT tgisinternal ORDER BY 1, 2;
SELECT proname FROM pg_proc WHERE proname IN ('move_orders', 'items_new_order_id') ORDER BY 1;
SELECT relname FROM pg_class WHERE relname = 'orders_move';
SQL

my ($tables, $columns, $trigger, $default, $procedure, $call,
	undef, $indexes, $sweep, $constraints, $switch, undef,
	$clean, $back_before, $back_after, $validate, $drop_flakes) = @page;
is($columns =~ s/\b(new_id|new_order_id) bigint\b/$1 flake/g,
	2, 'the two new columns can have the type flake');
$node->safe_psql('postgres', 'CREATE DATABASE back');
my $ask = sub { return $node->safe_psql('back', $_[0]) };
run_block('back', $tables, 'the tables');
run_block('back', $found_back . $odd, '... and what is in them');
my $as_it_was = $ask->($schema);
$ask->(
	'CREATE TABLE orders_before AS SELECT id, created_at FROM orders; CREATE TABLE items_before AS SELECT id, order_id FROM items'
);
my $as_before = sub {
	my ($when) = @_;
	is($ask->($schema), $as_it_was, "$when the tables are as they were");
	is( $ask->(
			'SELECT count(*) FROM orders_before JOIN orders USING (id) WHERE orders.created_at IS DISTINCT FROM orders_before.created_at;'
			  . 'SELECT count(*) FROM items_before JOIN items USING (id) WHERE items.order_id <> items_before.order_id;'
			  . 'SELECT count(*) FROM items LEFT JOIN orders ON orders.id = order_id WHERE orders.id IS NULL'
		),
		"0\n0\n0",
		'... with the keys that they had');
};

# Interrupted after each of its statements, and repeated as a whole.
my $interrupted = sub {
	my ($block, $claim) = @_;
	my @statements = split /(?<=;)\n+/, $block;
	for my $last (0 .. $#statements - 1) {
		repeat_block(
			'back',
			join("\n", @statements[ 0 .. $last ]),
			"$claim: interrupted after $last");
	}
	repeat_block('back', $block, "... and repeated: $claim");
};

my $writers_back = start_writers('back', $orders_back);
is_writing($writers_back, 'before');
repeat_block('back', $back_before, 'where nothing has begun there is nothing to go back from');
repeat_block('back', $_, 'columns, trigger, default') for $columns, $trigger, $default;
repeat_block('back', $_, '... once more')             for $columns, $trigger, $default;
repeat_block('back', $back_before, 'back');
$as_before->('before the rows have keys');

for my $round ('back before the switch', 'back after the switch') {
	repeat_block('back', $_, "$round: columns, trigger, default") for $columns, $trigger, $default;
	run_block('back', $procedure, "$round: the procedure");
	run_block('back', $procedure, '... once more');
	run_block('back', $call, '... and all have keys');
	# One that could not be built, as rows of the two had one key.
	$ask->(
		"INSERT INTO orders (note, new_id) SELECT 'same', max(new_id) FROM orders WHERE note = 'changed'"
	);
	like(error_of($node, $indexes, 'back'), qr/23505/, "$round: an index fails");
	$ask->("DELETE FROM orders WHERE note = 'same'");
	run_block('back', $indexes, '... and is built when the cause is gone');
	run_block('back', $indexes, '... once more');
	run_block('back', $sweep, '... and the rest is taken along');
	$interrupted->($constraints, "$round: the constraints");
	my $before_the_switch = $ask->($schema);
	my $error;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	do { $error = error_of($node, $clean, 'back') }
	  while $error =~ /ERROR:  55P03/ && time() < $until;
	like($error, qr/42703/, "$round: before the switch nothing is cleaned up");
	is($ask->($schema), $before_the_switch, '... and nothing is gone');
	is_writing($writers_back, 'before the switch');

	if ($round eq 'back before the switch') {
		repeat_block('back', $back_before, $round);
		$as_before->($round);
		next;
	}
	repeat_block('back', $switch, 'the switch');
	is_writing($writers_back, 'after the switch');
	repeat_block('back', $back_after, $round);
	is_writing($writers_back, 'with the old keys');
	repeat_block('back', $validate, '... and the foreign key is valid');
	cmp_ok(
		$ask->(
			"SELECT count(*) FROM orders WHERE note IN ('new', 'changed') AND new_id IS NOT NULL AND id < 1000000"
		),
		'>', 0,
		'... new orders keep the keys that they had for a while');
	repeat_block('back', $drop_flakes, '... until these are dropped');
	repeat_block('back', $back_before, '... with the rest');
	$as_before->($round);
}
is_writing($writers_back, 'after it all');
stop_writers($writers_back);

my @errors = grep {
	/ERROR:|FATAL:/
	  && !
	  /terminating connection due to administrator command|connection to client lost|canceling statement due to lock timeout|could not create unique index "orders_new_id"|column "old_id" of relation "orders" does not exist/
  }
  split /\n/, slurp_file($node->logfile);
is("@errors", '', 'nor has the server\'s log, but for statements that gave way');
$node->stop;
done_testing();
