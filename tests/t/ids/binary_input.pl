# IDs come in and go out by COPY, in text and in binary. Any bytes of the right number are an ID in
# binary, and any other number of bytes is refused.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('binary_input', '', extra => [ '--locale=C', '--encoding=UTF8' ]);
my $session = session($node);
my $dir = PostgreSQL::Test::Utils::tempdir('binary_input');
sub sql { return $session->query_safe($_[0]); }

my %types = (
	sno => { bytes => 10, ends => [ '2' x 16, 'x' x 16 ], next => 'sno_next(nr % 256)' },
	flake128 => { bytes => 16, ends => [ '0', '7n42DGM5Tflk9n8mt7Fhc7' ] },
	guid => { bytes => 12, ends => [ '.' x 16, 'z' x 16 ] },
	guid_local => { bytes => 8, ends => [ '.' x 16, 'E' x 16 ] },
	uniqueid => { bytes => 8, ends => [ '0' x 16, 'f' x 16 ] });
for my $type (sort keys %types) {
	my ($bytes, $ends) = @{ $types{$type} }{ 'bytes', 'ends' };
	my $next = $types{$type}{next} // "${type}_next()";
	sql("CREATE TABLE ${type}s (nr integer, id $type, ids $type\[])");

	my $zeros = "\0" x $bytes;
	write_rows("$dir/good", [$zeros], [undef], [ "\xff" x $bytes ]);
	sql("COPY ${type}s (id) FROM '$dir/good' (FORMAT binary)");
	is(sql("SELECT id FROM ${type}s ORDER BY id"),
		"$ends->[0]\n$ends->[1]\n", "$bytes bytes are a $type in binary, whichever they are");

	my $error = qr/ERROR:  22P03: invalid length in external "$type" value/;
	my @lengths = grep { $_ != $bytes } 0, 1, $bytes - 1, $bytes + 1, 16, 2 * $bytes, 100_000;
	my @accepted;
	for my $length (@lengths) {
		write_rows("$dir/wrong", [$zeros], [ "\0" x $length ]);
		my $detail = "A $type has $bytes bytes, this value has $length.";
		push @accepted,
		  map { "$length bytes: $_\n" } grep { !/$error\n(?:.*\n)*DETAIL:  \Q$detail\E/ }
		  map { error_in($session, $_) } "COPY ${type}s (id) FROM '$dir/wrong' (FORMAT binary)",
		  "SELECT decode(repeat('00', $length), 'hex')::$type";
	}
	is(join('', @accepted),
		'',
		"COPY in binary and the cast from bytea refuse any other length of a $type, and name it");
	is(sql("SELECT count(*) FROM ${type}s"),
		'3', "COPY keeps no row of a file that has a wrong length of a $type");

	append_to_file("$dir/nul_$type", "\t" . '0' x 8 . "\0" . '0' x 7 . "\t\n");
	like(
		error_in($session, "COPY ${type}s FROM '$dir/nul_$type' (NULL '')"),
		qr/ERROR:  22021: invalid byte sequence for encoding "UTF8": 0x00/,
		"a NUL in the text of a $type is refused");

	sql(<<~"SQL");
		TRUNCATE ${type}s;
		INSERT INTO ${type}s
		SELECT nr, $next, ARRAY[$next, NULL, $next] FROM generate_series(1, 10000) AS nr;
		INSERT INTO ${type}s
		VALUES (0, NULL, NULL), (-1, '$ends->[0]', '{}'), (-2, '$ends->[1]', '{}');
		CREATE TABLE ${type}_copies (LIKE ${type}s);
		SQL
	for my $format ('text', 'csv', 'binary') {
		my $file = "$dir/$type.$format";
		is(sql(<<~"SQL"), '10003|0', "COPY in $format keeps each row with ${type}s and NULL");
			COPY ${type}s TO '$file' (FORMAT $format);
			TRUNCATE ${type}_copies;
			COPY ${type}_copies FROM '$file' (FORMAT $format);
			COPY ${type}_copies TO '$file.again' (FORMAT $format);
			SELECT count(*),
				(SELECT count(*) FROM (TABLE ${type}s EXCEPT TABLE ${type}_copies) AS lost)
			FROM ${type}_copies
			SQL
		ok(slurp_file($file) eq slurp_file("$file.again"),
			"COPY in $format writes the same file from the rows that it has read: $type");
	}
}

write_rows("$dir/sno", [ pack 'H*', '3e0a275a410101ab0065' ]);
sql("TRUNCATE snos; COPY snos (id) FROM '$dir/sno' (FORMAT binary)");
is(sql('SELECT id FROM snos'), '9q74gok3262so257', 'the bytes of a sno in binary are big-endian');

$session->quit;
$node->stop;
done_testing();
