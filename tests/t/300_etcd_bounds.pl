# What someone may have put into etcd, or in the place of a file that etcd is reached with: it stops what it is about
# and nothing else, takes no memory, holds nothing up, and is cut and escaped before anyone reads it.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use HTTP::Tiny;
use JSON::PP;
use MIME::Base64 qw(encode_base64);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $etcd = Etcd->new('bounds');
my $dir  = PostgreSQL::Test::Utils::tempdir('bounds');

# Puts any bytes there, as etcdctl can't.
sub put
{
	my ($key, $value) = @_;
	my %pair = (key => encode_base64("flakeid/$key", ''), value => encode_base64($value, ''));
	my $answer = HTTP::Tiny->new->post($etcd->endpoints . '/v3/kv/put', { content => JSON::PP->new->encode(\%pair) });
	die "etcd does not take it: $answer->{status} " . substr($answer->{content}, 0, 200) unless $answer->{success};
	return;
}

# Almost as much as etcd takes, with what would do harm to a terminal, and what is no UTF-8.
sub large
{
	my ($begin) = @_;
	return substr "$begin\n\e[2J\0\xff" . 'x' x 1_400_000, 0, 1_400_000;
}

# Tests that what people read is short lines of printable characters.
sub is_readable
{
	my ($test, $text) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	unlike($text, qr/[^\t\n\x20-\x7e]/, "$test: nothing but printable characters");
	my ($longest) = sort { $b <=> $a } map { length } split /\n/, $text;
	return cmp_ok($longest // 0, '<', 1000, '... in short lines');
}

# large values ---------------------------------------------------------------------------------------------------

# Six are twice of what the client takes at once.
put("until/$_", large("data $_")) for 0 .. 5;
my $node = $etcd->server('values', generator_ids => 'etcd:4', etcd_pool => '0-15', max_clock_wait => '100ms', etcd_lease_ttl => '20s');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is(join(' ', wait_for_lease($node, 4)), '6 7 8 9', 'values that are larger together than one answer stop their own generator IDs and no others');
wait_for_flow($node);
like(lease_of($node)->{last_error}, qr{etcd key "flakeid/until/0" has "data 0\\n\\x1b\[2J\\x00\\xffx+\.\.\.", which is not a time}, '... the view has the beginning of one, escaped');
$node->wait_for_log(qr{LOG:  flakeid does not lease generator ID 0: etcd key "flakeid/until/0" has "data 0\\n\\x1b\[2J\\x00\\xffx+\.\.\.", which is not a time});
is_readable('the log', slurp_file($node->logfile));
is_readable('the view', lease_of($node)->{last_error});
put('until/2', '2026-11-21T12:34:56.123456789Z');
$node->restart;
is(join(' ', wait_for_lease($node, 4)), '2 6 7 8', 'put right, a high-water mark is read again');
$node->stop;

# Each key is a moment, and then there is more.
put('until/3', '2026-11-21T12:34:56.123456789Z' . ' ' x 1000);
$node->start;
is(join(' ', wait_for_lease($node, 4)), '2 6 7 8', 'a high-water mark that is longer than a moment leaves its generator ID alone');
$node->stop;

# long keys ------------------------------------------------------------------------------------------------------

put("$_/" . 'k' x 1_300_000, '') for 'until', 'pool', 'registry';
put('until/' . 'l' x 1_300_000, '');
$node->start;
is(join(' ', wait_for_lease($node, 4)), '2 6 7 8', 'keys that are longer together than one answer stop nothing');
wait_for_flow($node);
is_readable('the log', slurp_file($node->logfile));
$node->stop;

# more than a page -------------------------------------------------------------------------------------------------

# Those of an answer are some thousand keys. Only the last of these is available.
$etcd->forget;
{
	my $number = 0;
	while ($number < 4200)
	{
		my @operations = map { { requestPut => { key => encode_base64("flakeid/registry/0:$_", ''), value => '' } } } $number .. $number + 99;
		my $answer = HTTP::Tiny->new->post($etcd->endpoints . '/v3/kv/txn', { content => JSON::PP->new->encode({ success => \@operations }) });
		die "etcd does not take it: $answer->{content}" unless $answer->{success};
		$number += 100;
	}
}
$node->append_conf('postgresql.conf', "flakeid.etcd_pool = '0-4201'\n");
$node->start;
is(join(' ', wait_for_lease($node, 2)), '4200 4201', 'of more keys than one answer has none is overlooked');
$node->stop;
$etcd->forget;
$node->append_conf('postgresql.conf', "flakeid.etcd_pool = '0-15'\n");

# values that change ---------------------------------------------------------------------------------------------

put('cluster-id', large('value 0'));
my $end_of_log = -s $node->logfile;
my $begin = time();
$node->start;
for my $number (1 .. 12)
{
	put('cluster-id', large("value $number"));
	lease_becomes($node, "last_error LIKE '%value $number\\\\n%'") or die 'the value is not told';
}
my $most = 6 + (time() - $begin) / 10;
my $log  = slurp_file($node->logfile, $end_of_log);
my $lines = () = $log =~ /flakeid cannot lease generator IDs/g;
cmp_ok($lines, '<=', $most, 'a value that changes all the time is told a few times, and then once in ten seconds');
like($log, qr/LOG:  flakeid cannot lease generator IDs: etcd key "flakeid\/cluster-id" has "value \d/, '... which the log says');
is_readable('... the log', $log);
cmp_ok(length $log, '<', 20_000, '... is short');
put('cluster-id', '0');
wait_for_lease($node, 4);
pass('... and when it is put right generator IDs are leased');
$node->stop;

# files ------------------------------------------------------------------------------------------------------------

mkfifo("$dir/pipe", 0600) or die "no pipe: $!";
append_to_file("$dir/long", '');
chmod 0600, "$dir/long";
truncate "$dir/long", 1 << 40 or die "could not truncate: $!";
append_to_file("$dir/password", "secret\n");
chmod 0600, "$dir/password";
# As Kubernetes shows a secret.
mkdir "$dir/..2026";
rename "$dir/password", "$dir/..2026/password";
symlink '..2026', "$dir/..data";
symlink '..data/password', "$dir/password";

my $https = $etcd->endpoints =~ s/http/https/r;
my @user  = (etcd_user => 'flakeid');
for my $file (
	[ 'an endless password file', qr{could not read "/dev/zero": it is not a regular file}, @user, etcd_password_file => '/dev/zero' ],
	[ 'a password file that is a pipe', qr{could not read "\Q$dir\E/pipe": it is not a regular file}, @user, etcd_password_file => "$dir/pipe" ],
	[ 'a password file that is a directory', qr{could not read "\Q$dir\E": Is a directory}, @user, etcd_password_file => $dir ],
	[ 'a very long password file', qr{could not read "\Q$dir\E/long": it is larger than 65536 bytes}, @user, etcd_password_file => "$dir/long" ],
	[ 'a file of authorities that is a pipe', qr{could not read "\Q$dir\E/pipe": it is not a regular file}, etcd_endpoints => $https, etcd_ca_file => "$dir/pipe" ],
	[ 'a very long file of authorities', qr{could not read "\Q$dir\E/long": it is larger than 1048576 bytes}, etcd_endpoints => $https, etcd_ca_file => "$dir/long" ],
	# etcd's own answer: the password was read.
	[ 'a password file that is a link', qr{authentication is not enabled}, @user, etcd_password_file => "$dir/password" ])
{
	my ($what, $reason, %settings) = @$file;
	my %all = (etcd_endpoints => $etcd->endpoints, etcd_user => '', etcd_password_file => '', etcd_ca_file => '', %settings);
	$node->append_conf('postgresql.conf', join '', map { "flakeid.$_ = '$all{$_}'\n" } sort keys %all);
	$node->start;
	ok(wait_for_error($node, $reason), "$what: the view has the reason");
	my $status = slurp_file('/proc/' . lease_of($node)->{worker_pid} . '/status');
	my ($peak) = $status =~ /^VmHWM:\s+(\d+) kB$/m;
	cmp_ok($peak, '<', 300_000, '... the worker has not taken much memory');
	$node->stop('fast');
	pass('... and the server stops');
}

done_testing();
