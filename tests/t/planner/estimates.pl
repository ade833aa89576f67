# On a table of a million rows, the planner's number of rows for a range of times is within twice
# the real one: for ranges of any length, at any place, and in any spelling.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Estimates;
use Test::More;

# How an ID type is asked: by one range, and by two comparisons where those make one.
my %asked = (
	flake => [ 'flake_within(flake, RANGE)', 'flake_between(flake, T1, T2)' ],
	typed => [ 'typed <@ RANGE', 'typed BETWEEN T1 AND T2', 'T1 <= typed AND typed < T2' ],
	sno => [ 'sno <@ RANGE', 'sno BETWEEN T1 AND T2', 'T1 <= sno AND sno < T2' ],
	flake128 => [ 'flake128 <@ RANGE', 'flake128 >= T1 AND flake128 <= T2' ],
	guid => [
		'guid <@ RANGE',
		'guid_within(guid, RANGE)',
		'guid BETWEEN T1 AND T2',
		'T2 >= guid AND nr >= 0 AND guid >= T1'
	],
	guid_local => [
		'guid_local <@ RANGE',
		'guid_local_within(guid_local, RANGE)',
		'guid_local BETWEEN T1 AND T2'
	],
	uniqueid => [ 'uniqueid <@ RANGE', 'uniqueid BETWEEN T1 AND T2' ],
	uuidv7 => [
		'uuidv7_within(uuidv7, RANGE)',
		'uuidv7_between(uuidv7, T1, T2)',
		'uuidv7_since(uuidv7, T1) AND uuidv7_before(uuidv7, T2)'
	]);
my ($node, $session) = month_of_ids('estimates', sort keys %asked);

# Tests the estimates for spans of times: the first time and the length of each.
sub spans_are_near {
	my ($words, $length, @first_times) = @_;
	my @spans = map {
		my $times =
		  $session->query_safe(
			"SELECT t, t + interval '$length' FROM CAST('$_' AS timestamptz) AS t");
		[ map { "timestamptz '$_'" } split /\|/, $times ]
	} @first_times;
	my @real = map { counted("t BETWEEN $_->[0] AND $_->[1]") } @spans;
	for my $form (map { @{ $asked{$_} } } sort keys %asked) {
		subtest "$words: the estimate for $form is within twice the rows" => sub {
			for my $nr (0 .. $#spans) {
				my ($t1, $t2) = @{ $spans[$nr] };
				my %value = (T1 => $t1, T2 => $t2, RANGE => "tstzrange($t1, $t2, '[]')");
				my $where = $form =~ s/\b(T1|T2|RANGE)\b/$value{$1}/gr;
				is_near(estimated($where), $real[$nr], 2, $where);
			}
		};
	}
	return;
}

my @places =
  ('2026-10-21 07:00:01', '2026-10-29 12:34:56.789', '2026-11-03 23:59:59', '2026-11-17 03:00:00');
spans_are_near("$_ of a month", $_, @places) for '20 s', '5 min', '1 h', '1 day', '9 days';

# What lies beyond the histogram's end is in no statistics, but the index knows its own end. The
# last bin then holds more rows than its share, as for PostgreSQL's own types: here half as many
# again.
$session->query_safe('INSERT INTO ids SELECT * FROM made WHERE nr >= 1000000');
my $hour_ago = $session->query_safe("SELECT max(t) - interval '1 h' FROM ids");
spans_are_near('the last hour, written after ANALYZE', '1 h', $hour_ago);
for (qw(typed sno flake128 guid uniqueid)) {
	my $rows = estimated("$_ > timestamptz '2030-01-01'");
	cmp_ok($rows, '<=', 1000, "no rows are expected after all IDs: $_");
}

$session->quit;
$node->stop;
done_testing();
