# With flakeid.moved_state = 'error' a server generates no IDs on another WAL timeline than that of
# its state, until an operator allows them: a former primary, a server after pg_rewind, and one that
# was recovered in its place.
use strict;
use warnings;
use lib 'tests/perl';

use Moves;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

# Returns the pattern of a detail.
sub on_timeline {
	my ($then, $now) = @_;
	return "It was last written here on WAL timeline $then\\. The server was promoted or recovered"
	  . " since, and is on WAL timeline $now\\.";
}

my $origin = server('origin', "flakeid.moved_state = 'error'\nwal_log_hints = on\n");
$origin->safe_psql('postgres', 'SELECT flake_next()');
$origin->backup('backup');
my $next = standby('next', $origin, 'backup');

subtest 'a primary becomes a standby, and is promoted again' => sub {
	# A stopping primary sends the rest of its WAL only to a standby that is connected.
	$origin->wait_for_catchup($next);
	$origin->stop;
	$next->promote;
	like(error_of($next, 'SELECT flake_next()'),
		$REFUSAL, 'a standby that is promoted in a switchover generates no IDs');
	is_allowed($next, 'the new primary');
	$origin->enable_streaming($next);
	$origin->start;
	$next->safe_psql('postgres', 'CREATE TABLE of_next ()');
	$next->wait_for_catchup($origin);
	is(location_of($origin)->{wal_timeline},
		1, 'the former primary has its own place and its old WAL timeline');

	my $end_of_log = -s $origin->logfile;
	$origin->promote;
	my $detail = on_timeline(1, 3);
	like(
		error_of($origin, 'SELECT flake_next()'),
		qr/${REFUSAL}DETAIL:  $detail\n/,
		'promoted again, it generates no IDs beside the new primary');
	is(error_of($next, 'SELECT flake_next()'), '', 'the new primary continues');
	is_allowed($origin, 'a former primary');
	my $line = "LOG:  flakeid's state was last written in another place\n";
	my $beside =
	  'If another server went on from there and still runs, both generate the same IDs\.';
	like(
		substr(slurp_file($origin->logfile), $end_of_log),
		qr/^${line}DETAIL:  $detail $beside\n/m,
		'its log has that it was promoted again');
	$origin->stop;
};

subtest 'a server is rewound and promoted' => sub {
	my $configuration = slurp_file($origin->data_dir . '/postgresql.conf');
	$next->safe_psql('postgres', 'CHECKPOINT');
	my @source = ('--source-server', $next->connstr('postgres'));
	command_ok([ 'pg_rewind', '-D', $origin->data_dir, @source ], 'pg_rewind succeeds');
	is(location_of($origin)->{data_directory},
		$next->data_dir, 'pg_rewind takes the place of its source');
	unlink $origin->data_dir . '/postgresql.conf';
	append_to_file($origin->data_dir . '/postgresql.conf', $configuration);
	$origin->set_standby_mode;
	$origin->start;
	$next->safe_psql('postgres', 'CREATE TABLE after_rewind ()');
	$next->wait_for_catchup($origin);
	$origin->promote;
	like(
		error_of($origin, 'SELECT flake_next()'),
		qr/${REFUSAL}DETAIL:  ${\ written_in($next, $origin)}\n/,
		'it generates no IDs beside its source');
	$origin->stop;
};

# The backup from which it is recovered may be of another server. There is nothing to replay.
subtest 'a server is recovered in its place' => sub {
	$next->stop;
	append_to_file($next->data_dir . '/recovery.signal', '');
	$next->append_conf('postgresql.conf', "restore_command = 'false'\n");
	$next->start;
	recovery_ends($next);
	like(
		error_of($next, 'SELECT flake_next()'),
		qr/${REFUSAL}DETAIL:  ${\ on_timeline(2, '\d+')}/,
		'it generates no IDs');
	is_allowed($next, 'a recovered server');
	$next->stop;
};

done_testing();
