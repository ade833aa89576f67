# The generator IDs of a server change while a statement waits. The statement generates no ID with
# what another server may hold by now.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use Server;
use Test::More;

my $etcd = Etcd->new('identity');
my $ledger = Ledger->new('identity');
my $node = $etcd->start_server('node', generator_ids => '0-1', etcd_pool => '0-1');
my $holder = session($node);
is($holder->query_safe(<<~'SQL'), '0', 'a server with fixed generator IDs has no lease worker');
	SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'flakeid etcd'
	SQL
is($etcd->keys, 'address', 'it writes nothing to etcd');

# Begins a statement of each ID type that generates an ID, waits for a lock, and generates another;
# or one that only generates an ID after its wait. Returns the sessions, which wait.
sub sleepers {
	my ($key, $is_first) = @_;
	$holder->query_safe("SELECT pg_advisory_lock($key)");
	my @sessions = map {
		my $session = session($node);
		my $before = $is_first ? 'NULL' : $_->{next};
		$session->query_until(qr/begun/,
			"\\echo begun\nSELECT $before, pg_advisory_xact_lock($key), $_->{next};\n");
		$session;
	} @WITH_GENERATOR_IDS;
	my $waits = "locktype = 'advisory' AND objid = $key AND NOT granted";
	$node->poll_query_until(
		'postgres',
		"SELECT count(*) FROM pg_locks WHERE $waits",
		scalar @WITH_GENERATOR_IDS) or die 'the statements do not wait';
	return \@sessions;
}

# Lets the statements continue, and returns how many were refused because of the change.
sub wake {
	my ($sessions, $key) = @_;
	$holder->query_safe("SELECT pg_advisory_unlock($key)");
	# The answer to the next query comes after all of the statement.
	$_->query('SELECT 1') for @$sessions;
	my $replaced = qr/this server's generator IDs are being replaced after a change of/;
	my @errors = grep { $_ ne '' } map { $_->{stderr} } @$sessions;
	$_->quit for @$sessions;
	die "@errors" if grep { !/$replaced/ } @errors;
	return scalar @errors;
}

my @early = map { sleepers($_) } 1, 2;
my $first = sleepers(3, 1);
reload_with($node, generator_ids => 'etcd:2');
wait_for_ids($node);
is(wait_for_lease($node, 2), '0 1', 'a server leases the generator IDs that were its fixed ones');
is(wake($early[0], 1), 3, 'statements from before the change are refused');
generates($ledger, $node, 'later statements have IDs', '0 1');

reload_with($node, generator_ids => '26-27');
wait_for_ids($node);
my $heir = $etcd->start_server('heir', etcd_pool => '0-1');
is(wait_for_lease($heir, 2), '0 1', 'when it has other fixed ones, another server leases them');
is(wake($early[1], 2), 3, 'statements from before both changes are refused');
is(wake($first, 3), 3, 'statements that ask for their first ID only then are refused');
generates($ledger, $node, 'later statements have the last ones', '26 27');
generates($ledger, $heir, 'the other server has the first ones', '0 1');

my $same = sleepers(4);
reload_with($node, generator_ids => 'etcd:2', etcd_pool => '28-29');
wait_for_ids($node);
wait_for_lease($node, 2);
reload_with($node, generator_ids => '26-27');
wait_for_ids($node);
is(wake($same, 4), 0, 'statements continue when the server has their fixed ones again');

is($ledger->twice, '', 'no ID repeats');
$holder->quit;
$_->stop for $node, $heir;

done_testing();
