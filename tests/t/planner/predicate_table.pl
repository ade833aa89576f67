# Each predicate of each ID type uses the index, prunes partitions and uses BRIN, in whichever way the query has its time:
# as a literal, a parameter, an expression, an expensive function, a subselect, or a column. And it finds the rows that a
# column of times has.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('predicate_table');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
timezone = 'UTC'
autovacuum = off
max_parallel_workers_per_gather = 0
enable_seqscan = off
END
$node->start;
my $session = session($node);

# 4,000 IDs of a month for each ID type: in a table with a btree index, one with a BRIN index, and one of four partitions.
$session->query_safe(<<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE moments AS
SELECT nr, timestamptz '2026-10-01 00:00:07+00' + nr * interval '11 min' AS t FROM generate_series(0, 3999) AS nr;
CREATE TABLE asked (t timestamptz, times tstzrange);
INSERT INTO asked VALUES ('2026-10-10 09:00:00+00', '[2026-10-10 09:00:00+00,2026-10-11 09:00:00+00)');
ANALYZE asked;
CREATE FUNCTION expensive_time() RETURNS timestamptz LANGUAGE plpgsql STABLE AS
	'BEGIN RETURN (SELECT t FROM asked); END';
CREATE FUNCTION expensive_range() RETURNS tstzrange LANGUAGE plpgsql STABLE AS
	'BEGIN RETURN (SELECT times FROM asked); END';
SQL

# The ways to have a time, and a range of times. "%s" stands for the kind: "t" or "times".
my %ways = (
	'literal' => {
		t => "timestamptz '2026-10-10 09:00:00+00'",
		times => "tstzrange '[2026-10-10 09:00:00+00,2026-10-11 09:00:00+00)'"
	},
	'expression' => {
		t =>
		  "(date_trunc('day', timestamptz '2026-10-10 03:00+00' + (now() - now()), 'UTC') + interval '9 h')",
		times =>
		  "tstzrange(timestamptz '2026-10-10 09:00+00' + (now() - now()), timestamptz '2026-10-10 09:00+00' + (now() - now()) + interval '1 day')"
	},
	'expensive expression' => {
		t =>
		  "((date_trunc('day', (timestamptz '2026-10-10 03:00+00' + (now() - now())) AT TIME ZONE 'Europe/Berlin') + interval '1 day' - interval '1 day' + interval '11 h') AT TIME ZONE 'Europe/Berlin')",
		times =>
		  "tstzrange((date_trunc('day', (timestamptz '2026-10-10 03:00+00' + (now() - now())) AT TIME ZONE 'Europe/Berlin') + interval '11 h') AT TIME ZONE 'Europe/Berlin',"
		  . " (date_trunc('day', (timestamptz '2026-10-10 03:00+00' + (now() - now())) AT TIME ZONE 'Europe/Berlin') + interval '1 day' + interval '11 h') AT TIME ZONE 'Europe/Berlin')"
	},
	'expensive function' => { t => 'expensive_time()', times => 'expensive_range()' },
	'subselect' => { t => '(SELECT t FROM asked)', times => '(SELECT times FROM asked)' },
	'column' => { t => 'asked.t', times => 'asked.times', from => 'asked, ' },
	'lateral column' => { t => 'asked.t', times => 'asked.times', lateral => 1 },
	'parameter' => { t => '$1', times => '$1' });

sub operators {
	my ($name) = @_;
	my @predicates;
	for my $operator (qw(< <= >= > =)) {
		my $turned = $operator =~ tr/<>/></r;
		push @predicates, [ "id $operator %s", 't', "created_at $operator %s" ],
		  [ "%s $turned id", 't', "created_at $operator %s" ];
	}
	push @predicates, [ 'id <@ %s', 'times', 'created_at <@ %s' ],
	  [ '%s @> id', 'times', 'created_at <@ %s' ];
	push @predicates, [ "${name}_within(id, %s)", 'times', 'created_at <@ %s' ] if $name =~ /^guid/;
	return @predicates;
}

sub functions {
	my ($name, $epoch) = @_;
	return (
		[
			"${name}_between(id, %1\$s, %1\$s + interval '1 day'$epoch)",
			't',
			"created_at BETWEEN %1\$s AND %1\$s + interval '1 day'"
		],
		[ "${name}_between(id, %s, 'infinity'$epoch)", 't', 'created_at >= %s' ],
		[ "${name}_since(id, %s$epoch)", 't', 'created_at >= %s' ],
		[ "${name}_after(id, %s$epoch)", 't', 'created_at > %s' ],
		[ "${name}_before(id, %s$epoch)", 't', 'created_at < %s' ],
		[ "${name}_within(id, %s$epoch)", 'times', 'created_at <@ %s' ]);
}

# The name of a table and its type, its predicates, and the name with which the names of the type's functions begin.
my @id_types = (
	[ 'typed', 'flake', [ operators('typed') ], 'flake' ],
	[
		'flake', 'bigint', [ functions('flake', ''), functions('flake', ", '2010-01-01 00:00+00'") ]
	],
	[ 'uuidv7', 'uuid', [ functions('uuidv7', '') ] ],
	map { [ $_, $_, [ operators($_) ] ] } qw(sno flake128 guid guid_local uniqueid));


for my $id_type (@id_types) {
	my ($name, $type, $predicates, $function) = (@$id_type, $id_type->[0]);
	my $bound = sub {
		$function eq 'flake' ? "flake_min('$_[0]', '2010-01-01 00:00+00')" : "${name}_min('$_[0]')";
	};
	my ($first, $second, $third, $fourth, $end) =
	  map { $bound->("2026-$_ 00:00+00") } qw(10-01 10-08 10-15 10-22 12-01);
	$session->query_safe(<<"SQL");
CREATE TABLE ${name}_btree (id $type PRIMARY KEY, created_at timestamptz);
INSERT INTO ${name}_btree SELECT ${function}_at(t), t FROM moments;
UPDATE ${name}_btree SET created_at = ${function}_timestamp(id);
CREATE TABLE ${name}_brin AS SELECT * FROM ${name}_btree ORDER BY id;
CREATE INDEX ON ${name}_brin USING brin (id) WITH (pages_per_range = 1);
CREATE TABLE ${name}_parts (id $type PRIMARY KEY, created_at timestamptz) PARTITION BY RANGE (id);
CREATE TABLE ${name}_parts_1 PARTITION OF ${name}_parts FOR VALUES FROM ($first) TO ($second);
CREATE TABLE ${name}_parts_2 PARTITION OF ${name}_parts FOR VALUES FROM ($second) TO ($third);
CREATE TABLE ${name}_parts_3 PARTITION OF ${name}_parts FOR VALUES FROM ($third) TO ($fourth);
CREATE TABLE ${name}_parts_4 PARTITION OF ${name}_parts FOR VALUES FROM ($fourth) TO ($end);
INSERT INTO ${name}_parts SELECT * FROM ${name}_btree;
SQL
	$session->query_safe(
		"VACUUM (FULL, ANALYZE) ${name}_btree; VACUUM (ANALYZE) ${name}_brin; VACUUM (ANALYZE) ${name}_parts"
	);
	for my $way (sort keys %ways) {
		for my $access (qw(btree brin parts)) {
			my @wrong;
			for my $predicate (@$predicates) {
				my ($by_id, $kind, $by_time) = @$predicate;
				my $wrong = fault("${name}_$access", $way, $access, $kind, $by_id, $by_time);
				push @wrong, "$by_id: $wrong" if $wrong;
			}
			is( join("\n", @wrong),
				'',
				"$name, time by $way: each predicate uses "
				  . { btree => 'the index', brin => 'BRIN', parts => 'few partitions' }->{$access});
		}
	}
}

# Returns what is wrong with the plan or the answer of a predicate.
sub fault {
	my ($table, $way, $access, $kind, $by_id, $by_time) = @_;
	my $time = $ways{$way}{$kind};
	my $answer = 'count(*), coalesce(sum(hashtextextended(id::text, 0)), 0)';
	my $where = sprintf $by_id, $time;
	my $from = ($ways{$way}{from} // '') . $table;
	my $query = "SELECT $answer FROM $from WHERE $where";
	$query = "SELECT found.* FROM asked, LATERAL (SELECT $answer FROM $table WHERE $where) AS found"
	  if $ways{$way}{lateral};
	my $prepared = $way eq 'parameter';

	if ($prepared) {
		my $type = $kind eq 't' ? 'timestamptz' : 'tstzrange';
		$session->query_safe(
			"SET plan_cache_mode = force_generic_plan; PREPARE asks ($type) AS $query");
		$query = "EXECUTE asks ($ways{literal}{$kind})";
	}
	# A bitmap is the only way to use BRIN, and the planner would rather have none for half of the rows.
	my $set = $access eq 'brin' ? 'SET enable_indexscan = off' : 'RESET enable_indexscan';
	my $plan =
	  $session->query_safe("$set; EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) $query");
	my $got = $session->query_safe($query);
	# A column of type flake is shown with the type that PostgreSQL takes it for.
	$plan =~ s/\((\w+(?:\.\w+)?)\)::bigint\b/$1/g;
	my $wanted = $session->query_safe(sprintf "SELECT $answer FROM $table WHERE $by_time",
		$ways{literal}{$kind});
	$session->query_safe('DEALLOCATE asks; RESET plan_cache_mode') if $prepared;

	return "the answer is $got, not $wanted" if $got ne $wanted;
	return "no rows are found" if $got =~ /^0\|/ && $by_id !~ / = /;
	return "a sequential scan\n$plan" if $plan =~ /Seq Scan on $table/;
	return "no condition of an index\n$plan"
	  if $access ne 'parts' && $plan !~ /Index Cond: .*\bid [<>]/;
	if ($access eq 'parts') {
		my @read = do {
			my %read;
			grep { !$read{$_}++ } $plan =~ /on (${table}_\d)\b(?=.*\n?)/g;
		};
		my @executed = grep {
				 $plan !~ /on $_ [^\n]*\(never executed\)/
			  && $plan !~ /using \w+ on $_ [^\n]*\(never executed\)/
		} @read;
		return "all partitions are read\n$plan" if @executed >= 4;
	}
	return '';
}

$session->quit;
$node->stop;
done_testing();
