# The alerts and the dashboard of docs/monitoring are such that Prometheus and Grafana take them.
# Each alert fires in its case, and not in those that look alike. Both ask for metrics that exist.
use strict;
use warnings;
use lib 'tests/perl';

use CPAN::Meta::YAML;
use IPC::Run;
use JSON::PP;
use Metrics;
use PostgreSQL::Test::Utils;
use Test::More;

my $alerts = CPAN::Meta::YAML->read("$DOCS/alerts.yaml")->[0]{groups}[0]{rules};
my $dashboard = JSON::PP->new->decode(slurp_file("$DOCS/grafana.json"));
my $page = slurp_file('docs/monitoring.md');

sub promtool {
	my ($test, @arguments) = @_;
	my $output = '';
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @command = (program('promtool'), @arguments);
	return ok(IPC::Run::run(\@command, '<', '/dev/null', '>', \$output, '2>', \$output), $test)
	  || diag($output);
}

# alerts ---------------------------------------------------------------------------------------

promtool('promtool takes the alerts', 'check', 'rules', "$DOCS/alerts.yaml");
promtool('each alert fires in its case, and not in those that look alike',
	'test', 'rules', "$DOCS/alerts_test.yaml");
my $tested = slurp_file("$DOCS/alerts_test.yaml");
for my $alert (@$alerts) {
	my ($name, $severity) = ($alert->{alert}, $alert->{labels}{severity});
	my $labels = qq(alertname="$name", alertstate="firing", severity="$severity");
	like($tested, qr/labels: 'ALERTS\{\Q$labels\E/, "$name has a case in which it fires");
	is(join(' ', grep { !$alert->{annotations}{$_} } 'summary', 'description'),
		'', "$name has a summary and a description");
}
is(join(' ', grep { $page !~ /`\Q$_\E`/ } map { $_->{alert} } @$alerts),
	'', 'the page names each alert');

# the dashboard --------------------------------------------------------------------------------

my @panels = @{ $dashboard->{panels} };
my @targets = map { @{ $_->{targets} } } @panels;
my %variables = map { $_->{name} => $_ } @{ $dashboard->{templating}{list} };
is($variables{datasource}{type},
	'datasource', 'a user that imports the dashboard chooses the data source');
cmp_ok($dashboard->{schemaVersion}, '>=', 38, 'the dashboard is for Grafana 10 and later');
my @sources = map { $_->{datasource}{uid} } @panels, @targets, $variables{instance};
is(join(' ', grep { $_ ne '${datasource}' } @sources),
	'', 'all of the dashboard uses the chosen data source');

for ([ 'place', map { "$_->{gridPos}{x} $_->{gridPos}{y}" } @panels ],
	[ 'number', map { $_->{id} } @panels ])
{
	my ($what, @values) = @$_;
	my %values = map { $_ => 1 } @values;
	is(scalar(keys %values), scalar(@panels), "each panel has a $what of its own");
}
is(join("\n", grep { !/\$instance/ } map { $_->{expr} =~ s/ and on .*//r } @targets),
	'', 'each panel shows the chosen instances');

# As rules, with what Grafana puts in.
my $rules = PostgreSQL::Test::Utils::tempdir('rules') . '/rules.json';
my $number = 0;
my @rules = map {
	{
		record => 'panel:' . $number++,
		expr => $_->{expr} =~ s/\$__rate_interval/5m/gr =~ s/\$instance/.+/gr
	}
} @targets;
append_to_file($rules,
	JSON::PP->new->encode({ groups => [ { name => 'panels', rules => \@rules } ] }));
promtool('Prometheus takes the expressions of the panels', 'check', 'rules', $rules);

# metrics --------------------------------------------------------------------------------------

# docs/exporter.pl and docs/exporter_leases.pl show that each promised metric is served.
my %asked = (
	'alerts.yaml' => [ map { $_->{expr} } @$alerts ],
	'grafana.json' => [ map { $_->{expr} // $_->{definition} // () } @targets, values %variables ]);
for my $file (sort keys %asked) {
	my %names = map { $_ => 1 } map { /\b(flakeid_\w+)/g } @{ $asked{$file} };
	cmp_ok(scalar(keys %names), '>=', 10, "$file asks for metrics");
	is(join(' ', grep { !$TYPE{$_} } sort keys %names), '', "the metrics of $file exist");
}

done_testing();
