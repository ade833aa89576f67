# A standby that is promoted before it has replayed a watermark: snapshots and cursors from before
# the promotion get an error, later ones have a watermark.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('promotion_primary', '', allows_streaming => 1);
my $standby = standby_of($node, 'promotion_standby');
$node->wait_for_catchup($standby);
like(error_of($standby, 'SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark())'),
	qr/55000/, 'a condition on a standby without a watermark is an error');

my ($old, $new, $cursor) = map { session($standby) } 1 .. 3;
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
$cursor->query_safe('BEGIN; DECLARE calls CURSOR FOR SELECT flakeid_watermark()');
$standby->promote;
my $error = qr/ERROR:  55000: /;
like(error_in($old, 'SELECT flakeid_watermark()'),
	$error, 'a snapshot from before a promotion has no watermark');
$old->query_safe('ROLLBACK');
is(error_in($old, 'SELECT flakeid_watermark()'),
	'', 'the next snapshot of a session from before a promotion has a watermark');
like(error_in($cursor, 'FETCH 1 FROM calls'),
	$error, 'a cursor from before a promotion has no watermark');
$cursor->query_safe('ROLLBACK');
passes($new, clock_in($new), 'the watermark follows the clock after a promotion');
$new->query_safe('BEGIN');
my $time = insert_into($new, $FLAKE);
is_held($old, $time, 'an open transaction holds the watermark after a promotion');
$new->query_safe('COMMIT');
passes($old, $time, 'the end of the transaction lets the watermark pass after a promotion');
$_->quit for $old, $new, $cursor;
$_->stop for $standby, $node;
done_testing();
