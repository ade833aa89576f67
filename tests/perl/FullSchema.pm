# A schema that uses every type in every way, what it holds, and whether it is at work: so that two servers can be
# compared. It lies in a schema of its own, `life`, so that a dump has to find the way from there to the extension.
package FullSchema;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT =
  qw(@KINDS $READER of_kind create_full_schema full_schema_of statistics_of is_full_schema is_found is_guarded goes_on server_with version_of);

# A kind is a type with the way its IDs are made. `timestamp` is the time of an ID, `within` whether that lies in a
# range, `at` an ID of a time; `bounds` has partitions of a month each. Spread IDs are in no order of time. What
# depends on an epoch has it as an argument. PostgreSQL 18 and earlier have no min and max of uuids.
our @KINDS = (
	{
		name => 'flake',
		type => 'bigint',
		next => 'flake_next()',
		at => "flake_at(%s, %s, '2010-01-01 00:00+00')",
		timestamp => "flake_timestamp(%s, '2010-01-01 00:00+00')",
		within => "flake_within(%s, %s, '2010-01-01 00:00+00')",
		bytes => 'int8send(%s)',
		text => "flake_to_text(%s, 'base62')",
		multi => 'int8_minmax_multi_ops',
		bounds => "flake_partition_bounds(%s, '2010-01-01 00:00+00')"
	},
	{
		name => 'typed',
		type => 'flake',
		next => 'flake_next()',
		at => "flake_at(%s, %s, '2010-01-01 00:00+00')::flake",
		timestamp => "flake_timestamp(%s, '2010-01-01 00:00+00')",
		within => "flake_within(%s, %s, '2010-01-01 00:00+00')",
		# pg_upgrade creates types before casts, so that a CHECK of a domain and a range do not know the cast to bigint.
		checked => 'COLUMN',
		subtype => 'bigint',
		bytes => 'flake_send(%s)',
		multi => 'int8_minmax_multi_ops',
		bounds => "flake_partition_bounds(%s, '2010-01-01 00:00+00')"
	},
	{ name => 'sno', next => 'sno_next(7)', at => 'sno_at(%s, 7, %s)' },
	{ name => 'flake128' },
	{ name => 'guid' },
	{ name => 'guid_local' },
	{ name => 'uniqueid' },
	{
		name => 'uuidv7',
		type => 'uuid',
		next => 'uuidv7_next()',
		at => 'uuidv7_at(%s, %s)',
		timestamp => 'uuidv7_timestamp(%s)',
		within => 'uuidv7_within(%s, %s)',
		bytes => 'uuid_send(%s)',
		bounds => 'uuidv7_partition_bounds(%s)',
		least => '(array_agg(%1$s ORDER BY %1$s))[1]',
		greatest => '(array_agg(%1$s ORDER BY %1$s DESC))[1]'
	},
	{
		name => 'inverse',
		type => 'guid',
		next => 'guid_next(inverse => true)',
		at => 'guid_at(%s, %s, inverse => true)',
		timestamp => 'guid_timestamp(%s, inverse => true)',
		within => 'guid_within(%s, %s, inverse => true)',
		bounds => 'guid_partition_bounds(%s, inverse => true)'
	},
	{
		name => 'spread',
		type => 'uniqueid',
		next => "uniqueid_next('spread')",
		at => "uniqueid_at(%s, %s, 'spread')",
		within => 'uniqueid_timestamp(%s) <@ %s',
		bounds => ''
	},);
for my $kind (@KINDS) {
	my $type = $kind->{type} //= $kind->{name};
	$kind->{checked}         //= 'DOMAIN';
	$kind->{subtype}         //= $type;
	$kind->{next}            //= "${type}_next()";
	$kind->{at}              //= "${type}_at(%s, %s)";
	$kind->{timestamp}       //= "${type}_timestamp(%s)";
	$kind->{within}          //= '%s <@ %s';
	$kind->{bytes}           //= '%s::bytea';
	$kind->{text}            //= '%s::text';
	$kind->{multi}           //= "${type}_minmax_multi_ops";
	$kind->{least}           //= 'min(%s)';
	$kind->{greatest}        //= 'max(%s)';
	$kind->{bounds}          //= "${type}_partition_bounds(%s)";
}

# Who sees only the rows of March.
our $READER = 'reader_of_march';

# Settings that have a part in how things are printed.
my $settings =
  "SET search_path TO life, public; SET timezone TO 'UTC'; SET extra_float_digits TO 1; SET datestyle TO 'ISO';\n";

# Puts a kind into SQL: KIND, ID and NEXT are its name, its type and what makes an ID; TIMESTAMP(x) and the like are what
# it makes of x.
sub of_kind {
	my ($kind, $sql) = @_;
	$sql =~ s/\b(TIMESTAMP|BYTES|TEXT|LEAST|GREATEST)\(([\w.]+)\)/sprintf $kind->{lc $1}, $2/ge;
	$sql =~ s/\b(WITHIN|AT)\(([^,]+), ('[^']*'::tstzrange|\w+)\)/sprintf $kind->{lc $1}, $2, $3/ge;
	$sql =~ s/\b(NEXT|MULTI)\b/$kind->{lc $1}/g;
	$sql =~
	  s/\bCHECKED_(DOMAIN|COLUMN)\(([^)]*)\)/($kind->{checked} eq $1 ? "CHECK (" . sprintf($kind->{timestamp}, $2) . " >= '2015-01-01 00:00+00'::timestamptz)" : '')/ge;
	$sql =~ s/\bSUBTYPE\b/$kind->{subtype}/g;
	$sql =~ s/\bID\b/$kind->{type}/g;
	$sql =~ s/KIND/$kind->{name}/g;
	return $sql;
}

my $february = "'[2026-02-01 00:00+00,2026-03-01 00:00+00)'::tstzrange";
my $march = "'[2026-03-01 00:00+00,2026-04-01 00:00+00)'::tstzrange";
my $later = "'[2026-02-01 00:00+00,)'::tstzrange";

my $once = <<"SQL";
CREATE TABLE heard (
    event sno PRIMARY KEY DEFAULT sno_next(7),
    visit uuid NOT NULL DEFAULT flake128_next()::uuid,
    kind  text,
    id    text
);
CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql SET search_path = life, public AS \$\$
BEGIN
    INSERT INTO heard (event, kind, id) VALUES (sno_next(TG_ARGV[1]::integer), TG_ARGV[0], NEW.id::text);
    RETURN NULL;
END \$\$;
GRANT USAGE ON SCHEMA life TO $READER;
SQL

# Views read two tables each: of one alone versions print the columns in different ways.
my $schema = <<"SQL";
CREATE DOMAIN KIND_made AS ID CHECKED_DOMAIN(VALUE);
CREATE TYPE KIND_pair AS (older ID, newer ID);
CREATE TYPE KIND_range AS RANGE (subtype = SUBTYPE);

CREATE TABLE KIND_rows (
    id      ID PRIMARY KEY DEFAULT NEXT,
    nr      integer NOT NULL,
    hashed  ID,
    brinned ID,
    multi   ID,
    made    timestamptz GENERATED ALWAYS AS (TIMESTAMP(id)) STORED,
    bytes   bytea GENERATED ALWAYS AS (BYTES(id)) STORED,
    words   text GENERATED ALWAYS AS (TEXT(id)) STORED,
    CONSTRAINT KIND_since CHECK (TIMESTAMP(id) >= '2015-01-01 00:00+00'::timestamptz)
);
CREATE UNIQUE INDEX KIND_nr ON KIND_rows (nr, id) INCLUDE (hashed);
CREATE INDEX KIND_hash ON KIND_rows USING hash (hashed);
CREATE INDEX KIND_brin ON KIND_rows USING brin (brinned) WITH (pages_per_range = 1);
CREATE INDEX KIND_multi ON KIND_rows USING brin (multi MULTI (values_per_range = 16)) WITH (pages_per_range = 1);
CREATE INDEX KIND_time ON KIND_rows (TIMESTAMP(id));
CREATE INDEX KIND_later ON KIND_rows ((nr % 7)) WHERE WITHIN(id, $later);
CREATE STATISTICS KIND_statistics (ndistinct, dependencies, mcv) ON nr, (TIMESTAMP(id)) FROM KIND_rows;
COMMENT ON COLUMN KIND_rows.id IS \$\$made by NEXT\$\$;
CREATE TRIGGER KIND_hear AFTER INSERT ON KIND_rows FOR EACH ROW
    WHEN (WITHIN(NEW.id, $later)) EXECUTE FUNCTION hear('KIND', 9);
ALTER TABLE KIND_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY KIND_march ON KIND_rows FOR SELECT TO $READER USING (WITHIN(id, $march));
GRANT SELECT ON KIND_rows TO $READER;

CREATE TABLE KIND_refs (
    id     ID PRIMARY KEY DEFAULT NEXT,
    parent ID NOT NULL REFERENCES KIND_rows ON DELETE CASCADE DEFERRABLE,
    list   ID[] NOT NULL DEFAULT ARRAY[NEXT, NULL],
    pair   KIND_pair,
    made   KIND_made DEFAULT NEXT CHECKED_COLUMN(made),
    span   KIND_range,
    spans  KIND_multirange,
    origin ID NOT NULL,
    CONSTRAINT KIND_apart EXCLUDE USING gist (span WITH &&)
);
SELECT format('ALTER TABLE KIND_refs ALTER origin SET DEFAULT %L', AT('2026-01-01 00:00+00', 5)) \\gexec
CREATE INDEX KIND_list ON KIND_refs USING gin (list);
CREATE INDEX KIND_pairs ON KIND_refs (pair);
CREATE INDEX KIND_spans ON KIND_refs USING gist (spans);

CREATE TABLE KIND_parts (id ID PRIMARY KEY DEFAULT NEXT, nr integer) PARTITION BY HASH (id);
SELECT format('CREATE TABLE KIND_parts_%1\$s PARTITION OF KIND_parts FOR VALUES WITH (MODULUS 3, REMAINDER %1\$s)', nr)
FROM generate_series(0, 2) AS nr \\gexec

CREATE VIEW KIND_view WITH (security_barrier) AS
    SELECT parents.id, parents.nr, refs.list, refs.pair FROM KIND_rows parents JOIN KIND_refs refs ON refs.parent = parents.id
    WHERE WITHIN(parents.id, $february);
CREATE MATERIALIZED VIEW KIND_counts AS
    SELECT date_trunc('month', parents.made, 'UTC') AS month, count(*) AS ids, count(refs.id) AS refs,
        LEAST(parents.id) AS least, GREATEST(parents.id) AS greatest
    FROM KIND_rows parents LEFT JOIN KIND_refs refs ON refs.parent = parents.id
    WHERE WITHIN(parents.id, $later) GROUP BY 1 WITH NO DATA;
CREATE UNIQUE INDEX KIND_month ON KIND_counts (month);
CREATE FUNCTION KIND_found(times tstzrange) RETURNS bigint LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT count(*) FROM KIND_rows parents LEFT JOIN KIND_refs refs ON refs.parent = parents.id
        WHERE WITHIN(parents.id, times);
    END;
SQL

# Partitions by time, for kinds that sort by it.
my $months = <<'SQL';
CREATE TABLE KIND_months (id ID PRIMARY KEY DEFAULT NEXT, nr integer, made timestamptz DEFAULT now()) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE KIND_months_%s PARTITION OF KIND_months FOR VALUES FROM (%L) TO (%L)', name, lower, upper)
FROM BOUNDS \gexec
CREATE TABLE KIND_months_rest PARTITION OF KIND_months DEFAULT;
CREATE INDEX ON KIND_months (made) INCLUDE (id);
CREATE TABLE KIND_notes (about ID REFERENCES KIND_months, note text);
SQL

# Old rows, four a day from before the first partition to after the last, and new ones.
my $rows = <<'SQL';
INSERT INTO KIND_rows (id, nr) SELECT AT('2025-12-20 00:00:01+00'::timestamptz + nr * interval '6 h', nr), nr FROM generate_series(1, 450) AS nr;
INSERT INTO KIND_rows (nr) SELECT generate_series(501, 550);
UPDATE KIND_rows SET hashed = id, brinned = id, multi = id;
INSERT INTO KIND_refs (parent, list, pair, span, spans)
    SELECT id, ARRAY[id, following, NULL], ROW(id, following)::KIND_pair, span, KIND_multirange(span)
    FROM (SELECT id, nr, lead(id) OVER (ORDER BY id) AS following FROM KIND_rows) AS listed,
        LATERAL (SELECT KIND_range(id, following) AS span) AS spanned
    WHERE nr % 5 = 0;
INSERT INTO KIND_refs (parent) SELECT id FROM KIND_rows WHERE nr % 50 = 1;
INSERT INTO KIND_parts SELECT id, nr FROM KIND_rows;
INSERT INTO KIND_parts (nr) SELECT generate_series(601, 650);
REFRESH MATERIALIZED VIEW KIND_counts;
SQL
my $month_rows = <<'SQL';
INSERT INTO KIND_months SELECT id, nr, made FROM KIND_rows;
INSERT INTO KIND_months (nr) SELECT generate_series(601, 650);
INSERT INTO KIND_notes SELECT id, 'row ' || nr FROM KIND_months WHERE nr % 100 = 0;
SQL

# A server with these lines in its configuration, started. `node` and `init` go to what makes it and sets it up.
sub server_with {
	my ($name, $configuration, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, %{ $how{node} || {} });
	$node->init(%{ $how{init} || {} });
	# Autovacuum would analyze each of the many tables in each of the many databases, and lock a table that a standby dumps.
	$node->append_conf('postgresql.conf', "autovacuum = off\n$configuration");
	$node->start;
	return $node;
}

sub version_of {
	my ($node) = @_;
	return $node->safe_psql('postgres',
		"SELECT current_setting('server_version_num')::integer / 10000");
}

# Creates the extension and all of the schema in a database, and fills it.
sub create_full_schema {
	my ($node, $database) = @_;
	my $sql = "CREATE ROLE $READER; CREATE EXTENSION flakeid; CREATE SCHEMA life;\n$settings$once";
	for my $kind (@KINDS) {
		$sql .= of_kind($kind, $schema);
		if ($kind->{bounds}) {
			my $bounds = sprintf $kind->{bounds}, "'2026-01-01', '2026-04-01', '1 month'";
			$sql .= of_kind($kind, $months =~ s/BOUNDS/$bounds/r);
		}
		$sql .= of_kind($kind, $rows);
		$sql .= of_kind($kind, $month_rows) if $kind->{bounds};
	}
	$node->safe_psql($database, "${sql}VACUUM ANALYZE;");
	return;
}

# Each line is a table with a digest of its rows, or the definition of something.
my $full_schema = <<'SQL';
SELECT format('SELECT concat_ws('' '', %L, count(*), md5(string_agg(t::text, E''\n'' ORDER BY t::text COLLATE "C"))) FROM %s t',
    'rows of ' || oid::regclass, oid::regclass)
FROM pg_class WHERE relnamespace = 'life'::regnamespace AND relkind IN ('r', 'm', 'p') ORDER BY relname COLLATE "C" \gexec

CREATE TEMP VIEW relations AS SELECT * FROM pg_class WHERE relnamespace = 'life'::regnamespace;
SELECT regexp_replace(line, '\s+', ' ', 'g') FROM (
    SELECT concat_ws(' ', 'relation', oid::regclass, relkind, relpersistence, relrowsecurity, relreplident, reloptions,
        (SELECT string_agg(concat_ws(' ', grantee::regrole, privilege_type), ', ') FROM aclexplode(relacl) WHERE grantee <> relowner),
        pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid), CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END)
    FROM relations
UNION ALL
    SELECT concat_ws(' ', 'column', attrelid::regclass, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attgenerated,
        pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid IN (SELECT oid FROM relations) AND attnum > 0
UNION ALL
    SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid, indisready, indislive, indisunique, indisprimary)
    FROM pg_index WHERE indrelid IN (SELECT oid FROM relations)
UNION ALL
    -- From 18 on NOT NULL is a constraint, too; columns have it above. Partitions' own have names that differ.
    SELECT concat_ws(' ', 'constraint', conname, conrelid::regclass, contypid::regtype, convalidated, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'life'::regnamespace AND contype <> 'n' AND conparentid = 0
UNION ALL
    SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
    WHERE tgrelid IN (SELECT oid FROM relations) AND NOT tgisinternal
UNION ALL
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'life'::regnamespace AND prolang <> 12
UNION ALL
    SELECT concat_ws(' ', 'policy', polname, polrelid::regclass, polcmd, polroles::regrole[], pg_get_expr(polqual, polrelid)) FROM pg_policy
UNION ALL
    SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(oid)) FROM pg_statistic_ext
UNION ALL
    SELECT concat_ws(' ', 'type', oid::regtype, typtype, typbasetype::regtype, typlen, typalign, typstorage)
    FROM pg_type WHERE typnamespace = 'life'::regnamespace
UNION ALL
    SELECT concat_ws(' ', 'range', rngtypid::regtype, rngmultitypid::regtype, rngsubtype::regtype, opcname)
    FROM pg_range JOIN pg_opclass ON pg_opclass.oid = rngsubopc
UNION ALL
    SELECT concat_ws(' ', 'extension', extname, extnamespace::regnamespace, extversion) FROM pg_extension
) AS defined (line) ORDER BY line COLLATE "C"
SQL

# All that the schema holds and is, in lines that versions print alike.
sub full_schema_of {
	my ($node, $database) = @_;
	return $node->safe_psql($database, "$settings$full_schema");
}

# What the planner knows about the IDs in the tables, a line for each of four columns of each kind.
sub statistics_of {
	my ($node, $database) = @_;
	return $node->safe_psql($database, <<'SQL');
SELECT tablename, attname, null_frac, n_distinct, most_common_vals, most_common_freqs, histogram_bounds, correlation FROM pg_stats
WHERE schemaname = 'life' AND tablename ~ '_rows$' AND attname IN ('id', 'hashed', 'brinned', 'multi') ORDER BY 1, 2
SQL
}

# Tests that a database has all of this and nothing else; says in which lines it differs.
sub is_full_schema {
	my ($node, $database, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($got, %count) = (full_schema_of($node, $database));
	$count{$_}-- for split /\n/, $expected;
	$count{$_}++ for split /\n/, $got;
	my @differ = grep { $count{$_} } sort keys %count;
	return ok(!@differ && $got eq $expected, $test)
	  || diag(join "\n",
		map { ($count{$_} < 0 ? '- ' : '+ ') . $_ } @differ > 20 ? @differ[ 0 .. 19 ] : @differ);
}

# Functions of a session. A query's plan has an index, and its answer is the same without. A statement has this
# SQLSTATE, and leaves nothing behind.
my $functions = <<'SQL';
SET jit TO off;
CREATE FUNCTION pg_temp.served(index text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line   text;
    plan   text := '';
    answer text;
    given  text[];
BEGIN
    FOR nr IN 0 .. 1 LOOP
        PERFORM set_config('enable_seqscan', (nr = 1)::text, false),
            set_config('enable_indexscan', (nr = 0)::text, false),
            set_config('enable_indexonlyscan', (nr = 0)::text, false),
            set_config('enable_bitmapscan', (nr = 0)::text, false);
        IF nr = 0 THEN
            FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP plan := plan || E'\n' || line; END LOOP;
        END IF;
        EXECUTE 'SELECT string_agg(found::text, '','' ORDER BY found::text) FROM (' || query || ') AS found' INTO answer;
        given[nr] := answer;
    END LOOP;
    RETURN CASE
        WHEN plan !~ ('\m' || index || '\M') THEN index || ' is not used:' || plan
        WHEN given[0] IS NULL THEN index || ' gives nothing'
        WHEN given[0] IS DISTINCT FROM given[1] THEN index || ' gives ' || given[0] || ' and not ' || given[1]
    END;
END $$;
CREATE FUNCTION pg_temp.ended(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    SET CONSTRAINTS ALL IMMEDIATE;
    RAISE SQLSTATE 'LIFE0';
EXCEPTION WHEN OTHERS THEN
    RETURN CASE WHEN SQLSTATE = 'LIFE0' THEN 'none' ELSE SQLSTATE END;
END $$;
SQL

# An index and what it answers.
my @answers = (
	[
		KIND_rows_pkey =>
		  'SELECT nr FROM KIND_rows WHERE id >= (SELECT id FROM KIND_rows WHERE nr = 200)'
	],
	[ KIND_nr => 'SELECT hashed FROM KIND_rows WHERE nr BETWEEN 100 AND 120 AND id IS NOT NULL' ],
	[
		KIND_hash =>
		  'SELECT nr FROM KIND_rows WHERE hashed = (SELECT id FROM KIND_rows WHERE nr = 200)'
	],
	[
		KIND_brin =>
		  'SELECT nr FROM KIND_rows WHERE brinned <= (SELECT id FROM KIND_rows WHERE nr = 200)'
	],
	[
		KIND_multi =>
		  'SELECT nr FROM KIND_rows WHERE multi <= (SELECT id FROM KIND_rows WHERE nr = 200)'
	],
	[
		KIND_time =>
		  "SELECT nr FROM KIND_rows WHERE TIMESTAMP(id) BETWEEN '2026-02-10 00:00+00' AND '2026-02-20 00:00+00'"
	],
	[ KIND_later => "SELECT nr FROM KIND_rows WHERE nr % 7 = 3 AND WITHIN(id, $later)" ],
	[
		KIND_list =>
		  'SELECT id FROM KIND_refs WHERE list @> ARRAY[(SELECT id FROM KIND_rows WHERE nr = 200)]'
	],
	[
		KIND_pairs =>
		  'SELECT id FROM KIND_refs WHERE pair >= (SELECT pair FROM KIND_refs, KIND_rows WHERE parent = KIND_rows.id AND nr = 200)'
	],
	[
		KIND_apart =>
		  'SELECT id FROM KIND_refs WHERE span @> (SELECT id::SUBTYPE FROM KIND_rows WHERE nr = 200)'
	],
	[
		KIND_spans =>
		  'SELECT id FROM KIND_refs WHERE spans @> (SELECT id::SUBTYPE FROM KIND_rows WHERE nr = 200)'
	],
	[ KIND_month => "SELECT * FROM KIND_counts WHERE month = '2026-02-01 00:00+00'" ],
	[
		'KIND_parts_\d_pkey' =>
		  'SELECT nr FROM KIND_parts WHERE id = (SELECT id FROM KIND_rows WHERE nr = 200)'
	],);
my @month_answers = (
	[ KIND_rows_pkey => "SELECT nr FROM KIND_rows WHERE WITHIN(id, $february)" ],
	[ KIND_months_2026_02_pkey => "SELECT nr FROM KIND_months WHERE WITHIN(id, $february)" ],);

# A statement and the SQLSTATE it ends with.
my $old = "AT('2014-01-01 00:00+00'::timestamptz, 1)";
my $unknown = "AT('2026-02-10 00:00+00'::timestamptz, 1)";
my @endings = (
	[ 23505, 'INSERT INTO KIND_rows (id, nr) SELECT id, 0 FROM KIND_rows WHERE nr = 200' ],
	[ 23505, 'INSERT INTO KIND_parts (id) SELECT id FROM KIND_rows WHERE nr = 200' ],
	[ 23514, "INSERT INTO KIND_rows (id, nr) VALUES ($old, 0)" ],
	[ 23514, "INSERT INTO KIND_refs (parent, made) SELECT id, $old FROM KIND_rows WHERE nr = 200" ],
	[ 23503, "INSERT INTO KIND_refs (parent) VALUES ($unknown)" ],
	[ 23503, "UPDATE KIND_rows SET id = $unknown WHERE nr = 200" ],
	[
		'23P01',
		'INSERT INTO KIND_refs (parent, span) SELECT parent, span FROM KIND_refs WHERE span IS NOT NULL LIMIT 1'
	],
	[ '428C9', 'UPDATE KIND_rows SET made = now() WHERE nr = 200' ],
	[ 'none', 'DELETE FROM KIND_rows WHERE nr = 200' ],);
my @month_endings = (
	[ 23505, 'INSERT INTO KIND_months (id) SELECT id FROM KIND_rows WHERE nr = 200' ],
	[ 23503, "INSERT INTO KIND_notes (about) VALUES ($unknown)" ],
	[ 23514, "INSERT INTO KIND_months_2026_01 (id) VALUES ($unknown)" ],);

# The table that a row of a month comes to, and a new one.
my $routes = <<"SQL";
BEGIN;
INSERT INTO KIND_months (id, nr) VALUES ($unknown, 999);
INSERT INTO KIND_months (nr) VALUES (999);
SELECT string_agg(tableoid::regclass::text, ' ' ORDER BY 1) FROM KIND_months WHERE nr = 999;
ROLLBACK;
SQL

# Who reads March sees what lies in March; the function with an SQL body finds February.
my $reads = <<"SQL";
SET ROLE $READER;
SELECT count(*), min(made) >= '2026-03-01 00:00+00', max(made) < '2026-04-01 00:00+00' FROM KIND_rows;
RESET ROLE;
SELECT KIND_found($february);
SQL

# Analyzes the schema's tables. ANALYZE of a partitioned table also analyzes its partitions.
my $analyze = <<'SQL';
SELECT format('ANALYZE %s', string_agg(oid::regclass::text, ', ')) FROM pg_class
WHERE relnamespace = 'life'::regnamespace AND relkind IN ('r', 'm', 'p') AND NOT relispartition \gexec
SQL

# Tests that what a database has is found: by every index what its table has without, by time what lies in it.
sub is_found {
	my ($node, $database, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	# Without statistics another index of the same rows may look as good.
	my ($sql, $read, $expected) = ("$analyze$settings$functions", $settings, '');
	for my $kind (@KINDS) {
		for (@answers, $kind->{bounds} ? @month_answers : ()) {
			my ($index, $query) = map { of_kind($kind, $_) } @$_;
			$sql .=
			  "SELECT served FROM pg_temp.served('$index', \$\$$query\$\$) AS served WHERE served IS NOT NULL;\n";
		}
		$read     .= of_kind($kind, $reads);
		$expected .= "124|t|t\n112\n";
	}
	is($node->safe_psql($database, $sql),
		'', "$test: every index serves, and gives what its table does");
	is($node->safe_psql($database, $read) . "\n",
		$expected, '... the policy and the function know the time');
	return;
}

# Tests that a database takes what belongs into it, and nothing else. That makes IDs.
sub is_guarded {
	my ($node, $database, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($sql, $routed, $expected) = ("$settings$functions", $settings, '');
	for my $kind (@KINDS) {
		for (@endings, $kind->{bounds} ? @month_endings : ()) {
			my ($state, $statement) = ($_->[0], of_kind($kind, $_->[1]));
			$sql .=
			  "SELECT ended, \$\$$statement\$\$ FROM pg_temp.ended(\$\$$statement\$\$) AS ended WHERE ended <> '$state';\n";
		}
		next unless $kind->{bounds};
		$routed   .= of_kind($kind, $routes);
		$expected .= of_kind($kind, "KIND_months_2026_02 KIND_months_rest\n");
	}
	is($node->safe_psql($database, $sql), '', "$test: constraints hold");
	is($node->safe_psql($database, $routed) . "\n", $expected, '... partitions route');
	return;
}

# Each way to a new ID by a default: of a key, of a partitioned table's key, in an array, of a domain.
my $made = <<'SQL';
WITH made AS (
    INSERT INTO KIND_rows (nr) SELECT generate_series(1001, 1100) RETURNING id
), parts AS (
    INSERT INTO KIND_parts (nr) SELECT generate_series(1001, 1100) RETURNING id
), refs AS (
    INSERT INTO KIND_refs (parent) SELECT id FROM KIND_rows WHERE nr <= 100 RETURNING id, list[1] AS first, made
), news AS (
    SELECT id FROM made UNION ALL SELECT id FROM parts UNION ALL SELECT unnest(ARRAY[id, first, made]) FROM refs
)
SELECT 'KIND', count(*), count(DISTINCT id), bool_and(TIMESTAMP(id) > (SELECT max(made) FROM KIND_rows)) FROM news;
SQL
# What the triggers of all kinds wrote in this transaction, and whether it is later than what they wrote before.
my $heard = <<'SQL';
WITH heard AS (SELECT event, visit::flake128, xmin = pg_current_xact_id()::xid AS new FROM heard)
SELECT count(*), count(DISTINCT event), min(event) > (SELECT max(event) FROM heard WHERE NOT new),
    count(DISTINCT visit), min(visit) > (SELECT max(visit) FROM heard WHERE NOT new)
FROM heard WHERE new;
SQL

# Tests that the defaults go on making IDs, that are later than all there are. The rows don't stay.
sub goes_on {
	my ($node, $database, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($sql, $expected) = ("${settings}BEGIN;\n", '');
	for my $kind (@KINDS) {
		$sql      .= of_kind($kind, $made);
		$expected .= "$kind->{name}|500|500|t\n";
	}
	my $events = 100 * @KINDS;
	return is($node->safe_psql($database, "$sql${heard}ROLLBACK;"),
		"$expected$events|$events|t|$events|t", $test);
}

1;
