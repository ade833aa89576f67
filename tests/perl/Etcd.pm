# An etcd of the test's own, with one member or several on loopback ports, and what may stand between it and a
# server: a wire that can be cut, a hole that swallows. The programs are those that scripts/setup has unpacked:
# FLAKEID_ETCD names their folder, etcd-12 (3.4, the default) or etcd-13 (3.5). Its data need not survive a loss of
# power, and nothing of it outlives the test.
package Etcd;

use strict;
use warnings;

use Exporter qw(import);
use File::Path qw(remove_tree);
use HTTP::Tiny;
use IO::Select;
use IO::Socket::INET;
use IPC::Run;
use JSON::PP;
use Ledger;
use MIME::Base64 qw(decode_base64 encode_base64);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw(@LEASED lease_of lease_becomes memory_of generator_ids lead lead_at_start wait_for_lease wait_for_loss wait_until_lost
  wait_for_error wait_for_flow wait_out_grace processes_of generators_of);

# Where scripts/setup puts what it fetches. The user's own folder is not $HOME here.
my @caches = grep { defined } $ENV{FLAKEID_CACHE}, ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid',
  '/var/cache/flakeid';
my $release = $ENV{FLAKEID_ETCD} || 'etcd-12';
my ($programs) = grep { -d } map { "$_/$release/usr/bin" } @caches;
if (!$programs)
{
	my $reason = "$release is missing; scripts/setup 15 tests fetches it";
	BAIL_OUT($reason) if $ENV{CI};
	plan(skip_all => $reason);
}

# Every process that was started here and has not been waited for.
my %alive;

# An etcd that answers. `members` says how many it has, `options` is what all get on their command line. `tls` has
# the files of an authority and of its certificates for the server and a client, without which nobody is let in.
# With `alike` it is set up with the peer URLs and the token of that other etcd, so that it has the same cluster ID.
# With `idle` nothing is started. A registry of it says that it is the first, so that the first lease need not wait
# until earlier ones would be over; with `unfounded` it does not.
sub new
{
	my ($class, $name, %how) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir("etcd_$name");
	my $self = bless { name => $name, dir => $dir, members => [], ctl => [], options => $how{options} || [] }, $class;
	$self->{token} = $how{alike} ? $how{alike}{token} : $name;
	if (my $tls = $how{tls})
	{
		push @{ $self->{options} }, '--cert-file', $tls->{server_cert}, '--key-file', $tls->{server_key},
		  '--trusted-ca-file', $tls->{ca}, '--client-cert-auth';
		$self->{ctl} = [ '--cacert', $tls->{ca}, '--cert', $tls->{client_cert}, '--key', $tls->{client_key} ];
	}
	my $scheme = $how{tls} ? 'https' : 'http';
	for my $number (1 .. $how{members} || 1)
	{
		my ($port, $peer) = map { PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;
		my ($url, $listen) = ("$scheme://127.0.0.1:$port", "http://127.0.0.1:$peer");
		# Members of etcds that are alike say that they have the same peer URL. A single one asks nobody there.
		my $advertised = $how{alike} ? $how{alike}{members}[ $number - 1 ]{peer} : $listen;
		push @{ $self->{members} }, { name => "m$number", port => $port, url => $url, listen => $listen, peer => $advertised };
	}
	$self->start unless $how{idle};
	$self->found unless $how{idle} || $how{unfounded};
	return $self;
}

# Takes the data of another etcd as they are now, by a snapshot. It gets a cluster ID of its own.
sub restore
{
	my ($self, $source) = @_;
	my $snapshot = PostgreSQL::Test::Utils::tempdir("snapshot_$self->{name}") . '/snapshot';
	my ($member) = $self->_members;
	$source->ctl('snapshot', 'save', $snapshot);
	local $ENV{ETCDCTL_API} = 3;
	PostgreSQL::Test::Utils::system_or_bail("$programs/etcdctl", 'snapshot', 'restore', $snapshot, '--name', $member->{name},
		'--initial-cluster', "$member->{name}=$member->{peer}", '--initial-advertise-peer-urls', $member->{peer},
		'--initial-cluster-token', $self->{token}, '--data-dir', $self->data_dir);
	return;
}

# Where its only member has its data.
sub data_dir { my ($self) = @_; return "$self->{dir}/m1" }

# Copies the data of its only member as they are now, and returns the folder of the copy. etcd is stopped for that.
sub copy_data
{
	my ($self) = @_;
	my $copy = PostgreSQL::Test::Utils::tempdir("copy_$self->{name}") . '/data';
	$self->stop;
	PostgreSQL::Test::RecursiveCopy::copypath($self->data_dir, $copy);
	$self->start;
	return $copy;
}

# etcd's cluster ID, as the address of a registry has it.
sub cluster_id
{
	my ($self) = @_;
	my $header;
	$self->_repeat(sub {
		$header =
		  @{ $self->{ctl} }
		  ? JSON::PP->new->decode($self->ctl('endpoint', 'status', '-w', 'json'))->[0]{Status}{header}
		  : $self->_call('maintenance/status')->{header};
	});
	# The gateway writes numbers of 64 bits as text.
	return sprintf '%x', $header->{cluster_id};
}

# Ends all members and removes what they had, or puts what is in this folder in its place, and starts them again.
sub lose_data
{
	my ($self, $from) = @_;
	$self->kill;
	remove_tree("$self->{dir}/$_->{name}") for $self->_members;
	PostgreSQL::Test::RecursiveCopy::copypath($from, $self->data_dir) if $from;
	return $self->start;
}

# Repeats what can be repeated until it succeeds: one of several members may not listen yet, or the leader changes.
sub _repeat
{
	my ($self, $what) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (eval { $what->(); 1 })
	{
		die $@ if time() > $until;
		sleep 0.1;
	}
	return;
}

# Says that a registry is in this etcd and the first, or that it replaces these others.
sub found
{
	my ($self, @replaced) = @_;
	$self->put('address', join ',', $self->cluster_id . '/flakeid/', @replaced);
	return;
}

# Removes all that a registry has, but for its ID. It is the first again.
sub forget
{
	my ($self) = @_;
	my $id = $self->get('registry-id');
	$self->del;
	$self->put('registry-id', $id) if defined $id;
	$self->found;
	return;
}

# Members are counted from 0; who names none means all.
sub _members
{
	my ($self, @numbers) = @_;
	return @{ $self->{members} }[ @numbers ? @numbers : 0 .. $#{ $self->{members} } ];
}

# Their addresses, as `etcd_endpoints` has them.
sub endpoints
{
	my ($self, @numbers) = @_;
	return join ',', map { $_->{url} } $self->_members(@numbers);
}

# Starts members, with the data that they had; returns when etcd answers.
sub start
{
	my ($self, @numbers) = @_;
	my $everyone = join ',', map { "$_->{name}=$_->{peer}" } $self->_members;
	my ($test) = $0 =~ m{([^/]+?)(?:\.pl)?\z};
	for my $member ($self->_members(@numbers))
	{
		mkdir my $data = "$self->{dir}/$member->{name}", 0700;
		my $log = "$PostgreSQL::Test::Utils::log_path/etcd_${test}_$self->{name}_$member->{name}.log";
		my @command = (
			"$programs/etcd", '--name', $member->{name}, '--data-dir', $data, '--unsafe-no-fsync',
			'--listen-client-urls', $member->{url}, '--advertise-client-urls', $member->{url},
			'--listen-peer-urls', $member->{listen}, '--initial-advertise-peer-urls', $member->{peer},
			'--initial-cluster', $everyone, '--initial-cluster-token', $self->{token},
			'--logger', 'zap', '--log-outputs', 'stderr', @{ $self->{options} });
		$member->{pid} = in_process(sub {
			delete @ENV{ grep { /^ETCD/ } CORE::keys %ENV };
			open my $to, '>>', $log or return;
			POSIX::dup2(fileno $to, $_) for 1, 2;
			# The kernel kills it when the test is killed.
			exec 'setpriv', '--pdeathsig', 'KILL', @command;
		});
	}
	return $self->wait_until_ready;
}

# Does this in a process of its own, which is killed when the test ends. Returns its process ID.
sub in_process
{
	my ($what) = @_;
	my $pid = fork;
	die "could not fork: $!" unless defined $pid;
	if (!$pid)
	{
		$what->();
		POSIX::_exit(127);
	}
	$alive{$pid} = 1;
	return $pid;
}

sub _end
{
	my ($signal, $pid) = @_;
	CORE::kill $signal, $pid;
	waitpid $pid, 0;
	delete $alive{$pid};
	return;
}

END
{
	my $exit_code = $?;
	_end('KILL', $_) for CORE::keys %alive;
	$? = $exit_code;
}

sub wait_until_ready
{
	my ($self) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (eval { $self->advance })
	{
		die "etcd does not answer: $@" if time() > $until;
		for my $member (grep { $_->{pid} } @{ $self->{members} })
		{
			die "etcd's $member->{name} has ended; see its log" if waitpid $member->{pid}, POSIX::WNOHANG();
		}
		sleep 0.05;
	}
	return;
}

# Ends members in good order, or kills them. They may be started again.
sub stop { my ($self, @numbers) = @_; return $self->_end_members('TERM', @numbers) }
sub kill { my ($self, @numbers) = @_; return $self->_end_members('KILL', @numbers) }

sub _end_members
{
	my ($self, $signal, @numbers) = @_;
	for my $member ($self->_members(@numbers))
	{
		my $pid = delete $member->{pid} or next;
		CORE::kill 'CONT', $pid if delete $member->{paused};
		_end($signal, $pid);
	}
	return;
}

# While a member is paused it takes connections, as the kernel does that, and never answers.
sub pause    { my ($self, @numbers) = @_; return $self->_pause(1, @numbers) }
sub continue { my ($self, @numbers) = @_; return $self->_pause(0, @numbers) }

sub _pause
{
	my ($self, $paused, @numbers) = @_;
	for my $member ($self->_members(@numbers))
	{
		CORE::kill $paused ? 'STOP' : 'CONT', $member->{pid} or die "could not signal $member->{name}: $!";
		$member->{paused} = $paused;
	}
	return;
}

# The number of the member that leads, when one does.
sub leader
{
	my ($self) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (time() < $until)
	{
		my $members = eval { JSON::PP->new->decode($self->ctl('endpoint', 'status', '-w', 'json')) } || [];
		for my $member (@$members)
		{
			my $status = $member->{Status};
			next unless ($status->{leader} || 0) == $status->{header}{member_id};
			return (grep { $self->{members}[$_]{url} eq $member->{Endpoint} } 0 .. $#{ $self->{members} })[0];
		}
		sleep 0.05;
	}
	die 'etcd has no leader';
}

# What etcdctl prints; dies of its errors. It asks the members that can answer.
sub ctl
{
	my ($self, @arguments) = @_;
	my ($out, $error) = ('', '');
	my $able = join ',', map { $_->{url} } grep { $_->{pid} && !$_->{paused} } $self->_members;
	local $ENV{ETCDCTL_API} = 3;
	IPC::Run::run(
		[ "$programs/etcdctl", "--endpoints=$able", '--command-timeout=60s', '--dial-timeout=60s', @{ $self->{ctl} }, @arguments ],
		'<', '/dev/null', '>', \$out, '2>', \$error)
	  or die "etcdctl @arguments: $error";
	return $out;
}

# Runs a command of the shell that calls etcdctl, as an administrator would; dies of its errors.
sub shell
{
	my ($self, $command) = @_;
	local %ENV = (%ENV, ETCDCTL_API => 3, ETCDCTL_ENDPOINTS => $self->endpoints, PATH => "$programs:$ENV{PATH}");
	PostgreSQL::Test::Utils::system_or_bail('sh', '-e', '-c', $command);
	return;
}

# Calls etcd's JSON gateway, which takes a tenth of the processor time of etcdctl. Asks the members that can answer, and
# dies of the error of the last one.
sub _call
{
	my ($self, $what, %body) = @_;
	my $error = 'no member can answer';
	for my $member (grep { $_->{pid} && !$_->{paused} } $self->_members)
	{
		my $answer = _ask($member->{url}, $what, %body);
		return JSON::PP->new->decode($answer->{content}) if $answer->{success};
		$error = "$answer->{status} $answer->{content}";
	}
	die "etcd's $what: $error";
}

sub _ask
{
	my ($url, $what, %body) = @_;
	$body{$_} = encode_base64($body{$_}, '') for grep { exists $body{$_} } qw(key range_end value);
	return HTTP::Tiny->new(timeout => 60, proxy => undef, http_proxy => undef)
	  ->post("$url/v3/$what", { content => JSON::PP->new->canonical->encode(\%body) });
}

# Returns the keys of a range with their values, or one key if there is no end. Only etcdctl knows certificates and
# passwords.
sub _range
{
	my ($self, $key, $end) = @_;
	my $answer =
	  @{ $self->{ctl} }
	  ? JSON::PP->new->decode($self->ctl('get', $key, defined $end ? $end : (), '-w', 'json'))
	  : $self->_call('kv/range', key => $key, defined $end ? (range_end => $end) : ());
	return map { decode_base64($_->{key}) => decode_base64($_->{value} // '') } @{ $answer->{kvs} || [] };
}

# Writes a key of the namespace.
sub put
{
	my ($self, $key, $value) = @_;
	$self->_repeat(sub {
		@{ $self->{ctl} } ? $self->ctl('put', "flakeid/$key", '--', $value) : $self->_call('kv/put', key => "flakeid/$key", value => $value);
	});
	return;
}

# Deletes a key of the namespace, or all of them.
sub del
{
	my ($self, $key) = @_;
	my $all = !defined $key;
	$key = $all ? 'flakeid/' : "flakeid/$key";
	$self->_repeat(sub {
		@{ $self->{ctl} }
		  ? $self->ctl('del', $all ? '--prefix' : (), $key)
		  : $self->_call('kv/deleterange', key => $key, $all ? (range_end => _end_of($key)) : ());
	});
	return;
}

# Writes a key outside of the namespace, so that etcd's revision grows.
sub advance
{
	my ($self) = @_;
	return @{ $self->{ctl} } ? $self->ctl('put', 'ready', 'yes') : $self->_call('kv/put', key => 'ready', value => 'yes');
}

# Returns etcd's revision, or that of the last change of a key of the namespace, which must exist.
sub revision
{
	my ($self, $key) = @_;
	my $answer;
	$self->_repeat(sub { $answer = $self->_call('kv/range', key => 'flakeid/' . ($key // '')) });
	return defined $key ? $answer->{kvs}[0]{mod_revision} : $answer->{header}{revision};
}

# The end of all keys that begin so.
sub _end_of { my ($prefix) = @_; return substr($prefix, 0, -1) . chr(1 + ord substr $prefix, -1) }

# From now on etcdctl says who it is.
sub authenticate
{
	my ($self, $user, $password) = @_;
	push @{ $self->{ctl} }, '--user', "$user:$password";
	return;
}

# What etcd holds below a prefix of the namespace, by the rest of the key.
sub all
{
	my ($self, $prefix) = @_;
	my ($from, %all) = "flakeid/$prefix";
	$self->_repeat(sub { %all = $self->_range($from, _end_of($from)) });
	return map { substr($_, length $from) => $all{$_} } CORE::keys %all;
}

sub keys { my ($self) = @_; my %all = $self->all(''); return sort(CORE::keys %all) }

# What one key of the namespace holds; undef where there is no such key.
sub get
{
	my ($self, $key) = @_;
	my %all;
	$self->_repeat(sub { %all = $self->_range("flakeid/$key") });
	return $all{"flakeid/$key"};
}

# What the claims hold, by generator ID.
sub claims
{
	my ($self) = @_;
	my %all = $self->all('pool/');
	return map { s/\d+://r => JSON::PP->new->decode($all{$_}) } CORE::keys %all;
}

# The high-water marks by generator ID, in nanoseconds since 1970.
sub high_water_marks
{
	my ($self) = @_;
	my %all = $self->all('until/');
	return map { $_ => moment($all{$_}) } CORE::keys %all;
}

# between it and a server ----------------------------------------------------------------------------------

# An endpoint that takes connections and never answers, for as long as the object lives.
sub hole
{
	my ($class) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 128, ReuseAddr => 1)
	  or die "could not listen: $@";
	return { endpoint => "127.0.0.1:$port", socket => $socket };
}

# A wire to a member. While it is cut nothing gets through, and no connection ends. A wire can also lose one answer: the
# first one that comes after a key exists, such as that to the transaction that writes it. From then on that connection
# is silent, and others are whole. It can also delete another key then, before the next call comes.
sub wire
{
	my ($self, $number) = @_;
	my $to = $self->{members}[ $number || 0 ];
	my $hole = $self->hole;
	socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "could not make a pair of sockets: $!";
	in_process(sub { close $ours; _forward($hole->{socket}, $theirs, $to->{url}, $to->{port}) });
	my ($scheme) = split /:/, $to->{url};
	return bless { endpoint => "$scheme://$hole->{endpoint}", control => $ours }, 'Etcd::Wire';
}

sub Etcd::Wire::cut  { my ($self) = @_; _tell($self, 'cut'); return }
sub Etcd::Wire::heal { my ($self) = @_; _tell($self, 'heal'); return }

# Loses the first answer that comes while this key of the namespace exists, and deletes the second key, if there is one.
sub Etcd::Wire::lose_answer_to { my ($self, @keys) = @_; _tell($self, join ' ', 'lose', map { "flakeid/$_" } @keys); return }

# Returns how many answers it has lost.
sub Etcd::Wire::lost { my ($self) = @_; return _tell($self, 'count') }

# Returns what the wire answers.
sub _tell
{
	my ($wire, $what) = @_;
	syswrite $wire->{control}, "$what\n";
	defined(my $answer = readline $wire->{control}) or die 'the wire has gone';
	chomp $answer;
	return $answer;
}

# Forwards what comes, until the other end of the control closes.
sub _forward
{
	my ($listening, $control, $url, $port) = @_;
	# An end that is gone shows when it is read.
	local $SIG{PIPE} = 'IGNORE';
	my $whole = IO::Select->new($control, $listening);
	my $cut   = IO::Select->new($control);
	# `other` has the other end of each end, and `silent` the ends at etcd whose answers are lost.
	my ($is_cut, $lost, $lose, $delete, %other, %is_etcd, %silent) = (0, 0);
	while (my @ready = ($is_cut ? $cut : $whole)->can_read)
	{
		for my $socket (@ready)
		{
			if ($socket == $control)
			{
				defined(my $what = readline $control) or return;
				$is_cut = $what eq "cut\n" if $what =~ /^(?:cut|heal)$/;
				($lose, $delete) = ($1, $2) if $what =~ /^lose (\S+)(?: (\S+))?$/;
				syswrite $control, "$lost\n";
				# The rest of those that are ready wait until it is whole again.
				last;
			}
			if ($socket == $listening)
			{
				my $near = $listening->accept or next;
				my $far = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or next;
				@other{ $near, $far } = ($far, $near);
				$is_etcd{$far} = 1;
				$whole->add($near, $far);
				next;
			}
			my $other = $other{$socket} or next;
			my $size = sysread($socket, my $data, 65_536);
			if ($size && defined $lose && $is_etcd{$socket} && _exists($url, $lose))
			{
				$silent{$socket} = 1;
				$lost++;
				$lose = undef;
				_answered($url, 'kv/deleterange', key => $delete) if defined $delete;
			}
			next if $size && ($silent{$socket} || syswrite($other, $data));
			$whole->remove($socket, $other);
			delete @{$_}{ $socket, $other } for \%other, \%is_etcd, \%silent;
			$_->close for $socket, $other;
		}
	}
	return;
}

# Returns whether a key exists.
sub _exists
{
	my ($url, $key) = @_;
	return (_answered($url, 'kv/range', key => $key, count_only => JSON::PP::true)->{count} // 0) > 0;
}

# Returns what this member answers.
sub _answered
{
	my ($url, $what, %body) = @_;
	my $answer = _ask($url, $what, %body);
	die "etcd's $what: $answer->{content}" unless $answer->{success};
	return JSON::PP->new->decode($answer->{content});
}

# servers --------------------------------------------------------------------------------------------------

# The ID types that use generator IDs, and where an ID has its own.
our @LEASED = grep { !$_->{cells} } @ID_TYPES;
my %generator = (flake => 'datacenter * 32 + worker', sno => '"partition"', uniqueid => 'generator_id');

# The lines that have a server lease eight generator IDs, and of these settings instead or besides. The lease is long
# enough that none is lost because the machine is slow; a test whose matter is the loss asks for a shorter one.
sub configuration
{
	my ($self, %settings) = @_;
	%settings = (generator_ids => 'etcd:8', etcd_pool => '0-1023', etcd_endpoints => $self->endpoints, etcd_lease_ttl => '30s', %settings);
	return join "\n", "shared_preload_libraries = 'flakeid'", 'restart_after_crash = on', 'log_statement = none',
	  (map { "flakeid.$_ = '$settings{$_}'" } sort(CORE::keys %settings)), '';
}

# A server that is set up so, not yet started.
sub server
{
	my ($self, $name, %settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', $self->configuration(%settings));
	return $node;
}

# A server with two generator IDs and a lease of ten seconds, for a test that waits until leases are over. It is started.
sub brief_server
{
	my ($self, $name, %settings) = @_;
	my %brief = (generator_ids => 'etcd:2', etcd_pool => '0-1', etcd_lease_ttl => '10s', max_clock_wait => '100ms');
	my $node  = $self->server($name, %brief, %settings);
	$node->start;
	create_tables($node);
	return $node;
}

# What a server says of its lease; undef where it has no lease.
sub lease_of
{
	my ($node) = @_;
	return JSON::PP->new->allow_nonref->decode($node->safe_psql('postgres',
		"SELECT coalesce((SELECT to_jsonb(l) FROM pg_stat_flakeid_lease AS l), 'null')"));
}

# What a server remembers of the registry of its last lease.
sub memory_of
{
	my ($node) = @_;
	my ($document) = slurp_file($node->data_dir . '/flakeid/etcd') =~ /\A(\{.*\})\n+crc32 [0-9a-f]{8}\n\z/s
	  or die $node->name . ' remembers nothing';
	return JSON::PP->new->decode($document);
}

# Waits until a condition holds for what a server says of its lease; false where it does not come to that. It looks in a
# session that stays: leases take seconds, and a psql for each look would cost more than the server's work.
sub lease_becomes
{
	my ($node, $condition) = @_;
	my $query = "SELECT $condition FROM pg_stat_flakeid_lease";
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $session;
	# Of a server that is down psql ends without reading what it is told.
	local $SIG{PIPE} = 'IGNORE';
	while (time() < $until)
	{
		# A server that is down, or goes down, ends the session, and there will be another.
		my $found = eval { $session //= session($node); $session->query($query) } // '';
		my $error = $@ || $session->{stderr};
		if ($found eq 't' && $error eq '')
		{
			$session->quit;
			return 1;
		}
		if ($error ne '')
		{
			eval { $session->quit } if $session;
			$session = undef;
		}
		sleep 0.1;
	}
	diag($query);
	return 0;
}

# Leads a server to other endpoints, with these settings besides.
sub lead
{
	my ($node, $endpoints, %settings) = @_;
	$node->append_conf('postgresql.conf', join '', "flakeid.etcd_endpoints = '$endpoints'\n", map { "flakeid.$_ = '$settings{$_}'\n" } sort(CORE::keys %settings));
	$node->reload;
	return;
}

# Starts a server that is led to other endpoints.
sub lead_at_start
{
	my ($node, $endpoints) = @_;
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '$endpoints'\n");
	$node->start;
	return;
}

# The generator IDs that a server holds.
sub generator_ids { my ($node) = @_; return join ' ', @{ (lease_of($node) || {})->{generator_ids} || [] } }

# Waits until a server has lost its lease.
sub wait_until_lost
{
	my ($node) = @_;
	lease_becomes($node, "state = 'lost'") or die $node->name . ' has not lost its lease';
	return;
}

# Waits until a server has lost one more lease than this number, and has another.
sub wait_for_loss
{
	my ($node, $losses) = @_;
	lease_becomes($node, "losses > $losses AND state = 'held'") or die $node->name . ' does not notice the loss';
	return;
}

# Waits until no grace period is there.
sub wait_out_grace
{
	my ($etcd) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (defined $etcd->get('grace'))
	{
		die 'the grace period does not end' if time() > $until;
		sleep 1;
	}
	return;
}

# Waits until a server holds so many generator IDs, and returns them.
sub wait_for_lease
{
	my ($node, $number) = @_;
	while (lease_becomes($node, "state = 'held' AND cardinality(generator_ids) = $number"))
	{
		# Between the two looks a short lease may have been lost.
		my @ids = @{ (lease_of($node) || {})->{generator_ids} || [] };
		return @ids if @ids == $number;
	}
	die $node->name . " does not hold $number generator IDs";
}

# Waits until a server says that etcd's last error was this one, and returns it. On a slow machine there may be others
# before it, of an etcd that did not answer in time.
sub wait_for_error
{
	my ($node, $reason) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (1)
	{
		# Until its worker has begun, a server says nothing.
		my $error = (lease_of($node) || {})->{last_error} // '';
		return $error if $error =~ $reason;
		die $node->name . " has no error like $reason, but: $error" if time() > $until;
		sleep 0.1;
	}
}

# Waits until a server, or a session that stays, makes IDs without an error.
sub wait_for_flow
{
	my ($who) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $ask = join '; ', map { "SELECT $_->{next}" } @LEASED;
	while (my $error = $who->can('query') ? error_in($who, $ask) : error_of($who, $ask))
	{
		die "IDs do not flow: $error" if time() > $until;
		sleep 0.1;
	}
	return;
}

# The processes of a server, its postmaster first.
sub processes_of
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /\A(\d+)$/m;
	# A process that has ended by now has no file to read.
	my @stats = map { my $file; open($file, '<', $_) ? <$file> // '' : '' } glob '/proc/[0-9]*/stat';
	return ($postmaster, map { /\A(\d+) .*\) \w \Q$postmaster\E / ? $1 : () } @stats);
}

# The generator IDs that these IDs of an ID type have.
sub generators_of
{
	my ($node, $id_type, @ids) = @_;
	my $list = "unnest('{" . join(',', @ids) . "}'::$id_type->{type}" . '[])';
	return split /\n/, $node->safe_psql('postgres',
		"SELECT DISTINCT $generator{ $id_type->{name} } FROM $list AS made (made), $id_type->{name}_decode(made) ORDER BY 1");
}

1;
