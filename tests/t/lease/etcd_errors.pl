# The reasons why a server leases nothing, or not all that it wants: the log has each once, for as
# long as it applies, and the view has the last one. A server that cannot read or write the file
# flakeid/etcd, in which it remembers the registry of its last lease, leases nothing.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use File::Path qw(remove_tree);
use Leases;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $etcd = Etcd->new('once');
my $node = $etcd->start_server('node', etcd_pool => '0-7', etcd_lease_ttl => '10s');
wait_for_lease($node, 2);

# Waits until the server has renewed its lease twice.
sub wait_for_two_renewals {
	for (1 .. 2) {
		my $renewed = lease_of($node)->{renewed_at};
		lease_becomes($node, "renewed_at > '$renewed'");
	}
	return;
}

# Returns how many lines of the log match.
sub lines_of { my ($line) = @_; return scalar(() = slurp_file($node->logfile) =~ /$line/g) }

$etcd->put('cluster-id', 'x');
reload_with($node, generator_ids => 'etcd:4');
my $reason = qr/etcd key "flakeid\/cluster-id" has "x", which is not a number from 0 to 15/;
my $cannot = qr/LOG:  flakeid cannot lease generator IDs: $reason/;
wait_for_error($node, $reason);
wait_for_two_renewals();
ok(lines_of($cannot), 'a reason why a server claims no more is logged');
# There may be another reason in between: on a busy machine etcd does not answer in time.
my @reasons = slurp_file($node->logfile) =~ /LOG:  flakeid cannot lease generator IDs: (.*)/g;
is((grep { $reasons[ $_ - 1 ] eq $reasons[$_] } 1 .. $#reasons),
	0, 'the reason is logged once, while the server renews');
$etcd->put('cluster-id', '0');
wait_for_lease($node, 4);
my $end_of_log = -s $node->logfile;
$etcd->put('cluster-id', 'x');
reload_with($node, generator_ids => 'etcd:6');
ok($node->wait_for_log($cannot, $end_of_log), 'a reason that is back is logged again');
$etcd->put('cluster-id', '0');
wait_for_lease($node, 6);
$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.generator_ids');
$node->stop;

$etcd->put('until/0', 'x');
set($node, generator_ids => 'etcd:2');
$node->start;
is(wait_for_lease($node, 2), '1 2', 'a broken high-water mark keeps its generator ID out of use');
my $broken = qr/etcd key "flakeid\/until\/0" has "x", which is not a time/;
my $lease = lease_of($node);
like($lease->{last_error}, $broken, 'the view names the key');
wait_for_two_renewals();
is(lease_of($node)->{last_error_at}, $lease->{last_error_at}, 'a renewal does not find it again');
$etcd->put('until/0', '2020-01-01T00:00:00Z');
reload_with($node, generator_ids => 'etcd:3');
is(wait_for_lease($node, 3),
	'0 1 2', 'when the high-water mark is corrected, the server leases that one');
is( lease_of($node)->{last_error_at},
	$lease->{last_error_at},
	'a corrected high-water mark is no error');
is(lines_of(qr/LOG:  flakeid does not lease generator ID 0: $broken/), 1, 'the log has it once');
$node->stop;

$etcd->put('grace', "\e[2J\n" . 'x' x 900);
$node->start;
like(
	wait_for_error($node, $FORGOTTEN),
	qr/about \\x1b\[2J\\nx+\.\.\.\z/,
	'the value of a grace period is cut and escaped where people read it');
$etcd->end_grace;
ok(wait_for_lease($node, 3), 'the server leases after it');
$node->stop;

subtest 'a reason that changes all the time' => sub {
	$etcd->put('cluster-id', 'value 0');
	my ($end_of_log, $begin) = (-s $node->logfile, time());
	$node->start;
	for my $number (1 .. 12) {
		$etcd->put('cluster-id', "value $number");
		wait_for_error($node, qr/"value $number"/);
	}
	my $log = slurp_file($node->logfile, $end_of_log);
	my $most = 6 + (time() - $begin) / 10;
	my $lines = () = $log =~ /flakeid cannot lease generator IDs/g;
	cmp_ok($lines, '<=', $most, 'the log has a few lines at once, and then one in ten seconds');
	cmp_ok(length $log, '<', 20_000, 'the log stays short');
	$etcd->put('cluster-id', '0');
	ok(wait_for_lease($node, 3), 'the server leases when the value is corrected');
	$node->stop;
};

# the file of the last registry -------------------------------------------------------------------

my $file = $node->data_dir . '/flakeid/etcd';
my $content = slurp_file($file);
my $later = $content =~ s/"flakeid_etcd": 4/"flakeid_etcd": 5/r =~ s/crc32 \w{8}\n\z//r;
my $write = sub { my ($text) = @_; append_to_file($file, $text) };

for my $case (
	[ 'it is empty lines', qr/file "flakeid\/etcd" is damaged/, sub { $write->("\n" x 256) } ],
	[
		'a byte is another',
		qr/file "flakeid\/etcd" is damaged/,
		sub { $write->($content =~ s/"registry_id": "./"registry_id": "?/r) }
	],
	[
		'it is of a later version',
		qr/file "flakeid\/etcd" has version 5, which this flakeid cannot read/,
		sub { $write->(checksummed($later)) }
	],
	[
		'it is too long',
		qr/could not read file "flakeid\/etcd": it is larger than 4096 bytes/,
		sub { $write->($content . 'x') }
	],
	[
		'it is a directory',
		qr/could not read file "flakeid\/etcd": Is a directory/,
		sub { mkdir $file }
	],
	[
		'it is a link',
		qr/could not read file "flakeid\/etcd": it is a symbolic link/,
		sub { symlink '/dev/null', $file }
	],
	[
		'it cannot be written',
		qr/could not write file "flakeid\/etcd": Is a directory/,
		sub { mkdir "$file.new" }
	])
{
	my ($what, $error, $break) = @$case;
	remove_tree($file);
	$break->();
	$node->start;
	ok(wait_for_error($node, $error), "$what: the view has the reason");
	is(generator_ids($node) . $etcd->claimed, '', "$what: nothing is leased");
	$node->stop;
}
rmdir "$file.new" or die "could not remove a directory: $!";
$write->($content);
$node->start;
ok(wait_for_lease($node, 3), 'with the file as it was the server leases');
$node->stop;

done_testing();
