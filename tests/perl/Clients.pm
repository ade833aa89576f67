# What tests/clients/fetch has put into the cache: drivers and ORMs of several languages, and the
# programs that run them.
package Clients;

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Exporter    qw(import);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(fetched in_path python node_modules);

# Where scripts/setup puts what it fetches. The user's own folder is not $HOME here.
my @caches = grep { defined } $ENV{FLAKEID_CACHE},
  ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid',
  '/var/cache/flakeid';

# What tests/clients/fetch made from these files, or nothing.
sub fetched {
	my ($what, $path, @files) = @_;
	my $sum = substr(sha256_hex(map { slurp_file($_) } @files), 0, 12);
	my ($found) = grep { -e } map { "$_/clients-$what-$sum/$path" } @caches;
	return $found;
}

sub in_path {
	my ($name) = @_;
	my ($found) = grep { -x } map { "$_/$name" } split /:/, $ENV{PATH};
	return $found;
}

# The interpreter that has the packages of requirements.txt.
sub python { return fetched('python', 'bin/python', 'tests/clients/requirements.txt') }

sub node_modules { return fetched('node', 'node_modules', 'tests/clients/package-lock.json') }

1;
