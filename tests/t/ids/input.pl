# Input that SQL alone cannot give, or not on every version: the binary protocol, soft errors, and
# texts that are not the database's encoding.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('input');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE ids (nr integer, id sno, ids sno[])');
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
my $dir = PostgreSQL::Test::Utils::tempdir('input');

# COPY in binary ------------------------------------------------------------------------------------------

my $ten = pack('H*', '3e0a275a410101ab0065');
write_rows("$dir/good", [$ten], [undef], [ "\0" x 10 ], [ "\xff" x 10 ]);
$node->safe_psql('postgres', "COPY ids (id) FROM '$dir/good' (FORMAT binary)");
is( $node->safe_psql('postgres', 'SELECT id FROM ids ORDER BY id'),
	"2222222222222222\n9q74gok3262so257\nxxxxxxxxxxxxxxxx\n",
	'ten bytes are a sno, in binary, whichever they are');

my %wrong = (
	'nine bytes' => substr($ten, 0, 9),
	'eleven bytes' => $ten . "\0",
	'no bytes' => '',
	'sixteen characters' => '9q74gok3262so257',
	'nine characters and a NUL' => "222222222\0\0",
	'many bytes' => "\0" x 100_000,);
my $session = session($node);
for my $what (sort keys %wrong) {
	write_rows("$dir/wrong", [$ten], [ $wrong{$what} ]);
	my $error = error_in($session, "COPY ids (id) FROM '$dir/wrong' (FORMAT binary)");
	my $length = length $wrong{$what};
	like(
		$error,
		qr/ERROR:  22P03: invalid length in external "sno" value/,
		"$what are no sno in binary");
	like(
		$error,
		qr/DETAIL:  A sno has 10 bytes, this value has $length\./,
		'... and the error gives their number');
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM ids'), '4', '... nothing of them came in');

# The other types: how many bytes they have, how many characters (no number is any number of them), a text,
# the first and last value, the characters that are no digits, and the hint.
my %type = (
	flake128 => {
		bytes => 16,
		text => 'B1p7XwmsfFKKNY0KYq',
		ends => [ '0', '7n42DGM5Tflk9n8mt7Fhc7' ],
		strange => [ '.', '_', '+', '-', ' ' ],
		hint => 'A flake128 is written as a number in base 62, with the digits 0-9, A-Z and a-z.'
	},
	guid => {
		bytes => 12,
		characters => 16,
		text => 'Nl2DH.....7xjo..',
		ends => [ '.' x 16, 'z' x 16 ],
		strange => [ '-', '/', '+', ' ', '~' ],
		hint => 'A guid is written as 16 characters of a period, 0-9, A-Z, an underscore and a-z.'
	},
	guid_local => {
		bytes => 8,
		characters => 16,
		text => '520.BD392CAE3...',
		ends => [ '.' x 16, 'E' x 16 ],
		strange => [ 'F', 'a', '_', '-', ' ' ],
		hint => 'A guid_local is written as 16 characters of a period, 0-9 and A-E.'
	},
	uniqueid => {
		bytes => 8,
		characters => 16,
		text => '66ddb6aa00001000',
		ends => [ '0' x 16, 'f' x 16 ],
		strange => [ 'g', 'G', 'x', '-', ' ' ],
		hint => 'A uniqueid is written as 16 hexadecimal digits.'
	});
for my $name (sort keys %type) {
	my ($bytes, $ends) = @{ $type{$name} }{ 'bytes', 'ends' };
	my $good = "\0" x $bytes;
	$node->safe_psql('postgres', "CREATE TABLE ${name}s (nr integer, id $name, ids $name\[])");
	write_rows("$dir/good_$name", [$good], [undef], [ "\xff" x $bytes ]);
	$node->safe_psql('postgres', "COPY ${name}s (id) FROM '$dir/good_$name' (FORMAT binary)");
	is($node->safe_psql('postgres', "SELECT id FROM ${name}s ORDER BY id"),
		"$ends->[0]\n$ends->[1]\n", "$bytes bytes are a $name, in binary, whichever they are");
	for my $length (0, 1, $bytes - 1, $bytes + 1, 2 * $bytes, 100_000) {
		write_rows("$dir/wrong", [$good], [ "\0" x $length ]);
		my $error = error_in($session, "COPY ${name}s (id) FROM '$dir/wrong' (FORMAT binary)");
		like(
			$error,
			qr/ERROR:  22P03: invalid length in external "$name" value/,
			"$length bytes are no $name in binary");
		like(
			$error,
			qr/DETAIL:  A $name has $bytes bytes, this value has $length\./,
			'... and the error gives their number');
		like(
			error_in($session, "SELECT decode(repeat('00', $length), 'hex')::$name"),
			qr/ERROR:  22P03: .*\n(?:.*\n)*DETAIL:  A $name has $bytes bytes, this value has $length\./,
			'... nor as bytea');
	}
	is($node->safe_psql('postgres', "SELECT count(*) FROM ${name}s"),
		'3', '... nothing of them came in');
	append_to_file("$dir/nul_$name", "\t" . ('0' x 8) . "\x{00}" . ('0' x 7) . "\t\n");
	like(
		error_of($node, "COPY ${name}s FROM '$dir/nul_$name' (NULL '')"),
		qr/ERROR:  22021: invalid byte sequence for encoding "UTF8": 0x00/,
		"a NUL in a $name is refused");

	# Out and in again.
	$node->safe_psql('postgres', <<"SQL");
TRUNCATE ${name}s;
INSERT INTO ${name}s SELECT nr, ${name}_next(), ARRAY[${name}_next(), NULL, ${name}_next()] FROM generate_series(1, 1000) AS nr;
INSERT INTO ${name}s VALUES (0, NULL, NULL), (-1, '$ends->[0]', '{}'), (-2, '$ends->[1]', '{}');
CREATE TABLE ${name}_copies (LIKE ${name}s);
SQL
	for my $format ('text', 'csv', 'binary') {
		my $file = "$dir/$name.$format";
		$node->safe_psql('postgres', <<"SQL");
COPY ${name}s TO '$file' (FORMAT $format);
TRUNCATE ${name}_copies;
COPY ${name}_copies FROM '$file' (FORMAT $format);
COPY ${name}_copies TO '$file.again' (FORMAT $format);
SQL
		is( $node->safe_psql(
				'postgres',
				"SELECT count(*), (SELECT count(*) FROM (TABLE ${name}s EXCEPT TABLE ${name}_copies) AS lost)"
				  . " FROM ${name}_copies"),
			'1003|0',
			"$name: COPY in $format out and in: the same rows");
		ok(slurp_file($file) eq slurp_file("$file.again"), '... and the same file');
	}
}

# A NUL within text is refused by the server before the type sees it.
append_to_file("$dir/nul", "9q74gok3\x{00}62so25\n");
like(
	error_of($node, "COPY ids (id) FROM '$dir/nul'"),
	qr/ERROR:  22021: invalid byte sequence for encoding "UTF8": 0x00/,
	'a NUL in text is refused');

# Out and in again, in text and in binary: the same rows, the same bytes.
$node->safe_psql('postgres', <<'SQL');
TRUNCATE ids;
INSERT INTO ids SELECT nr, sno_next(nr % 256), ARRAY[sno_next(), NULL, sno_next()]
FROM generate_series(1, 10000) AS nr;
INSERT INTO ids VALUES (0, NULL, NULL), (-1, '2222222222222222', '{}');
CREATE TABLE copies (LIKE ids);
SQL
for my $format ('text', 'csv', 'binary') {
	$node->safe_psql('postgres', <<"SQL");
COPY ids TO '$dir/$format' (FORMAT $format);
TRUNCATE copies;
COPY copies FROM '$dir/$format' (FORMAT $format);
COPY copies TO '$dir/$format.again' (FORMAT $format);
SQL
	is( $node->safe_psql(
			'postgres',
			'SELECT count(*), (SELECT count(*) FROM (TABLE ids EXCEPT TABLE copies) AS lost)'
			  . ' FROM copies'),
		'10002|0',
		"COPY in $format out and in: the same rows");
	ok(slurp_file("$dir/$format") eq slurp_file("$dir/$format.again"), '... and the same file');
}

# soft errors ---------------------------------------------------------------------------------------------

my @texts = (
	[ '9q74gok3262so257' => undef ],
	[ '2222222222222222' => undef ],
	[ '' => 'A sno has 16 characters, this text has 0 bytes.' ],
	[ '9q74gok3262so25' => 'A sno has 16 characters, this text has 15 bytes.' ],
	[ '9q74gok3262so2577' => 'A sno has 16 characters, this text has 17 bytes.' ],
	[ '9Q74GOK3262SO257' => 'The character at position 2 is not a digit of this text format.' ],
	[ '9q74gok3262so25y' => 'The character at position 16 is not a digit of this text format.' ],
	[ 'ääääääää' => 'The character at position 1 is not a digit of this text format.' ],
	[ '9q74gok3262soé7' => 'The character at position 14 is not a digit of this text format.' ],
	[ '🦀🦀🦀🦀' => 'The character at position 1 is not a digit of this text format.' ],);
my $hint = 'A sno is written as 16 characters of 2 to 9 and a to x, in lower case.';
for (@texts) {
	my ($text, $detail) = @$_;
	if ($version >= 16) {
		is( $session->query_safe("SELECT pg_input_is_valid('$text', 'sno')"),
			defined $detail ? 'f' : 't',
			"pg_input_is_valid of '$text'");
		is( $session->query_safe(
					'SELECT message, detail, hint, sql_error_code'
				  . " FROM pg_input_error_info('$text', 'sno')"),
			defined $detail
			? "invalid input syntax for type sno: \"$text\"|$detail|$hint|22P02"
			: '|||',
			'... and pg_input_error_info');
	}
	my $error = error_in($session, "SELECT '$text'::sno");
	defined $detail
	  ? like(
		$error,
		qr/ERROR:  22P02: invalid input syntax for type sno: "\Q$text\E"\n(?:.*\n)*DETAIL:  \Q$detail\E\n/,
		"'$text' is an error that gives the reason")
	  : is($error, '', "'$text' is not a sno");
}
if ($version >= 16) {
	is( $node->safe_psql(
			'postgres',
			"SELECT pg_input_is_valid('{9q74gok3262so257,x}', 'sno[]'),"
			  . " pg_input_is_valid('{9q74gok3262so257}', 'sno[]')"),
		'f|t',
		'soft errors come through arrays');
	# Many in one statement leave nothing behind that later ones stumble over.
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FILTER (WHERE pg_input_is_valid(lpad(n::text, 16, '2'), 'sno')"
			  . " <> (n::text !~ '[01]')) FROM generate_series(1, 100000) AS n"),
		'0',
		'... a hundred thousand times');
}
if ($version >= 17) {
	append_to_file("$dir/some",
		"1\t9q74gok3262so257\n2\tnonsense\n3\t\\N\n4\t9Q74GOK3262SO257\n5\t2222222222222222\n");
	is( $node->safe_psql('postgres', <<"SQL"), '1 3 5',
CREATE TABLE some_ids (nr integer, id sno);
SET client_min_messages TO warning;
COPY some_ids FROM '$dir/some' (ON_ERROR ignore);
SELECT string_agg(nr::text, ' ') FROM some_ids
SQL
		'COPY with ON_ERROR ignore leaves out the rows whose sno is invalid');
}

# What is wrong with a text: each with the detail, or none where it is good.
sub texts_of {
	my ($name) = @_;
	my $type = $type{$name};
	my ($text, $characters) = @$type{ 'text', 'characters' };
	my $position = sub { "The character at position $_[0] is not a digit of this text format." };
	my @texts = map { [ $_ => undef ] } $text, @{ $type->{ends} };
	# A character that is no digit, at each end and within, but a text's length counts first.
	for my $strange (@{ $type->{strange} }) {
		push @texts, [ $strange . substr($text, 1) => $position->(1) ];
		push @texts, [ substr($text, 0, 5) . $strange . substr($text, 6) => $position->(6) ];
		push @texts, [ substr($text, 0, -1) . $strange => $position->(length $text) ];
	}
	push @texts, [ substr($text, 0, -2) . 'é' => $position->(length($text) - 1) ];
	push @texts, [ 'ä' x 8 => $position->(1) ], [ '🦀' x 4 => $position->(1) ];
	if ($characters) {
		push @texts, map {
			my $bytes = length($_) == 1 ? 'byte' : 'bytes';
			[ $_ => "A $name has $characters characters, this text has @{[ length $_ ]} $bytes." ]
		} '', '0', substr($text, 1), "${text}0", "$text ", " $text", '0' x 1000;
	}
	else {
		my $huge = 'The number does not fit 128 bits.';
		push @texts, [ '' => 'The text is empty.' ], [ '0' x 1000 => undef ], [ '000z' => undef ],
		  [ '7n42DGM5Tflk9n8mt7Fhc8' => $huge ], [ 'z' x 22 => $huge ], [ 'z' x 1000 => $huge ];
	}
	return @texts;
}

for my $name (sort keys %type) {
	my $hint = $type{$name}{hint};
	for (texts_of($name)) {
		my ($text, $detail) = @$_;
		my $shown = length $text > 40 ? substr($text, 0, 40) . '...' : $text;
		if ($version >= 16) {
			is( $session->query_safe("SELECT pg_input_is_valid('$text', '$name')"),
				defined $detail ? 'f' : 't',
				"pg_input_is_valid of '$shown' as a $name");
			is( $session->query_safe(
						'SELECT message, detail, hint, sql_error_code'
					  . " FROM pg_input_error_info('$text', '$name')"),
				defined $detail
				? "invalid input syntax for type $name: \"$text\"|$detail|$hint|22P02"
				: '|||',
				'... and pg_input_error_info');
		}
		my $error = error_in($session, "SELECT '$text'::$name");
		defined $detail
		  ? like(
			$error,
			qr/ERROR:  22P02: invalid input syntax for type $name: "\Q$text\E"\n(?:.*\n)*DETAIL:  \Q$detail\E\n(?:.*\n)*HINT:  \Q$hint\E/,
			"'$shown' as a $name is an error that gives the reason")
		  : is($error, '', "'$shown' is a $name");
	}
	if ($version >= 16) {
		is( $node->safe_psql(
				'postgres',
				"SELECT pg_input_is_valid('{$type{$name}{text},!}', '$name\[]'),"
				  . " pg_input_is_valid('{$type{$name}{text}}', '$name\[]')"),
			'f|t',
			'... and soft errors come through arrays');
	}
	is( error_of($node, "SELECT length(repeat('0', 10000000)::$name\::text)") =~ /22P02|22001/
		? 'error'
		: 'none',
		$name eq 'flake128' ? 'none' : 'error',
		"ten million digits are no $name but for a number with so many zeros");
}

# other encodings -----------------------------------------------------------------------------------------

# What cannot be read as UTF-8 is escaped in the message.
$node->safe_psql('postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
for my $database ('ascii', 'latin') {
	$node->safe_psql($database, 'CREATE EXTENSION flakeid');
	my %errors = (
		'repeat(chr(228), 16)::sno' => 'invalid input syntax for type sno: "' . '\xe4' x 16 . '"',
		"flake_from_text(chr(228), 'hex')" => 'invalid input syntax for a flake in hex: "\xe4"',
		'flake_to_text(1, chr(228))' => 'unrecognized flake format: "\xe4"',
		"guid_to_text(guid_min('2026-01-01'), chr(228))" => 'unrecognized guid format: "\xe4"',
		"flake128_from_text(chr(228), 16)" =>
		  'invalid input syntax for a flake128 in base 16: "\xe4"',
		map {
			(       "repeat(chr(228), 16)::$_" => "invalid input syntax for type $_: \""
				  . '\xe4' x 16 . '"')
		} keys %type);
	my $asks = session($node, $database);
	for my $ask (sort keys %errors) {
		like(
			error_in($asks, "SELECT $ask"),
			qr/ERROR:  22(?:P02|023): \Q$errors{$ask}\E/,
			"$ask is the error it should be in $database");
	}
	$asks->quit;
}
$session->quit;

$node->stop;
done_testing();
