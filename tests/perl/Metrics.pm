# The metrics of docs/monitoring: what its queries promise, and what a real postgres_exporter
# serves.
package Metrics;

use strict;
use warnings;

use CPAN::Meta::YAML;
use Clients  qw(@CACHES);
use Exporter qw(import);
use HTTP::Tiny;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server qw(wait_until);
use Test::More;

our @EXPORT = qw($DOCS %TYPE @SQL $SET_UP $GRANTS program exporter scrape metric views_in
  promised errors_in log_says ready identity identity_of serves_as_promised);

our $DOCS = 'docs/monitoring';

# The type of each metric of the queries, and the labels that it has besides the exporter's.
our (%TYPE, %LABELS);
for my $file ('postgres_exporter', 'consumers') {
	my $queries = CPAN::Meta::YAML->read("$DOCS/$file.yaml")->[0];
	for my $query (sort keys %$queries) {
		my %usage = map { my ($column) = keys %$_; ($column => $_->{$column}{usage}) }
		  @{ $queries->{$query}{metrics} };
		my @labels = grep { $usage{$_} eq 'LABEL' } sort keys %usage;
		for my $column (grep { $usage{$_} ne 'LABEL' } keys %usage) {
			$TYPE{"${query}_$column"} = lc $usage{$column};
			$LABELS{"${query}_$column"} = "@labels";
		}
	}
}

# The SQL of the page: what sets a server up, what allows to read consumers, and the other blocks.
my @blocks = slurp_file('docs/monitoring.md') =~ /^```sql\n(.*?)^```$/msg;
our ($SET_UP) = grep { /CREATE ROLE/ } @blocks;
our ($GRANTS) = grep { /ON consumers\.lag/ } @blocks;
our @SQL = grep { $_ ne $SET_UP && $_ ne $GRANTS } @blocks;

# Returns the path of a program, which scripts/setup has put into the cache, or which Debian has.
sub program {
	my ($name) = @_;
	my ($path) = grep { -x } map { "$_/$name" } (map { "$_/prometheus-12/usr/bin" } @CACHES),
	  split /:/, $ENV{PATH};
	return $path // die "$name is missing; scripts/setup 15 tests installs it\n";
}

my @running;
my @lean = (
	'--disable-default-metrics', '--disable-settings-metrics',
	'--no-collector.database', '--no-collector.bgwriter');

# Starts an exporter with the queries, which asks a server. By default it connects as "watcher" to
# the database postgres, and asks nothing but the queries.
sub exporter {
	my ($node, %how) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my ($role, $database) = ($how{role} // 'watcher', $how{database} // 'postgres');
	my ($host, $server_port) = ($node->host, $node->port);
	local $ENV{DATA_SOURCE_NAME} =
	  "host=$host port=$server_port user=$role dbname=$database sslmode=disable";
	my $log = "$PostgreSQL::Test::Utils::log_path/exporter_$port.log";
	# The kernel kills it when the test is killed.
	my @command = (
		'setpriv',
		'--pdeathsig',
		'KILL',
		program('prometheus-postgres-exporter'),
		"--web.listen-address=127.0.0.1:$port",
		'--extend.query-path=' . ($how{queries} // "$DOCS/postgres_exporter.yaml"),
		@{ $how{options} // \@lean });
	push @running, IPC::Run::start(\@command, '<', '/dev/null', '>', $log, '2>', $log);
	return { port => $port, log => $log, server => "$host:$server_port" };
}

END {
	my $exit_code = $?;
	$_->kill_kill for @running;
	$? = $exit_code;
}

# Each metric that was served, with its type and the names of its labels.
my %seen;

# Returns what an exporter serves: the value of each series by its name and labels, without the
# label of the server. The exporter's `types` has the types of the metrics.
sub scrape {
	my ($exporter) = @_;
	my $url = "http://127.0.0.1:$exporter->{port}/metrics";
	my $answer;
	wait_until("the exporter answers; $exporter->{log} says why not",
		sub { ($answer = HTTP::Tiny->new->get($url))->{status} != 599 }, 0.05);
	die "the exporter says $answer->{status}: $answer->{content}" unless $answer->{success};
	my (%value, %types);
	for my $line (split /\n/, $answer->{content}) {
		$types{$1} = $2 if $line =~ /^# TYPE (\w+) (\w+)$/;
		my ($name, undef, $labels, $value) = $line =~ /^(\w+)(\{(.*)\})? (\S+)$/ or next;
		my %labels = ($labels // '') =~ /(\w+)="([^"]*)"/g;
		my $is_own = $name =~ /^flakeid_/;
		die "$line has another server" if $is_own && delete $labels{server} ne $exporter->{server};
		$seen{$name}{ join ' ', $types{$name}, sort keys %labels } = 1 if $is_own;
		my $key = join ',', map { "$_=\"$labels{$_}\"" } sort keys %labels;
		my $series = $name . ($key ? "{$key}" : '');
		die "$line repeats" if exists $value{$series};
		$value{$series} = $value;
	}
	$exporter->{types} = \%types;
	return \%value;
}

# Returns the value of a metric of flakeid, or of its series for an ID type.
sub metric {
	my ($value, $name, $id_type) = @_;
	return $value->{ "flakeid_$name" . (defined $id_type ? qq({id_type="$id_type"}) : '') };
}

# What the exporter says of itself: whether the server answers, and whether a query failed.
sub errors_in {
	my ($value) = @_;
	return "$value->{pg_up} $value->{pg_exporter_last_scrape_error}";
}

# Tests that the log of an exporter has this.
sub log_says {
	my ($exporter, $what, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like(slurp_file($exporter->{log}), $what, $test);
}

# These metrics exist on every server, before its first ID.
my $always =
  qr/^flakeid_(?:settings?|sessions|horizon_writes|readiness|watermark|identity|consumer)_/;

# Returns the metrics in a scrape that come from the views with rows, each once.
sub views_in {
	my ($value) = @_;
	my %names = map { /^(flakeid_\w+)/ ? ($1 => 1) : () } keys %$value;
	return join ' ', grep { !/$always/ } sort keys %names;
}

# Returns the metrics that the queries promise from views with rows, with those of a lease or
# without.
sub promised {
	my ($with_lease) = @_;
	return join ' ', grep { !/$always/ && ($with_lease || !/^flakeid_lease/) } sort keys %TYPE;
}

# Returns the ID types that the server can generate (1), and those that it cannot (0). Those that it
# has generated have a star.
sub ready {
	my ($value) = @_;
	my %types;
	for my $series (grep { /^flakeid_readiness_ready\{/ } sort keys %$value) {
		my ($id_type, $used) = $series =~ /id_type="(\w+)",used="(\w+)"/;
		push @{ $types{ $value->{$series} } }, $id_type . ($used eq 'yes' ? '*' : '');
	}
	return join '; ', map { "$_: @{$types{$_}}" } sort keys %types;
}

# Returns what a scrape has of the server's identity.
sub identity {
	my ($value) = @_;
	my @owned = grep { /^flakeid_identity_owned\{/ } sort keys %$value;
	die 'an identity is not 1' if grep { $value->{$_} != 1 } @owned;
	return join ', ', map { join ' ', /kind="([^"]*)",leased="(\w+)",number="([^"]*)"/ } @owned;
}

# Returns what the server's functions say of its identity, with these generator IDs.
sub identity_of {
	my ($node, $generator_ids) = @_;
	my ($worker, $guid_node) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT flakeid_identity() -> 'flake128' ->> 'worker', flakeid_identity() -> 'guid' ->> 'node'
SQL
	return join ', ', "flake128 worker no $worker", $generator_ids // (), "guid node no $guid_node";
}

# Tests that all promised metrics with such names were served in this test, with type and labels.
sub serves_as_promised {
	my ($names, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @served = map {
		my $name = $_;
		map { "$name $_" } sort keys %{ $seen{$name} }
	} grep { !$TYPE{$_} || /$names/ } sort keys %seen;
	my @promised =
	  map { join ' ', $_, $TYPE{$_}, $LABELS{$_} || () } grep { /$names/ } sort keys %TYPE;
	return is_deeply(\@served, \@promised, $test);
}

1;
