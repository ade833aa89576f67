# A dump loses expressions whose operator PostgreSQL prints without a schema.
# docs/troubleshooting.md says which these are, finds them with a query, names a form for each that
# a dump keeps, and gets back what a restore has lost. Each is tried with every ID type. What is
# called lost_... must be lost and found, and what is called kept_... must be neither.
use strict;
use warnings;
use lib 'tests/perl';

use DumpLosses;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $page = slurp_file('docs/troubleshooting.md');
my ($sed) = $page =~ /^pg_restore -f - shop\.dump \| (sed ".*") \| psql -d shop$/m
  or die 'the page has no command that restores them';

my $node = flakeid_server('dump_operators');
my $dir = PostgreSQL::Test::Utils::tempdir('dumps');

# What is not there, in a schema for each ID type. ID is the type, NEXT makes one.
my $base = <<'SQL';
CREATE TABLE a (id ID PRIMARY KEY DEFAULT NEXT, other ID DEFAULT NEXT, nr integer);
CREATE TABLE b (id ID PRIMARY KEY, nr integer);
INSERT INTO a (nr) SELECT generate_series(1, 3);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SQL

# A view for each expression, and all other places for one of them.
my %view = (
	lost_distinct => 'SELECT id IS DISTINCT FROM other AS x FROM a',
	kept_distinct => 'SELECT id::text IS DISTINCT FROM other::text AS x FROM a',
	kept_unequal => 'SELECT id <> other AS x FROM a',
	lost_same => 'SELECT id IS NOT DISTINCT FROM other AS x FROM a',
	lost_nullif => 'SELECT nullif(id, other) AS x FROM a',
	kept_nullif => 'SELECT CASE WHEN id = other THEN NULL ELSE id END AS x FROM a',
	lost_case => 'SELECT CASE id WHEN other THEN 1 END AS x FROM a',
	kept_case => 'SELECT CASE WHEN id = other THEN 1 END AS x FROM a',
	lost_using => 'SELECT a.nr FROM a JOIN b USING (id)',
	lost_natural => 'SELECT a.nr FROM a NATURAL JOIN b',
	kept_on => 'SELECT a.nr FROM a JOIN b ON a.id = b.id',
	kept_in => 'SELECT id IN (SELECT id FROM b) AND id = ANY (ARRAY[other]) AS x FROM a',
	lost_row_in => 'SELECT (id, nr) IN (SELECT id, nr FROM b) AS x FROM a',
	lost_row_select_in =>
	  'SELECT (id, (SELECT id FROM b LIMIT 1), nr) IN (SELECT id, id, nr FROM b) AS x FROM a',
	lost_row_not_in =>
	  'SELECT (id, (SELECT id FROM b LIMIT 1), nr) NOT IN (SELECT id, id, nr FROM b) AS x FROM a',
	lost_number_in =>
	  'SELECT (nr, (SELECT nr FROM b LIMIT 1), id) IN (SELECT nr, nr, id FROM b) AS x FROM a',
	kept_row_case =>
	  'SELECT (CASE WHEN nr > 1 THEN id END, other) IN (SELECT id, id FROM b) AS x FROM a',
	kept_row_compared => 'SELECT (nr, id = other) IN (SELECT nr, true FROM b) AS x FROM a',
	kept_row_compared_first => 'SELECT ((id = other), nr) IN (SELECT true, nr FROM b) AS x FROM a',
	kept_row_compared_select => 'SELECT (id = other, nr) = (SELECT true, 1) AS x FROM a',
	kept_exists => 'SELECT EXISTS (SELECT FROM b WHERE b.id = a.id AND b.nr = a.nr) AS x FROM a',
	lost_row => 'SELECT (id, nr) < (other, 1) AS x FROM a',
	kept_row => 'SELECT id < other OR id = other AND nr < 1 AS x FROM a',);
my $places = <<'SQL';
CREATE MATERIALIZED VIEW PREFIX_mat AS SELECT EXPR AS x FROM a;
CREATE RULE PREFIX_rule AS ON UPDATE TO b WHERE NEW_EXPR DO INSTEAD NOTHING;
CREATE TRIGGER PREFIX_trigger BEFORE UPDATE ON a
	FOR EACH ROW WHEN (NEW_EXPR) EXECUTE FUNCTION nothing();
CREATE POLICY PREFIX_policy ON a USING (EXPR);
CREATE INDEX PREFIX_index ON a (nr) WHERE EXPR;
CREATE INDEX PREFIX_expression ON a ((EXPR));
CREATE STATISTICS PREFIX_statistics ON (EXPR), nr FROM a;
CREATE DOMAIN PREFIX_domain AS ID CHECK (VALUE_EXPR);
CREATE FUNCTION PREFIX_body(id ID, other ID) RETURNS boolean LANGUAGE sql
	BEGIN ATOMIC SELECT EXPR; END;
CREATE FUNCTION PREFIX_argument(x boolean DEFAULT CONST_EXPR) RETURNS boolean LANGUAGE sql
	AS 'SELECT x';
CREATE TABLE PREFIX_check (id ID, other ID, CHECK (EXPR));
CREATE TABLE PREFIX_default (nr integer, x boolean DEFAULT CONST_EXPR);
CREATE TABLE PREFIX_generated (id ID, other ID, x boolean GENERATED ALWAYS AS (EXPR) STORED);
CREATE TABLE PREFIX_key (id ID, other ID) PARTITION BY LIST ((EXPR));
INSERT INTO PREFIX_check SELECT id, other FROM a;
INSERT INTO PREFIX_generated SELECT id, other FROM a;
INSERT INTO PREFIX_default VALUES (1);
SQL
$places = join '', map {
	my ($prefix, $expression) = @$_;
	my %operands = ('' => [ 'id', 'other' ], NEW_ => [ 'OLD.id', 'NEW.id' ]);
	$operands{$_} = [ "'FIRST'::ID", "'LAST'::ID" ] for 'VALUE_', 'CONST_';
	$places =~ s/PREFIX/$prefix/gr =~
	  s/((?:NEW_|VALUE_|CONST_)?)EXPR/$expression->(@{ $operands{$1} })/ger
  }[ lost => sub { "$_[0] IS DISTINCT FROM $_[1]" } ],
  [ kept => sub { "$_[0]::text IS DISTINCT FROM $_[1]::text" } ];
my @forms = map { "CREATE VIEW $_ AS $view{$_};\n" } sort keys %view;

# Everything that has such a name.
my $names = <<'SQL';
SELECT name FROM (
	SELECT relname FROM pg_class
	UNION ALL SELECT rulename FROM pg_rewrite UNION ALL SELECT tgname FROM pg_trigger
	UNION ALL SELECT polname FROM pg_policy UNION ALL SELECT proname FROM pg_proc
	UNION ALL SELECT conname FROM pg_constraint UNION ALL SELECT stxname FROM pg_statistic_ext
	UNION ALL SELECT typname FROM pg_type WHERE typtype = 'd'
) AS objects (name) WHERE name ~ '^(lost|kept)_' ORDER BY name
SQL

# The same, and how many rows a table has.
sub objects_in {
	my ($database) = @_;
	return map {
		/^(?:lost|kept)_(?:check|default|generated)$/
		  ? $_ . ' with rows: ' . $node->safe_psql($database, "SELECT count(*) FROM $_")
		  : $_
	  }
	  split /\n/, $node->safe_psql($database, $names);
}

for my $name (qw(sno flake128 guid guid_local uniqueid)) {
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION flakeid');
	my ($first, $last) = map { $node->safe_psql($name, "SELECT ${name}_$_(now())") } 'min', 'max';
	my $sql =
	  join('', $base, @forms, $places) =~ s/\bID\b/$name/gr =~ s/\bNEXT\b/${name}_next()/gr =~
	  s/FIRST/$first/gr =~ s/LAST/$last/gr;
	$node->safe_psql($name, $sql);
	my @all = objects_in($name);
	cmp_ok(scalar(grep { /^lost_/ } @all), '>=', 25, "$name: there are objects for a dump to lose");

	# The constraint of a table or a domain stands for that.
	my %listed = map { s/^(\w+?_\w+)_check$/$1/r => 1 }
	  map { /\b((?:lost|kept)_\w+)/g } $node->safe_psql($name, $QUERY);
	my %lost = map { s/^(\w+?_\w+)_check$/$1/r => 1 } map { /^(lost_\w+)/ } @all;
	is_deeply(
		[ sort keys %listed ],
		[ sort keys %lost ],
		"$name: the page's query lists what a dump loses and nothing that it keeps");

	my $dump = "$dir/$name";
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $name ], "$name: pg_dump has no error");
	$node->safe_psql('postgres', "CREATE DATABASE ${name}_restored");
	$node->command_fails_like(
		[ 'pg_restore', '-d', "${name}_restored", $dump ],
		qr/operator does not exist: public\.$name = public\.$name/,
		"$name: pg_restore has the error that the page shows");
	is_deeply(
		[ objects_in("${name}_restored") ],
		[ grep { /^kept_/ } @all ],
		"$name: the restore has lost these, and no other form");

	# What PostgreSQL itself can't read back, with any path.
	my %beyond = map { $_ => 1 } grep { /^lost_row/ } @all;
	my @whole = grep { !$beyond{$_} } @all;
	$node->safe_psql('postgres', "CREATE DATABASE ${name}_again");
	is( restore("pg_restore -f - $dump", "${name}_again"),
		scalar(keys %beyond),
		"$name: with the page's command only comparisons of mixed rows are errors");
	is_deeply([ objects_in("${name}_again") ],
		\@whole, "$name: all else is back then, with its rows");

	restore("pg_restore --schema-only -f - $dump", "${name}_restored");
	$node->command_ok(
		[
			'pg_restore', '--data-only', '-d', "${name}_restored",
			(map { ('-t', $_) } 'lost_check', 'lost_default', 'lost_generated'), $dump
		],
		"$name: pg_restore loads the rows of the tables that were lost");
	is_deeply([ objects_in("${name}_restored") ],
		\@whole, "$name: a database in use gets back what it has lost");
}

# Runs the page's command, and returns how often an operator was not found.
sub restore {
	my ($from, $database) = @_;
	my $errors = '';
	IPC::Run::run(
		[ 'sh', '-c', "$from | $sed | psql -X -q -d '" . $node->connstr($database) . "'" ],
		'>', \my $out, '2>', \$errors);
	return scalar(() = $errors =~ /ERROR:  operator does not exist/g);
}

$node->stop;
done_testing();
