# A cluster that Patroni manages: three members on this host, each with an agent, a PostgreSQL and a
# wire of its own to one etcd, which both the agent and flakeid use. Members can be killed, stopped
# and cut off from etcd. Patroni is Debian's, as `scripts/setup 15 failover` unpacks it.
#
# A member is a hash: its name, its ports, its folders, the process of its agent, its wire.
package Patroni;

use strict;
use warnings;

use Etcd;
use File::Path qw(remove_tree);
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server qw(wait_until);
use Test::More;

my ($programs) = grep { -d } map { "$_/patroni-12/usr" } grep { defined } $ENV{FLAKEID_CACHE},
  ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid', '/var/cache/flakeid';
BAIL_OUT('Patroni is missing; scripts/setup 15 failover fetches it') unless $programs;

# The modules are for the release's own Python.
my @python = ('env', "PYTHONPATH=$programs/lib/python3/dist-packages", '/usr/bin/python3');

# The shortest time between two looks at something that is waited for, in seconds.
my $between_looks = 0.2;

my @clusters;

# A cluster that is not yet started. `shared` is what all members have in Patroni's configuration in
# etcd, in YAML; `parameters` are PostgreSQL's settings that each member has besides, by name.
sub new {
	my ($class, $name, %how) = @_;
	my $self = bless {
		name => $name,
		etcd => $how{etcd},
		members => [],
		sockets => PostgreSQL::Test::Utils::tempdir_short(),
		http => HTTP::Tiny->new(timeout => 2, keep_alive => 0),
	}, $class;
	my %password = map { $_ => _password() } 'superuser', 'replication';
	for my $number (1 .. 3) {
		my $dir = PostgreSQL::Test::Utils::tempdir("patroni_$name");
		my $member = {
			name => "m$number",
			dir => $dir,
			data => "$dir/data",
			conf => "$dir/patroni.yml",
			wire => $how{etcd}->wire,
			log => "$PostgreSQL::Test::Utils::log_path/${name}_m$number.log",
			map { $_ => PostgreSQL::Test::Cluster::get_free_port() } 'port', 'rest',
		};
		push @{ $self->{members} }, $member;
		_write_configuration($self, $member, \%password, %how);
	}
	push @clusters, $self;
	return $self;
}

sub _password {
	open my $random, '<:raw', '/dev/urandom' or die "could not open /dev/urandom: $!";
	sysread $random, my $bytes, 16;
	return unpack 'H*', $bytes;
}

# An address of etcd that all members share can't lead through a wire, so each member has its own,
# which counts for more. A watchdog would restart this machine.
sub _write_configuration {
	my ($self, $member, $password, %how) = @_;
	chomp(my $bindir = `pg_config --bindir`);
	my ($wire) = $member->{wire}{endpoint} =~ m{//(.*)};
	my %parameters = (
		unix_socket_directories => $self->{sockets},
		fsync => 'off',
		'flakeid.etcd_endpoints' => "http://$wire",
		'flakeid.etcd_ca_file' => '',
		%{ $how{parameters} || {} });
	my $parameters = join '', map { "    $_: '$parameters{$_}'\n" } sort keys %parameters;
	my $shared = $how{shared} =~ s/^/    /mgr;
	append_to_file($member->{conf}, <<"END");
scope: $self->{name}
name: $member->{name}
restapi:
  listen: 127.0.0.1:$member->{rest}
  connect_address: 127.0.0.1:$member->{rest}
etcd3:
  hosts: ['$wire']
  use_proxies: true
watchdog:
  mode: off
bootstrap:
  dcs:
$shared
  initdb:
    - encoding: UTF8
    - locale: C
    - data-checksums
postgresql:
  listen: 127.0.0.1:$member->{port}
  connect_address: 127.0.0.1:$member->{port}
  use_unix_socket: true
  data_dir: $member->{data}
  bin_dir: $bindir
  pgpass: $member->{dir}/pgpass
  basebackup:
    - checkpoint: fast
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {username: postgres, password: $password->{superuser}}
    replication: {username: replicator, password: $password->{replication}}
  pg_hba:
    - local all all trust
    - host replication replicator 127.0.0.1/32 scram-sha-256
    - host all all 127.0.0.1/32 scram-sha-256
  parameters:
$parameters
END
	return;
}

sub members { my ($self) = @_; return @{ $self->{members} } }

# Starts all members, the first one first; returns when they are a primary and two standbys.
sub start {
	my ($self) = @_;
	my ($first, @others) = $self->members;
	$self->start_agent($first);
	$self->wait_for_leader($first);
	$self->start_agent($_) for @others;
	return $self->wait_until_whole;
}

# agents and Patroni's own interfaces ----------------------------------------------------------

sub start_agent {
	my ($self, $member) = @_;
	my $pid = fork;
	die "could not fork: $!" unless defined $pid;
	if (!$pid) {
		delete @ENV{ grep { /^(?:PG|PATRONI|ETCD)/ } keys %ENV };
		open my $to, '>>', $member->{log} or POSIX::_exit(126);
		POSIX::dup2(fileno $to, $_) for 1, 2;
		# The kernel kills it when the test is killed.
		exec 'setpriv', '--pdeathsig', 'KILL', @python, "$programs/bin/patroni", $member->{conf}
		  or POSIX::_exit(127);
	}
	$member->{agent} = $pid;
	return;
}

# Whether an agent answers that its member is the primary and has the leader's key.
sub is_leader {
	my ($self, $member) = @_;
	return 0 if !$member->{agent} || $member->{stopped};
	return $self->{http}->get("http://127.0.0.1:$member->{rest}/primary")->{status} == 200;
}

sub leader {
	my ($self) = @_;
	return (grep { $self->is_leader($_) } $self->members)[0];
}

# Waits until one of these members is the leader, and returns it.
sub wait_for_leader {
	my ($self, @candidates) = @_;
	return wait_until(
		"a leader among the members of $self->{name}",
		sub {
			(grep { $self->is_leader($_) } @candidates)[0];
		},
		$between_looks);
}

# Waits until there are one leader and two standbys that stream from it; returns the leader. A
# standby that has read of a timeline which its leader does not have can't go on by itself: `reinit`
# is what its operator does then. So it is where Patroni 3.0.2 lets an agent that stood still take
# the leader's key from the one that was promoted since.
sub wait_until_whole {
	my ($self) = @_;
	$_->{read} = -s $_->{log} || 0 for $self->members;
	return wait_until(
		"three members of $self->{name}",
		sub {
			my $leader = $self->leader or return;
			my %streaming = map { $_ => 1 } split /\n/,
			  ( ask($self, $leader,
					"SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'")
			  )[0];
			my @others = grep { $_ != $leader && !$streaming{ $_->{name} } } $self->members;
			$self->_make_again($_) for grep { $_->{agent} && _is_on_lost_timeline($_) } @others;
			return if @others;
			my $answer = $self->{http}->get("http://127.0.0.1:$leader->{rest}/cluster");
			return unless $answer->{success};
			my @members = @{ JSON::PP->new->decode($answer->{content})->{members} };
			my %timelines = map { $_->{timeline} // 0 => 1 } @members;
			return
				 @members == 3
			  && keys %timelines == 1
			  && !(grep { $_->{state} !~ /^(?:running|streaming)$/ } @members)
			  && $leader;
		},
		$between_looks);
}

# Whether its log says so again and again, after what was read of it before. Patroni sees to others
# by pg_rewind, before they have said so often.
sub _is_on_lost_timeline {
	my ($member) = @_;
	my $times = () = slurp_file($member->{log}, $member->{read}) =~
	  /FATAL:  highest timeline \d+ of the primary is behind recovery timeline/g;
	return $times > 4;
}

sub _make_again {
	my ($self, $member) = @_;
	# Patroni may be at it by itself.
	eval { $self->ctl('reinit', $self->{name}, $member->{name}, '--force') } or return;
	$member->{read} = -s $member->{log} || 0;
	diag("$self->{name}: $member->{name} is on a timeline that was lost: patronictl reinit");
	return;
}

# What patronictl prints.
sub ctl {
	my ($self, @arguments) = @_;
	my ($out, $error) = ('', '');
	my ($member) = grep { $_->{agent} && !$_->{stopped} } $self->members;
	IPC::Run::run([ @python, "$programs/bin/patronictl", '-c', $member->{conf}, @arguments ],
		'<', '/dev/null', '>', \$out, '2>', \$error)
	  or die "patronictl @arguments: $out$error";
	return $out;
}

# Asks a member by psql; returns what it printed and its errors.
sub ask {
	my ($self, $member, $sql) = @_;
	my ($out, $error) = ('', '');
	IPC::Run::run(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
			'-v', 'VERBOSITY=verbose', '-d', $self->connection($member),
			'-c', $sql
		],
		'<',
		'/dev/null',
		'>',
		\$out,
		'2>',
		\$error);
	chomp $out;
	return ($out, $error);
}

# How to connect: to a member, or with several to the first of them that takes writes.
sub connection {
	my ($self, @members) = @_;
	my $hosts = join ',', ($self->{sockets}) x @members;
	my $ports = join ',', map { $_->{port} } @members;
	my $which = @members > 1 ? 'read-write' : 'any';
	return "host=$hosts port=$ports user=postgres dbname=postgres"
	  . " connect_timeout=3 target_session_attrs=$which";
}

# processes ------------------------------------------------------------------------------------

# The parent of each process that is not a zombie.
sub _parents {
	my %parent;
	for my $file (glob '/proc/[0-9]*/stat') {
		# A process that has ended since has no file to read.
		open my $stat, '<', $file                                                  or next;
		my ($pid, $state, $parent) = (<$stat> // '') =~ /\A(\d+) .*\) (\w) (\d+) / or next;
		$parent{$pid} = $parent if $state ne 'Z';
	}
	return %parent;
}

sub _with_descendants {
	my (@pids) = @_;
	my %parent = _parents();
	my @all = grep { exists $parent{$_} } @pids;
	my %found;
	while (defined(my $pid = shift @all)) {
		next if $found{$pid}++;
		push @all, grep { $parent{$_} == $pid } keys %parent;
	}
	return sort { $a <=> $b } keys %found;
}

# The postmaster of a member, and nothing if it has none.
sub _postmaster {
	my ($member) = @_;
	open my $file, '<', "$member->{data}/postmaster.pid" or return;
	my ($pid) = (<$file> // '') =~ /^(\d+)$/             or return;
	# The file of a server that was killed may name a process that is another's by now.
	return (readlink("/proc/$pid/cwd") // '') eq $member->{data} ? $pid : ();
}

# Stops these processes with all below them until `continue`, each before those that it could start.
sub _stop_processes {
	my ($member, @pids) = @_;
	kill 'STOP', @pids;
	my @all = _with_descendants(@pids);
	kill 'STOP', @all;
	push @{ $member->{paused} }, @all;
	$member->{stopped} = 1;
	return;
}

sub stop_all {
	my ($self, $member) = @_;
	return _stop_processes($member, _postmaster($member), $member->{agent});
}
sub stop_agent { my ($self, $member) = @_; return _stop_processes($member, $member->{agent}) }

# PostgreSQL goes on first: its sessions have what time the agent needs.
sub continue {
	my ($self, $member) = @_;
	my @pids = splice @{ $member->{paused} };
	kill 'CONT', grep { $_ != $member->{agent} } @pids;
	kill 'CONT', $member->{agent};
	delete $member->{stopped};
	return;
}

# Stops what sends WAL to the standbys.
sub stop_walsenders {
	my ($self, $member) = @_;
	my @pids = split /\n/, (ask($self, $member, 'SELECT pid FROM pg_stat_replication'))[0];
	kill 'STOP', @pids;
	push @{ $member->{paused} }, @pids;
	return;
}

# Kills the agent, the postmaster and what is stopped; the server's other processes end by
# themselves when they see that the postmaster has gone. Returns when none is left.
sub kill9 {
	my ($self, $member) = @_;
	my @pids = _with_descendants(_postmaster($member), $member->{agent});
	kill 'KILL', $member->{agent}, _postmaster($member), splice @{ $member->{paused} };
	waitpid delete $member->{agent}, 0;
	wait_until(
		"the end of the processes of $member->{name}",
		sub {
			my %parent = _parents();
			return !grep { exists $parent{$_} } @pids;
		},
		$between_looks);
	return;
}

# Ends the agents, which stop their servers.
sub stop {
	my ($self) = @_;
	for my $member (grep { $_->{agent} } $self->members) {
		kill 'TERM', $member->{agent};
		waitpid delete $member->{agent}, 0;
	}
	return;
}

# A postmaster outlives the agent that started it, so a test that is interrupted has to end it, too.
my $test = $$;
$SIG{$_} = sub { $$ == $test ? exit 1 : POSIX::_exit(1) }
  for 'INT', 'TERM', 'HUP';

END {
	my $exit_code = $?;
	for my $member (map { $_->members } @clusters) {
		my @processes = _with_descendants(_postmaster($member), $member->{agent} // ());
		kill 'KILL', $member->{agent} if $member->{agent};
		kill 'KILL', @processes;
		waitpid $member->{agent}, 0 if $member->{agent};
	}
	$? = $exit_code;
}

# rows that others don't have ------------------------------------------------------------------

# The rows of a table on a server that does not run, as COPY writes them: those that were committed
# there, though no other member ever had them. Its folder stays as it is.
sub rows_of_dead {
	my ($self, $member, $table) = @_;
	my $copy = PostgreSQL::Test::Utils::tempdir('dead');
	my $out = PostgreSQL::Test::Utils::tempdir('rows') . '/rows';
	system('cp', '-a', "$member->{data}/.", $copy) == 0 or die "could not copy $member->{data}";
	unlink "$copy/postmaster.pid", "$copy/standby.signal", "$copy/recovery.signal";
	my $said = '';
	IPC::Run::run([ 'postgres', '--single', '-D', $copy, 'postgres' ],
		'<', \"COPY $table TO '$out'\n", '>&', \$said)
	  or die "could not read what $member->{name} had: $said";
	die "could not read what $member->{name} had: $said" unless -e $out;
	remove_tree($copy);
	return $out;
}

# The rows of a table on a server that runs.
sub rows_of {
	my ($self, $member, $table) = @_;
	my $out = PostgreSQL::Test::Utils::tempdir('rows') . '/rows';
	my (undef, $error) = ask($self, $member, "COPY $table TO '$out'");
	die "could not read what $member->{name} has: $error" if $error;
	return $out;
}

1;
