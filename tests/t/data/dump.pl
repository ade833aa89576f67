# A database that uses every type in every way goes through pg_dump and pg_restore, in every form, and is what it
# was: to the row, to the definition, and to the IDs that it goes on to make.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir('dumps');

my $source = server_with('source', "shared_preload_libraries = 'flakeid'\n",
	init => { allows_streaming => 1 });
my $version = version_of($source);
$source->safe_psql('postgres', 'CREATE DATABASE life');
create_full_schema($source, 'life');
my $full_schema = full_schema_of($source, 'life');
is_found($source, 'life', 'the source');
is_guarded($source, 'life', '... there');
goes_on($source, 'life', '... and goes on');

my $target =
  server_with('target', "shared_preload_libraries = 'flakeid'\nflakeid.generator_ids = '8-15'\n");
$target->safe_psql('postgres', "CREATE ROLE $READER; CREATE ROLE keeper LOGIN");

# Dumps the source, or another server.
sub dump_to {
	my ($file, $options, $node) = @_;
	($node || $source)
	  ->command_ok([ 'pg_dump', '-f', "$dir/$file", @$options, 'life' ], "pg_dump @$options");
	return;
}

# Restores dumps into a new database of the target, or of another server. A plain one is for psql.
sub restore {
	my ($database, $files, $options, %where) = @_;
	my $node = $where{node} || $target;
	$node->safe_psql('postgres',
		"CREATE DATABASE $database" . ($where{owner} ? " OWNER $where{owner}" : ''));
	for my $file (@$files) {
		my @command =
		  $file =~ /\.sql$/
		  ? ('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f')
		  : ('pg_restore', '-e', '-d', $database, @$options);
		local $ENV{PGUSER} = $where{owner} if $where{owner};
		$node->command_ok([ @command, "$dir/$file" ], "... $command[0] of $file into $database");
	}
	return;
}

# Tests that a restored database is the source's.
sub is_as_it_was {
	my ($database, $node) = @_;
	$node ||= $target;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_full_schema($node, $database, $full_schema, "$database: everything is as it was");
	is_found($node, $database, $database);
	is_guarded($node, $database, $database);
	goes_on($node, $database,
		"$database: the defaults go on making IDs, later than all that were there");
	return;
}

# every form -----------------------------------------------------------------------------------------------

my @forms = (
	[ 'plain', ['plain.sql'], [] ],
	[ 'inserts', ['inserts.sql'], ['--rows-per-insert=50'] ],
	[ 'custom', ['custom'], ['-Fc'] ],
	[ 'tar', ['tar'], ['-Ft'] ],
	[ 'directory', ['directory'], [ '-Fd', '-j', '2' ], [ '-j', '2' ] ],);
for my $form (@forms) {
	my ($name, $files, $options, $on_restore) = @$form;
	dump_to($files->[0], $options);
	restore($name, $files, $on_restore || []);
	is_as_it_was($name);
}
dump_to('schema', [ '-Fc', '--schema-only' ]);
dump_to('data', [ '-Fc', '--data-only' ]);
restore('apart', [ 'schema', 'data' ], ['--disable-triggers']);
# A materialized view's rows are part of neither.
$target->safe_psql('apart', "REFRESH MATERIALIZED VIEW life.$_->{name}_counts") for @KINDS;
is_as_it_was('apart');

# what is in it --------------------------------------------------------------------------------------------

my @lines = split /\n/, slurp_file("$dir/plain.sql");
is_deeply(
	[ grep { /^CREATE EXTENSION.*flakeid/ } @lines ],
	['CREATE EXTENSION IF NOT EXISTS flakeid WITH SCHEMA public;'],
	'a dump creates the extension');
is_deeply(
	[ grep { /^(?:CREATE|ALTER|COMMENT ON|GRANT .* ON|REVOKE .* ON) [A-Z ]+ public\./ } @lines ],
	[], '... and none of its members');
my @entries = grep { !/^;/ } split /\n/,
  $source->safe_psql('postgres', "\\! pg_restore -l $dir/custom");
is_deeply(
	[ map { s/^\d+; \d+ \d+ //r } grep { /flakeid| public / } @entries ],
	[ 'EXTENSION - flakeid ', 'COMMENT - EXTENSION flakeid ' ],
	'... so does its list');

# its owner --------------------------------------------------------------------------------------------------

restore('kept', ['custom'], ['--no-owner'], owner => 'keeper');
is( $target->safe_psql(
		'kept',
		"SELECT extowner::regrole, (SELECT rolsuper FROM pg_roles WHERE oid = extowner) FROM pg_extension WHERE extname = 'flakeid'"
	),
	'keeper|f',
	"a database's owner who is no superuser restores it");
is_as_it_was('kept');

# statistics -------------------------------------------------------------------------------------------------

my ($option) = `pg_dump --help` =~ /(--(?:with-)?statistics)\b(?!-)/;
if ($option) {
	dump_to('statistics', [ '-Fc', $option ]);
	restore('known', ['statistics'], [$option]);
	my $known = statistics_of($source, 'life');
	is(scalar(split /\n/, $known), 4 * @KINDS, 'there are statistics of IDs');
	is(statistics_of($target, 'known'), $known, '... which are restored');
}
else {
	pass("pg_dump of PostgreSQL $version has no statistics");
}

# a standby --------------------------------------------------------------------------------------------------

$source->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($source, 'backup', has_streaming => 1);
$standby->start;
$source->wait_for_catchup($standby);
dump_to('standby', [ '-Fd', '-j', '2' ], $standby);
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'that was on a standby');
restore('stood', ['standby'], []);
is_as_it_was('stood');
$standby->stop;

# all databases, and a server that does not preload the library ------------------------------------------------

my $bare = server_with('bare', '');
$source->command_ok([ 'pg_dumpall', '-f', "$dir/all.sql" ], 'pg_dumpall');
my ($out, $error) = ('', '');
$bare->psql('postgres', "\\i $dir/all.sql", stdout => \$out, stderr => \$error, on_error_stop => 0);
is_deeply(
	[ map { s/^psql:[^ ]* //r } split /\n/, $error ],
	[ 'ERROR:  role "' . getpwuid($<) . '" already exists' ],
	'... is restored without the library preloaded');
is_full_schema($bare, 'life', $full_schema, '... and everything is as it was');
is_found($bare, 'life', 'without preloading');

if ($version < 17) {
	for my $kind (@KINDS) {
		my $refused =
		  error_of($bare, "INSERT INTO life.$kind->{name}_rows (nr) VALUES (1)", 'life');
		like(
			$refused,
			qr/ERROR:  55000: flakeid must be loaded via "shared_preload_libraries" to generate IDs/,
			"... $kind->{name} makes no IDs");
		like(
			$refused,
			qr/HINT:  Add flakeid to "shared_preload_libraries"/,
			'... and says what to do');
	}
	$bare->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
	$bare->restart;
}
is_as_it_was('life', $bare);
$bare->stop;

# another epoch ------------------------------------------------------------------------------------------------

my $epoch =
  server_with('epoch', "shared_preload_libraries = 'flakeid'\nflakeid.epoch = '2024-01-01'\n");
$epoch->safe_psql('postgres', "CREATE ROLE $READER");
restore('life', ['custom'], [], node => $epoch);
is_full_schema($epoch, 'life', $full_schema, 'with another epoch everything is as it was');
is_found($epoch, 'life', 'with another epoch');
my $times = <<'SQL';
SET timezone TO 'UTC';
SELECT bool_and(flake_timestamp(id, '2010-01-01 00:00+00') = made), bool_and(flake_timestamp(id) = made), min(flake_timestamp(id) - made) FROM life.flake_rows;
SQL
is($source->safe_psql('life', $times), 't|t|00:00:00', 'flakes have their times');
is( $epoch->safe_psql('life', $times),
	't|f|5113 days',
	'... those that are read by another epoch are later by what is between');

for my $kind (@KINDS) {
	my $name = $kind->{name};
	my $state = error_of($epoch, "INSERT INTO life.${name}_rows (nr) VALUES (1)", 'life') =~
	  /^psql:\S+ ERROR:  (\w+): (.*)/m ? "$1: $2" : '';
	my $has_epoch = $name =~ /^(?:flake|typed)\z/;
	is( $state,
		$has_epoch
		? qq(23514: new row for relation "${name}_rows" violates check constraint "${name}_since")
		: '',
		"with another epoch $name IDs "
		  . ($has_epoch ? 'are refused by a constraint that has the old' : 'go on'));
}
is( $epoch->safe_psql(
		'life',
		'WITH made AS (INSERT INTO life.flake_parts (nr) VALUES (1) RETURNING id)'
		  . q{ SELECT made.id < (SELECT min(id) FROM life.flake_parts), flake_timestamp(made.id) >= date_trunc('milliseconds', now()) FROM made}
	),
	't|t',
	'... and where there is no state file sort before all of the old');
$epoch->stop;

$_->stop for $target, $source;
done_testing();
