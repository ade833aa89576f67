# postgres_fdw: which server generates the IDs of a foreign table's rows, and how rows are read and
# changed by them. Queries, changes and moves of rows go to the partition of their time.
use strict;
use warnings;
use lib 'tests/perl';

use ForeignServers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($here, $there) = start_servers();

# Inserts rows on these servers at the same time. All wait with their first row, and so continue
# together. Returns how many failed.
sub insert_at_once {
	my ($name, @nodes) = @_;
	my $barrier = session($there);
	$barrier->query_safe("BEGIN; LOCK TABLE ${name}s IN SHARE MODE");
	my @runs;
	for my $node (@nodes) {
		my $side = $node->name;
		my $insert = "INSERT INTO ${name}s (line) SELECT '$side' FROM generate_series(1, 2000)";
		push @runs,
		  IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
				'-d', $node->connstr('postgres'), '-c', $insert
			],
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	}
	$there->poll_query_until('postgres', <<~"SQL") or die 'the sessions do not wait';
		SELECT count(*) = @{[ scalar @runs ]} FROM pg_locks
		WHERE relation = '${name}s'::regclass AND NOT granted
		SQL
	$barrier->query_safe('COMMIT');
	$barrier->quit;
	return scalar grep { !$_->finish } @runs;
}

for my $id_type (@ID_TYPES) {
	my ($name, $type, $next, $whose) = @$id_type{qw(name type next whose)};
	there("CREATE TABLE ${name}s (id $type DEFAULT $next PRIMARY KEY, line text)");
	here(<<~"SQL");
		CREATE FOREIGN TABLE ${name}s (id $type DEFAULT $next, line text) SERVER plain;
		CREATE FOREIGN TABLE told_${name}s (id $type, line text)
			SERVER told OPTIONS (table_name '${name}s');
		CREATE FOREIGN TABLE bare_${name}s (id $type, line text)
			SERVER plain OPTIONS (table_name '${name}s');
		CREATE FOREIGN TABLE ${name}s_lines (line text)
			SERVER plain OPTIONS (table_name '${name}s');
		SQL
	my $failed = 0;
	$failed += insert_at_once($name, @$_)
	  for $id_type->{at_once} ? [ $here, $there ] : ([$here], [$there]);
	is($failed, 0, "$name: rows come from both servers");
	is(there("SELECT count(*), count(DISTINCT id) FROM ${name}s"),
		'4000|4000', "$name: rows from both servers have distinct IDs");
	here("INSERT INTO ${name}s_lines SELECT 'there' FROM generate_series(1, 1000)");

	if ($whose) {
		# The settings say which generator IDs a server has; its other fields are found by its IDs.
		my $mine = <<~"SQL";
			SELECT DISTINCT $whose
			FROM (SELECT $next AS id FROM generate_series(1, 10000)) AS made, ${name}_decode(id)
			SQL
		my %owns =
		  $name =~ /^(?:flake|sno|uniqueid)$/
		  ? (here => [ 0 .. 7 ], there => [ 8 .. 15 ])
		  : (here => [ split /\n/, here($mine) ], there => [ split /\n/, there($mine) ]);
		my %which = (
			here => 'the default of a foreign table generates IDs of the server that evaluates it',
			there => 'a row without its ID, or of a foreign table without the column,'
			  . ' gets an ID of the other server');
		for my $line ('here', 'there') {
			my %own = map { $_ => 1 } @{ $owns{$line} };
			my @found = split /\n/, there(<<~"SQL");
				SELECT DISTINCT $whose FROM ${name}s, ${name}_decode(id) WHERE line = '$line'
				SQL
			is((grep { !$own{$_} } @found), 0, "$name: $which{$line}");
		}
	}
	# postgres_fdw sends NULL for a column that has no default here.
	like(
		error_here("INSERT INTO bare_${name}s (line) VALUES ('bare')"),
		qr/23502: null value in column "id" of relation "${name}s"/,
		"$name: a foreign table with the column and without the default gets no ID");
	my $all = "SELECT md5(string_agg(id::text || line, ' ' ORDER BY id)), count(*) FROM ${name}s";
	is(here($all), there($all), "$name: both servers read the same IDs");
	is(here(<<~"SQL"), '2|1', "$name: RETURNING brings IDs");
		WITH new AS (INSERT INTO ${name}s (line) VALUES ('x'), ('y') RETURNING id),
		changed AS (
			UPDATE ${name}s SET line = 'z'
			WHERE id = (SELECT id FROM told_${name}s ORDER BY id DESC LIMIT 1) RETURNING id
		)
		SELECT count(DISTINCT new.id), (SELECT count(*) FROM changed) FROM new
		SQL
	is(here(<<~"SQL"), 'x', "$name: an ID finds its row on the other server");
		PREPARE gone_$name ($type) AS DELETE FROM ${name}s WHERE id = \$1 RETURNING line;
		SELECT format('EXECUTE gone_$name (%L)', id) FROM ${name}s
		WHERE line = 'x' ORDER BY id DESC LIMIT 1 \\gexec
		SQL
}

# partitions ---------------------------------------------------------------------------------------

# A table has a partition of old IDs on another server, and one of new IDs here.
for my $id_type (@ID_TYPES) {
	my ($name, $type, $next) = @$id_type{qw(name type next)};
	my ($all, $old, $new) = map { "${name}_$_" } qw(all old new);
	my $bound = "${name}_min('2026-01-01 00:00+00')";
	my $insert_old = <<~"SQL";
		INSERT INTO $all SELECT ${name}_at(t), 'old' FROM
		generate_series(timestamptz '2025-12-01 00:00:00.5+00', '2025-12-31', '6 hours') AS t
		SQL
	there("CREATE TABLE $old (id $type PRIMARY KEY, line text)");
	here(<<~"SQL");
		CREATE TABLE $all (id $type DEFAULT $next, line text) PARTITION BY RANGE (id);
		CREATE FOREIGN TABLE $old PARTITION OF $all
			FOR VALUES FROM (MINVALUE) TO ($bound) SERVER told;
		CREATE TABLE $new PARTITION OF $all (PRIMARY KEY (id))
			FOR VALUES FROM ($bound) TO (MAXVALUE);
		INSERT INTO $all (line) SELECT 'new' FROM generate_series(1, 100);
		$insert_old;
		SQL
	is( there("SELECT line, count(*) FROM $old GROUP BY 1")
		  . here("SELECT line, count(*) FROM $new GROUP BY 1"),
		'old|120new|100',
		"$name: rows with old IDs go to the other server, and those with new IDs stay here");
	my $december = within($id_type, "tstzrange('2025-12-01 00:00+00', '2025-12-31 12:00+00')");
	my $lately =
	  within($id_type, "tstzrange(now() - interval '1 hour', now() + interval '1 hour')");
	my $explain = 'EXPLAIN (VERBOSE, COSTS OFF, ANALYZE, TIMING OFF)';
	unlike(here("$explain SELECT line FROM $all WHERE $lately"),
		qr/Remote SQL/, "$name: a query for the last hour does not ask the other server");
	is(here("SELECT count(*) FROM $all WHERE $lately"),
		'100', "$name: a query for the last hour finds its rows");
	my $plan = here("$explain SELECT line FROM $all WHERE $december");
	like(
		$plan,
		qr/Foreign Scan on (?:public\.)?$old/,
		"$name: a query for old rows asks the other server");
	unlike(
		$plan,
		qr/Scan.* on (?:public\.)?$new.*\((?!never)/,
		"$name: a query for old rows reads nothing here");
	is(here("SELECT count(*) FROM $all WHERE $december"),
		'120', "$name: a query for old rows finds them");

	here("UPDATE $all SET line = line || '!' WHERE $december");
	for my $count (
		here("SELECT count(*) FROM $all WHERE line LIKE '%!'"),
		there("SELECT count(*) FROM $old WHERE line = 'old!'"))
	{
		is($count, '120', "$name: UPDATE changes the rows of a time, on the other server");
	}
	my $first = here("SELECT id FROM $new ORDER BY id LIMIT 1");
	is(here(<<~"SQL"), $old, "$name: a row that gets an old ID gets another partition");
		UPDATE $all SET id = ${name}_at('2025-06-01 00:00+00'), line = 'moved'
		WHERE id = '$first' RETURNING tableoid::regclass
		SQL
	is(there("SELECT count(*) FROM $old WHERE line = 'moved'"),
		'1', "$name: a row that gets an old ID moves to the other server");
	is(here(<<~"SQL"), '120', "$name: DELETE deletes the rows of a time");
		WITH gone AS (DELETE FROM $all WHERE $december RETURNING id) SELECT count(*) FROM gone
		SQL
	is(there("SELECT count(*) FROM $old"),
		'1', "$name: DELETE leaves the other rows on the other server");

	here($insert_old);
	my $ordered = here("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM $all ORDER BY id");
	unlike($ordered, qr/Sort/, "$name: ORDER BY reads the partitions in their order");
	like($ordered, qr/ORDER BY id ASC/, "$name: ORDER BY lets the other server sort its rows");
	is(here(<<~"SQL"), '220|t', "$name: ORDER BY returns all rows in their order");
		SELECT count(*), bool_and(id > before IS NOT false) FROM (
			SELECT id, lag(id) OVER () AS before FROM (SELECT id FROM $all ORDER BY id) AS sorted
		) AS pairs
		SQL
	is(here(<<~"SQL"), '99', "$name: ORDER BY with LIMIT returns the latest rows, from here");
		SELECT count(*) FROM (SELECT id FROM $all ORDER BY id DESC LIMIT 99) AS latest
		WHERE $lately
		SQL
}

stop_servers();
done_testing();
