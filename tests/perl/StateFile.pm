# The state file as someone reads and writes it who has only its documentation: a JSON document, and
# on the last line the CRC-32 of all before it. Moments are whole nanoseconds since 1970 here.
package StateFile;

use strict;
use warnings;

use Compress::Raw::Zlib qw(crc32);
use Exporter            qw(import);
use JSON::PP;
use POSIX qw(strftime);
use PostgreSQL::Test::Utils;
use Time::Local qw(timegm);

our @EXPORT =
  qw(state_path state_text state_of put_state rewrite_state checksummed moment instant until_of);

sub state_path {
	my ($node) = @_;
	return $node->data_dir . '/flakeid/state';
}

sub state_text {
	my ($node) = @_;
	return slurp_file(state_path($node));
}

# A document with the line that goes below it.
sub checksummed {
	my ($document) = @_;
	return sprintf "%scrc32 %08x\n", $document, crc32($document);
}

# What a document says; dies where its checksum is not right.
sub state_of {
	my ($node) = @_;
	my $text = state_text($node);
	my ($document) = $text =~ /\A(.*\n)crc32 [0-9a-f]{8}\n\z/s or die "no state file: $text";
	die "the checksum is not right: $text" unless $text eq checksummed($document);
	return JSON::PP->new->decode($document);
}

# Nanoseconds since 1970 of a moment as the file has it.
sub moment {
	my ($text) = @_;
	my ($year, $month, $day, $hour, $minute, $second, $fraction) =
	  $text =~ /\A(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z\z/
	  or die "no moment: $text";
	return timegm($second, $minute, $hour, $day, $month - 1, $year) * 1_000_000_000 +
	  substr(($fraction // '') . '0' x 9, 0, 9);
}

# The way back.
sub instant {
	my ($nanos) = @_;
	return sprintf '%s.%09dZ', strftime('%Y-%m-%dT%H:%M:%S', gmtime int($nanos / 1_000_000_000)),
	  $nanos % 1_000_000_000;
}

# The latest moment before which there may be IDs, in any timeline.
sub until_of {
	my ($state) = @_;
	my ($latest) = sort { $b <=> $a } map { moment($_) } $state->{until},
	  @{ $state->{tick_tock_until} };
	return $latest;
}

# Puts this in the file's place, readable by the server alone.
sub put_state {
	my ($node, $text) = @_;
	my $path = state_path($node);
	unlink $path;
	append_to_file($path, $text);
	chmod 0600, $path;
	return;
}

# Changes what the file says, by a function that is given the document.
sub rewrite_state {
	my ($node, $change) = @_;
	my $state = state_of($node);
	$change->($state);
	put_state($node, checksummed(JSON::PP->new->canonical->pretty->encode($state)));
	return;
}

1;
