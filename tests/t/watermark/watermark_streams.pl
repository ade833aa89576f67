# Each stream of IDs has a watermark of its own. A transaction holds it from its first ID of the
# stream until its end, and does not hold the watermarks of other streams. A prepared transaction
# holds all. watermark/stream_readers.pl compares what readers of streams get with their tables.
use strict;
use warnings;
use lib 'tests/perl';

use POSIX ();
use PostgreSQL::Test::Utils;
use Server;
use Streams;
use Test::More;
use Watermark;

my $clock = start_streams();
my $node = $clock->node;
my ($writer, $other, $observer) = map { session($node) } 1 .. 3;

subtest 'a COPY into another table does not hold the watermark of a stream' => sub {
	# The COPY has read more rows than a pipe holds, and then waits for the test.
	my $fifo = PostgreSQL::Test::Utils::tempdir('streams') . '/fifo';
	POSIX::mkfifo($fifo, 0600) or die "could not create $fifo: $!";
	begin_in($writer, "COPY bulk (nr) FROM PROGRAM 'seq 100000; cat $fifo'");
	$node->poll_query_until('postgres', <<~'SQL') or die 'the COPY does not begin';
		SELECT count(*) = 1 FROM pg_stat_flakeid_watermark WHERE streams = '{flake}'
		SQL
	my $during = clock_in($observer);
	passes($observer, $during, 'the watermark of a stream goes on beside the COPY', 'outbox');
	passes($observer, $during,
		'a COPY of flakes does not hold the watermark of the IDs of another type', 'uuidv7');
	is_held($observer, $during, 'the COPY holds the watermark of all IDs');
	is_held($observer, $during, 'the COPY of flakes holds the watermark of flakes', 'flake');

	my $read = "SELECT count(*) FROM outbox WHERE id < flakeid_watermark";
	for my $nr (1 .. 3) {
		my $time = insert_row($other, 'outbox');
		passes($observer, $time, "during the COPY the watermark passes row $nr of the stream",
			'outbox');
		is($observer->query_safe("$read('outbox')"),
			$nr, "during the COPY a reader of the stream reads row $nr");
	}
	is($observer->query_safe("$read()"),
		'0', 'a reader with the watermark of all IDs waits for the COPY');
	open my $pipe, '>', $fifo or die "could not open $fifo: $!";
	close $pipe;
	ended_in($writer);
	passes($observer, $during, 'after the COPY the watermark of all IDs goes on');
};

$writer->query_safe('BEGIN');
my $time = insert_row($writer, 'outbox');
is_held($observer, $time, 'a row of a stream holds the watermark of the stream', 'outbox');
is_held($observer, $time, 'a row of a stream holds the watermark of its ID type', 'flake');
is_held($observer, $time, 'a row of a stream holds the watermark of all IDs');
passes($observer, $time, 'a row of a stream does not hold the watermark of another stream',
	'audit');
passes($observer, $time, 'a row of a stream does not hold the watermark of another ID type', 'sno');
is(streams_held($observer), '{flake,outbox}', 'the view has the streams of a transaction');
$writer->query_safe('COMMIT');
passes($observer, $time, 'after the commit the watermark of the stream goes on', 'outbox');

for my $end ('ROLLBACK', 'SELECT 1 / 0; ROLLBACK') {
	$writer->query_safe('BEGIN');
	$time = insert_row($writer, 'outbox');
	is_held($observer, $time, "before $end the watermark of the stream is held", 'outbox');
	error_in($writer, $end);
	passes($observer, $time, "after $end the watermark of the stream goes on", 'outbox');
}

# The first ID of a stream comes late in a transaction that has other IDs.
$writer->query_safe('BEGIN');
my $first = insert_row($writer, 'bulk');
clock_passes($observer, $first);
my $late = insert_row($writer, 'outbox');
is_held($observer, $first, 'a transaction holds the watermark of all IDs since its first ID');
passes($observer, $first,
	'a transaction holds a stream since its first ID there, and not since its first ID', 'outbox');
is_held($observer, $late, 'a transaction with other IDs holds a stream from its first ID there on',
	'outbox');
$writer->query_safe('COMMIT');

$writer->query_safe('BEGIN');
insert_row($writer, 'orders');
$time = clock_in($writer);
is_held($observer, $time, 'a trigger that inserts into the table of a stream holds the stream',
	'outbox');
is(streams_held($observer), '{flake,sno,outbox}', 'the view has the stream of the trigger, too');
$writer->query_safe('ROLLBACK');

$writer->query_safe('BEGIN; SAVEPOINT s');
$time = insert_row($writer, 'outbox');
$writer->query_safe('ROLLBACK TO s');
is_held($observer, $time, 'a rollback to a savepoint does not let the stream go on', 'outbox');
$time = insert_row($writer, 'outbox');
$writer->query_safe('COMMIT');
passes($observer, $time, 'a transaction with a savepoint holds the stream until its end', 'outbox');

$writer->query_safe("BEGIN; SELECT sno_next_in('audit')");
$time = clock_in($writer);
is_held($observer, $time, 'an ID without a row holds the watermark of its stream', 'audit');
is(streams_held($observer), '{sno,audit}', 'a stream can have IDs of several types');
$writer->query_safe('COMMIT');

# guid and guid_local have the same IDs.
$writer->query_safe('BEGIN; SELECT guid_local_next()');
$time = clock_in($writer);
is_held($observer, $time, 'a guid_local holds the watermark of guid_local', 'guid_local');
is_held($observer, $time, 'a guid_local holds the watermark of guid', 'guid');
passes($observer, $time, 'a guid_local does not hold the watermark of flake128', 'flake128');
$writer->query_safe('COMMIT');

for my $call (
	"flake_next_in('audit')", "sno_next_in('audit', 7)",
	"flake128_next_in('audit')", "guid_next_in('audit', '1 hour')",
	"guid_local_next_in('audit')", "uniqueid_next_in('audit')",
	"uuidv7_next_in('audit')")
{
	$writer->query_safe("BEGIN; SELECT $call");
	$time = clock_in($writer);
	is_held($observer, $time, "$call holds its stream", 'audit');
	passes($observer, $time, "$call does not hold another stream", 'outbox');
	$writer->query_safe('COMMIT');
	my $refused = $call =~ s/audit/other/r;
	like(
		error_in($writer, "SELECT $refused"),
		qr/ERROR:  42704: stream "other" is not in "flakeid\.streams"/,
		"$refused is refused, since the stream is not listed");
}

$writer->query_safe('BEGIN');
$time = insert_row($writer, 'bulk');
$writer->query_safe("PREPARE TRANSACTION 'p'");
is_held($observer, $time, "a prepared transaction holds the stream $_", $_)
  for 'outbox', 'audit', 'flake', 'sno';
is(streams_held($observer),
	'all', 'the view has no streams for a prepared transaction, which holds all');
$_->quit for $writer, $other, $observer;
$node->stop;
$clock->start;
$observer = session($node);
is_held($observer, $time, "a prepared transaction holds the stream $_ after a restart", $_)
  for 'outbox', 'sno';
$observer->query_safe("COMMIT PREPARED 'p'");
passes($observer, $time, 'after COMMIT PREPARED the watermark of a stream goes on', 'outbox');
$observer->quit;
$node->stop;

done_testing();
