# Replies of etcd's protocol that etcd does not give, at once and again and again: the worker says what is wrong with
# them, goes on asking once a second, leases nothing, and the server stops. A worker that takes such a reply for one that
# leads further would ask without an end, and would not hear that it must stop.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FakeEtcd;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('false_replies');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
log_statement = none
flakeid.generator_ids = 'etcd:2'
flakeid.etcd_pool = '0-3'
flakeid.max_clock_wait = '100ms'
END

# A listing is asked for with the key of the cluster in it; a page of it begins with a key.
my $is_listing = sub { my ($question) = @_; return $question =~ /cluster-id/ };
my $is_page    = sub { my ($question) = @_; return $question =~ /\A\x0a.flakeid\//s };

my %false = (
	'high-water marks that are left out' => {
		answer => sub { my ($question) = @_; return $is_listing->($question) ? listing(until => [ map { "until/$_" } 0 .. 3 ]) : '' },
		error  => qr/etcd sent an incomplete reply/,
	},
	'a listing of which a part is left out' => {
		answer => sub { return number(2, 1) },
		error  => qr/etcd sent an incomplete reply/,
	},
	'a listing that begins again' => {
		answer => sub {
			my ($question) = @_;
			return listing(pool => [ 'pool/0:2', 'more' ]) if $is_listing->($question);
			return $is_page->($question) ? FakeEtcd::page('pool/0:1', 'more') : '';
		},
		error => qr/etcd sent keys outside the requested range/,
	},
	'a lease of no time' => {
		answer => sub { my ($question) = @_; return $is_listing->($question) ? listing() : '' },
		error  => qr/etcd granted a lease of 0 s/,
	},
);
for my $what (sort keys %false)
{
	my $endpoint = FakeEtcd->start($false{$what}{answer});
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '$endpoint'\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS flakeid');
	ok(wait_for_error($node, $false{$what}{error}), "$what: the worker says so");
	isnt(lease_of($node)->{state}, 'held', '... leases nothing');
	like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: no generator IDs are leased from etcd yet/, '... and sessions get an error');
	$node->stop('fast');
	pass('... and the server stops');
}

done_testing();
