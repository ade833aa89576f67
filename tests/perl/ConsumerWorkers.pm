# Workers of two consumers of examples/consumers.sql, in processes of their own: "once" writes into
# the same database, "mailer" into files. They ask for any part, and go on when their session or the
# server ends. A session names its step in application_name, so that a test can end it there.
package ConsumerWorkers;

use strict;
use warnings;

use Crowd;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time sleep);

our @STEPS = (
	'once: the snapshot',
	'once: the batch',
	'once: the effect',
	'once: the acknowledgement',
	'mailer: the batch',
	'mailer: the acknowledgement');

# Starts four workers of each consumer of a server (an object of Consumers), which has a table
# "effects" of IDs and their parts.
sub start {
	my ($class, $server) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('workers');
	my $self = bless { server => $server, dir => $dir, test => $$ }, $class;
	for my $nr (1 .. 4) {
		my $file = "$dir/mailer_$nr";
		push @{ $self->{files} }, $file;
		for my $work ('_work_once', '_work_at_least_once') {
			push @{ $self->{pids} }, in_a_process(
				sub {
					$self->_work(sub { $self->$work($_[0], $file) });
				});
		}
	}
	return $self;
}

# Waits until an expression is true, while all workers go on.
sub wait_until {
	my ($self, $expression, $otherwise) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until ($self->{server}->sql("SELECT $expression") eq 't') {
		my $has_ended = grep { waitpid($_, POSIX::WNOHANG()) != 0 } @{ $self->{pids} };
		if ($has_ended || time() > $until) {
			$self->_tell_enough;
			die $has_ended ? 'a worker has ended' : $otherwise;
		}
		sleep 0.02;
	}
	return;
}

# Stops the workers. Returns how many of them had an error that no worker has to expect.
sub stop {
	my ($self) = @_;
	$self->_tell_enough;
	return scalar grep { waitpid($_, 0) != $_ || $? != 0 } @{ $self->{pids} };
}

# The turns and IDs that the workers of the mailer have processed.
sub mailed {
	my ($self) = @_;
	return
	  map { [ split / / ] } map { -e $_ ? split /\n/, slurp_file($_) : () } @{ $self->{files} };
}

sub _tell_enough { my ($self) = @_; return write_line("$self->{dir}/enough", '') }

# Gives the work a session, and a new one when that has ended, until the test ends the workers.
sub _work {
	my ($self, $work) = @_;
	srand;
	my $client;
	until (-e "$self->{dir}/enough" || getppid() != $self->{test}) {
		$client //= connect_as($self->{server}->node, 'worker');
		next if $work->($client);
		disconnect($client);
		undef $client;
	}
	return;
}

# The server's own errors, when a session is terminated, or when another process has crashed.
my $ENDED = '57P0[123]';

# Executes statements in a session. Returns what they print, and nothing if the session has ended.
# Dies of errors that no worker has to expect.
sub _ask {
	my ($client, $errors, @statements) = @_;
	my $answer = ask($client, @statements);
	my @unexpected = grep { /^(?:ERROR|FATAL|PANIC)/ && !/$ENDED|$errors/ } @{ $answer // [] };
	die "a worker has an error: @unexpected" if @unexpected;
	return $answer;
}

# Names the step of a session, and lets some time pass in it.
sub _step {
	my ($name) = @_;
	return ("SET application_name = '$name';", 'SELECT pg_sleep(random() * 0.02) \g /dev/null');
}

# The arguments of next_batch: any part, and few rows, or so many that the next batch can be empty.
sub _part_and_limit { return (int rand 4, pick(5, 1000)) }

sub _work_once {
	my ($self, $client) = @_;
	my ($part, $limit) = _part_and_limit();
	my $level = pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	# Without the part there is no batch, and the transaction fails. It also fails if the cursor has
	# moved since its snapshot.
	return _ask(
		$client,
		'42704|40001|25P02',
		"BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM effects WHERE false \\g /dev/null",
		_step('once: the snapshot'),
		'CREATE TEMP TABLE batch ON COMMIT DROP AS',
		"SELECT turn, (message).id FROM consumers.next_batch('once', $part, $limit);",
		_step('once: the batch'),
		"INSERT INTO effects (part, id) SELECT $part, id FROM batch ORDER BY id;",
		_step('once: the effect'),
		'SELECT consumers.acknowledge(turn) FROM (SELECT DISTINCT turn FROM batch) AS turns',
		'\g /dev/null',
		_step('once: the acknowledgement'),
		'COMMIT;',
		_step('idle'));
}

# Writes a batch to the file, and acknowledges it then.
sub _work_at_least_once {
	my ($self, $client, $file) = @_;
	my ($part, $limit) = _part_and_limit();
	my $answer = _ask(
		$client, '42704',
		"SELECT turn, (message).id FROM consumers.next_batch('mailer', $part, $limit, '1 day');",
		_step('mailer: the batch'));
	# Beside the rows there can be errors.
	my @rows = map { [ split /\|/ ] } grep { /\|/ } @{ $answer // [] };
	if (!@rows) {
		$self->_lose_turn($part) unless $answer;
		return $answer;
	}
	write_line($file, map { "@$_" } @rows);
	# Some workers end within their batch.
	my $upto = (rand() < 0.2 ? pick(@rows) : $rows[-1])->[1];
	my $acknowledge = "SELECT consumers.acknowledge('$rows[0][0]', '$upto') \\g /dev/null";
	$answer =
	  _ask($client, '55000|25P02', 'BEGIN;', $acknowledge, _step('mailer: the acknowledgement'),
		'COMMIT;', _step('idle'));
	return $answer if $answer;
	# The session has ended, and so much time passes that the lease is over. Then the worker can
	# acknowledge all the same.
	$self->_lose_turn($part);
	$self->_ask_anyway($acknowledge) if rand() < 0.5;
	return;
}

# The time of a lease passes, also that of another worker.
sub _lose_turn {
	my ($self, $part) = @_;
	return $self->_ask_anyway(<<~"SQL");
		UPDATE consumers.cursors SET leased_until = '-infinity'
		WHERE consumer = 'mailer' AND part = $part;
		SQL
}

# Executes a statement, also if the server has to start first.
sub _ask_anyway {
	my ($self, $statement) = @_;
	until (_ask(connect_as($self->{server}->node, 'worker'), '55000', $statement)) { }
	return;
}

1;
