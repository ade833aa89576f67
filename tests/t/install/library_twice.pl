# The library is there twice: preloaded from another file than that of the SQL, or replaced while
# sessions without preloading have the old one. Only one of them generates IDs. Without preloading
# up to PostgreSQL 16 there are no IDs.
use strict;
use warnings;
use lib 'tests/perl';

use File::Basename qw(dirname);
use HeldIds;
use Installation;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my @id_types = map { $_->{name} } @ID_TYPES;
my ($version) = slurp_file('flakeid.control') =~ /^default_version = '([\d.]+)'$/m
  or die 'no version in flakeid.control';
my $older = '0.6.0';
my $place = Installation->new('twice');
my $node = PostgreSQL::Test::Cluster->new('twice', install_path => $place->{path});
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
create_tables($node);
is(insert_rows($node, 100), '', 'a server with one library generates IDs');

sub restart_with {
	my ($libraries) = @_;
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$libraries'");
	$node->restart;
	return;
}

# preloaded from another file ------------------------------------------------------------------

my $second = dirname($place->{library}) . '/flakeid-second.so';
$place->put_library_of($version, $older);
rename $place->{library}, $second or die "could not rename $place->{library}: $!";
$place->put_library;
restart_with($second);
my $build = '[0-9a-f]{16}';
my $loaded = "The loaded library is \Q$older\E\\+$build from another file";
my $another = qr/ERROR:  55000: another flakeid library is already loaded
.*DETAIL:  $loaded; this one is \Q$version\E\+$build\.\n.*HINT:  .*must name the same file/s;
like(error_of($node, "INSERT INTO ${_}s DEFAULT VALUES"),
	$another, "a server that preloads another file than that of the SQL generates no $_ IDs")
  for @id_types;
my $session = session($node);
like(error_in($session, 'SELECT sno_next()'), $another, "a session gets the error in call $_")
  for 1, 2;
is($session->query_safe('SELECT count(*) FROM flakes'), '100', 'the session continues');
$session->quit;
restart_with('flakeid');
is(insert_rows($node, 100), '', 'the server generates IDs with one library again');
is(held($node), of_each(200), 'no ID is lost or repeats between the libraries');
unlink $second;

# without preloading ---------------------------------------------------------------------------

# Each session loads the file that is there when it needs it.
restart_with('');
if ($place->{version} >= 17) {
	my $before = session($node);
	is(error_in($before, "INSERT INTO ${_}s DEFAULT VALUES"),
		'', "a session without preloading generates $_ IDs")
	  for @id_types;
	for my $other ($older, undef) {
		$place->put_library_of($version, $other);
		my ($new, $what) =
		  defined $other
		  ? ("\Q$other\E\\+$build", 'another version')
		  : ("\Q$version\E\\+0123456789abcdef", 'another build');
		my $active = "The active build is \Q$version\E\\+(?!0123456789abcdef)$build";
		my $different = qr/ERROR:  55000: a different build of flakeid is active on this server
.*DETAIL:  $active; this session has loaded $new\.\n.*HINT:  Restart the server/s;
		my $after = session($node);
		like(error_in($after, "INSERT INTO ${_}s DEFAULT VALUES"),
			$different, "a session that has loaded $what since generates no $_ IDs")
		  for @id_types;
		is($after->query_safe('SELECT count(sno_timestamp(id)) FROM snos'),
			'201', "a session that has loaded $what since reads IDs");
		$after->quit;
	}
	is(error_in($before, "INSERT INTO ${_}s DEFAULT VALUES"),
		'', "the first session continues to generate $_ IDs")
	  for @id_types;
	$before->quit;
	$node->restart;
	is(insert_rows($node, 98), '', 'after a restart all sessions use the new library');
	$place->put_library;
}
else {
	my $refused = 'flakeid must be loaded via "shared_preload_libraries" to generate IDs';
	like(
		insert_rows($node, 1),
		qr/ERROR:  55000: $refused\n/,
		'without preloading there are no IDs');
	restart_with('flakeid');
	is(insert_rows($node, 100), '', 'with preloading there are IDs again');
}
restart_with('flakeid');
is(held($node), of_each(300), 'no ID is lost or repeats with and without preloading');
$node->stop;

done_testing();
