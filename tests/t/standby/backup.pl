# A server that begins from a backup, by itself or with recovery from an archive to a point in time, makes
# no ID again that it has, on any clock; and the state file in a backup is whole.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedNode;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);

my @id_types = map { $_->{name} } @ID_TYPES;

# The copies' clock is the real one; that of the server they come from is ahead by this many seconds.
my $ahead = 3600;

my $primary = PostgreSQL::Test::Cluster->new('origin');
$primary->init(allows_streaming => 1, has_archiving => 1);
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '3'
flakeid.max_clock_wait = '100ms'
shared_buffers = '16MB'
autovacuum = off
log_statement = none
# For ten sessions that make IDs, a backup, and the test.
max_connections = 30
# Its own worker is not needed.
max_worker_processes = 0
END
my $clock = FakedNode->new($primary);
$clock->step(-7200);
$clock->start;
create_tables($primary);
$primary->safe_psql('postgres', "INSERT INTO ${_}s DEFAULT VALUES") for @id_types;
$clock->step($ahead);

sub make {
	$primary->safe_psql('postgres', join "\n",
		map { "INSERT INTO ${_}s (nr) SELECT generate_series(1, 2000);" } @id_types);
	return;
}

# IDs that are made, each committed, until the handle is finished: of every ID type up to 200 a second. Returns when
# there are some of every ID type.
sub load {
	my $made = sub {
		split /\|/,
		  $primary->safe_psql(
			'postgres',
			'SELECT ' . join ', ',
			map { "(SELECT count(*) FROM ${_}s)" } @id_types);
	};
	my @before = $made->();
	my $script = PostgreSQL::Test::Utils::tempdir('load') . '/load';
	append_to_file("$script.$_", "INSERT INTO ${_}s DEFAULT VALUES;\n") for @id_types;
	my @load = map {
		IPC::Run::start(
			[
				'pgbench', '-n', '-c', 2, '-R', 200, '-T', 3600, '-f', "$script.$_",
				$primary->connstr('postgres')
			],
			'>',
			\my $out,
			'2>',
			\my $error,
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default))
	} @id_types;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	for (;;) {
		my @now = $made->();
		return @load unless grep { $now[$_] == $before[$_] } 0 .. $#id_types;
		die 'no IDs are made' if time() > $until;
		sleep 0.05;
	}
}

# A server of its own from a backup, and its clock.
sub copy {
	my ($name, $backup, $configuration, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, $backup, %how);
	$node->append_conf('postgresql.conf', "archive_mode = off\n$configuration");
	return ($node, FakedNode->new($node));
}

# At the moments when the last IDs were made that it has, a server makes none of them, which are keys; sno
# may go on in the other of its timelines. Later it does.
sub makes_none_again {
	my ($node, $clock, $what, $seconds, $turns) = @_;
	my $asked = 'INSERT INTO %ss SELECT FROM generate_series(1, 100)';
	my $session = session($node);
	$session->query_safe("SET statement_timeout TO '${PostgreSQL::Test::Utils::timeout_default}s'");
	for my $id_type (@id_types) {
		my ($count, @moments) = split /\|/, $session->query_safe(<<"SQL");
SELECT count(*), extract(epoch FROM max(at)), extract(epoch FROM percentile_disc(0.99) WITHIN GROUP (ORDER BY at)),
	extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY at)), extract(epoch FROM min(at))
FROM (SELECT ${id_type}_timestamp(id) AS at FROM ${id_type}s) AS made WHERE at > (SELECT min(${id_type}_timestamp(id)) FROM ${id_type}s) + interval '10 min'
SQL
		cmp_ok($count, '>', 100, "$what has $id_type IDs ($count)");
		for my $moment (@moments) {
			$clock->stand_still($moment);
			my $error = error_in($session, sprintf $asked, $id_type);
			next if $id_type eq 'sno' && $turns && $error eq '';
			like(
				$error,
				qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind the last $id_type ID/,
				'... and at the very moment when they were made it makes none');
		}
	}
	$clock->step($seconds);
	is(error_in($session, sprintf $asked, $_), '', "... when the clock is past them $_ IDs go on")
	  for @id_types;
	$session->quit;
	$node->stop;
	return;
}

# a point in time ----------------------------------------------------------------------------------------

$primary->backup('base');
make();
my $target = $primary->safe_psql('postgres', 'SELECT clock_timestamp()');
$primary->safe_psql('postgres', 'CREATE TABLE later ()');
make();
my $segment = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the archive is not complete';

# With a worker, and without one: then the first who asks does what it does.
for my $worker ([ 'with', 'max_worker_processes = 8' ], [ 'without', 'hot_standby = off' ]) {
	my ($with, $configuration) = @$worker;
	my ($node, $copy_clock) =
	  copy("recovered_$with", 'base', <<"END", has_restoring => 1, standby => 0);
$configuration
recovery_target_time = '$target'
recovery_target_action = 'promote'
END
	$copy_clock->start;
	wait_for_server($node);
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die 'recovery does not end';
	is($node->safe_psql('postgres', "SELECT to_regclass('later') IS NULL"),
		't', "a server recovered to a point in time, $with a worker");
	like(
		error_of($node, 'SELECT flake_next()'),
		qr/ERROR:  58000: the clock is (?:[345]\d|60) min behind the last flake ID/,
		'... whose clock is behind makes no IDs');
	# PostgreSQL itself doesn't know any more then.
	$node->stop;
	$copy_clock->start;
	makes_none_again($node, $copy_clock,
		"a server recovered $with a worker, and restarted before it made one,", $ahead);
}

# a restored backup ----------------------------------------------------------------------------------------

# While it is taken IDs are made, for some seconds. Most of them are not in its files but in its WAL. The large table is
# there for this backup alone.
$primary->safe_psql('postgres',
	"CREATE TABLE bulk AS SELECT repeat('x', 500) FROM generate_series(1, 40000)");
my @load = load();
my $begin = time();
$primary->backup('loaded', backup_options => [ '--max-rate', '10M' ]);
note sprintf 'the backup took %.1f s', time() - $begin;
$_->signal('TERM') for @load;
$_->finish for @load;
$primary->safe_psql('postgres', 'DROP TABLE bulk');
my ($restored, $restored_clock) = copy('restored', 'loaded', 'max_worker_processes = 8');
$restored_clock->start;
makes_none_again($restored, $restored_clock, 'a restored backup', $ahead + 2, 1);

# Here the state file is one of the first to be copied.
my $copied = $primary->backup_dir . '/copied';
my $session = session($primary);
@load = load();
$session->query_safe("SELECT pg_backup_start('copied', true)");
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir, $copied,
	filterfn => sub { $_[0] !~ m{^(?:log|postmaster\.(?:pid|opts)|pg_wal/.+|flakeid/state\.new)$} }
);
# Until IDs have been made that the copied state file knows nothing of.
my ($horizon) = slurp_file("$copied/flakeid/state") =~ /"until": "([^"]+)"/
  or die 'the copy has no horizon';
for my $id_type (@id_types) {
	$primary->poll_query_until('postgres',
		"SELECT max(${id_type}_timestamp(id)) > '$horizon' FROM ${id_type}s")
	  or die "$id_type IDs stay behind the horizon of the copy";
}
append_to_file("$copied/backup_label",
	$session->query_safe('SELECT labelfile FROM pg_backup_stop(false)') . "\n");
$session->quit;
$_->signal('TERM') for @load;
$_->finish for @load;
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir . '/pg_wal',
	"$copied/wal", filterfn => sub { $_[0] !~ m{^archive_status/} });
rmdir "$copied/pg_wal"                 or die "could not remove $copied/pg_wal: $!";
rename "$copied/wal", "$copied/pg_wal" or die "could not rename $copied/wal: $!";
($restored, $restored_clock) = copy('restored_copy', 'copied', 'max_worker_processes = 8');
# Its WAL tells the horizon that the state file does not.
$restored_clock->start;
makes_none_again($restored, $restored_clock,
	'a restored backup whose WAL is younger than its state file',
	$ahead + 2, 1);

# A standby makes no IDs, and so has an old state file, or none.
$primary->backup('late');
my ($standby, $standby_clock) =
  copy('standby', 'late', 'max_worker_processes = 8', has_streaming => 1);
$standby_clock->start;
make();
$primary->wait_for_catchup($standby);
# It looks at what it has replayed five times a second.
my $made = $primary->safe_psql('postgres',
		'SELECT 1000000 * ceil(1000 * extract(epoch FROM greatest('
	  . join(', ', map { "(SELECT max(${_}_timestamp(id)) FROM ${_}s)" } @id_types)
	  . ')))');
my $patience = time() + $PostgreSQL::Test::Utils::timeout_default;
until (-e state_path($standby) && until_of(state_of($standby)) > $made) {
	die 'the standby does not look at what its primary has done' if time() > $patience;
	sleep 0.05;
}
$standby->backup('of_standby');
$standby->stop;
{
	my $node = PostgreSQL::Test::Cluster->new('restored_standby');
	$node->init_from_backup($standby, 'of_standby');
	unlink $node->data_dir . '/standby.signal' or die 'no standby.signal';
	my $node_clock = FakedNode->new($node);
	$node_clock->start;
	makes_none_again($node, $node_clock, 'a restored backup of a standby', $ahead + 2, 1);
}

# a whole state file ---------------------------------------------------------------------------------------

reload_with($primary, horizon_lead => '1ms');
@load = load();
my $written =
  $primary->safe_psql('postgres', 'SELECT max(horizon_written_at) FROM pg_stat_flakeid');
my ($backups, $broken) = (10, 0);
for (1 .. $backups) {
	my ($state, $errors) = ('', '');
	my $whole = IPC::Run::run(
		[
			'pg_basebackup', '-d', $primary->connstr('postgres'),
			'-D', '-', '-Ft', '-X', 'none', '-c', 'fast', '--no-manifest'
		],
		'2>',
		\$errors,
		'|',
		[ 'tar', '-xOf', '-', 'flakeid/state' ],
		'>',
		\$state,
		'2>',
		\$errors);
	my ($document) = $state =~ /\A(.*\n)crc32 [0-9a-f]{8}\n\z/s;
	my $good = $whole && defined $document && $state eq checksummed($document);
	$broken++ unless $good;
	diag("$state\n$errors") unless $good;
}
ok( $primary->poll_query_until(
		'postgres', "SELECT max(horizon_written_at) > '$written' FROM pg_stat_flakeid"),
	'the state file is written all the time');
$_->signal('TERM') for @load;
$_->finish for @load;
is($broken, 0, "... and whole in each of $backups backups");

$primary->stop;
done_testing();
