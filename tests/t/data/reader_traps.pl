# Another role makes objects before a superuser installs flakeid_reader: none is called in the place
# of PostgreSQL's or of the file's own, and that role owns no function of the file. The same holds
# for the extension of pg_tle.
use strict;
use warnings;
use lib 'tests/perl';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ReaderFiles;
use Server;
use Test::More;

my ($file, $for_tle) = build_reader();
my $node = PostgreSQL::Test::Cluster->new('reader_traps');
$node->init;

# CREATE EXTENSION itself runs the script, where it finds one outside of the server's own folder.
my %install = (flakeid_reader => $file, ids => "SELECT pgtle.create_extension('ids')");
if ($node->pg_version >= 18) {
	my $folder = PostgreSQL::Test::Utils::tempdir;
	mkdir "$folder/extension" or die "could not create a folder: $!";
	append_to_file("$folder/extension/flakeid_reader.control",
		"default_version = '1'\nrelocatable = false\nsuperuser = false\n");
	append_to_file(
		"$folder/extension/flakeid_reader--1.sql",
		$for_tle =~ s/.*?\$flakeid\$(.*)\$flakeid\$.*/$1/sr);
	$node->append_conf('postgresql.conf', "extension_control_path = '$folder:\$system'\n");
	$install{ids} = 'CREATE EXTENSION flakeid_reader SCHEMA ids';
}
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE eve');

sub create_database {
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, slurp_file('tests/reader/pg_tle.sql'));
	$node->safe_psql($database, $for_tle);
	return $node->safe_psql($database, "GRANT CREATE ON DATABASE $database TO eve");
}

# Tests that the file is refused, and that it leaves nothing behind.
sub is_refused {
	my ($schema, $error, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(error_of($node, $install{$schema}, 'attacked'), $error, "$schema: $what");
	return is($node->safe_psql('attacked', <<"SQL"), '0', "$schema: it created nothing");
SELECT count(*) FROM pg_proc WHERE pronamespace = '$schema'::regnamespace AND proname ~ '^flake'
SQL
}

# objects of another role ------------------------------------------------------------------------

create_database('attacked');
for my $schema (sort keys %install) {
	my $of_eve = qr/ERROR:  42501: the schema $schema, or an object in it, .*: eve\n/;
	$node->safe_psql('attacked', "CREATE SCHEMA $schema AUTHORIZATION eve");
	is_refused($schema, $of_eve, 'a schema of another role is refused');

	$node->safe_psql('attacked', "ALTER SCHEMA $schema OWNER TO postgres");
	$node->safe_psql('attacked', "GRANT CREATE ON SCHEMA $schema TO PUBLIC, eve");
	is_refused(
		$schema,
		qr/ERROR:  42501: other roles may create objects in the schema $schema: PUBLIC, eve\n/,
		'a schema in which another role may create objects is refused');

	# The operator of an attacker is a better match than PostgreSQL's.
	for my $object (
		[ "FUNCTION $schema.trap(bigint, interval)", 'RETURNS interval RETURN $2' ],
		[ "TYPE $schema.trap", 'AS ENUM ()' ],
		["OPERATOR $schema.* (bigint, interval)"])
	{
		my ($name, $definition) = @$object;
		my $create =
		  $definition
		  ? "CREATE $name $definition"
		  : 'CREATE SCHEMA traps; '
		  . 'CREATE FUNCTION traps.trap(bigint, interval) RETURNS interval RETURN $2; '
		  . "CREATE OPERATOR $schema.* "
		  . '(LEFTARG = bigint, RIGHTARG = interval, FUNCTION = traps.trap)';
		$node->safe_psql('attacked', "SET ROLE eve; $create");
		$node->safe_psql('attacked', "REVOKE CREATE ON SCHEMA $schema FROM PUBLIC, eve");
		is_refused($schema, $of_eve, "with this object of another role it is refused: $name");
		$node->safe_psql('attacked', "DROP $name; DROP SCHEMA IF EXISTS traps CASCADE");
		$node->safe_psql('attacked', "GRANT CREATE ON SCHEMA $schema TO eve");
	}
	$node->safe_psql('attacked', "REVOKE CREATE ON SCHEMA $schema FROM eve");
	unlike(error_of($node, $install{$schema}, 'attacked'),
		qr/ERROR/, "$schema: without those, it is installed");
	is($node->safe_psql('attacked', "SELECT $schema.flake_timestamp(0) = $schema.flake_epoch()"),
		't', "$schema: its functions work");
}

# objects of one's own ---------------------------------------------------------------------------

# Tests that the functions of the file depend on none that is not of it. What depends on
# PostgreSQL's own is in no list.
sub has_no_trap {
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($node->safe_psql('trapped', <<'SQL'), 't|', "$what: no function is bound to a trap");
SELECT count(DISTINCT p.oid) > 60,
	string_agg(p.oid::regprocedure || ' -> ' || pg_describe_object(refclassid, refobjid, 0), ', ')
	FILTER (WHERE refclassid NOT IN ('pg_namespace'::regclass, 'pg_extension'::regclass)
		AND (refclassid <> 'pg_proc'::regclass OR obj_description(refobjid, 'pg_proc') IS NULL))
FROM pg_proc AS p JOIN pg_depend ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE pronamespace = 'flakeid_reader'::regnamespace
	AND obj_description(p.oid, 'pg_proc') IS NOT NULL
SQL
}

create_database('trapped');
$node->safe_psql('trapped', $file);
$node->safe_psql('trapped', slurp_file('tests/reader/traps.sql'));
$node->safe_psql('trapped', $file);
has_no_trap('the file');
$node->safe_psql('trapped', <<'SQL');
SELECT 'DROP FUNCTION ' || string_agg(oid::regprocedure::text, ', ') FROM pg_proc
WHERE pronamespace = 'flakeid_reader'::regnamespace AND obj_description(oid, 'pg_proc') IS NOT NULL
\gexec
SQL
$node->safe_psql('trapped', $install{ids} =~ s/ids/flakeid_reader/r);
has_no_trap('the extension');

$node->stop;
done_testing();
