# Where the surroundings are bad: a library that is missing, of another version than the SQL, or
# there twice; an extension that is dropped under sessions which use it; preloading taken away; a
# data directory that can't be written. Each has an error that says what to do, nothing is lost, and
# the server starts.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my @id_types = map { $_->{name} } @ID_TYPES;
slurp_file('flakeid.control') =~ /^default_version = '([\d.]+)'$/m
  or die 'no version in flakeid.control';
my $version = $1;
# The oldest one from which an update leads to this.
my $older = '0.6.0';
my $place = Installation->new('surroundings')->put_released;
my $has_segment = $place->{version} >= 17;

sub server {
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => $place->{path});
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', "$_\n") for @settings;
	return $node;
}

# How many IDs the tables hold, and that none is there twice.
sub held {
	my ($node) = @_;
	my @counts = map {
		$node->safe_psql('postgres', "SELECT count(*), count(*) - count(DISTINCT id) FROM ${_}s")
	} @id_types;
	return join ' ', @counts;
}

# What held says of so many IDs in each table.
sub of_each {
	my ($count) = @_;
	return join ' ', ("$count|0") x @id_types;
}

# Inserts so many rows into each table; the errors, if any.
sub insert {
	my ($node, $count) = @_;
	return join '',
	  map { error_of($node, "INSERT INTO ${_}s SELECT FROM generate_series(1, $count)") } @id_types;
}

my $preload = "shared_preload_libraries = 'flakeid'";
my $node = server('node', $preload);
$node->start;
create_tables($node);
is(insert($node, 100), '', 'a server of this installation makes IDs');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') AS line"
		  . " WHERE line LIKE '%flakeid.so%' AND line NOT LIKE '%$place->{library}%'"),
	'0',
	'... with the library of this installation');

# the library is missing, on a standby ---------------------------------------------------------

$node->safe_psql('postgres', 'CREATE TABLE plain AS SELECT generate_series(1, 10) AS nr');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby', install_path => $place->{path});
$standby->init_from_backup($node, 'backup', has_streaming => 1);
my $missing =
  qr/could not (?:access file|load library) "(?:\$libdir\/)?flakeid": .*No such file or directory/;
$place->remove_library;
ok(!$standby->start(fail_ok => 1), 'without the library a standby that preloads it does not start');
like(slurp_file($standby->logfile), qr/FATAL:  $missing/, '... and its log says what is missing');
$standby->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
ok($standby->start(fail_ok => 1), '... without preloading it starts');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT count(*) FROM plain'), '10', '... serves other tables');
is($standby->safe_psql('postgres', 'SELECT count(*), max(id) > 0 FROM flakes'),
	'100|t', '... flakes, which are numbers');
is( $standby->safe_psql(
		'postgres', join ';', map { "SELECT count(nr IS NULL OR true) FROM ${_}s" } @id_types),
	join("\n", (100) x @id_types),
	'... and counts rows with the types');

for my $ask ('SELECT id FROM snos', 'SELECT flake_timestamp(id) FROM flakes') {
	like(error_of($standby, $ask), qr/ERROR:  58P01: $missing/, "... $ask says what is missing");
}
$place->put_library;
is(held($standby), of_each(100), 'with the library in place all is read, without a restart');
is($standby->safe_psql('postgres', 'SELECT count(sno_timestamp(id)) FROM snos'),
	'100', '... and decoded');
$standby->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'flakeid'");
$standby->restart;
$standby->promote;
is(insert($standby, 100), '', '... and the standby, promoted, makes IDs');
is(held($standby), of_each(200), '... that are new');
$standby->stop;

# the SQL is newer than the library ------------------------------------------------------------

$place->put_library_of($version, $older);
is($node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'version'"),
	$version, 'a server goes on with the library that it was started with');
$node->restart;
is($node->safe_psql('postgres', "SELECT flakeid_identity() ->> 'version'"),
	$older, '... until it is started again');
is(insert($node, 100), '', '... and goes on making IDs where the library becomes older');
my $needs =
  qr/ERROR:  55000: the loaded flakeid library has version \Q$older\E, but this SQL needs \Q$version\E\n.*HINT:  Install the library of that version and restart the server/s;
$node->safe_psql('postgres', 'CREATE DATABASE new');
like(error_of($node, 'CREATE EXTENSION flakeid', 'new'),
	$needs, 'an older library refuses a newer extension');
is($node->safe_psql('new', "SELECT count(*) FROM pg_extension WHERE extname = 'flakeid'"),
	'0', '... of which nothing is left');
$node->safe_psql('new', "CREATE EXTENSION flakeid VERSION '$older'");
$node->safe_psql('new',
	'CREATE TABLE made (id sno DEFAULT sno_next() PRIMARY KEY); INSERT INTO made SELECT FROM generate_series(1, 100)'
);
$place->put_library;
# The first step of the update refuses it.
my ($next) = map { /--([\d.]+)\.sql/ } glob "sql/released/flakeid--$older--*";
like(
	error_of($node, 'ALTER EXTENSION flakeid UPDATE', 'new'),
	qr/ERROR:  55000: the loaded flakeid library has version \Q$older\E, but this SQL needs \Q$next\E\n.*HINT:  Install the library of that version and restart the server/s,
	'an update before the restart is refused');
is($node->safe_psql('new', "SELECT extversion FROM pg_extension WHERE extname = 'flakeid'"),
	$older, '... the extension is what it was');
is(error_of($node, 'INSERT INTO made SELECT FROM generate_series(1, 100)', 'new'),
	'', '... and makes IDs');
$node->restart;
is(error_of($node, 'INSERT INTO made SELECT FROM generate_series(1, 100)', 'new'),
	'', 'after the restart the newer library serves the older SQL');
is(error_of($node, 'ALTER EXTENSION flakeid UPDATE', 'new'), '', '... and its update');
is(error_of($node, 'INSERT INTO made SELECT FROM generate_series(1, 100)', 'new'),
	'', '... which makes IDs');
is($node->safe_psql('new', 'SELECT count(DISTINCT id) FROM made'),
	'400', '... of which none repeats');
like(
	error_of($node, "SELECT flakeid_require_library('9.0.0')"),
	qr/has version \Q$version\E, but this SQL needs 9\.0\.0/,
	'a script of a later version is told');
is(error_of($node, "SELECT flakeid_require_library('0.5.10')"), '', '... one of an earlier is not');

# Two databases, two versions of the SQL, one library.
$node->safe_psql('postgres', 'CREATE DATABASE old');
$node->safe_psql('old',
	"CREATE EXTENSION flakeid VERSION '$older'; CREATE TABLE made AS SELECT flake_next() AS id FROM generate_series(1, 1000)"
);
$node->safe_psql('new',
	'CREATE TABLE flakes AS SELECT flake_next() AS id FROM generate_series(1, 1000)');
my %ids = map { $_ => 1 } map { split /\n/, $node->safe_psql(@$_) }[ 'old', 'TABLE made' ],
  [ 'new', 'TABLE flakes' ];
is(scalar keys %ids, 2000, 'databases with different versions of the SQL have different IDs');

# the library is there twice -------------------------------------------------------------------

my $second = dirname_of($place->{library}) . '/flakeid-second.so';
$place->put_library_of($version, $older);
rename $place->{library}, $second or die "could not rename $place->{library}: $!";
$place->put_library;
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$second'");
$node->restart;
my $another =
  qr/ERROR:  55000: another flakeid library is already loaded\n.*DETAIL:  The loaded library is \Q$older\E\+[0-9a-f]{16} from another file; this one is \Q$version\E\+[0-9a-f]{16}\.\n.*HINT:  .*must name the same file/s;
like(error_of($node, "INSERT INTO ${_}s DEFAULT VALUES"),
	$another, "a preloaded library that is not the one of the SQL makes no $_ IDs")
  for @id_types;
my $session = session($node);
like(error_in($session, 'SELECT sno_next()'), $another, '... also not');
like(error_in($session, 'SELECT sno_next()'), $another, '... when it is asked again');
is($session->query_safe('SELECT count(*) FROM plain'), '10', '... and the session goes on');
$session->quit;
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'flakeid'");
$node->restart;
is(insert($node, 100), '', 'with one library IDs are made again');
is(held($node), of_each(300), '... and all are there, once');
unlink $second;

# Without preloading each session loads the file that is there when it needs it.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->restart;
if ($has_segment) {
	my $before = session($node);
	is(error_in($before, "INSERT INTO ${_}s DEFAULT VALUES"),
		'', "without preloading a session makes $_ IDs")
	  for @id_types;
	for my $other ($older, undef) {
		$place->put_library_of($version, $other);
		my ($loaded, $what) =
		  defined $other
		  ? (qr/\Q$other\E\+[0-9a-f]{16}/, 'another version')
		  : (qr/\Q$version\E\+0123456789abcdef/, 'another build');
		my $after = session($node);
		for my $id_type (@id_types) {
			like(
				error_in($after, "INSERT INTO ${id_type}s DEFAULT VALUES"),
				qr/ERROR:  55000: a different build of flakeid is active on this server\n.*DETAIL:  The active build is \Q$version\E\+(?!0123456789abcdef)[0-9a-f]{16}; this session has loaded $loaded\.\n.*HINT:  Restart the server/s,
				"... one that has loaded $what since makes no $id_type IDs");
		}
		is($after->query_safe('SELECT count(sno_timestamp(id)) FROM snos'),
			'301', '... and reads them');
		$after->quit;
	}
	is(error_in($before, "INSERT INTO ${_}s DEFAULT VALUES"),
		'', "... while the first goes on making $_ IDs")
	  for @id_types;
	$before->quit;
	$node->restart;
	is(insert($node, 98), '', '... after a restart all sessions use the new one');
	$place->put_library;
}
else {
	# preloading taken away
	# --------------------------------------------------------------------------------
	my $error = insert($node, 1);
	my $count = () = $error =~
	  /ERROR:  55000: flakeid must be loaded via "shared_preload_libraries" to generate IDs\n/g;
	is($count, scalar @id_types, 'without preloading there are no IDs');
	is( error_of(
			$node,
			'INSERT INTO snos (id) SELECT sno_at(now(), 1, nr) FROM generate_series(1, 100) AS nr'),
		'',
		'... but those that one makes oneself');
	is( $node->safe_psql(
			'postgres',
			'DELETE FROM snos WHERE (sno_decode(id)).meta = 1; SELECT count(*) FROM snos WHERE id <@ tstzrange(NULL, now())'
		),
		'300',
		'... and all that there are, by the index');
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'flakeid'");
	$node->restart;
	is(insert($node, 100), '', 'with preloading there are IDs again');
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
}
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'flakeid'");
$node->restart;
is(held($node), of_each(400), 'none is lost, none repeats');

# the extension is dropped under sessions that use it ------------------------------------------

# The tables keep their flakes; columns of the types would go with the types, so these stay out of
# it.
$node->safe_psql('postgres', <<'SQL');
CREATE DATABASE dropped;
SQL
$node->safe_psql('dropped', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer);
CREATE FUNCTION order_of(nr integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint := flake_next();
BEGIN
	INSERT INTO orders VALUES (made, nr);
	RETURN made;
END $$;
SQL
my $prepared = session($node, 'dropped');
$prepared->query_safe(
	'PREPARE an_order (integer) AS INSERT INTO orders (nr) VALUES ($1); SET plan_cache_mode TO force_generic_plan'
);
is(error_in($prepared, "EXECUTE an_order($_)"), '', "a prepared statement uses the default, $_")
  for 1 .. 6;
is(error_in($prepared, 'SELECT order_of(7)'), '', '... so does a function');
like(
	error_of($node, 'DROP EXTENSION flakeid', 'dropped'),
	qr/ERROR:  2BP01: cannot drop extension flakeid because other objects depend on it\n.*default value for column id of table orders depends on function flake_next\(\)/s,
	'an extension that a default depends on is not dropped');

# A transaction that has inserted is waited for.
$prepared->query_safe('BEGIN; EXECUTE an_order(8)');
my $dropper = session($node, 'dropped');
$dropper->query_until(qr/^begun$/m,
	"\\echo begun\nDROP EXTENSION flakeid CASCADE;\n\\echo dropped\n");
ok( $node->poll_query_until(
		'dropped',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DROP EXTENSION%'"
	),
	'CASCADE waits for a transaction that has used the default');
is(error_in($prepared, 'EXECUTE an_order(9)'), '', '... which goes on using it');
$prepared->query_safe('COMMIT');
$dropper->query_until(qr/^dropped$/m, '');
like(
	error_in($prepared, 'EXECUTE an_order(10)'),
	qr/ERROR:  23502: null value in column "id" of relation "orders" violates not-null constraint/,
	'without its default the key is missed');
like(
	error_in($prepared, 'SELECT order_of(10)'),
	qr/ERROR:  42883: function flake_next\(\) does not exist/,
	'... in a function, the function');
is($prepared->query_safe('SELECT count(*), count(DISTINCT id), count(DISTINCT nr) FROM orders'),
	'9|9|9', '... no row is lost');
$dropper->quit;
$node->safe_psql('dropped',
	'CREATE EXTENSION flakeid; ALTER TABLE orders ALTER id SET DEFAULT flake_next()');
is(error_in($prepared, 'EXECUTE an_order(10)'),
	'', 'with extension and default back the prepared statement goes on');
is(error_in($prepared, 'SELECT order_of(11)'), '', '... and the function');
is( $prepared->query_safe(
		'SELECT count(DISTINCT id), bool_and(in_order) FROM (SELECT id, nr = row_number() OVER (ORDER BY id) AS in_order FROM orders) AS o'
	),
	'11|t',
	'... above all that was');
$prepared->quit;
$node->stop;

# the data directory can't be written ----------------------------------------------------------

my $bare = server('bare', $preload, 'fsync = on');
$bare->start;
create_tables($bare);
my $data = $bare->data_dir;
chmod 0500, $data or die "could not make $data read-only: $!";
for my $id_type (@id_types) {
	like(
		error_of($bare, "INSERT INTO ${id_type}s DEFAULT VALUES"),
		qr/ERROR:  42501: could not create the directory of state file "flakeid\/state": Permission denied/,
		"in a data directory that is read-only there are no $id_type IDs");
}
is( $bare->safe_psql(
		'postgres', 'SELECT sno_timestamp(sno_min(now())) >= now(), count(*) FROM flakes'),
	't|0',
	'... all else goes on');
chmod 0700, $data or die;
is(insert($bare, 10), '', '... and so do IDs, once it is not');
chmod 0500, "$data/flakeid" or die;
$bare->restart;
like($bare->safe_psql('postgres', "SELECT count(*) FROM flakes"),
	qr/^10$/, 'a server starts whose state can be read but not written');
like(
	insert($bare, 1),
	qr/ERROR:  42501: could not create state file ".*": Permission denied/,
	'... and makes no IDs');
chmod 0700, "$data/flakeid" or die;
is(insert($bare, 10), '', '... until it can');
is(held($bare), of_each(20), '... none twice, none lost');
$bare->stop;

done_testing();

sub dirname_of {
	my ($path) = @_;
	return $path =~ s{/[^/]+\z}{}r;
}
