# What a server finds in etcd that is not its own: claims of others, also of a program that is not this one, high-water marks
# that lie ahead or that nobody can read, a cluster that has changed, and nothing at all where there was something.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds

my $etcd   = Etcd->new('found');
my $ledger = Ledger->new('found');

sub begin
{
	my ($name, %settings) = @_;
	my $node = $etcd->server($name, generator_ids => 'etcd:2', max_clock_wait => '100ms', %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

sub put
{
	my ($key, $value) = @_;
	$etcd->put($key, $value);
	return;
}

# Which clusters uniqueids are of.
sub clusters
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT string_agg(DISTINCT cluster_id::text, chr(32)) FROM uniqueid_next_batch(100) AS made (made), uniqueid_decode(made)');
}

# claims -----------------------------------------------------------------------------------------------------------

# The Java library's have no value; its registry is for those that never end.
put('pool/0:0', '');
put('pool/3:1', '');
put('registry/0:2', 'someone');
my $node = begin('one');
is(join(' ', wait_for_lease($node, 2)), '3 4', 'a generator ID is another\'s with any content of its claim, in any cluster, and if it is registered');
is(join(' ', map { $etcd->get($_) } 'pool/0:0', 'pool/3:1', 'registry/0:2'), '  someone', '... and what is there is left alone');

put('cluster-id', '6');
my $renewed = lease_of($node)->{renewed_at};
lease_becomes($node, "renewed_at > '$renewed'") or die 'the lease is not renewed';
is(clusters($node), '0', 'a cluster-id that changes is nothing to a server that holds a lease');
my $other = begin('other');
is(join(' ', wait_for_lease($other, 2)), '5 6', '... whose generator IDs another of the new cluster does not take');
is(clusters($other), '6', '... as flakes and snos have no cluster');
$node->restart;
wait_for_lease($node, 2);
is(clusters($node), '6', '... until its next lease');
$other->stop;
$node->stop;

# high-water marks --------------------------------------------------------------------------------------------------------------

$etcd->forget;
put('until/0', '2099-12-31T23:59:59.999999999Z');
$node->start;
is(join(' ', wait_for_lease($node, 2)), '1 2', 'a high-water mark that lies far ahead is avoided where others are free');
is($etcd->get('until/0'), '2099-12-31T23:59:59.999999999Z', '... and left alone');
$node->stop;

# Little enough for a test to wait for, and too much for a session. A machine may be so slow that all is done only when
# the clock is past the high-water marks; then these have to lie further ahead.
$other->append_conf('postgresql.conf', "flakeid.etcd_pool = '1-2'\n");
my (%high_water_marks, @held, %error);
for (my $ahead = 8;; $ahead *= 2)
{
	# Both are one moment, however long it takes to write them.
	my $high_water_mark = instant(int((time() + $ahead) * $second));
	put("until/$_", $high_water_mark) for 1, 2;
	%high_water_marks = $etcd->high_water_marks;
	$other->start;
	@held = wait_for_lease($other, 2);
	%error = map { $_->{name} => error_of($other, "SELECT $_->{next}") } @ID_TYPES;
	last if time() * $second < $high_water_marks{1};
	$other->stop;
}
is("@held", '1 2', 'where there are no others they are leased nevertheless');
for my $id_type (@LEASED)
{
	like(
		$error{ $id_type->{name} }, qr/ERROR:  58000: the clock is [\d.]+ m?s behind the last $id_type->{name} ID/,
		"... and $id_type->{name} has to wait for the clock");
}
is($error{ $_->{name} }, '', "$_->{name} needs nothing of etcd") for grep { $_->{cells} } @ID_TYPES;
wait_for_flow($other);
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($other, $id_type, 100);
	is($error, '', "... until it is past the high-water mark: $id_type->{name}") or next;
	cmp_ok((times_of($other, $id_type, @ids))[0] + $id_type->{tick}, '>', $high_water_marks{1}, '... and begins above it');
}
$other->stop;

# What it was, nobody knows: so it may have been anything.
put('until/1', 'tomorrow');
$other->start;
is(join(' ', wait_for_lease($other, 1)), '2', 'a generator ID whose high-water mark cannot be read is not leased');
is($etcd->get('until/1'), 'tomorrow', '... and the high-water mark left alone');
$other->wait_for_log(qr{LOG:  .*flakeid/until/1.*tomorrow});
wait_for_error($other, qr{flakeid/until/1.*tomorrow});
pass('... and log and view say so');
$other->stop;

# nothing ------------------------------------------------------------------------------------------------------------

$etcd->forget;
$node->start;
wait_for_lease($node, 2);
$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given;
$etcd->del;
lease_becomes($node, 'losses > 0') or die 'the loss is not told';
my @generators = wait_for_lease($node, 2);
wait_for_flow($node);
my %claims = $etcd->claims;
is(join(' ', sort keys %claims), "@generators", 'when all is deleted in etcd a server leases again');
is($etcd->get('cluster-id') . ' ' . $etcd->get('epoch'), '0 2010-01-01T00:00:00Z', '... and what all servers need is there again');
is(($ledger->ask($node, $_, 1000))[0], '', "... and goes on with $_->{name}") for @LEASED;
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
my @errors = map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed;
is(join('', grep { !/55000: / } @errors), '', '... the loss is all that sessions saw, if anything');
is($ledger->twice, '', 'no ID repeats');
$node->stop;

done_testing();
