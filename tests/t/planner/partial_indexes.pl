# PostgreSQL plans the conditions of partial indexes without the state of a query. The condition of
# a query implies that of the index, and ON CONFLICT finds it.
use strict;
use warnings;
use lib 'tests/perl';

use PlannerServer;
use Test::More;

my ($node, $session) = planner_server('partial_indexes', 'enable_seqscan = off');
sub sql { return $session->query_safe($_[0]) }

my ($first, $last) = map { "timestamptz '2026-01-$_'" } '01', '14';
my $fortnight = "tstzrange('2026-01-01', '2026-01-14')";
my $epoch = "timestamptz '2020-01-01'";
my $flake = q{flake_at('2026-01-02', nr, '2020-01-01')};

# The condition of each index, and the IDs of rows if they are not of the type alone.
my %index = (
	flake_before => [ 'bigint', "flake_before(id, $last, $epoch)", $flake ],
	flake_since => [ 'bigint', "flake_since(id, $first, $epoch)", $flake ],
	sno => [ 'sno', "id >= $first", q{sno_at('2026-01-02', 0, nr)} ],
	sno_range => [ 'sno', "id <@ $fortnight", q{sno_at('2026-01-02', 0, nr)} ],
	guid => [ 'guid', "id >= $first" ],
	guid_range => [ 'guid', "id <@ $fortnight" ],
	guid_drift => [ 'guid', "id <@ $fortnight", q{guid_at('2026-01-02', nr, '1 s')} ],
	guid_within => [ 'guid', "guid_within(id, $fortnight)" ],
	guid_local => [ 'guid_local', "id < $last" ],
	uuidv7_before => [ 'uuid', "uuidv7_before(id, $last)" ],
	uuidv7_since => [ 'uuid', "uuidv7_since(id, $first)" ],
	uuidv7_between => [ 'uuid', "uuidv7_between(id, $first, $last)" ],
	uuidv7_within => [ 'uuid', "uuidv7_within(id, $fortnight)" ],
	uniqueid => [ 'uniqueid', "id < $last" ]);
for my $name (sort keys %index) {
	my ($type, $condition, $id) = @{ $index{$name} };
	$id //= ($type =~ s/^uuid$/uuidv7/r) . q{_at('2026-01-02', nr)};
	my $table = "p_$name";
	sql(<<~"SQL");
		CREATE TABLE $table (id $type, nr bigint);
		CREATE UNIQUE INDEX ${table}_index ON $table (nr) WHERE $condition;
		SQL
	for my $when ('before ANALYZE', 'after ANALYZE') {
		for my $more ('', ' AND nr > 0') {
			my $rows = sql(<<~"SQL");
				INSERT INTO $table (id, nr) SELECT $id, nr FROM generate_series(1, 2000) AS nr
					ON CONFLICT (nr) WHERE $condition$more DO NOTHING;
				SELECT count(*) FROM $table;
				SQL
			is($rows, '2000',
				"$name: ON CONFLICT finds the partial index $when, with the condition$more");
			like(sql("EXPLAIN SELECT * FROM $table WHERE nr = 7 AND $condition$more"),
				qr/${table}_index/,
				"$name: a query uses the partial index $when, with the condition$more");
		}
		sql("VACUUM ANALYZE $table");
	}
}

$session->quit;
$node->stop;
done_testing();
