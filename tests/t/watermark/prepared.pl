# A prepared transaction holds the watermark from its first ID until another session ends it. A
# snapshot that does not see its end has a watermark that it still holds. A prepared transaction
# without IDs holds nothing.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Prepared;
use Test::More;
use Watermark;

my $server = Prepared->new('prepared');
my ($writer, $other, $observer) = ($server->writer, $server->other, $server->observer);

ok(!-e $server->file,
	'before the first call there is no file that says that a watermark was reported');
my $early = $server->prepare('early');
is_held($observer, $early,
	'a transaction that was prepared before the first call holds the watermark');
cmp_ok(watermark_in($observer),
	'>', 0, 'a transaction that was prepared before the first call holds it at its own time');
$server->finish('early');
passes($observer, $early, 'the watermark passes its ID when it has ended');
passes($observer, clock_in($observer), 'the watermark goes on then');
ok(-e $server->file, 'the first call creates the file');
is(sprintf('%o', (stat $server->file)[2] & 07777), '600', 'the server alone can read the file');

sub is_held_until {
	my ($id_type, $end) = @_;
	my $before = watermark_in($observer);
	my $time = $server->prepare('one', $id_type);
	is_held($observer, $time, 'the prepared transaction holds the watermark');
	my $held = watermark_in($observer);
	cmp_ok($held, '>=', $before, 'the watermark does not fall when the transaction is prepared');
	my $row = $observer->query_safe(<<~'SQL');
		SELECT pid IS NULL, gid, xid = (SELECT transaction FROM pg_prepared_xacts), database,
			first_id_at IS NOT NULL
		FROM pg_stat_flakeid_watermark
		SQL
	is($row, 't|one|t|postgres|t', 'the view names the transaction');
	is($server->held_by, "one|$held", 'the view says where the transaction holds the watermark');
	my $later = insert_into($writer, $id_type);
	is_held($observer, $time, 'it is held also when the same session commits another transaction');
	$other->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
	$server->finish('one', $end);
	passes($observer, $later, "the watermark goes on after $end PREPARED in another session");
	is_held($other, $time, 'a snapshot from before that has a watermark that is held');
	$other->query_safe('COMMIT');
	passes($other, $later, 'the session with that snapshot goes on with its next transaction');
	is($server->held_by, '', 'the view is empty when the transaction has ended');
	return;
}
for my $id_type (@ID_TYPES) {
	for my $end ('COMMIT', 'ROLLBACK') {
		subtest
		  "$id_type->{name}: a prepared transaction holds the watermark until $end PREPARED" =>
		  sub { is_held_until($id_type, $end) };
	}
}

$writer->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");
passes($observer, clock_in($observer),
	'a prepared transaction without an ID does not hold the watermark');
is($server->held_by, '', 'a prepared transaction without an ID is not in the view');

$writer->query_safe('BEGIN; SAVEPOINT s');
my $time = insert_into($writer, $FLAKE);
$writer->query_safe(<<~'SQL');
	ROLLBACK TO s; CREATE TABLE rolled_back (); PREPARE TRANSACTION 'rolled back'
	SQL
is_held($observer, $time,
	'a prepared transaction whose IDs were rolled back to a savepoint holds the watermark');
$server->restart('fast');
is_held($server->observer, $time, 'its IDs hold the watermark after a restart, too');
$server->finish('rolled back');
passes($server->observer, $time, 'the watermark goes on when that transaction has ended');
$server->stop('fast');

done_testing();
