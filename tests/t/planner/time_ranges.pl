# IDs within ranges of times of every kind: empty, of a moment, without an end, with infinite ends.
# The index is asked for the IDs of these times and no others.
use strict;
use warnings;
use lib 'tests/perl';

use Test::More;
use TimePredicates;

my ($node, $session, $today, @id_types) = tables_of_ids('time_ranges');
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
	my %way = ('' => $id_type->{within}, ', turned round' => $id_type->{turned}{within});
	$way{', in one range of the index'} = $id_type->{one_range} if $id_type->{coarse};
	for my $kind (sort keys %ranges) {
		for my $range (@{ $ranges{$kind} }) {
			my $times = $range && $range =~ s/(T\d)/$time{$1}/gr;
			for my $way (grep { $way{$_} } sort keys %way) {
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
