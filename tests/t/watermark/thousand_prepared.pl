# A thousand prepared transactions hold the watermark until the last of them has ended, also after
# stops and a crash.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use List::Util qw(min shuffle);
use Postmaster;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;
use Watermark;

my $PREPARED = 1000;
my $node = PostgreSQL::Test::Cluster->new('thousand');
$node->init;
$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid'
log_statement = none
max_prepared_transactions = $PREPARED
END
my $postmaster = Postmaster->start($node);
create_tables($node);
my $observer = session($node);
watermark_in($observer);

# Prepares transactions with these numbers. Returns their names and the times of their IDs.
sub prepare {
	my $sql = join '', map {
		my $insertion = insertion_of($_ % 2 ? $FLAKE : $SNO);
		"BEGIN; $insertion, 'many $_'; PREPARE TRANSACTION 'many $_';\n"
	} @_;
	return map { reverse split /\|/ } split /\n/, $node->safe_psql('postgres', $sql);
}

sub end_all {
	my @gids = @_;
	my $nr = 0;
	$node->safe_psql('postgres', join '',
		map { ($nr++ % 3 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$_';\n" } @gids);
	return;
}

my %time = prepare(1 .. $PREPARED);
is(scalar keys %time, $PREPARED, "$PREPARED transactions are prepared");
my $seen = 0;
for my $life ('before a stop', 'after a stop', 'after a crash', 'after another stop') {
	if ($life ne 'before a stop') {
		# Random ones of those that are left end.
		my @ended = (shuffle(sort keys %time))[ 0 .. 299 ];
		end_all(@ended);
		delete @time{@ended};
		if ($life eq 'after a crash') {
			%time = (%time, prepare($PREPARED * 2 .. $PREPARED * 2 + 99));
			$postmaster->kill9;
			eval { $observer->{run}->finish };
		}
		else {
			$observer->quit;
			$postmaster->stop('fast');
		}
		$postmaster = Postmaster->start($node);
		$observer = session($node);
	}
	my $what = keys(%time) . ' prepared transactions';
	is_held($observer, min(values %time), "$life $what hold the watermark at the first ID");
	my $now = watermark_in($observer);
	cmp_ok($now, '>=', $seen, "$life the watermark has not fallen");
	$seen = $now;
	is( join(',', sort map { s/\|.*//r } split /\n/, held_in($observer)),
		join(',', sort keys %time),
		"$life the view has all prepared transactions, and no other");
}
my $after = clock_in($observer);
is_held($observer, $after, 'the prepared transactions that are left hold the watermark');
end_all(sort keys %time);
passes($observer, $after, 'the watermark passes when all prepared transactions have ended');
is($observer->query_safe('SELECT count(*) FROM pg_stat_flakeid_watermark'),
	'0', 'the view is empty when all prepared transactions have ended');
$observer->quit;
$postmaster->stop('fast');

done_testing();
