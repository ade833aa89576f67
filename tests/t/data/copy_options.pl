# COPY with a default X_next() inserts many rows at once with each of its options. A row that it
# refuses keeps all others out, and the error names its line. COPY calls X_next_for_copy() for users
# who may execute both it and X_next(), and only while neither function was altered.
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
my $single = 'one by one: 5000';
my $version = $node->pg_version->major;
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
# options ------------------------------------------------------------------------------------------

for (
	[ 'WHERE', "COPY options $load WHERE nr % 2 = 0", '2500|2500|2500', $many ],
	[ 'a volatile WHERE', "COPY options $load WHERE flake_next() > 0", '5000|5000|5000', $single ],
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

# rows that are refused ----------------------------------------------------------------------------

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

# privileges ---------------------------------------------------------------------------------------

sql(<<~'SQL');
	CREATE TABLE flakes (id bigint DEFAULT flake_next(), nr integer);
	CREATE DOMAIN checked AS integer CHECK (flake_next() > 0);
	CREATE ROLE loader;
	GRANT INSERT, SELECT ON flakes TO loader;
	GRANT pg_read_server_files TO loader;
	SQL
my $denied = qr/42501: permission denied for function flake_next$/m;
my $as_loader = "SET ROLE loader; COPY flakes $load";
my $for_copy = 'flake_next_for_copy(internal)';
is(inserts($node, 'flakes', $as_loader),
	$many, 'COPY inserts many rows at once for a user who may execute flake_next');
sql("REVOKE EXECUTE ON FUNCTION $for_copy FROM PUBLIC");
is(inserts($node, 'flakes', $as_loader),
	$single, 'a user who may not execute flake_next_for_copy gets the rows one by one');
sql(<<~"SQL");
	GRANT EXECUTE ON FUNCTION $for_copy TO PUBLIC;
	REVOKE EXECUTE ON FUNCTION flake_next() FROM PUBLIC;
	SQL
like(error_of($node, $as_loader),
	$denied, 'COPY is refused to a user who may not execute flake_next');
like(error_of($node, 'SET ROLE loader; INSERT INTO flakes (nr) VALUES (1)'),
	$denied, 'INSERT is refused to a user who may not execute flake_next');
is(inserts($node, 'flakes', "COPY flakes $load"),
	$many, 'COPY inserts many rows at once for the owner of flake_next');
# A session plans the CHECK of a domain once.
my $session = session($node);
$session->query_safe('SELECT 1::checked');
like(error_in($session, 'SET ROLE loader; SELECT 1::checked'),
	$denied, 'the CHECK of a domain is refused although another user had it planned');
$session->quit;
sql('GRANT EXECUTE ON FUNCTION flake_next() TO loader');
is(inserts($node, 'flakes', $as_loader),
	$many, 'COPY inserts many rows at once when the user may execute flake_next again');
for my $alter (
	'flake_next() SECURITY DEFINER',
	'flake_next() SET work_mem = 4096',
	"$for_copy SECURITY DEFINER")
{
	is(inserts($node, 'flakes', "BEGIN; ALTER FUNCTION $alter; COPY flakes $load; ROLLBACK"),
		$single, "COPY inserts rows one by one after ALTER FUNCTION $alter");
}

$node->stop;
done_testing();
