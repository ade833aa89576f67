# A postmaster that is the test's own child. So it can be killed and is gone at once: one that
# pg_ctl started becomes the child of the process that adopts orphans, and may be long in going;
# until then a new one would not start, as the lock file names a process that is still there.
package Postmaster;

use strict;
use warnings;

use Fcntl qw(F_SETFD);
use IO::Select;
use POSIX  ();
use Server qw(wait_until);

# Starts the node's server with these variables in its environment; returns when it takes sessions.
sub start {
	my ($class, $node, %environment) = @_;

	# All processes of the server have the writing end, so that the other ends when they all have.
	pipe my $ends, my $alive or die "could not make a pipe: $!";
	my $pid = fork;
	die "could not fork: $!" unless defined $pid;
	_become($node, $alive, \%environment) unless $pid;
	close $alive;

	my $self = bless { node => $node, pid => $pid, ends => $ends }, $class;
	$self->_wait_until_ready;
	$node->_update_pid(1);
	return $self;
}

sub _become {
	my ($node, $alive, $environment) = @_;
	%ENV = (%ENV, %$environment);
	delete $ENV{PGAPPNAME};
	open my $null, '<', '/dev/null'    or POSIX::_exit(126);
	open my $log, '>>', $node->logfile or POSIX::_exit(126);
	POSIX::dup2(fileno $null, 0);
	POSIX::dup2(fileno $log, $_) for 1, 2;
	fcntl $alive, F_SETFD, 0 or POSIX::_exit(126);
	POSIX::setsid();
	exec 'postgres', '-D', $node->data_dir, '--cluster-name=' . $node->name or POSIX::_exit(127);
}

# As pg_ctl does it: the server says so in a line of its lock file.
sub _wait_until_ready {
	my ($self) = @_;
	my $is_ready = sub {
		if (open my $file, '<', $self->{node}->data_dir . '/postmaster.pid') {
			my @lines = <$file>;
			return 1 if @lines >= 8 && $lines[0] == $self->{pid} && $lines[7] =~ /^ready/;
		}
		die "the server did not start; see $self->{node}{_logfile}"
		  if waitpid $self->{pid}, POSIX::WNOHANG();
		return 0;
	};
	return wait_until('the server is ready', $is_ready, 0.02);
}

# Kills the postmaster. When this returns none of the server's processes is left.
sub kill9 {
	my ($self) = @_;
	$self->{node}->kill9;
	return $self->_wait_until_gone;
}

# Stops the server in good order, or at once.
sub stop {
	my ($self, $mode) = @_;
	$self->{node}->stop($mode);
	return $self->_wait_until_gone;
}

sub _wait_until_gone {
	my ($self) = @_;
	waitpid $self->{pid}, 0;
	my $ends = IO::Select->new($self->{ends});
	# A signal, such as that of a session that ends, interrupts the wait.
	return wait_until('the processes of the server end', sub { $ends->can_read(1) }, 0);
}

1;
