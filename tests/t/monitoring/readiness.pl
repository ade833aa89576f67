# flakeid_readiness says for each ID type whether a session would get an ID, and if not, with which
# error. It generates none. Settings, and a missing lease, keep ID types from being ready.
use strict;
use warnings;
use lib 'tests/perl';

use Readiness;
use Server;
use Test::More;

my $node = flakeid_server('readiness', "flakeid.max_clock_wait = '0'\n");
$node->safe_psql('postgres', 'CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE ROLE ordinary');

for my $relation ('flakeid_readiness', 'flakeid_get_readiness()') {
	like(
		error_of($node, "SET SESSION AUTHORIZATION ordinary; SELECT * FROM $relation"),
		qr/42501: permission denied/,
		"ordinary users cannot read $relation");
}
my $before = traces($node);
is(readiness($node), all_are('ready unused'), 'a new server is ready for all ID types');
is(traces($node), $before, 'the view generates no ID');
$node->safe_psql('postgres', 'SELECT flake_next(), guid_next()');
my %used = map { $_ => 'ready used' } 'flake', 'guid';
is(readiness($node), all_are('ready unused', %used), 'the view has which ID types were generated');

# settings -------------------------------------------------------------------------------------

configure($node, "flakeid.generator_ids = '1024-1031'\n");
$node->poll_query_until('postgres',
	"SELECT NOT ready FROM flakeid_readiness WHERE id_type = 'flake'")
  or die 'flake is ready';
is_as_sessions_see(
	$node,
	'sno flake128 guid uniqueid uuidv7',
	'all but flake are ready with generator IDs that are too large for it');

$node->stop;
$node->append_conf('postgresql.conf',
	"flakeid.generator_ids = '8..15'\nflakeid.interface = 'nowhere0'\n");
$node->start;
is_as_sessions_see($node, '', 'nothing is ready after a start with an invalid setting');
is(readiness($node), all_are('F0000 used'), 'each ID type has the SQLSTATE of the setting');
is( settings_errors($node, 'name, setting, file, sourceline > 0, error'),
	<<'END' =~ s/\n\z//r,
flakeid.generator_ids|8..15|postgresql.conf|t|"8..15" is not a number.
flakeid.interface|nowhere0|postgresql.conf|t|There is no network interface "nowhere0".
END
	'flakeid_settings_errors has both lines');

sub identity {
	my (@keys) = @_;
	my $keys = join ', ', map { "flakeid_identity() #>> '{$_}'" } @keys;
	return $node->safe_psql('postgres', "SELECT $keys");
}
is(identity('generator_ids', 'home_generator_id', 'flake128,worker'),
	'[]||', 'the identity names no generator IDs and no worker');
configure($node, "flakeid.generator_ids = '8-15'\nflakeid.interface = ''\n");
becomes_ready($node);
is_as_sessions_see($node, $ALL_TYPES, 'all are ready after a reload that corrects the settings');
is(settings_errors($node, 'name'), '', 'there are no errors of settings after the reload');
is( identity('generator_ids'),
	'[8, 9, 10, 11, 12, 13, 14, 15]',
	'the identity has the generator IDs of the reload');

# a lease --------------------------------------------------------------------------------------

$node->stop;
$node->append_conf('postgresql.conf',
	"flakeid.generator_ids = 'etcd:2'\nflakeid.etcd_endpoints = 'http://127.0.0.1:1'\n");
$node->start;
$node->poll_query_until('postgres', 'SELECT last_error IS NOT NULL FROM pg_stat_flakeid_lease')
  or die 'etcd answers';
is( without_use($node),
	all_are('55000', map { $_ => 'ready' } 'flake128', 'guid', 'uuidv7'),
	'only ID types that need no lease are ready without one');
# The worker asks again each second. A stall gives it another error for a while.
$node->poll_query_until('postgres', "SELECT last_error LIKE '%refused%' FROM pg_stat_flakeid_lease")
  or die 'port 1 is not refused';
is_as_sessions_see($node, 'flake128 guid uuidv7', 'sessions generate ID types that need no lease');
$node->stop;

done_testing();
