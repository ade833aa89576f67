# Who may come in at etcd, and how: with certificates, with a user and a password. With any error in that, the
# server starts and serves and says what it is, and no secret is to be seen anywhere.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir      = PostgreSQL::Test::Utils::tempdir('secrets');
my $password = 'no-one-may-see-this';

sub run
{
	my @command = @_;
	my $said;
	IPC::Run::run(\@command, '<', '/dev/null', '>&', \$said) or die "@command: $said";
	return;
}

# An authority, its certificate for a server and for a client: the files, by name.
sub certificates
{
	my ($name) = @_;
	my @new = ('openssl', 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes');
	my @authority = ('-CA', "$dir/$name.crt", '-CAkey', "$dir/$name.key", '-CAcreateserial');
	run(@new, '-x509', '-days', 30, '-subj', "/CN=$name", '-keyout', "$dir/$name.key", '-out', "$dir/$name.crt",
		'-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
	append_to_file("$dir/$name.extensions", <<'END');
basicConstraints=CA:FALSE
keyUsage=digitalSignature
extendedKeyUsage=serverAuth,clientAuth
subjectAltName=DNS:localhost,IP:127.0.0.1
END
	my %files = (ca => "$dir/$name.crt");
	for my $who ('server', 'client')
	{
		my $path = "$dir/$name-$who";
		run(@new, '-subj', "/CN=$who", '-keyout', "$path.key", '-out', "$path.csr");
		run('openssl', 'x509', '-req', '-days', 30, '-in', "$path.csr", @authority, '-extfile', "$dir/$name.extensions", '-out', "$path.crt");
		@files{ "${who}_cert", "${who}_key" } = ("$path.crt", "$path.key");
	}
	return \%files;
}

sub file
{
	my ($name, $mode, $text) = @_;
	append_to_file("$dir/$name", $text);
	chmod $mode, "$dir/$name";
	return "$dir/$name";
}

# Its settings, each line of which holds from the next start or reload on.
sub set
{
	my ($node, %settings) = @_;
	$node->append_conf('postgresql.conf', join '', map { "flakeid.$_ = '$settings{$_}'\n" } sort keys %settings);
	return;
}

my $tls   = certificates('ours');
my $other = certificates('others');
my $right = file('password', 0600, "$password\n");

# A token is good for less than a third of the lease, after which it is used again. A password is cheap to check: at the
# usual cost a busy machine takes longer for it than a server waits for an answer.
my $etcd = Etcd->new('closed', tls => $tls, options => [ '--auth-token-ttl', '2', '--bcrypt-cost', '4' ]);
$etcd->ctl(split ' ') for 'user add root:the-root-of-it', "user add flakeid:$password", 'role add flakeid',
  'role grant-permission flakeid --prefix=true readwrite flakeid/', 'user grant-role root root',
  'user grant-role flakeid flakeid', 'auth enable';
$etcd->authenticate('root', 'the-root-of-it');
$etcd->wait_until_ready;

# An etcd that is open to all.
my $open = Etcd->new('open');

my %right = (
	etcd_endpoints     => $etcd->endpoints,
	etcd_ca_file       => $tls->{ca},
	etcd_cert_file     => $tls->{client_cert},
	etcd_key_file      => $tls->{client_key},
	etcd_user          => 'flakeid',
	etcd_password_file => $right);

# right ----------------------------------------------------------------------------------------------------------

my $node = $etcd->server('node', generator_ids => 'etcd:2', etcd_lease_ttl => '30s', max_clock_wait => '100ms', %right);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE ordinary LOGIN');
is(scalar(my @ids = wait_for_lease($node, 2)), 2, 'with a certificate, a user and a password a server leases generator IDs');
wait_for_flow($node);
for my $time ('once', 'twice')
{
	my $renewed = lease_of($node)->{renewed_at};
	ok(
		lease_becomes($node, "renewed_at > '$renewed'"),
		"... and renews the lease though the token has expired $time");
}
is(lease_of($node)->{losses}, 0, '... and loses none');

# The user may be the certificate's, and a file be named from the data directory.
for my $file ('cert', 'key')
{
	PostgreSQL::Test::Utils::system_or_bail('cp', '-p', $tls->{"client_$file"}, $node->data_dir . "/of_client.$file");
	set($node, "etcd_${file}_file" => "of_client.$file");
}
$node->restart;
is(scalar(@ids = wait_for_lease($node, 2)), 2, 'a file may be named from the data directory');
set($node, %right);
$node->restart;
wait_for_lease($node, 2);

# nobody sees it -----------------------------------------------------------------------------------------------------

# The command line of a process; empty if it has ended.
sub command_of
{
	my ($pid) = @_;
	return eval { slurp_file("/proc/$pid/cmdline") } // '';
}

# Tests that the password is in none of the places where people look.
sub unseen
{
	my ($test) = @_;
	my %seen = (
		log      => slurp_file($node->logfile),
		settings => $node->safe_psql('postgres', 'SELECT string_agg(to_jsonb(s)::text, chr(10)) FROM pg_settings AS s'),
		activity => $node->safe_psql('postgres', 'SELECT string_agg(to_jsonb(s)::text, chr(10)) FROM pg_stat_activity AS s WHERE pid <> pg_backend_pid()'),
		view     => $node->safe_psql('postgres', 'SELECT to_jsonb(s) FROM pg_stat_flakeid_lease AS s'),
		identity => $node->safe_psql('postgres', 'SELECT flakeid_identity()'),
		error    => error_of($node, 'SELECT flake_next()'),
		etcd     => join("\n", $etcd->all('')),
		commands => join("\n", map { command_of($_) } processes_of($node)));
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join(' ', grep { $seen{$_} =~ /\Q$password\E/ } sort keys %seen), '', $test);
}

unseen('the password is to be seen nowhere');
my $user = 'SET SESSION AUTHORIZATION ordinary; ';
like(error_of($node, "${user}SHOW flakeid.etcd_user"), qr/ERROR:  42501: /, 'nor does an ordinary user see etcd\'s user');
is($node->safe_psql('postgres', "${user}SELECT count(*) FROM pg_settings WHERE name = 'flakeid.etcd_user'"), '0', '... in pg_settings');
is(error_of($node, "${user}SELECT $_->{next}"), '', "... but makes $_->{name} IDs") for @LEASED;
like(error_of($node, "${user}TABLE pg_stat_flakeid_lease"), qr/ERROR:  42501: /, 'nor the lease, which a user that knows it could revoke');
$node->safe_psql('postgres', 'CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher');
is(
	$node->safe_psql('postgres', 'SET SESSION AUTHORIZATION watcher; SELECT state FROM pg_stat_flakeid_lease'), 'held',
	'... but a user that watches the server does');

# wrong --------------------------------------------------------------------------------------------------------------

# TLS has no words for all of it.
my $any  = qr/\S/;
my $https = $etcd->endpoints;
my $http  = $https =~ s/https/http/r;
for my $wrong (
	[ 'a wrong password', qr/authentication failed/, etcd_password_file => file('wrong', 0600, "$password-not\n") ],
	[ 'a wrong user', qr/authentication failed/, etcd_user => 'nobody' ],
	[ 'a password file that others may read', qr/\Q$dir\E\/readable/, etcd_password_file => file('readable', 0644, "$password\n") ],
	[ 'a password file of a group', qr/\Q$dir\E\/group/, etcd_password_file => file('group', 0640, "$password\n") ],
	[ 'a password file that is not there', qr/\Q$dir\E\/nonesuch/, etcd_password_file => "$dir/nonesuch" ],
	[ 'another authority', qr/certificate/, etcd_ca_file => $other->{ca} ],
	[ 'no authority', qr/etcd_ca_file/, etcd_ca_file => '' ],
	[ 'no certificate', $any, etcd_cert_file => '', etcd_key_file => '' ],
	[ 'another authority\'s certificate', $any, etcd_cert_file => $other->{client_cert}, etcd_key_file => $other->{client_key} ],
	[ 'a key file that others may read', qr/\Q$dir\E\/key/, etcd_key_file => file('key', 0644, slurp_file($tls->{client_key})) ],
	[ 'a certificate without its key', qr/etcd_key_file/, etcd_key_file => '' ],
	[ 'a file that is no certificate', $any, etcd_cert_file => $right ],
	[ 'http where etcd speaks https', $any, etcd_endpoints => $http ],
	[ 'https where etcd speaks http', $any, etcd_endpoints => $open->endpoints =~ s/http/https/r ])
{
	my ($what, $reason, %settings) = @$wrong;
	$node->stop;
	set($node, %settings);
	my $end_of_log = -s $node->logfile;
	$node->start;
	is($node->safe_psql('postgres', 'SELECT 1'), '1', "$what: the server starts and serves");
	my $error = wait_for_error($node, $reason);
	pass('... the view has the reason');
	$node->wait_for_log(qr/LOG:  flakeid cannot lease generator IDs: .*$reason/, $end_of_log);
	pass('... and so has the log');
	lease_becomes($node, "state = 'starting'") or die 'the worker does not begin';
like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: no generator IDs are leased from etcd yet/, '... and a session that asks for an ID gets the error that there are no generator IDs');
	is(error_of($node, "SELECT $_->{next}"), '', "there is $_->{name} without etcd") for grep { $_->{cells} } @ID_TYPES;
	unseen('... and no secret is told');
	note("$what: $error");

	my $session = session($node);
	set($node, %right);
	$node->reload;
	wait_for_flow($session);
	is(scalar(@ids = wait_for_lease($node, 2)), 2, '... until it is corrected and reloaded');
	$session->quit;
}
$node->stop;

# an endpoint that never answers ---------------------------------------------------------------------------------------

my $hole = Etcd->hole;
$node = $open->server('hole', generator_ids => 'etcd:2', max_clock_wait => '100ms', etcd_endpoints => "http://$hole->{endpoint}," . $open->endpoints);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
wait_for_lease($node, 2);
wait_for_flow($node);
ok(lease_becomes($node, "endpoint = '" . $open->endpoints . "'"), 'where the first endpoint never answers a server goes to the second');
$node->stop;

# An address without a scheme speaks http.
set($node, etcd_endpoints => $hole->{endpoint});
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'where none answers the server starts and serves');
lease_becomes($node, "state = 'starting'") or die 'the worker does not begin';
like(error_of($node, 'SELECT flake_next()'), qr/ERROR:  55000: no generator IDs are leased from etcd yet/, '... and a session that asks for an ID gets the error that there are no generator IDs');
is(error_of($node, "SELECT $_->{next}"), '', "there is $_->{name} without etcd") for grep { $_->{cells} } @ID_TYPES;
$node->stop('fast');
pass('... and it stops when it is told to');
set($node, etcd_endpoints => "$hole->{endpoint}, " . $open->endpoints =~ s{http://}{}r);
$node->start;
is(scalar(@ids = wait_for_lease($node, 2)), 2, '... and an address without a scheme speaks http');

# settings ---------------------------------------------------------------------------------------------------------------

my %bad = (
	generator_ids      => [ 'etcd:', 'etcd:0', 'etcd:65', 'etcd:x', 'etcd:-1' ],
	etcd_endpoints     => [ 'http://user:secret@127.0.0.1:2379', 'https://user@127.0.0.1:2379', 'ftp://127.0.0.1', 'http://', '127.0.0.1:99999', '127.0.0.1:port' ],
	etcd_pool          => [ '7-3', 'x', '0-', '0-65536' ],
);
for my $name (sort keys %bad)
{
	for my $value (@{ $bad{$name} })
	{
		like(
			error_of($node, "ALTER SYSTEM SET flakeid.$name = '$value'"), qr/ERROR:  22023: .*flakeid\.$name.*\n(?:.*\n)*DETAIL:  ./,
			"$name = '$value' is refused with the reason");
	}
}
like(error_of($node, "ALTER SYSTEM SET flakeid.etcd_lease_ttl = '$_'"), qr/ERROR:  22023: .*\(3 .*3600/, "etcd_lease_ttl = '$_' is refused with the limits")
  for '2s', '2h';
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
for my $name ('etcd_endpoints', 'etcd_namespace', 'etcd_pool', 'etcd_lease_ttl', 'etcd_user', map { "etcd_${_}_file" } 'password', 'ca', 'cert', 'key')
{
	like(error_of($node, "${user}SET flakeid.$name = '5'"), qr/ERROR:  (?:55P02|42501): /, "an ordinary user cannot set $name");
}
$node->stop;

done_testing();
