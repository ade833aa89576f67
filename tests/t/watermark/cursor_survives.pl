# The offset of a reader in ID order survives a dump that is restored into another cluster, and
# pg_upgrade: the reader gets the rows that it has not read, each once. A stored transaction ID
# does not. A reader whose offset is ahead of the new server's clock misses rows, and a query tells.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;
use Watermark;

my $dump = PostgreSQL::Test::Utils::tempdir('cursor') . '/dump';

# Sets up a server, not yet started.
sub server_with {
	my ($name, $generator_ids) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<~"END");
		shared_preload_libraries = 'flakeid'
		flakeid.generator_ids = '$generator_ids'
		END
	return $node;
}

sub restore {
	my ($node) = @_;
	$node->command_ok(
		[ 'pg_restore', '-e', '-d', 'postgres', $dump ],
		$node->name . ': pg_restore restores the dump');
	return;
}

# Reads some of the rows after the stored offset, in ID order, and stores the new offset with them.
# Returns their IDs. The guids of two servers have two nodes, so no guid is an offset for both. A
# time is.
sub read_rows {
	my ($node, $id_type, $limit) = @_;
	my $name = $id_type->{name};
	my $offset = "(SELECT last FROM ${name}_offset)";
	my ($rows, $stored) = (
		"id > $offset AND " . before_watermark($id_type) . " ORDER BY id LIMIT $limit",
		'last = (SELECT id FROM batch ORDER BY id DESC LIMIT 1) WHERE EXISTS (SELECT FROM batch)');
	if ($name eq 'guid') {
		$rows = "guid_within(id, tstzrange($offset, greatest($offset, flakeid_watermark())))";
		$stored = 'last = greatest(last, flakeid_watermark())';
	}
	return split /\n/, $node->safe_psql('postgres', <<~"SQL");
		WITH batch AS MATERIALIZED (SELECT id FROM ${name}s WHERE $rows),
			stored AS (UPDATE ${name}_offset SET $stored)
		SELECT id FROM batch ORDER BY ${name}_timestamp(id), id
		SQL
}

# Tests that the watermark passes the first or the last row of an ID type.
sub passes_rows {
	my ($node, $id_type, $which, $test) = @_;
	my ($name, $session) = ($id_type->{name}, session($node));
	my $time = in_micros("${name}_timestamp(id)");
	passes($session, $session->query_safe("SELECT $which($time) FROM ${name}s"), $test);
	$session->quit;
	return;
}

# Reads until nothing is left, after the watermark has passed all rows.
sub read_all {
	my ($node, $id_type) = @_;
	passes_rows($node, $id_type, 'max',
		$node->name . ": the watermark passes the $id_type->{name} IDs");
	my @all;
	while (my @rows = read_rows($node, $id_type, 300)) {
		push @all, @rows;
	}
	return @all;
}

# Whether the offset is below the watermark, as docs/reading-in-order.md asks before the writers
# start.
sub is_ready {
	my ($node, $id_type) = @_;
	my $name = $id_type->{name};
	my $below = $name eq 'guid' ? 'last < flakeid_watermark()' : before_watermark($id_type, 'last');
	return $node->safe_psql('postgres', "SELECT bool_and($below) FROM ${name}_offset") eq 't';
}

my $first = server_with('first', '8-15');
$first->start;
create_tables($first);
for my $id_type (@ID_TYPES) {
	my ($name, $type) = @$id_type{ 'name', 'type' };
	my ($offset_type, $start) =
		$name eq 'guid'  ? ('timestamptz', "'-infinity'")
	  : $name eq 'flake' ? ($type, '-1')
	  :                    ($type, "${name}_min('-infinity')");
	$first->safe_psql('postgres', <<~"SQL");
		CREATE TABLE ${name}_offset AS SELECT $start\::$offset_type AS last;
		INSERT INTO ${name}s (nr) SELECT generate_series(1, 1000);
		SQL
}
# Transactions that a new cluster has not had.
$first->safe_psql('postgres', <<~'SQL');
	DO $$ BEGIN FOR nr IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$;
	CREATE TABLE xids AS SELECT pg_current_xact_id() AS id;
	SQL

my %read;
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	passes_rows($first, $id_type, 'min', "first: the watermark passes a row with a $name ID");
	$read{$name} = [ read_rows($first, $id_type, 400) ];
	cmp_ok(scalar @{ $read{$name} }, '>', 0, "first: a reader reads rows with $name IDs");
	# These rows are not read before the dump.
	$first->safe_psql('postgres', "INSERT INTO ${name}s (nr) SELECT generate_series(1001, 1100)");
}
$first->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'postgres' ], 'pg_dump dumps the database');
$first->stop;

# Inserts rows on a server, and tests that the reader continues there with its offset.
sub continues {
	my ($node, $what) = @_;
	for my $id_type (@ID_TYPES) {
		my $name = $id_type->{name};
		ok(is_ready($node, $id_type), "$what: the offset of $name is below the watermark");
		$node->safe_psql('postgres', "INSERT INTO ${name}s (nr) SELECT generate_series(1, 50)");
		push @{ $read{$name} }, read_all($node, $id_type);
		is( join("\n", @{ $read{$name} }),
			$node->safe_psql(
				'postgres', "SELECT id FROM ${name}s ORDER BY ${name}_timestamp(id), id"),
			"$what: the reader of $name has read all rows in order, each once");
	}
	return;
}

my $second = server_with('second', '3');
$second->start;
restore($second);
is( $second->safe_psql('postgres', 'SELECT id > pg_snapshot_xmax(pg_current_snapshot()) FROM xids'),
	't',
	'after the restore a stored transaction ID is ahead of those of the server');
continues($second, 'after the restore');

$second->safe_psql('postgres', 'UPDATE xids SET id = pg_current_xact_id()');
$second->stop;
my $third = server_with('third', '3');
upgrade($second, $third, 'pg_upgrade upgrades the server');
$third->start;
is( $third->safe_psql('postgres', 'SELECT id < pg_snapshot_xmin(pg_current_snapshot()) FROM xids'),
	't',
	'after pg_upgrade a stored transaction ID is behind those of the server');
continues($third, 'after pg_upgrade');
$third->stop;

# A server whose clock is behind the offsets.
my $behind = server_with('behind', '5');
my $clock = FakedClock->of_node($behind);
$clock->step(-3600);
$clock->start;
restore($behind);
my %missed;
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	ok(!is_ready($behind, $id_type), "behind: the offset of $name is above the watermark");
	$missed{$name} =
	  $behind->safe_psql('postgres', "INSERT INTO ${name}s DEFAULT VALUES RETURNING id");
	is(scalar(my @rows = read_rows($behind, $id_type, 300)),
		0, "behind: the reader of $name gets nothing");
}
$clock->step(0);
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	my @rows = read_all($behind, $id_type);
	cmp_ok(scalar @rows, '>=', 100,
		"behind: the reader of $name gets the restored rows when the clock is past them");
	ok(!(grep { $_ eq $missed{$name} } @rows),
		"behind: the reader of $name misses the row that was inserted before");
	ok(is_ready($behind, $id_type), "behind: the offset of $name is below the watermark then");
}
$behind->stop;

done_testing();
