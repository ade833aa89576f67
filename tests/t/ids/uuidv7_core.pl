# PostgreSQL's own functions read our uuidv7s: their version since 17, their time since 18.
use strict;
use warnings;
use lib 'tests/perl';

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
is( sql(<<~'SQL'), join("\n", map { "$_|t|0" } qw(at batch bound encode end next)),
	SELECT kind, count(*) > 0,
		count(*) FILTER (WHERE uuid_extract_version(id) IS DISTINCT FROM 7)
	FROM ids GROUP BY 1 ORDER BY 1
	SQL
	'PostgreSQL reads version 7 of each ID');
is(sql(<<~'SQL'), '0|4', 'uuidv7_valid agrees with PostgreSQL about all versions and variants');
	SELECT count(*) FILTER (WHERE
			uuidv7_valid(id) IS DISTINCT FROM coalesce(uuid_extract_version(id) = 7, false)),
		count(*) FILTER (WHERE uuidv7_valid(id))
	FROM others
	SQL
if ($version >= 18) {
	is(sql(<<~'SQL'), '0|0', 'PostgreSQL reads the same time of each ID');
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
}

$node->stop;
done_testing();
