# What errors tell of the server's files, hosts and users: members of pg_monitor and superusers read
# it, as they read the settings. An ordinary user is told that the server's log has it, and it does.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir('confidential');
my $withheld = "DETAIL:  The server's log has the details.";
my $node = flakeid_server('confidential', <<"CONF");
log_statement = none
flakeid.generator_ids = 'etcd:2'
flakeid.max_clock_wait = '10ms'
flakeid.etcd_endpoints = 'http://127.0.0.7:1'
flakeid.etcd_user = 'keeper'
flakeid.etcd_password_file = '$dir/nonesuch'
flakeid.etcd_key_file = '$dir/key'
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE ordinary LOGIN;
CREATE ROLE watcher LOGIN;
GRANT pg_monitor TO watcher;
CREATE FUNCTION of_superuser() RETURNS bigint LANGUAGE sql SECURITY DEFINER
	AS 'SELECT flake_next()';
CREATE TABLE rows (id bigint DEFAULT flake_next(), note text);
GRANT ALL ON rows TO PUBLIC;
GRANT CREATE ON SCHEMA public TO ordinary;
SET ROLE ordinary;
CREATE FUNCTION of_ordinary() RETURNS bigint LANGUAGE sql SECURITY DEFINER
	AS 'SELECT flake_next()';
SQL
$node->poll_query_until('postgres', 'SELECT last_error IS NOT NULL FROM pg_stat_flakeid_lease')
  or die 'there is no error';

# What no other user may read.
my $secrets = qr{\Q$dir\E|127\.0\.0\.7|keeper|nonesuch};
my $unread = qr{could not read "\Q$dir\E/nonesuch": No such file};
my $told = qr{\nDETAIL:  The last error was: http://127\.0\.0\.7:1: $unread};
my $message = 'no generator IDs are leased from etcd yet';
my $as = sub { "SET SESSION AUTHORIZATION $_[0]; " };

sub is_told {
	my ($sql, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like(error_of($node, $sql), qr/ERROR:  55000: \Q$message\E$told/, $test);
}

sub is_not_told {
	my ($sql, $test) = @_;
	my $error = error_of($node, $sql);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $hint = 'HINT:  See the last error in pg_stat_flakeid_lease';
	like($error, qr/ERROR:  55000: \Q$message\E\n\Q$withheld\E\n$hint/, $test);
	return unlike($error, $secrets, "$test, and no more");
}

# an error ---------------------------------------------------------------------------------------

is_told('SELECT flake_next()', 'a superuser sees the reason');
is_told($as->('watcher') . 'SELECT flake_next()', 'a member of pg_monitor sees the reason');
my $end_of_log = -s $node->logfile;
my $cannot = 'flakeid cannot generate IDs';
# The first of these errors comes with a line in the log. The later ones do not, as there is one
# such line in ten seconds. So a session that wants to see the log's lines is first.
is_not_told($as->('ordinary') . 'SET client_min_messages = log; SELECT flake_next()',
	'an ordinary user is told where the reason is, also if the session asks for lines of the log');
$node->wait_for_log(
	qr/LOG:  $cannot: \Q$message\E\n[^\n]*DETAIL:  The last error was: [^\n]*nonesuch/,
	$end_of_log);
pass('the log has the reason');
is_not_told($as->('ordinary') . 'SELECT flake_next()',
	'an ordinary user is told where the reason is');
is_not_told(
	$as->('ordinary') . "INSERT INTO rows (note) VALUES ('a')",
	'an ordinary user is told the same where a default generates the ID');
is_not_told('SET ROLE ordinary; SELECT flake_next()',
	'a superuser in an ordinary role is told as the role is');
is_not_told('SELECT of_ordinary()',
	'a superuser in a function with the rights of an ordinary user is told as that user is');
is_told($as->('ordinary') . 'SELECT of_superuser()',
	'a function with the rights of a superuser may tell, as it may show settings');
my $force = $node->safe_psql('postgres',
	"SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')");
is_not_told($as->('ordinary') . "SET $force = on; SELECT flake_at('2026-01-01') AS in_a_worker",
	'an ordinary user\'s parallel worker does not tell');
is_told("SET $force = on; SELECT flake_at('2026-01-01') AS in_a_worker",
	'a superuser\'s parallel worker tells the reason');

# views and settings -----------------------------------------------------------------------------

for my $sql ('TABLE pg_stat_flakeid_lease', 'SELECT * FROM pg_stat_get_flakeid_lease()') {
	like(
		error_of($node, $as->('ordinary') . $sql),
		qr/ERROR:  42501: permission denied/,
		"an ordinary user may not execute $sql");
	like($node->safe_psql('postgres', $as->('watcher') . $sql),
		qr/127\.0\.0\.7:1.*nonesuch/, "a member of pg_monitor may execute $sql");
}
unlike($node->safe_psql('postgres', $as->('ordinary') . 'SELECT flakeid_identity()'),
	$secrets, 'flakeid_identity() tells an ordinary user none of it');
for my $name (map { "flakeid.etcd_$_" } 'endpoints', 'user', 'password_file', 'key_file') {
	like(
		error_of($node, $as->('ordinary') . "SHOW $name"),
		qr/ERROR:  42501: /,
		"an ordinary user does not see $name");
	is( $node->safe_psql(
			'postgres', $as->('ordinary') . "SELECT count(*) FROM pg_settings WHERE name = '$name'"
		),
		'0',
		"an ordinary user does not see $name in pg_settings");
	isnt($node->safe_psql('postgres', $as->('watcher') . "SHOW $name"),
		'', "a member of pg_monitor sees $name");
}
unlike(
	$node->safe_psql(
		'postgres', $as->('ordinary') . 'SELECT string_agg(s::text, chr(10)) FROM pg_settings AS s'
	),
	$secrets,
	'no setting shows any of it to an ordinary user');

# settings that are refused ----------------------------------------------------------------------

$node->stop;
$node->append_conf('postgresql.conf',
	"flakeid.etcd_endpoints = 'http://keeper:topsecret\@127.0.0.7:1'\n");
$end_of_log = -s $node->logfile;
$node->start;
my $invalid = qr/ERROR:  F0000: parameter "flakeid.etcd_endpoints" is invalid\n/;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/${invalid}DETAIL:  An endpoint cannot contain a user/,
	'a superuser is told why a setting is invalid');
like(error_of($node, $as->('ordinary') . 'SELECT flake_next()'),
	qr/$invalid\Q$withheld\E\n/, 'an ordinary user is not told why a setting is invalid');
unlike(error_of($node, $_ . 'SELECT flake_next()'),
	qr/topsecret/, 'no error has the value of that setting')
  for '', $as->('ordinary');
my $log = slurp_file($node->logfile, $end_of_log);
like(
	$log,
	qr/WARNING:  invalid value for parameter "flakeid.etcd_endpoints"\n/,
	'the log says which setting is invalid');
unlike($log, qr/topsecret/, 'the log does not have the value of that setting');
$node->stop;

# A setting that everyone may read.
$node->append_conf('postgresql.conf',
	"flakeid.etcd_endpoints = 'http://127.0.0.7:1'\nflakeid.generator_ids = '7-3'\n");
$node->start;
$invalid = qr/ERROR:  F0000: parameter "flakeid.generator_ids" is invalid: "7-3"\n/;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/${invalid}DETAIL:  In "7-3" the first number is greater than the last\./,
	'a superuser is told why a setting is invalid that all may read');
like(error_of($node, $as->('ordinary') . 'SELECT flake_next()'),
	qr/$invalid\Q$withheld\E\n/,
	'an ordinary user is told the value of a setting that all may read, and not why');
$node->stop;

# the state file ---------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', "flakeid.generator_ids = '0-7'\n");
$node->start;
is(error_of($node, $as->('ordinary') . 'SELECT flake_next()'), '',
	'an ordinary user generates IDs');
$node->stop;
unlink $node->data_dir . '/flakeid/state' or die "no state file: $!";
$node->start;
for my $user ('', $as->('ordinary')) {
	my $error = error_of($node, $user . 'SELECT flake_next()');
	like(
		$error,
		qr{ERROR:  58P01: state file "flakeid/state" is missing\n},
		'errors name the state file from the data directory on');
	unlike(
		$error,
		qr/\Q${\ $node->data_dir}\E/,
		'errors do not name the data directory, which PostgreSQL shows to pg_monitor alone');
}
$node->stop;

done_testing();
