# Others write into etcd: claims, values that are not valid, values and keys that are too large.
# Each of them keeps its own generator ID out of use, and what people read of it is short and
# printable. The files for etcd may be no regular files.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Leases;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $etcd = Etcd->new('foreign');
my $dir = PostgreSQL::Test::Utils::tempdir('foreign');
my $node = $etcd->start_server('node', generator_ids => 'etcd:4', etcd_pool => '0-15');
wait_for_lease($node, 4);

# Returns almost as much as etcd takes, with what would harm a terminal and is no UTF-8.
sub large {
	my ($begin) = @_;
	return substr "$begin\n\e[2J\0\xff" . 'x' x 1_400_000, 0, 1_400_000;
}

# Tests that the server leases these generator IDs after a start, and that its log can be read.
sub leases {
	my ($ids, $test) = @_;
	$node->restart;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(wait_for_lease($node, 4), $ids, $test);
	my @bad = grep { length > 1000 || /[^\t\x20-\x7e]/ } split /\n/, slurp_file($node->logfile);
	return is(scalar @bad, 0, 'the log has nothing but short lines of printable characters');
}

# The claims of the Java library have no value. Its registry is for claims that never end.
my %theirs = ('pool/0:0' => '', 'pool/3:1' => '', 'registry/0:2' => 'someone');
$node->stop;
$etcd->put($_, $theirs{$_}) for sort keys %theirs;
$node->start;
leases('3 4 5 6', 'a generator ID is taken by any claim, in any cluster, and if it is registered');
is_deeply({ map { $_ => $etcd->get($_) } keys %theirs }, \%theirs, 'those keys are left alone');
$node->stop;
$etcd->del($_) for sort keys %theirs;

# A page of a listing has 4096 keys.
$etcd->put_all(map { "registry/0:$_" } 100 * $_ .. 100 * $_ + 99) for 0 .. 41;
set($node, etcd_pool => '0-4203');
$node->start;
leases('4200 4201 4202 4203', 'of more keys than a page has, none is overlooked');
$node->stop;
$etcd->ctl('del', '--prefix', 'flakeid/registry/');
set($node, etcd_pool => '0-15');

# Six of them have twice the size that the client takes at once.
$etcd->put("until/$_", large("data $_")) for 0 .. 5;
$node->start;
leases('6 7 8 9', 'large high-water marks stop their own generator IDs');
wait_for_ids($node);
my $value = qr/data 0\\n\\x1b\[2J\\x00\\xffx+\.\.\./;
my $error = qr{etcd key "flakeid/until/0" has "$value", which is not a time};
like(lease_of($node)->{last_error}, $error, 'the view has the beginning of one, escaped');
$node->wait_for_log(qr/LOG:  flakeid does not lease generator ID 0: $error/);
$etcd->put('until/2', '2026-11-21T12:34:56.123456789Z');
$etcd->put('until/3', '2026-11-21T12:34:56.123456789Z' . ' ' x 1000);
leases('2 6 7 8',
	'a high-water mark that is corrected is read again, and one longer than a time is not');
is(length $etcd->get('until/3'), 1030, 'it is left alone');

$etcd->put("$_/" . 'k' x 1_300_000, '') for 'until', 'pool', 'registry';
# Four of them are more than the 4 MiB that the client takes at once.
$etcd->put('until/' . 'l' x 1_300_000, '');
leases('2 6 7 8', 'keys that are larger together than one answer stop nothing');

$etcd->put('registry-id', "none\e[1m") if (my $id = $etcd->get('registry-id'));
$node->restart;
ok(wait_for_error($node, qr{"flakeid/registry-id" is "none\\x1b\[1m", not the ID of a registry}),
	'with an ID of the registry that is not valid the server has an error');
is($etcd->claimed, '', 'it leases nothing');
$etcd->put('registry-id', $id);
ok(wait_for_lease($node, 4), 'it leases when the ID is corrected');

mkfifo("$dir/pipe", 0600) or die "could not make a pipe: $!";
append_to_file("$dir/$_", "secret\n") for 'long', 'target';
chmod 0600, "$dir/long", "$dir/target";
truncate "$dir/long", 1 << 40 or die "could not truncate: $!";
# Kubernetes shows a secret as a link.
symlink 'target', "$dir/link";
my $https = $etcd->endpoints =~ s/http/https/r;
for my $case (
	[ 'a device', etcd_password_file => '/dev/zero', qr/"\/dev\/zero": it is not a regular file/ ],
	[ 'a pipe', etcd_password_file => "$dir/pipe", qr/pipe": it is not a regular file/ ],
	[ 'a directory', etcd_password_file => $dir, qr/Is a directory/ ],
	[
		'a file that is too long',
		etcd_password_file => "$dir/long",
		qr/long": it is larger than 65536 bytes/
	],
	# The error is that of etcd, which has no users.
	[ 'a link', etcd_password_file => "$dir/link", qr/authentication is not enabled/ ],
	[ 'a pipe', etcd_ca_file => "$dir/pipe", qr/pipe": it is not a regular file/ ],
	[
		'a file that is too long',
		etcd_ca_file => "$dir/long",
		qr/long": it is larger than 1048576 bytes/
	])
{
	my ($what, $setting, $file, $reason) = @$case;
	$node->stop('fast');
	set($node, $setting => $file, etcd_user => 'flakeid');
	set($node, etcd_user => '', etcd_password_file => '', etcd_endpoints => $https)
	  if $setting eq 'etcd_ca_file';
	$node->start;
	ok(wait_for_error($node, $reason), "$what as $setting: the view has the reason");
	my $status = slurp_file('/proc/' . lease_of($node)->{worker_pid} . '/status');
	cmp_ok(($status =~ /^VmHWM:\s+(\d+) kB$/m)[0], '<', 300_000, 'the worker takes little memory');
}
$node->stop('fast');

done_testing();
