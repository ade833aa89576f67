# Generator IDs and the sequence of sno change by a reload: they are in force from the next
# transaction on, in sessions that stay, too. A number that is too large for an ID type is an error
# for that one.
use strict;
use warnings;
use lib 'tests/perl';

use Ledger;
use Server;
use Test::More;

my $node = flakeid_server('generator_ids');
$node->safe_psql('postgres', 'CREATE TABLE made (nr serial, session text, id bigint)');

# sessions that stay -----------------------------------------------------------------------------

my @sessions = map { session($node) } 1 .. 3;
for my $ids ('0-7', '8-15', '31', '0-7', '3,9,27', '8-15', '0-7') {
	reload_with($node, generator_ids => $ids);
	my $owned = $node->safe_psql('postgres', "SELECT flakeid_identity() -> 'generator_ids'");
	for my $session (@sessions) {
		$session->query_safe(<<~'SQL');
			INSERT INTO made (session, id)
			SELECT pg_backend_pid(), flake_next() FROM generate_series(1, 1000)
			SQL
		is($session->query_safe(<<~"SQL"), 't', "after a reload a session generates from '$ids'");
			SELECT bool_and('$owned'::jsonb \@> to_jsonb((flake_decode(id)).worker)) FROM (
				SELECT id FROM made WHERE session = pg_backend_pid()::text
				ORDER BY nr DESC LIMIT 1000) AS latest
			SQL
	}
}
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before) FROM (
		SELECT id, lag(id) OVER (PARTITION BY session ORDER BY nr) AS before FROM made) AS made
	SQL
	'0|0',
	'no ID of other generator IDs repeats, and those of a session rise');

my $session = $sessions[0];
$session->query_safe('BEGIN');
for my $id ('3', '9') {
	reload_with($node, generator_ids => $id);
	is( $session->query_safe(
			<<~'SQL'), "$id|$id", "a transaction that has IDs continues with '$id'");
		SELECT DISTINCT (flake_decode(flake_next())).worker, (sno_decode(sno_next())).partition
		FROM generate_series(1, 100)
		SQL
}
$session->query_safe('COMMIT');

# too large for an ID type -----------------------------------------------------------------------

reload_with($node, generator_ids => '1024');
my $large = qr/ERROR:  22023: generator ID 1024 is too large for flake\n/;
$large = qr/${large}DETAIL:  A flake has generator IDs from 0 to 1023\./;
like(error_of($node, "SELECT $_"), $large, "generator ID 1024 is too large for $_")
  for 'flake_next()', "flake_at('2026-01-01')";
is($node->safe_psql('postgres', 'SELECT (sno_decode(sno_next())).partition'),
	'1024', 'sno uses generator ID 1024');
is($node->safe_psql('postgres', 'SELECT (uniqueid_decode(uniqueid_next())).generator_id'),
	'1024', 'uniqueid uses generator ID 1024');
reload_with($node, generator_ids => '2047');
is($session->query_safe(<<~'SQL'), '2047|2047', 'uniqueid uses generator ID 2047');
	SELECT (uniqueid_decode(uniqueid_next())).generator_id,
		(uniqueid_decode(uniqueid_next('spread'))).generator_id
	SQL

my $limit = 'DETAIL:  A uniqueid has generator IDs from 0 to 2047\.';
my $too_large = qr/ERROR:  22023: generator ID (\d+) is too large for uniqueid\n$limit\n/;
$too_large = qr/${too_large}HINT:  .*"flakeid\.generator_ids"/;
for my $ids ('2048', '2040-2050', '0-6,65535') {
	reload_with($node, generator_ids => $ids);
	my ($largest) = $ids =~ /(\d+)$/;
	for my $ask (
		'uniqueid_next()', "uniqueid_next('spread')",
		'uniqueid_next_batch(1)', "uniqueid_at('2026-01-01', 0)")
	{
		my $error = error_in($session, "SELECT $ask");
		my ($named) = $error =~ /$too_large/;
		ok(defined $named && $named > 2047 && $named <= $largest,
			"with generator IDs '$ids' $ask is an error with one, the limit and the setting")
		  or diag($error);
	}
	is(error_in($session, "SELECT $_"), '', "with generator IDs '$ids' there is $_")
	  for 'sno_next()', 'flake128_next()', 'guid_next()', 'guid_local_next()';
}
reload_with($node, generator_ids => '65535');
is($session->query_safe('SELECT (sno_decode(sno_next())).partition'),
	'65535', 'sno uses generator ID 65535');
is(error_of($node, "SELECT $_->{next}"), '', "$_->{name} needs no generator ID")
  for @WITHOUT_GENERATOR_IDS;

# few numbers ------------------------------------------------------------------------------------

# One generator ID has 4,096 flakes a millisecond: 200,000 take 48 of them.
reload_with($node, generator_ids => '5');
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT count(DISTINCT id), string_agg(DISTINCT worker::text, ','),
		max(created_at) - min(created_at) >= '48 ms'
	FROM (SELECT flake_next() AS id FROM generate_series(1, 200000)) AS made, flake_decode(id)
	SQL
	'200000|5|t',
	'one generator ID generates 200,000 IDs in a statement, as fast as their format allows');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM flake_next_batch(100000) AS id'),
	'100000', 'one generator ID generates 100,000 IDs in a batch');

reload_with($node, sno_sequence => '100-103');
is( $node->safe_psql('postgres', <<~'SQL'),
	SELECT count(DISTINCT id), min(sequence), max(sequence),
		max(created_at) - min(created_at) >= '96 ms'
	FROM (SELECT sno_next() AS id FROM generate_series(1, 100)) AS made, sno_decode(id)
	SQL
	'100|100|103|t',
	'sno keeps to its part of the sequence, and waits for the next tick when that is exhausted');
is($session->query_safe(<<~'SQL'), '100|103', 'a batch of a session that stays keeps to it, too');
	SELECT min(sequence), max(sequence)
	FROM sno_next_batch(20) AS made (made), sno_decode(made)
	SQL
is($node->safe_psql('postgres', <<~'SQL'), '100|103|4', 'sno_at keeps to that part, too');
	SELECT min(sequence), max(sequence), count(*)
	FROM generate_series(0, 3) AS n, sno_decode(sno_at('2026-01-01', 0, n))
	SQL
$_->quit for @sessions;

# too many generator IDs -------------------------------------------------------------------------

my $error;
# Every generator ID keeps its place in shared memory until the server ends: there are 1,024.
for my $first ((map { 2000 + 64 * $_ } 0 .. 14), 10_000) {
	reload_with($node, generator_ids => $first . '-' . ($first + 63));
	$error = error_of($node, 'SELECT sno_next()');
	last if $error;
}
like(
	$error,
	qr/ERROR:  54000: too many generator IDs since the server started/,
	'more than 1,024 generator IDs since the start of the server are an error');
reload_with($node, generator_ids => '0-7');
is($node->safe_psql('postgres', <<~'SQL'), 't', 'generator IDs that have a place stay usable');
	SELECT bool_and((flake_decode(flake_next())).worker BETWEEN 0 AND 7)
	FROM generate_series(1, 1000)
	SQL

$node->stop;
done_testing();
