# What the tests of pg_stat_flakeid ask: rows of the view, on a server whose clock a test can step.
package Statistics;

use strict;
use warnings;

use Exporter qw(import);
use FakedClock;
use Ledger;
use Time::HiRes qw(time);

our @EXPORT = qw($ONE_OF_EACH start_counting reset_counts cell_of next_moment);

# A statement that generates an ID of each type.
our $ONE_OF_EACH = 'SELECT ' . join ', ', map { $_->{next} } @ID_TYPES;

# Starts a server with these settings, which has generated IDs of each type, and has counted none
# since. Its next IDs need not wait for the clock to pass its start. Returns the clock and the
# server.
sub start_counting {
	my ($name, $configuration) = @_;
	my $clock = FakedClock->new($name, "flakeid.horizon_lead = '10s'\n$configuration");
	$clock->start;
	my $node = $clock->node;
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid; $ONE_OF_EACH");
	reset_counts($node);
	return ($clock, $node);
}

sub reset_counts {
	my ($node) = @_;
	$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
	return;
}

# Returns columns of the view's row for an ID type, of which the server has one cell.
sub cell_of {
	my ($node, $id_type, $columns) = @_;
	return $node->safe_psql('postgres',
		"SELECT $columns FROM pg_stat_flakeid WHERE id_type = '$id_type->{name}'");
}

# Returns a moment later than all before. A binary fraction holds it exactly.
my $later = 20;

sub next_moment {
	$later += 20;
	return int(time()) + $later + 0.5;
}

1;
