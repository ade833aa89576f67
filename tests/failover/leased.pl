# A cluster under Patroni whose members lease their generator IDs from the etcd that Patroni uses,
# configured as docs/fleet.md shows. Its leader changes in five ways, and no ID repeats, also where
# the old leader continues to generate IDs beside the new one.
use strict;
use warnings;
use lib 'tests/perl';

use Failovers;
use PostgreSQL::Test::Utils;
use Test::More;

my $shared = Failovers::documented_configuration();
my ($namespace) = $shared =~ /flakeid\.etcd_namespace: (\S+)/;
my $failovers = Failovers->new('leased', shared => $shared, namespace => $namespace);
$failovers->run;

my %twice = $failovers->{writers}->twice;
my %shared = $failovers->{writers}->ticks_shared;
for my $type (@Writers::columns) {
	is($twice{$type}, 0, "no $type ID repeats");
	is($shared{$type}, 0, "no two members generated ${type}s with one generator ID in one tick");
}
$failovers->report;
ok($failovers->finds_what_is_planted, 'an ID that is planted a second time is found');

done_testing();
