# The exporter serves the metrics of docs/monitoring with what the views of a server say, as a role
# that only has pg_monitor. Here the clock of the server is stepped.
use strict;
use warnings;
use lib 'tests/perl';

use FakedClock;
use IPC::Run;
use Ledger;
use Metrics;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time);

my $clock =
  FakedClock->new('watched', "flakeid.generator_ids = '3'\nflakeid.horizon_lead = '10min'\n");
my $node = $clock->node;
sub sql { return $node->safe_psql('postgres', $_[0]) }
$clock->start;
sql($SET_UP);
my $version = sql("SELECT current_setting('server_version_num')::integer / 10000");
my $watcher = exporter($node);
my @types = map { $_->{name} } @ID_TYPES;

# Waits until sessions wait for an event. Returns how many the exporter counts.
sub waiting {
	my ($event) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $sessions;
	do { $sessions = scrape($watcher)->{"flakeid_sessions_waiting{wait_event=\"$event\"}"} }
	  until $sessions || time() > $until;
	return $sessions;
}

sub watermark {
	my ($value) = @_;
	return join ' ', map { metric($value, "watermark_$_") } @_[ 1, 2 ];
}

my $began = time();
my $value = scrape($watcher);
is(views_in($value), '', 'before the first ID the views have no rows');
is(errors_in($value), '1 0', 'views without rows are no error');
is(metric($value, 'setting_horizon_lead_seconds'), 600, 'the exporter serves settings');
is(join(' ', map { metric($value, "horizon_writes_$_") } 'total', 'failed_total'),
	'0 0', 'the exporter counts writes of the horizon');
is(watermark($value, 'lag_seconds', 'holders'), '0 0', 'no session holds the watermark back');
is(ready($value), "1: @{[ sort @types ]}", 'the server can generate IDs of all types');

subtest 'the exporter serves what the views count' => sub {
	sql("SELECT count($_->{next}) FROM generate_series(1, 100)") for @ID_TYPES;
	$clock->stand_still(int(time()) + 5.0005);
	like(error_of($node, 'SELECT count(*) FROM flake_next_batch(5000)'),
		qr/58000/, 'a batch larger than a tick exhausts it while the clock stands still');
	$clock->step(6);
	# A session that has ended may still have to count what it prefetched.
	$node->poll_query_until('postgres', <<'SQL') or die 'not all IDs are counted';
SELECT bool_and(ids = CASE id_type WHEN 'flake' THEN 4196 ELSE 100 END)
FROM (SELECT id_type, sum(ids) AS ids FROM pg_stat_flakeid GROUP BY 1) AS counted
SQL
	$value = scrape($watcher);
	is(views_in($value), promised(), 'every metric is served except those of a lease');
	is(identity($value), identity_of($node, 'generator ID no 3'), 'the identity is served');
	is( ready($value),
		'1: ' . join(' ', map { "$_*" } sort @types),
		'the server has generated IDs of all types');
	for my $id_type (@types) {
		my @columns = ('ticks_exhausted', 'spills', 'waits', 'clock_steps_back', 'tick_tocks');
		my $sums = join ', ', map { "sum($_)" } 'ids', @columns;
		my $view = sql(<<"SQL");
SELECT $sums, extract(epoch FROM sum(wait_time))::float8 FROM pg_stat_flakeid
WHERE id_type = '$id_type'
SQL
		my @series = map { "${_}_total" } 'ids', @columns, 'wait_seconds';
		is(join('|', map { 0 + metric($value, $_, $id_type) } @series),
			$view, "the counts of $id_type are those of the view");
		my $ids = $id_type eq 'flake' ? 100 + 4096 : 100;
		is(metric($value, 'ids_total', $id_type), $ids, "these are $ids IDs of $id_type");
		my $lead = metric($value, 'gate_lead_seconds', $id_type);
		ok($lead > 0 && $lead <= 600, "the gate of $id_type is ahead by no more than the setting")
		  or diag($lead);
	}
	cmp_ok(metric($value, "${_}_total", 'flake'), '>=', 1, "$_ of flake are counted")
	  for 'ticks_exhausted', 'waits', 'wait_seconds';
	cmp_ok(metric($value, 'horizon_write_seconds'), '>', 0, 'the write of the horizon took time');
	my $written = metric($value, 'horizon_written_timestamp_seconds');
	ok($written > $began && $written < time() + 6, 'the horizon was written during the test')
	  or diag("$began $written");
	is(metric($value, 'horizon_writes_failed_total'), 0, 'no write of the horizon has failed');
};

# Of the IDs that a session has prefetched only those are counted that it hands out.
subtest 'the count of IDs never falls' => sub {
	my $session = session($node);
	my @counts = metric(scrape($watcher), 'ids_total', 'sno');
	for my $n (40, 3, 1) {
		$session->query_safe("SELECT count(sno_next()) FROM generate_series(1, $n)");
		push @counts, metric(scrape($watcher), 'ids_total', 'sno');
	}
	$session->quit;
	$node->poll_query_until('postgres',
		"SELECT sum(ids) = $counts[0] + 44 FROM pg_stat_flakeid WHERE id_type = 'sno'")
	  or die 'not all are counted';
	push @counts, metric(scrape($watcher), 'ids_total', 'sno');
	is("@counts", join(' ', sort { $a <=> $b } @counts), 'each count is at least the one before');
	is($counts[-1], $counts[0] + 44, 'the count is exact when the session has ended');
	is($watcher->{types}{flakeid_ids_total}, 'counter', 'the count is a counter for Prometheus');
};

subtest 'an open transaction with an ID holds the watermark back' => sub {
	my $session = session($node);
	$session->query_safe('BEGIN; SELECT flake_next()');
	sql('SELECT pg_sleep(0.1)');
	$value = scrape($watcher);
	is(metric($value, 'watermark_holders'), 1, 'the transaction is counted');
	cmp_ok(metric($value, 'watermark_lag_seconds'), '>=', 0.1, 'the lag is as long as it is open');
	$session->query_safe('ROLLBACK');
	is(watermark(scrape($watcher), 'lag_seconds', 'holders'), '0 0', 'the lag ends with it');
	$session->quit;
};

subtest 'the clock steps back by two hours' => sub {
	$clock->step(7200);
	sql('SELECT flake_next(), sno_next()');
	$clock->step(0);
	like(error_of($node, 'SELECT flake_next_batch(10000)'), qr/58000/, 'sessions get no flakes');
	sql('SELECT sno_next()');
	$value = scrape($watcher);
	my $lead = metric($value, 'gate_lead_seconds', 'flake');
	cmp_ok($lead, '>', 6600, 'the gate of flake is far ahead');
	my ($horizon, $wait) = map { metric($value, "setting_${_}_seconds") } 'horizon_lead',
	  'max_clock_wait';
	cmp_ok(
		$lead, '>',
		$horizon + $wait + 2 * metric($value, 'horizon_write_seconds'),
		'it is further ahead than while the clock is right');
	is( ready($value),
		'0: flake*; 1: flake128* guid* sno* uniqueid* uuidv7*',
		'the exporter says that the server cannot generate flakes');
	cmp_ok(metric($value, 'gate_lead_seconds', 'sno'), '<=', 600, 'the gate of sno is not');
	is(metric($value, 'clock_steps_back_total', 'flake'), 1, 'the step is counted');
	is(metric($value, 'tick_tocks_total', 'sno'), 1, 'the turn of sno is counted');
	my $largest = metric($value, 'largest_step_back_seconds', 'flake');
	ok($largest > 6600 && $largest <= 7200, 'the size of the step is served') or diag($largest);
};

subtest 'a session waits for the clock' => sub {
	reload_with($node, max_clock_wait => '3h');
	my @command = ('psql', '-XAtc', 'SELECT flake_next() > 0', $node->connstr('postgres'));
	my $waits = IPC::Run::start(\@command, '>', \my $waited);
  SKIP: {
		skip "PostgreSQL $version has no wait events of extensions", 1 if $version < 17;
		is(waiting('FlakeidClock'), 1, 'the exporter counts the session');
	}
	is(metric(scrape($watcher), 'setting_max_clock_wait_seconds'),
		10_800, 'the exporter serves a changed setting');
	$clock->step(7200);
	$waits->finish;
	is($waited, "t\n", 'the session continues when the clock is right');
	reload_with($node, max_clock_wait => '1s');
};

sql('SELECT pg_stat_reset_flakeid()');
$value = scrape($watcher);
is(views_in($value), promised(), 'after a reset every metric is served');
my @counted = grep { /^flakeid_(?:\w+_total|ids|largest_step_back_seconds)\b/ } keys %$value;
is(join(' ', grep { $value->{$_} != 0 } @counted), '', 'after a reset every count is zero');
# A session that waits for the one that writes the horizon waits for its lock.
reload_with($node, horizon_lead => '1ms');
$clock->step(9000);
my $script = PostgreSQL::Test::Utils::tempdir('script') . '/script';
append_to_file($script, "SELECT count(*) FROM flake_next_batch(10000);\n");
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 4, '-T', 3600, '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $error);
cmp_ok(waiting('flakeid'), '>', 0, 'the exporter counts sessions that wait for the horizon');
$load->signal('TERM');
$load->finish;

serves_as_promised(qr/^flakeid_(?!lease|consumer)/,
	'the exporter serves every metric except those of leases and consumers, as promised');
$node->stop;
is(scrape($watcher)->{pg_up}, 0, 'the exporter says that a server is stopped');

# Before the horizon is written for the first time.
$clock->step(0);
$clock->start;
like(error_of($node, 'SELECT flake_next()'),
	qr/58000/, 'a server that starts with a clock that was stepped back generates no flakes');
$value = scrape($watcher);
cmp_ok(metric($value, 'gate_lead_seconds', 'flake'), '>', 6600, 'its gate is far ahead');
is(metric($value, 'horizon_write_seconds'), 0, 'it has not written the horizon');
is( ready($value),
	'0: flake* flake128* guid* uniqueid* uuidv7*; 1: sno*',
	'the exporter says that the server can generate snos alone');
$node->stop;

done_testing();
