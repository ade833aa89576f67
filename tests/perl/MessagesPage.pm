# The messages that docs/troubleshooting.md has.
package MessagesPage;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(@ENTRIES @TEXTS @MALFORMED @PAGE_SQL is_on_the_page log_is_on_the_page look_up
  texts_met);

# The messages with their level and SQLSTATEs, all texts of messages, details and hints, and lines
# that look like a message but are not.
our (@ENTRIES, @TEXTS, @MALFORMED);

my $page = slurp_file('docs/troubleshooting.md');
our @PAGE_SQL = $page =~ /^```sql\n(.*?)^```$/msg;
(my $prose = $page) =~ s/^```.*?^```$//msg;

my $level = qr/(?:ERROR|WARNING|LOG|NOTICE|FATAL|psql|pg_upgrade)/;
for my $part (split /^(?=## )/m, $prose) {
	my $others = $part =~ /\A## PostgreSQL's own messages\n/;
	for my $line (split /\n/, $part) {
		my ($messages, $is, $states);
		if ($line =~ /^\*\*`/) {
			($messages, $is, $states) =
			  $line =~ /^((?:\*\*`[^`]+`\*\*(?:, )?)+) ($level)((?:,? [0-9A-Z]{5})*)\\?$/;
			push @MALFORMED, $line unless defined $is;
		}
		elsif ($line =~ /^\| `/) {
			($messages, $is, $states) =
			  $line =~ /^\| ((?:`[^`]+`(?:, )?)+) \|(?: ($level)((?:,? [0-9A-Z]{5})*) \|)?/;
			push @MALFORMED, $line unless defined $messages;
		}
		my @spans = defined $messages ? $messages =~ /`([^`]+)`/g : ();
		push @ENTRIES,
		  map { { text => $_, level => $is, states => [ $states =~ /\w+/g ], others => $others } }
		  @spans
		  if defined $is;
		while ($line =~ /(?:DETAIL|HINT): ([^`.\n]*`[^`]+`(?:(?:,| or| and)[^`.\n]*`[^`]+`)*)/g) {
			push @spans, $1 =~ /`([^`]+)`/g;
		}
		push @TEXTS, map { { text => $_, others => $others } } @spans;
	}
}

# An ellipsis on the page stands for any text.
sub _pattern {
	my ($text) = @_;
	return join '.*?', map { quotemeta } split /…/, $text, -1;
}

# Counts the entries that fit a message of this level and SQLSTATE.
my %met;

sub look_up {
	my ($is, $state, $message) = @_;
	my @right = grep {
		my $entry = $_;
		my $pattern = _pattern($entry->{text});
		$message =~ /\A$pattern\z/s
		  && $entry->{level} eq $is
		  && grep { $_ eq $state } @{ $entry->{states} };
	} @ENTRIES;
	$met{ $_->{text} } = 1 for @right;
	return scalar @right;
}

# Returns the texts of entries that `look_up` has found.
sub texts_met { return keys %met }

# A detail or a hint is one of the texts, or several after each other.
my $parts = join '|', sort { length $b <=> length $a } map { _pattern($_->{text}) }
  grep { !$_->{others} } @TEXTS;
$parts = qr/\A(?:(?:$parts)(?: |\z))+\z/s;

# Tests that the page has an error with its level and SQLSTATE. If it is flakeid's own, the page
# must have its detail and its hint, too.
sub is_on_the_page {
	my ($error, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($is, $state, $message) = $error =~ /(ERROR|WARNING|NOTICE|FATAL):  (\w{5}): (.*?)\n/
	  or return fail("$what raises something");
	my $found = look_up($is, $state, $message);
	my @missing;
	if ($error =~ /^LOCATION:.*\.rs:/m) {
		while ($error =~ /^(DETAIL|HINT):  (.*)$/mg) {
			push @missing, "$1: $2" if $2 !~ $parts;
		}
	}
	return ok($found && !@missing, "the page has what $what raises: $is $state $message")
	  || diag(join "\n", @missing);
}

# Tests that the page has the lines that flakeid has written into the log of a server.
sub log_is_on_the_page {
	my ($node) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (@last, %line);
	for my $line (split /\n/, slurp_file($node->logfile)) {
		@last = ($1, $2, $3)
		  if $line =~ /(LOG|WARNING|ERROR|FATAL):  (\w{5}): (.*?)(?: at character \d+)?\z/;
		$line{"@last"} = [@last] if $line =~ /LOCATION:  .*\.rs:/;
	}
	my @missing = grep { !look_up(@{ $line{$_} }) } sort keys %line;
	return is(join("\n", @missing), '', 'the page has the lines of flakeid in the log')
	  && return scalar grep { /^LOG/ } keys %line;
}

1;
