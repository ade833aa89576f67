# Settings: a bad value is refused where it is set, with the reason, and stands in the way of new IDs
# where it was there before the server could refuse it; a good one holds from the next statement on.
use strict;
use warnings;
use lib 'tests/perl';

use Digest::SHA qw(sha256_hex);
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Sys::Hostname qw(hostname);
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('settings');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE made (nr serial, session text, id bigint)');

# refused where it is set -------------------------------------------------------------------------------

my %bad = (
	generator_ids => [
		[ '' => 'A number is missing.' ],
		[ '1,,2' => 'A number is missing.' ],
		[ '-1' => 'A number is missing.' ],
		[ 'seven' => '"seven" is not a number.' ],
		[ '1.5' => '"1.5" is not a number.' ],
		[ '1-2-3' => '"2-3" is not a number.' ],
		[ '7-3' => 'In "7-3" the first number is greater than the last.' ],
		[ '1,2,1' => '1 is listed twice.' ],
		[ '0-7,7' => '7 is listed twice.' ],
		[ '65536' => '"65536" is greater than 65535, the largest possible number.' ],
		[ '0-64' => 'A server can have at most 64 generator IDs.' ],
		[ 'hostname:0' => 'A number is missing.' ],
		[ 'hostname:65' => 'A server can have at most 64 generator IDs.' ],
		[
			'zookeeper:8' =>
			  '"zookeeper" is not a source of generator IDs; use "hostname" or "etcd".'
		],
	],
	epoch => [
		[ '' => '"" is not "unix", milliseconds since 1970' ],
		[ 'yesterday' => '"yesterday" is not "unix"' ],
		[ '2020-13-01' => '"2020-13-01" is not "unix"' ],
		[ '2020-01-01T00:00:00' => '"2020-01-01T00:00:00" is not "unix"' ],
		[
			'1969-12-31' =>
			  'The epoch must lie between 1970-01-01 00:00:00+00 and 2109-05-15 07:35:11.103+00.'
		],
		[ '2110-01-01' => 'The epoch must lie between' ],
		[ '1969-12-31T23:59:59.9995Z' => 'The epoch must lie between' ],
		[ '4398046511104' => 'The epoch must lie between' ],
		(   map {
				[ $_ =>
					  qq{"$_" could be a year, a date or seconds. Write a date such as 2020-01-01} ]
			} '1',
			'2010',
			'20240101',
			'1577836800',
			'202401010000'),
		[ '99999999999999999999' => 'The epoch must lie between' ],
	],
	sno_sequence => [
		[ '' => '"" is not a range such as 0-32767.' ],
		[ '7' => '"7" is not a range such as 0-32767.' ],
		[ '0-65536' => '"65536" is greater than 65535, the largest possible number.' ],
		[ '9-3' => 'In "9-3" the first number is greater than the last.' ],
		[ '0-2' => 'The range must hold at least 4 numbers.' ],
		[ 'a-7' => '"a" is not a number.' ],
	],
	guid_node => [
		[ '4294967296' => 'A number must be from 0 to 4294967295.' ],
		[ ' 4294967296 ' => 'A number must be from 0 to 4294967295.' ],
		[ '-1' => 'A number must be from 0 to 4294967295.' ],
		[ '18446744073709551616' => 'A number must be from 0 to 4294967295.' ],
	],
	interface => [
		[ 'nonesuch0' => 'There is no network interface "nonesuch0".' ],
		[ 'lo' => 'The network interface "lo" has no MAC address.' ],
		[
			'00:00:00:00:00:00' =>
			  '"00:00:00:00:00:00" is not the MAC address of a single interface.'
		],
		[
			'ff:ff:ff:ff:ff:ff' =>
			  '"ff:ff:ff:ff:ff:ff" is not the MAC address of a single interface.'
		],
		[ '02:00:00:00:00' => 'There is no network interface "02:00:00:00:00".' ],
		[ '02:00:00:00:00:00:01' => 'There is no network interface "02:00:00:00:00:00:01".' ],
		[ '02:00:00:00:00:0g' => 'There is no network interface "02:00:00:00:00:0g".' ],
		[ '2:0:0:0:0:1' => 'There is no network interface "2:0:0:0:0:1".' ],
		[ '+2:00:00:00:00:01' => 'There is no network interface "+2:00:00:00:00:01".' ],
		[ '02-00-00-00-00-01' => 'There is no network interface "02-00-00-00-00-01".' ],
		[ '../net/lo' => 'There is no network interface "../net/lo".' ],
		[ '.' => 'There is no network interface ".".' ],
		[ '..' => 'There is no network interface "..".' ],
	],
	cluster_id => [ [ '16' => '(0 .. 15)' ], [ '-1' => '(0 .. 15)' ], [ 'seven' => '' ] ],
	max_clock_wait => [ [ '-1' => '' ], [ '1 mile' => '' ] ],);
my $asks = session($node);
for my $name (sort keys %bad) {
	for (@{ $bad{$name} }) {
		my ($value, $reason) = @$_;
		my $error = error_in($asks, "ALTER SYSTEM SET flakeid.$name = '$value'");
		like(
			$error,
			qr/ERROR:  22023: .*flakeid\.$name.*(?:\n.*)*\Q$reason\E/,
			"$name = '$value' is refused with the reason");
	}
}

my $user = "SET SESSION AUTHORIZATION ordinary; ";
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
$asks->query_safe('SET SESSION AUTHORIZATION ordinary');
for my $name (sort keys %bad) {
	like(
		error_in($asks, "SET flakeid.$name = '1'"),
		qr/ERROR:  55P02/,
		"an ordinary user cannot set $name");
	like(
		error_in($asks, "ALTER ROLE ordinary SET flakeid.$name = '1'"),
		qr/ERROR:  55P02/,
		'... nor for his own role');
}
$asks->quit;
is(error_of($node, "${user}SELECT $_->{next}"), '', "... but make $_->{name} IDs") for @ID_TYPES;

# refused at reload -------------------------------------------------------------------------------------

my $session = session($node);
my $insert =
  'INSERT INTO made (session, id) SELECT pg_backend_pid(), flake_next() FROM generate_series(1, 1000)';
my $workers = "SELECT string_agg(DISTINCT (flake_decode(flake_next())).worker::text, ',')"
  . ' FROM generate_series(1, 1000)';

$session->query_safe($insert);
$node->append_conf('postgresql.conf', "flakeid.generator_ids = '7-3'\n");
my $end_of_log = -s $node->logfile;
$node->reload;
$node->wait_for_log(qr/In "7-3" the first number is greater than the last/, $end_of_log);
like(
	slurp_file($node->logfile, $end_of_log),
	qr/invalid value for parameter "flakeid\.generator_ids": "7-3"/,
	'a reload refuses a bad value in the log');
is($session->query_safe('SHOW flakeid.generator_ids'), '0-7', '... the old one stays');
is(error_in($session, $insert), '', '... and IDs go on');

# bad at start --------------------------------------------------------------------------------------------

$session->quit;
$node->restart;
for my $ask ((map { ($_->{next}, sprintf $_->{batch}, 1) } @ID_TYPES),
	'guid_local_next()', 'guid_local_next_batch(1)',
	"flake_at('2026-01-01')", "sno_at('2026-01-01')", "uniqueid_at('2026-01-01', 0)")
{
	my $error = error_of($node, "SELECT $ask");
	like(
		$error,
		qr/ERROR:  F0000: parameter "flakeid\.generator_ids" is invalid: "7-3"/,
		"a bad value at start stands in the way of $ask");
	like(
		$error,
		qr/DETAIL:  In "7-3" the first number is greater than the last\./,
		'... and the error gives the reason');
}
is( $node->safe_psql('postgres', "SELECT sno_timestamp('2222222222222222'), flake_timestamp(0)"),
	'2010-01-01 00:00:00+00|2010-01-01 00:00:00+00',
	'... while IDs are decoded');
$session = session($node);
like(error_in($session, 'SELECT flake_next()'), qr/F0000/, '... in a session that stays, too');
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'16'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.generator_ids') = '16'")
  or die;
is($session->query_safe($workers), '16', 'corrected and reloaded the same session makes IDs');
is($node->safe_psql('postgres', $workers), '16', '... and so does a new one');
$session->quit;

$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'0-7,7'");
$node->restart;
like(error_of($node, 'SELECT flake_next()'), qr/F0000.*"0-7,7"/, 'a value bad at start');
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', undef);
my $loaded = $node->safe_psql('postgres', 'SELECT pg_conf_load_time()');
$node->reload;
$node->poll_query_until('postgres', "SELECT pg_conf_load_time() > '$loaded'") or die;
is(error_of($node, 'SELECT flake_next()'),
	'', '... is corrected as well by taking it out, which leaves the default');
$node->restart;
$node->safe_psql('postgres', 'SELECT sno_next()');

for my $bad (
	[ 'guid_node', '4294967296', 'A number must be' ],
	[ 'interface', 'nonesuch0', 'There is no network interface' ])
{
	my ($name, $value, $reason) = @$bad;
	$node->append_conf('postgresql.conf', "flakeid.$name = '$value'\n");
	$node->restart;
	for my $id_type (@ID_TYPES) {
		my $error = error_of($node, "SELECT $id_type->{next}");
		like(
			$error,
			qr/ERROR:  F0000: parameter "flakeid\.$name" is invalid: "$value"/,
			"$name = '$value' at start stands in the way of $id_type->{name} IDs");
		like($error, qr/DETAIL:  $reason/, '... and the error gives the reason');
	}
	$node->adjust_conf('postgresql.conf', "flakeid.$name", undef);
	my $loaded = $node->safe_psql('postgres', 'SELECT pg_conf_load_time()');
	$node->reload;
	$node->poll_query_until('postgres', "SELECT pg_conf_load_time() > '$loaded'") or die;
	is(error_of($node, "SELECT $_->{next}"), '', "... until it is taken out: $_->{name}")
	  for @ID_TYPES;
}

# generator IDs that change -------------------------------------------------------------------------------

$node->safe_psql('postgres', 'TRUNCATE made');
my @sessions = map { session($node) } 1 .. 3;
for my $ids ('0-7', '8-15', '31', '0-7', '3,9,27', '8-15', '0-7') {
	reload_with($node, generator_ids => $ids);
	my $owned = $node->safe_psql('postgres', "SELECT flakeid_identity() -> 'generator_ids'");
	for my $session (@sessions) {
		$session->query_safe($insert);
		is( $session->query_safe(
					"SELECT bool_and('$owned'::jsonb \@> to_jsonb((flake_decode(id)).worker)) FROM"
				  . " (SELECT id FROM made WHERE session = pg_backend_pid()::text ORDER BY nr DESC LIMIT 1000) AS latest"
			),
			't',
			"a session that goes on makes its IDs from '$ids' after the reload");
	}
}
is( $node->safe_psql('postgres',
		<<'SQL'), '0|0', 'no duplicate among them, and every session strictly rising');
SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before FROM made) AS made
SQL

$sessions[0]->query_safe('BEGIN');
for my $id ('3', '9') {
	reload_with($node, generator_ids => $id);
	is( $sessions[0]->query_safe(
			'SELECT DISTINCT (flake_decode(flake_next())).worker, (sno_decode(sno_next())).partition'
			  . ' FROM generate_series(1, 100)'),
		"$id|$id",
		"after a reload the IDs of a transaction that has IDs already are from '$id'");
}
$sessions[0]->query_safe('COMMIT');

reload_with($node, generator_ids => '1024');
my $error = error_of($node, 'SELECT flake_next()');
like(
	$error,
	qr/ERROR:  22023: generator ID 1024 is too large for flake/,
	'a generator ID beyond flake is an error for flake');
like($error, qr/DETAIL:  A flake has generator IDs from 0 to 1023\./, '... that names the limit');
like(
	error_of($node, "SELECT flake_at('2026-01-01')"),
	qr/ERROR:  22023: generator ID 1024 is too large for flake/,
	'... and for flake_at');
is($node->safe_psql('postgres', 'SELECT (sno_decode(sno_next())).partition'),
	'1024', '... and good for sno');
is($node->safe_psql('postgres', 'SELECT (uniqueid_decode(uniqueid_next())).generator_id'),
	'1024', '... and uniqueid');
reload_with($node, generator_ids => '2047');
is( $sessions[0]->query_safe(
		"SELECT (uniqueid_decode(uniqueid_next())).generator_id, (uniqueid_decode(uniqueid_next('spread'))).generator_id"
	),
	'2047|2047',
	'uniqueid has generator IDs up to 2047');

for my $ids ('2048', '2040-2050', '0-6,65535') {
	reload_with($node, generator_ids => $ids);
	my ($largest) = $ids =~ /(\d+)$/;
	for my $ask (
		'uniqueid_next()', "uniqueid_next('spread')",
		'uniqueid_next_batch(1)', "uniqueid_at('2026-01-01', 0)")
	{
		$error = error_in($sessions[0], "SELECT $ask");
		like(
			$error,
			qr/ERROR:  22023: generator ID \d+ is too large for uniqueid/,
			"with generator IDs '$ids' $ask is an error");
		my ($named) = $error =~ /generator ID (\d+)/;
		ok($named > 2047 && $named <= $largest, '... for one that is') or diag($error);
		like(
			$error,
			qr/DETAIL:  A uniqueid has generator IDs from 0 to 2047\./,
			'... that names the limit');
		like($error, qr/HINT:  .*"flakeid\.generator_ids"/, '... and the setting');
	}
	is(error_in($sessions[0], "SELECT $_"), '', "... while there is $_")
	  for 'sno_next()', 'flake128_next()', 'guid_next()', 'guid_local_next()';
}
reload_with($node, generator_ids => '65535');
is($sessions[0]->query_safe('SELECT (sno_decode(sno_next())).partition'),
	'65535', 'sno has 65535 too');
is(error_of($node, "SELECT $_->{next}"),
	'', "$_->{name} needs none of the generator IDs that are refused")
  for grep { $_->{cells} } @ID_TYPES;

# One generator ID has 4,096 IDs a millisecond: 200,000 take 48 of them.
reload_with($node, generator_ids => '5');
is( $node->safe_psql('postgres', <<'SQL'), '200000|5|t',
SELECT count(DISTINCT id), string_agg(DISTINCT worker::text, ','), max(created_at) - min(created_at) >= '48 ms'
FROM (SELECT flake_next() AS id FROM generate_series(1, 200000)) AS made, flake_decode(id)
SQL
	'one generator ID: 200,000 distinct IDs in one statement, as fast as its format allows');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM flake_next_batch(100000) AS id'),
	'100000', '... and in a batch');

reload_with($node, sno_sequence => '100-103');
is( $node->safe_psql('postgres', <<'SQL'), '100|100|103|t',
SELECT count(DISTINCT id), min(sequence), max(sequence), max(created_at) - min(created_at) >= '96 ms'
FROM (SELECT sno_next() AS id FROM generate_series(1, 100)) AS made, sno_decode(id)
SQL
	'sno keeps to its slice of the sequence and waits for the next tick when it is exhausted');
is( $sessions[0]->query_safe(
		'SELECT min(sequence), max(sequence) FROM sno_next_batch(20) AS made (made), sno_decode(made)'
	),
	'100|103',
	'... in a batch, in a session that was there before');
is( $node->safe_psql(
		'postgres',
		'SELECT min(sequence), max(sequence), count(*)'
		  . " FROM generate_series(0, 3) AS n, sno_decode(sno_at('2026-01-01', 0, n))"),
	'100|103|4',
	'... and so does sno_at');
reload_with($node, sno_sequence => '0-65535');

# names of the node ------------------------------------------------------------------------------------------

# What the IDs of a session have: guid's node, also by guid_at; flake128's worker, also by flake128_at; and
# uniqueid's cluster, also by uniqueid_at.
sub nodes_in {
	my ($session) = @_;
	return $session->query_safe(
		'SELECT string_agg(DISTINCT node::text, chr(32)) FROM (SELECT guid_next() AS id FROM generate_series(1, 100)'
		  . " UNION ALL SELECT guid_next_batch(10) UNION ALL SELECT guid_next('1 min', true) UNION ALL SELECT guid_at('2026-01-01', 0)) AS made,"
		  . ' guid_decode(id)');
}

sub workers_in {
	my ($session) = @_;
	return $session->query_safe(
		'SELECT string_agg(DISTINCT worker::text, chr(32)) FROM (SELECT flake128_next() AS id FROM generate_series(1, 100)'
		  . " UNION ALL SELECT flake128_next_batch(10) UNION ALL SELECT flake128_at('2026-01-01', 0)) AS made,"
		  . ' flake128_decode(id)');
}

sub clusters_in {
	my ($session) = @_;
	return $session->query_safe(
		'SELECT string_agg(DISTINCT cluster_id::text, chr(32)) FROM (SELECT uniqueid_next() AS id FROM generate_series(1, 100)'
		  . " UNION ALL SELECT uniqueid_next_batch(10, 'spread') UNION ALL SELECT uniqueid_at('2026-01-01', 0)) AS made,"
		  . ' uniqueid_decode(id)');
}

# The first four bytes of a name's SHA-256.
sub hashed {
	my ($name) = @_;
	return $node->safe_psql('postgres',
		"SELECT ('x' || encode(substr(sha256(convert_to('$name', 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint"
	);
}

my $identity = "SELECT flakeid_identity() #>> '{%s}'";
$node->safe_psql('postgres', 'CREATE TABLE guids (id guid)');
my $kept = nodes_in($sessions[0]);
is(state_of($node)->{guid_node},
	$kept, 'without a setting guid\'s node is the one in the state file');
my %nodes = ('0' => 0, '7' => 7, '4294967295' => 4_294_967_295, ' 42 ' => 42, '007' => 7);
$nodes{$_} = hashed($_) for 'rack-7', 'node', '7a', 'Knoten', '-one';
$nodes{' rack-7 '} = $nodes{'rack-7'};
is(hashed('rack-7'), hex substr(sha256_hex('rack-7'), 0, 8), 'PostgreSQL and Perl agree on a hash');

for my $value (sort keys %nodes) {
	reload_with($node, guid_node => $value);
	is(nodes_in($_), $nodes{$value}, "guid_node = '$value' holds in a session that goes on")
	  for @sessions;
	is($sessions[0]->query_safe(sprintf $identity, 'guid,node'),
		$nodes{$value}, '... which flakeid_identity() says');
	$_->query_safe('INSERT INTO guids SELECT guid_next() FROM generate_series(1, 1000)')
	  for @sessions;
	is(state_of($node)->{guid_node}, $kept, '... and the kept one is kept');
}
reload_with($node, guid_node => '');
is(nodes_in($_), $kept, "... and comes back when the setting is removed") for @sessions;
is( $node->safe_psql(
		'postgres',
		'SELECT count(*), count(DISTINCT id), count(DISTINCT id::guid_local) FROM guids'),
	join('|', (3000 * keys %nodes) x 3),
	'... no guid repeats, nor when they are made local');

my $first = workers_in($sessions[0]);
is($sessions[0]->query_safe(sprintf $identity, 'flake128,worker'),
	$first, 'flake128\'s worker, without a setting');
my %interfaces = map { $_ => lc } '02:00:00:00:00:01', '08:00:2b:01:02:03', 'AA:bb:CC:dd:EE:0f';
$interfaces{' 02:00:00:00:00:02 '} = '02:00:00:00:00:02';
my %real;
for my $directory (glob '/sys/class/net/*') {
	# One that belongs to a container can go away at any time.
	my ($type, $address, $index) = eval {
		map { slurp_file("$directory/$_") } 'type', 'address', 'ifindex';
	} or next;
	next unless $type == 1;
	chomp($address, $index);
	my ($name) = $directory =~ m{([^/]+)$};
	$interfaces{$name} = $address unless $address =~ /^[0:]*$/;
	$real{$index} = $address if -e "$directory/device" && $interfaces{$name};
}
my ($lowest) = sort { $a <=> $b } keys %real;
my $expected = defined $lowest ? $real{$lowest} : state_of($node)->{worker} =~ s/(..)(?!$)/$1:/gr;
is($first, $expected, '... is that of the first real interface, else the kept one');
for my $value (sort keys %interfaces) {
	next if $value !~ /:/ && !-e "/sys/class/net/$value";
	reload_with($node, interface => $value);
	is(workers_in($_), $interfaces{$value}, "interface = '$value' holds in a session that goes on")
	  for @sessions;
	is($sessions[0]->query_safe(sprintf $identity, 'flake128,worker'),
		$interfaces{$value}, '... which flakeid_identity() says');
}
reload_with($node, interface => '');
is(workers_in($sessions[0]), $first, '... and the first comes back when the setting is removed');

for my $cluster (15, 7, 0) {
	reload_with($node, cluster_id => $cluster);
	is(clusters_in($_), $cluster, "cluster_id = $cluster holds in a session that goes on")
	  for @sessions;
	is($sessions[0]->query_safe(sprintf $identity, 'uniqueid,cluster_id'),
		$cluster, '... which flakeid_identity() says');
}

# Every generator ID keeps its place in shared memory until the server ends: there are 1,024.
for my $first (map { 2000 + 64 * $_ } 0 .. 14) {
	reload_with($node, generator_ids => $first . '-' . ($first + 63));
	$error = error_of($node, 'SELECT sno_next()');
	last if $error;
}
reload_with($node, generator_ids => '10000-10063') unless $error;
$error ||= error_of($node, 'SELECT sno_next()');
like(
	$error,
	qr/ERROR:  54000: too many generator IDs since the server started/,
	'more than 1,024 generator IDs in one life of the server are an error');
reload_with($node, generator_ids => '0-7');
is($node->safe_psql('postgres', $workers) =~ /^[0-7,]+$/,
	1, '... and those from before are still good');

# hostname ------------------------------------------------------------------------------------------------

my ($label) = split /\./, hostname();
if ($label =~ /(\d+)$/ && $1 * 8 + 7 <= 65535) {
	reload_with($node, generator_ids => 'hostname:8');
	is($node->safe_psql('postgres', "SELECT flakeid_identity() -> 'generator_ids' -> 0"),
		$1 * 8, "a host name's number times N is the first generator ID");
}
else {
	my $reason =
	  $label =~ /\d$/
	  ? 'gives generator IDs above 65535, the largest.'
	  : 'does not end in a number.';
	my $name = hostname();
	like(
		error_of($node, "ALTER SYSTEM SET flakeid.generator_ids = 'hostname:8'"),
		qr/ERROR:  22023.*\n.*The.*host name "\Q$name\E" \Q$reason\E/,
		'a host name without a number, or with a large one, is no source of generator IDs');
}

reload_with($node, generator_ids => '0-7');

# epoch ---------------------------------------------------------------------------------------------------

my $later = qr/ERROR:  55000: "flakeid\.epoch" is later than the epoch of existing flakes/;
like(
	error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2020-01-01'"),
	qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch": "2020-01-01"/,
	'an epoch that moves later is refused where there are flakes');
$end_of_log = -s $node->logfile;
$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'");
$node->reload;
$node->wait_for_log(qr/invalid value for parameter "flakeid\.epoch": "2020-01-01"/, $end_of_log);
is(error_in($sessions[0], $insert), '', '... by a reload, too, after which IDs go on');
is($sessions[0]->query_safe('SHOW flakeid.epoch'), '2010-01-01', '... by the old one');
$_->quit for @sessions;
$node->restart;
$error = error_of($node, 'SELECT flake_next()');
like($error, $later, 'a later epoch at the start makes no flakes, as they would come again');
like(
	$error,
	qr/DETAIL:  Flakes were generated with the epoch 2010-01-01 00:00:00\+00, and "flakeid\.epoch" is 2020-01-01 00:00:00\+00\./,
	'... and the error says what it was');
like(
	$error,
	qr/HINT:  Write "flakeid\.epoch = '2010-01-01'" into postgresql\.conf/,
	'... and what to do');
is($node->safe_psql('postgres', 'SELECT sno_next() IS NOT NULL'), 't', '... while snos are made');
$node->stop('immediate');
$node->start;
like(error_of($node, 'SELECT flake_next()'), $later, '... nor after a crash');
reload_with($node, epoch => '2010-01-01');
is(error_of($node, 'SELECT flake_next()'), '', '... until it has the earlier value again');
$node->stop;

# On a server that has made no flakes yet any epoch is good.
$node = PostgreSQL::Test::Cluster->new('spellings');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
for my $epoch (
	'2020-01-01', '2020-01-01T00:00:00Z',
	'2020-01-01 00:00:00+00', '2020-01-01T05:30:00+05:30',
	'1577836800000', ' 2020-01-01 ')
{
	reload_with($node, epoch => $epoch);
	is( $node->safe_psql(
			'postgres', 'SELECT flake_timestamp(0), flake_min(\'2020-01-01 00:00:00.001+00\')'),
		'2020-01-01 00:00:00+00|4194304',
		"the epoch '$epoch'");
}
for my $epoch ('unix', 'UNIX', '0', '1970-01-01') {
	reload_with($node, epoch => $epoch);
	is( $node->safe_psql('postgres', 'SELECT flake_timestamp(0)'),
		'1970-01-01 00:00:00+00',
		"the epoch '$epoch'");
}
reload_with($node, epoch => '2100-01-01');
$error = error_of($node, 'SELECT flake_next()');
like(
	$error,
	qr/ERROR:  55000: the clock is before the epoch of flake/,
	'before the epoch there are no flakes');
like(
	$error,
	qr/DETAIL:  The first flake has the time 2100-01-01 00:00:00\+00\./,
	'... and the error says from when on');
is($node->safe_psql('postgres', 'SELECT sno_next() IS NOT NULL'), 't', '... but snos');
reload_with($node, epoch => '2020-01-01');
is(error_of($node, 'SELECT flake_next()'), '', '... and the state does not keep that one');
$node->stop;

# Its flakes are of the time of the query.
my $of_now =
  q{(SELECT at BETWEEN now() - interval '1 ms' AND clock_timestamp() FROM (SELECT flake_timestamp(flake_next()) AS at OFFSET 0) AS made)};
$node = PostgreSQL::Test::Cluster->new('epoch');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2020-01-01'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT sno_next()');
is($node->safe_psql('postgres', "SELECT $of_now, flake_next() < flake_min(now(), 'epoch')"),
	't|t', 'a server that starts with a later epoch makes its first flakes from there');
$session = session($node);
my $before = $session->query_safe('SELECT max(id) FROM flake_next_batch(100000) AS id');
reload_with($node, epoch => '2019-01-01');
is($session->query_safe("SELECT flake_next() > $before, $of_now"),
	't|t', 'an earlier epoch is good: its flakes are above all that were made');
$session->quit;
like(
	error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2020-01-01'"),
	qr/DETAIL:  Flakes were generated with the epoch 2019-01-01/,
	'... and then the one from before is a later one');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.epoch');
$node->restart;
like(error_of($node, 'SELECT flake_next()'), $later, '... after a restart, too');

$node->stop;
done_testing();
