# pg_combinebackup puts a full and an incremental backup together. The result has the state of the
# last one, and a server of it generates IDs above all that are in its tables.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('original');
$node->init(allows_streaming => 1);
if ($node->pg_version < 17) {
	plan skip_all => 'PostgreSQL ' . $node->pg_version . ' has no incremental backups';
}
# The clock of the original is ahead by an hour, that of the copy is right.
my $ahead = 3600;
my ($primary, $clock) =
  primary('primary', $ahead, configuration => "summarize_wal = on\narchive_mode = off\n");
insert_rows($primary, 100);
my $backups = $primary->backup_dir;
$primary->backup('full');
my $state = sub { slurp_file("$_[0]/flakeid/state") };
my $first = $state->("$backups/full");
wait_until('the state is written again',
	sub { insert_rows($primary, 1000); $state->($primary->data_dir) ne $first });
$primary->backup('increment',
	backup_options => [ '--incremental', "$backups/full/backup_manifest" ]);
my $last = $state->("$backups/increment");
isnt($last, $first, 'the two backups have different states');
command_ok([ 'pg_combinebackup', '-o', "$backups/combined", "$backups/full", "$backups/increment" ],
	'pg_combinebackup combines the backups');
is($state->("$backups/combined"), $last, 'the result has the state of the last one');
$primary->stop;

my ($restored, $of_restored) = successor('restored', $primary, 'combined', '');
repeats_none_behind($restored, $of_restored, $ahead, 'a server of a combined backup');

done_testing();
