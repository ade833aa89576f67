# A server is paused, killed or cut off from etcd for longer than its lease. Another server leases
# its generator ID then, and begins after all that the first one generated. When the first one
# continues, it generates nothing with it until it leases it again.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use FakedClock;
use Ledger;
use Leases;
use Postmaster;
use Server;
use Test::More;

my $ttl = 10;
my $etcd = Etcd->new('heir');
my $ledger = Ledger->new('heir');
my $wire = $etcd->wire;
my %brief = (
	generator_ids => 'etcd:1',
	etcd_pool => '3-3',
	etcd_lease_ttl => "${ttl}s",
	max_clock_wait => '100ms');
my $node = $etcd->server('node', %brief, etcd_endpoints => $wire->{endpoint});
my $postmaster = Postmaster->start($node);
create_tables($node);
my $clock = FakedClock->new('heir', $etcd->configuration(%brief));
my $heir = $clock->node;
my $lost = qr/ERROR:  55000: the lease of this server's generator IDs was lost .* ago/;
# A server that waits begins again after an error of etcd, which a busy machine has delayed.
my $again = qr/no generator IDs are leased from etcd yet/;
my $waits = qr/ERROR:  55000: (?:all generator IDs of the pool in etcd are leased|$again)/;

# A process that is stopped does not end.
my @paused;
END { kill 'CONT', @paused }

sub pause {
	my @pids = @_;
	push @paused, @pids;
	kill 'STOP', @pids;
	return;
}

# The postmaster first, so that there are no new processes, and none notices that others end.
sub pause_server { pause((processes_of($node))[0]); pause(processes_of($node)); return }

sub go_on {
	kill 'CONT', @paused;
	@paused = ();
	return;
}

# Each case has an event, and how the first server continues. Its sessions end by themselves if the
# server still runs.
my @cases = (
	[ 'the whole server is paused', \&pause_server, \&go_on ],
	[ 'its worker is paused', sub { pause(lease_of($node)->{worker_pid}) }, \&go_on, 1 ],
	[ 'it is cut off from etcd', sub { $wire->cut }, sub { $wire->heal }, 1 ]);
my $session;
for my $case (@cases) {
	my ($what, $event, $continue, $is_running) = @$case;
	subtest $what => sub {
		wait_for_lease($node, 1);
		$session //= session($node);
		wait_for_ids($session);
		$clock->start;
		create_tables($heir) if !$heir->safe_psql('postgres', "SELECT to_regclass('flakes')");
		lease_becomes($heir, "state = 'waiting'");
		my $losses = lease_of($node)->{losses};
		my $end_of_log = -s $node->logfile;
		# One session requests its IDs in one long statement.
		$ledger->crowd($node, id_types => [ $WITH_GENERATOR_IDS[0] ], ways => ['stream'])
		  if $what =~ /worker/;
		begin_crowd($ledger, $node);
		$event->();
		my $high_water_mark = { $etcd->high_water_marks }->{3};
		my $ceiling = $is_running
		  && $node->safe_psql('postgres',
			'SELECT extract(epoch FROM high_water_mark) FROM pg_stat_flakeid_lease');
		my @sessions = $is_running ? $ledger->dispersed : ();
		refuses($session, $lost, 'a session that was idle is refused') if $is_running;
		is(wait_for_lease($heir, 1), '3', 'another server has the generator ID after the lease');
		wait_for_ids($heir);
		my $given = generates($ledger, $heir, 'it generates IDs');
		cmp_ok((span_of($heir, $given))[0],
			'>', $high_water_mark, 'these begin after the high-water mark');
		$continue->();
		@sessions = $ledger->dispersed if !$is_running;
		is((grep { $_->{error} !~ /$lost|$waits/ } @sessions), 0, 'all sessions are refused');
		is(count_ids($heir, $high_water_mark / 1_000_000_000, $EVER, @sessions),
			0, 'they had no ID after the high-water mark');
		cmp_ok(count_ids($heir, $ceiling - $ttl / 3, $ceiling, @sessions),
			'>', 0, 'they had IDs until shortly before the ceiling')
		  if $is_running;
		refuses($session, qr/$lost|$waits/, 'the session is refused as long as the other holds it');
		others_generate($session, 'the other ID types do not end with the lease');
		$node->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs 3/, $end_of_log);
		ok(lease_becomes($node, "losses > $losses AND lost_at IS NOT NULL"),
			'the log and the view have the loss');
		$heir->stop;
		wait_for_ids($session);
		generates($ledger, $session, 'the session generates IDs again when the other stops', '3');
		is($ledger->twice, '', 'no ID repeats');
	};
}
$session->quit;

subtest 'it is killed, and the clock of the other is an hour behind' => sub {
	$clock->step(-3600);
	$clock->start;
	lease_becomes($heir, "state = 'waiting'");
	begin_crowd($ledger, $node);
	pause_server();
	my $high_water_mark = { $etcd->high_water_marks }->{3};
	kill 'KILL', grep { $_ != $postmaster->{pid} } @paused;
	$postmaster->kill9;
	@paused = ();
	my @sessions = $ledger->dispersed;
	is(count_ids($heir, $high_water_mark / 1_000_000_000, $EVER, @sessions),
		0, 'the high-water mark is after all IDs of the server');
	is(wait_for_lease($heir, 1), '3', 'another server has the generator ID after the lease');
	refuses(
		$heir,
		qr/ERROR:  58000: the clock is (?:[345]\d|60) min behind the last \w+ ID/,
		'as its clock is behind, it generates no IDs');
	$clock->step(0);
	wait_for_ids($heir);
	my $given = generates($ledger, $heir, 'it generates IDs when its clock is right');
	cmp_ok((span_of($heir, $given))[0],
		'>', $high_water_mark, 'these begin after the high-water mark');

	$postmaster = Postmaster->start($node);
	lease_becomes($node, "state = 'waiting'");
	refuses($node, $waits, 'the first server starts again and waits');
	$heir->stop;
	wait_for_ids($node);
	generates($ledger, $node, 'it generates IDs when the other stops', '3');
	is($ledger->twice, '', 'no ID repeats');
	$postmaster->stop;
};

done_testing();
