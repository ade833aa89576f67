# A worker of logical replication that generates IDs holds the watermark as a session does. And a thousand prepared
# transactions hold it, until the last of them has ended.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use List::Util qw(min shuffle);
use Postmaster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $PREPARED = 1000;

my ($flake, $sno) = map {
	my $name = $_;
	grep { $_->{name} eq $name } @ID_TYPES
} 'flake', 'sno';

# workers of logical replication ---------------------------------------------------------------------------------------

my ($publisher, $subscriber) = map {
	my $node = PostgreSQL::Test::Cluster->new($_);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'flakeid'\nlog_statement = none\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	$node
} 'publisher', 'subscriber';

# The subscriber gives each row an ID of its own. A trigger waits for the gate after that.
$publisher->safe_psql('postgres',
	'CREATE TABLE rows (nr integer PRIMARY KEY); CREATE PUBLICATION rows FOR TABLE rows');
$subscriber->safe_psql('postgres', <<'SQL');
CREATE TABLE rows (nr integer PRIMARY KEY, id bigint DEFAULT flake_next(), object sno DEFAULT sno_next());
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); RETURN new; END';
CREATE TRIGGER wait AFTER INSERT ON rows FOR EACH ROW EXECUTE FUNCTION wait();
ALTER TABLE rows ENABLE ALWAYS TRIGGER wait;
SQL
my ($observer, $gate) = map { session($subscriber) } 1 .. 2;

# Waits for a worker at the gate. Tests that its transaction, and no other, holds the watermark, and opens the gate. Returns
# a time at which the worker was waiting.
sub is_held_by_worker {
	my ($what) = @_;
	is_blocked($observer);
	my $time = clock_in($observer);
	is_held($observer, $time, "$what holds the watermark");
	my $holders =
	  'SELECT backend_type, h.gid, h.xid IS NOT NULL, h.database FROM pg_stat_flakeid_watermark AS h JOIN pg_stat_activity USING (pid)';
	like(
		$observer->query_safe($holders),
		qr/\Alogical replication[\w ]* worker\|\|t\|postgres\z/,
		'... the view says so');
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	return $time;
}

$gate->query_safe('SELECT pg_advisory_lock(1)');
$publisher->safe_psql('postgres', 'INSERT INTO rows VALUES (1)');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION rows CONNECTION '" . $publisher->connstr('postgres') =~
	  s/'/''/gr . "' PUBLICATION rows");
my $later = is_held_by_worker('the worker that copies a table');
$subscriber->wait_for_subscription_sync($publisher, 'rows');
passes($observer, $later, '... until it has committed');

for my $round (1 .. 3) {
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	$publisher->safe_psql('postgres',
		"INSERT INTO rows SELECT nr FROM generate_series($round * 100, $round * 100 + 4) AS nr");
	my $later = is_held_by_worker("round $round: the worker that applies changes");
	$publisher->wait_for_catchup('rows');
	passes($observer, $later, '... until it has committed');
	passes($observer, clock_in($observer), '... and then nothing holds it');
	my $first = $subscriber->safe_psql('postgres', 'SELECT count(*) FROM rows');
	is($first, 1 + 5 * $round, '... then there are its rows');
	is( $observer->query_safe(
			'SELECT count(*) FROM rows WHERE flake_before(id, flakeid_watermark()) AND object < flakeid_watermark()'
		),
		$first,
		'... below the watermark');
}

# A worker that ends while its transaction is open.
$gate->query_safe('SELECT pg_advisory_lock(1)');
$publisher->safe_psql('postgres', 'INSERT INTO rows VALUES (1000)');
is_blocked($observer);
my $ended = clock_in($observer);
is_held($observer, $ended, 'a worker that is going to be terminated holds the watermark');
$observer->query_safe('ALTER SUBSCRIPTION rows DISABLE');
$observer->query_safe("SELECT pg_terminate_backend(pid) FROM pg_stat_flakeid_watermark");
passes($observer, $ended, '... until it has ended');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
$observer->query_safe('ALTER SUBSCRIPTION rows ENABLE');
$publisher->wait_for_catchup('rows');
is( $observer->query_safe('SELECT count(*), count(DISTINCT id), count(DISTINCT object) FROM rows'),
	'17|17|17', '... and its row comes, with other IDs');
passes($observer, clock_in($observer), '... and nothing holds the watermark');

$_->quit for $observer, $gate;
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION rows');
$_->stop for $subscriber, $publisher;

# a thousand prepared transactions -------------------------------------------------------------------------------------

my $node = PostgreSQL::Test::Cluster->new('thousand');
$node->init;
$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid'
log_statement = none
max_prepared_transactions = $PREPARED
END
my $postmaster = Postmaster->start($node);
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$node->safe_psql('postgres', join ' ',
	map { "CREATE TABLE $_->{name}s (id $_->{type} DEFAULT $_->{next} PRIMARY KEY);" } $flake,
	$sno);
$observer = session($node);
watermark_in($observer);

# Many in one statement of psql. Each says its name and the time of its ID.
sub prepared {
	my ($first, $last) = @_;
	my $sql = '';
	for my $nr ($first .. $last) {
		my $id_type = $nr % 2 ? $flake : $sno;
		$sql .=
			"BEGIN; INSERT INTO $id_type->{name}s DEFAULT VALUES RETURNING 'many $nr', "
		  . in_micros("$id_type->{name}_timestamp(id)")
		  . "; PREPARE TRANSACTION 'many $nr';\n";
	}
	return map { split /\|/ } split /\n/, $node->safe_psql('postgres', $sql);
}

sub end_all {
	my @gids = @_;
	my $nr = 0;
	$node->safe_psql('postgres', join '',
		map { ($nr++ % 3 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$_';\n" } @gids);
	return;
}

my %time = prepared(1, $PREPARED);
is(scalar keys %time, $PREPARED, "$PREPARED transactions are prepared");
my $seen = 0;
for my $how ('', 'fast', 'kill', 'fast') {
	if ($how) {
		# Some of those that are left end before each life, whichever they are, and as many come.
		my @ended = (shuffle(sort keys %time))[ 0 .. 299 ];
		end_all(@ended);
		delete @time{@ended};
		%time = (%time, prepared($PREPARED * 2, $PREPARED * 2 + 99)) if $how eq 'kill';
		if ($how eq 'kill') {
			$postmaster->kill9;
			eval { $observer->{run}->finish };
		}
		else {
			$observer->quit;
			$postmaster->stop('fast');
		}
		$postmaster = Postmaster->start($node);
		$observer = session($node);
	}
	my $what = ($how ? "after a stop ($how) " : '') . keys(%time) . ' prepared transactions';
	is_held($observer, min(values %time), "$what hold the watermark at the first");
	my $now = watermark_in($observer);
	cmp_ok($now, '>=', $seen, '... which has not fallen');
	$seen = $now;
	is( $observer->query_safe(
			'SELECT string_agg(gid, \',\' ORDER BY gid COLLATE "C") FROM pg_stat_flakeid_watermark WHERE pid IS NULL'
		),
		join(',', sort keys %time),
		'... all are in the view, and no other');
}
my $after = clock_in($observer);
is_held($observer, $after, 'those that are left hold it');
end_all(sort keys %time);
passes($observer, $after, '... until all have ended');
is($observer->query_safe('SELECT count(*) FROM pg_stat_flakeid_watermark'),
	'0', '... and the view is empty');
$observer->quit;
$postmaster->stop('fast');

done_testing();
