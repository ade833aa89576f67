# The file of keys of the public form: a server refuses a file that is not valid or that others can
# read, and keeps its keys. Users do not see the file. A standby needs a copy of it.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PublicKeys;
use Server;
use Test::More;

my $node = start_server('public_keys_file');
sub sql { return $node->safe_psql('postgres', $_[0]); }

my $file = keys_file($node);
my $two_keys = "Z $OTHER\n1 $NIST\n";
use_keys($node, $two_keys);
is(versions($node), 'Z! 1', 'the keys of the file are there');

subtest 'docs/public-form.md writes no file without a key, and replaces none' => sub {
	my ($command) = slurp_file('docs/public-form.md') =~ /^```sh\n(\(umask.*?)^```$/ms;
	my $written = $node->data_dir . '/flakeid_public_keys';
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGDATABASE => 'template1',
		PGDATA => $node->data_dir);
	my $fails = sub { return system('sh', '-c', "{ $command} 2>/dev/null") != 0 };
	ok($fails->(), 'the command fails in a database without the extension');
	ok(!-e $written, 'it writes no file then');
	$ENV{PGDATABASE} = 'postgres';
	is(system('sh', '-c', $command), 0, 'it succeeds in a database with the extension');
	my $key = slurp_file($written);
	like($key, qr/\A\w [0-9a-f]{64}\n\z/, 'the file has one key');
	is((stat $written)[2] & oct 777, oct 600, 'only its owner reads it');
	ok($fails->(), 'the command fails if the file is there');
	is(slurp_file($written), $key, 'the file stays');
	unlink $written;
};

my $refused = qr/refused "flakeid\.public_keys_file":/;
my $not_a_key = 'that is not a version, a space and 64 hexadecimal digits';
my $others_read = 'so that others can read it; its mode must be 0600, or 0640 if root owns it';
for my $case (
	[ $two_keys, 0644, "has mode 0644, $others_read" ],
	[ $two_keys, 0640, 'has mode 0640' ],
	[ $two_keys, 0604, 'has mode 0604' ],
	[ "Z $OTHER\n2 ${THIRD}0\n", 0600, "has a line, number 2, $not_a_key" ],
	[ "Z $OTHER\n\n# a\n2 " . ($THIRD =~ s/.\z//r) . "\n", 0600, 'has a line, number 4,' ],
	[ "Z $OTHER\n22 $THIRD\n", 0600, 'has a line, number 2,' ],
	[ "Z $OTHER\n_ $THIRD\n", 0600, 'has a line, number 2,' ],
	[ "Z $OTHER\n2$THIRD\n", 0600, 'has a line, number 2,' ],
	[ "Z $OTHER\n2 g" . ($THIRD =~ s/^.//r) . "\n", 0600, 'has a line, number 2,' ],
	[ "Z $OTHER\nZ $THIRD\n", 0600, 'has the version of line 1 again in line 2' ],
	[ "Z $OTHER\n2 " . uc($OTHER) . "\n", 0600, 'has the key of line 1 again in line 2' ],
	[ '', 0600, 'has no key' ],
	[ "# none\n", 0600, 'has no key' ],
	[ "1 retired\n", 0600, 'has no key' ],
	[ "Z $OTHER\n1 retired\n1 $NIST\n", 0600, 'has the version of line 2 again in line 3' ],
	[ "2 $THIRD\n" . ('#' x 40000), 0600, 'it is larger than 32768 bytes' ])
{
	my ($content, $mode, $reason) = @$case;
	write_keys($node, $content, $mode);
	like(
		reload($node),
		qr/LOG:  $refused .*\Q$reason\E.*\n.*DETAIL:  The former keys stay\./,
		"a file is refused: $reason");
	is(versions($node), 'Z! 1', "the former keys stay: the new file $reason");
	like(
		sql('SELECT name, setting, error FROM flakeid_settings_errors'),
		qr/^flakeid\.public_keys_file\|\Q$file\E\|.*\Q$reason\E.*\.$/,
		"the view of errors in settings has the reason: $reason");
}

unlink $file;
like(
	reload($node),
	qr/$refused could not read ".*": No such file or directory/,
	'a file that is gone is refused');
is(versions($node), 'Z! 1', 'the former keys stay without the file');
mkdir $file;
like(reload($node), qr/$refused could not read ".*": Is a directory/, 'a directory is refused');
rmdir $file;
write_keys($node, "Z $OTHER\r\n1\t$NIST\r\n3   $THIRD", 0400);
reload($node);
is(versions($node), 'Z! 1 3',
	'a file of other line ends, with tabs, and without a last line end is read');

subtest 'a server restarts without keys if the file is not valid' => sub {
	write_keys($node, "nonsense\n");
	my $offset = -s $node->logfile;
	$node->restart;
	my $reason = qr/".*" has a line, number 1,/;
	my $no_keys = 'There are no keys for the public form of IDs.';
	like(
		substr(slurp_file($node->logfile), $offset),
		qr/$refused $reason .*\n.*DETAIL:  \Q$no_keys\E/,
		'a server starts with a file that is not valid');
	my $none = qr/ERROR:  55000: there is no key for the public form of IDs/;
	like(
		error_of($node, 'SELECT flake_to_public(1)'),
		qr/$none\nDETAIL:  The file was refused: $reason/,
		'the error has the reason');
	like(
		error_of($node, 'SET ROLE guest; SELECT flake_to_public(1)'),
		qr/ERROR:  55000: .*\nDETAIL:  The server's log has the details\./,
		'an ordinary user does not get the reason');
	write_keys($node, $two_keys);
	reload($node);
	is(versions($node), 'Z! 1', 'a reload reads the file that is valid now');
	is(sql('SELECT count(*) FROM flakeid_settings_errors'),
		'0', 'the view of errors in settings has no reason left');
};

for my $case (
	[
		"SELECT count(*) FROM pg_settings WHERE name = 'flakeid.public_keys_file'",
		'0', 'an ordinary user does not see the setting'
	],
	[ 'SELECT left(flake_to_public(1), 1)', 'Z', 'an ordinary user has the public form of an ID' ])
{
	my ($query, $expected, $claim) = @$case;
	is($node->safe_psql('postgres', $query, extra_params => [ '-U', 'guest' ]), $expected, $claim);
}
like(
	error_of($node, "SET flakeid.public_keys_file = ''"),
	qr/parameter "flakeid\.public_keys_file" cannot be changed now/,
	'no session can set the file');

subtest 'a standby reads the texts of the primary when it gets a copy of the file' => sub {
	my $text = sql("SELECT flake_to_public(flake_min(now()), 'ord')");
	$node->backup('without_keys');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'without_keys', has_streaming => 1);
	my $copy = keys_file($standby);
	$standby->append_conf('postgresql.auto.conf', "flakeid.public_keys_file = '$copy'");
	$standby->start;
	my $read = "SELECT flake_to_public(flake_from_public('$text', 'ord'), 'ord')";
	my $missing = qr/could not read "\Q$copy\E": No such file or directory/;
	like(
		error_of($standby, $read),
		qr/ERROR:  55000: there is no key .*\nDETAIL:  The file was refused: $missing\./,
		'a standby without the file has no keys, and says why');
	write_keys($standby, slurp_file($file));
	reload($standby);
	is($standby->safe_psql('postgres', $read),
		$text,
		'with a copy of the file it reads the texts of the primary, and makes the same ones');
	$standby->promote;
	is($standby->safe_psql('postgres', $read), $text, 'a promotion changes no key');
	$standby->stop;
};

is(keys_in_views($node), '', 'no view shows a key');
is(files_with_keys($node), '', 'no file of the server and no log has a key');
done_testing();
