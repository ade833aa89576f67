# Indexes of every type after a million entries came and went, by several sessions with updates,
# rollbacks and VACUUM. amcheck finds no fault, and each index answers as the table does without it.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;

my $node = flakeid_server('amcheck', <<~'END');
	autovacuum = off
	max_wal_size = 4GB
	jit = off
	max_parallel_workers_per_gather = 0
	max_parallel_maintenance_workers = 0
	END
sub sql { return $node->safe_psql('postgres', @_) }

# New IDs fill a btree at its end, or with `spread` anywhere, and are unique. Those of random times
# of the last month fall between others, and may repeat.
my $when = q{now() - random() * interval '30 days'};
my %column;
for my $name (qw(flake sno flake128 guid guid_local uniqueid uuidv7)) {
	my $type = { flake => 'bigint', uuidv7 => 'uuid' }->{$name} // $name;
	$column{$name} = [ $type, $name eq 'sno' ? 'sno_next(7)' : "${name}_next()" ];
	$column{"old_$name"} = [ $type, "${name}_at($when)" ];
}
$column{spread} = [ 'uniqueid', q{uniqueid_next('spread')} ];
$column{old_spread} = [ 'uniqueid', "uniqueid_at($when, 0, 'spread')" ];
my @columns = sort keys %column;
my @new = grep { !/^old/ } @columns;

my $definitions = join ', ', map { "$_ $column{$_}[0] DEFAULT $column{$_}[1]" } @columns;
sql(<<~"SQL");
	CREATE TABLE ids (nr bigserial PRIMARY KEY, touched integer DEFAULT 0, $definitions)
		WITH (fillfactor = 80);
	SQL
for my $column (@columns) {
	my $unique = $column =~ /^old/ ? '' : 'UNIQUE';
	sql(<<~"SQL");
		CREATE $unique INDEX ${column}_btree ON ids ($column);
		CREATE INDEX ${column}_hash ON ids USING hash ($column);
		CREATE INDEX ${column}_brin ON ids USING brin ($column) WITH (pages_per_range = 4);
		SQL
}

# the sessions -------------------------------------------------------------------------------------

# The first rows go, so that whole pages become empty. Of those that stay some get new IDs, and some
# are only touched. ARRAY runs its query once. IN could run it for each row of the table, and would
# then lock and delete all of them.
my $again = join ', ', map { "$_ = DEFAULT" } @columns;
my $rows = 'nr = ANY (ARRAY(SELECT nr FROM ids WHERE';
my $locked = 'FOR UPDATE SKIP LOCKED))';
my $work = <<"SQL";
\\set from random(1, 40000)
\\set to :from + 500
BEGIN;
INSERT INTO ids SELECT FROM generate_series(1, 100);
UPDATE ids SET $again WHERE $rows nr BETWEEN :from AND :to ORDER BY nr LIMIT 30 $locked;
UPDATE ids SET touched = touched + 1 WHERE $rows nr > :to ORDER BY nr LIMIT 30 $locked;
DELETE FROM ids WHERE $rows true ORDER BY nr LIMIT 80 $locked;
END;
SQL
my $rollback = <<"SQL";
BEGIN;
INSERT INTO ids SELECT FROM generate_series(1, 100);
DELETE FROM ids WHERE $rows true ORDER BY nr LIMIT 50 $locked;
ROLLBACK;
SQL
my $vacuum = 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) ids';
my $statistics = "FROM pg_stat_user_tables WHERE relname = 'ids'";
sql($vacuum);
my $before = sql("SELECT vacuum_count $statistics");
$node->pgbench(
	'--no-vacuum --client=4 --jobs=2 --transactions=120',
	0,
	[qr{processed: 480/480}],
	[qr{^$}],
	'four sessions insert, update and delete rows, and vacuum in between',
	{ 'work@40' => $work, 'rollback@4' => $rollback, 'vacuum@1' => "$vacuum;" });
# A session reports its statistics when it ends, which is after the client has.
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
  or die 'the sessions do not end';
my ($entries, $vacuums) = split /\|/, sql(<<~"SQL");
	SELECT n_tup_ins + n_tup_upd - n_tup_hot_upd + n_tup_del, vacuum_count $statistics
	SQL
cmp_ok(@columns * $entries, '>', 1_000_000, 'a million entries of btree indexes come and go');
cmp_ok($vacuums, '>', $before, 'VACUUM runs in between');
my $count = sql('SELECT count(*) FROM ids');
cmp_ok($count, '>', 5000, 'thousands of rows are left');
is( sql('SELECT ' . join(', ', map { "count(DISTINCT $_)" } @new) . ' FROM ids'),
	join('|', ($count) x @new),
	'no new ID is there twice');

# amcheck ------------------------------------------------------------------------------------------

SKIP:
{
	skip 'this PostgreSQL has no amcheck', 1
	  unless sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'");
	sql('CREATE EXTENSION amcheck');
	my $unique = sql(<<~'SQL') eq 't' ? ', checkunique => true' : '';
		SELECT bool_or('checkunique' = ANY (proargnames)) FROM pg_proc
		WHERE proname = 'bt_index_check'
		SQL
	for my $column (@columns) {
		my $arguments = "'${column}_btree', heapallindexed => true$unique";
		is(sql("SELECT bt_index_check($arguments)"),
			'', "$column: the index has every row, in its order");
		is(sql("SELECT bt_index_parent_check($arguments, rootdescend => true)"),
			'', "$column: every row is found from the root of the index down");
	}
	is(sql("SELECT * FROM verify_heapam('ids')"), '', 'the table is sound');
}

# answers ------------------------------------------------------------------------------------------

# Settings that make the planner take an index of one kind, or none.
sub off {
	return join ' ', map { "SET enable_$_ = off;" } @_;
}
my %only = (
	btree => off(qw(seqscan bitmapscan sort)),
	hash => off(qw(seqscan bitmapscan hashjoin mergejoin)),
	brin => off(qw(seqscan indexscan indexonlyscan)),
	table => off(qw(indexscan indexonlyscan bitmapscan nestloop)));

# Tests that a query has the same answer by an index as without it.
sub answers_as_the_table {
	my ($query, $which, $scan, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(sql("$only{$which} EXPLAIN (COSTS OFF) $query"), $scan, "$test uses the index");
	like(
		sql("$only{table} EXPLAIN (COSTS OFF) $query"),
		qr/\A(?!.*Index).*Seq Scan on ids/s,
		"$test can read the table alone");
	my $answer = sql("$only{table} $query");
	is(sql("$only{$which} $query"), $answer, "$test has the same answer by the index");
	unlike($answer, qr/^0\|/, "$test finds rows");
	return;
}

sql('VACUUM ANALYZE ids');
for my $column (@columns) {
	for ([ 'ASC', '' ], [ 'DESC', ' Backward' ]) {
		my ($order, $direction) = @$_;
		answers_as_the_table(
			"SELECT count(*), md5(string_agg($column\::text, ' '))"
			  . " FROM (SELECT $column FROM ids ORDER BY $column $order) AS sorted",
			'btree',
			qr/Index Only Scan$direction using ${column}_btree on ids/,
			"ORDER BY $column $order");
	}
	answers_as_the_table(
		"SELECT count(*), sum(nr), sum(nr * nr) FROM ids WHERE $column = ANY (ARRAY("
		  . "SELECT $column FROM ids WHERE nr % 20 = 0))",
		'btree',
		qr/Index Scan using ${column}_btree on ids\n +Index Cond: \($column = ANY/,
		"a list of $column");
}

# Some IDs that are there, and as many that are not.
my $new_ids = join ', ', map { $column{$_}[1] } @columns;
sql('CREATE TABLE sample AS SELECT ' . join(', ', @columns) . ' FROM ids WHERE nr % 20 = 0');
sql("INSERT INTO sample SELECT $new_ids FROM generate_series(1, 500); ANALYZE sample");
sql(join ';', map { "DROP INDEX ${_}_btree" } @columns);
for my $column (@columns) {
	answers_as_the_table(
		"SELECT count(*), sum(nr), sum(nr * nr) FROM sample JOIN ids USING ($column)",
		'hash',
		qr/Index Scan using ${column}_hash on ids/,
		"a join by $column");
	# The middle half of the table.
	my ($low, $high) =
	  map { sql("SELECT $column FROM ids ORDER BY 1 OFFSET $count * $_ / 4 LIMIT 1") } 1, 3;
	answers_as_the_table(
		"SELECT count(*), sum(nr), sum(nr * nr) FROM ids WHERE $column BETWEEN '$low' AND '$high'",
		'brin',
		qr/Bitmap Index Scan on ${column}_brin/,
		"a range of $column");
}

$node->stop;
done_testing();
