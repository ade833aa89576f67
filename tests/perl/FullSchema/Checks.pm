# Tests that a database with the full schema works as before.
package FullSchema::Checks;

use strict;
use warnings;

use Exporter qw(import);
use FullSchema;
use Kinds;
use Test::More;

our @EXPORT = qw(works_as_before is_full_schema is_found works);

# Tests that a database has the rows and definitions of `full_schema_of`, and works.
sub works_as_before {
	my ($node, $database, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_full_schema($node, $database, $expected);
	return works($node, $database);
}

# Tests that the database answers by its indexes, and guards and generates its rows.
sub works {
	my ($node, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_found($node, $database);
	_is_guarded($node, $database);
	return _continues($node, $database);
}

# Tests that a database has all of this and nothing else. Prints the lines in which it differs.
sub is_full_schema {
	my ($node, $database, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($got, %count) = (full_schema_of($node, $database));
	$count{$_}-- for split /\n/, $expected;
	$count{$_}++ for split /\n/, $got;
	my @differ = grep { $count{$_} } sort keys %count;
	return ok(!@differ && $got eq $expected, 'all definitions and rows are as before')
	  || diag(join "\n",
		map { ($count{$_} < 0 ? '- ' : '+ ') . $_ } @differ > 20 ? @differ[ 0 .. 19 ] : @differ);
}

my $february = "'[2026-02-01 00:00+00,2026-03-01 00:00+00)'::tstzrange";
my $later = "'[2026-02-01 00:00+00,)'::tstzrange";

# `served` returns nothing if a query's plan has the index, and its answer is the same without.
# `ended` returns the SQLSTATE of a statement, of which nothing stays.
my $functions = <<'SQL';
SET jit TO off;
CREATE FUNCTION pg_temp.served(index text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
	answer text;
	given text[];
BEGIN
	FOR nr IN 0 .. 1 LOOP
		PERFORM set_config('enable_seqscan', (nr = 1)::text, false),
			set_config('enable_indexscan', (nr = 0)::text, false),
			set_config('enable_indexonlyscan', (nr = 0)::text, false),
			set_config('enable_bitmapscan', (nr = 0)::text, false);
		IF nr = 0 THEN
			FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
				plan := plan || E'\n' || line;
			END LOOP;
		END IF;
		EXECUTE format('SELECT string_agg(found::text, '','' ORDER BY found::text)
			FROM (%s) AS found', query) INTO answer;
		given[nr] := answer;
	END LOOP;
	RETURN CASE
		WHEN plan !~ ('\m' || index || '\M') THEN index || ' is not used:' || plan
		WHEN given[0] IS NULL THEN index || ' gives nothing'
		WHEN given[0] IS DISTINCT FROM given[1]
			THEN format('%s gives %s and not %s', index, given[0], given[1])
	END;
END $$;
CREATE FUNCTION pg_temp.ended(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	SET CONSTRAINTS ALL IMMEDIATE;
	RAISE SQLSTATE 'LIFE0';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE = 'LIFE0' THEN 'none' ELSE SQLSTATE END;
END $$;
SQL

# Indexes, and queries that they answer. ROW is the ID of one row.
my %answer = (
	KIND_rows_pkey => 'SELECT nr FROM KIND_rows WHERE id >= ROW',
	KIND_nr => 'SELECT hashed FROM KIND_rows WHERE nr BETWEEN 100 AND 120 AND id IS NOT NULL',
	KIND_hash => 'SELECT nr FROM KIND_rows WHERE hashed = ROW',
	KIND_brin => 'SELECT nr FROM KIND_rows WHERE brinned <= ROW',
	KIND_multi => 'SELECT nr FROM KIND_rows WHERE multi <= ROW',
	KIND_time => 'SELECT nr FROM KIND_rows'
	  . " WHERE TIMESTAMP(id) BETWEEN '2026-02-10 00:00+00' AND '2026-02-20 00:00+00'",
	KIND_later => "SELECT nr FROM KIND_rows WHERE nr % 7 = 3 AND WITHIN(id, $later)",
	KIND_list => 'SELECT id FROM KIND_refs WHERE list @> ARRAY[ROW]',
	KIND_pairs => 'SELECT id FROM KIND_refs WHERE pair >='
	  . ' (SELECT pair FROM KIND_refs, KIND_rows WHERE parent = KIND_rows.id AND nr = 200)',
	KIND_apart => 'SELECT id FROM KIND_refs WHERE span @> ROW::SUBTYPE',
	KIND_spans => 'SELECT id FROM KIND_refs WHERE spans @> ROW::SUBTYPE',
	KIND_month => "SELECT * FROM KIND_counts WHERE month = '2026-02-01 00:00+00'",
	'KIND_parts_\d_pkey' => 'SELECT nr FROM KIND_parts WHERE id = ROW',);
my $row = '(SELECT id FROM KIND_rows WHERE nr = 200)';
s/ROW/$row/ for values %answer;
my %month_answer = (
	KIND_rows_pkey => "SELECT nr FROM KIND_rows WHERE WITHIN(id, $february)",
	KIND_months_2026_02_pkey => "SELECT nr FROM KIND_months WHERE WITHIN(id, $february)",);

# Statements, and the SQLSTATE of each.
my $old = "AT('2014-01-01 00:00+00'::timestamptz, 1)";
my $unknown = "AT('2026-02-10 00:00+00'::timestamptz, 1)";
my @endings = (
	[ 23505, 'INSERT INTO KIND_rows (id, nr) SELECT id, 0 FROM KIND_rows WHERE nr = 200' ],
	[ 23505, 'INSERT INTO KIND_parts (id) SELECT id FROM KIND_rows WHERE nr = 200' ],
	[ 23514, "INSERT INTO KIND_rows (id, nr) VALUES ($old, 0)" ],
	[ 23514, "INSERT INTO KIND_refs (parent, made) SELECT id, $old FROM KIND_rows WHERE nr = 200" ],
	[ 23503, "INSERT INTO KIND_refs (parent) VALUES ($unknown)" ],
	[ 23503, "UPDATE KIND_rows SET id = $unknown WHERE nr = 200" ],
	[
		'23P01',
		'INSERT INTO KIND_refs (parent, span)'
		  . ' SELECT parent, span FROM KIND_refs WHERE span IS NOT NULL LIMIT 1'
	],
	[ '428C9', 'UPDATE KIND_rows SET made = now() WHERE nr = 200' ],
	[ 'none', 'DELETE FROM KIND_rows WHERE nr = 200' ],);
my @month_endings = (
	[ 23505, 'INSERT INTO KIND_months (id) SELECT id FROM KIND_rows WHERE nr = 200' ],
	[ 23503, "INSERT INTO KIND_notes (about) VALUES ($unknown)" ],
	[ 23514, "INSERT INTO KIND_months_2026_01 (id) VALUES ($unknown)" ],);

# The partitions of an old row and of a new one.
my $routes = <<"SQL";
BEGIN;
INSERT INTO KIND_months (id, nr) VALUES ($unknown, 999);
INSERT INTO KIND_months (nr) VALUES (999);
SELECT string_agg(tableoid::regclass::text, ' ' ORDER BY 1) FROM KIND_months WHERE nr = 999;
ROLLBACK;
SQL

# The reader of March sees the rows of March. The function with an SQL body finds those of February.
my $reads = <<"SQL";
SET ROLE $READER;
SELECT count(*), min(made) >= '2026-03-01 00:00+00', max(made) < '2026-04-01 00:00+00'
FROM KIND_rows;
RESET ROLE;
SELECT KIND_found($february);
SQL

# ANALYZE of a partitioned table also analyzes its partitions. Without statistics another index of
# the same rows may look as good.
my $analyze = <<'SQL';
SELECT format('ANALYZE %s', string_agg(oid::regclass::text, ', ')) FROM pg_class
WHERE relnamespace = 'life'::regnamespace AND relkind IN ('r', 'm', 'p') AND NOT relispartition
\gexec
SQL

# Tests that rows are found by every index and by their time.
sub is_found {
	my ($node, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $sql = "$analyze$SETTINGS$functions";
	for my $kind (@KINDS) {
		for my $answers (\%answer, $kind->{bounds} ? \%month_answer : ()) {
			for my $index (sort keys %$answers) {
				$sql .= of_kind($kind, <<"SQL");
SELECT served FROM pg_temp.served('$index', \$\$$answers->{$index}\$\$) AS served
WHERE served IS NOT NULL;
SQL
			}
		}
	}
	is($node->safe_psql($database, $sql), '', 'every index answers as its table does');
	return is(
		$node->safe_psql($database, $SETTINGS . of_all_kinds($reads)) . "\n",
		"124|t|t\n112\n" x @KINDS,
		'the policy and the function know the time in an ID');
}

# Tests that a database accepts the rows that belong into it, and no others.
sub _is_guarded {
	my ($node, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($sql, $routed, $expected) = ("$SETTINGS$functions", $SETTINGS, '');
	for my $kind (@KINDS) {
		for (@endings, $kind->{bounds} ? @month_endings : ()) {
			my ($state, $statement) = @$_;
			$sql .= of_kind($kind, <<"SQL");
SELECT ended, \$\$$statement\$\$ FROM pg_temp.ended(\$\$$statement\$\$) AS ended
WHERE ended <> '$state';
SQL
		}
		next unless $kind->{bounds};
		$routed   .= of_kind($kind, $routes);
		$expected .= of_kind($kind, "KIND_months_2026_02 KIND_months_rest\n");
	}
	is($node->safe_psql($database, $sql), '', 'constraints refuse what does not belong');
	return is($node->safe_psql($database, $routed) . "\n",
		$expected, 'rows get into their partitions');
}

# Each way to a new ID by a default: of a key, of a partitioned table's key, in an array, of a
# domain.
my $new = <<'SQL';
WITH made AS (
	INSERT INTO KIND_rows (nr) SELECT generate_series(1001, 1100) RETURNING id
), parts AS (
	INSERT INTO KIND_parts (nr) SELECT generate_series(1001, 1100) RETURNING id
), refs AS (
	INSERT INTO KIND_refs (parent) SELECT id FROM KIND_rows WHERE nr <= 100
	RETURNING id, list[1] AS first, made
), news AS (
	SELECT id FROM made UNION ALL SELECT id FROM parts
	UNION ALL SELECT unnest(ARRAY[id, first, made]) FROM refs
)
SELECT 'KIND', count(*), count(DISTINCT id),
	bool_and(TIMESTAMP(id) > (SELECT max(made) FROM KIND_rows))
FROM news;
SQL
# What the triggers of all kinds wrote in this transaction, and whether that is later than before.
my $heard = <<'SQL';
WITH heard AS (
	SELECT event, visit::flake128, xmin = pg_current_xact_id()::xid AS new FROM heard
)
SELECT count(*), count(DISTINCT event), min(event) > (SELECT max(event) FROM heard WHERE NOT new),
	count(DISTINCT visit), min(visit) > (SELECT max(visit) FROM heard WHERE NOT new)
FROM heard WHERE new;
SQL

# Tests that the defaults generate IDs that are later than all before. The rows don't stay.
sub _continues {
	my ($node, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $events = 100 * @KINDS;
	return is(
		$node->safe_psql($database, $SETTINGS . 'BEGIN;' . of_all_kinds($new) . "$heard;ROLLBACK"),
		of_all_kinds("KIND|500|500|t\n") . "$events|$events|t|$events|t",
		'the defaults generate IDs that are later than all before');
}

1;
