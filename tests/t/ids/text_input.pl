# Each ID type reads valid texts. The error of an invalid text has the reason and how an ID is
# written, as a soft error too, and in databases of other encodings.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('text_input', '', extra => [ '--locale=C', '--encoding=UTF8' ]);
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }
my $version = $node->pg_version->major;

# An ID, the first and the last one, characters that are not digits, and the hint.
my %types = (
	sno => {
		text => '9q74gok3262so257',
		ends => [ '2' x 16, 'x' x 16 ],
		strange => [ '1', 'Q', 'y', '-', ' ' ],
		hint => 'A sno is written as 16 characters of 2 to 9 and a to x, in lower case.'
	},
	flake128 => {
		text => 'B1p7XwmsfFKKNY0KYq',
		ends => [ '0', '7n42DGM5Tflk9n8mt7Fhc7' ],
		strange => [ '.', '_', '+', '-', ' ' ],
		hint => 'A flake128 is written as a number in base 62, with the digits 0-9, A-Z and a-z.'
	},
	guid => {
		text => 'Nl2DH.....7xjo..',
		ends => [ '.' x 16, 'z' x 16 ],
		strange => [ '-', '/', '+', ' ', '~' ],
		hint => 'A guid is written as 16 characters of a period, 0-9, A-Z, an underscore and a-z.'
	},
	guid_local => {
		text => '520.BD392CAE3...',
		ends => [ '.' x 16, 'E' x 16 ],
		strange => [ 'F', 'a', '_', '-', ' ' ],
		hint => 'A guid_local is written as 16 characters of a period, 0-9 and A-E.'
	},
	uniqueid => {
		text => '66ddb6aa00001000',
		ends => [ '0' x 16, 'f' x 16 ],
		strange => [ 'g', 'G', 'x', '-', ' ' ],
		hint => 'A uniqueid is written as 16 hexadecimal digits.'
	});

# Returns texts, each with the detail of its error. A valid text has none.
sub texts_of {
	my ($name) = @_;
	my ($text, $ends, $strange) = @{ $types{$name} }{qw(text ends strange)};
	my $position = sub { "The character at position $_[0] is not a digit of this text format." };
	my @texts = map { [$_] } $text, @$ends;
	for my $character (@$strange) {
		push @texts, [ $character . substr($text, 1) => $position->(1) ],
		  [ substr($text, 0, 5) . $character . substr($text, 6) => $position->(6) ],
		  [ substr($text, 0, -1) . $character => $position->(length $text) ];
	}
	push @texts, [ substr($text, 0, -2) . 'é' => $position->(length($text) - 1) ],
	  [ 'ä' x 8 => $position->(1) ], [ '🦀' x 4 => $position->(1) ];
	if ($name eq 'flake128') {
		my $huge = 'The number does not fit 128 bits.';
		return @texts, [ '' => 'The text is empty.' ], [ '0' x 1000 ], ['000z'],
		  map { [ $_ => $huge ] } '7n42DGM5Tflk9n8mt7Fhc8', 'z' x 22, 'z' x 1000;
	}
	return @texts, map {
		my $length = length $_ == 1 ? '1 byte' : length($_) . ' bytes';
		[ $_ => "A $name has 16 characters, this text has $length." ]
	} '', '0', substr($text, 1), "${text}0", "$text ", " $text", '0' x 1000;
}

for my $name (sort keys %types) {
	my ($text, $hint) = @{ $types{$name} }{qw(text hint)};
	my (@otherwise, @soft);
	for (texts_of($name)) {
		my ($input, $detail) = @$_;
		my $message = qq(invalid input syntax for type $name: "$input");
		my $error = error_in($session, "SELECT '$input'::$name");
		my ($first, $second, $third) = map { "\Q$_\E" } $message, $detail // '', $hint;
		my $rest = qr/DETAIL:  $second\n(?:.*\n)*HINT:  $third/;
		push @otherwise, "'$input': $error"
		  unless defined $detail
		  ? $error =~ /ERROR:  22P02: $first\n(?:.*\n)*$rest/
		  : $error eq '';
		next if $version < 16;
		my $info = sql(<<~"SQL");
			SELECT pg_input_is_valid('$input', '$name'), message, detail, hint, sql_error_code
			FROM pg_input_error_info('$input', '$name')
			SQL
		push @soft, "'$input': $info"
		  if $info ne (defined $detail ? "f|$message|$detail|$hint|22P02" : 't||||');
	}
	is(join("\n", @otherwise),
		'', "each valid text is a $name, and the error of an invalid one has the reason");
	is( error_in($session, "SELECT length(repeat('0', 10000000)::$name\::text)") eq ''
		? 'read'
		: 'refused',
		$name eq 'flake128' ? 'read' : 'refused',
		"ten million zeros are a number to a flake128 alone: $name");
	next if $version < 16;
	is(join("\n", @soft), '', "pg_input_is_valid and pg_input_error_info agree with a $name");
	is( sql(    "SELECT pg_input_is_valid('{$text,!}', '$name\[]'), "
			  . "pg_input_is_valid('{$text}', '$name\[]')"),
		'f|t',
		"an array of ${name}s passes on the soft error of its element");
}

if ($version >= 16) {
	is(sql(<<~'SQL'), '0', 'a hundred thousand soft errors in one statement have no effect');
		SELECT count(*) FILTER
			(WHERE pg_input_is_valid(lpad(n::text, 16, '2'), 'sno') <> (n::text !~ '[01]'))
		FROM generate_series(1, 100000) AS n
		SQL
}
if ($version >= 17) {
	my $file = PostgreSQL::Test::Utils::tempdir('text_input') . '/some';
	append_to_file($file,
		"1\t9q74gok3262so257\n2\tnonsense\n3\t\\N\n4\t9Q74GOK3262SO257\n5\t2222222222222222\n");
	is(sql(<<~"SQL"), '1 3 5', 'COPY with ON_ERROR ignore omits the rows whose sno is invalid');
		CREATE TABLE some_ids (nr integer, id sno);
		SET client_min_messages TO warning;
		COPY some_ids FROM '$file' (ON_ERROR ignore);
		SELECT string_agg(nr::text, ' ') FROM some_ids
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
	  }
	  keys %types);
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
