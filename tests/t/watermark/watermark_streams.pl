# Each stream of IDs has a watermark of its own: a transaction that has no ID of a stream does not hold it back. The stress
# test with an oracle is watermark/stream_readers.pl.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('streams', <<'END');
log_statement = none
max_prepared_transactions = 10
wal_level = replica
max_wal_senders = 4
flakeid.streams = 'outbox, audit'
END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE bulk (id flake PRIMARY KEY DEFAULT flake_next(), nr integer);
CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next_in('outbox'), nr integer);
CREATE TABLE audit (id uuid PRIMARY KEY DEFAULT uuidv7_next_in('audit'), nr integer);
CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_next(), nr integer);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO outbox (nr) VALUES (new.nr); RETURN new; END';
CREATE TRIGGER tell AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell();
SQL

my ($writer, $other, $reader, $observer) = map { session($node) } 1 .. 4;

# Inserts a row in a session, and returns the time of its ID.
my %time_of = (
	bulk => 'id::timestamptz',
	outbox => 'id::timestamptz',
	audit => 'uuidv7_timestamp(id)',
	orders => 'id::timestamptz');

sub insert_row {
	my ($session, $table) = @_;
	return $session->query_safe(
		"INSERT INTO $table (nr) VALUES (1) RETURNING " . in_micros($time_of{$table}));
}

sub streams_held {
	return $observer->query_safe(
		"SELECT coalesce(streams::text, 'all') FROM pg_stat_flakeid_watermark ORDER BY first_id_at"
	);
}

# a long COPY ----------------------------------------------------------------------------------------------------------

# The COPY has read more rows than a pipe holds, and then waits for the test.
my $fifo = PostgreSQL::Test::Utils::tempdir('streams') . '/fifo';
POSIX::mkfifo($fifo, 0600) or die "could not create $fifo: $!";
begin_in($writer, "COPY bulk (nr) FROM PROGRAM 'seq 100000; cat $fifo'");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_flakeid_watermark WHERE streams = '{flake}'")
  or die 'the COPY does not begin';
my $during = clock_in($observer);
passes($observer, $during, "a COPY into another table does not hold the watermark of a stream",
	'outbox');
passes($observer, $during,
	'a COPY of flakes does not hold the watermark of the IDs of another type', 'uuidv7');
is_held($observer, $during, 'the COPY holds the watermark of all IDs');
is_held($observer, $during, 'the COPY of flakes holds the watermark of flakes', 'flake');

for my $nr (1 .. 3) {
	my $time = insert_row($other, 'outbox');
	passes($observer, $time, "during the COPY the watermark passes row $nr of the stream",
		'outbox');
	is($reader->query_safe("SELECT count(*) FROM outbox WHERE id < flakeid_watermark('outbox')"),
		$nr, "during the COPY a reader of the stream reads row $nr");
}
is($reader->query_safe('SELECT count(*) FROM outbox WHERE id < flakeid_watermark()'),
	'0', 'a reader with the watermark of all IDs waits for the COPY');
open my $pipe, '>', $fifo or die "could not open $fifo: $!";
close $pipe;
ended_in($writer);
passes($observer, $during, 'after the COPY the watermark of all IDs goes on');

# which transaction holds which stream ---------------------------------------------------------------------------------

$writer->query_safe('BEGIN');
my $time = insert_row($writer, 'outbox');
is_held($observer, $time, 'a row of a stream holds the watermark of the stream', 'outbox');
is_held($observer, $time, 'a row of a stream holds the watermark of its ID type', 'flake');
is_held($observer, $time, 'a row of a stream holds the watermark of all IDs');
passes($observer, $time, 'a row of a stream does not hold the watermark of another stream',
	'audit');
passes($observer, $time, 'a row of a stream does not hold the watermark of another ID type', 'sno');
is(streams_held(), '{flake,outbox}', 'the view has the streams of a transaction');
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

# A trigger writes into the table of a stream.
$writer->query_safe('BEGIN');
insert_row($writer, 'orders');
$time = clock_in($writer);
is_held($observer, $time, 'a trigger that inserts into the table of a stream holds the stream',
	'outbox');
is(streams_held(), '{flake,sno,outbox}', 'the view has the stream of the trigger, too');
$writer->query_safe('ROLLBACK');

# A savepoint to which a transaction rolls back.
$writer->query_safe('BEGIN; SAVEPOINT s');
$time = insert_row($writer, 'outbox');
$writer->query_safe('ROLLBACK TO s');
is_held($observer, $time, 'a rollback to a savepoint does not let the stream go on', 'outbox');
$time = insert_row($writer, 'outbox');
$writer->query_safe('COMMIT');
passes($observer, $time, 'a transaction with a savepoint holds the stream until its end', 'outbox');

# An ID that is in no row.
$writer->query_safe("BEGIN; SELECT sno_next_in('audit')");
$time = clock_in($writer);
is_held($observer, $time, 'an ID without a row holds the watermark of its stream', 'audit');
is(streams_held(), '{sno,audit}', 'a stream can have IDs of several types');
$writer->query_safe('COMMIT');

# guid and guid_local have the same IDs.
$writer->query_safe('BEGIN; SELECT guid_local_next()');
$time = clock_in($writer);
is_held($observer, $time, 'a guid_local holds the watermark of guid_local', 'guid_local');
is_held($observer, $time, 'a guid_local holds the watermark of guid', 'guid');
passes($observer, $time, 'a guid_local does not hold the watermark of flake128', 'flake128');
$writer->query_safe('COMMIT');

# Each type in a stream.
for my $next (
	'flake_next_in(%s)', 'sno_next_in(%s, 7)',
	'flake128_next_in(%s)', "guid_next_in(%s, '1 hour')",
	'guid_local_next_in(%s)', 'uniqueid_next_in(%s)',
	'uuidv7_next_in(%s)')
{
	my $call = sprintf $next, "'audit'";
	$writer->query_safe("BEGIN; SELECT $call");
	$time = clock_in($writer);
	is_held($observer, $time, "$call holds its stream", 'audit');
	passes($observer, $time, "$call does not hold another stream", 'outbox');
	$writer->query_safe('COMMIT');
	like(
		error_in($writer, 'SELECT ' . sprintf $next, "'other'"),
		qr/ERROR:  42704: stream "other" is not in "flakeid\.streams"/,
		"$next refuses a stream that is not listed");
}

# prepared transactions ------------------------------------------------------------------------------------------------

$writer->query_safe('BEGIN');
$time = insert_row($writer, 'bulk');
$writer->query_safe("PREPARE TRANSACTION 'p'");
is_held($observer, $time, "a prepared transaction holds the stream $_", $_)
  for 'outbox', 'audit', 'flake', 'sno';
is(streams_held(), 'all', 'the view has no streams for a prepared transaction, which holds all');
$_->quit for $writer, $other, $reader, $observer;
$node->stop;
$clock->start;
($writer, $other, $reader, $observer) = map { session($node) } 1 .. 4;
is_held($observer, $time, "a prepared transaction holds the stream $_ after a restart", $_)
  for 'outbox', 'sno';
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
passes($observer, $time, 'after COMMIT PREPARED the watermark of a stream goes on', 'outbox');

# one statement, one watermark of each stream --------------------------------------------------------------------------

# An open transaction holds the watermark of all IDs. So that is the same in all statements.
$other->query_safe('BEGIN');
my $held = insert_row($other, 'bulk');
clock_passes($observer, $held);

my ($outbox, $audit, $all) = map { watermark_of($_) } 'outbox', 'audit', undef;
is( $reader->query_safe(
		"SELECT count(DISTINCT (a, b, c)) FROM (SELECT $outbox AS a, $audit AS b, $all AS c, pg_sleep(0.01) FROM generate_series(1, 5)) AS s"
	),
	'1',
	'a statement has one watermark of each stream');
is($reader->query_safe("SELECT $outbox > $all"),
	't', 'a statement can ask for the watermark of a stream, and for that of all IDs');
is( $reader->query_safe(
		"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM outbox WHERE id < flakeid_watermark('outbox')"
	) =~ /Index Cond|Recheck Cond|Filter/ ? 1 : 0,
	1,
	'EXPLAIN ANALYZE can ask for the watermark of a stream');

# A cursor keeps its watermarks, beside statements of the same transaction that get later ones.
for my $what ('outbox', 'audit') {
	$reader->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT "
		  . watermark_of($what)
		  . ' FROM generate_series(1, 10)');
	my $told = $reader->query_safe('FETCH 1 FROM c');
	for my $turn (1 .. 3) {
		clock_passes($observer, clock_in($observer));
		cmp_ok(watermark_in($reader, $what),
			'>', $told,
			"a later statement of the transaction gets a later watermark of $what (turn $turn)");
		is($reader->query_safe('FETCH 1 FROM c'),
			$told, "the cursor keeps its watermark of $what (turn $turn)");
	}
	is( $reader->query_safe("SELECT $all"),
		$reader->query_safe("SELECT $all"),
		'the watermark of all IDs is still held');
	$reader->query_safe('COMMIT');
}

# A cursor that asks for a second stream late.
$reader->query_safe(
	"BEGIN; DECLARE c CURSOR FOR SELECT CASE WHEN nr = 1 THEN $outbox ELSE $audit END FROM generate_series(1, 3) AS nr"
);
$reader->query_safe('FETCH 1 FROM c');
my $written = insert_row($writer, 'audit');
clock_passes($observer, $written);
cmp_ok($reader->query_safe('FETCH 1 FROM c'), '<=', $written,
	'a stream that a cursor asks for late has no watermark past a row that its snapshot does not see'
);
$reader->query_safe('COMMIT');
passes($reader, $written, 'a new statement has a watermark past that row', 'audit');

$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION inner_watermark() RETURNS bigint LANGUAGE plpgsql STABLE AS \$\$ BEGIN RETURN $outbox; END \$\$;
SQL
is($reader->query_safe("SELECT $outbox = inner_watermark() FROM pg_sleep(0.01)"),
	't', 'a STABLE function has the watermark of the statement that calls it');
is( $reader->query_safe(
		"SELECT count(DISTINCT w) FROM (SELECT $outbox AS w FROM generate_series(1, 5), pg_sleep(0.01)) AS s"
	),
	'1',
	'a join has one watermark of a stream');

# A snapshot that does not see a row ------------------------------------------------------------------------------------

for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM outbox");
	$time = insert_row($writer, 'outbox');
	clock_passes($observer, $time);
	cmp_ok(watermark_in($reader, 'outbox'),
		'<=', $time,
		"$level: the watermark of a stream is not past a row that the snapshot does not see");
	cmp_ok(watermark_in($reader, 'audit'),
		'>', $time, "$level: the watermark of another stream is past that row");
	# The slot forgets the row's transaction, as the session goes on with others.
	$writer->query_safe(
		"DO 'BEGIN FOR nr IN 1 .. 300 LOOP INSERT INTO audit (nr) VALUES (nr); COMMIT; END LOOP; END'"
	);
	cmp_ok(watermark_in($reader, 'outbox'),
		'<=', $time, "$level: the same is true in a later statement");
	$reader->query_safe('COMMIT');

	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM outbox");
	$time = insert_row($writer, 'outbox');
	$writer->query_safe(
		"DO 'BEGIN FOR nr IN 1 .. 300 LOOP INSERT INTO audit (nr) VALUES (nr); COMMIT; END LOOP; END'"
	);
	clock_passes($observer, $time);
	cmp_ok(watermark_in($reader, 'outbox'), '<=', $time,
		"$level: it is not past the row if 300 transactions of another stream came before the first question"
	);
	$reader->query_safe('COMMIT');
	passes($reader, $time, "$level: the next transaction goes on", 'outbox');
}

# A statement whose table was rewritten has none later than 1970.
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM audit');
$writer->query_safe('ALTER TABLE outbox ALTER COLUMN nr TYPE bigint');
is( $reader->query_safe(
		"SELECT count(*), max($outbox) FROM outbox WHERE id < flakeid_watermark('outbox')"),
	'0|',
	'a snapshot from before a rewrite reads nothing');
is(watermark_in($reader, 'outbox'),
	'0', 'the watermark of a stream for that snapshot is that of 1970');
$reader->query_safe('COMMIT');
$other->query_safe('COMMIT');

# Many statements of one transaction.
my $memory = sub {
	my $pid = $reader->query_safe('SELECT pg_backend_pid()');
	my ($kilobytes) = slurp_file("/proc/$pid/status") =~ /^VmData:\s+(\d+)/m
	  or die 'there is no size';
	return $kilobytes;
};
my $ask_often = sub {
	my ($times) = @_;
	$reader->query_safe(
		"DO 'BEGIN FOR nr IN 1 .. $times LOOP PERFORM flakeid_watermark(''outbox''), flakeid_watermark(''audit''), flakeid_watermark(); END LOOP; END'"
	);
};
$ask_often->(10_000);
my $before = $memory->();
$ask_often->(200_000);
cmp_ok($memory->() - $before,
	'<', 4096, 'a transaction with 200,000 statements keeps no watermark of those that have ended');

# Parallel workers -----------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION wrongly_safe() RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE AS 'BEGIN RETURN flakeid_watermark(''outbox''); END';
CREATE FUNCTION wrongly_safe_next() RETURNS flake LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN flake_next_in(''outbox''); END';
CREATE TABLE many AS SELECT nr FROM generate_series(1, 100000) AS nr;
ANALYZE many;
SQL
$reader->query_safe(
	'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off'
);
like(
	error_in($reader, 'SELECT count(wrongly_safe()) FROM many'),
	qr/ERROR:  25000: cannot execute flakeid_watermark\(\) during a parallel operation/,
	'a parallel worker gets no watermark of a stream');
like(
	error_in($reader, 'SELECT count(wrongly_safe_next()) FROM many'),
	qr/ERROR:  25000: cannot execute flake_next\(\) during a parallel operation/,
	'a parallel worker generates no ID of a stream');
is( $reader->query_safe(
		"SELECT count(DISTINCT id) FROM (SELECT flake_next_in('outbox') AS id FROM many) AS s"),
	'100000',
	'the leader of a parallel query generates IDs of a stream');

# A clock that stands still: two transactions with the same bound -------------------------------------------------------

$clock->stand_still(time() + 1);
$writer->query_safe('SELECT flake_next(); SELECT uuidv7_next()');
$writer->query_safe('BEGIN; SELECT uuidv7_next()');
$writer->query_safe('SELECT flake_next()');
is(streams_held(), '{flake,uuidv7}',
	'a transaction enters the stream of each ID type, also if its bound is that of the last transaction'
);
$clock->step(2);
$time = clock_in($observer);
is_held($observer, $time, 'its second type holds the watermark of that type', 'flake');
$writer->query_safe('COMMIT');

# The clock steps back: no ID of a stream is below a watermark of the stream.
passes($observer, clock_in($observer), 'a watermark of the stream was told before the step back',
	'outbox');
my $told = watermark_in($observer, 'outbox');
$writer->query_safe('BEGIN; SELECT sno_next()');
$clock->step(1.8);
cmp_ok(insert_row($writer, 'outbox'),
	'>=', $told,
	'the first ID of a stream after a step back is not below the watermark of the stream');
cmp_ok(
	insert_row($writer, 'orders'),
	'>=',
	$told - 4000,
	'the next ID of another type is not below the bound of the stream');
$writer->query_safe('COMMIT');

# The setting ----------------------------------------------------------------------------------------------------------

my %refused = (
	'a, a' => '"a" is listed twice.',
	'flake' => '"flake" is the stream of an ID type.',
	'a,,b' => '"" is not a name of 1 to 63 letters, digits, and characters of "_-.".',
	'a b' => '"a b" is not a name of 1 to 63 letters, digits, and characters of "_-.".',
	'x' x 64 => '"'
	  . 'x' x 64
	  . '" is not a name of 1 to 63 letters, digits, and characters of "_-.".',
	join(',', 1 .. 26) => 'It lists 26 streams. The limit is 25.',);
for my $value (sort keys %refused) {
	like(
		error_in($observer, "ALTER SYSTEM SET flakeid.streams = '$value'"),
		qr/invalid value for parameter "flakeid\.streams".*DETAIL:  \Q$refused{$value}\E/s,
		"flakeid.streams = '$value' is refused");
}
like(
	error_in($observer, "SET flakeid.streams = 'mine'"),
	qr/ERROR:  55P02/,
	'a session cannot list streams');
like(
	error_in($observer, "SELECT flake_next_in('flake')"),
	qr/ERROR:  42704.*HINT:  This is the stream of an ID type: call a function without a stream\./s,
	'the name of an ID type is no named stream');
like(
	error_in($observer, "SELECT flakeid_watermark('mine')"),
	qr/ERROR:  42704: stream "mine" is not in "flakeid\.streams".*HINT:  Correct the name, or add it to the setting/s,
	'there is no watermark of a stream that is not listed');
is( $observer->query_safe('SELECT flakeid_watermark(NULL) IS NULL AND flake_next_in(NULL) IS NULL'),
	't', 'a stream that is NULL gives NULL');

# A name leaves the setting, and others come before it.
$writer->query_safe('BEGIN');
$time = insert_row($writer, 'outbox');
reload_with($node, streams => 'new, audit');
like(
	error_in($reader, "SELECT flakeid_watermark('outbox')"),
	qr/ERROR:  42704/,
	'a stream that has left the setting has no watermark');
is(streams_held(), '{flake,outbox}', 'the view has the name of a stream that has left the setting');
passes($observer, $time, 'a new stream is not held by a transaction of the one that has left',
	'new');
reload_with($node, streams => 'new, other, outbox');
is_held($observer, $time, 'a stream that comes back is held by transactions from before', 'outbox');
$writer->query_safe('COMMIT');
passes($observer, $time, 'a stream that comes back goes on', 'outbox');

# The places of names.
my $used = 25 - 3;
reload_with($node, streams => join ', ', map { "s$_" } 1 .. $used);
$reader->query_safe("SELECT flakeid_watermark('s$_')") for 1 .. $used;
reload_with($node, streams => 'one');
like(
	error_in($reader, "SELECT flakeid_watermark('one')"),
	qr/ERROR:  54000: too many streams since the server started.*DETAIL:  The limit is 25 named streams\..*HINT:  Restart the server\./s,
	'a name without a place is an error');
like(
	error_in($reader, "SELECT flake_next_in('one')"),
	qr/ERROR:  54000: too many streams since the server started/,
	'a call with a name without a place is an error');
$_->quit for $writer, $other, $reader, $observer;
$node->stop;
$clock->start;
is($node->safe_psql('postgres', "SELECT flakeid_watermark('one') < clock_timestamp()"),
	't', 'a restart frees the places');

# A standby ------------------------------------------------------------------------------------------------------------

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
like(
	error_of($standby, "SELECT flakeid_watermark('one')"),
	qr/ERROR:  55000: this standby has replayed no watermark of its primary/,
	'a standby that has replayed no watermark has none of a named stream');
reload_with($node, standby_watermark_interval => '20ms');
# The first ID after the reload starts the worker that writes it.
$node->safe_psql('postgres', 'SELECT flake_next()');
ok($standby->poll_query_until('postgres', 'SELECT flakeid_watermark() IS NOT NULL'),
	'a standby replays a watermark');
is( $standby->safe_psql(
		'postgres',
		"SELECT flakeid_watermark('one') = flakeid_watermark() AND flakeid_watermark('flake') = flakeid_watermark()"
	),
	't',
	'on a standby the watermark of a stream is that of all IDs');
$standby->stop;
$node->stop;

done_testing();
