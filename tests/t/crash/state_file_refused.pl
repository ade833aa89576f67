# A state file that a running or starting server cannot use: the error says why. A superuser can
# accept the clock in place of a file that is lost or foreign, and only then.
use strict;
use warnings;
use lib 'tests/perl';

use Answers;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $second = 1_000_000_000;    # nanoseconds
my $node = flakeid_server('refused', <<~'CONF');
	log_statement = none
	flakeid.epoch = '2010-01-01'
	CONF
create_answers($node);
my $ledger = Ledger->new('refused');
$ledger->use_all($node);
$node->stop;
my ($path, $directory) = (state_path($node), $node->data_dir . '/flakeid');
my $good = state_text($node);
my $identifier = state_of($node)->{system_identifier};

# Changes the good file by a function of its fields. Returns the text.
sub changed {
	my ($change) = @_;
	put_state($node, $good);
	rewrite_state($node, $change);
	return state_text($node);
}
my $newer = changed(sub { $_[0]{flakeid_state} = 3 });
my $foreign = changed(sub { $_[0]{system_identifier} = '4711' });

# What makes something else of the file or its directory, what the server says, and what undoes it
# beyond putting another file in its place.
my $name = qr/state file "flakeid\/state"/;
my $denied = qr/could not read $name: Permission denied/;
my %other = (
	'a file of a later version' => [
		sub { put_state($node, $newer) },
		'55000', qr/$name has version 3, which this flakeid cannot read/
	],
	'a file of another cluster' =>
	  [ sub { put_state($node, $foreign) }, '55000', qr/$name is from a different cluster/ ],
	'an empty file' => [ sub { put_state($node, '') }, 'XX001', qr/$name is damaged/ ],
	'no file' => [ sub { unlink $path }, '58P01', qr/$name is missing/ ],
	'a link to nowhere' => [
		sub { unlink $path; symlink 'nowhere', $path },
		'58030',
		qr/could not read $name: it is a symbolic link/
	],
	'a directory' => [
		sub { unlink $path; mkdir $path },
		'58030',
		qr/could not read $name: Is a directory/,
		sub { rmdir $path }
	],
	'an unreadable file' => [ sub { put_state($node, $good); chmod 0, $path }, '42501', $denied ],
	'an unreadable directory' => [
		sub { put_state($node, $good); chmod 0, $directory }, '42501',
		$denied, sub { chmod 0700, $directory }
	],
	'a file as its directory' => [
		sub { rename $directory, "$directory.aside"; append_to_file($directory, '') },
		'58030',
		qr/could not read $name: Not a directory/,
		sub { unlink $directory; rename "$directory.aside", $directory }
	]);

# while the server runs --------------------------------------------------------------------------

put_state($node, '');
my $end_of_log = -s $node->logfile;
$node->start;
# The worker that opens the state has read this file. It would also open the good one, which is in
# place for a moment below.
$node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $name is damaged/, $end_of_log);
my $session = session($node);
for my $what (sort keys %other) {
	my ($make, $code, $message, $undo) = @{ $other{$what} };
	$make->();
	like(
		answer_in($ledger, $session),
		qr/\A$code $message/,
		"with $what no ID type generates IDs, and the error says why");
	$undo->() if $undo;
	put_state($node, '');
	like(
		answer_in($ledger, $session),
		qr/\AXX001 $name is damaged\z/,
		"the good file that was there before $what does not count");
}
put_state($node, $foreign);
like(
	error_in($session, 'SELECT sno_next()'),
	qr/DETAIL:  The file has the system identifier 4711, and this server has $identifier\./,
	'the error names the other cluster');
is($session->query_safe(<<~'SQL'), 't|0', 'without a state file the server decodes IDs');
	SELECT flake_timestamp(flake_min('2026-01-01')) = '2026-01-01',
		(sno_decode(sno_min('2026-01-01'))).meta
	SQL
$session->quit;
put_state($node, $good);

# at a start -------------------------------------------------------------------------------------

# A lost or foreign file is either put right, or a superuser accepts the clock.
my @lost = ('a file of another cluster', 'an empty file', 'no file');
my @there = ('a file of a later version', 'a directory', 'an unreadable file');
for my $start ((map { [ $_, 0 ] } @there, @lost), map { [ $_, 1 ] } @lost) {
	my ($what, $is_accepted) = @$start;
	my ($make, $code, $message, $undo) = @{ $other{$what} };
	my $refusal = qr/ERROR:  $code: $message/;
	$node->stop;
	$good = state_text($node);
	# IDs of the other cluster go up to a moment from now.
	my $begin = int(time() * 1000) * 1_000_000;
	my $ahead = $begin + 2 * $second;
	$foreign = changed(
		sub {
			my ($state) = @_;
			$state->{system_identifier} = '4711';
			$state->{until} = instant($ahead);
			$state->{tick_tock_until} = [ instant($ahead), instant($ahead) ];
		});
	put_state($node, $good);
	$make->();
	$end_of_log = -s $node->logfile;
	$node->start;
	ok($node->wait_for_log(qr/LOG:  flakeid cannot generate IDs: $message/, $end_of_log),
		"at a start with $what the log says why there are no IDs");
	$ledger->none_generates($node, $refusal, "after a start with $what no ID type generates IDs");
	if (!$is_accepted) {
		if (grep { $_ eq $what } @there) {
			like(error_of($node, 'SELECT flakeid_accept_clock()'),
				$refusal, "a superuser cannot accept the clock with $what");
			$ledger->none_generates($node, $refusal,
				"after a refused call with $what no ID type generates IDs");
		}
		$undo->() if $undo;
		put_state($node, $good);
		$ledger->use_all($node);
		next;
	}
	is(error_of($node, 'SELECT flakeid_accept_clock()'),
		'', "a superuser can accept the clock with $what");
	is(state_of($node)->{system_identifier},
		$identifier, "after that the server with $what has a state file of its cluster");
	my %given = $ledger->all_generate($node, "after that all ID types generate IDs with $what");
	my $from = $what eq 'a file of another cluster' ? $ahead : $begin;
	my @before = grep {
		(times_of($node, $_, @{ $given{ $_->{name} } }))[0] <
		  ($from == $ahead ? $from : $from - $_->{tick})
	} @ID_TYPES;
	is(join(' ', map { $_->{name} } @before), '', "IDs begin after all that is known with $what");
	like(
		error_of($node, 'SELECT flakeid_accept_clock()'),
		qr/NOTICE:  .*there is nothing to accept/,
		"a superuser accepts the clock once with $what");
}
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();
