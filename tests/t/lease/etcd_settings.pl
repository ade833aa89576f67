# The settings for etcd: values that are not valid, an endpoint that never answers, and endpoints
# without a scheme.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Leases;
use Server;
use Test::More;

my $etcd = Etcd->new('settings');
my $node = $etcd->start_server('node');
$node->safe_psql('postgres', 'CREATE ROLE ordinary');

my %bad = (
	generator_ids => [ 'etcd:', 'etcd:0', 'etcd:65', 'etcd:x', 'etcd:-1' ],
	etcd_endpoints => [ 'http://u:p@127.0.0.1:1', 'ftp://127.0.0.1', 'http://', '127.0.0.1:port' ],
	etcd_namespace => ['new,old/'],
	etcd_pool => [ '7-3', 'x', '0-', '0-65536' ],
	etcd_lease_ttl => [ '2s', '2h' ]);
for my $name (sort keys %bad) {
	my @errors = map { error_of($node, "ALTER SYSTEM SET flakeid.$name = '$_'") } @{ $bad{$name} };
	my $reason = qr/ERROR:  22023: (?:.*\(3 .*3600|.*flakeid\.$name.*\n(?:.*\n)*DETAIL:  .)/;
	is((grep { !/$reason/ } @errors), 0, "wrong values of $name are refused with the reason");
	like(
		error_of($node, "SET SESSION AUTHORIZATION ordinary; SET flakeid.$name = '5'"),
		qr/ERROR:  (?:55P02|42501): /,
		"an ordinary user cannot set $name");
}
$node->stop;

# An endpoint that never answers, and endpoints without a scheme, which speak http.
my $silent = Etcd->silent_endpoint;
my $plain = $etcd->endpoints =~ s{http://}{}r;
my $second = $etcd->start_server('second', etcd_endpoints => "$silent->{endpoint}, $plain");
wait_for_lease($second, 2);
ok(lease_becomes($second, "endpoint ~ '$plain\$'"),
	'where the first endpoint never answers, the server goes to the second');
set($second, etcd_endpoints => $silent->{endpoint});
$second->restart;
lease_becomes($second, "state = 'starting'");
refuses(
	$second,
	qr/ERROR:  55000: no generator IDs are leased from etcd yet/,
	'where no endpoint answers, the server runs, and sessions get an error');
$second->stop('fast');

done_testing();
