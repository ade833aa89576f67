# Clients that write into tables with named streams and read from them, in processes of their own.
# Writers commit late, roll back, prepare, and end their session. Readers read all tables by the
# watermarks of all their streams.
package StreamClients;

use strict;
use warnings;

use Crowd;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time sleep);

my ($WRITERS, $TRANSACTIONS, $ROUNDS) = (10, 30, 12);

# Tables, the calls by which they get their IDs, and the streams by which they are read. Two tables
# are in one stream, and one stream has IDs of two types. A row of the orders can insert one into
# the outbox.
my @TABLES = (
	[ outbox => 'flake', "flake_next_in('events')", 'events', 'flake' ],
	[ changes => 'flake', "flake_next_in('events')", 'events' ],
	[ moves => 'sno', "sno_next_in('events')", 'events', 'sno' ],
	[ audit => 'uuid', "uuidv7_next_in('audit')", 'audit', 'uuidv7' ],
	[ plain => 'uuid', 'uuidv7_next()', 'uuidv7' ],
	[ objects => 'sno', 'sno_next()', 'sno' ],
	[ orders => 'flake', 'flake_next()', 'flake' ]);

# A table, its type, and a stream: what each reader reads.
our @READS = map {
	my ($table, $type, $next, @streams) = @$_;
	map { { table => $table, type => $type, stream => $_ } } @streams;
} @TABLES;

# How readers read.
our @WAYS = ('one statement', 'REPEATABLE READ', 'cursors');

sub create_tables {
	my ($node) = @_;
	my @tables =
	  map { "CREATE TABLE $_->[0] (id $_->[1] PRIMARY KEY DEFAULT $_->[2], nr integer);" } @TABLES;
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid; @tables" . <<~'SQL');
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

# Starts all clients. The seed decides what the writers do.
sub start {
	my ($class, $node, $seed) = @_;
	my $self = bless {
		node => $node,
		dir => PostgreSQL::Test::Utils::tempdir('streams'),
		test => $$,
		minutes => $ENV{FLAKEID_WATERMARK_MINUTES} || 0,
	}, $class;
	for my $nr (0 .. $#WAYS) {
		push @{ $self->{readers} },
		  in_a_process(sub { srand($seed + 1000 + $nr); $self->_read_as($nr) });
	}
	for my $nr (1 .. $WRITERS) {
		push @{ $self->{writers} }, in_a_process(sub { srand($seed + $nr); $self->_write_as($nr) });
	}
	return $self;
}

sub _file { my ($self, $name) = @_; return "$self->{dir}/$name" }

# Waits until each client has done enough and each table has some rows. Calls the function after
# each 25 transactions, and at least ten times.
sub work {
	my ($self, $step) = @_;
	my ($until, $stepped, %done, %since) = (time() + 60 * $self->{minutes}, 0);
	my $have_rows = 'SELECT ' . join ' AND ', map { "(SELECT count(*) > 50 FROM $_->[0])" } @TABLES;
	while (1) {
		my ($transactions, $are_done) = (0, time() >= $until);
		for my $client ((map { "writer_$_" } 1 .. $WRITERS), (map { "reader_$_" } 0 .. $#WAYS)) {
			my $lines = lines_in($self->_file($client));
			($done{$client}, $since{$client}) = ($lines, time()) if $lines > ($done{$client} // -1);
			$self->_fail("$client does not go on")
			  if time() > $since{$client} + $PostgreSQL::Test::Utils::timeout_default;
			my $is_writer = $client =~ /^writer/;
			$transactions += $lines if $is_writer;
			$are_done &&= $lines >= ($is_writer ? $TRANSACTIONS : $ROUNDS);
		}
		$self->_fail('a process of the test has ended too early')
		  if grep { waitpid($_, POSIX::WNOHANG()) != 0 } @{ $self->{readers} },
		  @{ $self->{writers} };
		if ($step && $transactions >= 25 * ($stepped + 1)) {
			$step->();
			$stepped++;
		}
		last
		  if $are_done
		  && (!$step || $stepped >= 10)
		  && $self->{node}->safe_psql('postgres', $have_rows) eq 't';
		sleep 0.1;
	}
	return;
}

sub _fail {
	my ($self, $reason) = @_;
	write_line($self->_file('enough'), '');
	die $reason;
}

# Ends the writers and what they have prepared, and then the readers, when these have read all rows.
sub stop {
	my ($self) = @_;
	write_line($self->_file('enough'), '');
	have_ended(@{ $self->{writers} });
	$self->{node}->safe_psql('postgres',
		"SELECT format('COMMIT PREPARED %L', gid) FROM pg_prepared_xacts \\gexec");
	$self->{node}->poll_query_until('postgres', <<~'SQL') or die 'the writers do not end';
		SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'
		SQL
	write_line($self->_file('last'), '');
	have_ended(@{ $self->{readers} });
	return;
}

# The errors that no writer has to expect, and the rows that a reader has read in one of its reads.
sub unexpected { my ($self) = @_;              return join "\n", $self->_lines('unexpected') }
sub rows_read  { my ($self, $way, $read) = @_; return $self->_lines("reader_$way.$read") }

sub _lines {
	my ($self, $name) = @_;
	my $file = $self->_file($name);
	return -e $file ? split /\n/, slurp_file($file) : ();
}

sub _pause { return 'SELECT pg_sleep(random() * 0.02) \g /dev/null' }

sub _insertion {
	my ($name, $type, $next) = @{ pick(@TABLES) };
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

sub _transaction {
	my ($gid) = @_;
	my @steps = 'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ') . ';';
	for (1 .. 1 + int rand 5) {
		push @steps, _insertion();
		push @steps, _pause() if rand() < 0.6;
	}
	push @steps,
	  pick(
		('COMMIT;') x 12,
		('ROLLBACK;') x 3,
		"PREPARE TRANSACTION '$gid';",
		'SELECT 1 / 0; COMMIT;', '\q');
	return @steps;
}

# Ends all prepared transactions of any session: each holds all streams.
my $END_PREPARED = <<~'SQL';
	SELECT format('%s PREPARED %L',
		CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
	FROM pg_prepared_xacts ORDER BY random() \gexec
	SQL

# The division, and what follows in its transaction; a transaction that another session has ended;
# one that cannot be serialized.
my $EXPECTED = '22012|25P02|42704|40001|55000';

sub _write_as {
	my ($self, $nr) = @_;
	my ($client, $times) = (undef, 0);
	until (-e $self->_file('enough')) {
		return if getppid() != $self->{test};
		$client //= connect_as($self->{node}, 'writer');
		$times++;
		my $answer = ask($client,
			rand() < 0.2 ? _insertion() =~ s/SAVEPOINT .*//r : _transaction("writer_${nr}_$times"));
		ask($client, $END_PREPARED) if $answer && rand() < 0.5;
		my @unexpected =
		  grep { /^(?:ERROR|PANIC)/ && !/^ERROR:  (?:$EXPECTED)/ } @{ $answer // [] };
		write_line($self->_file('unexpected'), @unexpected) if @unexpected;
		if (!$answer) {
			disconnect($client);
			undef $client;
		}
		write_line($self->_file("writer_$nr"), 'done');
	}
	disconnect($client) if $client;
	return;
}

sub _select_after {
	my ($read, $last) = @_;
	my $watermark = "flakeid_watermark('$read->{stream}')";
	my $after = defined $last ? "id > '$last' AND" : '';
	my $before = $read->{type} eq 'uuid' ? "uuidv7_before(id, $watermark)" : "id < $watermark";
	return "SELECT id FROM $read->{table} WHERE $after $before ORDER BY id";
}

# The statements of a way that execute all these. It prints "-" before the rows of each.
sub _round {
	my ($way, @select) = @_;
	my @each = map { ('\echo -', "$_;") } @select;
	return @each if $way eq 'one statement';
	return (
		'BEGIN ISOLATION LEVEL REPEATABLE READ;',
		'SELECT FROM outbox LIMIT 1 \g /dev/null',
		_pause(), @each, 'COMMIT;') if $way eq 'REPEATABLE READ';
	return (
		'BEGIN;',
		(map { "DECLARE c$_ CURSOR FOR $select[$_];" } 0 .. $#select),
		(   map {
				(   '\echo -', "FETCH 2 FROM c$_;",
					_pause(),
					"SELECT flakeid_watermark('events'), flakeid_watermark() \\g /dev/null",
					"FETCH ALL FROM c$_;")
			} 0 .. $#select),
		'COMMIT;');
}

# Reads until all rows are read after the writers have ended.
sub _read_as {
	my ($self, $nr) = @_;
	my ($way, $client, @last) = ($WAYS[$nr], connect_as($self->{node}, 'reader'));
	my $until = time() + 10 * $PostgreSQL::Test::Utils::timeout_default + 60 * $self->{minutes};
	my @newest = map {
		"SELECT coalesce((SELECT id::text FROM $_->{table} ORDER BY id DESC LIMIT 1), 'none');"
	} @READS;
	while (1) {
		return if getppid() != $self->{test};
		die "reader by $way does not come to the end" if time() > $until;
		my $is_last = -e $self->_file('last');
		my @select = map { _select_after($READS[$_], $last[$_]) } 0 .. $#READS;
		my $answer = ask($client, _round($way, @select), _pause())
		  // die 'the reader has lost its session';
		die "reader by $way: @$answer" if grep { /^ERROR/ } @$answer;
		my ($read, @rows) = (-1);
		for my $line (@$answer) {
			$line eq '-' ? $read++ : push @{ $rows[$read] }, $line;
		}
		for my $number (grep { $rows[$_] } 0 .. $#READS) {
			$last[$number] = $rows[$number][-1];
			write_line($self->_file("reader_$nr.$number"), @{ $rows[$number] });
		}
		write_line($self->_file("reader_$nr"), 'done') if @rows;
		last
		  if $is_last && "@{ ask($client, @newest) }" eq join ' ',
		  map { $last[$_] // 'none' } 0 .. $#READS;
	}
	disconnect($client);
	return;
}

1;
