# uuidv7s and PostgreSQL's own functions. Its functions of UUIDs read our IDs: their version since
# 17, their time since 18. One column has IDs of PostgreSQL's uuidv7() and of uuidv7_next(). Both
# are in the order of the clock, and conditions on the time find both.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use Server;
use Test::More;

my $node = flakeid_server('core', "timezone = 'UTC'\nautovacuum = off\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }
my $version = $node->pg_version->major;
plan skip_all => 'PostgreSQL 16 and earlier have no functions of UUIDs' if $version < 17;

# New IDs, IDs of random times from 1970 on, the first and the last ones, the bounds of times, and
# UUIDs of all versions and variants.
sql(<<~'SQL');
	CREATE TABLE ids AS
		SELECT 'next' AS kind, uuidv7_next() AS id FROM generate_series(1, 10000)
		UNION ALL SELECT 'batch', uuidv7_next_batch(10000)
		UNION ALL SELECT 'at',
				uuidv7_at('epoch'::timestamptz + random() * interval '8900 years', nr)
			FROM generate_series(0, 9999) AS nr
		UNION ALL SELECT 'encode',
				uuidv7_encode('epoch'::timestamptz + random() * interval '8900 years',
					(random() * 4095)::integer, nr % 4, nr / 4 % 256, nr)
			FROM generate_series(0, 9999) AS nr
		UNION ALL SELECT 'bound', unnest(ARRAY[uuidv7_min(t), uuidv7_max(t)])
			FROM generate_series(timestamptz '2026-01-01', '2026-01-01 00:00:00.01', '37 us') AS t
		UNION ALL SELECT 'end', unnest('{00000000-0000-7000-8000-000000000000,
			ffffffff-ffff-7fff-bfff-ffffffffffff,017F22E2-79B0-7CC3-98C4-DC0C0C07398F}'::uuid[]);
	CREATE TABLE others AS
		SELECT format('017f22e2-79b0-%scc3-%s8c4-dc0c0c07398f', to_hex(version), to_hex(variant))
				::uuid AS id
			FROM generate_series(0, 15) AS version, generate_series(0, 15) AS variant
		UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 1000)
		UNION ALL SELECT unnest('{00000000-0000-0000-0000-000000000000,
			ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[]);
	SQL
my @kinds = qw(at batch bound encode end next);
if ($version >= 18) {
	push @kinds, 'uuidv7()';
	sql("INSERT INTO ids SELECT 'uuidv7()', uuidv7() FROM generate_series(1, 10000)");
}
is(sql(<<~'SQL'), join("\n", map { "$_|t|0" } @kinds), 'both read version 7 of each ID');
	SELECT kind, count(*) > 0,
		count(*) FILTER (WHERE uuid_extract_version(id) IS DISTINCT FROM 7 OR NOT uuidv7_valid(id))
	FROM ids GROUP BY 1 ORDER BY kind COLLATE "C"
	SQL
is(sql(<<~'SQL'), '0|4', 'uuidv7_valid agrees with PostgreSQL about all versions and variants');
	SELECT count(*) FILTER (WHERE
			uuidv7_valid(id) IS DISTINCT FROM coalesce(uuid_extract_version(id) = 7, false)),
		count(*) FILTER (WHERE uuidv7_valid(id))
	FROM others
	SQL
done_testing(), exit if $version < 18;

is(sql(<<~'SQL'), '0|0', 'PostgreSQL and flakeid read the same time of each ID');
	SELECT count(*) FILTER (WHERE time IS DISTINCT FROM uuidv7_timestamp(id)),
		count(*) FILTER (WHERE time IS DISTINCT FROM (uuidv7_decode(id)).created_at)
	FROM ids, uuid_extract_timestamp(id) AS time
	SQL
# Version 1 has another time.
is(sql(<<~'SQL'), '0', 'PostgreSQL and uuidv7_timestamp know the time of the same UUIDs');
	SELECT count(*) FROM others
	WHERE uuid_extract_timestamp(id) IS DISTINCT FROM uuidv7_timestamp(id)
		AND uuid_extract_version(id) IS DISTINCT FROM 1
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
