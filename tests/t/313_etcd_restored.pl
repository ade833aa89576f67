# An etcd that has the data of an earlier registry again, and a standby that is promoted after its primary's etcd has lost
# its data several times. A registry names those that it follows, and servers remember these.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use JSON::PP;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $ledger = Ledger->new('restored');

# etcd is restored to what it was before a loss ---------------------------------------------------------------------------

my $volume = Etcd->new('volume');
my @fleet  = $volume->brief_server('fleet_0', etcd_pool => '0-7');
wait_for_lease($fleet[0], 2);
my $r1      = $volume->get('registry-id');
my $earlier = $volume->copy_data;
my $before  = lease_of($fleet[0])->{losses};
$volume->lose_data;
wait_for_loss($fleet[0], $before);
my ($r2) = $volume->get('registry-id') =~ /\A(\w{16}),$r1\z/;
ok(defined $r2, 'etcd starts without its volume, and a server founds the registry again');
wait_out_grace($volume);
push @fleet, $volume->brief_server('fleet_1', etcd_pool => '0-7');
wait_for_lease($_, 2) for @fleet;
is_deeply(memory_of($_)->{followed}, [$r1], '... and all servers that lease from it remember what it followed: ' . $_->name) for @fleet;
my $later = $volume->copy_data;
for my $case ([ $earlier, $r1, $r1, $r2 ], [ $later, "$r2,$r1", $r2, $r1 ])
{
	my ($data, $value, $now, $then) = @$case;
	my @running = @fleet;
	$ledger->crowd($_, id_types => \@LEASED, ways => ['single']) for @fleet;
	$ledger->wait_until_given;
	my @ends          = map { -s $_->logfile } @running;
	my @losses_before = map { lease_of($_)->{losses} } @running;
	$volume->lose_data($data);
	wait_for_loss($running[$_], $losses_before[$_]) for 0 .. $#running;
	# One that remembers no set-back begins it for another reason, if it is the first to notice.
	like(join('', map { slurp_file($running[$_]->logfile, $ends[$_]) } 0 .. $#running),
		$now eq $r1 ? qr/DETAIL:  Its ID is an earlier one\. / : qr/found that etcd has forgotten leases/,
		'where etcd has the data of an earlier registry again, or of a later one, there is a grace period');
	push @fleet, $volume->brief_server('fleet_' . @fleet, etcd_pool => '0-7') if @fleet < 3;
	my %of = map { $_ => 1 } map { wait_for_lease($_, 2) } @fleet;
	is(scalar(keys %of), 6, '... and then all lease from it, each its own generator IDs');
	is($volume->get('registry-id'), $value, '... with the ID that it has');
	is_deeply([ @{ memory_of($_) }{qw(registry_id followed)} ], [ $now, [$then] ], '... and the others remember what it was before the restore: ' . $_->name) for @fleet[ 0, 1 ];
	$ledger->wait_until_given(1);
	$_->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'") for @fleet;
	$ledger->dispersed;
	is($ledger->twice, '', '... and no ID repeats');
}

# A memory of the format that has not what the registry followed.
$_->stop for @fleet;
my $memory = memory_of($fleet[0]);
delete @$memory{qw(followed left address_revision)};
$memory->{flakeid_etcd} = 2;
my $document = JSON::PP->new->encode($memory);
unlink $fleet[0]->data_dir . '/flakeid/etcd';
append_to_file($fleet[0]->data_dir . '/flakeid/etcd', checksummed($document . "\n" x (4096 - 15 - length $document)));
$fleet[0]->start;
wait_for_lease($fleet[0], 2);
is_deeply([ @{ memory_of($fleet[0]) }{qw(flakeid_etcd followed)} ], [ 4, [$r1] ], 'a server reads a memory of the format before, and adds what its registry followed');
$fleet[0]->stop;

# a standby is promoted after several losses -----------------------------------------------------------------------------

my $base    = Etcd->new('base');
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', $base->configuration(generator_ids => 'etcd:2', etcd_pool => '0-7', etcd_lease_ttl => '10s', max_clock_wait => '100ms'));
$primary->start;
create_tables($primary);
wait_for_lease($primary, 2);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $chain = $base->get('registry-id');
is(memory_of($standby)->{registry_id}, $chain, 'a standby remembers the registry that its primary leased from then');
for (1 .. 2)
{
	my $losses_before = lease_of($primary)->{losses};
	$base->lose_data;
	wait_for_loss($primary, $losses_before);
	like($base->get('registry-id'), qr/\A\w{16},$chain\z/, '... when etcd has lost its data, the primary names all that were lost');
	$chain = $base->get('registry-id');
}
wait_out_grace($base);
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;
wait_for_lease($standby, 2);
is($base->get('registry-id'), $chain, '... so the promoted standby leases there');
is(join(',', @{ memory_of($standby) }{registry_id}, @{ memory_of($standby)->{followed} }), $chain, '... and remembers all that its primary did');
$standby->stop;

done_testing();
