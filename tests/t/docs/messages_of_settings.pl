# docs/troubleshooting.md has what a server raises and logs whose settings, keys, epoch or state are
# wrong, with its level and SQLSTATE.
use strict;
use warnings;
use lib 'tests/perl';

use MessagesPage;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PublicKeys;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('messages_of_settings');
$node->init;
my $key_file = keys_file($node);
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'flakeid'
log_error_verbosity = verbose
flakeid.etcd_endpoints = 'http://127.0.0.1:1'
flakeid.max_clock_wait = '100ms'
flakeid.public_keys_file = '$key_file'
CONF

# Writes a file with a key of each version, and another mode if one is named.
sub write_versions {
	my ($versions, $mode) = @_;
	my $keys = join '', map { sprintf "%s %064x\n", $_, ord } split //, $versions;
	return write_keys($node, $keys, $mode);
}

write_versions('1');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE ordinary; SELECT flake_next()');

# values ---------------------------------------------------------------------------------------

my $session = session($node);
for (
	[ generator_ids => '7-3', 'hostname', '0-64', '1,1', 'zookeeper:8' ],
	[ epoch => 'yesterday', '1969-12-31', '2010', '2020-01-01' ],
	[ sno_sequence => '0-2', '7' ],
	[ guid_node => '4294967296' ],
	[ interface => 'nonesuch0', 'lo', 'ff:ff:ff:ff:ff:ff' ],
	[ etcd_endpoints => 'ftp://a', 'a,,b', 'a:b@c', 'a b' ],
	[ etcd_namespace => '' ],
	[ cluster_id => '16', 'x' ])
{
	my ($name, @values) = @$_;
	for my $sql (map { "ALTER SYSTEM SET flakeid.$name = '$_'" } @values) {
		is_on_the_page(error_in($session, $sql), $sql);
	}
}
is_on_the_page(error_in($session, $_), $_)
  for "SET flakeid.generator_ids = '1'", "SET flakeid.nosuch = '1'", 'SHOW flakeid.nosuch';
$session->quit;

# A new session asks each server for an ID.
for (
	[ generator_ids => '2048', 'SELECT flake_next()' ],
	[ generator_ids => '2048', 'SELECT uniqueid_next()' ],
	[ generator_ids => 'etcd:8', 'SELECT flake_next()' ])
{
	my ($name, $value, $ask) = @$_;
	my $end_of_log = -s $node->logfile;
	reload_with($node, $name => $value);
	is_on_the_page(error_of($node, $ask), "$ask with $name = '$value'");
	$node->wait_for_log(qr/flakeid cannot lease generator IDs/, $end_of_log) if $value =~ /etcd/;
	$node->safe_psql('postgres', "ALTER SYSTEM RESET flakeid.$name");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('flakeid.$name') <> '$value'")
	  or die "flakeid.$name stays";
}

# keys -----------------------------------------------------------------------------------------

write_versions(join '', 0 .. 9, 'A' .. 'Z', 'a' .. 'z');
$node->reload;
$node->poll_query_until('postgres', 'SELECT count(*) = 62 FROM flakeid_public_key_versions()')
  or die 'the keys do not come';
my $new_key = 'SELECT flakeid_new_public_key()';
is_on_the_page(error_of($node, $new_key), 'a server with a key of each version');
for (
	[ sub { write_versions('1', 0640) }, qr/has mode 0640/ ],
	[ sub { unlink $key_file }, qr/could not read/ ])
{
	my ($spoil, $reason) = @$_;
	my $end_of_log = -s $node->logfile;
	$spoil->();
	$node->reload;
	$node->wait_for_log(qr/refused "flakeid\.public_keys_file": .*$reason/, $end_of_log);
	is_on_the_page(error_of($node, $new_key), "a server that keeps its keys");
}
$node->restart;
my $to_public = 'SELECT flake_to_public(1)';
is_on_the_page(error_of($node, $to_public), 'a server without its file of keys');
is_on_the_page(error_of($node, "SET ROLE ordinary; $to_public"),
	'an ordinary user without a file of keys');
$node->adjust_conf('postgresql.conf', 'flakeid.public_keys_file', "''");
$node->restart;
is_on_the_page(error_of($node, $to_public), 'a server without a setting for keys');

# the epoch ------------------------------------------------------------------------------------

# The state refuses an epoch at a start, as it does at a reload.
$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'");
$node->restart;
is_on_the_page(error_of($node, "SELECT $_"), "$_ with a later epoch")
  for 'flake_next()', 'flake_timestamp(1)';
$node->reload;
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
$node->restart;

# no state file --------------------------------------------------------------------------------

$node->stop;
unlink $node->data_dir . '/flakeid/state' or die "could not remove the state file: $!";
$node->append_conf('postgresql.conf', "flakeid.generator_ids = 'seven'\nflakeid.nosuch = '1'\n");
$node->start;
is_on_the_page(error_of($node, 'SELECT flake_next()'), 'a server whose setting is bad');
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'0-7'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.generator_ids') = '0-7'")
  or die 'the setting stays';
is_on_the_page(error_of($node, 'SELECT flake_next()'), 'a server without its state file');
is_on_the_page(error_of($node, "SELECT $_"), "$_ without a state file and an epoch")
  for 'flake_timestamp(1)', 'flakeid_accept_clock()';
reload_with($node, epoch => '2010-01-01');
is(error_of($node, 'SELECT flakeid_accept_clock()'), '', 'a superuser accepts the clock');
is_on_the_page(
	error_of($node, 'SELECT flakeid_accept_clock()'),
	'the second call of flakeid_accept_clock()');
is(error_of($node, 'SELECT flake_next()'), '', 'the server generates IDs when all is corrected');
$node->stop;

cmp_ok(log_is_on_the_page($node), '>=', 3, 'the log has lines of flakeid');
my $removed = 'invalid configuration parameter name "flakeid.nosuch", removing it';
like(
	slurp_file($node->logfile),
	qr/WARNING:  42602: \Q$removed\E/,
	'the log has a setting that does not exist');
ok(look_up('WARNING', '42602', $removed), 'the page has a setting that does not exist');

cmp_ok(scalar(texts_met()), '>=', 20, 'the test meets many entries of the page');
done_testing();
