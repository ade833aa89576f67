# postgres_fdw: which server generates the IDs of a foreign table's rows, and how rows are read and
# changed by them. A flake has another time on a server with another epoch.
use strict;
use warnings;
use lib 'tests/perl';

use ForeignServers;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my ($here, $there) = start_servers();

# Inserts rows on these servers at the same time. All wait with their first row, and so continue
# together. Returns how many failed.
sub insert_at_once {
	my ($name, @nodes) = @_;
	my $barrier = session($there);
	$barrier->query_safe("BEGIN; LOCK TABLE ${name}s IN SHARE MODE");
	my @runs;
	for my $node (@nodes) {
		my $side = $node->name;
		my $insert = "INSERT INTO ${name}s (line) SELECT '$side' FROM generate_series(1, 2000)";
		push @runs,
		  IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
				'-d', $node->connstr('postgres'), '-c', $insert
			],
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	}
	$there->poll_query_until('postgres', <<~"SQL") or die 'the sessions do not wait';
		SELECT count(*) = @{[ scalar @runs ]} FROM pg_locks
		WHERE relation = '${name}s'::regclass AND NOT granted
		SQL
	$barrier->query_safe('COMMIT');
	$barrier->quit;
	return scalar grep { !$_->finish } @runs;
}

for my $id_type (@ID_TYPES) {
	my ($name, $type, $next, $whose) = @$id_type{qw(name type next whose)};
	there("CREATE TABLE ${name}s (id $type DEFAULT $next PRIMARY KEY, line text)");
	here(<<~"SQL");
		CREATE FOREIGN TABLE ${name}s (id $type DEFAULT $next, line text) SERVER plain;
		CREATE FOREIGN TABLE told_${name}s (id $type, line text)
			SERVER told OPTIONS (table_name '${name}s');
		CREATE FOREIGN TABLE bare_${name}s (id $type, line text)
			SERVER plain OPTIONS (table_name '${name}s');
		CREATE FOREIGN TABLE ${name}s_lines (line text)
			SERVER plain OPTIONS (table_name '${name}s');
		SQL
	my $failed = 0;
	$failed += insert_at_once($name, @$_)
	  for $id_type->{at_once} ? [ $here, $there ] : ([$here], [$there]);
	is($failed, 0, "$name: rows come from both servers");
	is(there("SELECT count(*), count(DISTINCT id) FROM ${name}s"),
		'4000|4000', "$name: rows from both servers have distinct IDs");
	here("INSERT INTO ${name}s_lines SELECT 'there' FROM generate_series(1, 1000)");

	if ($whose) {
		# The settings say which generator IDs a server has; its other fields are found by its IDs.
		my $mine = <<~"SQL";
			SELECT DISTINCT $whose
			FROM (SELECT $next AS id FROM generate_series(1, 10000)) AS made, ${name}_decode(id)
			SQL
		my %owns =
		  $name =~ /^(?:flake|sno|uniqueid)$/
		  ? (here => [ 0 .. 7 ], there => [ 8 .. 15 ])
		  : (here => [ split /\n/, here($mine) ], there => [ split /\n/, there($mine) ]);
		my %which = (
			here => 'the default of a foreign table generates IDs of the server that evaluates it',
			there => 'a row without its ID, or of a foreign table without the column,'
			  . ' gets an ID of the other server');
		for my $line ('here', 'there') {
			my %own = map { $_ => 1 } @{ $owns{$line} };
			my @found = split /\n/, there(<<~"SQL");
				SELECT DISTINCT $whose FROM ${name}s, ${name}_decode(id) WHERE line = '$line'
				SQL
			is((grep { !$own{$_} } @found), 0, "$name: $which{$line}");
		}
	}
	# postgres_fdw sends NULL for a column that has no default here.
	like(
		error_here("INSERT INTO bare_${name}s (line) VALUES ('bare')"),
		qr/23502: null value in column "id" of relation "${name}s"/,
		"$name: a foreign table with the column and without the default gets no ID");
	my $all = "SELECT md5(string_agg(id::text || line, ' ' ORDER BY id)), count(*) FROM ${name}s";
	is(here($all), there($all), "$name: both servers read the same IDs");
	is(here(<<~"SQL"), '2|1', "$name: RETURNING brings IDs");
		WITH new AS (INSERT INTO ${name}s (line) VALUES ('x'), ('y') RETURNING id),
		changed AS (
			UPDATE ${name}s SET line = 'z'
			WHERE id = (SELECT id FROM told_${name}s ORDER BY id DESC LIMIT 1) RETURNING id
		)
		SELECT count(DISTINCT new.id), (SELECT count(*) FROM changed) FROM new
		SQL
	is(here(<<~"SQL"), 'x', "$name: an ID finds its row on the other server");
		PREPARE gone_$name ($type) AS DELETE FROM ${name}s WHERE id = \$1 RETURNING line;
		SELECT format('EXECUTE gone_$name (%L)', id) FROM ${name}s
		WHERE line = 'x' ORDER BY id DESC LIMIT 1 \\gexec
		SQL
}

# The number of a flake is the same on both servers. Each reads its time by its own epoch.
there(<<~'SQL');
	INSERT INTO flakes SELECT flake_at(t), 'old'
	FROM generate_series(timestamptz '2025-12-01 00:00:00.5+00', '2026-03-01', '1 hour') AS t
	SQL
my $id = here('SELECT max(id) FROM flakes');
is( there("SELECT flake_timestamp($id)"),
	here("SELECT flake_timestamp($id)"),
	'a flake has the same time on servers with the same epoch');
reload_with($there, epoch => 'unix');
is( there("SELECT flake_timestamp($id)"),
	here("SELECT flake_timestamp($id) - interval '18262 days'"),
	'a flake has an earlier time on a server with an earlier epoch');
is( there("SELECT flake_timestamp($id, $EPOCH)"),
	here("SELECT flake_timestamp($id)"),
	'a flake has the same time on both servers with the epoch as an argument');
is(here("SELECT count(*) FROM told_flakes WHERE flake_within(id, $MONTH)"),
	'744', 'a condition without an epoch uses the epoch of the server that asks');
is(here("SELECT count(*) FROM told_flakes WHERE flake_within(id, $MONTH, $EPOCH)"),
	'744', 'a condition with an epoch is sent as numbers');

stop_servers();
done_testing();
