# The public form of IDs: each ID of each type has a text and a uuid of its own for each prefix, and
# comes back from them. A lookup by a public form uses the index of the IDs. IDs without a public
# form, invalid prefixes, texts and uuids are refused. A changed form gives an error or another ID,
# and never an ID that exists.
use strict;
use warnings;
use lib 'tests/perl';

use PublicKeys;
use Server;
use Test::More;

my $node = start_server('public_form');
sub sql { return $node->safe_psql('postgres', $_[0]); }

use_keys($node, "1 $NIST\n");
create_ids($node);
my %digits = id_types();

for my $name (sort keys %digits) {
	my $length = 1 + $digits{$name};
	is( sql(<<~"SQL"),
		SELECT count(*) > 2000,
			bool_and(${name}_from_public(bare) = id AND ${name}_from_public(ord, 'ord') = id
				AND ${name}_from_public(long, '$name-_9') = id),
			count(DISTINCT bare) = count(*), count(DISTINCT ord) = count(*),
			bool_and(bare ~ '^1[0-9A-Za-z]{$digits{$name}}\$'),
			bool_and(ord ~ '^ord_1[0-9A-Za-z]{$digits{$name}}\$'),
			count(*) FILTER (WHERE right(ord, $length) = bare OR right(long, $length) = bare
				OR right(long, $length) = right(ord, $length)) = 0
		FROM (SELECT id, ${name}_to_public(id) AS bare, ${name}_to_public(id, 'ord') AS ord,
				${name}_to_public(id, '$name-_9') AS long
			FROM ${name}s) AS forms
		SQL
		't|t|t|t|t|t|t',
		"$name: each ID has a text of its own for each prefix, and comes back from it");
	is(sql(<<~"SQL"), 't|t|t|t', <<~"CLAIM" =~ s/\n//r) if $name ne 'flake128';
		SELECT bool_and(${name}_from_public_uuid(bare) = id
				AND ${name}_from_public_uuid(ord, 'ord') = id),
			count(DISTINCT bare) = count(*),
			bool_and(bare::text ~ '^........-....-8...-[89ab]'
				AND ord::text ~ '^........-....-8...-[89ab]'),
			count(*) FILTER (WHERE bare = ord) = 0
		FROM (SELECT id, ${name}_to_public_uuid(id) AS bare,
				${name}_to_public_uuid(id, 'ord') AS ord
			FROM ${name}s) AS forms
		SQL
		$name: each ID has a uuid of version 8 for each prefix, and comes back from it
		CLAIM
	my $lookup = sql(<<~"SQL");
		SELECT format('SELECT count(*) FROM ${name}s WHERE id = ${name}_from_public(%L, ''ord'')',
			${name}_to_public(id, 'ord'))
		FROM ${name}s LIMIT 1
		SQL
	like(
		sql(<<~"SQL"),
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $lookup
		SQL
		qr/Index Only Scan using ${name}s_pkey.*rows=1\b.*loops=1/,
		"$name: a lookup is one probe of the index");
	is(sql($lookup), '1', "$name: a lookup finds the row");
	like(
		error_of($node, "CREATE INDEX ON ${name}s (${name}_to_public(id))"),
		qr/functions in index expression must be marked IMMUTABLE/,
		"$name: an index of public forms is refused");
}

is(sql(<<~'SQL'), '1', 'a column of type flake has the public form of a flake');
	CREATE TABLE typed (id flake);
	INSERT INTO typed VALUES (flake_next());
	SELECT count(*) FROM typed WHERE id = flake_from_public(flake_to_public(id, 'ord'), 'ord')
	SQL

my $forced = $node->pg_version->major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is(sql("SET $forced = on; SELECT left(flake_to_public(1), 1)"),
	'1', 'a parallel worker has the keys');
is(sql(<<~'SQL'), 't|2000', 'parallel workers read public forms');
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;
	CREATE TABLE many AS SELECT id, flake_to_public(id) AS public FROM flakes LIMIT 2000;
	SELECT bool_and(flake_from_public(public) = id), count(*) FROM many
	SQL

# what is refused ----------------------------------------------------------------------------------

# For each error calls, each with the detail of its error.
my $text = sql("SELECT flake_to_public(id, 'ord') FROM flakes LIMIT 1");
my ($last) = $text =~ /_(.*)/;
my $of_prefix = 'A prefix has at most 63';
my %refused = (
	'22P02: invalid public form of a flake: ".*"' => [
		"flake_from_public('$last', 'ord')" => 'It does not begin with "ord_"',
		"flake_from_public('$text', 'user')" => 'It does not begin with "user_"',
		"flake_from_public('$text', 'or')" => 'It does not begin with "or_"',
		"flake_from_public('$text')" => 'has 12 characters, this text has 16 bytes',
		"flake_from_public('', '')" => 'There is nothing after the prefix',
		"flake_from_public('ord_', 'ord')" => 'There is nothing after the prefix',
		"flake_from_public('${text}0', 'ord')" => 'has 12 characters, this text has 13 bytes',
		"flake_from_public(left('$text', -1), 'ord')" => 'this text has 11 bytes',
		"flake_from_public(overlay('$text' placing '-' from 9), 'ord')" =>
		  'Character 5 after the prefix is not a digit of base 62',
		"flake_from_public(overlay('$text' placing '*' from 5), 'ord')" =>
		  'Character 1 after the prefix is not a digit of base 62',
		"flake_from_public(overlay('$text' placing '7' from 5), 'ord')" =>
		  'This server has no key of version "7"',
		"flake_from_public('ord_1zzzzzzzzzzz', 'ord')" => 'does not fit 64 bits'
	],
	'22023: invalid prefix of a public form: "a b"' =>
	  [ "flake_to_public(1, 'a b')" => $of_prefix ],
	'22023: invalid prefix of a public form: "\\\\xc3\\\\xa4"' =>
	  [ "flake_to_public(1, '\x{c3}\x{a4}')" => $of_prefix ],
	'22023: this flake has no public form' => [
		map { ("flake_$_(-1)" => '', "flake_$_(flake_max(now() + interval '25 h'))" => '') }
		  'to_public',
		'to_public_uuid'
	],
	'22023: this uuidv7 has no public form' =>
	  [ map { ("uuidv7_$_(gen_random_uuid())" => '') } 'to_public', 'to_public_uuid' ],
	'0A000: a flake128 has no public form as a uuid' => [
		"flake128_to_public_uuid('1')" => 'It has more than the 122 free bits',
		"flake128_from_public_uuid('00000000-0000-8000-8000-000000000000', 'ord')" => ''
	]);
for my $error (sort keys %refused) {
	my @calls = @{ $refused{$error} };
	while (my ($call, $detail) = splice @calls, 0, 2) {
		like(
			error_of($node, "SELECT $call"),
			qr/ERROR:  $error\nDETAIL:  .*\Q$detail\E/,
			"$call is refused: $detail");
	}
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
		qr/ERROR:  22P02: invalid public form of a flake: "$uuid"\nDETAIL:  .*$detail/,
		"the uuid $uuid is refused: $detail");
}

# An error quotes the beginning of a long text alone. There may be no memory for all of it.
for my $call ("flake_from_public(repeat('x', 5000000))", "flake_to_public(1, repeat('x', 5000000))")
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
