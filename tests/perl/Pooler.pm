# A server whose clients share two of its sessions through pgbouncer, and a table of IDs with their
# clients, sessions and transactions.
package Pooler;

use strict;
use warnings;

use Exporter qw(import);
use IO::Socket::UNIX;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

our @EXPORT = qw(%COLUMNS start_pooler stop_pooler prepares through inserts_rows begin_crowd);

our %COLUMNS = (
	flake => { type => 'bigint', id_type => 'flake', next => 'flake_next()' },
	sno => { type => 'sno', next => 'sno_next(7)' },
	flake128 => {},
	guid => {},
	guid_local => {},
	uniqueid => {},
	uuidv7 => { type => 'uuid', id_type => 'uuidv7', next => 'uuidv7_next()' },
	spread => { type => 'uniqueid', next => q{uniqueid_next('spread')} },);

for my $name (keys %COLUMNS) {
	my $type = $COLUMNS{$name}{type} //= $name;
	$COLUMNS{$name}{id_type}         //= $type;
	$COLUMNS{$name}{next}            //= "${type}_next()";
}

# Debian has it where only root's path leads.
my ($program) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
my ($node, $dir, $pooled, $pooler);

# Whether pgbouncer knows which session has prepared a statement: from 1.21 on.
sub prepares {
	my ($major, $minor) = `$program --version` =~ /(\d+)\.(\d+)/;
	return $major > 1 || $minor >= 21;
}

# Starts a server, and the pooler of two sessions.
sub start_pooler {
	my ($name) = @_;
	plan(skip_all => 'there is no pgbouncer') unless $program;
	$node = flakeid_server($name, "flakeid.generator_ids = '8-15'\n");
	# `nr` is the order in which a client, a transaction and a session of the server got their rows.
	my $columns = join ', ',
	  map { "$_ $COLUMNS{$_}{type} DEFAULT $COLUMNS{$_}{next}" } sort keys %COLUMNS;
	$node->safe_psql('postgres', <<~"SQL");
		CREATE TABLE ids (
			nr bigserial, run text, client integer, session integer DEFAULT pg_backend_pid(),
			transaction xid8 DEFAULT pg_current_xact_id(), $columns
		);
		SQL

	$dir = PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my ($user) = getpwuid $<;
	my ($server_host, $server_port) = ($node->host, $node->port);
	append_to_file("$dir/pgbouncer.ini", <<~"END");
		[databases]
		postgres = host=$server_host port=$server_port dbname=postgres user=$user

		[pgbouncer]
		listen_addr =
		listen_port = $port
		unix_socket_dir = $dir
		auth_type = any
		pool_mode = transaction
		default_pool_size = 2
		max_client_conn = 100
		ignore_startup_parameters = extra_float_digits,options
		logfile = $dir/log
		query_wait_timeout = 0
		server_connect_timeout = 600
		server_login_retry = 1
		client_login_timeout = 600
		END
	append_to_file("$dir/pgbouncer.ini", "max_prepared_statements = 100\n") if prepares();
	my $output = '';
	$pooler =
	  IPC::Run::start([ $program, '-q', "$dir/pgbouncer.ini" ], '<', \undef, '>&', \$output);
	# The socket's file is there before it listens.
	my $listens = sub {
		die "pgbouncer does not run: $output" unless $pooler->pumpable;
		return IO::Socket::UNIX->new(Peer => "$dir/.s.PGSQL.$port");
	};
	wait_until('pgbouncer listens', $listens, 0.02);
	$pooled = "host=$dir port=$port dbname=postgres user=$user";
	_open_both_sessions();
	return $node;
}

# Two clients that are in a transaction at the same time make the pooler open both sessions.
sub _open_both_sessions {
	my $barrier = session($node);
	$barrier->query_safe('SELECT pg_advisory_lock(1)');
	my @both = map {
		IPC::Run::start(
			[ 'psql', '-XAtq', '-d', $pooled, '-c', 'SELECT pg_advisory_xact_lock_shared(1)' ],
			'<', \undef, '>', '/dev/null')
	} 1 .. 2;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die 'the pooler does not open two sessions';
	$barrier->quit;
	$_->finish or die 'a client of the pooler failed' for @both;
	return;
}

sub stop_pooler {
	$pooler->signal('INT');
	$pooler->finish;
	$node->stop;
	return;
}

END {
	local $?;
	$pooler->kill_kill if $pooler && $pooler->pumpable;
}

# Returns what a client of the pooler gets for a statement.
sub through {
	my ($sql) = @_;
	my ($given, $error) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $pooled, '-c', $sql ],
		'<', \undef, '>', \$given, '2>', \$error)
	  or die "through pgbouncer: $error";
	chomp $given;
	return $given;
}

# Starts twenty clients of 15 transactions each, with three statements of five rows. The protocol is
# simple, extended or prepared.
sub begin_crowd {
	my ($run, $protocol) = @_;
	my $script = "$dir/$run.sql";
	my $insert =
	  "INSERT INTO ids (run, client) SELECT '$run', :client_id FROM generate_series(1, 5);\n";
	append_to_file($script, "BEGIN;\n" . $insert x 3 . "END;\n") unless -e $script;
	return IPC::Run::start(
		[
			'pgbench', '--no-vacuum', '-c', 20, '-j', 2, '-t', 15, '-M', $protocol // 'simple',
			'-f', $script, $pooled
		],
		'<',
		\undef,
		'>',
		"$dir/$run.out",
		'2>',
		"$dir/$run.err");
}

# Tests that such clients insert their rows.
sub inserts_rows {
	my ($run, $protocol) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(begin_crowd($run, $protocol)->finish,
		"$run: twenty clients insert rows through two sessions of the server")
	  || diag(slurp_file("$dir/$run.err"));
}

1;
