# What the tests of COPY share: a column of each ID type, a server with files of numbers, and
# whether rows were inserted many at once.
package CopiedRows;

use strict;
use warnings;

use Exporter qw(import);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(@ID_COLUMNS $ID_COLUMNS copy_server distinct_ids inserts inserts_since);

# `bytes` is the length of an ID in COPY's binary format.
our @ID_COLUMNS = (
	{ name => 'flake', type => 'bigint', next => 'flake_next()', bytes => 8 },
	{ name => 'typed', type => 'flake', next => 'flake_next()', bytes => 8 },
	{ name => 'sno', type => 'sno', next => 'sno_next(7)', bytes => 10 },
	{ name => 'flake128', type => 'flake128', next => 'flake128_next()', bytes => 16 },
	{ name => 'guid', type => 'guid', next => 'guid_next()', bytes => 12 },
	{ name => 'guid_local', type => 'guid_local', next => 'guid_local_next()', bytes => 8 },
	{ name => 'uniqueid', type => 'uniqueid', next => 'uniqueid_next()', bytes => 8 },
	{ name => 'uuidv7', type => 'uuid', next => 'uuidv7_next()', bytes => 16 },);

# The definitions of these columns with their defaults.
our $ID_COLUMNS = join ', ', map { "$_->{name} $_->{type} DEFAULT $_->{next}" } @ID_COLUMNS;

# Starts a server with the extension. Its folder has the files `numbers` and `numbers.binary` of
# 5,000 rows.
sub copy_server {
	my ($name, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, %how);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = 'flakeid'
		autovacuum = off
		wal_keep_size = 1GB
		END
	$node->start;
	my $file = $node->basedir . '/numbers';
	$node->safe_psql('postgres', <<~"SQL");
		CREATE EXTENSION flakeid;
		COPY (SELECT generate_series(1, 5000)) TO '$file';
		COPY (SELECT generate_series(1, 5000)) TO '$file.binary' (FORMAT binary);
		SQL
	return $node;
}

# Returns how many rows a table has, and how many distinct IDs are in each of these columns.
sub distinct_ids {
	my ($node, $table, @columns) = @_;
	my $counts = join ', ', map { "count(DISTINCT $_)" } @columns ? @columns : 'id';
	return $node->safe_psql('postgres', "SELECT count(*), $counts FROM $table");
}

# Runs statements, and returns how they inserted rows into these tables: "many at once", "one by
# one: 5000" or "both". Each WAL record of an insertion says whether it has one row or many.
sub inserts {
	my ($node, $tables, $sql, $database) = @_;
	my $begin = "SELECT 'begin ' || pg_current_wal_insert_lsn()";
	my ($lsn) = $node->safe_psql($database // 'postgres', "$begin; $sql") =~ /^begin (.*)$/m;
	return inserts_since($lsn, $node, $tables, $database);
}

# As `inserts`, for all that was written since a position in WAL.
sub inserts_since {
	my ($begin, $node, $tables, $database) = @_;
	my $names = join ', ', map { "'$_'::regclass" } split / /, $tables;
	# The commit of this message brings all that is before it to the disk.
	my (undef, $end, @files) = split /\n/, $node->safe_psql($database // 'postgres', <<~"SQL");
		SELECT pg_logical_emit_message(true, 'end', '');
		SELECT pg_current_wal_flush_lsn();
		SELECT concat_ws('/', 1663, pg_database.oid, pg_relation_filenode(t))
		FROM unnest(ARRAY[$names]) AS t, pg_database WHERE datname = current_database();
		SQL
	my %is_ours = map { $_ => 1 } @files;
	my ($printed, $errors) = ('', '');
	IPC::Run::run([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $begin, '-e', $end ],
		'>', \$printed, '2>', \$errors)
	  or die "pg_waldump failed: $errors";
	my %count = (MULTI_INSERT => 0, INSERT => 0);
	my $insertion = qr{^rmgr: Heap.*desc: (MULTI_INSERT|INSERT)\b.*blkref #0: rel (\S+) }m;
	while ($printed =~ /$insertion/g) {
		$count{$1}++ if $is_ours{$2};
	}
	return "one by one: $count{INSERT}" unless $count{MULTI_INSERT};
	return $count{INSERT} ? 'both' : 'many at once';
}

1;
