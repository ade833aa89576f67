# The functions of a database named the library $libdir/flakeid up to 0.7, and name it flakeid since
# 1.0.0. The last statement of the update changes this name alone, in each function of the
# extension. It leaves what an administrator changed.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Two scripts lead to 1.0.0: 0.7.90 has all but the last statement.
my $place = Installation->new('released')->put_released;
my ($others, $last) =
  slurp_file("$place->{extension}/flakeid--0.7.0--1.0.0.sql") =~
  /\A(.*)^(UPDATE pg_catalog\.pg_proc SET probin = .*)\z/ms
  or die 'the update changes no name of a library';
append_to_file("$place->{extension}/flakeid--0.7.0--0.7.90.sql", $others);
append_to_file("$place->{extension}/flakeid--0.7.90--1.0.0.sql", $last);

my $node = PostgreSQL::Test::Cluster->new('names', install_path => $place->{path});
$node->init;
# Without the line, a database with the SQL of 0.6 has no flakes.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2010-01-01'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE administrator');
my $LIBRARIES = <<'SQL';
SELECT probin, count(*) FROM pg_proc JOIN pg_depend ON objid = pg_proc.oid
WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid') AND probin IS NOT NULL
GROUP BY probin
SQL
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION flakeid');
my $fresh = $node->safe_psql('fresh', $LIBRARIES);
like($fresh, qr/\Aflakeid\|\d{3}\z/, 'hundreds of functions of a new database name it flakeid');

for my $from ('0.6.0', '0.7.0') {
	my $database = "from_$from" =~ tr/./_/r;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my $sql = sub { $node->safe_psql($database, $_[0]) };
	$sql->("CREATE EXTENSION flakeid VERSION '$from'");
	$sql->("ALTER EXTENSION flakeid UPDATE TO '0.7.0'") if $from ne '0.7.0';
	like(
		$sql->($LIBRARIES),
		qr/\A\$libdir\/flakeid\|\d{3}\z/,
		"from $from: the functions of 0.7.0 name it with its directory");

	my $session = $node->background_psql($database);
	my $generate = 'SELECT flake_next() > 0, flake_timestamp(1) IS NOT NULL, count(sno_next())';
	is($session->query_safe($generate), 't|t|1', "from $from: a session generates IDs");
	$sql->(<<'SQL');
ALTER EXTENSION flakeid UPDATE TO '0.7.90';
ALTER FUNCTION flake_next() COST 7;
ALTER FUNCTION flake_decode(bigint) SET work_mem TO '8MB';
ALTER FUNCTION sno_decode(sno) OWNER TO administrator;
ALTER FUNCTION flakeid_accept_clock() SECURITY DEFINER;
ALTER FUNCTION guid_cmp(guid, guid) NOT LEAKPROOF;
REVOKE ALL ON FUNCTION flake_timestamp(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flake_timestamp(bigint) TO administrator;
CREATE FUNCTION own_next() RETURNS bigint AS '$libdir/flakeid', 'flake_next_wrapper' LANGUAGE c;
CREATE TABLE before AS SELECT oid, probin, to_jsonb(pg_proc) - 'probin' AS others FROM pg_proc;
ALTER EXTENSION flakeid UPDATE TO '1.0.0';
SQL
	is($sql->(<<'SQL'), '', "from $from: the statement changes no other column of pg_proc");
SELECT coalesce(before.others, after.others) ->> 'proname'
FROM before FULL JOIN (SELECT oid, to_jsonb(pg_proc) - 'probin' AS others FROM pg_proc) AS after
	ON before.oid = after.oid
WHERE before.others IS DISTINCT FROM after.others
SQL
	is($sql->(<<'SQL'), '7|{work_mem=8MB}|administrator|t|f|t', "from $from: the changes stay");
SELECT (SELECT procost FROM pg_proc WHERE proname = 'flake_next'),
	(SELECT proconfig FROM pg_proc WHERE oid = 'flake_decode(bigint)'::regprocedure),
	(SELECT proowner::regrole FROM pg_proc WHERE oid = 'sno_decode(sno)'::regprocedure),
	(SELECT prosecdef FROM pg_proc WHERE proname = 'flakeid_accept_clock'),
	(SELECT proleakproof FROM pg_proc WHERE proname = 'guid_cmp'),
	has_function_privilege('administrator', 'flake_timestamp(bigint)', 'EXECUTE')
SQL
	is($sql->($LIBRARIES), $fresh, "from $from: the functions name it as those of a new database");
	is($sql->(<<'SQL'), 'own_next', "from $from: a function that is not the extension's stays");
SELECT proname FROM pg_proc WHERE probin LIKE '%/flakeid'
SQL
	is($session->query_safe($generate),
		't|t|1', "from $from: the session goes on generating IDs by the new name");
	is($session->query_safe('SELECT own_next() < flake_next()'),
		't', "from $from: both names together are one library");
	$session->quit;
}
$node->stop;
done_testing();
