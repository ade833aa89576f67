# The functions name the library flakeid, and dynamic_library_path says where it is. A server with
# its path in the configuration loads one file. A session that changes its own path generates IDs
# with the preloaded file or with none.
use strict;
use warnings;
use lib 'tests/perl';

use File::Copy qw(copy);
use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $place = Installation->new('path');
my $node = PostgreSQL::Test::Cluster->new('path', install_path => $place->{path});
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\ndynamic_library_path = '\$libdir'\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE FUNCTION former_next() RETURNS bigint AS '$libdir/flakeid', 'flake_next_wrapper' LANGUAGE c;
CREATE ROLE ordinary;
SQL

my $GENERATE = 'SELECT flake_next() > 0';

subtest 'one file by three names' => sub {
	my $session = session($node);
	is($session->query_safe('SELECT former_next() < flake_next()'),
		't', 'a function of 0.7 and one of today generate IDs in one session');
	is(error_in($session, "LOAD '$_'"), '', "LOAD '$_' loads no second file")
	  for 'flakeid', '$libdir/flakeid', $place->{library};
	is($session->query_safe($GENERATE), 't', 'the session goes on generating IDs');
	is_deeply(
		[ Installation::files_in($session) ],
		[ $place->{library} ],
		'the session has one file');
	$session->quit;
};

my $other = PostgreSQL::Test::Utils::tempdir('other');
copy($place->{library}, "$other/flakeid.so") or die "could not copy the library: $!";
chmod 0755, "$other/flakeid.so";

subtest 'a session with another file in its path' => sub {
	my $session = session($node);
	$session->query_safe("SET dynamic_library_path TO '$other:\$libdir'");
	like(
		error_in($session, $GENERATE),
		qr/ERROR:  55000: another flakeid library is already loaded/,
		"call $_ generates no ID") for 1, 2;
	is($session->query_safe('SELECT 1'), '1', 'the session goes on');
	$session->quit;

	my $before = session($node);
	$before->query_safe($GENERATE);
	$before->query_safe("SET dynamic_library_path TO '$other'");
	is($before->query_safe($GENERATE), 't', 'a function that was called keeps its file');
	$before->quit;
	like(
		error_of($node, "SET ROLE ordinary; SET dynamic_library_path TO '$other'"),
		qr/ERROR:  42501: permission denied to set parameter "dynamic_library_path"/,
		'an ordinary role has no path of its own');
};

subtest 'a reload with another file in the path' => sub {
	$node->adjust_conf('postgresql.conf', 'dynamic_library_path', "'$other:\$libdir'");
	$node->reload;
	$node->poll_query_until('postgres',
		"SELECT current_setting('dynamic_library_path') LIKE '$other:%'")
	  or die 'the path did not come';
	like(
		error_of($node, $GENERATE),
		qr/ERROR:  55000: another flakeid library is already loaded/,
		'sessions generate no IDs until the restart');
	$node->restart;
	my $session = session($node);
	is($session->query_safe($GENERATE), 't', 'after the restart they generate IDs');
	is_deeply(
		[ Installation::files_in($session) ],
		["$other/flakeid.so"],
		'they have the file of the new path');
	$session->quit;
};

subtest 'a path without the library' => sub {
	my $empty = PostgreSQL::Test::Utils::tempdir('empty');
	my $missing = qr/could not (?:access file|load library) "flakeid": .*No such file or directory/;
	like(
		error_of($node, "SET dynamic_library_path TO '$empty'; $GENERATE"),
		qr/ERROR:  58P01: $missing/,
		'the session of such a path generates no ID');
	$node->stop;
	$node->adjust_conf('postgresql.conf', 'dynamic_library_path', "'$empty'");
	ok(!$node->start(fail_ok => 1), 'a server of such a path does not start');
	like(slurp_file($node->logfile), qr/FATAL:  $missing/, 'the log says what is missing');
};

subtest 'a path to one directory' => sub {
	$place->remove_library;
	$node->adjust_conf('postgresql.conf', 'dynamic_library_path', "'$other'");
	$node->start;
	my $session = session($node);
	is($session->query_safe($GENERATE), 't', 'the server generates IDs without $libdir');
	is_deeply(
		[ Installation::files_in($session) ],
		["$other/flakeid.so"],
		'it has the file of this directory');
	my $former = error_in($session, 'SELECT former_next()');
	if ($place->{version} >= 18) {
		is($former, '', 'a function of 0.7 finds this file from PostgreSQL 18 on');
	}
	else {
		like(
			$former,
			qr/ERROR:  58P01: could not access file "\$libdir\/flakeid"/,
			'a function of 0.7 looks in $libdir up to PostgreSQL 17');
	}
	$session->quit;
	$node->stop;
};

done_testing();
