# Without shared_preload_libraries IDs are read on every version and made on PostgreSQL 17 and
# later; with it they are made on all.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('loading');
$node->init;
$node->append_conf('postgresql.conf', <<'SQL');
flakeid.generator_ids = '3'
SQL
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");

is( $node->safe_psql(
		'postgres',
		"SET timezone TO 'UTC'; SELECT (flake_decode(5828128208445124609)).*, flake_timestamp(5828128208445124609, 'epoch')"
	),
	'2054-01-12 13:40:46.279+00|7|3|1|227|2014-01-12 13:40:46.279+00',
	'without preload flakes are decoded');
is( $node->safe_psql(
		'postgres',
		"SELECT sno '9q74gok3262so257' > timestamptz '2026-01-01',"
		  . " sno_encode('2024-06-15 12:34:56.788+00', 0, 42, 7, 1)"),
	't|8mf7oc4c7a22g223',
	'... and so are snos, encoded and compared');

for my $id_type ('flake128', 'guid', 'guid_local', 'uniqueid') {
	is( $node->safe_psql('postgres', <<"SQL"), 't|t|t|t|t',
SELECT ${id_type}_timestamp(id) BETWEEN '2026-01-01 00:00+00' AND '2026-01-01 00:00:00.0002+00',
	(${id_type}_decode(id)).created_at = ${id_type}_timestamp(id),
	id::text::$id_type = id, id::bytea::$id_type = id,
	id >= timestamptz '2026-01-01 00:00+00' AND id <@ tstzrange('2025-12-31', '2026-01-02')
FROM ${id_type}_min('2026-01-01 00:00+00') AS id
SQL
		"... and ${id_type}s, cast, and compared with times");
}
is( $node->safe_psql(
		'postgres',
		"SELECT uuidv7_timestamp(id), (uuidv7_decode(id)).fraction, uuidv7_since(id, '2026-01-01 00:00+00'), uuidv7_before(id, '2026-01-01 00:00+00') FROM uuidv7_min('2026-01-01 00:00+00') AS id"
	),
	'2026-01-01 00:00:00+00|0|t|f',
	'reading uuidv7s and comparing them with times needs no preloading');
is($node->safe_psql('postgres', "SELECT (flake_decode(flake_at('2026-01-01'))).worker"),
	'3', '... the settings are read');
is($node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'shared_memory' IS NULL"),
	't', '... and no shared memory is taken');

# A symbol that SQL names is found by a search in src/: as it is, or without the suffix that
# pg_extern adds.
chomp(my $sharedir = `pg_config --sharedir`);
my $scripts = join '',
  map { slurp_file($_) } glob "'$sharedir/extension/flakeid--*.sql' sql/released/*.sql";
my $sources = join '', map { slurp_file($_) } split /\n/, `find src -name '*.rs'`;
my %symbols = map { $_ => 1 } $scripts =~ /'MODULE_PATHNAME', *'(\w+)'/g;
cmp_ok(scalar keys %symbols, '>', 200, 'the scripts name symbols of the library');
my @not_found =
  grep { my $name = s/_wrapper\z//r; $sources !~ /\b$name(?:_wrapper)?\b/ } sort keys %symbols;
is_deeply(\@not_found, [], '... each of which is found in src/');

# What each of several sessions makes, all begun at once, the first of them in the server's life:
# workers of generator ID 3, none twice. They wait for a lock until all are there.
sub made_at_once {
	my ($name) = @_;
	my @names = map { $_->{name} } @ID_TYPES;
	$node->safe_psql('postgres',
		"DROP TABLE IF EXISTS $_->{name}s; CREATE TABLE $_->{name}s (id $_->{type})")
	  for @ID_TYPES;
	my $insert = join ';',
	  map { "INSERT INTO $_->{name}s SELECT $_->{next} FROM generate_series(1, 5000)" } @ID_TYPES;
	my $gate = session($node);
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	my @runs = map {
		IPC::Run::start(
			[
				'psql', '-XAtq',
				'-v', 'ON_ERROR_STOP=1',
				'-d', $node->connstr('postgres'),
				'-c', 'SELECT pg_advisory_lock_shared(1)',
				'-c', $insert
			],
			'>',
			'/dev/null',
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
	} 1 .. 8;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 8 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die 'not every session is there';
	$gate->quit;
	is((grep { !$_->finish } @runs), 0, "$name, eight sessions make IDs at once");
	my %whose = (flake => 'worker', sno => 'partition', uniqueid => 'generator_id');
	for my $id_type (@ID_TYPES) {
		my $table = "$id_type->{name}s";
		is($node->safe_psql('postgres', "SELECT count(DISTINCT id) FROM $table"),
			'40000', "... distinct $table");
		my $whose = $whose{ $id_type->{name} } or next;
		is( $node->safe_psql(
				'postgres',
				"SELECT min($whose), max($whose) FROM $table, $id_type->{name}_decode(id)"),
			'3|3',
			'... of the server\'s generator ID');
	}
	return;
}

if ($version < 17) {
	for my $ask ((map { ($_->{next}, sprintf $_->{batch}, 1) } @ID_TYPES),
		'guid_local_next()', 'guid_local_next_batch(1)')
	{
		my $error = error_of($node, "SELECT $ask");
		like(
			$error,
			qr/ERROR:  55000: flakeid must be loaded via "shared_preload_libraries" to generate IDs/,
			"without preload $ask is an error");
		like(
			$error,
			qr/HINT:  .*"shared_preload_libraries" in postgresql\.conf and restart/,
			'... that says what to do');
	}
	my $session = session($node);
	like(error_in($session, 'SELECT flake_next()'), qr/55000/, '... every time');
	like(error_in($session, 'SELECT flake_next()'), qr/55000/, '... and the session goes on');
	is($session->query_safe('SELECT (flake_decode(1)).counter'), '1', '... to decode');
	$session->quit;
}
else {
	made_at_once('without preload');
	is( $node->safe_psql(
			'postgres', "SELECT flake_next() > 0, flakeid_identity() ->> 'shared_memory'"),
		't|named_segment',
		'... from a named segment');

	# The segment outlives the sessions that used it.
	my $last = $node->safe_psql('postgres', 'SELECT max(id) FROM flake_next_batch(10000) AS id');
	is($node->safe_psql('postgres', "SELECT flake_next() > $last"),
		't', '... that goes on from session to session');
}

# A bad value in the file is met when the library comes.
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'7-3'");
$node->restart;
my $error = error_of($node, 'SELECT flake_next()');
like($error, qr/ERROR:  (?:F0000|55000): /, 'without preload a bad setting makes no IDs either');
is($node->safe_psql('postgres', 'SELECT (flake_decode(1)).counter'),
	'1', '... and does not keep from decoding');
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'3'");

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->restart;
made_at_once('with preload');
is( $node->safe_psql('postgres', "SELECT flake_next() > 0, flakeid_identity() ->> 'shared_memory'"),
	't|preloaded',
	'... from the server\'s own shared memory');

# The extension may come and go; what was given out stays so.
my $last = $node->safe_psql('postgres', 'SELECT max(id) FROM flake_next_batch(10000) AS id');
$node->safe_psql('postgres', 'DROP EXTENSION flakeid CASCADE');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is($node->safe_psql('postgres', "SELECT flake_next() > $last"),
	't', 'after DROP and CREATE EXTENSION IDs go on where they were');

$node->stop;
done_testing();
