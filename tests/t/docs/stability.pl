# docs/stability.md lists the names that stay. Its lists are those of the catalog, the settings, the
# files of docs/monitoring and the sources: nothing is missing, and nothing is there that does not
# exist. FLAKEID_STABLE_NAMES is a file into which the test writes the lists for the page.
use strict;
use warnings;
use lib 'tests/perl';

use MessagesPage;
use PostgreSQL::Test::Utils;
use Server;
use StableNames;
use Test::More;

# Each key of flakeid_identity() has a value then.
my $node = flakeid_server('stability', <<'END');
flakeid.interface = '02:00:00:00:00:01'
flakeid.guid_node = '7'
END
my %names = stable_names($node);
my $page = slurp_file('docs/stability.md');
if (my $file = $ENV{FLAKEID_STABLE_NAMES}) {
	append_to_file($file, join "\n", "### $_\n", map({ "    $_" } @{ $names{$_} }), "\n")
	  for sort keys %names;
}

# The lines of each list of the page: a heading, and what is set in by four spaces below it.
my %listed;
for my $part (split /^(?=##+ )/m, $page =~ s/^```.*?^```$//msgr) {
	my ($heading) = $part =~ /^#+ (.*)$/m;
	$listed{ $heading =~ tr/`//dr } = [ $part =~ /^    (.*)$/mg ] if $part =~ /^    /m;
}
is_deeply([ sort keys %listed ], [ sort keys %names ], 'the page has these lists');
for my $heading (sort keys %names) {
	cmp_ok(scalar @{ $names{$heading} }, '>=', 6, "$heading: there are names");
	my %is_listed = map { $_ => 1 } @{ $listed{$heading} // [] };
	my %exists = map { $_ => 1 } @{ $names{$heading} };
	is(join("\n", grep { !$is_listed{$_} } sort keys %exists),
		'', "$heading: the page lists all that exists");
	is(join("\n", grep { !$exists{$_} } sort keys %is_listed),
		'', "$heading: all that the page lists exists");
}

# A function on no list is one that other objects of the extension call, or the page names it.
my ($named) = $page =~ /^These are no interface either: (.*)$/m
  or die 'the page names no function that is no interface';
my %named = map { $_ => 1 } $named =~ /`(\w+)`/g;
my %alone =
  map { s/\(.*//r =~ s/^(?!flakeid)(?:guid_local|[a-z0-9]+)_(?=next_for|recheck)/X_/r => 1 }
  split /\n/, called_by_nobody($node);
is_deeply(
	[ sort keys %named ],
	[ sort keys %alone ],
	'the page names the functions that neither users nor other objects call');

# SQLSTATEs of errors, with their conditions.
my %condition = $page =~ /^\| ([0-9A-Z]{5}) \| `(\w+)` \|/mg;
my %raised;
$raised{$_} = 1
  for map { @{ $_->{states} } } grep { !$_->{others} && $_->{level} eq 'ERROR' } @ENTRIES;
is_deeply(
	[ sort keys %condition ],
	[ sort keys %raised ],
	'the page lists the SQLSTATEs of all errors that docs/troubleshooting.md has');
for my $state (sort keys %condition) {
	is( error_of($node, "DO 'BEGIN RAISE $condition{$state}; END'") =~ /ERROR:  (\w{5})/ ? $1 : '',
		$state,
		"$state is $condition{$state}");
}

# The versions of PostgreSQL.
my ($majors) = slurp_file('docs/installing.md') =~ /^PostgreSQL (15.*?) on Linux\./m
  or die 'the page on installing names no versions of PostgreSQL';
is( join(' ', $page   =~ /^\| PostgreSQL (\d+) \|/mg),
	join(' ', $majors =~ /(\d+)/g),
	'the support policy has the versions of PostgreSQL on which flakeid runs');

# The table of updates, and the scripts.
my ($version) = slurp_file('flakeid.control') =~ /^default_version *= *'(.*)'$/m;
my %from = map { /flakeid--(.*?)--(.*?)\.sql/ ? ($1 => $2) : () } glob('sql/flakeid--*--*.sql.in'),
  glob('sql/released/flakeid--*--*.sql');
my ($updates) = $page =~ /^Update scripts lead from (.*?)\.$/m or die 'no line on update scripts';
is( join(' ', $updates =~ /\b(\d+\.\d+\.\d+)\b/g),
	join(' ', sort(keys %from), $version),
	'the page names the update scripts that exist');

$node->stop;
done_testing();
