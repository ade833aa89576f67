# A snapshot that is taken while a transaction is open does not see its rows, whenever that
# transaction ends, nor those of later transactions. However many these are, the watermark of the
# snapshot is not above their IDs. And the watermarks of later snapshots do not fall.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('snapshots', "autovacuum = off\n");
my ($writer, $other, $reader, $observer) = map { session($node) } 1 .. 4;

sub begin_snapshot {
	my ($session, $level) = @_;
	$session->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM pg_class");
	return;
}

# Tests that other sessions are past an ID, and a snapshot that does not see it is not.
sub only_others_pass {
	my ($time) = @_;
	passes($observer, $time, 'other sessions are past an ID that is committed');
	is_held($reader, $time, 'an old snapshot is not past it');
	return;
}

for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	for my $id_type (@ID_TYPES) {
		subtest "$id_type->{name}, $level: an old snapshot has a watermark that holds for it" =>
		  sub {
			$writer->query_safe('BEGIN');
			my $open = insert_into($writer, $id_type);
			begin_snapshot($reader, $level);
			$writer->query_safe('COMMIT');
			is_held($reader, $open, 'a snapshot from before a commit is not past the ID');
			only_others_pass($open);
			$reader->query_safe('COMMIT');
			passes($reader, $open, 'the next transaction of the session is past the ID');

			my $before = watermark_in($observer);
			begin_snapshot($reader, $level);
			my $later = insert_into($writer, $id_type);
			is_held($reader, $later, 'a snapshot is not past an ID that was generated later');
			only_others_pass($later);
			cmp_ok(watermark_in($reader), '>=', $before,
				'the watermark of a snapshot is not before what others had when it was taken');
			$reader->query_safe('COMMIT');
		  };
	}
}

# A snapshot can name 64 subtransactions of a transaction.
for my $savepoints (1, 3, 100) {
	$writer->query_safe('BEGIN');
	my ($first) = map {
		$writer->query_safe("SAVEPOINT s$_");
		insert_into($writer, $FLAKE)
	} 1 .. $savepoints;
	begin_snapshot($reader, 'REPEATABLE READ');
	is_held($reader, $first, "$savepoints open subtransactions hold the watermark");
	$writer->query_safe('COMMIT');
	passes($observer, $first, "$savepoints subtransactions hold the watermark until they end");
	is_held($reader, $first,
		"$savepoints subtransactions that have ended hold that of an older snapshot");
	$reader->query_safe('COMMIT');
}

# A slot forgets what transactions in it did some time ago.
my $script = PostgreSQL::Test::Utils::tempdir('many') . '/script';
append_to_file($script, "INSERT INTO flakes DEFAULT VALUES;\n");
my $greatest = 'SELECT ' . in_micros('max(flake_timestamp(id))') . ' FROM flakes';

sub many_transactions {
	my ($sessions, $transactions, $has_open) = @_;
	passes($observer, $observer->query_safe($greatest), 'the watermark is past all rows before');
	my $before = watermark_in($observer);
	$other->query_safe('BEGIN') if $has_open;
	my $unseen = $has_open && insert_into($other, $FLAKE);
	begin_snapshot($reader, 'REPEATABLE READ');
	my $newest = $reader->query_safe('SELECT max(id) FROM flakes');
	$node->run_log(
		[
			'pgbench', '-n', '-c', $sessions, '-j', 1, '-t', $transactions, '-f', $script,
			$node->connstr('postgres')
		]) or die 'pgbench failed';
	$other->query_safe('COMMIT') if $has_open;
	my $first =
	  'SELECT ' . in_micros('min(flake_timestamp(id))') . " FROM flakes WHERE id > $newest";
	$unseen ||= $observer->query_safe($first);
	is_held($reader, $unseen, 'an old snapshot is not past an ID that it does not see');
	cmp_ok(watermark_in($reader), '>=', $before,
		'the watermark of an old snapshot is not before what others had when it was taken');
	passes($observer, $observer->query_safe($greatest), 'other sessions are past all IDs');
	is_held($reader, $unseen, 'an old snapshot is not past the IDs when others are');
	my $new_rows =
	  "SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark()) AND id > $newest";
	is($reader->query_safe($new_rows), '0', 'an old snapshot reads none of the new rows');
	$reader->query_safe('COMMIT');
	is( $reader->query_safe($new_rows),
		$sessions * $transactions + ($has_open ? 1 : 0),
		'the next snapshot reads all new rows');
	return;
}
for my $case (
	[ 'many transactions of one session', 1, 400 ],
	[ 'many transactions of many sessions', 40, 10 ],
	[ 'many transactions beside one that is open', 1, 400, 1 ])
{
	my ($what, @how) = @$case;
	subtest "after $what an old snapshot has a watermark that holds" =>
	  sub { many_transactions(@how) };
}

$writer->query_safe('BEGIN');
my $time = insert_into($writer, $FLAKE);
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $exported = $reader->query_safe('SELECT pg_export_snapshot()');
$writer->query_safe('COMMIT');
passes($observer, insert_into($writer, $FLAKE), 'other sessions are past rows after an export');
$other->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$exported'");
is_held($other, $time, 'a transaction that imports an old snapshot is not past a row after it');
is_held($reader, $time, 'a transaction that has exported its snapshot is not past a row after it');
$_->query_safe('COMMIT') for $reader, $other;

# Sessions compare what they see with what others have seen before.
my ($callers, $calls) = (3, 1000);
$node->safe_psql('postgres', "CREATE SEQUENCE seen_$_ MINVALUE 0") for 1 .. $callers;
my $seen = join ', ', map { "(SELECT last_value FROM seen_$_)" } 1 .. $callers;
my @callers = map {
	{
		declare => 'seen bigint; at bigint; falls integer := 0;',
		rounds => 10,
		round => <<~"SQL",
			FOR time IN 1 .. $calls / 10 LOOP
				SELECT greatest($seen) INTO seen;
				at := $WATERMARK;
				falls := falls + (at < seen)::integer;
				PERFORM setval('seen_$_', at);
			END LOOP
			SQL
		after => q{RAISE INFO 'falls: %', falls;}
	}
} 1 .. $callers;
# Fewer transactions than a slot keeps: for what it has forgotten the watermark may be lower.
my @writers = map { { round => <<~"SQL" } } @ID_TYPES;
	IF round < 2 THEN
		FOR nr IN 1 .. 50 LOOP
			INSERT INTO $_->{name}s DEFAULT VALUES;
			IF random() < 0.1 THEN PERFORM pg_sleep(0.001); END IF;
			COMMIT;
		END LOOP;
	ELSE
		PERFORM pg_sleep(0.01);
	END IF
	SQL
my @said = at_once($node, @callers, @writers);
like($said[ $_ - 1 ],
	qr/falls: 0$/m, "in $calls calls beside writers the watermark does not fall, caller $_")
  for 1 .. $callers;

$_->quit for $writer, $other, $reader, $observer;
$node->stop;
done_testing();
