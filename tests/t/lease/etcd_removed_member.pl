# A member is removed from its etcd cluster and starts again without its data. It has the old
# cluster ID and is empty, at an endpoint where the registry has answered. A server with both
# endpoints in its settings leases from the registry, which exists at the other endpoint.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Leases;
use Test::More;

# No lease ends by itself here.
my %long = (etcd_pool => '0-15', etcd_lease_ttl => '600s');
my $etcd = Etcd->new('grown');
my $node = $etcd->start_server('node', %long);
is(wait_for_lease($node, 2), '0 1', 'a server leases from an etcd with one member');
my $id = $etcd->get('registry-id');

# Repeats a command until etcd takes it: after a change of its members it refuses the next one for a
# while. A try whose answer was lost may have been done.
sub change_members {
	my ($of, @command) = @_;
	wait_until(
		"@command",
		sub {
			return 1 if eval { $of->ctl(@command); 1 };
			return $@ =~ /already exists|member not found|not leader/;
		});
	return;
}

my $second = $etcd->add_member;
change_members(bless({ %$etcd, members => [ $etcd->{members}[0] ] }, 'Etcd'),
	'member', 'add', 'm2', "--peer-urls=$second->{peer}");
{
	local $etcd->{options} = [ '--initial-cluster-state', 'existing' ];
	$etcd->start(1);
}
# A member has its name some time after it has joined.
my %id_of;
wait_until(
	'both members have names',
	sub {
		my $list = eval { $etcd->ctl('member', 'list') } // '';
		%id_of = reverse $list =~ /^(\w+), \w+, (m\d),/mg;
		return keys %id_of == 2;
	});
my $first = shift @{ $etcd->{members} };
my $removed = bless { %$etcd, name => 'removed', members => [$first] }, 'Etcd';
# The leader would end before the other member knows of its removal.
change_members($removed, 'move-leader', $id_of{m2});
change_members($etcd, 'member', 'remove', $id_of{m1});
$removed->lose_data;
is($removed->address, $etcd->address, 'the removed member has the old cluster ID');

use_endpoints($node, "$first->{url},$second->{url}");
want_more($node);
is(wait_for_lease($node, 3), '0 1 2', 'a server that finds nothing there leases from the registry');
is($removed->keys, '', 'it writes nothing to the removed member');
is(memory_of($node)->{registry_id}, $id, 'it remembers the registry that it had');

$etcd->pause;
$node->stop('immediate');
$node->start;
my $silent = qr/^an endpoint that does not answer may still have the registry: $second->{url}: /;
ok(wait_for_error($node, $silent), 'while the other endpoint does not answer, it has an error');
is(generator_ids($node) . $removed->keys, '', 'it leases nothing, and writes nothing');
$etcd->continue;
is((split / /, wait_for_lease($node, 3)), 3, 'it leases when that endpoint answers');
$_->stop for $node, $removed, $etcd;

done_testing();
