# What stands in the place of the state file, or of the new one that replaces it, and is no regular file: nothing
# waits for it, nothing reads it without an end, and nothing is written through a link.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(mkfifo);
use Server;
use StateFile;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('places');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nstatement_timeout = '${PostgreSQL::Test::Utils::timeout_default}s'\nlog_statement = none\nflakeid.horizon_lead = '1ms'\n"
);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is(error_of($node, 'SELECT flake_next()'), '', 'a server makes IDs');
$node->stop;

my $path = state_path($node);
my $data = $node->data_dir;
my $good = state_text($node);
my $dir = PostgreSQL::Test::Utils::tempdir('elsewhere');

# instead of the state ------------------------------------------------------------------------------------------

append_to_file("$dir/state", $good);
my $name = qr{state file "flakeid/state"};
my $no_file = qr/ERROR:  58030: could not read $name: it is not a regular file\n/;
my $link = qr/ERROR:  58030: could not read $name: it is a symbolic link\n/;
my %instead = (
	'a pipe' => [ sub { mkfifo($path, 0600) or die "no pipe: $!" }, $no_file ],
	'a link to a state file' => [ sub { symlink "$dir/state", $path }, $link ],
	'a link to an endless file' => [ sub { symlink '/dev/zero', $path }, $link ],
	'a very long file' => [
		sub {
			append_to_file($path, $good);
			truncate $path, 1 << 40
			  or die "could not truncate: $!";
		},
		qr/ERROR:  XX001: $name is damaged\nDETAIL:  The file is too long\./
	]);
for my $what (sort keys %instead) {
	my ($make, $error) = @{ $instead{$what} };
	unlink $path;
	$make->();
	my $end_of_log = -s $node->logfile;
	$node->start;
	$node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: [^\n]*$name/, $end_of_log);
	like(error_of($node, 'SELECT flake_next()'),
		$error, "$what instead of the state: a session that asks for an ID gets an error");
	like(error_of($node, 'SELECT sno_next()'),
		$error, '... and so does the next one, as no lock is held');
	unlike(error_of($node, 'SELECT flake_next()'),
		qr/\Q$data\E/, '... which does not name the data directory');
	$node->stop;
}
put_state($node, $good);
is(slurp_file("$dir/state"), $good, 'the file that a link led to is as it was');
$node->start;
is(error_of($node, 'SELECT flake_next()'), '', 'with its state file again the server makes IDs');

# instead of the new one ----------------------------------------------------------------------------------------

append_to_file("$dir/victim", 'not ours');
my %instead_of_new = (
	'a link to another file' => sub { symlink "$dir/victim", "$path.new" },
	'a link to nowhere' => sub { symlink "$dir/nowhere", "$path.new" },
	'another name of a file' => sub { link "$dir/victim", "$path.new" },
	'a pipe' => sub { mkfifo("$path.new", 0600) or die "no pipe: $!" });
for my $what (sort keys %instead_of_new) {
	my $before = state_of($node)->{written};
	my $writes = $node->safe_psql('postgres', 'SELECT writes FROM pg_stat_flakeid_horizon');
	$instead_of_new{$what}->();
	# The horizon's lead is short, but longer for some time after a slow write.
	$node->poll_query_until('postgres',
		"SELECT flake_next() > 0 AND (SELECT writes FROM pg_stat_flakeid_horizon) > $writes")
	  or die 'there are no IDs';
	is(error_of($node, 'SELECT flake_next()'),
		'', "$what instead of the new state file: there are IDs");
	isnt(state_of($node)->{written}, $before, '... the state file is a new one');
	ok(!-l $path && -f $path, '... and a regular file');
	ok(!-e "$path.new" && !-l "$path.new", '... with nothing left over');
	is(slurp_file("$dir/victim"), 'not ours', '... and the other file is as it was');
	ok(!-e "$dir/nowhere", '... nor is there one where a link led to nowhere');
}
$node->stop;

# instead of the new directory ----------------------------------------------------------------------------------

$node = PostgreSQL::Test::Cluster->new('new_directory');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
mkdir "$dir/other";
symlink "$dir/other", $node->data_dir . '/flakeid.new';
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  58030: could not create $name: Not a directory\n/,
	'a link instead of the new directory: a session that asks for an ID gets an error');
is(join(' ', glob "$dir/other/*"), '', '... and nothing is written where the link leads');
unlink $node->data_dir . '/flakeid.new';
is(error_of($node, 'SELECT flake_next()'), '', '... and without it there are IDs');
$node->stop;

done_testing();
