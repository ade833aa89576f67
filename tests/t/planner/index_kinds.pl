# Indexes of IDs that need help from flakeid. A partial index is found, since the condition of a
# query implies its own. A BRIN index keeps several ranges for each range of blocks. From PostgreSQL
# 18 on a btree skips from one ID to the next.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use PlannerServer;
use Test::More;

my ($node, $session) = planner_server('index_kinds', 'enable_seqscan = off');
sub sql { return $session->query_safe($_[0]) }

# PostgreSQL plans the conditions of partial indexes without the state of a query. ON CONFLICT finds
# these indexes, too.
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

# BRIN finds all IDs of a time, and reads few others, where one row in a hundred came late.
for my $id_type (qw(sno flake128 guid guid_local uniqueid)) {
	my $table = "${id_type}_late";
	# A range of blocks has about 200 rows.
	sql(<<~"SQL");
		CREATE TABLE $table AS SELECT ${id_type}_at(t) AS id, t, repeat('x', 100) AS payload
			FROM generate_series(1, 50000) AS nr,
				LATERAL (SELECT timestamptz '2026-11-01' + interval '52 s'
					* CASE WHEN nr % 100 = 0 THEN nr - 20000 ELSE nr END AS t) AS times;
		CREATE INDEX ON $table USING brin (id ${id_type}_minmax_multi_ops)
			WITH (pages_per_range = 4);
		VACUUM ANALYZE $table;
		SQL
	# Each query counts the IDs of a range of times; the oracle reads the time of each ID.
	my $query = sub {
		my ($range) = @_;
		my $within = $id_type =~ /^guid/ ? "${id_type}_within(id, RANGE)" : 'id <@ RANGE';
		return "SELECT count(*) FROM $table WHERE $within" =~ s/RANGE/tstzrange($range)/r;
	};
	my $oracle = "SELECT count(*) FROM $table WHERE ${id_type}_timestamp(id) <\@ tstzrange(%s)";
	my $six_hours = "'2026-11-10', '2026-11-10 06:00'";
	for ($six_hours, "NULL, '2026-11-02'", "'2026-11-29', NULL", "'2026-10-20', '2026-10-23'") {
		is( sql($query->($_)),
			sql(sprintf $oracle, $_),
			"BRIN of several ranges finds the ${id_type}s of a range of times: $_");
	}
	my ($scan) = grep { $_->{'Node Type'} eq 'Bitmap Heap Scan' }
	  nodes_of(plan_of($session, $query->($six_hours)));
	cmp_ok($scan->{'Rows Removed by Index Recheck'}, '<', 2500,
		"BRIN of several ranges reads few ${id_type}s, though each range of blocks has a late row");
	sql("INSERT INTO $table SELECT * FROM $table WHERE t < '2026-11-03'");
	is( sql($query->($six_hours)),
		sql(sprintf $oracle, $six_hours),
		"BRIN of several ranges finds ${id_type}s that came later");
}

subtest 'a btree skips from one ID to the next' => sub {
	plan skip_all => 'a btree skips from PostgreSQL 18 on' if $node->pg_version < 18;

	my %bytes = (sno => 10, flake128 => 16, guid => 12, guid_local => 8, uniqueid => 8);

	for my $id_type (sort keys %bytes) {
		my $table = "${id_type}_first";
		my $length = $bytes{$id_type};
		# IDs that follow each other, with gaps, at both ends, and NULL.
		sql(<<~"SQL");
			CREATE TABLE $table (id $id_type, nr integer);
			INSERT INTO $table SELECT (decode(repeat(fill, $length - 1), 'hex')
					|| decode(lpad(to_hex(byte), 2, '0'), 'hex'))::$id_type, nr
				FROM (VALUES ('00', 0, 9), ('7f', 250, 255), ('80', 0, 3), ('ff', 248, 255))
					AS spans (fill, first, last),
					generate_series(first, last) AS byte, generate_series(1, 2000) AS nr;
			INSERT INTO $table SELECT NULL, nr FROM generate_series(1, 2000) AS nr;
			CREATE INDEX ON $table (id, nr);
			CREATE INDEX ON $table (id DESC, nr);
			VACUUM ANALYZE $table;
			SQL
		for my $where (
			'nr = 77',
			'nr BETWEEN 1990 AND 1995',
			"nr = 3 AND id > decode(repeat('00', $length), 'hex')::$id_type",
			"nr = 3 AND id < decode(repeat('ff', $length), 'hex')::$id_type",
			'nr IN (1, 2000) AND id IS NOT NULL')
		{
			for my $order ('id, nr', 'id DESC, nr DESC') {
				my ($found, $wanted) = map {
					my $rows = "SELECT id, nr FROM $table WHERE $_ ORDER BY $order";
					sql("SELECT md5(string_agg(s::text, ' ')) FROM ($rows) AS s")
				} $where, $where =~ s/^nr/nr + 0/r;
				is($found, $wanted,
						"a scan of ${id_type}s that skips finds the rows of a scan that"
					  . " does not: $where ORDER BY $order");
			}
		}
		my $scan = sub {
			return scans_of(plan_of($session, "SELECT id, nr FROM $table WHERE nr = 77"));
		};
		my ($with) = $scan->();
		my $family = "ALTER OPERATOR FAMILY ${id_type}_ops USING btree";
		sql("BEGIN; $family DROP FUNCTION 6 ($id_type, $id_type)");
		my ($without) = $scan->();
		sql('ROLLBACK');
		like($_->{'Index Cond'}, qr/nr = 77/,
			"the index of ${id_type}s is asked for its second column")
		  for $with, $without;
		cmp_ok(
			$with->{'Index Searches'},
			'<',
			$without->{'Index Searches'},
			"skip support saves searches of the index of ${id_type}s");
	}
	my $id_types = join '|', keys %bytes;
	is(sql(<<~"SQL"), '5', 'every ID type has skip support');
		SELECT count(*) FROM pg_amproc WHERE amproc::text ~ '^($id_types)_skipsupport'
		SQL
};

$session->quit;
$node->stop;
done_testing();
