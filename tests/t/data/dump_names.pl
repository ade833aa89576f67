# The query of docs/troubleshooting.md for what a dump loses reads what PostgreSQL stores as a text,
# and names are in that text. Names that look like another part of it change nothing. Objects are
# called lost_... if a restore must lose them and the query must list them, and kept_... if neither.
use strict;
use warnings;
use lib 'tests/perl';

use DumpLosses;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('names');
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'source', 'restored';
$node->safe_psql('source', 'CREATE EXTENSION flakeid');

# Names that look like a part of what PostgreSQL stores. Each is the name of a column.
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
my (%view, $sql);
for my $number (0 .. $#odd_names) {
	my $name = '"' . $odd_names[$number] =~ s/"/""/gr . '"';
	$sql .= "CREATE TABLE odd_$number (nr integer, $name integer, id sno, other sno);\n";
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

$node->safe_psql('source', $sql . join '',
	map { "CREATE VIEW $_ AS $view{$_};\n" } sort keys %view);
my @all = sort keys %view;

my %listed = map { $_ => 1 } $node->safe_psql('source', $QUERY) =~ /\b((?:lost|kept)_\w+)/g;
is( join(' ', sort keys %listed),
	join(' ', grep { /^lost_/ } @all),
	'the query lists what a dump must lose and nothing else');

my $dump = PostgreSQL::Test::Utils::tempdir('dumps') . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'source' ], 'pg_dump has no error');
$node->command_fails_like(
	[ 'pg_restore', '-d', 'restored', $dump ],
	qr/operator does not exist/,
	'pg_restore finds operators missing');
my $restored = $node->safe_psql('restored', <<'SQL');
SELECT string_agg(viewname, ' ' ORDER BY viewname COLLATE "C") FROM pg_views
WHERE schemaname = 'public' AND viewname ~ '^(lost|kept)_'
SQL
is($restored, join(' ', grep { /^kept_/ } @all), 'the restore has lost exactly these');

$node->stop;
done_testing();
