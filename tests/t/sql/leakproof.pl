# A function of the extension is LEAKPROOF, or this file has the reason why it is not. Each one that
# is LEAKPROOF gets every combination of extreme, random and boundary values: none raises an error,
# and so none tells anything but its result. PostgreSQL computes it before row-level security hides
# a row, and that lets a query use an index.
use strict;
use warnings;
use lib 'tests/perl';

use Server;
use Test::More;

# Functions by name, where X is each ID type: the reason why they are not LEAKPROOF.
my %reasons = (
	'an argument can be invalid, and the error tells it' => [
		qw(X_to_public X_from_public X_to_public_uuid X_from_public_uuid X_encode X_at X_in
		  X_from_text X_to_text X_from_bytea X_partition_bounds sno_with_meta sno_from_uuid
		  guid_global flake_from_flake128 flake_from_uuidv7 flake_from_numeric flake128_from_numeric
		  flake128_from_integer flakeid_partition_times flakeid_require_library)
	],
	'it does nothing but raise an error' => [qw(flakeid_no_arithmetic)],
	'it generates IDs, and no condition has it' => [qw(X_next X_next_in X_next_batch)],
	'it has an argument of type internal, and no query can call it' => [
		qw(X_next_for_copy X_recv X_sortsupport X_skipsupport X_minmax_multi_distance
		  flakeid_next_support flakeid_recheck_support flakeid_no_arithmetic_support
		  flakeid_before_support flakeid_until_support flakeid_at_support flakeid_since_support
		  flakeid_after_support flakeid_not_at_support flakeid_within_support
		  flakeid_between_support flakeid_ltsel flakeid_lesel flakeid_gesel flakeid_gtsel
		  flakeid_ltjoinsel flakeid_lejoinsel flakeid_gejoinsel flakeid_gtjoinsel)
	],
	'it has no argument that it could tell' => [
		qw(flakeid_public_key_versions flakeid_new_public_key pg_stat_get_flakeid
		  pg_stat_get_flakeid_horizon pg_stat_get_flakeid_lease pg_stat_get_flakeid_watermark
		  pg_stat_reset_flakeid flakeid_snapshot flakeid_accept_clock flakeid_identity
		  flakeid_get_refused_settings flakeid_get_settings_errors flakeid_get_readiness
		  flakeid_watermark)
	],);
my @id_types = qw(flake sno flake128 guid guid_local uniqueid uuidv7);
my %reason;
for my $reason (keys %reasons) {
	for my $name (@{ $reasons{$reason} }) {
		$reason{$name} = $reason;
		$reason{ $name =~ s/^X_/${_}_/r =~ s/_X\z/_$_/r } = $reason for @id_types;
	}
}

# Values of each type of argument. An ID is any bytes: of all types the smallest and the largest,
# and those between.
my @times = split /\n\s*/, <<'TIMES';
-infinity
infinity
epoch
4714-11-24 00:00+00 BC
0001-01-01 00:00+00
1969-12-31 23:59:59.999999+00
2010-01-01 00:00+00
2026-07-01 12:34:56.789012+00
2079-09-07 15:47:35.551+00
2109-05-15 07:35:11.104+00
2262-04-11 23:47:16.854776+00
2554-07-21 23:34:33.709551+00
294247-01-10 04:00:54.775806+00
294247-01-10 04:00:54.775807+00
294276-12-31 23:59:59.999999+00
TIMES
my %values = (
	'timestamp with time zone' => "unnest('{" . join(',', @times) . "}'::timestamptz[])",
	tstzrange => <<~'SQL',
		SELECT 'empty'::tstzrange
		UNION ALL SELECT tstzrange(a.time, b.time, bounds)
		FROM times AS a, times AS b, unnest('{[],"[)",(],()}'::text[]) AS bounds
		WHERE (a.time <= b.time) IS NOT false
		SQL
	interval => "unnest('{0,-1 us,1 us,34 s,274 s,-178000000 years,178000000 years,"
	  . "9223372036854775807 us,2147483647 days}'::interval[])",
	boolean => q(unnest('{t,f}'::boolean[])),
	integer => q(unnest('{0,1,7,8,-1,2147483647,-2147483648}'::integer[])),
	bigint => q(SELECT unnest('{0,1,-1,9223372036854775807,-9223372036854775808}'::bigint[])
		UNION ALL SELECT hashint8extended(i, 1) FROM generate_series(1, 20) AS i),
	smallint => q(unnest('{0,1,-1,32767,-32768}'::smallint[])),
	uniqueid_mode => 'unnest(enum_range(NULL::uniqueid_mode))',);
$values{$_} = "SELECT value::$_ FROM ($values{bigint}) AS bigints (value)"
  for qw(flake timed_flake);
$values{flakeid_times} = "SELECT value::flakeid_times FROM ($values{tstzrange}) AS ranges (value)";
# These are NULL for a uuid of another version.
my %null = map { $_ => 'NOT uuidv7_valid(v0)' } qw(uuidv7_timestamp uuidv7_decode);
my %bytes = (sno => 10, flake128 => 16, guid => 12, guid_local => 8, uniqueid => 8, uuid => 16);
for my $type (keys %bytes) {
	my $cast = $type eq 'uuid' ? q(encode(bytes, 'hex')::uuid) : "bytes::$type";
	$values{$type} = <<"SQL";
SELECT $cast FROM (
	SELECT decode(repeat(pattern, $bytes{$type}), 'hex') AS bytes
	FROM unnest('{00,ff,7f,80,2e,5f}'::text[]) AS pattern
	UNION ALL SELECT substr(decode(md5(i::text), 'hex'), 1, $bytes{$type})
	FROM generate_series(1, 25) AS i) AS random
SQL
}
# Few of these are of version 7.
$values{uuid} .= <<'SQL';
UNION ALL SELECT overlay(overlay(md5(i::text) PLACING '7' FROM 13) PLACING 'b' FROM 17)::uuid
FROM generate_series(1, 25) AS i
SQL

my $node = flakeid_server('leakproof', "timezone = 'UTC'\nautovacuum = off\n");
my $session = session($node);
sub sql { return $session->query_safe($_[0]); }
sql(    "CREATE TEMP TABLE times AS SELECT * FROM $values{'timestamp with time zone'} AS time"
	  . ' UNION ALL SELECT NULL');
my %table;

for my $type (sort keys %values) {
	$table{$type} = 'values_of_' . $type =~ s/\W/_/gr;
	my $query = $values{$type} =~ /^SELECT/ ? $values{$type} : "SELECT $values{$type}";
	sql("CREATE TEMP TABLE $table{$type} (value) AS $query");
}

my @functions = map { [ split /\|/ ] } split /\n/, sql(<<'SQL');
SELECT proname, p.oid::regprocedure, proleakproof,
	(SELECT string_agg(format_type(t, NULL), ',' ORDER BY nr)
		FROM unnest(proargtypes) WITH ORDINALITY AS a (t, nr))
FROM pg_depend JOIN pg_extension AS e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid
JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE extname = 'flakeid' AND prokind = 'f' ORDER BY 2
SQL
my %seen;
my $calls = 0;
for my $function (@functions) {
	my ($name, $signature, $leakproof, $arguments) = @$function;
	$seen{$name} = 1;
	if ($leakproof eq 'f') {
		ok($reason{$name},
			"$signature is not LEAKPROOF: " . ($reason{$name} // 'and no reason is listed'));
		next;
	}
	ok(!$reason{$name}, "$signature is LEAKPROOF, and so it is not in the list of reasons");
	my @arguments = split /,/, $arguments;
	my @unknown = grep { !$table{$_} } @arguments;
	is("@unknown", '', "$signature: there are values for each argument");
	next if @unknown;
	my $from = join ', ', map { "$table{ $arguments[$_] } AS a$_ (v$_)" } 0 .. $#arguments;
	my $call = "$name(" . join(', ', map { "v$_" } 0 .. $#arguments) . ')';
	# A function with OUT columns is a row, which is NULL if each column is.
	my $expected = $null{$name} // 'false';
	my $not_null = join ' AND ', map { "v$_ IS NOT NULL" } 0 .. $#arguments;
	my $counted = $session->query(<<~"SQL");
		SELECT count(*), count(*) FILTER (WHERE (($call) IS NULL) <> ($expected))
		FROM $from WHERE $not_null
		SQL
	my $error = $session->{stderr};
	$session->{stderr} = '';
	is($error, '', "$signature raises no error");
	my ($count, $null) = split /\|/, $counted;
	$calls += $count // 0;
	is($null, 0, "$signature has a result for each of $count combinations") if !$error;
}
cmp_ok($calls, '>', 100_000, "all in all $calls calls raised no error");
my @gone = grep { !/X/ && !$seen{$_} } map { @$_ } values %reasons;
is("@gone", '', 'the list of reasons names no function that is gone');

# A setting that is wrong is an error for each value, and so the error tells nothing of the value.
$node->append_conf('postgresql.conf', "flakeid.epoch = 'no epoch'\n");
$node->restart;
my @calls;
for my $call (
	'flake_min(%s)', 'flake_max(%s)',
	'flake_range_min(tstzrange(%s, NULL))', 'flake_range_max(tstzrange(%s, NULL))')
{
	push @calls, map { sprintf $call, "timestamptz '$_'" } @times;
}
push @calls, map { "flake_timestamp('$_')" } 0, 1, -1, '9223372036854775807';
my %errors =
  map { error_of($node, "SELECT $_") =~ s/^psql:.*?: |^LOCATION.*\n//gmr => 1 } @calls;
is(scalar(keys %errors), 1, 'with an invalid epoch each call raises the same error');
like((keys %errors)[0], qr/ERROR:  .*flakeid\.epoch/, 'that error is about the setting');

$node->stop;
done_testing();
