# The library and the SQL have different versions. A server goes on with the library that it was
# started with. An older library refuses newer SQL, and a newer one serves older SQL.
use strict;
use warnings;
use lib 'tests/perl';

use HeldIds;
use Installation;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($version) = slurp_file('flakeid.control') =~ /^default_version = '([\d.]+)'$/m
  or die 'no version in flakeid.control';
# An update leads from the oldest version to this one, by steps of which this is the first.
my $older = '0.6.0';
my ($next) = map { /--([\d.]+)\.sql/ } glob "sql/released/flakeid--$older--*";
my $place = Installation->new('versions')->put_released;
my $node = PostgreSQL::Test::Cluster->new('versions', install_path => $place->{path});
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
create_tables($node);

# Statements in the database with older SQL.
sub in_new { my ($sql) = @_; return $node->safe_psql('new', $sql) }

sub insertion {
	return error_of($node, 'INSERT INTO made SELECT FROM generate_series(1, 100)', 'new');
}

sub needs {
	my ($needed) = @_;
	my $has = "the loaded flakeid library has version \Q$older\E, but this SQL needs \Q$needed\E";
	my $hint = 'Install the library of that version and restart the server';
	return qr/ERROR:  55000: $has\n.*HINT:  $hint/s;
}

sub version_of_library {
	return $node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'version'");
}

$place->put_library_of($version, $older);
is(version_of_library(), $version, 'a server goes on with the library that it was started with');
$node->restart;
is(version_of_library(), $older, 'a server that is started again has the new file');
is(insert_rows($node, 100), '', 'a server generates IDs with an older library');

$node->safe_psql('postgres', 'CREATE DATABASE new');
like(error_of($node, 'CREATE EXTENSION flakeid', 'new'),
	needs($version), 'an older library refuses a newer extension');
is(in_new("SELECT count(*) FROM pg_extension WHERE extname = 'flakeid'"),
	'0', 'nothing is left of the refused extension');
in_new("CREATE EXTENSION flakeid VERSION '$older'");
in_new('CREATE TABLE made (id sno DEFAULT sno_next() PRIMARY KEY)');
is(insertion(), '', 'the older SQL generates IDs with the older library');

$place->put_library;
like(error_of($node, 'ALTER EXTENSION flakeid UPDATE', 'new'),
	needs($next), 'an update before the restart is refused');
is(in_new("SELECT extversion FROM pg_extension WHERE extname = 'flakeid'"),
	$older, 'the refused update leaves the extension as it was');
is(insertion(), '', 'the refused update leaves the extension generating IDs');
$node->restart;
is(insertion(), '', 'after the restart the newer library serves the older SQL');
is(error_of($node, 'ALTER EXTENSION flakeid UPDATE', 'new'),
	'', 'after the restart the newer library serves the update');
is(insertion(), '', 'the updated SQL generates IDs');
is(in_new('SELECT count(DISTINCT id) FROM made'), '400', 'no ID repeats after the update');

like(
	error_of($node, "SELECT flakeid_require_library('9.0.0')"),
	qr/has version \Q$version\E, but this SQL needs 9\.0\.0/,
	'the library refuses the script of a later version');
is(error_of($node, "SELECT flakeid_require_library('0.5.10')"),
	'', 'the library takes the script of an earlier version');

$node->safe_psql('postgres', 'CREATE DATABASE old');
$node->safe_psql('old', "CREATE EXTENSION flakeid VERSION '$older'");
my $flakes = 'SELECT flake_next() FROM generate_series(1, 1000)';
my %ids = map { $_ => 1 } map { split /\n/, $node->safe_psql($_, $flakes) } 'old', 'new';
is(scalar keys %ids, 2000, 'databases with different versions of the SQL have different IDs');

$node->stop;
done_testing();
