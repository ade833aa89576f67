# A clock that a test can step, as FakedClock, for a server that the test has set up itself: a
# standby, a restored backup, the new one of an upgrade.
package FakedNode;

use strict;
use warnings;

use parent 'FakedClock';

sub new {
	my ($class, $node) = @_;
	return $class->of_node($node);
}

1;
