# Logical replication carries IDs from server to server, as keys and otherwise, as text and in binary, from and to
# earlier versions (EARLIER_PG_CONFIGS); two servers that both write, each with generator IDs of its own, never collide; and who decodes
# the log reads them.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use File::Basename qw(dirname);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# A server that others can replicate from and to. Those on one host have the same MAC address.
my $number = 0;

sub logical_server {
	my ($name, $preloads, @node) = @_;
	my ($first, $mac) = (8 * $number, sprintf '02:00:00:00:00:%02x', ++$number);
	my $own = "flakeid.generator_ids = '$first-@{[ $first + 7 ]}'\nflakeid.interface = '$mac'\n";
	$own .= "shared_preload_libraries = 'flakeid'\n" if $preloads;
	return server_with($name, $own, node => {@node}, init => { allows_streaming => 'logical' });
}

my $here = logical_server('here', 1);
my $there = logical_server('there', 0);
my $version = version_of($here);
# So that the types have other OIDs there: in binary, arrays and rows have them inside.
$there->safe_psql('postgres', 'SELECT count(lo_create(0)) FROM generate_series(1, 1000)');

my $tables = <<'SQL';
CREATE TYPE KIND_pair AS (older ID, newer ID);
CREATE TYPE KIND_range AS RANGE (subtype = ID);
CREATE TABLE KIND_keys (id ID PRIMARY KEY DEFAULT NEXT, nr integer, other ID DEFAULT NEXT, list ID[], pair KIND_pair, span KIND_range);
CREATE TABLE KIND_fulls (LIKE KIND_keys INCLUDING DEFAULTS);
CREATE TABLE KIND_cuts (id ID PRIMARY KEY DEFAULT NEXT);
ALTER TABLE KIND_fulls ALTER id DROP NOT NULL, REPLICA IDENTITY FULL;
SQL
# The parts of one server have no counterpart on the other.
my $publishers = <<'SQL';
CREATE TABLE KIND_roots (id ID PRIMARY KEY DEFAULT NEXT, nr integer) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE KIND_older PARTITION OF KIND_roots FOR VALUES FROM (MINVALUE) TO (%1$L);
	CREATE TABLE KIND_newer PARTITION OF KIND_roots FOR VALUES FROM (%1$L) TO (MAXVALUE)', AT('2026-02-01 00:00+00', 0)) \gexec
SQL
my $subscribers = <<'SQL';
CREATE TABLE KIND_roots (id ID PRIMARY KEY DEFAULT NEXT, nr integer) PARTITION BY HASH (id);
CREATE TABLE KIND_even PARTITION OF KIND_roots FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE KIND_odd PARTITION OF KIND_roots FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON KIND_fulls (id);
SQL
my $rows = <<'SQL';
INSERT INTO KIND_keys (nr, list, pair, span)
    SELECT nr, ARRAY[id, NULL], ROW(id, NULL)::KIND_pair, KIND_range(id, NULL)
    FROM generate_series(1, 100) AS nr, LATERAL (SELECT AT('2026-01-01 00:00+00'::timestamptz + nr * interval '1 day', nr) AS id) AS ids;
INSERT INTO KIND_fulls SELECT * FROM KIND_keys;
INSERT INTO KIND_cuts SELECT FROM generate_series(1, 10);
INSERT INTO KIND_roots SELECT AT('2026-01-01 00:00+00'::timestamptz + nr * interval '1 day', nr), nr FROM generate_series(1, 100) AS nr;
SQL
my $changes = <<'SQL';
INSERT INTO KIND_keys (nr, other) VALUES (201, NULL), (202, NEXT);
UPDATE KIND_keys SET id = NEXT WHERE nr % 10 = 1;
UPDATE KIND_keys SET other = NULL, list = list || id, pair.newer = NEXT, span = NULL WHERE nr % 10 = 2;
DELETE FROM KIND_keys WHERE nr % 10 = 3;
INSERT INTO KIND_fulls (id, nr) VALUES (NULL, 201), (NEXT, 202);
UPDATE KIND_fulls SET id = NEXT WHERE nr % 10 = 1;
UPDATE KIND_fulls SET other = NULL, list = list || id, pair.newer = NEXT, span = NULL WHERE nr % 10 = 2;
DELETE FROM KIND_fulls WHERE nr % 10 = 3;
TRUNCATE KIND_cuts;
INSERT INTO KIND_roots (nr) VALUES (201);
UPDATE KIND_roots SET id = NEXT WHERE nr % 10 = 1;
DELETE FROM KIND_roots WHERE nr % 10 = 3;
SQL

# All rows of a database, in lines of a table each.
sub rows_of {
	my ($node, $database) = @_;
	my @tables = map {
		my $name = $_->{name};
		map { "${name}_$_" } qw(keys fulls cuts roots)
	} @KINDS;
	return $node->safe_psql($database, join "\n", map { <<"SQL" } @tables);
SELECT '$_', count(*), md5(string_agg(t::text, ' ' ORDER BY t::text COLLATE "C")) FROM $_ AS t;
SQL
}

# Tests that a subscriber has all rows of a publisher, and every change of them.
sub is_replicated {
	my ($publisher, $subscriber, $name, $options) = @_;
	$_->safe_psql('postgres', "CREATE DATABASE $name") for $publisher, $subscriber;
	my ($creates, $copies, $fills, $changed) = map {
		my $sql = $_;
		join '', map { of_kind($_, $sql) } @KINDS
	} $tables . $publishers, $tables . $subscribers, $rows, $changes;
	$publisher->safe_psql($name,
		"CREATE EXTENSION flakeid; $creates $fills CREATE PUBLICATION $name FOR ALL TABLES WITH (publish_via_partition_root)"
	);
	$subscriber->safe_psql($name, "CREATE EXTENSION flakeid; $copies");
	isnt(
		$subscriber->safe_psql($name, "SELECT 'sno'::regtype::oid"),
		$publisher->safe_psql($name, "SELECT 'sno'::regtype::oid"),
		"$name: the types have another OID at the subscriber");
	$subscriber->safe_psql($name,
		"CREATE SUBSCRIPTION $name CONNECTION '" . $publisher->connstr($name) =~
		  s/'/''/gr . "' PUBLICATION $name $options");
	$subscriber->wait_for_subscription_sync($publisher, $name, $name);
	is( rows_of($subscriber, $name),
		rows_of($publisher, $name),
		'... the rows that were there are copied');
	$publisher->safe_psql($name, $changed);
	$publisher->wait_for_catchup($name);
	my $rows = rows_of($publisher, $name);
	is(rows_of($subscriber, $name),
		$rows, '... what is inserted, updated, deleted and truncated since follows');
	my @counts = ("keys|92\n", "fulls|92\n", "cuts|0\n", "roots|91\n");
	my $of_table = join '', map {
		my $kind = $_->{name};
		map { "${kind}_$_" } @counts
	} @KINDS;
	is($rows =~ s/\|\w*$//gmr . "\n", $of_table, '... which is not nothing');
	my $nulls = join ' UNION ALL ',
	  map { "SELECT count(*) FROM $_->{name}_keys WHERE nr IN (201, 202) AND other IS NULL" }
	  @KINDS;
	is( $subscriber->safe_psql($name, $nulls),
		join("\n", map { 2 } @KINDS),
		'... and no DEFAULT of the subscriber fills what is NULL');
	$subscriber->safe_psql($name, "DROP SUBSCRIPTION $name");
	return;
}

# one way ----------------------------------------------------------------------------------------------------

is($there->safe_psql('postgres', 'SHOW shared_preload_libraries'),
	'', 'the subscriber does not preload the library');
is_replicated($here, $there, 'as_text', '');
is_replicated($here, $there, 'in_binary', 'WITH (binary = true)');
for my $pg_config (split ' ', $ENV{EARLIER_PG_CONFIGS} || '') {
	chomp(my $bindir = `$pg_config --bindir`);
	my ($major) = `$pg_config --version` =~ /(\d+)/;
	my $earlier = logical_server("earlier_$major", 1, install_path => dirname($bindir));
	is(version_of($earlier), $major, "there is a server of version $major");
	$earlier->safe_psql('postgres', 'SELECT count(lo_create(0)) FROM generate_series(1, 2000)');
	# What is there at first is copied in binary from 16 on, where both know how.
	is_replicated($earlier, $here, "from_$major", 'WITH (binary = true)');
	is_replicated($here, $earlier, "to_$major", 'WITH (binary = true)');
	$earlier->stop;
}
pass("there is no server of a version before $version that has this flakeid")
  unless $ENV{EARLIER_PG_CONFIGS};

# both ways --------------------------------------------------------------------------------------------------

# What of an ID tells whose it is: of generator IDs each server has eight. A local guid has none of it, it is for
# one server. Nor has a uuidv7, which differs from those of other servers by its random bits.
my %owner = (
	flake => "(SELECT (datacenter * 32 + worker) / 8 FROM flake_decode(id, '2010-01-01 00:00+00'))",
	sno => '(sno_decode(id)).partition / 8',
	flake128 => '(flake128_decode(id)).worker',
	guid => '(guid_decode(id)).node',
	uniqueid => '(uniqueid_decode(id)).generator_id / 8',
	inverse => '(guid_decode(id, inverse => true)).node',
	spread => '(uniqueid_decode(id)).generator_id / 8',);
my @shared = grep { $owner{ $_->{name} } } @KINDS;

$there->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$there->restart;
my %writer = (here => $here, there => $there);
for my $name (sort keys %writer) {
	my $columns = join '', map {
		of_kind($_,
			"CREATE TABLE KIND_both (id ID PRIMARY KEY DEFAULT NEXT, writer text DEFAULT '$name', nr integer);\n"
		)
	} @shared;
	$writer{$name}->safe_psql('postgres', 'CREATE DATABASE mutual');
	# Up to 15 a subscription gets what came from the subscriber itself, too; so each publishes its own rows.
	my $published = join ', ', map { "TABLE $_->{name}_both WHERE (writer = '$name')" } @shared;
	$writer{$name}->safe_psql('mutual',
		"CREATE EXTENSION flakeid; $columns CREATE PUBLICATION by_$name FOR $published WITH (publish = 'insert')"
	);
}
my %other = (here => 'there', there => 'here');
for my $name (sort keys %other) {
	my $connection = $writer{ $other{$name} }->connstr('mutual') =~ s/'/''/gr;
	$writer{$name}->safe_psql('mutual',
		"CREATE SUBSCRIPTION at_$name CONNECTION '$connection' PUBLICATION by_$other{$name}");
}
$writer{$_}->wait_for_subscription_sync($writer{ $other{$_} }, "at_$_", 'mutual')
  for sort keys %other;
# Both write until they are told to stop, which is when both have written much. One that has written enough goes on more
# slowly: what it writes is replicated, too.
my %run;
my $inserts = join ' ',
  map { "INSERT INTO $_->{name}_both (nr) SELECT generate_series(1, 100);" } @shared;
for my $name (sort keys %writer) {
	$writer{$name}->safe_psql('mutual', 'CREATE TABLE stop ()');
	$run{$name} = IPC::Run::start(
		[
			'psql',
			'-Xq',
			'-v',
			'ON_ERROR_STOP=1',
			'-d',
			$writer{$name}->connstr('mutual'),
			'-c',
			"DO \$\$ DECLARE round integer := 0; BEGIN LOOP $inserts COMMIT; EXIT WHEN EXISTS (SELECT FROM stop); round := round + 1;"
			  . " IF round > 50 THEN PERFORM pg_sleep(0.02); END IF; END LOOP; END \$\$"
		]);
}
for my $name (sort keys %writer) {
	$writer{$name}->poll_query_until('mutual',
		"SELECT count(*) >= 1000 FROM $shared[-1]{name}_both WHERE writer = '$name'")
	  or die "$name does not write";
}
$writer{$_}->safe_psql('mutual', 'INSERT INTO stop DEFAULT VALUES') for sort keys %writer;
ok($run{$_}->finish, "$_ has written")                              for sort keys %run;
$writer{ $other{$_} }->wait_for_catchup("at_$_")                    for sort keys %other;
for my $kind (@shared) {
	my $all =
	  "SELECT count(DISTINCT id), count(*) FILTER (WHERE writer = 'here'), md5(string_agg(id::text, ' ' ORDER BY id)) FROM $kind->{name}_both";
	my $rows = $here->safe_psql('mutual', $all);
	my %written = map {
		$_ => $writer{$_}
		  ->safe_psql('mutual', "SELECT count(*) FROM $kind->{name}_both WHERE writer = '$_'")
	} keys %writer;
	like(
		$rows,
		qr/^@{[ $written{here} + $written{there} ]}\|$written{here}\|/,
		"$kind->{name}: two servers that write at the same time never generate the same ID");
	is($there->safe_psql('mutual', $all), $rows, '... and both have all');
	my $owned =
	  "SELECT $owner{ $kind->{name} } AS owner FROM $kind->{name}_both GROUP BY 1 HAVING count(DISTINCT writer)";
	is( $here->safe_psql(
			'mutual',
			"SELECT (SELECT count(*) FROM ($owned = 2) AS twice), (SELECT count(*) > 0 FROM ($owned = 1) AS once)"
		),
		'0|t',
		'... as their generator IDs or nodes differ');
}
is( $writer{$_}
	  ->safe_psql('mutual', 'SELECT sum(apply_error_count) FROM pg_stat_subscription_stats'),
	'0',
	"no row was refused $_") for sort keys %writer;
$writer{$_}->safe_psql('mutual', "DROP SUBSCRIPTION at_$_") for sort keys %other;
$there->stop;

# filters ----------------------------------------------------------------------------------------------------

# A row filter may have nothing in it that is user-defined: PostgreSQL would have to trust it in the log's decoding.
for my $kind (grep { $_->{type} ne 'bigint' } @KINDS) {
	my @comparisons = $kind->{type} eq 'uuid' ? () : of_kind($kind, "id >= other");
	for my $where (
		of_kind($kind, "id >= AT('2026-02-01 00:00+00'::timestamptz, 1)"),
		@comparisons,
		of_kind($kind, "TIMESTAMP(id) > '2026-02-01 00:00+00'"),
		of_kind($kind, "WITHIN(id, '[2026-02-01 00:00+00,)'::tstzrange)"))
	{
		like(
			error_of(
				$here, "CREATE PUBLICATION filtered FOR TABLE $kind->{name}_keys WHERE ($where)",
				'as_text'),
			qr/ERROR:  0A000: invalid publication WHERE expression.*\nDETAIL:  User-defined (?:operators|types|or built-in mutable functions) are not allowed/s,
			"PostgreSQL refuses the row filter $where");
	}
}
my $february =
  $here->safe_psql('as_text', "SELECT flake_min('2026-02-01 00:00+00', '2010-01-01 00:00+00')");
$here->safe_psql('as_text',
	"CREATE PUBLICATION filtered FOR TABLE flake_keys WHERE (id >= $february)");

# decoding -----------------------------------------------------------------------------------------------------

# What decoders say of these changes, and what they have to: of each kind the ID as it is printed and sent.
my %decoder = (
	'pgoutput, as text' =>
	  [ 'pgoutput', 'text', "'proto_version', '1', 'publication_names', 'as_text'" ],
	'pgoutput, in binary' => [
		'pgoutput', 'binary',
		"'proto_version', '1', 'publication_names', 'as_text', 'binary', 'true'"
	],
	'pgoutput, filtered' =>
	  [ 'pgoutput', 'filter', "'proto_version', '1', 'publication_names', 'filtered'" ],
	'test_decoding' => [ 'test_decoding', 'text', "'include-xids', '0'" ],);
chomp(my $folder = `pg_config --pkglibdir`);
if (!-e "$folder/test_decoding.so") {
	pass("this PostgreSQL $version has no test_decoding");
	delete $decoder{test_decoding};
}
my %slot = map { $_ => tr/a-z_//cdr } keys %decoder;
$here->safe_psql('as_text',
	"SELECT pg_create_logical_replication_slot('$slot{$_}', '$decoder{$_}[0]')")
  for sort keys %slot;
$here->safe_psql('as_text', "SELECT pg_create_logical_replication_slot('received', 'pgoutput')");
my %made;
for my $kind (@KINDS) {
	my $send = $kind->{type} eq 'bigint' ? 'int8send' : "$kind->{type}_send";
	for my $time ('2026-01-15 00:00+00', '2026-02-15 00:00+00') {
		my $id = of_kind($kind, "AT('$time'::timestamptz, 4711)");
		$made{ $kind->{name} }{$time} = [
			split /\|/,
			$here->safe_psql(
				'as_text',
				"INSERT INTO $kind->{name}_cuts VALUES ($id) RETURNING id, encode($send(id), 'hex')"
			)
		];
	}
}
$here->safe_psql('as_text', "INSERT INTO flake_keys (id) SELECT id FROM flake_cuts");
my $end = $here->lsn('insert');
for my $name (sort keys %decoder) {
	my ($plugin, $form, $options) = @{ $decoder{$name} };
	my $changes = $here->safe_psql('as_text',
		"SELECT string_agg(encode(data, 'hex'), ' ') FROM pg_logical_slot_get_binary_changes('$slot{$name}', NULL, NULL, $options)"
	);
	if ($form eq 'filter') {
		my %seen = map { $_ => index($changes, unpack 'H*', $made{flake}{$_}[0]) >= 0 }
		  keys %{ $made{flake} };
		is_deeply(
			\%seen,
			{ '2026-01-15 00:00+00' => '', '2026-02-15 00:00+00' => 1 },
			"$name: flakes can be");
		next;
	}
	for my $kind (map { $_->{name} } @KINDS) {
		my @ids = map { $form eq 'text' ? unpack 'H*', $_->[0] : $_->[1] } values %{ $made{$kind} };
		is(scalar(grep { index($changes, $_) >= 0 } @ids), 2, "$name: $kind IDs are in it");
	}
}
my $received = $here->pg_recvlogical_upto(
	'as_text', 'received', $end, $PostgreSQL::Test::Utils::timeout_default,
	proto_version => 1,
	publication_names => 'as_text');
for my $kind (map { $_->{name} } @KINDS) {
	is(scalar(grep { index($received, $_->[0]) >= 0 } values %{ $made{$kind} }),
		2, "pg_recvlogical gets $kind IDs");
}
$here->stop;

done_testing();
