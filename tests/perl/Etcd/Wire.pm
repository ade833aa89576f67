# A wire between a server and a member of etcd, which the test cuts. It can lose one answer, and it
# can hold one call and deliver it late.
package Etcd::Wire;

use strict;
use warnings;

use Etcd ();
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Server qw(wait_until);
use Socket;

sub new {
	my ($class, $url) = @_;
	my ($scheme, $port) = $url =~ m{\A(\w+)://.*:(\d+)\z};
	my $near = Etcd->silent_endpoint;
	socketpair my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC
	  or die "could not make a pair of sockets: $!";
	Etcd::in_process(sub { close $ours; _forward($near->{socket}, $theirs, $url, $port) });
	return bless { endpoint => "$scheme://$near->{endpoint}", control => $ours }, $class;
}

# From now on nothing passes, and no connection ends; or all passes again.
sub cut  { my ($self) = @_; $self->_tell('cut');  return }
sub heal { my ($self) = @_; $self->_tell('heal'); return }

# Loses the first answer that comes while this key of the namespace exists, such as the answer to
# the transaction that writes it. That connection stays silent; others work.
sub lose_answer_to { my ($self, $key) = @_; $self->_tell("lose flakeid/$key"); return }

# Holds the first call that has this text, and cuts the wire then.
sub hold { my ($self, $text) = @_; $self->_tell("hold $text"); return }

# Delivers the call that is held, and waits for etcd's answer. The answer is lost.
sub deliver { my ($self) = @_; $self->_tell('deliver'); return }

# Returns whether an answer was lost.
sub has_lost { my ($self) = @_; return $self->_tell('count') =~ /lost/ }

# Waits until a call is held.
sub wait_until_held {
	my ($self) = @_;
	return wait_until('a call is held', sub { $self->_tell('count') =~ /held/ });
}


sub _tell {
	my ($self, $what) = @_;
	syswrite $self->{control}, "$what\n";
	defined(my $answer = readline $self->{control}) or die 'the wire has gone';
	return $answer;
}

# Forwards all that comes until the test closes its end of the control.
sub _forward {
	my ($listening, $control, $url, $port) = @_;
	# A peer that has gone shows when it is read.
	local $SIG{PIPE} = 'IGNORE';
	my $all = IO::Select->new($control, $listening);
	my ($is_cut, $lose, $has_lost, $hold, $held, $is_complete) = (0);
	# `other` has the other end of each end; `silent` those ends at etcd whose answers are lost.
	my (%other, %is_etcd, %silent);
	my $close = sub {
		my @ends = @_;
		$all->remove(@ends);
		delete @{$_}{@ends} for \%other, \%is_etcd, \%silent;
		$_->close for @ends;
	};
	while (1) {
		my @watched = ($control, $held && !$is_complete ? $held->{near} : ());
		for my $socket (($is_cut ? IO::Select->new(@watched) : $all)->can_read) {
			if ($socket == $control) {
				defined(my $what = readline $control) or return;
				$is_cut = 1 if $what eq "cut\n";
				$lose = $1 if $what =~ /^lose (\S+)$/;
				$hold = $1 if $what =~ /^hold (\S+)$/;
				_deliver($held) if $what eq "deliver\n";
				if ($what eq "heal\n") {
					$is_cut = 0;
					$close->(@$held{qw(near far)}) if $held;
					$held = $is_complete = undef;
				}
				syswrite $control,
				  join(' ', $has_lost ? 'lost' : (), $is_complete ? 'held' : ()) . "\n";
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
			if ($size && defined $lose && $is_etcd{$socket} && _exists($url, $lose)) {
				$silent{$socket} = $has_lost = 1;
				$lose = undef;
			}
			next if $size && ($silent{$socket} || syswrite($other, $data));
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

# Returns whether etcd has a key.
sub _exists {
	my ($url, $key) = @_;
	return Etcd::ask_gateway($url, 'range', key => $key, count_only => JSON::PP::true)->{count};
}

1;
