# Generator IDs on lease when a server is killed, its worker, or its worker is ended: the server that has the IDs next begins
# above all that was made, however wrong his clock is; and IDs come back by themselves.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FakedClock;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $worker = "FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'";

my $etcd   = Etcd->new('crash');
my $ledger = Ledger->new('crash');
my $node;

# Kills all processes of a server at once. A postmaster that is stopped does not see its children go.
sub kill_all
{
	my ($postmaster) = @_;
	kill 'STOP', $postmaster->{pid};
	my (undef, @children) = processes_of($node);
	kill 'KILL', @children;
	$postmaster->kill9;
	return;
}

# The greatest ID of each ID type in what sessions were given.
sub greatest
{
	my ($decoder, @sessions) = @_;
	my %greatest;
	for my $id_type (@LEASED)
	{
		my @files = map { $_->{out} } grep { $_->{id_type} == $id_type } @sessions;
		$greatest{ $id_type->{name} } = $decoder->safe_psql('postgres', join ' ',
			"CREATE TEMP TABLE made (name text, id $id_type->{type});", (map { "COPY made FROM '$_';" } @files),
			'SELECT max(id) FROM made');
	}
	return %greatest;
}

# The servers share the only generator IDs that there are. What a killed server held is waited for.
my %settings = (generator_ids => 'etcd:2', etcd_pool => '3-4', etcd_lease_ttl => '10s');

# a server ---------------------------------------------------------------------------------------------------

$node = $etcd->server('killed', %settings);
my $postmaster = Postmaster->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_lease($node, 2);

my $clock = FakedClock->new('behind', $etcd->configuration(%settings));
my $behind = $clock->node;
$clock->step(-3600);
$clock->start;
$behind->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$behind->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);

$ledger->crowd($node, id_types => \@LEASED, ways => [ 'single', 'batch' ]);
$ledger->wait_until_given(1);
kill_all($postmaster);
my %high_water_marks = $etcd->high_water_marks;
my %last  = greatest($behind, $ledger->dispersed);
ok(
	(times_of($behind, $_, $last{ $_->{name} }))[0] < $high_water_marks{ (generators_of($behind, $_, $last{ $_->{name} }))[0] },
	"a server that is killed has left a high-water mark above its last $_->{name}")
  for @LEASED;

is(join(' ', wait_for_lease($behind, 2)), '3 4', 'when its lease has run out another server has its generator IDs');
for my $id_type (@LEASED)
{
	my ($error) = $ledger->ask($behind, $id_type, 10);
	like(
		$error, qr/ERROR:  58000: the clock is (?:[345]\d|60) min behind the last $id_type->{name} ID/,
		"... and as its clock is behind it makes no $id_type->{name} IDs");
}
is(error_of($behind, "SELECT $_->{next}"), '', "there is $_->{name} without a lease") for grep { $_->{cells} } @ID_TYPES;
$clock->step(0);
wait_for_flow($behind);
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($behind, $id_type, 100);
	is($error, '', "... until it is right: $id_type->{name}") or next;
	is(
		$behind->safe_psql('postgres', "SELECT '$ids[0]'::$id_type->{type} > '$last{ $id_type->{name} }'"), 't',
		'... above the last of the other');
	my ($from) = sort { $a <=> $b } values %high_water_marks;
	cmp_ok((times_of($behind, $id_type, @ids))[0] + $id_type->{tick}, '>', $from, '... and its high-water mark');
}

# The first comes back, and finds its generator IDs leased by the other.
$postmaster = Postmaster->start($node);
$node->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);
like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: all generator IDs of the pool in etcd are leased by other servers/, 'the first server, started again, has to wait');
my %greater = map { $_->{name} => ($ledger->ask($behind, $_, 100))[-1] } @LEASED;
$behind->stop;
is(join(' ', wait_for_lease($node, 2)), '3 4', '... until it has them again');
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($node, $id_type, 100);
	is($error, '', "... and goes on with $id_type->{name}") or next;
	is($node->safe_psql('postgres', "SELECT '$ids[0]'::$id_type->{type} > '$greater{ $id_type->{name} }'"), 't', '... above the last of the other');
}
is($ledger->twice, '', 'no ID repeats');

# It is killed again and has nobody to wait for but itself.
$ledger->crowd($node, id_types => \@LEASED, ways => ['batch']);
$ledger->wait_until_given(0.5);
kill_all($postmaster);
$ledger->dispersed;
$postmaster = Postmaster->start($node);
my $session = session($node);
wait_for_flow($session);
is(($ledger->ask($node, $_, 100))[0], '', "a server waits for its own lease of before a crash, and then goes on with $_->{name}") for @LEASED;
is($ledger->twice, '', '... with no ID that was there before');
$session->quit;
$postmaster->stop;

# the worker -----------------------------------------------------------------------------------------------------

$node = $etcd->server('worker', %settings, etcd_pool => '0-63');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
for my $round (1 .. 2)
{
	my @before = wait_for_lease($node, 2);
	$ledger->crowd($node, id_types => \@LEASED, ways => ['single']);
	$ledger->wait_until_given(0.3);
	my $pid = $node->safe_psql('postgres', "SELECT pid $worker");
	kill 'KILL', $pid;
	$ledger->dispersed;
	wait_for_server($node);
	wait_for_flow($node);
	my @after = wait_for_lease($node, 2);
	my %claims = $etcd->claims;
	is((grep { $claims{$_}{lease} eq lease_of($node)->{lease_id} } @after), 2, "round $round: when the worker is killed the server begins again, with a new lease");
	isnt($node->safe_psql('postgres', "SELECT pid $worker"), $pid, '... and a new worker');
	is(($ledger->ask($node, $_, 100))[0], '', "... and goes on with $_->{name}") for @LEASED;
	is($ledger->twice, '', '... and no ID repeats');
}

# Nothing else ends then.
$session = session($node);
for my $round (1 .. 2)
{
	wait_for_flow($session);
	$ledger->enter($session->query_safe("SELECT '$_->{name}' || chr(9) || $_->{next} FROM generate_series(1, 100)")) for @LEASED;
	my $pid = $node->safe_psql('postgres', "SELECT pid $worker");
	my $end_of_log = -s $node->logfile;
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 AND min(pid) <> $pid $worker") or die 'there is no worker';
	wait_for_flow($session);
	pass("round $round: when the worker is ended it comes back, and IDs in the session that stays");
	$ledger->enter($session->query_safe("SELECT '$_->{name}' || chr(9) || $_->{next} FROM generate_series(1, 100)")) for @LEASED;
	$node->wait_for_log(qr/LOG:  flakeid leased generator IDs/, $end_of_log);
	pass('... on a lease that the log has');
	is(lease_of($node)->{state}, 'held', '... and the view');
}
is($ledger->twice, '', 'no ID repeats');
$session->quit;

# The worker outlives its postmaster for as long as it takes to give back what nobody will use.
my $end_of_log = -s $node->logfile;
my @held = wait_for_lease($node, lease_of($node)->{generator_ids_wanted});
my %claims = $etcd->claims;
is(scalar(grep { $claims{$_} } @held), scalar @held, 'a server whose postmaster is killed has claims');
$node->kill9;
$node->wait_for_log(qr/LOG:  flakeid released generator IDs/, $end_of_log);
%claims = $etcd->claims;
is(scalar(grep { $claims{$_} } @held), 0, '... and its worker gives them back');

done_testing();
