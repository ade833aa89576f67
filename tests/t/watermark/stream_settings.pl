# The setting flakeid.streams: which values are errors, what a reload changes for transactions that
# are open, how many names have a place, and what a standby has.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Streams;
use Test::More;
use Watermark;

my $clock = start_streams();
my $node = $clock->node;
my ($writer, $observer) = map { session($node) } 1 .. 2;

my $no_name = 'is not a name of 1 to 63 letters, digits, and characters of "_-.".';
my %refused = (
	'a, a' => '"a" is listed twice.',
	'flake' => '"flake" is the stream of an ID type.',
	'a,,b' => qq("" $no_name),
	'a b' => qq("a b" $no_name),
	'x' x 64 => '"' . 'x' x 64 . qq(" $no_name),
	join(',', 1 .. 26) => 'It lists 26 streams. The limit is 25.');

for my $value (sort keys %refused) {
	like(
		error_in($observer, "ALTER SYSTEM SET flakeid.streams = '$value'"),
		qr/invalid value for parameter "flakeid\.streams".*DETAIL:  \Q$refused{$value}\E/s,
		"flakeid.streams = '$value' is refused");
}
like(
	error_in($observer, "SET flakeid.streams = 'mine'"),
	qr/ERROR:  55P02/,
	'a session cannot list streams');
like(
	error_in($observer, "SELECT flake_next_in('flake')"),
	qr/ERROR:  42704.*HINT:  This is the stream of an ID type: call a function without a stream\./s,
	'the name of an ID type is no named stream');
like(
	error_in($observer, "SELECT flakeid_watermark('mine')"),
	qr/ERROR:  42704: stream "mine" is not in .*HINT:  Correct the name, or add it to the setting/s,
	'there is no watermark of a stream that is not listed');
is( $observer->query_safe('SELECT flakeid_watermark(NULL) IS NULL AND flake_next_in(NULL) IS NULL'),
	't', 'a stream that is NULL gives NULL');

subtest 'a name leaves the setting, and comes back' => sub {
	$writer->query_safe('BEGIN');
	my $time = insert_row($writer, 'outbox');
	reload_with($node, streams => 'new, audit');
	like(
		error_in($observer, "SELECT flakeid_watermark('outbox')"),
		qr/ERROR:  42704/,
		'a stream that has left the setting has no watermark');
	is(streams_held($observer),
		'{flake,outbox}', 'the view has the name of a stream that has left the setting');
	passes($observer, $time, 'a new stream is not held by a transaction of the one that has left',
		'new');
	reload_with($node, streams => 'new, other, outbox');
	is_held($observer, $time, 'a stream that comes back is held by transactions from before',
		'outbox');
	$writer->query_safe('COMMIT');
	passes($observer, $time, 'a stream that comes back goes on', 'outbox');
};

subtest 'a name has its place until a restart' => sub {
	# A name gets its place with its first use. "outbox" and "new" have one already.
	my @names = map { "s$_" } 1 .. 25 - 2;
	reload_with($node, streams => join ', ', @names);
	$observer->query_safe("SELECT flakeid_watermark('$_')") for @names;
	reload_with($node, streams => 'one');
	my $error = qr/ERROR:  54000: too many streams since the server started/;
	like(
		error_in($observer, "SELECT flakeid_watermark('one')"),
		qr/$error.*DETAIL:  The limit is 25 named streams\..*HINT:  Restart the server\./s,
		'a name without a place is an error');
	like(error_in($observer, "SELECT flake_next_in('one')"),
		$error, 'a call with a name without a place is an error');
	$_->quit for $writer, $observer;
	$node->stop;
	$clock->start;
	is($node->safe_psql('postgres', "SELECT flakeid_watermark('one') < clock_timestamp()"),
		't', 'a restart frees the places');
};

subtest 'a standby has one watermark' => sub {
	my $standby = standby_of($node, 'standby');
	like(
		error_of($standby, "SELECT flakeid_watermark('one')"),
		qr/ERROR:  55000: this standby has replayed no watermark of its primary/,
		'a standby that has replayed no watermark has none of a named stream');
	reload_with($node, standby_watermark_interval => '20ms');
	# The first ID after the reload starts the worker that writes it.
	$node->safe_psql('postgres', 'SELECT flake_next()');
	ok($standby->poll_query_until('postgres', 'SELECT flakeid_watermark() IS NOT NULL'),
		'a standby replays a watermark');
	# Between the calls of one statement the standby may replay the next watermark.
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$standby->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'")
	  or die 'the replay does not pause';
	my $all = 'flakeid_watermark()';
	is( $standby->safe_psql(
			'postgres',
			"SELECT flakeid_watermark('one') = $all AND flakeid_watermark('flake') = $all"),
		't',
		'on a standby the watermark of a stream is that of all IDs');
	$standby->stop;
};
$node->stop;

done_testing();
