# Each stream of IDs has a watermark of its own. A transaction holds it from its first ID of the
# stream until its end, also when the clock steps back, and does not hold the watermarks of other
# streams. A prepared transaction holds all. watermark_readers.pl has readers of streams.
use strict;
use warnings;
use lib 'tests/perl';

use POSIX ();
use PostgreSQL::Test::Utils;
use Server;
use Streams;
use Test::More;
use Time::HiRes qw(time);
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

# Tests which watermarks a transaction holds, and which streams the view has for it. Its work
# returns a time that these watermarks do not pass.
sub holds {
	my ($what, $work, $held, $others, $streams) = @_;
	$writer->query_safe('BEGIN');
	my $time = $work->();
	is_held($observer, $time, "$what holds the watermark of all IDs");
	is_held($observer, $time, "$what holds the watermark of $_", $_)        for @$held;
	passes($observer, $time, "$what does not hold the watermark of $_", $_) for @$others;
	is(streams_held($observer), $streams, "the view has the streams of $what");
	$writer->query_safe('COMMIT');
	passes($observer, $time, "after the commit $what does not hold the watermark of $_", $_)
	  for @$held;
	return;
}
holds(
	'a row of outbox',
	sub { insert_row($writer, 'outbox') },
	[ 'outbox', 'flake' ],
	[ 'audit', 'sno' ],
	'{flake,outbox}');
holds(
	'a trigger that inserts into outbox',
	sub { insert_row($writer, 'orders'); clock_in($writer) },
	[ 'outbox', 'flake', 'sno' ],
	['audit'], '{flake,sno,outbox}');
for my $call (
	"flake_next_in('audit')", "sno_next_in('audit', 7)",
	"flake128_next_in('audit')", "guid_next_in('audit', '1 hour')",
	"guid_local_next_in('audit')", "uniqueid_next_in('audit')",
	"uuidv7_next_in('audit')")
{
	my $type = $call =~ s/_next_in.*//r;
	my $other = $type eq 'flake128' ? 'sno' : 'flake128';
	# guid and guid_local have the same IDs.
	my $shown = $type =~ s/_local//r;
	holds(
		$call,
		sub { $writer->query_safe("SELECT $call"); clock_in($writer) },
		[ 'audit', $type, $shown ],
		[ 'outbox', $other ],
		"{$shown,audit}");
	my $refused = $call =~ s/audit/other/r;
	like(
		error_in($writer, "SELECT $refused"),
		qr/ERROR:  42704: stream "other" is not in "flakeid\.streams"/,
		"$refused is refused, since the stream is not listed");
}

for my $end ('ROLLBACK', 'SELECT 1 / 0; ROLLBACK') {
	$writer->query_safe('BEGIN');
	my $time = insert_row($writer, 'outbox');
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

$writer->query_safe('BEGIN; SAVEPOINT s');
my $time = insert_row($writer, 'outbox');
$writer->query_safe('ROLLBACK TO s');
is_held($observer, $time, 'a rollback to a savepoint does not let the stream go on', 'outbox');
$time = insert_row($writer, 'outbox');
$writer->query_safe('COMMIT');
passes($observer, $time, 'a transaction with a savepoint holds the stream until its end', 'outbox');

subtest 'a clock stands still, and steps back' => sub {
	# Two transactions have the same bound.
	$clock->stand_still(time() + 1);
	$writer->query_safe('SELECT flake_next(); SELECT uuidv7_next()');
	$writer->query_safe('BEGIN; SELECT uuidv7_next()');
	$writer->query_safe('SELECT flake_next()');
	is(streams_held($observer), '{flake,uuidv7}',
		'a transaction enters the stream of each type, also with the bound of the last transaction'
	);
	$clock->step(2);
	is_held($observer, clock_in($observer),
		'the second ID type of a transaction holds the watermark of that type', 'flake');
	$writer->query_safe('COMMIT');

	passes($observer, clock_in($observer), 'the watermark of a stream goes on before a step back',
		'outbox');
	my $before = watermark_in($observer, 'outbox');
	$writer->query_safe('BEGIN; SELECT sno_next()');
	$clock->step(1.8);
	cmp_ok(insert_row($writer, 'outbox'),
		'>=', $before,
		'the first ID of a stream after a step back is not below the watermark of the stream');
	cmp_ok(
		insert_row($writer, 'orders'),
		'>=',
		$before - 4000,
		'the next ID of another type is not below the bound of the stream');
	$writer->query_safe('COMMIT');
};

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
