# What a server makes of a change in etcd whose answer is lost. etcd has done the change, so the server must neither undo it
# nor keep silent about it. A wire loses the first answer that comes after the key of the change exists. A server waits for
# an answer for two seconds at most.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(sleep);

my $ledger = Ledger->new('lost');

# An etcd that does what `how` says, a wire to it, and a server with these settings that uses the wire. It is not started.
sub behind_a_wire
{
	my ($name, $how, %settings) = @_;
	my $etcd = Etcd->new($name, %{ $how || {} });
	my $wire = $etcd->wire;
	my %usual = (etcd_pool => '0-7', etcd_lease_ttl => '600s');
	my $node = $etcd->server($name, etcd_endpoints => $wire->{endpoint}, %usual, %settings);
	return ($etcd, $wire, $node);
}

# How often a line is in a server's log.
sub logged
{
	my ($node, $line) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /$line/g);
}

# the first claim ----------------------------------------------------------------------------------------------------------

# The pool has no other generator IDs, and the high-water marks of the claim are nine minutes ahead.
my ($etcd, $wire, $node) = behind_a_wire('claim');
$wire->lose_answer_to('pool/0:0');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is(join(' ', wait_for_lease($node, 8)), '0 1 2 3 4 5 6 7', 'a server leases the generator IDs of a claim whose answer was lost');
is($wire->lost, 1, '... and one was lost');
is(($ledger->ask($node, $_, 100))[0], '', "... and generates IDs with them: $_->{name}") for @LEASED;
is(lease_of($node)->{last_error}, undef, '... without an error');
my @leases = map { /^0*([0-9a-f]+)$/ ? $1 : () } split /\n/, $etcd->ctl('lease', 'list');
my %claims = $etcd->claims;
is("@leases", $claims{0}{lease}, '... and no other lease stays in etcd');
my %high_water_marks = $etcd->high_water_marks;
is(join(' ', sort keys %claims), '0 1 2 3 4 5 6 7', '... nor another claim');
my @wrong = grep { moment($claims{$_}{until}) != $high_water_marks{$_} } sort keys %claims;
is("@wrong", '', '... and the claims show the high-water marks');
$node->restart;
wait_for_lease($node, 8);
is(($ledger->ask($node, $_, 100))[0], '', "after a restart the server goes on at once: $_->{name}") for @LEASED;
$node->stop;

# a first claim of which a part is gone -----------------------------------------------------------------------------------

# The server leases other generator IDs. What is left of the first claim is of the same lease, and is gone after the first
# renewal, 80 s after the lease was granted. The server runs until then. If etcd takes two seconds for the claim, the wire
# loses another answer and the server begins with another lease. Then nothing is left, and there is another round.
my ($partial, $lossy, $partly, @left);
for my $round (1 .. 20)
{
	($partial, $lossy, $partly) = behind_a_wire("partly$round", {}, etcd_pool => '0-15', etcd_lease_ttl => '240s');
	$lossy->lose_answer_to('pool/0:0', 'pool/0:3');
	$partly->start;
	$partly->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	my @chosen = wait_for_lease($partly, 8);
	my %claims = $partial->claims;
	my %is_left = map { $_ => 1 } grep { $claims{$_}{lease} eq $claims{ $chosen[0] }{lease} } keys %claims;
	delete @is_left{@chosen};
	@left = sort keys %is_left;
	last if @left;
	$partly->stop;
	$partial->stop;
}
is($lossy->lost, 1, 'an answer was lost');
is("@left", '0 1 2 4 5 6 7', '... of a claim of which one generator ID is gone, and the server leases others');

# the foundation of a registry ----------------------------------------------------------------------------------------------

(my $unfounded, $wire, $node) = behind_a_wire('founded', { unfounded => 1 });
$wire->lose_answer_to('grace');
$node->start;
my $founded = qr/LOG:  .*flakeid founded the registry of generator IDs/;
$node->wait_for_log($founded);
is($wire->lost, 1, 'a server that founds a registry without seeing the answer says so');
my $grace = $unfounded->get('grace');
isnt($grace, undef, '... has begun a grace period');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_error($node, qr/etcd has forgotten leases, so none is granted/);
$node->reload;
wait_for_error($node, qr/etcd has forgotten leases, so none is granted/);
is(logged($node, $founded), 1, '... and has said it once');
is($unfounded->get('grace'), $grace, '... and begun one grace period');
$node->stop;

# forgotten leases ----------------------------------------------------------------------------------------------------------

($etcd, $wire, $node) = behind_a_wire('forgotten');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_lease($node, 8);
$node->stop;
$etcd->lose_data;
$etcd->found;
$wire->lose_answer_to('grace');
my $offset = -s $node->logfile;
$node->start;
my $forgotten = qr/WARNING:  .*flakeid found that etcd has forgotten leases of generator IDs/;
$node->wait_for_log($forgotten, $offset);
is($wire->lost,                1, 'a server that finds that etcd has forgotten leases warns, though the answer was lost');
is(logged($node, $forgotten), 1, '... once');
isnt($etcd->get('grace'), undef, '... and has begun a grace period');
$node->stop;

# what was left of the first claim -----------------------------------------------------------------------------------------

my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
my %rest;
sleep 0.5 until (%rest = $partial->claims) && keys %rest == 8 || time() > $until;
is(join(' ', sort { $a <=> $b } keys %rest),
	generator_ids($partly), 'a renewal deletes what is left of a claim whose answer was lost');
is(($ledger->ask($partly, $_, 100))[0], '', "... and the server generates IDs with its own: $_->{name}") for @LEASED;
$partly->stop;

is($ledger->twice, '', 'no ID repeats');

done_testing();
