# While the clock stands still, a generator ID has 64 uniqueids, no more and no fewer. In the next
# millisecond it has as many again. Sessions and modes share them.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Server;
use Test::More;

my $clock = FakedClock->new('tick', <<~'END');
	flakeid.max_clock_wait = 0
	flakeid.horizon_lead = '10min'
	autovacuum = off
	END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE ids (id uniqueid); SELECT uniqueid_next()');

my $moment = int(time()) + 20.0005;
for my $case (
	map {
		my $mode = $_;
		map { ([ $mode, 1, @$_ ], [ $mode, 2, @$_ ]) }[ '5', 64 ], [ '0-7', 512 ]
	} 'time_sequential',
	'spread')
{
	my ($mode, $count, $generator_ids, $numbers) = @$case;
	my $what = "$mode uniqueids of generator ID $generator_ids, sessions: $count";
	reload_with($node, generator_ids => $generator_ids);
	my @sessions = map { session($node) } 1 .. $count;
	$node->safe_psql('postgres', 'TRUNCATE ids');
	$moment += 1;
	my @refused;

	for my $tick (0, 1) {
		$clock->stand_still($moment + $tick / 1000);
		$_->query_safe("INSERT INTO ids SELECT uniqueid_next_batch($numbers / $count, '$mode')")
		  for @sessions;
		push @refused, grep { /ERROR:  58000: the clock is [\d.]+ ms behind/ }
		  map { error_in($_, "SELECT uniqueid_next('$mode')") } @sessions;
	}
	is(scalar @refused, 2 * $count, "a millisecond has no more than $numbers $what");
	is( $node->safe_psql('postgres', <<~'SQL'), join('|', 2 * $numbers, $numbers, $numbers, 2),
		SELECT count(DISTINCT id), min(n), max(n), count(DISTINCT at)
		FROM (SELECT id, uniqueid_timestamp(id) AS at,
				count(*) OVER (PARTITION BY uniqueid_timestamp(id)) AS n
			FROM ids) AS ids
		SQL
		"each of two milliseconds has $numbers distinct $what");
	is( $node->safe_psql('postgres', <<~'SQL'), 't|' . $numbers / 32,
		SELECT bool_and(n = 64 AND first = 0 AND last = 63), count(*)
		FROM (SELECT count(DISTINCT sequence) AS n, min(sequence) AS first, max(sequence) AS last
			FROM ids, uniqueid_decode(id) GROUP BY created_at, generator_id) AS of_one
		SQL
		"each generator ID has every number in a millisecond: $what");
	$_->quit for @sessions;
}

$node->stop;
done_testing();
