# A cluster that its group can read (initdb -g): in a base backup, a standby of it and a copy that a
# member of the group makes of the files, flakeid's files have the permissions of PostgreSQL's own.
use strict;
use warnings;
use lib 'tests/perl';

use File::Find;
use Moves;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# With this umask of ours only the permissions that a program asks for reach the group.
umask 0027;
my $primary = flakeid_server('primary', '', extra => ['-g'], allows_streaming => 1);
$primary->safe_psql('postgres', 'SELECT flake_next(), flakeid_watermark()');

# Tests that the directory of the state has the permissions of the data directory, and each file in
# it those of PG_VERSION.
sub is_of_group {
	my ($data, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %modes;
	find(sub { $modes{$File::Find::name} = sprintf '%04o', (stat)[2] & 07777 },
		"$data/flakeid", "$data/PG_VERSION");
	my $of_file = delete $modes{"$data/PG_VERSION"};
	is($of_file, '0640', "$test: the group can read PG_VERSION");
	my %expected = map { $_ => -d $_ ? '0750' : $of_file } keys %modes;
	cmp_ok(scalar keys %modes, '>=', 4, "$test: there are files of flakeid");
	return is_deeply(\%modes, \%expected, "$test: the group can read all files of flakeid");
}

is_of_group($primary->data_dir, 'the cluster');
$primary->backup('base');
is_of_group($primary->backup_dir . '/base', 'a base backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
chmod 0750, $standby->data_dir or die "could not change the data directory: $!";
$standby->start;
my $before = slurp_file($standby->data_dir . '/flakeid/state');
$primary->safe_psql('postgres', 'SELECT flake_next(); CHECKPOINT');
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
$standby->promote;
is(error_of($standby, 'SELECT flake_next()'), '', 'a standby generates IDs after its promotion');
isnt(slurp_file($standby->data_dir . '/flakeid/state'), $before, 'it has written its state');
is_of_group($standby->data_dir, 'the promoted standby');
has_place($standby, 2, 'it has written its place');
$standby->stop;

subtest 'a directory that the group cannot read' => sub {
	$primary->stop;
	my $private = flakeid_server('private');
	$private->safe_psql('postgres', 'SELECT flake_next()');
	is(sprintf('%04o', (stat $private->data_dir . "/flakeid$_->[0]")[2] & 07777),
		$_->[1], "without -g flakeid$_->[0] has the mode $_->[1]")
	  for [ '', '0700' ], [ '/state', '0600' ], [ '/location', '0600' ];
	$private->stop;
};

done_testing();
