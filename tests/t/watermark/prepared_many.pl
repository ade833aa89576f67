# A hundred prepared transactions end in any order, with restarts and crashes in between: the
# earliest holds the watermark, which does not fall, and a reader reads every row once. More
# transactions than may be prepared at once hold nothing.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use List::Util qw(min shuffle);
use Prepared;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;
use Watermark;

my $server = Prepared->new('many');
$server->writer->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");

subtest 'a hundred prepared transactions' => sub {
	my %time = map { ("many $_" => $server->prepare("many $_")) } 1 .. 100;
	# Each of them holds the watermark at its ID or before.
	my %bound = map { split /\|/ } split /\n/, $server->held_by;
	my $is_held_by_first = sub {
		my ($test) = @_;
		local $Test::Builder::Level = $Test::Builder::Level + 1;
		return is_held($server->observer, min(values %time), $test);
	};
	$is_held_by_first->('the first of a hundred holds the watermark');
	my $count = 'SELECT count(*), count(DISTINCT gid) FROM pg_stat_flakeid_watermark';
	is($server->observer->query_safe($count), '100|100', 'all of the hundred are in the view');
	$server->restart('fast');
	$is_held_by_first->('the first of a hundred holds the watermark after a restart, too');

	my @read;
	my $read_more = sub {
		my $last = $read[-1] // -1;
		push @read, split /\n/, $server->observer->query_safe(<<~"SQL");
			SELECT id FROM flakes WHERE id > $last AND flake_before(id, flakeid_watermark())
			ORDER BY id
			SQL
	};
	my @gids = shuffle(sort keys %time);
	my ($seen, $falls) = (watermark_in($server->observer), 0);
	for my $nr (0 .. $#gids) {
		my $gid = $gids[$nr];
		$server->finish($gid, $nr % 3 ? 'COMMIT' : 'ROLLBACK');
		my $ended = delete $time{$gid};
		delete $bound{$gid};
		passes($server->observer, $ended, 'the watermark goes on when the first has ended')
		  if %time && $ended < min(values %bound);
		$is_held_by_first->('the next one holds the watermark when the first has ended')
		  if %time && $ended < min(values %time);
		my $now = watermark_in($server->observer);
		$falls++ if $now < $seen;
		$seen = $now;
		$read_more->();
		$server->restart($nr % 50 == 24 ? 'fast' : 'kill') if $nr % 25 == 24;
	}
	is($falls, 0, 'the watermark does not fall while the hundred end');
	passes(
		$server->observer,
		clock_in($server->observer),
		'nothing holds the watermark when all of the hundred have ended');
	$read_more->();
	is( join("\n", @read),
		$server->observer->query_safe('SELECT id FROM flakes ORDER BY id'),
		'a reader beside the hundred has read every row once, in order');
	is($server->held_by, '', 'the view is empty when all of the hundred have ended');
};

subtest 'more transactions than can be prepared' => sub {
	my @full = map { "full $_" } 2 .. 120;
	$server->prepare($_) for @full;
	$server->writer->query_safe('BEGIN');
	my $time = insert_into($server->writer, $FLAKE);
	like(error_in($server->writer, "PREPARE TRANSACTION 'too many'"),
		qr/53200/, 'a transaction above the limit is not prepared');
	$server->finish($_, 'ROLLBACK') for @full;
	passes($server->observer, $time, 'that transaction does not hold the watermark');
	$server->finish('no IDs', 'ROLLBACK');
};

# Each transaction has ended before the next one is prepared. They are more than can be prepared at
# the same time.
my ($count, $observer) = (130, $server->observer);
for my $beside ('', 'BEGIN; CREATE TABLE beside ()') {
	my $test = "$count transactions are prepared and end, "
	  . ($beside ? 'beside an open transaction without IDs' : 'alone');
	$server->other->query_safe($beside);
	my ($seen, $early, @falls) = (watermark_in($observer), 0);
	my $look = sub {
		my $now = watermark_in($observer);
		push @falls, "from $seen to $now" if $now < $seen;
		$seen = $now;
		return $now;
	};
	for my $nr (1 .. $count) {
		my $time = $server->prepare("after another $nr");
		# Without this a watermark that nothing holds would not be past the ID yet.
		clock_passes($observer, $time) if $nr % 5 == 0;
		$early++ if $look->() > $time;
		$server->finish("after another $nr", $nr % 3 ? 'COMMIT' : 'ROLLBACK');
		$look->();
	}
	is($early, 0, "$test: each holds the watermark");
	is("@falls", '', "$test: the watermark does not fall");
	passes($observer, clock_in($observer), "$test: at the end nothing holds the watermark");
	$server->other->query_safe('ROLLBACK') if $beside;
}
$server->stop('fast');

done_testing();
