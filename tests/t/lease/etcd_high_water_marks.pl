# A high-water mark in etcd is ahead of the clock, or beyond the last time of an ID type, and is
# corrected by hand. It keeps its own generator ID from being used, and no other.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $past = '2026-01-01T00:00:00Z';
# Before the last tick of flake, in 2039, which has the earliest of all types.
my $far = moment('2038-01-01T00:00:00Z');
my $never = '2200-01-01T00:00:00Z';

my $ledger = Ledger->new('high_water_marks');
my $etcd = Etcd->new('high_water_marks');
my $node = $etcd->start_server('node', etcd_pool => '0-2');
wait_for_lease($node, 2);

# Tests that no session of several has an error, and that all of them use these generator IDs.
sub all_have_ids {
	my ($server, $ids, $test) = @_;
	# Sessions begin at different generator IDs.
	my @given = map { generate($ledger, $server) } 1 .. 8;
	my %used = map { $_ => 1 } map { split / /, $_->{generators} } @given;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join(' ', sort keys %used) . join('', map { $_->{error} } @given), $ids, $test);
}

subtest 'a high-water mark that is ahead' => sub {
	$node->stop;
	$etcd->put('until/0', $never);
	$node->start;
	is(wait_for_lease($node, 2), '1 2', 'its generator ID is avoided while others are free');
	is($etcd->get('until/0'), $never, 'the high-water mark is left alone');
	$node->stop;
	set($node, etcd_pool => '1-2');
	my ($high_water_mark, $held, @errors);
	# On a slow machine the clock may be past the high-water marks before the test has looked.
	for (my $ahead = 8;; $ahead *= 2) {
		my $text = instant(int((time() + $ahead) * 1_000_000_000));
		$etcd->put("until/$_", $text) for 1, 2;
		$high_water_mark = moment($text);
		$node->start;
		$held = wait_for_lease($node, 2);
		@errors = map { error_of($node, "SELECT $_->{next}") } @WITH_GENERATOR_IDS;
		last if time() * 1_000_000_000 < $high_water_mark;
		$node->stop;
	}
	is($held, '1 2', 'its generator ID is leased if the pool has no others');
	is((grep { !/ERROR:  58000: the clock is [\d.]+ m?s behind the last \w+ ID/ } @errors),
		0, 'sessions get the error that the clock is behind');
	others_generate($node, 'the other ID types are not concerned');
	wait_for_ids($node);
	my $given = generates($ledger, $node,
		'the server generates IDs when the clock is past the high-water mark');
	cmp_ok((span_of($node, $given))[0],
		'>', $high_water_mark, 'these begin after the high-water mark');
	$node->stop;
};

subtest 'a high-water mark that is far ahead does not get into the state of a server' => sub {
	$etcd->put('until/1', '2100-01-01T00:00:00Z');
	$node->start;
	wait_for_lease($node, 2);
	error_of($node, "SELECT $_->{next}") for (@WITH_GENERATOR_IDS) x 4;
	$node->stop;
	my $state = state_of($node);
	is($state->{server}, 'stopped', 'a server that leased its generator ID stops in good order');
	cmp_ok(until_of($state), '<', $far, 'the state has no time of the high-water mark');
	cmp_ok(moment($state->{since}), '<', $far, 'the state has no clock of the high-water mark');
	cmp_ok(moment($etcd->get('until/1')), '>', $far, 'etcd still has the high-water mark');
	$etcd->put('until/1', $past);
	$node->start;
	wait_for_lease($node, 2);
	all_have_ids($node, '1 2',
		'when the high-water mark is corrected, all sessions have IDs after a restart');

	# Its cells have issued, and are given up and leased again with another high-water mark.
	my (undef, $last) = span_of($node, generate($ledger, $node));
	reload_with($node, etcd_pool => '5-6');
	lease_becomes($node, "state = 'held' AND generator_ids = '{5,6}'");
	$etcd->put("until/$_", '2100-01-01T00:00:00Z') for 1, 2;
	reload_with($node, etcd_pool => '1-2');
	lease_becomes($node, "state = 'held' AND generator_ids = '{1,2}'");
	my @errors = map { error_of($node, "SELECT $_->{next}") } (@WITH_GENERATOR_IDS) x 4;
	is((grep { $_ eq '' } @errors), 0, 'with that high-water mark sessions have no IDs');
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.etcd_pool');
	$node->stop;
	$state = state_of($node);
	cmp_ok(until_of($state), '<', $far, 'nor has it a later one of cells that were used before');
	cmp_ok(until_of($state), '>', $last, 'it covers what these cells issued before');
	$etcd->put("until/$_", $past) for 1, 2;
};

subtest 'a high-water mark beyond the last time of the ID types' => sub {
	$etcd->put('until/0', $past);
	$etcd->put('until/2', $never);
	set($node, generator_ids => 'etcd:3', etcd_pool => '0-2', etcd_lease_ttl => '30s');
	$node->start;
	is(wait_for_lease($node, 3), '0 1 2', 'a server leases its generator ID, too');
	all_have_ids($node, '0 1', 'all sessions have IDs with the others');
	$etcd->put('until/2', $past);
	wait_until('a renewal writes it', sub { $etcd->get('until/2') =~ /^2200/ });
	pass('its holder writes back a high-water mark that was corrected');

	# As docs/fleet.md shows. The view changes before etcd does.
	reload_with($node, etcd_pool => '0-1');
	wait_until('the generator ID is free', sub { $etcd->claimed eq '0 1' });
	$etcd->put('until/2', $past);
	my $other = $etcd->start_server('other', generator_ids => 'etcd:1', etcd_pool => '2-2');
	wait_for_lease($other, 1);
	# After a late answer of etcd its own first high-water mark may be ahead.
	wait_for_ids($other);
	all_have_ids($other, '2', 'corrected while nobody holds it, it is used by another at once');
	$other->stop;
	cmp_ok(moment($etcd->get('until/2')), '<', $far, 'that one leaves a high-water mark of now');
	reload_with($node, etcd_pool => '0-2');
	wait_for_lease($node, 3);
	all_have_ids($node, '0 1', 'the former holder does not use it before a restart');
	$node->stop;
	# The former holder leaves the old high-water mark again.
	$etcd->put('until/2', $past);
	$node->start;
	wait_for_lease($node, 3);
	all_have_ids($node, '0 1 2', 'the former holder uses it after a restart');
	$node->stop;
};
is($ledger->twice, '', 'no ID repeats');

done_testing();
