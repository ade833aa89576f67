# Answers equal those of a column of times, on more than a million random ranges, 200,000 of every ID type: of every
# kind of ends, from nothing to the whole month, on the edges of ticks and a microsecond beside them. `make test` asks a fifth
# of them on all versions of PostgreSQL but one.
#
# FLAKEID_SEED is what random() begins with, from -1 to 1; the tests' names say it. The same seed gives the same ranges.
# FLAKEID_TIMES multiplies the number of ranges: with 5 it is a million of every ID type.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use Plan;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $seed = $ENV{FLAKEID_SEED} // 0.2026;
my $times = $ENV{FLAKEID_TIMES} // 1;

my $node = PostgreSQL::Test::Cluster->new('random_ranges');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
enable_seqscan = off
END
$node->start;
my $session = session($node);
$session->query_safe('CREATE EXTENSION flakeid');

# A number of so many bits: none, the last, or any.
sub bits {
	my ($n) = @_;
	my $type = $n < 32 ? 'integer' : 'bigint';
	return "(ARRAY[0, 2^$n - 1, floor(random() * 2^$n)])[1 + floor(random() * 3)]::$type";
}

# Predicates of a range and of two times, how many thousands of random ones each is asked, and what else the rows
# have to be. Two times can be in any order.
sub typed {
	return (
		[ 120, 'id <@ times' ],
		[ 10, 'times @> id' ],
		[ 15, 'id >= l AND id < u', 'created_at >= l AND created_at < u' ],
		[ 15, 'id > l AND id <= u', 'created_at > l AND created_at <= u' ],
		[ 15, 'l <= id AND u >= id', 'created_at BETWEEN l AND u' ],
		[ 15, 'l < id AND u > id', 'created_at > l AND created_at < u' ],
		[ 10, 'id = l', 'created_at = l' ]);
}

# Each comparison with a time is up to three ranges of a guid's index: one of the usual drift, and all other drifts. Of one
# drift it is one range. Two comparisons read half the index, and so are asked less often.
sub of_drifts {
	my ($name) = @_;
	my $drift = "created_at <\@ times AND drift = '274 s'";
	return (
		[ 85, "${name}_within(id, times)", $drift ],
		[ 85, 'id <@ times' ],
		[ 10, 'times @> id' ],
		[ 5, 'id >= l AND id < u', 'created_at >= l AND created_at < u' ],
		[ 5, 'l < id AND u >= id', 'created_at > l AND created_at <= u' ],
		[ 10, 'id = l', 'created_at = l' ]);
}

# A tick is in microseconds.
my $drift = "CASE WHEN random() < 0.7 THEN interval '274 s'"
  . " ELSE ('{68 s,137 s,549 s,1099 s,2199 s,1 day}'::interval[])[1 + floor(random() * 6)] END";
my $mac =
  "('{00:00:00:00:00:00,02:00:00:00:00:01,ff:ff:ff:ff:ff:ff}'::macaddr[])[1 + floor(random() * 3)]";
my @id_types = (
	{
		name => 'guid',
		tick => 131.072,
		drift => $drift,
		asked => [ of_drifts('guid') ],
		id => "guid_encode(t, ${\bits(32)}, ${\bits(14)}, drift)"
	},
	{
		name => 'guid_local',
		tick => 131.072,
		drift => $drift,
		asked => [ of_drifts('guid_local') ],
		id => "guid_local_encode(t, ${\bits(14)}, drift)"
	},
	{
		name => 'flake',
		tick => 1000,
		id => "flake_encode(t, ${\bits(5)}, ${\bits(5)}, ${\bits(12)})",
		asked => [
			[ 50, 'flake_within(id, times)' ],
			[ 30, 'id <@ times' ],
			[ 20, 'id >= l AND u > id', 'created_at >= l AND created_at < u' ],
			[ 40, "flake_within(id, times, '2010-01-01 00:00+00')" ],
			[ 20, 'flake_between(id, l, u)', 'created_at BETWEEN l AND u' ],
			[
				20,
				'flake_after(id, l) AND flake_before(id, u)',
				'created_at > l AND created_at < u'
			],
			[
				20,
				'flake_since(id, l) AND NOT flake_after(id, u)',
				'created_at >= l AND created_at <= u'
			]
		]
	},
	{
		name => 'sno',
		tick => 4000,
		asked => [ typed() ],
		id => "sno_encode(t, ${\bits(1)}, ${\bits(8)}, ${\bits(16)}, ${\bits(16)})"
	},
	{
		name => 'uuidv7',
		type => 'uuid',
		tick => 1000,
		id => "uuidv7_encode(t, ${\bits(12)}, ${\bits(2)}, ${\bits(8)}, ${\bits(52)})",
		asked => [
			[ 100, 'uuidv7_within(id, times)' ],
			[ 40, 'uuidv7_between(id, l, u)', 'created_at BETWEEN l AND u' ],
			[
				30,
				'uuidv7_after(id, l) AND uuidv7_before(id, u)',
				'created_at > l AND created_at < u'
			],
			[
				30,
				'uuidv7_since(id, l) AND uuidv7_before(id, u)',
				'created_at >= l AND created_at < u'
			]
		]
	},
	{
		name => 'flake128',
		tick => 1000,
		asked => [ typed() ],
		id => "flake128_encode(t, $mac, ${\bits(16)})"
	},
	{
		name => 'uniqueid',
		tick => 1000,
		asked => [ typed() ],
		id => "uniqueid_encode(t, ${\bits(6)}, ${\bits(11)}, ${\bits(4)}, 'time_sequential')"
	});

# IDs in a month: in clusters, some in one tick, some in the next, where the fields below the time are often at an end.
for my $id_type (@id_types) {
	my ($name, $tick) = @{$id_type}{ 'name', 'tick' };
	my $table = $id_type->{table} = "${name}s";
	my $type = $id_type->{type} || $name;
	my $of = $id_type->{drift}  || 'NULL::interval';
	$session->query_safe(<<"SQL");
CREATE TABLE $table (id $type PRIMARY KEY, created_at timestamptz, drift interval);
SELECT setseed($seed);
INSERT INTO $table (id, drift)
SELECT $id_type->{id}, drift
FROM (SELECT start + floor(random() * 10) * $tick * interval '1 us' AS t, $of AS drift
      FROM (SELECT timestamptz '2026-10-01' + random() * interval '31 days' AS start
            FROM generate_series(1, 150)) AS clusters, generate_series(1, 20)
      OFFSET 0) AS times
ON CONFLICT DO NOTHING;
UPDATE $table SET created_at = ${name}_timestamp(id);
CREATE INDEX ON $table (created_at);
SQL
	$session->query_safe("VACUUM (FULL) $table");
	$session->query_safe("VACUUM (ANALYZE) $table");
	my ($ids, $times) = split /\|/,
	  $session->query_safe("SELECT count(*), count(DISTINCT created_at) FROM $table");
	ok($ids > 2500 && $times < 0.7 * $ids, "$name: $ids IDs of $times ticks");
}

# Random ranges around those: of two times of which the first is beside an ID's, most often near, and which come in
# the other order now and then. As a range they are put in order.
sub ranges {
	my ($id_type, $n) = @_;
	my ($table, $tick) = @{$id_type}{ 'table', 'tick' };
	my $month = '31 * 86400e6';
	my @beside = (
		0, 0, -1, 1,
		"floor((random() * 4 - 2) * $tick)",
		"floor(random() * 3) * $tick",
		"$month * (random() - 0.5)");
	my @length = (
		0, 1, $tick, "$tick - 1", "$tick + 1",
		"floor(random() * 10) * $tick",
		"floor(random() * 10 * $tick)",
		"exp(random() * ln($month))");
	my $one_of =
	  sub { sprintf '(ARRAY[%s])[1 + floor(random() * %s)]', join(', ', @_[ 1 .. $#_ ]), $_[0] };
	my $ids = "ARRAY(SELECT created_at FROM $table ORDER BY created_at)";
	my ($beside, $length) = ($one_of->(6.1, @beside), $one_of->(8, @length));
	my $time = "near + interval '1 us' * (beside + CASE WHEN %s THEN length ELSE 0 END)";
	my ($one, $other) = map { sprintf $time, $_ } 'special > 0.97', 'special <= 0.97';
	return <<"SQL";
SELECT nr, l, u, CASE WHEN special > 0.99 THEN 'empty' ELSE tstzrange(least(l, u), greatest(l, u), ends) END AS times
FROM (SELECT nr, special, ends,
          CASE WHEN special < 0.01 THEN NULL
              WHEN special < 0.012 THEN '-infinity'
              WHEN special < 0.014 THEN 'infinity'
              ELSE $one END AS l,
          CASE WHEN special BETWEEN 0.009 AND 0.019 THEN NULL
              WHEN special BETWEEN 0.0115 AND 0.02 THEN 'infinity'
              ELSE $other END AS u
      FROM (SELECT nr, random() AS special, ${\$one_of->(4, map { "'$_'" } '[]', '[)', '(]', '()')} AS ends,
                ($ids)[1 + floor(random() * (SELECT count(*) FROM $table))] AS near,
                $beside AS beside, $length AS length
            FROM generate_series(1, $n) AS nr OFFSET 0) AS choice OFFSET 0) AS bounds OFFSET 0
SQL
}

# Counts by ID and by time. An index of times knows comparisons only, so a range is told to it in these, too.
sub answers {
	my ($id_type, $n, $by_id, $by_time) = @_;
	my $within = join ' AND ', 'created_at <@ times',
	  q{created_at >= coalesce(least(l, u), '-infinity')},
	  q{created_at <= coalesce(greatest(l, u), 'infinity')};
	$by_time = ($by_time // 'created_at <@ times') =~ s/created_at <\@ times/$within/r;
	my $ranges = ranges($id_type, $n);
	return <<"SQL";
SELECT nr, l, u, times,
    (SELECT count(*) FROM $id_type->{table} WHERE $by_id) AS got,
    (SELECT count(*) FROM $id_type->{table} WHERE $by_time) AS wanted
FROM ($ranges) AS ranges OFFSET 0
SQL
}

# The index of the IDs is asked for both ends of each range.
for my $id_type (@id_types) {
	for my $asked (@{ $id_type->{asked} }) {
		my ($thousands, $by_id, $by_time) = @$asked;
		my $plan = plan_of($session, answers($id_type, 100, $by_id, $by_time));
		my @scans = grep { ($_->{'Index Name'} // '') eq "$id_type->{table}_pkey" } scans_of($plan);
		my @other =
		  grep { ($_->{'Index Name'} // '') !~ /_pkey$|_created_at_idx$/ } scans_of($plan);
		# The ranges of other drifts have one end, and so has a comparison of a guid.
		my $end = $id_type->{drift} ? qr/both|lower|upper/ : qr/both/;
		ok( @scans && !@other && !(grep { bounds_of($_) !~ $end } @scans),
			"$id_type->{name}: $by_id is a range of the index") || diag(summary_of($plan));
	}
}

# A session asks all of an ID type; two do so at a time.
my $dir = PostgreSQL::Test::Utils::tempdir('random_ranges');
my @waiting = @id_types;
my @running;
while (@waiting || @running) {
	while (@running < 2 && @waiting) {
		my $id_type = shift @waiting;
		my $script = "$dir/$id_type->{name}.sql";
		for my $asked (@{ $id_type->{asked} }) {
			my ($thousands, $by_id, $by_time) = @$asked;
			my $answers = answers($id_type, 1000 * $thousands * $times, $by_id, $by_time);
			append_to_file($script, <<"SQL");
\\o /dev/null
SELECT setseed($seed);
\\o
SELECT count(*), count(*) FILTER (WHERE got IS DISTINCT FROM wanted), count(*) FILTER (WHERE wanted > 0), sum(wanted),
    (array_agg(format('%s to %s, %s: %s by ID, %s by time', l, u, times, got, wanted) ORDER BY nr)
        FILTER (WHERE got IS DISTINCT FROM wanted))[1]
FROM ($answers) AS answers;
SQL
		}
		$id_type->{since} = time();
		$id_type->{run} = IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
				'-d', $node->connstr('postgres'), '-f', $script
			],
			'<',
			'/dev/null',
			'>',
			\$id_type->{out},
			'2>',
			\$id_type->{err},
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
		push @running, $id_type;
	}
	for my $id_type (@running) {
		$id_type->{run}->pump_nb;
		next if $id_type->{run}->pumpable;
		$id_type->{run}->finish;
		$id_type->{run} = undef;
		note sprintf '%s: %.1f s', $id_type->{name}, time() - $id_type->{since};
	}
	@running = grep { $_->{run} } @running;
	sleep 0.1;
}

for my $id_type (@id_types) {
	is($id_type->{err}, '', "$id_type->{name}: no error");
	my @answers = split /\n/, $id_type->{out};
	my $all = 0;
	for my $asked (@{ $id_type->{asked} }) {
		my ($thousands, $by_id) = @$asked;
		my ($ranges, $different, $some, $ids, $first) = split /\|/, shift @answers // '', 5;
		$all += $ranges || 0;
		is($different, '0', "$id_type->{name}: $by_id, of $ranges random ranges with seed $seed")
		  || diag($first);
		cmp_ok($some, '>', 0.2 * $ranges, "... $some of which have IDs in them, $ids in all");
	}
	is($all, 200_000 * $times, "$id_type->{name}: $all ranges");
}

$session->quit;
$node->stop;
done_testing();
