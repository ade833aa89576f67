# The clock is stepped, or stands still, under a running server, for the ID types with one timeline:
# IDs continue in the last tick, then sessions wait as long as max_clock_wait, and then get an
# error.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use Ledger;
use Server;
use Test::More;
use Time::HiRes qw(time);

for my $id_type (grep { !$_->{turns} } @OF_ONE_CELL) {
	subtest "$id_type->{name} on a clock that is stepped" => sub { steps_of($id_type) };
}
done_testing();

sub steps_of {
	my ($id_type) = @_;
	my ($name, $type, $next) = @$id_type{ 'name', 'type', 'next' };
	my $clock =
	  FakedClock->new($name, "flakeid.generator_ids = '3'\nflakeid.max_clock_wait = '1s'\n");
	my $node = $clock->node;
	$clock->start;
	$node->safe_psql('postgres',
		"CREATE EXTENSION flakeid; CREATE TABLE made (nr serial, session text, id $type)");
	my $begin = time();
	my $shown = $clock->time_of_server;
	ok($shown > $begin - 0.001 && $shown < time() + 0.001, 'the clock is right at first')
	  or diag($shown);

	# Statements that generate a few IDs, and more than a tick has.
	my ($few, $insert) = map {
		"INSERT INTO made (session, id) SELECT pg_backend_pid(), $next FROM generate_series(1, $_)"
	} 5, $id_type->{numbers} + 1000;
	# When the tick of the last ID began, in seconds since 1970.
	my $latest = sub {
		return $node->safe_psql('postgres',
			"SELECT extract(epoch FROM ${name}_timestamp(id)) FROM made ORDER BY nr DESC LIMIT 1");
	};
	my $session = session($node);
	$session->query_safe($insert);

	# in the last tick ---------------------------------------------------------------------------

	my $moment = int(time()) + 20.0005;
	$clock->stand_still($moment);
	my $last = $session->query_safe("SELECT $next");
	for my $seconds (0, 0.001, 0.05, 3600) {
		$clock->stand_still($moment - $seconds);
		for my $who ('the same', 'a new') {
			$who eq 'a new' ? $node->safe_psql('postgres', $few) : $session->query_safe($few);
			is( $node->safe_psql('postgres', <<~"SQL"),
				SELECT count(*),
					bool_and(${name}_timestamp(id) = ${name}_timestamp('$last'::$type))
				FROM (SELECT id FROM made ORDER BY nr DESC LIMIT 5) AS latest
				SQL
				'5|t',
				"after $seconds s back, $who session continues in the last tick");
		}
	}

	$clock->stand_still($moment - 0.05);
	$begin = time();
	my $error = error_of($node, $insert);
	cmp_ok(time() - $begin,
		'>', 0.9, 'when that tick is exhausted a session waits max_clock_wait for the clock');
	like(
		$error,
		qr/ERROR:  58000: the clock is 5\d ms behind the last $name ID/,
		'after that wait the session gets an error');
	$clock->stand_still($moment + 0.001);
	is(error_in($session, $few), '', 'the next tick has IDs');
	$clock->set($moment + 0.1);
	is(error_in($session, $insert), '', 'when the clock moves IDs continue');

	# too far behind -----------------------------------------------------------------------------

	$clock->step(30);
	$session->query_safe($insert);
	$clock->step(29.95);
	is(error_in($session, $insert), '', 'after a step back by 50 ms IDs continue');

	(my $before, $last) = split /\|/,
	  $session->query_safe('SELECT nr, id FROM made ORDER BY nr DESC LIMIT 1');
	$clock->stand_still($latest->() - 10);
	my $limit = qr/DETAIL: .* The wait limit \("flakeid\.max_clock_wait"\) is/;
	like(
		error_of($node, $insert),
		qr/ERROR:  58000: the clock is (?:9\.9|10\.0) s behind the last $name ID\n$limit 1\.0 s\./,
		'after a step back by 10 s there are no IDs, and the error has the limit of waits');
	is( $node->safe_psql(
			'postgres', "SELECT ${name}_timestamp('$last'::$type) > clock_timestamp()"),
		't',
		'IDs of the time to come are decoded');
	like(
		error_in($session, $insert),
		qr/ERROR:  58000: /,
		'the session that generated the last ID gets an error, too');
	$clock->step(30.1);
	is(error_in($session, $insert), '', 'when the clock has caught up there are IDs again');
	is($session->query_safe("SELECT min(id) > '$last'::$type FROM made WHERE nr > $before"),
		't', 'the new IDs are after the former ones');

	reload_with($node, max_clock_wait => '10min');
	my $from = $latest->();
	$clock->stand_still($from - 300);
	# It dies where the session does not wait.
	my $waits = $clock->waits($insert);
	$clock->set($from + 0.1);
	is(($clock->ended($waits))[1], '', 'a session waits for minutes if max_clock_wait allows it');

	reload_with($node, max_clock_wait => '0');
	$clock->stand_still($latest->() - 7);
	my $behind = qr/ERROR:  58000: the clock is (?:6\.9|7\.0) s behind the last $name ID\n/;
	like(
		error_of($node, $insert),
		qr/$behind$limit 0\.000 ms\./,
		'with max_clock_wait 0 no session waits for the clock, and the error has the limit 0');
	$clock->step(30.2);
	is(error_in($session, $insert), '', 'with max_clock_wait 0 a session waits for the next tick');

	$clock->step(365 * 86_400);
	cmp_ok($clock->time_of_server, '>', time() + 364 * 86_400, 'the clock is a year ahead');
	$clock->step(30.3);
	is(error_in($session, $insert),
		'', 'a clock that is set right before a session asks for IDs changes nothing');

	is($node->safe_psql('postgres', <<~'SQL'), '0|0', 'no ID repeats, and those of a session rise');
		SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
		FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before
			FROM made) AS made
		SQL
	$session->quit;
	$node->stop;
	return;
}
