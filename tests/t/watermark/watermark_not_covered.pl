# What the watermark does not cover, as reading-in-order.md has it in a table: a row that was there
# before comes into what a reader reads, below the reader's offset.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('not_covered');
$node->safe_psql('postgres', 'CREATE ROLE reader');
my ($writer, $reader) = map { session($node) } 1 .. 2;
my $id = 'id flake DEFAULT flake_next()';

# Each case has tables, a row, another row, up to which the reader reads, what it reads, and a
# change, by which the first row comes into that.
my %cases = (
	'ATTACH PARTITION' => [
		"CREATE TABLE days ($id, day integer) PARTITION BY LIST (day);
		CREATE TABLE days_1 PARTITION OF days FOR VALUES IN (1);
		CREATE TABLE days_2 (LIKE days INCLUDING DEFAULTS)",
		'INSERT INTO days_2 (day) VALUES (2)',
		'INSERT INTO days (day) VALUES (1)',
		'days WHERE true',
		'ALTER TABLE days ATTACH PARTITION days_2 FOR VALUES IN (2)'
	],
	'INHERIT' => [
		"CREATE TABLE parents ($id);
		CREATE TABLE children (LIKE parents INCLUDING DEFAULTS)",
		'INSERT INTO children DEFAULT VALUES',
		'INSERT INTO parents DEFAULT VALUES',
		'parents WHERE true',
		'ALTER TABLE children INHERIT parents'
	],
	'an UPDATE that moves a row into a partition' => [
		"CREATE TABLE shops ($id, region text) PARTITION BY LIST (region);
		CREATE TABLE shops_eu PARTITION OF shops FOR VALUES IN ('eu');
		CREATE TABLE shops_us PARTITION OF shops FOR VALUES IN ('us')",
		"INSERT INTO shops (region) VALUES ('us')",
		"INSERT INTO shops (region) VALUES ('eu')",
		'shops_eu WHERE true',
		"UPDATE shops SET region = 'eu'"
	],
	'a flag' => [
		"CREATE TABLE jobs ($id, done boolean)",
		'INSERT INTO jobs (done) VALUES (false)',
		'INSERT INTO jobs (done) VALUES (true)',
		'jobs WHERE done',
		'UPDATE jobs SET done = true'
	],
	'a policy' => [
		"CREATE TABLE notes ($id, is_public boolean);
		GRANT SELECT ON notes TO reader;
		ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
		CREATE POLICY of_reader ON notes FOR SELECT TO reader USING (is_public)",
		'INSERT INTO notes (is_public) VALUES (false)',
		'INSERT INTO notes (is_public) VALUES (true)',
		'notes WHERE true',
		'UPDATE notes SET is_public = true'
	],
	'a join' => [
		"CREATE TABLE names (nr integer, name text);
		CREATE TABLE facts ($id, nr integer);
		INSERT INTO names VALUES (2)",
		'INSERT INTO facts (nr) VALUES (1)',
		'INSERT INTO facts (nr) VALUES (2)',
		'facts JOIN names USING (nr) WHERE true',
		'INSERT INTO names VALUES (1)'
	],);
for my $case (sort keys %cases) {
	my ($tables, $row, $next_row, $from, $change) = @{ $cases{$case} };
	$writer->query_safe($tables);
	my $first = $writer->query_safe("$row RETURNING id");
	my ($next, $time) = split /\|/,
	  $writer->query_safe("$next_row RETURNING id, " . in_micros('flake_timestamp(id)'));
	passes($reader, $time, "$case: the watermark passes the rows");
	$reader->query_safe('SET ROLE reader') if $case eq 'a policy';
	my $read = "SELECT id FROM $from AND id < flakeid_watermark() ORDER BY id";
	is($reader->query_safe($read), $next, "$case: the reader reads the other row alone");
	$writer->query_safe($change);
	is($reader->query_safe($read), "$first\n$next", "$case: the first row appears before it");
	$reader->query_safe('RESET ROLE');
}

$_->quit for $writer, $reader;
$node->stop;
done_testing();
