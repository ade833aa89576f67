# Thousands of transactions are prepared and end: alone, beside a transaction that is open, and
# beside a snapshot that sees none of them. The list in memory forgets the oldest. The watermark of
# new snapshots does not fall for that, and that of the old snapshot stays right. More transactions
# than may be prepared at once hold nothing.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use Server;
use Test::More;
use Watermark;

my $server =
  Prepared->new('list', settings => "max_connections = 20\nmax_prepared_transactions = 20");
my ($writer, $observer, $other) = ($server->writer, $server->observer, $server->other);

# Each transaction has ended before the next one is prepared, and they are more than can be prepared
# at the same time. The list has room for 1024 that have ended, and for each connection.
my ($EACH, $committed) = (125, 0);
for my $case (
	[ 'alone', '', 4 ],
	[ 'beside an open transaction without IDs', 'BEGIN; CREATE TABLE beside ()', 4 ],
	[
		'beside an old snapshot',
		'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes', 24
	])
{
	my ($beside, $begin, $rounds) = @$case;
	my $test = "transactions are prepared and end, $beside";
	$other->query_safe($begin);
	my $first = insert_into($writer, $FLAKE);
	$committed++;
	my ($seen, $early, @falls) = (watermark_in($observer), 0);
	my $look = sub {
		my $now = watermark_in($observer);
		push @falls, "from $seen to $now" if $now < $seen;
		return $seen = $now;
	};
	for my $round (1 .. $rounds) {
		$writer->query_safe(join '', map { <<~"SQL" } 1 .. $EACH);
			BEGIN; INSERT INTO flakes DEFAULT VALUES; PREPARE TRANSACTION 'some $_';
			COMMIT PREPARED 'some $_';
			SQL
		my $time = $server->prepare('held');
		clock_passes($observer, $time);
		$early++ if $look->() > $time;
		my $is_committed = $round % 3;
		$server->finish('held', $is_committed ? 'COMMIT' : 'ROLLBACK');
		$committed += $EACH + ($is_committed ? 1 : 0);
		$look->();
	}
	is("@falls", '', "$test: the watermark of new snapshots does not fall");
	is($early, 0, "$test: each holds the watermark");
	is($observer->query_safe('SELECT count(*) FROM flakes'),
		$committed, "$test: all rows that were committed are there");
	cmp_ok(watermark_in($other), '<=', $first,
		'the old snapshot sees none of them, and its watermark is before the first')
	  if $beside =~ /snapshot/;
	passes($observer, clock_in($observer), "$test: at the end nothing holds the watermark");
	next unless $begin;
	$other->query_safe('ROLLBACK');
	passes($other, clock_in($other), "$test: then its session has the new watermark");
}

$writer->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");
my @full = map { "full $_" } 2 .. 20;
$server->prepare($_) for @full;
$writer->query_safe('BEGIN');
my $time = insert_into($writer, $FLAKE);
like(error_in($writer, "PREPARE TRANSACTION 'too many'"),
	qr/53200/, 'a transaction above the limit is not prepared');
$server->finish($_, 'ROLLBACK') for @full;
passes($observer, $time, 'that transaction does not hold the watermark');
$server->stop('fast');

done_testing();
