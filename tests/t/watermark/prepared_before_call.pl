# Transactions that are prepared before the first call of flakeid_watermark() hold it at their own
# time, in the same life of the server and in later ones.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use PostgreSQL::Test::Cluster;
use Test::More;
use Watermark;

my $server = Prepared->new('before');

# Tests that a transaction holds the watermark at its own time, and not at 1970.
sub is_held_at_its_time {
	my ($time, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_held($server->observer, $time, "$test holds the watermark");
	cmp_ok(watermark_in($server->observer), '>', 0, "$test holds the watermark at its own time");
	return;
}

sub goes_on_after {
	my ($gid, $time, $test) = @_;
	$server->finish($gid);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return passes($server->observer, $time, $test);
}

my $first = $server->prepare('first');
clock_passes($server->observer, $first);
my $second = $server->prepare('second');
is_held_at_its_time($first, 'a transaction that was prepared before the first call');
goes_on_after('first', $first, 'the watermark passes its ID when it has ended');
$server->restart('kill');
is_held_at_its_time($second, 'another one that was prepared before the first call and a crash');
goes_on_after('second', $second, 'the watermark goes on when both have ended');
$server->stop('fast');

for my $how ('fast', 'immediate', 'kill') {
	$server = Prepared->new("before_$how");
	my $time = $server->prepare('earlier');
	$server->restart($how);
	my $later = $server->prepare('later');
	is_held_at_its_time($time,
		"$how: a transaction that was prepared in an earlier life, before the first call,");
	like($server->held_by, qr/^earlier\|[1-9]\d+$/m, "$how: the view has the time of that one");
	$server->restart($how);
	is_held($server->observer, $time, "$how: it holds the watermark in the next life, too");
	goes_on_after('earlier', $time, "$how: when it has ended the watermark goes on");
	is_held($server->observer, $later, "$how: the next transaction holds the watermark then");
	goes_on_after('later', $later, "$how: when both have ended the watermark goes on");
	$server->stop('fast');
}

done_testing();
