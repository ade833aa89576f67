# A transaction generates its ID before another one does, and commits after it. A reader that asks
# for the rows after its last one loses the earlier row. A reader that also asks for rows below the
# watermark reads both.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);
use Watermark;

my $node = server_with_tables('lost');
my ($early, $late, $reader) = map { session($node) } 1 .. 3;

# Returns the IDs after the last one that a reader has read.
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

$_->quit for $early, $late, $reader;
$node->stop;
done_testing();
