# Each function of flakeid that SQL can call is called with NULL, ordinary, extreme and foreign
# values of its arguments. No call may crash the server or end in an internal error, and no message
# may be as long as an argument. In a database of another encoding than UTF-8, texts have bytes that
# are not valid there. What only the planner, indexes and COPY call is used with each ID type. The
# lists come from the catalog.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('every_function');

# For each type of an argument, expressions of its values. The first is an ordinary one.
my %values = (
	boolean => [qw(true false)],
	bytea => [ map { "'\\x$_'" } '', '00', '01' x 16, 'ff' x 16, 'ff' x 1000 ],
	smallint => [qw(1 0 -32768 32767)],
	integer => [qw(1 0 -2147483648 2147483647)],
	bigint => [qw(1 0 -9223372036854775808 9223372036854775807 flake_next())],
	numeric => [ 1, -1, '1e40', "'NaN'", "'infinity'" ],
	text => [
		(map { "'$_'" } 'sno', '', '0', 'Europe/Berlin'),
		map { "repeat(convert_from('\\x$_', getdatabaseencoding()), 20000)" } '78', 'c3a9'
	],
	cstring => [ map { "'$_'" } '1', '', '-1', 'f' x 32, 'x' x 5000 ],
	macaddr => [ map { "'$_'" } '08:00:2b:01:02:03', '00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff' ],
	uuid => [
		"'019eeb2f-4c00-7000-8000-000000000001'", "'00000000-0000-0000-0000-000000000000'",
		"'ffffffff-ffff-ffff-ffff-ffffffffffff'"
	],
	# The planner replaces no comparison with a time that changes during the statement.
	'timestamp with time zone' => [
		(   map { "'$_'" } '2026-07-01 12:00:00.123456+00', '-infinity',
			'infinity', '4714-11-24 00:00+00 BC',
			'294276-12-31+00'),
		'clock_timestamp()'
	],
	interval => [ map { "'$_'" } '1 day', '0', '1 ms', '-1 day', '178000000 years' ],
	tstzrange =>
	  [ map { "'$_'" } '[2026-07-01,2026-07-02)', 'empty', '(,)', '(infinity,)', '(,-infinity)' ],
	uniqueid_mode => [ map { "'$_'" } 'spread', 'time_sequential' ],);
$values{flakeid_times} = $values{tstzrange};
my @id_types = qw(flake sno flake128 guid guid_local uniqueid);
for my $type (@id_types) {
	$values{$type} = [
		map { "${type}_$_" } "min('2026-07-01 12:00+00')", "max('infinity')",
		"min('-infinity')", 'next()'
	];
}
$values{timed_flake} = $values{flake};

my $members = <<~'SQL';
	FROM pg_depend JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND objid = p.oid
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
	  AND NOT proargtypes::oid[] @> ARRAY['internal'::regtype::oid]
	SQL
my @functions = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', <<~"SQL");
	SELECT p.oid::regproc, prokind,
	    (SELECT string_agg(format_type(type, NULL), ',' ORDER BY nr)
	     FROM unnest(proargtypes) WITH ORDINALITY AS types (type, nr))
	$members ORDER BY p.oid
	SQL

my (%unknown, @calls);
for (@functions) {
	my ($name, $kind, $types) = @$_;
	my @types = split /,/, $types // '';
	$unknown{$_}++ for grep { !$values{$_} } @types;
	my @expressions = map {
		my $type = $_;
		[ map { "($_)::$type" } @{ $values{$type} // [] }, 'NULL' ]
	} @types;
	my @first = map { $_->[0] } @expressions;
	my %lists = (join(', ', @first) => 1, join(', ', map { $_->[-1] } @expressions) => 1);
	for my $i (0 .. $#types) {
		for my $expression (@{ $expressions[$i] }) {
			my @arguments = @first;
			$arguments[$i] = $expression;
			$lists{ join ', ', @arguments } = 1;
		}
	}
	push @calls,
	  map { $kind eq 'p' ? "CALL $name($_);" : "SELECT * FROM (SELECT $name($_) LIMIT 3) AS s;" }
	  sort keys %lists;
}
is(join(', ', sort keys %unknown), '', 'the test has values of each type of argument');
cmp_ok(scalar @functions, '>', 300, 'the catalog lists functions');

$node->safe_psql('postgres',
	"CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
$node->safe_psql('latin', 'CREATE EXTENSION flakeid');
for my $database ('postgres', 'latin') {
	# A procedure waits for times that never come, until its time is over.
	my ($stdout, $stderr);
	my $status = $node->psql(
		$database,
		"\\set VERBOSITY verbose\nSET statement_timeout = '3s';\n" . join("\n", @calls),
		on_error_stop => 0,
		stdout => \$stdout,
		stderr => \$stderr);
	is($status, 0, "the session in the database $database survives " . @calls . ' calls');
	# A function of the extension itself takes the name of an ID type, and expects no other.
	# Arithmetic with an ID is refused with the code of a function that does not exist.
	$stderr =~
	  s/^.*ERROR:  (?:XX000: flakeid's library does not know the|42883: cannot compute with).*//mg;
	is(join("\n", $stderr =~ /^.*ERROR:  (?:XX\d\d\d|42601|42703|42883): .*/mg),
		'', "no call in $database ends in an internal error, or in that of a wrong statement");
	# PostgreSQL itself reads a flake as a bigint.
	my @long =
	  grep { length > 5000 && !/ for type bigint: / } $stderr =~ /(?:ERROR|DETAIL|HINT):  .*/g;
	is(scalar @long, 0, "no message in $database is as long as an argument")
	  or diag(map { substr($_, 0, 200) . "\n" } @long);
}

# The functions that PostgreSQL itself calls.
my $dir = PostgreSQL::Test::Utils::tempdir();
for my $type (@id_types, 'uuid') {
	my $prefix = $type eq 'uuid' ? 'uuidv7' : $type;
	my $multi = $node->safe_psql('postgres',
		"SELECT opcname FROM pg_opclass WHERE opcintype = '$type'::regtype AND opcname ~ 'multi'");
	$multi = "CREATE INDEX ON of_$type USING brin (id $multi);" if $multi;
	# A uuid has no maximum in all versions of PostgreSQL, and no comparison with a time.
	my $of_ids_only = $type eq 'uuid' ? '' : <<~"SQL";
		SELECT max(id), min(id) FROM of_$type;
		EXPLAIN SELECT FROM of_$type AS a JOIN of_$type AS b
		    ON a.id < b.t AND b.t < a.id AND a.id <= b.t AND a.id > b.t AND a.id >= b.t;
		SQL
	my $sql = <<~"SQL";
		CREATE TABLE of_$type
		    (id $type DEFAULT ${prefix}_next(), n integer, t timestamptz DEFAULT now());
		INSERT INTO of_$type (n) SELECT nr % 3 FROM generate_series(1, 400) AS nr;
		COPY of_$type (n) TO '$dir/$type.text';
		COPY of_$type (n) FROM '$dir/$type.text';
		COPY of_$type TO '$dir/$type.binary' (FORMAT binary);
		COPY of_$type FROM '$dir/$type.binary' (FORMAT binary);
		$multi
		CREATE INDEX ON of_$type (n, id);
		CREATE INDEX ON of_$type (id, t);
		INSERT INTO of_$type (n) SELECT nr % 3 FROM generate_series(1, 400) AS nr;
		ANALYZE of_$type;
		$of_ids_only
		EXPLAIN SELECT FROM of_$type AS a JOIN of_$type AS b ON a.id < b.id AND b.id >= a.id;
		EXPLAIN SELECT FROM of_$type AS a JOIN of_$type AS b ON a.id <= b.id AND b.id > a.id;
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;
		SELECT count(*) FROM of_$type WHERE id > ${prefix}_min('2000-01-01') AND n = 1;
		SELECT count(*) FROM of_$type WHERE t = now();
		SQL
	is(error_of($node, $sql), '', "$type is used by COPY, indexes and the planner");
}
$node->stop;
done_testing;
