# The programs examples/public_form.py and examples/public-form.js write and read the public form as
# the server does: for IDs of every ID type, with several keys and prefixes, and for texts and UUIDs
# that are refused. Both, and the server, return the worked examples of
# docs/public-form-algorithm.md.
use strict;
use warnings;
use lib 'tests/perl';

use Clients;
use IPC::Run;
use PostgreSQL::Test::Utils;
use PublicKeys;
use Server;
use Test::More;

my %clients = (
	'public_form.py' => [ python(), 'tests/clients/public_form.py' ],
	'public-form.js' => [ in_path('node'), 'tests/clients/public-form.js' ]);
for my $name (sort keys %clients) {
	next unless grep { !defined } @{ $clients{$name} };
	fail("$name cannot run: what it needs is missing or old; run scripts/setup 15 tests");
	delete $clients{$name};
}

my %key = (1 => $NIST, b => $OTHER, Z => $THIRD);
my $node = flakeid_server('public_form_clients');
sub sql { return $node->safe_psql('postgres', $_[0]) }

# Returns a file of keys with these versions.
sub keys_of {
	return join "\n", '# keys of the test', 'q retired', (map { "$_ $key{$_}" } @_), '',
	  "r\tretired", '';
}

use_keys($node, keys_of('1'));
my $key_file = keys_file($node);
sql('\i tests/clients/public_form_calls.sql');

# What the clients return for calls, each a line.
sub results_of {
	my ($name, $calls) = @_;
	my ($output, $complaints);
	IPC::Run::run([ @{ $clients{$name} }, $key_file ],
		'<', \$calls, '>', \$output, '2>', \$complaints);
	is($?, 0, "$name answers") or diag($complaints);
	return $output;
}

# Compares both clients with the results of the calls in the table.
sub compare {
	my ($claim) = @_;
	my @columns = map { sql("SELECT $_ FROM calls ORDER BY nr") }
	  q{concat_ws(E'\t', method, id_type, prefix, value)}, 'result';
	my @calls = split /\n/, $columns[0];
	my @results = split /\n/, $columns[1];
	for my $name (sort keys %clients) {
		my @own = split /\n/, results_of($name, "$columns[0]\n");
		my @differ = grep { ($own[$_] // 'nothing') ne $results[$_] } 0 .. $#results;
		is(scalar(@differ), 0, "$name $claim, in " . scalar(@results) . ' calls')
		  or diag("$calls[$differ[0]]: "
			  . ($own[ $differ[0] ] // 'nothing')
			  . ", and the server $results[$differ[0]]");
	}
	return;
}

# the worked examples --------------------------------------------------------------------------

my $page = slurp_file('docs/public-form-algorithm.md');
my @rows =
  $page =~ /^\| (\w+) \| `(\w+)` \| `([^`]+)` \| `(\w+_\w+)` \| (`[0-9a-f-]{36}`|none) \|$/mg;
is(@rows, 7 * 5, 'the page has an example of each ID type');
while (my ($id_type, $prefix, $id, $text, $uuid) = splice @rows, 0, 5) {
	my @expected = ($text, $uuid =~ /`(.*)`/ ? $1 : 'refused');
	my $value = sql(<<"SQL");
SELECT format(writes, format('%L::%s', '$id', value_type)) FROM types WHERE id_type = '$id_type'
SQL
	my $written = sql("SELECT $value");
	my $calls = join '', map { "$_\t$id_type\t$prefix\t$written\n" } 'to_public', 'to_public_uuid';
	$calls .= "from_public\t$id_type\t$prefix\t$text\n";
	$calls .= "from_public_uuid\t$id_type\t$prefix\t$expected[1]\n" if $expected[1] ne 'refused';
	push @expected, ($written) x ($expected[1] eq 'refused' ? 1 : 2);
	my $expected = join '', map { "$_\n" } @expected;

	for my $name (sort keys %clients) {
		is(results_of($name, $calls), $expected, "$name returns the example of $id_type");
	}
	my @queries = map { s/([^\t]+)/'$1'/gr =~ tr/\t/,/r } split /\n/, $calls;
	is(sql(join '', map { "SELECT try($_);\n" } @queries) . "\n",
		$expected, "the server returns the example of $id_type");
}

# random IDs, and what is refused --------------------------------------------------------------

for my $versions ([ '1', 'b' ], [ 'b', 'Z', '1' ]) {
	write_keys($node, keys_of(@$versions));
	reload($node);
	sql(<<'SQL');
TRUNCATE calls;
INSERT INTO calls (method, id_type, prefix, value)
	SELECT method, id_type, left(digest, nr % 45),
		random_id(id_type, epoch + random() * (now() - epoch))
	FROM types, unnest('{to_public,to_public_uuid}'::text[]) AS method,
		generate_series(1, 250) AS nr,
		translate(encode(sha256(nr::text::bytea), 'base64'), '+/=', '-_0') AS digest,
		CAST('2010-01-01 00:00+00' AS timestamptz) AS epoch
	WHERE (id_type, method) <> ('flake128', 'to_public_uuid');
UPDATE calls SET result = try(method, id_type, prefix, value);
SQL
	is(sql("SELECT count(*), count(*) FILTER (WHERE result = 'refused') FROM calls"),
		'3250|0', "the server has a public form of each ID, with the keys @$versions");
	compare("writes the public forms that the server writes, with the keys @$versions");

	# In the second turn those of the first one are read, too. Their key is not the first one any
	# more.
	sql(<<'SQL');
INSERT INTO written SELECT method, id_type, prefix, value, result FROM calls;
TRUNCATE calls;
INSERT INTO calls (method, id_type, prefix, value)
	SELECT replace(method, 'to_', 'from_'), id_type, prefix, result FROM written;
UPDATE calls SET result = try(method, id_type, prefix, value);
SQL
	is(sql(<<'SQL'), 't', "the server reads what it wrote, with the keys @$versions");
SELECT bool_and(calls.result = written.value)
FROM written JOIN calls ON calls.value = written.result AND calls.prefix = written.prefix
WHERE calls.id_type <> 'uuidv7' OR calls.method = 'from_public'
SQL
	compare("reads the public forms that the server reads, with the keys @$versions");
}

# Changed texts, random texts, and UUIDs of all kinds. A part of them is read, as another ID.
sql(<<'SQL');
TRUNCATE calls;
CALL add_changed_forms();
-- IDs without a public form: of a time after the clock, a negative flake, other UUIDs.
INSERT INTO calls (method, id_type, prefix, value)
	SELECT method, id_type, 'late',
		random_id(id_type, now() + interval '2 days' + random() * interval '10 years')
	FROM types, generate_series(1, 10), unnest('{to_public,to_public_uuid}'::text[]) AS method
	WHERE (id_type, method) <> ('flake128', 'to_public_uuid')
	UNION ALL SELECT 'to_public', 'flake', '', '-1'
	UNION ALL SELECT 'to_public', 'uuidv7', '', gen_random_uuid()::text
	UNION ALL SELECT 'to_public', 'flake', prefix, '1'
	FROM unnest(ARRAY['a b', 'ä', repeat('x', 64), 'a.b']) AS prefix;
UPDATE calls SET result = try(method, id_type, prefix, value);
SQL
is(sql("SELECT bool_and(result = 'refused') FROM calls WHERE method LIKE 'to_%'"),
	't', 'the server refuses IDs without a public form');
is(sql("SELECT count(DISTINCT result = 'refused') FROM calls WHERE method LIKE 'from_%'"),
	'2', 'the server refuses a part of the texts, and reads others');
compare('refuses what the server refuses, and reads what it reads');

$node->stop;
done_testing();
