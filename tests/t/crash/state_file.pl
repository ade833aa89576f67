# What the state file says while a server runs and after it has stopped, and which names it keeps
# for guid and flake128. A state file of the first version has no names.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my $second = 1_000_000_000;    # nanoseconds

# The lead is so long that no second write comes in between.
my $node = flakeid_server('state', <<~'CONF');
	restart_after_crash = on
	flakeid.epoch = '2010-01-01'
	flakeid.horizon_lead = '10min'
	CONF
my $ledger = Ledger->new('state');

# while the server runs --------------------------------------------------------------------------

my $begin = int(time() * 1_000_000) * 1000;
$ledger->use_all($node);
my $end = int(time() * 1_000_000 + 1) * 1000;
my $state = state_of($node);
is(sprintf('%o', (stat state_path($node))[2] & 07777), '600', 'only the server can read the file');
is(sprintf('%o', (stat $node->data_dir . '/flakeid')[2] & 07777),
	'700', 'only the server can read the directory of the state file');
is( join(' ', sort keys %$state),
	'epochs flakeid_state guid_node server since system_identifier tick_tock tick_tock_until'
	  . ' until worker written',
	'the state file has the fields that are documented');
is($state->{flakeid_state}, 2, 'the state file has its version');
is( $state->{system_identifier},
	$node->safe_psql('postgres', 'SELECT system_identifier FROM pg_control_system()'),
	'the state file names its cluster');
my ($written, $until, $since) = map { moment($_) } @$state{qw(written until since)};
ok($written >= $begin && $written <= $end, 'the state file says when it was written');
ok($until >= $begin + 600 * $second && $until <= $end + 600 * $second,
	'the horizon is ahead by the lead');
ok($since >= $begin && $since <= $written, 'the state file has a time that the clock has shown');
is($state->{tick_tock}, 0, 'the state file has the timeline of sno');
is(moment($state->{tick_tock_until}[0]), $until, 'that timeline has the horizon');
cmp_ok(moment($state->{tick_tock_until}[1]), '<=', $end, 'the other timeline is free from now on');
is( $state->{epochs}{flake},
	'2010-01-01T00:00:00.000000000Z',
	'the state file has the epoch of flake');
is( join(' ', sort keys %{ $state->{epochs} }),
	join(' ', sort map { $_->{name} } @ID_TYPES),
	'the state file has the epoch of every ID type that was asked');
ok($state->{guid_node} =~ /^\d+$/ && $state->{guid_node} < 2**32,
	'the state file has a node for guids')
  or diag($state->{guid_node});
like(
	$state->{worker},
	qr/\A[0-9a-f][26ae][0-9a-f]{10}\z/,
	'the worker for flake128s is the address of no vendor and of no group');
is($state->{server}, 'running', 'the state file says that the server runs');
my @lines = split /\n/, state_text($node);
ok( (grep { /^  "until": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z",$/ } @lines) == 1,
	'the horizon has a line of its own, in digits that a person can read');
ok(!(grep { length > 80 } @lines), 'no line is longer than 80 characters');

# after a stop -----------------------------------------------------------------------------------

my $length = length state_text($node);
$node->stop;
$state = state_of($node);
is($state->{server}, 'stopped', 'after a stop the state file says so');
is(length state_text($node), $length, 'a stop leaves the length, so that no backup cuts the file');
cmp_ok(until_of($state), '<', $end, 'after a stop the horizon is the time of the last ID');

$node->adjust_conf('postgresql.conf', 'flakeid.horizon_lead', "'1s'");

# The same data directory by a name that is no UTF-8.
my $text = state_text($node);
my $link = PostgreSQL::Test::Utils::tempdir('name') . "/d\xe9ta";
symlink $node->data_dir, $link or die "could not make a link: $!";
system_or_bail('pg_ctl', '-w', '-D', $link, '-l', $node->logfile, 'start');
$node->_update_pid(1);
$ledger->use_all($node);
isnt(state_text($node), $text,
	'a server whose data directory has a name that is not UTF-8 writes the usual state file');
$node->stop;
is(state_of($node)->{server}, 'stopped', 'such a server also writes the file when it stops');
$node->start;

# the names --------------------------------------------------------------------------------------

sub names_in_file {
	return join ' ', @{ state_of($node) }{ 'guid_node', 'worker' };
}

# Returns what IDs have: guid's node, and flake128's worker if it is the kept one.
my $kept_worker = !grep { -e "$_/device" && slurp_file("$_/type") == 1 } glob '/sys/class/net/*';

sub names_in_ids {
	my ($guid_node, $worker) = split /\|/, $node->safe_psql('postgres', <<~'SQL');
		SELECT (guid_decode(guid_next())).node,
			replace((flake128_decode(flake128_next())).worker::text, ':', '')
		SQL
	return join ' ', $guid_node, $kept_worker ? $worker : state_of($node)->{worker};
}

my $names = names_in_file();
is(names_in_ids(), $names, 'IDs have the names in the state file');
for my $server ('stopped', 'running') {
	$node->stop;
	$state = state_of($node);
	rewrite_state(
		$node,
		sub {
			my ($state) = @_;
			$state->{flakeid_state} = 1;
			$state->{server} = $server;
			delete @$state{ 'guid_node', 'worker' };
			delete @{ $state->{epochs} }{ 'flake128', 'guid', 'uniqueid' };
		});
	my $test = "with a state file of version 1 of a $server server";
	$node->start;
	my %given = $ledger->all_generate($node, "$test all ID types generate IDs");
	my @below =
	  grep { (times_of($node, $_, @{ $given{ $_->{name} } }))[0] < horizon_of($state, $_, 0) }
	  @ID_TYPES;
	is(join(' ', map { $_->{name} } @below), '', "$test IDs begin above its horizon");
	is(state_of($node)->{flakeid_state}, 2, "$test the server writes one of version 2");
	isnt(names_in_file(), $names, "$test the server chooses new names");
	$names = names_in_file();
	is(names_in_ids(), $names, "$test IDs have the new names");
}

my %event = (
	'a restart' => sub { $node->restart },
	'a reload' => sub { reload_with($node, horizon_lead => '2s') },
	'a crash' => sub { crash_server($node) },
	'an immediate stop' => sub { $node->stop('immediate'); $node->start });
for my $what (sort keys %event) {
	$event{$what}->();
	$ledger->use_all($node);
	is(names_in_ids(), $names, "after $what IDs have the same names");
	is(names_in_file(), $names, "after $what the state file has the same names");
}
is($ledger->twice, '', 'no ID repeats');
$node->stop;
done_testing();
