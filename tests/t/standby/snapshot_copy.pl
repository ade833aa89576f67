# A snapshot of a running server's file system is started beside the original, as a branch is. It is
# what a crash at that moment would have left. With an identity of its own it repeats no ID.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Moves;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $original = PostgreSQL::Test::Cluster->new('original');
$original->init;
$original->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'flakeid'
log_line_prefix = ''
flakeid.generator_ids = '3'
flakeid.interface = '02:00:00:00:00:01'
CONF
my $clock = FakedClock->of_node($original);
$clock->step(60);
$clock->start;
create_tables($original);

# Returns the processes of a server.
sub processes_of {
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my @children = split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
	return ($postmaster, @children);
}

# Copies the files of a server while all its processes stand still.
sub take_snapshot {
	my ($node, $to) = @_;
	my %stopped;
	# A process that the postmaster started before it stopped is found in the second round.
	for (1 .. 2) {
		for my $pid (grep { !$stopped{$_}++ } processes_of($node)) {
			kill 'STOP', $pid;
			# A process that ended before the postmaster stood still has no file.
			my $stat = sub {
				eval { slurp_file("/proc/$pid/stat") }
			};
			wait_until("process $pid stands still",
				sub { ($stat->() // ') X ') =~ /\) [TXZ] / }, 0.005);
		}
	}
	PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir, $to);
	kill 'CONT', keys %stopped;
	return;
}

my $ledger = Ledger->new('snapshot', of_several_servers => 1);
$ledger->crowd($original);
$original->poll_query_until('postgres', 'SELECT sum(ids) > 10000 FROM pg_stat_flakeid')
  or die 'the original generates no IDs';
$original->safe_psql('postgres', "INSERT INTO $_->{name}s SELECT FROM generate_series(1, 100)")
  for @ID_TYPES;
take_snapshot($original, $original->backup_dir . '/snapshot');
$original->stop('immediate');
$ledger->dispersed;
$clock->start;

# Makes a server of the snapshot. Returns the node and its clock.
sub branch {
	my ($name, $configuration) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($original, 'snapshot');
	unlink $node->data_dir . '/postmaster.pid';
	$node->append_conf('postgresql.conf', $configuration);
	my $clock = FakedClock->of_node($node);
	$clock->step(60);
	$clock->start;
	return ($node, $clock);
}

# Returns how many IDs of a type two servers both generate at this moment.
sub repeated {
	my ($type, @nodes) = @_;
	my $next = sprintf $type->{batch}, 50;
	my %times;
	$times{$_}++ for map { split /\n/, $_->safe_psql('postgres', "SELECT $next") } @nodes;
	return scalar grep   { $_ > 1 } values %times;
}

subtest 'a branch with the identity of its original' => sub {
	my ($branch, $of_branch) = branch('alike', '');
	my $moment = time() + 3600;
	$_->stand_still($moment) for $clock, $of_branch;
	my $line = "LOG:  flakeid's state was last written in another place\n";
	my $beside = 'If the server in that place still runs, both generate the same IDs\.';
	# A worker writes this some time after the start.
	ok($branch->wait_for_log(qr/${line}DETAIL:  ${\ written_in($original, $branch)} $beside\n/),
		'its log says that both generate the same IDs');
	cmp_ok(repeated($_, $original, $branch), '>', 0, "$_->{name} IDs repeat beside the original")
	  for grep { $_->{name} ne 'uuidv7' } @ID_TYPES;
	is(repeated($_, $original, $branch), 0, "no $_->{name} repeats")
	  for grep { $_->{name} eq 'uuidv7' } @ID_TYPES;
	$branch->stop;
};

subtest 'a branch with an identity of its own' => sub {
	my ($branch, $of_branch) = branch('other', <<~'CONF');
		flakeid.generator_ids = '4'
		flakeid.guid_node = '4'
		flakeid.interface = '02:00:00:00:00:04'
		CONF
	# The clock of the original stands still an hour later, and so does the branch's now.
	$_->stand_still(time() + 7200) for $clock, $of_branch;
	$ledger->use_all($_)           for $original, $branch;
	$_->step(7200)                 for $clock, $of_branch;
	$ledger->crowd($_)             for $original, $branch;
	$branch->poll_query_until('postgres', 'SELECT sum(ids) > 10000 FROM pg_stat_flakeid')
	  or die 'the branch generates no IDs';
	$_->stop('immediate') for $original, $branch;
	$ledger->crowd_ends('original and branch generate IDs at the same time');
	is($ledger->twice, '', 'no ID repeats, also of those from before the snapshot');
};

subtest 'a branch on a host and in a directory of the same names' => sub {
	my $data = $original->data_dir;
	rename $data, "$data.away" or die "could not rename $data: $!";
	PostgreSQL::Test::RecursiveCopy::copypath($original->backup_dir . '/snapshot', $data);
	unlink "$data/postmaster.pid";
	$original->append_conf('postgresql.conf', "flakeid.moved_state = 'error'\n");
	$clock->step(60);
	$clock->start;
	is(error_of($original, 'SELECT sno_next()'),
		'', "it is taken for its original: flakeid.moved_state = 'error' does not refuse it");
	$original->stop;
};

done_testing();
