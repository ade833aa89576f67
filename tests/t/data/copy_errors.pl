# Any bytes of the right number are an ID in COPY's binary format. A wrong ID, in text or in binary,
# keeps all rows out. The error names the line and the column.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Server;
use Test::More;

my $node = copy_server('copy_errors');
my $dir = $node->basedir;
my $version = $node->pg_version->major;
my $session = session($node);
sub sql { return $session->query_safe($_[0]) }

my $names = join ', ', map { $_->{name} } @ID_COLUMNS;
my $count = 'SELECT count(*) FROM copies';
sql(<<~"SQL");
	SET client_min_messages = warning;
	CREATE TABLE ids (nr integer, $ID_COLUMNS);
	CREATE TABLE copies (LIKE ids);
	INSERT INTO ids (nr) SELECT generate_series(0, 5000);
	SQL

# A file in binary has 1,000 rows, and then one with an ID of a wrong length. A bigint and a UUID that
# are too short are errors of the protocol.
my @good = map { "\1" x $_->{bytes} } @ID_COLUMNS;
for my $i (0 .. $#ID_COLUMNS) {
	my ($name, $type, $bytes) = @{ $ID_COLUMNS[$i] }{qw(name type bytes)};
	my $is_own = $name !~ /^(?:flake|typed|uuidv7)$/;
	for my $length (0, $bytes - 1, $bytes + 1, 2 * $bytes, 100_000) {
		my @wrong = @good;
		$wrong[$i] = "\1" x $length;
		write_rows("$dir/wrong", (\@good) x 1000, \@wrong);
		my $state = !$is_own && $length < $bytes ? '08P01' : '22P03';
		my $detail = $is_own ? "DETAIL:  A $type has $bytes bytes, this value has $length\\." : '';
		like(
			error_in($session, "COPY copies ($names) FROM '$dir/wrong' (FORMAT binary)"),
			qr/ERROR:  $state: .*$detail.*^CONTEXT:  COPY copies, line 1001, column $name$/ms,
			"$length bytes are no $name, and the error names the line and the column");
	}
}
write_rows("$dir/short", \@good, [ @good[ 1 .. $#good ] ]);
like(
	error_in($session, "COPY copies ($names) FROM '$dir/short' (FORMAT binary)"),
	qr/ERROR:  22P04: row field count is 7, expected 8/,
	'a row of fewer fields is an error');
is(sql($count), '0', 'no row of these files comes in');
write_rows("$dir/right", (\@good) x 1000);
sql("COPY copies ($names) FROM '$dir/right' (FORMAT binary)");
is(sql($count), '1000', 'the rows before the wrong one come in by themselves');
my %ends = (
	sno => '2222222222222222|xxxxxxxxxxxxxxxx',
	flake128 => '0|7n42DGM5Tflk9n8mt7Fhc7',
	guid => '................|zzzzzzzzzzzzzzzz',
	guid_local => '................|EEEEEEEEEEEEEEEE',
	uniqueid => '0000000000000000|ffffffffffffffff');
my @least = map { "\0" x $_->{bytes} } @ID_COLUMNS;
my @greatest = map { "\xff" x $_->{bytes} } @ID_COLUMNS;
write_rows("$dir/ends", \@least, \@greatest);
sql("TRUNCATE copies; COPY copies ($names) FROM '$dir/ends' (FORMAT binary)");

for my $name (sort keys %ends) {
	is(sql("SELECT min($name), max($name) FROM copies"),
		$ends{$name}, "the least and the greatest bytes are the least and the greatest $name");
}
write_rows("$dir/sno", [ pack 'H*', '3e0a275a410101ab0065' ]);
sql("TRUNCATE copies; COPY copies (sno) FROM '$dir/sno' (FORMAT binary)");
is(sql('SELECT sno FROM copies'),
	'9q74gok3262so257', 'the bytes of a sno in binary are big-endian');

for my $column (grep { $_->{name} ne 'flake' } @ID_COLUMNS) {
	my $name = $column->{name};
	# A flake is read as a bigint is.
	my $type = $column->{type} eq 'flake' ? 'bigint' : $column->{type};
	sql(<<~"SQL");
		TRUNCATE copies;
		COPY (SELECT CASE nr WHEN 4000 THEN '?' ELSE $name\::text END FROM ids ORDER BY nr)
			TO '$dir/spoilt';
		SQL
	my $error = qr/22P02: invalid input syntax for type $type: "\?"/;
	like(
		error_in($session, "COPY copies ($name) FROM '$dir/spoilt'"),
		qr/$error.*^CONTEXT:  COPY copies, line 4001, column $name: "\?"$/ms,
		"a text that is no $name is an error that names the line and the column");
	is(sql($count), '0', "no row of a file with a text that is no $name comes in");
	if ($version >= 17) {
		sql("COPY copies ($name) FROM '$dir/spoilt' (ON_ERROR ignore)");
		is(sql($count), '5000', "with ON_ERROR all rows but the one that is no $name come in");
	}
}

$session->quit;
$node->stop;
done_testing();
