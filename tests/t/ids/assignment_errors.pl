# The errors of assignments by way of text say why there is no cast and what to do. A declared cast,
# rows, arrays and JSON are read as before.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;

my $node = flakeid_server('assignment_errors', "autovacuum = off\n");
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }

# Returns the value or the error of the assignment of a literal to a flake128 in PL/pgSQL.
sub assigned {
	my ($literal) = @_;
	return error_in($session,
		"DO \$\$DECLARE k flake128 := $literal; BEGIN RAISE WARNING 'it is %', k; END\$\$");
}

# The planner computes the text of a constant, so that nothing sees its type. So there is a cast for
# each type of a literal.
my %error = (
	'10' => 'cannot cast type integer to flake128',
	'10::bigint' => 'cannot cast type bigint to flake128',
	'5828128208445124609' => 'cannot cast type bigint to flake128',
	'-1' => 'cannot cast type integer to flake128',
	'10.5' => 'number out of range for flake128: 10.5');
for my $literal (sort keys %error) {
	like(
		assigned($literal),
		qr/ERROR:  \w+: $error{$literal}/,
		"PL/pgSQL does not read the digits of $literal in base 62");
}
for my $literal ('10.0', '10::numeric') {
	my $id = sql("SELECT ($literal)::numeric::flake128");
	like(
		assigned($literal),
		qr/WARNING:  01000: it is $id$/m,
		"PL/pgSQL reads $literal as the explicit cast does");
}

like(
	error_in($session, 'DO $$DECLARE k flake128; b bigint := 10; BEGIN k := b; END$$'),
	qr/ERROR:  42846: cannot cast type bigint to flake128\nDETAIL:  Each integer would be/,
	'the error for an integer says why');
like(
	error_in($session, q(DO $$DECLARE g guid; s sno := '9q74gok3262so257'; BEGIN g := s; END$$)),
	qr/ERROR:  42846: cannot cast type sno to guid\nDETAIL:  There is no assignment cast.*
HINT:  Write an explicit cast\./,
	'the error for two ID types says what to do');

is(sql(<<~'SQL'), '2345672345672345', 'a declared cast by text is obeyed');
	CREATE CAST (uniqueid AS json) WITH INOUT AS ASSIGNMENT;
	CREATE FUNCTION as_json(id uniqueid) RETURNS json LANGUAGE plpgsql
		AS $$BEGIN RETURN id; END$$;
	SELECT as_json('2345672345672345');
	SQL
my @read = split /\|/, sql(<<~'SQL');
	CREATE TYPE pair AS (id sno, nr integer);
	SELECT format('%s', id), (id, 1)::pair::text, to_json(id), ARRAY[id]::text,
		(SELECT a = id FROM jsonb_to_record(jsonb_build_object('a', id)) AS r (a sno))
	FROM (SELECT sno '9q74gok3262so257') AS one (id);
	SQL
my $id = '9q74gok3262so257';
is_deeply(
	\@read,
	[ $id, "($id,1)", qq("$id"), "{$id}", 't' ],
	'rows, arrays, JSON and texts show and read an ID');

$session->quit;
$node->stop;
done_testing();
