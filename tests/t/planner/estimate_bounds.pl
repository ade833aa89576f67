# The planner's number of rows for one bound of IDs, for several bounds, for bounds between which
# nothing lies, and for columns without statistics.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Estimates;
use Test::More;

my @id_types = qw(typed sno flake128 guid guid_local uniqueid);
my ($node, $session) = month_of_ids('estimate_bounds', @id_types);

for my $id_type (@id_types) {
	for (
		"ID < timestamptz '2026-10-22'",
		"ID >= timestamptz '2026-11-20'",
		"timestamptz '2026-11-01' > ID",
		"ID > timestamptz '2026-10-21'",
		"ID <= timestamptz '2026-11-10'")
	{
		my ($by_id, $by_time) = (s/ID/$id_type/r, s/ID/t/r);
		is_near(estimated($by_id), counted($by_time),
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

$session->quit;
$node->stop;
done_testing();
