# The planner's estimators meet every kind of operand: two columns, expressions of both, columns of
# outer queries, of inherited tables and of partitions. With statistics a query gives what it gave
# before ANALYZE.
use strict;
use warnings;
use lib 'tests/perl';

use PlannerServer;
use Server;
use Test::More;

my ($node, $session) = planner_server('operands', 'restart_after_crash = off');

my %at = (
	flake => 'flake_at(%s)',
	sno => 'sno_at(%s, 3)',
	uuidv7 => 'uuidv7_encode(%s, 0, 0, 0, 7)',
	map { $_ => "${_}_at(%s)" } qw(flake128 guid guid_local uniqueid));
my %type = (flake => 'bigint', uuidv7 => 'uuid');
my %operator_of = (AFTER => '>', BEFORE => '<', WITHIN => '<@');
my @names = sort keys %at;

sub at {
	my ($name, $time) = @_;
	return sprintf $at{$name}, $time;
}

# Two columns of IDs each, NULLs among them, a column that is dropped, an expression with statistics
# of its own, and an index on an expression. The same as a domain, as a parent, and in partitions.
for my $name (@names) {
	my $type = $type{$name} || $name;
	my $id = at($name, "timestamptz '2026-11-01' + nr * interval '10 min'");
	my $parent = at($name, "timestamptz '2026-11-01' + nr * 7 % 400 * interval '10 min'");
	my $middle = at($name, "timestamptz '2026-11-03'");
	my $columns = 'parent ID, t timestamptz, nr integer';
	my $rows = <<~"SQL";
		SELECT $id AS id, CASE WHEN nr % 10 > 0 THEN $parent END AS parent,
			timestamptz '2026-11-01' + nr * interval '11 min' AS t, nr
		FROM generate_series(1, 400) AS nr
		SQL
	$session->query_safe(<<~"SQL" =~ s/KIND/$name/gr =~ s/\bID\b/$type/gr);
		CREATE TABLE KIND_table (id ID, gone ID, $columns);
		ALTER TABLE KIND_table DROP COLUMN gone;
		INSERT INTO KIND_table $rows;
		CREATE STATISTICS KIND_both ON (coalesce(parent, id)) FROM KIND_table;
		CREATE INDEX ON KIND_table (greatest(id, parent));
		CREATE VIEW KIND_view AS SELECT id, parent, t, nr FROM KIND_table WHERE parent < id;

		CREATE DOMAIN KIND_domain AS ID;
		CREATE TABLE KIND_as_domain (id KIND_domain, ${\$columns =~ s/ID/KIND_domain/r});
		INSERT INTO KIND_as_domain $rows;

		CREATE TABLE KIND_parent (id ID, $columns);
		CREATE TABLE KIND_child (more text) INHERITS (KIND_parent);
		INSERT INTO KIND_parent $rows LIMIT 200;
		INSERT INTO KIND_child $rows OFFSET 200;

		CREATE TABLE KIND_parts (id ID, $columns) PARTITION BY RANGE (id);
		CREATE TABLE KIND_part_1 PARTITION OF KIND_parts FOR VALUES FROM (MINVALUE) TO ($middle);
		CREATE TABLE KIND_part_2 (nr integer, gone text, t timestamptz, parent ID, id ID);
		ALTER TABLE KIND_part_2 DROP COLUMN gone;
		ALTER TABLE KIND_parts ATTACH PARTITION KIND_part_2
			FOR VALUES FROM ($middle) TO (MAXVALUE);
		INSERT INTO KIND_parts $rows;
		SQL
}

# Conditions with every way to put two operands beside each other. ROWS is a relation. AFTER, BEFORE
# and WITHIN compare with a time, and CONSTANT is an ID.
my @conditions = split /\n/, <<'SQL';
greatest(id, parent) > least(id, parent)
greatest(id, parent) <= least(id, parent)
id < (SELECT parent FROM ROWS ORDER BY parent DESC NULLS LAST LIMIT 1)
id > (SELECT parent FROM ROWS ORDER BY parent DESC NULLS LAST LIMIT 1)
parent BETWEEN id AND id
id BETWEEN parent AND greatest(id, parent)
parent > id AND parent < CONSTANT
id > CONSTANT AND id < parent AND parent > CONSTANT
id < ANY (ARRAY[parent])
id >= ALL (ARRAY[parent, id])
parent > ANY (ARRAY[id, CONSTANT])
(parent, nr) > (id, nr)
(id, parent, nr) <= (parent, id, nr)
NOT (parent > id)
NOT (parent > id AND id < parent)
parent > id OR id > parent
parent > id OR nr < 5 AND id > parent
(parent > id) IS TRUE
(parent > id) IS NOT FALSE
CASE WHEN nr % 2 = 0 THEN parent > id ELSE id > parent END
id AFTER t
parent BEFORE t
id WITHIN tstzrange(t - interval '1 h', t + interval '1 h')
parent WITHIN tstzrange(t, t + interval '1 h')
parent WITHIN tstzrange(NULL, t) AND parent > id
EXISTS (SELECT FROM ROWS AS i WHERE i.id > o.id AND i.parent < o.parent)
NOT EXISTS (SELECT FROM ROWS AS i WHERE i.parent > o.id AND i.id > i.parent)
nr IN (SELECT i.nr FROM ROWS AS i WHERE o.parent > o.id AND i.id >= o.parent)
SQL
my $hour = "id BETWEEN timestamptz '2026-11-01 10:00' AND timestamptz '2026-11-01 12:00'";
my %more = (
	guid => [
		'guid_within(parent, tstzrange(t, NULL))',
		"id BETWEEN t AND t + interval '1 h'",
		"$hour AND parent > id"
	],
	map { $_ => [ "id BETWEEN t AND t + interval '1 h'", 't < id', 'parent = t' ] }
	  qw(sno uniqueid));
my @queries = split /;\n/, <<'SQL';
SELECT count(*) FROM ROWS AS a JOIN ROWS AS b ON a.id > b.parent AND a.parent < b.id;
SELECT count(*) FROM ROWS AS a
	LEFT JOIN ROWS AS b ON a.parent > a.id AND b.id >= a.id AND b.id <= a.parent;
SELECT count(*) FROM ROWS AS a,
	LATERAL (SELECT FROM ROWS AS b WHERE b.id > a.id AND b.parent > b.id LIMIT 2) AS l;
SELECT count(*) FROM (SELECT nr % 7 FROM ROWS
	GROUP BY 1 HAVING max(id) > min(parent) AND min(id) < max(parent)) AS g;
SELECT count(*) FROM (SELECT id, lag(parent) OVER (ORDER BY nr) AS before FROM ROWS) AS w
	WHERE before > id;
SQL

# Returns queries that count rows of a relation.
sub queries {
	my ($name, $relation) = @_;
	my @where = (@conditions, @{ $more{$name} || [] });
	push @where, map { "parent $_ id" } qw(< <= = >= > <>);
	push @where, map { ("id $_ id", "coalesce(parent, id) $_ id") } qw(< <= >=);
	push @where, 'tableoid::regclass IS NOT NULL AND ctid IS NOT NULL AND parent > id'
	  unless $relation =~ /_view$/;
	my @all = ((map { "SELECT count(*) FROM ROWS AS o WHERE $_" } @where), @queries);
	# PostgreSQL 18 and earlier have no min and max of uuids.
	@all = grep { !/max\(id\)/ } @all if $name eq 'uuidv7';
	my $constant = at($name, "timestamptz '2026-11-02'");
	for (@all) {
		s/\bROWS\b/$relation/g;
		s/\bCONSTANT\b/$constant/g;
		s{(\w+) (AFTER|BEFORE|WITHIN) (tstzrange\([^)]*\)|t\b)}
			{ $type{$name} ? "${name}_\L$2\E($1, $3)" : "$1 $operator_of{$2} $3" }e;
	}
	return @all;
}

# Returns what each query gives, or the error that it ends in. The queries of a relation are sent
# one by one only to find those that end in an error.
sub answers {
	my %answers;
	for my $name (@names) {
		for my $relation (map { "${name}_$_" } qw(table as_domain parent parts view)) {
			my @asked = queries($name, $relation);
			my ($printed, $good) = ask_together($session, @asked);
			my @numbers = split /\n/, $printed;
			@numbers = map { error_in($session, $_) || $session->query($_) } @asked
			  unless $good && @numbers == @asked;
			@answers{@asked} = @numbers;
		}
	}
	return %answers;
}

my %before = answers();
is_deeply([ grep { $before{$_} !~ /\A\d+\z/ } sort keys %before ],
	[], 'without statistics every query gives a number');
my $finding = grep { $_ ne '0' } values %before;
cmp_ok($finding, '>', 0.7 * keys %before, 'without statistics most queries find rows');
$session->query_safe('ANALYZE');
is($session->query_safe(<<~'SQL'), '2', 'ANALYZE makes histograms of both columns of IDs');
	SELECT count(*) FROM pg_stats WHERE tablename = 'sno_table' AND histogram_bounds IS NOT NULL
		AND attname IN ('id', 'parent')
	SQL
my %after = answers();
my @differ = map { "$_: $before{$_} before ANALYZE, then $after{$_}\n" }
  grep { $before{$_} ne $after{$_} } sort keys %before;
is(join('', @differ), '', 'with statistics every query gives the same number');

# Statements that write.
for my $relation (map { ("${_}_table", "${_}_parts", "${_}_as_domain") } @names) {
	my $number = $session->query_safe("SELECT count(*) FROM $relation WHERE parent > id");
	for (
		[ "UPDATE of $relation by two columns", "UPDATE $relation SET nr = -nr WHERE parent > id" ],
		[
			"DELETE from $relation by columns of two",
			"DELETE FROM $relation AS d USING $relation AS u WHERE d.nr = u.nr AND d.parent > u.id"
		])
	{
		my ($what, $statement) = @$_;
		my $changed = $session->query_safe(<<~"SQL");
			BEGIN;
			WITH changed AS ($statement RETURNING 1) SELECT count(*) FROM changed;
			ROLLBACK;
			SQL
		is($changed, $number, "$what changes each row with these columns");
	}
}

$session->quit;
stop_without_leaks($node);
done_testing();
