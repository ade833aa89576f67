# PostgreSQL's own comparisons of uuids know no times, so flakeid corrects their estimates: for one
# bound, for ranges, in joins, with few statistics, and in generic plans.
use strict;
use warnings;
use lib 'tests/perl';

use Estimates;
use Test::More;

my ($node, $session) = month_of_ids('estimate_uuidv7', 'sno', 'uuidv7');

for (
	[ "uuidv7_before(uuidv7, '2026-10-22')", "t < '2026-10-22'" ],
	[ "uuidv7_since(uuidv7, '2026-11-20')", "t >= '2026-11-20'" ],
	[ "uuidv7_after(uuidv7, '2026-10-21')", "t > '2026-10-21'" ],
	[ "NOT uuidv7_after(uuidv7, '2026-11-10')", "t <= '2026-11-10'" ],
	[ "uuidv7_between(uuidv7, '2026-11-20', 'infinity')", "t >= '2026-11-20'" ],
	[ "uuidv7_within(uuidv7, '(,2026-10-22)')", "t < '2026-10-22'" ])
{
	my ($by_id, $by_time) = @$_;
	is_near(estimated($by_id), counted($by_time),
		1.2, "the estimate for one side is near the rows: $by_id");
}

sub between {
	my ($from, $to) = @_;
	return "uuidv7_between(uuidv7, '2026-11-$from', '2026-11-$to')";
}
my $hour = between('05 07:00', '05 08:00');
my $one_hour = 1344;
for (
	[ $hour, 1 ],
	[ join(' OR ', map { between("$_ 07:00", "$_ 08:00") } '05', '09', '11'), 3 ],
	[ "nr >= 0 AND $hour", 1 ],
	[ "$hour AND nr >= 0", 1 ],
	[ "($hour AND nr >= 0) OR nr = -1", 1 ],
	[ "uuidv7_since(uuidv7, '2026-11-05 07:00') AND uuidv7_before(uuidv7, '2026-11-05 08:00')", 1 ],
	[ "$hour AND uuidv7 > '00000000-0000-0000-0000-000000000000'", 1 ],
	[ "$hour AND uuidv7_since(uuidv7, '2026-11-01')", 1 ],
	[ "$hour AND " . between('05 06:00', '05 07:30'), 0.5 ])
{
	my ($where, $hours) = @$_;
	is_near(estimated($where), $hours * $one_hour,
		2, "the estimate for some hours of a month is within twice the rows: $where");
}

# Of two ranges without a common time PostgreSQL expects a range of unknown length, for its own
# types as well.
my $two_ranges = "$hour AND " . between('07', '08');
my $of_times =
  $two_ranges =~ s/uuidv7_between\(uuidv7, ('[^']*'), ('[^']*')\)/t BETWEEN $1 AND $2/gr;
is_near(estimated($two_ranges), estimated($of_times),
	1.01, 'two ranges of uuidv7s without a common time are estimated as those of a timestamptz');

# As many rows as by two comparisons of a sno.
$session->query_safe(<<~'SQL');
	CREATE TABLE spans AS SELECT a, b, tstzrange(a, b, '[]') AS r
		FROM generate_series(timestamptz '2026-11-01', '2026-11-02', '1 h') AS a,
			LATERAL (SELECT a + interval '10 min' AS b) AS ends;
	ANALYZE spans;
	SQL
for (
	[ 'uuidv7_between(uuidv7, a, b)', 'sno >= a AND sno <= b' ],
	[ 'uuidv7_within(uuidv7, r)', 'sno >= a AND sno <= b' ],
	[ 'uuidv7_since(uuidv7, a) AND uuidv7_before(uuidv7, b)', 'sno >= a AND sno <= b' ],
	[ 'uuidv7_after(uuidv7, a) AND uuidv7_before(uuidv7, b)', 'sno >= a AND sno <= b' ],
	[ 'uuidv7_since(uuidv7, a)', 'sno >= a' ])
{
	my ($of_uuidv7, $of_sno) = map { estimated("SELECT * FROM spans JOIN ids ON $_") } @$_;
	is_near($of_uuidv7, $of_sno, 1.01, "a join is estimated as one of snos: $_->[0]");
}

$session->query_safe(<<~'SQL');
	CREATE TABLE few AS SELECT uuidv7, t FROM ids WHERE nr < 1000;
	CREATE TABLE none AS SELECT NULL::uuid AS uuidv7 FROM generate_series(1, 1000);
	ANALYZE none;
	SQL
cmp_ok(estimated("SELECT * FROM few WHERE $hour"),
	'<', 100, 'a range without statistics is a small part');
cmp_ok(estimated("SELECT * FROM none WHERE $hour"), '<=', 1, 'no rows are expected of NULLs');
$session->query_safe('ALTER TABLE few ALTER uuidv7 SET STATISTICS 1; ANALYZE few');
my $some = "uuidv7_between(uuidv7, '2026-10-21', '2026-10-21 00:20')";
is_near(estimated("SELECT * FROM few WHERE $some"),
	448, 2, 'two values of statistics are enough for evenly spread IDs');

# Bounds that are not known yet: as PostgreSQL has it for its own types.
$session->query_safe('SET plan_cache_mode = force_generic_plan');
for (
	[
		'two bounds',
		'id >= $1 AND id < $2',
		'uuidv7_since(uuidv7, $1) AND uuidv7_before(uuidv7, $2)'
	],
	[ 'a lower bound', 'id >= $1', 'uuidv7_since(uuidv7, $1)' ],
	[ 'an upper bound', 'id < $1', 'uuidv7_before(uuidv7, $1)' ],
	[
		'a constant and a bound',
		q{id >= timestamptz '2026-11-20' AND id < $1},
		q{uuidv7_since(uuidv7, '2026-11-20') AND uuidv7_before(uuidv7, $1)}
	])
{
	my ($what, $comparisons, $of_uuidv7) = @$_;
	my @where = ((map { $comparisons =~ s/\bid\b/$_/gr } 'sno', 't'), $of_uuidv7);
	my ($rows_of_sno, $rows_of_t, $rows_of_uuidv7) = map {
		my ($types, $values) = ('timestamptz', "'2026-11-01'");
		($types, $values) = ("$types, $types", "$values, $values") if /\$2/;
		$session->query_safe("PREPARE asked ($types) AS SELECT * FROM ids WHERE $_");
		my $rows = estimated("EXECUTE asked ($values)");
		$session->query_safe('DEALLOCATE asked');
		$rows;
	} @where;
	my $claim = "a generic plan for $what of %s takes as many rows as for a timestamptz";
	is_near($rows_of_uuidv7, $rows_of_t, 1.01, sprintf $claim, 'uuidv7s');
	is_near($rows_of_sno, $rows_of_t, 1.01, sprintf $claim, 'snos');
}

$session->quit;
$node->stop;
done_testing();
