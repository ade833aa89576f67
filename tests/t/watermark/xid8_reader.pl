# What reading-in-order.md says of a column of the type xid8, beside the watermark: such a reader
# misses no row. Any open transaction of the cluster with a transaction ID holds it back, where the
# watermark waits for those with an ID.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('xids', <<~'END', allows_streaming => 1);
	max_prepared_transactions = 5
	autovacuum = off
	END
$node->safe_psql('postgres', <<~'SQL');
	CREATE DATABASE other;
	CREATE TABLE by_xid (xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
		id bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (xid, id));
	CREATE TABLE by_flake (id flake PRIMARY KEY DEFAULT flake_next());
	SQL
$node->safe_psql('other', 'CREATE TABLE rows AS SELECT 1 AS nr');
my $standby = standby_of($node, 'standby');

my ($here, $there, $observer) = (session($node), session($node, 'other'), session($node));
my $unread_by_xid =
  'SELECT count(*) FROM by_xid WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())';

# Inserts rows for both readers. Returns how many rows each of them does not get, when the watermark
# would pass the new one.
sub unread {
	$observer->query_safe('INSERT INTO by_xid DEFAULT VALUES');
	my $time = in_micros('flake_timestamp(id)');
	clock_passes($observer,
		$observer->query_safe("INSERT INTO by_flake DEFAULT VALUES RETURNING $time"));
	return join ' ', map { $observer->query_safe($_) } $unread_by_xid,
	  'SELECT count(*) FROM by_flake WHERE id >= flakeid_watermark()';
}

is(unread(), '0 0', 'both readers get all rows while nothing is open');
for my $sql (
	'UPDATE rows SET nr = nr',
	'SELECT FROM rows FOR UPDATE',
	'CREATE TEMP TABLE temporary (nr integer)')
{
	$there->query_safe("BEGIN; $sql");
	is(unread(), '1 0', "$sql in another database holds back the reader by xid8 alone");
	$there->query_safe('ROLLBACK');
}
$there->query_safe("BEGIN; UPDATE rows SET nr = nr; PREPARE TRANSACTION 'other'");
is(unread(), '1 0',
	'a prepared transaction in another database holds back the reader by xid8 alone');
$there->query_safe("COMMIT PREPARED 'other'");
$there->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM rows');
is(unread(), '0 0', 'a transaction that only reads holds back neither reader');
$there->query_safe('COMMIT');
$here->query_safe('BEGIN; SELECT flake_next()');
is(unread(), '0 1',
	'a transaction that has generated an ID and written nothing holds back the watermark alone');
$here->query_safe('COMMIT');

$here->query_safe('BEGIN; INSERT INTO by_xid DEFAULT VALUES');
$observer->query_safe('INSERT INTO by_xid DEFAULT VALUES');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', $unread_by_xid),
	'1', 'on a standby the reader by xid8 does not get what an open transaction can precede');
$here->query_safe('COMMIT');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', $unread_by_xid),
	'0', 'on a standby the reader by xid8 gets all rows when that transaction has ended');

$_->quit for $here, $there, $observer;
$_->stop for $standby, $node;
done_testing();
