# A state names no place if the file flakeid/location is missing or damaged, or if recovery wrote
# it: on a standby and in a backup from before the first ID. Then it counts as moved. A server that
# cannot write the file logs that once.
use strict;
use warnings;
use lib 'tests/perl';

use File::Path qw(remove_tree);
use JSON::PP;
use Moves;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = server('node');
$node->safe_psql('postgres', 'SELECT flake_next()');
my $file = $node->data_dir . '/flakeid/location';
my %contents = (
	'no file' => undef,
	'an empty file' => '',
	'another document' => '{"flakeid_location": 2, "host": "a", "data_directory": "b"}',
	'a file of another kind' => "\0\1\2\377",
	'a file that is too long' => '[' x 70_000);

for my $what (sort keys %contents) {
	subtest "$what names no place" => sub {
		reload_with($node, moved_state => 'error');
		$node->stop;
		unlink $file;
		append_to_file($file, $contents{$what}) if defined $contents{$what};
		my $end_of_log = -s $node->logfile;
		$node->start;
		like(
			error_of($node, 'SELECT flake_next()'),
			qr/${REFUSAL}DETAIL:  $NO_PLACE\nHINT:  Make sure that the server in that place/,
			"with flakeid.moved_state = 'error' the server generates no IDs");
		reload_with($node, moved_state => 'log');
		is(error_of($node, 'SELECT flake_next()'), '', 'by default the server generates IDs');
		my $line = "LOG:  flakeid's state was last written in another place\n";
		my $beside = 'If that server still runs, both generate the same IDs\.';
		like(
			substr(slurp_file($node->logfile), $end_of_log),
			qr/${line}DETAIL:  $NO_PLACE $beside\n/,
			'the log has that the place is unknown');
		has_place($node, 1, 'the server writes its own place');
	};
}

subtest 'flakeid 0.7 has written the file, without the WAL timeline' => sub {
	reload_with($node, moved_state => 'error');
	$node->stop;
	my $location = location_of($node);
	delete $location->{wal_timeline};
	unlink $file;
	append_to_file($file, JSON::PP->new->encode($location));
	# There is nothing to replay, and a new WAL timeline.
	append_to_file($node->data_dir . '/recovery.signal', '');
	$node->append_conf('postgresql.conf', "restore_command = 'false'\n");
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	is(error_of($node, 'SELECT flake_next()'),
		'', 'the server generates IDs in its place, on any WAL timeline');
	has_place($node, 2, 'it adds its WAL timeline to the file');
};

subtest 'the server cannot write the file' => sub {
	reload_with($node, moved_state => 'log');
	$node->stop;
	unlink $file;
	mkdir $file or die "no directory: $!";
	append_to_file("$file/in_the_way", '');
	$node->start;
	is(error_of($node, 'SELECT flake_next() FROM generate_series(1, 10)'), '', 'it generates IDs');
	my $failure = qr/could not rename file "flakeid\/location"/;
	$node->wait_for_log(qr/LOG:  flakeid $failure: /);
	is(scalar(() = slurp_file($node->logfile) =~ /$failure/g), 1, 'its log has this once');
	$node->stop;
};

my $unknown = qr/${REFUSAL}DETAIL:  $NO_PLACE\n/;
my $origin = server('origin', "flakeid.moved_state = 'error'\n");
$origin->backup('young');
my $virgin = standby('virgin', $origin, 'young');
my $young = standby('young', $origin, 'young');

subtest 'a standby is promoted before the first ID' => sub {
	$origin->wait_for_catchup($virgin);
	$virgin->promote;
	like(error_of($virgin, 'SELECT flake_next()'),
		$unknown, 'it generates no IDs beside its primary');
	is_allowed($virgin, 'a standby that was promoted before the first ID');
	$virgin->stop;
};

subtest 'the files of a backup are from before the first ID, and its WAL has it' => sub {
	my $copied = $origin->backup_dir . '/copied';
	my $session = session($origin);
	$session->query_safe("SELECT pg_backup_start('copied', true)");
	PostgreSQL::Test::RecursiveCopy::copypath($origin->data_dir, $copied,
		filterfn => sub { $_[0] !~ m{^(?:log|postmaster\.(?:pid|opts)|pg_wal/.+)$} });
	is(error_of($origin, 'SELECT flake_next(), sno_next()'), '', 'a new server generates IDs');
	append_to_file("$copied/backup_label",
		$session->query_safe('SELECT labelfile FROM pg_backup_stop(false)') . "\n");
	$session->quit;
	rmdir "$copied/pg_wal" or die "could not remove $copied/pg_wal: $!";
	PostgreSQL::Test::RecursiveCopy::copypath($origin->data_dir . '/pg_wal',
		"$copied/pg_wal", filterfn => sub { $_[0] !~ m{^archive_status/} });
	my $restored = PostgreSQL::Test::Cluster->new('restored');
	$restored->init_from_backup($origin, 'copied');
	ok(!-e $restored->data_dir . '/flakeid', 'the backup has no state');
	$restored->start;
	is($restored->safe_psql('postgres', 'SELECT timeline_id FROM pg_control_checkpoint()'),
		1, 'a restored backup may stay on its WAL timeline');
	like(error_of($restored, 'SELECT flake_next()'),
		$unknown, 'it generates no IDs beside its origin');
	is_allowed($restored, 'a restored backup');
	$restored->stop;
};

subtest 'a standby from before the first ID is promoted' => sub {
	$origin->safe_psql('postgres', 'CREATE TABLE flushed ()');
	$origin->wait_for_catchup($young);
	$young->promote;
	like(error_of($young, 'SELECT flake_next()'),
		$unknown, 'it generates no IDs when it is promoted beside its primary');
	$young->restart;
	like(error_of($young, 'SELECT sno_next()'), $unknown, 'it generates no IDs after a restart');
	like(error_of($young, 'SELECT flakeid_accept_clock()'),
		$unknown, 'to accept the clock does not allow the place');
	is(error_of($origin, 'SELECT flake_next()'), '', 'the primary continues');
	is_allowed($young, 'a standby from before the first ID');
	has_place($young, 2, 'it has written its place and its WAL timeline');
	$young->stop;
};
$origin->stop;

done_testing();
