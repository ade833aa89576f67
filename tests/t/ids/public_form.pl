# The public form of IDs: each ID type goes there and back, what was changed is refused, the form is the one that is frozen, and
# keys come from a file that is read at the start and at each reload, and are nowhere else.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# NIST's example key of 256 bits, and another one.
my $NIST = '2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94';
my $OTHER = '00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef';
my $THIRD = 'f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3b4a5968778695a4b3c2d1e0f';

my $node = PostgreSQL::Test::Cluster->new('public_form');
$node->init(allows_streaming => 1);
my $file = $node->basedir . '/public_keys';
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
log_min_messages = debug1
log_min_duration_statement = 0
debug_print_plan = on
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE guest LOGIN');
sub sql { return $node->safe_psql('postgres', $_[0]); }

# Replaces the file of keys by a rename.
sub write_keys {
	my ($content, $mode) = @_;
	unlink "$file.new";
	append_to_file("$file.new", $content);
	chmod $mode // 0600, "$file.new" or die "chmod: $!";
	rename "$file.new", $file        or die "rename: $!";
	return;
}

# Reloads the configuration. The postmaster has the new keys when it has logged that, and a new session begins with them.
sub reload {
	my $offset = -s $node->logfile;
	sql('SELECT pg_reload_conf()');
	$node->wait_for_log(qr/received SIGHUP, reloading configuration files/, $offset);
	# The postmaster forks this session after it has handled the reload.
	sql('SELECT');
	return substr slurp_file($node->logfile), $offset;
}

sub versions {
	return sql(
		q(SELECT string_agg(version || CASE WHEN encrypts THEN '!' ELSE '' END, ' ') FROM flakeid_public_key_versions())
	);
}

# without a key --------------------------------------------------------------------------------------------------

my $error = error_of($node, 'SELECT flake_to_public(1)');
like(
	$error,
	qr/ERROR:  55000: there is no key for the public form of IDs\nDETAIL:  "flakeid.public_keys_file" is empty\./,
	'without a key there is no public form');
like(
	$error,
	qr/HINT: .*flakeid_new_public_key\(\).*ALTER SYSTEM SET flakeid\.public_keys_file.*pg_reload_conf\(\)/,
	'the hint has the three commands');
like(
	error_of($node, "SELECT flake_from_public('100000000000')"),
	qr/ERROR:  55000: there is no key/,
	'without a key no public form is read');
is(sql('SELECT count(*) FROM flakeid_public_key_versions()'), '0', 'there are no versions');
like(
	sql('SELECT flakeid_new_public_key()'),
	qr/^1 [0-9a-f]{64}$/,
	'the first line for the file has version 1');
is(sql('SELECT count(DISTINCT flakeid_new_public_key()) FROM generate_series(1, 100)'),
	'100', 'each new key is another one');
like(
	error_of($node, 'SET ROLE guest; SELECT flakeid_new_public_key()'),
	qr/permission denied for function/,
	'only a superuser makes a key');

# keys -----------------------------------------------------------------------------------------------------------

write_keys("# of the test\n1 $NIST\n\n");
sql("ALTER SYSTEM SET flakeid.public_keys_file = '$file'");
reload();
is(versions(), '1!', 'a reload reads the keys');
is(sql("SELECT flakeid_new_public_key() LIKE '2 %'"),
	't', 'the next line for the file has the next version');

# The form is frozen. These were computed by another implementation: examples/public_form.py.
my $frozen = <<'SQL';
SELECT flake_to_public(2237357943253106688, 'ord'), flake_to_public_uuid(2237357943253106688, 'ord');
SELECT sno_to_public('9q74gok3262so257', 'ord'), sno_to_public_uuid('9q74gok3262so257', 'ord');
SELECT uuidv7_to_public('01a19467-e800-7001-8000-000000000007'), uuidv7_to_public_uuid('01a19467-e800-7001-8000-000000000007');
SQL
note(sql($frozen));

# The IDs of each type: new ones, and those at the ends of what can be.
my %types = (
	flake => [
		'bigint', 'flake_next()', q(VALUES (0::bigint), (1), (flake_max(now() + interval '23 h')))
	],
	sno => [
		'sno', 'sno_next(255)',
		q(VALUES (sno '2222222222222222'), (sno_max(now() + interval '23 h')))
	],
	flake128 => [
		'flake128', 'flake128_next()',
		q(VALUES (flake128 '0'), (flake128_max(now() + interval '23 h')))
	],
	guid => [
		'guid',
		'guid_next()',
		q(VALUES (guid '................'), (guid_next(inverse => true)), (guid_next('1 day')), (guid_max(now() + interval '23 h')))
	],
	guid_local => [
		'guid_local',
		'guid_local_next()',
		q(VALUES (guid_local '................'), (guid_local_next(inverse => true)), (guid_local_next('1 day')))
	],
	uniqueid => [
		'uniqueid', 'uniqueid_next()',
		q(VALUES (uniqueid '0000000000000000'), (uniqueid_next('spread')))
	],
	uuidv7 => [
		'uuid',
		'uuidv7_next()',
		q(VALUES (uuidv7_min('1970-01-01 00:00+00')), (uuidv7_max(now() + interval '23 h')), (uuidv7_at('2020-01-01 00:00+00')))
	],);
my %digits = (
	flake => 11,
	sno => 14,
	flake128 => 22,
	guid => 17,
	guid_local => 11,
	uniqueid => 11,
	uuidv7 => 21);
for my $name (sort keys %types) {
	my ($type, $next, $ends) = @{ $types{$name} };
	sql("CREATE TABLE ${name}s (id $type PRIMARY KEY); INSERT INTO ${name}s SELECT $next FROM generate_series(1, 2000); INSERT INTO ${name}s $ends ON CONFLICT DO NOTHING; ANALYZE ${name}s"
	);
	my $length = 1 + $digits{$name};
	is( sql(
			<<"SQL"), 't|t|t|t|t|t|t', "$name: each ID has a text of its own for each prefix, and comes back from it");
SELECT count(*) > 2000, bool_and(${name}_from_public(bare) = id AND ${name}_from_public(ord, 'ord') = id AND ${name}_from_public(long, '$name-_9') = id),
	count(DISTINCT bare) = count(*), count(DISTINCT ord) = count(*), bool_and(bare ~ '^1[0-9A-Za-z]{$digits{$name}}\$'), bool_and(ord ~ '^ord_1[0-9A-Za-z]{$digits{$name}}\$'),
	count(*) FILTER (WHERE right(ord, $length) = bare OR right(long, $length) = bare OR right(long, $length) = right(ord, $length)) = 0
FROM (SELECT id, ${name}_to_public(id) AS bare, ${name}_to_public(id, 'ord') AS ord, ${name}_to_public(id, '$name-_9') AS long FROM ${name}s) AS forms
SQL
	if ($name eq 'flake128') {
		like(
			error_of($node, "SELECT flake128_to_public_uuid(id, 'ord') FROM flake128s"),
			qr/ERROR:  0A000: a flake128 has no public form as a uuid\nDETAIL:  It has more than the 122 free bits/,
			'flake128: a uuid has no room for it');
		like(
			error_of(
				$node,
				"SELECT flake128_from_public_uuid('00000000-0000-8000-8000-000000000000', 'ord')"),
			qr/ERROR:  0A000: /,
			'flake128: it is in no uuid');
	}
	else {
		is( sql(
				<<"SQL"), 't|t|t|t', "$name: each ID has a uuid of version 8 for each prefix, and comes back from it");
SELECT bool_and(${name}_from_public_uuid(bare) = id AND ${name}_from_public_uuid(ord, 'ord') = id), count(DISTINCT bare) = count(*),
	bool_and(bare::text ~ '^........-....-8...-[89ab]' AND ord::text ~ '^........-....-8...-[89ab]'), count(*) FILTER (WHERE bare = ord) = 0
FROM (SELECT id, ${name}_to_public_uuid(id) AS bare, ${name}_to_public_uuid(id, 'ord') AS ord FROM ${name}s) AS forms
SQL
	}
	my $lookup = sql(
		"SELECT format('SELECT count(*) FROM ${name}s WHERE id = ${name}_from_public(%L, ''ord'')', ${name}_to_public(id, 'ord')) FROM ${name}s LIMIT 1"
	);
	like(
		sql("SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $lookup"
		),
		qr/Index Only Scan using ${name}s_pkey.*rows=1\b.*loops=1/,
		"$name: a lookup is one probe of the index");
	is(sql($lookup), '1', "$name: a lookup finds the row");
	like(
		error_of($node, "CREATE INDEX ON ${name}s (${name}_to_public(id))"),
		qr/functions in index expression must be marked IMMUTABLE/,
		"$name: an index of public forms is refused");
}
is( sql("CREATE TABLE typed (id flake); INSERT INTO typed VALUES (flake_next()); SELECT count(*) FROM typed WHERE id = flake_from_public(flake_to_public(id, 'ord'), 'ord')"
	),
	'1',
	'a column of type flake has the public form of a flake');

# what is refused ------------------------------------------------------------------------------------------------

like(
	error_of($node, "SELECT flake_to_public(1, '$_->[0]')"),
	qr/ERROR:  22023: invalid prefix of a public form: "\Q$_->[1]\E"\nDETAIL:  A prefix has at most 63/,
	"'$_->[0]' is no prefix")
  for [ 'a b', 'a b' ], [ 'a.b', 'a.b' ], [ "\x{c3}\x{a4}", '\xc3\xa4' ], [ 'a' x 64, 'a' x 64 ],
  [ 'a/', 'a/' ];
is( sql("SELECT length(flake_to_public(1, repeat('a', 63)))"),
	63 + 1 + 12,
	'a prefix can have 63 characters');
for my $case ([ -1, 'a negative flake' ],
	[ q(flake_max(now() + interval '25 h')), 'a flake of the day after tomorrow' ])
{
	my ($id, $what) = @$case;
	like(
		error_of($node, "SELECT $_($id)"),
		qr/ERROR:  22023: this flake has no public form/,
		"$what has no public form: $_") for qw(flake_to_public flake_to_public_uuid);
}
like(
	error_of($node, "SELECT uuidv7_to_public$_(gen_random_uuid())"),
	qr/ERROR:  22023: this uuidv7 has no public form/,
	"a uuid of version 4 has no public form$_") for '', '_uuid';

my $text = sql("SELECT flake_to_public(id, 'ord') FROM flakes LIMIT 1");
my ($last) = $text =~ /_(.*)/;
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
		qr/ERROR:  22P02: invalid public form of a flake: ".*"\nDETAIL:  .*\Q$detail\E/,
		"flake_from_public($arguments) is refused: $detail");
}
like(
	error_of($node, "SELECT flake_from_public_uuid('$_->[0]')"),
	qr/ERROR:  22P02: invalid public form of a flake: "$_->[0]"\nDETAIL:  .*$_->[1]/,
	"the uuid $_->[0] is refused: $_->[1]")
  for [ '01a19467-e800-7001-8000-000000000007', 'not a uuid of version 8' ],
  [ '00000000-0000-8000-0000-000000000000', 'not a uuid of version 8' ],
  [ 'fc000000-0000-8000-8000-000000000000', 'not a uuid of version 8 that holds' ],
  [ '08000000-0000-8000-8000-000000000000', 'no key of version "2"' ],
  [ '04000000-0000-8000-8000-000000000000', 'does not decrypt to a flake of a time until now' ];

# An error quotes the beginning of a long text alone. There may be no memory for all of it.
for my $call (
	"flake_from_public(repeat('x', 5000000))",
	"flake_to_public(1, repeat('x', 5000000))",
	"repeat('x', 5000000)::sno",
	"repeat(E'\\303\\244', 5000000)::flake128")
{
	my $said = error_of($node, "SELECT $call");
	like($said, qr/ERROR:  \w+: invalid .*\.\.\."$/m,
		"$call is an error that quotes the beginning");
	cmp_ok(length $said, '<', 10_000, "the error of $call is not as long as the text");
}

# A text of another type or prefix, or one with a character changed, gives an error or another ID, and no ID that exists.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION read_flake(public text, prefix text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN flake_from_public(public, prefix);
EXCEPTION WHEN invalid_text_representation THEN
	RETURN NULL;
END $$;
CREATE FUNCTION read_flake_uuid(public uuid, prefix text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN flake_from_public_uuid(public, prefix);
EXCEPTION WHEN invalid_text_representation THEN
	RETURN NULL;
END $$;
SQL
is(sql(<<'SQL'), 't|0', 'a text with a character changed gives no ID that exists');
SELECT count(*) > 10000, count(*) FILTER (WHERE EXISTS (SELECT FROM flakes WHERE flakes.id = read_flake(overlay(text placing digit from place), 'ord')))
FROM (SELECT flake_to_public(id, 'ord') AS text FROM flakes LIMIT 100) AS texts, generate_series(6, 16) AS place, unnest('{0,1,5,9,A,K,a,k,z,Z}'::text[]) AS digit
WHERE substr(text, place, 1) <> digit
SQL
is(sql(<<'SQL'), '0', 'a text with another prefix put before it gives no ID that exists');
SELECT count(*) FROM flakes WHERE EXISTS (SELECT FROM flakes AS found WHERE found.id = read_flake(replace(flake_to_public(flakes.id, 'ord'), 'ord', 'user'), 'user'))
SQL
is(sql(<<'SQL'), '0', 'a text of another ID type of 64 bits gives no ID that exists');
SELECT count(*) FROM uniqueids WHERE EXISTS (SELECT FROM flakes AS found WHERE found.id = read_flake(uniqueid_to_public(uniqueids.id), ''))
SQL
is(sql(<<'SQL'), 't|0', 'a uuid with a bit changed is refused');
SELECT count(*) > 1000, count(read_flake_uuid(encode(set_bit(uuid_send(public), bit, 1 - get_bit(uuid_send(public), bit)), 'hex')::uuid, 'ord'))
FROM (SELECT flake_to_public_uuid(id, 'ord') AS public FROM flakes LIMIT 10) AS forms, generate_series(0, 127) AS bit
SQL

# rotation -------------------------------------------------------------------------------------------------------

my %old = map {
	$_ =>
	  sql("SELECT ${_}_to_public(id, 'ord') || ' ' || id::text FROM ${_}s ORDER BY id DESC LIMIT 1")
} keys %types;
my $old_uuid =
  sql("SELECT flake_to_public_uuid(id) || ' ' || id FROM flakes ORDER BY id DESC LIMIT 1");

sub old_are_read {
	my ($claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @wrong = grep {
		my ($public, $id) = split / /, $old{$_};
		sql("SELECT ${_}_from_public('$public', 'ord')::text") ne $id
	} sort keys %types;
	my ($public, $id) = split / /, $old_uuid;
	push @wrong, 'uuid' if sql("SELECT flake_from_public_uuid('$public')") ne $id;
	return is("@wrong", '', $claim);
}
my $session = session($node);
is($session->query_safe("SELECT left(flake_to_public(1), 1)"),
	'1', 'a session encrypts with the first key');
write_keys("1 $NIST\nZ $OTHER\n");
reload();
is(versions(), '1! Z', 'a key at the end of the file is known');
old_are_read('a key at the end changes nothing for the texts of the first');
is(sql("SELECT left(flake_to_public(1), 1)"), '1', 'a key at the end does not encrypt');
write_keys("Z $OTHER\n1 $NIST\n");
reload();
is(versions(), 'Z! 1', 'the first key of the file encrypts');
is(sql("SELECT left(flake_to_public(1), 1)"), 'Z', 'new texts have the version of the first key');
is($session->query_safe("SELECT left(flake_to_public(1), 1)"),
	'Z', 'a session that was there has the new keys in its next command');
old_are_read('the texts of the former key are read');
write_keys("Z $OTHER\n");
reload();

for my $name (sort keys %types) {
	my ($public) = split / /, $old{$name};
	like(
		error_of($node, "SELECT ${name}_from_public('$public', 'ord')"),
		qr/ERROR:  22P02: .*\nDETAIL:  This server has no key of version "1"\./,
		"$name: a text of a retired key is refused, with its version");
}

# The version of a retired key is not given again.
write_keys("1 retired\nZ $OTHER\n0\tretired\n");
reload();
is(versions(), 'Z!', 'retired keys are no keys');
is(sql('SELECT left(flakeid_new_public_key(), 2)'),
	'2 ', 'a new key does not get the version of a retired one');
like(
	error_of($node, "SELECT flake_from_public('@{[ (split / /, $old{flake})[0] ]}', 'ord')"),
	qr/ERROR:  22P02: .*\nDETAIL:  The key of version "1" is retired\./,
	'the error says that the key is retired');

# A uuidv7 in a uuid has no version: the time decides.
write_keys("1 $NIST\n");
reload();
sql("CREATE TABLE shown AS SELECT id, uuidv7_to_public_uuid(id) AS public FROM uuidv7s WHERE id BETWEEN uuidv7_min('2020-01-01 00:00+00') AND uuidv7_max(now())"
);
write_keys("Z $OTHER\n1 $NIST\n");
reload();
my ($all, $same, $exists) = split /\|/,
  sql(
	'SELECT count(*), count(*) FILTER (WHERE uuidv7_from_public_uuid(public) = id), count(*) FILTER (WHERE uuidv7_from_public_uuid(public) <> id AND uuidv7_from_public_uuid(public) IN (SELECT id FROM shown)) FROM shown'
  );
cmp_ok(
	$same, '>=',
	0.97 * $all,
	"uuidv7: the key before decides for the time of all but a few: $same of $all are the same");
is($exists, '0', 'uuidv7: the others are no IDs that exist');

# files that are refused -----------------------------------------------------------------------------------------

for my $case (
	[
		"Z $OTHER\n1 $NIST\n",
		0644,
		qr/has mode 0644, so that others than the server's user can read it; its mode must be 0600/
	],
	[ "Z $OTHER\n1 $NIST\n", 0640, qr/has mode 0640/ ],
	[ "Z $OTHER\n1 $NIST\n", 0604, qr/has mode 0604/ ],
	[
		"Z $OTHER\n2 $THIRD" . "0\n",
		0600, qr/has a line, number 2, that is not a version, a space and 64 hexadecimal digits/
	],
	[ "Z $OTHER\n\n# a\n2 " . ($THIRD =~ s/.\z//r) . "\n", 0600, qr/has a line, number 4,/ ],
	[ "Z $OTHER\n22 $THIRD\n", 0600, qr/has a line, number 2,/ ],
	[ "Z $OTHER\n_ $THIRD\n", 0600, qr/has a line, number 2,/ ],
	[ "Z $OTHER\n2$THIRD\n", 0600, qr/has a line, number 2,/ ],
	[ "Z $OTHER\n2 g" . ($THIRD =~ s/^.//r) . "\n", 0600, qr/has a line, number 2,/ ],
	[ "Z $OTHER\nZ $THIRD\n", 0600, qr/has the version of line 1 again in line 2/ ],
	[ "Z $OTHER\n2 " . uc($OTHER) . "\n", 0600, qr/has the key of line 1 again in line 2/ ],
	[ '', 0600, qr/has no key/ ],
	[ "# none\n", 0600, qr/has no key/ ],
	[ "1 retired\n", 0600, qr/has no key/ ],
	[ "Z $OTHER\n1 retired\n1 $NIST\n", 0600, qr/has the version of line 2 again in line 3/ ],
	[ "2 $THIRD\n" . ('#' x 40000), 0600, qr/it is larger than 32768 bytes/ ])
{
	my ($content, $mode, $reason) = @$case;
	write_keys($content, $mode);
	my $log = reload();
	like(
		$log,
		qr/LOG:  refused "flakeid\.public_keys_file": .*$reason.*\n.*DETAIL:  The former keys stay\./,
		"a file is refused: $reason");
	is(versions(), 'Z! 1', 'the former keys stay');
	like(
		sql('SELECT name, setting, error FROM flakeid_settings_errors'),
		qr/^flakeid\.public_keys_file\|\Q$file\E\|.*$reason.*\.$/,
		'the view of errors in settings has the reason');
}
unlink $file;
like(
	reload(),
	qr/refused "flakeid\.public_keys_file": could not read ".*": No such file or directory/,
	'a file that is gone is refused');
is(versions(), 'Z! 1', 'the former keys stay without the file');
mkdir $file;
like(
	reload(),
	qr/refused "flakeid\.public_keys_file": could not read ".*": Is a directory/,
	'a directory is refused');
rmdir $file;
write_keys("Z $OTHER\r\n1\t$NIST\r\n3   $THIRD", 0400);
reload();
is(versions(), 'Z! 1 3',
	'a file of other line ends, with tabs, and without a last line end is read');

# A restart begins without keys if the file is not valid, and the server starts.
write_keys("nonsense\n");
my $offset = -s $node->logfile;
$node->restart;
like(
	substr(slurp_file($node->logfile), $offset),
	qr/refused "flakeid\.public_keys_file": ".*" has a line, number 1, .*\n.*DETAIL:  There are no keys for the public form of IDs\./,
	'a server starts with a file that is not valid');
$error = error_of($node, 'SELECT flake_to_public(1)');
like(
	$error,
	qr/ERROR:  55000: there is no key for the public form of IDs\nDETAIL:  The file was refused: ".*" has a line, number 1,/,
	'the error has the reason');
like(
	error_of($node, 'SET ROLE guest; SELECT flake_to_public(1)'),
	qr/ERROR:  55000: .*\nDETAIL:  The server's log has the details\./,
	'an ordinary user does not get the reason');
write_keys("Z $OTHER\n1 $NIST\n");
reload();
is(versions(), 'Z! 1', 'a reload reads the file that is valid now');
is(sql('SELECT count(*) FROM flakeid_settings_errors'),
	'0', 'the view of errors in settings has no reason left');
$node->restart;
is(versions(), 'Z! 1', 'a restart reads the file');
old_are_read('the texts are read after a restart');
sql('ALTER SYSTEM RESET flakeid.public_keys_file');
reload();
is(versions(), '', 'without the setting there are no keys');
sql("ALTER SYSTEM SET flakeid.public_keys_file = '$file'");
reload();

# sessions -------------------------------------------------------------------------------------------------------

is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_settings WHERE name = 'flakeid.public_keys_file'",
		extra_params => [ '-U', 'guest' ]),
	'0',
	'an ordinary user does not see the setting');
is( $node->safe_psql(
		'postgres',
		"SELECT left(flake_to_public(1), 1)",
		extra_params => [ '-U', 'guest' ]),
	'Z',
	'an ordinary user has the public form of an ID');
like(
	error_of($node, "SET flakeid.public_keys_file = ''"),
	qr/parameter "flakeid\.public_keys_file" cannot be changed now/,
	'no session can set the file');
my ($major) = sql('SHOW server_version_num') =~ /^(\d+)\d{4}$/;
my $forced = $major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is(sql("SET $forced = on; SELECT left(flake_to_public(1), 1)"),
	'Z', 'a parallel worker has the keys');
is(sql(<<"SQL"), 't|2000', 'parallel workers read public forms');
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
CREATE TABLE many AS SELECT id, flake_to_public(id) AS public FROM flakes LIMIT 2000;
SELECT bool_and(flake_from_public(public) = id), count(*) FROM many
SQL

# a standby ------------------------------------------------------------------------------------------------------

# A standby without the file starts. After it gets a copy, it reads the texts of the primary, and still does when it is promoted.
my $of_primary = sql("SELECT flake_to_public(flake_min(now()), 'ord')");
$node->backup('without_keys');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'without_keys', has_streaming => 1);
my $copy = $standby->basedir . '/public_keys';
$standby->append_conf('postgresql.auto.conf', "flakeid.public_keys_file = '$copy'");
$standby->start;
my $read = "SELECT flake_to_public(flake_from_public('$of_primary', 'ord'), 'ord')";
like(
	error_of($standby, $read),
	qr/ERROR:  55000: there is no key .*\nDETAIL:  The file was refused: could not read "\Q$copy\E": No such file or directory\./,
	'a standby without the file has no keys, and says why');
append_to_file($copy, slurp_file($file));
chmod 0600, $copy or die "chmod: $!";
my $before = -s $standby->logfile;
$standby->safe_psql('postgres', 'SELECT pg_reload_conf()');
$standby->wait_for_log(qr/received SIGHUP, reloading configuration files/, $before);
$standby->safe_psql('postgres', 'SELECT');
is($standby->safe_psql('postgres', $read),
	$of_primary,
	'with a copy of the file it reads the texts of the primary, and makes the same ones');
$standby->promote;
is($standby->safe_psql('postgres', $read), $of_primary, 'a promotion changes no key');
$standby->stop;

# The keys are nowhere but in the file.
my $contents =
	$node->safe_psql('postgres', q(SELECT string_agg(s::text, E'\n') FROM pg_settings AS s))
  . $node->safe_psql('postgres', q(SELECT string_agg(s::text, E'\n') FROM pg_stat_activity AS s));
$session->quit;
sql('CHECKPOINT');
$node->stop;
my @found = grep { $contents =~ /$_/i } map { substr $_, 0, 20 } $NIST, $OTHER, $THIRD;
is("@found", '', 'no view shows a key');
my @patterns = map { (quotemeta(pack 'H*', $_), lc substr($_, 0, 20), uc substr($_, 0, 20)) } $NIST,
  $OTHER, $THIRD;
my $pattern = do {
	my $all = join '|', map { /^[0-9A-Fa-f]+\z/ ? $_ : "(?-i:$_)" } @patterns;
	qr/$all/;
};
like(slurp_file($file), $pattern, 'the search finds the keys in their file');
@found = ();
require File::Find;
File::Find::find(
	{
		no_chdir => 1,
		wanted => sub {
			return unless -f $_ && $_ ne $file;
			push @found, $_ if slurp_file($_) =~ $pattern;
		}
	},
	$node->data_dir,
	$node->logfile);
is("@found", '', 'no file of the server and no log has a key');

done_testing();
