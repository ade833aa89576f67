# A transaction is prepared, and the server crashes: right after that, after a checkpoint, with a
# minimal WAL, without waiting for commits, in a backup. The watermark is held where it was. For all
# that the server writes nothing but what PostgreSQL writes.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;
use Watermark;

sub survives_crashes {
	my ($name, %how) = @_;
	my $server = Prepared->new($name, %how);
	my $first = $server->prepare('before the first call');
	$server->restart('kill');
	is_held($server->observer, $first,
		'a transaction that was prepared before the first call holds the watermark after a crash');
	my @stat = stat $server->file;
	my @steps = ('SELECT 1', 'CHECKPOINT', 'CHECKPOINT; CHECKPOINT');
	for my $step (@steps) {
		clock_passes($server->observer, clock_in($server->observer));
		$server->prepare("before $step");
		$server->observer->query_safe($step);
		my $held = $server->held_by;
		$server->restart('kill');
		is_held($server->observer, $first,
			"the first transaction holds the watermark after $step and a crash");
		is($server->held_by, $held,
			"each transaction holds the watermark after $step and a crash where it did before");
	}
	is( join(' ', (stat $server->file)[ 1, 7, 9 ]),
		join(' ', @stat[ 1, 7, 9 ]),
		'no transaction, no checkpoint and no crash has written the file');

	if ($how{allows_streaming}) {
		$server->node->backup('backup');
		my $copy = PostgreSQL::Test::Cluster->new('copy');
		$copy->init_from_backup($server->node, 'backup');
		$copy->start;
		my $session = session($copy);
		isnt(watermark_in($session), '', 'a server of the backup reports a watermark');
		is(held_in($session), $server->held_by,
			'the backup alone has each transaction, where it held the watermark');
		$session->quit;
		$copy->stop;
	}

	$server->finish($_) for 'before the first call', map { "before $_" } @steps;
	passes(
		$server->observer,
		clock_in($server->observer),
		'when all transactions have ended the watermark goes on');
	$server->stop('fast');
	return;
}

my %how = (
	replica => { allows_streaming => 1 },
	minimal => { settings => "wal_level = minimal\nmax_wal_senders = 0" },
	asynchronous => { settings => "wal_level = replica\nsynchronous_commit = off" });
for my $name (sort keys %how) {
	subtest "$name: prepared transactions hold the watermark after crashes" =>
	  sub { survives_crashes($name, %{ $how{$name} }) };
}

subtest 'a snapshot is older than the first call of a life' => sub {
	my $server = Prepared->new('snapshots');
	my $time = $server->prepare('ended');
	$server->writer->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");
	$server->restart('fast');
	my $old = $server->other;
	$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
	$server->finish('ended');
	cmp_ok(watermark_in($old), '<=', $time,
		'an old snapshot does not see what ended before the first call, and its watermark is held');
	passes($server->observer, $time,
		'a new snapshot sees that transaction, and a transaction without IDs holds nothing');
	$old->query_safe('COMMIT');
	passes($old, $time, 'the session with the old snapshot has a new one then');
	$server->stop('fast');
};

done_testing();
