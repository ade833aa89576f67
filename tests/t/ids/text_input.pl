# The error of an invalid text is a soft error, too. Databases of other encodings have it without
# the bytes that are not UTF-8. pg_regress/sql/bad_input.sql has the texts that each ID type refuses.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('text_input', '', extra => [ '--locale=C', '--encoding=UTF8' ]);
my $session = session($node);
my $dir = PostgreSQL::Test::Utils::tempdir('text_input');
sub sql { return $session->query_safe($_[0]); }
my $version = $node->pg_version->major;

# Texts of each ID type, the least and the greatest one among them.
my %texts = (
	sno => [ '9q74gok3262so257', '2' x 16, 'x' x 16 ],
	flake128 => [ 'B1p7XwmsfFKKNY0KYq', '000z', '0', '7n42DGM5Tflk9n8mt7Fhc7' ],
	guid => [ 'Nl2DH.....7xjo..', '.' x 16, 'z' x 16 ],
	guid_local => [ '520.BD392CAE3...', '.' x 16, 'E' x 16 ],
	uniqueid => [ '66ddb6aa00001000', '0' x 16, 'f' x 16 ]);
my @types = sort keys %texts;

for my $type (@types) {
	my ($text) = @{ $texts{$type} };
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
		@{ $texts{$type} }, map({ substr($text, 0, 5) . $_ . substr $text, 6 } split //, '!-y F'),
		substr($text, 1), "${text}0", "$text ", " $text", substr($text, 0, -2) . 'é', 'ä' x 8,
		'🦀' x 4, '', '7n42DGM5Tflk9n8mt7Fhc8', 'z' x 22, '0' x 1000, 'z' x 1000)
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
