# Writers of random transactions beside readers in ID order, in processes of their own. All work
# until the test stops the writers. Then the readers read what is left, and are compared with the
# tables.
package ReaderCrowd;

use strict;
use warnings;

use Crowd;
use POSIX ();
use PostgreSQL::Test::Utils;
use RandomTransactions;
use Test::More;
use Time::HiRes qw(time sleep);

# How many writers there are, how many transactions each of them executes, how many rounds each
# reader reads, and how many rows there are in each table, at least.
my ($WRITERS, $TRANSACTIONS, $ROUNDS, $ROWS) = (16, 30, 12, 100);

# Starts all processes on a server, with this seed of the random numbers. Each reader reads each
# table, in its own way: that has a name, and a function that returns the statements of a round,
# given the last ID of each table. They print "-" before the rows of each table. A way can "begin" a
# session with statements, and "loses" says that its rows are not compared.
sub start {
	my ($class, $node, $seed, @ways) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('readers');
	my $minutes = $ENV{FLAKEID_WATERMARK_MINUTES} || 0;
	my $self =
	  bless { node => $node, ways => \@ways, dir => $dir, test => $$, minutes => $minutes },
	  $class;
	my $begin = sub {
		my ($name, $seed, $work) = @_;
		$self->{pid_of}{$name} = in_a_process(sub { srand($seed); $work->() });
	};
	$begin->("reader_$_", $seed + 1000 + $_, sub { $self->_read_as($_) }) for 0 .. $#ways;
	$begin->("writer_$_", $seed + $_, sub { $self->_write_as($_) }) for 1 .. $WRITERS;
	return $self;
}

# Waits until all have done enough. Calls the function each time that 40 transactions have ended,
# and at least ten times.
sub wait_until_enough {
	my ($self, $step) = @_;
	my ($until, $stepped, %done, %since) = (time() + 60 * $self->{minutes}, 0);
	my $have_rows = 'SELECT ' . join ' AND ',
	  map { "(SELECT count(*) > $ROWS FROM $_->{table})" } @TABLES;
	while (1) {
		my ($ended, $is_enough) = (0, time() >= $until);
		for my $name (sort keys %{ $self->{pid_of} }) {
			my $lines = lines_in("$self->{dir}/$name");
			($done{$name}, $since{$name}) = ($lines, time()) if $lines > ($done{$name} // -1);
			$self->_fail("$name does not go on")
			  if time() > $since{$name} + $PostgreSQL::Test::Utils::timeout_default;
			$self->_fail("$name has ended too early")
			  if waitpid($self->{pid_of}{$name}, POSIX::WNOHANG()) != 0;
			my $is_writer = $name =~ /^writer/;
			$ended += $lines if $is_writer;
			$is_enough &&= $lines >= ($is_writer ? $TRANSACTIONS : $ROUNDS);
		}
		if ($step && $ended >= 40 * ($stepped + 1)) {
			$step->();
			$stepped++;
		}
		last
		  if $is_enough
		  && (!$step || $stepped >= 10)
		  && $self->{node}->safe_psql('postgres', $have_rows) eq 't';
		sleep 0.1;
	}
	return;
}

sub _fail {
	my ($self, $reason) = @_;
	write_line("$self->{dir}/enough", '');
	die $reason;
}

# Ends the writers and what they have prepared, and then the readers, when these have read all rows.
sub stop {
	my ($self) = @_;
	my %pid_of = %{ $self->{pid_of} };
	write_line("$self->{dir}/enough", '');
	have_ended(map { $pid_of{$_} } grep { /^writer/ } keys %pid_of);
	$self->{node}->safe_psql('postgres', <<~'SQL');
		SELECT format('%s PREPARED %L',
			CASE WHEN random() < 0.5 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
		FROM pg_prepared_xacts \gexec
		SQL
	# A session whose client has left goes on for a while.
	$self->{node}->poll_query_until('postgres', <<~'SQL') or die 'the writers do not end';
		SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'
		SQL
	write_line("$self->{dir}/last", '');
	have_ended(map { $pid_of{$_} } grep { /^reader/ } keys %pid_of);
	return;
}

sub _lines {
	my ($self, $name) = @_;
	my $file = "$self->{dir}/$name";
	return -e $file ? split /\n/, slurp_file($file) : ();
}

# Tests that each reader has read all rows, except those whose way loses some.
sub has_read_all {
	my ($self) = @_;
	is(join("\n", $self->_lines('unexpected')),
		'', 'the writers had the errors that they had to expect');
	for my $number (0 .. $#TABLES) {
		my $table = $TABLES[$number]{table};
		my @rows = split /\n/,
		  $self->{node}->safe_psql('postgres', "SELECT id FROM $table ORDER BY id");
		for my $nr (0 .. $#{ $self->{ways} }) {
			my ($way, @read) = ($self->{ways}[$nr], $self->_lines("reader_$nr.$number"));
			my $difference = "@read" eq "@rows" ? '' : first_difference(\@read, \@rows);
			if ($way->{loses}) { note "$way->{name}, $table: $difference" }
			else {
				is($difference, '',
					"by $way->{name} a reader reads all $table in order, each once");
			}
		}
	}
	is($self->{node}->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_flakeid_watermark'),
		'0', 'at the end nothing holds a watermark back');
	return;
}

sub _write_as {
	my ($self, $nr) = @_;
	my ($client, $times) = (undef, 0);
	until (-e "$self->{dir}/enough") {
		return if getppid() != $self->{test};
		$client //= connect_as($self->{node}, 'writer');
		$times++;
		my $answer = ask($client, random_step("writer_${nr}_$times"));
		ask($client, $END_PREPARED) if $answer && rand() < 0.5;
		my @unexpected =
		  grep { /^(?:ERROR|PANIC)/ && !/^ERROR:  (?:$EXPECTED_ERRORS)/ } @{ $answer // [] };
		write_line("$self->{dir}/unexpected", @unexpected) if @unexpected;
		if (!$answer) {
			disconnect($client);
			undef $client;
		}
		write_line("$self->{dir}/writer_$nr", 'done');
	}
	disconnect($client) if $client;
	return;
}

sub _read_as {
	my ($self, $nr) = @_;
	my $way = $self->{ways}[$nr];
	my $client = connect_as($self->{node}, 'reader');
	ask($client, $way->{begin}) if $way->{begin};
	my @newest = map {
		"SELECT coalesce((SELECT id::text FROM $_->{table} ORDER BY id DESC LIMIT 1), 'none');"
	} @TABLES;
	my $until = time() + 10 * $PostgreSQL::Test::Utils::timeout_default + 60 * $self->{minutes};
	my @last;
	while (1) {
		return if getppid() != $self->{test};
		die "reader by $way->{name} does not come to the end" if time() > $until;
		my $is_last = -e "$self->{dir}/last";
		my $answer = ask($client, $way->{round}->(@last)) // die 'the reader has lost its session';
		if (my @errors = grep { /^ERROR/ } @$answer) {
			# A transaction that cannot be serialized is as if it had read nothing.
			next unless grep { !/^ERROR:  (?:40001|25P02)/ } @errors;
			die "reader by $way->{name}: @errors";
		}
		my ($read, @rows) = (-1);
		for my $line (@$answer) {
			$line eq '-' ? $read++ : push @{ $rows[$read] }, $line;
		}
		for my $number (grep { $rows[$_] } 0 .. $#TABLES) {
			$last[$number] = $rows[$number][-1];
			write_line("$self->{dir}/reader_$nr.$number", @{ $rows[$number] });
		}
		write_line("$self->{dir}/reader_$nr", 'done') if @rows;
		next unless $is_last;
		my $newest = ask($client, @newest);
		last if "@$newest" eq join ' ', map { $last[$_] // 'none' } 0 .. $#TABLES;
	}
	disconnect($client);
	return;
}

1;
