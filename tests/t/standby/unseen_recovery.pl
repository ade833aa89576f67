# A standby that does not preload the library is promoted, and does not know its primary's horizon.
# After a restart nothing is left that tells it. The server generates no IDs until a superuser
# accepts the clock. The primary's clock is an hour ahead.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use Server;
use Successors;
use Test::More;

my $what = "flakeid's state does not cover all IDs in this server's data";
my $not_covered = qr/ERROR:  55000: $what\n/;
my $how = 'It was promoted, or recovered from a backup, while flakeid was not preloaded';
my $check = quotemeta "Check the server's clock. If it is right and past all IDs generated here,";
my $accept =
  quotemeta 'call flakeid_accept_clock() as a superuser: new IDs then begin at the current'
  . ' time.';
my $hint = qr/HINT:  $check $accept\n/;
my $not_set = qr/"flakeid\.epoch" is not set, and the state cannot be read: $what\.\n/;
my $no_epoch = qr/ERROR:  55000: the epoch of existing flakes is unknown\nDETAIL:  $not_set/;
my $behind = is_behind_last('flake');

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
autovacuum = off
log_line_prefix = ''
max_worker_processes = 0
wal_keep_size = '256MB'
END
my $clock = FakedClock->of_node($primary);
$clock->step(3600);
$clock->start;
my $version = $primary->safe_psql('postgres', 'SHOW server_version_num') / 10000;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer);
SQL
my $insert = 'INSERT INTO orders (nr) SELECT generate_series(1, 1000)';

# Starts a standby that preloads nothing.
sub standby {
	my ($name, $backup) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, $backup, has_streaming => 1);
	$node->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = ''
		max_worker_processes = 8
		END
	$node->start;
	return $node;
}

$primary->backup('young');
my $young = standby('young', 'young');
$primary->safe_psql('postgres', $insert);
$primary->backup('old');
my $old = standby('old', 'old');
$primary->safe_psql('postgres', $insert);
$primary->wait_for_catchup($_) for $young, $old;
$primary->stop;

for my $case (
	[
		'the first',
		$young,
		"The server has no state, and is on WAL timeline 2. $how, or its directory \"flakeid\" was"
		  . ' removed.'
	],
	[
		'a later', $old,
		"The state is of WAL timeline 1, and the server is on WAL timeline 2. $how."
	])
{
	my ($which, $node, $facts) = @$case;
	subtest "a standby that did not preload, from a backup before $which ID, is promoted" => sub {
		$node->promote;
		if ($version >= 17) {
			$node->restart;
			like(error_of($node, 'SELECT flake_next()'),
				$not_covered, 'it generates no IDs after a restart, still without preloading');
		}
		# The HINT of PostgreSQL 15 and 16 asks for this.
		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
		$node->restart;
		like(
			error_of($node, 'INSERT INTO orders DEFAULT VALUES'),
			qr/${not_covered}DETAIL:  \Q$facts\E\n$hint/,
			'it generates no IDs after a restart, and the error has the reason');
		like(error_of($node, 'SELECT flakeid_watermark()'), $not_covered, 'it has no watermark');
		my $not_ready = 'SELECT DISTINCT sqlstate, error FROM flakeid_readiness WHERE NOT ready';
		is($node->safe_psql('postgres', $not_ready), "55000|$what", 'it is not ready');
		ok($node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $what/),
			'its log has the reason at the start');
		$node->restart;
		like(error_of($node, 'SELECT sno_next()'),
			$not_covered, 'it generates no IDs after another restart');
		is($node->safe_psql('postgres', 'SELECT count(flake_timestamp(id)) FROM orders'),
			'2000', 'it reads IDs');

		if ($node == $young) {
			like(error_of($node, 'SELECT flakeid_accept_clock()'),
				$no_epoch, 'it has no state that tells the epoch');
			reload_with($node, epoch => '2010-01-01');
		}
		$node->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
		# The state in the later backup is from a time when the primary's clock was ahead.
		for my $when ('when a superuser has accepted the clock', 'after a restart from then on') {
			$node == $old
			  ? like(error_of($node, 'SELECT flake_next()'),
				$behind, "it begins above its state $when")
			  : is(
				$node->safe_psql(
					'postgres', 'SELECT flake_timestamp(flake_next()) <= clock_timestamp()'),
				't',
				"it begins at its clock $when");
			$node->restart;
		}
		$node->stop;
	};
}

# Since PostgreSQL 17 the first life of such a server has the time of the last transaction, and
# keeps it.
if ($version >= 17) {
	$clock->start;
	my $node = standby('asked', 'old');
	$primary->safe_psql('postgres', $insert);
	$primary->wait_for_catchup($node);
	$primary->stop;
	$node->promote;
	for my $when ('at its promotion', 'after a restart') {
		like(
			error_of($node, 'SELECT flake_next()'),
			$behind,
			"$when a standby that did not preload is above the last transaction that it replayed,"
			  . ' if a session requested an ID at its promotion');
		$node->restart;
	}
	$node->stop;
}

done_testing();
