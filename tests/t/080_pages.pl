# Every SQL block of the README runs as it stands, in order, as a reader would type it; and library
# and SQL are of one version.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The tests run in a copy of the repository, next to README.md.
my $readme = slurp_file('README.md');
my (@blocks, @plans);
# What follows a block of SQL, set in by four spaces, is the plan that its last statement prints.
while ($readme =~ /^```sql\n(.*?)^```$(?:\n\n((?:     [^\n]+\n)+))?/msg)
{
	push @blocks, $1;
	push @plans, $2;
}
cmp_ok(scalar @blocks, '>=', 5, 'the README has SQL blocks');
cmp_ok(scalar(grep { defined } @plans), '>=', 2, '... and plans');

my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;

my $number = 0;
for my $block (@blocks)
{
	$number++;
	my ($stdout, $stderr) = ('', '');
	my $code = $node->psql('postgres', $block, stdout => \$stdout, stderr => \$stderr, on_error_stop => 1);
	is($code, 0, "block $number runs") or diag("$block\n$stderr");
	next unless defined(my $plan = $plans[ $number - 1 ]);
	like($stdout, qr/\Q@{[ $plan =~ s{^     }{}mgr =~ s{\n\z}{}r ]}\E\z/, '... and has the plan that is shown');
}

# What the text says of the statements' answers.
is($node->safe_psql('postgres', "SELECT flake_to_text(5828128208445124609, 'hex')"),
	sprintf('%x', 5828128208445124609), 'hex has no leading zeros and no capitals');
is($node->safe_psql('postgres', "SELECT flake_to_text(flake_from_text('BXDOxnfZflk=', 'base64'), 'hex')"),
	'597ed977c6ce7005', 'base64 is read from the lowest byte up');

is($node->safe_psql('postgres', <<'SQL'), 't', 'the library is of the version that the control file names');
SELECT extversion = flakeid_identity() ->> 'version' FROM pg_extension WHERE extname = 'flakeid'
SQL

$node->stop;
done_testing();
