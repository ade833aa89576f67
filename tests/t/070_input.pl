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
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE ids (nr integer, id sno, ids sno[])');
my $version = $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
my $dir = PostgreSQL::Test::Utils::tempdir('input');

# COPY in binary ------------------------------------------------------------------------------------------

# A file of rows as COPY's binary format has them.
sub write_rows
{
	my ($file, @rows) = @_;
	open my $handle, '>:raw', $file or die "could not write $file: $!";
	print $handle "PGCOPY\n\377\r\n\0", pack('N N', 0, 0);
	for my $row (@rows)
	{
		print $handle pack('n', scalar @$row);
		print $handle defined $_ ? pack('N/a*', $_) : pack('N', 0xffffffff) for @$row;
	}
	print $handle pack('n', 0xffff);
	close $handle or die "could not write $file: $!";
	return;
}

my $ten = pack('H*', '3e0a275a410101ab0065');
write_rows("$dir/good", [$ten], [undef], [ "\0" x 10 ], [ "\xff" x 10 ]);
$node->safe_psql('postgres', "COPY ids (id) FROM '$dir/good' (FORMAT binary)");
is(
	$node->safe_psql('postgres', 'SELECT id FROM ids ORDER BY id'),
	"2222222222222222\n9q74gok3262so257\nxxxxxxxxxxxxxxxx\n",
	'ten bytes are a sno, in binary, whichever they are');

my %wrong = (
	'nine bytes'                    => substr($ten, 0, 9),
	'eleven bytes'                  => $ten . "\0",
	'no bytes'                      => '',
	'sixteen characters'            => '9q74gok3262so257',
	'nine characters and a NUL'     => "222222222\0\0",
	'many bytes'                    => "\0" x 100_000,
);
for my $what (sort keys %wrong)
{
	write_rows("$dir/wrong", [$ten], [ $wrong{$what} ]);
	my $error = error_of($node, "COPY ids (id) FROM '$dir/wrong' (FORMAT binary)");
	my $length = length $wrong{$what};
	like($error, qr/ERROR:  22P03: invalid length in external "sno" value/, "$what are no sno in binary");
	like(
		$error, qr/DETAIL:  A sno has 10 bytes, this value has $length\./,
		'... and the error gives their number');
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM ids'), '4', '... nothing of them came in');

# A NUL within text is refused by the server before the type sees it.
append_to_file("$dir/nul", "9q74gok3\x{00}62so25\n");
like(
	error_of($node, "COPY ids (id) FROM '$dir/nul'"),
	qr/ERROR:  22021: invalid byte sequence for encoding "UTF8": 0x00/, 'a NUL in text is refused');

# Out and in again, in text and in binary: the same rows, the same bytes.
$node->safe_psql('postgres', <<'SQL');
TRUNCATE ids;
INSERT INTO ids SELECT nr, sno_next(nr % 256), ARRAY[sno_next(), NULL, sno_next()]
FROM generate_series(1, 10000) AS nr;
INSERT INTO ids VALUES (0, NULL, NULL), (-1, '2222222222222222', '{}');
CREATE TABLE copies (LIKE ids);
SQL
for my $format ('text', 'csv', 'binary')
{
	$node->safe_psql('postgres', <<"SQL");
COPY ids TO '$dir/$format' (FORMAT $format);
TRUNCATE copies;
COPY copies FROM '$dir/$format' (FORMAT $format);
COPY copies TO '$dir/$format.again' (FORMAT $format);
SQL
	is(
		$node->safe_psql('postgres', 'SELECT count(*), (SELECT count(*) FROM (TABLE ids EXCEPT TABLE copies) AS lost)'
			  . ' FROM copies'),
		'10002|0', "COPY in $format out and in: the same rows");
	ok(slurp_file("$dir/$format") eq slurp_file("$dir/$format.again"), '... and the same file');
}

# soft errors ---------------------------------------------------------------------------------------------

my @texts = (
	[ '9q74gok3262so257'      => undef ],
	[ '2222222222222222'      => undef ],
	[ ''                      => 'A sno has 16 characters, this text has 0 bytes.' ],
	[ '9q74gok3262so25'       => 'A sno has 16 characters, this text has 15 bytes.' ],
	[ '9q74gok3262so2577'     => 'A sno has 16 characters, this text has 17 bytes.' ],
	[ '9Q74GOK3262SO257'      => 'The character at position 2 is none of its digits.' ],
	[ '9q74gok3262so25y'      => 'The character at position 16 is none of its digits.' ],
	[ 'ääääääää'              => 'The character at position 1 is none of its digits.' ],
	[ '9q74gok3262soé7'       => 'The character at position 14 is none of its digits.' ],
	[ '🦀🦀🦀🦀'              => 'The character at position 1 is none of its digits.' ],
);
my $hint = 'A sno is written as 16 characters of 2 to 9 and a to x, in lower case.';
for (@texts)
{
	my ($text, $detail) = @$_;
	if ($version >= 16)
	{
		is(
			$node->safe_psql('postgres', "SELECT pg_input_is_valid('$text', 'sno')"),
			defined $detail ? 'f' : 't', "pg_input_is_valid of '$text'");
		is(
			$node->safe_psql('postgres', 'SELECT message, detail, hint, sql_error_code'
				  . " FROM pg_input_error_info('$text', 'sno')"),
			defined $detail ? "invalid input syntax for type sno: \"$text\"|$detail|$hint|22P02" : '|||',
			'... and pg_input_error_info');
	}
	my $error = error_of($node, "SELECT '$text'::sno");
	defined $detail
	  ? like(
		$error,
		qr/ERROR:  22P02: invalid input syntax for type sno: "\Q$text\E"\n(?:.*\n)*DETAIL:  \Q$detail\E\n/,
		"'$text' is an error that gives the reason")
	  : is($error, '', "'$text' is none");
}
if ($version >= 16)
{
	is(
		$node->safe_psql('postgres', "SELECT pg_input_is_valid('{9q74gok3262so257,x}', 'sno[]'),"
			  . " pg_input_is_valid('{9q74gok3262so257}', 'sno[]')"),
		'f|t', 'soft errors come through arrays');
	# Many in one statement leave nothing behind that later ones stumble over.
	is(
		$node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE pg_input_is_valid(lpad(n::text, 16, '2'), 'sno')"
			  . " <> (n::text !~ '[01]')) FROM generate_series(1, 100000) AS n"),
		'0', '... a hundred thousand times');
}
if ($version >= 17)
{
	append_to_file("$dir/some", "1\t9q74gok3262so257\n2\tnonsense\n3\t\\N\n4\t9Q74GOK3262SO257\n5\t2222222222222222\n");
	is($node->safe_psql('postgres', <<"SQL"), '1 3 5',
CREATE TABLE some_ids (nr integer, id sno);
SET client_min_messages TO warning;
COPY some_ids FROM '$dir/some' (ON_ERROR ignore);
SELECT string_agg(nr::text, ' ') FROM some_ids
SQL
		 'COPY with ON_ERROR ignore leaves out the rows whose sno is none');
}

# other encodings -----------------------------------------------------------------------------------------

# What cannot be read as UTF-8 is escaped in the message.
$node->safe_psql('postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
for my $database ('ascii', 'latin')
{
	$node->safe_psql($database, 'CREATE EXTENSION flakeid');
	my %errors = (
		'repeat(chr(228), 16)::sno'       => 'invalid input syntax for type sno: "' . '\xe4' x 16 . '"',
		"flake_from_text(chr(228), 'hex')" => 'invalid input syntax for a flake in hex: "\xe4"',
		'flake_to_text(1, chr(228))'      => 'unrecognized flake format: "\xe4"',
	);
	for my $ask (sort keys %errors)
	{
		like(
			error_of($node, "SELECT $ask", $database), qr/ERROR:  22(?:P02|023): \Q$errors{$ask}\E/,
			"$ask is the error it should be in $database");
	}
}

$node->stop;
done_testing();
