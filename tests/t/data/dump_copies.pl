# The query of docs/troubleshooting.md for what a dump loses lists what its reader can change. So it
# has no copies that PostgreSQL makes for partitions and children. It reads each place that
# PostgreSQL has for expressions.
use strict;
use warnings;
use lib 'tests/perl';

use DumpLosses;
use Server;
use Test::More;

my $node = flakeid_server('copies');

# Partitions and children have copies, which nobody can change alone. The query has only the
# parent, until a copy becomes an object of its own.
$node->safe_psql('postgres', <<'SQL');
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
is($node->safe_psql('postgres', $QUERY), join("\n", @of_parents), 'the query lists no copies');
$node->safe_psql('postgres', 'ALTER TABLE parted DETACH PARTITION created');
$node->safe_psql('postgres', 'ALTER TABLE child NO INHERIT parent');
is( $node->safe_psql('postgres', $QUERY),
	join("\n",
		sort @of_parents,
		'constraint differs on table child',
		'constraint differs on table created',
		'index created_nullif_idx'),
	'it lists them if they are no copies any more');
is( $node->safe_psql('postgres', 'DROP TABLE parent, parted, child, created CASCADE')
	  . $node->safe_psql('postgres', $QUERY),
	'',
	'it lists nothing if there is nothing');

# The query reads all that PostgreSQL stores of this kind, but for constants, and for the row
# filters of publications, which can have no operator of flakeid.
is( $node->safe_psql('postgres', <<'SQL'),
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

$node->stop;
done_testing();
