# etcd is not there, when a server starts or later, for a short time or a long one, as a whole or in part: IDs go on
# for as long as the lease is good, then there are no IDs, and they come back by themselves when etcd does.
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
use Time::HiRes qw(time sleep);

my @others = grep { $_->{cells} } @ID_TYPES;
my $late   = qr/WARNING:  flakeid has not renewed its lease of generator IDs for /;
my $again  = qr/LOG:  flakeid renews its lease of generator IDs again/;

# How long the leases are that are lost, in seconds.
my $ttl = 10;

my $ledger = Ledger->new('away');
my $etcd   = Etcd->new('away', idle => 1);
my ($node, $session, $end_of_log);

sub begin
{
	my ($name, %settings) = @_;
	$node = $etcd->server($name, generator_ids => 'etcd:4', etcd_lease_ttl => "${ttl}s", max_clock_wait => '100ms', %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$session = session($node);
	return;
}

# Some IDs of each ID type, in the session that stays.
sub give
{
	$ledger->enter($session->query_safe("SELECT '$_->{name}' || chr(9) || $_->{next} FROM generate_series(1, 1000)")) for @LEASED;
	return;
}

# Tests that every session that asks is refused, with this reason, and is given all else.
sub refused
{
	my ($reason, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $id_type (@LEASED)
	{
		for my $error (error_in($session, "SELECT $id_type->{next}"), error_of($node, 'SELECT count(*) FROM ' . sprintf $id_type->{batch}, 10))
		{
			like($error, qr/ERROR:  55000: $reason/, "$test: $id_type->{name}");
			like($error, qr/DETAIL:  .*\nHINT:  ./, '... with a detail and a hint');
		}
	}
	is(error_in($session, "SELECT $_->{next}"), '', "... while there is $_->{name}") for @others;
	return;
}

# How many warnings of a late renewal the log has since the last `$end_of_log`, but for those after which it was renewed.
sub warned
{
	my $log = slurp_file($node->logfile, $end_of_log);
	return (() = $log =~ /$late/g) - (() = $log =~ /$again/g);
}

# How many IDs of an ID type sessions were given whose times lie above a moment, in seconds since 1970, and how many in
# the last third of a lease up to it, which begins after the warning.
sub count_around
{
	my ($id_type, $moment, @sessions) = @_;
	my @files = map { $_->{out} } grep { $_->{id_type} == $id_type } @sessions;
	return split /\|/, $node->safe_psql('postgres', join ' ',
		"CREATE TEMP TABLE made (name text, id $id_type->{type});", (map { "COPY made FROM '$_';" } @files), <<"SQL");
SELECT count(*) FILTER (WHERE at > to_timestamp($moment)), count(*) FILTER (WHERE at BETWEEN to_timestamp($moment - $ttl / 3.0) AND to_timestamp($moment))
FROM made, LATERAL (SELECT $id_type->{name}_timestamp(id)) AS time (at)
SQL
}

# What a crowd goes through while etcd is away for longer than the lease, and who comes later. `$goes` makes it go
# away, `$comes` lets it come back.
sub outage
{
	my ($what, $goes, $comes) = @_;
	my $losses = lease_of($node)->{losses};
	$end_of_log = -s $node->logfile;
	$ledger->crowd($node, id_types => \@LEASED, ways => [ 'single', 'batch' ]);
	$ledger->wait_until_given(0.5);
	$goes->();
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (warned() == 1)
	{
		die 'there is no warning' if time() > $until;
		sleep 0.1;
	}
	pass("$what: at half of the lease's time the log has a warning");
	# It does not move any more.
	my $ceiling = $node->safe_psql('postgres', 'SELECT extract(epoch FROM high_water_mark) FROM pg_stat_flakeid_lease');
	my @sessions = $ledger->dispersed;
	like(
		$_->{error}, qr/ERROR:  55000: the lease of this server's generator IDs was lost .* ago/,
		"... sessions go on until they are told that the lease is lost: $_->{id_type}{name} ($_->{way})")
	  for @sessions;
	for my $id_type (@LEASED)
	{
		my ($above, $up_to) = count_around($id_type, $ceiling, @sessions);
		is($above, 0, "... none beyond the ceiling: $id_type->{name}");
		cmp_ok($up_to, '>', 0, '... but up to it');
	}
	refused(qr/the lease of this server's generator IDs was lost .* ago/, '... and who comes later is refused');
	$node->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs/, $end_of_log);
	is(warned(), 1, '... the log has one warning before the loss');
	my $lease = lease_of($node);
	is($lease->{losses}, $losses + 1, '... the view has counted it');
	is((grep { !defined $lease->{$_} } 'lost_at', 'last_error', 'last_error_at'), 0, '... and says when, and what etcd\'s last error was');

	$comes->();
	wait_for_flow($session);
	give();
	is(scalar(my @ids = wait_for_lease($node, 4)), 4, "$what: when it is back there are IDs, in the session that stays");
	is($ledger->twice, '', '... and none repeats');
	return;
}

# not there at start -------------------------------------------------------------------------------------------

begin('early');
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'where etcd is not there a server starts, and serves');
lease_becomes($node, 'last_error IS NOT NULL') or die 'there is no error';
refused(qr/no generator IDs are leased from etcd yet/, '... but for IDs that need a lease');
my $lease = lease_of($node);
is($lease->{state}, 'starting', '... the view says that it has never held one');
# It may change between the two.
my ($error, $seen);
do
{
	$seen  = lease_of($node)->{last_error};
	$error = error_in($session, 'SELECT flake_next()');
} until $seen eq lease_of($node)->{last_error};
like($error, qr/DETAIL:  .*\Q$seen\E/, '... and the detail is the view\'s error');
$etcd->start;
$etcd->found;
wait_for_flow($session);
give();
is(scalar(my @ids = wait_for_lease($node, 4)), 4, 'when etcd comes there are IDs, in the session that waited');
is(lease_of($node)->{losses}, 0, '... and nothing was lost');

# not there for a while ----------------------------------------------------------------------------------------

outage('etcd is killed', sub { $etcd->kill }, sub { $etcd->start });
outage('etcd does not answer', sub { $etcd->pause }, sub { $etcd->continue });
$session->quit;
$node->stop;
is(scalar(grep { m{^pool/} } $etcd->keys), 0, 'when the server is stopped nothing is claimed');

# While it is away.
$node->start;
wait_for_lease($node, 4);
$etcd->pause;
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'while etcd does not answer a server serves');
$node->stop;
pass('... and can be stopped');
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), '1', '... and started');
$etcd->continue;
wait_for_flow($node);
pass('... and has IDs when it does');
$node->stop;

# not there for less than the lease ------------------------------------------------------------------------------

begin('short', etcd_lease_ttl => '30s');
wait_for_lease($node, 4);
$end_of_log = -s $node->logfile;
$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given;
$etcd->pause;
$node->wait_for_log($late, $end_of_log);
$etcd->continue;
$node->wait_for_log($again, $end_of_log);
pass('when etcd answers again before the lease is over the log says so');
is(warned(), 0, '... after one warning');
is(lease_of($node)->{losses}, 0, '... the lease is not lost');
give();
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
is(join('', map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed), '', '... and no session saw anything of it');
is($ledger->twice, '', '... no ID repeats');
$session->quit;
$node->stop;
$etcd->stop;

# some of three members --------------------------------------------------------------------------------------------

$etcd   = Etcd->new('three', members => 3);
$ledger = Ledger->new('three');
begin('three', etcd_lease_ttl => '30s');
wait_for_lease($node, 4);
$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
$ledger->wait_until_given;
for my $number (0 .. 2)
{
	$etcd->kill($number);
	$etcd->wait_until_ready;
	my $now = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
	ok(
		lease_becomes($node, "renewed_at > '$now' AND losses = 0"),
		"without member $number the lease is renewed");
	$etcd->start($number);
}
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
is(join('', map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed), '', '... and no session saw anything of it');
reload_with($node, etcd_lease_ttl => "${ttl}s");
lease_becomes($node, "remaining <= '$ttl s'") or die 'there is no shorter lease';
wait_for_lease($node, 4);
outage('two members of three do not answer', sub { $etcd->pause(0, 1) }, sub { $etcd->continue(0, 1) });
$session->quit;
$node->stop;

done_testing();
