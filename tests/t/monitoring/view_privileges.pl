# Members of pg_monitor read the views of flakeid. Only a superuser resets the counts and accepts
# the clock, or a user with a superuser's grant. The owner of the extension has no more privileges.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Statistics;
use Test::More;

my $node = flakeid_server('view_privileges');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner LOGIN;
CREATE ROLE other LOGIN;
CREATE DATABASE owned OWNER owner;
SQL
my @reading = (
	'TABLE pg_stat_flakeid',
	'SELECT * FROM pg_stat_get_flakeid()',
	'SELECT * FROM flakeid_snapshot()');
my $reset = 'SELECT pg_stat_reset_flakeid()';
my @doing = ($reset, 'SELECT flakeid_accept_clock()');

sub error_as {
	my ($role, $sql) = @_;
	return error_of($node, "\\c - $role\n\\set VERBOSITY verbose\n$sql", 'owned');
}

is(error_as('owner', "CREATE EXTENSION flakeid; $ONE_OF_EACH"),
	'', 'the owner of a database creates the extension there');
for my $role ('owner', 'other') {
	like(
		error_as($role, $_),
		qr/ERROR:  42501: permission denied for (?:function|view) /,
		"$role may not: $_") for @reading, @doing;
	is(error_as($role, "$ONE_OF_EACH, flakeid_identity()"), '', "$role may generate IDs");
}
like(
	error_as('owner', 'GRANT SELECT ON pg_stat_flakeid TO other'),
	qr/WARNING:|ERROR:  42501/,
	'the owner of the extension cannot grant what it may not do');
like(error_as('other', 'TABLE pg_stat_flakeid'), qr/ERROR:  42501/, 'no such grant has an effect');
$node->safe_psql('owned', 'GRANT pg_monitor TO owner');
is(error_as('owner', $_), '', "a member of pg_monitor may: $_") for @reading;
like(
	error_as('owner', $_),
	qr/ERROR:  42501: permission denied for function/,
	"a member of pg_monitor may not: $_") for @doing;
is(error_of($node, $reset, 'owned'), '', 'a superuser resets the counts');
$node->safe_psql('owned', 'GRANT EXECUTE ON FUNCTION pg_stat_reset_flakeid() TO other');
is(error_as('other', $reset), '', 'a user with the grant of a superuser resets the counts');
is( $node->safe_psql('owned', 'SELECT count(*) FROM pg_stat_flakeid'),
	$node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_flakeid'),
	'the counts are those of the server: another database shows them, too');
is(error_as('owner', 'DROP EXTENSION flakeid'), '', 'the owner of the extension drops it');

$node->stop;
done_testing();
