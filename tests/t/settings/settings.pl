# A bad value of a setting is refused where it is set, with the reason. A bad value that was in the
# file at a start stands in the way of new IDs, until a reload corrects it.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('settings');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');

# refused where it is set ------------------------------------------------------------------------

# The reasons, and the values that have each. The text %s is the value.
my $no_interface = 'There is no network interface "%s".';
my $not_single = '"%s" is not the MAC address of a single interface.';
my $bounds = 'The epoch must lie between 1970-01-01 00:00:00+00 and 2109-05-15 07:35:11.103+00.';
my %bad = (
	generator_ids => {
		'A number is missing.' => [ '', '1,,2', '-1', 'hostname:0', 'etcd:', 'etcd:0' ],
		'"%s" is not a number.' => [ 'seven', '1.5' ],
		'"x" is not a number.' => ['etcd:x'],
		'"-1" is not a number.' => ['etcd:-1'],
		'"2-3" is not a number.' => ['1-2-3'],
		'In "%s" the first number is greater than the last.' => ['7-3'],
		'1 is listed twice.' => ['1,2,1'],
		'7 is listed twice.' => ['0-7,7'],
		'"%s" is greater than 65535, the largest possible number.' => ['65536'],
		'A server can have at most 64 generator IDs.' => [ '0-64', 'hostname:65', 'etcd:65' ],
		'"zookeeper" is not a source of generator IDs; use "hostname" or "etcd".' =>
		  ['zookeeper:8'],
	},
	epoch => {
		'"%s" is not "unix", milliseconds since 1970' =>
		  [ '', 'yesterday', '2020-13-01', '2020-01-01T00:00:00' ],
		$bounds => [
			'1969-12-31', '2110-01-01',
			'1969-12-31T23:59:59.9995Z', '4398046511104',
			'99999999999999999999'
		],
		'"%s" could be a year, a date or seconds. Write a date such as 2020-01-01' =>
		  [ '1', '2010', '20240101', '1577836800', '202401010000' ],
	},
	sno_sequence => {
		'"%s" is not a range such as 0-32767.' => [ '', '7' ],
		'"65536" is greater than 65535, the largest possible number.' => ['0-65536'],
		'In "%s" the first number is greater than the last.' => ['9-3'],
		'The range must hold at least 4 numbers.' => ['0-2'],
		'"a" is not a number.' => ['a-7'],
	},
	guid_node => {
		'A number must be from 0 to 4294967295.' =>
		  [ '4294967296', ' 4294967296 ', '-1', '18446744073709551616' ],
	},
	interface => {
		'The network interface "%s" has no MAC address.' => ['lo'],
		$not_single => [ '00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff' ],
		$no_interface => [
			'nonesuch0', '02:00:00:00:00',
			'02:00:00:00:00:00:01', '02:00:00:00:00:0g',
			'2:0:0:0:0:1', '+2:00:00:00:00:01',
			'02-00-00-00-00-01', '../net/lo',
			'.', '..'
		],
	},
	etcd_endpoints => {
		'An endpoint cannot contain a user or password.' => ['http://u:p@127.0.0.1:1'],
		'"ftp" is not http or https.' => ['ftp://127.0.0.1'],
		'An endpoint is missing.' => ['http://'],
		'"%s" is not an endpoint such as' => [ '127.0.0.1:port', '127.0.0.1:99999' ],
	},
	etcd_namespace => { 'A namespace cannot contain a comma.' => ['new,old/'] },
	etcd_pool => {
		'A number is missing.' => ['0-'],
		'"%s" is not a number.' => ['x'],
		'In "%s" the first number is greater than the last.' => ['7-3'],
		'"65536" is greater than 65535, the largest possible number.' => ['0-65536'],
	},
	etcd_lease_ttl => { '(3 ' => [ '2s', '2h' ] },
	cluster_id => { '(0 .. 15)' => [ '16', '-1' ], '' => ['seven'] },
	max_clock_wait => { '' => [ '-1', '1 mile' ] });
my $session = session($node);
for my $name (sort keys %bad) {
	for my $reason (sort keys %{ $bad{$name} }) {
		for my $value (@{ $bad{$name}{$reason} }) {
			my $of_value = $reason =~ s/%s/$value/r;
			like(
				error_in($session, "ALTER SYSTEM SET flakeid.$name = '$value'"),
				qr/ERROR:  22023: .*flakeid\.$name.*(?:\n.*)*\Q$of_value\E/,
				"$name = '$value' is refused with the reason");
		}
	}
}

$session->query_safe('SET SESSION AUTHORIZATION ordinary');
for my $name (sort keys %bad) {
	my $denied = $name =~ /^etcd/ ? qr/ERROR:  (?:55P02|42501): / : qr/ERROR:  55P02: /;
	like(error_in($session, "SET flakeid.$name = '5'"),
		$denied, "an ordinary user cannot set $name");
	like(error_in($session, "ALTER ROLE ordinary SET flakeid.$name = '5'"),
		$denied, "an ordinary user cannot set $name for a role");
}
is(error_in($session, "SELECT $_->{next}"), '', "an ordinary user generates $_->{name} IDs")
  for @ID_TYPES;
$session->quit;

# refused at a reload ----------------------------------------------------------------------------

$session = session($node);
$session->query_safe('SELECT flake_next()');
$node->append_conf('postgresql.conf', "flakeid.generator_ids = '7-3'\n");
my $end_of_log = -s $node->logfile;
$node->reload;
$node->wait_for_log(qr/In "7-3" the first number is greater than the last/, $end_of_log);
like(
	slurp_file($node->logfile, $end_of_log),
	qr/invalid value for parameter "flakeid\.generator_ids": "7-3"/,
	'a reload refuses a bad value in the log');
is($session->query_safe('SHOW flakeid.generator_ids'), '0-7', 'the former value stays in force');
is(error_in($session, 'SELECT flake_next_batch(1000)'),
	'', 'a session generates IDs after a reload that refused a value');
$session->quit;

# bad at a start ---------------------------------------------------------------------------------

# Tests that each of these is an error for the setting, with the reason.
sub are_refused {
	my ($name, $value, $reason, @asks) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $invalid = qr/ERROR:  F0000: parameter "flakeid\.$name" is invalid: "$value"/;
	for my $ask (@asks) {
		like(
			error_of($node, "SELECT $ask"),
			qr/$invalid\nDETAIL:  \Q$reason\E/,
			"with the bad $name at the start $ask is an error that has the reason");
	}
	return;
}

# Takes the line out, which leaves the default, and reloads.
sub take_out {
	my ($name) = @_;
	$node->adjust_conf('postgresql.conf', "flakeid.$name", undef);
	my $loaded = $node->safe_psql('postgres', 'SELECT pg_conf_load_time()');
	$node->reload;
	$node->poll_query_until('postgres', "SELECT pg_conf_load_time() > '$loaded'")
	  or die 'no reload';
	return;
}

$node->restart;
are_refused(
	'generator_ids',
	'7-3',
	'In "7-3" the first number is greater than the last.',
	(map { ($_->{next}, sprintf $_->{batch}, 1) } @WITH_GENERATOR_IDS),
	"flake_at('2026-01-01')",
	"sno_at('2026-01-01')",
	"uniqueid_at('2026-01-01', 0)");
is(error_of($node, "SELECT $_->{next}"), '', "with bad generator IDs $_->{name} is generated")
  for @WITHOUT_GENERATOR_IDS;
is( $node->safe_psql('postgres', "SELECT sno_timestamp('2222222222222222'), flake_timestamp(0)"),
	'2010-01-01 00:00:00+00|2010-01-01 00:00:00+00',
	'with bad generator IDs at the start IDs are decoded');
$session = session($node);
like(error_in($session, 'SELECT flake_next()'), qr/F0000/, 'a session that stays is refused');
reload_with($node, generator_ids => '16');
my $workers = "SELECT string_agg(DISTINCT (flake_decode(flake_next())).worker::text, ',')"
  . ' FROM generate_series(1, 1000)';
is($session->query_safe($workers), '16', 'after a correction a session that stays generates IDs');
is($node->safe_psql('postgres', $workers), '16', 'after a correction a new session generates IDs');
$session->quit;
$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.generator_ids');

$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'0-7,7'");
$node->restart;
like(error_of($node, 'SELECT flake_next()'),
	qr/F0000.*"0-7,7"/, 'a generator ID that is listed twice at the start is an error');
take_out('generator_ids');
is(error_of($node, 'SELECT flake_next()'),
	'', 'a reload without the bad line brings the default, and IDs');

for my $bad (
	[ 'guid_node', '4294967296', 'A number must be' ],
	[ 'interface', 'nonesuch0', 'There is no network interface' ])
{
	my ($name, $value, $reason) = @$bad;
	$node->append_conf('postgresql.conf', "flakeid.$name = '$value'\n");
	$node->restart;
	are_refused($name, $value, $reason, map { $_->{next} } @ID_TYPES);
	take_out($name);
	is(error_of($node, 'SELECT ' . join ', ', map { $_->{next} } @ID_TYPES),
		'', "a reload without the bad $name brings IDs of all ID types");
}
$node->stop;
done_testing();
