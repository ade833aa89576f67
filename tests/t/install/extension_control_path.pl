# PostgreSQL 18 takes an extension from folders outside its own, as from an image that an operator
# mounts: its files come by extension_control_path and its library by dynamic_library_path, also
# when it is preloaded.
use strict;
use warnings;
use lib 'tests/perl';

use File::Copy qw(copy);
use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(
	my ($release, $sharedir, $pkglibdir) =
	  map { scalar `pg_config $_` } qw(--version --sharedir --pkglibdir));
plan(skip_all => "$release has no extension_control_path")
  if $release !~ /^PostgreSQL (?:1[89]|[2-9]\d)/;

# As packaging/docker/Dockerfile lays them out; and told apart from what is installed, so that a
# test that took the installed files would fail.
my $image = PostgreSQL::Test::Utils::tempdir('image');
mkdir "$image/$_" or die "could not make $image/$_: $!" for qw(lib share share/extension);
copy("$pkglibdir/flakeid.so", "$image/lib/flakeid.so") or die "could not copy flakeid.so: $!";
chmod 0755, "$image/lib/flakeid.so";
for my $file (glob "$sharedir/extension/flakeid*") {
	copy($file, "$image/share/extension") or die "could not copy $file: $!";
}
my $control = "$image/share/extension/flakeid.control";
my $comment = 'flakeid, from the image';
my $changed = slurp_file($control) =~ s/^comment = .*$/comment = '$comment'/mr;
PostgreSQL::Test::Utils::append_to_file("$control.new", $changed);
rename "$control.new", $control or die "could not rename $control.new: $!";

my $node = PostgreSQL::Test::Cluster->new('image');
$node->init;
$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid'
extension_control_path = '$image/share:\$system'
dynamic_library_path = '$image/lib:\$libdir'
END
$node->start;

is( $node->safe_psql(
		'postgres', "SELECT comment FROM pg_available_extensions WHERE name = 'flakeid'"),
	$comment,
	'the control file in the folder comes before the installed one');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is( $node->safe_psql(
		'postgres',
		"SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'flakeid'"),
	$comment,
	'the extension is created from the control file in the folder');
like($node->safe_psql('postgres', 'SELECT flake_next()'),
	qr/^\d+$/, 'the extension from the folder generates IDs');

is_deeply([ libraries() ],
	["$image/lib/flakeid.so"], 'a session has the library of the folder, and no other');

# Preloaded, every session has it from the postmaster; else the functions bring it, by the name that
# they have.
is( $node->safe_psql(
		'postgres',
		"SELECT DISTINCT probin FROM pg_proc WHERE proname IN ('flake_next', 'sno_in', 'guid_cmp')"
	),
	'flakeid',
	'the functions name no folder');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is_deeply([ libraries() ],
	["$image/lib/flakeid.so"], 'a session without preloading has the library of the folder, too');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'");
$node->restart;
like($node->safe_psql('postgres', "SELECT sno_next(7) > sno_next(7)"),
	qr/^[tf]$/, 'IDs continue when the library is preloaded again');
$node->stop;
done_testing();

# What a session that has called a function maps under the library's name.
sub libraries {
	my $session = $node->background_psql('postgres');
	$session->query_safe('SELECT FROM flake_decode(1)');
	my @files = Installation::files_in($session);
	$session->quit;
	return @files;
}
