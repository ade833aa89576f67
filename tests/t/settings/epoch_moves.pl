# flake's epoch moves earlier, or to any moment before the first flake. A statement that began
# before a reload neither brings the former epoch back nor moves the horizon by it.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeEpoch;
use Ledger;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

my ($unix, $e2010, $e2019, $e2020, $e2100) =
  map { "$_-01-01 00:00:00+00" } 1970, 2010, 2019, 2020, 2100;

# before the first flake -------------------------------------------------------------------------

my $node = epoch_server('spellings');
for my $epoch (
	'2020-01-01', '2020-01-01T00:00:00Z',
	'2020-01-01 00:00:00+00', '2020-01-01T05:30:00+05:30',
	'1577836800000', ' 2020-01-01 ')
{
	set_epoch($node, $epoch);
	is($node->safe_psql('postgres', <<~'SQL'), "$e2020|4194304", "the epoch '$epoch' is 2020");
		SELECT flake_timestamp(0), flake_min('2020-01-01 00:00:00.001+00')
		SQL
}
for my $epoch ('unix', 'UNIX', '0', '1970-01-01') {
	set_epoch($node, $epoch);
	is($node->safe_psql('postgres', 'SELECT flake_timestamp(0)'),
		$unix, "the epoch '$epoch' is 1970");
}
set_epoch($node, '2100-01-01');
my $before_epoch = qr/ERROR:  55000: the clock is before the epoch of flake\n/;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/${before_epoch}DETAIL:  The first flake has the time \Q$e2100\E\./,
	'before the epoch there are no flakes, and the error has the time of the first one');
is($node->safe_psql('postgres', 'SELECT sno_next() IS NOT NULL'),
	't', 'before the epoch of flake there are snos');
set_epoch($node, '2020-01-01');
is(error_of($node, 'SELECT flake_next()'),
	'', 'the state does not keep an epoch by which there was no flake');
$node->stop;

# an earlier epoch -------------------------------------------------------------------------------

# Whether flakes have the time of the query.
my $of_now = <<~'SQL' =~ s/\n\z//r;
	(SELECT at BETWEEN now() - interval '1 ms' AND clock_timestamp()
	FROM (SELECT flake_timestamp(flake_next()) AS at OFFSET 0) AS made)
	SQL
# One generator ID, so that sessions meet in it.
$node = epoch_server('earlier', '2020-01-01',
	configuration => "flakeid.generator_ids = '3'\nrestart_after_crash = on\n");
my $ledger = Ledger->new('earlier');
is($node->safe_psql('postgres', "SELECT $of_now, flake_next() < flake_min(now(), 'epoch')"),
	't|t', 'a server that starts with a later epoch counts its first flakes from there');
$ledger->use_all($node);
my ($flake) = grep { $_->{name} eq 'flake' } @ID_TYPES;

# Tests that flakes continue.
sub continues {
	my ($test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(($ledger->ask($node, $flake, 10))[0], '', $test);
}

# Starts the server with an epoch that it would refuse at a reload. It generates no flakes.
sub refused_at_start {
	my ($year, $recorded) = @_;
	$node->adjust_conf('postgresql.conf', 'flakeid.epoch', "'$year-01-01'");
	$node->restart;
	my %given = $ledger->ask_each($node);
	my ($error) = @{ delete $given{flake} };
	my $epochs =
	  qr/with the epoch \Q$recorded\E, and "flakeid\.epoch" is $year-01-01 00:00:00\+00\./;
	like(
		$error,
		qr/ERROR:  55000: $LATER\nDETAIL:  Flakes were generated $epochs/,
		"a server that starts with $year refuses it, and names both epochs");
	is(join('', map { $_->[0] } values %given),
		'', "a server that refuses $year generates IDs of the other ID types");
	return;
}

my $session = session($node);
my $before = $session->query_safe('SELECT max(id) FROM flake_next_batch(100000) AS id');
like(
	error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2023-01-01'"),
	qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch"/,
	'a later epoch is refused at once');
is($ledger->ask_in($session, $flake, 10), '', 'after the refusal the session continues');
set_epoch($node, '2019-01-01');
is($session->query_safe("SELECT flake_next() > $before, $of_now"),
	't|t', 'by an earlier epoch flakes are above all former ones');
$session->quit;
like(
	error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2020-01-01'"),
	qr/DETAIL:  Flakes were generated with the epoch 2019-01-01/,
	'after that the former epoch is a later one');
refused_at_start('2020', $e2019);
set_epoch($node, '2019-01-01');
continues('with the line moved back flakes continue');

# A statement keeps its settings to the end.
$ledger->crowd($node, ways => ['stream'], id_types => [$flake]);
$ledger->wait_until_given;
set_epoch($node, 'unix');
continues('when the epoch moves earlier in the midst of a statement flakes continue');
$ledger->wait_until_given(0.1);
cmp_ok(
	until_of(state_of($node)),
	'<',
	(time() + 10) * 1_000_000_000,
	'a statement that continues by the former epoch does not move the horizon ahead');
$node->safe_psql('postgres', <<~'SQL');
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crowd'
	SQL
$ledger->dispersed;
continues('when that statement has ended flakes continue');
crash_server($node);
$ledger->all_generate($node, 'after an earlier epoch and a crash all ID types generate IDs');
refused_at_start('2020', $unix);
set_epoch($node, 'unix');
continues('with the last epoch flakes continue');
is($ledger->twice, '', 'no ID repeats');
$node->stop;

# a statement across a reload --------------------------------------------------------------------

my $changed = qr/ERROR:  55000: "flakeid\.epoch" has changed since this statement began/;
my @servers = (
	[ 'before any flake', epoch_server('first') ],
	[ 'after others have generated flakes', epoch_server('others') ]);
push @servers,
  [ 'without preloading', epoch_server('not_preloaded', '2010-01-01', not_preloaded => 1) ]
  if $node->pg_version >= 17;
for (@servers) {
	my ($when, $server) = @$_;
	my $others = $when ne 'before any flake';
	my ($error, $late) = across_a_reload(
		$server,
		sub {
			set_epoch($server, '2020-01-01');
			$server->safe_psql('postgres', 'SELECT flake_next()') if $others;
		});
	my $expected =
	  $when eq 'after others have generated flakes'
	  ? qr/$changed|ERROR:  55000: "flakeid\.epoch" is not set/
	  : $changed;
	like($error, $expected, "a statement from before a reload gets no flake $when");
	my $epoch = '2020-01-01T00:00:00.000000000Z';
	is( recorded($server),
		$others ? $epoch : '',
		"a statement from before a reload writes down no former epoch $when");
	is($late->query_safe('SELECT flake_next() IS NOT NULL, flake_timestamp(0)'),
		"t|$e2020", "the session of that statement continues by the new epoch $when");
	is(recorded($server), $epoch, "the state has the new epoch $when");
	$late->quit;
	$server->stop;
}
done_testing();
