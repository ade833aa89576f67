# A condition on a column of type flake finds the rows that it finds in a column of bigint, by the
# same plan with the same costs: with each operator, each kind of operand, and each index.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeTwins;
use Server;
use Test::More;

my ($node, $session) = start_twins('flake_conditions');
my @tables = qw(things hashed log multi ranges shards);

# Returns a query on each table for each of these conditions.
sub on_each_table {
	my (@conditions) = @_;
	return map {
		my $table = $_;
		map { "SELECT count(*), sum(nr) FROM $table WHERE $_" } @conditions
	} @tables;
}

# An ID of 19 digits is a bigint to PostgreSQL, a short one an integer.
my @literals = (
	q('2000000000000000000'), '2000000000000000000',
	q('5'), '5',
	'-3', '5::smallint',
	q(bigint '3000000000000000000'), q(TYPE '3000000000000000000'),
	'NULL', 'NULL::bigint',
	q(' 7 '), '0',
	'9223372036854775807', q('-9223372036854775808'),
	'(SELECT max(thing) FROM notes)', '(SELECT nr FROM notes ORDER BY nr DESC LIMIT 1)');
# The name of the type differs in the two schemas, so a parameter of it has a cast.
my @parameters = (
	[ '$1', 'bigint', '2000000000000000000' ],
	[ '$1', 'integer', '5' ],
	[ '$1', 'smallint', '5' ],
	[ '$1', 'unknown', q('3000000000000000000') ],
	[ '$1::TYPE', 'unknown', q('3000000000000000000') ]);
my %turned = ('=' => '=', '<>' => '<>', '<' => '>', '<=' => '>=', '>' => '<', '>=' => '<=');
my (@with_literals, @with_parameters);
for my $operator (sort keys %turned) {
	push @with_literals,
	  on_each_table(map { ("id $operator $_", "$_ $turned{$operator} id") } @literals);
	for (@parameters) {
		my ($parameter, $type, $value) = @$_;
		push @with_parameters,
		  map { [ $_, $type, $value ] } on_each_table("id $operator $parameter");
	}
}
is_alike('a flake is compared with every kind of literal as a bigint is', @with_literals);
is_alike('a flake is compared with every kind of parameter as a bigint is', @with_parameters);
is_alike(
	'a flake is found in every kind of list and range as a bigint is',
	on_each_table(
		map { "id $_" } q(IN ('5', '6')),
		'IN (2000000000000000000, 5)',
		'IN (2000000000000000000, 2001000000000000000)',
		'NOT IN (5, 2000000000000000000)',
		q(= ANY ('{5,2000000000000000000}')),
		q(= ANY ('{5,2000000000000000000}'::bigint[])),
		q(= ANY ('{5,6}'::integer[])),
		q(= ANY ('{5,6}'::TYPE[])),
		q(= ANY (ARRAY[5, 2000000000000000000])),
		'IN (SELECT thing FROM notes WHERE nr < 50)',
		'IN (SELECT thing FROM labels WHERE nr < 50)',
		q(<> ALL ('{5,6}'::bigint[])),
		q(< ANY ('{5,2000000000000000000}'::bigint[])),
		q(BETWEEN '5' AND '2000000000000000000'),
		'BETWEEN 5 AND 2000000000000000000',
		q(BETWEEN SYMMETRIC 2000000000000000000 AND '5'),
		'IS NULL',
		'IS NOT NULL',
		'IS DISTINCT FROM 5',
		q(IS NOT DISTINCT FROM '5'),
		q(> '1000000000000000000' AND id < 2000000000000000000)));
my @lists = (
	[ 'bigint[]', q('{5,2000000000000000000}') ],
	[ 'integer[]', q('{5,6}') ],
	[ 'unknown', q('{5,2000000000000000000}') ]);
is_alike(
	'a list in a parameter finds flakes as it finds bigints',
	map {
		my $list = $_;
		map { [ $_, @$list ] } on_each_table('id = ANY ($1)')
	} @lists);
is_alike(
	'a partition of a list of flakes is found as one of bigints',
	map { "SELECT count(*), sum(nr) FROM lists WHERE id $_" } '= 1',
	q(= '2'),
	'IN (1, 2000000000000000000)',
	'IS NULL',
	'= 2000000000000000000');

# A list of short numbers is a list of integers, which has no type in common with a flake. So
# PostgreSQL makes it an OR, with another plan.
for my $type ('flake', 'bigint') {
	$session->query_safe("SET search_path = of_$type, public");
	is($session->query_safe('SELECT sum(nr) FROM things WHERE id IN (5, 6)'),
		'11', "a list of short numbers finds a $type");
}

$session->quit;
$node->stop;
done_testing();
