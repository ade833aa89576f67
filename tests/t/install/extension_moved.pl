# ALTER EXTENSION flakeid SET SCHEMA moves all that the extension has. Tables, views, functions and
# indexes of users work as before, also in a session that was there before. Texts need the path.
use strict;
use warnings;
use lib 'tests/perl';

use InSchema;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = flakeid_server('extension_moved', <<'END');
autovacuum = off
enable_seqscan = off
enable_bitmapscan = off
END

sub sql { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

sub time_of {
	my ($name) = @_;
	return "${name}_timestamp(id" . ($name eq 'flake' ? ", '2010-01-01 00:00+00')" : ')');
}

sql('CREATE SCHEMA elsewhere');
my $session = session($node);
$session->query_safe("SET plan_cache_mode = force_generic_plan");
for my $type (@TYPES) {
	my ($name, $id_type, $next, $time) =
	  ($type->{name}, type_in($type), next_in($type), time_of($type->{name}));
	my $lately = lately($type);
	sql(<<"SQL");
CREATE TABLE ${name}s (id $id_type DEFAULT $next PRIMARY KEY,
	made timestamptz GENERATED ALWAYS AS ($time) STORED, CHECK (id::text <> ''));
CREATE INDEX ${name}s_made ON ${name}s ($time);
CREATE TABLE ${name}_parts (id $id_type DEFAULT $next) PARTITION BY RANGE (id);
CREATE TABLE ${name}_old PARTITION OF ${name}_parts
	FOR VALUES FROM (MINVALUE) TO (${name}_min('2026-01-01 00:00+00'));
CREATE TABLE ${name}_new PARTITION OF ${name}_parts DEFAULT;
CREATE VIEW ${name}_lately AS SELECT * FROM ${name}s WHERE $lately;
CREATE FUNCTION ${name}_made() RETURNS $id_type
	BEGIN ATOMIC INSERT INTO ${name}s DEFAULT VALUES RETURNING id; END;
CREATE FUNCTION ${name}_text() RETURNS $id_type LANGUAGE plpgsql AS 'BEGIN RETURN $next; END';
SQL
	$session->query_safe(<<"SQL");
PREPARE ${name}_insert AS INSERT INTO ${name}s DEFAULT VALUES;
PREPARE ${name}_route AS INSERT INTO ${name}_parts DEFAULT VALUES;
PREPARE ${name}_next AS SELECT $next IS NOT NULL;
PREPARE ${name}_find AS SELECT count(*) FROM ${name}s WHERE $lately;
SQL
}

# Tests what the session has prepared, for all ID types.
my %rows;

sub use_prepared {
	my ($when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (@next, @find, @plans);
	for my $name (@NAMES) {
		$session->query_safe("EXECUTE ${name}_insert; EXECUTE ${name}_route");
		$rows{$name}++;
		push @next, $name if $session->query_safe("EXECUTE ${name}_next") ne 't';
		push @find, $name if $session->query_safe("EXECUTE ${name}_find") ne $rows{$name};
		my $plan = $session->query_safe("EXPLAIN (COSTS OFF) EXECUTE ${name}_find");
		push @plans, $plan if $plan !~ $BY_INDEX;
	}
	is("@next", '', "$when, prepared statements generate IDs");
	is("@find", '', "$when, prepared statements find the IDs of a time");
	is("@plans", '', "$when, prepared statements use a range of the index");
	return;
}

# Tests what depends on the extension, for all ID types. The function asks in some session.
sub use_tables {
	my ($when, $schema, $ask) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (@defaults, @partitions, @views, @finds, @plans);
	my $prefix = $schema ? "$schema." : '';
	for my $type (@TYPES) {
		my $name = $type->{name};
		my $before = $ask->("SELECT count(*) FROM ${name}_new");
		$ask->(<<"SQL");
INSERT INTO ${name}s DEFAULT VALUES;
INSERT INTO ${name}_parts DEFAULT VALUES;
SELECT ${name}_made();
SQL
		$rows{$name} += 2;
		my $all = $ask->("SELECT count(*), count(made) FROM ${name}s");
		push @defaults, $name if $all ne "$rows{$name}|$rows{$name}";
		push @partitions, $name if $ask->("SELECT count(*) FROM ${name}_new") != $before + 1;
		push @views, $name if $ask->("SELECT count(*) FROM ${name}_lately") != $rows{$name};
		my $count = "SELECT count(*) FROM ${name}s WHERE";
		push @finds, looks_up($ask, "$count " . lately($type, $schema), $rows{$name});
		my $recent = $prefix . time_of($name) . " > now() - interval '1 hour'";
		my $plan = $ask->("EXPLAIN (COSTS OFF) SELECT FROM ${name}s WHERE $recent");
		push @plans, $plan if $plan !~ /Index Scan using ${name}s_made/;
	}
	is("@defaults", '', "$when, defaults generate IDs, also in a function, and their time");
	is("@partitions", '', "$when, partitions take rows");
	is("@views", '', "$when, views find the IDs of a time");
	is(join("\n", @finds), '', "$when, queries find the IDs of a time by a range of the index");
	is(join("\n", @plans), '', "$when, queries use the index on the time");
	return;
}

sub texts_generate {
	my ($when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @errors = grep { $session->query_safe("SELECT ${_}_text() IS NOT NULL") ne 't' } @NAMES;
	return is("@errors", '', "$when, the texts of functions generate IDs");
}

my $in_session = sub { $session->query_safe($_[0]) };
use_prepared('before the move');
use_tables('before the move', '', $in_session);
texts_generate('before the move');

sql('ALTER EXTENSION flakeid SET SCHEMA elsewhere');
is(sql(<<'SQL'), 'elsewhere', 'ALTER EXTENSION SET SCHEMA moves all functions');
SELECT DISTINCT pronamespace::regnamespace FROM pg_proc WHERE probin LIKE '%flakeid%'
SQL
use_tables('in a session from before the move', 'elsewhere', $in_session);
use_tables('in a new session', 'elsewhere', \&sql);
# The texts of statements and functions name what they call.
for my $name (@NAMES) {
	like(
		error_in($session, $_->[0]),
		qr/42883: function ${name}_next/,
		"$_->[1] with ${name}_next() is an error without the path")
	  for [ "EXECUTE ${name}_next", 'a prepared call' ],
	  [ "SELECT ${name}_text()", 'the text of a function' ];
}
$session->query_safe('SET search_path = public, elsewhere');
use_prepared('with the path');
texts_generate('with the path');

sql('ALTER EXTENSION flakeid SET SCHEMA public');
$session->query_safe('SET search_path = public');
use_prepared('after the move back');
use_tables('after the move back', '', $in_session);
$session->quit;

subtest 'docs/orm.md moves the extension, and a role without privileges uses IDs as before' => sub {
	my ($page) = slurp_file('docs/orm.md') =~ /^For `drizzle-kit push`(.*?)^## /ms;
	sql(<<~'SQL');
		CREATE ROLE app LOGIN;
		CREATE SCHEMA app AUTHORIZATION app;
		CREATE TABLE orders (id flake DEFAULT flake_next() PRIMARY KEY);
		GRANT ALL ON orders TO app;
		SQL
	sql($_) for $page =~ /^```sql\n(.*?)^```$/msg;
	my @as_app = (extra_params => [ '-U', 'app' ]);
	my $found = $node->safe_psql('postgres', <<~'SQL', @as_app);
		INSERT INTO orders DEFAULT VALUES;
		SELECT current_schema;
		SELECT id >= now() - interval '1 hour' AND flake_timestamp(id) <= now() FROM orders;
		SQL
	is($found, "app\nt", 'it finds operators and functions');
	is($node->psql('postgres', 'SELECT id + 1 FROM orders', @as_app),
		3, 'it does not compute with a flake');
};

$node->stop;
done_testing();
