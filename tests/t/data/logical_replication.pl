# Logical replication carries IDs from server to server, as keys and otherwise, as text and in
# binary, also from and to earlier versions (EARLIER_PG_CONFIGS).
use strict;
use warnings;
use lib 'tests/perl';

use Kinds;
use File::Basename qw(dirname);
use Test::More;

my $here = replicating_server('here', 0);
my $there = replicating_server('there', 1, preloads => 0);
# The types have other OIDs there. Arrays and rows have these inside in binary.
$there->safe_psql('postgres', 'SELECT count(lo_create(0)) FROM generate_series(1, 1000)');

my $tables = <<'SQL';
CREATE TYPE KIND_pair AS (older ID, newer ID);
CREATE TYPE KIND_range AS RANGE (subtype = ID);
CREATE TABLE KIND_keys (
	id ID PRIMARY KEY DEFAULT NEXT, nr integer, other ID DEFAULT NEXT,
	list ID[], pair KIND_pair, span KIND_range
);
CREATE TABLE KIND_fulls (LIKE KIND_keys INCLUDING DEFAULTS);
CREATE TABLE KIND_cuts (id ID PRIMARY KEY DEFAULT NEXT);
ALTER TABLE KIND_fulls ALTER id DROP NOT NULL, REPLICA IDENTITY FULL;
SQL
# The partitions of one server have no counterpart on the other.
my $publishers = <<'SQL';
CREATE TABLE KIND_roots (id ID PRIMARY KEY DEFAULT NEXT, nr integer) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE KIND_older PARTITION OF KIND_roots FOR VALUES FROM (MINVALUE) TO (%1$L);
	CREATE TABLE KIND_newer PARTITION OF KIND_roots FOR VALUES FROM (%1$L) TO (MAXVALUE)',
	AT('2026-02-01 00:00+00', 0)) \gexec
SQL
my $subscribers = <<'SQL';
CREATE TABLE KIND_roots (id ID PRIMARY KEY DEFAULT NEXT, nr integer) PARTITION BY HASH (id);
CREATE TABLE KIND_even PARTITION OF KIND_roots FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE KIND_odd PARTITION OF KIND_roots FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON KIND_fulls (id);
SQL
my $rows = <<'SQL';
CREATE TEMP TABLE KIND_ids AS
	SELECT nr, AT('2026-01-01 00:00+00'::timestamptz + nr * interval '1 day', nr) AS id
	FROM generate_series(1, 100) AS nr;
INSERT INTO KIND_keys (nr, list, pair, span)
	SELECT nr, ARRAY[id, NULL], ROW(id, NULL)::KIND_pair, KIND_range(id, NULL) FROM KIND_ids;
INSERT INTO KIND_fulls SELECT * FROM KIND_keys;
INSERT INTO KIND_cuts SELECT FROM generate_series(1, 10);
INSERT INTO KIND_roots SELECT id, nr FROM KIND_ids;
SQL
my $changes = <<'SQL';
INSERT INTO KIND_keys (nr, other) VALUES (201, NULL), (202, NEXT);
INSERT INTO KIND_fulls (id, nr) VALUES (NULL, 201), (NEXT, 202);
INSERT INTO KIND_roots (nr) VALUES (201);
UPDATE KIND_keys SET id = NEXT WHERE nr % 10 = 1;
UPDATE KIND_fulls SET id = NEXT WHERE nr % 10 = 1;
UPDATE KIND_roots SET id = NEXT WHERE nr % 10 = 1;
UPDATE KIND_keys SET other = NULL, list = list || id, pair.newer = NEXT, span = NULL
	WHERE nr % 10 = 2;
UPDATE KIND_fulls SET other = NULL, list = list || id, pair.newer = NEXT, span = NULL
	WHERE nr % 10 = 2;
DELETE FROM KIND_keys WHERE nr % 10 = 3;
DELETE FROM KIND_fulls WHERE nr % 10 = 3;
DELETE FROM KIND_roots WHERE nr % 10 = 3;
TRUNCATE KIND_cuts;
SQL

# Returns how many rows each table of a database has, and a digest of them.
sub rows_of {
	my ($node, $database) = @_;
	my $query = join ' UNION ALL ', map { <<"SQL" } qw(keys fulls cuts roots);
SELECT 'KIND_$_', count(*), md5(string_agg(t::text, ' ' ORDER BY t::text COLLATE "C"))
FROM KIND_$_ AS t
SQL
	return $node->safe_psql($database, of_all_kinds("$query;\n"));
}

# Tests that a subscriber has all rows of a publisher, and every change of them.
sub is_replicated {
	my ($publisher, $subscriber, $name, $options) = @_;
	$_->safe_psql('postgres', "CREATE DATABASE $name") for $publisher, $subscriber;
	$publisher->safe_psql($name,
			'CREATE EXTENSION flakeid;'
		  . of_all_kinds($tables . $publishers . $rows)
		  . "CREATE PUBLICATION $name FOR ALL TABLES WITH (publish_via_partition_root)");
	$subscriber->safe_psql($name,
		'CREATE EXTENSION flakeid;' . of_all_kinds($tables . $subscribers));
	my $oid = "SELECT 'sno'::regtype::oid";
	isnt(
		$subscriber->safe_psql($name, $oid),
		$publisher->safe_psql($name, $oid),
		'the types have other OIDs at the subscriber');
	subscribe($subscriber, $publisher, $name, $name, $name, $options);
	$subscriber->wait_for_subscription_sync($publisher, $name, $name);
	is(rows_of($subscriber, $name), rows_of($publisher, $name), 'all rows are copied at first');
	$publisher->safe_psql($name, of_all_kinds($changes));
	$publisher->wait_for_catchup($name);
	my $rows = rows_of($publisher, $name);
	is(rows_of($subscriber, $name),
		$rows, 'rows that are inserted, updated, deleted and truncated are replicated');
	is( $rows =~ s/\|\w*$//gmr . "\n",
		of_all_kinds("KIND_keys|92\nKIND_fulls|92\nKIND_cuts|0\nKIND_roots|91\n"),
		'the changed tables have rows');
	is( $subscriber->safe_psql(
			$name,
			of_all_kinds(
				'SELECT count(*) FROM KIND_keys WHERE nr IN (201, 202) AND other IS NULL;')),
		join("\n", (2) x @KINDS),
		'no DEFAULT of the subscriber fills a column that is NULL');
	$subscriber->safe_psql($name, "DROP SUBSCRIPTION $name");
	return;
}

is($there->safe_psql('postgres', 'SHOW shared_preload_libraries'),
	'', 'the subscriber does not preload the library');
subtest 'IDs are replicated as text' => sub { is_replicated($here, $there, 'as_text', '') };
my $binary = 'WITH (binary = true)';
subtest 'IDs are replicated in binary' =>
  sub { is_replicated($here, $there, 'in_binary', $binary) };
for my $pg_config (split ' ', $ENV{EARLIER_PG_CONFIGS} || '') {
	chomp(my $bindir = `$pg_config --bindir`);
	my ($major) = `$pg_config --version` =~ /(\d+)/;
	my $earlier =
	  replicating_server("earlier_$major", 2, node => { install_path => dirname($bindir) });
	like($earlier->safe_psql('postgres', 'SHOW server_version'),
		qr/^$major(?!\d)/, "there is a server of version $major");
	$earlier->safe_psql('postgres', 'SELECT count(lo_create(0)) FROM generate_series(1, 2000)');
	# The initial copy is in binary from 16 on, where both servers know how.
	subtest "IDs are replicated from version $major" =>
	  sub { is_replicated($earlier, $here, "from_$major", $binary) };
	subtest "IDs are replicated to version $major" =>
	  sub { is_replicated($here, $earlier, "to_$major", $binary) };
	$earlier->stop;
}

$_->stop for $here, $there;
done_testing();
