# What is no regular file in the place of the state file, or of the new one that replaces it: the
# server does not wait for it, reads it with a limit, and writes through no link. If the directory
# flakeid is a link, the server generates no IDs: pg_basebackup leaves a link out, and a copy
# without it could repeat IDs.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use POSIX qw(mkfifo);
use Server;
use StateFile;
use Test::More;

my $node = flakeid_server('places', <<~"CONF", allows_streaming => 1);
	statement_timeout = '${PostgreSQL::Test::Utils::timeout_default}s'
	log_statement = none
	flakeid.horizon_lead = '1ms'
	CONF
my $last = $node->safe_psql('postgres', 'SELECT flake_next()');
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

# a link instead of the directory ---------------------------------------------------------------

my $directory = "$data/flakeid";
my $elsewhere = "$dir/flakeid";
my $message = qr/the directory "flakeid" in the data directory is a symbolic link/;
my $linked = qr/ERROR:  55000: $message\n/;

sub link_it {
	rename $directory, $elsewhere  or die "could not rename $directory: $!";
	symlink $elsewhere, $directory or die "could not link $directory: $!";
	return;
}

# As the HINT says.
sub move_it_back {
	unlink $directory             or die "could not remove $directory: $!";
	rename $elsewhere, $directory or die "could not rename $elsewhere: $!";
	return;
}

link_it();
my $state = state_text($node);
$node->start;
$node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $message/);
pass('a server that starts with a linked directory says so in its log');
my $why = 'pg_basebackup and pg_rewind leave a link out\.'
  . ' A server without the state file could generate IDs that are in its tables\.';
my $move = 'move the directory that it leads to into its place';
my $remedy = "HINT:  Stop the server, remove the link, $move, and start the server\\.\n";
like(
	error_of($node, 'SELECT flake_next()'),
	qr/${linked}DETAIL:  $why\n$remedy/,
	'a server with a linked directory generates no IDs, and says why and what to do');
like(error_of($node, $_), $linked, "with a linked directory $_ is an error")
  for 'SELECT sno_next()', 'SELECT flakeid_watermark()', 'SELECT flakeid_accept_clock()';
$node->stop;
is(state_text($node), $state, 'nothing was written through the link');

# A copy of such a server has no state.
$node->start;
$node->backup('base');
ok(!-e $node->backup_dir . '/base/flakeid', 'pg_basebackup leaves the link out');
$node->stop;
move_it_back();
$node->start;
is($node->safe_psql('postgres', "SELECT flake_next() > $last"),
	't', 'with the directory back in its place there are IDs, above those before');
$node->backup('whole');
ok(-f $node->backup_dir . '/whole/flakeid/state', 'pg_basebackup takes the directory along');

# Other links.
$node->stop;
link_it();
rename $elsewhere, "$elsewhere.away" or die "could not rename $elsewhere: $!";
$node->start;
like(error_of($node, 'SELECT flake_next()'), $linked, 'a link that leads nowhere gives no IDs');
$node->stop;
rename "$elsewhere.away", $elsewhere or die "could not rename $elsewhere.away: $!";
move_it_back();

# The gate is at the clock, so the next write comes soon.
$node->start;
is(error_of($node, 'SELECT flake_next()'), '', 'a server generates IDs');
link_it();
like(error_becomes($node, 'SELECT flake_next()', $linked),
	$linked,
	'a server whose directory becomes a link generates no more IDs when its horizon has passed');
move_it_back();
ok( $node->poll_query_until('postgres', 'SELECT flake_next() > 0'),
	'with the directory back in its place it generates IDs again');
$node->stop;

done_testing();
