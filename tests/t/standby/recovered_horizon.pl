# A primary writes its horizon into the WAL, so a server that replays it makes none of the primary's IDs again, though
# the primary's clock was ahead for a while and set right before the WAL ends: after recovery from an archive, as a
# promoted standby, after a restart in the middle, and at the end of a cascade. It needs no worker for that.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my @id_types = map { $_->{name} } @ID_TYPES;

# For so many seconds the primary's clock is ahead; those of the other servers are right.
my $ahead = 3600;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
flakeid.horizon_lead = '100ms'
shared_buffers = '16MB'
autovacuum = off
max_worker_processes = 0
END
my $clock = FakedNode->new($primary);
$clock->start;
create_tables($primary);
# So that the names of the primary's node are in the backup, too.
$primary->safe_psql('postgres', "INSERT INTO ${_}s (nr) VALUES (0)") for @id_types;
$primary->backup('base');

# Anyone may write a message with flakeid's prefix: this one tells a horizon of the year 2286.
$primary->safe_psql('postgres', <<'SQL');
CREATE ROLE ordinary;
SET SESSION AUTHORIZATION ordinary;
SELECT pg_logical_emit_message(false, 'flakeid', '\x0100'::bytea || decode(repeat('0000c84e676dc18a', 5), 'hex')),
	pg_logical_emit_message(true, 'flakeid', '\x0100'::bytea || decode(repeat('0000c84e676dc18a', 5), 'hex'));
SQL
$primary->safe_psql('postgres', "SELECT pg_create_restore_point('before')");

# Two standbys, one of the other, and one that is stopped until all is over. Their workers can't help.
my $no_worker = "max_worker_processes = 0\n";
my %postmaster;

sub standby {
	my ($name, $of) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'base');
	$node->enable_streaming($of);
	$node->append_conf('postgresql.conf', "archive_mode = off\n$no_worker");
	my $clock = FakedNode->new($node);
	$postmaster{$name} = Postmaster->start($node, $clock->environment);
	return ($node, $clock);
}
my ($standby, $standby_clock) = standby('standby', $primary);
my ($cascaded, $cascaded_clock) = standby('cascaded', $standby);

# the clock is ahead for a while ------------------------------------------------------------------------------------

$clock->step($ahead);
$primary->safe_psql('postgres', "INSERT INTO ${_}s (nr) SELECT generate_series(1, 4000)")
  for @id_types;
$clock->step(0);
$primary->safe_psql('postgres', 'CREATE TABLE later (); CREATE TABLE last ()');
$primary->safe_psql('postgres', 'CHECKPOINT');
# The segment that the switch ends, by the position that it returns: by now another process may have written into the next.
my $segment = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal() - 1)');

# Makes each type's IDs at moments when the primary had made some, and later.
sub makes_none_again {
	my ($node, $clock, $what) = @_;
	is( $node->safe_psql(
			'postgres', "SELECT count(*), to_regclass('last') IS NOT NULL FROM flakes"),
		'4001|t',
		"$what has all rows");
	for my $id_type (@id_types) {
		my $asked = "INSERT INTO ${id_type}s SELECT FROM generate_series(1, 1000)";
		my @moments = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT extract(epoch FROM min(at)), extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY at)), extract(epoch FROM max(at))
FROM (SELECT ${id_type}_timestamp(id) AS at FROM ${id_type}s WHERE nr > 0) AS made
SQL
		for my $moment (@moments) {
			$clock->stand_still($moment);
			my $error = error_of($node, $asked);
			# The other of its two timelines is free.
			next if $id_type eq 'sno' && $error eq '';
			like(
				$error,
				qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind the last $id_type ID/,
				"... at a moment when the primary made $id_type IDs it makes none");
		}
	}
	$clock->step($ahead + 60);
	is(error_of($node, "INSERT INTO ${_}s SELECT FROM generate_series(1, 1000)"),
		'', "... when the clock is past them $_ IDs go on")
	  for @id_types;
	return;
}

# recovery from the archive -----------------------------------------------------------------------------------------

$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the archive is not complete';
for my $how (
	[ 'with a worker', '' ],
	[ 'without a worker', $no_worker ],
	[ 'without hot standby', "hot_standby = off\n$no_worker" ])
{
	my ($name, $configuration) = @$how;
	my $node = PostgreSQL::Test::Cluster->new($name =~ tr/ /_/r);
	$node->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf',
		"archive_mode = off\nmax_worker_processes = 8\n$configuration");
	my $node_clock = FakedNode->new($node);
	my $postmaster = Postmaster->start($node, $node_clock->environment);
	wait_for_server($node);
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';

	if ($configuration ne '') {
		# What was recovered is not in memory any more, and not before the checkpoint that ended recovery.
		$node->safe_psql('postgres', 'CHECKPOINT');
		$postmaster->kill9;
		$postmaster = Postmaster->start($node, $node_clock->environment);
	}
	makes_none_again($node, $node_clock, "a server recovered from the archive $name");
	unlike(
		slurp_file($node->logfile),
		qr/flakeid (?:could not|cannot)/,
		'... and there is no complaint in its log');
	$postmaster->stop('fast');
}

# Before the clock was ahead nothing is to be waited for; nor does what an ordinary user has written count.
{
	my $node = PostgreSQL::Test::Cluster->new('before');
	$node->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf', "archive_mode = off\n$no_worker" . <<'END');
recovery_target_name = 'before'
recovery_target_action = 'promote'
END
	$node->start;
	wait_for_server($node);
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	is($node->safe_psql('postgres', 'SELECT count(*) FROM flakes'),
		'1', 'a server recovered to a point before that time has none of the rows');
	is(error_of($node, "INSERT INTO ${_}s SELECT FROM generate_series(1, 1000)"),
		'', "... and makes $_ IDs at once")
	  for @id_types;
	$node->stop;
}

# a standby that is restarted, and promoted --------------------------------------------------------------------------

my $last = $primary->safe_psql('postgres',
	'SELECT trunc(extract(epoch FROM max(flake_timestamp(id))) * 1000000000) FROM flakes');
# A commit flushes all WAL; the walwriter of a server whose clock was stepped back flushes none.
$primary->safe_psql('postgres', 'CREATE TABLE flushed ()');
$primary->wait_for_catchup($standby);
$standby->safe_psql('postgres', 'CHECKPOINT');
cmp_ok(until_of(state_of($standby)),
	'>', $last,
	'a standby without a worker has its primary\'s horizon in its state file at a restart point');
cmp_ok(
	moment(state_of($standby)->{until}),
	'<',
	$last + 60 * 1_000_000_000,
	'... and not what an ordinary user has written with its prefix');

# One that may not write its state file says so, goes on, and tries again.
{
	my $node = PostgreSQL::Test::Cluster->new('denied');
	$node->init_from_backup($primary, 'base', has_streaming => 1);
	$node->append_conf('postgresql.conf', "archive_mode = off\n$no_worker");
	my $place = $node->data_dir . '/flakeid';
	chmod 0500, $place or die "could not change $place: $!";
	$node->start;
	$node->wait_for_log(
		qr/flakeid could not write the horizon that it recovered from the WAL: could not create state file/
	);
	cmp_ok(until_of(state_of($node)),
		'<', $last, 'a standby that may not write its state file says so, and goes on');
	chmod 0700, $place or die "could not change $place: $!";
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($node);
	cmp_ok(until_of(state_of($node)),
		'>', $last, '... and writes it with the next checkpoint in the WAL when it may');
	$node->stop;
}

$postmaster{standby}->stop('immediate');
$postmaster{standby} = Postmaster->start($standby, $standby_clock->environment);
$primary->safe_psql('postgres', 'CREATE TABLE very_last ()');
$primary->wait_for_catchup($standby);
$standby->wait_for_catchup($cascaded, 'replay', $primary->lsn('flush'));
$primary->stop;
$standby->promote;
# Nobody has asked it for an ID yet.
$standby->safe_psql('postgres', 'CHECKPOINT');
$postmaster{standby}->kill9;
$postmaster{standby} = Postmaster->start($standby, $standby_clock->environment);
makes_none_again($standby, $standby_clock,
	'a standby that was restarted after a restart point, promoted, and crashed,');

# It follows the other to its new timeline.
$standby->wait_for_catchup($cascaded);
$postmaster{standby}->stop('fast');
$cascaded->promote;
for my $id_type (@id_types) {
	my $moment = $cascaded->safe_psql('postgres',
		"SELECT extract(epoch FROM max(${id_type}_timestamp(id))) FROM ${id_type}s");
	$cascaded_clock->stand_still($moment);
	like(
		error_of($cascaded, "INSERT INTO ${id_type}s SELECT FROM generate_series(1, 1000)"),
		qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind the last $id_type ID/,
		"the standby of a standby that was promoted makes none of its $id_type IDs again when it is promoted, too"
	);
}
$postmaster{cascaded}->stop('fast');

# many restart points, and segments that are removed -------------------------------------------------------------------

# The standby is killed again and again while the primary's clock jumps, and its WAL goes.
{
	my $origin = PostgreSQL::Test::Cluster->new('origin');
	$origin->init(allows_streaming => 1);
	system_or_bail('pg_resetwal', '--wal-segsize=1', '-D', $origin->data_dir);
	$origin->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
shared_buffers = '16MB'
autovacuum = off
max_worker_processes = 0
min_wal_size = '2MB'
max_wal_size = '2MB'
wal_keep_size = '64MB'
END
	my $origin_clock = FakedNode->new($origin);
	$origin_clock->start;
	create_tables($origin);
	$origin->safe_psql('postgres',
		'INSERT INTO flakes (nr) VALUES (0); CREATE TABLE bulk (text text)');
	$origin->backup('base');
	my $first =
	  $origin->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_insert_lsn())');
	my $node = PostgreSQL::Test::Cluster->new('killed');
	$node->init_from_backup($origin, 'base', has_streaming => 1);
	$node->append_conf('postgresql.conf', 'wal_keep_size = 0');
	my $node_clock = FakedNode->new($node);
	my $postmaster = Postmaster->start($node, $node_clock->environment);

	for my $round (1 .. 5) {
		# Each time it is ahead by less than before.
		$origin_clock->step(6000 - 1000 * $round);
		$origin->safe_psql('postgres',
			'INSERT INTO flakes (nr) SELECT generate_series(1, 1000); SELECT pg_switch_wal()')
		  if $round == 1;
		$origin->safe_psql('postgres',
			"INSERT INTO snos (nr) SELECT $round FROM generate_series(1, 1000)")
		  if $round <= 2;
		$origin->safe_psql('postgres',
			"INSERT INTO bulk SELECT repeat('x', 500) FROM generate_series(1, 5000)");
		$origin->safe_psql('postgres', 'CHECKPOINT');
		$origin->wait_for_catchup($node) if $round != 3;
		$node->safe_psql('postgres', 'CHECKPOINT') if $round % 2;
		$postmaster->kill9;
		$postmaster = Postmaster->start($node, $node_clock->environment);
	}
	$origin_clock->step(0);
	$origin->safe_psql('postgres', 'CREATE TABLE flushed ()');
	$origin->wait_for_catchup($node);
	$node->safe_psql('postgres', 'CHECKPOINT');
	ok(!-e $node->data_dir . "/pg_wal/$first",
		'a standby has removed the WAL of the time when its primary\'s clock was ahead');
	$origin->stop;
	$node->promote;
	my $moment = $node->safe_psql('postgres',
		'SELECT extract(epoch FROM max(flake_timestamp(id))) FROM flakes');
	$node_clock->stand_still($moment);
	like(
		error_of($node, 'INSERT INTO flakes SELECT FROM generate_series(1, 1000)'),
		qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind the last flake ID/,
		'... and was killed many times: promoted, it makes none of its primary\'s IDs again');
	$node_clock->step(5060);
	is(error_of($node, "INSERT INTO ${_}s SELECT FROM generate_series(1, 1000)"),
		'', "... when the clock is past them $_ IDs go on")
	  for @id_types;
	$postmaster->stop('fast');
}

# what is written -----------------------------------------------------------------------------------------------------

my $minimal = PostgreSQL::Test::Cluster->new('minimal');
$minimal->init;
$minimal->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.horizon_lead = '1h'
wal_level = minimal
max_wal_senders = 0
synchronous_commit = off
checkpoint_timeout = '1d'
autovacuum = off
END
$minimal->start;
# Afterwards no page is left to be pruned, which would go into the WAL, too.
$minimal->safe_psql('postgres', $_) for 'CREATE EXTENSION flakeid', 'VACUUM FREEZE';

# The bytes of WAL that a statement takes, in sessions with these settings. It takes no others.
sub wal_of {
	my ($statement) = @_;
	my $lsn = sub { $minimal->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()') };
	$minimal->restart;
	$minimal->safe_psql('postgres', 'CHECKPOINT');
	my $before = $lsn->();
	my $said = $minimal->safe_psql('postgres', $statement);
	my $after = $lsn->();
	$minimal->safe_psql('postgres', $statement);
	is($lsn->(), $after, '... and nothing more until it moves again');
	return ($minimal->safe_psql('postgres', "SELECT pg_wal_lsn_diff('$after', '$before')"), $said);
}
my $parallel = join '; ', map { "SET $_ TO 0" } 'parallel_setup_cost', 'parallel_tuple_cost',
  'min_parallel_table_scan_size';
my $in_parallel = 'SELECT flake_next() > 0 FROM pg_class LIMIT 1';
like($minimal->safe_psql('postgres', "$parallel; EXPLAIN $in_parallel"),
	qr/Gather/, 'a query that makes an ID is parallel');
for my $how (
	[
		'a read-only transaction makes an ID, and assigns no transaction ID',
		'BEGIN READ ONLY; SELECT flake_next() > 0, pg_current_xact_id_if_assigned() IS NULL; COMMIT',
		't|t'
	],
	[ 'the leader of a parallel query makes an ID', "$parallel; $in_parallel", 't' ],
	[
		'a subtransaction makes an ID, and assigns no transaction ID',
		'BEGIN; SAVEPOINT s; SELECT flake_next() > 0; ROLLBACK TO s; SELECT pg_current_xact_id_if_assigned() IS NULL; COMMIT',
		"t\nt"
	])
{
	my ($what, $statement, $expected) = @$how;
	my ($bytes, $said) = wal_of($statement);
	is($said, $expected, $what);
	cmp_ok($bytes, '>=', 104,
		"... the horizon goes into the WAL of a server with wal_level = minimal ($bytes bytes)");
}
$minimal->stop;

# the worker ------------------------------------------------------------------------------------------------------------

{
	my $node = PostgreSQL::Test::Cluster->new('worker');
	$node->init_from_backup($primary, 'base', has_restoring => 1);
	$node->append_conf('postgresql.conf', "archive_mode = off\nmax_worker_processes = 8\n");
	$node->start;
	my $worker = sub {
		my ($before) = @_;
		my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
		for (;;) {
			my $pid = worker_of($node);
			return $pid if defined $pid && $pid != $before;
			die 'there is no worker' if time() > $until;
			sleep 0.05;
		}
	};
	my $pid = $worker->(0);
	kill 'TERM', $pid;
	ok($worker->($pid),
		'a server that goes on starts its recovery worker again when that was told to end');
	$node->stop;
}

done_testing();
