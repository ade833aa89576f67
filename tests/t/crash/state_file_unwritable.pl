# A state file that cannot be written: the gate stays, and sessions get the error until the cause is
# gone. What a failed or interrupted write left over does no harm.
use strict;
use warnings;
use lib 'tests/perl';

use Answers;
use FaultyDisk;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $disk = FaultyDisk->new;
my $node = PostgreSQL::Test::Cluster->new('unwritable');
$node->init;
$node->append_conf('postgresql.conf', <<~'CONF');
	shared_preload_libraries = 'flakeid'
	log_statement = none
	flakeid.horizon_lead = '200ms'
	CONF
{
	local %ENV = (%ENV, $disk->environment);
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
create_answers($node);
my $ledger = Ledger->new('unwritable');
my ($path, $directory) = (state_path($node), $node->data_dir . '/flakeid');

# the first state --------------------------------------------------------------------------------

my $new_directory = "$directory.new";
my $not_a_directory =
  qr/ERROR:  58030: could not create state file "flakeid\/state": Not a directory/;
my $elsewhere = PostgreSQL::Test::Utils::tempdir('elsewhere');
symlink $elsewhere, $new_directory or die "no link: $!";
like(error_of($node, 'SELECT flake_next()'),
	$not_a_directory, 'with a link instead of the new directory a session gets an error');
is(join(' ', glob "$elsewhere/*"), '', 'the server writes nothing where the link leads');
unlink $new_directory;
append_to_file($new_directory, '');
$ledger->none_generates($node, $not_a_directory,
	'where the first state file cannot be written no ID type generates IDs');
ok(!-e $directory, 'a failure to write the first state leaves no directory');
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT writes, written_at, failures > 0, last_failure FROM pg_stat_flakeid_horizon
	SQL
	'0||t|Not a directory',
	'the view counts failures before there is any ID');
unlink $new_directory;
mkdir $new_directory;
append_to_file("$new_directory/state.new", 'half of');
append_to_file("$new_directory/state", 'what was to be');
$ledger->use_all($node);
ok(!-e $new_directory, 'the server uses a new directory that an interrupted write left over');
is(state_of($node)->{flakeid_state}, 2, 'the server writes a good file into that directory');
$ledger->use_all($node);

# while the server runs --------------------------------------------------------------------------

my $session = session($node);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
my $name = qr/state file "flakeid\/state"/;

# How large the files may be that the session writes.
sub limit {
	my ($bytes) = @_;
	return system('prlimit', '--pid', $pid, "--fsize=$bytes:") == 0 || die 'no prlimit';
}

# What makes the file unwritable, the error, its reason, and what undoes it.
my %unwritable = (
	'a read-only directory' => [
		sub { chmod 0500, $directory },
		42501,
		'create',
		'Permission denied',
		sub { chmod 0700, $directory }
	],
	'a full disk' => [
		sub { $disk->becomes('full') },
		53100,
		'write',
		'No space left on device',
		sub { $disk->ends('full') }
	],
	'a directory in the place of the new file' =>
	  [ sub { mkdir "$path.new" }, 58030, 'create', 'Is a directory', sub { rmdir "$path.new" } ],
	'a limit to the size of files' =>
	  [ sub { limit(100) }, 58030, 'write', 'File too large', sub { limit('unlimited') } ]);
delete $unwritable{'a limit to the size of files'}
  if system('prlimit --pid $$ >/dev/null 2>&1') != 0;
my $asks = 2 * @ID_TYPES;
for my $what (sort keys %unwritable) {
	my ($make, $code, $action, $reason, $undo) = @{ $unwritable{$what} };
	my $text = state_text($node);
	my $until = until_of(state_of($node));
	my $failures = $node->safe_psql('postgres', 'SELECT failures FROM pg_stat_flakeid_horizon');
	$make->();
	my $last = time() + $PostgreSQL::Test::Utils::timeout_default;
	my (@answers, %given);
	do {
		@answers = answers_in($ledger, $session);
		/^00000 (\w+?)_next.* gave (.*)/ && push @{ $given{$1} }, $2 for @answers;
	} while (time() < $last && grep { /^00000/ } @answers);
	is((grep { /^$code could not $action $name: $reason/ } @answers),
		$asks, "with $what no ID type generates IDs at the gate, and the error says why")
	  or diag(join "\n", @answers);
	like(
		error_in($session, 'SELECT flake_next()'),
		qr/HINT:  Free space on the file system of the data directory\./,
		"the error of $what has a hint") if $code == 53100;
	is(state_text($node), $text, "with $what the state file is the old one");
	is($node->safe_psql('postgres', <<~"SQL"), "t|t|$reason", "the view counts failures of $what");
		SELECT failures >= $failures + $asks, failed_at BETWEEN written_at AND clock_timestamp(),
			last_failure
		FROM pg_stat_flakeid_horizon
		SQL
	$undo->();
	my @beyond = grep {
		my $ids = $given{ $_->{name} };
		$ids && (times_of($node, $_, @$ids))[1] >= $until
	} @ID_TYPES;
	is(join(' ', map { $_->{name} } @beyond), '', "with $what no ID is beyond the horizon");
	is((grep { /^00000/ } answers_in($ledger, $session)),
		$asks, "without $what all ID types generate IDs again");
	isnt(state_text($node), $text, "without $what the state file is a new one");
	ok(!-e "$path.new", "a write that failed by $what leaves nothing over");
}
$session->quit;

# at a stop --------------------------------------------------------------------------------------

# Such a stop leaves the horizon where it was.
chmod 0500, $directory;
my $end_of_log = -s $node->logfile;
$node->stop;
chmod 0700, $directory;
my $failure =
  qr/flakeid could not write its last horizon: could not create $name: Permission denied/;
like(
	slurp_file($node->logfile, $end_of_log),
	qr/LOG:  $failure/,
	'a stop that cannot write the state file says so in the log');
is(state_of($node)->{server}, 'running', 'after such a stop the horizon is as after a crash');
append_to_file("$path.new", 'half of a state file');
$node->start;
$ledger->use_all($node);
ok(!-e "$path.new", 'the server replaces a new state file that was left half written');
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();
