# pg_partman 5 partitions a uuid column by the time of version 7: a bound has the milliseconds in its first twelve digits, and
# 0 in all others. A uuidv7 of a day is in the partition of that day, and queries by time read few partitions.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

chomp(my ($release, $folder) = map { scalar `pg_config $_` } qw(--version --sharedir));
my ($server) = $release =~ /(\d+)/;
my $node = PostgreSQL::Test::Cluster->new('partman_uuid');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\ntimezone = 'UTC'\nautovacuum = off\nenable_seqscan = off\n"
);
# A folder with the files of pg_partman, which is no more than SQL: PostgreSQL 18 takes it from there.
my $elsewhere = $ENV{FLAKEID_PARTMAN};
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }
if ($elsewhere && $server >= 18) {
	sql(    "ALTER DATABASE postgres SET extension_control_path TO '$elsewhere:"
		  . sql('SHOW extension_control_path')
		  . "'");
	$folder = $elsewhere;
}
sql('CREATE EXTENSION flakeid');

# The partitions that a query reads.
sub partitions_of {
	my ($query) = @_;
	return join ' ',
	  sort { $a cmp $b } map { /on (\w+_p?\d+|\w+_default)\b/ ? $1 : () } split /\n/,
	  sql("EXPLAIN (COSTS off) $query");
}

# its bounds, by hand -------------------------------------------------------------------------------------------------------

sql(<<'SQL');
CREATE FUNCTION bound(t timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE
	RETURN (lpad(to_hex((extract(epoch FROM t) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
CREATE FUNCTION time_of(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE
	RETURN to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);
CREATE TABLE moments AS SELECT timestamptz '2026-11-01' + nr * interval '7 min 0.777 s' AS t FROM generate_series(0, 3000) AS nr;
SQL
is( sql('SELECT count(*) FILTER (WHERE time_of(uuidv7_at(t)) <> date_trunc($$milliseconds$$, t)), count(*) FILTER (WHERE time_of(uuidv7_min(t)) <> uuidv7_timestamp(uuidv7_min(t))) FROM moments'
	),
	'0|0',
	'the first twelve digits of an ID and of a bound are its milliseconds');
is( sql('SELECT count(*) FILTER (WHERE NOT (bound(t) <= uuidv7_min(t) AND bound(t) > uuidv7_max(t - $$1 ms$$::interval))) FROM (SELECT date_trunc($$milliseconds$$, t) AS t FROM moments) AS whole'
	),
	'0',
	'such a bound separates the IDs of a time from those before, as uuidv7_min does');
is( sql('SELECT count(*) FROM moments, LATERAL (SELECT uuidv7_at(t) AS id) AS ids WHERE (id >= bound(t::date::timestamptz)) IS NOT TRUE OR (id < bound(t::date::timestamptz + $$1 day$$::interval)) IS NOT TRUE'
	),
	'0',
	'an ID is within the bounds of its day');

sql(<<'SQL');
CREATE TABLE orders (id uuid DEFAULT uuidv7_next() PRIMARY KEY, t timestamptz) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE orders_p%s PARTITION OF orders FOR VALUES FROM (%L) TO (%L)', to_char(day, 'YYYYMMDD'), bound(day), bound(day + interval '1 day'))
FROM generate_series(timestamptz '2026-11-01', '2026-11-16', '1 day') AS day \gexec
INSERT INTO orders SELECT uuidv7_at(t), t FROM moments;
ANALYZE orders;
SQL
is( sql(q{SELECT count(*) FROM orders WHERE tableoid::regclass::text <> 'orders_p' || to_char(t, 'YYYYMMDD')}
	),
	'0',
	'each row is in the partition of its day');
is(partitions_of(q{SELECT * FROM orders WHERE uuidv7_within(id, '[2026-11-05,2026-11-06)')}),
	'orders_p20261105', 'a day is one partition');
is( partitions_of(
		q{SELECT * FROM orders WHERE uuidv7_between(id, '2026-11-05 08:00', '2026-11-06 07:00')}),
	'orders_p20261105 orders_p20261106',
	'a time over midnight is two');
is( partitions_of(q{SELECT * FROM orders WHERE uuidv7_before(id, '2026-11-02 12:00')}),
	'orders_p20261101 orders_p20261102',
	'a time before noon of the second day is two');

# pg_partman --------------------------------------------------------------------------------------------------------------

my $control = "$folder/extension/pg_partman.control";
my ($major, $minor) =
  -e $control ? slurp_file($control) =~ /^default_version = '(\d+)\.(\d+)/m : (0, 0);
if ($major < 5 || $major == 5 && $minor < 2) {
	pass("there is no pg_partman 5.2 for this PostgreSQL $server");
	$node->stop;
	done_testing();
	exit;
}
sql('CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');
is( sql('SELECT count(*) FILTER (WHERE partman.uuid7_time_encoder(whole) <> bound(whole)), count(*) FILTER (WHERE partman.uuid7_time_decoder(uuidv7_at(t)::text) <> uuidv7_timestamp(uuidv7_at(t))),'
		  . ' count(*) FILTER (WHERE partman.uuid7_time_decoder(uuidv7_min(whole)::text) <> whole) FROM (SELECT t, date_trunc($$milliseconds$$, t) AS whole FROM moments) AS times'
	),
	'0|0|0',
	"pg_partman's encoder makes these bounds, and its decoder reads the time of our IDs and bounds"
);
sql(<<'SQL');
CREATE TABLE log (id uuid DEFAULT uuidv7_next() PRIMARY KEY, line text) PARTITION BY RANGE (id);
SELECT partman.create_parent('public.log', 'id', '1 day', p_premake => 3,
	p_time_encoder => 'partman.uuid7_time_encoder', p_time_decoder => 'partman.uuid7_time_decoder');
INSERT INTO log (line) SELECT 'now' FROM generate_series(1, 1000);
INSERT INTO log SELECT uuidv7_at(now() + nr * interval '1 hour'), 'later' FROM generate_series(1, 60) AS nr;
INSERT INTO log SELECT uuidv7_at(now() + interval '10 days'), 'too late';
SQL
is( sql(q{SELECT count(*) FILTER (WHERE line <> 'too late' AND tableoid::regclass::text <> 'log_p' || to_char(uuidv7_timestamp(id), 'YYYYMMDD')), count(*) FILTER (WHERE tableoid::regclass::text = 'log_default') FROM log}
	),
	'0|1',
	'pg_partman makes the partitions of a day, and all IDs but one beyond them are in theirs');
like(
	sql('EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM log WHERE uuidv7_within(id, tstzrange(current_date::timestamptz, current_date::timestamptz + $$1 day$$::interval))'
	),
	qr/Subplans Removed: \d+/,
	'the partitions of other days are left out by a time that only the execution knows');
sql("SELECT partman.run_maintenance('public.log')");
is(sql("SELECT partman.check_default() IS NOT NULL"),
	't', 'pg_partman finds the row that is in no partition');
sql("UPDATE partman.part_config SET retention = '1 day', retention_keep_table = false WHERE parent_table = 'public.log'"
);
sql("SELECT partman.run_maintenance('public.log')");
cmp_ok(sql("SELECT count(*) FROM log WHERE line = 'now'"),
	'==', 1000, 'its retention keeps the rows of today');
$node->stop;
done_testing();
