# Consumers of examples/consumers.sql, beside writers that commit late and roll back. Workers are terminated in each step of
# their work, again and again, and twice the server crashes. Each worker asks for any part. The parts become two and then
# four, and the table is rewritten. What the workers have done is compared with the table when all of it is read: in the same
# database each row is processed once, and elsewhere at least once. Both are in order.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Crowd;
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = PostgreSQL::Test::Cluster->new('consumers');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
restart_after_crash = on
log_statement = none
max_connections = 60
END
$node->start;
sub sql { return $node->safe_psql('postgres', join '; ', @_) }

sql('CREATE EXTENSION flakeid',
	'CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), topic text, message text)');
$node->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-d', $node->connstr('postgres'), '-f', 'examples/consumers.sql'
	],
	'the file is installed');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE effects (nr bigserial PRIMARY KEY, part integer, id flake);
SELECT consumers.set_consumer('once', 1), consumers.set_consumer('mailer', 1);
CREATE TABLE moves (nr bigserial PRIMARY KEY, consumer text, part integer, turn uuid, since flake, last flake);
CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.moves (consumer, part, turn, since, last) VALUES (OLD.consumer, OLD.part, OLD.turn, OLD.last, NEW.last);
	RETURN NULL;
END
$$;
CREATE TRIGGER note_move AFTER UPDATE OF last ON consumers.cursors FOR EACH ROW WHEN (OLD.last::bigint <> NEW.last::bigint) EXECUTE FUNCTION note_move();
SQL

my $dir = PostgreSQL::Test::Utils::tempdir('workers');

# Gives the work a session, and a new one when that has ended, until the test says that it is enough.
sub work_as {
	my ($work) = @_;
	my $test = $$;
	return in_a_process(
		sub {
			srand;
			my $client;
			until (-e "$dir/enough" || getppid() != $test) {
				$client //= connect_as($node, 'worker');
				next if $work->($client);
				disconnect($client);
				undef $client;
			}
		});
}

# Names the step of a session, and lets some time pass in it.
sub step {
	my ($name) = @_;
	return ("SET application_name = '$name';", 'SELECT pg_sleep(random() * 0.02) \g /dev/null');
}

# Dies of an error that no worker has to expect.
sub expect {
	my ($answer, $errors) = @_;
	my @unexpected = grep { /^(?:ERROR|FATAL|PANIC)/ && !/$errors/ } @{ $answer // [] };
	die "a worker has an error: @unexpected" if @unexpected;
	return $answer;
}

# The server's own errors, when a session is terminated, or when another process has crashed.
my $ended = '57P0[123]';

# How many rows a worker asks for: few, or so many that the next batch can be empty.
sub limit { return rand() < 0.5 ? 5 : 1000 }

# A worker that writes into the same database.
sub work_once {
	my ($client) = @_;
	my $part = int rand 4;
	my $level = ('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[ rand 4 ];
	my $answer = ask(
		$client,
		"BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM effects WHERE false \\g /dev/null",
		step('once: the snapshot'),
		"CREATE TEMP TABLE batch ON COMMIT DROP AS SELECT turn, (message).id FROM consumers.next_batch('once', $part, @{[ limit() ]});",
		step('once: the batch'),
		"INSERT INTO effects (part, id) SELECT $part, id FROM batch ORDER BY id;",
		step('once: the effect'),
		'SELECT consumers.acknowledge(turn) FROM (SELECT DISTINCT turn FROM batch) AS turns \g /dev/null',
		step('once: the acknowledgement'),
		'COMMIT;',
		step('idle'));
	# Without the part there is no batch, and the transaction fails. So it does if the cursor has moved since its snapshot.
	return expect($answer, "$ended|42704|40001|25P02");
}

# A worker that acts elsewhere: it writes to a file, after it has got the batch and before it acknowledges.
sub work_at_least_once {
	my ($client, $file) = @_;
	my $part = int rand 4;
	my $answer = expect(
		scalar(
			ask($client,
				"SELECT turn, (message).id FROM consumers.next_batch('mailer', $part, @{[ limit() ]}, '1 day');",
				step('mailer: the batch'))),
		"$ended|42704");
	# Beside them there can be errors.
	my @rows = map { [ split /\|/ ] } grep { /\|/ } @{ $answer // [] };
	my $turn = @rows ? $rows[0][0] : undef;
	if ($turn) {
		open my $handle, '>>', $file or die "could not write $file: $!";
		print $handle map { "@$_\n" } @rows;
		close $handle or die "could not write $file: $!";
		# Some workers end within their batch.
		my $upto = rand() < 0.2 ? $rows[ rand @rows ][1] : $rows[-1][1];
		my $acknowledge = "SELECT consumers.acknowledge('$turn', '$upto') \\g /dev/null";
		$answer = expect(
			scalar(
				ask($client, 'BEGIN;',
					$acknowledge, step('mailer: the acknowledgement'),
					'COMMIT;', step('idle'))),
			"$ended|55000|25P02");
		return $answer if $answer;
		# It lost its session, and so much time passes that the lease is over. Then it acknowledges all the same.
		lose_turn($part);
		sql_anyway($acknowledge) if rand() < 0.5;
		return;
	}
	lose_turn($part) unless $answer;
	return $answer;
}

# The time of a lease passes, also that of another worker.
sub lose_turn {
	my ($part) = @_;
	return sql_anyway(
		"UPDATE consumers.cursors SET leased_until = '-infinity' WHERE consumer = 'mailer' AND part = $part;"
	);
}

# Executes a statement, also if the server has to start first.
sub sql_anyway {
	my ($statement) = @_;
	my $answer;
	until ($answer) {
		$answer = expect(scalar(ask(connect_as($node, 'worker'), $statement)), "$ended|55000");
	}
	return;
}

# Writers, whose rows come late or never.
my $script = "$dir/script";
append_to_file($script, <<'END');
\set ms random(0, 20)
\set rows random(1, 5)
\set what random(1, 10)
BEGIN;
INSERT INTO outbox (topic) VALUES ('a');
\sleep :ms ms
INSERT INTO outbox (topic) SELECT 'b' FROM generate_series(1, :rows);
SAVEPOINT s;
INSERT INTO outbox (topic) VALUES ('c');
\if :what <= 2
ROLLBACK;
\elif :what <= 5
ROLLBACK TO s;
COMMIT;
\else
COMMIT;
\endif
\sleep :ms ms
END

sub start_writers {
	return IPC::Run::start(
		[ 'pgbench', '-n', '-c', 6, '-T', 36_000, '-f', $script, $node->connstr('postgres') ],
		'<', '/dev/null', '>&', \my $said);
}

# Kills a process. Returns whether it was still there: only of one that has been stopped it is known that the signal ends it.
sub kill_process {
	my ($pid) = @_;
	kill 'STOP', $pid or return 0;
	my $state;
	do {
		open my $stat, '<', "/proc/$pid/stat" or return 0;
		($state) = (<$stat> // '') =~ /\) (\w)/;
	} until ($state // 'X') =~ /[TZX]/;
	return ($state // 'X') eq 'T' && kill 'KILL', $pid;
}

my @workers;

# Waits until an expression is true, while all workers go on.
sub becomes {
	my ($expression, $otherwise) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (sql("SELECT $expression") eq 't') {
		my $has_ended = grep { waitpid($_, POSIX::WNOHANG()) != 0 } @workers;
		if ($has_ended || time() > $until) {
			append_to_file("$dir/enough", '');
			die $has_ended ? 'a worker has ended' : $otherwise;
		}
		sleep 0.02;
	}
	return;
}

for my $nr (0 .. 3) {
	push @workers, work_as(\&work_once),
	  work_as(sub { work_at_least_once($_[0], "$dir/mailer_$nr") });
}
my $writers = start_writers();
my @steps = (
	'once: the snapshot',
	'once: the batch',
	'once: the effect',
	'once: the acknowledgement',
	'mailer: the batch',
	'mailer: the acknowledgement');
for my $round (1 .. 6) {
	for my $step (@steps) {
		my $victim =
		  "(SELECT pid FROM pg_stat_activity WHERE application_name = '$step' ORDER BY random() LIMIT 1)";
		if ($round % 3 == 0 && $step eq $steps[ $round / 3 ]) {
			# All sessions end, and the server starts again.
			my $pid;
			do {
				becomes("$victim IS NOT NULL", "no worker comes to the step '$step'");
				$pid = sql("SELECT $victim");
			} until $pid ne '' && kill_process($pid);
			eval { $writers->finish };
			wait_for_server($node);
			$writers = start_writers();
			next;
		}
		becomes("coalesce(pg_terminate_backend($victim), false)",
			"no worker comes to the step '$step'");
	}
	my $parts = (1, 1, 2, 2, 4, 4)[ $round - 1 ];
	sql("SELECT consumers.set_consumer('$_', $parts)") for 'once', 'mailer';
	# The table is rewritten, so that older snapshots do not see its rows.
	sql("ALTER TABLE outbox ALTER message TYPE varchar(@{[ 20 - $round ]})");
	# All of them go on.
	my $moves = sql('SELECT coalesce(max(nr), 0) FROM moves');
	becomes(
		"count(DISTINCT (consumer, part)) = 2 * $parts FROM moves WHERE nr > $moves AND turn IS NOT NULL",
		'a consumer does not go on');
}
$writers->signal('TERM');
eval { $writers->finish };
becomes("count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'",
	'the writers do not end');
becomes('count(*) = (SELECT count(*) FROM outbox) FROM consumers.settled',
	'the watermark does not pass the rows');
becomes('sum(rows) = 0 FROM consumers.lag', 'the consumers do not come to the end');
append_to_file("$dir/enough", '');
my @failed = grep { waitpid($_, 0) != $_ || $? != 0 } @workers;
is(scalar @failed, 0, 'the workers have had only the errors that they had to expect');

my @rows = split /\n/, sql('SELECT id FROM outbox ORDER BY id');
cmp_ok(scalar @rows, '>', 100, 'the writers have written rows (' . @rows . ')');
is(sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM effects"),
	"@rows", 'in the same database each row is processed once, beside crashes in every step');
# A row is in one of four parts at the end. Before, the row's part was the remainder of that one.
my %part_of = map { split /\|/ } split /\n/, sql('SELECT id, hash % 4 FROM consumers.settled');

sub is_in_order {
	my ($ids, $test) = @_;
	my (%last, @wrong);
	for my $id (@$ids) {
		push @wrong, $id if $id < ($last{ $part_of{$id} } // 0);
		$last{ $part_of{$id} } = $id;
	}
	return is("@wrong", '', $test);
}
is_in_order(
	[ split /\n/, sql('SELECT id FROM effects ORDER BY nr') ],
	'in the same database each part is processed in order');
is( sql('SELECT count(*) FROM (SELECT since::bigint < lag(last::bigint) OVER (PARTITION BY consumer, part ORDER BY nr) OR last::bigint <= since::bigint AS is_wrong FROM moves) AS moves WHERE is_wrong'
	),
	0,
	'no cursor goes back');

# What the workers of the mailer have done, by turn.
my (%done, %times);
for my $line (map { -e $_ ? split /\n/, slurp_file($_) : () } map { "$dir/mailer_$_" } 0 .. 3) {
	my ($turn, $id) = split / /, $line;
	push @{ $done{$turn} }, $id;
	$times{$id}++;
}
is(join(' ', grep { !$times{$_} } @rows),
	'', 'elsewhere each row is processed at least once, beside crashes in every step');
my %row = map { $_ => 1 } @rows;
is(join(' ', grep { !$row{$_} } sort keys %times),
	'', 'elsewhere no row is processed that was rolled back');
note((grep { $_ > 1 } values %times) . ' of ' . @rows . ' rows were processed again');
my @acknowledged;
for my $move (split /\n/,
	sql("SELECT turn, last FROM moves WHERE consumer = 'mailer' AND turn IS NOT NULL ORDER BY nr"))
{
	my ($turn, $last) = split /\|/, $move;
	push @acknowledged, grep { $_ <= $last } @{ $done{$turn} // [] };
}
is(join(' ', sort { $a <=> $b } @acknowledged),
	"@rows", 'the turns that were acknowledged have each row once');
is_in_order(\@acknowledged, 'the turns that were acknowledged have the rows of each part in order');

$node->stop;
done_testing();
