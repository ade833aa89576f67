# Servers that continue with the data of another one: promoted standbys, recovered and restored
# backups. Each has a clock of its own that a test can step. Their tables are those of Ledger, whose
# keys refuse an ID that repeats.
package Successors;

use strict;
use warnings;

use Exporter qw(import);
use FakedClock;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

our @EXPORT = qw(@TYPE_NAMES primary successor launch crash halt insert_rows recovery_ends
  upgrade is_behind_last wait_for_worker wait_until_seen wait_until_looked promote repeats_none
  repeats_none_behind);

our @TYPE_NAMES = map { $_->{name} } @ID_TYPES;

# Starts a server with the tables, and without the worker of flakeid. Its clock is these seconds
# ahead. Returns the node and its clock.
sub primary {
	my ($name, $seconds, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1, has_archiving => $how{has_archiving});
	$node->append_conf('postgresql.conf', <<~'END' . ($how{configuration} // ''));
		shared_preload_libraries = 'flakeid'
		flakeid.generator_ids = '3'
		flakeid.max_clock_wait = '100ms'
		shared_buffers = '16MB'
		autovacuum = off
		max_worker_processes = 0
		END
	my $clock = FakedClock->of_node($node);
	$clock->step($seconds);
	$clock->start;
	create_tables($node);
	return ($node, $clock);
}

my %postmasters;

# Starts a server so that it can be killed.
sub launch {
	my ($clock) = @_;
	my $node = $clock->node;
	$postmasters{ $node->name } = Postmaster->start($node, $clock->environment);
	return;
}

# Kills a server as a whole, and starts it again.
sub crash {
	my ($clock) = @_;
	$postmasters{ $clock->node->name }->kill9;
	return launch($clock);
}

# Stops a server.
sub halt {
	my ($node, $mode) = @_;
	return $postmasters{ $node->name }->stop($mode // 'fast');
}

# Launches a server from a backup of another one, by default with a worker. `has_streaming` and the
# like are those of init_from_backup. Returns the node and its clock.
sub successor {
	my ($name, $of, $backup, $configuration, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($of, $backup, %how);
	$node->append_conf('postgresql.conf',
		"archive_mode = off\nmax_worker_processes = 8\n$configuration");
	my $clock = FakedClock->of_node($node);
	launch($clock);
	return ($node, $clock);
}

# Inserts this number of rows with new IDs of these types, by default of all.
sub insert_rows {
	my ($node, $rows, @names) = @_;
	$node->safe_psql(
		'postgres',
		join "\n",
		map { "INSERT INTO ${_}s (nr) SELECT generate_series(1, $rows);" }
		  @names ? @names : @TYPE_NAMES);
	return;
}

# Tests that pg_upgrade upgrades a server that is stopped to another one. It leaves files where it
# is called.
sub upgrade {
	my ($old, $new, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	chomp(my $bindir = `pg_config --bindir`);
	my @command = ("$bindir/pg_upgrade", '-b', $bindir, '-B', $bindir, '-s', $new->host);
	push @command, '-d', $old->data_dir, '-D', $new->data_dir, '-p', $old->port, '-P', $new->port;
	push @command, '--no-sync' if `$bindir/pg_upgrade --help` =~ /--no-sync/;
	my $here = PostgreSQL::Test::Utils::tempdir('upgrade');
	return command_ok([ 'sh', '-c', 'cd "$0" && exec "$@"', $here, @command ], $test);
}

# Waits until a server is not in recovery any more.
sub recovery_ends {
	my ($node) = @_;
	wait_for_server($node);
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	return;
}

# Waits until the worker that looks at recovery runs, and is not the one with this process ID. It
# has no title before it begins. Returns its process ID.
sub wait_for_worker {
	my ($node, $other) = @_;
	my $is_there = sub {
		my $pid = worker_of($node) // 0;
		return $pid != ($other // 0) && $pid;
	};
	return wait_until('a worker', $is_there, 0.05);
}

# Waits until the state file of a standby covers what its primary has generated until now.
sub wait_until_seen {
	my ($primary, $node) = @_;
	my $now = $primary->safe_psql('postgres',
		'SELECT trunc(extract(epoch FROM clock_timestamp()) * 1000000000)');
	my $is_seen = sub {
		return 1 if -e state_path($node) && until_of(state_of($node)) >= $now;
		$primary->safe_psql('postgres', 'SELECT pg_current_xact_id()');
		return 0;
	};
	return wait_until('the worker writes what it sees', $is_seen, 0.05);
}

# Waits until the worker of a standby has looked at what there is now. It sleeps between two looks.
# A sleep that waits for the disk (state D) is in the middle of a look, and another one (state S)
# may be, for a lock. So the worker has looked when it is seen asleep, and again after three more
# sleeps.
sub wait_until_looked {
	my ($node) = @_;
	my $pid = wait_for_worker($node);
	my $first;
	my $has_looked = sub {
		my ($state, $sleeps) =
		  slurp_file("/proc/$pid/status") =~ /^State:\s+(\w).*^voluntary_ctxt_switches:\s+(\d+)/ms;
		return 0 if $state ne 'S';
		$first //= $sleeps;
		return $sleeps >= $first + 3;
	};
	return wait_until('the worker looks', $has_looked, 0.05);
}

# Promotes a standby, and waits until its worker has seen the end of recovery and opened the state.
# A session that came first would wait for the lead.
sub promote {
	my ($node) = @_;
	wait_for_worker($node);
	$node->promote;
	return wait_until('the worker ends', sub { !defined worker_of($node) }, 0.05);
}

# Returns the pattern of the error that the clock is behind the last ID of a type.
sub is_behind_last {
	my ($name) = @_;
	return qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind the last $name ID/;
}

# Tests that a server repeats no ID of its primary: it generates none at four moments when the
# primary did, and IDs of the present when its clock is `past` seconds ahead. It has at least
# `rows` rows of each type. sno may continue at these moments, as its other timeline may be free.
sub repeats_none {
	my ($node, $clock, $test, %how) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return subtest $test => sub {
		my $session = session($node);
		# A session does not wait for a clock that is far behind.
		$session->query_safe(
			"SET statement_timeout TO '${PostgreSQL::Test::Utils::timeout_default}s'");
		my $insert = sub {
			my ($name) = @_;
			return error_in($session, "INSERT INTO ${name}s SELECT FROM generate_series(1, 1000)");
		};
		for my $name (@TYPE_NAMES) {
			my ($rows, @moments) = split /\|/, $session->query_safe(<<~"SQL");
				SELECT count(*), extract(epoch FROM min(at)),
					extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY at)),
					extract(epoch FROM percentile_disc(0.99) WITHIN GROUP (ORDER BY at)),
					extract(epoch FROM max(at))
				FROM ${name}s, ${name}_timestamp(id) AS at WHERE nr > 0
				SQL
			cmp_ok($rows, '>=', $how{rows}, "the server has $name IDs of its primary");
			my @errors = map { $clock->stand_still($_); $insert->($name) } @moments;
			@errors = grep { $_ ne '' } @errors if $name eq 'sno';
			my $behind = is_behind_last($name);
			is_deeply([ grep { !/$behind/ } @errors ],
				[], "no $name ID repeats at the moments when the primary generated some");
		}
		$clock->step($how{past});
		for my $name (@TYPE_NAMES) {
			is($insert->($name), '', "$name IDs continue when the clock is past the last one");
			is($session->query_safe(<<~"SQL"), 't', "new $name IDs have the present time");
				SELECT at BETWEEN now() - interval '4 ms' AND clock_timestamp()
				FROM (SELECT ${name}_timestamp(${name}_next()) AS at OFFSET 0) AS generated
				SQL
		}
		$session->quit;
	};
}

# As repeats_none, for a promoted server whose clock is these seconds behind its primary's: it
# generates no ID by its own clock. Stops the server.
sub repeats_none_behind {
	my ($node, $clock, $seconds, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $session = session($node);
	$session->query_safe("SET statement_timeout TO '${PostgreSQL::Test::Utils::timeout_default}s'");
	like(error_in($session, "INSERT INTO ${_}s SELECT FROM generate_series(1, 100)"),
		is_behind_last($_), "$what, with its clock behind, generates no $_ IDs")
	  for @TYPE_NAMES;
	$session->quit;
	repeats_none(
		$node, $clock, "$what, with its clock behind, repeats no ID",
		rows => 1000,
		past => $seconds + 2);
	halt($node);
	return;
}

1;
