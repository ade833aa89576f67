# The public form of IDs: each ID of each type has a text and a uuid of its own for each prefix, and
# comes back from them. A lookup by a public form uses the index of the IDs.
use strict;
use warnings;
use lib 'tests/perl';

use PublicKeys;
use Server;
use Test::More;

my $node = start_server('public_form');
sub sql { return $node->safe_psql('postgres', $_[0]); }

use_keys($node, "1 $NIST\n");
create_ids($node);
my %digits = id_types();

for my $name (sort keys %digits) {
	my $length = 1 + $digits{$name};
	is( sql(<<~"SQL"),
		SELECT count(*) > 2000,
			bool_and(${name}_from_public(bare) = id AND ${name}_from_public(ord, 'ord') = id
				AND ${name}_from_public(long, '$name-_9') = id),
			count(DISTINCT bare) = count(*), count(DISTINCT ord) = count(*),
			bool_and(bare ~ '^1[0-9A-Za-z]{$digits{$name}}\$'),
			bool_and(ord ~ '^ord_1[0-9A-Za-z]{$digits{$name}}\$'),
			count(*) FILTER (WHERE right(ord, $length) = bare OR right(long, $length) = bare
				OR right(long, $length) = right(ord, $length)) = 0
		FROM (SELECT id, ${name}_to_public(id) AS bare, ${name}_to_public(id, 'ord') AS ord,
				${name}_to_public(id, '$name-_9') AS long
			FROM ${name}s) AS forms
		SQL
		't|t|t|t|t|t|t',
		"$name: each ID has a text of its own for each prefix, and comes back from it");
	is(sql(<<~"SQL"), 't|t|t|t', <<~"CLAIM" =~ s/\n//r) if $name ne 'flake128';
		SELECT bool_and(${name}_from_public_uuid(bare) = id
				AND ${name}_from_public_uuid(ord, 'ord') = id),
			count(DISTINCT bare) = count(*),
			bool_and(bare::text ~ '^........-....-8...-[89ab]'
				AND ord::text ~ '^........-....-8...-[89ab]'),
			count(*) FILTER (WHERE bare = ord) = 0
		FROM (SELECT id, ${name}_to_public_uuid(id) AS bare,
				${name}_to_public_uuid(id, 'ord') AS ord
			FROM ${name}s) AS forms
		SQL
		$name: each ID has a uuid of version 8 for each prefix, and comes back from it
		CLAIM
	my $lookup = sql(<<~"SQL");
		SELECT format('SELECT count(*) FROM ${name}s WHERE id = ${name}_from_public(%L, ''ord'')',
			${name}_to_public(id, 'ord'))
		FROM ${name}s LIMIT 1
		SQL
	like(
		sql(<<~"SQL"),
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $lookup
		SQL
		qr/Index Only Scan using ${name}s_pkey.*rows=1\b.*loops=1/,
		"$name: a lookup is one probe of the index");
	is(sql($lookup), '1', "$name: a lookup finds the row");
	like(
		error_of($node, "CREATE INDEX ON ${name}s (${name}_to_public(id))"),
		qr/functions in index expression must be marked IMMUTABLE/,
		"$name: an index of public forms is refused");
}

my $why = 'It has more than the 122 free bits';
like(
	error_of($node, "SELECT flake128_to_public_uuid(id, 'ord') FROM flake128s"),
	qr/ERROR:  0A000: a flake128 has no public form as a uuid\nDETAIL:  $why/,
	'flake128: a uuid has no room for it');
my $uuid = '00000000-0000-8000-8000-000000000000';
like(
	error_of($node, "SELECT flake128_from_public_uuid('$uuid', 'ord')"),
	qr/ERROR:  0A000: /,
	'flake128: it is in no uuid');

is(sql(<<~'SQL'), '1', 'a column of type flake has the public form of a flake');
	CREATE TABLE typed (id flake);
	INSERT INTO typed VALUES (flake_next());
	SELECT count(*) FROM typed WHERE id = flake_from_public(flake_to_public(id, 'ord'), 'ord')
	SQL

my $forced = $node->pg_version->major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is(sql("SET $forced = on; SELECT left(flake_to_public(1), 1)"),
	'1', 'a parallel worker has the keys');
is(sql(<<~'SQL'), 't|2000', 'parallel workers read public forms');
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;
	CREATE TABLE many AS SELECT id, flake_to_public(id) AS public FROM flakes LIMIT 2000;
	SELECT bool_and(flake_from_public(public) = id), count(*) FROM many
	SQL

$node->stop;
done_testing();
