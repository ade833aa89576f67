# Sessions in two databases ask for IDs while the server is stopped, or its postmaster, a backend or
# a parallel worker is killed: no ID repeats, and prepared transactions keep theirs. The library is
# preloaded, and is not where that works. Then the last session that leaves makes the horizon exact.
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
use Time::HiRes qw(time);

my ($node, $ledger, $postmaster);

# Starts a server with two databases.
sub start {
	my ($name, $configuration) = @_;
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf',
		"restart_after_crash = on\nlog_statement = none\n$configuration");
	$ledger = Ledger->new($name);
	$postmaster = Postmaster->start($node);
	$node->safe_psql('postgres', 'CREATE DATABASE other');
	$node->safe_psql($_, <<~'SQL') for 'postgres', 'other';
		CREATE EXTENSION flakeid;
		CREATE TABLE source AS SELECT generate_series(1, 5000);
		SQL
	return;
}

# Begins sessions of every ID type in both databases.
sub begin_crowd {
	my ($way) = @_;
	$ledger->crowd($node, databases => ['postgres'], ways => [ 'single', $way ]);
	$ledger->crowd($node, databases => ['other'], ways => [ 'batch', $way ]);
	return $ledger->wait_until_given(0.3);
}

# Ends the server in this way while sessions ask for IDs, and tests that it continues, and perhaps
# that its horizon was exact.
sub end_and_continue {
	my ($after, $event, $way, $is_exact) = @_;
	begin_crowd($way);
		$event =~ /kill a (.*)/ ? $ledger->kill_one($node, $1)
	  : $event =~ /stop (\w+)/  ? $postmaster->stop($1)
	  :                           $postmaster->kill9;
	$ledger->crowd_ends("$after the sessions have ended with the server");
	is(state_of($node)->{server}, 'stopped', "$after the horizon is exact") if $is_exact;
	$event =~ /kill a / ? wait_for_server($node) : ($postmaster = Postmaster->start($node));
	$ledger->all_generate($node, "$after all ID types generate IDs");
	return;
}

subtest 'the library is preloaded' => sub {
	start('restarted', <<~'CONF');
		shared_preload_libraries = 'flakeid'
		max_prepared_transactions = 10
		max_parallel_workers_per_gather = 2
		min_parallel_table_scan_size = 0
		parallel_setup_cost = 0
		parallel_tuple_cost = 0
		CONF
	my $number = 0;
	for my $event ('stop fast', 'stop immediate', 'stop fast') {
		$number++;
		end_and_continue("after event $number, \"$event\",", $event, 'parallel', 1);
	}
	is($ledger->twice, '', 'no ID repeats in two databases over three stops');
	$node->safe_psql('postgres', <<~"SQL") for @ID_TYPES;
		CREATE TABLE prepared_$_->{name} (id $_->{type} DEFAULT $_->{next} PRIMARY KEY, nr integer);
		BEGIN;
		INSERT INTO prepared_$_->{name} (nr) SELECT generate_series(1, 5000);
		PREPARE TRANSACTION '$_->{name}';
		SQL
	begin_crowd('parallel');
	$postmaster->kill9;
	$ledger->crowd_ends('when the postmaster is killed the sessions end');
	$postmaster = Postmaster->start($node);
	begin_crowd('parallel');
	# So that there is a worker that stays until it is killed.
	$ledger->crowd($node, id_types => [ $ID_TYPES[0] ], ways => ['workers']);
	$ledger->kill_one($node, 'parallel worker');
	$ledger->crowd_ends('when a parallel worker is killed the sessions end');
	wait_for_server($node);
	begin_crowd('parallel');
	for my $name (map { $_->{name} } @ID_TYPES) {
		$node->safe_psql('postgres', "COMMIT PREPARED '$name'");
		my $rows =
		  $node->safe_psql('postgres', "COPY (SELECT '$name', id FROM prepared_$name) TO STDOUT");
		is($ledger->enter($rows),
			5000, "a prepared transaction keeps its $name IDs over two crashes");
	}
	$postmaster->stop;
	$ledger->dispersed;
	is($ledger->twice, '', 'no ID repeats in two databases over two crashes');
};

subtest 'the library is not preloaded' => sub {
	plan(skip_all => 'this version needs preloading') if $node->pg_version < 17;
	start('segment', '');
	my $number = 0;
	for my $event ('kill a client backend', 'stop immediate', 'kill the postmaster', 'stop fast') {
		$number++;
		end_and_continue("after event $number, \"$event\",", $event, 'stream');
	}
	is($ledger->twice, '', 'no ID repeats in two databases over these events');
	# Nothing tells the postmaster to make the horizon exact.
	$ledger->use_all($node);
	my $now = time();
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
	  or die 'sessions stay';
	cmp_ok(
		until_of(state_of($node)),
		'<',
		$now * 1_000_000_000,
		'the last session that leaves makes the horizon exact');
	$postmaster->kill9;
	$postmaster = Postmaster->start($node);
	$ledger->use_all($node);
	is($ledger->twice, '', 'no ID repeats when the server is killed after the last session');
	$postmaster->stop;
};
done_testing();
