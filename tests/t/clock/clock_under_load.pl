# Four sessions of every ID type ask for IDs without a pause, while the clock is stepped back and
# forth, from less than a tick to a year, and stands still: no ID repeats, and the only error is
# that the clock is behind. Each step waits until every session has met the one before.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $clock = FakedClock->new('load', <<'END');
flakeid.generator_ids = '0-3'
flakeid.max_clock_wait = '50ms'
log_statement = none
autovacuum = off
END
my $node = $clock->node;
$clock->start;
my %type = map { $_->{name} => $_->{type} } @ID_TYPES;
my @id_types = map { $_->{name} } @ID_TYPES;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE over ();');
$node->safe_psql('postgres', <<"SQL") for @id_types;
CREATE TABLE ${_}_made (nr bigserial, session integer, id $type{$_});
CREATE TABLE ${_}_errors (state text);
SELECT ${_}_next();
SQL

# A sequence of a session counts its rounds, as others see it at once. The first round is number 1.
my @counters = map {
	my $id_type = $_;
	map { "${id_type}_rounds_$_" } 1 .. 4
} @id_types;
$node->safe_psql('postgres', join '', map { "CREATE SEQUENCE $_; " } @counters);

# Returns the number of the round in which each session is. The session that looks stays, as a new
# one would take long beside all that work.
my $watch = session($node);

sub rounds {
	return split /\|/,
	  $watch->query_safe(
		'SELECT '
		  . join(', ',
			map { "(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM $_)" } @counters));
}

# Waits until every session has begun this number of further rounds. When it has begun two it has
# been through a whole one.
sub wait_for_rounds {
	my ($more) = @_;
	my @enough = map { $_ + $more } rounds();
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	for (;;) {
		my @now = rounds();
		return unless grep { $now[$_] < $enough[$_] } 0 .. $#now;
		die 'not every session continues' if time() > $until;
		sleep 0.01;
	}
}

# What a session does until it is over: one by one, and in sets. A variable keeps what it was given
# before an error. After an error it counts for a while, as pg_sleep would take a clock that is
# stepped back to heart.
sub work {
	my ($id_type, $number) = @_;
	return <<"SQL";
DO \$\$
DECLARE
	given $type{$id_type}\[];
	errors text[] = '{}';
BEGIN
	WHILE NOT EXISTS (SELECT FROM over) LOOP
		PERFORM nextval('${id_type}_rounds_$number');
		given = '{}';
		BEGIN
			FOR i IN 1 .. 20 LOOP
				given = given || ${id_type}_next();
			END LOOP;
			given = given || (SELECT array_agg(id) FROM ${id_type}_next_batch(20) AS id);
		EXCEPTION WHEN OTHERS THEN
			IF NOT SQLSTATE = ANY (errors) THEN
				errors = errors || SQLSTATE;
				INSERT INTO ${id_type}_errors VALUES (SQLSTATE);
			END IF;
			PERFORM count(*) FROM generate_series(1, 20000);
		END;
		INSERT INTO ${id_type}_made (session, id)
			SELECT pg_backend_pid(), id FROM unnest(given) AS id;
	END LOOP;
END
\$\$
SQL
}

# So far ahead that the other timeline is free for all that comes.
my $ahead = 10_000;
$clock->step($ahead);
# None begins before all are there. Else the first make most of the rows while the last are started.
$watch->query_safe('SELECT pg_advisory_lock(1)');
my @runs = map {
	my $id_type = $_;
	map {
		IPC::Run::start(
			[
				'psql', '-XAtq',
				'-v', 'ON_ERROR_STOP=1',
				'-d', $node->connstr('postgres'),
				'-c', 'SELECT pg_advisory_lock_shared(1)',
				'-c', work($id_type, $_)
			],
			'>',
			'/dev/null',
			IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default))
	} 1 .. 4
} @id_types;
$node->poll_query_until('postgres',
	'SELECT count(*) = ' . @runs . " FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  or die 'not every session is there';
$watch->query_safe('SELECT pg_advisory_unlock(1)');
# Each round has 40 IDs as long as the clock is right.
wait_for_rounds(33);

# Steps of the clock, in seconds; undef: it stands still for a while.
my $year = 365 * 86_400;
my @steps = (
	-0.0005, -0.002, -0.0035, 0.006, -0.05, -0.05, 0.2, -10, -5, 16,
	undef, -3600, -60, 3700, undef, $year, -$year, 1);
my ($offset, $back) = ($ahead, 0);
for my $step (@steps) {
	if (!defined $step) {
		# The time until it stands still is a step back.
		$back++;
		$clock->stand_still(time() + $offset);
		wait_for_rounds(2);
		$clock->step($offset);
		next;
	}
	$offset += $step;
	$back++ if $step < 0;
	$clock->step($offset);
	wait_for_rounds(2);
}
$node->safe_psql('postgres', 'INSERT INTO over DEFAULT VALUES');
is((grep { !$_->finish } @runs),
	0, 'all sessions continued while the clock was stepped and stood still');

for my $id_type (@id_types) {
	my ($made, $sessions, $twice, $falls) = split /\|/, $node->safe_psql('postgres', <<~"SQL");
		SELECT count(*), count(DISTINCT session), count(*) - count(DISTINCT id), max(falls)
		FROM (SELECT *, count(*) FILTER (WHERE id <= before) OVER (PARTITION BY session) AS falls
			FROM (SELECT *, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before
				FROM ${id_type}_made) AS made) AS made
		SQL
	cmp_ok($made, '>', 5_000, "sessions generate more than 5,000 $id_type IDs");
	is($sessions, 4, "four sessions generate $id_type IDs");
	is($twice, 0, "no $id_type ID repeats");
	if ($id_type eq 'sno') {
		# A step back can lead to another generator ID's last tick, and then to the other timeline.
		cmp_ok($falls, '<=', 2 * $back, 'sno IDs rise in every session, but for the steps back');
		is( $node->safe_psql(
				'postgres',
				"SELECT string_agg(DISTINCT (sno_decode(id)).tick_tock::text, '') FROM sno_made"),
			'01',
			'the steps back lead into the other timeline');
	}
	else {
		is($falls, 0, "$id_type IDs rise strictly in every session");
	}
	like(
		$node->safe_psql(
			'postgres', "SELECT string_agg(DISTINCT state, ' ') FROM ${id_type}_errors"),
		qr/^(?:58000)?$/,
		"the only error of $id_type is that the clock is behind");
}

$watch->quit;
$node->stop;
done_testing();
