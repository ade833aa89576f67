# The lines that flakeid writes into a server's log by itself.
package LogLines;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(lines lines_of_state comes told is_rare is_line);

my $any =
  qr/LOG:  (?:\w+ IDs of this tick|the clock |writing flakeid|flakeid |\w+ is (?:behind|ahead))/;
my $state = 'no state file: IDs start at the current time';
my %seen;

# Returns the lines since this was called last for this server, each with its detail, but not the
# line that a state begins.
sub lines {
	my ($node) = @_;
	my $log = slurp_file($node->logfile, $seen{ $node->name } // 0);
	$seen{ $node->name } += length $log;
	my @lines;
	my $is_own = 0;
	for my $line (split /\n/, $log) {
		$lines[-1] .= "\n$1" if $is_own && $line =~ /(DETAIL:  .*)/;
		$is_own = $line =~ /($any.*)/;
		push @lines, $1 if $is_own;
	}
	return grep { !/$state/ } @lines;
}

# Counts the lines that a state begins.
sub lines_of_state {
	my ($node) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /LOG:  $state/g);
}

# Waits for a line that `lines` has not returned. `lines` still returns it.
sub comes {
	my ($node, $line) = @_;
	return $node->wait_for_log($line, $seen{ $node->name } // 0);
}

# Counts the events that these lines of one kind stand for: each line, and those suppressed before
# it.
sub told {
	my (@lines) = @_;
	my $told = 0;
	$told += 1 + (/ Logged at most once per 10 s; (\d+) suppressed\.\z/ ? $1 : 0) for @lines;
	return $told;
}

# Tests that there are as many lines of one kind as there may be since a moment: one in 10 s.
sub is_rare {
	my ($since, $lines, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(@$lines >= 1 && @$lines <= 1 + int((time() - $since) / 10), $test)
	  || diag(join "\n", @$lines);
}

# Tests that there is one line, with this text.
sub is_line {
	my ($lines, $text, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(@$lines == 1 && $lines->[0] =~ $text, $test) || diag(join "\n", @$lines);
}

1;
