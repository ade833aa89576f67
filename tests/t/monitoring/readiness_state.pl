# flakeid_readiness and flakeid_settings_errors when the epoch of the state differs from the
# setting, and when the state file cannot be written, is damaged, is missing or is not yet opened.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Readiness;
use Server;
use StateFile;
use Test::More;

my $node =
  flakeid_server('readiness', "flakeid.max_clock_wait = '0'\nflakeid.generator_ids = '8'\n");
$node->safe_psql('postgres', 'CREATE ROLE watcher LOGIN IN ROLE pg_monitor');
$node->safe_psql('postgres', 'SELECT ' . join ', ', map { "${_}_next()" } split / /, $ALL_TYPES);

# Removes the line of the epoch from the configuration.
sub remove_epoch {
	my $file = $node->data_dir . '/postgresql.conf';
	my $configuration = slurp_file($file) =~ s/^flakeid\.epoch.*\n//mgr;
	unlink $file;
	append_to_file($file, $configuration);
	return;
}

# the epoch ------------------------------------------------------------------------------------

configure($node, "flakeid.epoch = 'unix'\n");
$node->poll_query_until('postgres', 'SHOW flakeid.epoch', 'unix')
  or die 'the epoch is not in force';
my $earlier = qr/LOG:  "flakeid\.epoch" is earlier than the epoch of existing flakes/;
ok($node->wait_for_log($earlier), 'a reload to an earlier epoch is in the log');
is( settings_errors($node, 'name, setting, file, error'),
	'flakeid.epoch|unix|postgresql.conf|'
	  . 'Flakes were generated with the epoch 2010-01-01 00:00:00+00,'
	  . ' and "flakeid.epoch" is 1970-01-01 00:00:00+00. Their times are read differently now.'
	  . ' The first flake makes this epoch final.',
	'flakeid_settings_errors has the earlier epoch');
is(scalar(() = slurp_file($node->logfile) =~ /$earlier/g), 1, 'the earlier epoch is logged once');
$node->reload;
$node->safe_psql('postgres', 'SELECT flake_next()');
is(settings_errors($node, 'name'), '', 'flakeid_settings_errors has it until the first flake');

remove_epoch();
my $generated = 'Flakes were generated with the epoch 1970-01-01 00:00:00\+00';
my $lost = qr/\Aflakeid\.epoch\|\|\|$generated, and "flakeid\.epoch" is not set: .*/;
$lost = qr/$lost Write "flakeid\.epoch = 'unix'" into postgresql\.conf/;
$node->reload;
$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM flakeid_settings_errors')
  or die 'the line is not missed';
my $errors = 'name, setting, sourcefile, error';
like(settings_errors($node, $errors),
	$lost, 'the view misses the line of the epoch after a reload without it');
is_as_sessions_see($node, $ALL_TYPES, 'all ID types stay ready until the next start');
$node->restart;
is_as_sessions_see($node, 'sno flake128 guid uniqueid uuidv7', 'all but flake are ready after it');
like(settings_errors($node, $errors),
	$lost, 'the view misses the line of the epoch after a start without it');
configure($node, "flakeid.epoch = 'unix'\n");
becomes_ready($node);

# a directory that cannot be written -----------------------------------------------------------

my $directory = $node->data_dir . '/flakeid';
chmod 0500, $directory or die "could not change $directory: $!";
like(
	error_becomes($node, 'SELECT flake_next()', qr/42501/),
	qr/could not \w+ state file/,
	'the horizon cannot be written');
$node->poll_query_until('postgres', 'SELECT bool_and(NOT ready) FROM flakeid_readiness')
  or die 'the server is ready';
is(readiness($node), all_are('42501 used'),
	'no ID type is ready while the directory cannot be written');
$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
is(readiness($node), all_are('42501 used'), 'a reset of the counts makes no ID type ready');
chmod 0700, $directory or die "could not change $directory: $!";
$node->safe_psql('postgres', 'SELECT flake_next()');
is_as_sessions_see($node, $ALL_TYPES, 'all are ready after a write that succeeds');

# a damaged state file -------------------------------------------------------------------------

$node->stop;
my $state = slurp_file(state_path($node));
append_to_file(state_path($node), 'x');
$node->start;
is_as_sessions_see($node, '', 'nothing is ready with a damaged state file');
$node->append_conf('postgresql.conf', "flakeid.sno_sequence = 'all'\n");
$node->restart;
is_as_sessions_see($node, '', 'nothing is ready with an invalid setting besides');
$node->append_conf('postgresql.conf', "flakeid.sno_sequence = '0-65535'\n");
remove_epoch();
$node->restart;
my $damaged = 'the state cannot be read: state file "flakeid/state" is damaged';
like(
	settings_errors($node, 'name, error'),
	qr/\Aflakeid\.epoch\|"flakeid\.epoch" is not set, and $damaged\. Write the epoch/,
	'without its line flakeid_settings_errors says that the epoch is unknown');
configure($node, "flakeid.epoch = 'unix'\n");
is(readiness($node), all_are('XX001'),
	'each ID type has the error of the state file, and whether it was used is unknown');

# a state that is not yet opened ---------------------------------------------------------------

$node->stop;
unlink state_path($node) or die "could not remove the state: $!";
append_to_file(state_path($node), $state);
$node->start;
my $before = traces($node);
is(without_use($node), all_are('ready'), 'all are ready before the state file is opened');
is(traces($node), $before, 'the view does not open the state');
is_as_sessions_see($node, $ALL_TYPES, 'all are ready with the file that the server wrote');

# Without the directory it is unknown whether there were IDs.
$node->stop;
my $end_of_log = -s $node->logfile;
rename $directory, "$directory.away" or die "could not rename $directory: $!";
$node->start;
$node->stop;
unlike(
	substr(slurp_file($node->logfile), $end_of_log),
	qr/no state file/,
	'a start without IDs begins no state');
$node->start;
is_as_sessions_see($node, $ALL_TYPES, 'all are ready without a state');
like(
	substr(slurp_file($node->logfile), $end_of_log),
	qr/LOG:  no state file: IDs start at the current time
.*DETAIL:  The data directory has no directory "flakeid"\./,
	'the log has that a new state begins');
$node->stop;

done_testing();
