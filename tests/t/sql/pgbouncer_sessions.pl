# Sessions that pgbouncer keeps for long: a client reads up to the watermark through the sessions of
# the writers, new settings reach these sessions, and others follow when they end.
use strict;
use warnings;
use lib 'tests/perl';

use Pooler;
use Server;
use Test::More;

my $node = start_pooler('pgbouncer_sessions');
sub sql { return $node->safe_psql('postgres', @_) }
inserts_rows('first');

# Tests that all IDs of a run are of generator IDs in this range.
sub is_owned {
	my ($run, $range, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sql(<<~"SQL"), 't|t|t', $test);
		SELECT bool_and(datacenter * 32 + worker <@ int4range '$range'),
			bool_and(partition <@ int4range '$range'),
			bool_and(uniqueid_decode.generator_id <@ int4range '$range')
		FROM ids, flake_decode(flake), sno_decode(sno), uniqueid_decode(uniqueid)
		WHERE run = '$run'
		SQL
}

sub sessions_of {
	my (@runs) = @_;
	my $runs = join ',', @runs;
	return sql(<<~"SQL");
		SELECT string_agg(DISTINCT session::text, ',') FROM ids WHERE run = ANY ('{$runs}')
		SQL
}

# A reader takes the rows of the crowd in the order of their IDs. Its offset is in a table, as its
# statements are in either session.
sql(<<~'SQL');
	CREATE TABLE offsets AS SELECT max(flake) AS last FROM ids;
	CREATE TABLE got (flake bigint);
	SQL
my $read = <<'SQL';
WITH rows AS (
	SELECT flake FROM ids
	WHERE flake > (SELECT last FROM offsets) AND flake_before(flake, flakeid_watermark())
), moved AS (UPDATE offsets SET last = coalesce((SELECT max(flake) FROM rows), last))
INSERT INTO got SELECT flake FROM rows
SQL
my $crowd = begin_crowd('read');
# A call after the clients have ended dies.
through($read) while eval { $crowd->pump_nb };
ok($crowd->finish, 'twenty clients insert rows while another client of the pooler reads');
my $newest = sql('SELECT flake_timestamp(max(flake)) FROM ids');
$node->poll_query_until('postgres', "SELECT flakeid_watermark() > '$newest'")
  or die 'the watermark does not advance';
through($read);
is(sql(<<~'SQL'), '4500|0', 'the reader gets each row once through the sessions of the writers');
	SELECT (SELECT count(*) FROM got), (SELECT count(*) FROM (
		SELECT flake FROM ids WHERE run = 'read' EXCEPT SELECT flake FROM got) AS missed)
	SQL

is_owned('first', '[8,15]', 'the IDs are of the generator IDs that the server owns');
my $sessions = sessions_of('first', 'read');
reload_with($node, generator_ids => '40-47');
inserts_rows('reloaded');
is(sessions_of('reloaded'), $sessions, 'the sessions are those from before the change of settings');
is_owned('reloaded', '[40,47]', 'after a reload all IDs are of the new generator IDs');

my $pids = "'{$sessions}'::integer[]";
sql("SELECT pg_terminate_backend(pid, 60000) FROM unnest($pids) AS pid");
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = ANY ($pids)")
  or die 'the sessions do not end';
inserts_rows('others');
is(sql("SELECT count(*) FROM ids WHERE run = 'others' AND session = ANY ($pids)"),
	'0', 'clients continue in other sessions when theirs end');
my @columns = sort keys %COLUMNS;
is( through('SELECT ' . join(', ', map { "count(DISTINCT $_) = count(*)" } @columns) . ' FROM ids'),
	join('|', ('t') x @columns),
	'no ID of all sessions repeats');

stop_pooler();
done_testing();
