# What answers at an endpoint is no etcd, or gives replies that no etcd gives. The worker names the
# error, closes its connections, leases nothing, and ends when the server stops.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FakeEtcd;
use IO::Select;
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Socket;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('peer');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
set($node, generator_ids => 'etcd:2', etcd_lease_ttl => '3s', max_clock_wait => '1ms');

# Starts the server with this endpoint, and returns its first error like this.
sub error_at {
	my ($endpoint, $error) = @_;
	set($node, etcd_endpoints => $endpoint);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS flakeid');
	return wait_for_error($node, $error);
}

# Listens in a process of its own, and calls a function with each connection again and again.
# Returns the endpoint, and a socket from which a byte can be read for each connection.
sub peer {
	my ($serve) = @_;
	my $peer = Etcd->silent_endpoint;
	# Connections inherit it.
	$peer->{socket}->setsockopt(SOL_SOCKET, SO_RCVBUF, 2048);
	socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "no sockets: $!";
	Etcd::in_process(
		sub {
			close $ours;
			$SIG{PIPE} = 'IGNORE';
			my ($test, @connections) = (getppid);
			while (getppid == $test) {
				if (IO::Select->new($peer->{socket})->can_read(0.02)) {
					push @connections,
					  { socket => $peer->{socket}->accept, read => '', rest => '' };
					$connections[-1]{socket}->blocking(0);
					syswrite $theirs, '.';
				}
				$serve->($_) for @connections;
			}
		});
	return ("http://$peer->{endpoint}", $ours);
}

# Returns a function that reads a question and sends this answer, or closes the connection.
sub answers {
	my ($answer) = @_;
	return sub {
		my ($connection) = @_;
		my $socket = $connection->{socket};
		return if $connection->{is_done};
		return $socket->close, $connection->{is_done} = 1 unless defined $answer;
		# The connection would be reset if the question were not read first. It has a frame of
		# headers, whose type is 1.
		sysread $socket, $connection->{read}, 65_536, length $connection->{read} or return;
		return unless $connection->{read} =~ /\x00..\x01[\x04\x05]\x00\x00\x00\x01/s;
		syswrite $socket, $answer;
		$connection->{is_done} = 1;
	};
}

# Sends PINGs and never reads.
my $settings = frame(4, 0, 0, '');
my $pings = frame(6, 0, 0, 'pingpong') x 200;
my $floods = sub {
	my ($connection) = @_;
	$connection->{rest} = $settings unless $connection->{is_greeted}++;
	for (1 .. 50) {
		# A frame that was sent in part continues.
		$connection->{rest} = $pings if $connection->{rest} eq '';
		my $sent = syswrite($connection->{socket}, $connection->{rest}) or last;
		substr $connection->{rest}, 0, $sent, '';
	}
};

# The text of an error that is longer than messages may be, and not printable.
my $text = 'told%0Aanother line%1B[2J%C3%A9' . 'x' x 9000;
my $type = field('content-type', 'application/grpc');
my $status = field('grpc-status', 13) . field('grpc-message', $text);
my $fails = $settings . frame(1, 5, 1, "\x88$type$status");
for my $case (
	[ 'sends PINGs and never reads', qr/etcd did not answer in time/, $floods ],
	[ 'closes the connection', qr/./, answers(undef) ],
	[ 'sends what is no HTTP/2', qr/./, answers("HTTP/1.1 200 OK\r\n\r\n" . "\e[2J\0\xff" x 1000) ],
	[ 'sends a frame that is too large', qr/./, answers("\0" . "\xff" x 4 . 'x' x 10_000) ],
	[ 'sends a long error', qr/told\\nanother line\\x1b\[2J\\xc3\\xa9x+\.\.\.\z/, answers($fails) ])
{
	my ($what, $reason, $serve) = @$case;
	subtest "a peer $what" => sub {
		my ($endpoint, $connections) = peer($serve);
		my $end_of_log = -s $node->logfile;
		my $error = error_at($endpoint, $reason);
		$node->wait_for_log(qr/LOG:  flakeid cannot lease generator IDs: /, $end_of_log);
		unlike($_, qr/[^\t\n\x20-\x7e]/, 'the error and the log are printable')
		  for $error, slurp_file($node->logfile, $end_of_log);
		cmp_ok(length $error, '<', 400, 'the error is short');
		my $worker = lease_of($node)->{worker_pid};
		my $descriptors = sub { scalar(my @all = glob "/proc/$worker/fd/*") };
		my $before = $descriptors->();
		sysread $connections, my $byte, 1 or die 'the peer has gone' for 1 .. 12;
		cmp_ok($descriptors->(), '<=', $before + 2, 'the worker closes its connections');
		$node->stop('fast');
	};
}

# A worker that took such a reply for one that leads further would ask without end, and would not
# stop. A listing is asked for with the key of the cluster; a page of it begins with a key.
my $is_listing = qr/cluster-id/;
my $is_page = qr/\A\x0a.flakeid\//s;
my $begins_again = sub {
	return listing(pool => [ 'pool/0:2', 'more' ]) if $_[0] =~ $is_listing;
	return $_[0] =~ $is_page ? FakeEtcd::page('pool/0:1', 'more') : '';
};
for my $case (
	[
		'a listing without its high-water marks',
		qr/etcd sent an incomplete reply/,
		sub {
			$_[0] =~ $is_listing ? listing(until => [ map { "until/$_" } 64 .. 67 ]) : '';
		}
	],
	[ 'a part of a listing', qr/etcd sent an incomplete reply/, sub { number(2, 1) } ],
	[
		'a listing that begins again', qr/etcd sent keys outside the requested range/,
		$begins_again
	],
	[
		'a lease of 0 s',
		qr/etcd granted a lease of 0 s/,
		sub { $_[0] =~ $is_listing ? listing() : '' }
	],
	[
		'a claim as another etcd would',
		qr/a different etcd cluster answered than before/,
		sub {
			# A transaction that was done, in an etcd with another cluster ID.
			return FakeEtcd::bytes(1, number(1, 1)) . number(2, 1) if $_[0] =~ m{pool/0:\d};
			# Field 3 of a granted lease is its duration.
			return $_[0] =~ $is_listing ? listing() : number(3, 3);
		}
	])
{
	my ($what, $reason, $answer) = @$case;
	ok(error_at(FakeEtcd->start($answer), $reason),
		"a false etcd answers $what: there is an error");
	refuses(
		$node,
		qr/ERROR:  55000: no generator IDs are leased from etcd yet/,
		'the server leases nothing, and sessions get an error');
	$node->stop('fast');
}

done_testing();
