# Clients that insert rows with IDs, at whichever member of a cluster takes writes, and write down
# every ID that they were told, also those of transactions that were rolled back, and of those whose
# end nobody knows. And what compares all of these with what is in the members' tables.
#
# A row has three IDs, one of each type that has a generator ID, the port of the server that made
# them, and an origin, which no other row has. So a row may be seen many times, by its client and in
# the table of each member; two rows that have an ID in common have two origins.
package Writers;

use strict;
use warnings;

use IO::Handle;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

our $table = 'made (origin, member, flake, uniqueid, sno)';

# The type of each column, and an expression for what IDs of one generator ID and one tick have in
# common.
my %column = (
	flake => { type => 'bigint', tick => 'flake >> 12' },
	uniqueid => {
		type => 'uniqueid',
		tick => '(SELECT (created_at, generator_id) FROM uniqueid_decode(uniqueid))'
	},
	sno => { type => 'sno', tick => '(SELECT (created_at, "partition") FROM sno_decode(sno))' },);
our @columns = sort keys %column;

# A statement every so many seconds from each writer; a session that gave nothing for so long is
# left to itself. What a writer asks, and how much disk that takes, does not grow with the speed of
# the machine.
my ($writers, $interval, $patience) = (4, 0.06, 3);

sub table_definition {
	return
	  'CREATE TABLE made (origin text, member integer, '
	  . join(', ', map { "$_ $column{$_}{type}" } 'flake', 'uniqueid', 'sno') . ')';
}

sub new {
	my ($class, $cluster) = @_;
	my $self = bless {
		cluster => $cluster,
		dir => PostgreSQL::Test::Utils::tempdir('writers'),
		pids => [],
		probes => 0
	}, $class;
	return $self;
}

sub start {
	my ($self) = @_;
	for my $number (1 .. $writers) {
		my $test = $$;
		my $pid = fork;
		die "could not fork: $!" unless defined $pid;
		if (!$pid) {
			eval { $self->_write($number, $test) };
			warn $@ if $@;
			POSIX::_exit($@ ? 1 : 0);
		}
		push @{ $self->{pids} }, $pid;
	}
	return;
}

# Ends the writers; returns when the last session has.
sub stop {
	my ($self) = @_;
	kill 'TERM', @{ $self->{pids} };
	for my $pid (splice @{ $self->{pids} }) {
		waitpid $pid, 0;
		die 'a writer failed' if $?;
	}
	return;
}

# One writer, which is a process: now connected here, now there, until it is told to end. A session
# takes some seconds' statements. One that gives no answer goes on by itself, with what it has been
# sent: it may be that of a server that is stopped, and what that gives when it goes on counts.
sub _write {
	my ($self, $number, $test) = @_;
	my ($ended, $session, $statement) = (0, 0, 0);
	local $SIG{TERM} = sub { $ended = 1 };
	local $SIG{PIPE} = 'IGNORE';
	srand $number;
	until ($ended || getppid() != $test) {
		my $out = sprintf '%s/told_%d_%05d', $self->{dir}, $number, ++$session;
		my ($pid, $in) = $self->_connect($out);
		my ($size, $grown_at, $left) = (0, time(), 50 + int rand 100);
		while (!$ended && $left-- && time() < $grown_at + $patience && syswrite $in,
			_statement(join('-', $number, ++$statement)))
		{
			sleep $interval;
			next if ($size == (my $now = -s $out));
			($size, $grown_at) = ($now, time());
		}
		close $in;
		# One that was refused does not come again at once.
		sleep 0.2 unless $size;
		1 while waitpid(-1, POSIX::WNOHANG()) > 0;
	}
	1 while waitpid(-1, 0) > 0;
	return;
}

# Returns the process of psql, and where to write what it is to ask.
sub _connect {
	my ($self, $out) = @_;
	my @members = sort { rand() <=> 0.5 } $self->{cluster}->members;
	append_to_file($out, '');
	pipe my $from, my $to or die "could not make a pipe: $!";
	$to->blocking(0);
	my $pid = fork;
	die "could not fork: $!" unless defined $pid;
	if (!$pid) {
		close $to;
		open my $told, '>>', $out                       or POSIX::_exit(126);
		open my $error, '>>', "$self->{dir}/said_by_$$" or POSIX::_exit(126);
		POSIX::dup2(fileno $from, 0);
		POSIX::dup2(fileno $told, 1);
		POSIX::dup2(fileno $error, 2);
		exec 'setpriv', '--pdeathsig', 'KILL', 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-f',
		  '-', '-d', $self->{cluster}->connection(@members)
		  or POSIX::_exit(127);
	}
	return ($pid, $to);
}

# Rows that are committed, rolled back, or never inserted; these are many, so that a tick has many
# IDs. COPY gives each row when it comes, and not only those of statements that succeed.
sub _statement {
	my ($origin) = @_;
	my $kind = int rand 8;
	my $rows = $kind ? 10 : 100;
	my $row = "SELECT '$origin-' || n, current_setting('port')::integer,"
	  . " flake_next(), uniqueid_next(), sno_next(7) FROM generate_series(1, $rows) AS n";
	return "COPY ($row) TO STDOUT;\n" unless $kind;
	my $insert = "COPY (INSERT INTO $table $row RETURNING *) TO STDOUT;\n";
	return
		$kind > 4 ? "BEGIN;\n${insert}ROLLBACK;\n"
	  : $kind > 2 ? "BEGIN;\n${insert}COMMIT;\n"
	  :             $insert;
}

# Asks a member for IDs; returns the error, which is empty when it gave them.
sub probe {
	my ($self, $member) = @_;
	my $origin = 'probe-' . ++$self->{probes};
	my ($out, $error) = $self->{cluster}->ask($member,
		"SELECT '$origin', current_setting('port'), flake_next(), uniqueid_next(), sno_next(7)");
	append_to_file("$self->{dir}/told_probes", ($out =~ tr/|/\t/r) . "\n") if $out;
	return $out ? '' : $error || 'no answer';
}

# Waits until writers have been told so many more rows by each of these members.
sub wait_until_told {
	my ($self, $rows, @members) = @_;
	my %read = map { $_ => -s } $self->_files;
	my %left = map { $_->{port} => $rows } @members;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (grep { $_ > 0 } values %left) {
		die 'writers are told nothing by ' . join(', ', grep { $left{$_} > 0 } keys %left)
		  if time() > $until;
		sleep 0.1;
		for my $file ($self->_files) {
			my $from = $read{$file} // 0;
			next if -s $file == $from;
			open my $told, '<', $file or die "could not read $file: $!";
			seek $told, $from, 0;
			while (my $line = <$told>) {
				# The end of the file may be in the middle of a row.
				last unless $line =~ /\n\z/;
				$from += length $line;
				$left{ (split /\t/, $line)[1] }--;
			}
			$read{$file} = $from;
		}
	}
	return;
}

sub _files { my ($self) = @_; return glob "$self->{dir}/told_*" }

# The errors that clients saw, without what differs from one to the next, and how often.
sub errors {
	my ($self) = @_;
	my %count;
	for my $file (glob "$self->{dir}/said_by_*") {
		open my $said, '<', $file or die "could not read $file: $!";
		while (my $line = <$said>) {
			$count{ $1 =~ s/\d[\d.,-]*/N/gr }++ if $line =~ /((?:ERROR|FATAL):  .*)/;
		}
	}
	return %count;
}

# Loads all that clients were told into a server of its own, which it returns, beside these files of
# rows: those that the members' tables have (`kept`), and those that old leaders had (`tails`).
sub compare {
	my ($self, %files) = @_;
	my $node = PostgreSQL::Test::Cluster->new('compare_' . $self->{cluster}{name});
	$node->init;
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'flakeid'\nautovacuum = off\nwork_mem = '64MB'\n");
	$node->start;
	my $create = table_definition() =~ s/TABLE made/UNLOGGED TABLE %s/r;
	$files{told} = [ $self->_files ];
	$node->safe_psql(
		'postgres', join ";\n",
		'CREATE EXTENSION flakeid',
		map { sprintf $create, $_ } keys %files);

	for my $which (keys %files) {
		$node->safe_psql('postgres', join "\n",
			map { "COPY $which FROM '$_';" } @{ $files{$which} });
	}
	$self->{node} = $node;
	return $node;
}

# For each column how many of its IDs more than one row has, in a table of these (`twice`) with the
# rows' origins.
sub twice {
	my ($self) = @_;
	my $node = $self->{node};
	my $repeated = join ' UNION ALL ', map <<"SQL", @columns;
SELECT '$_' AS type, $_\::text AS id, ${_}_timestamp($_) AS at,
	array_agg(origin) AS origins, array_agg(DISTINCT member) AS members
FROM ids GROUP BY $_ HAVING count(*) > 1
SQL
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS ids, twice;
CREATE UNLOGGED TABLE ids AS TABLE told UNION TABLE kept UNION TABLE tails;
CREATE UNLOGGED TABLE twice AS $repeated;
SQL
	return
	  map { $_ => $node->safe_psql('postgres', "SELECT count(*) FROM twice WHERE type = '$_'") }
	  @columns;
}

# For each column in how many ticks of one generator ID more than one member made IDs.
sub ticks_shared {
	my ($self) = @_;
	return map {
		$_ => $self->{node}->safe_psql('postgres',
				'SELECT count(*) FROM (SELECT FROM ids'
			  . " GROUP BY $column{$_}{tick} HAVING count(DISTINCT member) > 1) AS shared")
	} @columns;
}

1;
