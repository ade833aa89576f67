# A reader of a primary continues on the server that takes its place: a standby that is promoted, a
# server recovered from the archive, or one from a backup. There the prepared transactions hold the
# watermark, and the reader misses no row. Snapshots from before a promotion have no watermark.
use strict;
use warnings;
use lib 'tests/perl';

use List::Util qw(min);
use Prepared;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;
use Watermark;

my $server = Prepared->new(
	'primary',
	allows_streaming => 1,
	has_archiving => 1,
	settings => "wal_keep_size = '1GB'");
my ($primary, $observer) = ($server->node, $server->observer);

# A standby of the primary, from a backup. The archive is that of the primary alone.
sub standby {
	my ($name, $backup) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	$standby->append_conf('postgresql.conf', 'archive_mode = off');
	$standby->start;
	return $standby;
}

$primary->backup('before');
$server->prepare('no call');
$server->finish('no call');
my $never = standby('never', 'before');
my $time = $server->prepare('never called');
$primary->wait_for_catchup($never);
like(error_of($never, 'SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark())'),
	qr/55000/, 'a condition on a standby without a watermark is an error');
my ($old, $cursor) = map { session($never) } 1 .. 2;
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
$cursor->query_safe('BEGIN; DECLARE calls CURSOR FOR SELECT flakeid_watermark()');
$never->promote;
my $error = qr/ERROR:  55000: /;
like(error_in($old, 'SELECT flakeid_watermark()'),
	$error, 'a snapshot from before a promotion has no watermark');
$old->query_safe('ROLLBACK');
is(error_in($old, 'SELECT flakeid_watermark()'),
	'', 'the next snapshot of a session from before a promotion has a watermark');
like(error_in($cursor, 'FETCH 1 FROM calls'),
	$error, 'a cursor from before a promotion has no watermark');
$_->quit for $old, $cursor;
my $on_never = session($never);
my $promoted = 'a promoted standby whose primary was never called';
cmp_ok(watermark_in($on_never), '<=', $time, "$promoted: what is prepared holds the watermark");
cmp_ok(watermark_in($on_never), '>', 0, "$promoted: it knows the time of what is prepared");
$on_never->query_safe("COMMIT PREPARED 'never called'");
passes($on_never, $time, "$promoted: the watermark goes on when that has ended");
$on_never->quit;
$never->stop;
$server->finish('never called', 'ROLLBACK');

# What a reader has read on the primary, and then reads on a server that takes over.
my @read;

sub read_in {
	my ($session) = @_;
	my $after = $read[-1] // -1;
	push @read, split /\n/, $session->query_safe(<<~"SQL");
		SELECT id FROM flakes WHERE id > $after AND flake_before(id, flakeid_watermark())
		ORDER BY id
		SQL
	return;
}

# What is prepared when the primary ends, and what was prepared at the later backup. The views have
# where each transaction holds the watermark.
my (%prepared, %of_backup, $view, $view_of_backup);
sub prepare { my ($gid) = @_; $prepared{$gid} = $server->prepare($gid); return }

passes($observer, clock_in($observer), 'the first call on the primary returns a watermark');
prepare($_) for 'before the backup', 'ended';
insert_into($server->other, $FLAKE);
%of_backup = %prepared;
$view_of_backup = $server->held_by;
$primary->backup('after');
prepare($_) for 'after the backup', 'aborted';
$server->finish('ended');
my ($early, $late, $crash) =
  (standby('early', 'before'), standby('late', 'after'), standby('crash', 'after'));
$primary->wait_for_catchup($_) for $early, $late, $crash;
$crash->safe_psql('postgres', 'CHECKPOINT');
prepare('streamed');
$server->finish('aborted', 'ROLLBACK');
delete @prepared{ 'ended', 'aborted' };
my $newest = insert_into($server->other, $FLAKE);
clock_passes($observer, $newest);
read_in($observer);
my $reported = watermark_in($observer);
$primary->wait_for_catchup($_) for $early, $late, $crash;
$crash->stop('immediate');
$crash->start;
$observer->query_safe("SELECT pg_create_restore_point('here')");
my $segment = $observer->query_safe('SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the archive is not complete';
$view = $server->held_by;
$server->stop('fast');

# Ends what is prepared on a server that continues where the primary stood, and reads as the reader
# did there.
sub takes_over {
	my ($node, $at_least) = @_;
	my $session = session($node);
	my %left = %prepared;
	my $gids =
	  $session->query_safe("SELECT string_agg(gid, ', ' ORDER BY gid) FROM pg_prepared_xacts");
	is($gids, join(', ', sort keys %left), 'the server has what is prepared');
	is_held($session, min(values %left), 'what is prepared holds the watermark');
	cmp_ok(watermark_in($session), '>=', $at_least, 'the watermark has not fallen')
	  if defined $at_least;
	is(held_in($session), $view,
		'the view has all that is prepared, each where it held the watermark of the primary');
	insert_into($session, $FLAKE);
	read_in($session);

	for my $gid (sort { $left{$b} <=> $left{$a} } keys %left) {
		is_held($session, min(values %left), 'the earliest that is left holds the watermark');
		$session->query_safe("COMMIT PREPARED '$gid'");
		read_in($session);
		delete $left{$gid};
	}
	passes($session, clock_in($session), 'the watermark goes on when all have ended');
	read_in($session);
	is( join("\n", @read),
		$session->query_safe('SELECT id FROM flakes ORDER BY id'),
		'a reader that came from the primary has read every row, each once');
	$session->quit;
	$node->stop;
	return;
}

sub test_takeover {
	my ($what, $node, $at_least) = @_;
	my @before = @read;
	subtest "the reader continues on $what" => sub { takes_over($node, $at_least) };
	@read = @before;
	return;
}

for my $case (
	[ $early, 'a promoted standby from a backup from before the first call' ],
	[ $late, 'a promoted standby from a later backup' ],
	[ $crash, 'a promoted standby that has crashed' ])
{
	my ($standby, $what) = @$case;
	$standby->promote;
	test_takeover($what, $standby, $reported);
}

for my $backup ('before', 'after') {
	for my $restarts (0, 1) {
		my $restored = PostgreSQL::Test::Cluster->new("restored_${backup}_$restarts");
		$restored->init_from_backup($primary, $backup, has_restoring => 1, standby => 0);
		$restored->append_conf('postgresql.conf', <<~'END');
			recovery_target_name = 'here'
			recovery_target_action = 'promote'
			archive_mode = off
			END
		$restored->start;
		$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
		  or die 'recovery does not end';
		$restored->restart if $restarts;
		my $then = $restarts ? ', and restarted' : '';
		test_takeover("a server recovered from a backup from $backup the first call$then",
			$restored);
	}
}

# The backup alone has what was prepared when it was taken.
%prepared = %of_backup;
$view = $view_of_backup;
@read = ();
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($primary, 'after');
$copy->append_conf('postgresql.conf', 'archive_mode = off');
$copy->start;
test_takeover('a server from the backup alone', $copy);

done_testing();
