# The exporter serves the metrics of docs/monitoring for a lease of generator IDs from etcd, for
# consumers of a table, and for a standby, which has none of them. Without the extension in its
# database, or without pg_monitor, it has an error in its log.
#
# This file takes long.
use strict;
use warnings;
use lib 'tests/perl';

use Etcd;
use Leases qw(lease_becomes wait_for_lease wait_until);
use Metrics;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $etcd = Etcd->new('monitoring');
my $node = PostgreSQL::Test::Cluster->new('leases');
sub sql { return $node->safe_psql('postgres', $_[0]) }
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', $etcd->configuration(generator_ids => 'etcd:2'));
# Each exporter keeps its connections.
$node->append_conf('postgresql.conf', 'max_connections = 30');
$node->start;
sql($SET_UP);
wait_for_lease($node, 2);
sql('SELECT flake_next(), guid_next()');
my $watcher = exporter($node);

# What a scrape has of the lease: state, generator IDs wanted and held, losses.
sub lease {
	my ($value) = @_;
	my @states = map { /^flakeid_lease_state_current\{state="(\w+)"\}/ && $value->{$_} ? $1 : () }
	  sort keys %$value;
	return join '|', "@states", map { metric($value, "lease_$_") // '' } 'generator_ids_wanted',
	  'generator_ids_held', 'losses_total';
}

# Scrapes until the lease has this state. On a busy machine a lease may be lost now and then. The
# exporter asks for the state and for the generator IDs one after the other. So a scrape counts only
# if the lease was the same before and after it. Returns the values, and the number of losses.
sub scrape_until {
	my ($state) = @_;
	my $lease =
	  "SELECT losses || '|' || state || '|' || generator_ids::text FROM pg_stat_flakeid_lease";
	my ($value, $after);
	wait_until(
		"the lease is $state",
		sub {
			my $before = sql($lease);
			$value = scrape($watcher);
			$after = sql($lease);
			return lease($value) =~ /\A$state\|/ && $before eq $after;
		});
	return ($value, $after =~ /\A(\d+)/);
}

my ($value, $losses) = scrape_until('held');
is(views_in($value), promised('with a lease'), 'the exporter serves the metrics of a lease');
is(lease($value), "held|2|2|$losses", 'the exporter says that the lease is held');
my $two = sql(<<'SQL');
SELECT string_agg('generator ID yes ' || id, ', ' ORDER BY id::text)
FROM pg_stat_flakeid_lease, unnest(generator_ids) AS id
SQL
is(identity($value), identity_of($node, $two), 'the identity has the generator IDs as leased');
my $remaining = metric($value, 'lease_remaining_seconds');
ok($remaining > 0 && $remaining < 30, 'less than the whole term of the lease remains')
  or diag($remaining);
is(metric($value, 'setting_etcd_lease_ttl_seconds'), 30, 'the exporter serves the setting of it');

subtest 'an exporter in another database, as another role, and in all databases' => sub {
	sql($_) for 'CREATE DATABASE bare', 'CREATE ROLE unprivileged LOGIN';
	for (
		[ database => 'bare', qr/relation \\+"pg_stat_flakeid\\+" does not exist/ ],
		[ role => 'unprivileged', qr/permission denied for view pg_stat_flakeid/ ])
	{
		my ($how, $name, $reason) = @$_;
		my $exporter = exporter($node, $how => $name);
		my $value = scrape($exporter);
		is(errors_in($value), '1 1', "an exporter with the $how $name has an error");
		is(views_in($value), '', "an exporter with the $how $name serves no metric of the views");
		log_says($exporter, $reason, "the log of an exporter with the $how $name has the reason");
	}

	# A series that repeats would be an error.
	$value = scrape(exporter($node, options => ['--auto-discover-databases']));
	is( views_in($value),
		promised('with a lease'),
		'an exporter that goes through all databases serves each metric once');
	cmp_ok(scalar(grep { /^pg_/ } keys %$value), '>', 100, 'it serves its own metrics besides');
};

subtest 'consumers have something to read' => sub {
	my $queries = PostgreSQL::Test::Utils::tempdir('consumers') . '/queries.yaml';
	append_to_file($queries, join '',
		map { slurp_file("$DOCS/$_.yaml") } 'postgres_exporter', 'consumers');
	sql(<<'SQL');
CREATE TABLE outbox (id flake PRIMARY KEY DEFAULT flake_next());
INSERT INTO outbox DEFAULT VALUES;
\i examples/consumers.sql
SELECT consumers.set_consumer('mailer', 2);
SQL
	my $no_grants = exporter($node, queries => $queries);
	is(errors_in(scrape($no_grants)), '1 1', 'without the grants of the page there is an error');
	log_says(
		$no_grants,
		qr/permission denied for schema consumers/,
		'the log of the exporter names the schema of the consumers');
	sql($GRANTS);
	$node->poll_query_until('postgres', 'SELECT sum(rows) = 1 FROM consumers.lag')
	  or die 'the watermark does not pass the row';
	$value = scrape(exporter($node, queries => $queries));
	my $part = sql('SELECT part FROM consumers.lag WHERE rows = 1');
	my $of = sub {
		my ($name, $nr) = @_;
		my $labels = qq(consumer="mailer",part="$nr",schema="consumers");
		return $value->{"flakeid_consumer_$name\{$labels}"};
	};
	is(join(' ', map { $of->('unread_rows', $_) } $part, 1 - $part),
		'1 0', 'the exporter says how many rows each part has to process');
	cmp_ok($of->('behind_seconds', $part),
		'>', 0, 'the exporter says how old the first of these rows is');
};

subtest 'a standby' => sub {
	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->start;
	my $value = scrape(exporter($standby));
	is(errors_in($value), '1 0', 'the queries are no error on a standby');
	is(views_in($value), '', 'a standby has no rows in the views');
	is(identity($value), '', 'a standby owns nothing, though it has the names of its primary');
	is(join(' ', grep { /^flakeid_watermark/ } keys %$value), '', 'a standby has no watermark');
	is(ready($value), '', 'no ID type is ready or not ready on a standby');
	$standby->stop;
};

subtest 'etcd does not answer' => sub {
	$etcd->pause;
	lease_becomes($node, "state = 'lost' AND losses > $losses");
	($value, $losses) = scrape_until('lost');
	like(lease($value), qr/\Alost\|2\|\d\|$losses\z/, 'the loss of the lease is counted');
	is(metric($value, 'lease_remaining_seconds'), 'NaN', 'nothing remains of the lease');
	is(metric($value, 'gate_lead_seconds', 'flake'), 'NaN', 'flake has no gate');
	isnt(metric($value, 'gate_lead_seconds', 'guid'), 'NaN', 'guid has a gate');
	is(identity($value), identity_of($node), 'the server owns no generator ID');
	$etcd->continue;
	($value, $losses) = scrape_until('held');
	is(lease($value), "held|2|2|$losses", 'the lease is held again when etcd answers');
};

serves_as_promised(qr/^flakeid_(?:lease|consumer)/,
	'the exporter serves every metric of leases and consumers, as promised');

cmp_ok(scalar(@SQL), '>=', 3, 'the page has SQL besides what sets a server up');
for my $number (1 .. @SQL) {
	my ($code, $stdout, $stderr) =
	  $node->psql('postgres', $SQL[ $number - 1 ], on_error_stop => 1);
	is($code, 0, "block $number of the page runs") or diag("$SQL[$number - 1]\n$stderr");
}
$node->stop;

done_testing();
