#!/usr/bin/env perl
# packaging/debian/changelog.pl REVISION writes Debian's changelog from CHANGELOG.md: each release is the package of
# that version with this Debian revision.
use strict;
use warnings FATAL => 'all';
use open qw(:std :encoding(UTF-8));
use FindBin;
use POSIX qw(strftime);
use Text::Wrap qw(wrap);
use Time::Local qw(timegm);

my $revision = shift // die "usage: $0 REVISION\n";
my $packaging = $FindBin::Bin;
$Text::Wrap::columns = 79;
$Text::Wrap::huge = 'overflow';

open my $control, '<', "$packaging/control.in" or die "$0: could not read $packaging/control.in: $!\n";
my ($maintainer) = map { /^Maintainer: (.*)/ ? $1 : () } <$control>;

# Each release is a version, its day and its lines. The latest is the first.
my @releases;

my $changes = "$packaging/../../CHANGELOG.md";
open my $changelog, '<', $changes or die "$0: could not read $changes: $!\n";
while (<$changelog>)
{
	chomp;
	if (/^## (\d\S*) \S+ (\d+)-(\d+)-(\d+)$/)
	{
		push @releases, { version => $1, time => timegm(0, 0, 0, $4, $3 - 1, $2), text => '' };
	}
	elsif (/^## (\d\S*) \S+ \(unreleased\)$/)
	{
		push @releases, { version => $1, time => $ENV{SOURCE_DATE_EPOCH} // time, text => '' };
	}
	elsif (/^## \[?Unreleased/i)
	{
		die "$0: Unreleased follows a release\n" if @releases;
	}
	elsif (/^## /)
	{
		die "$0: what version is '$_', and of what date?\n";
	}
	elsif (@releases && /^### (.*)/)
	{
		$releases[-1]{text} .= "\n  [ $1 ]\n";
	}
	elsif (@releases && /\S/)
	{
		$releases[-1]{text} .= wrap('  * ', '    ', s/^- //r) . "\n";
	}
}

# Debian requires a later time for a later version, also on the same day.
for my $i (reverse 0 .. $#releases - 1)
{
	my $before = $releases[ $i + 1 ]{time};
	$releases[$i]{time} = $before + 60 if $releases[$i]{time} <= $before;
}
for my $release (@releases)
{
	my $date = strftime('%a, %d %b %Y %H:%M:%S +0000', gmtime $release->{time});
	print "flakeid ($release->{version}-$revision) unstable; urgency=medium\n\n";
	print "$release->{text}\n -- $maintainer  $date\n\n";
}
