# A clock that is stepped under a running server: no ID comes twice, and what happens instead of an ID
# is what the documentation says. At both ends of a system's time there is an error.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

# flake ----------------------------------------------------------------------------------------------

my $clock = FakedClock->new('flake', "flakeid.max_clock_wait = '1s'\n");
my $node  = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE made (nr serial, session text, id bigint)');
cmp_ok(abs($clock->time_of_server - time()), '<', 1, 'the clock is right at first');

my $session = session($node);

# More than the eight generator IDs hold in a millisecond, so that it does not end with what is left.
my $insert = "INSERT INTO made (session, id) SELECT pg_backend_pid(), flake_next() FROM generate_series(1, 40000)";

$session->query_safe($insert);
$clock->step(-0.05);
is(error_in($session, $insert), '', 'flake: after a step back by 50 ms IDs go on');

my $last = $session->query_safe('SELECT max(id) FROM made');
$clock->step(-10);
my $error = error_of($node, $insert);
like(
	$error, qr/ERROR:  58000: the clock is (?:9\.\d|10\.0) s behind the last flake ID/,
	'after a step back by 10 s there are none');
like(
	$error, qr/DETAIL: .* flakeid\.max_clock_wait allows to wait 1\.0 s\./,
	'... and the error says what would have been waited');
is(
	$node->safe_psql('postgres', "SELECT flake_timestamp($last) > clock_timestamp()"), 't',
	'... while they are decoded');
like(
	error_in($session, $insert), qr/ERROR:  58000: /,
	'... and the session that made the last gets none either');
$clock->step(0.1);
is(error_in($session, $insert), '', 'when the clock has caught up there are IDs again');
is(
	$session->query_safe("SELECT min(id) > $last FROM made WHERE id NOT IN (SELECT id FROM made WHERE id <= $last)"),
	't', '... after those from before');

reload_with($node, max_clock_wait => '5s');
$clock->step(-1.9);
my $begin = time();
is(error_in($session, $insert), '', 'what max_clock_wait allows is waited');
my $waited = time() - $begin;
ok($waited > 1.5 && $waited < 4.5, '... for as long as the clock was behind') or diag($waited);

reload_with($node, max_clock_wait => '0');
$clock->step(-5);
$begin = time();
like(
	error_of($node, $insert), qr/ERROR:  58000: the clock is [\d.]+ m?s behind/,
	'with max_clock_wait 0 nothing is waited for a clock');
cmp_ok(time() - $begin, '<', 1, '... and the error comes at once');
$clock->step(0.2);
is(error_in($session, $insert), '', '... but for the next millisecond is');

is($node->safe_psql('postgres', <<'SQL'), '0|0',
SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before FROM made) AS made
SQL
	'flake: no duplicate through it all, and every session strictly rising');
$session->quit;
$node->stop;

# sno ------------------------------------------------------------------------------------------------

# One generator ID with few numbers, so that what is left of a tick is soon used up.
$clock = FakedClock->new('sno', "flakeid.generator_ids = '3'\nflakeid.sno_sequence = '0-999'\n");
$node  = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE made (id sno)');

# Makes IDs; their tick-tock bit, whether they are of now, and how long it took.
sub make
{
	my ($count) = @_;
	my $begin = time();
	my $tick = $node->safe_psql('postgres', <<"SQL");
WITH made AS (INSERT INTO made SELECT sno_next() FROM generate_series(1, $count) RETURNING id)
SELECT string_agg(DISTINCT tick::text, ''), max(abs(extract(epoch FROM created_at - clock_timestamp()))) < 1
FROM made, sno_decode(id)
SQL
	return ($tick, time() - $begin);
}

# Where the generator ID was brought in neither timeline has a past; so first the clock goes ahead.
make(1);
$clock->step(60);
is((make(10))[0], '0|t', 'sno: the first timeline');
$clock->step(50);
my ($tick, $took) = make(5000);
is($tick, '1|t', 'after a step back by 10 s IDs go on at once in the other timeline');
$clock->step(45);
like(
	error_of($node, 'SELECT count(sno_next()) FROM generate_series(1, 5000)'),
	qr/ERROR:  58000: the clock is [45]\.\d s behind the last sno ID/,
	'after a second step back into that period there are none');
$clock->step(49.6);
($tick, $took) = make(5000);
is($tick, '1|t', 'when the clock is near enough they are waited for');
$clock->step(70);
is((make(10))[0], '1|t', 'the other timeline goes on when the clock has passed the first');
$clock->step(65);
is((make(10))[0], '0|t', '... and is left for the first by the next step back');
is(
	$node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT id) FROM made'), '0',
	'sno: no duplicate through it all');
$node->stop;

# both, in several sessions ----------------------------------------------------------------------------

$clock = FakedClock->new('both', "flakeid.generator_ids = '0-1'\nflakeid.max_clock_wait = '50ms'\n");
$node  = $clock->node;
$clock->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE flakes (nr serial, session integer, id bigint);
CREATE TABLE snos (id sno);
CREATE TABLE errors (state text);
CREATE TABLE over ();
SELECT flake_next(), sno_next();
SQL
my $work = <<'SQL';
DO $$
BEGIN
	WHILE NOT EXISTS (SELECT FROM over) LOOP
		BEGIN
			INSERT INTO snos SELECT sno_next() FROM generate_series(1, 20);
			INSERT INTO flakes (session, id) SELECT pg_backend_pid(), flake_next() FROM generate_series(1, 20);
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO errors VALUES (SQLSTATE);
		END;
	END LOOP;
END
$$
SQL
$clock->step(60);
my @runs = map {
	IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $work ],
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
} 1 .. 4;
sleep 1;
for my $offset (50, 45, 60.5, 58, 61, 40, 60.9, 62, 61.9, 61.8, 65)
{
	$clock->step($offset);
	sleep 0.4;
}
$node->safe_psql('postgres', 'INSERT INTO over DEFAULT VALUES');
is(
	(grep { !$_->finish } @runs), 0,
	'four sessions went on making both while the clock was stepped eleven times');

is($node->safe_psql('postgres', <<'SQL'), '0|0', 'flake: no duplicate, and every session strictly rising');
SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before FROM flakes) AS made
SQL
is($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT id) FROM snos'), '0', 'sno: no duplicate');
is(
	$node->safe_psql('postgres', "SELECT string_agg(DISTINCT (sno_decode(id)).tick::text, '') FROM snos"),
	'01', '... in either timeline');
is(
	$node->safe_psql('postgres', "SELECT string_agg(DISTINCT state, ' ') FROM errors"), '58000',
	'a clock behind was the only error');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM flakes'), '>', 5000, 'many IDs were made');

# the ends of time -------------------------------------------------------------------------------------

my $flakes_end = 2_199_023_255.552;    # 2039-09-07 15:47:35.552 UTC
my $snos_end   = 3_461_327_255.552;    # 2079-09-07 15:47:35.552 UTC
my $snos_begin = 1_262_304_000;        # 2010-01-01 00:00:00 UTC

$node->stop;
$clock->set($snos_begin - 100);
$clock->start;
$error = error_of($node, 'SELECT sno_next()');
like($error, qr/ERROR:  55000: the clock is before the first sno ID's time/, 'before 2010 there are no snos');
like(
	$error, qr/DETAIL:  The first sno has the time 2010-01-01 00:00:00\+00\./,
	'... and the error says from when on');
is(
	$node->safe_psql('postgres', "SELECT clock_timestamp() - flake_timestamp(flake_next()) < '1 s'"),
	't', '... but flakes');
$clock->set($snos_begin + 1);
is(
	$node->safe_psql('postgres', "SELECT sno_timestamp(sno_next()) >= '2010-01-01 00:00:00+00'"), 't',
	'from 2010 on there are');
$node->stop;

$clock->set($flakes_end - 100);
$clock->start;
is(
	$node->safe_psql('postgres', 'SELECT flake_next() > flake_min(clock_timestamp() - interval \'1 s\')'),
	't', 'until 2039 there are flakes');
$clock->set($flakes_end - 0.5);
$error = error_of($node, 'SELECT count(flake_next()) FROM (SELECT generate_series(1, 100000000)) AS many');
like(
	$error, qr/ERROR:  2200H: there are no flake IDs after 2039-09-07 15:47:35\.551\+00/,
	'then there is an error');
like($error, qr/HINT:  .*"flakeid\.epoch"/, '... that names flakeid.epoch');
is(
	$node->safe_psql('postgres', 'SELECT flake_timestamp(9223372036854775807),'
		  . " sno_timestamp(sno_next()) > '2039-09-07'"),
	'2039-09-07 15:47:35.551+00|t', '... while flakes are decoded and snos made');
$clock->set($snos_end - 0.5);
$error = error_of($node, 'SELECT count(sno_next()) FROM (SELECT generate_series(1, 100000000)) AS many');
like(
	$error, qr/ERROR:  2200H: there are no sno IDs after 2079-09-07 15:47:35\.548\+00/,
	'after 2079 there are no snos');
$node->append_conf('postgresql.conf', "flakeid.epoch = '2030-01-01'\n");
$node->stop;
$clock->start;
is(
	$node->safe_psql('postgres', "SELECT flake_timestamp(flake_next()) >= '2079-09-07'"), 't',
	'with a later epoch there are flakes again');

$node->stop;
done_testing();
