# A server remembers the registry of its last lease in the file flakeid/etcd. If it cannot read or
# write the file, it leases nothing.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use File::Path qw(remove_tree);
use Leases;
use PostgreSQL::Test::Utils;
use StateFile;
use Test::More;

my $etcd = Etcd->new('memory');
my $node = $etcd->start_server('node');
wait_for_lease($node, 2);
$node->stop;
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
ok(wait_for_lease($node, 2), 'with the file as it was the server leases');
$node->stop;

done_testing();
