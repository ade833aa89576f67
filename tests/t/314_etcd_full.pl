# An etcd that is full: IDs stop when the lease ends, and come back by themselves after the repair that docs/fleet.md shows.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($section) = slurp_file('docs/fleet.md') =~ /^### Keep etcd from filling up\n(.*?)^### /ms or die 'the page has no such section';
my ($repair) = $section =~ /^\*\*When etcd is full\*\*.*?\n\n((?:    \$ .*\n)+)/ms or die 'the page has no repair';
my @repair = $repair =~ /^    \$ (.*)$/mg;
is(scalar @repair, 3, 'the page repairs etcd by three commands');

my $etcd = Etcd->new('full', options => [ '--quota-backend-bytes', 2_000_000 ]);
my $node = $etcd->brief_server('server');
wait_for_lease($node, 2);
my $last = $node->safe_psql('postgres', 'SELECT flake_next()');

# Old values of one key, as renewals leave them.
my ($value, $error) = ('x' x 100_000, '');
while ($error eq '')
{
	eval { $etcd->ctl('put', 'filler', $value); 1 } or $error = $@;
}
like($error, qr/mvcc: database space exceeded/, 'etcd is full');
wait_until_lost($node);
like(wait_for_error($node, qr/mvcc/), qr/mvcc: database space exceeded\z/, 'a server that leases from it loses its lease, and its view says why');
like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: the lease of this server's generator IDs was lost .* ago\nDETAIL:  .*mvcc: database space exceeded/s,
	'it generates no flakes');
is($node->safe_psql('postgres', 'SELECT flake128_next() IS NOT NULL, guid_next() IS NOT NULL'), 't|t', 'it goes on generating flake128s and guids');

my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
$etcd->shell($_) for @repair;
wait_for_flow($node);
is($node->safe_psql('postgres', "SELECT flake_next() > $last, pg_postmaster_start_time() = '$started'"), 't|t',
	'after the repair IDs come back, above the last, without a restart');
is_deeply([ wait_for_lease($node, 2) ], [ 0, 1 ], 'they have the same generator IDs as before');

$node->stop;
done_testing();
