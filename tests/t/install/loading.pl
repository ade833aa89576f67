# Without shared_preload_libraries a server reads IDs on every version. It generates them on
# PostgreSQL 17 and later, and with the setting on all. A server that generates none has no state.
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
$node->append_conf('postgresql.conf', "flakeid.generator_ids = '3'\n");
$node->start;

sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

sql('CREATE EXTENSION flakeid');
my $version = sql("SELECT current_setting('server_version_num')::integer / 10000");
my $dir = $node->data_dir . '/flakeid';

my $times = '2054-01-12 13:40:46.279+00|7|3|1|227|2014-01-12 13:40:46.279+00';
is(sql(<<'SQL'), $times, 'flakes are decoded without preloading');
SET timezone TO 'UTC';
SELECT (flake_decode(5828128208445124609)).*, flake_timestamp(5828128208445124609, 'epoch')
SQL
is(sql(<<'SQL'), 't|8mf7oc4c7a22g223', 'snos are encoded and compared without preloading');
SELECT sno '9q74gok3262so257' > timestamptz '2026-01-01',
	sno_encode('2024-06-15 12:34:56.788+00', 0, 42, 7, 1)
SQL
for my $type ('flake128', 'guid', 'guid_local', 'uniqueid') {
	is(sql(<<"SQL"), 't|t|t|t|t', "${type}s are cast and compared without preloading");
SELECT ${type}_timestamp(id) - '2026-01-01 00:00+00' BETWEEN '0' AND '200 us',
	(${type}_decode(id)).created_at = ${type}_timestamp(id),
	id::text::$type = id, id::bytea::$type = id,
	id >= timestamptz '2026-01-01 00:00+00' AND id <@ tstzrange('2025-12-31', '2026-01-02')
FROM ${type}_min('2026-01-01 00:00+00') AS id
SQL
}
is(sql( <<'SQL'), '2026-01-01 00:00:00+00|0|t|f', 'uuidv7s are read without preloading');
SELECT uuidv7_timestamp(id), (uuidv7_decode(id)).fraction,
	uuidv7_since(id, '2026-01-01 00:00+00'), uuidv7_before(id, '2026-01-01 00:00+00')
FROM uuidv7_min('2026-01-01 00:00+00') AS id
SQL
is(sql("SELECT (flake_decode(flake_at('2026-01-01'))).worker"),
	'3', 'settings are read without preloading');
is(sql("SELECT (sno_decode(sno_at('2026-01-01', 1, 5))).partition"),
	'3', 'snos of a time are computed without preloading');
is(sql("SELECT flakeid_identity() ->> 'shared_memory' IS NULL"),
	't', 'a session that only reads IDs takes no shared memory');
ok(!-e $dir, 'a session that only reads IDs creates no state');

# A symbol that SQL names is found in src/: as it is, or without the suffix that pg_extern adds.
chomp(my $sharedir = `pg_config --sharedir`);
my $scripts = join '',
  map { slurp_file($_) } glob "'$sharedir/extension/flakeid--*.sql' sql/released/*.sql";
my $sources = join '', map { slurp_file($_) } split /\n/, `find src -name '*.rs'`;
my %symbols = map { $_ => 1 } $scripts =~ /'MODULE_PATHNAME', *'(\w+)'/g;
cmp_ok(scalar keys %symbols, '>', 200, 'the scripts name symbols of the library');
my @not_found =
  grep { my $name = s/_wrapper\z//r; $sources !~ /\b$name(?:_wrapper)?\b/ } sort keys %symbols;
is_deeply(\@not_found, [], 'each symbol that the scripts name is found in src/');

# Tests the IDs of sessions that all begin at once. They wait for a lock until all are there.
my %generator_id = (flake => 'worker', sno => 'partition', uniqueid => 'generator_id');

sub generate_at_once {
	my ($how) = @_;
	sql("DROP TABLE IF EXISTS $_->{name}s; CREATE TABLE $_->{name}s (id $_->{type})") for @ID_TYPES;
	my $insert = join ';',
	  map { "INSERT INTO $_->{name}s SELECT $_->{next} FROM generate_series(1, 5000)" } @ID_TYPES;
	my $gate = session($node);
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	my @psql = ('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'));
	my @command = (@psql, '-c', 'SELECT pg_advisory_lock_shared(1)', '-c', $insert);
	my $timeout = $PostgreSQL::Test::Utils::timeout_default;
	my @runs =
	  map { IPC::Run::start(\@command, '>', '/dev/null', IPC::Run::timeout($timeout)) } 1 .. 8;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 8 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die 'not every session is there';
	$gate->quit;
	is((grep { !$_->finish } @runs), 0, "$how preloading eight sessions generate IDs at once");

	for my $name (map { $_->{name} } @ID_TYPES) {
		is(sql("SELECT count(DISTINCT id) FROM ${name}s"),
			'40000', "$how preloading no $name ID repeats");
		my $field = $generator_id{$name} or next;
		is(sql("SELECT min($field), max($field) FROM ${name}s, ${name}_decode(id)"),
			'3|3', "$how preloading $name has the generator ID of the server");
	}
	return;
}

if ($version < 17) {
	my $refused = 'flakeid must be loaded via "shared_preload_libraries" to generate IDs';
	my $hint =
		'Add flakeid to "shared_preload_libraries" in postgresql.conf and restart the server.'
	  . ' Reading IDs works without it.';
	for my $ask ((map { ($_->{next}, sprintf $_->{batch}, 10) } @ID_TYPES),
		'guid_local_next()', 'guid_local_next_batch(1)', "uniqueid_next('spread')")
	{
		like(
			error_of($node, "SELECT $ask"),
			qr/ERROR:  55000: \Q$refused\E\n.*HINT:  \Q$hint\E/s,
			"$ask without preloading is an error that says what to do");
	}
	my $session = session($node);
	like(error_in($session, 'SELECT flake_next()'), qr/55000/, "call $_ in a session is an error")
	  for 1, 2;
	is($session->query_safe('SELECT (flake_decode(1)).counter'), '1', 'the session still decodes');
	$session->quit;
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		qr/ERROR:  55000: /,
		'there is no clock to accept without preloading');
	my $views = '(SELECT count(*) FROM pg_stat_flakeid), (SELECT count(*) FROM flakeid_snapshot())';
	is(sql("SELECT $views"), '0|0', 'the views have no rows without preloading');
	ok(!-e $dir, 'a server that generates no IDs has no state');
	$node->restart;
	like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: /, 'a restart changes nothing');
	ok(!-e $dir, 'a server that generates no IDs has no state after a restart');
}
else {
	generate_at_once('without');
	is(sql("SELECT flake_next() > 0, flakeid_identity() ->> 'shared_memory'"),
		't|named_segment', 'without preloading IDs come from a named segment');
	my $last = sql('SELECT max(id) FROM flake_next_batch(10000) AS id');
	is(sql("SELECT flake_next() > $last"), 't', 'the segment outlives the sessions that used it');
}

# A bad value in the file is met when the library comes.
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'7-3'");
$node->restart;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  (?:F0000|55000): /,
	'a server with a bad setting generates no IDs without preloading');
is(sql('SELECT (flake_decode(1)).counter'), '1', 'a server with a bad setting decodes IDs');

$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'3'");
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->restart;
generate_at_once('with');
is(sql("SELECT flake_next() > 0, flakeid_identity() ->> 'shared_memory'"),
	't|preloaded', 'with preloading IDs come from the shared memory of the server');
my $last = sql('SELECT max(id) FROM flake_next_batch(10000) AS id');
sql('DROP EXTENSION flakeid CASCADE');
sql('CREATE EXTENSION flakeid');
is(sql("SELECT flake_next() > $last"), 't', 'IDs go on after DROP and CREATE EXTENSION');

$node->stop;
done_testing();
