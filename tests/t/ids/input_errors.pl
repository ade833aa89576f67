# Any bytes of the right number are an ID in COPY's binary format. A wrong ID, in text or in binary,
# keeps all rows of COPY out, and the error names the line and the column. It is a soft error, too.
# Databases of other encodings have it without the bytes that are not UTF-8.
# pg_regress/sql/bad_input.sql has the texts that each ID type refuses.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('input_errors', '', extra => [ '--locale=C', '--encoding=UTF8' ]);
my $dir = $node->basedir;
my $version = $node->pg_version->major;
my $session = session($node);
sub sql { return $session->query_safe($_[0]) }

# COPY ---------------------------------------------------------------------------------------------

my $names = join ', ', map { $_->{name} } @ID_COLUMNS;
my $count = 'SELECT count(*) FROM copies';
sql(<<~"SQL");
	SET client_min_messages = warning;
	CREATE TABLE ids (nr integer, $ID_COLUMNS);
	CREATE TABLE copies (LIKE ids);
	INSERT INTO ids (nr) SELECT generate_series(0, 5000);
	SQL

# A file in binary has 1,000 rows, and then one with an ID of a wrong length. A bigint and a UUID
# that are too short are errors of the protocol.
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
# A client may send a text where binary is due.
write_rows("$dir/wrong", ['9q74gok3262so257']);
like(
	error_in($session, "COPY copies (sno) FROM '$dir/wrong' (FORMAT binary)"),
	qr/ERROR:  22P03: .*^DETAIL:  A sno has 10 bytes, this value has 16\.$/ms,
	'the text of a sno is no sno in binary');
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
	sno => [ '2' x 16, 'x' x 16 ],
	flake128 => [ '0', '7n42DGM5Tflk9n8mt7Fhc7' ],
	guid => [ '.' x 16, 'z' x 16 ],
	guid_local => [ '.' x 16, 'E' x 16 ],
	uniqueid => [ '0' x 16, 'f' x 16 ]);
my @types = sort keys %ends;
my @least = map { "\0" x $_->{bytes} } @ID_COLUMNS;
my @greatest = map { "\xff" x $_->{bytes} } @ID_COLUMNS;
write_rows("$dir/ends", \@least, \@greatest);
sql("TRUNCATE copies; COPY copies ($names) FROM '$dir/ends' (FORMAT binary)");

for my $name (@types) {
	is( sql("SELECT min($name), max($name) FROM copies"),
		join('|', @{ $ends{$name} }),
		"the least and the greatest bytes are the least and the greatest $name");
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

# texts --------------------------------------------------------------------------------------------

my %text = (
	sno => '9q74gok3262so257',
	flake128 => 'B1p7XwmsfFKKNY0KYq',
	guid => 'Nl2DH.....7xjo..',
	guid_local => '520.BD392CAE3...',
	uniqueid => '66ddb6aa00001000');
for my $type (@types) {
	my $text = $text{$type};
	append_to_file("$dir/nul_$type", '0' x 8 . "\0" . '0' x 7 . "\n");
	like(
		error_in($session, "CREATE TABLE ${type}s (id $type); COPY ${type}s FROM '$dir/nul_$type'"),
		qr/ERROR:  22021: invalid byte sequence for encoding "UTF8": 0x00/,
		"a NUL in the text of a $type is refused");
	my $error = error_in($session, "SELECT length(repeat('0', 10000000)::$type\::text)");
	is( $error eq ''        ? 'read' : 'refused',
		$type eq 'flake128' ? 'read' : 'refused',
		"ten million zeros are a number to a flake128 alone: $type");

	# PostgreSQL has soft errors since version 16.
	next if $version < 16;
	my @otherwise;
	for my $input (
		$text,
		@{ $ends{$type} }, map({ substr($text, 0, 5) . $_ . substr $text, 6 } split //, '!-y F'),
		substr($text, 1), "${text}0", "$text ", " $text", substr($text, 0, -2) . 'é', 'ä' x 8,
		'🦀' x 4, '', '000z', '7n42DGM5Tflk9n8mt7Fhc8', 'z' x 22, '0' x 1000, 'z' x 1000)
	{
		my $raised = error_in($session, "SELECT '$input'::$type");
		my @parts = map { $raised =~ /$_/ ? $1 : '' } qr/ERROR:  \w{5}: (.*)/, qr/DETAIL:  (.*)/,
		  qr/HINT:  (.*)/, qr/ERROR:  (\w{5})/;
		my $soft = sql(<<~"SQL");
			SELECT pg_input_is_valid('$input', '$type'), message, detail, hint, sql_error_code
			FROM pg_input_error_info('$input', '$type')
			SQL
		push @otherwise, "'$input': $soft" if $soft ne join '|', $raised ? 'f' : 't', @parts;
	}
	is(join("\n", @otherwise), '', "a soft error of a $type has what the error has");
	is( sql(    "SELECT pg_input_is_valid('{$text,!}', '$type\[]'), "
			  . "pg_input_is_valid('{$text}', '$type\[]')"),
		'f|t',
		"an array of ${type}s passes on the soft error of its element");
}
if ($version >= 16) {
	is(sql(<<~'SQL'), '0', 'a hundred thousand soft errors in one statement have no effect');
		SELECT count(*) FILTER
			(WHERE pg_input_is_valid(lpad(n::text, 16, '2'), 'sno') <> (n::text !~ '[01]'))
		FROM generate_series(1, 100000) AS n
		SQL
}

# The message has an escape for each byte that is not UTF-8.
my %messages = (
	q{flake_from_text(chr(228), 'hex')} => 'invalid input syntax for a flake in hex: "\xe4"',
	q{flake_to_text(1, chr(228))} => 'unrecognized flake format: "\xe4"',
	q{guid_to_text(guid_min('2026-01-01'), chr(228))} => 'unrecognized guid format: "\xe4"',
	q{flake128_from_text(chr(228), 16)} => 'invalid input syntax for a flake128 in base 16: "\xe4"',
	map {
		("repeat(chr(228), 16)::$_" => qq(invalid input syntax for type $_: ") . '\xe4' x 16 . '"')
	} @types);
for my $encoding ('SQL_ASCII', 'LATIN1') {
	my $database = lc $encoding;
	sql("CREATE DATABASE $database ENCODING '$encoding' TEMPLATE template0");
	my $asks = session($node, $database);
	$asks->query_safe('CREATE EXTENSION flakeid');
	my @otherwise =
	  grep { error_in($asks, "SELECT $_") !~ /ERROR:  22(?:P02|023): \Q$messages{$_}\E/ }
	  sort keys %messages;
	is(join("\n", @otherwise), '', "errors in $encoding escape the bytes that are not UTF-8");
	$asks->quit;
}

$session->quit;
$node->stop;
done_testing();
