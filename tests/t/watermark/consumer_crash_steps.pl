# A worker, its session or the server crashes in each step of a consumer of examples/consumers.sql.
# The next worker gets the same rows, or the next ones after an acknowledgement that is committed.
# watermark/consumers_crashes.pl has many workers at once.
use strict;
use warnings;
use lib 'tests/perl';

use Consumers;
use Server;
use Test::More;

my $server = Consumers->new;
my $node = $server->node;
sub sql { return $server->sql(@_) }

$server->insert(1 .. 9);
$server->settle;
my @batches = ('t1 t2 t3', 't4 t5 t6', 't7 t8 t9');

# Ends the process of a session, and waits until it is gone.
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
	sql("SELECT consumers.set_consumer('mailer', 1)");
	my $crashing = session($node);
	$crashing->query_safe('BEGIN');
	$server->take($crashing, 'mailer');
	crash($crashing);
	is($server->next_topics('mailer'),
		$batches[0],
		'a crash before the batch is committed: the next worker gets the same rows at once');
	$crashing = session($node);
	is(($server->take($crashing, 'mailer'))[1], $batches[0], 'a worker gets a batch');
	crash($crashing);
	is($server->next_topics('mailer'),
		'', 'a crash after the batch: no worker gets the rows while the lease lasts');
	$server->pass_leases;
	is($server->next_topics('mailer'),
		$batches[0], 'a crash after the batch: the next worker gets the same rows after the lease');
	$crashing = session($node);
	my ($turn) = $server->take($crashing, 'mailer');
	$crashing->query_safe("BEGIN; SELECT consumers.acknowledge('$turn')");
	crash($crashing);
	$server->pass_leases;
	is($server->next_topics('mailer'),
		$batches[0],
		'a crash before the acknowledgement is committed: the next worker gets the same rows');
};

$node->stop;
done_testing();
