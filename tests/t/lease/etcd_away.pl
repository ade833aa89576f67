# etcd is away when a server starts, for a short time, for longer than the lease, or it is full. IDs
# continue until the lease is over, and come back by themselves when etcd does.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use Leases;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $late = qr/WARNING:  flakeid has not renewed its lease of generator IDs for /;
my $again = qr/LOG:  flakeid renews its lease of generator IDs again/;
my $lost = qr/ERROR:  55000: the lease of .* was lost .* ago\nDETAIL:  .*\nHINT:  ./;
my $ledger = Ledger->new('away');
my $etcd = Etcd->new('away', idle => 1, options => [ '--quota-backend-bytes', 2_000_000 ]);
my $node = $etcd->start_server('node', etcd_pool => '0-1', etcd_lease_ttl => '10s');
my $session = session($node);

# Returns how many warnings of a late renewal were not taken back.
sub warnings {
	my ($end_of_log) = @_;
	my $log = slurp_file($node->logfile, $end_of_log);
	return (() = $log =~ /$late/g) - (() = $log =~ /$again/g);
}

subtest 'etcd is away when the server starts' => sub {
	ok(lease_becomes($node, "last_error IS NOT NULL AND state = 'starting'"),
		'the server runs, and its view has the error');
	refuses(
		$session,
		qr/ERROR:  55000: no generator IDs are leased from etcd yet\nDETAIL:  .*127/,
		'sessions get an error with the reason');
	others_generate($session, 'the other ID types need no lease');
	$etcd->start;
	$etcd->write_address;
	wait_for_ids($session);
	is(wait_for_lease($node, 2), '0 1', 'when etcd starts, the session that waited has IDs');
	is(lease_of($node)->{losses}, 0, 'nothing was lost');
};

subtest 'etcd is away for longer than the lease' => sub {
	my $end_of_log = -s $node->logfile;
	begin_crowd($ledger, $node);
	$etcd->kill;
	wait_until('the warning', sub { warnings($end_of_log) == 1 });
	pass('at half of the lease the log has a warning');
	is((grep { $_->{error} !~ $lost } $ledger->dispersed), 0, 'all sessions end with the lease');
	refuses($_, $lost, 'sessions that ask later are refused') for $session, $node;
	$node->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs/, $end_of_log);
	is(warnings($end_of_log), 1, 'the log has one warning before the loss');
	my $lease = lease_of($node);
	is("$lease->{state} $lease->{losses}", 'lost 1', 'the view counts the loss');
	is((grep { !defined $lease->{$_} } 'lost_at', 'last_error', 'last_error_at'),
		0, 'the view has the time of the loss and the last error of etcd');
	$etcd->start;
	wait_for_ids($session);
	generates($ledger, $session, 'when etcd is back, the session generates IDs again');
};

subtest 'etcd is full, and is repaired as docs/fleet.md shows' => sub {
	my ($section) = slurp_file('docs/fleet.md') =~ /^### Keep etcd from filling up\n(.*?)^### /ms;
	my ($block) = $section =~ /^\*\*When etcd is full\*\*.*?\n\n((?:    \$ .*\n)+)/ms;
	my @repair = $block =~ /^    \$ (.*)$/mg;
	is(scalar @repair, 3, 'the page has three commands');
	my $last = $node->safe_psql('postgres', 'SELECT flake_next()');
	my $value = 'x' x 100_000;
	# Old values of one key, as renewals leave them.
	1 while eval { $etcd->ctl('put', 'filler', $value) };
	lease_becomes($node, "state = 'lost'");
	ok(wait_for_error($node, qr/mvcc: database space exceeded\z/), 'the view has the reason');
	refuses(
		$session,
		qr/ERROR:  55000: the lease of .*\nDETAIL:  .*mvcc: database space exceeded/,
		'sessions get an error with the reason');
	$etcd->shell($_) for @repair;
	wait_for_ids($session);
	is($session->query_safe("SELECT flake_next() > $last"), 't', 'IDs continue after the repair');
	is(wait_for_lease($node, 2), '0 1', 'the server has the same generator IDs');
};

subtest 'the server stops and starts while etcd does not answer' => sub {
	$session->quit;
	$etcd->pause;
	$node->restart;
	is($node->safe_psql('postgres', 'SELECT 1'), '1', 'the server runs');
	$etcd->continue;
	wait_for_ids($node);
	pass('it has IDs when etcd answers');
	$node->stop;
};

subtest 'etcd is away for less than the lease' => sub {
	set($node, etcd_lease_ttl => '30s');
	$node->start;
	wait_for_lease($node, 2);
	my $end_of_log = -s $node->logfile;
	begin_crowd($ledger, $node);
	$etcd->pause;
	$node->wait_for_log($late, $end_of_log);
	$etcd->continue;
	$node->wait_for_log($again, $end_of_log);
	is(warnings($end_of_log), 0, 'the log has that the lease is renewed again');
	is(lease_of($node)->{losses}, 0, 'the lease is not lost');
	is(join('', end_crowd($ledger, $node)), '', 'no session had an error');
	is($ledger->twice, '', 'no ID repeats');
	$node->stop;
};

subtest 'one of the endpoints, or the only one, never answers' => sub {
	# Endpoints without a scheme speak http.
	my $silent = Etcd->silent_endpoint;
	my $plain = $etcd->endpoints =~ s{http://}{}r;
	set($node, etcd_endpoints => "$silent->{endpoint}, $plain");
	$node->start;
	ok( lease_becomes($node, "state = 'held' AND endpoint ~ '$plain\$'"),
		'where the first endpoint never answers, the server goes to the second');
	set($node, etcd_endpoints => $silent->{endpoint});
	$node->restart;
	lease_becomes($node, "state = 'starting'");
	refuses(
		$node,
		qr/ERROR:  55000: no generator IDs are leased from etcd yet/,
		'where no endpoint answers, the server runs, and sessions get an error');
	reload_with($node, generator_ids => '2-3');
	wait_for_ids($node);
	generates($ledger, $node, 'with fixed generator IDs outside of the pool it has IDs', '2 3');
	reload_with($node, generator_ids => 'etcd:2', etcd_endpoints => $plain);
	wait_for_ids($node);
	generates($ledger, $node, 'with leased ones it has IDs again', wait_for_lease($node, 2));
	is($ledger->twice, '', 'no ID repeats');
	$node->stop('fast');
};

done_testing();
