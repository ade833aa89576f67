# flakeid 0.6 counted flakes from 1970 by default. pg_upgrade takes neither its state nor a line of
# the configuration along. On such a server no flake is read with the default of today and none is
# generated. No update hides that.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

my $unknown = join '\n', 'ERROR:  55000: the epoch of existing flakes is unknown',
  'DETAIL:  "flakeid\.epoch" is not set, and this server has no state that tells it\.'
  . ' The SQL of this database is from flakeid 0\.6\.\d, which counted from 1970 by default\.',
  'HINT:  Write the line of "flakeid\.epoch" of the server that generated the flakes into'
  . ' postgresql\.conf, and reload the configuration\. If it had no such line, write'
  . ' "flakeid\.epoch = \'unix\'"\. If there are no flakes yet, write'
  . ' "flakeid\.epoch = \'2010-01-01\'"\.', '';
my $warning = $unknown =~ s/ERROR/WARNING/r;

sub server {
	my ($name, $line, @options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, @options);
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n$line");
	return $node;
}

sub version_of {
	my ($node, $database) = @_;
	return $node->safe_psql($database,
		"SELECT extversion FROM pg_extension WHERE extname = 'flakeid'");
}

# Returns the error or the warning of the update of a database.
sub update {
	my ($node, $database) = @_;
	return error_of($node, 'ALTER EXTENSION flakeid UPDATE', $database);
}

# The SQL of each database is that of 0.6.0, and the line does what its default did.
my $table = <<'SQL';
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), nr integer);
INSERT INTO orders (nr) SELECT generate_series(1, 100)
SQL
my %uses = (
	a_table => $table,
	a_function => <<'SQL',
CREATE FUNCTION new_id() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN flake_next(); END'
SQL
	a_view => <<'SQL',
CREATE TABLE orders (id bigint);
CREATE VIEW times AS SELECT flake_timestamp(id) FROM orders
SQL
	other_ids => <<'SQL',
CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_next(), other flake128 DEFAULT flake128_next());
INSERT INTO orders DEFAULT VALUES
SQL
	nothing => 'SELECT');
# pg_upgrade, and the server to which it leads, have no install script of 0.6.0.
my @released = (install_path => Installation->new('released')->put_released->{path});
my $old = server('old', "flakeid.epoch = 'unix'\n", @released);
$old->start;
for my $database (sort keys %uses) {
	$old->safe_psql('postgres', "CREATE DATABASE $_") for $database, "${database}_in_place";
	$old->safe_psql($_, "CREATE EXTENSION flakeid VERSION '0.6.0'; $uses{$database}")
	  for $database, "${database}_in_place";
}
is(update($old, "${_}_in_place"),
	'', "in place, with the line, the update of a database with flakes in \"$_\" says nothing")
  for sort keys %uses;
my $newest = $old->safe_psql('a_table', 'SELECT max(id) FROM orders');
$old->safe_psql('postgres', "DROP DATABASE ${_}_in_place") for sort keys %uses;
$old->stop;

my $new = server('new', '');
upgrade($old, $new, 'pg_upgrade succeeds');
$new->start;
is(version_of($new, 'a_table'), '0.6.0', 'pg_upgrade keeps the version of the SQL');
like(error_of($new, $_, 'a_table'), qr/$unknown/, "\"$_\" is an error")
  for 'SELECT flake_timestamp(id) FROM orders', 'INSERT INTO orders DEFAULT VALUES',
  'SELECT flake_min(now())', 'SELECT flake_decode(id) FROM orders', 'SELECT flake_next_batch(1)';
is(error_of($new, $_, 'a_table'), '', "\"$_\" needs no epoch")
  for "SELECT flake_timestamp(id, 'epoch') FROM orders", 'SELECT sno_next(), guid_next()',
  'SELECT max(id) FROM orders';
is( error_of(
		$new, 'INSERT INTO orders DEFAULT VALUES; SELECT sno_timestamp(id) FROM orders',
		'other_ids'),
	'',
	'other ID types need no epoch');

for my $database ('a_table', 'a_function', 'a_view') {
	like(update($new, $database),
		qr/$unknown/, "a database with flakes in \"$database\" is not updated");
	is(version_of($new, $database),
		'0.6.0', "a database with flakes in \"$database\" stays as it is");
}
like(
	error_of(
		$new, "ALTER EXTENSION flakeid UPDATE TO '0.6.1'; ALTER EXTENSION flakeid UPDATE",
		'a_table'),
	qr/$unknown/,
	'a database with flakes is not updated in two steps');
is(version_of($new, 'a_table'), '0.6.1', 'the first of two steps is done');
for my $database ('other_ids', 'nothing') {
	my $said = update($new, $database);
	like(
		$said,
		qr/\A[^\n]*${warning}LOCATION:.*\z/,
		"a database without flakes, \"$database\", is updated with one warning");
	isnt(version_of($new, $database),
		'0.6.0', "a database without flakes, \"$database\", has a later version then");
}
like($new->safe_psql('other_ids', "SELECT error FROM flakeid_readiness WHERE NOT ready"),
	qr/^$/, 'a database without flakes and with the new SQL is ready for all ID types');

reload_with($new, epoch => 'unix');
is($new->safe_psql('a_table', <<'SQL'), 't', 'with the line flakes are read with their times');
SELECT max(flake_timestamp(id)) BETWEEN now() - interval '1 day' AND now() FROM orders
SQL
is(update($new, $_), '', "with the line a database with flakes in \"$_\" is updated")
  for 'a_table', 'a_function', 'a_view';
$new->safe_psql('a_table', 'INSERT INTO orders (nr) VALUES (0)');
is($new->safe_psql('a_table', "SELECT min(id) > $newest FROM orders WHERE nr = 0"),
	't', 'new flakes are above the old ones');
is($new->safe_psql('a_table', <<"SQL"), 1, 'a reader finds new flakes above the old ones');
SELECT count(*) FROM orders
WHERE id > $newest AND flake_before(id, now() + interval '1 hour')
SQL
$new->stop;

# In place, without the line: the state tells the epoch.
my $place = server('place', "flakeid.epoch = 'unix'\n", @released);
$place->start;
$place->safe_psql('postgres', "CREATE EXTENSION flakeid VERSION '0.6.0'; $table");
$place->stop;
$place->adjust_conf('postgresql.conf', 'flakeid.epoch', undef);
$place->start;
is(update($place, 'postgres'),
	'', 'in place, without the line, the update says nothing, as the state tells the epoch');
my $later = 'ERROR:  55000: "flakeid\.epoch" is later than the epoch of existing flakes\n';
like(
	error_of($place, 'SELECT flake_timestamp(id) FROM orders'),
	qr/$later.*HINT:  Write "flakeid\.epoch = 'unix'"/s,
	'in place, without the line, flakes are refused by the epoch in the state');
$place->stop;

# A new server, and the dump of one.
my $fresh = server('fresh', '');
$fresh->start;
is(error_of($fresh, "CREATE EXTENSION flakeid; $table; SELECT flake_timestamp(id) FROM orders"),
	'', 'a new server needs no line');
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/dump';
command_ok([ 'pg_dump', '-f', $dump, $fresh->connstr('postgres') ], 'pg_dump succeeds');
$fresh->safe_psql('postgres', 'CREATE DATABASE restored');
my $said = '';
IPC::Run::run([ 'psql', '-Xq', '-d', $fresh->connstr('restored'), '-f', $dump ],
	'>', '/dev/null', '2>', \$said);
is($said, '', 'a dump is restored without a warning');
$fresh->stop;

done_testing();
