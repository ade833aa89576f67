# A standby reads IDs and generates none, as it does with nextval. When it is promoted, its sessions
# generate IDs.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$primary->start;
create_tables($primary);
my @tables = map { "$_->{name}s" } @ID_TYPES;
$primary->safe_psql('postgres', 'INSERT INTO flakes (nr) SELECT generate_series(1, 10000)');

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', "INSERT INTO $_ (nr) SELECT generate_series(1, 10000)")
  for grep { $_ ne 'flakes' } @tables;
$primary->wait_for_catchup($standby);

my $session = session($standby);
my @requests = (
	'flakeid_accept_clock()', "guid_next('1 min', true)",
	'guid_next_batch(1, inverse => true)', 'guid_local_next()',
	'guid_local_next_batch(1)', "uniqueid_next('spread')",
	"uniqueid_next_batch(1, 'spread')", map { ($_->{next}, sprintf $_->{batch}, 1) } @ID_TYPES);
for my $request (@requests) {
	# A batch is refused with the name of the function for one ID. guid and guid_local are of one
	# ID type.
	my $function = $request =~ s/(?:_batch)?\(.*//r =~ s/guid_local/guid(?:_local)?/r;
	my $refused = qr/ERROR:  25006: cannot execute $function\(\) during recovery/;
	my @errors = (error_of($standby, "SELECT $request"), error_in($session, "SELECT $request"));
	is((grep { /$refused/ } @errors), 2, "a standby refuses $request in each session");
}
is($standby->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(0)'),
	'0', 'a standby generates an empty batch of no IDs');
like(error_of($standby, 'SELECT flake_next() FROM flakes LIMIT 1'),
	qr/25006/, 'a standby refuses flake_next() in a query on a table');

my $hour = "tstzrange(now() - interval '1 hour', now())";
is($session->query_safe('SELECT count(*), bool_and(flake_timestamp(id) <= now()) FROM flakes'),
	'10000|t', 'a standby decodes flakes');
is($session->query_safe(<<~"SQL"), '10000|70000', 'a standby decodes snos, and finds them by time');
	SELECT count(*), sum((sno_decode(id)).meta) FROM snos WHERE id <@ $hour
	SQL
is( $session->query_safe(
		<<~"SQL"), '10000|t|t', 'a standby decodes uuidv7s, and finds them by time');
	SELECT count(*), bool_and(decoded.created_at = uuidv7_timestamp(id)),
		bool_and(uuidv7_after(id, now() - interval '1 hour') AND NOT uuidv7_after(id, now()))
	FROM uuidv7s, uuidv7_decode(id) AS decoded
	WHERE uuidv7_within(id, $hour)
	SQL
for my $name ('flake128', 'guid', 'uniqueid') {
	is( $session->query_safe(<<~"SQL"),
		SELECT count(*), bool_and(decoded.created_at = ${name}_timestamp(id)),
			bool_and(id::text::$name = id), bool_and(id::bytea::$name = id),
			bool_and(id > now() - interval '1 hour' AND id <= now())
		FROM ${name}s, ${name}_decode(id) AS decoded
		WHERE id <@ $hour
		SQL
		'10000|t|t|t|t',
		"a standby decodes ${name}s, casts them, and finds them by time");
}
is($session->query_safe(<<~'SQL'), '10000|t', 'a standby decodes guids as local ones');
	SELECT count(DISTINCT local), bool_and(decoded.created_at = guid_timestamp(id))
	FROM guids, CAST(id AS guid_local) AS local, guid_local_decode(local) AS decoded
	SQL
is($session->query_safe(<<~'SQL'), '0|t|0-7', 'a standby makes bounds, and has an identity');
	SELECT flake_min('epoch'), flake_at('2026-01-01') > 0,
		flakeid_identity() ->> 'generator_ids_setting'
	SQL

$primary->stop;
$standby->promote;
is($session->query_safe('SELECT pg_is_in_recovery()'),
	'f', 'a session of the standby continues when the standby is promoted');
is(error_in($session, "INSERT INTO $_ (nr) SELECT generate_series(1, 10000)"),
	'', "this session generates $_")
  for @tables;
for my $table (@tables) {
	is(error_of($standby, "INSERT INTO $table DEFAULT VALUES"),
		'', "a new session generates $table");
	is($session->query_safe("SELECT count(*), count(DISTINCT id) FROM $table"),
		'20001|20001', "new $table differ from those of the old primary");
}
$session->quit;
$standby->stop;

done_testing();
