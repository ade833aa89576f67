# The rows of a consumer of examples/consumers.sql are divided into parts. No number of parts and no
# change of their number loses a row. Rows that all parts have read can be deleted. So it is with
# tables and columns of other names, with the SQL that the file prints, and with each ID type in the
# table of docs/consumers.md.
use strict;
use warnings;
use lib 'tests/perl';

use Consumers;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $server = Consumers->new;
my $node = $server->node;
sub sql { return $server->sql(@_) }
my ($one, $two) = map { session($node) } 1 .. 2;

$server->insert(1 .. 40);
$server->settle;
my $all = join ' ', map { "t$_" } 1 .. 40;

# Reads a part, to its end or some batches of two rows. Returns the topics.
sub read_part {
	my ($consumer, $part, $batches) = @_;
	my @topics;
	for (1 .. $batches // 1000) {
		my $topics = $one->query_safe(<<~"SQL");
			SELECT string_agg((message).topic, ' ')
			FROM consumers.next_batch('$consumer', $part, 2)
			SQL
		last if $topics eq '';
		push @topics, split / /, $topics;
		$one->query_safe(<<~"SQL");
			SELECT consumers.acknowledge(turn) FROM consumers.cursors
			WHERE consumer = '$consumer' AND part = $part
			SQL
	}
	return @topics;
}

sub in_order {
	my (@topics) = @_;
	return join ' ', sort { substr($a, 1) <=> substr($b, 1) } @topics;
}

sub number_of_parts {
	return sql("SELECT count(*) FROM consumers.cursors WHERE consumer = 'divided'");
}

for my $parts (1, 2, 3, 7, 64) {
	sql("SELECT consumers.set_consumer('divided', $parts, '-1')");
	is(in_order(map { read_part('divided', $_) } 0 .. $parts - 1),
		$all, "parts have all rows, each once, if their number is $parts");
	is(number_of_parts(), $parts, "each part has a cursor if their number is $parts");
}
is(sql("SELECT sum(rows), max(behind) FROM consumers.lag WHERE consumer = 'divided'"),
	'0|00:00:00', 'parts that have read all rows have no lag');

# Each part has read more rows than the one before, and has no lease, when their number changes.
for my $change ([ 2, 4 ], [ 3, 6 ], [ 1, 5 ], [ 4, 2 ], [ 3, 2 ], [ 5, 1 ], [ 4, 6 ]) {
	my ($from, $to) = @$change;
	sql("SELECT consumers.set_consumer('divided', $from, '-1')");
	my @read = map { read_part('divided', $_, 1 + $_) } 0 .. $from - 1;
	sql("SELECT consumers.set_consumer('divided', $to)");
	push @read, map { read_part('divided', $_) } 0 .. $to - 1;
	my %times;
	$times{$_}++ for @read;
	is(in_order(keys %times), $all, "a change from $from to $to parts loses no row");
	is(join(' ', grep { $times{$_} > 1 } sort keys %times),
		'', "a change from $from to $to parts repeats no row")
	  if $to % $from == 0;
}

sql("SELECT consumers.set_consumer('divided', 2, '-1')");
my ($turn) = split /\|/,
  $one->query_safe("SELECT turn, count(*) FROM consumers.next_batch('divided', 1) GROUP BY turn");
sql("SELECT consumers.set_consumer('divided', 3)");
like(error_in($one, "SELECT consumers.acknowledge('$turn')"),
	qr/55000/, 'an acknowledgement is refused after the number of parts has changed');
$one->query_safe("BEGIN; SELECT count(*) FROM consumers.next_batch('divided', 2)");
begin_in($two, "SELECT consumers.set_consumer('divided', 2)");
$node->poll_query_until('postgres', <<~'SQL') or die 'a change of the parts does not wait';
	SELECT count(*) = 1 FROM pg_stat_activity
	WHERE wait_event_type = 'Lock' AND query LIKE '%set_consumer%' AND pid <> pg_backend_pid()
	SQL
$one->query_safe('COMMIT');
ended_in($two);
is(number_of_parts(), 2,
	'a change of the number of parts waits for a worker whose transaction is open');

subtest 'rows can be deleted' => sub {
	my $delete =
	  'DELETE FROM outbox WHERE id <= (SELECT last FROM consumers.cursors ORDER BY last LIMIT 1)';
	sql('DELETE FROM consumers.cursors', "SELECT consumers.set_consumer('idle', 64)");
	# Some parts have no rows. Their cursors follow with an empty batch.
	for (1, 2) { read_part('idle', $_) for 0 .. 63 }
	is(sql(<<~'SQL'), 't', 'when all rows are read the cursors of all parts are at the last row');
		SELECT min(last) = max(last) AND max(last) = (SELECT max(id) FROM outbox)
		FROM consumers.cursors
		SQL
	sql($delete);
	is(sql('SELECT count(*) FROM outbox'), 0, 'the rows that all have read can be deleted');
	sql('DELETE FROM consumers.cursors', "INSERT INTO outbox (topic) VALUES ('kept')", $delete);
	is(sql('SELECT count(*) FROM outbox'), 1, 'without consumers nothing is deleted');
};

# The rows of a query: none if it prints nothing.
sub rows {
	return grep { $_ ne '' } split /\n/, sql(@_);
}

subtest 'the table, its schema and its ID have other names' => sub {
	my ($table, $schema) = ('"Shop"."The ""orders"', '"Of the shop"');
	sql('CREATE SCHEMA "Shop"', <<~"SQL");
		CREATE TABLE $table ("its ID" bigint PRIMARY KEY DEFAULT flake_next(),
			customer text, message text, the_row text)
		SQL
	$server->install(
		table => $table,
		schema => $schema,
		id => '"its ID"',
		id_type => 'bigint',
		hash => 'hashtextextended(customer, 0)');
	sql(<<~"SQL", "SELECT $schema.set_consumer('shop', 3)");
		INSERT INTO $table (customer) VALUES ('ada'), (NULL), ('bob'), ('ada'), (NULL), ('eve')
		SQL
	$server->settle($schema, $table);
	my @read = map { rows(<<~"SQL") } 0 .. 2;
		SELECT coalesce((message).customer, 'NULL') || ' $_' FROM $schema.next_batch('shop', $_)
		SQL
	is(scalar @read, 6, 'a table with other names is read, with rows that have no key');
	my %parts = map { $_ => 1 } @read;
	is(scalar keys %parts, 4, 'the rows of a key are in one part');
};

sub definitions {
	return sql(<<~'SQL');
		SELECT string_agg(prosrc || coalesce(pg_get_function_sqlbody(oid), ''), '' ORDER BY proname)
		FROM pg_proc WHERE pronamespace = 'of_printed'::regnamespace
		SQL
}
sql('CREATE TABLE printed (id flake PRIMARY KEY DEFAULT flake_next(), topic text)');
my $printed = $server->install(table => 'printed', schema => 'of_printed', echo => 'queries');
my $installed = definitions();
sql('DROP SCHEMA of_printed CASCADE', $printed);
is(definitions(), $installed, 'the SQL that psql -qe prints installs the same');

# What the page's table has for each ID type.
my $cell = qr/`([^`]+)`/;
my @id_types;
my $page = slurp_file('docs/consumers.md');
while ($page =~ /^\| (?!ID type)([^|]+?) \| $cell \| $cell \| $cell \| $cell \| $cell \|$/mg) {
	push @id_types, [ $1, $2, $3, $4, $5, $6 ];
}
is(scalar @id_types, 8, 'the page has a row for each ID type');
for (@id_types) {
	my ($name, $type, $zero, $settled, $time, $hash) = @$_;
	my $next = ($time =~ /^(\w+)_timestamp/)[0] . '_next()';
	sql("CREATE TABLE typed (id $type PRIMARY KEY DEFAULT $next)");
	$server->install(
		table => 'typed',
		schema => 'of_type',
		id_type => $type,
		zero => $zero,
		settled => $settled,
		time => $time,
		hash => $hash);
	sql("SELECT of_type.set_consumer('c', 2)", ('INSERT INTO typed DEFAULT VALUES') x 20);
	$server->settle('of_type', 'typed');
	my @ids;
	for my $max_rows (6, 6, 100) {
		push @ids,
		  map { rows("SELECT (message).id FROM of_type.next_batch('c', $_, $max_rows)") } 0, 1;
		sql('SELECT of_type.acknowledge(turn) FROM of_type.cursors WHERE turn IS NOT NULL');
		next if @ids > 12;
		# At least eight of the rows are left.
		cmp_ok(sql('SELECT extract(epoch FROM max(behind)) FROM of_type.lag'),
			'>', 0, "$name: the lag is a time");
		# The consumer is there already, so that this changes nothing.
		sql("SELECT of_type.set_consumer('c', 2)");
	}
	is( join(' ', sort @ids),
		join(' ', sort(rows('SELECT id FROM typed'))),
		"$name: two parts have all rows, each once");
	sql('DROP SCHEMA of_type CASCADE', 'DROP TABLE typed');
}

$_->quit for $one, $two;
$node->stop;
done_testing();
