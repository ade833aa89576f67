# Sessions in two databases ask for IDs while the server is stopped, or its postmaster or a parallel
# worker is killed: no ID repeats, and prepared transactions keep theirs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Postmaster;
use PostgreSQL::Test::Cluster;
use Server;
use StateFile;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('restarted');
$node->init;
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'flakeid'
	restart_after_crash = on
	log_statement = none
	max_prepared_transactions = 10
	max_parallel_workers_per_gather = 2
	min_parallel_table_scan_size = 0
	parallel_setup_cost = 0
	parallel_tuple_cost = 0
	CONF
my $ledger = Ledger->new('restarted');
my $postmaster = Postmaster->start($node);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, <<~'SQL') for 'postgres', 'other';
	CREATE EXTENSION flakeid;
	CREATE TABLE source AS SELECT generate_series(1, 5000);
	SQL

# Begins sessions of every ID type in both databases.
sub begin_crowd {
	$ledger->crowd($node, databases => ['postgres'], ways => [ 'single', 'parallel' ]);
	$ledger->crowd($node, databases => ['other'], ways => [ 'batch', 'parallel' ]);
	return $ledger->wait_until_given(0.3);
}

my $stop = 0;
for my $mode ('fast', 'immediate', 'fast') {
	$stop++;
	my $after = "after stop $stop in mode $mode";
	begin_crowd();
	$postmaster->stop($mode);
	$ledger->crowd_ends("$after the sessions have ended with the server");
	is(state_of($node)->{server}, 'stopped', "$after the horizon is exact");
	$postmaster = Postmaster->start($node);
	$ledger->all_generate($node, "$after all ID types generate IDs");
}
is($ledger->twice, '', 'no ID repeats in two databases over three stops');

# crashes with prepared transactions -------------------------------------------------------------

$node->safe_psql('postgres', <<~"SQL") for @ID_TYPES;
	CREATE TABLE prepared_$_->{name} (id $_->{type} DEFAULT $_->{next} PRIMARY KEY, nr integer);
	BEGIN;
	INSERT INTO prepared_$_->{name} (nr) SELECT generate_series(1, 5000);
	PREPARE TRANSACTION '$_->{name}';
	SQL
begin_crowd();
$postmaster->kill9;
$ledger->crowd_ends('when the postmaster is killed the sessions end');
$postmaster = Postmaster->start($node);
begin_crowd();
# So that there is a worker that stays until it is killed.
$ledger->crowd($node, id_types => [ $ID_TYPES[0] ], ways => ['workers']);
$ledger->kill_one($node, 'parallel worker');
$ledger->crowd_ends('when a parallel worker is killed the sessions end');
wait_for_server($node);
begin_crowd();
for my $name (map { $_->{name} } @ID_TYPES) {
	$node->safe_psql('postgres', "COMMIT PREPARED '$name'");
	my $rows =
	  $node->safe_psql('postgres', "COPY (SELECT '$name', id FROM prepared_$name) TO STDOUT");
	is($ledger->enter($rows), 5000, "a prepared transaction keeps its $name IDs over two crashes");
}
$postmaster->stop;
$ledger->dispersed;
is($ledger->twice, '', 'no ID repeats in two databases over two crashes');
done_testing();
