# Indexes of every type after a million entries that came and went, from several sessions, with updates, rollbacks and
# VACUUM in between: amcheck finds nothing wrong with them, and each gives the answers that the table gives without it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('amcheck');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
autovacuum = off
max_wal_size = 4GB
jit = off
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
END
$node->start;
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;

sub sql {
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# New IDs fill a btree at its end, or with `spread` anywhere, and are unique. Those of random times of the last month fall
# between others, and may repeat.
my $when = q{now() - random() * interval '30 days'};
my %column = (
	flake => [ 'bigint', 'flake_next()' ],
	sno => [ 'sno', 'sno_next(7)' ],
	flake128 => [ 'flake128', 'flake128_next()' ],
	guid => [ 'guid', 'guid_next()' ],
	guid_local => [ 'guid_local', 'guid_local_next()' ],
	uniqueid => [ 'uniqueid', 'uniqueid_next()' ],
	uuidv7 => [ 'uuid', 'uuidv7_next()' ],
	spread => [ 'uniqueid', q{uniqueid_next('spread')} ],
	old_flake => [ 'bigint', "flake_at($when)" ],
	old_sno => [ 'sno', "sno_at($when)" ],
	old_flake128 => [ 'flake128', "flake128_at($when)" ],
	old_guid => [ 'guid', "guid_at($when)" ],
	old_guid_local => [ 'guid_local', "guid_local_at($when)" ],
	old_uniqueid => [ 'uniqueid', "uniqueid_at($when)" ],
	old_uuidv7 => [ 'uuid', "uuidv7_at($when)" ],
	old_spread => [ 'uniqueid', "uniqueid_at($when, 0, 'spread')" ],);
my @columns = sort keys %column;

sql('CREATE EXTENSION flakeid; CREATE TABLE ids (nr bigserial PRIMARY KEY, touched integer DEFAULT 0,'
	  . join(', ', map { "$_ $column{$_}[0] DEFAULT $column{$_}[1]" } @columns)
	  . ') WITH (fillfactor = 80)');
for my $column (@columns) {
	my $unique = $column =~ /^old/ ? '' : 'UNIQUE';
	sql(    "CREATE $unique INDEX ${column}_btree ON ids ($column);"
		  . "CREATE INDEX ${column}_hash ON ids USING hash ($column);"
		  . "CREATE INDEX ${column}_brin ON ids USING brin ($column) WITH (pages_per_range = 4)");
}

# the crowd ------------------------------------------------------------------------------------------------------------

# The first rows go, so that whole pages become empty; of those that stay some get new IDs, and some are only touched.
# ARRAY runs its query once. IN could run it for each row of the table, and would then lock and delete all of them.
my $again = join ', ', map { "$_ = DEFAULT" } @columns;
my $work = <<"SQL";
\\set from random(1, 40000)
\\set to :from + 500
BEGIN;
INSERT INTO ids SELECT FROM generate_series(1, 100);
UPDATE ids SET $again WHERE nr = ANY (ARRAY(SELECT nr FROM ids WHERE nr BETWEEN :from AND :to ORDER BY nr LIMIT 30 FOR UPDATE SKIP LOCKED));
UPDATE ids SET touched = touched + 1 WHERE nr = ANY (ARRAY(SELECT nr FROM ids WHERE nr > :to ORDER BY nr LIMIT 30 FOR UPDATE SKIP LOCKED));
DELETE FROM ids WHERE nr = ANY (ARRAY(SELECT nr FROM ids ORDER BY nr LIMIT 80 FOR UPDATE SKIP LOCKED));
END;
SQL
my $regret = <<'SQL';
BEGIN;
INSERT INTO ids SELECT FROM generate_series(1, 100);
DELETE FROM ids WHERE nr = ANY (ARRAY(SELECT nr FROM ids ORDER BY nr LIMIT 50 FOR UPDATE SKIP LOCKED));
ROLLBACK;
SQL
sql('VACUUM (INDEX_CLEANUP on, TRUNCATE off) ids');
my $before = sql(q{SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'ids'});
$node->pgbench(
	'--no-vacuum --client=4 --jobs=2 --transactions=120',
	0,
	[qr{processed: 480/480}],
	[qr{^$}],
	'four sessions insert, update and delete rows, and vacuum in between',
	{
		'work@40' => $work,
		'regret@4' => $regret,
		'vacuum@1' => 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) ids;',
	});
# A session tells what it did when it ends, which is after the client has.
$node->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'})
  or die 'the sessions do not end';
my ($came, $anew_or_touched, $touched, $gone, $vacuums) = split /\|/,
  sql(
	q{SELECT n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del, vacuum_count FROM pg_stat_user_tables WHERE relname = 'ids'}
  );
cmp_ok(@columns * ($came + $anew_or_touched - $touched + $gone),
	'>', 1_000_000, 'a million entries of btree indexes came and went');
cmp_ok($vacuums, '>', $before, '... and VACUUM has cleared away');
my $there = sql('SELECT count(*) FROM ids');
cmp_ok($there, '>', 5000, '... thousands of rows are there');
my @new = grep { !/^old/ } @columns;
is( sql('SELECT ' . join(', ', map { "count(DISTINCT $_)" } @new) . ' FROM ids'),
	join('|', ($there) x @new),
	'... with IDs of which none is there twice');

# amcheck --------------------------------------------------------------------------------------------------------------

if (sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'})) {
	sql('CREATE EXTENSION amcheck');
	my $unique = sql(
		q{SELECT bool_or('checkunique' = ANY (proargnames)) FROM pg_proc WHERE proname = 'bt_index_check'}
	) eq 't' ? ', checkunique => true' : '';
	for my $column (@columns) {
		is(sql("SELECT bt_index_check('${column}_btree', heapallindexed => true$unique)"),
			'', "$column: the index has every row, in its order");
		is( sql("SELECT bt_index_parent_check('${column}_btree', heapallindexed => true, rootdescend => true$unique)"
			),
			'',
			'... from its root down');
	}
	is(sql("SELECT * FROM verify_heapam('ids')"), '', 'the table is sound');
}
else {
	pass("this PostgreSQL $version has no amcheck");
}

# the answers ----------------------------------------------------------------------------------------------------------

# What makes the planner take an index of one kind, or none.
my %only = (
	btree => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;',
	hash =>
	  'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;',
	table =>
	  'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SET enable_nestloop = off;',
	brin => 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;',
);

# Tests that a query gives the same by an index as without it.
sub same {
	my ($query, $which, $scan, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(sql("$only{$which} EXPLAIN (COSTS OFF) $query"), $scan, $test);
	like(
		sql("$only{table} EXPLAIN (COSTS OFF) $query"),
		qr/\A(?!.*Index).*Seq Scan on ids/s,
		'... and without it by the table');
	my $answer = sql("$only{table} $query");
	is(sql("$only{$which} $query"), $answer, '... the same');
	unlike($answer, qr/^0\|/, '... and something');
	return;
}

sql('VACUUM ANALYZE ids');
for my $column (@columns) {
	same(
		"SELECT count(*), md5(string_agg($column\::text, ' ')) FROM (SELECT $column FROM ids ORDER BY $column) AS sorted",
		'btree',
		qr/Index Only Scan using ${column}_btree on ids/,
		"$column: the order of its index");
	same(
		"SELECT count(*), md5(string_agg($column\::text, ' ')) FROM (SELECT $column FROM ids ORDER BY $column DESC) AS sorted",
		'btree',
		qr/Index Only Scan Backward using ${column}_btree on ids/,
		'... and backward');
}

# Some that are there, and as many that are not.
sql('CREATE TABLE sample AS SELECT ' . join(', ', @columns) . ' FROM ids WHERE nr % 20 = 0');
my $made = join ', ', map { $column{$_}[1] } @columns;
sql("INSERT INTO sample SELECT $made FROM generate_series(1, 500); ANALYZE sample");
sql(join ';', map { "DROP INDEX ${_}_btree" } @columns);
for my $column (@columns) {
	same(
		"SELECT count(*), sum(nr), sum(nr * nr) FROM sample JOIN ids USING ($column)",
		'hash',
		qr/Index Scan using ${column}_hash on ids/,
		"$column: what hashing finds");
	# Of the table's middle half.
	my ($low, $high) = split /\|/,
	  sql(
		"SELECT $column, (SELECT $column FROM ids ORDER BY 1 OFFSET $there * 3 / 4 LIMIT 1) FROM ids ORDER BY 1 OFFSET $there / 4 LIMIT 1"
	  );
	same(
		"SELECT count(*), sum(nr), sum(nr * nr) FROM ids WHERE $column BETWEEN '$low' AND '$high'",
		'brin',
		qr/Bitmap Index Scan on ${column}_brin/,
		'... and what BRIN finds of a range');
}

$node->stop;
done_testing();
