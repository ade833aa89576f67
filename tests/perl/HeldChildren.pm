# A server whose new processes a test can hold, before they have handlers of signals. The server
# loads tests/bin/held_children.c.
package HeldChildren;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# Starts this server, which does not hold processes yet.
sub start {
	my ($class, $node) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir('held') . '/hold';
	{
		local %ENV = (%ENV, LD_PRELOAD => $ENV{HELD_CHILDREN}, HELD_CHILDREN_FILE => $file);
		$node->start;
	}
	return bless { node => $node, file => $file }, $class;
}

# From now on new processes of the server wait.
sub hold { my ($self) = @_; return append_to_file($self->{file}, '') }

# Waits until a new process waits, and returns its PID.
sub wait_until_held {
	my ($self) = @_;
	return wait_until('a process that is held',
		sub { my ($file) = glob "$self->{file}.*"; return $file && $file =~ s/.*\.//r });
}

# Reloads the settings, and waits until the signal of the server has reached the process that is
# held.
sub reload {
	my ($self, $pid) = @_;
	kill HUP => $self->{node}{_pid};
	wait_until(
		'SIGHUP',
		sub {
			my ($pending) = slurp_file("/proc/$pid/status") =~ /^ShdPnd:\s+([0-9a-f]+)/m;
			return hex($pending) & 1;
		});
	return;
}

# Lets all processes go on.
sub release { my ($self) = @_; return unlink $self->{file} }

1;
