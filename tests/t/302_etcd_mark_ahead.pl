# A high-water mark in etcd far ahead of the clock says what another server issued. It stays in etcd: a server that issues nothing
# up to it does not take it into its own state when it stops.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $far = '2100-01-01T00:00:00Z';
my $past = '2026-01-01T00:00:00Z';
# flake's last tick is in 2039, and no other ID type that has high-water marks ends earlier.
my $limit = moment('2038-01-01T00:00:00Z');

my $etcd   = Etcd->new('ahead');
my $ledger = Ledger->new('ahead');
my $node   = $etcd->server('ahead', generator_ids => 'etcd:2', etcd_pool => '0-1', max_clock_wait => '100ms');

sub put
{
	my ($key, $value) = @_;
	$etcd->put($key, $value);
	return;
}

# Waits until the server holds these generator IDs.
sub wait_for_ids
{
	my ($ids) = @_;
	lease_becomes($node, "state = 'held' AND generator_ids::text = '{$ids}'")
	  or die "the server does not hold $ids";
	return;
}

# So many sessions that some begin at each of two generator IDs. Some get IDs, and some errors.
sub ask_all
{
	for my $id_type (@ID_TYPES)
	{
		error_of($node, "SELECT $id_type->{next}") for 1 .. 4;
	}
	return;
}

sub has_ids
{
	my ($test) = @_;
	for my $id_type (@ID_TYPES)
	{
		my ($error, @ids) = $ledger->ask($node, $id_type, 100);
		is($error, '', "$test: $id_type->{name}");
	}
	return;
}

put('until/1', $far);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_ids('0,1');
ask_all();
$node->stop;
my $state = state_of($node);
is($state->{server}, 'stopped', 'a server that leased a generator ID with a high-water mark far ahead has stopped in good order');
cmp_ok(until_of($state), '<', $limit, '... and the high-water mark is not in its state');
cmp_ok(moment($state->{since}), '<', $limit, '... nor is a clock that read it');
cmp_ok(moment($etcd->get('until/1')), '>', $limit, '... but still in etcd');

put('until/1', $past);
$node->start;
wait_for_ids('0,1');
has_ids('when the high-water mark has been put right there are IDs after a restart');

# The same where the cells had issued before, and were given up in between.
my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my ($error, @ids) = $ledger->ask($node, $flake, 100);
is($error, '', 'a server has made flakes');
my $last = (times_of($node, $flake, @ids))[1];
reload_with($node, etcd_pool => '2-3');
wait_for_ids('2,3');
put("until/$_", $far) for 0, 1;
reload_with($node, etcd_pool => '0-1');
wait_for_ids('0,1');
ask_all();
$node->stop;
$state = state_of($node);
cmp_ok(until_of($state), '<', $limit, '... and a later high-water mark of the same generator IDs is not in its state');
cmp_ok(moment($state->{until}), '>', $last, '... which still covers what was made under them before');

put("until/$_", $past) for 0, 1;
$node->start;
wait_for_ids('0,1');
has_ids('... and when the high-water marks have been put right there are IDs');
is($ledger->twice, '', 'no ID repeats');
$node->stop;

done_testing();
