# A thousand prepared transactions hold the watermark until the last of them has ended, also after
# stops and a crash.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use List::Util qw(min shuffle);
use Prepared;
use Test::More;
use Watermark;

my $server = Prepared->new('thousand', settings => 'max_prepared_transactions = 1000');
watermark_in($server->observer);

# Prepares transactions with these numbers. Returns their names and the times of their IDs.
sub prepare {
	my $sql = join '', map {
		my $insertion = insertion_of($_ % 2 ? $FLAKE : $SNO);
		"BEGIN; $insertion, 'many $_'; PREPARE TRANSACTION 'many $_';\n"
	} @_;
	return map { reverse split /\|/ } split /\n/, $server->node->safe_psql('postgres', $sql);
}

sub end_all {
	my @gids = @_;
	my $nr = 0;
	$server->node->safe_psql('postgres', join '',
		map { ($nr++ % 3 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$_';\n" } @gids);
	return;
}

my %time = prepare(1 .. 1000);
is(scalar keys %time, 1000, '1000 transactions are prepared');
my $seen = 0;
for my $life ('before a stop', 'after a stop', 'after a crash', 'after another stop') {
	if ($life ne 'before a stop') {
		# Random ones of those that are left end.
		my @ended = (shuffle(sort keys %time))[ 0 .. 299 ];
		end_all(@ended);
		delete @time{@ended};
		%time = (%time, prepare(2000 .. 2099)) if $life eq 'after a crash';
		$server->restart($life eq 'after a crash' ? 'kill' : 'fast');
	}
	my $what = keys(%time) . ' prepared transactions';
	is_held($server->observer, min(values %time), "$life $what hold the watermark at the first ID");
	my $now = watermark_in($server->observer);
	cmp_ok($now, '>=', $seen, "$life the watermark has not fallen");
	$seen = $now;
	is( join(',', sort map { s/\|.*//r } split /\n/, $server->held_by),
		join(',', sort keys %time),
		"$life the view has all prepared transactions, and no other");
}
my $observer = $server->observer;
my $after = clock_in($observer);
is_held($observer, $after, 'the prepared transactions that are left hold the watermark');
end_all(sort keys %time);
passes($observer, $after, 'the watermark passes when all prepared transactions have ended');
is($server->held_by, '', 'the view is empty when all prepared transactions have ended');
$server->stop('fast');

done_testing();
