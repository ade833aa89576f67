# The clock of a primary is stepped back by an hour. Its standbys have seen the times from before
# and from after. None repeats an ID: promoted, started as a server of its own, or after a crash.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Successors;
use Test::More;

# The standbys' clock is the real one. The primary's is ahead by this many seconds.
my $ahead = 7200;
my ($primary, $clock) = primary('primary', -7200);
$primary->backup('young');
# Four hours before the rest: so sno's other timeline is free for a step back.
$primary->safe_psql('postgres', "INSERT INTO ${_}s DEFAULT VALUES") for @TYPE_NAMES;
$clock->step($ahead);

my %node;
my %clock;
for my $name ('promoted', 'stopped', 'crashed') {
	($node{$name}, $clock{$name}) = successor($name, $primary, 'young', '', has_streaming => 1);
}
my @standbys = values %node;
insert_rows($primary, 2000);
$primary->wait_for_catchup($_) for @standbys;
wait_until_seen($primary, $_)  for @standbys;
$node{crashed}->safe_psql('postgres', 'CHECKPOINT');

$clock->step($ahead - 3600);
insert_rows($primary, 2000, 'sno');
like(
	error_of($primary, 'SELECT count(flake_next()) FROM generate_series(1, 50000)'),
	qr/58000: the clock is (?:5\d|60) min behind/,
	'the clock of the primary is stepped back by an hour');
$primary->safe_psql('postgres', 'CHECKPOINT');
# The restart point begins at the last checkpoint that the standby has replayed.
$primary->wait_for_catchup($node{crashed});
$node{crashed}->safe_psql('postgres', 'CHECKPOINT');
crash($clock{crashed});
insert_rows($primary, 2000, 'sno');
$primary->wait_for_catchup($_) for @standbys;
wait_until_looked($_) for @standbys;

halt($node{stopped});
unlink $node{stopped}->data_dir . '/standby.signal' or die 'no standby.signal';
launch($clock{stopped});
promote($node{$_}) for 'promoted', 'crashed';
my %what = (
	stopped => 'a standby that was stopped and is started as a server of its own',
	promoted => 'a standby that is promoted after the step',
	crashed => 'a standby that is promoted, and had crashed after the step');
repeats_none_behind($node{$_}, $clock{$_}, $ahead, $what{$_}) for sort keys %what;
$primary->stop;

done_testing();
