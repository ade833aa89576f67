# What an earlier version of PostgreSQL has comes to this one, by a dump or by pg_upgrade, and is what it was. The
# earlier servers are those of EARLIER_PG_CONFIGS, into which the same flakeid is installed.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use File::Basename qw(dirname);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @earlier = split ' ', $ENV{EARLIER_PG_CONFIGS} || '';
chomp(my $bindir = `pg_config --bindir`);
my ($version) = `pg_config --version` =~ /(\d+)/;
if (!@earlier) {
	pass("there is no server of a version before $version that has this flakeid");
	done_testing();
	exit;
}

my $preload = "shared_preload_libraries = 'flakeid'\n";
# Some versions have checksums by default, others not; pg_upgrade wants both clusters alike. Those of this version are copies
# of one that has them.
my %alike = (init => { extra => ['-k'] });
my $template = PostgreSQL::Test::Utils::tempdir('alike') . '/template';
system_or_bail("$bindir/initdb", '-D', $template, '-A', 'trust', '-N', '-k');

sub init_alike {
	my ($node) = @_;
	local $ENV{TEMPLATE_CLUSTER} = $template;
	$node->init;
	return;
}

# These files need not survive a crash of the machine.
my @no_sync = `$bindir/pg_upgrade --help` =~ /(--no-sync)\b/;

# Calls pg_upgrade, in a folder of its own, where it leaves files.
sub upgrade {
	my ($old, $new, $new_bindir, @options) = @_;
	my $here = PostgreSQL::Test::Utils::tempdir('upgrade');
	my ($out, $error) = ('', '');
	my $upgraded = IPC::Run::run(
		[
			'sh', '-c', 'cd "$0" && exec "$@"', $here,
			"$new_bindir/pg_upgrade", '-b', $old->config_data('--bindir'), '-B',
			$new_bindir, '-d', $old->data_dir, '-D',
			$new->data_dir, '-p', $old->port, '-P',
			$new->port, '-s', $new->host, @no_sync,
			@options
		],
		'>',
		\$out,
		'2>',
		\$error);
	note($out, $error);
	return ($upgraded, $out . $error);
}

# Tests that a database is the one that the earlier version had.
sub is_as_it_was {
	my ($node, $database, $full_schema, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_full_schema($node, $database, $full_schema, "$test: everything is as it was");
	is_found($node, $database, $test);
	is_guarded($node, $database, $test);
	goes_on($node, $database,
		"$test: the defaults go on making IDs, later than all that were there");
	return;
}

# Tests that a database learns to skip, as the README has it: an index whose first column has few values, one after
# the other, is searched fewer times.
sub is_taught {
	my ($node, $database, $test) = @_;
	my @types = grep { !/^(?:bigint|flake|uuid)$/ } do {
		my %seen;
		grep { !$seen{$_}++ } map { $_->{type} } @KINDS;
	};
	my $types = join ', ', map { "'$_'::regtype" } @types;
	is( $node->safe_psql(
			$database,
			"SELECT count(*) FROM pg_amproc WHERE amproclefttype IN ($types) AND amproc::text ~ '_skipsupport'"
		),
		'0',
		"$test: no type of it skips");
	for my $type (@types) {
		my $searches = sub {
			my ($n) = $node->safe_psql($database,
				<<"SQL") =~ /Index Searches: (\d+)/ or die 'no index was searched';
SET enable_seqscan TO off; SET enable_bitmapscan TO off;
EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT * FROM ${type}_few WHERE nr = 77;
SQL
			return $n;
		};
		$node->safe_psql($database, <<"SQL");
CREATE TABLE ${type}_few AS
    SELECT set_byte(bytes, octet_length(bytes) - 1, few)::$type AS id, nr
    FROM (SELECT ${type}_at(now())::bytea AS bytes) AS one, generate_series(1, 10) AS few, generate_series(1, 1000) AS nr;
CREATE INDEX ON ${type}_few (id, nr);
VACUUM ANALYZE ${type}_few;
SQL
		my $before = $searches->();
		$node->safe_psql($database,
			"ALTER OPERATOR FAMILY ${type}_ops USING btree ADD FUNCTION 6 ($type, $type) ${type}_skipsupport(internal)"
		);
		cmp_ok($searches->(), '<', $before, "... $type learns it");
		is( $node->safe_psql(
				$database,
				"SELECT bool_and(amvalidate(oid)) FROM pg_opclass WHERE opcintype = '$type'::regtype"
			),
			't',
			'... its operator classes are valid');
	}
	return;
}

# A release can put into its catalogs what one that is older by its date, though of a later version, does not
# know: 15.20 gives each column an option that 16.14 and 18.4 refuse, in the dump of any table. It is not what
# this is about, so it is taken out, but for types of rows, whose values 15.20 does not read without it; those are
# dumped without their options.
sub unmark {
	my ($node, $database) = @_;
	return $node->safe_psql($database, <<'SQL');
WITH unmarked AS (
    UPDATE pg_attribute
    SET attoptions = nullif(ARRAY(SELECT option FROM unnest(attoptions) AS option WHERE option NOT LIKE 'pg_attver=%'), '{}')
    FROM pg_class
    WHERE pg_class.oid = attrelid AND relkind <> 'c' AND EXISTS (SELECT FROM unnest(attoptions) AS option WHERE option LIKE 'pg_attver=%')
    RETURNING attrelid)
SELECT count(*) FROM unmarked
SQL
}

# Returns an installation that is a copy of this one without the library; nothing if this one is not in one place.
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

# Tests that pg_upgrade looks for the library.
my $without_library = without_library();

sub is_missed {
	my ($old, $test) = @_;
	if (!$without_library) {
		pass(
			"$test: this installation is not in one place, so that there is no such installation without the library"
		);
		return;
	}
	my $new = PostgreSQL::Test::Cluster->new($test =~ tr/ /_/r . '_without');
	init_alike($new);
	my ($upgraded, $said) = upgrade($old, $new, "$without_library/bin", '--check');
	ok(!$upgraded, "$test: pg_upgrade --check refuses a target without the library");
	my ($list) = $said =~ m{^\s*(/.*/loadable_libraries\.txt)$}m
	  or die "there is no list of libraries: $said";
	like(
		slurp_file($list),
		qr{^could not load library "\$libdir/flakeid": }m,
		'... and its list names it');
	return;
}

# The way that copies no files goes last, since the old cluster is no more then.
my $fast = $version >= 18 ? '--swap' : '--link';
my $fresh = server_with('fresh', $preload);
$fresh->safe_psql('postgres', "CREATE ROLE $READER");
for my $pg_config (@earlier) {
	chomp(my $old_bindir = `$pg_config --bindir`);
	my ($major) = `$pg_config --version` =~ /(\d+)/;
	my $name = "from $major";
	my $old =
	  server_with("old_$major", $preload, %alike, node => { install_path => dirname($old_bindir) });
	is(version_of($old), $major, "there is a server of version $major");
	$old->safe_psql('postgres', 'CREATE DATABASE life');
	create_full_schema($old, 'life');
	my $full_schema = full_schema_of($old, 'life');
	my $statistics = statistics_of($old, 'life');

	note("$major marked columns: " . unmark($old, $_)) for 'postgres', 'template1', 'life';

	# by a dump
	my $dump = PostgreSQL::Test::Utils::tempdir("dump_$major") . '/custom';
	command_ok([ "$bindir/pg_dump", '-Fc', '-f', $dump, $old->connstr('life') ], "$name: pg_dump");
	$fresh->safe_psql('postgres', "CREATE DATABASE life_$major");
	$fresh->command_ok([ 'pg_restore', '-e', '-d', "life_$major", $dump ], '... and pg_restore');
	is_as_it_was($fresh, "life_$major", $full_schema, $name);
	$old->stop;

	# by pg_upgrade
	is_missed($old, $name);
	for my $option ('', $fast) {
		my $test = "$name, pg_upgrade" . ($option && " $option");
		my $new = PostgreSQL::Test::Cluster->new("new_$major" . $option =~ tr/-/_/r);
		init_alike($new);
		$new->append_conf('postgresql.conf', "autovacuum = off\n$preload");
		my ($upgraded, $said) = upgrade($old, $new, $bindir, $option || ());
		ok($upgraded, $test) or BAIL_OUT($said);
		ok(!-e $new->data_dir . '/flakeid', '... takes no state along');
		$new->start;
		is( statistics_of($new, 'life'),
			$version >= 18 ? $statistics : '',
			'... and ' . ($version >= 18 ? 'the' : 'no') . ' statistics');
		is_as_it_was($new, 'life', $full_schema, $test);
		# From 18 on an installation has it from the start.
		is_taught($new, 'life', $test) if $version >= 18 && $major < 18 && $option;
		$new->stop;
	}
}
$fresh->stop;

done_testing();
