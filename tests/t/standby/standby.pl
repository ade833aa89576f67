# A standby reads IDs and makes none, as nextval does; promoted, it makes them in the sessions it has.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
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
my %made_by =
  map { ($_->{next} => "$_->{name}_next", sprintf($_->{batch}, 1) => "$_->{name}_next") } @ID_TYPES;
$made_by{"guid_next('1 min', true)"} = $made_by{'guid_next_batch(1, inverse => true)'} =
  'guid_next';
# They are of one ID type.
$made_by{'guid_local_next()'} = $made_by{'guid_local_next_batch(1)'} = 'guid(?:_local)?_next';
$made_by{"uniqueid_next('spread')"} = $made_by{"uniqueid_next_batch(1, 'spread')"} =
  'uniqueid_next';
for my $ask (sort keys %made_by) {
	my $refused = qr/ERROR:  25006: cannot execute $made_by{$ask}\(\) during recovery/;
	like(error_of($standby, "SELECT $ask"), $refused, "on a standby $ask is an error");
	like(error_in($session, "SELECT $ask"), $refused, '... in a session that stays, too');
}
is($standby->safe_psql('postgres', 'SELECT count(*) FROM flake_next_batch(0)'),
	'0', '... a batch of no IDs is empty');
like(error_of($standby, 'SELECT flake_next() FROM flakes LIMIT 1'),
	qr/25006/, '... of a query on a table too');
is($session->query_safe('SELECT count(*), bool_and(flake_timestamp(id) <= now()) FROM flakes'),
	'10000|t', 'a standby decodes flakes');
is( $session->query_safe(
			'SELECT count(*), sum((sno_decode(id)).meta) FROM snos'
		  . " WHERE id <@ tstzrange(now() - interval '1 hour', now())"),
	'10000|70000',
	'... and snos, and finds them by time');
is( $session->query_safe(
			'SELECT count(*), bool_and(decoded.created_at = uuidv7_timestamp(id)),'
		  . " bool_and(uuidv7_after(id, now() - interval '1 hour') AND NOT uuidv7_after(id, now()))"
		  . " FROM uuidv7s, uuidv7_decode(id) AS decoded WHERE uuidv7_within(id, tstzrange(now() - interval '1 hour', now()))"
	),
	'10000|t|t',
	'a standby reads uuidv7s');
for my $id_type (grep { !/^(?:flake|sno|uuidv7)$/ } map { $_->{name} } @ID_TYPES) {
	is( $session->query_safe(
			"SELECT count(*), bool_and(decoded.created_at = ${id_type}_timestamp(id)), bool_and(id::text::$id_type = id),"
			  . " bool_and(id::bytea::$id_type = id), bool_and(id > now() - interval '1 hour' AND id <= now())"
			  . " FROM ${id_type}s, ${id_type}_decode(id) AS decoded WHERE id <@ tstzrange(now() - interval '1 hour', now())"
		),
		'10000|t|t|t|t',
		"... and ${id_type}s, casts them, and finds them by time");
}
is( $session->query_safe(
		'SELECT count(DISTINCT id::guid_local), bool_and((guid_local_decode(id::guid_local)).created_at = guid_timestamp(id)) FROM guids'
	),
	'10000|t',
	'... also as local guids');
is( $session->query_safe(
		"SELECT flake_min('epoch'), flake_at('2026-01-01') > 0, flakeid_identity() ->> 'generator_ids_setting'"
	),
	'0|t|0-7',
	'... and the rest');

$primary->stop;
$standby->promote;
is($session->query_safe('SELECT pg_is_in_recovery()'), 'f', 'after promotion');
is(error_in($session, "INSERT INTO $_ (nr) SELECT generate_series(1, 10000)"),
	'', "... the same session makes $_")
  for @tables;
for my $table (@tables) {
	is( $standby->safe_psql(
			'postgres', "INSERT INTO $table DEFAULT VALUES RETURNING id IS NOT NULL"),
		't',
		"... and a new one makes $table");
	is($session->query_safe("SELECT count(*), count(DISTINCT id) FROM $table"),
		'20001|20001', '... distinct from those of the old primary');
}
$session->quit;

$standby->stop;
done_testing();
