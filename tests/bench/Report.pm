# The report, in Markdown, printed as it grows; the statistics in its tables; and its goals.
package Report;
use strict;
use warnings;
use Exporter 'import';
use File::Path qw(make_path);
use IO::Handle;
use List::Util qw(max);

our @EXPORT =
  qw(quartiles spread heading text table goal place_for_goals goals save folder progress);

my @report;
my $goals_at = 0;
my @goals;

# Lower quartile, median, upper quartile.
sub quartiles {
	my ($values) = @_;
	my @sorted = sort { $a <=> $b } @$values;
	return map {
		my $place = $_ * $#sorted;
		my $below = int $place;
		my $above = $below < $#sorted ? $below + 1 : $below;
		$sorted[$below] + ($place - $below) * ($sorted[$above] - $sorted[$below])
	} 0.25, 0.5, 0.75;
}

# The median, and the quartiles where they differ from it.
sub spread {
	my ($values, $format) = @_;
	my ($low, $middle, $high) = map { sprintf $format, $_ } quartiles($values);
	return $low eq $high ? $middle : "$middle ($low to $high)";
}

sub heading { add("\n## $_[0]\n\n") }

sub text { add("$_[0]\n") }

sub table { add(table_lines(@_)) }

# A number of the run that has a goal; `sign` is one of <, <= and >=, and the goal is written with
# as many digits as are to be shown. Where the other side of a comparison is not on this server, the
# fifth argument says so and there are no values.
sub goal {
	my ($what, $sign, $goal, $values, $absent) = @_;
	push @goals, [ $what, $sign, $goal, $values, $absent ];
}

# The goals are known at the end and read first: here is where they go in the file.
sub place_for_goals { $goals_at = @report }

sub goals {
	return unless @goals;
	my @rows = map {
		my ($what, $sign, $goal, $values, $absent) = @$_;
		[
			$what, "$sign $goal",
			defined $absent ? ($absent, 'not measured') : judged($sign, $goal, $values)
		]
	} @goals;
	my $lines = join '', "\n## Goals\n\n",
	  table_lines([ 'what', 'goal', 'measured', 'verdict' ], @rows);
	print $lines;
	splice @report, $goals_at, 0, $lines;
}

sub judged {
	my ($sign, $goal, $values) = @_;
	my ($low, $middle, $high) = quartiles($values);
	my ($far, $best) =
	  $sign eq '>=' ? ($goal - $middle, $goal - $high) : ($middle - $goal, $low - $goal);
	my $reached = sub { $sign eq '<' ? $_[0] < 0 : $_[0] <= 0 };
	my $verdict =
	  $reached->($far) ? 'met' : $reached->($best) ? 'missed, within the noise' : '**missed**';
	my $digits = length $goal =~ s/.*\.//r;
	return (spread($values, "%.${digits}f"), $verdict);
}

sub table_lines {
	my ($header, @rows) = @_;
	my @widths = map {
		my $column = $_;
		max(3, map { length $_->[$column] } $header, @rows)
	} 0 .. $#$header;
	my $line = sub {
		my ($row) = @_;
		return
		  '| '
		  . join(' | ', map { sprintf '%-*s', $widths[$_], $row->[$_] } 0 .. $#widths) . " |\n";
	};
	return (
		$line->($header),
		'| ' . join(' | ', map { '-' x $_ } @widths) . " |\n",
		map { $line->($_) } @rows);
}

sub add {
	push @report, @_;
	print @_;
	STDOUT->flush;
}

# Where the report and its plots are written.
sub folder {
	my $folder = ($ENV{CARGO_TARGET_DIR} // 'target') . '/bench';
	make_path($folder);
	return $folder;
}

sub save {
	my $path = folder() . '/report.md';
	open my $file, '>', $path or die "tests/bench/run: could not write $path: $!\n";
	print $file @report;
	close $file or die "tests/bench/run: could not write $path: $!\n";
	progress("written to $path");
}

sub progress { print STDERR "bench: $_[0]\n" }

1;
