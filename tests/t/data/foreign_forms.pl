# postgres_fdw sends expressions whose operator PostgreSQL prints without a schema, and the other
# server has a search_path of its own, pg_catalog. docs/fleet.md says which of them are errors, and
# that the forms for dumps in docs/troubleshooting.md work.
use strict;
use warnings;
use lib 'tests/perl';

use ForeignServers;
use Test::More;

start_servers();
my @types = grep { $_->{type} eq $_->{name} } @ID_TYPES;
cmp_ok(scalar @types, '==', 5, 'there are five ID types with operators of their own');

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

my $join = 'SELECT count(*) FROM TYPEs AS a JOIN TYPEs AS b USING (id)';
here("SET enable_${_}join = off") for 'hash', 'merge';
here('SET enable_nestloop = off');

for my $type (map { $_->{name} } @types) {
	there(<<~"SQL");
		CREATE TABLE ${type}s (id $type, nr integer);
		INSERT INTO ${type}s
			SELECT CASE WHEN nr < 4 THEN ${type}_at('2026-01-01 00:00+00', nr) END, nr
			FROM generate_series(1, 4) AS nr;
		SQL
	here(<<~"SQL");
		CREATE FOREIGN TABLE ${type}s (id $type, nr integer) SERVER told
			OPTIONS (use_remote_estimate 'false')
		SQL
	my $first = q{'} . there("SELECT id FROM ${type}s WHERE nr = 1") . "'::$type";
	for my $name (sort keys %forms) {
		my ($expression, $other) = map { s/FIRST/$first/gr } @{ $forms{$name} };
		my $count = "SELECT count(*) FROM ${type}s WHERE";
		my $expected = there("$count $expression");
		my $sent = sent("SELECT nr FROM ${type}s WHERE $expression");
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
stop_servers();
done_testing();
