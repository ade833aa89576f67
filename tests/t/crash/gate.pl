# While one session writes the horizon the others continue, until they meet the gate. The disk is
# slow, and then broken, for the file that is written.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FaultyDisk;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $clock = FakedClock->new('gate', "flakeid.horizon_lead = '20min'\nflakeid.max_clock_wait = 0\n");
my $node = $clock->node;
my $disk = FaultyDisk->new;
{
	my %clock = $clock->environment;
	local %ENV = (%ENV, %clock, $disk->environment($clock{LD_PRELOAD}));
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

my $ask = 'SELECT ' . join(', ', map { $_->{next} } @ID_TYPES) . ' FROM generate_series(1, 1000)';

# A psql that runs the statement, with what it prints, under a name that pg_stat_activity shows.
sub begin {
	my ($name, $sql) = @_;
	my %psql = (out => '', err => '');
	local $ENV{PGAPPNAME} = $name;
	$psql{run} = IPC::Run::start(
		[ 'psql', '-XAt', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>',
		\$psql{out},
		'2>',
		\$psql{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%psql;
}

sub waits_for {
	my ($name, $event) = @_;
	return $node->poll_query_until('postgres',
		"SELECT wait_event ~ '$event' FROM pg_stat_activity WHERE application_name = '$name'");
}

my $all = $node->safe_psql('postgres', $ask);
# A quarter of the lead before the true gate the horizon is written.
my $gate = until_of(state_of($node)) / 1_000_000_000;
my $new = $node->data_dir . '/flakeid/state.new';
$disk->becomes('slow');

$clock->set($gate - 240);
my $writer = begin('writer', $ask);
ok( waits_for('writer', '^(Extension|FlakeidHorizonWrite)$'),
	'a session that comes near the gate writes the horizon');
my $others = $node->safe_psql('postgres', $ask);
is(scalar(split /\n/, $others), 1000, 'while that session writes others generate IDs');
is($writer->{out}, '', 'the session that writes has no IDs yet');

$clock->set($gate + 60);
my $late = begin('late', $ask);
ok(waits_for('late', '^flakeid$'), 'at the gate another session waits for the one that writes');
is($late->{out}, '', 'a session that waits at the gate has no IDs');

$disk->becomes('broken');
$disk->ends('slow');
$writer->{run}->finish;
like(
	$writer->{err},
	qr/ERROR:  58030: could not sync state file ".*flakeid\/state"/,
	'a write that fails is the error of the session that writes');
$late->{run}->finish;
is($late->{err}, '', 'after a failed write the next session has no error');
is(scalar(split /\n/, $late->{out}),
	1000, 'after a failed write the next session writes, and has IDs');
ok(!-e $new, 'a failed write leaves nothing over');

my @ids = map { split /[|\n]/ } $all, $others, $late->{out}, $node->safe_psql('postgres', $ask);
my %once;
$once{$_}++ for @ids;
is(scalar(@ids), 4000 * @ID_TYPES, 'all sessions together have as many IDs as they asked for');
is(scalar(keys %once), 4000 * @ID_TYPES, 'no ID repeats');

$node->stop;
done_testing();
