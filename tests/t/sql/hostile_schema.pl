# The extension is trusted: a user who may create objects in a database can install it, and its scripts run as superuser.
# Here the owner of a database, who is no superuser, fills the extension's schema with traps first: a function, an
# operator and a type for every name that the scripts use, with the argument types that PostgreSQL might prefer. A
# trap that is called records who called it, and makes the owner a superuser if it can. None is ever called, and
# nothing of the extension depends on one: after a fresh install, after one of 0.6.0, and after an update.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('hostile',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
autovacuum = off
max_locks_per_transaction = 2000
END
$node->start;

# Runs a script as the owner of the database, who is no superuser.
sub as_owner {
	my ($database, $sql) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir('script') . '/script.sql';
	append_to_file($file, $sql);
	my ($result, $out, $error) =
	  $node->psql($database, "\\i $file\n", extra_params => [ '-U', 'eve' ], on_error_stop => 1);
	return ($result, $error);
}

# the names that the scripts use -----------------------------------------------------------------------------

chomp(my $sharedir = `pg_config --sharedir`);
my $scripts = join "\n", map { slurp_file($_) }
  sort glob "'$sharedir/extension/flakeid--*.sql' sql/released/flakeid--0.6.0.sql";
die "no scripts of flakeid in $sharedir/extension\n" unless $scripts;
# Beside them what 0.6.0 used when it was released.
my %calls = (format => { 2 => 1 }, current_setting => { 1 => 1 });
my %names = map { $_ => 1 } keys %calls;
my %operators = map { $_ => 1 } qw(< <= = >= > <> <@ @> ||);
$scripts =~ s/--.*//g;
$scripts =~ s/'(?:[^']|'')*'/''/g;
$names{ lc $1 } = 1 while $scripts =~ /\b([a-z_]\w*)\s*\(/gi;
$operators{$1} = 1 while $scripts =~ /(?<![<>=@|+\-*\/&#%!~^])([<>=@|+\-*\/&#%!~^]+)(?=[\s,;)])/g;
delete @operators{qw(* - -- =>)};

# How many arguments a text that begins within a call's parentheses has.
sub arity {
	my ($text) = @_;
	my ($depth, $commas, $any) = (0, 0, 0);
	for my $char (split //, $text) {
		last if $char eq ')' && $depth == 0;
		$any = 1 if $char =~ /\S/;
		$depth++ if $char eq '(';
		$depth-- if $char eq ')';
		$commas++ if $char eq ',' && $depth == 0;
	}
	return $any ? $commas + 1 : 0;
}

# What runs: bodies, views, and queries of the scripts themselves.
for
  my $code ($scripts =~ /(\bRETURN\b.*?;|\bBEGIN\b.*?\bEND\b|\bAS\s+SELECT\b.*?;|^SELECT\b.*?;)/gms)
{
	while ($code =~ /\b([a-z_]\w*)\s*\(/g) {
		$calls{$1}{ arity(substr $code, pos $code) } = 1;
	}
}
cmp_ok(scalar keys %names, '>', 200, 'the scripts are read: ' . keys(%names) . ' names');
cmp_ok(scalar keys %calls, '>', 40, '... of which ' . keys(%calls) . ' are called');

# what the extension itself makes, which no trap can be in the place of ------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE innocent');
my %ours;
my %our_types;
for my $sql ("CREATE EXTENSION flakeid VERSION '0.6.0'", 'ALTER EXTENSION flakeid UPDATE') {
	$node->safe_psql('innocent', $sql);
	$ours{$_} = 1 for split /\n/, $node->safe_psql('innocent', <<'SQL');
SELECT proname || '(' || array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t), ',') || ')'
FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL
SELECT oprname || '(' || format_type(oprleft, NULL) || ',' || format_type(oprright, NULL) || ')'
FROM pg_operator WHERE oprnamespace = 'public'::regnamespace
SQL
	$our_types{$_} = 1
	  for split /\n/,
	  $node->safe_psql('innocent',
		"SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace");
}

# traps ----------------------------------------------------------------------------------------------------------

my @polymorphic =
  qw(anyelement anynonarray anyarray anyrange anycompatible anycompatiblenonarray anycompatiblerange);
my @types = (
	'text', 'character varying',
	'name', '"char"',
	'bytea', 'bigint',
	'integer', 'smallint',
	'numeric', 'double precision',
	'boolean', 'oid',
	'timestamp with time zone', 'timestamp without time zone',
	'date', 'interval',
	'tstzrange', 'jsonb',
	'uuid', @polymorphic);
my @for_two = (
	'text', 'timestamp with time zone',
	'interval', 'tstzrange', 'uuid', 'bigint', 'integer', 'boolean', 'anyelement', 'anynonarray',
	'anyrange', 'anycompatible', 'anycompatiblerange');
my %candidates = (
	0 => [],
	1 => \@types,
	2 => \@for_two,
	3 => [
		'text', 'timestamp with time zone', 'interval', 'tstzrange',
		'boolean', 'anyelement', 'anycompatible'
	],
	4 => [ 'text', 'timestamp with time zone', 'interval', 'anyelement' ]);
my %returned = (
	format => 'text',
	current_setting => 'text',
	tstzrange => 'tstzrange',
	make_interval => 'interval',
	map { ("${_}_timestamp" => 'timestamp with time zone') }
	  qw(flake sno flake128 guid guid_local uniqueid uuidv7));

# All lists of so many of these.
sub lists {
	my ($length, @of) = @_;
	return [] if $length == 0;
	return map {
		my $first = $_;
		map { [ $first, @$_ ] } lists($length - 1, @of)
	} @of;
}

sub function_trap {
	my ($name, $arguments) = @_;
	my $signature = "$name($arguments)";
	return () if $ours{$signature};
	my $returned = $returned{$name} || 'boolean';
	return <<"SQL";
CREATE FUNCTION ids.$signature RETURNS $returned LANGUAGE plpgsql AS 'BEGIN PERFORM traps.spring(\$\$$signature\$\$); RETURN NULL; END';
SQL
}

my $nr = 0;

sub operator_trap {
	my ($operator, $left, $right) = @_;
	return () if $ours{"$operator($left,$right)"};
	$nr++;
	return <<"SQL";
CREATE FUNCTION traps.operator_$nr($left, $right) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM traps.spring(\$\$$left $operator $right\$\$); RETURN NULL; END';
CREATE OPERATOR ids.$operator (LEFTARG = $left, RIGHTARG = $right, FUNCTION = traps.operator_$nr);
SQL
}

# typename('literal') is a cast to a type of that name, unless a function takes exactly that.
sub type_trap {
	my ($schema, $name, $base) = @_;
	return () if $our_types{$name};
	return
	  qq{CREATE DOMAIN $schema."$name" AS $base CHECK (traps.spring('a cast to $name') IS NULL);\n};
}

my %builtin = (
	text => 'text',
	timestamptz => 'timestamptz',
	tstzrange => 'tstzrange',
	interval => 'interval',
	int8 => 'int8',
	int4 => 'int4',
	bool => 'bool',
	oid => 'oid',
	bytea => 'bytea',
	jsonb => 'jsonb');
my @traps;
for my $name (sort keys %names) {
	my %made;
	for my $arity (sort keys %{ $calls{$name} || {} }) {
		$made{ join ',', @$_ } = 1 for lists($arity, @{ $candidates{$arity} });
		$made{ join ',', ($_) x $arity } = 1 for $arity ? @types : ();
	}
	$made{$_} = 1
	  for 'text', 'anyelement', 'text,text', 'anyelement,anyelement', 'VARIADIC text[]',
	  'VARIADIC anyarray', 'text,VARIADIC anyarray';
	# The same signature.
	delete $made{anyarray};
	# Without arguments these would be as good as ours.
	delete @made{ grep { /^VARIADIC/ } keys %made } if $calls{$name} && $calls{$name}{0};
	push @traps, map { function_trap($name, $_) } sort keys %made;
	push @traps, type_trap('ids', $name, 'text') unless $builtin{$name};
}
push @traps, map { type_trap('ids', $_, "pg_catalog.$builtin{$_}") } sort keys %builtin;
for my $operator (sort keys %operators) {
	push @traps, map { operator_trap($operator, @$_) } lists(2, @for_two);
}
note(scalar(@traps) . ' traps');

$node->safe_psql('postgres', 'CREATE ROLE eve LOGIN');
$node->safe_psql('postgres', 'CREATE DATABASE hostile OWNER eve');
my $set_up = <<'SQL';
CREATE SCHEMA ids;
CREATE SCHEMA traps;
GRANT USAGE ON SCHEMA traps TO PUBLIC;
CREATE TABLE traps.sprung (trap text, by text, superuser boolean);
GRANT INSERT ON traps.sprung TO PUBLIC;
CREATE FUNCTION traps.spring(trap text) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	super boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
BEGIN
	INSERT INTO traps.sprung VALUES (trap, current_user, super);
	IF super THEN
		ALTER ROLE eve SUPERUSER;
	END IF;
	RAISE WARNING 'trap %, called by %', trap, current_user;
	RETURN NULL;
END $$;
BEGIN;
SET search_path = pg_catalog;
SQL
my ($result, $error) = as_owner('hostile', join '', $set_up, @traps, "COMMIT;\n");
is($result, 0, 'the owner of a database sets traps in a schema') or BAIL_OUT($error);

# what the extension depends on -------------------------------------------------------------------------------

# The extension's objects and their parts; and what those name that is neither of them nor PostgreSQL's own, of
# which pg_depend tells nothing.
my $foreign = <<'SQL';
SET search_path = pg_catalog;
WITH RECURSIVE member (classid, objid) AS (
	SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid') AND deptype = 'e'
	UNION
	SELECT d.classid, d.objid FROM member JOIN pg_depend AS d ON d.refclassid = member.classid AND d.refobjid = member.objid
	WHERE d.deptype IN ('i', 'a')),
named AS (
	SELECT d.classid, d.objid, d.refclassid, d.refobjid, d.refobjsubid FROM member JOIN pg_depend AS d USING (classid, objid)
	UNION ALL
	SELECT classid, objid, 'pg_operator'::regclass, other, 0
	FROM member JOIN pg_operator ON classid = 'pg_operator'::regclass AND oid = objid, unnest(ARRAY[oprcom, oprnegate]) AS other
	WHERE other <> 0
	UNION ALL
	SELECT classid, objid, 'pg_proc'::regclass, other, 0
	FROM member JOIN pg_operator ON classid = 'pg_operator'::regclass AND oid = objid, unnest(ARRAY[oprcode::oid, oprrest, oprjoin]) AS other
	WHERE other <> 0)
SELECT DISTINCT pg_describe_object(classid, objid, 0) || ' -> ' || pg_describe_object(refclassid, refobjid, refobjsubid)
FROM named
WHERE (refclassid, refobjid) NOT IN (SELECT classid, objid FROM member)
	AND refclassid NOT IN ('pg_extension'::regclass, 'pg_namespace'::regclass)
	AND (pg_identify_object(refclassid, refobjid, 0)).schema IS DISTINCT FROM 'pg_catalog'
	AND NOT (refclassid = 'pg_proc'::regclass AND (SELECT pronamespace FROM pg_proc WHERE oid = refobjid) = 'pg_catalog'::regnamespace)
	AND NOT (refclassid = 'pg_operator'::regclass AND (SELECT oprnamespace FROM pg_operator WHERE oid = refobjid) = 'pg_catalog'::regnamespace)
ORDER BY 1
SQL

# Calls each function of the extension that is written in SQL or that the planner replaces, and reads its views, with the
# names of the caller all qualified: what is called besides is what their bodies name, or the replacement. The planner does
# not replace a call of constants.
my $use_all = <<'SQL';
SET search_path = pg_catalog;
DO $$
DECLARE
	f record;
	a text;
	called integer := 0;
BEGIN
	FOR f IN
		SELECT p.oid, p.proname, p.proargtypes::oid[] AS types FROM pg_proc AS p JOIN pg_depend AS d
			ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		WHERE p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql')
			OR p.prosupport::regproc::text ~ 'flakeid_(before|until|at|since|after|not_at|within|between)_support'
	LOOP
		FOREACH a IN ARRAY ARRAY['false', 'true'] LOOP
			EXECUTE (
				SELECT 'SELECT ids.' || f.proname || '(' || coalesce(string_agg('(SELECT ' ||
					CASE type
						WHEN 'timestamptz'::regtype THEN 'timestamptz ' || quote_literal(('{2026-01-01,2026-01-05,1970-01-01}'::text[])[nth])
						WHEN 'tstzrange'::regtype THEN 'tstzrange ''[2026-01-01,2026-02-01)'''
						WHEN 'interval'::regtype THEN 'interval ''1 day'''
						WHEN 'boolean'::regtype THEN a
						WHEN 'bigint'::regtype THEN 'bigint ''7000000000000000000'''
						WHEN 'uuid'::regtype THEN 'ids.uuidv7_min(timestamptz ''2026-01-02'')'
						ELSE 'ids.' || typname || CASE
							WHEN typname = 'flakeid_times' THEN ' ''[2026-01-01,2026-02-01)'''
							WHEN typname IN ('flake', 'timed_flake') THEN ' ''7000000000000000000'''
							WHEN typname LIKE 'guid%' THEN '_min(timestamptz ''2026-01-02'', interval ''1 day'')'
							ELSE '_min(timestamptz ''2026-01-02'')' END
					END || ')', ', ' ORDER BY ord), '') || ')'
				FROM (SELECT type, typname, ord, row_number() OVER (PARTITION BY type ORDER BY ord) AS nth
					FROM unnest(f.types) WITH ORDINALITY AS t (type, ord) JOIN pg_type ON pg_type.oid = type) AS arguments);
			called := called + 1;
		END LOOP;
	END LOOP;
	IF called < 100 THEN
		RAISE 'only % calls', called;
	END IF;
END $$;
SELECT count(*) > 0 FROM ids.flake_next_batch(10), ids.sno_next_batch(10), ids.guid_next_batch(10);
SELECT count(*) > 0 FROM ids.pg_stat_flakeid;
SELECT count(*) FROM ids.pg_stat_flakeid_lease;
SQL

# Tests that no trap of a database was sprung, that none is depended on, and that using the extension springs none.
sub is_clean {
	my ($database, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, 'SELECT DISTINCT trap, by FROM traps.sprung'),
		'', "$test: no trap is called");
	is($node->safe_psql($database, "SELECT rolsuper FROM pg_roles WHERE rolname = 'eve'"),
		'f', '... the owner has not become superuser');
	is($node->safe_psql($database, $foreign),
		'', '... nothing depends on what is not of the extension');
	my ($used, $out, $said) = $node->psql($database, $use_all, on_error_stop => 1);
	is($used, 0, '... the extension works') or diag($said);
	is($node->safe_psql($database, 'SELECT DISTINCT trap, by FROM traps.sprung'),
		'', '... and calls no trap');
	return;
}

# A type or function in the session's temporary schema is a trap as well.
my $temporary = join '', "CREATE TEMP TABLE began (); SET search_path = pg_catalog;\n",
  ( map { type_trap('pg_temp', $_, 'pg_catalog.text') } 'flakeid_require_library',
	'sno', 'guid', 'int4'),
  "CREATE FUNCTION pg_temp.format(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM traps.spring(\$\$temporary\$\$); RETURN NULL; END';\n",
  "RESET search_path;\n";

# Copies the database with the traps, and installs the extension in it.
sub install {
	my ($database, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE hostile OWNER eve");
	($result, $error) =
	  as_owner($database, "${temporary}CREATE EXTENSION flakeid SCHEMA ids $version");
	is($result, 0, "$database: the owner installs the extension among the traps") or diag($error);
	unlike($error, qr/trap/, '... which are not called');
	return;
}

install('fresh', '');
is_clean('fresh', 'a fresh install');

install('older', "VERSION '0.6.0'");
is_clean('older', '0.6.0');

# Once the types are there, traps can have them as arguments, too: also where a function of ours has a default.
my @own = qw(sno flake128 guid guid_local uniqueid);
my @later;
for my $name (sort keys %calls) {
	for my $type (map { "ids.$_" } @own) {
		(my $bare = $type) =~ s/^ids\.//;
		for my $arguments ([$type], map { [ $type, $_ ], [ $_, $type ] } 'anyelement',
			'text', 'timestamp with time zone', 'tstzrange')
		{
			next unless $calls{$name}{ scalar @$arguments };
			next if $ours{ "$name(" . join(',', map { s/^ids\.//r } @$arguments) . ')' };
			push @later, function_trap($name, join ',', @$arguments);
		}
	}
}
for my $operator (sort keys %operators) {
	for my $type (@own) {
		for my $other ('anyelement', 'text', 'timestamp without time zone', 'integer') {
			push @later, operator_trap($operator, "ids.$type", $other),
			  operator_trap($operator, $other, "ids.$type");
		}
	}
}
my $later = join '', "BEGIN;\nSET search_path = pg_catalog;\n", @later, "COMMIT;\n";
($result, $error) = as_owner('older', $later);
is($result, 0, 'the owner of a database with 0.6.0 sets ' . @later . ' more traps') or diag($error);
($result, $error) = as_owner('older', "${temporary}ALTER EXTENSION flakeid UPDATE");
is($result, 0, '... and updates') or diag($error);
unlike($error, qr/trap/, '... which calls none of them');
is_clean('older', '0.6.0, updated');

# an installation that has taken traps ---------------------------------------------------------------------------

# What 0.6.0 said when it was released, of the functions that could take other functions for PostgreSQL's.
sub released {
	my ($type) = @_;
	my $sql = '';
	for my $operator (
		[ 'lt', '<', '(NULL, "time")' ],
		[ 'le', '<=', q{(NULL, "time", '(]')} ],
		[ 'ge', '>=', '("time", NULL)' ],
		[ 'gt', '>', '("time", NULL)' ])
	{
		my ($name, $symbol, $arguments) = @$operator;
		$sql .= <<"SQL";
CREATE OR REPLACE FUNCTION ${type}_${name}_time(id $type, "time" timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ${type}_near(id, CASE WHEN "time" IS NOT NULL THEN tstzrange$arguments END) AND flakeid_recheck(${type}_timestamp(id) $symbol "time");
SQL
	}
	return $sql . <<"SQL";
CREATE OR REPLACE FUNCTION ${type}_within(id $type, times tstzrange, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false)
	RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN id >= ${type}_range_min(times, drift, inverse) AND id <= ${type}_range_max(times, drift, inverse)
		AND flakeid_recheck(${type}_timestamp(id, inverse) <@ times);
CREATE OR REPLACE FUNCTION ${type}_in_times(id $type, times tstzrange) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ${type}_near(id, times) AND flakeid_recheck(${type}_timestamp(id) <@ times);
CREATE OR REPLACE FUNCTION ${type}_partition_bounds(
		"from" timestamptz, "to" timestamptz, step interval, drift interval DEFAULT '274 seconds', inverse boolean DEFAULT false)
	RETURNS TABLE (name text, starts timestamptz, ends timestamptz, lower $type, upper $type)
	LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
	BEGIN ATOMIC
		SELECT times.name, times.starts, times.ends,
			CASE WHEN inverse THEN ${type}_range_min(tstzrange(NULL, times.ends), drift, true) ELSE ${type}_min(times.starts, drift) END,
			CASE WHEN inverse THEN ${type}_range_min(tstzrange(NULL, times.starts), drift, true) ELSE ${type}_min(times.ends, drift) END
		FROM flakeid_partition_times("from", "to", step) AS times;
	END;
SQL
}

install('taken', "VERSION '0.6.0'");
# As a script of the extension ran: as superuser, with the schema as its path.
$node->safe_psql('taken',
	'SET search_path = ids, pg_temp; ' . released('guid') . released('guid_local'));
my $functions =
	'WITH f AS ('
  . ($foreign =~ s/^SET.*?;\n//r =~ s/ORDER BY 1\n//r) . ') '
  . "SELECT count(DISTINCT split_part(d, ' -> ', 1)) FROM f AS f (d)";
is($node->safe_psql('taken', "SET search_path = pg_catalog; $functions"),
	'14', 'as released, 14 functions of 0.6.0 take traps');
my ($used, undef, $said) = $node->psql('taken',
	q{SET search_path = pg_catalog; SELECT ids.guid_in_times(ids.guid_min(timestamptz '2026-01-02', interval '1 day'), tstzrange '[2026-01-01,2026-02-01)')}
);
like($said, qr/trap timestamp with time zone <@ tstzrange, called by/, '... and call them');
$node->safe_psql('taken', 'DELETE FROM traps.sprung; ALTER ROLE eve NOSUPERUSER');
($result, $error) = as_owner('taken', "${temporary}ALTER EXTENSION flakeid UPDATE");
is($result, 0, '... until the extension is updated') or diag($error);
is_clean('taken', 'repaired');

$node->stop;
done_testing();
