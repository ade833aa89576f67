# A server that begins from a backup repeats no ID that its data have: from a backup that was taken
# while IDs were generated, from one whose state file was copied first, from one of a standby, and
# from an incremental one. The state file in a backup is whole.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Successors;
use Test::More;
use Time::HiRes qw(time sleep);

# The copies' clock is the real one. That of the server they come from is ahead by an hour.
my $ahead = 3600;
# Ten sessions generate IDs, beside a backup and the test.
my ($primary, $clock) = primary('origin', $ahead, configuration => <<'END');
log_statement = none
max_connections = 30
END
insert_rows($primary, 100);

# Begins to generate IDs, each committed, until end_load: up to 200 a second of each type. Waits for
# some of each type.
my @load;

sub begin_load {
	my $rows = 'SELECT ' . join ', ', map { "(SELECT count(*) FROM ${_}s)" } @TYPE_NAMES;
	my @before = split /\|/, $primary->safe_psql('postgres', $rows);
	my $dir = PostgreSQL::Test::Utils::tempdir('load');
	for my $name (@TYPE_NAMES) {
		append_to_file("$dir/$name", "INSERT INTO ${name}s (nr) VALUES (1);\n");
		my @pgbench = ('pgbench', '-n', '-c', 2, '-R', 200, '-T', 3600, '-f', "$dir/$name");
		push @load,
		  IPC::Run::start([ @pgbench, $primary->connstr('postgres') ],
			'>&', \my $output, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	}
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	for (;;) {
		my @now = split /\|/, $primary->safe_psql('postgres', $rows);
		return unless grep { $now[$_] == $before[$_] } 0 .. $#TYPE_NAMES;
		die 'no IDs are generated' if time() > $until;
		sleep 0.05;
	}
}

sub end_load {
	$_->signal('TERM') for @load;
	$_->finish for splice @load;
	return;
}

# Tests that a server from a backup repeats no ID.
sub restored_repeats_none {
	my ($name, $of, $backup, $test) = @_;
	my ($node, $clock) = successor($name, $of, $backup, '', standby => 0);
	repeats_none($node, $clock, $test, rows => 101, past => $ahead + 2);
	return halt($node);
}

# Most of the IDs that are generated during this backup are not in its files but in its WAL. The
# large table is there for this backup alone.
$primary->safe_psql('postgres',
	"CREATE TABLE bulk AS SELECT repeat('x', 500) FROM generate_series(1, 40000)");
begin_load();
$primary->backup('loaded', backup_options => [ '--max-rate', '10M' ]);
end_load();
$primary->safe_psql('postgres', 'DROP TABLE bulk');
restored_repeats_none('restored', $primary, 'loaded', 'a restored backup repeats no ID');

# Here the state file is one of the first to be copied.
my $copied = $primary->backup_dir . '/copied';
my $session = session($primary);
begin_load();
$session->query_safe("SELECT pg_backup_start('copied', true)");
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir, $copied,
	filterfn => sub { $_[0] !~ m{^(?:log|postmaster\.(?:pid|opts)|pg_wal/.+|flakeid/state\.new)$} }
);
my ($horizon) = slurp_file("$copied/flakeid/state") =~ /"until": "([^"]+)"/
  or die 'the copy has no horizon';
for my $name (@TYPE_NAMES) {
	$primary->poll_query_until('postgres',
		"SELECT max(${name}_timestamp(id)) > '$horizon' FROM ${name}s")
	  or die "$name IDs stay behind the horizon of the copy";
}
append_to_file("$copied/backup_label",
	$session->query_safe('SELECT labelfile FROM pg_backup_stop(false)') . "\n");
$session->quit;
end_load();
rmdir "$copied/pg_wal" or die "could not remove $copied/pg_wal: $!";
PostgreSQL::Test::RecursiveCopy::copypath($primary->data_dir . '/pg_wal',
	"$copied/pg_wal", filterfn => sub { $_[0] !~ m{^archive_status/} });
# Its WAL has the horizon that its state file does not have.
restored_repeats_none('restored_copy', $primary, 'copied',
	'a restored backup whose WAL is younger than its state file repeats no ID');

# A standby generates no IDs, and so has an old state file, or none.
$primary->backup('late');
my ($standby) = successor('standby', $primary, 'late', '', has_streaming => 1);
insert_rows($primary, 2000);
$primary->wait_for_catchup($standby);
wait_until_seen($primary, $standby);
$standby->backup('of_standby');
halt($standby);
unlink $standby->backup_dir . '/of_standby/standby.signal' or die 'no standby.signal';
restored_repeats_none('restored_standby', $standby, 'of_standby',
	'a restored backup of a standby repeats no ID');

subtest 'pg_combinebackup puts a full and an incremental backup together' => sub {
	plan(skip_all => 'this version has no incremental backups') if $primary->pg_version < 17;
	$primary->append_conf('postgresql.conf', "summarize_wal = on\n");
	$primary->reload;
	my $backups = $primary->backup_dir;
	$primary->backup('full');
	my $state = sub { slurp_file("$_[0]/flakeid/state") };
	my $first = $state->("$backups/full");
	wait_until('the state is written again',
		sub { insert_rows($primary, 1000); $state->($primary->data_dir) ne $first });
	$primary->backup('increment',
		backup_options => [ '--incremental', "$backups/full/backup_manifest" ]);
	my $last = $state->("$backups/increment");
	isnt($last, $first, 'the two backups have different states');
	my @command = ('pg_combinebackup', '-o', "$backups/combined");
	command_ok([ @command, "$backups/full", "$backups/increment" ], 'pg_combinebackup succeeds');
	is($state->("$backups/combined"), $last, 'the result has the state of the last one');
	restored_repeats_none('restored_combined', $primary, 'combined',
		'a server of a combined backup repeats no ID');
};

subtest 'backups are taken while the state file is written all the time' => sub {
	reload_with($primary, horizon_lead => '1ms');
	begin_load();
	my $written =
	  $primary->safe_psql('postgres', 'SELECT max(horizon_written_at) FROM pg_stat_flakeid');
	my @options = ('-D', '-', '-Ft', '-X', 'none', '-c', 'fast', '--no-manifest');
	my @broken;
	for (1 .. 10) {
		my ($state, $errors) = ('', '');
		my $is_read = IPC::Run::run(
			[ 'pg_basebackup', '-d', $primary->connstr('postgres'), @options ],
			'2>', \$errors, '|', [ 'tar', '-xOf', '-', 'flakeid/state' ],
			'>', \$state, '2>', \$errors);
		my ($document) = $state =~ /\A(.*\n)crc32 [0-9a-f]{8}\n\z/s;
		my $is_whole = $is_read && defined $document && $state eq checksummed($document);
		push @broken, "$state\n$errors" unless $is_whole;
	}
	ok( $primary->poll_query_until(
			'postgres', "SELECT max(horizon_written_at) > '$written' FROM pg_stat_flakeid"),
		'the state file is written all the time');
	end_load();
	is_deeply(\@broken, [], 'the state file is whole in each of 10 backups');
};
$primary->stop;

done_testing();
