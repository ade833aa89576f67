# COPY of tables that have IDs of every type: in text, CSV and binary, by files and by pipes, with
# FREEZE and with defaults. What comes in is what went out; a row that is wrong keeps all others
# out.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('copy');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nautovacuum = off\n");
$node->start;
my $dir = $node->basedir;
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;

# In the order of the table's columns; so many bytes has each in binary.
my @types = (
	{ name => 'flake', type => 'bigint', next => 'flake_next()', bytes => 8 },
	{ name => 'typed', type => 'flake', next => 'flake_next()', bytes => 8 },
	{ name => 'sno', type => 'sno', next => 'sno_next(7)', bytes => 10 },
	{ name => 'flake128', type => 'flake128', next => 'flake128_next()', bytes => 16 },
	{ name => 'guid', type => 'guid', next => 'guid_next()', bytes => 12 },
	{ name => 'guid_local', type => 'guid_local', next => 'guid_local_next()', bytes => 8 },
	{ name => 'uniqueid', type => 'uniqueid', next => 'uniqueid_next()', bytes => 8 },
	{ name => 'uuidv7', type => 'uuid', next => 'uuidv7_next()', bytes => 16 },);
my @names = map { $_->{name} } @types;
my $names = join ', ', @names;
my $columns = join ', ', map { "$_->{name} $_->{type}" } @types;
my $defaults = join ', ', map { "$_->{name} $_->{type} DEFAULT $_->{next}" } @types;

$node->safe_psql('postgres', 'CREATE DATABASE other');
for my $database ('postgres', 'other') {
	$node->safe_psql($database,
		"CREATE EXTENSION flakeid; CREATE TABLE ids (nr integer, $defaults); CREATE TABLE copies (LIKE ids)"
	);
}
my $nulls = join ', ', ('NULL') x @types;
$node->safe_psql('postgres',
	"INSERT INTO ids (nr) SELECT generate_series(1, 5000); INSERT INTO ids VALUES (0, $nulls)");

# How many rows a table of the database has, how many of those of `ids` it lacks, and how many it
# has of its own.
sub compared {
	my ($table) = @_;
	return $node->safe_psql('postgres',
		"SELECT (SELECT count(*) FROM $table), (SELECT count(*) FROM (TABLE ids EXCEPT TABLE $table) AS lost),"
		  . " (SELECT count(*) FROM (TABLE $table EXCEPT TABLE ids) AS new)");
}

# out and in ---------------------------------------------------------------------------------------------------

my %format = (
	'text' => 'FORMAT text',
	'text of our own' => q{FORMAT text, DELIMITER '|', NULL 'nothing'},
	'CSV' => 'FORMAT csv, HEADER match',
	'CSV of our own' => q{FORMAT csv, DELIMITER ';', QUOTE '''', NULL '0', FORCE_QUOTE *},
	'binary' => 'FORMAT binary',);
for my $what (sort keys %format) {
	my $out = $format{$what} =~ s/HEADER match/HEADER true/r;
	my $in = $format{$what} =~ s/, FORCE_QUOTE \*//r;
	my ($first, $second) = map { "$dir/ids $what$_" } '', ' again';
	$node->safe_psql('postgres', <<"SQL");
TRUNCATE copies;
COPY ids TO '$first' ($out);
COPY copies FROM '$first' ($in);
COPY copies TO '$second' ($out);
SQL
	is(compared('copies'), '5001|0|0', "$what: what comes in is what went out");
	ok(slurp_file($first) eq slurp_file($second), '... and goes out again, byte by byte');
}

# From one database to another, without a file.
for my $format ('text', 'csv', 'binary') {
	my $read = IPC::Run::run(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
			'-c', "COPY (TABLE ids ORDER BY nr) TO STDOUT (FORMAT $format)"
		],
		'|',
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('other'),
			'-c', "TRUNCATE ids", '-c', "COPY ids FROM STDIN (FORMAT $format)"
		]);
	ok($read, "a pipe in $format brings them into another database");
	is( $node->safe_psql(
			'other', 'SELECT count(*), md5(string_agg(ids::text, chr(10) ORDER BY nr)) FROM ids'),
		$node->safe_psql(
			'postgres', 'SELECT count(*), md5(string_agg(ids::text, chr(10) ORDER BY nr)) FROM ids'
		),
		'... the same ones');
}

# frozen -------------------------------------------------------------------------------------------------------

# How often an index alone could not tell that a row is visible: a frozen one's page says so from
# the first moment.
sub fetches {
	my ($table, $column) = @_;
	my $plan = $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT $column FROM $table ORDER BY $column;
SQL
	return $plan =~ /Index Only Scan.*Heap Fetches: (\d+)/s ? $1 : $plan;
}

my $indexes = join ' ', map { "CREATE INDEX ON %s ($_);" } @names;
for my $freeze ('FREEZE', 'FREEZE false') {
	for my $format ('text', 'CSV', 'binary') {
		$node->safe_psql('postgres', <<"SQL" . $indexes =~ s/%s/frozen/gr);
DROP TABLE IF EXISTS frozen;
BEGIN;
CREATE TABLE frozen (nr integer, $columns);
COPY frozen FROM '$dir/ids $format' ($format{$format}, $freeze);
COMMIT;
SQL
		# From 19 on a query records pages that it finds to be visible to all. So only the first
		# index tells.
		my @fetched = $version >= 19 && $freeze ne 'FREEZE' ? $names[0] : @names;
		my @fetches = map { fetches('frozen', $_) } @fetched;
		@fetches = map { $_ > 0 ? 5001 : 0 } @fetches if $version >= 19;
		is_deeply(
			\@fetches,
			[ ($freeze eq 'FREEZE' ? 0 : 5001) x @fetched ],
			"$format with $freeze brings rows that are "
			  . (
				$freeze eq 'FREEZE'
				? 'frozen: each index finds them without the table'
				: 'not frozen'));
		is(compared('frozen'), '5001|0|0', "$format with $freeze brings the same rows");
	}
}
# Rows that get their IDs from defaults are frozen, too: a transaction that began before sees them.
$node->safe_psql('postgres',
	"COPY ids (nr) TO '$dir/numbers'; COPY ids (nr) TO '$dir/numbers.binary' (FORMAT binary)");
my $before = session($node);
$before->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ids');
for my $freeze ('FREEZE', 'FREEZE false') {
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE frozen;
BEGIN;
CREATE TABLE frozen (nr integer, $defaults);
COPY frozen (nr) FROM '$dir/numbers' ($freeze);
COMMIT;
SQL
	is( $node->safe_psql(
			'postgres',
			'SELECT ' . join(', ', map { "count(DISTINCT $_)" } @names) . ' FROM frozen'),
		join('|', (5001) x @names),
		"with $freeze rows get their IDs from the defaults, too");
	is( $before->query_safe('SELECT count(*) FROM frozen'),
		$freeze eq 'FREEZE' ? '5001'               : '0',
		$freeze eq 'FREEZE' ? '... and are frozen' : '... and are not');
	$before->query_safe('COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ids');
}
$before->query_safe('COMMIT');
$before->quit;
like(
	error_of($node, "COPY frozen FROM '$dir/ids binary' (FORMAT binary, FREEZE)"),
	qr/ERROR:  55000: cannot perform COPY FREEZE/,
	'a table that is older than the transaction takes none that are frozen');

# defaults -----------------------------------------------------------------------------------------------------

# IDs that rise from row to row, in the order of the file, above all that there were.
my $rises = join ' AND ', map {
	"coalesce($_ > lag($_) OVER (ORDER BY place), true) AND $_ > (SELECT $_ FROM ids ORDER BY $_ DESC NULLS LAST LIMIT 1)"
} @names;
for my $format ('text', 'csv', 'binary') {
	my $file = $format eq 'binary' ? "$dir/numbers.binary" : "$dir/numbers";
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS given;
CREATE TABLE given (place integer GENERATED ALWAYS AS IDENTITY, nr integer, $defaults);
COPY given (nr) FROM '$file' (FORMAT $format);
SQL
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*), bool_and(rises), count(*) FILTER (WHERE nr IS NOT NULL) FROM (SELECT nr, $rises AS rises FROM given) AS rows"
		),
		'5001|t|5001',
		"COPY in $format without the IDs gives them, and they rise in the order of the file");
}
for my $name (@names) {
	my @others = grep { $_ ne $name } @names;
	my $others = join ', ', @others;
	my $same = join ' AND ', map { "given.$_ = ids.$_" } @others;
	$node->safe_psql('postgres', <<"SQL");
COPY (SELECT nr, $others FROM ids WHERE nr > 0) TO '$dir/without_$name';
TRUNCATE given;
COPY given (nr, $others) FROM '$dir/without_$name';
SQL
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*), bool_and($same), bool_and(given.$name > ids.$name), count(DISTINCT given.$name) FROM given JOIN ids USING (nr)"
		),
		'5000|t|t|5000',
		"where the file has no $name, the rows get new ones and keep the others");
}

if ($version < 16) {
	pass("COPY of PostgreSQL $version has no DEFAULT");
}
else {
	for my $format ('text', 'csv') {
		my $word = join ', ', map { "CASE WHEN nr % 2 = 0 THEN 'new' ELSE $_\::text END" } @names;
		$node->safe_psql('postgres', <<"SQL");
COPY (SELECT nr, $word FROM ids WHERE nr > 0 ORDER BY nr) TO '$dir/marked.$format' (FORMAT $format);
TRUNCATE given;
COPY given (nr, $names) FROM '$dir/marked.$format' (FORMAT $format, DEFAULT 'new');
SQL
		my $kept = join ' AND ', map { "given.$_ = ids.$_" } @names;
		my $new = join ' AND ',
		  map { "given.$_ > (SELECT $_ FROM ids ORDER BY $_ DESC NULLS LAST LIMIT 1)" } @names;
		is( $node->safe_psql(
				'postgres',
				"SELECT nr % 2, bool_and($kept), bool_and($new), count(*) FROM given JOIN ids USING (nr) GROUP BY 1 ORDER BY 1"
			),
			"0|f|t|2500\n1|t|f|2500",
			"in $format a row with the marker of DEFAULT gets IDs, and the others keep theirs");
	}
}

# A row is kept or left by the time in its ID.
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE late (nr integer, id sno);
COPY (SELECT nr, sno_encode(timestamptz '2026-01-01 00:00+00' + nr * interval '1 hour', 0, 0, 0, 0) FROM generate_series(0, 47) AS nr) TO '$dir/hours';
COPY late FROM '$dir/hours' WHERE id <@ tstzrange('2026-01-01 12:00+00', '2026-01-02 12:00+00');
SQL
is($node->safe_psql('postgres', 'SELECT count(*), min(nr), max(nr) FROM late'),
	'24|12|35', "COPY's WHERE knows the time within an ID");

# what is wrong --------------------------------------------------------------------------------------------------

my @good = map { "\1" x $_->{bytes} } @types;
$node->safe_psql('postgres', 'TRUNCATE copies');
for my $i (0 .. $#types) {
	my ($name, $bytes) = @{ $types[$i] }{ 'name', 'bytes' };
	for my $length (0, $bytes - 1, $bytes + 1) {
		my @wrong = @good;
		$wrong[$i] = "\1" x $length;
		write_rows("$dir/wrong", (\@good) x 1000, \@wrong);
		# A bigint and a uuid that are too short are errors of the protocol.
		my $state = $name =~ /^(?:flake|typed|uuidv7)$/ && $length < $bytes ? '08P01' : '22P03';
		like(
			error_of($node, "COPY copies ($names) FROM '$dir/wrong' (FORMAT binary)"),
			qr/ERROR:  $state: .*^CONTEXT:  COPY copies, line 1001, column $name$/ms,
			"$length bytes are no $name, and the error names the line and the column");
	}
}
write_rows("$dir/short", \@good, [ @good[ 1 .. $#good ] ]);
like(
	error_of($node, "COPY copies ($names) FROM '$dir/short' (FORMAT binary)"),
	qr/ERROR:  22P04: row field count is 7, expected 8/,
	'so is a row of fewer fields');
is($node->safe_psql('postgres', 'SELECT count(*) FROM copies'),
	'0', '... and of all these files nothing came in');
write_rows("$dir/right", (\@good) x 1000);
$node->safe_psql('postgres', "COPY copies ($names) FROM '$dir/right' (FORMAT binary)");
is($node->safe_psql('postgres', 'SELECT count(*) FROM copies'),
	'1000', '... while the rows before the wrong one do by themselves');

for (grep { $_->{name} ne 'flake' } @types) {
	my $name = $_->{name};
	# A flake is read as a bigint is.
	my $type = $_->{type} eq 'flake' ? 'bigint' : $_->{type};
	$node->safe_psql('postgres',
		"TRUNCATE copies; COPY (SELECT CASE nr WHEN 4000 THEN '?' ELSE $name\::text END FROM ids ORDER BY nr) TO '$dir/spoilt'"
	);
	like(
		error_of($node, "COPY copies ($name) FROM '$dir/spoilt'"),
		qr/ERROR:  22P02: invalid input syntax for type $type: "\?".*^CONTEXT:  COPY copies, line 4001, column $name: "\?"$/ms,
		"a text that is no $name is an error that names the line and the column");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM copies'), '0', '... and nothing came in');
	if ($version >= 17) {
		$node->safe_psql('postgres', "COPY copies ($name) FROM '$dir/spoilt' (ON_ERROR ignore)");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM copies'),
			'5000', '... but with ON_ERROR all others');
	}
}
pass("COPY of PostgreSQL $version has no ON_ERROR") if $version < 17;

$node->stop;
done_testing();
