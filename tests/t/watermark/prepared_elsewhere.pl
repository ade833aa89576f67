# A prepared transaction is known in every life of a server: in one without the library, on a standby without it, and when
# the file flakeid/watermark is older than the transaction. What a life without the library has prepared is unknown, and
# holds the watermark at 1970.
use strict;
use warnings;
use lib 'tests/perl';

use JSON::PP;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Watermark;

my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my $settings = <<'END';
log_statement = none
max_prepared_transactions = 10
flakeid.horizon_lead = '300ms'
END

sub library {
	my ($server, $name) = @_;
	$server->append_conf('postgresql.conf', "shared_preload_libraries = '$name'\n");
	return;
}

# The prepared transactions that hold the watermark, and where.
my $holders =
	'SELECT gid, '
  . in_micros('watermark')
  . ' FROM pg_stat_flakeid_watermark WHERE gid IS NOT NULL ORDER BY gid';

# Inserts a row and prepares its transaction. Returns the time of its ID.
sub prepare {
	my ($session, $gid) = @_;
	return $session->query_safe('BEGIN; ' . insertion_of($flake) . "; PREPARE TRANSACTION '$gid'");
}

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', $settings);
library($primary, 'flakeid');
$primary->start;
$primary->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE flakes (id bigint PRIMARY KEY DEFAULT flake_next())');
my $session = session($primary);
passes($session, clock_in($session), 'a watermark is reported before the backup');

# a standby without the library ----------------------------------------------------------------------------------------

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
library($standby, '');
$standby->start;
my $time = prepare($session, 'streamed');
is_held($session, $time,
	'a transaction that is prepared after the backup holds the watermark of the primary');
my $held = $session->query_safe($holders);
$primary->wait_for_catchup($standby);
$standby->promote;
library($standby, 'flakeid');
$standby->restart;
# Its state may lack IDs of the old primary.
$standby->safe_psql('postgres', 'SELECT flakeid_accept_clock()');
my $promoted = session($standby);
is_held($promoted, $time,
	'a standby that was promoted without the library, and got it then, has the transaction');
is($promoted->query_safe($holders), $held, 'the watermark is held where the primary held it');
$promoted->query_safe("COMMIT PREPARED 'streamed'");
passes($promoted, $time,
	'when the transaction has ended the watermark of the promoted server goes on');
$promoted->quit;
$standby->stop;

# a life without the library -------------------------------------------------------------------------------------------

sub restart_with {
	my ($name) = @_;
	$session->quit;
	library($primary, $name);
	$primary->restart;
	$session = session($primary);
	return;
}

restart_with('');
$session->query_safe("BEGIN; CREATE TABLE unknown (); PREPARE TRANSACTION 'unknown'");
my $offset = -s $primary->logfile;
restart_with('flakeid');
is(watermark_in($session), 0,
	'what was prepared in a life without the library holds the watermark at 1970');
is($session->query_safe($holders),
	"$held\nunknown|0", 'what was prepared before that life is known as before');
ok($primary->log_contains(qr/flakeid does not know the IDs of 1 prepared transactions/, $offset),
	'the log says that a transaction is not known');
restart_with('flakeid');
is(watermark_in($session), 0,
	'the unknown transaction holds the watermark at 1970 after another restart, too');
$session->query_safe("COMMIT PREPARED 'unknown'");
is_held($session, $time,
	'when the unknown transaction has ended the other one holds the watermark');
cmp_ok(watermark_in($session), '>', 0, 'the other transaction holds the watermark at its own time');

# a file of 0.7.0 ------------------------------------------------------------------------------------------------------

# Version 1 had a list. It was written before the transaction was prepared that the server has now.
my ($identifier) = $session->query_safe('SELECT system_identifier FROM pg_control_system()');
my $file = $primary->data_dir . '/flakeid/watermark';
my $before = slurp_file($file);
is(length $before, 512, 'the file has the length that it always has');
$session->quit;
$primary->stop;
my $document = JSON::PP->new->canonical->encode(
	{
		flakeid_watermark => 1,
		system_identifier => "$identifier",
		lost => JSON::PP::false,
		prepared => []
	});
$document .= "\n" x (8192 - length("crc32 01234567\n") - length $document);
unlink $file;
append_to_file($file, checksummed($document));
chmod 0600, $file;
$primary->start;
$session = session($primary);
is_held($session, $time, 'the list of a file of version 1 does not count');
is($session->query_safe($holders), $held, 'the transaction that the list does not have is known');
is(slurp_file($file), $before,
	'the server has replaced the file of version 1, which 0.7.0 would trust again');

# the lock -------------------------------------------------------------------------------------------------------------

is( $session->query_safe(
		"SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND pid IS NULL"),
	'1',
	'pg_locks shows the lock of the prepared transaction');
$session->query_safe("COMMIT PREPARED 'streamed'");
passes($session, $time, 'when the transaction has ended the watermark goes on');
is($session->query_safe("SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'"),
	'0', 'the lock ends with its transaction');

# A transaction that cannot take the lock is not prepared.
my $greedy = session($primary);
$session->query_safe('BEGIN');
$time = insert_into($session, $flake);
like(
	error_in(
		$greedy,
		'SELECT count(pg_advisory_lock(number)) FROM generate_series(1, 1000000) AS number'),
	qr/ERROR:  53200:/,
	'a session takes all locks that there are');
like(
	error_in($session, "PREPARE TRANSACTION 'unlocked'"),
	qr/ERROR:  53200:/,
	'a transaction without the lock is not prepared');
$greedy->query_safe('SELECT pg_advisory_unlock_all()');
$greedy->quit;
is($session->query_safe('SELECT count(*) FROM pg_prepared_xacts'),
	'0', 'the transaction was rolled back');
passes($session, $time, 'the transaction does not hold the watermark');
$session->quit;
$primary->stop;

done_testing();
