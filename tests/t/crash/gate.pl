# While one session writes the horizon, others continue until they meet the gate. At the gate they
# wait, and can be canceled and terminated. A write that fails is an error of its session alone. A
# single slow write does not move the next horizon further ahead. The library is preloaded, and is
# not where that works.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FaultyDisk;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StateFile;
use Test::More;

my $disk = FaultyDisk->new;
my $node;

# A psql that runs the statement, with what it prints, under a name that pg_stat_activity shows.
sub begin {
	my ($name, $sql, $options) = @_;
	my %psql = (out => '', err => '');
	local $ENV{PGAPPNAME} = $name;
	local $ENV{PGOPTIONS} = $options || '';
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
	return $node->poll_query_until('postgres', <<~"SQL");
		SELECT wait_event_type || ' ' || wait_event ~ '^($event)\$' FROM pg_stat_activity
		WHERE application_name = '$name'
		SQL
}

subtest 'one session writes, and others continue' => sub {
	my $clock =
	  FakedClock->new('gate', "flakeid.horizon_lead = '20min'\nflakeid.max_clock_wait = 0\n");
	$node = $clock->node;
	{
		my %clock = $clock->environment;
		local %ENV = (%ENV, %clock, $disk->environment($clock{LD_PRELOAD}));
		$node->start;
	}
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	my $ask =
	  'SELECT ' . join(', ', map { $_->{next} } @ID_TYPES) . ' FROM generate_series(1, 1000)';
	my $all = $node->safe_psql('postgres', $ask);
	# A quarter of the lead before the true gate the horizon is written.
	my $gate = until_of(state_of($node)) / 1_000_000_000;
	$disk->becomes('slow');

	$clock->set($gate - 240);
	my $writer = begin('writer', $ask);
	ok(waits_for('writer', 'Extension Extension|Extension FlakeidHorizonWrite'),
		'a session that comes near the gate writes the horizon');
	my $others = $node->safe_psql('postgres', $ask);
	is(scalar(split /\n/, $others), 1000, 'while that session writes others generate IDs');
	is($writer->{out}, '', 'the session that writes has no IDs yet');

	$clock->set($gate + 60);
	my $late = begin('late', $ask);
	ok(waits_for('late', 'LWLock flakeid'),
		'at the gate another session waits for the one that writes');
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
	ok(!-e state_path($node) . '.new', 'a failed write leaves nothing over');

	my @ids = map { split /[|\n]/ } $all, $others, $late->{out}, $node->safe_psql('postgres', $ask);
	my %once;
	$once{$_}++ for @ids;
	is(scalar(@ids), 4000 * @ID_TYPES, 'all sessions together have as many IDs as they asked for');
	is(scalar(keys %once), 4000 * @ID_TYPES, 'no ID repeats');

	$node->stop;
};

my $ask = 'SELECT flake_next()';
for my $preloaded (1, 0) {
	$node = PostgreSQL::Test::Cluster->new($preloaded ? 'preloaded' : 'not_preloaded');
	next if !$preloaded && $node->pg_version < 17;
	$node->init;
	my $writes = 'Extension ' . ($node->pg_version < 17 ? 'Extension' : 'FlakeidHorizonWrite');
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n") if $preloaded;
	$node->append_conf('postgresql.conf', "flakeid.generator_ids = '0-7'\n");
	{
		local %ENV = (%ENV, $disk->environment);
		$node->start;
	}
	# A session that has not loaded the library does not know the lock's name, up to version 18.
	my $lock = $preloaded ? 'LWLock flakeid' : 'LWLock flakeid|LWLock extension';
	my $where = $preloaded ? 'preloaded' : 'not preloaded';
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	# A session that stays, as the last to leave makes the horizon exact where flakeid is not
	# preloaded.
	my $stays = $node->background_psql('postgres');
	$stays->query_safe('SELECT flake_next()') for 1 .. 2;

	$disk->becomes('slow');
	$node->poll_query_until('postgres',
		q(SELECT max(gate_lead) < '0' FROM pg_stat_flakeid WHERE id_type = 'flake'))
	  or die 'the clock does not pass the gate';
	my $writer = begin('writer', $ask);
	ok(waits_for('writer', $writes), "$where a session is stuck in writing the horizon");

	my $timed = begin('timed', $ask, '-c statement_timeout=500ms');
	$timed->{run}->finish;
	like(
		$timed->{err},
		qr/ERROR:  57014: canceling statement due to statement timeout/,
		"$where statement_timeout ends another session that waits for it");

	for my $end ([ 'cancel', qr/ERROR:  57014: / ], [ 'terminate', qr/FATAL:  57P01: / ]) {
		my ($how, $error) = @$end;
		my $waiter = begin($how, $ask);
		ok(waits_for($how, $lock), "$where a session to $how waits for the lock");
		$node->safe_psql('postgres',
			"SELECT pg_${how}_backend(pid) FROM pg_stat_activity WHERE application_name = '$how'");
		$waiter->{run}->finish;
		like($waiter->{err}, $error, "$where pg_${how}_backend ends a session that waits");
		$node->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = '$how'")
		  or die 'the session has not gone';
	}

	my $late = begin('late', $ask);
	ok(waits_for('late', $lock), "$where another session continues to wait");
	ok(waits_for('writer', $writes), "$where the first session is still stuck");
	is($writer->{out} . $late->{out}, '', "$where none of these sessions has an ID");

	# So long that twice the time is far from the lead of 1 s.
	$node->safe_psql('postgres', <<~'SQL') eq 't' or die 'the writer has gone';
		SELECT pg_sleep(greatest(0, extract(
			epoch FROM query_start + interval '5.1 s' - clock_timestamp()))) IS NOT NULL
		FROM pg_stat_activity WHERE application_name = 'writer'
		SQL
	$disk->ends('slow');
	$_->{run}->finish for $writer, $late;
	like($writer->{out}, qr/\A\d+\n\z/,
		"$where the first session has its ID when the disk continues")
	  or diag $writer->{err};
	like($late->{out}, qr/\A\d+\n\z/, "$where the session that waited has an ID, too")
	  or diag $late->{err};
	isnt($writer->{out}, $late->{out}, "$where these sessions have different IDs");

	my $state = state_of($node);
	cmp_ok((moment($state->{until}) - moment($state->{since})) / 1_000_000_000,
		'<', 2 * 5, "$where a single slow write does not move the next horizon further ahead");

	$stays->quit;
	$node->stop;
	is( state_of($node)->{server},
		$preloaded ? 'stopped' : 'running',
		"$where the server stops in good order");
}

done_testing();
