# A view that ends at the watermark, for tools that only know "WHERE id > ? ORDER BY id": its statements are one range of
# the index, without a sort, and miss no row of a transaction that commits late. So does a policy of row-level security.
# A view with security_barrier sorts all rows after the offset.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Plan;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Watermark;

my $node = PostgreSQL::Test::Cluster->new('views');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
log_statement = none
wal_level = logical
END
$node->start;
create_tables($node);
my ($early, $late, $tool, $observer) = map { session($node) } 1 .. 4;
$observer->query_safe('CREATE ROLE of_view; CREATE ROLE of_policy');

# A flake in a column of its own type is shown as a bigint, as the page does it.
my @kinds =
  (@ID_TYPES, { name => 'flake', type => 'flake', table => 'typed', view => 'id::bigint AS id' });
$observer->query_safe('CREATE TABLE typed (id flake DEFAULT flake_next() PRIMARY KEY, nr integer)');

# plans ----------------------------------------------------------------------------------------------------------------

# Tests that a statement is a scan of one range of the primary key, by both bounds, in its order.
sub is_one_range {
	my ($table, $sql, $test) = @_;
	my ($limit, @nodes) = nodes_of(plan_of($tool, $sql));
	is( join(' ', map { $_->{'Node Type'} } $limit, @nodes),
		'Limit Index Scan',
		"$test: it is an index scan, without a sort");
	is($nodes[0]{'Index Name'}, "${table}_pkey", "$test: it is a scan of the primary key");
	my $condition = $nodes[0]{'Index Cond'};
	ok( $condition =~ /\bid <=? / && $condition =~ /\bid > /,
		"$test: both bounds are bounds of the index") or diag($condition);
	return;
}

for my $kind (@kinds) {
	my ($type, $table) = @$kind{ 'type', 'table' };
	$table = $kind->{table} //= "$kind->{name}s";
	my $condition = before_watermark($kind);
	my $id = $kind->{view} // 'id';
	$observer->query_safe(<<SQL);
INSERT INTO $table (nr) SELECT generate_series(1, 10000);
CREATE VIEW ${table}_settled AS SELECT $id, nr FROM $table WHERE $condition;
CREATE VIEW ${table}_barrier WITH (security_barrier) AS SELECT $id, nr FROM $table WHERE $condition;
GRANT SELECT ON ${table}_settled TO of_view;
GRANT SELECT ON $table TO of_policy;
ALTER TABLE $table ENABLE ROW LEVEL SECURITY;
CREATE POLICY settled ON $table FOR SELECT TO of_policy USING ($condition);
SQL
	$observer->query_safe("VACUUM ANALYZE $table");
	my $shown = $kind->{view} ? 'bigint' : $type;
	my $offset = $observer->query_safe("SELECT id FROM $table ORDER BY id LIMIT 1");

	for my $reader ([ of_view => "${table}_settled" ], [ of_policy => $table ]) {
		my ($role, $relation) = @$reader;
		$tool->query_safe("SET ROLE $role");
		is_one_range(
			$table,
			"SELECT * FROM $relation WHERE id > '$offset' ORDER BY id LIMIT 100",
			"$relation as $role");
		for my $plan ('force_custom_plan', 'force_generic_plan') {
			$tool->query_safe(
				"SET plan_cache_mode TO $plan; PREPARE page($shown) AS SELECT * FROM $relation WHERE $relation.id > \$1 ORDER BY $relation.id LIMIT 100"
			);
			is_one_range($table, "EXECUTE page('$offset')", "$relation as $role, $plan");
			$tool->query_safe('DEALLOCATE page');
		}
		$tool->query_safe('RESET ROLE; RESET plan_cache_mode');
	}

	my @nodes =
	  map { $_->{'Node Type'} }
	  nodes_of(
		plan_of($tool, "SELECT * FROM ${table}_barrier WHERE id > '$offset' ORDER BY id LIMIT 100")
	  );
	ok((grep { /Sort$/ } @nodes), "${table}_barrier: a view with security_barrier sorts");
}

# what tools look for --------------------------------------------------------------------------------------------------

is( $observer->query_safe(
		"SELECT bool_or(attnotnull) FROM pg_attribute WHERE attrelid = 'typed_settled'::regclass"),
	'f',
	'all columns of a view are nullable');
like(
	error_of($node, 'CREATE PUBLICATION of_view FOR TABLE typed_settled'),
	qr/ERROR: .*cannot add relation "typed_settled" to publication/,
	'a publication cannot have a view');

# transactions that commit late ----------------------------------------------------------------------------------------

sub all_in {
	my ($table) = @_;
	return split /\n/, $observer->query_safe("SELECT id FROM $table ORDER BY id");
}

# What the tool gets after the last row that it has, by a statement.
sub more {
	my ($relation, $last) = @_;
	return split /\n/, $tool->query_safe("SELECT id FROM $relation WHERE id > '$last' ORDER BY id");
}

for my $kind (@kinds) {
	my $table = $kind->{table};
	for my $reader ([ of_view => "${table}_settled" ], [ of_policy => $table ]) {
		my ($role, $relation) = @$reader;
		for my $level ('READ COMMITTED', 'REPEATABLE READ') {
			my $test = "$relation as $role, $level";
			my $insert = "INSERT INTO $table DEFAULT VALUES RETURNING "
			  . in_micros("$kind->{name}_timestamp(id)");
			passes(
				$observer,
				$observer->query_safe($insert),
				"$test: the watermark passes all rows");
			my $last = (all_in($table))[-20];
			my @expected = grep { $_ ne $last } (all_in($table))[ -20 .. -1 ];

			$early->query_safe('BEGIN');
			clock_passes($observer, $early->query_safe($insert));
			my $later = $late->query_safe($insert);
			clock_passes($observer, $later);
			$tool->query_safe(
				"SET ROLE $role; BEGIN ISOLATION LEVEL $level; DECLARE tool CURSOR FOR SELECT id FROM $relation WHERE id > '$last' ORDER BY id"
			);
			my @read = split /\n/, $tool->query_safe('FETCH 5 FROM tool');
			# Up to PostgreSQL 17 a uuid has no max.
			my $max =
				$kind->{type} eq 'uuid'
			  ? $expected[-1]
			  : $tool->query_safe("SELECT max(id) FROM $relation");
			$early->query_safe('COMMIT');
			passes($observer, $later,
				"$test: the watermark passes the row that was inserted after the open one");
			push @read, split /\n/, $tool->query_safe('FETCH ALL FROM tool');
			is_deeply(\@read, \@expected,
				"$test: a cursor returns the rows before the open transaction, also after its end");
			is($max, $expected[-1], "$test: max(id) is the last of them");
			my @next = more($relation, $read[-1]);

			if ($level eq 'REPEATABLE READ') {
				is(scalar @next, 0, "$test: the transaction gets no newer rows");
				$tool->query_safe('COMMIT');
				@next = more($relation, $read[-1]);
			}
			else {
				$tool->query_safe('COMMIT');
			}
			$tool->query_safe('RESET ROLE');
			is_deeply(
				[ @read, @next ],
				[ (all_in($table))[ -21 .. -1 ] ],
				"$test: the next statement gets both rows, in order");
		}
	}
}

$_->quit for $early, $late, $tool, $observer;
$node->stop;
done_testing();
