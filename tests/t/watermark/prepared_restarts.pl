# Prepared transactions hold the watermark where they held it before, through restarts and crashes.
# The watermark does not fall. A transaction that was only open does not hold it after that.
use strict;
use warnings;
use lib 'tests/perl';

use Prepared;
use Test::More;
use Watermark;

my $server = Prepared->new('restarts');
sub watermark { return watermark_in($server->observer) }

# Several transactions hold the watermark in two lives, and then end one after the other.
sub outlive {
	my ($how) = @_;
	my @left;
	# Each transaction holds a later time than the one before.
	my $prepare_later = sub {
		my ($id_type, $gid, $end) = @_;
		clock_passes($server->observer, $left[-1]{time}) if @left;
		$gid = "$id_type->{name} $gid";
		push @left, { gid => $gid, end => $end, time => $server->prepare($gid, $id_type) };
	};
	for my $id_type ($FLAKE, $SNO) {
		$prepare_later->($id_type, "to $_", $_) for 'COMMIT', 'ROLLBACK';
	}
	my ($held, $view) = (watermark(), $server->held_by);
	is_held($server->observer, $left[0]{time}, 'the first transaction holds the watermark');
	for my $life (1, 2) {
		$server->restart($how);
		is_held($server->observer, $left[0]{time},
			"the first transaction holds the watermark after restart $life");
		my $now = watermark();
		cmp_ok($now, '>=', $held, "the watermark has not fallen after restart $life");
		like($server->held_by, qr/^\Q$left[0]{gid}|$now\E$/m,
			"the view says after restart $life that the first transaction holds the watermark");
		is($server->held_by, $view,
			"the view says after restart $life of each transaction what it said before");
	}
	$prepare_later->($_, 'later', 'COMMIT') for $FLAKE, $SNO;
	while (my $ended = shift @left) {
		$server->finish(@$ended{ 'gid', 'end' });
		is_held($server->observer, $left[0]{time},
			"the next transaction holds the watermark when '$ended->{gid}' has ended")
		  if @left;
		passes($server->observer, $ended->{time},
			"the watermark passes the ID of '$ended->{gid}' when that has ended");
	}
	return;
}

for my $how ('fast', 'immediate', 'kill') {
	subtest "$how: prepared transactions hold the watermark in two further lives" =>
	  sub { outlive($how) };

	$server->writer->query_safe('BEGIN');
	my $open = insert_into($server->writer, $FLAKE);
	my $held = watermark();
	$server->restart($how);
	passes($server->observer, $open,
		"$how: a transaction that was open does not hold the watermark after the restart");
	cmp_ok(watermark(), '>=', $held, "$how: the watermark has not fallen after the restart");

	$server->prepare('ended');
	$server->finish('ended');
	my $time = $server->prepare('last');
	$server->restart($how);
	is_held($server->observer, $time,
		"$how: a transaction that was prepared right before the end holds the watermark");
	like($server->held_by, qr/\Alast\|\d+\z/,
		"$how: a transaction that ended right before the end is not in the view");
	$server->finish('last', 'ROLLBACK');
	passes($server->observer, $time, "$how: the watermark goes on when the last one has ended");
}

# The commit is durable or it is not. The watermark is right in both cases.
for my $round (1 .. 5) {
	my $time = $server->prepare('crashed');
	$server->other->query_until(qr/begun/, "\\echo begun\nCOMMIT PREPARED 'crashed';\n");
	$server->restart('kill');
	if ($server->observer->query_safe('SELECT count(*) FROM pg_prepared_xacts')) {
		is_held($server->observer, $time,
			"a crash before COMMIT PREPARED (round $round): the transaction holds the watermark");
		$server->finish('crashed');
	}
	passes($server->observer, $time,
		"a crash beside COMMIT PREPARED (round $round): the watermark passes at the end");
}
$server->stop('fast');

done_testing();
