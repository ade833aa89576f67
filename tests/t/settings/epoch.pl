# flake's epoch: a server whose state has flakes of another epoch refuses to generate and to read them by the one in
# force, wherever that comes from; nothing is read wrongly in silence. All refusals name the line of the configuration.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my ($unix, $e2010, $e2020) = map { "$_-01-01 00:00:00+00" } 1970, 2010, 2020;
my $preload = "shared_preload_libraries = 'flakeid'\n";

# Every way in which a flake is read or written without an epoch as an argument.
my @decode = (
	'flake_timestamp(1)',
	'flake_decode(1)',
	"flake_min('2026-01-01')",
	"flake_max('2026-01-01')",
	"flake_range_min('[2026-01-01,2026-01-02)')",
	"flake_range_max('[2026-01-01,2026-01-02)')",
	"flake_encode('2026-01-01', 0, 0, 0)",
	"flake_at('2026-01-01')",
	"flake_before(1, '2026-01-01')",
	"flake_partition_bounds('2026-01-01', '2026-01-02', '1 day')");

sub server {
	my ($name, $configuration) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', $preload . ($configuration // ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# The epoch that the state has; empty for none.
sub recorded {
	my ($node) = @_;
	return -e state_path($node) ? state_of($node)->{epochs}{flake} // '' : '';
}

# Tests that flakes are neither generated nor read, with this error, and that its hint names the line.
sub refuses {
	my ($node, $message, $value, $test, %but) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @ask = (@decode, $but{standby} ? () : ('flake_next()', 'flake_next_batch(2)'));
	my $session = session($node);
	my @wrong = grep {
		my $error = error_in($session, "SELECT $_");
		$error !~ /ERROR:  55000: $message/
		  || $error !~
		  /HINT:  Write "flakeid\.epoch = '\Q$value\E'" into postgresql\.conf, and reload.*ALTER SYSTEM \(postgresql\.auto\.conf\).*command line/
	} @ask;
	$session->quit;
	is(join(', ', @wrong), '', $test) or diag(error_of($node, "SELECT $wrong[0]"));
	is( error_of(
			$node,
			"SELECT flake_timestamp(1, 'epoch'), flake_min(now(), '2020-01-01'), sno_timestamp(sno_min(now()))"
			  . ($but{standby} ? '' : ', sno_next()')),
		'',
		'... but with the epoch as an argument, and other ID types');
	return;
}

# Tests that they are read by this epoch.
sub reads_by {
	my ($node, $epoch, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($node->safe_psql('postgres', 'SELECT flake_timestamp(0)'), $epoch, $test);
}

# Tests that a reload takes nothing, and says why in the log.
sub is_refused_at_reload {
	my ($node, $new, $in_force, $recorded, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $end_of_log = -s $node->logfile;
	$node->reload;
	$node->wait_for_log(
		qr/LOG:  invalid value for parameter "flakeid\.epoch": "\Q$new\E"\n.*DETAIL:  Flakes were generated with the epoch \Q$recorded\E.*\n.*HINT:  Write "flakeid\.epoch = /,
		$end_of_log);
	is($node->safe_psql('postgres', 'SHOW flakeid.epoch'), $in_force, $test);
	return;
}

my $later = qr/"flakeid\.epoch" is later than the epoch of existing flakes/;
my $unset = qr/"flakeid\.epoch" is not set, and existing flakes have a later epoch/;

# the default ------------------------------------------------------------------------------------------------------------

my $node = server('default');
is( $node->safe_psql(
		'postgres',
		"SELECT current_setting('flakeid.epoch'), flake_timestamp(0), flakeid_identity() -> 'flake' ->> 'last_time'"
	),
	"2010-01-01|$e2010|2079-09-07T15:47:35.551Z",
	'flakes count from 2010, and last until 2079');
is(recorded($node), '', 'a server that has generated none has no epoch in its state');
is( $node->safe_psql(
		'postgres',
		'SELECT at BETWEEN now() - interval \'1 ms\' AND clock_timestamp() FROM (SELECT flake_timestamp(flake_next()) AS at OFFSET 0) AS made'
	),
	't',
	'the first flake has the time of now');
is(recorded($node), '2010-01-01T00:00:00.000000000Z', '... and the state has the epoch');

# a later one is refused where it is set -----------------------------------------------------------------------------------

my $session = session($node);
my $first = $session->query_safe('SELECT flake_next()');
my $error = error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2020-01-01'");
like(
	$error,
	qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch": "2020-01-01"/,
	'ALTER SYSTEM refuses a later epoch');
like(
	$error,
	qr/DETAIL:  Flakes were generated with the epoch \Q$e2010\E, and "flakeid\.epoch" is \Q$e2020\E\./,
	'... and says why');
like($error, qr/HINT:  Write "flakeid\.epoch = '2010-01-01'"/, '... and what to do');
$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'");
is_refused_at_reload($node, '2020-01-01', '2010-01-01', $e2010, 'a reload refuses it, too');
cmp_ok($session->query_safe('SELECT flake_next()'), '>', $first, '... and a session goes on');
is($session->query_safe('SHOW flakeid.epoch'), '2010-01-01', '... without it');
is(error_of($node, 'SELECT flake_next()'), '', '... and so does a new one');
is( $node->safe_psql(
		'postgres',
		"SELECT applied FROM pg_file_settings WHERE name = 'flakeid.epoch' AND error IS NOT NULL"),
	'f',
	'... and the view of the file says so');
$node->restart;
refuses($node, $later, '2010-01-01', 'in force at a start, it is refused at each use');
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', "'2010-01-01'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.epoch') = '2010-01-01'")
  or die 'the epoch stays';
is($node->safe_psql('postgres', "SELECT flake_next() > $first"),
	't', '... until the line is as it was');

# the operator's word, and the loss of the line ------------------------------------------------------------------------------

$node->adjust_conf('postgresql.conf', 'flakeid.epoch', "'2005-06-07 08:09:10.5+00'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.epoch') LIKE '2005%'")
  or die 'the epoch stays';
reads_by($node, '2005-06-07 08:09:10.5+00', 'an earlier epoch in the file is the operator\'s word');
is($node->safe_psql('postgres', "SELECT flake_next() > $first"), 't', '... and flakes go on');
is(recorded($node), '2005-06-07T08:09:10.500000000Z', '... and the state has it');
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
is_refused_at_reload(
	$node, '2010-01-01',
	'2005-06-07 08:09:10.5+00',
	'2005-06-07 08:09:10.5+00',
	'where the line is lost a reload does not bring the default');
is($node->safe_psql('postgres', 'SELECT source FROM pg_settings WHERE name = \'flakeid.epoch\''),
	'default', '... though the setting has no other source');
reads_by($node, '2005-06-07 08:09:10.5+00', '... and flakes are read by what was there');
my $debug = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is( $node->safe_psql(
		'postgres',
		"SET $debug = on; CREATE FUNCTION in_worker() RETURNS timestamptz PARALLEL SAFE LANGUAGE sql AS 'SELECT flake_timestamp(0)'; SELECT in_worker() FROM pg_class LIMIT 1"
	),
	'2005-06-07 08:09:10.5+00',
	'... by a parallel worker, too, which PostgreSQL gives the default');
$node->restart;
refuses($node, $later, '2005-06-07T08:09:10.5Z',
	'... but after a restart neither by the default nor at all');
$node->stop;

$node = server('lost', "flakeid.epoch = '2020-01-01'\n");
my $id = $node->safe_psql('postgres', 'SELECT flake_next()');
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
is_refused_at_reload($node, '2010-01-01', '2020-01-01', $e2020,
	'nor does it bring an earlier default');
$node->restart;
refuses($node, $unset, '2020-01-01', '... and an earlier default is nobody\'s word');
is(recorded($node), '2020-01-01T00:00:00.000000000Z', '... and does not get into the state');
$node->safe_psql('postgres', "ALTER SYSTEM SET flakeid.epoch = '1577836800000'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.epoch') = '1577836800000'")
  or die 'the epoch stays';
is($node->safe_psql('postgres', "SELECT flake_next() > $id"),
	't', '... until it is set, in whichever file and way');
$node->stop;

# a state of 0.6.0 ---------------------------------------------------------------------------------------------------------------

# Its default was 1970, which it wrote down with the first flake. Its document has the fields of today's.
$node = server('old', "flakeid.epoch = 'unix'\n");
$id = $node->safe_psql('postgres', 'SELECT sno_next(), flake_next()') =~ s/.*\|//r;
$node->stop;
my $state = state_of($node);
put_state($node, checksummed(<<"END"));
{
  "flakeid_state": 2,
  "system_identifier": "$state->{system_identifier}",
  "until": "$state->{until}",
  "tick_tock_until": [
    "$state->{tick_tock_until}[0]",
    "$state->{tick_tock_until}[1]"
  ],
  "tick_tock": $state->{tick_tock},
  "epochs": {
    "flake": "1970-01-01T00:00:00.000000000Z",
    "sno": "2010-01-01T00:00:00.000000000Z"
  },
  "guid_node": $state->{guid_node},
  "worker": "$state->{worker}",
  "since": "$state->{since}",
  "written": "$state->{written}",
  "server": "stopped"
}
END
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
$node->start;
refuses($node, $later, 'unix',
	'a server of 0.6.0 whose configuration has no line refuses the new default');
like(
	error_of($node, 'SELECT flake_next()'),
	qr/DETAIL:  Flakes were generated with the epoch \Q$unix\E, and "flakeid\.epoch" is not set: its default is \Q$e2010\E\./,
	'... and says what the default is');
$session = session($node);
like(error_in($session, "SELECT flake_timestamp($id)"), $later, '... in a session that stays');
reload_with($node, epoch => 'unix');
is( $session->query_safe(
		"SELECT flake_timestamp($id) BETWEEN now() - interval '1 day' AND now(), flake_next() > $id"
	),
	't|t',
	'... until it has the line');
$session->quit;
$node->stop;

# Without flakes it takes the new default.
$node = server('unused', "flakeid.epoch = 'unix'\n");
$node->safe_psql('postgres', 'SELECT sno_next()');
$node->stop;
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
$node->start;
reads_by($node, $e2010, 'a server that has generated other IDs alone takes the default');
reload_with($node, epoch => '2020-01-01');
reads_by($node, $e2020, '... and a later one');
is($node->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'), 't', '... for its first flake');
is(recorded($node), '2020-01-01T00:00:00.000000000Z', '... which is in the state');
$node->stop;

# a statement across a reload ----------------------------------------------------------------------------------------------------

# Lets a statement that began before a reload ask for a flake after it.
sub across_a_reload {
	my ($node, $between) = @_;
	$node->safe_psql('postgres', <<'END');
CREATE FUNCTION late() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1);
    RETURN flake_next();
END $$
END
	my ($holder, $late) = map { session($node) } 1 .. 2;
	$late->query_safe("SET application_name = 'late'; SELECT sno_next()");
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	$late->query_until(qr/^asks$/m, "\\echo asks\nSELECT late() AS late;\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'late' AND wait_event_type = 'Lock'"
	) or die 'the statement does not wait';
	$between->();
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	my $error = error_in($late, 'SELECT 1');
	$holder->quit;
	return ($error, $late);
}
for my $others (0, 1) {
	$node = server("across_$others");
	my ($error, $late) = across_a_reload(
		$node,
		sub {
			reload_with($node, epoch => '2020-01-01');
			$node->safe_psql('postgres', 'SELECT flake_next()') if $others;
		});
	my $when = $others ? 'after others have generated flakes' : 'before any flake';
	like(
		$error,
		$others
		? qr/ERROR:  55000: "flakeid\.epoch" (?:has changed since this statement began|is not set)/
		: qr/ERROR:  55000: "flakeid\.epoch" has changed since this statement began/,
		"a statement from before a reload to a later epoch does not bring the old one back, $when");
	is(recorded($node), $others ? '2020-01-01T00:00:00.000000000Z' : '', '... nor write it down');
	is($late->query_safe('SELECT flake_next() IS NOT NULL, flake_timestamp(0)'),
		"t|$e2020", '... and its session goes on by the new one');
	is(recorded($node), '2020-01-01T00:00:00.000000000Z', '... which is in the state');
	$late->quit;
	$node->stop;
}

# an invalid epoch -------------------------------------------------------------------------------------------------------------------

$node = server('invalid');
$node->append_conf('postgresql.conf', "flakeid.epoch = 'yesterday'");
$node->restart;
for my $ask (@decode, 'flake_next()') {
	like(
		error_of($node, "SELECT $ask"),
		qr/ERROR:  F0000: parameter "flakeid\.epoch" is invalid: "yesterday"/,
		"with an invalid epoch at the start there is no $ask");
}
is(error_of($node, "SELECT flake_timestamp(1, 'epoch')"),
	'', '... but with the epoch as an argument');
reload_with($node, epoch => '2010-01-01');
is($node->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
	't', '... until it is corrected');
$node->stop;

# a state that cannot be read ----------------------------------------------------------------------------------------------------------

my $unknown = qr/the epoch of existing flakes is unknown/;
my %broken = (
	damaged => sub { put_state($node, state_text($node) =~ s/1/2/r) },
	missing => sub { unlink state_path($node) or die "no state: $!" },
	'a directory' =>
	  sub { unlink state_path($node); mkdir state_path($node) or die "no directory: $!" },
	$> == 0 ? () : (unreadable => sub { chmod 0, state_path($node) or die "no state: $!" }));
for my $how (sort keys %broken) {
	(my $name = $how) =~ tr/ /_/;
	$node = server("broken_$name", "flakeid.epoch = '2020-01-01'\n");
	$id = $node->safe_psql('postgres', 'SELECT flake_next()');
	$node->stop;
	my $good = state_text($node);
	$broken{$how}->();
	$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
	$node->start;
	my @wrong = grep {
		error_of($node, "SELECT $_") !~
		  /ERROR:  55000: $unknown\nDETAIL:  "flakeid\.epoch" is not set, and the state cannot be read: .*state file.*\nHINT:  Write the epoch of the existing flakes into postgresql\.conf.*Do not guess it/
	} @decode;
	is("@wrong", '', "where the state is $how and the line is missing, no flake is read")
	  or diag(error_of($node, "SELECT $wrong[0]"));
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		$how =~ /damaged|missing/ ? qr/ERROR:  55000: $unknown/ : qr/ERROR:  \w+: could not read/,
		'... and the clock cannot be accepted');
	reload_with($node, epoch => '2020-01-01');
	is( $node->safe_psql(
			'postgres', "SELECT flake_timestamp($id) BETWEEN now() - interval '1 day' AND now()"),
		't',
		'... with the line they are');
	if ($how =~ /damaged|missing/) {
		is(error_of($node, 'SELECT flakeid_accept_clock()'),
			'', '... and the clock can be accepted');
		is( recorded($node),
			'2020-01-01T00:00:00.000000000Z',
			'... and the state has the epoch again');
		$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.epoch');
		$node->restart;
		refuses($node, $unset, '2020-01-01', '... so that the default is refused without the line');
	}
	$node->stop;
}

# the log at a start -----------------------------------------------------------------------------------------------------------------------

$node = server('logged', "flakeid.epoch = '2020-01-01'\n");
$id = $node->safe_psql('postgres', 'SELECT flake_next()');
$node->stop;
unlike(
	slurp_file($node->logfile),
	qr/epoch of existing flakes/,
	'the log has no line about the epoch if it is that of the flakes');
for my $start (
	[
		'2015-01-01',
		qr/LOG:  "flakeid\.epoch" is earlier than the epoch of existing flakes/,
		'an earlier one'
	],
	[
		'2024-01-01',
		qr/LOG:  flakeid cannot generate or read flakes: "flakeid\.epoch" is later than the epoch of existing flakes/,
		'a later one'
	],
	[
		undef,
		qr/LOG:  flakeid cannot generate or read flakes: "flakeid\.epoch" is not set, and existing flakes have a later epoch/,
		'none, and the state has one'
	])
{
	my ($epoch, $line, $what) = @$start;
	my $end_of_log = -s $node->logfile;
	$node->adjust_conf('postgresql.conf', 'flakeid.epoch', defined $epoch ? "'$epoch'" : undef, 1);
	$node->start;
	# The worker, or this session if it is first, opens the state.
	$node->psql('postgres', 'SELECT flake_timestamp(1), sno_next(0)');
	$node->safe_psql('postgres', 'SELECT sno_next(0)');
	$node->wait_for_log($line, $end_of_log);
	pass("the log has a line at a start if the configuration has $what");
	$node->stop;
}
is( recorded($node),
	'2020-01-01T00:00:00.000000000Z',
	'... and the state keeps the epoch until there is a flake');

# processes without shared memory ------------------------------------------------------------------------------------------------------

$node = server('collector',
	"logging_collector = on\nlog_directory = 'collected'\nlog_filename = 'log'\nwal_level = logical\narchive_mode = on\narchive_command = 'true'\nautovacuum = on\n"
);
$node->safe_psql('postgres', 'SELECT flake_next()');
my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
my $children = sub {
	my %of;
	for my $pid (map { m{(\d+)} } glob '/proc/[0-9]*') {
		open my $status, '<', "/proc/$pid/status" or next;
		local $/;
		next unless (<$status> // '') =~ /^PPid:\s+$postmaster$/m;
		open my $line, '<', "/proc/$pid/cmdline" or next;
		my $what = <$line> // '';
		# Version 19 calls it syslogger.
		$of{$pid} = $1
		  if $what =~
		  /: ?(?:postgres: )?(?:sys)?(logger|checkpointer|background writer|walwriter|archiver|autovacuum launcher|logical replication launcher)/;
	}
	return %of;
};
# A new process has its title some time after the server takes sessions.
my %before;
poll_until(sub { %before = $children->(); keys %before == 7 })
  or die 'the processes are: ' . join ' ', values %before;
ok((grep { $_ eq 'logger' } values %before), 'there is a logging collector')
  or diag(join ' ', %before);
my $collected = $node->data_dir . '/collected/log';
for my $epoch ('2020-01-01', 'unix', 'yesterday', undef, '2010-01-01') {
	my $end = -s $collected;
	defined $epoch
	  ? $node->append_conf('postgresql.conf', "flakeid.epoch = '$epoch'")
	  : $node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
	$node->reload;
	poll_until(sub { slurp_file($collected, $end) =~ /received SIGHUP/ }) or die 'no reload';
	# Each process has handled it when it has said so, or has ended; a statement goes on after the postmaster told all.
	$node->safe_psql('postgres', 'CHECKPOINT; SELECT pg_switch_wal()');
}
my $end = -s $collected;
$node->safe_psql('postgres', "DO \$\$ BEGIN RAISE LOG 'still collected'; END \$\$");
poll_until(sub { slurp_file($collected, $end) =~ /still collected/ })
  or die 'nothing is collected any more';
my %after = $children->();
is( join(' ', map { "$_ $after{$_}" } sort keys %after),
	join(' ', map { "$_ $before{$_}" } sort keys %before),
	'reloads with lines of the epoch leave all processes alive');
unlike(
	slurp_file($collected) . slurp_file($node->logfile),
	qr/terminated by signal|was terminated|crash of another/,
	'... and the log has no crash');
$node->stop;

sub poll_until {
	my ($is_so) = @_;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default) {
		return 1 if $is_so->();
		select undef, undef, undef, 0.1;
	}
	return 0;
}

# a standby ------------------------------------------------------------------------------------------------------------------------------

for my $first ('before', 'after') {
	my $primary = PostgreSQL::Test::Cluster->new("primary_$first");
	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', "${preload}flakeid.epoch = '2020-01-01'\n");
	$primary->start;
	$primary->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$primary->safe_psql('postgres', 'SELECT flake_next()') if $first eq 'before';
	$primary->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new("standby_$first");
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
	$standby->start;
	my $on_standby = session($standby);

	if ($first eq 'after') {
		is($on_standby->query_safe('SELECT flake_timestamp(0)'),
			$e2010, 'a standby of a primary without flakes reads by its own default');
		# A commit flushes the message of the epoch, which no session waits for.
		$primary->safe_psql('postgres', 'CREATE TABLE flakes AS SELECT flake_next()');
		$primary->wait_for_catchup($standby);
	}
	like(
		error_in($on_standby, 'SELECT flake_timestamp(0)'),
		$unset,
		"a session of a standby whose own configuration lacks the line refuses it; first flake $first the backup"
	);
	refuses($standby, $unset, '2020-01-01', '... and so do others', standby => 1);
	like(
		error_of($standby, "ALTER SYSTEM SET flakeid.epoch = '2021-01-01'"),
		qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch"/,
		'... and a later one is refused where it is set');
	$standby->restart;
	refuses($standby, $unset, '2020-01-01', '... after a restart, too', standby => 1);
	reload_with($standby, epoch => '2020-01-01');
	reads_by($standby, $e2020, '... until it has the line');
	$on_standby->quit;
	$primary->stop;
	$standby->promote;
	is($standby->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
		't', '... and generates flakes when it is promoted');
	$standby->stop;
}

# without preloading -----------------------------------------------------------------------------------------------------------------------

SKIP:
{
	skip 'this version needs preloading', 8 if $node->pg_version < 17;
	$node = PostgreSQL::Test::Cluster->new('not_preloaded');
	$node->init;
	$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	my $session = session($node);
	is($session->query_safe('SELECT flake_timestamp(0)'),
		$e2020, 'without preloading a session reads by the file');
	$node->safe_psql('postgres', 'SELECT flake_next()');
	$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
	$node->reload;
	$node->poll_query_until('postgres',
		q{SELECT coalesce(current_setting('flakeid.epoch', true), '') = ''})
	  or die 'the epoch stays';
	refuses($node, $unset, '2020-01-01', '... and refuses the default where there are flakes');
	is($session->query_safe('SHOW flakeid.epoch'),
		'2020-01-01', '... and a session that has shared memory refuses the reload');
	$session->quit;
	$node->append_conf('postgresql.conf', "flakeid.epoch = '2021-01-01'");
	$node->reload;
	$node->poll_query_until('postgres',
		q{SELECT current_setting('flakeid.epoch', true) = '2021-01-01'})
	  or die 'the epoch stays';
	refuses($node, $later, '2020-01-01', '... nor a later one');
	$node->stop;
	$node = PostgreSQL::Test::Cluster->new('not_preloaded_across');
	$node->init;
	$node->append_conf('postgresql.conf', "flakeid.epoch = '2010-01-01'\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	my ($error, $late) = across_a_reload(
		$node,
		sub {
			$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'");
			$node->reload;
			$node->poll_query_until('postgres',
				q{SELECT current_setting('flakeid.epoch', true) = '2020-01-01'})
			  or die 'the epoch stays';
			$node->safe_psql('postgres', 'SELECT flake_next()');
		});
	like(
		$error,
		qr/ERROR:  55000: "flakeid\.epoch" has changed since this statement began/,
		'... and a statement does not bring back the epoch from before a reload');
	is(recorded($node), '2020-01-01T00:00:00.000000000Z', '... nor write it down');
	$late->quit;
	$node->stop;
}

# the end ------------------------------------------------------------------------------------------------------------------------------------

my $clock = FakedClock->new('end');
$node = $clock->node;
my $day = 86_400;
my $moment = sub { (my $text = $_[0]) =~ tr/ /T/; return moment("${text}Z") / 1_000_000_000 };
my $end_of_log = 0;
my @ends = (
	[ '2076-06-01 00:00:00', qr/no line/, 'more than three years before the end no line' ],
	[
		'2077-06-01 00:00:00',
		qr/LOG:  (?:00000: )?flake IDs end on 2079-09-07 15:47:35\.551\+00\n.*DETAIL:  No later one can be generated\. Move what needs them/,
		'in the last three years a line'
	],
	[
		'2080-06-01 00:00:00',
		qr/LOG:  (?:00000: )?flake IDs ended on 2079-09-07 15:47:35\.551\+00/,
		'after the end a line'
	]);
for my $end (@ends) {
	my ($at, $line, $test) = @$end;
	$clock->set($moment->($at));
	$clock->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS flakeid');
	# The worker says so before it opens the state and ends. It has no title before it begins.
	poll_until(sub { slurp_file($node->logfile, $end_of_log) =~ /LOG:  (?:00000: )?sno IDs end/ })
	  || die 'no line'
	  unless $at =~ /2076/;
	worker_has_ended($node);
	my $log = slurp_file($node->logfile, $end_of_log);
	$at =~ /2076/ ? unlike($log, qr/IDs end/, $test) : like($log, $line, "$test at the start");
	like($log, qr/LOG:  (?:00000: )?sno IDs end(?:ed)? on 2079-/, '... and for sno')
	  unless $at =~ /2076/;
	unlike($log, qr/(?:flake128|guid|uniqueid) IDs end/, '... and none for others');
	if ($at =~ /2080/) {
		my $error = error_of($node, 'SELECT flake_next()');
		like(
			$error,
			qr/ERROR:  2200H: no flake ID can be generated after 2079-09-07/,
			'then there are no flakes');
		like(
			$error,
			qr/HINT:  Check the server's clock\. If it is right, set "flakeid\.epoch" to a later time\./,
			'... and where there never was one, a later epoch is the way');
		is(recorded($node), '', '... as the state has none yet');
		like(
			error_of($node, 'SELECT sno_next()'),
			qr/ERROR:  2200H: .*\n.*HINT:  Check the server's clock\. If it is right, use another ID type\./,
			'... for sno it is another ID type');
		reload_with($node, epoch => '2070-01-01');
		is($node->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
			't', '... and the hint is right');
	}
	$end_of_log = -s $node->logfile;
	$node->stop;
}
$clock = FakedClock->new('used_up', "flakeid.epoch = '2010-01-01'\n");
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next()');
$node->stop;
$clock->set($moment->('2080-06-01 00:00:00'));
$clock->start;
my $ended = error_of($node, 'SELECT flake_next()');
like(
	$ended,
	qr/ERROR:  2200H: no flake ID can be generated after/,
	'a server with flakes generates no more after the end');
like(
	$ended,
	qr/HINT:  Check the server's clock\. If it is right, use another ID type\./,
	'... and the hint does not name the epoch, which is refused');
$node->stop;

sub worker_has_ended {
	my ($node) = @_;
	return poll_until(sub { !worker_of($node) }) || die 'the worker stays';
}

done_testing();
