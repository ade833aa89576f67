# A primary and its standby have different libraries, in both orders, and the standby is promoted
# while its clock is behind. It repeats no ID of the primary, and readers of the watermark miss no
# row: so servers can change their libraries one after the other, standby first or primary first.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use EarlierLibrary;
use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# How far the primary's clock is ahead of the standby's, in seconds.
my $ahead = 3600;

for my $pair ([ $earlier, $present ], [ $present, $earlier ]) {
	my ($of_primary, $of_standby) = @$pair;
	my $name = "primary_$of_primary" =~ tr/./_/r;
	subtest "a standby with $of_standby replays a primary with $of_primary" => sub {
		replays($name, $of_primary, $of_standby);
	};
}

sub replays {
	my ($name, $of_primary, $of_standby) = @_;
	my %place = map { $_ => installation("${_}_$name", $earlier) } 'primary', 'standby';
	my $primary = PostgreSQL::Test::Cluster->new($name, install_path => $place{primary}{path});
	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', <<~'CONF');
		shared_preload_libraries = 'flakeid'
		log_statement = none
		max_connections = 40
		flakeid.epoch = '2010-01-01'
		flakeid.max_clock_wait = '100ms'
		CONF
	my $clock = FakedClock->of_node($primary);
	$clock->step($ahead);
	$clock->start;
	create_common_tables($primary);
	$primary->backup('before');
	# The standby begins with the same library as its primary. One of the two changes.
	my $standby =
	  PostgreSQL::Test::Cluster->new("standby_$name", install_path => $place{standby}{path});
	$standby->init_from_backup($primary, 'before', has_streaming => 1);
	my $standby_clock = FakedClock->of_node($standby);
	$standby_clock->start;
	$primary->wait_for_catchup($standby);

	my $ledger = Ledger->new($name);
	if ($of_standby eq $present) {
		$standby->stop;
		put($place{standby}, $present);
		$standby_clock->start;
	}
	else {
		$primary->stop;
		put($place{primary}, $present);
		$clock->start;
	}
	my $is = "SELECT flakeid_identity() ->> 'version'";
	is($primary->safe_psql('postgres', $is), $of_primary, "the primary has $of_primary");
	is($standby->safe_psql('postgres', $is), $of_standby, "the standby has $of_standby");

	my $watermark = $primary->safe_psql('postgres', 'SELECT flakeid_watermark()');
	$ledger->crowd($primary, id_types => \@COMMON_TYPES);
	$ledger->wait_until_given(0.5);
	insert_common($primary);
	$watermark = $primary->safe_psql('postgres', 'SELECT flakeid_watermark()');
	my $below = rows_below($primary, $watermark);
	# All that clients have received is in the WAL that the standby replays.
	$primary->stop('fast');
	$ledger->dispersed;

	$standby->promote;
	for my $type (grep { !$_->{turns} } @COMMON_TYPES) {
		like(
			error_of($standby, "SELECT $type->{next}"),
			qr/ERROR:  58000: the clock is/,
			"the promoted standby repeats no $type->{name} while its clock is behind");
	}
	$standby_clock->step($ahead + 60);
	$ledger->crowd($standby, id_types => \@COMMON_TYPES);
	$ledger->wait_until_given(0.5);
	insert_common($standby);
	is(rows_below($standby, $watermark),
		$below, 'no row of the promoted standby is below the watermark of the primary');
	cmp_ok($standby->safe_psql('postgres', "SELECT flakeid_watermark() > '$watermark'"),
		'eq', 't', 'the watermark of the promoted standby rises');
	$standby->stop('fast');
	$ledger->dispersed;
	is($ledger->twice, '', 'no ID repeats');
	return;
}

done_testing();
