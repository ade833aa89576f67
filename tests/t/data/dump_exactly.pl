# The query of docs/troubleshooting.md for what a dump loses misses nothing: it looks at the
# operator of each expression, however deep it is, and names change nothing. Objects beside those of
# dump_operators.pl are called lost_... if a restore must lose them and the query must list them,
# and kept_... if neither.
use strict;
use warnings;
use lib 'tests/perl';

use DumpLosses;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('exact');
my $dump = PostgreSQL::Test::Utils::tempdir('dumps') . '/dump';
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'source', 'restored';
$node->safe_psql('source', 'CREATE EXTENSION flakeid');

my $base = <<'SQL';
CREATE TABLE a (id sno, other sno, nr integer, f flake, u uuid, ids sno[], t timestamptz);
CREATE TABLE b (id sno, other sno, nr integer, f flake, u uuid, ids sno[], t timestamptz);
CREATE TABLE watched (id sno, other sno, t timestamptz);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SQL
my %view = (
	# The operator is PostgreSQL's own, and one of flakeid stands beside it.
	kept_distinct_number => 'SELECT nr IS DISTINCT FROM 1 AND id = other AS x FROM a',
	kept_nullif_time => 'SELECT nullif(t, now()) FROM a WHERE id > t',
	kept_case_number => 'SELECT CASE nr WHEN 1 THEN id = other END AS x FROM a',
	kept_case_result => 'SELECT CASE nr WHEN 1 THEN id ELSE other END > other AS x FROM a',
	kept_using_number => 'SELECT a.id FROM a JOIN b USING (nr) WHERE a.id < b.id',
	kept_array_cast => 'SELECT ids::text[] AS x FROM a WHERE id = other',
	kept_distinct_uuid => 'SELECT u IS DISTINCT FROM uuidv7_min(t) AS x FROM a',
	kept_distinct_flake => 'SELECT f IS DISTINCT FROM 5::bigint AS x FROM a',
	kept_using_flake => 'SELECT a.id FROM a JOIN b USING (f) WHERE a.f > b.t',
	kept_row_flake => 'SELECT (f, nr) < (5, 1) AS x FROM a',
	kept_row_flake_in => 'SELECT (f, nr) IN (SELECT f, nr FROM b) AS x FROM a',
	# PostgreSQL prints the operator of the first column, with its schema.
	kept_row_of_ids => 'SELECT (id, other) < (other, id) AS x FROM a',
	kept_row_of_ids_in => 'SELECT (id, other) IN (SELECT id, other FROM b) AS x FROM a',
	kept_row_of_ids_all => 'SELECT (id, other) <> ALL (SELECT id, other FROM b) AS x FROM a',
	kept_row_equal => 'SELECT (id, nr) = (other, 1) AS x FROM a',
	lost_row_number => 'SELECT (nr, id) < (1, other) AS x FROM a',
	lost_row_number_in => 'SELECT (nr, id) IN (SELECT nr, id FROM b) AS x FROM a',
	lost_row_all => 'SELECT (id, nr) <> ALL (SELECT id, nr FROM b) AS x FROM a',
	lost_row_select => 'SELECT (id, nr) = (SELECT id, nr FROM b LIMIT 1) AS x FROM a',
	lost_row_select_less => 'SELECT (id, nr) < (SELECT id, nr FROM b LIMIT 1) AS x FROM a',
	lost_row_distinct => 'SELECT (id, nr) IS DISTINCT FROM (other, 1) AS x FROM a',
	# An operand of the row has a query of its own.
	lost_row_select_less_all =>
	  'SELECT (nr, (SELECT id FROM b LIMIT 1)) < ALL (SELECT nr, id FROM b) AS x FROM a',
	lost_row_row =>
	  'SELECT ((SELECT bool_or((id, other) IN (SELECT id, other FROM a)) FROM b), id) IN
		(SELECT true, id FROM b) AS x FROM a',
	lost_row_in_row => 'SELECT ((SELECT bool_or((nr, id) IN (SELECT nr, id FROM a)) FROM b), nr) IN
		(SELECT true, nr FROM b) AS x FROM a',
	lost_row_after_row =>
	  'SELECT ((SELECT bool_or((nr, t) IN (SELECT nr, t FROM a)) FROM b), nr, id)
		IN
		(SELECT true, nr, id FROM b) AS x FROM a',
	lost_row_in_select => 'SELECT nr IN (SELECT nr FROM b WHERE (id, (SELECT 1))
		IN (SELECT id, nr FROM a)) AS x FROM a',
	kept_row_in_row =>
	  'SELECT ((SELECT bool_or((id, other) IN (SELECT id, other FROM a)) FROM b), nr)
		IN (SELECT id = other, nr FROM b) AS x FROM a',
	kept_row_select_in =>
	  'SELECT (id, (SELECT id FROM b WHERE nr = 1)) IN (SELECT id, other FROM b) AS x FROM a',
	# An operand of the row has an operator of its own.
	lost_row_case =>
	  'SELECT (CASE WHEN nr > 1 THEN id END, nr) IN (SELECT id, nr FROM b) AS x FROM a',
	lost_row_compared => 'SELECT (id = other, id) IN (SELECT true, id FROM b) AS x FROM a',
	kept_row_compared_less => 'SELECT (id = other, nr) < (SELECT true, 1) AS x FROM a',
	# An operator of flakeid between an ID and a time.
	lost_distinct_time => 'SELECT id IS DISTINCT FROM t AS x FROM a',
	lost_case_time => 'SELECT CASE t WHEN id THEN 1 END AS x FROM a',
	lost_nullif_flake => 'SELECT nullif(f, t) AS x FROM a',
	lost_distinct_flake => 'SELECT f IS DISTINCT FROM t AS x FROM a',
	lost_case_flake => 'SELECT CASE f WHEN t THEN 1 END AS x FROM a',
	# Deeper in a query, and beside other forms.
	lost_second_using => 'SELECT a.t FROM a JOIN b USING (nr, id)',
	lost_full_using => 'SELECT id FROM a FULL JOIN b USING (id)',
	lost_using_alias => 'SELECT a.t FROM a JOIN b USING (id) AS both_ids',
	lost_nested => 'SELECT 1 AS x FROM a WHERE EXISTS (SELECT FROM b JOIN a AS c USING (id))',
	lost_cte => 'WITH c AS (SELECT nullif(id, other) AS x FROM a) SELECT x FROM c',
	lost_having => 'SELECT id FROM a GROUP BY id HAVING id IS DISTINCT FROM min(other)',
	lost_filter => 'SELECT count(*) FILTER (WHERE id IS DISTINCT FROM other) AS x FROM a',
	lost_null => 'SELECT (nr IS DISTINCT FROM 1) = (id IS DISTINCT FROM other) AS x FROM a',);
my $others = <<'SQL';
CREATE DOMAIN lost_domain AS boolean
	DEFAULT sno_min('2026-01-01 00:00+00') IS DISTINCT FROM sno_min('2026-01-02 00:00+00');
CREATE POLICY lost_with_check ON watched FOR INSERT WITH CHECK (nullif(id, id) IS NULL);
CREATE POLICY kept_policy ON watched USING (sno_min(t) = id);
CREATE RULE lost_action AS ON DELETE TO watched DO ALSO UPDATE b SET nr = 1
	WHERE id IS DISTINCT FROM old.id;
CREATE TRIGGER lost_case BEFORE INSERT ON watched
	FOR EACH ROW WHEN (CASE new.id WHEN sno_min(new.t) THEN true END) EXECUTE FUNCTION nothing();
CREATE TRIGGER kept_trigger BEFORE UPDATE ON watched
	FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION nothing();
CREATE INDEX lost_case_index ON a ((CASE id WHEN other THEN 1 END));
ALTER TABLE watched ADD CONSTRAINT lost_exclusion
	EXCLUDE (id WITH =) WHERE (id IS DISTINCT FROM other);
ALTER TABLE watched ADD CONSTRAINT kept_exclusion EXCLUDE (id WITH =) WHERE (id <> other);
CREATE TABLE kept_range (id sno) PARTITION BY RANGE (id);
CREATE TABLE kept_part PARTITION OF kept_range
	FOR VALUES FROM (sno_min('2026-01-01 00:00+00')) TO (sno_min('2026-02-01 00:00+00'));
CREATE PROCEDURE lost_procedure(first sno) BEGIN ATOMIC
	UPDATE b SET nr = 1 WHERE id = first;
	UPDATE b SET nr = CASE first WHEN id THEN 1 END;
END;
SQL
my $names = <<'SQL';
SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM (
	SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'i')
	UNION ALL SELECT rulename FROM pg_rewrite UNION ALL SELECT tgname FROM pg_trigger
	UNION ALL SELECT polname FROM pg_policy UNION ALL SELECT proname FROM pg_proc
	UNION ALL SELECT typname FROM pg_type WHERE typtype = 'd'
) AS objects (name) WHERE name ~ '^(lost|kept)_'
SQL

# The query reads what PostgreSQL stores as a text, and names are in that text. These look like
# another part of it. Each is the name of a column.
my $equal = $node->safe_psql('source', "SELECT '=(sno, sno)'::regoperator::oid");
my @odd_names = (
	':rtindex', ':rtindex 1',
	'x :rtindex 1 :y', ':operName',
	':testexpr', '{SUBLINK',
	'a}', '{',
	'}}}}', '(',
	') :rtindex 1', '\\',
	'\\{', 'a\\\\',
	'"', '"":',
	"'", ' ',
	'<', '<>',
	'a<1>', "two\n:rtindex 1",
	"<$equal>", "{DISTINCTEXPR :opno $equal :x",
	"{OPEXPR :opno $equal :args ({CASETESTEXPR", ":usingClause (:opno $equal :rtindex 1 ",
	":testexpr {BOOLEXPR <$equal> <1>}", "{ROWCOMPAREEXPR :opnos (o $equal 1",);
for my $number (0 .. $#odd_names) {
	my $name = '"' . $odd_names[$number] =~ s/"/""/gr . '"';
	$others .= "CREATE TABLE odd_$number (nr integer, $name integer, id sno, other sno);\n";
	my $odd = "odd_$number";
	$view{"lost_odd_using_$number"} =
	  "SELECT a.other FROM $odd AS a JOIN $odd AS b USING (nr, $name, id)";
	$view{"lost_odd_row_$number"} =
	  "SELECT ($name, (SELECT $name FROM $odd LIMIT 1), id) IN (SELECT nr, $name, id FROM $odd)
		AS $name FROM $odd";
	$view{"lost_odd_last_$number"} = "SELECT $name, id IS DISTINCT FROM other AS x FROM $odd";
	$view{"kept_odd_using_$number"} =
	  "SELECT a.other = b.id AS $name FROM $odd AS a JOIN $odd AS b USING (nr, $name)";
	$view{"kept_odd_row_$number"} =
	  "SELECT ($name, (SELECT id = other FROM $odd LIMIT 1)) IN (SELECT $name, true FROM $odd)
		AS $name FROM $odd AS $name";
}

$node->safe_psql('source', join '', $base, $others,
	map { "CREATE VIEW $_ AS $view{$_};\n" } sort keys %view);
my @all = split / /, $node->safe_psql('source', $names);
cmp_ok(scalar @all, '>=', 190, 'the database has all objects');

my %listed = map { $_ => 1 } $node->safe_psql('source', $QUERY) =~ /\b((?:lost|kept)_\w+)/g;
is( join(' ', sort keys %listed),
	join(' ', grep { /^lost_/ } @all),
	'the query lists what a dump must lose and nothing else');

$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'source' ], 'pg_dump has no error');
$node->command_fails_like(
	[ 'pg_restore', '-d', 'restored', $dump ],
	qr/operator does not exist/,
	'pg_restore finds operators missing');
my %restored = map { $_ => 1 } split / /, $node->safe_psql('restored', $names);
is( join(' ', grep { !$restored{$_} } @all),
	join(' ', grep { /^lost_/ } @all),
	'the restore has lost exactly these');

$node->stop;
done_testing();
