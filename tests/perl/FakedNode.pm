# A clock that a test can step, as FakedClock, for a server that the test has set up itself: a standby, a
# restored backup, the new one of an upgrade.
#
# Up to PostgreSQL 15 the postmaster sees the real clock when it ends, and so do the workers that it
# starts, as libfaketime is out of the way while it waits. So the clock of a server whose last words or
# worker matter is the real one here, and those around it are ahead or behind.
package FakedNode;

use strict;
use warnings;

use parent 'FakedClock';
use PostgreSQL::Test::Utils;

sub new
{
	my ($class, $node) = @_;
	my $self = bless { node => $node, file => PostgreSQL::Test::Utils::tempdir($node->name) . '/clock' }, $class;
	$self->step(0);
	return $self;
}

1;
