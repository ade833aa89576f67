# docs/troubleshooting.md has every message that the sources can raise, and none that they can't;
# the SQLSTATE beside a message is the one it comes with; and its SQL runs.
#
# A message is found in the sources by what it is not: every string of more than one word is one,
# unless it is listed here as something else. So there is no way of raising that this test would
# have to know. That no string was overlooked is shown by searching for the known ways of raising,
# without reading the strings.
use strict;
use warnings;
use lib 'tests/perl';

use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# Strings of several words that nobody is shown, or only as a part of a message.
my %no_message = (
	(map { $_ => 'a span of time' } '{:.3} ms', '{:.1} ms', '{} ms', '{} min', '{} days'),
	(map { $_ => 'a value within a message' } 'base {base}', '{} or later', ' BC'),
	(   map { $_ => 'what others have written' } ' (os error',
		'etcdserver: ',
		'lease already exists',
		'lease not found',
		'message length too large',
		'-----BEGIN ', 'PRIVATE KEY'),
	(   map { $_ => 'a name' } 'flakeid recovery',
		'flakeid etcd',
		'flakeid watermark',
		'flakeid notifier',
		'flakeid notifier for {database}'),
	'crc32 ' => 'a word of the state file',
	(   map { $_ => 'an error of the compiler' } 'the ID type is not in the table of ID types',
		'one of these two is wrong'),);

# the page -------------------------------------------------------------------------------------

my $page = slurp_file('docs/troubleshooting.md');
my @blocks = $page =~ /^```sql\n(.*?)^```$/msg;
(my $prose = $page) =~ s/^```.*?^```$//msg;

# Messages with their level and SQLSTATEs, and texts of which a message, a detail or a hint
# consists; each with the part of the page.
my (@entries, @texts);
my $level = qr/(?:ERROR|WARNING|LOG|NOTICE|FATAL|psql|pg_upgrade)/;
for my $part (split /^(?=## )/m, $prose) {
	my $others = $part =~ /\A## PostgreSQL's own messages\n/;
	for my $line (split /\n/, $part) {
		my ($messages, $is, $states, $rest);
		if ($line =~ /^\*\*`/) {
			($messages, $is, $states) =
			  $line =~ /^((?:\*\*`[^`]+`\*\*(?:, )?)+) ($level)((?:,? [0-9A-Z]{5})*)\\?$/;
			ok(defined $is, "an entry has its level and SQLSTATE: $line") unless defined $is;
		}
		elsif ($line =~ /^\| `/) {
			($messages, $is, $states) =
			  $line =~ /^\| ((?:`[^`]+`(?:, )?)+) \|(?: ($level)((?:,? [0-9A-Z]{5})*) \|)?/;
			ok(defined $messages, "a row begins with messages: $line") unless defined $messages;
		}
		my @spans = defined $messages ? $messages =~ /`([^`]+)`/g : ();
		push @entries,
		  map { { text => $_, level => $is, states => [ $states =~ /\w+/g ], others => $others } }
		  @spans
		  if defined $is;
		while ($line =~ /(?:DETAIL|HINT): ([^`.\n]*`[^`]+`(?:(?:,| or| and)[^`.\n]*`[^`]+`)*)/g) {
			push @spans, $1 =~ /`([^`]+)`/g;
		}
		push @texts, map { { text => $_, others => $others } } @spans;
	}
}
cmp_ok(scalar(grep { !$_->{others} } @entries), '>=', 60, 'the page has messages');
cmp_ok(scalar(grep { $_->{others} } @entries), '>=', 20, "... and PostgreSQL's own");
is(join(', ', map { $_->{text} } grep { !@{ $_->{states} } != ($_->{level} =~ /^p/) } @entries),
	'', '... each with its SQLSTATE, but for what programs say');

# the sources ----------------------------------------------------------------------------------

my %source;
find({ no_chdir => 1, wanted => sub { $source{$_} = slurp_file($_) if /\.rs\z/ } }, 'src');
cmp_ok(scalar(keys %source), '>=', 30, 'the sources are there');

# As the compiler reads it.
sub unescaped {
	my ($text) = @_;
	$text =~ s/\\\n\s*//g;
	$text =~ s/\\(["\\])/$1/g;
	return $text;
}

# The strings of a source, those of C apart, and the code without them and without comments.
sub strings_of {
	my ($source) = @_;
	my (@strings, @of_c);
	my $code = '';
	while (
		$source =~ m{\G(?:
		//[^\n]* | (?<comment>/\*(?:[^*/]++|\*(?!/)|/(?!\*)|(?&comment))*\*/)
		| (?<char>b?'(?:\\(?:u\{\w+\}|x\w\w|.)|[^\\'\x80-\xff]|[\x80-\xff]+)')
		| (?<kind>b?|c)"(?<text>(?:\\.|[^"\\])*)"
		| (?<kind_raw>[bc]?)r(?<hashes>\#*)"(?<raw>.*?)"\k<hashes>
		| (?<code>\w+|.))}sgcx)
	{
		$code .= $+{code} // ' ';
		my ($kind, $text) =
		  defined $+{text} ? ($+{kind}, unescaped($+{text})) : ($+{kind_raw}, $+{raw});
		push @{ $kind eq 'c' ? \@of_c : \@strings }, { text => $text, before => $code }
		  if defined $text;
	}
	return (\@strings, \@of_c, $code);
}

# A text as a pattern of what it may become: what stands in braces may be anything.
sub pattern_of {
	my ($text) = @_;
	$text =~ s/\s+/ /g;
	$text =~ s/\A | \z//g;
	return join '.+?', map { quotemeta } split /\{[\w.:]*\}/, $text, -1;
}

# Whether there is a word in what is fixed of it.
sub has_words {
	my ($text) = @_;
	return $text =~ s/\{[\w.:]*\}//gr =~ /[A-Za-z]{2}/;
}

my (%strings, %found, %not_needed);
for my $file (sort keys %source) {
	my ($strings, $of_c, $code) = strings_of($source{$file});
	my %count;
	$count{$_}++ for $code =~ /[][(){}]/g;
	my @open = grep { ($count{ $_->[0] } // 0) != ($count{ $_->[1] } // 0) }[qw/( )/], [qw/[ ]/],
	  [qw/{ }/];
	ok(!@open && $code !~ /"/, "$file is read as code and strings: what it opens it closes");

	# Those of C are what settings are described by; no message may be one.
	my @unknown = grep { $_->{text} =~ /\w\s+\w/ && $file !~ m{\Asrc/guc/} } @$of_c;
	is(join("\n", map { $_->{text} } @unknown), '', "... and raises nothing by strings of C");

	for my $string (@$strings) {
		my ($text, $before) = @$string{ 'text', 'before' };
		next unless $text =~ /\s/ && has_words($text);
		$strings{$file}{$text}++;
		if (exists $no_message{$text}) {
			$not_needed{$text} = 1;
			next;
		}
		$text = "internal error: entered unreachable code: $text"
		  if $before =~ /\bunreachable!\(\s*\z/;
		$found{$text} = $file;
	}
}
is(join("\n", grep { !$not_needed{$_} } sort keys %no_message),
	'', 'what is listed as no message is in the sources');

# What a file of SQL says that is given to psql.
find(
	{
		no_chdir => 1,
		wanted => sub {
			return unless /\.sql\z/;
			my $sql = slurp_file($_);
			my $file = $_;
			$found{ $1 =~ s/\d+\.\d+\.\d+/{version}/r } = $file if $sql =~ /^\\echo (.*) \\quit$/m;
			unlike($sql, qr/\bRAISE\b/i, "$file raises nothing itself");
		}
	},
	'sql');

# The ways of raising that are in use, and what they come with. What they name directly is among the
# strings.
my $string = qr/(?:format!\(\s*)?"((?:[^"\\]|\\.)*)"/s;
my @ways = (
	[qr/\b(?:Report|Self)::(?:new\(\s*[\w:]+,|wrong_state\()\s*$string/],
	[qr/\.(?:set_)?(?:detail|hint)\(\s*$string/],
	[qr/\b(?:ErrorReport::new\(\s*[\w:]+,|errmsg\(|errdetail\(|errhint\()\s*$string/],
	[ qr/\b(?:error|panic|todo|unimplemented|FATAL|PANIC)!\(\s*$string/ => 'ERROR XX000' ],
	[
		qr/\bunreachable!\(\s*$string/ => 'ERROR XX000',
		'internal error: entered unreachable code: '
	],
	[ qr/\bassert(?:_eq|_ne)?!\([^;"]*?$string/ => 'ERROR XX000' ],
	[ qr/\bwarning!\(\s*$string/ => 'WARNING 01000' ],
	[ qr/\bnotice!\(\s*$string/ => 'NOTICE 00000' ],
	[qr/\b(?:info|log|debug\d)!\(\s*$string/],
	[
		qr/\bereport!\(\s*WARNING,\s*PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,\s*$string/ =>
		  'WARNING 22023'
	],
	[qr/\bereport!\([^;"]*?$string/],
	[ qr/(?<!\w)(?<!fn )log\(\s*$string/ => 'LOG 00000' ],
	[ qr/(?<!\w)(?<!fn )warn\(\s*$string/ => 'WARNING 55000' ],
	[ qr/\.write\(\s*\|\|\s*$string/ => 'LOG 00000' ],
	[qr/\b(?:Err|Because|Internal|Damaged)\(\s*$string/],
	[qr/\.(?:ok_or|ok_or_else|map_err|expect)\(\s*(?:\|[^|]*\|\s*)?$string/],
	[qr/\bspelling:\s*$string/],
	[qr/=>\s*\{?\s*$string/],);
my $ways_used = 0;
my %comes_with;
for my $file (sort keys %source) {
	(my $source = $source{$file}) =~ s{^\s*//.*$}{}mg;
	my (%named, $times);
	for (@ways) {
		my ($way, $with, $prefix) = @$_;
		while ($source =~ /$way/g) {
			my $text = unescaped($1);
			# Of the arms of a match not all are messages, and some parts are put together from
			# variables.
			next unless has_words($text) && ($text =~ /\s/ || $way !~ /=>/);
			$named{$text}++;
			$times++;
			$comes_with{ ($prefix // '') . $text }{$with} = 1 if defined $with;
		}
	}
	next unless $times;
	$ways_used += $times;
	is(join("\n", grep { !$strings{$file}{$_} } sort keys %named),
		'', "what $file raises is among its strings of several words");
	my $strings = 0;
	$strings += $_ for values %{ $strings{$file} };
	cmp_ok($strings, '>=', scalar(keys %named), '... which are as many at least');
}
cmp_ok($ways_used, '>=', 150, 'there are as many places that raise something');

# both ways ------------------------------------------------------------------------------------

my @own = map { $_->{text} } grep { !$_->{others} } @texts;
for my $text (sort keys %found) {
	my $pattern = pattern_of($text);
	ok((grep { /(?<!\w)$pattern(?!\w)/ } @own), "the page has: $text") or diag("of $found{$text}");
}
my @patterns = map { my $pattern = pattern_of($_); qr/\A$pattern\z/ } sort keys %found;
for my $text (@own) {
	ok((grep { $text =~ $_ } @patterns), "the sources have: $text");
}

# What is done to the state file has one message each.
my @actions = map { /\b(?:denied|failed)\("([^"]+)"\)/g } values %source;
cmp_ok(scalar @actions, '>=', 9, 'the state file can be denied in several ways');
for my $action (@actions) {
	ok((grep { $_ eq "could not $action state file \"…\": …" } @own),
		"... each has its entry: $action");
}

# on a server ----------------------------------------------------------------------------------

my $node = PostgreSQL::Test::Cluster->new('troubleshooting');
$node->init;
my $key_file = $node->basedir . '/public_keys';
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'flakeid'
log_error_verbosity = verbose
flakeid.etcd_endpoints = 'http://127.0.0.1:1'
flakeid.max_clock_wait = '100ms'
flakeid.public_keys_file = '$key_file'
CONF
write_keys('1');
$node->start;
my $version =
  $node->safe_psql('postgres', "SELECT current_setting('server_version_num')::integer / 10000");

$node->safe_psql('postgres', 'CREATE DATABASE page');
$node->safe_psql('page', 'CREATE EXTENSION flakeid');
my $number = 0;
for my $block (@blocks) {
	$number++;
	my ($stdout, $stderr) = ('', '');
	my $code =
	  $node->psql('page', $block, stdout => \$stdout, stderr => \$stderr, on_error_stop => 1);
	is($code, 0, "block $number of the page runs") or diag("$block\n$stderr");
}
cmp_ok($number, '>=', 5, 'the page has SQL blocks');

# The SQLSTATE that the sources name, as PostgreSQL spells it.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION flakeid;
SELECT flake_next();
CREATE FUNCTION state_of(condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING ERRCODE = condition;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SQL
my %state_of;
for my $file (sort keys %source) {
	my $source = $source{$file};
	while (
		$source =~ /\b(?:Report|Self)::(?:new\(\s*Code::ERRCODE_(\w+),|wrong_state\()\s*$string/g)
	{
		my ($condition, $text) = ($1 // 'OBJECT_NOT_IN_PREREQUISITE_STATE', unescaped($2));
		$state_of{$condition} //=
		  $node->safe_psql('postgres', "SELECT state_of(lower('$condition'))");
		$comes_with{$text}{"ERROR $state_of{$condition}"} = 1;
	}
}
cmp_ok(scalar(keys %comes_with), '>=', 60, 'the sources name levels and SQLSTATEs');
# Where several texts of the sources fit an entry, it is the one with the most words of its own.
my %entered;
for my $entry (grep { !$_->{others} } @entries) {
	my @fitting =
	  grep { my $pattern = pattern_of($_); exists $found{$_} && $entry->{text} =~ /\A$pattern\z/ }
	  sort keys %comes_with;
	my ($text) =
	  sort { length($b =~ s/\{[\w.:]*\}//gr) <=> length($a =~ s/\{[\w.:]*\}//gr) } @fitting;
	next unless defined $text;
	$entered{$_} = 1 for @fitting;
	is_deeply({ map { ("$entry->{level} $_" => 1) } @{ $entry->{states} } },
		$comes_with{$text}, "the page has the level and SQLSTATE of: $entry->{text}");
}
is( join("\n", grep { exists $found{$_} && !$entered{$_} } sort keys %comes_with),
	'invalid input syntax',
	'... and an entry for all but what is a part of one');

# What the page has of a message: the entries that fit, of this level and SQLSTATE.
my (%met, $own_met);

sub look_up {
	my ($is, $state, $message) = @_;
	my @fitting = grep {
		my $pattern = join '.*?', map { quotemeta } split /…/, $_->{text}, -1;
		$message =~ /\A$pattern\z/s
	} @entries;
	my @right = grep {
		$_->{level} eq $is && grep { $_ eq $state }
		  @{ $_->{states} }
	} @fitting;
	$met{ $_->{text} } = 1 for @right;
	$own_met++ if grep { !$_->{others} } @right;
	return scalar @right;
}

# Whether the page has a detail or a hint: one of its texts, or several after each other.
my @parts = map {
	join '.*?', map { quotemeta } split /…/, $_, -1
} @own;
my $parts = join '|', sort { length $b <=> length $a } @parts;
$parts = qr/\A(?:(?:$parts)(?: |\z))+\z/s;

sub is_on_the_page {
	my ($error, $what) = @_;
	my ($is, $state, $message) = $error =~ /(ERROR|WARNING|NOTICE|FATAL):  (\w{5}): (.*?)\n/
	  or return fail("$what says something");
	ok(look_up($is, $state, $message), "the page has what $what says: $is $state $message");
	return unless $error =~ /^LOCATION:.*\.rs:/m;
	while ($error =~ /^(DETAIL|HINT):  (.*)$/mg) {
		my ($kind, $text) = ($1, $2);
		ok($text =~ $parts, "... and its $kind: $text");
	}
	return;
}

# Writes a file with a key of each version, and another mode if one is named.
sub write_keys {
	my ($versions, $mode) = @_;
	unlink $key_file;
	append_to_file($key_file, join '', map { sprintf "%s %064x\n", $_, ord } split //, $versions);
	chmod $mode // 0600, $key_file or die "could not change the mode of $key_file: $!";
	return;
}

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE ordinary;
CREATE TABLE ids (id bigint PRIMARY KEY DEFAULT flake_next(), event sno NOT NULL DEFAULT sno_next());
CREATE TABLE parts (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE DATABASE empty;
SQL
my $asks = session($node);
for my $sql (
	# text, bytes, casts
	"SELECT 'nonsense'::sno", "SELECT '0000000000000000'::sno", "SELECT ''::sno",
	"SELECT ''::flake128", "SELECT '?'::flake128",
	"SELECT repeat('z', 30)::flake128", "SELECT 'x'::guid",
	"SELECT 'FFFFFFFFFFFFFFFF'::guid_local", "SELECT 'x'::uniqueid",
	"SELECT * FROM ids WHERE event >= '2026-11-01'", "SELECT '\\x00'::bytea::sno",
	"SELECT '\\x00'::bytea::flake128",
	"SELECT '\\x00'::bytea::guid", "SELECT '\\x00'::bytea::guid_local",
	"SELECT '\\x00'::bytea::uniqueid",
	"SELECT flake_from_text('?', 'hex')", "SELECT flake_from_text('', 'decimal')",
	"SELECT flake_from_text('BXDOxnfZfll=', 'base64')",
	"SELECT flake_from_text('x', 'base64')", "SELECT flake_from_text('1ffffffffffffffff', 'hex')",
	"SELECT flake128_from_text('g', 16)",
	"SELECT flake_to_text(1, 'HEX')", "SELECT guid_to_text(guid_next(), 'hex')",
	"SELECT flake128_to_text('1', 63)",
	'SELECT 1.5::flake128', 'SELECT 10::flake128',
	'DO $$DECLARE g guid; BEGIN g := event FROM ids; g := sno_next(); END$$',
	"SELECT flake '5' + 1", "SELECT -flake '5'", 'SELECT gen_random_uuid()::flake',
	'SELECT flake128_next()::flake', "SELECT (flake '-1')::flake128::flake",
	# fields, times, bounds, partitions
	'SELECT flake_encode(now(), 0, 0, 4096)', 'SELECT flake_encode(now(), 0, 32, 0)',
	'SELECT flake_encode(now(), 32, 0, 0)',
	'SELECT sno_encode(now(), 0, 0, 0, -1)', "SELECT uniqueid_encode(now(), 0, 2048, 0, 'spread')",
	"SELECT uniqueid_encode(now(), 0, 0, 16, 'spread')",
	'SELECT sno_encode(now(), 0, 0, 65536, 0)', 'SELECT sno_next(256)',
	'SELECT sno_encode(now(), 2, 0, 0, 0)', 'SELECT guid_encode(now(), -1, 0)',
	'SELECT uuidv7_encode(now(), 4096, 0, 0, 0)',
	'SELECT uuidv7_encode(now(), 0, 16, 0, 0)', 'SELECT uuidv7_encode(now(), 0, 0, 0, -1)',
	"SELECT uuidv7_at('1969-12-31')", 'SELECT uuidv7_at(now(), -1)',
	"SELECT flake_encode('1969-12-31', 0, 0, 0)", "SELECT sno_encode('infinity', 0, 0, 0, 0)",
	"SELECT guid_at('-infinity')",
	"SELECT uniqueid_at('2110-01-01')", "SELECT flake_encode(now(), 0, 0, 0, '1969-12-31')",
	'SELECT flake_at(now(), -1)', "SELECT sno_at('294276-12-31')",
	'SELECT count(*) FROM sno_next_batch(-1)',
	"SELECT flakeid_partition_times('now', 'infinity', '1 day')",
	"SELECT sno_partition_bounds('2026-11-01', '2027-11-01', '-1 day')",
	"SELECT sno_partition_bounds('2150-01-01', '2151-01-01', '1 year')",
	# the public form
	"SELECT flake_from_public('user_100000000000', 'order')",
	"SELECT flake_from_public('order_1', 'order')", "SELECT flake_from_public('order_', 'order')",
	"SELECT flake_from_public('order_1000000000', 'order')",
	"SELECT flake_from_public('order_1zzzzzzzzzzz', 'order')",
	"SELECT flake_from_public('order_10000000-000', 'order')",
	"SELECT flake_from_public('order_200000000000', 'order')",
	"SELECT flake128_from_public(flake128_to_public('1', 'a'), 'b')",
	"SELECT flake128_from_public('10000000000000000000000')",
	'SELECT flake_from_public_uuid(gen_random_uuid())',
	"SELECT flake_from_public_uuid('08000000-0000-8000-8000-000000000000')",
	"SELECT flake_from_public_uuid('04000000-0000-8000-8000-000000000000')",
	"SELECT flake_to_public(1, 'an order')", 'SELECT flake_to_public(-1)',
	'SELECT uuidv7_to_public(gen_random_uuid())',
	"SELECT sno_to_public(sno_min('infinity'))", "SELECT flake128_to_public_uuid('1')",
	"SELECT flake128_from_public_uuid(gen_random_uuid())",
	'CREATE INDEX ON ids (flake_to_public(id))',
	'CREATE TABLE made (id bigint, public text GENERATED ALWAYS AS (flake_to_public(id)) STORED)',
	'SET ROLE ordinary; SELECT flakeid_new_public_key()',
	# settings
	"ALTER SYSTEM SET flakeid.generator_ids = '7-3'",
	"ALTER SYSTEM SET flakeid.generator_ids = 'hostname'",
	"ALTER SYSTEM SET flakeid.generator_ids = '0-64'",
	"ALTER SYSTEM SET flakeid.epoch = 'yesterday'",
	"ALTER SYSTEM SET flakeid.epoch = '1969-12-31'", "ALTER SYSTEM SET flakeid.epoch = '2010'",
	"ALTER SYSTEM SET flakeid.epoch = '2020-01-01'",
	"ALTER SYSTEM SET flakeid.sno_sequence = '0-2'",
	"ALTER SYSTEM SET flakeid.sno_sequence = '7'",
	"ALTER SYSTEM SET flakeid.guid_node = '4294967296'",
	"ALTER SYSTEM SET flakeid.interface = 'nonesuch0'", "ALTER SYSTEM SET flakeid.interface = 'lo'",
	"ALTER SYSTEM SET flakeid.interface = 'ff:ff:ff:ff:ff:ff'",
	"ALTER SYSTEM SET flakeid.etcd_endpoints = 'ftp://a'",
	"ALTER SYSTEM SET flakeid.etcd_endpoints = 'a,,b'",
	"ALTER SYSTEM SET flakeid.etcd_endpoints = 'a:b\@c'",
	"ALTER SYSTEM SET flakeid.etcd_endpoints = 'a b'",
	"ALTER SYSTEM SET flakeid.etcd_namespace = ''",
	"ALTER SYSTEM SET flakeid.generator_ids = '1,1'",
	"ALTER SYSTEM SET flakeid.generator_ids = 'zookeeper:8'",
	# PostgreSQL's own
	"CREATE FUNCTION f() RETURNS bigint AS '\$libdir/flakeid', 'no_such_wrapper' LANGUAGE c",
	'CREATE EXTENSION flakeid',
	"ALTER EXTENSION flakeid UPDATE TO '99.0'",
	'DROP EXTENSION flakeid',
	'SELECT flake_next(1)',
	'CREATE INDEX ON ids (flake_timestamp(id))',
	'CREATE TABLE made (id bigint, made timestamptz GENERATED ALWAYS AS (flake_timestamp(id)) STORED)',
	'CREATE TABLE made (id bigint) PARTITION BY RANGE (flake_timestamp(id))',
	"SELECT 'x'::flake",
	"SELECT flake '5' >= '2026-11-01'",
	"SELECT '99999999999999999999'::flake",
	"SELECT flake '5' = 1.5",
	"SELECT flake '5' = 'x'::text",
	'CREATE TEMP TABLE numbered (id flake); INSERT INTO numbered VALUES (1.5::double precision)',
	"SELECT '{5}'::flake[] @> ARRAY[5::bigint]",
	"SELECT coalesce(flake '5', 0)",
	"SELECT greatest(flake '5', 0)",
	"SELECT CASE WHEN true THEN flake '5' ELSE 0 END",
	"SELECT flake '5' UNION SELECT 5",
	"SELECT flake '5'::numeric",
	"SELECT flake '5'::sno",
	'SELECT 5::bigint::timestamptz',
	'CREATE TABLE made (id flake, made timestamptz GENERATED ALWAYS AS (id::timestamptz) STORED)',
	'CREATE FUNCTION wrong() RETURNS SETOF bigint LANGUAGE plpgsql AS $$BEGIN RETURN QUERY SELECT flake_next()::flake; END$$; SELECT wrong()',
	'CREATE TABLE key (id bigint) PARTITION BY RANGE (id); ALTER TABLE key ALTER id TYPE flake',
	'CREATE VIEW seen AS SELECT id FROM ids; ALTER TABLE ids ALTER id TYPE flake',
	'SELECT * FROM ids WHERE id >= now()',
	"SELECT * FROM ids WHERE event = 'x'::text",
	'SELECT id::sno FROM ids',
	"CREATE TABLE p PARTITION OF parts FOR VALUES FROM (timestamptz '2026-11-01') TO (timestamptz '2026-12-01')",
	'INSERT INTO parts VALUES (sno_next())',
	"SELECT uniqueid_next('sequential')",
	'INSERT INTO ids SELECT 1 FROM generate_series(1, 2)',
	"SET flakeid.generator_ids = '1'",
	"SET flakeid.nosuch = '1'",
	'SHOW flakeid.nosuch',
	"ALTER SYSTEM SET flakeid.cluster_id = '16'",
	"ALTER SYSTEM SET flakeid.cluster_id = 'x'",
	'SET ROLE ordinary; SELECT * FROM pg_stat_flakeid',
	'SET ROLE ordinary; SELECT * FROM pg_stat_flakeid_lease',
	'SET ROLE ordinary; SELECT flakeid_accept_clock()',
	"SET statement_timeout = '1ms'; SELECT count(*) FROM uniqueid_next_batch(10000000)",
	$version >= 18
	? ( "CREATE TABLE made (id bigint, made timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'epoch')))",
		"CREATE TABLE made (id sno GENERATED ALWAYS AS (sno '2222222222222222'))")
	: ())
{
	is_on_the_page(error_in($asks, "$sql;\nRESET ROLE; RESET statement_timeout"), $sql);
}
$asks->quit;
pass('this server has no virtual generated columns') if $version < 18;
for my $sql (
	'SELECT flake_next()',
	"SELECT 'x'::sno",
	"CREATE EXTENSION flakeid VERSION '99.0'",
	'SET ROLE ordinary; CREATE EXTENSION flakeid')
{
	is_on_the_page(error_of($node, $sql, 'empty'), "$sql in a database without the extension");
}
is_on_the_page(error_of($node, 'CREATE TABLE flake (); CREATE EXTENSION flakeid', 'empty'),
	'CREATE EXTENSION beside a table named flake');
is(error_of($node, 'ALTER TABLE flake RENAME TO flakes; CREATE EXTENSION flakeid', 'empty'),
	'', 'under another name it is not in the way');

# Of the entries of fields each has been met, as it is not in these sources what fields there are.
is(join(', ', grep { / out of range: …\z/ && !$met{$_} } @own),
	'', 'the page names only fields that exist');

# With other settings. The server is asked for an ID by a new session each time.
for (
	[ generator_ids => '2048', 'SELECT flake_next()' ],
	[ generator_ids => '2048', 'SELECT uniqueid_next()' ],
	[ generator_ids => 'etcd:8', 'SELECT flake_next()' ])
{
	my ($name, $value, $ask) = @$_;
	my $end_of_log = -s $node->logfile;
	reload_with($node, $name => $value);
	is_on_the_page(error_of($node, $ask), "$ask with $name = '$value'");
	$node->wait_for_log(qr/flakeid cannot lease generator IDs/, $end_of_log) if $value =~ /etcd/;
	$node->safe_psql('postgres', "ALTER SYSTEM RESET flakeid.$name");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('flakeid.$name') <> '$value'")
	  or die "flakeid.$name stays";
}

# Files of keys: one for each version, ones that are refused while the server runs, and one at the
# start.
write_keys(join '', 0 .. 9, 'A' .. 'Z', 'a' .. 'z');
$node->reload;
$node->poll_query_until('postgres', 'SELECT count(*) = 62 FROM flakeid_public_key_versions()')
  or die 'the keys do not come';
is_on_the_page(error_of($node, 'SELECT flakeid_new_public_key()'),
	'a server with a key of each version');
for (
	[ sub { write_keys('1', 0640) }, qr/has mode 0640/ ],
	[ sub { write_keys('11') }, qr/has the version of line 1 again in line 2/ ],
	[
		sub { write_keys('1'); append_to_file($key_file, slurp_file($key_file) =~ s/^1/2/r) },
		qr/has the key of line 1 again in line 2/
	],
	[ sub { write_keys('1-') }, qr/has a line, number 2, that is not a version/ ],
	[ sub { write_keys('') }, qr/has no key/ ],
	[ sub { unlink $key_file }, qr/could not read/ ])
{
	my ($spoil, $reason) = @$_;
	my $end_of_log = -s $node->logfile;
	$spoil->();
	$node->reload;
	$node->wait_for_log(qr/refused "flakeid\.public_keys_file": .*$reason/, $end_of_log);
	is_on_the_page(error_of($node, 'SELECT flakeid_new_public_key()'),
		"a server that keeps its keys");
}
$node->restart;
is_on_the_page(error_of($node, 'SELECT flake_to_public(1)'), 'a server without its file of keys');
is_on_the_page(error_of($node, 'SET ROLE ordinary; SELECT flake_to_public(1)'),
	'an ordinary user without a file of keys');
$node->adjust_conf('postgresql.conf', 'flakeid.public_keys_file', "''");
$node->restart;
is_on_the_page(error_of($node, 'SELECT flake_to_public(1)'), 'a server without a setting for keys');

# An epoch that the state refuses: at a start, as a reload refuses it.
$node->append_conf('postgresql.conf', "flakeid.epoch = '2020-01-01'");
$node->restart;
is_on_the_page(error_of($node, "SELECT $_"), "$_ with a later epoch")
  for 'flake_next()', 'flake_timestamp(1)';
$node->reload;
$node->adjust_conf('postgresql.conf', 'flakeid.epoch', undef, 1);
$node->restart;

# A bad value and no state file at the start; one after the other is corrected.
$node->stop;
unlink $node->data_dir . '/flakeid/state' or die "could not remove the state file: $!";
$node->append_conf('postgresql.conf', "flakeid.generator_ids = 'seven'\nflakeid.nosuch = '1'\n");
$node->start;
is_on_the_page(error_of($node, 'SELECT flake_next()'), 'a server whose setting is bad');
$node->adjust_conf('postgresql.conf', 'flakeid.generator_ids', "'0-7'");
$node->reload;
$node->poll_query_until('postgres', "SELECT current_setting('flakeid.generator_ids') = '0-7'")
  or die 'the setting stays';
is_on_the_page(error_of($node, 'SELECT flake_next()'), 'a server without its state file');
is_on_the_page(error_of($node, "SELECT $_"), "$_ without a state file and an epoch")
  for 'flake_timestamp(1)', 'flakeid_accept_clock()';
reload_with($node, epoch => '2010-01-01');
is(error_of($node, 'SELECT flakeid_accept_clock()'), '', 'with an epoch the clock can be accepted');
is_on_the_page(error_of($node, 'SELECT flakeid_accept_clock()'), 'who accepts it again');
is(error_of($node, 'SELECT flake_next()'), '', 'and IDs are made');
$node->stop;

# What these sources have written into the log, in all of that.
my ($log, @last, %line) = (slurp_file($node->logfile));
for my $line (split /\n/, $log) {
	@last = ($1, $2, $3)
	  if $line =~ /(LOG|WARNING|ERROR|FATAL):  (\w{5}): (.*?)(?: at character \d+)?\z/;
	$line{"@last"} = [@last] if $line =~ /LOCATION:  .*\.rs:/;
}
cmp_ok(scalar(grep { /^LOG/ } keys %line), '>=', 3, 'the log has lines of flakeid');
ok(look_up(@{ $line{$_} }), "the page has the line: $_") for sort keys %line;
like(
	$log,
	qr/WARNING:  42602: invalid configuration parameter name "flakeid\.nosuch", removing it/,
	'... and of a setting that does not exist');
ok( look_up(
		'WARNING', '42602', 'invalid configuration parameter name "flakeid.nosuch", removing it'),
	'... which the page has');

cmp_ok(scalar(keys %met), '>=', 55, 'many entries were met');
done_testing();
