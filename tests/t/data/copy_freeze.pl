# COPY with FREEZE brings rows with IDs of every type that are frozen. So are rows that get their
# IDs from defaults.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Server;
use Test::More;

my $node = copy_server('copy_freeze');
my $dir = $node->basedir;
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;
sub sql { return $node->safe_psql('postgres', @_) }

my @names = map { $_->{name} } @ID_COLUMNS;
my $nulls = join ', ', ('NULL') x @names;
my %format = (text => 'FORMAT text', CSV => 'FORMAT csv', binary => 'FORMAT binary');
sql(<<~"SQL");
	CREATE TABLE ids (nr integer, $ID_COLUMNS);
	INSERT INTO ids (nr) SELECT generate_series(1, 5000);
	INSERT INTO ids VALUES (0, $nulls);
	SQL
sql("COPY ids TO '$dir/$_' ($format{$_})") for keys %format;

# Returns how often an index alone could not tell that a row is visible. The page of a frozen row
# says so from the first moment.
sub fetches {
	my ($column) = @_;
	my $plan = sql(<<~"SQL");
		SET enable_seqscan = off; SET enable_bitmapscan = off;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT $column FROM frozen ORDER BY $column;
		SQL
	return $plan =~ /Index Only Scan.*Heap Fetches: (\d+)/s ? $1 : $plan;
}

my $indexes = join ' ', map { "CREATE INDEX ON frozen ($_);" } @names;
for my $is_frozen (1, 0) {
	my ($freeze, $not) = $is_frozen ? ('FREEZE', '') : ('FREEZE false', ' not');
	for my $name (sort keys %format) {
		sql(<<~"SQL");
			DROP TABLE IF EXISTS frozen;
			BEGIN;
			CREATE TABLE frozen (LIKE ids);
			COPY frozen FROM '$dir/$name' ($format{$name}, $freeze);
			$indexes
			COMMIT;
			SQL
		# From 19 on a query records pages that are visible to all. So only the first index tells.
		my @fetched = $version >= 19 && !$is_frozen ? $names[0] : @names;
		my @fetches = map { fetches($_) } @fetched;
		@fetches = map { $_ > 0 ? 5001 : 0 } @fetches if $version >= 19;
		is_deeply(
			\@fetches,
			[ ($is_frozen ? 0 : 5001) x @fetched ],
			"$name with $freeze brings rows that are$not frozen");
		is(sql(<<~'SQL'), '5001|0|0', "$name with $freeze brings the same rows");
			SELECT (SELECT count(*) FROM frozen),
				(SELECT count(*) FROM (TABLE ids EXCEPT TABLE frozen) AS lost),
				(SELECT count(*) FROM (TABLE frozen EXCEPT TABLE ids) AS new)
			SQL
	}
}

# A transaction that began before sees rows that are frozen.
my $before = session($node);
for my $is_frozen (1, 0) {
	my ($freeze, $not) = $is_frozen ? ('FREEZE', '') : ('FREEZE false', ' not');
	$before->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ids');
	sql(<<~"SQL");
		DROP TABLE frozen;
		BEGIN;
		CREATE TABLE frozen (nr integer, $ID_COLUMNS);
		COPY frozen (nr) FROM '$dir/numbers' ($freeze);
		COMMIT;
		SQL
	is( distinct_ids($node, 'frozen', @names),
		'5000' . '|5000' x @names,
		"with $freeze rows get their IDs from the defaults");
	is( $before->query_safe('SELECT count(*) FROM frozen'),
		$is_frozen ? '5000' : '0',
		"with $freeze rows with IDs from defaults are$not frozen");
	$before->query_safe('COMMIT');
}
$before->quit;
like(
	error_of($node, "COPY frozen FROM '$dir/binary' (FORMAT binary, FREEZE)"),
	qr/ERROR:  55000: cannot perform COPY FREEZE/,
	'COPY FREEZE refuses a table that is older than the transaction');

$node->stop;
done_testing();
