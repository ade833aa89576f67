# If the directory flakeid is a link the server generates no IDs: pg_basebackup leaves a link out,
# and a copy without it could repeat IDs. The error says how to move the directory back.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $node = flakeid_server('linked', "flakeid.horizon_lead = '1ms'\n", allows_streaming => 1);
my $last = $node->safe_psql('postgres', 'SELECT flake_next()');
my $directory = $node->data_dir . '/flakeid';
my $elsewhere = PostgreSQL::Test::Utils::tempdir('elsewhere') . '/flakeid';
my $linked = qr/ERROR:  55000: the directory "flakeid" in the data directory is a symbolic link\n/;

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

# a server that starts with a link ---------------------------------------------------------------

$node->stop;
link_it();
my $state = state_text($node);
$node->start;
my $link = qr/the directory "flakeid" in the data directory is a symbolic link/;
$node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $link/);
pass('a server that starts with a linked directory says so in its log');
my $error = error_of($node, 'SELECT flake_next()');
like($error, $linked, 'a server with a linked directory generates no IDs');
my $leave = 'pg_basebackup and pg_rewind leave a link out\.';
my $could = 'A server without the state file could generate IDs that are in its tables\.';
like($error, qr/DETAIL:  $leave $could\n/, 'the error says why');
my $move = 'move the directory that it leads to into its place';
like(
	$error,
	qr/HINT:  Stop the server, remove the link, $move, and start the server\.\n/,
	'the error says what to do');
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

# other links ------------------------------------------------------------------------------------

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
