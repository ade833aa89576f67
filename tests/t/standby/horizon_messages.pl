# A session that moves the horizon writes it into the WAL, also with wal_level = minimal, without a
# transaction ID, in a subtransaction and in a parallel query. It writes once for each move, and
# this is flushed.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('minimal');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.horizon_lead = '1h'
wal_level = minimal
max_wal_senders = 0
synchronous_commit = off
checkpoint_timeout = '1d'
autovacuum = off
END
$node->start;
# Afterwards no page is left to be pruned, which would go into the WAL, too.
$node->safe_psql('postgres', $_) for 'CREATE EXTENSION flakeid', 'VACUUM FREEZE';

sub lsn { return $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()') }

my $parallel = join '; ', map { "SET $_ TO 0" } 'parallel_setup_cost', 'parallel_tuple_cost',
  'min_parallel_table_scan_size';
my $query = 'SELECT flake_next() > 0 FROM pg_class LIMIT 1';
like($node->safe_psql('postgres', "$parallel; EXPLAIN $query"),
	qr/Gather/, 'a query that generates an ID is parallel');

my $no_xid = 'pg_current_xact_id_if_assigned() IS NULL';
for my $case (
	[
		'a read-only transaction generates an ID, and assigns no transaction ID',
		"BEGIN READ ONLY; SELECT flake_next() > 0, $no_xid; COMMIT",
		't|t'
	],
	[ 'the leader of a parallel query generates an ID', "$parallel; $query", 't' ],
	[
		'a subtransaction generates an ID, and assigns no transaction ID',
		"BEGIN; SAVEPOINT s; SELECT flake_next() > 0; ROLLBACK TO s; SELECT $no_xid; COMMIT",
		"t\nt"
	])
{
	my ($claim, $statement, $expected) = @$case;
	subtest $claim => sub {
		$node->restart;
		$node->safe_psql('postgres', 'CHECKPOINT');
		my $before = lsn();
		is($node->safe_psql('postgres', $statement), $expected, $claim);
		my $after = lsn();
		cmp_ok($node->safe_psql('postgres', "SELECT pg_wal_lsn_diff('$after', '$before')"),
			'>=', 104, 'the horizon goes into the WAL of a server with wal_level = minimal');
		# Nothing else of this server flushes its WAL. The next insertion may be behind the header
		# of a page, which has up to 40 bytes.
		ok( $node->poll_query_until(
				'postgres', "SELECT pg_current_wal_flush_lsn() + 40 >= '$after'"),
			'it reaches the disk, and so the standbys, although no transaction commits');
		$node->safe_psql('postgres', $statement);
		is(lsn(), $after, 'nothing more goes into the WAL until the horizon moves again');
	};
}
$node->stop;

done_testing();
