# The offset of a reader in ID order survives pg_dump with a restore into another cluster, and pg_upgrade: the reader
# continues with it, and gets the rows that it has not read, each once. An offset that counts transactions does not
# survive the restore. If the clock of the new server is behind the offset, the reader misses new rows, and the query on
# the page tells.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $dir = PostgreSQL::Test::Utils::tempdir('cursor');
chomp(my $bindir = `pg_config --bindir`);

# A server that preloads flakeid, not yet started.
sub server {
	my ($name, $generator_ids) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', <<END);
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '$generator_ids'
END
	return $node;
}

# Reads at most so many rows after the stored offset, in ID order, and stores the new offset with them. Returns their
# IDs. The guids of two servers have two nodes, so that a guid is no offset for both. A time is.
sub read_rows {
	my ($node, $id_type, $limit) = @_;
	my $name = $id_type->{name};
	my $offset = "(SELECT last FROM ${name}_offset)";
	my $rows =
	  $name eq 'guid'
	  ? "guid_within(id, tstzrange($offset, greatest($offset, flakeid_watermark())))"
	  : "id > $offset AND " . before_watermark($id_type) . " ORDER BY id LIMIT $limit";
	my $stored =
	  $name eq 'guid'
	  ? 'SET last = greatest(last, flakeid_watermark())'
	  : 'SET last = (SELECT id FROM batch ORDER BY id DESC LIMIT 1) WHERE EXISTS (SELECT FROM batch)';
	return split /\n/, $node->safe_psql('postgres', <<SQL);
WITH batch AS MATERIALIZED (SELECT id FROM ${name}s WHERE $rows), stored AS (UPDATE ${name}_offset $stored)
SELECT id FROM batch ORDER BY ${name}_timestamp(id), id
SQL
}

# Reads until nothing is left, after the watermark has passed all rows.
sub read_all {
	my ($node, $id_type) = @_;
	my $session = session($node);
	passes(
		$session,
		$session->query_safe(
				"SELECT max("
			  . in_micros("$id_type->{name}_timestamp(id)")
			  . ") FROM $id_type->{name}s"),
		$node->name . ": the watermark passes the $id_type->{name} IDs");
	$session->quit;
	my @all;
	while (my @rows = read_rows($node, $id_type, 300)) {
		push @all, @rows;
	}
	return @all;
}

sub all_rows {
	my ($node, $id_type) = @_;
	return split /\n/,
	  $node->safe_psql('postgres',
		"SELECT id FROM $id_type->{name}s ORDER BY $id_type->{name}_timestamp(id), id");
}

# Whether every offset is below the watermark, as reading-in-order.md asks before the writers start.
sub is_ready {
	my ($node, $id_type) = @_;
	my $below =
	  $id_type->{name} eq 'guid'
	  ? 'last < flakeid_watermark()'
	  : before_watermark($id_type, 'last');
	return $node->safe_psql('postgres', "SELECT bool_and($below) FROM $id_type->{name}_offset") eq
	  't';
}

# the first server -----------------------------------------------------------------------------------------------------

my $first = server('first', '8-15');
$first->start;
create_tables($first);
for my $id_type (@ID_TYPES) {
	my ($name, $type) = @$id_type{ 'name', 'type' };
	my ($offset_type, $start) =
		$name eq 'guid'  ? ('timestamptz', "'-infinity'")
	  : $name eq 'flake' ? ($type, '-1')
	  :                    ($type, "${name}_min('-infinity')");
	$first->safe_psql('postgres', <<SQL);
CREATE TABLE ${name}_offset AS SELECT $start\::$offset_type AS last;
INSERT INTO ${name}s (nr) SELECT generate_series(1, 1000);
SQL
}
# Transactions that a new cluster has not had.
$first->safe_psql('postgres', <<'SQL');
DO $$ BEGIN FOR number IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$;
CREATE TABLE xids AS SELECT pg_current_xact_id() AS id;
SQL

my %read;
{
	my $session = session($first);
	for my $id_type (@ID_TYPES) {
		passes(
			$session,
			$session->query_safe(
					"SELECT min("
				  . in_micros("$id_type->{name}_timestamp(id)")
				  . ") FROM $id_type->{name}s"),
			"first: the watermark passes a row with a $id_type->{name} ID");
		$read{ $id_type->{name} } = [ read_rows($first, $id_type, 400) ];
		cmp_ok(scalar @{ $read{ $id_type->{name} } },
			'>', 0, "first: a reader reads rows with $id_type->{name} IDs");
	}
	# A part of the rows is not read.
	$session->query_safe("INSERT INTO $_->{name}s (nr) SELECT generate_series(1001, 1100)")
	  for @ID_TYPES;
	$session->quit;
}
$first->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", 'postgres' ], 'pg_dump');

# a restore into another cluster ---------------------------------------------------------------------------------------

sub restore {
	my ($node) = @_;
	$node->command_ok([ 'pg_restore', '-e', '-d', 'postgres', "$dir/dump" ],
		$node->name . ': pg_restore');
	return;
}

# Inserts rows on a server, and tests that the reader continues there with its offset.
sub continues {
	my ($node, $what) = @_;
	for my $id_type (@ID_TYPES) {
		my $name = $id_type->{name};
		ok(is_ready($node, $id_type), "$what: the offset of $name is below the watermark");
		$node->safe_psql('postgres', "INSERT INTO ${name}s (nr) SELECT generate_series(1, 50)");
		push @{ $read{$name} }, read_all($node, $id_type);
		is_deeply(
			$read{$name},
			[ all_rows($node, $id_type) ],
			"$what: the reader of $name has read all rows in order, each once");
	}
	return;
}

my $second = server('second', '3');
$second->start;
restore($second);
is( $second->safe_psql('postgres', 'SELECT id > pg_snapshot_xmax(pg_current_snapshot()) FROM xids'),
	't',
	'after the restore a stored transaction ID is ahead of those of the server');
continues($second, 'after the restore');

# pg_upgrade -----------------------------------------------------------------------------------------------------------

my @no_sync = `$bindir/pg_upgrade --help` =~ /--no-sync/ ? ('--no-sync') : ();
$second->safe_psql('postgres', 'UPDATE xids SET id = pg_current_xact_id()');
$_->stop for $first, $second;
my $third = server('third', '3');
# It leaves files where it is called.
command_ok(
	[
		'sh', '-c', 'cd "$0" && exec "$@"', $dir,
		'pg_upgrade', '-b', $bindir, '-B',
		$bindir, '-d', $second->data_dir, '-D',
		$third->data_dir, '-p', $second->port, '-P',
		$third->port, '-s', $third->host, @no_sync
	],
	'pg_upgrade');
$third->start;
is( $third->safe_psql('postgres', 'SELECT id < pg_snapshot_xmin(pg_current_snapshot()) FROM xids'),
	't',
	'after pg_upgrade a stored transaction ID is behind those of the server');
continues($third, 'after pg_upgrade');
$third->stop;

# a server whose clock is behind ---------------------------------------------------------------------------------------

my $behind = server('behind', '5');
my $clock = FakedNode->new($behind);
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
