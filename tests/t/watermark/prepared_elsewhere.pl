# A prepared transaction is known in every life of a server: in one without the library, on a
# standby without it, and when the file flakeid/watermark is older than the transaction. What a life
# without the library has prepared is unknown, and holds the watermark at 1970.
use strict;
use warnings;
use lib 'tests/perl';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Watermark;

sub preload {
	my ($server, $name) = @_;
	$server->append_conf('postgresql.conf', "shared_preload_libraries = '$name'\n");
	return;
}

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
# Nobody but the test has locks.
$primary->append_conf('postgresql.conf', <<~'END');
	autovacuum = off
	log_statement = none
	max_prepared_transactions = 10
	flakeid.horizon_lead = '300ms'
	END
preload($primary, 'flakeid');
$primary->start;
$primary->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION flakeid;
	CREATE TABLE flakes (id bigint PRIMARY KEY DEFAULT flake_next())
	SQL
my $session = session($primary);
passes($session, clock_in($session), 'a watermark is reported before the backup');
my ($time, $held);

subtest 'a standby that replays without the library has the transaction' => sub {
	$primary->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	preload($standby, '');
	$standby->start;
	$time = prepare_in($session, 'streamed');
	is_held($session, $time,
		'a transaction that is prepared after the backup holds the watermark of the primary');
	$held = held_in($session);
	$primary->wait_for_catchup($standby);
	$standby->promote;
	preload($standby, 'flakeid');
	$standby->restart;
	# Its state may lack IDs of the old primary.
	my $promoted = session($standby);
	$promoted->query_safe('SELECT flakeid_accept_clock()');
	is_held($promoted, $time,
		'a standby that was promoted without the library, and got it then, has the transaction');
	is(held_in($promoted), $held, 'the watermark is held where the primary held it');
	$promoted->query_safe("COMMIT PREPARED 'streamed'");
	passes($promoted, $time,
		'when the transaction has ended the watermark of the promoted server goes on');
	$promoted->quit;
	$standby->stop;
};

sub restart_with {
	my ($library) = @_;
	$session->quit;
	preload($primary, $library);
	$primary->restart;
	$session = session($primary);
	return;
}

subtest 'a life without the library prepares a transaction that is unknown' => sub {
	restart_with('');
	$session->query_safe("BEGIN; CREATE TABLE unknown (); PREPARE TRANSACTION 'unknown'");
	my $end_of_log = -s $primary->logfile;
	restart_with('flakeid');
	is(watermark_in($session), 0,
		'what was prepared in a life without the library holds the watermark at 1970');
	is(held_in($session), "$held\nunknown|0",
		'what was prepared before that life is known as before');
	ok( $primary->log_contains(
			qr/flakeid does not know the IDs of 1 prepared transactions/, $end_of_log),
		'the log says that a transaction is not known');
	restart_with('flakeid');
	is(watermark_in($session), 0,
		'the unknown transaction holds the watermark at 1970 after another restart, too');
	$session->query_safe("COMMIT PREPARED 'unknown'");
	is_held($session, $time,
		'when the unknown transaction has ended the other one holds the watermark');
	cmp_ok(watermark_in($session),
		'>', 0, 'the other transaction holds the watermark at its own time');
};

subtest 'a file of 0.7.0 is replaced' => sub {
	# Version 1 had a list. It was written before the transaction was prepared that the server has
	# now.
	my $identifier = $session->query_safe('SELECT system_identifier FROM pg_control_system()');
	my $file = $primary->data_dir . '/flakeid/watermark';
	my $before = slurp_file($file);
	is(length $before, 512, 'the file has the length that it always has');
	$session->quit;
	$primary->stop;
	my %document = (
		flakeid_watermark => 1,
		system_identifier => $identifier,
		lost => JSON::PP::false,
		prepared => []);
	my $document = JSON::PP->new->canonical->encode(\%document);
	$document .= "\n" x (8192 - length("crc32 01234567\n") - length $document);
	unlink $file;
	append_to_file($file, checksummed($document));
	chmod 0600, $file;
	$primary->start;
	$session = session($primary);
	is_held($session, $time, 'the list of a file of version 1 does not count');
	is(held_in($session), $held, 'the transaction that the list does not have is known');
	is(slurp_file($file), $before,
		'the server has replaced the file of version 1, which 0.7.0 would trust again');
};

subtest 'a transaction is prepared only with its lock' => sub {
	my $locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'";
	is($session->query_safe("$locks AND pid IS NULL"),
		'1', 'pg_locks shows the lock of the prepared transaction');
	$session->query_safe("COMMIT PREPARED 'streamed'");
	passes($session, $time, 'when the transaction has ended the watermark goes on');
	is($session->query_safe($locks), '0', 'the lock ends with its transaction');

	# A transaction that cannot take the lock is not prepared.
	my $greedy = session($primary);
	$session->query_safe('BEGIN');
	$time = insert_into($session, $FLAKE);
	like(
		error_in(
			$greedy, 'SELECT count(pg_advisory_lock(nr)) FROM generate_series(1, 1000000) AS nr'),
		qr/ERROR:  53200:/,
		'a session takes all locks that there are');
	like(
		error_in($session, "PREPARE TRANSACTION 'unlocked'"),
		qr/ERROR:  53200:/,
		'a transaction without the lock is not prepared');
	$greedy->query_safe('SELECT pg_advisory_unlock_all()');
	$greedy->quit;
	is($session->query_safe('SELECT count(*) FROM pg_prepared_xacts'),
		'0', 'the transaction without the lock was rolled back');
	passes($session, $time, 'the transaction without the lock does not hold the watermark');
};
$session->quit;
$primary->stop;

done_testing();
