# A clock that is stepped, or stands still, under a running server: no ID repeats, and what happens
# instead of an ID is what the documentation says. At both ends of an ID type's time there is an error.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $year = 365 * 86_400;

# one timeline: the last tick ----------------------------------------------------------------------------

my ($clock, $node, $session, $moment, $last, $begin, $error);

# When the last row's ID was made, in seconds since 1970: the beginning of its tick.
sub latest {
	my ($id_type, $where) = @_;
	$where //= 'true';
	return $node->safe_psql('postgres',
		"SELECT extract(epoch FROM ${id_type}_timestamp(id)) FROM made WHERE $where ORDER BY nr DESC LIMIT 1"
	);
}

for my $id_type (grep { !$_->{turns} } @OF_ONE_CELL) {
	my ($name, $type, $next) = @$id_type{ 'name', 'type', 'next' };
	$clock = FakedClock->new($name, "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = '1s'\n");
	$node = $clock->node;
	$clock->start;
	$node->safe_psql('postgres',
		"CREATE EXTENSION flakeid; CREATE TABLE made (nr serial, session text, id $type)");
	$begin = time();
	my $shown = $clock->time_of_server;
	ok($shown > $begin - 0.001 && $shown < time() + 0.001, 'the clock is right at first')
	  or diag($shown);

	$session = session($node);
	my $more = $id_type->{numbers} + 1000;    # than a tick has
	my $insert =
	  "INSERT INTO made (session, id) SELECT pg_backend_pid(), $next FROM generate_series(1, $more)";
	my $few =
	  "INSERT INTO made (session, id) SELECT pg_backend_pid(), $next FROM generate_series(1, 5)";
	$session->query_safe($insert);

	$moment = int(time()) + 20.0005;
	$clock->stand_still($moment);
	$last = $session->query_safe("SELECT $next");
	for my $behind (
		[ 0, 'stands still' ],
		[ 0.001, 'goes back by a tick' ],
		[ 0.05, 'goes back by 50 ms' ],
		[ 3600, 'goes back by an hour' ])
	{
		my ($seconds, $what) = @$behind;
		$clock->stand_still($moment - $seconds);
		for my $who ($session, $node) {
			$who == $node ? $node->safe_psql('postgres', $few) : $session->query_safe($few);
			is( $node->safe_psql(
					'postgres',
					"SELECT count(*), bool_and(${name}_timestamp(id) = "
					  . "${name}_timestamp('$last'::$type)) FROM (SELECT id FROM made ORDER BY nr DESC LIMIT 5) AS latest"
				),
				'5|t',
				"$name: when the clock $what IDs go on in the last tick"
				  . ($who == $node ? ', in a new session too' : ''));
		}
	}

	$clock->stand_still($moment - 0.05);
	$begin = time();
	$error = error_of($node, $insert);
	cmp_ok(time() - $begin,
		'>', 0.9, 'when that tick is exhausted max_clock_wait is waited for the clock to move');
	like(
		$error,
		qr/ERROR:  58000: the clock is 5\d ms behind the last $name ID/,
		'... and then there are no IDs');
	$clock->stand_still($moment + 0.001);
	is(error_in($session, $few), '', 'the next tick has IDs');
	$clock->set($moment + 0.1);
	is(error_in($session, $insert), '', 'when the clock moves they go on');

	# how far is too far -----------------------------------------------------------------------------------

	$clock->step(30);
	$session->query_safe($insert);
	$clock->step(29.95);
	is(error_in($session, $insert), '', "$name: after a step back by 50 ms IDs go on");

	my $before;
	($before, $last) = split /\|/,
	  $session->query_safe('SELECT nr, id FROM made ORDER BY nr DESC LIMIT 1');
	$clock->stand_still(latest($name) - 10);
	$error = error_of($node, $insert);
	like(
		$error,
		qr/ERROR:  58000: the clock is (?:9\.9|10\.0) s behind the last $name ID/,
		'after a step back by 10 s there are no IDs');
	like(
		$error,
		qr/DETAIL: .* The wait limit \("flakeid\.max_clock_wait"\) is 1\.0 s\./,
		'... and the error says what would have been waited');
	is( $node->safe_psql(
			'postgres', "SELECT ${name}_timestamp('$last'::$type) > clock_timestamp()"),
		't',
		'... while they are decoded');
	like(
		error_in($session, $insert),
		qr/ERROR:  58000: /,
		'... and the session that made the last gets none either');
	$clock->step(30.1);
	is(error_in($session, $insert), '', 'when the clock has caught up there are IDs again');
	is($session->query_safe("SELECT min(id) > '$last'::$type FROM made WHERE nr > $before"),
		't', '... after those from before');

	reload_with($node, max_clock_wait => '10min');
	my $latest = latest($name);
	$clock->stand_still($latest - 300);
	my $waits = $clock->waits($insert);
	pass('what max_clock_wait allows is waited');
	$clock->set($latest + 0.1);
	is(($clock->ended($waits))[1], '', '... for as long as the clock is behind');

	reload_with($node, max_clock_wait => '0');
	$clock->stand_still(latest($name) - 7);
	$error = error_of($node, $insert);
	like(
		$error,
		qr/ERROR:  58000: the clock is (?:6\.9|7\.0) s behind the last $name ID/,
		'with max_clock_wait 0 no session waits for the clock');
	like(
		$error,
		qr/DETAIL: .* The wait limit \("flakeid\.max_clock_wait"\) is 0\.000 ms\./,
		'... which the error says');
	$clock->step(30.2);
	is(error_in($session, $insert), '', '... but for the next millisecond is');

	$clock->step($year);
	is($session->query_safe('SELECT clock_timestamp() > now() - interval \'1 day\''),
		't', 'a clock that is a year ahead');
	$clock->step(30.3);
	is(error_in($session, $insert),
		'', '... and is corrected before a session asked, changes nothing');
	$clock->step($year + 30.3);
	is(error_in($session, $insert), '', 'IDs go along with a clock that goes ahead by a year');
	$clock->step(30.4);
	like(
		error_in($session, $insert),
		qr/ERROR:  58000: the clock is 36[45] days behind the last $name ID/,
		'... and when it is set right there are no IDs for a year');

	is( $node->safe_psql('postgres', <<'SQL'), '0|0',
SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before FROM made) AS made
SQL
		"$name: no duplicate through it all, and every session strictly rising");
	$session->quit;
	$node->stop;
}

# sno: the two timelines -----------------------------------------------------------------------------------

# One generator ID with few numbers, so that what is left of a tick is soon exhausted.
$clock = FakedClock->new('sno',
	"flakeid.generator_ids = '3'\nflakeid.sno_sequence = '0-999'\nflakeid.horizon_lead = '10s'\n");
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE made (nr serial, id sno)');

# Whether an ID is of the time between the beginning of the transaction and now, to a tick of 4 ms.
my $now = q{created_at BETWEEN now() - interval '4 ms' AND clock_timestamp() + interval '4 ms'};

# Makes IDs; their tick-tock bit, and whether they are of now.
sub make {
	my ($count) = @_;
	return $node->safe_psql('postgres', <<"SQL");
WITH made AS (INSERT INTO made (id) SELECT sno_next() FROM generate_series(1, $count) RETURNING id)
SELECT string_agg(DISTINCT tick_tock::text, ''), bool_and($now)
FROM made, sno_decode(id)
SQL
}

# Where the server's first IDs are made neither timeline is free before; so first the clock goes ahead.
make(1);

# In the middle of a tick of 4 ms.
$moment = int(time()) + 30.002;
$clock->stand_still($moment);
make(1);
$clock->stand_still($moment - 0.003);
is(make(1), '0|t', 'sno: less than a tick is no step back');
is( $node->safe_psql(
		'postgres',
		'SELECT count(DISTINCT sno_timestamp(id)) FROM'
		  . ' (SELECT id FROM made ORDER BY nr DESC LIMIT 2) AS latest'),
	'1',
	'... the tick is held');
is( $node->safe_psql(
		'postgres', 'SELECT sum(clock_steps_back), sum(tick_tocks) FROM pg_stat_flakeid'),
	'0|0',
	'... and nothing is counted');

$clock->step(6000);
is(make(10), '0|t', 'the first timeline');

# The statement that gets the first ID of the other timeline finds on disk what it rests on.
my $until = <<'SQL';
SELECT regexp_replace(pg_read_file('flakeid/state'), 'crc32 \w+\n$', '')::jsonb AS state
SQL
my $was =
  $node->safe_psql('postgres', "SELECT state -> 'tick_tock_until' ->> 0 FROM ($until) AS file");
$clock->step(5000);
is( $node->safe_psql('postgres', <<"SQL"), "1|1|$was|t|t|t",
WITH made AS MATERIALIZED (INSERT INTO made (id) VALUES (sno_next()) RETURNING id),
found AS MATERIALIZED (SELECT id, state, (SELECT max(sno_timestamp(id)) FROM made) AS last FROM made AS new, LATERAL ($until OFFSET 0) AS file WHERE new.id IS NOT NULL)
SELECT tick_tock, state ->> 'tick_tock', state -> 'tick_tock_until' ->> 0,
	(state -> 'tick_tock_until' ->> 0)::timestamptz > (SELECT max(sno_timestamp(id)) FROM made),
	(state -> 'tick_tock_until' ->> 1)::timestamptz > created_at,
	(state -> 'tick_tock_until' ->> 1)::timestamptz < created_at + interval '1 min'
FROM found, sno_decode(id)
SQL
	'after a step back by 1,000 s the first ID of the other timeline comes when the turn is on disk'
);
is(make(5000), '1|t', '... and they go on there at once');
is( $node->safe_psql(
		'postgres',
		'SELECT max(sno_timestamp(id)) FILTER (WHERE tick_tock = 1) < max(sno_timestamp(id)) FILTER (WHERE tick_tock = 0)'
		  . ' FROM made, sno_decode(id)'),
	't',
	'... without a wait for what the first had last');
my $latest = latest('sno');
$clock->stand_still($latest - 5);
like(
	error_of($node, 'SELECT count(sno_next()) FROM generate_series(1, 5000)'),
	qr/ERROR:  58000: the clock is (?:4\.9|5\.0) s behind the last sno ID/,
	'after a second step back into that period there are no IDs');
reload_with($node, max_clock_wait => '10min');
my $waits = $clock->waits('INSERT INTO made (id) SELECT sno_next() FROM generate_series(1, 5000)');
$clock->set($latest + 0.1);
is(($clock->ended($waits))[1], '', 'where max_clock_wait allows it they are waited for');
is( $node->safe_psql(
		'postgres',
		"SELECT string_agg(DISTINCT (sno_decode(id)).tick_tock::text, ''), min(sno_timestamp(id)) >= to_timestamp($latest)"
		  . ' FROM (SELECT id FROM made ORDER BY nr DESC LIMIT 5000) AS latest'),
	'1|t',
	'... in the same timeline');
reload_with($node, max_clock_wait => '1s');
$clock->step(7000);
is(make(10), '1|t', 'the other timeline goes on when the clock has passed the first');
$clock->step(6500);
is(make(10), '0|t', '... and is left for the first by the next step back');
$clock->step(6500 + $year);
is(make(10), '0|t', 'when the clock goes ahead by a year the timeline is the same');
$clock->step(7100);
is(make(10), '1|t', '... and the other one goes on when it is set right');

$moment = int(time()) + 8000;
$clock->stand_still($moment);
is(make(900), '1|t', 'while the clock stands still there is what a tick has');
$begin = time();
like(
	error_of($node, 'SELECT count(sno_next()) FROM generate_series(1, 1000)'),
	qr/ERROR:  58000: the clock is [\d.]+ ms behind the last sno ID/,
	'... and no more');
cmp_ok(time() - $begin, '>', 0.9, '... after a wait of max_clock_wait for it to move');
$clock->set($moment + 0.1);
is(make(5000), '1|t', '... until it does');
is($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT id) FROM made'),
	'0', 'sno: no duplicate through it all');
$node->stop;

# sno: one generator turns ---------------------------------------------------------------------------------

$clock = FakedClock->new('node', '');
$node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE made (id sno)');

# What one generator ID makes: its tick-tock bit, and whether it is of now.
sub make_by {
	my ($generator) = @_;
	reload_with($node, generator_ids => $generator);
	my ($partition, $tick) = split /\|/, $node->safe_psql('postgres', <<"SQL"), 2;
WITH made AS (INSERT INTO made SELECT sno_next() FROM generate_series(1, 10) RETURNING id)
SELECT min(partition), string_agg(DISTINCT tick_tock::text, ''), bool_and($now)
FROM made, sno_decode(id)
SQL
	die "generator ID $generator is $partition" unless $partition == $generator;
	return $tick;
}

make_by(1);
$clock->step(4000);
make_by(3);
$clock->step(6000);
is(make_by($_), '0|t', "generator ID $_ is in the first timeline") for 1, 2;
$clock->step(5000);
is(make_by(1), '1|t', 'the first that meets the step back turns');
is(make_by(2), '1|t', '... so does the next');
is(make_by(3), '1|t', '... a generator ID whose last ID the clock is not behind continues');
is(make_by(4), '1|t', '... and one that is new');
$clock->step(7000);
is(make_by($_), '1|t', "generator ID $_ stays when the clock has caught up") for 1 .. 4;
is( $node->safe_psql(
		'postgres',
		'SELECT string_agg(tick_tocks::text, \' \' ORDER BY generator_id),'
		  . ' sum(clock_steps_back) FROM pg_stat_flakeid'),
	'1 1 1 1|2',
	'... and each has turned once');
is($node->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT id) FROM made'),
	'0', 'no duplicate');
$node->stop;

# the ends of time -------------------------------------------------------------------------------------

# Whether a new ID has the time of the query.
sub is_of_now {
	my ($id_type, $next) = @_;
	return "SELECT created_at BETWEEN now() - interval '1 ms' AND clock_timestamp()"
	  . " FROM (SELECT ${id_type}_timestamp($next) AS created_at OFFSET 0) AS made";
}

my $flakes_end = 2_199_023_255.552;    # 2039-09-07 15:47:35.552 UTC
my $snos_end = 3_461_327_255.552;      # 2079-09-07 15:47:35.552 UTC
my $snos_begin = 1_262_304_000;        # 2010-01-01 00:00:00 UTC

# No worker is needed.
$clock = FakedClock->new('ends', "max_worker_processes = 0\nflakeid.epoch = 'unix'\n");
$node = $clock->node;
$clock->set($snos_begin - 1000);
$clock->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$error = error_of($node, 'SELECT sno_next()');
like(
	$error,
	qr/ERROR:  55000: the clock is before the epoch of sno/,
	'before 2010 there are no snos');
like(
	$error,
	qr/DETAIL:  The first sno has the time 2010-01-01 00:00:00\+00\./,
	'... and the error says from when on');
is($node->safe_psql('postgres', is_of_now('flake', 'flake_next()')), 't', '... but flakes');
$clock->set($snos_begin + 1);
is($node->safe_psql('postgres', "SELECT sno_timestamp(sno_next()) >= '2010-01-01 00:00:00+00'"),
	't', 'from 2010 on there are');
$node->stop;

$clock->set($flakes_end - 1000);
$clock->start;
is($node->safe_psql('postgres', is_of_now('flake', 'flake_next()')),
	't', 'until 2039 there are flakes');
# It asks at once, without a start of its own.
my $asks = session($node);
$clock->set($flakes_end - 0.05);
$error = error_in($asks,
	'SELECT count(flake_next()) FROM (SELECT generate_series(1, 1000000000000)) AS many');
like(
	$error,
	qr/ERROR:  2200H: no flake ID can be generated after 2039-09-07 15:47:35\.551\+00/,
	'then there is an error');
like(
	$error,
	qr/HINT:  Check the server's clock\. If it is right, use another ID type\./,
	'... that does not name flakeid.epoch, which cannot be moved any more');
is( $node->safe_psql(
		'postgres',
		'SELECT flake_timestamp(9223372036854775807),'
		  . " sno_timestamp(sno_next()) > '2039-09-07'"),
	'2039-09-07 15:47:35.551+00|t',
	'... while flakes are decoded and snos made');
$clock->set($snos_end - 0.05);
$error = error_in($asks,
	'SELECT count(sno_next()) FROM (SELECT generate_series(1, 1000000000000)) AS many');
like(
	$error,
	qr/ERROR:  2200H: no sno ID can be generated after 2079-09-07 15:47:35\.548\+00/,
	'after 2079 there are no snos');

for my $end (
	[ 'uniqueid', 4_398_046_511.104, '2109-05-15 07:35:11.103' ],
	[ 'guid', 9_223_372_036.854, '2262-04-11 23:47:16.854644' ])
{
	my ($name, $moment, $last) = @$end;
	my ($id_type) = grep { $_->{name} eq $name } @ID_TYPES;
	$clock->set($moment - 1000);
	is($node->safe_psql('postgres', is_of_now($name, $id_type->{next})),
		't', "until $last there are $name IDs");
	$clock->set($moment - 0.05);
	like(
		error_in(
			$asks,
			"SELECT count($id_type->{next}) FROM (SELECT generate_series(1, 1000000000000)) AS many"
		),
		qr/ERROR:  2200H: no $name ID can be generated after \Q$last\E\+00/,
		'... then there is an error');
	is( $node->safe_psql(
			'postgres',
			"SELECT ${name}_timestamp(${name}_max('2100-01-01')) > '2099-12-31'," . ' ('
			  . is_of_now('flake128', 'flake128_next()') . ')'),
		't|t',
		'... while they are decoded, and there are flake128 IDs');
}
like(
	error_of($node, 'SELECT guid_local_next()'),
	qr/ERROR:  2200H: no guid ID can be generated after 2262-04-11/,
	'... nor are there local guids');
$asks->quit;
$node->append_conf('postgresql.conf', "flakeid.epoch = '2030-01-01'\n");
$node->stop;
$clock->start;
like(
	error_of($node, 'SELECT flake_next()'),
	qr/ERROR:  55000: "flakeid\.epoch" is later than the epoch of existing flakes/,
	'where there were flakes a later epoch brings none back');
$node->stop;

$clock = FakedClock->new('later', "flakeid.epoch = '2030-01-01'\n");
$node = $clock->node;
$clock->set($snos_end);
$clock->start;
is( $node->safe_psql(
		'postgres',
		"CREATE EXTENSION flakeid; SELECT flake_timestamp(flake_next()) >= '2079-09-07'"),
	't',
	'a server whose first flakes count from a later epoch has them for longer');

$node->stop;
done_testing();
