# NOTIFY flakeid: a worker sends the watermark to the databases that a setting names, when rows are below it that were not
# below the last one, and no more often than the interval says. A reader that reads after each notification, and never
# else, reads each row once, in order.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $node = PostgreSQL::Test::Cluster->new('notify');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
max_prepared_transactions = 10
log_statement = none
flakeid.notify_databases = 'postgres'
flakeid.notify_interval = '20ms'
END
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next()); CREATE TABLE stop (); CREATE TABLE other (x int)'
);
my ($writer, $listener) = map { session($node) } 1 .. 2;
$listener->query_safe('LISTEN flakeid');

# The payloads that a session has got since the last call. The session is asked nothing else: psql prints what it has got
# after each query.
sub payloads {
	my ($session) = @_;
	return $session->query('SELECT') =~
	  /Asynchronous notification "flakeid" with payload "([^"]+)"/g;
}

# Waits for a notification whose watermark satisfies a condition about its payload.
sub is_notified {
	my ($session, $condition, $test) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my @all;
	while (time() < $until) {
		my @new = payloads($session);
		push @all, @new;
		for my $payload (@new) {
			return pass($test)
			  if $node->safe_psql('postgres',
				"SELECT " . $condition =~ s/PAYLOAD/timestamptz '$payload'/gr) eq 't';
		}
		sleep 0.01;
	}
	diag "payloads: @all";
	return fail($test);
}

# Waits until a session gets no notification any more: the last one has told of all rows.
sub becomes_quiet {
	my ($session) = @_;
	my ($last, $until) = (time(), time() + $PostgreSQL::Test::Utils::timeout_default);
	while (time() < $last + 0.3 && time() < $until) {
		$last = time() if payloads($session);
		sleep 0.02;
	}
	return;
}

# Tests that nothing is announced after this work. What was announced before may come late, so it is tried some times.
sub is_silent_after {
	my ($work, $test) = @_;
	my @announced;
	for (1 .. 30) {
		becomes_quiet($listener);
		$work->();
		clock_passes($writer, clock_in($writer) + 200_000);
		@announced = payloads($listener);
		return pass($test) unless @announced;
	}
	diag "announced: @announced";
	return fail($test);
}

sub workers {
	return $node->safe_psql('postgres',
		q(SELECT string_agg(backend_type || coalesce(' ' || datname, ''), ', ' ORDER BY backend_type, datname) FROM pg_stat_activity WHERE backend_type ~ '^flakeid (watermark|notifier)')
	);
}

# when something is sent -----------------------------------------------------------------------------------------------

my $id = $writer->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
is_notified(
	$listener,
	"flake_before($id, PAYLOAD)",
	'a row is announced, with a watermark after its ID');
my $xid;
is_silent_after(
	sub {
		$xid = $node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
		$writer->query_safe('INSERT INTO other VALUES (1)');
		$writer->query_safe('SELECT flake_next()');
		$writer->query_safe('BEGIN; INSERT INTO outbox DEFAULT VALUES; ROLLBACK');
	},
	'nothing is announced after transactions without an ID or without a row');
is($node->safe_psql('postgres', "SELECT pg_current_xact_id()::text::bigint - $xid"),
	3, 'the worker uses no transaction IDs on a server without new rows');

$writer->query_safe('BEGIN');
$id = $writer->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
my $later = session($node);
my $above = $later->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
clock_passes($later, clock_in($later) + 200_000);
is( (   grep {
			$node->safe_psql('postgres', "SELECT flake_before($above, timestamptz '$_')") eq 't'
		} payloads($listener)),
	0,
	'a row is not announced while an earlier transaction is open');
$writer->query_safe('COMMIT');
is_notified(
	$listener,
	"flake_before($above, PAYLOAD)",
	'both rows are announced when that has ended');

$writer->query_safe("BEGIN; INSERT INTO outbox DEFAULT VALUES; PREPARE TRANSACTION 'prepared'");
becomes_quiet($listener);
$above = $later->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
$later->query_safe("COMMIT PREPARED 'prepared'");
is_notified($listener, "flake_before($above, PAYLOAD)", 'a row is announced after COMMIT PREPARED');
becomes_quiet($listener);
# Nothing but the end of the prepared transaction happens.
$above = $writer->query_safe(
	"BEGIN; INSERT INTO outbox DEFAULT VALUES RETURNING id; PREPARE TRANSACTION 'prepared'");
becomes_quiet($listener);
$later->query_safe("COMMIT PREPARED 'prepared'");
is_notified($listener, "flake_before($above, PAYLOAD)", 'a prepared row alone is announced');

# a reader that reads after notifications alone ------------------------------------------------------------------------

my @work = (
	'INSERT INTO outbox DEFAULT VALUES; PERFORM pg_sleep(random() / 50)',
	'INSERT INTO outbox DEFAULT VALUES; PERFORM pg_sleep(random() / 5)',
	'INSERT INTO outbox DEFAULT VALUES; IF random() < 0.5 THEN ROLLBACK; END IF; PERFORM pg_sleep(random() / 100)',
	'INSERT INTO outbox SELECT FROM generate_series(1, 20); PERFORM pg_sleep(random() / 20)');
my @writers = map { session($node) } @work;
becomes_quiet($listener);
my $reader = session($node);
my $last = $reader->query_safe('SELECT max(id) FROM outbox');
begin_in($writers[$_],
	"DO \$\$ BEGIN WHILE NOT EXISTS (SELECT FROM stop) LOOP $work[$_]; COMMIT; END LOOP; END \$\$")
  for 0 .. $#work;
my ($stopped, $notified, @read) = (0, 0);
my $begun = time();
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;

while (time() < $until) {
	my @payloads = payloads($listener);
	if (@payloads) {
		$notified += @payloads;
		my @ids = split /\n/,
		  $reader->query_safe("SELECT id FROM outbox WHERE id > "
			  . ($read[-1] // $last)
			  . " AND id < timestamptz '$payloads[-1]' ORDER BY id");
		push @read, @ids;
	}
	if (!$stopped && @read > 2000) {
		$node->safe_psql('postgres', 'INSERT INTO stop DEFAULT VALUES');
		ended_in($_), $_->quit for @writers;
		$stopped = time();
	}
	last if $stopped && $read[-1] eq $node->safe_psql('postgres', 'SELECT max(id) FROM outbox');
	sleep 0.01;
}
is( join("\n", @read),
	$node->safe_psql('postgres', "SELECT id FROM outbox WHERE id > $last ORDER BY id"),
	'a reader that reads after notifications alone reads each row once, in order');
cmp_ok(
	$notified, '<=',
	(time() - $begun) / 0.02 + 1,
	'there is no more than one notification in an interval');
$node->safe_psql('postgres', 'TRUNCATE stop');
$reader->quit;

# databases ------------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE "Other, one"');
my $elsewhere = session($node, 'Other, one');
$elsewhere->query_safe('LISTEN flakeid');
becomes_quiet($listener);
$writer->query_safe('INSERT INTO outbox DEFAULT VALUES');
is_notified($listener, 'true', 'the named database is told');
is(join(' ', payloads($elsewhere)), '', 'another database is not told');
reload_with($node, notify_databases => 'postgres, "Other, one"');
ok( $node->poll_query_until(
		'postgres',
		q(SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'flakeid notifier')),
	'a database that a reload adds gets a notifier');
$writer->query_safe('INSERT INTO outbox DEFAULT VALUES');
is_notified($elsewhere, 'PAYLOAD IS NOT NULL', 'a database without the extension can be told');
reload_with($node, notify_databases => 'postgres, nowhere');
ok( $node->poll_query_until(
		'postgres',
		q(SELECT string_agg(datname, ' ') = 'postgres' FROM pg_stat_activity WHERE backend_type = 'flakeid notifier')
	),
	'a database that a reload removes loses its notifier');
ok( $node->poll_query_until(
		'postgres',
		q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'flakeid watermark')),
	'a database that does not exist ends no other worker');
ok($node->wait_for_log(qr/FATAL:  database "nowhere" does not exist/),
	'the log says that a database does not exist');
$elsewhere->quit;
is(error_of($node, 'DROP DATABASE "Other, one"'),
	'', 'a database can be dropped when the setting does not name it');

for my $invalid ('a b', 'a,', '"a', 'a b, c', 'x' x 64, '""', 'a,,b') {
	like(
		error_of($node, "ALTER SYSTEM SET flakeid.notify_databases = '$invalid'"),
		qr/invalid value for parameter "flakeid\.notify_databases"/,
		"the setting refuses '$invalid'");
}

# workers --------------------------------------------------------------------------------------------------------------

reload_with($node, notify_databases => '');
ok( $node->poll_query_until(
		'postgres',
		q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type ~ '^flakeid (watermark|notifier)')
	),
	'without databases there is no worker');
reload_with($node, notify_databases => 'postgres');
is(workers(), '', 'a reload alone starts no worker');
my $fresh = session($node);
$id = $fresh->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
is_notified(
	$listener,
	"flake_before($id, PAYLOAD)",
	'the first ID after the reload starts it, and is announced');
is(workers(), 'flakeid notifier postgres, flakeid watermark', 'both workers run then');

for my $worker ('flakeid notifier', 'flakeid watermark') {
	my $pid = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = '$worker'");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	ok( $node->poll_query_until(
			'postgres',
			"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = '$worker' AND pid <> $pid"
		),
		"a $worker that was terminated is replaced");
	$id = $fresh->query_safe('INSERT INTO outbox DEFAULT VALUES RETURNING id');
	is_notified($listener, "flake_before($id, PAYLOAD)", "rows are announced after that ($worker)");
	ok( $node->poll_query_until(
			'postgres',
			q(SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type ~ '^flakeid (watermark|notifier)')
		),
		"there is one worker of each kind after that ($worker)");
}
my $killed = $node->safe_psql('postgres',
	q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid watermark'));
$node->safe_psql('postgres', 'ALTER SYSTEM SET restart_after_crash = on; SELECT pg_reload_conf()');
kill 'KILL', $killed;
wait_for_server($node);
$_->{run}->kill_kill for $writer, $listener, $later, $fresh;
$listener = session($node);
$listener->query_safe('LISTEN flakeid');
$id = $node->safe_psql('postgres', 'INSERT INTO outbox DEFAULT VALUES RETURNING id');
is_notified($listener, "flake_before($id, PAYLOAD)", 'rows are announced after a crash');
$listener->quit;
$node->restart;
ok( $node->poll_query_until(
		'postgres',
		q(SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type ~ '^flakeid (watermark|notifier)')
	),
	'both workers run after a restart');
$node->stop;

done_testing;
