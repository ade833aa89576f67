# A database of an earlier version of PostgreSQL moves to this one by a dump and by pg_upgrade, and
# keeps all rows and definitions. EARLIER_PG_CONFIGS names servers that have the same flakeid.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use FullSchema::Checks;
use File::Basename qw(dirname);
use IPC::Run;
use Kinds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $bindir = `pg_config --bindir`);
my ($version) = `pg_config --version` =~ /(\d+)/;
my @earlier = split ' ', $ENV{EARLIER_PG_CONFIGS} || '';
plan(skip_all => "no server of a version before $version has this flakeid") unless @earlier;

my $preload = "shared_preload_libraries = 'flakeid'\n";
# Some versions have checksums by default, others not. pg_upgrade wants both clusters alike. Those
# of this version are copies of one that has checksums.
my $template = PostgreSQL::Test::Utils::tempdir('alike') . '/template';
system_or_bail("$bindir/initdb", '-D', $template, '-A', 'trust', '-N', '-k');

# Returns a server of this version that pg_upgrade can fill.
sub new_server {
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	local $ENV{TEMPLATE_CLUSTER} = $template;
	$node->init;
	return $node;
}

# These files need not survive a crash of the machine.
my @no_sync = `$bindir/pg_upgrade --help` =~ /(--no-sync)\b/;

# Runs pg_upgrade in a folder of its own, where it leaves files. Returns its success and its output.
sub upgrade {
	my ($old, $new, $new_bindir, @options) = @_;
	my $here = PostgreSQL::Test::Utils::tempdir('upgrade');
	my $output = '';
	my @command = (
		"$new_bindir/pg_upgrade",
		'-b' => $old->config_data('--bindir'),
		'-B' => $new_bindir,
		'-d' => $old->data_dir,
		'-D' => $new->data_dir,
		'-p' => $old->port,
		'-P' => $new->port,
		'-s' => $new->host,
		@no_sync, @options);
	my $upgraded =
	  IPC::Run::run([ 'sh', '-c', 'cd "$0" && exec "$@"', $here, @command ], '>&', \$output);
	note($output);
	return ($upgraded, $output);
}

# Returns a copy of this installation without the library, or nothing if it is not in one folder.
sub without_library {
	my $prefix = dirname($bindir);
	chomp(my @folders = map { `pg_config --$_` } 'pkglibdir', 'sharedir');
	return if grep { index($_, "$prefix/") != 0 } @folders;
	# Programs of a wheel look for their libraries beside it.
	my $root = PostgreSQL::Test::Utils::tempdir('bare');
	my $copy = $root . $prefix;
	system('mkdir', '-p', dirname($copy)) == 0 && system('cp', '-a', $prefix, $copy) == 0
	  or die "could not copy $prefix";
	for my $libraries (glob(dirname(dirname($prefix)) . '/*.libs')) {
		symlink $libraries, "$root$libraries" or die "could not link $libraries: $!";
	}
	unlink $root . "$folders[0]/flakeid.so" or die "could not remove the library: $!";
	return $copy;
}
my $without_library = without_library();

# Tests that types do not skip in an upgraded database, and that the README's statements teach them:
# an index whose first column has few values, one after the other, is searched fewer times.
sub learns_to_skip {
	my ($node) = @_;
	my @types = qw(sno flake128 guid guid_local uniqueid);
	my $types = join ',', @types;
	is($node->safe_psql('life', <<~"SQL"), '0', 'no type skips after pg_upgrade');
		SELECT count(*) FROM pg_amproc
		WHERE amproclefttype = ANY ('{$types}'::regtype[]) AND amproc::text ~ '_skipsupport'
		SQL
	for my $type (@types) {
		$node->safe_psql('life', <<~"SQL");
			CREATE TABLE ${type}_few AS
			SELECT set_byte(bytes, octet_length(bytes) - 1, few)::$type AS id, nr
			FROM (SELECT ${type}_at(now())::bytea AS bytes) AS one,
				generate_series(1, 10) AS few, generate_series(1, 1000) AS nr;
			CREATE INDEX ON ${type}_few (id, nr);
			VACUUM ANALYZE ${type}_few;
			SQL
		my $searches = sub {
			my $plan = $node->safe_psql('life', <<~"SQL");
				SET enable_seqscan TO off; SET enable_bitmapscan TO off;
				EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT * FROM ${type}_few WHERE nr = 77;
				SQL
			return $plan =~ /Index Searches: (\d+)/ ? $1 : die 'no index was searched';
		};
		my $before = $searches->();
		$node->safe_psql('life', <<~"SQL");
			ALTER OPERATOR FAMILY ${type}_ops USING btree
			ADD FUNCTION 6 ($type, $type) ${type}_skipsupport(internal)
			SQL
		cmp_ok($searches->(), '<', $before, "$type skips after the README's statement");
		is($node->safe_psql('life', <<~"SQL"), 't', "the operator classes of $type are valid");
			SELECT bool_and(amvalidate(oid)) FROM pg_opclass WHERE opcintype = '$type'::regtype
			SQL
	}
	return;
}

my $fresh = server_with('fresh', $preload);
$fresh->safe_psql('postgres', "CREATE ROLE $READER");
for my $pg_config (@earlier) {
	chomp(my $old_bindir = `$pg_config --bindir`);
	my ($major) = `$pg_config --version` =~ /(\d+)/;
	my $old = server_with(
		"old_$major", $preload,
		node => { install_path => dirname($old_bindir) },
		init => { extra => ['-k'] });
	like($old->safe_psql('postgres', 'SHOW server_version'),
		qr/^$major(?!\d)/, "there is a server of version $major");
	$old->safe_psql('postgres', 'CREATE DATABASE life');
	create_full_schema($old, 'life');
	my $full_schema = full_schema_of($old, 'life');
	my $statistics = statistics_of($old, 'life');
	remove_marks($old, $_) for 'postgres', 'template1', 'life';

	subtest "a dump moves a database from $major" => sub {
		my $dump = PostgreSQL::Test::Utils::tempdir("dump_$major") . '/custom';
		command_ok([ "$bindir/pg_dump", '-Fc', '-f', $dump, $old->connstr('life') ],
			'pg_dump of this version runs');
		$fresh->safe_psql('postgres', "CREATE DATABASE life_$major");
		$fresh->command_ok([ 'pg_restore', '-e', '-d', "life_$major", $dump ], 'pg_restore runs');
		works_as_before($fresh, "life_$major", $full_schema);
	};
	$old->stop;

	if ($without_library) {
		my ($upgraded, $output) =
		  upgrade($old, new_server("without_$major"), "$without_library/bin", '--check');
		ok(!$upgraded, "from $major: pg_upgrade --check refuses a target without the library");
		my ($list) = $output =~ m{^\s*(/.*/loadable_libraries\.txt)$}m
		  or die "there is no list of libraries: $output";
		like(
			slurp_file($list),
			qr{^could not load library "flakeid": }m,
			"from $major: the list of missing libraries names flakeid");
	}

	# The way that copies no files goes last, since it ends the old cluster.
	for my $option ('', $version >= 18 ? '--swap' : '--link') {
		subtest "pg_upgrade $option moves a database from $major" => sub {
			my $new = new_server("new_$major" . $option =~ tr/-/_/r);
			$new->append_conf('postgresql.conf', "autovacuum = off\n$preload");
			my ($upgraded, $output) = upgrade($old, $new, $bindir, $option || ());
			ok($upgraded, "pg_upgrade $option runs from $major") or BAIL_OUT($output);
			ok(!-e $new->data_dir . '/flakeid', 'pg_upgrade takes no state along');
			$new->start;
			is( statistics_of($new, 'life'),
				$version >= 18 ? $statistics : '',
				'pg_upgrade takes statistics along from 18 on');
			works_as_before($new, 'life', $full_schema);
			# An installation on 18 or later has the support from the start.
			learns_to_skip($new) if $version >= 18 && $major < 18 && $option;
			$new->stop;
		};
	}
}
$fresh->stop;

done_testing();
