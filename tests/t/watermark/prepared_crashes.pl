# A transaction is prepared, and the server crashes: right after that, after a checkpoint, with a minimal WAL, without
# waiting for commits, in a backup. The watermark is held where it was. And for all that the server writes nothing but what
# PostgreSQL writes.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my $holders =
	'SELECT gid, '
  . in_micros('watermark')
  . ' FROM pg_stat_flakeid_watermark WHERE gid IS NOT NULL ORDER BY gid';

sub prepare {
	my ($session, $gid) = @_;
	return $session->query_safe('BEGIN; ' . insertion_of($flake) . "; PREPARE TRANSACTION '$gid'");
}

my %settings = (
	'replica' => "wal_level = replica\n",
	'minimal' => "wal_level = minimal\nmax_wal_senders = 0\n",
	'asynchronous' => "wal_level = replica\nsynchronous_commit = off\n",);
for my $name (sort keys %settings) {
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => $name eq 'replica');
	$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid'
log_statement = none
max_prepared_transactions = 20
flakeid.horizon_lead = '300ms'
$settings{$name}
END
	my $postmaster = Postmaster->start($node);
	$node->safe_psql('postgres',
		'CREATE EXTENSION flakeid; CREATE TABLE flakes (id bigint PRIMARY KEY DEFAULT flake_next())'
	);
	my $session = session($node);
	my $crash = sub {
		$postmaster->kill9;
		eval { $session->{run}->finish };
		$postmaster = Postmaster->start($node);
		$session = session($node);
	};

	my $first = prepare($session, 'before the first call');
	$crash->();
	is_held($session, $first,
		"$name: a transaction that was prepared before the first call holds the watermark after a crash"
	);
	my $file = $node->data_dir . '/flakeid/watermark';
	my @stat = stat $file;
	my %steps = (
		'a' => 'SELECT 1',
		'b' => 'CHECKPOINT',
		'c' => 'CHECKPOINT; CHECKPOINT',);
	for my $step (sort keys %steps) {
		clock_passes($session, clock_in($session));
		my $later = prepare($session, "$step prepared");
		$session->query_safe($steps{$step});
		my $held = $session->query_safe($holders);
		$crash->();
		is_held($session, $first,
			"$name, $steps{$step}: the first transaction holds the watermark after the crash");
		is($session->query_safe($holders),
			$held, "$name, $steps{$step}: each transaction holds the watermark where it did");
	}
	is( join(' ', (stat $file)[ 1, 7, 9 ]),
		join(' ', @stat[ 1, 7, 9 ]),
		"$name: no transaction, no checkpoint and no crash has written the file");

	my $held = $session->query_safe($holders);
	if ($name eq 'replica') {
		$node->backup('backup');
		my $copy = PostgreSQL::Test::Cluster->new('copy');
		$copy->init_from_backup($node, 'backup');
		$copy->start;
		is($copy->safe_psql('postgres', "SELECT flakeid_watermark() IS NULL; $holders"),
			"f\n$held", 'the backup alone has each transaction, where it held the watermark');
		$copy->stop;
	}

	$session->query_safe("COMMIT PREPARED '$_'")
	  for 'before the first call', map { "$_ prepared" } sort keys %steps;
	passes($session, clock_in($session), "$name: when all have ended the watermark goes on");
	$session->quit;
	$postmaster->stop('fast');
}

# A snapshot that is older than the first call of a life, and does not see a transaction that has ended before that call.
my $node = PostgreSQL::Test::Cluster->new('snapshots');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nlog_statement = none\nmax_prepared_transactions = 20\n");
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE flakes (id bigint PRIMARY KEY DEFAULT flake_next())');
my $session = session($node);
my $time = prepare($session, 'ended');
$session->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");
$session->quit;
$node->restart;
$session = session($node);
my $other = session($node);
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
$other->query_safe("COMMIT PREPARED 'ended'");
cmp_ok(watermark_in($session), '<=', $time,
	'an old snapshot does not see a transaction that ended before the first call, and its watermark is held'
);
passes($other, $time,
	'a new snapshot sees that transaction, and a transaction without IDs holds nothing');
$session->query_safe('COMMIT');
passes($session, $time, 'the session with the old snapshot has a new one then');
$_->quit for $session, $other;
$node->stop;

done_testing();
