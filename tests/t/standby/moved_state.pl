# If the state was last written on another host or in another data directory, the server logs that
# at each start until it writes the state itself. With flakeid.moved_state = 'error' it generates no
# IDs until an operator allows them.
use strict;
use warnings;
use lib 'tests/perl';

use File::Path qw(remove_tree);
use Moves;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Successors;
use Test::More;

my $line = "LOG:  flakeid's state was last written in another place\n";
my $origin = server('origin');
$origin->safe_psql('postgres', 'CREATE ROLE ordinary');

# Tests that a server generates IDs. Afterwards its log has the line if it will have it.
sub generates {
	my ($node, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(error_of($node, 'SELECT flake_next(), guid_next()'), '', $test);
}

sub log_from {
	my ($node, $offset) = @_;
	return substr slurp_file($node->logfile), $offset;
}

subtest 'the server that wrote the state' => sub {
	generates($origin, 'a new server generates IDs');
	has_place($origin, 1, 'it writes its place beside the state');
	my $end_of_log = -s $origin->logfile;
	$origin->restart;
	generates($origin, 'it generates IDs after a restart');
	$origin->stop('immediate');
	$origin->start;
	generates($origin, 'it generates IDs after a crash');
	unlike(log_from($origin, $end_of_log), qr/$line/, 'its log has nothing of another place');
};

subtest 'the directory of the state is removed' => sub {
	remove_tree($origin->data_dir . '/flakeid');
	my $end_of_log = -s $origin->logfile;
	# The gate opens for the next horizon when the state is on disk again.
	ok($origin->poll_query_until('postgres', <<~'SQL'), 'the server writes the state again');
		SELECT flake_next() > 0 AND (pg_stat_file('flakeid/state', true)).size > 0
		SQL
	my $removed = qr/LOG:  the directory "flakeid" was removed from the data directory while the/;
	ok($origin->wait_for_log($removed, $end_of_log), 'the log has that the directory was removed');
	unlike(log_from($origin, $end_of_log), qr/$line/, 'the log has nothing of another place');
	$origin->restart;
	generates($origin, 'the server generates IDs after a restart');
};

$origin->backup('base');
subtest 'a copy' => sub {
	my $copy = PostgreSQL::Test::Cluster->new('copy');
	$copy->init_from_backup($origin, 'base');
	$copy->start;
	$copy->wait_for_log(qr/$line/);
	my $beside = 'If the server in that place still runs, both generate the same IDs\.';
	like(
		slurp_file($copy->logfile),
		qr/${line}DETAIL:  ${\ written_in($origin, $copy)} $beside\n/,
		'it logs where the state was last written, and where it is');
	my $end_of_log = -s $copy->logfile;
	$copy->restart;
	ok($copy->wait_for_log(qr/$line/, $end_of_log),
		'it logs this again at the next start, as it has generated no IDs');
	generates($copy, 'it generates IDs by default');
	has_place($copy, 1, 'it makes its place that of the state');
	$end_of_log = -s $copy->logfile;
	$copy->restart;
	generates($copy, 'it generates IDs after a restart');
	unlike(log_from($copy, $end_of_log), qr/$line/, 'its log has no more of the other place');
	$copy->stop;
};

subtest 'a recovery without hot standby' => sub {
	my $node = PostgreSQL::Test::Cluster->new('recovered');
	$node->init_from_backup($origin, 'base', has_streaming => 1);
	my $lsn = $origin->lsn('insert');
	$node->append_conf('postgresql.conf', <<~"END");
		hot_standby = off
		recovery_target_lsn = '$lsn'
		recovery_target_action = 'promote'
		END
	$origin->safe_psql('postgres', 'SELECT flake_next(); CREATE TABLE past_the_target ()');
	$node->start;
	ok($node->wait_for_log(qr/$line/), 'it logs where the state was last written, and writes it');
	recovery_ends($node);
	$node->stop;
};

subtest "a standby with flakeid.moved_state = 'error' is promoted" => sub {
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($origin, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "flakeid.moved_state = 'error'\n");
	$standby->start;
	ok($standby->wait_for_log(qr/$line/), 'it logs at its start where the state was last written');
	$origin->stop;
	$standby->promote;
	my $hint = 'HINT:  Make sure that the server in that place is stopped, or that this one has'
	  . ' other generator IDs\. Then set "flakeid\.moved_state" to "log" and reload';
	my $error = error_of($standby, 'SELECT flake_next()');
	like($error, $REFUSAL, 'it generates no IDs');
	like(
		$error,
		qr/DETAIL:  ${\ written_in($origin, $standby)}/,
		'the error tells a superuser both places');
	like($error, qr/$hint/, 'the hint has what to do');
	$error = error_of($standby, 'SET SESSION AUTHORIZATION ordinary; SELECT sno_next(0)');
	like($error, $REFUSAL, 'an ordinary user gets the error, too');
	unlike($error, qr/${\ quotemeta $origin->data_dir}/, 'an ordinary user is told no places');
	like(error_of($standby, 'SELECT flakeid_accept_clock()'),
		$REFUSAL, 'to accept the clock does not allow the place');
	$standby->restart;
	like(error_of($standby, 'SELECT guid_next()'), $REFUSAL, 'a restart does not allow the place');
	reload_with($standby, moved_state => 'LOG');
	generates($standby, 'with "log" it generates IDs after a reload');
	is(location_of($standby)->{data_directory},
		$standby->data_dir, 'it makes its place that of the state');
	reload_with($standby, moved_state => 'error');
	$standby->restart;
	generates($standby, 'with "error" it then continues after a restart');
	like(
		error_of($standby, "ALTER SYSTEM SET flakeid.moved_state = 'never'"),
		qr/ERROR:  22023: .*moved_state.*\nDETAIL:  "never" is neither "log" nor "error"\./,
		'another value is refused');
	$standby->stop;
};

done_testing();
