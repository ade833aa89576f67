# Servers with the earlier and the present library lease the same two generator IDs from one
# registry, one after the other. Each begins above what the one before has generated, also if its
# clock is behind. Each reads the registry, and after a change of its library its own file
# flakeid/etcd.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use EarlierLibrary;
use Etcd;
use FakedClock;
use Ledger;
use Leases;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $etcd = Etcd->new('versions');
my $ledger = Ledger->new('leases');
my (%place, %clock, %node);
for my $name ('a', 'b') {
	$place{$name} = installation("leases_$name", $name eq 'a' ? $earlier : $present);
	$node{$name} =
	  PostgreSQL::Test::Cluster->new("leases_$name", install_path => $place{$name}{path});
	$node{$name}->init;
	my %settings = (
		generator_ids => 'etcd:2',
		etcd_pool => '0-1',
		max_clock_wait => '100ms',
		epoch => '2010-01-01');
	$node{$name}->append_conf('postgresql.conf', $etcd->configuration(%settings));
	$clock{$name} = FakedClock->of_node($node{$name});
}

# The library of each server in turn: both servers have both libraries, and each library follows
# each other one.
my @turns = (
	[ a => $earlier ],
	[ b => $present ],
	[ a => $present ],
	[ b => $earlier ],
	[ a => $earlier ],
	[ b => $earlier ],
	[ a => $present ],
	[ b => $present ]);
my ($offset, $nr) = (0, 0);
for (@turns) {
	my ($name, $version) = @$_;
	$nr++;
	my ($node, $clock) = ($node{$name}, $clock{$name});
	put($place{$name}, $version);
	# The holder before was ahead of this clock.
	$clock->step($offset - 300);
	$clock->start;
	create_common_tables($node) if $nr <= 2;
	my $turn = "turn $nr, of server $name with $version";
	is($node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'version'"),
		$version, "$turn: it has this library");
	# The first session that requests an ID starts the lease worker.
	error_of($node, 'SELECT flake_next()');
	is(wait_for_lease($node, 2), '0 1', "$turn: it leases both generator IDs");
	if ($nr > 1) {
		like(
			error_of($node, "SELECT $_->{next}"),
			qr/ERROR:  58000: the clock is/,
			"$turn: no $_->{name} repeats while its clock is behind"
		) for grep { !$_->{turns} } @WITH_GENERATOR_IDS;
	}
	$clock->step($offset + 300);
	$offset += 300;
	wait_for_ids($node);
	generates($ledger, $node, "$turn: it generates IDs when its clock is past the last one", '0 1');
	begin_crowd($ledger, $node);
	is(join('', end_crowd($ledger, $node)), '', "$turn: no session has an error");
	# It releases its claims, and leaves the high-water marks.
	$node->stop;
}
is($ledger->twice, '', 'no ID of a leased generator ID repeats');
done_testing();
