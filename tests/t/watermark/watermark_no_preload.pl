# The watermark of a server that does not preload the library: from PostgreSQL 17 on it promises the
# same. After a start the server does not know which prepared transactions have IDs.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Server;
use Test::More;
use Watermark;

my $clock = FakedClock->new('no_preload', <<~'END');
	shared_preload_libraries = ''
	log_statement = none
	max_prepared_transactions = 20
	flakeid.max_clock_wait = '100ms'
	END
my $node = $clock->node;
$clock->start;
create_tables($node);
if ($node->pg_version < 17) {
	like(
		error_of($node, 'SELECT flakeid_watermark()'),
		qr/ERROR:  55000: .*shared_preload_libraries/,
		'without preload flakeid_watermark is an error');
	$node->stop;
	done_testing();
	exit;
}

my ($writer, $reader, $observer) = my @sessions = map { session($node) } 1 .. 3;

sub connect_again {
	return ($writer, $reader, $observer) = @sessions = map { session($node) } 1 .. 3;
}

passes($observer, clock_in($observer), 'without preload the watermark follows the clock');
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	$writer->query_safe('BEGIN');
	my $time = insert_into($writer, $id_type);
	is_held($observer, $time, "$name: an open transaction holds the watermark");
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM flakes');
	$writer->query_safe('COMMIT');
	passes($observer, $time, "$name: the watermark passes when the transaction has ended");
	is_held($reader, $time, "$name: a snapshot from before the end is not past the ID");
	$reader->query_safe('COMMIT');
}

# The last session leaves, and takes the gates with it.
my $reported = 0;
for my $back (0, 0.05, 3600) {
	passes($observer, clock_in($observer), "a watermark is reported before a step by $back s")
	  if $back < 100;
	my $seen = watermark_in($observer);
	cmp_ok($seen, '>=', $reported, "the watermark does not fall before a step by $back s");
	$reported = $seen;
	$_->quit for @sessions;
	$node->poll_query_until('postgres', <<~'SQL') or die 'sessions stay';
		SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'
		SQL
	$clock->step(-$back);
	connect_again();
	my $when = "when all sessions have left and the clock steps back by $back s";
	cmp_ok(watermark_in($observer), '>=', $reported, "the watermark does not fall $when");

	for my $id_type (@ID_TYPES) {
		my ($name, $next) = @$id_type{ 'name', 'next' };
		my $time = $writer->query('SELECT ' . in_micros("${name}_timestamp($next)"));
		my $error = $writer->{stderr};
		$writer->{stderr} = '';
		ok(   $error eq ''
			? $time >= $reported
			: $error =~ /ERROR:  58000: the clock is .* behind/,
			"$name IDs are not below the watermark, or wait for the clock, $when"
		) or diag("$time $error, and the watermark was $reported");
	}
	$clock->step(0);
}

my $time = prepare_in($writer, 'one');
is_held($observer, $time, 'a prepared transaction holds the watermark');
cmp_ok(watermark_in($observer), '>', 0, 'a prepared transaction holds the watermark at its time');
for my $how ('fast', 'immediate') {
	$_->quit for @sessions;
	$node->stop($how);
	$clock->start;
	connect_again();
	is_held($observer, $time, "a prepared transaction holds the watermark after a stop ($how)");
	is($observer->query_safe('SELECT gid FROM pg_stat_flakeid_watermark'),
		'one', "the view has the prepared transaction after a stop ($how)");
}
$observer->query_safe("COMMIT PREPARED 'one'");
passes($observer, $time, 'the watermark passes when the prepared transaction has ended');
$_->quit for @sessions;
$node->stop;
done_testing();
