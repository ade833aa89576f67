# COPY of tables with IDs of every type and arrays of them, in text, CSV and binary: what comes in
# is what went out. A row without an ID gets one from the default. With FREEZE both are frozen.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = copy_server('copy');
my $dir = $node->basedir;
my $version = $node->pg_version->major;
sub sql { return $node->safe_psql('postgres', @_) }

my @names = map { $_->{name} } @ID_COLUMNS;
my $nulls = join ', ', ('NULL') x @names;
my $lists = join ', ',
  map { "$_->{name}_list $_->{type}\[] DEFAULT ARRAY[$_->{next}, NULL]" } @ID_COLUMNS;
sql(<<~"SQL");
	CREATE TABLE ids (nr integer, $ID_COLUMNS, $lists);
	CREATE TABLE copies (LIKE ids);
	INSERT INTO ids (nr) SELECT generate_series(1, 5000);
	INSERT INTO ids VALUES (0, $nulls);
	SQL

# Counts the rows of the copies, and those that are only in one of the two tables.
my $compare = <<~'SQL';
	SELECT (SELECT count(*) FROM copies),
		(SELECT count(*) FROM (TABLE ids EXCEPT TABLE copies) AS lost),
		(SELECT count(*) FROM (TABLE copies EXCEPT TABLE ids) AS new)
	SQL

# out and in ---------------------------------------------------------------------------------------

my %format = (
	'text' => 'FORMAT text',
	'text with options' => q{FORMAT text, DELIMITER '|', NULL 'nothing'},
	'CSV' => 'FORMAT csv, HEADER match',
	'CSV with options' => q{FORMAT csv, DELIMITER ';', QUOTE '''', NULL '0', FORCE_QUOTE *},
	'binary' => 'FORMAT binary',);
for my $name (sort keys %format) {
	my $out = $format{$name} =~ s/HEADER match/HEADER true/r;
	my $in = $format{$name} =~ s/, FORCE_QUOTE \*//r;
	my ($first, $second) = map { "$dir/ids $name$_" } '', ' again';
	is(sql(<<~"SQL"), '5001|0|0', "$name: the rows that come in are those that went out");
		TRUNCATE copies;
		COPY ids TO '$first' ($out);
		COPY copies FROM '$first' ($in);
		COPY copies TO '$second' ($out);
		$compare
		SQL
	ok(slurp_file($first) eq slurp_file($second),
		"$name: the rows go out again byte by byte the same");
}

# IDs from defaults --------------------------------------------------------------------------------

# IDs that rise from row to row, in the order of the file, above all that there were.
my %largest = map { $_ => sql("SELECT $_ FROM ids ORDER BY $_ DESC NULLS LAST LIMIT 1") } @names;
my $rises = join ' AND ', map { "$_ > lag($_, 1, '$largest{$_}') OVER (ORDER BY place)" } @names;
sql("CREATE TABLE given (place integer GENERATED ALWAYS AS IDENTITY, nr integer, $ID_COLUMNS)");
for my $format ('text', 'csv', 'binary') {
	my $file = $format eq 'binary' ? "$dir/numbers.binary" : "$dir/numbers";
	sql("TRUNCATE given; COPY given (nr) FROM '$file' (FORMAT $format)");
	is( sql("SELECT count(nr), bool_and(rises) FROM (SELECT nr, $rises AS rises FROM given) AS r"),
		'5000|t', "COPY in $format generates IDs that rise in the order of the file");
}
for my $name (@names) {
	my @others = grep { $_ ne $name } @names;
	my $others = join ', ', @others;
	my $same = join ' AND ', map { "given.$_ = ids.$_" } @others;
	sql(<<~"SQL");
		COPY (SELECT nr, $others FROM ids WHERE nr > 0) TO '$dir/without_$name';
		TRUNCATE given;
		COPY given (nr, $others) FROM '$dir/without_$name';
		SQL
	is(sql( <<~"SQL"), '5000|t|t|5000', "rows of a file without $name get it and keep the rest");
		SELECT count(*), bool_and($same), bool_and(given.$name > ids.$name),
			count(DISTINCT given.$name)
		FROM given JOIN ids USING (nr)
		SQL
}

# COPY has the option DEFAULT since version 16.
for my $format ($version >= 16 ? ('text', 'csv') : ()) {
	my $names = join ', ', @names;
	my $marked = join ', ', map { "CASE WHEN nr % 2 = 0 THEN 'new' ELSE $_\::text END" } @names;
	my $kept = join ' AND ', map { "given.$_ = ids.$_" } @names;
	my $is_new = join ' AND ', map { "given.$_ > '$largest{$_}'" } @names;
	sql(<<~"SQL");
		COPY (SELECT nr, $marked FROM ids WHERE nr > 0) TO '$dir/marked.$format' (FORMAT $format);
		TRUNCATE given;
		COPY given (nr, $names) FROM '$dir/marked.$format' (FORMAT $format, DEFAULT 'new');
		SQL
	is(sql(<<~"SQL"), "0|f|t|2500\n1|t|f|2500", "DEFAULT in $format chooses the rows that get IDs");
		SELECT nr % 2, bool_and($kept), bool_and($is_new), count(*)
		FROM given JOIN ids USING (nr) GROUP BY 1 ORDER BY 1
		SQL
}

is(sql(<<~"SQL"), '24|12|35', "COPY's WHERE knows the time in an ID");
	CREATE TABLE late (nr integer, id sno);
	COPY (SELECT nr, sno_at(timestamptz '2026-01-01 00:00+00' + nr * interval '1 hour')
		FROM generate_series(0, 47) AS nr) TO '$dir/hours';
	COPY late FROM '$dir/hours' WHERE id <@ tstzrange('2026-01-01 12:00+00', '2026-01-02 12:00+00');
	SELECT count(*), min(nr), max(nr) FROM late
	SQL

# FREEZE -------------------------------------------------------------------------------------------

# Brings the rows of a file into a new table with an index of each column.
my $indexes = join ' ', map { "CREATE INDEX ON copies ($_);" } @names;

sub bring {
	my ($format, $options) = @_;
	return sql(<<~"SQL");
		BEGIN;
		DROP TABLE copies;
		CREATE TABLE copies (LIKE ids);
		COPY copies FROM '$dir/ids $format' ($options);
		$indexes
		COMMIT;
		SQL
}

# Returns how often an index alone could not tell that a row is visible. The page of a frozen row
# says so from the first moment.
sub fetches {
	my ($column) = @_;
	my $plan = sql(<<~"SQL");
		SET enable_seqscan = off; SET enable_bitmapscan = off;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT $column FROM copies ORDER BY $column;
		SQL
	return $plan =~ /Index Only Scan.*Heap Fetches: (\d+)/s ? $1 : $plan;
}

for my $format ('text', 'CSV', 'binary') {
	bring($format, "$format{$format}, FREEZE");
	is( join(' ', map { fetches($_) } @names),
		join(' ', (0) x @names),
		"$format with FREEZE brings rows that are frozen");
	is(sql($compare), '5001|0|0', "$format with FREEZE brings the same rows");
}
# From 19 on a query records pages that are visible to all, so that it fetches fewer rows.
bring('text', 'FREEZE false');
cmp_ok(fetches($names[0]), '>=', $version >= 19 ? 1 : 5001, 'rows without FREEZE are not frozen');

# A transaction that began before sees rows that are frozen.
my $before = session($node);
for my $is_frozen (1, 0) {
	my ($freeze, $not) = $is_frozen ? ('FREEZE', '') : ('FREEZE false', ' not');
	$before->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ids');
	sql(<<~"SQL");
		DROP TABLE copies;
		BEGIN;
		CREATE TABLE copies (nr integer, $ID_COLUMNS);
		COPY copies (nr) FROM '$dir/numbers' ($freeze);
		COMMIT;
		SQL
	is( distinct_ids($node, 'copies', @names),
		'5000' . '|5000' x @names,
		"with $freeze rows get their IDs from the defaults");
	is( $before->query_safe('SELECT count(*) FROM copies'),
		$is_frozen ? '5000' : '0',
		"with $freeze rows with IDs from defaults are$not frozen");
	$before->query_safe('COMMIT');
}
$before->quit;
like(
	error_of($node, "COPY copies (nr) FROM '$dir/numbers' (FREEZE)"),
	qr/ERROR:  55000: cannot perform COPY FREEZE/,
	'COPY FREEZE refuses a table that is older than the transaction');

$node->stop;
done_testing();
