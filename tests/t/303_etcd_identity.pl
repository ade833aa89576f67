# The server's identity changes while sessions hold what they made for the one before: a statement that began under
# numbers of the server's own, a session that is idle while its generator IDs are claimed for another cluster. None
# of them makes an ID of the identity that has ended. And no generator ID is in the list of held ones twice.
#
# This file takes minutes.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $etcd   = Etcd->new('identity');
my $ledger = Ledger->new('identity');

# What is stopped has to go on, or nothing could end it.
my @stopped;
END { kill 'CONT', @stopped }

sub begin
{
	my ($name, %settings) = @_;
	my $node = $etcd->server($name, max_clock_wait => '500ms', %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# One statement that makes an ID of each kind, waits for a lock, and then asks for many. It says at once what it is
# given, and goes on after errors.
my @calls = map { "('$_->{name}', 'SELECT $_->{next}')" } @LEASED;
my $calls = join ', ', @calls;
my $asks  = <<"SQL";
CREATE FUNCTION asks(before int, key int, after int) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	name text;
	call text;
	id text;
BEGIN
	FOR n IN 1 .. before + after LOOP
		IF n = before + 1 THEN
			RAISE NOTICE 'woken';
			PERFORM pg_advisory_lock(key);
		END IF;
		FOR name, call IN VALUES $calls LOOP
			BEGIN
				EXECUTE call INTO id;
				RAISE NOTICE 'given %	%', name, id;
			EXCEPTION WHEN object_not_in_prerequisite_state THEN
				RAISE NOTICE 'refused %: %', name, SQLERRM;
			END;
		END LOOP;
	END LOOP;
END \$\$
SQL

# Begins that statement in a session of its own, which then waits for the lock.
sub sleeper
{
	my ($node, $key, $before) = (@_, 3);
	my $session = session($node);
	$session->query_until(qr/begun/, "\\set VERBOSITY terse\n\\echo begun\nSELECT asks($before, $key, 3);\n");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $key AND NOT granted")
	  or die 'the statement does not wait';
	return $session;
}

# Lets it go on to its end. Returns what it was given before and after it waited, and what it was refused with after it.
sub wake
{
	my ($session, $holder, $key) = @_;
	$holder->query_safe("SELECT pg_advisory_unlock($key)");
	# The next query's answer comes after all that the statement said.
	$session->query('SELECT 1');
	my $said = $session->{stderr};
	$session->{stderr} = '';
	my ($before, $after) = map { $_ // '' } split /woken/, $said, 2;
	$ledger->enter(join "\n", $said =~ /given (\w+\t\S+)/g);
	return (scalar(() = $before =~ /given/g), [ $after =~ /given (\w+)/g ], [ $after =~ /refused (.*)/g ]);
}

sub is_refused
{
	my ($test, $before, $given, $refused) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($before, 3 * @LEASED, 'a statement makes IDs under numbers of the server\'s own') if $before;
	is("@$given", '', "... and none $test");
	is((grep { /: this server's generator IDs are being replaced after a change of "flakeid.generator_ids"$/ } @$refused), 3 * @LEASED, '... it is refused each')
	  or diag(join "\n", @$refused);
	return;
}

# from numbers to a lease --------------------------------------------------------------------------------------------

my $one = begin('one', generator_ids => '0-1', etcd_pool => '0-1', etcd_lease_ttl => '10s');
$one->safe_psql('postgres', $asks);
my $holder = session($one);
$holder->query_safe('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
my $early = sleeper($one, 1);
my $late  = sleeper($one, 2);
reload_with($one, generator_ids => 'etcd:2');
wait_for_flow($one);
is(join(' ', wait_for_lease($one, 2)), '0 1', 'a server leases the generator IDs that were its own');
is_refused('when the server has leased them in between', wake($early, $holder, 1));
wait_for_flow($early);
pass('... but the next statement of that session makes IDs on lease');

my $two = begin('two', generator_ids => 'etcd:2', etcd_pool => '0-1');
$two->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);
push @stopped, lease_of($one)->{worker_pid};
kill 'STOP', @stopped;
is(join(' ', wait_for_lease($two, 2)), '0 1', 'when its worker is stopped for longer than the lease another server takes them');
wait_for_flow($two);
is_refused('when another server has leased them since', wake($late, $holder, 2));
for my $id_type (@LEASED)
{
	my ($error) = $ledger->ask($two, $id_type, 1000);
	is($error, '', "the other server makes $id_type->{name} IDs");
}
kill 'CONT', @stopped;
@stopped = ();
is($ledger->twice, '', 'no ID repeats');
$_->quit for $early, $late, $holder;
$_->stop for $one, $two;

# from numbers to a lease, and to other numbers ------------------------------------------------------------------------

$one = begin('back', generator_ids => '20-21', etcd_pool => '20-21');
$one->safe_psql('postgres', $asks);
$holder = session($one);
$holder->query_safe('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
$early = sleeper($one, 1);
$late  = sleeper($one, 2, 0);
reload_with($one, generator_ids => 'etcd:2');
wait_for_flow($one);
wait_for_lease($one, 2);
reload_with($one, generator_ids => '26-27');
wait_for_flow($one);
is($one->safe_psql('postgres', 'SELECT DISTINCT (sno_decode(id)).partition IN (26, 27) FROM sno_next_batch(100) id'),
	't', 'a server leaves its lease for other numbers');
$two = begin('next', generator_ids => 'etcd:2', etcd_pool => '20-21');
is(join(' ', wait_for_lease($two, 2)), '20 21', '... and another server leases its first ones');
is_refused('under the first ones when it goes on', wake($early, $holder, 1));
is_refused('where its first call comes after the change', wake($late, $holder, 2));
for my $session ($early, $late)
{
	is($session->query_safe('SELECT (sno_decode(sno_next())).partition IN (26, 27)'), 't', 'the next statement of that session uses the last numbers');
}
is($ledger->twice, '', 'no ID repeats');

# It is the settings that count, and not how often they have changed.
$holder->query_safe('SELECT pg_advisory_lock(3)');
my $same = sleeper($one, 3);
reload_with($one, generator_ids => 'etcd:2', etcd_pool => '28-29');
wait_for_flow($one);
wait_for_lease($one, 2);
reload_with($one, generator_ids => '26-27');
wait_for_flow($one);
my ($before, $given, $refused) = wake($same, $holder, 3);
is(scalar(@$given), 3 * @LEASED, 'a statement goes on when the server has come back to its numbers') or diag(join "\n", @$refused);
is($ledger->twice, '', 'no ID repeats');
$_->quit for $early, $late, $same, $holder;
$_->stop for $one, $two;

# from cluster to cluster --------------------------------------------------------------------------------------------

$one = begin('cluster', generator_ids => 'etcd:2', etcd_pool => '50-51', etcd_lease_ttl => '10s');
wait_for_lease($one, 2);
my $idle = session($one);
my $ask  = 'SELECT (uniqueid_decode(uniqueid_next())).cluster_id';
wait_for_flow($idle);
is($idle->query_safe($ask), '0', 'a session makes uniqueids of the cluster that its lease is for');
$etcd->put('cluster-id', '5');
$etcd->ctl('lease', 'revoke', lease_of($one)->{lease_id});
# Nothing tells the session but what the server does with its cells: no reload, no seal that it meets.
$one->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs 50-51/);
wait_for_flow($one);
is(join(' ', wait_for_lease($one, 2)), '50 51', 'the server leases the same generator IDs for another cluster');
wait_for_flow($one);
is($idle->query_safe($ask), '5', '... and a session that was idle makes uniqueids of that one');
$idle->quit;
$one->stop;
$etcd->put('cluster-id', '0');

# a claim that is deleted by hand ---------------------------------------------------------------------------------------

$one = begin('deleted', generator_ids => 'etcd:4', etcd_pool => '60-62');
is(join(' ', wait_for_lease($one, 3)), '60 61 62', 'a server that wants four generator IDs holds the three that there are');
my $lease   = lease_of($one);
my $session = session($one);
wait_for_flow($session);
my $end_of_log = -s $one->logfile;
$etcd->del('pool/0:61');
$one->reload;
$one->wait_for_log(qr/LOG:  flakeid leased generator IDs 61 from etcd/, $end_of_log);
is(join(' ', @{ lease_of($one)->{generator_ids} }), '60 61 62', '... when a claim is deleted it is claimed again, and held once');
lease_becomes($one, "renewed_at > '$lease->{renewed_at}'") or die 'the lease is not renewed';
is(lease_of($one)->{lease_id}, $lease->{lease_id}, '... and the lease is renewed');
# A late answer of etcd, on a machine that stalls, is an error of its own.
like(lease_of($one)->{last_error} // '', qr/^(?:.*did not answer in time)?$/, '... without an error');
wait_for_flow($session);
pass('... and there are IDs');
$session->quit;
$one->stop;

done_testing();
