# With flakeid.moved_state = 'error' no server that was promoted or copied generates IDs before an operator allows it, also
# if the state does not name another place: a standby from before the first ID, a former primary, a restored backup.
use strict;
use warnings;
use lib 'tests/perl';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use Sys::Hostname qw(hostname);
use Test::More;

my $refusal = qr/ERROR:  55000: the state file may be of another server\n/;
my $no_place =
  qr/${refusal}DETAIL:  It does not name the host and the data directory of its server: recovery wrote it, or the file "flakeid\/location" was lost\.\n/;
my $host = quotemeta hostname();

sub location_of {
	my ($node) = @_;
	return JSON::PP->new->decode(slurp_file($node->data_dir . '/flakeid/location'));
}

# What an operator does who has looked; afterwards the server asks again at the next move.
sub is_allowed {
	my ($node, $what) = @_;
	reload_with($node, moved_state => 'log');
	is(error_of($node, 'SELECT flake_next(), guid_next()'),
		'', "$what generates IDs when it is allowed");
	reload_with($node, moved_state => 'error');
	$node->restart;
	is(error_of($node, 'SELECT flake_next()'), '', "$what also generates IDs after a restart");
	return;
}

# A standby of a server, from a backup of it.
sub standby {
	my ($name, $of, $backup) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($of, $backup, has_streaming => 1);
	$node->start;
	return $node;
}

# before the first ID ------------------------------------------------------------------------------------------------

my $origin = PostgreSQL::Test::Cluster->new('origin');
$origin->init(allows_streaming => 1);
$origin->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.moved_state = 'error'\nwal_log_hints = on\nautovacuum = off\nlog_line_prefix = ''\n"
);
$origin->start;
$origin->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$origin->backup('young');
my $virgin = standby('virgin', $origin, 'young');
my $young = standby('young', $origin, 'young');
$origin->wait_for_catchup($virgin);
$virgin->promote;
like(error_of($virgin, 'SELECT flake_next()'),
	$no_place, 'a standby that was promoted before the first ID generates none beside its primary');
is_allowed($virgin, 'a standby that was promoted before the first ID');
$virgin->stop;

# A backup whose files are from before the first ID, and whose WAL has it.
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
ok(!-e $restored->data_dir . '/flakeid', 'the files of the backup are from before the first ID');
$restored->start;
is($restored->safe_psql('postgres', 'SELECT timeline_id FROM pg_control_checkpoint()'),
	1, 'a restored backup may stay on its WAL timeline');
like(error_of($restored, 'SELECT flake_next()'),
	$no_place, 'a restored backup from before the first ID generates none beside its origin');
is_allowed($restored, 'a restored backup');
$restored->stop;

# a standby from before the first ID ---------------------------------------------------------------------------------------

$origin->backup('later');
my $next = standby('next', $origin, 'later');
$origin->safe_psql('postgres', 'CREATE TABLE flushed ()');
$origin->wait_for_catchup($young);
$young->promote;
like(error_of($young, 'SELECT flake_next()'),
	$no_place,
	'a standby from before the first ID generates none when it is promoted beside its primary');
$young->restart;
like(error_of($young, 'SELECT sno_next()'),
	$no_place, 'a standby from before the first ID generates none after a restart');
like(error_of($young, 'SELECT flakeid_accept_clock()'),
	$no_place, 'to accept the clock does not allow the place');
is(error_of($origin, 'SELECT flake_next()'), '', 'the primary continues');
is_allowed($young, 'a standby from before the first ID');
is_deeply(
	location_of($young),
	{
		flakeid_location => 1,
		host => hostname(),
		data_directory => $young->data_dir,
		wal_timeline => 2
	},
	'the promoted server has written its place and its WAL timeline');
$young->stop;

# a primary that comes back as a standby -----------------------------------------------------------------------------------

$origin->stop;
$next->promote;
like(error_of($next, 'SELECT flake_next()'), $refusal, 'a standby is promoted in a switchover');
is_allowed($next, 'the new primary');
$origin->enable_streaming($next);
$origin->start;
$next->safe_psql('postgres', 'CREATE TABLE of_next ()');
$next->wait_for_catchup($origin);
is(location_of($origin)->{wal_timeline},
	1, 'a primary that has become a standby still has its own place, and its old timeline');
my $end_of_log = -s $origin->logfile;
$origin->promote;
like(
	error_of($origin, 'SELECT flake_next()'),
	qr/${refusal}DETAIL:  It was last written here on WAL timeline 1\. The server was promoted or recovered since, and is on WAL timeline 3\.\n/,
	'a former primary generates no IDs when it is promoted again beside the new primary');
is(error_of($next, 'SELECT flake_next()'), '', 'the new primary continues');
is_allowed($origin, 'a former primary');
like(
	substr(slurp_file($origin->logfile), $end_of_log),
	qr/^LOG:  flakeid's state was last written in another place\nDETAIL:  It was last written here on WAL timeline 1\. The server was promoted or recovered since, and is on WAL timeline 3\. If another server went on from there and still runs, both generate the same IDs\.\n/m,
	'the log of a former primary says that it was promoted again');

# pg_rewind --------------------------------------------------------------------------------------------------------------------

$origin->stop;
my $configuration = slurp_file($origin->data_dir . '/postgresql.conf');
$next->safe_psql('postgres', 'CHECKPOINT');
command_ok([ 'pg_rewind', '-D', $origin->data_dir, '--source-server', $next->connstr('postgres') ],
	'pg_rewind');
is(location_of($origin)->{data_directory},
	$next->data_dir, 'pg_rewind takes the place of its source');
unlink $origin->data_dir . '/postgresql.conf';
append_to_file($origin->data_dir . '/postgresql.conf', $configuration);
$origin->set_standby_mode;
$origin->start;
$next->safe_psql('postgres', 'CREATE TABLE after_rewind ()');
$next->wait_for_catchup($origin);
$origin->promote;
my ($here, $there) = map { quotemeta $_->data_dir } $origin, $next;
like(
	error_of($origin, 'SELECT flake_next()'),
	qr/${refusal}DETAIL:  It was last written on host "$host" in "$there"\. This is host "$host" and "$here"\.\n/,
	'a server that was rewound and promoted generates no IDs beside its source');
$origin->stop;

# recovery in place ------------------------------------------------------------------------------------------------------------

# There is nothing to replay.
$next->stop;
append_to_file($next->data_dir . '/recovery.signal', '');
$next->append_conf('postgresql.conf', "restore_command = 'false'\n");
$next->start;
$next->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'recovery does not end';
like(
	error_of($next, 'SELECT flake_next()'),
	qr/${refusal}DETAIL:  It was last written here on WAL timeline 2\. /,
	'a server that was recovered in its place generates no IDs, as its backup may be of another one'
);
is_allowed($next, 'a recovered server');

# a file of 0.7 ----------------------------------------------------------------------------------------------------------------

$next->stop;
{
	my $location = location_of($next);
	delete $location->{wal_timeline};
	my $file = $next->data_dir . '/flakeid/location';
	unlink $file;
	append_to_file($file, JSON::PP->new->encode($location));
}
$next->start;
is(error_of($next, 'SELECT flake_next()'),
	'', 'a server that 0.7 wrote the file of generates IDs in its place, on any WAL timeline');
ok(location_of($next)->{wal_timeline} > 2, 'it adds its WAL timeline to the file');
$next->stop;

done_testing();
