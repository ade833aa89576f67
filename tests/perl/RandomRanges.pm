# Random IDs of a month, and random ranges of times around them: of every kind of ends, from nothing
# to the whole month, on the edges of ticks and a microsecond beside them.
package RandomRanges;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT = qw(@RANDOM_TYPES create_random_ids answers);

# Returns an expression that is one of these values, each as likely as the others.
sub one_of {
	my (@values) = @_;
	return sprintf '(ARRAY[%s])[1 + floor(random() * %s)]', join(', ', @values), scalar @values;
}

# Returns a number of this many bits: none, the last, or any.
sub bits {
	my ($n) = @_;
	my $type = $n < 32 ? 'integer' : 'bigint';
	return one_of(0, "2^$n - 1", "floor(random() * 2^$n)") . "::$type";
}

# The predicates of an ID type that is compared by operators.
my @typed = (
	[ 120, 'id <@ times' ],
	[ 10, 'times @> id' ],
	[ 15, 'id >= l AND id < u', '>=', '<' ],
	[ 15, 'id > l AND id <= u', '>', '<=' ],
	[ 15, 'l <= id AND u >= id', '>=', '<=' ],
	[ 15, 'l < id AND u > id', '>', '<' ],
	[ 10, 'id = l', '=' ]);

# Each comparison with a time is up to three ranges of a guid's index: one of the usual drift, and
# all other drifts. Of one drift it is one range. Two comparisons read half the index, and so are
# asked less often.
my @of_drifts = (
	[ 85, 'id <@ times' ],
	[ 10, 'times @> id' ],
	[ 5, 'id >= l AND id < u', '>=', '<' ],
	[ 5, 'l < id AND u >= id', '>', '<=' ],
	[ 10, 'id = l', '=' ]);

my @drifts = map { "interval '$_'" } '68 s', '137 s', '549 s', '1099 s', '2199 s', '1 day';
my $drift = "CASE WHEN random() < 0.7 THEN interval '274 s' ELSE ${\one_of(@drifts)} END";
my $mac = one_of(map { "macaddr '$_'" } qw(00:00:00:00:00:00 02:00:00:00:00:01 ff:ff:ff:ff:ff:ff));

# The name, the tick in microseconds, and an ID of the time t. `asked` has predicates of a range and
# of two times, in any order: how many thousands of random ones are asked, the predicate by ID, and
# the operators that compare a column of times with l and u. Without these it is within the range.
our @RANDOM_TYPES = (
	{
		name => 'guid',
		tick => 131.072,
		drift => $drift,
		asked => [ [ 85, 'guid_within(id, times)' ], @of_drifts ],
		id => "guid_encode(t, ${\bits(32)}, ${\bits(14)}, drift)"
	},
	{
		name => 'guid_local',
		tick => 131.072,
		drift => $drift,
		asked => [ [ 85, 'guid_local_within(id, times)' ], @of_drifts ],
		id => "guid_local_encode(t, ${\bits(14)}, drift)"
	},
	{
		name => 'flake',
		tick => 1000,
		id => "flake_encode(t, ${\bits(5)}, ${\bits(5)}, ${\bits(12)})",
		asked => [
			[ 50, 'flake_within(id, times)' ],
			[ 30, 'id <@ times' ],
			[ 20, 'id >= l AND u > id', '>=', '<' ],
			[ 40, "flake_within(id, times, '2010-01-01 00:00+00')" ],
			[ 20, 'flake_between(id, l, u)', '>=', '<=' ],
			[ 20, 'flake_after(id, l) AND flake_before(id, u)', '>', '<' ],
			[ 20, 'flake_since(id, l) AND NOT flake_after(id, u)', '>=', '<=' ]
		]
	},
	{
		name => 'sno',
		tick => 4000,
		asked => \@typed,
		id => "sno_encode(t, ${\bits(1)}, ${\bits(8)}, ${\bits(16)}, ${\bits(16)})"
	},
	{
		name => 'uuidv7',
		type => 'uuid',
		tick => 1000,
		id => "uuidv7_encode(t, ${\bits(12)}, ${\bits(2)}, ${\bits(8)}, ${\bits(52)})",
		asked => [
			[ 100, 'uuidv7_within(id, times)' ],
			[ 40, 'uuidv7_between(id, l, u)', '>=', '<=' ],
			[ 30, 'uuidv7_after(id, l) AND uuidv7_before(id, u)', '>', '<' ],
			[ 30, 'uuidv7_since(id, l) AND uuidv7_before(id, u)', '>=', '<' ]
		]
	},
	{
		name => 'flake128',
		tick => 1000,
		asked => \@typed,
		id => "flake128_encode(t, $mac, ${\bits(16)})"
	},
	{
		name => 'uniqueid',
		tick => 1000,
		asked => \@typed,
		id => "uniqueid_encode(t, ${\bits(6)}, ${\bits(11)}, ${\bits(4)}, 'time_sequential')"
	});

# Creates the table of an ID type: IDs of a month in clusters, some in one tick, some in the next,
# where the fields below the time are often at an end. Returns how many IDs and times it has.
sub create_random_ids {
	my ($session, $id_type, $seed) = @_;
	my ($name, $tick) = @{$id_type}{ 'name', 'tick' };
	my $table = $id_type->{table} = "${name}s";
	my $type = $id_type->{type}   || $name;
	my $drift = $id_type->{drift} || 'NULL::interval';
	$session->query_safe(<<~"SQL");
		CREATE TABLE $table (id $type PRIMARY KEY, created_at timestamptz, drift interval);
		SELECT setseed($seed);
		INSERT INTO $table (id, drift) SELECT $id_type->{id}, drift FROM (
			SELECT start + floor(random() * 10) * $tick * interval '1 us' AS t, $drift AS drift
			FROM (
				SELECT timestamptz '2026-10-01' + random() * interval '31 days' AS start
				FROM generate_series(1, 150)
			) AS clusters, generate_series(1, 20) OFFSET 0
		) AS times ON CONFLICT DO NOTHING;
		UPDATE $table SET created_at = ${name}_timestamp(id);
		CREATE INDEX ON $table (created_at);
		SQL
	$session->query_safe("VACUUM (FULL) $table");
	$session->query_safe("VACUUM (ANALYZE) $table");
	return split /\|/,
	  $session->query_safe("SELECT count(*), count(DISTINCT created_at) FROM $table");
}

# Returns a query of random ranges: of two times of which the first is beside an ID's, most often
# near, and which come in the other order now and then. As a range they are put in order.
sub ranges {
	my ($id_type, $n) = @_;
	my ($table, $tick) = @{$id_type}{ 'table', 'tick' };
	my $month = '31 * 86400e6';
	my @beside = (0, 0, -1, 1, "floor((random() * 4 - 2) * $tick)", "floor(random() * 3) * $tick");
	my @length = (0, 1, $tick, "$tick - 1", "$tick + 1", "floor(random() * 10) * $tick");
	push @length, "floor(random() * 10 * $tick)", "exp(random() * ln($month))";
	my $ends = one_of("'[]'", "'[)'", "'(]'", "'()'");
	my $time = "near + interval '1 us' * (beside + CASE WHEN special %s THEN length ELSE 0 END)";
	my ($one, $other) = map { sprintf $time, $_ } '> 0.97', '<= 0.97';
	return <<~"SQL";
		SELECT nr, l, u, CASE WHEN special > 0.99 THEN 'empty'
			ELSE tstzrange(least(l, u), greatest(l, u), ends) END AS times
		FROM (
			SELECT nr, special, ends,
				CASE WHEN special < 0.01 THEN NULL
					WHEN special < 0.012 THEN '-infinity'
					WHEN special < 0.014 THEN 'infinity'
					ELSE $one END AS l,
				CASE WHEN special BETWEEN 0.009 AND 0.019 THEN NULL
					WHEN special BETWEEN 0.0115 AND 0.02 THEN 'infinity'
					ELSE $other END AS u
			FROM (
				SELECT nr, random() AS special, $ends AS ends,
					(ARRAY(SELECT created_at FROM $table ORDER BY created_at))
						[1 + floor(random() * (SELECT count(*) FROM $table))] AS near,
					CASE WHEN random() < 0.016 THEN $month * (random() - 0.5)
						ELSE ${\one_of(@beside)} END AS beside,
					${\one_of(@length)} AS length
				FROM generate_series(1, $n) AS nr OFFSET 0
			) AS choice OFFSET 0
		) AS bounds OFFSET 0
		SQL
}

# Returns a query that counts the IDs of random ranges by ID and by time. An index of times knows
# comparisons only, so it has those of a range too.
sub answers {
	my ($id_type, $n, $by_id, $lower, $upper) = @_;
	my @by_time =
	  $lower
	  ? "created_at $lower l"
	  : (
		'created_at <@ times',
		"created_at >= coalesce(least(l, u), '-infinity')",
		"created_at <= coalesce(greatest(l, u), 'infinity')");
	push @by_time, "created_at $upper u" if $upper;
	push @by_time, "drift = '274 s'" if $by_id =~ /^guid/;
	my $by_time = join ' AND ', @by_time;
	my $ranges = ranges($id_type, $n);
	return <<~"SQL";
		SELECT nr, l, u, times,
			(SELECT count(*) FROM $id_type->{table} WHERE $by_id) AS got,
			(SELECT count(*) FROM $id_type->{table} WHERE $by_time) AS wanted
		FROM ($ranges) AS ranges OFFSET 0
		SQL
}

1;
