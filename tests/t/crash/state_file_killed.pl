# Sessions are killed while they write the state file: the file is whole after every crash, and no
# ID repeats.
use strict;
use warnings;
use lib 'tests/perl';

use FaultyDisk;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my $disk = FaultyDisk->new;
my $node = PostgreSQL::Test::Cluster->new('killed');
$node->init;
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'flakeid'
	log_statement = none
	restart_after_crash = on
	flakeid.horizon_lead = '1ms'
	CONF
{
	local %ENV = (%ENV, $disk->environment);
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $ledger = Ledger->new('killed');

# Stops processes; returns when none of them does anything.
sub stop_all {
	my (@pids) = @_;
	kill 'STOP', @pids;
	for my $pid (@pids) {
		while (open my $file, '<', "/proc/$pid/stat") {
			last unless (<$file> // '') =~ /\) [^TZX]/;
			sleep 0.001;
		}
	}
	return;
}

# The file has another name until it is whole, which shows whether a crash interrupts the write. In
# half of the crashes it does: all sessions are stopped until they are found writing. If the disk is
# too fast for that, it holds the next write.
my ($crashes, $whole, $interrupted) = (10, 0, 0);
my $new = state_path($node) . '.new';
for my $crash (1 .. $crashes) {
	$ledger->crowd($node);
	$ledger->wait_until_given(0.1);
	my $crowd = "SELECT pid FROM pg_stat_activity WHERE application_name = 'crowd'";
	my @pids = split /\n/, $node->safe_psql('postgres', $crowd);
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $tries = 0;
	for (;;) {
		stop_all(@pids);
		last if $crash % 2 || -e $new;
		die 'the state file is never being written' if time() > $until;
		$disk->becomes('slow') if ++$tries == 20;
		kill 'CONT', @pids;
		sleep rand 0.01;
	}
	my $end_of_log = -s $node->logfile;
	kill 'KILL', @pids;
	$ledger->has_gone or die 'the sessions stay';
	$ledger->dispersed;
	$whole++ if state_of($node)->{flakeid_state} == 2;
	$interrupted++ if -e $new;
	$disk->ends('slow');
	# Before the server notices that the sessions are dead it still takes others, and ends them
	# then.
	$node->wait_for_log(qr/database system is ready to accept connections/, $end_of_log);
	wait_for_server($node);
}
is($whole, $crashes, 'after every crash the state file is whole');
cmp_ok($interrupted, '>=', $crashes / 2, 'half of the crashes interrupted a write');
$ledger->use_all($node);
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();
