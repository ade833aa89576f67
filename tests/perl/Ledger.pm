# All IDs that clients were given, through all lives of a server or of several: also those whose
# transaction never ended. Every session writes what it gets to a file of its own, as it gets it.
package Ledger;

use strict;
use warnings;

use Errno;
use Exporter qw(import);
use Fcntl    qw(O_NONBLOCK O_WRONLY);
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT =
  qw(@ID_TYPES @OF_ONE_CELL @WITH_GENERATOR_IDS @WITHOUT_GENERATOR_IDS create_tables is_behind
  horizon_of tick_at times_of timelines_of use_all_lanes);

# Every ID of an ID type is asked for with the same arguments, so that these can't tell two apart
# that are otherwise the same. A tick is in nanoseconds, and has so many numbers, of each generator
# ID. An ID type without generator IDs has so many cells, whose numbers are counted together. Those
# that turn go on in another timeline when the clock steps back.
our @ID_TYPES = (
	{
		name => 'flake',
		type => 'bigint',
		next => 'flake_next()',
		batch => 'flake_next_batch(%d)',
		tick => 1_000_000,
		numbers => 4096
	},
	{
		name => 'sno',
		type => 'sno',
		next => 'sno_next(7)',
		batch => 'sno_next_batch(%d, 7)',
		tick => 4_000_000,
		numbers => 65_536,
		turns => 1
	},
	{
		name => 'flake128',
		type => 'flake128',
		next => 'flake128_next()',
		batch => 'flake128_next_batch(%d)',
		tick => 1_000_000,
		numbers => 65_536,
		cells => 1
	},
	{
		name => 'guid',
		type => 'guid',
		next => 'guid_next()',
		batch => 'guid_next_batch(%d)',
		tick => 131_072,
		numbers => 16_384,
		cells => 1
	},
	{
		name => 'uniqueid',
		type => 'uniqueid',
		next => 'uniqueid_next()',
		batch => 'uniqueid_next_batch(%d)',
		tick => 1_000_000,
		numbers => 64
	},
	{
		# While the clock stands still: its sessions use the numbers of a tick again in each
		# fraction of it.
		name => 'uuidv7',
		type => 'uuid',
		next => 'uuidv7_next()',
		batch => 'uuidv7_next_batch(%d)',
		tick => 1_000_000,
		numbers => 256,
		cells => 4
	},);

# Those with generator IDs, each with a cell of its own, and the others.
our @WITH_GENERATOR_IDS = grep { !$_->{cells} } @ID_TYPES;
our @WITHOUT_GENERATOR_IDS = grep { $_->{cells} } @ID_TYPES;

# Those of which a server with one generator ID has one cell, so that all sessions have the same
# last tick.
our @OF_ONE_CELL = grep { ($_->{cells} // 1) == 1 } @ID_TYPES;

# Makes sessions generate a uuidv7 until each lane has one of now. Four that connect one after the
# other have different lanes.
sub use_all_lanes {
	my ($node) = @_;
	my $now = $node->safe_psql('postgres', "SELECT clock_timestamp() - interval '1 ms'");
	my @sessions;
	do {
		die 'a lane has no session' if @sessions > 64;
		push @sessions, map { session($node) } 1 .. 4;
		$_->query_safe('SELECT uuidv7_next()') for @sessions;
	} until $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_flakeid WHERE id_type = 'uuidv7' AND last_tick_at >= '$now'")
	  == 4;
	$_->quit for @sessions;
	return;
}

# Creates the extension, and for each ID type a table of the plural of its name that is keyed by its
# IDs.
sub create_tables {
	my ($node) = @_;
	my @tables =
	  map { "CREATE TABLE $_->{name}s (id $_->{type} DEFAULT $_->{next} PRIMARY KEY, nr integer);" }
	  @ID_TYPES;
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid; @tables");
	return;
}

# The least and the greatest time of these IDs of an ID type, in nanoseconds since 1970: where their
# ticks begin, which a timestamp has in whole microseconds.
sub times_of {
	my ($node, $id_type, @ids) = @_;
	my $nanos = "(extract(epoch FROM $id_type->{name}_timestamp(id)) * 1000000)::bigint * 1000";
	my $list = "unnest('{" . join(',', @ids) . "}'::$id_type->{type}" . '[])';
	my @ends = split /\|/,
	  $node->safe_psql('postgres', "SELECT min($nanos), max($nanos) FROM $list AS id");
	return map { $_ + -$_ % $id_type->{tick} } @ends;
}

# When the tick began in which an ID type is at a moment, in nanoseconds since 1970.
sub tick_at {
	my ($id_type, $nanos) = @_;
	return $nanos - $nanos % $id_type->{tick};
}

# The tick-tock bits of these IDs.
sub timelines_of {
	my ($node, $id_type, @ids) = @_;
	my $list = "unnest('{" . join(',', @ids) . "}'::$id_type->{type}" . '[])';
	my $bits = "DISTINCT ($id_type->{name}_decode(id)).tick_tock::text";
	return $node->safe_psql('postgres', "SELECT string_agg($bits, '') FROM $list AS id");
}

# The moment before which an ID type may have made IDs, in the timeline with this bit.
sub horizon_of {
	my ($state, $id_type, $bit) = @_;
	return moment($id_type->{turns} ? $state->{tick_tock_until}[$bit] : $state->{until});
}

# Tests that an error says so, that the clock is so many seconds behind an ID type's last ID.
sub is_behind {
	my ($error, $id_type, $seconds, $test) = @_;
	my $what = qr/last $id_type->{name} ID|first ID of this transaction|watermark/;
	my ($by, $unit) =
	  $error =~ /ERROR:  58000: the clock is ([\d.]+) (ms|s|min|days) behind the (?:$what)/;
	my %unit =
	  (ms => [ 0.001, 0.001 ], s => [ 1, 0.1 ], min => [ 60, 60 ], days => [ 86_400, 86_400 ]);
	my ($of_unit, $exact) = @{ $unit{ $unit || 's' } };
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(
		defined $by && abs($by * $of_unit - $seconds) <= $exact + $id_type->{tick} / 1_000_000_000,
		$test) || diag("$seconds s: $error");
}

# How a session asks, again and again.
my %way = (
	single => 'SELECT %s, %s FROM generate_series(1, 20)',
	batch => 'SELECT %s, %s',
	# One long answer, of which the client sees each row when it comes. It pauses, so that a session
	# gets no more than 100,000 IDs a second on a fast machine.
	stream => 'SELECT %s, %s FROM (SELECT generate_series(1, 1000000000000) AS nr) AS many'
	  . ' WHERE nr % 1000 > 0 OR pg_sleep(0.01) IS NOT NULL',
	# By a parallel query, from a table that the test has made.
	parallel => 'SELECT %s, %s FROM source',
	# By a parallel query, in one long answer. Its workers scan and wait, and the leader generates
	# the IDs.
	workers => 'SELECT %s, %s FROM source, generate_series(1, 100000) AS nr'
	  . ' WHERE nr % 1000 > 0 OR pg_sleep(0.01) IS NOT NULL',);

# A ledger is `of_several_servers` if these generate IDs at the same time, each as its own.
sub new {
	my ($class, $name, %how) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir("ledger_$name");
	my %lists = (sessions => [], feeders => [], files => []);
	return bless { dir => $dir, number => 0, %lists, %how }, $class;
}

# What a session asks: a row has the ID type's name and an ID.
sub _statement {
	my ($id_type, $way, $n) = @_;
	my $call = $way eq 'batch' ? sprintf($id_type->{batch}, $n || 50) : $id_type->{next};
	return sprintf 'COPY (%s) TO STDOUT', $way{$way} =~ s/%s/'$id_type->{name}'/r =~ s/%s/$call/r;
}

# Begins sessions that ask until the server ends them or an error comes: one for each ID type,
# database and way. None ends by itself, however fast the machine is.
sub crowd {
	my ($self, $node, %which) = @_;
	my @sessions;
	for my $database (@{ $which{databases} || ['postgres'] }) {
		for my $way (@{ $which{ways} || [ 'single', 'batch' ] }) {
			push @sessions, $self->_begin($node, $database, $_, $way)
			  for @{ $which{id_types} || \@ID_TYPES };
		}
	}
	push @{ $self->{sessions} }, @sessions;
	push @{ $self->{feeders} },
	  _feed(map { ($_->{in} => _statement($_->{id_type}, $_->{way}) . ";\n") } @sessions);
	return;
}

sub _begin {
	my ($self, $node, $database, $id_type, $way) = @_;
	my $out = $self->_file;
	my $in = "$out.in";
	POSIX::mkfifo($in, 0600) or die "could not make $in: $!";
	my $run = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-f', $in,
			'-d', $node->connstr($database) . ' application_name=crowd'
		],
		'<',
		'/dev/null',
		'>', $out, '2>',
		"$out.err",
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return { run => $run, id_type => $id_type, way => $way, in => $in, out => $out };
}

# Starts a process that feeds sessions their statements through their pipes, as long as they read.
# One statement in 10 ms to each is at most 100 a second, and 10 of those that make thousands of
# IDs: what they are given in a second has a limit on a fast machine, too, and other tests have room
# beside them. On a slow machine statements wait in the pipe.
sub _feed {
	my (%statements) = @_;
	my %is_large = map { $_ => 1 } grep { $statements{$_} =~ /FROM source/ } keys %statements;
	my $turn = 0;
	my $test = $$;
	my $feeder = fork;
	die "could not fork: $!" unless defined $feeder;
	return $feeder if $feeder;

	local $SIG{PIPE} = 'IGNORE';
	my %pipes;
	while (getppid() == $test) {
		for my $in (keys %statements) {
			next if $is_large{$in} && $turn % 10;
			# There is no pipe to write to before the session reads it.
			$pipes{$in} || sysopen($pipes{$in}, $in, O_WRONLY | O_NONBLOCK)
			  or delete $pipes{$in}, next;
			defined syswrite($pipes{$in}, $statements{$in}) || $!{EAGAIN}
			  or delete $statements{$in};
		}
		$turn++;
		sleep 0.01;
	}
	# Neither the test's plan nor its servers are this process's to end.
	POSIX::_exit(0);
}

# The files that `twice` has not looked at are in the list.
sub _file {
	my ($self) = @_;
	my $file = sprintf '%s/%04d', $self->{dir}, $self->{number}++;
	push @{ $self->{files} }, $file;
	append_to_file($file, '');
	return $file;
}

# Waits until every session of the crowd has been given IDs; with a number of seconds, until all
# that have not ended are given more when these are over.
sub wait_until_given {
	my ($self, $seconds) = @_;
	$self->_wait_until_more(map { $_->{out} => 0 } @{ $self->{sessions} });
	return unless $seconds;
	sleep $seconds;
	return $self->_wait_until_more(map { $_->{out} => -s $_->{out} } @{ $self->{sessions} });
}

sub _wait_until_more {
	my ($self, %size) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	for my $session (@{ $self->{sessions} }) {
		until (-s $session->{out} > $size{ $session->{out} }) {
			my $ended = !$session->{run}->pumpable && -s "$session->{out}.err";
			last if $ended && $size{ $session->{out} };
			die "no $session->{id_type}{name} IDs: " . slurp_file("$session->{out}.err")
			  if $ended || time() > $until;
			sleep 0.02;
		}
	}
	return;
}

# How many sessions of the crowd have been given IDs.
sub given {
	my ($self) = @_;
	return scalar grep { -s $_->{out} } @{ $self->{sessions} };
}

# Whether the crowd has gone, for which it has so many seconds, or as long as tests wait for
# anything.
sub has_gone {
	my ($self, $seconds) = @_;
	my $until = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	while (grep { $_->{run}->pumpable } @{ $self->{sessions} }) {
		return 0 if time() > $until;
		sleep 0.02;
	}
	return 1;
}

# Waits until the crowd has gone. Returns its sessions, each with its first IDs and its error.
sub dispersed {
	my ($self) = @_;
	for my $session (@{ $self->{sessions} }) {
		$session->{run}->finish;
		$session->{error} = slurp_file("$session->{out}.err");
		open my $file, '<', $session->{out} or die "could not read $session->{out}: $!";
		while (my $line = <$file>) {
			push @{ $session->{first} }, (split ' ', $line)[1];
			last if @{ $session->{first} } == 100;
		}
	}
	for my $feeder (splice @{ $self->{feeders} }) {
		kill 'KILL', $feeder;
		waitpid $feeder, 0;
	}
	my @sessions = @{ $self->{sessions} };
	$self->{sessions} = [];
	return @sessions;
}

# Kills a process of this kind, of those that serve clients one of the crowd's, and waits until the
# crowd has gone. A process may end by itself, and then another has to be found: only of one that
# has been stopped it is known that the signal ends it.
sub kill_one {
	my ($self, $node, $kind) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (time() < $until) {
		my $pid = $node->safe_psql('postgres', <<~"SQL");
			SELECT pid FROM pg_stat_activity
			WHERE backend_type = '$kind' AND application_name IN ('crowd', '') LIMIT 1
			SQL
		next unless $pid ne '' && kill 'STOP', $pid;
		sleep 0.001 until _state_of($pid) =~ /^[TZX]?$/;
		next unless _state_of($pid) eq 'T' && kill 'KILL', $pid;
		return $self->has_gone || die 'the sessions stay';
	}
	die "there is no $kind";
}

# Returns the letter for what a process does; empty for a process that has gone.
sub _state_of {
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/stat" or return '';
	return (<$file> // '') =~ /\) (\w)/ ? $1 : '';
}

# Tests that the crowd has no error but that the server has gone.
sub crowd_ends {
	my ($self, $test) = @_;
	my @errors = map { $_->{error} =~ /(ERROR: .*)/g } $self->dispersed;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", grep { !/parallel (?:transaction|worker)/ } @errors), '', $test);
}

# Asks for some IDs of one ID type, in a session of its own. Returns the error, which is empty where
# there is no error, and the IDs.
sub ask {
	my ($self, $node, $id_type, $n, $database) = @_;
	my ($given, $error, $late);
	my $longest = $PostgreSQL::Test::Utils::timeout_default;
	$node->psql(
		$database || 'postgres', "\\set VERBOSITY verbose\n" . _statement($id_type, 'batch', $n),
		stdout => \$given,
		stderr => \$error,
		timeout => $longest,
		timed_out => \$late);
	$error = "no answer within $longest s" if $late;
	return ($error, $self->enter($given));
}

# Asks every ID type for ten IDs, in one session. Returns by each ID type's name its error, which is
# empty where there is no error, and its IDs.
sub ask_each {
	my ($self, $node) = @_;
	my ($given, $error, $late) = ('', '', 0);
	my $longest = $PostgreSQL::Test::Utils::timeout_default;
	my @asks = map { "\\warn >>>$_->{name}\n" . _statement($_, 'batch', 10) . ";\n" } @ID_TYPES;
	$node->psql(
		'postgres', join('', "\\set VERBOSITY verbose\n", @asks),
		stdout => \$given,
		stderr => \$error,
		on_error_stop => 0,
		timeout => $longest,
		timed_out => \$late);
	die "no answer within $longest s: $error" if $late;
	$self->enter($given);
	my %errors = "$error\n" =~ /^>>>(\w+)\n(.*?)(?=^>>>|\z)/gms;
	die "not all ID types were asked: $error" if grep { !defined $errors{ $_->{name} } } @ID_TYPES;
	return map {
		my $name = $_->{name};
		($name => [ $errors{$name} =~ s/\s+\z//r, $given =~ /^$name\t(\S+)/mg ])
	} @ID_TYPES;
}

# Tests that every ID type generates IDs. Returns these by the ID type's name.
sub all_generate {
	my ($self, $node, $test) = @_;
	my %given = $self->ask_each($node);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", map { shift @{ $given{$_} } || () } sort keys %given), '', $test);
	return %given;
}

# Tests that no ID type generates IDs, for a reason.
sub none_generates {
	my ($self, $node, $reason, $test) = @_;
	my %given = $self->ask_each($node);
	my @wrong = grep { $given{$_}[0] !~ $reason || @{ $given{$_} } > 1 } sort keys %given;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", map { "$_: @{ $given{$_} }" } @wrong), '', $test);
}

# Makes every ID type generate IDs; dies where one does not.
sub use_all {
	my ($self, $node) = @_;
	my %given = $self->ask_each($node);
	for my $name (sort keys %given) {
		die "no $name IDs: $given{$name}[0]" if $given{$name}[0] ne '' || @{ $given{$name} } < 2;
	}
	return;
}

# Asks for some IDs of one ID type in a session that stays, enters them, and returns the error.
sub ask_in {
	my ($self, $session, $id_type, $n) = @_;
	my $list = $session->query(
		"SELECT '$id_type->{name}', id FROM " . sprintf($id_type->{batch}, $n) . ' AS id');
	my $error = $session->{stderr};
	$session->{stderr} = '';
	$self->enter($list =~ s/\|/\t/gr);
	return $error;
}

# Enters lines of an ID type's name and an ID; returns the IDs.
sub enter {
	my ($self, $lines) = @_;
	append_to_file($self->_file, "$lines\n") if $lines ne '';
	return map { (split ' ')[1] } split /\n/, $lines;
}

# The random bits of a uuidv7 would tell two IDs of a server apart that are otherwise the same: of
# its text only what comes before them counts. IDs of different servers have nothing else in which
# they differ.
my $without_random_bits = 's/^(uuidv7\t.{22}).*/\1/';

# The IDs that were given out more than once: none.
sub twice {
	my ($self) = @_;
	local $ENV{LC_ALL} = 'C';
	my ($all, $sorted, $list) = map { "$self->{dir}/$_" } 'all', 'sorted', 'list';
	append_to_file($all, '');
	unlink $list;
	append_to_file($list, join '', map { "$_\0" } splice @{ $self->{files} });
	my $edit = $self->{of_several_servers} ? '' : $without_random_bits;
	_run([ 'xargs', '-0', '-a', $list, 'sed', '-E', '-e', $edit ],
		'|', [ 'sort', '-S', '256M', '-T', $self->{dir}, '-o', $sorted ]);
	_run([ 'sort', '-m', '-o', $all, $all, $sorted ]);
	return _run([ 'uniq', '-d', $all ], '|', [ 'head', '-n', '10' ]);
}

sub _run {
	my @commands = @_;
	my ($out, $error) = ('', '');
	IPC::Run::run(@commands, '>', \$out, '2>', \$error) or die "could not compare the IDs: $error";
	return $out;
}

1;
