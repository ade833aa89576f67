# Generator IDs on lease from etcd: what a server claims there and how a person reads it, that its IDs have what it
# claimed and nothing else, what a reload and a stop do, and that servers share a pool.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Sys::Hostname qw(hostname);
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds
my $worker = "FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'";

# How long a lease is, and for how much of it IDs are made, in seconds.
my ($ttl, $usable) = (30, 27);

my $etcd   = Etcd->new('lease');
my $ledger = Ledger->new('lease');

sub begin
{
	my ($name, %settings) = @_;
	my $node = $etcd->server($name, etcd_lease_ttl => "${ttl}s", %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# Some hundred IDs of each ID type that uses generator IDs, of a server or in a session that stays; dies where
# there are no IDs.
sub give
{
	my ($who) = @_;
	my $union = join ' UNION ALL ', map {
		my $batch = sprintf $_->{batch}, 150;
		("SELECT '$_->{name}', ($_->{next})::text FROM generate_series(1, 150)", "SELECT '$_->{name}', id::text FROM $batch AS id")
	} @LEASED;
	my $rows = $who->can('query_safe') ? $who->query_safe($union) : $who->safe_psql('postgres', $union);
	my %ids;
	$ledger->enter($rows =~ tr/|/\t/r);
	push @{ $ids{ (split /\|/)[0] } }, (split /\|/)[1] for split /\n/, $rows;
	return %ids;
}

# Tests that the IDs given to a server or a session have these generator IDs, some of them, and no others.
sub gives
{
	my ($node, $who, $test, @generators) = @_;
	my %ids = give($who);
	my %own = map { $_ => 1 } @generators;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for my $id_type (@LEASED)
	{
		my @are = generators_of($node, $id_type, @{ $ids{ $id_type->{name} } });
		ok(!(grep { !$own{$_} } @are), "$test: $id_type->{name}") or diag("generator IDs @are, leased @generators");
	}
	return %ids;
}

# The connections that a server's processes have to etcd: as /proc has them, which is not to be fooled.
sub connections
{
	my ($node) = @_;
	my ($port) = $etcd->endpoints =~ /(\d+)\z/;
	my %to = map { ((split)[9] => 1) } grep { (split)[2] =~ /:(\w+)\z/ && hex $1 == $port } split /\n/, slurp_file('/proc/net/tcp');
	return grep { /\Asocket:\[(\d+)\]\z/ && $to{$1} } map { readlink // '' } map { glob "/proc/$_/fd/*" } processes_of($node);
}

# A claim is gone at once when a server says so, but it says so in its own time after a reload.
sub wait_for_keys
{
	my ($test, @generators) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my %claims;
	do { %claims = $etcd->claims; } until join(' ', sort { $a <=> $b } keys %claims) eq "@generators" || time() > $until;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join(' ', sort { $a <=> $b } keys %claims), "@generators", $test);
}

# claims ---------------------------------------------------------------------------------------------------

my $before = time();
my $node   = begin('first');
my @first  = wait_for_lease($node, 8);
# On a machine that stalls, an answer of etcd can be late. The view shows that as an error until the next start.
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
while ((lease_of($node)->{last_error} // '') =~ /did not answer in time$/)
{
	die 'etcd is always late' if time() > $until;
	$node->restart;
	@first = wait_for_lease($node, 8);
}
is("@first", '0 1 2 3 4 5 6 7', 'a server leases the first generator IDs that are free');
is(
	join(' ', $etcd->keys), join(' ', 'address', 'cluster-id', 'epoch', (map { "pool/0:$_" } 0 .. 7), 'registry-id', map { "until/$_" } 0 .. 7),
	'... for each there is a key of the claim and one of the high-water mark');
is($etcd->get('cluster-id'), '0', '... a cluster-id is made where it is missing');
is($etcd->get('epoch'), '2010-01-01T00:00:00Z', '... and flake\'s epoch is noted');

my $lease  = lease_of($node);
my %claims = $etcd->claims;
my ($identifier, $version) = split /\|/, $node->safe_psql('postgres',
	"SELECT system_identifier, default_version FROM pg_control_system(), pg_available_extensions WHERE name = 'flakeid'");
my $instant = qr/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\z/;
for my $id (0, 7)
{
	my $claim = $claims{$id};
	is(join(' ', sort keys %$claim), 'data host lease port server since until version', "claim $id names its holder");
	is("$claim->{server}", $identifier, '... by the system identifier');
	ok($etcd->get("pool/0:$id") =~ /"server":\s*"\d+"/, '... in a string, as other languages\' numbers would round it');
	is($claim->{host}, hostname(), '... by the host');
	is($claim->{port}, $node->port, '... by the port');
	like($node->data_dir, qr{/\Q$claim->{data}\E\z}, '... by the data directory\'s name');
	is($claim->{version}, $version, '... by flakeid\'s version');
	is($claim->{lease}, $lease->{lease_id}, '... the lease');
	like($claim->{$_}, $instant, "... and \"$_\" as an instant") for 'since', 'until';
	like($claim->{until}, qr/\.\d{9}Z\z/, '... to the nanosecond');
}
my $kept = $etcd->ctl('lease', 'timetolive', $lease->{lease_id}, '--keys');
like($kept, qr/granted with TTL\(${ttl}s\)/, 'the lease is as long as the setting says');
is(join(' ', sort $kept =~ m{flakeid/(\S+?)[\]\s]}g), join(' ', map { "pool/0:$_" } 0 .. 7), '... and has the claims, not the high-water marks');

# The high-water marks are read before the view, so that those of the renewal after it are others.
my %high_water_marks = $etcd->high_water_marks;
my $then  = lease_of($node);
is(scalar(grep { $_ > $before * $second && $_ < (time() + $usable) * $second } values %high_water_marks), 8, 'the high-water marks are ahead by less than the lease');

# the view ---------------------------------------------------------------------------------------------------

is($lease->{state}, 'held', 'the view says that the lease is held');
is("$lease->{generator_ids_wanted} @{ $lease->{generator_ids} }", '8 0 1 2 3 4 5 6 7', '... how many are wanted, and which there are');
is($lease->{cluster_id}, 0, '... the cluster');
is($lease->{endpoint}, $etcd->endpoints, '... where etcd is');
is($lease->{losses}, 0, '... no loss');
is(join(' ', grep { defined $lease->{$_} } 'lost_at', 'last_error', 'last_error_at'), '', '... and no error');
is($node->safe_psql('postgres', <<"SQL"), 't|t|t|t', '... and since when, until when, by the clock and by the lease');
SELECT leased_at <= renewed_at AND renewed_at <= clock_timestamp(), high_water_mark > renewed_at, high_water_mark <= renewed_at + interval '$usable s',
	remaining > '0' AND remaining <= '$usable s'
FROM pg_stat_flakeid_lease
SQL
is($node->safe_psql('postgres', "SELECT pid $worker"), $lease->{worker_pid}, '... and the worker, which is in pg_stat_activity');
ok(
	lease_becomes($node, "renewed_at > '$then->{renewed_at}' AND high_water_mark > '$then->{high_water_mark}' AND leased_at = '$lease->{leased_at}'"),
	'the lease is renewed, and the high-water mark rises');
is(lease_of($node)->{lease_id}, $lease->{lease_id}, '... of the same lease');
my %renewed = $etcd->high_water_marks;
is((grep { $renewed{$_} <= $high_water_marks{$_} } keys %high_water_marks), 0, '... and so do the high-water marks');
like(slurp_file($node->logfile), qr/LOG:  flakeid leased generator IDs 0-7 from etcd/, 'the log has what was leased');

# IDs ----------------------------------------------------------------------------------------------------------

gives($node, $node, 'IDs have a generator ID that is leased', 0 .. 7);
my $identity = $node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'generator_ids_setting', flakeid_identity() ->> 'generator_ids'");
is($identity, 'etcd:8|[0, 1, 2, 3, 4, 5, 6, 7]', 'flakeid_identity() has those on lease');
is($node->safe_psql('postgres', 'SELECT (uniqueid_decode(uniqueid_next())).cluster_id'), '0', 'uniqueid has etcd\'s cluster');
is(error_of($node, "SELECT $_->{next}"), '', "$_->{name} is made without any") for grep { $_->{cells} } @ID_TYPES;
cmp_ok(scalar(connections($node)), '>', 0, 'the worker is connected to etcd');

my $other = begin('second');
is(join(' ', wait_for_lease($other, 8)), '8 9 10 11 12 13 14 15', 'a second server leases others');
gives($other, $other, '... which its IDs have', 8 .. 15);

# stop ---------------------------------------------------------------------------------------------------------

my %last = give($node);
my $hex  = lease_of($node)->{lease_id};
$node->stop;
my $stopped = time() * $second;
%claims = $etcd->claims;
is(join(' ', sort { $a <=> $b } keys %claims), '8 9 10 11 12 13 14 15', 'when a server is stopped its claims are gone at once');
unlike($etcd->ctl('lease', 'list'), qr/^\Q$hex\E$/m, '... with the lease');
%high_water_marks = $etcd->high_water_marks;
is((grep { $_ > $stopped } @high_water_marks{ 0 .. 7 }), 0, '... the high-water marks are not ahead of the stop');
my ($latest) = sort { $b <=> $a } map { (times_of($other, $_, @{ $last{ $_->{name} } }))[1] } @LEASED;
my ($high_water_mark) = sort { $b <=> $a } @high_water_marks{ 0 .. 7 };
is($high_water_mark, $latest + 1, '... but the nanosecond after the beginning of the last ID\'s tick');
like(slurp_file($node->logfile), qr/LOG:  flakeid released generator IDs 0-7/, '... and the log has it');
$node->start;
wait_for_lease($node, 8);
my %next = gives($node, $node, 'a server that is started again leases again', 0 .. 7);
is(
	$node->safe_psql('postgres', "SELECT '$next{ $_->{name} }[0]'::$_->{type} > '$last{ $_->{name} }[-1]'"), 't',
	"... and goes on above its last $_->{name}") for @LEASED;
$other->stop('smart');
wait_for_keys('a server that is told to stop when its sessions have ended gives back its claims, too', 0 .. 7);

# reload ---------------------------------------------------------------------------------------------------------

my $session = session($node);
give($session);
reload_with($node, generator_ids => 'etcd:4');
wait_for_lease($node, 4);
wait_for_keys('when fewer are wanted the others are given back', my @four = wait_for_lease($node, 4));
gives($node, $session, '... and the session that stays makes no more of them', @four);
reload_with($node, generator_ids => 'etcd:8');
my @eight = wait_for_lease($node, 8);
wait_for_keys('when more are wanted again they are leased', @eight);
is((grep { my $id = $_; grep { $_ == $id } @eight } @four), 4, '... besides those that there are');
gives($node, $session, '... and the session goes on', @eight);

# Those of the setting overlap with those that were on lease.
for (1 .. 2)
{
	reload_with($node, generator_ids => '4-11');
	wait_for_flow($session);
	gives($node, $session, 'when the setting names them the session goes on with these', 4 .. 11);
	wait_for_keys('... the claims are given back');
	$node->poll_query_until('postgres', "SELECT count(*) = 0 $worker") or die 'the worker stays';
	is(lease_of($node), undef, '... and the worker ends, the view is empty');
	gives($node, $session, '... and the session makes IDs as before', 4 .. 11);
	reload_with($node, generator_ids => 'etcd:8');
	wait_for_flow($session);
	wait_for_lease($node, 8);
	gives($node, $session, 'when the generator IDs come from etcd again the session goes on with those on lease', wait_for_lease($node, 8));
}
$session->quit;
$node->stop;
is($ledger->twice, '', 'no ID repeats through all of it');

# nothing of it ----------------------------------------------------------------------------------------------------

my $static = begin('static', generator_ids => '0-7');
give($static);
is($static->safe_psql('postgres', "SELECT count(*) $worker"), '0', 'where the setting names generator IDs there is no worker');
is(lease_of($static), undef, '... nothing in the view');
is(scalar(connections($static)), 0, '... and no connection');
is(join(' ', grep { m{^pool/} } $etcd->keys), '', '... nor a claim');
$static->stop;

# the cluster --------------------------------------------------------------------------------------------------------

$etcd->put('cluster-id', '7');
$node->start;
wait_for_lease($node, 8);
is(lease_of($node)->{cluster_id}, 7, 'a cluster-id that is there is taken');
is(join(' ', grep { m{^pool/} } $etcd->keys), join(' ', map { "pool/7:$_" } 0 .. 7), '... into the keys');
is(
	$node->safe_psql('postgres', 'SELECT string_agg(DISTINCT cluster_id::text, chr(32)) FROM uniqueid_next_batch(100) AS made (made), uniqueid_decode(made)'),
	'7', '... and into uniqueids');
is($etcd->get('cluster-id'), '7', '... and left alone');
$node->stop;

for my $bad ('x', '16', '')
{
	$etcd->put('cluster-id', $bad);
	$node->start;
	wait_for_error($node, qr{cluster-id.*"\Q$bad\E"});
	pass("a cluster-id \"$bad\" is an error that says so");
	$lease = lease_of($node);
	is(scalar(@{ $lease->{generator_ids} || [] }), 0, '... and nothing is leased');
	my $told  = qr/ERROR:  55000: .*\n(?:.*\n)*DETAIL:  .*cluster-id.*"\Q$bad\E"/;
	like(error_becomes($node, 'SELECT flake_next()', $told), $told, '... which the error of a session names');
	$etcd->put('cluster-id', '5');
	wait_for_lease($node, 8);
	is($node->safe_psql('postgres', 'SELECT (uniqueid_decode(uniqueid_next())).cluster_id'), '5', '... until it is corrected');
	$node->stop;
}
like(slurp_file($node->logfile), qr/LOG:  flakeid cannot lease generator IDs: .*cluster-id/, '... and the log has it');

# Flakes of another epoch would repeat those of this one.
my $epoch = begin('epoch', epoch => '2020-01-01');
wait_for_error($epoch, qr/epoch/);
pass('a server with another epoch leases nothing, and says why');
is(scalar(grep { m{^pool/} } $etcd->keys), 0, '... and nothing is claimed');
$epoch->stop;

# a pool that is too small -----------------------------------------------------------------------------------------------

$node  = begin('holds', etcd_pool => '600-607');
wait_for_lease($node, 8);
gives($node, $node, 'a server keeps to its pool', 600 .. 607);
$other = begin('waits', etcd_pool => '600-607', max_clock_wait => '100ms');
$other->wait_for_log(qr/LOG:  flakeid waits for generator IDs: all in the pool are leased/);
pass('where a pool is exhausted the log says that a server waits');
ok(lease_becomes($other, "state = 'waiting'"), '... and the view');
$session = session($other);
my $waits = qr/ERROR:  55000: all generator IDs of the pool in etcd are leased by other servers/;
error_becomes($other, 'SELECT flake_next()', $waits);
for my $error (error_of($other, 'SELECT flake_next()'), map { error_in($session, "SELECT $_->{next}") } @LEASED)
{
	like($error, $waits, '... and an error');
	like($error, qr/HINT:  .*"flakeid\.etcd_pool"/, '... with what to do');
}
is(error_in($session, "SELECT $_->{next}"), '', "there is $_->{name} while the lease is over") for grep { $_->{cells} } @ID_TYPES;
%last = give($node);
$node->stop;
wait_for_lease($other, 8);
%next = gives($other, $session, 'when the other is stopped it takes over by itself, in the session that waited', 600 .. 607);
cmp_ok(
	(times_of($other, $_, @{ $next{ $_->{name} } }))[0], '>=', (times_of($other, $_, @{ $last{ $_->{name} } }))[1],
	"... and begins above the other's last $_->{name}")
  for @LEASED;
reload_with($other, etcd_pool => '600-609');
my $third = begin('some', etcd_pool => '600-609');
is(join(' ', wait_for_lease($third, 2)), '608 609', 'where there are fewer than wanted a server takes these');
gives($third, $third, '... and goes on with them', 608, 609);
my $of_some = session($third);
$session->quit;
# From its next start on it has the pool of its configuration file.
$other->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.etcd_pool');
$other->stop;
my $end_of_log = -s $third->logfile;
is(join(' ', wait_for_lease($third, 8)), join(' ', 600 .. 605, 608, 609), '... and more when there are');
gives($third, $of_some, '... in the session that stays', 600 .. 605, 608, 609);
$of_some->quit;

# In the midst of sessions that ask, one of them in one long statement.
$other->append_conf('postgresql.conf', "flakeid.etcd_pool = '600-607'\n");
$third->stop;
$other->start;
wait_for_lease($other, 8);
$third->append_conf('postgresql.conf', "flakeid.etcd_pool = '600-607'\n");
$third->start;
$third->wait_for_log(qr/LOG:  flakeid waits for generator IDs/, $end_of_log);
$ledger->crowd($other, id_types => \@LEASED, ways => [ 'single', 'stream' ]);
$ledger->wait_until_given;
reload_with($other, generator_ids => '700-707');
wait_for_lease($third, 8);
gives($third, $third, 'when a server gives its claims back another has them at once', 600 .. 607);
$other->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
my @errors = map { $_->{error} =~ /(ERROR: .*\n)/g } $ledger->dispersed;
is(join('', grep { !/55000: (?:no generator IDs|this server's generator IDs)/ } @errors), '', '... while its sessions go on, or end with a statement that has the old setting');
$third->stop;
$other->stop;
is($ledger->twice, '', 'no ID repeats from servers that share a pool');

# a worker that is to start ----------------------------------------------------------------------------------------------------

# The first session that asks after a reload has it started.
$node = begin('slots', generator_ids => '0-7');
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$node->restart;
reload_with($node, generator_ids => 'etcd:2');
my $error = error_of($node, 'SELECT flake_next()');
like($error, qr/ERROR:  55000: could not start the worker that leases generator IDs from etcd/, 'where a worker has no place there is an error');
like($error, qr/HINT:  .*"max_worker_processes"/, '... with what to do');
$node->append_conf('postgresql.conf', "max_worker_processes = 8\n");
$node->restart;
is(scalar(my @two = wait_for_lease($node, 2)), 2, '... and when it has one there is a lease before a session asks');
$node->stop;

done_testing();
