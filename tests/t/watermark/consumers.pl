# examples/consumers.sql does what docs/consumers.md says: what the next worker gets after a crash in each step, which
# acknowledgements are refused, that no number of parts and no change of it loses a row, what a role needs, and that cursors
# survive a dump. watermark/consumers_crashes.pl has many workers at once.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('consumers');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
restart_after_crash = on
log_statement = none
END
$node->start;
my $outbox =
  'CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), topic text, message text)';
$node->safe_psql('postgres', "CREATE EXTENSION flakeid; $outbox");

# Installs the file in a database, with these variables.
sub install {
	my ($database, %variables) = @_;
	my $echo = delete $variables{echo} // 'errors';
	my @command = (
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-v', "ECHO=$echo", '-d', $node->connstr($database),
		'-f', 'examples/consumers.sql');
	push @command, map { ('-v', "$_=$variables{$_}") } sort keys %variables;
	my $said = '';
	IPC::Run::run(\@command, '<', '/dev/null', '>&', \$said)
	  or die "the file is not installed: $said";
	return $said;
}

# Waits until all rows of the table that a schema reads are below the watermark.
sub settle {
	my ($schema, $table) = map { $_ // '' } @_;
	$schema ||= 'consumers';
	$table  ||= 'outbox';
	$node->poll_query_until('postgres',
		"SELECT count(*) = (SELECT count(*) FROM $table) FROM $schema.settled")
	  or die "the watermark does not pass the rows of $table";
	return;
}

sub sql { return $node->safe_psql('postgres', join '; ', @_) }

# The rows that a consumer would get now.
sub waiting {
	my ($consumer, $part) = @_;
	return sql(
		'BEGIN',
		"SELECT string_agg((message).topic, ' ') FROM consumers.next_batch('$consumer', @{[ $part // 0 ]}, 3)",
		'ROLLBACK');
}

sub topics { return join ' ', @_ }

# Ends the process of a session, and waits until it is gone.
sub crash {
	my ($session) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	sql("SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
	  or die 'the session does not end';
	$session->quit;
	return;
}

# the file -------------------------------------------------------------------------------------------------------------

is(install('postgres'), '', 'the file is installed without a message');
like(
	error_of($node, '\i examples/consumers.sql'),
	qr/schema "consumers" already exists/,
	'a second installation in the same schema is an error');
is(sql("SELECT (SELECT count(*) FROM consumers.lag), (SELECT count(*) FROM consumers.cursors)"),
	'0|0', 'at first there is no consumer');

sql("SELECT consumers.set_consumer('first', 1)");
is(waiting('first'), '', 'a consumer of an empty table gets no rows');
is(sql("SELECT last, rows, behind FROM consumers.lag"),
	'-1|0|00:00:00', 'a consumer of an empty table has no lag');
like(
	error_of($node, "SELECT consumers.next_batch('frist')"),
	qr/42704: +consumer 'frist' has no part 0/,
	'a consumer that is not there is an error');
like(
	error_of($node, "SELECT consumers.next_batch('first', 1)"),
	qr/42704: +consumer 'first' has no part 1/,
	'a part that is not there is an error');
like(
	error_of($node, 'SELECT consumers.next_batch(NULL)'),
	qr/42704: +consumer NULL has no part 0/,
	'a consumer without a name is an error');
like(error_of($node, "SELECT consumers.set_consumer('', 1)"),
	qr/23514/, 'a consumer cannot have an empty name');
like(error_of($node, 'SELECT consumers.set_consumer(NULL, 1)'),
	qr/23502/, 'a consumer cannot have no name');
like(error_of($node, "SELECT consumers.set_consumer('first', $_)"),
	qr/23502|23514/, "a consumer cannot have $_ parts")
  for 0, -1, 'NULL';
like(error_of($node, 'SELECT consumers.acknowledge(NULL)'),
	qr/55000/, 'an acknowledgement of no turn is an error');
is(sql('SELECT count(*) FROM consumers.cursors'),
	'1', 'what was refused has left the cursors as they were');

# A whole number of batches of three rows.
sql("INSERT INTO outbox (topic) SELECT 't' || nr FROM generate_series(1, 9) AS nr");
settle();
my @batches = map {
	topics(map { "t$_" } 3 * $_ - 2 .. 3 * $_)
} 1 .. 3;
is(waiting('first'), $batches[0], 'the first batch has the first rows, in order');
is(sql("SELECT count(*) FROM consumers.next_batch('first', max_rows => $_, lease => NULL)"),
	'1', "a batch of $_ rows has one")
  for 0, -5, 'NULL';
is(sql("SELECT last FROM consumers.cursors"),
	'-1', 'a batch without an acknowledgement does not move the cursor');

# steps: each row once -------------------------------------------------------------------------------------------------

# A consumer that writes into the same database. Wherever it crashes, either both the effect and the cursor are there, or
# neither is.
$node->safe_psql('postgres',
	'CREATE TABLE effects (nr bigserial PRIMARY KEY, consumer text, part integer, id flake)');
my @once = (
	[ 'the lock', "BEGIN; SELECT FROM consumers.cursors WHERE consumer = 'once' FOR UPDATE" ],
	[
		'the batch',
		"CREATE TEMP TABLE batch ON COMMIT DROP AS SELECT turn, (message).id FROM consumers.next_batch('once', 0, 3)"
	],
	[ 'the effect', "INSERT INTO effects (consumer, part, id) SELECT 'once', 0, id FROM batch" ],
	[
		'the acknowledgement',
		'SELECT consumers.acknowledge(turn) FROM (SELECT DISTINCT turn FROM batch) AS turns'
	],
	[ 'the commit', 'COMMIT' ]);
sql("SELECT consumers.set_consumer('once', 1)");
for my $last (0 .. $#once) {
	my $session = session($node);
	$session->query_safe($_->[1]) for @once[ 0 .. $last ];
	is(waiting('once'), '',
		"after $once[$last][0] a second worker gets no rows of the first one's batch")
	  if $last > 0 && $last < $#once;
	crash($session);
	my $is_done = $last == $#once;
	is( sql("SELECT count(*) FROM effects WHERE consumer = 'once'"),
		$is_done ? 3 : 0,
		"a crash after $once[$last][0]: the effect is " . ($is_done ? 'there' : 'not there'));
	is( waiting('once'),
		$batches[ $is_done ? 1 : 0 ],
		"a crash after $once[$last][0]: the next worker gets the "
		  . ($is_done ? 'next' : 'same') . ' rows');
}

# The server itself crashes when a process is killed.
my $session = session($node);
$session->query_safe($_->[1]) for @once[ 0 .. 3 ];
my $log_end = -s $node->logfile;
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log_end);
$session->quit;
wait_for_server($node);
is(waiting('once'), $batches[1],
	'a crash of the server before the commit: the next worker gets the same rows');
is(sql("SELECT count(*) FROM effects WHERE consumer = 'once'"),
	3, 'a crash of the server before the commit: the effect is not there');

# steps: at least once -------------------------------------------------------------------------------------------------

# Lets the time of all leases pass.
sub pass_leases {
	my ($consumer) = @_;
	return sql(
		"UPDATE consumers.cursors SET leased_until = clock_timestamp() WHERE consumer = '$consumer'"
	);
}

sub take {
	my ($session, $consumer, $lease) = @_;
	my ($turn, $topics) = split /\|/,
	  $session->query_safe(
		"SELECT turn, string_agg((message).topic, ' ') FROM consumers.next_batch('$consumer', 0, 3, '@{[ $lease // '1 day' ]}') GROUP BY turn"
	  );
	return ($turn, $topics);
}
my ($one, $two) = map { session($node) } 1 .. 2;
sql("SELECT consumers.set_consumer('mailer', 1)");
my $crashing = session($node);
$crashing->query_safe('BEGIN');
take($crashing, 'mailer');
crash($crashing);
is(waiting('mailer'), $batches[0],
	'a crash before the batch is committed: the next worker gets the same rows at once');
$crashing = session($node);
my ($turn, $topics) = take($crashing, 'mailer');
is($topics, $batches[0], 'a worker gets a batch');
crash($crashing);
is(waiting('mailer'), '', 'a crash after the batch: no worker gets the rows while the lease lasts');
pass_leases('mailer');
is(waiting('mailer'), $batches[0],
	'a crash after the batch: the next worker gets the same rows after the lease');
$crashing = session($node);
($turn) = take($crashing, 'mailer');
$crashing->query_safe("BEGIN; SELECT consumers.acknowledge('$turn')");
crash($crashing);
pass_leases('mailer');
is(waiting('mailer'), $batches[0],
	'a crash before the acknowledgement is committed: the next worker gets the same rows');
($turn) = take($one, 'mailer');
$one->query_safe("SELECT consumers.acknowledge('$turn')");
is(waiting('mailer'), $batches[1], 'after the acknowledgement the next worker gets the next rows');
like(
	error_in($one, "SELECT consumers.acknowledge('$turn')"),
	qr/55000: +this turn is over/,
	'a second acknowledgement is refused');
is(waiting('mailer'), $batches[1], 'a second acknowledgement moves nothing');

($turn) = take($one, 'mailer');
pass_leases('mailer');
$one->query_safe("SELECT consumers.acknowledge('$turn')");
is(waiting('mailer'), $batches[2],
	'an acknowledgement after the lease counts if no other worker has got the rows');

sql("SELECT consumers.set_consumer('mailer', 1, '-1')");
($turn) = take($one, 'mailer');
pass_leases('mailer');
my ($later_turn, $later_topics) = take($two, 'mailer');
is($later_topics, $batches[0], 'after the lease a second worker gets the same rows');
like(error_in($one, "SELECT consumers.acknowledge('$turn')"),
	qr/55000/, 'an acknowledgement is refused while another worker has the turn');
$two->query_safe("SELECT consumers.acknowledge('$later_turn')");
like(error_in($one, "SELECT consumers.acknowledge('$turn')"),
	qr/55000/, 'an acknowledgement is refused when another worker has had the turn');
is(waiting('mailer'), $batches[1], 'a late acknowledgement does not move the cursor');

($turn) = take($one, 'mailer');
my ($second, $ninth) = map { sql("SELECT id FROM outbox WHERE topic = '$_'") } 't5', 't9';
like(error_in($one, "SELECT consumers.acknowledge('$turn', '$_')"),
	qr/55000/, "an acknowledgement of ID $_ is refused, since it is not in the batch")
  for $ninth, '-1';
$one->query_safe("SELECT consumers.acknowledge('$turn', '$second')");
is( waiting('mailer'),
	topics('t6', 't7', 't8'),
	'an acknowledgement of an ID in the batch moves the cursor there');

($turn) = take($one, 'mailer');
sql("SELECT consumers.set_consumer('mailer', 1, '-1')");
like(error_in($one, "SELECT consumers.acknowledge('$turn')"),
	qr/55000/, 'an acknowledgement is refused after a reset');
is(waiting('mailer'), $batches[0], 'a consumer that was reset begins again');

# What changes nothing.
($turn) = take($one, 'mailer');
sql("SELECT consumers.set_consumer('mailer', 1)");
$one->query_safe("SELECT consumers.acknowledge('$turn')");
is(waiting('mailer'), $batches[1], 'a consumer that is created again is left as it is');
is( sql("SELECT consumers.set_consumer('at end', 1, (SELECT id FROM outbox ORDER BY id DESC LIMIT 1))",
		'BEGIN',
		"SELECT count(*) FROM consumers.next_batch('at end')",
		'SELECT pg_current_xact_id_if_assigned() IS NULL',
		'COMMIT') =~ s/\n+/ /gr,
	' 0 t',
	'an empty batch of a table that is read to its end writes nothing');

# Two workers that ask at once.
$one->query_safe('BEGIN');
take($one, 'mailer');
is((take($two, 'mailer'))[1],
	undef, 'a second worker with the same name gets nothing, and does not wait');
$one->query_safe('ROLLBACK');

# isolation levels -----------------------------------------------------------------------------------------------------

for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	sql("SELECT consumers.set_consumer('levels', 1, '-1')");
	$one->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM outbox");
	my ($done) = take($two, 'levels');
	$two->query_safe("SELECT consumers.acknowledge('$done')");
	like(error_in($one, "SELECT count(*) FROM consumers.next_batch('levels', 0, 3)"),
		qr/40001/,
		"$level: a worker whose snapshot has an older cursor gets an error that asks for a retry");
	$one->query_safe("ROLLBACK; BEGIN ISOLATION LEVEL $level");
	my ($turn, $topics) = take($one, 'levels');
	$one->query_safe("SELECT consumers.acknowledge('$turn'); COMMIT");
	is( "$topics, " . waiting('levels'),
		"$batches[1], $batches[2]",
		"$level: the retry gets the next rows");
}

# a watermark that is held back ----------------------------------------------------------------------------------------

sql("SELECT consumers.set_consumer('held', 1), consumers.set_consumer('divided', 2)",
	"INSERT INTO outbox (topic) VALUES ('t10')");
settle();
$one->query_safe("BEGIN; INSERT INTO outbox (topic) VALUES ('t11')");
sql("INSERT INTO outbox (topic) SELECT 't' || nr FROM generate_series(12, 40) AS nr");
my $before = sql("SELECT id FROM outbox WHERE topic = 't10'");
is(sql("SELECT count(*), (max((message).id)) FROM consumers.next_batch('held', 0, 1000)"),
	"10|$before", 'a batch ends before the row of an open transaction');
sql("SELECT consumers.acknowledge(turn) FROM consumers.cursors WHERE consumer = 'held'",
	"SELECT count(*) FROM consumers.next_batch('held')");
is(sql("SELECT last FROM consumers.cursors WHERE consumer = 'held'"),
	$before, 'an empty batch does not move the cursor past an open transaction');
is(sql("SELECT rows FROM consumers.lag WHERE consumer = 'held'"),
	0, 'rows that are not below the watermark are no lag');
$one->query_safe('COMMIT');
settle();
is( sql("SELECT string_agg((message).topic, ' ') FROM consumers.next_batch('held', 0, 3)"),
	topics('t11', 't12', 't13'),
	'the row of the late transaction comes first');

# parts ----------------------------------------------------------------------------------------------------------------

# Reads a part to its end, and returns the topics.
sub read_part {
	my ($consumer, $part, $batches) = @_;
	my @topics;
	for (1 .. $batches // 1000) {
		my $topics = $one->query_safe(
			"SELECT string_agg((message).topic, ' ') FROM consumers.next_batch('$consumer', $part, 2)"
		);
		last if $topics eq '';
		push @topics, split / /, $topics;
		$one->query_safe(
			"SELECT consumers.acknowledge(turn) FROM consumers.cursors WHERE consumer = '$consumer' AND part = $part"
		);
	}
	return @topics;
}
my @all = map { "t$_" } 1 .. 40;

sub in_order {
	my (@topics) = @_;
	return join ' ', sort { substr($a, 1) <=> substr($b, 1) } @topics;
}

for my $parts (1, 2, 3, 7, 64) {
	sql("SELECT consumers.set_consumer('divided', $parts, '-1')");
	is(in_order(map { read_part('divided', $_) } 0 .. $parts - 1),
		"@all", "$parts parts have all rows, each once");
	is(sql("SELECT count(*) FROM consumers.cursors WHERE consumer = 'divided'"),
		$parts, "$parts parts have a cursor each");
}
is(sql("SELECT sum(rows), max(behind) FROM consumers.lag WHERE consumer = 'divided'"),
	'0|00:00:00', 'parts that have read all rows have no lag');

# The parts have read differently many rows, and have no lease, when their number changes.
for my $change ([ 2, 4 ], [ 3, 6 ], [ 1, 5 ], [ 4, 2 ], [ 3, 2 ], [ 5, 1 ], [ 4, 6 ]) {
	my ($from, $to) = @$change;
	sql("SELECT consumers.set_consumer('divided', $from, '-1')");
	my @before = map { read_part('divided', $_, 1 + $_) } 0 .. $from - 1;
	sql("SELECT consumers.set_consumer('divided', $to)");
	my @after = map { read_part('divided', $_) } 0 .. $to - 1;
	my %times;
	$times{$_}++ for @before, @after;
	is(in_order(keys %times), "@all", "a change from $from to $to parts loses no row");
	is(join(' ', grep { $times{$_} > 1 } sort keys %times),
		'', "a change from $from to $to parts repeats no row")
	  if $to % $from == 0;
}
sql("SELECT consumers.set_consumer('divided', 2, '-1')");
my ($of_part) = split /\|/,
  $one->query_safe("SELECT turn, count(*) FROM consumers.next_batch('divided', 1) GROUP BY turn");
sql("SELECT consumers.set_consumer('divided', 3)");
like(error_in($one, "SELECT consumers.acknowledge('$of_part')"),
	qr/55000/, 'an acknowledgement is refused after the number of parts has changed');
$one->query_safe("BEGIN; SELECT count(*) FROM consumers.next_batch('divided', 2)");
$two->query_until(qr/waits/, "\\echo waits\nSELECT consumers.set_consumer('divided', 2);\n");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%set_consumer%' AND pid <> pg_backend_pid()"
) or die 'a change of the parts does not wait';
$one->query_safe('COMMIT');
$two->query_safe('');
is(sql("SELECT count(*) FROM consumers.cursors WHERE consumer = 'divided'"),
	2, 'a change of the number of parts waits for a worker whose transaction is open');

# A part without rows follows the others, so that rows can be deleted.
sql('DELETE FROM consumers.cursors', "SELECT consumers.set_consumer('idle', 64)");
read_part('idle', $_) for 0 .. 63;
read_part('idle', $_) for 0 .. 63;
is( sql('SELECT min(last) = max(last) AND max(last) = (SELECT max(id) FROM outbox) FROM consumers.cursors'
	),
	't',
	'when all rows are read the cursors of all parts are at the last row');
sql('DELETE FROM outbox WHERE id <= (SELECT last FROM consumers.cursors ORDER BY last LIMIT 1)');
is(sql('SELECT count(*) FROM outbox'), 0, 'the rows that all have read can be deleted');
sql('DELETE FROM consumers.cursors',
	"INSERT INTO outbox (topic) VALUES ('kept')",
	'DELETE FROM outbox WHERE id <= (SELECT last FROM consumers.cursors ORDER BY last LIMIT 1)');
is(sql('SELECT count(*) FROM outbox'), 1, 'without consumers nothing is deleted');

# tables and ID types --------------------------------------------------------------------------------------------------

$node->safe_psql('postgres',
	'CREATE SCHEMA "Shop"; CREATE TABLE "Shop"."The ""orders" ("its ID" bigint PRIMARY KEY DEFAULT flake_next(), customer text, message text, the_row text)'
);
install(
	'postgres',
	table => '"Shop"."The ""orders"',
	schema => '"Of the shop"',
	id => '"its ID"',
	id_type => 'bigint',
	hash => 'hashtextextended(customer, 0)');
sql(q{INSERT INTO "Shop"."The ""orders" (customer) VALUES ('ada'), (NULL), ('bob'), ('ada'), (NULL), ('eve')},
	q{SELECT "Of the shop".set_consumer('shop', 3)});
settle('"Of the shop"', '"Shop"."The ""orders"');
sql('CREATE TABLE printed (id flake PRIMARY KEY DEFAULT flake_next(), topic text)');
my $printed = install('postgres', table => 'printed', schema => 'of_printed', echo => 'queries');
my $objects =
  q{SELECT string_agg(prosrc || coalesce(pg_get_function_sqlbody(oid), ''), '' ORDER BY proname) FROM pg_proc WHERE pronamespace = 'of_printed'::regnamespace};
my $installed = sql($objects);
sql('DROP SCHEMA of_printed CASCADE', $printed);
is(sql($objects), $installed, 'the SQL that psql -qe prints installs the same');
my @read = map {
	split /\n/,
	  sql(
		qq{SELECT coalesce((message).customer, 'NULL') || ' $_' FROM "Of the shop".next_batch('shop', $_)}
	  )
} 0 .. 2;
is(scalar @read, 6,
	'a table with other names in another schema is read, with rows that have no key');
my %parts;
$parts{$_} = 1 for @read;
is(scalar keys %parts, 4, 'the rows of a key are in one part');

$one->query_safe(
	"SELECT consumers.set_consumer('wider', 1); SELECT count(*) FROM consumers.next_batch('wider', lease => NULL)"
);
sql("ALTER TABLE outbox ADD COLUMN added text DEFAULT 'yes'");
settle();
is($one->query_safe("SELECT (message).added FROM consumers.next_batch('wider')"),
	'yes', 'a column that is added later is in the batch');

# What the page's table has for each ID type.
my $cell = qr/`([^`]+)`/;
my @id_types;
my $page = slurp_file('docs/consumers.md');
while ($page =~ /^\| (?!ID type)([^|]+?) \| $cell \| $cell \| $cell \| $cell \| $cell \|$/mg) {
	push @id_types, [ $1, $2, $3, $4, $5, $6 ];
}
is(scalar @id_types, 8, 'the page has a row for each ID type');
for my $nr (0 .. $#id_types) {
	my ($name, $type, $zero, $settled, $time, $hash) = @{ $id_types[$nr] };
	my $next = ($time =~ /^(\w+)_timestamp/)[0] . '_next()';
	sql("CREATE TABLE table_$nr (id $type PRIMARY KEY DEFAULT $next)");
	install(
		'postgres',
		table => "table_$nr",
		schema => "consumers_$nr",
		id_type => $type,
		zero => $zero,
		settled => $settled,
		time => $time,
		hash => $hash);
	sql("SELECT consumers_$nr.set_consumer('c', 2)",
		map { "INSERT INTO table_$nr DEFAULT VALUES" } 1 .. 20);
	settle("consumers_$nr", "table_$nr");
	my @ids;
	for my $round (1, 2) {
		push @ids, grep { $_ ne '' } split /\n/,
		  sql("SELECT (message).id FROM consumers_$nr.next_batch('c', $_, 6)")
		  for 0, 1;
		sql("SELECT consumers_$nr.acknowledge(turn) FROM consumers_$nr.cursors WHERE turn IS NOT NULL",
			"SELECT count(*) FROM consumers_$nr.lag");
		sql("SELECT consumers_$nr.set_consumer('c', 2)") if $round == 1;
	}
	push @ids, grep { $_ ne '' } split /\n/,
	  sql("SELECT (message).id FROM consumers_$nr.next_batch('c', $_)")
	  for 0, 1;
	is( join(' ', sort @ids),
		join(' ', sort split /\n/, sql("SELECT id FROM table_$nr")),
		"$name: two parts have all rows, each once");
	cmp_ok(sql("SELECT extract(epoch FROM max(behind)) FROM consumers_$nr.lag"),
		'>', 0, "$name: the lag is a time")
	  if sql("SELECT sum(rows) FROM consumers_$nr.lag") > 0;
	sql("DROP SCHEMA consumers_$nr CASCADE", "DROP TABLE table_$nr");
}

# a role that consumes -------------------------------------------------------------------------------------------------

my ($grants) = $page =~ /^```sql\n(CREATE ROLE worker.*?)^```$/ms or die 'the page has no grants';
$node->safe_psql('postgres', $grants);
sql("SELECT consumers.set_consumer('by role', 1, '-1')");
is( sql('SET ROLE worker',
		"SELECT count(*) FROM consumers.next_batch('by role')",
		"SELECT consumers.acknowledge(turn) FROM consumers.cursors WHERE consumer = 'by role'",
		"SELECT rows FROM consumers.lag WHERE consumer = 'by role'") =~ s/\n+/ /gr,
	'1 0',
	'a role with the grants of the page consumes');
like(error_of($node, 'SET ROLE worker; TABLE outbox'),
	qr/42501/, 'that role cannot read the table in other ways');
like(error_of($node, "SET ROLE worker; SELECT consumers.set_consumer('by role', 2)"),
	qr/42501/, 'that role cannot create consumers');
sql('CREATE ROLE stranger');
like(error_of($node, "SET ROLE stranger; SELECT consumers.next_batch('by role')"),
	qr/42501/, 'a role without the grants cannot consume');

# dump and restore -----------------------------------------------------------------------------------------------------

sql('DELETE FROM consumers.cursors',
	'TRUNCATE outbox',
	"INSERT INTO outbox (topic) SELECT 't' || nr FROM generate_series(1, 9) AS nr",
	"SELECT consumers.set_consumer('dumped', 1)");
settle();
($turn) = take($one, 'dumped');
$one->query_safe("SELECT consumers.acknowledge('$turn')");
($turn) = take($one, 'dumped');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'the database is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ],
	'the dump is restored');
$node->safe_psql('restored',
	"UPDATE consumers.cursors SET leased_until = clock_timestamp(); INSERT INTO outbox (topic) VALUES ('new')"
);
$node->poll_query_until('restored', 'SELECT count(*) = 10 FROM consumers.settled')
  or die 'the watermark does not pass the new row';
is( $node->safe_psql(
		'restored', "SELECT string_agg((message).topic, ' ') FROM consumers.next_batch('dumped')"),
	"$batches[1] $batches[2] new",
	'in the restored database the consumer continues after its last acknowledgement');
$_->quit for $one, $two;

$node->stop;
done_testing();
