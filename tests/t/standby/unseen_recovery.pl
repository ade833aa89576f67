# A server that was promoted or recovered while the library was not preloaded does not know its primary's horizon. After a
# restart nothing is left that tells it, and the server generates no IDs until a superuser accepts the clock.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $not_covered = qr/ERROR:  55000: flakeid's state does not cover all IDs in this server's data\n/;
my $how = qr/It was promoted, or recovered from a backup, while flakeid was not preloaded\.\n/;
my $hint =
  qr/HINT:  Check the server's clock\. If it is right and past all IDs generated here, call flakeid_accept_clock\(\) as a superuser: new IDs then begin at the current time\.\n/;

my $behind = qr/ERROR:  58000: the clock is \d+ min behind the last flake ID/;

# The primary's clock is ahead by an hour.
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nautovacuum = off\nlog_line_prefix = ''\nmax_worker_processes = 0\nwal_keep_size = '256MB'\n"
);
my $clock = FakedNode->new($primary);
$clock->step(3600);
$clock->start;
my $version =
  $primary->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
$primary->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer)'
);

# A standby from a backup, which preloads nothing unless its configuration says so.
sub standby {
	my ($name, $of, $backup, $configuration) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($of, $backup, has_streaming => 1);
	$node->append_conf('postgresql.conf',
		$configuration // "shared_preload_libraries = ''\nmax_worker_processes = 8\n");
	$node->start;
	return $node;
}

# What the HINT of PostgreSQL 15 and 16 asks for.
sub preload {
	my ($node) = @_;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
	$node->restart;
	return;
}

# Begins a new WAL timeline, by a recovery that has nothing to replay.
sub recover {
	my ($node) = @_;
	$node->stop;
	append_to_file($node->data_dir . '/recovery.signal', '');
	$node->append_conf('postgresql.conf', "restore_command = 'false'\n");
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	return;
}

$primary->backup('young');
my $young = standby('young', $primary, 'young');
$primary->safe_psql('postgres', 'INSERT INTO orders (nr) SELECT generate_series(1, 1000)');
$primary->backup('old');
my $old = standby('old', $primary, 'old');
# A server that sees all, without a worker.
my $seeing = "max_worker_processes = 0\n";
my $watched = standby('watched', $primary, 'young', $seeing);
$primary->safe_psql('postgres', 'INSERT INTO orders (nr) SELECT generate_series(1, 1000)');
$primary->wait_for_catchup($_) for $young, $old, $watched;
$primary->stop;

# promoted without the library ---------------------------------------------------------------------------------------------

for my $case (
	[ $young, 'The server has no state, and is on WAL timeline 2.' ],
	[ $old, 'The state is of WAL timeline 1, and the server is on WAL timeline 2.' ])
{
	my ($node, $facts) = @$case;
	my $what = "a standby that did not preload, from the backup \"" . $node->name . '",';
	$node->promote;
	if ($version >= 17) {
		$node->restart;
		like(error_of($node, 'SELECT flake_next()'),
			$not_covered, "$what generates no IDs after a restart, still without preloading");
	}
	preload($node);
	my $error = error_of($node, 'INSERT INTO orders DEFAULT VALUES');
	like(
		$error,
		qr/${not_covered}DETAIL:  \Q$facts\E $how$hint/,
		"$what generates no IDs after its promotion and a restart");
	like(error_of($node, 'SELECT flakeid_watermark()'), $not_covered, "$what has no watermark");
	is( $node->safe_psql(
			'postgres', "SELECT DISTINCT sqlstate, error FROM flakeid_readiness WHERE NOT ready"),
		"55000|flakeid's state does not cover all IDs in this server's data",
		"$what is not ready");
	$node->wait_for_log(
		qr/LOG:  flakeid cannot generate IDs: flakeid's state does not cover all IDs in this server's data/
	);
	pass("$what says so in its log at the start");
	$node->restart;
	like(error_of($node, 'SELECT sno_next()'),
		$not_covered, "$what generates no IDs after another restart");
	is($node->safe_psql('postgres', 'SELECT count(flake_timestamp(id)) FROM orders'),
		'2000', "$what reads IDs");

	if ($node == $young) {
		like(
			error_of($node, 'SELECT flakeid_accept_clock()'),
			qr/ERROR:  55000: the epoch of existing flakes is unknown\nDETAIL:  "flakeid\.epoch" is not set, and the state cannot be read: flakeid's state does not cover all IDs in this server's data\.\n/,
			"$what has no state that tells the epoch");
		reload_with($node, epoch => '2010-01-01');
	}
	$node->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
	# The state in the backup is from a time when the primary's clock was ahead.
	for my $when ('when a superuser has accepted the clock', 'after a restart from then on') {
		$node == $old
		  ? like(error_of($node, 'SELECT flake_next()'),
			$behind, "$what begins above its state $when")
		  : is(
			$node->safe_psql(
				'postgres', 'SELECT flake_timestamp(flake_next()) <= clock_timestamp()'),
			't',
			"$what begins at its clock $when");
		$node->restart;
	}
	$node->stop;
}

# Since PostgreSQL 17 the first life of such a server has the time of the last transaction, and keeps it.
if ($version >= 17) {
	$clock->start;
	my $node = standby('asked', $primary, 'old');
	$primary->safe_psql('postgres', 'INSERT INTO orders (nr) SELECT generate_series(1, 1000)');
	$primary->wait_for_catchup($node);
	$primary->stop;
	$node->promote;
	for my $when ('at its promotion', 'after a restart') {
		like(
			error_of($node, 'SELECT flake_next()'),
			$behind,
			"$when a standby that did not preload is above the last transaction that it replayed, if it was asked at its promotion"
		);
		$node->restart;
	}
	$node->stop;
}

# seen by the library ------------------------------------------------------------------------------------------------------

# There is no worker that opens the state early.
$watched->promote;
$watched->safe_psql('postgres', 'CHECKPOINT');
$watched->stop('immediate');
$watched->start;
like(
	error_of($watched, 'SELECT flake_next()'),
	$behind,
	'a standby that preloads, and crashes after its promotion, is above what its primary generated'
);
recover($watched);
$watched->restart;
like(error_of($watched, 'SELECT flake_next()'),
	$behind, 'a recovery that has nothing to replay changes nothing');

# Servers that have never generated an ID, each of which follows the one before.
my @chain = PostgreSQL::Test::Cluster->new('chain_1');
$chain[0]->init(allows_streaming => 1);
$chain[0]->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n$seeing");
$chain[0]->start;
$chain[0]->safe_psql('postgres', 'CREATE EXTENSION flakeid');
ok(!-e $chain[0]->data_dir . '/flakeid',
	'on its first WAL timeline a server gets no state with the extension');
$chain[0]->backup('base');
push @chain, standby("chain_$_", $chain[0], 'base', $seeing) for 2, 3;
my ($first, $second, $third) = @chain;
$first->wait_for_catchup($second);
$first->stop;
$second->promote;
$third->enable_streaming($second);
$third->restart;
$second->safe_psql('postgres', 'CREATE TABLE followed ()');
$second->wait_for_catchup($third);
# The last record of the WAL is a checkpoint on the second WAL timeline.
$second->stop;
$third->poll_query_until('postgres',
	"SELECT pg_last_wal_replay_lsn() >= '" . last_lsn_of($second) . "'")
  or die 'the standby does not get the last checkpoint';
$third->safe_psql('postgres', 'CHECKPOINT');
$third->restart;
$third->promote;
is( error_of($third, 'SELECT flake_next()'),
	'',
	'a server that has never generated an ID, and was promoted with nothing to replay, generates IDs'
);
$third->stop('immediate');
$third->start;
is(error_of($third, 'SELECT flake_next()'), '', 'it also does after a crash');
$third->stop;
$second->start;
is(error_of($second, 'SELECT flake_next()'),
	'', 'a server that has never generated an ID, and was promoted and restarted, generates IDs');
$second->stop;

sub last_lsn_of {
	my ($node) = @_;
	my ($lsn) = slurp_control($node) =~ /Latest checkpoint location: +(\S+)/ or die 'no checkpoint';
	return $lsn;
}

sub slurp_control {
	my ($node) = @_;
	my $control = '';
	IPC::Run::run([ 'pg_controldata', $node->data_dir ], '>', \$control)
	  or die 'pg_controldata failed';
	return $control;
}

# the extension comes to a server that was promoted before --------------------------------------------------------------------

for my $preloads (1, 0) {
	my $node = PostgreSQL::Test::Cluster->new("adopts_$preloads");
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', "flakeid.moved_state = 'error'\n");
	$node->start;
	recover($node);
	my $what =
	  $preloads
	  ? 'a server that preloads the library'
	  : 'a server that does not preload the library yet';
	preload($node) if $preloads;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	ok(-e $node->data_dir . '/flakeid/state',
		"$what gets a state with the extension, on a later WAL timeline");
	preload($node);
	is(error_of($node, 'SELECT flake_next()'), '', "$what generates IDs");
	$node->safe_psql('postgres', 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
	is(error_of($node, 'SELECT flake_next()'),
		'', "$what generates IDs when the extension was created again");
	$node->stop;
}

done_testing();
