# Servers that change between the library under test and that of the last release.
# FLAKEID_EARLIER_LIBRARY names the file of the latter: scripts/test-versions builds it.
package EarlierLibrary;

use strict;
use warnings;

use Exporter qw(import);
use Installation;
use Ledger;
use Server;
use Test::More;

our @EXPORT = qw($earlier $present @COMMON_TYPES installation put create_common_tables
  insert_common rows_below);

our $earlier = $ENV{FLAKEID_EARLIER_VERSION};
plan(skip_all => 'there is no library of an earlier version') unless $earlier;
our ($present) =
  PostgreSQL::Test::Utils::slurp_file('flakeid.control') =~ /^default_version = '([\d.]+)'$/m;

# The ID types that both have.
our @COMMON_TYPES = grep { $_->{name} ne 'uuidv7' || $earlier !~ /^0\.[67]/ } @ID_TYPES;

# Returns an installation with the library of a version, and with the install scripts of the
# releases.
sub installation {
	my ($name, $version) = @_;
	return put(Installation->new($name)->put_released, $version);
}

# Puts the library of a version into an installation.
sub put {
	my ($place, $version) = @_;
	$place->put_library($version eq $earlier ? $ENV{FLAKEID_EARLIER_LIBRARY} : undef);
	return $place;
}

# Creates the SQL of the earlier version, and a table for each ID type.
sub create_common_tables {
	my ($node) = @_;
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid VERSION '$earlier'");
	$node->safe_psql('postgres',
		"CREATE TABLE $_->{name}s (id $_->{type} DEFAULT $_->{next} PRIMARY KEY, nr integer)")
	  for @COMMON_TYPES;
	return;
}

# Inserts a hundred rows into each of these tables.
sub insert_common {
	my ($node) = @_;
	$node->safe_psql('postgres', "INSERT INTO $_->{name}s SELECT FROM generate_series(1, 100)")
	  for @COMMON_TYPES;
	return;
}

# Returns the number of rows of each type with a time before this one.
sub rows_below {
	my ($node, $time) = @_;
	return join ' ', map {
		$node->safe_psql('postgres',
			"SELECT count(*) FROM $_->{name}s WHERE $_->{name}_timestamp(id) < '$time'")
	} @COMMON_TYPES;
}

1;
