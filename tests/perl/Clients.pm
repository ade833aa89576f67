# What tests/clients/fetch has put into the cache: drivers and ORMs of several languages, and the
# programs that run them.
package Clients;

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Exporter    qw(import);
use PostgreSQL::Test::Utils;

our @EXPORT = qw(@CACHES fetched in_path python node_modules queries_in without_range);

# Where scripts/setup puts what it fetches. The user's own folder is not $HOME here.
our @CACHES = grep { defined } $ENV{FLAKEID_CACHE},
  ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid',
  '/var/cache/flakeid';

# What tests/clients/fetch made from these files, or nothing.
sub fetched {
	my ($what, $path, @files) = @_;
	my $sum = substr(sha256_hex(map { slurp_file($_) } @files), 0, 12);
	my ($found) = grep { -e } map { "$_/clients-$what-$sum/$path" } @CACHES;
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

# Returns the SELECTs from the table "orders" that a part of a server's log has, with their
# parameters as literals. A time without an offset stays without a type.
sub queries_in {
	my ($log) = @_;
	my @queries;
	while ($log =~
		/LOG:  (?:statement|execute [^:\n]+): (.*\n(?:\t.*\n)*)(?:.*DETAIL:  parameters: (.*)\n)?/gi
	  )
	{
		my ($query, $parameters) = ($1, $2 // '');
		next unless $query =~ /^\s*SELECT\b.*\bFROM "?orders\b/s;
		my %value = $parameters =~ /(\$\d+) = ('(?:[^']|'')*')/g;
		s/^(?='\d{4}-\d\d-\d\d .*[-+]\d\d)/timestamptz / for values %value;
		push @queries, $query =~ s/(\$\d+)/$value{$1}/gr;
	}
	return @queries;
}

# Returns the queries whose plan is no range of an index, or has a sort or a filter.
sub without_range {
	my ($node, $database, @queries) = @_;
	# One psql asks for all plans.
	my $explain = join '', map { "\\echo plan:\nEXPLAIN (COSTS OFF) $_\n;\n" } @queries;
	my (undef, @plans) = split /^plan:\n/m, $node->safe_psql($database, $explain);
	chomp @plans;
	my $scan = qr/(?:Limit\n +-> +)?Index (?:Only )?Scan (?:Backward )?using .*\n +Index Cond: .*/;
	return map { $queries[$_] . ($plans[$_] // 'has no plan') }
	  grep     { ($plans[$_]                // '') !~ /\A$scan\z/ } 0 .. $#queries;
}

1;
