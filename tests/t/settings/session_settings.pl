# Without shared_preload_libraries (PostgreSQL 17 and later) every user can put other values in
# place of the server's before the session loads the library. Such a session generates no IDs, and
# computes none of a time, nor does a parallel worker of it.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use Server;
use StateFile;
use Test::More;

# The server's values, none of which is a default.
my %server = (
	generator_ids => '8-15',
	epoch => '2020-01-01',
	sno_sequence => '0-4095',
	guid_node => '77',
	interface => '02:00:00:00:00:07',
	cluster_id => '5',
	max_clock_wait => '2s',
	horizon_lead => '3s',
	allowable_downtime => '1d',
	moved_state => 'error',
	public_keys_file => 'public_keys',
	notify_databases => 'postgres',
	notify_interval => '1s',
	standby_watermark_interval => '1s',
	streams => 'outbox');
my %etcd = (
	etcd_endpoints => 'http://127.0.0.1:1',
	etcd_namespace => 'orders/',
	etcd_pool => '5-9',
	etcd_lease_ttl => '20s',
	etcd_user => 'flakeid',
	etcd_password_file => 'password',
	etcd_ca_file => 'ca',
	etcd_cert_file => 'certificate',
	etcd_key_file => 'key');

my $node = PostgreSQL::Test::Cluster->new('session_settings');
plan skip_all => 'this version needs preloading' if $node->pg_version < 17;
$node->init;
$node->append_conf('postgresql.conf', join '',
	map { "flakeid.$_ = '$server{$_}'\n" } sort keys %server);
$node->append_conf('postgresql.conf', "log_statement = none\n");
$node->start;
# A superuser may do the most.
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE DATABASE other; CREATE ROLE other LOGIN SUPERUSER');
$node->safe_psql('other', 'CREATE EXTENSION flakeid');
my (undef, @known) = split /\n/, $node->safe_psql('postgres', <<~'SQL');
	SELECT flake_decode(0);
	SELECT substr(name, 9) FROM pg_settings WHERE name LIKE 'flakeid.%' ORDER BY 1
	SQL
if (grep { /^etcd/ } @known) {
	%server = (%server, %etcd);
	$node->append_conf('postgresql.conf', join '',
		map { "flakeid.$_ = '$etcd{$_}'\n" } sort keys %etcd);
}
$node->reload;
is_deeply(\@known, [ sort keys %server ], 'this test has all settings');

# A function that only a parallel worker calls, which loads the library then.
$node->safe_psql('postgres', <<~'SQL');
	CREATE FUNCTION late() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE
		AS $$BEGIN RETURN flake_at('2026-01-01'); END$$
	SQL
my @ways = (
	(map { $_->{next} } @ID_TYPES), (map { sprintf $_->{batch}, 3 } @ID_TYPES),
	'guid_local_next()', "uniqueid_next('spread')",
	"flake_at('2026-01-01')", "sno_at('2026-01-01')",
	"uniqueid_at('2026-01-01', 0)", 'late()');

# Tests that there are no IDs in each way, in a session of its own each time. All these sessions are
# of one psql: with \c it keeps its user, and the PGOPTIONS that it began with.
sub refuses {
	my ($setting, $test, %psql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $database = $psql{database} || 'postgres';
	my @asks = map { ("SELECT $_", "SET debug_parallel_query = on; SELECT $_") }
	  grep { $_ ne 'late()' || $database eq 'postgres' }
	  $setting =~ /^(?:generator_ids|epoch)$/ ? @ways : ('flake_next()', 'guid_next()', 'late()');
	my ($out, $err) = ('', '');
	$node->psql(
		$database,
		join(
			'', "\\set VERBOSITY verbose\n", map { "\\c\n\\warn >>>$_\n$asks[$_];\n" } 0 .. $#asks),
		stdout => \$out,
		stderr => \$err,
		on_error_stop => 0,
		$psql{extra} ? (extra_params => $psql{extra}) : ());
	my %error = "$err\n" =~ /^>>>(\d+)\n(.*?)(?=^>>>|\z)/gms;
	my $refusal =
	  qr/ERROR:  55P02: this session does not know the server's value of "flakeid\.$setting"/;
	my @wrong = map { "$asks[$_]: " . ($error{$_} // 'not asked') }
	  grep { ($error{$_} // '') !~ $refusal } 0 .. $#asks;
	push @wrong, "given: $out" if $out ne '';
	is_deeply(\@wrong, [], $test);
	return;
}

# before the first ID ----------------------------------------------------------------------------

# The state would keep such an epoch.
{
	local $ENV{PGOPTIONS} = "-c flakeid.epoch=$server{epoch}";
	refuses('epoch',
		'a session that brings an epoch along generates no IDs, though it is the server\'s');
	my $refusal = qr/55P02: .*flakeid\.epoch/;
	my $bounds = "flake_partition_bounds('2026-01-01', '2026-02-01', '1 day')";
	like(error_of($node, 'SELECT flake_timestamp(0)'), $refusal, 'such a session reads no flakes');
	like(error_of($node, "SELECT $bounds"), $refusal, 'such a session has no bounds of partitions');
	is( $node->safe_psql('postgres', "SELECT flake_timestamp(0, '2020-01-01')"),
		'2020-01-01 00:00:00+00',
		'such a session reads flakes with an epoch as an argument');
	like(error_of($node, 'SELECT flakeid_accept_clock()'),
		$refusal, 'such a session cannot accept the clock');
	ok(!-e $node->data_dir . '/flakeid', 'such a session writes no state');
}
my $ledger = Ledger->new('session_settings');
$ledger->all_generate($node, 'after such a session others generate IDs of all ID types');
is( state_of($node)->{epochs}{flake},
	'2020-01-01T00:00:00.000000000Z',
	'the state has the epoch of the server');

# What flakeid_identity() has in a session that does not know a setting.
my %identity = (
	generator_ids =>
	  '{"generator_ids": [], "generator_ids_setting": null, "home_generator_id": null}',
	epoch => '{"flake": {"epoch": null, "last_time": null}}',
	sno_sequence => '{"sno": {"sequence_min": null, "sequence_max": null}}',
	guid_node => '{"guid": {"node": null}}',
	interface => '{"flake128": {"worker": null}}',
	cluster_id => '{"uniqueid": {"cluster_id": null}}');

# each setting, each way -------------------------------------------------------------------------

for my $name (sort keys %server) {
	my $value = $server{$name};
	{
		local $ENV{PGOPTIONS} = "-c flakeid.$name=$value";
		refuses($name, "a session with $name in PGOPTIONS generates no IDs");
		is($node->safe_psql('postgres', "SELECT flakeid_identity() @> '$identity{$name}'"),
			't', "flakeid_identity() has no value of $name in such a session")
		  if $identity{$name};
	}
	# An ordinary user may do no more.
	$node->safe_psql('postgres', "ALTER ROLE other SET flakeid.$name = '$value'");
	refuses($name, "a session of a role with $name generates no IDs", extra => [ '-U', 'other' ]);
	$node->safe_psql('postgres', 'ALTER ROLE other RESET ALL');
	$node->safe_psql('postgres', "ALTER DATABASE other SET flakeid.$name = '$value'");
	refuses($name, "a session in a database with $name generates no IDs", database => 'other');
	$node->safe_psql('postgres', 'ALTER DATABASE other RESET ALL');
}
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();
