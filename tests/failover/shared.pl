# A cluster under Patroni whose members all have the generator IDs 0 to 7. No ID repeats where the
# old leader generates none any more when the new one begins. Where Patroni leaves two members that
# take writes, IDs may repeat: the test counts them, and does not fail.
use strict;
use warnings;
use lib 'tests/perl';

use Failovers;
use PostgreSQL::Test::Utils;
use Test::More;

my $shared =
  Failovers::documented_configuration() =~ s/^ +flakeid\.etcd_.*\n//mgr =~ s/: etcd:8$/: 0-7/mr;
my $failovers = Failovers->new('shared', shared => $shared);
$failovers->run;

my %twice = $failovers->{writers}->twice;
my %shared = $failovers->{writers}->ticks_shared;
$failovers->report;
my ($of_all, $of_two) = (0, 0);
$of_all += $_                       for values %twice;
$of_two += $failovers->twice_in($_) for $failovers->rounds_of_two;
is($of_all - $of_two, 0, 'no ID repeats but in rounds in which two members could take writes');
for my $round ($failovers->rounds_of_one) {
	is($failovers->twice_in($round), 0, "no ID of round $round->{number} ($round->{kind}) repeats");
}
$failovers->say("IDs that repeat: " . join(', ', map { "$twice{$_} of $_" } @Writers::columns));
$failovers->say("ticks in which two members used one generator ID: "
	  . join(', ', map { "$shared{$_} of $_" } @Writers::columns));
$failovers->say("round $_->{number} ($_->{kind}): " . $failovers->twice_in($_) . ' of them')
  for grep { $failovers->twice_in($_) } @{ $failovers->{rounds} };
ok($failovers->finds_what_is_planted, 'an ID that is planted a second time is found');

done_testing();
