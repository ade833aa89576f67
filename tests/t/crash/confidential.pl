# What errors tell of the server's files, hosts and users: members of pg_monitor and superusers read it, as they read
# the settings; an ordinary user is told that the server's log has it, and the log does.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir('confidential');
my $withheld = "DETAIL:  The server's log has the details.";
my $node = PostgreSQL::Test::Cluster->new('confidential');
$node->init;
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'flakeid'
log_statement = none
flakeid.generator_ids = 'etcd:2'
flakeid.max_clock_wait = '10ms'
flakeid.etcd_endpoints = 'http://127.0.0.7:1'
flakeid.etcd_user = 'keeper'
flakeid.etcd_password_file = '$dir/nonesuch'
flakeid.etcd_key_file = '$dir/key'
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE ROLE ordinary LOGIN;
CREATE ROLE watcher LOGIN;
GRANT pg_monitor TO watcher;
CREATE FUNCTION of_superuser() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT flake_next()';
CREATE TABLE rows (id bigint DEFAULT flake_next(), note text);
GRANT ALL ON rows TO PUBLIC;
GRANT CREATE ON SCHEMA public TO ordinary;
SET ROLE ordinary;
CREATE FUNCTION of_ordinary() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT flake_next()';
SQL
$node->poll_query_until('postgres', 'SELECT last_error IS NOT NULL FROM pg_stat_flakeid_lease')
  or die 'there is no error';

# What nobody else is to read.
my $secrets = qr{\Q$dir\E|127\.0\.0\.7|keeper|nonesuch};
my $told =
  qr{\nDETAIL:  The last error was: http://127\.0\.0\.7:1: could not read "\Q$dir\E/nonesuch": No such file};
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
	like(
		$error,
		qr/ERROR:  55000: \Q$message\E\n\Q$withheld\E\nHINT:  See the last error in pg_stat_flakeid_lease/,
		$test);
	return unlike($error, $secrets, '... and no more');
}

# an error -----------------------------------------------------------------------------------------------------

is_told('SELECT flake_next()', 'a superuser sees the reason');
is_told($as->('watcher') . 'SELECT flake_next()', 'so is a member of pg_monitor');
my $end_of_log = -s $node->logfile;
# The first of these errors comes with a line in the log. The later ones do not, as there is one such line in ten seconds. So
# a session that wants to see the log's lines is first.
is_not_told(
	$as->('ordinary') . 'SET client_min_messages = log; SELECT flake_next()',
	'an ordinary user is told where the reason is, also where a session wants to see the log\'s lines'
);
$node->wait_for_log(
	qr/LOG:  flakeid cannot generate IDs: \Q$message\E\n[^\n]*DETAIL:  The last error was: [^\n]*nonesuch/,
	$end_of_log);
pass('... and the log has it');
is_not_told($as->('ordinary') . 'SELECT flake_next()', '... also where a session does not');
is_not_told($as->('ordinary') . "INSERT INTO rows (note) VALUES ('a')",
	'so it is where a default makes the ID');
is_not_told('SET ROLE ordinary; SELECT flake_next()',
	'a superuser in an ordinary role is told as the role is');
is_not_told('SELECT of_ordinary()', '... and in a function with the rights of an ordinary user');
is_told($as->('ordinary') . 'SELECT of_superuser()',
	'a function with the rights of a superuser may tell, as it may show settings');
my $force = $node->safe_psql('postgres',
	"SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')");
is_not_told($as->('ordinary') . "SET $force = on; SELECT flake_at('2026-01-01') AS in_a_worker",
	'an ordinary user\'s parallel worker does not tell');
is_told("SET $force = on; SELECT flake_at('2026-01-01') AS in_a_worker",
	'... and a superuser\'s does');

# views and settings ---------------------------------------------------------------------------------------------

for my $sql ('TABLE pg_stat_flakeid_lease', 'SELECT * FROM pg_stat_get_flakeid_lease()') {
	like(
		error_of($node, $as->('ordinary') . $sql),
		qr/ERROR:  42501: permission denied/,
		"an ordinary user may not: $sql");
	like($node->safe_psql('postgres', $as->('watcher') . $sql),
		qr/127\.0\.0\.7:1.*nonesuch/, '... and a member of pg_monitor may');
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
		'... nor in pg_settings');
	isnt($node->safe_psql('postgres', $as->('watcher') . "SHOW $name"),
		'', '... but a member of pg_monitor does');
}
unlike(
	$node->safe_psql(
		'postgres', $as->('ordinary') . 'SELECT string_agg(s::text, chr(10)) FROM pg_settings AS s'
	),
	$secrets,
	'no setting shows any of it to an ordinary user');

# settings that are refused -----------------------------------------------------------------------------------------

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
	qr/$invalid\Q$withheld\E\n/, '... and an ordinary user is not');
unlike(error_of($node, $_ . 'SELECT flake_next()'), qr/topsecret/, 'the value is in no error')
  for '', $as->('ordinary');
my $log = slurp_file($node->logfile, $end_of_log);
like(
	$log,
	qr/WARNING:  invalid value for parameter "flakeid.etcd_endpoints"\n/,
	'the log says which setting is invalid');
unlike($log, qr/topsecret/, '... and keeps its value to itself');
$node->stop;

# A setting that everyone may read.
$node->append_conf('postgresql.conf',
	"flakeid.etcd_endpoints = 'http://127.0.0.7:1'\nflakeid.generator_ids = '7-3'\n");
$node->start;
$invalid = qr/ERROR:  F0000: parameter "flakeid.generator_ids" is invalid: "7-3"\n/;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/${invalid}DETAIL:  In "7-3" the first number is greater than the last\./,
	'so it is with a setting that everyone may read');
like(error_of($node, $as->('ordinary') . 'SELECT flake_next()'),
	qr/$invalid\Q$withheld\E\n/, '... whose value an ordinary user is told, too');
$node->stop;

# the state file ---------------------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', "flakeid.generator_ids = '0-7'\n");
$node->start;
is(error_of($node, $as->('ordinary') . 'SELECT flake_next()'), '', 'an ordinary user makes IDs');
$node->stop;
unlink $node->data_dir . '/flakeid/state' or die "no state file: $!";
$node->start;
for my $user ('', $as->('ordinary')) {
	my $error = error_of($node, $user . 'SELECT flake_next()');
	like(
		$error,
		qr{ERROR:  58P01: state file "flakeid/state" is missing\n},
		'the state file is named from the data directory on');
	unlike(
		$error,
		qr/\Q${\ $node->data_dir}\E/,
		'... which PostgreSQL shows only to members of pg_monitor');
}
$node->stop;

done_testing();
