# examples/consumers.sql is installed for tables and columns with other names, by the SQL that it
# prints, and for each ID type in the table of docs/consumers.md.
use strict;
use warnings;
use lib 'tests/perl';

use Consumers;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = Consumers->new;
sub sql { return $server->sql(@_) }

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

$server->node->stop;
done_testing();
