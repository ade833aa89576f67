# Sessions whose uniqueids rise all insert into the right-most leaf of an index. Sessions with
# spread uniqueids do not meet there.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $sessions = 8;
my $each = 100;
my $node = flakeid_server('spread', 'autovacuum = off');
sub sql { return $node->safe_psql('postgres', $_[0]) }
# It comes with PostgreSQL, but not with every package of it.
my $inspects = sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pageinspect'});
sql('CREATE EXTENSION pageinspect') if $inspects;

my $script = PostgreSQL::Test::Utils::tempdir('spread') . '/insert.sql';

# Inserts rows into a table that has had IDs for a year. Returns the share of the rows that goes
# above nearly all old ones in the index, and how many of its old pages change.
sub inserted {
	my ($mode) = @_;
	sql(<<"SQL");
CREATE TABLE $mode (id uniqueid DEFAULT uniqueid_next('$mode'), old boolean DEFAULT false);
INSERT INTO $mode
SELECT uniqueid_at(now() - i * interval '317.003 s', 0, '$mode'), true
FROM generate_series(1, 100000) AS i;
CREATE UNIQUE INDEX ${mode}_id ON $mode (id);
CHECKPOINT;
SQL
	my $pages = "pg_relation_size('${mode}_id') / current_setting('block_size')::bigint";
	my ($lsn, $last) = split /\|/, sql("SELECT pg_current_wal_insert_lsn(), $pages - 1");
	append_to_file("$script.$mode", "INSERT INTO $mode DEFAULT VALUES;\n\\sleep 5 ms\n");
	$node->command_ok(
		[
			'pgbench', '-n', '-c', $sessions, '-t', $each, '-f', "$script.$mode",
			$node->connstr('postgres')
		],
		"$sessions sessions insert IDs of $mode");
	# A leaf has room for some 400.
	my $above = sql(<<"SQL");
SELECT avg((id > bound)::integer) FROM $mode,
	(SELECT id AS bound FROM $mode WHERE old ORDER BY id DESC OFFSET 400 LIMIT 1) AS leaf
WHERE NOT old
SQL
	my $changed = $inspects && sql(<<"SQL");
SELECT count(*) FROM generate_series(1, $last) AS page
WHERE (page_header(get_raw_page('${mode}_id', page))).lsn > '$lsn'
SQL
	is( sql("SELECT count(*), count(DISTINCT id) FROM $mode WHERE NOT old"),
		join('|', ($sessions * $each) x 2),
		"each row of $mode has an ID of its own");
	note "$mode: $above of them right, $changed of $last pages";
	return ($above, $changed);
}

my ($above, $changed) = inserted('time_sequential');
my ($above_of_spread, $changed_of_spread) = inserted('spread');
is($above, '1.00000000000000000000', 'IDs that rise all go to the right-most leaf');
cmp_ok($above_of_spread, '<', 0.05, 'fewer than 5 % of the spread IDs go to the right-most leaf');
SKIP:
{
	skip 'no pageinspect', 2 unless $inspects;
	cmp_ok($changed, '<=', 3, 'IDs that rise change at most three of the other pages');
	cmp_ok($changed_of_spread, '>', 50, 'spread IDs change more than 50 pages');
}

$node->stop;
done_testing();
