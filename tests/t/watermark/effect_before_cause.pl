# The row of an effect can have a smaller ID than the row of its cause, in the same tick. A copy
# with a deferred foreign key bears that, if its transactions end at a watermark.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Server;
use Test::More;
use Time::HiRes qw(time);
use Watermark;

my $clock = FakedClock->new('effects', <<~'END');
	log_statement = none
	flakeid.generator_ids = '0-7'
	flakeid.max_clock_wait = '10min'
	END
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION flakeid;
	CREATE TABLE causes (id flake PRIMARY KEY DEFAULT flake_next());
	CREATE TABLE effects (id flake PRIMARY KEY DEFAULT flake_next(),
		cause flake NOT NULL REFERENCES causes);
	CREATE TABLE at_once_causes (LIKE causes INCLUDING INDEXES);
	CREATE TABLE at_once_effects (id flake PRIMARY KEY,
		cause flake NOT NULL REFERENCES at_once_causes);
	CREATE TABLE deferred_causes (LIKE causes INCLUDING INDEXES);
	CREATE TABLE deferred_effects (id flake PRIMARY KEY,
		cause flake NOT NULL REFERENCES deferred_causes DEFERRABLE INITIALLY DEFERRED);
	SQL
my $reader = session($node);

sub insert_rows {
	my ($causing, $seeing) = @_;
	my $cause = $causing->query_safe('INSERT INTO causes DEFAULT VALUES RETURNING id');
	$seeing->query_safe("INSERT INTO effects (cause) VALUES ($cause)");
	return;
}

# While the clock stands still all rows are of one tick. Sessions begin it with different generator
# IDs.
$clock->stand_still(time());
my @sessions = map { session($node) } 1 .. 4;
for my $causing (@sessions) {
	insert_rows($causing, $_) for grep { $_ != $causing } @sessions;
}
$clock->step(0);
my ($effect, $cause) = split /\|/,
  $reader->query_safe('SELECT id, cause FROM effects WHERE id < cause ORDER BY id LIMIT 1');
ok(defined $cause,
	'an effect can have a smaller ID than its cause, if another session has inserted that');
is( $reader->query_safe(
		'SELECT count(*) FROM effects WHERE flake_timestamp(id) < flake_timestamp(cause)'),
	'0',
	'the smaller ID of an effect is of the same tick as that of its cause');

# Copies the rows of both tables in the order of their IDs, in one transaction. Returns the error.
sub error_of_copy {
	my ($copy, $condition) = @_;
	my $statements = $reader->query_safe(<<~"SQL");
		SELECT statement || ';' FROM (
			SELECT id, format('INSERT INTO ${copy}_causes VALUES (%s)', id) FROM causes
			UNION ALL
			SELECT id, format('INSERT INTO ${copy}_effects VALUES (%s, %s)', id, cause) FROM effects
		) AS rows (id, statement)
		WHERE $condition ORDER BY id
		SQL
	return error_of($node, "BEGIN; $statements COMMIT");
}

my $newest = in_micros('max(flake_timestamp(id))');
passes($reader, $reader->query_safe("SELECT $newest FROM effects"),
	'the watermark passes all rows');
like(
	error_of_copy('at_once', 'id < flakeid_watermark()'),
	qr/ERROR:  23503: .*at_once_effects/,
	'a copy in ID order violates a foreign key that is not deferred');
like(
	error_of_copy('deferred', "id <= $effect"),
	qr/ERROR:  23503: .*deferred_effects/,
	'a transaction of a copy that ends between the rows violates a deferred foreign key');
is(error_of_copy('deferred', 'id < flakeid_watermark()'),
	'', 'a deferred foreign key bears a copy that ends at the watermark');
is($reader->query_safe("SELECT (SELECT count(*) FROM deferred_$_) = (SELECT count(*) FROM $_)"),
	't', "all $_ are copied")
  for 'causes', 'effects';

# With watermarks from while the rows are inserted, too.
$reader->query_safe('TRUNCATE causes, effects, deferred_causes, deferred_effects');
my ($since, $errors) = ('-infinity', '');
for my $round (1 .. 40) {
	insert_rows(@sessions[ $round % 2, 1 - $round % 2 ]);
	my $upto = $reader->query_safe('SELECT flakeid_watermark()');
	$errors .= error_of_copy('deferred', "id <@ tstzrange('$since', '$upto')");
	$since = $upto;
}
is($errors, '',
	'no transaction of a copy from watermark to watermark fails, while rows are inserted');

$_->quit for @sessions, $reader;
$node->stop;
done_testing();
