# Someone meddles with what a server has in etcd, or cuts the wire between: it gives up what is not its own any more
# and leases again, and all that it made lies below the high-water marks. So another server that has the generator IDs makes others.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd   = Etcd->new('meddled');
my $ledger = Ledger->new('meddled');

# One that makes no IDs, to read those of others.
my $reader = $etcd->server('reader', generator_ids => '0-7');
$reader->start;
$reader->safe_psql('postgres', 'CREATE EXTENSION flakeid');

sub begin
{
	my ($name, %settings) = @_;
	my $node = $etcd->server($name, %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# Ends the crowd on a server; returns its sessions.
sub end_crowd
{
	my ($node) = @_;
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
	return $ledger->dispersed;
}

# The errors that sessions had.
sub errors
{
	return join '', map { $_->{error} =~ /(ERROR: .*\n)/g } @_;
}

# Tests that what sessions were given is all below these high-water marks, each of its own generator ID. Few are above the
# least of them, and those alone are taken apart.
my %generator = (flake => 'datacenter * 32 + (d).worker', sno => '"partition"', uniqueid => 'generator_id');

sub below
{
	my ($test, $high_water_marks, @sessions) = @_;
	my ($least) = sort { $a <=> $b } values %$high_water_marks;
	my $values = join ', ', map { "($_, $high_water_marks->{$_})" } keys %$high_water_marks;
	my @beyond;
	for my $id_type (@LEASED)
	{
		my $name  = $id_type->{name};
		my @files = map { $_->{out} } grep { $_->{id_type} == $id_type } @sessions;
		push @beyond, $reader->safe_psql('postgres', join ' ',
			"CREATE TEMP TABLE made (name text, id $id_type->{type});", (map { "COPY made FROM '$_';" } @files), <<"SQL");
SELECT '$name', high_water_mark.id, high_water_mark.nanos, count(*), max((d).created_at)
FROM (SELECT ${name}_decode(id) AS d FROM made WHERE ${name}_timestamp(id) >= to_timestamp($least / 1000000000.0 - 0.01)) AS late
LEFT JOIN (VALUES $values) AS high_water_mark (id, nanos) ON high_water_mark.id = (d).$generator{$name}
WHERE high_water_mark.id IS NULL OR (extract(epoch FROM (d).created_at) * 1000000)::bigint * 1000 >= high_water_mark.nanos GROUP BY 1, 2, 3
SQL
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", grep { $_ ne '' } @beyond), '', $test);
}

# the lease is revoked ---------------------------------------------------------------------------------------------

my $node    = begin('revoked', generator_ids => 'etcd:4', etcd_pool => '4-1023');
my $session = session($node);
wait_for_lease($node, 4);
for my $losses (1, 2)
{
	$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
	$ledger->wait_until_given(0.3);
	my $hex = lease_of($node)->{lease_id};
	my $end_of_log = -s $node->logfile;
	$etcd->ctl('lease', 'revoke', $hex);
	lease_becomes($node, "losses = $losses AND state = 'held'") or die 'the loss is not told';
	my @ids = wait_for_lease($node, 4);
	wait_for_flow($session);
	my $lease  = lease_of($node);
	my %claims = $etcd->claims;
	isnt($lease->{lease_id}, $hex, 'when its lease is revoked a server counts the loss and leases again');
	is(join(' ', map { $claims{$_}{lease} } @ids), join(' ', ($lease->{lease_id}) x 4), '... which etcd has');
	$node->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs .*\n(?:.*\n)*.*LOG:  flakeid leased generator IDs/, $end_of_log);
	pass('... and the log');
	my @these = end_crowd($node);
	is(join('', errors(@these) =~ /^(?!ERROR:  55000: (?:the lease|no generator IDs|all generator IDs)).+$/mg), '', '... the loss is all that sessions saw, if anything');
	below('... and what they were given is below the high-water marks', { $etcd->high_water_marks }, @these);
	is($ledger->twice, '', '... with no ID twice');
}

# a claim is deleted -------------------------------------------------------------------------------------------------

# It can take a lower one instead of the one that goes, and does not take that one again before the other server has it.
# Another server waits for it, and so has it while the first makes IDs with it.
reload_with($node, etcd_pool => '0-1023');
my ($gone) = (wait_for_lease($node, 4))[1];
my $heir = begin('heir', generator_ids => 'etcd:1', etcd_pool => "$gone-$gone");
$heir->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);
$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given(0.3);
my $hex = lease_of($node)->{lease_id};
$etcd->del("pool/0:$gone");
is(join(' ', wait_for_lease($heir, 1)), $gone, 'a claim that is deleted is another\'s at once');
wait_for_flow($heir);
$ledger->ask($heir, $_, 1000) for @LEASED;
ok(
	lease_becomes($node, "cardinality(generator_ids) = 4 AND NOT $gone = ANY (generator_ids)"),
	'... and the server that had it gives it up and takes another');
is(lease_of($node)->{lease_id}, $hex, '... while the lease goes on');
my %claims = $etcd->claims;
is((grep { $claims{$_}{port} != $node->port } wait_for_lease($node, 4)), 0, '... all that it holds is its own');
my @these = end_crowd($node);
is(errors(@these), '', '... and no session saw anything of it');
is($ledger->twice, '', '... with no ID twice');
$heir->stop;
$session->quit;
$node->stop;
below('when the server is stopped the high-water marks are still above all it made', { $etcd->high_water_marks }, @these);

# the wire is cut ------------------------------------------------------------------------------------------------------

my $wire = $etcd->wire;
my %pool = (generator_ids => 'etcd:2', etcd_pool => '200-201', etcd_lease_ttl => '10s', max_clock_wait => '100ms');
$node = begin('cut', %pool, etcd_endpoints => $wire->{endpoint});
wait_for_lease($node, 2);
$session = session($node);
$heir = begin('whole', %pool);
$heir->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);
$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given(0.3);
my $end_of_log = -s $node->logfile;
$wire->cut;
$node->wait_for_log(qr/WARNING:  flakeid has not renewed its lease/, $end_of_log);
my %high_water_marks = $etcd->high_water_marks;
@these = $ledger->dispersed;
is(
	scalar(grep { $_->{error} =~ /ERROR:  55000: the lease of this server's generator IDs was lost/ } @these), scalar @these,
	'when a server is cut off its sessions go on until its lease is lost');
below('... below the high-water marks', { map { $_ => $high_water_marks{$_} } 200, 201 }, @these);
is(join(' ', wait_for_lease($heir, 2)), '200 201', '... then another has its generator IDs');
wait_for_flow($heir);
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($heir, $id_type, 1000);
	is($error, '', "... and makes $id_type->{name} IDs");
	my @generators = generators_of($heir, $id_type, @ids);
	my ($least) = sort { $a <=> $b } map { $high_water_marks{$_} } @generators;
	cmp_ok((times_of($heir, $id_type, @ids))[0] + $id_type->{tick}, '>', $least, '... above the high-water marks');
}
like(error_in($session, "SELECT $_->{next}"), qr/ERROR:  55000: /, "... while the one that is cut off makes no $_->{name}") for @LEASED;
$wire->heal;
$node->wait_for_log(qr/LOG:  flakeid waits for generator IDs/, $end_of_log);
like(error_in($session, 'SELECT flake_next()'), qr/ERROR:  55000: /, 'when the wire is whole again it waits for the other');
$heir->stop;
wait_for_flow($session);
$ledger->enter($session->query_safe("SELECT '$_->{name}' || chr(9) || $_->{next} FROM generate_series(1, 1000)")) for @LEASED;
pass('... and has IDs when that is stopped, in the session that stays');
is($ledger->twice, '', 'no ID repeats');
$session->quit;
$node->stop;
$reader->stop;

done_testing();
