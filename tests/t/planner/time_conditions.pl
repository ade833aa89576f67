# Conditions on the time of IDs: comparisons with times in every spelling, and ranges of every kind,
# empty, of a moment, without an end, with infinite ends. The index is asked for the IDs of these
# times and no others, and the answer is that of a column of times.
use strict;
use warnings;
use lib 'tests/perl';

use Test::More;
use TimePredicates;

my ($node, $session, $today, @id_types) = tables_of_ids('time_conditions');
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

my ($before_all, $after_all) = ('2001-01-01 00:00:00+00', '2038-01-01 00:00:00+00');

# T1 and T2 stand for two times between which there are IDs.
my %ranges = (
	some => [ '[T1,T2)', '(T1,T2]', '[T1,T2]', '(T1,T2)', '[T1,T1]' ],
	none => [
		'empty', undef,
		'[T1,T1)', '[infinity,infinity]',
		'[infinity,)', '(,-infinity]',
		"[$before_all,$before_all]", "(,$before_all)",
		"[$after_all,)"
	],
	wide => [
		'[T1,]', '(T1,)', '[,T2]', '(,T2)', '(,)', '[-infinity,infinity]', '(-infinity,infinity)',
		'[-infinity,T2)', '(T1,infinity]', "[$before_all,$after_all]"
	]);

for my $id_type (@id_types) {
	my %time = (T1 => $id_type->{t1}, T2 => $id_type->{t2});
	my %way = ('' => $id_type->{within});
	$way{', in one range of the index'} = $id_type->{one_range} if $id_type->{coarse};
	for my $kind (sort keys %ranges) {
		for my $range (@{ $ranges{$kind} }) {
			my $times = $range && $range =~ s/(T\d)/$time{$1}/gr;
			for my $way (sort keys %way) {
				my $claim = 'within ' . ($range // 'NULL') . $way;
				my @test = ($claim, $way{$way}, 'created_at <@ %s', [ [ tstzrange => $times ] ]);
				predicate($id_type, @test, $kind => 1);
			}
		}
	}
	# Either end of a range can be a parameter that is NULL: the range has no such end.
	for my $ends ([ 'T1', 'T2' ], [ 'T1', undef ], [ undef, 'T2' ], [ undef, undef ]) {
		my $claim = 'within a range from ' . join ' to ', map { $_ // 'NULL' } @$ends;
		my $by_id = sprintf $id_type->{within}, 'tstzrange(%s, %s)';
		my @values = map { [ timestamptz => $_ && $time{$_} ] } @$ends;
		my @test = ($claim, $by_id, 'created_at <@ tstzrange(%s, %s)', \@values);
		predicate($id_type, @test, wide => scalar grep { !defined } @$ends);
	}
}

$session->quit;
$node->stop;
done_testing();
