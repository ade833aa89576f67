# What README.md and the pages of docs/ tell a reader to type runs as it stands, in order: SQL,
# commands for the shell, and settings. Links lead somewhere. Other tests run the pages in
# %elsewhere, and the programs that docs/orm.md shows.
use strict;
use warnings;
use lib 'tests/perl';

use File::Basename qw(basename dirname);
use File::Find     ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use PublicKeys qw(keys_file write_keys);
use Test::More;

# The tests run in a copy of the repository, next to README.md.
my @pages = (
	sort(glob('*.md'), glob('docs/*.md'), glob('docs/internals/*.md')),
	'examples/README.md', 'packaging/docker/README.md', 'tests/README.md', 'tests/STATE.md');
my %elsewhere = map { $_ => 1 } 'packaging/docker/README.md', map { "docs/$_.md" } 'duplicates',
  'migrating', 'monitoring', 'troubleshooting';
cmp_ok(scalar @pages, '>=', 12, 'the test finds the pages');

my ($major) = `pg_config --version` =~ /(\d+)/;

# Returns the blocks of a page: kind, text, and the plan that the last statement of a block of SQL
# prints. It follows the block, set in by four spaces.
sub blocks_of {
	my ($text) = @_;
	my @blocks;
	push @blocks, [ $1, $2, $3 ]
	  while $text =~ /^```(\w+)\n(.*?)^```$(?:\n\n((?:     [^\n]+\n)+))?/msg;
	return @blocks;
}

# links ----------------------------------------------------------------------------------------

# The anchors of a page's headings, as GitHub makes them.
sub anchors_of {
	my ($page) = @_;
	my $text = slurp_file($page) =~ s/^```.*?^```$//msgr;
	return map { lc =~ s/[^\w\- ]//gr =~ tr/ /-/r } $text =~ /^#+ +(.*)$/mg;
}

my $links = 0;
for my $page (@pages) {
	my $text = slurp_file($page) =~ s/^```.*?^```$//msgr;
	my (@no_file, @no_heading);
	for my $link (grep { !/^https:/ } $text =~ /\]\(([^)\s]+)\)/g) {
		$links++;
		my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
		my $target = $path eq '' ? $page : dirname($page) . "/$path";
		if (!-e $target) {
			push @no_file, $link;
		}
		elsif (defined $anchor && !grep { $_ eq $anchor } anchors_of($target)) {
			push @no_heading, $link;
		}
	}
	is("@no_file", '', "$page: each link leads to a file");
	is("@no_heading", '', "$page: each link into a page leads to a heading");
}
cmp_ok($links, '>=', 30, 'the pages have links');

# names ----------------------------------------------------------------------------------------

# ARCHITECTURE.md names functions and types: each is in the sources.
my $sources = '';
File::Find::find({ no_chdir => 1, wanted => sub { $sources .= slurp_file($_) if -f } },
	'src', 'crates/flakeid-core/src', 'crates/flakeid-formats/src', 'sql');
my %names = map { $_ => 1 }
  slurp_file('ARCHITECTURE.md') =~ /`(?:\w+(?:::|\.))*([A-Za-z_]\w*)(?:\([^`]*\))?!?`/g;
cmp_ok(scalar(keys %names), '>=', 30, 'the page on the architecture has names');
is(join(' ', grep { $sources !~ /\b\Q$_\E\b/ } sort keys %names),
	'', 'all names in ARCHITECTURE.md are in the sources');

# code of other languages ----------------------------------------------------------------------

# docs/clients.pl and docs/orms.pl run these programs, of which docs/orm.md shows parts.
my %run = (
	python => [ map { glob "$_/*.py" } 'examples', 'tests/clients{,/shop{,/migrations}}' ],
	javascript => [ glob 'examples/*.js' ],
	java => [ glob 'examples/*.java' ]);

# Lines without their indentation.
sub flat {
	return join '', map { s/^\s+//r } grep { /\S/ } split /^/, $_[0];
}

my %programs = map {
	$_ => [ map { flat(slurp_file($_)) } @{ $run{$_} } ]
} keys %run;
my @code = grep { $run{ $_->[0] } } blocks_of(slurp_file('docs/orm.md'));
cmp_ok(scalar @code, '>=', 8, 'docs/orm.md shows code');
for my $number (1 .. @code) {
	my ($kind, $text) = @{ $code[ $number - 1 ] };
	ok( scalar(grep { index($_, flat($text)) >= 0 } @{ $programs{$kind} }),
		"code block $number of docs/orm.md is part of a program that a test runs") or diag($text);
}

# settings and statements ----------------------------------------------------------------------

# The file of keys that the page has in its examples.
my ($keys) = slurp_file('docs/public-form-algorithm.md') =~ /^    (1 \w{64}\n)/m
  or die 'the page on the algorithm has no key';
my $number_of = 0;
for my $page (grep { !$elsewhere{$_} } @pages) {
	my @blocks = blocks_of(slurp_file($page));
	my $name = basename($page, '.md');
	# docs/analytics.pl runs the macro of dbt.
	my %known = map { $_ => 1 } 'sql', 'sh', 'ini', 'yaml', 'dockerfile', 'python', 'javascript',
	  'java', 'ruby', 'jinja';
	is(join(' ', grep { !$known{$_} } map { $_->[0] } @blocks),
		'', "$page has blocks of known kinds");
	next unless @blocks;

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
	# The page on the public form sets it up itself.
	if ($name ne 'public-form') {
		write_keys($node, $keys);
		$node->append_conf('postgresql.conf',
			"flakeid.public_keys_file = '" . keys_file($node) . "'");
	}
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid') if $name ne 'README';
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGDATABASE => 'postgres',
		PGDATA => $node->data_dir,
		PG_CONFIG => 'pg_config');

	my $number = 0;
	for my $block (@blocks) {
		my ($kind, $text, $plan) = @$block;
		my $claim = "$page: block " . ++$number . " ($kind)";
		my $loaded =
			$text =~ /\bpg_reload_conf\b/
		  ? $node->safe_psql('postgres', 'SELECT pg_conf_load_time()')
		  : undef;
		if ($kind eq 'sql') {
			my ($code, $stdout, $stderr) = $node->psql('postgres', $text, on_error_stop => 1);
			is($code, 0, "$claim runs") or diag("$text\n$stderr");
			if (defined $plan) {
				like(
					$stdout,
					qr/\Q@{[ $plan =~ s{^     }{}mgr =~ s{\n\z}{}r ]}\E\z/,
					"$claim has the plan that is shown");
			}
		}
		elsif ($kind eq 'sh') {
			# A server holds the pipes of the process that starts it.
			my $output = $node->basedir . '/sh.out';
			my $code = system('sh', '-e', '-c', "{\n$text} >'$output' 2>&1 </dev/null");
			is($code, 0, "$claim runs") or diag("$text\n" . slurp_file($output));
			$node->_update_pid(-1);
		}
		else {
			# Settings, of a configuration file or in the notation of a cluster manager: a server
			# that has them and nothing else of ours starts, and none is refused.
			my @settings =
				$kind eq 'ini'  ? $text =~ /^(\S+ *=.*)$/mg
			  : $kind eq 'yaml' ? map { s/: +/ = '/r . "'" }
			  $text =~ /^ +((?:shared_preload_libraries|flakeid\.\w+): +[^'"\n]+)$/mg
			  : ();
			# PostgreSQL 18 and later have this one.
			@settings = grep { !/^extension_control_path\b/ } @settings if $major < 18;
			next unless @settings;
			my $other = PostgreSQL::Test::Cluster->new('settings' . ++$number_of);
			$other->init;
			$other->append_conf('postgresql.conf',
				join("\n", "shared_preload_libraries = 'flakeid'", @settings, ''));
			ok($other->start(fail_ok => 1), "$claim: a server with these settings starts") or next;
			my %wanted = map { /^(\S+) *= *'?([^']*?)'? *(?:#.*)?$/ } @settings;

			for my $setting (sort keys %wanted) {
				is( $other->safe_psql('postgres', <<"SQL"), 't',
SELECT error IS NULL AND applied FROM pg_file_settings WHERE name = '$setting'
ORDER BY seqno DESC LIMIT 1
SQL
					"$claim: the server takes $setting");
			}
			$other->stop;
		}
		# The next block has what this one has reloaded.
		$node->poll_query_until('postgres', "SELECT pg_conf_load_time() > '$loaded'")
		  || die 'the server does not reload'
		  if defined $loaded;
	}
	$node->stop;
}

done_testing();
