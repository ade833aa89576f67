# Bar charts beside the report, drawn by gnuplot where there is one: for each contender a horizontal
# bar of its median with its quartiles as a whisker, in one panel or in several that share their
# rows.
package Plot;
use strict;
use warnings;
use Exporter 'import';
use List::Util qw(max min);
use POSIX      qw(floor);
use Contenders qw(kind);
use Report;

our @EXPORT = qw(bars has_gnuplot measured_by);

my %color = (flakeid => '#1f6f8b', postgresql => '#9aa5b1', peer => '#d9a441');
my %owner = (flakeid => 'flakeid', postgresql => 'PostgreSQL', peer => 'other extensions');

# In pixels. gnuplot does not know how wide a text is in the reader's font, so every letter counts
# as much as a wide one.
my ($width, $row, $letter, $font) = (960, 26, 7.6, 13);
my ($above, $below) = (70, 56);

my ($version, $measured_by);

# Sets the line below the next charts: where and when they were measured, and by which command.
sub measured_by { $measured_by = $_[0] }

sub has_gnuplot {
	$version //= `gnuplot --version 2>/dev/null` // '';
	return $version =~ /gnuplot/;
}

# bars(name, title, panel...) writes name.svg and refers to it in the report. A panel is a hash:
# title, format of a value, and values, which are a hash of names and what was measured in the
# rounds. The rows are in the order of the first panel, the smallest at the top unless it says
# largest_first; and its same_scale is for panels whose bars are to be compared with each other. A
# panel that is logarithmic shows values of very different sizes: its axis has a line at each power
# of ten, and begins at the one below the smallest value.
sub bars {
	my ($name, $title, @panels) = @_;
	return unless has_gnuplot();
	my %median = map { $_ => (quartiles($panels[0]{values}{$_}))[1] } keys %{ $panels[0]{values} };
	my @names = sort { $median{$a} <=> $median{$b} || $a cmp $b } keys %median;
	@names = reverse @names if $panels[0]{largest_first};
	# The numbers of a logarithmic axis are below it.
	my $below = $below + ((grep { $_->{logarithmic} } @panels) ? 18 : 0);
	my $height = $above + $below + $row * @names;
	my $left = 24 + $letter * max(map { length } @names);
	my $panel_width = ($width - $left) / @panels;
	my $path = folder() . "/$name.svg";
	my @ranges = map { range_of($_, $panel_width - 14) } @panels;
	@ranges = (max(@ranges)) x @panels if $panels[0]{same_scale};

	my $script = <<"END";
set terminal svg size $width,$height noenhanced \\
    font 'DejaVu Sans,Arial,sans-serif,$font' background '#ffffff'
set output '$path'
set multiplot
unset key
unset border
unset xtics
@{[label($title, 12, 20, $height, '#1b1f24', 16)]}
@{[legend($height, @names)]}
END
	for my $i (0 .. $#panels) {
		my ($from, $to) = map { $_ / $width } $left + $i * $panel_width,
		  $left + ($i + 1) * $panel_width - 14;
		my $tics = join ', ', map { quoted($i ? '' : $names[$_]) . " $_" } 0 .. $#names;
		$script .= <<"END";
@{[bars_of($panels[$i], @names)]}
@{[axis_of($panels[$i], $ranges[$i])]}
set lmargin at screen $from
set rmargin at screen $to
set tmargin at screen @{[1 - $above / $height]}
set bmargin at screen @{[$below / $height]}
set yrange [@{[$#names + 0.5]}:-0.5]
set ytics scale 0 offset 0.5,0 textcolor rgb '#1b1f24' ($tics)
@{[label($panels[$i]{title}, $left + $i * $panel_width, 52, $height, '#57606a', 12)]}
set arrow 1 from graph 0, graph 0 to graph 0, graph 1 nohead lc rgb '#c8ced6' lw 1
plot \$bars using 2:1:(@{[start_of($panels[$i])]}):2:(\$1-0.34):(\$1+0.34):5 \\
         with boxxyerror fs solid 1 noborder lc rgb variable, \\
     \$bars using 3:1:(\$4-\$3):(0) \\
         with vectors heads size screen 0.004,90 lc rgb '#24292f' lw 1, \\
     \$bars using 4:1:6 with labels left offset 0.7,0 tc rgb '#1b1f24'
unset label
unset logscale
unset xtics
unset grid
END
	}
	open my $gnuplot, '|-', 'gnuplot' or die "tests/bench: could not run gnuplot: $!\n";
	binmode $gnuplot, ':encoding(UTF-8)';
	print $gnuplot $script, "unset multiplot\n";
	close $gnuplot or die "tests/bench: gnuplot failed on $name\n";
	entitle($path, $title);
	text("\n![$title]($name.svg)");
}

# Where the bars of a panel begin.
sub start_of {
	my ($panel) = @_;
	return 0 unless $panel->{logarithmic};
	return 10**floor(log(min(map { (quartiles($_))[0] } values %{ $panel->{values} })) / log 10);
}

# The axis of a panel, up to this value.
sub axis_of {
	my ($panel, $end) = @_;
	my $start = start_of($panel);
	return "set xrange [0:$end]" unless $panel->{logarithmic};
	return join "\n", "set xrange [$start:$end]", 'set logscale x 10',
	  "set xtics scale 0 10 textcolor rgb '#57606a' font ',11'",
	  "set grid xtics lt 1 lc rgb '#e4e8ec'";
}

# As far as the axis must go for every bar's label to fit behind it.
sub range_of {
	my ($panel, $pixels) = @_;
	if ($panel->{logarithmic}) {
		my $greatest = max(map { (quartiles($_))[2] } values %{ $panel->{values} });
		my $label = 12 + $letter * length sprintf $panel->{format}, $greatest;
		my $start = start_of($panel);
		return $start * ($greatest / $start)**($pixels / ($pixels - $label));
	}
	my @ends = map {
		my (undef, $middle, $high) = quartiles($_);
		my $room = $pixels - 12 - $letter * length sprintf $panel->{format}, $middle;
		$high * $pixels / max($room, $pixels / 4)
	} values %{ $panel->{values} };
	return max(@ends) || 1;
}

# The panel's bars as a data block.
sub bars_of {
	my ($panel, @names) = @_;
	my $lines = '';
	for my $i (0 .. $#names) {
		my $values = $panel->{values}{ $names[$i] } // next;
		my ($low, $middle, $high) = quartiles($values);
		my $label = sprintf $panel->{format}, $middle;
		my $fill = hex substr $color{ kind($names[$i]) }, 1;
		$lines .= "$i $middle $low $high $fill \"$label\"\n";
	}
	return "\$bars << END_OF_BARS\n${lines}END_OF_BARS";
}

# Whose the colors are.
sub legend {
	my ($height, @names) = @_;
	my %here = map { kind($_) => 1 } @names;
	my ($x, @labels) = (12);
	for (grep { $here{$_} } 'flakeid', 'postgresql', 'peer') {
		push @labels, label("\x{25a0} $owner{$_}", $x, $height - 34, $height, $color{$_}, 12);
		$x += 40 + 7 * length $owner{$_};
	}
	return join "\n", @labels,
	  label('bar: median, whisker: quartiles', $x, $height - 34, $height, '#57606a', 12),
	  label($measured_by, 12, $height - 14, $height, '#57606a', 12);
}

sub label {
	my ($text, $x, $y, $height, $color, $size) = @_;
	return sprintf "set label %s at screen %f, screen %f left tc rgb '%s' font ',%d'",
	  quoted($text), $x / $width, 1 - $y / $height, $color, $size;
}

# What a browser shows as the picture's title, where gnuplot has put its own name and commands.
sub entitle {
	my ($path, $title) = @_;
	open my $svg, '<', $path or die "tests/bench: could not read $path: $!\n";
	my $content = do { local $/; <$svg> };
	$content =~ s,<title>.*?</title>,,g;
	# No label has a box.
	$content =~ s,\s*<filter .*?</filter>,,gs;
	$content =~ s,<desc>.*?</desc>,<title>$title</title>,s;
	open $svg, '>', $path or die "tests/bench: could not write $path: $!\n";
	print $svg $content;
	close $svg or die "tests/bench: could not write $path: $!\n";
}

sub quoted { return "'" . $_[0] =~ s/'/''/gr . "'" }

1;
