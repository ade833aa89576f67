# A wire between a server and a member of etcd, which the test cuts. It can hold one call, deliver
# it late, and lose the answer.
package Etcd::Wire;

use strict;
use warnings;

use Etcd ();
use IO::Select;
use IO::Socket::INET;
use Server qw(wait_until);
use Socket;

sub new {
	my ($class, $url) = @_;
	my ($scheme, $port) = $url =~ m{\A(\w+)://.*:(\d+)\z};
	my $near = Etcd->silent_endpoint;
	socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC
	  or die "could not make a pair of sockets: $!";
	Etcd::in_process(sub { close $ours; _forward($near->{socket}, $theirs, $port) });
	return bless { endpoint => "$scheme://$near->{endpoint}", control => $ours }, $class;
}

# From now on nothing passes, and no connection ends; or all passes again.
sub cut  { my ($self) = @_; $self->_tell('cut');  return }
sub heal { my ($self) = @_; $self->_tell('heal'); return }

# Holds the first call that has this text, and cuts the wire then.
sub hold { my ($self, $text) = @_; $self->_tell("hold $text"); return }

# Delivers the call that is held, and waits for etcd's answer. The answer is lost.
sub deliver { my ($self) = @_; $self->_tell('deliver'); return }

# Waits until a call is held.
sub wait_until_held {
	my ($self) = @_;
	return wait_until('a call is held', sub { $self->_tell('is_held') =~ /held/ });
}

sub _tell {
	my ($self, $what) = @_;
	syswrite $self->{control}, "$what\n";
	defined(my $answer = readline $self->{control}) or die 'the wire has gone';
	return $answer;
}

# Forwards all that comes until the test closes its end of the control.
sub _forward {
	my ($listening, $control, $port) = @_;
	# A peer that has gone shows when it is read.
	local $SIG{PIPE} = 'IGNORE';
	my $all = IO::Select->new($control, $listening);
	my ($is_cut, $hold, $held, $is_complete) = (0);
	# The other end of each end.
	my (%other, %is_etcd);
	my $close = sub {
		my @ends = @_;
		$all->remove(@ends);
		delete @{$_}{@ends} for \%other, \%is_etcd;
		$_->close for @ends;
	};
	while (1) {
		my @watched = ($control, $held && !$is_complete ? $held->{near} : ());
		for my $socket (($is_cut ? IO::Select->new(@watched) : $all)->can_read) {
			if ($socket == $control) {
				defined(my $what = readline $control) or return;
				$is_cut = 1 if $what eq "cut\n";
				$hold = $1 if $what =~ /^hold (\S+)$/;
				_deliver($held) if $what eq "deliver\n";
				if ($what eq "heal\n") {
					$is_cut = 0;
					$close->(@$held{qw(near far)}) if $held;
					$held = $is_complete = undef;
				}
				syswrite $control, $is_complete ? "held\n" : "\n";
				# What else was ready waits for the next round.
				last;
			}
			if ($socket == $listening) {
				my $near = $listening->accept                                               or next;
				my $far = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or next;
				@other{ $near, $far } = ($far, $near);
				$is_etcd{$far} = 1;
				$all->add($near, $far);
				next;
			}
			my $other = $other{$socket} or next;
			my $size = sysread $socket, my $data, 65_536;
			if ($held && $socket == $held->{near}) {
				$held->{data} .= $data;
				$is_complete = defined _end_of_stream($held->{data});
				next;
			}
			if ($size && defined $hold && !$is_etcd{$socket} && index($data, $hold) >= 0) {
				$held = { near => $socket, far => $other, data => $data };
				$is_complete = defined _end_of_stream($data);
				($is_cut, $hold) = (1);
				last;
			}
			next if $size && syswrite $other, $data;
			$close->($socket, $other);
		}
	}
	return;
}

# Returns where the first frame of HTTP/2 ends that ends a stream; undef without such a frame.
sub _end_of_stream {
	my ($data) = @_;
	# A connection begins with this.
	my $at = $data =~ /\APRI \* HTTP\/2\.0\r\n\r\nSM\r\n\r\n/ ? $+[0] : 0;
	while (length $data >= $at + 9) {
		my ($length, $type, $flags) = unpack 'N C C', "\0" . substr $data, $at, 5;
		$at += 9 + $length;
		# The types are DATA and HEADERS; the flag is END_STREAM.
		return $at if $type <= 1 && $flags & 1 && length $data >= $at;
	}
	return;
}

# Sends the held call to etcd, without what came after it, and reads the answer to its end.
sub _deliver {
	my ($held) = @_;
	syswrite $held->{far}, substr $held->{data}, 0, _end_of_stream($held->{data});
	my $answer = '';
	sysread $held->{far}, $answer, 65_536, length $answer
	  or die 'etcd has gone'
	  until defined _end_of_stream($answer);
	return;
}

1;
