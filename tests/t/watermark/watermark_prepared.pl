# Prepared transactions hold the watermark from their first ID until another session ends them, through restarts, crashes,
# promotions and backups. And what a server has reported stays true in its next life: the watermark does not fall, and no
# ID is generated below it, on any clock.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FakedNode;
use Ledger;
use List::Util qw(min shuffle);
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

# With a short lead the first ID after a crash waits for a short time.
my $settings = <<'END';
shared_preload_libraries = 'flakeid'
log_statement = none
max_prepared_transactions = 120
wal_keep_size = '1GB'
flakeid.max_clock_wait = '100ms'
flakeid.horizon_lead = '300ms'
END

my ($flake, $sno) = map {
	my $name = $_;
	grep { $_->{name} eq $name } @ID_TYPES
} 'flake', 'sno';
my ($node, $postmaster, $writer, $other, $observer);

# A server, and sessions that stay as long as it runs.
sub begin {
	my ($name, %init) = @_;
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	$node->append_conf('postgresql.conf', $settings);
	start();
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$node->safe_psql(
		'postgres',
		join ' ',
		map {
			"CREATE TABLE $_->{name}s (id $_->{type} DEFAULT $_->{next} PRIMARY KEY, nr integer);"
		} @ID_TYPES);
	return;
}

sub start {
	$postmaster = Postmaster->start($node);
	return sessions($node);
}

sub sessions {
	my ($of) = @_;
	($writer, $other, $observer) = map { session($of) } 1 .. 3;
	return;
}

# Ends the server in some way; the sessions end with it.
sub stop {
	my ($how) = @_;
	if ($how eq 'fast') {
		$_->quit for $writer, $other, $observer;
	}
	$how eq 'kill' ? $postmaster->kill9 : $postmaster->stop($how);
	if ($how ne 'fast') {
		eval { $_->{run}->finish } for $writer, $other, $observer;
	}
	return;
}

sub restart {
	my ($how) = @_;
	stop($how);
	start();
	return;
}

# Inserts a row in a transaction and prepares it. Returns its ID's time.
sub prepare {
	my ($gid, $id_type, $session) = @_;
	return ($session // $writer)
	  ->query_safe('BEGIN; ' . insertion_of($id_type // $flake) . "; PREPARE TRANSACTION '$gid'");
}

# What the view says of prepared transactions.
sub held_by {
	return $observer->query_safe('SELECT gid, '
		  . in_micros('watermark')
		  . " FROM pg_stat_flakeid_watermark WHERE gid IS NOT NULL ORDER BY gid");
}

sub file { return $node->data_dir . '/flakeid/watermark' }

# in one life ----------------------------------------------------------------------------------------------------------

begin('prepared');
ok(!-e file(), 'before the first call there is no list of prepared transactions');
passes($observer, clock_in($observer), 'the first call');
ok(-e file(), '... makes one');
is(sprintf('%o', (stat file())[2] & 07777), '600', '... for the server alone');

for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	for my $end ('COMMIT', 'ROLLBACK') {
		my $before = watermark_in($observer);
		my $time = prepare('one', $id_type);
		is_held($observer, $time, "$name: a prepared transaction holds the watermark");
		my $held = watermark_in($observer);
		cmp_ok($held, '>=', $before, '... where it was');
		is( $observer->query_safe(
				'SELECT pid IS NULL, gid, xid = (SELECT transaction FROM pg_prepared_xacts), database, first_id_at IS NOT NULL FROM pg_stat_flakeid_watermark'
			),
			't|one|t|postgres|t',
			'... the view says which');
		is(held_by(), "one|$held", '... and where');
		# Its session goes on.
		my $later = insert_into($writer, $id_type);
		is_held($observer, $time, '... also when its session commits another one');
		$other->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
		$observer->query_safe("$end PREPARED 'one'");
		passes($observer, $later, "... until $end PREPARED in another session");
		is_held($other, $time, '... but not for a snapshot from before that');
		$other->query_safe('COMMIT');
		passes($other, $later, '... until its transaction ends');
		is(held_by(), '', '... and the view is empty');
	}
}
$writer->query_safe("BEGIN; CREATE TABLE no_ids (); PREPARE TRANSACTION 'no IDs'");
passes($observer, clock_in($observer), 'a prepared transaction without an ID does not hold it');
is(held_by(), '', '... and is not in the view');

# A prepared transaction whose ID was before a rollback to a savepoint, and one whose ID is in no row.
$writer->query_safe('BEGIN; SAVEPOINT s');
my $time = insert_into($writer, $flake);
$writer->query_safe(
	"ROLLBACK TO s; CREATE TABLE rolled_back (); PREPARE TRANSACTION 'rolled back'");
is_held($observer, $time, 'one whose IDs were rolled back holds it');
restart('fast');
is_held($observer, $time, '... after a restart, too');
$observer->query_safe("COMMIT PREPARED 'rolled back'");
passes($observer, $time, '... until it ends');

# lives ----------------------------------------------------------------------------------------------------------------

for my $how ('fast', 'immediate', 'kill') {
	my @left;
	# Prepares another one, when the clock has passed the last one. So each of them holds a later time.
	my $prepare_later = sub {
		my ($id_type, $gid, $end, $session) = @_;
		clock_passes($observer, $left[-1]{time}) if @left;
		push @left,
		  {
			gid => "$id_type->{name} $gid",
			end => $end,
			time => prepare("$id_type->{name} $gid", $id_type, $session)
		  };
	};
	for my $id_type ($flake, $sno) {
		$prepare_later->($id_type, "to $_", $_) for 'COMMIT', 'ROLLBACK';
	}
	my ($held, $view) = (watermark_in($observer), held_by());
	is_held($observer, $left[0]{time}, "$how: the first of some prepared transactions");
	for my $life (1, 2) {
		restart($how);
		is_held($observer, $left[0]{time}, "... holds the watermark in its server's life $life");
		my $now = watermark_in($observer);
		cmp_ok($now, '>=', $held, '... which has not fallen');
		like(held_by(), qr/^\Q$left[0]{gid}|$now\E$/m, '... the view says so');
		is(held_by(), $view, '... and of each of them what it said before');
	}
	$prepare_later->($_, 'later', 'COMMIT', $other) for $flake, $sno;
	while (my $ended = shift @left) {
		$observer->query_safe("$ended->{end} PREPARED '$ended->{gid}'");
		is_held($observer, $left[0]{time},
			"... another one holds it when '$ended->{gid}' has ended")
		  if @left;
		passes($observer, $ended->{time},
			@left ? '... past that' : '... until the last one has ended');
	}

	# A transaction that was open has no rows.
	$writer->query_safe('BEGIN');
	my $open = insert_into($writer, $flake);
	$held = watermark_in($observer);
	stop($how);
	start();
	passes($observer, $open,
		"$how: a transaction that was open does not hold it after the restart");
	cmp_ok(watermark_in($observer), '>=', $held, '... and it has not fallen');

	# One that ends right before the server does, and one that is prepared right before.
	prepare('ended');
	$observer->query_safe("COMMIT PREPARED 'ended'");
	my $time = prepare('last');
	restart($how);
	is_held($observer, $time, "$how: one that was prepared last holds it");
	like(held_by(), qr/\Alast\|\d+\z/, '... and one that has ended is not in the view');
	$observer->query_safe("ROLLBACK PREPARED 'last'");
	passes($observer, $time, '... until it ends');
}

# A checkpoint moves what is prepared from the WAL to files.
$time = prepare('checkpointed');
$observer->query_safe('CHECKPOINT');
restart('kill');
is_held($observer, $time, 'after a checkpoint and a crash it holds it');
$observer->query_safe('CHECKPOINT');
restart('fast');
is_held($observer, $time, '... and after another');
$observer->query_safe("COMMIT PREPARED 'checkpointed'");
passes($observer, $time, '... until it ends');

# One that is ended while a crash comes: either it is there or it is not, and the watermark is right in both cases.
for my $round (1 .. 5) {
	my $time = prepare('crashed');
	$other->query_until(qr/begun/, "\\echo begun\nCOMMIT PREPARED 'crashed';\n");
	restart('kill');
	if ($observer->query_safe('SELECT count(*) FROM pg_prepared_xacts WHERE gid = \'crashed\'')) {
		is_held($observer, $time, 'a crash came before the commit: it holds it');
		$observer->query_safe("COMMIT PREPARED 'crashed'");
	}
	passes($observer, $time, 'a crash beside a commit: at the end the watermark passes');
}

# a hundred ------------------------------------------------------------------------------------------------------------

my $last = $observer->query_safe('SELECT max(id) FROM flakes');
my %time = map { ("many $_" => prepare("many $_")) } 1 .. 100;
# What each of them holds by itself, which is at or before its ID.
my %bound = map { split /\|/ } split /\n/, held_by();
my $sees = sub {
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is_held($observer, min(values %time), $what);
};
$sees->('a hundred: the first holds the watermark');
is($observer->query_safe('SELECT count(*), count(DISTINCT gid) FROM pg_stat_flakeid_watermark'),
	'100|100', '... all are in the view');
restart('fast');
$sees->('... after a restart, too');
my @gids = shuffle(sort keys %time);
my @read = ($last);
my ($seen, $falls) = (watermark_in($observer), 0);

for my $nr (0 .. $#gids) {
	my $end = $nr % 3 ? 'COMMIT' : 'ROLLBACK';
	my $ended = $gids[$nr];
	$observer->query_safe("$end PREPARED '$ended'");
	my $first = delete $time{$ended};
	delete $bound{$ended};
	passes($observer, $first, '... when the first has ended it goes on')
	  if %time && $first < min(values %bound);
	$sees->('... to the next') if %time && $first < min(values %time);
	my $now = watermark_in($observer);
	$falls++ if $now < $seen;
	$seen = $now;
	push @read, split /\n/,
	  $observer->query_safe(
		"SELECT id FROM flakes WHERE id > $read[-1] AND flake_before(id, flakeid_watermark()) ORDER BY id"
	  );
	restart($nr % 50 == 24 ? 'fast' : 'kill') if $nr % 25 == 24;
}
is($falls, 0, '... and it does not fall');
passes($observer, clock_in($observer), '... when all have ended nothing holds it');
push @read, split /\n/,
  $observer->query_safe(
	"SELECT id FROM flakes WHERE id > $read[-1] AND flake_before(id, flakeid_watermark()) ORDER BY id"
  );
is( join("\n", @read),
	$observer->query_safe("SELECT id FROM flakes WHERE id >= $last ORDER BY id"),
	'... and a reader beside this has read every row');
is(held_by(), '', '... the view is empty');

# More than there may be is an error, and holds nothing.
my @full = map { "full $_" } 1 .. 120 - 1;    # "no IDs" is there, too
prepare($_) for @full;
$writer->query_safe('BEGIN');
$time = insert_into($writer, $flake);
like(error_in($writer, "PREPARE TRANSACTION 'too many'"), qr/53200/, 'one that cannot be prepared');
$observer->query_safe(join '; ', map { "ROLLBACK PREPARED '$_'" } @full);
passes($observer, $time, '... holds nothing');
$observer->query_safe("ROLLBACK PREPARED 'no IDs'");

# Many that are prepared and end, one after the other, alone and beside an open transaction that has generated no ID. They
# are more than there may be at the same time.
my $many = 130;
for my $beside ('', "BEGIN; CREATE TABLE beside ()") {
	$other->query_safe($beside);
	my ($seen, $falls, $early) = (watermark_in($observer), 0, 0);
	my $falls_to;
	for my $nr (1 .. $many) {
		my $time = prepare("after another $nr");
		# Without this a watermark that nothing holds would not be past it yet.
		clock_passes($observer, $time) if $nr % 5 == 0;
		for my $end ('', ($nr % 3 ? 'COMMIT' : 'ROLLBACK') . " PREPARED 'after another $nr'") {
			$observer->query_safe($end) if $end;
			my $now = watermark_in($observer);
			$early++ if $end eq '' && $now > $time;
			next if $now >= $seen  && ($seen = $now);
			$falls++;
			$falls_to //= $now;
		}
	}
	my $what = $beside ? 'beside an open transaction' : 'alone';
	is($early, 0, "$many that are prepared and end, $what: each holds the watermark");
	is($falls, 0, '... which does not fall') or diag('it fell from ' . $seen . ' to ' . $falls_to);
	passes($observer, clock_in($observer), '... and at the end nothing holds it');
	$other->query_safe('ROLLBACK') if $beside;
}

# the file -------------------------------------------------------------------------------------------------------------

# PostgreSQL keeps what holds the watermark. The file only says that a watermark was reported.
my %damage = (
	'missing' => sub { unlink file() or die 'there is no file' },
	'empty' => sub { unlink file(); append_to_file(file(), '') },
	'cut' => sub {
		my $text = slurp_file(file());
		unlink file();
		append_to_file(file(), substr $text, 0, length($text) - 1);
	},
	'garbage' => sub {
		my $text = slurp_file(file());
		unlink file();
		append_to_file(file(), "\0" x length $text);
	},);
my $intact = slurp_file(file());
for my $what (sort keys %damage) {
	for my $how ('fast', 'kill') {
		my $first = prepare('first');
		$observer->query_safe('CHECKPOINT');
		my $second = prepare('second');
		my ($held, $view) = (watermark_in($observer), held_by());
		stop($how);
		$damage{$what}->();
		chmod 0600, file() if -e file();
		start();
		is(watermark_in($observer), $held, "$what file, $how: the watermark is held where it was");
		is(held_by(), $view,
			"$what file, $how: the view says of each transaction what it said before");
		is(slurp_file(file()), $intact, "$what file, $how: the server has replaced the file");
		$observer->query_safe("COMMIT PREPARED 'first'");
		is_held($observer, $second,
			"$what file, $how: the second transaction holds the watermark when the first has ended"
		);
		$observer->query_safe("COMMIT PREPARED 'second'");
		passes($observer, $second,
			"$what file, $how: the watermark goes on when the second has ended");
	}
}

# A folder that cannot be written: a transaction can be prepared, but no watermark is reported that is past the horizon.
my $directory = $node->data_dir . '/flakeid';
passes($observer, clock_in($observer), 'before the folder is read-only');
$writer->query_safe('BEGIN');
$time = insert_into($writer, $flake);
chmod 0500, $directory or die 'could not change the mode';
$writer->query_safe("PREPARE TRANSACTION 'unwritten'");
my ($reported, $until) = (0, time() + $PostgreSQL::Test::Utils::timeout_default);
my $refusal;

for (my $from = clock_in($observer); clock_in($observer) < $from + 3_000_000;) {
	die 'the clock does not go on' if time() > $until;
	my $answer = $observer->query("SELECT $WATERMARK");
	$reported = $answer if $answer ne '';
	$refusal = $observer->{stderr} if $observer->{stderr} ne '';
	$observer->{stderr} = '';
	last if $refusal;
	sleep 0.02;
}
cmp_ok(
	$reported * 1000,
	'<=',
	until_of(state_of($node)),
	'where the folder is read-only no watermark past the horizon is reported');
like(
	$refusal,
	qr/ERROR:  42501: could not create state file "flakeid\/state": Permission denied/,
	'... but an error') if defined $refusal;
cmp_ok($reported, '<=', $time,
	'where the folder is read-only no watermark past what is prepared is reported');
stop('kill');
chmod 0700, $directory or die 'could not change the mode';
start();
is_held($observer, $time,
	'what was prepared where the folder is read-only holds the watermark after a crash');
$observer->query_safe("COMMIT PREPARED 'unwritten'");
passes($observer, $time, '... and when it has ended the watermark goes on');
stop('fast');

# before the first call ------------------------------------------------------------------------------------------------

# The server knows them in the same life and after a restart.
begin('before');
my @times = prepare('prepared 1');
clock_passes($observer, $times[0]);
push @times, prepare('prepared 2');
is_held($observer, $times[0], 'one that was prepared before the first call holds the watermark');
cmp_ok(watermark_in($observer), '>', 0, '... at its own time');
$observer->query_safe("COMMIT PREPARED 'prepared 1'");
passes($observer, $times[0], '... until it ends');
restart('kill');
is_held($observer, $times[1], '... and from then on also after a crash');
cmp_ok(watermark_in($observer), '>', 0, '... at its own time');
$observer->query_safe("COMMIT PREPARED 'prepared 2'");
passes($observer, $times[1], '... until it ends');
stop('fast');

for my $how ('fast', 'immediate', 'kill') {
	begin("before_$how");
	my $time = prepare('earlier');
	restart($how);
	my $later = prepare('later');
	is_held($observer, $time,
		"$how: one that was prepared in an earlier life, before the first call, holds the watermark"
	);
	cmp_ok(watermark_in($observer), '>', 0, "$how: it holds the watermark at its own time");
	like(held_by(), qr/^earlier\|[1-9]\d+$/m, "$how: the view says so");
	restart($how);
	is_held($observer, $time, "$how: it holds the watermark in the next life, too");
	$observer->query_safe("COMMIT PREPARED 'earlier'");
	passes($observer, $time, "$how: when it has ended the watermark goes on");
	is_held($observer, $later, "$how: the next transaction holds the watermark then");
	$observer->query_safe("COMMIT PREPARED 'later'");
	passes($observer, $later, "$how: when both have ended the watermark goes on");
	stop('fast');
}

# standbys and backups -------------------------------------------------------------------------------------------------

# A reader of the primary goes on at the server that takes its place, and misses no row.
begin('primary', allows_streaming => 1, has_archiving => 1);
my $primary = $node;

# A standby of the primary, from a backup.
sub standby {
	my ($name, $backup) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	# The archive is that of the primary alone.
	$standby->append_conf('postgresql.conf', 'archive_mode = off');
	$standby->start;
	return $standby;
}

$primary->backup('before');
prepare('no call');
$observer->query_safe("COMMIT PREPARED 'no call'");
my $never = standby('never', 'before');
$time = prepare('never called');
$primary->wait_for_catchup($never);
# It is promoted in the primary's absence, and the primary goes on without it.
$never->promote;
my $on_never = session($never);
cmp_ok(watermark_in($on_never), '<=', $time,
	'a promoted standby whose primary was never called: what is prepared holds the watermark');
cmp_ok(watermark_in($on_never), '>', 0,
	'a promoted standby whose primary was never called: it knows the time of what is prepared');
$on_never->query_safe("COMMIT PREPARED 'never called'");
passes($on_never, $time, '... until it ends');
$on_never->quit;
$never->stop;
$observer->query_safe("ROLLBACK PREPARED 'never called'");

passes($observer, clock_in($observer), 'the first call on the primary');
@read = ();

sub read_in {
	my ($session) = @_;
	my $after = @read ? "id > $read[-1]" : 'true';
	push @read, split /\n/,
	  $session->query_safe(
		"SELECT id FROM flakes WHERE $after AND flake_before(id, flakeid_watermark()) ORDER BY id");
	return;
}
my %prepared;
$prepared{'before the backup'} = prepare('before the backup');
$prepared{'ended'} = prepare('ended');
insert_into($other, $flake);
$primary->backup('after');
$prepared{'after the backup'} = prepare('after the backup');
$prepared{'aborted'} = prepare('aborted');
$observer->query_safe("COMMIT PREPARED 'ended'");
my $early = standby('early', 'before');
my $late = standby('late', 'after');
my $crash = standby('crash', 'after');
$primary->wait_for_catchup($_) for $early, $late, $crash;
$crash->safe_psql('postgres', 'CHECKPOINT');
$prepared{'streamed'} = prepare('streamed');
$observer->query_safe("ROLLBACK PREPARED 'aborted'");
my %of_backup = map { $_ => $prepared{$_} } 'before the backup', 'ended';
delete @prepared{ 'ended', 'aborted' };
my $newest = insert_into($other, $flake);
clock_passes($observer, $newest);
read_in($observer);
$reported = watermark_in($observer);
$primary->wait_for_catchup($_) for $early, $late, $crash;
$crash->stop('immediate');
$crash->start;
$observer->query_safe("SELECT pg_create_restore_point('here')");
my $segment = $observer->query_safe('SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the archive is not complete';
stop('fast');

# Ends what is prepared on a server that goes on where the primary stood, and reads as the reader did there.
sub takes_over {
	my ($server, $what, $at_least) = @_;
	my @before = @read;
	my $own = session($server);
	my %left = %prepared;
	is( $own->query_safe("SELECT string_agg(gid, ', ' ORDER BY gid) FROM pg_prepared_xacts"),
		join(', ', sort keys %left),
		"$what: it has what is prepared");
	is_held($own, min(values %left), '... which holds the watermark');
	cmp_ok(watermark_in($own), '>=', $at_least, '... and it has not fallen') if defined $at_least;
	is( $own->query_safe(
			'SELECT string_agg(gid, \', \' ORDER BY gid) FROM pg_stat_flakeid_watermark'),
		join(', ', sort keys %left),
		'... the view has all of them');
	insert_into($own, $flake);
	read_in($own);

	for my $gid (sort { $left{$b} <=> $left{$a} } keys %left) {
		is_held($own, min(values %left), '... it is held by the earliest that is left');
		$own->query_safe("COMMIT PREPARED '$gid'");
		read_in($own);
		delete $left{$gid};
	}
	passes($own, clock_in($own), '... until all have ended');
	read_in($own);
	is( join("\n", @read),
		$own->query_safe('SELECT id FROM flakes ORDER BY id'),
		'... and a reader that came from the primary has read every row, each once');
	$own->quit;
	$server->stop;
	@read = @before;
	return;
}

for my $standby (
	[ $early, 'a standby from a backup from before the first call' ],
	[ $late, 'a standby from a later backup' ],
	[ $crash, 'a standby that has crashed' ])
{
	my ($server, $what) = @$standby;
	$server->promote;
	takes_over($server, "$what is promoted", $reported);
}

# Recovery from the archive, and a restart before the first call there.
for my $backup ('before', 'after') {
	for my $restarts (0, 1) {
		my $restored = PostgreSQL::Test::Cluster->new("restored_${backup}_$restarts");
		$restored->init_from_backup($primary, $backup, has_restoring => 1, standby => 0);
		$restored->append_conf('postgresql.conf',
			"recovery_target_name = 'here'\nrecovery_target_action = 'promote'\narchive_mode = off\n"
		);
		$restored->start;
		$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
		  or die 'recovery does not end';
		$restored->restart if $restarts;
		takes_over(
			$restored,
			"recovered from the archive and a backup from $backup the first call"
			  . ($restarts ? ', and restarted' : ''),
			undef);
	}
}

# The backup alone: what was prepared when it was taken, and not what came later.
%prepared = %of_backup;
@read = ();
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($primary, 'after');
$copy->append_conf('postgresql.conf', 'archive_mode = off');
$copy->start;
takes_over($copy, 'a server from a backup', undef);

# clocks ---------------------------------------------------------------------------------------------------------------

# The least time of these IDs of an ID type.
sub least_time {
	my ($id_type, @ids) = @_;
	return $observer->query_safe('SELECT min('
		  . in_micros("$id_type->{name}_timestamp(id)")
		  . ") FROM unnest('{"
		  . join(',', @ids)
		  . "}'::$id_type->{type}"
		  . '[]) AS id');
}

# When a watermark was reported no ID is below it, no matter what the clock does. Each kill needs a server on which the
# watermark was not called before.
my @backs = (0.05, 2, 3600);
for
  my $server ((map { [ $_, @backs ] } 'none', 'fast', 'immediate'), (map { [ 'kill', $_ ] } @backs))
{
	my ($how, @steps) = @$server;
	my $name = "stepped_${how}_" . int($steps[0] * 100);
	my $clock = FakedClock->new($name, "log_statement = none\nflakeid.max_clock_wait = '100ms'\n");
	$node = $clock->node;
	# Each step comes long after all that was before, so that the other timeline of sno is free.
	my $base = -7200;
	$clock->step($base);
	$postmaster = Postmaster->start($node, $clock->environment);
	create_tables($node);
	sessions($node);
	my $ledger = Ledger->new($name);
	my $take = sub {
		my ($id_type) = @_;
		my $error = $ledger->ask_in($writer, $id_type, 3);
		die "no $id_type->{name} IDs: $error" if $error ne '';
	};
	$take->($_) for @ID_TYPES;
	for my $back (@steps) {
		$base += 7200;
		$clock->step($base);
		if ($how eq 'kill') {
			# Without a call sno goes on in its other timeline: so it is the watermark that keeps it from that.
			$take->($sno);
			$clock->step($base - $back);
			my $error = $ledger->ask_in($other, $sno, 3);
			is($error, '',
				"$back s: where the watermark was not called sno does not wait for the clock")
			  if $back > 1;
			$clock->step($base);
		}
		passes($observer, clock_in($observer), "$how, $back s: a watermark is reported");
		$take->($_) for @ID_TYPES;
		# It goes on while no ID is generated.
		my $to = clock_in($observer) + 1_500_000;
		passes($observer, $to, '... and goes on while no ID is generated');
		my $reported = watermark_in($observer);
		cmp_ok(
			$reported * 1000,
			'<=',
			until_of(state_of($node)),
			'... it is not past the horizon on disk');
		if ($how eq 'none') {
			$clock->step($base - $back);
		}
		else {
			stop($how);
			$clock->step($base - $back);
			$postmaster = Postmaster->start($node, $clock->environment);
			sessions($node);
		}
		cmp_ok(watermark_in($observer), '>=', $reported, '... it does not fall');
		for my $id_type (@ID_TYPES) {
			# An error says that the clock is behind. What is given is not below the watermark.
			my ($error, @ids) = $ledger->ask($node, $id_type, 5);
			if ($error ne '') {
				like(
					$error,
					qr/ERROR:  58000: the clock is [\d.]+ (?:ms|s|min) behind/,
					"... $id_type->{name} IDs have to wait for the clock");
			}
			else {
				cmp_ok(least_time($id_type, @ids),
					'>=', $reported, "... $id_type->{name} IDs are not below it");
			}
		}
		cmp_ok(watermark_in($observer), '>=', $reported, '... and still it does not fall');
		$clock->step($base + 5);
		my $last = watermark_in($observer);
		for my $id_type (@ID_TYPES) {
			my ($error, @ids) = $ledger->ask($node, $id_type, 5);
			is($error, '', "... when the clock is past that there are $id_type->{name} IDs")
			  or next;
			cmp_ok(least_time($id_type, @ids), '>=', $last,
				'... which are not below the watermark');
		}
		passes($observer, clock_in($observer), '... and it goes on');
		is($ledger->twice, '', '... and no ID repeats');
	}
	stop('fast');
}

done_testing();
