# A thousand prepared transactions hold the watermark at the ID of the earliest, through stops and a
# crash, and one without IDs does not. They end in any order. The watermark does not fall, and a
# reader reads every row once.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use List::Util qw(min shuffle);
use Prepared;
use Test::More;
use Watermark;

my $server = Prepared->new('many', settings => 'max_prepared_transactions = 1001');
$server->writer->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");

# Prepares transactions with these numbers. Returns their names and the times of their IDs.
sub prepare {
	my $sql = join '', map {
		my $insertion = insertion_of($_ % 2 ? $FLAKE : $SNO);
		"BEGIN; $insertion, 'many $_'; PREPARE TRANSACTION 'many $_';\n"
	} @_;
	return map { reverse split /\|/ } split /\n/, $server->node->safe_psql('postgres', $sql);
}

my ($ended, $seen, $falls, @read) = (0, 0, 0);
sub finish { my ($gid) = @_; return $server->finish($gid, $ended++ % 3 ? 'COMMIT' : 'ROLLBACK') }

# Reads the flakes that are below the watermark now.
sub read_more {
	my $now = watermark_in($server->observer);
	$falls++ if $now < $seen;
	$seen = $now;
	my $last = $read[-1] // -1;
	push @read, split /\n/, $server->observer->query_safe(<<~"SQL");
		SELECT id FROM flakes WHERE id > $last AND flake_before(id, flakeid_watermark()) ORDER BY id
		SQL
	return;
}

my %time = prepare(1 .. 1000);
is(scalar keys %time, 1000, '1000 transactions are prepared');
for my $life ('before a stop', 'after a stop', 'after a crash', 'after another stop') {
	if ($life ne 'before a stop') {
		# Random ones of those that are left end.
		my @ending = (shuffle(sort keys %time))[ 0 .. 299 ];
		finish($_) for @ending;
		delete @time{@ending};
		%time = (%time, prepare(2000 .. 2099)) if $life eq 'after a crash';
		read_more();
		$server->restart($life eq 'after a crash' ? 'kill' : 'fast');
	}
	my $what = keys(%time) . ' prepared transactions';
	is_held($server->observer, min(values %time), "$life $what hold the watermark at the first ID");
	is( join(',', sort map { s/\|.*//r } split /\n/, $server->held_by),
		join(',', sort keys %time),
		"$life the view has all prepared transactions, and no other");
	read_more();
}

# Each of those that are left holds the watermark at its ID or before.
my %bound = map { split /\|/ } split /\n/, $server->held_by;
my $observer = $server->observer;
my $after = clock_in($observer);
is_held($observer, $after, 'the prepared transactions that are left hold the watermark');
for my $gid (shuffle(sort keys %time)) {
	finish($gid);
	my $of_ended = delete $time{$gid};
	delete $bound{$gid};
	passes($observer, $of_ended, 'the watermark goes on when the first has ended')
	  if %time && $of_ended < min(values %bound);
	is_held(
		$observer,
		min(values %time),
		'the next one holds the watermark when the first has ended'
	) if %time && $of_ended < min(values %time);
	read_more();
}
passes($observer, $after, 'the watermark passes when all prepared transactions have ended');
passes($observer, clock_in($observer), 'nothing holds the watermark then');
read_more();
is($falls, 0, 'the watermark does not fall while they end, nor after a stop or a crash');
is( join("\n", @read),
	$observer->query_safe('SELECT id FROM flakes ORDER BY id'),
	'a reader beside them has read every row once, in order');
is($server->held_by, '', 'the view is empty when all prepared transactions have ended');
$server->stop('fast');

done_testing();
