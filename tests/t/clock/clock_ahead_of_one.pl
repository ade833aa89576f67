# A clock that was ahead while one generator ID was used, and has been set right: sessions that
# begin at that generator ID continue with another, which is not ahead. After a restart there is no
# such other one: the state file has one horizon for all generator IDs.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Server;
use Test::More;

my $clock = FakedClock->new('ahead_of_one',
	"flakeid.generator_ids = '0-1'\nflakeid.max_clock_wait = '100ms'\n");
my $node = $clock->node;
my $ledger = Ledger->new('ahead_of_one');
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; SELECT flake_next(), sno_next(), uniqueid_next()');

my @all = map { session($node) } 1 .. 16;
my %home;
push @{ $home{ $_->query_safe("SELECT flakeid_identity() ->> 'home_generator_id'") } }, $_ for @all;
for my $ahead (0, 1) {
	cmp_ok(scalar(@{ $home{$ahead} }), '>=', 4, "sessions begin at generator ID $ahead");
}
$clock->step(7200);
# Those of uniqueid are taken in turn, so a single one is of one generator ID.
is($ledger->ask_in($home{1}[0], $_, $_->{name} eq 'uniqueid' ? 1 : 10),
	'', "while the clock is ahead a session uses one generator ID of $_->{name}")
  for @WITH_GENERATOR_IDS;
$clock->step(0);
for my $home (0, 1) {
	for my $session (@{ $home{$home} }[ 1, 2, 3 ]) {
		for my $id_type (@WITH_GENERATOR_IDS) {
			# More than a tick holds.
			is($ledger->ask_in($session, $id_type, 10_000),
				'', "when the clock is right again a session of ID $home has $id_type->{name} IDs");
			my $again = $ledger->ask_in($session, $id_type, 1);
			is($again, '', "a session of generator ID $home continues with $id_type->{name} IDs");
		}
	}
}
my $late = $node->safe_psql('postgres', "SELECT (flake_decode(flake_next())).worker");
is($late, '0', 'new flakes have the generator ID that is not ahead');
# The session that had IDs of the time to come has none: its IDs would not rise.
like(
	$ledger->ask_in($home{1}[0], $WITH_GENERATOR_IDS[0], 10_000),
	qr/58000: the clock is 1\d\d min behind/,
	'the session that has used the other generator ID waits, as its IDs rise');
$clock->step(7300);
is($ledger->ask_in($_, $WITH_GENERATOR_IDS[0], 10_000),
	'', 'when the clock gets there all sessions have IDs')
  for @{ $home{0} }[ 1, 2 ], @{ $home{1} }[ 0, 1, 2 ];
is($ledger->twice, '', 'no ID repeats');
$_->quit for @all;

# after a restart --------------------------------------------------------------------------------

$clock->step(0);
$node->append_conf('postgresql.conf', "flakeid.generator_ids = '5'\n");
$node->stop;
$clock->start;
like(
	error_of($node, "SELECT $_->{next}"),
	qr/58000: the clock is 1\d\d min behind/,
	"after a restart a generator ID of $_->{name} that was never used waits, too"
) for grep { $_->{name} =~ /^(?:flake|uniqueid)$/ } @WITH_GENERATOR_IDS;
$clock->step(7400);
is(error_of($node, "SELECT $_->{next}"),
	'', "after a restart there are $_->{name} IDs when the clock gets there")
  for @WITH_GENERATOR_IDS;
$node->stop;
done_testing();
