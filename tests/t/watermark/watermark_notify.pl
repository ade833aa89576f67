# NOTIFY flakeid: a worker announces the watermark when rows are below it that were not below the
# last one, and no more often than the interval says. A reader that reads after each notification,
# and at no other time, reads each row once, in order.
use strict;
use warnings;
use lib 'tests/perl';

use Notifications;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $node = start_notifier();
my $listener = listener_in($node);
my ($writer, $other) = map { session($node) } 1 .. 2;
$writer->query_safe('CREATE TABLE without_ids (x int)');

is_announced($node, $listener, insert_id($writer),
	'a row is announced, with a watermark after its ID');

# What was announced before may come late, and that takes a transaction ID. So it is tried some
# times.
my (@announced, $xids);
for (1 .. 30) {
	becomes_quiet($listener);
	my $xid = $other->query_safe('SELECT pg_current_xact_id()');
	$writer->query_safe('INSERT INTO without_ids VALUES (1)');
	$writer->query_safe('SELECT flake_next()');
	$writer->query_safe('BEGIN; INSERT INTO outbox DEFAULT VALUES; ROLLBACK');
	clock_passes($writer, clock_in($writer) + 200_000);
	$xids = $other->query_safe("SELECT pg_current_xact_id()::text::bigint - $xid");
	@announced = payloads($listener);
	last if !@announced && $xids == 3;
}
is("@announced", '', 'nothing is announced after transactions without an ID or without a row');
is($xids, 3, 'the worker uses no transaction IDs on a server without new rows');

$writer->query_safe('BEGIN');
insert_id($writer);
my $id = insert_id($other);
clock_passes($other, clock_in($other) + 200_000);
is((grep { $other->query_safe("SELECT flake_before($id, '$_')") eq 't' } payloads($listener)),
	0, 'a row is not announced while an earlier transaction is open');
$writer->query_safe('COMMIT');
is_announced($node, $listener, $id, 'both rows are announced when that transaction has ended');

sub prepare {
	$writer->query_safe('BEGIN');
	my $id = insert_id($writer);
	$writer->query_safe("PREPARE TRANSACTION 'prepared'");
	becomes_quiet($listener);
	return $id;
}
prepare();
$id = insert_id($other);
$other->query_safe("COMMIT PREPARED 'prepared'");
is_announced($node, $listener, $id, 'a row is announced after COMMIT PREPARED');
becomes_quiet($listener);
# Nothing but the end of the prepared transaction happens.
$id = prepare();
$other->query_safe("COMMIT PREPARED 'prepared'");
is_announced($node, $listener, $id, 'a prepared row alone is announced');

subtest 'a reader reads after notifications alone' => sub {
	my @work = (
		'INSERT INTO outbox DEFAULT VALUES; PERFORM pg_sleep(random() / 50)',
		'INSERT INTO outbox DEFAULT VALUES; PERFORM pg_sleep(random() / 5)',
		'INSERT INTO outbox DEFAULT VALUES; IF random() < 0.5 THEN ROLLBACK; END IF;'
		  . ' PERFORM pg_sleep(random() / 100)',
		'INSERT INTO outbox SELECT FROM generate_series(1, 20); PERFORM pg_sleep(random() / 20)');
	my @writers = map { session($node) } @work;
	$other->query_safe('CREATE TABLE stop ()');
	becomes_quiet($listener);
	my $first = $other->query_safe('SELECT max(id) FROM outbox');
	# The first writer begins some time before the last.
	my $begun = time();
	begin_in($writers[$_], <<~"SQL") for 0 .. $#work;
		DO \$\$ BEGIN
			WHILE NOT EXISTS (SELECT FROM stop) LOOP $work[$_]; COMMIT; END LOOP;
		END \$\$
		SQL
	my ($notified, $stopped, @read) = (0);
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;

	while (time() < $until) {
		my @payloads = payloads($listener);
		if (@payloads) {
			$notified += @payloads;
			my $last = $read[-1] // $first;
			push @read, split /\n/, $other->query_safe(<<~"SQL");
				SELECT id FROM outbox
				WHERE id > $last AND id < timestamptz '$payloads[-1]' ORDER BY id
				SQL
		}
		if (!$stopped && @read > 2000) {
			$other->query_safe('INSERT INTO stop DEFAULT VALUES');
			ended_in($_), $_->quit for @writers;
			$stopped = 1;
		}
		last if $stopped && $read[-1] eq $other->query_safe('SELECT max(id) FROM outbox');
		sleep 0.01;
	}
	is( join("\n", @read),
		$other->query_safe("SELECT id FROM outbox WHERE id > $first ORDER BY id"),
		'a reader that reads after notifications alone reads each row once, in order');
	cmp_ok(
		$notified, '<=',
		(time() - $begun) / 0.02 + 1,
		'there is no more than one notification in an interval');
};

$_->quit for $listener, $writer, $other;
$node->stop;
done_testing;
