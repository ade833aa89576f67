# What several tests ask of a server.
package Server;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time sleep);

# What a session that stays is asked and says is for the test's log. BackgroundPsql tells prove,
# too, as notes: for some files these are a hundred times what they have to tell, and cost more than
# their tests.
{
	no warnings 'redefine';
	*PostgreSQL::Test::BackgroundPsql::note = sub { print STDOUT @_, "\n" };
	*PostgreSQL::Test::BackgroundPsql::explain = sub {
		map { "$_: $_[0]{$_}" } sort keys %{ $_[0] };
	};
	# The timer of a session runs on between two queries, however long that is. Without this such a
	# session would end with the error that its time is over.
	*PostgreSQL::Test::BackgroundPsql::quit = sub {
		my ($self) = @_;
		$self->{timeout}->start if $self->{query_timer_restart};
		$self->{stdin} .= "\\q\n";
		return $self->{run}->finish;
	};
}

# Copies a folder by one program. The module copies file by file, and a cluster has a thousand.
{
	no warnings 'redefine';
	my $copy_by_file = \&PostgreSQL::Test::RecursiveCopy::copypath;
	*PostgreSQL::Test::RecursiveCopy::copypath = sub {
		my ($from, $to, %how) = @_;
		return $copy_by_file->(@_) if $how{filterfn};
		die "$to is there already\n" if -e $to;
		return system('cp', '-RT', $from, $to) == 0 || die "could not copy $from\n";
	};
}

our @EXPORT = qw(flakeid_server wait_until error_of error_becomes session error_in reload_with
  worker_of write_rows wait_for_server crash_server);

# Starts a server that preloads flakeid, with these lines in its configuration, and creates the
# extension. The options go to init.
sub flakeid_server {
	my ($name, $configuration, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	$configuration //= '';
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n$configuration");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# Waits until this is true and returns its value; dies if it does not become true.
sub wait_until {
	my ($what, $is_true, $pause) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $value;
	until ($value = $is_true->()) {
		die "waited in vain: $what" if time() > $until;
		sleep($pause // 0.1);
	}
	return $value;
}

# The error a statement ends in, as psql prints it with its SQLSTATE; empty where there is no error.
sub error_of {
	my ($node, $sql, $database) = @_;
	my ($stdout, $stderr) = ('', '');
	$node->psql(
		$database || 'postgres', "\\set VERBOSITY verbose\n$sql",
		stdout => \$stdout,
		stderr => \$stderr,
		on_error_stop => 1);
	return $stderr;
}

# Repeats a statement until it ends in such an error, and returns the last error. For a moment there
# may be another one: a request to etcd that a busy machine has delayed is an error, too.
sub error_becomes {
	my ($node, $sql, $error) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (1) {
		my $now = error_of($node, $sql);
		return $now if $now =~ $error || time() > $until;
		sleep 0.1;
	}
}

# A session that stays, and goes on after errors.
sub session {
	my ($node, $database) = @_;
	my $session = $node->background_psql($database || 'postgres', on_error_stop => 0);
	$session->set_query_timer_restart;
	$session->query_safe('\\set VERBOSITY verbose');
	return $session;
}

# As error_of, in a session that stays.
sub error_in {
	my ($session, $sql) = @_;
	$session->query($sql);
	my $error = $session->{stderr};
	$session->{stderr} = '';
	return $error;
}

# Changes settings and reloads. When it returns every session takes them with its next statement: a
# session begun later has them, and the postmaster tells the others before it begins one.
sub reload_with {
	my ($node, %settings) = @_;
	my @names = sort keys %settings;
	$node->safe_psql(
		'postgres', join ";\n",
		(map { "ALTER SYSTEM SET flakeid.$_ = '$settings{$_}'" } @names),
		'SELECT pg_reload_conf()');
	$node->poll_query_until(
		'postgres',
		'SELECT ' . join ' AND ',
		map { "current_setting('flakeid.$_') = '$settings{$_}'" } @names)
	  or die 'these settings did not come: ' . join ', ',
	  map { "flakeid.$_ = '$settings{$_}'" } @names;
	return;
}

# The process that looks at recovery, which no view shows; undefined where it has ended.
sub worker_of {
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	for my $pid (map { m{(\d+)} } glob '/proc/[0-9]*') {
		open my $stat, '<', "/proc/$pid/stat" or next;
		next unless (<$stat> // '') =~ /\) \w $postmaster /;
		open my $title, '<', "/proc/$pid/cmdline" or next;
		return $pid if (<$title> // '') =~ /: flakeid recovery/;
	}
	return;
}

# Waits until a server that crashed takes sessions again. It gives psql nothing to read: a psql that
# is refused ends without reading, and a process that writes to it dies of that.
sub wait_for_server {
	my ($node) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $said;
	until (
		IPC::Run::run(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT' ],
			'<', '/dev/null', '>&', \$said))
	{
		die "the server did not recover: $said" if time() > $until;
		sleep 0.05;
	}
	return;
}

# Kills a process of the server, by default the background writer. For that the server initializes
# its shared memory again. Returns when the server takes sessions. Needs restart_after_crash, which
# the tests turn off by default.
sub crash_server {
	my ($node, $pid) = @_;
	my $end_of_log = -s $node->logfile;
	my $sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'";
	# A server takes sessions before its background writer is in the view.
	$pid //= wait_until('a background writer', sub { $node->safe_psql('postgres', $sql) });
	kill 'KILL', $pid;
	# Until the server knows of the crash it takes sessions, which it then ends.
	$node->wait_for_log(qr/database system is ready to accept connections/, $end_of_log);
	return wait_for_server($node);
}

# Writes a file of rows as COPY's binary format has them; what is undefined is NULL.
sub write_rows {
	my ($file, @rows) = @_;
	open my $handle, '>:raw', $file or die "could not write $file: $!";
	print $handle "PGCOPY\n\377\r\n\0", pack('N N', 0, 0);
	for my $row (@rows) {
		print $handle pack('n', scalar @$row);
		print $handle defined $_ ? pack('N/a*', $_) : pack('N', 0xffffffff) for @$row;
	}
	print $handle pack('n', 0xffff);
	close $handle or die "could not write $file: $!";
	return;
}

1;
