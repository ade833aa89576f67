# One column has uuidv7s of PostgreSQL's uuidv7() and of uuidv7_next(). Both are in the order of the
# clock, and conditions on the time find both.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use Server;
use Test::More;

my $node = flakeid_server('mixed', "timezone = 'UTC'\nautovacuum = off\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }
plan skip_all => 'PostgreSQL 17 and earlier have no uuidv7()'
  if $node->pg_version->major < 18;

is(sql(<<~'SQL'), '0|t', "the time of an ID of PostgreSQL's uuidv7() is read the same");
	SELECT count(*) FILTER (WHERE uuidv7_timestamp(id) IS DISTINCT FROM uuid_extract_timestamp(id)),
		bool_and(uuidv7_valid(id))
	FROM (SELECT uuidv7() AS id FROM generate_series(1, 10000)) AS core
	SQL
is(sql(<<~'SQL'), '0', 'the fraction of an ID of PostgreSQL is the bits after the version');
	SELECT count(*) FILTER (WHERE (uuidv7_decode(id)).fraction
		<> ('x' || substr(id::text, 16, 3))::bit(12)::integer)
	FROM (SELECT uuidv7(interval '1 hour') AS id FROM generate_series(1, 1000)) AS core
	SQL

# Sessions generate both in turn, each ID between two readings of the clock. By its time and
# fraction an ID is from the microseconds of its readings, but for PostgreSQL's 244 ns by which an
# ID is after the last one. So neighbors are in the order of the clock, to the unit of the fraction.
sql(<<~'SQL');
	CREATE TABLE mixed
		(session integer, nr bigint, ours boolean, before timestamptz, id uuid, after timestamptz);
	CREATE VIEW placed AS
	SELECT *, extract(epoch FROM created_at) * 1000000 + fraction * unit AS generated_at,
		extract(epoch FROM before) * 1000000 - unit AS not_before,
		extract(epoch FROM after) * 1000000 + 1 + unit AS not_after
	FROM mixed, uuidv7_decode(id), (SELECT 1000 / 4096.0) AS fractions (unit);
	SQL

# Returns how a session inserts rows, half of them with an ID of ours.
sub generate {
	my ($session, $rows) = @_;
	return <<~"SQL";
		FOR nr IN round * $rows + 1 .. round * $rows + $rows LOOP
			before := clock_timestamp();
			IF nr % 2 = 0 THEN
				id := uuidv7_next();
			ELSE
				id := uuidv7();
			END IF;
			INSERT INTO mixed VALUES ($session, nr, nr % 2 = 0, before, id, clock_timestamp());
		END LOOP
		SQL
}
my $declare = 'before timestamptz; id uuid;';
sql("DO \$\$DECLARE round integer := 0; $declare BEGIN " . generate(0, 200_000) . '; END$$');

my $in_time = 'count(*) FILTER (WHERE generated_at NOT BETWEEN not_before AND not_after)';
is( sql("SELECT ours, count(*), $in_time FROM placed GROUP BY 1 ORDER BY 1"),
	"f|100000|0\nt|100000|0",
	'by its millisecond and fraction each ID is from the time between the readings of the clock');
is(sql(<<~'SQL'), '0', 'IDs of both generators are in the order of the clock, but for a fraction');
	SELECT count(*) FILTER (WHERE id <= id_before AND generated_at + unit < time_before)
	FROM (SELECT *, lag(id) OVER (ORDER BY nr) AS id_before,
			lag(generated_at) OVER (ORDER BY nr) AS time_before
		FROM placed) AS steps
	SQL
is(sql(<<~'SQL'), "f|0\nt|0", 'the IDs of each generator rise');
	SELECT ours, count(*) FILTER (WHERE id <= id_before)
	FROM (SELECT ours, id, lag(id) OVER (PARTITION BY ours ORDER BY nr) AS id_before
		FROM mixed) AS steps
	GROUP BY 1 ORDER BY 1
	SQL
sql('CREATE INDEX ON mixed (id); ANALYZE mixed');
is(sql(<<~'SQL'), '0|2', 'uuidv7_between finds the IDs of both generators');
	SELECT (SELECT count(*) FROM mixed WHERE uuidv7_between(id, a.before, b.before))
			- (SELECT count(*) FROM mixed
				WHERE uuid_extract_timestamp(id) BETWEEN a.before AND b.before),
		(SELECT count(DISTINCT ours) FROM mixed WHERE uuidv7_between(id, a.before, b.before))
	FROM mixed AS a, mixed AS b WHERE a.nr = 50000 AND b.nr = 150000
	SQL

sql('TRUNCATE mixed');
my $printed = join '',
  at_once($node, map { { round => generate($_, 20_000), declare => $declare } } 1 .. 4);
is($printed, '', 'four sessions generate IDs by both generators at once');
is(sql("SELECT count(*) >= 80000, count(*) - count(DISTINCT id), $in_time FROM placed"),
	't|0|0', 'each ID of the four sessions is from its time, and none repeats');

$node->stop;
done_testing();
