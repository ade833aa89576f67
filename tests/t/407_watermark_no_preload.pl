# The watermark of a server that does not preload the library: from PostgreSQL 17 on it promises the same. A session may
# generate IDs in parallel workers although it has not loaded the library itself, and after a start the server does not
# know which prepared transactions have IDs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('no_preload', <<'END');
shared_preload_libraries = ''
log_statement = none
max_prepared_transactions = 20
max_worker_processes = 16
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
parallel_leader_participation = off
flakeid.max_clock_wait = '100ms'
END
my $node = $clock->node;
$clock->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000;
create_tables($node);
if ($version < 17)
{
	like(error_of($node, 'SELECT flakeid_watermark()'), qr/ERROR:  55000: .*shared_preload_libraries/, 'without preload it is an error');
	$node->stop;
	done_testing();
	exit;
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE source AS SELECT nr FROM generate_series(1, 2000) AS nr;
ALTER TABLE source SET (parallel_workers = 2);
-- Nothing tells the leader that this needs the library.
CREATE FUNCTION id_of(integer) RETURNS bigint LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN flake_next(); END';
SQL
my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my ($writer, $reader, $observer) = map { session($node) } 1 .. 3;

# sessions -------------------------------------------------------------------------------------------------------------

passes($observer, clock_in($observer), 'it follows the clock');
for my $id_type (@ID_TYPES)
{
	$writer->query_safe('BEGIN');
	my $time = insert_into($writer, $id_type);
	is_held($observer, $time, "$id_type->{name}: an open transaction holds it");
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM source');
	$writer->query_safe('COMMIT');
	passes($observer, $time, '... until its end');
	is_held($reader, $time, '... and for a snapshot from before');
	$reader->query_safe('COMMIT');
}

# The last session leaves, and takes the gates with it.
my $reported = 0;
for my $back (0, 0.05, 3600)
{
	passes($observer, clock_in($observer), 'a watermark is reported') if $back < 100;
	my $seen = watermark_in($observer);
	cmp_ok($seen, '>=', $reported, '... it does not fall');
	$reported = $seen;
	$_->quit for $writer, $reader, $observer;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'") or die 'sessions stay';
	$clock->step(-$back);
	($writer, $reader, $observer) = map { session($node) } 1 .. 3;
	cmp_ok(watermark_in($observer), '>=', $reported, "... nor when all sessions have left and the clock steps back by $back s");
	for my $id_type (@ID_TYPES)
	{
		my $answer = $writer->query('SELECT ' . in_micros("$id_type->{name}_timestamp($id_type->{next})"));
		my $error  = $writer->{stderr};
		$writer->{stderr} = '';
		$error eq ''
		  ? cmp_ok($answer, '>=', $reported, "... and $id_type->{name} IDs are not below it")
		  : like($error, qr/ERROR:  58000: the clock is .* behind/, "... and $id_type->{name} IDs wait for the clock");
	}
	$clock->step(0);
}

# workers of a leader without the library ------------------------------------------------------------------------------

my $made = 0;
for my $end ('COMMIT', 'ROLLBACK', 'an ID of its own', 'PREPARE', 'another transaction')
{
	my $table  = 'made_' . ++$made;
	my $leader = session($node);
	my $pid    = $leader->query_safe('SELECT pg_backend_pid()');
	$leader->query_safe('BEGIN');
	like(
		$leader->query_safe("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) CREATE TABLE $table AS SELECT id_of(nr) AS id FROM source"), qr/Workers Launched: [1-9]/,
		"$end: workers generate IDs");
	# To read an ID's time would load the library.
	my $last = $leader->query_safe("SELECT min(id) FROM $table");
	my $time = $reader->query_safe('SELECT ' . in_micros("flake_timestamp($last)"));
	is_held($observer, $time, '... the watermark is held when they have ended');
	is($observer->query_safe('SELECT pid FROM pg_stat_flakeid_watermark'), $pid, '... the view names the leader');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM source');
	if ($end eq 'an ID of its own')
	{
		my $own = insert_into($leader, $flake);
		is_held($observer, $time, '... also when the leader has an ID of its own');
		$leader->query_safe('COMMIT');
	}
	elsif ($end eq 'PREPARE')
	{
		$leader->query_safe("PREPARE TRANSACTION 'prepared'");
		is_held($observer, $time, '... also when it is prepared');
		# The leader's process number is used again.
		$leader->query_safe('BEGIN; CREATE TABLE other (); COMMIT');
		is_held($observer, $time, '... and its session goes on');
		$observer->query_safe("COMMIT PREPARED 'prepared'");
	}
	elsif ($end eq 'another transaction')
	{
		$leader->query_safe('COMMIT; BEGIN; CREATE TABLE next ()');
		passes($observer, $time, '... its next transaction does not hold it');
		my $own = insert_into($leader, $flake);
		is_held($observer, $own, '... until it generates IDs');
		$leader->query_safe('COMMIT');
		$time = $own;
	}
	else
	{
		$leader->query_safe($end);
	}
	passes($observer, $time, '... until the end');
	is_held($reader, $time, '... and for a snapshot from before the end') if $end ne 'ROLLBACK' && $end ne 'another transaction';
	$reader->query_safe('COMMIT');
	$leader->quit;
	passes($observer, clock_in($observer), '... and for no one else');
}

# prepared transactions ------------------------------------------------------------------------------------------------

$writer->query_safe('BEGIN');
my $time = insert_into($writer, $flake);
$writer->query_safe("PREPARE TRANSACTION 'one'");
is_held($observer, $time, 'a prepared transaction holds it');
cmp_ok(watermark_in($observer), '>', 0, '... at its own time');
for my $how ('fast', 'immediate')
{
	$_->quit for $writer, $reader, $observer;
	$node->stop($how);
	$clock->start;
	($writer, $reader, $observer) = map { session($node) } 1 .. 3;
	is_held($observer, $time, "after a start ($how) it holds it");
	is($observer->query_safe('SELECT gid FROM pg_stat_flakeid_watermark'), 'one', '... the view says so');
}
$observer->query_safe("COMMIT PREPARED 'one'");
passes($observer, $time, '... until it ends');
$_->quit for $writer, $reader, $observer;
$node->stop;

# It is prepared while no session has the library, and the server is started again.
$clock->start;
($writer, $reader, $observer) = map { session($node) } 1 .. 3;
$writer->query_safe('BEGIN; CREATE TABLE in_workers AS SELECT id_of(nr) AS id FROM source');
my $least = $writer->query_safe('SELECT min(id) FROM in_workers');
$writer->query_safe("PREPARE TRANSACTION 'in workers'");
$time = $observer->query_safe('SELECT ' . in_micros("flake_timestamp($least)"));
is_held($observer, $time, 'one that was prepared by a leader without the library holds it');
$_->quit for $writer, $reader, $observer;
$node->stop;
$clock->start;
($writer, $reader, $observer) = map { session($node) } 1 .. 3;
is_held($observer, $time, '... after a start, too');
$observer->query_safe("COMMIT PREPARED 'in workers'");
passes($observer, $time, '... until it ends');
$_->quit for $writer, $reader, $observer;
$node->stop;
done_testing();
