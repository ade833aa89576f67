# examples/consumers.sql, which docs/consumers.md explains: what a consumer reads, which calls are
# errors, what a role needs, and that cursors survive a dump. consumer_turns.pl has crashes, and
# consumer_parts.pl has parts, other tables and ID types.
use strict;
use warnings;
use lib 'tests/perl';

use Consumers;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $server = Consumers->new;
my $node = $server->node;
sub sql { return $server->sql(@_) }

is($server->messages, '', 'the file is installed without a message');
like(
	error_of($node, '\i examples/consumers.sql'),
	qr/schema "consumers" already exists/,
	'a second installation in the same schema is an error');
is(sql('SELECT (SELECT count(*) FROM consumers.lag), (SELECT count(*) FROM consumers.cursors)'),
	'0|0', 'at first there is no consumer');

sql("SELECT consumers.set_consumer('first', 1)");
is($server->next_topics('first'), '', 'a consumer of an empty table gets no rows');
is(sql('SELECT last, rows, behind FROM consumers.lag'),
	'-1|0|00:00:00', 'a consumer of an empty table has no lag');

for my $case (
	[
		"next_batch('frist')",
		qr/42704: +consumer 'frist' has no part 0/,
		'get a batch of a consumer that is not there'
	],
	[
		"next_batch('first', 1)",
		qr/42704: +consumer 'first' has no part 1/,
		'get a batch of a part that is not there'
	],
	[
		'next_batch(NULL)',
		qr/42704: +consumer NULL has no part 0/,
		'get a batch of a consumer without a name'
	],
	[ "set_consumer('', 1)", qr/23514/, 'create a consumer with an empty name' ],
	[ 'set_consumer(NULL, 1)', qr/23502/, 'create a consumer without a name' ],
	(   map { [ "set_consumer('first', $_)", qr/23502|23514/, "create a consumer with $_ parts" ] }
		  0,
		-1,
		'NULL'),
	[ 'acknowledge(NULL)', qr/55000/, 'acknowledge no turn' ])
{
	my ($call, $error, $what) = @$case;
	like(error_of($node, "SELECT consumers.$call"), $error, "it is an error to $what");
}
is(sql('SELECT count(*) FROM consumers.cursors'),
	'1', 'what was refused has left the cursors as they were');

$server->insert(1 .. 9);
$server->settle;
is($server->next_topics('first'), 't1 t2 t3', 'the first batch has the first rows, in order');
is(sql("SELECT count(*) FROM consumers.next_batch('first', max_rows => $_, lease => NULL)"),
	'1', "a batch for which $_ rows are asked has one row")
  for 0, -5, 'NULL';
is(sql('SELECT last FROM consumers.cursors'),
	'-1', 'a batch without an acknowledgement does not move the cursor');

subtest 'an open transaction holds a consumer back' => sub {
	my $writer = session($node);
	sql("SELECT consumers.set_consumer('held', 1)");
	$server->insert(10);
	$server->settle;
	$writer->query_safe("BEGIN; INSERT INTO outbox (topic) VALUES ('t11')");
	$server->insert(12 .. 20);
	my $before = sql("SELECT id FROM outbox WHERE topic = 't10'");
	is(sql("SELECT count(*), (max((message).id)) FROM consumers.next_batch('held', 0, 1000)"),
		"10|$before", 'a batch ends before the row of an open transaction');
	$server->acknowledge('held');
	sql("SELECT count(*) FROM consumers.next_batch('held')");
	is(sql("SELECT last FROM consumers.cursors WHERE consumer = 'held'"),
		$before, 'an empty batch does not move the cursor past an open transaction');
	is(sql("SELECT rows FROM consumers.lag WHERE consumer = 'held'"),
		0, 'rows that are not below the watermark are no lag');
	$writer->query_safe('COMMIT');
	$writer->quit;
	$server->settle;
	is($server->next_topics('held'), 't11 t12 t13', 'the row of the late transaction comes first');
};

my $worker = session($node);
$worker->query_safe("SELECT count(*) FROM consumers.next_batch('first', lease => NULL)");
sql("ALTER TABLE outbox ADD COLUMN added text DEFAULT 'yes'");
$server->settle;
is($worker->query_safe("SELECT (message).added FROM consumers.next_batch('first', 0, 1)"),
	'yes', 'a column that is added later is in the batch of a session that had one before');
$worker->quit;

subtest 'a role consumes' => sub {
	my ($grants) = slurp_file('docs/consumers.md') =~ /^```sql\n(CREATE ROLE worker.*?)^```$/ms
	  or die 'the page has no grants';
	sql($grants);
	sql("SELECT consumers.set_consumer('by role', 1)");
	is( sql('SET ROLE worker',
			"SELECT count(*) FROM consumers.next_batch('by role')",
			"SELECT consumers.acknowledge(turn) FROM consumers.cursors WHERE consumer = 'by role'",
			"SELECT rows FROM consumers.lag WHERE consumer = 'by role'"),
		"20\n\n0",
		'a role with the grants of the page consumes');
	like(error_of($node, 'SET ROLE worker; TABLE outbox'),
		qr/42501/, 'that role cannot read the table in other ways');
	like(error_of($node, "SET ROLE worker; SELECT consumers.set_consumer('by role', 2)"),
		qr/42501/, 'that role cannot create consumers');
	sql('CREATE ROLE stranger');
	like(error_of($node, "SET ROLE stranger; SELECT consumers.next_batch('by role')"),
		qr/42501/, 'a role without the grants cannot consume');
};

subtest 'cursors survive a dump' => sub {
	sql('DELETE FROM consumers.cursors', "SELECT consumers.set_consumer('dumped', 1)");
	my $take = "SELECT count(*) FROM consumers.next_batch('dumped', 0, 3)";
	sql($take);
	$server->acknowledge('dumped');
	sql($take);
	my $dump = $node->basedir . '/dump.sql';
	$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
		'the database is dumped');
	sql('CREATE DATABASE restored');
	$node->command_ok(
		[ qw(psql -Xq -v ON_ERROR_STOP=1 -f), $dump, '-d', $node->connstr('restored') ],
		'the dump is restored');
	$node->safe_psql('restored', <<~'SQL');
		UPDATE consumers.cursors SET leased_until = clock_timestamp();
		INSERT INTO outbox (topic) VALUES ('new')
		SQL
	$node->poll_query_until('restored', 'SELECT count(*) = 21 FROM consumers.settled')
	  or die 'the watermark does not pass the new row';
	is( $node->safe_psql('restored', <<~'SQL'),
		SELECT string_agg((message).topic, ' ') FROM consumers.next_batch('dumped')
		SQL
		join(' ', (map { "t$_" } 4 .. 20), 'new'),
		'in the restored database the consumer continues after its last acknowledgement');
};

$node->stop;
done_testing();
