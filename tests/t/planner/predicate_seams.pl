# Where the planner replaces a predicate, the value stays the one of the call: with subselects that
# find other rows each time, with NULLs, and with arguments that fail.
use strict;
use warnings;
use lib 'tests/perl';

use PlannerServer;
use Test::More;

my ($node, $session) = planner_server('predicate_seams');
sub sql { return $session->query_safe($_[0]) }

sql(<<~'SQL');
	CREATE TABLE days AS SELECT timestamptz '2026-01-01' + nr * interval '1 day' AS t
		FROM generate_series(1, 200) AS nr;
	CREATE TABLE snos AS SELECT sno_at(t) AS id, t FROM days;
	CREATE TABLE guids AS SELECT id, guid_timestamp(id) AS t FROM days, guid_at(t) AS id;
	ANALYZE;
	SQL

# Returns how often the plan of a comparison with a subselect evaluates it.
sub evaluations {
	my ($table, $subselect) = @_;
	my $plan = sql("EXPLAIN SELECT count(*) FROM $table WHERE id = ($subselect)");
	return scalar(() = $plan =~ /^\s*InitPlan/mg);
}

for my $table (qw(snos guids)) {
	# The two bounds of "=" would hardly ever be those of one day if each found another row.
	for my $subselect (
		'SELECT t FROM days TABLESAMPLE bernoulli (50) LIMIT 1',
		'SELECT t FROM days TABLESAMPLE bernoulli (50) ORDER BY t LIMIT 1',
		'SELECT t FROM days FOR UPDATE SKIP LOCKED LIMIT 1',
		'SELECT t FROM days OFFSET 7 LIMIT 1')
	{
		is(evaluations($table, $subselect), 1, "$table: (\U$subselect\E) is evaluated once");
	}
	cmp_ok(evaluations($table, 'SELECT max(t) FROM days'),
		'>', 1, "$table: a subselect with the same value each time is a bound of the index");

	# Each argument that is copied could double the size of the condition. Twelve levels would make
	# some thousand copies.
	my $time = "timestamptz '2026-01-05'";
	$time = "CASE WHEN id = ($time) THEN t ELSE t END" for 1 .. 12;
	my $nested = "SELECT count(*) FROM $table WHERE id = ($time)";
	cmp_ok(length sql("EXPLAIN $nested"),
		'<', 100_000,
		"$table: a predicate that is nested twelve times does not grow with each level");
	is(sql($nested), '200', "$table: a predicate that is nested twelve times has the right rows");
}

# An argument is NULL when only the execution knows it. TIME, RANGE and DRIFT are NULL.
my $years = "tstzrange('2025-01-01', '2026-01-01')";
for (
	[ 'flake_before of a negative number', 'flake_before(-5, TIME)' ],
	[ 'flake_before by an epoch', "flake_before(-5, '2026-01-01', TIME)" ],
	[ 'uuidv7_before of another UUID', 'uuidv7_before(gen_random_uuid(), TIME)' ],
	[
		'uuidv7_since of another UUID',
		"uuidv7_since('00000000-0000-0000-0000-000000000000', TIME)"
	],
	[
		'uuidv7_within of another UUID',
		"uuidv7_within('ffffffff-ffff-ffff-ffff-ffffffffffff', RANGE)"
	],
	[ 'a spread uniqueid', "uniqueid_next('spread') < TIME" ],
	[ 'guid_within by its drift', "guid_within(guid_at('2020-01-01'), $years, DRIFT)" ],
	[
		'guid_local_within by its drift',
		"guid_local_within(guid_local_at('2020-01-01'), $years, DRIFT)"
	])
{
	my ($what, $predicate) = @$_;
	my %type = (TIME => 'timestamptz', RANGE => 'tstzrange', DRIFT => 'interval');
	$predicate =~ s/\b(TIME|RANGE|DRIFT)\b/nullif(current_setting('my.time'), '')::$type{$1}/;
	my $nulls = sql(<<~"SQL");
		SET my.time = '';
		SELECT ($predicate) IS NULL, (NOT $predicate) IS NULL FROM days LIMIT 1
		SQL
	is($nulls, 't|t', "$what is NULL if an argument is");
}

sql(<<~'SQL');
	CREATE TABLE parts (kind integer, id guid) PARTITION BY LIST (kind);
	CREATE TABLE parts_1 PARTITION OF parts DEFAULT;
	INSERT INTO parts VALUES (1, NULL);
	SQL
is(sql("SELECT count(*) FROM parts WHERE NOT id <@ 'empty'::tstzrange"),
	'0', 'a guid that is NULL is not outside of an empty range, in a partition');

sql(<<~'SQL');
	CREATE FUNCTION fails() RETURNS timestamptz LANGUAGE plpgsql STABLE
		AS 'BEGIN RAISE EXCEPTION ''evaluated''; END'
	SQL
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
