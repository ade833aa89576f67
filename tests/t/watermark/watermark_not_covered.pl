# What the watermark does not cover, as reading-in-order.md has it in a table: a row that was there before comes into what
# a reader reads, below the reader's offset. And the row of an effect can have a smaller ID than the row of its cause, in
# the same tick. A copy with a deferred foreign key bears that, if its transactions end at a watermark.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);
use Watermark;

my $clock = FakedClock->new('not_covered', <<'END');
log_statement = none
flakeid.generator_ids = '0-7'
flakeid.max_clock_wait = '10min'
END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE reader');
my ($writer, $reader) = map { session($node) } 1 .. 2;

# rows that come into what is read -------------------------------------------------------------------------------------

# Tests that a row appears below the offset of a reader. The row is there before another one, up to which the reader reads.
sub is_missed {
	my ($case, %how) = @_;
	$writer->query_safe($how{tables});
	my $id = $writer->query_safe("$how{row} RETURNING id");
	my ($next, $time) = split /\|/,
	  $writer->query_safe("$how{next} RETURNING id, " . in_micros('flake_timestamp(id)'));
	passes($reader, $time, "$case: the watermark passes the rows");
	$reader->query_safe('SET ROLE reader') if $how{role};
	my $read = "SELECT id FROM $how{from} AND id < flakeid_watermark() ORDER BY id";
	is($reader->query_safe($read), $next, "$case: the reader reads the other row alone");
	$writer->query_safe($how{change});
	is($reader->query_safe($read), "$id\n$next", "$case: the first row appears before it");
	$reader->query_safe('RESET ROLE');
	return;
}

is_missed(
	'ATTACH PARTITION',
	tables => <<'SQL',
CREATE TABLE days (id flake DEFAULT flake_next(), day integer) PARTITION BY LIST (day);
CREATE TABLE days_1 PARTITION OF days FOR VALUES IN (1);
CREATE TABLE days_2 (LIKE days INCLUDING DEFAULTS);
SQL
	row => 'INSERT INTO days_2 (day) VALUES (2)',
	next => 'INSERT INTO days (day) VALUES (1)',
	from => 'days WHERE true',
	change => 'ALTER TABLE days ATTACH PARTITION days_2 FOR VALUES IN (2)');
is_missed(
	'INHERIT',
	tables =>
	  'CREATE TABLE parents (id flake DEFAULT flake_next()); CREATE TABLE children (LIKE parents INCLUDING DEFAULTS)',
	row => 'INSERT INTO children DEFAULT VALUES',
	next => 'INSERT INTO parents DEFAULT VALUES',
	from => 'parents WHERE true',
	change => 'ALTER TABLE children INHERIT parents');
is_missed(
	'an UPDATE that moves a row into a partition',
	tables => <<'SQL',
CREATE TABLE shops (id flake DEFAULT flake_next(), region text) PARTITION BY LIST (region);
CREATE TABLE shops_eu PARTITION OF shops FOR VALUES IN ('eu');
CREATE TABLE shops_us PARTITION OF shops FOR VALUES IN ('us');
SQL
	row => "INSERT INTO shops (region) VALUES ('us')",
	next => "INSERT INTO shops (region) VALUES ('eu')",
	from => 'shops_eu WHERE true',
	change => "UPDATE shops SET region = 'eu'");
is_missed(
	'a flag',
	tables => 'CREATE TABLE jobs (id flake DEFAULT flake_next(), done boolean)',
	row => 'INSERT INTO jobs (done) VALUES (false)',
	next => 'INSERT INTO jobs (done) VALUES (true)',
	from => 'jobs WHERE done',
	change => 'UPDATE jobs SET done = true');
is_missed(
	'a policy',
	tables => <<'SQL',
CREATE TABLE notes (id flake DEFAULT flake_next(), is_public boolean);
GRANT SELECT ON notes TO reader;
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_reader ON notes FOR SELECT TO reader USING (is_public);
SQL
	row => 'INSERT INTO notes (is_public) VALUES (false)',
	next => 'INSERT INTO notes (is_public) VALUES (true)',
	from => 'notes WHERE true',
	role => 1,
	change => 'UPDATE notes SET is_public = true');
is_missed(
	'a join',
	tables =>
	  'CREATE TABLE names (nr integer, name text); CREATE TABLE facts (id flake DEFAULT flake_next(), nr integer); INSERT INTO names VALUES (2)',
	row => 'INSERT INTO facts (nr) VALUES (1)',
	next => 'INSERT INTO facts (nr) VALUES (2)',
	from => 'facts JOIN names USING (nr) WHERE true',
	change => 'INSERT INTO names VALUES (1)');

# effect before cause --------------------------------------------------------------------------------------------------

my @tables = ('causes', 'effects');
$writer->query_safe(<<'SQL');
CREATE TABLE causes (id flake PRIMARY KEY DEFAULT flake_next());
CREATE TABLE effects (id flake PRIMARY KEY DEFAULT flake_next(), cause flake NOT NULL REFERENCES causes);
CREATE TABLE at_once_causes (LIKE causes INCLUDING INDEXES);
CREATE TABLE at_once_effects (id flake PRIMARY KEY, cause flake NOT NULL REFERENCES at_once_causes);
CREATE TABLE deferred_causes (LIKE causes INCLUDING INDEXES);
CREATE TABLE deferred_effects (id flake PRIMARY KEY, cause flake NOT NULL REFERENCES deferred_causes DEFERRABLE INITIALLY DEFERRED);
SQL

# While the clock stands still all rows are of one tick. Sessions begin it with different generator IDs.
$clock->stand_still(time());
my @sessions = map { session($node) } 1 .. 4;
for my $causing (@sessions) {
	for my $seeing (grep { $_ != $causing } @sessions) {
		my $cause = $causing->query_safe('INSERT INTO causes DEFAULT VALUES RETURNING id');
		$seeing->query_safe("INSERT INTO effects (cause) VALUES ($cause)");
	}
}
$clock->step(0);
$_->quit for @sessions;
my ($effect, $cause) = split /\|/,
  $reader->query_safe('SELECT id, cause FROM effects WHERE id < cause ORDER BY id LIMIT 1');
ok(defined $cause,
	'an effect can have a smaller ID than its cause, if another session has inserted that');
is( $reader->query_safe(
		"SELECT count(*) FROM effects WHERE flake_timestamp(id) < flake_timestamp(cause)"),
	'0',
	'its ID is of the same tick then');

# The rows of both tables in the order of their IDs, as statements that copy them.
sub copies {
	my ($copy, $condition) = @_;
	return split /\n/, $reader->query_safe(<<SQL);
SELECT statement FROM (
	SELECT id, format('INSERT INTO ${copy}_causes VALUES (%s)', id) FROM causes
	UNION ALL SELECT id, format('INSERT INTO ${copy}_effects VALUES (%s, %s)', id, cause) FROM effects) AS rows (id, statement)
WHERE $condition ORDER BY id
SQL
}

passes(
	$reader,
	$reader->query_safe('SELECT ' . in_micros('max(flake_timestamp(id))') . ' FROM effects'),
	'the watermark passes all rows');
like(
	error_of($node, join(';', 'BEGIN', copies('at_once', 'id < flakeid_watermark()'), 'COMMIT')),
	qr/ERROR:  23503: .*at_once_effects/,
	'a copy in ID order violates a foreign key that is not deferred');
like(
	error_of($node, join(';', 'BEGIN', copies('deferred', "id <= $effect"), 'COMMIT')),
	qr/ERROR:  23503: .*deferred_effects/,
	'so does a transaction of the copy that ends between the two rows');
is(error_of($node, join(';', 'BEGIN', copies('deferred', 'id < flakeid_watermark()'), 'COMMIT')),
	'', 'a deferred foreign key bears a copy that ends at the watermark');
is($reader->query_safe("SELECT (SELECT count(*) FROM deferred_$_) = (SELECT count(*) FROM $_)"),
	't', "all $_ are copied")
  for @tables;

# With watermarks from while the rows are inserted, too.
$writer->query_safe('TRUNCATE causes, effects, deferred_causes, deferred_effects');
my @writers = map { session($node) } 1 .. 2;
my ($since, $errors) = ('-infinity', '');
for my $round (1 .. 40) {
	my ($first, $second) = @writers[ $round % 2, 1 - $round % 2 ];
	my $id = $first->query_safe('INSERT INTO causes DEFAULT VALUES RETURNING id');
	$second->query_safe("INSERT INTO effects (cause) VALUES ($id)");
	my $upto = $reader->query_safe('SELECT flakeid_watermark()');
	$errors .= error_of($node,
		join(';', 'BEGIN', copies('deferred', "id <@ tstzrange('$since', '$upto')"), 'COMMIT'));
	$since = $upto;
}
is($errors, '',
	'no transaction of a copy from watermark to watermark fails, while rows are inserted');

$_->quit for @writers, $writer, $reader;
$node->stop;
done_testing();
