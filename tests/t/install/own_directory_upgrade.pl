# pg_upgrade leads from PostgreSQL 17, where flakeid is in the server's folders, to 18 and later,
# where it is in a directory of its own. All rows are there, and IDs go on. Functions of 0.7 name
# $libdir, where pg_upgrade 18 finds nothing, until they are updated.
use strict;
use warnings;
use lib 'tests/perl';

use FullSchema;
use FullSchema::Checks;
use Installation;
use IPC::Run;
use Kinds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my %pg_config =
  map { `$_ --version` =~ /^PostgreSQL (\d+)/ ? ($1 => $_) : () }
  (split ' ', $ENV{EARLIER_PG_CONFIGS} || ''), 'pg_config';
my ($version) = `pg_config --version` =~ /^PostgreSQL (\d+)/;
plan(skip_all => "PostgreSQL $version has no extension_control_path") if $version < 18;
my @missing = grep { !$pg_config{$_} } 17 .. $version;
plan(skip_all => "no PostgreSQL @missing has this flakeid") if @missing;

# pg_upgrade wants both clusters alike.
my @init = (extra => ['-k']);
my $preload = "shared_preload_libraries = 'flakeid'\n";

# Returns a server of this version that was not started, its programs, and the file of its library.
sub server_elsewhere {
	my ($major, $name) = @_;
	my $place = Installation->new("place_$name", $pg_config{$major});
	my $directory = $place->move_out;
	my $node = PostgreSQL::Test::Cluster->new($name, install_path => $place->{path});
	$node->init(@init);
	$node->append_conf('postgresql.conf', <<~"END");
		autovacuum = off
		${preload}extension_control_path = '$directory/share:\$system'
		dynamic_library_path = '$directory/lib:\$libdir'
		END
	return { node => $node, bin => "$place->{path}/bin", library => "$directory/lib/flakeid.so" };
}

# Runs pg_upgrade in a folder of its own, where it leaves files. Returns its success and its output.
sub upgrade {
	my ($from, $to, @options) = @_;
	my $here = PostgreSQL::Test::Utils::tempdir('upgrade');
	my ($old, $new) = map { $_->{node} } $from, $to;
	my @command = (
		"$to->{bin}/pg_upgrade", '--no-sync', @options,
		'-b' => $from->{bin},
		'-B' => $to->{bin},
		'-d' => $old->data_dir,
		'-D' => $new->data_dir,
		'-p' => $old->port,
		'-P' => $new->port,
		'-s' => $new->host);
	my $output = '';
	my $upgraded =
	  IPC::Run::run([ 'sh', '-c', 'cd "$0" && exec "$@"', $here, @command ], '>&', \$output);
	note($output);
	return ($upgraded, $output);
}

my $place = Installation->new('place_17', $pg_config{17})->put_released;
my $old = PostgreSQL::Test::Cluster->new('old_17', install_path => $place->{path});
$old->init(@init);
$old->append_conf('postgresql.conf', "autovacuum = off\n$preload");
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE life');
create_full_schema($old, 'life');
my $schema = full_schema_of($old, 'life');
$old->safe_psql('postgres', 'CREATE DATABASE older');
$old->safe_psql('older', "CREATE EXTENSION flakeid VERSION '0.7.0'");
remove_marks($old, $_) for 'postgres', 'template1', 'life', 'older';
$old->stop;

# of functions of 0.7 -----------------------------------------------------------------------------

my $from = { node => $old, bin => "$place->{path}/bin" };
my ($upgraded, $output) = upgrade($from, server_elsewhere(18, 'refusing_18'), '--check');
ok(!$upgraded, 'pg_upgrade --check of 18 refuses a database whose functions are of 0.7');
my ($list) = $output =~ m{^\s*(/.*/loadable_libraries\.txt)$}m
  or die "there is no list of libraries: $output";
like(
	slurp_file($list),
	qr{^could not load library "\$libdir/flakeid": .*\n(?:.*\n)*?In database: older$}m,
	'its list names $libdir and the database');
unlike(slurp_file($list), qr/In database: life$/m, 'its list does not name a database of 1.0');
if ($version >= 19) {
	($upgraded) = upgrade($from, server_elsewhere(19, 'accepting_19'), '--check');
	ok($upgraded, 'pg_upgrade --check of 19 accepts both databases');
}
$old->start;
$old->safe_psql('older', 'ALTER EXTENSION flakeid UPDATE');
$old->stop;

# each version to the next ------------------------------------------------------------------------

for my $major (18 .. $version) {
	subtest "pg_upgrade leads to $major" => sub {
		my $to = server_elsewhere($major, "new_$major");
		my $new = $to->{node};
		($upgraded, $output) = upgrade($from, $to);
		ok($upgraded, 'pg_upgrade succeeds') or BAIL_OUT($output);
		$new->start;
		works_as_before($new, 'life', $schema);
		my $session = session($new, 'older');
		is($session->query_safe('SELECT flake_next() > 0, sno_next() IS NOT NULL'),
			't|t', 'the database that was updated generates IDs');
		is_deeply(
			[ Installation::files_in($session) ],
			[ $to->{library} ],
			'the session has the file of the directory alone');
		$session->quit;
		$new->safe_psql('postgres', "CREATE DATABASE of_$major");
		$new->safe_psql("of_$major", 'CREATE EXTENSION flakeid');
		is($new->safe_psql("of_$major", 'SELECT flake_next() > 0'),
			't', 'a new database generates IDs');
		# The next pg_upgrade expects what was there before.
		$schema = full_schema_of($new, 'life');
		$new->stop;
		$from = $to;
	};
}

done_testing();
