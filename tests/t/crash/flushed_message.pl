# The message about a new horizon reaches the disk, and so the standbys, also if no transaction
# commits.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

# Nothing else of this server flushes its WAL.
my $node = PostgreSQL::Test::Cluster->new('flushes');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
wal_level = minimal
max_wal_senders = 0
checkpoint_timeout = '1d'
autovacuum = off
END
$node->start;
$node->safe_psql('postgres', $_) for 'CREATE EXTENSION flakeid', 'VACUUM FREEZE', 'CHECKPOINT';
for my $statement ('SELECT flake_next()', 'BEGIN READ ONLY; SELECT sno_next(); ROLLBACK') {
	my $before = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	my $session = session($node);
	# Until the gate has moved.
	my $inserted;
	do {
		$session->query_safe($statement);
		$inserted = $session->query_safe('SELECT pg_current_wal_insert_lsn()');
	} until ($inserted ne $before);
	ok($node->poll_query_until('postgres', "SELECT pg_current_wal_flush_lsn() >= '$inserted'"),
		"the WAL of \"$statement\" is flushed");
	$session->quit;
}
$node->stop;

done_testing();
