# The life of the extension in its databases: in a schema of its own, moved to another, dropped and
# made again, made by who owns a database and is no superuser, and in many databases at once.
use strict;
use warnings;
use lib 'tests/perl';

use Installation;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('extension',
	install_path => Installation->new('released')->put_released->{path});
$node->init;
$node->append_conf('postgresql.conf', <<'END');
shared_preload_libraries = 'flakeid'
autovacuum = off
enable_seqscan = off
enable_bitmapscan = off
END
$node->start;

# What asks for the IDs of a time, as one range of the index; %s is where the extension is.
my @types = (
	{
		name => 'flake',
		type => 'bigint',
		next => '%sflake_next()',
		within => '%sflake_within(id, %%s)'
	},
	{ name => 'sno', type => '%ssno', next => '%ssno_next(7)', within => 'id OPERATOR(%s<@) %%s' },
	{
		name => 'flake128',
		type => '%sflake128',
		next => '%sflake128_next()',
		within => 'id OPERATOR(%s<@) %%s'
	},
	{
		name => 'guid',
		type => '%sguid',
		next => '%sguid_next()',
		within => '%sguid_within(id, %%s)'
	},
	{
		name => 'guid_local',
		type => '%sguid_local',
		next => '%sguid_local_next()',
		within => '%sguid_local_within(id, %%s)'
	},
	{
		name => 'uniqueid',
		type => '%suniqueid',
		next => '%suniqueid_next()',
		within => 'id OPERATOR(%s<@) %%s'
	},
	{
		name => 'uuidv7',
		type => 'uuid',
		next => '%suuidv7_next()',
		within => '%suuidv7_within(id, %%s)'
	},);
my @names = map { $_->{name} } @types;

# A type, or what makes its IDs, or asks for them, in a schema; where none is named, by the search
# path.
sub in_schema {
	my ($what, $schema) = @_;
	$what =~ s/OPERATOR\(%s(.*?)\)/$1/ unless $schema;
	return sprintf $what, $schema ? "$schema." : '';
}

# The condition that an ID is of the last hour.
sub lately {
	my ($type, $schema) = @_;
	my $range = q{tstzrange(now() - interval '1 hour', now() + interval '1 hour')};
	return sprintf in_schema($type->{within}, $schema), $range;
}

sub sql {
	my ($database, $sql) = @_;
	return $node->safe_psql($database, $sql);
}

# Tests that the condition is a range of the index with both of its ends, and that it finds so many
# rows.
sub finds {
	my ($ask, $query, $rows, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $plan = $ask->("EXPLAIN (COSTS OFF) $query");
	like($plan,
		qr/Index Cond: \(\(id (?:OPERATOR\([a-z]+\.)?>=.* AND \(id (?:OPERATOR\([a-z]+\.)?<=/,
		$test);
	is($ask->($query), $rows, '... and it finds them');
	return;
}

# a schema of its own --------------------------------------------------------------------------

sql('postgres', 'CREATE DATABASE apart');
sql('apart', 'CREATE SCHEMA ids; CREATE EXTENSION flakeid SCHEMA ids');
is( sql('apart',
		q{SELECT extnamespace::regnamespace, extrelocatable, extconfig IS NULL FROM pg_extension WHERE extname = 'flakeid'}
	),
	'ids|t|t',
	'the extension is in the schema that was asked for, can be moved, and has no tables to dump');
like(
	error_of($node, 'SELECT flake_next()', 'apart'),
	qr/42883: function flake_next\(\) does not exist/,
	'... where it is not on the path it is not found');
for my $type (@types) {
	my ($name, $id_type, $next) =
	  ($type->{name}, in_schema($type->{type}, 'ids'), in_schema($type->{next}, 'ids'));
	sql('apart',
			"CREATE TABLE ${name}s (id $id_type DEFAULT $next PRIMARY KEY, ids $id_type\[]);"
		  . "INSERT INTO ${name}s (ids) SELECT ARRAY[$next, $next] FROM generate_series(1, 1000); ANALYZE ${name}s"
	);
	finds(
		sub { sql('apart', $_[0]) },
		"SELECT count(*) FROM ${name}s WHERE " . lately($type, 'ids'),
		'1000', "$name: a time is a range of the index, with every name qualified");
	finds(
		sub { sql('apart', "SET search_path = ids, public; $_[0]") },
		"SELECT count(*) FROM ${name}s WHERE " . lately($type),
		'1000', '... and by the search path');
	is( sql('apart',
			"SELECT count(*), bool_and(id::text::$id_type OPERATOR("
			  . ($name =~ /^(?:flake|uuidv7)$/ ? 'pg_catalog' : 'ids')
			  . '.=) id),'
			  . " bool_and(ids.${name}_timestamp(id) = (ids.${name}_decode(id)).created_at) FROM ${name}s"
		),
		'1000|t|t',
		'... as are casts, operators, and what takes an ID apart');
}
is( sql('apart',
		q{SELECT (ids.uniqueid_decode(ids.uniqueid_next('spread'))).mode, count(*) FROM ids.sno_partition_bounds('2026-01-01', '2027-01-01', '1 month')}
	),
	'spread|12',
	'the enum and the functions that return tables, too');

# The predicates are bound to what they are made of, not to its name.
sql('apart', <<'SQL');
CREATE FUNCTION public.sno_range_min(tstzrange) RETURNS ids.sno LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE ''the wrong one''; END';
CREATE FUNCTION public.flake_range_min(tstzrange) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RAISE ''the wrong one''; END';
SQL
like(
	error_of($node, q{SELECT flake_range_min('empty')}, 'apart'),
	qr/the wrong one/,
	"somebody's functions of the same names, first on the path,");
for my $type (@types[ 0, 1 ]) {
	is( sql('apart',
			"SET search_path = public, ids; SELECT count(*) FROM $type->{name}s WHERE "
			  . lately($type)),
		'1000',
		"... are not what the time of a $type->{name} is asked by");
}

# who may use it -------------------------------------------------------------------------------

sql('apart', 'CREATE ROLE guest; GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO guest');
my $guest = 'SET SESSION AUTHORIZATION guest';
like(
	error_of($node, "$guest; SELECT ids.flake_next()", 'apart'),
	qr/ERROR:  42501: permission denied for schema ids/,
	'a user without privileges on the schema calls no function by its name');
like(
	error_of($node, "$guest; SELECT NULL::ids.sno", 'apart'),
	qr/ERROR:  42501: permission denied for schema ids/,
	'... and names no type');
for my $name (@names) {
	is( sql('apart',
			"$guest; INSERT INTO ${name}s DEFAULT VALUES; SELECT count(*), count(DISTINCT id::text) FROM ${name}s"
		),
		'1001|1001',
		"... but gets ${name}s from the default of a table that he may write, and reads them");
}
sql('apart', 'GRANT USAGE ON SCHEMA ids TO guest');
is( sql('apart',
		"$guest; SET search_path = ids, public; SELECT "
		  . join(', ', map { in_schema($_->{next}) . ' IS NOT NULL' } @types)),
	join('|', ('t') x @types),
	'a user of the schema generates IDs of every type');

# moved with all that hangs on it --------------------------------------------------------------

sql('postgres', 'CREATE DATABASE moved');
sql('moved', 'CREATE EXTENSION flakeid; CREATE SCHEMA elsewhere');
for my $type (@types) {
	my ($name, $id_type, $next) =
	  ($type->{name}, in_schema($type->{type}), in_schema($type->{next}));
	my $epoch = $name eq 'flake' ? ", '2010-01-01 00:00+00'" : '';
	sql('moved', <<"SQL");
CREATE TABLE ${name}s (id $id_type DEFAULT $next PRIMARY KEY,
	made timestamptz GENERATED ALWAYS AS (${name}_timestamp(id$epoch)) STORED, CHECK (id::text <> ''));
CREATE INDEX ${name}s_made ON ${name}s (${name}_timestamp(id$epoch));
CREATE TABLE ${name}_parts (id $id_type DEFAULT $next) PARTITION BY RANGE (id);
CREATE TABLE ${name}_old PARTITION OF ${name}_parts FOR VALUES FROM (MINVALUE) TO (${name}_min('2026-01-01 00:00+00'));
CREATE TABLE ${name}_new PARTITION OF ${name}_parts DEFAULT;
CREATE VIEW ${name}_lately AS SELECT * FROM ${name}s WHERE @{[ lately($type) ]};
CREATE FUNCTION ${name}_made() RETURNS $id_type BEGIN ATOMIC INSERT INTO ${name}s DEFAULT VALUES RETURNING id; END;
CREATE FUNCTION ${name}_text() RETURNS $id_type LANGUAGE plpgsql AS 'BEGIN RETURN $next; END';
SQL
}

# All ways to use them, each once; a session has these statements prepared.
my $old = session($node, 'moved');
$old->query_safe("SET plan_cache_mode = force_generic_plan");
for my $type (@types) {
	my $name = $type->{name};
	$old->query_safe("PREPARE ${name}_insert AS INSERT INTO ${name}s DEFAULT VALUES");
	$old->query_safe("PREPARE ${name}_route AS INSERT INTO ${name}_parts DEFAULT VALUES");
	$old->query_safe("PREPARE ${name}_next AS SELECT @{[ in_schema($type->{next}) ]} IS NOT NULL");
	$old->query_safe(
		"PREPARE ${name}_find AS SELECT count(*) FROM ${name}s WHERE " . lately($type));
}

my %rows;

sub use_prepared {
	my ($when) = @_;
	for my $name (@names) {
		$old->query_safe("EXECUTE ${name}_insert; EXECUTE ${name}_route");
		$rows{$name}++;
		is($old->query_safe("EXECUTE ${name}_next"),
			't', "$when, a prepared statement makes a $name");
		is($old->query_safe("EXECUTE ${name}_find"), $rows{$name}, '... one finds those of a time');
		like(
			$old->query_safe("EXPLAIN (COSTS OFF) EXECUTE ${name}_find"),
			qr/Index Cond: \(\(id .* AND \(id /,
			'... by a range of the index');
	}
	return;
}

sub use_tables {
	my ($when, $schema, $ask) = @_;
	for my $type (@types) {
		my $name = $type->{name};
		my $before = $ask->("SELECT count(*) FROM ${name}_new");
		$ask->(
			"INSERT INTO ${name}s DEFAULT VALUES; INSERT INTO ${name}_parts DEFAULT VALUES; SELECT ${name}_made()"
		);
		$rows{$name} += 2;
		is($ask->("SELECT count(*), count(made) FROM ${name}s"),
			"$rows{$name}|$rows{$name}",
			"$when, the default makes ${name}s, also in a function, and their time is generated");
		is($ask->("SELECT count(*) - $before FROM ${name}_new"), '1', '... a partition takes them');
		is($ask->("SELECT count(*) FROM ${name}_lately"), $rows{$name}, '... a view finds them');
		finds($ask, "SELECT count(*) FROM ${name}s WHERE " . lately($type, $schema),
			$rows{$name}, '... by a range of the index');
		my $epoch = $name eq 'flake' ? ", '2010-01-01 00:00+00'" : '';
		my $time = in_schema("%s${name}_timestamp(id$epoch)", $schema);
		like(
			$ask->(
				"EXPLAIN (COSTS OFF) SELECT FROM ${name}s WHERE $time > now() - interval '1 hour'"),
			qr/Index Scan using ${name}s_made/,
			'... or of that on its time');
	}
	return;
}

use_prepared('before it is moved');
use_tables('before it is moved', '', sub { $old->query_safe($_[0]) });
is($old->query_safe("SELECT ${_}_text() IS NOT NULL"),
	't', "... and the text of a function finds what makes a $_")
  for @names;

sql('moved', 'ALTER EXTENSION flakeid SET SCHEMA elsewhere');
is( sql('moved',
		"SELECT DISTINCT pronamespace::regnamespace FROM pg_proc WHERE probin LIKE '%flakeid%'"),
	'elsewhere',
	'ALTER EXTENSION SET SCHEMA moves all that it has');
use_tables('in a session from before the move', 'elsewhere', sub { $old->query_safe($_[0]) });
use_tables('in a new session', 'elsewhere', sub { sql('moved', $_[0]) });

# What is looked up by its name must be on the path: a statement's text, and a function's.
for my $name (@names) {
	like(
		error_in($old, "EXECUTE ${name}_next"),
		qr/42883: function ${name}_next/,
		"without the path a prepared call of ${name}_next() is an error");
	like(
		error_in($old, "SELECT ${name}_text()"),
		qr/42883: function ${name}_next/,
		'... as is the text of a function');
}
$old->query_safe('SET search_path = public, elsewhere');
use_prepared('with the path');
is($old->query_safe("SELECT ${_}_text() IS NOT NULL"),
	't', "... and the text of a function finds what makes a $_")
  for @names;

sql('moved', 'ALTER EXTENSION flakeid SET SCHEMA public');
$old->query_safe('SET search_path = public');
use_prepared('moved back');
use_tables('moved back', '', sub { $old->query_safe($_[0]) });
$old->quit;

# dropped with all that hangs on it ------------------------------------------------------------

sql('postgres', 'CREATE DATABASE dropped');
sql('dropped', <<'SQL');
CREATE EXTENSION flakeid;
CREATE TABLE made (nr integer, flake bigint DEFAULT flake_next() PRIMARY KEY, sno sno DEFAULT sno_next() UNIQUE, guid guid_local, ids uniqueid[],
	at timestamptz GENERATED ALWAYS AS (sno_timestamp(sno)) STORED, line text, as_uuid uuid DEFAULT flake128_next()::uuid);
INSERT INTO made (nr, line) VALUES (1, 'kept');
CREATE INDEX made_at ON made (flake_timestamp(flake, '2010-01-01 00:00+00'));
CREATE VIEW lately AS SELECT line FROM made WHERE flake_after(flake, now() - interval '1 hour');
CREATE TABLE flake_parts (id bigint DEFAULT flake_next(), line text) PARTITION BY RANGE (id);
CREATE TABLE flake_part PARTITION OF flake_parts FOR VALUES FROM (flake_min('2020-01-01')) TO (MAXVALUE);
INSERT INTO flake_parts (line) VALUES ('kept');
CREATE TABLE sno_parts (id sno DEFAULT sno_next(), line text) PARTITION BY RANGE (id);
CREATE TABLE sno_part PARTITION OF sno_parts DEFAULT;
CREATE FUNCTION bound() RETURNS bigint BEGIN ATOMIC SELECT flake_next(); END;
CREATE FUNCTION text() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN flake_next(); END';
SQL
my @dependent = (
	'default value for column flake of table made',
	'default value for column as_uuid of table made',
	'index made_at',
	'view lately',
	'column sno of table made',
	'column guid of table made',
	'column ids of table made',
	'column at of table made',
	'default value for column id of table flake_parts',
	'default value for column id of table flake_part',
	'table sno_parts',
	'function bound()',);
my $error = error_of($node, 'DROP EXTENSION flakeid', 'dropped');
like(
	$error,
	qr/ERROR:  2BP01: cannot drop extension flakeid because other objects depend on it/,
	'DROP EXTENSION is refused while something depends on it');
is_deeply(
	[ sort $error =~ /^(?:DETAIL:  )?(.*) depends on /mg ],
	[ sort @dependent ],
	'... which names the defaults, columns, indexes, views, functions, and the table whose partitions are by a type of it'
);
sql('dropped', 'DROP EXTENSION flakeid CASCADE');
is( sql('dropped',
		q{SELECT string_agg(attname || coalesce(' ' || pg_get_expr(adbin, adrelid), ''), ', ' ORDER BY attnum)
		FROM pg_attribute LEFT JOIN pg_attrdef ON attrelid = adrelid AND attnum = adnum WHERE attrelid = 'made'::regclass AND attnum > 0 AND NOT attisdropped}
	),
	'nr, flake, line, as_uuid',
	'DROP EXTENSION CASCADE drops the columns of its types and all its defaults; a table\'s other columns stay'
);
is(sql('dropped', q{SELECT nr, flake > 0, line, as_uuid IS NOT NULL FROM made}),
	'1|t|kept|t', '... with what is in them');
is( sql('dropped',
		q{SELECT string_agg(relname, ' ' ORDER BY relname COLLATE "C") FROM pg_class WHERE relnamespace = 'public'::regnamespace}
	),
	'flake_part flake_parts made made_pkey',
	'... and the key on its flakes; the table whose partitions were by snos is gone, with its rows'
);
is(sql('dropped', 'SELECT line FROM flake_parts WHERE id > 0'),
	'kept', '... that by flakes is there');
like(
	error_of($node, 'SELECT text()', 'dropped'),
	qr/42883: function flake_next\(\) does not exist/,
	'... and the text of a function has lost what it names');
like(
	error_of($node, 'INSERT INTO made (nr) VALUES (2)', 'dropped'),
	qr/23502: null value in column "flake"/,
	'... without a default there are no IDs');
sql('dropped', 'CREATE EXTENSION flakeid; ALTER TABLE made ALTER flake SET DEFAULT flake_next()');
is( sql('dropped',
		'INSERT INTO made (nr) VALUES (2); SELECT nr, flake > min(flake) OVER () FROM made ORDER BY nr'
	),
	"1|f\n2|t",
	'... made again, it goes on, above the IDs from before');

# nothing is left ------------------------------------------------------------------------------

# How many rows each catalog of a database has, and those that all databases share.
sub catalogs {
	my ($database) = @_;
	my $query = join ' UNION ALL ', map { "SELECT '$_', count(*) FROM $_" } split /\n/,
	  sql(
		$database,
		"SELECT oid::regclass FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' ORDER BY 1"
	  );
	return sql($database, $query);
}

sql('postgres', 'CREATE DATABASE clean');
my $clean = catalogs('clean');
my %last;
for my $round (1 .. 2) {
	sql('clean', 'CREATE EXTENSION flakeid');
	for my $type (@types) {
		my ($name, $id_type, $next) =
		  ($type->{name}, in_schema($type->{type}), in_schema($type->{next}));
		is(sql('clean', "SELECT $next > '$last{$name}'::$id_type"),
			't', "made again, the extension makes ${name}s above those from before")
		  if defined $last{$name};
		$last{$name} = sql('clean',
			"SELECT id FROM (SELECT $next AS id FROM generate_series(1, 10000)) AS made ORDER BY id DESC LIMIT 1"
		);
	}
	isnt(catalogs('clean'), $clean, 'an extension has rows in the catalogs');
	sql('clean', 'DROP EXTENSION flakeid');
	is(catalogs('clean'), $clean, '... dropped, it leaves none, in any of them');
	is(sql('clean', "SELECT count(*) FROM pg_proc WHERE probin LIKE '%flakeid%'"),
		'0', '... and no function of its library');
}

# earlier versions -----------------------------------------------------------------------------

my $installed = PostgreSQL::Test::Cluster->new('installed');
$installed->init;
$installed->start;
my $versions = "FROM pg_available_extension_versions WHERE name = 'flakeid'";
is( $installed->safe_psql(
		'postgres',
		"SELECT version = (SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid') $versions"
	),
	't',
	'the present version is the only one that can be created');
like(
	error_of($installed, "CREATE EXTENSION flakeid VERSION '0.6.0'"),
	qr/ERROR:  22023: extension "flakeid" has no installation script nor update path for version "0\.6\.0"/,
	'an earlier version cannot be created');
$installed->stop;

# an owner who is no superuser -----------------------------------------------------------------

sql('postgres', 'CREATE ROLE owner; CREATE ROLE other');
my ($first) = split /\n/,
  sql('postgres',
	"SELECT version FROM pg_available_extension_versions WHERE name = 'flakeid' ORDER BY string_to_array(version, '.')::integer[]"
  );
my $current =
  sql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid'");
my $owner = 'SET SESSION AUTHORIZATION owner';
for my $version ($first, $current) {
	my $database = 'owned_' . ($version =~ tr/./_/r);
	sql('postgres', "CREATE DATABASE $database OWNER owner");
	like(
		error_of($node, 'SET SESSION AUTHORIZATION other; CREATE EXTENSION flakeid', $database),
		qr/ERROR:  42501: permission denied to create extension/,
		'a user that may not create in a database gets no extension');
	sql($database, "$owner; CREATE EXTENSION flakeid VERSION '$version'");
	sql($database, "$owner; ALTER EXTENSION flakeid UPDATE") if $version ne $current;
	is( sql($database,
			q{SELECT extowner::regrole, extversion FROM pg_extension WHERE extname = 'flakeid'}),
		"owner|$current",
		$version eq $current
		? 'the owner of a database creates the extension without being superuser'
		: "... and updates one of $version");
	for my $type (@types) {
		my ($name, $id_type, $next) =
		  ($type->{name}, in_schema($type->{type}), in_schema($type->{next}));
		is( sql($database,
				"$owner; CREATE SCHEMA IF NOT EXISTS own; CREATE TABLE own.${name}s (id $id_type DEFAULT $next PRIMARY KEY);"
				  . " INSERT INTO own.${name}s SELECT FROM generate_series(1, 100);"
				  . " SELECT count(*), count((${name}_decode(id)).created_at) FROM own.${name}s WHERE "
				  . lately($type)),
			'100|100',
			"... he makes ${name}s, takes them apart, and finds them by time");
	}
	like(
		error_of($node, "$owner; SELECT $_", $database),
		qr/ERROR:  42501: permission denied for function/,
		"... but may not call $_, which is a superuser's"
	) for 'flakeid_accept_clock()', 'pg_stat_reset_flakeid()';
	like(
		error_of($node, "$owner; $_", $database),
		qr/ERROR:  42501: (?:must be owner of|permission denied for) function flakeid_accept_clock|ERROR:  2BP01: /,
		"... nor take it for himself: $_")
	  for 'GRANT EXECUTE ON FUNCTION flakeid_accept_clock() TO owner',
	  'ALTER FUNCTION flakeid_accept_clock() OWNER TO owner',
	  q{CREATE OR REPLACE FUNCTION flakeid_accept_clock() RETURNS void LANGUAGE sql AS ''},
	  'DROP FUNCTION flakeid_accept_clock()';
	for my $view ('pg_stat_flakeid', 'pg_stat_flakeid_horizon', 'pg_stat_flakeid_lease') {
		like(
			error_of($node, "$owner; SELECT * FROM $view", $database),
			qr/ERROR:  42501: permission denied for view $view/,
			"... $view is not for him");
		is(sql($database, "GRANT pg_monitor TO owner; $owner; SELECT count(*) >= 0 FROM $view"),
			't', '... until he is a pg_monitor');
		sql($database, 'REVOKE pg_monitor FROM owner');
	}
	# PostgreSQL asks that he owns what is in it, which a superuser does.
	like(
		error_of($node, "$owner; ALTER EXTENSION flakeid SET SCHEMA own", $database),
		qr/ERROR:  42501: must be owner of (?:function|type|operator|view|cast)/,
		'... to move it is for a superuser, too');
	like(
		error_of($node, 'SET SESSION AUTHORIZATION other; DROP EXTENSION flakeid', $database),
		qr/ERROR:  42501: must be owner of extension flakeid/,
		'... another user does not drop it');
	sql($database, "$owner; DROP SCHEMA own CASCADE; DROP EXTENSION flakeid");
	is(sql($database, "SELECT count(*) FROM pg_extension WHERE extname = 'flakeid'"),
		'0', '... its owner does');
}

# many databases -------------------------------------------------------------------------------

sql('template1',
	'CREATE EXTENSION flakeid; CREATE TABLE made (id bigint DEFAULT flake_next() PRIMARY KEY, event sno DEFAULT sno_next())'
);
my @databases = map { "new$_" } 1 .. 3;
# A database that has a session is no template.
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'template1'")
  or die 'the session does not end';
sql('postgres', "CREATE DATABASE $_") for @databases;
for my $round (1 .. 3) {
	sql($_, 'INSERT INTO made SELECT FROM generate_series(1, 100)') for @databases;
}
my @ids =
  map { split /\n/, sql($_, 'SELECT id::text FROM made UNION ALL SELECT event::text FROM made') }
  @databases;
my %seen = map { $_ => 1 } @ids;
is(@ids, 1800, 'databases made from a template that has the extension have it');
is(keys %seen, 1800, '... and make no ID twice between them');

$node->stop;
done_testing();
