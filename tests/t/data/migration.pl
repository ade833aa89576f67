# docs/migrating.md as it stands: a table with bigserial and created_at, and one that refers to it,
# get keys with their times while writers continue, and although the move is interrupted.
# migration_back.pl has the ways back, migration_of_uuids.pl and change_to_flake.pl other sections.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use Migration;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my @page = migration_page();
my $node = migration_server('migration');

# Returns the page's blocks as the section on sno changes them.
sub for_sno {
	my @blocks = @_;
	my $changes = 0;
	for (@blocks) {
		$changes += s/\b(new_id|new_order_id) bigint\b/$1 sno/g;
		$changes += s/flake_next\(\)/sno_next()/g;
		$changes += s/flake_at\((.*), slot % room\)/sno_at($1, 0, slot % room)/;
		$changes += s/tick CONSTANT bigint := 1000;/tick CONSTANT bigint := 4000;/;
		$changes += s/room CONSTANT bigint := 4096;/room CONSTANT bigint := 65536;/;
		$changes +=
		  s/(first CONSTANT timestamptz := )flake_timestamp\(0\);/$1'2010-01-01 00:00+00';/;
		$changes += s/flake_since\(id, (.*)\);/id >= $1;/;
	}
	is($changes, 10, 'the blocks differ for sno');
	return @blocks;
}

# Orders of a year, many of one millisecond, a bulk load of one moment, and some of now. They are
# 20,100 with the 100 whose time is invalid.
my $orders = <<'SQL';
INSERT INTO orders (created_at, note)
	SELECT '2025-01-01 00:00+00'::timestamptz + nr * interval '42 min 3.217 ms', 'old'
	FROM generate_series(1, 8000) AS nr
	UNION ALL
	SELECT '2025-03-01 00:00+00'::timestamptz + nr * interval '0.1 ms', 'old'
	FROM generate_series(1, 2000) AS nr
	UNION ALL
	SELECT '2025-06-01 12:00+00', 'old' FROM generate_series(1, 9000);
INSERT INTO orders (note) SELECT 'old' FROM generate_series(1, 1000)
SQL

# Tests that the page moves the tables of a database to keys of an ID type.
sub migrates {
	my ($id_type, @blocks) = @_;
	my ($tables, $columns, $trigger, $default, $procedure,
		$call, $look, $indexes, $sweep, $constraints,
		$switch, $afterwards, $clean) = @blocks;
	$node->safe_psql('postgres', "CREATE DATABASE $id_type");
	my $sql = sub { return $node->safe_psql($id_type, @_) };
	my $runs = sub { return runs($node, $id_type, @_) };
	my $repeats = sub { return repeats($node, $id_type, @_) };

	$runs->($tables, 'the example has its tables');
	fill_tables($node, $id_type, $orders);
	my $writers = start_writers($node, $id_type);
	is_writing($writers, 'before the migration');
	$repeats->($columns, 'the tables get columns beside the old ones');
	$repeats->($trigger, 'the items get their trigger');
	$repeats->($default, 'the orders get their default');
	$runs->($procedure, 'the procedure is created');
	is_writing($writers, 'with both keys');

	# A row that a transaction locks keeps the procedure from its end before it is interrupted.
	my $holder = session($node, $id_type);
	$holder->query_safe(<<~'SQL');
		BEGIN;
		SELECT id FROM orders
		WHERE id = (SELECT id FROM orders ORDER BY created_at, id OFFSET 5000 LIMIT 1) FOR UPDATE
		SQL
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
		'a table has the progress of the procedure');
	$sql->(<<~'SQL');
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL move_orders%'
		SQL
	$mover->finish;
	$holder->quit;
	like($notices, qr/NOTICE:  1000 of \d+ rows/, 'the procedure prints its progress');
	my $is_left = 'FROM orders WHERE new_id IS NULL';
	is($sql->("SELECT rows_done >= 3000, EXISTS (SELECT $is_left) FROM orders_move"),
		't|t', 'the interrupted procedure has moved a part of the rows');
	is_writing($writers, 'while rows are moved');
	$runs->($call, 'the procedure continues');
	is($sql->("SELECT count(*) $is_left"), '0', 'the procedure moves all rows');
	my $progress = $sql->($look);
	like($progress, qr/^\d+\|\d+\|\d+\.\d\|.*\|20\d\d-/, 'the page shows the progress at the end');
	my ($moved, $total) = split /\|/, $progress;
	cmp_ok($moved, '<=', $total, 'the procedure moves no row twice');
	$runs->($call, 'the procedure can run once more');

	$runs->($indexes, 'the indexes are built');
	$runs->($sweep, 'the sweep takes items along that their batch did not see');
	$repeats->($constraints, 'the constraints are added');
	is($sql->('SELECT count(*) FROM items WHERE new_order_id IS NULL'),
		'0', 'each item has the new key of its order');
	$repeats->($switch, 'the columns are switched');
	is_writing($writers, 'with the new keys');
	$runs->($afterwards, 'the statements about times run');

	is($sql->(<<~'SQL'), 20_100, 'no row is lost');
		SELECT (SELECT count(*) FROM orders WHERE note IN ('old', 'odd'))
			+ (SELECT count(*) FROM deleted WHERE note IN ('old', 'odd'))
		SQL
	my $is_old = "note = 'old' AND created_at < (SELECT started FROM orders_move)";
	my $time = "${id_type}_timestamp(id)";
	is($sql->(<<~"SQL"), 't', 'the new keys sort as the old rows did');
		SELECT bool_and(by_id = by_time) FROM (
			SELECT row_number() OVER (ORDER BY id) AS by_id,
				row_number() OVER (ORDER BY created_at, old_id) AS by_time
			FROM orders WHERE $is_old) AS o
		SQL
	is($sql->(<<~"SQL"), 't', 'the new keys have the times of their rows');
		SELECT bool_and($time > created_at - interval '4 ms'
			AND $time < created_at + interval '5 ms')
		FROM orders WHERE $is_old
		SQL
	is( $sql->(
			<<~"SQL"), "f|f|t\nt|t|f\n|f|t", 'a key of an invalid time has that of today or least');
		SELECT DISTINCT created_at < '2010-01-01', $time < '2010-01-01 00:00:01+00',
			$time >= (SELECT started FROM orders_move)
		FROM orders WHERE note = 'odd' ORDER BY 1
		SQL
	is($sql->(<<~'SQL'), '0', 'each item refers to its order');
		SELECT count(*) FROM items JOIN orders ON orders.id = items.order_id
		WHERE items.old_order_id <> orders.old_id
		SQL
	my ($question) = $afterwards =~ /(SELECT count.*?;)/s;
	like($sql->("EXPLAIN (COSTS OFF) $question"),
		qr/orders_pkey/, 'the primary key answers questions of time');

	$repeats->($clean, 'the old columns are dropped');
	is($sql->(<<~'SQL'), 'note,id', 'the table has no other columns than before');
		SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'orders'::regclass AND attnum > 0 AND NOT attisdropped
		SQL
	is_writing($writers, 'after the migration');
	stop_writers($writers);
	return;
}

subtest 'the tables get keys of flake' => sub { migrates('flake', @page) };
subtest 'the tables get keys of sno' => sub { migrates('sno', for_sno(@page)) };

# The sessions have a zone in which the clock skips the hour of some of these rows, and repeats that
# of others.
subtest 'created_at has no time zone' => sub {
	my ($tables, $columns, $trigger, $default, $procedure, @rest) = @page;
	is($tables =~ s/created_at timestamptz/created_at timestamp/, 1, 'its type is another one');
	local $ENV{PGTZ} = 'America/New_York';
	# Each time of the hour that a zone repeats stands for two.
	for my $case ([ 'utc', 'UTC', 0 ], [ 'berlin', 'Europe/Berlin', 6 ]) {
		my ($database, $zone, $twice) = @$case;
		$node->safe_psql('postgres', "CREATE DATABASE $database");
		runs($node, $database, $tables, 'the example has its tables');
		$node->safe_psql($database, <<~"SQL");
			INSERT INTO orders (created_at, note)
			SELECT at AT TIME ZONE '$zone', at AT TIME ZONE 'UTC'
			FROM unnest('{2024-03-09, 2024-03-30, 2024-10-26, 2024-11-02}'::date[]) AS day,
				generate_series(0, 288) AS nr,
				LATERAL (SELECT timestamptz 'epoch' + (day - '1970-01-01') * interval '24 h'
					+ nr * interval '10 min') AS times (at)
			SQL
		repeats($node, $database, $_, 'a step runs') for $columns, $trigger, $default, $procedure;
		my $call = 'CALL move_orders(batch => 50)';
		like(
			error_of($node, $call, $database),
			qr/P0001: move_orders needs a zone if created_at has none, and only then\n/,
			'the procedure refuses the column');
		my $changed = $procedure =~ s/zone CONSTANT text := NULL;/zone CONSTANT text := '$zone';/r;
		runs($node, $database, $_, "with the zone $zone the procedure runs") for $changed, $call;
		my $times = $node->safe_psql($database, <<~'SQL');
			SELECT bool_and(by_id = by_time), count(*) FILTER (
				WHERE flake_timestamp(new_id) <> note::timestamp AT TIME ZONE 'UTC')
			FROM (SELECT new_id, note, row_number() OVER (ORDER BY new_id) AS by_id,
				row_number() OVER (ORDER BY created_at, id) AS by_time FROM orders) AS o
			SQL
		is($times, "t|$twice", 'the keys have the times of the rows, and sort as they did');
	}
};
has_no_other_errors($node, 'move_orders needs a zone');

$node->stop;
done_testing();
