# A server that was down for longer than allowable_downtime generates no IDs until a superuser
# accepts the clock. Time in which a server is up and not asked is no downtime.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;

my $second = 1_000_000_000;    # nanoseconds
my $day = 86_400;
my $clock =
  FakedClock->new('downtime', "restart_after_crash = on\nflakeid.allowable_downtime = '1min'\n");
my $node = $clock->node;
my $ledger = Ledger->new('downtime');
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE ordinary LOGIN');
$ledger->use_all($node);
$node->stop;
$clock->stand_still(moment(state_of($node)->{written}) / $second + 50);
$clock->start;
$ledger->all_generate($node, 'after a downtime that is allowed all ID types generate IDs');
$node->stop;

# down for too long ------------------------------------------------------------------------------

my $written = moment(state_of($node)->{written}) / $second;
$clock->stand_still($written + 205.05);
my $end_of_log = -s $node->logfile;
$clock->start;
my $down = qr/the server was down for 205\.[01] s/;
my $refusal = qr/ERROR:  55000: $down, longer than "flakeid\.allowable_downtime"/;
my @sessions = map { session($node) } 1 .. 3;
for my $ask (map { ($_->{next}, sprintf $_->{batch}, 10) } @ID_TYPES) {
	my $whole = qr/${refusal}\n.*DETAIL:  The limit is 60\.0 s.*HINT:  .*flakeid_accept_clock\(\)/s;
	my @errors = map { error_in($_, "SELECT $ask") } @sessions;
	is((grep { /$whole/ } @errors), 3, "each session refuses $ask, with the limit and the remedy")
	  or diag(@errors);
}
my @not_decoded = grep {
	my $reads = "${_}_timestamp(${_}_max('2026-01-01')) < '2026-01-02'"
	  . " AND ${_}_decode(${_}_min('2026-01-01')) IS NOT NULL";
	$sessions[0]->query_safe("SELECT $reads") ne 't'
} map { $_->{name} } @ID_TYPES;
is("@not_decoded", '', 'a server that was down for too long decodes all ID types');
ok( $node->wait_for_log(
		qr/LOG:  flakeid cannot generate IDs: the server was down for/, $end_of_log),
	'the log says at the start that the server was down for too long');
like(
	error_of($node, 'SET SESSION AUTHORIZATION ordinary; SELECT flakeid_accept_clock()'),
	qr/ERROR:  42501: /,
	'an ordinary user cannot accept the clock');
$ledger->none_generates($node, $refusal,
	'after an ordinary user tried to accept the clock there are no IDs');
$node->stop;
$clock->start;
$ledger->none_generates($node, $refusal, 'after another restart there are no IDs');
$_->quit for @sessions;
@sessions = map { session($node) } 1 .. 3;
is((grep { error_in($_, 'SELECT flake_next()') =~ /$refusal/ } @sessions),
	3, 'after another restart each session refuses');

# accepted ---------------------------------------------------------------------------------------

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$clock->set($written + 206);
$end_of_log = -s $node->logfile;
is(error_of($node, 'SELECT flakeid_accept_clock()'), '', 'a superuser can accept the clock');
like(
	slurp_file($node->logfile, $end_of_log),
	qr/LOG:  the clock was accepted by "\Q$superuser\E"/,
	'the log names the superuser that accepted the clock');
for my $id_type (@ID_TYPES) {
	is(join('', map { error_in($_, "SELECT $id_type->{next}") } @sessions),
		'', "sessions that were refused generate $id_type->{name} IDs");
}
$ledger->all_generate($node, 'other sessions generate IDs of all ID types');
like(
	error_of($node, 'SELECT flakeid_accept_clock()'),
	qr/NOTICE:  .*there is nothing to accept/,
	'a superuser accepts the clock once');
$_->quit for @sessions;
is($ledger->twice, '', 'no ID repeats after a superuser accepted the clock');

# no downtime ------------------------------------------------------------------------------------

$clock->step(1000 + $day);
crash_server($node);
$ledger->all_generate($node, 'a crash of a backend after a quiet day is no downtime');
$clock->step(1000 + 2 * $day);
$node->stop;
$clock->start;
$ledger->all_generate($node, 'a quiet day before a stop is no downtime');
$node->stop;
$node->append_conf('postgresql.conf', 'flakeid.allowable_downtime = 0');
$clock->step(1000 + 30 * $day);
$clock->start;
$ledger->all_generate($node, 'without the setting any downtime is allowed');
is($ledger->twice, '', 'no ID repeats after quiet days');
$node->stop('immediate');
done_testing();
