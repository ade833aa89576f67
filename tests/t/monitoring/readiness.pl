# flakeid_readiness says for each ID type whether a session would get an ID, with the error that the
# session gets; and it generates none.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my %next = map { $_ => "${_}_next()" } qw(flake sno flake128 guid uniqueid uuidv7);
my ($clock, $node);

# The rows, as "flake ready, unused"; an error with its SQLSTATE.
sub readiness {
	my ($columns) = @_;
	return $node->safe_psql('postgres', <<'END');
SET SESSION AUTHORIZATION watcher;
SELECT concat_ws(' ', id_type, CASE WHEN ready THEN 'ready' ELSE sqlstate END, CASE WHEN used THEN 'used' WHEN NOT used THEN 'unused' END)
FROM flakeid_readiness
END
}

# Tests that the view has these ID types as ready. Of each other one it has the very error that a
# session gets.
sub is_as_sessions_see {
	my ($expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (@ready, @wrong);
	for my $row (
		split /\n/,
		$node->safe_psql(
			'postgres',
			"SELECT id_type, ready, concat('ERROR:  ', sqlstate, ': ', error), concat('DETAIL:  ' || detail), concat('HINT:  ' || hint) FROM flakeid_readiness"
		))
	{
		my ($id_type, $is_ready, @error) = split /\|/, $row, -1;
		push @ready, $id_type if $is_ready eq 't';
		my $got = error_of($node, "SELECT $next{$id_type}");
		# The clock goes on between the two.
		my ($told, $had) = map { s/\b\d+(?:\.\d+)? (?:ms|s|min)\b/some time/gr }
		  join("\n", grep { $_ ne '' } @error), $got;
		push @wrong, "$id_type: $told but $had"
		  if $is_ready eq 't' ? $got ne '' : index($had, $told) < 0;
	}
	is("@ready", $expected, $test);
	is("@wrong", '', '... and sessions get IDs, or the errors that it has');
	return;
}

# What IDs change, in memory and on disk.
sub traces {
	my $counts = $node->safe_psql('postgres',
		'SELECT count(*), sum(ids), sum(spills), sum(waits), sum(clock_steps_back), sum(tick_tocks) FROM pg_stat_flakeid'
	);
	my $writes =
	  $node->safe_psql('postgres', 'SELECT writes, failures FROM pg_stat_flakeid_horizon');
	return join ' ', $counts, $writes,
	  -e state_path($node) ? slurp_file(state_path($node)) : 'no state';
}

sub configure {
	my ($lines) = @_;
	$node->append_conf('postgresql.conf', $lines);
	$node->reload;
	return;
}

# a new server ---------------------------------------------------------------------------------

$clock = FakedClock->new('readiness', "flakeid.max_clock_wait = '0'\nlog_line_prefix = ''\n");
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE ROLE ordinary');
for my $relation ('flakeid_readiness', 'flakeid_get_readiness()') {
	like(
		error_of($node, "SET SESSION AUTHORIZATION ordinary; SELECT * FROM $relation"),
		qr/42501: permission denied/,
		"others cannot read $relation");
}
my $before = traces();
is( readiness(),
	"flake ready unused\nsno ready unused\nflake128 ready unused\nguid ready unused\nuniqueid ready unused\nuuidv7 ready unused",
	'a new server is ready for all ID types');
is(traces(), $before, '... and has generated none');
$node->safe_psql('postgres', 'SELECT flake_next(), guid_next()');
is( readiness(),
	"flake ready used\nsno ready unused\nflake128 ready unused\nguid ready used\nuniqueid ready unused\nuuidv7 ready unused",
	'flakeid_readiness knows which ID types the server has generated');

# settings -------------------------------------------------------------------------------------

configure("flakeid.generator_ids = '1024-1031'\n");
$node->poll_query_until('postgres',
	"SELECT NOT ready FROM flakeid_readiness WHERE id_type = 'flake'")
  or die 'flake is ready';
is_as_sessions_see('sno flake128 guid uniqueid uuidv7',
	'with generator IDs that are too large for flake the others are ready');

$node->stop;
$node->append_conf('postgresql.conf',
	"flakeid.generator_ids = '8..15'\nflakeid.interface = 'nowhere0'\n");
$clock->start;
is_as_sessions_see('', 'with an invalid setting at the start nothing is ready');
like(readiness(), qr/\A(?:\w+ F0000 used\n?){6}\z/, 'each ID type has the SQLSTATE of the setting');
is( $node->safe_psql(
		'postgres',
		"SELECT name, setting, regexp_replace(sourcefile, '.*/', ''), sourceline > 0, error FROM flakeid_settings_errors ORDER BY name"
	),
	qq(flakeid.generator_ids|8..15|postgresql.conf|t|"8..15" is not a number.\nflakeid.interface|nowhere0|postgresql.conf|t|There is no network interface "nowhere0".),
	'... and flakeid_settings_errors has the lines');
is( $node->safe_psql(
		'postgres',
		"SELECT flakeid_identity() ->> 'generator_ids', flakeid_identity() ->> 'home_generator_id', flakeid_identity() -> 'flake128' ->> 'worker'"
	),
	'[]||',
	'... and the identity names no generator IDs and no worker');
configure("flakeid.generator_ids = '8-15'\nflakeid.interface = ''\n");
$node->poll_query_until('postgres', 'SELECT bool_and(ready) FROM flakeid_readiness')
  or die 'the server is not ready';
is_as_sessions_see('flake sno flake128 guid uniqueid uuidv7',
	'after a reload that corrects them all is ready');
is($node->safe_psql('postgres', 'SELECT count(*) FROM flakeid_settings_errors'),
	'0', '... and there are no errors');
is( $node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'generator_ids'"),
	'[8, 9, 10, 11, 12, 13, 14, 15]',
	'... and the identity has the generator IDs');

# the epoch ------------------------------------------------------------------------------------

configure("flakeid.epoch = 'unix'\n");
my $end_of_log = -s $node->logfile;
$node->poll_query_until('postgres', "SHOW flakeid.epoch", 'unix')
  or die 'the epoch is not in force';
$node->wait_for_log(qr/LOG:  "flakeid\.epoch" is earlier than the epoch of existing flakes/);
pass('a reload to an earlier epoch is in the log');
is( $node->safe_psql(
		'postgres',
		"SELECT name, setting, regexp_replace(sourcefile, '.*/', ''), error FROM flakeid_settings_errors"
	),
	'flakeid.epoch|unix|postgresql.conf|Flakes were generated with the epoch 2010-01-01 00:00:00+00, and "flakeid.epoch" is 1970-01-01 00:00:00+00. Their times are read differently now. The first flake makes this epoch final.',
	'... and in flakeid_settings_errors');
my $lines = () = slurp_file($node->logfile) =~ /"flakeid\.epoch" is earlier/g;
is($lines, 1, '... once');
$node->reload;
$node->safe_psql('postgres', 'SELECT flake_next()');
is($node->safe_psql('postgres', 'SELECT count(*) FROM flakeid_settings_errors'),
	'0', '... until the first flake');
my $configuration = slurp_file($node->data_dir . '/postgresql.conf') =~ s/^flakeid\.epoch.*\n//mgr;
unlink $node->data_dir . '/postgresql.conf';
append_to_file($node->data_dir . '/postgresql.conf', $configuration);
my $lost =
  qr/\Aflakeid\.epoch\|\|\|Flakes were generated with the epoch 1970-01-01 00:00:00\+00, and "flakeid\.epoch" is not set: .* Write "flakeid\.epoch = 'unix'" into postgresql\.conf/;
$node->reload;
$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM flakeid_settings_errors')
  or die 'the line is not missed';
like(
	$node->safe_psql(
		'postgres', 'SELECT name, setting, sourcefile, error FROM flakeid_settings_errors'),
	$lost,
	'after a reload without the epoch\'s line the view misses it');
is_as_sessions_see('flake sno flake128 guid uniqueid uuidv7',
	'all ID types stay ready until the next start, and sessions generate them');
$node->stop;
$clock->start;
is_as_sessions_see('sno flake128 guid uniqueid uuidv7', 'then there are no flakes');
like(
	$node->safe_psql(
		'postgres', 'SELECT name, setting, sourcefile, error FROM flakeid_settings_errors'),
	$lost,
	'... and the view misses the line');
configure("flakeid.epoch = 'unix'\n");
$node->poll_query_until('postgres', 'SELECT bool_and(ready) FROM flakeid_readiness')
  or die 'the server is not ready';

# the clock ------------------------------------------------------------------------------------

# Another generator ID would have no ID from before the step.
configure("flakeid.generator_ids = '8'\n");
$node->poll_query_until('postgres', "SELECT flakeid_identity() ->> 'generator_ids' = '[8]'")
  or die 'the server has other generator IDs';
$clock->step(7200);
$node->safe_psql('postgres', 'SELECT ' . join ', ', values %next);
use_all_lanes($node);
$clock->step(3600);
$before = traces();
$end_of_log = -s $node->logfile;
like(
	readiness(),
	qr/\A(?:\w+ ready used\n?){6}\z/,
	'when the clock has stepped back there is the rest of the last tick');
is(traces(), $before, '... and the view leaves it to a session to notice the step');
is_as_sessions_see('flake sno flake128 guid uniqueid uuidv7',
	'all six ID types are ready, and sessions generate them');
$node->wait_for_log(qr/the clock stepped back: it is [\d.]+ min behind the last flake ID/,
	$end_of_log);
pass('... of which one reports it');

for my $id_type (grep { !$_->{turns} } @ID_TYPES) {
	# The clock is an hour behind, so nothing but the number of IDs ends the tick. The cells have
	# different last ticks.
	my $more = ($id_type->{cells} // 1) * $id_type->{numbers} + 1;
	my @sessions = map { session($node) } 1 .. $id_type->{cells} // 1;
	like(error_in($_, "SELECT count($id_type->{next}) FROM generate_series(1, $more)"),
		qr/58000/, "the rest of the tick of $id_type->{name} ends")
	  for @sessions;
	$_->quit for @sessions;
}
is( readiness() =~ s/ used//gr,
	"flake 58000\nsno ready\nflake128 58000\nguid 58000\nuniqueid 58000\nuuidv7 58000",
	'then sno alone is ready');
is_as_sessions_see('sno', '... as sessions see');

$clock->step(7201);
$node->poll_query_until('postgres', 'SELECT bool_and(ready) FROM flakeid_readiness')
  or die 'the server is not ready';
$node->safe_psql('postgres', 'SELECT flakeid_watermark()');
$clock->step(3600);
is_as_sessions_see('', 'when a reader has the watermark, sno is not ready either');
like(
	$node->safe_psql('postgres', "SELECT string_agg(error, ' ') FROM flakeid_readiness"),
	qr/\A(?:the clock is [\d.]+ min behind the watermark ?){6}\z/,
	'the watermark is the reason for all six ID types');
$node->stop;
$clock->start;
is( readiness() =~ s/ used//gr,
	"flake 58000\nsno 58000\nflake128 58000\nguid 58000\nuniqueid 58000\nuuidv7 58000",
	'no ID type is ready after a restart, before a session has opened the state');
is_as_sessions_see('', '... as sessions see');
$clock->step(7300);

# the state ------------------------------------------------------------------------------------

$node->poll_query_until('postgres', 'SELECT bool_and(ready) FROM flakeid_readiness')
  or die 'the server is not ready';
my $directory = $node->data_dir . '/flakeid';
chmod 0500, $directory or die "could not change $directory: $!";
like(
	error_becomes($node, 'SELECT flake_next()', qr/42501/),
	qr/could not \w+ state file/,
	'the horizon cannot be written');
$node->poll_query_until('postgres', 'SELECT bool_and(NOT ready) FROM flakeid_readiness')
  or die 'the server is ready';
like(
	readiness(),
	qr/\A(?:\w+ 42501 used\n?){6}\z/,
	'no ID type is ready while the directory cannot be written');
$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
like(
	readiness(),
	qr/\A(?:\w+ 42501 used\n?){6}\z/,
	'a reset of the counts does not make an ID type ready');
chmod 0700, $directory or die "could not change $directory: $!";
$node->safe_psql('postgres', 'SELECT flake_next()');
is_as_sessions_see('flake sno flake128 guid uniqueid uuidv7',
	'after a write that succeeds all is ready');

$node->stop;
my $state = slurp_file(state_path($node));
append_to_file(state_path($node), 'x');
$clock->start;
is_as_sessions_see('', 'with a damaged state file nothing is ready');
$node->append_conf('postgresql.conf', "flakeid.sno_sequence = 'all'\n");
$node->stop;
$clock->start;
is_as_sessions_see('',
	'... nor with an invalid setting besides, which is what sessions meet first');
$node->append_conf('postgresql.conf', "flakeid.sno_sequence = '0-65535'\n");
$node->stop;
$clock->start;
$configuration = slurp_file($node->data_dir . '/postgresql.conf');
unlink $node->data_dir . '/postgresql.conf';
append_to_file($node->data_dir . '/postgresql.conf', $configuration =~ s/^flakeid\.epoch.*\n//mgr);
$node->stop;
$clock->start;
like(
	$node->safe_psql('postgres', 'SELECT name, error FROM flakeid_settings_errors'),
	qr/\Aflakeid\.epoch\|"flakeid\.epoch" is not set, and the state cannot be read: state file "flakeid\/state" is damaged\. Write the epoch/,
	'... and without the epoch\'s line flakeid_settings_errors says that it is unknown');
configure("flakeid.epoch = 'unix'\n");
is( readiness(),
	"flake XX001\nsno XX001\nflake128 XX001\nguid XX001\nuniqueid XX001\nuuidv7 XX001",
	'each ID type has the error of the state file, and whether it was used is unknown');
$node->stop;
unlink state_path($node) or die "could not remove the state: $!";
append_to_file(state_path($node), $state);
$clock->start;
$before = traces();
is( readiness() =~ s/ used//gr,
	"flake ready\nsno ready\nflake128 ready\nguid ready\nuniqueid ready\nuuidv7 ready",
	'with the file that the server wrote all is ready, before the state is opened');
is(traces(), $before, '... which it is not by that');
is_as_sessions_see('flake sno flake128 guid uniqueid uuidv7',
	'all six ID types are ready, and sessions generate them');

# Without the directory nobody can know whether there were IDs.
$node->stop;
$end_of_log = -s $node->logfile;
rename $directory, "$directory.away" or die "could not rename $directory: $!";
$clock->start;
$node->stop;
unlike(substr(slurp_file($node->logfile), $end_of_log),
	qr/new state/, 'a start without IDs begins no state');
$clock->start;
is_as_sessions_see('flake sno flake128 guid uniqueid uuidv7', 'without a state all is ready');
like(
	substr(slurp_file($node->logfile), $end_of_log),
	qr/LOG:  no state file: IDs start at the current time\nDETAIL:  The data directory has no directory "flakeid"\./,
	'... and the log says that a new one begins');
$node->stop;

# a lease --------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf',
	"flakeid.generator_ids = 'etcd:2'\nflakeid.etcd_endpoints = 'http://127.0.0.1:1'\n");
$clock->start;
$node->poll_query_until('postgres', "SELECT last_error IS NOT NULL FROM pg_stat_flakeid_lease")
  or die 'etcd answers';
is( readiness() =~ s/ (?:un)?used//gr,
	"flake 55000\nsno 55000\nflake128 ready\nguid ready\nuniqueid 55000\nuuidv7 ready",
	'without a lease there are only IDs that need none');
# The worker asks again each second. A stall gives it another error for a while.
$node->poll_query_until('postgres', "SELECT last_error LIKE '%refused%' FROM pg_stat_flakeid_lease")
  or die 'port 1 is not refused';
is_as_sessions_see('flake128 guid uuidv7', 'sessions can generate the ID types that need no lease');
$node->stop;

done_testing();
