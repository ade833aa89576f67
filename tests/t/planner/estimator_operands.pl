# The planner's estimators meet every kind of operand. A query over an analyzed table gives what it gave before
# ANALYZE, and neither fails nor leaves a reference behind, for every kind of operand in its comparisons:
# two columns, expressions of both, columns of outer queries, of inherited tables and of partitions. And an operator
# that somebody has declared with our estimators, of any two types, does not crash the server.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('operands');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
jit = off
restart_after_crash = off
END
$node->start;

my %at = (
	flake => 'flake_at(%s)',
	sno => 'sno_at(%s, 3)',
	flake128 => 'flake128_at(%s)',
	guid => 'guid_at(%s)',
	guid_local => 'guid_local_at(%s)',
	uniqueid => 'uniqueid_at(%s)',
	uuidv7 => 'uuidv7_encode(%s, 0, 0, 0, 7)');
my %type = map { $_ => $_ } keys %at;
@type{ 'flake', 'uuidv7' } = ('bigint', 'uuid');

# Two columns of IDs each, NULLs among them, a column that is dropped, an expression with statistics of its own, an
# index on an expression; the same as a domain, as a parent of others, and in partitions.
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
for my $name (sort keys %at) {
	my ($type, $at) = ($type{$name}, $at{$name});
	my $id = sprintf $at, q(timestamptz '2026-11-01' + nr * interval '10 min');
	my $parent = sprintf $at, q(timestamptz '2026-11-01' + nr * 7 % 400 * interval '10 min');
	my $middle = sprintf $at, q(timestamptz '2026-11-03');
	my $rows = "SELECT $id AS id, CASE WHEN nr % 10 > 0 THEN $parent END AS parent,"
	  . q( timestamptz '2026-11-01' + nr * interval '11 min' AS t, nr FROM generate_series(1, 400) AS nr);
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE ${name}_table (id $type, gone $type, parent $type, t timestamptz, nr integer);
ALTER TABLE ${name}_table DROP COLUMN gone;
INSERT INTO ${name}_table $rows;
CREATE STATISTICS ${name}_both ON (coalesce(parent, id)) FROM ${name}_table;
CREATE INDEX ON ${name}_table (greatest(id, parent));
CREATE DOMAIN ${name}_domain AS $type;
CREATE TABLE ${name}_as_domain (id ${name}_domain, parent ${name}_domain, t timestamptz, nr integer);
INSERT INTO ${name}_as_domain $rows;
CREATE TABLE ${name}_parent (id $type, parent $type, t timestamptz, nr integer);
CREATE TABLE ${name}_child (more text) INHERITS (${name}_parent);
INSERT INTO ${name}_parent $rows LIMIT 200;
INSERT INTO ${name}_child $rows OFFSET 200;
CREATE TABLE ${name}_parts (id $type, parent $type, t timestamptz, nr integer) PARTITION BY RANGE (id);
CREATE TABLE ${name}_part_1 PARTITION OF ${name}_parts FOR VALUES FROM (MINVALUE) TO ($middle);
CREATE TABLE ${name}_part_2 (nr integer, gone text, t timestamptz, parent $type, id $type);
ALTER TABLE ${name}_part_2 DROP COLUMN gone;
ALTER TABLE ${name}_parts ATTACH PARTITION ${name}_part_2 FOR VALUES FROM ($middle) TO (MAXVALUE);
INSERT INTO ${name}_parts $rows;
CREATE VIEW ${name}_view AS SELECT id, parent, t, nr FROM ${name}_table WHERE parent < id;
SQL
}

# An ID type's time as a predicate, of this ID and this range.
sub within {
	my ($name, $id, $times) = @_;
	return "${name}_within($id, $times)" if $name =~ /^(?:flake|uuidv7)$/;
	return "$id <@ $times";
}

# Queries that count rows of a relation: every way to put two operands beside each other.
sub queries {
	my ($name, $relation) = @_;
	my $time = sub {
		my ($operator, $id, $time) = @_;
		my %function = ('<' => 'before', '>' => 'after');
		return "${name}_$function{$operator}($id, $time)" if $name =~ /^(?:flake|uuidv7)$/;
		return "$id $operator $time";
	};
	my $constant = sprintf $at{$name}, "timestamptz '2026-11-02'";
	my $near = within($name, 'id', "tstzrange(t - interval '1 h', t + interval '1 h')");
	my @conditions = (
		(map { "parent $_ id" } '<', '<=', '=', '>=', '>', '<>'),
		(map { "id $_ id" } '<', '<=', '>='),
		(map { "coalesce(parent, id) $_ id" } '<', '>='),
		(map { "greatest(id, parent) $_ least(id, parent)" } '>', '<='),
		(   map { "id $_ (SELECT parent FROM $relation ORDER BY parent DESC NULLS LAST LIMIT 1)" }
			  '<',
			'>'),
		'parent BETWEEN id AND id',
		'id BETWEEN parent AND greatest(id, parent)',
		"parent > id AND parent < $constant",
		"id > $constant AND id < parent AND parent > $constant",
		'id < ANY (ARRAY[parent])',
		'id >= ALL (ARRAY[parent, id])',
		"parent > ANY (ARRAY[id, $constant])",
		'(parent, nr) > (id, nr)',
		'(id, parent, nr) <= (parent, id, nr)',
		'NOT (parent > id)',
		'NOT (parent > id AND id < parent)',
		'parent > id OR id > parent',
		'parent > id OR nr < 5 AND id > parent',
		'(parent > id) IS TRUE',
		'(parent > id) IS NOT FALSE',
		'CASE WHEN nr % 2 = 0 THEN parent > id ELSE id > parent END',
		$time->('>', 'id', 't'),
		$time->('<', 'parent', 't'),
		$near,
		within($name, 'parent', "tstzrange(t, t + interval '1 h')"),
		within($name, 'parent', "tstzrange(NULL, t)") . ' AND parent > id',
		"EXISTS (SELECT FROM $relation AS i WHERE i.id > o.id AND i.parent < o.parent)",
		"NOT EXISTS (SELECT FROM $relation AS i WHERE i.parent > o.id AND i.id > i.parent)",
		"nr IN (SELECT i.nr FROM $relation AS i WHERE o.parent > o.id AND i.id >= o.parent)",);
	push @conditions, 'tableoid::regclass IS NOT NULL AND ctid IS NOT NULL AND parent > id'
	  unless $relation =~ /_view$/;
	push @conditions, "guid_within(parent, tstzrange(t, NULL))",
	  "id BETWEEN t AND t + interval '1 h'",
	  "id BETWEEN timestamptz '2026-11-01 10:00' AND timestamptz '2026-11-01 12:00' AND parent > id"
	  if $name eq 'guid';
	push @conditions, "id BETWEEN t AND t + interval '1 h'", 't < id', 'parent = t'
	  if $name =~ /^(?:sno|uniqueid)$/;
	return (
		(map { "SELECT count(*) FROM $relation AS o WHERE $_" } @conditions),
		"SELECT count(*) FROM $relation AS a JOIN $relation AS b ON a.id > b.parent AND a.parent < b.id",
		"SELECT count(*) FROM $relation AS a LEFT JOIN $relation AS b ON a.parent > a.id AND b.id >= a.id AND b.id <= a.parent",
		"SELECT count(*) FROM $relation AS a, LATERAL (SELECT FROM $relation AS b WHERE b.id > a.id AND b.parent > b.id LIMIT 2) AS l",
		# PostgreSQL 18 and earlier have no min and max of uuids.
		$name eq 'uuidv7'
		? ()
		: "SELECT count(*) FROM (SELECT nr % 7 FROM $relation GROUP BY 1 HAVING max(id) > min(parent) AND min(id) < max(parent)) AS g",
		"SELECT count(*) FROM (SELECT id, lag(parent) OVER (ORDER BY nr) AS before FROM $relation) AS w WHERE before > id"
	);
}

my @relations = map {
	my $name = $_;
	map { [ $name, "$name$_" ] } '_table', '_as_domain', '_parent', '_parts', '_view'
} sort keys %at;
my $session = session($node);

# Lets a session run these statements from a file: a pipe can be full while psql waits for the server. Returns what they
# print, and whether none ends in an error or a warning.
my $script = "$PostgreSQL::Test::Utils::tmp_check/statements.sql";

sub sent_together {
	my ($session, @statements) = @_;
	unlink $script;
	append_to_file($script, join '', map { "$_;\n" } @statements);
	my $printed = $session->query("\\i $script");
	my $good = $session->{stderr} eq '';
	$session->{stderr} = '';
	return ($printed, $good);
}

# What each query gives, or the error that it ends in. The queries of a relation are sent one by one only if an error has to
# be assigned to one of them.
sub answers {
	my %answers;
	for (@relations) {
		my ($name, $relation) = @$_;
		my @queries = queries($name, $relation);
		my ($printed, $good) = sent_together($session, @queries);
		my @numbers = split /\n/, $printed;
		if ($good && @numbers == @queries) {
			@answers{@queries} = @numbers;
			next;
		}
		for my $query (@queries) {
			my $answer = $session->query($query);
			$answers{$query} = $session->{stderr} ne '' ? $session->{stderr} : $answer;
			$session->{stderr} = '';
		}
	}
	return \%answers;
}

my $before = answers();
is_deeply([ grep { $before->{$_} !~ /\A\d+\z/ } sort keys %$before ],
	[], 'without statistics every query gives a number');
cmp_ok(
	scalar(grep { $_ ne '0' } values %$before),
	'>',
	0.7 * keys %$before,
	'without statistics most queries find rows');
$node->safe_psql('postgres', 'ANALYZE');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_stats WHERE tablename = 'sno_table' AND histogram_bounds IS NOT NULL AND attname IN ('id', 'parent')"
	),
	'2',
	'there are statistics');
my $after = answers();
my @differ = grep { $before->{$_} ne $after->{$_} } sort keys %$before;
is(scalar @differ, 0, 'with statistics they give the same: ' . keys(%$before) . ' queries')
  or diag(
	map  { "$_: $before->{$_} before ANALYZE, then $after->{$_}\n" }
	grep { defined } @differ[ 0 .. 9 ]);

# Statements that write.
for my $name (sort keys %at) {
	for my $relation ("${name}_table", "${name}_parts", "${name}_as_domain") {
		my $number = $session->query_safe("SELECT count(*) FROM $relation WHERE parent > id");
		is( $session->query_safe(
				"BEGIN; WITH changed AS (UPDATE $relation SET nr = -nr WHERE parent > id RETURNING nr) SELECT count(*) FROM changed; ROLLBACK"
			),
			$number,
			"UPDATE of $relation by two columns");
		is( $session->query_safe(
				"BEGIN; WITH gone AS (DELETE FROM $relation AS d USING $relation AS u WHERE d.nr = u.nr AND d.parent > u.id RETURNING 1) SELECT count(*) FROM gone; ROLLBACK"
			),
			$number,
			"DELETE from $relation by columns of two");
	}
}
$session->quit;

# Many bounds of one column: what planning takes does not grow with the square of their number.
my $many = join ' AND ',
  map { "id > sno_min(timestamptz '2026-11-01' + interval '$_ s')" } 1 .. 2000;
my @peaks = split /\n/, $node->safe_psql('postgres', <<"SQL");
CREATE TEMPORARY VIEW peak AS SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)')::integer AS kilobytes;
SELECT kilobytes FROM peak;
DO \$do\$ BEGIN PERFORM FROM (SELECT FROM sno_table WHERE $many) AS many; END \$do\$;
SELECT kilobytes FROM peak;
SQL
cmp_ok($peaks[1] - $peaks[0],
	'<', 300_000, 'two thousand bounds of one column are planned in less than 300 MB')
  or diag("@peaks");

# Operators of everyone ------------------------------------------------------------------------------------

# An operator that is declared with our estimators, of every pair of types that could be taken for one another: by
# reference and by value, of the same length, polymorphic, of a domain; with a commutator, with one that does not
# exist, and with none.
my %value = (
	flake128 => "flake128_at('2026-11-02')",
	sno => "sno_at('2026-11-02', 3)",
	guid => "guid_at('2026-11-02')",
	guid_local => "guid_local_at('2026-11-02')",
	uniqueid => "uniqueid_at('2026-11-02')",
	bigint => '4096::bigint',
	bytea => q('\\x00'::bytea),
	text => "'a'::text",
	uuid => "'00000000-0000-0000-0000-000000000001'::uuid",
	timetz => "timetz '10:00+01'",
	timestamptz => "timestamptz '2026-11-02'",
	interval => "interval '1 h'",
	name => "'a'::name",
	float8 => '0.5::float8',
	sno_domain => "sno_at('2026-11-02', 3)::sno_domain");
my @ours = qw(flake128 sno guid guid_local uniqueid sno_domain);
my @types = sort keys %value;
$node->safe_psql('postgres',
	'CREATE ROLE ordinary; CREATE TABLE every (' . join(', ', map { "of_$_ $_" } @types) . ')');
$node->safe_psql('postgres', "INSERT INTO every SELECT $_ FROM generate_series(1, 300)")
  for join ', ', map { $value{$_} } @types;
# A histogram needs values that differ.
for my $type (grep { $_ ne 'sno_domain' } @ours) {
	$node->safe_psql('postgres',
		"INSERT INTO every (of_$type) SELECT ${type}_at(timestamptz '2026-11-01' + nr * interval '1 min') FROM generate_series(1, 3000) AS nr"
	);
}
$node->safe_psql('postgres',
	'INSERT INTO every (of_sno_domain) SELECT of_sno FROM every; ANALYZE every; GRANT SELECT ON every TO ordinary'
);

my (@declared, @asked);
for my $left (@types, 'anyelement') {
	for my $right (@types, 'anyelement') {
		next unless grep { $left eq $_ || $right eq $_ } @ours, 'anyelement';
		next if ($left eq 'anyelement') != ($right eq 'anyelement');
		my $function = "odd_${left}_$right";
		push @declared,
		  "CREATE FUNCTION $function($left, $right) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';"
		  . "CREATE OPERATOR <<< (LEFTARG = $left, RIGHTARG = $right, FUNCTION = $function, RESTRICT = flakeid_ltsel, JOIN = flakeid_ltjoinsel);"
		  . "CREATE OPERATOR >>> (LEFTARG = $left, RIGHTARG = $right, FUNCTION = $function, COMMUTATOR = <-<, RESTRICT = flakeid_gesel, JOIN = flakeid_gejoinsel);";
		for my $operator ('<<<', '>>>') {
			my ($of_left, $of_right) = map { $_ eq 'anyelement' ? 'flake128' : $_ } $left, $right;
			push @asked, "SELECT FROM every WHERE of_$of_left $operator $value{$of_right}",
			  "SELECT FROM every WHERE $value{$of_left} $operator of_$of_right",
			  "SELECT FROM every WHERE of_$of_left $operator of_$of_right",
			  "SELECT FROM every AS a JOIN every AS b ON a.of_$of_left $operator b.of_$of_right AND a.of_sno > b.of_sno";
		}
	}
}
$node->safe_psql('postgres', join "\n", @declared);
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
my $ordinary = session($node);
$ordinary->query_safe('SET ROLE ordinary');
my @failed;
my @left = @asked;
while (my @some = splice @left, 0, 200) {
	my ($printed, $good) = sent_together($ordinary, map { "EXPLAIN $_" } @some);
	my $plans = () = $printed =~ /^\S.*\(cost=/mg;
	next if $good && $plans == @some;
	# These are sent one by one, to find which it is.
	for (@some) {
		my $plan = $ordinary->query("EXPLAIN $_");
		push @failed, "$_: $plan$ordinary->{stderr}"
		  if $ordinary->{stderr} ne '' || $plan !~ /\(cost=/;
		$ordinary->{stderr} = '';
	}
}
is("@failed", '',
	'an operator of any two types with our estimators gets a plan: ' . @asked . ' queries');
$ordinary->quit;
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'),
	$started, 'the server survives these operators');

# Our own operators are estimated as before beside all that.
my ($rows) =
  $node->safe_psql('postgres', "EXPLAIN SELECT FROM every WHERE of_sno < sno_at('2026-11-02', 3)")
  =~ /rows=(\d+)/;
cmp_ok($rows, '>', 1000, 'our own operator keeps its estimate');
cmp_ok($rows, '<', 2000, 'the estimate of our own operator is not that of an unknown operand');

$node->stop;
my $log = slurp_file($node->logfile);
unlike(
	$log,
	qr/reference leak|was not closed|is not owned by resource owner/,
	'no reference to the catalog is left, or released twice');
done_testing();
