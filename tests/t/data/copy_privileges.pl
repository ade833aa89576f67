# COPY calls X_next_for_copy() for users who may execute both it and X_next(), and only while
# neither function was altered.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Server;
use Test::More;

my $node = copy_server('copy_privileges');
my $load = "(nr) FROM '" . $node->basedir . "/numbers'";
sub sql { return $node->safe_psql('postgres', @_) }

sql(<<~'SQL');
	CREATE TABLE flakes (id bigint DEFAULT flake_next(), nr integer);
	CREATE DOMAIN checked AS integer CHECK (flake_next() > 0);
	CREATE ROLE loader;
	GRANT INSERT, SELECT ON flakes TO loader;
	GRANT pg_read_server_files TO loader;
	SQL
my $many = 'many at once';
my $single = 'one by one: 5000';
my $denied = qr/42501: permission denied for function flake_next$/m;
my $as_loader = "SET ROLE loader; COPY flakes $load";
my $for_copy = 'flake_next_for_copy(internal)';
is(inserts($node, 'flakes', $as_loader),
	$many, 'COPY inserts many rows at once for a user who may execute flake_next');
sql("REVOKE EXECUTE ON FUNCTION $for_copy FROM PUBLIC");
is(inserts($node, 'flakes', $as_loader),
	$single, 'a user who may not execute flake_next_for_copy gets the rows one by one');
sql(<<~"SQL");
	GRANT EXECUTE ON FUNCTION $for_copy TO PUBLIC;
	REVOKE EXECUTE ON FUNCTION flake_next() FROM PUBLIC;
	SQL
like(error_of($node, $as_loader),
	$denied, 'COPY is refused to a user who may not execute flake_next');
like(error_of($node, 'SET ROLE loader; INSERT INTO flakes (nr) VALUES (1)'),
	$denied, 'INSERT is refused to a user who may not execute flake_next');
is(inserts($node, 'flakes', "COPY flakes $load"),
	$many, 'COPY inserts many rows at once for the owner of flake_next');
# A session plans the CHECK of a domain once.
my $session = session($node);
$session->query_safe('SELECT 1::checked');
like(error_in($session, 'SET ROLE loader; SELECT 1::checked'),
	$denied, 'the CHECK of a domain is refused although another user had it planned');
$session->quit;
sql('GRANT EXECUTE ON FUNCTION flake_next() TO loader');
is(inserts($node, 'flakes', $as_loader),
	$many, 'COPY inserts many rows at once when the user may execute flake_next again');
for my $alter (
	'flake_next() SECURITY DEFINER',
	'flake_next() SET work_mem = 4096',
	"$for_copy SECURITY DEFINER")
{
	is(inserts($node, 'flakes', "BEGIN; ALTER FUNCTION $alter; COPY flakes $load; ROLLBACK"),
		$single, "COPY inserts rows one by one after ALTER FUNCTION $alter");
}

$node->stop;
done_testing();
