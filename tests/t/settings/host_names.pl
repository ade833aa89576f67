# With 'hostname:N' the number at the end of the host's name chooses the generator IDs: of pods of a
# StatefulSet, of pods that all end in 0, and of jobs with random names, as docs/fleet.md has it.
use strict;
use warnings;
use lib 'tests/perl';

use HostName;
use Ledger;
use Moves;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $host = HostName->new;
my $node = server('pod');
$node->safe_psql('postgres', 'CREATE TABLE orders (id bigint DEFAULT flake_next())');
$node->stop;

# Starts the server on a host of this name with this setting.
sub start_on {
	my ($name, $setting) = @_;
	$node->append_conf('postgresql.conf', "flakeid.generator_ids = '$setting'\n");
	return $host->start($node, $name);
}

# Returns the generator IDs of the server.
sub own { return $node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'generator_ids'") }

for my $case (
	[ 'db-3.db.shop.svc.cluster.local', 'hostname:2', '[6, 7]' ],
	[ 'db-511', 'hostname:2', '[1022, 1023]' ],
	# Hosts that differ elsewhere in their names have the same ones.
	[ 'ip-10-0-1-2', 'hostname:2', '[4, 5]' ],
	[ 'ip-10-0-2-2', 'hostname:2', '[4, 5]' ],
	[ 'pg1.fra.example.com', 'hostname:2', '[2, 3]' ],
	[ 'pg1.ams.example.com', 'hostname:2', '[2, 3]' ],
	[ 'orders-pg16', 'hostname:2', '[32, 33]' ],
	# Crunchy's and Percona's operators have a StatefulSet of one pod for each instance.
	[ 'hippo-instance1-bkbl-0', 'hostname:8', '[0, 1, 2, 3, 4, 5, 6, 7]' ])
{
	my ($name, $setting, $ids) = @$case;
	start_on($name, $setting);
	is(own(), $ids, "with '$setting' the host $name has the generator IDs $ids");
	is(error_of($node, 'SELECT flake_next(), sno_next(), uniqueid_next()'),
		'', "the host $name generates IDs with '$setting'");
	$node->stop;
}

subtest 'the number is too large for flake' => sub {
	start_on('db-512', 'hostname:2');
	is(own(), '[1024, 1025]', "the host db-512 has generator IDs with 'hostname:2'");
	like(
		error_of($node, 'SELECT flake_next()'),
		qr/ERROR:  22023: generator ID 102[45] is too large for flake\n/,
		'flake_next() is an error');
	is(error_of($node, 'SELECT sno_next(), uniqueid_next()'), '',
		'the other ID types generate IDs');
	$node->stop;
};

subtest 'a random name' => sub {
	start_on('shop-7d4b9c6f8d-kzx47', 'hostname:8');
	like(own(), qr/^\[376, .*, 383\]$/, 'digits at its end count, although they are random');
	$node->stop;
	start_on('shop-7d4b9c6f8d-x9999', 'hostname:8');
	like(
		error_of($node, 'SELECT flake_next()'),
		qr/ERROR:  F0000: .* is invalid.*\nDETAIL:  The number at the end of the host name/,
		'a large number is an error');
	$node->stop;
};

# CloudNativePG starts a server with the cluster's settings in a job, whose host has this name. The
# pod has the data directory, and another name.
subtest 'an init job of CloudNativePG' => sub {
	my $data = PostgreSQL::Test::Cluster->new('data');
	$data->init;
	$data->append_conf('postgresql.conf', <<~'CONF');
		shared_preload_libraries = 'flakeid'
		flakeid.generator_ids = 'hostname:8'
		flakeid.moved_state = 'error'
		CONF
	$host->start($data, 'db-1-initdb');
	is( error_of(
			$data, 'CREATE EXTENSION flakeid; CREATE TABLE orders (id bigint DEFAULT flake_next())'
		),
		'',
		'the server starts, and creates the extension and tables with IDs');
	my $invalid = qr/ERROR:  F0000: parameter "flakeid.generator_ids" is invalid: "hostname:8"\n/;
	my $reason = qr/DETAIL:  The host name "db-1-initdb" does not end in a number\.\n/;
	like(error_of($data, "SELECT $_"), qr/$invalid$reason/, "$_ is an error that says why")
	  for 'flake_next()', 'sno_next(0)', 'uniqueid_next()', 'flake_next_batch(2)',
	  "flake_at('epoch')";
	$data->stop;
	$host->start($data, 'db-1');
	is(error_of($data, 'INSERT INTO orders DEFAULT VALUES'), '', 'the pod generates IDs');
	$data->stop;
};

subtest 'ID types without generator IDs on a host without a number' => sub {
	start_on('db-1-initdb', 'hostname:8');
	like(
		slurp_file($node->logfile),
		qr/DETAIL:  .* end in a number\. No flakes, snos and uniqueids are generated until it is/,
		'the warning names the ID types that have generator IDs');
	like(
		error_of($node, "ALTER SYSTEM SET flakeid.generator_ids = 'hostname:4'"),
		qr/ERROR:  22023: .*\nDETAIL:  The host name "db-1-initdb" does not end in a number\./,
		'the value is refused where it is set');
	for my $type (@WITHOUT_GENERATOR_IDS) {
		is(error_of($node, "SELECT $_"), '', "$_ succeeds")
		  for $type->{next}, sprintf $type->{batch}, 3;
	}
	is(error_of($node, "SELECT guid_at(now()), flake128_at(now()), uuidv7_at(now())"),
		'', 'IDs of a time are composed');
	is($node->safe_psql('postgres', <<~'SQL'), 'flake, sno, uniqueid', 'the view says so');
		SELECT string_agg(id_type, ', ' ORDER BY id_type) FROM flakeid_readiness WHERE NOT ready
		SQL
	$node->stop;
};

for my $case ([ 'no IDs', '', '' ], [ 'an ID', 'SELECT flake_next()', $REFUSAL ]) {
	my ($generated, $sql, $error) = @$case;
	subtest "an init job with fixed generator IDs generates $generated" => sub {
		my $data = PostgreSQL::Test::Cluster->new($sql eq '' ? 'without' : 'with');
		$data->init;
		$data->append_conf('postgresql.conf',
			"shared_preload_libraries = 'flakeid'\nflakeid.moved_state = 'error'\n");
		$host->start($data, 'db-1-initdb');
		is(error_of($data, "CREATE EXTENSION flakeid; $sql"), '', 'the job succeeds');
		$data->stop;
		$host->start($data, 'db-1');
		like(
			error_of($data, 'SELECT flake_next()'),
			$error eq '' ? qr/\A\z/ : $error,
			"with flakeid.moved_state = 'error' the pod "
			  . ($sql eq '' ? 'generates IDs' : 'refuses the state of the job'));
		$data->stop;
	};
}

done_testing();
