# The names of a server in its IDs: guid's node, flake128's worker and uniqueid's cluster. A reload
# changes them in all sessions. Without a setting a server has those that its state file keeps.
use strict;
use warnings;
use lib 'tests/perl';

use Digest::SHA qw(sha256_hex);
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $node = flakeid_server('names');
$node->safe_psql('postgres', 'CREATE TABLE guids (id guid)');
my @sessions = map { session($node) } 1 .. 3;

# Every way to generate an ID of an ID type.
my %ways = (
	guid => [
		'guid_next() FROM generate_series(1, 100)',
		'guid_next_batch(10)',
		"guid_next('1 min', true)",
		"guid_at('2026-01-01', 0)"
	],
	flake128 => [
		'flake128_next() FROM generate_series(1, 100)',
		'flake128_next_batch(10)',
		"flake128_at('2026-01-01', 0)"
	],
	uniqueid => [
		'uniqueid_next() FROM generate_series(1, 100)',
		"uniqueid_next_batch(10, 'spread')",
		"uniqueid_at('2026-01-01', 0)"
	]);

# Returns the name that the IDs of a session have; several where they differ.
sub name_in {
	my ($session, $id_type, $field) = @_;
	my $ids = 'SELECT ' . join ' UNION ALL SELECT ', @{ $ways{$id_type} };
	return $session->query_safe("SELECT string_agg(DISTINCT ${field}::text, ' ')"
		  . " FROM ($ids) AS made (id), ${id_type}_decode(id)");
}

# Tests that all sessions have a name, and that flakeid_identity() shows it.
sub have_name {
	my ($id_type, $field, $name, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @names = map { name_in($_, $id_type, $field) } @sessions;
	is("@names", join(' ', ($name) x @sessions), "$test sessions that stay use it");
	is($sessions[0]->query_safe("SELECT flakeid_identity() #>> '{$id_type,$field}'"),
		$name, "$test flakeid_identity() shows it");
	return;
}

# guid's node ------------------------------------------------------------------------------------

# Returns the first four bytes of a name's SHA-256.
sub hashed { my ($name) = @_; return hex substr sha256_hex($name), 0, 8 }

$sessions[0]->query_safe('SELECT guid_next()');
my $kept = state_of($node)->{guid_node};
have_name('guid', 'node', $kept, 'without guid_node the state file has the node, and');
my %nodes = ('0' => 0, '7' => 7, '4294967295' => 4_294_967_295, ' 42 ' => 42, '007' => 7);
$nodes{$_} = hashed($_) for 'rack-7', 'node', '7a', 'Knoten', '-one';
$nodes{' rack-7 '} = $nodes{'rack-7'};
for my $value (sort keys %nodes) {
	reload_with($node, guid_node => $value);
	have_name('guid', 'node', $nodes{$value}, "with guid_node = '$value'");
	$_->query_safe('INSERT INTO guids SELECT guid_next() FROM generate_series(1, 1000)')
	  for @sessions;
	is(state_of($node)->{guid_node},
		$kept, "with guid_node = '$value' the state file keeps its node");
}
reload_with($node, guid_node => '');
have_name('guid', 'node', $kept, 'after guid_node is removed the kept node is back, and');
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT count(*), count(DISTINCT id), count(DISTINCT id::guid_local) FROM guids
	SQL
	join('|', (3000 * keys %nodes) x 3),
	'no guid repeats, also when guids become local');

# flake128's worker ------------------------------------------------------------------------------

my %interfaces = map { $_ => lc } '02:00:00:00:00:01', '08:00:2b:01:02:03', 'AA:bb:CC:dd:EE:0f';
$interfaces{' 02:00:00:00:00:02 '} = '02:00:00:00:00:02';
my %real;
for my $directory (glob '/sys/class/net/*') {
	# One that belongs to a container can go away at any time.
	my ($type, $address, $index) = eval {
		map { slurp_file("$directory/$_") } 'type', 'address', 'ifindex';
	} or next;
	next unless $type == 1;
	chomp($address, $index);
	my ($name) = $directory =~ m{([^/]+)$};
	$interfaces{$name} = $address unless $address =~ /^[0:]*$/;
	$real{$index} = $address if -e "$directory/device" && $interfaces{$name};
}
my ($lowest) = sort { $a <=> $b } keys %real;
my $worker = defined $lowest ? $real{$lowest} : state_of($node)->{worker} =~ s/(..)(?!$)/$1:/gr;
have_name('flake128', 'worker', $worker,
	'without interface the worker is the first real interface, else the kept one, and');
for my $value (sort keys %interfaces) {
	next if $value !~ /:/ && !-e "/sys/class/net/$value";
	reload_with($node, interface => $value);
	have_name('flake128', 'worker', $interfaces{$value}, "with interface = '$value'");
}
reload_with($node, interface => '');
have_name('flake128', 'worker', $worker,
	'after interface is removed the first worker is back, and');

# uniqueid's cluster -----------------------------------------------------------------------------

for my $cluster (15, 7, 0) {
	reload_with($node, cluster_id => $cluster);
	have_name('uniqueid', 'cluster_id', $cluster, "with cluster_id = $cluster");
}
$_->quit for @sessions;
$node->stop;
done_testing();
