# A high-water mark in etcd beyond the end of a format keeps its own generator ID out of use, and no other. It can be put right by
# hand as docs/fleet.md says: while nobody holds the generator ID. Written earlier, it is written back.
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

my $far   = '2200-01-01T00:00:00Z';
my $past  = '2026-01-01T00:00:00Z';
my $limit = moment('2100-01-01T00:00:00Z');

my $etcd   = Etcd->new('by_hand');
my $ledger = Ledger->new('by_hand');
my $node   = $etcd->server('by_hand', generator_ids => 'etcd:4', etcd_pool => '0-3');
my $other  = $etcd->server('by_hand_other', generator_ids => 'etcd:1', etcd_pool => '2-2');

sub put
{
	my ($key, $value) = @_;
	$etcd->put($key, $value);
	return;
}

sub wait_for_ids
{
	my ($server, $ids) = @_;
	lease_becomes($server, "state = 'held' AND generator_ids::text = '{$ids}'")
	  or die "the server does not hold $ids";
	return;
}

# That each of so many sessions that some begin at each generator ID gets IDs, all of these generator IDs.
sub all_have_ids
{
	my ($server, $ids, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @sessions = map { session($server) } 1 .. 8;
	my (%homes, %used);
	for my $session (@sessions)
	{
		$homes{ $session->query_safe("SELECT flakeid_identity() ->> 'home_generator_id'") } = 1;
		for my $id_type (@LEASED)
		{
			my $list = $session->query_safe("SELECT '$id_type->{name}', id FROM " . sprintf($id_type->{batch}, 200) . ' AS id');
			$list =~ s/\|/\t/g;
			$ledger->enter($list);
		}
		my $made = $session->query_safe('SELECT DISTINCT (uniqueid_decode(uniqueid_next())).generator_id FROM generate_series(1, 200)');
		$used{$_} = 1 for split /\n/, $made;
		$made = $session->query_safe('SELECT DISTINCT (flake_decode(flake_next())).worker FROM generate_series(1, 10)');
		$used{$_} = 1 for split /\n/, $made;
	}
	my $number = split /,/, $server->safe_psql('postgres', 'SELECT array_to_string(generator_ids, $$,$$) FROM pg_stat_flakeid_lease');
	is(scalar(keys %homes), $number, "$test: sessions begin at each generator ID, and each has IDs");
	is(join(' ', sort keys %used), $ids, '... of these generator IDs');
	$_->quit for @sessions;
	return;
}

put('until/2', $far);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_ids($node, '0,1,2,3');
all_have_ids($node, '0 1 3', 'with a high-water mark beyond the end of the formats');

# The holder has begun above it, and writes it back.
put('until/2', $past);
my $renewed = lease_of($node)->{renewed_at};
reload_with($node, etcd_lease_ttl => '3s');
wait_for_ids($node, '0,1,2,3');
lease_becomes($node, "renewed_at > '$renewed'::timestamptz + interval '3 s'") or die 'no renewal';
reload_with($node, etcd_lease_ttl => '30s');
wait_for_ids($node, '0,1,2,3');
cmp_ok(moment($etcd->get('until/2')), '>', $limit, 'a high-water mark that is put right while a server holds the generator ID is written back');

# Given up, put right, and taken by another server.
my $end_of_log = -s $node->logfile;
reload_with($node, generator_ids => 'etcd:2', etcd_pool => '0-1');
wait_for_ids($node, '0,1');
# The view changes before etcd has it.
$node->wait_for_log(qr/flakeid released generator IDs 2-3/, $end_of_log);
ok(!defined({ $etcd->claims }->{2}), 'the server has given it up');
put('until/2', $past);
$other->start;
$other->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_ids($other, '2');
all_have_ids($other, '2', 'another server that takes it after the high-water mark was put right');
cmp_ok(moment($etcd->get('until/2')), '<', $limit, '... and the high-water mark is one of now');
$other->stop;

# Or by the same, which has begun above the old high-water mark until it is started again.
reload_with($node, generator_ids => 'etcd:4', etcd_pool => '0-3');
wait_for_ids($node, '0,1,2,3');
all_have_ids($node, '0 1 3', 'the server that had held it, before a restart');
$node->stop;
put('until/2', $past) if moment($etcd->get('until/2')) > $limit;
$node->start;
wait_for_ids($node, '0,1,2,3');
all_have_ids($node, '0 1 2 3', '... and after it, when the high-water mark was put right while the server was stopped');
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();
