# The owner of a database creates and updates the extension without being superuser. This gives no
# privilege on the functions and views that are for superusers and monitors.
use strict;
use warnings;
use lib 'tests/perl';

use InSchema;
use Installation;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $installed = PostgreSQL::Test::Cluster->new('installed');
$installed->init;
$installed->start;
is($installed->safe_psql('postgres', <<'SQL'), 't', 'only the present version can be created');
SELECT version = (SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid')
FROM pg_available_extension_versions WHERE name = 'flakeid'
SQL
my $no_script =
  'extension "flakeid" has no installation script nor update path for version "0.6.0"';
like(
	error_of($installed, "CREATE EXTENSION flakeid VERSION '0.6.0'"),
	qr/ERROR:  22023: \Q$no_script\E/,
	'an earlier version cannot be created');
$installed->stop;

# Here the scripts of earlier versions are installed, too.
my $node = PostgreSQL::Test::Cluster->new('extension_owner',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner; CREATE ROLE other');
my ($first) = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT version FROM pg_available_extension_versions WHERE name = 'flakeid'
ORDER BY string_to_array(version, '.')::integer[]
SQL
my $current = $node->safe_psql('postgres',
	"SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid'");

for my $version ($first, $current) {
	my $database = 'owned_' . ($version =~ tr/./_/r);
	my $run = sub { $node->safe_psql($database, $_[0]) };
	my $as = sub { my ($role, $sql) = @_; "SET SESSION AUTHORIZATION $role; $sql" };
	my $is_refused = sub {
		my ($role, $sql, $error, $test) = @_;
		local $Test::Builder::Level = $Test::Builder::Level + 1;
		like(error_of($node, $as->($role, $sql), $database), qr/ERROR:  $error/, $test);
	};
	subtest "the extension is created with version $version" => sub {
		$node->safe_psql('postgres', "CREATE DATABASE $database OWNER owner");
		$is_refused->(
			'other',
			'CREATE EXTENSION flakeid',
			'42501: permission denied to create extension',
			'a user that may not create in a database creates no extension');
		$run->($as->('owner', "CREATE EXTENSION flakeid VERSION '$version'"));
		$run->($as->('owner', 'ALTER EXTENSION flakeid UPDATE')) if $version ne $current;
		is($run->(<<'SQL'), "owner|$current", 'the owner of the database has the present version');
SELECT extowner::regrole, extversion FROM pg_extension WHERE extname = 'flakeid'
SQL
		$run->($as->('owner', 'CREATE SCHEMA own'));
		for my $type (@TYPES) {
			my ($name, $id_type, $next) = @$type{ 'name', 'type', 'next' };
			my $lately = lately($type);
			is( $run->(
					$as->('owner',
						<<"SQL")), '100|100', "the owner generates, decodes and finds ${name}s");
CREATE TABLE own.${name}s (id $id_type DEFAULT $next PRIMARY KEY);
INSERT INTO own.${name}s SELECT FROM generate_series(1, 100);
SELECT count(*), count((${name}_decode(id)).created_at) FROM own.${name}s WHERE $lately;
SQL
		}
		$is_refused->(
			'owner', "SELECT $_",
			'42501: permission denied for function',
			"the owner may not call $_") for 'flakeid_accept_clock()', 'pg_stat_reset_flakeid()';
		my $not_owner = '(?:must be owner of|permission denied for) function flakeid_accept_clock';
		$is_refused->('owner', $_, "(?:42501: $not_owner|2BP01: )", "the owner may not: $_")
		  for 'GRANT EXECUTE ON FUNCTION flakeid_accept_clock() TO owner',
		  'ALTER FUNCTION flakeid_accept_clock() OWNER TO owner',
		  q{CREATE OR REPLACE FUNCTION flakeid_accept_clock() RETURNS void LANGUAGE sql AS ''},
		  'DROP FUNCTION flakeid_accept_clock()';
		for my $view ('pg_stat_flakeid', 'pg_stat_flakeid_horizon', 'pg_stat_flakeid_lease') {
			$is_refused->(
				'owner',
				"SELECT * FROM $view",
				"42501: permission denied for view $view",
				"the owner may not read $view");
			$run->('GRANT pg_monitor TO owner');
			is($run->($as->('owner', "SELECT count(*) >= 0 FROM $view")),
				't', "the owner may read $view as a member of pg_monitor");
			$run->('REVOKE pg_monitor FROM owner');
		}
		# PostgreSQL asks that the owner owns what is in it, which a superuser does.
		$is_refused->(
			'owner',
			'ALTER EXTENSION flakeid SET SCHEMA own',
			'42501: must be owner of (?:function|type|operator|view|cast)',
			'only a superuser moves the extension');
		$is_refused->(
			'other',
			'DROP EXTENSION flakeid',
			'42501: must be owner of extension flakeid',
			'another user does not drop the extension');
		$run->($as->('owner', 'DROP SCHEMA own CASCADE; DROP EXTENSION flakeid'));
		is($run->("SELECT count(*) FROM pg_extension WHERE extname = 'flakeid'"),
			'0', 'the owner drops the extension');
	};
}

$node->stop;
done_testing();
