# What README.md and the pages of docs/ tell a reader to type runs as it stands, in order: SQL,
# commands for the shell, and settings. Links lead somewhere; library and SQL are of one version.
# Pages that have a test of their own are left to it, but for their links.
use strict;
use warnings;
use File::Basename qw(basename dirname);
use File::Find     ();
use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The tests run in a copy of the repository, next to README.md.
my @pages = (
	sort(glob('*.md'), glob('docs/*.md'), glob('docs/internals/*.md')),
	'examples/README.md', 'packaging/docker/README.md', 'tests/README.md', 'tests/STATE.md');
my %elsewhere = map { $_ => 1 } 'packaging/docker/README.md', map { "docs/$_.md" } 'duplicates',
  'migrating', 'monitoring', 'troubleshooting';
cmp_ok(scalar @pages, '>=', 12, 'there are pages');

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
	for my $link ($text =~ /\]\(([^)\s]+)\)/g) {
		next if $link =~ /^https:/;
		$links++;
		my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
		my $target = $path eq '' ? $page : dirname($page) . "/$path";
		ok(-e $target, "$page: $link is there") or next;
		ok((grep { $_ eq $anchor } anchors_of($target)), "$page: $link is a heading")
		  if defined $anchor;
	}
}
cmp_ok($links, '>=', 30, 'there are links');

# names ----------------------------------------------------------------------------------------

# ARCHITECTURE.md names functions and types: each is in the sources.
my $sources = '';
File::Find::find({ no_chdir => 1, wanted => sub { $sources .= slurp_file($_) if -f } },
	'src', 'crates/flakeid-core/src', 'sql');
my %names = map { $_ => 1 }
  slurp_file('ARCHITECTURE.md') =~ /`(?:\w+(?:::|\.))*([A-Za-z_]\w*)(?:\([^`]*\))?!?`/g;
cmp_ok(scalar(keys %names), '>=', 30, 'the page on the architecture has names');
is(join(' ', grep { $sources !~ /\b\Q$_\E\b/ } sort keys %names),
	'', 'all names in ARCHITECTURE.md are in the sources');

# Writes the file of keys that docs/public-form-algorithm.md has in its examples.
sub key_file {
	my ($node) = @_;
	my ($key) = slurp_file('docs/public-form-algorithm.md') =~ /^    (1 \w{64}\n)/m
	  or die 'the page on the algorithm has no key';
	my $file = $node->basedir . '/public_keys';
	append_to_file($file, $key);
	chmod 0600, $file or die "could not change the mode of $file: $!";
	return $file;
}

# blocks ---------------------------------------------------------------------------------------

my $number_of = 0;
for my $page (grep { !$elsewhere{$_} } @pages) {
	my $text = slurp_file($page);
	my $name = basename($page, '.md');

	# What follows a block of SQL, set in by four spaces, is the plan that its last statement
	# prints.
	my @blocks;
	while ($text =~ /^```(\w+)\n(.*?)^```$(?:\n\n((?:     [^\n]+\n)+))?/msg) {
		push @blocks, { kind => $1, text => $2, plan => $3 };
	}
	# docs/orms.pl compares code in other languages with what it runs.
	my %known = map { $_ => 1 } 'sql', 'sh', 'ini', 'yaml', 'dockerfile', 'python', 'javascript',
	  'java', 'ruby';
	is(join(' ', grep { !$known{$_} } map { $_->{kind} } @blocks),
		'', "$page has blocks of known kinds");
	next unless @blocks;

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
	# The page on the public form sets it up itself.
	$node->append_conf('postgresql.conf', "flakeid.public_keys_file = '" . key_file($node) . "'\n")
	  if $name ne 'public-form';
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
		my ($kind, $text) = @$block{ 'kind', 'text' };
		my $claim = "$page: block " . ++$number . " ($kind)";
		my $loaded =
			$text =~ /\bpg_reload_conf\b/
		  ? $node->safe_psql('postgres', 'SELECT pg_conf_load_time()')
		  : undef;
		if ($kind eq 'sql') {
			my ($stdout, $stderr) = ('', '');
			my $code = $node->psql(
				'postgres', $text,
				stdout => \$stdout,
				stderr => \$stderr,
				on_error_stop => 1);
			is($code, 0, "$claim runs") or diag("$text\n$stderr");
			if (defined(my $plan = $block->{plan})) {
				like(
					$stdout,
					qr/\Q@{[ $plan =~ s{^     }{}mgr =~ s{\n\z}{}r ]}\E\z/,
					"$claim has the plan that is shown");
			}
		}
		elsif ($kind eq 'sh') {
			# A server that is started holds the pipes of who started it.
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
			next unless @settings;
			my $other = PostgreSQL::Test::Cluster->new('settings' . ++$number_of);
			$other->init;
			$other->append_conf('postgresql.conf',
				join("\n", "shared_preload_libraries = 'flakeid'", @settings, ''));
			ok($other->start(fail_ok => 1), "$claim: a server with these settings starts") or next;
			my %wanted = map { /^(\S+) *= *'?([^']*?)'? *(?:#.*)?$/ } @settings;

			for my $setting (sort keys %wanted) {
				is( $other->safe_psql(
						'postgres',
						"SELECT error IS NULL AND applied FROM pg_file_settings WHERE name = '$setting' ORDER BY seqno DESC LIMIT 1"
					),
					't',
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

# What the pages say of the statements' answers ------------------------------------------------

my $node = PostgreSQL::Test::Cluster->new('answers');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
is( $node->safe_psql('postgres', "SELECT flake_to_text(5828128208445124609, 'hex')"),
	sprintf('%x', 5828128208445124609),
	'hex has no leading zeros and no capitals');
is( $node->safe_psql(
		'postgres', "SELECT flake_to_text(flake_from_text('BXDOxnfZflk=', 'base64'), 'hex')"),
	'597ed977c6ce7005',
	'base64 is read from the lowest byte up');
is( $node->safe_psql('postgres',
		<<'SQL'), '8|10|16|16|12|8|8', 'a value has the bytes that choosing.md says');
SELECT pg_column_size(flake), pg_column_size(sno), pg_column_size(uuidv7), pg_column_size(flake128), pg_column_size(guid),
	pg_column_size(guid_local), pg_column_size(uniqueid)
FROM (SELECT flake_next() AS flake, sno_next() AS sno, uuidv7_next() AS uuidv7, flake128_next() AS flake128, guid_next() AS guid,
	guid_local_next() AS guid_local, uniqueid_next() AS uniqueid) AS made
SQL
my ($texts) = slurp_file('docs/choosing.md') =~ /^\| text \| (.*) \|$/m
  or die 'choosing.md shows no texts';
my @texts = map { /^`(.*)`$/ } split / \| /, $texts;

for my $type ('bigint', 'sno', 'uuid', 'flake128', 'guid', 'uniqueid') {
	my $text = shift @texts;
	is($node->safe_psql('postgres', "SELECT '$text'::$type"),
		$text, "the text of a $type in docs/choosing.md is a $type");
}
my ($uuid) = slurp_file('docs/choosing.md') =~ /`([0-9a-f]{8}-[-0-9a-f]+)`/
  or die 'choosing.md shows no uuidv7';
is($node->safe_psql('postgres', "SELECT uuidv7_valid('$uuid')"),
	't', 'the uuidv7 that choosing.md shows is one');
is( $node->safe_psql(
		'postgres',
		"SELECT uuidv7_decode('017f22e2-79b0-7cc3-98c4-dc0c0c07398f') = ROW(timestamptz '2022-02-22 19:22:22+00', 3267, 1, 140, 1367844206360975::bigint)"
	),
	't',
	"the example of RFC 9562 has the RFC's time");
is( $node->safe_psql(
		'postgres', "SELECT uuidv7_timestamp(uuidv7_max('infinity')) AT TIME ZONE 'UTC'"),
	'10889-08-02 05:31:50.655',
	'the layout of uuidv7 ends as id-types.md says');
is( $node->safe_psql('postgres',
		<<'SQL'), '4|0', 'pg_stat_flakeid has a row for each lane of uuidv7, without a generator ID');
SELECT count(*), count(generator_id) FROM pg_stat_flakeid WHERE id_type = 'uuidv7'
SQL
is( $node->safe_psql('postgres',
		<<'SQL'), 't', 'the library is of the version that the control file names');
SELECT extversion = flakeid_identity() ->> 'version' FROM pg_extension WHERE extname = 'flakeid'
SQL

$node->stop;
done_testing();
