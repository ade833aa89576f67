# flakeid's files have the permissions of PostgreSQL's own, in a cluster that its group can read
# (initdb -g) and in others: also in a base backup and on a standby, and after the commands of
# docs/troubleshooting.md.
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
my $configuration = "max_prepared_transactions = 2\n";

# Tests that the directory of the state has the permissions of the data directory, and each file in
# it those of PG_VERSION.
sub has_modes {
	my ($data, $of_directory, $of_file, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %modes;
	find(sub { $modes{$File::Find::name} = sprintf '%04o', (stat)[2] & 07777 },
		"$data/flakeid", "$data/PG_VERSION");
	my %expected = map { $_ => -d $_ ? $of_directory : $of_file } keys %modes;
	cmp_ok(scalar keys %modes, '>=', 5, "$test: there are files of flakeid");
	return is_deeply(\%modes, \%expected, "$test: all files have the modes of PostgreSQL's");
}

# Starts a cluster with all files of flakeid.
sub cluster {
	my ($name, @options) = @_;
	my $node = flakeid_server($name, $configuration, extra => \@options, allows_streaming => 1);
	$node->safe_psql('postgres', 'SELECT flake_next(), flakeid_watermark()');
	return $node;
}

# Tests the modes of a cluster and of its backup, and those that an administrator sets who follows
# docs/troubleshooting.md.
sub cluster_has_modes {
	my ($node, @modes) = @_;
	my $name = $node->name;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	has_modes($node->data_dir, @modes, "the cluster \"$name\"");
	$node->backup('base');
	has_modes($node->backup_dir . '/base', @modes, "a base backup of \"$name\"");
	chmod 0500, $node->data_dir . '/flakeid';
	my $script = 'chmod --reference="$0" "$0/flakeid"'
	  . ' && chmod --reference="$0/PG_VERSION" "$0"/flakeid/*';
	system_or_bail('sh', '-c', $script, $node->data_dir);
	return has_modes($node->data_dir, @modes, "\"$name\" after the page's commands");
}

my $private = cluster('private');
cluster_has_modes($private, '0700', '0600');
$private->stop;

my @of_group = ('0750', '0640');
my $primary = cluster('of_group', '-g');
cluster_has_modes($primary, @of_group);
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
has_modes($standby->data_dir, @of_group, 'the promoted standby');
has_place($standby, 2, 'it has written its place');
$_->stop for $standby, $primary;

done_testing();
