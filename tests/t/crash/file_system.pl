# A file system that cannot sync directories stops no IDs, as it does not stop PostgreSQL. Any other
# error does.
use strict;
use warnings;
use lib 'tests/perl';

use FaultyDisk;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

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

done_testing();
