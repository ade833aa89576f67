# docs/migrating.md as it stands: tables with new columns of the type flake go back to their old
# keys while writers continue, before the switch and after it. Blocks are interrupted and repeated.
use strict;
use warnings;
use lib 'tests/perl';

use Migration;
use Server;
use Test::More;

my ($tables, $columns, $trigger, $default, $procedure, $call,
	undef, $indexes, $sweep, $constraints, $switch, undef,
	$clean, $back_before, $back_after, $validate, $drop_flakes) = migration_page();
is($columns =~ s/\b(new_id|new_order_id) bigint\b/$1 flake/g,
	2, 'the two new columns can have the type flake');
my $node = migration_server('migration_back');
sub sql           { return $node->safe_psql('postgres', @_) }
sub block_runs    { return runs($node, 'postgres', @_) }
sub block_repeats { return repeats($node, 'postgres', @_) }

# The columns, constraints, indexes and triggers of the two tables, and what the page creates. From
# version 18 on NOT NULL has a constraint, whose name stays when its column gets another.
my $schema = <<'SQL';
CREATE TEMP VIEW moved AS SELECT unnest('{orders,items}'::regclass[]) AS relation;
SELECT attrelid::regclass, attname, atttypid::regtype, attnotnull, pg_get_expr(adbin, adrelid)
FROM moved JOIN pg_attribute ON attrelid = relation
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
SELECT conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated
FROM moved JOIN pg_constraint ON conrelid = relation WHERE contype <> 'n' ORDER BY 1, 2;
SELECT indexdef FROM pg_indexes WHERE tablename IN ('orders', 'items') ORDER BY 1;
SELECT tgrelid::regclass, tgname FROM moved JOIN pg_trigger ON tgrelid = relation
WHERE NOT tgisinternal ORDER BY 1, 2;
SELECT proname FROM pg_proc WHERE proname IN ('move_orders', 'items_new_order_id') ORDER BY 1;
SELECT relname FROM pg_class WHERE relname = 'orders_move';
SQL

block_runs($tables, 'the example has its tables');
fill_tables($node, 'postgres', <<'SQL');
INSERT INTO orders (created_at, note)
	SELECT '2025-01-01 00:00+00'::timestamptz + nr * interval '42 min 3.217 ms', 'old'
	FROM generate_series(1, 2900) AS nr
SQL
my $old_schema = sql($schema);
sql(<<~'SQL');
	CREATE TABLE orders_before AS SELECT id, created_at FROM orders;
	CREATE TABLE items_before AS SELECT id, order_id FROM items;
	SQL

# Tests that the tables are as before the migration.
sub is_back {
	my ($when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sql($schema), $old_schema, "$when the tables are defined as before");
	is(sql(<<~'SQL'), "0\n0\n0", "$when the rows have the keys that they had");
		SELECT count(*) FROM orders_before JOIN orders USING (id)
		WHERE orders.created_at IS DISTINCT FROM orders_before.created_at;
		SELECT count(*) FROM items_before JOIN items USING (id)
		WHERE items.order_id <> items_before.order_id;
		SELECT count(*) FROM items LEFT JOIN orders ON orders.id = order_id WHERE orders.id IS NULL;
		SQL
	return;
}

my $writers = start_writers($node, 'postgres');
is_writing($writers, 'before the migration');
block_repeats($back_before, 'the way back does nothing before the migration');
for my $time ('once', 'twice') {
	block_repeats($_, "columns, trigger and default are added $time")
	  for $columns, $trigger, $default;
}
block_repeats($back_before, 'the tables go back before rows have new keys');
is_back('before rows have new keys');

# Moves all rows to new keys, up to the switch.
sub moves_rows {
	block_repeats($_, 'columns, trigger and default are added') for $columns, $trigger, $default;
	block_runs($procedure, "the procedure is created $_")       for 'once', 'twice';
	block_runs($call, 'all orders get new keys');

	# The index cannot be built while two rows have the same key.
	sql(<<~'SQL');
		INSERT INTO orders (note, new_id)
		SELECT 'same', max(new_id) FROM orders WHERE note = 'changed'
		SQL
	like(error_of($node, $indexes), qr/23505/, 'an index is not built while a key is there twice');
	sql("DELETE FROM orders WHERE note = 'same'");
	block_runs($indexes, "the indexes are built $_") for 'when each key is there once', 'twice';
	block_runs($sweep, 'the sweep takes items along that their batch did not see');
	my @statements = split /(?<=;)\n+/, $constraints;
	for my $last (0 .. $#statements - 1) {
		my $part = join "\n", @statements[ 0 .. $last ];
		block_repeats($part, "the constraints are interrupted after statement $last");
	}
	block_repeats($constraints, 'the constraints are added after all interruptions');

	my $moved_schema = sql($schema);
	like(until_it_waits_no_more($node, 'postgres', $clean),
		qr/42703/, 'the page does not clean up before the switch');
	is(sql($schema), $moved_schema, 'the refused block drops nothing');
	is_writing($writers, 'before the switch');
	return;
}

subtest 'the tables go back before the switch' => sub {
	moves_rows();
	block_repeats($back_before, 'the block for the way back before the switch runs');
	is_back('before the switch');
};

subtest 'the tables go back after the switch' => sub {
	moves_rows();
	block_repeats($switch, 'the columns are switched');
	is_writing($writers, 'after the switch');
	block_repeats($back_after, 'the block for the way back after the switch runs');
	is_writing($writers, 'with the old keys');
	block_repeats($validate, 'the foreign key is valid again');
	cmp_ok(
		sql(<<~'SQL'), '>', 0, 'new orders keep the keys that they had between the two switches');
		SELECT count(*) FROM orders
		WHERE note IN ('new', 'changed') AND new_id IS NOT NULL AND id < 1000000
		SQL
	block_repeats($drop_flakes, 'these keys are dropped');
	block_repeats($back_before, 'all that the page created is dropped');
	is_back('after the switch');
};

is_writing($writers, 'after all');
stop_writers($writers);
has_no_other_errors(
	$node,
	'could not create unique index "orders_new_id"',
	'column "old_id" of relation "orders" does not exist');
$node->stop;
done_testing();
