# A table has a partition of old IDs on another server, and one of new IDs here. Queries, changes
# and moves of rows go to the partition of their time.
use strict;
use warnings;
use lib 'tests/perl';

use ForeignServers;
use Test::More;

start_servers();
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
	is(there("SELECT count(*) FROM $old WHERE line = 'old'"),
		'120', "$name: rows with old IDs go to the other server");
	is(here("SELECT count(*) FROM $new WHERE line = 'new'"),
		'100', "$name: rows with new IDs stay here");
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

	is(here(<<~"SQL"), '120', "$name: UPDATE changes the rows of a time");
		UPDATE $all SET line = line || '!' WHERE $december;
		SELECT count(*) FROM $all WHERE line LIKE '%!'
		SQL
	is(there("SELECT count(*) FROM $old WHERE line = 'old!'"),
		'120', "$name: UPDATE changes the rows on the other server");
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
