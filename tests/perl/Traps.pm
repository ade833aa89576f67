# Traps in the schema into which a user installs the extension: a function, an operator and a type
# for every name that the extension's scripts use, with the argument types that PostgreSQL might
# prefer. A trap that is called records its caller, and makes its owner `eve` a superuser if it can.
package Traps;

use strict;
use warnings;

use Exporter qw(import);
use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(set_traps install is_clean succeeds_as_owner traps_of_types $FOREIGN);

my $node;

# Runs a script as the owner of the database, who is no superuser. Returns the exit code and errors.
sub _run_as_owner {
	my ($database, $sql) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir('script') . '/script.sql';
	append_to_file($file, $sql);
	my ($result, undef, $error) =
	  $node->psql($database, "\\i $file\n", extra_params => [ '-U', 'eve' ], on_error_stop => 1);
	return ($result, $error);
}

# the names that the scripts use -------------------------------------------------------------------

# `%calls` has the numbers of arguments with which a function is called. Beside the scripts it has
# what 0.6.0 called when it was released.
my %calls = (format => { 2 => 1 }, current_setting => { 1 => 1 });
my %names = map { $_ => 1 } keys %calls;
my %operators = map { $_ => 1 } qw(< <= = >= > <> <@ @> ||);

# Returns the number of arguments in a text that begins within a call's parentheses.
sub _arity {
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

sub _read_scripts {
	chomp(my $sharedir = `pg_config --sharedir`);
	my $installed = "'$sharedir/extension/flakeid--*.sql'";
	my $scripts = join "\n",
	  map { slurp_file($_) } sort glob "$installed sql/released/flakeid--0.6.0.sql";
	$scripts =~ s/--.*//g;
	$scripts =~ s/'(?:[^']|'')*'/''/g;
	$names{ lc $1 } = 1 while $scripts =~ /\b([a-z_]\w*)\s*\(/gi;
	my $sign = qr{[<>=@|+\-*/&#%!~^]};
	$operators{$1} = 1 while $scripts =~ /(?<!$sign)($sign+)(?=[\s,;)])/g;
	delete @operators{qw(* - -- =>)};
	# What runs: bodies, views, and queries of the scripts themselves.
	my $code = qr/\bRETURN\b.*?;|\bBEGIN\b.*?\bEND\b|\bAS\s+SELECT\b.*?;|^SELECT\b.*?;/ms;
	for my $code ($scripts =~ /($code)/g) {
		while ($code =~ /\b([a-z_]\w*)\s*\(/g) {
			$calls{$1}{ _arity(substr $code, pos $code) } = 1;
		}
	}
	cmp_ok(scalar keys %names, '>', 200, 'the scripts use hundreds of names');
	cmp_ok(scalar keys %calls, '>', 40, 'the scripts call tens of functions');
	return;
}

# What the extension itself creates, which no trap can be in the place of.
my (%is_ours, %is_our_type);

sub _list_own_objects {
	$node->safe_psql('postgres', 'CREATE DATABASE innocent');
	for my $sql ("CREATE EXTENSION flakeid VERSION '0.6.0'", 'ALTER EXTENSION flakeid UPDATE') {
		$node->safe_psql('innocent', $sql);
		$is_ours{$_} = 1 for split /\n/, $node->safe_psql('innocent', <<~'SQL');
			SELECT format('%s(%s)', proname, array_to_string(
				ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t), ','))
			FROM pg_proc WHERE pronamespace = 'public'::regnamespace
			UNION ALL
			SELECT concat(oprname, '(', format_type(oprleft, NULL), ',',
				format_type(oprright, NULL), ')')
			FROM pg_operator WHERE oprnamespace = 'public'::regnamespace
			SQL
		$is_our_type{$_} = 1 for split /\n/, $node->safe_psql('innocent', <<~'SQL');
			SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
			SQL
	}
	return;
}

# traps --------------------------------------------------------------------------------------------

my $timestamptz = 'timestamp with time zone';
my @polymorphic = qw(anyelement anynonarray anyarray anyrange anycompatible
  anycompatiblenonarray anycompatiblerange);
my @types = (
	'text', 'character varying', 'name', '"char"',
	'bytea', 'bigint', 'integer', 'smallint',
	'numeric', 'double precision', 'boolean', 'oid',
	$timestamptz, 'timestamp without time zone', 'date', 'interval',
	'tstzrange', 'jsonb', 'uuid', @polymorphic);
my @for_two = (
	'text', $timestamptz, 'interval', 'tstzrange',
	'uuid', 'bigint', 'integer', 'boolean',
	'anyelement', 'anynonarray', 'anyrange', 'anycompatible',
	'anycompatiblerange');
# The types of arguments, by the number of arguments that a function has.
my @candidates = (
	[], \@types, \@for_two,
	[ 'text', $timestamptz, 'interval', 'tstzrange', 'boolean', 'anyelement', 'anycompatible' ],
	[ 'text', $timestamptz, 'interval', 'anyelement' ]);
my %returned = (
	format => 'text',
	current_setting => 'text',
	tstzrange => 'tstzrange',
	make_interval => 'interval',
	map { ("${_}_timestamp" => $timestamptz) }
	  qw(flake sno flake128 guid guid_local uniqueid uuidv7));
my %builtin =
  map { $_ => $_ } qw(text timestamptz tstzrange interval int8 int4 bool oid bytea jsonb);

# Returns all lists of this length.
sub _lists {
	my ($length, @of) = @_;
	return [] if $length == 0;
	return map {
		my $first = $_;
		map { [ $first, @$_ ] } _lists($length - 1, @of)
	} @of;
}

sub _spring {
	my ($what) = @_;
	return "LANGUAGE plpgsql AS 'BEGIN PERFORM traps.spring(\$\$$what\$\$); RETURN NULL; END';\n";
}

sub _function_trap {
	my ($name, $arguments) = @_;
	my $signature = "$name($arguments)";
	return () if $is_ours{$signature};
	my $returned = $returned{$name} || 'boolean';
	return "CREATE FUNCTION ids.$signature RETURNS $returned " . _spring($signature);
}

my $nr = 0;

sub _operator_trap {
	my ($operator, $left, $right) = @_;
	return () if $is_ours{"$operator($left,$right)"};
	$nr++;
	return
		"CREATE FUNCTION traps.operator_$nr($left, $right) RETURNS boolean "
	  . _spring("$left $operator $right")
	  . "CREATE OPERATOR ids.$operator"
	  . " (LEFTARG = $left, RIGHTARG = $right, FUNCTION = traps.operator_$nr);\n";
}

# typename('literal') is a cast to a type of that name, unless a function takes exactly that.
sub _type_trap {
	my ($schema, $name, $base) = @_;
	return () if $is_our_type{$name};
	return
	  qq{CREATE DOMAIN $schema."$name" AS $base CHECK (traps.spring('a cast to $name') IS NULL);\n};
}

sub _traps {
	my @traps;
	for my $name (sort keys %names) {
		my %signatures = map { $_ => 1 } 'text', 'anyelement', 'text,text', 'anyelement,anyelement',
		  'VARIADIC text[]', 'VARIADIC anyarray', 'text,VARIADIC anyarray';
		for my $arity (keys %{ $calls{$name} || {} }) {
			$signatures{ join ',', @$_ } = 1 for _lists($arity, @{ $candidates[$arity] });
			$signatures{ join ',', ($_) x $arity } = 1 for $arity ? @types : ();
		}
		# That of VARIADIC anyarray is the same.
		delete $signatures{anyarray};
		# Without arguments these would be as good as ours.
		delete @signatures{ grep { /^VARIADIC/ } keys %signatures } if $calls{$name}{0};
		push @traps, map { _function_trap($name, $_) } sort keys %signatures;
		push @traps, _type_trap('ids', $name, 'text') unless $builtin{$name};
	}
	push @traps, map { _type_trap('ids', $_, "pg_catalog.$_") } sort keys %builtin;
	for my $operator (sort keys %operators) {
		push @traps, map { _operator_trap($operator, @$_) } _lists(2, @for_two);
	}
	return @traps;
}

# Returns these statements in parts of 200, each of which psql sends as one query. After each query
# a server with assertions checks all memory of the session, which grows with what its caches know.
sub _in_parts {
	my @statements = @_;
	my $sql = '';
	while (my @part = splice @statements, 0, 200) {
		$sql .= join('', @part) =~ s/;\n(?=.)/\\;\n/gr;
	}
	return $sql;
}

# Returns traps with the types of an installed extension as arguments, also where a function of ours
# has a default.
sub traps_of_types {
	my @own = qw(sno flake128 guid guid_local uniqueid);
	my @traps;
	for my $name (sort keys %calls) {
		for my $own (@own) {
			for my $arguments ([$own], map { [ $own, $_ ], [ $_, $own ] } 'anyelement',
				'text', $timestamptz, 'tstzrange')
			{
				my $signature = join ',', @$arguments;
				next if !$calls{$name}{ scalar @$arguments } || $is_ours{"$name($signature)"};
				push @traps, _function_trap($name, $signature =~ s/\b$own\b/ids.$own/r);
			}
		}
	}
	for my $operator (sort keys %operators) {
		for my $own (map { "ids.$_" } @own) {
			for my $other ('anyelement', 'text', 'timestamp without time zone', 'integer') {
				push @traps, _operator_trap($operator, $own, $other),
				  _operator_trap($operator, $other, $own);
			}
		}
	}
	return "SET search_path = pg_catalog;\n" . _in_parts(@traps);
}

# Starts a server, and sets the traps in its database `hostile`.
sub set_traps {
	my ($name) = @_;
	$node = PostgreSQL::Test::Cluster->new($name,
		install_path => Installation->new('released')->put_released->{path});
	$node->init;
	$node->append_conf('postgresql.conf', <<~'END');
		shared_preload_libraries = 'flakeid'
		autovacuum = off
		max_locks_per_transaction = 2000
		END
	$node->start;
	_read_scripts();
	_list_own_objects();
	$node->safe_psql('postgres', $_)
	  for 'CREATE ROLE eve LOGIN', 'CREATE DATABASE hostile OWNER eve';
	my $set_up = <<~'SQL';
		CREATE SCHEMA ids;
		CREATE SCHEMA traps;
		GRANT USAGE ON SCHEMA traps TO PUBLIC;
		CREATE TABLE traps.sprung (trap text, by text, superuser boolean);
		GRANT INSERT ON traps.sprung TO PUBLIC;
		CREATE FUNCTION traps.spring(trap text) RETURNS text LANGUAGE plpgsql
		SET search_path = pg_catalog AS $$
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
		SET search_path = pg_catalog;
		SQL
	my @traps = _traps();
	my ($result, $error) = _run_as_owner('hostile', $set_up . _in_parts(@traps));
	is($result, 0, 'the owner of a database sets traps in a schema') or BAIL_OUT($error);
	my $set = $node->safe_psql('hostile', <<~'SQL');
		SELECT (SELECT count(*) FROM pg_proc
				WHERE pronamespace IN ('ids'::regnamespace, 'traps'::regnamespace))
			+ (SELECT count(*) FROM pg_type
				WHERE typnamespace = 'ids'::regnamespace AND typtype = 'd')
		SQL
	is($set, @traps + 1, 'each trap is set, beside the function that all call');
	return $node;
}

# installations ------------------------------------------------------------------------------------

# A type or function in the session's temporary schema is a trap as well.
sub _temporary_traps {
	return join '', "CREATE TEMP TABLE began (); SET search_path = pg_catalog;\n",
	  ( map { _type_trap('pg_temp', $_, 'pg_catalog.text') } 'flakeid_require_library',
		'sno', 'guid', 'int4'),
	  'CREATE FUNCTION pg_temp.format(text, text) RETURNS text ', _spring('temporary'),
	  "RESET search_path;\n";
}

# Tests that the owner of a database can run a statement, with traps in the temporary schema, and
# that it calls no trap.
sub succeeds_as_owner {
	my ($database, $sql, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($result, $error) = _run_as_owner($database, _temporary_traps() . $sql);
	is($result, 0, "$test succeeds as owner") or diag($error);
	return unlike($error, qr/trap/, "$test warns of no trap");
}

# Copies the database with the traps, and installs the extension in it.
sub install {
	my ($database, $version) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE hostile OWNER eve");
	return succeeds_as_owner(
		$database,
		"CREATE EXTENSION flakeid SCHEMA ids $version",
		"$database: CREATE EXTENSION");
}

# A query for all that the extension's objects and their parts depend on, and that is neither of
# them nor PostgreSQL's own. pg_depend does not tell what an operator names.
our $FOREIGN = <<'SQL';
SET search_path = pg_catalog;
WITH RECURSIVE member (classid, objid) AS (
	SELECT classid, objid FROM pg_depend JOIN pg_extension ON refobjid = pg_extension.oid
	WHERE refclassid = 'pg_extension'::regclass AND extname = 'flakeid' AND deptype = 'e'
	UNION
	SELECT d.classid, d.objid
	FROM member JOIN pg_depend AS d ON d.refclassid = member.classid AND d.refobjid = member.objid
	WHERE d.deptype IN ('i', 'a')),
named AS (
	SELECT d.classid, d.objid, d.refclassid, d.refobjid, d.refobjsubid
	FROM member JOIN pg_depend AS d USING (classid, objid)
	UNION ALL
	SELECT classid, objid, 'pg_operator'::regclass, other, 0
	FROM member JOIN pg_operator ON classid = 'pg_operator'::regclass AND oid = objid,
		unnest(ARRAY[oprcom, oprnegate]) AS other
	WHERE other <> 0
	UNION ALL
	SELECT classid, objid, 'pg_proc'::regclass, other, 0
	FROM member JOIN pg_operator ON classid = 'pg_operator'::regclass AND oid = objid,
		unnest(ARRAY[oprcode::oid, oprrest, oprjoin]) AS other
	WHERE other <> 0)
SELECT DISTINCT pg_describe_object(classid, objid, 0) || ' -> '
	|| pg_describe_object(refclassid, refobjid, refobjsubid)
FROM named
LEFT JOIN pg_proc ON refclassid = 'pg_proc'::regclass AND pg_proc.oid = refobjid
LEFT JOIN pg_operator ON refclassid = 'pg_operator'::regclass AND pg_operator.oid = refobjid
WHERE (refclassid, refobjid) NOT IN (SELECT classid, objid FROM member)
	AND refclassid NOT IN ('pg_extension'::regclass, 'pg_namespace'::regclass)
	AND (pg_identify_object(refclassid, refobjid, 0)).schema IS DISTINCT FROM 'pg_catalog'
	AND coalesce(pronamespace, oprnamespace, 0) <> 'pg_catalog'::regnamespace
SQL

# Calls each function of the extension that is written in SQL or that the planner replaces, and
# reads its views, with the names of the caller all qualified. So what is called besides is what
# their bodies name, or the replacement. The planner does not replace a call of constants.
my $use_all = <<'SQL';
SET search_path = pg_catalog;
CREATE FUNCTION pg_temp.argument(type oid, nth bigint, a text) RETURNS text LANGUAGE sql AS $$
	SELECT format('(SELECT %s)', CASE type
		WHEN 'timestamptz'::regtype THEN format('timestamptz %L',
			('{2026-01-01,2026-01-05,1970-01-01}'::text[])[nth])
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
		END)
	FROM pg_type WHERE oid = type
$$;
DO $$
DECLARE
	f record;
	a text;
	arguments text;
	called integer := 0;
BEGIN
	FOR f IN
		SELECT p.oid, p.proname, p.proargtypes::oid[] AS types FROM pg_proc AS p
		JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		WHERE d.deptype = 'e' AND (p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql')
			OR p.prosupport::regproc::text
				~ 'flakeid_(before|until|at|since|after|not_at|within|between)_support')
	LOOP
		FOREACH a IN ARRAY ARRAY['false', 'true'] LOOP
			SELECT string_agg(pg_temp.argument(type, nth, a), ', ' ORDER BY ord) INTO arguments
			FROM (SELECT type, ord, row_number() OVER (PARTITION BY type ORDER BY ord) AS nth
				FROM unnest(f.types) WITH ORDINALITY AS t (type, ord)) AS numbered;
			EXECUTE format('SELECT ids.%I(%s)', f.proname, coalesce(arguments, ''));
			called := called + 1;
		END LOOP;
	END LOOP;
	IF called < 100 THEN
		RAISE 'only % calls', called;
	END IF;
END $$;
SELECT count(*) > 0
FROM ids.flake_next_batch(10), ids.sno_next_batch(10), ids.guid_next_batch(10);
SELECT count(*) > 0 FROM ids.pg_stat_flakeid;
SELECT count(*) FROM ids.pg_stat_flakeid_lease;
SQL

# Tests that no trap of a database was called, that nothing depends on one, and that using the
# extension calls none.
sub is_clean {
	my ($database, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $sprung = 'SELECT DISTINCT trap, by FROM traps.sprung';
	is($node->safe_psql($database, $sprung), '', "$what has called no trap");
	is($node->safe_psql($database, "SELECT rolsuper FROM pg_roles WHERE rolname = 'eve'"),
		'f', "$what has made no owner a superuser");
	is($node->safe_psql($database, $FOREIGN), '', "$what depends on no object but its own");
	my ($used, undef, $error) = $node->psql($database, $use_all, on_error_stop => 1);
	is($used, 0, "$what works") or diag($error);
	is($node->safe_psql($database, $sprung), '', "$what calls no trap when it is used");
	return;
}

1;
