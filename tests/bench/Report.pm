# The report, in Markdown, printed as it grows; and the statistics in its tables.
package Report;
use strict;
use warnings;
use Exporter 'import';
use File::Path qw(make_path);
use IO::Handle;
use List::Util qw(max);

our @EXPORT = qw(quartiles spread heading text table save progress);

my $report = '';

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

sub table {
    my ($header, @rows) = @_;
    my @widths = map { my $column = $_; max(3, map { length $_->[$column] } $header, @rows) } 0 .. $#$header;
    my $line = sub {
        my ($row) = @_;
        return '| ' . join(' | ', map { sprintf '%-*s', $widths[$_], $row->[$_] } 0 .. $#widths) . " |\n";
    };
    add($line->($header), '| ', join(' | ', map { '-' x $_ } @widths), " |\n", map { $line->($_) } @rows);
}

sub add {
    $report .= join '', @_;
    print @_;
    STDOUT->flush;
}

sub save {
    my ($path) = @_;
    make_path($path =~ s,/[^/]*\z,,r);
    open my $file, '>', $path or die "tests/bench/run: could not write $path: $!\n";
    print $file $report;
    close $file or die "tests/bench/run: could not write $path: $!\n";
    progress("written to $path");
}

sub progress { print STDERR "bench: $_[0]\n" }

1;
