# Public forms that are refused: IDs that have none, invalid prefixes, texts and uuids. A changed
# form gives an error or another ID, and never an ID that exists.
use strict;
use warnings;
use lib 'tests/perl';

use PublicKeys;
use Server;
use Test::More;

my $node = start_server('public_form_errors');
sub sql { return $node->safe_psql('postgres', $_[0]); }

use_keys($node, "1 $NIST\n");
create_ids($node);

my $prefixes = 'A prefix has at most 63';
for my $case (
	[ 'a b', 'a b' ],
	[ 'a.b', 'a.b' ],
	[ "\x{c3}\x{a4}", '\xc3\xa4' ],
	[ 'a' x 64, 'a' x 64 ],
	[ 'a/', 'a/' ])
{
	my ($prefix, $quoted) = @$case;
	like(
		error_of($node, "SELECT flake_to_public(1, '$prefix')"),
		qr/ERROR:  22023: invalid prefix of a public form: "\Q$quoted\E"\nDETAIL:  $prefixes/,
		"'$prefix' is no prefix");
}
is( sql("SELECT length(flake_to_public(1, repeat('a', 63)))"),
	63 + 1 + 12,
	'a prefix can have 63 characters');

for my $case (
	[ 'flake', '-1', 'a negative flake' ],
	[ 'flake', "flake_max(now() + interval '25 h')", 'a flake of the day after tomorrow' ],
	[ 'uuidv7', 'gen_random_uuid()', 'a uuid of version 4' ])
{
	my ($type, $id, $what) = @$case;
	like(
		error_of($node, "SELECT ${type}_$_($id)"),
		qr/ERROR:  22023: this $type has no public form/,
		"$what has no public form: $_") for qw(to_public to_public_uuid);
}

my $text = sql("SELECT flake_to_public(id, 'ord') FROM flakes LIMIT 1");
my ($last) = $text =~ /_(.*)/;
my $invalid = qr/ERROR:  22P02: invalid public form of a flake/;
for my $case (
	[ "'$last', 'ord'", 'It does not begin with "ord_"' ],
	[ "'$text', 'user'", 'It does not begin with "user_"' ],
	[ "'$text', 'or'", 'It does not begin with "or_"' ],
	[ "'$text'", 'has 12 characters, this text has 16 bytes' ],
	[ "'', ''", 'There is nothing after the prefix' ],
	[ "'ord_', 'ord'", 'There is nothing after the prefix' ],
	[ "'${text}0', 'ord'", 'has 12 characters, this text has 13 bytes' ],
	[ "left('$text', -1), 'ord'", 'has 12 characters, this text has 11 bytes' ],
	[
		"overlay('$text' placing '-' from 9), 'ord'",
		'Character 5 after the prefix is not a digit of base 62'
	],
	[
		"overlay('$text' placing '*' from 5), 'ord'",
		'Character 1 after the prefix is not a digit of base 62'
	],
	[ "overlay('$text' placing '7' from 5), 'ord'", 'This server has no key of version "7"' ],
	[ "'ord_1zzzzzzzzzzz', 'ord'", 'does not fit 64 bits' ])
{
	my ($arguments, $detail) = @$case;
	like(
		error_of($node, "SELECT flake_from_public($arguments)"),
		qr/$invalid: ".*"\nDETAIL:  .*\Q$detail\E/,
		"flake_from_public($arguments) is refused: $detail");
}
for my $case (
	[ '01a19467-e800-7001-8000-000000000007', 'not a uuid of version 8' ],
	[ '00000000-0000-8000-0000-000000000000', 'not a uuid of version 8' ],
	[ 'fc000000-0000-8000-8000-000000000000', 'not a uuid of version 8 that holds' ],
	[ '08000000-0000-8000-8000-000000000000', 'no key of version "2"' ],
	[ '04000000-0000-8000-8000-000000000000', 'does not decrypt to a flake of a time until now' ])
{
	my ($uuid, $detail) = @$case;
	like(
		error_of($node, "SELECT flake_from_public_uuid('$uuid')"),
		qr/$invalid: "$uuid"\nDETAIL:  .*$detail/,
		"the uuid $uuid is refused: $detail");
}

# An error quotes the beginning of a long text alone. There may be no memory for all of it.
for my $call (
	"flake_from_public(repeat('x', 5000000))",
	"flake_to_public(1, repeat('x', 5000000))",
	"repeat('x', 5000000)::sno",
	"repeat(E'\\303\\244', 5000000)::flake128")
{
	my $error = error_of($node, "SELECT $call");
	like(
		$error,
		qr/ERROR:  \w+: invalid .*\.\.\."$/m,
		"$call is an error that quotes the beginning");
	cmp_ok(length $error, '<', 10_000, "the error of $call is not as long as the text");
}

# These read a public form, and return null for one that is refused.
for my $form ([ 'text', 'flake_from_public' ], [ 'uuid', 'flake_from_public_uuid' ]) {
	my ($type, $function) = @$form;
	sql(<<~"SQL");
		CREATE FUNCTION read_flake(public $type, prefix text) RETURNS bigint LANGUAGE plpgsql STABLE
		AS \$\$
		BEGIN
			RETURN $function(public, prefix);
		EXCEPTION WHEN invalid_text_representation THEN
			RETURN NULL;
		END \$\$
		SQL
}
is(sql(<<~'SQL'), 't|0', 'a text with a character changed gives no ID that exists');
	SELECT count(*) > 10000, count(*) FILTER (WHERE EXISTS (
		SELECT FROM flakes WHERE id = read_flake(overlay(text placing digit from place), 'ord')))
	FROM (SELECT flake_to_public(id, 'ord') AS text FROM flakes LIMIT 100) AS texts,
		generate_series(6, 16) AS place, unnest('{0,1,5,9,A,K,a,k,z,Z}'::text[]) AS digit
	WHERE substr(text, place, 1) <> digit
	SQL
is(sql(<<~'SQL'), '0', 'a text with another prefix put before it gives no ID that exists');
	SELECT count(*) FROM flakes WHERE EXISTS (
		SELECT FROM flakes AS found
		WHERE found.id = read_flake(
			replace(flake_to_public(flakes.id, 'ord'), 'ord', 'user'), 'user'))
	SQL
is(sql(<<~'SQL'), '0', 'a text of another ID type of 64 bits gives no ID that exists');
	SELECT count(*) FROM uniqueids WHERE EXISTS (
		SELECT FROM flakes AS found
		WHERE found.id = read_flake(uniqueid_to_public(uniqueids.id), ''))
	SQL
is(sql(<<~'SQL'), 't|0', 'a uuid with a bit changed is refused');
	SELECT count(*) > 1000,
		count(read_flake(encode(set_bit(bytes, bit, 1 - get_bit(bytes, bit)), 'hex')::uuid, 'ord'))
	FROM (SELECT uuid_send(flake_to_public_uuid(id, 'ord')) AS bytes FROM flakes LIMIT 10) AS forms,
		generate_series(0, 127) AS bit
	SQL

$node->stop;
done_testing();
