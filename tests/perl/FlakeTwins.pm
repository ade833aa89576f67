# Two schemas with the same tables, whose IDs are of type flake in one and bigint in the other. A
# statement is run in both, and must give the same rows or error, by the same plan.
package FlakeTwins;

use strict;
use warnings;

use Exporter qw(import);
use Server;
use Test::More;

our @EXPORT = qw(start_twins is_alike gives_alike);

my %type_in = (of_flake => 'flake', of_bigint => 'bigint');
my ($session, $version);

# IDs are of all signs and sizes. TYPE is their type.
my $tables = <<'SQL';
CREATE TABLE things (id TYPE PRIMARY KEY, nr integer, part integer);
INSERT INTO things
SELECT (nr - 2000) * 1000000000000000, nr, nr % 10 FROM generate_series(0, 9999) AS nr;
INSERT INTO things SELECT nr, nr, -1 FROM generate_series(-7, 7) AS nr WHERE nr <> 0;
CREATE INDEX things_part ON things (part, id);
CREATE TABLE hashed AS SELECT id, nr FROM things;
CREATE INDEX hashed_id ON hashed USING hash (id);
CREATE TABLE log AS SELECT id, nr FROM things ORDER BY id;
CREATE INDEX log_minmax ON log USING brin (id) WITH (pages_per_range = 1);
CREATE TABLE multi AS SELECT id, nr FROM things ORDER BY nr % 7, id;
CREATE INDEX multi_minmax ON multi
	USING brin (id int8_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE TABLE notes (thing bigint REFERENCES things, nr integer);
INSERT INTO notes SELECT id, nr FROM things WHERE nr % 3 = 0;
CREATE INDEX notes_thing ON notes (thing);
CREATE TABLE labels (thing TYPE, nr integer);
INSERT INTO labels SELECT id, nr FROM things WHERE nr % 5 = 0;
CREATE INDEX labels_thing ON labels (thing);
CREATE TABLE numbers (id bigint PRIMARY KEY);
INSERT INTO numbers SELECT id FROM things;
ALTER TABLE labels
	ADD FOREIGN KEY (thing) REFERENCES numbers, ADD FOREIGN KEY (thing) REFERENCES things;
CREATE TABLE ranges (id TYPE PRIMARY KEY, nr integer) PARTITION BY RANGE (id);
CREATE TABLE ranges_1 PARTITION OF ranges FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE ranges_2 PARTITION OF ranges FOR VALUES FROM ('0') TO (2000000000000000000);
CREATE TABLE ranges_3 PARTITION OF ranges FOR VALUES FROM (2000000000000000000) TO (MAXVALUE);
INSERT INTO ranges SELECT id, nr FROM things;
CREATE TABLE shards (id TYPE PRIMARY KEY, nr integer) PARTITION BY HASH (id);
CREATE TABLE shards_0 PARTITION OF shards FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE shards_1 PARTITION OF shards FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE shards_2 PARTITION OF shards FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO shards SELECT id, nr FROM things;
CREATE TABLE lists (id TYPE, nr integer) PARTITION BY LIST (id);
CREATE TABLE lists_1 PARTITION OF lists FOR VALUES IN (1, 2000000000000000000);
CREATE TABLE lists_2 PARTITION OF lists FOR VALUES IN ('2', NULL);
INSERT INTO lists VALUES (1, 1), (2000000000000000000, 2), (2, 3), (NULL, 4);
SQL

# Starts a server with the two schemas. Returns it and a session.
sub start_twins {
	my ($name) = @_;
	my $node = flakeid_server($name, <<~'END');
		timezone = 'UTC'
		autovacuum = off
		max_parallel_workers_per_gather = 0
		END
	$session = session($node);
	$version = $node->pg_version->major;

	for my $schema (sort keys %type_in) {
		my $sql = $tables =~ s/\bTYPE\b/$type_in{$schema}/gr;
		$session->query_safe("CREATE SCHEMA $schema; SET search_path = $schema, public; $sql");
		# VACUUM leaves a page that another process is writing, such as the background writer. Then
		# this page is not visible to all, and a scan of an index alone costs more in this schema.
		wait_until(
			'all pages are visible to all',
			sub {
				$session->query_safe('VACUUM (ANALYZE)');
				return $session->query_safe(<<~"SQL") eq '0';
					SELECT count(*) FROM pg_class
					WHERE relnamespace = '$schema'::regnamespace AND relkind = 'r'
						AND relallvisible < relpages
					SQL
			});
	}
	return ($node, $session);
}

# Returns what a statement gives in a schema: its rows or its error, and its plan if that is wanted.
sub outcome {
	my ($schema, $with_plan, $sql, $type, $value) = @_;
	my $run = $sql =~ s/\bTYPE\b/$type_in{$schema}/gr;
	$session->query_safe(
		"SET search_path = $schema, public; SET plan_cache_mode = force_generic_plan");
	if ($type) {
		my $error = error_in($session, "PREPARE asked ($type) AS $run");
		return $error if $error;
		$run = "EXECUTE asked ($value)";
	}
	my $rows = $session->query($run) . ($session->{stderr} =~ /(ERROR: +\w+)/ ? $1 : '');
	$session->{stderr} = '';
	my $plan = $with_plan ? $session->query("EXPLAIN $run") : '';
	$session->{stderr} = '';
	$session->query_safe('DEALLOCATE ALL');
	# How PostgreSQL shows that it takes a flake for a bigint.
	$plan =~ s/\((\S+)\)::bigint\b/$1/g;
	$plan =~ s/of_flake|of_bigint/schema/g;
	# From 19 on the rows of a subquery that are made unique hold the expression that is compared,
	# beside the column.
	$plan =~ s/ width=\d+//g if $version >= 19;
	return "$rows\n$plan";
}

sub are_alike {
	my ($with_plan, $claim, @queries) = @_;
	my @different;
	for my $query (@queries) {
		my ($sql, $type, $value) = ref $query ? @$query : $query;
		my ($flake, $bigint) =
		  map { outcome($_, $with_plan, $sql, $type, $value) } qw(of_flake of_bigint);
		push @different, $sql . ($type ? " ($type)" : '') . "\n$flake\nwith bigint:\n$bigint"
		  if $flake ne $bigint || $with_plan && $bigint !~ /\n./;
	}
	local $Test::Builder::Level = $Test::Builder::Level + 2;
	is(join("\n", @different), '', $claim);
	return;
}

# Tests that statements give the same in both schemas, by the same plans. A statement with a
# parameter is [sql, type, value].
sub is_alike { are_alike(1, @_); return; }

# Tests that statements give the same in both schemas, by any plans.
sub gives_alike { are_alike(0, @_); return; }

1;
