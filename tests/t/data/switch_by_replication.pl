# A switch from a publisher whose clock is ahead to its subscriber. docs/failover.md says what goes
# wrong without its steps, and that the two queries of its steps tell when nothing does.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my ($section) =
  slurp_file('docs/failover.md') =~ /^### Switch over by logical replication\n(.*?)^### /ms
  or die 'the page has no such section';
my ($last_id, $is_past) = $section =~ /^```sql\n(.*?);\n```$/msg;

# Two servers of the same generator ID, with clocks that a test sets.
my (%node, %clock);
for my $name ('publisher', 'subscriber') {
	$node{$name} = PostgreSQL::Test::Cluster->new($name);
	$node{$name}->init(allows_streaming => 'logical');
	# A walsender whose clock steps forward would end, as if it had waited that long for an answer.
	$node{$name}->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = 'flakeid'
		flakeid.generator_ids = '3'
		wal_sender_timeout = 0
		END
	$clock{$name} = FakedClock->of_node($node{$name});
	$clock{$name}->start;
	$node{$name}->safe_psql('postgres', <<~'SQL');
		CREATE EXTENSION flakeid;
		CREATE TABLE orders (
			id bigint PRIMARY KEY DEFAULT flake_next(), event sno DEFAULT sno_next()
		);
		SQL
}
my ($publisher, $subscriber) = @node{ 'publisher', 'subscriber' };
$publisher->safe_psql('postgres', 'CREATE PUBLICATION orders FOR TABLE orders');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION orders CONNECTION '" . $publisher->connstr('postgres') =~
	  s{'}{''}gr . "' PUBLICATION orders");
$subscriber->wait_for_subscription_sync($publisher, 'orders');

# The publisher's clock is an hour ahead, and generates a thousand IDs in one tick. The subscriber's
# clock must not come to that tick by itself.
my $moment = time() + 3600;
$clock{publisher}->stand_still($moment);
$publisher->safe_psql('postgres', 'INSERT INTO orders SELECT FROM generate_series(1, 1000)');
$publisher->wait_for_catchup('orders');
my $end = $publisher->safe_psql('postgres', $last_id);
my $query = $is_past =~ s/timestamptz '[^']*'/timestamptz '$end'/r;
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION orders DISABLE');

# without the steps --------------------------------------------------------------------------------

is($subscriber->safe_psql('postgres', $query),
	'f', "the page's queries say that the subscriber's clock is not past the last ID");
is( $subscriber->safe_psql(
		'postgres', 'INSERT INTO orders DEFAULT VALUES RETURNING id < (SELECT max(id) FROM orders)'
	),
	't',
	'a row that is inserted then has an ID below those that are there,'
	  . ' which a reader of id > last misses');
$clock{subscriber}->stand_still($moment);
like(
	error_of($subscriber, 'INSERT INTO orders DEFAULT VALUES'),
	qr/ERROR:  23505: duplicate key value violates unique constraint "orders_pkey"/,
	'when the clock comes to that tick, the same generator ID generates the same flakes');
is( $subscriber->safe_psql(
		'postgres',
		'SELECT count(*) > 0 FROM sno_next_batch(100) AS made JOIN orders ON event = made'),
	't',
	'it also generates the same snos, which no index refuses');

# with the steps -----------------------------------------------------------------------------------

reload_with($subscriber, generator_ids => '4');
is( $subscriber->safe_psql(
		'postgres', 'SELECT count(*) FROM flake_next_batch(1000) AS made JOIN orders ON id = made'),
	'0',
	'with a generator ID of its own none of its IDs is one of the publisher');
$clock{subscriber}->set($moment + 1);
is($subscriber->safe_psql('postgres', $query),
	't', "the page's queries say when the subscriber's clock is past the last ID");
is( $subscriber->safe_psql('postgres', <<~'SQL'),
		INSERT INTO orders DEFAULT VALUES
		RETURNING id > (SELECT max(id) FROM orders), event > (SELECT max(event) FROM orders)
		SQL
	't|t',
	'a row that is inserted then has IDs above all others');

$_->stop for $subscriber, $publisher;
done_testing();
