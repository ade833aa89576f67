# PL/pgSQL assigns by way of text where it finds no assignment cast, and the text of an ID often is
# a valid text of another type: digits in another base, a date, another kind of ID. For each pair of
# an ID type and another type, and each kind of assignment, the result is that of the explicit cast,
# or an error. The pairs that convert are listed, so that no new one comes unseen. The errors say
# why there is no cast and what to do.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;

my $node = flakeid_server('assignment', "timezone = 'UTC'\nautovacuum = off\n");
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }

# Texts that several types read, each as another value.
my %ids = (
	flake => [ '10', '20260101', '2345672345672345' ],
	sno => [ '2345672345672345', '9q74gok3262so257' ],
	flake128 => [ '10', '20260101', 't', '7n42DGM5Tflk9n8mt7Fhc7' ],
	guid => [ '2345672345672345', '1234567.12345678' ],
	guid_local => [ '2345672345672345', '1111111111111111' ],
	uniqueid => [ '2345672345672345', '1111111111111111', '67c76b38257fdfff' ],
	marked => ['2345672345672345'],);
my @strings = ('text', 'varchar', 'bpchar', 'name', 'word');
my @numbers = ('10', '2345672345672345', '-1', '0');
my %others = (
	(map { $_ => ['2345672345672345'] } @strings),
	'"char"' => ['1'],
	bytea => [ '10', '\x00000000000000000000', '2345672345672345' ],
	uuid => ['39713734-676f-6b33-3236-32736f323537'],
	numeric => [ @numbers, '1234567.12345678' ],
	bigint => \@numbers,
	integer => [ '10', '0' ],
	smallint => ['10'],
	real => ['10'],
	'double precision' => [ '10', '2345672345672345' ],
	money => ['10'],
	oid => ['10'],
	xid8 => ['2345672345672345'],
	boolean => ['t'],
	'bit varying' => ['10'],
	json => [ '10', '"10"' ],
	jsonb => [ '10', '"10"' ],
	date => ['2026-01-01'],
	timestamptz => ['2026-01-01'],
	interval => ['10'],
	macaddr => ['08:00:2b:01:02:03'],
	macaddr8 => ['23:45:67:23:45:67:23:45'],
	inet => ['10.0.0.0'],
	cidr => ['10'],
	tsvector => ['a'],
	regtype => ['sno'],
	'"char"[]' => ['{1}'],
	'text[]' => ['{10}'],);

# What a function does with its argument v, to return it as another type.
my %kinds = (
	'a cast' => 'RETURN v::TO;',
	':=' => 'r := v; RETURN r;',
	RETURN => 'RETURN v;',
	'SELECT INTO' => 'SELECT v INTO r; RETURN r;',
	EXECUTE => q(EXECUTE 'SELECT $1' INTO r USING v; RETURN r;),
	FOR => 'FOR r IN SELECT v LOOP RETURN r; END LOOP;',
	'RETURNING INTO' => 'INSERT INTO of_FROM VALUES (v) RETURNING a INTO r; RETURN r;',
	'a field' => 'one.a := v; RETURN one.a;',
	'an array' => 'list := ARRAY[v]; RETURN list[1];',
	'an element' => 'list[1] := v; RETURN list[1];',
	INSERT => 'INSERT INTO of_TO VALUES (v) RETURNING a INTO r; RETURN r;',
	UPDATE => 'INSERT INTO of_TO VALUES (NULL); '
	  . 'UPDATE of_TO SET a = v WHERE a IS NULL RETURNING a INTO r; RETURN r;',
	'a function in SQL' => 'RETURN in_sql_FROM_TO(v);',);
my $cases = join ' ', map { "WHEN '$_' THEN $kinds{$_}" } sort keys %kinds;
my $kinds = join ', ', map { "'$_'" } sort keys %kinds;
sql(<<~'SQL');
	SET client_min_messages = warning;
	CREATE DOMAIN word AS text;
	CREATE DOMAIN marked AS sno;
	CREATE TABLE results (kind text, from_type text, to_type text, value text, result text);
	CREATE FUNCTION result(call text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		result text;
	BEGIN
		EXECUTE format('SELECT %s::text', call) INTO result;
		RETURN result;
	EXCEPTION WHEN OTHERS THEN
		RETURN 'error';
	END $$;
	SQL
my %values = (%ids, %others);
my %name = map { $_ => s/\W/_/gr } keys %values;
sql(join ';', map { "CREATE TABLE of_$name{$_} (a $_)" } keys %values);

for my $from (sort keys %values) {
	for my $to (grep { $_ ne $from && ($ids{$from} || $ids{$_}) } sort keys %values) {
		my ($pair, $list) = ("$name{$from}_$name{$to}", $to =~ /\[\]/ ? $to : "${to}[]");
		my $body = $cases =~ s/of_FROM/of_$name{$from}/gr =~ s/of_TO/of_$name{$to}/gr =~
		  s/FROM_TO/$pair/r =~ s/::TO/::$to/r;
		sql(<<~"SQL");
			DO \$\$BEGIN
				CREATE FUNCTION in_sql_$pair(v $from) RETURNS $to LANGUAGE sql RETURN v;
			EXCEPTION WHEN datatype_mismatch OR invalid_function_definition THEN
				NULL;
			END\$\$;
			CREATE FUNCTION $pair(kind text, v $from) RETURNS $to LANGUAGE plpgsql AS \$\$
			DECLARE r $to; one of_$name{$to}; list $list;
			BEGIN CASE kind $body END CASE; END\$\$;
			SQL
		# One transaction for each value. After an error PL/pgSQL evaluates an expression in another
		# way until the transaction ends: src/types/by_text.rs.
		sql(<<~"SQL") for @{ $values{$from} };
			INSERT INTO results
			SELECT kind, '$from', '$to', '$_', result(format('$pair(%L, %L::$from)', kind, '$_'))
			FROM unnest(ARRAY[$kinds]) AS kind WHERE '$to' NOT LIKE '%[]' OR kind NOT LIKE 'an %'
			SQL
	}
}
is(sql(<<~'SQL'), '', 'no assignment gives another value than the explicit cast');
	SELECT r.*, c.result FROM results AS r JOIN results AS c USING (from_type, to_type, value)
	WHERE c.kind = 'a cast' AND r.result NOT IN ('error', c.result) ORDER BY r
	SQL

# The pairs that some value goes through. INSERT and UPDATE have assignment casts. PL/pgSQL also
# reads a string as an ID.
my (%sql, %plpgsql);
for my $id (keys %ids) {
	my @all = (@strings, $id eq 'flake' ? 'bigint' : 'bytea');
	push @all, 'uuid' if $id =~ /sno|marked|flake128/;
	push @all, 'numeric' if $id eq 'flake128';
	push @all, grep { $_ ne $id } 'sno', 'marked' if $id =~ /sno|marked/;
	$sql{"$id -> $_"} = $plpgsql{"$id -> $_"} = 1 for @all;
	$plpgsql{"$_ -> $id"} = 1 for @strings;
}
$sql{"$_ -> flake"} = $plpgsql{"$_ -> flake"} = 1 for qw(bigint integer smallint numeric);
$sql{'numeric -> flake128'} = $plpgsql{'numeric -> flake128'} = 1;
for my $kind (sort grep { $_ ne 'a cast' } keys %kinds) {
	my $expected = $kind =~ /^INSERT|UPDATE|SQL/ ? \%sql : \%plpgsql;
	my @accepted = split /\n/, sql(<<~"SQL");
		SELECT DISTINCT from_type || ' -> ' || to_type FROM results
		WHERE kind = \$q\$$kind\$q\$ AND result <> 'error'
		SQL
	is_deeply(
		[ sort @accepted ],
		[ sort keys %$expected ],
		"$kind converts the pairs that are listed, and no other");
}

# errors -------------------------------------------------------------------------------------------

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

$session->quit;
$node->stop;
done_testing();
