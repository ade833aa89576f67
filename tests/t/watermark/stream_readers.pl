# Readers of streams, beside writers that commit late, roll back and prepare: each reader reads exactly the committed rows of
# its table, in order, each once, with the watermark of a stream. A transaction holds the watermark of all IDs back for as
# long as they write, and the readers go on all the same.
#
# FLAKEID_WATERMARK_MINUTES says how long the writers go on, at least, in each of the two runs. Without it they go on until
# each of them and each reader has done enough. FLAKEID_SEED decides what the writers do. TEST_FILE_TIMEOUT has to be above
# the minutes of both runs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Crowd;
use FakedClock;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";

my ($WRITERS, $TRANSACTIONS, $ROUNDS) = (10, 30, 12);

# Tables, and the streams by which they are read. Two tables are in one stream, and one stream has IDs of two types.
my @TABLES = (
	{
		name => 'outbox',
		type => 'flake',
		next => "flake_next_in('events')",
		streams => [ 'events', 'flake' ]
	},
	{
		name => 'changes',
		type => 'flake',
		next => "flake_next_in('events')",
		streams => ['events']
	},
	{
		name => 'moves',
		type => 'sno',
		next => "sno_next_in('events')",
		streams => [ 'events', 'sno' ]
	},
	{
		name => 'audit',
		type => 'uuid',
		next => "uuidv7_next_in('audit')",
		streams => [ 'audit', 'uuidv7' ]
	},
	{ name => 'plain', type => 'uuid', next => 'uuidv7_next()', streams => ['uuidv7'] },
	{ name => 'objects', type => 'sno', next => 'sno_next()', streams => ['sno'] },
	# Its rows have a trigger, which inserts into the outbox.
	{ name => 'orders', type => 'flake', next => 'flake_next()', streams => ['flake'] });
my @READS = map {
	my $table = $_;
	map { { table => $table, stream => $_ } } @{ $table->{streams} }
} @TABLES;

sub create_all {
	my ($node) = @_;
	$node->safe_psql(
		'postgres',
		'CREATE EXTENSION flakeid; ' . join ' ',
		map {
			"CREATE TABLE $_->{name} (id $_->{type} PRIMARY KEY DEFAULT $_->{next}, nr integer);"
		} @TABLES);
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF random() < 0.5 THEN INSERT INTO outbox (nr) VALUES (new.nr); END IF;
	RETURN new;
END
$$;
CREATE TRIGGER tell AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell();
SQL
	return;
}

# writers --------------------------------------------------------------------------------------------------------------

sub pause { return 'SELECT pg_sleep(random() * 0.02) \g /dev/null' }

sub insertion {
	my $table = pick(@TABLES);
	my ($name, $rows) = ($table->{name}, 1 + int rand 8);
	return pick(
		"INSERT INTO $name DEFAULT VALUES;",
		"INSERT INTO $name (nr) SELECT generate_series(1, $rows);",
		"COPY $name (nr) FROM PROGRAM 'seq $rows';",
		"SELECT $table->{next} \\g /dev/null",
		"SAVEPOINT s; INSERT INTO $name DEFAULT VALUES; RELEASE s;",
		"SAVEPOINT s; INSERT INTO $name DEFAULT VALUES; ROLLBACK TO s;",
		# The ID is there some time before its row.
		"WITH ids AS MATERIALIZED (SELECT $table->{next} AS id), later AS MATERIALIZED (SELECT id FROM ids, pg_sleep(random() * 0.005))"
		  . " INSERT INTO $name (id) SELECT id FROM later;");
}

sub transaction {
	my ($gid) = @_;
	my @steps = ('BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ') . ';');
	for (1 .. 1 + int rand 5) {
		push @steps, insertion();
		push @steps, pause() if rand() < 0.6;
	}
	push @steps,
	  pick(
		('COMMIT;') x 12,
		('ROLLBACK;') x 3,
		"PREPARE TRANSACTION '$gid';",
		'SELECT 1 / 0; COMMIT;', '\q');
	return join "\n", @steps;
}

# Ends all prepared transactions of any session: each holds all streams.
my $end_prepared =
  q{SELECT format('%s PREPARED %L', CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)}
  . q{ FROM pg_prepared_xacts ORDER BY random() \gexec};

# The division, and what follows in its transaction; a transaction that another session has ended; one that cannot be
# serialized.
my $expected = '22012|25P02|42704|40001|55000';

sub write_rows_as {
	my ($node, $dir, $nr) = @_;
	srand($seed + $nr);
	my ($client, $times) = (undef, 0);
	my $test = getppid();
	until (-e "$dir/enough") {
		return if getppid() != $test;
		$client //= connect_as($node, 'writer');
		$times++;
		my $answer = ask($client,
			rand() < 0.2 ? insertion() =~ s/SAVEPOINT .*//r : transaction("writer_${nr}_$times"));
		ask($client, $end_prepared) if $answer && rand() < 0.5;
		my @unexpected =
		  grep { /^(?:ERROR|PANIC)/ && !/^ERROR:  (?:$expected)/ } @{ $answer // [] };
		write_line("$dir/unexpected", @unexpected) if @unexpected;
		if (!$answer) {
			disconnect($client);
			undef $client;
		}
		write_line("$dir/writer_$nr", 'done');
	}
	disconnect($client) if $client;
	return;
}

# readers --------------------------------------------------------------------------------------------------------------

sub select_after {
	my ($read, $last) = @_;
	my ($table, $stream) = @$read{ 'table', 'stream' };
	my $watermark = "flakeid_watermark('$stream')";
	my $before = $table->{type} eq 'uuid' ? "uuidv7_before(id, $watermark)" : "id < $watermark";
	return
		"SELECT id FROM $table->{name} WHERE "
	  . (defined $last ? "id > '$last' AND " : '')
	  . "$before ORDER BY id";
}

# Each reader reads all tables by all their streams, in one of these ways.
my @ways = (
	{
		name => 'one statement',
		round => sub {
			my ($select) = @_;
			return map { ('\echo -', "$_;") } @$select;
		}
	},
	{
		name => 'REPEATABLE READ',
		round => sub {
			my ($select) = @_;
			return (
				'BEGIN ISOLATION LEVEL REPEATABLE READ;',
				'SELECT FROM outbox LIMIT 1 \g /dev/null',
				pause(), (map { ('\echo -', "$_;") } @$select), 'COMMIT;');
		}
	},
	{
		name => 'cursors',
		round => sub {
			my ($select) = @_;
			my @cursors = map { "c$_" } 0 .. $#$select;
			return (
				'BEGIN;',
				(map { "DECLARE $cursors[$_] CURSOR FOR $select->[$_];" } 0 .. $#$select),
				(   map {
						(   '\echo -',
							"FETCH 2 FROM $_;",
							pause(),
							"SELECT flakeid_watermark('events'), flakeid_watermark() \\g /dev/null",
							"FETCH ALL FROM $_;")
					} @cursors),
				'COMMIT;');
		}
	});

sub read_rows_as {
	my ($node, $dir, $nr) = @_;
	srand($seed + 1000 + $nr);
	my ($way, $client, @last) = ($ways[$nr], connect_as($node, 'reader'));
	my $test = getppid();
	my $until =
	  time() +
	  10 * $PostgreSQL::Test::Utils::timeout_default +
	  60 * ($ENV{FLAKEID_WATERMARK_MINUTES} || 0);
	for (;;) {
		return if getppid() != $test;
		die "reader by $way->{name} does not come to the end" if time() > $until;
		my $is_last = -e "$dir/last";
		my @select = map { select_after($READS[$_], $last[$_]) } 0 .. $#READS;
		my $answer = ask($client, join "\n", $way->{round}->(\@select), pause())
		  // die 'the reader has lost its session';
		die "reader by $way->{name}: @$answer" if grep { /^ERROR/ } @$answer;
		my ($read, @rows) = (-1);
		for my $line (@$answer) {
			$line eq '-' ? $read++ : push @{ $rows[$read] }, $line;
		}
		for my $number (grep { $rows[$_] } 0 .. $#READS) {
			$last[$number] = $rows[$number][-1];
			write_line("$dir/reader_$nr.$number", @{ $rows[$number] });
		}
		write_line("$dir/reader_$nr", 'done') if @rows;
		next unless $is_last;
		my $greatest = ask(
			$client,
			join "\n",
			map {
				"SELECT coalesce((SELECT id::text FROM $_->{table}{name} ORDER BY id DESC LIMIT 1), 'none');"
			} @READS);
		last if join("\n", @$greatest) eq join("\n", map { $last[$_] // 'none' } 0 .. $#READS);
	}
	disconnect($client);
	return;
}

# all of them ----------------------------------------------------------------------------------------------------------

# Runs writers and readers, with the clock stepped in between by this function.
sub run_all {
	my ($node, $what, $step) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('streams');
	# It has no ID of any stream that is read.
	my $holder = session($node);
	$holder->query_safe('BEGIN; SELECT flake128_next()');
	my $held = watermark_in($holder);
	my @readers = map {
		my $nr = $_;
		in_a_process(sub { read_rows_as($node, $dir, $nr) })
	} 0 .. $#ways;
	my @writers = map {
		my $nr = $_;
		in_a_process(sub { write_rows_as($node, $dir, $nr) })
	} 1 .. $WRITERS;
	my ($until, $stepped, %seen, %since) =
	  (time() + 60 * ($ENV{FLAKEID_WATERMARK_MINUTES} || 0), 0);
	my $have_rows = 'SELECT ' . join ' AND ',
	  map { "(SELECT count(*) > 50 FROM $_->{name})" } @TABLES;
	for (;;) {
		if (grep { waitpid($_, POSIX::WNOHANG()) != 0 } @readers, @writers) {
			write_line("$dir/enough", '');
			die 'a process of the test has ended too early';
		}
		my %lines = map { $_ => lines_in("$dir/$_") } (map { "writer_$_" } 1 .. $WRITERS),
		  (map { "reader_$_" } 0 .. $#ways);
		for my $who (sort keys %lines) {
			($seen{$who}, $since{$who}) = ($lines{$who}, time())
			  if $lines{$who} > ($seen{$who} // -1);
			die "$who does not go on"
			  if time() > $since{$who} + $PostgreSQL::Test::Utils::timeout_default;
		}
		my ($done, $are_done) = (0, 1);
		for my $nr (1 .. $WRITERS) {
			$done += $lines{"writer_$nr"};
			$are_done &&= $lines{"writer_$nr"} >= $TRANSACTIONS;
		}
		if ($step && $done >= 25 * ($stepped + 1)) {
			$step->();
			$stepped++;
		}
		my $is_enough = $are_done && time() >= $until && (!$step || $stepped >= 10);
		last
		  if $is_enough
		  && !(grep { $lines{"reader_$_"} < $ROUNDS } 0 .. $#ways)
		  && $node->safe_psql('postgres', $have_rows) eq 't';
		sleep 0.1;
	}
	write_line("$dir/enough", '');
	have_ended(@writers);
	$node->safe_psql('postgres',
		"SELECT format('COMMIT PREPARED %L', gid) FROM pg_prepared_xacts \\gexec");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'")
	  or die 'the writers do not end';
	write_line("$dir/last", '');
	have_ended(@readers);
	# It is lower now only if the clock has stepped back and a session has lowered it.
	cmp_ok(watermark_in(session($node)),
		'<=', $held, "$what: all the time a transaction has held the watermark of all IDs");
	$holder->query_safe('COMMIT');
	$holder->quit;

	is(-e "$dir/unexpected" ? slurp_file("$dir/unexpected") : '',
		'', "$what: the writers had the errors that they had to expect");
	for my $number (0 .. $#READS) {
		my ($table, $stream) = ($READS[$number]{table}{name}, $READS[$number]{stream});
		my @rows = split /\n/, $node->safe_psql('postgres', "SELECT id FROM $table ORDER BY id");
		for my $nr (0 .. $#ways) {
			my $file = "$dir/reader_$nr.$number";
			my @read = -e $file ? split /\n/, slurp_file($file) : ();
			ok( "@read" eq "@rows",
				"$what: by $ways[$nr]{name} a reader has read the "
				  . @rows
				  . " rows of $table in order, each once, with the watermark of $stream"
			) or diag(first_difference(\@read, \@rows));
		}
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_flakeid_watermark'),
		'0', "$what: at the end nothing holds a watermark back");
	return;
}

my $settings = <<'END';
log_statement = none
max_connections = 40
max_prepared_transactions = 40
flakeid.max_clock_wait = '10min'
flakeid.streams = 'audit, events'
END

my $steady = FakedClock->new('steady', $settings);
$steady->start;
create_all($steady->node);
run_all($steady->node, 'a clock that goes on');
$steady->node->stop;

# In this run the clock is stepped forward and back. Sessions wait for it.
my $stepped = FakedClock->new('stepped', $settings);
$stepped->start;
create_all($stepped->node);
my $offset = 0;
run_all(
	$stepped->node,
	'a clock that steps',
	sub {
		$offset += pick(-0.3, -0.1, -0.02, 0.05, 0.3, 1);
		$stepped->step($offset);
	});
$stepped->node->stop;

done_testing();
