# A standby without a worker knows its primary's horizon from the WAL, and has it in its state file
# at each restart point. Promoted, it repeats no ID of the primary, whose clock was ahead and is set
# right: after a restart, after a crash, and at the end of a cascade.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use StateFile;
use Successors;
use Test::More;

my $ahead = 3600;
my ($primary, $clock) = primary('primary', 0, configuration => "flakeid.horizon_lead = '100ms'\n");
$primary->safe_psql('postgres', "INSERT INTO ${_}s DEFAULT VALUES") for @TYPE_NAMES;
$primary->backup('base');

# A user may write a message with flakeid's prefix. This one has a horizon of the year 2286.
$primary->safe_psql('postgres', <<~'SQL');
	CREATE ROLE ordinary;
	SET SESSION AUTHORIZATION ordinary;
	SELECT pg_logical_emit_message(transactional, 'flakeid',
		'\x0100'::bytea || decode(repeat('0000c84e676dc18a', 5), 'hex'))
	FROM (VALUES (false), (true)) AS modes (transactional);
	SQL


my $no_worker = "max_worker_processes = 0\n";
my ($standby, $standby_clock) =
  successor('standby', $primary, 'base', $no_worker, has_streaming => 1);
my ($cascaded, $cascaded_clock) = successor(
	'cascaded', $primary, 'base',
	"${no_worker}primary_conninfo = '" . $standby->connstr . "'\n",
	has_streaming => 1);

$clock->step($ahead);
insert_rows($primary, 4000);
$clock->step(0);
$primary->safe_psql('postgres', 'CREATE TABLE last ()');
my $last = $primary->safe_psql('postgres',
	'SELECT trunc(extract(epoch FROM max(flake_timestamp(id))) * 1000000000) FROM flakes');

subtest 'a standby without a worker makes a restart point' => sub {
	$primary->safe_psql('postgres', 'CHECKPOINT');
	# A commit flushes all WAL; the walwriter of a server whose clock was stepped back flushes none.
	$primary->safe_psql('postgres', 'CREATE TABLE flushed ()');
	$primary->wait_for_catchup($standby);
	$standby->safe_psql('postgres', 'CHECKPOINT');
	my $state = state_of($standby);
	cmp_ok(until_of($state), '>', $last, 'its state file has the horizon of its primary');
	cmp_ok(
		moment($state->{until}),
		'<',
		$last + 60 * 1_000_000_000,
		'its state file does not have the horizon that an ordinary user has written');
};

subtest 'a standby may not write its state file' => sub {
	my $node = PostgreSQL::Test::Cluster->new('denied');
	$node->init_from_backup($primary, 'base', has_streaming => 1);
	my $place = $node->data_dir . '/flakeid';
	chmod 0500, $place or die "could not change $place: $!";
	$node->start;
	$node->wait_for_log(
		qr/could not write the horizon that it recovered from the WAL: could not create/);
	cmp_ok(until_of(state_of($node)), '<', $last, 'it logs that, and continues');
	chmod 0700, $place or die "could not change $place: $!";
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($node);
	cmp_ok(until_of(state_of($node)),
		'>', $last, 'it writes the file at the next checkpoint in the WAL when it may');
	$node->stop;
};

subtest 'a standby is promoted, and its own standby afterwards' => sub {
	halt($standby, 'immediate');
	launch($standby_clock);
	$primary->safe_psql('postgres', 'CREATE TABLE very_last ()');
	$primary->wait_for_catchup($standby);
	$standby->wait_for_catchup($cascaded, 'replay', $primary->lsn('flush'));
	$primary->stop;
	$standby->promote;
	# No session has requested an ID yet.
	$standby->safe_psql('postgres', 'CHECKPOINT');
	crash($standby_clock);
	is($standby->safe_psql('postgres', "SELECT count(*), to_regclass('last') FROM flakes"),
		'4001|last', 'the standby has all rows');
	repeats_none(
		$standby, $standby_clock,
		'a standby that restarted after a restart point, was promoted, and crashed, repeats no ID',
		rows => 4000,
		past => $ahead + 60);

	# It follows the other to its new timeline.
	$standby->wait_for_catchup($cascaded);
	halt($standby);
	$cascaded->promote;
	for my $name (@TYPE_NAMES) {
		$cascaded_clock->stand_still(
			$cascaded->safe_psql(
				'postgres', "SELECT extract(epoch FROM max(${name}_timestamp(id))) FROM ${name}s"));
		like(
			error_of($cascaded, "INSERT INTO ${name}s SELECT FROM generate_series(1, 1000)"),
			is_behind_last($name),
			"the standby of a standby generates no $name ID at the moment of the last one");
	}
	halt($cascaded);
};

done_testing();
