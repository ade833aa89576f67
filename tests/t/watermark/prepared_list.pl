# Thousands of transactions are prepared and end, beside a snapshot that sees none of them. The list in memory forgets the
# oldest, the watermark of new snapshots does not fall for that, and that of the old snapshot stays right.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

# The list has room for 1024 that have ended, and for each connection.
my ($ROUNDS, $EACH) = (24, 125);

my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my $node = PostgreSQL::Test::Cluster->new('list');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nlog_statement = none\nmax_prepared_transactions = 20\nmax_connections = 20\n"
);
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE flakes (id bigint PRIMARY KEY DEFAULT flake_next())');
my ($writer, $observer, $old) = map { session($node) } 1 .. 3;

$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
my $first = insert_into($writer, $flake);
my ($seen, $falls, $early) = (watermark_in($observer), 0, 0);
for my $round (1 .. $ROUNDS) {
	$writer->query_safe(
		join ';',
		map {
			"BEGIN; INSERT INTO flakes DEFAULT VALUES; PREPARE TRANSACTION 'some $_'; COMMIT PREPARED 'some $_'"
		} 1 .. $EACH);
	my $time =
	  $writer->query_safe('BEGIN; ' . insertion_of($flake) . "; PREPARE TRANSACTION 'held'");
	clock_passes($observer, $time);
	for my $end ('', "COMMIT PREPARED 'held'") {
		$observer->query_safe($end) if $end;
		my $now = watermark_in($observer);
		$falls++ if $now < $seen;
		$early++ if !$end && $now > $time;
		$seen = $now;
	}
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
$_->quit for $writer, $observer, $old;
$node->stop;

done_testing();
