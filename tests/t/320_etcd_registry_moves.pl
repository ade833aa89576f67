# A registry seems to be lost, older, followed or replaced, at an endpoint that misleads the server, by a word that is old,
# or in the middle of a claim. No server leases then what others lease from the registry that lives on.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use File::Copy qw(copy);
use File::Path qw(remove_tree);
use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(sleep);

# No lease and no grace period of this test ends by itself.
my $ttl = 600;

my $forgotten = 'etcd has forgotten leases, so none is granted before they are over';
my $refused   = 'the last lease was of the registry ';
my $silent    = 'an endpoint that does not answer may still have the registry: ';

sub prepare
{
	my ($etcd, $name, %settings) = @_;
	return $etcd->server($name, generator_ids => 'etcd:2', etcd_pool => '0-15', etcd_lease_ttl => "${ttl}s", max_clock_wait => '100ms', %settings);
}

sub start
{
	my ($node) = @_;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS flakeid');
	return $node;
}

sub begin { return start(prepare(@_)) }

sub set_endpoints
{
	my ($node, $endpoints) = @_;
	$node->append_conf('postgresql.conf', "flakeid.etcd_endpoints = '$endpoints'\n");
	return;
}

# Has a server list what is there, as it wants one generator ID more; from the first endpoint on.
sub look
{
	my ($node) = @_;
	my ($wanted) = $node->safe_psql('postgres', 'SHOW flakeid.generator_ids') =~ /(\d+)/;
	$node->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:" . ($wanted + 1) . "'\n");
	$node->reload;
	return $wanted + 1;
}

# Waits until a server holds so many, or says why it does not; returns what it holds.
sub settled
{
	my ($node, $number) = @_;
	# Of a server that has just started the view may have no row yet.
	wait_for_error($node, qr//);
	lease_becomes($node, "state = 'held' AND cardinality(generator_ids) = $number OR last_error ~ '^($forgotten|$refused)'")
	  or die $node->name . " neither leases nor says why";
	return generator_ids($node);
}

# Makes etcd's revision greater than that of any copy, also of one that is written to.
sub advance
{
	my ($etcd) = @_;
	$etcd->advance for 1 .. 20;
	return;
}

# a removed member starts again without its data ----------------------------------------------------------------------

my $etcd = Etcd->new('grown');
my $a    = begin($etcd, 'a');
is(join(' ', wait_for_lease($a, 2)), '0 1', 'a server leases from an etcd with one member');
my $r1 = $etcd->get('registry-id');
my ($port, $peer) = map { PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;
my $first  = $etcd->{members}[0];
my $second = { name => 'm2', port => $port, url => "http://127.0.0.1:$port", map { $_ => "http://127.0.0.1:$peer" } qw(listen peer) };

# Tries it until etcd takes it: after a change of its members it refuses the next one for a while. A try whose answer was
# lost may have been done.
sub change_members
{
	my ($at, @command) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (eval { $at->ctl(@command) })
	{
		last if $@ =~ /already exists|member not found|not leader/;
		die $@ if time() > $until;
		sleep 0.2;
	}
	return;
}
change_members($etcd, 'member', 'add', 'm2', "--peer-urls=$second->{peer}");
push @{ $etcd->{members} }, $second;
{
	local $etcd->{options} = [ '--initial-cluster-state', 'existing' ];
	$etcd->start(1);
}
# A member says its name some time after it has joined.
my %id_of;
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
until (keys %id_of == 2)
{
	%id_of = reverse $etcd->ctl('member', 'list') =~ /^(\w+), \w+, (m\d),/mg;
	die 'the second member has no name' if time() > $until;
	sleep 0.1;
}
my $old_address = $etcd->cluster_id . '/flakeid/';
# A leader that is removed may end before the other one knows.
change_members(bless({ %$etcd, members => [$first] }, 'Etcd'), 'move-leader', $id_of{m2});
shift @{ $etcd->{members} };
change_members($etcd, 'member', 'remove', $id_of{m1});
my $rogue = bless { %$etcd, name => 'rogue', members => [$first] }, 'Etcd';
$rogue->kill;
remove_tree("$rogue->{dir}/m1");
$rogue->start;
is($rogue->cluster_id, $etcd->cluster_id, 'a removed member that starts again without its data has the old cluster ID');
set_endpoints($a, "$first->{url},$second->{url}");
look($a);
is(settled($a, 3), '0 1 2', '... and a server that finds nothing there leases from the registry, which lives on at another endpoint');
is(join(' ', $rogue->keys), '', '... and founds nothing');
is(memory_of($a)->{registry_id}, $r1, '... and goes on with the registry that it had');

$etcd->pause;
$a->stop('immediate');
$a->start;
like(wait_for_error($a, qr/$silent/), qr/^\Q$silent$second->{url}: /, 'while the other endpoint does not answer, nobody knows');
is(generator_ids($a) . join(' ', $rogue->keys), '', '... and nothing is leased or founded');
$etcd->continue;
isnt(settled($a, 3), '', '... until it answers');

# one misled server leads others -----------------------------------------------------------------------------------------

# It has no other endpoint, and so cannot know.
$a->stop;
my $misled = begin($rogue, 'misled', generator_ids => '0');
$misled->safe_psql('postgres', 'SELECT flake_next()');
$misled->stop;
copy($a->data_dir . '/flakeid/etcd', $misled->data_dir . '/flakeid/etcd') or die "could not copy: $!";
chmod 0600, $misled->data_dir . '/flakeid/etcd';
$misled->append_conf('postgresql.conf', "flakeid.generator_ids = 'etcd:2'\n");
$misled->start;
wait_for_error($misled, qr/^$forgotten/);
like($rogue->get('registry-id'), qr/\A\w{16},$r1\b/, 'a server that knows that endpoint alone founds a registry there, which says that it follows the first');
$rogue->del('grace');
$a->start;
isnt(settled($a, 3), '', '... and a server with two endpoints leases');
is(memory_of($a)->{registry_id}, $r1, '... and does not follow');
is(join(' ', sort values %{ { map { $_->{server} => $_->{data} } values %{ { $etcd->claims } } } }), $a->safe_psql('postgres', "SELECT regexp_replace(current_setting('data_directory'), '.*/', '')"), '... and its claims are in the first');

# a server without a memory ---------------------------------------------------------------------------------------------

my $fresh = begin($rogue, 'fresh', etcd_endpoints => "$first->{url},$second->{url}");
my $name  = qr{\Q$old_address\E#\w{16}};
like(wait_for_error($fresh, qr/show different registries/), qr{^the endpoints show different registries: $name at \Q$first->{url}\E, and $name at \Q$second->{url}\E$},
	'a server that has never leased leases nothing where its endpoints show different registries');
is(generator_ids($fresh), '', '... from neither');
set_endpoints($fresh, $second->{url});
$fresh->reload;
isnt(settled($fresh, 2), '', '... until its settings name one');

# a renewal goes to another etcd ------------------------------------------------------------------------------------------

my $renewing = begin($etcd, 'renewing', etcd_lease_ttl => '60s');
wait_for_lease($renewing, 2);
my $renewed = lease_of($renewing)->{renewed_at};
set_endpoints($renewing, "$first->{url},$second->{url}");
$renewing->reload;
lease_becomes($renewing, "renewed_at > '$renewed' OR losses > 0") or die 'the lease is not renewed';
is(lease_of($renewing)->{losses}, 0, 'a renewal that another etcd answers is made again at the right one, and nothing is lost');
$_->stop for $a, $misled, $fresh, $renewing, $rogue, $etcd;

my $nothing = Etcd->new('nothing', unfounded => 1);
my $hole    = Etcd->hole;
my $founder = begin($nothing, 'founder', etcd_endpoints => $nothing->endpoints . ",http://$hole->{endpoint}");
like(wait_for_error($founder, qr/^(?:$silent|$forgotten)/), qr/^\Q$silent/, 'a server that finds no registry founds none while an endpoint does not answer');
is(join(' ', $nothing->keys), '', '... and writes nothing');
set_endpoints($founder, $nothing->endpoints);
$founder->reload;
wait_for_error($founder, qr/^$forgotten/);
like($nothing->get('registry-id'), qr/\A\w{16}\z/, '... and founds it when all answer');
$_->stop for $founder, $nothing;

# an endpoint shows the registry as it was before ------------------------------------------------------------------------

my $kept  = Etcd->new('kept');
my $older = Etcd->new('older', idle => 1);
my $b     = begin($kept, 'b');
wait_for_lease($b, 2);
PostgreSQL::Test::RecursiveCopy::copypath($kept->copy_data, $older->data_dir);
advance($kept);
look($b);
is(settled($b, 3), '0 1 2', 'a server leases after a copy of etcd was made');
$older->start;
is($older->cluster_id, $kept->cluster_id, '... which has the same cluster ID');
set_endpoints($b, join ',', map { $_->endpoints } $older, $kept);
look($b);
is(settled($b, 4), '0 1 2 3', 'a server that finds an older state of its registry leases from the later one, which lives on at another endpoint');
is($older->get('grace'), undef, '... and writes nothing to the older one');
is(join(' ', sort keys %{ { $kept->claims } }), '0 1 2 3', '... and its claims are in the later one');
$_->stop for $b, $older, $kept;

# an endpoint shows a copy of the registry -------------------------------------------------------------------------------

# A member that was restored from a snapshot by itself has another cluster ID.
{
	my ($whole, $copy) = (Etcd->new('whole'), Etcd->new('copy', idle => 1));
	my $node = begin($whole, 'beside_a_copy');
	wait_for_lease($node, 2);
	$copy->restore($whole);
	$copy->start;
	set_endpoints($node, join ',', map { $_->endpoints } $copy, $whole);
	look($node);
	is(settled($node, 3), '0 1 2', 'a server that finds a copy of its registry leases from the registry, which lives on at another endpoint');
	is(join(' ', sort keys %{ { $whole->claims } }), '0 1 2', '... and its claims are there');
	is($copy->get('grace'), undef, '... and it writes nothing to the copy');
	$whole->stop;
	look($node);
	# The view has the error of the last attempt.
	wait_for_error($node, qr/^etcd's key "flakeid\/address" is "[^"]*", where this registry is /);
	pass('... while the registry does not answer it leases nothing from the copy, and says why');
	$whole->start;
	is(settled($node, 4), '0 1 2 3', '... and continues when the registry answers again');
	$_->stop for $node, $copy, $whole;
}

# an old word -------------------------------------------------------------------------------------------------------------

my ($x, $y) = (Etcd->new('x'), Etcd->new('y', unfounded => 1));
my ($x_address, $y_address) = map { $_->cluster_id . '/flakeid/' } $x, $y;
my $c = begin($x, 'c');
wait_for_lease($c, 2);

sub restart_at
{
	my ($node, $at) = @_;
	$node->stop;
	set_endpoints($node, $at->endpoints);
	$node->start;
	return;
}

# Leads a server to another registry that an administrator has said replaces the last one.
sub move
{
	my ($node, $to) = @_;
	restart_at($node, $to);
	wait_for_error($node, qr/^$forgotten/);
	$to->del('grace');
	wait_for_lease($node, 2);
	return;
}
$y->found($x_address);
move($c, $y);
$x->found($y_address);
move($c, $x);
my $left = $x->get('left') // '';
like($left, qr/\A\Q$y_address\E#\w{16}\@\d+\z/, 'a server that goes back to a registry writes there which one it has left');
is_deeply(memory_of($c)->{left}, [ split /,/, $left ], '... and remembers it');
is($x->get('address') . ' ' . $y->get('address'), "$x_address,$y_address $y_address,$x_address", '... while each says that it replaces the other');
my $late = begin($x, 'late');
wait_for_lease($late, 2);
is_deeply(memory_of($late)->{left}, [ split /,/, $left ], '... and a server remembers it that has never leased from the one that was left');
for my $node ($c, $late)
{
	restart_at($node, $y);
	is(settled($node, 2), '', 'a server leases nothing from a registry that was left, by its old word: ' . $node->name);
	ok(wait_for_error($node, qr{^$refused\Q$x_address\E#\w{16}, and this one is \Q$y_address\E#\w{16}$}), '... and says why');
}
is($y->get('grace'), undef, '... and changes nothing there');
$y->found($x_address);
wait_for_error($_, qr/^$forgotten/) for $c, $late;
$y->del('grace');
is(scalar(my @leased = wait_for_lease($_, 2)), 2, 'when an administrator writes the same word again, it counts: ' . $_->name) for $c, $late;
like($y->get('left'), qr/\A\Q$x_address\E#\w{16}\@\d+/, '... and the other one is left');
$_->stop for $c, $late, $x, $y;

# etcd is restored in the middle of a claim ---------------------------------------------------------------------------------

# Two endpoints of an etcd. While it is armed, the first one keeps what follows a listing to itself, and stops the process
# that the file names; and the second one takes no connection.
sub trap
{
	my ($of, $armed, $victim) = @_;
	my @holes = map { Etcd->hole } 1 .. 2;
	my $to = $of->{members}[0]{port};
	Etcd::in_process(sub {
		local $SIG{PIPE} = 'IGNORE';
		my ($one, $two) = map { $_->{socket} } @holes;
		my $all = IO::Select->new($one, $two);
		my (%other, %state, %is_near);
		while (my @ready = $all->can_read)
		{
			for my $socket (@ready)
			{
				if ($socket == $one || $socket == $two)
				{
					my $near = $socket->accept or next;
					next if $socket == $two && -e $armed;
					my $far = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $to) or next;
					@other{ $near, $far } = ($far, $near);
					$state{$near} = $state{$far} = { is_first => $socket == $one };
					$is_near{$near} = 1;
					$all->add($near, $far);
					next;
				}
				my $other = $other{$socket} or next;
				my $state = $state{$socket};
				my $data;
				if (!sysread $socket, $data, 65_536)
				{
					$all->remove($socket, $other);
					delete @other{ $socket, $other };
					$_->close for $socket, $other;
					next;
				}
				if ($is_near{$socket} && $state->{is_listed} && -e $armed)
				{
					$state->{is_mute} = 1;
					CORE::kill 'STOP', slurp_file($victim) if -s $victim;
				}
				$state->{is_listed} ||= -e $armed && $state->{is_first} && !$is_near{$socket} && $data =~ m{flakeid/address};
				syswrite $other, $data if !$state->{is_mute};
			}
		}
	});
	return join ',', map { "http://$_->{endpoint}" } @holes;
}

# Restores an older etcd while a server is between its listing and its claim, and lets another one claim the same before.
sub set_back
{
	my ($of, $node, $other, $armed, $victim, $state) = @_;
	$node->poll_query_until('postgres', 'SELECT worker_pid > 0 FROM pg_stat_flakeid_lease') or die 'there is no worker';
	my $pid = lease_of($node)->{worker_pid};
	append_to_file("$victim.new", $pid);
	rename "$victim.new", $victim or die "could not rename: $!";
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (slurp_file("/proc/$pid/stat") =~ /\) T /)
	{
		die 'the worker is not stopped' if time() > $until;
		sleep 0.05;
	}
	unlink $armed;
	start($other);
	wait_for_lease($other, 1);
	$of->lose_data($state);
	CORE::kill 'CONT', $pid;
	return;
}

my $moment = Etcd->new('moment');
my ($armed, $victim) = map { PostgreSQL::Test::Utils::tempdir('trap') . "/$_" } qw(armed victim);
my $d     = begin($moment, 'd', generator_ids => 'etcd:1', etcd_pool => '0-1', etcd_endpoints => trap($moment, $armed, $victim));
my $other = prepare($moment, 'other', generator_ids => 'etcd:1', etcd_pool => '1-1');
is(join(' ', wait_for_lease($d, 1)), '0', 'a server leases one generator ID');
my $with_one = $moment->copy_data;
advance($moment);
append_to_file($armed, '');
look($d);
set_back($moment, $d, $other, $armed, $victim, $with_one);
$d->poll_query_until('postgres', "SELECT last_error ~ '$forgotten' OR cardinality(generator_ids) = 2 FROM pg_stat_flakeid_lease") or die 'it does not go on' if generator_ids($d) eq '0 1';
my $waited = time() + $PostgreSQL::Test::Utils::timeout_default;
sleep 0.1 until defined(eval { $moment->get('grace') }) || generator_ids($d) eq '0 1' || time() > $waited;
is(generator_ids($d), '0', 'what was listed before etcd was restored to an older state is not claimed after that, beside what is held');
is(generator_ids($other), '1', '... and another server that has claimed it keeps it');
$_->stop for $d, $other;

$moment->forget;
unlink $other->data_dir . '/flakeid/etcd';
start($other);
wait_for_lease($other, 1);
$other->stop;
my $empty = $moment->copy_data;
advance($moment);
append_to_file($armed, '');
unlink $victim;
my $e = begin($moment, 'e', generator_ids => 'etcd:1', etcd_pool => '1-1', etcd_endpoints => trap($moment, $armed, $victim));
set_back($moment, $e, $other, $armed, $victim, $empty);
is(settled($e, 1), '', '... nor with a lease of its own');
$_->stop for $e, $other;

# a namespace ---------------------------------------------------------------------------------------------------------------

$a->append_conf('postgresql.conf', "flakeid.generator_ids = '0'\n");
$a->start;
like(error_of($a, "ALTER SYSTEM SET flakeid.etcd_namespace = 'new,old/'"), qr/ERROR:  22023: .*\nDETAIL:  A namespace cannot contain a comma\.\n/,
	'a namespace has no comma, which separates the names of registries');
$a->stop;

done_testing();
