# The clock was ten minutes ahead while sessions generated IDs of all types, and has been set right.
# The first aid of docs/failover.md holds: its query tells how far IDs are ahead, and other
# generator IDs bring flakes, snos and uniqueids back. flake128 and guid have one cell, and wait for
# the clock.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Leases qw(lease_becomes wait_for_lease);
use FakedClock;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $AHEAD = 600;
my $clock = FakedClock->new('ahead_recovery',
	"flakeid.generator_ids = '0'\nflakeid.max_clock_wait = '100ms'\n");
my $node = $clock->node;
my $ledger = Ledger->new('ahead_recovery');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');


# The page's query: one of the blocks that failover.md has under its first aid.
my $page = slurp_file('docs/failover.md');
my ($section) = $page =~ /^### First aid\n(.*?)^### /ms  or die 'failover.md has no first aid';
my ($query, $aid) = $section =~ /^```sql\n(.*?)^```$/msg or die 'the first aid has no SQL';
like($aid, qr/flakeid\.generator_ids/, 'the page names the setting');

my @before = map { session($node) } 1 .. 3;
my @idle = map { session($node) } 1 .. 3;
is($ledger->ask_in($before[0], $_, 10), '', "while the clock is right there are $_->{name} IDs")
  for @ID_TYPES;
$clock->step($AHEAD);
my $last_at = time();
# More than a tick of the one generator ID holds.
for my $session (@before) {
	$last_at = time();
	is($ledger->ask_in($session, $_, $_->{numbers} + 1_000),
		'', "while the clock is ahead there are $_->{name} IDs")
	  for @ID_TYPES;
}
use_all_lanes($node);
$clock->step(0);

# Until the operator acts.
for my $id_type (@ID_TYPES) {
	my $ahead = $node->safe_psql('postgres',
		"SELECT extract(epoch FROM ahead) FROM ($query) AS told WHERE id_type = '$id_type->{name}'"
		  =~ s/;//r);
	# The clock has gone on since the last IDs, by no more than has passed until now.
	my $least = $AHEAD - 1 - (time() - $last_at);
	ok($ahead > $least && $ahead < 660,
		"the query tells how far the last $id_type->{name} IDs are ahead")
	  or diag("$ahead s, and at least $least s");
}
# A session passes over a generator ID that is ahead, also when the other has none left in a tick.
reload_with($node, generator_ids => '0-1');
my @beside = map { session($node) } 1, 2;
for my $session (@beside) {
	for my $id_type (@WITH_GENERATOR_IDS) {
		is(join('', map { $ledger->ask_in($session, $id_type, $_) } 10_000, 1),
			'', "a session passes over a generator ID that is ahead, and has $id_type->{name} IDs");
	}
}
$_->quit for @beside;
reload_with($node, generator_ids => '0');

# Of one session that used them and one that didn't.
for my $session ($before[0], $idle[0]) {
	is($ledger->ask_in($session, $_, 10), '', "when the clock is right again, sno continues")
	  for grep { $_->{turns} } @ID_TYPES;
	like(
		$ledger->ask_in($session, $_, 70_000),
		qr/ERROR:  58000: the clock is [\d.]+ s behind the last $_->{name} ID/,
		"when the clock is right again there are no $_->{name} IDs"
	) for grep { !$_->{turns} } @ID_TYPES;
}

# The first aid.
$node->safe_psql('postgres', $aid);
my ($ids) = $aid =~ /generator_ids = '([^']*)'/;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.generator_ids') = '$ids'")
  or die 'the setting does not come';
my $new = session($node);
for my $id_type (@WITH_GENERATOR_IDS) {
	is($ledger->ask_in($_, $id_type, 10_000),
		'', "with other generator IDs sessions continue with $id_type->{name} IDs")
	  for $new, @idle;
	next if $id_type->{turns};
	like(
		$ledger->ask_in($_, $id_type, 70_000),
		qr/ERROR:  58000/,
		"a session that has $id_type->{name} IDs of that time gets an error, as its IDs increase"
	) for @before;
}
for my $id_type (@WITHOUT_GENERATOR_IDS) {
	like(
		$ledger->ask_in($_, $id_type, 70_000),
		qr/ERROR:  58000/,
		"with other generator IDs sessions do not continue with $id_type->{name} IDs"
	) for $new, $idle[1], $before[1];
}
reload_with($node, guid_node => 'another', interface => '02:00:00:00:00:77');
for my $id_type (@WITHOUT_GENERATOR_IDS) {
	like(
		$ledger->ask_in($_, $id_type, 70_000),
		qr/ERROR:  58000/,
		"with another node and worker there are no $id_type->{name} IDs"
	) for $new, $idle[2], $before[2];
}

# Those that fail are ended, and connect again.
my ($ending) = $section =~ /^```sql\n(SELECT pg_terminate_backend.*?)^```$/ms
  or die 'the first aid ends no sessions';
# A session of an earlier statement of this test may still be ending.
cmp_ok($node->safe_psql('postgres', $ending) =~ tr/t//,
	'>=', 7, 'the first aid ends the sessions of the application');
$_->{run}->finish for $new, @idle, @before;
($new, @before) = map { session($node) } 1 .. 4;
@idle = ();
is($ledger->ask_in($_, $WITH_GENERATOR_IDS[0], 10_000),
	'', 'sessions that have connected again continue with flake IDs')
  for $new, @before;
is($ledger->ask_in($_, $WITH_GENERATOR_IDS[2], 100),
	'', 'sessions that have connected again continue with uniqueid IDs')
  for $new, @before;

# Back to the first generator IDs, when the clock has come past their last IDs.
$clock->step($AHEAD + 30);
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT max(last_tick_at) < clock_timestamp() FROM pg_stat_flakeid WHERE id_type <> 'sno'
	SQL
	't',
	'the query tells when the clock has come there');
for my $id_type (@ID_TYPES) {
	is($ledger->ask_in($_, $id_type, 10),
		'', "when the clock has come there all sessions have $id_type->{name} IDs")
	  for $new, @idle, @before;
}
like($section, qr/`ALTER SYSTEM RESET flakeid\.generator_ids`/, 'the page resets the setting');
$node->safe_psql('postgres', <<~'SQL');
	ALTER SYSTEM RESET flakeid.generator_ids;
	SELECT pg_reload_conf()
	SQL
$node->poll_query_until('postgres', <<~'SQL') or die 'the first generator IDs do not come back';
	SELECT setting = '0' AND sourcefile LIKE '%/postgresql.conf' FROM pg_settings
	WHERE name = 'flakeid.generator_ids'
	SQL
for my $id_type (@ID_TYPES) {
	is($ledger->ask_in($_, $id_type, 10_000),
		'', "with the first generator IDs all sessions have $id_type->{name} IDs")
	  for $new, @idle, @before;
}
is($ledger->twice, '', 'no ID repeats');
$_->quit for $new, @idle, @before;

# The state file has one horizon for all generator IDs.
reload_with($node, generator_ids => '5');
$node->stop;
$clock->step(0);
$clock->start;
like(
	error_of($node, "SELECT $_->{next}"),
	qr/ERROR:  58000: the clock is [\d.]+ (?:s|min) behind/,
	"after a restart a generator ID of $_->{name} that was never used waits, too"
) for grep { !$_->{turns} } @WITH_GENERATOR_IDS;
$node->stop;

# Where generator IDs are leased, those that the server holds are taken out of its pool.
my $etcd = Etcd->new('ahead_recovery');
$node = $etcd->server('leased', generator_ids => 'etcd:2', etcd_pool => '64-1023');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my ($greatest) = sort { $b <=> $a } split / /, wait_for_lease($node, 2);
my $first = $greatest + 1;
reload_with($node, etcd_pool => "$first-1023");
ok( lease_becomes(
		$node,
		"cardinality(generator_ids) = 2 AND $first <= ALL (generator_ids) AND state = 'held'"),
	'another pool brings other generator IDs');
is(error_of($node, 'SELECT flake_next(), sno_next(), uniqueid_next()'),
	'', 'a server with another pool generates IDs');
$node->stop;
done_testing();
