# Conditions that compare IDs with times, in every spelling: the index is asked for the IDs of these
# times and no others, and the answer is that of a column of times.
use strict;
use warnings;
use lib 'tests/perl';

use Test::More;
use TimePredicates;

my ($node, $session, $today, @id_types) = tables_of_ids('time_operators');
my $which = which_of('id');
my $five_minutes = "now() - interval '5 min'";
my $last_minutes = "created_at BETWEEN $five_minutes AND now()";

# Tests a condition with times that the clock gives.
sub by_clock {
	my ($id_type, $claim, $by_id, $by_time, @how) = @_;
	my $select = "SELECT $which FROM $id_type->{table} WHERE";
	my $finds = "an index range finds the IDs $claim";
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return same_by_index($id_type, $finds, "$select $by_id", "$select $by_time", @how);
}

for my $id_type (@id_types) {
	for (ways($id_type)) {
		my ($turned, $way) = @$_;
		next unless $way->{from};
		for (
			[ 'from', '>=', $five_minutes, 'lower' ],
			[ 'after', '>', $five_minutes, 'lower' ],
			[ 'from', '>=', 'current_date', 'lower' ],
			[ 'from', '>=', "localtimestamp - interval '5 min'", 'lower' ],
			[ 'before', '<', 'current_date - 27', 'upper' ],
			[ 'until', '<=', 'current_date - 27', 'upper' ])
		{
			my ($word, $operator, $time, $bounds) = @$_;
			next unless $way->{$word};
			my ($by_id, $by_time) = (sprintf($way->{$word}, $time), "created_at $operator $time");
			by_clock($id_type, "$word $time$turned", $by_id, $by_time, bounds => $bounds);
		}
		my $by_id = sprintf $way->{within}, "tstzrange($five_minutes, now(), '[]')";
		by_clock($id_type, "within the last five minutes$turned", $by_id, $last_minutes);
	}
}

# A guid has half of the index on either side of a time, so it has no such ranges.
for my $id_type (grep { !$_->{coarse} } @id_types) {
	my ($between, @both) =
	  ($id_type->{between}, map { [ timestamptz => $id_type->{$_} ] } qw(t1 t2));
	my $by_id = sprintf $between, $five_minutes, 'now()';
	by_clock($id_type, 'between two times that the clock gives', $by_id, $last_minutes);
	my @dates = map { $session->query_safe("SELECT date '$today' - $_") } 20, 19;
	# A bigint and a uuid can be after all times: infinity is no end of theirs.
	my $infinite = $id_type->{type} =~ /^(?:bigint|uuid)$/ ? 'lower' : undef;
	for (
		[ 'two times', \@both ],
		[ 'two times, swapped', [ reverse @both ], none => 1 ],
		[ 'two dates', [ map { [ date => $_ ] } @dates ] ],
		[ 'two times without a zone', [ map { [ timestamp => "$_ 12:34:56.789" ] } @dates ] ],
		[ 'NULL and a time', [ [ timestamptz => undef ], $both[1] ], none => 1 ],
		[
			'the infinities',
			[ map { [ timestamptz => $_ ] } '-infinity', 'infinity' ],
			wide => 1,
			of_literals => $infinite
		])
	{
		my ($words, $values, %how) = @$_;
		my $by_time = 'created_at BETWEEN %s AND %s';
		predicate($id_type, "between $words", $between, $by_time, $values, %how);
	}
	for (ways($id_type)) {
		my ($turned, $way) = @$_;
		for (
			[ 'from one, before another', 'from', '>=', 'before', '<' ],
			[ 'after one, until another', 'after', '>', 'until', '<=' ])
		{
			my ($claim, $lower, $lower_operator, $upper, $upper_operator) = @$_;
			next unless $way->{$lower} && $way->{$upper};
			my $by_time = "created_at $lower_operator %s AND created_at $upper_operator %s";
			my $by_id = "$way->{$lower} AND $way->{$upper}";
			predicate($id_type, "$claim$turned", $by_id, $by_time, \@both);
		}
	}
}

for my $id_type (@id_types) {
	for (grep { $_->[1]{on} } ways($id_type)) {
		my ($turned, $way) = @$_;
		my ($moment, $null) = ([ timestamptz => $id_type->{t1} ], [ timestamptz => undef ]);
		my @test = ($way->{on}, 'created_at = %s');
		predicate($id_type, "on the microsecond$turned", @test, [$moment]);
		# A time that is NULL is known before the plan of a guid is made, or never.
		my %how = (none => 1, once => $id_type->{coarse});
		predicate($id_type, "on NULL$turned", @test, [$null], %how);
	}
}

$session->quit;
$node->stop;
done_testing();
