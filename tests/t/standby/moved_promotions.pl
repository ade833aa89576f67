# With flakeid.moved_state = 'error' a standby or a backup from before the first ID generates no IDs
# until an operator allows them, although its state names no other place.
use strict;
use warnings;
use lib 'tests/perl';

use Moves;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

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
