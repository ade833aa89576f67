# Where the planner replaces a predicate, the value stays the one of the call: with NULLs, with subselects that find other
# rows each time, and in the conditions of partial indexes, which PostgreSQL plans without the state of a query.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('predicate_seams');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\ntimezone = 'UTC'\njit = off\n");
$node->start;
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }

sql(<<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE days AS SELECT timestamptz '2026-01-01' + nr * interval '1 day' AS t FROM generate_series(1, 200) AS nr;
CREATE TABLE snos AS SELECT sno_at(t) AS id, t FROM days;
CREATE TABLE guids AS SELECT id, guid_timestamp(id) AS t FROM days, guid_at(t) AS id;
ANALYZE;
SQL

# A subselect that finds another row each time is evaluated once for a call. If it were evaluated twice, the two bounds of "="
# would hardly ever be those of one day.
for my $table (qw(snos guids)) {
	for my $subselect (
		'SELECT t FROM days TABLESAMPLE bernoulli (50) LIMIT 1',
		'SELECT t FROM days TABLESAMPLE bernoulli (50) ORDER BY t LIMIT 1',
		'SELECT t FROM days FOR UPDATE SKIP LOCKED LIMIT 1',
		'SELECT t FROM days OFFSET 7 LIMIT 1')
	{
		my @plan = grep { /^\s*InitPlan/ } split /\n/,
		  sql("EXPLAIN SELECT count(*) FROM $table WHERE id = ($subselect)");
		is(scalar @plan, 1, "$table: (\U$subselect\E) is evaluated once");
	}
	my @plan = grep { /^\s*InitPlan/ } split /\n/,
	  sql("EXPLAIN SELECT count(*) FROM $table WHERE id = (SELECT max(t) FROM days)");
	cmp_ok(scalar @plan, '>', 1,
		"$table: a subselect with the same value each time is a bound of the index");
}

# Each argument that is copied could double the size of the condition. Twelve levels would make some thousand copies.
for my $table (qw(snos guids)) {
	my $time = "timestamptz '2026-01-05'";
	$time = "CASE WHEN id = ($time) THEN t ELSE t END" for 1 .. 12;
	my $plan = sql("EXPLAIN SELECT count(*) FROM $table WHERE id = ($time)");
	cmp_ok(length $plan, '<', 100_000,
		"$table: a predicate within a predicate within a predicate does not grow with each level");
	is(sql("SELECT count(*) FROM $table WHERE id = ($time)"),
		'200', "$table: such a predicate has the right rows");
}

# NULL as one of the arguments, when only the execution knows it.
for my $case (
	[
		'flake_before of a negative number',
		"flake_before(-5, nullif(current_setting('my.time'), '')::timestamptz)"
	],
	[
		'flake_before by an epoch',
		"flake_before(-5, '2026-01-01', nullif(current_setting('my.time'), '')::timestamptz)"
	],
	[
		'uuidv7_before of another UUID',
		"uuidv7_before(gen_random_uuid(), nullif(current_setting('my.time'), '')::timestamptz)"
	],
	[
		'uuidv7_since of another UUID',
		"uuidv7_since('00000000-0000-0000-0000-000000000000', nullif(current_setting('my.time'), '')::timestamptz)"
	],
	[
		'uuidv7_within of another UUID',
		"uuidv7_within('ffffffff-ffff-ffff-ffff-ffffffffffff', nullif(current_setting('my.time'), '')::tstzrange)"
	],
	[
		'a spread uniqueid',
		"uniqueid_next('spread') < nullif(current_setting('my.time'), '')::timestamptz"
	],
	[
		'guid_within by its drift',
		"guid_within(guid_at('2020-01-01'), tstzrange('2025-01-01', '2026-01-01'), nullif(current_setting('my.time'), '')::interval)"
	],
	[
		'guid_local_within by its drift',
		"guid_local_within(guid_local_at('2020-01-01'), tstzrange('2025-01-01', '2026-01-01'), nullif(current_setting('my.time'), '')::interval)"
	])
{
	my ($what, $predicate) = @$case;
	is( sql("SET my.time = ''; SELECT ($predicate) IS NULL, (NOT $predicate) IS NULL FROM days LIMIT 1"
		),
		't|t',
		"$what is NULL if an argument is");
}
sql('CREATE TABLE parts (kind integer, id guid) PARTITION BY LIST (kind); CREATE TABLE parts_1 PARTITION OF parts DEFAULT; INSERT INTO parts VALUES (1, NULL)'
);
is(sql("SELECT count(*) FROM parts WHERE NOT id <@ 'empty'::tstzrange"),
	'0', 'a guid that is NULL is not outside of an empty range, in a partition');

# A partial index: the condition of a query implies that of the index, and ON CONFLICT finds it, before and after ANALYZE.
my %partial = (
	flake_before => [
		'bigint',
		"flake_before(id, timestamptz '2026-01-14', timestamptz '2020-01-01')",
		q{flake_at('2026-01-02', nr, '2020-01-01')}
	],
	flake_since => [
		'bigint',
		"flake_since(id, timestamptz '2026-01-01', timestamptz '2020-01-01')",
		q{flake_at('2026-01-02', nr, '2020-01-01')}
	],
	sno => [ 'sno', "id >= timestamptz '2026-01-01'", q{sno_at('2026-01-02', 0, nr)} ],
	sno_range =>
	  [ 'sno', "id <@ tstzrange('2026-01-01', '2026-01-14')", q{sno_at('2026-01-02', 0, nr)} ],
	guid => [ 'guid', "id >= timestamptz '2026-01-01'", q{guid_at('2026-01-02', nr)} ],
	guid_range =>
	  [ 'guid', "id <@ tstzrange('2026-01-01', '2026-01-14')", q{guid_at('2026-01-02', nr)} ],
	guid_drift => [
		'guid', "id <@ tstzrange('2026-01-01', '2026-01-14')", q{guid_at('2026-01-02', nr, '1 s')}
	],
	guid_within => [
		'guid',
		"guid_within(id, tstzrange('2026-01-01', '2026-01-14'))",
		q{guid_at('2026-01-02', nr)}
	],
	guid_local =>
	  [ 'guid_local', "id < timestamptz '2026-01-14'", q{guid_local_at('2026-01-02', nr)} ],
	uuidv7_before =>
	  [ 'uuid', "uuidv7_before(id, timestamptz '2026-01-14')", q{uuidv7_at('2026-01-02', nr)} ],
	uuidv7_since =>
	  [ 'uuid', "uuidv7_since(id, timestamptz '2026-01-01')", q{uuidv7_at('2026-01-02', nr)} ],
	uuidv7_between => [
		'uuid',
		"uuidv7_between(id, timestamptz '2026-01-01', timestamptz '2026-01-14')",
		q{uuidv7_at('2026-01-02', nr)}
	],
	uuidv7_within => [
		'uuid',
		"uuidv7_within(id, tstzrange('2026-01-01', '2026-01-14'))",
		q{uuidv7_at('2026-01-02', nr)}
	],
	uniqueid => [ 'uniqueid', "id < timestamptz '2026-01-14'", q{uniqueid_at('2026-01-02', nr)} ]);
for my $name (sort keys %partial) {
	my ($type, $condition, $id) = @{ $partial{$name} };
	sql(<<"SQL");
CREATE TABLE p_$name (id $type, nr bigint);
CREATE UNIQUE INDEX p_${name}_index ON p_$name (nr) WHERE $condition;
SQL
	for my $when ('before ANALYZE', 'after ANALYZE') {
		for my $more ('', ' AND nr > 0') {
			my $inserted = sql(
				"INSERT INTO p_$name (id, nr) SELECT $id, nr FROM generate_series(1, 2000) AS nr ON CONFLICT (nr) WHERE $condition$more DO NOTHING; SELECT count(*) FROM p_$name"
			);
			is($inserted, '2000',
				"$name: ON CONFLICT finds the partial index $when, with the condition$more");
			like(
				sql("SET enable_seqscan = off; EXPLAIN SELECT * FROM p_$name WHERE nr = 7 AND $condition$more"
				),
				qr/p_${name}_index/,
				"$name: a query uses the partial index $when, with the condition$more");
		}
		sql("VACUUM ANALYZE p_$name");
	}
}

# What the planner may not evaluate is not evaluated when it plans.
sql(q{CREATE FUNCTION fails() RETURNS timestamptz LANGUAGE plpgsql STABLE AS 'BEGIN RAISE EXCEPTION ''evaluated''; END'}
);
for my $predicate (
	'flake_before(7, fails())',
	'flake_within(7, tstzrange(fails(), NULL))',
	q{uuidv7_before('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', fails())},
	'sno_next() < fails()',
	'guid_next() = fails()')
{
	is(sql("SELECT count(CASE WHEN t IS NULL THEN $predicate END) FROM days"),
		'0', "$predicate in a branch that no row reaches is not evaluated");
}

$session->quit;
$node->stop;
done_testing();
