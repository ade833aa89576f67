# A dump of a database with every ID type is restored on a server that does not preload the library,
# and on one with another epoch of flake.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use FullSchema::Checks;
use Kinds;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir('dumps');
my $preload = "shared_preload_libraries = 'flakeid'\n";
my $source = server_with('source', $preload);
my $version = $source->pg_version->major;
$source->safe_psql('postgres', 'CREATE DATABASE life');
create_full_schema($source, 'life');
my $full_schema = full_schema_of($source, 'life');

# Returns the error of an insertion of a row with a new ID.
sub insertion_error {
	my ($node, $kind) = @_;
	return error_of($node, "INSERT INTO life.$kind->{name}_rows (nr) VALUES (1)", 'life');
}

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
	if ($version < 17) {
		for my $kind (@KINDS) {
			my $error = insertion_error($bare, $kind);
			like(
				$error,
				qr/ERROR:  55000: flakeid must be loaded via "shared_preload_libraries" to gen/,
				"$kind->{name} IDs are not generated without the library preloaded");
			like(
				$error,
				qr/HINT:  Add flakeid to "shared_preload_libraries"/,
				"the hint for $kind->{name} names the setting");
		}
		$bare->append_conf('postgresql.conf', $preload);
		$bare->restart;
	}
	works_as_before($bare, 'life', $full_schema);
	$bare->stop;
};

my $epoch = server_with('epoch', "${preload}flakeid.epoch = '2024-01-01'\n");
$epoch->safe_psql('postgres', "CREATE ROLE $READER; CREATE DATABASE life");
$source->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'life' ], 'pg_dump has no error');
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
	my $error = insertion_error($epoch, $kind);
	if ($name =~ /^(?:flake|typed)\z/) {
		like(
			$error,
			qr/23514: .*"${name}_rows" violates check constraint "${name}_since"/,
			"a constraint with the old epoch refuses $name IDs of another epoch");
	}
	else {
		is($error, '', "$name IDs are generated with another epoch");
	}
}
is( $epoch->safe_psql('life',
		<<~'SQL'), 't|t', 'a new flake of the later epoch sorts before all old');
	WITH made AS (INSERT INTO life.flake_parts (nr) VALUES (1) RETURNING id)
	SELECT made.id < (SELECT min(id) FROM life.flake_parts),
		flake_timestamp(made.id) >= date_trunc('milliseconds', now()) FROM made
	SQL

$_->stop for $epoch, $source;
done_testing();
