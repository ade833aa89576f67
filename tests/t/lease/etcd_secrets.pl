# Certificates, a user and a password for etcd. With any error in them the server runs and names the
# error, and the password is shown nowhere.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use IPC::Run;
use Leases;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir('secrets');
my $password = 'no-one-may-see-this';

# Creates an authority and a certificate for server and client; returns the files.
sub certificates {
	my ($name) = @_;
	my @new = qw(openssl req -x509 -days 30 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256);
	my @ca = ('-subj', "/CN=$name", '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
	my @own = ('-subj', '/CN=own', '-CA', "$dir/$name.crt", '-CAkey', "$dir/$name.key");
	push @own, map { ('-addext', $_) } 'basicConstraints=critical,CA:FALSE',
	  'extendedKeyUsage=serverAuth,clientAuth', 'subjectAltName=IP:127.0.0.1';
	for my $command ([ @new, @ca, "$dir/$name" ], [ @new, @own, "$dir/$name-own" ]) {
		my $path = pop @$command;
		my $output;
		IPC::Run::run([ @$command, '-keyout', "$path.key", '-out', "$path.crt" ], '>&', \$output)
		  or die $output;
	}
	return map { "$dir/$name$_" } '.crt', '-own.crt', '-own.key';
}

sub file {
	my ($name, $mode, $text) = @_;
	append_to_file("$dir/$name", $text);
	chmod $mode, "$dir/$name";
	return "$dir/$name";
}

my ($ca, $cert, $key) = certificates('ours');
my ($other_ca, $other_cert, $other_key) = certificates('others');

# A token expires in less than a third of the lease. A password is cheap to check: at the usual
# cost, a busy machine takes longer for it than a server waits for an answer.
my $etcd = Etcd->new(
	'closed',
	tls => { ca => $ca, server_cert => $cert, server_key => $key },
	options => [ '--auth-token-ttl', '2', '--bcrypt-cost', '4' ]);
$etcd->ctl(split ' ')
  for 'user add root:the-root-of-it', "user add flakeid:$password",
  'role add flakeid', 'role grant-permission flakeid --prefix=true readwrite flakeid/',
  'user grant-role root root', 'user grant-role flakeid flakeid', 'auth enable';
my $open = Etcd->new('open');
my %right = (
	etcd_endpoints => $etcd->endpoints,
	etcd_ca_file => $ca,
	etcd_cert_file => $cert,
	etcd_key_file => $key,
	etcd_user => 'flakeid',
	etcd_password_file => file('right', 0600, "$password\n"));
my $node = $etcd->start_server('node', %right);

wait_for_lease($node, 2);
wait_for_ids($node);
pass('with a certificate, a user and a password a server leases');
for my $time ('once', 'twice') {
	my $renewed = lease_of($node)->{renewed_at};
	ok( lease_becomes($node, "renewed_at > '$renewed'"),
		"it renews the lease after the token has expired $time");
}
is(lease_of($node)->{losses}, 0, 'it loses no lease');
system('cp', '-p', $cert, $node->data_dir . '/own.crt') and die 'no copy';
set($node, etcd_cert_file => 'own.crt');
$node->restart;
ok(wait_for_lease($node, 2), 'a file may be named from the data directory');

# Returns the places that show the password: none.
sub places {
	my $rows = sub {
		my ($of) = @_;
		return $node->safe_psql('postgres', "SELECT string_agg(to_jsonb(r)::text, ' ') FROM $of");
	};
	my %text = (
		log => slurp_file($node->logfile),
		settings => $rows->('pg_settings AS r'),
		activity => $rows->('pg_stat_activity AS r WHERE pid <> pg_backend_pid()'),
		view => $rows->('pg_stat_flakeid_lease AS r'),
		identity => $rows->('flakeid_identity() AS r'),
		error => error_of($node, 'SELECT flake_next()'),
		commands => join ' ',
		map {
			eval { slurp_file("/proc/$_/cmdline") }
			  // ''
		} processes_of($node));
	return join ' ', grep { $text{$_} =~ /\Q$password\E/ } sort keys %text;
}
is(places(), '', 'the password is shown nowhere');
wait_for_ids($node);
my $as_ordinary = 'CREATE ROLE ordinary; SET SESSION AUTHORIZATION ordinary';
is(error_of($node, "$as_ordinary; SELECT flake_next(), sno_next(), uniqueid_next()"),
	'', 'an ordinary user generates IDs with leased generator IDs');

# TLS does not name every error.
my $any = qr/\S/;
my $http = $etcd->endpoints =~ s/https/http/r;
my $https = $open->endpoints =~ s/http/https/r;
for my $case (
	[
		'a wrong password',
		qr/authentication failed/,
		etcd_password_file => file('wrong', 0600, "$password-not\n")
	],
	[
		'a password file for a group',
		qr/\/group"/, etcd_password_file => file('group', 0640, "$password\n")
	],
	[ 'no password file', qr/\/nonesuch"/, etcd_password_file => "$dir/nonesuch" ],
	[ 'another authority', qr/certificate/, etcd_ca_file => $other_ca ],
	[ 'no authority', qr/etcd_ca_file/, etcd_ca_file => '' ],
	[ 'no certificate', $any, etcd_cert_file => '', etcd_key_file => '' ],
	[
		'a certificate of another authority', $any,
		etcd_cert_file => $other_cert,
		etcd_key_file => $other_key
	],
	[ 'a key file for all', qr/\/key"/, etcd_key_file => file('key', 0644, slurp_file($key)) ],
	[
		'a file without a certificate',
		qr/\/right" holds no certificate/,
		etcd_cert_file => "$dir/right"
	],
	[ 'a certificate without its key', qr/etcd_key_file/, etcd_key_file => '' ],
	[ 'http where etcd speaks https', $any, etcd_endpoints => $http ],
	[ 'https where etcd speaks http', $any, etcd_endpoints => $https ])
{
	my ($what, $reason, %settings) = @$case;
	subtest $what => sub {
		$node->stop;
		set($node, %settings);
		my $end_of_log = -s $node->logfile;
		$node->start;
		note(wait_for_error($node, $reason));
		$node->wait_for_log(qr/LOG:  flakeid cannot lease generator IDs: .*$reason/, $end_of_log);
		pass('the view and the log have the reason');
		lease_becomes($node, "state = 'starting'");
		refuses(
			$node,
			qr/ERROR:  55000: no generator IDs are leased from etcd yet/,
			'the server runs, and sessions get an error');
		is(places(), '', 'the password is shown nowhere');
		my $session = session($node);
		set($node, %right);
		$node->reload;
		wait_for_ids($session);
		pass('after a reload with the right settings the session has IDs');
		$session->quit;
	};
}

$node->stop;

done_testing();
