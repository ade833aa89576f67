# COPY with a default X_next() inserts many rows at once with each of its options. A row that it
# refuses keeps all others out, and the error names its line.
use strict;
use warnings;
use lib 'tests/perl';

use CopiedRows;
use Server;
use Test::More;

my $node = copy_server('copy_options');
my $dir = $node->basedir;
my $load = "(nr) FROM '$dir/numbers'";
my $many = 'many at once';
my ($version) = $node->safe_psql('postgres', 'SHOW server_version_num') =~ /^(\d+)\d{4}$/;
sub sql { return $node->safe_psql('postgres', @_) }

sql(<<~"SQL");
	CREATE TABLE options (
		id bigint PRIMARY KEY DEFAULT flake_next(), nr integer, event sno DEFAULT sno_next()
	);
	COPY (SELECT n, NULL FROM generate_series(1, 5000) AS n)
		TO '$dir/nulls.csv' (FORMAT csv, FORCE_QUOTE *);
	COPY (SELECT n, CASE WHEN n % 2 = 0 THEN 'new' ELSE sno_next(9)::text END
		FROM generate_series(1, 5000) AS n) TO '$dir/marked';
	COPY (SELECT CASE n WHEN 3000 THEN 'wrong' ELSE n::text END
		FROM generate_series(1, 5000) AS n) TO '$dir/spoilt';
	COPY (SELECT CASE n WHEN 4500 THEN 4000 ELSE n END
		FROM generate_series(1, 5000) AS n) TO '$dir/twice';
	SQL
for (
	[ 'WHERE', "COPY options $load WHERE nr % 2 = 0", '2500|2500|2500', $many ],
	[
		'a volatile WHERE',
		"COPY options $load WHERE flake_next() > 0",
		'5000|5000|5000', 'one by one: 5000'
	],
	[
		'FREEZE',
		"BEGIN; TRUNCATE options; COPY options $load (FREEZE); SAVEPOINT s;"
		  . " COPY options $load (FREEZE false); COMMIT",
		'10000|10000|10000',
		$many
	],
	[
		'FORCE_NULL',
		"COPY options (nr, event) FROM '$dir/nulls.csv' (FORMAT csv, FORCE_NULL (event))",
		'5000|5000|0', $many
	],
	[
		'DEFAULT', "COPY options (nr, event) FROM '$dir/marked' (DEFAULT 'new')",
		'5000|5000|5000', $many, 16
	],
	[
		'ON_ERROR ignore',
		"COPY options (nr) FROM '$dir/spoilt' (ON_ERROR ignore)",
		'4999|4999|4999', $many, 17
	])
{
	my ($option, $copy, $ids, $expected, $since) = @$_;
	next if $version < ($since // 0);
	sql('TRUNCATE options');
	is(inserts($node, 'options', $copy),
		$expected, "COPY with $option inserts rows " . $expected =~ s/:.*//r);
	is(distinct_ids($node, 'options', 'id', 'event'),
		$ids, "COPY with $option gives an ID to each row for which the file has none");
	if ($option eq 'DEFAULT') {
		is(sql('SELECT count(*) FROM options, sno_decode(event) WHERE meta = 9'),
			'2500', 'COPY with DEFAULT keeps the IDs of the file');
	}
}

sql(<<~'SQL');
	TRUNCATE options;
	ALTER TABLE options ADD CHECK (nr <> 4000);
	CREATE TABLE once (id bigint DEFAULT flake_next(), nr integer UNIQUE);
	SQL
for (
	[
		'a text that is no number',
		"COPY options (nr) FROM '$dir/spoilt'",
		'22P02',
		'COPY options, line 3000, column nr: "wrong"'
	],
	[
		'a row that violates a CHECK',
		"COPY options $load",
		'23514',
		'COPY options, line 4000: "4000"'
	],
	[
		'a key that is there already',
		"COPY once (nr) FROM '$dir/twice'",
		'23505',
		'COPY once, line 4500'
	])
{
	my ($what, $copy, $state, $context) = @$_;
	like(
		error_of($node, $copy),
		qr/$state: .*^CONTEXT:  $context$/ms,
		"the error of $what names its line");
}
is(sql('SELECT (SELECT count(*) FROM options), (SELECT count(*) FROM once)'),
	"0|0", 'no row of a file with a wrong row comes in');
sql("COPY once $load");
is(distinct_ids($node, 'once'), '5000|5000', 'all rows come in when all are right');

# Before 0.7.0 a CHECK saw the rows of its own COPY.
sql(<<~'SQL');
	CREATE TABLE self (id bigint DEFAULT flake_next(), nr integer);
	CREATE FUNCTION is_next(nr integer) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN nr = 1 OR EXISTS (SELECT FROM self WHERE self.nr = is_next.nr - 1);
	END $$;
	ALTER TABLE self ADD CHECK (is_next(nr));
	INSERT INTO self (nr) SELECT generate_series(1, 10);
	SQL
like(
	error_of($node, "TRUNCATE self; COPY self $load"),
	qr/23514: .*COPY self, line 2: "2"/s,
	'a CHECK that queries its own table does not see the rows of the same COPY');

$node->stop;
done_testing();
