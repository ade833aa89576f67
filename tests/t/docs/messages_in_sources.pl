# docs/troubleshooting.md has every message that the sources can raise, and no other, each with its
# level and SQLSTATE.
#
# Every string of more than one word in the sources is a message, unless it is listed here as
# something else. So this test need not know all ways of raising. A search for the known ways, which
# does not read strings, shows that no string was overlooked.
use strict;
use warnings;
use lib 'tests/perl';

use File::Find;
use MessagesPage;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RustStrings;
use Test::More;

# Strings of several words that no user sees, or only as a part of a message.
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

my @own = map { $_->{text} } grep { !$_->{others} } @TEXTS;
is(join("\n", @MALFORMED), '', 'an entry of the page has its level and SQLSTATE');
cmp_ok(scalar(grep { !$_->{others} } @ENTRIES), '>=', 60, 'the page has messages of flakeid');
cmp_ok(scalar(grep { $_->{others} } @ENTRIES), '>=', 20, 'the page has messages of PostgreSQL');
is(join(', ', map { $_->{text} } grep { !@{ $_->{states} } != ($_->{level} =~ /^p/) } @ENTRIES),
	'', 'each message has an SQLSTATE, unless a program prints it');

# the sources ----------------------------------------------------------------------------------

my %source;
find({ no_chdir => 1, wanted => sub { $source{$_} = slurp_file($_) if /\.rs\z/ } },
	'src', 'crates/flakeid-formats/src');
cmp_ok(scalar(keys %source), '>=', 30, 'the test finds the sources');

my (%strings, %found, %not_needed, @not_closed, @strings_of_c);
for my $file (sort keys %source) {
	my ($strings, $of_c, $code) = strings_of($source{$file});
	my %count;
	$count{$_}++ for $code =~ /[][(){}]/g;
	push @not_closed, $file
	  if $code =~ /"/
	  || grep { ($count{ $_->[0] } // 0) != ($count{ $_->[1] } // 0) }
	  ([qw/( )/], [qw/[ ]/], [qw/{ }/]);
	# Those of C describe settings.
	push @strings_of_c, map { "$file: $_->{text}" } grep { $_->{text} =~ /\w\s+\w/ } @$of_c
	  if $file !~ m{\Asrc/guc/};
	for my $string (@$strings) {
		my ($text, $before) = @$string{ 'text', 'before' };
		next unless $text =~ /\s/ && has_words($text);
		$strings{$file}{$text}++;
		$text = "internal error: entered unreachable code: $text"
		  if $before =~ /\bunreachable!\(\s*\z/;
		(exists $no_message{$text} ? $not_needed{$text} : $found{$text}) = $file;
	}
}
is("@not_closed", '', 'each source is read as code and strings: what it opens it closes');
is(join("\n", @strings_of_c), '', 'no source raises something by strings of C');
is(join("\n", grep { !$not_needed{$_} } sort keys %no_message),
	'', 'what is listed as no message is in the sources');

my @raising;
my $sql_file = sub {
	return unless /\.sql\z/;
	my $sql = slurp_file($_);
	# A file of SQL says this when psql reads it.
	$found{ $1 =~ s/\d+\.\d+\.\d+/{version}/r } = $_ if $sql =~ /^\\echo (.*) \\quit$/m;
	push @raising, $_ if $sql =~ /\bRAISE\b/i;
};
find({ no_chdir => 1, wanted => $sql_file }, 'sql');
is("@raising", '', 'no file of SQL raises something itself');

# The known ways of raising, and the level and SQLSTATE that they come with.
my $string = qr/(?:format!\(\s*)?"((?:[^"\\]|\\.)*)"/s;
my $invalid = qr/WARNING,\s*PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE/;
my @ways = (
	[qr/\b(?:Report|Self)::(?:new\(\s*[\w:]+,|wrong_state\()\s*$string/],
	[qr/\.(?:set_)?(?:detail|hint)\(\s*$string/],
	[qr/\b(?:ErrorReport::new\(\s*[\w:]+,|errmsg\(|errdetail\(|errhint\()\s*$string/],
	[ qr/\b(?:error|panic|todo|unimplemented|FATAL|PANIC)!\(\s*$string/ => 'ERROR XX000' ],
	[ qr/\bunreachable!\(\s*$string/, 'ERROR XX000', 'internal error: entered unreachable code: ' ],
	[ qr/\bassert(?:_eq|_ne)?!\([^;"]*?$string/ => 'ERROR XX000' ],
	[ qr/\bwarning!\(\s*$string/ => 'WARNING 01000' ],
	[ qr/\bnotice!\(\s*$string/ => 'NOTICE 00000' ],
	[qr/\b(?:info|log|debug\d)!\(\s*$string/],
	[ qr/\bereport!\(\s*$invalid,\s*$string/ => 'WARNING 22023' ],
	[qr/\bereport!\([^;"]*?$string/],
	[ qr/(?<!\w)(?<!fn )log\(\s*$string/ => 'LOG 00000' ],
	[ qr/(?<!\w)(?<!fn )warn\(\s*$string/ => 'WARNING 55000' ],
	[ qr/\.write\(\s*\|\|\s*$string/ => 'LOG 00000' ],
	[qr/\b(?:Err|Because|Internal|Damaged)\(\s*$string/],
	[qr/\.(?:ok_or|ok_or_else|map_err|expect)\(\s*(?:\|[^|]*\|\s*)?$string/],
	[qr/\bspelling:\s*$string/],
	[qr/=>\s*\{?\s*$string/],);
my $ways_used = 0;
my (%comes_with, @overlooked, @too_few);
for my $file (sort keys %source) {
	(my $source = $source{$file}) =~ s{^\s*//.*$}{}mg;
	my %named;
	for (@ways) {
		my ($way, $with, $prefix) = @$_;
		while ($source =~ /$way/g) {
			my $text = unescaped($1);
			# Not all arms of a match are messages, and variables make up some parts.
			next unless has_words($text) && ($text =~ /\s/ || $way !~ /=>/);
			$named{$text}++;
			$ways_used++;
			$comes_with{ ($prefix // '') . $text }{$with} = 1 if defined $with;
		}
	}
	push @overlooked, map { "$file: $_" } grep { !$strings{$file}{$_} } sort keys %named;
	my $strings = 0;
	$strings += $_ for values %{ $strings{$file} };
	push @too_few, $file if $strings < keys %named;
}
is(join("\n", @overlooked), '', 'what a source raises is among its strings of several words');
is("@too_few", '', 'each source has at least as many strings as it raises');
cmp_ok($ways_used, '>=', 150, 'the test finds many places that raise something');

# both ways ------------------------------------------------------------------------------------

my @not_on_page = grep {
	my $pattern = pattern_of($_);
	!grep { /(?<!\w)$pattern(?!\w)/ } @own
} sort keys %found;
is(join("\n", map { "$found{$_}: $_" } @not_on_page), '', 'the page has each text of the sources');
my @patterns = map { my $pattern = pattern_of($_); qr/\A$pattern\z/ } sort keys %found;
my @not_in_sources = grep {
	my $text = $_;
	!grep { $text =~ $_ } @patterns
} @own;
is(join("\n", @not_in_sources), '', 'the sources have each text of the page');

my @actions = map { /\b(?:denied|failed)\("([^"]+)"\)/g } values %source;
cmp_ok(scalar @actions, '>=', 9, 'the sources deny several actions on the state file');
my %is_own = map { $_ => 1 } @own;
is(join(', ', grep { !$is_own{"could not $_ state file \"…\": …"} } @actions),
	'', 'each action on the state file has an entry');

# levels and SQLSTATEs -------------------------------------------------------------------------

my $node = PostgreSQL::Test::Cluster->new('messages');
$node->init;
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION state_of(condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING ERRCODE = condition;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SQL
my %state_of;
my $report = qr/\b(?:Report|Self)::(?:new\(\s*Code::ERRCODE_(\w+),|wrong_state\()\s*$string/;
for my $source (map { $source{$_} } sort keys %source) {
	while ($source =~ /$report/g) {
		my ($condition, $text) = ($1 // 'OBJECT_NOT_IN_PREREQUISITE_STATE', unescaped($2));
		$state_of{$condition} //=
		  $node->safe_psql('postgres', "SELECT state_of(lower('$condition'))");
		$comes_with{$text}{"ERROR $state_of{$condition}"} = 1;
	}
}
$node->stop;
cmp_ok(scalar(keys %comes_with), '>=', 60, 'the sources name levels and SQLSTATEs');

my %entered;
my $fixed = sub { length($_[0] =~ s/\{[\w.:]*\}//gr) };
for my $entry (grep { !$_->{others} } @ENTRIES) {
	my @fitting =
	  grep { my $pattern = pattern_of($_); exists $found{$_} && $entry->{text} =~ /\A$pattern\z/ }
	  sort keys %comes_with;
	# Of several texts that fit the entry, it is the one with the most words of its own.
	my ($text) = sort { $fixed->($b) <=> $fixed->($a) } @fitting;
	next unless defined $text;
	$entered{$_} = 1 for @fitting;
	is_deeply({ map { ("$entry->{level} $_" => 1) } @{ $entry->{states} } },
		$comes_with{$text}, "the page has the level and SQLSTATE of: $entry->{text}");
}
is( join("\n", grep { exists $found{$_} && !$entered{$_} } sort keys %comes_with),
	'invalid input syntax',
	'each text with a level has an entry, except one that is a part of others');

done_testing();
