# A server goes from the earlier library to the present one, back, and forth again, by a stop and by
# a crash, while sessions generate IDs. No ID repeats, even with a clock that is behind after the
# change. A reader in ID order misses no row, except that it waits for prepared transactions.
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
use StateFile;
use Test::More;

my $place = installation('restarts', $earlier);
my $node = PostgreSQL::Test::Cluster->new('restarts', install_path => $place->{path});
$node->init;
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'flakeid'
	max_prepared_transactions = 3
	log_statement = none
	flakeid.epoch = '2010-01-01'
	flakeid.horizon_lead = '10min'
	flakeid.max_clock_wait = '100ms'
	CONF
my $clock = FakedClock->of_node($node);
my $ledger = Ledger->new('restarts');
$clock->start;
create_common_tables($node);

my $tables = join ', ', map { "$_->{name}s" } @COMMON_TYPES;
my %below;

# Inserts rows, reads the watermark, and writes down how many rows of each type are below it.
sub read_in_order {
	my ($life) = @_;
	$node->safe_psql('postgres', join '; ',
		map { "INSERT INTO $_->{name}s SELECT FROM generate_series(1, 100)" } @COMMON_TYPES);
	my $watermark = $node->safe_psql('postgres', 'SELECT flakeid_watermark()');
	$below{$watermark} = { life => $life, rows => rows_below($node, $watermark) };
	return $watermark;
}

read_in_order('the first life');
my $offset = 0;
my @lives = (
	[ $present, 'fast' ],
	[ $earlier, 'immediate' ],
	[ $present, 'immediate' ],
	[ $earlier, 'fast' ],
	[ $present, 'fast' ],
	[ $earlier, 'immediate' ]);
my $nr = 0;
for (@lives) {
	my ($version, $mode) = @$_;
	$nr++;
	my $life = "change $nr, to $version after a stop that is $mode";
	$ledger->crowd($node, ways => [ 'single', 'batch' ], id_types => \@COMMON_TYPES);
	$ledger->wait_until_given(0.2);
	$node->stop($mode);
	$ledger->dispersed;
	put($place, $version);

	my $state = state_of($node);
	$clock->step($offset - 300);
	$clock->start;
	is($node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'version'"),
		$version, "$life: the server has this library");
	for my $type (grep { !$_->{turns} } @COMMON_TYPES) {
		like(
			error_of($node, "SELECT $type->{next}"),
			qr/ERROR:  58000: the clock is/,
			"$life: no $type->{name} repeats with a clock that is behind");
	}
	$offset += 1200;
	$clock->step($offset);
	my @early;
	for my $type (@COMMON_TYPES) {
		my $id = $node->safe_psql('postgres', "SELECT $type->{next}");
		my ($time) = times_of($node, $type, $id);
		push @early, $type->{name} if $time < horizon_of($state, $type, $state->{tick_tock});
	}
	is("@early", '', "$life: the IDs begin at the horizon of the other library");

	my $watermark = read_in_order($life);
	cmp_ok(
		rows_below($node, $watermark),
		'ne',
		join(' ', (0) x @COMMON_TYPES),
		"$life: rows are below the watermark");
}
is($ledger->twice, '', 'no ID repeats');
is(rows_below($node, $_),
	$below{$_}{rows}, "no row has come below the watermark of $below{$_}{life}")
  for sort keys %below;

# transactions that the other library has prepared ----------------------------------------------

for my $version ($present, $earlier) {
	my $other = $version eq $present ? $earlier : $present;
	$node->stop;
	put($place, $version);
	$clock->start;
	$node->safe_psql('postgres', 'SELECT flakeid_watermark()');
	$node->safe_psql('postgres', <<~"SQL");
		BEGIN; INSERT INTO flakes DEFAULT VALUES; PREPARE TRANSACTION 'of $version'
		SQL
	$node->stop;
	put($place, $other);
	$clock->start;
	read_in_order("$other after $version");
	my $held = $node->safe_psql('postgres', "SELECT flakeid_watermark() = '1970-01-01 00:00+00'");
	is($held, 't', "$other holds the watermark while a transaction is prepared that $version knew");
	$node->safe_psql('postgres', "COMMIT PREPARED 'of $version'");
	$node->poll_query_until('postgres',
		"SELECT flakeid_watermark() > clock_timestamp() - interval '1 min'")
	  or die 'the watermark stays';
	pass("$other lets the watermark rise when the transaction has ended");
}
$node->stop;
done_testing();
