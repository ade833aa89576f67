# A server that is stopped in the midst of its work for longer than its lease, and goes on: it makes no ID that
# another may have made while it was stopped. So does one whose worker alone is stopped.
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
use Test::More;
use Time::HiRes qw(time sleep);

my $second = 1_000_000_000;    # nanoseconds
my $ttl    = 10;

my $etcd   = Etcd->new('pause');
my $ledger = Ledger->new('pause');

# What is stopped has to go on, or nothing could end it.
my @stopped;
END { kill 'CONT', @stopped }

sub pause
{
	my @pids = @_;
	push @stopped, @pids;
	kill 'STOP', @pids;
	return;
}

# The postmaster first, so that there are no new processes.
sub pause_server
{
	my ($node) = @_;
	pause((processes_of($node))[0]);
	pause(processes_of($node));
	return;
}

sub go_on
{
	kill 'CONT', @stopped;
	@stopped = ();
	return;
}

sub begin
{
	my ($name, %settings) = @_;
	my $node = $etcd->server($name, generator_ids => 'etcd:2', etcd_lease_ttl => "${ttl}s", %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# Of what sessions were given, how many IDs of an ID type there are, and how many of them have a time that lies
# between a moment and another or is one of them.
sub count_between
{
	my ($node, $id_type, $from, $to, @sessions) = @_;
	my @files = map { $_->{out} } grep { $_->{id_type} == $id_type } @sessions;
	# Down to the microsecond: a high-water mark may be some nanoseconds after the beginning of a tick, which is below it.
	my ($begin, $end) = map { sprintf 'to_timestamp(%d.%06d)', $_ / $second, $_ % $second / 1000 } map { int } $from, $to;
	return split /\|/, $node->safe_psql('postgres', join ' ',
		"CREATE TEMP TABLE made (name text, id $id_type->{type});", (map { "COPY made FROM '$_';" } @files),
		"SELECT count(*), count(*) FILTER (WHERE $id_type->{name}_timestamp(id) > $begin AND $id_type->{name}_timestamp(id) <= $end) FROM made");
}

sub latest
{
	my ($latest) = sort { $b <=> $a } @_;
	return $latest;
}

# a whole server, whose generator IDs another takes --------------------------------------------------------------

my $one = begin('one', etcd_pool => '0-1');
wait_for_lease($one, 2);
my $stays = session($one);
wait_for_flow($stays);
my $two = begin('two', etcd_pool => '0-1');
$two->wait_for_log(qr/LOG:  flakeid waits for generator IDs/);

$ledger->crowd($one, id_types => \@LEASED, ways => [ 'single', 'batch' ]);
$ledger->wait_until_given(1);
pause_server($one);
my $high_water_mark = latest(values %{ { $etcd->high_water_marks } });
is(join(' ', wait_for_lease($two, 2)), '0 1', 'when a server is stopped for longer than its lease another takes its generator IDs');
while (time() * $second < $high_water_mark)
{
	$ledger->ask($two, $_, 1000) for @LEASED;
}
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($two, $id_type, 1000);
	is($error, '', "... and makes $id_type->{name} IDs");
	cmp_ok((times_of($two, $id_type, @ids))[0] + $id_type->{tick}, '>', $high_water_mark, '... above the high-water mark');
}
my $end_of_log = -s $one->logfile;
go_on();
my @sessions = $ledger->dispersed;
for my $session (@sessions)
{
	like(
		$session->{error}, qr/ERROR:  55000: (?:the lease of this server's generator IDs was lost|all generator IDs of the pool in etcd are leased)/,
		"when it goes on its sessions are refused $session->{id_type}{name} IDs ($session->{way})");
}
for my $id_type (@LEASED)
{
	my ($all, $beyond) = count_between($two, $id_type, $high_water_mark, time() * $second, @sessions);
	is($beyond, 0, "... and of those they made ($all) none has a time above the high-water mark: $id_type->{name}");
}
like(error_in($stays, "SELECT $_->{next}"), qr/ERROR:  55000: /, "... a session that stays is refused, too: $_->{name}") for @LEASED;
is(error_in($stays, "SELECT $_->{next}"), '', "$_->{name} does not end with the lease") for grep { $_->{cells} } @ID_TYPES;
$one->wait_for_log(qr/WARNING:  flakeid lost its lease of generator IDs 0-1/, $end_of_log);
pass('... and the log has that the lease was lost');
lease_becomes($one, 'losses = 1 AND lost_at IS NOT NULL') or die 'the loss is not told';
pass('... and the view');
$two->stop;
wait_for_flow($stays);
is(join(' ', wait_for_lease($one, 2)), '0 1', '... until the other stops: then it leases them again');
for my $id_type (@LEASED)
{
	$ledger->enter($stays->query_safe("SELECT '$id_type->{name}' || chr(9) || $id_type->{next} FROM generate_series(1, 1000)"));
}
is($ledger->twice, '', 'no ID repeats');
$stays->quit;
$one->stop;

# a whole server, with others to lease --------------------------------------------------------------------------------

# Its sessions may go on without an error.
$one = begin('others', etcd_pool => '10-30');
wait_for_lease($one, 2);
$ledger->crowd($one, id_types => \@LEASED, ways => [ 'single', 'batch' ]);
$ledger->wait_until_given(1);
pause_server($one);
$high_water_mark = latest(values %{ { $etcd->high_water_marks } });
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
while (my %claims = $etcd->claims)
{
	die 'the lease does not run out' if time() > $until;
	sleep 0.1;
}
# A lease is longer than its holder may use it: this is after the high-water mark.
my $went_on = time();
cmp_ok($went_on * $second, '>', $high_water_mark, 'a server is stopped until after its high-water mark');
go_on();
wait_for_flow($one);
my @generators = wait_for_lease($one, 2);
for my $id_type (@LEASED)
{
	my ($error, @ids) = $ledger->ask($one, $id_type, 1000);
	is($error, '', "a server that was stopped leases again when it goes on, and makes $id_type->{name} IDs");
	my %own = map { $_ => 1 } @generators;
	is((grep { !$own{$_} } generators_of($one, $id_type, @ids)), 0, '... of the new lease');
}
$one->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'");
@sessions = $ledger->dispersed;
for my $id_type (@LEASED)
{
	my ($all, $between) = count_between($one, $id_type, $high_water_mark, $went_on * $second - $id_type->{tick}, @sessions);
	is($between, 0, "... and none ($all) has a time between the high-water mark of the old lease and when it went on: $id_type->{name}");
}
is(join('', grep { !/55000: (?:the lease of|no generator IDs)/ } map { $_->{error} =~ /(ERROR: .*\n)/g } @sessions), '', '... which sessions saw as a lost lease at most');
is($ledger->twice, '', 'no ID repeats');
$one->stop;

# the worker alone ---------------------------------------------------------------------------------------------------

$one = begin('worker', etcd_pool => '40-50');
wait_for_lease($one, 2);
$stays = session($one);
wait_for_flow($stays);
$ledger->crowd($one, id_types => \@LEASED, ways => [ 'single', 'batch' ]);
# One asks for them in one long statement.
$ledger->crowd($one, id_types => [ grep { $_->{name} eq 'flake' } @LEASED ], ways => ['stream']);
$ledger->wait_until_given(0.5);
pause(lease_of($one)->{worker_pid});
my %high_water_marks = $etcd->high_water_marks;
$high_water_mark = latest(@high_water_marks{ @{ lease_of($one)->{generator_ids} } });
# What the server goes by: etcd may have had a renewal whose answer the worker has not seen.
my $ceiling = $second * $one->safe_psql('postgres', 'SELECT extract(epoch FROM high_water_mark) FROM pg_stat_flakeid_lease');
@sessions = $ledger->dispersed;
for my $session (@sessions)
{
	like(
		$session->{error}, qr/ERROR:  55000: the lease of this server's generator IDs was lost .* ago/,
		"when the worker is stopped sessions go on until the lease is over: $session->{id_type}{name} ($session->{way})");
}
for my $id_type (@LEASED)
{
	my ($all, $beyond) = count_between($one, $id_type, $high_water_mark, time() * $second, @sessions);
	is($beyond, 0, "... and of those they made ($all) none has a time above the high-water mark: $id_type->{name}");
	my (undef, $late) = count_between($one, $id_type, $ceiling - $ttl * $second / 3, $ceiling, @sessions);
	cmp_ok($late, '>', 0, '... but up to the ceiling');
}
like(error_in($stays, "SELECT $_->{next}"), qr/ERROR:  55000: .* was lost/, "... a session that stays is refused, too: $_->{name}") for @LEASED;
is(lease_of($one)->{state}, 'lost', '... and the view says so');
is(error_in($stays, "SELECT $_->{next}"), '', "there is $_->{name} while no generator ID is leased") for grep { $_->{cells} } @ID_TYPES;
go_on();
wait_for_flow($stays);
pass('when the worker goes on there are IDs again, in the session that stays');
wait_for_lease($one, 2);
for my $id_type (@LEASED)
{
	$ledger->enter($stays->query_safe("SELECT '$id_type->{name}' || chr(9) || $id_type->{next} FROM generate_series(1, 1000)"));
}
is($ledger->twice, '', 'no ID repeats');
$stays->quit;
$one->stop;

done_testing();
