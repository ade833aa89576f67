# pg_partman 4 creates and drops the partitions of a table by its flakes. They are integers to it,
# and every day has the same number of them. Here a clock goes through weeks of days.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

chomp(my $folder = `pg_config --sharedir`);
my ($server) = `pg_config --version` =~ /(\d+)/;
my $control = "$folder/extension/pg_partman.control";
my ($partman) = -e $control ? slurp_file($control) =~ /^default_version = '(\d+)/m : ();
# Debian 12 has it for its own PostgreSQL, and scripts/setup installs it.
die "pg_partman is missing: apt-get install postgresql-15-partman\n"
  if $ENV{CI} && $server == 15 && !$partman;
plan skip_all => "there is no pg_partman 4 for this PostgreSQL $server"
  unless ($partman // 0) == 4;

my $node = PostgreSQL::Test::Cluster->new('partman');
$node->init;
# The time zone has no part in what is a day.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\ntimezone = 'Pacific/Chatham'\n");

# Day 0 is tomorrow, and it is noon on every day.
my $midnight = (int(time() / 86400) + 1) * 86400;
my $today = 0;
my $clock = FakedClock->of_node($node);

sub days_pass {
	my ($days) = @_;
	$today += $days;
	$clock->set($midnight + ($today + 0.5) * 86400);
	return;
}

sub sql { return $node->safe_psql('postgres', @_) }

days_pass(0);
$clock->start;
sql('CREATE EXTENSION flakeid');

# As docs/time.md has it, with shorter spans.
my $recipe = <<'SQL';
CREATE TABLE log (id bigint DEFAULT flake_next() PRIMARY KEY, line text) PARTITION BY RANGE (id);
SELECT partman.create_parent('public.log', 'id', 'native', p_premake => 7,
    p_interval => flake_min('2010-01-02 00:00+00')::text,
    p_start_partition => flake_min(now())::text);
UPDATE partman.part_config
SET retention = flake_min('2010-01-15 00:00+00')::text, retention_keep_table = false
WHERE parent_table = 'public.log';
SQL
sql('CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');
sql($recipe);

# The day of an ID, with a fraction, and the day with which a partition begins: NULL for the
# default.
sql(<<"SQL");
CREATE FUNCTION day(id bigint) RETURNS numeric STABLE LANGUAGE sql
	RETURN (extract(epoch FROM flake_timestamp(id)) - $midnight) / 86400;
CREATE FUNCTION first_day(partition oid) RETURNS numeric STABLE LANGUAGE sql
	RETURN trim_scale(day(substring(partition::regclass::text FROM '_p(\\d+)\$')::bigint));
CREATE FUNCTION partitions(parent regclass) RETURNS text STABLE LANGUAGE sql
	BEGIN ATOMIC
		SELECT string_agg(first_day(inhrelid)::text, ' ' ORDER BY first_day(inhrelid))
		FROM pg_inherits WHERE inhparent = parent;
	END;
SQL
sub partitions { my ($table) = @_; return sql("SELECT partitions('$table')") }

is( partitions('log'),
	'0 1 2 3 4 5 6 7',
	'each partition begins with a day of UTC, the first with today, and seven are created ahead');

my $insert = "INSERT INTO log (line) SELECT 'line ' || nr FROM generate_series(1, 100) AS nr";
my $maintain = 'CALL partman.run_maintenance_proc()';
my $elsewhere =
  'SELECT count(*) FROM log WHERE floor(day(id)) IS DISTINCT FROM first_day(tableoid)';

my @otherwise;
for (0 .. 20) {
	sql($insert);
	sql($maintain);
	# A partition goes when its last ID is older than a fortnight by the newest one.
	my $expected = join ' ', ($today < 15 ? 0 : $today - 14) .. $today + 7;
	my $partitions = partitions('log');
	push @otherwise, "day $today: $partitions" if $partitions ne $expected;
	days_pass(1);
}
is_deeply(\@otherwise, [],
	'maintenance of each day creates a partition, and drops the one older than a fortnight');
is(sql($elsewhere), '0', 'every ID is in the partition of its day, none in the default one');
is(sql('SELECT count(*), min(floor(day(id))), max(floor(day(id))) FROM log'),
	'1500|6|20', 'maintenance drops no younger ID');

# The days whose partitions a query looks into.
sub looks_into {
	my ($condition) = @_;
	my $plan = sql("EXPLAIN (COSTS OFF) SELECT line FROM log WHERE $condition");
	return 'default' if $plan =~ /log_default/;
	return join ' ',
	  map { sql("SELECT first_day('log_p$_'::regclass)") } $plan =~ /Scan.* on log_p(\d+)(?: |$)/mg;
}

my ($from, $to) = map { 'to_timestamp(' . ($midnight + $_ * 86400) . ')' } 10, 12;
is(looks_into("flake_within(id, tstzrange($from, $to))"),
	'10 11', 'flake_within looks into the partitions of its days alone');
is(looks_into("flake_within(id, tstzrange($from, $to, '[]'))"),
	'10 11 12', 'flake_within looks into partitions to the moment');
is(looks_into("flake_within(id, tstzrange(now() - interval '50 h', now() - interval '30 h'))"),
	'19 20', 'flake_within of an expression looks into the partitions of its days alone');
is(looks_into("flake_between(id, $from, $from)"),
	'10', 'flake_between looks into the partition of its day alone');
is(looks_into("id >= flake_min($from) AND id < flake_min($to)"),
	'10 11', 'bounds look into the partitions of their days alone');


# pg_partman counts from the newest ID, not from the clock. So partitions that are created ahead
# must outlast every pause.
days_pass(10);
sql($insert);
is(sql($elsewhere), '100', 'after a pause longer than seven days IDs are in the default partition');
like(
	error_of($node, $maintain),
	qr/default partition "log_default" would be violated/,
	'maintenance has an error for IDs in the default partition');
sql(q{CALL partman.partition_data_proc('public.log', p_wait => 0)});
is(sql($elsewhere), '0', 'partition_data_proc puts the IDs of the default partition into others');
sql($maintain);
is( partitions('log'),
	'17 18 19 20 21 22 23 24 25 26 27 31 32 33 34 35 36 37 38',
	'maintenance continues with a gap');
is(sql('SELECT partman.partition_gap_fill($$public.log$$)'),
	'3', 'partition_gap_fill fills the gap');

# A table that is there already, with an ID for each hour of a month.
sql(<<~'SQL');
	CREATE TABLE old_log (id bigint PRIMARY KEY, line text);
	INSERT INTO old_log SELECT flake_at(now() - i * interval '1 h'), 'line ' || i
		FROM generate_series(1, 31 * 24) AS i;
	SQL
sql($recipe =~ s/\blog\b/new_log/gr);
is( partitions('new_log'),
	join(' ', 31 .. 38),
	'a partitioned table is created beside one of month-old IDs');
sql(<<~'SQL');
	CALL partman.partition_data_proc('public.new_log',
		p_source_table => 'public.old_log', p_wait => 0)
	SQL
is(sql('SELECT count(*) FROM old_log'), '0', 'partition_data_proc empties the old table');
is( partitions('new_log'),
	join(' ', 0 .. 38),
	'partition_data_proc creates the partitions of the old days');
is(sql(<<~'SQL'), '744|744', 'partition_data_proc fills the partitions of the old days');
	SELECT count(*), count(*) FILTER (WHERE floor(day(id)) = first_day(tableoid)) FROM new_log
	SQL
sql("INSERT INTO new_log (line) VALUES ('new')");
sql($maintain);
is( partitions('new_log'),
	join(' ', 17 .. 38),
	'maintenance drops the partitions of old rows that are older than a fortnight');
is( sql('SELECT count(*), min(floor(day(id))) FROM new_log'),
	14 * 24 + 13 . '|17',
	'maintenance drops no other old rows');

# pg_partman's worker.
$node->stop;
my ($user) = getpwuid $<;
$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid, pg_partman_bgw'
pg_partman_bgw.dbname = 'postgres'
pg_partman_bgw.role = '$user'
pg_partman_bgw.interval = 1
END
days_pass(1);
$clock->start;
sql($insert);
# It commits a new partition and the end of an old one one after the other.
my $expected = join ' ', 18 .. 39;
ok( $node->poll_query_until('postgres', "SELECT partitions('log') = '$expected'"),
	'the worker of pg_partman, preloaded beside flakeid, does the maintenance'
) or diag(partitions('log'));

for my $type ('sno', 'flake128', 'guid', 'guid_local', 'uniqueid') {
	sql("CREATE TABLE ${type}s (id $type PRIMARY KEY) PARTITION BY RANGE (id)");
	like(
		error_of($node, "SELECT partman.create_parent('public.${type}s', 'id', 'native', '1000')"),
		qr{data types that are integer or date/timestamp. Supplied column is of type $type$}m,
		"pg_partman takes no $type");
}

$node->stop;
done_testing();
