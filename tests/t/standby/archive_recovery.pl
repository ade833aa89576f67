# A primary writes its horizon into the WAL. A server that is recovered from the archive, to the end
# or to a point in time, repeats no ID of the primary: also without a worker, without hot standby
# and after a crash. The primary's clock was an hour ahead, and is right when the WAL ends.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

my $ahead = 3600;
my ($primary, $clock) =
  primary('primary', 0, has_archiving => 1, configuration => "flakeid.horizon_lead = '100ms'\n");
# So the names of the primary's node are in the backup, too.
$primary->safe_psql('postgres', "INSERT INTO ${_}s DEFAULT VALUES") for @TYPE_NAMES;
$primary->backup('base');
$primary->safe_psql('postgres', "SELECT pg_create_restore_point('before')");
$clock->step($ahead);
insert_rows($primary, 2000);
my $target = $primary->safe_psql('postgres', 'SELECT clock_timestamp()');
$primary->safe_psql('postgres', 'CREATE TABLE later ()');
insert_rows($primary, 2000);
$clock->step(0);
$primary->safe_psql('postgres', 'CREATE TABLE last ()');
$primary->safe_psql('postgres', 'CHECKPOINT');
# The segment that the switch ends, by the position that it returns: by now another process may have
# written into the next.
my $segment = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal() - 1)');
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the archive is not complete';
$primary->stop;

# Recovers a server to its end or its target. Returns the node and its clock.
sub recover {
	my ($name, $configuration) = @_;
	my ($node, $clock) =
	  successor($name, $primary, 'base', $configuration, has_restoring => 1, standby => 0);
	recovery_ends($node);
	return ($node, $clock);
}

my $no_worker = "max_worker_processes = 0\n";
my $no_hot_standby = "hot_standby = off\n";
my $promote = "recovery_target_action = 'promote'\n";

for my $case (
	[ 'with a worker', '' ],
	[ 'without a worker, and killed', $no_worker ],
	[ 'without hot standby, and killed', "$no_hot_standby$no_worker" ])
{
	my ($how, $configuration) = @$case;
	subtest "a server is recovered from the archive $how" => sub {
		my ($node, $clock) = recover('to_the_end_' . $how =~ tr/ ,/_/r, $configuration);
		if ($configuration ne '') {
			# After the checkpoint that ends recovery, what was recovered is not in memory any more.
			$node->safe_psql('postgres', 'CHECKPOINT');
			crash($clock);
		}
		is($node->safe_psql('postgres', "SELECT count(*), to_regclass('last') FROM flakes"),
			'4001|last', 'it has all rows');
		repeats_none(
			$node, $clock, "a server recovered from the archive $how repeats no ID",
			rows => 4000,
			past => $ahead + 60);
		unlike(
			slurp_file($node->logfile),
			qr/flakeid (?:could not|cannot)/,
			'its log has no complaint');
		halt($node);
	};
}

for my $case ([ 'with a worker', '' ], [ 'without a worker', $no_hot_standby ]) {
	my ($how, $configuration) = @$case;
	subtest "a server is recovered to a point in time $how" => sub {
		my ($node, $clock) = recover('to_a_time_' . $how =~ tr/ /_/r,
			"$configuration${promote}recovery_target_time = '$target'\n");
		is($node->safe_psql('postgres', "SELECT count(*), to_regclass('later') FROM flakes"),
			'2001|', 'it has the rows until then');
		my $error = error_of($node, 'SELECT flake_next()');
		like($error, is_behind_last('flake'), 'it generates no flake while its clock is behind');
		like($error, qr/ (?:[345]\d|60) min /, 'its clock is behind by an hour');
		# PostgreSQL itself does not know the times any more after a restart.
		halt($node);
		launch($clock);
		repeats_none(
			$node, $clock,
			"a server recovered to a point in time $how, and restarted, repeats no ID",
			rows => 2000,
			past => $ahead);
		halt($node);
	};
}

subtest 'a server is recovered to a point before the clock was ahead' => sub {
	my ($node) = recover('before', "$no_worker${promote}recovery_target_name = 'before'\n");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM flakes'),
		'1', 'it has none of the later rows');
	is(error_of($node, "INSERT INTO ${_}s SELECT FROM generate_series(1, 1000)"),
		'', "it generates $_ IDs at once")
	  for @TYPE_NAMES;
	halt($node);
};

done_testing();
