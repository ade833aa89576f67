# Readers in ID order, beside writers that do all that writers can do: each reader reads exactly the rows that are
# committed, in order, each once, by the watermark of all IDs or that of an ID type. What shows it is a comparison with the
# table at the end, when no transaction is open. Without the watermark a reader loses rows.
#
# FLAKEID_WATERMARK_MINUTES says how long the writers go on, at least. Without it they go on until each of them and each
# reader has done enough. FLAKEID_SEED decides what the writers do. TEST_FILE_TIMEOUT has to be above the minutes of both
# runs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Crowd;
use FakedClock;
use Ledger;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";

my $settings = <<'END';
log_statement = none
max_connections = 60
max_prepared_transactions = 40
flakeid.max_clock_wait = '10min'
END

# without the watermark ------------------------------------------------------------------------------------------------

my $clock = FakedClock->new('readers', $settings);
my $node = $clock->node;
$clock->start;
create_tables($node);
my ($early, $late, $reader) = map { session($node) } 1 .. 3;

# What a reader reads after the last row that it has read.
sub rows_after {
	my ($id_type, $last, $condition) = @_;
	my $after = defined $last ? "id > '$last'" : 'true';
	return split /\n/,
	  $reader->query_safe(
		"SELECT id FROM $id_type->{name}s WHERE $after AND $condition ORDER BY id");
}

# A transaction generates its ID before another one does, and commits after it.
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') {
		my ($last) = reverse rows_after($id_type, undef, 'true');
		$early->query_safe("BEGIN ISOLATION LEVEL $level");
		my $id = $early->query_safe("INSERT INTO ${name}s DEFAULT VALUES RETURNING id");
		my $later;
		do {
			$late->query_safe("BEGIN ISOLATION LEVEL $level");
			$later = $late->query_safe("INSERT INTO ${name}s DEFAULT VALUES RETURNING id");
			$late->query_safe('COMMIT');
		} until $late->query_safe("SELECT '$later'::$id_type->{type} > '$id'::$id_type->{type}")
		  eq 't';

		my @without = rows_after($id_type, $last, 'true');
		is($without[-1], $later,
			"$name, $level: a reader without the watermark reads the later row first");
		clock_passes($reader,
			$reader->query_safe('SELECT ' . in_micros("${name}_timestamp('$later')")));
		my @with = rows_after($id_type, $last, before_watermark($id_type));
		ok(!(grep { $_ eq $later } @with), '... and one with the watermark does not read it yet');
		my $had = $with[-1] // $last;
		$early->query_safe('COMMIT');
		is_deeply([ grep { $_ eq $id } rows_after($id_type, $without[-1], 'true') ],
			[], '... without it, it never reads the earlier row');
		my $until = time() + $PostgreSQL::Test::Utils::timeout_default;

		while (!grep { $_ eq $later } @with) {
			die 'the watermark does not pass the row' if time() > $until;
			my @more = rows_after($id_type, $had, before_watermark($id_type));
			$had = $more[-1] if @more;
			push @with, @more;
		}
		is_deeply(
			\@with,
			[ rows_after($id_type, $last, 'true') ],
			'... with it, it reads both, in order');
	}
}
$_->quit for $early, $late, $reader;
$node->safe_psql('postgres', 'TRUNCATE ' . join ', ', map { "$_->{name}s" } @ID_TYPES);

# writers --------------------------------------------------------------------------------------------------------------

sub pause { return 'SELECT pg_sleep(random() * 0.02) \g /dev/null' }

# A statement that inserts rows with new IDs, or generates some.
sub insertion {
	my $id_type = pick(@ID_TYPES);
	my $table = "$id_type->{name}s";
	my $rows = 1 + int rand 8;
	my $batch = sprintf $id_type->{batch}, $rows;
	return pick(
		"INSERT INTO $table DEFAULT VALUES;",
		"INSERT INTO $table (nr) SELECT generate_series(1, $rows);",
		"INSERT INTO $table (id) SELECT id FROM $batch AS id;",
		"COPY $table (nr) FROM PROGRAM 'seq $rows';",
		"SELECT $id_type->{next} \\g /dev/null",
		"SELECT count(*) FROM $batch \\g /dev/null",
		"SAVEPOINT s; INSERT INTO $table DEFAULT VALUES; RELEASE s;",
		"SAVEPOINT s; INSERT INTO $table DEFAULT VALUES; ROLLBACK TO s;",
		"DO \$\$ BEGIN INSERT INTO $table DEFAULT VALUES; BEGIN INSERT INTO $table DEFAULT VALUES; RAISE 'back';"
		  . ' EXCEPTION WHEN OTHERS THEN NULL; END; END $$;',
		# The ID is there some time before its row.
		"WITH ids AS MATERIALIZED (SELECT $id_type->{next} AS id), later AS MATERIALIZED (SELECT id FROM ids, pg_sleep(random() * 0.005))"
		  . " INSERT INTO $table (id) SELECT id FROM later;");
}

sub transaction {
	my ($gid) = @_;
	my @steps =
	  ('BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') . ';');
	push @steps, 'SELECT count(*) FROM snos WHERE id > now() \g /dev/null', pause() if rand() < 0.3;
	for (1 .. 1 + int rand 3) {
		push @steps, insertion();
		push @steps, pause() if rand() < 0.7;
	}
	push @steps, pick(
		('COMMIT;') x 12,
		('ROLLBACK;') x 3,
		("PREPARE TRANSACTION '$gid';") x 3,
		'SELECT 1 / 0; COMMIT;',
		# The client leaves.
		'\q');
	return join "\n", @steps;
}

# Ends a prepared transaction of any session.
my $end_prepared =
  q{SELECT format('%s PREPARED %L', CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)}
  . q{ FROM pg_prepared_xacts ORDER BY random() LIMIT 1 \gexec};
my $kill = 'SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity'
  . " WHERE application_name = 'writer' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1) AS one \\g /dev/null";

# What a writer does in one step.
sub work {
	my ($gid) = @_;
	my $kind = rand();
	return insertion() =~ s/SAVEPOINT .*//r if $kind < 0.15;
	return
	  "DO \$\$ BEGIN FOR nr IN 1 .. 3 LOOP INSERT INTO flakes DEFAULT VALUES; INSERT INTO snos DEFAULT VALUES;"
	  . ' PERFORM pg_sleep(random() * 0.01); IF random() < 0.8 THEN COMMIT; ELSE ROLLBACK; END IF; END LOOP; END $$;'
	  if $kind < 0.25;
	return $kill if $kind < 0.27;
	return transaction($gid);
}

# Transactions that cannot be serialized, and what follows in them; the division; prepared transactions that another
# session ends, or that are too many; the program of a COPY whose session is terminated, which gets the signal, too.
my $expected = '40001|25P02|3B001|22012|55000|42704|53200|38000';

# Works until the test says that it is enough.
sub write_rows_as {
	my ($node, $dir, $nr) = @_;
	srand($seed + $nr);
	my ($client, $times) = (undef, 0);
	my $test = getppid();
	until (-e "$dir/enough") {
		return if getppid() != $test;
		$client //= connect_as($node, 'writer');
		$times++;
		my $answer = ask($client, work("writer_${nr}_$times"));
		ask($client, $end_prepared) if $answer && rand() < 0.4;
		# Of these errors a client has to expect any.
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
	my ($id_type, $last, $condition) = @_;
	my $after = defined $last ? "id > '$last'::$id_type->{type} AND " : '';
	# The watermark of all IDs, or that of the ID type's stream: each holds for the rows of the ID type.
	my $stream = pick(undef, $id_type->{name});
	return
		"SELECT id FROM $id_type->{name}s WHERE $after"
	  . ($condition // before_watermark($id_type, 'id', $stream))
	  . ' ORDER BY id';
}

# Each reader has a way. It says what is done once in a session, and what in a round, given for each ID type the last
# row's ID. A round's result has for each ID type, in their order, a line '-' and then IDs.
my $with_all = sub {
	my ($last, $each) = @_;
	return map { ("\\echo -", $each->($_, $last->{ $_->{name} })) } @ID_TYPES;
};
my $in_transaction = sub {
	my ($level, $last) = @_;
	return (
		"BEGIN ISOLATION LEVEL $level;",
		'SELECT count(*) FROM flakes LIMIT 1 \g /dev/null',
		pause(), $with_all->($last, sub { select_after(@_) . ';' }),
		pause(), 'COMMIT;');
};
my @ways = (
	{
		name => 'one statement',
		round => sub {
			$with_all->($_[0], sub { select_after(@_) . ';' });
		}
	},
	{
		name => 'prepared statements',
		begin => join(
			"\n",
			'SET plan_cache_mode = force_generic_plan;',
			map {
				"PREPARE $_->{name}_after($_->{type}) AS "
				  . select_after($_, '') =~ s/''::\w+/\$1/r . ';'
			} @ID_TYPES),
		round => sub {
			$with_all->(
				$_[0],
				sub {
					my ($id_type, $last) = @_;
					defined $last
					  ? "EXECUTE $id_type->{name}_after('$last');"
					  : select_after($id_type) . ';';
				});
		}
	},
	{ name => 'REPEATABLE READ', round => sub { $in_transaction->('REPEATABLE READ', @_) } },
	{ name => 'SERIALIZABLE', round => sub { $in_transaction->('SERIALIZABLE', @_) } },
	{
		name => 'cursors',
		round => sub {
			return (
				'BEGIN;',
				(   map {
						"DECLARE of_$_->{name} CURSOR FOR "
						  . select_after($_, $_[0]{ $_->{name} }) . ';'
					} @ID_TYPES),
				$with_all->(
					$_[0],
					sub {
						my $cursor = "of_$_[0]{name}";
						return (
							"FETCH 3 FROM $cursor;",
							pause(),
							'SELECT flakeid_watermark() \g /dev/null',
							"FETCH ALL FROM $cursor;");
					}),
				'COMMIT;');
		}
	},
	{
		name => 'cursors that are held',
		round => sub {
			$with_all->(
				$_[0],
				sub {
					my $cursor = "of_$_[0]{name}";
					return (
						'BEGIN;', "DECLARE $cursor CURSOR WITH HOLD FOR " . select_after(@_) . ';',
						pause(), 'COMMIT;',
						"FETCH ALL FROM $cursor;",
						"CLOSE $cursor;");
				});
		}
	},
	{
		name => 'functions',
		round => sub {
			$with_all->(
				$_[0],
				sub {
					my ($id_type, $last) = @_;
					"SELECT * FROM $id_type->{name}s_after("
					  . (defined $last ? "'$last'" : 'NULL') . ');';
				});
		}
	},
	{
		name => 'seq scans and workers',
		begin =>
		  'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET parallel_setup_cost = 0;'
		  . ' SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;',
		round => sub {
			$with_all->($_[0], sub { select_after(@_) . ';' });
		}
	},
	# It shows that there was something to lose, if chance allows.
	{
		name => 'without the watermark',
		loses => 1,
		round => sub {
			$with_all->($_[0], sub { select_after(@_, 'true') . ';' });
		}
	},);

# Reads rounds until the test says that no transaction is open, and then until the last row was read.
sub read_rows_as {
	my ($node, $dir, $nr) = @_;
	srand($seed + 1000 + $nr);
	my $way = $ways[$nr];
	my $client = connect_as($node, 'reader');
	ask($client, $way->{begin}) if $way->{begin};
	my %last;
	my $test = getppid();
	my $until =
	  time() +
	  10 * $PostgreSQL::Test::Utils::timeout_default +
	  60 * ($ENV{FLAKEID_WATERMARK_MINUTES} || 0);

	for (;;) {
		return if getppid() != $test;
		die "reader $way->{name} does not come to the end" if time() > $until;
		my $is_last = -e "$dir/last";
		my $answer = ask($client, join "\n", $way->{round}->(\%last), pause())
		  // die 'the reader has lost its session';
		my @errors = grep { /^ERROR/ } @$answer;
		if (@errors) {
			# The transaction is as if it had read nothing.
			die "reader $way->{name}: @errors" if grep { !/^ERROR:  (?:40001|25P02)/ } @errors;
			next;
		}
		my (%rows, $name);
		my @names = map { $_->{name} } @ID_TYPES;
		for my $line (@$answer) {
			$line eq '-' ? $name = shift @names : push @{ $rows{$name} }, $line;
		}
		for my $name (keys %rows) {
			$last{$name} = $rows{$name}[-1];
			write_line("$dir/reader_$nr.$name", @{ $rows{$name} });
		}
		write_line("$dir/reader_$nr", 'done') if %rows;
		next unless $is_last;
		my $greatest = ask(
			$client,
			join "\n",
			map {
				"SELECT coalesce((SELECT id::text FROM $_->{name}s ORDER BY id DESC LIMIT 1), 'none');"
			} @ID_TYPES);
		last
		  if join("\n", @$greatest) eq join("\n", map { $last{ $_->{name} } // 'none' } @ID_TYPES);
	}
	disconnect($client);
	return;
}

# all of them ----------------------------------------------------------------------------------------------------------

# Runs writers and readers, with the clock stepped in between by what this function returns, in seconds.
sub run_all {
	my ($node, $what, $step) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('readers');
	my ($writers, $transactions, $rounds) = (16, 30, 12);
	for my $id_type (@ID_TYPES) {
		my ($name, $type) = @$id_type{ 'name', 'type' };
		my $before = before_watermark($id_type);
		$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION ${name}s_after(last $type) RETURNS SETOF $type LANGUAGE plpgsql STABLE AS \$\$
BEGIN
	RETURN QUERY SELECT id FROM ${name}s WHERE (last IS NULL OR id > last) AND $before ORDER BY id;
END
\$\$
SQL
	}

	my @readers = map {
		my $nr = $_;
		in_a_process(sub { read_rows_as($node, $dir, $nr) })
	} 0 .. $#ways;
	my @writers = map {
		my $nr = $_;
		in_a_process(sub { write_rows_as($node, $dir, $nr) })
	} 1 .. $writers;
	my $begin = time();
	# What the writers do is random.
	my $have_rows = 'SELECT ' . join ' AND ',
	  map { "(SELECT count(*) > 100 FROM $_->{name}s)" } @ID_TYPES;
	my $until = $begin + 60 * ($ENV{FLAKEID_WATERMARK_MINUTES} || 0);
	my $stepped = 0;
	# How much each of them has done, and since when.
	my (%seen, %since);
	for (;;) {
		my @ended = grep { waitpid($_, POSIX::WNOHANG()) != 0 } @readers, @writers;
		if (@ended) {
			write_line("$dir/enough", '');
			die 'a process of the test has ended too early';
		}
		my %lines = map { $_ => lines_in("$dir/$_") } (map { "writer_$_" } 1 .. $writers),
		  (map { "reader_$_" } 0 .. $#ways);
		for my $who (sort keys %lines) {
			($seen{$who}, $since{$who}) = ($lines{$who}, time())
			  if $lines{$who} > ($seen{$who} // -1);
			# All of them go on until this loop ends. Only the readers have another limit, ten times as long.
			die "$who does not go on"
			  if time() > $since{$who} + $PostgreSQL::Test::Utils::timeout_default;
		}
		my @done = map { $lines{"writer_$_"} } 1 .. $writers;
		my $done = 0;
		$done += $_ for @done;
		if ($step && $done >= 40 * ($stepped + 1)) {
			$step->();
			$stepped++;
		}
		my $is_enough =
		  time() >= $until && (!$step || $stepped >= 10) && !grep { $_ < $transactions } @done;
		last
		  if $is_enough
		  && !(grep { $lines{"reader_$_"} < $rounds } 0 .. $#ways)
		  && $node->safe_psql('postgres', $have_rows) eq 't';
		sleep 0.1;
	}
	write_line("$dir/enough", '');
	have_ended(@writers);
	$node->safe_psql('postgres',
		"SELECT format('%s PREPARED %L', CASE WHEN random() < 0.5 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid) FROM pg_prepared_xacts \\gexec"
	);
	# A session whose client has left goes on for a while.
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'")
	  or die 'the writers do not end';
	write_line("$dir/last", '');
	have_ended(@readers);

	is(-e "$dir/unexpected" ? slurp_file("$dir/unexpected") : '',
		'', "$what: the writers had the errors that they had to expect");
	for my $id_type (@ID_TYPES) {
		my $name = $id_type->{name};
		my $rows = $node->safe_psql('postgres', "SELECT id FROM ${name}s ORDER BY id");
		my @rows = split /\n/, $rows;
		cmp_ok(scalar @rows, '>', 100, "... there are ${name}s (" . @rows . ')');
		for my $nr (0 .. $#ways) {
			my $file = "$dir/reader_$nr.$name";
			my @read = -e $file ? split /\n/, slurp_file($file) : ();
			if ($ways[$nr]{loses}) {
				my %read = map { $_ => 1 } @read;
				note "$ways[$nr]{name} a reader has lost "
				  . (grep { !$read{$_} } @rows) . ' of '
				  . @rows
				  . " ${name}s";
				next;
			}
			ok(join("\n", @read) eq $rows,
				"... by $ways[$nr]{name} a reader has read all of them, in order, each once")
			  or diag(first_difference(\@read, \@rows));
		}
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_flakeid_watermark'),
		'0', '... at the end nothing holds the watermark back');
	note sprintf '%s: %d rounds of readers, %.1f s', $what,
	  eval { my $sum = 0; $sum += lines_in("$dir/reader_$_") for 0 .. $#ways; $sum },
	  time() - $begin;
	return;
}

run_all($node, 'a clock that goes on');
$node->stop;

# In this run the clock is stepped forward and back. Sessions wait for it.
$clock = FakedClock->new('stepped', $settings);
$node = $clock->node;
$clock->start;
create_tables($node);
my $offset = 0;
run_all(
	$node,
	'a clock that steps',
	sub {
		$offset += pick(-0.3, -0.1, -0.02, 0.05, 0.3, 1);
		$clock->step($offset);
	});
$node->stop;

done_testing();
