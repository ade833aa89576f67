# Servers whose state was last written in another place, which flakeid.moved_state is about.
package Moves;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Sys::Hostname qw(hostname);
use Test::More;

our @EXPORT = qw($REFUSAL $NO_PLACE server standby location_of has_place is_allowed written_in);

# The error of a server that generates no IDs, and the detail if the state names no place.
our $REFUSAL = qr/ERROR:  55000: the state file may be of another server\n/;
our $NO_PLACE = join ' ', 'It does not name the host and the data directory of its server:',
  'recovery wrote it, or the file "flakeid\/location" was lost\.';

# Starts a server that may have standbys.
sub server {
	my ($name, $configuration) = @_;
	my $lines = "log_line_prefix = ''\nautovacuum = off\n" . ($configuration // '');
	return flakeid_server($name, $lines, allows_streaming => 1);
}

# Starts a standby of a server, from a backup of it.
sub standby {
	my ($name, $of, $backup) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($of, $backup, has_streaming => 1);
	$node->start;
	return $node;
}

# Returns the document of the file flakeid/location.
sub location_of {
	my ($node) = @_;
	return JSON::PP->new->decode(slurp_file($node->data_dir . '/flakeid/location'));
}

# Tests that a server has written its own place, on this WAL timeline.
sub has_place {
	my ($node, $timeline, $test) = @_;
	my %place = (
		flakeid_location => 1,
		host => hostname(),
		data_directory => $node->data_dir,
		wal_timeline => $timeline);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is_deeply(location_of($node), \%place, $test);
}

# Returns the pattern of the detail that the state of a server was written in the place of another.
sub written_in {
	my ($other, $node) = @_;
	my $host = quotemeta hostname();
	my ($here, $there) = map { quotemeta $_->data_dir } $node, $other;
	return qr/It was last written on host "$host" in "$there"\. This is host "$host" and "$here"\./;
}

# Allows the place as an operator does, and tests that the server generates IDs, also after a
# restart. The server asks again at the next move.
sub is_allowed {
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	reload_with($node, moved_state => 'log');
	is(error_of($node, 'SELECT flake_next(), guid_next()'),
		'', "$what generates IDs when it is allowed");
	reload_with($node, moved_state => 'error');
	$node->restart;
	is(error_of($node, 'SELECT flake_next()'), '', "$what also generates IDs after a restart");
	return;
}

1;
