# postgres_fdw: which server makes the IDs of a foreign table's rows, which conditions on their time
# go to the other server, and a table whose partitions, by ID, are here and there.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

chomp(my $folder = `pg_config --sharedir`);
if (!-e "$folder/extension/postgres_fdw.control") {
	chomp(my $version = `pg_config --version`);
	pass("this $version has no postgres_fdw");
	done_testing();
	exit;
}

# Both are on one host, which has one MAC address. A flake's time is counted from 2020.
my $epoch = q{'2020-01-01 00:00+00'};
my ($here, $there) = map { PostgreSQL::Test::Cluster->new($_) } 'here', 'there';
my %generator_ids = (here => '0-7', there => '8-15');
for my $node ($here, $there) {
	my ($name, $ids) = ($node->name, $generator_ids{ $node->name });
	my $interface = $name eq 'here' ? '02:00:00:00:00:01' : '02:00:00:00:00:02';
	$node->init;
	$node->append_conf('postgresql.conf', <<"END");
shared_preload_libraries = 'flakeid'
flakeid.generator_ids = '$ids'
flakeid.interface = '$interface'
flakeid.epoch = '2020-01-01'
autovacuum = off
enable_seqscan = off
enable_bitmapscan = off
END
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
}

# Sessions that stay: the foreign tables of a new one would connect to the other server again.
my ($session_here, $session_there) = map { session($_) } $here, $there;
sub here  { return $session_here->query_safe($_[0]); }
sub there { return $session_there->query_safe($_[0]); }

# The first server is told nothing of flakeid, the second that both ends have the same.
my $address = sprintf q{host '%s', port '%s', dbname 'postgres'}, $there->host, $there->port;
here(<<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($address);
CREATE SERVER told FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($address, extensions 'flakeid', use_remote_estimate 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER plain;
CREATE USER MAPPING FOR CURRENT_USER SERVER told;
SQL

# Where a field of an ID tells of its server, which one. Of a uuidv7 random bits alone differ.
my @types = (
	{
		name => 'flake',
		type => 'bigint',
		next => 'flake_next()',
		within => 'flake_within(id, %s)',
		whose => 'datacenter * 32 + worker'
	},
	{
		name => 'sno',
		type => 'sno',
		next => 'sno_next(7)',
		within => 'id <@ %s',
		whose => 'partition'
	},
	{
		name => 'flake128',
		type => 'flake128',
		next => 'flake128_next()',
		within => 'id <@ %s',
		whose => 'trunc(worker)'
	},
	{
		name => 'guid',
		type => 'guid',
		next => 'guid_next()',
		within => 'guid_within(id, %s)',
		whose => 'node'
	},
	{
		name => 'guid_local',
		type => 'guid_local',
		next => 'guid_local_next()',
		within => 'guid_local_within(id, %s)'
	},
	{
		name => 'uniqueid',
		type => 'uniqueid',
		next => 'uniqueid_next()',
		within => 'id <@ %s',
		whose => 'generator_id'
	},
	{
		name => 'uuidv7',
		type => 'uuid',
		next => 'uuidv7_next()',
		within => 'uuidv7_within(id, %s)',
		at_once => 1
	},);
my @names = map { $_->{name} } @types;

# Those of a condition that go there, as they are written then; empty where none does.
sub sent {
	my ($query) = @_;
	my $plan = here("EXPLAIN (VERBOSE, COSTS OFF) $query");
	return join "\n", map { /WHERE (.*)/ ? $1 : '' } $plan =~ /Remote SQL: (.*)/g;
}

# whose IDs they are ---------------------------------------------------------------------------------------------------

for my $type (@types) {
	my ($name, $id_type, $next) = @{$type}{ 'name', 'type', 'next' };
	there("CREATE TABLE ${name}s (id $id_type DEFAULT $next PRIMARY KEY, line text)");
	here(<<"SQL");
CREATE FOREIGN TABLE ${name}s (id $id_type DEFAULT $next, line text) SERVER plain;
CREATE FOREIGN TABLE told_${name}s (id $id_type DEFAULT $next, line text) SERVER told OPTIONS (table_name '${name}s');
CREATE FOREIGN TABLE bare_${name}s (id $id_type, line text) SERVER plain OPTIONS (table_name '${name}s');
CREATE FOREIGN TABLE ${name}s_lines (line text) SERVER plain OPTIONS (table_name '${name}s');
SQL

	# At once from both sides; a guid_local has no node, so two servers are to make them one after
	# the other.
	my @sides = map {
		[
			$_->connstr('postgres'),
			"INSERT INTO ${name}s (line) SELECT '" . $_->name . "' FROM generate_series(1, 2000)"
		]
	} $here, $there;
	my @groups = $type->{whose} || $type->{at_once} ? (\@sides) : map { [$_] } @sides;
	my $failed = 0;
	for my $group (@groups) {
		# They all wait with their first row, and so go on together.
		my $barrier = session($there);
		$barrier->query_safe("BEGIN; LOCK TABLE ${name}s IN SHARE MODE");
		my @runs = map {
			IPC::Run::start(
				[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $_->[0], '-c', $_->[1] ],
				IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
		} @$group;
		my $waiting =
		  "SELECT count(*) = @{[ scalar @$group ]} FROM pg_locks WHERE relation = '${name}s'::regclass AND NOT granted";
		$there->poll_query_until('postgres', $waiting) or die 'the sessions do not wait';
		$barrier->query_safe('COMMIT');
		$barrier->quit;
		$failed += grep { !$_->finish } @runs;
	}
	is($failed, 0, "$name: rows come from here and from there");
	is(there("SELECT count(*), count(DISTINCT id) FROM ${name}s"),
		'4000|4000', '... with distinct IDs');
	here("INSERT INTO ${name}s_lines SELECT 'there' FROM generate_series(1, 1000)");
	if ($type->{whose}) {
		# Settings say which generator IDs are of a server; of the others it makes some.
		my $mine =
		  "SELECT DISTINCT $type->{whose} FROM (SELECT $next AS id FROM generate_series(1, 10000)) AS made, ${name}_decode(id)";
		my %owns =
		  $name =~ /^(?:flake|sno|uniqueid)$/
		  ? (here => [ 0 .. 7 ], there => [ 8 .. 15 ])
		  : (here => [ split /\n/, here($mine) ], there => [ split /\n/, there($mine) ]);
		for my $line ('here', 'there') {
			my %own = map { $_ => 1 } @{ $owns{$line} };
			my @whose = split /\n/,
			  there(
				"SELECT DISTINCT $type->{whose} FROM ${name}s, ${name}_decode(id) WHERE line = '$line'"
			  );
			is( (grep { !$own{$_} } @whose),
				0,
				$line eq 'here'
				? "... where the foreign table has the default, the IDs are of the server that evaluates it, here"
				: '... where the row is made there, or the foreign table lacks the column, of that there'
			);
		}
	}
	# postgres_fdw sends NULL for a column that has no default here.
	like(
		error_in($session_here, "INSERT INTO bare_${name}s (line) VALUES ('bare')"),
		qr/23502: null value in column "id" of relation "${name}s"/,
		'... a foreign table with the column and without the default makes none');
	is( here("SELECT md5(string_agg(id::text || line, ' ' ORDER BY id)), count(*) FROM ${name}s"),
		there("SELECT md5(string_agg(id::text || line, ' ' ORDER BY id)), count(*) FROM ${name}s"),
		'... here are read the same as there');
	is( here(
			"WITH new AS (INSERT INTO ${name}s (line) VALUES ('x'), ('y') RETURNING id), changed AS (UPDATE ${name}s SET line = 'z' WHERE id = (SELECT id FROM told_${name}s ORDER BY id DESC LIMIT 1) RETURNING id)"
			  . " SELECT count(DISTINCT new.id), (SELECT count(*) FROM changed) FROM new"),
		'2|1',
		'... RETURNING brings them');
	is( here(
			"PREPARE gone_$name ($id_type) AS DELETE FROM ${name}s WHERE id = \$1 RETURNING line;"
			  . " SELECT format('EXECUTE gone_$name (%L)', id) FROM ${name}s WHERE line = 'x' ORDER BY id DESC LIMIT 1 \\gexec"
		),
		'x',
		"$name: an ID finds its row there");
}

# which conditions go there ----------------------------------------------------------------------------------------------

my $month = q{tstzrange('2026-01-01 00:00+00', '2026-02-01 00:00+00')};
for my $type (@types) {
	my ($name, $id_type) = @{$type}{ 'name', 'type' };
	there(
		"INSERT INTO ${name}s SELECT ${name}_at(t), 'old' FROM generate_series(timestamptz '2025-12-01 00:00:00.5+00', '2026-03-01', '1 hour') AS t"
	);
	my $within = sprintf $type->{within}, $month;
	my $range =
	  qr/\(id OPERATOR\(public\.>=\) '\S+'\)\) AND \(\(id OPERATOR\(public\.<=\) '\S+'\)|\(id >= \d+::bigint\)\) AND \(\(id <= \d+::bigint\)|\(id >= '\S+'\)\) AND \(\(id <= '\S+'\)/;
	if ($name eq 'uuidv7') {
		like(sent("SELECT line FROM ${name}s WHERE $within"),
			qr/^\($range\)$/,
			'uuidv7: any server is asked for a range of UUIDs, since PostgreSQL compares them');
	}
	else {
		is(sent("SELECT line FROM ${name}s WHERE $within"),
			'', "$name: a server that is told nothing of flakeid is not asked for a month");
	}
	is(here("SELECT count(*) FROM ${name}s WHERE $within"),
		'744', '... all rows come, and are looked at here');

	if ($name eq 'flake') {
		is(sent("SELECT line FROM told_flakes WHERE $within"), '',
			'... nor one that is told, since without an epoch it is for this server\'s setting to say which IDs these are'
		);
		$within = "flake_within(id, $month, $epoch)";
		like(
			sent("SELECT line FROM flakes WHERE $within"),
			qr/^\(\(id >= \d+::bigint\)\) AND \(\(id <= \d+::bigint\)\)$/,
			'... with an epoch any server is asked');
	}
	my $query = "SELECT line FROM told_${name}s WHERE $within";
	like(sent($query), $range, '... one that is told is asked for a range of IDs');
	is(here($query =~ s/line/count(*)/r), '744', '... and finds the same');
	my ($remote) = here("EXPLAIN (VERBOSE, COSTS OFF) $query") =~ /Remote SQL: (.*)/;
	like(
		there("BEGIN; SET LOCAL search_path = pg_catalog; EXPLAIN (COSTS OFF) $remote; COMMIT"),
		qr/Index Scan using ${name}s_pkey.*Index Cond: \(\(id .*>=.* AND \(id .*<=/s,
		'... by its index');
	like(
		here(
			"EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM told_${name}s WHERE $within ORDER BY id DESC LIMIT 10"
		),
		qr/\A(?!.*Sort).*Remote SQL: .* ORDER BY id DESC/s,
		'... the newest ten, without sorting here');

	# What is not the same at all times is reckoned here.
	my $after = $name eq 'flake' ? "id >= flake_min(%s, $epoch)" : "id >= ${name}_min(%s)";
	my $recent = sprintf $after, q{now() - interval '1 hour'};
	is(sent("SELECT line FROM told_${name}s WHERE $recent"), '', '... now() does not go there');
	like(
		sent(
			"SELECT line FROM told_${name}s WHERE " . sprintf $after,
			q{(SELECT now() - interval '1 hour')}),
		qr/>=\)? (?:public\.)?${name}_min\(\$1::timestamp with time zone/,
		'... but as a subselect it does') if $name ne 'flake';
	is(here("SELECT count(*) FROM told_${name}s WHERE line <> 'old' AND $recent"),
		'5001', '... and finds what is made lately');
}

# A column of type flake is sent as the bigint for which PostgreSQL takes it.
there(
	'CREATE TABLE typed (id flake DEFAULT flake_next() PRIMARY KEY, line text); INSERT INTO typed SELECT nr, nr FROM generate_series(1, 1000) AS nr'
);
here(q(CREATE FOREIGN TABLE typed (id flake, line text) SERVER told OPTIONS (table_name 'typed')));
for my $sent (
	[ q(id = '5'), qr/id = 5::bigint/, 1 ],
	[ 'id = 5', qr/id = 5/, 1 ],
	[ q(id IN ('5', '6')), qr/id = ANY \('\{5,6\}'::bigint\[\]\)/, 2 ],
	[
		q(id > '5' AND id < '2000000000000000000'),
		qr/id > 5::bigint.* AND .*id < 2000000000000000000::bigint/,
		995
	],
	[
		"flake_within(id, '[2026-01-01,2026-02-01)', $epoch)",
		qr/id >= \d+::bigint.* AND .*id <= \d+::bigint/,
		0
	])
{
	my ($condition, $remote, $count) = @$sent;
	like(sent("SELECT line FROM typed WHERE $condition"),
		$remote, "the condition $condition of a column of type flake is sent");
	is(here("SELECT count(*) FROM typed WHERE $condition"),
		$count, "the condition $condition finds the rows there");
}
is(sent('SELECT line FROM typed WHERE id >= now()'),
	'', 'a time that is compared with a flake is not sent, since it depends on a setting');

# partitions here and there ------------------------------------------------------------------------------------------------

for my $type (@types) {
	my ($name, $id_type, $next) = @{$type}{ 'name', 'type', 'next' };
	my $bound = "${name}_min('2026-01-01 00:00+00')";
	there("CREATE TABLE ${name}_old (id $id_type PRIMARY KEY, line text)");
	here(<<"SQL");
CREATE TABLE ${name}_all (id $id_type DEFAULT $next, line text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE ${name}_old PARTITION OF ${name}_all FOR VALUES FROM (MINVALUE) TO ($bound) SERVER told;
CREATE TABLE ${name}_new PARTITION OF ${name}_all (PRIMARY KEY (id)) FOR VALUES FROM ($bound) TO (MAXVALUE);
INSERT INTO ${name}_all (line) SELECT 'new' FROM generate_series(1, 100);
INSERT INTO ${name}_all SELECT ${name}_at(t), 'old' FROM generate_series(timestamptz '2025-12-01 00:00:00.5+00', '2025-12-31', '6 hours') AS t;
SQL
	is(there("SELECT count(*) FROM ${name}_old WHERE line = 'old'"),
		'120', "$name: rows of last year's IDs go there");
	is(here("SELECT count(*) FROM ${name}_new WHERE line = 'new'"),
		'100', '... the new ones stay here');
	my $december = sprintf $type->{within},
	  q{tstzrange('2025-12-01 00:00+00', '2025-12-31 12:00+00')};
	my $lately = sprintf $type->{within},
	  q{tstzrange(now() - interval '1 hour', now() + interval '1 hour')};
	unlike(
		here(
			"EXPLAIN (VERBOSE, COSTS OFF, ANALYZE, TIMING OFF) SELECT line FROM ${name}_all WHERE $lately"
		),
		qr/Remote SQL/,
		'... a query for the last hour does not go there');
	is(here("SELECT count(*) FROM ${name}_all WHERE $lately"), '100', '... and finds all');
	my $plan =
	  here("EXPLAIN (COSTS OFF, ANALYZE, TIMING OFF) SELECT line FROM ${name}_all WHERE $december");
	like($plan, qr/Foreign Scan on ${name}_old/, '... a query for last year\'s rows goes there');
	unlike($plan, qr/Scan.* on ${name}_new.*\((?!never)/, '... and nowhere else');
	is(here("SELECT count(*) FROM ${name}_all WHERE $december"), '120', '... and finds all');

	is( here(
			"UPDATE ${name}_all SET line = line || '!' WHERE $december; SELECT count(*) FROM ${name}_all WHERE line LIKE '%!'"
		),
		'120',
		'... UPDATE goes there');
	is(there("SELECT count(*) FROM ${name}_old WHERE line = 'old!'"), '120', '... to all rows');
	my $first = here("SELECT id FROM ${name}_new ORDER BY id LIMIT 1");
	is( here(
			"UPDATE ${name}_all SET id = ${name}_at('2025-06-01 00:00+00'), line = 'moved' WHERE id = '$first' RETURNING tableoid::regclass"
		),
		"${name}_old",
		'... a row that gets an earlier ID moves there');
	is(there("SELECT count(*) FROM ${name}_old WHERE line = 'moved'"), '1', '... and is there');
	is( here(
			"WITH gone AS (DELETE FROM ${name}_all WHERE $december RETURNING id) SELECT count(*) FROM gone"
		),
		'120',
		'... DELETE goes there');
	is(there("SELECT count(*) FROM ${name}_old"), '1', '... and leaves the others');
	here(
		"INSERT INTO ${name}_all SELECT ${name}_at(t), 'old' FROM generate_series(timestamptz '2025-12-01 00:00:00.5+00', '2025-12-31', '6 hours') AS t"
	);
	my $ordered = here("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM ${name}_all ORDER BY id");
	unlike($ordered, qr/Sort/, '... ORDER BY takes the partitions in their order, without sorting');
	like($ordered, qr/ORDER BY id ASC/, '... each in its own');
	is( here(
			"SELECT count(*), bool_and(id > before IS NOT false) FROM (SELECT id, lag(id) OVER () AS before FROM (SELECT id FROM ${name}_all ORDER BY id) AS sorted) AS pairs"
		),
		'220|t',
		'... and they come so');
	is( here(
			"SELECT count(*) FROM (SELECT id FROM ${name}_all ORDER BY id DESC LIMIT 99) AS latest WHERE "
			  . $lately),
		'99',
		'... the latest ones first, from here');
}

# another epoch ----------------------------------------------------------------------------------------------------------

# The number of a flake is the same on both servers, its time is what each of them counts from.
my $id = here('SELECT max(id) FROM flakes');
is( there("SELECT flake_timestamp($id)"),
	here("SELECT flake_timestamp($id)"),
	'where both have one epoch, a flake has one time');
reload_with($there, epoch => 'unix');
is( there("SELECT flake_timestamp($id)"),
	here("SELECT flake_timestamp($id) - interval '18262 days'"),
	'where the epoch there is fifty years earlier, so is the time of the same flake there');
is( there("SELECT flake_timestamp($id, $epoch)"),
	here("SELECT flake_timestamp($id)"),
	'... but not with the epoch as an argument');
is(here("SELECT count(*) FROM told_flakes WHERE flake_within(id, $month)"),
	'744', '... and this server asks by its own epoch: it looks at the IDs itself');
is(here("SELECT count(*) FROM told_flakes WHERE flake_within(id, $month, $epoch)"),
	'744', '... or sends the numbers');

$_->quit for $session_here, $session_there;
$_->stop for $here, $there;
done_testing();
