# pg_partman 5 partitions a uuid column by the time of version 7: a bound has the milliseconds in
# its first twelve digits, and 0 in all others. A uuidv7 is in the partition of its day, and queries
# by time read few partitions.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my ($release, $folder) = map { scalar `pg_config $_` } qw(--version --sharedir));
my ($server) = $release =~ /(\d+)/;
my $node = PostgreSQL::Test::Cluster->new('partman_uuid');
$node->init;
$node->append_conf('postgresql.conf', <<~'END');
	shared_preload_libraries = 'flakeid'
	timezone = 'UTC'
	autovacuum = off
	enable_seqscan = off
	END
# A folder with the files of pg_partman, which is no more than SQL: PostgreSQL 18 takes it from
# there.
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

# bounds of our own --------------------------------------------------------------------------------

sql(<<~'SQL');
	CREATE FUNCTION bound(t timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE
		RETURN (lpad(to_hex((extract(epoch FROM t) * 1000)::bigint), 12, '0')
			|| repeat('0', 20))::uuid;
	CREATE FUNCTION time_of(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE
		RETURN to_timestamp(
			('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);
	CREATE TABLE moments AS
		SELECT t, date_trunc('milliseconds', t) AS whole, date_trunc('day', t) AS day
		FROM generate_series(0, 3000) AS nr,
			LATERAL (SELECT timestamptz '2026-11-01' + nr * interval '7 min 0.777 s') AS times (t);
	SQL
is(sql(<<~'SQL'), '0', 'the first twelve digits of an ID and of a bound are its milliseconds');
	SELECT count(*) FROM moments WHERE time_of(uuidv7_at(t)) <> whole
		OR time_of(uuidv7_min(t)) <> uuidv7_timestamp(uuidv7_min(t))
	SQL
is(sql(<<~'SQL'), '0', 'such a bound separates the IDs of a time from those before');
	SELECT count(*) FROM moments WHERE NOT
		(bound(whole) <= uuidv7_min(whole) AND bound(whole) > uuidv7_max(whole - interval '1 ms'))
	SQL
is(sql(<<~'SQL'), '0', 'an ID is within the bounds of its day');
	SELECT count(*) FROM moments, LATERAL (SELECT uuidv7_at(t) AS id) AS ids
	WHERE (id >= bound(day) AND id < bound(day + interval '1 day')) IS NOT TRUE
	SQL

sql(<<~'SQL');
	CREATE TABLE orders (id uuid DEFAULT uuidv7_next() PRIMARY KEY, t timestamptz)
		PARTITION BY RANGE (id);
	SELECT format('CREATE TABLE orders_p%s PARTITION OF orders FOR VALUES FROM (%L) TO (%L)',
		to_char(day, 'YYYYMMDD'), bound(day), bound(day + interval '1 day'))
	FROM generate_series(timestamptz '2026-11-01', '2026-11-16', '1 day') AS day \gexec
	INSERT INTO orders SELECT uuidv7_at(t), t FROM moments;
	ANALYZE orders;
	SQL
is(sql(<<~'SQL'), '0', 'each row is in the partition of its day');
	SELECT count(*) FROM orders
	WHERE tableoid::regclass::text <> 'orders_p' || to_char(t, 'YYYYMMDD')
	SQL
is(partitions_of(q{SELECT * FROM orders WHERE uuidv7_within(id, '[2026-11-05,2026-11-06)')}),
	'orders_p20261105', 'a day is one partition');
is( partitions_of(
		q{SELECT * FROM orders WHERE uuidv7_between(id, '2026-11-05 08:00', '2026-11-06 07:00')}),
	'orders_p20261105 orders_p20261106',
	'a time over midnight is two');
is( partitions_of(q{SELECT * FROM orders WHERE uuidv7_before(id, '2026-11-02 12:00')}),
	'orders_p20261101 orders_p20261102',
	'a time before noon of the second day is two');

# pg_partman ---------------------------------------------------------------------------------------

my $control = "$folder/extension/pg_partman.control";
my ($major, $minor) =
  -e $control ? slurp_file($control) =~ /^default_version = '(\d+)\.(\d+)/m : (0, 0);
# Without pg_partman 5.2 there is no more to try.
if ($major < 5 || $major == 5 && $minor < 2) {
	$node->stop;
	done_testing();
	exit;
}
sql('CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');
is(sql(<<~'SQL'), '0|0|0', "pg_partman's encoder and decoder agree with our bounds and times");
	SELECT count(*) FILTER (WHERE partman.uuid7_time_encoder(whole) <> bound(whole)),
		count(*) FILTER (WHERE
			partman.uuid7_time_decoder(uuidv7_at(t)::text) <> uuidv7_timestamp(uuidv7_at(t))),
		count(*) FILTER (WHERE partman.uuid7_time_decoder(uuidv7_min(whole)::text) <> whole)
	FROM moments
	SQL
sql(<<~'SQL');
	CREATE TABLE log (id uuid DEFAULT uuidv7_next() PRIMARY KEY, line text) PARTITION BY RANGE (id);
	SELECT partman.create_parent('public.log', 'id', '1 day', p_premake => 3,
		p_time_encoder => 'partman.uuid7_time_encoder',
		p_time_decoder => 'partman.uuid7_time_decoder');
	INSERT INTO log (line) SELECT 'now' FROM generate_series(1, 1000);
	INSERT INTO log SELECT uuidv7_at(now() + nr * interval '1 hour'), 'later'
		FROM generate_series(1, 60) AS nr;
	INSERT INTO log SELECT uuidv7_at(now() + interval '10 days'), 'too late';
	SQL
is(sql(<<~'SQL'), '0|1', 'all IDs but one beyond the partitions are in the partition of their day');
	SELECT count(*) FILTER (WHERE line <> 'too late' AND tableoid::regclass::text
			<> 'log_p' || to_char(uuidv7_timestamp(id), 'YYYYMMDD')),
		count(*) FILTER (WHERE tableoid::regclass::text = 'log_default')
	FROM log
	SQL
like(sql(<<~'SQL'), qr/Subplans Removed: \d+/, 'partitions are pruned by a time of the execution');
	EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM log
	WHERE uuidv7_within(id,
		tstzrange(current_date::timestamptz, current_date::timestamptz + interval '1 day'))
	SQL
sql("SELECT partman.run_maintenance('public.log')");
is(sql("SELECT partman.check_default() IS NOT NULL"),
	't', 'pg_partman finds the row that is in no partition');
sql(<<~'SQL');
	UPDATE partman.part_config SET retention = '1 day', retention_keep_table = false
	WHERE parent_table = 'public.log'
	SQL
sql("SELECT partman.run_maintenance('public.log')");
cmp_ok(sql("SELECT count(*) FROM log WHERE line = 'now'"),
	'==', 1000, 'its retention keeps the rows of today');
$node->stop;
done_testing();
