# A view that ends at the watermark is for tools that only know "WHERE id > ? ORDER BY id". They
# scan one range of the index, without a sort, and miss no row that commits late. A policy of
# row-level security does the same. A view with security_barrier sorts all rows after the offset.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Plan;
use Server;
use Test::More;
use Watermark;

my $node = server_with_tables('views', "wal_level = logical\n");
my ($early, $late, $tool, $observer) = map { session($node) } 1 .. 4;
$observer->query_safe(<<~'SQL');
	CREATE ROLE of_view;
	CREATE ROLE of_policy;
	CREATE TABLE typed (id flake DEFAULT flake_next() PRIMARY KEY, nr integer)
	SQL

# The view shows a flake in a column of its own type as a bigint, as the page does.
my @kinds = (
	(   map {
			{ %$_, table => "$_->{name}s", id => 'id', shown => $_->{type} }
		} @ID_TYPES),
	{
		name => 'flake',
		type => 'flake',
		table => 'typed',
		id => 'id::bigint AS id',
		shown => 'bigint'
	});

sub readers_of {
	my ($table) = @_;
	return ([ of_view => "${table}_settled" ], [ of_policy => $table ]);
}

# Tests that a statement scans one range of the primary key, by both bounds, in its order.
sub is_one_range {
	my ($table, $sql, $test) = @_;
	my @nodes = nodes_of(plan_of($tool, $sql));
	my ($index, $condition) = @{ $nodes[1] }{ 'Index Name', 'Index Cond' };
	is( join(', ', (map { $_->{'Node Type'} } @nodes), $index),
		"Limit, Index Scan, ${table}_pkey",
		"$test: it is a scan of the primary key, without a sort");
	ok( $condition =~ /\bid <=? / && $condition =~ /\bid > /,
		"$test: both bounds are bounds of the index") or diag($condition);
	return;
}

for my $kind (@kinds) {
	my ($table, $id) = @$kind{ 'table', 'id' };
	my $condition = before_watermark($kind);
	$observer->query_safe(<<~"SQL");
		INSERT INTO $table (nr) SELECT generate_series(1, 10000);
		CREATE VIEW ${table}_settled AS SELECT $id, nr FROM $table WHERE $condition;
		CREATE VIEW ${table}_barrier WITH (security_barrier) AS
			SELECT $id, nr FROM $table WHERE $condition;
		GRANT SELECT ON ${table}_settled TO of_view;
		GRANT SELECT ON $table TO of_policy;
		ALTER TABLE $table ENABLE ROW LEVEL SECURITY;
		CREATE POLICY settled ON $table FOR SELECT TO of_policy USING ($condition);
		SQL
	$observer->query_safe("VACUUM ANALYZE $table");
	my $offset = $observer->query_safe("SELECT id FROM $table ORDER BY id LIMIT 1");

	for (readers_of($table)) {
		my ($role, $relation) = @$_;
		my $page =
		  "SELECT * FROM $relation WHERE $relation.id > %s ORDER BY $relation.id LIMIT 100";
		$tool->query_safe("SET ROLE $role");
		is_one_range($table, sprintf($page, "'$offset'"), "$relation as $role");
		for my $plan ('force_custom_plan', 'force_generic_plan') {
			$tool->query_safe("SET plan_cache_mode TO $plan");
			$tool->query_safe("PREPARE page($kind->{shown}) AS " . sprintf $page, '$1');
			is_one_range($table, "EXECUTE page('$offset')", "$relation as $role, $plan");
			$tool->query_safe('DEALLOCATE page');
		}
		$tool->query_safe('RESET ROLE; RESET plan_cache_mode');
	}

	my $barrier =
	  plan_of($tool, "SELECT * FROM ${table}_barrier WHERE id > '$offset' ORDER BY id LIMIT 100");
	ok( (grep { $_->{'Node Type'} =~ /Sort$/ } nodes_of($barrier)),
		"${table}_barrier: a view with security_barrier sorts");
}

is($observer->query_safe(<<~'SQL'), 'f', 'all columns of a view are nullable');
	SELECT bool_or(attnotnull) FROM pg_attribute WHERE attrelid = 'typed_settled'::regclass
	SQL
like(
	error_of($node, 'CREATE PUBLICATION of_view FOR TABLE typed_settled'),
	qr/ERROR: .*cannot add relation "typed_settled" to publication/,
	'a publication cannot have a view');

# A tool reads a relation as a role, while the transaction of a row in it is open.
sub misses_no_row {
	my ($kind, $role, $relation, $level) = @_;
	my $table = $kind->{table};
	my $all = sub { split /\n/, $observer->query_safe("SELECT id FROM $table ORDER BY id") };
	my $insert =
	  "INSERT INTO $table DEFAULT VALUES RETURNING " . in_micros("$kind->{name}_timestamp(id)");
	passes($observer, $observer->query_safe($insert), 'the watermark passes all rows');
	my ($last, @expected) = ($all->())[ -20 .. -1 ];
	my $after = "SELECT id FROM $relation WHERE id > '%s' ORDER BY id";

	$early->query_safe('BEGIN');
	clock_passes($observer, $early->query_safe($insert));
	my $later = $late->query_safe($insert);
	clock_passes($observer, $later);
	$tool->query_safe("SET ROLE $role; BEGIN ISOLATION LEVEL $level");
	$tool->query_safe('DECLARE tool CURSOR FOR ' . sprintf $after, $last);
	my @read = split /\n/, $tool->query_safe('FETCH 5 FROM tool');
	# Up to PostgreSQL 17 a uuid has no max.
	my $has_max = $kind->{type} ne 'uuid';
	my $max = $has_max ? $tool->query_safe("SELECT max(id) FROM $relation") : undef;
	$early->query_safe('COMMIT');
	passes($observer, $later, 'the watermark passes the row that was inserted after the open one');
	push @read, split /\n/, $tool->query_safe('FETCH ALL FROM tool');
	is_deeply(\@read, \@expected,
		'a cursor returns the rows before the open transaction, also after its end');
	is($max, $expected[-1], 'max(id) is the last of these rows') if $has_max;

	my $more = sprintf $after, $read[-1];
	my $next = $tool->query_safe($more);
	$tool->query_safe('COMMIT');
	if ($level eq 'REPEATABLE READ') {
		is($next, '', 'the transaction gets no newer rows');
		$next = $tool->query_safe($more);
	}
	$tool->query_safe('RESET ROLE');
	push @read, split /\n/, $next;
	is_deeply(
		[ $last, @read ],
		[ ($all->())[ -22 .. -1 ] ],
		'the next statement gets both rows, in order');
	return;
}
for my $kind (@kinds) {
	for (readers_of($kind->{table})) {
		my ($role, $relation) = @$_;
		for my $level ('READ COMMITTED', 'REPEATABLE READ') {
			subtest "$relation as $role, $level: a tool misses no row that commits late" =>
			  sub { misses_no_row($kind, $role, $relation, $level) };
		}
	}
}

$_->quit for $early, $late, $tool, $observer;
$node->stop;
done_testing();
