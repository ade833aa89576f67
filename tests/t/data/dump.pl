# A database that uses every ID type in every way goes through pg_dump and pg_restore, in every
# form. It keeps all rows and definitions, and generates later IDs. So it does on a server that does
# not preload the library, and on one with another epoch of flake.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use FullSchema::Checks;
use Kinds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir('dumps');
my $preload = "shared_preload_libraries = 'flakeid'\n";
my $source = server_with('source', $preload, init => { allows_streaming => 1 });
$source->safe_psql('postgres', 'CREATE DATABASE life');
create_full_schema($source, 'life');
my $full_schema = full_schema_of($source, 'life');
subtest 'the schema works at the source' => sub { works($source, 'life') };

my $target = server_with('target', "$preload\nflakeid.generator_ids = '8-15'\n");
$target->safe_psql('postgres', "CREATE ROLE $READER; CREATE ROLE keeper LOGIN");

# Dumps the source, or another server.
sub dump_to {
	my ($file, $options, $node) = @_;
	return ($node || $source)
	  ->command_ok([ 'pg_dump', '-f', "$dir/$file", @$options, 'life' ], "pg_dump @$options runs");
}

# Restores dumps into a new database of the target. A plain dump is for psql.
sub restore {
	my ($database, $files, $options, $owner) = @_;
	$target->safe_psql('postgres', "CREATE DATABASE $database" . ($owner ? " OWNER $owner" : ''));
	local $ENV{PGUSER} = $owner if $owner;
	for my $file (@$files) {
		my @command =
		  $file =~ /^(?:plain|inserts)$/
		  ? ('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f')
		  : ('pg_restore', '-e', '-d', $database, @$options);
		$target->command_ok([ @command, "$dir/$file" ],
			"$command[0] restores the file $file into $database");
	}
	return;
}

# Returns the error of an insertion of a row with a new ID.
sub insertion_error {
	my ($node, $kind) = @_;
	return error_of($node, "INSERT INTO life.$kind->{name}_rows (nr) VALUES (1)", 'life');
}

for my $form (
	['plain'],
	[ 'inserts', '--rows-per-insert=50' ],
	[ 'custom', '-Fc' ],
	[ 'tar', '-Ft' ],
	[ 'directory', '-Fd', '-j', '2' ])
{
	my ($name, @options) = @$form;
	subtest "a dump of the form $name has all" => sub {
		dump_to($name, \@options);
		restore($name, [$name], $name eq 'directory' ? [ '-j', '2' ] : []);
		works_as_before($target, $name, $full_schema);
	};
}
subtest 'a dump of the schema and one of the data have all' => sub {
	dump_to('schema', [ '-Fc', '--schema-only' ]);
	dump_to('data', [ '-Fc', '--data-only' ]);
	restore('apart', [ 'schema', 'data' ], ['--disable-triggers']);
	# A materialized view's rows are part of neither.
	$target->safe_psql('apart',
		"SET search_path = life; " . of_all_kinds('REFRESH MATERIALIZED VIEW KIND_counts;'));
	works_as_before($target, 'apart', $full_schema);
};

my @lines = split /\n/, slurp_file("$dir/plain");
is_deeply(
	[ grep { /^CREATE EXTENSION.*flakeid/ } @lines ],
	['CREATE EXTENSION IF NOT EXISTS flakeid WITH SCHEMA public;'],
	'a dump creates the extension');
is_deeply(
	[ grep { /^(?:CREATE|ALTER|COMMENT ON|GRANT .* ON|REVOKE .* ON) [A-Z ]+ public\./ } @lines ],
	[], 'a dump creates no member of the extension');

subtest "a database's owner who is no superuser restores a dump" => sub {
	restore('kept', ['custom'], ['--no-owner'], 'keeper');
	is($target->safe_psql('kept', <<~'SQL'), 'keeper|f', 'the extension belongs to this owner');
		SELECT rolname, rolsuper FROM pg_extension JOIN pg_roles ON pg_roles.oid = extowner
		WHERE extname = 'flakeid'
		SQL
	works_as_before($target, 'kept', $full_schema);
};

# pg_dump has statistics from version 18 on.
my ($option) = `pg_dump --help` =~ /(--(?:with-)?statistics)\b(?!-)/;
if ($option) {
	dump_to('statistics', [ '-Fc', $option ]);
	restore('known', ['statistics'], [$option]);
	my $known = statistics_of($source, 'life');
	is(scalar(split /\n/, $known), 4 * @KINDS, 'there are statistics of IDs');
	is(statistics_of($target, 'known'), $known, 'a dump has the statistics of IDs');
}

subtest 'a dump of a standby has all' => sub {
	$source->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($source, 'backup', has_streaming => 1);
	$standby->start;
	$source->wait_for_catchup($standby);
	dump_to('standby', [ '-Fd', '-j', '2' ], $standby);
	is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
		't', 'the dumped server is a standby');
	restore('stood', ['standby'], []);
	works_as_before($target, 'stood', $full_schema);
	$standby->stop;
};

# other servers ------------------------------------------------------------------------------------

subtest 'pg_dumpall and psql restore all on a server that does not preload the library' => sub {
	my $bare = server_with('bare', '');
	$source->command_ok([ 'pg_dumpall', '-f', "$dir/all.sql" ], 'pg_dumpall has no error');
	$bare->psql(
		'postgres', "\\i $dir/all.sql",
		stderr => \my $error,
		on_error_stop => 0);
	is_deeply(
		[ map { s/^psql:[^ ]* //r } split /\n/, $error ],
		[ 'ERROR:  role "' . getpwuid($<) . '" already exists' ],
		'psql has no error but of the role that each server has');
	is_full_schema($bare, 'life', $full_schema);
	is_found($bare, 'life');

	# From 17 on a server needs no preloading.
	if ($source->pg_version->major < 17) {
		my $missing =
		  qr/ERROR:  55000: flakeid must be loaded via "shared_preload_libraries" to gen/;
		my $hint = qr/HINT:  Add flakeid to "shared_preload_libraries"/;
		for my $kind (@KINDS) {
			like(insertion_error($bare, $kind),
				qr/$missing.*$hint/s,
				"$kind->{name} IDs are not generated without the library preloaded, with a hint");
		}
		$bare->append_conf('postgresql.conf', $preload);
		$bare->restart;
	}
	works_as_before($bare, 'life', $full_schema);
	$bare->stop;
};

my $epoch = server_with('epoch', "${preload}flakeid.epoch = '2024-01-01'\n");
$epoch->safe_psql('postgres', "CREATE ROLE $READER; CREATE DATABASE life");
$epoch->command_ok(
	[ 'pg_restore', '-e', '-d', 'life', "$dir/custom" ],
	'pg_restore has no error on a server with another epoch');
subtest 'the server with another epoch has all' => sub {
	is_full_schema($epoch, 'life', $full_schema);
	is_found($epoch, 'life');
};
my $times = <<'SQL';
SELECT bool_and(flake_timestamp(id, '2010-01-01 00:00+00') = made),
	bool_and(flake_timestamp(id) = made), min(flake_timestamp(id) - made)
FROM life.flake_rows
SQL
is($source->safe_psql('life', $times), 't|t|00:00:00', 'flakes have their times at the source');
is( $epoch->safe_psql('life', $times),
	't|f|5113 days',
	'by another epoch the times of flakes are later by the days between both');
for my $kind (@KINDS) {
	my $name = $kind->{name};
	my $is_refused = $name =~ /^(?:flake|typed)\z/;
	my $by_check = qr/23514: .*"${name}_rows" violates check constraint "${name}_since"/;
	my $claim =
	  $is_refused ? 'refused by a constraint with the old epoch' : 'generated with another epoch';
	like(insertion_error($epoch, $kind), $is_refused ? $by_check : qr/\A\z/,
		"$name IDs are $claim");
}
is( $epoch->safe_psql('life',
		<<~'SQL'), 't|t', 'a new flake of the later epoch sorts before all old');
	WITH made AS (INSERT INTO life.flake_parts (nr) VALUES (1) RETURNING id)
	SELECT made.id < (SELECT min(id) FROM life.flake_parts),
		flake_timestamp(made.id) >= date_trunc('milliseconds', now()) FROM made
	SQL

$_->stop for $epoch, $target, $source;
done_testing();
