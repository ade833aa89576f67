# A schema that uses every ID type in every way, and its definition and rows, so that databases can
# be compared. It is named `life`, so that a dump has to name the schema of the extension.
package FullSchema;

use strict;
use warnings;

use Exporter qw(import);
use Kinds;

our @EXPORT = qw($READER $SETTINGS create_full_schema full_schema_of statistics_of remove_marks);

# A role that sees only the rows of March.
our $READER = 'reader_of_march';

# Settings that have a part in how values are printed.
our $SETTINGS = <<'SQL';
SET search_path TO life, public;
SET timezone TO 'UTC';
SET extra_float_digits TO 1;
SET datestyle TO 'ISO';
SQL

my $february = "'[2026-02-01 00:00+00,2026-03-01 00:00+00)'::tstzrange";
my $march = "'[2026-03-01 00:00+00,2026-04-01 00:00+00)'::tstzrange";
my $later = "'[2026-02-01 00:00+00,)'::tstzrange";

my $once = <<"SQL";
CREATE ROLE $READER;
CREATE EXTENSION flakeid;
CREATE SCHEMA life;
$SETTINGS
CREATE TABLE heard (
	event sno PRIMARY KEY DEFAULT sno_next(7),
	visit uuid NOT NULL DEFAULT flake128_next()::uuid,
	kind text,
	id text
);
CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql SET search_path = life, public AS \$\$
BEGIN
	INSERT INTO heard (event, kind, id)
	VALUES (sno_next(TG_ARGV[1]::integer), TG_ARGV[0], NEW.id::text);
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
	id ID PRIMARY KEY DEFAULT NEXT,
	nr integer NOT NULL,
	hashed ID,
	brinned ID,
	multi ID,
	made timestamptz GENERATED ALWAYS AS (TIMESTAMP(id)) STORED,
	bytes bytea GENERATED ALWAYS AS (BYTES(id)) STORED,
	words text GENERATED ALWAYS AS (TEXT(id)) STORED,
	CONSTRAINT KIND_since CHECK (TIMESTAMP(id) >= '2015-01-01 00:00+00'::timestamptz)
);
CREATE UNIQUE INDEX KIND_nr ON KIND_rows (nr, id) INCLUDE (hashed);
CREATE INDEX KIND_hash ON KIND_rows USING hash (hashed);
CREATE INDEX KIND_brin ON KIND_rows USING brin (brinned) WITH (pages_per_range = 1);
CREATE INDEX KIND_multi ON KIND_rows USING brin (multi MULTI (values_per_range = 16))
	WITH (pages_per_range = 1);
CREATE INDEX KIND_time ON KIND_rows (TIMESTAMP(id));
CREATE INDEX KIND_later ON KIND_rows ((nr % 7)) WHERE WITHIN(id, $later);
CREATE STATISTICS KIND_statistics (ndistinct, dependencies, mcv)
	ON nr, (TIMESTAMP(id)) FROM KIND_rows;
COMMENT ON COLUMN KIND_rows.id IS \$\$made by NEXT\$\$;
CREATE TRIGGER KIND_hear AFTER INSERT ON KIND_rows FOR EACH ROW
	WHEN (WITHIN(NEW.id, $later)) EXECUTE FUNCTION hear('KIND', 9);
ALTER TABLE KIND_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY KIND_march ON KIND_rows FOR SELECT TO $READER USING (WITHIN(id, $march));
GRANT SELECT ON KIND_rows TO $READER;

CREATE TABLE KIND_refs (
	id ID PRIMARY KEY DEFAULT NEXT,
	parent ID NOT NULL REFERENCES KIND_rows ON DELETE CASCADE DEFERRABLE,
	list ID[] NOT NULL DEFAULT ARRAY[NEXT, NULL],
	pair KIND_pair,
	made KIND_made DEFAULT NEXT CHECKED_COLUMN(made),
	span KIND_range,
	spans KIND_multirange,
	origin ID NOT NULL,
	CONSTRAINT KIND_apart EXCLUDE USING gist (span WITH &&)
);
SELECT format('ALTER TABLE KIND_refs ALTER origin SET DEFAULT %L',
	AT('2026-01-01 00:00+00', 5)) \\gexec
CREATE INDEX KIND_list ON KIND_refs USING gin (list);
CREATE INDEX KIND_pairs ON KIND_refs (pair);
CREATE INDEX KIND_spans ON KIND_refs USING gist (spans);

CREATE TABLE KIND_parts (id ID PRIMARY KEY DEFAULT NEXT, nr integer) PARTITION BY HASH (id);
CREATE TABLE KIND_parts_0 PARTITION OF KIND_parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE KIND_parts_1 PARTITION OF KIND_parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE KIND_parts_2 PARTITION OF KIND_parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);

CREATE VIEW KIND_view WITH (security_barrier) AS
	SELECT parents.id, parents.nr, refs.list, refs.pair
	FROM KIND_rows parents JOIN KIND_refs refs ON refs.parent = parents.id
	WHERE WITHIN(parents.id, $february);
CREATE MATERIALIZED VIEW KIND_counts AS
	SELECT date_trunc('month', parents.made, 'UTC') AS month, count(*) AS ids,
		count(refs.id) AS refs, LEAST(parents.id) AS least, GREATEST(parents.id) AS greatest
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
CREATE TABLE KIND_months (
	id ID PRIMARY KEY DEFAULT NEXT, nr integer, made timestamptz DEFAULT now()
) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE KIND_months_%s PARTITION OF KIND_months FOR VALUES FROM (%L) TO (%L)',
	name, lower, upper) FROM BOUNDS \gexec
CREATE TABLE KIND_months_rest PARTITION OF KIND_months DEFAULT;
CREATE INDEX ON KIND_months (made) INCLUDE (id);
CREATE TABLE KIND_notes (about ID REFERENCES KIND_months, note text);
SQL

# Old rows, four a day from before the first partition to after the last, and new ones.
my $rows = <<'SQL';
INSERT INTO KIND_rows (id, nr)
	SELECT AT('2025-12-20 00:00:01+00'::timestamptz + nr * interval '6 h', nr), nr
	FROM generate_series(1, 450) AS nr;
INSERT INTO KIND_rows (nr) SELECT generate_series(501, 550);
UPDATE KIND_rows SET hashed = id, brinned = id, multi = id;
INSERT INTO KIND_refs (parent, list, pair, span, spans)
	SELECT id, ARRAY[id, following, NULL], ROW(id, following)::KIND_pair, span,
		KIND_multirange(span)
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

# Creates the extension and all of the schema in a database, and fills it.
sub create_full_schema {
	my ($node, $database) = @_;
	my $sql = $once;
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

# Each line is a table with a digest of its rows, or the definition of an object. From 18 on NOT
# NULL is a constraint, too; columns have it here. Constraints of partitions have names that differ.
my $full_schema = <<'SQL';
SELECT format('SELECT concat_ws('' '', %L, count(*),
	md5(string_agg(t::text, E''\n'' ORDER BY t::text COLLATE "C"))) FROM %s t',
	'rows of ' || oid::regclass, oid::regclass)
FROM pg_class WHERE relnamespace = 'life'::regnamespace AND relkind IN ('r', 'm', 'p')
ORDER BY relname COLLATE "C" \gexec

CREATE TEMP VIEW relations AS SELECT * FROM pg_class WHERE relnamespace = 'life'::regnamespace;
SELECT regexp_replace(line, '\s+', ' ', 'g') FROM (
	SELECT concat_ws(' ', 'relation', oid::regclass, relkind, relpersistence, relrowsecurity,
		relreplident, reloptions,
		(SELECT string_agg(concat_ws(' ', grantee::regrole, privilege_type), ', ')
			FROM aclexplode(relacl) WHERE grantee <> relowner),
		pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid),
		CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END)
	FROM relations
UNION ALL
	SELECT concat_ws(' ', 'column', attrelid::regclass, attnum, attname,
		format_type(atttypid, atttypmod), attnotnull, attgenerated,
		pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
	FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
	WHERE attrelid IN (SELECT oid FROM relations) AND attnum > 0
UNION ALL
	SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid, indisready, indislive,
		indisunique, indisprimary)
	FROM pg_index WHERE indrelid IN (SELECT oid FROM relations)
UNION ALL
	SELECT concat_ws(' ', 'constraint', conname, conrelid::regclass, contypid::regtype,
		convalidated, pg_get_constraintdef(oid))
	FROM pg_constraint
	WHERE connamespace = 'life'::regnamespace AND contype <> 'n' AND conparentid = 0
UNION ALL
	SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
	WHERE tgrelid IN (SELECT oid FROM relations) AND NOT tgisinternal
UNION ALL
	SELECT pg_get_functiondef(oid) FROM pg_proc
	WHERE pronamespace = 'life'::regnamespace AND prolang <> 12
UNION ALL
	SELECT concat_ws(' ', 'policy', polname, polrelid::regclass, polcmd, polroles::regrole[],
		pg_get_expr(polqual, polrelid))
	FROM pg_policy
UNION ALL
	SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(oid)) FROM pg_statistic_ext
UNION ALL
	SELECT concat_ws(' ', 'type', oid::regtype, typtype, typbasetype::regtype, typlen, typalign,
		typstorage)
	FROM pg_type WHERE typnamespace = 'life'::regnamespace
UNION ALL
	SELECT concat_ws(' ', 'range', rngtypid::regtype, rngmultitypid::regtype, rngsubtype::regtype,
		opcname)
	FROM pg_range JOIN pg_opclass ON pg_opclass.oid = rngsubopc
UNION ALL
	SELECT concat_ws(' ', 'extension', extname, extnamespace::regnamespace, extversion)
	FROM pg_extension
) AS defined (line) ORDER BY line COLLATE "C"
SQL

# Returns all rows and definitions of the schema, in lines that versions print alike.
sub full_schema_of {
	my ($node, $database) = @_;
	return $node->safe_psql($database, "$SETTINGS$full_schema");
}

# Returns the planner's statistics of four columns of each kind, a line each.
sub statistics_of {
	my ($node, $database) = @_;
	return $node->safe_psql($database, <<~'SQL');
		SELECT tablename, attname, null_frac, n_distinct, most_common_vals, most_common_freqs,
			histogram_bounds, correlation
		FROM pg_stats WHERE schemaname = 'life' AND tablename ~ '_rows$'
		AND attname IN ('id', 'hashed', 'brinned', 'multi') ORDER BY 1, 2
		SQL
}

# A release can put into its catalogs what a release of a later version, but of an earlier date,
# does not know. 15.20 gives each column an option that 16.14 and 18.4 refuse in a dump. This
# removes it, except from types of rows, whose values 15.20 does not read without it.
sub remove_marks {
	my ($node, $database) = @_;
	return $node->safe_psql($database, <<~'SQL');
		UPDATE pg_attribute SET attoptions = nullif(
			ARRAY(SELECT o FROM unnest(attoptions) AS o WHERE o NOT LIKE 'pg_attver=%'), '{}')
		FROM pg_class
		WHERE pg_class.oid = attrelid AND relkind <> 'c' AND attoptions::text LIKE '%pg_attver=%'
		SQL
}

1;
