# Four servers that lease their generator IDs from an etcd of three members: while its leader changes, a member
# is killed and a server is restarted, all go on, and no ID repeats.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $etcd   = Etcd->new('fleet', members => 3);
my $ledger = Ledger->new('fleet');

# Long enough that no renewal comes too late while etcd is without a leader, on a machine which has this much to do.
my @nodes = map { $etcd->server("server$_", generator_ids => 'etcd:4', etcd_lease_ttl => '30s') } 1 .. 4;

sub crowd
{
	my ($number) = @_;
	$ledger->crowd($nodes[$number], id_types => \@LEASED, ways => [ $number % 2 ? 'single' : 'batch' ]);
	return;
}

# Which server has which generator IDs: the leases of all.
sub holders
{
	my %of;
	for my $node (@nodes)
	{
		push @{ $of{$_} }, $node->name for wait_for_lease($node, 4);
	}
	return %of;
}

# Waits until every server has renewed its lease since now.
sub all_renew
{
	my ($test) = @_;
	my $now = time();
	my @late = grep {
		!lease_becomes($_, "state = 'held' AND renewed_at > to_timestamp($now)")
	} @nodes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join(' ', map { $_->name } @late), '', $test);
}

sub all_give
{
	my ($test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $id_type (@LEASED)
	{
		is(join("\n", map { ($ledger->ask($_, $id_type, 100))[0] } @nodes), "\n\n\n", "$test: $id_type->{name}");
	}
	return;
}

# They all wait for etcd, and so claim in the same moment.
$etcd->pause;
for my $node (@nodes)
{
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
}
$etcd->continue;
my %of = holders();
is(scalar(keys %of), 16, 'four servers that claim at once have generator IDs of their own')
  or diag(join "\n", map { "$_: @{ $of{$_} }" } sort keys %of);
crowd($_) for 0 .. 3;
$ledger->wait_until_given(1);

my $old = $etcd->leader;
$etcd->pause($old);
my $leader = $etcd->leader;
isnt($leader, $old, 'etcd has another leader');
all_renew('... and all servers renew their leases while the old one does not answer');
$etcd->continue($old);
all_renew('... and when it answers again');
all_give('... and go on');

$etcd->kill($leader);
isnt($etcd->leader, $leader, 'the leader is killed and another leads');
all_renew('... all servers renew their leases by the two members left');
all_give('... and go on');

$nodes[0]->stop;
$nodes[0]->start;
%of = holders();
is(scalar(keys %of), 16, 'a server that is restarted at that time has generator IDs of its own again')
  or diag(join "\n", map { "$_: @{ $of{$_} }" } sort keys %of);
crowd(0);
$ledger->wait_until_given(1);
$etcd->start($leader);
all_renew('the member comes back, and all renew their leases');
all_give('... and go on');

is(join(' ', map { lease_of($_)->{losses} } @nodes), '0 0 0 0', 'none has lost its lease');
my %claims = $etcd->claims;
is(
	join(' ', map { "$_:$claims{$_}{port}" } sort { $a <=> $b } keys %claims),
	join(' ', map { my ($name) = @{ $of{$_} }; "$_:" . (grep { $_->name eq $name } @nodes)[0]->port } sort { $a <=> $b } keys %of),
	'... and the claims are theirs');

$_->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'") for @nodes;
is(join('', map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed), '', 'no session had an error');
is($ledger->twice, '', 'no ID repeats from any two servers');
$_->stop for @nodes;

done_testing();
