# docs/monitoring does what docs/monitoring.md says: the real exporter, as a role that only has pg_monitor, gives
# every metric of its queries with what the views say, on a primary, a standby, and where generator IDs are leased;
# each alert fires in its case and not in those that look alike; alerts and dashboard ask for metrics that there
# are; and the page's SQL runs.
use strict;
use warnings;
use lib 'tests/perl';

use CPAN::Meta::YAML;
use Etcd;
use Leases qw(lease_becomes wait_for_lease);
use FakedClock;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use Ledger;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time sleep);

my $docs = 'docs/monitoring';

# Where scripts/setup puts what it fetches, or where Debian does.
sub program {
	my ($name) = @_;
	my @caches = grep { defined } $ENV{FLAKEID_CACHE},
	  ($ENV{XDG_CACHE_HOME} // (getpwuid $<)[7] . '/.cache') . '/flakeid',
	  '/var/cache/flakeid';
	my ($path) = grep { -x } map { "$_/$name" } (map { "$_/prometheus-12/usr/bin" } @caches),
	  split /:/, $ENV{PATH};
	return $path // die "$name is missing; scripts/setup 15 tests installs it\n";
}
my ($promtool, $exporter) = map { program($_) } 'promtool', 'prometheus-postgres-exporter';

# what the files say -----------------------------------------------------------------------------------------

# By the name of each metric: its type, and the labels that it has besides the exporter's.
my (%type, %labels);
my $queries =
  { map { %{ CPAN::Meta::YAML->read("$docs/$_.yaml")->[0] } } 'postgres_exporter', 'consumers' };
for my $query (sort keys %$queries) {
	my %usage = map { my ($column) = keys %$_; ($column => $_->{$column}{usage}) }
	  @{ $queries->{$query}{metrics} };
	my @labels = grep { $usage{$_} eq 'LABEL' } sort keys %usage;
	for my $column (grep { $usage{$_} ne 'LABEL' } keys %usage) {
		$type{"${query}_$column"} = lc $usage{$column};
		$labels{"${query}_$column"} = "@labels";
	}
}

my $alerts = CPAN::Meta::YAML->read("$docs/alerts.yaml")->[0]{groups}[0]{rules};
my $dashboard = JSON::PP->new->decode(slurp_file("$docs/grafana.json"));
my @panels = @{ $dashboard->{panels} };
my %asked = (
	'alerts.yaml' => [ map { $_->{expr} } @$alerts ],
	'grafana.json' => [ map { $_->{expr} } map { @{ $_->{targets} } } @panels ]);
push @{ $asked{'grafana.json'} },
  map { $_->{definition} // () } @{ $dashboard->{templating}{list} };

# The page's SQL, and the block that sets a server up to be watched.
my $page = slurp_file('docs/monitoring.md');
my @blocks = $page =~ /^```sql\n(.*?)^```$/msg;
my ($setup) = grep { /CREATE ROLE/ } @blocks;
my ($grants) = grep { /ON consumers\.lag/ } @blocks;

# the rules --------------------------------------------------------------------------------------------------

sub promtool {
	my ($test, @arguments) = @_;
	my $output = '';
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(
		IPC::Run::run([ $promtool, @arguments ], '<', '/dev/null', '>', \$output, '2>', \$output),
		$test)
	  || diag($output);
}

promtool('promtool takes the alerts', 'check', 'rules', "$docs/alerts.yaml");
promtool('... each fires in its case, and is quiet in those that look alike',
	'test', 'rules', "$docs/alerts_test.yaml");
my $tested = slurp_file("$docs/alerts_test.yaml");
for my $alert (@$alerts) {
	ok( $tested =~
		  /labels: 'ALERTS\{alertname="\Q$alert->{alert}\E", alertstate="firing", severity="\Q$alert->{labels}{severity}\E"/,
		"... $alert->{alert} has a case in which it fires");
	is(join(' ', grep { !$alert->{annotations}{$_} } 'summary', 'description'),
		'', '... and says what there is and what to do');
}

# the dashboard ----------------------------------------------------------------------------------------------

my %variables = map { $_->{name} => $_ } @{ $dashboard->{templating}{list} };
is($variables{datasource}{type},
	'datasource', 'a user that imports the dashboard chooses the data source');
cmp_ok($dashboard->{schemaVersion}, '>=', 38, '... in a Grafana of version 10 or later');
is( join(' ',
		grep { $_->{datasource}{uid} ne '${datasource}' } @panels,
		(map { @{ $_->{targets} } } @panels),
		$variables{instance}),
	'',
	'... and all of it uses that one');
my %places;
$places{"$_->{gridPos}{x} $_->{gridPos}{y}"}++ for @panels;
is(join(' ', grep { $places{$_} > 1 } keys %places), '', '... no panel lies on another');
is(scalar(keys %{ { map { $_->{id} => 1 } @panels } }),
	scalar(@panels), '... or has the number of another');
is( join("\n",
		grep { !/\$instance/ }
		map { $_->{expr} =~ s/ and on .*//r } map { @{ $_->{targets} } } @panels),
	'',
	'... and each shows the chosen instances');

# As rules, with what Grafana puts in.
my $rules = PostgreSQL::Test::Utils::tempdir('rules') . '/rules.json';
my @rules = map { { record => 'r', expr => s/\$__rate_interval/5m/gr =~ s/\$instance/.+/gr } }
  map { $_->{expr} } map { @{ $_->{targets} } } @panels;
$rules[$_]{record} = "panel:$_" for 0 .. $#rules;
append_to_file($rules,
	JSON::PP->new->encode({ groups => [ { name => 'panels', rules => \@rules } ] }));
promtool('Prometheus understands what its panels ask', 'check', 'rules', $rules);

# exporters --------------------------------------------------------------------------------------------------

my @lean = (
	'--disable-default-metrics', '--disable-settings-metrics',
	'--no-collector.database', '--no-collector.bgwriter');
my @running;

# An exporter with the queries, which asks a server as this role in this database; where nothing else is said
# nothing but the queries.
sub exporter {
	my ($node, %how) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my ($role, $database) = ($how{role} // 'watcher', $how{database} // 'postgres');
	local $ENV{DATA_SOURCE_NAME} = 'host='
	  . $node->host
	  . ' port='
	  . $node->port
	  . " user=$role dbname=$database sslmode=disable";
	my $log = "$PostgreSQL::Test::Utils::log_path/exporter_$port.log";
	# The kernel kills it when the test is killed.
	my $run = IPC::Run::start(
		[
			'setpriv',
			'--pdeathsig',
			'KILL',
			$exporter,
			"--web.listen-address=127.0.0.1:$port",
			'--extend.query-path=' . ($how{queries} // "$docs/postgres_exporter.yaml"),
			@{ $how{options} // \@lean }
		],
		'<',
		'/dev/null',
		'>', $log, '2>', $log);
	push @running, $run;
	return { port => $port, log => $log, server => $node->host . ':' . $node->port };
}

END {
	my $exit_code = $?;
	$_->kill_kill for @running;
	$? = $exit_code;
}

# What it serves: each series' value by its name and labels, as in `flakeid_ids{id_type="sno"}`, less its label
# `server`; and the types.
sub scrape {
	my ($exporter) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $answer;
	until (
		($answer = HTTP::Tiny->new->get("http://127.0.0.1:$exporter->{port}/metrics"))->{status} !=
		  599)
	{
		die "the exporter does not answer; $exporter->{log} says why" if time() > $until;
		sleep 0.05;
	}
	die "the exporter says $answer->{status}: $answer->{content}" unless $answer->{success};
	my (%value, %served);
	for my $line (split /\n/, $answer->{content}) {
		$served{$1} = $2 if $line =~ /^# TYPE (\w+) (\w+)$/;
		my ($name, undef, $labels, $value) = $line =~ /^(\w+)(\{(.*)\})? (\S+)$/ or next;
		my %labels = ($labels // '') =~ /(\w+)="([^"]*)"/g;
		die "$line has another server"
		  if $name =~ /^flakeid_/ && delete $labels{server} ne $exporter->{server};
		my $key = join ',', map { "$_=\"$labels{$_}\"" } sort keys %labels;
		die "$line repeats" if exists $value{ $name . ($key ? "{$key}" : '') };
		$value{ $name . ($key ? "{$key}" : '') } = $value;
	}
	return (\%value, \%served);
}

# The metrics of a scrape that are of flakeid, each once, but for those that come from anywhere.
sub own {
	my ($value) = @_;
	my %names = map { /^(flakeid_\w+)/ ? ($1 => 1) : () } keys %$value;
	return join ' ', grep {
		!/^flakeid_(?:settings?|sessions|horizon_writes|readiness|watermark|identity|consumer)_/
	} sort keys %names;
}
my ($counted, $leased) = map {
	my $what = $_;
	join ' ', grep { /$what/ } sort keys %type
  } qr/^flakeid_(?!etcd|settings?|sessions|horizon_writes|readiness|watermark|identity|consumer)/,
  qr/^flakeid_etcd/;

# The ID types that the server can generate, and those that it cannot; with a star those that it has generated.
sub ready {
	my ($value) = @_;
	my %types;
	for my $series (grep { /^flakeid_readiness_ready\{/ } sort keys %$value) {
		my ($id_type, $used) = $series =~ /id_type="(\w+)",used="(\w+)"/;
		push @{ $types{ $value->{$series} } }, $id_type . ($used eq 'yes' ? '*' : '');
	}
	return join '; ', map { "$_: @{$types{$_}}" } sort keys %types;
}

# What the server says that it owns.
sub identity {
	my ($value) = @_;
	my @owned = grep { /^flakeid_identity_owned\{/ } sort keys %$value;
	die 'an identity is not 1' if grep { $value->{$_} != 1 } @owned;
	return join ', ', map { join ' ', /kind="([^"]*)",leased="(\w+)",number="([^"]*)"/ } @owned;
}

# What the server's functions say of the same.
sub identity_of {
	my ($node) = @_;
	my ($worker, $guid_node) = split /\|/,
	  $node->safe_psql('postgres',
		"SELECT flakeid_identity() -> 'flake128' ->> 'worker', flakeid_identity() -> 'guid' ->> 'node'"
	  );
	return "flake128 worker no $worker, generator ID %s, guid node no $guid_node";
}

# Every metric that was served, with its type and the names of its labels.
my %seen;

sub note_seen {
	my ($value, $served) = @_;
	for my $series (keys %$value) {
		my ($name, $labels) = $series =~ /^(flakeid_\w+)(.*)/ or next;
		$seen{$name}{ $served->{$name} . ' ' . join ' ', $labels =~ /(\w+)=/g } = 1;
	}
	return $value;
}

# a server whose clock can be set ------------------------------------------------------------------------------

my $clock =
  FakedClock->new('watched', "flakeid.generator_ids = '3'\nflakeid.horizon_lead = '10min'\n");
my $node = $clock->node;
$clock->start;
$node->safe_psql('postgres', 'CREATE DATABASE bare');
$node->safe_psql('postgres', "CREATE ROLE nobody LOGIN; $setup");
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");
my $watcher = exporter($node);

my $began = time();
my $value = note_seen(scrape($watcher));
is(own($value), '', 'before the first ID there is nothing to see');
is("$value->{pg_up} $value->{pg_exporter_last_scrape_error}", '1 0', '... and no error');
is($value->{flakeid_setting_horizon_lead_seconds}, 600, '... the settings are there');
is("$value->{flakeid_horizon_writes_total} $value->{flakeid_horizon_writes_failed_total}",
	'0 0', '... and writes of the horizon are counted');
is("$value->{flakeid_watermark_lag_seconds} $value->{flakeid_watermark_holders}",
	'0 0', '... and nobody holds the watermark back');
is( ready($value),
	'1: flake flake128 guid sno uniqueid uuidv7',
	'the exporter says that the server can generate IDs of all types');

$node->safe_psql('postgres', "SELECT count($_->{next}) FROM generate_series(1, 100)") for @ID_TYPES;
# More than a tick has, while the clock stands still.
$clock->stand_still(int(time()) + 5.0005);
like(error_of($node, 'SELECT count(*) FROM flake_next_batch(5000)'),
	qr/58000/, 'a tick is exhausted');
$clock->step(6);
# A session that has ended may still have to count what it prefetched.
$node->poll_query_until('postgres',
	"SELECT bool_and(ids = CASE id_type WHEN 'flake' THEN 4196 ELSE 100 END) FROM (SELECT id_type, sum(ids) AS ids FROM pg_stat_flakeid GROUP BY 1) AS counted"
) or die 'not all IDs are counted';
$value = note_seen(scrape($watcher));
is(own($value), $counted, 'when IDs were made every metric is there but those of a lease');
is(identity($value), sprintf(identity_of($node), 'no 3'), '... and what the server owns');
is( ready($value),
	'1: flake* flake128* guid* sno* uniqueid* uuidv7*',
	'the exporter says that the server has generated all types');
for my $id_type (map { $_->{name} } @ID_TYPES) {
	my @columns = ('ids', 'ticks_exhausted', 'spills', 'waits', 'clock_steps_back', 'tick_tocks');
	my $view = $node->safe_psql('postgres',
			'SELECT '
		  . join(', ', map { "sum($_)" } @columns)
		  . ", extract(epoch FROM sum(wait_time))::float8 FROM pg_stat_flakeid WHERE id_type = '$id_type'"
	);
	is( join(
			'|',
			(   map { $value->{"flakeid_${_}{id_type=\"$id_type\"}"} } 'ids',
				map { "${_}_total" } @columns[ 1 .. $#columns ]),
			0 + $value->{"flakeid_wait_seconds_total{id_type=\"$id_type\"}"}),
		$view,
		"... with what the view counts of $id_type");
	my $least = $id_type eq 'flake' ? 100 + 4096 : 100;
	my $ids = $value->{"flakeid_ids{id_type=\"$id_type\"}"};
	is($ids, $least, "... which is those $least IDs");
	my $lead = $value->{"flakeid_gate_lead_seconds{id_type=\"$id_type\"}"};
	ok($lead > 0 && $lead <= 600, '... and the gate is ahead by no more than the setting says')
	  or diag($lead);
}
cmp_ok($value->{'flakeid_ticks_exhausted_total{id_type="flake"}'},
	'>=', 1, 'a batch larger than a tick uses it up');
cmp_ok($value->{'flakeid_waits_total{id_type="flake"}'}, '>=', 1, '... and waits');
cmp_ok($value->{'flakeid_wait_seconds_total{id_type="flake"}'}, '>=', 1, '... as long as it may');
cmp_ok($value->{flakeid_horizon_write_seconds}, '>', 0, 'the horizon took some time to write');
my $written = $value->{flakeid_horizon_written_timestamp_seconds};
ok($written > $began && $written < time() + 6, '... since the test began')
  or diag("$began $written");

# The count of IDs never falls: of the IDs that a session has prefetched, only what it hands out is counted.
my $session = session($node);
my @counts = (scrape($watcher))[0]{'flakeid_ids{id_type="sno"}'};
for my $n (40, 3, 1) {
	$session->query_safe("SELECT count(sno_next()) FROM generate_series(1, $n)");
	push @counts, (scrape($watcher))[0]{'flakeid_ids{id_type="sno"}'};
}
$session->quit;
$node->poll_query_until('postgres',
	"SELECT sum(ids) = $counts[0] + 44 FROM pg_stat_flakeid WHERE id_type = 'sno'")
  or die 'not all are counted';
push @counts, (scrape($watcher))[0]{'flakeid_ids{id_type="sno"}'};
is( "@counts",
	join(' ', sort { $a <=> $b } @counts),
	'the count of IDs never falls, also when a session ends');
is($counts[-1], $counts[0] + 44, '... and then it is exact');
is((scrape($watcher))[1]{flakeid_ids}, 'counter', '... so Prometheus is told that it is a counter');
is((scrape($watcher))[0]{flakeid_horizon_writes_failed_total},
	0, 'no write of the horizon has failed');

# A transaction that has generated an ID holds the watermark back until it ends.
$session = session($node);
$session->query_safe('BEGIN; SELECT flake_next()');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.1)');
($value) = scrape($watcher);
is($value->{flakeid_watermark_holders}, 1, 'a transaction with an ID holds the watermark back');
cmp_ok($value->{flakeid_watermark_lag_seconds}, '>=', 0.1, '... for as long as it is open');
$session->query_safe('ROLLBACK');
($value) = scrape($watcher);
is("$value->{flakeid_watermark_lag_seconds} $value->{flakeid_watermark_holders}",
	'0 0', '... and no longer when it has ended');
$session->quit;

# A clock that had stepped forward, and is set right, is far behind the horizon.
$clock->step(7200);
$node->safe_psql('postgres', 'SELECT flake_next(), sno_next()');
$clock->step(0);
like(error_of($node, 'SELECT flake_next_batch(10000)'),
	qr/58000/, 'when the clock is stepped back by two hours there are no flakes');
$node->safe_psql('postgres', 'SELECT sno_next()');
$value = note_seen(scrape($watcher));
my $lead = $value->{'flakeid_gate_lead_seconds{id_type="flake"}'};
cmp_ok($lead, '>', 6600, '... the gate is far ahead');
is( ready($value),
	'0: flake*; 1: flake128* guid* sno* uniqueid* uuidv7*',
	'the exporter says that the server cannot generate flakes');
cmp_ok(
	$lead,
	'>',
	$value->{flakeid_setting_horizon_lead_seconds} +
	  $value->{flakeid_setting_max_clock_wait_seconds} +
	  2 * $value->{flakeid_horizon_write_seconds},
	'... further than it ever is otherwise');
cmp_ok($value->{'flakeid_gate_lead_seconds{id_type="sno"}'},
	'<=', 600, '... not that of sno, which goes on');
is($value->{'flakeid_clock_steps_back_total{id_type="flake"}'}, 1, '... the step is counted');
is($value->{'flakeid_tick_tocks_total{id_type="sno"}'}, 1, '... and sno\'s turn');
my $largest = $value->{'flakeid_largest_step_back_seconds{id_type="flake"}'};
ok($largest > 6600 && $largest <= 7200, '... and how large it was') or diag($largest);

# A session that waits two hours for the clock is to be seen.
reload_with($node, max_clock_wait => '3h');
my $waits =
  IPC::Run::start([ 'psql', '-XAtc', 'SELECT flake_next() > 0', $node->connstr('postgres') ],
	'>', \my $waited);
if ($version >= 17) {
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	do { ($value) = scrape($watcher) }
	  until $value->{'flakeid_sessions_waiting{wait_event="FlakeidClock"}'} || time() > $until;
	is($value->{'flakeid_sessions_waiting{wait_event="FlakeidClock"}'},
		1, 'a session that waits for the clock is counted');
}
else {
	pass("PostgreSQL $version has no wait events of extensions");
}
($value) = scrape($watcher);
is($value->{flakeid_setting_max_clock_wait_seconds}, 10_800, 'a setting that is changed shows');
$clock->step(7200);
$waits->finish;
is($waited, "t\n", '... and the session goes on when the clock is right');
reload_with($node, max_clock_wait => '1s');

$node->safe_psql('postgres', 'SELECT pg_stat_reset_flakeid()');
$value = note_seen(scrape($watcher));
is(own($value), $counted, 'after a reset every metric is still there');
is( join(' ',
		grep { $value->{$_} != 0 }
		grep { /^flakeid_(?:\w+_total|ids|largest_step_back_seconds)\b/ } keys %$value),
	'',
	'... and all that is counted is zero');

# Who waits for the session that writes the horizon waits for its lock. The clock is past the long lead first.
reload_with($node, horizon_lead => '1ms');
$clock->step(9000);
my $script = PostgreSQL::Test::Utils::tempdir('script') . '/script';
append_to_file($script, "SELECT count(*) FROM flake_next_batch(10000);\n");
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 4, '-T', 3600, '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $error);
my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
do { ($value) = scrape($watcher) }
  until $value->{'flakeid_sessions_waiting{wait_event="flakeid"}'} || time() > $until;
cmp_ok($value->{'flakeid_sessions_waiting{wait_event="flakeid"}'},
	'>', 0, 'sessions that wait for the horizon are counted');
$load->signal('TERM');
$load->finish;

# which database, which role -----------------------------------------------------------------------------------

$value = (scrape(my $bare = exporter($node, database => 'bare')))[0];
is( "$value->{pg_up} $value->{pg_exporter_last_scrape_error}",
	'1 1',
	'where the database has no extension the exporter says that there is an error');
is(own($value), '', '... and has nothing of the views');
like(
	slurp_file($bare->{log}),
	qr/relation \\+"pg_stat_flakeid\\+" does not exist/,
	'... and its log says why');
$value = (scrape(my $nobody = exporter($node, role => 'nobody')))[0];
is("$value->{pg_exporter_last_scrape_error} " . own($value),
	'1 ', 'without pg_monitor it is the same');
like(
	slurp_file($nobody->{log}),
	qr/permission denied for view pg_stat_flakeid/,
	'... and its log says why');

# With all that it has of its own, and in all databases; a series that repeats would be an error.
$value = (scrape(exporter($node, options => ['--auto-discover-databases'])))[0];
is(own($value), $counted,
	'beside the exporter\'s own metrics, and where it goes through all databases, all are there once'
);
cmp_ok(scalar(grep { /^pg_/ } keys %$value), '>', 100, '... and so are its own');
$node->stop;
is((scrape($watcher))[0]{pg_up}, 0, 'of a server that is stopped the exporter says so');

# Before the horizon is written for the first time.
$clock->step(0);
$clock->start;
like(error_of($node, 'SELECT flake_next()'),
	qr/58000/, 'a server that is started with a clock that was stepped back makes no flakes');
($value) = scrape($watcher);
cmp_ok($value->{'flakeid_gate_lead_seconds{id_type="flake"}'},
	'>', 6600, '... and the gate is far ahead');
is($value->{flakeid_horizon_write_seconds}, 0, '... though there was no write yet');
is( ready($value),
	'0: flake* flake128* guid* uniqueid* uuidv7*; 1: sno*',
	'the exporter says that the server can generate snos alone');
$node->stop;

# a lease, and a standby -----------------------------------------------------------------------------------------

my $etcd = Etcd->new('monitoring');
$node = PostgreSQL::Test::Cluster->new('leases');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', $etcd->configuration(generator_ids => 'etcd:2'));
$node->start;
$node->safe_psql('postgres', $setup);
wait_for_lease($node, 2);
$node->safe_psql('postgres', 'SELECT flake_next(), guid_next()');
$watcher = exporter($node);

# What the lease's metrics say, as far as it stays.
sub lease {
	my ($value) = @_;
	my $state = join ' ',
	  map { /^flakeid_etcd_lease_in_state\{state="(\w+)"\}/ && $value->{$_} ? $1 : () }
	  sort keys %$value;
	return join '|', $state, map { $value->{"flakeid_etcd_$_"} // '' } 'generator_ids_wanted',
	  'generator_ids_held', 'lease_losses_total';
}

# Scrapes until the lease is as said; on a busy machine it may be lost now and then. The exporter asks for the state and
# for the generator IDs one after the other, so a scrape counts only if the lease was the same before and after it. Returns
# the values, and the number of losses.
sub scrape_until {
	my ($state) = @_;
	my $lease =
	  "SELECT losses || '|' || state || '|' || generator_ids::text FROM pg_stat_flakeid_lease";
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	for (;;) {
		my $before = $node->safe_psql('postgres', $lease);
		my $value = note_seen(scrape($watcher));
		my $after = $node->safe_psql('postgres', $lease);
		return ($value, $after =~ /\A(\d+)/) if lease($value) =~ /\A$state\|/ && $before eq $after;
		die "the lease is not $state: " . lease($value) if time() > $until;
		sleep 0.1;
	}
}

my $losses;
($value, $losses) = scrape_until('held');
is( own($value),
	join(' ', sort split / /, "$counted $leased"),
	'where generator IDs are leased every metric is there');
is(lease($value), "held|2|2|$losses", '... and says that the lease is held');
my $two = $node->safe_psql('postgres',
	"SELECT string_agg('yes ' || id, ', generator ID ' ORDER BY id::text) FROM pg_stat_flakeid_lease, unnest(generator_ids) AS id"
);
is(identity($value), sprintf(identity_of($node), $two), '... and what the server owns, as leased');
my $remaining = $value->{flakeid_etcd_lease_remaining_seconds};
ok($remaining > 0 && $remaining < 30, '... for a time that is less than its own')
  or diag($remaining);
is($value->{flakeid_setting_etcd_lease_ttl_seconds}, 30, '... which is the setting\'s');

# Consumers of a table, of which one part has something to read.
my $of_consumers = PostgreSQL::Test::Utils::tempdir('consumers') . '/queries.yaml';
append_to_file($of_consumers,
	slurp_file("$docs/postgres_exporter.yaml") . slurp_file("$docs/consumers.yaml"));
$node->safe_psql('postgres',
	"CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next()); INSERT INTO outbox DEFAULT VALUES"
);
$node->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-d', $node->connstr('postgres'), '-f', 'examples/consumers.sql'
	],
	'the consumers are installed');
$node->safe_psql('postgres', "SELECT consumers.set_consumer('mailer', 2)");
$value = (scrape(my $no_grants = exporter($node, queries => $of_consumers)))[0];
is($value->{pg_exporter_last_scrape_error},
	1, 'without the grants of the page the exporter says that there is an error');
like(
	slurp_file($no_grants->{log}),
	qr/permission denied for schema consumers/,
	'the log of the exporter names the schema of the consumers');
$node->safe_psql('postgres', $grants);
$node->poll_query_until('postgres', 'SELECT sum(rows) = 1 FROM consumers.lag')
  or die 'the watermark does not pass the row';
$value = note_seen(scrape(exporter($node, queries => $of_consumers)));
my $part = $node->safe_psql('postgres', 'SELECT part FROM consumers.lag WHERE rows = 1');
is( join(
		' ',
		map {
			$value->{
				"flakeid_consumer_unread_rows{consumer=\"mailer\",part=\"$_\",schema=\"consumers\"}"
			}
		} $part,
		1 - $part),
	'1 0',
	'the exporter says how many rows each part has to process');
cmp_ok(
	$value->{
		"flakeid_consumer_behind_seconds{consumer=\"mailer\",part=\"$part\",schema=\"consumers\"}"},
	'>', 0,
	'the exporter says how old the first of these rows is');

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$value = (scrape(exporter($standby)))[0];
is( "$value->{pg_exporter_last_scrape_error} " . own($value),
	'0 ',
	'a standby has none of them, and that is no error');
is(identity($value), '', '... and owns nothing, though it has the random names of its primary');
is(join(' ', grep { /^flakeid_watermark/ } keys %$value), '', '... and has no watermark');
is(ready($value), '', '... and nobody expects it to generate IDs');
$standby->stop;

$etcd->pause;
lease_becomes($node, "state = 'lost' AND losses > $losses") or die 'the lease is not lost';
($value, $losses) = scrape_until('lost');
like(lease($value), qr/\Alost\|2\|\d\|$losses\z/,
	'when etcd does not answer the lease is lost, which is counted');
is($value->{flakeid_etcd_lease_remaining_seconds}, 'NaN', '... nothing remains of it');
is($value->{'flakeid_gate_lead_seconds{id_type="flake"}'}, 'NaN', '... flakes have no gate');
is( identity($value),
	identity_of($node) =~ s/generator ID %s, //r,
	'... the server owns no generator ID');
isnt($value->{'flakeid_gate_lead_seconds{id_type="guid"}'}, 'NaN', '... guids have');
$etcd->continue;
($value, $losses) = scrape_until('held');
is(lease($value), "held|2|2|$losses", '... and held again when it does');

# all of them ----------------------------------------------------------------------------------------------------

is( join(' ', sort keys %seen),
	join(' ', sort keys %type),
	'every metric of the queries was served, and no other');
is( join(
		"\n",
		map {
			my $name = $_;
			map { "$name $_" } sort keys %{ $seen{$name} }
		} sort keys %seen),
	join("\n", map { "$_ $type{$_} $labels{$_}" } sort keys %type),
	'... with the type and the labels that it is to have');
for my $file (sort keys %asked) {
	my %names = map { $_ => 1 } map { /\b(flakeid_\w+)/g } @{ $asked{$file} };
	cmp_ok(scalar(keys %names), '>=', 10, "$file asks for metrics");
	is(join(' ', grep { !$seen{$_} } sort keys %names), '', '... that there are');
}

# the page -------------------------------------------------------------------------------------------------------

@blocks = grep { $_ ne $setup && $_ ne $grants } @blocks;
cmp_ok(scalar(@blocks), '>=', 3, 'the page has SQL besides what sets a server up');
for my $number (1 .. @blocks) {
	my ($code, $stdout, $stderr) =
	  $node->psql('postgres', $blocks[ $number - 1 ], on_error_stop => 1);
	is($code, 0, "... block $number runs") or diag("$blocks[ $number - 1 ]\n$stderr");
}
is(join(' ', grep { $page !~ /`\Q$_\E`/ } map { $_->{alert} } @$alerts),
	'', '... and a word on each alert');
is(join(' ', grep { !-e "docs/$_" } $page =~ /\]\(((?!http)[^)#]+)/g),
	'', '... and its links lead somewhere');
$node->stop;

done_testing();
