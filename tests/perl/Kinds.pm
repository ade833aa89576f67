# Every ID type, each with the ways in which its IDs are generated and compared, and servers that
# get rows from each other.
package Kinds;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(@KINDS of_kind of_all_kinds server_with replicating_server subscribe);

# A kind is a type with a way in which its IDs are generated. `timestamp` is the time of an ID,
# `within` whether that is in a range, `at` an ID of a time. `bounds` has partitions of a month
# each. Spread IDs are in no order of time. What depends on an epoch has it as an argument.
# PostgreSQL 18 and earlier have no min and max of uuids.
our @KINDS = (
	{
		name => 'flake',
		type => 'bigint',
		next => 'flake_next()',
		at => "flake_at(%s, %s, '2010-01-01 00:00+00')",
		timestamp => "flake_timestamp(%s, '2010-01-01 00:00+00')",
		within => "flake_within(%s, %s, '2010-01-01 00:00+00')",
		bytes => 'int8send(%s)',
		text => "flake_to_text(%s, 'base62')",
		multi => 'int8_minmax_multi_ops',
		bounds => "flake_partition_bounds(%s, '2010-01-01 00:00+00')"
	},
	{
		name => 'typed',
		type => 'flake',
		next => 'flake_next()',
		at => "flake_at(%s, %s, '2010-01-01 00:00+00')::flake",
		timestamp => "flake_timestamp(%s, '2010-01-01 00:00+00')",
		within => "flake_within(%s, %s, '2010-01-01 00:00+00')",
		# pg_upgrade creates types before casts. So a CHECK of a domain and a range do not know the
		# cast to bigint.
		checked => 'COLUMN',
		subtype => 'bigint',
		bytes => 'flake_send(%s)',
		multi => 'int8_minmax_multi_ops',
		bounds => "flake_partition_bounds(%s, '2010-01-01 00:00+00')"
	},
	{ name => 'sno', next => 'sno_next(7)', at => 'sno_at(%s, 7, %s)' },
	{ name => 'flake128' },
	{ name => 'guid' },
	{ name => 'guid_local' },
	{ name => 'uniqueid' },
	{
		name => 'uuidv7',
		type => 'uuid',
		next => 'uuidv7_next()',
		at => 'uuidv7_at(%s, %s)',
		timestamp => 'uuidv7_timestamp(%s)',
		within => 'uuidv7_within(%s, %s)',
		bytes => 'uuid_send(%s)',
		bounds => 'uuidv7_partition_bounds(%s)',
		least => '(array_agg(%1$s ORDER BY %1$s))[1]',
		greatest => '(array_agg(%1$s ORDER BY %1$s DESC))[1]'
	},
	{
		name => 'inverse',
		type => 'guid',
		next => 'guid_next(inverse => true)',
		at => 'guid_at(%s, %s, inverse => true)',
		timestamp => 'guid_timestamp(%s, inverse => true)',
		within => 'guid_within(%s, %s, inverse => true)',
		bounds => 'guid_partition_bounds(%s, inverse => true)'
	},
	{
		name => 'spread',
		type => 'uniqueid',
		next => "uniqueid_next('spread')",
		at => "uniqueid_at(%s, %s, 'spread')",
		within => 'uniqueid_timestamp(%s) <@ %s',
		bounds => ''
	},);
for my $kind (@KINDS) {
	my $type = $kind->{type} //= $kind->{name};
	$kind->{checked}         //= 'DOMAIN';
	$kind->{subtype}         //= $type;
	$kind->{next}            //= "${type}_next()";
	$kind->{at}              //= "${type}_at(%s, %s)";
	$kind->{timestamp}       //= "${type}_timestamp(%s)";
	$kind->{within}          //= '%s <@ %s';
	$kind->{bytes}           //= '%s::bytea';
	$kind->{text}            //= '%s::text';
	$kind->{multi}           //= "${type}_minmax_multi_ops";
	$kind->{least}           //= 'min(%s)';
	$kind->{greatest}        //= 'max(%s)';
	$kind->{bounds}          //= "${type}_partition_bounds(%s)";
}

# Returns SQL for a kind. KIND, ID and NEXT are its name, its type and a new ID. TIMESTAMP(x) and so
# on are expressions of the kind.
sub of_kind {
	my ($kind, $sql) = @_;
	$sql =~ s/\b(TIMESTAMP|BYTES|TEXT|LEAST|GREATEST)\(([\w.]+)\)/sprintf $kind->{lc $1}, $2/ge;
	$sql =~ s/\b(WITHIN|AT)\(([^,]+), ('[^']*'::tstzrange|\w+)\)/sprintf $kind->{lc $1}, $2, $3/ge;
	$sql =~ s/\b(NEXT|MULTI)\b/$kind->{lc $1}/g;
	my $check = "CHECK ($kind->{timestamp} >= '2015-01-01 00:00+00'::timestamptz)";
	$sql =~ s/\bCHECKED_(DOMAIN|COLUMN)\(([^)]*)\)/
		$kind->{checked} eq $1 ? sprintf $check, $2 : ''/gex;
	$sql =~ s/\bSUBTYPE\b/$kind->{subtype}/g;
	$sql =~ s/\bID\b/$kind->{type}/g;
	$sql =~ s/KIND/$kind->{name}/g;
	return $sql;
}

# Returns SQL that is repeated for each kind.
sub of_all_kinds {
	my ($sql) = @_;
	return join '', map { of_kind($_, $sql) } @KINDS;
}

# Starts a server with these lines in its configuration. `node` and `init` go to the functions that
# create it and set it up.
sub server_with {
	my ($name, $configuration, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, %{ $how{node} || {} });
	$node->init(%{ $how{init} || {} });
	# Autovacuum would analyze each of the many tables, and lock a table that a standby dumps.
	$node->append_conf('postgresql.conf', "autovacuum = off\n$configuration");
	$node->start;
	return $node;
}

# Starts a server that can publish and subscribe, with the eight generator IDs from 8 * `number` on
# and a MAC address of its own. Without `preloads` it does not preload the library.
sub replicating_server {
	my ($name, $number, %how) = @_;
	my $first = 8 * $number;
	my $configuration = sprintf "flakeid.generator_ids = '%d-%d'\nflakeid.interface = '%s%02x'\n",
	  $first, $first + 7, '02:00:00:00:00:', $number + 1;
	$configuration .= "shared_preload_libraries = 'flakeid'\n" if $how{preloads} // 1;
	return server_with(
		$name, $configuration,
		node => $how{node},
		init => { allows_streaming => 'logical' });
}

# Creates a subscription in a database to a publication in the publisher's database of this name.
sub subscribe {
	my ($subscriber, $publisher, $database, $subscription, $publication, $options) = @_;
	my $connection = $publisher->connstr($database) =~ s/'/''/gr;
	$options //= '';
	return $subscriber->safe_psql($database, <<~"SQL");
		CREATE SUBSCRIPTION $subscription CONNECTION '$connection' PUBLICATION $publication $options
		SQL
}

1;
