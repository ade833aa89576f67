# A server that is stopped and started: its IDs continue after the last tick, to the nanosecond, and
# nothing is written while no session asks for IDs.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds

# within one tick --------------------------------------------------------------------------------

my $clock = FakedClock->new('instant', "flakeid.max_clock_wait = '1h'\n");
my $node = $clock->node;
my $ledger = Ledger->new('instant');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
# The state begins while the clock is right.
$ledger->use_all($node);
# The moment is within a tick of every ID type: in the middle of guid's, and 0.3 ms or nearly so
# after the beginning of the others'.
my $nanos = int(time() + 1) * $second + 500_300_000;
$nanos += 65_536 - $nanos % 131_072;
$clock->stand_still($nanos / $second);
$ledger->use_all($node);
$node->stop;
my $state = state_of($node);
# The clock reads whole microseconds. ID types with one timeline share a horizon: it is that of the
# latest tick, which is that of uuidv7, the shortest.
my $read = sprintf('%.0f', $nanos / 1000) * 1000;
for my $id_type (@ID_TYPES) {
	my ($latest) = sort { $b <=> $a }
	  map { tick_at($_, $read) } $id_type->{turns} ? $id_type : grep { !$_->{turns} } @ID_TYPES;
	is( horizon_of($state, $id_type, 0),
		$latest + 1,
		"a stop writes the last tick of $id_type->{name}, to the nanosecond");
}

$clock->start;
my $active = "state = 'active' AND application_name = 'asks' AND query LIKE 'COPY%'";
# A tick of uuidv7 is hardly longer than the least step between moments.
my %ticks = map { $_->{tick} => 1 } grep { $_->{name} ne 'uuidv7' } @ID_TYPES;
for my $tick (sort { $a <=> $b } keys %ticks) {
	my @id_types = grep { $_->{tick} == $tick } @ID_TYPES;
	my $names = join ', ', map { $_->{name} } @id_types;
	my @waiting = map { session($node) } @id_types;
	for my $i (0 .. $#id_types) {
		my $ask = "COPY (SELECT '$id_types[$i]{name}', $id_types[$i]{next}) TO STDOUT;";
		$waiting[$i]->query_safe("SET application_name = 'asks'");
		$waiting[$i]->query_until(qr/asks/, "\\echo asks\n$ask\n");
	}
	# A session looks at the clock while it waits for so short a tick.
	my $how = $tick < 200_000 ? $active : "$active AND wait_event_type = 'Extension'";
	my $count = 'SELECT count(*) FROM pg_stat_activity WHERE';
	ok( $node->poll_query_until('postgres', "$count $how", scalar @id_types),
		"after a start in the same tick the first of $names waits for the next tick");
	is( $node->safe_psql('postgres', "$count $active"),
		scalar @id_types,
		"the next tick of $names does not come while the clock stands still");
	$nanos += $tick;
	$clock->stand_still($nanos / $second);
	my @early;

	for my $i (0 .. $#id_types) {
		my ($id) = $ledger->enter($waiting[$i]->query_safe(''));
		my ($time) = times_of($node, $id_types[$i], $id);
		push @early, $id_types[$i]{name} if $time < horizon_of($state, $id_types[$i], 0);
		$waiting[$i]->quit;
	}
	is("@early", '', "in the next tick the first of $names is after the last before the stop");
}
$node->stop;
$clock->stand_still($nanos / $second + 0.004);
$clock->start;
$ledger->all_generate($node, 'after a start a tick later all ID types generate IDs at once');
is($ledger->twice, '', 'no ID repeats in the same tick');
$clock->step(0);
$node->stop;

# a server that is not asked ---------------------------------------------------------------------

# Returns what can be seen of the file from outside, and what it says.
sub seen {
	my @stat = stat state_path($node);
	return join ' ', @stat[ 1, 9 ], state_text($node);
}

$node = PostgreSQL::Test::Cluster->new('idle');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.horizon_lead = '100ms'\n");
$node->start;
$ledger = Ledger->new('idle');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is(error_of($node, "SELECT flake_min('2026-01-01'), sno_min('2026-01-01'), flake_next_batch(0)"),
	'', 'a server that never generated an ID reads IDs');

for my $time ('first', 'second') {
	$node->stop;
	ok(!-e $node->data_dir . '/flakeid', "such a server leaves no state at its $time stop");
	$node->start;
}
$ledger->use_all($node);
my $seen = seen();
sleep 1;
is(seen(), $seen, 'while no session asks the server writes nothing');
$node->restart;
$node->safe_psql('postgres', 'SELECT 1');
$seen = seen();
sleep 0.5;
$node->stop;
is(seen(), $seen, 'a server that was asked nothing writes nothing when it stops');
$node->start;
$node->safe_psql('postgres', 'SELECT 1');
is(seen(), $seen, 'a server writes nothing when it starts');
$ledger->all_generate($node, 'after such stops all ID types generate IDs');
isnt(seen(), $seen, 'the server writes its horizon with the first ID');
is($ledger->twice, '', 'no ID repeats on a server that was not asked');
$node->stop;

# single-user mode -------------------------------------------------------------------------------

my $out = '';
my $script = join '',
  map { "SELECT '$_->{name}' AS id_type, $_->{next}::text AS id FROM generate_series(1, 10)\n" }
  @ID_TYPES;
IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ],
	'<', \$script, '>', \$out, '2>', '/dev/null');
my @given = $out =~ /id_type = "(\w+)".*?id = "([^"]+)"/gs;
is( $ledger->enter(join "\n", map { "$given[2 * $_]\t$given[2 * $_ + 1]" } 0 .. @given / 2 - 1),
	10 * @ID_TYPES,
	'a server in single-user mode generates IDs');
is(state_of($node)->{server}, 'stopped', 'single-user mode ends in good order');
$node->start;
$ledger->use_all($node);
is($ledger->twice, '', 'no ID of single-user mode repeats');
$node->stop;
done_testing();
