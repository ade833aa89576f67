# Readers of streams, beside writers that commit late, roll back and prepare: each reader reads
# exactly the committed rows of its table, in order, each once, with the watermark of a stream. A
# transaction holds the watermark of all IDs back all the time.
#
# FLAKEID_WATERMARK_MINUTES says how long the writers go on, at least, in each of the two runs.
# Without it they go on until each of them and each reader has done enough. FLAKEID_SEED decides
# what the writers do. TEST_FILE_TIMEOUT has to be above the minutes of both runs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Crowd;
use FakedClock;
use ReaderCrowd;
use Server;
use Test::More;
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";

# Tables, their type, the calls for their IDs, and the streams by which they are read. Two tables
# are in one stream, and one stream has IDs of two types. A row of the orders can insert one into
# the outbox.
my @tables = (
	[ 'outbox', 'flake', "flake_next_in('events')", 'events', 'flake' ],
	[ 'changes', 'flake', "flake_next_in('events')", 'events' ],
	[ 'moves', 'sno', "sno_next_in('events')", 'events', 'sno' ],
	[ 'audit', 'uuid', "uuidv7_next_in('audit')", 'audit', 'uuidv7' ],
	[ 'plain', 'uuid', 'uuidv7_next()', 'uuidv7' ],
	[ 'objects', 'sno', 'sno_next()', 'sno' ],
	[ 'orders', 'flake', 'flake_next()', 'flake' ]);
my @reads = map {
	my ($table, $type, $next, @streams) = @$_;
	map {
		{
			table => $table,
			type => $type,
			stream => $_,
			rows => "the rows of $table with the watermark of $_"
		}
	} @streams;
} @tables;

sub start_server {
	my ($name) = @_;
	my $clock = FakedClock->new($name, <<~'END');
		log_statement = none
		max_connections = 40
		max_prepared_transactions = 40
		flakeid.max_clock_wait = '10min'
		flakeid.streams = 'audit, events'
		END
	$clock->start;
	my @create =
	  map { "CREATE TABLE $_->[0] (id $_->[1] PRIMARY KEY DEFAULT $_->[2], nr integer);" } @tables;
	$clock->node->safe_psql('postgres', "CREATE EXTENSION flakeid; @create" . <<~'SQL');
		CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF random() < 0.5 THEN INSERT INTO outbox (nr) VALUES (new.nr); END IF;
			RETURN new;
		END
		$$;
		CREATE TRIGGER tell AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell();
		SQL
	return $clock;
}

sub pause { return 'SELECT pg_sleep(random() * 0.02) \g /dev/null' }

sub insertion {
	my ($name, $type, $next) = @{ pick(@tables) };
	my $rows = 1 + int rand 8;
	return pick(
		"INSERT INTO $name DEFAULT VALUES;",
		"INSERT INTO $name (nr) SELECT generate_series(1, $rows);",
		"COPY $name (nr) FROM PROGRAM 'seq $rows';",
		"SELECT $next \\g /dev/null",
		"SAVEPOINT s; INSERT INTO $name DEFAULT VALUES; RELEASE s;",
		"SAVEPOINT s; INSERT INTO $name DEFAULT VALUES; ROLLBACK TO s;",
		# The ID is there some time before its row.
		<<~"SQL");
		WITH ids AS MATERIALIZED (SELECT $next AS id),
			later AS MATERIALIZED (SELECT id FROM ids, pg_sleep(random() * 0.005))
		INSERT INTO $name (id) SELECT id FROM later;
		SQL
}

sub work {
	my ($gid) = @_;
	return insertion() =~ s/SAVEPOINT .*//r if rand() < 0.2;
	my @steps = 'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ') . ';';
	push @steps, insertion(), (rand() < 0.6 ? pause() : ()) for 1 .. 1 + int rand 5;
	return @steps,
	  pick(
		('COMMIT;') x 12,
		('ROLLBACK;') x 3,
		"PREPARE TRANSACTION '$gid';",
		'SELECT 1 / 0; COMMIT;', '\q');
}

# Ends all prepared transactions of any session: each holds all streams.
my $finish = <<~'SQL';
	SELECT format('%s PREPARED %L',
		CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
	FROM pg_prepared_xacts ORDER BY random() \gexec
	SQL

# The statements of each read, given the last ID of each.
sub selects {
	my (@last) = @_;
	return map {
		my $read = $reads[$_];
		my $watermark = "flakeid_watermark('$read->{stream}')";
		my $after = defined $last[$_] ? "id > '$last[$_]' AND" : '';
		my $before = $read->{type} eq 'uuid' ? "uuidv7_before(id, $watermark)" : "id < $watermark";
		"SELECT id FROM $read->{table} WHERE $after $before ORDER BY id;";
	} 0 .. $#reads;
}

sub print_each {
	return map { ('\echo -', $_) } @_;
}

my @ways = (
	{ name => 'one statement', round => sub { return (print_each(selects(@_)), pause()) } },
	{
		name => 'REPEATABLE READ',
		round => sub {
			return (
				'BEGIN ISOLATION LEVEL REPEATABLE READ;',
				'SELECT FROM outbox LIMIT 1 \g /dev/null',
				pause(), print_each(selects(@_)),
				'COMMIT;', pause());
		}
	},
	{
		name => 'cursors',
		round => sub {
			my @select = selects(@_);
			my $watermarks =
			  "SELECT flakeid_watermark('events'), flakeid_watermark() \\g /dev/null";
			my @fetch = map { "FETCH 2 FROM c$_; @{[ pause() ]}\n$watermarks\nFETCH ALL FROM c$_;" }
			  0 .. $#select;
			return ('BEGIN;', (map { "DECLARE c$_ CURSOR FOR $select[$_]" } 0 .. $#select),
				print_each(@fetch), 'COMMIT;', pause());
		}
	});

# Runs writers and readers, with the clock stepped in between by this function.
sub readers_read_all {
	my ($node, $step) = @_;
	# This transaction has no ID of any stream that is read.
	my ($holder, $observer) = map { session($node) } 1 .. 2;
	$holder->query_safe('BEGIN; SELECT flake128_next()');
	my $held = watermark_in($holder);
	my $crowd = ReaderCrowd->start(
		$node,
		seed => $seed,
		writers => 10,
		work => \&work,
		finish => $finish,
		# The division, and what follows in its transaction; a transaction that another session has
		# ended; one that cannot be serialized.
		errors => '22012|25P02|42704|40001|55000',
		reads => \@reads,
		ways => \@ways);
	$crowd->wait_until_enough(50, $step, 25);
	$crowd->stop;
	# It is lower now only if the clock has stepped back and a session has lowered it.
	cmp_ok(watermark_in($observer),
		'<=', $held, 'all the time a transaction has held the watermark of all IDs');
	$holder->query_safe('COMMIT');
	$_->quit for $holder, $observer;
	$crowd->has_read_all;
	$node->stop;
	return;
}

my $steady = start_server('steady');
subtest 'readers read all rows while the clock goes on' => sub { readers_read_all($steady->node) };

# Sessions wait for this clock.
my $stepped = start_server('stepped');
my $offset = 0;
my $step = sub { $stepped->step($offset += pick(-0.3, -0.1, -0.02, 0.05, 0.3, 1)) };
subtest 'readers read all rows while the clock steps forward and back' =>
  sub { readers_read_all($stepped->node, $step) };

done_testing();
