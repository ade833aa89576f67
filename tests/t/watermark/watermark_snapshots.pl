# The watermark belongs to the snapshot of the statement that calls it, in every isolation level and in every way in
# which a statement gets its snapshot. An open transaction that has generated an ID holds it back, and nothing else does.
use strict;
use warnings;
use lib 'tests/perl';

use AtOnce;
use IPC::Run;
use Ledger;
use Plan;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);
use Watermark;

my $node = PostgreSQL::Test::Cluster->new('snapshots');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
wal_level = logical
log_statement = none
autovacuum = off
max_connections = 150
max_prepared_transactions = 10
max_worker_processes = 16
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
END
$node->start;
create_tables($node);
my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE plain (nr integer);
CREATE TABLE source AS SELECT nr FROM generate_series(1, 2000) AS nr;
CREATE FUNCTION stable_sql() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT flakeid_watermark()';
CREATE FUNCTION stable_plpgsql() RETURNS timestamptz LANGUAGE plpgsql STABLE AS 'BEGIN RETURN flakeid_watermark(); END';
CREATE FUNCTION volatile_plpgsql() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RETURN flakeid_watermark(); END';
CREATE FUNCTION insert_and_call() RETURNS timestamptz LANGUAGE plpgsql AS
	'BEGIN INSERT INTO plain VALUES (1); RETURN flakeid_watermark(); END';
-- Waits while the test holds the lock.
CREATE FUNCTION wait() RETURNS boolean LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); RETURN true; END';
SQL

my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;

# Sessions: writers, and a session that reads, one that observes, and one that has the lock for which others wait.
my ($writer, $other, $reader, $observer, $gate) = map { session($node) } 1 .. 5;
sub close_gate { return $gate->query_safe('SELECT pg_advisory_lock(1)') }
sub open_gate  { return $gate->query_safe('SELECT pg_advisory_unlock(1)') }

# what it is -----------------------------------------------------------------------------------------------------------

is( $observer->query_safe(
		"SELECT provolatile, proparallel, pronargs, proretset, prorettype::regtype, has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc WHERE proname = 'flakeid_watermark' ORDER BY pronargs"
	),
	"s|r|0|f|timestamp with time zone|t\ns|r|1|f|timestamp with time zone|t",
	'the watermark is a stable function that anyone may call');
is( $observer->query_safe(
		"SELECT count(*) FROM generate_series(1, 1000) WHERE flakeid_watermark() IS NULL OR flakeid_watermark() > clock_timestamp()"
	),
	'0',
	'... it is never null, and never past the clock');
is($observer->query_safe("SELECT $WATERMARK % 1000"),
	'0', '... it is a whole number of milliseconds');
for my $time (1 .. 3) {
	passes($observer, clock_in($observer),
		'... on a server on which nothing happens it follows the clock');
}

# what holds it back ---------------------------------------------------------------------------------------------------

my $view =
	'SELECT pid, gid, xid, database, '
  . in_micros('first_id_at') . ', '
  . in_micros('watermark')
  . ' FROM pg_stat_flakeid_watermark';
is($observer->query_safe($view), '', 'nothing holds it back');
for my $id_type (@ID_TYPES) {
	my ($name, $table) = ($id_type->{name}, "$id_type->{name}s");
	for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE') {
		$writer->query_safe("BEGIN ISOLATION LEVEL $level");
		my $before = clock_in($writer);
		my $time = insert_into($writer, $id_type);
		is_held($observer, $time,
			"$name, $level: an open transaction holds the watermark at its ID or before");
		my ($pid, $gid, $xid, $database, $first, $held) = split /\|/, $observer->query_safe($view),
		  -1;
		is( "$pid $gid $xid $database",
			$writer->query_safe(
				"SELECT pg_backend_pid() || '  ' || pg_current_xact_id()::text || ' postgres'"),
			'... the view says which');
		cmp_ok($first, '<=', clock_in($observer), '... since when');
		# At most the longest tick, and what is rounded.
		cmp_ok($first, '>=', $before - 10_000, '... which is about when the ID was generated');
		is($held, watermark_in($observer), '... and where');
		is_held($writer, $time, '... in its own session too');
		$writer->query_safe(pick_end($level));
		passes($observer, $time, '... when it has ended, the watermark passes');
		is($observer->query_safe($view), '', '... and nothing holds it back');
	}
	for my $way (
		[
			'a batch',
			'SELECT id FROM ' . sprintf($id_type->{batch}, 3) . ' AS id ORDER BY id DESC LIMIT 1'
		],
		[ 'an ID without a row', "SELECT $id_type->{next}" ],
		[ 'COPY', "COPY $table (nr) FROM PROGRAM 'seq 3'" ],
		[ 'rows of a query', "INSERT INTO $table (nr) SELECT generate_series(1, 3)" ],
		[ 'an ID in a subtransaction', "SAVEPOINT s; SELECT $id_type->{next}; RELEASE s" ],
		[
			'an ID before a rollback to a savepoint',
			"SAVEPOINT s; INSERT INTO $table DEFAULT VALUES; ROLLBACK TO s"
		],
		[
			'an ID in PL/pgSQL that fails',
			"DO \$\$ BEGIN PERFORM $id_type->{next}; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN END \$\$"
		],)
	{
		my ($what, $sql) = @$way;
		my $before = clock_in($writer);
		$writer->query_safe("BEGIN; $sql");
		my $after = clock_in($writer);
		is_held($observer, $after, "$name: $what holds the watermark back");
		cmp_ok(watermark_in($observer), '>=', $before - 10_000, '... about there');
		$writer->query_safe('ROLLBACK');
		passes($observer, $after, '... until the end');
	}
}

sub pick_end { my ($level) = @_; return $level eq 'SERIALIZABLE' ? 'ROLLBACK' : 'COMMIT' }

# Its first ID counts and not its begin, nor its snapshot, nor its number.
$writer->query_safe(
	'BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO plain VALUES (1); SELECT count(*) FROM flakes'
);
$other->query_safe(
	'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM flakes; SELECT pg_current_xact_id(); SELECT flake_at(now()), flake_decode(1)'
);
passes($observer, clock_in($observer), 'transactions that generate no ID do not hold it back');
is($observer->query_safe($view), '', '... the view has none of them');
my $from = watermark_in($observer);
my $time = insert_into($writer, $flake);
cmp_ok($time, '>=', $from, '... and an ID that comes later is not below it');
is_held($observer, $time, '... it holds the watermark from then on');
my $later = insert_into($other, $flake);
is($observer->query_safe('SELECT count(*), count(DISTINCT pid) FROM pg_stat_flakeid_watermark'),
	'2|2', '... two of them are two rows in the view');
$writer->query_safe('COMMIT');
passes($observer, $time, '... when the first has ended, the watermark passes its ID');
is_held($observer, $later, '... and is held by the second');
$other->query_safe('COMMIT');
passes($observer, $later, '... until that has ended, too');

# A transaction that has no number yet, and one in another database.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION flakeid');
my $elsewhere = session($node, 'other');
$elsewhere->query_safe('BEGIN');
$time = generate_from($elsewhere, $flake);
is_held($observer, $time, 'a transaction in another database holds it back');
is($observer->query_safe('SELECT xid IS NULL, database FROM pg_stat_flakeid_watermark'),
	't|other', '... the view names the database, and no number before it has one');
$node->safe_psql('postgres',
	'CREATE ROLE reader LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor');
is( $node->safe_psql(
		'postgres', 'SET ROLE monitor; SELECT count(*) FROM pg_stat_flakeid_watermark'),
	'1',
	'... pg_monitor may read the view');
like(error_of($node, 'SET ROLE reader; SELECT count(*) FROM pg_stat_flakeid_watermark'),
	qr/42501/, '... others may not');
is($node->safe_psql('postgres', 'SET ROLE reader; SELECT flakeid_watermark() IS NOT NULL'),
	't', '... and all may call the function');
my $pid = $elsewhere->query_safe('SELECT pg_backend_pid()');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 60000)");
passes($observer, $time, '... a session that is terminated holds it no longer');
$elsewhere->{run}->finish;

# one statement, one watermark -----------------------------------------------------------------------------------------

# While a statement waits in the middle, other sessions commit, and the watermark goes on for them.
sub in_the_middle {
	my ($sql) = @_;
	close_gate();
	begin_in($reader, $sql);
	is_blocked($observer);
	my $time = insert_into($writer, $flake);
	passes($observer, $time, 'while a statement waits, the watermark goes on for others');
	open_gate();
	return ended_in($reader);
}

my $rows = 'generate_series(1, 3) AS nr';
is( in_the_middle(
		"SELECT count(DISTINCT at), count(*) FROM (SELECT flakeid_watermark() AS at, CASE WHEN nr = 2 THEN wait() END FROM $rows OFFSET 0) AS calls"
	),
	'1|3',
	'... and one statement sees one');
is( in_the_middle(
		"SELECT count(DISTINCT at), count(*) FROM (SELECT unnest(ARRAY[flakeid_watermark(), stable_sql(), stable_plpgsql()]) AS at, CASE WHEN nr = 2 THEN wait() END FROM $rows OFFSET 0) AS calls"
	),
	'1|9',
	'... also in stable functions, which see their caller\'s');
is( in_the_middle(
		"SELECT bool_and(first = second), bool_and(within >= first), bool_or(within > first) FROM (SELECT flakeid_watermark() AS first,"
		  . " CASE WHEN nr = 2 THEN wait() END, volatile_plpgsql() AS within, flakeid_watermark() AS second FROM $rows OFFSET 0) AS calls"
	),
	't|t|t',
	'... a volatile function sees later ones, and that changes nothing for its caller');
is( in_the_middle(
		"SELECT bool_and(first = second), bool_and(within >= first) FROM (SELECT flakeid_watermark() AS first,"
		  . " CASE WHEN nr = 2 THEN wait() END, insert_and_call() AS within, flakeid_watermark() AS second FROM $rows OFFSET 0) AS calls"
	),
	't|t',
	'... nor if it writes');
is( in_the_middle(
		"WITH written AS (INSERT INTO plain SELECT nr FROM $rows WHERE nr <> 2 OR wait() RETURNING flakeid_watermark() AS at) SELECT count(DISTINCT at), count(*) FROM written"
	),
	'1|3',
	'... nor a statement that writes');
$node->safe_psql('postgres',
	'CREATE TABLE keyed (nr integer PRIMARY KEY); INSERT INTO keyed VALUES (1), (3)');
is( in_the_middle(
		"WITH written AS (INSERT INTO keyed SELECT nr FROM $rows WHERE nr <> 2 OR wait() ON CONFLICT (nr) DO UPDATE SET nr = excluded.nr RETURNING flakeid_watermark() AS at) SELECT count(DISTINCT at), count(*) FROM written"
	),
	'1|3',
	'a statement with ON CONFLICT, whose snapshots have speculative tokens, has one watermark');
chomp(my $headers = `pg_config --includedir-server`);
like(
	slurp_file("$headers/utils/snapshot.h"),
	qr/not used in MVCC\s+\* snapshots\.\s+\*\/\s+uint32\s+speculativeToken;/,
	'PostgreSQL does not use the field of MVCC snapshots that keeps the number of a snapshot');

# A row between the watermark of the statement's begin and that of its end. It was not generated, so nothing keeps a
# statement from reading it except the watermark.
$node->safe_psql('postgres', 'CREATE TABLE probes (nr integer, id bigint)');
close_gate();
my $soon = clock_in($observer) + 3_000_000;
$node->safe_psql('postgres',
	"INSERT INTO probes VALUES (1, 0), (2, 1), (3, flake_at(to_timestamp($soon / 1000000.0))), (4, 2)"
);
$reader->query_safe('SET max_parallel_workers_per_gather = 0');
begin_in($reader,
	q{SELECT string_agg(nr::text, ' ' ORDER BY nr) FROM probes WHERE CASE WHEN nr = 2 THEN wait() ELSE true END AND flake_before(id, flakeid_watermark())}
);
is_blocked($observer);
my $began_before = clock_in($observer) < $soon;
passes($observer, $soon,
	'while a seq scan waits, the watermark passes a row that it comes to later');
open_gate();
my $seen = ended_in($reader);
$began_before
  ? is($seen, '1 2 4', '... and the scan does not return that row')
  : pass('the scan began too late to show it');
$reader->query_safe('RESET max_parallel_workers_per_gather');

# The same for every way in which one statement stays open.
for my $way ([ 'a cursor', '', '' ], [ 'a cursor WITH HOLD', 'WITH HOLD', 'COMMIT; BEGIN' ]) {
	my ($what, $hold, $between) = @$way;
	$reader->query_safe('BEGIN');
	$reader->query_safe(
		"DECLARE calls CURSOR $hold FOR SELECT $WATERMARK FROM generate_series(1, 10)");
	# What is committed after the cursor has its snapshot, and before it is first asked.
	my $unseen = insert_into($writer, $flake);
	passes($observer, $unseen, "$what: when others are past a row");
	$reader->query_safe($between) if $between;
	# A cursor that is held gets its rows when its transaction ends, with the snapshot that it has.
	my $first = $reader->query_safe('FETCH 1 FROM calls');
	cmp_ok($first, '<=', $unseen, '... it is not, as its snapshot does not see the row');
	my $second = $reader->query_safe('FETCH 1 FROM calls');
	is($second, $first, '... it has one watermark');
	passes($reader, $unseen, '... another statement of its transaction has a later one');
	insert_into($reader, $flake) if !$hold;
	$reader->query_safe(
		'SAVEPOINT s; SELECT volatile_plpgsql(); INSERT INTO plain VALUES (1); RELEASE s');
	is($reader->query_safe('FETCH 1 FROM calls'),
		$first, '... and after that the cursor has the same as before');
	$reader->query_safe(
		'DECLARE more CURSOR FOR SELECT ' . $WATERMARK . ' FROM generate_series(1, 10)');
	my $of_more = $reader->query_safe('FETCH 1 FROM more');
	cmp_ok($of_more, '>', $unseen, '... a later cursor has a later one') if $hold;
	is( $reader->query_safe('FETCH 1 FROM calls') . ' ' . $reader->query_safe('FETCH 1 FROM more'),
		"$first $of_more",
		'... each its own, in turns');
	is( $reader->query_safe('FETCH 1 FROM more') . ' ' . $reader->query_safe('FETCH 1 FROM calls'),
		"$of_more $first",
		'... in turns') for 1 .. 2;
	$reader->query_safe('CLOSE calls; CLOSE more; COMMIT');
}

# In PL/pgSQL each statement of a volatile function has a snapshot of its own.
close_gate();
begin_in($reader, <<'SQL');
DO $$
DECLARE
	before timestamptz := flakeid_watermark();
	after timestamptz;
BEGIN
	PERFORM wait();
	after := flakeid_watermark();
	INSERT INTO plain SELECT CASE WHEN after > before THEN 42 ELSE 43 END;
END
$$
SQL
is_blocked($observer);
passes($observer, clock_in($observer), 'while a DO block waits');
open_gate();
ended_in($reader);
is($node->safe_psql('postgres', 'SELECT nr FROM plain WHERE nr IN (42, 43)'),
	'42', '... its next statement sees a later watermark');

# prepared statements --------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'ANALYZE ' . join ', ', map { "$_->{name}s" } @ID_TYPES);
for my $id_type (@ID_TYPES) {
	my ($name, $table) = ($id_type->{name}, "$id_type->{name}s");
	$reader->query_safe(
		"DEALLOCATE ALL; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;"
		  . " PREPARE newer ($id_type->{type}) AS SELECT id FROM $table WHERE id > \$1 AND "
		  . before_watermark($id_type)
		  . ' ORDER BY id');
	my ($last) = $reader->query_safe("SELECT id FROM $table ORDER BY id DESC LIMIT 1");
	my $plan = $reader->query_safe("EXPLAIN (COSTS off) EXECUTE newer ('$last')");
	like(
		$plan,
		qr/Index Cond: .*\$1.*flakeid_watermark\(\)/,
		"$name: the generic plan of a reader's statement is a range of the index");
	unlike($plan, qr/Sort|Filter: (?!flakeid_recheck)/, '... and no more');
	for my $time (1 .. 3) {
		$writer->query_safe('BEGIN');
		my ($id, $at) = split /\|/,
		  $writer->query_safe("INSERT INTO $table DEFAULT VALUES RETURNING id, "
			  . in_micros("${name}_timestamp(id)"));
		clock_passes($observer, $at);
		is($reader->query_safe("EXECUTE newer ('$last')"),
			'', '... it does not read a row that is not committed');
		$writer->query_safe('COMMIT');
		passes($observer, $at, '... when it is, and the watermark is past it');
		is($reader->query_safe("EXECUTE newer ('$last')"), $id, '... it reads it');
		$last = $id;
	}
}
$reader->query_safe('RESET ALL');

# old snapshots --------------------------------------------------------------------------------------------------------

# A snapshot that is taken while a transaction is open does not see its row, whenever that transaction ends, nor those of
# transactions that come later. However many these are, the watermark is not above them.
sub snapshot {
	my ($session, $level) = @_;
	$session->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM plain");
	return;
}

for my $level ('REPEATABLE READ', 'SERIALIZABLE') {
	for my $id_type (@ID_TYPES) {
		my $name = $id_type->{name};
		$writer->query_safe('BEGIN');
		my $open = insert_into($writer, $id_type);
		snapshot($reader, $level);
		$writer->query_safe('COMMIT');
		is_held($reader, $open,
			"$name, $level: a snapshot from before a commit has a watermark from before the ID");
		passes($observer, $open, '... when others are past it');
		is_held($reader, $open, '... it is not');
		$reader->query_safe('COMMIT');
		passes($reader, $open, '... and its session is past it with its next transaction');

		my $before = watermark_in($observer);
		snapshot($reader, $level);
		my $later = insert_into($writer, $id_type);
		is_held($reader, $later,
			"$name, $level: it has one from before an ID that was generated later");
		passes($observer, $later, '... when others are past it');
		is_held($reader, $later, '... too');
		cmp_ok(watermark_in($reader), '>=', $before,
			'... and from not before what others had when it was taken');
		$reader->query_safe('COMMIT');
	}
}

# A transaction that writes rows in subtransactions, more than its snapshot can name.
for my $savepoints (1, 3, 100) {
	$writer->query_safe('BEGIN');
	my $first;
	for my $savepoint (1 .. $savepoints) {
		$writer->query_safe("SAVEPOINT s$savepoint");
		my $time = insert_into($writer, $flake);
		$first //= $time;
	}
	snapshot($reader, 'REPEATABLE READ');
	is_held($reader, $first, "$savepoints subtransactions: they hold the watermark");
	$writer->query_safe('COMMIT');
	passes($observer, $first, '... until they have ended');
	is_held($reader, $first, '... and for a snapshot from before that they do then');
	$reader->query_safe('COMMIT');
}

# Many transactions, in one session or in many, after the snapshot. Those of an earlier life of the slot are forgotten.
for my $many (
	[ 'one session', 1, 400 ],
	[ 'many sessions', 40, 10 ],
	[ 'a transaction with an ID from before', 1, 400 ])
{
	my ($what, $sessions, $transactions) = @$many;
	passes(
		$observer,
		$observer->query_safe('SELECT max(' . in_micros('flake_timestamp(id)') . ') FROM flakes'),
		'before another test the watermark is past all rows');
	my $before = watermark_in($observer);
	my $first;
	if ($what =~ /before/) {
		$other->query_safe('BEGIN');
		$first = insert_into($other, $flake);
	}
	snapshot($reader, 'REPEATABLE READ');
	my $newest = $reader->query_safe('SELECT max(id) FROM flakes');
	my $script = PostgreSQL::Test::Utils::tempdir('many') . '/script';
	append_to_file($script, "INSERT INTO flakes DEFAULT VALUES;\n");
	my $said = '';
	IPC::Run::run(
		[
			'pgbench', '-n', '-c', $sessions, '-j', 1, '-t', $transactions, '-f', $script,
			$node->connstr('postgres')
		],
		'>',
		\my $out,
		'2>',
		\$said) or die "pgbench: $said";
	$other->query_safe('COMMIT') if defined $first;
	my $unseen = $observer->query_safe(
		'SELECT min(' . in_micros('flake_timestamp(id)') . ") FROM flakes WHERE id > $newest");
	$unseen = $first if defined $first;
	is_held($reader, $unseen,
		"after $transactions transactions of $what an old snapshot has a watermark that holds");
	cmp_ok(watermark_in($reader), '>=', $before,
		'... not before what others had when it was taken');
	my $greatest =
	  $observer->query_safe('SELECT max(' . in_micros('flake_timestamp(id)') . ') FROM flakes');
	passes($observer, $greatest, '... when others are past all of them');
	is_held($reader, $unseen, '... it is not');
	is( $reader->query_safe(
			'SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark()) AND id > '
			  . $newest),
		'0',
		'... so it reads none of them');
	$reader->query_safe('COMMIT');
	is( $reader->query_safe(
			'SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark()) AND id > '
			  . $newest),
		$sessions * $transactions + (defined $first ? 1 : 0),
		'... and reads all with the next one');
}

# exported snapshots ---------------------------------------------------------------------------------------------------

$writer->query_safe('BEGIN');
$time = insert_into($writer, $flake);
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $exported = $reader->query_safe('SELECT pg_export_snapshot()');
$writer->query_safe('COMMIT');
$later = insert_into($writer, $flake);
passes($observer, $later, 'when others are past a row');
$other->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$exported'");
is_held($other, $time,
	'... a transaction with a snapshot that was exported before the commit is not');
is_held($reader, $time, '... nor is the one that exported it');
$_->query_safe('COMMIT') for $reader, $other;

# procedures -----------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE steps (nr integer, at timestamptz, watermark timestamptz);
CREATE PROCEDURE work() LANGUAGE plpgsql AS $$
DECLARE
	made flakes;
BEGIN
	FOR step IN 1 .. 3 LOOP
		INSERT INTO flakes DEFAULT VALUES RETURNING * INTO made;
		PERFORM pg_advisory_xact_lock_shared(100 + step);
		INSERT INTO steps VALUES (step, flake_timestamp(made.id), flakeid_watermark());
		COMMIT;
	END LOOP;
END
$$;
SQL
$gate->query_safe("SELECT pg_advisory_lock(100 + $_)") for 1 .. 3;
begin_in($other, 'CALL work()');
my $held = 0;
for my $step (1 .. 3) {
	my $waits =
	  "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 100 + $step";
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until ($observer->query_safe($waits)) {
		die "step $step does not wait for its lock" if time() > $until;
		sleep 0.005;
	}
	passes($observer, $held,
		"a procedure that commits in a loop: the watermark passes what it has committed, step $step"
	);
	my $first = $observer->query_safe(
		'SELECT ' . in_micros('first_id_at') . ' FROM pg_stat_flakeid_watermark');
	is_held($observer, $first, '... and is held by what it has not');
	$held = watermark_in($observer);
	$gate->query_safe("SELECT pg_advisory_unlock(100 + $step)");
}
ended_in($other);
is($observer->query_safe('SELECT count(*), bool_and(watermark <= at) FROM steps'),
	'3|t', '... in the procedure it is not past the ID of its own transaction');
passes($observer, clock_in($observer), '... and at its end nothing holds it');

# parallel queries -----------------------------------------------------------------------------------------------------

# The leader generates the IDs.
$node->safe_psql('postgres', 'ALTER TABLE source SET (parallel_workers = 2)');
$writer->query_safe('BEGIN');
like(
	$writer->query_safe(
		'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) CREATE TABLE made AS SELECT flake_next() AS id FROM source'
	),
	qr/Workers Launched: [1-9]/,
	'a parallel query generates IDs');
my $first = $writer->query_safe('SELECT ' . in_micros('flake_timestamp(min(id))') . ' FROM made');
is_held($observer, $first, 'the IDs of a parallel query hold the watermark');
is( $observer->query_safe('SELECT pid FROM pg_stat_flakeid_watermark'),
	$writer->query_safe('SELECT pg_backend_pid()'),
	'the view names the leader of the parallel query');
$writer->query_safe('COMMIT');
passes($observer, $first,
	'the end of its transaction lets the watermark pass the IDs of a parallel query');
my $forced = $version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is( $observer->query_safe(
		"SET min_parallel_table_scan_size = 0; SET $forced = on; SELECT count(*) >= 0 FROM flakes WHERE flake_before(id, flakeid_watermark())"
	),
	't',
	'a query that could have workers calls it');
$observer->query_safe('RESET ALL');

# it does not fall -----------------------------------------------------------------------------------------------------

# Sessions compare what they see with what others have seen before.
my ($callers, $calls) = (3, 1000);
$node->safe_psql('postgres', "CREATE SEQUENCE seen_$_ MINVALUE 0") for 1 .. $callers;
my $greatest =
  'greatest(' . join(', ', map { "(SELECT last_value FROM seen_$_)" } 1 .. $callers) . ')';
my @callers = map {
	{
		declare => 'seen bigint; at bigint; falls integer := 0; ends integer := 0;',
		rounds => 10,
		round => <<"SQL",
		FOR time IN 1 .. $calls / 10 LOOP
			SELECT $greatest INTO seen;
			at := $WATERMARK;
			falls := falls + (at < seen)::integer;
			PERFORM setval('seen_$_', at);
		END LOOP
SQL
		after => q{RAISE INFO 'falls: %', falls;}
	}
} 1 .. $callers;
# Fewer transactions than a slot keeps: for what it has forgotten the watermark may be lower.
my @writers = map {
	{ round =>
		  "IF round < 2 THEN FOR nr IN 1 .. 50 LOOP INSERT INTO $_->{name}s DEFAULT VALUES; IF random() < 0.1 THEN PERFORM pg_sleep(0.001); END IF; COMMIT; END LOOP; ELSE PERFORM pg_sleep(0.01); END IF"
	}
} @ID_TYPES;
my @said = at_once($node, @callers, @writers);
like($said[ $_ - 1 ],
	qr/falls: 0$/m, "in $calls calls beside writers the watermark does not fall, caller $_")
  for 1 .. $callers;

# a standby ------------------------------------------------------------------------------------------------------------

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
my $refused = error_of($standby, 'SELECT flakeid_watermark()');
like(
	$refused,
	qr/ERROR:  55000: this standby has replayed no watermark of its primary/,
	'a standby without a watermark says so');
like(error_of($standby, 'SELECT count(*) FROM flakes WHERE flake_before(id, flakeid_watermark())'),
	qr/55000/, 'a condition on a standby without a watermark is an error');
my ($old, $new, $cursor) = map { session($standby) } 1 .. 3;
snapshot($old, 'REPEATABLE READ');
$cursor->query_safe('BEGIN; DECLARE calls CURSOR FOR SELECT flakeid_watermark()');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'the standby is not promoted';
like(
	error_in($old, 'SELECT flakeid_watermark()'),
	qr/ERROR:  55000: /,
	'a snapshot from before a promotion has no watermark');
$old->query_safe('ROLLBACK');
is(error_in($old, 'SELECT flakeid_watermark()'), '', '... and the next one of its session has');
like(
	error_in($cursor, 'FETCH 1 FROM calls'),
	qr/ERROR:  55000: /,
	'... nor has a cursor from before');
$cursor->query_safe('ROLLBACK');
passes($new, clock_in($new), '... in other sessions it follows the clock');
$new->query_safe('BEGIN');
$time = insert_into($new, $flake);
is_held($old, $time, '... and is held back');
$new->query_safe('COMMIT');
passes($old, $time, '... until the end');
$_->quit for $old, $new, $cursor;
$standby->stop;

# logical decoding -----------------------------------------------------------------------------------------------------

# A plugin that calls the function for each change.
my $plugin = <<'C';
#include "postgres.h"
#include "fmgr.h"
#include "catalog/namespace.h"
#include "nodes/value.h"
#include "nodes/pg_list.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

static void
startup(LogicalDecodingContext *ctx, OutputPluginOptions *options, bool is_init)
{
	options->output_type = OUTPUT_PLUGIN_TEXTUAL_OUTPUT;
}

static void
begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
}

static void
change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation, ReorderBufferChange *change)
{
	Oid			function = LookupFuncName(list_make2(makeString("public"), makeString("flakeid_watermark")), 0, NULL, false);

	OutputPluginPrepareWrite(ctx, true);
	appendStringInfo(ctx->out, "%lld", (long long) DatumGetInt64(OidFunctionCall0(function)));
	OutputPluginWrite(ctx, true);
}

static void
commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = startup;
	cb->begin_cb = begin;
	cb->change_cb = change;
	cb->commit_cb = commit;
}
C
my $dir = PostgreSQL::Test::Utils::tempdir('plugin');
append_to_file("$dir/calls_watermark.c", $plugin);
chomp(my $headers = `pg_config --includedir-server`);
my $compiled = '';
if (IPC::Run::run(
		[
			'cc', '-shared', '-fPIC', '-I', $headers, '-o', "$dir/calls_watermark.so",
			"$dir/calls_watermark.c"
		],
		'<',
		'/dev/null',
		'>&',
		\$compiled))
{
	$node->append_conf('postgresql.conf', "dynamic_library_path = '$dir:\$libdir'");
	# Newer minor versions want to know which libraries are plugins.
	$node->append_conf('postgresql.conf', "output_plugin_libraries = 'calls_watermark'")
	  if $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
	$node->reload;
	$node->poll_query_until('postgres',
		"SELECT current_setting('dynamic_library_path') LIKE '$dir%'")
	  or die 'the folder is not known';
	$node->safe_psql('postgres',
		"SELECT pg_create_logical_replication_slot('calls', 'calls_watermark')");
	$node->safe_psql('postgres', 'INSERT INTO flakes DEFAULT VALUES');
	like(
		error_of($node, "SELECT * FROM pg_logical_slot_get_changes('calls', NULL, NULL)"),
		qr/ERROR:  55000: .*\n/,
		'in logical decoding it is an error');
	$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('calls')");
	passes($observer, clock_in($observer), '... and the watermark goes on');
}
else {
	note $compiled;
	pass('there is no compiler for a plugin');
}

# stop -----------------------------------------------------------------------------------------------------------------

is($observer->query_safe($view), '', 'at the end nothing holds it back');
$_->quit for $writer, $other, $reader, $observer, $gate;
$node->stop;
done_testing();
