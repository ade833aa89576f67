# The watermark of a server that does not preload the library: from PostgreSQL 17 on it promises the same. After a start the
# server does not know which prepared transactions have IDs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('no_preload', <<'END');
shared_preload_libraries = ''
log_statement = none
max_prepared_transactions = 20
flakeid.max_clock_wait = '100ms'
END
my $node = $clock->node;
$clock->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000;
create_tables($node);
if ($version < 17) {
	like(
		error_of($node, 'SELECT flakeid_watermark()'),
		qr/ERROR:  55000: .*shared_preload_libraries/,
		'without preload it is an error');
	$node->stop;
	done_testing();
	exit;
}

my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;
my ($writer, $reader, $observer) = map { session($node) } 1 .. 3;

# sessions -------------------------------------------------------------------------------------------------------------

passes($observer, clock_in($observer), 'it follows the clock');
for my $id_type (@ID_TYPES) {
	$writer->query_safe('BEGIN');
	my $time = insert_into($writer, $id_type);
	is_held($observer, $time, "$id_type->{name}: an open transaction holds it");
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
	$writer->query_safe('COMMIT');
	passes($observer, $time, '... until its end');
	is_held($reader, $time, '... and for a snapshot from before');
	$reader->query_safe('COMMIT');
}

# The last session leaves, and takes the gates with it.
my $reported = 0;
for my $back (0, 0.05, 3600) {
	passes($observer, clock_in($observer), 'a watermark is reported') if $back < 100;
	my $seen = watermark_in($observer);
	cmp_ok($seen, '>=', $reported, '... it does not fall');
	$reported = $seen;
	$_->quit for $writer, $reader, $observer;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
	  or die 'sessions stay';
	$clock->step(-$back);
	($writer, $reader, $observer) = map { session($node) } 1 .. 3;
	cmp_ok(watermark_in($observer), '>=', $reported,
		"... nor when all sessions have left and the clock steps back by $back s");

	for my $id_type (@ID_TYPES) {
		my $answer =
		  $writer->query('SELECT ' . in_micros("$id_type->{name}_timestamp($id_type->{next})"));
		my $error = $writer->{stderr};
		$writer->{stderr} = '';
		$error eq ''
		  ? cmp_ok($answer, '>=', $reported, "... and $id_type->{name} IDs are not below it")
		  : like(
			$error,
			qr/ERROR:  58000: the clock is .* behind/,
			"... and $id_type->{name} IDs wait for the clock");
	}
	$clock->step(0);
}

# prepared transactions ------------------------------------------------------------------------------------------------

$writer->query_safe('BEGIN');
my $time = insert_into($writer, $flake);
$writer->query_safe("PREPARE TRANSACTION 'one'");
is_held($observer, $time, 'a prepared transaction holds it');
cmp_ok(watermark_in($observer), '>', 0, '... at its own time');
for my $how ('fast', 'immediate') {
	$_->quit for $writer, $reader, $observer;
	$node->stop($how);
	$clock->start;
	($writer, $reader, $observer) = map { session($node) } 1 .. 3;
	is_held($observer, $time, "after a start ($how) it holds it");
	is($observer->query_safe('SELECT gid FROM pg_stat_flakeid_watermark'),
		'one', '... the view says so');
}
$observer->query_safe("COMMIT PREPARED 'one'");
passes($observer, $time, '... until it ends');
$_->quit for $writer, $reader, $observer;
$node->stop;
done_testing();
