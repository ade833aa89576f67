# Rounds, and how much is measured in them. Other programs use the machine too, so nothing is
# compared across time: every contender runs once a round, in an order that turns from round to
# round.
package Rounds;
use strict;
use warnings;
use Exporter 'import';
use Report;

our @EXPORT = qw(quick million rounds cores);

# A rehearsal of the script: few rounds, few rows.
sub quick { return $ENV{BENCH_QUICK} ? 1 : 0 }

# What the report calls a million.
sub million { return quick() ? 20_000 : 1_000_000 }

# Calls back once a round: its number and the contenders' numbers in its order. Number 0 warms up
# and does not count.
sub rounds {
	my ($section, $rounds, $contenders, $round) = @_;
	my $last = $rounds - 1;
	for my $number (0 .. $last) {
		progress("$section: " . ($number ? "round $number of $last" : 'warming up'));
		my @order = map { ($_ + $number) % $contenders } 0 .. $contenders - 1;
		# Backwards too, so that no contender always comes after the same one.
		@order = reverse @order if $number % 2;
		$round->($number, @order);
	}
}

sub cores {
	open my $file, '<', '/proc/cpuinfo' or return 'unknown';
	return scalar grep { /^processor\s*:/ } <$file>;
}

1;
