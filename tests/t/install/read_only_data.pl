# The data directory cannot be written: there are no IDs, and all else works. No ID repeats when it
# can be written again.
use strict;
use warnings;
use lib 'tests/perl';

use HeldIds;
use Ledger;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('read_only_data');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nfsync = on\n");
$node->start;
create_tables($node);
my $data = $node->data_dir;
chmod 0500, $data or die "could not make $data read-only: $!";
my $denied = 'could not create the directory of state file "flakeid/state": Permission denied';

for my $name (map { $_->{name} } @ID_TYPES) {
	like(
		error_of($node, "INSERT INTO ${name}s DEFAULT VALUES"),
		qr/ERROR:  42501: \Q$denied\E/,
		"a server with a read-only data directory generates no $name IDs");
}
my $others = 'SELECT sno_timestamp(sno_min(now())) >= now(), count(*) FROM flakes';
is($node->safe_psql('postgres', $others), 't|0', 'all else works with a read-only data directory');
chmod 0700, $data or die "could not make $data writable: $!";
is(insert_rows($node, 10), '', 'the server generates IDs when it can write');

chmod 0500, "$data/flakeid" or die "could not make the directory read-only: $!";
$node->restart;
is($node->safe_psql('postgres', 'SELECT count(*) FROM flakes'),
	'10', 'a server starts whose state can be read but not written');
like(
	insert_rows($node, 1),
	qr/ERROR:  42501: could not create state file ".*": Permission denied/,
	'a server that cannot write its state generates no IDs');
chmod 0700, "$data/flakeid" or die "could not make the directory writable: $!";
is(insert_rows($node, 10), '', 'the server generates IDs when it can write its state');
is(held($node), of_each(20), 'no ID is lost or repeats');
$node->stop;

done_testing();
