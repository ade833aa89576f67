# Both ends of an ID type's time: before its epoch and after its last moment there is an error that
# names the moment, and all IDs are decoded. The log warns three years before an end.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use FlakeEpoch;
use PostgreSQL::Test::Utils;
use Server;
use StateFile;
use Test::More;
use Time::HiRes qw(time);

# Seconds since 1970 of a moment.
sub at { return moment($_[0] =~ tr/ /T/r . 'Z') / 1_000_000_000 }

# Returns the query whether a new ID has the time of the query, to a tick.
sub is_of_now {
	my ($id_type, $next) = @_;
	my $tick = $id_type eq 'sno' ? '4 ms' : '1 ms';
	return "SELECT created_at BETWEEN now() - interval '$tick' AND clock_timestamp()"
	  . " FROM (SELECT ${id_type}_timestamp($next) AS created_at OFFSET 0) AS made";
}

my $check = "Check the server's clock\\. If it is right,";

# across the ends --------------------------------------------------------------------------------

my $snos_begin = at('2010-01-01 00:00:00');
# No worker is needed.
my $clock = FakedClock->new('ends', "max_worker_processes = 0\nflakeid.epoch = 'unix'\n");
my $node = $clock->node;
$clock->set($snos_begin - 1000);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $first = qr/The first sno has the time 2010-01-01 00:00:00\+00\./;
like(
	error_of($node, 'SELECT sno_next()'),
	qr/ERROR:  55000: the clock is before the epoch of sno\nDETAIL:  $first/,
	'before 2010 there are no snos, and the error has the time of the first one');
is($node->safe_psql('postgres', is_of_now('flake', 'flake_next()')),
	't', 'before 2010 there are flakes that count from 1970');
$clock->set($snos_begin + 1);
is($node->safe_psql('postgres', "SELECT sno_timestamp(sno_next()) >= '2010-01-01 00:00:00+00'"),
	't', 'from 2010 on there are snos');

# A session that asks at once, without a start of its own.
my $asks = session($node);
for my $end (
	[ 'flake', '2039-09-07 15:47:35.552', '2039-09-07 15:47:35.551' ],
	[ 'sno', '2079-09-07 15:47:35.552', '2079-09-07 15:47:35.548' ],
	[ 'uniqueid', '2109-05-15 07:35:11.104', '2109-05-15 07:35:11.103' ],
	[ 'guid', '2262-04-11 23:47:16.854', '2262-04-11 23:47:16.854644' ])
{
	my ($name, $moment, $last) = @$end;
	$clock->set(at($moment) - 1000);
	is($node->safe_psql('postgres', is_of_now($name, "${name}_next()")),
		't', "until $last there are $name IDs");
	$clock->set(at($moment) - 0.05);
	my $many = "SELECT count(${name}_next()) FROM (SELECT generate_series(1, 1000000000000)) AS m";
	my $error = error_in($asks, $many);
	like(
		$error,
		qr/ERROR:  2200H: no $name ID can be generated after \Q$last\E\+00/,
		"after $last there are no $name IDs");
	like(
		$error,
		qr/HINT:  $check use another ID type\./,
		"the error does not name flakeid.epoch, which cannot move for existing $name IDs"
	) if $name eq 'flake';
	my ($reads, $other) =
	  $name eq 'flake'
	  ? ("flake_timestamp(9223372036854775807) = '$last+00'", 'sno')
	  : ("${name}_timestamp(${name}_max('2050-01-01')) > '2049-12-31'", 'flake128');
	is($node->safe_psql('postgres', "SELECT $reads"), 't', "after $last $name IDs are decoded");
	is($node->safe_psql('postgres', is_of_now($other, "${other}_next()")),
		't', "after $last there are $other IDs");
}
like(
	error_of($node, 'SELECT guid_local_next()'),
	qr/ERROR:  2200H: no guid ID can be generated after 2262-04-11/,
	'after the end of guid there are no local guids');
$asks->quit;
$node->append_conf('postgresql.conf', "flakeid.epoch = '2030-01-01'\n");
$node->stop;
$clock->start;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  55000: $LATER/,
	'a later epoch does not bring flakes back where there were some');
$node->stop;

# starts near the ends ---------------------------------------------------------------------------

$clock = FakedClock->new('later', "flakeid.epoch = '2030-01-01'\n");
$node = $clock->node;
$clock->set(at('2079-09-07 15:47:35.552'));
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is($node->safe_psql('postgres', "SELECT flake_timestamp(flake_next()) >= '2079-09-07'"),
	't', 'a server whose first flakes count from a later epoch has them for longer');
$node->stop;

# It logs when a worker ends.
$clock = FakedClock->new('near', "log_min_messages = debug1\n");
$node = $clock->node;
my $last = qr/on 2079-09-07 15:47:35\.551\+00/;
my $move = qr/DETAIL:  No later one can be generated\. Move what needs them/;
my $log_of = qr/LOG:  (?:00000: )?/;
for my $start (
	[ 2076, qr/LOG/, undef ],
	[ 2077, qr/${log_of}flake IDs end $last\n.*$move/, qr/${log_of}sno IDs end on 2079-/ ],
	[ 2080, qr/${log_of}flake IDs ended $last/, qr/${log_of}sno IDs ended on 2079-/ ])
{
	my ($year, $of_flake, $of_sno) = @$start;
	$clock->set(at("$year-06-01 00:00:00"));
	my $end_of_log = -s $node->logfile // 0;
	$clock->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS flakeid');
	# The worker writes the lines before it opens the state and ends.
	$node->wait_for_log(qr/background worker "flakeid recovery" \(PID \d+\) exited/, $end_of_log);
	my $log = slurp_file($node->logfile, $end_of_log);
	if ($of_sno) {
		like($log, $of_flake, "at a start in $year the log has a line about the end of flakes");
		like($log, $of_sno, "at a start in $year the log has a line about the end of snos");
	}
	else {
		unlike($log, qr/IDs end/, "at a start in $year the log has no line about an end");
	}
	unlike(
		$log,
		qr/(?:flake128|guid|uniqueid) IDs end/,
		"at a start in $year the log has no line about ID types that end later");
	$node->stop if $year < 2080;
}

# The server has no flakes.
my $end = qr/ERROR:  2200H: no flake ID can be generated after 2079-09-07/;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/$end.*HINT:  $check set "flakeid\.epoch" to a later time\./s,
	'a server without flakes generates none after the end, and the hint is to set a later epoch');
is(recorded($node), '', 'where there are no flakes the state has no epoch');
like(
	error_of($node, 'SELECT sno_next()'),
	qr/ERROR:  2200H: .*\n.*HINT:  $check use another ID type\./,
	'after the end of sno the hint is to use another ID type');
reload_with($node, epoch => '2070-01-01');
is($node->safe_psql('postgres', 'SELECT flake_next() IS NOT NULL'),
	't', 'with a later epoch there are flakes again');
$node->stop;
done_testing();
