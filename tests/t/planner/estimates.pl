# On a table of a million rows, the planner's number of rows for a range of times is within twice
# the real one: for ranges of any length, at any place, and in any spelling. So is that for one
# bound, for several bounds, for bounds between which nothing lies, and for columns without
# statistics.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Estimates;
use Test::More;

# How an ID type is asked: by one range, and by two comparisons where those make one.
my %asked = (
	flake => [ 'flake_within(flake, RANGE)', 'flake_between(flake, T1, T2)' ],
	typed => [ 'typed <@ RANGE', 'typed BETWEEN T1 AND T2', 'T1 <= typed AND typed < T2' ],
	sno => [ 'sno <@ RANGE', 'sno BETWEEN T1 AND T2', 'T1 <= sno AND sno < T2' ],
	flake128 => [ 'flake128 <@ RANGE', 'flake128 >= T1 AND flake128 <= T2' ],
	guid => [
		'guid <@ RANGE',
		'guid_within(guid, RANGE)',
		'guid BETWEEN T1 AND T2',
		'T2 >= guid AND nr >= 0 AND guid >= T1'
	],
	guid_local => [
		'guid_local <@ RANGE',
		'guid_local_within(guid_local, RANGE)',
		'guid_local BETWEEN T1 AND T2'
	],
	uniqueid => [ 'uniqueid <@ RANGE', 'uniqueid BETWEEN T1 AND T2' ],
	uuidv7 => [
		'uuidv7_within(uuidv7, RANGE)',
		'uuidv7_between(uuidv7, T1, T2)',
		'uuidv7_since(uuidv7, T1) AND uuidv7_before(uuidv7, T2)'
	]);
my ($node, $session) = month_of_ids('estimates', sort keys %asked);

# Tests the estimates for spans of times: the first time and the length of each.
sub spans_are_near {
	my ($words, $length, @first_times) = @_;
	my @spans = map {
		my $times =
		  $session->query_safe(
			"SELECT t, t + interval '$length' FROM CAST('$_' AS timestamptz) AS t");
		[ map { "timestamptz '$_'" } split /\|/, $times ]
	} @first_times;
	my @real = map { counted("t BETWEEN $_->[0] AND $_->[1]") } @spans;
	for my $form (map { @{ $asked{$_} } } sort keys %asked) {
		subtest "$words: the estimate for $form is within twice the rows" => sub {
			for my $nr (0 .. $#spans) {
				my ($t1, $t2) = @{ $spans[$nr] };
				my %value = (T1 => $t1, T2 => $t2, RANGE => "tstzrange($t1, $t2, '[]')");
				my $where = $form =~ s/\b(T1|T2|RANGE)\b/$value{$1}/gr;
				is_near(estimated($where), $real[$nr], 2, $where);
			}
		};
	}
	return;
}

my @places =
  ('2026-10-21 07:00:01', '2026-10-29 12:34:56.789', '2026-11-03 23:59:59', '2026-11-17 03:00:00');
spans_are_near("$_ of a month", $_, @places) for '20 s', '5 min', '1 h', '1 day', '9 days';

for my $bound (
	"ID < timestamptz '2026-10-22'",
	"ID >= timestamptz '2026-11-20'",
	"timestamptz '2026-11-01' > ID",
	"ID > timestamptz '2026-10-21'",
	"ID <= timestamptz '2026-11-10'")
{
	my $rows = counted($bound =~ s/ID/t/r);
	for my $id_type (qw(typed sno flake128 guid guid_local uniqueid)) {
		my $by_id = $bound =~ s/ID/$id_type/r;
		is_near(estimated($by_id), $rows,
			1.2, "the estimate for one side is near the rows: $by_id");
	}
}

# Of several bounds on a side the tightest counts, and the range is still one. It is a day, three
# buckets of the histogram: ANALYZE takes 300 rows by chance, which decide the width of a bucket.
my $day = "t BETWEEN '2026-11-02 08:00' AND '2026-11-03 08:00'";
my $cursor = $session->query_safe("SELECT min(sno) FROM ids WHERE $day");
my $range = "sno <@ tstzrange('2026-11-01', '2026-11-03 08:00')";
my $rows = counted($day);
for (
	"$range AND sno > 'CURSOR'",
	"sno > 'CURSOR' AND $range",
	"sno >= 'CURSOR' AND sno > 'CURSOR' AND $range",
	"'CURSOR' < sno AND $range AND sno < timestamptz '2026-12-01'",
	"($range AND sno > 'CURSOR') OR nr = -1")
{
	is_near(estimated(s/CURSOR/$cursor/gr),
		$rows, 1.2, "the estimate for a cursor within a range is near the rows: $_");
}

my $swapped = "ID >= timestamptz '2026-11-03' AND ID < timestamptz '2026-11-01'";
for (
	(map { [ "${_}s between swapped ends", $swapped =~ s/ID/$_/gr ] } qw(sno guid guid_local)),
	[ 'snos before NULL', 'sno < NULL::sno' ],
	[ 'snos within an empty range', "sno <@ 'empty'::tstzrange" ])
{
	my ($what, $where) = @$_;
	cmp_ok(estimated($where), '<=', 1, "no rows are expected of $what");
}

# What planning takes does not grow with the square of the number of bounds.
my $many = join ' AND ',
  map { "sno > sno_min(timestamptz '2026-11-01' + interval '$_ s')" } 1 .. 2000;
my ($before, $after) = split /\n/, $node->safe_psql('postgres', <<~"SQL");
	CREATE TEMPORARY VIEW peak AS SELECT kilobytes
		FROM substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)') AS kilobytes;
	SELECT kilobytes FROM peak;
	DO \$\$ BEGIN PERFORM FROM (SELECT FROM ids WHERE $many) AS many; END \$\$;
	SELECT kilobytes FROM peak;
	SQL
cmp_ok($after - $before,
	'<', 300_000, 'two thousand bounds of one column are planned in less than 300 MB');

# A foreign key has few values, and NULLs.
$session->query_safe(<<~'SQL');
	CREATE TABLE points AS SELECT sno_at(t) AS parent, t FROM generate_series(1, 100000) AS nr,
		LATERAL (SELECT CASE WHEN nr % 4 > 0
			THEN timestamptz '2026-10-21' + nr % 40 * interval '1 day' END AS t) AS times;
	ANALYZE points;
	SQL
for (
	"tstzrange('2026-10-25', '2026-10-28', '[]')",
	"tstzrange(NULL, '2026-11-05')",
	"tstzrange('2026-11-20', NULL)")
{
	my $real = $session->query_safe("SELECT count(*) FROM points WHERE t <@ $_");
	is_near(estimated("SELECT * FROM points WHERE parent <@ $_"),
		$real, 1.5, "the estimate for few values and NULLs is near the rows: $_");
}

# Without statistics, and of an expression, it is PostgreSQL's own guess.
$session->query_safe(<<~'SQL');
	CREATE TABLE unknown (id sno, t timestamptz);
	INSERT INTO unknown SELECT sno_next(), now() FROM generate_series(1, 10000);
	SQL
for ('col < bound', 'col >= bound AND col < bound', 'coalesce(col, NULL) > bound') {
	my ($by_id, $by_time) = (s/col/id/gr, s/col/t/gr);
	$by_id   =~ s/bound/sno_min('2026-11-01')/g;
	$by_time =~ s/bound/timestamptz '2026-11-01'/g;
	is( estimated("SELECT * FROM unknown WHERE $by_id"),
		estimated("SELECT * FROM unknown WHERE $by_time"),
		"without statistics as many rows are expected as of a timestamptz: $_");
}

# A role that may not read the column does not get its statistics, but it gets a plan.
$session->query_safe(<<~'SQL');
	CREATE VIEW visible WITH (security_barrier) AS SELECT * FROM ids WHERE nr % 2 = 0;
	CREATE ROLE stranger;
	GRANT SELECT ON visible TO stranger;
	SET ROLE stranger;
	SQL
cmp_ok(estimated("SELECT * FROM visible WHERE sno >= timestamptz '2026-11-20'"),
	'>', 0, 'a stranger behind a security barrier gets a plan');
$session->query_safe('RESET ROLE');

# What lies beyond the histogram's end is in no statistics, but the index knows its own end. The
# last bin then holds more rows than its share, as for PostgreSQL's own types: here half as many
# again.
$session->query_safe('INSERT INTO ids SELECT * FROM made WHERE nr >= 1000000');
my $hour_ago = $session->query_safe("SELECT max(t) - interval '1 h' FROM ids");
spans_are_near('the last hour, written after ANALYZE', '1 h', $hour_ago);
for (qw(typed sno flake128 guid uniqueid)) {
	my $rows = estimated("$_ > timestamptz '2030-01-01'");
	cmp_ok($rows, '<=', 1000, "no rows are expected after all IDs: $_");
}

$session->quit;
$node->stop;
done_testing();
