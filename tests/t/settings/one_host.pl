# Two servers on one host have one name and one MAC address. By default they generate the same
# flakes, snos, uniqueids and flake128s, and with the settings of docs/fleet.md none.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

# A host of containers has no real MAC address. So both get that of one as a setting.
my $one_address = "flakeid.interface = '02:00:00:00:00:99'\n";
my @clocks = map { FakedClock->new($_, $one_address) } 'first', 'second';
my @nodes = map { $_->node } @clocks;
for my $clock (@clocks) {
	$clock->start;
	create_tables($clock->node);
}

# Which generator ID a session takes first depends on the place that it has among all sessions. One
# that is just ending still has its place. So these two are chosen by their generator ID.
my @others;
my @sessions = map { session_at_first($_) } @nodes;
my $moment = time() + 60;

sub session_at_first {
	my ($node) = @_;
	for (1 .. 64) {
		my $session = session($node);
		return $session
		  if $session->query_safe("SELECT flakeid_identity() ->> 'home_generator_id'") eq '0';
		push @others, $session;
	}
	die 'no session begins at the first generator ID';
}

# Returns the names of the ID types of which both servers generate an equal ID. The clocks of both
# stand at one moment.
sub repeated {
	$moment++;
	$_->stand_still($moment) for @clocks;
	my @repeated;
	for my $type (@ID_TYPES) {
		my $next = sprintf $type->{batch}, 20;
		my %times;
		$times{$_}++ for map { split /\n/, $_->query_safe("SELECT $next") } @sessions;
		push @repeated, $type->{name} if grep { $_ > 1 } values %times;
	}
	return join ' ', sort @repeated;
}

is(repeated(), 'flake flake128 sno uniqueid', 'by default these ID types repeat on one host');
reload_with($nodes[1], generator_ids => '8-15');
is(repeated(), 'flake128', 'with generator IDs of their own, flake128 repeats');
reload_with($nodes[1], interface => '02:00:00:00:00:02');
is(repeated(), '', 'with an address of its own for flake128, no ID type repeats');
reload_with($nodes[0], guid_node => 'shop');
reload_with($nodes[1], guid_node => 'shop');
is(repeated(), 'guid', 'guid repeats with the same node, which by default is random');

my @names =
  map { $_->safe_psql('postgres', "SELECT flakeid_identity() -> 'flake128' ->> 'worker'") } @nodes;
is("@names", '02:00:00:00:00:99 02:00:00:00:00:02', 'flakeid_identity() shows the difference');
reload_with($_, interface => '') for @nodes;
@names =
  map { $_->safe_psql('postgres', "SELECT flakeid_identity() -> 'flake128' ->> 'worker'") } @nodes;
my $is_real = grep { -e "$_/device" && slurp_file("$_/type") == 1 } glob '/sys/class/net/*';
if ($is_real) {
	is($names[0], $names[1], 'on a host with a real interface both have its address');
}
else {
	isnt($names[0], $names[1], 'on a host without a real interface each has a random address');
}
$_->quit for @sessions, @others;
$_->stop for @nodes;

done_testing();
