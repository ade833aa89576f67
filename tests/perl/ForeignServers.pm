# Two servers, `here` and `there`, of which the first has foreign tables of postgres_fdw.
package ForeignServers;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use Server;
use Test::More;

our @EXPORT =
  qw(@ID_TYPES $EPOCH $MONTH start_servers stop_servers here there error_here sent within);

# `whose` is the field of an ID that tells which server generated it. A guid_local has no such
# field, so servers must not generate it `at_once`. A uuidv7 differs by its random bits alone.
our @ID_TYPES = (
	{ name => 'flake', type => 'bigint', whose => 'datacenter * 32 + worker' },
	{ name => 'sno', next => 'sno_next(7)', within => 'id <@ %s', whose => 'partition' },
	{ name => 'flake128', within => 'id <@ %s', whose => 'trunc(worker)' },
	{ name => 'guid', whose => 'node' },
	{ name => 'guid_local', at_once => 0 },
	{ name => 'uniqueid', within => 'id <@ %s', whose => 'generator_id' },
	{ name => 'uuidv7', type => 'uuid' },);
for my $id_type (@ID_TYPES) {
	my $name = $id_type->{name};
	$id_type->{type}    //= $name;
	$id_type->{next}    //= "${name}_next()";
	$id_type->{within}  //= "${name}_within(id, %s)";
	$id_type->{at_once} //= 1;
}

# The epoch of flake on both servers, and a month.
our $EPOCH = q{'2020-01-01 00:00+00'};
our $MONTH = q{tstzrange('2026-01-01 00:00+00', '2026-02-01 00:00+00')};

my ($here, $there, $session_here, $session_there);

# Starts the two servers. Both are on one host, which has one MAC address. The foreign server
# `plain` has no options. The foreign server `told` has the option that both ends have the same
# flakeid.
sub start_servers {
	chomp(my $folder = `pg_config --sharedir`);
	plan(skip_all => 'this PostgreSQL has no postgres_fdw')
	  unless -e "$folder/extension/postgres_fdw.control";
	($here, $there) = map { PostgreSQL::Test::Cluster->new($_) } 'here', 'there';
	for ([ $here, '0-7', '02:00:00:00:00:01' ], [ $there, '8-15', '02:00:00:00:00:02' ]) {
		my ($node, $ids, $interface) = @$_;
		$node->init;
		$node->append_conf('postgresql.conf', <<~"END");
			shared_preload_libraries = 'flakeid'
			flakeid.generator_ids = '$ids'
			flakeid.interface = '$interface'
			flakeid.epoch = '2020-01-01'
			autovacuum = off
			enable_seqscan = off
			enable_bitmapscan = off
			END
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	}
	# The foreign tables of a new session would connect to the other server again.
	($session_here, $session_there) = map { session($_) } $here, $there;
	my ($host, $port) = ($there->host, $there->port);
	my $address = "host '$host', port '$port', dbname 'postgres'";
	here(<<~"SQL");
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($address);
		CREATE SERVER told FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS ($address, extensions 'flakeid', use_remote_estimate 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER plain;
		CREATE USER MAPPING FOR CURRENT_USER SERVER told;
		SQL
	return ($here, $there);
}

sub stop_servers {
	$_->quit for $session_here, $session_there;
	$_->stop for $here, $there;
	return;
}

# Run statements on one of the servers in a session that stays.
sub here       { my ($sql) = @_; return $session_here->query_safe($sql) }
sub there      { my ($sql) = @_; return $session_there->query_safe($sql) }
sub error_here { my ($sql) = @_; return error_in($session_here, $sql) }

# Returns the conditions of a query that are sent to the other server, as they are written there.
sub sent {
	my ($query) = @_;
	my $plan = here("EXPLAIN (VERBOSE, COSTS OFF) $query");
	return join "\n", map { /WHERE (.*)/ ? $1 : '' } $plan =~ /Remote SQL: (.*)/g;
}

# Returns the condition that an ID of an ID type is in a range of times.
sub within {
	my ($id_type, $range) = @_;
	return sprintf $id_type->{within}, $range;
}

1;
