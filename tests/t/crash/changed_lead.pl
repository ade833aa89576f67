# A server crashes and starts with another horizon_lead and with other generator IDs: each ID type
# waits for the horizon that the server had, and IDs begin above it.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Postmaster;
use Server;
use StateFile;
use Test::More;

my $second = 1_000_000_000;    # nanoseconds
for my $leads ([ '100ms', '20s' ], [ '20s', '100ms' ]) {
	my ($before, $after) = @$leads;
	my $clock = FakedClock->new("lead_${before}_$after",
		"flakeid.max_clock_wait = '0'\nflakeid.horizon_lead = '$before'\n");
	my $node = $clock->node;
	my $ledger = Ledger->new("lead_${before}_$after");
	my $postmaster = Postmaster->start($node, $clock->environment);
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$ledger->use_all($node);
	$postmaster->kill9;
	my $state = state_of($node);
	$node->append_conf('postgresql.conf',
		"flakeid.horizon_lead = '$after'\nflakeid.generator_ids = '16-17'");

	# Little of the lead is left by the faked clock, which has not stepped back.
	my $until = until_of($state) / $second;
	my ($moment) = sort { $b <=> $a } $until - 0.3, moment($state->{since}) / $second + 0.001;
	$clock->stand_still($moment);
	$postmaster = Postmaster->start($node, $clock->environment);
	# The moment at which the tick after an ID type's last ID begins. If one cell serves all
	# generators, the clock continues after the cell's last ID.
	my %next;
	for my $generators ('16-17', '40') {
		reload_with($node, generator_ids => $generators) if $generators eq '40';
		for my $id_type (@ID_TYPES) {
			my $name = $id_type->{name};
			my $test = "$name of generators $generators, lead $before and then $after:";
			$clock->set($id_type->{cells} && $next{$name} || $moment);
			my ($error, @ids) = $ledger->ask($node, $id_type, 10);
			is($error, '', "$test sessions wait for the former lead") or next;
			my ($first, $last) = times_of($node, $id_type, @ids);
			$next{$name} = ($last + $id_type->{tick}) / $second;
			cmp_ok(
				$first, '>=',
				horizon_of($state, $id_type, 0),
				"$test IDs begin above the horizon");
		}
	}
	$clock->set($until + 30);
	reload_with($node, generator_ids => '0-7');
	$ledger->use_all($node);
	is($ledger->twice, '',
		"no ID repeats with the former generator IDs, lead $before and then $after");
	$postmaster->stop('immediate');
}
done_testing();
