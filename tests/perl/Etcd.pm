# An etcd of the test's own, with one member or several on loopback ports, and servers that lease
# from it. scripts/setup has unpacked the programs: FLAKEID_ETCD names their folder, etcd-12 (3.4,
# the default) or etcd-13 (3.5). etcd does not sync its data, and ends with the test.
package Etcd;

use strict;
use warnings;

use Etcd::Wire;
use File::Path qw(remove_tree);
use HTTP::Tiny;
use IO::Socket::INET;
use IPC::Run;
use JSON::PP;
use Leases;
use Ledger;
use MIME::Base64 qw(decode_base64 encode_base64);
use POSIX        ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use StateFile;
use Test::More;

# Where scripts/setup puts what it fetches. The user's own folder is not $HOME here.
my $user_cache = ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid';
my @caches = grep { defined } $ENV{FLAKEID_CACHE}, $user_cache, '/var/cache/flakeid';
my $release = $ENV{FLAKEID_ETCD} || 'etcd-12';
my ($programs) = grep { -d } map { "$_/$release/usr/bin" } @caches;
if (!$programs) {
	my $reason = "$release is missing; scripts/setup 15 tests fetches it";
	BAIL_OUT($reason) if $ENV{CI};
	plan(skip_all => $reason);
}

# Starts an etcd with `members` members; all get `options` on their command line. `tls` has the
# files of an authority and of its server's certificate, for a second port. `alike` is an etcd whose
# peer URL and token this one repeats, so that both have one cluster ID. With `idle` nothing starts.
# The key `address` exists, so that the first lease needs no grace period; not so with `empty`.
sub new {
	my ($class, $name, %how) = @_;
	my $self = bless {
		name => $name,
		dir => PostgreSQL::Test::Utils::tempdir("etcd_$name"),
		token => $how{alike} ? $how{alike}{token} : $name,
		options => $how{options} || [],
		members => [],
		ctl => []
	}, $class;
	$self->add_member for 1 .. $how{members} || 1;
	my ($first) = @{ $self->{members} };
	$first->{peer} = $how{alike}{members}[0]{peer} if $how{alike};
	if (my $tls = $how{tls}) {
		$first->{tls} = 'https://127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();
		push @{ $self->{options} }, '--cert-file', $tls->{server_cert}, '--key-file',
		  $tls->{server_key}, '--trusted-ca-file', $tls->{ca}, '--client-cert-auth';
	}
	$self->start unless $how{idle};
	$self->write_address unless $how{idle} || $how{empty};
	return $self;
}

# Adds a member to those that this module starts.
sub add_member {
	my ($self) = @_;
	my ($client, $peer) =
	  map { 'http://127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;
	my $name = 'm' . (@{ $self->{members} } + 1);
	my $member = { name => $name, url => $client, listen => $peer, peer => $peer };
	push @{ $self->{members} }, $member;
	return $member;
}

# Returns the members with these numbers, counted from 0; without numbers, all.
sub _members {
	my ($self, @numbers) = @_;
	return @{ $self->{members} }[ @numbers ? @numbers : 0 .. $#{ $self->{members} } ];
}

# Returns the value of `etcd_endpoints` for all members.
sub endpoints {
	my ($self) = @_;
	return join ',', map { $_->{tls} // $_->{url} } $self->_members;
}

# Starts members with the data that they have, and waits until etcd answers.
sub start {
	my ($self, @numbers) = @_;
	my $cluster = join ',', map { "$_->{name}=$_->{peer}" } $self->_members;
	my ($test) = $0 =~ m{([^/]+?)(?:\.pl)?\z};
	for my $member ($self->_members(@numbers)) {
		mkdir my $data = "$self->{dir}/$member->{name}", 0700;
		my $log =
		  "$PostgreSQL::Test::Utils::log_path/etcd_${test}_$self->{name}_$member->{name}.log";
		my $urls = join ',', grep { defined } @$member{qw(url tls)};
		my %options = (
			'name' => $member->{name},
			'data-dir' => $data,
			'listen-client-urls' => $urls,
			'advertise-client-urls' => $urls,
			'listen-peer-urls' => $member->{listen},
			'initial-advertise-peer-urls' => $member->{peer},
			'initial-cluster' => $cluster,
			'initial-cluster-token' => $self->{token},
			'logger' => 'zap',
			'log-outputs' => 'stderr');
		my @options = ('--unsafe-no-fsync', map { ("--$_", $options{$_}) } CORE::keys %options);
		$member->{pid} = in_process(
			sub {
				delete @ENV{ grep { /^ETCD/ } CORE::keys %ENV };
				open my $to, '>>', $log or return;
				POSIX::dup2(fileno $to, $_) for 1, 2;
				# The kernel kills it when the test is killed.
				exec 'setpriv', '--pdeathsig', 'KILL', "$programs/etcd", @options,
				  @{ $self->{options} };
			});
	}
	return wait_until(
		'etcd answers',
		sub {
			eval { $self->_kv('put', key => 'ready', value => '') }
		});
}

# The processes that this module started and that still exist.
my %alive;

# Runs this in another process, which is killed when the test ends. Returns its process ID.
sub in_process {
	my ($what) = @_;
	my $pid = fork // die "could not fork: $!";
	if (!$pid) {
		$what->();
		POSIX::_exit(127);
	}
	$alive{$pid} = 1;
	return $pid;
}

# Waits for the end of a process that was signaled, which may be paused.
sub _wait_for {
	my ($pid) = @_;
	CORE::kill 'CONT', $pid;
	waitpid $pid, 0;
	delete $alive{$pid};
	return;
}

END {
	my $exit_code = $?;
	CORE::kill 'KILL', CORE::keys %alive;
	_wait_for($_) for CORE::keys %alive;
	$? = $exit_code;
}

# Stops members in good order, kills, pauses or continues them. They may be started again. A paused
# member accepts connections, as the kernel does that, and never answers.
sub stop     { my ($self, @numbers) = @_; return $self->_signal('TERM', @numbers) }
sub kill     { my ($self, @numbers) = @_; return $self->_signal('KILL', @numbers) }
sub pause    { my ($self, @numbers) = @_; return $self->_signal('STOP', @numbers) }
sub continue { my ($self, @numbers) = @_; return $self->_signal('CONT', @numbers) }

sub _signal {
	my ($self, $signal, @numbers) = @_;
	for my $member (grep { $_->{pid} } $self->_members(@numbers)) {
		CORE::kill $signal, $member->{pid};
		$member->{paused} = $signal eq 'STOP';
		_wait_for(delete $member->{pid}) if $signal =~ /TERM|KILL/;
	}
	return;
}

# Returns the status of each member that can answer.
sub _statuses {
	my ($self) = @_;
	my $statuses = sub {
		eval { $self->ctl('endpoint', 'status', '-w', 'json') }
	};
	return @{ JSON::PP->new->decode(wait_until('etcd answers', $statuses)) };
}

# Returns the number of the leader, when there is one.
sub leader {
	my ($self) = @_;
	my $url = wait_until(
		'etcd has a leader',
		sub {
			my ($leader) = grep { ($_->{Status}{leader} || 0) == $_->{Status}{header}{member_id} }
			  $self->_statuses;
			return $leader && $leader->{Endpoint};
		});
	return (grep { $self->{members}[$_]{url} eq $url } 0 .. $#{ $self->{members} })[0];
}

# Returns the address of the registry in this etcd, which begins with etcd's cluster ID.
sub address {
	my ($self) = @_;
	return sprintf '%x/flakeid/', ($self->_statuses)[0]{Status}{header}{cluster_id};
}

# the data of etcd -----------------------------------------------------------------------------

# Returns a copy of the only member's data. Stops etcd while it copies.
sub copy_data {
	my ($self) = @_;
	my $copy = PostgreSQL::Test::Utils::tempdir("copy_$self->{name}") . '/data';
	$self->stop;
	PostgreSQL::Test::RecursiveCopy::copypath("$self->{dir}/m1", $copy);
	$self->start;
	return $copy;
}

# Removes the data of the only member, or replaces them by the data in this folder.
sub lose_data {
	my ($self, $from) = @_;
	$self->kill;
	remove_tree("$self->{dir}/$self->{members}[0]{name}");
	PostgreSQL::Test::RecursiveCopy::copypath($from, "$self->{dir}/m1") if $from;
	return $self->start;
}

# Restores a snapshot of another etcd, which gives this one a cluster ID of its own, and starts it.
sub restore {
	my ($self, $source) = @_;
	my $snapshot = PostgreSQL::Test::Utils::tempdir("snapshot_$self->{name}") . '/snapshot';
	my ($peer, $dir) = ($self->{members}[0]{peer}, "$self->{dir}/m1");
	$source->ctl('snapshot', 'save', $snapshot);
	$self->shell("etcdctl snapshot restore $snapshot --name m1 --initial-cluster m1=$peer"
		  . " --initial-advertise-peer-urls $peer --data-dir $dir");
	return $self->start;
}

# Writes the key `address`: this registry is the first here, or it replaces these registries.
sub write_address {
	my ($self, @replaced) = @_;
	return $self->put('address', join ',', $self->address, @replaced);
}

# Ends the grace period, as if its time were over.
sub end_grace { my ($self) = @_; return $self->del('grace') }

# commands and keys ----------------------------------------------------------------------------

# Returns the addresses of the members that can answer.
sub _able {
	my ($self) = @_;
	return map { $_->{url} } grep { $_->{pid} && !$_->{paused} } $self->_members;
}

# Returns what etcdctl prints; dies of its errors.
sub ctl {
	my ($self, @arguments) = @_;
	my ($out, $error);
	my @options = ('--command-timeout=60s', '--dial-timeout=60s', @{ $self->{ctl} });
	unshift @options, '--endpoints=' . join ',', $self->_able;
	local $ENV{ETCDCTL_API} = 3;
	my @command = ("$programs/etcdctl", @options, @arguments);
	IPC::Run::run(\@command, '<', '/dev/null', '>', \$out, '2>', \$error)
	  or die "etcdctl @arguments: $error";
	return $out;
}

# Runs a shell command that calls etcdctl, as an administrator would; dies of its errors.
sub shell {
	my ($self, $command) = @_;
	my %for_etcdctl = (ETCDCTL_API => 3, ETCDCTL_ENDPOINTS => $self->endpoints);
	local %ENV = (%ENV, %for_etcdctl, PATH => "$programs:$ENV{PATH}");
	return PostgreSQL::Test::Utils::system_or_bail('sh', '-e', '-c', $command);
}

# Returns the answer of a member's JSON gateway, which takes a tenth of etcdctl's processor time.
sub _ask_gateway {
	my ($url, $what, %body) = @_;
	$body{$_} = encode_base64($body{$_}, '') for grep { exists $body{$_} } qw(key range_end value);
	my $answer = HTTP::Tiny->new(timeout => 60, proxy => undef, http_proxy => undef)
	  ->post("$url/v3/kv/$what", { content => JSON::PP->new->canonical->encode(\%body) });
	die "etcd's $what: $answer->{status} $answer->{content}" unless $answer->{success};
	return JSON::PP->new->decode($answer->{content});
}

# Asks the first member that answers.
sub _kv {
	my ($self, $what, %body) = @_;
	for my $url ($self->_able) {
		my $answer = eval { _ask_gateway($url, $what, %body) };
		return $answer if $answer;
	}
	die "etcd's $what: no member answers; $@";
}

# Repeats the call until it succeeds: a member may not listen yet, or the leader changes.
sub _repeat {
	my ($self, @call) = @_;
	return wait_until(
		"etcd's @call",
		sub {
			eval { $self->_kv(@call) }
		});
}

# Writes a key of the namespace; or deletes one, or all of them.
sub put {
	my ($self, $key, $value) = @_;
	return $self->_repeat('put', key => "flakeid/$key", value => $value);
}

# Writes these keys of the namespace, without values, in one transaction.
sub put_all {
	my ($self, @keys) = @_;
	my @puts = map { +{ requestPut => { key => encode_base64("flakeid/$_", '') } } } @keys;
	return $self->_repeat('txn', success => \@puts);
}

sub del {
	my ($self, $key) = @_;
	my @all = (key => 'flakeid/', range_end => 'flakeid0');
	return $self->_repeat('deleterange', defined $key ? (key => "flakeid/$key") : @all);
}

# Returns what etcd has below a prefix of the namespace.
sub _range {
	my ($self, $prefix, @options) = @_;
	my $from = "flakeid/$prefix";
	my $end = substr($from, 0, -1) . chr(1 + ord substr $from, -1);
	return @{ $self->_repeat('range', key => $from, range_end => $end, @options)->{kvs} || [] };
}

# Returns the keys below a prefix, without the prefix, with their values.
sub all {
	my ($self, $prefix) = @_;
	my %all =
	  map { decode_base64($_->{key}) => decode_base64($_->{value} // '') } $self->_range($prefix);
	return map { substr($_, length "flakeid/$prefix") => $all{$_} } CORE::keys %all;
}

# Returns the value of a key of the namespace; undef if the key does not exist.
sub get {
	my ($self, $key) = @_;
	my $found = $self->_repeat('range', key => "flakeid/$key")->{kvs};
	return $found && decode_base64($found->[0]{value} // '');
}

# Returns the keys below a prefix, by default all of the namespace, in one line.
sub keys {
	my ($self, $prefix) = @_;
	my @found = $self->_range($prefix // '', keys_only => JSON::PP::true);
	return join ' ', sort map { substr decode_base64($_->{key}), length 'flakeid/' } @found;
}

# Returns the documents of the claims, by generator ID.
sub claims {
	my ($self) = @_;
	my %all = $self->all('pool/');
	return map { s/\d+://r => JSON::PP->new->decode($all{$_}) } CORE::keys %all;
}

# Returns the generator IDs that are claimed, in one line.
sub claimed {
	my ($self) = @_;
	return join ' ', sort { $a <=> $b } $self->keys('pool/') =~ m{pool/\d+:(\d+)}g;
}

# Returns the high-water marks by generator ID, in nanoseconds since 1970.
sub high_water_marks {
	my ($self) = @_;
	my %all = $self->all('until/');
	return map { $_ => moment($all{$_}) } CORE::keys %all;
}

# between etcd and servers ---------------------------------------------------------------------

# Returns a wire to the first member: see Etcd::Wire.
sub wire { my ($self) = @_; return Etcd::Wire->new($self->{members}[0]{url}) }

# Returns an endpoint that accepts connections and never answers, as long as the object exists.
sub silent_endpoint {
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my @local = (LocalAddr => '127.0.0.1', LocalPort => $port, ReuseAddr => 1);
	my $socket = IO::Socket::INET->new(@local, Listen => 128) or die "could not listen: $@";
	return { endpoint => "127.0.0.1:$port", socket => $socket };
}

# Returns the settings of a server that leases from this etcd, with these instead or besides. The
# lease is so long that no slow machine loses one.
sub configuration {
	my ($self, %settings) = @_;
	%settings = (
		generator_ids => 'etcd:8',
		etcd_pool => '0-1023',
		etcd_lease_ttl => '30s',
		etcd_endpoints => $self->endpoints,
		%settings);
	return join "\n", "shared_preload_libraries = 'flakeid'", 'restart_after_crash = on',
	  'log_statement = none', settings(%settings);
}

# Returns a server with these settings, not yet started.
sub server {
	my ($self, $name, %settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', $self->configuration(%settings));
	return $node;
}

# Returns a server that is started, wants two generator IDs and has a table for each ID type.
sub start_server {
	my ($self, $name, %settings) = @_;
	my $node =
	  $self->server($name, generator_ids => 'etcd:2', max_clock_wait => '100ms', %settings);
	$node->start;
	create_tables($node);
	return $node;
}

1;
