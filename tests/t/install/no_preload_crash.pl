# Without preloading, from PostgreSQL 17 on, no ID repeats over a crash, an immediate stop, and a
# clock that is stepped back over a restart.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use Server;
use StateFile;
use Test::More;

plan skip_all => 'up to PostgreSQL 16 there are no IDs without preloading'
  if `pg_config --version` =~ /^PostgreSQL 1[0-6]\b/;

my ($flake, $sno) = @ID_TYPES;
my $node = PostgreSQL::Test::Cluster->new('no_preload_crash');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
restart_after_crash = on
log_statement = none
flakeid.generator_ids = '3'
flakeid.max_clock_wait = 0
flakeid.horizon_lead = '20s'
END
my $clock = FakedClock->of_node($node);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $ledger = Ledger->new('no_preload_crash');

my $offset = 10_000;
for my $round (1 .. 2) {
	$offset += 100;
	$clock->step($offset);
	$ledger->crowd($node, ways => [ 'single', 'batch' ]);
	$ledger->wait_until_given(0.1);
	my $pid = $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'crowd' LIMIT 1");
	kill 'KILL', $pid;
	$ledger->has_gone or die 'the sessions have not gone';
	$ledger->dispersed;
	wait_for_server($node);
	my $state = state_of($node);
	$offset += 21;
	$clock->step($offset);

	for my $id_type (@ID_TYPES) {
		my $name = $id_type->{name};
		my ($error, @ids) = $ledger->ask($node, $id_type, 1000);
		is($error, '', "$name: after a crash there are IDs once the clock has passed the horizon")
		  or next;
		my ($earliest) = times_of($node, $id_type, @ids);
		my $bit = $id_type->{turns} ? timelines_of($node, $id_type, @ids) : 0;
		cmp_ok(
			$earliest, '>=',
			horizon_of($state, $id_type, $bit),
			"$name: after a crash IDs are above the stored horizon");
	}
	is($ledger->twice, '', "no ID repeats over crash $round");
}

# With the least lead.
reload_with($node, horizon_lead => '1s');
$offset += 100;
$clock->step($offset);
$ledger->crowd($node);
$ledger->wait_until_given(0.1);
$node->stop('immediate');
$ledger->dispersed;
$clock->start;

for my $id_type (@ID_TYPES) {
	my ($error) = $ledger->ask($node, $id_type, 1000);
	is($error, '', "$id_type->{name}: after an immediate stop there are IDs");
}
is($ledger->twice, '', 'no ID repeats over an immediate stop');

subtest 'the clock is stepped back over a restart' => sub {
	$offset += 20_000;
	$clock->step($offset);
	my %last = map { $_->{name} => ($ledger->ask($node, $_, 10))[-1] } @ID_TYPES;
	$node->stop;
	$clock->step($offset - 3600);
	$clock->start;
	my $behind = qr/ERROR:  58000: the clock is (?:5\d|60) min behind the last flake ID/;
	like(error_of($node, 'SELECT flake_next()'), $behind, 'flake has no IDs');
	my $before = $clock->time_of_server;
	my ($error, @ids) = $ledger->ask($node, $sno, 1000);
	my $after = $clock->time_of_server;
	is($error, '', 'sno has IDs');
	is( timelines_of($node, $sno, @ids),
		1 - timelines_of($node, $sno, $last{sno}),
		'they are in the other timeline');
	my $latest = (times_of($node, $sno, @ids))[1] / 1_000_000_000;
	ok($latest > $before - 0.005 && $latest <= $after, 'they are of the present')
	  or diag("$before $latest $after");
	like(error_of($node, 'SELECT flake_next()'), $behind, 'flake still has no IDs');
	$clock->step($offset + 10);

	for my $id_type (@ID_TYPES) {
		my ($late) = $ledger->ask($node, $id_type, 1000);
		is($late, '', "$id_type->{name}: when the clock has caught up there are IDs");
	}
	is($ledger->twice, '', 'no ID repeats through all of it');
};
$node->stop;

done_testing();
