# Many clients that share two sessions of the server through pgbouncer, a transaction at a time: no ID repeats, those
# of a transaction rise, and so do those of each of the server's sessions. A client's next transaction may be in another
# one: its IDs are not of an earlier tick, but within a tick they need not be above those from before. The settings reach
# sessions that are kept for long.
use strict;
use warnings;
use lib 'tests/perl';

use IPC::Run;
use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(sleep time);

# Debian has it where only root's path leads.
my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
if (!$pgbouncer) {
	pass('there is no pgbouncer');
	done_testing();
	exit;
}
my ($major, $minor) = `$pgbouncer --version` =~ /(\d+)\.(\d+)/;

my $node = PostgreSQL::Test::Cluster->new('pooled');
$node->init;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'flakeid'\nflakeid.generator_ids = '8-15'\n");
$node->start;

# The ID type to which each column's IDs belong.
my %column = (
	flake => { type => 'bigint', next => 'flake_next()', id_type => 'flake' },
	sno => { type => 'sno', next => 'sno_next(7)', id_type => 'sno' },
	flake128 => { type => 'flake128', next => 'flake128_next()', id_type => 'flake128' },
	guid => { type => 'guid', next => 'guid_next()', id_type => 'guid' },
	guid_local => { type => 'guid_local', next => 'guid_local_next()', id_type => 'guid_local' },
	uniqueid => { type => 'uniqueid', next => 'uniqueid_next()', id_type => 'uniqueid' },
	uuidv7 => { type => 'uuid', next => 'uuidv7_next()', id_type => 'uuidv7' },
	spread => { type => 'uniqueid', next => q{uniqueid_next('spread')}, id_type => 'uniqueid' },);
my @columns = sort keys %column;
my @rising = grep { $_ ne 'spread' } @columns;

# `nr` tells in which order a client, a transaction and a session of the server got their rows.
$node->safe_psql('postgres',
	'CREATE EXTENSION flakeid; CREATE TABLE ids (nr bigserial, run text, client integer, session integer DEFAULT pg_backend_pid(),'
	  . ' transaction xid8 DEFAULT pg_current_xact_id(), '
	  . join(', ', map { "$_ $column{$_}{type} DEFAULT $column{$_}{next}" } @columns)
	  . ')');

# the pooler -----------------------------------------------------------------------------------------------------------

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my ($user) = getpwuid $<;
append_to_file("$dir/pgbouncer.ini", <<"END");
[databases]
postgres = host=@{[ $node->host ]} port=@{[ $node->port ]} dbname=postgres user=$user

[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $dir
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
ignore_startup_parameters = extra_float_digits,options
logfile = $dir/log
query_wait_timeout = 0
server_connect_timeout = 600
server_login_retry = 1
client_login_timeout = 600
END
# From 1.21 on it knows which session has prepared what.
my $prepares = $major > 1 || $minor >= 21;
append_to_file("$dir/pgbouncer.ini", "max_prepared_statements = 100\n") if $prepares;

my $output = '';
my $pooler =
  IPC::Run::start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ], '<', \undef, '>&', \$output);

END {
	local $?;
	$pooler->kill_kill if $pooler && $pooler->pumpable;
}
my $socket = "$dir/.s.PGSQL.$port";
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
# The socket's file is there before it listens.
while (!IO::Socket::UNIX->new(Peer => $socket)) {
	die "pgbouncer does not run: $output" if time() > $until || !$pooler->pumpable;
	sleep 0.02;
}
my $pooled = "host=$dir port=$port dbname=postgres user=$user";

# What a client of the pooler gets for a statement.
sub through {
	my ($sql) = @_;
	my ($given, $error) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $pooled, '-c', $sql ],
		'<', \undef, '>', \$given, '2>', \$error)
	  or die "through pgbouncer: $error";
	chomp $given;
	return $given;
}

# Twenty clients with so many transactions each, of three statements of five rows.
my ($clients, $transactions) = (20, 15);
my $rows = $clients * $transactions * 15;

sub crowd {
	my ($run, $mode) = @_;
	my $script = "$dir/$run.sql";
	my $insert =
	  "INSERT INTO ids (run, client) SELECT '$run', :client_id FROM generate_series(1, 5);\n";
	append_to_file($script, "BEGIN;\n" . $insert x 3 . "END;\n") unless -e $script;
	my ($given, $error) = ('', '');
	my $done = IPC::Run::run(
		[
			'pgbench', '--no-vacuum', '-c', $clients, '-j', 2,
			'-t', $transactions, '-M', $mode, '-f', $script,
			$pooled
		],
		'<',
		\undef,
		'>',
		\$given,
		'2>',
		\$error);
	ok($done, "$run: $clients clients insert rows through two sessions of the server")
	  or diag($error);
	return;
}

# How many of a run's IDs are not above the one before, in the order of each of these.
sub not_above {
	my ($run, $of, $ids) = @_;
	return $node->safe_psql(
		'postgres',
		'SELECT '
		  . join(', ', map { "count(*) FILTER (WHERE NOT $_)" } @rising)
		  . ' FROM (SELECT '
		  . join(', ',
			map { my $id = sprintf $ids, ($column{$_}{id_type}, $_) x 2; "$id AS $_" } @rising)
		  . " FROM ids WHERE run = '$run' WINDOW before AS (PARTITION BY $of ORDER BY nr)) AS steps"
	);
}
my $none = join '|', (0) x @rising;

# Two clients that are in a transaction at the same time make the pooler open both sessions of the server.
my $barrier = session($node);
$barrier->query_safe('SELECT pg_advisory_lock(1)');
my @both = map {
	IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $pooled, '-c', 'SELECT pg_advisory_xact_lock_shared(1)' ],
		'<', \undef, '>', '/dev/null')
} 1 .. 2;
$node->poll_query_until('postgres',
	"SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  or die 'the pooler does not open two sessions';
$barrier->quit;
$_->finish or die 'a client of the pooler failed' for @both;

for my $mode ('simple', 'extended', $prepares ? 'prepared' : ()) {
	# The pooler's choice of a session is chance: the crowd comes again until a client was in both.
	my ($times, $in_both) = (
		0,
		"SELECT count(*) FROM (SELECT FROM ids WHERE run = '$mode' GROUP BY client HAVING count(DISTINCT session) = 2) AS clients"
	);
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	do {
		crowd($mode, $mode);
		$times++;
	} until $node->safe_psql('postgres', $in_both) || time() > $until;
	is( $node->safe_psql(
			'postgres',
			'SELECT count(*), '
			  . join(', ', map { "count(DISTINCT $_)" } @columns)
			  . " FROM ids WHERE run = '$mode'"),
		join('|', ($times * $rows) x (1 + @columns)),
		'... with defaults of all types, and no ID repeats');
	is( $node->safe_psql('postgres', "SELECT count(DISTINCT session) FROM ids WHERE run = '$mode'"),
		'2',
		'... there were two');
	is( $node->safe_psql(
			'postgres',
			"SELECT bool_or(sessions = 2), max(transactions) FROM (SELECT count(DISTINCT session) AS sessions,"
			  . " count(DISTINCT transaction) AS transactions FROM ids WHERE run = '$mode' GROUP BY client) AS clients"
		),
		't|' . $times * $transactions,
		'... and a client was now in this, now in that');
	my $above = '%2$s > lag(%2$s) OVER before';
	is(not_above($mode, 'transaction', $above), $none, '... within a transaction IDs rise');
	is(not_above($mode, 'session', $above),
		$none, '... within a session of the server IDs rise, over all clients');
	is( not_above($mode, 'client', '%1$s_timestamp(%2$s) >= lag(%1$s_timestamp(%2$s)) OVER before'),
		$none,
		'... from one transaction of a client to his next the tick does not go back');
}
pass("pgbouncer $major.$minor knows no prepared statements") unless $prepares;

# the watermark --------------------------------------------------------------------------------------------------------

# A reader that also goes through the pooler takes the rows of the crowd in the order of their IDs. Its offset is in a
# table, as its statements are now in this session and now in that.
$node->safe_psql('postgres',
	'CREATE TABLE offsets (last bigint); INSERT INTO offsets SELECT max(flake) FROM ids; CREATE TABLE got (flake bigint)'
);
my $read =
  'WITH rows AS (SELECT flake FROM ids WHERE flake > (SELECT last FROM offsets) AND flake_before(flake, flakeid_watermark())),'
  . ' moved AS (UPDATE offsets SET last = coalesce((SELECT max(flake) FROM rows), last))'
  . ' INSERT INTO got SELECT flake FROM rows';
my $crowd = IPC::Run::start(
	[
		'pgbench', '--no-vacuum', '-c', $clients, '-j', 2,
		'-t', $transactions, '-f', "$dir/simple.sql", $pooled
	],
	'<',
	\undef,
	'>',
	\my $given,
	'2>',
	\my $error);
my $reads = 0;
while ($crowd->pumpable) {
	$crowd->pump_nb;
	through($read);
	$reads++;
}
ok($crowd->finish, "a crowd inserts rows while a client of the pooler reads ($reads times)")
  or diag($error);
my $newest = $node->safe_psql('postgres', 'SELECT flake_timestamp(max(flake)) FROM ids');
$node->poll_query_until('postgres', "SELECT flakeid_watermark() > '$newest'")
  or die 'the watermark does not advance';
through($read);
is( $node->safe_psql(
		'postgres',
		"SELECT (SELECT count(*) FROM got), (SELECT count(*) FROM (SELECT flake FROM ids WHERE nr > (SELECT max(nr) FROM ids) - $rows"
		  . ' EXCEPT SELECT flake FROM got) AS missed)'),
	"$rows|0",
	'... and it gets each row of the crowd once, through the sessions that writers use');

# settings ---------------------------------------------------------------------------------------------------------------

my $sessions = "SELECT string_agg(DISTINCT session::text, ' ') FROM ids WHERE run = '%s'";
my $before = $node->safe_psql('postgres', sprintf $sessions, $prepares ? 'prepared' : 'extended');
my $owned =
  q{SELECT count(*) FILTER (WHERE NOT datacenter * 32 + worker <@ '%1$s'::int4range), count(*) FILTER (WHERE NOT partition <@ '%1$s'::int4range),}
  . q{ count(*) FILTER (WHERE NOT uniqueid_decode.generator_id <@ '%1$s'::int4range)}
  . q{ FROM ids, flake_decode(flake), sno_decode(sno), uniqueid_decode(uniqueid) WHERE run = '%2$s'};
is($node->safe_psql('postgres', sprintf $owned, '[8,15]', 'simple'),
	'0|0|0', 'the IDs are of the generator IDs that the server owns');
reload_with($node, generator_ids => '40-47');
crowd('reloaded', 'simple');
is($node->safe_psql('postgres', sprintf $sessions, 'reloaded'),
	$before, '... in the sessions that were there before the settings were changed');
is($node->safe_psql('postgres', sprintf $owned, '[40,47]', 'reloaded'),
	'0|0|0', '... all IDs are of those that it owns now');

# sessions that end ----------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres',
	"SELECT pg_terminate_backend(pid, 60000) FROM unnest(string_to_array('$before', ' ')::integer[]) AS pid"
);
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = ANY (string_to_array('$before', ' ')::integer[])"
) or die 'the sessions do not end';
crowd('others', 'simple');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM ids WHERE run = 'others' AND session = ANY (string_to_array('$before', ' ')::integer[])"
	),
	'0',
	'... when they were ended, it goes on in others');
is( through('SELECT ' . join(', ', map { "count(DISTINCT $_) = count(*)" } @columns) . ' FROM ids'),
	join('|', ('t') x @columns),
	'... and of all IDs of all of them none repeats');

$pooler->signal('INT');
$pooler->finish;
$node->stop;
done_testing();
