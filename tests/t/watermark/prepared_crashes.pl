# Transactions are prepared, before the first call of flakeid_watermark() too, and the server ends:
# right after that, after a checkpoint, with a minimal WAL, without waiting for commits. The
# watermark is held where it was. For all that the server writes nothing but what PostgreSQL writes.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
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

	$server->finish($_) for 'before the first call', map { "before $_" } @steps;
	passes(
		$server->observer,
		clock_in($server->observer),
		'when all transactions have ended the watermark goes on');
	$server->stop('fast');
	return;
}

my %how = (
	replica => { settings => 'wal_level = replica' },
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

for my $how ('fast', 'immediate', 'kill') {
	my $server = Prepared->new("before_$how");
	my $time = $server->prepare('earlier');
	$server->restart($how);
	my $later = $server->prepare('later');
	my $what = "$how: a transaction that was prepared in an earlier life, before the first call,";
	is_held($server->observer, $time, "$what holds the watermark");
	cmp_ok(watermark_in($server->observer), '>', 0, "$what holds the watermark at its own time");
	like($server->held_by, qr/^earlier\|[1-9]\d+$/m, "$how: the view has the time of that one");
	$server->restart($how);
	is_held($server->observer, $time, "$how: it holds the watermark in the next life, too");
	$server->finish('earlier');
	passes($server->observer, $time, "$how: when it has ended the watermark goes on");
	is_held($server->observer, $later, "$how: the next transaction holds the watermark then");
	$server->finish('later');
	passes($server->observer, $later, "$how: when both have ended the watermark goes on");
	$server->stop('fast');
}

done_testing();
