# Statements that join, sort, group and write rows by flakes give what they give by bigints, and
# ALTER TABLE changes a column from one type to the other.
use strict;
use warnings;
use lib 'tests/perl';

use FlakeTwins;
use Server;
use Test::More;

my ($node, $session) = start_twins('flake_statements');

gives_alike('rows are compared, sorted, grouped and joined by flakes as by bigints',
	split /;\n/, <<~'SQL');
	SELECT id, nr FROM things WHERE (part, id) > (3, '2003000000000000000')
		ORDER BY part, id LIMIT 5;
	SELECT id, nr FROM things WHERE (id, nr) > ('2003000000000000000', 3) ORDER BY id, nr LIMIT 5;
	SELECT id, nr FROM things ORDER BY id DESC LIMIT 5;
	SELECT nr FROM hashed ORDER BY id, nr;
	SELECT id, count(*) FROM labels JOIN things ON id = thing GROUP BY id ORDER BY id;
	SELECT DISTINCT id FROM log WHERE nr < 9 ORDER BY id;
	SELECT min(id), max(id) FROM things;
	SELECT min(id), max(id) FROM ranges;
	SELECT part, min(id), max(id) FROM things GROUP BY part ORDER BY part;
	SELECT count(DISTINCT id) FROM things;
	SELECT row_number() OVER (ORDER BY id), lag(id) OVER (ORDER BY id)
		FROM things WHERE nr < 9 ORDER BY 1;
	SELECT DISTINCT ON (part) part, id FROM things ORDER BY part, id DESC;
	SELECT count(*), sum(nr) FROM things JOIN (SELECT thing FROM notes) AS notes ON id = thing;
	SELECT count(*), sum(nr) FROM things JOIN (SELECT thing FROM labels) AS labels ON id = thing;
	SELECT count(*) FROM notes JOIN labels USING (thing);
	SELECT count(*) FROM notes JOIN labels USING (thing) JOIN things ON id = thing
		WHERE things.nr < 100;
	SELECT count(*) FROM things JOIN notes ON id = thing WHERE notes.nr = 6;
	SELECT count(*) FROM notes LEFT JOIN things ON thing = id WHERE notes.nr < 20;
	SELECT count(*) FROM things JOIN numbers USING (id);
	SELECT count(*) FROM things JOIN shards USING (id);
	SELECT count(*) FROM things WHERE EXISTS (SELECT FROM notes WHERE thing = id);
	SELECT count(*) FROM things WHERE NOT EXISTS (SELECT FROM labels WHERE thing = id);
	SELECT id FROM things INTERSECT SELECT id FROM numbers ORDER BY 1 LIMIT 3;
	SELECT id FROM things UNION SELECT 5::bigint ORDER BY 1 LIMIT 3;
	SELECT id FROM things EXCEPT SELECT thing FROM labels ORDER BY 1 LIMIT 3;
	SELECT coalesce(id, 5::bigint), greatest(id, 2000000000000000000), nullif(id, 5),
		CASE WHEN nr > 5 THEN id ELSE 3000000000000000000 END
		FROM things WHERE nr BETWEEN 3 AND 8 ORDER BY id;
	SELECT nr FROM things WHERE id > '2000000000000000000' ORDER BY part, id LIMIT 3;
	SELECT id::text, to_hex(id), abs(id), id::bigint + 1
		FROM things WHERE nr BETWEEN 1 AND 7 ORDER BY things.id;
	SELECT array_agg(id ORDER BY id), string_agg(id::text, ' ' ORDER BY id)
		FROM things WHERE nr < 5;
	SELECT width_bucket(5::bigint, array_agg(id::bigint ORDER BY id)) FROM things;
	SQL

for my $join (qw(hashjoin mergejoin nestloop)) {
	my @off = map { "enable_$_" } grep { $_ ne $join } qw(hashjoin mergejoin nestloop);
	$session->query_safe(join '; ', map { "SET $_ = off" } @off);
	is_alike(
		"a $join meets the same rows by flakes as by bigints",
		(   map { "SELECT count(*), sum(things.nr) FROM things JOIN $_ USING (id)" }
			  qw(numbers shards ranges hashed)),
		(   map { "SELECT count(*), sum(things.nr) FROM things JOIN $_ ON id = thing" }
			  qw(notes labels)));
	$session->query_safe(join '; ', map { "RESET $_" } @off);
}

gives_alike('rows are written by flakes as by bigints', split /;\n/, <<~'SQL');
	INSERT INTO things VALUES ('8000000000000000000', 1), (8000000000000000001, 2), (100, 3),
		(101::smallint, 4), (102::bigint, 5) RETURNING id;
	INSERT INTO things VALUES (8000000000000000000, 7)
		ON CONFLICT (id) DO UPDATE SET nr = excluded.nr RETURNING id, nr;
	INSERT INTO things VALUES (8000000000000000000, 7);
	UPDATE things SET id = 103 WHERE id = 102 RETURNING id;
	UPDATE things SET id = '104' WHERE id = '103' RETURNING id;
	INSERT INTO things SELECT nr + 8100000000000000000, nr FROM generate_series(1, 3) AS nr
		RETURNING id;
	DELETE FROM things WHERE id > 8000000000000000000 RETURNING id;
	INSERT INTO notes VALUES (8000000000000000009);
	DELETE FROM things WHERE id = 3000000000000000000;
	UPDATE things SET id = 1 WHERE id = 100;
	INSERT INTO labels VALUES (100), (8000000000000000009);
	MERGE INTO things USING (VALUES (100::bigint, 9), (8200000000000000000, 8)) AS new (id, nr)
		ON things.id = new.id
		WHEN MATCHED THEN UPDATE SET nr = new.nr
		WHEN NOT MATCHED THEN INSERT VALUES (new.id, new.nr);
	SELECT count(*), sum(nr), max(id) FROM things;
	INSERT INTO things VALUES ('abc');
	INSERT INTO things VALUES ('9223372036854775808');
	INSERT INTO things VALUES (9223372036854775808);
	INSERT INTO things VALUES (105.0), (106.5) RETURNING id;
	SQL

is($session->query_safe(<<~'SQL'), 't', 'each row is in the shard in which its bigint is');
	SELECT count(*) > 0 AND bool_and(f_shard.relname = b_shard.relname)
	FROM of_flake.shards AS f JOIN of_bigint.shards AS b ON f.id = b.id
		JOIN pg_class AS f_shard ON f_shard.oid = f.tableoid
		JOIN pg_class AS b_shard ON b_shard.oid = b.tableoid
	SQL
is($session->query_safe(<<~'SQL'), 't|0', 'a flake has the hash and the binary form of its bigint');
	SELECT count(*) > 0, count(*) FILTER
		(WHERE flake_send(id) <> int8send(id) OR hashint8(id) <> hashint8(id::bigint))
	FROM of_flake.things
	SQL

# ALTER TABLE changes a column of bigint to flake and back. It writes neither its table nor an
# index.
$session->query_safe(<<~'SQL');
	SET search_path = of_bigint, public;
	CREATE VIEW files AS
	SELECT string_agg(relname || ' ' || pg_relation_filenode(oid), ', ' ORDER BY relname) AS of_all
	FROM pg_class WHERE relnamespace = 'of_bigint'::regnamespace AND relkind IN ('r', 'i')
	SQL
my %column = (map({ $_ => 'id' } qw(things hashed log multi)), notes => 'thing', labels => 'thing');
my $contents = join ' UNION ALL ',
  map { "SELECT sum(hashint8extended($column{$_}, 0)) FROM $_" } sort keys %column;
my ($files, $ids) = map { $session->query_safe($_) } 'SELECT * FROM files', $contents;
isnt($files, '', 'the view of files shows files');

for my $type (qw(flake bigint flake)) {
	my $alter = join ";\n", map { "ALTER TABLE $_ ALTER $column{$_} TYPE $type" } sort keys %column;
	my $messages =
	  error_in($session, "SET client_min_messages = debug1;\n$alter;\nRESET client_min_messages");
	unlike(
		$messages,
		qr/ERROR|rewriting|building index/,
		"ALTER TABLE to $type writes no row and no index");
	is($session->query_safe('SELECT * FROM files'),
		$files, "ALTER TABLE to $type keeps the files of tables and indexes");
	is($session->query_safe($contents), $ids, "ALTER TABLE to $type keeps the IDs");
	is( $session->query_safe('SELECT to_json(id) FROM things WHERE id = 5'),
		$type eq 'flake' ? '"5"' : '5',
		"after ALTER TABLE the IDs are of type $type");
}

$session->quit;
$node->stop;
done_testing();
