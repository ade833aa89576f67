# Turns of a consumer of examples/consumers.sql: which acknowledgements count, and which are refused
# since they would pass rows of another worker. What two workers get at once, and in transactions
# whose snapshot is older than the cursor. When a worker, its session or the server crashes in any
# step, the next worker gets the same rows, or the next ones after an acknowledgement that is
# committed. consumers_crashes.pl has many workers at once.
use strict;
use warnings;
use lib 'tests/perl';

use Consumers;
use Server;
use Test::More;

my $server = Consumers->new;
my $node = $server->node;
sub sql         { return $server->sql(@_) }
sub next_topics { return $server->next_topics('mailer') }

$server->insert(1 .. 9);
$server->settle;
my @batches = ('t1 t2 t3', 't4 t5 t6', 't7 t8 t9');
my ($one, $two) = map { session($node) } 1 .. 2;

sub acknowledge {
	my ($session, @arguments) = @_;
	return error_in($session,
		"SELECT consumers.acknowledge(@{[ join ', ', map { qq('$_') } @arguments ]})");
}

# Lets the consumer begin again with the first row.
sub reset_mailer { return sql("SELECT consumers.set_consumer('mailer', 1, '-1')") }

reset_mailer();
my $turn;
subtest 'an acknowledgement counts if no other worker has got the rows' => sub {
	($turn) = $server->take($one, 'mailer');
	is(acknowledge($one, $turn), '', 'a worker acknowledges its turn');
	is(next_topics(), $batches[1], 'after the acknowledgement the next worker gets the next rows');
	like(
		acknowledge($one, $turn),
		qr/55000: +this turn is over/,
		'a second acknowledgement is refused');
	is(next_topics(), $batches[1], 'a second acknowledgement moves nothing');

	($turn) = $server->take($one, 'mailer');
	$server->pass_leases;
	acknowledge($one, $turn);
	is(next_topics(), $batches[2],
		'an acknowledgement after the lease counts if no other worker has got the rows');

	reset_mailer();
	($turn) = $server->take($one, 'mailer');
	$server->pass_leases;
	my ($later_turn, $later_topics) = $server->take($two, 'mailer');
	is($later_topics, $batches[0], 'after the lease a second worker gets the same rows');
	like(acknowledge($one, $turn),
		qr/55000/, 'an acknowledgement is refused while another worker has the turn');
	acknowledge($two, $later_turn);
	like(acknowledge($one, $turn),
		qr/55000/, 'an acknowledgement is refused when another worker has had the turn');
	is(next_topics(), $batches[1], 'a late acknowledgement does not move the cursor');

	($turn) = $server->take($one, 'mailer');
	my ($fifth, $ninth) = map { sql("SELECT id FROM outbox WHERE topic = '$_'") } 't5', 't9';
	like(acknowledge($one, $turn, $ninth),
		qr/55000/, 'an acknowledgement of an ID after the batch is refused');
	like(acknowledge($one, $turn, -1),
		qr/55000/, 'an acknowledgement of an ID before the batch is refused');
	acknowledge($one, $turn, $fifth);
	is(next_topics(), 't6 t7 t8',
		'an acknowledgement of an ID in the batch moves the cursor there');

	($turn) = $server->take($one, 'mailer');
	reset_mailer();
	like(acknowledge($one, $turn), qr/55000/, 'an acknowledgement is refused after a reset');
	is(next_topics(), $batches[0], 'a consumer that was reset begins again');
};

($turn) = $server->take($one, 'mailer');
sql("SELECT consumers.set_consumer('mailer', 1)");
acknowledge($one, $turn);
is(next_topics(), $batches[1], 'a consumer that is created again is left as it is');
sql(<<~'SQL');
	SELECT consumers.set_consumer('at end', 1, (SELECT id FROM outbox ORDER BY id DESC LIMIT 1))
	SQL
is( sql('BEGIN',
		"SELECT count(*) FROM consumers.next_batch('at end')",
		'SELECT pg_current_xact_id_if_assigned() IS NULL', 'COMMIT'),
	"0\nt",
	'an empty batch of a table that is read to its end writes nothing');

$one->query_safe('BEGIN');
$server->take($one, 'mailer');
is(($server->take($two, 'mailer'))[1],
	undef, 'a second worker with the same name gets nothing, and does not wait');
$one->query_safe('ROLLBACK');

for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	reset_mailer();
	$one->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM outbox");
	acknowledge($two, ($server->take($two, 'mailer'))[0]);
	like(error_in($one, "SELECT count(*) FROM consumers.next_batch('mailer', 0, 3)"),
		qr/40001/,
		"$level: a worker whose snapshot has an older cursor gets an error that asks for a retry");
	$one->query_safe("ROLLBACK; BEGIN ISOLATION LEVEL $level");
	my ($turn, $topics) = $server->take($one, 'mailer');
	acknowledge($one, $turn);
	$one->query_safe('COMMIT');
	is( "$topics, " . next_topics(),
		"$batches[1], $batches[2]",
		"$level: the retry gets the next rows");
}

$_->quit for $one, $two;

sub crash {
	my ($session) = @_;
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	sql("SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres', <<~"SQL") or die 'the session does not end';
		SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid
		SQL
	$session->quit;
	return;
}

sub effects { return sql('SELECT count(*) FROM effects') }

subtest 'a consumer in the same database processes each row once' => sub {
	# Wherever a worker crashes, either both the effect and the cursor are there, or neither is.
	sql('CREATE TABLE effects (id flake)', "SELECT consumers.set_consumer('once', 1)");
	my @steps = (
		[ 'the lock', "BEGIN; SELECT FROM consumers.cursors WHERE consumer = 'once' FOR UPDATE" ],
		[ 'the batch', <<~'SQL' ],
			CREATE TEMP TABLE batch ON COMMIT DROP AS
				SELECT turn, (message).id FROM consumers.next_batch('once', 0, 3)
			SQL
		[ 'the effect', 'INSERT INTO effects (id) SELECT id FROM batch' ],
		[
			'the acknowledgement',
			'SELECT consumers.acknowledge(turn) FROM (SELECT DISTINCT turn FROM batch) AS turns'
		],
		[ 'the commit', 'COMMIT' ]);
	for my $last (0 .. $#steps) {
		my ($step, $is_done) = ($steps[$last][0], $last == $#steps);
		my $session = session($node);
		$session->query_safe($_->[1]) for @steps[ 0 .. $last ];
		is($server->next_topics('once'),
			'', "after $step a second worker gets no rows of the first one's batch")
		  if $last > 0 && !$is_done;
		crash($session);
		is( effects(),
			$is_done ? 3 : 0,
			"a crash after $step: the effect is " . ($is_done ? 'there' : 'not there'));
		is( $server->next_topics('once'),
			$batches[ $is_done ? 1 : 0 ],
			"a crash after $step: the next worker gets the "
			  . ($is_done ? 'next' : 'same') . ' rows');
	}

	my $session = session($node);
	$session->query_safe($_->[1]) for @steps[ 0 .. 3 ];
	crash_server($node);
	$session->quit;
	is($server->next_topics('once'),
		$batches[1], 'a crash of the server before the commit: the next worker gets the same rows');
	is(effects(), 3, 'a crash of the server before the commit: the effect is not there');
};

subtest 'a consumer with leases processes each row at least once' => sub {
	reset_mailer();
	my $crashing = session($node);
	$crashing->query_safe('BEGIN');
	$server->take($crashing, 'mailer');
	crash($crashing);
	is(next_topics(), $batches[0],
		'a crash before the batch is committed: the next worker gets the same rows at once');
	$crashing = session($node);
	is(($server->take($crashing, 'mailer'))[1], $batches[0], 'a worker gets a batch');
	crash($crashing);
	is(next_topics(), '', 'a crash after the batch: no worker gets the rows while the lease lasts');
	$server->pass_leases;
	is(next_topics(),
		$batches[0], 'a crash after the batch: the next worker gets the same rows after the lease');
	$crashing = session($node);
	my ($turn) = $server->take($crashing, 'mailer');
	$crashing->query_safe("BEGIN; SELECT consumers.acknowledge('$turn')");
	crash($crashing);
	$server->pass_leases;
	is(next_topics(), $batches[0],
		'a crash before the acknowledgement is committed: the next worker gets the same rows');
};

$node->stop;
done_testing();
