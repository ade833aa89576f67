# Which conditions on the time of an ID postgres_fdw sends to the other server, which answers them
# by its index. It also sends expressions whose operator PostgreSQL prints without a schema, and the
# other server has a search_path of its own, pg_catalog. docs/fleet.md says which of them are
# errors, and that the forms for dumps in docs/troubleshooting.md work. A flake has another time on
# a server with another epoch.
use strict;
use warnings;
use lib 'tests/perl';

use ForeignServers;
use Server;
use Test::More;

my (undef, $there) = start_servers();
# What is sent of a condition on IDs and of one on numbers or UUIDs, which PostgreSQL compares.
my ($from, $to) = map { qr/\(id OPERATOR\(public\.$_\) '\S+'\)/ } '>=', '<=';
my $id_range = qr/$from\) AND \($to/;
my $number_range = qr/\(id >= \d+::bigint\)\) AND \(\(id <= \d+::bigint\)/;
my $uuid_range = qr/\(id >= '\S+'\)\) AND \(\(id <= '\S+'\)/;
my $any_range = qr/$id_range|$number_range|$uuid_range/;

for my $id_type (@ID_TYPES) {
	my ($name, $type, $next) = @$id_type{qw(name type next)};
	there(<<~"SQL");
		CREATE TABLE ${name}s (id $type DEFAULT $next PRIMARY KEY, line text);
		INSERT INTO ${name}s SELECT ${name}_at(t), 'old'
		FROM generate_series(timestamptz '2025-12-01 00:00:00.5+00', '2026-03-01', '1 hour') AS t;
		INSERT INTO ${name}s (line) SELECT 'new' FROM generate_series(1, 5000);
		SQL
	here(<<~"SQL");
		CREATE FOREIGN TABLE ${name}s (id $type, line text) SERVER plain;
		CREATE FOREIGN TABLE told_${name}s (id $type, line text)
			SERVER told OPTIONS (table_name '${name}s');
		SQL
	my $within = within($id_type, $MONTH);
	my $plainly_sent = sent("SELECT line FROM ${name}s WHERE $within");
	if ($name eq 'uuidv7') {
		like($plainly_sent, qr/^\($uuid_range\)$/,
			'uuidv7: any server is asked for a range of UUIDs, since PostgreSQL compares them');
	}
	else {
		is($plainly_sent, '',
			"$name: a server without the option for flakeid is not asked for a month");
	}
	is(here("SELECT count(*) FROM ${name}s WHERE $within"),
		'744', "$name: a condition that is not sent finds the rows of a month");

	if ($name eq 'flake') {
		is(sent("SELECT line FROM told_flakes WHERE $within"),
			'', 'flake: a condition without an epoch is not sent, as it depends on a setting');
		$within = "flake_within(id, $MONTH, $EPOCH)";
		like(sent("SELECT line FROM flakes WHERE $within"),
			qr/^\($number_range\)$/, 'flake: any server is asked for a range with an epoch');
	}
	my $query = "SELECT line FROM told_${name}s WHERE $within";
	like(sent($query), $any_range, "$name: a server with the option is asked for a range of IDs");
	is(here($query =~ s/line/count(*)/r), '744', "$name: the range finds the rows of a month");
	my ($remote) = here("EXPLAIN (VERBOSE, COSTS OFF) $query") =~ /Remote SQL: (.*)/;
	like(
		there("BEGIN; SET LOCAL search_path = pg_catalog; EXPLAIN (COSTS OFF) $remote; COMMIT"),
		qr/Index Scan using ${name}s_pkey.*Index Cond: \(\(id .*>=.* AND \(id .*<=/s,
		"$name: the other server finds the range by its index");
	my $newest = "SELECT id FROM told_${name}s WHERE $within ORDER BY id DESC LIMIT 10";
	like(
		here("EXPLAIN (VERBOSE, COSTS OFF) $newest"),
		qr/\A(?!.*Sort).*Remote SQL: .* ORDER BY id DESC/s,
		"$name: the other server sorts the newest ten");

	# A time that differs from statement to statement is computed here.
	my $epoch = $name eq 'flake' ? ", $EPOCH" : '';
	my $after = "id >= ${name}_min(%s$epoch)";
	my $recent = sprintf $after, q{now() - interval '1 hour'};
	is(sent("SELECT line FROM told_${name}s WHERE $recent"), '', "$name: now() is not sent");
	if ($name ne 'flake') {
		my $subselect = sprintf $after, q{(SELECT now() - interval '1 hour')};
		like(
			sent("SELECT line FROM told_${name}s WHERE $subselect"),
			qr/>=\)? (?:public\.)?${name}_min\(\$1::timestamp with time zone/,
			"$name: now() in a subselect is sent as a value");
	}
	is(here("SELECT count(*) FROM told_${name}s WHERE $recent"),
		'5000', "$name: a condition with now() finds the new rows");
}

# A column of type flake is sent as the bigint for which PostgreSQL takes it.
there(<<~'SQL');
	CREATE TABLE typed (id flake DEFAULT flake_next() PRIMARY KEY, line text);
	INSERT INTO typed SELECT nr, nr FROM generate_series(1, 1000) AS nr;
	SQL
here("CREATE FOREIGN TABLE typed (id flake, line text) SERVER told OPTIONS (table_name 'typed')");
for (
	[ "id = '5'", qr/id = 5::bigint/, 1 ],
	[ 'id = 5', qr/id = 5/, 1 ],
	[ "id IN ('5', '6')", qr/id = ANY \('\{5,6\}'::bigint\[\]\)/, 2 ],
	[
		"id > '5' AND id < '2000000000000000000'",
		qr/id > 5::bigint.* AND .*id < 2000000000000000000::bigint/,
		995
	],
	[
		"flake_within(id, '[2026-01-01,2026-02-01)', $EPOCH)",
		qr/id >= \d+::bigint.* AND .*id <= \d+::bigint/,
		0
	])
{
	my ($condition, $remote, $count) = @$_;
	like(sent("SELECT line FROM typed WHERE $condition"),
		$remote, "the condition $condition of a column of type flake is sent");
	is(here("SELECT count(*) FROM typed WHERE $condition"),
		$count, "the condition $condition finds the rows there");
}
is(sent('SELECT line FROM typed WHERE id >= now()'),
	'', 'a time that is compared with a flake is not sent, since it depends on a setting');

# forms --------------------------------------------------------------------------------------------

my @types = grep { $_->{type} eq $_->{name} } @ID_TYPES;
is(scalar @types, 5, 'there are five ID types with operators of their own');

# An expression, and its other form in docs/troubleshooting.md. FIRST is the first of three IDs. The
# fourth row has no ID.
my %forms = (
	'IS DISTINCT FROM' => [ 'id IS DISTINCT FROM FIRST', 'id::text IS DISTINCT FROM FIRST::text' ],
	'IS NOT DISTINCT FROM' =>
	  [ 'id IS NOT DISTINCT FROM FIRST', 'id::text IS NOT DISTINCT FROM FIRST::text' ],
	'CASE' => [
		'CASE id WHEN FIRST THEN false ELSE true END',
		'CASE WHEN id = FIRST THEN false ELSE true END'
	],
	'NULLIF' =>
	  [ 'nullif(id, FIRST) IS NULL', 'CASE WHEN id = FIRST THEN NULL ELSE id END IS NULL' ],
	'rows' => [ '(id, nr) > (FIRST, 0)', 'id > FIRST OR id = FIRST AND nr > 0' ],);
my %is_sent = ('IS DISTINCT FROM' => 1, 'IS NOT DISTINCT FROM' => 1, 'CASE' => 1);

my $join = 'SELECT count(*) FROM few_TYPEs AS a JOIN few_TYPEs AS b USING (id)';
here("SET enable_${_}join = off") for 'hash', 'merge';
here('SET enable_nestloop = off');

for my $type (map { $_->{name} } @types) {
	there(<<~"SQL");
		CREATE TABLE few_${type}s (id $type, nr integer);
		INSERT INTO few_${type}s
			SELECT CASE WHEN nr < 4 THEN ${type}_at('2026-01-01 00:00+00', nr) END, nr
			FROM generate_series(1, 4) AS nr;
		SQL
	here(<<~"SQL");
		CREATE FOREIGN TABLE few_${type}s (id $type, nr integer) SERVER told
			OPTIONS (use_remote_estimate 'false')
		SQL
	my $first = q{'} . there("SELECT id FROM few_${type}s WHERE nr = 1") . "'::$type";
	for my $name (sort keys %forms) {
		my ($expression, $other) = map { s/FIRST/$first/gr } @{ $forms{$name} };
		my $count = "SELECT count(*) FROM few_${type}s WHERE";
		my $expected = there("$count $expression");
		my $sent = sent("SELECT nr FROM few_${type}s WHERE $expression");
		if ($is_sent{$name}) {
			isnt($sent, '', "$type: $name is sent");
			like(
				error_here("$count $expression"),
				qr/operator does not exist: public\.$type = public\.$type/,
				"$type: $name is an error of the other server");
		}
		else {
			is($sent, '', "$type: $name is not sent");
			is(here("$count $expression"), $expected, "$type: $name is computed here");
		}
		is(here("$count $other"), $expected, "$type: the other form of $name finds the same rows");
	}
	like(
		here("EXPLAIN (VERBOSE, COSTS OFF) $join" =~ s/TYPE/$type/gr),
		qr/Remote SQL: .* JOIN .* ON .*OPERATOR\(public\.=\)/,
		"$type: JOIN USING is sent as a condition with its operator");
	is(here($join =~ s/TYPE/$type/gr), '3', "$type: JOIN USING finds the rows");
}

# epochs -------------------------------------------------------------------------------------------

# The number of a flake is the same on both servers. Each reads its time by its own epoch.
my $id = here('SELECT max(id) FROM flakes');
is( there("SELECT flake_timestamp($id)"),
	here("SELECT flake_timestamp($id)"),
	'a flake has the same time on servers with the same epoch');
reload_with($there, epoch => 'unix');
is( there("SELECT flake_timestamp($id)"),
	here("SELECT flake_timestamp($id) - interval '18262 days'"),
	'a flake has an earlier time on a server with an earlier epoch');
is( there("SELECT flake_timestamp($id, $EPOCH)"),
	here("SELECT flake_timestamp($id)"),
	'a flake has the same time on both servers with the epoch as an argument');
is(here("SELECT count(*) FROM told_flakes WHERE flake_within(id, $MONTH)"),
	'744', 'a condition without an epoch uses the epoch of the server that asks');
is(here("SELECT count(*) FROM told_flakes WHERE flake_within(id, $MONTH, $EPOCH)"),
	'744', 'a condition with an epoch is sent as numbers');

stop_servers();
done_testing();
