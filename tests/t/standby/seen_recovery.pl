# A standby that preloads the library knows what it has replayed after its promotion: also after a
# crash, if it has nothing to replay, or if no server has generated an ID before. A server that was
# recovered before the extension came gets its state with the extension.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

# No worker opens the state early.
my $preloads = "shared_preload_libraries = 'flakeid'\nmax_worker_processes = 0\n";

# Begins a new WAL timeline, by a recovery that has nothing to replay.
sub recover {
	my ($node) = @_;
	$node->stop;
	append_to_file($node->data_dir . '/recovery.signal', '');
	$node->append_conf('postgresql.conf', "restore_command = 'false'\n");
	$node->start;
	return recovery_ends($node);
}

# Starts a server with the extension, whose clock is these seconds ahead, and backs it up.
sub server {
	my ($name, $seconds) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', $preloads);
	my $clock = FakedClock->of_node($node);
	$clock->step($seconds);
	$clock->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$node->backup('base');
	return $node;
}

sub standby {
	my ($name, $of) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($of, 'base', has_streaming => 1);
	$node->start;
	return $node;
}

subtest 'a standby whose primary has generated IDs' => sub {
	my $primary = server('primary', 3600);
	my $standby = standby('standby', $primary);
	$primary->safe_psql('postgres',
		'CREATE TABLE orders AS SELECT flake_next() AS id FROM generate_series(1, 1000)');
	$primary->wait_for_catchup($standby);
	$primary->stop;
	$standby->promote;
	$standby->safe_psql('postgres', 'CHECKPOINT');
	$standby->stop('immediate');
	$standby->start;
	like(error_of($standby, 'SELECT flake_next()'),
		is_behind_last('flake'),
		'a standby that crashes after its promotion is above what its primary generated');
	recover($standby);
	$standby->restart;
	like(error_of($standby, 'SELECT flake_next()'),
		is_behind_last('flake'), 'a recovery that has nothing to replay changes nothing');
	$standby->stop;
};

subtest 'servers that have never generated an ID, each of which follows the one before' => sub {
	my $first = server('first', 0);
	ok(!-e $first->data_dir . '/flakeid',
		'on its first WAL timeline a server gets no state with the extension');
	my ($second, $third) = map { standby($_, $first) } 'second', 'third';
	$first->wait_for_catchup($second);
	$first->stop;
	$second->promote;
	$third->enable_streaming($second);
	$third->restart;
	$second->safe_psql('postgres', 'CREATE TABLE followed ()');
	$second->wait_for_catchup($third);
	# The last record of the WAL is a checkpoint on the second WAL timeline.
	$second->stop;
	my $control = '';
	IPC::Run::run([ 'pg_controldata', $second->data_dir ], '>', \$control)
	  or die 'pg_controldata failed';
	my ($lsn) = $control =~ /Latest checkpoint location: +(\S+)/ or die 'no checkpoint';
	$third->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'")
	  or die 'the standby does not get the last checkpoint';
	$third->safe_psql('postgres', 'CHECKPOINT');
	$third->restart;
	$third->promote;
	is(error_of($third, 'SELECT flake_next()'),
		'', 'a server that was promoted with nothing to replay generates IDs');
	$third->stop('immediate');
	$third->start;
	is(error_of($third, 'SELECT flake_next()'), '', 'this server also generates IDs after a crash');
	$third->stop;
	$second->start;
	is(error_of($second, 'SELECT flake_next()'),
		'', 'a server that was promoted and restarted generates IDs');
	$second->stop;
};

for my $when ('before the library is preloaded', 'when the library is preloaded') {
	subtest "the extension comes to a server that was recovered, $when" => sub {
		my $node = PostgreSQL::Test::Cluster->new($when =~ tr/ /_/r);
		$node->init(allows_streaming => 1);
		$node->append_conf('postgresql.conf', "flakeid.moved_state = 'error'\n");
		$node->start;
		recover($node);
		if ($when =~ /^when/) {
			$node->append_conf('postgresql.conf', $preloads);
			$node->restart;
		}
		$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
		ok(-e $node->data_dir . '/flakeid/state',
			"on a later WAL timeline the server gets a state with the extension $when");
		$node->append_conf('postgresql.conf', $preloads);
		$node->restart;
		is(error_of($node, 'SELECT flake_next()'),
			'', "the server generates IDs if the extension came $when");
		$node->safe_psql('postgres', 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
		is(error_of($node, 'SELECT flake_next()'),
			'', "the server generates IDs if the extension was created again, $when");
		$node->stop;
	};
}

done_testing();
