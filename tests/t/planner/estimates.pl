# Estimates: on a table of a million rows the planner's number of rows for a range of times is within 2 times
# the real one, for ranges of any length, at any place, and in any spelling.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('estimates');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
jit = off
fsync = off
max_wal_size = '4GB'
END
$node->start;

# A month of IDs, one in 2.7 s, of eight bytes of meta; each also as a foreign key would have it, with few values.
$node->safe_psql('postgres', <<'END');
CREATE EXTENSION flakeid;
CREATE VIEW made AS
	SELECT nr, t, flake_at(t) AS flake, flake_at(t)::flake AS typed, sno_at(t, nr % 8) AS sno, flake128_at(t) AS flake128, guid_at(t) AS guid,
		guid_local_at(t) AS guid_local, uniqueid_at(t) AS uniqueid, uuidv7_at(t) AS uuidv7
	FROM (SELECT nr, date_trunc('milliseconds', timestamptz '2026-10-21' + nr * interval '2678.4 ms') AS t
		FROM generate_series(0, 1005000) AS nr) AS times;
CREATE TABLE ids AS SELECT * FROM made WHERE nr < 1000000;
CREATE INDEX ON ids (flake);
CREATE INDEX ON ids (typed);
CREATE INDEX ON ids (sno);
CREATE INDEX ON ids (flake128);
CREATE INDEX ON ids (guid);
CREATE INDEX ON ids (guid_local);
CREATE INDEX ON ids (uniqueid);
CREATE INDEX ON ids (uuidv7);
CREATE INDEX ON ids (t);
VACUUM ANALYZE ids;
END

my $session = session($node);

sub estimated {
	my ($query) = @_;
	my $json = $session->query_safe("EXPLAIN (FORMAT json) $query");
	return JSON::PP->new->decode($json)->[0]{Plan}{'Plan Rows'};
}

# How an ID type is asked: by one range, and by two comparisons where those make one.
my %asked = (
	flake => [ 'flake_within(flake, %1$s)', 'flake_between(flake, %2$s, %3$s)' ],
	typed => [ 'typed <@ %1$s', 'typed BETWEEN %2$s AND %3$s', '%2$s <= typed AND typed < %3$s' ],
	sno => [ 'sno <@ %1$s', 'sno BETWEEN %2$s AND %3$s', '%2$s <= sno AND sno < %3$s' ],
	flake128 => [ 'flake128 <@ %1$s', 'flake128 >= %2$s AND flake128 <= %3$s' ],
	guid => [
		'guid <@ %1$s',
		'guid_within(guid, %1$s)',
		'guid BETWEEN %2$s AND %3$s',
		'%3$s >= guid AND nr >= 0 AND guid >= %2$s'
	],
	guid_local => [
		'guid_local <@ %1$s',
		'guid_local_within(guid_local, %1$s)',
		'guid_local BETWEEN %2$s AND %3$s'
	],
	uniqueid => [ 'uniqueid <@ %1$s', 'uniqueid BETWEEN %2$s AND %3$s' ],
	uuidv7 => [
		'uuidv7_within(uuidv7, %1$s)',
		'uuidv7_between(uuidv7, %2$s, %3$s)',
		'uuidv7_since(uuidv7, %2$s) AND uuidv7_before(uuidv7, %3$s)'
	]);

# How far off, as a factor, with the real rows at least this many.
sub off {
	my ($estimate, $real) = @_;
	return $estimate > $real ? $estimate / ($real || 1) : $real / $estimate;
}

# The worst of these ranges, each given by its ends.
sub within_2_times {
	my ($what, @ranges) = @_;
	my %real;
	for my $id_type (sort keys %asked) {
		for my $form (@{ $asked{$id_type} }) {
			my ($worst, $told) = (0, '');
			for (@ranges) {
				my ($from, $to) = @$_;
				my ($from_sql, $to_sql) = map { "timestamptz '$_'" } $from, $to;
				my $where = sprintf $form, "tstzrange($from_sql, $to_sql, '[]')", $from_sql,
				  $to_sql;
				my $real = (
					$real{"$from/$to"} //= $session->query_safe(
						"SELECT count(*) FROM ids WHERE t BETWEEN $from_sql AND $to_sql"));
				my $estimate = estimated("SELECT * FROM ids WHERE $where");
				my $off = off($estimate, $real);
				($worst, $told) = ($off, "$where: $estimate for $real") if $off > $worst;
			}
			cmp_ok($worst, '<=', 2, sprintf "$what: $form", 'range', 't1', 't2') or diag($told);
		}
	}
}

my $ends = sub {
	my ($from, $length) = @_;
	return [
		split /\|/,
		$session->query_safe(
			"SELECT timestamptz '$from', timestamptz '$from' + interval '$length'")
	];
};
my @somewhere =
  ('2026-10-21 07:00:01', '2026-10-29 12:34:56.789', '2026-11-03 23:59:59', '2026-11-17 03:00:00');
for my $length ('20 s', '5 min', '1 h', '1 day', '9 days') {
	within_2_times("$length of a month", map { $ends->($_, $length) } @somewhere);
}

# What lies beyond the histogram's end is in no statistics; the index knows its own end. The last bin then holds
# more rows than its share, as for PostgreSQL's own types: here half as many again.
$session->query_safe('INSERT INTO ids SELECT * FROM made WHERE nr >= 1000000');
my $last = $session->query_safe('SELECT max(t) FROM ids');
within_2_times(
	'the last hour, written after ANALYZE',
	[
		split /\|/,
		$session->query_safe("SELECT timestamptz '$last' - interval '1 h', timestamptz '$last'")
	]);
for (qw(typed sno flake128 guid uniqueid)) {
	cmp_ok(estimated("SELECT * FROM ids WHERE $_ > timestamptz '2030-01-01'"),
		'<=', 1000, "no rows are expected after all IDs: $_");
}
$session->query_safe('ANALYZE ids');

# One side.
for my $id_type (qw(typed sno flake128 guid guid_local uniqueid)) {
	for my $where (
		"$id_type < timestamptz '2026-10-22'",
		"$id_type >= timestamptz '2026-11-20'",
		"timestamptz '2026-11-01' > $id_type",
		"$id_type > timestamptz '2026-10-21'",
		"$id_type <= timestamptz '2026-11-10'")
	{
		my $real =
		  $session->query_safe('SELECT count(*) FROM ids WHERE ' . $where =~ s/\b$id_type\b/t/r);
		cmp_ok(off(estimated("SELECT * FROM ids WHERE $where"), $real),
			'<=', 1.2, "one side: $where");
	}
}

# A cursor within a range: of several bounds on a side the tightest counts, and the range is still one. It is a
# day, three buckets of the histogram: the width of a single one is that of 300 rows which ANALYZE took by chance.
my ($cursor, $real) = split /\|/, $session->query_safe(<<'END');
SELECT min(sno), count(*) FROM ids WHERE t BETWEEN '2026-11-02 08:00' AND '2026-11-03 08:00'
END
my $range = "sno <@ tstzrange('2026-11-01', '2026-11-03 08:00')";
for (
	"$range AND sno > '$cursor'",
	"sno > '$cursor' AND $range",
	"sno >= '$cursor' AND sno > '$cursor' AND $range",
	"'$cursor' < sno AND $range AND sno < timestamptz '2026-12-01'")
{
	cmp_ok(off(estimated("SELECT * FROM ids WHERE $_"), $real),
		'<=', 1.2, "a cursor within a range: $_");
}
cmp_ok(off(estimated("SELECT * FROM ids WHERE ($range AND sno > '$cursor') OR nr = -1"), $real),
	'<=', 1.2, 'a cursor within a range is estimated in a branch of an OR');
cmp_ok(
	estimated(
		"SELECT * FROM ids WHERE sno >= timestamptz '2026-11-03' AND sno < timestamptz '2026-11-01'"
	),
	'<=', 1,
	'no rows are expected of snos between swapped ends');
cmp_ok(
	estimated(
		"SELECT * FROM ids WHERE guid >= timestamptz '2026-11-03' AND guid < timestamptz '2026-11-01'"
	),
	'<=', 1,
	'no rows are expected of guids between swapped ends');
cmp_ok(
	estimated(
		"SELECT * FROM ids WHERE guid_local >= timestamptz '2026-11-03' AND guid_local < timestamptz '2026-11-01'"
	),
	'<=', 1,
	'no rows are expected of local guids between swapped ends');
cmp_ok(estimated("SELECT * FROM ids WHERE sno < NULL::sno"),
	'<=', 1, 'no rows are expected before NULL');
cmp_ok(estimated("SELECT * FROM ids WHERE sno <@ 'empty'::tstzrange"),
	'<=', 1, 'no rows are expected within an empty range');

# uuidv7 has PostgreSQL's own comparisons, whose estimates are corrected. One side, and an hour in each spelling.
for my $where (
	"uuidv7_before(uuidv7, '2026-10-22')",
	"uuidv7_since(uuidv7, '2026-11-20')",
	"uuidv7_after(uuidv7, '2026-10-21')",
	"NOT uuidv7_after(uuidv7, '2026-11-10')",
	"uuidv7_between(uuidv7, '2026-11-20', 'infinity')",
	"uuidv7_within(uuidv7, '(,2026-10-22)')")
{
	my ($name, $ends) = $where =~ /(\w+)\(uuidv7, (.*)\)/;
	my %by_time = (before => 't < ', since => 't >= ', after => 't > ');
	my $by_time =
		$where =~ /^NOT/    ? "t <= '2026-11-10'"
	  : $where =~ /between/ ? "t >= '2026-11-20'"
	  : $where =~ /within/  ? "t < '2026-10-22'"
	  :                       $by_time{ $name =~ s/uuidv7_//r } . $ends;
	my $real = $session->query_safe("SELECT count(*) FROM ids WHERE $by_time");
	cmp_ok(off(estimated("SELECT * FROM ids WHERE $where"), $real), '<=', 1.2, "one side: $where");
}
my @hours =
  map { my $day = $_; "uuidv7_between(uuidv7, '2026-11-$day 07:00', '2026-11-$day 08:00')" } '05',
  '09', '11';
my ($hour, $one_hour) = ($hours[0], 1344);
for (
	[ $hour, 1 ],
	[ join(' OR ', @hours), 3 ],
	[ "nr >= 0 AND $hour", 1 ],
	[ "$hour AND nr >= 0", 1 ],
	[ "($hour AND nr >= 0) OR nr = -1", 1 ],
	[ "uuidv7_since(uuidv7, '2026-11-05 07:00') AND uuidv7_before(uuidv7, '2026-11-05 08:00')", 1 ],
	[ "$hour AND uuidv7 > '00000000-0000-0000-0000-000000000000'", 1 ],
	[ "$hour AND uuidv7_since(uuidv7, '2026-11-01')", 1 ],
	[ "$hour AND uuidv7_between(uuidv7, '2026-11-05 06:00', '2026-11-05 07:30')", 0.5 ])
{
	my ($where, $times) = @$_;
	cmp_ok(off(estimated("SELECT * FROM ids WHERE $where"), $times * $one_hour),
		'<=', 2, "some hours of a month: $where");
}
# Of two ranges without a common time PostgreSQL expects a range of unknown length, for its own types as well.
cmp_ok(
	off(estimated(
			"SELECT * FROM ids WHERE $hour AND uuidv7_between(uuidv7, '2026-11-07', '2026-11-08')"),
		estimated(
			"SELECT * FROM ids WHERE t BETWEEN '2026-11-05 07:00' AND '2026-11-05 08:00' AND t BETWEEN '2026-11-07' AND '2026-11-08'"
		)),
	'<=', 1.01,
	'two ranges of uuidv7s without a common time are estimated as those of a timestamptz');

# Joins with times: as many rows as by two comparisons of a sno.
$session->query_safe(
	"CREATE TABLE spans AS SELECT a, a + interval '10 min' AS b, tstzrange(a, a + interval '10 min', '[]') AS r FROM generate_series(timestamptz '2026-11-01', '2026-11-02', '1 h') AS a; ANALYZE spans"
);
my $of_sno = estimated('SELECT * FROM spans JOIN ids ON sno >= a AND sno <= b');
for (
	'uuidv7_between(uuidv7, a, b)',
	'uuidv7_within(uuidv7, r)',
	'uuidv7_since(uuidv7, a) AND uuidv7_before(uuidv7, b)',
	'uuidv7_after(uuidv7, a) AND uuidv7_before(uuidv7, b)')
{
	cmp_ok(off(estimated("SELECT * FROM spans JOIN ids ON $_"), $of_sno), '<=', 1.01, "a join: $_");
}
cmp_ok(
	off(estimated('SELECT * FROM spans JOIN ids ON uuidv7_since(uuidv7, a)'),
		estimated('SELECT * FROM spans JOIN ids ON sno >= a')),
	'<=', 1.01,
	'a join by one end');

# Without statistics, with a single value of them, and with NULLs alone.
$session->query_safe(
	'CREATE TABLE few AS SELECT uuidv7, t FROM ids WHERE nr < 1000; CREATE TABLE none AS SELECT NULL::uuid AS uuidv7 FROM generate_series(1, 1000); ANALYZE none'
);
cmp_ok(estimated("SELECT * FROM few WHERE $hour"),
	'<', 100, 'a range without statistics is a small part');
cmp_ok(estimated("SELECT * FROM none WHERE $hour"), '<=', 1, 'no rows are expected of NULLs');
$session->query_safe('ALTER TABLE few ALTER uuidv7 SET STATISTICS 1; ANALYZE few');
cmp_ok(
	off(estimated(
			"SELECT * FROM few WHERE uuidv7_between(uuidv7, '2026-10-21', '2026-10-21 00:20')"),
		448),
	'<=', 2,
	'two values of statistics are enough for evenly spread IDs');

# Ends that are not known yet: as PostgreSQL has it for its own types.
$session->query_safe('SET plan_cache_mode = force_generic_plan');
for (
	[ 'two', 'id >= $1 AND id < $2', 2 ],
	[ 'one', 'id >= $1', 1 ],
	[ 'upper', 'id < $1', 1 ],
	[ 'half', q{id >= timestamptz '2026-11-20' AND id < $1}, 1 ])
{
	my ($name, $where, $parameters) = @$_;
	my %rows;
	for my $column (qw(sno t)) {
		my $types = join ', ', ('timestamptz') x $parameters;
		my $values = join ', ', ("'2026-11-01'") x $parameters;
		$session->query_safe(
			"PREPARE ${name}_$column ($types) AS SELECT * FROM ids WHERE " . $where =~
			  s/\bid\b/$column/gr);
		$rows{$column} = estimated("EXECUTE ${name}_$column ($values)");
	}
	my %uuidv7 = (
		two => 'uuidv7_since(uuidv7, $1) AND uuidv7_before(uuidv7, $2)',
		one => 'uuidv7_since(uuidv7, $1)',
		upper => 'uuidv7_before(uuidv7, $1)',
		half => q{uuidv7_since(uuidv7, '2026-11-20') AND uuidv7_before(uuidv7, $1)});
	my ($types, $values) = map { join ', ', ($_) x $parameters } 'timestamptz', "'2026-11-01'";
	$session->query_safe(
		"PREPARE ${name}_uuidv7 ($types) AS SELECT * FROM ids WHERE $uuidv7{$name}");
	cmp_ok(off(estimated("EXECUTE ${name}_uuidv7 ($values)"), $rows{t}),
		'<=', 1.01,
		"a generic plan for $name end(s) of uuidv7s takes as many rows as for a timestamptz");
	cmp_ok(off($rows{sno}, $rows{t}),
		'<=', 1.01, "a generic plan for $name end(s) takes as many rows as for a timestamptz");
}
$session->query_safe('RESET plan_cache_mode');

# A column that points elsewhere has few values, and NULLs.
$session->query_safe(<<'END');
CREATE TABLE points AS
	SELECT CASE WHEN nr % 4 > 0 THEN sno_at(timestamptz '2026-10-21' + (nr % 40) * interval '1 day') END AS parent,
		CASE WHEN nr % 4 > 0 THEN timestamptz '2026-10-21' + (nr % 40) * interval '1 day' END AS t
	FROM generate_series(1, 100000) AS nr;
ANALYZE points;
END
for (
	"tstzrange('2026-10-25', '2026-10-28', '[]')",
	"tstzrange(NULL, '2026-11-05')",
	"tstzrange('2026-11-20', NULL)")
{
	my $real = $session->query_safe("SELECT count(*) FROM points WHERE t <@ $_");
	cmp_ok(off(estimated("SELECT * FROM points WHERE parent <@ $_"), $real),
		'<=', 1.5, "few values, and NULLs: $_");
}

# Without statistics, and of an expression, it is PostgreSQL's own guess.
$session->query_safe(
	'CREATE TABLE unknown (id sno, t timestamptz); INSERT INTO unknown SELECT sno_next(), now() FROM generate_series(1, 10000)'
);
my %bound = (id => "sno_min('2026-11-01')", t => "timestamptz '2026-11-01'");
for my $form ('col < bound', 'col >= bound AND col < bound', 'coalesce(col, NULL) > bound') {
	my %rows;
	for my $column (keys %bound) {
		my $where = $form =~ s/\bcol\b/$column/gr =~ s/\bbound\b/$bound{$column}/gr;
		$rows{$column} = estimated("SELECT * FROM unknown WHERE $where");
	}
	is($rows{id}, $rows{t}, "as many as of a timestamptz without statistics: $form");
}

# Who may not read the column does not get its statistics either; nor does the estimate fail.
$session->query_safe(<<'END');
CREATE VIEW visible WITH (security_barrier) AS SELECT * FROM ids WHERE nr % 2 = 0;
CREATE ROLE stranger;
GRANT SELECT ON visible TO stranger;
SET ROLE stranger;
END
cmp_ok(estimated("SELECT * FROM visible WHERE sno >= timestamptz '2026-11-20'"),
	'>', 0, 'a stranger behind a security barrier gets a plan');

$session->quit;
$node->stop;
done_testing();
