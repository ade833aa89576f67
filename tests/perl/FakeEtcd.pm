# What speaks etcd's protocol and is not etcd: gRPC over HTTP/2, with replies that a test makes up.
# It knows as much of both as flakeid's worker uses. It listens on a loopback port in a process of
# its own, which ends with the test.
package FakeEtcd;

use strict;
use warnings;

use Etcd     ();
use Exporter qw(import);
use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(frame field number listing);

# HTTP/2 ---------------------------------------------------------------------------------------

# A frame: its type, flags and stream.
sub frame {
	my ($type, $flags, $stream, $payload) = @_;
	return substr(pack('N', length $payload), 1) . pack('C C N', $type, $flags, $stream) . $payload;
}

# A length as HPACK writes it, in seven bits and more.
sub _length {
	my ($length) = @_;
	return chr $length if $length < 127;
	$length -= 127;
	my $bytes = chr 127;
	for (; $length >= 128; $length = int($length / 128)) {
		$bytes .= chr($length % 128 + 128);
	}
	return $bytes . chr $length;
}

# A field of a header, as HPACK writes it without an index.
sub field {
	my ($name, $value) = @_;
	return "\0" . _length(length $name) . $name . _length(length $value) . $value;
}

my ($data, $headers, $settings, $ping, $window_update) = (0, 1, 4, 6, 8);
my ($end_stream, $end_headers, $ack) = (1, 4, 1);
my $preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

# protocol buffers -----------------------------------------------------------------------------

sub _varint {
	my ($value) = @_;
	my $bytes = '';
	for (; $value >= 128; $value = int($value / 128)) {
		$bytes .= chr($value % 128 + 128);
	}
	return $bytes . chr $value;
}

# A field of a message: a number, or bytes, which may be a message.
sub number { my ($field, $value) = @_; return _varint($field << 3) . _varint($value) }

sub bytes {
	my ($field, $value) = @_;
	return _varint($field << 3 | 2) . _varint(length $value) . $value;
}

# What the worker's first question is answered with: cluster, epoch and address, no grace period,
# the registry's ID, no registries that were left, and a page of each of the keys of claims, of
# owners by name and of high-water marks. Each page is given by its keys, the last of which is
# `more` where others follow.
sub listing {
	my (%pages) = @_;
	my $header = bytes(1, number(3, 9) . number(4, 1));
	my $of = sub { my ($range) = @_; return bytes(3, bytes(1, $range)) };
	my $value = sub {
		my ($key, $text) = @_;
		return $of->(bytes(2, bytes(1, "flakeid/$key") . number(3, 5) . bytes(5, $text)));
	};
	return
		$header
	  . number(2, 1)
	  . $value->('cluster-id', '0')
	  . $value->('epoch', '2010-01-01T00:00:00Z')
	  . $value->('address', '0/flakeid/')
	  . $of->('')
	  . $value->('registry-id', '1')
	  . $of->('')
	  . join('', map { $of->(page(@{ $pages{$_} || [] })) } qw(pool registry until));
}

# A page of keys.
sub page {
	my (@keys) = @_;
	my $more = @keys && $keys[-1] eq 'more' && pop @keys;
	return
	  join('', map { bytes(2, bytes(1, "flakeid/$_") . number(3, 5)) } @keys)
	  . ($more ? number(3, 1) : '');
}

# the server -----------------------------------------------------------------------------------

# Answers every question with what this function makes of it: a message in, a message out. Returns
# the endpoint.
sub start {
	my ($class, $answer) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $listen = IO::Socket::INET->new(
		LocalAddr => '127.0.0.1',
		LocalPort => $port,
		Listen => 128,
		ReuseAddr => 1) or die "could not listen: $@";
	Etcd::in_process(sub { _serve($listen, $answer, getppid) });
	return "http://127.0.0.1:$port";
}

sub _serve {
	my ($listen, $answer, $test) = @_;
	local $SIG{PIPE} = 'IGNORE';
	my $all = IO::Select->new($listen);
	my %connections;
	while (getppid == $test) {
		for my $socket ($all->can_read(1)) {
			if ($socket == $listen) {
				my $new = $listen->accept or next;
				$all->add($new);
				$connections{$new} = { socket => $new, read => '', questions => {} };
				syswrite $new, frame($settings, 0, 0, '');
				next;
			}
			my $connection = $connections{$socket};
			if (!sysread $socket, $connection->{read}, 65_536, length $connection->{read}) {
				$all->remove($socket);
				delete $connections{$socket};
				$socket->close;
				next;
			}
			_read($connection, $answer);
		}
	}
	return;
}

# Takes the whole frames that have come.
sub _read {
	my ($connection, $answer) = @_;
	$connection->{read} =~ s/\A\Q$preface\E//;
	while (length $connection->{read} >= 9) {
		my ($length, $type, $flags, $stream) = unpack 'N C C N', "\0" . $connection->{read};
		return if length $connection->{read} < 9 + $length;
		my $payload = substr $connection->{read}, 9, $length;
		$connection->{read} = substr $connection->{read}, 9 + $length;
		my $reply = '';
		if (($type == $settings || $type == $ping) && !($flags & $ack)) {
			$reply = frame($type, $ack, 0, $type == $ping ? $payload : '');
		}
		elsif ($type == $data) {
			$connection->{questions}{$stream} .= $payload;
			$reply = frame($window_update, 0, 0, pack 'N', $length) if $length;
			if ($flags & $end_stream) {
				# Five bytes stand before the message: whether it is compressed, and its length.
				my $message = $answer->(substr delete $connection->{questions}{$stream}, 5);
				$reply .=
				  frame($headers, $end_headers, $stream,
					"\x88" . field('content-type', 'application/grpc'))
				  . frame($data, 0, $stream, pack('C N', 0, length $message) . $message)
				  . frame($headers, $end_headers | $end_stream, $stream, field('grpc-status', '0'));
			}
		}
		syswrite $connection->{socket}, $reply if $reply ne '';
	}
	return;
}

1;
