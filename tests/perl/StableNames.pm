# The names of flakeid that applications, dashboards and scripts write, as the catalog and the files
# of docs/monitoring have them. docs/stability.md has the same lines under the same headings.
package StableNames;

use strict;
use warnings;

use CPAN::Meta::YAML;
use Exporter   qw(import);
use File::Find ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(stable_names called_by_nobody);

my $member = <<'SQL';
SELECT objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid') AND classid =
SQL
my $kind = qr/\b(flake128|flake|sno|guid_local|guid|uniqueid|uuidv7)\b(?!_)/;

# Functions that are no interface, although nothing in the catalog shows it.
my $internal = <<'SQL';
proname ~ '_recheck$|_to_timestamptz$|_(eq|ne|lt|le|gt|ge|in)_times?$|^times?_|^flakeid_get_|_get_'
OR proname IN ('flakeid_require_library', 'flakeid_partition_times', 'flakeid_no_arithmetic')
OR pronargs > 0 AND proargnames IS NULL
OR proargtypes::oid[] && ARRAY['internal'::regtype::oid, 'cstring'::regtype]
SQL

# For each heading a query.
my %query = (
	'Functions' => <<"SQL",
SELECT CASE WHEN proname !~ '^flakeid_|^pg_' THEN substring(proname, '^(guid_local|[^_]+)') END,
	proname, format('(%s) -> %s', pg_get_function_arguments(oid), CASE
		WHEN prokind = 'p' THEN 'CALL'
		WHEN proargmodes \@> '{o}' THEN CASE WHEN proretset THEN 'rows' ELSE 'row' END
		ELSE pg_get_function_result(oid) END)
FROM pg_proc WHERE oid IN ($member 'pg_proc'::regclass) AND prokind <> 'a' AND NOT ($internal)
SQL
	'Types' => <<"SQL",
SELECT '', oid::regtype, (SELECT string_agg(' ' || enumlabel, '' ORDER BY enumsortorder)
	FROM pg_enum WHERE enumtypid = pg_type.oid)
FROM pg_type WHERE oid IN ($member 'pg_type'::regclass) AND typtype IN ('b', 'e') AND typelem = 0
SQL
	'Operators' => <<"SQL",
SELECT substring(concat(oprleft::regtype, ' ', oprright::regtype),
		'flake128|sno|guid_local|guid|uniqueid|flake(?!id)'),
	'', format('%s %s %s', oprleft::regtype, oprname, oprright::regtype)
FROM pg_operator WHERE oid IN ($member 'pg_operator'::regclass)
AND oprcode NOT IN (SELECT oid FROM pg_proc WHERE proname = 'flakeid_no_arithmetic')
SQL
	'Casts' => <<"SQL",
SELECT '', '', format('%s -> %s, %s', castsource::regtype, casttarget::regtype, CASE castcontext
	WHEN 'i' THEN 'implicit' WHEN 'a' THEN 'in assignments' ELSE 'explicit' END)
FROM pg_cast WHERE oid IN ($member 'pg_cast'::regclass)
SQL
	'Operator classes and aggregates' => <<"SQL",
SELECT opcintype::regtype, '', format('USING %s (… %s)%s', amname, opcname,
	CASE WHEN opcdefault THEN ', the default' END)
FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod
WHERE pg_opclass.oid IN ($member 'pg_opclass'::regclass)
UNION ALL SELECT prorettype::regtype, '', format('%s(%s)', proname, prorettype::regtype)
FROM pg_proc WHERE oid IN ($member 'pg_proc'::regclass) AND prokind = 'a'
SQL
	'Views' => <<"SQL",
SELECT '', relname, ' ' || string_agg(format('%s %s', attname, atttypid::regtype), ', '
	ORDER BY attnum)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE pg_class.oid IN ($member 'pg_class'::regclass) GROUP BY relname
SQL
	'Settings' => <<'SQL',
SELECT '', name,
	concat(' = ', quote_literal(boot_val), ', ', vartype, ' in ' || unit, ', ', context)
FROM pg_settings
WHERE name LIKE 'flakeid.%'
SQL
	'Keys of flakeid_identity()' => <<'SQL',);
WITH RECURSIVE keys (path, value) AS (
	SELECT key, value FROM jsonb_each(flakeid_identity())
	UNION ALL SELECT concat(path, '.', key), object.value FROM keys, jsonb_each(
		CASE jsonb_typeof(keys.value) WHEN 'object' THEN keys.value ELSE '{}' END) AS object)
SELECT '', path, ' ' || jsonb_typeof(value) FROM keys
SQL

# Returns for each heading its lines. They have X for the ID type, and ID for its values' type.
sub stable_names {
	my ($node) = @_;
	my %lines;
	for my $heading (keys %query) {
		my %kinds_of;
		for (split /\n/, $node->safe_psql('postgres', $query{$heading})) {
			my ($x, $name, $rest) = split /\|/, $_, 3;
			my $line = "$name$rest" =~ s/timestamp with time zone/timestamptz/gr;
			$line =~ s/ DEFAULT (NULL|'[^']*'|\w+)(?:::\w+)?/ = $1/g;
			$line =~ s/"|\bIN (?=\w)|timed_(?=flake\b)//g;
			$line =~ s/flakeid_times/tstzrange/g;
			my %id = (flake => 'bigint', uuidv7 => 'uuid');
			if (my $id = $heading eq 'Functions' && $id{$x}) {
				$line =~ s/\bid $id\b/id ID/;
				$line =~ s/\b(lower|upper) $id\b/$1 ID/g;
				$line =~ s/(-> (?:SETOF )?)$id$/$1ID/ unless $name =~ /_to_/;
			}
			elsif ($heading eq 'Functions' && $x) {
				$line =~ s/(?<= )$x\b(?!_)/ID/g;
			}
			$line =~ s/\b$x(?![a-z0-9])/X/g if $x;
			push @{ $kinds_of{$line} }, $x || ();
		}
		$lines{$heading} = [
			map {
				join ' ', $_, map { "[$_]" } join(' ', sort @{ $kinds_of{$_} })
				  || ()
			  }
			  keys %kinds_of
		];
	}
	$lines{'Metrics and alerts'} = [ metrics_and_alerts() ];
	$lines{'Names outside of SQL'} = [ outside_of_sql() ];
	@$_ = sort @$_ for values %lines;
	return %lines;
}

sub metrics_and_alerts {
	my @lines = slurp_file('docs/monitoring/alerts.yaml') =~ /\balert: *(\w+)/g;
	for my $file ('postgres_exporter', 'consumers') {
		my $queries = CPAN::Meta::YAML->read("docs/monitoring/$file.yaml")->[0];
		for my $query (keys %$queries) {
			my %usage = map { %$_ } @{ $queries->{$query}{metrics} };
			my @labels = grep { $usage{$_}{usage} eq 'LABEL' } sort keys %usage;
			my $labels = @labels ? sprintf ' {%s}', join ', ', @labels : '';
			push @lines, map { "${query}_$_$labels \L$usage{$_}{usage}" }
			  grep { $usage{$_}{usage} ne 'LABEL' } keys %usage;
		}
	}
	return @lines;
}

# What the sources name: files, keys in etcd, messages in the WAL, channels, wait events,
# workers.
sub outside_of_sql {
	my $sources = '';
	File::Find::find({ no_chdir => 1, wanted => sub { $sources .= slurp_file($_) if -f } }, 'src');
	my %pattern = (
		'file in the data directory' => qr/"(flakeid\/\w+)\\?"/,
		'key in etcd' => qr/Key::\w+(?: \{.*?\}|\(\w+\))? => (?:format!\()?"([^"]+)"/,
		'message in the WAL' => qr/const PREFIX: &CStr = c"(\w+)"/,
		'channel of NOTIFY' => qr/const CHANNEL: &CStr = c"(\w+)"/,
		'backend type' => qr/\.set_type\("(flakeid \w+)"\)/,
		'wait event' => qr/c"(Flakeid\w+)"/,);
	my %lines;
	for my $what (keys %pattern) {
		$lines{"$what: $_"} = 1 for grep { defined } $sources =~ /$pattern{$what}/g;
	}
	return keys %lines;
}

# Returns the functions that are on no list, and that no other object of the extension uses.
# Operator classes use X_skipsupport from PostgreSQL 18 on.
sub called_by_nobody {
	my ($node) = @_;
	return $node->safe_psql('postgres', <<~"SQL");
		SELECT oid::regprocedure FROM pg_proc
		WHERE oid IN ($member 'pg_proc'::regclass) AND prokind <> 'a' AND ($internal)
		AND proname !~ '_skipsupport\$'
		AND NOT EXISTS (SELECT FROM pg_depend
			WHERE refclassid = 'pg_proc'::regclass AND refobjid = pg_proc.oid)
		ORDER BY proname COLLATE "C"
		SQL
}

1;
