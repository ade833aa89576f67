# Row-level security and security barriers hide rows before a condition of the user is computed,
# unless its functions are LEAKPROOF. Queries by the time of an ID use the index there as elsewhere:
# with a literal, in a join by time, and by an index on the time. Each finds the rows of these
# times.
use strict;
use warnings;
use lib 'tests/perl';

use Plan;
use Server;
use Test::More;

my $node = flakeid_server('row_security', <<'END');
timezone = 'UTC'
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
END
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }

# A row in every minute of three weeks. The other table has times for a join.
my $epoch = q{'2010-01-01 00:00+00'};
my %types = (
	flake => {
		type => 'bigint',
		from_to => 'flake_between(id, a, b)',
		in => 'flake_within(id, r)',
		timestamp => "flake_timestamp(id, $epoch)",
		more => [ "flake_between(id, a, b, $epoch)", "flake_within(id, r, $epoch)" ]
	},
	sno => {},
	flake128 => {},
	guid => { more => ['guid_within(id, r)'] },
	guid_local => { more => ['guid_local_within(id, r)'] },
	uniqueid => {},
	uuidv7 =>
	  { type => 'uuid', from_to => 'uuidv7_between(id, a, b)', in => 'uuidv7_within(id, r)' },);
sql(<<~'SQL');
	CREATE ROLE app;
	CREATE TABLE spans AS
		SELECT a, a + interval '4 min' AS b, tstzrange(a, a + interval '4 min', '[]') AS r
		FROM unnest('{2026-11-03 12:00+00,2026-11-09 00:30+00,2026-11-17 23:59+00}'::timestamptz[])
			AS a;
	GRANT SELECT ON spans TO app;
	SQL
for my $name (sort keys %types) {
	my $type = $types{$name};
	$type->{type}      //= $name;
	$type->{from_to}   //= 'id >= a AND id <= b';
	$type->{in}        //= 'id <@ r';
	$type->{timestamp} //= "${name}_timestamp(id)";
	sql(<<~"SQL");
		CREATE TABLE ${name}s AS SELECT ${name}_at(t) AS id, t AS created_at,
			CASE WHEN nr % 2 = 0 THEN 'app' ELSE 'other' END AS owner
		FROM generate_series(1, 30240) AS nr,
			LATERAL (SELECT '2026-11-01 00:00:30+00'::timestamptz + nr * interval '1 min') AS s (t);
		CREATE INDEX ${name}_id ON ${name}s (id);
		CREATE INDEX ${name}_time ON ${name}s (($type->{timestamp}));
		CREATE VIEW barrier_$name WITH (security_barrier) AS
			SELECT * FROM ${name}s WHERE owner = 'app';
		ALTER TABLE ${name}s ENABLE ROW LEVEL SECURITY;
		CREATE POLICY own ON ${name}s USING (owner = current_user);
		GRANT SELECT ON ${name}s, barrier_$name TO app;
		SQL
}
sql('VACUUM ANALYZE; SET ROLE app');

# Tests that a query reads one table by an index, and finds what a condition on the column of times
# finds.
sub uses_index {
	my ($index, $tables, $condition, $same) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $query = "SELECT count(*), min(created_at), max(created_at) FROM $tables";
	my $plan = plan_of($session, "$query WHERE $condition");
	my @scans = grep { ($_->{'Relation Name'} // '') ne 'spans' } scans_of($plan);
	my @others = grep { ($_->{'Index Name'} // '') ne $index } @scans;
	ok(@scans && !@others, "FROM $tables WHERE $condition uses the index")
	  or diag(summary_of($plan));
	is( sql("$query WHERE $condition"),
		sql("$query WHERE $same"),
		"FROM $tables WHERE $condition finds the rows of these times");
	return;
}

for my $name (sort keys %types) {
	my $type = $types{$name};
	for my $table ("${name}s", "barrier_$name") {
		my %literals = (
			a => q{timestamptz '2026-11-03 12:00+00'},
			b => q{timestamptz '2026-11-03 13:00+00'},
			r => q{tstzrange('2026-11-03 12:00+00', '2026-11-03 13:00+00')});
		my $literal = sub { $_[0] =~ s/\b([abr])\b/$literals{$1}/gr };
		uses_index(
			"${name}_id", $table,
			$literal->($type->{from_to}),
			$literal->('created_at >= a AND created_at <= b'));
		uses_index(
			"${name}_time", $table,
			$literal->("$type->{timestamp} >= a AND $type->{timestamp} < b"),
			$literal->('created_at >= a AND created_at < b'));
		# PostgreSQL gives no value of another table to a view that is a barrier.
		next if $table =~ /barrier/;
		my $join = "spans, $table";
		uses_index("${name}_id", $join, $type->{from_to}, 'created_at >= a AND created_at <= b');
		uses_index("${name}_id", $join, $_, 'created_at <@ r')
		  for $type->{in}, @{ $type->{more} // [] };
	}
}

$session->quit;
$node->stop;
done_testing();
