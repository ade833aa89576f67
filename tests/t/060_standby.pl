# A standby reads IDs and makes none, as nextval does; promoted, it makes them in the sessions it has.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE flakes (id bigint DEFAULT flake_next() PRIMARY KEY, nr integer);
CREATE TABLE snos (id sno DEFAULT sno_next(7) PRIMARY KEY, nr integer);
INSERT INTO flakes (nr) SELECT generate_series(1, 10000);
SQL

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', 'INSERT INTO snos (nr) SELECT generate_series(1, 10000)');
$primary->wait_for_catchup($standby);

my $session = session($standby);
my %made_by = (
	'flake_next()'        => 'flake_next',
	'flake_next_batch(1)' => 'flake_next',
	'sno_next()'          => 'sno_next',
	'sno_next_batch(1)'   => 'sno_next',
);
for my $ask (sort keys %made_by)
{
	my $refused = qr/ERROR:  25006: cannot execute $made_by{$ask}\(\) during recovery/;
	like(error_of($standby, "SELECT $ask"), $refused, "on a standby $ask is an error");
	like(error_in($session, "SELECT $ask"), $refused, '... in a session that stays, too');
}
is(
	$standby->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(0)'), '0',
	'... no IDs at all are none');
like(
	error_of($standby, 'SELECT flake_next() FROM flakes LIMIT 1'), qr/25006/,
	'... of a query on a table too');
is(
	$session->query_safe('SELECT count(*), bool_and(flake_timestamp(id) <= now()) FROM flakes'),
	'10000|t', 'a standby decodes flakes');
is(
	$session->query_safe('SELECT count(*), sum((sno_decode(id)).meta) FROM snos'
		  . " WHERE id <@ tstzrange(now() - interval '1 hour', now())"),
	'10000|70000', '... and snos, and finds them by time');
is(
	$session->query_safe("SELECT flake_min('epoch'), flake_at('2026-01-01') > 0, flakeid_identity() ->> 'setting'"),
	'0|t|0-7', '... and the rest');

$primary->stop;
$standby->promote;
is($session->query_safe('SELECT pg_is_in_recovery()'), 'f', 'after promotion');
is(
	error_in($session, 'INSERT INTO flakes (nr) SELECT generate_series(1, 10000)'), '',
	'... the same session makes flakes');
is(error_in($session, 'INSERT INTO snos (nr) SELECT generate_series(1, 10000)'), '', '... and snos');
is(
	$standby->safe_psql('postgres', 'INSERT INTO flakes DEFAULT VALUES RETURNING id > 0'), 't',
	'... and so does a new one');
is(
	$session->query_safe('SELECT count(*), count(DISTINCT id) FROM flakes'), '20001|20001',
	'... distinct from those of the old primary');
is(
	$session->query_safe('SELECT count(*), count(DISTINCT id) FROM snos'), '20000|20000',
	'... in both systems');
$session->quit;

$standby->stop;
done_testing();
