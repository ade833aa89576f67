# Thousands of transactions are prepared and end, beside a snapshot that sees none of them. The list
# in memory forgets the oldest. The watermark of new snapshots does not fall for that, and that of
# the old snapshot stays right.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use Test::More;
use Watermark;

# The list has room for 1024 that have ended, and for each connection.
my ($ROUNDS, $EACH) = (24, 125);

my $server =
  Prepared->new('list', settings => "max_connections = 20\nmax_prepared_transactions = 20");
my ($writer, $observer, $old) = ($server->writer, $server->observer, $server->other);

$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
my $first = insert_into($writer, $FLAKE);
my ($seen, $falls, $early) = (watermark_in($observer), 0, 0);
my $note = sub {
	my $now = watermark_in($observer);
	$falls++ if $now < $seen;
	return $seen = $now;
};
for my $round (1 .. $ROUNDS) {
	$writer->query_safe(join '', map { <<~"SQL" } 1 .. $EACH);
		BEGIN; INSERT INTO flakes DEFAULT VALUES; PREPARE TRANSACTION 'some $_';
		COMMIT PREPARED 'some $_';
		SQL
	my $time = $server->prepare('held');
	clock_passes($observer, $time);
	$early++ if $note->() > $time;
	$server->finish('held');
	$note->();
}
is($falls, 0, 'the watermark of new snapshots does not fall');
is($early, 0, 'each prepared transaction holds the watermark');
is( $observer->query_safe('SELECT count(*) FROM flakes'),
	1 + $ROUNDS * ($EACH + 1),
	'all transactions have committed');
cmp_ok(watermark_in($old), '<=', $first,
	'the old snapshot sees none of them, and its watermark is before the first');
passes($observer, clock_in($observer), 'the watermark of new snapshots goes on beside the old one');
$old->query_safe('COMMIT');
passes($old, clock_in($old), 'when the old snapshot has ended its session has the new watermark');
$server->stop('fast');

done_testing();
