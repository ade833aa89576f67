# A server leases generator IDs from etcd: what it writes there, what its view and its log show,
# which generator IDs its IDs have, and what a clean stop leaves.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FaultyDisk;
use Ledger;
use Leases;
use PostgreSQL::Test::Utils;
use Sys::Hostname qw(hostname);
use Test::More;
use Time::HiRes qw(time);

my $second = 1_000_000_000;    # nanoseconds

# The lease, and for how much of it IDs are generated, in seconds.
my ($ttl, $usable) = (30, 27);

my $etcd = Etcd->new('lease');
my $ledger = Ledger->new('lease');
my $begin = time();
my $node = $etcd->start_server('node', etcd_lease_ttl => "${ttl}s");
is(wait_for_lease($node, 2), '0 1', 'a server leases the first generator IDs that are free');
my %high_water_marks = $etcd->high_water_marks;
my $lease = lease_of($node);

subtest 'etcd has a claim and a high-water mark of each generator ID' => sub {
	is( $etcd->keys,
		'address cluster-id epoch pool/0:0 pool/0:1 registry-id until/0 until/1',
		'there are no other keys');
	my ($identifier, $version) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT system_identifier, default_version
FROM pg_control_system(), pg_available_extensions WHERE name = 'flakeid'
SQL
	my %claim = %{ { $etcd->claims }->{1} };
	my ($data) = $node->data_dir =~ m{([^/]+)\z};
	my %holder = (
		server => $identifier,
		host => hostname(),
		port => $node->port,
		data => $data,
		version => $version,
		lease => $lease->{lease_id});
	my $time = qr/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\z/;
	like(delete $claim{$_}, $time, "a claim has the time \"$_\"") for 'since', 'until';
	is_deeply(\%claim, \%holder, 'a claim names its holder and the lease');
	# Read at once, as each renewal writes both.
	my %all = $etcd->all('');
	my $until = $all{'until/1'};
	like($all{'pool/0:1'}, qr/"until":\s*"\Q$until\E"/, 'a claim shows its high-water mark');
	like($etcd->get('pool/0:1'),
		qr/"server":\s*"\d+"/,
		'the system identifier is a string, as other languages would round the number');
	my $kept = $etcd->ctl('lease', 'timetolive', $lease->{lease_id}, '--keys');
	like($kept, qr/granted with TTL\(${ttl}s\)/, 'the lease is as long as the setting');
	is( join(' ', sort $kept =~ m{flakeid/(\S+?)[\]\s]}g),
		'pool/0:0 pool/0:1',
		'the lease has the claims, not the high-water marks');
	my ($from, $to) = map { $_ * $second } $begin, time() + $usable;
	is((grep { $_ < $from || $_ > $to } values %high_water_marks),
		0, 'the high-water marks are ahead by less than the lease');
};

subtest 'the view and the log show the lease' => sub {
	my %expected = (
		state => 'held',
		generator_ids_wanted => 2,
		generator_ids => [ 0, 1 ],
		cluster_id => 0,
		endpoint => $etcd->endpoints,
		losses => 0,
		lost_at => undef);
	is_deeply({ map { $_ => $lease->{$_} } keys %expected },
		\%expected, 'the view has what is leased');
	# On a machine that stalls, an answer of etcd can be late.
	my ($error, $error_at) = @$lease{ 'last_error', 'last_error_at' };
	like($error // '', qr/\A(?:.*did not answer in time)?\z/, 'the view has no other error');
	is(defined $error_at, defined $error, 'the view has a time of an error only with an error');
	is( $node->safe_psql('postgres',
			<<"SQL"), 't|t|t|t|t', 'the view has since when, until when and by which process');
SELECT leased_at <= renewed_at AND renewed_at <= clock_timestamp(), high_water_mark > renewed_at,
	high_water_mark <= renewed_at + interval '$usable s', remaining BETWEEN '0' AND '$usable s',
	worker_pid = (SELECT pid FROM pg_stat_activity WHERE backend_type = 'flakeid etcd')
FROM pg_stat_flakeid_lease
SQL
	is($node->safe_psql('postgres', 'SELECT flakeid_identity() ->> $$generator_ids$$'),
		'[0, 1]', 'flakeid_identity() has the same generator IDs');
	# The worker writes this after the view has it.
	ok($node->wait_for_log(qr/LOG:  flakeid leased generator IDs 0-1 from etcd/),
		'the log has what was leased');
};

subtest 'the lease is renewed' => sub {
	my $is_later = join ' AND ', map { "$_ > '$lease->{$_}'" } 'renewed_at', 'high_water_mark';
	ok(lease_becomes($node, $is_later), 'the view shows a later time and a later high-water mark');
	my $now = lease_of($node);
	is($now->{$_}, $lease->{$_}, "$_ is the same") for 'lease_id', 'leased_at';
	my %renewed = $etcd->high_water_marks;
	is((grep { $renewed{$_} <= $high_water_marks{$_} } keys %high_water_marks),
		0, 'all high-water marks are later');
};

generates($ledger, $node, 'IDs have the generator IDs that are leased', '0 1');
others_generate($node, 'the other ID types need no lease');

my $last = generate($ledger, $node);
my (undef, $latest) = span_of($node, $last);
$node->stop;
my $stopped = time() * $second;
is($etcd->claimed, '', 'a clean stop deletes the claims at once');
unlike($etcd->ctl('lease', 'list'), qr/^\Q$lease->{lease_id}\E$/m, 'it revokes the lease');
%high_water_marks = $etcd->high_water_marks;
my ($greatest) = sort { $b <=> $a } values %high_water_marks;
cmp_ok($greatest, '<', $stopped, 'no high-water mark is ahead of a clean stop');
is($greatest, $latest + 1, 'the latest one is the nanosecond after the beginning of the last tick');
like(
	slurp_file($node->logfile),
	qr/LOG:  flakeid released generator IDs 0-1/,
	'the log has what was released');

$node->start;
wait_for_lease($node, 2);
my $next = generates($ledger, $node, 'after a start the server leases again', '0 1');
cmp_ok((span_of($node, $next))[0], '>', $latest, 'its IDs begin after the last ones');
is($ledger->twice, '', 'no ID repeats');
$node->stop('smart');
is($etcd->claimed, '', 'a smart stop deletes the claims, too');

subtest 'the views answer while a session waits for a slow disk' => sub {
	my $disk = FaultyDisk->new;
	{
		local %ENV = (%ENV, $disk->environment);
		$node->start;
	}
	wait_for_lease($node, 2);
	$node->safe_psql('postgres', 'SELECT flake_next()');
	$disk->becomes('slow');
	$node->poll_query_until('postgres',
		q(SELECT max(gate_lead) < '0' FROM pg_stat_flakeid WHERE id_type = 'flake'))
	  or die 'the clock does not pass the gate';
	my $writer = $node->background_psql('postgres');
	$writer->query_until(qr/begun/, "\\echo begun\nSELECT flake_next() > 0;\n");
	my $writes =
	  "wait_event IN ('FlakeidHorizonWrite', 'Extension') AND query ~ '^SELECT flake_next'";
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE $writes")
	  or die 'no session writes';
	my $views = <<'SQL';
SET statement_timeout = '60s';
SELECT state, generator_ids FROM pg_stat_flakeid_lease;
SELECT flakeid_identity() -> 'generator_ids';
SELECT failures FROM pg_stat_flakeid_horizon;
SQL
	my $expected = "held|{0,1}\n[0, 1]\n0";
	is($node->safe_psql('postgres', $views), $expected, 'they show the lease');
	$disk->ends('slow');
	$writer->query_safe('SELECT');
	$writer->quit;
	is($node->safe_psql('postgres', $views), $expected, 'after the write they show the same');
	$node->stop;
};

done_testing();
