# The log has no line of flakeid while nothing is wrong: with a new server's first IDs, after a
# pause, a restart or a crash. A state that begins is one line.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use LogLines;
use Server;
use Test::More;

my $node = flakeid_server('quiet', <<'END');
restart_after_crash = on
flakeid.horizon_lead = '1s'
END

# Not more than a tick of all generator IDs has.
my $few = join '; ', map {
	my $number = $_->{numbers} < 1000 ? $_->{numbers} : 1000;
	"SELECT count($_->{next}) FROM generate_series(1, $number)"
} @ID_TYPES;

# Tests that the log has no line, except of a disk that took more than a quarter of the lead.
sub is_quiet {
	my ($test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @lines = grep {
		!(/writing flakeid's horizon took ([\d.]+) (m?s)/ && $1 / ($2 eq 'ms' ? 1000 : 1) >= 0.25)
	} lines($node);
	is("@lines", '', $test);
	return;
}

$node->safe_psql('postgres', $few);
$node->poll_query_until('postgres', "SELECT max(gate_lead) < '0' FROM pg_stat_flakeid")
  or die 'the gate stays ahead';
$node->safe_psql('postgres', $few);
is_quiet('the first IDs of a new server, and those after a pause, log nothing');
$node->restart;
$node->safe_psql('postgres', $few);
is_quiet('IDs after a restart log nothing');
my $session = session($node);
$session->query_safe($few);
my $end_of_log = -s $node->logfile;
kill 'KILL', $session->query_safe('SELECT pg_backend_pid()');
ok($node->wait_for_log(qr/all server processes terminated; reinitializing/, $end_of_log),
	'a session is killed');
wait_for_server($node);
$node->safe_psql('postgres', $few);
is_quiet('IDs that wait for the horizon log nothing');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', $few);
is_quiet('IDs after a crash of the server log nothing');
is(lines_of_state($node), 1, 'the log has once that a state begins');
$node->stop;
$session->{run}->kill_kill if $session->{run};

done_testing();
