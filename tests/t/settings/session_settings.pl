# Without shared_preload_libraries (PostgreSQL 17 and later) every user can put values of his own in place of the
# server's before his session loads the library. Such a session makes no IDs, and computes none of a time, nor does a
# parallel worker of it: it never uses the built-in defaults where the server has other values.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
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
	streams => 'outbox',);
my %etcd = (
	etcd_endpoints => 'http://127.0.0.1:1',
	etcd_namespace => 'orders/',
	etcd_pool => '5-9',
	etcd_lease_ttl => '20s',
	etcd_user => 'flakeid',
	etcd_password_file => 'password',
	etcd_ca_file => 'ca',
	etcd_cert_file => 'certificate',
	etcd_key_file => 'key',);

my $node = PostgreSQL::Test::Cluster->new('session_settings');
$node->init;
$node->append_conf('postgresql.conf', join '',
	map { "flakeid.$_ = '$server{$_}'\n" } sort keys %server);
$node->append_conf('postgresql.conf', "log_statement = none\n");
$node->start;
if ($node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000") <
	17)
{
	# Without preloading there are no IDs.
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
	$node->restart;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$node->append_conf('postgresql.conf', "flakeid.cluster_id = 99\n");
	are_refused_with_preloading();
	$node->stop;
	done_testing();
	exit;
}
# As a superuser, who may do the most.
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE DATABASE other; CREATE ROLE other LOGIN SUPERUSER');
$node->safe_psql('other', 'CREATE EXTENSION flakeid');
my @known = split /\n/,
  $node->safe_psql('postgres',
	"SELECT flake_decode(0); SELECT substr(name, 9) FROM pg_settings WHERE name LIKE 'flakeid.%' ORDER BY 1"
  );
shift @known;
my $has_etcd = grep { /^etcd/ } @known;
%server = (%server, %etcd) if $has_etcd;
$node->append_conf('postgresql.conf', join '', map { "flakeid.$_ = '$etcd{$_}'\n" } sort keys %etcd)
  if $has_etcd;
$node->reload;
is_deeply(\@known, [ sort keys %server ], 'all settings are tried here');

my $ledger = Ledger->new('session_settings');
my $parallel = 'SET debug_parallel_query = on; ';
# A function that only a parallel worker calls, which loads the library then. It computes the ID of a time.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION late() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS $$BEGIN RETURN flake_at('2026-01-01'); END$$;
CREATE FUNCTION late_with_a_setting() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE
	SET flakeid.generator_ids = '1' AS $$BEGIN RETURN flake_at('2026-01-01'); END$$;
CREATE FUNCTION worker_of(id bigint) RETURNS integer LANGUAGE sql RETURN (flake_decode(id, '2020-01-01')).datacenter * 32 + (flake_decode(id, '2020-01-01')).worker;
SQL

my @ways = (
	(map { $_->{next} } @ID_TYPES), (map { sprintf $_->{batch}, 3 } @ID_TYPES),
	'guid_local_next()', "uniqueid_next('spread')",
	"flake_at('2026-01-01')", "sno_at('2026-01-01')",
	"uniqueid_at('2026-01-01', 0)", 'late()');

# Asks in each way, in a session of its own each time. All these sessions are of one psql: with \c it keeps its user, and
# the PGOPTIONS that it began with.
sub refuses {
	my ($setting, $test, %psql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $database = $psql{database} || 'postgres';
	my @asks = map { ("SELECT $_", "${parallel}SELECT $_") }
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
	my @wrong = map { "$asks[$_]: " . ($error{$_} // 'not asked') }
	  grep {
		($error{$_} // '') !~
		  /ERROR:  55P02: this session does not know the server's value of "flakeid\.$setting"/
	  } 0 .. $#asks;
	push @wrong, "given: $out" if $out ne '';
	is_deeply(\@wrong, [], $test);
	return;
}

# before anyone has made an ID ----------------------------------------------------------------------------------

# The state would keep such an epoch.
{
	local $ENV{PGOPTIONS} = "-c flakeid.epoch=$server{epoch}";
	refuses('epoch',
		'a session that brings an epoch along makes no IDs, though it is the server\'s');
	like(
		error_of($node, "SELECT flake_timestamp(0)"),
		qr/55P02: .*flakeid\.epoch/,
		'... nor does it read flakes by another');
	like(
		error_of($node, "SELECT flake_partition_bounds('2026-01-01', '2026-02-01', '1 day')"),
		qr/55P02: .*flakeid\.epoch/,
		'... in bounds of partitions');
	is( $node->safe_psql('postgres', "SELECT flake_timestamp(0, '2020-01-01')"),
		'2020-01-01 00:00:00+00',
		'... but by one that is named');
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		qr/55P02: .*flakeid\.epoch/,
		'... nor does it accept a clock');
	ok(!-e $node->data_dir . '/flakeid', '... and it writes no state');
}
for my $id_type (@ID_TYPES) {
	my ($error) = $ledger->ask($node, $id_type, 10);
	is($error, '', "then others have IDs: $id_type->{name}");
}
is( state_of($node)->{epochs}{flake},
	'2020-01-01T00:00:00.000000000Z',
	'the earliest epoch is the server\'s');

# each setting, each way ----------------------------------------------------------------------------------------

for my $name (sort keys %server) {
	my $value = $server{$name};
	{
		local $ENV{PGOPTIONS} = "-c flakeid.$name=$value";
		refuses($name, "PGOPTIONS with $name: no IDs");
	}
	# An ordinary user may do no more.
	$node->safe_psql('postgres', "ALTER ROLE other SET flakeid.$name = '$value'");
	refuses($name, "ALTER ROLE ... SET $name: no IDs", extra => [ '-U', 'other' ]);
	$node->safe_psql('postgres', 'ALTER ROLE other RESET ALL');
	$node->safe_psql('postgres', "ALTER DATABASE other SET flakeid.$name = '$value'");
	refuses($name, "ALTER DATABASE ... SET $name: no IDs", database => 'other');
	$node->safe_psql('postgres', 'ALTER DATABASE other RESET ALL');
}

# values that leave the server's in place -------------------------------------------------------------------------

# The generator ID of a flake that a session makes by a statement which calls no other function of the library.
sub made_by {
	my ($sql) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', "\\set VERBOSITY verbose\n$sql", stdout => \$out, stderr => \$err);
	return $out =~ /^\d+$/ ? $node->safe_psql('postgres', "SELECT worker_of($out)") : $err;
}

my $mine = qr/^(?:8|9|1[0-5])$/;
for my $ask ("flake_at('2026-01-01')", 'late()', 'late_with_a_setting()') {
	my $set = "SET flakeid.generator_ids = '1'; SET flakeid.cluster_id = 1; SELECT";
	like(made_by("SELECT $ask"), $mine,
		"without a setting of its own, a session uses the server's values: $ask");
	like(made_by("${parallel}SELECT $ask"), $mine, '... and so does a parallel worker');
	like(made_by("$set $ask"), $mine, '... after a SET, too');
	next if $ask =~ /^flake_at/;
	# The worker loads the library later than its leader, or alone. It is told what was SET, and not what was there before.
	like(
		made_by("$parallel$set $ask"),
		qr/55P02: this session does not know the server's value of "flakeid\.(?:generator_ids|cluster_id)"/,
		'... but in a parallel worker that is not told what was there before the SET it is an error'
	);
}
like(made_by("${parallel}SET flakeid.generator_ids = '1'; SELECT flake_at('2026-01-01')"),
	$mine, 'where the leader has loaded the library it is not');
is( $node->safe_psql(
		'postgres',
		"BEGIN; SET LOCAL flakeid.generator_ids = '1'; SELECT worker_of(flake_next()) BETWEEN 8 AND 15; ROLLBACK; SELECT worker_of(flake_next()) BETWEEN 8 AND 15"
	),
	"t\nt",
	'... also after a SET LOCAL');

# sessions that go on -----------------------------------------------------------------------------------------------

# The command line stands above the file, and no reload tells a session of it.
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'0-7'");
$node->stop;

sub start_with_options {
	my ($options) = @_;
	command_ok(
		[
			'pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-w', '-o',
			"--cluster-name=session_settings $options", 'start'
		],
		"the server has started with $options");
	$node->_update_pid(1);
	return;
}
start_with_options('-c flakeid.generator_ids=8-15');
like($node->safe_psql('postgres', 'SELECT worker_of(flake_next())'),
	$mine, 'a value of the command line is the server\'s');
like(made_by("${parallel}SELECT late()"), $mine, '... also in a parallel worker');
my $good = session($node);
my $session = do { local $ENV{PGOPTIONS} = '-c flakeid.generator_ids=8-15'; session($node) };
like(error_in($session, 'SELECT flake_next()'),
	qr/55P02/, 'a session that brought a value along has no IDs');
like($good->query_safe('SELECT worker_of(flake_next())'), $mine, '... while another has');
$node->append_conf('postgresql.conf', "flakeid.max_clock_wait = '5s'\n");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.max_clock_wait') = '5s'")
  or die 'no reload';

for my $begin ('', $parallel) {
	like(error_in($session, "${begin}SELECT $_"), qr/55P02/, "... after a reload neither: $begin$_")
	  for 'flake_next()', 'sno_next()', 'late()';
	like($good->query_safe("${begin}SELECT worker_of(flake_at('2026-01-01'))"),
		$mine, '... while the other goes on by the command line');
}
$_->quit for $session, $good;

# numbers that are out of bounds ---------------------------------------------------------------------------------------

$node->stop;
$node->append_conf('postgresql.conf', "flakeid.cluster_id = 99\n");
$node->start;
like(
	error_of($node, 'SELECT uniqueid_next()'),
	qr/F0000: parameter "flakeid\.cluster_id" is invalid: "99"/,
	'a number in the file that is out of bounds keeps sessions from making IDs by the default');
like(
	error_of($node, "${parallel}SELECT late()"),
	qr/F0000: .*flakeid\.cluster_id/,
	'... and parallel workers');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', q{'flakeid'});
are_refused_with_preloading();
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();

# Restarts the server, whose file has a number that is out of bounds.
sub are_refused_with_preloading {
	$node->restart;
	like(
		error_of($node, 'SELECT uniqueid_next()'),
		qr/F0000: parameter "flakeid\.cluster_id" is invalid: "99"/,
		'with preloading, too, a number out of bounds keeps sessions from making IDs');
	my $stays = session($node);
	like(error_in($stays, 'SELECT flake_next()'), qr/F0000/, '... in a session that stays');
	reload_with($node, cluster_id => 6);
	is($stays->query_safe('SELECT (uniqueid_decode(uniqueid_next())).cluster_id'),
		'6', '... until a reload sets it right');
	$stays->quit;
	is($node->safe_psql('postgres', 'SELECT (uniqueid_decode(uniqueid_next())).cluster_id'),
		'6', '... for all');

	# With preloading PostgreSQL knows the settings, and lets nobody set them.
	{
		local $ENV{PGOPTIONS} = '-c flakeid.generator_ids=8-15';
		my ($out, $err) = ('', '');
		# With nothing to read: a psql that is refused ends without reading.
		IPC::Run::run(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT flake_next()' ],
			'<', '/dev/null', '>', \$out, '2>', \$err);
		is($out, '', 'with preloading PGOPTIONS with a setting makes no ID');
		like(
			$err,
			qr/"flakeid\.generator_ids" cannot be changed now/,
			'... as PostgreSQL refuses the session');
	}
	return;
}
