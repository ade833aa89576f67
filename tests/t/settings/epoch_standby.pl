# The epoch on a standby whose own configuration lacks the line, and in sessions of a server that
# does not preload the library: both refuse an epoch that is not that of existing flakes.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeEpoch;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my ($e2010, $e2020) = map { "$_-01-01 00:00:00+00" } 2010, 2020;
my $read = 'SELECT flake_timestamp(0)';

# a standby --------------------------------------------------------------------------------------

for my $first ('before', 'after') {
	my $where = "on a standby, the first flake $first the backup,";
	my $primary =
	  flakeid_server("primary_$first", "flakeid.epoch = '2020-01-01'\n", allows_streaming => 1);
	$primary->safe_psql('postgres', 'SELECT flake_next()') if $first eq 'before';
	$primary->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new("standby_$first");
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	remove_epoch($standby);
	$standby->start;
	my $on_standby = session($standby);

	if ($first eq 'after') {
		is($on_standby->query_safe($read),
			$e2010, 'a standby of a primary without flakes reads by its own default');
		# A commit flushes the message of the epoch, which no session waits for.
		$primary->safe_psql('postgres', 'CREATE TABLE flakes AS SELECT flake_next()');
		$primary->wait_for_catchup($standby);
	}
	like(error_in($on_standby, $read), $UNSET, "$where a session refuses without the line");
	refuses($standby, $UNSET, '2020-01-01', $where, standby => 1);
	like(
		error_of($standby, "ALTER SYSTEM SET flakeid.epoch = '2021-01-01'"),
		qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch"/,
		"$where ALTER SYSTEM refuses a later epoch");
	$standby->restart;
	refuses($standby, $UNSET, '2020-01-01', "$where after a restart", standby => 1);
	reload_with($standby, epoch => '2020-01-01');
	is($standby->safe_psql('postgres', $read), $e2020, "$where flakes are read with the line");
	$on_standby->quit;
	$primary->stop;
	$standby->promote;
	is($standby->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
		't', "$where flakes are generated after a promotion");
	$standby->stop;
}

# without preloading -----------------------------------------------------------------------------

SKIP:
{
	my $node = PostgreSQL::Test::Cluster->new('not_preloaded');
	skip 'this version needs preloading', 1 if $node->pg_version < 17;
	$node = epoch_server('without_library', '2020-01-01', not_preloaded => 1);
	my $session = session($node);
	is($session->query_safe($read), $e2020, 'without preloading a session reads by the file');
	$node->safe_psql('postgres', 'SELECT flake_next()');
	remove_epoch($node);
	$node->reload;
	$node->poll_query_until('postgres',
		q{SELECT coalesce(current_setting('flakeid.epoch', true), '') = ''})
	  or die 'the epoch stays';
	refuses($node, $UNSET, '2020-01-01', 'without preloading, with no line,');
	is($session->query_safe('SHOW flakeid.epoch'),
		'2020-01-01', 'without preloading a session that has shared memory refuses the reload');
	$session->quit;
	set_epoch($node, '2021-01-01');
	refuses($node, $LATER, '2020-01-01', 'without preloading, with a later epoch,');
	$node->stop;
}
done_testing();
