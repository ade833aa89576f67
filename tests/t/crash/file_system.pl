# Files and directories are as PostgreSQL's own: a file system that cannot sync directories stops no
# IDs, and the group can read what it can read of the cluster (initdb -g).
use strict;
use warnings;
use lib 'tests/perl';

use FaultyDisk;
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# a file system that cannot sync directories -----------------------------------------------------

my $disk = FaultyDisk->new;
my $node = PostgreSQL::Test::Cluster->new('faulty');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.horizon_lead = '1ms'\n");
{
	local %ENV = (%ENV, $disk->environment($ENV{LD_PRELOAD}));
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
# Waits until the state was written again.
sub is_written {
	my ($what) = @_;
	my $writes = $node->safe_psql('postgres', 'SELECT writes FROM pg_stat_flakeid_horizon');
	ok( $node->poll_query_until(
			'postgres',
			"SELECT flake_next() > 0 AND (SELECT writes FROM pg_stat_flakeid_horizon) > $writes"),
		$what);
	return;
}
for my $error ('EINVAL', 'EBADF') {
	$disk->becomes('directories_' . lc $error);
	is_written("a file system that answers $error when a directory is synced stops no IDs");
	is(error_of($node, 'SELECT flake_next(), flakeid_watermark()'),
		'', "a file system that answers $error stops no reader");
	$disk->ends('directories_' . lc $error);
}
is($node->safe_psql('postgres', 'SELECT failures FROM pg_stat_flakeid_horizon'),
	0, 'no write counts as a failure');
$disk->becomes('directory_eio');
my $failure = qr/could not sync the directory of state file "flakeid\/state"/;
my $refusal = qr/ERROR:  58030: $failure: Input\/output error\n/;
like(error_becomes($node, 'SELECT flake_next()', $refusal),
	$refusal, 'all other errors stop the IDs');
$disk->ends('directory_eio');
is_written('without the error there are IDs again');
# PostgreSQL goes on here, too, for Windows. On Linux the directory could be synced, and is not.
my $directory = $node->data_dir . '/flakeid';
chmod 0300, $directory or die "could not change $directory: $!";
$refusal = qr/ERROR:  42501: $failure: Permission denied\n/;
like(error_becomes($node, 'SELECT flake_next()', $refusal),
	$refusal, 'a directory that the server may not open to sync it stops the IDs');
chmod 0700, $directory or die "could not change $directory: $!";
is_written('with its permissions back there are IDs again');
$node->stop;

# a cluster that its group can read --------------------------------------------------------------

# The modes of all that a cluster has of flakeid, and of what is in the way if it is not removed.
sub modes_of {
	my ($node) = @_;
	my %modes;
	find(
		{
			no_chdir => 1,
			wanted => sub {
				$modes{ -d $_ ? 'directories' : 'files' }{ sprintf '%04o', (stat)[2] & 07777 } = 1;
			}
		},
		$node->data_dir . '/flakeid');
	return { map { $_ => join ' ', sort keys %{ $modes{$_} } } keys %modes };
}

for my $case ([ 'private', [], '0700', '0600' ], [ 'of_group', ['-g'], '0750', '0640' ]) {
	my ($name, $options, $directory, $file) = @$case;
	my $cluster = PostgreSQL::Test::Cluster->new($name);
	$cluster->init(extra => $options, allows_streaming => 1);
	$cluster->append_conf('postgresql.conf', <<~'CONF');
		shared_preload_libraries = 'flakeid'
		max_prepared_transactions = 2
		flakeid.moved_state = 'log'
		CONF
	$cluster->start;
	is(sprintf('%04o', (stat $cluster->data_dir)[2] & 07777),
		$directory, "the data directory of the cluster \"$name\" has the mode $directory");
	$cluster->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$cluster->safe_psql('postgres', 'SELECT flake_next(), flakeid_watermark()');
	is_deeply(
		modes_of($cluster),
		{ directories => $directory, files => $file },
		"in the cluster \"$name\" flakeid's files have the modes of PostgreSQL's");
	# What an administrator does who follows docs/troubleshooting.md.
	my $data = $cluster->data_dir;
	chmod 0500, "$data/flakeid";
	my $script = 'chmod --reference="$0" "$0/flakeid"'
	  . ' && chmod --reference="$0/PG_VERSION" "$0"/flakeid/*';
	system_or_bail('sh', '-c', $script, $data);
	is_deeply(
		modes_of($cluster),
		{ directories => $directory, files => $file },
		"in the cluster \"$name\" the page's commands set these modes");
	$cluster->stop;
}

done_testing();
