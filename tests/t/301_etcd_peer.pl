# What takes a worker's connections and is no etcd: it keeps none of them, and what it says is cut and escaped.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FakeEtcd;
use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Socket qw(SOL_SOCKET SO_RCVBUF);
use Test::More;

# Listens in a process of its own, which calls this with each connection and keeps it. The answer has the address, and
# a socket from which one byte can be read for each connection.
sub peer
{
	my ($with) = @_;
	my $port   = PostgreSQL::Test::Cluster::get_free_port();
	my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 128, ReuseAddr => 1)
	  or die "could not listen: $@";
	# A connection inherits it.
	$listen->setsockopt(SOL_SOCKET, SO_RCVBUF, 2048);
	socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "could not make a pair of sockets: $!";
	Etcd::in_process(sub {
		close $ours;
		$SIG{PIPE} = 'IGNORE';
		my $test = getppid;
		my (@connections, %more);
		while (getppid == $test)
		{
			if (IO::Select->new($listen)->can_read(0.02))
			{
				my $connection = $listen->accept or next;
				$connection->blocking(0);
				push @connections, $connection;
				syswrite $theirs, '.';
			}
			$with->($_) for @connections;
		}
	});
	close $theirs;
	return { endpoint => "http://127.0.0.1:$port", connections => $ours };
}

# Returns when there have been so many more connections.
sub wait_for_connections
{
	my ($peer, $number) = @_;
	my $select = IO::Select->new($peer->{connections});
	while ($number > 0)
	{
		$select->can_read($PostgreSQL::Test::Utils::timeout_default) or die 'the worker does not connect';
		my $bytes;
		$number -= sysread($peer->{connections}, $bytes, $number) || die 'the peer has gone';
	}
	return;
}

sub descriptors_of
{
	my ($node) = @_;
	my @all = glob '/proc/' . lease_of($node)->{worker_pid} . '/fd/*';
	return scalar @all;
}

my $settings = frame(4, 0, 0, '');
my $pings    = frame(6, 0, 0, 'pingpong') x 200;
my $unread   = peer(sub {
	my ($connection) = @_;
	if (!${*$connection}{greeted}++)
	{
		syswrite $connection, $settings;
	}
	# It would be said again from the middle of a frame if a part alone had been sent.
	my $rest = ${*$connection}{rest} // '';
	for (1 .. 50)
	{
		$rest = $pings if $rest eq '';
		my $sent = syswrite($connection, $rest) or last;
		$rest = substr $rest, $sent;
	}
	${*$connection}{rest} = $rest;
});

# a peer that sends and never reads ----------------------------------------------------------------------------------

my $node = PostgreSQL::Test::Cluster->new('peer');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'flakeid'
log_statement = none
flakeid.generator_ids = 'etcd:2'
flakeid.etcd_lease_ttl = '3s'
flakeid.max_clock_wait = '100ms'
flakeid.etcd_endpoints = '$unread->{endpoint}'
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_connections($unread, 4);
my $before = descriptors_of($node);
wait_for_connections($unread, 12);
my $after = descriptors_of($node);
cmp_ok($after, '<=', $before + 2, 'with a peer that sends PINGs and never reads the worker closes its connections')
  or diag("$before descriptors, and $after after 12 connections more");
like(lease_of($node)->{last_error}, qr/etcd did not answer in time/, '... and says that it does not answer');
$node->stop('fast');
pass('... and the server stops');

# peers that say something else -----------------------------------------------------------------------------------------

my $said = 'told%0Aanother line%1B[2J%C3%A9' . 'x' x 9000;
my %says = (
	'nothing, and hangs up' => undef,
	'what is no HTTP'       => "\e[2J\0\xff" x 1000,
	'HTTP/1.1'              => "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwhat",
	'a frame that is too large' => "\0\xff\xff\xff\4\0\0\0\0\0" . 'x' x 10_000,
	'a long error'          => $settings
	  . frame(1, 5, 1, "\x88" . field('content-type', 'application/grpc') . field('grpc-status', '13') . field('grpc-message', $said)));
for my $what (sort keys %says)
{
	my $text = $says{$what};
	my $peer = peer(sub {
		my ($connection) = @_;
		return if ${*$connection}{done};
		return $connection->close, ${*$connection}{done} = 1 unless defined $text;
		# An answer comes after the question. All of it is read, as what is not would reset the connection.
		sysread $connection, my $question, 65_536 or return;
		${*$connection}{asked} .= $question;
		# The type of a frame with a header is 1.
		return unless ${*$connection}{asked} =~ /\x00..\x01[\x04\x05]\x00\x00\x00\x01/s;
		syswrite $connection, $text;
		${*$connection}{done} = 1;
	});
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '$peer->{endpoint}'\n");
	my $end_of_log = -s $node->logfile;
	$node->start;
	wait_for_connections($peer, 3);
	my $error = wait_for_error($node, $what eq 'a long error' ? qr/told\\nanother line/ : qr/./);
	$before = descriptors_of($node);
	wait_for_connections($peer, 4);
	cmp_ok(descriptors_of($node), '<=', $before + 2, "a peer says $what: the worker closes its connections");
	$node->wait_for_log(qr/LOG:  flakeid cannot lease generator IDs: /, $end_of_log);
	unlike($_, qr/[^\t\n\x20-\x7e]/, '... what is said of it are printable characters') for $error, slurp_file($node->logfile, $end_of_log);
	cmp_ok(length $error, '<', 400, '... and not many');
	like($error, qr/told\\nanother line\\x1b\[2J\\xc3\\xa9x+\.\.\.\z/, '... the beginning of the error, escaped') if $what eq 'a long error';
	note("$what: $error");
	$node->stop('fast');
}

done_testing();
