# The query of docs/troubleshooting.md for what a dump loses lists what its reader can change. So it
# has no copies that PostgreSQL makes for partitions and children. It reads each place that
# PostgreSQL has for expressions. The forms for dumps that the page names mean the same.
use strict;
use warnings;
use lib 'tests/perl';

use DumpLosses;
use Server;
use Test::More;

my $node = flakeid_server('copies');
sub sql { return $node->safe_psql('postgres', $_[0]) }

# Partitions and children have copies, which nobody can change alone. The query has only the
# parent, until a copy becomes an object of its own.
sql(<<'SQL');
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE parted (id sno, other sno, CONSTRAINT differs CHECK (id IS DISTINCT FROM other))
	PARTITION BY RANGE (id);
CREATE INDEX parted_index ON parted ((nullif(id, other)));
CREATE TRIGGER changed AFTER UPDATE ON parted
	FOR EACH ROW WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION nothing();
CREATE TABLE created PARTITION OF parted DEFAULT PARTITION BY RANGE (id);
CREATE TABLE below PARTITION OF created DEFAULT;
CREATE TABLE parent (id sno, other sno, CONSTRAINT differs CHECK (id IS DISTINCT FROM other));
CREATE TABLE child () INHERITS (parent);
SQL
my @of_parents = (
	'constraint differs on table parent',
	'constraint differs on table parted',
	'index parted_index',
	'trigger changed on table parted');
is(sql($QUERY), join("\n", @of_parents), 'the query lists no copies');
sql('ALTER TABLE parted DETACH PARTITION created');
sql('ALTER TABLE child NO INHERIT parent');
is( sql($QUERY),
	join("\n",
		sort @of_parents,
		'constraint differs on table child',
		'constraint differs on table created',
		'index created_nullif_idx'),
	'it lists them if they are no copies any more');
is(sql('DROP TABLE parent, parted, child, created CASCADE') . sql($QUERY),
	'', 'it lists nothing if there is nothing');

# The query reads all that PostgreSQL stores of this kind, but for constants, and for the row
# filters of publications, which can have no operator of flakeid.
is( sql(<<'SQL'),
SELECT string_agg(attname, ' ' ORDER BY attname)
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE atttypid = 'pg_node_tree'::regtype AND relnamespace = 'pg_catalog'::regnamespace
SQL
	join(' ',
		sort 'relpartbound',
		'prqual',
		$QUERY =~
		  /\b(ev_\w+|tgqual|pol(?:qual|withcheck)|conbin|adbin|ind(?:exprs|pred)|partexprs)\b/g,
		$QUERY =~ /\b(prosqlbody|proargdefaults|stxexprs|typdefaultbin)\b/g),
	'the query reads each column of expressions');
sql('CREATE TABLE a (id sno, other sno)');
like(
	error_of($node, 'CREATE PUBLICATION p FOR TABLE a WHERE (id IS DISTINCT FROM other)'),
	qr/User-defined operators are not allowed/,
	'a row filter has no operator of flakeid');

# The other forms of the page mean the same, also with NULL.
for (
	[ 'id IS DISTINCT FROM t', 'NOT coalesce(id = t, id IS NULL AND t IS NULL)' ],
	[ 'id IS DISTINCT FROM other', 'id::text IS DISTINCT FROM other::text' ],
	[ 'nullif(id, other)', 'CASE WHEN id = other THEN NULL ELSE id END' ],
	[ 'CASE id WHEN other THEN 1 ELSE 2 END', 'CASE WHEN id = other THEN 1 ELSE 2 END' ],
	[ '(id, nr) < (other, 1)', 'id < other OR id = other AND nr < 1' ])
{
	my ($form, $other) = @$_;
	is(sql(<<~"SQL"), '64', "$other means the same as $form");
		WITH ids (id, t) AS (VALUES
			(NULL, NULL::timestamptz), (sno_min('2026-01-01'), '2026-01-01'),
			(sno_max('2026-01-01'), '2026-01-01'), (sno_min('2026-02-01'), '2026-02-01'))
		SELECT count(*) FROM (SELECT b.id, a.id AS other, a.t, nr FROM ids AS a, ids AS b,
			(VALUES (NULL), (0), (1), (2)) AS numbers (nr)) AS rows
		WHERE ($form) IS NOT DISTINCT FROM ($other)
		SQL
}

$node->stop;
done_testing();
