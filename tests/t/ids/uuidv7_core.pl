# uuidv7 beside PostgreSQL's own functions, which are not ours: uuid_extract_timestamp and uuid_extract_version of 17, and
# uuidv7 of 18, whose IDs are in one column with these. Each kind is in the order of the clock, and so are both together.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('core');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\ntimezone = 'UTC'\nautovacuum = off\n");
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql('CREATE EXTENSION flakeid');
my $version = sql("SELECT current_setting('server_version_num')::integer / 10000");
plan skip_all => 'PostgreSQL 16 and earlier have no functions of UUIDs' if $version < 17;

# the time and the version ----------------------------------------------------------------------------------------------

# New IDs, IDs of random times from 1970 on, the first and the last ones, the bounds of times, and UUIDs of all versions and
# variants. PostgreSQL 17 knows the time of version 1 alone, and PostgreSQL 18 that of version 7, too.
sql(<<'SQL');
CREATE TABLE ids AS
	SELECT 'next' AS kind, uuidv7_next() AS id FROM generate_series(1, 10000)
	UNION ALL SELECT 'batch', uuidv7_next_batch(10000)
	UNION ALL SELECT 'at', uuidv7_at('epoch'::timestamptz + random() * interval '8900 years', nr) FROM generate_series(0, 9999) AS nr
	UNION ALL SELECT 'encode', uuidv7_encode('epoch'::timestamptz + random() * interval '8900 years', (random() * 4095)::integer, nr % 4, nr / 4 % 256, nr)
		FROM generate_series(0, 9999) AS nr
	UNION ALL SELECT 'bound', unnest(ARRAY[uuidv7_min(t), uuidv7_max(t)]) FROM generate_series(timestamptz '2026-01-01', '2026-01-01 00:00:00.01', '37 us') AS t
	UNION ALL SELECT 'end', unnest('{00000000-0000-7000-8000-000000000000,ffffffff-ffff-7fff-bfff-ffffffffffff,017F22E2-79B0-7CC3-98C4-DC0C0C07398F}'::uuid[]);
CREATE TABLE others AS
	SELECT format('017f22e2-79b0-%scc3-%s8c4-dc0c0c07398f', to_hex(version), to_hex(variant))::uuid AS id
	FROM generate_series(0, 15) AS version, generate_series(0, 15) AS variant
	UNION ALL SELECT gen_random_uuid() FROM generate_series(1, 1000)
	UNION ALL SELECT unnest('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[]);
SQL
is( sql('SELECT kind, count(*) > 0, count(*) FILTER (WHERE uuid_extract_version(id) IS DISTINCT FROM 7) FROM ids GROUP BY 1 ORDER BY 1'
	),
	join("\n", map { "$_|t|0" } qw(at batch bound encode end next)),
	'PostgreSQL reads version 7 of each ID');
is( sql("SELECT count(*) FILTER (WHERE uuidv7_valid(id) IS DISTINCT FROM coalesce(uuid_extract_version(id) = 7, false)), count(*) FILTER (WHERE uuidv7_valid(id)) FROM others"
	),
	'0|4',
	'uuidv7_valid agrees with PostgreSQL about all versions and variants');
if ($version >= 18) {
	is( sql('SELECT count(*) FILTER (WHERE uuid_extract_timestamp(id) IS DISTINCT FROM uuidv7_timestamp(id)),'
			  . ' count(*) FILTER (WHERE uuid_extract_timestamp(id) IS DISTINCT FROM (uuidv7_decode(id)).created_at) FROM ids'
		),
		'0|0',
		'PostgreSQL reads the same time of each ID');
	is( sql('SELECT count(*) FILTER (WHERE uuid_extract_timestamp(id) IS DISTINCT FROM uuidv7_timestamp(id)) FROM others WHERE uuid_extract_version(id) IS DISTINCT FROM 1'
		),
		'0',
		'PostgreSQL knows a time of no other UUIDs but those of version 1');
}

if ($version < 18) {
	$node->stop;
	done_testing();
	exit;
}

# both generators --------------------------------------------------------------------------------------------------------

is( sql('SELECT count(*) FILTER (WHERE uuidv7_timestamp(id) IS DISTINCT FROM uuid_extract_timestamp(id)), bool_and(uuidv7_valid(id)) FROM (SELECT uuidv7() AS id FROM generate_series(1, 10000)) AS core'
	),
	'0|t',
	"the time of an ID of PostgreSQL's uuidv7() is read the same");
is( sql("SELECT count(*) FILTER (WHERE fraction <> (uuidv7_decode(core)).fraction) FROM (SELECT uuidv7(interval '1 hour') AS core FROM generate_series(1, 1000)) AS made, LATERAL (SELECT ('x' || substr(core::text, 16, 3))::bit(12)::integer AS fraction) AS text"
	),
	'0',
	'the fraction of PostgreSQL is that of the clock, too');

# In one session both in turn, each between two readings of the clock. By time and fraction an ID is in the microseconds of
# its readings, but for PostgreSQL's 244 ns by which one is after its own last one. So neighbors are in the order of the
# clock, to the unit of the fraction.
sql(<<'SQL');
CREATE TABLE mixed (nr bigint, ours boolean, before timestamptz, id uuid, after timestamptz);
DO $$
DECLARE
	before timestamptz;
	made uuid;
BEGIN
	FOR nr IN 1 .. 200000 LOOP
		before := clock_timestamp();
		IF nr % 2 = 0 THEN
			made := uuidv7_next();
		ELSE
			made := uuidv7();
		END IF;
		INSERT INTO mixed VALUES (nr, nr % 2 = 0, before, made, clock_timestamp());
	END LOOP;
END $$;
CREATE VIEW placed AS
	SELECT *, extract(epoch FROM created_at) * 1000000 + fraction * 1000 / 4096.0 AS made_at,
		extract(epoch FROM before) * 1000000 AS not_before, extract(epoch FROM after) * 1000000 + 1 AS not_after
	FROM mixed, uuidv7_decode(id);
SQL
my $unit = '1000 / 4096.0';
is( sql("SELECT ours, count(*), count(*) FILTER (WHERE made_at < not_before - $unit), count(*) FILTER (WHERE made_at > not_after + $unit) FROM placed GROUP BY 1 ORDER BY 1"
	),
	"f|100000|0|0\nt|100000|0|0",
	'by its millisecond and fraction each ID is from the time between the readings of the clock');
is( sql("SELECT count(*) FILTER (WHERE id <= before_it AND made_at + $unit < at_before) FROM (SELECT *, lag(id) OVER (ORDER BY nr) AS before_it, lag(made_at) OVER (ORDER BY nr) AS at_before FROM placed) AS steps"
	),
	'0',
	'in one column no ID of one generator is below one of the other that was made before it, by more than the unit of the fraction'
);
is( sql('SELECT ours, count(*) FILTER (WHERE id <= before_it) FROM (SELECT ours, id, lag(id) OVER (PARTITION BY ours ORDER BY nr) AS before_it FROM mixed) AS steps GROUP BY 1 ORDER BY 1'
	),
	"f|0\nt|0",
	'the IDs of each generator rise');
note 'out of the order of their making: '
  . sql(
	'SELECT count(*) FILTER (WHERE id <= before_it) FROM (SELECT id, lag(id) OVER (ORDER BY nr) AS before_it FROM mixed) AS steps'
  );

# A column that has both is asked by time as one that has one of them.
sql('CREATE INDEX ON mixed (id); ANALYZE mixed');
is( sql('SELECT (SELECT count(*) FROM mixed WHERE uuidv7_between(id, least.t, greatest.t)) - (SELECT count(*) FROM mixed WHERE uuid_extract_timestamp(id) BETWEEN least.t AND greatest.t),'
		  . ' (SELECT count(DISTINCT ours) FROM mixed WHERE uuidv7_between(id, least.t, greatest.t))'
		  . ' FROM (SELECT before AS t FROM mixed WHERE nr = 50000) AS least, (SELECT before AS t FROM mixed WHERE nr = 150000) AS greatest'
	),
	'0|2',
	'uuidv7_between finds the IDs of both');

# Sessions at once, each with both generators.
sql('CREATE TABLE crowd (nr bigserial, ours boolean, before timestamptz, id uuid, after timestamptz)'
);
my $each =
  q(INSERT INTO crowd (ours, before, id, after) SELECT nr % 2 = 0, clock_timestamp(), CASE WHEN nr % 2 = 0 THEN uuidv7_next() ELSE uuidv7() END, clock_timestamp() FROM generate_series(1, 20000) AS nr);
my @runs = map {
	IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $each ],
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
} 1 .. 4;
is((grep { !$_->finish } @runs), 0, 'four sessions make both kinds at once');
is( sql("SELECT count(DISTINCT id), count(*) FILTER (WHERE made_at < not_before - $unit OR made_at > not_after + $unit) FROM (SELECT id, extract(epoch FROM created_at) * 1000000 + fraction * 1000 / 4096.0 AS made_at, extract(epoch FROM before) * 1000000 AS not_before, extract(epoch FROM after) * 1000000 + 1 AS not_after FROM crowd, uuidv7_decode(id)) AS placed"
	),
	'80000|0',
	'each ID of the four sessions is from its time, and none repeats');
$node->stop;
done_testing();
