# The code that docs/orm.md shows is part of a program that docs/clients.pl or docs/orms.pl runs.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my %run_here = (
	python => [
		glob('examples/*.py'), glob('tests/clients/*.py'),
		glob('tests/clients/shop/*.py'), glob('tests/clients/shop/migrations/*.py')
	],
	javascript => [ glob('examples/*.js') ],
	java => [ glob('examples/*.java') ]);

# Lines without their indentation, since a page shows a part of a file.
sub flat {
	return join '', map { s/^\s+//r } grep { /\S/ } split /^/, $_[0];
}

my %sources = map {
	$_ => [ map { flat(slurp_file($_)) } @{ $run_here{$_} } ]
} keys %run_here;
my $page = slurp_file('docs/orm.md');
my $blocks = 0;
while ($page =~ /^```(\w+)\n(.*?)^```$/msg) {
	my ($kind, $text) = ($1, flat($2));
	next unless $run_here{$kind};
	$blocks++;
	ok( scalar(grep { index($_, $text) >= 0 } @{ $sources{$kind} }),
		"block $blocks of the page is part of a program that a test runs") or diag($2);
}
cmp_ok($blocks, '>=', 8, 'the page shows code');

done_testing();
