# Readers on a standby, on a cascaded standby, and on the standby after its promotion: each reads
# exactly the rows that are committed on the primary, in order, each once. The standbys and the
# primary crash. Readers also read with snapshots that are older than the last watermark that was
# replayed.
#
# FLAKEID_SEED decides which prepared transactions are rolled back.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use StandbyReaders;
use Test::More;
use Watermark;

my $seed = $ENV{FLAKEID_SEED} || int(rand 1_000_000);
note "FLAKEID_SEED=$seed";
srand $seed;

# The servers of sessions that have ended may be there for a while, beside the next ones.
my $primary = server_with_tables('primary', <<~'END', allows_streaming => 1);
	max_connections = 40
	max_prepared_transactions = 20
	max_standby_streaming_delay = -1
	END
$primary->safe_psql('postgres', $StandbyReaders::TABLES);

my $standby = standby_of($primary, 'standby');
my $cascaded = standby_of($standby, 'cascaded');

my $hint = qr/HINT:  Set "flakeid.standby_watermark_interval" on the primary/;
like(
	error_of($standby, 'SELECT flakeid_watermark()'),
	qr/ERROR:  55000: this standby has replayed no watermark of its primary\n.*$hint/s,
	'without the setting a standby has no watermark, and says which setting is missing');
like(
	error_of($standby, "CALL flakeid_wait(now(), '1 s')"),
	qr/55000: this standby has replayed no watermark/,
	'without the setting flakeid_wait on a standby is an error');
# The standby writes no watermark before its promotion.
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

my $readers = StandbyReaders->new($standby, $cascaded);
$readers->start_writers($primary);
$readers->read_rows(1000, $primary);

# A standby that lags behind, and then catches up.
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'")
  or die 'the replay does not pause';
my $session = session($standby);
my $held = watermark_in($session);
is(watermark_in($session), $held, 'while the replay is paused the watermark stands still');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$session->quit;
$readers->read_rows(500, $primary);

# A transaction with a transaction ID and without an ID does not hold the watermark back.
my $open = session($primary);
$open->query_safe('BEGIN; INSERT INTO other VALUES (2)');
$readers->stop_writers($primary);
$readers->have_all($primary, 'beside an open transaction without an ID');
$open->query_safe('COMMIT');
$open->quit;

$readers->start_writers($primary);
for my $server ($standby, $cascaded) {
	$server->stop('immediate');
	$server->start;
	$server->poll_query_until('postgres', 'SELECT flakeid_watermark() IS NOT NULL')
	  or die 'there is no watermark after a crash';
	$readers->connect($server);
}
$readers->read_rows(500, $primary);
$readers->stop_writers($primary);
$readers->have_all($primary, 'after a crash of each standby');

$readers->start_writers($primary);
$readers->read_rows(300, $primary);
$primary->stop('immediate');
$readers->drop_writers;
$primary->start;
$readers->start_writers($primary);
$readers->read_rows(300, $primary);
$readers->stop_writers($primary);
$readers->have_all($primary, 'after a crash of the primary');

$readers->start_writers($primary);
$readers->read_rows(300, $primary);
my $snapshot = session($standby);
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM outbox LIMIT 1');
# What the standby has not received is lost, for its readers, too.
$primary->stop('immediate');
$readers->drop_writers;
my $waiting = session($standby);
begin_in($waiting, "CALL flakeid_wait(clock_timestamp() + '1 s')");
$standby->promote;
like(
	error_in($snapshot, 'SELECT flakeid_watermark()'),
	qr/55000: the snapshot is from before the promotion of this server/,
	'an error says that a snapshot is from before the promotion');
$snapshot->quit;
is(ended_in($waiting), '',
	'a session that waits while its standby is promoted waits for the watermark of the primary');
$waiting->quit;
$readers->start_writers($standby);
$readers->read_rows(500, $standby);
$readers->stop_writers($standby);
$readers->have_all($standby, 'after the promotion');
$readers->quit;
$_->stop for $cascaded, $standby;

done_testing();
