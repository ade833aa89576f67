# The keys of the public form: a server without keys, a first key, their rotation and retirement.
# Texts of a former key are read as long as the file has the key. The keys are in no other file.
use strict;
use warnings;
use lib 'tests/perl';

use PublicKeys;
use Server;
use Test::More;

my $node = start_server('public_keys');
sub sql { return $node->safe_psql('postgres', $_[0]); }

subtest 'a server without a key has no public form' => sub {
	my $error = error_of($node, 'SELECT flake_to_public(1)');
	my $none = qr/ERROR:  55000: there is no key for the public form of IDs/;
	like(
		$error,
		qr/$none\nDETAIL:  "flakeid.public_keys_file" is empty\./,
		'without a key there is no public form');
	my $set = qr/ALTER SYSTEM SET flakeid\.public_keys_file/;
	like(
		$error,
		qr/HINT: .*flakeid_new_public_key\(\).*$set.*pg_reload_conf\(\)/,
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
};

use_keys($node, "# of the test\n1 $NIST\n\n");
is(versions($node), '1!', 'a reload reads the keys');
is(sql("SELECT flakeid_new_public_key() LIKE '2 %'"),
	't', 'the next line for the file has the next version');
create_ids($node);

# The last ID of each type, with its text and, for a flake, its uuid.
my %digits = id_types();
my %old = map { ("${_}_from_public" => sql(<<~"SQL")) } keys %digits;
	SELECT ${_}_to_public(id, 'ord'), id FROM ${_}s ORDER BY id DESC LIMIT 1
	SQL
$old{flake_from_public_uuid} =
  sql("SELECT flake_to_public_uuid(id, 'ord'), id FROM flakes ORDER BY id DESC LIMIT 1");

# Tests that each function still reads the public form.
sub old_are_read {
	my ($claim) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @wrong = grep {
		my ($public, $id) = split /\|/, $old{$_};
		sql("SELECT $_('$public', 'ord')") ne $id
	} sort keys %old;
	return is("@wrong", '', $claim);
}

# Reads a file of other keys, and tests which versions there are.
sub change_keys {
	my ($content, $versions, $claim) = @_;
	write_keys($node, $content);
	reload($node);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(versions($node), $versions, $claim);
}

my $version = 'SELECT left(flake_to_public(1), 1)';
my $session = session($node);
is($session->query_safe($version), '1', 'a session encrypts with the first key');
change_keys("1 $NIST\nZ $OTHER\n", '1! Z', 'a key at the end of the file is known');
old_are_read('a key at the end changes nothing for the texts of the first');
is(sql($version), '1', 'a key at the end does not encrypt');
change_keys("Z $OTHER\n1 $NIST\n", 'Z! 1', 'the first key of the file encrypts');
is(sql($version), 'Z', 'new texts have the version of the first key');
is($session->query_safe($version),
	'Z', 'a session that was there has the new keys in its next command');
old_are_read('the texts of the former key are read');
$node->restart;
is(versions($node), 'Z! 1', 'a restart reads the file');
old_are_read('the texts are read after a restart');

change_keys("Z $OTHER\n", 'Z!', 'a key that is gone from the file is no key');
for my $name (sort keys %digits) {
	my ($public) = split /\|/, $old{"${name}_from_public"};
	like(
		error_of($node, "SELECT ${name}_from_public('$public', 'ord')"),
		qr/ERROR:  22P02: .*\nDETAIL:  This server has no key of version "1"\./,
		"$name: a text of a key that is gone is refused, with its version");
}

# The version of a retired key is not given again.
change_keys("1 retired\nZ $OTHER\n0\tretired\n", 'Z!', 'retired keys are no keys');
is(sql('SELECT left(flakeid_new_public_key(), 2)'),
	'2 ', 'a new key does not get the version of a retired one');
my ($public) = split /\|/, $old{flake_from_public};
like(
	error_of($node, "SELECT flake_from_public('$public', 'ord')"),
	qr/ERROR:  22P02: .*\nDETAIL:  The key of version "1" is retired\./,
	'the error says that the key is retired');

# A uuidv7 in a uuid has no version: the time decides.
change_keys("1 $NIST\n", '1!', 'a key that was retired can return');
sql(<<~'SQL');
	CREATE TABLE shown AS SELECT id, uuidv7_to_public_uuid(id) AS public FROM uuidv7s
	WHERE id BETWEEN uuidv7_min('2020-01-01 00:00+00') AND uuidv7_max(now())
	SQL
change_keys("Z $OTHER\n1 $NIST\n", 'Z! 1', 'another key is first again');
my ($all, $same, $exists) = split /\|/, sql(<<~'SQL');
	SELECT count(*), count(*) FILTER (WHERE found = id),
		count(*) FILTER (WHERE found <> id AND found IN (SELECT id FROM shown))
	FROM (SELECT id, uuidv7_from_public_uuid(public) AS found FROM shown) AS read
	SQL
note("$same of $all are the same");
cmp_ok($same, '>=', 0.97 * $all, 'uuidv7: the key before decides for the time of all but a few');
is($exists, '0', 'uuidv7: the others are no IDs that exist');

sql('ALTER SYSTEM RESET flakeid.public_keys_file');
reload($node);
is(versions($node), '', 'without the setting there are no keys');

is(keys_in_views($node), '', 'no view shows a key');
$session->quit;
is(files_with_keys($node), '', 'no file of the server and no log has a key');
done_testing();
