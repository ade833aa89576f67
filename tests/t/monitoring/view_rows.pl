# pg_stat_flakeid has a row for each cell that has issued an ID since the server's shared memory was
# created: none after a start or a crash, on a standby, or without preloading.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use Server;
use Statistics;
use Test::More;

my $node = flakeid_server('view_rows', <<'END', allows_streaming => 1);
restart_after_crash = on
flakeid.generator_ids = '3'
autovacuum = off
END

my $number = <<'SQL' =~ s/\n\z//r;
SELECT (SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot())
SQL

sub has_no_rows {
	my ($server, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($server->safe_psql('postgres', "$number, pg_stat_reset_flakeid()"),
		'0|0|', "$what has no rows, and a reset is no error");
	return;
}

has_no_rows($node, 'a server that has generated no ID');
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	is($node->safe_psql('postgres', $number), '1|0', 'sno has no row before its first ID')
	  if $name eq 'sno';
	$node->safe_psql('postgres', "SELECT $id_type->{next}");
	my $row = "$name|" . ($id_type->{cells} ? '' : 3);
	is($node->safe_psql('postgres', <<"SQL"), $row, "$name has its rows after its first ID");
SELECT DISTINCT id_type, generator_id FROM pg_stat_flakeid WHERE id_type = '$name'
SQL
}
my $listed = $node->safe_psql('postgres', 'SELECT id_type FROM pg_stat_flakeid');
is( $listed =~ s/uuidv7\K(\nuuidv7)+//r,
	join("\n", map { $_->{name} } @ID_TYPES),
	'the rows are in the order of the ID types');

$node->restart;
has_no_rows($node, 'a server that is restarted');
$node->safe_psql('postgres', 'SELECT flake_next()');
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT id_type, ' ') FROM pg_stat_flakeid"),
	'flake', 'after a restart the view has the one ID type that was generated');

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', "$ONE_OF_EACH; CREATE TABLE made AS SELECT flake_next()");
$node->wait_for_catchup($standby);
has_no_rows($standby, 'a standby');
like(
	error_of($standby, 'SELECT flakeid_accept_clock()'),
	qr/ERROR:  25006: cannot execute flakeid_accept_clock\(\) during recovery/,
	'a standby has no clock to accept');
$standby->stop;

my $session = session($node);
$session->query_safe('SELECT count(flake_next()) FROM generate_series(1, 1000)');
my $since = $node->safe_psql('postgres', 'SELECT max(stats_reset) FROM pg_stat_flakeid');
crash_server($node, $session->query_safe('SELECT pg_backend_pid()'));
has_no_rows($node, 'a server that has crashed');
$node->safe_psql('postgres', 'SELECT flake_next()');
is($node->safe_psql('postgres', <<"SQL"), '1|t|t', 'after a crash the counts begin again');
SELECT sum(ids), bool_and(stats_reset > '$since'), max(waits) <= 1 FROM pg_stat_flakeid
SQL
$session->{run}->kill_kill if $session->{run};
$node->stop;

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->start;
has_no_rows($node, 'a server without preloading');
$node->stop;

done_testing();
