# Readers on a standby, on a cascaded standby, and on the standby after its promotion: each reads exactly the rows that are
# committed on the primary, in order, each once. Writers commit late, roll back, prepare, use subtransactions and commit
# asynchronously. Readers also read with snapshots that are older than the last watermark that was replayed.
#
# FLAKEID_SEED decides what the writers do.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";
srand $seed;

# the servers ----------------------------------------------------------------------------------------------------------

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
max_prepared_transactions = 20
max_standby_streaming_delay = -1
log_statement = none
END
$primary->start;
$primary->safe_psql('postgres', <<'END');
CREATE EXTENSION flakeid;
CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next(), writer text);
CREATE TABLE other (x int);
CREATE TABLE stop ();
END

sub standby_of {
	my ($server, $name) = @_;
	$server->backup($name);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($server, $name, has_streaming => 1);
	$standby->start;
	return $standby;
}
my $standby = standby_of($primary, 'standby');
my $cascaded = standby_of($standby, 'cascaded');

# without the setting --------------------------------------------------------------------------------------------------

like(
	error_of($standby, 'SELECT flakeid_watermark()'),
	qr/ERROR:  55000: this standby has replayed no watermark of its primary\n.*HINT:  Set "flakeid.standby_watermark_interval" on the primary/s,
	'without the setting a standby has no watermark, and says which setting is missing');
like(
	error_of($standby, "CALL flakeid_wait(now(), '1 s')"),
	qr/55000: this standby has replayed no watermark/,
	'flakeid_wait says so, too');
# The standby writes none before its promotion.
reload_with($_, standby_watermark_interval => '20ms') for $standby, $primary;
$primary->safe_psql('postgres', "INSERT INTO outbox (writer) VALUES ('first')");
for my $server ($standby, $cascaded) {
	my $name = $server->name;
	ok( $server->poll_query_until(
			'postgres', "SELECT count(*) = 1 FROM outbox WHERE id < flakeid_watermark()"),
		"the $name reads the first row after a reload of the primary");
	is(error_of($server, "CALL flakeid_wait(clock_timestamp(), '10 min')"),
		'', "the $name waits for the present time while nothing is written");
	like(
		error_of($server, "CALL flakeid_wait('infinity', '10 ms')"),
		qr/55P03: the watermark has not passed infinity within the timeout/,
		"a wait on the $name ends with its timeout");
}

# writers --------------------------------------------------------------------------------------------------------------

# What a writer does in one transaction. The loop ends when there is a row in the table "stop".
my %does = (
	late =>
	  'INSERT INTO outbox (writer) SELECT me FROM generate_series(1, 3); PERFORM pg_sleep(random() / 50)',
	fast => 'INSERT INTO outbox (writer) VALUES (me); PERFORM pg_sleep(random() / 500)',
	rollback =>
	  'INSERT INTO outbox (writer) VALUES (me); PERFORM pg_sleep(random() / 100); IF random() < 0.5 THEN ROLLBACK; END IF',
	nested => <<'END',
FOR i IN 1 .. 70 LOOP
	BEGIN
		INSERT INTO outbox (writer) VALUES (me);
		IF i % 10 = 0 THEN RAISE 'no'; END IF;
	EXCEPTION WHEN raise_exception THEN
	END;
END LOOP;
PERFORM pg_sleep(random() / 10)
END
	number => 'INSERT INTO other VALUES (1); PERFORM pg_sleep(random() / 20)');

my @writers;

sub start_writers {
	my ($server) = @_;
	@writers = ();
	for my $name (sort keys %does) {
		my $session = session($server);
		$session->query_safe('SET synchronous_commit = off') if $name eq 'fast';
		begin_in($session, <<"END");
DO \$\$ DECLARE me text := '$name'; BEGIN
	WHILE NOT EXISTS (SELECT FROM stop) LOOP
		$does{$name};
		COMMIT;
	END LOOP;
END \$\$
END
		push @writers, $session;
	}
	return;
}

sub stop_writers {
	my ($server) = @_;
	$server->safe_psql('postgres', 'INSERT INTO stop DEFAULT VALUES');
	ended_in($_), $_->quit for @writers;
	$server->safe_psql('postgres', 'TRUNCATE stop');
	return;
}

# Leaves the clients of a server that has crashed to themselves: they have ended, or read that their connection is lost.
sub drop_writers {
	for my $session (@writers) {
		local $SIG{PIPE} = 'IGNORE';
		eval { $session->quit; 1 } or note "a writer has ended: $@";
	}
	return;
}

# readers --------------------------------------------------------------------------------------------------------------

my $READ = 'SELECT id FROM outbox WHERE id > %s AND id < flakeid_watermark() ORDER BY id';

sub reader {
	my ($name, $server, $read) = @_;
	return {
		name => $name,
		server => $server,
		session => session($server),
		read => $read,
		ids => [],
		last => -1
	};
}

sub read_in {
	my ($reader) = @_;
	my @ids = $reader->{read}->($reader);
	return unless @ids;
	push @{ $reader->{ids} }, @ids;
	$reader->{last} = $ids[-1];
	return;
}

sub rows {
	my ($session, $sql) = @_;
	return grep { /^\d/ } split /\n/, $session->query_safe($sql);
}

# Reads by the snapshot of the statement.
sub by_statement {
	my ($reader) = @_;
	return rows($reader->{session}, sprintf $READ, $reader->{last});
}

# Reads by a snapshot that was taken before the standby has replayed more, watermarks among it.
sub by_old_snapshot {
	my ($reader) = @_;
	my $session = $reader->{session};
	my $before = $session->query_safe(
		'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1; SELECT pg_last_wal_replay_lsn()'
	);
	for (1 .. 3) {
		my $until = time() + 0.2;
		my $now;
		do { $now = $session->query_safe('SELECT pg_last_wal_replay_lsn()') }
		  while $now eq $before && time() < $until;
		$before = $now;
	}
	my @ids = rows($session, sprintf $READ, $reader->{last});
	$session->query_safe('COMMIT');
	return @ids;
}

# Opens a cursor, and fetches from it after more was replayed.
sub by_cursor {
	my ($reader) = @_;
	my $session = $reader->{session};
	$session->query_safe('BEGIN; DECLARE c CURSOR FOR ' . sprintf $READ, $reader->{last});
	my @ids = rows($session, 'FETCH 2 FROM c');
	push @ids, rows($session, 'FETCH ALL FROM c');
	$session->query_safe('COMMIT');
	return @ids;
}

# Waits for a time on the standby, and reads then.
sub by_wait {
	my ($reader) = @_;
	error_in($reader->{session}, "CALL flakeid_wait(clock_timestamp(), '50 ms')");
	return by_statement($reader);
}

sub readers_on {
	my ($server) = @_;
	my $name = $server->name;
	my %ways = (
		statement => \&by_statement,
		snapshot => \&by_old_snapshot,
		cursor => \&by_cursor,
		wait => \&by_wait);
	return map { reader("$_ on the $name", $server, $ways{$_}) } sort keys %ways;
}
my @readers = map { readers_on($_) } $standby, $cascaded;

# Reads until each reader has read so many rows since the beginning of this round.
sub read_rows {
	my ($rows, $prepare_on) = @_;
	my %until = map { $_->{name} => @{ $_->{ids} } + $rows } @readers;
	my $prepare = session($prepare_on);
	my ($number, @prepared) = (0);
	while (grep { @{ $_->{ids} } < $until{ $_->{name} } } @readers) {
		read_in($_) for @readers;
		my $gid = 'prepared ' . $number++;
		$prepare->query_safe(
			"BEGIN; INSERT INTO outbox (writer) VALUES ('prepared'); PREPARE TRANSACTION '$gid'");
		push @prepared, $gid;
		$prepare->query_safe(
			(rand() < 0.7 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '" . shift(@prepared) . "'")
		  if @prepared > 2;
	}
	$prepare->query_safe("COMMIT PREPARED '$_'") for @prepared;
	$prepare->quit;
	return;
}

# Tests that all readers read to the end, and have read the table as it is.
sub readers_have_all {
	my ($server, $when) = @_;
	my $rows = $server->safe_psql('postgres', 'SELECT id FROM outbox ORDER BY id');
	my ($last) = $rows =~ /(\d+)\z/;
	for my $reader (@readers) {
		my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
		read_in($reader) while $reader->{last} < $last && time() < $until;
		my $read = join "\n", @{ $reader->{ids} };
		ok($read eq $rows, "$when: the reader by $reader->{name} has read each row once, in order");
		next if $read eq $rows;
		my %read = map { $_ => 1 } @{ $reader->{ids} };
		my @missed = grep { !delete $read{$_} } split /\n/, $rows;
		diag scalar(@missed)
		  . " rows missed, such as @missed[0 .. ($#missed > 4 ? 4 : $#missed)], and "
		  . keys(%read)
		  . ' rows too many';
	}
	return;
}

start_writers($primary);
read_rows(2000, $primary);

# A standby that lags behind, and then catches up.
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
my ($held) = map { $_->query_safe("SELECT $WATERMARK") } my $session = session($standby);
is($session->query_safe("SELECT $WATERMARK"),
	$held, 'while the replay is paused the watermark stands still');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$session->quit;
read_rows(500, $primary);

# A transaction with a number that does not end: it has no ID, and does not hold the watermark back.
my $open = session($primary);
$open->query_safe('BEGIN; INSERT INTO other VALUES (2)');
stop_writers($primary);
readers_have_all($primary, 'beside an open transaction with a number and without an ID');
$open->query_safe('COMMIT');
$open->quit;

# crashes --------------------------------------------------------------------------------------------------------------

start_writers($primary);
for my $server ($standby, $cascaded) {
	$server->stop('immediate');
	$server->start;
	$server->poll_query_until('postgres', 'SELECT flakeid_watermark() IS NOT NULL')
	  or die 'there is no watermark after a crash';
	$_->{session} = session($server) for grep { $_->{server} == $server } @readers;
}
read_rows(500, $primary);
stop_writers($primary);
readers_have_all($primary, 'after a crash of each standby');

start_writers($primary);
read_rows(300, $primary);
$primary->stop('immediate');
drop_writers();
$primary->start;
start_writers($primary);
read_rows(300, $primary);
stop_writers($primary);
readers_have_all($primary, 'after a crash of the primary');

# a promotion ----------------------------------------------------------------------------------------------------------

start_writers($primary);
read_rows(300, $primary);
my $snapshot = session($standby);
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1');
# What the standby has not received is lost, for its readers, too.
$primary->stop('immediate');
drop_writers();
my $waiting = session($standby);
begin_in($waiting, "CALL flakeid_wait(clock_timestamp() + '1 s')");
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'the standby is not promoted';
like(
	error_in($snapshot, 'SELECT flakeid_watermark()'),
	qr/55000: the snapshot is from before the promotion of this server/,
	'a snapshot from before the promotion has no watermark');
$snapshot->quit;
is(ended_in($waiting), '',
	'a session that waited on the standby waits on after the promotion, until the watermark of the new primary has passed'
);
$waiting->quit;
start_writers($standby);
read_rows(500, $standby);
stop_writers($standby);
readers_have_all($standby, 'after the promotion');
$_->{session}->quit for @readers;
$_->stop for $cascaded, $standby;

done_testing;
