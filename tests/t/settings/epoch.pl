# flake's epoch: once there are flakes, a later epoch is refused where it is set and where it is in
# force, and so is the default when the line is lost. All refusals name the line to write.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeEpoch;
use Server;
use StateFile;
use Test::More;

my ($unix, $e2010, $e2020) = map { "$_-01-01 00:00:00+00" } 1970, 2010, 2020;
my $read = 'SELECT flake_timestamp(0)';

# the default ------------------------------------------------------------------------------------

my $node = epoch_server('default');
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT current_setting('flakeid.epoch'), flake_timestamp(0),
		flakeid_identity() -> 'flake' ->> 'last_time'
	SQL
	"2010-01-01|$e2010|2079-09-07T15:47:35.551Z",
	'by default flakes count from 2010, and last until 2079');
is(recorded($node), '', 'a server that has generated no flake has no epoch in its state');
is($node->safe_psql('postgres', <<~'SQL'), 't', 'the first flake has the time of now');
	SELECT at BETWEEN now() - interval '1 ms' AND clock_timestamp()
	FROM (SELECT flake_timestamp(flake_next()) AS at OFFSET 0) AS made
	SQL
is( recorded($node),
	'2010-01-01T00:00:00.000000000Z',
	'with the first flake the state has the epoch');

# a later one ------------------------------------------------------------------------------------

my $session = session($node);
my $first = $session->query_safe('SELECT flake_next()');
my $invalid = qr/ERROR:  22023: invalid value for parameter "flakeid\.epoch": "2020-01-01"\n/;
my $both = qr/with the epoch \Q$e2010\E, and "flakeid\.epoch" is \Q$e2020\E\./;
my $line = qr/HINT:  Write "flakeid\.epoch = '2010-01-01'"/;
like(
	error_of($node, "ALTER SYSTEM SET flakeid.epoch = '2020-01-01'"),
	qr/${invalid}DETAIL:  Flakes were generated $both\n$line/,
	'ALTER SYSTEM refuses a later epoch, with a reason and the line to write');
$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'");
is_refused_at_reload($node, '2020-01-01', '2010-01-01', $e2010, 'a reload refuses a later epoch');
cmp_ok($session->query_safe('SELECT flake_next()'),
	'>', $first, 'after such a reload a session continues');
is($session->query_safe('SHOW flakeid.epoch'),
	'2010-01-01', 'after such a reload a session has the former epoch');
$session->quit;
is(error_of($node, 'SELECT flake_next()'), '',
	'after such a reload a new session generates flakes');
is($node->safe_psql('postgres', <<~'SQL'), 'f', 'pg_file_settings shows the refused line');
	SELECT applied FROM pg_file_settings WHERE name = 'flakeid.epoch' AND error IS NOT NULL
	SQL
$node->restart;
refuses($node, $LATER, '2010-01-01', 'after a start with a later epoch');
like(
	error_of($node, 'SELECT flake_next()'),
	qr/DETAIL:  Flakes were generated $both/,
	'the refusal at a use has a reason');
$node->stop('immediate');
$node->start;
like(error_of($node, 'SELECT flake_next()'),
	qr/$LATER/, 'after a crash a later epoch is refused, too');
set_epoch($node, '2010-01-01');
is($node->safe_psql('postgres', "SELECT flake_next() > $first"),
	't', 'with the former line flakes continue');

# the line is lost -------------------------------------------------------------------------------

my $e2005 = '2005-06-07 08:09:10.5+00';
set_epoch($node, $e2005);
is($node->safe_psql('postgres', $read), $e2005, 'an earlier epoch in the file takes effect');
is($node->safe_psql('postgres', "SELECT flake_next() > $first"),
	't', 'by an earlier epoch flakes continue');
is( recorded($node),
	'2005-06-07T08:09:10.500000000Z',
	'with the next flake the state has the earlier epoch');
remove_epoch($node);
is_refused_at_reload($node, '2010-01-01', $e2005, $e2005,
	'a reload without the line does not bring the default, which is later');
is($node->safe_psql('postgres', "SELECT source FROM pg_settings WHERE name = 'flakeid.epoch'"),
	'default', 'without the line the setting has no source but the default');
is($node->safe_psql('postgres', $read), $e2005, 'without the line flakes are read as before');
my $debug = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is( $node->safe_psql('postgres', <<~"SQL"),
	SET $debug = on;
	CREATE FUNCTION in_worker() RETURNS timestamptz PARALLEL SAFE LANGUAGE sql AS '$read';
	SELECT in_worker() FROM pg_class LIMIT 1
	SQL
	$e2005,
	'without the line a parallel worker, to which PostgreSQL gives the default, reads as before');
$node->restart;
refuses($node, $LATER, '2005-06-07T08:09:10.5Z', 'after a restart without the line');
$node->stop;

# The default is earlier.
$node = epoch_server('lost', '2020-01-01');
my $id = $node->safe_psql('postgres', 'SELECT flake_next()');
remove_epoch($node);
is_refused_at_reload($node, '2010-01-01', '2020-01-01', $e2020,
	'a reload without the line does not bring an earlier default');
$node->restart;
refuses($node, $UNSET, '2020-01-01', 'after a restart with an earlier default');
is( recorded($node),
	'2020-01-01T00:00:00.000000000Z',
	'an earlier default does not get into the state');
reload_with($node, epoch => '1577836800000');
is($node->safe_psql('postgres', "SELECT flake_next() > $id"),
	't', 'with the epoch in postgresql.auto.conf, in another spelling, flakes continue');
$node->stop;

# a state of 0.6.0 -------------------------------------------------------------------------------

# The default of 0.6.0 was 1970, which it wrote down with the first flake. It had fewer ID types.
my @fields = qw(system_identifier until tick_tock_until tick_tock guid_node worker since written);
$node = epoch_server('old', 'unix');
$id = $node->safe_psql('postgres', 'SELECT sno_next(), flake_next()') =~ s/.*\|//r;
$node->stop;
rewrite_state(
	$node,
	sub {
		my ($state) = @_;
		my %epochs = map { $_ => $state->{epochs}{$_} } 'flake', 'sno';
		%$state = (
			(map { $_ => $state->{$_} } @fields),
			flakeid_state => 2,
			epochs => \%epochs,
			server => 'stopped');
	});
remove_epoch($node);
$node->start;
refuses($node, $LATER, 'unix', 'with a state of 0.6.0 and no line');
my $default =
  qr/with the epoch \Q$unix\E, and "flakeid\.epoch" is not set: its default is \Q$e2010\E\./;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/DETAIL:  Flakes were generated $default/,
	'the refusal has the default');
$session = session($node);
like(error_in($session, "SELECT flake_timestamp($id)"), $LATER, 'a session that stays is refused');
reload_with($node, epoch => 'unix');
is($session->query_safe(<<~"SQL"), 't|t', 'with the line a session that stays continues');
	SELECT flake_timestamp($id) BETWEEN now() - interval '1 day' AND now(), flake_next() > $id
	SQL
$session->quit;
$node->stop;

# A server without flakes takes the new default.
$node = epoch_server('unused', 'unix');
$node->safe_psql('postgres', 'SELECT sno_next()');
$node->stop;
remove_epoch($node);
$node->start;
is($node->safe_psql('postgres', $read), $e2010, 'a server with other IDs alone takes the default');
reload_with($node, epoch => '2020-01-01');
is($node->safe_psql('postgres', $read), $e2020,
	'a server with other IDs alone takes a later epoch');
is($node->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
	't', 'such a server generates its first flake by the later epoch');
is( recorded($node),
	'2020-01-01T00:00:00.000000000Z',
	'with the first flake of such a server the state has the later epoch');
$node->stop;
done_testing();
