# What is no regular file in the place of the state file, or of the new one that replaces it: the
# server does not wait for it, reads it with a limit, and writes through no link.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(mkfifo);
use Server;
use StateFile;
use Test::More;

my $node = flakeid_server('places', <<~"CONF");
	statement_timeout = '${PostgreSQL::Test::Utils::timeout_default}s'
	log_statement = none
	flakeid.horizon_lead = '1ms'
	CONF
is(error_of($node, 'SELECT flake_next()'), '', 'a server generates IDs');
$node->stop;

my $path = state_path($node);
my $data = $node->data_dir;
my $good = state_text($node);
my $dir = PostgreSQL::Test::Utils::tempdir('elsewhere');

# instead of the state ---------------------------------------------------------------------------

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
		$error, "with $what instead of the state a session gets an error");
	like(error_of($node, 'SELECT sno_next()'),
		$error,
		"with $what instead of the state the next session gets an error, as no lock is held");
	unlike(error_of($node, 'SELECT flake_next()'),
		qr/\Q$data\E/,
		"with $what instead of the state the error does not name the data directory");
	$node->stop;
}
put_state($node, $good);
is(slurp_file("$dir/state"), $good, 'the server leaves the file that a link leads to');
$node->start;
is(error_of($node, 'SELECT flake_next()'), '',
	'with its state file again the server generates IDs');

# instead of the new one -------------------------------------------------------------------------

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
		'', "with $what instead of the new file there are IDs");
	isnt(state_of($node)->{written},
		$before, "with $what instead of the new file the state file is a new one");
	ok(!-l $path && -f $path,
		"with $what instead of the new file the state file is a regular file");
	ok(!-e "$path.new" && !-l "$path.new",
		"with $what instead of the new file nothing is left over");
	is(slurp_file("$dir/victim"),
		'not ours', "with $what instead of the new file the server leaves the other file");
	ok(!-e "$dir/nowhere",
		"with $what instead of the new file the server creates no file elsewhere");
}
$node->stop;

# instead of the new directory -------------------------------------------------------------------

$node = flakeid_server('new_directory');
mkdir "$dir/other";
symlink "$dir/other", $node->data_dir . '/flakeid.new';
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  58030: could not create $name: Not a directory\n/,
	'with a link instead of the new directory a session gets an error');
is(join(' ', glob "$dir/other/*"), '', 'the server writes nothing where the link leads');
unlink $node->data_dir . '/flakeid.new';
is(error_of($node, 'SELECT flake_next()'), '', 'without the link there are IDs');
$node->stop;

done_testing();
