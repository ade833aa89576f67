# A database that uses every ID type in every way goes through pg_dump and pg_restore, in every
# form. It keeps all rows and definitions, and generates later IDs. dump_elsewhere.pl has other
# servers.
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
		  $file =~ /\.sql$/
		  ? ('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f')
		  : ('pg_restore', '-e', '-d', $database, @$options);
		$target->command_ok([ @command, "$dir/$file" ],
			"$command[0] restores the file $file into $database");
	}
	return;
}

for my $form (
	[ 'plain', 'plain.sql', [] ],
	[ 'inserts', 'inserts.sql', ['--rows-per-insert=50'] ],
	[ 'custom', 'custom', ['-Fc'] ],
	[ 'tar', 'tar', ['-Ft'] ],
	[ 'directory', 'directory', [ '-Fd', '-j', '2' ], [ '-j', '2' ] ])
{
	my ($name, $file, $options, $on_restore) = @$form;
	subtest "a dump of the form $name has all" => sub {
		dump_to($file, $options);
		restore($name, [$file], $on_restore || []);
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

my @lines = split /\n/, slurp_file("$dir/plain.sql");
is_deeply(
	[ grep { /^CREATE EXTENSION.*flakeid/ } @lines ],
	['CREATE EXTENSION IF NOT EXISTS flakeid WITH SCHEMA public;'],
	'a dump creates the extension');
is_deeply(
	[ grep { /^(?:CREATE|ALTER|COMMENT ON|GRANT .* ON|REVOKE .* ON) [A-Z ]+ public\./ } @lines ],
	[], 'a dump creates no member of the extension');
my @entries = grep { !/^;/ } split /\n/,
  $source->safe_psql('postgres', "\\! pg_restore -l $dir/custom");
is_deeply(
	[ map { s/^\d+; \d+ \d+ //r } grep { /flakeid| public / } @entries ],
	[ 'EXTENSION - flakeid ', 'COMMENT - EXTENSION flakeid ' ],
	'the list of a dump has the extension and no member of it');

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

$_->stop for $target, $source;
done_testing();
