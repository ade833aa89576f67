# What a reader that asks for the rows after its last one loses, and what the watermark does not
# cover. A transaction generates its ID before another one does, and commits after it: without the
# watermark the reader loses the earlier row. The watermark does not help where a row that was there
# before comes into what a reader reads, below the reader's offset, as reading-in-order.md has it in
# a table.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);
use Watermark;

my $node = server_with_tables('rows_below');
$node->safe_psql('postgres', 'CREATE ROLE reader');
my ($early, $late, $reader) = map { session($node) } 1 .. 3;

sub rows_after {
	my ($id_type, $last, $condition) = @_;
	my $after = defined $last ? "id > '$last'" : 'true';
	return split /\n/,
	  $reader->query_safe(
		"SELECT id FROM $id_type->{name}s WHERE $after AND $condition ORDER BY id");
}

# Tests readers of a table while these transactions are open.
sub reader_loses_a_row {
	my ($id_type, $level) = @_;
	my ($name, $type) = @$id_type{ 'name', 'type' };
	my $insert = "INSERT INTO ${name}s DEFAULT VALUES RETURNING id";
	my ($last) = reverse rows_after($id_type, undef, 'true');
	my ($id, $later) = $early->query_safe("BEGIN ISOLATION LEVEL $level; $insert");
	do {
		$later = $late->query_safe("BEGIN ISOLATION LEVEL $level; $insert");
		$late->query_safe('COMMIT');
	} until $late->query_safe("SELECT '$later'::$type > '$id'::$type") eq 't';

	my @without = rows_after($id_type, $last, 'true');
	is($without[-1], $later, 'a reader without the watermark reads the later row first');
	clock_passes($reader,
		$reader->query_safe('SELECT ' . in_micros("${name}_timestamp('$later')")));
	my @with = rows_after($id_type, $last, before_watermark($id_type));
	ok(!(grep { $_ eq $later } @with),
		'a reader with the watermark does not read the later row yet');
	$early->query_safe('COMMIT');
	is_deeply([ grep { $_ eq $id } rows_after($id_type, $without[-1], 'true') ],
		[], 'a reader without the watermark never reads the earlier row');
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;

	until (grep { $_ eq $later } @with) {
		die 'the watermark does not pass the row' if time() > $until;
		push @with, rows_after($id_type, $with[-1] // $last, before_watermark($id_type));
	}
	is_deeply(
		\@with,
		[ rows_after($id_type, $last, 'true') ],
		'a reader with the watermark reads both rows, in order');
	return;
}

for my $id_type (@ID_TYPES) {
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') {
		subtest "$id_type->{name}, $level: a reader without the watermark loses a row" =>
		  sub { reader_loses_a_row($id_type, $level) };
	}
}

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
	$late->query_safe($tables);
	my $first = $late->query_safe("$row RETURNING id");
	my ($next, $time) = split /\|/,
	  $late->query_safe("$next_row RETURNING id, " . in_micros('flake_timestamp(id)'));
	passes($reader, $time, "$case: the watermark passes the rows");
	$reader->query_safe('SET ROLE reader') if $case eq 'a policy';
	my $read = "SELECT id FROM $from AND id < flakeid_watermark() ORDER BY id";
	is($reader->query_safe($read), $next, "$case: the reader reads the other row alone");
	$late->query_safe($change);
	is($reader->query_safe($read), "$first\n$next", "$case: the first row appears before it");
	$reader->query_safe('RESET ROLE');
}

$_->quit for $early, $late, $reader;
$node->stop;
done_testing();
